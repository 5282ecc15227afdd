/* match.c - the phrase table is far too long to search a message for each row. So each row
 * stands in an index under one word of its pattern (or its fact); one pass over the words of
 * the message marks the rows whose word occurs. Of those only the ones are tried, in order, of
 * whose other words none is missing; a set of 64 bits stands for the words of the message.
 *
 *     "prompt is too long: ..."  -> promp, is, too, long -> rows 311, 312, 402 -> 311 fits
 *
 * Only when none fits before the rows for sentences, the message is read for what its words mean (sentence.c).
 * The index is made at build time by tools/phrase_index.c. */
#include "engine/judge/match.h"
#include "engine/judge/pattern.h"
#include "engine/read/chars.h"
#include "engine/read/sentence.h"
#include "model/kinds.h"
#include "base/str.h"

typedef struct phrase_slot {
    uint32_t hash;
    uint16_t first, n; /* of phrase_rows; n 0: free */
} phrase_slot;
typedef struct phrase_sense {
    uint16_t row;
    bool whole;               /* it looks at all clauses together */
    uint64_t all, any, never; /* meanings it must have, one of which it must have (0: none), that it must not have */
} phrase_sense;
typedef struct phrase_pattern {
    uint64_t needs; /* its words, as phrase_bit */
    uint32_t says;  /* in phrase_text; 0 ends the list */
} phrase_pattern;
/* A row of phrases.c without its pointers, which would have to be set, and their memory held, in each process. */
typedef struct phrase_row {
    uint32_t name, says, unless, also, who; /* in phrase_text; 0 NULL */
    uint16_t status;
    uint8_t where, kind, tool_kind, retry, only, sum;
} phrase_row;
#include "engine/judge/phrase_index.h"

#define WORD_BITS 64
_Static_assert(SENTENCE_MEANINGS < 64, "room for SEEN_LEAD");
#ifdef MATCH_ABLATED /* a test takes rows out in turn, and asks which of them are looked for */
#include MATCH_ABLATED
#else
#define MATCH_TAKEN(row) ((void)(row), false)
#define MATCH_FOUND(row) ((void)(row))
#endif
_Static_assert(PHRASE_COUNT <= SEEN_ROWS, "room for a bit per row");

static bool word_char(char c)
{
    return char_is(c, CHAR_LOWER);
}

static const char *text_at(uint32_t at)
{
    return at ? phrase_text + at : NULL;
}

phrase match_row(uint16_t row)
{
    if (!row || row > PHRASE_COUNT)
        return (phrase){0};
    const phrase_row *r = &phrase_all[row - 1];
    return (phrase){.name = text_at(r->name),
                    .says = text_at(r->says),
                    .unless = text_at(r->unless),
                    .also = text_at(r->also),
                    .who = text_at(r->who),
                    .status = r->status,
                    .where = r->where,
                    .kind = r->kind,
                    .tool_kind = r->tool_kind,
                    .retry = r->retry,
                    .only = r->only,
                    .sum = r->sum};
}

static size_t looked_at(const seen *s)
{
    return s->look && s->look < s->ntexts ? s->look : s->ntexts;
}

static bool any_text(const seen *s, const char *says)
{
    for (size_t i = 0; i < looked_at(s); i++)
        if (pattern_find(s->texts[i], says) != STR_NONE)
            return true;
    return false;
}

bool match_begins(daruma_str text, const char *names, bool whole)
{
    for (;; names++) {
        size_t n = 0;
        while (n < text.n && *names && *names != '/' && ch_lower(text.p[n]) == *names)
            n++, names++;
        bool goes_on = whole && n < text.n && (ch_alpha(text.p[n]) || ch_digit(text.p[n]));
        if (!goes_on && (!*names || *names == '/'))
            return true;
        while (*names && *names != '/')
            names++;
        if (!*names)
            return false;
    }
}

static bool has_fact(const seen *s, const phrase_row *p)
{
    for (size_t i = 0; i < s->nfacts; i++)
        if (s->facts[i].where == (phrase_where)p->where && str_eq(s->facts[i].says, str_of(text_at(p->says))))
            return true;
    return false;
}

