/* late.c - where the time of a request went, in plain words for people who do not know this program. */
#include "engine/tell/words.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"

enum {
    NAME_BYTES_MAX = 80, /* of a provider's, model's or key's name */
    SHORT_MS = 100       /* nobody feels less */
};

/* "%" stands for the time, "@" for whose state or call it was, "^" for how many calls, "?" for what was wrong there,
 * "#" for what is usual. */
static const struct {
    const char *name, *words;
} spent_rows[DARUMA_SPENT] = {
    [DARUMA_SPENT_UPLOAD] = {"upload", "% until the client had sent all of its request"},
    [DARUMA_SPENT_WORK] = {"work", "% of daruma's own work on this large request"},
    [DARUMA_SPENT_KEY] = {"key", "% for the command that prints the key of @"},
    [DARUMA_SPENT_REST] = {"rest", "% of waiting for @, which rested because calls there had failed: ?"},
    [DARUMA_SPENT_RATE] = {"rate", "% of waiting for @, which had said that its rate limit was used up until then"},
    [DARUMA_SPENT_ROOM] =
        {"room", "% of waiting for a free place at @, which serves no more calls at once than were under way"},
    [DARUMA_SPENT_TURN] = {"turn", "% of waiting while another request found out whether @ is well again"},
    [DARUMA_SPENT_ADVISED] = {"advised", "% of waiting before the next try, for so long as @ asked: ?"},
    [DARUMA_SPENT_BACKOFF] = {"backoff", "% of waiting before the next try, since a call to @ had failed: ?"},
    [DARUMA_SPENT_FAILED] = {"failed", "% in ^ to @ that failed: ?"},
    [DARUMA_SPENT_ENDED] = {"ended", "% in ^ to @ until the time was over that the client or the configuration gives"},
    [DARUMA_SPENT_SILENT] = {"silent", "% in a call to @ that had not begun to answer#"},
    [DARUMA_SPENT_SUMMARY] = {"summary", "% for summarising the conversation, which was too long"},
    [DARUMA_SPENT_BEGIN] = {"begin", "@ took % to begin its answer#"},
    [DARUMA_SPENT_PAUSE] = {"pause", "@ paused for % within its answer#"},
    [DARUMA_SPENT_READER] = {"reader", "% of waiting for the client, which read the answer slowly"},
    [DARUMA_SPENT_ANSWER] = {"answer", "% for the answer itself"},
};

/* Nobody sees when the model began to write it. */
static const char begin_whole[] = "@ took % for its answer, which came in one piece and may just be long#";

const char *daruma_spent_name(daruma_spent_on on)
{
    return spent_rows[on].name;
}

static void put_name(daruma_buf *out, const char *before, daruma_str name, const char *behind)
{
    char room[WORDS_ROOM_BYTES];
    daruma_arena a = arena_over(room, sizeof room);
    if (name.n)
        BUF_SAY(out, before, words_clean(name, NAME_BYTES_MAX, &a), behind);
}

/* Whose state it is, by the names of the configuration: the provider's own, its account's, its key's, or the model's.
 */
static void put_place(daruma_buf *out, const daruma_spent *s)
{
    const daruma_target *t = s->target;
    if (!t) {
        BUF_LIT(out, "the provider");
        return;
    }
    if (s->who == DARUMA_SICK_KEY)
        put_name(out, "the key ", t->key, " of ");
    if (s->who == DARUMA_SICK_ACCOUNT)
        put_name(out, "the account ", t->account.n ? t->account : t->key, " of ");
    put_name(out, "", t->provider, "");
    if (s->who == DARUMA_SICK_KEY || s->who == DARUMA_SICK_ACCOUNT || s->who == DARUMA_SICK_PROVIDER)
        return;
    put_name(out, "/", t->model, "");
    if (s->who != DARUMA_SICK_MODEL)
        put_name(out, " (", t->key, ")");
}

static void put_usual(daruma_buf *out, const daruma_spent *s)
{
    const char *what = s->on == DARUMA_SPENT_PAUSE ? "its longest pause" : "it";
    if (s->usual < 0) {
        BUF_SAY(out, "; how long ", what, " usually takes is not known yet");
        return;
    }
    BUF_SAY(out, "; ", what, " usually takes ");
    if (s->usual < SHORT_MS)
        BUF_LIT(out, "less than 0.1 s");
    else
        buf_duration(out, s->usual);
}

void daruma_spent_say(const daruma_spent *s, daruma_buf *out)
{
    const char *p = s->on == DARUMA_SPENT_BEGIN && s->whole ? begin_whole : spent_rows[s->on].words;
    for (; *p; p++)
        if (*p == '%')
            buf_duration(out, s->ms);
        else if (*p == '@')
            put_place(out, s);
        else if (*p == '?')
            buf_putz(out, daruma_kind_words(s->kind));
        else if (*p == '#')
            put_usual(out, s);
        else if (*p == '^' && s->times > 1)
            buf_printf(out, "%u calls", s->times);
        else if (*p == '^')
            BUF_LIT(out, "a call");
        else
            buf_putc(out, *p);
    if (s->times > 1 && s->on != DARUMA_SPENT_FAILED)
        buf_printf(out, " (%u times)", s->times);
}
