/* rules.c - what a circle is. Each rule looks at the newest call and at those before it that are like it. */
#include "base/str.h"
#include "engine/watch/rules.h"

static bool ends_poll(const seen *e)
{
    return rule_has(e->means, DARUMA_TOOL_WAITS | WORDS_ASKS | WORDS_PAUSES) &&
           rule_has(e->says, WORDS_OVER | WORDS_ABSENT) && !rule_has(e->says, WORDS_ALIVE | WORDS_RETRY);
}

/* What a circle is known by wherever it begins: the sum of its calls, here those since the newest call was made before,
 * as far as they were known. */
static uint64_t about_lap(const daruma_stall *s)
{
    const seen *e = window_at(s, 0), *o;
    daruma_verdict lap = {.ncalls = 0};
    uint32_t at = 1;
    uint64_t sum = blame(&lap, e->exact);
    while ((o = next_call(s, &at, false)) && o->call != e->call)
        if (!(o->flags & SEEN_NEW))
            sum += blame(&lap, o->exact);
    return sum;
}

/* ---- the same call with the same result ----------------------------------------------------------- */

/* "Code sent", and nothing in the list yet: what was set going may take a while to be seen. */
static bool may_arrive(const seen *e, const seen *before)
{
    if (!before || (before->flags & SEEN_FAILED) || (e->flags & SEEN_FAILED))
        return false;
    return rule_has(before->means, DARUMA_TOOL_ACTS) && rule_has(e->means, DARUMA_TOOL_READS) &&
           rule_has(e->says, WORDS_EMPTY);
}

bool rule_repeat(const daruma_stall *s, daruma_verdict *v)
{
    const seen *e = window_at(s, 0), *o;
    uint32_t at = 0, n = 0, first = e->step;
    bool notes = (e->flags & SEEN_NOTE) != 0;
    uint32_t needed = e->patience;
    if ((e->flags & SEEN_RUN) && needed < TIMES_RUNS)
        needed = TIMES_RUNS;
    while ((o = next_call(s, &at, notes)) && same_pair(o, e)) {
        first = o->step;
        n++;
    }
    if (n < TIMES_SURE || n < needed || (n < TIMES_ASKS && may_arrive(e, o)))
        return false;
    daruma_circle circle = ends_poll(e) ? DARUMA_CIRCLE_DEAD_POLL : DARUMA_CIRCLE_REPEAT;
    blame(v, e->exact);
    return speak(v, circle, n, sure_of(n, e->patience, 80), first, e->call);
}

/* The same again and again, with others between, or in failures that were all heard before. Not when those others
 * changed something, or are most of what is done: who reads a plan between two pieces of work is not stuck. A failure
 * is not made better by looking elsewhere. */
