#include "test.h"
#include "engine/mend/pairs/pairs.h"
#include "engine/mend/request/request.h"
#include "engine/mend/shorten/shorten.h"
#include "mend_kit.h"
#include "pairs_kit.h"
#include "base/arena.h"
#include <stdlib.h>

static char *room; /* one block for all: each history begins it anew */
enum { ROOM_BYTES = 24 << 20 };
/* What one flaw may add: a neutral result or a line of ours, with the JSON around it. */
enum { FLAW_BYTES = 400 };

static daruma_arena fresh(void)
{
    return arena_over(room, ROOM_BYTES);
}

static convo read_as(const dialect *d, daruma_str body, daruma_arena *a)
{
    convo c = {0};
    assert_non_null(d->read);
    if (d->read(body, a, &c) != DARUMA_OK)
        fail_msg("not read as %s: " STR_FMT, d->name, STR_ARG(body));
    return c;
}

static daruma_str written(const dialect *d, convo *c)
{
    daruma_buf b = buf_in(c->arena);
    assert_false(c->full);
    d->write(c, &b);
    assert_false(b.full);
    return buf_str(&b);
}

static bool has(daruma_str s, const char *z)
{
    return str_find(s, str_of(z)) != STR_NONE;
}

static size_t count_of(daruma_str s, const char *z)
{
    size_t n = 0;
    for (size_t at; (at = str_find(s, str_of(z))) != STR_NONE; n++)
        s = str_from(s, at + strlen(z));
    return n;
}

static daruma_str mended(const dialect *d, const char *body, mend_orphans how, mend_report *r, daruma_arena *a)
{
    convo c = read_as(d, str_of(body), a);
    bool broken = kit_pairs_broken(&c);
    *r = mend_pairs(&c, how);
    assert_int_equal(broken, mend_did(r));
    return written(d, &c);
}

/* ---- pairs, wire by wire ---- */

static void a_call_without_result_gets_a_neutral_one(void **state)
{
    (void)state;
    static const struct {
        const dialect *d;
        const char *body, *want;
    } rows[] = {
        {&dialect_openai,
         "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"},{\"role\":\"assistant\",\"content\":null,\"tool_"
         "calls\":[{"
         "\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},{\"role\":\"user\","
         "\"content\":\"so?\"}]}",
         "]},{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"" MEND_UNKNOWN_RESULT
         "\"},{\"role\":\"user\",\"content\":\"so?\"}]}"},
        {&dialect_anthropic,
         "{\"max_tokens\":9,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"},{\"role\":\"assistant\",\"content\":[{"
         "\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"input\":{}}]},{\"role\":\"user\",\"content\":\"so?\"}]}",
         "\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":"
         "\"" MEND_UNKNOWN_RESULT "\"},{\"type\":\"text\",\"text\":\"so?\"}]}]}"},
        {&dialect_openai_responses,
         "{\"input\":[{\"role\":\"user\",\"content\":\"hi\"},{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":"
         "\"f\","
         "\"arguments\":\"{}\"},{\"role\":\"user\",\"content\":\"so?\"}]}",
         "{\"type\":\"function_call_output\",\"call_id\":\"a\",\"output\":\"" MEND_UNKNOWN_RESULT
         "\"},{\"role\":\"user\",\"content\":\"so?\"}]}"},
        {&dialect_gemini,
         "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"hi\"}]},{\"role\":\"model\",\"parts\":[{"
         "\"functionCall\":"
         "{\"name\":\"f\",\"args\":{}}}]},{\"role\":\"user\",\"parts\":[{\"text\":\"so?\"}]}]}",
         MEND_UNKNOWN_RESULT},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a = fresh();
        mend_report r;
        daruma_str out = mended(rows[i].d, rows[i].body, MEND_SYNTHESISE, &r, &a);
        if (!has(out, rows[i].want))
            fail_msg("%s: " STR_FMT, rows[i].d->name, STR_ARG(out));
        assert_int_equal(r.calls_answered, 1);
        assert_string_equal(r.what, "1 tool call got a neutral result");
        assert_true(has(out, "so?"));
    }
}

#define CALL(id)       "{\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}"
#define CALLS(list)    "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[" list "]}"
#define TOOL(id, text) "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"" text "\"}"
#define USER(text)     "{\"role\":\"user\",\"content\":\"" text "\"}"
#define CHAT(list)     "{\"model\":\"m\",\"messages\":[" list "]}"

static void chat_is(const char *body, const char *want)
{
    daruma_arena a = fresh();
    mend_report r;
    assert_str(mended(&dialect_openai, body, MEND_SYNTHESISE, &r, &a), want);
}

static void results_stand_behind_their_call_in_its_order_and_once(void **state)
{
    (void)state;
    chat_is(CHAT(USER("u") "," CALLS(CALL("a") "," CALL("b")) "," TOOL("b", "B") "," USER("v") "," TOOL("a", "A")),
            CHAT(USER("u") "," CALLS(CALL("a") "," CALL("b")) "," TOOL("a", "A") "," TOOL("b", "B") "," USER("v")));
    chat_is(CHAT(USER("u") "," TOOL("a", "A") "," CALLS(CALL("a")) "," USER("v")),
            CHAT(USER("u") "," CALLS(CALL("a")) "," TOOL("a", "A") "," USER("v")));
    chat_is(CHAT(CALLS(CALL("a")) "," TOOL("a", "first") "," TOOL("a", "second")),
            CHAT(CALLS(CALL("a")) "," TOOL("a", "first")));
    chat_is(CHAT(CALLS(CALL("a")) "," TOOL("a", MEND_UNKNOWN_RESULT) "," TOOL("a", "real")),
            CHAT(CALLS(CALL("a")) "," TOOL("a", "real")));
}

static void a_result_without_call_becomes_words_or_goes(void **state)
{
    (void)state;
    chat_is(CHAT(USER("u") "," TOOL("x", "42 files") "," TOOL("y", "")),
            CHAT(USER("u") "," USER("[Result of a tool call that is no longer in the conversation]\\n42 files")));
}

