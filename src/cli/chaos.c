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

static void help(void)
{
    const char *words, *name;
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
    printf("Behind --fault, `for` is the value of the kind: --fault stall=40s.\n\nEnds on Ctrl-C, after --for, or on "
           "POST /chaos/finish; exit code 1 when an expectation did not hold.\n");
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

static bool is_fault_key(daruma_str key)
{
    const char *name;
    for (size_t i = 0; (name = script_fault_key(i, NULL)); i++)
        if (str_eq(key, str_of(name)))
            return true;
    return false;
}

/* "--after-events" is the key after_events. */
static daruma_str key_of_flag(const char *flag, char key[64])
{
    size_t n = 0;
    for (const char *p = flag + 2; *p && n < 63; p++)
        key[n++] = *p == '-' ? '_' : *p;
    return (daruma_str){key, n};
}

static void put_pair(daruma_buf *b, daruma_str key, const char *value)
{
    buf_put(b, key);
    BUF_LIT(b, ": ");
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

static bool read_flag(arguments *a, const char *flag, const char *value)
{
    char room[64];
    daruma_str key = key_of_flag(flag, room);
    if (strcmp(flag, "--fault") == 0) {
        buf_putz(&a->yaml, a->faults ? " }\n- { " : "faults:\n- { ");
        put_fault(&a->yaml, str_of(value));
        return a->faults = true;
    }
    if (strcmp(flag, "--for") == 0) /* always the run's: a fault's is --fault KIND=TIME */
        return (a->length = date_duration(str_of(value), NULL)) >= 0;
    if (strcmp(flag, "--script") == 0)
        return (a->script = value) != NULL;
    if (strcmp(flag, "--listen") == 0)
        return (a->listen = value) != NULL;
    if (!a->faults || !is_fault_key(key))
        return false;
    BUF_LIT(&a->yaml, ", ");
    put_pair(&a->yaml, key, value);
    return true;
}

static bool read_arguments(int argc, char **argv, arguments *a)
{
    for (int i = 1; i < argc; i++) {
        bool *on = strcmp(argv[i], "--quiet") == 0  ? &a->quiet
                   : strcmp(argv[i], "--list") == 0 ? &a->list
                   : strcmp(argv[i], "--help") == 0 ? &a->help
                                                    : NULL;
        if (on) {
            *on = true;
            continue;
        }
        if (strncmp(argv[i], "--", 2) != 0 && !a->script) {
            a->script = argv[i];
            continue;
        }
        if (strncmp(argv[i], "--", 2) != 0 || i + 1 == argc || !read_flag(a, argv[i], argv[i + 1])) {
            fprintf(stderr, "daruma chaos: cannot use `%s%s%s`; see daruma chaos --help\n", argv[i],
                    i + 1 < argc ? " " : "", i + 1 < argc ? argv[i + 1] : "");
            return false;
        }
        i++;
    }
    buf_putz(&a->yaml, a->faults ? " }\n" : "{}\n");
    if (a->script && a->faults) {
        fprintf(stderr, "daruma chaos: --script and --fault exclude each other: put the fault into the script\n");
        return false;
    }
    return true;
}

static script *load(const arguments *a, daruma_arena *memory)
{
    char why[256];
    daruma_str text = buf_str(&a->yaml);
    script_error err;
    if (a->script && !sys_read_file(a->script, CHAOS_SCRIPT_BYTES_MAX, memory, &text, why)) {
        fprintf(stderr, "daruma chaos: %s\n", why);
        return NULL;
    }
    script *s = script_read(text, &err);
    if (!s && a->script)
        fprintf(stderr, "%s:%d:%d: %s\n", a->script, err.line, err.column, err.text);
    else if (!s)
        fprintf(stderr, "daruma chaos: %s\n", err.text);
    return s;
}

/* "127.0.0.1:9100", "[::1]:9100", "9100" */
static bool read_listen(daruma_str s, char host[64], int *port)
{
    int64_t number;
    size_t colon = STR_NONE;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == ':')
            colon = i;
    daruma_str name = colon == STR_NONE ? S("") : str_sub(s, 0, colon);
    if (!str_int(colon == STR_NONE ? s : str_from(s, colon + 1), &number) || number > 65535)
        return false;
    if (name.n >= 2 && name.p[0] == '[' && name.p[name.n - 1] == ']')
        name = str_sub(name, 1, name.n - 2);
    if (name.n == 0)
        name = S("127.0.0.1");
    *port = (int)number;
    snprintf(host, 64, STR_FMT, STR_ARG(str_eq(name, S("localhost")) ? S("127.0.0.1") : name));
    return true;
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
    int port;
    daruma_str listen = a->listen ? str_of(a->listen) : s->listen.n ? s->listen : S("127.0.0.1:9100");
    if (!read_listen(listen, host, &port)) {
        fprintf(stderr, "daruma chaos: cannot listen on `" STR_FMT "`: want HOST:PORT\n", STR_ARG(listen));
        script_drop(s);
        return 2;
    }
    run r;
    start_run(&r, a);
    chaos_settings settings = {host, port, a->quiet ? NULL : on_line, on_finished, &r};
    size_t nfaults = s->nfaults;
    chaos *k = chaos_start(&r.loop, &settings, s, why);
    if (!k) {
        fprintf(stderr, "daruma chaos: %s\n", why);
        end_run(&r);
        return 1;
    }
    printf("chaos listens on http://%s:%d with %zu fault%s; Ctrl-C ends it\n", host, chaos_port(k), nfaults,
           nfaults == 1 ? "" : "s");
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
