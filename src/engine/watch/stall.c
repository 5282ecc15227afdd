/* stall.c - sees an agent step by step. What it did is remembered as hashes in a window of fixed size; a step that is
 * like none before costs one look over them. What makes a step new, and what changes the world, is decided here; what
 * is a circle, in rules.c.
 */
#include "base/arena.h"
#include "base/check.h"
#include "base/str.h"
#include "engine/watch/facts.h"
#include "engine/watch/same/same_lines.h"
#include "engine/watch/same/window.h"
#include "engine/watch/words/words.h"

enum {
    MOVES = DARUMA_TOOL_WAITS | WORDS_ASKS | WORDS_MOVES | WORDS_RANDOM | WORDS_INPUT,
    TRAITS = 0x7f,
    CLASS = DARUMA_TOOL_READS | DARUMA_TOOL_WRITES | DARUMA_TOOL_ACTS | DARUMA_TOOL_NOTES
};

size_t daruma_stall_bytes(void)
{
    return sizeof(daruma_stall);
}

daruma_stall *daruma_stall_new(daruma_arena *a)
{
    return ARENA_NEW(a, daruma_stall, 1);
}

/* ---- what kind of call it is -------------------------------------------------------------------- */

/* {"command":"view"} of an editor: one word, and it only looks. */
static bool only_looks(const same_call *c, unsigned means)
{
    daruma_str word = c->action.n ? c->action : c->command;
    if (!(means & DARUMA_TOOL_WRITES) || !word.n || str_findch(word, ' ') != STR_NONE)
        return false;
    return (words_of_action(word) & (CLASS | WORDS_CHANGES)) == DARUMA_TOOL_READS;
}

/* What a shell does is in its command; what a tool of many uses does, in its action. */
static unsigned means_of(const daruma_step *step, const same_call *c, unsigned means)
{
    daruma_str command = c->command.n ? c->command : c->text; /* of a shell, whatever it is called */
    if (!means && c->command.n && str_findch(c->command, ' ') != STR_NONE && (c->names & NAME_COMMAND))
        means = WORDS_SHELL;
    if (step->traits & DARUMA_TOOL_KNOWN) {
        means = (means & ~(unsigned)(TRAITS | WORDS_SHELL | WORDS_WEAK | WORDS_ASKS)) | (step->traits & TRAITS);
    } else if ((means & WORDS_SHELL) && command.n) {
        unsigned line = words_of_command(command);
        means = (means & ~(unsigned)CLASS) | (line & ~(unsigned)WORDS_WEAK);
        if (line & (DARUMA_TOOL_READS | WORDS_CHANGES))
            means &= ~(unsigned)WORDS_WEAK;
        else
            means |= WORDS_WEAK;
    } else if ((means & DARUMA_TOOL_NOTES) && c->action.n &&
               (words_of_action(c->action) & (CLASS | WORDS_CHANGES)) == DARUMA_TOOL_READS) {
        means = (means & ~(unsigned)CLASS) | DARUMA_TOOL_READS; /* to read what was noted is no note */
    } else if (only_looks(c, means)) {
        means = (means & ~(unsigned)CLASS) | DARUMA_TOOL_READS;
    } else if (!means && c->objects == 1 && c->text.n && !c->action.n &&
               (words_of_command(c->text) & DARUMA_TOOL_READS)) {
        means |= DARUMA_TOOL_READS; /* nobody knows it, and what it is given reads as a command that only looks */
    } else if (c->action.n && (!(means & CLASS) || (means & (WORDS_WEAK | WORDS_INPUT)))) {
        unsigned action = words_of_action(c->action);
        if (action & CLASS)
            means &= ~(unsigned)(CLASS | WORDS_WEAK);
        means |= action;
    }
    if (c->objects > 1) /* "true", and in which container: that looks whether it is there */
        means &= ~(unsigned)WORDS_IDLE;
    means |= step->traits & TRAITS;
    if (c->waits || words_of_code(command) & DARUMA_TOOL_WAITS)
        means |= DARUMA_TOOL_WAITS;
    if ((means & DARUMA_TOOL_ACTS) && (means & WORDS_MOVES)) /* a click on "next" is one step on */
        means |= words_of_action(str_sub(step->args, 0, 64)) & WORDS_INPUT;
    if ((c->names & NAME_LIMIT) && !(means & (CLASS | WORDS_SHELL)))
        means |= DARUMA_TOOL_WAITS;
    return means;
}

