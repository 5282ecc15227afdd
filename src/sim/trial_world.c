/* trial_world.c - the world of a trial: a task of some goals, the tools that serve it, the provider, and their faults.
 * A fault that lasts begins when its goal is first at hand, so it strikes every profile at the same place. */
#include "sim/trial_inside.h"
#include <stdarg.h>
#include <stdio.h>

enum {
    LINE_BYTES = 64,
    RATE_MS_MAX = 60000,
    OUTAGE_MS_MAX = 90000,
    DOWN_MS_MAX = 20000,
    SERVER_MS_MAX = 15000,
    WINDOW_USUAL = 128000,
    WINDOW_NARROW = 9000,
    FILE_BYTES = 400,
};

static const char *const class_names[] = {
#define X(sym, name, words) name,
    TRIAL_CLASS_MAP(X)
#undef X
};
static const char *const class_words[] = {
#define X(sym, name, words) words,
    TRIAL_CLASS_MAP(X)
#undef X
};

const char *trial_class_name(trial_class c)
{
    return class_names[c];
}

const char *trial_class_words(trial_class c)
{
    return class_words[c];
}

bool trial_class_find(daruma_str name, trial_class *ret)
{
    for (int i = 0; i < TRIAL_CLASSES; i++)
        if (str_eq(name, str_of(class_names[i]))) {
            *ret = (trial_class)i;
            return true;
        }
    return false;
}

/* ---- chance ---- */

uint64_t trial_roll(const trial *t, const trial_goal *g, char what, uint32_t nth)
{
    uint64_t at = g ? (uint64_t)(g - t->goals) + 1 : 0;
    return dice_mix(dice_mix(dice_mix(t->seed ^ at << 32) ^ (uint64_t)(unsigned char)what << 8) ^ nth);
}

bool trial_chance(const trial *t, const trial_goal *g, char what, uint32_t nth, uint32_t milli)
{
    return trial_roll(t, g, what, nth) % 1000 < milli;
}

void trial_say(trial *t, const char *fmt, ...)
{
    char room[512];
    va_list ap;
    if (!t->s->say)
        return;
    va_start(ap, fmt);
    int n = vsnprintf(room, sizeof room, fmt, ap);
    va_end(ap);
    size_t most = n < 0 ? 0 : (size_t)n < sizeof room ? (size_t)n : sizeof room - 1;
    t->s->say(t->s->user, t->w.at.now, (daruma_str){room, most});
}

/* ---- a trial ---- */

static const char *const folders[] = {"src/executor", "src/planner", "lib/store", "lib/net", "docs/notes"};
static const char *const files[] = {"progress", "tracker", "budget", "router", "ledger", "cursor", "lexer"};
static const char *const items[] = {"bolts", "hinges", "lamps", "cables"};

static trial_goal *add_goal(trial *t, trial_kind kind, dice *d)
{
    trial_goal *g = &t->goals[t->n];
    uint32_t i = (uint32_t)t->n++;
    *g = (trial_goal){.kind = kind, .since = -1, .bytes = FILE_BYTES};
    daruma_buf path = buf_over(g->path, sizeof g->path - 1);
    snprintf(g->token, sizeof g->token, "%s-%08llx",
             kind == GOAL_SEARCH  ? "LIST"
             : kind == GOAL_ORDER ? "ORDER"
                                  : "VALUE",
             (unsigned long long)(dice_roll(d) & 0xffffffff));
    switch (kind) {
    case GOAL_SEARCH:
        snprintf(g->name, sizeof g->name, "report");
        break;
    case GOAL_READ:
        snprintf(g->name, sizeof g->name, "%s-%u.ts", files[dice_roll(d) % COUNT(files)], 10 + i);
        buf_printf(&path, "%s/%s", folders[dice_roll(d) % COUNT(folders)], g->name);
        break;
    case GOAL_TICKET:
        g->number = 100 + 10 * i + (int64_t)(dice_roll(d) % 10);
        snprintf(g->name, sizeof g->name, "ticket %lld", (long long)g->number);
        break;
    case GOAL_ORDER:
        g->number = dice_range(d, 2, 9);
        snprintf(g->name, sizeof g->name, "%s-%u", items[dice_roll(d) % COUNT(items)], 10 + i);
        break;
    }
    return g;
}

