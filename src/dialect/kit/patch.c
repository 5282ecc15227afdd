/* patch.c - edits of a body by path, and the body with them and with what its dialect writes anew. */
#include "dialect/kit/convo_kit.h"
#include "base/arena.h"
#include "base/check.h"

/* ---- patches ---- */

/* A patch, and what of its path lies below the value in hand. */
typedef struct step {
    const convo_patch *patch;
    daruma_str head, rest;
    size_t next; /* 1 + the next one with this head, once there are many */
    bool used;   /* met what it names */
} step;

/* Those of one object or list, in their order. Few are looked through; of many the heads are known. */
typedef struct steps {
    step *p;
    size_t n, cap;
    size_t renames; /* that rename a member of it */
    str_map heads;  /* of the first `known`: 1 + the first with that head in the upper half, the last in the lower */
    size_t known;
} steps;
enum { STEPS_FEW = 8 };

typedef struct patching {
    const convo *c;
    daruma_arena *scratch;
    daruma_buf *out;
    const body_member *members; /* of the top */
    size_t nmembers;
} patching;

/* What becomes of one member: renamed, replaced, gone, changed below. */
typedef struct fate {
    daruma_str name, value;
    bool gone, set, renamed;
    steps below; /* patches of what lies in it */
} fate;

static step step_of(const convo_patch *p, daruma_str path)
{
    step s = {.patch = p, .rest = path};
    s.head = str_cut(&s.rest, '.');
    return s;
}

static bool step_add(patching *x, steps *s, step one)
{
    step *p = arena_grow(x->scratch, s->p, s->n, &s->cap, sizeof *p, STEPS_FEW / 2);
    if (!p) {
        x->out->full = true;
        return false;
    }
    s->p = p;
    s->renames += one.patch->op == PATCH_RENAME && !one.rest.n;
    s->p[s->n++] = one;
    return true;
}

/* Enters the heads that are new in the list. */
static void know_heads(patching *x, steps *s)
{
    for (; s->known < s->n; s->known++) {
        uint64_t *at = map_put(&s->heads, x->scratch, s->p[s->known].head), i = s->known + 1;
        if (!at) {
            x->out->full = true;
            return;
        }
        if (*at)
            s->p[(*at & UINT32_MAX) - 1].next = (size_t)i;
        *at = (*at ? *at >> 32 : i) << 32 | i;
    }
}

/* The first step from `from` on that begins with `name`, raw or plain; s->n when there is none. */
static size_t step_find(patching *x, steps *s, daruma_str name, size_t from)
{
    if (s->n <= STEPS_FEW) {
        while (from < s->n && !key_is(name, s->p[from].head))
            from++;
        return from;
    }
    know_heads(x, s);
    if (name.n && memchr(name.p, '\\', name.n)) {
        daruma_buf b = buf_in(x->scratch);
        BUF_SAY(&b, "\"", name, "\"");
        name = json_text(buf_str(&b), x->scratch);
    }
    const uint64_t *at = map_get(&s->heads, name);
    size_t i = at ? (size_t)(*at >> 32) : 0;
    while (i && i <= from)
        i = s->p[i - 1].next;
    return i ? i - 1 : s->n;
}

/* The next one behind `i` with the same head. */
static size_t step_next(const steps *s, size_t i)
{
    size_t next = i + 1;
    if (s->n > STEPS_FEW)
        return s->p[i].next ? s->p[i].next - 1 : s->n;
    while (next < s->n && !str_eq(s->p[next].head, s->p[i].head))
        next++;
    return next;
}

static void fate_step(patching *x, fate *f, const step *s)
{
    if (s->rest.n) {
        step_add(x, &f->below, step_of(s->patch, s->rest));
        return;
    }
    switch (s->patch->op) {
    case PATCH_SET:
        f->value = s->patch->value;
        f->set = true;
        f->gone = false;
        f->below = (steps){0};
        return;
    case PATCH_DROP:
        f->gone = true;
        return;
    case PATCH_RENAME:
        f->name = s->patch->value;
        f->renamed = true;
        return;
    }
}

