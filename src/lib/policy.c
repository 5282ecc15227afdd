/* policy.c - policies as JSON text. */
#include "lib/inside.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "sys/arena.h"
#include <stdio.h>
#include <stdlib.h>

enum { HOUR = 3600 * 1000, DAY = 24 * HOUR };

static const char need_names[] =
#define X(sym, bit, name, ...) name " "
    DARUMA_NEED_MAP(X)
#undef X
    ;
static const unsigned need_bits[] = {
#define X(sym, ...) DARUMA_NEED_##sym,
    DARUMA_NEED_MAP(X)
#undef X
};

static const char remedy_names[] =
#define X(sym, name, ...) name " "
    DARUMA_REMEDY_MAP(X)
#undef X
    ;

#define AT(member) offsetof(struct daruma_policy, member)

/* ---- numbers of a kind ---- */

static const field kind_fields[] = {
    {.name = "max_attempts", .kind = FIELD_COUNT, .at = offsetof(daruma_kind_policy, max_attempts), .max = 100},
    {.name = "delay_ms", .kind = FIELD_INT, .at = offsetof(daruma_kind_policy, backoff.base), .max = HOUR},
    {.name = "factor", .kind = FIELD_MILLI, .at = offsetof(daruma_kind_policy, backoff.factor_milli), .max = 100000},
    {.name = "max_delay_ms", .kind = FIELD_INT, .at = offsetof(daruma_kind_policy, backoff.cap), .max = HOUR},
    {.name = "jitter", .kind = FIELD_MILLI, .at = offsetof(daruma_kind_policy, backoff.jitter_milli), .max = 1000},
};

static bool no_kind(fields_at *f, const char *member, daruma_str name)
{
    str_near near = str_near_to(name);
    for (int k = 0; k < DARUMA_KINDS; k++)
        str_near_try(&near, str_of(daruma_kind_name((daruma_kind)k)));
    return fields_unknown(f, member, "kind of failure", &near,
                          "there is no such kind of failure; doc/config.md lists them");
}

static bool read_kind(fields_at *f, daruma_str name, daruma_str value, daruma_policy *p)
{
    bool known;
    char key[40], outer[sizeof f->path];
    daruma_kind k = daruma_kind_parse(name, &known);
    if (!known)
        return no_kind(f, "", name);
    snprintf(key, sizeof key, "%.*s", (int)name.n, name.p);
    memcpy(outer, f->path, sizeof outer);
    snprintf(f->path, sizeof f->path, "%.30s%s.", outer, key);
    if (!fields_read(f, kind_fields, COUNT(kind_fields), value, &p->kinds[k]))
        return false;
    memcpy(f->path, outer, sizeof outer);
    return true;
}

static bool read_kinds(fields_at *f, daruma_str value, void *base)
{
    daruma_str key, one;
    bool seen[DARUMA_KINDS] = {false}, known;
    json_iter it = json_open(value);
    if (!json_is_object(value))
        return fields_wrong(f, "kinds", "a JSON object is expected");
    memcpy(f->path, "kinds.", sizeof "kinds.");
    while (json_next(&it, &key, &one)) {
        daruma_kind k = daruma_kind_parse(key, &known);
        if (known && seen[k])
            return fields_wrong(f, "", "one stands twice");
        if (!read_kind(f, key, one, base))
            return false;
        seen[k] = true;
    }
    f->path[0] = 0;
    return true;
}

static void print_kinds(const void *base, daruma_buf *out)
{
    const daruma_policy *p = base;
    for (int k = 0; k < DARUMA_KINDS; k++) {
        buf_putc(out, k ? ',' : '{');
        BUF_SAY(out, buf_quoted(str_of(daruma_kind_name((daruma_kind)k))), ":");
        fields_print(kind_fields, COUNT(kind_fields), &p->kinds[k], out);
    }
    buf_putc(out, '}');
}

/* ---- the ladders ---- */

/* A rung as it is read. */
typedef struct rung_read {
    int kind, remedy, after;
    uint32_t times;
    unsigned needs;
} rung_read;

static bool read_rung_kind(fields_at *f, daruma_str value, void *base)
{
    bool known;
    daruma_str name = json_text(value, f->a);
    ((rung_read *)base)->kind = (int)daruma_kind_parse(name, &known);
    return known || no_kind(f, "kind", name);
}

static void print_rung_kind(const void *base, daruma_buf *out)
{
    buf_json(out, str_of(daruma_kind_name((daruma_kind)((const rung_read *)base)->kind)));
}

