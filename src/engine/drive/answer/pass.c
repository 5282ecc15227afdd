/* pass.c - answers that pass through as they come: of paths that are nobody's dialect, of requests that cannot be read,
 * and those that nobody here can read. Only what says no is collected first: credentials are taken out of it.
 */
#include "base/buf.h"
#include "engine/drive/answer/redact_error.h"
#include "engine/drive/answer/relay.h"
#include "engine/drive/attempt.h"

/* The length of the body as its head says it, also to HEAD (RFC 9110 8.6) and of an encoded one. -1 not known. */
static int64_t announced(const session *x)
{
    int64_t n;
    return str_int(relay_field(x, S("content-length")), &n) ? n : -1;
}

/* An address to go on to may be signed, which is no credential of anybody's. */
static void redact_headers(session *x, int status)
{
    if (status < 400)
        session_redact_sent_fields(x, x->answer.headers, x->answer.nheaders);
    else
        session_redact_fields(x, x->answer.headers, x->answer.nheaders);
}

/* What passes through and says no. */
void pass_refused(session *x)
{
    daruma_str body = session_redact(x, buf_str(&x->answer.held));
    bool cut = x->answer.cut;
    relay_head(x, cut ? -1 : (int64_t)body.n);
    session_write(x, body);
    session_done(x, -1, -1, cut ? DRIVE_BREAK : DRIVE_END);
}

/* Its outcome says no more than that it went out: the head says why. */
static void pass_unchecked(session *x, const char *why)
{
    x->answer.unchecked = why;
    x->v->counts.unchecked++;
}

/* The client may be able to read it. */
void pass_coded(session *x)
{
    session_say(x, "answer_not_readable",
                S("the answer is encoded, which was not asked for: it is passed on as it is and cannot be mended"));
    x->answer.mode = ANSWER_PASSED;
    pass_unchecked(x, "encoded");
    relay_head(x, announced(x));
}

void pass_begin(session *x, const drive_head *h)
{
    if (h->status >= 300)
        redact_headers(x, h->status);
    x->answer.mode = h->status >= 400 && !x->client.head_only ? ANSWER_REFUSED : ANSWER_PASSED;
    if (x->answer.mode == ANSWER_PASSED)
        relay_head(x, x->client.head_only ? announced(x) : h->length);
}

/* What was held goes to the connection, which keeps what its reader does not take; here it is not needed again. */
void pass_unread(session *x)
{
    session_say(x, "answer_not_checked",
                S("the answer is too large to be checked: it is passed on as it comes and cannot be mended"));
    pass_unchecked(x, "too large");
    relay_head(x, announced(x));
    relay_forward(x, buf_str(&x->answer.held));
    session_scratch_reset(x);
    x->answer.mode = ANSWER_PASSED;
    x->due.progress_by = -1;
}

/* In place of the fields that say what the body is. */
static void say_json(session *x)
{
    size_t kept = 0;
    for (size_t i = 0; i < x->answer.nheaders; i++)
        if (!str_istarts(x->answer.headers[i].name, S("content-")))
            x->answer.headers[kept++] = x->answer.headers[i];
    x->answer.headers[kept++] =
        (daruma_header){S("content-type"), S("application/json")}; /* at least one was left out */
    x->answer.nheaders = kept;
}

void pass_hide(session *x)
{
    bool ours = session_place(x, x->kase.target).own_key;
    if (!session_passes(x) || !ours || !relay_is_coded(x->answer.headers, x->answer.nheaders))
        return;
    daruma_failure f = {.status = x->answer.status, .wait = -1, .limit = -1, .used = -1, .requested = -1};
    daruma_buf b = buf_in(x->arena);
    session_say(x, "answer_not_readable",
                S("the error is encoded, which was not asked for: its status is passed on, its words are not"));
    BUF_SAY(&b, "The provider answered with HTTP ", x->answer.status, " and an error that is encoded as ",
            str_sub(relay_field(x, S("content-encoding")), 0, CODING_SHOWN_BYTES),
            ", although daruma asked for one that can be read. It may repeat daruma's key, so its words are not passed "
            "on.");
    x->answer.held.n = 0;
    x->answer.cut = false;
    x->speaks->write_error(&x->answer.held, &f, x->answer.status, buf_str(&b), (daruma_str){0});
    say_json(x);
}
