/* Words that an error quotes from the request are no evidence, and all others are. */
#include "test.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "engine/judge/match.h"
#include <dirent.h>
#include <stdlib.h>
#include <time.h>

static daruma_failure judged(int status, daruma_str request, const char *form, daruma_str quote)
{
    static char room[1 << 20], text[1 << 16];
    daruma_arena a = arena_over(room, sizeof room), own = arena_over(text, sizeof text);
    daruma_buf b = buf_in(&own);
    const char *gap = strstr(form, "%s");
    buf_put(&b, (daruma_str){form, (size_t)(gap - form)});
    buf_put(&b, quote);
    buf_put(&b, str_of(gap + 2));
    daruma_evidence ev = {.phase = DARUMA_AT_ANSWER, .status = status, .body = buf_str(&b), .request = request};
    return daruma_classify(&ev, at(0), &a);
}

/* What a row looks for, as somebody could write it. */
static daruma_str spoken(const phrase *p, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    for (const char *c = p->says; *c; c++) {
        if (*c == '*')
            BUF_LIT(&b, "of it");
        else if (*c == '#')
            buf_putc(&b, '7');
        else if (!strchr("^$|\"'`\\", *c))
            buf_putc(&b, *c);
    }
    return str_trim(buf_str(&b));
}

static const char *const requests[] = {
    "{\"model\":\"m\",\"messages\":[{\"role\":\"%s\",\"content\":\"hello there\"}]}",
    "{\"model\":\"%s\",\"messages\":[{\"role\":\"user\",\"content\":\"hello there\"}]}",
    "{\"model\":\"m\",\"metadata\":{\"tag\":\"%s\"},\"messages\":[]}",
    "{\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"%s\",\"parameters\":{}}}],\"messages\":[]}",
    "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]}]}",
    "{\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c1\",\"function\":{\"name\":\"look\","
    "\"arguments\":"
    "\"{\\\"of\\\":\\\"it all\\\",\\\"place\\\":\\\"%s\\\",\\\"n\\\":1}\"}}]}]}",
};

static const char *const errors[] = {
    "{\"error\":{\"message\":\"Invalid value: '%s'. Supported values are: 'user' and 'assistant'.\",\"type\":\"invalid_"
    "request_error\",\"param\":\"messages[0].role\",\"code\":\"invalid_value\"}}",
    "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.0: unexpected value "
    "\\\"%s\\\"; "
    "something else was expected\"}}",
    "{\"error\":{\"code\":400,\"message\":\"Invalid value at 'contents[0].role': "
    "`%s`\",\"status\":\"INVALID_ARGUMENT\"}}",
    "{\"detail\":[{\"loc\":[\"body\",\"messages\",0],\"msg\":\"value is not a valid enumeration member: '%s'\"}]}",
};

static size_t bad;
static void assert_same(const daruma_failure *f, const daruma_failure *g, daruma_str what, const char *request,
                        const char *error)
{
    if (f->kind != g->kind || f->wait != g->wait || f->limit != g->limit || f->retryable != g->retryable ||
        f->tool_kind != g->tool_kind)
        bad++, print_message("# %s %s %.*s: %s, wait %lld; without it %s, wait %lld\n", request, error, (int)what.n,
                             what.p, daruma_kind_name(f->kind), (long long)f->wait, daruma_kind_name(g->kind),
                             (long long)g->wait);
}

static void no_row_is_found_in_what_is_quoted(void **state)
{
    (void)state;
    static char room[4096], asked[8192];
    size_t n = 0;
    for (uint16_t r = 1; match_row(r).name; r++) {
        const phrase row = match_row(r), *p = &row;
        if (p->where != AT_TEXT && p->where != AT_CODE)
            continue;
        for (size_t i = 0; i < COUNT(requests); i++)
            for (size_t k = 0; k < COUNT(errors); k++) {
                daruma_arena a = arena_over(room, sizeof room), b = arena_over(asked, sizeof asked);
                daruma_str quote = spoken(p, &a);
                daruma_buf q = buf_in(&b);
                const char *gap = strstr(requests[i], "%s");
                buf_put(&q, (daruma_str){requests[i], (size_t)(gap - requests[i])});
                buf_put(&q, quote);
                buf_put(&q, str_of(gap + 2));
                int status = k == 3 ? 422 : 400;
                daruma_failure f = judged(status, buf_str(&q), errors[k], quote);
                daruma_failure g = judged(status, buf_str(&q), errors[k], S(""));
                assert_same(&f, &g, quote, requests[i], errors[k]);
                n++;
            }
    }
    assert_true(n > 10000);
    assert_int_equal(bad, 0);
}

