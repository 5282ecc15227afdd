/* passing.c - the model of a request that only passes through: embeddings, images, audio, moderations, counts of
 * tokens. Its targets are those of a conversation with that model, but for targets of other dialects: nothing is
 * converted. */
#include "model/kinds.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "gateway/inside.h"
#include "gateway/routes/routes.h"
#include "net/multipart.h"

/* Calls that answer a question and change nothing on a server, by the end of their path; Gemini names the model before
 * it. What refers to things that one account has (files, batches, stored answers) is none of them. */
// clang-format off
static const struct {
    daruma_str end;
    const dialect *d;
    bool cheap; /* a second one costs next to nothing; of the others each is paid for, and its answer may be another one */
} calls[] = {
    {LIT("/embeddings"),              &dialect_openai,      true},
    {LIT("/moderations"),             &dialect_openai,      true},
    {LIT("/rerank"),                  &dialect_openai,      true},
    {LIT("/completions"),             &dialect_openai,      false},
    {LIT("/images/generations"),      &dialect_openai,      false},
    {LIT("/images/edits"),            &dialect_openai,      false},
    {LIT("/images/variations"),       &dialect_openai,      false},
    {LIT("/audio/speech"),            &dialect_openai,      false},
    {LIT("/audio/transcriptions"),    &dialect_openai,      false},
    {LIT("/audio/translations"),      &dialect_openai,      false},
    {LIT("/responses/input_tokens"),  &dialect_openai,      true},
    {LIT("/messages/count_tokens"),   &dialect_anthropic,   true},
    {LIT(":countTokens"),             &dialect_gemini,      true},
    {LIT(":embedContent"),            &dialect_gemini,      true},
    {LIT(":batchEmbedContents"),      &dialect_gemini,      true},
    {LIT(":predict"),                 &dialect_gemini,      false},
};
// clang-format on

static int call_of_path(daruma_str path)
{
    for (size_t i = 0; i < COUNT(calls); i++)
        if (str_ends(path, calls[i].end))
            return (int)i;
    return -1;
}

bool passing_is_cheap(daruma_str path)
{
    int row = call_of_path(path);
    return row >= 0 && calls[row].cheap;
}

/* ---- where the model stands ---------------------------------------------------------- */

/* "/v1/embeddings", but not "/openai/deployments/d/embeddings", where the model is the path's. */
static bool is_base(daruma_str path)
{
    for (daruma_str rest = str_from(path, 1); rest.n;)
        if (!path_is_lead(str_cut(&rest, '/')))
            return false;
    return true;
}

/* The name in "/v1beta/models/NAME", and before the colon in "/v1beta/models/NAME:call". */
static daruma_str name_in_path(daruma_str path, daruma_str end)
{
    static const daruma_str folder = LIT("/models/");
    size_t at = str_find(path, folder);
    if (at == STR_NONE || !is_base(str_sub(path, 0, at)))
        return (daruma_str){0};
    daruma_str name = str_sub(path, at + folder.n, path.n - end.n - at - folder.n);
    return str_findch(name, '/') == STR_NONE ? name : (daruma_str){0};
}

static void add_place(passing *p, daruma_str value)
{
    p->crowded |= p->nplaces == PASSING_NAMES_MAX;
    if (!p->crowded)
        p->places[p->nplaces++] = value;
}

/* Members "model" of an object: each of them, since who reads JSON may take the first or the last. */
static bool models_of_object(passing *p, daruma_str object)
{
    daruma_str key, value;
    json_iter it = json_open(object);
    while (json_next(&it, &key, &value))
        if (json_raw_eq(key, S("model")) && json_is_string(value))
            add_place(p, value);
    return !it.bad;
}

/* Gemini's: "models/NAME" at the top, in each of `requests`, and in the request whose tokens are counted. */
static bool models_of_gemini(passing *p, daruma_str body)
{
    daruma_str value;
    json_iter it = json_open(json_get(body, S("requests")));
    if (!models_of_object(p, body))
        return false;
    bool fits = true;
    while (fits && json_next(&it, NULL, &value))
        fits = models_of_object(p, value);
    daruma_str counted = counts_request(body);
    if (fits && counted.n)
        fits = models_of_object(p, counted);
    return fits;
}

static bool models_of_form(passing *p, daruma_str type, daruma_str body)
{
    multipart m;
    daruma_str name, value;
    multipart_open(&m, type, body);
    while (multipart_next(&m, &name, &value))
        if (str_eq(name, S("model")))
            add_place(p, value);
    return !m.bad;
}

