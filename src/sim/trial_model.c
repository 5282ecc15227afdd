/* trial_model.c - the simulated model of a trial. It reads the request and nothing else: what stands in it is known,
 * what was shortened away is not. It does the goals of the task in their order and makes the mistakes of the trial; how
 * probably it mends one depends on whether the request holds what it needs for that. */
#include "sim/trial_inside.h"
#include <stdio.h>
#include <xxhash.h>

/* In thousandths; doc/seeds.md lists them. */
enum {
    MENDS_TOLD = 900,    /* mends a call when it was told what is wrong with it ... */
    MENDS_UNTOLD = 500,  /* ... and when not */
    TAKES_PATH = 950,    /* takes a path that it is shown */
    LOOKS_UP_PATH = 500, /* looks into the list again, without being told */
    LEAVES_TOLD = 850,   /* leaves a circle when it is told */
    LEAVES_UNTOLD = 50,  /* ... of itself, each time */
    CHECKS_TOLD = 950,   /* looks before it repeats an order whose outcome is said to be unknown */
    CHECKS_UNTOLD = 300, /* ... when it only reads that the call failed */
    KEEPS_FACT = 950,    /* a summary keeps a fact */
};
static const uint32_t gives_up[] = {50, 150, 300, 500}; /* behind the first, second, ... failure of one goal */

/* ---- what it reads ---- */

static bool shows(daruma_str text, const char *what)
{
    return str_ifind(text, str_of(what)) != STR_NONE;
}

static bool known(const trial_goal *g, daruma_str body)
{
    return str_find(body, str_of(g->token)) != STR_NONE;
}

/* What came behind its own newest words: results of tools, words of the user. */
typedef struct fresh {
    daruma_str all;
    bool note; /* words that are no result */
} fresh;

static fresh read_fresh(convo *c, daruma_arena *a)
{
    fresh f = {0};
    daruma_buf b = buf_in(a);
    size_t from = 0;
    for (size_t i = 0; i < c->nmessages; i++)
        if (c->messages[i].role == CONVO_ASSISTANT)
            from = i + 1;
    for (size_t i = from; from && i < c->nmessages; i++)
        for (size_t k = 0; k < c->messages[i].nparts; k++) {
            convo_part *p = &c->messages[i].parts[k];
            daruma_str text = convo_text(c, p);
            if (p->kind != PART_TEXT && p->kind != PART_RESULT)
                continue;
            f.note |= p->kind == PART_TEXT && !str_starts(text, S("{\"observation\""));
            BUF_SAY(&b, text, "\n");
        }
    f.all = buf_str(&b);
    return f;
}

/* The tools stand in words, and it answers with actions as JSON. */
static bool writes_actions(convo *c, daruma_str body)
{
    return !c->ntools && shows(body, "next_node");
}

static bool offers(convo *c, daruma_str body, const char *tool)
{
    for (size_t i = 0; i < c->ntools; i++)
        if (str_eq(c->tools[i].name, str_of(tool)))
            return true;
    return writes_actions(c, body);
}

/* The goal that a step of a plan names; NULL: the request is no step, `*ret_step` says. */
static trial_goal *goal_of_step(trial *t, daruma_str body, bool *ret_step)
{
    size_t at = str_find(body, S("Your step, ")), mark;
    *ret_step = at != STR_NONE;
    if (!*ret_step)
        return NULL;
    daruma_str step = str_from(body, at);
    mark = str_find(step, S("goal-"));
    int64_t n = -1;
    size_t end = str_find(step, S("\\n"));
    if (mark == STR_NONE || (end != STR_NONE && mark > end) || !str_scan_int(str_from(step, mark + 5), &n))
        return NULL;
    return n >= 0 && (size_t)n < t->n ? &t->goals[n] : NULL;
}

/* Does it still have to be done? */
static bool is_open(const trial_goal *g, daruma_str body)
{
    if (g->left)
        return false;
    return !known(g, body) || g->ill == ILL_CIRCLE;
}

