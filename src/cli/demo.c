/* demo.c - `daruma demo`: a gateway and a faulty provider in one process. Each model misbehaves in its own way: every
 * failure is shown once without daruma and once through it, and then they stay for requests of the reader's own. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "chaos/chaos.h"
#include "cli/cli.h"
#include "gateway/gateway.h"
#include "net/upstream.h"
#include "sys/sys.h"
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static const char faults[] =
    "models:\n"
    "  picky: { renamed: { max_tokens: max_completion_tokens } }\n"
    "  breaks-off: { continue: repeat 12 }\n"
    "  forgetful: {}\n"
    "  slow-down: {}\n"
    "  busy: {}\n"
    "  flaky: {}\n"
    "  no-credit: {}\n"
    "  down: {}\n"
    "  current: {}\n"
    "faults:\n" /* what is shown fails for sure, and so does the reader's own first request */
    "  - { model: slow-down, times: 2, kind: rate_limit, headers: { retry-after: \"1\" } }\n"
    "  - { model: busy, times: 3, kind: [overloaded, server_error, html] }\n"
    "  - { model: flaky, times: 3, kind: [reset, empty, truncated_json] }\n"
    "  - { model: slow-down, skip: 1, times: 1, kind: rate_limit, headers: { retry-after: \"1\" } }\n"
    "  - { model: busy, skip: 1, times: 2, kind: [overloaded, server_error, html] }\n"
    "  - { model: flaky, skip: 1, times: 2, kind: [reset, empty, truncated_json] }\n"
    "  - { model: breaks-off, asks: turn, cut: { within: text, after_pieces: 3 } }\n"
    "  - { model: slow-down, rate: 0.4, kind: rate_limit, headers: { retry-after: \"1\" } }\n"
    "  - { model: busy, rate: 0.6, kind: [overloaded, server_error, html] }\n"
    "  - { model: flaky, rate: 0.4, kind: [reset, empty, truncated_json] }\n"
    "  - { model: no-credit, key: demo-key-one, kind: quota }\n"
    "  - { model: retired, kind: model_not_found }\n"
    "  - { model: down, kind: server_error }\n";

static const char config_form[] =
    "    url: http://127.0.0.1:%d/v1\n"
    "    keys: [ { value: demo-key-one, account: a }, { value: demo-key-two, account: b } ]\n"
    "  - { name: demo-claude, dialect: anthropic, url: \"http://127.0.0.1:%d\", keys: [ demo-key-one, demo-key-two ] "
    "}\n"
    "  - { name: demo-gemini, dialect: gemini, url: \"http://127.0.0.1:%d\", keys: [ demo-key-one, demo-key-two ] }\n"
    "timeouts: { connect: 2s, first_byte: 5s, idle: 5s, total: 60s }\n"
    "recovery: { patience: 5s, kinds: { overloaded: { delay: 300ms }, server_error: { delay: 300ms }, network: { "
    "delay: 300ms } } }\n"
    "events: { stderr: true }\n"
    "models:\n"
    "  - { name: retired, targets: [ demo/retired, demo/current ] }\n";

/* Whoever has a key can ask the real models, too: what is not of the demonstration goes to them. */
static const struct {
    const char *key, *provider;
} real[] = {
    {"OPENAI_API_KEY",
     "  - { name: openai, dialect: openai, url: \"https://api.openai.com/v1\", keys: [ \"${OPENAI_API_KEY}\" ] }\n"},
    {"ANTHROPIC_API_KEY", "  - { name: anthropic, dialect: anthropic, url: \"https://api.anthropic.com\", keys: [ "
                          "\"${ANTHROPIC_API_KEY}\" ] }\n"},
};

#define SAY ",\"messages\":[{\"role\":\"user\",\"content\":\"say fall seven times, rise eight\"}]"

/* The models: how each fails, and what is done about it; what stands in a request behind the model; and what a request
 * has to have so that it fails, NULL: nothing. */
