/* with.c - `daruma with -- COMMAND...`: a gateway for one command. Sets the base URLs that SDKs and agents read,
 * runs the command, and says at the end what was recovered. */
#include "base/buf.h"
#include "base/str.h"
#include "cli/cli.h"
#include "gateway/gateway.h"
#include "sys/sys.h"
#include <signal.h>
#include <stdlib.h>

/* Variables that SDKs and agents read; some want the /v1, some do not. */
static const struct {
    const char *name, *path, *upstream; /* upstream: what a value that is set already becomes */
} variables[] = {
    {"OPENAI_BASE_URL", "/v1", "OPENAI_UPSTREAM_URL"},   {"OPENAI_API_BASE", "/v1", "OPENAI_UPSTREAM_URL"},
    {"OPENAI_HOST", "", "OPENAI_UPSTREAM_URL"},          {"ANTHROPIC_BASE_URL", "", "ANTHROPIC_UPSTREAM_URL"},
    {"ANTHROPIC_API_URL", "", "ANTHROPIC_UPSTREAM_URL"}, {"ANTHROPIC_API_BASE", "", "ANTHROPIC_UPSTREAM_URL"},
    {"ANTHROPIC_HOST", "", "ANTHROPIC_UPSTREAM_URL"},    {"GOOGLE_GEMINI_BASE_URL", "", "GEMINI_UPSTREAM_URL"},
};
enum { VARIABLES = COUNT(variables) };

enum { SIGNALS = 4 };

typedef struct running {
    gateway *g;
    uv_process_t child;
    uv_signal_t signals[SIGNALS];
    int code;
    bool gone;
} running;

static void child_gone(uv_process_t *p, int64_t status, int signum)
{
    running *r = p->data;
    char text[2048];
    daruma_buf b = buf_over(text, sizeof text);
    r->code = signum ? 128 + signum : (int)status;
    r->gone = true;
    gateway_summary(r->g, &b);
    fprintf(stderr, STR_FMT, STR_ARG(buf_str(&b)));
    if (!gateway_asked(r->g))
        fprintf(stderr,
                "daruma: if the command asked a model, it has the base URL from its own configuration or options, "
                "not from the environment (`daruma with --help` says which variables are set).\n");
    gateway_close(r->g); /* before signals end us again, and what it still holds */
    uv_close((uv_handle_t *)p, NULL);
    for (size_t i = 0; i < SIGNALS; i++)
        uv_close((uv_handle_t *)&r->signals[i], NULL);
}

/* Ctrl-C and Ctrl-\\ reach the command by themselves: we only must not die before it. */
static void on_interrupt(uv_signal_t *h, int signum)
{
    (void)h;
    (void)signum;
}

/* What ends us alone (a terminal that is closed ends both) is meant for the command. */
static void on_term(uv_signal_t *h, int signum)
{
    running *r = h->data;
    if (!r->gone)
        uv_process_kill(&r->child, signum);
}

/* What pointed at a provider before becomes where the gateway forwards to. Says which it took. */
static void keep_upstreams(bool taken[VARIABLES])
{
    for (size_t i = 0; i < VARIABLES; i++) {
        const char *was = getenv(variables[i].name);
        taken[i] = was && *was && !getenv(variables[i].upstream);
        if (taken[i])
            setenv(variables[i].upstream, was, 0);
    }
}

/* Why there is no gateway: in the words of a variable that the user has set, not of the one that it became. */
static void tell_unstarted(const daruma_buf *why, const bool taken[VARIABLES])
{
    cli_refused("with", why);
    for (size_t i = 0; i < VARIABLES; i++)
        if (taken[i] && str_find(buf_str(why), str_of(variables[i].upstream)) != STR_NONE)
            fprintf(stderr, "daruma with: it has the value that %s was set to\n", variables[i].name);
}

