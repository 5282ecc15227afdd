/* models_list.c - what a list of models looks like in each dialect, and one list made of several. A name stands in it
 * once: where two give it, the first one counts. What a provider says of a model stays as it was. */
#include "gateway/routes/models_list.h"
#include "gateway/routes/routes.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include <stdlib.h>
#include <xxhash.h>

/* ---- how each dialect lists models ---------------------------------------------------- */

// clang-format off
static const models_shape shapes[] = {
    {.d = &dialect_openai,    .path = LIT("/v1/models"),     .list = LIT("data"),   .id = LIT("id")},
    {.d = &dialect_anthropic, .path = LIT("/v1/models"),     .list = LIT("data"),   .id = LIT("id"),
     .all = LIT("limit=1000"),    .size = LIT("limit"),    .after = LIT("after_id"), .before = LIT("before_id")},
    {.d = &dialect_gemini,    .path = LIT("/v1beta/models"), .list = LIT("models"), .id = LIT("name"), .folder = LIT("models/"),
     .all = LIT("pageSize=1000"), .size = LIT("pageSize"), .after = LIT("pageToken")},
};
// clang-format on

const models_shape *models_shape_of(const dialect *d)
{
    for (size_t i = 0; i < COUNT(shapes); i++)
        if (shapes[i].d == d)
            return &shapes[i];
    return &shapes[0]; /* "openai-responses" */
}

const models_shape *models_shape_asked(const http_head *h)
{
    for (daruma_str rest = h->path; rest.n;)
        if (str_eq(str_cut(&rest, '/'), S("openai")))
            return &shapes[0];
    return models_shape_of(head_dialect(h));
}

static daruma_str without_folder(const models_shape *as, daruma_str name)
{
    return as->folder.n && str_starts(name, as->folder) ? str_from(name, as->folder.n) : name;
}

void models_put(daruma_buf *out, const models_shape *as, daruma_str name, const config_model *m, daruma_arena *a)
{
    daruma_buf whole = buf_in(a);
    BUF_SAY(&whole, as->folder, name);
    buf_putc(out, '{');
    BUF_MEMBERS(out, as->id, buf_str(&whole));
    if (as->d == &dialect_openai)
        BUF_MEMBERS(out, "object", "model", "created", 0, "owned_by", "daruma");
    else if (as->d == &dialect_anthropic) /* which says so where it does not know when */
        BUF_MEMBERS(out, "type", "model", "display_name", name, "created_at", "1970-01-01T00:00:00Z");
    else
        BUF_MEMBERS(out, "displayName", name, "inputTokenLimit", BUF_IF(m && m->window > 0, m->window),
                    "outputTokenLimit", BUF_IF(m && m->max_output > 0, m->max_output), "supportedGenerationMethods",
                    buf_raw(S("[\"generateContent\",\"streamGenerateContent\"]")));
    buf_putc(out, '}');
    out->full |= whole.full;
}

/* ---- the one list of them ---- */

bool models_list_begin(models_list *e, size_t room, daruma_arena *a)
{
    size_t places = 4;
    while (places < 2 * room)
        places *= 2;
    e->at = ARENA_NEW(a, models_entry, room ? room : 1);
    e->room = room;
    e->places = ARENA_NEW(a, uint32_t, places);
    e->mask = places - 1;
    if (e->places)
        memset(e->places, 0, places * sizeof *e->places);
    return e->at && e->places;
}

/* Adds one whose name is not there yet. */
static void add(models_list *e, models_entry one)
{
    if (!one.name.n || e->n == e->room || !lock_allows(e->client, one.name))
        return;
    size_t at = XXH3_64bits(one.name.p, one.name.n) & e->mask;
    for (; e->places[at]; at = (at + 1) & e->mask)
        if (str_eq(e->at[e->places[at] - 1].name, one.name))
            return;
    e->at[e->n++] = one;
    e->places[at] = (uint32_t)e->n;
}

daruma_str models_array(daruma_str body, const models_shape *from)
{
    daruma_str whole;
    if (!json_whole(body, &whole))
        return (daruma_str){0};
    daruma_str found = json_is_array(whole) ? whole : json_get(whole, from->list);
    return json_is_array(found) ? found : (daruma_str){0};
}

void models_list_add(models_list *e, daruma_str array, const models_shape *from, daruma_arena *a)
{
    daruma_str value;
    json_iter it = json_open(array);
    while (json_next(&it, NULL, &value)) {
        daruma_str name = without_folder(from, json_text(json_get(value, from->id), a));
        add(e, (models_entry){.name = name, .raw = from == e->as ? value : (daruma_str){0}});
    }
}

bool models_is_name(const config_model *m)
{
    return str_findch(m->name, '*') == STR_NONE;
}

void models_list_own(models_list *e, const config *c)
{
    for (size_t i = 0; i < c->nmodels; i++)
        if (models_is_name(&c->models[i]))
            add(e, (models_entry){.name = c->models[i].name, .model = &c->models[i]});
}

/* ---- a page of it ---- */

