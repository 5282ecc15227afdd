/* explain.c - `daruma explain`: an error on stdin, or a case from the event file, in plain words. */
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "cli/runs.h"
#include "sys/sys.h"
#include <stdlib.h>

enum {
    EVENTS_FILE_BYTES_MAX = 256 << 20,
    HEADERS_MAX = 64,
    CASE_DIGITS = 16,
    CASE_DIGITS_MIN = 4 /* fewer are hardly ever one case alone */
};

static daruma_str read_all(FILE *in, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    char chunk[4096];
    size_t n;
    while ((n = fread(chunk, 1, sizeof chunk, in)) > 0 && b.n < CLASSIFY_BODY_BYTES_MAX)
        buf_put(&b, (daruma_str){chunk, n});
    return buf_str(&b);
}

/* ---- an error text ---- */

static int explain_text(int status, daruma_arena *a)
{
    daruma_header headers[HEADERS_MAX];
    daruma_evidence ev = {
        .phase = DARUMA_AT_ANSWER, .status = status, .body = str_trim(cli_unmarked(read_all(stdin, a))), .took = -1};
    if (!ev.body.n && !status)
        return cli_say(2, "explain", "nothing came on stdin; give an error text there, or a case id as argument");
    cli_pasted(ev.body, &ev, headers, COUNT(headers), a);
    daruma_failure f = daruma_classify(&ev, sys_moment(), a);
    daruma_buf b = buf_in(a);
    daruma_explain(&f, NULL, &b);
    buf_putc(&b, '\n');
    cli_put_page(stdout, buf_str(&b));
    return 0;
}

/* ---- a case ---- */

/* "used another key", for the name of a remedy; the name itself when it is none of ours. */
static daruma_str remedy_words(daruma_str name)
{
    for (int r = DARUMA_REMEDY_NONE; r < DARUMA_REMEDIES; r++)
        if (str_eq(name, str_of(daruma_remedy_name((daruma_remedy_kind)r))))
            return str_of(daruma_remedy_words((daruma_remedy_kind)r));
    return name;
}

/* ": the connection was refused", for the name of what was wrong on the wire; nothing for any other. */
static void put_net(daruma_str name, daruma_buf *b)
{
    for (int n = DARUMA_NET_NONE + 1; n < DARUMA_NETS; n++)
        if (str_eq(name, str_of(daruma_net_name((daruma_net)n))))
            BUF_SAY(b, ": ", daruma_net_words((daruma_net)n));
}

/* "main/gpt-5 (key1)" of an event. */
static void put_target(daruma_str line, daruma_buf *b, daruma_arena *a)
{
    daruma_str model = json_text(json_get(line, S("model")), a), key = json_text(json_get(line, S("key")), a);
    BUF_SAY(b, json_text(json_get(line, S("provider")), a), model.n ? "/" : "", model);
    if (key.n)
        BUF_SAY(b, " (", key, ")");
}

/* Any other event: what was done, else its name with the tool and the remedy; before and after; what else there is to
 * say. */
static void put_other(daruma_str line, daruma_str name, daruma_buf *b, daruma_arena *a)
{
    daruma_str what = json_text(json_get(line, S("what")), a), reason = json_text(json_get(line, S("reason")), a);
    daruma_str from = json_text(json_get(line, S("from")), a), to = json_text(json_get(line, S("to")), a);
    int64_t was = json_int(json_get(line, S("original_size_chars")), -1);
    int64_t is = json_int(json_get(line, S("compressed_size_chars")), -1);
    daruma_str tool = json_text(json_get(line, S("tool")), a), remedy = json_text(json_get(line, S("remedy")), a);
    for (size_t i = 0; i < name.n && !what.n; i++)
        buf_putc(b, name.p[i] == '_' ? ' ' : name.p[i]);
    if (!what.n && tool.n)
        BUF_SAY(b, " (", tool, ")");
    if (!what.n && remedy.n)
        BUF_SAY(b, ": daruma ", remedy_words(remedy));
    buf_put(b, what);
    if (from.n && to.n)
        BUF_SAY(b, "; before: ", from, "; after: ", to);
    if (was >= 0 && is >= 0)
        buf_printf(b, "; before: %lld characters; after: %lld", (long long)was, (long long)is);
    if (str_eq(name, S("tool_failed"))) /* of others it is the provider's, and said already */
        reason = json_text(json_get(line, S("message")), a);
    if (reason.n)
        BUF_SAY(b, ": ", reason);
}

