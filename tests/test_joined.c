/* Streams that are cut and gone on with, by the sessions of daruma.h: what the client has of the two. Each row is an
 * answer that was cut, and the ones that came behind it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <daruma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWERS = 4, WORDS = 4 };

typedef struct row {
    const char *what, *dialect;
    const char *more;             /* members of the request beside the usual ones */
    const char *answers[ANSWERS]; /* the last one of them is given again and again */
    const char *has[WORDS];       /* what the client has, in that order */
    const char *lacks;            /* and what it has not; NULL: nothing */
} row;

/* ---- a host ---- */

typedef struct client {
    daruma_memory *m;
    daruma_session *s;
    char *bytes;
    size_t n, calls;
    int64_t now;
    bool over;
} client;

static void time_is(client *c, int64_t now)
{
    c->now = now;
    daruma_memory_now(c->m, now, 1767225600 + now / 1000, 0x9e3779b97f4a7c15u * (uint64_t)(now + 1));
}

static void answers(client *c, const row *r, int64_t call)
{
    size_t i = c->calls < ANSWERS - 1 && r->answers[c->calls] ? c->calls : ANSWERS - 1;
    while (i && !r->answers[i])
        i--;
    c->calls++;
    daruma_call_head(c->s, call, 200, "content-type: text/event-stream\r\n", 33);
    daruma_call_bytes(c->s, call, r->answers[i], strlen(r->answers[i]));
    daruma_call_end(c->s, call);
}

static void carry_out(client *c, const row *r)
{
    daruma_do what;
    while ((what = daruma_session_next(c->s)) != DARUMA_DO_NOTHING) {
        size_t n;
        const char *p;
        if (what == DARUMA_DO_SEND) {
            answers(c, r, daruma_session_call(c->s));
        } else if (what == DARUMA_DO_BYTES) {
            p = daruma_session_bytes(c->s, &n);
            c->bytes = realloc(c->bytes, c->n + n + 1);
            assert_non_null(c->bytes);
            memcpy(c->bytes + c->n, p, n + 1);
            c->n += n;
        }
        c->over |= what == DARUMA_DO_END || what == DARUMA_DO_BREAK;
    }
}

/* `other` is the dialect of a second target; empty: there is none. */
static void ask(client *c, const row *r, const char *other)
{
    char options[256], body[1024], why[256] = "";
    bool input = !strcmp(r->dialect, "openai-responses"), gemini = !strcmp(r->dialect, "gemini");
    snprintf(
        options, sizeof options,
        "{\"dialect\":\"%s\",\"model\":\"m\",\"stream\":true,\"targets\":[{\"name\":\"one\",\"model\":\"m1\"}%s%s%s]}",
        r->dialect, other[0] ? ",{\"name\":\"two\",\"model\":\"m2\",\"dialect\":\"" : "", other, other[0] ? "\"}" : "");
    snprintf(body, sizeof body,
             gemini ? "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"hello\"}]}]%s%s}"
                    : "{\"model\":\"m\",\"stream\":true,\"max_tokens\":900,\"%s\":[{\"role\":\"user\",\"content\":"
                      "\"hello\"}]%s}",
             gemini  ? ""
             : input ? "input"
                     : "messages",
             r->more);
    c->m = daruma_memory_new();
    time_is(c, 1000);
    c->s = daruma_session_open(c->m, NULL, options, strlen(options), body, strlen(body), why, sizeof why);
    assert_string_equal(why, "");
    carry_out(c, r);
    for (int i = 0; i < 1000 && !c->over; i++) {
        int64_t at = daruma_session_wakes_ms(c->s);
        assert_true(at >= 0);
        time_is(c, at > c->now ? at : c->now);
        daruma_session_clock(c->s);
        carry_out(c, r);
    }
    assert_true(c->over);
}

/* ---- answers ---- */

#define EVENT(type, members) "event: " type "\ndata: {\"type\":\"" type "\"" members "}\n\n"

