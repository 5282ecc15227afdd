/* classify.c - `daruma classify`: what an error means. One raw error text for a person, or
 * records as JSON lines for a program. */
#include "cli/cli.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/str.h"
#include "sys/sys.h"
#include <stdlib.h>
#include <time.h>

#define CLASSIFY_MEMORY_BYTES    (4u << 20) /* arena for one record; bodies beyond 256 KiB are not read to their end */
#define CLASSIFY_HEADERS_MAX     64
#define CLASSIFY_INPUT_BYTES_MAX (1u << 30) /* of records in all */

static daruma_moment moment(void)
{
    return (daruma_moment){.wall = (int64_t)time(NULL)};
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
    static const daruma_str names[] = {LIT(""),       LIT("error_event"), LIT("empty"),
                                       LIT("broken"), LIT("cut"),         LIT("silent")};
    for (size_t i = 1; i < COUNT(names); i++)
        if (str_eq(name, names[i]))
            return (daruma_flaw)i;
    return DARUMA_FLAW_NONE;
}

/* Milliseconds as seconds with as many decimals as they need, or null. */
static daruma_str seconds(daruma_ms ms, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    if (ms < 0)
        return S("null");
    buf_int(&b, ms / 1000);
    if (ms % 1000)
        buf_printf(&b, ".%03d", (int)(ms % 1000));
    return buf_str(&b);
}

static buf_part name_or_null(const char *name)
{
    return *name ? buf_part_z(name) : buf_raw(S("null"));
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
    BUF_OBJECT(out, "id", buf_raw(id.n ? id : S("null")), "kind", name_or_null(daruma_kind_name(f.kind)), "tool_kind",
               name_or_null(daruma_tool_kind_name(f.tool_kind)), "severity",
               name_or_null(daruma_severity_name(f.severity)), "retryable", f.retryable, "retry_after_s",
               buf_raw(seconds(f.wait, a)), "rule", name_or_null(daruma_rule_name(f.rule)), "message", f.message);
    buf_putc(out, '\n');
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
            fprintf(stderr, "daruma classify: line %zu is not a JSON object\n", number);
            bad = 1;
            continue;
        }
        judge_record(record, &a, &out);
        if (out.full || a.full) {
            fprintf(stderr, "daruma classify: line %zu is too large\n", number);
            bad = 1;
            continue;
        }
        cli_put_json(stdout, buf_str(&out));
    }
    return bad;
}

/* ---- for people ---------------------------------------------------------------------------- */

static void classify_say(const char *what, daruma_str value)
{
    if (!value.n)
        return;
    printf("%-10s ", what);
    cli_put(stdout, value);
    putchar('\n');
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
    classify_say("kind", str_of(daruma_kind_name(f.kind)));
    classify_say("tool", str_of(daruma_tool_kind_name(f.tool_kind)));
    classify_say("means", str_of(daruma_kind_words(f.kind)));
    classify_say("message", f.message);
    classify_say("code", f.code);
    classify_say("about", f.subject);
    if (f.status)
        say_number("status", f.status);
    classify_say("severity", str_of(daruma_severity_name(f.severity)));
    classify_say("retryable", f.retryable ? S("yes, the same request may succeed later") : S("no, not unchanged"));
    if (f.wait >= 0) {
        buf_duration(&wait, f.wait);
        classify_say("wait", buf_str(&wait));
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

static bool read_headers_given(const char *const *given, daruma_evidence *ev, daruma_header *headers)
{
    for (ev->headers = headers; *given; given++)
        if (!add_header(str_of(*given), headers, &ev->nheaders))
            return cli_say(false, "classify", "--header takes 'NAME: VALUE', not `%s`", *given);
    return true;
}

static int judge(daruma_str all, bool jsonl, bool rule, daruma_evidence *ev, daruma_header *headers)
{
    char *mem = malloc(CLASSIFY_MEMORY_BYTES);
    if (!mem)
        return cli_say(1, "classify", "no memory");
    daruma_arena a = {.beg = mem, .end = mem + CLASSIFY_MEMORY_BYTES};
    int code = 0;
    ev->body = all;
    if (jsonl) {
        code = judge_lines(all, mem);
    } else if (!str_trim(all).n && !ev->status && !ev->nheaders) {
        fputs("daruma classify: nothing came: give it an error text, or at least its --status\n", stderr);
        code = 2;
    } else {
        cli_pasted(all, ev, headers, CLASSIFY_HEADERS_MAX, &a);
        judge_text(ev, rule, &a);
    }
    free(mem);
    return code;
}

int cli_classify(int argc, char **argv)
{
    const char *headers_given[CLI_AGAIN_MAX + 1] = {NULL}, *status = NULL, *provider = NULL;
    daruma_header headers[CLASSIFY_HEADERS_MAX];
    daruma_evidence ev = {.phase = DARUMA_AT_HEAD, .took = -1};
    bool jsonl = false, rule = false;
    const cli_option options[] = {
        CLI_VALUE("--status", "N", &status, "the HTTP status it came with"),
        CLI_VALUE("--header", "'NAME: VALUE'...", headers_given, "a header it came with; may be given again"),
        CLI_VALUE("--provider", "NAME", &provider, "who said it, when known: openai, anthropic, github-mcp, ..."),
        CLI_SWITCH("--rule", &rule, "which row of the phrase table decided"),
        CLI_SWITCH("--jsonl", &jsonl, "a JSON object a line, and one a line as the answer"),
        {0}};
    int at =
        cli_options(argc, argv, options,
                    "classify [--status N] [--header 'NAME: VALUE']... [--provider NAME] [--rule] [--jsonl] "
                    "[FILE]",
                    "Says what an error means, from a file or standard input. Of a whole HTTP answer, as curl -i and\n"
                    "curl -v print it, status and headers are read, too; what is said with options comes first.\n"
                    "\n"
                    "With --jsonl each line is one error (id, status, headers, body, provider), and so is each\n"
                    "of the answer (id, kind, tool_kind, severity, retryable, retry_after_s, rule, message).\n"
                    "The exit status is 1 when a line could not be read; the others are answered.\n"
                    "\n"
                    "Try:  echo 'prompt is too long: 213462 tokens > 200000 maximum' | daruma classify --rule\n"
                    "      curl -si URL | daruma classify\n"
                    "      curl -s URL | daruma classify --status 429 --header 'retry-after: 20'");
    if (at < 0)
        return at == -2 ? 0 : 2;
    if (!cli_status("classify", status, &ev.status))
        return 2;
    const char *file = cli_one_file(argc, argv, at);
    if (!file || !read_headers_given(headers_given, &ev, headers))
        return 2;
    ev.provider = str_of(provider);
    daruma_arena a;
    daruma_str all;
    if (!cli_read(argv[0], file, CLASSIFY_INPUT_BYTES_MAX, CLASSIFY_INPUT_BYTES_MAX * (size_t)2, &a, &all))
        return 1;
    int result = judge(all, jsonl, rule, &ev, headers);
    sys_arena_done(&a);
    return result;
}