/* What the name of a tool means; it is read once while it is in use. */
static unsigned name_means(const daruma_stall *s, daruma_str name, uint64_t tool)
{
    for (uint32_t i = 0, n = window_count(s); i < n; i++)
        if (window_at(s, i)->tool == tool)
            return window_at(s, i)->tool_means;
    return words_of_tool(name);
}

/* Does nothing but wait: sleep(60), {"action":"wait"}. It stands between calls as time does. */
static bool is_pause(unsigned means, const same_call *c)
{
    bool word = c->objects == 1 && c->action.n && str_findch(c->action, ' ') == STR_NONE &&
                (str_istarts(c->action, S("wait")) || (words_of_action(c->action) & WORDS_PAUSES));
    bool waits = word || ((means & DARUMA_TOOL_WAITS) && !c->objects && (c->names & (NAME_LIMIT | NAME_WAIT)));
    return ((means & WORDS_PAUSES) || waits) && !(means & WORDS_SHELL);
}

/* A pause that was asked for wrongly is none. */
static bool is_misused(const daruma_step *step)
{
    bool failed = daruma_step_failed(step);
    unsigned says = step->result.n ? words_of_result(step->result, step->args, failed) : 0;
    return (says & WORDS_MISUSED) || (failed && (says & WORDS_REFUSED));
}

/* ---- what came of it ---------------------------------------------------------------------------- */

/* How the newest call stands to those before it. */
typedef struct relation {
    bool known;       /* the same call with the same result was there */
    bool known_here;  /* ... since the state changed last */
    bool moved;       /* the same call gave something else */
    bool told;        /* that result was there, from whatever call */
    bool again;       /* that call may have been made before */
    bool unlike;      /* neither call nor result was there */
    const seen *twin; /* the newest that was the same; NULL: none */
    const seen *near; /* the newest of that call whose result differs in numbers alone; NULL: none */
} relation;

static relation relate(const daruma_stall *s, const seen *e)
{
    relation r = {.twin = NULL};
    uint32_t calls = window_alike(s, s->call_tags, e->call);
    uint32_t results = window_alike(s, s->result_tags, e->result), alike = calls | results;
    r.again = calls != 0;
    r.unlike = alike == 0;
    while (alike) {
        uint32_t back = (uint32_t)__builtin_clz(alike);
        const seen *o = window_at(s, back);
        bool result = o->result == e->result;
        alike ^= UINT32_C(1) << (31 - back);
        r.told |= result;
        if (r.told)
            alike &= calls; /* of other calls no more is to be known */
        if (o->call != e->call)
            continue;
        if (result && !r.known)
            r.twin = o;
        r.known |= result;
        r.known_here |= result && o->epoch == s->epoch;
        r.moved |= !result;
        if (!result && !r.near && o->masked == e->masked)
            r.near = o;
        if (r.known_here)
            alike &= ~results; /* nor of those that are the same in all */
    }
    return r;
}

/* "0 replacements": was it in vain? A longer answer tells of something. */
static bool is_in_vain(const seen *e, const daruma_step *step)
{
    enum { LONGEST = 200 };
    if (!(e->means & (DARUMA_TOOL_WRITES | WORDS_CHANGES)) || step->result.n > LONGEST)
        return false;
    return (words_of_result(step->result, step->args, false) & WORDS_SAME) != 0;
}

/* Does it say but a word or two? That may be all there is to hear. */
static bool says_little(const seen *e)
{
    return !(e->flags & SEEN_FAILED) && (e->says & (WORDS_EMPTY | WORDS_ACK | WORDS_SHORT));
}

/* True if at most one in `share` of the words of a long result is new. */
static bool tells_little(const seen *e, uint32_t share)
{
    enum { LONG = 10 };
    return e->pairs >= LONG && e->news * share <= e->pairs;
}

/* Did this call change something that others may look at? 2 surely, 1 maybe. */
static int change_of(const seen *e, const relation *r, const daruma_step *step)
{
    unsigned m = e->means;
    bool refused = (e->flags & SEEN_LITTLE) && (e->says & WORDS_REFUSED); /* as before: nothing was done */
    if ((e->flags & SEEN_FAILED) || refused || r->known || is_in_vain(e, step))
        return 0;
    /* An editor may tell of each edit in the same words; a world says so of what cannot be done. */
    bool edits = (m & WORDS_SHELL) || (e->tool_means & DARUMA_TOOL_WRITES);
    if (m & (DARUMA_TOOL_WRITES | DARUMA_TOOL_ACTS | WORDS_CHANGES) && !(m & WORDS_WEAK))
        return r->told && !says_little(e) && !edits ? 1 : 2;
    if (m & (DARUMA_TOOL_READS | DARUMA_TOOL_NOTES | DARUMA_TOOL_WAITS | WORDS_ASKS | WORDS_RANDOM))
        return 0;
    return 1;
}

