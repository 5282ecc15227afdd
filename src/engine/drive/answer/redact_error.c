/* redact_error.c - removes from a provider's error what looks like a credential, whoever's it is: a gateway in between
 * may name the key that it called with. All other bytes stay, and JSON stays JSON: there each string is read without
 * its escapes, and written anew only when something was taken out of it. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/limits.h"
#include "engine/drive/answer/redact_error.h"
#include "engine/tell/redact.h"

/* The text of a member of that name, without credentials; the name may be what tells that it is one. */
static daruma_str redact_member(daruma_str name, daruma_str text, daruma_arena *a)
{
    daruma_str clean = redact_credentials(text, a);
    /* Names of one word say less: "key" is a place in a schema as often. */
    bool one_word = str_findch(name, '_') == STR_NONE && str_findch(name, '-') == STR_NONE;
    if (one_word || clean.p != text.p)
        return clean;
    daruma_buf line = buf_in(a);
    buf_put(&line, name);
    BUF_LIT(&line, ": ");
    buf_put(&line, text);
    clean = redact_credentials(buf_str(&line), a);
    return line.full ? (daruma_str){0} : clean.p == line.p ? text : str_from(clean, name.n + 2);
}

/* Behind the string that begins at t[at]. */
static size_t string_end(daruma_str t, size_t at)
{
    for (at++; at < t.n && t.p[at] != '"'; at++)
        at += t.p[at] == '\\';
    return at < t.n ? at + 1 : t.n;
}

static bool is_name(daruma_str t, size_t end)
{
    while (end < t.n && ch_space(t.p[end]))
        end++;
    return end < t.n && t.p[end] == ':';
}

/* Of valid JSON. */
static daruma_str redact_json(daruma_str t, daruma_arena *a)
{
    daruma_buf out = buf_in(a);
    daruma_str name = {0};
    size_t done = 0;
    for (size_t i = 0; i < t.n; i++) {
        if (t.p[i] != '"')
            continue;
        size_t end = string_end(t, i);
        if (is_name(t, end)) {
            name = str_sub(t, i + 1, end - i - 2);
        } else {
            daruma_str text = json_text(str_sub(t, i, end - i), a), clean = redact_member(name, text, a);
            if (clean.p != text.p) {
                buf_put(&out, str_sub(t, done, i - done));
                buf_json(&out, clean);
                done = end;
            }
        }
        i = end - 1;
    }
    if (!done)
        return t;
    buf_put(&out, str_from(t, done));
    return out.full || a->full ? (daruma_str){0} : buf_str(&out);
}

/* Coded or other bytes are nobody's words. */
static bool is_text(daruma_str t)
{
    unsigned char odd = 0;
    for (size_t i = 0; i < t.n; i++) {
        unsigned char c = (unsigned char)t.p[i];
        odd |= (c < ' ') & (c != '\t') & (c != '\n') & (c != '\r');
    }
    return !odd;
}

/* An event of a stream: its lines, of which those with data may be JSON. */
static daruma_str redact_event(daruma_str t, daruma_arena *a)
{
    daruma_buf out = buf_in(a);
    bool did = false;
    for (daruma_str rest = t; rest.n;) {
        size_t end = str_findch(rest, '\n');
        daruma_str line = end == STR_NONE ? rest : str_sub(rest, 0, end + 1), data = str_from(line, 5);
        bool json = str_starts(line, S("data:")) && json_valid(str_trim(data));
        daruma_str was = json ? data : line, clean = json ? redact_json(data, a) : redact_credentials(line, a);
        buf_put(&out, str_sub(line, 0, line.n - was.n));
        buf_put(&out, clean);
        did |= clean.p != was.p;
        rest = str_from(rest, line.n);
    }
    return out.full ? (daruma_str){0} : did ? buf_str(&out) : t;
}

/* Who names a key does so in an error message, not behind 256 KiB of it: what follows goes as it is, unread. */
static daruma_str redact_head(daruma_str text, daruma_arena *a)
{
    daruma_str head = str_sub(text, 0, CLASSIFY_BODY_BYTES_MAX), clean = redact_credentials(head, a);
    daruma_buf out = buf_in(a);
    if (clean.p == head.p)
        return text;
    buf_put(&out, clean);
    buf_put(&out, str_from(text, head.n));
    return out.full ? (daruma_str){0} : buf_str(&out);
}

daruma_str session_redact(session *x, daruma_str text)
{
    daruma_arena *a = x->arena;
    text = session_redact_sent(x, text);
    if (!text.n || !is_text(text))
        return text;
    if (text.n > CLASSIFY_BODY_BYTES_MAX)
        return redact_head(text, a);
    if (json_valid(str_trim(text)))
        return redact_json(text, a);
    bool event = str_starts(text, S("data:")) || str_find(text, S("\ndata:")) != STR_NONE;
    return event ? redact_event(text, a) : redact_credentials(text, a);
}

/* A cookie is a credential, but the one that this client is to come back with. */
void session_redact_fields(session *x, daruma_header *fields, size_t n)
{
    session_redact_sent_fields(x, fields, n);
    for (size_t i = 0; i < n; i++)
        if (!str_ieq(fields[i].name, S("set-cookie")) && is_text(fields[i].value))
            fields[i].value = redact_credentials(fields[i].value, x->arena);
}

/* ---- those that the host knows ---- */

static const daruma_target *target_of(const session *x, int i)
{
    return i >= 0 && (size_t)i < x->kase.ntargets ? &x->targets[i] : NULL;
}

daruma_str session_redact_sent(session *x, daruma_str text)
{
    return session_redact_sent_of(x, x->kase.target, x->call.secret, text);
}

daruma_str session_redact_sent_of(session *x, int target, daruma_str secret, daruma_str text)
{
    if (text.n && x->v->host->redact)
        x->v->host->redact(x->user, target_of(x, target), secret, &text, 1);
    return text;
}

void session_redact_sent_fields(session *x, daruma_header *fields, size_t n)
{
    daruma_str *values = ARENA_NEW(x->arena, daruma_str, n);
    if (!n || !x->v->host->redact)
        return;
    for (size_t i = 0; values && i < n; i++)
        values[i] = fields[i].value;
    if (values)
        x->v->host->redact(x->user, target_of(x, x->kase.target), x->call.secret, values, n);
    for (size_t i = 0; i < n; i++)
        fields[i].value = values ? values[i] : (daruma_str){0};
}
