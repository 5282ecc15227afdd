/* hint.c - a tool often says what to do about its failure: in a member that is named so, in a line that begins so, or
 * as "did you mean ...?". A model that is shown failures shortly needs these words more than any other. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "engine/watch/hint.h"
#include "engine/watch/same/line.h"

/* Names of members and beginnings of lines, in small letters; '_', '-', white space and case make no difference. */
static const daruma_str names[] = {
    LIT("suggestion"),       LIT("suggestions"),  LIT("hint"),     LIT("hints"),      LIT("nextstep"),
    LIT("nextsteps"),        LIT("remedy"),       LIT("remedies"), LIT("didyoumean"), LIT("suggestedaction"),
    LIT("suggestedactions"), LIT("suggestedfix"), LIT("howtofix"), LIT("resolution"),
};

typedef struct reader {
    daruma_arena *a;
    daruma_str message; /* what is shown besides */
    daruma_buf out;
} reader;

static bool is_name(daruma_str key)
{
    for (size_t i = 0; i < COUNT(names); i++) {
        size_t k = 0, n = 0;
        while (k < key.n && n < names[i].n) {
            if (key.p[k] == '_' || key.p[k] == '-' || key.p[k] == ' ')
                k++;
            else if (ch_lower(key.p[k]) == names[i].p[n])
                k++, n++;
            else
                break;
        }
        if (k == key.n && n == names[i].n)
            return true;
    }
    return false;
}

/* Adds words that were not said yet. */
static void add(reader *r, daruma_str text)
{
    text = str_trim(line_flat(line_plain(text, r->a), r->a));
    size_t room = r->out.n + 2 < TOOL_HINT_BYTES_MAX ? TOOL_HINT_BYTES_MAX - r->out.n - 2 : 0;
    if (!text.n || !room || str_find(r->message, text) != STR_NONE || str_find(buf_str(&r->out), text) != STR_NONE)
        return;
    if (r->out.n)
        BUF_LIT(&r->out, "; ");
    buf_put(&r->out, line_within(text, room));
}

/* All that a member with such a name holds. */
static void add_value(reader *r, daruma_str value, int level)
{
    daruma_str v;
    int i = 0;
    if (json_is_string(value))
        add(r, json_text(value, r->a));
    else if (json_is_array(value) && level < TOOL_HINT_LEVELS_MAX)
        for (json_iter it = json_open(value); i < TOOL_FACTS_MEMBERS_MAX && json_next(&it, NULL, &v); i++)
            add_value(r, v, level + 1);
    else if (json_is_object(value) && json_count(value) > 0)
        add(r, value);
}

/* The sentence around text[at]: from behind the end of the one before to its own end. */
static daruma_str sentence_at(daruma_str text, size_t at)
{
    size_t from = at, end = at;
    while (from && text.p[from - 1] != '\n' &&
           !(ch_space(text.p[from - 1]) && from > 1 && strchr(".!?;", text.p[from - 2])))
        from--;
    while (end < text.n && text.p[end] != '\n' && text.p[end] != '?')
        end++;
    end += end < text.n && text.p[end] == '?';
    return str_sub(text, from, end - from);
}

/* Lines that begin with such a name and a colon, and every "did you mean". */
static void read_words(reader *r, daruma_str text)
{
    daruma_str rest = text;
    while (rest.n) {
        daruma_str line = str_trim(str_cut(&rest, '\n'));
        size_t colon = str_findch(str_sub(line, 0, 32), ':');
        if (colon != STR_NONE && is_name(str_sub(line, 0, colon)))
            add(r, str_from(line, colon + 1));
    }
    for (size_t at = 0, n; (n = str_ifind(str_from(text, at), S("did you mean"))) != STR_NONE;) {
        daruma_str said = sentence_at(text, at + n);
        add(r, said);
        at = (size_t)(said.p + said.n - text.p);
    }
}

static void read_json(reader *r, daruma_str value, int level)
{
    daruma_str key, v, text = json_is_string(value) ? json_text(value, r->a) : value;
    bool array = json_is_array(value);
    int i = 0;
    if (level > TOOL_HINT_LEVELS_MAX)
        return;
    if (json_is_string(value)) { /* perhaps JSON in a string, as MCP has it */
        daruma_str whole = {0};
        if (json_whole(text, &whole) && (json_is_object(whole) || json_is_array(whole)))
            read_json(r, whole, level + 1);
        else
            read_words(r, text);
        return;
    }
    if (!array && !json_is_object(value))
        return;
    for (json_iter it = json_open(value); i < TOOL_FACTS_MEMBERS_MAX && json_next(&it, &key, &v); i++)
        if (!array && is_name(key))
            add_value(r, v, level);
        else
            read_json(r, v, level + 1);
}

daruma_str hint_of(daruma_str result, daruma_str message, daruma_arena *a)
{
    reader r = {.a = a, .message = message, .out = buf_in(a)};
    daruma_str whole = {0};
    if (json_whole(result, &whole) && (json_is_object(whole) || json_is_array(whole)))
        read_json(&r, whole, 0);
    else
        read_words(&r, result);
    return r.out.full ? (daruma_str){0} : daruma_redact(buf_str(&r.out), a);
}