/* May that be wrong at this goal? */
static bool suits(const trial_goal *g, trial_ill ill)
{
    switch (ill) {
    case ILL_LOST:
        return g->kind == GOAL_ORDER;
    case ILL_PATH:
        return g->kind == GOAL_READ;
    case ILL_CIRCLE:
        return g->kind == GOAL_READ || g->kind == GOAL_TICKET;
    case ILL_REFUSED:
        return g->kind == GOAL_TICKET;
    case ILL_SERVER:
        return g->kind == GOAL_TICKET || g->kind == GOAL_ORDER;
    case ILL_JSON:
    case ILL_DOWN:
        return g->kind != GOAL_SEARCH;
    default:
        return true;
    }
}

static void make_ill(trial *t, dice *d, trial_ill ill)
{
    static const daruma_ms most[] = {
        [ILL_RATE] = RATE_MS_MAX, [ILL_OUTAGE] = OUTAGE_MS_MAX, [ILL_DOWN] = DOWN_MS_MAX, [ILL_SERVER] = SERVER_MS_MAX};
    size_t from = dice_roll(d) % t->n;
    for (size_t i = 0; i < t->n; i++) {
        trial_goal *g = &t->goals[(from + i) % t->n];
        if (g->ill || !suits(g, ill))
            continue;
        g->ill = ill;
        g->how = (uint32_t)(dice_roll(d) % 840); /* as a multiple of all numbers of ways */
        g->lasts = (size_t)ill < COUNT(most) && most[ill] ? dice_log_range(d, 1000, most[ill]) : 0;
        return;
    }
}

/* What is wrong in a class. */
static void make_class(trial *t, dice *d, trial_class c)
{
    static const trial_ill of[TRIAL_CLASSES] = {
        [TRIAL_RATE] = ILL_RATE,     [TRIAL_OUTAGE] = ILL_OUTAGE, [TRIAL_JSON] = ILL_JSON,    [TRIAL_EFFECT] = ILL_LOST,
        [TRIAL_CIRCLE] = ILL_CIRCLE, [TRIAL_PATH] = ILL_PATH,     [TRIAL_SERVER] = ILL_SERVER};
    switch (c) {
    case TRIAL_OVERFLOW:
        t->window = WINDOW_NARROW;
        for (size_t i = 0; i < t->n; i++)
            if (t->goals[i].kind == GOAL_READ)
                t->goals[i].bytes = (uint32_t)dice_log_range(d, 4000, 16000);
        break;
    case TRIAL_ORPHAN:
        t->pairs = true;
        break;
    case TRIAL_TOOLS:
        make_ill(t, d, dice_chance(d, 300) ? ILL_REFUSED : ILL_DOWN);
        break;
    default:
        make_ill(t, d, of[c]);
    }
}

static void write_task(trial *t)
{
    daruma_buf b = buf_over(t->task, sizeof t->task - 1);
    BUF_LIT(&b, "Write the report. Search for \"report\" first: it lists the files. Then tell the value that stands in "
                "each of these files and tickets, and place these orders, each once. In this order:");
    for (size_t i = 1; i < t->n; i++) {
        const trial_goal *g = &t->goals[i];
        buf_printf(&b, g->kind == GOAL_ORDER ? "\n- order %s, %lld pieces" : "\n- %s", g->name, (long long)g->number);
    }
    BUF_LIT(&b, "\nAnswer with all values and the numbers of the orders.");
    t->task[b.n] = 0;
}

void trial_make(trial *t, uint64_t k)
{
    dice d = {dice_mix(t->s->seed ^ dice_mix(k))};
    t->seed = dice_roll(&d);
    t->is = (trial_class)(k % TRIAL_CLASSES);
    t->window = WINDOW_USUAL;
    add_goal(t, GOAL_SEARCH, &d);
    int reads = (int)dice_range(&d, 2, 5), tickets = (int)dice_range(&d, 1, 2), orders = (int)dice_range(&d, 1, 2);
    if (t->is == TRIAL_OVERFLOW)
        reads += 2;
    for (int i = 0; i < reads; i++)
        add_goal(t, GOAL_READ, &d);
    for (int i = 0; i < tickets; i++)
        add_goal(t, GOAL_TICKET, &d);
    for (int i = 0; i < orders; i++)
        add_goal(t, GOAL_ORDER, &d);
    if (t->is == TRIAL_MIXED) {
        for (int i = 0; i < 3; i++)
            make_class(t, &d, (trial_class)dice_range(&d, TRIAL_RATE, TRIAL_MIXED - 1));
    } else if (t->is != TRIAL_CALM) {
        make_class(t, &d, t->is);
    }
    write_task(t);
}

/* ---- tools ---- */

#define STRING_OF(name)                                                                                                \
    LIT("{\"type\":\"object\",\"properties\":{\"" name "\":{\"type\":\"string\"}},\"required\":[\"" name "\"]}")
