/* web.c - http.get. A page is read whole up to a limit, and shown in parts. What is no text, what leads to a place that
 * only this machine or its network reaches, and what answers with an error is a failure of the call, whose words say
 * so. */
#include "tools/web.h"
#include "daruma.h"
#include "net/address.h"
#include <stdio.h>

static const agent_tool web_tool = {
    .about = {LIT("http.get"),
              LIT("Reads a page or file of text from the web by GET. Long ones come in parts: the last line says with "
                  "which `from` the next one is read."),
              LIT("{\"type\":\"object\",\"properties\":{\"url\":{\"type\":\"string\",\"description\":\"whole URL, "
                  "with http:// or https://\"},\"from\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"byte of "
                  "the text to begin at\"}},\"required\":[\"url\"],\"additionalProperties\":false}"),
              DARUMA_TOOL_KNOWN | DARUMA_TOOL_READS}};

/* ---- a call ---- */

typedef struct web_work {
    tool_call *c;
    fetch *f; /* NULL: nothing is out */
    url_page at;
    daruma_str url; /* as it was asked for, or as the last Location said */
    daruma_str location, type, retry_after;
    daruma_buf body;
    daruma_ms began;
    int status, redirects;
    bool cut;     /* the page is longer than is read */
    bool encoded; /* its bytes are compressed, though nobody asked for that */
} web_work;

static void fail(web_work *w, const char *code, const char *what, const char *next)
{
    tool_fail(w->c, code, w->url, what, next);
}

/* Is that type of content read as text? An unknown one is looked at. */
static bool is_text(daruma_str type, daruma_str body)
{
    static const char *const words[] = {"json",    "xml",  "javascript", "ecmascript", "yaml",     "toml",
                                        "graphql", "x-sh", "sql",        "urlencoded", "x-ndjson", "markdown"};
    daruma_str rest = type, plain = str_trim(str_cut(&rest, ';'));
    bool text = str_istarts(plain, S("text/"));
    for (size_t i = 0; i < COUNT(words) && !text; i++)
        text = str_ifind(plain, str_of(words[i])) != STR_NONE;
    if (!plain.n || str_ieq(plain, S("application/octet-stream")))
        text = true;
    daruma_str head = str_sub(body, 0, WEB_LOOK_BYTES);
    return text && !(head.n && memchr(head.p, 0, head.n));
}

/* The part of the page that is asked for, cut between two characters, and where it goes on. */
static void show(web_work *w)
{
    daruma_str body = buf_str(&w->body);
    int64_t from = json_int(json_get(w->c->args, S("from")), 0);
    char what[80];
    if (from < 0 || (size_t)from > body.n || (from && (size_t)from == body.n)) {
        snprintf(what, sizeof what, "has only %zu bytes", body.n);
        fail(w, "OFFSET_OUT_OF_RANGE", what, "read it without `from`");
        return;
    }
    daruma_str part = str_sub(body, (size_t)from, WEB_SHOWN_BYTES);
    size_t end = (size_t)from + part.n;
    while (end < body.n && part.n > 1 && ((unsigned char)body.p[end] & 0xc0) == 0x80)
        end--, part.n--;
    buf_put(&w->c->out, part);
    if (end < body.n)
        buf_printf(&w->c->out, "\n[bytes %lld to %zu of %zu%s; go on with from=%zu]", (long long)from, end, body.n,
                   w->cut ? " or more" : "", end);
    else if (w->cut)
        buf_printf(&w->c->out, "\n[the page goes on; no more than %u bytes are read]", WEB_BYTES_MAX);
    if (!w->c->out.n)
        BUF_LIT(&w->c->out, "(the page is empty)");
    tool_over(w->c, 1, false);
}

static void fail_status(web_work *w)
{
    daruma_buf *out = &w->c->out;
    daruma_str body = buf_str(&w->body);
    const char *reason = http_reason(w->status);
    BUF_SAY(out, "HTTP ", w->status, *reason ? " " : "", reason, ": `", w->url, "` answered with an error");
    if (w->retry_after.n)
        BUF_SAY(out, "\nRetry-After: ", w->retry_after);
    if (body.n && is_text(w->type, body))
        BUF_SAY(out, "\nIts body:\n", str_sub(body, 0, WEB_ERROR_BYTES));
    tool_over(w->c, 0, false);
}

static void ask(web_work *w);

static void follow(web_work *w)
{
    bool tls = w->at.to.tls;
    daruma_str next = url_join(&w->at, str_trim(w->location), &w->c->room);
    url_page at;
    const char *wrong = w->location.n ? url_read_page(next, &w->c->room, &at) : "is missing";
    w->url = next.n ? next : w->url;
    if (wrong) {
        fail(w, "BAD_REDIRECT", wrong, "the page sent us on to this place; use another source");
    } else if (tls && !at.to.tls) {
        fail(w, "BAD_REDIRECT", "is not encrypted, though the page that sends us there is",
             "ask for that place itself, if it may be read so");
    } else if (++w->redirects > WEB_REDIRECTS_MAX) {
        fail(w, "BAD_REDIRECT", "is one redirect too many", "use the URL that the site gives for this page");
    } else {
        w->at = at;
        ask(w);
    }
}

