/* demo.c - `daruma demo`: a gateway and a faulty provider in one process, with commands to try. Each model
 * misbehaves in its own way; what the gateway does about it is printed as it happens. */
#include "base/buf.h"
#include "base/str.h"
#include "chaos/chaos.h"
#include "cli/cli.h"
#include "gateway/gateway.h"
#include "sys/sys.h"
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static const char faults[] = "models:\n"
                             "  picky: { renamed: { max_tokens: max_completion_tokens } }\n"
                             "  breaks-off: { continue: repeat 12 }\n"
                             "  forgetful: {}\n"
                             "  slow-down: {}\n"
                             "  busy: {}\n"
                             "  flaky: {}\n"
                             "  no-credit: {}\n"
                             "  down: {}\n"
                             "  current: {}\n"
                             "faults:\n"
                             "  - { model: breaks-off, asks: turn, cut: { within: text, after_pieces: 3 } }\n"
                             "  - { model: slow-down, rate: 0.4, kind: rate_limit, headers: { retry-after: \"1\" } }\n"
                             "  - { model: busy, rate: 0.6, kind: [overloaded, server_error, html] }\n"
                             "  - { model: flaky, rate: 0.6, kind: [reset, empty, truncated_json] }\n"
                             "  - { model: no-credit, key: demo-key-one, kind: quota }\n"
                             "  - { model: retired, kind: model_not_found }\n"
                             "  - { model: down, kind: server_error }\n";

static const char config_form[] =
    "providers:\n"
    "  - name: demo\n"
    "    dialect: openai\n"
    "    url: http://127.0.0.1:%d/v1\n"
    "    keys: [ { value: demo-key-one, account: a }, { value: demo-key-two, account: b } ]\n"
    "  - { name: demo-claude, dialect: anthropic, url: \"http://127.0.0.1:%d\", keys: [ demo-key-one, demo-key-two ] "
    "}\n"
    "  - { name: demo-gemini, dialect: gemini, url: \"http://127.0.0.1:%d\", keys: [ demo-key-one, demo-key-two ] }\n"
    "models:\n"
    "  - { name: retired, targets: [ demo/retired, demo/current ] }\n"
    "timeouts: { connect: 2s, first_byte: 5s, idle: 5s, total: 60s }\n"
    "recovery: { patience: 5s, kinds: { overloaded: { delay: 300ms }, server_error: { delay: 300ms }, network: { "
    "delay: 300ms } } }\n"
    "events: { stderr: true }\n";

#define SAY ",\"messages\":[{\"role\":\"user\",\"content\":\"say fall seven times, rise eight\"}]"

static const struct {
    const char *model, *what, *rest; /* rest: of the body; NULL: a sentence to say */
} tries[] = {
    {"slow-down", "rate limited four times in ten: waits as advised, or takes the other key", NULL},
    {"busy", "overloaded, internal errors, HTML pages: waits and tries again", NULL},
    {"flaky", "resets, empty answers, broken JSON: never reach you", NULL},
    {"no-credit", "the first account is empty: the second one answers", NULL},
    {"retired", "the model is gone: the next one in the list answers", NULL},
    {"picky", "does not take max_tokens: it is renamed, and known from then on", SAY ",\"max_tokens\":50"},
    {"breaks-off", "its streams are cut: they go on where they broke off", SAY ",\"stream\":true"},
    {"forgetful", "a tool call has lost its result: it gets a neutral one",
     ",\"messages\":[{\"role\":\"user\",\"content\":\"go\"},{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c1\","
     "\"type\":\"function\",\"function\":{\"name\":\"look\",\"arguments\":\"{}\"}}]},"
     "{\"role\":\"user\",\"content\":\"say fall seven times, rise eight\"}]"},
    {"down", "nothing helps: an honest error, and what to do about it", NULL},
};

typedef struct demo {
    gateway *g;
    chaos *c;
    uv_signal_t quit, term;
    bool stopping;
} demo;

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
    uv_close((uv_handle_t *)&d->quit, NULL);
    uv_close((uv_handle_t *)&d->term, NULL);
    gateway_close(d->g);
    chaos_close(d->c);
}

static void greet(int port)
{
    bool colour = isatty(STDOUT_FILENO) && !sys_env("NO_COLOR").n;
    const char *bold = colour ? "\033[1m" : "", *plain = colour ? "\033[0m" : "";
    printf("%sdaruma%s listens on http://127.0.0.1:%d; behind it a provider misbehaves on purpose.\n"
           "Try these in another terminal, and watch here what is done about it:\n\n",
           bold, plain, port);
    for (size_t i = 0; i < COUNT(tries); i++)
        printf("  # %s\n  %scurl -sN http://127.0.0.1:%d/v1/chat/completions -H 'content-type: application/json' \\\n"
               "    -d '{\"model\":\"%s\"%s}'%s\n\n",
               tries[i].what, bold, port, tries[i].model, tries[i].rest ? tries[i].rest : SAY, plain);
    printf("Any SDK or agent: OPENAI_BASE_URL=http://127.0.0.1:%d/v1  ANTHROPIC_BASE_URL=http://127.0.0.1:%d  "
           "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:%d\n"
           "State: curl -s http://127.0.0.1:%d/daruma/status     Ctrl-C stops.\n\n",
           port, port, port, port);
    fflush(stdout);
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
    static char text[2048]; /* outlives the gateway */
    static char room[CLI_WHY_BYTES];
    daruma_buf why = buf_over(room, sizeof room);
    int port = chaos_port(d->c);
    snprintf(text, sizeof text, config_form, port, port, port);
    d->g = gateway_start(loop, &(gateway_options){.config_text = text, .listen = listen}, &why);
    if (!d->g) {
        cli_refused("demo", &why);
        fputs("Another address: daruma demo --listen 127.0.0.1:0\n", stderr);
    }
    return d->g != NULL;
}

/* Whoever has a key wants the real thing. */
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
        {"--chaos", NULL, NULL, &chaotic, "the faulty provider even if a key is set"},
        {0}};
    int rest = cli_options(
        argc, argv, options, "demo [--listen HOST:PORT] [--chaos]",
        "Starts the gateway and a faulty provider together and prints commands to try. With OPENAI_API_KEY\n"
        "or ANTHROPIC_API_KEY set it starts the gateway alone, in front of the real providers.");
    if (rest < 0)
        return rest == -2 ? 0 : 2;
    if (!cli_no_more(argc, argv, rest))
        return 2;
    if (has_key() && !chaotic) {
        char *serve[] = {argv[0], (char[]){"--listen"}, (char *)(uintptr_t)listen, NULL};
        return cli_serve(listen ? 3 : 1, serve);
    }
    uv_loop_t *loop = uv_default_loop();
    sys_ignore_sigpipe();
    if (!start_chaos(&d, loop) || !start_gateway(&d, loop, listen))
        return 2;
    uv_signal_init(loop, &d.quit);
    uv_signal_init(loop, &d.term);
    d.quit.data = d.term.data = &d;
    uv_signal_start(&d.quit, stop, SIGINT);
    uv_signal_start(&d.term, stop, SIGTERM);
    greet(gateway_port(d.g));
    uv_run(loop, UV_RUN_DEFAULT);
    return 0;
}
