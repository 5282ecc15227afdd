/* pieces.c - arguments that Gemini streams (streamFunctionCallArguments, on Vertex AI alone), put together
 * as JSON: https://docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling#streaming-fc
 *
 *     {"name":"light","willContinue":true}
 *     {"partialArgs":[{"jsonPath":"$.at[0].room","stringValue":"kit","willContinue":true}],"willContinue":true}
 *     {"partialArgs":[{"jsonPath":"$.at[0].room","stringValue":"chen"}],"willContinue":true}     {}
 *     -->  {"at":[{"room":"kit        chen"        }]}
 *
 * Values come in the order in which they stand in the arguments. What is remembered is the path of the newest one, and
 * the members that were begun: one that was left and is entered again cannot be written where it stands. */
#include "dialect/gemini/gemini.h"
#include "base/arena.h"
#include "base/map.h"

/* A path, split: what each level is asked for. */
typedef struct piece_path {
    struct {
        daruma_str name; /* of a member; empty: of an element */
        int64_t at;      /* of an element, -1: of a member */
    } steps[PIECE_DEPTH_MAX];
    size_t n;
} piece_path;

gemini_call gemini_call_of(daruma_str call)
{
    bool named = value_given(json_get(call, S("name"))), args = json_count(json_get(call, S("args"))) > 0;
    bool pieces = json_is_array(gemini_get(call, S("partialArgs"))),
         more = json_is_true(gemini_get(call, S("willContinue")));
    if (!named)
        return args ? GEMINI_CALL_WHOLE : GEMINI_CALL_GOES_ON;
    return !args && (pieces || more) ? GEMINI_CALL_BEGINS : GEMINI_CALL_WHOLE;
}

void gemini_begin_pieces(turn_reader *r, int nth)
{
    block_open(r, nth, DELTA_CALL);
    r->path = (daruma_str){0};
    r->entered = NULL;
    r->in_piece = false;
}

/* ---- paths ---- */

/* A name between quotes, or an index, in brackets: *rest begins behind the first one. */
static bool take_bracket(daruma_str *rest, piece_path *p)
{
    daruma_str inside = *rest;
    char quote = rest->n ? rest->p[0] : 0;
    size_t end = 0;
    if (quote == '\'' || quote == '"') {
        for (end = 1; end < rest->n && rest->p[end] != quote; end++)
            end += rest->p[end] == '\\';
        if (end + 1 >= rest->n || rest->p[end + 1] != ']')
            return false;
        p->steps[p->n].name = str_sub(inside, 1, end - 1);
        p->steps[p->n++].at = -1;
        *rest = str_from(*rest, end + 2);
        return true;
    }
    end = str_findch(*rest, ']');
    int64_t at = end == STR_NONE ? -1 : json_int(str_sub(inside, 0, end), -1);
    if (at < 0)
        return false;
    p->steps[p->n].name = (daruma_str){0};
    p->steps[p->n++].at = at;
    *rest = str_from(*rest, end + 1);
    return true;
}

/* "$.foo.bar[0]['data']" (RFC 9535, of one value). */
static bool read_path(daruma_str path, piece_path *p)
{
    p->n = 0;
    if (!str_starts(path, S("$")))
        return false;
    for (daruma_str rest = str_from(path, 1); rest.n;) {
        char sign = rest.p[0];
        rest = str_from(rest, 1);
        if (p->n == PIECE_DEPTH_MAX || (sign != '.' && sign != '['))
            return false;
        if (sign == '[') {
            if (!take_bracket(&rest, p))
                return false;
            continue;
        }
        size_t n = 0;
        while (n < rest.n && rest.p[n] != '.' && rest.p[n] != '[')
            n++;
        if (!n)
            return false;
        p->steps[p->n].name = str_sub(rest, 0, n);
        p->steps[p->n++].at = -1;
        rest = str_from(rest, n);
    }
    return p->n > 0 && p->steps[0].at < 0;
}

static bool same_step(const piece_path *p, const piece_path *q, size_t i)
{
    return p->steps[i].at == q->steps[i].at && str_eq(p->steps[i].name, q->steps[i].name);
}

/* The members on the way to a value, from level `from` on, are begun. False: the first of them was before, or the arena
 * is full. */
static bool enter(turn_reader *r, const piece_path *p, size_t from, daruma_arena *a)
{
    daruma_buf way = buf_in(a);
    if (!r->entered && (r->entered = ARENA_NEW(r->keep, str_map, 1)))
        *r->entered = (str_map){0};
    for (size_t i = 0; r->entered && i < p->n; i++) {
        bool member = p->steps[i].at < 0;
        buf_putc(&way, member ? '.' : '[');
        member ? buf_json(&way, p->steps[i].name) : buf_int(&way, p->steps[i].at);
        if (member && i >= from && !map_add(r->entered, r->keep, arena_copy(r->keep, buf_str(&way))))
            return false;
    }
    return r->entered && !r->keep->full && !way.full;
}

