/* dialect.c - which dialects there are, and which path speaks which. */
#include "dialect/kit/parts.h"

// clang-format off
/* The end of a path. `anywhere`: whatever stands before it; else only a version ("/v1") or at most
 * one segment may, because others use the same last word ("/v1/threads/{id}/messages"). No end: dialect_path_model()
 * knows Gemini's. */
static const struct { daruma_str end; bool anywhere; const dialect *d; } dialects[] = {
    {LIT("/chat/completions"), true,  &dialect_openai},
    {LIT("/messages"),          false, &dialect_anthropic},
    {LIT("/responses"),        false, &dialect_openai_responses},
    {LIT(""),                  false, &dialect_gemini},
};
// clang-format on
#define NDIALECTS COUNT(dialects)

const dialect *dialect_find(daruma_str name)
{
    for (size_t i = 0; i < NDIALECTS; i++)
        if (str_eq(name, str_of(dialects[i].d->name)))
            return dialects[i].d;
    return NULL;
}

const dialect *dialect_at(size_t index)
{
    return index < NDIALECTS ? dialects[index].d : NULL;
}

static bool is_base(daruma_str prefix)
{
    if (str_ends(prefix, S("/v1")))
        return true;
    return prefix.n == 0 || (prefix.p[0] == '/' && str_findch(str_from(prefix, 1), '/') == STR_NONE);
}

/* Takes `end` off the end of *s; a colon at its beginning may be escaped. */
static bool take_end(daruma_str *s, daruma_str end)
{
    daruma_str word = str_from(end, 1);
    if (!str_ends(*s, word))
        return false;
    daruma_str rest = str_sub(*s, 0, s->n - word.n);
    size_t colon = str_ends(rest, S(":")) ? 1 : str_ends(rest, S("%3A")) || str_ends(rest, S("%3a")) ? 3 : 0;
    *s = str_sub(rest, 0, rest.n - colon);
    return colon > 0;
}

static bool asks_for_events(daruma_str query)
{
    while (query.n)
        if (str_eq(str_cut(&query, '&'), S("alt=sse")))
            return true;
    return false;
}

bool dialect_path_model(daruma_str path, daruma_str *model, bool *stream)
{
    static const daruma_str folders[] = {LIT("/models/"), LIT("/tunedModels/"), LIT("/endpoints/")};
    daruma_str query = path, before = str_cut(&query, '?');
    bool streams = take_end(&before, S(":streamGenerateContent"));
    if (!streams && !take_end(&before, S(":generateContent")))
        return false;
    size_t name = before.n;
    while (name > 0 && before.p[name - 1] != '/')
        name--;
    daruma_str folder = str_sub(before, 0, name);
    for (size_t i = 0; i < COUNT(folders); i++)
        if (name < before.n && str_ends(folder, folders[i])) {
            *model = str_from(before, name);
            *stream = streams && asks_for_events(query);
            return true;
        }
    return false;
}

const dialect *dialect_of_path(daruma_str path)
{
    daruma_str model, rest = path, whole = str_cut(&rest, '?');
    bool stream;
    for (size_t i = 0; i < NDIALECTS; i++)
        if (dialects[i].end.n && str_ends(whole, dialects[i].end) &&
            (dialects[i].anywhere || is_base(str_sub(whole, 0, whole.n - dialects[i].end.n))))
            return dialects[i].d;
    return dialect_path_model(path, &model, &stream) ? &dialect_gemini : NULL;
}

request_scan dialect_scan_model(daruma_str body)
{
    static const scan_key key = {LIT("model"), SCAN_MODEL};
    return scan_request(body, &key, 1, &hosted_chat, NULL, true);
}

daruma_str dialect_choice_path(const dialect *d, daruma_str body)
{
    bool older = d->older_sign.n && value_given(json_get(body, d->older_sign));
    return older ? d->older_choice_path : d->choice_path;
}

/* A request that holds nothing else: what asks for a format is called differently in each dialect. */
daruma_status dialect_read_format(const dialect *d, daruma_str format, daruma_arena *a, convo *ret)
{
    daruma_buf b = buf_in(a);
    BUF_LIT(&b, "{\"messages\":[],\"input\":[],\"contents\":[]");
    for (size_t i = 0; i < COUNT(d->formats) && d->formats[i].n; i++) {
        BUF_SAY(&b, ",\"", d->formats[i], "\":", format);
    }
    buf_putc(&b, '}');
    return b.full ? DARUMA_EFULL : d->read(buf_str(&b), a, ret);
}

/* A request of any dialect that holds nothing else: they share the name of that member. */
daruma_status dialect_read_tools(const dialect *d, daruma_str tools, daruma_arena *a, convo *ret)
{
    daruma_buf b = buf_in(a);
    BUF_SAY(&b, "{\"messages\":[],\"input\":[],\"contents\":[],\"tools\":", tools, "}");
    return b.full ? DARUMA_EFULL : d->read(buf_str(&b), a, ret);
}