#define READS DARUMA_TOOL_KNOWN | DARUMA_TOOL_READS

const agent_tool trial_tools[] = {
    {.about = {.name = LIT("search"),
               .description = LIT("lists the paths of the files that hold a word"),
               .schema = STRING_OF("word"),
               .traits = READS}},
    {.about = {.name = LIT("read"),
               .description = LIT("reads a file by its path"),
               .schema = STRING_OF("path"),
               .traits = READS}},
    {.about = {.name = LIT("ticket"),
               .description = LIT("reads a ticket"),
               .schema = LIT("{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"integer\"},\"archive\":{\"type\":"
                             "\"boolean\"}},\"required\":[\"id\"]}"),
               .traits = READS}},
    {.about = {.name = LIT("order"),
               .description = LIT("places an order"),
               .schema = LIT("{\"type\":\"object\",\"properties\":{\"item\":{\"type\":\"string\"},\"pieces\":{\"type\":"
                             "\"integer\"}},\"required\":[\"item\",\"pieces\"]}"),
               .traits = DARUMA_TOOL_KNOWN | DARUMA_TOOL_ACTS}},
    {.about = {.name = LIT("find_order"),
               .description = LIT("tells whether an item was ordered"),
               .schema = STRING_OF("item"),
               .traits = READS}},
};
const size_t ntrial_tools = COUNT(trial_tools);

static bool gives(sim_tool_result *ret, int ok, bool lost, daruma_str text)
{
    ret->ok = ok;
    ret->lost = lost;
    ret->text = text;
    return true;
}

/* What a tool gives for a goal. The first time it brings something. */
static bool delivers(trial *t, trial_goal *g, daruma_buf *b, sim_tool_result *ret)
{
    t->useful |= !g->delivered;
    g->delivered = true;
    return gives(ret, 1, false, buf_str(b));
}

static trial_goal *goal_of(trial *t, trial_kind kind, daruma_str name)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->goals[i].kind == kind && str_eq(str_of(kind == GOAL_READ ? t->goals[i].path : t->goals[i].name), name))
            return &t->goals[i];
    return NULL;
}

/* Lines that say nothing, and one in the middle that does. */
static void put_file(const trial *t, const trial_goal *g, daruma_buf *b)
{
    bool told = false;
    for (uint32_t i = 0; b->n < g->bytes || !told; i++) {
        buf_printf(b, "line %u of %s: nothing of interest, %llu\n", i, g->name,
                   (unsigned long long)(trial_roll(t, g, 'x', i) % 100000));
        if (!told && b->n + 2 * LINE_BYTES > g->bytes / 2) {
            buf_printf(b, "The value of %s is %s.\n", g->name, g->token);
            told = true;
        }
    }
}

static void put_result(const trial *t, const trial_goal *g, daruma_buf *b)
{
    switch (g->kind) {
    case GOAL_SEARCH:
        buf_printf(b, "List %s of the files with that word:\n", g->token);
        for (size_t i = 0; i < t->n; i++)
            if (t->goals[i].kind == GOAL_READ)
                buf_printf(b, "%s\n", t->goals[i].path);
        BUF_LIT(b, "docs/readme.md\n");
        break;
    case GOAL_READ:
        put_file(t, g, b);
        break;
    case GOAL_TICKET:
        buf_printf(b, "{\"id\":%lld,\"state\":\"open\",\"value\":\"%s\"}", (long long)g->number, g->token);
        break;
    case GOAL_ORDER:
        buf_printf(b, "Ordered: %lld pieces of %s, number %s.", (long long)g->number, g->name, g->token);
        break;
    }
}

/* Is a lasting fault of the goal there at this time? It begins with the first look. */
static bool lasts(trial *t, trial_goal *g)
{
    if (g->since < 0) {
        g->since = t->w.at.now;
        trial_say(t, "fault at %s, for %lld ms", g->name, (long long)g->lasts);
    }
    return t->w.at.now < g->since + g->lasts;
}

/* The server of tickets and orders is away. */
static bool server_down(const trial *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->goals[i].ill == ILL_SERVER && t->goals[i].since >= 0 &&
            t->w.at.now < t->goals[i].since + t->goals[i].lasts)
            return true;
    return false;
}