static void ids_used_again_in_later_turns_are_fine(void **state)
{
    (void)state;
    static const char fine[] =
        CHAT(USER("u") "," CALLS(CALL("a")) "," TOOL("a", "1") "," USER("v") "," CALLS(CALL("a")) "," TOOL("a", "2"));
    chat_is(fine, fine);
    /* the newest one lost its result: the older one is not taken from its call */
    chat_is(CHAT(CALLS(CALL("a")) "," TOOL("a", "1") "," CALLS(CALL("a")) "," USER("v")),
            CHAT(CALLS(CALL("a")) "," TOOL("a", "1") "," CALLS(CALL("a")) "," TOOL("a",
                                                                                   MEND_UNKNOWN_RESULT) "," USER("v")));
}

static void a_call_of_the_older_functions_is_answered_in_kind(void **state)
{
    (void)state;
    static const char call[] =
        "{\"role\":\"assistant\",\"content\":null,\"function_call\":{\"name\":\"f\",\"arguments\":\"{}\"}}";
    static const char fine[] = "{\"role\":\"function\",\"name\":\"f\",\"content\":\"1\"}";
    char body[1024], want[1024];
    snprintf(body, sizeof body, CHAT("%s,%s"), call, fine);
    chat_is(body, body);
    snprintf(body, sizeof body, CHAT("%s," USER("v")), call);
    snprintf(want, sizeof want,
             CHAT("%s,{\"role\":\"function\",\"name\":\"f\",\"content\":\"" MEND_UNKNOWN_RESULT "\"}," USER("v")),
             call);
    chat_is(body, want);
}

static void a_call_without_id_gets_one_and_keeps_its_result(void **state)
{
    (void)state;
    daruma_arena a = fresh();
    mend_report r;
    daruma_str out =
        mended(&dialect_openai, CHAT(CALLS(CALL("")) "," TOOL("", "1") "," USER("v")), MEND_SYNTHESISE, &r, &a);
    assert_int_equal(r.calls_answered, 0);
    assert_int_equal(count_of(out, "\"call_"), 2);
    assert_int_equal(count_of(out, "\"\""), 0);
    assert_null(kit_check(KIT_CHAT, out));
}

static void what_lives_on_the_server_is_not_missed(void **state)
{
    (void)state;
    static const char *const fine[] = {
        "{\"previous_response_id\":\"r\",\"input\":[{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":"
        "\"1\"}]}",
        "{\"conversation\":\"c\",\"input\":[{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":\"1\"}]}",
        "{\"input\":[{\"type\":\"item_reference\",\"id\":\"fc_1\"},{\"type\":\"function_call_output\",\"call_id\":"
        "\"c\","
        "\"output\":\"1\"}]}",
    };
    for (size_t i = 0; i < 3; i++) {
        daruma_arena a = fresh();
        mend_report r;
        assert_str(mended(&dialect_openai_responses, fine[i], MEND_SYNTHESISE, &r, &a), fine[i]);
        assert_false(mend_did(&r));
    }
}

static void results_come_before_the_users_text_and_system_entries_do_not_part_them(void **state)
{
    (void)state;
    daruma_arena a = fresh();
    mend_report r;
    static const char use[] = "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\","
                              "\"input\":{}}]}";
    char body[1024];
    snprintf(
        body, sizeof body,
        "{\"max_tokens\":9,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"},%s,{\"role\":\"user\",\"content\":[{"
        "\"type\":\"text\",\"text\":\"so?\"},{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":\"1\"}]}]}",
        use);
    daruma_str out = mended(&dialect_anthropic, body, MEND_SYNTHESISE, &r, &a);
    assert_int_equal(r.results_moved, 1);
    assert_null(kit_check(KIT_ANTHROPIC, out));
    snprintf(body, sizeof body,
             "{\"max_tokens\":9,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"},%s,{\"role\":\"system\","
             "\"content\":\"s\"},"
             "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":\"1\"}]}]}",
             use);
    assert_str(mended(&dialect_anthropic, body, MEND_SYNTHESISE, &r, &a), body);
}

/* ---- pruning, and Swarm's words ---- */

static void pruning_removes_the_call_and_keeps_the_text(void **state)
{
    (void)state;
    daruma_arena a = fresh();
    mend_report r;
    daruma_str out = mended(&dialect_openai, CHAT(USER("u") "," CALLS(CALL("a")) "," USER("v")), MEND_PRUNE, &r, &a);
    assert_str(out, CHAT(USER("u") "," USER("v"))); /* S-T1 */
    assert_int_equal(r.calls_dropped, 1);
    out = mended(
        &dialect_openai,
        CHAT(USER("u") ",{\"role\":\"assistant\",\"content\":\"Let me check that file...\",\"tool_calls\":[" CALL(
            "a") "]}," USER("v")),
        MEND_PRUNE, &r, &a);
    assert_str(out, CHAT(USER("u") ",{\"role\":\"assistant\",\"content\":\"Let me check that file...\"}," USER(
                        "v"))); /* S-T4 */
    out = mended(&dialect_openai, CHAT(USER("u") "," CALLS(CALL("a") "," CALL("b")) "," TOOL("b", "1") "," USER("v")),
                 MEND_PRUNE, &r, &a);
    assert_str(out, CHAT(USER("u") "," CALLS(CALL("b")) "," TOOL("b", "1") "," USER("v")));
}

static void pruning_breaks_no_seal(void **state)
{
    (void)state;
    daruma_arena a = fresh();
    mend_report r;
    static const char thought[] = "{\"type\":\"thinking\",\"thinking\":\"t\",\"signature\":\"s\"}";
    char body[2048];
    snprintf(body, sizeof body,
             "{\"max_tokens\":9,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"},{\"role\":\"assistant\","
             "\"content\":[%s,"
             "{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"f\",\"input\":{}},{\"type\":\"tool_use\",\"id\":\"b\","
             "\"name\":\"f\","
             "\"input\":{}}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"b\","
             "\"content\":\"1\"}]"
             "}]}",
             thought);
    daruma_str out = mended(&dialect_anthropic, body, MEND_PRUNE, &r, &a);
    assert_int_equal(r.calls_dropped, 0);
    assert_int_equal(r.calls_answered, 1);
    assert_true(has(out, thought));
    assert_null(kit_check(KIT_ANTHROPIC, out));
    /* all of them are orphans: with nothing but thinking left the message goes whole */
    out = mended(
        &dialect_openai_responses,
        "{\"input\":[{\"role\":\"user\",\"content\":\"hi\"},{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[]},"
        "{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"f\",\"arguments\":\"{}\"},{\"role\":\"user\","
        "\"content\":\"v\"}]}",
        MEND_PRUNE, &r, &a);
    assert_str(out, "{\"input\":[{\"role\":\"user\",\"content\":\"hi\"},{\"role\":\"user\",\"content\":\"v\"}]}");
}

