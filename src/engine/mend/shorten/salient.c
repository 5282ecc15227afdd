/* salient.c - picks out of a long text the words that a model will want to have again: ids, paths, addresses, hashes,
 * numbers with units, lines that tell of errors. One pass over the text.
 *
 *     words that are salient by their make ---> counted by shape ---> the rare ones first, until the room is full
 *
 * What is said in a hundred shapes alike is a listing; what has a shape of its own is what somebody will ask for. Two
 * shapes are counted, "row-0" with its letters and "a-0" without, so that an order number stands out among rows, and
 * also among paths that all differ in their letters. */
#include "base/arena.h"
#include "base/limits.h"
#include "base/str.h"
#include "engine/mend/shorten/salient.h"
#include "engine/mend/shorten/salient_words.h"
#include "engine/mend/shorten/words.h"

#define SLOTS       4096 /* shapes that are told apart in one text */
#define PROBES      8    /* places looked at for one shape; then it counts as new */
#define COMMON      8    /* a shape seen so often has given its candidates */
#define ERRORS_MAX  4    /* error lines of one text */
#define ERROR_BYTES 160  /* of one */
#define RANKS       32
#define KEY_GAP     8 /* bytes between a name and its value: `": "`, escaped once more */

typedef struct candidate {
    uint32_t from, n;         /* in the text */
    uint32_t key, nkey;       /* its name, where it has one */
    uint16_t literal, shaped; /* slots of its shapes */
    uint8_t score;
    bool named; /* has letters, or a name */
    bool chosen;
} candidate;

struct salient {
    uint8_t kinds[256];
    uint32_t seen[SLOTS], literal[SLOTS], shaped[SLOTS]; /* hashes; 0 is free */
    uint16_t nliteral[SLOTS], nshaped[SLOTS];
    size_t mask; /* of the slots used for this text */
    candidate list[MASK_TOKENS_MAX];
    size_t n;
    struct {
        uint32_t from, n, hash;
    } errors[ERRORS_MAX];
    size_t nerrors;
    daruma_str text;
    word_bits bits; /* of the 64 bytes from `block` on */
    size_t block;
    size_t errors_end; /* up to there the lines of errors are known */
};

salient *salient_new(daruma_arena *a)
{
    salient *s = ARENA_NEW(a, salient, 1);
    if (!s)
        return NULL;
    for (int c = 0; c < 256; c++)
        s->kinds[c] = word_kind((unsigned char)c);
    return s;
}

/* ---- shapes ---- */

static uint32_t mix(uint32_t h, uint32_t v)
{
    return (h ^ v) * 0x9e3779b1u;
}

/* Slot of a hash, which is made when there is room; SLOTS: none. */
static size_t slot_of(const salient *s, uint32_t *table, uint32_t hash, bool *fresh)
{
    hash |= 1;
    for (size_t i = 0, at = hash >> 16; i < PROBES; i++, at++) {
        size_t k = at & s->mask;
        *fresh = table[k] == 0;
        if (*fresh)
            table[k] = hash;
        if (table[k] == hash)
            return k;
    }
    *fresh = true;
    return SLOTS;
}

typedef struct shapes {
    uint32_t exact, literal, shaped;
    int runs;       /* of letters, digits or both */
    size_t longest; /* bytes of the longest */
} shapes;

static shapes shape_of(const salient *s, daruma_str w)
{
    shapes r = {.exact = 17, .literal = 17, .shaped = 17};
    for (size_t i = 0; i < w.n;) {
        uint8_t k = s->kinds[(unsigned char)w.p[i]];
        if (k & (MARK | SLASH | AT)) {
            uint32_t c = (unsigned char)w.p[i++];
            r.exact = mix(r.exact, c);
            r.literal = mix(r.literal, c);
            r.shaped = mix(r.shaped, c);
            continue;
        }
        size_t from = i;
        uint8_t kinds = 0;
        uint32_t run = 17;
        for (; i < w.n && (k = s->kinds[(unsigned char)w.p[i]]) & (LETTER | DIGIT | INNER); i++) {
            kinds |= k;
            run = mix(run, (unsigned char)w.p[i]);
        }
        size_t n = i - from;
        uint32_t kind = !(kinds & DIGIT) ? 'a' : kinds & LETTER ? 'x' : '0';
        if (kind == 'x') /* hashes and counters differ in length */
            kind += n <= 4 ? 0 : n <= 8 ? 256 : n <= 16 ? 512 : n <= 32 ? 768 : 1024;
        if (kind == '0' && n > 4)
            kind += (uint32_t)n << 8;
        r.exact = mix(r.exact, run);
        r.literal = mix(r.literal, kind == 'a' ? run : kind);
        r.shaped = mix(r.shaped, kind);
        r.longest = n > r.longest ? n : r.longest;
        r.runs++;
    }
    return r;
}