/* The words of one event line; empty for events that say nothing to people. */
static void tell_event(daruma_str line, size_t *calls, daruma_arena *a)
{
    daruma_str name = json_text(json_get(line, S("event")), a), ts = json_text(json_get(line, S("ts")), a);
    daruma_str kind = json_text(json_get(line, S("kind")), a), message = json_text(json_get(line, S("message")), a);
    bool known;
    daruma_kind k = daruma_kind_parse(kind, &known);
    daruma_buf b = buf_in(a);
    if (str_eq(name, S("error_recovery_attempt")) || str_eq(name, S("llm_retry_exhausted")))
        return; /* what stands beside them says it */
    buf_printf(&b, "%.*s  ", (int)(ts.n > 40 ? 40 : ts.n), ts.p ? ts.p : "");
    if (str_eq(name, S("llm_request_failed"))) {
        buf_printf(&b, "call %zu to ", ++*calls);
        put_target(line, &b, a);
        BUF_SAY(&b, " failed: ", daruma_kind_words(k));
        put_net(json_text(json_get(line, S("net")), a), &b);
        int64_t status = json_int(json_get(line, S("status")), 0);
        if (status)
            buf_printf(&b, " (%s, status %lld)", daruma_kind_name(k), (long long)status);
        daruma_str id = json_text(json_get(line, S("provider_request_id")), a);
        if (id.n) { /* what its support asks for */
            BUF_SAY(&b, ", the provider's request ", id);
        }
        if (message.n)
            BUF_SAY(&b, "; the provider said: ", message);
    } else if (str_eq(name, S("llm_retry_attempt"))) {
        daruma_str remedy = json_text(json_get(line, S("remedy")), a);
        BUF_SAY(&b, "so daruma ", remedy_words(remedy));
        int64_t delay = json_int(json_get(line, S("delay_ms")), 0);
        if (delay > 0) {
            BUF_LIT(&b, " after ");
            buf_duration(&b, delay);
        }
        if (str_starts(remedy, S("switch"))) { /* behind a wait another one may be well */
            BUF_LIT(&b, ": ");
            put_target(line, &b, a);
        }
    } else if (str_eq(name, S("error_recovery_success"))) {
        BUF_LIT(&b, "it worked: ");
        put_target(line, &b, a);
        BUF_LIT(&b, " answered, ");
        buf_duration(&b, json_int(json_get(line, S("took_ms")), 0));
        BUF_LIT(&b, " after the request came; the client saw nothing of this");
    } else if (str_eq(name, S("error_recovery_failed"))) {
        BUF_LIT(&b, "nothing more to try: the client was told");
    } else {
        put_other(line, name, &b, a);
    }
    buf_putc(&b, '\n');
    cli_put_page(stdout, buf_str(&b));
}

/* The last failure of a case, in the words the client got. */
static void tell_end(daruma_str line, daruma_arena *a)
{
    bool known;
    daruma_str told = json_text(json_get(line, S("reason")), a);
    if (told.n) {
        putchar('\n');
        cli_put_page(stdout, told);
        putchar('\n');
        return;
    }
    daruma_kind k = daruma_kind_parse(json_text(json_get(line, S("kind")), a), &known);
    daruma_failure f = {.kind = k,
                        .status = (int)json_int(json_get(line, S("status")), 0),
                        .severity = daruma_kind_severity(k),
                        .retryable = json_is_true(json_get(line, S("retryable"))),
                        .limit = json_int(json_get(line, S("limit")), -1),
                        .used = json_int(json_get(line, S("used")), -1),
                        .requested = json_int(json_get(line, S("requested")), -1),
                        .wait = json_int(json_get(line, S("retry_after_ms")), -1),
                        .subject = json_text(json_get(line, S("subject")), a),
                        .message = json_text(json_get(line, S("message")), a)};
    daruma_buf b = buf_in(a);
    daruma_explain(&f, NULL, &b);
    buf_putc(&b, '\n');
    cli_put_page(stdout, buf_str(&b));
}

/* The whole number of the case that begins so, as lines on a terminal show it. Empty when there is none, or `*many`. */
static daruma_str whole_id(daruma_str text, daruma_str begin, bool *many, daruma_arena *a)
{
    daruma_str id = {0};
    *many = false;
    while (text.n) {
        daruma_str line = str_cut(&text, '\n'), raw = json_get(line, S("case")), one;
        if (raw.n < begin.n + 2 || !str_starts(str_from(raw, 1), begin)) /* behind its quote */
            continue;
        one = json_text(raw, a);
        *many |= id.n && !str_eq(id, one);
        id = one;
    }
    return id;
}

