/* review.c - `daruma review`: a run of an agent that is over, on one page: what went wrong where, what it cost, and
 * what would have helped. */
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/review/transcript.h"
#include "engine/watch/review.h"
#include "sys/sys.h"
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MEMORY_BYTES = 1 << 30,   /* a body of 64 MiB, and its texts decoded */
    SCRATCH_BYTES = 64 << 20, /* the largest step once more */
    PAGE_COLUMNS = 100,
    CALL_COLUMNS = 72, /* of a call that is shown */
    PAGE_CIRCLES = 6,  /* that are shown: a page is a page */
    PAGE_FAILURES = 6,
    PAGE_ESCALATIONS = 3,
};

typedef struct page {
    const transcript *t;
    const review *r;
    daruma_arena *a;
    daruma_buf out;
    const char *bold, *bad, *good, *plain; /* colours, or nothing */
} page;

/* ---- words ---- */

/* One line of at most `columns` characters, without secrets. */
static daruma_str short_text(daruma_str text, size_t columns, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    daruma_str s = str_trim(daruma_redact(str_sub(str_trim(text), 0, 4096), a));
    size_t n = 0;
    bool space = false;
    for (size_t i = 0, step; i < s.n; i += step) {
        bool fit;
        step = str_step(str_from(s, i), &fit);
        if (!fit || s.p[i] == ' ') {
            space = true;
            continue;
        }
        if (n + space >= columns) {
            BUF_LIT(&b, " ...");
            break;
        }
        if (space && b.n)
            buf_putc(&b, ' ');
        n += 1 + space;
        space = false;
        buf_put(&b, str_sub(s, i, step));
    }
    return buf_str(&b);
}

static daruma_str call_text(const daruma_step *s, daruma_arena *a)
{
    if (!s->tool.n)
        return short_text(s->result, CALL_COLUMNS, a);
    return short_text(STR_SAY(a, s->tool, " ", str_sub(s->args, 0, 4096)), CALL_COLUMNS, a);
}

