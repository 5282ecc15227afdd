/* Words that an error quotes from the request are no evidence, and all others are. */
#include "test.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "engine/judge/match.h"
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

static int bad;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_no_api_has_are_quotes_as_well),
        cmocka_unit_test(without_the_request_what_stands_in_quotes_is_none_of_the_providers_words),
        cmocka_unit_test(a_word_that_is_repeated_is_not_looked_at_for_ever),
        cmocka_unit_test(no_row_is_found_in_what_is_quoted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