bool rule_interleaved(const daruma_stall *s, daruma_verdict *v)
{
    const seen *e = window_at(s, 0), *o, *oldest = e;
    uint32_t at = 0, n = 0, seen_calls = 0, old = 0, known = 0, total = 0;
    bool failed = (e->flags & SEEN_FAILED) != 0, maybe = false, other = false, moves = false;
    bool passed = false; /* another epoch was met: a call that is met from now on sets `maybe` */
    if (e->flags & (SEEN_NEW | SEEN_NOTE))
        return false;
    while ((o = next_call(s, &at, false)) && (failed ? o->hard == e->hard : o->epoch == e->epoch)) {
        passed |= o->epoch != e->epoch;
        seen_calls++;
        old += !(o->flags & SEEN_NEW);
        moves |= o->call != e->call && (o->flags & SEEN_NEW) && (o->flags & SEEN_MOVED); /* the world goes on */
        if (o->call != e->call)
            continue;
        bool worded = o->result != e->result; /* the same failure in words that were heard before */
        if (worded && !(failed && (o->flags & SEEN_FAILED) && !(o->flags & SEEN_NEW)))
            break;
        other |= worded;
        maybe |= passed;
        n++;
        if (o->flags & SEEN_NEW) { /* the first of them: what came before the second does not count */
            oldest = o;
            continue;
        }
        known = old;
        total = seen_calls;
        oldest = o;
    }
    bool alone = window_at(s, 0)->step - oldest->step + 1 == n; /* nothing between: a repeat, or none yet */
    if (total && alone && !other)
        return false;
    uint32_t needed = e->patience <= TIMES_LIKELY ? TIMES_SURE : e->patience;
    if (maybe && needed < TIMES_LIKELY)
        needed = TIMES_LIKELY;
    if (n < needed || !total)
        return false;
    bool says_little =
        !failed && (rule_has(e->says, WORDS_ACK | WORDS_EMPTY) || !rule_has(e->means, DARUMA_TOOL_READS));
    bool compacted = oldest->compactions + 1u < e->compactions;
    uint32_t share = known * 100 / total;
    if (!(failed && share >= 30) && !compacted && share < (says_little || moves ? 80 : 70))
        return false;
    daruma_circle circle = compacted                                          ? DARUMA_CIRCLE_COMPACTION
                           : ends_poll(e)                                     ? DARUMA_CIRCLE_DEAD_POLL
                           : rule_has(e->means, DARUMA_TOOL_WRITES) && !alone ? DARUMA_CIRCLE_EDIT_REVERT
                           : alone                                            ? DARUMA_CIRCLE_REPEAT
                                                                              : DARUMA_CIRCLE_INTERLEAVED;
    blame(v, e->exact);
    return speak(v, circle, n, sure_of(n, e->patience, 70), oldest->step, about_lap(s));
}

/* ---- calls that differ ------------------------------------------------------------------------------ */

enum { LIST_MAX = 12 };

static bool nothing_new(const uint64_t now[SAME_BAG], const uint64_t before[SAME_BAG])
{
    uint64_t more = 0;
    for (int k = 0; k < SAME_BAG; k++)
        more |= now[k] & ~before[k];
    return more == 0;
}

/* Calls that are like the newest one, it first. */
typedef struct likes {
    const seen *list[STALL_WINDOW];
    uint32_t n, calls; /* how many, and how many calls they are that differ */
} likes;

/* Failed as it had failed before, which nobody waits for to pass. */
static bool failed_again(const seen *o)
{
    return (o->flags & (SEEN_NEW | SEEN_FAILED)) == SEEN_FAILED && o->patience <= TIMES_LIKELY;
}

/* Gathers up to `most` of them back to the last sure change, as long as they are `share` percent of all: what is
 * further back is another matter. What was done in vain again is none of all: it only puts off the next one. */
static likes gather(const daruma_stall *s, bool (*like)(const seen *e, const seen *o), uint32_t share, uint32_t most)
{
    const seen *e = window_at(s, 0), *o;
    likes l = {.n = 0};
    uint32_t at = 0, all = 0;
    while ((o = next_call(s, &at, false)) && o->hard == e->hard && l.n < most) {
        bool is_like = like(e, o);
        all += is_like || !failed_again(o);
        if (!is_like)
            continue;
        if (l.n && (l.n + 1) * 100 / all < share)
            break;
        bool twice = false;
        for (uint32_t i = 0; i < l.n; i++)
            twice |= l.list[i]->call == o->call;
        l.list[l.n++] = o;
        l.calls += !twice;
    }
    return l;
}

/* All of as many words: names put together, member by member. */
static bool is_even(const seen *const *list, uint32_t n)
{
    bool even = true;
    for (uint32_t i = 1; i < n; i++)
        even &= list[i]->arg_words == list[0]->arg_words;
    return even;
}

/* Do these calls put one question in other words? `core`: of the words that not all have, those count that most of the
 * calls have; else those that a call before had. */