/* The fault of the goal strikes the call. False: it does not. */
static bool struck(trial *t, trial_goal *g, const agent_act *x, sim_tool_result *ret)
{
    static const daruma_str down[] = {LIT("Error: connect ECONNREFUSED 10.0.0.7:5432"),
                                      LIT("Error: HTTP 503 Service Unavailable"),
                                      LIT("Error: the request timed out after 10 s"), LIT("Error: read ECONNRESET")};
    bool served = g->kind == GOAL_TICKET || g->kind == GOAL_ORDER;
    if (g->ill == ILL_SERVER && g->since < 0) {
        lasts(t, g);
        g->effects += g->kind == GOAL_ORDER && g->how % 2;
        return gives(ret, 0, true, S("Error: the server of this tool ended while the call was out."));
    }
    if (served && server_down(t))
        return gives(ret, 0, false, S("Error: the server of this tool is not running (connection refused)."));
    if (g->ill == ILL_DOWN && lasts(t, g)) /* it refuses at the door: nothing took effect */
        return gives(ret, 0, false, g->kind == GOAL_ORDER ? down[g->how % 2] : down[g->how % 4]);
    if (g->ill == ILL_REFUSED && !json_is_true(json_get(x->args, S("archive"))))
        return gives(ret, 0, false, S("Error: this ticket is archived: call again with \"archive\": true."));
    if (g->ill == ILL_LOST && g->since < 0) {
        lasts(t, g);
        g->effects += g->how % 2;
        trial_say(t, "the order %s", g->how % 2 ? "took effect" : "took no effect");
        return g->how / 2 % 2 ? gives(ret, 0, true, S("Error: the connection was lost while the call was out."))
                              : gives(ret, 0, false, S("Error: HTTP 504 Gateway Timeout"));
    }
    return false;
}

static bool order(trial *t, trial_goal *g, const agent_act *x, daruma_buf *b, sim_tool_result *ret)
{
    g->looked = false;
    if (struck(t, g, x, ret))
        return true;
    g->effects++;
    trial_say(t, "the order took effect, %u times now", g->effects);
    put_result(t, g, b);
    return delivers(t, g, b, ret);
}

static bool find_order(trial *t, trial_goal *g, daruma_buf *b, sim_tool_result *ret)
{
    if (server_down(t))
        return gives(ret, 0, false, S("Error: the server of this tool is not running (connection refused)."));
    t->useful |= !g->looked;
    g->looked = true;
    if (g->effects) {
        put_result(t, g, b);
        return delivers(t, g, b, ret);
    }
    buf_printf(b, "There is no order for %s.", g->name);
    return gives(ret, 1, false, buf_str(b));
}

bool trial_tool(void *user, agent *a, const agent_act *x, sim_tool_result *ret)
{
    trial *t = user;
    (void)a;
    daruma_arena *room = t->keep;
    daruma_buf b = buf_in(room);
    trial_goal *g = NULL;
    *ret = (sim_tool_result){.ok = -1, .took = 200};
    if (str_eq(x->tool, S("search"))) {
        g = &t->goals[0];
        if (!str_eq(json_text(json_get(x->args, S("word")), room), S("report")))
            return gives(ret, 1, false, S("No file holds that word."));
    } else if (str_eq(x->tool, S("read"))) {
        daruma_str path = json_text(json_get(x->args, S("path")), room);
        g = goal_of(t, GOAL_READ, path);
        if (!g) {
            buf_printf(&b, "Error: ENOENT: no such file or directory, open '" STR_FMT "'", STR_ARG(path));
            return gives(ret, 0, false, buf_str(&b));
        }
    } else if (str_eq(x->tool, S("ticket"))) {
        buf_printf(&b, "ticket %lld", (long long)json_int(json_get(x->args, S("id")), -1));
        g = goal_of(t, GOAL_TICKET, buf_str(&b));
        b = buf_in(room);
    } else {
        g = goal_of(t, GOAL_ORDER, json_text(json_get(x->args, S("item")), room));
    }
    if (!g)
        return gives(ret, 0, false, S("Error: not found: there is no such thing."));
    g->called++;
    ret->took = dice_spread(200, trial_roll(t, g, 't', g->called));
    if (str_eq(x->tool, S("order")))
        return order(t, g, x, &b, ret);
    if (str_eq(x->tool, S("find_order")))
        return find_order(t, g, &b, ret);
    if (t->pairs && g->called == 1 && trial_chance(t, g, 'l', 0, 250)) /* one of two calls is lost */
        return gives(ret, 0, true, S(""));
    if (struck(t, g, x, ret))
        return true;
    put_result(t, g, &b);
    return delivers(t, g, &b, ret);
}

/* ---- the provider ---- */

