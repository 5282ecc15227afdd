#include "base/buf.h"
#include "base/str.h"
#include "chaos/faults.h"
#include "chaos/speak/speak.h"

// clang-format off
const fault_kind fault_kinds[] = {
    {"rate_limit",          FAULT_ERROR, .main = "status", .words = "429: slow down, in the provider's words"},
    {"quota",               FAULT_ERROR, .main = "status", .words = "the account has no credit left"},
    {"overloaded",          FAULT_ERROR, .main = "status", .words = "503 or 529: too busy"},
    {"server_error",        FAULT_ERROR, .main = "status", .words = "500: an internal error"},
    {"auth",                FAULT_ERROR, .main = "status", .words = "401: the key is wrong"},
    {"permission",          FAULT_ERROR, .main = "status", .words = "403: the account may not do this"},
    {"model_not_found",     FAULT_ERROR, .main = "status", .words = "404: no such model"},
    {"context_length",      FAULT_ERROR, .main = "status", .words = "400: the conversation does not fit the window"},
    {"output_limit",        FAULT_ERROR, .main = "status", .words = "400: more output asked than the model can write"},
    {"request_too_large",   FAULT_ERROR, .main = "status", .words = "413: too many bytes"},
    {"orphan_tool_call",    FAULT_ERROR, .main = "status", .words = "400: a tool call without its result"},
    {"orphan_tool_result",  FAULT_ERROR, .main = "status", .words = "400: a tool result without its call"},
    {"invalid_parameter",   FAULT_ERROR, .main = "status", .words = "400: a parameter the model does not know"},
    {"invalid_tool_schema", FAULT_ERROR, .main = "status", .words = "400: a tool's schema is not accepted"},
    {"invalid_message",     FAULT_ERROR, .main = "status", .words = "400: a message is not accepted"},
    {"content_filter",      FAULT_ERROR, .main = "status", .words = "400: the content policy blocked it"},
    {"unprocessable",       FAULT_ERROR, .main = "status", .words = "422: understood, but not done"},
    {"status",              FAULT_ERROR, .main = "status", .words = "the status you name, with an error that says nothing else"},
    {"html",                FAULT_HTML,  .main = "status", .words = "the HTML page of a proxy, 502 unless you name another status"},
    {"bad_gateway_html",    FAULT_HTML,  .main = "status", .words = "the same"},
    {"empty",               FAULT_EMPTY, .main = "form", .forms = {"stream", "choices", "text", "body"},
     .words = "an answer with nothing in it: no events, no choices, no text, or no body"},
    {"malformed",           FAULT_BROKEN, .main = "form", .forms = {"truncated", "not_json", "content_type"},
     .words = "a 200 that is cut JSON, no JSON, or HTML that calls itself something else"},
    {"truncated_json",      FAULT_BROKEN, .main = "form", .forms = {"truncated"}, .words = "a 200 whose JSON stops in the middle"},
    {"bad_http",            FAULT_FRAMING, .main = "form",
     .forms = {"half_head", "status_line", "header", "two_lengths", "length_and_chunked", "chunk_size", "huge_chunk", "short_body", "garbage"},
     .words = "an answer that breaks HTTP itself"},
    {"timeout",             FAULT_HANG,    .main = "for", .words = "the request is accepted and never answered"},
    {"reset",               FAULT_RESET,   .main = "after_wire_bytes", .words = "the connection is reset (RST), before the answer or in it"},
    {"refuse",              FAULT_REFUSE,  .main = "times", .words = "the connection is reset as soon as it is made, before any request"},
    {"cut",                 FAULT_CUT,     .main = "after_bytes",  .words = "the connection closes in the middle of the answer"},
    {"eof",                 FAULT_EOF,     .main = "form", .forms = {"clean"}, .words = "the answer ends early, in good order, without its end marker"},
    {"stall",               FAULT_STALL,   .main = "for",   .words = "the answer falls silent for 30s, or as you say, and then goes on"},
    {"pings_only",          FAULT_PINGS,   .main = "for",   .words = "nothing but keep-alives for 30s, or as you say, and then the answer"},
    {"slow",                FAULT_SLOW,    .main = "every", .words = "the answer comes byte by byte"},
    {"trickle",             FAULT_TRICKLE, .main = "every", .words = "a stream comes event by event"},
    {"delay",               FAULT_DELAY,   .main = "delay", .words = "late, but fine"},
    {"cut_short",           FAULT_TWIST, ANSWER_CUT_SHORT,     .words = "the model stops at its output limit"},
    {"filtered",            FAULT_TWIST, ANSWER_FILTERED,      .words = "the model's answer is withheld: finish reason content_filter or refusal"},
    {"bad_arguments",       FAULT_TWIST, ANSWER_BAD_ARGUMENTS, .main = "form",
     .forms = {"unclosed", "trailing_comma", "single_quotes", "fenced", "literals", "length", "wrong_type", "empty"},
     .words = "tool calls come with broken or unfit arguments; length: cut there by the output limit"},
    {"bad_tool",            FAULT_TWIST, ANSWER_BAD_TOOL, .main = "form", .forms = {"unknown", "misspelt"},
     .words = "the model calls a tool that nobody offered"},
};
const size_t nfault_kinds = COUNT(fault_kinds);