/* ---- candidates ---- */

static void add(salient *s, size_t from, size_t n, size_t key, size_t nkey, uint8_t score, bool named, const shapes *h)
{
    bool fresh;
    slot_of(s, s->seen, h->exact, &fresh);
    if (!fresh)
        return;
    size_t literal = slot_of(s, s->literal, h->literal, &fresh), shaped = slot_of(s, s->shaped, h->shaped, &fresh);
    uint16_t *nl = literal < SLOTS ? &s->nliteral[literal] : NULL, *ns = shaped < SLOTS ? &s->nshaped[shaped] : NULL;
    if (nl && *nl < UINT16_MAX)
        ++*nl;
    if (ns && *ns < UINT16_MAX)
        ++*ns;
    if ((nl && *nl > COMMON) || s->n == MASK_TOKENS_MAX)
        return;
    s->list[s->n++] = (candidate){.from = (uint32_t)from,
                                  .n = (uint32_t)n,
                                  .key = (uint32_t)key,
                                  .nkey = (uint32_t)nkey,
                                  .literal = (uint16_t)literal,
                                  .shaped = (uint16_t)shaped,
                                  .score = score,
                                  .named = named};
}

static daruma_str tidy(const salient *s, daruma_str w) /* without the dots and colons of the sentence around it */
{
    while (w.n && s->kinds[(unsigned char)w.p[w.n - 1]] & EDGE)
        w.n--;
    while (w.n && s->kinds[(unsigned char)w.p[0]] & EDGE && !(w.n > 1 && w.p[0] == '.' && w.p[1] == '/'))
        w = str_from(w, 1);
    return w;
}

/* ---- errors ---- */

/* The line around text[at], once for all lines that differ in numbers only. Returns where it ends. */
static size_t add_error(salient *s, size_t at)
{
    size_t from = at, to = at;
    while (from > 0 && at - from < ERROR_BYTES / 2 && s->text.p[from - 1] != '\n')
        from--;
    while (to < s->text.n && to - from < ERROR_BYTES && s->text.p[to] != '\n' && s->text.p[to] != '\r')
        to++;
    while (from < at && s->kinds[(unsigned char)s->text.p[from]] == INNER)
        from++;
    while (to > at && to < s->text.n && s->kinds[(unsigned char)s->text.p[to]] == INNER)
        to--;
    uint32_t hash = 17;
    for (size_t i = from; i < to; i++)
        if (!ch_digit(s->text.p[i]))
            hash = mix(hash, (unsigned char)s->text.p[i]);
    for (size_t i = 0; i < s->nerrors; i++)
        if (s->errors[i].hash == hash)
            return to;
    if (s->nerrors < ERRORS_MAX) {
        s->errors[s->nerrors].from = (uint32_t)from;
        s->errors[s->nerrors].n = (uint32_t)(to - from);
        s->errors[s->nerrors++].hash = hash;
    }
    return to;
}

/* ---- the pass ---- */

/* Where the value behind a name begins: `": "`. 0: it is no name. */
static size_t gap_behind(daruma_str t, size_t at)
{
    bool colon = false;
    for (size_t to = at + KEY_GAP; at < t.n && at < to; at++) {
        char c = t.p[at];
        if (c == ':' || c == '=')
            colon = true;
        else if (c != ' ' && c != '"' && c != '\'' && c != '\\')
            break;
    }
    return colon ? at : 0;
}

