/* join.c - one answer of two pieces. The second piece is looked at in steps of fixed size, so that its being split
 * otherwise changes nothing:
 *
 *     so_far   ...the quick brown fox ju
 *     fresh              brown fox jumps over          its beginning is the end of what is there: skip that
 *     fresh    ...the quick brown fox jumps            it begins anew: skip all that is there
 *     fresh    Sure, continuing: brown fox jumps       an opener goes where a true repetition follows
 *     fresh     over the lazy dog                      no repetition: only where the seam is plain */
#include "engine/mend/mend.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"

static daruma_str tail_space(daruma_str s)
{
    size_t n = s.n;
    while (n && ch_space(s.p[n - 1]))
        n--;
    return str_from(s, n);
}

static size_t lead_space(daruma_str s)
{
    size_t n = 0;
    while (n < s.n && ch_space(s.p[n]))
        n++;
    return n;
}

/* `fresh` goes on behind the words of `so_far`, whose trailing white space is `space`: how much of it is said again? */
static size_t space_again(daruma_str space, daruma_str fresh)
{
    size_t n = 0;
    while (n < space.n && n < fresh.n && space.p[n] == fresh.p[n])
        n++;
    return n;
}

/* ---- overlaps: failure function of Knuth, Morris and Pratt over at most JOIN_FIRST_BYTES ---- */

typedef struct pattern {
    daruma_str text;
    uint16_t fail[JOIN_FIRST_BYTES + 1];
} pattern;

static void pattern_of(pattern *p, daruma_str text)
{
    p->text = text;
    p->fail[0] = 0;
    for (size_t i = 1, k = 0; i < text.n; i++) {
        while (k && text.p[i] != text.p[k])
            k = p->fail[k - 1];
        k += text.p[i] == text.p[k];
        p->fail[i] = (uint16_t)k;
    }
}

/* The longest end of `s` that is a beginning of the pattern. */
static size_t overlap(const pattern *p, daruma_str s)
{
    size_t k = 0;
    if (!p->text.n)
        return 0;
    s = s.n > p->text.n ? str_from(s, s.n - p->text.n) : s;
    for (size_t i = 0; i < s.n; i++) {
        while (k && (k == p->text.n || s.p[i] != p->text.p[k]))
            k = p->fail[k - 1];
        k += s.p[i] == p->text.p[k];
    }
    return k;
}

/* Where in `s`, from `from` on, the whole pattern stands; STR_NONE nowhere. */
static size_t occurrence(const pattern *p, daruma_str s, size_t from)
{
    size_t k = 0;
    for (size_t i = from; i < s.n; i++) {
        while (k && s.p[i] != p->text.p[k])
            k = p->fail[k - 1];
        k += s.p[i] == p->text.p[k];
        if (k == p->text.n)
            return i + 1 - k;
    }
    return STR_NONE;
}

/* ---- is it one, by how long and where it is? ---- */

static bool begins_word(daruma_str s, size_t at)
{
    return at == 0 || !ch_word(s.p[at - 1]) || !ch_word(s.p[at]);
}

/* Short repetitions may be chance ("to" and "tomorrow"); whole words are not. */
static bool is_repetition(daruma_str so_far, daruma_str fresh, size_t k)
{
    bool word = false; /* a rule or an indentation goes on as it began */
    for (size_t i = 0; i < k; i++)
        word |= ch_word(fresh.p[i]);
    if (!word)
        return false;
    if (k >= JOIN_OVERLAP_BYTES_MIN || (k && k == so_far.n))
        return true;
    size_t at = so_far.n - k;
    bool whole = k < fresh.n && (!ch_word(fresh.p[k]) || !ch_word(so_far.p[so_far.n - 1]));
    return k >= 3 && !ch_space(so_far.p[at]) && begins_word(so_far, at) && whole && ch_word(so_far.p[at]);
}

/* ---- openers: what models say before they go on ---- */

/* Offsets behind what may be an opener of `fresh`; returns how many. */
static size_t openers(daruma_str fresh, size_t out[6])
{
    size_t n = 0, at = lead_space(fresh);
    if (at)
        out[n++] = at;
    daruma_str rest = str_from(fresh, at);
    size_t dots = str_starts(rest, S("...")) || str_starts(rest, S("\xe2\x80\xa6")) ? 3 : 0;
    if (dots) {
        out[n++] = at + dots;
        if (lead_space(str_from(rest, dots)))
            out[n++] = at + dots + lead_space(str_from(rest, dots));
        return n;
    }
    /* "Sure, here is the rest:", perhaps a fence behind it */
    daruma_str head = str_sub(rest, 0, JOIN_OPENER_BYTES_MAX);
    size_t line = str_findch(head, '\n');
    size_t colon = str_findch(str_sub(head, 0, line == STR_NONE ? head.n : line), ':');
    if (colon != STR_NONE && colon + 1 < rest.n && ch_space(rest.p[colon + 1])) {
        at += colon + 1 + lead_space(str_from(rest, colon + 1));
        out[n++] = at;
        rest = str_from(fresh, at);
    } else if (line != STR_NONE && !str_starts(rest, S("```"))) {
        at += line + lead_space(str_from(rest, line));
        out[n++] = at;
        rest = str_from(fresh, at);
    }
    if (str_starts(rest, S("```"))) {
        line = str_findch(str_sub(rest, 0, 40), '\n');
        if (line != STR_NONE)
            out[n++] = at + line + 1;
    } else if (str_starts(rest, S("\""))) {
        out[n++] = at + 1;
    }
    return n;
}

