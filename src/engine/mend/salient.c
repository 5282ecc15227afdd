/* salient.c - picks out of a long text the words that a model will want to have again: ids, paths, addresses, hashes,
 * numbers with units, lines that tell of errors. One pass over the text.
 *
 *     words that are salient by their make ---> counted by shape ---> the rare ones first, until the room is full
 *
 * What is said in a hundred shapes alike is a listing; what has a shape of its own is what somebody will ask for. Two
 * shapes are counted, "row-0" with its letters and "a-0" without, so that an order number stands out among rows, and
 * also among paths that all differ in their letters. */
#include "engine/mend/salient.h"
#include "base/arena.h"
#include "base/limits.h"
#include "base/str.h"

#define SLOTS       4096 /* shapes that are told apart in one text */
#define PROBES      8    /* places looked at for one shape; then it counts as new */
#define COMMON      8    /* a shape seen so often has given its candidates */
#define ERRORS_MAX  4    /* error lines of one text */
#define ERROR_BYTES 160  /* of one */
#define RANKS       32
#define KEY_GAP     8 /* bytes between a name and its value: `": "`, escaped once more */

/* Kinds of bytes in a word; 0 stands between words. */
enum { LETTER = 1, DIGIT = 2, MARK = 4, SLASH = 8, AT = 16, INNER = 32, EDGE = 64 /* a MARK, not at the ends */ };

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
};

salient *salient_new(daruma_arena *a)
{
    salient *s = ARENA_NEW(a, salient, 1);
    if (!s)
        return NULL;
    for (int c = 0; c < 256; c++)
        s->kinds[c] = ch_digit((char)c)             ? DIGIT
                      : ch_alpha((char)c)           ? LETTER
                      : c >= 0xc2 && c < 0xe0       ? LETTER /* two bytes: letters with accents, Cyrillic, ... */
                      : c >= 0x80 && c < 0xc0       ? INNER
                      : c == '/' || c == '\\'       ? SLASH
                      : c == '@'                    ? AT
                      : c && memchr(".:?=&+", c, 6) ? MARK | EDGE
                      : c && memchr("-_#%~$", c, 6) ? MARK
                                                    : 0;
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
    int runs;       /* of letters, digits or both; */
    size_t longest; /* bytes of the longest */
    bool mixed;     /* one of both */
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
        r.mixed |= (kinds & (LETTER | DIGIT)) == (LETTER | DIGIT);
        r.longest = n > r.longest ? n : r.longest;
        r.runs++;
    }
    return r;
}

/* ---- what is salient ---- */

static const daruma_str units[] = {{"%", 1},      {"ms", 2},      {"s", 1},       {"us", 2},   {"ns", 2},  {"kb", 2},
                                   {"mb", 2},     {"gb", 2},      {"tb", 2},      {"kib", 3},  {"mib", 3}, {"gib", 3},
                                   {"b", 1},      {"bytes", 5},   {"usd", 3},     {"eur", 3},  {"gbp", 3}, {"rows", 4},
                                   {"tokens", 6}, {"seconds", 7}, {"minutes", 7}, {"hours", 5}};

/* "42.5 ms": the unit behind a number, with the gap; 0 none. */
static size_t unit_behind(const salient *s, size_t at)
{
    if (at + 1 >= s->text.n || s->text.p[at] != ' ' || !(ch_alpha(s->text.p[at + 1]) || s->text.p[at + 1] == '%'))
        return 0;
    size_t n = 1;
    while (at + n < s->text.n && n < 9 && (ch_alpha(s->text.p[at + n]) || s->text.p[at + n] == '%'))
        n++;
    for (size_t i = 0; n < 9 && i < sizeof units / sizeof *units; i++)
        if (units[i].n == n - 1 && str_ieq(str_sub(s->text, at + 1, n - 1), units[i]))
            return n;
    return 0;
}

/* How much a word looks like something that has to be quoted exactly; 0: not at all. */
static uint8_t score_of(daruma_str w, uint8_t kinds, const shapes *h)
{
    bool both = (kinds & (LETTER | DIGIT)) == (LETTER | DIGIT);
    if (str_find(w, S("://")) != STR_NONE)
        return 6;
    if (kinds & AT && kinds & LETTER)
        return 5;
    if (kinds & SLASH && kinds & LETTER)
        return w.p[0] == '/' || h->runs > 2 || both ? 5 : 0;
    if (both && (h->runs > 1 || h->longest >= 16))
        return 5; /* ORD-7731, req_01h9, v2.3.1, main.c:14; a long hash */
    if (both)
        return h->longest >= 7 ? 4 : 3; /* a short hash, "3.2GB", "utf8" */
    if (kinds & DIGIT)
        return h->runs > 2 ? 4 : h->longest >= 5 ? 3 : kinds & MARK && h->runs > 1 ? 2 : 0;
    return 0;
}

