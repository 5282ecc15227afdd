/* surgery_kit.h - one random history on the table: mended and taken by the faulty provider before, looked at after each
 * surgery. What has to stay is found in the written JSON, not by the code that operates. */
#ifndef SURGERY_KIT_H
#define SURGERY_KIT_H
#include "test.h"
#include "engine/mend/remedy.h"
#include "mend_kit.h"
#include "pairs_kit.h"
#include <stdlib.h>

enum { KEPT_MAX = 256, BENCH_BYTES = 24 << 20 };

/* What a surgery may do that is not allowed to all. */
enum {
    MAY_TELL_SYSTEM = 1,   /* the system prompt gets words */
    MAY_DROP_THINKING = 2, /* all of it */
    MAY_DROP_MEDIA = 4,    /* of the newest turn, when nothing else is left */
    MAY_CHANGE_TOOLS = 8,  /* their schemas */
    MAY_GROW = 16,
};

typedef struct kept {
    daruma_str raw;
    int unless; /* a surgery that may do this need not keep it */
} kept;

typedef struct bench {
    kit_wire w;
    uint64_t seed;
    const dialect *d;
    kit_dice dice;
    kit_history h;
    daruma_arena a;
    const char *doing;   /* for people */
    ask asked;           /* sent, as the provider reads it */
    daruma_str in, sent; /* as it came; mended */
    convo base;          /* sent, read */
    kept kept[KEPT_MAX];
    size_t nkept;
} bench;

static char *bench_room;

static inline void bench_shout(const bench *x, const char *what, daruma_str in, daruma_str out)
{
    fprintf(stderr, "\n# in  " STR_FMT "\n# out " STR_FMT "\n", STR_ARG(in), STR_ARG(out));
    fail_msg("%s, %s: %s; once more with SURGERY_SEED=%llu", kit_names[x->w], x->doing, what,
             (unsigned long long)x->seed);
}

static inline convo bench_read(bench *x, daruma_str body)
{
    convo c = {0};
    if (x->d->read(body, &x->a, &c) != DARUMA_OK)
        bench_shout(x, "cannot be read", body, body);
    return c;
}

static inline daruma_str bench_write(bench *x, const convo *c)
{
    daruma_buf b = buf_in(&x->a);
    if (c->full)
        bench_shout(x, "no memory", x->sent, x->sent);
    x->d->write(c, &b);
    assert_false(b.full);
    return buf_str(&b);
}

static inline void *bench_dup(bench *x, const void *p, size_t n)
{
    void *q = arena_raw(&x->a, n ? n : 1, _Alignof(max_align_t));
    assert_non_null(q);
    if (n)
        memcpy(q, p, n);
    return q;
}

/* The mended history once more: cheaper than reading it. */
static inline convo bench_copy(bench *x)
{
    convo c = x->base;
    c.messages = bench_dup(x, c.messages, c.nmessages * sizeof *c.messages);
    c.cap = c.nmessages;
    c.tools = bench_dup(x, c.tools, c.ntools * sizeof *c.tools);
    for (size_t i = 0; i < c.nmessages; i++) {
        convo_message *m = &c.messages[i];
        m->parts = bench_dup(x, m->parts, m->nparts * sizeof *m->parts);
        m->cap = m->nparts;
        for (size_t j = 0; j < m->nparts; j++)
            if (m->parts[j].nparts)
                m->parts[j].parts = bench_dup(x, m->parts[j].parts, m->parts[j].nparts * sizeof(convo_part));
    }
    return c;
}

/* ---- what the server has ---- */

/* The item that a reference stands for, out of the history that was written: "msg_3", "rs_3", "fc_7". */
static inline void bench_stored(kit_writer *k, daruma_str id)
{
    int64_t number = 0;
    str_scan_int(str_from(id, str_findch(id, '_') + 1), &number);
    if (str_starts(id, S("fc_")))
        kit_call(k, (int)number, false);
    for (int i = 0; i < k->h->n; i++)
        if (k->h->e[i].kind == KIT_MODEL && k->h->e[i].number == number && !str_starts(id, S("fc_")))
            str_starts(id, S("rs_")) ? kit_thinking(k, &k->h->e[i]) : kit_words(k, &k->h->e[i]);
}

/* What the provider sees: the items that references stand for in their place. `ret_ids`: those that were referred to,
 * in order. */
