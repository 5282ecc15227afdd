/* sentence.c - reads what no row of phrases knows: which words are in a clause of it, and which of them are denied.
 *
 *     "The engine 'x-1' could not be found. Please check the docs."
 *      -> model, absent            (absent: "found", for "not" stands before it)
 *
 * The words are in words.def; tools/phrase_index.c makes the table that is searched here. */
#include "engine/read/sentence.h"
#include "engine/read/chars.h"
#include "base/str.h"

typedef struct sentence_word {
    uint64_t means, denied; /* as it stands; behind a word that denies it */
    char head[4];           /* the first of it, 0 behind its end: settles most */
    uint16_t says;          /* in sentence_text: words joined by '_' */
    uint8_t n;              /* bytes */
    bool whole;             /* the last word ends there */
} sentence_word;
#include "engine/read/sentence_index.h"

#define DENIES_WORDS   5 /* behind "not" */
#define LEAD_BYTES_MAX 120
#define LEAD_WORDS_MIN 4 /* "Tool execution failed: " says who failed */

static bool is_letter(char c)
{
    return c != '_' && char_is(c, CHAR_LOWER);
}

static bool is_letter_at(daruma_str t, size_t i)
{
    return i < t.n && t.p[i] >= 'a' && t.p[i] <= 'z';
}

static bool foreign(char c)
{
    return (unsigned char)c >= 0x80;
}

/* What the mark at t[i] ends, where it is none of ASCII: '.' a clause, ':' a lead; 0: nothing. A dash does so between
 * spaces. */
static char foreign_mark(daruma_str t, size_t i)
{
    static const struct {
        daruma_str mark; /* a whole character: two of its bytes may be the end of another one */
        char ends;
        bool apart;
    } marks[] = {{LIT("\u3002"), '.', false}, {LIT("\uff01"), '.', false}, {LIT("\uff1b"), '.', false},
                 {LIT("\uff1f"), '.', false}, {LIT("\uff1a"), ':', false}, {LIT("\u2013"), '.', true},
                 {LIT("\u2014"), '.', true}};
    if (!foreign(t.p[i]))
        return 0;
    bool apart = i && i + 3 < t.n && t.p[i - 1] == ' ' && t.p[i + 3] == ' ';
    for (size_t k = 0; k < COUNT(marks); k++)
        if ((apart || !marks[k].apart) && str_starts(str_from(t, i), marks[k].mark))
            return marks[k].ends;
    return 0;
}

/* True if the comma at t[i] stands between two texts of a list, of which the second is no name: ('No JSON', "We are
 * busy now"). */
static bool begins_text(daruma_str t, size_t i)
{
    if (!i || i + 2 >= t.n || !char_is(t.p[i - 1], CHAR_QUOTE) || !char_is(t.p[i + 2], CHAR_QUOTE))
        return false;
    size_t spaces = 0;
    for (size_t k = i + 3; k < t.n && t.p[k] != t.p[i + 2]; k++)
        spaces += t.p[k] == ' ';
    return spaces > 1;
}

static bool ends_clause(daruma_str t, size_t i)
{
    char c = t.p[i];
    if (foreign_mark(t, i) == '.')
        return true;
    if (c == ';' || c == '!' || c == '?' || c == '|')
        return true;
    if (c == ',')
        return begins_text(t, i);
    return c == '.' && (i + 1 == t.n || t.p[i + 1] == ' ');
}

/* "stream request failed: 404 page not found": what stands behind says which. */
static bool ends_lead(daruma_str t, size_t i)
{
    return t.p[i] == ':' && i + 1 < t.n && t.p[i + 1] == ' ';
}