/* `"order_id": 4711`: the value behind a name, as far as it is one. Returns where it ends, 0 when there is none. */
static size_t add_keyed(salient *s, daruma_str key, size_t at)
{
    size_t end = at;
    uint8_t kinds = 0, k;
    while (end < s->text.n && (k = s->kinds[(unsigned char)s->text.p[end]]) && end - at <= MASK_TOKEN_BYTES_MAX) {
        kinds |= k;
        end++;
    }
    daruma_str v = tidy(s, str_sub(s->text, at, end - at));
    bool id = key.n >= 2 && str_ieq(str_from(key, key.n - 2), S("id"));
    if (!v.n || v.n > MASK_TOKEN_BYTES_MAX || !(kinds & DIGIT || id) || v.p[0] == '-')
        return 0;
    if (s->kinds[(unsigned char)v.p[0]] == INNER)
        return 0;
    shapes h = shape_of(s, v), name = shape_of(s, key);
    h.literal = mix(h.literal, name.exact);
    h.shaped = mix(h.shaped, name.exact);
    h.exact = mix(h.exact, name.exact);
    add(s, (size_t)(v.p - s->text.p), v.n, (size_t)(key.p - s->text.p), key.n, 4, true, &h);
    return end;
}

/* JSON within JSON has "\\n" between its words: bytes up to there. A path of Windows stays whole. */
static size_t unescaped(daruma_str w)
{
    size_t back = str_findch(w, '\\');
    return back == STR_NONE || (back == 2 && w.p[1] == ':') ? w.n : back;
}

/* The bits of the 64 bytes from `block` on. Behind the text nothing belongs to a word. */
static inline word_bits bits_at(salient *s, size_t block)
{
    if (block != s->block) {
        char last[64] = {0};
        bool whole = s->text.n - block >= 64;
        if (!whole)
            memcpy(last, s->text.p + block, s->text.n - block);
        s->bits = word_bits_of(whole ? s->text.p + block : last);
        s->block = block;
    }
    return s->bits;
}

/* Where the word that goes on at `at` ends. */
static size_t word_end(salient *s, size_t at)
{
    while (at < s->text.n) {
        uint64_t gap = ~bits_at(s, at & ~(size_t)63).any >> (at & 63);
        if (gap)
            return at + (size_t)__builtin_ctzll(gap);
        at = (at | 63) + 1;
    }
    return s->text.n;
}

/* Where the word that ends at `end` begins, not before `at`. It begins with no byte from within a character. */
static size_t word_begin(const salient *s, size_t at, size_t end)
{
    size_t from = end;
    while (from > at && s->kinds[(unsigned char)s->text.p[from - 1]])
        from--;
    while (from < end && s->kinds[(unsigned char)s->text.p[from]] == INNER)
        from++;
    return from;
}

/* The same of the word that the byte at `odd` belongs to, in the block whose bits were looked at last. */
static size_t odd_begin(const salient *s, size_t at, size_t odd)
{
    size_t block = s->block;
    uint64_t gap = ~s->bits.any & (((uint64_t)1 << (odd - block)) - 1);
    size_t from = gap ? block + 64 - (size_t)__builtin_clzll(gap) : block > at ? word_begin(s, at, block) : at;
    from = from > at ? from : at;
    while (s->kinds[(unsigned char)s->text.p[from]] == INNER)
        from++;
    return from;
}

static bool is_length(size_t n)
{
    return n >= 2 && n <= MASK_TOKEN_BYTES_MAX;
}

/* Does the word that ends at `end` tell of an error? */
static inline void look_at_end(salient *s, size_t at, size_t end)
{
    if (end < 4 || !salient_error_end(s->text.p + end - 4))
        return;
    size_t from = word_begin(s, at, end);
    if (is_length(end - from) && from >= s->errors_end && salient_error(str_sub(s->text, from, end - from)))
        s->errors_end = add_error(s, from);
}

/* Goes over the words from `at` on that are nothing but letters, to the first byte of a word that is more; STR_NONE:
 * there is none. */