static inline daruma_str bench_seen(bench *x, daruma_str body, daruma_str *ret_ids)
{
    daruma_str list = kit_get(body, S("input")), m;
    daruma_buf b = buf_in(&x->a), ids = buf_in(&x->a);
    if (!x->h.referred || !json_is_array(list))
        return body;
    kit_history whole = x->h;
    whole.referred = false;
    kit_writer k = {.b = &b, .w = x->w, .d = &x->dice, .h = &whole};
    buf_put(&b, str_sub(body, 0, (size_t)(list.p - body.p) + 1));
    for (json_iter it = kit_walk(list); json_next(&it, NULL, &m);) {
        daruma_str id = kit_field(m, "id");
        if (kit_type(m, "item_reference")) {
            bench_stored(&k, id);
            buf_put(&ids, id);
            continue;
        }
        kit_comma(&k);
        buf_put(&b, m);
    }
    buf_put(&b, str_from(body, (size_t)(list.p - body.p) + list.n - 1));
    assert_false(b.full || ids.full);
    if (ret_ids)
        *ret_ids = buf_str(&ids);
    return buf_str(&b);
}

/* ---- what has to stay ---- */

static inline daruma_str kit_list(kit_wire w, daruma_str body)
{
    static const char *const lists[KIT_WIRES] = {"messages", "messages", "input", "contents"};
    return kit_get(body, str_of(lists[w]));
}

static inline void bench_keep(bench *x, daruma_str raw, int unless)
{
    if (raw.n && x->nkept < KEPT_MAX)
        x->kept[x->nkept++] = (kept){raw, unless};
}

static inline bool kit_is_result(kit_wire w, daruma_str block)
{
    return w == KIT_GEMINI ? kit_get(block, S("functionResponse")).n > 0 : kit_type(block, "tool_result");
}

static inline daruma_str kit_blocks(kit_wire w, daruma_str message)
{
    return kit_get(message, w == KIT_GEMINI ? S("parts") : S("content"));
}

/* What a message of the user says beside results: 0 nothing, 1 that too, 2 only that. */
static inline int kit_user_says(kit_wire w, daruma_str m)
{
    daruma_str blocks = kit_blocks(w, m), b;
    size_t results = 0, others = 0;
    if (!str_eq(kit_field(m, "role"), S("user")))
        return 0;
    if (!json_is_array(blocks))
        return 2;
    for (json_iter it = kit_walk(blocks); json_next(&it, NULL, &b);)
        kit_is_result(w, b) ? results++ : others++;
    return results ? others > 0 : 2;
}

static inline void bench_keep_user(bench *x, daruma_str m)
{
    daruma_str blocks = kit_blocks(x->w, m), b;
    if (!json_is_array(blocks))
        bench_keep(x, blocks, 0);
    else
        for (json_iter it = kit_walk(blocks); json_next(&it, NULL, &b);)
            if (!kit_is_result(x->w, b))
                bench_keep(x, b, kit_get(b, S("text")).n ? 0 : MAY_DROP_MEDIA);
}

static inline void bench_keep_thinking(bench *x, daruma_str m)
{
    daruma_str blocks = kit_blocks(x->w, m), b;
    if (x->w == KIT_RESPONSES && kit_type(m, "reasoning"))
        bench_keep(x, m, MAY_DROP_THINKING);
    if (x->w == KIT_CHAT)
        bench_keep(x, kit_get(m, S("reasoning_content")), MAY_DROP_THINKING);
    if ((x->w == KIT_ANTHROPIC || x->w == KIT_GEMINI) && json_is_array(blocks))
        for (json_iter it = kit_walk(blocks); json_next(&it, NULL, &b);)
            if (kit_type(b, "thinking") || kit_type(b, "redacted_thinking") || kit_get(b, S("thought")).n ||
                kit_get(b, S("thoughtSignature")).n)
                bench_keep(x, b, MAY_DROP_THINKING);
}

static inline void bench_keep_all(bench *x)
{
    static const char *const systems[KIT_WIRES] = {"system", "system", "instructions", "systemInstruction"};
    daruma_str list = kit_list(x->w, x->sent), m, newest = {0}, last = {0};
    x->nkept = 0;
    bench_keep(x, kit_get(x->sent, str_of(systems[x->w])), MAY_TELL_SYSTEM);
    bench_keep(x, kit_get(x->sent, S("tools")), MAY_CHANGE_TOOLS);
    for (json_iter it = kit_walk(list); json_next(&it, NULL, &m);) {
        int says = kit_user_says(x->w, m);
        newest = says ? m : newest;
        last = says == 2 ? m : last;
        if (x->w == KIT_CHAT && str_eq(kit_field(m, "role"), S("system")))
            bench_keep(x, kit_get(m, S("content")), MAY_TELL_SYSTEM);
    }
    if (newest.n)
        bench_keep_user(x, newest);
    for (json_iter it = kit_walk(list); json_next(&it, NULL, &m);)
        if (m.p > last.p)
            bench_keep_thinking(x, m);
}