static fate fate_of(patching *x, daruma_str key, daruma_str value, steps *s)
{
    fate f = {.name = key, .value = value};
    for (size_t i = step_find(x, s, key, 0); i < s->n;) {
        bool other = s->p[i].patch->op == PATCH_RENAME && !s->p[i].rest.n;
        s->p[i].used = true;
        fate_step(x, &f, &s->p[i]);
        i = other ? step_find(x, s, f.name, i + 1) : step_next(s, i);
    }
    return f;
}

/* Does another member get this name? Then the one that has it goes: a name stands once. */
static bool name_taken(const steps *s, daruma_str key, daruma_str object)
{
    for (size_t i = 0; s->renames && i < s->n; i++)
        if (s->p[i].patch->op == PATCH_RENAME && !s->p[i].rest.n && key_is(key, s->p[i].patch->value) &&
            !key_is(key, s->p[i].head) && json_get(object, s->p[i].head).n)
            return true;
    return false;
}

static void patch_value(patching *x, daruma_str value, steps *s);

/* What a dialect writes itself, with the patches of what lies in it. False: nothing. */
static bool put_member(patching *x, const body_member *m, daruma_str old, steps *below)
{
    daruma_buf tmp = buf_in(x->scratch);
    if (!below->n)
        return m->put(x->c, old, x->out);
    bool some = m->put(x->c, old, &tmp);
    x->out->full |= tmp.full;
    if (some && !tmp.full)
        patch_value(x, buf_str(&tmp), below);
    return some;
}

static const body_member *member_of(const patching *x, daruma_str key)
{
    for (size_t i = 0; i < x->nmembers; i++)
        if (key_is(key, x->members[i].key))
            return &x->members[i];
    return NULL;
}

/* Passes the member in hand as its fate says. */
static void patch_member(patching *x, splice *s, fate *f, const body_member *m)
{
    splice before = *s;
    size_t n = x->out->n;
    if (!m && !f->set && !f->renamed && !f->below.n) {
        splice_keep(s);
        return;
    }
    if (f->renamed)
        splice_named(s, f->name);
    else
        splice_key(s);
    if (m && !f->set) {
        if (!put_member(x, m, f->value, &f->below)) {
            x->out->n = n;
            *s = before;
        }
        return;
    }
    patch_value(x, f->value, &f->below);
}

/* Does a path go through a list? Lists are not made. */
static bool names_index(daruma_str path)
{
    int64_t at;
    while (path.n)
        if (str_int(str_cut(&path, '.'), &at))
            return true;
    return false;
}

/* SET of what is not there makes it, and the objects on the way to it; in a list only at its end. */
static void patch_new(patching *x, splice *s, steps *due, daruma_str object)
{
    int64_t at;
    for (size_t i = 0; i < due->n; i++) {
        daruma_str name = due->p[i].head, rest = due->p[i].rest;
        if (due->p[i].used || due->p[i].patch->op != PATCH_SET || (rest.n && (s->close == ']' || names_index(rest))))
            continue;
        if (s->close == ']' ? !str_int(name, &at) || (size_t)at != s->passed : name_taken(due, name, object))
            continue;
        fate f = fate_of(x, name, (daruma_str){0}, due);
        if (f.gone)
            continue;
        splice_add(s, f.name);
        patch_value(x, f.value.n ? f.value : S("{}"), &f.below);
        s->passed += s->close == ']';
    }
}

/* Members that only the dialect knows of: those that the body has not. What it does not write, the patches may make. */
static void put_missing(patching *x, splice *s, steps *due, uint32_t seen)
{
    for (size_t i = 0; i < x->nmembers; i++) {
        const body_member *m = &x->members[i];
        if (seen >> i & 1)
            continue;
        splice before = *s;
        size_t n = x->out->n;
        fate f = fate_of(x, m->key, (daruma_str){0}, due);
        splice_add(s, m->key);
        if (!f.set && put_member(x, m, (daruma_str){0}, &f.below))
            continue;
        x->out->n = n;
        *s = before;
        for (size_t k = 0; k < due->n; k++)
            if (key_is(m->key, due->p[k].head))
                due->p[k].used = false;
    }
}