/* A client may call the members of its request as it likes. */
static void names_that_no_api_has_are_quotes_as_well(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "You exceeded your current quota",
        "You_exceeded_your_current_quota",
        "you-exceeded-your-current-quota",
        "Please try again in 86400s",
        "please_try_again_in_86400s_rate_limit_reached",
        "The_model_m_does_not_exist_or_you_do_not_have_access_to_it",
    };
    static const char *const forms[] = {
        "{\"error\":{\"message\":\"Unrecognized request argument supplied: %s\",\"type\":\"invalid_request_error\"}}",
        "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"%s: Extra inputs are not "
        "permitted\"}}",
    };
    for (size_t i = 0; i < COUNT(keys); i++)
        for (size_t k = 0; k < COUNT(forms); k++) {
            char request[256];
            snprintf(request, sizeof request, "{\"messages\":[],\"%s\":true}", keys[i]);
            daruma_failure f = judged(400, str_of(request), forms[k], str_of(keys[i]));
            if (f.kind != DARUMA_INVALID_PARAMETER && f.kind != DARUMA_UNKNOWN)
                fail_msg("%s: %s", keys[i], daruma_kind_name(f.kind));
            assert_true(f.wait <= 0);
        }
    /* Names that APIs have are what such an error is about. */
    daruma_failure f =
        judged(400, S("{\"disable_parallel_tool_use\":true,\"max_completion_tokens\":5}"),
               "{\"error\":{\"message\":\"Unsupported parameter: '%s' is not supported with this model.\"}}",
               S("max_completion_tokens"));
    assert_int_equal(f.kind, DARUMA_INVALID_PARAMETER);
    assert_true(str_eq(f.subject, S("max_completion_tokens")));
}

/* In the midst of a stream the request may be gone. */
static void without_the_request_what_stands_in_quotes_is_none_of_the_providers_words(void **state)
{
    (void)state;
    static char room[1 << 20];
    static const char quoted[] =
        "{\"error\":{\"message\":\"Invalid value: 'You exceeded your current quota, please check "
        "your plan, try again in 86400s'\"}}",
                      bare[] = "{\"error\":{\"message\":\"You exceeded your current quota, please check your plan\"}}";
    daruma_arena a = arena_over(room, sizeof room);
    daruma_evidence ev = {
        .phase = DARUMA_AT_STREAM, .status = 200, .flaw = DARUMA_FLAW_ERROR_EVENT, .body = str_of(quoted)};
    daruma_failure f = daruma_classify(&ev, at(0), &a);
    assert_true(f.kind != DARUMA_QUOTA && f.kind != DARUMA_RATE_LIMIT && f.wait <= 0);
    ev.body = str_of(bare);
    f = daruma_classify(&ev, at(0), &a);
    assert_int_equal(f.kind, DARUMA_QUOTA);
    assert_true(f.hearsay); /* it rests one lane, for seconds */
}

/* One word, again and again, in the error and in the request: the work is the product of the two. */
static void a_word_that_is_repeated_is_not_looked_at_for_ever(void **state)
{
    (void)state;
    static char said[8192], room[1 << 20];
    size_t bytes = 4u << 20;
    char *asked = malloc(bytes);
    assert_non_null(asked);
    for (size_t i = 0; i < bytes; i++)
        asked[i] = i % 2 ? ' ' : 'a';
    asked[0] = '"';
    daruma_buf b = buf_over(said, sizeof said);
    BUF_LIT(&b, "{\"error\":{\"message\":\"Invalid value: '");
    for (int i = 0; i < 1500; i++)
        BUF_LIT(&b, "a ");
    BUF_LIT(&b, "'. You exceeded your current quota\"}}");
    daruma_arena a = arena_over(room, sizeof room);
    daruma_evidence ev = {
        .phase = DARUMA_AT_ANSWER, .status = 400, .body = buf_str(&b), .request = (daruma_str){asked, bytes}};
    clock_t from = clock();
    daruma_failure f = daruma_classify(&ev, at(0), &a);
    assert_true(clock() - from < 10 * CLOCKS_PER_SEC); /* it took minutes; under a sanitizer a second is usual */
    assert_int_not_equal(f.kind, DARUMA_QUOTA);        /* what nobody could tell from a quote is no evidence */
    free(asked);
}

