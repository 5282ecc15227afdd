/* run.c - `daruma run TASK`: an agent that finishes its task over the files of one folder. */
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "cli/agents.h"
#include "cli/runs.h"
#include "run/host.h"
#include "sys/child.h"
#include "sys/sys.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { WIDTH_USUAL = 80, LINE_BYTES = 200, LINE_TOOL_BYTES = 48 };

static const char about[] =
    "Carries out TASK (`-`: standard input) with tools: files below one folder (fs.list, fs.read, fs.search,\n"
    "fs.write, fs.edit), the web (http.get), MCP servers, and with --shell commands (shell.run). The answer goes\n"
    "to standard output, what happens to standard error. Files are changed and commands run only when you allow\n"
    "it, call by call or with --yes. Without --config keys come from the environment: OPENAI_API_KEY,\n"
    "ANTHROPIC_API_KEY, GEMINI_API_KEY.\n"
    "\n"
    "  daruma run --model gpt-5 --base-url https://api.openai.com/v1 \"Find out why the tests fail, and mend it\"\n"
    "  daruma run --config daruma.yaml --agent lead - <task.txt\n"
    "\n"
    "What it does is recorded: daruma run --resume ID goes on after an interrupt, a crash or a power failure, and\n"
    "does nothing twice; --resume ID \"WORDS\" says to a run that was escalated how to go on. `last` is the newest\n"
    "run. daruma explain ID tells a run in words.\n"
    "\n"
    "Exit codes: 0 done; 1 it failed, and the report says why; 2 asked wrongly; 3 a limit was reached, or it went in\n"
    "circles: there is a part of a result; 4 a person has to look at it; 130 interrupted.\n";

/* The line at the bottom of the terminal that says how far it is. */
typedef struct progress {
    bool lines; /* there is one ... */
    bool shown; /* ... and it stands there now */
    int64_t step, tokens, recovered;
    char tool[LINE_TOOL_BYTES]; /* that was called last; empty: none yet */
} progress;

/* The answer as its model says it, on standard output. */
typedef struct spoken {
    bool speaks;   /* pieces are printed; else it is told when it is whole */
    bool terminal; /* standard output is one: it shares its lines with what happens */
    bool on_line;  /* the last line that was printed is not ended */
    bool compares; /* an answer that broke off is given again: what is the same is not printed twice */
    size_t same;   /* ... so many bytes are */
    daruma_arena room;
    daruma_buf said; /* of the newest answer, as it was printed */
} spoken;

/* How it is told. */
typedef struct teller {
    bool json;
    int code;
    daruma_str id;
    bool kept; /* there is a journal: the run can be resumed */
    progress far;
    spoken answer;
} teller;

/* ---- how far it is ---- */

/* Takes the line away, so that something else can be printed. */
static void clear_progress(progress *p)
{
    if (p->shown)
        fputs("\r\033[K", stderr);
    p->shown = false;
}

static size_t width(void)
{
    struct winsize w = {0};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 1 ? w.ws_col : WIDTH_USUAL;
}

/* Is standard error a terminal that can clear a line? */
static bool can_clear(void)
{
    return isatty(STDERR_FILENO) == 1 && !str_eq(sys_env("TERM"), S("dumb"));
}

/* At most one line, or the terminal would not take it away as one. */
static void show_progress(progress *p)
{
    char line[LINE_BYTES];
    size_t most = width() - 1;
    int n = snprintf(line, sizeof line, "step %lld%s%s, %lld tokens, %lld recovered", (long long)p->step,
                     p->tool[0] ? ", " : "", p->tool, (long long)p->tokens, (long long)p->recovered);
    size_t whole = n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
    fprintf(stderr, "\r\033[K%.*s", (int)(whole < most ? whole : most), line);
    fflush(stderr);
    p->shown = true;
}

