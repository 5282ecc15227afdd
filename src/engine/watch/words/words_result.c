/* words_result.c - what results say of the world behind them, and what names of arguments and of members of results
 * are about. */
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "engine/watch/words/words.h"
#include "engine/watch/words/words_find.h"
#include "engine/watch/words_result_rows.h"

#define ROWS(rows) rows, COUNT(rows)

enum {
    HEAD_BYTES = 600, /* of a result are looked at, */
    TAIL_BYTES = 200, /*   and of its end */
    TEXT_WORDS_MAX = 128,
    ACK_WORDS_MAX = 10, /* who tells more than that does not only say that it was done */
    EMPTY_AT_MAX = 4,   /* "no" further behind says no for something else */
    EMPTY_WORDS_MAX = 18,
    STATE_WORDS_MAX = 40, /* a longer text is not about how one thing stands */
    SHORT_BYTES_MAX = 24,
    FEW_WORDS_MAX = 6,
    FEW_BYTES_MAX = 40,    /* where there are no blanks between words */
    BEGINS_WORDS_MAX = 12, /* who begins with "pending" says no more than that */
};

/* "time_s", "elapsedSec", "timeoutMs": the name of a time or a wait, and its unit. `key`: in lower case, without signs;
 * a bare "s" is a unit behind a sign alone. Returns the bytes of the name; 0: it is no such one. */
static size_t name_without_unit(daruma_str name, daruma_str key)
{
    static const daruma_str units[] = {LIT("seconds"), LIT("minutes"), LIT("secs"), LIT("sec"), LIT("min"),
                                       LIT("ms"),      LIT("us"),      LIT("ns"),   LIT("s")};
    for (size_t i = 0; i < COUNT(units); i++)
        if (key.n > units[i].n + 1 && str_ends(key, units[i]) &&
            (units[i].n > 1 || name.p[name.n - 2] == '_' || name.p[name.n - 2] == '-'))
            return key.n - units[i].n;
    return 0;
}

unsigned words_of_name(daruma_str name)
{
    char key[WORDS_ROW_BYTES] = {0};
    size_t n = 0;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        if (c == '_' || c == '-' || c == ' ')
            continue;
        if (n == sizeof key - 1)
            return 0;
        key[n++] = ch_lower(c);
    }
    if (!n)
        return words_find(ROWS(name_rows), name);
    unsigned means = words_row_of(ROWS(name_rows), key);
    size_t bare = means ? 0 : name_without_unit(name, (daruma_str){key, n});
    if (!bare)
        return means;
    memset(key + bare, 0, sizeof key - bare);
    means = words_row_of(ROWS(name_rows), key);
    return (means & (NAME_WAIT | NAME_LIMIT)) | (means & (NAME_TIME | NAME_UNIT | NAME_VOLATILE) ? NAME_VOLATILE : 0u);
}

typedef struct text_words {
    daruma_str at[TEXT_WORDS_MAX];
    size_t n;
} text_words;

static bool in_word(char c)
{
    return ch_word(c) || c == '\'' || c == '-';
}

static void split(daruma_str text, text_words *w)
{
    for (size_t i = 0; i < text.n && w->n < TEXT_WORDS_MAX;) {
        size_t from = i;
        if (!ch_word(text.p[i])) {
            i++;
            continue;
        }
        while (i < text.n && in_word(text.p[i]))
            i++;
        size_t n = i - from;
        n -= text.p[i - 1] == '\''; /* "('running',)" */
        w->at[w->n++] = str_sub(text, from, n);
    }
}

/* Words from `i` on, single spaces between them. */
static size_t join(const text_words *w, size_t i, char line[2 * WORDS_ROW_BYTES])
{
    size_t n = 0;
    for (size_t k = i; k < i + 3 && k < w->n && n + w->at[k].n + 1 < 2 * WORDS_ROW_BYTES; k++) {
        if (n)
            line[n++] = ' ';
        n += words_lower(w->at[k], line + n);
    }
    line[n] = 0;
    return n;
}

