/* One text of two pieces: what is repeated goes, what cannot be joined for sure is said to be so. */
#include "test.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "dialect/dialect.h"
#include "engine/mend/answer/answer.h"
#include <stdlib.h>

static char memory[4 << 20];

static const char *const texts[] = {
    "The quick brown fox jumps over a lazy dog. Then it sleeps until noon, and nobody knows where; its den was never "
    "found. \"Why?\" asked Anna. Because foxes hide well, and because this one was clever: it moved each week.\n\nIn "
    "spring we went looking again, with three maps and 12 lamps.",
    "```python\ndef area(w, h):\n    \"\"\"Width times height.\"\"\"\n    if w < 0 or h < 0:\n        raise "
    "ValueError(\"no\")\n"
    "    return w * h\n\n\nfor name, size in sizes.items():\n    print(f\"{name}: {area(*size)}\")\n```\nRun it with "
    "python3.",
    "\xe6\x98\x94\xe3\x80\x85\xe3\x80\x81\xe3\x81\x82\xe3\x82\x8b\xe3\x81\xa8\xe3\x81\x93\xe3\x82\x8d\xe3\x81\xab"
    "\xe3\x81\x8a\xe3\x81\x98\xe3\x81\x84\xe3\x81\x95\xe3\x82\x93\xe3\x81\xa8\xe3\x81\x8a\xe3\x81\xb0\xe3\x81\x82"
    "\xe3\x81\x95\xe3\x82\x93\xe3\x81\x8c\xe3\x81\x84\xe3\x81\xbe\xe3\x81\x97\xe3\x81\x9f\xe3\x80\x82",
    "Tests: \xf0\x9f\x98\x80 passed, \xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd good, \xf0\x9f\x94\xa5 hot; caf\xc3\xa9 "
    "na\xc3\xafve "
    "\xe2\x80\x94 done \xf0\x9f\x8e\x89 for today, tomorrow we go on.",
};

static bool between_characters(daruma_str s, size_t at)
{
    return at == 0 || at >= s.n || ((unsigned char)s.p[at] & 0xc0) != 0x80;
}

/* With white space begins what goes on at once, and may be another row like the last. */
static bool begins_with_space(daruma_str s, size_t at)
{
    return at && ch_space(s.p[at]);
}

/* The verdict when `fresh` comes in pieces of `step` bytes. */
static join_result feed_as(mend_going how, daruma_str so_far, daruma_str fresh, size_t step)
{
    join_seam seam = join_begin(so_far, how);
    for (size_t n = step; n < fresh.n; n += step) {
        join_result r = join_next(&seam, str_sub(fresh, 0, n), false);
        if (r.verdict != JOIN_MORE)
            return r;
    }
    return join_next(&seam, fresh, true);
}

static join_result feed(daruma_str so_far, daruma_str fresh, size_t step)
{
    return feed_as(GOING_ANCHORED, so_far, fresh, step);
}

static void a_repetition_is_skipped_wherever_it_was_cut(void **state)
{
    (void)state;
    size_t joined = 0, unsure = 0;
    for (size_t t = 0; t < COUNT(texts); t++) {
        daruma_str text = str_of(texts[t]);
        for (size_t cut = 1; cut < text.n; cut++) {
            if (!between_characters(text, cut))
                continue;
            for (size_t over = 0; over <= 200 && over <= cut; over++) {
                if (!between_characters(text, cut - over))
                    continue;
                daruma_str so_far = str_sub(text, 0, cut), fresh = str_from(text, cut - over);
                join_result r = feed(so_far, fresh, 7);
                bool word = false;
                for (size_t i = 0; i < over; i++)
                    word |= ch_word(fresh.p[i]);
                bool space = begins_with_space(text, cut - over);
                if (r.verdict == JOIN_UNSURE && (over < JOIN_OVERLAP_BYTES_MIN || !word || space)) {
                    unsure++;
                    continue;
                }
                if (r.verdict != JOIN_AT || r.skip != over)
                    fail_msg("text %zu, cut at %zu, %zu repeated: verdict %d, skip %zu", t, cut, over, r.verdict,
                             r.skip);
                assert_true(between_characters(fresh, r.skip));
                joined++;
            }
        }
    }
    assert_true(joined > 2 * unsure);
}