/* What the reference stands for may be the reasoning that led to the call. */
static void pruning_leaves_no_reference_without_what_follows_it(void **state)
{
    (void)state;
    daruma_arena a = fresh();
    mend_report r;
#define REFERRED(type)                                                                                                 \
    "{\"input\":[{\"role\":\"user\",\"content\":\"hi\"},{" type                                                        \
    "\"id\":\"rs_1\"},{\"type\":\"function_call\",\"call_id\":"                                                        \
    "\"a\",\"name\":\"f\",\"arguments\":\"{}\"},{\"role\":\"user\",\"content\":\"v\"}]}"
    static const char *const forms[] = {REFERRED("\"type\":\"item_reference\","), REFERRED("")};
    for (size_t i = 0; i < 2; i++) {
        daruma_str out = mended(&dialect_openai_responses, forms[i], MEND_PRUNE, &r, &a);
        assert_int_equal(r.calls_dropped, 0);
        assert_int_equal(r.calls_answered, 1);
        assert_true(has(out, "\"rs_1\"}"));
    }
}

static void the_reminder_is_worded_as_swarm_words_it(void **state)
{
    (void)state;
    daruma_arena a = fresh();
    static const char body[] =
        CHAT(USER("u") ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"a\","
                       "\"type\":\"function\",\"function\":{\"name\":\"Read\",\"arguments\":\"{\\\"file_path\\\":"
                       "\\\"/test/important_file.rb\\\",\\\"limit\\\":5,\\\"deep\\\":null,\\\"content\\\":"
                       "\\\"123456789.123456789.123456789.123456789.123456789.1\\\"}\"}}]}," USER("v"));
    convo c = read_as(&dialect_openai, S(body), &a);
    assert_str(mend_prune_reminder(&c),
               "<system-reminder>\n"
               "The following tool calls were interrupted and removed from conversation history:\n\n"
               "- Read(file_path: \"/test/important_file.rb\", limit: 5, deep: nil, content: "
               "123456789.123456789.123456789.123456789.1234567...)\n\n"
               "These tools were never executed. If you still need their results, please run them again.\n"
               "</system-reminder>");
    c = read_as(&dialect_openai, S(CHAT(USER("u"))), &a);
    assert_int_equal(mend_prune_reminder(&c).n, 0);
}

/* ---- messages ---- */

static daruma_str messages_mended(const dialect *d, const char *body, const char *said, const char *about,
                                  mend_report *r, daruma_arena *a)
{
    daruma_failure f = {.kind = DARUMA_INVALID_MESSAGE, .message = str_of(said), .subject = str_of(about)};
    convo c = read_as(d, str_of(body), a);
    *r = mend_messages(&c, said ? &f : NULL, NULL, NULL);
    return written(d, &c);
}

#define ANTHROPIC(list) "{\"max_tokens\":9,\"messages\":[" list "]}"

static void empty_content_goes_or_is_said_minimally(void **state)
{
    (void)state;
    daruma_arena a = fresh();
    mend_report r;
    assert_str(messages_mended(
                   &dialect_anthropic,
                   ANTHROPIC("{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"\"},{\"type\":\"text\","
                             "\"text\":\"a\"}]},{\"role\":\"assistant\",\"content\":\"\"}"),
                   NULL, NULL, &r, &a),
               ANTHROPIC("{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}"));
    daruma_str out = messages_mended(&dialect_anthropic,
                                     ANTHROPIC(USER("a") ",{\"role\":\"assistant\",\"content\":\"b\"},"
                                                         "{\"role\":\"user\",\"content\":\" \"}"),
                                     NULL, NULL, &r, &a);
    assert_true(has(out, "[Nothing was said here.]"));
    static const char fine[] = CHAT(USER("") ",{\"role\":\"assistant\",\"content\":\"\"}," USER("b"));
    assert_str(messages_mended(&dialect_openai, fine, NULL, NULL, &r, &a), fine);
}

static void neighbours_of_one_role_are_joined_where_turns_are_taken(void **state)
{
    (void)state;
    daruma_arena a = fresh();
    mend_report r;
    assert_str(
        messages_mended(&dialect_anthropic, ANTHROPIC(USER("a") "," USER("b")), NULL, NULL, &r, &a),
        ANTHROPIC(
            "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\"}]}"));
    static const char two[] = CHAT(USER("a") "," USER("b"));
    assert_str(messages_mended(&dialect_openai, two, NULL, NULL, &r, &a), two);
    daruma_str out = messages_mended(&dialect_openai, two,
                                     "Conversation roles must alternate user/assistant/user/assistant/...", "", &r, &a);
    assert_int_equal(count_of(out, "\"role\""), 1);
    assert_true(has(out, "\"a\"") && has(out, "\"b\""));
}

static void a_prefill_that_is_not_taken_becomes_history(void **state)
{
    (void)state;
    daruma_arena a = fresh();
    mend_report r;
    static const char body[] = ANTHROPIC(USER("a") ",{\"role\":\"assistant\",\"content\":\"Once\"}");
    assert_str(messages_mended(&dialect_anthropic, body, NULL, NULL, &r, &a), body);
    daruma_str out = messages_mended(&dialect_anthropic, body,
                                     "This model does not support assistant message prefill. The conversation must end "
                                     "with a user message.",
                                     "", &r, &a);
    assert_true(has(out, "\"Once\"},{\"role\":\"user\",\"content\":"));
    assert_true(
        has(messages_mended(&dialect_anthropic, ANTHROPIC(USER("a") ",{\"role\":\"assistant\",\"content\":\"x \\n\"}"),
                            NULL, NULL, &r, &a),
            "\"x\""));
}

#define THOUGHT(n) "{\"type\":\"thinking\",\"thinking\":\"t" n "\",\"signature\":\"s" n "\"}"
#define USE(id)    "{\"type\":\"tool_use\",\"id\":\"" id "\",\"name\":\"f\",\"input\":{}}"
#define DID(id)                                                                                                        \
    "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"" id "\",\"content\":\"1\"}]}"
#define SAID(list) "{\"role\":\"assistant\",\"content\":[" list "]}"