/* The meaning of the words at `i`; `*used` is how many they are. The rows that begin with a word follow each other. */
static unsigned phrase_at(const text_words *w, size_t i, size_t *used)
{
    char key[WORDS_ROW_BYTES], line[2 * WORDS_ROW_BYTES];
    size_t n = COUNT(result_rows), word = w->at[i].n, longest = 0, joined = 0;
    unsigned means = 0;
    *used = 1;
    if (!words_key(w->at[i], key))
        return 0;
    uint64_t first = word < sizeof first ? ~(UINT64_MAX >> 8 * word) : UINT64_MAX; /* its first bytes */
    for (size_t at = words_from(ROWS(result_rows), key); at < n; at++) {
        const char *row = result_rows[at].words;
        if ((words_load(row) ^ words_load(key)) & first)
            break; /* of most words the row before which they would stand */
        if (word > sizeof first && memcmp(row, key, word) != 0)
            break;
        if (row[word] && row[word] != ' ')
            continue;
        if (!joined)
            joined = join(w, i, line);
        size_t len = strlen(row);
        if (len <= longest || len > joined || memcmp(row, line, len) != 0 || (line[len] && line[len] != ' '))
            continue;
        longest = len;
        means = result_rows[at].means;
    }
    for (size_t b = 0; b < longest; b++)
        *used += line[b] == ' ';
    return means;
}

/* "if systemd is running", "when the job is active": nobody says that it is. */
static bool is_supposed(const text_words *w, size_t i)
{
    static const daruma_str words[] = {LIT("if"),   LIT("unless"), LIT("whether"), LIT("when"),
                                       LIT("once"), LIT("until"),  LIT("while")};
    bool supposed = false;
    for (size_t back = 2; back <= i && back <= 5; back++)
        supposed |= STR_ANY(str_ieq, w->at[i - back], words);
    return supposed;
}

/* "status: X", {"state":"X"}: the word before names how a thing stands. */
static bool is_state(const text_words *w, size_t i)
{
    static const daruma_str last[] = {LIT("_state"),  LIT("_status"), LIT("-state"),
                                      LIT("-status"), LIT("State"),   LIT("Status")}; /* "task_state" */
    return i && (STR_ANY(str_ends, w->at[i - 1], last) || words_of_name(w->at[i - 1]) & NAME_STATE);
}

/* The word before names what came of it: {"result":"pending"} tells how it stands, {"result":"string"} is an answer. */
static bool is_outcome(const text_words *w, size_t i)
{
    static const daruma_str names[] = {LIT("result"), LIT("outcome"), LIT("conclusion")};
    return i && STR_ANY(str_ieq, w->at[i - 1], names);
}

/* "status: reindexing", "is being baked": said of how a thing stands, a word that ends so tells that it goes on. */
static bool is_doing(const text_words *w, size_t i)
{
    static const daruma_str before[] = {LIT("is"), LIT("are"), LIT("still"), LIT("currently"), LIT("now")},
                            bad[] = {LIT("failing"), LIT("crashing"), LIT("blocking")};
    if (w->at[i].n <= 4 || !str_ends(w->at[i], S("ing")) || STR_ANY(str_ieq, w->at[i], bad))
        return false;
    if (i && STR_ANY(str_ieq, w->at[i - 1], before))
        return w->n <= STATE_WORDS_MAX && !is_supposed(w, i); /* a long text has such words anywhere */
    return i == 0 ? w->n <= 2 : is_state(w, i) && !is_outcome(w, i);
}

/* The word at `i` names the next one: "id: 7", {"id":7}. */
static bool is_name(const text_words *w, size_t i)
{
    if (i + 1 >= w->n || ch_digit(w->at[i].p[0]))
        return false;
    const char *from = w->at[i].p + w->at[i].n;
    size_t gap = (size_t)(w->at[i + 1].p - from);
    return memchr(from, ':', gap) || memchr(from, '=', gap);
}