trial_goal *trial_next(trial *t, convo *c, daruma_str body)
{
    bool step;
    trial_goal *g = goal_of_step(t, body, &step);
    if (c->set.choice == CHOICE_NONE || (!c->ntools && !writes_actions(c, body)))
        return NULL;
    if (step)
        return g && is_open(g, body) ? g : NULL;
    for (size_t i = 0; i < t->n; i++)
        if (is_open(&t->goals[i], body))
            return &t->goals[i];
    return NULL;
}

/* ---- what it writes ---- */

typedef struct move {
    const char *tool;
    daruma_str args;
} move;

static daruma_str args_of(daruma_arena *a, const char *name, const char *value)
{
    daruma_buf b = buf_in(a);
    buf_printf(&b, "{\"%s\":\"%s\"}", name, value);
    return buf_str(&b);
}

/* The path as it comes to its mind. */
static daruma_str path_of(trial *t, trial_goal *g, daruma_str body, daruma_str said, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    bool shown = str_find(said, str_of(g->path)) != STR_NONE, listed = str_find(body, str_of(g->path)) != STR_NONE;
    uint32_t n = g->thought;
    bool right = g->ill != ILL_PATH || (n > 1 && shown && trial_chance(t, g, 'p', n, TAKES_PATH)) ||
                 (n > 1 && listed && trial_chance(t, g, 'q', n, LOOKS_UP_PATH));
    if (right && listed)
        return args_of(a, "path", g->path);
    if (g->how % 2 == 0 || !listed) /* the folder is left out, or guessed */
        buf_printf(&b, "{\"path\":\"%s%s\"}", n % 2 || !listed ? "" : "src/", g->name);
    else /* a letter is left out */
        buf_printf(&b, "{\"path\":\"%.3s%s\"}", g->path, g->path + 4);
    return buf_str(&b);
}

/* Was the order placed already, as far as it can see? */
static bool ordered(convo *c, const trial_goal *g)
{
    for (size_t i = 0; i < c->nmessages; i++)
        for (size_t k = 0; c->messages[i].role == CONVO_ASSISTANT && k < c->messages[i].nparts; k++) {
            convo_part *p = &c->messages[i].parts[k];
            daruma_str text = p->kind == PART_CALL || p->kind == PART_TEXT ? convo_text(c, p) : (daruma_str){0};
            if (str_find(text, str_of(g->name)) != STR_NONE &&
                (str_eq(p->name, S("order")) || str_find(text, S("\"order\"")) != STR_NONE))
                return true;
        }
    return false;
}

/* Places an order, or looks first whether it was placed. */
static move order_of(trial *t, trial_goal *g, convo *c, daruma_str body, daruma_str said, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    buf_printf(&b, "{\"item\":\"%s\",\"pieces\":%lld}", g->name, (long long)g->number);
    move place = {"order", buf_str(&b)}, look = {"find_order", args_of(a, "item", g->name)};
    bool none = str_find(said, S("There is no order for")) != STR_NONE;
    bool doubtful = shows(said, "effect is unknown") || shows(said, "may have had its effect");
    if (!ordered(c, g) || none)
        return place;
    if (trial_chance(t, g, 'c', g->thought, doubtful ? CHECKS_TOLD : CHECKS_UNTOLD))
        return offers(c, body, "find_order") ? look : doubtful ? (move){0} : place;
    return place;
}

/* The call for a goal, without mistakes of its form. No tool: it says that it cannot. */
static move call_for(trial *t, trial_goal *g, convo *c, daruma_str body, daruma_str said, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    switch (g->kind) {
    case GOAL_SEARCH:
        return (move){"search", args_of(a, "word", "report")};
    case GOAL_READ:
        return (move){"read", path_of(t, g, body, said, a)};
    case GOAL_TICKET:
        buf_printf(&b, "{\"id\":%lld%s}", (long long)g->number,
                   shows(said, "archive") && trial_chance(t, g, 'a', g->thought, MENDS_TOLD) ? ",\"archive\":true"
                                                                                             : "");
        return (move){"ticket", buf_str(&b)};
    case GOAL_ORDER:
        break;
    }
    return order_of(t, g, c, body, said, a);
}