static void stale_thinking_goes_whole_and_that_of_the_loop_last(void **state)
{
    (void)state;
    daruma_arena a = fresh();
    mend_report r;
    static const char body[] =
        "{\"max_tokens\":9,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":1024},"
        "\"messages\":[" USER("a") "," SAID(THOUGHT("1") ",{\"type\":\"text\",\"text\":\"x\"}") "," USER("b") "," SAID(
            THOUGHT("2") "," USE("q")) "," DID("q") "]}";
    daruma_str out = messages_mended(&dialect_anthropic, body,
                                     "messages.1.content.0: Invalid `signature` in `thinking` block", "", &r, &a);
    assert_false(has(out, THOUGHT("1")));
    assert_true(has(out, THOUGHT("2")));
    assert_true(has(out, "\"enabled\""));
    out = messages_mended(&dialect_anthropic, body, "messages.3.content.0: Invalid `signature` in `thinking` block", "",
                          &r, &a);
    assert_false(has(out, THOUGHT("2")));
    assert_true(has(out, "\"thinking\":{\"type\":\"disabled\"}"));
    out = messages_mended(
        &dialect_anthropic, ANTHROPIC(USER("a") "," SAID(USE("q")) "," DID("q")),
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.", "", &r, &a);
    assert_true(has(out, "\"thinking\":{\"type\":\"disabled\"}"));
}

static void thinking_without_its_signature_goes_alone(void **state)
{
#define HALF "{\"type\":\"thinking\",\"thinking\":\"h\",\"signature\":\"\"}"
#define BARE "{\"type\":\"thinking\",\"thinking\":\"b\"}"
    static const struct {
        const dialect *d;
        const char *in, *out; /* NULL: as it came */
    } rows[] = {
        {&dialect_anthropic, ANTHROPIC(USER("a") "," SAID(HALF "," THOUGHT("1") "," BARE "," USE("q")) "," DID("q")),
         ANTHROPIC(USER("a") "," SAID(THOUGHT("1") "," USE("q")) "," DID("q"))},
        /* a server that signs nothing takes it back so */
        {&dialect_anthropic, ANTHROPIC(USER("a") "," SAID(HALF "," USE("q")) "," DID("q")), NULL},
        {&dialect_openai_responses,
         "{\"store\":false,\"input\":[{\"type\":\"reasoning\",\"summary\":[]},{\"type\":\"reasoning\",\"summary\":[],"
         "\"encrypted_content\":\"x\"},{\"type\":\"reasoning\",\"summary\":[],\"content\":[{\"type\":\"reasoning_"
         "text\","
         "\"text\":\"t\"}]}]}",
         "{\"store\":false,\"input\":[{\"type\":\"reasoning\",\"summary\":[],"
         "\"encrypted_content\":\"x\"},{\"type\":\"reasoning\",\"summary\":[],\"content\":[{\"type\":\"reasoning_"
         "text\","
         "\"text\":\"t\"}]}]}"},
        /* one that its server keeps is looked up there */
        {&dialect_openai_responses, "{\"input\":[{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[]}]}", NULL},
        {&dialect_openai, "{\"messages\":[{\"role\":\"assistant\",\"content\":\"x\",\"reasoning_content\":\"r\"}]}",
         NULL},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a = fresh();
        convo c = read_as(rows[i].d, str_of(rows[i].in), &a);
        mend_report r = {0};
        assert_int_equal(mend_half_thinking(&c, false, &r), rows[i].out != NULL);
        assert_int_equal(r.messages_mended > 0, rows[i].out != NULL);
        assert_true(str_eq(written(rows[i].d, &c), str_of(rows[i].out ? rows[i].out : rows[i].in)));
    }
#define BLANK "{\"type\":\"text\",\"text\":\"\\n\\n\"}"
    /* its provider is known to check; what is left of the loop in progress does not begin with thinking */
#define THINKS "{\"max_tokens\":9,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":1024},\"messages\":["
    static const struct {
        const char *in;
        bool thinks;
    } loops[] = {
        {THINKS USER("a") "," SAID(HALF "," USE("q")) "," DID("q") "]}", false},
        {THINKS USER("a") "," SAID(HALF "," THOUGHT("1") "," USE("q")) "," DID("q") "]}", true},
        {THINKS USER("a") "," SAID(HALF
                                   "," USE("q")) "," DID("q") "," SAID(THOUGHT("1") "," USE("p")) "," DID("p") "]}",
         true},
        {THINKS USER("a") "," SAID(HALF "," USE("q")) "," DID("q") "," SAID(
             "{\"type\":\"text\",\"text\":\"x\"}") "," USER("b") "]}",
         true},
        /* white space is no beginning: it is refused, and was said ahead of the half */
        {THINKS USER("a") "," SAID(BLANK "," HALF "," THOUGHT("1") "," USE("q")) "," DID("q") "]}", true},
        {THINKS USER("a") "," SAID(HALF "," USE("q")) "," DID("q") "," SAID(
             BLANK "," THOUGHT("1") "," USE("p")) "," DID("p") "]}",
         true},
    };
    for (size_t i = 0; i < COUNT(loops); i++) {
        daruma_arena own = fresh();
        convo c = read_as(&dialect_anthropic, str_of(loops[i].in), &own);
        mend_report told = {0};
        assert_true(mend_half_thinking(&c, true, &told));
        daruma_str kept = written(&dialect_anthropic, &c);
        assert_false(has(kept, HALF));
        assert_false(has(kept, BLANK "," HALF) || has(kept, "[" BLANK "," THOUGHT("1") "," USE("q")));
        assert_int_equal(has(kept, "\"enabled\""), loops[i].thinks);
        assert_int_equal(has(kept, "\"thinking\":{\"type\":\"disabled\"}"), !loops[i].thinks);
    }
    /* where the model chooses whether it thinks, its answers need not begin with it */
#define CHOOSES "{\"max_tokens\":9,\"thinking\":{\"type\":\"adaptive\"},\"messages\":["
    for (size_t i = 0; i < 2; i++) {
        daruma_arena own = fresh();
        convo c = read_as(&dialect_anthropic, S(CHOOSES USER("a") "," SAID(HALF "," USE("q")) "," DID("q") "]}"), &own);
        mend_report told = {0};
        assert_true(i ? mend_strange_thinking(&c) : mend_half_thinking(&c, true, &told));
        assert_str(written(&dialect_anthropic, &c), CHOOSES USER("a") "," SAID(USE("q")) "," DID("q") "]}");
    }
    /* a refusal takes it first, wherever it points, and says that it is one */
    daruma_arena a = fresh();
    mend_report r;
    daruma_str out =
        messages_mended(&dialect_anthropic,
                        ANTHROPIC(USER("a") "," SAID(THOUGHT("1") ",{\"type\":\"text\",\"text\":\"x\"}") "," USER(
                            "b") "," SAID(HALF "," THOUGHT("2") "," USE("q")) "," DID("q")),
                        "messages.3.content.0: Invalid `signature` in `thinking` block", "", &r, &a);
    assert_true(has(out, THOUGHT("1")));
    assert_true(has(out, "[" THOUGHT("2")));
    assert_int_equal(r.halves_dropped, 1);
#define DETAIL(more)                                                                                                   \
    "{\"role\":\"assistant\",\"content\":\"x\",\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":"          \
    "\"t\"" more "}]}"
    out = messages_mended(&dialect_openai,
                          "{\"messages\":[" USER("a") "," DETAIL("") "," USER("b") "," DETAIL(
                              ",\"signature\":\"c2ln\"") "," USER("c") "]}",
                          "messages.1.content.0: Invalid `signature` in `thinking` block", "", &r, &a);
    assert_int_equal(r.halves_dropped, 1);
    assert_true(has(out, "\"signature\":\"c2ln\""));
    out = messages_mended(&dialect_anthropic, THINKS USER("a") "," SAID(HALF "," USE("q")) "," DID("q") "]}",
                          "messages.1.content.0: Invalid `signature` in `thinking` block", "", &r, &a);
    assert_true(has(out, "\"thinking\":{\"type\":\"disabled\"}"));
}

