/* runs_explain.c - tells a run in words, from its journal: what it did, what failed, what was done about it, what that
 * cost, and how it ended. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "cli/runs.h"
#include "dialect/dialect.h"
#include "run/approve.h"
#include "sys/arena.h"

/* What is told of a run, and what was counted on the way. */
typedef struct story {
    const dialect *d;
    daruma_ms began; /* by the clock of the run */
    daruma_arena act_room;
    bool out; /* an act is out: */
    daruma_str act, purpose, name, args;
    daruma_ms at;
    unsigned started;
    /* in all */
    uint32_t models, tools, lost, questions;
    uint32_t more_calls, more_tools;
    daruma_ms waited; /* because something failed */
} story;

/* ---- printing ---- */

static void put_time(const story *t, daruma_ms at)
{
    daruma_ms ms = at - t->began;
    printf("%7lld.%lld s  ", (long long)(ms / 1000), (long long)(ms % 1000 / 100));
}

/* The first bytes of a text, on one line. */
static void put_short(daruma_str text, size_t most)
{
    char plain[RUN_SHOWN_BYTES + 8];
    text = str_trim(text);
    daruma_str rest = text, line = str_cut(&rest, '\n');
    bool cut = line.n > most || rest.n;
    cli_put(stdout, cli_plain(str_sub(line, 0, most), plain, sizeof plain));
    if (cut)
        printf(" ...");
}

static void put_span(daruma_ms ms)
{
    char room[64];
    daruma_buf b = buf_over(room, sizeof room);
    buf_duration(&b, ms);
    printf(STR_FMT, STR_ARG(buf_str(&b)));
}

/* ---- acts and their outcomes ---- */

static void keep_act(story *t, const journal_line *l)
{
    sys_arena_done(&t->act_room);
    t->out = sys_arena_init(&t->act_room, 4096, RUN_ANSWER_BYTES_MAX);
    t->act = arena_copy(&t->act_room, l->act);
    t->purpose = arena_copy(&t->act_room, l->purpose);
    t->name = arena_copy(&t->act_room, l->name);
    t->args = arena_copy(&t->act_room, l->args);
    t->at = l->at;
    t->started = l->started;
    t->models += str_eq(l->act, S("model"));
    t->tools += str_eq(l->act, S("tool"));
    t->questions += str_eq(l->act, S("ask"));
}

/* An answer in the dialect of the run; where a configuration says which that is, in the one that fits. */
static bool read_answer(const story *t, daruma_str body, daruma_arena *a, turn *ret)
{
    const dialect *d;
    if (t->d)
        return t->d->read_answer(body, a, ret) == DARUMA_OK;
    for (size_t i = 0; (d = dialect_at(i)); i++)
        if (d->read_answer(body, a, ret) == DARUMA_OK && ret->message.nparts)
            break;
    return d != NULL;
}

static void tell_answer(const story *t, const journal_line *l)
{
    daruma_arena a;
    turn said = {.usage = TURN_USAGE_NONE};
    size_t calls = 0;
    printf("The model was asked (");
    cli_put(stdout, t->purpose);
    printf(") and answered after ");
    put_span(l->at - t->at);
    if (!sys_arena_init(&a, 16 << 10, RUN_ANSWER_BYTES_MAX))
        return;
    if (read_answer(t, l->in.text, &a, &said)) {
        const convo in = {.arena = &a};
        for (size_t i = 0; i < said.message.nparts; i++) {
            const convo_part *p = &said.message.parts[i];
            calls += p->kind == PART_CALL;
            daruma_str text = p->kind == PART_TEXT ? convo_part_text(&in, p) : (daruma_str){0};
            if (!str_trim(text).n)
                continue;
            printf(": ");
            put_short(text, RUN_SHOWN_BYTES);
        }
    }
    if (calls)
        printf("; it calls %zu tool%s", calls, calls == 1 ? "" : "s");
    if (l->in.code)
        printf(" (behind failures, see above)");
    sys_arena_done(&a);
}