/* Behind `first` columns that are written, the words in lines that begin with spaces. */
static void wrap(daruma_buf *out, size_t indent, daruma_str text)
{
    size_t column = indent;
    buf_printf(out, "%*s", (int)indent, "");
    while (text.n) {
        daruma_str word = str_cut(&text, ' ');
        size_t n = 0;
        for (size_t i = 0; i < word.n; i++)
            n += ((unsigned char)word.p[i] & 0xc0) != 0x80;
        if (column > indent && column + 1 + n > PAGE_COLUMNS) {
            buf_printf(out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            buf_putc(out, ' ');
            column++;
        }
        buf_put(out, word);
        column += n;
    }
    buf_putc(out, '\n');
}

static int64_t tokens_of(int64_t bytes)
{
    return mul_sat(bytes, 2) / 7; /* 3.5 bytes each, as everywhere in daruma */
}

static void put_bytes(daruma_buf *b, int64_t n)
{
    if (n < 10000) {
        cli_put_count(b, (uint64_t)n);
        BUF_LIT(b, " bytes");
    } else if (n < 10000000)
        buf_printf(b, "%lld KB", (long long)(n / 1000));
    else
        buf_printf(b, "%lld MB", (long long)(n / 1000000));
    BUF_LIT(b, " (about ");
    cli_put_count(b, (uint64_t)tokens_of(n));
    BUF_LIT(b, " tokens)");
}

static void put_times(daruma_buf *b, uint32_t n)
{
    if (n == 1)
        BUF_LIT(b, "once");
    else
        buf_printf(b, "%u times", n);
}

static const daruma_step *step_at(const page *p, uint32_t step)
{
    return &p->t->run.steps[step - 1].step;
}

static void heading(page *p, const char *words)
{
    buf_printf(&p->out, "\n%s%s%s\n", p->bold, words, p->plain);
}

/* ---- the page ---- */

static void say_rungs(page *p, const review_circle *c)
{
    daruma_buf b = buf_in(p->a);
    if (!c->after[REVIEW_TOLD])
        return;
    buf_printf(&b, "`watch: guide` would have told the model after step %u.", c->after[REVIEW_TOLD]);
    if (c->after[REVIEW_REFUSED])
        buf_printf(&b, " Had it gone on, `enforce` would have refused the call after step %u",
                   c->after[REVIEW_REFUSED]);
    else if (c->after[REVIEW_FINISHED])
        BUF_LIT(&b, " Had it gone on, `enforce` would have");
    if (c->after[REVIEW_FINISHED])
        buf_printf(&b, "%s had it answer without tools after step %u", c->after[REVIEW_REFUSED] ? "," : "",
                   c->after[REVIEW_FINISHED]);
    if (c->after[REVIEW_STOPPED])
        buf_printf(&b, ", and stopped it with what was known after step %u", c->after[REVIEW_STOPPED]);
    if (c->after[REVIEW_REFUSED] || c->after[REVIEW_FINISHED])
        buf_putc(&b, '.');
    wrap(&p->out, 5, buf_str(&b));
}

static void say_circle(page *p, size_t i)
{
    const review_circle *c = &p->r->circles[i];
    daruma_buf say = buf_in(p->a);
    buf_printf(&p->out, "  %zu  %ssteps %u to %u: ", i + 1, p->bad, c->first, c->last);
    buf_putz(&p->out, daruma_circle_words(c->v.circle));
    buf_printf(&p->out, "%s (%s, %u %% sure)\n", p->plain, daruma_circle_name(c->v.circle), c->v.sure);
    for (uint32_t k = 0; k < c->ncalls; k++)
        buf_printf(&p->out, "     step %u: " STR_FMT "\n", c->calls[k],
                   STR_ARG(call_text(step_at(p, c->calls[k]), p->a)));
    if (!c->ncalls)
        buf_printf(&p->out, "     step %u: " STR_FMT "\n", c->last, STR_ARG(call_text(&c->step, p->a)));
    daruma_verdict_say(&c->v, &c->step, &say);
    wrap(&p->out, 5, short_text(buf_str(&say), 600, p->a));
    if (c->next)
        buf_printf(&p->out, "     It ended with step %u: " STR_FMT "\n", c->next,
                   STR_ARG(call_text(step_at(p, c->next), p->a)));
    else
        BUF_LIT(&p->out, "     It was still going on at the end.\n");
    say_rungs(p, c);
}

static void say_circles(page *p)
{
    size_t n = p->r->ncircles, all = n + p->r->more_circles;
    if (!n)
        return;
    heading(p, "Circles");
    for (size_t i = 0; i < n && i < PAGE_CIRCLES; i++)
        say_circle(p, i);
    if (all > PAGE_CIRCLES)
        buf_printf(&p->out, "  and %zu more; --json has them\n", all - PAGE_CIRCLES);
}

static void say_lesson(page *p, const review_failure *f)
{
    daruma_buf b = buf_in(p->a);
    const daruma_step *by = f->solved ? step_at(p, f->solved) : NULL;
    if (by && daruma_call_hash(by->tool, by->args) == f->f.call)
        buf_printf(&b, "Overcome: the same call worked at step %u.", f->solved);
    else if (by)
        buf_printf(&b, "Overcome at step %u: " STR_FMT, f->solved, STR_ARG(call_text(by, p->a)));
    else if (f->lesson.kind != DARUMA_STRATEGY_OTHER)
        buf_printf(&b, "What helped against it (%s): %s %s", daruma_strategy_name(f->lesson.kind), f->lesson.tool,
                   f->lesson.parameters);
    if (b.n)
        wrap(&p->out, 5, short_text(buf_str(&b), 300, p->a));
}

static void say_failure(page *p, const review_failure *f)
{
    daruma_buf b = buf_in(p->a);
    buf_printf(&p->out, "  -  %s" STR_FMT, f->open ? p->bad : p->good, STR_ARG(short_text(f->f.tool, 60, p->a)));
    buf_printf(&p->out, "%s failed ", p->plain);
    put_times(&p->out, f->times);
    buf_printf(&p->out, " (%s), ", daruma_tool_kind_name(f->f.kind));
    if (f->times > 1)
        buf_printf(&p->out, "steps %u to %u: ", f->first, f->last);
    else
        buf_printf(&p->out, "step %u: ", f->first);
    if (!f->open)
        BUF_LIT(&p->out, "overcome\n");
    else if (f->open < f->times)
        buf_printf(&p->out, "%u of them not overcome\n", f->open);
    else
        BUF_LIT(&p->out, "not overcome\n");
    BUF_SAY(&b, "\"", short_text(f->f.message, 180, p->a), "\"");
    wrap(&p->out, 5, buf_str(&b));
    say_lesson(p, f);
    if (f->open && f->f.suggestion.n) {
        wrap(&p->out, 5, STR_SAY(p->a, "What to do: ", f->f.suggestion));
    }
}

static void say_failures(page *p)
{
    const review *r = p->r;
    size_t shown = 0;
    if (!r->nfailures)
        return;
    heading(p, r->open ? "Failing tools" : "Failing tools, all overcome");
    for (int open = 1; open >= 0; open--)
        for (size_t i = 0; i < r->nfailures; i++)
            if ((r->failures[i].open != 0) == (open != 0) && shown++ < PAGE_FAILURES)
                say_failure(p, &r->failures[i]);
    if (shown > PAGE_FAILURES || r->more_failures)
        buf_printf(&p->out, "  and %zu more; --json has them\n",
                   r->nfailures + r->more_failures - (shown < PAGE_FAILURES ? shown : PAGE_FAILURES));
    for (size_t i = 0; i < r->nescalations && i < PAGE_ESCALATIONS; i++) {
        daruma_buf b = buf_in(p->a);
        buf_printf(&b, "After step %u a person should have looked: ", r->escalations[i].step);
        buf_put(&b, r->escalations[i].reason);
        if (r->escalations[i].overcome)
            BUF_LIT(&b, " (It was overcome later.)");
        wrap(&p->out, 2, short_text(buf_str(&b), 400, p->a));
    }
}

static bool found(const review *r)
{
    return r->ncircles || r->open;
}

static void say_cost(page *p)
{
    const review_cost *c = &p->r->cost;
    size_t n = p->t->run.n;
    daruma_buf b = buf_in(p->a);
    if (!n || !found(p->r))
        return;
    heading(p, "Cost");
    if (c->wasted) {
        buf_printf(
            &b,
            "%u of %zu steps (%u %%) were laps of circles beyond the first; %u of %u requests brought nothing else.",
            c->wasted, n, (unsigned)(100 * (uint64_t)c->wasted / n), c->wasted_requests, p->t->run.requests);
        wrap(&p->out, 2, buf_str(&b));
        b.n = 0;
    }
    BUF_LIT(&b, "All requests together carried ");
    put_bytes(&b, c->sent);
    if (c->wasted) {
        BUF_LIT(&b, "; without those steps it would have been ");
        put_bytes(&b, c->without);
    }
    buf_putc(&b, '.');
    wrap(&p->out, 2, buf_str(&b));
    wrap(&p->out, 2,
         p->t->d
             ? S("(Counted so: each request carries the whole history again, and with it what else is in this file, "
                 "tools and settings; bytes are those of the file, 3.5 make a token. What the provider has in its "
                 "prompt cache costs less.)")
             : S("(Counted so: each step is the answer to a request, and one more carries the last result; each "
                 "carries the calls and results before it again. Prompts, tools and texts are not known here, so it "
                 "was more; 3.5 bytes make a token. What the provider has in its prompt cache costs less.)"));
}

static void say_limits(page *p)
{
    size_t calls = 0;
    for (size_t i = 0; i < p->t->run.n; i++)
        calls += p->t->run.steps[i].step.tool.n != 0;
    if (p->t->on_server)
        wrap(&p->out, 0,
             S("Part of this history is on the provider's server (previous_response_id or conversation): only what is "
               "in "
               "the file was looked at."));
    if (p->t->asides) {
        daruma_buf b = buf_in(p->a);
        buf_printf(&b, "Not looked at: %u message%s of agents that this one called.", p->t->asides,
                   p->t->asides == 1 ? "" : "s");
        wrap(&p->out, 0, buf_str(&b));
    }
    if (!calls)
        wrap(&p->out, 0,
             S("There is no call of a tool in it. Agents that call tools by writing text are not seen by daruma."));
}

static void say_title(page *p, const char *file)
{
    const transcript *t = p->t;
    uint32_t n = t->run.requests;
    if (t->id.n)
        buf_printf(&p->out, STR_FMT ": ", STR_ARG(short_text(t->id, 60, p->a)));
    else
        buf_printf(&p->out, "%s: ", strcmp(file, "-") == 0 ? "standard input" : file);
    buf_printf(&p->out, "%zu step%s", t->run.n, t->run.n == 1 ? "" : "s");
    if (t->d)
        buf_printf(&p->out, " in %u request%s, of the dialect %s", n, n == 1 ? "" : "s", t->d->name);
    buf_putc(&p->out, '\n');
}

static void write_page(page *p, const char *file)
{
    say_title(p, file);
    say_limits(p);
    if (!found(p->r)) {
        buf_printf(&p->out, "%sNothing went wrong that can be seen from here.%s\n", p->good, p->plain);
        wrap(&p->out, 0,
             S("Looked for: calls in circles, tools that keep failing. Not looked at: whether what it said and did is "
               "right."));
    }
    say_circles(p);
    say_failures(p);
    say_cost(p);
}

/* ---- for programs ---- */

static void put_step(daruma_buf *b, const daruma_step *s, uint32_t step, daruma_arena *a)
{
    BUF_OBJECT(b, "step", step, "tool", s->tool, "call", call_text(s, a));
}

static buf_part or_null(uint32_t n)
{
    return n ? buf_part_number(n) : buf_raw(S("null"));
}

static void json_circle(page *p, const review_circle *c)
{
    daruma_buf *b = &p->out, say = buf_in(p->a);
    daruma_verdict_say(&c->v, &c->step, &say);
    BUF_LIT(b, "{");
    BUF_MEMBERS(b, "kind", daruma_circle_name(c->v.circle), "first", c->first, "last", c->last, "seen", c->seen, "sure",
                c->v.sure, "period", c->v.period, "times", c->v.times, "failing", c->v.failing, "wasted", c->wasted);
    BUF_MEMBERS(b, "ended_with", or_null(c->next), "told_after", or_null(c->after[REVIEW_TOLD]), "refused_after",
                or_null(c->after[REVIEW_REFUSED]), "finish_after", or_null(c->after[REVIEW_FINISHED]), "stopped_after",
                or_null(c->after[REVIEW_STOPPED]));
    BUF_LIT(b, ",\"calls\":[");
    for (uint32_t k = 0; k < c->ncalls; k++) {
        buf_putz(b, k ? "," : "");
        put_step(b, step_at(p, c->calls[k]), c->calls[k], p->a);
    }
    if (!c->ncalls)
        put_step(b, &c->step, c->last, p->a);
    BUF_SAY(b, "],\"why\":", buf_quoted(buf_str(&say)), "}");
}

static void json_failure(page *p, const review_failure *f)
{
    daruma_buf *b = &p->out, by = buf_in(p->a), lesson = buf_in(p->a);
    if (f->solved)
        put_step(&by, step_at(p, f->solved), f->solved, p->a);
    if (f->lesson.kind != DARUMA_STRATEGY_OTHER)
        BUF_OBJECT(&lesson, "strategy", daruma_strategy_name(f->lesson.kind), "tool", f->lesson.tool, "parameters",
                   f->lesson.parameters);
    BUF_OBJECT(b, "tool", f->f.tool, "tool_kind", daruma_tool_kind_name(f->f.kind), "retryable", f->f.retryable,
               "times", f->times, "open", f->open, "first", f->first, "last", f->last, "message", f->f.message,
               "suggestion", f->f.suggestion, "overcome_by", buf_raw(by.n ? buf_str(&by) : S("null")), "lesson",
               buf_raw(lesson.n ? buf_str(&lesson) : S("null")));
}

static void write_json(page *p)
{
    const review *r = p->r;
    const review_cost *c = &r->cost;
    daruma_buf *b = &p->out;
    BUF_LIT(b, "{");
    BUF_MEMBERS(b, "id", p->t->id, "dialect", p->t->d ? p->t->d->name : "", "found", found(r), "steps", p->t->run.n,
                "requests", p->t->run.requests, "on_server", p->t->on_server);
    BUF_LIT(b, ",\"circles\":[");
    for (size_t i = 0; i < r->ncircles; i++) {
        buf_putz(b, i ? "," : "");
        json_circle(p, &r->circles[i]);
    }
    BUF_LIT(b, "]");
    BUF_MEMBERS(b, "more_circles", r->more_circles, "failed", r->failed, "open", r->open);
    BUF_LIT(b, ",\"failures\":[");
    for (size_t i = 0; i < r->nfailures; i++) {
        buf_putz(b, i ? "," : "");
        json_failure(p, &r->failures[i]);
    }
    BUF_SAY(b, "],\"more_failures\":", r->more_failures, ",\"needs_review\":[");
    for (size_t i = 0; i < r->nescalations; i++) {
        buf_putz(b, i ? "," : "");
        BUF_OBJECT(b, "step", r->escalations[i].step, "reason", r->escalations[i].reason, "overcome",
                   r->escalations[i].overcome);
    }
    BUF_LIT(b, "],\"cost\":");
    BUF_OBJECT(b, "wasted_steps", c->wasted, "wasted_requests", c->wasted_requests, "counted",
               p->t->d ? "request" : "steps", "bytes_sent", c->sent, "bytes_without", c->without, "tokens_sent",
               tokens_of(c->sent), "tokens_without", tokens_of(c->without));
    BUF_LIT(b, "}\n");
}

/* ---- the newest session file that an agent on this machine has kept: Claude Code's
 * (~/.claude/projects/PROJECT/ID.jsonl) or Codex's (~/.codex/sessions/YEAR/MONTH/DAY/rollout-*.jsonl) ---- */

enum { FOLDERS_DEEP_MAX = 5 }; /* a year, a month, a day, and room for what comes */

typedef struct newest {
    char path[4096];
    struct timespec at;
    bool found;
} newest;

static bool is_newer(const struct stat *s, const newest *n)
{
    return !n->found || s->st_mtim.tv_sec > n->at.tv_sec ||
           (s->st_mtim.tv_sec == n->at.tv_sec && s->st_mtim.tv_nsec > n->at.tv_nsec);
}

/* Looks through a folder and those in it. Files of other names, and of size 0, are none. */
static void look_through(const char *folder, const char *prefix, int deep, newest *n)
{
    char path[4096];
    struct stat s;
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        daruma_str name = str_of(e->d_name);
        int put = snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (name.p[0] == '.' || put < 0 || (size_t)put >= sizeof path || lstat(path, &s) != 0)
            continue;
        if (S_ISDIR(s.st_mode) && deep < FOLDERS_DEEP_MAX)
            look_through(path, prefix, deep + 1, n);
        else if (S_ISREG(s.st_mode) && s.st_size && str_ends(name, S(".jsonl")) && str_starts(name, str_of(prefix)) &&
                 is_newer(&s, n)) {
            memcpy(n->path, path, (size_t)put + 1);
            n->at = s.st_mtim;
            n->found = true;
        }
    }
    if (d)
        closedir(d);
}