static void say_words(seen *e, const daruma_step *step, const seen *twin)
{
    bool read = twin && twin->says; /* what was said the same way is not read again */
    e->says = read ? twin->says : words_of_result(step->result, step->args, (e->flags & SEEN_FAILED) != 0);
    e->patience = (uint8_t)patience_of(e);
}

/* A run that was made before, something was done meanwhile, and what it says may be as before. */
static bool is_run_again(const daruma_stall *s, const seen *e, const relation *r)
{
    const seen *before = r->twin ? r->twin : r->near;
    bool looks = (e->means & DARUMA_TOOL_READS) && !(e->means & (WORDS_SHELL | WORDS_WEAK));
    return before && before->hard != s->hard && !looks && !(e->means & (DARUMA_TOOL_NOTES | DARUMA_TOOL_WRITES));
}

/* So often was the very same call with the very same result there before. */
static uint32_t times_before(const daruma_stall *s, const seen *e)
{
    uint32_t n = 0, alike = window_alike(s, s->call_tags, e->call) & window_alike(s, s->result_tags, e->result);
    for (; alike; alike &= alike - 1) {
        const seen *o = window_at(s, 31 - (uint32_t)__builtin_ctz(alike));
        n += o->call == e->call && o->result == e->result;
    }
    return n;
}

enum { PATIENT = TIMES_MAYBE + 2 }; /* who waits for longer hears the same for long */

/* Does it tell at length what it told before, and nothing surely changed meanwhile, nor did time pass? Who waits hears
 * the same for long. */
static bool is_told_again(const daruma_stall *s, const seen *e, const relation *r)
{
    return r->twin && r->twin->hard == s->hard && r->twin->pauses == (uint16_t)s->pauses && e->patience <= PATIENT &&
           !says_little(e) && !(e->flags & SEEN_NOTE);
}

/* Who goes back to a place once looks it up; who sees little else than what was seen goes in circles. */
static void weigh_news(daruma_stall *s, seen *e, const relation *r, int change)
{
    bool old = (e->flags & SEEN_OLD) && !change && !r->moved; /* what moves is no window of a file that stands */
    if ((!r->told && !r->known && !old) || change == 2) {
        s->stale = 0;
    } else if (old || is_told_again(s, e, r)) {
        e->flags |= old || times_before(s, e) >= 2 ? SEEN_STALE : 0;
        s->stale_at = s->stale ? s->stale_at : e->step;
        s->stale++;
    } else if (change && s->stale && says_little(e)) {
        s->stale--; /* it may have changed something */
    }
}

/* The last two lines of a result, numbers left out: below the answer a harness may write one. */
static uint64_t close_of(daruma_str text)
{
    daruma_str last = facts_last_line(text), above = str_trim(str_sub(text, 0, (size_t)(last.p - text.p)));
    return daruma_result_hash(last, true) + 3 * daruma_result_hash(facts_last_line(above), true);
}

static relation take_in(daruma_stall *s, seen *e, const daruma_step *step)
{
    relation r = relate(s, e);
    if (e->means & DARUMA_TOOL_NOTES)
        e->flags |= SEEN_NOTE;
    if (r.moved)
        e->flags |= SEEN_MOVED;
    enum { SHARE = 4, REFUSED_SHARE = 12 }; /* of a refusal that names another thing, one word is news */
    bool little = tells_little(e, SHARE) && window_alike(s, s->opens_tags, e->opens);
    if (little)
        e->closes = close_of(str_trim(step->result));
    if (r.known || r.told || little || (e->flags & SEEN_FAILED) ||
        (r.moved && (e->means & (DARUMA_TOOL_WAITS | WORDS_ASKS | WORDS_ONCE))))
        say_words(e, step, r.twin);
    if (little && e->patience <= PATIENT && !(e->flags & SEEN_NOTE) &&
        (!(e->says & WORDS_REFUSED) || tells_little(e, REFUSED_SHARE)))
        e->flags |= SEEN_LITTLE;
    e->red = is_run_again(s, e, &r) ? facts_red(step->result) : 0;
    int change = change_of(e, &r, step);
    weigh_news(s, e, &r, change);
    s->hard += change == 2;
    s->epoch += change > 0;
    e->epoch = s->epoch;
    e->hard = s->hard;
    e->compactions = (uint16_t)s->compactions;
    e->pauses = (uint16_t)s->pauses;
    if (!r.known_here || change)
        e->flags |= SEEN_NEW;
    if (!r.told || change)
        s->fresh |= !(e->flags & SEEN_FAILED);
    return r;
}