bool match_status(daruma_kind k, int status)
{
    switch (kind_rows[k].statuses) {
    case STATUS_ANY:
        return true;
    case STATUS_ACCESS:
        return status == 401 || status == 403;
    case STATUS_ALLOWANCE:
        return status == 402 || status == 403 || status == 429 || status == 503;
    case STATUS_ABSENCE:
        return status == 404 || status == 403;
    case STATUS_OUTAGE:
        return status != 400 && status != 401 && status != 403 && status != 404 && status != 413 && status != 422;
    }
    return true;
}

/* True of a status that says what happened whatever the body is: what came in place of an answer may have any form. 502
 * is not one: the answer that a gateway got may have been bad by its form. */
static bool says_why(int status)
{
    return (status >= 401 && status <= 404) || status == 407 || status == 408 || status == 413 || status == 429 ||
           status == 451 || (status > 502 && status < 530);
}

/* True if words that mean an outage are heard beside such a status: what refuses a key or a country is not busy, and
 * what refuses a call was reached. */
static bool may_be_out(daruma_kind k, int status)
{
    bool refused = status == 402 || status == 403 || status == 429;
    return (status != 401 && status != 451 && (!refused || k != DARUMA_NETWORK)) ||
           (k != DARUMA_SERVER_ERROR && kind_rows[k].statuses != STATUS_OUTAGE);
}

/* True if the row wants no other status than this one. Weak words beside a 5xx may be those of a
 * machine that broke. */
static bool takes_status(const phrase_row *p, int status)
{
    if (p->status == STATUS_REFUSED)
        return status < 500;
    if (p->status == STATUS_GOOD)
        return status < 400;
    if (p->status == STATUS_UNREFUSED)
        return status < 400 || status >= 500;
    if (p->status == STATUS_SILENT)
        return !says_why(status);
    if (p->status == STATUS_OF_KIND)
        return !status || (status < 500 && match_status((daruma_kind)p->kind, status));
    return !p->status || p->status == status || (p->status < 10 && status / 100 == p->status);
}

static bool match_fits(const seen *s, uint16_t row)
{
    if (MATCH_TAKEN(row))
        return false;
    const phrase_row *p = &phrase_all[row - 1];
    if (!takes_status(p, s->status))
        return false;
    if ((p->only == FOR_MODEL && s->tool == FOR_TOOL && !s->guessed) || (p->only == FOR_TOOL && s->tool != FOR_TOOL) ||
        (s->model_call && p->kind == DARUMA_TOOL_ERROR))
        return false;
    if (p->who && !match_begins(s->provider, text_at(p->who), false))
        return false;
    if ((p->where == AT_TEXT || p->where >= AT_SENTENCE) && !may_be_out((daruma_kind)p->kind, s->status))
        return false;
    if (p->where == AT_SENTENCE && p->tool_kind == DARUMA_TOOL_AUTH_KIND && s->status == 404)
        return false; /* what is not there was not asked for credentials */
    if (p->where >= AT_SENTENCE)
        return true; /* first_sense() has looked at what it says */
    if (p->where == AT_TEXT ? !any_text(s, text_at(p->says)) : !has_fact(s, p))
        return false;
    return !(p->unless && any_text(s, text_at(p->unless))) && (!p->also || any_text(s, text_at(p->also)));
}

/* Marks the rows that stand under it; false: there are none. */
static bool mark(seen *s, uint32_t hash)
{
    for (uint32_t i = hash;; i++) {
        const phrase_slot *slot = &phrase_slots[i & (PHRASE_SLOTS - 1)];
        if (!slot->n)
            return false;
        if (slot->hash != hash)
            continue;
        for (uint16_t k = 0; k < slot->n; k++) {
            uint16_t row = phrase_rows[slot->first + k];
            s->rows[row / WORD_BITS] |= (uint64_t)1 << row % WORD_BITS;
        }
        return true;
    }
}

static void mark_word(seen *s, uint32_t hash)
{
    s->words |= phrase_bit(hash);
    mark(s, hash);
}

