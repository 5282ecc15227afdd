/* doctor.c - `daruma doctor`: is everything there that a gateway needs? One line for each thing, with what to do. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/limits.h"
#include "base/str.h"
#include "cli/ask.h"
#include "cli/cli.h"
#include "gateway/config/config.h"
#include "net/tls.h"
#include "sys/sys.h"
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum {
    DISK_FREE_MIN = 100 << 20, /* bytes that are left for logs */
    DESCRIPTORS_SPARE = 64,    /* beside two for each connection */
    YEAR_2025 = 1735689600,
    CONNECT_MS = 10000,
    CLOCK_WARNING_S = 30,
    CLOCK_WRONG_S = 300
};

typedef enum finding_state { FINDING_OK, FINDING_WARNING, FINDING_WRONG } finding_state;

typedef struct finding {
    finding_state state;
    daruma_str about; /* "keys of main" */
    daruma_str what;  /* how it is */
    daruma_str step;  /* what to do; empty: nothing */
} finding;

enum { FINDINGS_MAX = 1024, FINDING_BYTES = 600 };

typedef struct findings {
    daruma_arena *a;
    finding at[FINDINGS_MAX]; /* what is beyond is not told */
    size_t n;
} findings;

/* Adds one. `step`, or "", is what to do; the rest is printed as printf does, at most FINDING_BYTES of it. */
__attribute__((format(printf, 5, 6))) static void finding_put(findings *f, finding_state s, daruma_str about,
                                                              const char *step, const char *what, ...)
{
    char text[FINDING_BYTES];
    va_list args;
    if (f->n == FINDINGS_MAX)
        return;
    va_start(args, what);
    vsnprintf(text, sizeof text, what, args);
    va_end(args);
    f->at[f->n++] = (finding){s, arena_copy(f->a, about), arena_copy(f->a, daruma_redact(str_of(text), f->a)),
                              arena_copy(f->a, str_of(step))};
}

/* ---- the file ----------------------------------------------------------------------- */

/* False: nothing more can be looked at. */
static bool look_at_file(findings *f, const config_source *from, config *c)
{
    static conf_mistakes m;
    bool waits;
    config_verdict v = config_load(from, f->a, c, &waits, &m);
    daruma_buf warnings = buf_in(f->a);
    daruma_str about = from->file ? str_of(from->file) : S("configuration");
    if (v != CONFIG_FINE) {
        for (size_t i = 0; i < m.n; i++)
            if (m.at[i].line)
                finding_put(f, FINDING_WRONG, about, m.at[i].remedy, "line %d%s%s: %s", m.at[i].line,
                            m.at[i].key[0] ? ", " : "", m.at[i].key, m.at[i].what);
            else /* it names the file, or the variable of the environment */
                finding_put(f, FINDING_WRONG, S("configuration"), m.at[i].remedy, "%s%s%s", m.at[i].key,
                            m.at[i].key[0] ? ": " : "", m.at[i].what);
        if (!m.n)
            finding_put(f, FINDING_WRONG, about, "daruma check says more", "it cannot be read");
        return false;
    }
    finding_put(f, FINDING_OK, about, "",
                from->file ? "it is fine: providers %zu, models %zu"
                           : "none: built in are %zu providers, clients show their own keys",
                c->nproviders, c->nmodels);
    config_warnings(c, &warnings);
    for (daruma_str rest = buf_str(&warnings); rest.n;) {
        daruma_str line = str_cut(&rest, '\n');
        if (!str_starts(line, S("listen: something listens")))
            finding_put(f, FINDING_WARNING, about, "", STR_FMT, STR_ARG(line));
    }
    return true;
}

static void look_at_port(findings *f, const config *c)
{
    char at[200];
    snprintf(at, sizeof at, STR_FMT ":%d", STR_ARG(c->listen.host), c->listen.port);
    if (!c->listen_taken)
        finding_put(f, FINDING_OK, S("port"), "", "%s is free", at);
    else
        finding_put(f, FINDING_WARNING, S("port"),
                    "fine if a daruma runs already; else stop it (`ss -ltnp` shows it), or change `listen`",
                    "something listens on %s", at);
}

/* ---- the machine --------------------------------------------------------------------------- */

