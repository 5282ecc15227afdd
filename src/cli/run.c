/* run.c - `daruma run TASK`: an agent that finishes its task over the files of one folder. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "cli/cli.h"
#include "engine/seeds/seeds.h"
#include "run/host.h"
#include "sys/sys.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char about[] =
    "Carries out TASK (`-`: standard input) with the tools fs.list, fs.read, fs.search, fs.write and fs.edit below "
    "one\n"
    "folder. The answer goes to standard output, what happens to standard error. Files are changed only when you "
    "allow\n"
    "it, call by call or with --yes. Keys come from the environment: OPENAI_API_KEY, ANTHROPIC_API_KEY, "
    "GEMINI_API_KEY.\n"
    "\n"
    "Exit codes: 0 done; 1 it failed, and the report says why; 2 asked wrongly; 3 a limit was reached, or it went in\n"
    "circles: there is a part of a result; 4 a person has to look at it; 130 interrupted.\n";

/* How it is told. */
typedef struct teller {
    bool json;
    int code;
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
        {LIT("budget_exhausted"), "limit", {"which"}},
        {LIT("escalated"), "to a person", {"reason"}},
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

/* A question on the terminal; where there is none nobody can answer. */
static agent_reply on_ask(daruma_str text, void *user)
{
    char plain[FAILURE_TEXT_BYTES_MAX * 2], line[16] = "";
    (void)user;
    if (!isatty(0) || !isatty(2))
        return AGENT_EXPIRED;
    cli_put(stderr, cli_plain(text, plain, sizeof plain));
    fprintf(stderr, " [y/N] ");
    if (!fgets(line, sizeof line, stdin))
        return AGENT_INTERRUPTED;
    return line[0] == 'y' || line[0] == 'Y' ? AGENT_ALLOWED : AGENT_DENIED;
}

static void print_json(const agent_result *r, uint32_t recovered)
{
    static char room[512 << 10];
    daruma_buf b = buf_over(room, sizeof room);
    BUF_LIT(&b, "{\"event\":\"result\",\"status\":");
    buf_json(&b, str_of(daruma_outcome_name(r->outcome)));
    BUF_LIT(&b, ",\"reason\":");
    buf_json(&b, str_of(agent_end_name(r->end)));
    buf_printf(&b,
               ",\"limit\":\"%s\",\"steps\":%u,\"calls\":%u,\"tools\":%u,\"input_tokens\":%lld,\"output_tokens\":%lld",
               agent_limit_name(r->limit), r->spent.steps, r->spent.calls, r->spent.tools,
               (long long)r->spent.input_tokens, (long long)r->spent.output_tokens);
    buf_printf(&b, ",\"failures\":%u,\"recoveries\":%u,\"recovered_calls\":%u,\"took_ms\":%lld", r->spent.failures,
               r->spent.recoveries, recovered, (long long)r->spent.time);
    if (r->recovery.n) {
        BUF_LIT(&b, ",\"_recovery\":");
        buf_put(&b, r->recovery);
    }
    BUF_LIT(&b, ",\"text\":");
    buf_json(&b, str_sub(r->text, 0, sizeof room / 4));
    BUF_LIT(&b, "}");
    printf(STR_FMT "\n", STR_ARG(buf_str(&b)));
}

static void on_done(const agent_result *r, uint32_t recovered, void *user)
{
    teller *t = user;
    t->code = code_of(r);
    if (t->json) {
        print_json(r, recovered);
        return;
    }
    cli_put_page(stdout, r->text);
    printf("\n");
    fflush(stdout);
    fprintf(stderr, "[%s] %u steps, %u tool calls, %lld tokens, %u failures, %u overcome, %u calls recovered\n",
            daruma_outcome_name(r->outcome), r->spent.steps, r->spent.tools,
            (long long)(r->spent.input_tokens + r->spent.output_tokens), r->spent.failures, r->spent.recoveries,
            recovered);
}

/* ---- arguments ---- */

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

/* NAME[:VARIANT][,NAME...]: what is found lives as long as the program. */
static bool profile(const char *name, run_settings *s)
{
    static char room[64 << 10];
    static seed_stack stack;
    char words[128];
    daruma_arena a = arena_over(room, sizeof room);
    daruma_buf why = buf_over(words, sizeof words);
    if (seed_stack_read(str_of(name ? name : "default"), &a, &stack, &why)) {
        s->agent = &stack.agent;
        s->judge = stack.judge;
        s->recovery = &stack.calls;
        return true;
    }
    fprintf(stderr, "daruma run: " STR_FMT "; `daruma profiles` shows what there is\n", STR_ARG(buf_str(&why)));
    return false;
}

int cli_run(int argc, char **argv)
{
    const char *wire = "openai", *base = NULL, *model = NULL, *second = "", *root = ".", *named = NULL;
    const char *steps = NULL, *tokens = NULL, *seconds = NULL, *no_key = NULL;
    bool plan = false;
    teller t = {.code = 1};
    run_settings s = {
        .limits = {.steps = RUN_STEPS, .time = RUN_MS}, .event = on_event, .ask = on_ask, .done = on_done, .user = &t};
    const cli_option options[] = {
        {"--model", "NAME", &model, NULL, "the model that works"},
        {"--second", "NAME", &second, NULL, "the model that explains when the first one failed"},
        {"--base-url", "URL", &base, NULL, "where it is; else OPENAI_BASE_URL and the like"},
        {"--dialect", "NAME", &wire, NULL, "openai, openai-responses, anthropic or gemini; else openai"},
        {"--root", "FOLDER", &root, NULL, "the folder that it works in; else this one"},
        {"--plan", NULL, NULL, &plan, "make a plan first, and carry out its steps"},
        {"--profile", "NAME[,NAME]", &named, NULL,
         "what is done about failures, as NAME[:VARIANT], the layers below it behind; else default"},
        {"--steps", "N", &steps, NULL, "answers of the model at most; else 50"},
        {"--tokens", "N", &tokens, NULL, "tokens at most, both ways; else no limit"},
        {"--seconds", "N", &seconds, NULL, "so long it may take; else 1800"},
        {"--yes", NULL, NULL, &s.yes, "allow every change of files"},
        {"--json", NULL, NULL, &t.json, "print events and the result as JSON, a line each"},
        {0},
    };
    int at = cli_options(argc, argv, options, "run [OPTIONS] TASK", about);
    int64_t nsteps = RUN_STEPS, nseconds = RUN_MS / 1000, ntokens = 0;
    char why[256];
    if (at < 0)
        return at == -2 ? 0 : 2;
    if (at >= argc) {
        fprintf(stderr, "daruma run: what is the task? daruma run \"TASK\", or `-` for standard input\n");
        return 2;
    }
    if (!cli_no_more(argc, argv, at + 1))
        return 2;
    s.d = cli_dialect("run", "--dialect", wire);
    if (!s.d || !number("--steps", steps, &nsteps) || !number("--tokens", tokens, &ntokens) ||
        !number("--seconds", seconds, &nseconds) || !profile(named, &s))
        return 2;
    for (size_t i = 0; i < COUNT(wires); i++)
        if (wires[i].d == s.d) {
            s.base = base ? str_of(base) : sys_env(wires[i].base);
            s.key = sys_env(wires[i].key);
            no_key = s.key.n ? NULL : wires[i].key;
        }
    if (!model || !s.base.n) {
        fprintf(stderr, "daruma run: %s\n", model ? "where is the model? --base-url URL" : "which model? --model NAME");
        return 2;
    }
    if (no_key)
        fprintf(stderr, "daruma run: %s is not set: calls go out without a key\n", no_key);
    s.model = str_of(model);
    s.second = str_of(second);
    s.root = root;
    s.mode = plan ? AGENT_PLANNED : AGENT_REACTIVE;
    s.limits.steps = (uint32_t)(nsteps < UINT32_MAX ? nsteps : UINT32_MAX);
    s.limits.tokens = ntokens;
    s.limits.time = mul_sat(nseconds, 1000);
    daruma_arena memory;
    daruma_str task = str_of(argv[at]);
    if (!sys_arena_init(&memory, 4096, 2 * RUN_TASK_BYTES_MAX))
        return 1;
    bool well = !str_eq(task, S("-")) || sys_read_file("-", RUN_TASK_BYTES_MAX, &memory, &task, why);
    if (well && !str_trim(task).n) {
        snprintf(why, sizeof why, "the task is empty");
        well = false;
    }
    if (!well || !run_task(&s, task, why)) {
        fprintf(stderr, "daruma run: %s\n", why);
        t.code = 2;
    }
    sys_arena_done(&memory);
    return t.code;
}