static void any_split_gives_the_same(void **state)
{
    (void)state;
    char long_text[9000];
    uint32_t dice = 12345;
    for (size_t i = 0; i < sizeof long_text; i++) {
        dice = dice * 1664525u + 1013904223u;
        long_text[i] = i % 9 == 8 ? ' ' : (char)('a' + (dice >> 16) % 26);
    }
    daruma_str text = {long_text, sizeof long_text};
    static const size_t cuts[] = {100, 511, 512, 600, 4000, 8000}, overs[] = {0, 20, 90, 100, 500, 600, 4000, 8000};
    for (size_t c = 0; c < COUNT(cuts); c++)
        for (size_t o = 0; o < COUNT(overs); o++) {
            if (overs[o] > cuts[c])
                continue;
            daruma_str so_far = str_sub(text, 0, cuts[c]), fresh = str_from(text, cuts[c] - overs[o]);
            join_result want = join_find(so_far, fresh, true, GOING_ANCHORED);
            for (size_t step = 1; step < 700; step += 83) {
                join_result r = feed(so_far, fresh, step);
                assert_int_equal(r.verdict, want.verdict);
                assert_int_equal(r.skip, want.skip);
            }
            if (overs[o] && !begins_with_space(text, cuts[c] - overs[o])) {
                assert_int_equal(want.verdict, JOIN_AT);
                assert_int_equal(want.skip, overs[o]);
            }
        }
}

/* ---- the anchor ---- */

static daruma_str repeating(char *room, size_t n, const char *first, const char *again)
{
    daruma_buf b = buf_over(room, n);
    buf_putz(&b, first);
    for (int i = 0; b.n + strlen(again) + 16 < n; i++) {
        buf_putz(&b, again);
        if (i % 7 == 6)
            buf_printf(&b, "Round %d. ", i);
    }
    return buf_str(&b);
}

/* What the client has in the end; empty when it was not joined. */
static daruma_str joined_as(mend_going how, daruma_str so_far, daruma_str fresh, char *room, size_t n)
{
    daruma_buf b = buf_over(room, n);
    join_result r = feed_as(how, so_far, fresh, 11);
    if (r.verdict != JOIN_AT)
        return (daruma_str){0};
    buf_put(&b, so_far);
    buf_put(&b, str_from(fresh, r.skip));
    return buf_str(&b);
}

/* How models say the anchor: as it is, behind a word of their own, with another case or other white space. */
static daruma_str said_so(int how, daruma_str anchor, daruma_str rest, char *room, size_t n)
{
    static const char *const openers[] = {"", "... ", "I apologise. Here is the rest:\n\n", "Sure!\n", "\n", "", ""};
    daruma_buf b = buf_over(room, n);
    buf_putz(&b, openers[how]);
    for (size_t i = 0; i < anchor.n; i++) {
        char c = anchor.p[i];
        bool breaks = how == 6 && c == ' ' && i % 5 == 0;
        buf_putz(&b, breaks ? " \n" : "");
        if (!breaks)
            buf_putc(&b, how == 5 && i == 0 && c >= 'a' && c <= 'z' ? (char)(c - 32) : c);
    }
    buf_put(&b, rest);
    return buf_str(&b);
}

static void what_begins_with_its_last_words_is_joined_in_any_text(void **state)
{
    (void)state;
    static char rows[3000], lines[3000], fresh[8000], whole[8000];
    daruma_str all[] = {str_of(texts[0]),
                        str_of(texts[1]),
                        str_of(texts[2]),
                        str_of(texts[3]),
                        repeating(rows, sizeof rows, "You said: ", "| 0 | none | 0 |\n"),
                        repeating(lines, sizeof lines, "", "The fox reads logs and finds nothing to repair.\n")};
    size_t sure = 0, none = 0;
    for (size_t t = 0; t < COUNT(all); t++)
        for (size_t cut = 30; cut < all[t].n; cut += t < 4 ? 1 : 17) {
            daruma_str so_far = str_sub(all[t], 0, cut), anchor = mend_anchor(so_far, JOIN_TAIL_BYTES);
            if (!between_characters(all[t], cut))
                continue;
            none += !anchor.n;
            if (!anchor.n)
                continue;
            for (int how = 0; how < 7; how++) {
                daruma_str rest = str_from(all[t], (size_t)(anchor.p - all[t].p) + anchor.n);
                daruma_str got = joined_as(GOING_ANCHORED, so_far, said_so(how, anchor, rest, fresh, sizeof fresh),
                                           whole, sizeof whole);
                if (how > 2 && !got.n && (anchor.n < 2 * JOIN_OVERLAP_BYTES_MIN || how == 6))
                    continue; /* too little to be sure of */
                if (!str_eq(got, all[t]))
                    fail_msg("text %zu, cut at %zu, form %d: \"" STR_FMT "\" then \"" STR_FMT "\"", t, cut, how,
                             STR_ARG(anchor), STR_ARG(str_from(got, got.n > cut ? cut : got.n)));
                sure++;
            }
        }
    if (sure < 5500 || none > 150)
        fail_msg("%zu joined, %zu without anchor", sure, none);
}