/* True if an interval of numbers stands at t[i], which is what a value must be in: "in [1, 65536]". */
static bool is_interval(daruma_str t, size_t i)
{
    if ((t.p[i] != '[' && t.p[i] != '(') || i < 3 || memcmp(t.p + i - 3, "in ", 3) != 0)
        return false;
    size_t commas = 0, digits = 0;
    for (i++; i < t.n && (ch_digit(t.p[i]) || memchr(", .-", t.p[i], 4)); i++) {
        commas += t.p[i] == ',';
        digits += ch_digit(t.p[i]);
    }
    return i < t.n && (t.p[i] == ']' || t.p[i] == ')') && commas == 1 && digits > 1;
}

/* A comparison with a number in words: "204871 tokens > 200000 maximum", "must be <= 4096", "should be in [1, 4096]";
 * NULL: none. */
static const char *comparison_at(daruma_str t, size_t i)
{
    if (is_interval(t, i))
        return "at_most_";
    bool more = t.p[i] == '>', less = t.p[i] == '<';
    if ((!more && !less) || !i || t.p[i - 1] != ' ')
        return NULL;
    bool equal = i + 1 < t.n && t.p[i + 1] == '=';
    size_t number = i + 1 + equal;
    while (number < t.n && t.p[number] == ' ')
        number++;
    if (number == t.n || !ch_digit(t.p[number]))
        return NULL;
    return less ? "at_most_" : equal ? "at_least_" : "exceeds_";
}

/* True if the clause that ends `before` is about something that is as long as it plays or lives: "The clip exceeded ".
 */
static bool is_of_length(daruma_str before)
{
    static const daruma_str things[] = {LIT("clip"),   LIT("audio"),     LIT("video"),
                                        LIT("speech"), LIT("recording"), LIT("ttl")};
    size_t from = before.n;
    while (from && !memchr(".;:", before.p[from - 1], 3))
        from--;
    return STR_ANY(str_has, str_from(before, from), things);
}

/* True if a name in front of a bracket is all that stands behind "exceeded": "exceeded requestTimeoutMs (". */
static bool names_exceeded(daruma_str before)
{
    size_t n = str_ends(before, S(" (")) ? before.n - 2 : 0;
    while (n && ch_word(before.p[n - 1]))
        n--;
    return n && str_ends(str_sub(before, 0, n), S("exceeded "));
}

/* A duration at t[i] that was exceeded, or is the limit: "exceeded 300000ms", "killed after 60s", "the 30 second
 * limit"; NULL: none begins there. What is to be longer or shorter than one is a value. */
static const char *duration_at(daruma_str t, size_t i)
{
    static const daruma_str units[] = {LIT("ms"),     LIT("s"),       LIT("sec"),         LIT("secs"),
                                       LIT("second"), LIT("seconds"), LIT("milliseconds")};
    size_t unit = i, end;
    while (unit < t.n && (ch_digit(t.p[unit]) || t.p[unit] == ',' || t.p[unit] == '.'))
        unit++;
    bool told = str_starts(str_from(t, unit), S(" ")) || str_starts(str_from(t, unit), S("-"));
    unit += told;
    for (end = unit; end < t.n && is_letter(t.p[end]);)
        end++;
    daruma_str before = str_sub(t, 0, i);
    told = str_starts(str_from(t, end), S(" limit")) || str_ends(before, S("exceeded ")) ||
           str_ends(before, S("killed after ")) || names_exceeded(before);
    told = told && !is_of_length(before) && STR_ANY(str_eq, str_sub(t, unit, end - unit), units);
    return told ? "timeout_" : NULL;
}

/* A path of a file or an address without its host: "/v1/chat/completions", "projects/81/locations/global". */
static bool is_path(daruma_str t, size_t i)
{
    if (t.p[i] != '/')
        return false;
    for (i++; i < t.n && t.p[i] != ' '; i++)
        if (t.p[i] == '/')
            return true;
    return false;
}

/* Before the first white space behind i, or the quote that ends a lead there: words of an address say nothing. */
static size_t skip_url(daruma_str t, size_t i)
{
    while (i + 1 < t.n && t.p[i + 1] != ' ' && !(t.p[i + 1] == '"' && str_starts(str_from(t, i + 2), S(": "))))
        i++;
    return i;
}

