/* run.c - `daruma run TASK`: an agent that finishes its task over the files of one folder. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "cli/runs.h"
#include "engine/seeds/seeds.h"
#include "run/host.h"
#include "sys/child.h"
#include "sys/sys.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char about[] =
    "Carries out TASK (`-`: standard input) with the tools fs.list, fs.read, fs.search, fs.write and fs.edit below "
    "one\n"
    "folder, http.get for the web, those of MCP servers, and with --shell shell.run. The answer goes to standard "
    "output, what happens to\n"
    "standard error. Files are changed and commands run only when you allow it, call by call or with --yes. Keys come "
    "from the environment: OPENAI_API_KEY, ANTHROPIC_API_KEY, "
    "GEMINI_API_KEY.\n"
    "\n"
    "What it does is recorded: daruma run --resume ID goes on after an interrupt, a crash or a power failure, and "
    "does\n"
    "nothing twice; --resume ID \"WORDS\" says to a run that was escalated how to go on. `last` is the newest run.\n"
    "daruma explain ID tells a run in words.\n"
    "\n"
    "Exit codes: 0 done; 1 it failed, and the report says why; 2 asked wrongly; 3 a limit was reached, or it went in\n"
    "circles: there is a part of a result; 4 a person has to look at it; 130 interrupted.\n";

/* How it is told. */
typedef struct teller {
    bool json;
    int code;
    daruma_str id;
    bool kept; /* there is a journal: the run can be resumed */
} teller;

static int code_of(const agent_result *r)
{
    switch (r->outcome) {
    case DARUMA_OUTCOME_OK:
    case DARUMA_OUTCOME_RECOVERED:
        return 0;
    case DARUMA_OUTCOME_DEGRADED:
        return 3;
    case DARUMA_OUTCOME_ESCALATED:
        return 4;
    case DARUMA_OUTCOME_CANCELLED_:
        return 130;
    case DARUMA_OUTCOME_PENDING:
    case DARUMA_OUTCOME_EXPLAINED:
    case DARUMA_OUTCOME_FAILED:
        break;
    }
    return 1;
}