void cli_keep_off_proxies(void)
{
    const char *was = getenv("no_proxy") ? getenv("no_proxy") : getenv("NO_PROXY");
    char now[4096];
    int n = snprintf(now, sizeof now, "127.0.0.1,localhost%s%s", was && *was ? "," : "", was ? was : "");
    if (n < 0 || (size_t)n >= sizeof now)
        return;
    setenv("no_proxy", now, 1);
    setenv("NO_PROXY", now, 1);
}

static void point_here(int port)
{
    for (size_t i = 0; i < VARIABLES; i++) {
        char here[64];
        snprintf(here, sizeof here, "http://127.0.0.1:%d%s", port, variables[i].path);
        setenv(variables[i].name, here, 1);
        unsetenv(variables[i].upstream);
    }
    cli_keep_off_proxies();
}

static int spawn(running *r, uv_loop_t *loop, char **command)
{
    uv_stdio_container_t stdio[3];
    for (int i = 0; i < 3; i++)
        stdio[i] = (uv_stdio_container_t){.flags = UV_INHERIT_FD, .data.fd = i};
    uv_process_options_t o = {
        .file = command[0], .args = command, .stdio = stdio, .stdio_count = 3, .exit_cb = child_gone};
    r->child.data = r;
    return uv_spawn(loop, &r->child, &o);
}

/* The variables, some a line. */
static void put_variables(daruma_buf *out)
{
    for (size_t i = 0; i < VARIABLES; i++)
        buf_printf(out, "%s%s", i % 4 == 0 ? "\n  " : "  ", variables[i].name);
}

static void watch_signals(running *r, uv_loop_t *loop)
{
    static const int numbers[SIGNALS] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT};
    for (size_t i = 0; i < SIGNALS; i++) {
        uv_signal_init(loop, &r->signals[i]);
        r->signals[i].data = r;
        uv_signal_start(&r->signals[i], i < 2 ? on_term : on_interrupt, numbers[i]);
    }
}

int cli_with(int argc, char **argv)
{
    char about[1024];
    daruma_buf b = buf_over(about, sizeof about - 1);
    BUF_LIT(&b, "Starts a gateway for one command on a free port, points these variables at it, runs the command,\n"
                "and says on stderr what was recovered:\n");
    put_variables(&b);
    BUF_LIT(
        &b,
        "\n\nWithout --config the command's own keys are used, and what such a variable was set to before is where\n"
        "the gateway sends requests. The exit code is the command's; 127 when there is no such command, 126\n"
        "when it cannot be run, 2 when the gateway does not start.\n\n"
        "  daruma with -- python my_agent.py");
    about[b.n] = 0;
    const char *file = NULL;
    bool verbose = false;
    running r = {0};
    bool taken[VARIABLES];
    static char text[CLI_WHY_BYTES];
    daruma_buf why = buf_over(text, sizeof text);
    const cli_option options[] = {CLI_VALUE("--config", "FILE", &file, "YAML file; default: the clients' own keys"),
                                  CLI_SWITCH("--verbose", &verbose, "every step as a line on stderr"),
                                  {0}};
    int rest =
        cli_options_before(argc, argv, options, "with [--config FILE] [--verbose] -- COMMAND [ARGUMENT...]", about);
    if (rest < 0)
        return rest == -2 ? 0 : 2;
    if (rest >= argc)
        return cli_say(2, "with", "which command? daruma with -- COMMAND [ARGUMENT...]");
    uv_loop_t *loop = uv_default_loop();
    sys_ignore_sigpipe();
    keep_upstreams(taken);
    r.g = gateway_start(
        loop,
        &(gateway_options){
            .config_file = file, .listen = "127.0.0.1:0", .quiet = !verbose, .own = true, .loud = verbose},
        &why);
    if (!r.g) {
        tell_unstarted(&why, taken);
        return 2;
    }
    point_here(gateway_port(r.g));
    watch_signals(&r, loop);
    int error = spawn(&r, loop, argv + rest);
    if (error)
        return cli_say(error == UV_ENOENT ? 127 : 126, "with", "cannot run %s: %s", argv[rest], uv_strerror(error));
    uv_run(loop, UV_RUN_DEFAULT);
    return r.code;
}
