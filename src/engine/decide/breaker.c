/* breaker.c - whether a place works, from how its calls ended.
 *
 *               two failures in a row, or half of the recent calls
 *       closed ---------------------------------------------------> open
 *         ^                                                          | open_until passes
 *         | a call that began since it opened was good               v
 *         +-----------------------------------------------------  half-open: one probe among many calls
 *                                                   the probe was bad: open again, for longer
 *
 * An open breaker orders and never forbids. There are two clocks for the two who may ask: who can go elsewhere
 * keeps off as long as it is open, who has nobody else keeps off only while it seems to be down altogether, and half
 * as long as that has lasted, counted from the newest question: calls that were silent and are hung up on when a place
 * comes back speak of the past.
 *
 * Every turn begins an epoch, and a permit carries the epoch it was given in: an answer that was under way since
 * before the turn opens and closes nothing. Of a burst that met the failure at once all but two are such calls: they
 * count in the row, so that who has nobody else does not ask once more to hear the same. */
#include "engine/decide/place.h"
#include "engine/decide/window.h"
#include "base/limits.h"

/* How long it is open after so many trips. */
static daruma_ms open_ms(uint16_t trips)
{
    daruma_ms open = BREAKER_OPEN_MS;
    for (uint16_t i = 1; i < trips && open < REST_MS_MAX; i++)
        open *= 2;
    return open < REST_MS_MAX ? open : REST_MS_MAX;
}

/* Opens it, or keeps it open for longer. Who opens again soon after it closed begins where it left off. */
static void open_for_longer(daruma_breaker *b, daruma_ms now)
{
    daruma_ms closed = b->open_until ? 0 : ms_since(b->closed_at, now);
    for (; b->trips && closed >= BREAKER_FORGIVEN_TIMES * open_ms(b->trips); b->trips--)
        closed -= BREAKER_FORGIVEN_TIMES * open_ms(b->trips);
    if (b->trips < UINT16_MAX)
        b->trips++;
    b->epoch += b->open_until == 0;
    b->probe_took = b->probe_until ? ms_since(b->probe_until, add_sat(now, BREAKER_PROBE_MS)) : -1;
    b->probe_until = 0;
    b->passed = 0;
    b->open_until = add_sat(now, open_ms(b->trips));
    if (b->open_until == 0) /* which would say closed */
        b->open_until = 1;
}

static void close_again(daruma_breaker *b, daruma_ms now)
{
    b->epoch++;
    b->open_until = b->probe_until = 0;
    b->closed_at = now;
}

static void count(daruma_breaker *b, bool good, daruma_ms now)
{
    int passed = window_turn(&b->turned, now, BREAKER_HALF_MS);
    if (passed) {
        b->was_all = passed == 1 ? b->all : 0;
        b->was_bad = passed == 1 ? b->bad : 0;
        b->all = b->bad = 0;
    }
    if (b->all == UINT32_MAX)
        return;
    b->all++;
    b->bad += !good;
}

/* One more failure of the row, which has begun. */
static void lengthen_row(daruma_breaker *b, uint64_t witness)
{
    b->agreed |= witness == 0 || witness != b->witness;
    b->row += b->row < UINT32_MAX;
}

/* A failure that speaks of now. */
static void note_failure(daruma_breaker *b, daruma_ms asked, uint64_t witness, daruma_ms now)
{
    if (b->row == 0 || asked > b->asked_at)
        b->asked_at = asked;
    if (b->row == 0) {
        b->row_from = asked;
        b->witness = witness;
        b->agreed = false;
        if (b->well_at == 0) /* nothing was ever good here */
            b->well_at = now;
    }
    lengthen_row(b, witness);
    b->bad_at = now;
}

static void end_row(daruma_breaker *b)
{
    uint32_t row = b->row < BREAKER_ROW_MAX ? b->row : BREAKER_ROW_MAX;
    b->rows = b->rows - b->rows / 4 + row * 4;
    b->row = 0;
}

/* A call that was out when it opened has ended, perhaps long after: its failure puts no question off. A success ends
 * the row if the call went out after the first that failed: what went out sooner speaks of the time before. */
static void tell_old(daruma_breaker *b, daruma_permit p, bool good, uint64_t witness)
{
    if (!b->open_until || b->row == 0 || (uint16_t)(p.epoch + 1) != b->epoch)
        return;
    if (!good)
        lengthen_row(b, witness);
    else if (p.asked >= b->row_from)
        end_row(b);
}

/* Failures in a row that open it: one, when it was open just now. */
static uint32_t enough(const daruma_breaker *b, daruma_ms now)
{
    bool again = b->trips && ms_since(b->closed_at, now) < BREAKER_FORGIVEN_TIMES * open_ms(b->trips);
    return again ? 1 : BREAKER_OPEN_ROW;
}

static bool fails_mostly(const daruma_breaker *b)
{
    uint64_t all = (uint64_t)b->all + b->was_all, bad = (uint64_t)b->bad + b->was_bad;
    return all >= BREAKER_CALLS_MIN && bad * 100 >= all * BREAKER_BAD_PERCENT;
}

/* What is left of `span` that began at `from`; when the clock went back, nothing: it must not get stuck. */
static daruma_ms left_of(daruma_ms from, daruma_ms span, daruma_ms now)
{
    daruma_ms gone = ms_since(from, now);
    return now >= from && gone < span ? span - gone : 0;
}