/* A call in one of the ways in which models break them. */
static move break_call(const trial_goal *g, move m, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    daruma_str inside = m.args.n > 2 ? str_sub(m.args, 1, m.args.n - 2) : (daruma_str){0};
    switch ((trial_broken)(g->how % BROKEN_WAYS)) {
    case BROKEN_COMMA:
        buf_printf(&b, "{" STR_FMT ",}", STR_ARG(inside));
        break;
    case BROKEN_TYPE:
        if (g->kind == GOAL_TICKET)
            buf_printf(&b, "{\"id\":\"%lld\"}", (long long)g->number);
        else
            buf_printf(&b, "{\"value\":{" STR_FMT "}}", STR_ARG(inside));
        break;
    case BROKEN_MISSING:
        BUF_LIT(&b, "{}");
        break;
    case BROKEN_NAME:
        return (move){g->kind == GOAL_READ ? "open_document" : "do_it", m.args};
    default: /* CUT */
        buf_put(&b, str_sub(m.args, 0, m.args.n - m.args.n / 3));
    }
    return (move){m.tool, buf_str(&b)};
}

/* Does it break its answer for the goal now? `*ret_how`: how. */
static bool breaks(trial *t, trial_goal *g, fresh f, uint32_t *ret_how)
{
    bool told = f.note || shows(f.all, "json") || shows(f.all, "argument") || shows(f.all, "no tool") ||
                shows(f.all, "missing") || shows(f.all, "required");
    if (g->ill != ILL_JSON)
        return false;
    bool again = g->broken == 0 || !trial_chance(t, g, 'b', g->broken, told ? MENDS_TOLD : MENDS_UNTOLD);
    if (!again) {
        g->ill = ILL_NONE; /* it knows how, from now on */
        return false;
    }
    g->broken++;
    *ret_how = g->how % BROKEN_WAYS;
    return true;
}

/* What it repeats in a circle. */
static move lap(trial_goal *g, convo *c, daruma_str body, move same, daruma_arena *a)
{
    g->laps++;
    if (g->how % 2 && g->laps % 2 && offers(c, body, "search"))
        return (move){"search", args_of(a, "word", "report")};
    return same;
}

static daruma_str say_answer(const trial *t, daruma_str body, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    BUF_LIT(&b, "Result:");
    for (size_t i = 0; i < t->n; i++) {
        const trial_goal *g = &t->goals[i];
        bool is = known(g, body);
        buf_printf(&b, " %s: %s;", g->name, is ? g->token : "not found");
    }
    for (size_t i = 0; shows(body, "your step, ") && i < t->n; i++) /* what comes of a step is for those behind it */
        if (t->goals[i].path[0] && str_find(body, str_of(t->goals[i].path)) != STR_NONE)
            buf_printf(&b, " %s;", t->goals[i].path);
    return buf_str(&b);
}

static daruma_str says(trial *t, convo *c, daruma_str body, daruma_str text, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    if (!writes_actions(c, body))
        return wire_says(t->w.d, text, NULL, 0, a);
    BUF_SAY(&b, "{\"thought\":\"done\",\"next_node\":\"final_response\",\"args\":{\"raw_answer\":", buf_quoted(text),
            "}}");
    return wire_says(t->w.d, buf_str(&b), NULL, 0, a);
}

static daruma_str calls(trial *t, convo *c, daruma_str body, const move *m, size_t n, const trial_goal *g,
                        daruma_arena *a)
{
    wire_tool_call list[2];
    char ids[2][40];
    if (writes_actions(c, body)) {
        daruma_buf b = buf_in(a);
        buf_printf(&b, "{\"thought\":\"next\",\"next_node\":\"%s\",\"args\":" STR_FMT "}", m->tool, STR_ARG(m->args));
        return wire_says(t->w.d, buf_str(&b), NULL, 0, a);
    }
    for (size_t i = 0; i < n; i++) {
        if (t->pairs) /* the same ids in each answer */
            snprintf(ids[i], sizeof ids[i], "call_%zu", i);
        else
            snprintf(ids[i], sizeof ids[i], "call_%08llx", (unsigned long long)trial_roll(t, g, 'i', g->thought) >> 32);
        list[i] = (wire_tool_call){str_of(ids[i]), str_of(m[i].tool), m[i].args};
    }
    return wire_says(t->w.d, (daruma_str){0}, list, n, a);
}

