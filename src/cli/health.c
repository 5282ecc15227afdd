/* health.c - `daruma health`: does the daruma that listens here answer? For health checks of containers and the like,
 * which have no shell and no curl. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "cli/ask.h"
#include "cli/cli.h"
#include "gateway/config/config.h"
#include "sys/sys.h"

enum { HEALTH_MS = 3000 }; /* for an answer */

/* `ours`: the address is that of our own listener. */
static int ask(daruma_str at, bool ours, daruma_str path, const char *ca_file, daruma_arena *a)
{
    url to;
    char why[256];
    const char *wrong = NULL;
    while (at.n && at.p[at.n - 1] == '/')
        at.n--;
    if (!url_parse(at, a, &to, &wrong))
        return cli_say(2, "health", "%s: " STR_FMT, wrong, STR_ARG(at));
    /* The certificate is for the name that clients use, not for the loopback. No proxy leads to this machine. */
    const upstream_settings s = {.ca_file = ca_file, .insecure = ours || host_is_loopback(to.host)};
    upstream *up = upstream_new(uv_default_loop(), &s, why);
    if (!up)
        return cli_say(1, "health", "%s", why);
    daruma_buf target = buf_in(a);
    BUF_SAY(&target, to.prefix, path);
    const fetch_request q = {.to = &to, .method = S("GET"), .target = buf_str(&target), .clocks = {.total = HEALTH_MS}};
    cli_answer got = cli_ask(up, &q);
    upstream_close(up);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    if (!got.status || got.net)
        return cli_say(1, "health", STR_FMT STR_FMT ": %s", STR_ARG(at), STR_ARG(path), daruma_net_words(got.net));
    printf("HTTP %d ", got.status);
    cli_put(stdout, str_trim((daruma_str){got.text, got.n}));
    putchar('\n');
    return got.status == 200 ? 0 : 1;
}

int cli_health(int argc, char **argv)
{
    static const char about[] =
        "Asks the daruma that listens here whether it is up, and prints what it says. URL is another one's.\n"
        "The exit status is 0 when it is up, 1 when it is not, 2 when the configuration does not say where it listens.";
    static conf_mistakes m;
    const char *file = NULL, *listen = NULL;
    bool ready = false, waits;
    config c;
    const cli_option options[] = {
        CLI_VALUE("--config", "FILE", &file, "whose `listen` says where; 127.0.0.1:4141 without one"),
        CLI_VALUE("--listen", "HOST:PORT", &listen, "where it listens, over the file's word"),
        CLI_SWITCH("--ready", &ready, "asks whether somebody can answer: not while no configured target is well"),
        {0}};
    int rest = cli_options(argc, argv, options, "health [--config FILE] [--listen HOST:PORT] [--ready] [URL]", about);
    if (rest < 0)
        return rest == -2 ? 0 : 2;
    if (argc - rest > 1)
        return cli_say(2, "health", "one URL is enough; what is `%s`?", argv[rest + 1]);
    daruma_arena a;
    if (!config_arena(&a))
        return cli_say(1, "health", "there is no memory");
    const config_source from = {.file = file, .listen = listen, .held = true};
    daruma_str at = rest < argc ? str_of(argv[rest]) : (daruma_str){0};
    const char *ca_file = NULL;
    char room[CLI_ADDRESS_BYTES];
    config_verdict read = at.n ? CONFIG_FINE : config_load(&from, &a, &c, &waits, &m);
    if (read != CONFIG_FINE) {
        static char text[CLI_WHY_BYTES];
        daruma_buf why = buf_over(text, sizeof text);
        conf_mistakes_say(&m, &why);
        cli_refused("health", &why);
    }
    /* What runs under an older, right file is well: a mistake elsewhere in the file must not have it restarted. */
    if (!at.n && (read == CONFIG_FINE || (read == CONFIG_WRONG && c.listen.port && !listen))) {
        at = str_of(cli_address(c.cert_file.n, c.listen.host, c.listen.port, true, room));
        ca_file = read == CONFIG_FINE && c.ca_file.n ? c.ca_file.p : NULL;
    }
    int code = at.n ? ask(at, rest == argc, ready ? S("/ready") : S("/health"), ca_file, &a) : 2;
    sys_arena_done(&a);
    return code;
}