static daruma_str query_value(daruma_str query, daruma_str name, daruma_arena *a)
{
    bool bad = false;
    while (name.n && query.n) {
        daruma_str value = str_cut(&query, '&'), its = str_cut(&value, '=');
        if (str_eq(its, name))
            return path_text(value, a, &bad);
    }
    return (daruma_str){0};
}

static size_t index_of(const models_list *e, daruma_str name)
{
    size_t i = 0;
    while (i < e->n && !str_eq(e->at[i].name, name))
        i++;
    return i;
}

static void page_of(const models_list *e, daruma_str query, daruma_arena *a, size_t *ret_from, size_t *ret_to)
{
    daruma_str after = query_value(query, e->as->after, a), before = query_value(query, e->as->before, a);
    int64_t most;
    size_t from = 0, to = e->n;
    if (!str_int(query_value(query, e->as->size, a), &most) || most <= 0 || (uint64_t)most > e->n)
        most = (int64_t)e->n;
    if (after.n && (from = index_of(e, without_folder(e->as, after)) + 1) > e->n)
        from = e->n;
    if (before.n)
        to = index_of(e, before);
    if (to < from)
        to = from;
    if (before.n && !after.n && to - from > (size_t)most)
        from = to - (size_t)most;
    if (to - from > (size_t)most)
        to = from + (size_t)most;
    *ret_from = from;
    *ret_to = to;
}

void models_list_put(daruma_buf *out, const models_list *e, daruma_str query, daruma_arena *a)
{
    size_t from, to;
    page_of(e, query, a, &from, &to);
    BUF_SAY(out, e->as->d == &dialect_openai ? "{\"object\":\"list\"," : "{", buf_quoted(e->as->list), ":[");
    for (size_t i = from; i < to; i++) {
        buf_putz(out, i > from ? "," : "");
        if (e->at[i].raw.n)
            buf_put(out, e->at[i].raw);
        else
            models_put(out, e->as, e->at[i].name, e->at[i].model, a);
    }
    BUF_LIT(out, "]");
    bool some = to > from, back = query_value(query, e->as->before, a).n > 0, more = back ? from > 0 : to < e->n;
    buf_part first = some ? buf_quoted(e->at[from].name) : buf_raw(S("null")),
             last = some ? buf_quoted(e->at[to - 1].name) : buf_raw(S("null"));
    if (e->as->d == &dialect_anthropic)
        BUF_MEMBERS(out, "first_id", first, "last_id", last, "has_more", more);
    else if (e->as->d == &dialect_gemini && to < e->n && some)
        BUF_MEMBERS(out, "nextPageToken", last);
    BUF_LIT(out, "}\n");
}

/* ---- lists that providers gave a short time ago: many clients that ask at once make one call of each provider, and a
 * provider that fails is shown with what it listed last. They end with the configuration. ---- */

/* One provider's list, as one account sees it. */
typedef struct kept {
    uint64_t of; /* 0: the place is free */
    char *array; /* malloc'd */
    size_t n;
    daruma_ms at; /* it came */
} kept;

struct models_kept {
    kept at[MODELS_KEPT_MAX];
    size_t bytes; /* of all arrays */
};

static void drop(models_kept *m, kept *k)
{
    m->bytes -= k->n;
    free(k->array);
    *k = (kept){0};
}

static kept *find(models_kept *m, uint64_t of)
{
    for (size_t i = 0; m && of && i < MODELS_KEPT_MAX; i++)
        if (m->at[i].of == of)
            return &m->at[i];
    return NULL;
}

/* The one that came first; a free place where `free_too` and there is one. NULL: there is none. */
static kept *oldest(models_kept *m, bool free_too)
{
    kept *found = NULL;
    for (size_t i = 0; i < MODELS_KEPT_MAX; i++) {
        kept *k = &m->at[i];
        if (!k->of && free_too)
            return k;
        if (k->of && (!found || k->at < found->at))
            found = k;
    }
    return found;
}

daruma_str models_kept_get(models_kept *m, uint64_t of, daruma_ms now, daruma_ms age_max, daruma_ms *ret_age)
{
    kept *k = find(m, of);
    if (!k || now - k->at > age_max)
        return (daruma_str){0};
    *ret_age = now - k->at;
    return (daruma_str){k->array, k->n};
}

void models_kept_put(models_kept **at, uint64_t of, daruma_str array, daruma_ms now)
{
    char *copy = of && array.n && array.n <= MODELS_KEPT_BYTES_MAX ? malloc(array.n) : NULL;
    models_kept *m = copy &&!*at ? *at = calloc(1, sizeof **at) : *at;
    if (!copy || !m) {
        free(copy);
        return;
    }
    kept *k = find(m, of);
    if (k)
        drop(m, k);
    while (m->bytes + array.n > MODELS_KEPT_BYTES_MAX)
        drop(m, oldest(m, false));
    k = oldest(m, true);
    if (k->of)
        drop(m, k);
    memcpy(copy, array.p, array.n);
    *k = (kept){.of = of, .array = copy, .n = array.n, .at = now};
    m->bytes += array.n;
}

void models_kept_free(models_kept *m)
{
    for (size_t i = 0; m && i < MODELS_KEPT_MAX; i++)
        free(m->at[i].array);
    free(m);
}