static const struct {
    const char *model, *what, *rest, *only;
} tries[] = {
    {"slow-down", "rate limited four times in ten: waits as advised, or takes the other key", SAY, NULL},
    {"busy", "overloaded, internal errors, HTML pages: waits and tries again", SAY, NULL},
    {"flaky", "resets, empty answers, broken JSON: never reach you", SAY, NULL},
    {"no-credit", "the first account is empty: the second one answers", SAY, NULL},
    {"retired", "the model is gone: the next one in the list answers", SAY, NULL},
    {"picky", "does not take max_tokens: it is renamed, and known from then on", SAY ",\"max_tokens\":50",
     "only with \"max_tokens\""},
    {"breaks-off", "its streams are cut: they go on where they broke off", SAY ",\"stream\":true",
     "only with \"stream\": true"},
    {"forgetful", "a tool call has lost its result: it gets a neutral one",
     ",\"messages\":[{\"role\":\"user\",\"content\":\"go\"},{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c1\","
     "\"type\":\"function\",\"function\":{\"name\":\"look\",\"arguments\":\"{}\"}}]},"
     "{\"role\":\"user\",\"content\":\"say fall seven times, rise eight\"}]",
     "only with a tool call that has no result"},
    {"down", "nothing helps: an honest error, and what to do about it", SAY, NULL},
};

enum {
    SHOW_TOTAL_MS = 30000,       /* no request of the demonstration takes longer */
    SHOW_ROOM_BYTES = 256 << 10, /* for one request and its answer */
    SHOW_TEXT_BYTES = 110        /* of an error that a bare client gets: a line */
};

typedef struct demo {
    gateway *g;
    chaos *c;
    uv_loop_t *loop;
    uv_signal_t quit, term;
    uv_timer_t over; /* the last answer came: outside of its callback the show may be closed */
    bool stopping, once, keyed, colour;
    upstream *up; /* of the show; NULL: there is none */
    fetch *f;     /* the request under way */
    size_t i;     /* the model at hand */
    bool through; /* through daruma; else a bare client asks the provider */
    url to;
    daruma_header fields[2];
    uint64_t began;
    int status;
    size_t answered[2]; /* requests of the bare client, and those through daruma */
    daruma_str outcome, remedies, attempts;
    daruma_buf body;
    daruma_arena room;
    char memory[SHOW_ROOM_BYTES];
} demo;

static void next(demo *d);

static const char *paint(const demo *d, const char *code)
{
    return d->colour ? code : "";
}

static void end(demo *d)
{
    uv_close((uv_handle_t *)&d->quit, NULL);
    uv_close((uv_handle_t *)&d->term, NULL);
    uv_close((uv_handle_t *)&d->over, NULL);
    if (d->f)
        fetch_cancel(d->f);
    if (d->up)
        upstream_close(d->up);
    gateway_close(d->g);
    chaos_close(d->c);
}

static void put_summary(const demo *d, FILE *to, const char *before, const char *behind)
{
    char text[2048];
    daruma_buf b = buf_over(text, sizeof text);
    gateway_summary(d->g, &b);
    fprintf(to, "%s" STR_FMT "%s", before, STR_ARG(buf_str(&b)), behind);
    fflush(to);
}

static void stop(uv_signal_t *h, int signum)
{
    demo *d = h->data;
    (void)signum;
    if (d->stopping)
        return;
    d->stopping = true;
    put_summary(d, stderr, "\n", "");
    end(d);
}