/* Behind the flag of a command line at t[i], beside which another one stands, "--no-sandbox --disable-throttling"; `i`:
 * there is none. One that stands alone may be what is to be set. */
static size_t flag_end(daruma_str t, size_t i)
{
    size_t end = i, before = i ? i - 1 : 0;
    if (i < 2 || !str_starts(str_from(t, i), S("--")) || t.p[i - 1] != ' ')
        return i;
    while (end < t.n && t.p[end] != ' ')
        end++;
    while (before && t.p[before - 1] != ' ')
        before--;
    bool beside = str_starts(str_from(t, end), S(" --")) || str_starts(str_from(t, before), S("--"));
    return beside ? end : i;
}

/* Where an index follows a name, as in "messages.12.content.0.image" and "input[1].content": what is behind the name
 * says where in the request it is, and nothing of what is wrong there. */
static bool is_index(daruma_str t, size_t i)
{
    size_t n = i + 1;
    if ((t.p[i] != '.' && t.p[i] != '[') || !i || !is_letter_at(t, i - 1))
        return false;
    while (n < t.n && ch_digit(t.p[n]))
        n++;
    return n > i + 1 && n < t.n && t.p[n] == (t.p[i] == '[' ? ']' : '.') && (t.p[i] == '[' || is_letter_at(t, n + 1));
}

/* Where the name of a file ends whose kind has the name of a form: "tools.json" complains of no JSON. */
static size_t extension_end(daruma_str t, size_t i)
{
    static const daruma_str kinds[] = {LIT(".json"), LIT(".yaml"), LIT(".yml"), LIT(".xml")};
    daruma_str rest = str_from(t, i);
    for (size_t k = 0; i && char_is(t.p[i - 1], CHAR_LOWER) && k < COUNT(kinds); k++)
        if (str_starts(rest, kinds[k]) && (rest.n == kinds[k].n || !char_is(rest.p[kinds[k].n], CHAR_LOWER)))
            return i + kinds[k].n;
    return i;
}

static size_t skip_indexed(daruma_str t, size_t i)
{
    while (i + 1 < t.n && (char_is(t.p[i + 1], CHAR_LOWER) || memchr(".[]", t.p[i + 1], 3)))
        i++;
    return i - (t.p[i] == '.'); /* that is the end of the sentence */
}

static void set_seam(sentence *s, size_t at, bool is)
{
    uint64_t bit = (uint64_t)1 << at % 64;
    s->seams[at / 64] = is ? s->seams[at / 64] | bit : s->seams[at / 64] & ~bit;
}

/* True if t[i] joins what stands around it to one name: "o1-pro", "r1:free", "`free`". */
static bool is_seam(daruma_str t, size_t i)
{
    if (t.p[i] == '`')
        return true;
    return memchr("-:./_", t.p[i], 5) && i && t.p[i - 1] != ' ' && i + 1 < t.n && t.p[i + 1] != ' ';
}

/* True if the '=' at t[i] joins a name of one word to its value, and another pair stands beside it, as logs write them:
 * "model=glm status=400". */
static bool is_pair(daruma_str t, size_t i)
{
    size_t from = i, end = i + 1, before;
    while (from && ch_alpha(t.p[from - 1]))
        from--;
    if (from == i || !from || t.p[from - 1] != ' ' || end == t.n || t.p[end] == ' ')
        return false;
    while (end < t.n && t.p[end] != ' ')
        end++;
    for (end++; end < t.n && char_is(t.p[end], CHAR_WORD);)
        end++;
    for (before = from - 1; before && t.p[before - 1] != ' ' && t.p[before - 1] != '=';)
        before--;
    return (end < t.n && t.p[end] == '=') || (before && t.p[before - 1] == '=');
}

/* True if `says` may stand from words[n] on, with `left` bytes of the text, a stop and a head behind it. */
static bool has_room(const sentence *s, size_t n, const char *says, size_t left)
{
    return n + strlen(says) + SENTENCE_HEAD < sizeof s->words - left;
}

