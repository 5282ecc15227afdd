/* serve.c - `daruma serve`: runs the gateway until it is told to stop. SIGTERM and Ctrl-C let requests end, a second
 * one stops at once; SIGHUP reads the configuration again. */
#include "base/buf.h"
#include "base/date.h"
#include "base/limits.h"
#include "base/str.h"
#include "cli/cli.h"
#include "gateway/gateway.h"
#include "net/server.h"
#include "sys/sys.h"
#include <signal.h>
#include <string.h>
#include <unistd.h>

typedef struct serving {
    gateway *g;
    uv_signal_t term, quit, hup;
    bool draining, quiet;
} serving;

static void stop(void *user)
{
    serving *s = user;
    gateway_close(s->g); /* first: a signal that nobody waits for any more ends the process, and what it still holds */
    uv_close((uv_handle_t *)&s->term, NULL);
    uv_close((uv_handle_t *)&s->quit, NULL);
    uv_close((uv_handle_t *)&s->hup, NULL);
    s->g = NULL;
}

static void summary(const serving *s)
{
    char text[2048];
    daruma_buf b = buf_over(text, sizeof text);
    gateway_summary(s->g, &b);
    if (!s->quiet)
        sys_write_now(STDERR_FILENO, buf_str(&b));
}

static void on_drained(void *user)
{
    serving *s = user;
    if (!s->g)
        return;
    summary(s);
    stop(s);
}

/* Begins a line of the log. */
static void put_date(daruma_buf *b)
{
    char date[20];
    date_say(sys_moment().wall, date);
    buf_printf(b, "%s  daruma: ", date);
}

static void on_stop(uv_signal_t *h, int signum)
{
    serving *s = h->data;
    (void)signum;
    if (!s->g)
        return;
    char text[120];
    daruma_buf b = buf_over(text, sizeof text);
    put_date(&b);
    BUF_LIT(&b, "stopping; requests under way may end (again: stop now)\n");
    if (!s->draining && !s->quiet)
        sys_write_now(STDERR_FILENO, buf_str(&b));
    s->draining = true;
    sys_service_tell("STOPPING=1");
    gateway_drain(s->g, on_drained, s);
}

static void on_hup(uv_signal_t *h, int signum)
{
    static char text[CLI_WHY_BYTES];
    serving *s = h->data;
    daruma_buf why = buf_over(text, sizeof text);
    bool waits;
    (void)signum;
    if (!s->g)
        return;
    put_date(&why);
    size_t dated = why.n;
    BUF_LIT(&why, "the configuration stays as it was: ");
    if (gateway_reload(s->g, &waits, &why)) {
        why.n = dated;
        buf_printf(&why, "the configuration was read again%s",
                   waits ? "; what it changes of `listen`, `limits`, `state` and `store` holds from the next start on"
                         : "");
    }
    why.n = str_trim(buf_str(&why)).n;
    BUF_LIT(&why, "\n");
    sys_write_now(STDERR_FILENO, buf_str(&why)); /* once it serves, nobody waits for whoever reads stderr */
}

static void watch_signals(serving *s, uv_loop_t *loop)
{
    uv_signal_init(loop, &s->term);
    uv_signal_init(loop, &s->quit);
    uv_signal_init(loop, &s->hup);
    s->term.data = s->quit.data = s->hup.data = s;
    uv_signal_start(&s->term, on_stop, SIGTERM);
    uv_signal_start(&s->quit, on_stop, SIGINT);
    uv_signal_start(&s->hup, on_hup, SIGHUP);
}