/* How long its probe is waited for before it is looked at again; 0: none is out. */
static daruma_ms probe_in(const daruma_breaker *b, daruma_ms now)
{
    daruma_ms left = b->probe_until ? ms_since(now, b->probe_until) : 0;
    return left < BREAKER_PROBE_LOOK_MS ? left : BREAKER_PROBE_LOOK_MS;
}

daruma_ms daruma_breaker_opens_in(const daruma_breaker *b, daruma_ms now)
{
    if (b->open_until == 0)
        return 0;
    daruma_ms left = ms_since(now, b->open_until), most = open_ms(b->trips);
    left = left < most ? left : most;      /* the clock went back: as if it had just been opened */
    if (b->passed >= BREAKER_PASSED_MIN) { /* one call of so many finds out, however often that was in vain */
        daruma_ms soon = left_of(b->bad_at, BREAKER_OPEN_MS, now);
        left = left < soon ? left : soon;
    } else if (!left)
        left = left_of(b->bad_at, REST_MS_MAX, now);
    return left ? left : probe_in(b, now);
}

/* Its probe is out for much longer than those before it took to fail: this one seems to be served. */
static bool probe_is_served(const daruma_breaker *b, daruma_ms now)
{
    if (!probe_in(b, now) || b->probe_took < 0)
        return false;
    daruma_ms out = BREAKER_PROBE_MS - ms_since(now, b->probe_until),
              most = mul_sat(b->probe_took, BREAKER_SERVED_TIMES);
    return out > (most > ALONE_MS_MIN ? most : ALONE_MS_MIN);
}

daruma_ms daruma_breaker_alone_in(const daruma_breaker *b, daruma_ms now)
{
    daruma_ms in = daruma_breaker_opens_in(b, now), down = ms_since(b->well_at, b->bad_at) / 2;
    if (in == 0 || !b->agreed || b->row < BREAKER_DOWN_ROW + b->rows * BREAKER_ROWS_TIMES / 16 ||
        probe_is_served(b, now))
        return 0;
    down = down > ALONE_MS_MIN ? down : ALONE_MS_MIN;
    daruma_ms left = left_of(b->asked_at, down < REST_MS_MAX ? down : REST_MS_MAX, now), probe = probe_in(b, now);
    left = left > probe ? left : probe;
    return left < in ? left : in;
}

daruma_permit daruma_breaker_ask(daruma_breaker *b, daruma_ms now)
{
    daruma_permit p = {.epoch = b->epoch, .ok = b->open_until == 0, .asked = now};
    b->sent_at = now;
    if (p.ok)
        return p;
    daruma_ms left = daruma_breaker_opens_in(b, now);
    if (ms_since(now, b->open_until) > left) /* follows a clock that went back */
        b->open_until = add_sat(now, left) ? add_sat(now, left) : 1;
    if (probe_in(b, now))
        return p;
    b->probe_until = add_sat(now, BREAKER_PROBE_MS);
    p.ok = p.probe = true;
    p.until = b->probe_until;
    return p;
}

void daruma_breaker_tell(daruma_breaker *b, daruma_permit p, bool good, uint64_t witness, daruma_ms now)
{
    if (p.told && !good)
        return;
    if (p.epoch != b->epoch) {
        tell_old(b, p, good, witness);
        return;
    }
    count(b, good, now);
    if (good) {
        end_row(b);
        b->well_at = now;
        if (b->open_until)
            close_again(b, now);
        return;
    }
    note_failure(b, p.asked, witness, now);
    if (b->open_until ? p.probe && p.until == b->probe_until
                      : (!b->wary || b->agreed) && (b->row >= enough(b, now) || fails_mostly(b)))
        open_for_longer(b, now);
}

void daruma_breaker_pass(daruma_breaker *b)
{
    b->passed += b->open_until && b->passed < UINT32_MAX;
}

void daruma_breaker_drop(daruma_breaker *b, daruma_permit p)
{
    if (p.probe && p.epoch == b->epoch && p.until == b->probe_until)
        b->probe_until = 0;
}

void breaker_anew(daruma_breaker *b, daruma_ms now)
{
    b->row = 0;
    b->well_at = now;
}

bool breaker_learn(daruma_breaker *b, const daruma_breaker *got, daruma_ms now)
{
    bool was = b->open_until != 0, is = got->open_until != 0;
    daruma_ms mine = later(b->well_at, b->bad_at), theirs = later(got->well_at, got->bad_at);
    if (theirs > mine) {
        b->row = got->row;
        b->row_from = got->bad_at; /* later than its own: what went out before says nothing */
        b->rows = got->rows;
        b->trips = got->trips;
        b->agreed = got->agreed;
        b->well_at = got->well_at;
        b->bad_at = got->bad_at;
        b->closed_at = later(b->closed_at, got->closed_at);
        b->open_until = got->open_until;
        if (was != is) { /* calls that are under way speak of before */
            b->epoch++;
            b->passed = 0;
            b->probe_until = 0;
        }
    }
    bool probed = b->probe_until > now; /* by a call of ours, which will say how it went */
    if (add_sat(theirs, REPLICA_SLACK_MS) > mine && b->open_until && !probed && got->probe_until > now)
        b->probe_until = got->probe_until;
    return was && !b->open_until;
}
