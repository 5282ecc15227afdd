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

typedef struct arguments {
    const char *script, *listen;
    daruma_ms length; /* --for; -1 for ever */
    bool quiet, list, help;
    daruma_buf yaml; /* what --fault and the flags behind it say, as a script */
    bool faults;
} arguments;

/* Its options as the table that it does not read them by: those behind --fault belong to the fault. */
static const cli_option chaos_options[] = {{"--listen", "HOST:PORT", NULL, NULL, "where"},
                                           {"--script", "FILE", NULL, NULL, "faults and expectations as YAML"},
                                           {"--fault", "KIND[=VALUE]...", NULL, NULL, "one fault without a script"},
                                           {"--for", "TIME", NULL, NULL, "ends after 60s, 10m, ..."},
                                           {"--quiet", NULL, NULL, NULL, "no line per call"},
                                           {"--list", NULL, NULL, NULL, "prints the kinds of faults"},
                                           {0}};

static void help(void)
{
    const char *words, *name;
    if (cli_tables_to) {
        cli_tables_to(chaos_options);
        return;
    }
    printf("usage: daruma chaos [FILE] [--listen HOST:PORT] [--fault KIND[=VALUE] [--KEY VALUE]...]... [--for TIME] "
           "[--quiet]\n"
           "       daruma chaos --list\n\n"
           "A provider that misbehaves on purpose: OpenAI Chat and Responses, Anthropic Messages, Google Gemini.\n\n"
           "  --listen HOST:PORT   where (127.0.0.1:9100)\n"
           "  FILE, --script FILE  faults and expectations as YAML; see examples/chaos.yaml\n"
           "  --fault KIND[=VALUE] one fault without a script; what follows it are its keys, see below\n"
           "  --for TIME           ends after 60s, 10m, ...\n"
           "  --quiet              no line per call\n"
           "  --list               prints the kinds of faults\n\n"
           "Keys of a fault, in a script or behind --fault as --KEY VALUE (--times 2 --after-events 1):\n");
    for (size_t i = 0; (name = script_fault_key(i, &words)); i++)
        printf("  %-18s %s\n", name, words);
    printf(
        "Behind --fault, `for` is the value of the kind: --fault stall=40s.\n\nEnds on Ctrl-C, after --for, or on "
        "POST /chaos/finish.\n\nExit code: 0 all expectations held, 1 one did not, 2 something in the script or in the "
        "options is wrong; all of\nit is told.\n");
}

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

/* "--after-events" of the key after_events. */
static void flag_of_key(const char *key, char flag[72])
{
    snprintf(flag, 72, "--%s", key);
    for (char *p = flag; *p; p++)
        if (*p == '_')
            *p = '-';
}

/* The key that such a flag is of, NULL when there is none. */
static const char *fault_key(daruma_str flag)
{
    char one[72];
    const char *key;
    for (size_t i = 0; (key = script_fault_key(i, NULL)); i++) {
        flag_of_key(key, one);
        if (str_eq(flag, str_of(one)))
            return key;
    }
    return NULL;
}

static void put_pair(daruma_buf *b, daruma_str key, const char *value)
{
    BUF_SAY(b, key, ": ");
    if (*value == '[' || *value == '{') /* a list of kinds, headers */
        buf_putz(b, value);
    else
        buf_json(b, str_of(value)); /* a JSON string is a YAML string */
}

/* "cut", "[cut, reset]", or "stall=40s" for `stall: 40s`. */
static void put_fault(daruma_buf *b, daruma_str text)
{
    char value[256];
    size_t equals = str_findch(text, '=');
    bool bare = equals == STR_NONE || fault_find(str_sub(text, 0, equals)) == NULL;
    snprintf(value, sizeof value, STR_FMT, STR_ARG(bare ? text : str_from(text, equals + 1)));
    put_pair(b, bare ? S("kind") : str_sub(text, 0, equals), value);
}

/* ---- what was asked ---- */

static bool tell_unknown(daruma_str flag)
{
    static char flags[64][72]; /* of keys */
    str_near near = str_near_to(flag);
    const char *key;
    for (const cli_option *o = chaos_options; o->name; o++)
        str_near_try(&near, str_of(o->name));
    str_near_try(&near, S("--help"));
    for (size_t i = 0; i < 64 && (key = script_fault_key(i, NULL)); i++) {
        flag_of_key(key, flags[i]);
        str_near_try(&near, str_of(flags[i]));
    }
    fprintf(stderr, "daruma chaos: there is no option " STR_FMT, STR_ARG(flag));
    if (near.best.n)
        fprintf(stderr, "; did you mean " STR_FMT "?\n", STR_ARG(near.best));
    else
        fprintf(stderr, "; daruma chaos --help lists them\n");
    return false;
}

