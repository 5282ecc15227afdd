/* adapt.c - the request as one target takes it: in its dialect, without what only another provider's model thought,
 * and with what is known of the target done to it. It is made in memory of its own that is given back at once; what
 * stays is the bytes, and the names of tools that changed. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "engine/drive/attempt.h"
#include "engine/drive/mend/mending.h"
#include "engine/drive/mend/recall.h"
#include "engine/drive/request/adapt.h"
#include "engine/drive/request/apis.h"
#include "engine/mend/request/request.h"

/* One conversion: what it is made from, which nobody changes meanwhile, and what came of it. */
typedef struct conversion {
    const drive_rooms *rooms;
    const dialect *from, *to;
    daruma_str body, model;
    int target;
    bool streaming;
    bool strange;      /* what another provider's model thought is left out */
    size_t room_bytes; /* of memory, at most */
    drive_facts facts;
    /* made */
    bool stripped, too_much;
    bool whole;               /* no stream is asked for */
    const convo_rename *more; /* adapted to what is known of the target: tools that got another name by that */
    size_t nmore;
    daruma_arena room;
    convo c, out;
    dialect_losses lost;
    int64_t tokens;
    drive_text *made;     /* NULL: it cannot be done, or nothing is to be done */
    daruma_str model_raw; /* adapted: where it names its model */
} conversion;

static bool was_taught(const conversion *v)
{
    return v->facts.parameters || v->facts.formats || v->facts.messages;
}

/* The same dialect. */
static void adapt(conversion *v)
{
    v->stripped = v->strange && mend_strange_thinking(&v->c);
    drive_facts_apply(&v->facts, &v->c);
    if (v->stripped || was_taught(v)) {
        v->made = drive_text_write(v->rooms, v->to, &v->c, v->body.n);
        v->too_much = !v->made;
    }
    if (!v->made)
        return;
    request_scan scan = v->to->scan(v->made->bytes, NULL, false);
    v->model_raw = scan.model_raw;
    v->whole = !scan.stream;
}

/* The answer calls tools by the names they have there; what the request calls them may be gone by then. */
static size_t keep_renames(convo_rename **ret, const convo *c, daruma_arena *a)
{
    size_t n = 0;
    *ret = c->nrenames ? ARENA_NEW(a, convo_rename, c->nrenames) : NULL;
    for (; *ret && n < c->nrenames; n++)
        (*ret)[n] = (convo_rename){.was = arena_copy(a, c->renames[n].was),
                                   .is = arena_copy(a, c->renames[n].is),
                                   .custom = c->renames[n].custom};
    return n;
}

/* Gives back what was read and made, but for the names of tools. False without memory. */
static bool only_names(conversion *v)
{
    daruma_arena room;
    convo_rename *names;
    if (!v->rooms->open(&room, MEND_ROOM_BYTES_USUAL, v->room_bytes))
        return false;
    v->out.nrenames = keep_renames(&names, &v->out, &room);
    v->out.renames = names;
    v->rooms->close(&v->room);
    v->room = room;
    return !room.full;
}

/* What is known of the target is done to the request as it was written for it. */
static void adapt_made(conversion *v)
{
    convo c;
    bool any = v->facts.nlessons || v->facts.most < FORMAT_SCHEMA || v->facts.habits;
    if (!v->made || !any || !only_names(v) || v->to->read(v->made->bytes, &v->room, &c) != DARUMA_OK)
        return;
    drive_facts_apply(&v->facts, &c);
    drive_text *better = was_taught(v) ? drive_text_write(v->rooms, v->to, &c, v->made->bytes.n) : NULL;
    if (!better) {
        v->facts.parameters = v->facts.formats = v->facts.messages = false;
        return;
    }
    drive_texts_close(v->rooms, v->made);
    v->made = better;
    v->more = c.renames;
    v->nmore = c.nrenames;
    v->whole = v->facts.parameters && !v->to->scan(better->bytes, NULL, false).stream;
}