static void the_anchor_stands_in_the_text_once(void **state)
{
    (void)state;
    assert_str(mend_anchor(S("It was a dark night"), 80), "It was a dark night");
    assert_str(mend_anchor(S("It was a dark night"), 4), "night");
    assert_str(mend_anchor(S("the night was a dark night"), 4), "dark night");
    assert_str(mend_anchor(S("It was a dark night \n"), 4), "night");
    assert_str(mend_anchor(S("0 0 0 0 0 0 0 0 0 0 0 0"), 4), ""); /* nobody can count that */
    assert_str(mend_anchor(S("|-----------"), 4), "");
    assert_str(mend_anchor(S(" \n"), 4), "");
}

static void what_repeats_itself_is_not_joined_by_guessing(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"one two one two one two", "one two one two three"},
        {"- item\n- item\n- item\n", "- item\n- item\n- last"},
        {"{\"x\": 0}, {\"x\": 0}, {\"x\": 0}, ", "{\"x\": 0}, {\"x\": 0}, {\"x\": 1}]"},
        {"He said it again: now we go home. And again: now we go home.", "now we go home. And once more."},
        {"ha ha ha ha ha ha ha", "ha ha ha, he laughed."},
        {"Rows:\n- one row of it, quite long", "\n- one row of it, quite long\n- another"}, /* twice, or once more? */
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        join_result r = join_find(str_of(cases[i][0]), str_of(cases[i][1]), true, GOING_ANCHORED);
        if (r.verdict != JOIN_UNSURE)
            fail_msg("%s|%s: verdict %d, skip %zu", cases[i][0], cases[i][1], r.verdict, r.skip);
    }
}

/* Any text, gone on with in any way: what is joined is the text. */
static void nothing_wrong_is_ever_joined(void **state)
{
    (void)state;
    static const char *const words[] = {"alpha", "beta",  "gamma", "delta", "of",   "the",  "and",    "night",
                                        "house", "river", "stone", "green", "blue", "runs", "sleeps", "to"};
    static char text[4000], fresh[8000], whole[8000];
    uint32_t dice = 99;
    size_t sure = 0, asked = 0;
#define ROLL(n) ((dice = dice * 1664525u + 1013904223u) >> 8) % (n)
    for (int round = 0; round < 3000; round++) {
        daruma_buf b = buf_over(text, sizeof text);
        size_t nwords = 10 + ROLL(round % 10 ? 60 : 500);
        for (size_t i = 0, last = 0; i < nwords;
             i++) { /* no word twice in a row: who hears it twice heard a repetition */
            last = (last + 1 + ROLL(15)) % 16;
            buf_putz(&b, words[last]);
            buf_putz(&b, ROLL(9) ? " " : ROLL(3) ? ". " : "\n\n");
        }
        daruma_str all = buf_str(&b);
        size_t cut = 1 + ROLL(all.n - 1), how = ROLL(5), over = ROLL(cut + 1);
        daruma_str so_far = str_sub(all, 0, cut), anchor = mend_anchor(so_far, JOIN_TAIL_BYTES);
        if ((how == 0 && !anchor.n) || (how == 3 && !mend_anchor(so_far, JOIN_KEPT_BYTES).n))
            continue;
        daruma_str from = how == 0   ? anchor
                          : how == 1 ? str_from(so_far, cut)
                          : how == 2 ? so_far
                          : how == 3 ? mend_anchor(so_far, JOIN_KEPT_BYTES)
                                     : str_from(so_far, cut - over);
        size_t at = from.n ? (size_t)(from.p - all.p) : cut;
        daruma_buf f = buf_over(fresh, sizeof fresh);
        buf_put(&f, str_from(all, at));
        daruma_str got =
            joined_as(how == 3 ? GOING_FROM_BEFORE : GOING_ANCHORED, so_far, buf_str(&f), whole, sizeof whole);
        if (got.n && !str_eq(got, all))
            fail_msg("round %d, form %zu, cut %zu of \"" STR_FMT "\": \"" STR_FMT "\"", round, how, cut, STR_ARG(all),
                     STR_ARG(str_from(got, cut)));
        asked += how == 0 || how == 2 || how == 3;
        sure += got.n && (how == 0 || how == 2 || how == 3);
    }
    assert_true(sure * 100 > asked * 95);
}

