/* fields.c - the header fields of answers, as they came and as the client gets them. */
#include "base/arena.h"
#include "base/buf.h"
#include "engine/drive/agents/steer.h"

daruma_str drive_field(const drive_head *h, daruma_str name)
{
    for (size_t i = 0; i < h->nheaders; i++)
        if (str_ieq(h->headers[i].name, name))
            return h->headers[i].value;
    return (daruma_str){0};
}

/* By length: most names need no comparison. */
static bool is_always_hop_by_hop(daruma_str name)
{
    switch (name.n) {
    case 2:
        return str_ieq(name, S("te"));
    case 6:
        return str_ieq(name, S("expect"));
    case 7:
        return str_ieq(name, S("trailer")) || str_ieq(name, S("upgrade"));
    case 10:
        return str_ieq(name, S("connection")) || str_ieq(name, S("keep-alive"));
    case 14:
        return str_ieq(name, S("http2-settings"));
    case 16:
        return str_ieq(name, S("proxy-connection"));
    case 17:
        return str_ieq(name, S("transfer-encoding"));
    case 18:
        return str_ieq(name, S("proxy-authenticate"));
    case 19:
        return str_ieq(name, S("proxy-authorization"));
    default:
        return false;
    }
}

bool drive_field_is_hop(daruma_str name, daruma_str connection)
{
    return is_always_hop_by_hop(name) || (connection.n && str_lists(connection, name));
}

static daruma_str slice_since(const daruma_buf *b, size_t from)
{
    return str_from(buf_str(b), from);
}

/* Adds the x-daruma fields; what has to be written stands in `text`. */
static void put_own(const session *x, const drive_answer *answer, daruma_str target, daruma_buf *text,
                    daruma_header *out, size_t *n)
{
    const char *unchecked = x->answer.unchecked;
    daruma_str watching = steer_header(x);
    size_t at = text->n;
    out[(*n)++] = (daruma_header){S("x-daruma-outcome"), str_of(daruma_outcome_name(answer->outcome))};
    buf_int(text, session_attempts(x));
    out[(*n)++] = (daruma_header){S("x-daruma-attempts"), slice_since(text, at)};
    at = text->n;
    session_say_remedies(x, text);
    out[(*n)++] = (daruma_header){S("x-daruma-remedies"), slice_since(text, at)};
    if (unchecked)
        out[(*n)++] = (daruma_header){S("x-daruma-unchecked"), str_of(unchecked)};
    if (watching.n)
        out[(*n)++] = (daruma_header){S("x-daruma-watch"), watching};
    at = text->n;
    buf_hex64(text, x->kase.id);
    out[(*n)++] = (daruma_header){S("x-daruma-case"), slice_since(text, at)};
    if (target.n)
        out[(*n)++] = (daruma_header){S("x-daruma-target"), target};
}

daruma_header *session_fields(const session *x, const drive_answer *answer, daruma_str target, size_t *ret_n)
{
    enum { OURS = 7, REMEDY_BYTES = 28, NUMBERS_BYTES = 64 };
    daruma_header *out = ARENA_RAW(answer->a, daruma_header, answer->nheaders + OURS);
    size_t room = NUMBERS_BYTES + x->kase.ndid * REMEDY_BYTES;
    char *text = arena_raw(answer->a, room, 1);
    daruma_str connection = {0};
    *ret_n = 0;
    if (!out || !text)
        return NULL;
    daruma_buf b = buf_over(text, room);
    for (size_t i = 0; i < answer->nheaders; i++)
        if (str_ieq(answer->headers[i].name, S("connection")))
            connection = answer->headers[i].value;
    for (size_t i = 0; i < answer->nheaders; i++) {
        daruma_str name = answer->headers[i].name;
        if (!drive_field_is_hop(name, connection) && !str_ieq(name, S("content-length")) &&
            !str_istarts(name, S("x-daruma-")))
            out[(*ret_n)++] = answer->headers[i];
    }
    put_own(x, answer, target, &b, out, ret_n);
    return out;
}