/* Finds all that names the model. False: it is not named, or in a way that we do not know. */
static bool find_model(passing *p, const call *c)
{
    const http_head *h = &c->head;
    daruma_str type = http_header(h, S("content-type")), body = str_trim(c->body),
               coded = http_header(h, S("content-encoding"));
    int row = str_eq(h->method, S("POST")) ? call_of_path(h->path) : -1;
    bool bad = false;
    if (coded.n && !str_ieq(coded, S("identity")))
        return false;
    if (row < 0) {
        daruma_str name;
        p->d = head_dialect(h);
        p->in_path = models_path(h, &name) && name.n ? name_in_path(h->path, S("")) : (daruma_str){0};
        p->model = path_text(p->in_path, c->arena, &bad);
        return p->in_path.n && !bad;
    }
    p->d = calls[row].d;
    p->json = json_is_object(body);
    if (p->d == &dialect_gemini) {
        p->in_path = name_in_path(h->path, calls[row].end);
        p->model = path_text(p->in_path, c->arena, &bad);
        return p->in_path.n && !bad && (!p->json || models_of_gemini(p, body));
    }
    if (!is_base(str_sub(h->path, 0, h->path.n - calls[row].end.n)))
        return false;
    if (!(p->json ? models_of_object(p, body) : models_of_form(p, type, c->body)) || !p->nplaces)
        return false;
    p->model = p->places[p->nplaces - 1];
    if (p->json)
        p->model = json_text(p->model, c->arena);
    return p->model.n > 0;
}

daruma_str passing_model(const call *c)
{
    daruma_str places[PASSING_NAMES_MAX];
    passing found = {.places = places};
    return find_model(&found, c) ? found.model : (daruma_str){0};
}

passing *passing_read(const exchange *x)
{
    const setup *s = x->s;
    call *c = x->c;
    daruma_str places[PASSING_NAMES_MAX];
    passing found = {.places = places};
    if (!(s->cfg.nmodels || s->cfg.nothers) || !find_model(&found, c))
        return NULL;
    asker who = {.credential = x->credential, .share = exchange_share(x, 0)};
    found.targets = setup_targets_of(s, found.d, found.model, &who, c->arena, &found.ntargets);
    passing *p = found.targets ? ARENA_NEW(c->arena, passing, 1) : NULL;
    if (!p)
        return NULL;
    *p = found;
    p->places = ARENA_NEW(c->arena, daruma_str, found.nplaces ? found.nplaces : 1);
    if (p->places && found.nplaces)
        memcpy(p->places, places, found.nplaces * sizeof *places);
    return p->places ? p : NULL;
}

const daruma_failure *passing_refused(const passing *p, daruma_arena *a)
{
    daruma_failure *f = p->crowded ? ARENA_NEW(a, daruma_failure, 1) : NULL;
    daruma_buf b = buf_in(a);
    if (!f)
        return NULL;
    buf_printf(&b,
               "This request names its model in more than %d places, which is what daruma reads. Send fewer items in "
               "one request.",
               PASSING_NAMES_MAX);
    *f = kind_failure(DARUMA_REQUEST_TOO_LARGE, 413);
    f->limit = PASSING_NAMES_MAX;
    f->message = buf_str(&b);
    return f;
}

/* ---- under another name ------------------------------------------------------------------ */

daruma_str passing_path(const passing *p, daruma_str path, daruma_str model, daruma_arena *a)
{
    if (!p->in_path.n || str_eq(model, p->model))
        return path;
    daruma_buf b = buf_in(a);
    size_t at = (size_t)(p->in_path.p - path.p);
    buf_put(&b, str_sub(path, 0, at));
    buf_path(&b, model, "-._~/@");
    buf_put(&b, str_from(path, at + p->in_path.n));
    return buf_str(&b);
}

/* What stands in one place, with the other name; as it was where it names something else. */
static void put_place(daruma_buf *out, const passing *p, daruma_str place, daruma_str model, daruma_arena *a)
{
    daruma_str was = p->json ? json_text(place, a) : place, folder = S("models/");
    daruma_buf name = buf_in(a);
    bool folded = p->in_path.n && str_starts(was, folder);
    if (folded)
        buf_put(&name, folder);
    buf_put(&name, model);
    if (p->in_path.n && !str_eq(str_from(was, folded ? folder.n : 0), p->model))
        buf_put(out, place);
    else if (p->json)
        buf_json(out, buf_str(&name));
    else
        buf_put(out, model);
    out->full |= name.full;
}

void passing_body(const passing *p, daruma_str body, daruma_str model, daruma_arena *a, daruma_str ret[4])
{
    daruma_buf written = buf_in(a);
    size_t done = 0, first = p->nplaces ? (size_t)(p->places[0].p - body.p) : 0;
    ret[0] = body;
    if (!p->nplaces || str_eq(model, p->model))
        return;
    for (size_t i = 0; i < p->nplaces; i++) { /* from the first to behind the last place; what is around is as it was */
        size_t at = (size_t)(p->places[i].p - body.p);
        if (i)
            buf_put(&written, str_sub(body, done, at - done));
        put_place(&written, p, p->places[i], model, a);
        done = at + p->places[i].n;
    }
    ret[0] = str_sub(body, 0, first);
    ret[1] = buf_str(&written);
    ret[2] = str_from(body, done);
}
