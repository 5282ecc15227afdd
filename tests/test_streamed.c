/* A streamed answer is collected into the whole one that an agent reads, however its bytes are split. */
#include "test.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "dialect/streamed.h"
#include <stdlib.h>

static const dialect *const all[] = {&dialect_openai, &dialect_openai_responses, &dialect_anthropic, &dialect_gemini};
static char memory[1 << 20];

/* An answer with words, two calls and a usage, as a stream of that dialect. */
static daruma_str written(const dialect *d, daruma_arena *a)
{
    const turn_delta said[] = {
        {.kind = DELTA_START, .index = -1, .id = S("i"), .model = S("m")},
        {.kind = DELTA_TEXT, .index = -1, .text = S("I said ")},
        {.kind = DELTA_TEXT, .index = -1, .text = S("\303\266ffne.\n")},
        {.kind = DELTA_CALL, .index = 0, .id = S("c0"), .name = S("look")},
        {.kind = DELTA_ARGUMENTS, .index = 0, .text = S("{\"path\":")},
        {.kind = DELTA_ARGUMENTS, .index = 0, .text = S("\"a.c\"}")},
        {.kind = DELTA_CALL_END, .index = 0},
        {.kind = DELTA_CALL, .index = 1, .id = S("c1"), .name = S("list")},
        {.kind = DELTA_ARGUMENTS, .index = 1, .text = S("{}")},
        {.kind = DELTA_CALL_END, .index = 1},
        {.kind = DELTA_FINISH, .index = -1, .finish = FINISH_CALLS},
        {.kind = DELTA_USAGE, .index = -1, .usage = {70, 8, -1, -1, -1}},
        {.kind = DELTA_END, .index = -1},
    };
    turn_writer w = {.made = 7, .usage = TURN_USAGE_NONE, .text = buf_in(a), .usage_asked = true};
    daruma_buf out = buf_in(a);
    w.r.keep = a;
    for (size_t i = 0; i < COUNT(said); i++) {
        turn_delta x = said[i];
        if (x.kind != DELTA_USAGE)
            x.usage = TURN_USAGE_NONE;
        d->write_delta(&w, &x, &out);
    }
    assert_false(out.full);
    return buf_str(&out);
}

static streamed take(const dialect *d, daruma_str bytes, size_t step, daruma_arena *a, daruma_buf *text)
{
    streamed s = streamed_begin(d, a);
    for (size_t i = 0; i < bytes.n; i += step)
        buf_put(text, streamed_take(&s, str_sub(bytes, i, step), a));
    return s;
}

static void the_whole_answer_is_what_the_stream_said(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(all); i++)
        for (size_t step = 1; step < 5000; step *= 7) {
            daruma_arena a = arena_over(memory, sizeof memory);
            daruma_buf text = buf_in(&a);
            streamed s = take(all[i], written(all[i], &a), step, &a, &text);
            turn t = {.usage = TURN_USAGE_NONE};
            const convo in = {.arena = &a};
            assert_str(buf_str(&text), "I said \303\266ffne.\n");
            assert_int_equal(all[i]->read_answer(streamed_whole(&s), &a, &t), DARUMA_OK);
            assert_int_equal(t.message.nparts, 3);
            assert_str(convo_part_text(&in, &t.message.parts[0]), "I said \303\266ffne.\n");
            assert_str(t.message.parts[1].name, "look");
            assert_str(convo_part_text(&in, &t.message.parts[1]), "{\"path\":\"a.c\"}");
            assert_str(t.message.parts[2].name, "list");
            assert_int_equal(t.usage.input, 70);
            assert_int_equal(t.usage.output, 8);
        }
}

static void an_error_event_is_kept_as_the_body_of_an_error(void **state)
{
    (void)state;
    daruma_arena a = arena_over(memory, sizeof memory);
    daruma_buf text = buf_in(&a);
    streamed s = take(&dialect_anthropic,
                      S("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":"
                        "\"Overloaded\"}}\n\n"),
                      3, &a, &text);
    assert_int_equal(dialect_check(&dialect_anthropic, s.error).flaw, DARUMA_FLAW_ERROR_EVENT);
    assert_int_equal(text.n, 0);
}

static void what_says_nothing_is_no_answer(void **state)
{
    (void)state;
    daruma_arena a = arena_over(memory, sizeof memory);
    daruma_buf text = buf_in(&a);
    streamed s = take(&dialect_openai, S(": a comment\n\nnothing of that kind"), 5, &a, &text);
    assert_int_equal(streamed_whole(&s).n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_answer_is_what_the_stream_said),
        cmocka_unit_test(an_error_event_is_kept_as_the_body_of_an_error),
        cmocka_unit_test(what_says_nothing_is_no_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