/* The object or list with its patches; at the top also with what the dialect writes itself. */
static void patch_all(patching *x, daruma_str value, steps *due, bool top)
{
    daruma_str key, member;
    char digits[20];
    uint32_t seen = 0;
    field last[BODY_MEMBERS_MAX];
    for (size_t i = 0; top && i < x->nmembers; i++)
        last[i] = (field){.key = x->members[i].key};
    if (top)
        fields_of(value, last, x->nmembers);
    splice s = splice_open(x->out, value);
    while (splice_next(&s, &key, &member)) {
        if (s.close == ']') {
            daruma_buf b = buf_over(digits, sizeof digits);
            buf_int(&b, (int64_t)s.passed);
            key = buf_str(&b);
        }
        const body_member *m = top ? member_of(x, key) : NULL;
        fate f = fate_of(x, key, member, due);
        if (m)
            seen |= 1u << (m - x->members);
        if (m && last[m - x->members].value.p != member.p)
            m = NULL; /* an earlier one of that name: it does not count */
        if (!f.gone && !(due->n && s.close == '}' && !f.renamed && name_taken(due, key, value)))
            patch_member(x, &s, &f, m);
    }
    if (top)
        put_missing(x, &s, due, seen);
    patch_new(x, &s, due, value);
    splice_close(&s);
}

static void patch_value(patching *x, daruma_str value, steps *s)
{
    if (s->n && (json_is_object(value) || json_is_array(value)))
        patch_all(x, value, s, false);
    else
        buf_put(x->out, value);
}

static steps steps_of(patching *x, const convo_patch *p, size_t n)
{
    steps s = {0};
    for (size_t i = 0; i < n; i++)
        if (p[i].path.n && !step_add(x, &s, step_of(&p[i], p[i].path)))
            break;
    return s;
}

/* One JSON value with patches by paths from its top; `scratch` holds what is changed twice. */
static void patches_apply(daruma_str value, const convo_patch *p, size_t n, daruma_arena *scratch, daruma_buf *out)
{
    patching x = {.scratch = scratch, .out = out};
    steps s = steps_of(&x, p, n);
    patch_value(&x, value, &s);
}

/* ---- whole bodies ---- */

static void write_edited(const convo *c, const body_member *m, size_t n, daruma_buf *out)
{
    patching x = {.c = c, .scratch = c->arena, .out = out, .members = m, .nmembers = n};
    check(n <= BODY_MEMBERS_MAX);
    if (!c->edited && !c->set.format_edited && !c->npatches) {
        buf_put(out, c->body);
        return;
    }
    steps s = steps_of(&x, c->patches, c->npatches);
    daruma_str object = str_trim(c->body);
    size_t before = (size_t)(object.p - c->body.p);
    buf_put(out, str_sub(c->body, 0, before));
    patch_all(&x, object, &s, true);
    buf_put(out, str_from(c->body, before + object.n));
    out->full |= c->full || c->arena->full; /* a text that could not be decoded would be missing */
}

static void write_composed(const convo *c, void (*compose)(const convo *c, daruma_buf *out), daruma_buf *out)
{
    out->full |= c->full;
    daruma_buf tmp = buf_in(c->arena);
    compose(c, c->npatches ? &tmp : out);
    if (c->npatches && !tmp.full)
        patches_apply(buf_str(&tmp), c->patches, c->npatches, c->arena, out);
    out->full |= tmp.full || c->arena->full;
}

void body_write(const convo *c, const body_member *m, size_t n, void (*compose)(const convo *c, daruma_buf *out),
                daruma_buf *out)
{
    str_map calls = {0};
    convo written = *c;
    written.calls = &calls;
    if (c->body.n)
        write_edited(&written, m, n, out);
    else
        write_composed(&written, compose, out);
}