static bool read_needs(fields_at *f, daruma_str value, void *base)
{
    rung_read *r = base;
    daruma_str one;
    json_iter it = json_open(value);
    if (!json_is_array(value))
        return fields_wrong(f, "needs", "a list of words is expected");
    r->needs = 0;
    while (json_next(&it, NULL, &one)) {
        int i = fields_word(f, "needs", need_names, one);
        if (i < 0)
            return false;
        r->needs |= need_bits[i];
    }
    return true;
}

static void print_needs(const void *base, daruma_buf *out)
{
    const rung_read *r = base;
    const char *between = "[";
    daruma_str rest = str_of(need_names);
    for (size_t i = 0; i < COUNT(need_bits); i++) {
        daruma_str name = str_cut(&rest, ' ');
        if (!(r->needs & need_bits[i]))
            continue;
        BUF_SAY(out, between, buf_quoted(name));
        between = ",";
    }
    buf_putz(out, *between == '[' ? "[]" : "]");
}

static const field rung_fields[] = {
    {.name = "kind", .kind = FIELD_OWN, .read = read_rung_kind, .print = print_rung_kind},
    {.name = "remedy", .kind = FIELD_WORD, .at = offsetof(rung_read, remedy), .words = remedy_names},
    {.name = "times", .kind = FIELD_COUNT, .at = offsetof(rung_read, times), .min = 1, .max = UINT8_MAX},
    {.name = "needs", .kind = FIELD_OWN, .read = read_needs, .print = print_needs},
    {.name = "after", .kind = FIELD_WORD, .at = offsetof(rung_read, after), .words = "now advice grow quick"},
};

static bool check_rungs(fields_at *f, const daruma_rung *r, size_t n)
{
    bool begun[DARUMA_KINDS] = {false};
    char name[32];
    for (size_t i = 0; i < n; i++) {
        bool first = !i || r[i - 1].kind != r[i].kind;
        snprintf(name, sizeof name, "rungs[%zu]", i);
        if (first && begun[r[i].kind])
            return fields_wrong(f, name, "the rungs of one kind stand together");
        begun[r[i].kind] = true;
    }
    return true;
}

static bool read_rungs(fields_at *f, daruma_str value, void *base)
{
    static const rung_read usual = {.kind = -1, .remedy = -1, .times = 1};
    daruma_policy *p = base;
    void *made;
    size_t n;
    if (!fields_read_list(f, "rungs", rung_fields, COUNT(rung_fields), value, &usual, sizeof usual, DARUMA_CASE_RUNGS,
                          &made, &n))
        return false;
    const rung_read *from = made;
    daruma_rung *to = ARENA_NEW(f->a, daruma_rung, n ? n : 1);
    if (!to)
        return fields_wrong(f, "rungs", "there is no memory");
    for (size_t i = 0; i < n; i++) {
        if (from[i].kind < 0 || from[i].remedy < 0)
            return fields_wrong(f, "rungs", "each one has a kind and a remedy");
        to[i] = (daruma_rung){.kind = (daruma_kind)from[i].kind,
                              .remedy = (daruma_remedy_kind)from[i].remedy,
                              .times = (uint8_t)from[i].times,
                              .needs = from[i].needs,
                              .after = (daruma_after)from[i].after};
    }
    p->rungs = to;
    p->nrungs = n;
    return check_rungs(f, to, n);
}

static void print_rungs(const void *base, daruma_buf *out)
{
    const daruma_policy *p = base;
    buf_putc(out, '[');
    for (size_t i = 0; i < p->nrungs; i++) {
        const daruma_rung *r = &p->rungs[i];
        rung_read as = {.kind = (int)r->kind,
                        .remedy = (int)r->remedy,
                        .after = (int)r->after,
                        .times = r->times,
                        .needs = r->needs};
        if (i)
            buf_putc(out, ',');
        fields_print(rung_fields, COUNT(rung_fields), &as, out);
    }
    buf_putc(out, ']');
}

/* ---- the policy ---- */

static bool read_profile(fields_at *f, daruma_str value, void *base)
{
    (void)base;
    return json_is_string(value) || fields_wrong(f, "profile", "a string is expected"); /* it was found before */
}

static void print_profile(const void *base, daruma_buf *out)
{
    const daruma_policy *p = base;
    char name[80];
    snprintf(name, sizeof name, "%s%s%s", p->profile, p->variant ? "/" : "", p->variant ? p->variant : "");
    buf_json(out, str_of(name));
}

