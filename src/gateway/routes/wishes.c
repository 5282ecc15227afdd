/* wishes.c - what a client asks of daruma itself, in fields that no provider sees:
 *
 *     x-daruma-off: true                  this request passes through, its first failure is final
 *     x-daruma-deadline: 20s              so long the client waits (also x-daruma-deadline-ms: 20000)
 *     x-daruma-on-failure: message        error, message or auto
 *     x-daruma-targets: a/m-1, b/m-2      only these of its model's targets, in this order
 *
 * They narrow what is configured and open nothing: a client cannot name a target that its model does not have. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/str.h"
#include "gateway/inside.h"
#include "gateway/routes/routes.h"
#include "model/kinds.h"

static const daruma_failure *refused(daruma_str name, const char *expects, daruma_arena *a)
{
    daruma_failure *f = ARENA_NEW(a, daruma_failure, 1);
    if (!f)
        return NULL;
    *f = kind_failure(DARUMA_INVALID_PARAMETER, 400);
    f->subject = name;
    f->ours = true;
    f->message = STR_SAY(a, "The header ", name, " has a value that daruma does not know. Set it to ", expects,
                         ", or leave it out.");
    return f;
}

/* True for "true", "1", "on", "yes"; `*known` is false for what is neither that nor its opposite. */
static bool is_on(daruma_str v, bool *known)
{
    static const char *const on[] = {"true", "1", "on", "yes"}, *const off[] = {"false", "0", "off", "no"};
    *known = true;
    if (!v.n) /* it is not there */
        return false;
    for (size_t i = 0; i < COUNT(on); i++)
        if (str_ieq(v, str_of(on[i])))
            return true;
    *known = false;
    for (size_t i = 0; i < COUNT(off); i++)
        *known |= str_ieq(v, str_of(off[i]));
    return false;
}

bool wishes_off(const http_head *h)
{
    bool known;
    return is_on(str_trim(http_header(h, S("x-daruma-off"))), &known);
}

static const daruma_str deadline_name = LIT("x-daruma-deadline"), deadline_ms_name = LIT("x-daruma-deadline-ms");

/* Milliseconds of a deadline; -1: none was said. Returns the name of the header that cannot be read, or an empty one.
 */
static daruma_str read_deadline(const http_head *h, daruma_ms *ret)
{
    daruma_str v = str_trim(http_header(h, deadline_name)), ms = str_trim(http_header(h, deadline_ms_name));
    size_t used = 0;
    int64_t n;
    *ret = -1;
    if (ms.n && (!str_int(ms, &n) || n <= 0))
        return deadline_ms_name;
    if (ms.n)
        *ret = n;
    if (v.n) {
        n = date_duration(v, &used);
        if (n <= 0 || used != v.n)
            return deadline_name;
        *ret = n;
    }
    return (daruma_str){0};
}

/* Options of this request alone; NULL without memory. */
static drive_options *own_options(session_request *q, drive_options *own, daruma_arena *a)
{
    if (!own && (own = ARENA_NEW(a, drive_options, 1))) {
        *own = *q->options;
        q->options = own;
    }
    return own;
}

void wishes_read(const http_head *h, session_request *q, daruma_arena *a)
{
    static const daruma_str off_name = LIT("x-daruma-off"), failure_name = LIT("x-daruma-on-failure");
    daruma_str off = str_trim(http_header(h, off_name)), failure = str_trim(http_header(h, failure_name));
    drive_options *own = NULL;
    daruma_ms waits;
    bool known = true;
    if (is_on(off, &known) && (own = own_options(q, own, a))) {
        daruma_policy *p = ARENA_NEW(a, daruma_policy, 1);
        if (p) {
            *p = *own->policy;
            p->enabled = false;
            own->policy = p;
        }
    }
    if (!known)
        q->refused = refused(off_name, "true or false", a);
    if (failure.n && (own = own_options(q, own, a))) {
        daruma_str words = S(DRIVE_FORM_WORDS);
        int form = 0;
        while (words.n && !str_ieq(failure, str_cut(&words, ' ')))
            form++;
        if (form > DRIVE_FORM_MESSAGE)
            q->refused = refused(failure_name, "error, message or auto", a);
        else
            own->on_failure = (drive_form)form;
    }
    daruma_str wrong = read_deadline(h, &waits);
    if (wrong.n)
        q->refused = refused(wrong, wrong.p == deadline_name.p ? "a duration like 20s" : "milliseconds like 20000", a);
    else if (waits > 0) {
        q->waits = waits;
        q->until_head = false;
    }
}

/* Is the target one that is meant: "provider/model", or "provider" for all of that one? */
static bool is_meant(const daruma_target *t, daruma_str name)
{
    daruma_str model = name, provider = str_cut(&model, '/');
    return str_eq(provider, t->provider) && (provider.n == name.n || str_eq(model, t->model));
}

const daruma_target *wishes_targets(const http_head *h, const daruma_target *t, size_t *n, daruma_arena *a)
{
    daruma_str names = http_header(h, S("x-daruma-targets"));
    if (!names.n || !t)
        return t;
    daruma_target *own = ARENA_NEW(a, daruma_target, *n ? *n : 1);
    bool *taken = ARENA_NEW(a, bool, *n ? *n : 1);
    size_t k = 0;
    for (size_t i = 0; taken && i < *n; i++)
        taken[i] = false;
    while (own && taken && names.n) {
        daruma_str name = str_trim(str_cut(&names, ','));
        for (size_t i = 0; i < *n; i++)
            if (!taken[i] && !t[i].reserve && is_meant(&t[i], name)) {
                own[k++] = t[i];
                taken[i] = true;
            }
    }
    *n = k;
    return own;
}