/* ---- circles without calls ------------------------------------------------------------------------ */

static unsigned alike_percent(const uint64_t a[SAME_BAG], const uint64_t b[SAME_BAG])
{
    unsigned both = 0, any = 0;
    for (int i = 0; i < SAME_BAG; i++) {
        both += (unsigned)__builtin_popcountll(a[i] & b[i]);
        any += (unsigned)__builtin_popcountll(a[i] | b[i]);
    }
    return any ? both * 100 / any : 100;
}

static daruma_verdict see_words(daruma_stall *s, daruma_str text)
{
    daruma_verdict v = {.step = s->steps, .period = 1};
    same_result w = same_of_result(text, false, NULL, NULL, NULL);
    bool same = s->said && w.result == s->said_hash;
    bool turn = s->said > 1 && w.result == s->said_before; /* two sayings in turn */
    bool near = s->said && same_count(w.words) >= 8 && alike_percent(w.words, s->said_words) >= 60;
    s->said++;
    s->alike = same || near ? s->alike + 1 : 1;
    s->turns = turn && !same ? s->turns + 1 : 1; /* "yes", "no", "yes", "yes" are answers */
    uint32_t times = s->turns > s->alike ? s->turns : s->alike;
    s->said_before = s->said_hash;
    s->said_hash = w.result;
    memcpy(s->said_words, w.words, sizeof w.words);
    if (times < 3 || (!same && times < 4))
        return v;
    v.circle = DARUMA_CIRCLE_MONOLOGUE;
    v.sure = (uint8_t)(times > 5 ? 95 : 70 + 5 * (times - 3));
    v.times = times;
    v.first = s->steps - times + 1;
    v.about = UINT64_C(0x6d6f6e6f6c6f6775) ^ v.first;
    return v;
}

/* Compaction is there to go on. Again and again, and nothing between: it does not help. */
static daruma_verdict see_compaction(daruma_stall *s)
{
    daruma_verdict v = {.step = s->steps, .period = 1};
    s->idle_compactions = s->fresh ? 1 : s->idle_compactions + 1;
    s->fresh = false;
    s->stale = 0; /* what was read is read anew */
    s->told = (told_pairs){0};
    s->compactions++;
    memmove(s->compacted_at + 1, s->compacted_at, sizeof s->compacted_at - sizeof *s->compacted_at);
    s->compacted_at[0] = s->steps;
    if (s->idle_compactions < 3)
        return v;
    v.circle = DARUMA_CIRCLE_COMPACTION;
    v.sure = 90;
    v.times = s->idle_compactions;
    v.first = s->compacted_at[2];
    v.about = UINT64_C(0x636f6d7061637421);
    return v;
}

/* ---- the steps ------------------------------------------------------------------------------------ */

static bool (*const rules[])(const daruma_stall *, daruma_verdict *) = {
    rule_resent,     rule_repeat,      rule_cycle,       rule_same_failure, rule_growing,
    rule_stagnation, rule_interleaved, rule_little_news, rule_no_progress,
};

/* The same circle may be seen by one rule first and by another later, or turn out to be wider than it looked. As long
 * as it began before it was last spoken of, it is the same. */
static void keep_about(daruma_stall *s, daruma_verdict *v)
{
    if (v->circle == DARUMA_CIRCLE_NONE)
        return;
    if (s->spoke && v->first <= s->spoke)
        v->about = s->about;
    s->about = v->about;
    s->spoke = v->step;
}

/* What a call is compared by: how long it waits makes it no other one. */
static uint64_t identity_of(const same_call *c, unsigned means)
{
    unsigned effects = DARUMA_TOOL_WRITES | DARUMA_TOOL_ACTS;
    if (((means & WORDS_SHELL) && c->command.n) ||
        ((means & effects) && !(means & (DARUMA_TOOL_WAITS | WORDS_ASKS | DARUMA_TOOL_READS))))
        return c->call;
    return c->kept;
}

