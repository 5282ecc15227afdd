/* chaos.c - `daruma chaos`: starts the faulty provider and says at the end whether what was expected came true. */
#include "cli/cli.h"
#include "chaos/chaos.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/limits.h"
#include "base/str.h"
#include "sys/sys.h"
#include <signal.h>
#include <stdlib.h>

typedef struct run {
    uv_loop_t loop;
    uv_signal_t interrupt, terminate;
    uv_timer_t clock; /* --for */
} run;

enum { FLAGS_MAX = 64, FLAG_BYTES = 72 };

/* What is asked for. */
static struct arguments {
    const char *script, *listen, *length_text;
    daruma_ms length; /* --for; -1 for ever */
    bool quiet, list;
    daruma_buf yaml; /* what --fault and the options behind it say, as a script */
    bool faults;
} asked = {.length = -1};

static void list(void)
{
    for (size_t i = 0; i < nfault_kinds; i++) {
        const fault_kind *k = &fault_kinds[i];
        printf("%-20s %s", k->name, k->words);
        for (int f = 0; f < FAULT_FORMS && k->forms[f] && k->forms[1]; f++)
            printf("%s%s", f ? ", " : "; form: ", k->forms[f]);
        printf("\n");
    }
}

/* ---- options ---- */

static void put_pair(daruma_buf *b, daruma_str key, const char *value)
{
    BUF_SAY(b, key, ": ");
    if (*value == '[' || *value == '{') /* a list of kinds, headers */
        buf_putz(b, value);
    else
        buf_json(b, str_of(value)); /* a JSON string is a YAML string */
}

/* "cut", "[cut, reset]", or "stall=40s" for `stall: 40s`. */
static bool take_fault(const cli_option *o, const char *text)
{
    daruma_str rest = str_of(text), kind = str_cut(&rest, '=');
    bool bare = kind.n == strlen(text) || !fault_find(kind);
    (void)o;
    buf_putz(&asked.yaml, asked.faults ? " }\n- { " : "faults:\n- { ");
    put_pair(&asked.yaml, bare ? S("kind") : kind, bare ? text : rest.p);
    return asked.faults = true;
}

/* "--after-events 2" for `after_events: 2` of the fault before it. */
static bool take_key(const cli_option *o, const char *value)
{
    char key[FLAG_BYTES];
    if (!asked.faults)
        return cli_say(false, "chaos", "%s is about a fault: name it before, --fault KIND", o->name);
    snprintf(key, sizeof key, "%s", o->name + 2);
    for (char *p = key; *p; p++)
        *p = *p == '-' ? '_' : *p;
    BUF_LIT(&asked.yaml, ", ");
    put_pair(&asked.yaml, str_of(key), value);
    return true;
}

/* Those of the run, and behind them one for each key of a fault: --after-events for after_events. `for` is the run's.
 */
static const cli_option *chaos_options(void)
{
    static const cli_option of_run[] = {
        CLI_VALUE("--listen", "HOST:PORT", &asked.listen, "where; else 127.0.0.1:9100"),
        CLI_VALUE("--script", "FILE", &asked.script, "the same as FILE"),
        CLI_VALUE("--for", "TIME", &asked.length_text, "ends after 60s, 10m, ..."),
        CLI_SWITCH("--quiet", &asked.quiet, "no line per call"),
        CLI_SWITCH("--list", &asked.list, "prints the kinds of faults"),
        CLI_TAKEN("--fault", "KIND[=VALUE]...", take_fault, "a fault without a script; what follows are its keys:"),
    };
    static char flags[FLAGS_MAX][FLAG_BYTES];
    static cli_option all[FLAGS_MAX];
    const char *key, *words;
    size_t n = COUNT(of_run);
    memcpy(all, of_run, sizeof of_run);
    for (size_t i = 0; n + 1 < FLAGS_MAX && (key = script_fault_key(i, &words)); i++) {
        if (strcmp(key, "for") == 0)
            continue;
        snprintf(flags[n], FLAG_BYTES, "--%s", key);
        for (char *p = flags[n]; *p; p++)
            *p = *p == '_' ? '-' : *p;
        all[n] = (cli_option)CLI_TAKEN(flags[n], "VALUE", take_key, words);
        n++;
    }
    return all;
}

static script *load(const struct arguments *a, daruma_arena *memory)
{
    char why[256];
    daruma_str text = buf_str(&a->yaml);
    static conf_mistakes m;
    static char room[CLI_WHY_BYTES];
    daruma_buf told = buf_over(room, sizeof room);
    if (a->script && !sys_read_file(a->script, CHAOS_SCRIPT_BYTES_MAX, memory, &text, why))
        return CLI_NULL("chaos", "%s", why);
    script *s = script_read(text, a->script, &m);
    for (size_t i = 0; !s && !a->script && i < m.n; i++) { /* the script is made of flags: it has no lines */
        m.at[i].line = 0;
        m.at[i].excerpt[0] = 0;
    }
    for (size_t i = 0; s && !a->script && i < s->nfaults; i++)
        s->faults[i].line = 0;
    conf_mistakes_say(&m, &told);
    if (!s)
        fprintf(stderr, "%s" STR_FMT, a->script ? "" : "daruma chaos: ", STR_ARG(buf_str(&told)));
    return s;
}