/* The newest session file of Claude Code or Codex on this machine; static. NULL, and told, when there is none. */
static const char *session_file(void)
{
    static newest n;
    char folder[2048];
    daruma_str home = sys_env("HOME"), claude = sys_env("CLAUDE_CONFIG_DIR"), codex = sys_env("CODEX_HOME");
    n = (newest){.found = false};
    snprintf(folder, sizeof folder, "%s%s/projects",
             claude.n ? claude.p
             : home.n ? home.p
                      : "",
             claude.n ? "" : "/.claude");
    look_through(folder, "", 0, &n);
    snprintf(folder, sizeof folder, "%s%s/sessions",
             codex.n  ? codex.p
             : home.n ? home.p
                      : "",
             codex.n ? "" : "/.codex");
    look_through(folder, "rollout-", 0, &n);
    if (n.found)
        return n.path;
    return CLI_NULL("review",
                    "no session of Claude Code or Codex is kept in %s: name a file, or give it one on standard input",
                    home.n ? home.p : "the home folder");
}

/* ---- the command ---- */

static int review_text(daruma_str text, const char *path, const dialect *d, bool json, daruma_arena *a)
{
    transcript t;
    char why[512];
    if (!transcript_read(text, strcmp(path, "-") == 0 ? "standard input" : path, d, a, &t, why))
        return cli_say(2, "review", "%s", why);
    char *room = malloc(SCRATCH_BYTES);
    review r = {.full = true};
    if (room)
        r = review_of(&t.run, daruma_policy_find(S("default")), a,
                      (daruma_arena){.beg = room, .end = room + SCRATCH_BYTES});
    bool colour = !json && isatty(STDOUT_FILENO) && !sys_env("NO_COLOR").n;
    page p = {.t = &t, .r = &r, .a = a, .out = buf_in(a), .bold = "", .bad = "", .good = "", .plain = ""};
    if (colour) {
        p.bold = "\033[1m";
        p.bad = "\033[31m";
        p.good = "\033[32m";
        p.plain = "\033[0m";
    }
    if (json)
        write_json(&p);
    else
        write_page(&p, path);
    free(room);
    if (r.full || p.out.full)
        return cli_say(2, "review", "%s: it is too large for the memory that there is", path);
    (json ? cli_put_json : cli_put_page)(stdout, buf_str(&p.out));
    return found(&r) ? 1 : 0;
}