typedef struct join_case {
    const char *so_far, *fresh, *whole; /* NULL: nobody can be sure */
} join_case;

static void seams_are_found_or_refused(void **state)
{
    (void)state;
    static const join_case cases[] = {
        {"The quick brown fox ju", "quick brown fox jumps.", "The quick brown fox jumps."},
        {"The quick brown fox ju", "... quick brown fox jumps.", "The quick brown fox jumps."},
        {"The quick brown fox ju", "\xe2\x80\xa6quick brown fox jumps.", "The quick brown fox jumps."},
        {"The quick brown fox ju", "Sure, continuing: quick brown fox jumps.", "The quick brown fox jumps."},
        {"The quick brown fox ju", "Here is the rest:\n\n```text\nquick brown fox jumps.",
         "The quick brown fox jumps."},
        {"The quick brown fox ju", "The quick brown fox jumps.", "The quick brown fox jumps."},
        {"He", "Hello there", "Hello there"},
        {"The first point is done.\n\n", "first point is done.\n\nThe second",
         "The first point is done.\n\nThe second"},
        {"The first point is done.\n\n", "first point is done. The second", "The first point is done.\n\n The second"},
        {"She sat on the", "the mat.", "She sat on the mat."},
        {"She sat on", " the mat.", "She sat on the mat."},
        {"She sat", ", then stood.", "She sat, then stood."},
        {"She sat on ", "the mat.", "She sat on the mat."},
        {"She sat on ", " the mat.", "She sat on the mat."},
        {"She sat on", " I am sorry about that.", NULL},
        {"name: The quick brown fox", " reads.\nname: The quick brown fox sleeps.",
         "name: The quick brown fox reads.\nname: The quick brown fox sleeps."},
        {"Lines:\nThe quick brown fox reads ", "logs and finds nothing.\nThe quick brown fox reads logs",
         "Lines:\nThe quick brown fox reads logs and finds nothing.\nThe quick brown fox reads logs"},
        {"Then we went to", "tomorrow's fair", NULL},
        /* A small letter begins no answer of who writes capitals. All else may. */
        {"The quick brown fox ", "jumps over the dog. It runs.", "The quick brown fox jumps over the dog. It runs."},
        {"The quick brown fox ", "sure, here is the rest: jumps over.", NULL},
        {"The quick brown fox ", "here is the rest: jumps over.", NULL},
        {"The quick brown fox ", "okay, it jumps over the dog.", NULL},
        {"The quick brown fox ", "unfortunately i cannot continue this.", NULL},
        {"The quick brown fox ", "i'm sorry about that.", NULL},
        {"The quick brown fox ", "that was it. what else do you need?", NULL},
        {"We have 4 apples. They ", "we have 5 pears.", NULL},
        {"We have 4 apples. They ", "we have 5 pears. they are green.", NULL},
        {"my dear ", "okay", NULL},
        {"The quick", "brown fox", NULL},
        {"The quick brown", "Sure, continuing: fox jumps", NULL},
        {"The quick brown fox.", "I am sorry, I lost my way.", NULL},
        {"The quick brown fox", "\n\nContinuing here", NULL},
        {"The quick brown fox jumps", "A fast brown fox leaps", NULL},
        {"|------------", "-------------|", NULL},
        {"The quick brown fox", "", NULL},
        {"The quick brown fox", "   ", NULL},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        daruma_str so_far = str_of(cases[i].so_far), fresh = str_of(cases[i].fresh);
        join_result r = join_find(so_far, fresh, true, GOING_ANCHORED);
        if (r.verdict != (cases[i].whole ? JOIN_AT : JOIN_UNSURE))
            fail_msg("%s|%s: verdict %d", cases[i].so_far, cases[i].fresh, r.verdict);
        if (!cases[i].whole)
            continue;
        char room[200];
        daruma_buf b = buf_over(room, sizeof room);
        buf_put(&b, so_far);
        buf_put(&b, str_from(fresh, r.skip));
        assert_str(buf_str(&b), cases[i].whole);
    }
}