/* Was it shown that its last answer for the goal brought nothing? Then it may leave the goal out, more probably each
 * time. The same question once more shows nothing, and a slip of its own form it just corrects. */
static bool leaves(trial *t, trial_goal *g, daruma_str body)
{
    if (t->last != g || t->useful || t->slipped || t->body == XXH3_64bits(body.p, body.n))
        return false;
    uint32_t row = g->failed < COUNT(gives_up) ? g->failed : COUNT(gives_up) - 1;
    g->failed++;
    return trial_chance(t, g, 'g', g->failed, gives_up[row]);
}

/* It does the next goal, or another one when it leaves it. */
daruma_str trial_step(trial *t, convo *c, daruma_str body, trial_goal *g, daruma_arena *a)
{
    fresh f = read_fresh(c, a);
    bool round = g && g->ill == ILL_CIRCLE && known(g, body);
    uint32_t how = BROKEN_WAYS;
    while (g) {
        g->thought++;
        if (round) { /* told: words that are no result, or a result that is another one */
            bool told = f.note || (!known(g, f.all) && !known(&t->goals[0], f.all));
            g->left = trial_chance(t, g, 'k', g->laps, told ? LEAVES_TOLD : LEAVES_UNTOLD);
        } else {
            g->left = leaves(t, g, body);
        }
        if (!g->left)
            break;
        g = trial_next(t, c, body);
        round = g && g->ill == ILL_CIRCLE && known(g, body);
    }
    move m[2] = {{0}};
    size_t n = 1;
    t->open = g != NULL;
    t->useful = false;
    t->last = g;
    t->body = XXH3_64bits(body.p, body.n);
    if (g)
        m[0] = call_for(t, g, c, body, f.all, a);
    if (!g || !m[0].tool) {
        t->open = false;
        trial_say(t, "the model answers");
        return says(t, c, body, say_answer(t, body, a), a);
    }
    if (round)
        m[0] = lap(g, c, body, m[0], a);
    t->slipped = breaks(t, g, f, &how);
    if (how < BROKEN_EMPTY)
        m[0] = break_call(g, m[0], a);
    trial_say(t, "the model: %s " STR_FMT, how >= BROKEN_EMPTY && how < BROKEN_WAYS ? "nothing" : m[0].tool,
              STR_ARG(m[0].args));
    if (how == BROKEN_EMPTY)
        return says(t, c, (daruma_str){0}, (daruma_str){0}, a);
    trial_goal *second = t->pairs && !round && g->kind != GOAL_SEARCH && g + 1 < t->goals + t->n ? g + 1 : NULL;
    if (second && is_open(second, body) && second->kind != GOAL_ORDER && !writes_actions(c, body) &&
        !shows(body, "your step, ")) {
        second->thought++;
        m[n++] = call_for(t, second, c, body, f.all, a);
    }
    daruma_str answer = calls(t, c, body, m, n, g, a);
    return how == BROKEN_BODY ? str_sub(answer, 0, answer.n / 2) : answer;
}

/* ---- questions on the side ---- */

static void put_facts(trial *t, daruma_str body, bool all, daruma_buf *b)
{
    for (size_t i = 0; i < t->n; i++) {
        trial_goal *g = &t->goals[i];
        if (known(g, body) && (all || trial_chance(t, g, 's', g->summarised++, KEEPS_FACT)))
            buf_printf(b, " %s: %s;", g->name, g->token);
    }
}