void sentence_open(sentence *s, daruma_str text, bool is_code)
{
    text = str_sub(text, 0, SENTENCE_BYTES_MAX);
    size_t n = 0;
    s->words[n++] = '_';
    memset(s->seams, 0, sizeof s->seams);
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i], last = s->words[n - 1];
        if (c >= 'a' && c <= 'z') { /* most are */
            s->words[n++] = c;
            continue;
        }
        if (c == ' ') {
            n += last != '_';
            s->words[n - 1] = '_';
            set_seam(s, n - 1, false);
            continue;
        }
        size_t end;
        const char *says;
        char mark = foreign_mark(text, i);
        if (mark) {
            s->words[n++] = mark;
            i += 2;
        } else if (c <= '9' && c >= '0' && last == '_' && (says = duration_at(text, i)) &&
                   has_room(s, n, says, text.n - i))
            while (*says) /* in place of the first digit */
                s->words[n++] = *says++;
        else if ((char_is(c, CHAR_LOWER) && c != '_') || foreign(c))
            s->words[n++] = c;
        else if (c == '\'' && i && i + 1 < text.n && char_is(text.p[i - 1], CHAR_LOWER) &&
                 char_is(text.p[i + 1], CHAR_LOWER))
            continue; /* "doesn't" */
        else if (c == '(' && str_starts(str_from(text, i), S("(): ")))
            while (n > 1 && is_letter(s->words[n - 1])) /* "process(): " says where in the code */
                n--;
        else if (c == '.' && (end = extension_end(text, i)) > i)
            i = end - 1;
        else if (c == ':' && i + 2 < text.n && text.p[i + 1] == '/' && text.p[i + 2] == '/')
            i = skip_url(text, i);
        else if (ends_clause(text, i))
            s->words[n++] = '.';
        else if (ends_lead(text, i))
            s->words[n++] = ':';
        else if (!is_code && c == '=' && is_pair(text, i))
            while (n > 1 && is_letter(s->words[n - 1])) /* the name of a pair says nothing */
                n--;
        else if (is_path(text, i))
            i = skip_url(text, i);
        else if (c == '-' && (end = flag_end(text, i)) > i)
            i = end - 1;
        else if (!is_code && is_index(text, i))
            i = skip_indexed(text, i);
        else if ((says = comparison_at(text, i)) && has_room(s, n, says, text.n - i))
            while (*says)
                s->words[n++] = *says++;
        else {
            n += last != '_';
            s->words[n - 1] = '_';
            set_seam(s, n - 1, !is_code && is_seam(text, i));
        }
    }
    s->words[n] = '.';
    s->n = n + 1;
    memset(s->words + s->n, 0, SENTENCE_HEAD - 1); /* the stop's own head is looked up, too */
    s->at = 0;
}

static uint32_t head_of(const char *p)
{
    uint32_t head;
    memcpy(&head, p, sizeof head);
    return head;
}

static bool fits(const sentence *s, size_t at, const sentence_word *w)
{
    const char *p = s->words + at;
    return w->n < s->n - at && memcmp(p, sentence_text + w->says, w->n) == 0 && (!w->whole || !is_letter(p[w->n]));
}

/* The entry that fits best at `at`, NULL none. Of those with one head, and of those on one shelf, the longest stand
 * first. */
static const sentence_word *word_at(const sentence *s, size_t at)
{
    const char *p = s->words + at;
    int shelf = sentence_shelf(p);
    uint32_t head = head_of(p);
    for (unsigned slot = sentence_slot(p), i; (i = sentence_heads[slot % SENTENCE_SLOTS]); slot++) {
        const sentence_word *w = &sentence_words[i - 1];
        for (; head_of(w->head) == head && w->n >= sizeof w->head; w++)
            if (fits(s, at, w))
                return w;
        if (w != &sentence_words[i - 1])
            break;
    }
    for (size_t i = shelf < 0 ? 0 : sentence_shelves[shelf]; shelf >= 0 && i < sentence_shelves[shelf + 1]; i++)
        if (fits(s, at, &sentence_words[i]))
            return &sentence_words[i];
    return NULL;
}

