/* mask.c - old tool output without its middle. No model is asked: head and tail stay, and what was named between.
 *
 *     first 400 bytes
 *     [daruma left out 14203 of 14803 bytes of this tool output]
 *     kept: ORD-7731, /srv/app/main.c, order_id=4711
 *     error: build failed: no space left on device
 *     [end of what was left out]
 *     last 200 bytes
 *
 * Where that is not enough, it is done again with less of head and tail; what was kept stays. The same text becomes the
 * same bytes each time, so that providers' caches of prompts hold. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "engine/mend/shorten/shorten.h"
#include "engine/mend/shorten/salient.h"
#include "base/utf8.h"

#define MARK      "[daruma left out "
#define MARK_TAIL " bytes of this tool output]\n"
#define MARK_END  "[end of what was left out]\n"
#define WORD_MAX  120 /* a cut moves so far to spare a word */
#define SAVES_MIN 64  /* bytes; for less nobody's text is cut */

static mend_mask_rules filled(const mend_mask_rules *rules)
{
    mend_mask_rules r = rules ? *rules : (mend_mask_rules){0};
    r.over_bytes = r.over_bytes ? r.over_bytes : MASK_OVER_BYTES;
    r.head_bytes = r.head_bytes ? r.head_bytes : MASK_HEAD_BYTES;
    r.tail_bytes = r.tail_bytes ? r.tail_bytes : MASK_TAIL_BYTES;
    r.keep_newest = r.keep_newest ? r.keep_newest : MASK_KEEP_NEWEST;
    return r;
}

static bool is_masked(daruma_str text)
{
    return text.n <= MASKED_BYTES_MAX && str_find(text, S(MARK)) != STR_NONE;
}

daruma_str mend_mask_kept(daruma_str text)
{
    size_t mark = is_masked(text) ? str_find(text, S(MARK_TAIL)) : STR_NONE;
    if (mark == STR_NONE)
        return (daruma_str){0};
    daruma_str kept = str_from(text, mark + sizeof MARK_TAIL - 1);
    size_t end = str_find(kept, S(MARK_END));
    return end == STR_NONE ? (daruma_str){0} : str_sub(kept, 0, end);
}

/* A word that a cut goes through would be lost on both sides: both cuts leave it to the middle. */
static size_t head_end(daruma_str t, size_t at)
{
    at = utf8_floor(t, at);
    for (size_t i = at; i > 0 && at - i < WORD_MAX; i--)
        if (ch_space(t.p[i - 1]))
            return i;
    return at;
}

static size_t tail_begin(daruma_str t, size_t at)
{
    at = utf8_floor(t, at);
    for (size_t i = at; i < t.n && i - at < WORD_MAX; i++)
        if (ch_space(t.p[i]))
            return i;
    return at;
}

/* Head, what was kept of the middle, tail; empty when it would not be smaller than the text was. */
static daruma_str put_mask(daruma_str head, daruma_str kept, daruma_str tail, uint64_t all, size_t was, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    if (!buf_room(&b, head.n + kept.n + tail.n + 160))
        return (daruma_str){0};
    buf_put(&b, head);
    if (!head.n || head.p[head.n - 1] != '\n')
        buf_putc(&b, '\n');
    BUF_SAY(&b, MARK, (int64_t)(all - head.n - tail.n), " of ", (int64_t)all, MARK_TAIL, kept, MARK_END,
            str_from(tail, tail.n && tail.p[0] == '\n'));
    if (b.full || b.n + SAVES_MIN > was)
        return (daruma_str){0};
    return buf_done(&b);
}

/* A masked text once more: less of its head and tail, the same kept between. */
static daruma_str masked_again(daruma_str t, const mend_mask_rules *r, daruma_arena *a)
{
    size_t mark = str_find(t, S(MARK)), end = str_find(t, S(MARK_END));
    if (mark == STR_NONE || end == STR_NONE || end < mark)
        return (daruma_str){0};
    daruma_str line = str_sub(t, mark, end - mark), head = str_sub(t, 0, mark);
    daruma_str tail = str_from(t, end + sizeof MARK_END - 1);
    size_t of = str_find(line, S(" of ")), close = str_find(line, S(MARK_TAIL));
    int64_t all;
    if (of == STR_NONE || close == STR_NONE || close < of || !str_scan_int(str_from(line, of + 4), &all) ||
        all < (int64_t)(head.n + tail.n))
        return (daruma_str){0};
    daruma_str kept = str_from(line, close + sizeof MARK_TAIL - 1);
    if (head.n > r->head_bytes)
        head = str_sub(head, 0, head_end(head, r->head_bytes));
    if (tail.n > r->tail_bytes)
        tail = str_from(tail, tail_begin(tail, tail.n - r->tail_bytes));
    return put_mask(head, kept, tail, (uint64_t)all, t.n, a);
}