#define A_START                                                                                                        \
    EVENT("message_start", ",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m1\","  \
                           "\"content\":[],\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}")
#define A_OPEN(i, block)  EVENT("content_block_start", ",\"index\":" #i ",\"content_block\":" block)
#define A_DELTA(i, delta) EVENT("content_block_delta", ",\"index\":" #i ",\"delta\":" delta)
#define A_STOP(i)         EVENT("content_block_stop", ",\"index\":" #i)
#define A_SAID(i, text)   A_DELTA(i, "{\"type\":\"text_delta\",\"text\":\"" text "\"}")
#define A_TEXT(i, text)   A_OPEN(i, "{\"type\":\"text\",\"text\":\"\"}") A_SAID(i, text)
#define A_CITE(i, url)                                                                                                 \
    A_DELTA(i, "{\"type\":\"citations_delta\",\"citation\":{\"type\":\"web_search_result_location\",\"url\":\"" url    \
               "\"}}")
#define A_SEARCH(i, id)                                                                                                \
    A_OPEN(i, "{\"type\":\"server_tool_use\",\"id\":\"" id "\",\"name\":\"web_search\",\"input\":{}}")                 \
    A_DELTA(i, "{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"query\\\":\\\"fox\"}")
#define A_FOUND(i, id)                                                                                                 \
    A_STOP(i) A_OPEN(i, "{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"" id "\",\"content\":[]}") A_STOP(i)
#define A_END                                                                                                          \
    EVENT("message_delta",                                                                                             \
          ",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":5}")          \
    EVENT("message_stop", "")

#define R_START                                                                                                        \
    EVENT("response.created", ",\"sequence_number\":0,\"response\":{\"id\":\"r\",\"object\":\"response\",\"status\":"  \
                              "\"in_progress\",\"output\":[]}")
#define R_ITEM(i, id, rest) ",\"output_index\":" #i ",\"item\":{\"id\":\"" id #i "\"" rest "}"
#define R_MESSAGE(i, phase)                                                                                            \
    EVENT("response.output_item.added",                                                                                \
          R_ITEM(i, "msg_", ",\"type\":\"message\",\"role\":\"assistant\",\"phase\":\"" phase "\",\"content\":[]"))