/* ---- what is sent in other ways ---- */

static daruma_failure judged_beside(int status, const char *request, const char *beside, const char *body)
{
    static char room[1 << 20];
    daruma_arena a = arena_over(room, sizeof room);
    daruma_evidence ev = {.phase = DARUMA_AT_ANSWER,
                          .status = status,
                          .body = str_of(body),
                          .request = str_of(request),
                          .beside = str_of(beside)};
    return daruma_classify(&ev, at(0), &a);
}

static bool harms_others(const daruma_failure *f)
{
    daruma_scope who = daruma_kind_scope(f->kind);
    return who == DARUMA_SICK_KEY || who == DARUMA_SICK_ACCOUNT || who == DARUMA_SICK_MODEL || f->wait > 60000;
}

/* A picture is one character raw and two escapes; some providers drop it. */
static void a_picture_among_the_words_hides_no_quote(void **state)
{
    (void)state;
    static const char *const forms[] = {"\xf0\x9f\x98\x80", "\\ud83d\\ude00",          "\\\\ud83d\\\\ude00", "?", "",
                                        "\xef\xbf\xbd",     "\xe2\x9c\x85\xef\xb8\x8f"};
    char request[512], body[512];
    for (size_t i = 0; i < COUNT(forms); i++)
        for (size_t k = 0; k < COUNT(forms); k++) {
            snprintf(request, sizeof request,
                     "{\"messages\":[{\"role\":\"user\",\"content\":\"so you exceeded %s your current %s quota please, "
                     "now\"}]}",
                     forms[i], forms[i]);
            snprintf(body, sizeof body,
                     "{\"error\":{\"message\":\"Bad text: you exceeded %s your current %s quota please\"}}", forms[k],
                     forms[k]);
            daruma_failure f = judged_beside(429, request, "", body);
            if (f.kind == DARUMA_QUOTA)
                fail_msg("%s %s is %s", request, body, daruma_kind_name(f.kind));
        }
}

/* An error that sends back what it was sent, as members. */
static void members_that_the_request_has_say_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *echo;
        daruma_kind kind; /* what it would be without the request */
    } rows[] = {
        {"\"code\":\"insufficient_quota\"", DARUMA_QUOTA},
        {"\"type\":\"insufficient_quota\"", DARUMA_QUOTA},
        {"\"reason\":\"insufficient\\u005fquota\"", DARUMA_QUOTA},
        {"\"status\":\"invalid_api_key\"", DARUMA_AUTH},
        {"\"code\":\"rate_limit_exceeded\",\"retry_after\":86400", DARUMA_RATE_LIMIT},
    };
    static const char *const forms[] = {
        "{\"error\":{\"message\":\"The request is not valid\",\"body\":{\"model\":\"m\",\"metadata\":{%s}}}}",
        "{\"error\":{\"message\":\"The request is not valid\"},\"data\":{\"metadata\": { %s } }}",
        "{\"detail\":{\"body\":{%s},\"msg\":\"The request is not valid\"}}",
        "{'error': {'message': 'The request is not valid', \"body\": {%s}}}",
    };
    char request[512], body[512];
    for (size_t i = 0; i < COUNT(rows); i++)
        for (size_t k = 0; k < COUNT(forms); k++) {
            snprintf(request, sizeof request, "{\"model\":\"m\",\"metadata\":{%s},\"messages\":[]}", rows[i].echo);
            snprintf(body, sizeof body, forms[k], rows[i].echo);
            daruma_failure bare = judged_beside(400, "", "", body), f = judged_beside(400, request, "", body);
            if (harms_others(&f) || f.kind == rows[i].kind)
                fail_msg("%s: %s is %s, waits %lld", request, body, daruma_kind_name(f.kind), (long long)f.wait);
            if (k == 0)
                assert_int_equal(bare.kind, rows[i].kind);
        }
    /* what it says itself is heard beside it */
    daruma_failure f = judged_beside(404, "{\"model\":\"m\",\"metadata\":{\"code\":\"insufficient_quota\"}}", "",
                                     "{\"error\":{\"message\":\"No such model\",\"code\":\"model_not_found\","
                                     "\"body\":{\"code\":\"insufficient_quota\"}}}");
    assert_int_equal(f.kind, DARUMA_MODEL_NOT_FOUND);
}