/* Learns what an event says. False: there is no line to show it. */
static bool progress_event(progress *p, daruma_str json)
{
    static char room[8 << 10];
    daruma_arena a = {.beg = room, .end = room + sizeof room};
    daruma_str name = json_text(json_get(json, S("event")), &a), step = json_get(json, S("step"));
    if (!p->lines)
        return false;
    if (json_is_number(step))
        p->step = json_int(step, p->step);
    if (str_eq(name, S("model_asked")))
        p->tokens = json_int(json_get(json, S("tokens")), p->tokens);
    p->recovered += str_eq(name, S("error_recovery_success"));
    if (str_eq(name, S("tool_called"))) {
        char plain[LINE_TOOL_BYTES];
        daruma_str tool = str_sub(json_text(json_get(json, S("tool")), &a), 0, LINE_TOOL_BYTES - 1);
        snprintf(p->tool, sizeof p->tool, STR_FMT, STR_ARG(cli_plain(tool, plain, sizeof plain)));
    }
    return true;
}

/* ---- the answer as it comes ---- */

static void end_line(spoken *s)
{
    if (s->on_line)
        putchar('\n');
    s->on_line = false;
    fflush(stdout);
}

/* Prints a piece; `anew`: of another answer than the one before it. */
static void print_piece(teller *t, daruma_str piece, bool anew)
{
    if (t->json) {
        daruma_arena room;
        if (!sys_arena_init(&room, 4096, RUN_ANSWER_BYTES_MAX))
            return;
        daruma_buf b = buf_in(&room);
        buf_printf(&b, "{\"event\":\"answer_text\",\"begins\":%s,\"text\":", anew ? "true" : "false");
        BUF_SAY(&b, buf_quoted(piece), "}");
        printf(STR_FMT "\n", STR_ARG(buf_str(&b)));
        sys_arena_done(&room);
    } else {
        if (anew)
            end_line(&t->answer);
        cli_put_page(stdout, piece);
        t->answer.on_line = piece.n && piece.p[piece.n - 1] != '\n';
    }
    fflush(stdout);
}

/* Takes off a piece of an answer that is given again what was printed before. `*ret_anew`: it is another answer, and
 * the piece is all of it so far. */
static daruma_str without_same(spoken *s, daruma_str piece, bool *ret_anew)
{
    daruma_str before = str_from(buf_str(&s->said), s->same);
    size_t n = 0;
    while (n < piece.n && n < before.n && piece.p[n] == before.p[n])
        n++;
    s->same += n;
    if (n == piece.n)
        return (daruma_str){0};
    s->compares = false;
    *ret_anew = n < before.n;
    return str_from(piece, n);
}

static void add_piece(teller *t, daruma_str piece, run_text follows)
{
    spoken *s = &t->answer;
    bool anew = follows == RUN_TEXT_NEW;
    if (follows == RUN_TEXT_AGAIN)
        s->same = 0;
    if (anew)
        s->said.n = 0;
    s->compares = follows == RUN_TEXT_AGAIN || (s->compares && !anew);
    if (s->compares && !(piece = without_same(s, piece, &anew)).n)
        return;
    if (follows != RUN_TEXT_NEW && anew) { /* what it has in common with the one before is printed, too */
        s->said.n = s->same;
        buf_put(&s->said, piece);
        piece = buf_str(&s->said);
        print_piece(t, piece, true);
        return;
    }
    print_piece(t, piece, anew);
    buf_put(&s->said, piece);
}

/* ---- what happens ---- */

static int code_of(const agent_result *r)
{
    static const int codes[] = {
        [DARUMA_OUTCOME_OK] = 0,        [DARUMA_OUTCOME_RECOVERED] = 0,   [DARUMA_OUTCOME_DEGRADED] = 3,
        [DARUMA_OUTCOME_ESCALATED] = 4, [DARUMA_OUTCOME_EXPLAINED] = 1,   [DARUMA_OUTCOME_FAILED] = 1,
        [DARUMA_OUTCOME_PENDING] = 1,   [DARUMA_OUTCOME_CANCELLED_] = 130};
    return r->outcome == DARUMA_OUTCOME_FAILED && r->limit ? codes[DARUMA_OUTCOME_DEGRADED] : codes[r->outcome];
}

/* Clears the last line of the terminal for something else. */
static void clear_line(teller *t)
{
    clear_progress(&t->far);
    if (t->answer.terminal)
        end_line(&t->answer);
}