/* ---- JSON ---- */

static void put_name(daruma_buf *out, daruma_str name, daruma_arena *a)
{
    daruma_buf plain = buf_in(a);
    for (size_t i = 0; i < name.n; i++) {
        i += name.p[i] == '\\' && i + 1 < name.n;
        buf_putc(&plain, name.p[i]);
    }
    buf_json(out, buf_str(&plain));
    buf_putc(out, ':');
}

/* Leaves what stands at levels `from` and deeper: the brackets around it. */
static void put_brackets(daruma_buf *out, const piece_path *p, size_t from)
{
    for (size_t i = p->n; i-- > from;)
        buf_putc(out, p->steps[i].at < 0 ? '}' : ']');
}

/* From the value at the old path to the one at the new. False: it is no later one. */
static bool put_way(turn_reader *r, daruma_buf *out, const piece_path *old, const piece_path *new, daruma_arena *a)
{
    size_t same = 0;
    while (same < old->n && same < new->n &&same_step(old, new, same))
        same++;
    if (same == new->n || (old->n && same == old->n))
        return false;
    bool first = !old->n;
    int64_t before = first ? -1 : old->steps[same].at, at = new->steps[same].at;
    if (!first && (at < 0) != (before < 0))
        return false;
    if (!first && at >= 0 && at != before + 1)
        return false;
    if (!enter(r, new, same, a))
        return false;
    put_brackets(out, old, same + 1);
    buf_putc(out, first ? '{' : ',');
    for (size_t i = same; i < new->n; i++) {
        if (i > same)
            buf_putc(out, new->steps[i].at < 0 ? '{' : '[');
        if (i > same && new->steps[i].at > 0)
            return false;
        if (new->steps[i].at < 0)
            put_name(out, new->steps[i].name, a);
    }
    return true;
}

/* What a piece has, as JSON; empty: nothing. */
static daruma_str value_of(daruma_str piece)
{
    static const daruma_str names[] = {LIT("stringValue"), LIT("numberValue"), LIT("boolValue")};
    for (size_t i = 0; i < COUNT(names); i++) {
        daruma_str value = gemini_get(piece, names[i]);
        if (value.n)
            return value;
    }
    bool null =
        json_get(piece, S("nullValue")).n || json_get(piece, S("null_value")).n; /* its value may be null, too */
    return null ? S("null") : (daruma_str){0};
}

/* One value, or a piece of a string. False: it cannot be told what it is. */
static bool put_value(turn_reader *r, daruma_str piece, daruma_buf *out, daruma_arena *a)
{
    daruma_str path = json_text(gemini_get(piece, S("jsonPath")), a), value = value_of(piece);
    bool more = json_is_true(gemini_get(piece, S("willContinue")));
    piece_path old, new;
    if (r->in_piece) {
        if (!str_eq(path, r->path) || (value.n && !json_is_string(value)))
            return false;
    } else if (!value.n) {
        return true; /* nothing is said yet */
    } else {
        old.n = 0;
        if (!read_path(path, &new) || (r->path.n && !read_path(r->path, &old)) || !put_way(r, out, &old, &new, a))
            return false;
        r->path = arena_copy(r->keep, path);
        if (!r->path.n)
            return false;
    }
    if (!json_is_string(value) && !r->in_piece) {
        buf_put(out, value);
        return true;
    }
    if (!r->in_piece)
        buf_putc(out, '"');
    buf_put(out, value_raw(value));
    if (!more)
        buf_putc(out, '"');
    r->in_piece = more;
    return true;
}

bool gemini_put_piece(turn_reader *r, daruma_str call, daruma_buf *out, daruma_arena *a)
{
    daruma_str piece;
    for (json_iter it = json_open(gemini_get(call, S("partialArgs"))); r->keep && json_next(&it, NULL, &piece);)
        r->lost |= !put_value(r, piece, out, a);
    return !json_is_true(gemini_get(call, S("willContinue")));
}

void gemini_close_pieces(turn_reader *r, daruma_buf *out)
{
    piece_path p = {.n = 0};
    if (r->in_piece)
        buf_putc(out, '"');
    if (r->path.n && read_path(r->path, &p))
        put_brackets(out, &p, 0);
    else if (r->keep)
        BUF_LIT(out, "{}");
    r->open = -1;
    r->open_kind = DELTA_OTHER;
    r->path = (daruma_str){0};
    r->entered = NULL;
    r->in_piece = false;
}