static void what_was_begun_for_the_model_goes_on_exactly(void **state)
{
    (void)state;
    static const char said[] = "The quick brown fox jumps over the lazy dog";
    join_result r = join_find(S("a b"), S("Zebra"), true, GOING_PREFILLED);
    assert_int_equal(r.verdict, JOIN_AT);
    assert_int_equal(r.skip, 0);
    r = join_find(S("done.\n\n"), S("\n\nNext"), true, GOING_PREFILLED);
    assert_int_equal(r.verdict, JOIN_AT);
    assert_int_equal(r.skip, 2);
    assert_int_equal(join_find(S("- a row of it\n"), S("\n- a row of it\n- another"), true, GOING_PREFILLED).skip, 1);
    /* but for all of it anew: nobody looked at what was begun */
    assert_int_equal(join_find(str_of(said), S("fox jumps over the lazy dog and runs"), true, GOING_PREFILLED).skip, 0);
    assert_int_equal(
        join_find(str_of(said), S("The quick brown fox jumps over the lazy dog again"), true, GOING_PREFILLED).skip,
        43);
    assert_int_equal(join_find(str_of(said), S("The quick brown"), false, GOING_PREFILLED).verdict, JOIN_MORE);
    assert_int_equal(join_find(str_of(said), S("The quick brown dog"), false, GOING_PREFILLED).skip, 0);
    assert_int_equal(join_find(S("Once upon a time"), S("Once upon a time there was"), true, GOING_PREFILLED).skip, 16);
    assert_int_equal(
        join_find(S("0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"), S(" 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"), true, GOING_PREFILLED)
            .skip,
        0);
    assert_int_equal(join_find(S("done.\n\n"), S("\n"), false, GOING_PREFILLED).verdict, JOIN_MORE);
    assert_int_equal(join_find(S("done.\n\n"), S("Next"), true, GOING_PREFILLED).skip, 0);
    assert_int_equal(join_find(S("done. "), S(" x"), true, GOING_PREFILLED).skip, 1);
}

/* ---- what it costs ---- */

/* Words that do not repeat themselves. */
static daruma_str much_text(size_t bytes)
{
    uint32_t dice = 7;
    daruma_buf b = buf_over(memory, sizeof memory);
    while (b.n < bytes) {
        for (int i = 0; i < 7; i++) {
            dice = dice * 1664525u + 1013904223u;
            buf_putc(&b, (char)('a' + (dice >> 24) % 26));
        }
        buf_putc(&b, b.n % 96 ? ' ' : '\n');
    }
    assert_false(b.full);
    return buf_str(&b);
}

/* However small the pieces are: what is there is read a few times, not once for each of them. */
static void a_long_text_is_read_a_few_times_however_small_the_pieces_are(void **state)
{
    enum { SAID = 1 << 20, MORE = 1000, LOOKS_MAX = 10 };
    static const struct {
        mend_going how;
        size_t said, again; /* of the text; of its end, that is said again */
        join_verdict want;
        const char *opener;
    } rows[] = {
        {GOING_ANCHORED, SAID, 60000, JOIN_AT, ""},
        {GOING_ANCHORED, SAID, 60000, JOIN_AT, "Sure, here is the rest:\n\n"},
        {GOING_ANCHORED, SAID, 70000, JOIN_UNSURE, ""}, /* nobody looks so far */
        {GOING_ANCHORED, 60000, 60000, JOIN_AT, ""},
        {GOING_FROM_BEFORE, SAID, 60000, JOIN_AT, ""},
        {GOING_FROM_BEFORE, 60000, 60000, JOIN_AT, ""},
        {GOING_PREFILLED, 60000, 60000, JOIN_AT, ""},
    };
    static char room[80000];
    daruma_str text = much_text(SAID + MORE);
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_str so_far = str_sub(text, SAID - rows[i].said, rows[i].said);
        daruma_buf b = buf_over(room, sizeof room);
        buf_putz(&b, rows[i].opener);
        buf_put(&b, str_from(text, SAID - rows[i].again));
        join_seam s = join_begin(so_far, rows[i].how);
        join_result r = {.verdict = JOIN_MORE};
        for (size_t n = 3; n < b.n && r.verdict == JOIN_MORE; n += 3)
            r = join_next(&s, str_sub(buf_str(&b), 0, n), false);
        if (r.verdict != rows[i].want || (r.verdict == JOIN_AT && r.skip != strlen(rows[i].opener) + rows[i].again))
            fail_msg("row %zu: verdict %d, skip %zu", i, r.verdict, r.skip);
        if (s.looks > LOOKS_MAX)
            fail_msg("row %zu: read %u times", i, s.looks);
    }
}