// clang-format on

const fault fault_none = {.stream = -1,
                          .times = -1,
                          .rate = -1,
                          .status = -1,
                          .after_events = -1,
                          .after_bytes = -1,
                          .after_wire_bytes = -1,
                          .after_pieces = -1,
                          .asks = -1,
                          .hold = -1,
                          .every = -1,
                          .delay = -1};

const fault_kind *fault_find(daruma_str name)
{
    for (size_t i = 0; i < nfault_kinds; i++)
        if (str_eq(name, str_of(fault_kinds[i].name)))
            return &fault_kinds[i];
    return NULL;
}

/* ---- the provider's words ---- */

/* How long a retry-after of the script says to wait, so that both agree; empty: it says nothing. */
static daruma_str retry_of(const fault *f, daruma_arena *a)
{
    for (size_t i = 0; i < f->nheaders; i++)
        if (str_ieq(f->headers[i].name, S("retry-after")) && f->headers[i].value.n &&
            ch_digit(f->headers[i].value.p[0]))
            return STR_SAY(a, f->headers[i].value, "s");
    return (daruma_str){0};
}

/* A window that the request does not fit and a limit that it is above, whatever the script says. */
static fault_values values_of(const fault *f, const ask *q, const model_limits *m, daruma_arena *a)
{
    int64_t output = q->max_output > 0 ? q->max_output : 100000;
    daruma_str retry = retry_of(f, a);
    return (fault_values){.model = q->model,
                          .key = str_sub(q->key, 0, 3),
                          .retry = retry.n ? retry : S("200ms"),
                          .tokens = q->tokens,
                          .window = m->window >= 0 && m->window < q->tokens ? m->window : q->tokens / 2,
                          .output = output,
                          .output_max = m->max_output >= 0 && m->max_output < output ? m->max_output : output / 2};
}

/* Google's message is that of a spent quota. Its details say which quota it is, and how long to wait. */
static daruma_str retry_details(const fault *f, daruma_arena *a)
{
    daruma_str retry = retry_of(f, a);
    return STR_SAY(a,
                   "[{\"@type\":\"type.googleapis.com/google.rpc.QuotaFailure\",\"violations\":[{\"quotaId\":"
                   "\"GenerateRequestsPerMinutePerProjectPerModel-FreeTier\",\"quotaValue\":\"10\"}]},"
                   "{\"@type\":\"type.googleapis.com/google.rpc.RetryInfo\",\"retryDelay\":\"",
                   retry.n ? retry : S("0.2s"), "\"}]");
}

static refusal error_of(const fault *f, const fault_kind *k, const ask *q, const model_limits *m, daruma_arena *a)
{
    const fault_values v = values_of(f, q, m, a);
    refusal r = fault_refusal(k->name, q->wire, &v, a);
    if (f->message.n)
        r.message = f->message;
    if (f->status > 0)
        r.status = (int)f->status;
    if (q->wire == WIRE_GEMINI && strcmp(k->name, "rate_limit") == 0)
        r.details = retry_details(f, a);
    if (q->wire == WIRE_GEMINI && f->status > 0) /* another status has another name */
        r.type = (daruma_str){0};
    return r;
}