static const field policy_fields[] = {
    {.name = "profile", .kind = FIELD_OWN, .read = read_profile, .print = print_profile},
    {.name = "enabled", .kind = FIELD_BOOL, .at = AT(enabled)},
    {.name = "health", .kind = FIELD_BOOL, .at = AT(health)},
    {.name = "hedge", .kind = FIELD_BOOL, .at = AT(hedge)},
    {.name = "max_attempts", .kind = FIELD_COUNT, .at = AT(max_attempts), .min = 1, .max = 100},
    {.name = "max_wait_ms", .kind = FIELD_INT, .at = AT(max_wait), .max = DAY},
    {.name = "patience_ms", .kind = FIELD_INT, .at = AT(patience), .min = -1, .max = DAY},
    {.name = "mend", .kind = FIELD_BOOL, .at = AT(mend.enabled)},
    {.name = "side_calls", .kind = FIELD_BOOL, .at = AT(mend.side_calls)},
    {.name = "summarize_on_compress", .kind = FIELD_BOOL, .at = AT(mend.summarize_on_compress)},
    {.name = "prune_orphans", .kind = FIELD_BOOL, .at = AT(mend.prune_orphans)},
    {.name = "max_compress_retries", .kind = FIELD_COUNT, .at = AT(mend.max_compress_retries), .max = 10},
    {.name = "compression_threshold_chars",
     .kind = FIELD_INT,
     .at = AT(mend.compression_threshold_chars),
     .max = 100000000},
    {.name = "kinds", .kind = FIELD_OWN, .read = read_kinds, .print = print_kinds},
    {.name = "rungs", .kind = FIELD_OWN, .read = read_rungs, .print = print_rungs},
};

/* The policy of the profile that the text names: what else it says changes that one. */
static const daruma_policy *profile_of(fields_at *f, daruma_str json)
{
    daruma_str said = json_text(json_get(json, S("profile")), f->a);
    const daruma_policy *p = said.n ? daruma_policy_stack(said, f->a) : daruma_policy_find(S("default"));
    str_near near = str_near_to(said);
    const char *known;
    for (size_t i = 0; !p && (known = daruma_policy_name(i)); i++)
        str_near_try(&near, str_of(known));
    if (!p)
        fields_unknown(f, "profile", "profile", &near,
                       "there is no such profile; `daruma policy --help` tells of them");
    return p;
}

/* The struct first, its arena behind it. */
typedef struct own_policy {
    daruma_policy p;
    daruma_arena arena;
} own_policy;

static bool read_policy(own_policy *o, daruma_str json, daruma_buf *why)
{
    fields_at f = {.a = &o->arena, .why = why, .whole = "policy"};
    daruma_str whole;
    if (!str_trim(json).n)
        json = S("{}");
    if (!json_whole(json, &whole))
        return fields_wrong(&f, "policy", "this is no JSON text");
    const daruma_policy *base = profile_of(&f, whole);
    if (!base)
        return false;
    o->p = *base;
    return fields_read(&f, policy_fields, COUNT(policy_fields), whole, &o->p) &&
           (!o->arena.full || fields_wrong(&f, "policy", "there is no memory"));
}

daruma_policy *daruma_policy_new(const char *json, size_t json_bytes, char *why, size_t why_bytes)
{
    char room[LIB_WHY_BYTES];
    daruma_buf words = buf_over(room, sizeof room);
    own_policy *o = calloc(1, sizeof *o);
    bool fine = o && sys_arena_init(&o->arena, 4096, LIB_OPTIONS_BYTES_MAX);
    if (!fine)
        BUF_LIT(&words, "there is no memory");
    fine = fine && read_policy(o, (daruma_str){json, json_bytes}, &words);
    lib_text(why, why_bytes, buf_str(&words));
    if (fine)
        return &o->p;
    if (o)
        sys_arena_done(&o->arena);
    free(o);
    return NULL;
}

static void write_policy(const void *p, daruma_buf *all)
{
    fields_print(policy_fields, COUNT(policy_fields), p, all);
}

size_t daruma_policy_json(const daruma_policy *p, char *out, size_t out_bytes)
{
    return lib_written(out, out_bytes, write_policy, p, LIB_OPTIONS_BYTES_MAX);
}

void daruma_policy_free(daruma_policy *p)
{
    own_policy *o = (own_policy *)p;
    if (o)
        sys_arena_done(&o->arena);
    free(o);
}