/* A plan: a step for each goal that is not known, and an answer from all of them. */
static void put_plan(trial *t, daruma_str body, daruma_buf *b)
{
    static const char *const tools[] = {"search", "read", "ticket", "order"};
    BUF_LIT(b, "{\"steps\":[");
    for (size_t i = 0; i < t->n; i++) {
        trial_goal *g = &t->goals[i];
        if (known(g, body) && i)
            continue;
        buf_printf(b,
                   "{\"key\":\"k%zu\",\"tool\":\"%s\",\"objective\":\"goal-%zu: %s\",\"inputs\":{%s},\"expected\":"
                   "\"its value\"},",
                   i, tools[g->kind], i, g->name, i && g->kind == GOAL_READ ? "\"list\":\"k0\"" : "");
    }
    BUF_LIT(b, "{\"key\":\"answer\",\"tool\":\"respond\",\"objective\":\"Answer. Known already:");
    put_facts(t, body, true, b);
    BUF_LIT(b, "\",\"inputs\":{");
    for (size_t i = 0, n = 0; i < t->n; i++)
        if (!known(&t->goals[i], body) || !i)
            buf_printf(b, "%s\"i%zu\":\"k%zu\"", n++ ? "," : "", i, i);
    BUF_LIT(b, "},\"expected\":\"the report\"}]}");
}

static trial_goal *first_open(trial *t, daruma_str body)
{
    for (size_t i = 0; i < t->n; i++)
        if (is_open(&t->goals[i], body) && !known(&t->goals[i], body) && !t->goals[i].delivered)
            return &t->goals[i];
    return NULL;
}

/* Another way: the next call that it thinks is right, when it is sure which. */
static void put_strategy(trial *t, daruma_str body, daruma_buf *b)
{
    const trial_goal *g = first_open(t, body);
    if (g && g->kind == GOAL_READ && str_find(body, str_of(g->path)) != STR_NONE)
        buf_printf(b,
                   "{\"strategy\":\"parameter-adjustment\",\"reasoning\":\"the list has the path\",\"action\":{"
                   "\"toolName\":\"read\",\"parameters\":{\"path\":\"%s\"}},\"confidence\":0.9}",
                   g->path);
    else if (g && g->kind == GOAL_TICKET)
        buf_printf(b,
                   "{\"strategy\":\"alternative-tool\",\"reasoning\":\"the next goal\",\"action\":{\"toolName\":"
                   "\"ticket\",\"parameters\":{\"id\":%lld}},\"confidence\":0.8}",
                   (long long)g->number);
    else
        BUF_LIT(b,
                "{\"strategy\":\"retry\",\"reasoning\":\"go on with the next goal\",\"action\":{},\"confidence\":0.4}");
}

daruma_str trial_side(trial *t, agent_purpose p, daruma_str body, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    size_t done = 0;
    switch (p) {
    case AGENT_FOR_CLASSES:
        BUF_LIT(&b, "{\"tools\":[\"search\",\"read\",\"ticket\",\"order\",\"find_order\"]}");
        break;
    case AGENT_FOR_PLAN:
        put_plan(t, body, &b);
        break;
    case AGENT_FOR_STRATEGY:
        put_strategy(t, body, &b);
        break;
    case AGENT_FOR_ESTIMATE:
        for (size_t i = 0; i < t->n; i++)
            done += known(&t->goals[i], body);
        buf_printf(&b, "{\"progressPercent\":%zu,\"reasoning\":\"counted\",\"nextMilestone\":\"\",\"blockers\":[]}",
                   100 * done / t->n);
        break;
    case AGENT_FOR_ARGS: {
        const trial_goal *g = first_open(t, body);
        if (g && g->kind == GOAL_TICKET)
            buf_printf(&b, "{\"id\":%lld}", (long long)g->number);
        else if (g && g->kind == GOAL_ORDER)
            buf_printf(&b, "{\"item\":\"%s\",\"pieces\":%lld}", g->name, (long long)g->number);
        else
            buf_printf(&b, "{\"path\":\"%s\"}", g ? g->path : "");
        break;
    }
    case AGENT_FOR_FINISH:
        buf_put(&b, say_answer(t, body, a));
        break;
    case AGENT_FOR_ANALYSIS:
        BUF_LIT(&b, "The failed call made it impossible to go on.");
        break;
    case AGENT_FOR_APOLOGY:
        BUF_LIT(&b, "I am sorry: I could not finish this.");
        break;
    default: /* a summary */
        BUF_LIT(&b, "Facts:");
        put_facts(t, body, false, &b);
        break;
    }
    return buf_str(&b);
}
