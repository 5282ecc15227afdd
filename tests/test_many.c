/* Many calls in one streamed answer: however many, none is lost without a word. */
#include "test.h"
#include "dialect/dialect.h"
#include "base/arena.h"
#include "base/buf.h"

static char mem[8 << 20], more_mem[1 << 20];
static const dialect *const all[] = {&dialect_openai, &dialect_openai_responses, &dialect_anthropic, &dialect_gemini};

/* How many calls a stream has, and whether each has its own arguments. */
static int count(const dialect *d, daruma_str bytes, turn_reader *r, daruma_arena *a)
{
    turn_delta few[TURN_DELTAS_FEW];
    sse_event e;
    int calls = 0, given = 0;
    while (sse_next(&bytes, &e, a)) {
        turn_deltas said = dialect_read_delta(d, r, &e, few, a);
        assert_false(said.full);
        for (size_t i = 0; i < said.n; i++) {
            const turn_delta *one = &said.p[i];
            char want[64];
            calls += one->kind == DELTA_CALL;
            if (one->kind != DELTA_ARGUMENTS)
                continue;
            snprintf(want, sizeof want, "{\"n\":%d}", one->index);
            assert_str(one->text, want);
            given++;
        }
    }
    assert_int_equal(given, calls);
    return calls;
}

static void every_dialect_writes_and_reads_any_number_of_calls(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(all); k++)
        for (int n = 1; n <= 500; n = n < 63 ? 63 : n < 66 ? n + 1 : n * 3) {
            daruma_arena a = arena_over(mem, sizeof mem), keep = arena_over(more_mem, sizeof more_mem);
            turn_writer w = {.usage = TURN_USAGE_NONE, .made = 1, .text = buf_in(&keep), .items = buf_in(&keep)};
            daruma_buf out = buf_in(&a);
            for (int i = 0; i < n; i++) {
                char args[32];
                snprintf(args, sizeof args, "{\"n\":%d}", i);
                turn_delta d = {.kind = DELTA_CALL, .index = i, .name = S("f"), .usage = TURN_USAGE_NONE};
                all[k]->write_delta(&w, &d, &out);
                d = (turn_delta){.kind = DELTA_ARGUMENTS, .index = i, .text = str_of(args), .usage = TURN_USAGE_NONE};
                all[k]->write_delta(&w, &d, &out);
                d = (turn_delta){.kind = DELTA_CALL_END, .index = i, .usage = TURN_USAGE_NONE};
                all[k]->write_delta(&w, &d, &out);
            }
            turn_delta end = {.kind = DELTA_END, .index = -1, .usage = TURN_USAGE_NONE};
            all[k]->write_delta(&w, &end, &out);
            assert_false(out.full || w.broken);
            turn_reader r = {0};
            assert_int_equal(count(all[k], buf_str(&out), &r, &a), n);
            assert_false(r.lost);
        }
}

/* Calls without arguments get empty ones before they are no longer told apart. */
static void calls_without_arguments_are_closed_however_many(void **state)
{
    (void)state;
    daruma_arena a = arena_over(mem, sizeof mem), keep = arena_over(more_mem, sizeof more_mem);
    turn_writer w = {.usage = TURN_USAGE_NONE, .made = 1, .text = buf_in(&keep), .items = buf_in(&keep)};
    daruma_buf out = buf_in(&a);
    for (int i = 0; i < 200; i++) {
        turn_delta d = {.kind = DELTA_CALL, .index = i, .name = S("f"), .usage = TURN_USAGE_NONE};
        dialect_openai.write_delta(&w, &d, &out);
    }
    turn_delta end = {.kind = DELTA_END, .index = -1, .usage = TURN_USAGE_NONE};
    dialect_openai.write_delta(&w, &end, &out);
    int empty = 0;
    for (daruma_str rest = buf_str(&out); rest.n; empty++) {
        size_t at = str_find(rest, S("\"arguments\":\"{}\""));
        if (at == STR_NONE)
            break;
        rest = str_from(rest, at + 1);
    }
    assert_int_equal(empty, 200);
    turn_delta late = {.kind = DELTA_ARGUMENTS, .index = 3, .text = S("{}"), .usage = TURN_USAGE_NONE};
    w.r.ended = false;
    dialect_openai.write_delta(&w, &late, &out);
    assert_true(w.broken); /* it is told, not dropped */
}

#define PIECE(i, more)                                                                                                 \
    "data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":" i "," more "}]}}]}\n\n"
#define BEGIN(i, id) PIECE(i, "\"id\":\"" id "\",\"function\":{\"name\":\"f\",\"arguments\":\"\"}")
#define ARGS(i, n)   PIECE(i, "\"function\":{\"arguments\":\"{\\\"n\\\":" n "}\"}")