static void tell_words(daruma_str json)
{
    static const struct {
        daruma_str event;
        const char *before;
        const char *fields[3]; /* those that are there are shown */
    } rows[] = {
        {LIT("run_started"), "run", {"run"}},
        {LIT("tool_called"), "call", {"tool", "arguments"}},
        {LIT("tool_failed"), "failed", {"tool", "message"}},
        {LIT("retry_scheduled"), "again", {"operation", "reason"}},
        {LIT("plan_step"), "plan", {"tool", "objective"}},
        {LIT("replan"), "another plan", {"reason"}},
        {LIT("reclassify"), "other tools", {"reason"}},
        {LIT("trajectory_compressed"), "shortened", {"reason"}},
        {LIT("loop_detected"), "circle", {"circle"}},
        {LIT("error_recovery_attempt"), "failure", {"error_type", "kind", "error_message"}},
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
        fprintf(stderr, "[%s]", rows[i].before);
        for (size_t k = 0; k < COUNT(rows[i].fields) && rows[i].fields[k]; k++) {
            char plain[RUN_SHOWN_BYTES];
            daruma_str text = json_text(json_get(json, str_of(rows[i].fields[k])), &a);
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
    const teller *t = user;
    if (!t->json) {
        tell_words(json);
        return;
    }
    printf(STR_FMT "\n", STR_ARG(json));
    fflush(stdout);
}

/* A question on the terminal. */
static void on_question(daruma_str text, void *user)
{
    char plain[FAILURE_TEXT_BYTES_MAX * 2];
    (void)user;
    cli_put(stderr, cli_plain(text, plain, sizeof plain));
    fprintf(stderr, " [y/N] ");
}

static void print_json(const agent_result *r, uint32_t recovered)
{
    static char room[512 << 10];
    daruma_buf b = buf_over(room, sizeof room);
    agent_result shown = *r;
    shown.text = str_sub(r->text, 0, sizeof room / 8);
    run_result_json(&shown, recovered, &b);
    printf(STR_FMT "\n", STR_ARG(buf_str(&b)));
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
    if (t->json) {
        print_json(r, recovered);
        say_resume(t, r);
        return;
    }
    cli_put_page(stdout, r->text);
    printf("\n");
    fflush(stdout);
    fprintf(stderr, "[%s] %u steps, %u tool calls, %lld tokens, %u failures, %u overcome, %u calls recovered\n",
            daruma_outcome_name(r->outcome), r->spent.steps, r->spent.tools,
            (long long)(r->spent.input_tokens + r->spent.output_tokens), r->spent.failures, r->spent.recoveries,
            recovered);
    say_resume(t, r);
}

/* ---- arguments ---- */

/* "name=command args": words are separated by spaces; those with spaces stand between quotes. */
static bool read_mcp(const char *text, daruma_arena *a, mcp_setup *ret)
{
    daruma_str rest = str_of(text), name = str_trim(str_cut(&rest, '='));
    char **argv = ARENA_NEW(a, char *, RUN_ARGV_MAX + 1);
    size_t n = 0;
    bool bad = !name.n || !argv;
    for (size_t i = 0; i < name.n; i++)
        bad |= !(ch_alpha(name.p[i]) || ch_digit(name.p[i]) || name.p[i] == '_' || name.p[i] == '-');
    while (!bad && (rest = str_trim(rest)).n && n < RUN_ARGV_MAX) {
        char quote = rest.p[0] == '"' || rest.p[0] == '\'' ? rest.p[0] : 0;
        rest = str_from(rest, quote != 0);
        size_t end = 0;
        while (end < rest.n && (quote ? rest.p[end] != quote : !ch_space(rest.p[end])))
            end++;
        bad |= quote && end == rest.n;
        argv[n++] = (char *)(uintptr_t)arena_copy(a, str_sub(rest, 0, end)).p;
        rest = str_from(rest, end + 1);
    }
    *ret = (mcp_setup){.name = name, .argv = argv, .restarts = MCP_RESTARTS};
    if (!bad && n && !rest.n)
        return true;
    fprintf(
        stderr,
        "daruma run: --mcp wants NAME=COMMAND ARGUMENTS, like --mcp \"files=mcp-server-filesystem /data\", not `%s`\n",
        text);
    return false;
}

static const struct {
    const dialect *d;
    const char *base, *key;
} wires[] = {
    {&dialect_openai, "OPENAI_BASE_URL", "OPENAI_API_KEY"},
    {&dialect_openai_responses, "OPENAI_BASE_URL", "OPENAI_API_KEY"},
    {&dialect_anthropic, "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"},
    {&dialect_gemini, "GEMINI_BASE_URL", "GEMINI_API_KEY"},
};

static bool number(const char *option, const char *text, int64_t *ret)
{
    if (!text)
        return true;
    if (str_int(str_of(text), ret) && *ret > 0)
        return true;
    fprintf(stderr, "daruma run: %s wants a number above 0, not `%s`\n", option, text);
    return false;
}

static bool profile(const char *name, run_settings *s)
{
    if (!name)
        return true;
    daruma_str variant = str_of(name), which = str_cut(&variant, ':');
    s->agent = seed_agent(which, variant);
    s->recovery = daruma_policy_variant(which, variant);
    if (s->agent)
        return true;
    fprintf(stderr, "daruma run: there is no profile `%s` of an agent\n", name);
    return false;
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
    if (!c->folder || c->none) {
        fprintf(stderr, "daruma run: %s\n",
                c->none ? "--resume needs the journal: leave --no-journal out" : "where are the journals? --state DIR");
        return NULL;
    }
    t->id = runs_id(c->folder, c->resume, a);
    journal *j = journal_open(c->folder, t->id, why);
    if (!j) {
        fprintf(stderr, "daruma run: %s\n", why);
        return NULL;
    }
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
    char why[256] = "the task is empty";
    *ret = str_of(given);
    if ((!str_eq(*ret, S("-")) || sys_read_file("-", RUN_TASK_BYTES_MAX, a, ret, why)) && str_trim(*ret).n)
        return true;
    fprintf(stderr, "daruma run: %s\n", why);
    return false;
}

/* Where the model is, with what key, and the folder that it works in. False: that was told. */
static bool place(run_settings *s, const char *model, const char *base, const char **root, char absolute[PATH_MAX])
{
    const char *no_key = NULL;
    for (size_t i = 0; i < COUNT(wires); i++)
        if (wires[i].d == s->d) {
            s->base = base ? str_of(base) : sys_env(wires[i].base);
            s->key = sys_env(wires[i].key);
            no_key = s->key.n ? NULL : wires[i].key;
        }
    if (!model || !s->base.n) {
        fprintf(stderr, "daruma run: %s\n", model ? "where is the model? --base-url URL" : "which model? --model NAME");
        return false;
    }
    if (!realpath(*root, absolute)) {
        fprintf(stderr, "daruma run: the root %s cannot be opened: %s\n", *root, strerror(errno));
        return false;
    }
    *root = absolute; /* as the journal has it */
    if (no_key)
        fprintf(stderr, "daruma run: %s is not set: calls go out without a key\n", no_key);
    return true;
}

int cli_run(int argc, char **argv)
{
    const char *wire = "openai", *base = NULL, *model = NULL, *second = "", *root = ".", *named = NULL;
    const char *steps = NULL, *tokens = NULL, *seconds = NULL;
    const char *servers[CLI_AGAIN_MAX + 1] = {0};
    static mcp_setup own[CLI_AGAIN_MAX];
    bool plan = false;
    teller t = {.code = 1};
    record c = {0};
    char why[256];
    run_settings s = {.limits = {.steps = RUN_STEPS, .time = RUN_MS},
                      .event = on_event,
                      .person = {.show = on_question},
                      .done = on_done,
                      .user = &t};
    const cli_option options[] = {
        {"--model", "NAME", &model, NULL, "the model that works"},
        {"--second", "NAME", &second, NULL, "the model that explains when the first one failed"},
        {"--base-url", "URL", &base, NULL, "where it is; else OPENAI_BASE_URL and the like"},
        {"--dialect", "NAME", &wire, NULL, "openai, openai-responses, anthropic or gemini; else openai"},
        {"--root", "FOLDER", &root, NULL, "the folder that it works in; else this one"},
        {"--plan", NULL, NULL, &plan, "make a plan first, and carry out its steps"},
        {"--profile", "NAME[:VARIANT]", &named, NULL, "what is done about failures; else default"},
        {"--steps", "N", &steps, NULL, "answers of the model at most; else 50"},
        {"--tokens", "N", &tokens, NULL, "tokens at most, both ways; else no limit"},
        {"--seconds", "N", &seconds, NULL, "so long it may take; else 1800"},
        {"--shell", NULL, NULL, &s.shell, "it may run commands of the shell (shell.run)"},
        {"--mcp", "NAME=COMMAND...", servers, NULL, "an MCP server whose tools it has, too; may be given again"},
        {"--allow-local", NULL, NULL, &s.allow_local, "http.get may read this machine and its network"},
        {"--yes", NULL, NULL, &s.person.yes, "allow every change of files and every command"},
        {"--approve", "FILE|URL", &c.approve, NULL, "who allows them: FILE.question is answered in FILE, or by POST"},
        {"--approve-within", "N", &c.within, NULL, "seconds that an answer may take; else no limit"},
        {"--resume", "ID", &c.resume, NULL, "go on with a run; `last` is the newest one"},
        {"--state", "DIR", &c.state, NULL, "where runs are recorded; else ~/.local/state/daruma"},
        {"--no-journal", NULL, NULL, &c.none, "record nothing: the run cannot be resumed"},
        {"--list", NULL, NULL, &c.list, "list the runs"},
        {"--json", NULL, NULL, &t.json, "print events and the result as JSON, a line each"},
        {0},
    };
    runs_options before = runs_options_before(options);
    int at = cli_options(argc, argv, options, "run [OPTIONS] TASK\n       daruma run --resume ID [\"WORDS\"]", about);
    int64_t nsteps = RUN_STEPS, nseconds = RUN_MS / 1000, ntokens = 0, nwithin = 0;
    static char absolute[PATH_MAX];
    daruma_arena memory;
    daruma_str words = {0}, task = {0};
    if (at < 0)
        return at == -2 ? 0 : 2;
    c.folder = runs_folder(c.state, c.room);
    if (c.list) {
        if (c.folder)
            return cli_no_more(argc, argv, at) ? runs_list(c.folder, t.json) : 2;
        fprintf(stderr, "daruma run: where are the journals? --state DIR\n");
        return 2;
    }
    if (at >= argc && !c.resume) {
        fprintf(stderr, "daruma run: what is the task? daruma run \"TASK\", or `-` for standard input\n");
        return 2;
    }
    if (!cli_no_more(argc, argv, at + 1))
        return 2;
    if (!sys_arena_init(&memory, 4096, 4 * RUN_TASK_BYTES_MAX))
        return 1;
    bool well = c.resume ? (s.journal = open_record(&c, &before, &task, &t, &memory)) != NULL
                         : read_task(argv[at], &memory, &task);
    if (c.resume && at < argc)
        words = str_trim(str_of(argv[at]));
    well = well && (s.d = cli_dialect("run", "--dialect", wire)) && number("--steps", steps, &nsteps) &&
           number("--tokens", tokens, &ntokens) && number("--seconds", seconds, &nseconds) &&
           number("--approve-within", c.within, &nwithin) && profile(named, &s) &&
           place(&s, model, base, &root, absolute);
    base = s.base.p;
    for (; well && servers[s.nmcp]; s.nmcp += well)
        well = read_mcp(servers[s.nmcp], &memory, &own[s.nmcp]);
    well = well && (c.resume || new_record(&c, &before, task, &s.journal, &t));
    if (!well) {
        journal_close(s.journal);
        sys_arena_done(&memory);
        return 2;
    }
    s.model = str_of(model);
    s.second = str_of(second);
    s.root = root;
    s.mode = plan ? AGENT_PLANNED : AGENT_REACTIVE;
    s.limits.steps = (uint32_t)(nsteps < UINT32_MAX ? nsteps : UINT32_MAX);
    s.limits.tokens = ntokens;
    s.limits.time = mul_sat(nseconds, 1000);
    s.id = t.id;
    s.resume = c.resume != NULL;
    s.guidance = words;
    s.person.way = c.approve;
    s.person.within = mul_sat(nwithin, 1000);
    s.mcp = own;
    if (s.shell || s.nmcp) { /* commands can read our environment: of keys only our copy stays */
        s.key = arena_copy(&memory, s.key);
        s.base = arena_copy(&memory, s.base);
        child_env_wipe();
    }
    well = run_task(&s, task, why);
    if (!well) {
        fprintf(stderr, "daruma run: %s\n", why);
        t.code = 2;
    }
    if (well || c.resume)
        journal_close(s.journal);
    else
        journal_discard(s.journal); /* nothing began */
    sys_arena_done(&memory);
    return t.code;
}
