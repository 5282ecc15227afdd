/* json.h - reads JSON (RFC 8259) as spans of the text it stands in: nothing is copied, nothing
 * becomes a tree. A value is the slice from its first to its last byte; '{', '[', '"', '-' or
 * a digit, 't', 'f', 'n' at its start say what it is. Strings are skipped a block at a time.
 *
 *     {"model":"m","messages":[...],"stream":true}
 *              ^-^            ^---^          ^--^      values, verbatim
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H
#include "daruma_parts.h"

/* Skips the value that begins at text.p[at] (white space before it allowed) and sets *value to
 * its span. Returns the offset behind it, or STR_NONE when it is broken or cut. Checks strings
 * for control characters and escapes, literals, numbers and brackets; not UTF-8. */
size_t json_skip(daruma_str text, size_t at, daruma_str *value);

/* Is `text` exactly one JSON value with nothing but white space around it? */
bool json_valid(daruma_str text);
/* Like json_valid, and gives the value without the white space. */
bool json_whole(daruma_str text, daruma_str *value);

/* Walks an object or an array. After the last member `bad` tells whether it was broken; if not, `p` stands
 * behind the closing bracket. */
typedef struct json_iter {
    const char *p, *end;
    char close; /* '}' or ']' */
    bool first, bad;
    bool quick; /* set it after json_open: what is passed over within is passed over by the quick ones below */
} json_iter;

json_iter json_open(daruma_str value); /* of anything but an object or array: nothing to walk, bad */
/* The next member. `key` (may be NULL) is the raw span of the name without its quotes. */
bool json_next(json_iter *it, daruma_str *key, daruma_str *value);

/* json_next in two steps, for who looks into the values on the way and wants to read nothing twice: json_step
 * goes to the next member, `p` stands at its value; then json_pass goes over it, or json_enter begins
 * to walk the object or array there and json_leave goes over what was not walked of it. Enter and leave
 * nothing else; leave between members. `value` may be NULL. All but json_enter are false at the end. */
bool json_step(json_iter *it, daruma_str *key);
bool json_pass(json_iter *it, daruma_str *value);
json_iter json_enter(const json_iter *it);
bool json_leave(json_iter *it, json_iter *in, daruma_str *value);

/* Behind the object or array that begins at p, or NULL when it is cut. Looks at strings and brackets
 * only, 64 bytes at a time: several times as fast as json_skip, and blind to what else is wrong. */
const char *json_end_quick(const char *p, const char *end);
/* The same from between two members of it. */
const char *json_rest_quick(const char *p, const char *end);
/* The same for the string whose opening quote is at p. */
const char *json_string_end_quick(const char *p, const char *end);

/* Value of a member of an object; empty when it has none. Of duplicate keys the last wins;
 * keys spelt with escapes are found. */
daruma_str json_get(daruma_str object, daruma_str key);
/* A path of members and array indexes: "error.details.0.reason". */
daruma_str json_path(daruma_str value, const char *path);

/* The text of a string value, unescaped. Borrows when there is nothing to unescape, else
 * lives in `a`. Lone surrogates become U+FFFD. Empty for other values. */
daruma_str json_text(daruma_str value, daruma_arena *a);
/* The same of a text that comes in pieces. Who writes in UTF-16 may cut one between the halves of a character: `*half`
 * is the first one, 0 none, which ended the piece before; it is set to that which ends this one. */
daruma_str json_text_on(daruma_str value, uint16_t *half, daruma_arena *a);
/* Appends the same as json_text(), and the same as buf_json() would write it: with no memory but that of the buffer. */
void json_put_text(daruma_buf *out, daruma_str value);
void json_put_anew(daruma_buf *out, daruma_str value);
bool json_is_string(daruma_str value);
static inline bool json_is_object(daruma_str v)
{
    return v.n && v.p[0] == '{';
}
static inline bool json_is_array(daruma_str v)
{
    return v.n && v.p[0] == '[';
}
static inline bool json_is_number(daruma_str v)
{
    return v.n && (v.p[0] == '-' || (v.p[0] >= '0' && v.p[0] <= '9'));
}
static inline bool json_is_true(daruma_str v)
{
    return v.n == 4 && v.p[0] == 't';
}
static inline bool json_is_null(daruma_str v)
{
    return v.n == 4 && v.p[0] == 'n';
}
/* Is the raw key or string content (without quotes) equal to plain `text`? Escapes are seen through. */
bool json_raw_eq(daruma_str raw, daruma_str text);
/* A number, cut to an integer and saturated; `otherwise` for anything else. */
int64_t json_int(daruma_str value, int64_t otherwise);
/* Members of an object or elements of an array; 0 for anything else. */
size_t json_count(daruma_str value);
#endif