static void tell_words(teller *t, daruma_str json)
{
    static const struct {
        daruma_str event;
        const char *before;
        const char *fields[5]; /* those that are there are shown */
    } rows[] = {
        {LIT("run_started"), "run", {"run"}},
        {LIT("tool_called"), "call", {"tool", "arguments"}},
        {LIT("tool_failed"), "failed", {"tool", "message"}},
        {LIT("retry_scheduled"), "again", {"operation", "reason"}},
        {LIT("plan_step"), "plan", {"tool", "objective"}},
        {LIT("replan"), "another plan", {"reason"}},
        {LIT("reclassify"), "other tools", {"reason"}},
        {LIT("trajectory_compressed"), "shortened", {"reason"}},
        {LIT("steps_left_out"), "old steps left out", {"reason"}},
        {LIT("loop_detected"), "circle", {"circle"}},
        {LIT("error_recovery_attempt"), "failure", {"error_type", "kind", "net", "error_message", "message"}},
        {LIT("llm_retry_attempt"), "model again", {"kind", "reason"}},
        {LIT("mcp_started"), "server", {"server"}},
        {LIT("mcp_died"), "server died", {"server", "reason"}},
        {LIT("budget_exhausted"), "limit", {"which"}},
        {LIT("escalated"), "to a person", {"reason"}},
        {LIT("approval_waits"), "question", {"reason"}},
        {LIT("run_resumed"), "resumed", {"run", "tool", "fate"}},
        {LIT("journal_lost"), "journal", {"reason", "then"}},
    };
    static char room[8 << 10];
    daruma_arena a = {.beg = room, .end = room + sizeof room};
    daruma_str name = json_text(json_get(json, S("event")), &a);
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (!str_eq(rows[i].event, name))
            continue;
        clear_line(t);
        fprintf(stderr, "[%s]", rows[i].before);
        for (size_t k = 0; k < COUNT(rows[i].fields) && rows[i].fields[k]; k++) {
            char plain[RUN_SHOWN_BYTES];
            daruma_str text = str_trim(json_text(json_get(json, str_of(rows[i].fields[k])), &a));
            if (!text.n)
                continue;
            fputc(' ', stderr);
            cli_put(stderr, cli_plain(str_sub(text, 0, RUN_SHOWN_BYTES), plain, sizeof plain));
        }
        fputc('\n', stderr);
        return;
    }
}

static void on_event(daruma_str json, void *user)
{
    teller *t = user;
    if (!t->json) {
        tell_words(t, json);
        bool taken = t->answer.terminal && t->answer.on_line; /* the answer stands on the terminal's last line */
        if (progress_event(&t->far, json) && !taken)
            show_progress(&t->far);
        return;
    }
    printf(STR_FMT "\n", STR_ARG(json));
    fflush(stdout);
}

/* A piece of the answer. */
static void on_text(daruma_str piece, run_text follows, void *user)
{
    teller *t = user;
    clear_progress(&t->far);
    add_piece(t, piece, follows);
}

/* A question on the terminal. */
static void on_question(daruma_str text, void *user)
{
    char plain[FAILURE_TEXT_BYTES_MAX * 2];
    clear_line(user);
    cli_put(stderr, cli_plain(text, plain, sizeof plain));
    fprintf(stderr, " [y/N] ");
}

static void print_json(const agent_result *r, uint32_t recovered)
{
    static char room[512 << 10];
    daruma_buf b = buf_over(room, sizeof room);
    agent_result shown = *r;
    shown.text = str_sub(r->text, 0, sizeof room / 8);
    agent_result_json(&shown, recovered, &b);
    printf(STR_FMT "\n", STR_ARG(buf_str(&b)));
    fflush(stdout);
}

/* How a run that is not over goes on. */
static void say_resume(const teller *t, const agent_result *r)
{
    bool asks = r->outcome == DARUMA_OUTCOME_ESCALATED;
    bool model = code_of(r) == 1 && r->failure.of_model;
    if (t->kept && (asks || model || r->outcome == DARUMA_OUTCOME_CANCELLED_))
        fprintf(stderr, "It goes on with: daruma run --resume " STR_FMT "%s\n", STR_ARG(t->id),
                asks ? " \"what you say to it\"" : "");
}