static bool is_paraphrase(const seen *const *list, uint32_t n, bool core)
{
    unsigned shared = 0, all = 0;
    for (uint32_t b = 0; b < SAME_BAG * 64; b++) {
        unsigned have = 0, first = list[n - 1]->args[b / 64] >> (b % 64) & 1;
        for (uint32_t i = 0; i < n; i++)
            have += list[i]->args[b / 64] >> (b % 64) & 1;
        if (!have || have == n)
            continue;
        all += core ? have : have - first; /* those of the first call were in none before */
        shared += !core ? have - 1 : have * 2 > n ? have : 0;
    }
    return all && shared * 100 / all >= 30;
}

/* The same with words that come and go: no name after the other of a list. */
static bool is_reworded(const seen *const *list, uint32_t n)
{
    return !is_even(list, n) && is_paraphrase(list, n, false);
}

/* Is it one question in other words? Paths, addresses and ids are members of a batch, and so is what is told of each by
 * a word or two, unless it is looked for. */
static bool is_rephrased(const seen *e, const seen *const *list, uint32_t n)
{
    bool seeks = rule_has(e->means, WORDS_SEEKS) || rule_has(e->names, NAME_SEEKS),
         little = rule_has(e->says, WORDS_EMPTY | WORDS_SHORT);
    /* A command is no question, but one to a database is, where it finds nothing. */
    bool shell = rule_has(e->means, WORDS_SHELL);
    bool asks = shell ? seeks && rule_has(e->names, NAME_QUERY | NAME_COMMAND) && rule_has(e->says, WORDS_EMPTY)
                      : rule_has(e->names, NAME_PROSE);
    if (!asks || rule_has(e->says, WORDS_ACK) || (little && !seeks))
        return false;
    return is_paraphrase(list, n, little || !seeks);
}

/* "404 Not Found" of one thing after another says something of each of them; "sh: npm: not found" does not. */
static bool is_of_each(const seen *e, bool alike)
{
    bool echo = (e->flags & SEEN_ECHO) != 0, absent = rule_has(e->says, WORDS_ABSENT | WORDS_EMPTY);
    if (rule_has(e->means, DARUMA_TOOL_WRITES | WORDS_MOVES | WORDS_INPUT) && !rule_has(e->means, WORDS_WEAK))
        return false;
    if (!alike)
        return echo && (absent || !rule_has(e->says, WORDS_REFUSED | WORDS_RETRY));
    bool down = rule_has(e->says, WORDS_RETRY); /* no host at that address, and none at the next */
    return absent && (down || (!echo && same_count(e->words) <= 5));
}

static bool fails_alike(const seen *e, const seen *o)
{
    return (o->flags & SEEN_FAILED) && (o->masked == e->masked || o->result == e->result);
}

/* True if they change nothing in one file after the other: what is replaced stands in few of the files of a batch. Two
 * texts may be replaced in each. */
static bool is_of_each_file(const seen *e, const seen *const *list, uint32_t n)
{
    uint32_t files = 0;
    if (!rule_has(e->means, DARUMA_TOOL_WRITES) || !rule_has(e->says, WORDS_SAME))
        return false;
    for (uint32_t i = 0; i < n; i++) {
        bool other = list[i]->file != 0;
        for (uint32_t k = 0; k < i; k++)
            other &= list[i]->file != list[k]->file;
        files += other;
    }
    return files * 2 >= n;
}

