/* classify.c - `daruma classify`: what an error means. One raw error text for a person, or
 * records as JSON lines for a program. */
#include "cli/cli.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include <stdlib.h>
#include <time.h>

#define CLASSIFY_MEMORY_BYTES (4u << 20) /* arena for one record; bodies beyond 256 KiB are not read to their end */
#define CLASSIFY_HEADERS_MAX  64

static daruma_moment moment(void)
{
    return (daruma_moment){.wall = (int64_t)time(NULL)};
}

static char *read_all(FILE *f, size_t *n)
{
    size_t cap = 1u << 16;
    char *p = malloc(cap);
    for (*n = 0; p;) {
        *n += fread(p + *n, 1, cap - *n, f);
        if (*n < cap)
            return p;
        char *more = realloc(p, cap *= 2);
        if (!more)
            free(p);
        p = more;
    }
    return p;
}

/* ---- for programs ------------------------------------------------------------------------ */

static size_t read_headers(daruma_str object, daruma_header *out, daruma_arena *a)
{
    size_t n = 0;
    daruma_str key, v;
    json_iter it = json_open(object);
    if (!json_is_object(object))
        return 0;
    while (n < CLASSIFY_HEADERS_MAX && json_next(&it, &key, &v))
        out[n++] = (daruma_header){key, json_is_string(v) ? json_text(v, a) : v};
    return n;
}

/* What the wire did, by name; a record may say so. */
static daruma_net named_net(daruma_str name)
{
    for (int n = 0; n < DARUMA_NETS; n++)
        if (str_eq(name, str_of(daruma_net_name((daruma_net)n))))
            return (daruma_net)n;
    return DARUMA_NET_NONE;
}

static daruma_flaw named_flaw(daruma_str name)
{
    static const daruma_str names[] = {{"", 0},       {"error_event", 11}, {"empty", 5},
                                       {"broken", 6}, {"cut", 3},          {"silent", 6}};
    for (size_t i = 1; i < sizeof names / sizeof *names; i++)
        if (str_eq(name, names[i]))
            return (daruma_flaw)i;
    return DARUMA_FLAW_NONE;
}

/* Milliseconds as seconds with as many decimals as they need, or null. */
static void put_seconds(daruma_buf *b, daruma_ms ms)
{
    if (ms < 0) {
        BUF_LIT(b, "null");
        return;
    }
    buf_int(b, ms / 1000);
    if (ms % 1000)
        buf_printf(b, ".%03d", (int)(ms % 1000));
}

static void put_name(daruma_buf *b, const char *key, const char *value)
{
    buf_printf(b, ",\"%s\":", key);
    if (*value)
        buf_json(b, str_of(value));
    else
        BUF_LIT(b, "null");
}

static void judge_record(daruma_str line, daruma_arena *a, daruma_buf *out)
{
    daruma_header headers[CLASSIFY_HEADERS_MAX];
    daruma_str body = json_get(line, S("body"));
    daruma_evidence ev = {
        .phase = DARUMA_AT_HEAD,
        .status = (int)json_int(json_get(line, S("status")), 0),
        .provider = json_text(json_get(line, S("provider")), a),
        .body = json_is_string(body) ? json_text(body, a)
                : json_is_null(body) ? S("")
                                     : body,
        .headers = headers,
        .nheaders = read_headers(json_get(line, S("headers")), headers, a),
        .net = named_net(json_text(json_get(line, S("net")), a)),
        .flaw = named_flaw(json_text(json_get(line, S("flaw")), a)),
        .took = -1,
    };
    daruma_failure f = daruma_classify(&ev, moment(), a);
    daruma_str id = json_get(line, S("id"));
    BUF_LIT(out, "{\"id\":");
    buf_put(out, id.n ? id : S("null"));
    put_name(out, "kind", daruma_kind_name(f.kind));
    put_name(out, "tool_kind", daruma_tool_kind_name(f.tool_kind));
    put_name(out, "severity", daruma_severity_name(f.severity));
    buf_printf(out, ",\"retryable\":%s,\"retry_after_s\":", f.retryable ? "true" : "false");
    put_seconds(out, f.wait);
    put_name(out, "rule", daruma_rule_name(f.rule));
    BUF_LIT(out, ",\"message\":");
    buf_json(out, f.message);
    BUF_LIT(out, "}\n");
}

static int judge_lines(daruma_str all, char *mem)
{
    int bad = 0;
    for (size_t number = 1; all.n; number++) {
        daruma_arena a = {.beg = mem, .end = mem + CLASSIFY_MEMORY_BYTES};
        daruma_str line = str_trim(str_cut(&all, '\n')), record;
        daruma_buf out = buf_in(&a);
        if (!line.n)
            continue;
        if (!json_whole(line, &record) || !json_is_object(record)) {
            fprintf(stderr, "classify: line %zu is not a JSON object\n", number);
            bad = 1;
            continue;
        }
        judge_record(record, &a, &out);
        if (out.full || a.full) {
            fprintf(stderr, "classify: line %zu is too large\n", number);
            bad = 1;
            continue;
        }
        fwrite(out.p, 1, out.n, stdout);
    }
    return bad;
}

/* ---- for people ---------------------------------------------------------------------------- */