static size_t pass_plain(salient *s, size_t at)
{
    uint64_t before = 0; /* the last byte of the block before belongs to a word */
    for (size_t block = at & ~(size_t)63; block < s->text.n; block += 64) {
        word_bits b = bits_at(s, block);
        uint64_t ends = ~b.any & (b.any << 1 | before), odd = b.odd;
        if (block < at) {
            uint64_t behind = ~(uint64_t)0 << (at - block);
            odd &= behind;
            ends &= behind << 1;
        }
        if (odd)
            ends &= (odd & -odd) - 1;
        for (; ends; ends &= ends - 1)
            look_at_end(s, at, block + (size_t)__builtin_ctzll(ends));
        if (odd)
            return block + (size_t)__builtin_ctzll(odd);
        before = b.any >> 63;
    }
    if (s->text.n > at && before)
        look_at_end(s, at, s->text.n);
    return STR_NONE;
}

/* The value behind the word w, if that is the name of one. Returns where it ends; `at` when there is none. */
static size_t take_value(salient *s, daruma_str w, size_t at)
{
    size_t value = gap_behind(s->text, (size_t)(w.p - s->text.p) + w.n), end;
    return value && salient_names(w) && (end = add_keyed(s, w, value)) > at ? end : at;
}

/* `"order_id": 4711`: the colon at `colon`, or what else may stand between, is a word of its own; the name before it is
 * one of letters. Returns where the value ends, 0 when there is none. */
static size_t take_named(salient *s, size_t at, size_t colon)
{
    const char *p = s->text.p;
    size_t end = colon;
    if (p[colon] != ':' && p[colon] != '=' && p[colon] != '\\')
        return 0;
    while (end > at && colon - end < KEY_GAP && (p[end - 1] == ' ' || p[end - 1] == '"' || p[end - 1] == '\''))
        end--;
    size_t from = end < colon ? word_begin(s, at, end) : end;
    return is_length(end - from) ? take_value(s, str_sub(s->text, from, end - from), 0) : 0;
}

static void take_odd(salient *s, daruma_str w, uint8_t all)
{
    if (w.n < 3 && !(all & MARK))
        return;
    size_t from = (size_t)(w.p - s->text.p), unit = all & LETTER ? 0 : salient_unit(s->text, from + w.n);
    if (all == DIGIT && w.n < 5 && !unit)
        return;
    shapes h = shape_of(s, w);
    uint8_t score = salient_score(w, all, h.runs, h.longest);
    if (unit || score)
        add(s, from, w.n + unit, 0, 0, unit ? 4 : score, (all & LETTER) != 0, &h);
}

/* The kinds of the bytes of a word; without its jumps where it lies in one block, as most do. */
static uint8_t kinds_of(const salient *s, size_t from, size_t end)
{
    uint8_t all = 0;
    if (from >= s->block && end - s->block <= 64 && end > from) {
        uint64_t m = ~(uint64_t)0 >> (64 - (end - from)) << (from - s->block);
        const word_bits *b = &s->bits;
        all |= b->letter & m ? LETTER : 0;
        all |= b->digit & m ? DIGIT : 0;
        all |= b->slash & m ? SLASH : 0;
        all |= b->at & m ? AT : 0;
        all |= b->odd & ~(b->digit | b->slash | b->at) & m ? MARK : 0;
        all |= b->any & ~(b->odd | b->letter) & m ? INNER : 0;
        return all;
    }
    for (size_t i = from; i < end; i++)
        all |= s->kinds[(unsigned char)s->text.p[i]];
    return all & (uint8_t)~EDGE;
}

/* The word in text[from..end), which is more than letters. Returns where to go on. */
static size_t take_word(salient *s, size_t from, size_t end)
{
    const daruma_str t = s->text;
    uint8_t all = kinds_of(s, from, end);
    if (all & SLASH && (end = from + unescaped(str_sub(t, from, end - from))) == from)
        return from + 2; /* an escape */
    bool plain = !(all & (DIGIT | SLASH | AT));
    if (end - from > MASK_TOKEN_BYTES_MAX || (plain && end - from < 2))
        return end;
    daruma_str w = str_sub(t, from, end - from);
    if (all & MARK)
        w = tidy(s, w);
    if (!w.n)
        return end;
    if (!plain) {
        take_odd(s, w, all);
        return end;
    }
    if (from >= s->errors_end && salient_error(w))
        s->errors_end = add_error(s, from);
    return take_value(s, w, end);
}