bool rule_same_failure(const daruma_stall *s, daruma_verdict *v)
{
    enum { WORDLESS = 3 };
    const seen *e = window_at(s, 0);
    if (!(e->flags & SEEN_FAILED) || (e->flags & SEEN_NOTE) || e->patience > TIMES_RETRY)
        return false;
    if (rule_has(e->means, WORDS_SHELL) && rule_has(e->means, DARUMA_TOOL_READS) && same_count(e->words) <= WORDLESS)
        return false; /* a look that ends with a status and says nothing else found nothing: that is an answer */
    likes l = gather(s, fails_alike, 40, STALL_WINDOW);
    uint32_t again = 0, plain = 0;
    bool same = true, tools = false;
    for (uint32_t i = 0; i < l.n; i++) {
        again += l.list[i]->call == e->call;
        plain += l.list[i]->plain == e->plain;
        same &= l.list[i]->result == e->result;
        tools |= l.list[i]->tool != e->tool;
    }
    uint32_t n = l.n, needed = same && !tools ? 5 : 6;
    if (rule_has(e->says, WORDS_RETRY)) /* other calls are no retries, but what is down may come up */
        needed = 7;
    if (n < needed || l.calls < 3)
        return false;
    if (is_of_each_file(e, l.list, n))
        needed = TIMES_RETRY;
    bool one = again >= TIMES_SURE && plain >= TIMES_MAYBE; /* no list is gone through: it comes back to one thing */
    bool each = is_of_each(e, one || plain == n);
    if (rule_has(e->says, WORDS_LIMITED) || (each && !is_reworded(l.list, n < LIST_MAX ? n : LIST_MAX)))
        needed = (e->flags & SEEN_ECHO) && rule_has(e->says, WORDS_ABSENT) ? TIMES_EACH : TIMES_RETRY;
    return n >= needed && speak(v, DARUMA_CIRCLE_SAME_FAILURE, n, sure_of(n, needed, same ? 80 : 70),
                                l.list[n - 1]->step, e->masked ^ e->tool);
}

static bool answers_alike(const seen *e, const seen *o)
{
    return o->tool == e->tool && o->result == e->result;
}

/* How much was said before. A call that is made again word for word counts twice where the answer is a full one: it was
 * read. */
typedef struct said {
    uint32_t times;
    uint32_t varied; /* calls that add words to those of another, or leave some out */
    bool one_way;    /*   all of them the same of the two */
    uint32_t fresh;  /* calls that are like none before them, the first left out */
} said;

/* Reads these calls, the newest first. One that adds words to those of another, or leaves some out, is compared with
 * the two before it alone, since each member of a batch may have more words than the first. A member of a batch has a
 * word of its own in the place of another, and so have two that change places. */
static said count_said(const seen *const *list, uint32_t n)
{
    enum { NEAR = 2, MANY = SAME_BAG * 64 / 4 }; /* in a bag that is fuller each word seems to be */
    bool full = !rule_has(list[0]->says, WORDS_SHORT | WORDS_FEW | WORDS_ACK), more = false, fewer = false;
    said got = {0};
    for (uint32_t i = 0; i < n; i++) {
        const seen *e = list[i];
        bool again = false, adds = false, omits = false;
        for (uint32_t k = i + 1; k < n; k++) {
            const seen *o = list[k];
            again |= e->call == o->call;
            if (k > i + NEAR || same_count(e->args) > MANY || same_count(o->args) > MANY)
                continue;
            adds |= e->arg_words > o->arg_words && nothing_new(o->args, e->args);
            omits |= e->arg_words < o->arg_words && nothing_new(e->args, o->args);
        }
        more |= adds;
        fewer |= omits;
        got.times += again ? 1 + full : 0;
        got.varied += !again && (adds || omits);
        got.fresh += !again && !adds && !omits && i + 1 < n;
    }
    got.one_way = !more || !fewer;
    return got;
}