static void greet(const serving *s, const char *file)
{
    const config *cfg = gateway_config(s->g);
    int port = cfg->listen.port ? cfg->listen.port : gateway_port(s->g);
    bool sealed = cfg->cert_file.n;
    char at[CLI_ADDRESS_BYTES];
    fprintf(stderr, "daruma " DARUMA_VERSION " listens on %s (%s)\n",
            cli_address(sealed, cfg->listen.host, port, false, at),
            file ? file : "no configuration: OpenAI, Anthropic and Gemini with the clients' own keys");
    cli_address(sealed, cfg->listen.host, port, true, at);
    fprintf(stderr, "  OPENAI_BASE_URL=%s/v1   ANTHROPIC_BASE_URL=%s\n", at, at);
    if (cfg->nclients)
        fprintf(stderr, "  its %zu client%s show%s a token as API key\n", cfg->nclients, cfg->nclients == 1 ? "" : "s",
                cfg->nclients == 1 ? "s" : "");
}

/* Where the sockets are: the first that other machines reach, since such a one needs clients; else the first. False:
 * one is no socket of TCP. */
static bool widest_address(int first, int n, char ret[80])
{
    char at[80];
    bool local = true;
    for (int i = 0; i < n; i++) {
        bool here;
        if (!server_socket_address(first + i, at, &here))
            return false;
        if (i == 0 || (local && !here)) {
            memcpy(ret, at, sizeof at);
            local = here;
        }
    }
    return true;
}

int cli_serve(int argc, char **argv)
{
    static const char about[] =
        "Starts the gateway. Without a configuration it listens on 127.0.0.1:4141 and forwards to Anthropic what\n"
        "carries anthropic-version, to Google what goes to /v1beta/*, the rest of /v1/* to OpenAI, with the clients'\n"
        "own credentials.\n\n"
        "  GET /daruma/health   is it up        GET /daruma/status   targets, breakers, counts\n"
        "  GET /daruma/events   every step as server-sent events\n\n"
        "SIGHUP reads the configuration again; SIGTERM and Ctrl-C let requests end, twice stops at once.";
    const char *file = NULL, *listen = NULL;
    serving s = {0};
    const cli_option options[] = {
        CLI_VALUE("--config", "FILE", &file, "YAML file; `daruma check --options` lists what it may say"),
        CLI_VALUE("--listen", "HOST:PORT", &listen, "where clients connect, over the file's word"),
        CLI_SWITCH("--quiet", &s.quiet, "nothing on stderr but errors"),
        {0}};
    int rest = cli_options(argc, argv, options, "serve [--config FILE] [--listen HOST:PORT] [--quiet] [FILE]", about);
    if (rest < 0)
        return rest == -2 ? 0 : 2;
    if (rest < argc && !file)
        file = argv[rest++];
    if (rest < argc)
        return cli_say(2, "serve", "one configuration file is enough; what is `%s`?", argv[rest]);
    static char text[CLI_WHY_BYTES];
    daruma_buf why = buf_over(text, sizeof text);
    uv_loop_t *loop = uv_default_loop();
    char at[80];
    int sockets, fd = sys_service_sockets(&sockets);
    if (sockets > SERVICE_SOCKETS_MAX)
        return cli_say(2, "serve", "the service manager handed over %d sockets: %d at most", sockets,
                       SERVICE_SOCKETS_MAX);
    if (sockets && !widest_address(fd, sockets, at))
        return cli_say(2, "serve", "the service manager handed over something that is no socket of TCP");
    if (sockets && listen)
        return cli_say(2, "serve", "the service manager's socket says where to listen (%s): remove --listen", at);
    gateway_options o = {.config_file = file,
                         .listen = sockets ? at : listen,
                         .socket = sockets ? fd : 0,
                         .sockets = sockets,
                         .quiet = s.quiet};
    sys_ignore_sigpipe();
    sys_descriptors_all();
    s.g = gateway_start(loop, &o, &why);
    if (!s.g) {
        cli_refused("serve", &why);
        return 2;
    }
    watch_signals(&s, loop);
    if (!s.quiet)
        greet(&s, file);
    sys_service_tell("READY=1");
    uv_run(loop, UV_RUN_DEFAULT);
    uv_loop_close(loop);
    return 0;
}
