/* demo.c - `daruma demo`: a gateway and a faulty provider in one process. Each model misbehaves in its own way: every
 * failure is shown once without daruma and once through it, and then they stay for requests of the reader's own. */
#include "base/buf.h"
#include "base/str.h"
#include "chaos/chaos.h"
#include "cli/cli.h"
#include "cli/demo_show.h"
#include "gateway/gateway.h"
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

static const demo_try tries[] = {
    {"slow-down", "rate limited four times in ten: waits as advised, or takes the other key", SAY},
    {"busy", "overloaded, internal errors, HTML pages: waits and tries again", SAY},
    {"flaky", "resets, empty answers, broken JSON: never reach you", SAY},
    {"no-credit", "the first account is empty: the second one answers", SAY},
    {"retired", "the model is gone: the next one in the list answers", SAY},
    {"picky", "does not take max_tokens: it is renamed, and known from then on", SAY ",\"max_tokens\":50"},
    {"breaks-off", "its streams are cut: they go on where they broke off", SAY ",\"stream\":true"},
    {"forgetful", "a tool call has lost its result: it gets a neutral one",
     ",\"messages\":[{\"role\":\"user\",\"content\":\"go\"},{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c1\","
     "\"type\":\"function\",\"function\":{\"name\":\"look\",\"arguments\":\"{}\"}}]},"
     "{\"role\":\"user\",\"content\":\"say fall seven times, rise eight\"}]"},
    {"down", "nothing helps: an honest error, and what to do about it", SAY},
};

typedef struct demo {
    gateway *g;
    chaos *c;
    demo_show *show;
    uv_signal_t quit, term;
    uv_timer_t over; /* the last answer came: outside of its callback the show may be closed */
    bool stopping, once, keyed;
} demo;

static void end(demo *d)
{
    uv_close((uv_handle_t *)&d->quit, NULL);
    uv_close((uv_handle_t *)&d->term, NULL);
    uv_close((uv_handle_t *)&d->over, NULL);
    demo_show_close(d->show);
    gateway_close(d->g);
    chaos_close(d->c);
}

static void stop(uv_signal_t *h, int signum)
{
    demo *d = h->data;
    char text[2048];
    daruma_buf b = buf_over(text, sizeof text);
    (void)signum;
    if (d->stopping)
        return;
    d->stopping = true;
    gateway_summary(d->g, &b);
    fprintf(stderr, "\n" STR_FMT, STR_ARG(buf_str(&b)));
    end(d);
}

static void greet(int port)
{
    bool colour = isatty(STDOUT_FILENO) && !sys_env("NO_COLOR").n;
    const char *bold = colour ? "\033[1m" : "", *plain = colour ? "\033[0m" : "";
    printf("%sdaruma%s listens on http://127.0.0.1:%d; behind it a provider misbehaves on purpose.\n"
           "Each failure comes once to a bare client, which asks once, and once through daruma.\n\n",
           bold, plain, port);
    fflush(stdout);
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
        printf(" %s", tries[i].model);
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
    char text[2048];
    daruma_buf b = buf_over(text, sizeof text);
    gateway_summary(d->g, &b);
    printf(STR_FMT "\n", STR_ARG(buf_str(&b)));
    fflush(stdout);
    if (d->once)
        end(d);
    else
        invite(d);
}

static void shown(void *user)
{
    uv_timer_start(&((demo *)user)->over, on_over, 0, 0);
}

static bool start_chaos(demo *d, uv_loop_t *loop)
{
    char why[256];
    conf_mistakes m;
    script *s = script_read(S(faults), NULL, &m);
    chaos_settings settings = {.host = "127.0.0.1"};
    if (!s) {
        fprintf(stderr, "daruma demo: %s\n", m.at[0].what);
        return false;
    }
    d->c = chaos_start(loop, &settings, s, why);
    if (!d->c)
        fprintf(stderr, "daruma demo: %s\n", why);
    return d->c != NULL;
}

static bool start_gateway(demo *d, uv_loop_t *loop, const char *listen)
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
    d->g = gateway_start(loop, &(gateway_options){.config_text = text, .listen = listen}, &why);
    if (!d->g) {
        cli_refused("demo", &why);
        fputs("Another address: daruma demo --listen 127.0.0.1:0\n", stderr);
    }
    return d->g != NULL;
}

/* Whoever has a key may want the real thing, too. */
static bool has_key(void)
{
    const char *openai = getenv("OPENAI_API_KEY"), *anthropic = getenv("ANTHROPIC_API_KEY");
    return (openai && *openai) || (anthropic && *anthropic);
}

int cli_demo(int argc, char **argv)
{
    const char *listen = NULL;
    bool chaotic = false;
    demo d = {0};
    const cli_option options[] = {
        {"--listen", "HOST:PORT", &listen, NULL, "where the gateway listens; default 127.0.0.1:4141"},
        {"--once", NULL, NULL, &d.once, "ends when all failures were shown"},
        {"--chaos", NULL, NULL, &chaotic, "the faulty provider alone, even if a key is set"},
        {0}};
    int rest = cli_options(
        argc, argv, options, "demo [--listen HOST:PORT] [--once] [--chaos]",
        "Starts the gateway and a faulty provider together, sends a request through each failure, as a bare client "
        "and\n"
        "through daruma, and prints both answers and what was done; then it stays for your own requests. With\n"
        "OPENAI_API_KEY or ANTHROPIC_API_KEY set, models that are not of the demonstration go to the real providers.");
    if (rest < 0)
        return rest == -2 ? 0 : 2;
    if (!cli_no_more(argc, argv, rest))
        return 2;
    d.keyed = has_key() && !chaotic;
    uv_loop_t *loop = uv_default_loop();
    sys_ignore_sigpipe();
    if (!start_chaos(&d, loop) || !start_gateway(&d, loop, listen))
        return 2;
    uv_signal_init(loop, &d.quit);
    uv_signal_init(loop, &d.term);
    uv_timer_init(loop, &d.over);
    d.quit.data = d.term.data = d.over.data = &d;
    uv_signal_start(&d.quit, stop, SIGINT);
    uv_signal_start(&d.term, stop, SIGTERM);
    greet(gateway_port(d.g));
    d.show = demo_show_start(loop, chaos_port(d.c), gateway_port(d.g), tries, COUNT(tries), shown, &d);
    if (!d.show)
        invite(&d);
    uv_run(loop, UV_RUN_DEFAULT);
    return 0;
}