static void ids_and_names_change_together(void **state)
{
    (void)state;
    daruma_arena a = fresh();
    mend_report r;
    daruma_str out = messages_mended(&dialect_anthropic, ANTHROPIC(USER("a") "," SAID(USE("fc:1|x")) "," DID("fc:1|x")),
                                     NULL, NULL, &r, &a);
    assert_false(has(out, "fc:1|x"));
    assert_null(kit_check(KIT_ANTHROPIC, out));
    out = messages_mended(
        &dialect_openai_responses,
        "{\"input\":[{\"type\":\"function_call\",\"call_id\":\"1234567890123456789012345678901234567890123456789"
        "0123456789012345\",\"name\":\"f\",\"arguments\":\"{}\"},{\"type\":\"function_call_output\",\"call_id\":"
        "\"12345678901234567890123456789012345678901234567890123456789012345\",\"output\":\"1\"}]}",
        "Invalid 'input[0].call_id': string too long. Expected a string with maximum length 64, but got a "
        "string with length 65 instead.",
        "input[0].call_id", &r, &a);
    assert_false(has(out, "12345678901234567890"));
    assert_null(kit_check(KIT_RESPONSES, out));
}

static void what_the_failure_names_is_what_goes(void **state)
{
    (void)state;
    daruma_arena a = fresh();
    mend_report r;
    static const char image[] =
        CHAT("{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"see\"},{\"type\":\"image_url\","
             "\"image_url\":{\"url\":\"data:image/png;base64,AAAA\"}}]}");
    daruma_str out = messages_mended(&dialect_openai, image, "This model does not support image input", "", &r, &a);
    assert_false(has(out, "AAAA"));
    assert_true(has(out, "\"see\""));
    out = messages_mended(
        &dialect_anthropic,
        ANTHROPIC(USER("a") "," SAID("{\"type\":\"odd\",\"x\":1},{\"type\":\"text\",\"text\":\"b\"}") "," USER("c")),
        "messages.1.content.0: Input tag 'odd' found using 'type' does not match any of the expected tags", "", &r, &a);
    assert_false(has(out, "odd"));
    assert_true(has(out, "\"b\""));
    out = messages_mended(&dialect_openai, CHAT("{\"role\":\"developer\",\"content\":\"d\"}," USER("a")),
                          "developer is not one of ['system', 'assistant', 'user', 'tool', 'function']", "", &r, &a);
    assert_str(out, CHAT("{\"role\":\"system\",\"content\":\"d\"}," USER("a")));
    out = messages_mended(
        &dialect_openai,
        CHAT("{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\"}]}"),
        "content must be a string", "messages.0", &r, &a);
    assert_str(out, CHAT(USER("a\\nb")));
    out = messages_mended(
        &dialect_openai_responses,
        "{\"input\":[{\"role\":\"user\",\"content\":\"hi\"},{\"type\":\"reasoning\",\"id\":\"rs_9\",\"summary\":[]},"
        "{\"type\":\"message\",\"id\":\"msg_1\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\","
        "\"text\":\"ok\"}]},{\"role\":\"user\",\"content\":\"v\"}]}",
        "Item with id 'rs_9' not found. Items are not persisted when `store` is set to false.", "input", &r, &a);
    assert_false(has(out, "rs_9"));
    assert_true(has(out, "\"ok\""));
}