static void look_at_clock(findings *f, bool connect)
{
    char now[20];
    int64_t wall = sys_moment().wall;
    date_say(wall, now);
    if (wall < YEAR_2025)
        finding_put(f, FINDING_WRONG, S("clock"), "set it, and let NTP keep it (timedatectl set-ntp true)",
                    "it says %s UTC", now);
    else
        finding_put(f, FINDING_OK, S("clock"), "", "%s UTC%s", now,
                    connect ? "" : "; --connect compares it with a provider's");
}

static void look_at_descriptors(findings *f, const config *c)
{
    struct rlimit r;
    rlim_t needs = (rlim_t)c->connections_max * 2 + DESCRIPTORS_SPARE;
    if (getrlimit(RLIMIT_NOFILE, &r) != 0)
        return;
    if (r.rlim_max == RLIM_INFINITY || r.rlim_max >= needs)
        finding_put(f, FINDING_OK, S("open files"), "", "enough may be open: %u connections need %lld",
                    c->connections_max, (long long)needs);
    else
        finding_put(f, FINDING_WARNING, S("open files"),
                    "raise it (LimitNOFILE= in the unit, `ulimit -Hn`), or lower `limits.connections`",
                    "%lld may be open, and %u connections need %lld", (long long)r.rlim_max, c->connections_max,
                    (long long)needs);
}

/* What this process may use: the machine's memory, or less where its control group has a limit. */
static int64_t memory_bytes(daruma_arena *a)
{
    int64_t all = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE), limit;
    daruma_str text;
    char why[256];
    if (sys_read_file("/sys/fs/cgroup/memory.max", 64, a, &text, why) && str_int(str_trim(text), &limit) && limit > 0)
        return limit < all ? limit : all;
    return all;
}

static void look_at_memory(findings *f, const config *c)
{
    int64_t all = memory_bytes(f->a) >> 20, may = (int64_t)(c->all_bytes_max >> 20);
    if (may * 2 <= all)
        finding_put(f, FINDING_OK, S("memory"), "", "requests may take %lld MiB of %lld", (long long)may,
                    (long long)all);
    else
        finding_put(f, FINDING_WARNING, S("memory"),
                    "lower `limits.memory`, or give it more (MemoryMax= in the unit, the container's limit)",
                    "requests may take %lld MiB, and there are %lld in all", (long long)may, (long long)all);
}

static void look_at_log(findings *f, daruma_str about, daruma_str file)
{
    char path[4200];
    struct statvfs s;
    int error = config_log_errno(file);
    snprintf(path, sizeof path, STR_FMT, STR_ARG(file));
    if (error) {
        finding_put(f, FINDING_WRONG, about, "let the user that daruma runs as write there", "%.400s: %s", path,
                    strerror(error));
        return;
    }
    char *slash = strrchr(path, '/');
    if (access(path, F_OK) != 0 && slash)
        slash[slash == path] = 0;
    if (statvfs(access(path, F_OK) == 0 ? path : ".", &s) == 0 &&
        (int64_t)s.f_bavail * (int64_t)s.f_frsize < DISK_FREE_MIN)
        finding_put(f, FINDING_WARNING, about, "make room, or write it elsewhere",
                    STR_FMT ": less than 100 MiB are left on its disk", STR_ARG(file));
    else
        finding_put(f, FINDING_OK, about, "", STR_FMT " can be written", STR_ARG(file));
}

static void look_at_logs(findings *f, const config *c)
{
    if (c->events_file.n)
        look_at_log(f, S("events"), c->events_file);
    else
        finding_put(f, FINDING_WARNING, S("events"), "add `events: { file: /var/log/daruma/events.jsonl }`",
                    "they go to no file: `daruma report`, `cases` and `explain` will have nothing to read");
    if (c->usage_file.n)
        look_at_log(f, S("usage"), c->usage_file);
    if (c->state.n)
        look_at_log(f, S("state"), STR_SAY(f->a, c->state, "/state.jsonl"));
    else
        finding_put(f, FINDING_OK, S("state"), "", "it is kept nowhere: a restart learns limits and windows anew");
}

static void look_at_trust(findings *f, const config *c)
{
    char why[256];
    tls_context *t = tls_context_new(c->ca_file.n ? c->ca_file.p : NULL, why);
    if (t)
        finding_put(f, FINDING_OK, S("TLS"), "", "authorities can be read%s",
                    c->ca_file.n ? ", those of `tls.ca_file` too" : "");
    else
        finding_put(f, FINDING_WRONG, S("TLS"), "install ca-certificates, or set `tls.ca_file`", "%s", why);
    tls_context_free(t);
}

