/* options.c - the options of a session, as JSON text. */
#include "base/arena.h"
#include "base/json.h"
#include "base/limits.h"
#include "engine/tell/redact.h"
#include "lib/inside.h"

enum { DAY = 24 * 3600 * 1000, LIB_CALLS_MAX = 1000000 };

static const char dialect_words[] = "openai openai-responses anthropic gemini";

static bool read_dialect(fields_at *f, daruma_str value, const dialect **ret)
{
    if (fields_word(f, "dialect", dialect_words, value) < 0)
        return false;
    *ret = dialect_find(json_text(value, f->a));
    return true;
}

static bool read_own_dialect(fields_at *f, daruma_str value, void *base)
{
    return read_dialect(f, value, &((lib_options *)base)->d);
}

static bool read_target_dialect(fields_at *f, daruma_str value, void *base)
{
    return read_dialect(f, value, &((lib_target *)base)->d);
}

#define AT(member) offsetof(lib_target, member)
static const field target_fields[] = {
    {.name = "name", .kind = FIELD_TEXT, .at = AT(name)},
    {.name = "provider", .kind = FIELD_TEXT, .at = AT(t.provider)},
    {.name = "model", .kind = FIELD_TEXT, .at = AT(t.model)},
    {.name = "account", .kind = FIELD_TEXT, .at = AT(t.account)},
    {.name = "key", .kind = FIELD_TEXT, .at = AT(t.key)},
    {.name = "site", .kind = FIELD_TEXT, .at = AT(site)},
    {.name = "dialect", .kind = FIELD_OWN, .read = read_target_dialect},
    {.name = "window", .kind = FIELD_INT, .at = AT(t.window), .min = 1, .max = WINDOW_TOKENS_MAX},
    {.name = "max_output", .kind = FIELD_INT, .at = AT(t.max_output), .min = 1, .max = WINDOW_TOKENS_MAX},
};
#undef AT

/* What was not said follows from what was. */
static void fill_in(lib_target *to, size_t i)
{
    if (!to->t.provider.n)
        to->t.provider = to->name;
    if (!to->site.n)
        to->site = to->t.provider;
    if (!to->t.account.n)
        to->t.account = to->t.key.n ? to->t.key : to->t.provider;
    if (!to->t.key.n)
        to->t.key = to->t.account;
    to->t.host = (int32_t)i;
    daruma_target_seal(&to->t);
}

/* It stands in a field of the answer. */
static bool is_name(daruma_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
            return false;
    return s.n > 0;
}

static bool read_targets(fields_at *f, daruma_str value, void *base)
{
    static const lib_target usual = {.t = {.window = -1, .max_output = -1}};
    lib_options *o = base;
    void *made;
    if (!fields_read_list(f, "targets", target_fields, COUNT(target_fields), value, &usual, sizeof usual,
                          DARUMA_CASE_TRIED, &made, &o->ntargets))
        return false;
    o->targets = made;
    o->list = ARENA_NEW(f->a, daruma_target, o->ntargets ? o->ntargets : 1);
    for (size_t i = 0; o->list && i < o->ntargets; i++) {
        if (!is_name(o->targets[i].name))
            return fields_wrong(f, "targets", "each target needs a name without control characters");
        for (size_t k = 0; k < i; k++)
            if (str_eq(o->targets[k].name, o->targets[i].name))
                return fields_wrong(f, "targets", "two targets have the same name");
        fill_in(&o->targets[i], i);
        o->list[i] = o->targets[i].t;
    }
    return true;
}

static bool read_model(fields_at *f, daruma_str value, void *base)
{
    lib_options *o = base;
    if (!json_is_string(value))
        return fields_wrong(f, "model", "a string is expected");
    o->model = arena_copy(f->a, json_text(value, f->a));
    o->path_names = true;
    return true;
}

static bool read_secrets(fields_at *f, daruma_str value, void *base)
{
    lib_options *o = base;
    daruma_str one;
    json_iter it = json_open(value);
    if (!json_is_array(value))
        return fields_wrong(f, "secrets", "a list of strings is expected");
    o->secrets = ARENA_NEW(f->a, daruma_str, json_count(value) + 1);
    while (o->secrets && json_next(&it, NULL, &one)) {
        if (!json_is_string(one))
            return fields_wrong(f, "secrets", "a list of strings is expected");
        daruma_str secret = json_text(one, f->a);
        if (secret.n < REDACT_BYTES_MIN)
            return fields_wrong(f, "secrets", "one of them is shorter than 6 bytes: what is no word is expected");
        o->secrets[o->nsecrets++] = arena_copy(f->a, secret);
    }
    return true;
}

#define AT(member) offsetof(lib_options, member)
static const field option_fields[] = {
    {.name = "dialect", .kind = FIELD_OWN, .read = read_own_dialect},
    {.name = "targets", .kind = FIELD_OWN, .read = read_targets},
    {.name = "model", .kind = FIELD_OWN, .read = read_model},
    {.name = "stream", .kind = FIELD_BOOL, .at = AT(stream)},
    {.name = "client", .kind = FIELD_TEXT, .at = AT(client)},
    {.name = "agent", .kind = FIELD_TEXT, .at = AT(agent)},
    {.name = "waits_ms", .kind = FIELD_INT, .at = AT(waits), .min = 1, .max = DAY},
    {.name = "retry", .kind = FIELD_BOOL, .at = AT(again)},
    {.name = "watch", .kind = FIELD_WORD, .at = AT(watch), .words = "off observe guide enforce"},
    {.name = "on_failure", .kind = FIELD_WORD, .at = AT(on_failure), .words = DRIVE_FORM_WORDS},
    {.name = "strategies", .kind = FIELD_WORD, .at = AT(strategies), .words = "log ask auto"},
    {.name = "compact_tool_errors", .kind = FIELD_BOOL, .at = AT(compact_tool_errors)},
    {.name = "first_byte_ms", .kind = FIELD_INT, .at = AT(first_byte), .max = DAY},
    {.name = "idle_ms", .kind = FIELD_INT, .at = AT(idle), .max = DAY},
    {.name = "total_ms", .kind = FIELD_INT, .at = AT(total), .max = DAY},
    {.name = "max_calls", .kind = FIELD_INT, .at = AT(calls), .max = LIB_CALLS_MAX},
    {.name = "secrets", .kind = FIELD_OWN, .read = read_secrets},
};
#undef AT

bool lib_options_read(lib_options *o, daruma_str json, daruma_arena *a, daruma_buf *why)
{
    fields_at f = {.a = a, .why = why, .whole = "options"};
    daruma_str whole;
    if (json.n > LIB_OPTIONS_BYTES_MAX)
        return fields_wrong(&f, "options", "they are longer than 1 MiB");
    *o = (lib_options){.waits = -1, .watch = DARUMA_WATCH_GUIDE};
    if (!json_whole(json, &whole))
        return fields_wrong(&f, "options", "this is no JSON text");
    if (!fields_read(&f, option_fields, COUNT(option_fields), whole, o))
        return false;
    if (!o->d)
        return fields_wrong(&f, "dialect", "it is missing: what does the client speak?");
    if (!o->ntargets)
        return fields_wrong(&f, "targets", "there is none: who can be asked?");
    if (o->d == &dialect_gemini && !o->path_names)
        return fields_wrong(&f, "model", "it is missing: Gemini's clients say it in the path");
    return !a->full || fields_wrong(&f, "options", "there is no memory");
}