static void on_done(const agent_result *r, uint32_t recovered, void *user)
{
    teller *t = user;
    t->code = code_of(r);
    clear_progress(&t->far);
    if (t->json) {
        print_json(r, recovered);
        say_resume(t, r);
        return;
    }
    bool told =
        t->answer.speaks && t->answer.said.n && !t->answer.said.full && str_eq(buf_str(&t->answer.said), r->text);
    end_line(&t->answer);
    if (!told) {
        cli_put_page(stdout, r->text);
        printf("\n");
    }
    fflush(stdout);
    fprintf(stderr, "[%s] %u steps, %u tool calls, %lld tokens, %u failures, %u overcome, %u calls recovered\n",
            daruma_outcome_name(r->outcome), r->spent.steps, r->spent.tools,
            (long long)(r->spent.input_tokens + r->spent.output_tokens), r->spent.failures, r->spent.recoveries,
            recovered);
    say_resume(t, r);
}

/* ---- arguments ---- */

static bool number(const char *option, const char *text, int64_t *ret)
{
    if (!text)
        return true;
    if (str_int(str_of(text), ret) && *ret > 0)
        return true;
    return cli_say(false, "run", "%s wants a number above 0, not `%s`", option, text);
}

/* ---- the journal ---- */

/* What the command line says about it. */
typedef struct record {
    const char *resume, *state, *approve, *within;
    bool none, list;
    char room[JOURNAL_PATH_BYTES];
    const char *folder; /* NULL: nobody says where */
} record;

/* The journal of a run that goes on, with its task and options. NULL: that was told. */
static journal *open_record(const record *c, const runs_options *o, daruma_str *ret_task, teller *t, daruma_arena *a)
{
    char why[256];
    if (!c->folder || c->none)
        return CLI_NULL("run", "%s",
                        c->none ? "--resume needs the journal: leave --no-journal out"
                                : "where are the journals? --state DIR");
    t->id = runs_id(c->folder, c->resume, a);
    if (!t->id.n)
        snprintf(why, sizeof why, "there is no run in %.200s", c->folder);
    journal *j = t->id.n ? journal_open(c->folder, t->id, why) : NULL;
    if (!j)
        return CLI_NULL("run", "%s", why);
    t->kept = true;
    *ret_task = journal_text(j, "task", a);
    if (runs_options_read(o, journal_text(j, "settings", a), a))
        return j;
    journal_close(j);
    return NULL;
}

/* A new journal. Where none can be kept the run goes on without, but not when somebody said where it is to be. False:
 * that was told. */
static bool new_record(const record *c, const runs_options *o, daruma_str task, journal **ret, teller *t)
{
    char why[256] = "neither XDG_STATE_HOME nor HOME is set";
    static char id[JOURNAL_ID_BYTES];
    daruma_moment at = sys_moment();
    daruma_arena a;
    journal_id(at, id);
    t->id = str_of(id);
    if (c->none || !sys_arena_init(&a, 4096, LIB_OPTIONS_BYTES_MAX))
        return true;
    daruma_buf b = buf_in(&a);
    runs_options_write(o, &b);
    *ret = c->folder && !b.full ? journal_new(c->folder, t->id, buf_str(&b), task, at, why) : NULL;
    sys_arena_done(&a);
    t->kept = *ret != NULL;
    if (t->kept)
        return true;
    if (c->state)
        fprintf(stderr, "daruma run: %s. Name another folder with --state DIR, or go without: --no-journal\n", why);
    else
        fprintf(stderr, "daruma run: %s: the run goes on without a journal and cannot be resumed (--state DIR)\n", why);
    return !c->state;
}