/* ---- keys ---------------------------------------------------------------------------- */

static void look_at_value(findings *f, daruma_str about, daruma_str key)
{
    for (size_t i = 0; i < key.n; i++)
        if (key.p[i] <= ' ' || key.p[i] > '~') {
            finding_put(f, FINDING_WRONG, about, "copy it again: a key has printable characters alone",
                        "it holds a space or a character that no header takes");
            return;
        }
    if (key.n < 8)
        finding_put(f, FINDING_WARNING, about, "look whether it is whole", "it is there, and has %zu characters only",
                    key.n);
    else
        finding_put(f, FINDING_OK, about, "", "it is there: %zu characters", key.n);
}

/* The key that a command prints. */
static void look_at_command(findings *f, daruma_str about, const char *command, daruma_str *ret)
{
    char why[CLI_KEY_WHY_BYTES];
    if (cli_key_printed(command, f->a, ret, why))
        finding_put(f, FINDING_OK, about, "", "its command printed a key of %zu characters", ret->n);
    else
        finding_put(f, FINDING_WRONG, about,
                    "run the command by hand, as the user that daruma runs as, and see what it says",
                    "its command gave no key: %s", why);
}

static size_t keys_of(const config *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->nproviders; i++)
        n += c->providers[i].nkeys;
    return n;
}

static daruma_str key_about(findings *f, const config_provider *p, const config_key *k)
{
    return STR_SAY(f->a, "key ", k->name, " of ", p->name);
}

/* Fetches every key: those that a command prints are asked for. `secrets` gets one for each key of each provider in
 * order, in f->a, empty where there is none. */
static void look_at_keys(findings *f, const config *c, daruma_str *secrets)
{
    size_t at = 0;
    for (size_t i = 0; i < c->nproviders; i++) {
        const config_provider *p = &c->providers[i];
        if (!p->nkeys)
            finding_put(f, FINDING_OK, p->name, "", "%s",
                        config_has_key(p) ? "its key is one of its `headers`" : "no keys: clients show their own");
        for (size_t k = 0; k < p->nkeys; k++, at++) {
            const config_key *key = &p->keys[k];
            daruma_str about = key_about(f, p, key);
            secrets[at] = key->value;
            if (key->value.n)
                look_at_value(f, about, key->value);
            else
                look_at_command(f, about, key->command.p, &secrets[at]);
        }
    }
}

/* ---- providers ------------------------------------------------------------------------ */

/* What to do about trouble on the wire. */
static const char *net_step(daruma_net net)
{
    static const char *const steps[DARUMA_NETS] = {
        [DARUMA_NET_DNS] = "check how the host is spelt in `url`, and /etc/resolv.conf",
        [DARUMA_NET_REFUSED] = "check the port in `url`, and whether the server runs",
        [DARUMA_NET_UNREACHABLE] = "check the network and the firewall of this machine",
        [DARUMA_NET_TLS] = "check that the port speaks TLS; `http://` where it does not",
        [DARUMA_NET_CERTIFICATE] =
            "set `tls.ca_file` to the authority that signed it, and check the clock of this machine",
        [DARUMA_NET_PROXY] = "check `proxy` and the variables https_proxy, http_proxy and no_proxy",
        [DARUMA_NET_CONNECT_TIMEOUT] = "check the firewall, or whether a proxy is needed (`proxy`)",
    };
    return steps[net] ? steps[net] : "check its address, and whether it runs";
}

static void judge_clock(findings *f, daruma_str about, const cli_answer *a)
{
    int64_t off = a->date < 0 ? 0 : sys_moment().wall - a->date / 1000, far = off < 0 ? -off : off;
    if (a->date < 0 || far < CLOCK_WARNING_S)
        return;
    finding_put(f, far < CLOCK_WRONG_S ? FINDING_WARNING : FINDING_WRONG, S("clock"),
                "set it, and let NTP keep it (timedatectl set-ntp true)", "it is %lld s %s that of " STR_FMT,
                (long long)far, off < 0 ? "behind" : "before", STR_ARG(about));
}