/* ---- asking to go on ---- */

static convo read_with(const dialect *d, const char *body, daruma_arena *a)
{
    convo c;
    assert_int_equal(d->read(str_of(body), a, &c), DARUMA_OK);
    return c;
}

static daruma_str written(const dialect *d, const convo *c, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    d->write(c, &b);
    assert_false(b.full);
    assert_true(json_valid(buf_str(&b)));
    return buf_str(&b);
}

#define CHAT_ASK   "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}"
#define CLAUDE_ASK "{\"model\":\"m\",\"max_tokens\":9,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}"

static void the_model_is_asked_to_go_on(void **state)
{
    (void)state;
    daruma_arena a = arena_over(memory, sizeof memory);
    mend_report rep = {0};
    convo c = read_with(&dialect_anthropic, CLAUDE_ASK, &a);
    assert_true(mend_can_prefill(&c));
    assert_true(mend_continue(&c, S("It was a dark \n"), GOING_PREFILLED, &rep));
    daruma_str body = written(&dialect_anthropic, &c, &a);
    assert_int_equal(json_count(json_get(body, S("messages"))), 2);
    assert_str(json_path(body, "messages.1.role"), "\"assistant\"");
    assert_true(str_find(body, S("It was a dark\"")) != STR_NONE); /* no white space at its end */

    c = read_with(&dialect_openai, CHAT_ASK, &a);
    assert_false(mend_can_prefill(&c));
    assert_true(mend_continue(&c, S("It was a dark and stormy ni"), GOING_PREFILLED, &rep));
    body = written(&dialect_openai, &c, &a);
    assert_int_equal(json_count(json_get(body, S("messages"))), 3);
    assert_str(json_path(body, "messages.1.role"), "\"assistant\"");
    assert_str(json_path(body, "messages.2.role"), "\"user\"");
    assert_true(str_find(json_path(body, "messages.2"), S("a dark and stormy ni\\n")) != STR_NONE);

    c = read_with(&dialect_openai, CHAT_ASK, &a);
    assert_false(mend_continue(&c, S(" \n"), GOING_ANCHORED, &rep));
    assert_false(c.edited);
    assert_true(mend_did(&rep));
}

static void an_answer_that_was_begun_goes_on_in_its_message(void **state)
{
    (void)state;
    daruma_arena a = arena_over(memory, sizeof memory);
    mend_report rep = {0};
    convo c =
        read_with(&dialect_anthropic,
                  "{\"model\":\"m\",\"max_tokens\":9,\"messages\":[{\"role\":\"user\",\"content\":\"hi\"},{\"role\":"
                  "\"assistant\",\"content\":\"Once\"}]}",
                  &a);
    assert_true(mend_continue(&c, S(" upon a time"), GOING_PREFILLED, &rep));
    daruma_str body = written(&dialect_anthropic, &c, &a);
    assert_int_equal(json_count(json_get(body, S("messages"))), 2);
    assert_true(str_find(body, S("Once")) != STR_NONE && str_find(body, S(" upon a time")) != STR_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_repetition_is_skipped_wherever_it_was_cut),
        cmocka_unit_test(any_split_gives_the_same),
        cmocka_unit_test(a_long_text_is_read_a_few_times_however_small_the_pieces_are),
        cmocka_unit_test(seams_are_found_or_refused),
        cmocka_unit_test(the_anchor_stands_in_the_text_once),
        cmocka_unit_test(what_begins_with_its_last_words_is_joined_in_any_text),
        cmocka_unit_test(what_repeats_itself_is_not_joined_by_guessing),
        cmocka_unit_test(nothing_wrong_is_ever_joined),
        cmocka_unit_test(what_was_begun_for_the_model_goes_on_exactly),
        cmocka_unit_test(the_model_is_asked_to_go_on),
        cmocka_unit_test(an_answer_that_was_begun_goes_on_in_its_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