static void finish(web_work *w)
{
    char what[120];
    if (w->status == 301 || w->status == 302 || w->status == 303 || w->status == 307 || w->status == 308) {
        follow(w);
    } else if (w->status >= 300) {
        fail_status(w);
    } else if (w->encoded || !is_text(w->type, buf_str(&w->body))) {
        snprintf(what, sizeof what, "is not text: it is %.60s%.*s", w->encoded ? "compressed " : "",
                 (int)(w->type.n < 40 ? w->type.n : 40), w->type.n ? w->type.p : "of an unknown type");
        fail(w, "NOT_TEXT", what, "look for the same as text, HTML or JSON");
    } else {
        show(w);
    }
}

static void on_head(fetch *f, const http_head *h, void *user)
{
    web_work *w = user;
    daruma_arena *a = &w->c->room;
    (void)f;
    w->status = h->status;
    w->type = arena_copy(a, http_header(h, S("content-type")));
    w->location = arena_copy(a, http_header(h, S("location")));
    w->retry_after = arena_copy(a, str_sub(http_header(h, S("retry-after")), 0, 40));
    daruma_str coding = http_header(h, S("content-encoding"));
    w->encoded = coding.n && !str_ieq(coding, S("identity"));
}

static void on_body(fetch *f, daruma_str bytes, void *user)
{
    web_work *w = user;
    size_t left = WEB_BYTES_MAX - w->body.n;
    buf_put(&w->body, str_sub(bytes, 0, left));
    if (bytes.n <= left)
        return;
    w->cut = true;
    w->f = NULL;
    fetch_cancel(f);
    finish(w);
}

static void on_end(fetch *f, void *user)
{
    web_work *w = user;
    (void)f;
    w->f = NULL;
    finish(w);
}

static void on_fail(fetch *f, daruma_net net, daruma_phase phase, const char *why, void *user)
{
    web_work *w = user;
    char what[300];
    (void)f, (void)phase;
    w->f = NULL;
    if (strcmp(why, UPSTREAM_NOT_PUBLIC) == 0) {
        fail(w, "ADDRESS_DENIED", "is on this machine or in its network, which is not read",
             "use a public address, or ask the user to allow it with --allow-local");
        return;
    }
    bool late = net == DARUMA_NET_CONNECT_TIMEOUT || net == DARUMA_NET_FIRST_BYTE_TIMEOUT ||
                net == DARUMA_NET_IDLE_TIMEOUT || net == DARUMA_NET_TOTAL_TIMEOUT;
    snprintf(what, sizeof what, "could not be read: %.200s", why);
    fail(w,
         late                    ? "TIMEOUT"
         : net == DARUMA_NET_DNS ? "ENOTFOUND"
                                 : "NETWORK_ERROR",
         what, net == DARUMA_NET_DNS ? "look at the host's name" : "try once more in a while, or use another source");
}

static void ask(web_work *w)
{
    static const daruma_header fields[] = {
        {LIT("User-Agent"), LIT("daruma/" DARUMA_VERSION)},
        {LIT("Accept"), LIT("text/*, application/json, application/xml, */*;q=0.5")},
        {LIT("Accept-Encoding"), LIT("identity")},
    };
    static const fetch_ops ops = {.head = on_head, .body = on_body, .end = on_end, .fail = on_fail};
    upstream *up = w->c->own;
    daruma_ms left = tool_within(w->c, WEB_MS) - ((daruma_ms)uv_now(w->c->loop) - w->began); /* redirects share it */
    if (upstream_public_only(up) && host_is_own(w->at.to.host)) {
        on_fail(NULL, DARUMA_NET_UNREACHABLE, DARUMA_AT_CONNECT, UPSTREAM_NOT_PUBLIC, w);
        return;
    }
    fetch_request q = {.to = &w->at.to,
                       .method = S("GET"),
                       .target = w->at.target,
                       .headers = fields,
                       .nheaders = COUNT(fields),
                       .stays = true,
                       .clocks = {RUN_CONNECT_MS, 0, 0, left > 0 ? left : 1}};
    w->body.n = 0;
    w->f = fetch_start(up, &q, &ops, w);
    if (!w->f)
        tool_over(w->c, 0, false);
}

static void start(tool_call *c)
{
    web_work *w = ARENA_NEW(&c->room, web_work, 1);
    if (!w) {
        tool_over(c, 0, false);
        return;
    }
    c->work = w;
    w->c = c;
    w->body = buf_in(&c->room);
    w->began = (daruma_ms)uv_now(c->loop);
    w->url = json_text(json_get(c->args, S("url")), &c->room);
    const char *wrong = url_read_page(w->url, &c->room, &w->at);
    if (wrong)
        fail(w, "BAD_URL", wrong, "write the whole URL, as https://example.org/page");
    else
        ask(w);
}

static void stop(tool_call *c)
{
    web_work *w = c->work;
    fetch_cancel(w->f);
    tool_over(c, 0, false);
}

bool web_add(toolset *t, upstream *up)
{
    static const tool_source source = {.start = start, .stop = stop};
    return toolset_add(t, &web_tool, &source, up);
}