/* `keyed`: it was asked with a key of the configuration's. */
static void judge_answer(findings *f, daruma_str about, bool keyed, const cli_answer *a)
{
    long long took = a->took;
    if ((a->status == 401 || a->status == 403) && keyed)
        finding_put(f, FINDING_WRONG, about, "check the key with the provider, and that it stands under the right one",
                    "it answers in %lld ms and refuses the key (HTTP %d)", took, a->status);
    else if (a->status >= 500)
        finding_put(f, FINDING_WARNING, about, "look at its status page", "it answers in %lld ms with HTTP %d", took,
                    a->status);
    else if (a->status == 429)
        finding_put(f, FINDING_WARNING, about, "look what its limits are",
                    "it answers in %lld ms: the key is limited (HTTP 429)", took);
    else if (keyed && a->status < 300)
        finding_put(f, FINDING_OK, about, "", "it answers in %lld ms and takes the key", took);
    else
        finding_put(f, FINDING_OK, about, "", "it can be reached: HTTP %d in %lld ms", a->status, took);
}

/* False: it cannot be reached, with whatever key. */
static bool ask_once(findings *f, upstream *up, const config_provider *p, const config_key *k, daruma_str secret)
{
    daruma_str provider = STR_SAY(f->a, "provider ", p->name);
    daruma_str about = k ? key_about(f, p, k) : provider;
    daruma_header *h = ARENA_NEW(f->a, daruma_header, p->nheaders + 3);
    size_t n = 0;
    if (!h)
        return false;
    h[n++] = (daruma_header){S("accept"), S("application/json")};
    if (p->dialect->version.name.n)
        h[n++] = p->dialect->version;
    if (secret.n)
        h[n++] = config_key_field(p, secret, f->a);
    for (size_t i = 0; i < p->nheaders; i++)
        h[n++] = p->headers[i];
    daruma_str path = p->dialect == &dialect_gemini ? S("/v1beta/models") : S("/v1/models");
    fetch_request q = {.to = &p->to,
                       .method = S("GET"),
                       .target = config_own_path(p, path, f->a),
                       .headers = h,
                       .nheaders = n,
                       .fresh = true,
                       .clocks = {.connect = CONNECT_MS, .first_byte = CONNECT_MS, .total = 2 * CONNECT_MS}};
    if (f->a->full)
        return false;
    cli_answer a = cli_ask(up, &q);
    if (!a.status && a.net)
        finding_put(f, FINDING_WRONG, provider, net_step(a.net), "%s", daruma_net_words(a.net));
    if (!a.status)
        return false;
    judge_answer(f, about, secret.n > 0, &a);
    judge_clock(f, about, &a);
    return true;
}

/* Asks each provider for its list of models: name, connection, TLS, clock, and whether it takes each key. */
static void look_at_providers(findings *f, const config *c, const daruma_str *secrets)
{
    char why[256];
    const upstream_settings s = {.https_proxy = c->https_proxy,
                                 .http_proxy = c->http_proxy,
                                 .no_proxy = c->no_proxy,
                                 .ca_file = c->ca_file.n ? c->ca_file.p : NULL};
    upstream *up = upstream_new(uv_default_loop(), &s, why);
    size_t at = 0;
    if (!up) {
        finding_put(f, FINDING_WRONG, S("TLS"), "install ca-certificates", "%s", why);
        return;
    }
    for (size_t i = 0; i < c->nproviders; i++) {
        const config_provider *p = &c->providers[i];
        bool reached =
            !p->cloud; /* a cloud has no list of models, and says nothing of the key without a call that costs */
        if (!p->nkeys || p->cloud)
            ask_once(f, up, p, NULL, (daruma_str){0});
        for (size_t k = 0; k < p->nkeys; k++, at++)
            if (secrets[at].n && reached)
                reached = ask_once(f, up, p, &p->keys[k], secrets[at]);
    }
    upstream_close(up);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}

/* ---- what is told ------------------------------------------------------------------------------ */

static const char *const states[] = {[FINDING_OK] = "ok", [FINDING_WARNING] = "warning", [FINDING_WRONG] = "wrong"};