/* ---- odd bodies ---- */

static answer html_page(int status, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    const char *reason = *http_reason(status) ? http_reason(status) : "Error";
    buf_printf(&b,
               "<html>\r\n<head><title>%d %s</title></head>\r\n<body>\r\n<center><h1>%d %s</h1></center>\r\n"
               "<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n",
               status, reason, status, reason);
    answer x = {.status = status, .body = buf_str(&b)};
    answer_header(&x, S("content-type"), S("text/html"));
    return x;
}

static answer good_answer(const ask *q, const manner *how, answer_twist twist, daruma_arena *a)
{
    if (q->route == ROUTE_EMBEDDINGS)
        return answer_embeddings(q, a);
    if (q->route == ROUTE_COUNT)
        return answer_count(q, a);
    speech s = answer_say(q, how, twist, a);
    return answer_write(q, &s, a);
}

static answer empty_answer(const ask *q, const manner *how, daruma_str form, daruma_arena *a)
{
    if (str_eq(form, S("choices")))
        return good_answer(q, how, ANSWER_CHOICELESS, a);
    if (str_eq(form, S("text")))
        return good_answer(q, how, ANSWER_NOTHING, a);
    answer x = good_answer(q, how, ANSWER_GOOD, a);
    x.body.n = x.nends = 0;
    if (str_eq(form, S("body")))
        x.stream = false;
    return x;
}

static answer broken_answer(const ask *q, const manner *how, daruma_str form, daruma_arena *a)
{
    answer x = good_answer(q, how, ANSWER_GOOD, a);
    if (str_eq(form, S("content_type"))) {
        answer page = html_page(200, a);
        answer_header(&page, S("content-type"), answer_header_of(&x, S("content-type")));
        return page;
    }
    if (str_eq(form, S("not_json"))) {
        x.body = x.stream ? S("data: upstream says: <nil>\n\n") : S("upstream says: <nil>\n");
        x.nends = 0;
        return x;
    }
    /* A stream stops within the JSON of an event, which then ends as an event should. */
    if (x.stream && x.nends > 2) {
        size_t from = x.ends[1], half = from + (x.ends[2] - from) / 2;
        x.body = STR_SAY(a, str_sub(x.body, 0, half), "\n\n");
        x.ends[2] = x.body.n;
        x.nends = 3;
        return x;
    }
    x.body.n /= 2;
    return x;
}

/* ---- over the wire ---- */

static void put_head(daruma_buf *b, const answer *x)
{
    buf_printf(b, "HTTP/1.1 %d %s\r\n", x->status, http_reason(x->status));
    for (size_t i = 0; i < x->nheaders; i++)
        BUF_SAY(b, x->headers[i].name, ": ", x->headers[i].value, "\r\n");
    BUF_LIT(b, "Connection: close\r\n");
}

static void put_chunk(daruma_buf *b, daruma_str bytes)
{
    if (bytes.n == 0)
        return;
    buf_printf(b, "%zx\r\n", bytes.n);
    BUF_SAY(b, bytes, "\r\n");
}

/* The answer as its bytes go over the wire. */
static answer wire_answer(const answer *x, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    put_head(&b, x);
    if (x->stream) {
        BUF_LIT(&b, "Transfer-Encoding: chunked\r\n\r\n");
        for (size_t i = 0, from = 0; i < x->nends; from = x->ends[i++])
            put_chunk(&b, str_sub(x->body, from, x->ends[i] - from));
        BUF_LIT(&b, "0\r\n\r\n");
    } else {
        buf_printf(&b, "Content-Length: %zu\r\n\r\n", x->body.n);
        buf_put(&b, x->body);
    }
    answer raw = {.status = x->status, .body = buf_str(&b)};
    return raw;
}