/* What a model never takes is known by a bit, which does it again to other requests. */
static void what_a_model_never_takes_is_a_habit(void **state)
{
    (void)state;
    static const struct {
        const char *said, *name, *body, *mended;
    } rows[] = {
        {"Unexpected message role.", "developer_is_system",
         CHAT("{\"role\":\"developer\",\"content\":\"d\"}," USER("a")),
         CHAT("{\"role\":\"system\",\"content\":\"d\"}," USER("a"))},
        {"System message must be at the beginning.", "system_first",
         CHAT(USER("a") ",{\"role\":\"system\",\"content\":\"d\"}"), CHAT(USER("a") "," USER("d"))},
        {"messages[0]: invalid type: sequence, expected a string", "content_is_string",
         CHAT("{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}"), CHAT(USER("a"))},
        {"Conversation roles must alternate user/assistant/user/assistant/...", "turns_alternate",
         CHAT(USER("a") "," USER("b")), NULL},
        {"Tool call id was ab but must be a-z, A-Z, 0-9, with a length of 9.", "ids_of_nine",
         CHAT(
             CALLS("{\"id\":\"ab\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}") "," TOOL(
                 "ab", "1")),
         NULL},
        {"Missing `reasoning_content` field in the assistant message at message index 1.", "thinking_stays",
         CHAT(USER("a") ",{\"role\":\"assistant\",\"content\":\"b\"}," USER("c")),
         CHAT(USER("a") ",{\"role\":\"assistant\",\"content\":\"b\",\"reasoning_content\":\" \"}," USER("c"))},
        {"Invalid 'content': 'content' field must be a string or an array of objects.", "content_is_there",
         CHAT(
             CALLS("{\"id\":\"ab\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}") "," TOOL(
                 "ab", "1")),
         NULL},
        {"The content field in the Message object at messages.0 is empty.", "calls_say_something",
         CHAT(
             CALLS("{\"id\":\"ab\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}") "," TOOL(
                 "ab", "1")),
         NULL},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a = fresh();
        daruma_failure f = {.kind = DARUMA_INVALID_MESSAGE, .message = str_of(rows[i].said)};
        uint32_t habits = 0;
        mend_report r = {0};
        convo c = read_as(&dialect_openai, str_of(rows[i].body), &a),
              again = read_as(&dialect_openai, str_of(rows[i].body), &a);
        mend_messages(&c, &f, NULL, &habits);
        daruma_str once = written(&dialect_openai, &c);
        assert_string_equal(mend_habit_name(habits, 0), rows[i].name);
        assert_null(mend_habit_name(habits, 1));
        if (rows[i].mended)
            assert_str(once, rows[i].mended);
        assert_true(mend_habits(&again, habits, &r));
        assert_true(str_eq(written(&dialect_openai, &again), once));
        assert_int_equal(mend_habits_hurt(habits, &f) & ~habits, 0);
        /* It is done once: what takes the request as it is now finds nothing more to do. */
        convo third = read_as(&dialect_openai, once, &a);
        mend_habits(&third, habits, &r);
        daruma_str thrice = written(&dialect_openai, &third);
        if (!str_eq(thrice, once))
            fail_msg("%s: " STR_FMT " became " STR_FMT, rows[i].name, STR_ARG(once), STR_ARG(thrice));
    }
}

static void a_habit_that_hurts_is_told(void **state)
{
    (void)state;
    daruma_arena a = fresh();
    daruma_failure f = {.kind = DARUMA_INVALID_MESSAGE,
                        .message = S("messages[0]: invalid type: sequence, expected a string")};
    uint32_t habits = 0;
    convo c =
        read_as(&dialect_openai, S(CHAT("{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}")), &a);
    mend_messages(&c, &f, NULL, &habits);
    f.message = S("messages[0].content must be an array of content blocks");
    assert_int_equal(mend_habits_hurt(habits, &f), habits);
    f.message = S("Image URLs are not supported in content");
    assert_int_equal(mend_habits_hurt(habits, &f), 0);
    f.message = S("tools must be an array");
    assert_int_equal(mend_habits_hurt(habits, &f), 0);
    f.kind = DARUMA_INVALID_PARAMETER;
    f.message = S("stop must be an array");
    assert_int_equal(mend_habits_hurt(habits, &f), 0);
    f = (daruma_failure){.kind = DARUMA_INVALID_MESSAGE, .message = S("The tool result is invalid here")};
    assert_int_equal(mend_habits_hurt(UINT32_MAX, &f), 0);
    f.message = S("reasoning_content could not be read");
    assert_int_equal(mend_habits_hurt(UINT32_MAX, &f), 0);
}

/* Only what is said of every request is learned, and only of what was done. */
static void what_one_message_says_is_no_habit(void **state)
{
    (void)state;
    static const struct {
        const char *said, *own, *body, *mended;
    } rows[] = {
        {"The system message is too strange for me.", NULL, CHAT("{\"role\":\"system\",\"content\":\"d\"}," USER("a")),
         CHAT(USER("d") "," USER("a"))},
        /* a union of Pydantic's: lists are taken, this one is not */
        {"messages[0].content.str: Input should be a valid string; messages[0].content.list[part].0.type: unknown",
         NULL, CHAT("{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}"), NULL},
        /* the turns are wrong, and no role is */
        {"After the optional system message, conversation roles must alternate user/assistant/user/assistant/...", NULL,
         CHAT("{\"role\":\"system\",\"content\":\"d\"}," USER("a")), NULL},
        {"Content must be a string or an array of objects, but got an integer.", NULL,
         CHAT("{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}"), NULL},
        /* the words stand in the request */
        {"I cannot answer this: messages[0]: invalid type: sequence, expected a string", "I cannot answer this:",
         CHAT("{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}"), CHAT(USER("a"))},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a = fresh();
        daruma_failure f = {.kind = DARUMA_INVALID_MESSAGE, .message = str_of(rows[i].said)};
        uint32_t habits = 0;
        convo c = read_as(&dialect_openai, str_of(rows[i].body), &a);
        f.own = rows[i].own ? str_of(rows[i].own) : f.message;
        mend_messages(&c, &f, NULL, &habits);
        assert_int_equal(habits, 0);
        assert_str(written(&dialect_openai, &c), rows[i].mended ? rows[i].mended : rows[i].body);
    }
}

/* Where developer was meant the system's stays, and several at the beginning become one. */
static void system_messages_are_mended_one_thing_at_a_time(void **state)
{
    (void)state;
    daruma_arena a = fresh();
    daruma_failure f = {.kind = DARUMA_INVALID_MESSAGE,
                        .message = S("The developer role is not supported here, use the system role instead.")};
    uint32_t habits = 0;
    convo c = read_as(
        &dialect_openai,
        S(CHAT("{\"role\":\"developer\",\"content\":\"d\"},{\"role\":\"system\",\"content\":\"s\"}," USER("a"))), &a);
    mend_messages(&c, &f, NULL, &habits);
    assert_string_equal(mend_habit_name(habits, 0), "developer_is_system");
    assert_null(mend_habit_name(habits, 1));
    assert_str(written(&dialect_openai, &c),
               CHAT("{\"role\":\"system\",\"content\":\"d\"},{\"role\":\"system\",\"content\":\"s\"}," USER("a")));
    f.message = S("Only one system message is supported.");
    c = read_as(&dialect_openai,
                S(CHAT("{\"role\":\"system\",\"content\":\"d\"},{\"role\":\"system\",\"content\":\"s\"}," USER(
                    "a") ",{\"role\":\"system\",\"content\":\"t\"}")),
                &a);
    mend_messages(&c, &f, NULL, &habits);
    assert_string_equal(mend_habit_name(habits, 0), "system_first");
    daruma_str out = written(&dialect_openai, &c);
    assert_true(has(out, "\"d\"") && has(out, "\"s\""));
    assert_int_equal(count_of(out, "\"role\":\"system\""), 1);
    assert_true(has(out, USER("t")));
}