static void convert(void *data)
{
    conversion *v = data;
    if (!v->rooms->open(&v->room, 0, v->room_bytes) || v->from->read(v->body, &v->room, &v->c) != DARUMA_OK)
        return;
    if (v->from == v->to) {
        adapt(v);
        return;
    }
    daruma_status s = dialect_convert(&v->c, v->to, &v->room, &v->out, &v->lost);
    v->too_much = s == DARUMA_EFULL;
    if (s != DARUMA_OK)
        return;
    if (v->model.n)
        v->out.set.model = v->model;
    v->out.set.stream = v->streaming;
    v->tokens = convo_tokens(&v->out);
    v->made = drive_text_write(v->rooms, v->to, &v->out, v->body.n);
    v->too_much = !v->made;
    adapt_made(v);
}

/* ---- what came of it ---- */

static void tell_losses(session *x, const dialect *to, const dialect_losses *lost)
{
    daruma_buf b = buf_in(x->arena);
    BUF_SAY(&b, "written for a provider that speaks ", to->name);
    for (size_t i = 0; i < lost->n; i++) {
        BUF_SAY(&b, i ? ", " : "; left out: ", lost->what[i]);
    }
    session_say(x, "request_converted", buf_str(&b));
}

/* A name that was changed twice: from what it was at first to what it is at last. */
static void rename_more(moved_request *m, const convo_rename *more, size_t n, daruma_arena *a)
{
    convo_rename *all = n ? ARENA_NEW(a, convo_rename, m->nrenames + n) : NULL;
    size_t had = m->nrenames;
    if (!all)
        return;
    for (size_t i = 0; i < had; i++)
        all[i] = m->renames[i];
    for (size_t k = 0; k < n; k++) {
        size_t i = 0;
        while (i < had && !str_eq(all[i].is, more[k].was))
            i++;
        if (i == had) {
            i = m->nrenames++;
            all[i].was = arena_copy(a, more[k].was);
        }
        all[i].is = arena_copy(a, more[k].is);
    }
    m->renames = all;
}

void session_renamed(session *x, const convo *c)
{
    if (c->nrenames > x->nrenames)
        x->nrenames = keep_renames(&x->renames, c, x->arena);
}

static bool was_too_much(const conversion *v)
{
    return v->too_much || v->room.full || v->c.full || v->out.full;
}

static void keep_variant(session *x, conversion *v)
{
    daruma_str body = session_own(x, v->made);
    if (!x->variant)
        x->variant = ARENA_NEW(x->arena, session_variant, 1);
    if (x->variant)
        *x->variant = (session_variant){
            .body = body, .model = v->model_raw, .whole = v->whole, .target = v->target, .edition = x->out.edition};
    session_renamed(x, &v->c);
    if (body.n && v->stripped)
        session_say(x, "request_converted", S("written for another provider; left out: thinking"));
    if (!v->made && was_too_much(v) && session_mend_of(x)) { /* it goes out as it is */
        x->h->past.too_much = true;
        session_mend_tell_limits(x);
    }
}

static void keep_moved(session *x, conversion *v)
{
    moved_request *m = ARENA_NEW(x->arena, moved_request, 1);
    if (!m) {
        drive_texts_close(x->v->rooms, v->made);
        return;
    }
    *m = (moved_request){.of = x->out.edition,
                         .target = v->target,
                         .d = v->to,
                         .whole = v->whole,
                         .nlessons = x->h ? x->h->nlessons : 0,
                         .tokens = v->tokens,
                         .too_large = was_too_much(v)};
    m->body = session_own(x, v->made);
    x->moved = m;
    if (m->body.n) {
        m->nrenames = keep_renames(&m->renames, &v->out, x->arena);
        rename_more(m, v->more, v->nmore, x->arena);
        tell_losses(x, v->to, &v->lost);
        if (session_api_known(x, v->target))
            session_did(x, DARUMA_REMEDY_CHANGE_API);
    }
}

static void conversion_free(conversion *v)
{
    const drive_rooms *rooms = v->rooms;
    rooms->close(&v->room);
    rooms->give(v);
}

static void convert_keep(session *x, conversion *v)
{
    bool told = v->made && was_taught(v);
    if (v->from == v->to)
        keep_variant(x, v);
    else
        keep_moved(x, v);
    if (told)
        mended_did(x, v->target, &v->facts);
    conversion_free(v);
}