static answer bad_framing(const answer *x, daruma_str form, daruma_arena *a)
{
    static const char chunked[] = "Transfer-Encoding: chunked\r\n";
    daruma_buf b = buf_in(a);
    size_t half = x->body.n / 2;
    if (str_eq(form, S("garbage")))
        return (answer){.status = 0,
                        .body = S("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 this is not HTTP\r\n\r\n")};
    if (str_eq(form, S("half_head")))
        return (answer){.status = 0, .body = S("HTTP/1.1 200 OK\r\ncontent-type: applica")};
    if (str_eq(form, S("status_line")))
        return (answer){.status = 0, .body = S("HTTP/1.1 abc Okay\r\ncontent-length: 2\r\n\r\n{}")};
    put_head(&b, x);
    if (str_eq(form, S("header")))
        BUF_LIT(&b, "this header has no colon\r\n");
    if (str_eq(form, S("two_lengths")))
        buf_printf(&b, "Content-Length: %zu\r\n", half);
    if (str_eq(form, S("length_and_chunked")))
        buf_putz(&b, chunked);
    if (str_eq(form, S("chunk_size")) || str_eq(form, S("huge_chunk"))) {
        BUF_SAY(&b, chunked, "\r\n");
        put_chunk(&b, str_sub(x->body, 0, half));
        buf_putz(&b, str_eq(form, S("chunk_size")) ? "xyz\r\n" : "fffffffffffffffff\r\n");
    } else {
        buf_printf(&b, "Content-Length: %zu\r\n\r\n", x->body.n);
    }
    buf_put(&b, str_sub(x->body, 0, str_eq(form, S("short_body")) ? half : x->body.n));
    return (answer){.status = x->status, .body = buf_str(&b)};
}

/* ---- the plan ---- */

plan plan_good(const answer *x)
{
    return (plan){.a = *x, .name = "ok", .stop_at = x->body.n, .hold = -1};
}

/* Behind some pieces of a part of a stream, half of them unless said. False: it has none. */
static bool place_behind(const fault *f, const answer *x, size_t *ret)
{
    answer_part part = f->within ? (answer_part)f->within : ANSWER_TEXT;
    size_t n = 0, seen = 0;
    for (size_t i = 0; i < x->nends; i++)
        n += x->pieces && x->pieces[i] == part;
    size_t want = f->after_pieces >= 0 ? (size_t)f->after_pieces : (n + 1) / 2;
    for (size_t i = 0; i < x->nends && n; i++) {
        if (x->pieces[i] != part)
            continue;
        if (want == 0)
            return *ret = i ? x->ends[i - 1] : 0, true;
        if (++seen == want || seen == n)
            return *ret = x->ends[i], true;
    }
    return false;
}

/* Where in the body something happens: as the script says, else behind `events` of a stream (-1: half of them).
 * A body without events breaks in its middle. */
static size_t place_in(const fault *f, const answer *x, int64_t events)
{
    size_t at;
    if ((f->within || f->after_pieces >= 0) && place_behind(f, x, &at))
        return at;
    if (f->after_bytes >= 0)
        return (uint64_t)f->after_bytes < x->body.n ? (size_t)f->after_bytes : x->body.n;
    if (f->after_events >= 0)
        events = f->after_events;
    if (events == 0)
        return 0;
    if (x->nends == 0)
        return x->body.n / 2;
    size_t n = events < 0 ? x->nends / 2 : (uint64_t)events < x->nends ? (size_t)events : x->nends;
    return n ? x->ends[n - 1] : 0;
}

/* The error inside a 200: behind some events of the stream that had begun, or as the body. */
static answer in_band(const fault *f, const refusal *r, const ask *q, const manner *how, uint64_t id, daruma_arena *a)
{
    answer x = good_answer(q, how, ANSWER_GOOD, a);
    if (!x.stream) {
        answer e = answer_refusal(q->wire, r, id, a);
        e.status = 200;
        return e;
    }
    daruma_buf b = buf_in(a);
    size_t at = place_in(f, &x, 1);
    buf_put(&b, str_sub(x.body, 0, at));
    if (q->array) {
        buf_putz(&b, b.n ? ",\r\n" : "[");
        gemini_refusal(&b, r);
        BUF_LIT(&b, "]");
    } else {
        answer_refusal_events(&b, q->wire, r, id);
    }
    x.body = buf_str(&b);
    while (x.nends && x.ends[x.nends - 1] > at)
        x.nends--;
    if (x.ends)
        x.ends[x.nends++] = x.body.n;
    return x;
}