bool rule_stagnation(const daruma_stall *s, daruma_verdict *v)
{
    enum { SAID = 5, WAYS = 4 }; /* in fewer ways each member of a batch may be looked for */
    const seen *e = window_at(s, 0);
    unsigned acts = rule_has(e->means, WORDS_WEAK) ? 0 : DARUMA_TOOL_ACTS; /* a helper that is asked does nothing yet */
    unsigned effects = DARUMA_TOOL_WRITES | DARUMA_TOOL_NOTES | DARUMA_TOOL_WAITS | acts;
    if ((e->flags & (SEEN_FAILED | SEEN_NOTE)) || !e->says ||
        rule_has(e->means, WORDS_RANDOM | WORDS_ASKS | WORDS_INPUT))
        return false;
    bool silent = rule_has(e->says, WORDS_EMPTY | WORDS_ACK),
         little = silent || rule_has(e->says, WORDS_SHORT | WORDS_FEW),
         looks = rule_has(e->means, DARUMA_TOOL_READS) || !e->means,
         moves = rule_has(e->means, WORDS_MOVES) || rule_has(e->says, WORDS_ALIVE | WORDS_ACK);
    if (rule_has(e->means, effects | WORDS_CHANGES) || (rule_has(e->means, WORDS_SHELL) && !looks && silent))
        return false; /* what did as it should says nothing */
    likes l = gather(s, answers_alike, 50, LIST_MAX);
    uint32_t n = l.n, shapes = 0, places = 0;
    for (uint32_t i = 0; i < n; i++) {
        shapes += l.list[i]->shape == e->shape;
        places += l.list[i]->place == e->place;
    }
    if (n < SAID || l.calls < 3)
        return false;
    bool creeps = shapes == n && places == n && rule_has(e->names, NAME_PAGE) && !rule_has(e->names, NAME_MOMENT);
    said again = count_said(l.list, n);
    bool vain =
        rule_has(e->means, DARUMA_TOOL_READS) && !rule_has(e->means, WORDS_SHELL) && rule_has(e->says, WORDS_EMPTY);
    /* From a folder to what is in it, and from many parts to few, it goes one way. */
    uint32_t times = again.times + (vain || !again.one_way ? again.varied : 0);
    if (!(times >= SAID && again.fresh * WAYS < n - 1 && !moves && (looks || !silent)) &&
        !(n > SAID && (creeps || (shapes < n && is_rephrased(e, l.list, n) &&
                                  (again.times + again.varied > 2 || !rule_has(e->means, WORDS_SHELL))))) &&
        !(n > SAID + 1 && !little && !moves && is_reworded(l.list, n)))
        return false;
    return speak(v, DARUMA_CIRCLE_STAGNATION, n, sure_of(n, SAID + 1, little ? 60 : 75), l.list[n - 1]->step,
                 e->tool ^ e->result);
}

/* True if a question in other words, or a change that is refused, may be answered by what was told before. Where
 * nothing was refused, it asks somebody: what looks, waits or presses a key may hear little new for long. */
static bool may_hear_little(const seen *e, bool refused)
{
    unsigned moving = DARUMA_TOOL_WRITES | WORDS_ASKS | WORDS_INPUT | WORDS_RANDOM | WORDS_SHELL;
    enum { WORDS_OF_A_QUESTION = 8 };
    if (!(e->flags & SEEN_LITTLE) || refused)
        return (e->flags & SEEN_LITTLE) != 0;
    return !rule_has(e->says, WORDS_EMPTY | WORDS_ABSENT | WORDS_ACK) && !rule_has(e->means, moving) &&
           e->arg_words >= WORDS_OF_A_QUESTION;
}

/* Each answer of a tool begins alike and tells hardly anything that was not told before: the edit is refused in
 * whatever words it comes, the helper does again what it did. */
bool rule_little_news(const daruma_stall *s, daruma_verdict *v)
{
    enum { TIMES = 4 };
    const seen *e = window_at(s, 0), *o, *told = NULL, *list[LIST_MAX];
    uint32_t at = 0, n = 0, all = 0, first = e->step;
    bool again = false, refused = rule_has(e->says, WORDS_REFUSED);
    if (!may_hear_little(e, refused))
        return false;
    while ((o = next_call(s, &at, false)) && o->hard == e->hard && o->pauses == e->pauses && n + 1 < LIST_MAX) {
        if (refused && o->epoch != e->epoch)
            break;
        all++;
        if (o->tool != e->tool || o->opens != e->opens || (refused && o->closes && o->closes != e->closes))
            continue;
        if (n && (n + 1) * 100 / all < 40)
            break;
        again |= n && (refused ? same_pair(o, e) : o->call == e->call);
        first = o->step;
        if (n && !(o->flags & SEEN_LITTLE))
            told = o;
        else
            list[n++] = o;
    }
    if (told) /* it told first what the others say again */
        list[n++] = told;
    uint32_t needed = refused && !again ? TIMES + 1 : TIMES;
    return n >= needed && (refused || again || is_reworded(list, n)) &&
           speak(v, DARUMA_CIRCLE_STAGNATION, n, sure_of(n, needed, 70), first, e->tool ^ e->opens);
}