static void words_of_fields_and_of_the_query_are_quotes(void **state)
{
    (void)state;
    static const char *const beside[] = {
        "openai-beta: You exceeded your current quota, please check your plan",
        "user-agent: x/1\nx-tag: you+exceeded+your+current+quota",
        "tag: You%20exceeded%20your%20current%20quota%2C%20please",
        "x-you-exceeded-your-current-quota-please: 1",
        "x-tag: WW91IGV4Y2VlZGVkIHlvdXIgY3VycmVudCBxdW90YSwgcGxlYXNlIGNoZWNrIHlvdXIgcGxhbg==",
    };
    static const char *const bodies[] = {
        "{\"error\":{\"message\":\"A field is bad: You exceeded your current quota, please\"}}",
        "{\"error\":{\"message\":\"You exceeded your current quota, please check your plan\"}}",
    };
    for (size_t k = 0; k < COUNT(bodies); k++) {
        daruma_failure bare = judged_beside(429, "{}", "", bodies[k]);
        assert_int_equal(bare.kind, DARUMA_QUOTA);
        for (size_t i = 0; i < COUNT(beside); i++) {
            daruma_failure f = judged_beside(429, "{}", beside[i], bodies[k]);
            if (f.kind == DARUMA_QUOTA)
                fail_msg("%s: %s", beside[i], bodies[k]);
        }
    }
}

/* A short text is quoted whole out of a longer one of the request. */
static void all_that_an_error_says_may_be_quoted(void **state)
{
    (void)state;
    static const char request[] =
        "{\"contents\":[{\"parts\":[{\"text\":\"so: Incorrect API key provided is what it said\"}]}]}";
    static const char *const bodies[] = {
        "{\"oops\": \"Incorrect API key provided\"",
        "{\"error\":{\"message\":\"Incorrect API key provided\"}}",
        "Incorrect API key provided",
    };
    for (size_t i = 0; i < COUNT(bodies); i++)
        for (int status = 200; status <= 500; status += 150) {
            daruma_failure f = judged_beside(status, request, "", bodies[i]);
            if (f.kind == DARUMA_AUTH)
                fail_msg("%d %s", status, bodies[i]);
        }
    daruma_failure f = judged_beside(401, request, "", bodies[1]);
    assert_int_equal(f.kind, DARUMA_AUTH); /* the status says so */
}

/* Escapes that are none become longer than they were. */
static void a_request_that_is_no_json_breaks_nothing(void **state)
{
    (void)state;
    char room[256];
    daruma_buf request = buf_over(room, sizeof room - 1);
    BUF_LIT(&request, "{\"metadata\":{\"code\":\"");
    for (int i = 0; i < 48; i++)
        BUF_LIT(&request, "\\u:");
    BUF_LIT(&request, "\"}}");
    room[request.n] = 0;
    daruma_failure f = judged_beside(400, room, "", "{\"error\":{\"code\":\"insufficient_quota\",\"message\":\"no\"}}");
    assert_int_equal(f.kind, DARUMA_QUOTA);
}

