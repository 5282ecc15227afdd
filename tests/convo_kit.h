/* convo_kit.h - conversations for tests: read from JSON, edited, written; and built by hand. */
#ifndef CONVO_KIT_H
#define CONVO_KIT_H
#include "test.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "dialect/dialect.h"
#include "dialect/kit/shapes.h"
#include "model/convo.h"

/* Memory of one test; begin each with kit_begin(). */
static char kit_memory[32 << 20];
static daruma_arena kit_arena;

static inline void kit_begin(void)
{
    kit_arena = arena_over(kit_memory, sizeof kit_memory);
}

/* A request as it was read; fails the test when it is none. */
static inline convo kit_read(daruma_status (*read)(daruma_str, daruma_arena *, convo *), const char *body)
{
    convo c = {0};
    assert_int_equal(read(str_of(body), &kit_arena, &c), DARUMA_OK);
    return c;
}

static inline daruma_str kit_write(void (*write)(const convo *, daruma_buf *), const convo *c)
{
    daruma_buf b = buf_in(&kit_arena);
    write(c, &b);
    assert_false(b.full);
    return buf_str(&b);
}

/* An empty conversation of nobody, and messages and parts at its end. */
static inline convo kit_convo(uint32_t quirks)
{
    return (convo){.quirks = quirks,
                   .arena = &kit_arena,
                   .set = {.stream = -1,
                           .max_output = -1,
                           .max_output_path = S("max_tokens"),
                           .parallel = -1,
                           .thinking = -1,
                           .thinking_budget = -1}};
}

static inline convo_message *kit_message(convo *c, convo_role role)
{
    return convo_add_message(c, role, (daruma_str){0});
}

static inline convo_part *kit_part(convo *c, convo_message *m, part_kind kind, const char *text)
{
    convo_part *p = convo_add_part(c, m, kind, (daruma_str){0});
    p->text = str_of(text);
    return p;
}

static inline convo_message *kit_text(convo *c, convo_role role, const char *text)
{
    convo_message *m = kit_message(c, role);
    kit_part(c, m, PART_TEXT, text);
    return m;
}

static inline convo_part *kit_call(convo *c, convo_message *m, const char *id, const char *name, const char *arguments)
{
    convo_part *p = kit_part(c, m, PART_CALL, arguments);
    p->id = str_of(id);
    p->name = str_of(name);
    return p;
}

static inline convo_part *kit_result(convo *c, convo_message *m, const char *id, const char *text)
{
    convo_part *p = kit_part(c, m, PART_RESULT, text);
    p->id = str_of(id);
    return p;
}
#endif