static void tell_tool(story *t, const journal_line *l)
{
    cli_put(stdout, t->name);
    putchar(' ');
    put_short(t->args, RUN_SHOWN_BYTES / 2);
    if (l->in.lost) {
        t->lost++;
        printf(": it was broken off, and nobody knows what came of it");
        return;
    }
    printf(l->in.code == 0 ? " failed after " : " worked in ");
    put_span(l->at - t->at);
    printf(": ");
    put_short(l->in.text, RUN_SHOWN_BYTES / 2);
}

static void tell_outcome(story *t, const journal_line *l)
{
    static const char *const replies[] = {"allowed", "denied", "interrupted", "expired: nobody answered in time"};
    if (l->in.kind == CREW_OPENED) {
        t->began = l->at;
        return;
    }
    put_time(t, l->at);
    switch (l->in.kind) {
    case CREW_ANSWERED:
        tell_answer(t, l);
        break;
    case CREW_FAILED:
        printf("The model was asked (" STR_FMT ") and there was no answer", STR_ARG(t->purpose));
        if (l->in.code)
            printf(", status %d", l->in.code);
        printf(": ");
        put_short(l->in.text.n        ? l->in.text
                  : l->in.net         ? str_of(daruma_net_words((daruma_net)l->in.net))
                  : l->in.code == 200 ? S("what it said is broken or empty")
                                      : S("the connection was lost, or time was up"),
                  RUN_SHOWN_BYTES);
        break;
    case CREW_TOOL:
        tell_tool(t, l);
        break;
    case CREW_PERSON:
        put_short(t->args, RUN_SHOWN_BYTES);
        if (str_eq(l->in.text, S(APPROVE_YES))) {
            printf(" Nobody was asked: " APPROVE_YES " allows it");
            break;
        }
        printf(" A person was asked: %s", replies[l->in.code & 3]);
        if (l->in.text.n) {
            printf(", and said: ");
            put_short(l->in.text, RUN_SHOWN_BYTES);
        }
        break;
    case CREW_CLOCK:
        if (t->out && str_eq(t->act, S("wait"))) {
            t->waited += l->at - t->at;
            printf("Waited ");
            put_span(l->at - t->at);
        } else {
            printf("Time was up");
        }
        break;
    case CREW_RESUMED:
        printf("A person said how to go on");
        if (l->in.text.n) {
            printf(": ");
            put_short(l->in.text, RUN_SHOWN_BYTES);
        }
        break;
    case CREW_OPENED:
    case CREW_INPUTS:
        break;
    }
    putchar('\n');
    t->out = false;
}

/* ---- events: what acts and outcomes do not say ---- */