static void say(const char *what, daruma_str value)
{
    if (value.n)
        printf("%-10s " STR_FMT "\n", what, STR_ARG(value));
}

static void say_number(const char *what, int64_t n)
{
    if (n >= 0)
        printf("%-10s %lld\n", what, (long long)n);
}

static void judge_text(const daruma_evidence *ev, bool rule, daruma_arena *a)
{
    daruma_failure f = daruma_classify(ev, moment(), a);
    daruma_buf wait = buf_in(a);
    say("kind", str_of(daruma_kind_name(f.kind)));
    say("tool", str_of(daruma_tool_kind_name(f.tool_kind)));
    say("means", str_of(daruma_kind_words(f.kind)));
    say("message", f.message);
    say("code", f.code);
    say("about", f.subject);
    if (f.status)
        say_number("status", f.status);
    say("severity", str_of(daruma_severity_name(f.severity)));
    say("retryable", f.retryable ? S("yes, the same request may succeed later") : S("no, not unchanged"));
    if (f.wait >= 0) {
        buf_duration(&wait, f.wait);
        say("wait", buf_str(&wait));
    }
    say_number("limit", f.limit);
    say_number("used", f.used);
    say_number("requested", f.requested);
    if (rule)
        printf("%-10s %s (%d %% sure)\n", "rule", f.rule ? daruma_rule_name(f.rule) : "none", f.sure);
}

static bool add_header(daruma_str text, daruma_header *h, size_t *n)
{
    daruma_str rest = text, name = str_cut(&rest, ':');
    if (*n == CLASSIFY_HEADERS_MAX || name.n == text.n)
        return false;
    h[(*n)++] = (daruma_header){str_trim(name), str_trim(rest)};
    return true;
}

static void help(void)
{
    fputs("usage: daruma classify [--jsonl] [--status N] [--header 'NAME: VALUE'] [--provider NAME] [--rule] [FILE]\n"
          "\n"
          "Says what an error means, from FILE or standard input.\n"
          "\n"
          "  --status N         the HTTP status it came with\n"
          "  --header 'N: V'    a header it came with; may be given again\n"
          "  --provider NAME    who said it, when known: openai, anthropic, github-mcp, ...\n"
          "  --rule             show which row of the phrase table decided\n"
          "  --jsonl            FILE has one JSON object a line (id, status, headers, body, provider);\n"
          "                     answers with one a line (id, kind, tool_kind, severity, retryable,\n"
          "                     retry_after_s, rule, message)\n"
          "\n"
          "Try:  echo 'prompt is too long: 213462 tokens > 200000 maximum' | daruma classify --rule\n"
          "      curl -s URL | daruma classify --status 429 --header 'retry-after: 20'\n",
          stdout);
}

static int wrong(const char *what, const char *arg)
{
    fprintf(stderr, "classify: %s%s; see daruma classify --help\n", what, arg);
    return 2;
}

int cli_classify(int argc, char **argv)
{
    daruma_header headers[CLASSIFY_HEADERS_MAX];
    daruma_evidence ev = {.phase = DARUMA_AT_HEAD, .headers = headers, .took = -1};
    bool jsonl = false, rule = false;
    const char *file = NULL;
    for (int i = 1; i < argc; i++) {
        daruma_str arg = str_of(argv[i]);
        bool takes = str_eq(arg, S("--status")) || str_eq(arg, S("--header")) || str_eq(arg, S("--provider"));
        int64_t status;
        if (takes && i + 1 == argc)
            return wrong("a value must follow ", argv[i]);
        if (str_eq(arg, S("--help")) || str_eq(arg, S("-h"))) {
            help();
            return 0;
        } else if (str_eq(arg, S("--jsonl"))) {
            jsonl = true;
        } else if (str_eq(arg, S("--rule"))) {
            rule = true;
        } else if (str_eq(arg, S("--status"))) {
            if (!str_int(str_of(argv[++i]), &status) || status > 999)
                return wrong("not an HTTP status: ", argv[i]);
            ev.status = (int)status;
        } else if (str_eq(arg, S("--header"))) {
            if (!add_header(str_of(argv[++i]), headers, &ev.nheaders))
                return wrong("not a header of the form 'Name: value': ", argv[i]);
        } else if (str_eq(arg, S("--provider"))) {
            ev.provider = str_of(argv[++i]);
        } else if (arg.n > 1 && arg.p[0] == '-') {
            return wrong("unknown option ", argv[i]);
        } else if (file) {
            return wrong("one file only, not also ", argv[i]);
        } else {
            file = argv[i];
        }
    }
    FILE *f = file && strcmp(file, "-") != 0 ? fopen(file, "rb") : stdin;
    if (!f) {
        perror(file);
        return 1;
    }
    size_t n;
    char *all = read_all(f, &n), *mem = malloc(CLASSIFY_MEMORY_BYTES);
    int code = 0;
    if (f != stdin)
        fclose(f);
    if (!all || !mem) {
        fputs("classify: no memory\n", stderr);
        code = 1;
    } else if (jsonl) {
        code = judge_lines((daruma_str){all, n}, mem);
    } else {
        daruma_arena a = {.beg = mem, .end = mem + CLASSIFY_MEMORY_BYTES};
        ev.body = (daruma_str){all, n};
        judge_text(&ev, rule, &a);
    }
    free(all);
    free(mem);
    return code;
}