/* What the reader can try. */
static void invite(const demo *d)
{
    int port = gateway_port(d->g);
    printf("Now yours, in another terminal; the models go on failing:\n\n"
           "  curl -sN http://127.0.0.1:%d/v1/chat/completions -H 'content-type: application/json' \\\n"
           "    -d '{\"model\":\"busy\"%s}'\n\n"
           "Models:",
           port, SAY);
    for (size_t i = 0; i < COUNT(tries); i++)
        printf(tries[i].only ? " %s (%s)" : " %s", tries[i].model, tries[i].only);
    printf("%s\nAny SDK or agent: OPENAI_BASE_URL=http://127.0.0.1:%d/v1  ANTHROPIC_BASE_URL=http://127.0.0.1:%d  "
           "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:%d\n"
           "To look at: http://127.0.0.1:%d/daruma/     Ctrl-C stops.\n\n",
           d->keyed ? "; others go to the real providers, with the keys of this environment" : "", port, port, port,
           port);
    fflush(stdout);
}

static void on_over(uv_timer_t *t)
{
    demo *d = t->data;
    put_summary(d, stdout, "", "\n");
    if (d->once)
        end(d);
    else
        invite(d);
}

/* ---- what came ---- */

/* The words of a stream; `*whole`: its end was seen. */
static daruma_str stream_text(daruma_str body, daruma_arena *a, bool *whole)
{
    daruma_buf b = buf_in(a);
    while (body.n) {
        daruma_str line = str_trim(str_cut(&body, '\n'));
        if (!str_starts(line, S("data:")))
            continue;
        daruma_str data = str_trim(str_from(line, 5));
        *whole |= str_eq(data, S("[DONE]"));
        buf_put(&b, json_text(json_path(data, "choices.0.delta.content"), a));
    }
    return buf_str(&b);
}

static bool is_stream(const demo *d)
{
    daruma_str body = str_trim(buf_str(&d->body));
    return str_starts(body, S("data:")) || str_starts(body, S(":"));
}

/* What somebody reads of an answer: the model's words, or those of the error. */
static daruma_str text_of(demo *d, bool *whole)
{
    daruma_str body = str_trim(buf_str(&d->body));
    *whole = false;
    if (is_stream(d))
        return stream_text(body, &d->room, whole);
    daruma_str said = json_text(json_path(body, "choices.0.message.content"), &d->room);
    if (!said.n)
        said = json_text(json_path(body, "error.daruma.explanation"), &d->room);
    if (!said.n)
        said = json_text(json_path(body, "error.message"), &d->room);
    *whole = said.n > 0;
    return said.n ? said : body;
}

static void print_text(daruma_str text, size_t max)
{
    for (size_t i = 0; i < text.n && i < max; i++)
        putchar(text.p[i] == '\n' || text.p[i] == '\r' ? ' ' : text.p[i]);
    if (text.n > max)
        fputs("...", stdout);
}

/* `broke`: how the connection ended; NULL: well. */
static void report(demo *d, const char *broke)
{
    bool whole;
    daruma_str text = text_of(d, &whole);
    bool good = d->status == 200 && whole && !broke;
    d->answered[d->through] += good;
    printf("  %s%s%s ", paint(d, good ? "\033[32m" : "\033[31m"), d->through ? "through daruma" : "a bare client ",
           paint(d, "\033[0m"));
    if (d->status)
        printf("%d after %llu ms", d->status, (unsigned long long)(uv_now(d->loop) - d->began));
    else
        fputs("no answer", stdout);
    if (d->outcome.n && !is_stream(d)) /* the head of a stream went out before the stream failed */
        printf(", " STR_FMT " (" STR_FMT "), calls: " STR_FMT, STR_ARG(d->outcome), STR_ARG(d->remedies),
               STR_ARG(d->attempts));
    if (broke)
        printf(", then %s", broke);
    else if (d->status == 200 && !good)
        fputs(", but no whole answer", stdout);
    fputs(": ", stdout);
    print_text(text, d->through ? SHOW_ROOM_BYTES : SHOW_TEXT_BYTES);
    fputs("\n", stdout);
    if (d->through)
        fputs("\n", stdout);
    fflush(stdout);
}