/* ---- asking for it ---- */

static void converted(session *x, void *data)
{
    convert_keep(x, data);
    session_fitted(x);
}

static void forgotten(void *data)
{
    conversion *v = data;
    drive_texts_close(v->rooms, v->made);
    conversion_free(v);
}

static const drive_work conversions = {.work = convert, .then = converted, .drop = forgotten};

static bool is_made(const session *x, int target, const dialect *to)
{
    const moved_request *m = x->moved;
    if (to == x->d)
        return session_variant_for(x, target) != NULL;
    return m && m->target == target && m->d == to && m->of == x->out.edition &&
           m->nlessons == (x->h ? x->h->nlessons : 0);
}

/* Is it a provider that did not make the thinking of this conversation? */
static bool is_strange(const session *x, int target)
{
    return x->kase.can_mend && target != x->home.target &&
           session_place(x, target).site != session_place(x, x->home.target).site;
}

bool session_converts(const session *x, int target)
{
    const dialect *to = session_dialect(x, target);
    return x->d && (to != x->d || is_strange(x, target) || mended_knows(x, target)) && !is_made(x, target, to);
}

/* Begins a conversion; NULL: nothing is to be made, or there is no memory, which the caller sees when it composes. */
static conversion *conversion_new(session *x, int target)
{
    bool any = !x->arena->full && session_converts(x, target);
    conversion *v = any ? x->v->rooms->take(sizeof *v) : NULL;
    if (!v)
        return NULL;
    *v = (conversion){.rooms = x->v->rooms,
                      .from = x->d,
                      .to = session_dialect(x, target),
                      .body = x->out.body,
                      .model = x->targets[target].model,
                      .target = target,
                      .streaming = x->client.streaming,
                      .room_bytes = MEND_ARENA_BYTES_MAX,
                      .strange = is_strange(x, target)};
    mended_know(x, target, &v->facts);
    return v;
}

bool session_convert(session *x, int target)
{
    conversion *v = conversion_new(x, target);
    if (!v)
        return true;
    if (!session_work(x, x->out.body.n, &conversions, v))
        return false;
    convert_keep(x, v);
    return true;
}

bool session_convert_now(session *x, int target)
{
    if (!session_converts(x, target))
        return true;
    if (!session_mend_is_brief(x))
        x->out.unconverted = x->out.edition;
    conversion *v = x->out.unconverted == x->out.edition ? NULL : conversion_new(x, target);
    if (!v)
        return false;
    v->room_bytes = LOOP_READ_BYTES_MAX + LOOP_WRITTEN_TIMES * x->out.body.n;
    convert(v);
    if (!v->made && was_too_much(v)) {
        x->out.unconverted = x->out.edition;
        forgotten(v);
        return false;
    }
    convert_keep(x, v);
    return true;
}

bool session_tool_custom(const session *x, daruma_str name)
{
    return x->p != x->d && x->moved && convo_was_custom(x->moved->renames, x->moved->nrenames, name);
}

daruma_str session_tool_name(const session *x, daruma_str name)
{
    if (x->p != x->d && x->moved)
        name = convo_name_was(x->moved->renames, x->moved->nrenames, name);
    return convo_name_was(x->renames, x->nrenames, name);
}

static daruma_str with_name_was(daruma_str text, const convo_rename *r, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    size_t at = str_find(text, r->is);
    if (at == STR_NONE)
        return text;
    for (daruma_str rest = text; rest.n; at = str_find(rest, r->is)) {
        BUF_SAY(&b, str_sub(rest, 0, at == STR_NONE ? rest.n : at), at == STR_NONE ? S("") : r->was);
        rest = at == STR_NONE ? S("") : str_from(rest, at + r->is.n);
    }
    return b.full ? text : buf_str(&b);
}

daruma_str session_tool_words(const session *x, daruma_str text)
{
    for (size_t i = 0; x->p != x->d && x->moved && i < x->moved->nrenames; i++)
        text = with_name_was(text, &x->moved->renames[i], x->arena);
    for (size_t i = 0; i < x->nrenames; i++)
        text = with_name_was(text, &x->renames[i], x->arena);
    return text;
}