static void mark_words(seen *s, daruma_str t)
{
    bool foreign = false; /* rows in scripts without spaces stand under one mark */
    for (size_t i = 0; i < t.n; i++) {
        if (!word_char(t.p[i])) {
            foreign |= (unsigned char)t.p[i] >= 0x80;
            continue;
        }
        uint32_t h = phrase_hash(AT_TEXT, (daruma_str){0});
        size_t most = t.n - i < PHRASE_PREFIX ? t.n : i + PHRASE_PREFIX;
        for (; i < most && word_char(t.p[i]); i++)
            h = phrase_hash_more(h, t.p[i]);
        mark_word(s, h);
        while (i < t.n && word_char(t.p[i]))
            i++;
    }
    if (foreign)
        mark_word(s, phrase_hash(AT_TEXT, S("\x80")));
}

void seen_text(seen *s, daruma_str text)
{
    if (!text.n || s->ntexts == SEEN_TEXTS)
        return;
    s->texts[s->ntexts++] = text;
    mark_words(s, text);
}

void seen_add(seen *s, phrase_where where, daruma_str says)
{
    if (!says.n || s->nfacts == SEEN_FACTS)
        return;
    s->facts[s->nfacts].where = where;
    s->facts[s->nfacts].known = mark(s, phrase_hash(where, says));
    s->facts[s->nfacts++].says = says;
}

static uint16_t first_marked(const seen *s)
{
    for (size_t w = 0; w < SEEN_ROWS / WORD_BITS; w++)
        for (uint64_t left = s->rows[w]; left; left &= left - 1) {
            size_t row = w * WORD_BITS + (size_t)__builtin_ctzll(left);
            if (!(phrase_needs[row] & ~s->words) && match_fits(s, (uint16_t)(row + 1)))
                return (uint16_t)(row + 1);
        }
    return 0;
}

/* The first row before `row` (0: of all) that these meanings are enough for, else `row`. `whole`: they are those of the
 * message together. */
static uint16_t first_sense(const seen *s, uint64_t means, bool whole, uint16_t row)
{
    uint64_t may[PHRASE_SENSE_WORDS] = {0};
    for (uint64_t left = means; left; left &= left - 1)
        for (size_t w = 0; w < PHRASE_SENSE_WORDS; w++)
            may[w] |= phrase_by_meaning[__builtin_ctzll(left)][w];
    for (size_t w = 0; w < PHRASE_SENSE_WORDS; w++)
        for (uint64_t left = may[w]; left; left &= left - 1) {
            const phrase_sense *p = &phrase_senses[w * WORD_BITS + (size_t)__builtin_ctzll(left)];
            if (row && p->row + 1 > row)
                return row;
            if (p->whole == whole && !(p->all & ~means) && !(p->never & means) && (!p->any || p->any & means) &&
                match_fits(s, (uint16_t)(p->row + 1)))
                return (uint16_t)(p->row + 1);
        }
    return row;
}

static bool is_sense(uint16_t row)
{
    return row && row <= PHRASE_SENSE_LAST + 1;
}

/* What the words of a code say that no row knows: "sharing_usage_limit_exceeded"; 0: nothing. They are too few to tell
 * a window from other limits. */
static uint16_t first_by_code(const seen *s)
{
    sentence read;
    uint64_t means;
    for (size_t i = 0; i < s->nfacts; i++) {
        if (s->facts[i].where != AT_CODE || s->facts[i].known || ch_digit(s->facts[i].says.p[0]))
            continue;
        sentence_open(&read, s->facts[i].says, true);
        sentence_next(&read, &means);
        uint16_t first = means ? first_sense(s, means, false, 0) : 0;
        daruma_kind k = is_sense(first) ? (daruma_kind)phrase_all[first - 1].kind : DARUMA_CONTEXT_LENGTH;
        bool broke = s->status >= 500 && !match_status(k, s->status); /* a machine that asks whether one may */
        if (k != DARUMA_CONTEXT_LENGTH && !broke)
            return first;
    }
    return 0;
}

/* `text` behind a code that it begins with and whose words name the failure: they are read as those of the code,
 * "RateLimitError: the cluster is busy". The module of a class says nothing: "qwen_agent.llm.base.ServiceError: ". */