static bool keyed(daruma_str w)
{
    static const daruma_str ends[] = {{"id", 2},     {"key", 3},  {"hash", 4}, {"sha", 3},     {"ref", 3},
                                      {"number", 6}, {"code", 4}, {"uuid", 4}, {"version", 7}, {"email", 5},
                                      {"token", 5},  {"path", 4}, {"url", 3}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        daruma_str e = ends[i];
        if (w.n < e.n || !str_ieq(str_from(w, w.n - e.n), e))
            continue;
        char before = w.n > e.n ? w.p[w.n - e.n - 1] : '_';
        if (!ch_alpha(before) || (before >= 'a' && w.p[w.n - e.n] < 'a')) /* "id", "user_id", "userId", no "paid" */
            return true;
    }
    return false;
}

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

/* The last four letters are asked first: nearly no word ends so. */
static bool says_error(daruma_str w)
{
    static const daruma_str words[] = {{"error", 5},   {"errors", 6},    {"exception", 9}, {"failed", 6},
                                       {"failure", 7}, {"fatal", 5},     {"panic", 5},     {"denied", 6},
                                       {"refused", 7}, {"traceback", 9}, {"critical", 8},  {"aborted", 7},
                                       {"cannot", 6},  {"timeout", 7},   {"violation", 9}};
    if (w.n < 5)
        return false;
    uint32_t end;
    memcpy(&end, w.p + w.n - 4, 4);
    end |= 0x20202020u;
#define IS(lit) (memcmp(&end, lit, 4) == 0)
    if (!(IS("rror") || IS("rors") || IS("tion") || IS("iled") || IS("lure") || IS("atal") || IS("anic") ||
          IS("nied") || IS("used") || IS("back") || IS("ical") || IS("rted") || IS("nnot") || IS("eout")))
        return false;
#undef IS
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        daruma_str x = words[i];
        if (w.n >= x.n && str_ieq(str_from(w, w.n - x.n), x))
            return true;
    }
    return false;
}

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

static void scan(salient *s)
{
    const daruma_str t = s->text;
    const uint8_t *kinds = s->kinds;
    size_t at = 0, error_end = 0;
    while (at < t.n) {
        uint8_t k, all = 0;
        while (at < t.n && !(kinds[(unsigned char)t.p[at]] & (uint8_t)~INNER))
            at++;
        size_t from = at;
        while (at < t.n && (k = kinds[(unsigned char)t.p[at]])) {
            all |= k;
            at++;
        }
        if (at == from)
            break;
        if (all & SLASH && (at = from + unescaped(str_sub(t, from, at - from))) == from) {
            at += 2; /* an escape */
            continue;
        }
        bool plain = !(all & (DIGIT | SLASH | AT)); /* a word */
        if (at - from > MASK_TOKEN_BYTES_MAX || (plain && at - from < 2))
            continue;
        daruma_str w = all & MARK ? tidy(s, (daruma_str){t.p + from, at - from}) : (daruma_str){t.p + from, at - from};
        if (!w.n)
            continue;
        if (plain) {
            if (from >= error_end && says_error(w))
                error_end = add_error(s, from);
            size_t value = gap_behind(t, (size_t)(w.p - t.p) + w.n), end;
            if (value && keyed(w) && (end = add_keyed(s, w, value)) > at)
                at = end;
            continue;
        }
        if (w.n < 3 && !(all & MARK))
            continue;
        size_t unit = all & LETTER ? 0 : unit_behind(s, (size_t)(w.p - t.p) + w.n);
        if (all == DIGIT && w.n < 5 && !unit)
            continue;
        shapes h = shape_of(s, w);
        uint8_t score = score_of(w, all, &h);
        if (unit || score)
            add(s, (size_t)(w.p - t.p), w.n + unit, 0, 0, unit ? 4 : score, (all & LETTER) != 0, &h);
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

static void put(char *out, size_t *n, const char *p, size_t len)
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
    scan(s);
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
        put(out, &n, n ? ", " : "kept: ", n ? 2 : sizeof "kept: " - 1);
        if (c->nkey) {
            put(out, &n, text.p + c->key, c->nkey);
            out[n++] = '=';
        }
        put(out, &n, text.p + c->from, c->n);
    }
    if (n)
        out[n++] = '\n';
    for (size_t i = 0; i < s->nerrors; i++)
        if (s->errors[i].n) {
            put(out, &n, "error: ", sizeof "error: " - 1);
            put(out, &n, text.p + s->errors[i].from, s->errors[i].n);
            out[n++] = '\n';
        }
    return n;
}