/* What stands behind the part of a request that is looked at may be quoted, too. */
static void what_is_not_looked_at_may_be_quoted(void **state)
{
    (void)state;
    static char room[1 << 20];
    static const char tail[] = "\",\"tag\":\"you exceeded your current quota\",\"code\":\"insufficient_quota\"}";
    size_t bytes = QUOTE_REQUEST_BYTES_MAX + (64u << 10);
    char *asked = malloc(bytes);
    assert_non_null(asked);
    memset(asked, 'a', bytes);
    memcpy(asked, "{\"text\":\"", 9);
    memcpy(asked + bytes - strlen(tail), tail, strlen(tail));
    static const char *const bodies[] = {
        "{\"error\":{\"message\":\"Bad tag: 'you exceeded your current quota'\"}}",
        "{\"error\":{\"message\":\"Bad\",\"body\":{\"code\":\"insufficient_quota\"}}}",
    };
    for (size_t i = 0; i < COUNT(bodies); i++) {
        daruma_arena a = arena_over(room, sizeof room);
        daruma_evidence ev = {
            .phase = DARUMA_AT_ANSWER, .status = 429, .body = str_of(bodies[i]), .request = (daruma_str){asked, bytes}};
        daruma_failure f = daruma_classify(&ev, at(0), &a);
        assert_int_not_equal(f.kind, DARUMA_QUOTA);
    }
    free(asked);
}

/* ---- what providers really say, quoted from requests made at random ---- */

static uint64_t dice = 1;
static size_t roll(size_t n)
{
    dice = dice * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(dice >> 33) % n;
}

/* As JSON has it; some characters as escapes. */
static void put_escaped(daruma_buf *b, daruma_str s)
{
    bool odd = roll(4) == 0;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c < ' ' || (odd && c < 0x80 && roll(5) == 0))
            buf_printf(b, "\\u%04x", c);
        else if (c == '"' || c == '\\')
            buf_printf(b, "\\%c", c);
        else
            buf_putc(b, (char)c);
    }
}

static void put_base64(daruma_buf *b, daruma_str s)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < s.n; i += 3) {
        unsigned v = 0, n = s.n - i < 3 ? (unsigned)(s.n - i) : 3;
        for (unsigned k = 0; k < 3; k++)
            v = v << 8 | (k < n ? (unsigned char)s.p[i + k] : 0);
        for (unsigned k = 0; k < 4; k++)
            buf_putc(b, k <= n ? digits[v >> (18 - 6 * k) & 63] : '=');
    }
}

static void put_filler(daruma_buf *b)
{
    static const char *const texts[] = {"Please try again, later than the last time.", "The limit of patience.",
                                        "Which model is it?", "I exceeded the speed limit with my key.", "ok"};
    for (size_t n = roll(4); n; n--) {
        BUF_LIT(b, "{\"role\":\"user\",\"content\":\"");
        put_escaped(b, str_of(texts[roll(COUNT(texts))]));
        BUF_LIT(b, "\"},");
    }
}

enum place { AS_ROLE, AS_TAG, AS_TOOL, AS_PART, AS_ARGUMENT, IN_TEXT, AS_TWO_PARTS, AS_FILE, PLACES };