static daruma_str behind_code(const seen *s, daruma_str text)
{
    size_t module = 0;
    for (size_t i = 0; i < text.n && (word_char(text.p[i]) || text.p[i] == '.'); i++)
        module = text.p[i] == '.' ? i + 1 : module;
    daruma_str own = str_from(text, module);
    for (size_t i = 0; i < s->nfacts; i++) {
        daruma_str code = s->facts[i].says, rest = str_from(own, code.n);
        if (s->facts[i].where == AT_CODE && str_starts(own, code) && str_starts(rest, S(": ")))
            return first_by_code(s) ? rest : own;
    }
    return text;
}

/* Reads what the words of a text mean, when nobody has yet. */
static void hear(seen *s, size_t text)
{
    sentence read;
    uint64_t means;
    if (s->heard[text].read)
        return;
    s->heard[text].read = true;
    s->heard[text].from = (uint8_t)s->nparts;
    sentence_open(&read, behind_code(s, s->texts[text]), false);
    while (sentence_next(&read, &means)) {
        bool behind = s->heard[text].n && s->parts[s->nparts - 1] & SEEN_LEAD;
        if (!means && !read.lead && !behind)
            continue;
        if (s->nparts == SEEN_PARTS) {
            s->parts[SEEN_PARTS - 1] |= s->heard[text].n ? means : 0;
            continue;
        }
        s->parts[s->nparts++] = means | (read.lead ? SEEN_LEAD : 0);
        s->heard[text].n++;
    }
}

/* The parts of a clause of a text that begins at number `i` of its parts; 0: there is none. */
static size_t clause_at(const seen *s, size_t text, size_t i)
{
    size_t from = i, end = s->heard[text].n;
    while (i < end && s->parts[s->heard[text].from + i] & SEEN_LEAD)
        i++;
    return i < end ? i - from + 1 : end - from;
}

static uint64_t all_of(const uint64_t *parts, size_t n)
{
    uint64_t all = 0;
    for (size_t i = 0; i < n; i++)
        all |= parts[i];
    return all & ~SEEN_LEAD;
}

/* True if a lead only says that something failed, whatever it was: "Error while calling the model: ", "failed to
 * generate a response: ", "LLM request rejected: ". A file that could not be changed and a machine without memory are
 * the failure itself: behind them stand details. */
static bool only_failed(uint64_t means)
{
    if (!(means & ~(SEEN_LEAD | SENTENCE_REFUSED))) /* of rights is said more than that */
        return means & SENTENCE_DENIED && means & SENTENCE_SENT;
    bool itself = means & SENTENCE_EDIT || (means & SENTENCE_DEVICE) == SENTENCE_DEVICE;
    return means & SENTENCE_FAILED && !itself && !(means & SENTENCE_WRONG & ~SENTENCE_FAILED & ~SENTENCE_MISSING);
}

/* True if a lead only names the way on which somebody answered: "streaming error: 500 Internal Server Error". */
static bool only_carried(uint64_t means, int status)
{
    uint64_t wrong = SENTENCE_BROKEN | (SENTENCE_WRONG & ~SENTENCE_FAILED);
    return status && means & SENTENCE_WIRE && !(means & wrong);
}

/* Codes for "something is wrong with it" leave the rest to the text: what names the failure does not. */
static bool names_it(uint16_t row)
{
    switch ((daruma_kind)phrase_all[row - 1].kind) {
    case DARUMA_INVALID_PARAMETER:
    case DARUMA_INVALID_MESSAGE:
    case DARUMA_SERVER_ERROR:
    case DARUMA_PERMISSION:
    case DARUMA_MODEL_NOT_FOUND:
    case DARUMA_TOOL_ERROR:
    case DARUMA_UNKNOWN:
        return false;
    default:
        return true;
    }
}

/* What a clause says. Behind a lead that only says that something failed stands what did: that counts when it says so
 * by itself, and names it where the lead says that a connection broke. Else both together say it, for a lead names what
 * the rest is about ("max_tokens: too large"). */
