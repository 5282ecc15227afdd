#include "chaos/chaos.h"
#include "chaos/honest.h"
#include "chaos/kept.h"
#include "chaos/play.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "sys/sys.h"
#include <stdio.h>
#include <stdlib.h>

struct chaos {
    uv_loop_t *loop;
    server *server;
    chaos_settings settings;
    script *script;
    report report;
    stored *stored;  /* what Responses may refer to */
    keep *keep;      /* requests as they came */
    uint64_t dice;   /* of random faults; from the seed */
    uint64_t number; /* of the newest call */
    int64_t open;    /* calls under way: a reset of the counts leaves it alone */
};

/* One call while it is answered. */
typedef struct live {
    chaos *chaos;
    script *script; /* as it was when the call came: the plan points into it */
    play *play;
    uint64_t number;
    daruma_ms began;
    daruma_str model;
    bool good; /* a client sees nothing wrong when it is played to its end */
} live;

static uint64_t roll(chaos *k) /* splitmix64 */
{
    uint64_t z = k->dice += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static daruma_ms now_of(const chaos *k)
{
    return (daruma_ms)uv_now(k->loop);
}

/* ---- what is known of a call ---- */

static script_key *key_of(const script *s, daruma_str key)
{
    for (size_t i = 0; i < s->nkeys; i++)
        if (str_eq(s->keys[i].value, key))
            return &s->keys[i];
    return NULL;
}

static script_model *model_of(const script *s, daruma_str name)
{
    for (size_t i = 0; i < s->nmodels; i++)
        if (str_eq(s->models[i].name, name))
            return &s->models[i];
    return NULL;
}

/* What lines and reports call a key: the name that the script gives it. Of any other nothing is told. */
static daruma_str key_label(const script *s, daruma_str key)
{
    const script_key *known = key_of(s, key);
    return known ? known->name : key.n ? S("another key") : S("no key");
}

/* ---- which fault ---- */

static bool chaos_fits(daruma_str pattern, daruma_str s)
{
    if (pattern.n && pattern.p[pattern.n - 1] == '*')
        return str_starts(s, str_sub(pattern, 0, pattern.n - 1));
    return pattern.n == 0 || str_eq(pattern, s);
}

static bool fault_fits(const fault *f, const script *s, const ask *q)
{
    const script_key *key = key_of(s, q->key);
    /* without a path only calls to a model are meant: nobody wants their list of models to use up the faults */
    bool meant = f->path.n ? chaos_fits(f->path, q->path) : q->route == ROUTE_GENERATE || q->route == ROUTE_EMBEDDINGS;
    return meant && chaos_fits(f->model, q->model) && chaos_fits(f->key, q->key) &&
           (f->account.n == 0 || (key && chaos_fits(f->account, key->account))) &&
           (f->stream < 0 || f->stream == (int)q->stream) && (f->asks < 0 || f->asks == (int)q->purpose);
}

/* Is it the turn of a fault that fits? */
static bool fault_hits(chaos *k, fault *f)
{
    f->met++;
    if (f->met <= f->skip || (f->times >= 0 && f->hit >= f->times))
        return false;
    if (f->rate >= 0 && (int64_t)(roll(k) % 1000) >= f->rate)
        return false;
    f->hit++;
    return true;
}

/* Connections have no model, key or path yet: only a fault that does nothing but refuse them is meant. */
static bool refuses(const fault *f)
{
    return f->kinds[0]->effect == FAULT_REFUSE;
}

/* The first fault that fits and still has a hit left, and which of its kinds; NULL: all is well. */
static fault *pick_fault(chaos *k, const ask *q, const fault_kind **kind)
{
    for (size_t i = 0; i < k->script->nfaults; i++) {
        fault *f = &k->script->faults[i];
        if (refuses(f) || !fault_fits(f, k->script, q) || !fault_hits(k, f))
            continue;
        *kind = f->kinds[f->nkinds > 1 ? roll(k) % f->nkinds : 0];
        return f;
    }
    return NULL;
}

static bool harmless(const fault_kind *k)
{
    return k->effect == FAULT_STALL || k->effect == FAULT_PINGS || k->effect == FAULT_SLOW ||
           k->effect == FAULT_TRICKLE || k->effect == FAULT_DELAY;
}

/* ---- the answer ---- */

static scene scene_of(chaos *k, ask *q, daruma_arena *a)
{
    scene x = {
        .script = k->script, .stored = k->stored, .report = &k->report, .q = q, .model = model_of(k->script, q->model)};
    const script_key *key = key_of(k->script, q->key);
    x.limits = x.model ? x.model->limits : (model_limits){.window = -1, .max_output = -1};
    x.owner = key && key->account.n ? key->account : q->key;
    if (x.model) {
        x.manner = x.model->manner;
        x.turn = turn_of(x.model->answers, x.model->nanswers, x.model->given, &x.model->loop, q, a);
        x.manner.script = x.turn.say;
        x.manner.number = x.model->given + 1;
        if (x.manner.nways && q->purpose == ASK_CONTINUE && !q->prefills)
            x.manner.goes_on = x.manner.ways[roll(k) % x.manner.nways];
    }
    x.limits.secret = x.manner.secret = (uint64_t)k->script->seed;
    return x;
}

/* The key first, as providers do; then the faults; then what the request itself deserves. */
static plan choose_plan(chaos *k, ask *q, const fault **f, bool *good, daruma_arena *a)
{
    scene x = scene_of(k, q, a);
    const fault_kind *kind = NULL;
    script_key *key = key_of(k->script, q->key);
    refusal r = validate_key(q, k->script->nkeys == 0 || key, a);
    plan limited;
    *f = NULL;
    if (r.status)
        return plan_refusal(q, &r, a);
    if (key && (key->limit || key->tokens) && q->route == ROUTE_GENERATE &&
        !rate_allows(key, q, &x.limits, &x.manner, now_of(k), a, &limited))
        return limited;
    *f = pick_fault(k, q, &kind);
    if (!*f) {
        plan p = plan_honest(&x, a);
        *good = p.a.status == 200;
        return p;
    }
    plan p = fault_plan(*f, kind, q, &x.limits, &x.manner, q->hash ^ k->number, a);
    if (harmless(kind)) { /* it slows the honest answer, which may be a refusal, and changes nothing else */
        plan honest = plan_honest(&x, a);
        *good = honest.a.status == 200 && p.a.status == 200;
        if (honest.a.status != 200 || honest.refused) {
            honest.delay = p.delay;
            return honest;
        }
    }
    return p;
}

static plan make_plan(chaos *k, ask *q, const fault **f, bool *good, daruma_arena *a)
{
    plan p = choose_plan(k, q, f, good, a);
    const script_key *key = key_of(k->script, q->key);
    if (key && (key->limit || key->tokens) && q->route == ROUTE_GENERATE && !p.raw)
        rate_state(key, q->wire, now_of(k), sys_moment().wall, a, &p.a);
    return p;
}

/* ---- one call ---- */

static void chaos_say(chaos *k, const daruma_buf *line)
{
    if (k->settings.say)
        k->settings.say(buf_str(line), k->settings.user);
}

static void say_call(chaos *k, const call *c, const ask *q, const plan *p, const fault *f, daruma_arena *a)
{
    if (!k->settings.say)
        return;
    daruma_buf b = buf_in(a);
    daruma_str label = key_label(k->script, q->key);
    buf_printf(&b, "#%llu ", (unsigned long long)k->number);
    BUF_SAY(&b, c->head.method, " ", c->head.path, " ", q->model, q->stream ? " (stream, " : " (", label, "): ");
    if (p->no_head)
        BUF_LIT(&b, "no answer");
    else
        buf_int(&b, p->a.status);
    BUF_SAY(&b, " ", p->name);
    if (f && f->line)
        buf_printf(&b, ", line %d of the script", f->line);
    chaos_say(k, &b);
}

static const char *const purposes[ASK_PURPOSES] = {"turn", "continue", "summary"};

static void count_call(chaos *k, const ask *q, const plan *p, const fault *f, daruma_arena *a)
{
    report *r = &k->report;
    daruma_buf status = buf_in(a);
    r->calls++;
    k->open++;
    r->open = k->open;
    if (r->open > r->most_open)
        r->most_open = r->open;
    if (p->no_head)
        BUF_LIT(&status, "none");
    else
        buf_int(&status, p->a.status);
    tally_add(&r->statuses, buf_str(&status));
    tally_add(&r->paths, q->path);
    tally_add(&r->keys, key_label(k->script, q->key));
    if (q->model.n)
        tally_add(&r->models, q->model);
    if (f)
        tally_add(&r->faults, str_of(p->name));
    if (p->refused) {
        r->refused++;
        tally_add(&r->refusals, str_of(p->refused));
    }
    if (q->route == ROUTE_GENERATE)
        tally_add(&r->purposes, str_of(purposes[q->purpose]));
    if (q->route == ROUTE_GENERATE && q->tokens > r->largest)
        r->largest = q->tokens;
    if (q->route == ROUTE_GENERATE || q->route == ROUTE_EMBEDDINGS)
        report_body(r, q->hash);
}

static void live_end(live *l)
{
    chaos *k = l->chaos;
    k->open--;
    k->report.open = k->open;
    script_drop(l->script);
    free(l);
}

static void on_done(void *user, bool whole)
{
    live *l = user;
    report *r = &l->chaos->report;
    if (whole && l->good) {
        r->answered++;
        tally_add(&r->answered_models, l->model);
    }
    live_end(l);
}

static void answer_call(chaos *k, call *c, ask *q)
{
    const fault *f = NULL;
    live *l = calloc(1, sizeof *l);
    if (!l) {
        call_abort(c);
        return;
    }
    k->number++;
    *l = (live){
        .chaos = k, .script = script_hold(k->script), .number = k->number, .began = now_of(k), .model = q->model};
    plan p = make_plan(k, q, &f, &l->good, c->arena);
    count_call(k, q, &p, f, c->arena);
    keep_add(k->keep, (size_t)k->script->keep, k->number, q, key_label(k->script, q->key), c->body,
             p.no_head ? 0 : p.a.status);
    say_call(k, c, q, &p, f, c->arena);
    c->user = l;
    daruma_str keepalive = q->wire == WIRE_MESSAGES ? S("event: ping\ndata: {\"type\": \"ping\"}\n\n")
                           : q->array               ? S("\n")
                                                    : S(": keep-alive\n\n");
    if (!play_start(k->loop, c, &p, keepalive, on_done, l, &l->play)) {
        live_end(l);
        call_abort(c);
    }
}

/* ---- /chaos/... ---- */

static void reply(call *c, int status, const daruma_buf *body)
{
    answer x = answer_json(status, body);
    call_head(c, x.status, x.headers, x.nheaders, (int64_t)x.body.n);
    call_write(c, x.body);
    call_end(c);
}

static void model_anew(script_model *m)
{
    m->given = 0;
    loop_anew(&m->loop);
}

static void reset(chaos *k)
{
    report_done(&k->report);
    report_init(&k->report, now_of(k));
    k->report.open = k->report.most_open = k->open;
    k->dice = (uint64_t)k->script->seed;
    for (size_t i = 0; i < k->script->nfaults; i++)
        k->script->faults[i].met = k->script->faults[i].hit = 0;
    for (size_t i = 0; i < k->script->nmodels; i++)
        model_anew(&k->script->models[i]);
    keep_clear(k->keep);
}

static int take_script(chaos *k, daruma_str yaml, daruma_buf *b)
{
    conf_mistakes m;
    script *s = script_read(yaml, NULL, &m);
    if (!s) {
        char text[1024];
        daruma_buf first = buf_over(text, sizeof text);
        conf_mistake_say(&m.at[0], &first);
        BUF_SAY(b, "{\"error\":{\"message\":", buf_quoted(buf_str(&first)));
        buf_printf(b, ",\"line\":%d,\"column\":%d},\"errors\":", m.at[0].line, m.at[0].column);
        conf_mistakes_json(&m, b);
        BUF_LIT(b, "}");
        return 400;
    }
    script_inherit(s, k->script);
    script_drop(k->script);
    k->script = s;
    if (s->says_seed)
        k->dice = (uint64_t)s->seed;
    buf_printf(b, "{\"ok\":true,\"faults\":%zu}", s->nfaults);
    return 200;
}

/* The body of a request as it came. */
static void reply_kept(chaos *k, call *c, daruma_str number)
{
    static const daruma_header type = {LIT("content-type"), LIT("application/octet-stream")};
    daruma_buf b = buf_in(c->arena);
    daruma_str body;
    int64_t n;
    if (str_int(number, &n) && keep_find(k->keep, (uint64_t)n, &body)) {
        call_head(c, 200, &type, 1, (int64_t)body.n);
        call_write(c, body);
        call_end(c);
        return;
    }
    BUF_LIT(
        &b,
        "{\"error\":{\"message\":\"no such request is kept; a script says `keep: 100` to keep the newest hundred\"}}");
    reply(c, 404, &b);
}

static void control(chaos *k, call *c)
{
    daruma_buf b = buf_in(c->arena);
    daruma_str what = str_from(c->head.path, 7); /* behind "/chaos/" */
    bool post = str_eq(c->head.method, S("POST"));
    int status = 200;
    if (str_eq(what, S("report")) && !post) {
        report_json(&k->report, now_of(k), &b);
    } else if (str_eq(what, S("requests")) && !post) {
        keep_json(k->keep, &b);
    } else if (str_starts(what, S("requests/")) && !post) {
        reply_kept(k, c, str_from(what, 9));
        return;
    } else if (str_eq(what, S("reset")) && post) {
        reset(k);
        BUF_LIT(&b, "{\"ok\":true}");
    } else if (str_eq(what, S("mark")) && post) {
        k->report.mark = now_of(k);
        k->report.noticed_ms = -1;
        BUF_LIT(&b, "{\"ok\":true}");
    } else if (str_eq(what, S("script")) && post) {
        status = take_script(k, c->body, &b);
    } else if (str_eq(what, S("finish")) && post) {
        bool held = report_judge(&k->report, k->script, false, &b);
        reply(c, 200, &b);
        if (k->settings.finished)
            k->settings.finished(held, k->settings.user);
        return;
    } else {
        status = 404;
        BUF_LIT(&b, "{\"error\":{\"message\":\"there are GET /chaos/report and /chaos/requests, and POST /chaos/reset, "
                    "/chaos/mark, "
                    "/chaos/script and /chaos/finish\"}}");
    }
    reply(c, status, &b);
}

/* ---- the server's callbacks ---- */

static void on_request(call *c, void *user)
{
    chaos *k = user;
    ask q = ask_read(&c->head, c->body, c->arena);
    if (q.route == ROUTE_CONTROL)
        control(k, c);
    else
        answer_call(k, c, &q);
}

static bool on_connect(void *user)
{
    chaos *k = user;
    for (size_t i = 0; i < k->script->nfaults; i++) {
        fault *f = &k->script->faults[i];
        if (!refuses(f) || !fault_hits(k, f))
            continue;
        tally_add(&k->report.faults, str_of(f->kinds[0]->name));
        if (k->settings.say)
            k->settings.say(S("a connection was reset as soon as it was made"), k->settings.user);
        return false;
    }
    return true;
}

static void on_gone(call *c, void *user)
{
    chaos *k = user;
    live *l = c->user;
    report *r = &k->report;
    if (!l)
        return;
    daruma_ms now = now_of(k);
    r->aborted++;
    r->aborted_after_ms = now - l->began;
    if (r->mark >= 0) {
        r->noticed_ms = now - r->mark;
        r->mark = -1;
    }
    if (k->settings.say) {
        daruma_buf b = buf_in(c->arena);
        buf_printf(&b, "#%llu the client left after ", (unsigned long long)l->number);
        buf_duration(&b, now - l->began);
        chaos_say(k, &b);
    }
    play_gone(l->play);
    live_end(l);
}

static void on_drained(call *c, void *user)
{
    (void)user;
    live *l = c->user;
    if (l)
        play_drained(l->play);
}

/* ---- life ---- */

chaos *chaos_start(uv_loop_t *loop, const chaos_settings *s, script *script_, char why[256])
{
    static const server_ops ops = {.request = on_request, .gone = on_gone, .drained = on_drained, .admit = on_connect};
    static const server_limits limits = {.body_bytes = BODY_BYTES_MAX, .connections = CONNECTIONS_MAX};
    chaos *k = calloc(1, sizeof *k);
    if (k && (!(k->stored = stored_new()) || !(k->keep = keep_new())))
        snprintf(why, 256, "out of memory");
    if (!k || !k->stored || !k->keep || !(k->server = server_listen(loop, s->host, s->port, &limits, &ops, k, why))) {
        if (k) {
            stored_free(k->stored);
            keep_free(k->keep);
        }
        free(k);
        script_drop(script_);
        return NULL;
    }
    k->loop = loop;
    k->settings = *s;
    k->script = script_;
    k->dice = (uint64_t)script_->seed;
    report_init(&k->report, now_of(k));
    return k;
}

int chaos_port(const chaos *k)
{
    return server_port(k->server);
}

bool chaos_finish(const chaos *k, daruma_buf *text)
{
    report_text(&k->report, now_of(k), text);
    return report_judge(&k->report, k->script, true, text);
}

void chaos_close(chaos *k)
{
    server_close(k->server);
    script_drop(k->script);
    report_done(&k->report);
    stored_free(k->stored);
    keep_free(k->keep);
    free(k);
}
