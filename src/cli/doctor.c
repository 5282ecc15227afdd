/* doctor.c - `daruma doctor`: is everything there that a gateway needs? One line for each thing, with what to do. */
#include "cli/doctor.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/str.h"
#include "cli/cli.h"
#include "net/tls.h"
#include "sys/sys.h"
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum {
    DISK_FREE_MIN = 100 << 20, /* bytes that are left for logs */
    DESCRIPTORS_SPARE = 64,    /* beside two for each connection */
    YEAR_2025 = 1735689600
};

void finding_put(findings *f, finding_state s, daruma_str about, const char *step, const char *what, ...)
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
    daruma_buf b = buf_in(f->a);
    BUF_SAY(&b, c->state, "/state.jsonl");
    if (c->state.n)
        look_at_log(f, S("state"), buf_str(&b));
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

/* ---- what is told ------------------------------------------------------------------------------ */

static const char *const states[] = {[FINDING_OK] = "ok", [FINDING_WARNING] = "warning", [FINDING_WRONG] = "wrong"};

static void put_text(const findings *f, daruma_buf *b)
{
    size_t n[3] = {0};
    for (size_t i = 0; i < f->n; i++) {
        const finding *one = &f->at[i];
        n[one->state]++;
        buf_printf(b, "%-8s ", states[one->state]);
        BUF_SAY(b, one->about, ": ", one->what);
        if (one->step.n) {
            BUF_SAY(b, "\n         -> ", one->step);
        }
        buf_putc(b, '\n');
    }
    buf_printf(b, "%zu ok, %zu warning%s, %zu wrong\n", n[FINDING_OK], n[FINDING_WARNING],
               n[FINDING_WARNING] == 1 ? "" : "s", n[FINDING_WRONG]);
}

static void put_json(const findings *f, bool wrong, daruma_buf *b)
{
    buf_printf(b, "{\"ok\":%s,\"checks\":[", wrong ? "false" : "true");
    for (size_t i = 0; i < f->n; i++) {
        const finding *one = &f->at[i];
        buf_printf(b, "%s{\"state\":\"%s\",\"about\":", i ? "," : "", states[one->state]);
        BUF_SAY(b, buf_quoted(one->about), ",\"what\":", buf_quoted(one->what));
        if (one->step.n) {
            BUF_SAY(b, ",\"remedy\":", buf_quoted(one->step));
        }
        BUF_LIT(b, "}");
    }
    BUF_LIT(b, "]}\n");
}

static void examine(findings *f, const config_source *from, bool connect)
{
    static config c;
    if (!look_at_file(f, from, &c))
        return;
    daruma_str *secrets = ARENA_NEW(f->a, daruma_str, doctor_nkeys(&c) + 1);
    if (!secrets)
        return;
    doctor_keys(f, &c, secrets);
    look_at_port(f, &c);
    look_at_logs(f, &c);
    look_at_descriptors(f, &c);
    look_at_memory(f, &c);
    look_at_trust(f, &c);
    look_at_clock(f, connect);
    if (connect)
        doctor_connect(f, &c, secrets);
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
        {"--config", "FILE", &from.file, NULL, "the gateway's YAML file; else what is true without one"},
        {"--listen", "HOST:PORT", &from.listen, NULL, "as for serve: where clients connect, over the file's word"},
        {"--connect", NULL, NULL, &connect, "ask each provider, with each key"},
        {"--json", NULL, NULL, &json, "one JSON object: ok, and checks with state, about, what, remedy"},
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