/* ---- seams without repetition ---- */

/* Is it plain that `fresh` goes on within the sentence that `so_far` breaks off in? Not when it may repeat a little. */
static bool plain_seam(daruma_str so_far, daruma_str fresh)
{
    pattern head;
    pattern_of(&head, str_sub(fresh, 0, JOIN_OVERLAP_BYTES_MIN));
    if (overlap(&head, so_far))
        return false;
    char last = so_far.p[so_far.n - 1], first = fresh.p[0], second = fresh.n > 1 ? fresh.p[1] : 0;
    bool lower = first >= 'a' && first <= 'z';
    if ((unsigned char)last >= 0x80 || (unsigned char)first >= 0x80)
        return false; /* letters whose case and borders are not known here */
    if (last == ' ' || last == ',')
        return last == ' ' && lower;
    if (!ch_word(last))
        return false;
    if (first == ' ')
        return ch_alpha(second) || ch_digit(second) || second == '(';
    if (first == ',' || first == ';' || first == '.' || first == '!' || first == '?' || first == ')')
        return second == ' ' || second == '\n' || (first == '.' && !second);
    return false;
}

/* ---- the verdict ---- */

static join_result at(size_t skip)
{
    return (join_result){.verdict = JOIN_AT, .skip = skip};
}

static join_result verdict_of(join_verdict v)
{
    return (join_result){.verdict = v};
}

/* A long repetition: all of `head` (JOIN_FIRST_BYTES of fresh behind the opener) stands somewhere in so_far. It is one
 * when all from there to the end is said again. */
static join_result find_long(const pattern *head, daruma_str so_far, daruma_str fresh, bool whole, size_t skipped)
{
    enum { TRIES = 8 };
    size_t p = 0;
    daruma_str rest = str_from(fresh, skipped);
    for (int i = 0; i < TRIES; i++, p++) {
        p = occurrence(head, so_far, p);
        if (p == STR_NONE)
            break;
        daruma_str again = str_from(so_far, p);
        if (skipped + again.n > JOIN_LOOK_BYTES)
            return verdict_of(JOIN_UNSURE);
        if (rest.n >= again.n) {
            if (memcmp(rest.p, again.p, again.n) == 0)
                return at(skipped + again.n);
        } else if (!whole) {
            return verdict_of(JOIN_MORE);
        } else if (memcmp(rest.p, again.p, rest.n) == 0) {
            return verdict_of(JOIN_UNSURE); /* it repeats what is there and stops before its end */
        }
    }
    return verdict_of(JOIN_UNSURE);
}

/* How `fresh` from `from` on repeats the end of `so_far`. JOIN_UNSURE: it does not. */
static join_result find_from(daruma_str so_far, daruma_str fresh, bool whole, size_t from)
{
    pattern head;
    daruma_str first = str_from(str_sub(fresh, 0, JOIN_FIRST_BYTES), from), space = tail_space(so_far);
    daruma_str words = str_sub(so_far, 0, so_far.n - space.n);
    pattern_of(&head, first);
    size_t k = overlap(&head, so_far);
    if (is_repetition(so_far, first, k) && (from == 0 || k >= JOIN_OVERLAP_BYTES_MIN || k == so_far.n))
        return at(from + k);
    if (space.n && words.n) { /* the same but for the white space at its end */
        k = overlap(&head, words);
        if (is_repetition(words, first, k) && (k >= JOIN_OVERLAP_BYTES_MIN || (k == words.n && from == 0)))
            return at(from + k + space_again(space, str_from(first, k)));
    }
    if (first.n >= JOIN_FIRST_BYTES / 2)
        return find_long(&head, so_far, fresh, whole, from);
    return verdict_of(JOIN_UNSURE);
}

join_result join_find(daruma_str so_far, daruma_str fresh, bool whole, bool prefilled)
{
    daruma_str space = tail_space(so_far);
    if (!so_far.n)
        return at(0);
    if (prefilled) { /* it was sent without the white space at its end */
        space = str_sub(space, 0, JOIN_FIRST_BYTES);
        if (!whole && fresh.n <= space.n)
            return verdict_of(JOIN_MORE);
        return at(space_again(space, fresh));
    }
    if (!whole && fresh.n < JOIN_FIRST_BYTES)
        return verdict_of(JOIN_MORE);
    if (!str_trim(str_sub(fresh, 0, JOIN_FIRST_BYTES)).n)
        return verdict_of(JOIN_UNSURE);
    join_result r = find_from(so_far, fresh, whole, 0);
    size_t offsets[6], n = openers(str_sub(fresh, 0, JOIN_FIRST_BYTES), offsets);
    for (size_t i = 0; i < n && r.verdict == JOIN_UNSURE; i++)
        r = find_from(so_far, fresh, whole, offsets[i]);
    if (r.verdict == JOIN_UNSURE && plain_seam(so_far, fresh))
        return at(0);
    return r;
}