static answer answer_of(const fault *f, const fault_kind *k, const ask *q, const model_limits *m, const manner *how,
                        uint64_t id, daruma_arena *a)
{
    daruma_str form = f->form.n ? f->form : str_of(k->forms[0]);
    if (k->effect == FAULT_ERROR) {
        refusal r = error_of(f, k, q, m, a);
        return f->in_band ? in_band(f, &r, q, how, id, a) : answer_refusal(q->wire, &r, id, a);
    }
    if (k->effect == FAULT_HTML)
        return html_page(f->status > 0 ? (int)f->status : 502, a);
    if (k->effect == FAULT_EMPTY)
        return empty_answer(q, how, form, a);
    if (k->effect == FAULT_BROKEN)
        return broken_answer(q, how, form, a);
    manner twisted = *how;
    twisted.form = form;
    return good_answer(q, &twisted, k->twist, a);
}

/* What happens to the answer on its way, and where. */
static void set_act(plan *p, const fault *f, const fault_kind *k)
{
    static const struct {
        fault_effect effect;
        plan_act act;
        int64_t events;  /* where by default */
        daruma_ms hold;  /* how long by default */
        daruma_ms every; /* how often */
    } acts[] = {
        {FAULT_HANG, PLAN_HANG, 0, -1, 0},       {FAULT_RESET, PLAN_RESET, 0, 0, 0},
        {FAULT_CUT, PLAN_CUT, -1, 0, 0},         {FAULT_EOF, PLAN_EOF, -1, 0, 0},
        {FAULT_STALL, PLAN_STALL, -1, 30000, 0}, {FAULT_PINGS, PLAN_PINGS, 0, 30000, 0},
        {FAULT_SLOW, PLAN_END, 0, 0, 20},        {FAULT_TRICKLE, PLAN_END, 0, 0, 100},
    };
    for (size_t i = 0; i < COUNT(acts); i++) {
        if (acts[i].effect != k->effect)
            continue;
        p->act = acts[i].act;
        p->hold = f->hold >= 0 ? f->hold : acts[i].hold;
        p->every = f->every >= 0 ? f->every : acts[i].every;
        bool placed = f->after_bytes >= 0 || f->after_events >= 0 || f->after_pieces >= 0 || f->within;
        if (p->act != PLAN_END)
            p->stop_at = p->raw ? (size_t)f->after_wire_bytes : place_in(f, &p->a, acts[i].events);
        p->no_head = (p->act == PLAN_HANG || p->act == PLAN_RESET) && !placed && !p->raw;
    }
    if (p->stop_at > p->a.body.n)
        p->stop_at = p->a.body.n;
    p->bytes = k->effect == FAULT_SLOW;
    if (f->every >= 0)
        p->every = f->every;
}

plan fault_plan(const fault *f, const fault_kind *k, const ask *q, const model_limits *m, const manner *how,
                uint64_t id, daruma_arena *a)
{
    answer x = answer_of(f, k, q, m, how, id, a);
    if (f->status > 0 && k->effect != FAULT_ERROR && k->effect != FAULT_HTML)
        x.status = (int)f->status;
    for (size_t i = 0; i < f->nheaders; i++)
        answer_header(&x, f->headers[i].name, f->headers[i].value);
    bool raw = f->after_wire_bytes >= 0 || k->effect == FAULT_FRAMING;
    if (k->effect == FAULT_FRAMING)
        x = bad_framing(&x, f->form.n ? f->form : str_of(k->forms[0]), a);
    else if (raw)
        x = wire_answer(&x, a);
    plan p = plan_good(&x);
    p.name = k->name;
    p.raw = raw;
    p.delay = f->delay > 0 ? f->delay : 0;
    set_act(&p, f, k);
    return p;
}