static void tell_event(story *t, const journal_line *l)
{
    static const struct {
        daruma_str event;
        const char *words;
        const char *fields[3];
    } rows[] = {
        {LIT("llm_request_failed"), "  A call failed", {"kind", "message"}},
        {LIT("llm_retry_attempt"), "  so daruma tried again", {"remedy"}},
        {LIT("retry_scheduled"), "  so the same is tried again", {"operation", "reason"}},
        {LIT("plan_step"), "  Step of the plan", {"objective"}},
        {LIT("replan"), "  so another plan is made", {"reason"}},
        {LIT("reclassify"), "  so other tools are chosen", {"reason"}},
        {LIT("trajectory_compressed"), "  so long results were made short", {"reason"}},
        {LIT("steps_left_out"), "  so the model is not shown the oldest steps any more", {"reason"}},
        {LIT("path_completed"), "  so the path was completed", {"from", "to"}},
        {LIT("planner_repair_attempt"), "  so the model is asked to correct its answer", {"error_summary"}},
        {LIT("loop_detected"), "  It goes in circles: the model is told", {"circle"}},
        {LIT("stuck_nudge"), "  It brings nothing new: the model is told", {0}},
        {LIT("recovery_strategy_generated"), "  Another way was found", {"strategy", "tool", "fate"}},
        {LIT("degraded_answer"), "  The answer is a part of one", {"reason"}},
        {LIT("budget_exhausted"), "  A limit was reached", {"which"}},
        {LIT("escalated"), "  A person has to look at it", {"reason"}},
        {LIT("error_node"), "  It cannot go on: a report is written", {"error_type", "kind"}},
        {LIT("run_resumed"), "The run went on again", {"tool", "fate"}},
        {LIT("approval_waits"), "  The question waits", {"reason"}},
    };
    daruma_arena a;
    if (!sys_arena_init(&a, 4096, RUN_ANSWER_BYTES_MAX))
        return;
    daruma_str name = json_text(json_get(l->event, S("event")), &a);
    int64_t delay = json_int(json_get(l->event, S("delay_ms")), 0);
    bool again = str_eq(name, S("llm_retry_attempt"));
    t->more_calls += again;
    t->more_tools += str_eq(name, S("retry_scheduled"));
    t->waited += again && delay > 0 ? delay : 0; /* the agent's own waits are acts */
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (!str_eq(rows[i].event, name))
            continue;
        put_time(t, l->at);
        printf("%s", rows[i].words);
        for (size_t k = 0; k < COUNT(rows[i].fields) && rows[i].fields[k]; k++) {
            daruma_str text = json_text(json_get(l->event, str_of(rows[i].fields[k])), &a);
            if (!text.n)
                continue;
            printf(k ? ", " : ": ");
            put_short(text, RUN_SHOWN_BYTES);
        }
        if (delay > 0) {
            printf(", after ");
            put_span(delay);
        }
        putchar('\n');
    }
    sys_arena_done(&a);
}

static bool tell_line(const journal_line *l, void *user)
{
    story *t = user;
    switch (l->what) {
    case JOURNAL_LINE_ACT:
        keep_act(t, l);
        break;
    case JOURNAL_LINE_INPUT:
        tell_outcome(t, l);
        break;
    case JOURNAL_LINE_EVENT:
        tell_event(t, l);
        break;
    }
    return true;
}

/* ---- beginning and end ---- */

static void tell_head(journal *j, daruma_str id, story *t, daruma_arena *a)
{
    daruma_str settings = journal_text(j, "settings", a);
    daruma_str wire = json_text(json_get(settings, S("--dialect")), a);
    char date[21] = "?";
    int64_t began = 0;
    daruma_str file = json_text(json_get(settings, S("--config")), a);
    t->d = file.n ? NULL : dialect_find(wire.n ? wire : S("openai"));
    if (str_int(journal_text(j, "began", a), &began))
        date_write(began, date);
    printf("Run " STR_FMT ", begun %s\nTask: ", STR_ARG(id), date);
    put_short(journal_text(j, "task", a), RUN_SHOWN_BYTES);
    if (file.n) {
        printf("\nConfiguration: ");
        put_short(file, RUN_SHOWN_BYTES);
    } else {
        printf("\nModel: ");
        put_short(json_text(json_get(settings, S("--model")), a), RUN_SHOWN_BYTES);
        printf(" at ");
        put_short(json_text(json_get(settings, S("--base-url")), a), RUN_SHOWN_BYTES);
    }
    printf("\nFolder: ");
    put_short(json_text(json_get(settings, S("--root")), a), RUN_SHOWN_BYTES);
    printf("\n\n");
}

static long long count(daruma_str result, daruma_str field)
{
    return (long long)json_int(json_get(result, field), 0);
}

/* Of a run that ended its result knows what was done of what was meant to be. */
static void tell_cost(const story *t, daruma_str result)
{
    uint32_t more_calls = t->more_calls;
    daruma_ms waited = t->waited;
    if (result.n) {
        long long calls = count(result, S("calls"));
        more_calls = calls > t->models ? (uint32_t)(calls - t->models) : 0;
        waited = count(result, S("waited_ms"));
    }
    printf("Recoveries cost ");
    if (!more_calls && !t->more_tools && waited <= 0) {
        printf("nothing.\n");
        return;
    }
    printf("%u more call%s of the model, %u thing%s done again, and ", more_calls, more_calls == 1 ? "" : "s",
           t->more_tools, t->more_tools == 1 ? "" : "s");
    put_span(waited);
    printf(" of waiting.\n");
}