static bool is_case_number(daruma_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!ch_digit(s.p[i]) && (s.p[i] < 'a' || s.p[i] > 'f'))
            return false;
    return s.n >= CASE_DIGITS_MIN && s.n <= CASE_DIGITS;
}

static int explain_case(const char *id, const char *file, daruma_arena *a)
{
    daruma_str text, last = {0};
    char why[256];
    size_t calls = 0;
    bool many;
    if (!is_case_number(str_of(id)))
        return cli_say(2, "explain",
                       "`%s` is no case: that is %d hexadecimal digits, or the first of them\n"
                       "(x-daruma-case). A text is explained from standard input: daruma explain < FILE",
                       id, CASE_DIGITS);
    if (!sys_read_file(file, EVENTS_FILE_BYTES_MAX, a, &text, why))
        return cli_say(2, "explain",
                       "%s\nName the event file with --events FILE (`events: { file: ... }` in the "
                       "configuration).",
                       why);
    daruma_str whole = whole_id(text, str_of(id), &many, a);
    if (!whole.n || many)
        return cli_say(1, "explain",
                       many ? "%s has several cases that begin with %s"
                            : "%s has no case %s (their numbers stand in x-daruma-case)",
                       file, id);
    while (text.n) {
        daruma_str line = str_cut(&text, '\n');
        if (!str_eq(json_text(json_get(line, S("case")), a), whole))
            continue;
        tell_event(line, &calls, a);
        last = line;
    }
    if (json_get(last, S("kind")).n && str_eq(json_text(json_get(last, S("event")), a), S("error_recovery_failed")))
        tell_end(last, a);
    return 0;
}

/* The ids of runs begin with a date, and no number of a case has a '-'. */
static bool is_run(const char *name)
{
    return strcmp(name, "last") == 0 || (ch_digit(name[0]) && strchr(name, '-'));
}

static int explain_run(const char *name, const char *state, daruma_arena *a)
{
    char room[JOURNAL_PATH_BYTES];
    const char *folder = runs_folder(state, room);
    daruma_str id = folder ? runs_id(folder, name, a) : (daruma_str){0};
    if (id.n)
        return runs_explain(folder, id);
    return folder ? cli_say(2, "explain", "there is no run in %s", folder)
                  : cli_say(2, "explain", "where are the journals? --state DIR");
}

int cli_explain(int argc, char **argv)
{
    static const char about[] =
        "Says in plain words what an error means and what to do about it.\n\n"
        "  daruma explain < error.json           an error text, JSON, HTML, a log line, or a\n"
        "                                        whole HTTP answer (curl -i, curl -v)\n"
        "  daruma explain CASE                   a case from the event file: its number (x-daruma-case),\n"
        "                                        or the digits a line on the terminal shows\n"
        "  daruma explain RUN                    a run of `daruma run` from its journal; `last` is the newest";
    const char *file = "daruma.events.jsonl", *status = NULL, *state = NULL;
    const cli_option options[] = {
        CLI_VALUE("--events", "FILE", &file, "the event file; default: daruma.events.jsonl"),
        CLI_VALUE("--status", "N", &status, "the HTTP status that came with the error on stdin"),
        CLI_VALUE("--state", "DIR", &state, "where runs are recorded; else ~/.local/state/daruma"),
        {0}};
    int rest = cli_options(argc, argv, options, "explain [--status N] [--events FILE] [--state DIR] [CASE|RUN]", about);
    int code;
    daruma_arena a;
    if (rest < 0)
        return rest == -2 ? 0 : 2;
    if (!cli_status("explain", status, &code))
        return 2;
    if (argc - rest > 1)
        return cli_say(2, "explain", "one case only, not also %s", argv[rest + 1]);
    sys_arena_init(&a, 65536, (size_t)2 * EVENTS_FILE_BYTES_MAX);
    int result = rest < argc && is_run(argv[rest]) ? explain_run(argv[rest], state, &a)
                 : rest < argc                     ? explain_case(argv[rest], file, &a)
                                                   : explain_text(code, &a);
    sys_arena_done(&a);
    return result;
}
