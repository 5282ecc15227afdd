/* cloud.c - Anthropic's models at clouds that host them. The conversation and its answer are those of Anthropic's API;
 * the path names the model and says whether the answer is streamed, and the body holds the version of the API. */
#include "base/buf.h"
#include "base/json.h"
#include "gateway/inside.h"

// clang-format off
static const struct {
    daruma_str folder, whole, streamed; /* of the path: before the model, and behind it */
    daruma_str version;
} clouds[] = {
    /* https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai */
    [CONFIG_VERTEX] = {LIT("/models/"), LIT(":rawPredict"), LIT(":streamRawPredict"), LIT("vertex-2023-10-16")},
};
// clang-format on

daruma_str cloud_path(const config_provider *p, daruma_str model, bool stream, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    buf_put(&b, p->to.prefix);
    buf_put(&b, clouds[p->cloud].folder);
    buf_path(&b, model, "-._~@"); /* its slashes and colons end nothing */
    buf_put(&b, stream ? clouds[p->cloud].streamed : clouds[p->cloud].whole);
    return buf_str(&b);
}

/* True if the path says it. */
static bool is_in_path(daruma_str key)
{
    return json_raw_eq(key, S("model"));
}

static void add_piece(daruma_str out[4], size_t *n, const char *from, const char *to)
{
    if (from < to)
        out[(*n)++] = (daruma_str){from, (size_t)(to - from)};
}

/*     {"model":"m","max_tokens":9,"messages":[...]}
 *      ^---------^^-------------------------------^
 *       left out   out[1]; out[0] is what the body begins with instead */
void cloud_body(const config_provider *p, daruma_str out[4], daruma_arena *a)
{
    daruma_str body = str_trim(out[0]), key, value, pieces[4];
    daruma_buf head = buf_in(a);
    json_iter it = json_open(body);
    const char *begin = it.p, *from = begin, *behind = begin; /* ... of what is in no piece yet; the newest member */
    size_t n = 1;
    bool first = false; /* the first member stays */
    it.quick = true;
    while (json_next(&it, &key, &value)) {
        bool leave_out = is_in_path(key) && n < 3; /* a third one is a second of the same name: the cloud refuses it */
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
    BUF_LIT(&head, "{\"anthropic_version\":");
    buf_json(&head, clouds[p->cloud].version);
    if (first)
        BUF_LIT(&head, ",");
    pieces[0] = buf_str(&head);
    for (size_t i = 0; i < 4; i++)
        out[i] = i < n ? pieces[i] : (daruma_str){0};
}