static bool has_seam(const sentence *s, size_t at)
{
    return s->seams[at / 64] >> at % 64 & 1;
}

/* What a word says where it stands. Words for plans are parts of other names: neither "o1-pro" is a plan nor
 * "generate_content_free_tier_requests". */
static uint64_t means_at(const sentence *s, const sentence_word *w)
{
    if (!(w->means & SENTENCE_PLAN) || foreign(s->words[s->at]))
        return w->means;
    size_t end = s->at + w->n;
    while (is_letter(s->words[end]))
        end++;
    return has_seam(s, s->at - 1) || has_seam(s, end) ? w->means & ~SENTENCE_PLAN : w->means;
}

bool sentence_next(sentence *s, uint64_t *ret_means)
{
    uint64_t all = 0;
    int denied = 0; /* words that are left of what was denied */
    bool any = false;
    while (s->at < s->n && s->words[s->at] != '.' && s->words[s->at] != ':') {
        if (s->words[s->at] == '_') {
            s->at++;
            continue;
        }
        const sentence_word *w = word_at(s, s->at);
        uint64_t means = !w ? 0 : means_at(s, w) | (denied ? w->denied : 0);
        denied = means & SENTENCE_NEGATES ? DENIES_WORDS : denied - (denied > 0);
        all |= means & ~SENTENCE_NEGATES;
        any = true;
        if (foreign(s->words[s->at])) {
            s->at += w ? w->n : 1;
            continue;
        }
        s->at += w ? w->n : 0;
        while (is_letter(s->words[s->at]))
            s->at++;
    }
    s->lead = s->at < s->n && s->words[s->at] == ':';
    s->at++;
    *ret_means = all;
    return any || s->at < s->n;
}

/* Has a word of `text` another meaning than those? */
static bool says_more(daruma_str text, uint64_t than)
{
    char low[SENTENCE_BYTES_MAX];
    sentence read;
    uint64_t means;
    text = str_sub(text, 0, sizeof low);
    for (size_t i = 0; i < text.n; i++)
        low[i] = ch_lower(text.p[i]);
    for (sentence_open(&read, (daruma_str){low, text.n}, false); sentence_next(&read, &means);)
        if (means & ~than)
            return true;
    return false;
}

bool sentence_says(daruma_str text)
{
    return says_more(text, SENTENCE_VAGUE);
}

bool sentence_names_cause(daruma_str text)
{
    return says_more(text, SENTENCE_WHO);
}

bool sentence_outdoes_guess(daruma_str text)
{
    return says_more(text, SENTENCE_WHO | SENTENCE_OUTAGE);
}

/* Behind the ':' of the first lead of `text`; 0: it has none. */
static size_t lead_end(daruma_str text)
{
    daruma_str within = str_sub(text, 0, LEAD_BYTES_MAX);
    size_t colon = str_findch(within, ':'), spaces = 0;
    if (colon == STR_NONE || colon + 1 >= text.n || text.p[colon + 1] != ' ')
        return 0;
    for (size_t i = 0; i < colon; i++) {
        char c = text.p[i];
        if (memchr("\n{[(", c, 4) || char_is(c, CHAR_QUOTE | CHAR_DIGIT) || ends_clause(text, i))
            return 0;
        spaces += c == ' ';
    }
    return spaces + 1 >= LEAD_WORDS_MIN ? colon + 2 : 0;
}

size_t sentence_lead(daruma_str text)
{
    size_t at = 0;
    for (size_t n; (n = lead_end(str_from(text, at))) && at + n < text.n; at += n)
        if (sentence_says(str_sub(text, at, n)))
            break;
    return at && sentence_says(str_from(text, at)) ? at : 0;
}