/* Longer and longer, of the same words, and no new word comes back. What has an effect may grow: a text that is written
 * gets longer, and is saved. */
bool rule_growing(const daruma_stall *s, daruma_verdict *v)
{
    enum { NEEDED = 5, FULL = SAME_BAG * 64 * 5 / 8 };
    const seen *e = window_at(s, 0), *o, *newer = e;
    uint32_t at = 1, n = 1;
    if (rule_has(e->means, DARUMA_TOOL_WRITES | DARUMA_TOOL_ACTS | DARUMA_TOOL_NOTES) &&
        !rule_has(e->means, WORDS_WEAK))
        return false;
    while ((o = next_call(s, &at, (e->flags & SEEN_NOTE) != 0)) && o->tool == e->tool &&
           o->arg_bytes < newer->arg_bytes && nothing_new(newer->args, o->args) &&
           nothing_new(newer->words, o->words) && same_count(o->args) < FULL && same_count(o->words) < FULL) {
        newer = o;
        n++;
    }
    return n >= NEEDED &&
           speak(v, DARUMA_CIRCLE_GROWING, n, sure_of(n, NEEDED, 75), newer->step, e->tool ^ UINT64_C(0x67726f77));
}

/* The same thing is sent or made again and again; that each has a number of its own makes it no better. */
static bool is_doubled(const daruma_stall *s, daruma_verdict *v)
{
    const seen *e = window_at(s, 0), *o;
    uint32_t at = 0, n = 0, first = e->step;
    if (!rule_has(e->means, WORDS_ONCE) || rule_has(e->means, WORDS_WEAK | WORDS_RANDOM) || (e->flags & SEEN_FAILED))
        return false;
    if (!rule_has(e->says, WORDS_ACK) && !(e->flags & SEEN_ECHO) &&
        !rule_has(e->names, NAME_PROSE)) /* what is new each time, was worth the call; but not to say it once more */
        return false;
    while ((o = next_call(s, &at, false)) && o->call == e->call && o->masked == e->masked) {
        first = o->step;
        n++;
    }
    if (n < TIMES_LIKELY)
        return false;
    blame(v, e->exact);
    return speak(v, DARUMA_CIRCLE_RESENT, n, sure_of(n, TIMES_LIKELY, 70), first, e->call);
}

/* A call with effects whose outcome is unknown is not made again without looking first. */
bool rule_resent(const daruma_stall *s, daruma_verdict *v)
{
    const seen *e = window_at(s, 0), *o;
    uint32_t at = 1, n = 1, lost = 0, first = e->step;
    if (!rule_has(e->means, DARUMA_TOOL_ACTS) || rule_has(e->means, WORDS_INPUT | WORDS_ASKS | DARUMA_TOOL_WAITS))
        return false;
    if (rule_has(e->means, WORDS_WEAK) && !rule_has(e->means, WORDS_ONCE))
        return false;
    while ((o = next_call(s, &at, false)) && o->call == e->call) {
        if (!(o->flags & SEEN_LOST) && !rule_has(o->says, WORDS_UNCLEAR))
            break;
        lost += (o->flags & SEEN_LOST) != 0;
        first = o->step;
        n++;
    }
    if (n < 2 || (!lost && n < TIMES_SURE))
        return is_doubled(s, v);
    blame(v, e->exact);
    return speak(v, DARUMA_CIRCLE_RESENT, n, sure_of(n, 2, 60), first, e->call);
}

/* Did the run fail as that one did, to the last number that is no time? */
static bool failed_so(const seen *e, const seen *o)
{
    if (!rule_has(e->flags, SEEN_FAILED))
        return e->red == o->red && e->masked == o->masked;
    return rule_has(o->flags, SEEN_FAILED) &&
           (e->plain == o->plain || (e->red && e->red == o->red && e->result == o->result));
}

