/* The conversation as daruma_parts.h shows it. */
#include "test.h"
#include "model/kinds.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include <stdlib.h>

static char room[1 << 22], text[1 << 20];

static daruma_arena fresh(void)
{
    return arena_over(room, sizeof room);
}

static daruma_str written(const daruma_convo *c)
{
    daruma_buf b = buf_over(text, sizeof text);
    daruma_convo_write(c, &b);
    assert_false(b.full);
    return buf_str(&b);
}

static daruma_str long_history(void)
{
    static char body[1 << 16];
    daruma_buf b = buf_over(body, sizeof body);
    BUF_LIT(&b, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"go\"}");
    for (int i = 0; i < 6; i++) {
        buf_printf(&b,
                   ",{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c%d\",\"type\":\"function\",\"function\":{"
                   "\"name\":\"ls\","
                   "\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"c%d\",\"content\":\"",
                   i, i);
        for (int w = 0; w < 500; w++)
            buf_printf(&b, "word%d ", w);
        BUF_LIT(&b, "\"}");
    }
    BUF_LIT(&b, "]}");
    return buf_str(&b);
}

static const daruma_failure too_long = {
    .kind = DARUMA_CONTEXT_LENGTH, .status = 400, .limit = 4500, .used = 7000, .requested = -1, .wait = -1};

static void a_request_is_read_and_written_as_it_was(void **state)
{
    (void)state;
    daruma_arena a = fresh();
    daruma_convo *c;
    daruma_str body = S(" {\"messages\" : [ {\"role\":\"user\",\"content\":\"hi\"} ], \"x\":1 } ");
    assert_int_equal(daruma_convo_read(S("nobody"), body, &a, &c), DARUMA_EINPUT);
    assert_null(c);
    assert_int_equal(daruma_convo_read(S("openai"), S("[]"), &a, &c), DARUMA_EINPUT);
    assert_int_equal(daruma_convo_read(S("openai"), body, &a, &c), DARUMA_OK);
    assert_true(str_eq(written(c), body));
    assert_true(daruma_convo_tokens(c) > 0);
}

static void a_remedy_that_does_not_fit_says_so(void **state)
{
    (void)state;
    daruma_arena a = fresh();
    daruma_convo *c;
    daruma_str body = S("{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}");
    const daruma_policy *p = daruma_policy_find(S("default"));
    assert_int_equal(daruma_convo_read(S("openai"), body, &a, &c), DARUMA_OK);
    for (int r = 0; r < DARUMA_REMEDIES; r++)
        if (r != DARUMA_REMEDY_CLAMP_OUTPUT) /* that one may set a cap where there is none */
            assert_false(daruma_convo_mend(c, (daruma_remedy_kind)r, &too_long, p, -1, NULL));
    assert_true(str_eq(written(c), body));
}

static void summaries_come_from_whoever_is_asked(void **state)
{
    (void)state;
    daruma_arena a = fresh();
    daruma_convo *c;
    daruma_question q[16];
    const daruma_policy *p = daruma_policy_find(S("default"));
    char said[256];
    daruma_buf what = buf_over(said, sizeof said);
    assert_int_equal(daruma_convo_read(S("openai"), long_history(), &a, &c), DARUMA_OK);
    int64_t before = daruma_convo_tokens(c);
    size_t n = daruma_convo_ask(c, DARUMA_REMEDY_SUMMARISE, &too_long, p, -1, q, 16);
    assert_in_range(n, 1, 6);
    assert_true(str_find(q[0].user, S("word1")) != STR_NONE);
    for (size_t i = 0; i < n; i++)
        daruma_convo_answer(c, i, S("five hundred words, in order"));
    assert_true(daruma_convo_mend(c, DARUMA_REMEDY_SUMMARISE, &too_long, p, -1, &what));
    assert_true(what.n > 0);
    assert_true(daruma_convo_tokens(c) < before);
    assert_true(str_find(written(c), S("five hundred words, in order")) != STR_NONE);
}

static void nearly_json_becomes_json(void **state)
{
    (void)state;
    daruma_arena a = fresh();
    bool cut = true;
    assert_true(str_eq(daruma_json_repair(S("{'a': 1,}"), &a, &cut), S("{\"a\": 1}")) ||
                str_eq(daruma_json_repair(S("{'a': 1,}"), &a, &cut), S("{\"a\":1}")));
    assert_false(cut);
    static const char *const early[] = {"{\"a\": [1, 2", "{\"a\": [1, 2]", "{\"a\": \"b\"", "{\"a\": tru"};
    for (size_t i = 0; i < COUNT(early); i++) {
        cut = false;
        assert_int_equal(daruma_json_repair((daruma_str){early[i], strlen(early[i])}, &a, &cut).n, 0);
        assert_true(cut);
    }
}

/* People read daruma_parts.h alone: what it says of a kind is what the row of the kind says. */
static void the_header_says_of_each_kind_what_its_row_says(void **state)
{
    (void)state;
    FILE *f = fopen("include/daruma_parts.h", "rb");
    assert_non_null(f);
    daruma_str header = {text, fread(text, 1, sizeof text, f)};
    fclose(f);
    for (int k = 0; k < DARUMA_KINDS; k++) {
        const char *name = daruma_kind_name((daruma_kind)k);
        char line[256], symbol[64] = "";
        for (size_t i = 0; name[i] && i + 1 < sizeof symbol; i++)
            symbol[i] = (char)(name[i] >= 'a' && name[i] <= 'z' ? name[i] - 'a' + 'A' : name[i]);
        snprintf(line, sizeof line, "    DARUMA_%s, ", symbol);
        size_t at = str_find(header, str_of(line));
        if (at == STR_NONE)
            fail_msg("no line begins with \"%s\"", line);
        daruma_str rest = str_from(header, at + strlen(line));
        snprintf(line, sizeof line, "/* %s */\n", daruma_kind_words((daruma_kind)k));
        if (!str_starts(str_trim(rest), str_of(line)))
            fail_msg("daruma_parts.h and kinds.def differ about %s", name);
    }
}

/* What rests is named exactly where something rests, what is shared where something is, and nobody is left without
 * words. */
static void each_row_of_kinds_is_whole(void **state)
{
    (void)state;
    for (int k = 0; k < DARUMA_KINDS; k++) {
        const kind_row *r = &kind_rows[k];
        assert_int_equal(r->rest == REST_NEVER, r->rests == SHARE_NOTHING);
        assert_int_equal(r->rest == REST_REFUSED, r->rest_sure > 0);
        assert_true(r->meets != SHARE_NOTHING || !r->meets_always);
        assert_true(r->status == 0 || (r->status >= 400 && r->status < 600));
        assert_true(r->name && r->words && r->advice && *r->advice);
        assert_int_equal(r->waits, *r->advice == ',' || *r->advice == ';'); /* it goes on with a sentence */
        assert_true(k == DARUMA_UNKNOWN || (r->wire.type && r->wire.messages && r->wire.rpc));
        assert_true(!r->passes || r->retryable);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_read_and_written_as_it_was),
        cmocka_unit_test(a_remedy_that_does_not_fit_says_so),
        cmocka_unit_test(summaries_come_from_whoever_is_asked),
        cmocka_unit_test(nearly_json_becomes_json),
        cmocka_unit_test(the_header_says_of_each_kind_what_its_row_says),
        cmocka_unit_test(each_row_of_kinds_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
