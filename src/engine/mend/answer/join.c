/* join.c - one answer of two pieces. The second piece is looked at in steps of fixed size, so that its being split
 * otherwise changes nothing:
 *
 *     so_far   ...the quick brown fox ju
 *     fresh    quick brown fox jumps over              it begins with its last words, as it was asked to: the anchor
 *     fresh              brown fox jumps over          its beginning is the end of what is there: skip that
 *     fresh    ...the quick brown fox jumps            it begins anew: skip all that is there
 *     fresh    Sure, continuing: brown fox jumps       an opener goes where a true repetition follows
 *     fresh     over the lazy dog                      no repetition: only where the seam is plain
 *
 * It is sure where only one reading is left. What is said again must be a repetition and nothing else:
 *
 *   - it is so long, or so plainly whole words, that nobody says it twice by chance;
 *   - it stands in what is there once, at its end: text that had it before might have it once more;
 *   - it is not itself made of repetitions: how often a model says the same again, nobody can count.
 *
 * All else is not joined. A word lost or said twice is worse than an answer that says that it broke off. */
#include "engine/mend/answer/answer.h"
#include "base/check.h"
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

/* Do the last `k` bytes of `so_far`, at most JOIN_FIRST_BYTES, stand in it only there, and do they not repeat
 * themselves? */
static bool stands_once(daruma_str so_far, size_t k)
{
    pattern p;
    pattern_of(&p, str_from(so_far, so_far.n - k));
    bool repeats = k && 2u * p.fail[k - 1] >= k;
    return k && !repeats && occurrence(&p, so_far, 0) == so_far.n - k;
}

/* A rule or an indentation goes on as it began. */
static bool has_word(daruma_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (ch_word(s.p[i]))
            return true;
    return false;
}

/* ---- the anchor: what a model that goes on is asked to begin with ---- */

/* How many of the last bytes of `s`, of those at most `max`, stand in it elsewhere as well. */
static size_t repeated_end(daruma_str s, size_t max)
{
    char back[JOIN_FIRST_BYTES];
    pattern p;
    size_t n = s.n < max ? s.n : max, most = 0;
    for (size_t i = 0; i < n; i++)
        back[i] = s.p[s.n - 1 - i];
    pattern_of(&p, (daruma_str){back, n});
    for (size_t i = 1, k = 0; i < s.n; i++) { /* all of it backwards but for its last byte */
        char c = s.p[s.n - 1 - i];
        while (k && (k == n || c != back[k]))
            k = p.fail[k - 1];
        k += c == back[k];
        most = k > most ? k : most;
    }
    return most;
}

daruma_str mend_anchor(daruma_str so_far, size_t least)
{
    daruma_str words = str_trim(so_far);
    size_t again = repeated_end(words, JOIN_ANCHOR_BYTES_MAX), n = again < least ? least : again + 1;
    size_t most = words.n > n ? words.n - n : 0;
    while (most && ch_space(words.p[most]))
        most--;
    size_t from = most;
    while (from && !ch_space(words.p[from - 1]) && words.n - from < JOIN_ANCHOR_BYTES_MAX)
        from--;
    if (from && !ch_space(words.p[from - 1])) /* no words: from the border of a character */
        from = most;
    while (from && !ch_space(words.p[from - 1]) && ((unsigned char)words.p[from] & 0xc0) == 0x80)
        from--;
    daruma_str anchor = str_from(words, from);
    bool sure = anchor.n <= JOIN_ANCHOR_BYTES_MAX + 3 && has_word(anchor) && stands_once(words, anchor.n);
    if (!sure && from && least < JOIN_ANCHOR_BYTES_MAX) /* with what stands before the rows that it is made of */
        return mend_anchor(so_far, JOIN_ANCHOR_BYTES_MAX);
    return sure ? anchor : (daruma_str){0};
}

/* How many bytes at the beginning of `s` say `words`, whatever their white space and the case of the first letter are;
 * 0: they do not. `*ret_short`: they do as far as `s` goes. */
static size_t says(daruma_str s, daruma_str words, bool *ret_short)
{
    enum { SPACE_MAX = 64 };
    size_t i = 0, k = 0;
    while (k < words.n) {
        size_t run = 0, told = 0;
        while (k + told < words.n && ch_space(words.p[k + told]))
            told++;
        while (told && i + run < s.n && run < SPACE_MAX && ch_space(s.p[i + run]))
            run++;
        *ret_short |= i + run == s.n;
        if (i + run == s.n || (told && !run))
            return 0;
        i += run;
        k += told;
        if (s.p[i] != words.p[k] && (k || !ch_alpha(s.p[i]) || (s.p[i] ^ words.p[k]) != 0x20))
            return 0;
        i++;
        k++;
    }
    return i;
}