/* A request that holds the words somewhere. */
static daruma_str random_request(daruma_str words, daruma_arena *a)
{
    daruma_buf b = buf_in(a), inner = buf_in(a);
    size_t spaces = 0, cut = 0;
    for (size_t i = 0; i < words.n; i++)
        if (words.p[i] == ' ')
            spaces++, cut = spaces <= 3 ? i : cut;
    enum place at = (enum place)roll(PLACES);
    if ((at == IN_TEXT && spaces < 8) || (at == AS_TWO_PARTS && spaces < 6) || (at == AS_FILE && words.n < 30))
        at = AS_TAG; /* so few words of a longer text are no quote */
    BUF_LIT(&b, "{\"model\":\"m\",");
    if (at == AS_TAG) {
        BUF_LIT(&b, "\"metadata\":{\"tag\":\"");
        put_escaped(&b, words);
        BUF_LIT(&b, "\"},");
    }
    if (at == AS_TOOL) {
        BUF_LIT(&b, "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"");
        put_escaped(&b, words);
        BUF_LIT(&b, "\"}}],");
    }
    BUF_LIT(&b, "\"messages\":[");
    put_filler(&b);
    BUF_LIT(&b, "{\"role\":\"");
    put_escaped(&b, at == AS_ROLE ? words : S("user"));
    BUF_LIT(&b, "\",\"content\":[{\"type\":\"text\",\"text\":\"");
    if (at == IN_TEXT) {
        BUF_LIT(&b, "What does it mean when they say ");
        put_escaped(&b, words);
        BUF_LIT(&b, " and nothing else?");
    } else if (at == AS_FILE) {
        put_base64(&b, words);
    } else if (at == AS_TWO_PARTS) {
        put_escaped(&b, str_sub(words, 0, cut));
        BUF_LIT(&b, "\"},{\"type\":\"text\",\"text\":\"");
        put_escaped(&b, str_from(words, cut + 1));
    } else if (at == AS_ARGUMENT) {
        BUF_LIT(&inner, "{\"of\":");
        buf_json(&inner, words);
        BUF_LIT(&inner, ",\"n\":1}");
        put_escaped(&b, buf_str(&inner));
    } else {
        put_escaped(&b, at == AS_PART ? words : S("hello there"));
    }
    BUF_LIT(&b, "\"}]},");
    put_filler(&b);
    BUF_LIT(&b, "{\"role\":\"user\",\"content\":\"so\"}]}");
    return buf_str(&b);
}

static size_t quoted;
static void quote_line(daruma_str line)
{
    static char mem[1u << 20], plain[1u << 16], wrapped[1u << 16];
    daruma_arena a = arena_over(mem, sizeof mem);
    daruma_evidence ev = {.phase = DARUMA_AT_ANSWER,
                          .status = (int)json_int(json_get(line, S("status")), 400),
                          .body = json_text(json_get(line, S("body")), &a)};
    daruma_arena keep = a;
    daruma_str words = str_trim(daruma_classify(&ev, at(0), &a).message);
    words = daruma_redact(words, &a);
    if (words.n < 12 || words.n > 2000)
        return;
    words = arena_copy(&keep, words);
    for (size_t k = 0; k < COUNT(errors); k++) {
        static const int statuses[] = {400, 404, 422, 500};
        daruma_arena r = keep, p = arena_over(plain, sizeof plain), e = arena_over(wrapped, sizeof wrapped);
        daruma_str request = random_request(words, &r);
        daruma_buf shown = buf_in(&p);
        daruma_buf json = buf_in(&e);
        buf_json(&json, words); /* as the error writes them */
        buf_put(&shown, str_sub(buf_str(&json), 1, json.n - 2));
        int status = statuses[roll(COUNT(statuses))];
        daruma_failure f = judged(status, request, errors[k], buf_str(&shown));
        daruma_failure g = judged(status, request, errors[k], S(""));
        assert_same(&f, &g, words, "a random request", errors[k]);
        quoted++;
    }
}

static void no_error_of_the_corpus_is_evidence_when_it_is_quoted(void **state)
{
    (void)state;
    DIR *dir = opendir("tests/corpus/errors");
    char *text = malloc(4u << 20);
    assert_true(dir && text);
    for (struct dirent *e; (e = readdir(dir));) {
        char path[512];
        if (!str_ends(str_of(e->d_name), S(".jsonl")))
            continue;
        snprintf(path, sizeof path, "tests/corpus/errors/%s", e->d_name);
        FILE *f = fopen(path, "rb");
        assert_non_null(f);
        daruma_str rest = {text, fread(text, 1, 4u << 20, f)};
        fclose(f);
        while (rest.n)
            quote_line(str_trim(str_cut(&rest, '\n')));
    }
    closedir(dir);
    free(text);
    assert_true(quoted > 5000);
    assert_int_equal(bad, 0);
}

/* ---- names ---- */

/* A client may call the members and values of its request as it likes, in a few words or in one. What such a name says
 * is nothing about others, wherever an error puts it. */
static void no_short_name_is_evidence(void **state)
{
    (void)state;
    static const char *const names[] = {
        "insufficient_quota",
        "rate_limit_exceeded",
        "invalid-api-key",
        "model_not_found",
        "InsufficientQuota",
        "overloaded",
        "unauthorized",
        "billing.hard.limit",
        "insufficient\\u0020quota",
        "throttled",
        "RateLimitExceeded",
        "quota_exceeded",
        "server_is_overloaded",
        "NoQuota",
        "api_key_not_valid",
    };
    static const char *const forms[] = {
        "{\"error\":{\"message\":\"Unrecognized request argument supplied: %s\",\"type\":\"invalid_request_error\"}}",
        "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"%s: Extra inputs are not "
        "permitted\"}}",
        "{\"error\":{\"code\":400,\"message\":\"Invalid JSON payload received. Unknown name '%s': Cannot find "
        "field.\",\"status\":\"INVALID_ARGUMENT\"}}",
        "{\"error\":{\"message\":\"Bad value at 'metadata.%s' of this request\"}}",
        "{\"error\":{\"message\":\"%s\"}}",
        "{\"error\":\"%s\"}",
        "Error: %s",
    };
    static const char *const wraps[] = {"{\"messages\":[],\"%s\":true}", "{\"messages\":[],\"user\":\"%s\"}",
                                        "{\"messages\":[{\"role\":\"tool\",\"content\":\"{\\\"%s\\\":1}\"}]}"};
    for (size_t i = 0; i < COUNT(names); i++)
        for (size_t k = 0; k < COUNT(forms); k++)
            for (size_t w = 0; w < COUNT(wraps); w++)
                for (int status = 400; status <= 500; status += 100) {
                    char request[256];
                    snprintf(request, sizeof request, wraps[w], names[i]);
                    daruma_str shown = strchr(names[i], '\\') ? S("insufficient quota") : str_of(names[i]);
                    daruma_failure f = judged(status, str_of(request), forms[k], shown);
                    daruma_failure g = judged(status, str_of(request), forms[k], S("zebras_walk"));
                    bool own = daruma_kind_scope(f.kind) == DARUMA_SICK_REQUEST ||
                               daruma_kind_scope(f.kind) == DARUMA_SICK_CONVERSATION;
                    if (f.kind != g.kind && !own)
                        bad++, print_message("# %s in %s, %s, %d: %s, not %s\n", names[i], wraps[w], forms[k], status,
                                             daruma_kind_name(f.kind), daruma_kind_name(g.kind));
                    bad += f.wait != g.wait;
                }
    assert_int_equal(bad, 0);
}

/* A message that is one word looks like a code, and may be somebody's. */
static void a_message_of_one_word_is_hearsay(void **state)
{
    (void)state;
    daruma_failure f = judged(400, (daruma_str){0}, "{\"error\":{\"message\":\"%s\"}}", S("insufficient_quota"));
    assert_int_equal(f.kind, DARUMA_QUOTA);
    assert_true(f.hearsay);
    f = judged(429, (daruma_str){0}, "{\"error\":{\"message\":\"%s\"}}", S("insufficient_quota"));
    assert_int_equal(f.kind, DARUMA_QUOTA);
    assert_false(f.hearsay); /* the status says so, too */
    f = judged(400, (daruma_str){0}, "{\"error\":{\"message\":\"no\",\"code\":\"%s\"}}", S("insufficient_quota"));
    assert_int_equal(f.kind, DARUMA_QUOTA);
    assert_false(f.hearsay); /* it is a code */
    f = judged(400, (daruma_str){0}, "{\"error\":{\"message\":\"%s\",\"param\":\"user\"}}", S("insufficient_quota"));
    assert_int_equal(f.kind, DARUMA_INVALID_PARAMETER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_short_name_is_evidence),
        cmocka_unit_test(a_message_of_one_word_is_hearsay),
        cmocka_unit_test(no_error_of_the_corpus_is_evidence_when_it_is_quoted),
        cmocka_unit_test(names_that_no_api_has_are_quotes_as_well),
        cmocka_unit_test(without_the_request_what_stands_in_quotes_is_none_of_the_providers_words),
        cmocka_unit_test(a_word_that_is_repeated_is_not_looked_at_for_ever),
        cmocka_unit_test(a_picture_among_the_words_hides_no_quote),
        cmocka_unit_test(members_that_the_request_has_say_nothing),
        cmocka_unit_test(words_of_fields_and_of_the_query_are_quotes),
        cmocka_unit_test(all_that_an_error_says_may_be_quoted),
        cmocka_unit_test(a_request_that_is_no_json_breaks_nothing),
        cmocka_unit_test(what_is_not_looked_at_may_be_quoted),
        cmocka_unit_test(no_row_is_found_in_what_is_quoted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