/* The task, or what stands on standard input. False: that was told. */
static bool read_task(const char *given, daruma_arena *a, daruma_str *ret)
{
    char why[256];
    *ret = str_of(given);
    if (str_eq(*ret, S("-")) && !sys_read_file("-", RUN_TASK_BYTES_MAX, a, ret, why))
        return cli_say(false, "run", "the task on standard input cannot be read, or is longer than %u bytes: %s",
                       RUN_TASK_BYTES_MAX, why);
    if (!str_trim(*ret).n)
        return cli_say(false, "run", "the task is empty");
    if (memchr(ret->p, 0, ret->n))
        return cli_say(false, "run", "the task is no text: it has bytes of value 0");
    return true;
}

/* A path that stays the same wherever the run is resumed from. NULL stays NULL. False: that was told. */
static bool place(const char *what, const char **path, char absolute[PATH_MAX])
{
    if (!*path)
        return true;
    if (!realpath(*path, absolute))
        return cli_say(false, "run", "the %s %s cannot be opened: %s", what, *path, strerror(errno));
    *path = absolute;
    return true;
}

/* What the options ask for, and what comes of it. */
typedef struct wish {
    const char *root, *steps, *tokens, *seconds;
    const char *servers[CLI_AGAIN_MAX + 1];
    agents_asked q;
    record c;
    run_settings s;
    teller t;
    daruma_arena memory;
} wish;

/* Opens the journal of the run that goes on, or reads the task of a new one, and whatever it is carried out with.
 * False: that was told. */
static bool make_ready(wish *w, runs_options *o, const char *given, daruma_str *ret_task)
{
    static char absolute[PATH_MAX], file[PATH_MAX];
    int64_t nwithin = 0;
    const char *found = NULL;
    bool well = w->c.resume ? (w->s.journal = open_record(&w->c, o, ret_task, &w->t, &w->memory)) != NULL
                            : read_task(given, &w->memory, ret_task);
    well = well && number("--steps", w->steps, &w->q.steps) && number("--tokens", w->tokens, &w->q.tokens) &&
           number("--seconds", w->seconds, &w->q.seconds) && number("--approve-within", w->c.within, &nwithin) &&
           agents_ready(&w->q, &w->memory, &w->s, &found) && place("root", &w->root, absolute) &&
           place("configuration", &w->q.config, file);
    w->q.base = found; /* as the journal has it */
    w->s.person.within = mul_sat(nwithin, 1000);
    return well && (w->c.resume || new_record(&w->c, o, *ret_task, &w->s.journal, &w->t));
}

/* Carries the task out. The exit code. */
static int carry_out(wish *w, daruma_str task)
{
    char why[256];
    w->s.root = w->root;
    w->s.id = w->t.id;
    w->s.resume = w->c.resume != NULL;
    w->s.person.way = w->c.approve;
    w->t.answer.terminal = !w->t.json && isatty(STDOUT_FILENO) == 1;
    w->t.answer.speaks =
        (w->t.answer.speaks || w->t.answer.terminal) && sys_arena_init(&w->t.answer.room, 4096, RUN_ANSWER_BYTES_MAX);
    w->t.answer.said = buf_in(&w->t.answer.room);
    w->s.text = w->t.answer.speaks ? on_text : NULL;
    if (w->s.shell || w->s.nmcp)
        child_env_wipe(); /* commands can read our environment: of keys only our copy stays */
    bool well = run_task(&w->s, task, why);
    if (!well && why[0])
        fprintf(stderr, "daruma run: %s\n", why);
    if (!well)
        w->t.code = why[0] ? 2 : 130;
    if (well || w->c.resume)
        journal_close(w->s.journal);
    else
        journal_discard(w->s.journal); /* nothing began */
    sys_arena_done(&w->t.answer.room);
    return w->t.code;
}

