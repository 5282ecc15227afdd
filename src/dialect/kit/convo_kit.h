/* convo_kit.h - what the readers and writers of whole conversations share: finding members, walking an object or a
 * list and replacing some of it, carrying patches out, composing JSON. Only files of src/dialect include it.
 *
 *     { "role":"user" ,  "content":"old" }        splice_next: key and value of each member, in turn
 *       ^--- keep ---^   ^--key--^ put ^          splice_keep: as it was; splice_key: its name, the caller puts a
 * value; neither: it goes. splice_add: one more. splice_close: the bracket */
#ifndef DIALECT_KIT_CONVO_KIT_H
#define DIALECT_KIT_CONVO_KIT_H
#include "dialect/kit/parts.h"
#include "model/convo.h"

/* ---- reading ---- */

typedef struct field {
    daruma_str key;   /* plain */
    daruma_str value; /* raw JSON; empty: the object has none */
} field;

/* Finds the values of `n` members in one walk; of duplicates the last wins. The object must be valid JSON (it was
 * walked before); of anything but an object nothing is found. */
void fields_of(daruma_str object, field *f, size_t n);
void field_take(field *f, size_t n, daruma_str key, daruma_str value); /* one member, for who walks it */
/* The same of a whole body, which is checked: EINPUT when it is not one JSON object, EDEEP when it is nested deeper
 * than JSON_DEPTH_MAX. */
daruma_status fields_of_body(daruma_str body, field *f, size_t n);
#define FIELDS(f) (f), COUNT(f)
#define FIELD(name)                                                                                                    \
    {                                                                                                                  \
        .key = LIT(name)                                                                                               \
    }
/* A list of members, X(symbol, key), as their enum and as the fields to begin with. */
#define FIELD_SYMBOL(symbol, name) symbol,
#define FIELD_KEY(symbol, name)    [symbol] = {.key = LIT(name)},
/* The same, and how many elements the list has that f[which] is (0 when it is no list), counted in the same walk:
 * histories are long, and room for all of them is taken at once. */
daruma_status fields_of_request(daruma_str body, field *f, size_t n, size_t which, size_t *ret_count);
/* For who walks a body alone: passes the value at the iterator and counts its elements, if it is a list. Then the
 * status of a body from whole_open when its walk has ended. */
bool pass_counted(json_iter *it, size_t *ret_count, daruma_str *value);
daruma_status whole_status(daruma_str body, const json_iter *it);

json_iter quick_open(daruma_str value); /* json_open of what was checked before */
/* The decoded text of a string; empty for anything else. In the convo's arena when it must be unescaped. */
daruma_str text_of(convo *c, daruma_str value);
bool null_or_none(daruma_str value);
int tri_of(daruma_str value); /* true 1, false 0, else -1 */
/* A data URL becomes type and base64, any other URL stays one. Into p->media, media_type, media_url. */
void media_from_url(convo_part *p, daruma_str url);
/* Hands over each element of a list, the i-th of `of`, as long as there is memory; of anything else none. */
void read_each(convo *c, daruma_str list, void (*one)(convo *c, daruma_str raw, size_t i, size_t of));
/* One more tool; NULL without memory. Takes the room for all (`of`: elements of the list) with the first. */
convo_tool *tool_add(convo *c, daruma_str raw, size_t of);

/* What a response format of OpenAI asks for; a schema and its name stand in `schema`. */
void format_read(convo *c, daruma_str format, daruma_str schema);
/* Numbers and stops that are null are not said. */
void settings_tidy(convo_settings *s);

/* ---- walking and replacing ---- */

typedef struct splice {
    daruma_buf *out;
    json_iter it;
    const char *at;      /* behind what is copied or passed over last */
    const char *from;    /* where the member in hand begins: its name or value */
    daruma_str value;    /* of the member in hand */
    size_t passed, kept; /* members seen, written */
    char close;
} splice;

/* An object or list that was read; anything else: an object without members. Writes the bracket. */
splice splice_open(daruma_buf *out, daruma_str value);
bool splice_next(splice *s, daruma_str *key, daruma_str *value);
void splice_keep(splice *s);                   /* verbatim */
void splice_key(splice *s);                    /* up to its value, which the caller writes */
void splice_named(splice *s, daruma_str name); /* the same with another name */
void splice_add(splice *s, daruma_str name);   /* a new member; in a list an element, `name` empty */
void splice_close(splice *s);                  /* after the last splice_next */

/* A member of an object that is not written as it was read. */
typedef struct change {
    daruma_str key;  /* its name; with `at` only of one that comes anew */
    const char *at;  /* where its value stands; NULL: all of that name are meant */
    daruma_str text; /* what it says from here on, as a string, verbatim where it says that already; or */
    bool (*put)(const convo *c, const void *of, daruma_str old, daruma_buf *out); /* writes its value; false: it goes */
    bool add;                                                                     /* it comes where it is not */
} change;
/* Writes an object with `n` members changed; `of` is for `put`. Of what is no object an object is made. Returns how
 * many members were written. */
size_t put_changed(daruma_buf *out, daruma_str object, const change *changes, size_t n, const convo *c, const void *of);

/* Writes elements in an order of our own, with the white space and commas of the list they came from wherever two
 * follow each other as there. */