static void calls_that_all_have_one_index_are_told_apart_by_their_ids(void **state)
{
    (void)state;
    daruma_arena a = arena_over(mem, sizeof mem);
    turn_reader r = {0};
    assert_int_equal(count(&dialect_openai,
                           S(BEGIN("0", "a") ARGS("0", "0") BEGIN("0", "b") ARGS("0", "1") BEGIN("0", "c")
                                 ARGS("0", "2") BEGIN("0", "d") ARGS("0", "3")),
                           &r, &a),
                     4);
    r = (turn_reader){0}; /* with their own, they may come mixed */
    assert_int_equal(
        count(&dialect_openai,
              S(BEGIN("0", "a") BEGIN("1", "b") BEGIN("2", "c") ARGS("1", "1") ARGS("0", "0") ARGS("2", "2")), &r, &a),
        3);
    assert_false(r.lost);
}

static void a_piece_of_a_call_that_is_too_old_is_no_new_call(void **state)
{
    (void)state;
    daruma_arena a = arena_over(mem, sizeof mem);
    daruma_buf b = buf_in(&a);
    for (int i = 0; i < TURN_CALLS_MAX + 3; i++)
        buf_printf(
            &b,
            "data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":%d,\"id\":\"c%d\","
            "\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"n\\\":%d}\"}}]}}]}\n\n",
            i, i, i);
    turn_reader r = {0};
    assert_int_equal(count(&dialect_openai, buf_str(&b), &r, &a), TURN_CALLS_MAX + 3);
    assert_false(r.lost);
    assert_int_equal(count(&dialect_openai, S(ARGS("1", "1")), &r, &a), 0);
    assert_true(r.lost);
}

/* Some servers hand over all calls at once. */
static void one_event_may_hold_any_number_of_calls(void **state)
{
    (void)state;
    static const struct {
        const dialect *d;
        const char *before, *one, *after;
    } rows[] = {{&dialect_openai,
                 "data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\","
                 "\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"n\\\":0}\"}}",
                 ",{\"index\":%d,\"id\":\"c%d\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"n\\\":%d}\"}}",
                 "]}}]}\n\n"},
                {&dialect_gemini,
                 "data: {\"candidates\":[{\"index\":0,\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"f\","
                 "\"args\":{\"n\":0}}}",
                 ",{\"functionCall\":{\"id\":\"%d-%d\",\"name\":\"f\",\"args\":{\"n\":%d}}}", "]}}]}\n\n"}};
    for (size_t k = 0; k < COUNT(rows); k++)
        for (int n = 1; n <= 5000; n = n * 4 + 1) {
            daruma_arena a = arena_over(mem, sizeof mem);
            daruma_buf b = buf_in(&a);
            buf_putz(&b, rows[k].before);
            for (int i = 1; i < n; i++)
                buf_printf(&b, rows[k].one, i, i, i);
            buf_putz(&b, rows[k].after);
            assert_false(b.full);
            turn_reader r = {0};
            assert_int_equal(count(rows[k].d, buf_str(&b), &r, &a), n);
            assert_false(r.lost);
        }
}

/* Texts that were added to an answer all stand in it. */
static void an_answer_keeps_each_of_many_texts(void **state)
{
    (void)state;
    daruma_arena a = arena_over(mem, sizeof mem);
    turn t;
    write_ctx x = {.model = S("m")};
    daruma_buf out = buf_in(&a);
    assert_int_equal(
        dialect_openai.read_answer(
            S("{\"choices\":[{\"index\":0,\"message\":{\"content\":\"first\"},\"finish_reason\":\"stop\"}]}"), &a, &t),
        DARUMA_OK);
    convo_part parts[40] = {t.message.parts[0]};
    for (int i = 1; i < 40; i++)
        parts[i] = (convo_part){.kind = PART_TEXT, .ready = true, .text = S(" more")};
    t.message.parts = parts;
    t.message.nparts = 40;
    t.message.edited = true;
    dialect_openai.write_answer(&t, &x, &out);
    size_t n = 0;
    for (daruma_str rest = buf_str(&out); str_find(rest, S("more")) != STR_NONE; n++)
        rest = str_from(rest, str_find(rest, S("more")) + 4);
    assert_int_equal(n, 39);
    assert_true(str_find(buf_str(&out), S("first more")) != STR_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dialect_writes_and_reads_any_number_of_calls),
        cmocka_unit_test(calls_without_arguments_are_closed_however_many),
        cmocka_unit_test(calls_that_all_have_one_index_are_told_apart_by_their_ids),
        cmocka_unit_test(a_piece_of_a_call_that_is_too_old_is_no_new_call),
        cmocka_unit_test(one_event_may_hold_any_number_of_calls),
        cmocka_unit_test(an_answer_keeps_each_of_many_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