/* Edit, test, edit, test, and each time the test says the very same of what fails: the edits do not reach it. Of a run
 * that is known to fail by its report alone, the first is not counted: nobody read it then. */
static bool is_stubborn(const daruma_stall *s, daruma_verdict *v)
{
    enum { TIMES = 6 };
    const seen *e = window_at(s, 0), *o, *oldest = e;
    bool failed = (e->flags & SEEN_FAILED) != 0;
    uint32_t at = 1, n = 1, hard = e->hard;
    if ((!failed && !e->red) || rule_has(e->says, WORDS_RETRY) ||
        rule_has(e->means, DARUMA_TOOL_WAITS | WORDS_ASKS | WORDS_PAUSES))
        return false;
    while ((o = next_call(s, &at, false))) {
        if (o->call != e->call)
            continue;
        if (!failed_so(e, o))
            break;
        if (o->hard == hard)
            continue;
        hard = o->hard;
        oldest = o;
        n++;
    }
    n += oldest->red != 0; /* there was one before it */
    if (n < TIMES)
        return false;
    v->period = 2; /* it, and a change */
    return speak(v, DARUMA_CIRCLE_NO_PROGRESS, n, sure_of(n, TIMES, 65), oldest->step, e->call ^ UINT64_C(0x726564));
}

/* Little but what was seen before, and this at least for the third time: walks through the same rooms, files that are
 * read in turn, in whatever order, a few vain attempts between. */
static bool is_stale(const daruma_stall *s, daruma_verdict *v)
{
    enum { STALE = 5 };
    return (window_at(s, 0)->flags & SEEN_STALE) && s->stale >= STALE &&
           speak(v, DARUMA_CIRCLE_NO_PROGRESS, s->stale, sure_of(s->stale, STALE, 60), s->stale_at,
                 UINT64_C(0x69646c6521));
}

/* One failure ten times, whatever was done between. After a change it counts where no number in it moved. */
static bool is_hopeless(const daruma_stall *s, daruma_verdict *v)
{
    enum { TIMES = 10 };
    const seen *e = window_at(s, 0), *o;
    uint32_t at = 0, n = 0, first = e->step;
    while ((e->flags & SEEN_FAILED) && (o = next_call(s, &at, false)))
        if (same_pair(o, e) && (o->epoch == e->epoch || o->plain == e->plain)) {
            first = o->step;
            n++;
        }
    return n >= TIMES && n >= e->patience && speak(v, DARUMA_CIRCLE_NO_PROGRESS, n, 60, first, UINT64_C(0x69646c6521));
}

/* Commands that do nothing, in ever new words: "true", "echo ok", "echo alive". Not when one is told for the first time
 * what does not stand in it: then something else speaks. Headings before work are many. */
static bool is_idle(const daruma_stall *s, daruma_verdict *v)
{
    enum { TIMES = 12, TIMES_SILENT = 6 };
    const seen *o;
    uint32_t at = 0, n = 0, silent = 0, first = 0;
    while ((o = next_call(s, &at, false)) && rule_has(o->means, WORDS_IDLE) && !rule_has(o->flags, SEEN_FAILED) &&
           nothing_new(o->words, o->args)) {
        silent += silent == n && !same_count(o->words);
        first = o->step;
        n++;
    }
    return (n >= TIMES || silent >= TIMES_SILENT) &&
           speak(v, DARUMA_CIRCLE_NO_PROGRESS, n, sure_of(n, TIMES, 65), first, UINT64_C(0x69646c6521));
}

bool rule_no_progress(const daruma_stall *s, daruma_verdict *v)
{
    return !(window_at(s, 0)->flags & SEEN_NOTE) &&
           (is_idle(s, v) || is_stubborn(s, v) || is_stale(s, v) || is_hopeless(s, v));
}