static void on_line(daruma_str line, void *user)
{
    (void)user;
    printf(STR_FMT "\n", STR_ARG(line));
    fflush(stdout);
}

static void on_finished(bool held, void *user)
{
    (void)held;
    run *r = user;
    uv_stop(&r->loop);
}

static void on_signal(uv_signal_t *s, int number)
{
    (void)number;
    uv_stop(s->loop);
}

static void on_clock(uv_timer_t *t)
{
    uv_stop(t->loop);
}

static void start_run(run *r, const struct arguments *a)
{
    uv_loop_init(&r->loop);
    uv_signal_init(&r->loop, &r->interrupt);
    uv_signal_init(&r->loop, &r->terminate);
    uv_timer_init(&r->loop, &r->clock);
    uv_signal_start(&r->interrupt, on_signal, SIGINT);
    uv_signal_start(&r->terminate, on_signal, SIGTERM);
    if (a->length >= 0)
        uv_timer_start(&r->clock, on_clock, (uint64_t)a->length, 0);
}

static void end_run(run *r)
{
    uv_close((uv_handle_t *)&r->interrupt, NULL);
    uv_close((uv_handle_t *)&r->terminate, NULL);
    uv_close((uv_handle_t *)&r->clock, NULL);
    uv_run(&r->loop, UV_RUN_DEFAULT);
    uv_loop_close(&r->loop);
}

static int serve(const struct arguments *a, script *s)
{
    char host[64], why[256], text[64 << 10];
    const char *wrong;
    conf_address at = s->listen.host.n ? s->listen : (conf_address){S("127.0.0.1"), 9100};
    snprintf(text, sizeof text, "%s%s", a->listen && !strchr(a->listen, ':') ? ":" : "", a->listen ? a->listen : "");
    if (a->listen && !conf_address_read(str_of(text), &s->memory, &at, &wrong)) { /* 9100 is :9100 */
        fprintf(stderr, "daruma chaos: --listen: cannot listen on `%s`; %s\n", a->listen, wrong);
        script_drop(s);
        return 2;
    }
    snprintf(host, sizeof host, STR_FMT, STR_ARG(at.host));
    run r;
    start_run(&r, a);
    chaos_settings settings = {host, at.port, a->quiet ? NULL : on_line, on_finished, &r};
    size_t nfaults = s->nfaults;
    chaos *k = chaos_start(&r.loop, &settings, s, why);
    if (!k) {
        fprintf(stderr, "daruma chaos: %s\n", why);
        end_run(&r);
        return 1;
    }
    char address[CLI_ADDRESS_BYTES];
    printf("chaos listens on %s with %zu fault%s; Ctrl-C ends it\n",
           cli_address(false, at.host, chaos_port(k), false, address), nfaults, nfaults == 1 ? "" : "s");
    fflush(stdout);
    uv_run(&r.loop, UV_RUN_DEFAULT);
    daruma_buf b = buf_over(text, sizeof text);
    bool held = chaos_finish(k, &b);
    printf(STR_FMT, STR_ARG(buf_str(&b)));
    fflush(stdout);
    chaos_close(k);
    end_run(&r);
    return held ? 0 : 1;
}

int cli_chaos(int argc, char **argv)
{
    static const char about[] = "A provider that misbehaves on purpose: OpenAI Chat and Responses, Anthropic Messages, "
                                "Google Gemini. FILE has\n"
                                "faults and expectations as YAML; see examples/chaos.yaml.\n\n"
                                "Without it --fault names a fault, and the options behind it are its keys, as in a "
                                "script: --fault cut --times 2\n"
                                "--after-events 1. Only `for` is the value of the kind there: --fault stall=40s.\n\n"
                                "Ends on Ctrl-C, after --for, or on POST /chaos/finish.\n\n"
                                "Exit code: 0 all expectations held, 1 one did not, 2 something in the script or in "
                                "the options is wrong; all of\n"
                                "it is told.";
    daruma_arena memory;
    if (!sys_arena_init(&memory, 4096, 2 * CHAOS_SCRIPT_BYTES_MAX))
        return 1;
    asked.yaml = buf_in(&memory);
    int at = cli_options(argc, argv, chaos_options(),
                         "chaos [--listen HOST:PORT] [--fault KIND[=VALUE] [--KEY VALUE]...]... [FILE]\n"
                         "       daruma chaos --list",
                         about);
    int code = at == -2 ? 0 : 2;
    if (at >= 0 && asked.length_text && (asked.length = date_duration(str_of(asked.length_text), NULL)) < 0)
        at = cli_say(-1, "chaos", "--for takes a time like 60s or 10m, not `%s`", asked.length_text);
    if (at >= 0 && at < argc && !asked.script)
        asked.script = argv[at++];
    buf_putz(&asked.yaml, asked.faults ? " }\n" : "{}\n");
    if (at >= 0 && at < argc) {
        fprintf(stderr, "daruma chaos: one script only, not also %s\n", argv[at]);
    } else if (at >= 0 && asked.script && asked.faults) {
        fputs("daruma chaos: a script and --fault exclude each other: put the fault into the script\n", stderr);
    } else if (at >= 0 && asked.list) {
        list();
        code = 0;
    } else if (at >= 0) {
        script *s = load(&asked, &memory);
        code = s ? serve(&asked, s) : 2;
    }
    sys_arena_done(&memory);
    return code;
}