/* True if it names many values, so that a word like "remaining" is said of one of them in passing. */
static bool names_many(const text_words *w)
{
    enum { VALUES = 4, WORDS = 12 };
    size_t names = 0;
    for (size_t i = 0; w->n >= WORDS && i + 1 < w->n && names < VALUES; i++) {
        const char *behind = w->at[i].p + w->at[i].n;
        names += *behind == ':' || *behind == '=' || (*behind == '"' && behind[1] == ':');
    }
    return names == VALUES;
}

/* A value that has another name than how it stands, and all that comes late. */
static bool is_in_passing(const text_words *w, size_t i)
{
    bool named = i && is_name(w, i - 1);
    return (named || i >= EMPTY_AT_MAX) && !is_state(w, i);
}

/* An id or a number, or nothing: it says which thing it is, or how far, and no more of it. */
static bool says_which(daruma_str word)
{
    static const daruma_str nothing[] = {LIT("null"), LIT("true"), LIT("false")};
    for (size_t i = 0; i < word.n; i++)
        if (ch_digit(word.p[i]))
            return true;
    return STR_ANY(str_eq, word, nothing);
}

/* {"status":"X"} in a short text: how one thing stands, told in a word that nobody knows. Beside it stands at most
 * which thing it is: {"name":"Bo","state":"CA"} is a record. 100 is the end, 200 a code of HTTP. */
static bool is_stated(const text_words *w, size_t i)
{
    enum { OF_HUNDRED = 2 }; /* digits */
    if (w->n > BEGINS_WORDS_MAX || !is_state(w, i) || is_outcome(w, i) || !is_name(w, i - 1))
        return false;
    if (ch_digit(w->at[i].p[0]) && w->at[i].n > OF_HUNDRED)
        return false;
    for (size_t k = 0; k < w->n; k++)
        if (k != i - 1 && is_name(w, k) && !is_name(w, k + 1) && !says_which(w->at[k + 1]))
            return false;
    return true;
}

/* With ALIVE, of a word that is_doing(): "Job 7 is reindexing" and no more tells how one thing stands, "Ann is living
 * in Rome" is a fact. */
static unsigned how_it_does(const text_words *w, size_t i, daruma_str text)
{
    if (i == 0 || is_state(w, i))
        return WORDS_STANDS;
    i += i + 1 < w->n && str_ieq(w->at[i], S("being")); /* "is being baked" */
    daruma_str rest = str_from(text, (size_t)(w->at[i].p - text.p) + w->at[i].n);
    bool ends = !rest.n || rest.p[0] == '\n' || str_eq(rest, S("."));
    return ends && w->n <= BEGINS_WORDS_MAX ? WORDS_STATED : 0;
}

/* "clicked", "File uploaded", "Text replaced (3 kB)": a short answer that begins or ends with such a word says that it
 * was done. "Click intercepted by ..." tells more, "not implemented" and "is blocked" something else; "elapsed: 3 s"
 * names. */
static bool is_done(const text_words *w, size_t i, daruma_str text)
{
    static const daruma_str other[] = {LIT("not"), LIT("no"), LIT("never"), LIT("nothing"), LIT("is"), LIT("are")};
    const bool inside = i && !ch_digit(w->at[0].p[0]);
    const daruma_str word = w->at[i], rest = str_trim(str_from(text, (size_t)(word.p - text.p) + word.n));
    if (word.n <= 4 || !str_ends(word, S("ed")) || str_ends(word, S("eed")))
        return false;
    if (rest.n && (rest.p[0] == ':' || rest.p[0] == '=' || rest.p[0] == '"' || (inside && ch_alpha(rest.p[0]))))
        return false;
    bool another = false;
    for (size_t back = 1; back <= i && back <= 3; back++)
        another |= STR_ANY(str_ieq, w->at[i - back], other);
    return !another;
}

/* A number is one of HTTP at the beginning of a text, or behind a word that says so. */
static bool is_status(const text_words *w, size_t i)
{
    static const daruma_str before[] = {LIT("http"),       LIT("status"),   LIT("code"), LIT("error"),
                                        LIT("statuscode"), LIT("returned"), LIT("got")};
    return i <= 2 || STR_ANY(str_ieq, w->at[i - 1], before) ||
           (w->at[i - 1].n == 1 && i > 2 && str_ieq(w->at[i - 2], S("1"))); /* HTTP/1.1 503 */
}