/* A call and its result, read. */
static void stall_read_call(daruma_stall *s, const daruma_step *step, bool failed, const same_call *c,
                            const same_bytes *bytes, uint64_t tool, unsigned name, unsigned means, seen *ret)
{
    bool looks =
        (means & (DARUMA_TOOL_READS | DARUMA_TOOL_NOTES | DARUMA_TOOL_WAITS)) != 0; /* nobody asks for its news */
    same_result r = same_of_result(step->result, failed, c, bytes, looks ? NULL : &s->told);
    *ret = (seen){
        .call = identity_of(c, means),
        .exact = c->call,
        .bytes = bytes->step,
        .shape = c->shape,
        .place = c->place,
        .file = c->file,
        .opens = r.opens,
        .pairs = r.pairs,
        .news = r.news,
        .tool = tool,
        .tool_means = name,
        .result = r.result,
        .plain = r.plain,
        .masked = r.masked,
        .arg_bytes = step->args.n > UINT32_MAX ? UINT32_MAX : (uint32_t)step->args.n,
        .arg_words = c->length,
        .means = means,
        .names = c->names,
        .flags = (uint16_t)((failed ? SEEN_FAILED : 0) | (step->lost ? SEEN_LOST : 0) | (r.echoes ? SEEN_ECHO : 0))};
    if (!failed && (means & DARUMA_TOOL_READS) && c->file && window_alike(s, s->file_tags, c->file) &&
        lines_told(without_envelope(str_trim(step->result)), &s->told))
        ret->flags |= SEEN_OLD;
    memcpy(ret->args, c->words, sizeof ret->args);
    memcpy(ret->words, r.words, sizeof ret->words);
    bool runs = (means & WORDS_SHELL) && !failed && step->result.n && step->result.p[0] != '{';
    if (runs && (means & DARUMA_TOOL_READS) && !(means & (WORDS_WEAK | DARUMA_TOOL_WAITS)) &&
        r.varies) { /* "22 passed in 0.31s" */
        ret->flags |= SEEN_RUN;
        runs = false;
    }
    /* What is sought may be found in another order; elsewhere the order is the answer: a queue, a board, a log. */
    bool finds = (means & DARUMA_TOOL_READS) && (means & WORDS_FINDS) && !(means & (WORDS_MOVES | WORDS_RANDOM)) &&
                 !(runs && r.varies);
    if (!failed && finds)
        ret->result = r.list;
    else if (!failed && ((means & WORDS_RANDOM) || runs))
        ret->result = r.plain; /* here what changes by itself may be the answer */
}

/* A call that was the same byte for byte, and so was its result; NULL: none that was kept as it was read. */
static const seen *find_bytes(const daruma_stall *s, uint64_t bytes)
{
    uint32_t alike = window_alike(s, s->byte_tags, bytes);
    for (; alike; alike &= alike - 1) {
        const seen *o = window_at(s, 31 - (uint32_t)__builtin_ctz(alike));
        if (o->bytes == bytes)
            return o;
    }
    return NULL;
}

/* As it was read before, without what came of it then. */
static void read_again(const seen *o, seen *ret)
{
    *ret = *o;
    ret->flags &= SEEN_FAILED | SEEN_LOST | SEEN_ECHO | SEEN_RUN;
    ret->says = ret->patience = 0;
    ret->news = 0;
}

static void keep_call(daruma_stall *s, const seen *e, bool again)
{
    uint32_t at = s->calls++ % STALL_WINDOW, bit = UINT32_C(1) << at;
    s->window[at] = *e;
    s->byte_tags[at] = (uint16_t)e->bytes;
    s->call_tags[at] = (uint16_t)e->call;
    s->result_tags[at] = (uint16_t)e->result;
    s->opens_tags[at] = (uint16_t)e->opens;
    s->file_tags[at] = (uint16_t)e->file;
    s->notes = e->flags & SEEN_NOTE ? s->notes | bit : s->notes & ~bit;
    if (!(e->flags & SEEN_NOTE))
        count_laps(s, again);
}

/* Of a success like none before, whatever it is, no rule but one has anything to compare. */
static bool ask_rules(const daruma_stall *s, const seen *e, const relation *r, daruma_verdict *v)
{
    if (r->unlike && !(e->flags & (SEEN_FAILED | SEEN_LITTLE | SEEN_STALE)) && !(e->means & WORDS_IDLE))
        return rule_growing(s, v);
    for (size_t i = 0; i < COUNT(rules); i++)
        if (rules[i](s, v))
            return true;
    return false;
}

static daruma_verdict see_call(daruma_stall *s, const daruma_step *step, seen *e)
{
    daruma_verdict v = {.step = s->steps, .period = 1};
    s->said = s->alike = s->turns = 0;
    e->step = s->steps;
    relation r = take_in(s, e, step);
    keep_call(s, e, r.again);
    bool circle = ask_rules(s, e, &r, &v);
    v.failing = circle && ((e->flags & SEEN_FAILED) || e->red);
    return v;
}