static void on_head(fetch *f, const http_head *h, void *user)
{
    demo *d = user;
    (void)f;
    d->status = h->status;
    d->outcome = arena_copy(&d->room, http_header(h, S("x-daruma-outcome")));
    d->remedies = arena_copy(&d->room, http_header(h, S("x-daruma-remedies")));
    d->attempts = arena_copy(&d->room, http_header(h, S("x-daruma-attempts")));
}

static void on_body(fetch *f, daruma_str bytes, void *user)
{
    (void)f;
    buf_put(&((demo *)user)->body, bytes);
}

static void over(demo *d, const char *broke)
{
    d->f = NULL;
    report(d, broke);
    d->i += d->through;
    d->through = !d->through;
    next(d);
}

static void on_end(fetch *f, void *user)
{
    (void)f;
    over(user, NULL);
}

static void on_fail(fetch *f, daruma_net net, daruma_phase phase, const char *why, void *user)
{
    (void)f, (void)net, (void)phase;
    over(user, why);
}

/* ---- asking ---- */

static void send_next(demo *d)
{
    static const fetch_ops ops = {.head = on_head, .body = on_body, .end = on_end, .fail = on_fail};
    d->room = arena_over(d->memory, sizeof d->memory);
    daruma_buf at = buf_in(&d->room), body = buf_in(&d->room);
    const char *why = NULL;
    buf_printf(&at, "http://127.0.0.1:%d", d->through ? gateway_port(d->g) : chaos_port(d->c));
    buf_printf(&body, "{\"model\":\"%s\"%s}", tries[d->i].model, tries[d->i].rest);
    d->fields[0] = (daruma_header){S("content-type"), S("application/json")};
    d->fields[1] = (daruma_header){S("authorization"), S("Bearer demo-key-one")};
    d->began = uv_now(d->loop);
    d->status = 0;
    d->outcome = d->remedies = d->attempts = (daruma_str){0};
    d->body = buf_in(&d->room);
    if (!url_parse(buf_str(&at), &d->room, &d->to, &why)) {
        over(d, why);
        return;
    }
    fetch_request q = {.to = &d->to,
                       .method = S("POST"),
                       .target = S("/v1/chat/completions"),
                       .headers = d->fields,
                       .nheaders = 2,
                       .body = {buf_str(&body)},
                       .has_body = true,
                       .fresh = true,
                       .clocks = {2000, 0, 0, SHOW_TOTAL_MS}};
    d->f = fetch_start(d->up, &q, &ops, d);
    if (!d->f)
        over(d, "there is no memory for a call");
}

static void next(demo *d)
{
    if (d->i < COUNT(tries)) {
        if (!d->through) {
            printf("%s%zu of %zu  %s%s: %s\n", paint(d, "\033[1m"), d->i + 1, COUNT(tries), tries[d->i].model,
                   paint(d, "\033[0m"), tries[d->i].what);
            fflush(stdout);
        }
        send_next(d);
        return;
    }
    printf("%sA bare client got an answer to %zu of %zu requests; through daruma %zu were answered.%s\n",
           paint(d, "\033[1m"), d->answered[0], COUNT(tries), d->answered[1], paint(d, "\033[0m"));
    fflush(stdout);
    uv_timer_start(&d->over, on_over, 0, 0);
}

static bool start_chaos(demo *d)
{
    char why[256];
    conf_mistakes m;
    script *s = script_read(S(faults), NULL, &m);
    chaos_settings settings = {.host = "127.0.0.1"};
    if (!s)
        return cli_say(false, "demo", "%s", m.at[0].what);
    d->c = chaos_start(d->loop, &settings, s, why);
    if (!d->c)
        fprintf(stderr, "daruma demo: %s\n", why);
    return d->c != NULL;
}