/* "status: running", "still running", "pending": not "the running shoes of ...". */
static bool stands(const text_words *w, size_t i, daruma_str text)
{
    static const daruma_str before[] = {LIT("is"),  LIT("are"), LIT("still"), LIT("currently"),
                                        LIT("now"), LIT("not"), LIT("job"),   LIT("task")};
    static const daruma_str lasting[] = {LIT("active"),  LIT("started"),    LIT("accepted"), LIT("submitted"),
                                         LIT("shipped"), LIT("dispatched"), LIT("partial")}; /* a thing may stay so */
    size_t words = 0;
    if (STR_ANY(str_ieq, w->at[i], lasting))
        return false;
    if (i == 0 && text.p[0] != '{' && w->n <= BEGINS_WORDS_MAX)
        return true;
    size_t at = (size_t)(w->at[i].p - text.p);
    while (at > 0 && text.p[at - 1] == ' ')
        at--;
    if (i && at > 0 && text.p[at - 1] == ':' && w->n <= BEGINS_WORDS_MAX) /* "test: running" */
        return true;
    for (size_t k = 0; k < w->n; k++)
        words += !ch_digit(w->at[k].p[0]);
    if (words <= 3 && text.p[0] != '{')
        return true;
    if (str_ieq(w->at[i], S("still")) || str_ieq(w->at[i], S("not")))
        return w->n <= 8 && !(i + 1 < w->n && ch_digit(w->at[i + 1].p[0])); /* "still 5" counts */
    return i && STR_ANY(str_ieq, w->at[i - 1], before) ? !is_supposed(w, i) : is_state(w, i);
}

/* {"done":false}: it is not at its end. {"error":null}: there is none. */
static unsigned denied(const text_words *w, size_t i, unsigned means)
{
    if (!(means & WORDS_OVER) || i >= w->n)
        return means;
    bool no = str_ieq(w->at[i], S("false"));
    if (no || str_ieq(w->at[i], S("null")) || str_ieq(w->at[i], S("none")))
        return no && (means & WORDS_ACK) && !str_istarts(w->at[i - 1], S("succ")) ? WORDS_ALIVE | WORDS_STANDS : 0;
    return means;
}

/* JSON without a value that says anything: "[]", {"items":[],"total":0}. Or nothing at all. */
static bool says_nothing(daruma_str text)
{
    bool key = false;
    if (text.n > HEAD_BYTES || str_eq(text, S("000"))) /* curl's word for a server that does not answer */
        return false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '"' && text.p[0] == '{') {
            size_t end = str_findch(str_from(text, i + 1), '"');
            if (end == STR_NONE)
                return false;
            i += end + 1;
            key = i + 1 < text.n &&
                  (text.p[i + 1] == ':' || (text.p[i + 1] == ' ' && i + 2 < text.n && text.p[i + 2] == ':'));
            if (!key && end > 0)
                return false;
        } else if (ch_alpha(c)) {
            daruma_str rest = str_from(text, i);
            static const daruma_str nothing[] = {LIT("null"), LIT("false"), LIT("None"), LIT("nil")};
            size_t k = 0;
            while (k < 4 && !str_starts(rest, nothing[k]))
                k++;
            if (k == 4 || (rest.n > nothing[k].n && ch_word(rest.p[nothing[k].n])))
                return false;
            i += nothing[k].n - 1;
        } else if (ch_digit(c) ? c != '0' : (unsigned char)c >= 0x80) {
            return false;
        }
    }
    return true;
}

static daruma_str unwrapped(daruma_str result)
{
    daruma_str part = {0}, more;
    if (!str_starts(result, S("{\"content\"")) || result.n > SAME_ANSWER_BYTES_MAX)
        return result;
    json_iter it = json_open(json_get(result, S("content")));
    if (!json_next(&it, NULL, &part) || json_next(&it, NULL, &more))
        return result;
    daruma_str text = json_get(part, S("text"));
    return json_is_string(text) ? str_trim(str_sub(text, 1, text.n - 2)) : result;
}

