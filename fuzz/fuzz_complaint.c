/* What a provider says of a request, judged, explained and acted upon as a host does it, remedy after remedy: what is
 * left is a request of that dialect, and what was set right is not touched again. Then the model is asked to go on with
 * an answer, or to give another. The input, a line each: a digit for the dialect and a letter for each remedy ('a' is
 * the first), what the provider says, what a model answers; the rest is the request. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "dialect/dialect.h"
#include "engine/mend/answer/answer.h"
#include "exact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char room[48 << 20];

/* Remedies that look only at what is wrong, and not at how much is too much. */
static bool sets_right(daruma_remedy_kind r)
{
    return r == DARUMA_REMEDY_REPAIR_HISTORY || r == DARUMA_REMEDY_LOWER_SCHEMA;
}

static daruma_failure judged(daruma_str said, daruma_arena *a)
{
    daruma_evidence ev = {.status = 400, .body = said};
    daruma_failure f = daruma_classify(&ev, (daruma_moment){.wall = 1767225600}, a);
    daruma_buf words = buf_in(a);
    daruma_explain(&f, NULL, &words);
    check(words.full || (words.n && words.p[words.n - 1] == '.'));
    return f;
}

/* `*left_out`: a parameter went that the words name. The same words may name another one. */
static bool mended(daruma_convo *c, daruma_remedy_kind r, const daruma_failure *f, daruma_str answer, daruma_arena *a,
                   bool *left_out)
{
    const daruma_policy *p = daruma_policy_find(S("default"));
    daruma_question asked[8];
    daruma_buf what = buf_in(a);
    size_t n = daruma_convo_ask(c, r, f, p, 4096, asked, 8);
    for (size_t i = 0; i < n && i < 8; i++) {
        check(asked[i].user.n || a->full);
        daruma_convo_answer(c, i, answer);
    }
    bool did = daruma_convo_mend(c, r, f, p, 4096, &what);
    *left_out = str_ends(buf_str(&what), S(" was left out"));
    return did;
}

/* The request as it is now, and a request it is. */
static daruma_str written(const dialect *d, const daruma_convo *c, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    convo again;
    daruma_convo_write(c, &b);
    daruma_str out = b.full || a->full ? (daruma_str){0} : buf_str(&b);
    check(!out.n || json_valid(out));
    check(!out.n || d->read(out, a, &again) == DARUMA_OK || a->full);
    return out;
}

static void goes_on(const dialect *d, daruma_str body, daruma_str answer, int how, daruma_arena *a)
{
    convo c;
    mend_report rep = {0};
    convo_part parts[] = {{.kind = PART_TEXT, .ready = true, .text = answer}};
    turn bad = {.message = {.role = CONVO_ASSISTANT, .parts = parts, .nparts = 1}};
    if (d->read(body, a, &c) != DARUMA_OK)
        return;
    if (how == 3 ? !mend_ask_again(&c, &bad, S("No."), &rep) : !mend_continue(&c, answer, (mend_going)how, &rep))
        return;
    daruma_buf b = buf_in(a);
    d->write(&c, &b);
    check(b.full || c.full || json_valid(buf_str(&b)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const dialect *const all[] = {&dialect_openai, &dialect_openai_responses, &dialect_anthropic,
                                         &dialect_gemini};
    static exact_pieces x;
    exact_end(&x);
    daruma_arena a = arena_over(room, sizeof room);
    daruma_str rest = {(const char *)data, size}, remedies = str_cut(&rest, '\n');
    daruma_str said = exact(&x, str_cut(&rest, '\n')), answer = exact(&x, str_cut(&rest, '\n')), body = exact(&x, rest);
    if (!remedies.n || !json_valid(body))
        return 0;
    int digit = remedies.p[0] & 3;
    const dialect *d = all[digit];
    daruma_convo *c;
    daruma_failure f = judged(said, &a);
    if (daruma_convo_read(str_of(d->name), body, &a, &c) != DARUMA_OK)
        return 0;
    for (size_t i = 1; i < remedies.n && i < 6; i++) {
        daruma_remedy_kind r = (daruma_remedy_kind)((unsigned char)(remedies.p[i] - 'a') % DARUMA_REMEDIES);
        bool left_out;
        if (!mended(c, r, &f, answer, &a, &left_out))
            continue;
        daruma_str once = written(d, c, &a);
        if (sets_right(r) && once.n)
            check(!mended(c, r, &f, answer, &a, &left_out) || left_out || str_eq(written(d, c, &a), once) || a.full);
    }
    daruma_str out = written(d, c, &a);
    for (int how = 0; how < 4 && out.n; how++)
        goes_on(d, out, answer, how, &a);
    return 0;
}