/* `value` NULL: none was given. */
static bool read_flag(arguments *a, daruma_str flag, const char *value)
{
    const char **plain = str_eq(flag, S("--script")) ? &a->script : str_eq(flag, S("--listen")) ? &a->listen : NULL;
    const char *key = fault_key(flag);
    bool one = str_eq(flag, S("--fault")), length = str_eq(flag, S("--for")); /* always the run's: a fault's is
                                                                                    --fault KIND=TIME */
    if (!plain && !one && !length && !key)
        return tell_unknown(flag);
    if (!value || !*value) {
        fprintf(stderr, "daruma chaos: " STR_FMT " needs a value\n", STR_ARG(flag));
        return false;
    }
    if (plain) {
        *plain = value;
        return true;
    }
    if (length) {
        a->length = date_duration(str_of(value), NULL);
        if (a->length < 0)
            fprintf(stderr, "daruma chaos: --for takes a time like 60s or 10m, not `%s`\n", value);
        return a->length >= 0;
    }
    if (one) {
        buf_putz(&a->yaml, a->faults ? " }\n- { " : "faults:\n- { ");
        put_fault(&a->yaml, str_of(value));
        return a->faults = true;
    }
    if (!a->faults) {
        fprintf(stderr, "daruma chaos: " STR_FMT " is about a fault: name it before, --fault KIND\n", STR_ARG(flag));
        return false;
    }
    BUF_LIT(&a->yaml, ", ");
    put_pair(&a->yaml, str_of(key), value);
    return true;
}

static bool *switch_of(arguments *a, daruma_str arg)
{
    return str_eq(arg, S("--quiet"))                          ? &a->quiet
           : str_eq(arg, S("--list"))                         ? &a->list
           : str_eq(arg, S("--help")) || str_eq(arg, S("-h")) ? &a->help
                                                              : NULL;
}

static bool read_arguments(int argc, char **argv, arguments *a)
{
    for (int i = 1; i < argc; i++) {
        daruma_str arg = str_of(argv[i]), rest = arg, flag = str_cut(&rest, '=');
        bool *on = switch_of(a, arg);
        if (on) {
            *on = true;
        } else if (arg.n > 1 && arg.p[0] == '-') {
            bool joined = flag.n < arg.n; /* --listen=:9100 */
            if (!read_flag(a, flag, joined ? argv[i] + flag.n + 1 : i + 1 < argc ? argv[i + 1] : NULL))
                return false;
            i += !joined;
        } else if (a->script) {
            fprintf(stderr, "daruma chaos: one script only, not also %s\n", argv[i]);
            return false;
        } else {
            a->script = argv[i];
        }
    }
    buf_putz(&a->yaml, a->faults ? " }\n" : "{}\n");
    if (a->script && a->faults) {
        fprintf(stderr, "daruma chaos: a script and --fault exclude each other: put the fault into the script\n");
        return false;
    }
    return true;
}

static script *load(const arguments *a, daruma_arena *memory)
{
    char why[256];
    daruma_str text = buf_str(&a->yaml);
    static conf_mistakes m;
    static char room[CLI_WHY_BYTES];
    daruma_buf told = buf_over(room, sizeof room);
    if (a->script && !sys_read_file(a->script, CHAOS_SCRIPT_BYTES_MAX, memory, &text, why)) {
        fprintf(stderr, "daruma chaos: %s\n", why);
        return NULL;
    }
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

static void start_run(run *r, const arguments *a)
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

static int serve(const arguments *a, script *s)
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
    bool six = strchr(host, ':') != NULL;
    printf("chaos listens on http://%s%s%s:%d with %zu fault%s; Ctrl-C ends it\n", six ? "[" : "", host, six ? "]" : "",
           chaos_port(k), nfaults, nfaults == 1 ? "" : "s");
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
    daruma_arena memory;
    int code = 2;
    if (!sys_arena_init(&memory, 4096, 2 * CHAOS_SCRIPT_BYTES_MAX))
        return 1;
    arguments a = {.length = -1, .yaml = buf_in(&memory)};
    if (read_arguments(argc, argv, &a)) {
        script *s = a.help || a.list ? NULL : load(&a, &memory);
        code = a.help || a.list ? 0 : s ? serve(&a, s) : 2;
        if (a.help)
            help();
        else if (a.list)
            list();
    }
    sys_arena_done(&memory);
    return code;
}
