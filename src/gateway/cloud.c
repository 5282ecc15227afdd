/* cloud.c - Anthropic's models at clouds that host them. The conversation and its answer are those of Anthropic's API;
 * the path names the model and says whether the answer is streamed, and the body holds the version of the API. Bedrock
 * wants its betas there, too, and frames its streams in a way of Amazon's. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "dialect/event_stream.h"
#include "gateway/inside.h"

// clang-format off
static const struct {
    daruma_str folder, whole, streamed; /* of the path: before the model, and behind it */
    daruma_str version;
    daruma_str left_out[2]; /* members of the body that the path says */
} clouds[] = {
    /* https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai */
    [CONFIG_VERTEX] = {LIT("/models/"), LIT(":rawPredict"), LIT(":streamRawPredict"), LIT("vertex-2023-10-16"), {LIT("model")}},
    /* https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages.html */
    [CONFIG_BEDROCK] = {LIT("/model/"), LIT("/invoke"), LIT("/invoke-with-response-stream"), LIT("bedrock-2023-05-31"), {LIT("model"), LIT("stream")}},
};
// clang-format on

daruma_str cloud_path(const config_provider *p, daruma_str model, bool stream, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    BUF_SAY(&b, p->to.prefix, clouds[p->cloud].folder);
    buf_path(&b, model, "-._~@"); /* its slashes and colons end nothing */
    buf_put(&b, stream ? clouds[p->cloud].streamed : clouds[p->cloud].whole);
    return buf_str(&b);
}

/* True if the path says it. */
static bool is_in_path(const config_provider *p, daruma_str key)
{
    const daruma_str *names = clouds[p->cloud].left_out;
    return json_raw_eq(key, names[0]) || (names[1].n && json_raw_eq(key, names[1]));
}

/* Words of anthropic-beta as a member. */
static void put_betas(daruma_buf *head, daruma_str betas)
{
    bool any = false;
    while (betas.n) {
        daruma_str word = str_trim(str_cut(&betas, ','));
        if (!word.n)
            continue;
        BUF_SAY(head, any ? S(",") : S(",\"anthropic_beta\":["), buf_quoted(word));
        any = true;
    }
    if (any)
        BUF_LIT(head, "]");
}

static void add_piece(daruma_str out[4], size_t *n, const char *from, const char *to)
{
    if (from < to)
        out[(*n)++] = (daruma_str){from, (size_t)(to - from)};
}

/*     {"model":"m","max_tokens":9,"messages":[...]}
 *      ^---------^^-------------------------------^
 *       left out   out[1]; out[0] is what the body begins with instead */
void cloud_body(const config_provider *p, daruma_str betas, daruma_str out[4], daruma_arena *a)
{
    daruma_str body = str_trim(out[0]), key, value, pieces[4];
    daruma_buf head = buf_in(a);
    json_iter it = json_open(body);
    const char *begin = it.p, *from = begin; /* what is in no piece yet */
    const char *behind = begin;              /* the newest member */
    size_t n = 1;
    bool first = false; /* the first member stays */
    it.quick = true;
    while (json_next(&it, &key, &value)) {
        bool leave_out = is_in_path(p, key) && n < 3; /* one more is a second of a name: the cloud refuses it */
        first |= behind == begin && !leave_out;
        if (leave_out) {
            add_piece(pieces, &n, from, behind);
            from = it.p;
        }
        behind = it.p;
    }
    if (it.bad) /* the cloud says what is wrong with it */
        return;
    add_piece(pieces, &n, from, body.p + body.n);
    BUF_SAY(&head, "{\"anthropic_version\":", buf_quoted(clouds[p->cloud].version));
    if (p->cloud == CONFIG_BEDROCK)
        put_betas(&head, betas);
    if (first)
        BUF_LIT(&head, ",");
    pieces[0] = buf_str(&head);
    for (size_t i = 0; i < 4; i++)
        out[i] = i < n ? pieces[i] : (daruma_str){0};
}

/* ---- streams ---- */

struct cloud_stream {
    cloud_stream *next;
    const void *handle; /* of its call */
    http_rest rest;     /* the beginning of a message */
    bool framed;        /* its head said so */
    bool *over;         /* who wants to know when its call is over; NULL: nobody */
};

void cloud_stream_begin(exchange *x, const config_provider *p, const void *handle)
{
    cloud_stream *s = p->cloud == CONFIG_BEDROCK && handle ? ARENA_NEW(x->c->arena, cloud_stream, 1) : NULL;
    if (!s)
        return;
    *s = (cloud_stream){.next = x->streams, .handle = handle};
    x->streams = s;
}

static cloud_stream **place_of(exchange *x, const void *handle)
{
    cloud_stream **at = &x->streams;
    while (*at && (*at)->handle != handle)
        at = &(*at)->next;
    return at;
}

void cloud_stream_head(exchange *x, const void *handle, const http_head *h)
{
    cloud_stream *s = *place_of(x, handle);
    if (s)
        s->framed = str_istarts(http_header(h, S("content-type")), S("application/vnd.amazon.eventstream"));
}

bool cloud_stream_framed(exchange *x, const void *handle)
{
    const cloud_stream *s = *place_of(x, handle);
    return s && s->framed;
}

daruma_net cloud_stream_read(exchange *x, const void *handle, daruma_str bytes, daruma_arena *a, daruma_str *ret)
{
    cloud_stream *s = *place_of(x, handle);
    daruma_buf out = buf_in(a);
    event_stream_found found;
    if (s->rest.n) {
        if (!http_rest_keep(&s->rest, bytes))
            return DARUMA_NET_LOCAL;
        bytes = (daruma_str){s->rest.p, s->rest.n};
    }
    while ((found = event_stream_next(&bytes, &out)) == EVENT_STREAM_TAKEN)
        ;
    if (out.full)
        return DARUMA_NET_LOCAL;
    *ret = buf_str(&out);
    if (found == EVENT_STREAM_BAD)
        return DARUMA_NET_PROTOCOL;
    return http_rest_keep(&s->rest, bytes) ? DARUMA_NET_NONE : DARUMA_NET_LOCAL;
}

void cloud_stream_watch(exchange *x, const void *handle, bool *over)
{
    (*place_of(x, handle))->over = over;
}

bool cloud_stream_end(exchange *x, const void *handle)
{
    cloud_stream **at = place_of(x, handle), *s = *at;
    if (!s)
        return true;
    bool whole = !s->rest.n;
    if (s->over)
        *s->over = true;
    http_rest_keep(&s->rest, (daruma_str){0});
    *at = s->next;
    return whole;
}