static inline bool kit_within(daruma_str s, daruma_str part)
{
    return memmem(s.p, s.n, part.p, part.n) != NULL;
}

/* ---- before and after ---- */

/* Is what a surgery wrote what it may be? `from`: what it began with. */
static inline void bench_look_asked(bench *x, daruma_str from, daruma_str out, int may, ask *ret_asked)
{
    daruma_str referred = {0}, still = {0}, seen = bench_seen(x, out, &still);
    bench_seen(x, x->sent, &referred);
    const char *wrong = x->h.before ? NULL : kit_check(x->w, seen);
    model_limits limits = kit_limits(x->w, x->h.thinks && !(may & MAY_DROP_THINKING));
    ask q = kit_ask(x->w, seen, &x->a);
    if (!str_eq(referred, still))
        wrong = "a reference is gone, or elsewhere";
    refusal r = validate(&q, &limits, &x->a);
    if (!wrong && r.status)
        wrong = arena_copy(&x->a, r.message).p;
    if (ret_asked)
        *ret_asked = q;
    if (wrong)
        bench_shout(x, wrong, from, out);
    for (size_t i = 0; i < x->nkept; i++)
        if (!(x->kept[i].unless & may) && !kit_within(out, x->kept[i].raw)) {
            fprintf(stderr, "\n# lost " STR_FMT, STR_ARG(x->kept[i].raw));
            bench_shout(x, "something that has to stay is gone", from, out);
        }
    if (!(may & MAY_GROW) && out.n >= from.n)
        bench_shout(x, "it did not become shorter", from, out);
}

static inline void bench_look(bench *x, daruma_str from, daruma_str out, int may)
{
    bench_look_asked(x, from, out, may, NULL);
}

/* Makes a history, mends it by the table of remedies, and sees that the provider takes it. */
static inline void bench_begin(bench *x, kit_wire w, uint64_t seed)
{
    *x = (bench){.w = w, .seed = seed, .d = dialect_find(str_of(kit_names[w])), .dice = {seed * 4 + (uint64_t)w}};
    x->a = arena_over(bench_room, BENCH_BYTES);
    x->doing = "mending";
    daruma_buf b = buf_in(&x->a);
    kit_make_rich(&x->h, &x->dice, seed % 4 ? 6 : 0, w);
    x->h.sign = kit_signature;
    x->h.arena = &x->a;
    kit_body(&x->h, w, &x->dice, &b);
    x->in = buf_str(&b);

    daruma_mend_policy policy = {.enabled = true, .prune_orphans = seed % 3 == 2};
    daruma_failure f = {.kind = DARUMA_ORPHAN_TOOL_CALL, .limit = -1, .used = -1, .requested = -1};
    mending m = {.c = bench_read(x, x->in), .policy = &policy};
    mending_result r = mending_begin(&m, DARUMA_REMEDY_REPAIR_HISTORY, &f, -1);
    if (r == MENDING_DONE && mending_begin(&m, DARUMA_REMEDY_REPAIR_HISTORY, &f, -1) != MENDING_UNFIT)
        bench_shout(x, "pairs that were mended are mended again", x->in, bench_write(x, &m.c));
    daruma_str paired = bench_write(x, &m.c);
    f.kind = DARUMA_INVALID_MESSAGE;
    r = mending_begin(&m, DARUMA_REMEDY_MEND_MESSAGES, &f, -1);
    x->sent = bench_write(x, &m.c);
    if (x->h.referred && !str_eq(paired, x->in))
        bench_shout(x, "pairs that references complete were mended", x->in, paired);
    if (r == MENDING_UNFIT && !str_eq(paired, x->sent))
        bench_shout(x, "nothing was done, and other bytes", paired, x->sent);
    daruma_str seen = bench_seen(x, x->sent, NULL);
    const char *wrong = x->h.before ? NULL : kit_check(w, seen);
    model_limits limits = kit_limits(w, x->h.thinks);
    x->asked = kit_ask(w, seen, &x->a);
    refusal no = validate(&x->asked, &limits, &x->a);
    if (wrong || no.status)
        bench_shout(x, wrong ? wrong : arena_copy(&x->a, no.message).p, x->in, x->sent);
    x->base = bench_read(x, x->sent);
    if (kit_pairs_broken(&x->base))
        bench_shout(x, "read again its pairs are broken", x->in, x->sent);
    bench_keep_all(x);
}
#endif