static void put_text(const findings *f, daruma_buf *b)
{
    size_t n[3] = {0};
    for (size_t i = 0; i < f->n; i++) {
        const finding *one = &f->at[i];
        n[one->state]++;
        buf_printf(b, "%-8s ", states[one->state]);
        BUF_SAY(b, one->about, ": ", one->what, one->step.n ? "\n         -> " : "", one->step, "\n");
    }
    buf_printf(b, "%zu ok, %zu warning%s, %zu wrong\n", n[FINDING_OK], n[FINDING_WARNING],
               n[FINDING_WARNING] == 1 ? "" : "s", n[FINDING_WRONG]);
}

static void put_json(const findings *f, bool wrong, daruma_buf *b)
{
    buf_printf(b, "{\"ok\":%s,\"checks\":[", wrong ? "false" : "true");
    for (size_t i = 0; i < f->n; i++) {
        const finding *one = &f->at[i];
        buf_putz(b, i ? "," : "");
        BUF_OBJECT(b, "state", states[one->state], "about", one->about, "what", one->what, "remedy",
                   buf_any(one->step));
    }
    BUF_LIT(b, "]}\n");
}

static void examine(findings *f, const config_source *from, bool connect)
{
    static config c;
    if (!look_at_file(f, from, &c))
        return;
    daruma_str *secrets = ARENA_NEW(f->a, daruma_str, keys_of(&c) + 1);
    if (!secrets)
        return;
    look_at_keys(f, &c, secrets);
    look_at_port(f, &c);
    look_at_logs(f, &c);
    look_at_descriptors(f, &c);
    look_at_memory(f, &c);
    look_at_trust(f, &c);
    look_at_clock(f, connect);
    if (connect)
        look_at_providers(f, &c, secrets);
}

int cli_doctor(int argc, char **argv)
{
    static const char about[] =
        "Looks at everything that a gateway needs, and says of each thing how it is and what to do: the "
        "configuration,\n"
        "keys (that they are there; commands that print one are run, and what they print is never shown), the port, "
        "the\n"
        "event file and the usage log, open files, memory, the clock, and the authorities that TLS trusts.\n\n"
        "With --connect it also asks each provider for its list of models, once with each key: whether its name is "
        "found,\n"
        "it can be reached, its certificate holds, it takes the key, and how far this clock is from its own. That "
        "costs no\n"
        "tokens. Without --connect nothing leaves this machine, but for what the commands of keys do.\n\n"
        "  daruma doctor --config /etc/daruma/daruma.yaml --connect\n"
        "  daruma doctor --json | jq -r '.checks[] | select(.state != \"ok\") | .what'\n\n"
        "Run it as the user, and in the environment, in which daruma will run.\n\n"
        "Exit code: 0 nothing is wrong, 1 something is, 2 it was asked wrongly.";
    bool json = false, connect = false;
    config_source from = {0};
    const cli_option options[] = {
        CLI_VALUE("--config", "FILE", &from.file, "the gateway's YAML file; else what is true without one"),
        CLI_VALUE("--listen", "HOST:PORT", &from.listen, "as for serve: where clients connect, over the file's word"),
        CLI_SWITCH("--connect", &connect, "ask each provider, with each key"),
        CLI_SWITCH("--json", &json, "one JSON object: ok, and checks with state, about, what, remedy"),
        {0}};
    int rest = cli_options(argc, argv, options, "doctor [--config FILE] [--connect] [--json]", about);
    static findings f;
    daruma_arena a;
    if (rest < 0)
        return rest == -2 ? 0 : 2;
    if (rest < argc && !from.file)
        from.file = argv[rest++];
    if (!cli_no_more(argc, argv, rest))
        return 2;
    if (!config_arena(&a))
        return 1;
    f = (findings){.a = &a};
    sys_ignore_sigpipe();
    examine(&f, &from, connect);
    bool wrong = a.full || !f.n;
    for (size_t i = 0; i < f.n; i++)
        wrong |= f.at[i].state == FINDING_WRONG;
    daruma_arena room;
    if (sys_arena_init(&room, 64u << 10, 8u << 20)) {
        daruma_buf b = buf_in(&room);
        if (json)
            put_json(&f, wrong, &b);
        else
            put_text(&f, &b);
        (json ? cli_put_json : cli_put_page)(stdout, buf_str(&b));
        sys_arena_done(&room);
    }
    sys_arena_done(&a);
    return wrong ? 1 : 0;
}