#define R_SAID(i, text)                                                                                                \
    EVENT("response.output_text.delta",                                                                                \
          ",\"item_id\":\"msg_" #i "\",\"output_index\":" #i ",\"content_index\":0,\"delta\":\"" text "\"")
#define R_DONE(i, type)                                                                                                \
    EVENT("response.output_item.done",                                                                                 \
          R_ITEM(i, "msg_", ",\"type\":\"" type "\",\"role\":\"assistant\",\"content\":[]"))
#define R_SEARCH(i)                                                                                                    \
    EVENT("response.output_item.done", R_ITEM(i, "ws_", ",\"type\":\"web_search_call\",\"status\":\"completed\""))
#define R_CALL(i)                                                                                                      \
    EVENT("response.output_item.done",                                                                                 \
          R_ITEM(i, "fc_", ",\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"look\",\"arguments\":\"{}\""))
#define R_END                                                                                                          \
    EVENT("response.completed",                                                                                        \
          ",\"response\":{\"id\":\"r\",\"object\":\"response\",\"status\":\"completed\",\"output\":[]}")

#define G_PART(part) "data: {\"candidates\":[{\"index\":0,\"content\":{\"role\":\"model\",\"parts\":[" part "]}}]}\n\n"
#define G_END                                                                                                          \
    "data: "                                                                                                           \
    "{\"candidates\":[{\"index\":0,\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"\"}]},\"finishReason\":"     \
    "\"STOP\"}]}\n\n"

#define R_THOUGHT(i)                                                                                                   \
    EVENT("response.output_item.added", R_ITEM(i, "rs_", ",\"type\":\"reasoning\",\"summary\":[]"))                    \
    EVENT("response.reasoning_summary_text.delta",                                                                     \
          ",\"item_id\":\"rs_" #i "\",\"output_index\":" #i ",\"summary_index\":0,\"delta\":\"Hm\"")
#define R_SOURCE(i, url)                                                                                               \
    EVENT("response.output_text.annotation.added",                                                                     \
          ",\"item_id\":\"msg_" #i "\",\"output_index\":" #i                                                           \
          ",\"content_index\":0,\"annotation_index\":0,\"annotation\":{\"type\":\"url_citation\",\"url\":\"" url       \
          "\"}")
#define C_CHUNK(delta, finish)                                                                                         \
    "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{" delta             \
    "},\"finish_reason\":" finish "}]}\n\n"

#define ASKED                                                                                                          \
    "somebody who came from the village that it was so. " BEGUN /* what an answer is asked to begin with, of a longer  \
                                                                   one */
#define BEGUN "The quick brown fox jumps over"
#define REST  " the lazy dog."

static const row rows[] = {
    {"a search behind the seam stands where it came, with the sources of the text behind it",
     "anthropic",
     "",
     {A_START A_TEXT(0, BEGUN), A_START A_TEXT(0, REST) A_STOP(0) A_SEARCH(1, "s1") A_FOUND(1, "s1")
                                    A_TEXT(2, " So it is.") A_CITE(2, "u2") A_STOP(2) A_END},
     {REST, "\"index\":1,\"content_block\":{\"type\":\"server_tool_use\",\"id\":\"s1\"",
      "\"index\":2,\"content_block\":{\"type\":\"web_search_tool_result\"",
      "\"index\":3,\"delta\":{\"type\":\"citations_delta\""},
     NULL},
    {"sources of a text that is glued to another are left out",
     "anthropic",
     "",
     {A_START A_TEXT(0, BEGUN),
      A_START A_TEXT(0, REST) A_CITE(0, "u1") A_STOP(0) A_TEXT(1, " So.") A_CITE(1, "u2") A_STOP(1) A_END},
     {REST, "\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\" So.\"",
      "\"index\":1,\"delta\":{\"type\":\"citations_delta\"", "u2"},
     "u1"},
    {"sources of the block behind one that was only said again name no text in front of it",
     "anthropic",
     "",
     {A_START A_TEXT(0, ASKED), A_START A_TEXT(0, ASKED) A_STOP(0) A_TEXT(1, REST) A_CITE(1, "u1") A_STOP(1) A_END},
     {"{\"type\":\"content_block_stop\",\"index\":0}",
      "\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"" REST,
      "\"index\":1,\"delta\":{\"type\":\"citations_delta\""},
     NULL},
    {"a search in front of the seam goes on with an answer that was begun for the model",
     "anthropic",
     "",
     {A_START A_TEXT(0, BEGUN),
      A_START A_SEARCH(0, "s1") A_FOUND(1, "s1") A_TEXT(2, REST) A_CITE(2, "u1") A_STOP(2) A_END},
     {"\"index\":1,\"content_block\":{\"type\":\"server_tool_use\"",
      "\"index\":2,\"content_block\":{\"type\":\"web_search_tool_result\"", "\"index\":3", "u1"},
     NULL},
    {"sources of a text that was only said again stand in no empty one",
     "anthropic",
     "",
     {A_START A_TEXT(0, BEGUN), A_START A_SEARCH(0, "s1") A_FOUND(1, "s1") A_TEXT(2, BEGUN) A_CITE(2, "u1") A_STOP(2)
                                    A_TEXT(3, REST) A_CITE(3, "u2") A_STOP(3) A_END},
     {"web_search_tool_result", "\"index\":3,\"delta\":{\"type\":\"text_delta\",\"text\":\"" REST, "u2"},
     "u1"},
    {"a search that broke off has a result",
     "anthropic",
     "",
     {A_START A_TEXT(0, BEGUN) A_STOP(0) A_SEARCH(1, "s1"), A_START A_TEXT(0, REST) A_STOP(0) A_END},
     {"\"index\":1,\"content_block\":{\"type\":\"server_tool_use\"", "{\"type\":\"content_block_stop\",\"index\":1}",
      "\"index\":2,\"content_block\":{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"s1\",\"content\":{\"type\":"
      "\"web_search_tool_result_error\",\"error_code\":\"unavailable\"}}",
      REST},
     NULL},
    {"a search that has a result gets no other one",
     "anthropic",
     "",
     {A_START A_TEXT(0, BEGUN) A_STOP(0) A_SEARCH(1, "s1") A_FOUND(1, "s1") A_TEXT(2, " the"),
      A_START A_TEXT(0, " lazy dog.") A_STOP(0) A_END},
     {BEGUN, "web_search_tool_result", " lazy dog.", "message_stop"},
     "unavailable"},
    {"behind sources a joined text stands in a block of its own",
     "anthropic",
     "",
     {A_START A_OPEN(0, "{\"type\":\"text\",\"text\":\"\"}") A_CITE(0, "u1") A_SAID(0, BEGUN),
      A_START A_TEXT(0, REST) A_STOP(0) A_END},
     {"\"index\":0", BEGUN, "{\"type\":\"content_block_stop\",\"index\":0}",
      "\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"" REST},
     NULL},
    {"... with its sources",
     "anthropic",
     "",
     {A_START A_TEXT(0, BEGUN) A_CITE(0, "u1"), A_START A_TEXT(0, REST) A_CITE(0, "u2") A_STOP(0) A_END},
     {"u1", "\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"" REST,
      "\"index\":1,\"delta\":{\"type\":\"citations_delta\"", "u2"},
     NULL},
    {"... also when it was said again in part",
     "anthropic",
     "",
     {A_START A_TEXT(0, ASKED) A_CITE(0, "u1"),
      A_START A_TEXT(0, ASKED REST) A_CITE(0, "u2") A_STOP(0) A_TEXT(1, " So.") A_CITE(1, "u3") A_STOP(1) A_END},
     {"\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"" REST, "u2",
      "\"index\":2,\"delta\":{\"type\":\"text_delta\",\"text\":\" So.\"", "u3"},
     NULL},
    {"no text stays empty because a search comes behind it",
     "anthropic",
     "",
     {A_START A_TEXT(0, BEGUN) A_STOP(0) A_OPEN(1, "{\"type\":\"text\",\"text\":\"\"}"),
      A_START A_SEARCH(0, "s1") A_FOUND(1, "s1") A_TEXT(2, REST) A_STOP(2) A_END},
     {"\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"" REST},
     "server_tool_use"},
    {"each message keeps its phase, and its place behind a call",
     "openai-responses",
     "",
     {R_START R_MESSAGE(0, "commentary") R_SAID(0, BEGUN),
      R_START R_MESSAGE(0, "commentary") R_SAID(0, BEGUN REST) R_DONE(0, "message") R_CALL(1)
          R_MESSAGE(2, "final_answer") R_SAID(2, " So.") R_DONE(2, "message") R_END},
     {"\"phase\":\"commentary\"", REST, "\"type\":\"function_call\"", "\"phase\":\"final_answer\""},
     NULL},
    {"a message that was whole is followed by one with its own phase",
     "openai-responses",
     "",
     {R_START R_MESSAGE(0, "commentary") R_SAID(0, BEGUN) R_DONE(0, "message"),
      R_START R_MESSAGE(0, "final_answer") R_SAID(0, BEGUN REST) R_DONE(0, "message") R_END},
     {BEGUN, "\"type\":\"response.output_item.done\"",
      "\"output_index\":1,\"item\":{\"id\":", "\"phase\":\"final_answer\""},
     NULL},
    {"what a server's tool did behind the seam stands where it came",
     "openai-responses",
     "",
     {R_START R_MESSAGE(0, "") R_SAID(0, BEGUN),
      R_START R_MESSAGE(0, "") R_SAID(0, BEGUN REST) R_DONE(0, "message") R_SEARCH(1) R_MESSAGE(2, "") R_SAID(2, " So.")
          R_DONE(2, "message") R_END},
     {REST, "\"output_index\":1,\"item\":{\"id\":\"ws_1\"", "\"output_index\":2", " So."},
     NULL},
    {"an image behind the seam stands where it came",
     "gemini",
     "",
     {G_PART("{\"text\":\"" BEGUN "\"}"),
      G_PART("{\"text\":\"" BEGUN REST "\"}") G_PART("{\"inlineData\":{\"mimeType\":\"image/png\",\"data\":\"QUJD\"}}")
          G_PART("{\"text\":\" So.\"}") G_END},
     {REST, "\"data\":\"QUJD\"", " So.", "STOP"},
     NULL},
    {"sources behind a held call stand in the text that they belong to",
     "openai-responses",
     ",\"tools\":[{\"type\":\"function\",\"name\":\"look\"}]",
     {R_START R_THOUGHT(0),
      R_START R_CALL(0) R_MESSAGE(1, "") R_SAID(1, REST) R_SOURCE(1, "u1") R_DONE(1, "message") R_END},
     {"\"type\":\"function_call\"", REST, "response.output_text.annotation.added",
      "\"annotations\":[{\"type\":\"url_citation\",\"url\":\"u1\""},
     NULL},
    {"sources behind a held call are those of the answer",
     "openai",
     ",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"look\"}}]",
     {C_CHUNK("\"role\":\"assistant\",\"reasoning_content\":\"Hm\"", "null"),
      C_CHUNK("\"content\":\"" REST "\"", "null")
          C_CHUNK("\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"look\","
                  "\"arguments\":\"{}\"}}]",
                  "null") C_CHUNK("\"annotations\":[{\"type\":\"url_citation\",\"url_citation\":{\"url\":\"u1\"}}]",
                                  "null") C_CHUNK("", "\"tool_calls\"") "data: [DONE]\n\n"},
     {REST, "tool_calls", "\"annotations\":[{\"type\":\"url_citation\",\"url_citation\":{\"url\":\"u1\"}}]", "[DONE]"},
     NULL},
    {"a call whose name comes in pieces is called by all of it",
     "openai",
     ",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"look\"}}]",
     {C_CHUNK("\"role\":\"assistant\",\"content\":\"" BEGUN "\"", "null"),
      C_CHUNK(
          "\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"lo\",\"arguments\":"
          "\"\"}}]",
          "null") C_CHUNK("\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"ok\",\"arguments\":\"{}\"}}]", "null")
          C_CHUNK("", "\"tool_calls\"") "data: [DONE]\n\n"},
     {BEGUN, "\"name\":\"look\",\"arguments\":\"{}\"", "[DONE]"},
     NULL},
    {"sources behind the seam stand in a text that begins there, and in no other",
     "openai-responses",
     "",
     {R_START R_MESSAGE(0, "") R_SAID(0, "We were told in the morning by " ASKED),
      R_START R_MESSAGE(0, "") R_SAID(0, ASKED REST) R_SOURCE(0, "u1") R_DONE(0, "message") R_SEARCH(1) R_MESSAGE(2, "")
          R_SAID(2, " So.") R_SOURCE(2, "u2") R_DONE(2, "message") R_END},
     {REST, "ws_1", " So.", "\"annotations\":[{\"type\":\"url_citation\",\"url\":\"u2\""},
     "u1"},
    {"a call in front of the seam does not part the text that goes on there",
     "openai-responses",
     ",\"tools\":[{\"type\":\"function\",\"name\":\"look\"}]",
     {R_START R_MESSAGE(0, "") R_SAID(0, BEGUN),
      R_START R_CALL(0) R_MESSAGE(1, "") R_SAID(1, BEGUN " the") R_SAID(1, " lazy dog.") R_DONE(1, "message") R_END},
     {"response.output_text.done", "\"text\":\"" BEGUN REST "\"", "\"type\":\"function_call\""},
     NULL},
    {"nor does a search of an answer that is said once more",
     "openai-responses",
     "",
     {R_START R_MESSAGE(0, "") R_SAID(0, BEGUN),
      R_START R_SEARCH(0) R_MESSAGE(1, "") R_SAID(1, BEGUN " the") R_SAID(1, " lazy dog.") R_DONE(1, "message") R_END},
     {"response.output_text.done", "\"text\":\"" BEGUN REST "\"", "ws_0"},
     NULL},
    {"a message that has no word yet is no empty one because a search is said once more",
     "openai-responses",
     "",
     {R_START R_MESSAGE(0, "") R_SAID(0, BEGUN) R_DONE(0, "message") R_SEARCH(1) R_MESSAGE(2, ""),
      R_START R_MESSAGE(0, "") R_SAID(0, BEGUN) R_DONE(0, "message") R_SEARCH(1) R_MESSAGE(2, "") R_SAID(2, REST)
          R_DONE(2, "message") R_END},
     {"\"item_id\":\"msg_2\",\"output_index\":2,\"content_index\":0,\"delta\":\"" REST "\"",
      "\"output_index\":3,\"item\":{\"id\":\"ws_1\""},
     NULL},
    {"of an answer that is said once more no word comes twice because a message in it ends",
     "openai-responses",
     "",
     {R_START R_MESSAGE(0, "") R_SAID(0, "According to them, ") R_DONE(0, "message") R_MESSAGE(1, "")
          R_SAID(1, "the brown fox "),
      R_START R_MESSAGE(0, "") R_SAID(0, "ording to them, ") R_DONE(0, "message") R_MESSAGE(1, "")
          R_SAID(1, "the brown fox jumps over" REST) R_DONE(1, "message") R_END},
     {"the brown fox ", "jumps over", REST},
     "ording to them, the"},
    {0},
};

static void holds(const row *r, const char *other)
{
    client c = {0};
    ask(&c, r, other);
    const char *at = c.bytes;
    for (size_t k = 0; k < WORDS && r->has[k]; k++) {
        const char *found = strstr(at, r->has[k]);
        if (!found)
            fail_msg("%s: it lacks %s\n%s", r->what, r->has[k], c.bytes);
        at = found + strlen(r->has[k]);
    }
    if (r->lacks && strstr(c.bytes, r->lacks))
        fail_msg("%s: it has %s\n%s", r->what, r->lacks, c.bytes);
    assert_string_equal(daruma_session_outcome(c.s), "recovered");
    daruma_session_free(c.s);
    daruma_memory_free(c.m);
    free(c.bytes);
}

static void what_a_client_has_of_an_answer_that_was_cut(void **state)
{
    (void)state;
    for (const row *r = rows; r->what; r++)
        holds(r, "");
}

static void what_it_has_where_two_dialects_made_it(void **state)
{
    (void)state;
    static const row r = {
        "a search that broke off has one result, also when who goes on speaks another dialect, and is cut, too",
        "anthropic",
        "",
        {A_START A_TEXT(0, BEGUN) A_STOP(0) A_SEARCH(1, "s1"),
         C_CHUNK("\"role\":\"assistant\",\"content\":\"" BEGUN " the\"", "null"),
         C_CHUNK("\"content\":\"" BEGUN " the lazy dog.\"", "null") C_CHUNK("", "\"stop\"") "data: [DONE]\n\n"},
        {"\"index\":2,\"content_block\":{\"type\":\"web_search_tool_result\"", "\"index\":3", " dog.", "mend_answer"},
        "\"index\":4"};
    holds(&r, "openai");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_a_client_has_of_an_answer_that_was_cut),
                                       cmocka_unit_test(what_it_has_where_two_dialects_made_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