int cli_review(int argc, char **argv)
{
    const char *name = NULL;
    bool json = false, session = false;
    const cli_option options[] = {
        CLI_SWITCH("--session", &session, "the newest session of Claude Code or Codex; default on a terminal"),
        CLI_VALUE("--dialect", "NAME", &name, "the dialect of a request; default: found by its shape"),
        CLI_SWITCH("--json", &json, "one JSON object, for programs"),
        {0}};
    int at =
        cli_options(argc, argv, options, "review [--session] [--dialect NAME] [--json] [FILE]",
                    "Looks at a run of an agent that is over and says on a page what went wrong where (calls in\n"
                    "circles, tools that keep failing), what it cost, and what would have helped. The file, or\n"
                    "standard input (-), is one of these:\n"
                    "\n"
                    "  a request body of openai (Chat Completions), openai-responses, anthropic or gemini: the\n"
                    "  last one of a run carries its whole history; its list of messages alone will do\n"
                    "  steps, one JSON object a line: {\"tool\":\"ls\", \"args\":{}, \"result\":\"...\", \"ok\":true}\n"
                    "  a record of them: {\"id\":\"...\", \"steps\":[...]}\n"
                    "  a session file of Claude Code (~/.claude/projects/*/*.jsonl) or Codex (~/.codex/sessions)\n"
                    "\n"
                    "No model is asked and nothing leaves the machine; what looks like a secret is not shown.\n"
                    "The exit status is 0 when nothing went wrong that can be seen, 1 when something did (a circle,\n"
                    "a failure that was not overcome), 2 when it could not be read.\n"
                    "\n"
                    "Try:  daruma review --session\n"
                    "      daruma review request.json\n"
                    "      daruma review --json steps.jsonl");
    if (at < 0)
        return at == -2 ? 0 : 2;
    const dialect *d = name ? cli_dialect(argv[0], "--dialect", name) : NULL;
    if (name && !d)
        return 2;
    bool kept = session || (at == argc && isatty(STDIN_FILENO));
    const char *path = kept && at == argc ? session_file() : cli_one_file(argc, argv, at);
    if (path && kept)
        fprintf(stderr, "%s\n", path);
    if (!path)
        return 2;
    daruma_arena a;
    daruma_str text;
    if (!cli_read(argv[0], path, BODY_BYTES_MAX, MEMORY_BYTES, &a, &text))
        return 2;
    int code = review_text(text, path, d, json, &a);
    sys_arena_done(&a);
    return code;
}