static uint16_t first_of_clause(const seen *s, const uint64_t *parts, size_t n, uint16_t row, uint64_t *ret_means)
{
    if (n > 1 && !(parts[0] & ~(SEEN_LEAD | SENTENCE_OF_LEAD))) /* "Error: " is no part of it */
        return first_of_clause(s, parts + 1, n - 1, row, ret_means);
    uint64_t all = all_of(parts, n), means = 0;
    bool sent = parts[0] & SENTENCE_JSON && parts[0] & SENTENCE_SENT; /* "Failed to parse the request body as JSON: " */
    uint16_t rest = n > 1 ? first_of_clause(s, parts + 1, n - 1, row, &means) : 0;
    if (sent && rest && phrase_all[rest - 1].kind == DARUMA_MALFORMED_OUTPUT)
        rest = 0; /* what was sent is no answer */
    bool named = is_sense(rest) && means & ~SENTENCE_BARE && only_failed(parts[0]) &&
                 (names_it(rest) || !(parts[0] & SENTENCE_BROKEN));
    if (named || (is_sense(rest) && only_carried(parts[0], s->status))) {
        *ret_means = means;
        return rest;
    }
    uint16_t first = all ? first_sense(s, all, false, row) : row;
    if (!is_sense(first) && is_sense(rest))
        first = rest;
    else if (is_sense(first) || n == 1)
        means = all;
    else /* what stands behind it are details: "Unrecognized request argument supplied: functions" */
        first = first_sense(s, means = parts[0] & ~SEEN_LEAD, false, row);
    *ret_means = means;
    return first;
}

/* Nothing that was said, but its status at most. */
static bool says_little(uint16_t row)
{
    return !row || phrase_all[row - 1].where == AT_STATUS || phrase_all[row - 1].kind == DARUMA_UNKNOWN;
}

static bool is_vague_code(uint16_t row)
{
    return row && phrase_all[row - 1].where == AT_CODE && phrase_all[row - 1].kind == DARUMA_INVALID_PARAMETER;
}

/* What a status complains of, where the words only say what is complained of: "content[0].text" with 400. */
static uint64_t complaint_of(int status)
{
    return status == 400 || status == 422 ? SENTENCE_BAD : 0;
}

/* True if a clause only complains of the form of an answer: "could not parse the response", with the words of a status
 * at most: "503 Service Unavailable". */
static bool is_of_form(uint64_t means)
{
    return means & SENTENCE_FORMED && means & SENTENCE_MISFORMED && !(means & ~SENTENCE_OF_FORM);
}

/* True if a clause only says that something is wrong somewhere, or that a parameter was refused. */
static bool is_bare(uint16_t row, uint64_t means)
{
    bool of_param = phrase_all[row - 1].kind == DARUMA_INVALID_PARAMETER;
    return !(means & ~(SENTENCE_BARE | (of_param ? SENTENCE_DENIED : 0)));
}

/* True if a clause only says which part of an agent's work failed, as a lead does: "Failed to summarize tool output."
 */
static bool only_tried(uint16_t row, uint64_t means)
{
    return phrase_all[row - 1].kind == DARUMA_MALFORMED_OUTPUT && !(means & SENTENCE_WRONG & ~SENTENCE_FAILED);
}

/* True if a complaint of the form of an answer, `vague`, says less than another clause that fits `row`: that the
 * service is away, say. Where an answer came, its history was taken. */
static bool gives_way(uint16_t vague, uint16_t row, uint64_t means)
{
    daruma_kind k = (daruma_kind)phrase_all[row - 1].kind;
    if (phrase_all[vague - 1].kind != DARUMA_MALFORMED_OUTPUT)
        return row < vague;
    if (k == DARUMA_ORPHAN_TOOL_CALL)
        return false;
    return row < vague ||
           (means & ~SENTENCE_BARE && (names_it(row) || k == DARUMA_SERVER_ERROR || k == DARUMA_PERMISSION));
}

/* True of what the request holds, for that is what such a status is about. A function that failed was called, and is
 * none that the request defines. */