static void broken_arguments_in_the_history_become_readable(void **state)
{
    (void)state;
    daruma_arena a = fresh();
    mend_report r;
    daruma_str out =
        messages_mended(&dialect_openai,
                        CHAT(CALLS("{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{"
                                   "\\\"x\\\": 1,}\"}}") "," TOOL("a", "1")),
                        "Invalid arguments: tool call arguments must be valid JSON", "messages[0]", &r, &a);
    assert_int_equal(r.messages_mended, 1);
    assert_true(has(out, "\"{\\\"x\\\":1}\""));
    /* Of what ends too early nobody knows what was done: its words stay, and no call is made of them. */
    out =
        messages_mended(&dialect_openai,
                        CHAT(CALLS("{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{"
                                   "\\\"x\\\": 1,\"}}") "," TOOL("a", "1")),
                        "Invalid arguments: tool call arguments must be valid JSON", "messages[0]", &r, &a);
    assert_true(has(out, "unreadable"));
    assert_false(has(out, "1,\"}}"));
}

/* ---- too many bytes ---- */

static void old_images_go_first_then_the_largest_output(void **state)
{
    (void)state;
    daruma_arena a = fresh();
    daruma_buf b = buf_in(&a);
    BUF_LIT(&b, "{\"model\":\"m\",\"messages\":[");
    for (int i = 0; i < 3; i++) {
        buf_printf(&b,
                   "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"see %d\"},{\"type\":\"image_url\","
                   "\"image_url\":{\"url\":\"data:image/png;base64,",
                   i);
        for (int k = 0; k < 5000; k++)
            buf_putc(&b, (char)('A' + i));
        BUF_LIT(&b, "\"}}]},{\"role\":\"assistant\",\"content\":\"ok\"},");
        BUF_LIT(&b, CALLS(CALL("c")) ",{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"");
        for (int k = 0; k < 3000 * (3 - i); k++)
            buf_putc(&b, (char)('r' + i));
        BUF_LIT(&b, "\"},");
    }
    BUF_LIT(&b, USER("now?") "]}");
    daruma_str body = buf_str(&b);
    convo c = read_as(&dialect_openai, body, &a);
    mend_report r = mend_shed(&c, body.n - 4000);
    daruma_str out = written(&dialect_openai, &c);
    assert_int_equal(r.parts_shortened, 1);
    assert_true(out.n <= body.n - 4000);
    assert_true(has(out, "[image left out: image/png, 3750 bytes]") && !has(out, "AAAA") && has(out, "BBBB"));
    r = mend_shed(&c, body.n - 20000);
    out = written(&dialect_openai, &c);
    assert_true(out.n <= body.n - 20000);
    assert_true(has(out, "see 0") && has(out, "now?"));
    assert_false(has(out, "BBBB") || has(out, "CCCC"));
    assert_true(count_of(out, "t") > 3000); /* the smallest output is whole */
    assert_false(mend_did(&(mend_report){0}));
    r = mend_shed(&c, body.n);
    assert_false(mend_did(&r));
}

/* ---- a hundred thousand histories ---- */

static void shout(kit_wire w, const char *what, uint64_t seed, daruma_str in, daruma_str out)
{
    fprintf(stderr, "\n# in  " STR_FMT "\n# out " STR_FMT "\n", STR_ARG(in), STR_ARG(out));
    fail_msg("%s: %s; once more with MEND_SEED=%llu", kit_names[w], what, (unsigned long long)seed);
}

static uint32_t flaws_in(const mend_report *r)
{
    return r->calls_answered + r->calls_dropped + r->results_moved + r->results_dropped + r->results_to_text +
           r->messages_mended;
}

/* What users said, and the first real result of each call (`results`), is still there. */
static const char *lost(const kit_history *h, daruma_str out, bool results)
{
    static char what[32];
    for (int i = 0; i < h->n; i++) {
        const kit_event *e = &h->e[i];
        if (e->empty || e->kind == KIT_MODEL || (e->kind == KIT_RESULT && (!results || e->doubled)))
            continue;
        snprintf(what, sizeof what, "%s%d. ", e->kind == KIT_USER ? "U" : e->orphan ? "O" : "R", e->number);
        if (!has(out, what))
            return what;
    }
    return NULL;
}

/* Each message of the model is there as it was: nothing but results is moved or made. */
static bool answers_kept(const convo *c, daruma_str out)
{
    for (size_t i = 0; i < c->nmessages; i++)
        if (c->messages[i].role == CONVO_ASSISTANT && str_find(out, c->messages[i].raw) == STR_NONE)
            return false;
    return true;
}

static void one_history(kit_wire w, uint64_t seed)
{
    const dialect *d = dialect_find(str_of(kit_names[w]));
    kit_dice dice = {seed * 4 + (uint64_t)w};
    kit_history h;
    daruma_arena a = fresh();
    daruma_buf b = buf_in(&a);
    kit_make(&h, &dice, seed % 4 ? 6 : 0);
    kit_body(&h, w, &dice, &b);
    daruma_str in = buf_str(&b);
    mend_orphans how = seed % 3 == 2 ? MEND_PRUNE : MEND_SYNTHESISE;

    convo c = read_as(d, in, &a), was = c;
    if (!str_eq(written(d, &c), in))
        shout(w, "unedited it is written otherwise", seed, in, written(d, &c));
    bool broken = kit_pairs_broken(&c);
    const char *wrong = kit_check(w, in);
    if (wrong && !broken)
        shout(w, wrong, seed, in, in);
    was = read_as(d, in, &a);
    mend_report r = mend_pairs(&c, how);
    if (broken != mend_did(&r))
        shout(w, "broken, and nothing done; or the other way", seed, in, in);
    daruma_str out = written(d, &c);
    if (!broken && !str_eq(in, out))
        shout(w, "nothing to do, other bytes", seed, in, out);
    if ((wrong = kit_check(w, out)))
        shout(w, wrong, seed, in, out);
    if ((wrong = lost(&h, out, w != KIT_GEMINI)))
        shout(w, wrong, seed, in, out);
    if (how == MEND_SYNTHESISE && !answers_kept(&was, out))
        shout(w, "an answer of the model was edited", seed, in, out);
    if (out.n > in.n + FLAW_BYTES * (size_t)flaws_in(&r))
        shout(w, "it grew too much", seed, in, out);
    convo again = read_as(d, out, &a);
    mend_report twice = mend_pairs(&again, how);
    if (mend_did(&twice) || !str_eq(written(d, &again), out))
        shout(w, twice.what, seed, in, out);
    mend_report same = mend_pairs(&c, how);
    if (mend_did(&same))
        shout(w, "twice on one conversation", seed, in, out);

    r = mend_messages(&again, NULL, NULL, NULL);
    daruma_str sent = written(d, &again);
    if ((wrong = kit_refused(w, sent, false, &a)) || (wrong = kit_check(w, sent)) ||
        (wrong = lost(&h, sent, w != KIT_GEMINI)))
        shout(w, wrong, seed, in, sent);
    if (sent.n > out.n + FLAW_BYTES * (size_t)flaws_in(&r))
        shout(w, "messages made it grow too much", seed, out, sent);
    again = read_as(d, sent, &a);
    r = mend_messages(&again, NULL, NULL, NULL);
    if (mend_did(&r))
        shout(w, r.what, seed, out, sent);

    convo small = read_as(d, sent, &a);
    r = seed & 8 ? mend_shed(&small, sent.n / 2) : mend_mask(&small, convo_tokens(&small) / 2, NULL);
    daruma_str shrunk = written(d, &small);
    if (shrunk.n > sent.n || (mend_did(&r) && shrunk.n == sent.n))
        shout(w, "shrinking did not shrink", seed, sent, shrunk);
    if (!mend_did(&r) && !str_eq(shrunk, sent))
        shout(w, "nothing shrunk, other bytes", seed, sent, shrunk);
    if ((wrong = kit_check(w, shrunk)) || (mend_did(&r) && (wrong = kit_refused(w, shrunk, false, &a))) ||
        (wrong = lost(&h, shrunk, false)))
        shout(w, wrong, seed, sent, shrunk);
}

static void many_histories(kit_wire w, uint64_t n)
{
    if (!dialect_find(str_of(kit_names[w])) || !dialect_find(str_of(kit_names[w]))->read)
        skip();
    const char *more = getenv("MEND_HISTORIES"), *only = getenv("MEND_SEED");
    if (more)
        n = strtoull(more, NULL, 10);
    for (uint64_t seed = only ? strtoull(only, NULL, 10) : 1, end = only ? seed : n; seed <= end; seed++)
        one_history(w, seed);
}

static void random_histories_of_chat_are_mended(void **state)
{
    (void)state;
    many_histories(KIT_CHAT, 25000);
}
static void random_histories_of_messages_are_mended(void **state)
{
    (void)state;
    many_histories(KIT_ANTHROPIC, 25000);
}
static void random_histories_of_responses_are_mended(void **state)
{
    (void)state;
    many_histories(KIT_RESPONSES, 25000);
}
static void random_histories_of_gemini_are_mended(void **state)
{
    (void)state;
    many_histories(KIT_GEMINI, 25000);
}

static void without_memory_it_says_so_and_breaks_nothing(void **state)
{
    (void)state;
    static const char body[] =
        CHAT(USER("u") "," CALLS(CALL("a") "," CALL("b")) "," TOOL("b", "B") "," USER("v") "," TOOL("x", "X"));
    for (size_t bytes = 4096; bytes < 40000; bytes += 8) {
        daruma_arena a = arena_over(room, bytes);
        convo c;
        if (dialect_openai.read(S(body), &a, &c) != DARUMA_OK)
            continue;
        mend_pairs(&c, bytes & 8 ? MEND_PRUNE : MEND_SYNTHESISE);
        mend_messages(&c, NULL, NULL, NULL);
        assert_true(c.full || !a.full);
    }
}

static int room_up(void **state)
{
    (void)state;
    room = malloc(ROOM_BYTES);
    return room ? 0 : -1;
}

static int room_down(void **state)
{
    (void)state;
    free(room);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_without_result_gets_a_neutral_one),
        cmocka_unit_test(results_stand_behind_their_call_in_its_order_and_once),
        cmocka_unit_test(a_result_without_call_becomes_words_or_goes),
        cmocka_unit_test(ids_used_again_in_later_turns_are_fine),
        cmocka_unit_test(a_call_of_the_older_functions_is_answered_in_kind),
        cmocka_unit_test(a_call_without_id_gets_one_and_keeps_its_result),
        cmocka_unit_test(what_lives_on_the_server_is_not_missed),
        cmocka_unit_test(results_come_before_the_users_text_and_system_entries_do_not_part_them),
        cmocka_unit_test(pruning_removes_the_call_and_keeps_the_text),
        cmocka_unit_test(pruning_breaks_no_seal),
        cmocka_unit_test(pruning_leaves_no_reference_without_what_follows_it),
        cmocka_unit_test(the_reminder_is_worded_as_swarm_words_it),
        cmocka_unit_test(empty_content_goes_or_is_said_minimally),
        cmocka_unit_test(neighbours_of_one_role_are_joined_where_turns_are_taken),
        cmocka_unit_test(a_prefill_that_is_not_taken_becomes_history),
        cmocka_unit_test(stale_thinking_goes_whole_and_that_of_the_loop_last),
        cmocka_unit_test(thinking_without_its_signature_goes_alone),
        cmocka_unit_test(ids_and_names_change_together),
        cmocka_unit_test(what_the_failure_names_is_what_goes),
        cmocka_unit_test(what_a_model_never_takes_is_a_habit),
        cmocka_unit_test(a_habit_that_hurts_is_told),
        cmocka_unit_test(what_one_message_says_is_no_habit),
        cmocka_unit_test(system_messages_are_mended_one_thing_at_a_time),
        cmocka_unit_test(broken_arguments_in_the_history_become_readable),
        cmocka_unit_test(old_images_go_first_then_the_largest_output),
        cmocka_unit_test(random_histories_of_chat_are_mended),
        cmocka_unit_test(random_histories_of_messages_are_mended),
        cmocka_unit_test(random_histories_of_responses_are_mended),
        cmocka_unit_test(random_histories_of_gemini_are_mended),
        cmocka_unit_test(without_memory_it_says_so_and_breaks_nothing),
    };
    return cmocka_run_group_tests(tests, room_up, room_down);
}