static void salient_scan(salient *s)
{
    size_t at = 0, odd;
    s->block = STR_NONE;
    s->errors_end = 0;
    while (at < s->text.n && (odd = pass_plain(s, at)) != STR_NONE) {
        size_t from = odd_begin(s, at, odd), end = word_end(s, odd), value = take_named(s, at, from);
        at = value ? value : take_word(s, from, end);
    }
}

/* ---- the choice ---- */

static int log2_of(unsigned n)
{
    int r = 0;
    while (n >>= 1)
        r++;
    return r;
}

static int rank_of(const salient *s, const candidate *c)
{
    int often = (c->literal < SLOTS ? log2_of(s->nliteral[c->literal]) : 0) +
                (c->shaped < SLOTS ? log2_of(s->nshaped[c->shaped]) : 0);
    int rank = c->score * 5 - often;
    return rank < 0 ? 0 : rank >= RANKS ? RANKS - 1 : rank;
}

/* Dates and counts of a log: one more of them tells nothing. */
static bool is_filler(const salient *s, const candidate *c)
{
    return !c->named && c->literal < SLOTS && s->nliteral[c->literal] > COMMON;
}

static void choose(salient *s, size_t room)
{
    uint16_t first[RANKS], next[MASK_TOKENS_MAX];
    for (int r = 0; r < RANKS; r++)
        first[r] = UINT16_MAX;
    for (size_t i = s->n; i--;) {
        int r = rank_of(s, &s->list[i]);
        next[i] = first[r];
        first[r] = (uint16_t)i;
    }
    for (int r = RANKS - 1; r >= 0; r--)
        for (size_t i = first[r]; i != UINT16_MAX; i = next[i]) {
            size_t need = s->list[i].n + s->list[i].nkey + (s->list[i].nkey ? 1 : 0) + 2;
            s->list[i].chosen = need <= room && !is_filler(s, &s->list[i]);
            room -= s->list[i].chosen ? need : 0;
        }
}

static void salient_put(char *out, size_t *n, const char *p, size_t len)
{
    memcpy(out + *n, p, len);
    *n += len;
}

size_t salient_pick(salient *s, daruma_str text, char *out, size_t room)
{
    size_t slots = 64, n = 0, errors = 0;
    if (text.n > UINT32_MAX)
        text.n = UINT32_MAX;
    while (slots < SLOTS && slots < text.n / 8)
        slots *= 2;
    memset(s->seen, 0, slots * sizeof *s->seen);
    memset(s->literal, 0, slots * sizeof *s->literal);
    memset(s->shaped, 0, slots * sizeof *s->shaped);
    memset(s->nliteral, 0, slots * sizeof *s->nliteral);
    memset(s->nshaped, 0, slots * sizeof *s->nshaped);
    s->mask = slots - 1;
    s->n = s->nerrors = 0;
    s->text = text;
    salient_scan(s);
    for (size_t i = 0; i < s->nerrors; i++) { /* half of the room is theirs at most, but one fits */
        size_t need = s->errors[i].n + sizeof "error: ";
        if (errors + need > room / 2 && !(i == 0 && need <= room))
            s->errors[i].n = 0;
        else
            errors += need;
    }
    size_t words = sizeof "kept: ";
    if (room - errors > words)
        choose(s, room - errors - words);
    for (size_t i = 0; i < s->n; i++) {
        const candidate *c = &s->list[i];
        if (!c->chosen)
            continue;
        salient_put(out, &n, n ? ", " : "kept: ", n ? 2 : sizeof "kept: " - 1);
        if (c->nkey) {
            salient_put(out, &n, text.p + c->key, c->nkey);
            out[n++] = '=';
        }
        salient_put(out, &n, text.p + c->from, c->n);
    }
    if (n)
        out[n++] = '\n';
    for (size_t i = 0; i < s->nerrors; i++)
        if (s->errors[i].n) {
            salient_put(out, &n, "error: ", sizeof "error: " - 1);
            salient_put(out, &n, text.p + s->errors[i].from, s->errors[i].n);
            out[n++] = '\n';
        }
    return n;
}