static bool is_held(uint16_t row, uint64_t clause)
{
    if (!is_sense(row))
        return false;
    return phrase_all[row - 1].kind == DARUMA_INVALID_MESSAGE ||
           (phrase_all[row - 1].kind == DARUMA_INVALID_TOOL_SCHEMA && !(clause & SENTENCE_FAILED));
}

/* Clause by clause: what is said first is what is wrong, advice comes behind it. `row` is the first that fits without.
 */
static uint16_t first_by_sentence(seen *s, uint16_t row)
{
    uint64_t means, all = 0, status = complaint_of(s->status);
    uint16_t vague = 0, held = 0;
    bool silent = says_little(row) || is_vague_code(row);
    for (size_t text = 0; text < looked_at(s); text++) {
        hear(s, text);
        const uint64_t *parts = s->parts + s->heard[text].from;
        for (size_t i = 0, n; (n = clause_at(s, text, i)); i += n) {
            uint16_t first = first_of_clause(s, parts + i, n, row, &means);
            uint64_t clause = all_of(parts + i, n), blamed = clause | status;
            if (says_why(s->status) && is_of_form(clause))
                continue;
            all |= clause;
            if (is_sense(first) && (!vague || gives_way(vague, first, means))) {
                if (!is_bare(first, means) && !is_of_form(means) && !only_tried(first, means))
                    return first; /* else something is wrong somewhere: less than what any other clause says */
                vague = first;
            }
            if (silent && status && !held && is_held(first_of_clause(s, &blamed, 1, row, &means), clause))
                held = first_sense(s, blamed, false, row);
        }
    }
    if (vague && row && phrase_all[row - 1].where == AT_TEXT && names_it(row))
        return row;
    return vague ? vague : held ? held : first_sense(s, all, true, row);
}

/* The class of an exception, or a number: in a program's words. "rate_limit_error" is an API's. */
static bool is_class(daruma_str code)
{
    bool named = str_ends(code, S("error")) || str_ends(code, S("exception"));
    return ch_digit(code.p[0]) || (named && str_findch(code, '_') == STR_NONE);
}

/* True if every code that no row knows is the class of an exception. */
static bool only_classes(const seen *s)
{
    for (size_t i = 0; i < s->nfacts; i++)
        if (s->facts[i].where == AT_CODE && !s->facts[i].known && !is_class(s->facts[i].says))
            return false;
    return true;
}

/* True if every code that no row knows is a type, of which an API has a few for all failures: "rate_limit_error". */
static bool only_types(const seen *s)
{
    for (size_t i = 0; i < s->nfacts; i++)
        if (s->facts[i].where == AT_CODE && !s->facts[i].known && !ch_digit(s->facts[i].says.p[0]) &&
            !str_ends(s->facts[i].says, S("error")))
            return false;
    return true;
}

static bool is_of_words(uint16_t row)
{
    return row && (phrase_all[row - 1].where == AT_TEXT || phrase_all[row - 1].where >= AT_SENTENCE);
}

/* All that the first `texts` of them mean. */
static uint64_t all_heard(seen *s, size_t texts)
{
    uint64_t all = 0;
    for (size_t i = 0; i < texts; i++) {
        hear(s, i);
        all |= all_of(s->parts + s->heard[i].from, s->heard[i].n);
    }
    return all;
}

/* True if a code that says `code` comes before what `row` fits. Of one kind the row knows more. SDKs name the class of
 * an exception after a status, and a known sentence knows more than a status. A type for all limits
 * ("rate_limit_error") says less than the words of an allowance, unless they speak of a rate as well. */
static bool code_decides(seen *s, uint16_t code, uint16_t row)
{
    bool before =
        !row || (is_of_words(row) && !(only_classes(s) && phrase_all[row - 1].where == AT_TEXT)) || code < row;
    bool allowance = code && row && phrase_all[row - 1].kind == DARUMA_QUOTA &&
                     phrase_all[code - 1].kind == DARUMA_RATE_LIMIT && only_types(s) &&
                     !(all_heard(s, looked_at(s)) & SENTENCE_RATE);
    return code && names_it(code) && before && !allowance &&
           (!row || phrase_all[code - 1].kind != phrase_all[row - 1].kind);
}