/* A call without its result, or a result without its call: the provider refuses both. Its id; empty: all are pairs. */
static daruma_str orphan(const convo *c)
{
    for (size_t i = 0; i < c->nmessages; i++)
        for (size_t k = 0; k < c->messages[i].nparts; k++) {
            const convo_part *p = &c->messages[i].parts[k];
            size_t results = 0, calls = 0;
            if (p->kind != PART_CALL && p->kind != PART_RESULT)
                continue;
            for (size_t m = 0; m < c->nmessages; m++)
                for (size_t n = 0; n < c->messages[m].nparts; n++) {
                    const convo_part *q = &c->messages[m].parts[n];
                    calls += q->kind == PART_CALL && str_eq(q->id, p->id);
                    results += q->kind == PART_RESULT && str_eq(q->id, p->id);
                }
            if (calls != 1 || results != 1)
                return p->id.n ? p->id : S("(none)");
        }
    return (daruma_str){0};
}

static bool refuse(daruma_arena *a, wire_answer *ret, int status, const char *type, const char *code, daruma_str words)
{
    daruma_buf b = buf_in(a);
    BUF_SAY(&b, "{\"error\":{\"message\":", buf_quoted(words));
    buf_printf(&b, ",\"type\":\"%s\",\"param\":null,\"code\":\"%s\"}}", type, code);
    *ret = (wire_answer){.took = 150, .status = status, .body = buf_str(&b)};
    return true;
}

static bool out_of_order(trial *t, const trial_goal *g, daruma_arena *a, wire_answer *ret)
{
    (void)t;
    switch (g->how % 7) {
    case 0:
        return refuse(a, ret, 500, "server_error", "internal_error", S("The server had an error."));
    case 1:
        *ret = (wire_answer){.took = 80, .status = 502, .body = S("<html><h1>502 Bad Gateway</h1></html>")};
        return true;
    case 2:
        return refuse(a, ret, 503, "server_error", "unavailable", S("The engine is currently overloaded."));
    case 3:
        return refuse(a, ret, 529, "overloaded_error", "overloaded", S("Overloaded"));
    case 4:
        *ret = (wire_answer){.took = 10000, .status = 504, .body = S("upstream request timeout")};
        return true;
    case 5:
        *ret = (wire_answer){.took = 50, .net = DARUMA_NET_RESET, .phase = DARUMA_AT_WAIT};
        return true;
    default:
        *ret = (wire_answer){.took = 20, .net = DARUMA_NET_REFUSED, .phase = DARUMA_AT_CONNECT};
        return true;
    }
}

static bool no_more_calls(trial *t, const trial_goal *g, daruma_arena *a, wire_answer *ret)
{
    daruma_ms left = g->since + g->lasts - t->w.at.now;
    refuse(a, ret, 429, "requests", "rate_limit_exceeded", S("Rate limit reached for requests."));
    if (g->how % 4) {
        daruma_buf b = buf_in(a);
        buf_printf(&b, "%lld", (long long)(left + 999) / 1000);
        ret->fields[0] = (daruma_header){S("retry-after"), buf_str(&b)};
        ret->nfields = 1;
    }
    return true;
}

bool trial_provider(trial *t, trial_goal *g, daruma_str body, daruma_arena *a, wire_answer *ret)
{
    convo c;
    if (g && (g->ill == ILL_RATE || g->ill == ILL_OUTAGE))
        lasts(t, g);
    for (size_t i = 0; i < t->n; i++) {
        trial_goal *o = &t->goals[i];
        if ((o->ill != ILL_RATE && o->ill != ILL_OUTAGE) || o->since < 0 || !lasts(t, o))
            continue;
        return o->ill == ILL_RATE ? no_more_calls(t, o, a, ret) : out_of_order(t, o, a, ret);
    }
    if (text_tokens(body) > t->window) {
        daruma_buf b = buf_in(a);
        buf_printf(&b,
                   "This model's maximum context length is %lld tokens. However, your messages resulted in %lld "
                   "tokens. Please reduce the length of the messages.",
                   (long long)t->window, (long long)text_tokens(body));
        return refuse(a, ret, 400, "invalid_request_error", "context_length_exceeded", buf_str(&b));
    }
    daruma_str alone = t->w.d->read(body, a, &c) == DARUMA_OK ? orphan(&c) : (daruma_str){0};
    if (alone.n) {
        daruma_buf b = buf_in(a);
        BUF_SAY(&b,
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                "'tool_call_id'. The following tool_call_ids did not have response messages: ",
                alone);
        return refuse(a, ret, 400, "invalid_request_error", "invalid_messages", buf_str(&b));
    }
    return false;
}