/* Its masked form; empty when it would not be smaller. */
static daruma_str masked(daruma_str t, const mend_mask_rules *r, salient *s, daruma_arena *a)
{
    char kept[MASK_KEPT_BYTES_MAX];
    if (t.n <= r->over_bytes || r->head_bytes >= t.n || r->tail_bytes >= t.n - r->head_bytes)
        return (daruma_str){0};
    if (is_masked(t))
        return r->again ? masked_again(t, r, a) : (daruma_str){0};
    size_t head = head_end(t, r->head_bytes), tail = tail_begin(t, t.n - r->tail_bytes);
    if (tail < head + SAVES_MIN)
        return (daruma_str){0};
    daruma_str middle = str_sub(t, head, tail - head);
    size_t room = middle.n / 8;
    room = room < MASK_KEPT_BYTES_MIN ? MASK_KEPT_BYTES_MIN : room > sizeof kept ? sizeof kept : room;
    size_t n = salient_pick(s, middle, kept, room);
    return put_mask(str_sub(t, 0, head), (daruma_str){kept, n}, str_from(t, tail), t.n, t.n, a);
}

daruma_str mend_masked(daruma_str text, const mend_mask_rules *rules, daruma_arena *a)
{
    mend_mask_rules r = filled(rules);
    salient *s = text.n > r.over_bytes ? salient_new(a) : NULL;
    return s ? masked(text, &r, s, a) : (daruma_str){0};
}

/* ---- a whole conversation ---- */

typedef struct place {
    size_t message, part;
    size_t bytes; /* of its text, at most */
    size_t images;
    bool failed, done;
} place;

typedef struct masking {
    convo *c;
    mend_mask_rules rules;
    salient *s;
    place *list;            /* results that may be touched, oldest first */
    size_t n, old;          /* the first `old` of them are not among the newest */
    int64_t tokens, target; /* the estimate as it goes down */
    bool weighed;           /* it is that of the whole, not counted down */
    uint32_t images;
    mend_report rep;
} masking;

static size_t count_images(const convo_part *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->nparts; i++)
        n += p->parts[i].kind == PART_MEDIA && !p->parts[i].dropped;
    return n;
}

static bool touchable(const convo_part *p)
{
    if (p->kind != PART_RESULT || p->dropped || p->sealed || p->remote)
        return false;
    for (size_t i = 0; i < p->nparts; i++) /* what we cannot read has to stay, and the list around it */
        if (p->parts[i].remote || p->parts[i].kind == PART_OTHER)
            return false;
    return true;
}

/* How many results there are before the newest ones. */
static size_t first_newest(const masking *k)
{
    const convo *c = k->c;
    size_t before = 0, kept = 0;
    int64_t tokens = 0;
    bool answered = false, full = false;
    for (size_t i = c->nmessages; i--;) {
        const convo_message *m = &c->messages[i];
        answered |= m->role == CONVO_ASSISTANT && !m->dropped;
        for (size_t j = m->dropped ? 0 : m->nparts; j--;) {
            const convo_part *p = &m->parts[j];
            if (p->kind != PART_RESULT || p->dropped)
                continue;
            tokens += text_tokens(p->ready ? p->text : p->raw);
            full |= answered &&
                    (kept >= k->rules.keep_newest || (k->rules.keep_tokens > 0 && tokens > k->rules.keep_tokens));
            before += full;
            kept += !full;
        }
    }
    return before;
}

static bool collect(masking *k)
{
    convo *c = k->c;
    size_t all = 0;
    for (size_t i = 0; i < c->nmessages; i++)
        for (size_t j = 0; j < c->messages[i].nparts; j++)
            all += c->messages[i].parts[j].kind == PART_RESULT;
    if (!all)
        return false;
    k->list = ARENA_NEW(c->arena, place, all);
    if (!k->list) {
        c->full = true;
        return false;
    }
    size_t newest = first_newest(k), results = 0;
    for (size_t i = 0; i < c->nmessages; i++)
        for (size_t j = 0; !c->messages[i].dropped && j < c->messages[i].nparts; j++) {
            convo_part *p = &c->messages[i].parts[j];
            if (p->kind != PART_RESULT || p->dropped)
                continue;
            bool old = results++ < newest;
            if (!touchable(p))
                continue;
            size_t bytes = p->ready ? p->text.n : p->raw.n; /* decoded when its turn comes */
            size_t images = count_images(p);
            if (bytes <= k->rules.over_bytes && !images)
                continue;
            k->old += old;
            k->list[k->n++] = (place){.message = i, .part = j, .bytes = bytes, .images = images, .failed = p->failed};
        }
    return !c->full;
}

/* Is the target met? What was saved is counted as it goes; the whole is weighed again before it is believed. */
static bool met(masking *k)
{
    if (k->tokens > k->target)
        return false;
    k->tokens = k->weighed ? k->tokens : convo_tokens(k->c);
    k->weighed = true;
    return k->tokens <= k->target;
}