/* True if a code says that there is no such model, and the words that fit `row` say something else than that it is
 * there for others. */
static bool code_denies_model(uint16_t code, uint16_t row)
{
    if (!code || phrase_all[code - 1].kind != DARUMA_MODEL_NOT_FOUND || !is_of_words(row))
        return false;
    daruma_kind k = (daruma_kind)phrase_all[row - 1].kind;
    return k != DARUMA_MODEL_NOT_FOUND && k != DARUMA_PERMISSION;
}

/* True if only all clauses together speak of something that a tool may have: less than a code says of a call. */
static bool is_guessed_tool(const seen *s, uint16_t row)
{
    const phrase_row *p = &phrase_all[row - 1];
    return s->tool != FOR_TOOL && p->where == AT_MESSAGE && p->kind == DARUMA_TOOL_ERROR;
}

/* The first row that fits what the first `look` texts and the facts say; `code` is what the words of a code do. */
static uint16_t first_of_texts(seen *s, size_t look, uint16_t code)
{
    s->look = look;
    s->coded = false;
    uint16_t row = first_marked(s);
    uint16_t first = s->tool == FOR_TOOL ? PHRASE_SENSE_TOOL : PHRASE_SENSE_FIRST;
    if (row && s->guessed &&
        phrase_all[row - 1].only == FOR_MODEL) /* what only a model can have said: it was guessed wrongly */
        return row;
    if (row && row <= PHRASE_CODE_FIRST)
        return row;
    if (code && only_classes(s) && (!row || row > first)) {
        uint16_t said = first_by_sentence(s, row); /* the class of an exception stands for a status */
        if (is_sense(said) && phrase_all[said - 1].where == AT_SENTENCE && names_it(said))
            return said;
    }
    if (!code_decides(s, code, row)) {
        if (!row || row > first)
            row = first_by_sentence(s, row);
        if (!code_denies_model(code, row) && (!(says_little(row) || is_guessed_tool(s, row)) || !code))
            return row;
    }
    s->coded = true;
    return code;
}

/* True if the innermost text complains of something that no row knows, and its status, `row`, says of what: "400 Bad
 * Request: suffix is not supported". */
static bool complains(seen *s, uint16_t row)
{
    if (!row || phrase_all[row - 1].where != AT_STATUS)
        return false;
    hear(s, 0);
    return all_of(s->parts + s->heard[0].from, s->heard[0].n) & SENTENCE_WRONG & ~SENTENCE_FAILED & ~SENTENCE_EMPTY;
}

/* What the innermost text says by itself comes before the words around it. */
uint16_t match_first(seen *s)
{
    uint16_t code = first_by_code(s), row = first_of_texts(s, 1, code);
    bool said = is_of_words(row) && !says_little(row);
    if (s->ntexts > 1 && !(said && (s->ended || names_it(row)))) {
        uint16_t whole = first_of_texts(s, s->ntexts, code);
        daruma_kind k = whole ? (daruma_kind)phrase_all[whole - 1].kind : DARUMA_UNKNOWN;
        bool reached = s->status && k == DARUMA_NETWORK && is_sense(whole); /* somebody answered */
        bool nothing = whole && k == DARUMA_UNKNOWN && complains(s, row);
        if (!nothing && !(said && (k == DARUMA_SERVER_ERROR || reached))) /* "502 Bad Gateway: " says that it failed */
            row = whole;
        s->coded &= row == whole;
    }
    s->look = 0;
    MATCH_FOUND(row);
    return row;
}

static bool any_of(const seen *s, const phrase_pattern *p)
{
    for (; p->says; p++)
        if (!(p->needs & ~s->words) && any_text(s, text_at(p->says)))
            return true;
    return false;
}

bool match_tools(const seen *s)
{
    return any_of(s, phrase_tools);
}

bool match_tokens(seen *s)
{
    return all_heard(s, s->ntexts) & SENTENCE_TOKEN;
}

bool match_rates(seen *s)
{
    uint64_t all = all_heard(s, s->ntexts);
    return all & SENTENCE_PER && !(all & SENTENCE_PERIOD);
}