int cli_run(int argc, char **argv)
{
    wish w = {.root = ".", .q = {.wire = "openai", .second = ""}, .t = {.code = 1, .far.lines = can_clear()}};
    w.q.servers = w.servers;
    w.s = (run_settings){.event = on_event, .person = {.show = on_question}, .done = on_done, .user = &w.t};
    const cli_option options[] = {
        CLI_VALUE("--config", "FILE", &w.q.config, "agents, their tools and models, as daruma check reads them"),
        CLI_VALUE("--agent", "NAME", &w.q.agent, "which of its agents gets the task; else the first"),
        CLI_VALUE("--model", "NAME", &w.q.model, "without a file: the model that works"),
        CLI_VALUE("--second", "NAME", &w.q.second, "the model that explains when the first one failed"),
        CLI_VALUE("--base-url", "URL", &w.q.base, "where it is; else OPENAI_BASE_URL and the like"),
        CLI_VALUE("--dialect", "NAME", &w.q.wire, "openai, openai-responses, anthropic or gemini; else openai"),
        CLI_VALUE("--root", "FOLDER", &w.root, "the folder that it works in; else this one"),
        CLI_SWITCH("--plan", &w.q.plan,
                   "make a plan first, and carry out its steps; the profile osprey does so by itself"),
        CLI_SWITCH("--no-plan", &w.q.no_plan, "make none, whatever the profile does"),
        CLI_VALUE("--profile", "NAME[,NAME]", &w.q.profile,
                  "what is done about failures, as NAME[:VARIANT], the layers below it behind; else default"),
        CLI_VALUE("--steps", "N", &w.steps, "answers of the model at most; else 50"),
        CLI_VALUE("--tokens", "N", &w.tokens,
                  "the call that reaches so many tokens, both ways, is the last; else no limit"),
        CLI_VALUE("--seconds", "N", &w.seconds, "so long it may take; else 1800"),
        CLI_SWITCH("--shell", &w.s.shell, "it may run commands of the shell (shell.run)"),
        CLI_VALUE("--mcp", "NAME=COMMAND...", w.servers, "an MCP server whose tools it has, too; may be given again"),
        CLI_SWITCH("--allow-local", &w.s.allow_local, "http.get may read this machine and its network"),
        CLI_SWITCH("--yes", &w.s.person.yes, "allow every change of files and every command"),
        CLI_VALUE("--approve", "FILE|URL", &w.c.approve,
                  "who allows them: FILE.question is answered in FILE, or by POST"),
        CLI_VALUE("--approve-within", "N", &w.c.within, "seconds that an answer may take; else no limit"),
        CLI_VALUE("--resume", "ID", &w.c.resume, "go on with a run; `last` is the newest one"),
        CLI_VALUE("--state", "DIR", &w.c.state, "where runs are recorded; else ~/.local/state/daruma"),
        CLI_SWITCH("--no-journal", &w.c.none, "record nothing: the run cannot be resumed"),
        CLI_SWITCH("--list", &w.c.list, "list the runs"),
        CLI_SWITCH("--stream", &w.t.answer.speaks,
                   "print the answer as it comes, as on a terminal; with --json as events"),
        CLI_SWITCH("--json", &w.t.json, "print events and the result as JSON, a line each"),
        {0},
    };
    runs_options before = runs_options_before(options);
    int at = cli_options(argc, argv, options, "run [OPTIONS] TASK\n       daruma run --resume ID [\"WORDS\"]", about);
    daruma_str task = {0};
    if (at < 0)
        return at == -2 ? 0 : 2;
    w.c.folder = runs_folder(w.c.state, w.c.room);
    if (w.c.list) {
        if (w.c.folder)
            return cli_no_more(argc, argv, at) ? runs_list(w.c.folder, w.t.json) : 2;
        return cli_say(2, "run", "where are the journals? --state DIR");
    }
    if (at >= argc && !w.c.resume)
        return cli_say(2, "run", "what is the task? daruma run \"TASK\", or `-` for standard input");
    if (!cli_no_more(argc, argv, at + 1))
        return 2;
    if (!sys_arena_init(&w.memory, 4096, RUN_MEMORY_BYTES_MAX))
        return 1;
    sys_ignore_sigpipe(); /* a journal that may not grow, too, is an error and not the end */
    bool well = make_ready(&w, &before, argv[at], &task);
    if (w.c.resume && at < argc)
        w.s.guidance = str_trim(str_of(argv[at]));
    int code = well ? carry_out(&w, task) : 2;
    if (!well)
        journal_close(w.s.journal);
    sys_arena_done(&w.memory);
    return code;
}