static void replace(masking *k, place *at, daruma_str text)
{
    convo_message *m = &k->c->messages[at->message];
    convo_part *p = &m->parts[at->part];
    daruma_str old = convo_text(k->c, p);
    int64_t was = at->images ? convo_message_tokens(m) : text_tokens(old);
    convo_set_text(k->c, m, p, text);
    k->tokens -= was - (at->images ? convo_message_tokens(m) : text_tokens(text));
    k->weighed = false;
    k->rep.bytes_before += old.n;
    k->rep.bytes_after += text.n;
    k->rep.parts_shortened++;
    at->bytes = text.n;
    at->images = 0;
}

static void drop_images(masking *k, place *at)
{
    convo_part *p = &k->c->messages[at->message].parts[at->part];
    daruma_str text = convo_text(k->c, p);
    daruma_buf b = buf_in(k->c->arena);
    buf_put(&b, text);
    if (text.n)
        buf_putc(&b, '\n');
    buf_printf(&b, "[daruma: %zu image%s of this tool output left out]", at->images, at->images == 1 ? "" : "s");
    if (b.full) {
        k->c->full = true;
        return;
    }
    k->images += (uint32_t)at->images;
    replace(k, at, buf_done(&b));
}

static void shorten(masking *k, place *at, const mend_mask_rules *rules)
{
    if (at->done || k->c->full)
        return;
    at->done = true;
    daruma_str text = convo_text(k->c, &k->c->messages[at->message].parts[at->part]);
    daruma_str less = masked(text, rules, k->s, k->c->arena);
    k->c->full |= k->c->arena->full;
    if (less.n && !k->c->full)
        replace(k, at, less);
}

/* Of what the model is working with as much stays as has room: two thirds of it at the beginning, the rest at the end.
 */
static mend_mask_rules only_what_must(masking *k, const place *at)
{
    mend_mask_rules r = k->rules;
    daruma_str text = convo_text(k->c, &k->c->messages[at->message].parts[at->part]);
    int64_t all = text_tokens(text), stays = all - (k->tokens - k->target) - MASK_WORDS_TOKENS;
    if (all <= 0 || stays <= 0)
        return r;
    size_t bytes = (size_t)((double)text.n * (double)stays / (double)all);
    if (bytes > r.head_bytes + r.tail_bytes) {
        r.head_bytes = bytes / 3 * 2;
        r.tail_bytes = bytes / 3;
    }
    return r;
}

static place *largest(masking *k, size_t from)
{
    place *best = NULL;
    for (size_t i = from; i < k->n; i++)
        if (!k->list[i].done && (!best || k->list[i].bytes > best->bytes))
            best = &k->list[i];
    return best;
}

/* Old images, old output, long error reports, and only then what the model is working with. */
static void run(masking *k)
{
    for (size_t i = 0; i < k->old && !met(k); i++)
        if (k->list[i].images)
            drop_images(k, &k->list[i]);
    for (size_t i = 0; i < k->old && !met(k); i++)
        if (!k->list[i].failed)
            shorten(k, &k->list[i], &k->rules);
    for (size_t i = 0; i < k->old && !met(k); i++)
        if (k->list[i].failed && (k->rules.again || k->list[i].bytes > MASK_FAILED_OVER_BYTES))
            shorten(k, &k->list[i], &k->rules);
    for (place *at; !k->rules.old_only && !k->c->full && !met(k) && (at = largest(k, k->old));) {
        if (at->images || (at->failed && at->bytes <= MASK_FAILED_OVER_BYTES))
            at->done = true; /* what a picture of now shows, the model is looking at */
        mend_mask_rules enough = only_what_must(k, at);
        shorten(k, at, &enough);
    }
}

mend_report mend_mask(convo *c, int64_t tokens, const mend_mask_rules *rules)
{
    masking k = {.c = c, .rules = filled(rules), .target = tokens};
    k.tokens = convo_tokens(c);
    k.rep.tokens_before = k.rep.tokens_after = k.tokens;
    k.weighed = true;
    if (k.tokens <= tokens || !collect(&k))
        return k.rep;
    k.s = salient_new(c->arena);
    if (!k.s) {
        c->full = true;
        return k.rep;
    }
    run(&k);
    k.rep.tokens_after = k.weighed ? k.tokens : convo_tokens(c);
    if (k.rep.parts_shortened)
        mend_say(&k.rep, "shortened %u tool output%s from %zu to %zu bytes", (unsigned)k.rep.parts_shortened,
                 k.rep.parts_shortened == 1 ? "" : "s", k.rep.bytes_before, k.rep.bytes_after);
    mend_count(&k.rep, k.images, "image was left out", "images were left out");
    return k.rep;
}