typedef struct weave {
    daruma_buf *out;
    daruma_str list; /* empty: a new one */
    const char *at;  /* behind the element that was written last; NULL: it is none of the list */
    size_t n;        /* elements written */
} weave;
weave weave_open(daruma_buf *out, daruma_str list); /* writes the bracket */
void weave_next(weave *w, daruma_str raw);          /* what stands before an element that came as `raw` or is new */
void weave_raw(weave *w, daruma_str raw);           /* the same and the element, verbatim */
void weave_close(weave *w);

/* ---- whole bodies ---- */

/* A member of the body that is not written as it was read. `put` writes its value, `old` is what stands there
 * (empty: nothing), and returns false when it has none: then the member goes, or does not come. */
typedef struct body_member {
    daruma_str key;
    bool (*put)(const convo *c, daruma_str old, daruma_buf *out);
} body_member;
enum { BODY_MEMBERS_MAX = 8 };
/* c->body with those members and the patches. Nothing edited: c->body. A conversation that was not read from one is
 * written by `compose`. */
void body_write(const convo *c, const body_member *m, size_t n, void (*compose)(const convo *c, daruma_buf *out),
                daruma_buf *out);

/* The first call with that id; NULL when there is none. For what body_write calls: the conversation is looked through
 * once. */
const convo_part *call_of_id(const convo *c, daruma_str id);

/* ---- composing: commas come by themselves ---- */

void put_key(daruma_buf *out, const char *key);                   /* ,"key": */
void put_open(daruma_buf *out, char bracket);                     /* as an element: ,{ */
void put_text(daruma_buf *out, const char *key, daruma_str text); /* ,"key":"text" */
void put_raw(daruma_buf *out, const char *key, daruma_str raw);   /* ,"key":raw; nothing when raw is empty */
void put_int(daruma_buf *out, const char *key, int64_t n);        /* nothing when n < 0 */
void put_bool(daruma_buf *out, const char *key, bool yes);
/* A member whose value is a text of its own: verbatim when it says the same already. */
void put_same(daruma_buf *out, daruma_str old, daruma_str text);
/* What a part says, as a JSON string. */
void put_said(daruma_buf *out, const convo *c, const convo_part *p);
/* The role of a message that is written anew: one that was never a name stays what it was. */
void put_role(daruma_buf *out, daruma_str old, const convo_message *m, daruma_str role);
/* "data:image/png;base64,...", or the URL; as a JSON string. */
void put_media_url(daruma_buf *out, const convo_part *p);
/* ,"key": and what `put` writes of the conversation; nothing when that has no value. */
void put_by(daruma_buf *out, const char *key, bool (*put)(const convo *c, daruma_str old, daruma_buf *out),
            const convo *c);
/* ,"tools": and the tools that the client runs, each an object whose members `put` writes, between `head` and `tail`.
 * False, and nothing: there are none. */
bool put_tools(const convo *c, const char *head, void (*put)(const convo_tool *t, daruma_buf *out), const char *tail,
               daruma_buf *out);
/* ,"tool_choice":... and ,"parallel_tool_calls":... as OpenAI's two dialects have them. `within`: the name of a tool
 * stands in an object "function". */
void openai_put_choice(const convo_settings *s, bool within, daruma_buf *out);
/* Name, schema and strictness of a response format, as members. */
void openai_put_schema(const convo_settings *s, daruma_buf *out);
/* Stop sequences as a list, also when it is only one; nothing when there are none. */
void put_stops(daruma_buf *out, const char *key, daruma_str stop);
/* The arguments of a call (a part) as a JSON object: other text is wrapped. Always true, for put_changed(). */
bool put_arguments(const convo *c, const void *call, daruma_str old, daruma_buf *out);

/* ---- composing: what a message or a result holds ---- */

/* How a wire writes parts of it. */
typedef struct content_wire {
    bool (*has)(const convo *c, const convo_part *p);                  /* is there anything to write of a part? */
    void (*put)(const convo *c, const convo_part *p, daruma_buf *out); /* one that is not as it was read */
} content_wire;
/* Parts as a string where that is what they are and were, else as a list. `old`: the content as it came. */
void content_put(const convo *c, const content_wire *w, const convo_part *const *parts, size_t n, daruma_str old,
                 daruma_buf *out);
/* The same of what a result says. */
void content_put_result(const convo *c, const content_wire *w, const convo_part *p, daruma_buf *out);
/* {"type":"text","text":...}, for a part that is new. */
void put_text_block(const convo *c, const convo_part *p, daruma_buf *out);

/* ---- parts ---- */

static inline bool part_as_read(const convo_part *p)
{
    return p->raw.n && !p->edited && !p->dropped;
}
/* True if what a part says is still the JSON string it was read from: it is written without being decoded first. */
static inline bool part_encoded(const convo_part *p)
{
    return !p->ready && !p->text.n && !(p->kind == PART_RESULT && p->parts) && json_is_string(p->value);
}
/* True if it says anything. */
static inline bool part_says(const convo *c, const convo_part *p)
{
    return part_encoded(p) ? p->value.n > 2 : convo_part_text(c, p).n > 0;
}
static inline bool part_lives(const convo_part *p, part_kind kind)
{
    return p->kind == kind && !p->dropped;
}
static inline bool lies_in(daruma_str inner, daruma_str outer)
{
    return inner.n && outer.n && inner.p >= outer.p && inner.p + inner.n <= outer.p + outer.n;
}
#endif