static bool start_gateway(demo *d, const char *listen)
{
    static char text[4096]; /* outlives the gateway */
    static char room[CLI_WHY_BYTES];
    daruma_buf why = buf_over(room, sizeof room), b = buf_over(text, sizeof text - 1);
    int port = chaos_port(d->c);
    BUF_LIT(&b, "providers:\n");
    for (size_t i = 0; d->keyed && i < COUNT(real); i++)
        if (sys_env(real[i].key).n)
            buf_putz(&b, real[i].provider);
    BUF_LIT(&b, "  - name: demo\n    dialect: openai\n");
    buf_printf(&b, config_form, port, port, port);
    for (size_t i = 0; i < COUNT(tries); i++) /* those that have no second one */
        if (strcmp(tries[i].model, "retired") != 0)
            buf_printf(&b, "  - { name: %s, targets: [ demo/%s ] }\n", tries[i].model, tries[i].model);
    text[b.n] = 0;
    d->g = gateway_start(d->loop, &(gateway_options){.config_text = text, .listen = listen}, &why);
    if (!d->g) {
        cli_refused("demo", &why);
        fputs("Another address: daruma demo --listen 127.0.0.1:0\n", stderr);
    }
    return d->g != NULL;
}

static void start_show(demo *d)
{
    char why[256];
    d->up = upstream_new(d->loop, &(upstream_settings){0}, why);
    printf("%sdaruma%s listens on http://127.0.0.1:%d; behind it a provider misbehaves on purpose.\n"
           "Each failure comes once to a bare client, which asks once, and once through daruma.\n\n",
           paint(d, "\033[1m"), paint(d, "\033[0m"), gateway_port(d->g));
    fflush(stdout);
    if (d->up)
        next(d);
    else
        invite(d);
}

int cli_demo(int argc, char **argv)
{
    const char *listen = NULL;
    bool chaotic = false;
    static demo d;
    const cli_option options[] = {
        CLI_VALUE("--listen", "HOST:PORT", &listen, "where the gateway listens; default 127.0.0.1:4141"),
        CLI_SWITCH("--once", &d.once, "ends when all failures were shown"),
        CLI_SWITCH("--chaos", &chaotic, "the faulty provider alone, even if a key is set"),
        {0}};
    char about[2048];
    daruma_buf b = buf_over(about, sizeof about - 1);
    BUF_LIT(&b,
            "Starts the gateway and a faulty provider together, sends a request through each failure, as a bare client "
            "and\nthrough daruma, and prints both answers and what was done; then it stays for your own requests. "
            "With\nOPENAI_API_KEY or ANTHROPIC_API_KEY set, models that are not of the demonstration go to the real "
            "providers.\n\nModels\n");
    for (size_t i = 0; i < COUNT(tries); i++)
        buf_printf(&b, "  %-11s %s%s%s\n", tries[i].model, tries[i].what, tries[i].only ? "; " : "",
                   tries[i].only ? tries[i].only : "");
    about[b.n ? b.n - 1 : 0] = 0;
    int rest = cli_options(argc, argv, options, "demo [--listen HOST:PORT] [--once] [--chaos]", about);
    if (rest < 0)
        return rest == -2 ? 0 : 2;
    if (!cli_no_more(argc, argv, rest))
        return 2;
    d.keyed = !chaotic && (sys_env("OPENAI_API_KEY").n || sys_env("ANTHROPIC_API_KEY").n);
    d.colour = isatty(STDOUT_FILENO) && !sys_env("NO_COLOR").n;
    d.loop = uv_default_loop();
    sys_ignore_sigpipe();
    cli_keep_off_proxies(); /* the provider that misbehaves is on this machine, too */
    if (!start_chaos(&d) || !start_gateway(&d, listen))
        return 2;
    uv_signal_init(d.loop, &d.quit);
    uv_signal_init(d.loop, &d.term);
    uv_timer_init(d.loop, &d.over);
    d.quit.data = d.term.data = d.over.data = &d;
    uv_signal_start(&d.quit, stop, SIGINT);
    uv_signal_start(&d.term, stop, SIGTERM);
    start_show(&d);
    uv_run(d.loop, UV_RUN_DEFAULT);
    return 0;
}