static uint64_t mix_in(uint64_t hash, uint64_t more)
{
    uint64_t h = (hash ^ more) * UINT64_C(0x9e3779b97f4a7c15);
    h ^= h >> 29;
    return h ? h : 1;
}

/* A result as it is compared: without what its harness put around it, once that is known. */
typedef struct inner {
    daruma_step step; /* with that result */
    daruma_arena a;   /* for a text that was escaped */
    uint64_t others;  /* hash of what else an envelope says */
    same_bytes bytes; /* of it */
} inner;

static void look_inside(const daruma_stall *s, const daruma_step *step, const noise_view *v, uint64_t tool, inner *x)
{
    daruma_str text = without_envelope(str_trim(step->result));
    daruma_arena a = x->a;
    x->others = 0;
    daruma_str content = noise_content(&s->noise, v, text, &x->others, &a);
    x->step = *step;
    x->step.result = content.n && !a.full ? content : noise_strip(&s->noise, v, text);
    if (!x->bytes.step || x->step.result.n != str_trim(step->result).n)
        x->bytes = same_of_bytes(&x->step, tool);
    if (x->others)
        x->bytes.step = mix_in(x->bytes.step, x->others);
}

/* A result whose text is not the one that came back. */
static void read_inner(daruma_stall *s, const daruma_step *step, const same_call *c, const inner *x, uint64_t tool,
                       unsigned name, unsigned means, seen *ret)
{
    bool failed = daruma_step_failed(step) || facts_wall(x->step.result) ||
                  (x->step.result.n != step->result.n && daruma_step_failed(&x->step));
    stall_read_call(s, &x->step, failed, c, &x->bytes, tool, name, means, ret);
    if (!x->others)
        return;
    ret->result = mix_in(ret->result, x->others);
    ret->plain = mix_in(ret->plain, x->others);
}

static daruma_verdict see_tool(daruma_stall *s, const daruma_step *step)
{
    enum { CONTENT_BYTES = 2 * SAME_FAILURE_BYTES_MAX };
    char mem[CONTENT_BYTES];
    inner x = {.a = arena_over(mem, sizeof mem)};
    noise_view view;
    uint64_t tool = same_of_name(step->tool);
    const seen *known = NULL;
    seen e;
    if (!noise_known(&s->noise)) { /* else no two results are the same byte for byte */
        x.bytes = same_of_bytes(step, tool);
        known = find_bytes(s, x.bytes.step);
        if (known) {
            read_again(known, &e);
            return see_call(s, step, &e);
        }
    }
    noise_args given = noise_look_args(step->args);
    window_learn_args(s, &given, tool);
    same_call c = same_of_call(step->tool, step->args, &s->noise);
    unsigned name = name_means(s, step->tool, tool), means = means_of(step, &c, name);
    if (means & DARUMA_TOOL_COMPACTS)
        return see_compaction(s);
    if (is_pause(means, &c) && !is_misused(step)) {
        s->epoch++; /* the world goes on meanwhile */
        s->pauses++;
        s->stale = 0;
        return (daruma_verdict){.step = s->steps, .period = 1};
    }
    noise_look(without_envelope(str_trim(step->result)), &c, &view);
    view.sketch.step = s->steps;
    window_learn_noise(s, &view.sketch, c.call, tool);
    look_inside(s, step, &view, tool, &x);
    view.sketch.middle = x.bytes.middle;
    if (window_learn_near(s, &view.sketch, c.call, (means & MOVES) != 0))
        look_inside(s, step, &view, tool, &x);
    known = noise_known(&s->noise) ? find_bytes(s, x.bytes.step) : NULL;
    if (known)
        read_again(known, &e);
    else
        read_inner(s, step, &c, &x, tool, name, means, &e);
    e.sketch = view.sketch;
    e.given = given;
    window_unite(s, &e);
    return see_call(s, &x.step, &e);
}

daruma_verdict daruma_stall_see(daruma_stall *s, const daruma_step *step)
{
    daruma_verdict v;
    s->steps += s->steps < UINT32_MAX;
    if (step->traits & DARUMA_TOOL_COMPACTS)
        v = see_compaction(s);
    else if (!step->tool.n)
        v = see_words(s, step->result);
    else
        v = see_tool(s, step);
    keep_about(s, &v);
    return v;
}
