/* Requests as conversations: what is read goes out as it came, walked or not; edits leave JSON that is read again; what
 * comes from fields alone is JSON. The first byte chooses the dialect, the second the edits. */
#include "dialect/dialect.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/json.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static daruma_str written(const dialect *d, const convo *c, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    d->write(c, &b);
    return b.full || c->full || a->full ? (daruma_str){0} : buf_str(&b);
}

/* Every part and what is in it. */
static void look_at(convo *c)
{
    for (size_t i = 0; i < c->nmessages; i++)
        for (size_t k = 0; k < c->messages[i].nparts; k++) {
            convo_part *p = &c->messages[i].parts[k];
            convo_text(c, p);
            for (size_t n = 0; n < p->nparts; n++)
                convo_text(c, &p->parts[n]);
        }
    check(convo_tokens(c) >= 0);
    check(convo_loop_begin(c) <= c->nmessages);
    size_t last = convo_last_user(c);
    check(last == STR_NONE || last < c->nmessages);
}

static void meddle(convo *c, unsigned how)
{
    if (!c->nmessages)
        return;
    convo_message *m = &c->messages[how % c->nmessages];
    convo_part *p = m->nparts ? &m->parts[how / 7 % m->nparts] : NULL;
    if (p && how % 2 && (p->kind == PART_TEXT || p->kind == PART_RESULT))
        convo_set_text(c, m, p, S("new \"text\""));
    else if (p && how % 3)
        convo_drop_part(c, m, p);
    else
        convo_drop_message(c, m);
    m = convo_insert_message(c, how % 4, how % 5 ? CONVO_USER : CONVO_TOOL);
    p = m ? convo_insert_part(c, m, 0, m->role == CONVO_TOOL ? PART_RESULT : PART_TEXT) : NULL;
    if (p)
        p->text = S("fresh");
    convo_patch_add(c, how % 2 ? PATCH_DROP : PATCH_SET, S("tools.0.name"), S("1"));
    convo_patch_add(c, PATCH_RENAME, S("model"), S("stream"));
    convo_set_max_output(c, how);
}

/* As if it came from elsewhere: nothing of the wire, fields only. */
static void strip(convo *c)
{
    look_at(c);
    c->body = (daruma_str){0};
    c->npatches = 0;
    for (size_t i = 0; i < c->nmessages; i++) {
        convo_message *m = &c->messages[i];
        m->raw = (daruma_str){0};
        for (size_t k = 0; k < m->nparts; k++) {
            m->parts[k].raw = (daruma_str){0};
            for (size_t n = 0; n < m->parts[k].nparts; n++)
                m->parts[k].parts[n].raw = (daruma_str){0};
        }
    }
    for (size_t i = 0; i < c->ntools; i++)
        c->tools[i].raw = (daruma_str){0};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const dialect *const all[] = {&dialect_openai, &dialect_openai_responses, &dialect_anthropic,
                                         &dialect_gemini};
    static char memory[8 << 20];
    if (size < 2)
        return 0;
    const dialect *d = all[data[0] % 4];
    daruma_arena a = arena_over(memory, size > 4096 || data[1] % 8 ? sizeof memory : (size_t)data[1] * 64);
    daruma_str body = {(const char *)data + 2, size - 2};
    convo c, e;
    if (d->read(body, &a, &c) != DARUMA_OK)
        return 0;
    bool valid = json_valid(body); /* a list within the body may be as deep as a body of its own */
    daruma_str out = written(d, &c, &a);
    check(!out.n || str_eq(out, body));
    look_at(&c);
    c.edited = true;
    out = written(d, &c, &a);
    check(!out.n || str_eq(out, body));
    meddle(&c, data[1]);
    out = written(d, &c, &a);
    check(!out.n || !valid || json_valid(out));
    check(!out.n || !valid || a.full || d->read(out, &a, &e) != DARUMA_EINPUT);
    strip(&c);
    for (size_t i = 0; i < 4; i++) {
        out = written(all[i], &c, &a);
        check(!out.n || !valid || json_valid(out));
    }
    return 0;
}