/* The act that was out behind all that is told. */
static void tell_out(const story *t)
{
    if (!t->out)
        return;
    printf("             Under way: ");
    put_short(t->name.n ? t->name : t->act, RUN_SHOWN_BYTES);
    putchar(' ');
    put_short(t->args, RUN_SHOWN_BYTES / 2);
    if (str_eq(t->act, S("model")))
        printf("(a question to the model)");
    else if (str_eq(t->act, S("ask")))
        printf(" (a question to a person)");
    printf(t->started > 1 ? " (for the %u. time)\n" : "\n", t->started);
}

static void tell_end(journal *j, daruma_str id, bool busy, const story *t, daruma_arena *a)
{
    static const char *const words[] = {
#define X(sym, name, words) words,
        JOURNAL_STATE_MAP(X)
#undef X
    };
    journal_state s = journal_state_of(j);
    daruma_str result = journal_text(j, "result", a);
    bool broken = str_ends(id, S(".broken"));
    putchar('\n');
    if (broken) {
        printf("Its journal could not be written to its end: how it ended is not known, and it cannot be resumed.\n");
    } else if (busy || s == JOURNAL_OPEN) {
        printf("It is %s.\n", busy ? "under way" : words[s]);
    } else {
        printf("It ended: ");
        put_short(json_text(json_get(result, S("status")), a), RUN_SHOWN_BYTES);
        printf(" (");
        put_short(json_text(json_get(result, S("reason")), a), RUN_SHOWN_BYTES);
        printf(")%s%s.\n", s == JOURNAL_OVER ? "" : "; ", s == JOURNAL_OVER ? "" : words[s]);
        printf("Used: %lld steps, %lld calls of models, %lld tool calls, %lld tokens in and %lld out, ",
               count(result, S("steps")), count(result, S("calls")), count(result, S("tools")),
               count(result, S("input_tokens")), count(result, S("output_tokens")));
        put_span(count(result, S("took_ms")));
        printf(".\nFailures: %lld, of which %lld were overcome by the agent; %lld answers came behind failures of the "
               "provider.\n",
               count(result, S("failures")), count(result, S("recoveries")), count(result, S("recovered_calls")));
    }
    tell_cost(t, s == JOURNAL_OPEN || broken ? (daruma_str){0} : result);
    if (!busy && !broken && (s == JOURNAL_OPEN || s == JOURNAL_INTERRUPTED))
        printf("It goes on with: daruma run --resume " STR_FMT "\n", STR_ARG(id));
    if (!busy && s == JOURNAL_ESCALATED)
        printf("It goes on with: daruma run --resume " STR_FMT " \"what you say to it\"\n", STR_ARG(id));
    daruma_str text = json_text(json_get(result, S("text")), a);
    if (text.n && s != JOURNAL_OPEN) {
        putchar('\n');
        cli_put_page(stdout, text);
        putchar('\n');
    }
}

int runs_explain(const char *folder, daruma_str id)
{
    char why[256];
    bool busy = false;
    story t = {0};
    daruma_arena a;
    journal *j = journal_read(folder, id, &busy, why);
    if (!j)
        return cli_say(1, "explain", "%s", why);
    if (!sys_arena_init(&a, 16 << 10, RUN_ANSWER_BYTES_MAX)) {
        journal_close(j);
        return 1;
    }
    tell_head(j, id, &t, &a);
    bool well = journal_each(j, tell_line, &t, why);
    tell_out(&t);
    if (well)
        tell_end(j, id, busy, &t, &a);
    else
        fprintf(stderr, "daruma explain: %s\n", why);
    sys_arena_done(&t.act_room);
    sys_arena_done(&a);
    journal_close(j);
    return well ? 0 : 1;
}