/* Do the words that begin at `i` stand in the arguments as well, and not as the name of one? */
static bool is_quoted(daruma_str args, const text_words *w, size_t i, size_t used)
{
    char line[2 * WORDS_ROW_BYTES];
    daruma_str last = w->at[i + used - 1], words = {w->at[i].p, (size_t)(last.p + last.n - w->at[i].p)};
    if (words.n > sizeof line)
        return false;
    words = (daruma_str){line, words_lower(words, line)};
    for (size_t at; (at = str_ifind(args, words)) != STR_NONE;) {
        char before = at ? args.p[at - 1] : ' ';
        args = str_from(args, at + words.n);
        if (!ch_word(before) && !(args.n && ch_word(args.p[0])) && !str_starts(args, S("\":")))
            return true;
    }
    return false;
}

unsigned words_of_result(daruma_str result, daruma_str args, bool failed)
{
    text_words w = {.n = 0};
    bool plain = false; /* OVER or ABSENT is said of the state, or early and of no value that has a name */
    unsigned got = WORDS_HEARD, head = 0, alive = 0; /* `alive`: said by more than "no new output" */
    result = unwrapped(str_trim(result));
    if (says_nothing(result))
        return WORDS_EMPTY | WORDS_SHORT | WORDS_HEARD;
    bool whole =
        result.n <= HEAD_BYTES + TAIL_BYTES; /* no byte is read twice: a word stands behind the one before it */
    split(whole ? result : str_sub(result, 0, HEAD_BYTES), &w);
    if (!whole)
        split(str_from(result, result.n - TAIL_BYTES), &w);
    for (size_t i = 0, used; i < w.n; i += used) {
        unsigned means = phrase_at(&w, i, &used);
        if ((means & WORDS_RETRY) && is_quoted(args, &w, i, used))
            means &= ~(unsigned)(WORDS_RETRY | WORDS_LIMITED);
        means = denied(&w, i + used, means);
        if (ch_digit(w.at[i].p[0]) && !is_status(&w, i))
            means &= WORDS_EMPTY;
        if ((means & WORDS_ALIVE) && stands(&w, i, result))
            means |= WORDS_STANDS;
        if (!means && !failed && is_doing(&w, i))
            means = WORDS_ALIVE | how_it_does(&w, i, result);
        if (!means && is_done(&w, i, result))
            means = WORDS_ACK;
        if (!means && is_stated(&w, i))
            means = WORDS_STATED;
        if (!str_ieq(w.at[i], S("no")))
            alive |= means;
        got |= means;
        plain |= (means & (WORDS_OVER | WORDS_ABSENT)) && !is_in_passing(&w, i);
        if (i < EMPTY_AT_MAX)
            head |= means;
    }
    if (failed && !(alive & WORDS_ALIVE))
        got &= ~(unsigned)(WORDS_ALIVE | WORDS_STANDS);
    if (!failed && !(head & WORDS_MISUSED))
        got &= ~(unsigned)WORDS_MISUSED;
    if (w.n > ACK_WORDS_MAX || failed)
        got &= ~(unsigned)WORDS_ACK;
    if (w.n > EMPTY_WORDS_MAX || !(head & WORDS_EMPTY))
        got &= ~(unsigned)WORDS_EMPTY;
    if (w.n > STATE_WORDS_MAX)
        got &= ~(unsigned)(WORDS_ALIVE | WORDS_OVER);
    if (w.n <= FEW_WORDS_MAX && result.n <= FEW_BYTES_MAX)
        got |= WORDS_FEW;
    if (result.n <= (w.n <= 1 ? FEW_BYTES_MAX : SHORT_BYTES_MAX))
        got |= WORDS_SHORT;
    if (!failed && !plain && (got & (WORDS_OVER | WORDS_ABSENT)) && names_many(&w))
        got &= ~(unsigned)(WORDS_OVER | WORDS_ABSENT);
    return got;
}