/* ---- is it one, by how long and where it is? ---- */

static bool begins_word(daruma_str s, size_t at)
{
    return at == 0 || !ch_word(s.p[at - 1]) || !ch_word(s.p[at]);
}

/* Short repetitions may be chance ("to" and "tomorrow"); whole words are not. */
static bool is_repetition(daruma_str so_far, daruma_str fresh, size_t k)
{
    if (!has_word(str_sub(fresh, 0, k)))
        return false;
    size_t at = so_far.n - k;
    if (k == so_far.n) /* all of it */
        return true;
    if (ch_space(so_far.p[at])) /* a model that goes on at once begins so, and may say another row like the last */
        return false;
    if (k >= JOIN_OVERLAP_BYTES_MIN)
        return true;
    bool whole = k < fresh.n && (!ch_word(fresh.p[k]) || !ch_word(so_far.p[so_far.n - 1]));
    return k >= 3 && begins_word(so_far, at) && whole && ch_word(so_far.p[at]);
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

/* Is `pre` said to the user, and no part of the answer? Text that goes on and comes to a row like the last one says
 * words before it that it said before. */
static bool is_opener(daruma_str so_far, daruma_str pre)
{
    pattern last;
    bool goes_on = pre.n && pre.p[0] == ' ';
    pre = str_trim(pre);
    if (goes_on && pre.n)
        return false;
    size_t from = pre.n < JOIN_FIRST_BYTES ? 0 : pre.n - JOIN_FIRST_BYTES;
    for (size_t i = from; i < pre.n; i++)
        if (ch_space(pre.p[i]))
            from = i + 1;
    pattern_of(&last, str_from(pre, from));
    return !pre.n || occurrence(&last, so_far, 0) == STR_NONE;
}

/* ... and says that something follows? */
static bool introduces(daruma_str pre)
{
    daruma_str line = str_trim(pre), rest = line;
    while (rest.n)
        line = str_cut(&rest, '\n');
    return str_ends(line, S(":")) || str_ends(line, S("...")) || str_ends(line, S("\xe2\x80\xa6")) ||
           str_ends(line, S("\"")) || str_starts(line, S("```"));
}

/* ---- seams without repetition ---- */

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

/* Offset behind the first `n` words of `s`, 0 if it has fewer. */
static size_t words_end(daruma_str s, int n)
{
    size_t i = 0;
    for (; n && i < s.n; n--) {
        while (i < s.n && ch_space(s.p[i]))
            i++;
        while (i < s.n && !ch_space(s.p[i]))
            i++;
    }
    return n ? 0 : i;
}

/* Does who writes begin sentences with a capital, and himself with one: "I"? As far as it is to be seen. */
static bool writes_capitals(daruma_str so_far, daruma_str fresh)
{
    size_t first = 0;
    while (first < so_far.n && !ch_alpha(so_far.p[first]))
        first++;
    if (first == so_far.n || is_lower(so_far.p[first]))
        return false;
    for (size_t i = 0; i < fresh.n; i++) {
        char before = i ? fresh.p[i - 1] : ' ', end = i > 1 ? fresh.p[i - 2] : 0;
        bool alone = !ch_word(before) && (i + 1 == fresh.n || !ch_word(fresh.p[i + 1]));
        bool sentence = ch_space(before) && (end == '.' || end == '!' || end == '?');
        if ((sentence && is_lower(fresh.p[i])) || (alone && fresh.p[i] == 'i'))
            return false;
    }
    return true;
}

/* What may be said first: "sure, ...", "here is the rest: ...". */
static bool announces(daruma_str fresh)
{
    size_t offsets[6], n = openers(fresh, offsets), word = words_end(fresh, 1);
    for (size_t i = 0; i < n; i++)
        if (introduces(str_sub(fresh, 0, offsets[i])))
            return true;
    return word && fresh.p[word - 1] == ',';
}

/* A small letter begins no answer of who writes capitals: so it goes on. But for what may be said first, and for its
 * own first words. */
static bool goes_on_small(daruma_str so_far, daruma_str fresh)
{
    bool ignored = false;
    size_t two = words_end(fresh, 2);
    if (!is_lower(fresh.p[0]) || announces(fresh) || !writes_capitals(so_far, fresh))
        return false;
    return !two || !says(so_far, str_sub(fresh, 0, two), &ignored);
}

/* Is it plain that `fresh` goes on within the sentence that `so_far` breaks off in? Not when it may repeat a little,
 * nor when it says what was said somewhere before. */
static bool plain_seam(daruma_str so_far, daruma_str fresh)
{
    pattern head;
    pattern_of(&head, str_sub(fresh, 0, JOIN_FIRST_BYTES));
    if (overlap(&head, so_far))
        return false;
    pattern_of(&head, str_sub(fresh, 0, 2 * JOIN_OVERLAP_BYTES_MIN));
    if (fresh.n >= 2 * JOIN_OVERLAP_BYTES_MIN && occurrence(&head, so_far, 0) != STR_NONE)
        return false;
    char last = so_far.p[so_far.n - 1], first = fresh.p[0], second = fresh.n > 1 ? fresh.p[1] : 0;
    if ((unsigned char)last >= 0x80 || (unsigned char)first >= 0x80)
        return false; /* letters whose case and borders are not known here */
    if (last == ' ')
        return goes_on_small(so_far, str_sub(fresh, 0, JOIN_FIRST_BYTES));
    if (!ch_word(last))
        return false;
    if (first == ' ') /* some models begin all that they say with a space: " Sure, ..." */
        return ch_digit(second) || second == '(' ||
               (is_lower(second) && !announces(str_sub(fresh, 1, JOIN_FIRST_BYTES)));
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

/* Not decided before `fresh` has `n` bytes. */
static join_result more(join_seam *s, size_t n)
{
    s->need = n;
    return verdict_of(JOIN_MORE);
}

/* A long repetition: all of `head` (JOIN_FIRST_BYTES of fresh behind the opener) stands somewhere in so_far. It is one
 * when all from there to the end is said again, and from nowhere else. */
static join_result find_long(join_seam *s, const pattern *head, daruma_str fresh, bool whole, size_t skipped)
{
    size_t p = 0, hits = 0, skip = 0;
    daruma_str rest = str_from(fresh, skipped);
    s->nopen = 0;
    s->skipped = skipped;
    s->same = rest.n;
    for (int i = 0; (p = occurrence(head, s->so_far, p)) != STR_NONE; i++, p++) {
        daruma_str again = str_from(s->so_far, p);
        size_t n = again.n < rest.n ? again.n : rest.n;
        if (i == JOIN_PLACES || skipped + again.n > JOIN_LOOK_BYTES) {
            s->nopen = 0;
            return verdict_of(JOIN_UNSURE);
        }
        if (memcmp(rest.p, again.p, n) != 0)
            continue;
        if (n < again.n)
            s->open[s->nopen++] = again;
        hits++;
        skip = skipped + again.n;
    }
    if (s->nopen && !whole)
        return verdict_of(JOIN_MORE);
    if (s->nopen) { /* it repeats what is there and stops before its end */
        s->nopen = 0;
        return verdict_of(JOIN_UNSURE);
    }
    return hits == 1 ? at(skip) : verdict_of(JOIN_UNSURE);
}

/* Does `fresh` still repeat one of the places that it repeated up to now, and is not at its end? */
static bool still_open(join_seam *s, daruma_str fresh)
{
    size_t n = 0;
    daruma_str rest = str_from(fresh, s->skipped);
    check(rest.n >= s->same);
    for (size_t i = 0; i < s->nopen; i++) {
        daruma_str again = s->open[i];
        if (rest.n < again.n && memcmp(rest.p + s->same, again.p + s->same, rest.n - s->same) == 0)
            s->open[n++] = again;
    }
    s->nopen = n;
    s->same = rest.n;
    return n > 0;
}

/* The first `n` bytes of `fresh` are known; of the white space behind, what is there already goes, too. */
static join_result behind(join_seam *s, daruma_str fresh, bool whole, size_t n, daruma_str space)
{
    space = str_sub(space, 0, JOIN_FIRST_BYTES);
    if (!whole && fresh.n < n + space.n)
        return more(s, n + space.n);
    return at(n + space_again(space, str_from(fresh, n)));
}

/* How `fresh` from `from` on repeats the end of `so_far`. JOIN_UNSURE: it does not, or not for sure. */
static join_result find_from(join_seam *s, daruma_str fresh, bool whole, size_t from)
{
    pattern head;
    daruma_str so_far = s->so_far, first = str_from(str_sub(fresh, 0, JOIN_FIRST_BYTES), from);
    daruma_str space = tail_space(so_far), words = str_sub(so_far, 0, so_far.n - space.n);
    pattern_of(&head, first);
    size_t k = overlap(&head, so_far);
    if (is_repetition(so_far, first, k) && (from == 0 || k >= JOIN_OVERLAP_BYTES_MIN) && stands_once(so_far, k))
        return at(from + k);
    if (space.n && words.n) { /* the same but for the white space at its end */
        k = overlap(&head, words);
        if (is_repetition(words, first, k) && (k >= JOIN_OVERLAP_BYTES_MIN || (k == words.n && from == 0)) &&
            stands_once(words, k))
            return behind(s, fresh, whole, from + k, space);
    }
    if (first.n >= JOIN_FIRST_BYTES / 2)
        return find_long(s, &head, fresh, whole, from);
    return verdict_of(JOIN_UNSURE);
}

/* It begins with the anchor; `fresh` may be any beginning. */
static join_result find_anchor(join_seam *s, daruma_str fresh, bool whole)
{
    bool cut = false;
    size_t n = s->anchor.n ? says(fresh, s->anchor, &cut) : 0;
    if (!whole && cut)
        return verdict_of(JOIN_MORE);
    return n ? behind(s, fresh, whole, n, tail_space(s->so_far)) : verdict_of(JOIN_UNSURE);
}

/* The anchor stands behind something said first, of `fresh`'s first JOIN_FIRST_BYTES: an apology, an introduction.
 * Once: a model that talks about it says it again afterwards. */
static join_result find_behind(join_seam *s, daruma_str fresh, bool whole, const size_t *offsets, size_t noffsets)
{
    pattern p;
    bool cut = false;
    daruma_str space = tail_space(s->so_far), first = str_sub(fresh, 0, JOIN_FIRST_BYTES);
    if (s->anchor.n < JOIN_OVERLAP_BYTES_MIN)
        return verdict_of(JOIN_UNSURE);
    for (size_t i = 0; i < noffsets; i++) {
        size_t n = says(str_from(first, offsets[i]), s->anchor, &cut);
        if (n && is_opener(s->so_far, str_sub(first, 0, offsets[i])))
            return behind(s, fresh, whole, offsets[i] + n, space);
    }
    if (s->anchor.n < 2 * JOIN_OVERLAP_BYTES_MIN)
        return verdict_of(JOIN_UNSURE);
    pattern_of(&p, s->anchor);
    size_t here = occurrence(&p, first, 0);
    if (here == STR_NONE || here > JOIN_OPENER_BYTES_MAX || occurrence(&p, first, here + 1) != STR_NONE ||
        !is_opener(s->so_far, str_sub(first, 0, here)))
        return verdict_of(JOIN_UNSURE);
    return behind(s, fresh, whole, here + s->anchor.n, space);
}

/* The answer was begun for the model, without the white space at its end. It goes on there, also where it says once
 * more what it said last: rows of a table do. Only one that says all of it again from its beginning never saw it. */
static join_result find_prefilled(join_seam *s, daruma_str fresh, bool whole)
{
    pattern head;
    daruma_str so_far = s->so_far, space = str_sub(tail_space(so_far), 0, JOIN_FIRST_BYTES);
    size_t n = so_far.n < fresh.n ? so_far.n : fresh.n;
    if (!whole && fresh.n <= space.n)
        return more(s, space.n + 1);
    if (so_far.n < JOIN_OVERLAP_BYTES_MIN || !str_starts(so_far, str_sub(fresh, 0, n)))
        return at(space_again(space, fresh));
    if (!whole && n < so_far.n && fresh.n < JOIN_LOOK_BYTES)
        return verdict_of(JOIN_MORE);
    pattern_of(&head, str_sub(so_far, 0, JOIN_FIRST_BYTES));
    bool repeats = 2u * head.fail[head.text.n - 1] >= head.text.n || occurrence(&head, so_far, 1) != STR_NONE;
    if (repeats)
        return at(space_again(space, fresh));
    return n == so_far.n ? at(n) : verdict_of(JOIN_UNSURE);
}

/* It was shown all but the last words, and told to go on: then it says them next. Or it answers anew. */
static join_result find_kept(join_seam *s, daruma_str fresh, bool whole)
{
    size_t lead = lead_space(str_sub(fresh, 0, JOIN_FIRST_BYTES));
    if (!whole && (lead == fresh.n || fresh.n < JOIN_FIRST_BYTES))
        return verdict_of(JOIN_MORE);
    daruma_str so_far = s->so_far, words = str_sub(so_far, 0, so_far.n - tail_space(so_far).n);
    bool shown = s->anchor.n && s->anchor.n < str_trim(words).n;
    join_result r = shown ? find_anchor(s, str_from(fresh, lead), whole) : verdict_of(JOIN_UNSURE);
    if (r.verdict == JOIN_MORE)
        s->need += s->need ? lead : 0; /* it was counted from behind the space */
    if (r.verdict == JOIN_AT)
        return at(lead + r.skip);
    if (r.verdict == JOIN_MORE)
        return r;
    s->looks++;
    r = find_from(s, fresh, whole, 0);
    bool told = (shown && r.skip > s->anchor.n) || r.skip >= words.n; /* it says some of what it was shown, or all */
    return r.verdict != JOIN_AT || told ? r : verdict_of(JOIN_UNSURE);
}

/* It was asked to begin with the anchor; it may do something else. */
static join_result find_anchored(join_seam *s, daruma_str fresh, bool whole)
{
    daruma_str so_far = s->so_far, space = tail_space(so_far), words = str_sub(so_far, 0, so_far.n - space.n);
    daruma_str first = str_sub(fresh, 0, JOIN_FIRST_BYTES);
    join_result r = find_anchor(s, fresh, whole);
    if (r.verdict != JOIN_UNSURE)
        return r;
    if (!whole && fresh.n < JOIN_FIRST_BYTES)
        return more(s, JOIN_FIRST_BYTES);
    if (!str_trim(first).n)
        return verdict_of(JOIN_UNSURE);
    size_t offsets[6], n = openers(first, offsets);
    s->looks++;
    r = find_behind(s, fresh, whole, offsets, n);
    if (r.verdict == JOIN_UNSURE)
        r = find_from(s, fresh, whole, 0);
    /* Behind white space alone it may as well go on at once, and say again what it said last: another row. */
    for (size_t i = 0; i < n && r.verdict == JOIN_UNSURE; i++)
        if (introduces(str_sub(first, 0, offsets[i])) && is_opener(so_far, str_sub(first, 0, offsets[i])))
            r = find_from(s, fresh, whole, offsets[i]);
    if (r.verdict == JOIN_UNSURE && plain_seam(so_far, fresh))
        return at(0);
    if (r.verdict == JOIN_UNSURE && space.n && words.n && str_starts(first, space) && plain_seam(words, fresh))
        return at(space.n); /* it was shown without that space */
    return r;
}

join_seam join_begin(daruma_str so_far, mend_going how)
{
    join_seam s = {.so_far = so_far, .how = how, .looks = 1};
    if (how == GOING_ANCHORED)
        s.anchor = mend_anchor(so_far, JOIN_TAIL_BYTES);
    if (how == GOING_ANCHORED && !s.anchor.n) /* without an anchor it is asked as if it had been asked before */
        s.how = GOING_FROM_BEFORE;
    if (s.how == GOING_FROM_BEFORE)
        s.anchor = mend_anchor(so_far, JOIN_KEPT_BYTES);
    return s;
}

join_result join_next(join_seam *s, daruma_str fresh, bool whole)
{
    if (!s->so_far.n)
        return at(0);
    if (!whole && (fresh.n < s->need || (s->nopen && still_open(s, fresh))))
        return verdict_of(JOIN_MORE);
    s->nopen = s->need = 0;
    switch (s->how) {
    case GOING_ANCHORED:
        return find_anchored(s, fresh, whole);
    case GOING_PREFILLED:
        return find_prefilled(s, fresh, whole);
    case GOING_FROM_BEFORE:
        return find_kept(s, fresh, whole);
    }
    return verdict_of(JOIN_UNSURE);
}

join_result join_find(daruma_str so_far, daruma_str fresh, bool whole, mend_going how)
{
    join_seam s = join_begin(so_far, how);
    return join_next(&s, fresh, whole);
}
