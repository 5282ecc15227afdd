/* The driver, through random sessions in virtual time (SESSIONS=100000 SEED=7 for more, and others): requests in four
 * dialects, faults at every point, answers cut at every byte, slow readers, clients that leave, clocks that jump. What
 * must always hold is looked at in each. */
#include "drive_kit.h"
#include "engine/drive/mend/history.h"
#include "engine/drive/request/text.h"

enum { SESSIONS = 20000 };
enum { ROOM_SCARCE = 8192 }; /* where memory of a request runs out, it has less than this */

/* ---- what providers answer ---- */

/* The answer of a well provider to this request: it goes on from a beginning that it is given. */
static daruma_str answer_of(const drive_request *r)
{
    world *o = w;
    daruma_buf b = buf_in(o->a);
    write_ctx ctx = {.model = r->t->model, .id = 7, .wall = 1767225600};
    daruma_str text = {o->text, o->ntext}, begun = begun_answer(r);
    if (begun.n && str_starts(text, begun))
        text = str_from(text, begun.n);
    dialect_say(text, r->p, &ctx, r->stream, true, &b, o->a);
    return buf_str(&b);
}

/* ---- requests ---- */

static daruma_str request_of(const dialect *d, bool stream, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    const char *s = stream ? "true" : "false";
    if (d == &dialect_gemini)
        buf_printf(&b, "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"question %u\"}]}]}", roll(1000));
    else if (d == &dialect_openai_responses)
        buf_printf(&b, "{\"model\":\"m\",\"stream\":%s,\"input\":\"question %u\"}", s, roll(1000));
    else
        buf_printf(&b,
                   "{\"model\":\"m\",\"stream\":%s,\"max_tokens\":500,\"messages\":[{\"role\":\"user\",\"content\":"
                   "\"question %u\"}]}",
                   s, roll(1000));
    return buf_str(&b);
}

static void set_world(world *o, const dialect *d)
{
    world_begin(o, answer_of, d, 70);
    for (uint32_t n = roll(60); n--;)
        o->ntext +=
            (size_t)snprintf(o->text + o->ntext, TEXT_BYTES - o->ntext, "%sword%u", o->ntext ? " " : "", roll(1000));
    if (!o->ntext)
        o->ntext = (size_t)snprintf(o->text, TEXT_BYTES, "yes");
    o->often = (fate)roll(FATES);
    o->percent = chance(30) ? 100 : roll(100);
    o->slow = chance(20);
    if (chance(15))
        o->leaves = drv.at.now + roll(20000);
    if (chance(30))
        o->waits = 1000 + roll(60000);
}

/* What the client reads of its answer: its text as far as it came. False: it is none. */
static bool read_text(const dialect *d, bool stream, daruma_str got, daruma_arena *a, daruma_buf *text, bool *whole)
{
    *whole = false;
    if (!stream) {
        turn t;
        if (d->read_answer(got, a, &t) != DARUMA_OK)
            return false;
        convo owner = {.arena = a};
        for (size_t i = 0; i < t.message.nparts; i++)
            if (t.message.parts[i].kind == PART_TEXT)
                buf_put(text, convo_text(&owner, &t.message.parts[i]));
        *whole = true;
        return true;
    }
    turn_reader in = {.sequence = -1};
    stream_view view = {0};
    sse_event e;
    for (daruma_str rest = got; sse_next(&rest, &e, a);) {
        turn_delta few[TURN_DELTAS_FEW];
        dialect_watch(d, &view, &e);
        turn_deltas said = dialect_read_delta(d, &in, &e, few, a);
        for (size_t i = 0; i < said.n; i++)
            if (said.p[i].kind == DELTA_TEXT)
                buf_put(text, said.p[i].text);
    }
    *whole = (view.done || view.finished) && !view.error;
    return true;
}

static bool says_daruma(daruma_str text)
{
    return str_starts(text, S("[daruma] "));
}

/* What must hold of every answer. */
static void judge(world *o, const dialect *d, bool stream, daruma_arena *a)
{
    daruma_str t = {o->text, o->ntext};
    daruma_buf text = buf_in(a);
    bool whole = false;
    assert_int_equal(o->overs, 1);
    assert_true(o->heads <= 1);
    if (o->how == DRIVE_GONE || o->how == DRIVE_BARE || !o->heads || o->status != 200)
        return;
    if (!read_text(d, stream, buf_str(&o->got), a, &text, &whole)) {
        assert_int_not_equal(o->how, DRIVE_END); /* a whole answer can be read */
        return;
    }
    daruma_str got = buf_str(&text);
    if (says_daruma(got))
        return; /* it was explained, in the model's place */
    if (o->how == DRIVE_END && whole && o->often != BROKEN) {
        if (!str_eq(got, t))
            fail_msg("%s: got \"" STR_FMT "\", the providers said \"" STR_FMT "\"", d->name, STR_ARG(got), STR_ARG(t));
        return;
    }
    if (o->often != BROKEN && !str_starts(t, got)) /* no byte twice, none that nobody said */
        fail_msg("%s: got \"" STR_FMT "\" of \"" STR_FMT "\"", d->name, STR_ARG(got), STR_ARG(t));
}

/* `a`: the test's memory. */
static void random_session(daruma_arena *a, session *x)
{
    const dialect *d = all_dialects[roll(4)];
    bool stream = chance(60);
    const daruma_policy *p = daruma_policy_find(S("default"));
    drive_options o = {.policy = p, .on_failure = (drive_form)roll(3), .total = chance(50) ? 600000 : 0};
    world here = {.a = a};
    w = &here;
    set_world(w, d);
    w->x = x;
    w->got = buf_in(a);
    if (chance(5)) /* a clock that jumps */
        at_time(drv.at.now + (chance(50) ? 3600000 : -(int64_t)roll(5000)));
    at_time(drv.at.now + roll(100000));
    if (w->leaves >= 0)
        w->leaves = drv.at.now + roll(20000);
    else if (w->waits < 0)
        w->leaves = drv.at.now + 300000; /* where all is silent nobody waits for ever */
    w->opened = drv.at.now;
    daruma_arena own; /* the request's, which may run out */
    assert_true(sys_arena_init(&own, CALL_BYTES_USUAL, chance(3) ? roll(ROOM_SCARCE) : 64 << 20));
    session_request q = {.d = d,
                         .body = request_of(d, stream, a),
                         .arena = &own,
                         .options = &o,
                         .credential = 1,
                         .waits = w->waits,
                         .speaks = d,
                         .path_names = d == &dialect_gemini,
                         .path_model = S("m"),
                         .path_stream = stream,
                         .no_target = S("no target")};
    session_open(x, &drv, w, &q);
    for (int i = 0; !w->overs && step(w); i++)
        if (i > STEPS_MAX)
            fail_msg("a session does not end");
    judge(w, d, stream, a);
    sys_arena_done(&own);
    bool begun = w->stream && w->got.n;
    if (w->waits >= 0 && !begun && w->over_at > w->opened + w->waits)
        fail_msg("the answer came %lld ms behind the client's time", (long long)(w->over_at - w->opened - w->waits));
}

static void random_sessions_keep_what_must_hold(void **state)
{
    (void)state;
    size_t bytes = daruma_health_bytes(PLACES);
    void *memory = malloc(bytes);
    session *x = calloc(1, session_bytes());
    daruma_arena health = arena_over(memory, bytes);
    drv = (driver){.host = &host, .rooms = &rooms, .health = daruma_health_new(&health, PLACES)};
    at_time(1000);
    assert_true(driver_begin(&drv));
    long tables_before = tables;
    uint64_t want = setting("SESSIONS", SESSIONS);
    dice = setting("SEED", 1);
    for (uint64_t i = 0; i < want; i++) {
        daruma_arena a;
        assert_true(sys_arena_init(&a, 4096, 64 << 20));
        random_session(&a, x);
        sys_arena_done(&a);
        if (arenas - (long)drv.nspare_rooms > 2) /* known compressions and lessons may hold one each */
            fail_msg("session %llu leaves arenas behind", (unsigned long long)i);
    }
    const drive_counts *c = &drv.counts;
    uint64_t outcomes = c->ok + c->recovered + c->explained + c->failed + c->cancelled + c->degraded;
    assert_int_equal(c->requests, want); /* each has one outcome */
    assert_int_equal(outcomes, want);
    assert_true(c->recovered > want / 20 && c->ok > want / 20 && c->hedges > 0);
    printf("# %llu ok, %llu recovered, %llu explained, %llu failed, %llu degraded, %llu cancelled; %llu calls, %llu "
           "hedges\n",
           (unsigned long long)c->ok, (unsigned long long)c->recovered, (unsigned long long)c->explained,
           (unsigned long long)c->failed, (unsigned long long)c->degraded, (unsigned long long)c->cancelled,
           (unsigned long long)c->calls, (unsigned long long)c->hedges);
    (void)tables_before;
    driver_end(&drv);
    assert_int_equal(arenas, 0);
    assert_int_equal(held, 0);
    assert_int_equal(tables, 0);
    free(x);
    free(memory);
}

/* ---- what is written anew ---- */

/* A request that was read and is written, into room for about `usual` bytes, stands there once. */
static void write_once(daruma_str body, size_t usual)
{
    enum { SPARE_BYTES = 1024 };
    daruma_arena room;
    convo c;
    long before = arenas;
    assert_true(room_open(&room, 0, SIZE_MAX / 2));
    assert_int_equal(dialect_openai.read(body, &room, &c), DARUMA_OK);
    drive_text *t = drive_text_write(&rooms, &dialect_openai, &c, usual);
    room_close(&room);
    assert_non_null(t);
    assert_true(str_eq(t->bytes, body));
    assert_true(sys_arena_bytes(&t->room) <= body.n * 2 + SPARE_BYTES); /* however wrong the guess was */
    assert_true(t->room.end - t->room.beg <= SPARE_BYTES);
    drive_texts_close(&rooms, t);
    assert_int_equal(arenas, before);
}

enum { MESSAGES = 20000 };

/* A request with that many messages of `bytes` each. */
static daruma_str long_request(int bytes, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    BUF_LIT(&b, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}");
    for (int i = 0; i < MESSAGES; i++)
        buf_printf(&b, ",{\"role\":\"user\",\"content\":\"%0*d\"}", bytes, i);
    BUF_LIT(&b, "]}");
    return buf_str(&b);
}

static size_t few; /* bytes of addresses in one piece that there are */

static bool room_open_few(daruma_arena *a, size_t first, size_t most)
{
    *a = (daruma_arena){0};
    return first <= few && room_open(a, first, most);
}

static void a_text_is_written_where_addresses_are_few(void **state)
{
    (void)state;
    daruma_arena a;
    convo c;
    drive_rooms scarce = rooms;
    scarce.open = room_open_few;
    assert_true(room_open(&a, 0, SIZE_MAX / 2));
    daruma_str body = long_request(5, &a);
    assert_int_equal(dialect_openai.read(body, &a, &c), DARUMA_OK);
    few = body.n * 2;
    drive_text *t = drive_text_write(&scarce, &dialect_openai, &c, body.n);
    assert_non_null(t);
    assert_true(str_eq(t->bytes, body));
    drive_texts_close(&rooms, t);
    few = body.n;
    assert_null(drive_text_write(&scarce, &dialect_openai, &c, body.n));
    room_close(&a);
}

/* Its lists moved to where they have room to grow: that room is no memory of it. */
static void a_conversation_of_many_messages_is_kept_while_a_provider_thinks(void **state)
{
    (void)state;
    daruma_arena a;
    daruma_mend_policy policy = {0};
    assert_true(room_open(&a, 0, SIZE_MAX / 2));
    for (int i = 0; i < 2; i++) {
        history h;
        daruma_str body = long_request(i ? 5 : 200, &a); /* of short ones it takes more bytes than they have */
        history_begin(&h, &dialect_openai, &rooms, &policy);
        assert_true(history_read(&h, body, MEND_ARENA_BYTES_MAX));
        history_rest(&h);
        assert_int_equal(h.read, !i);
        history_end(&h);
    }
    room_close(&a);
}

static void a_text_is_written_into_the_memory_that_it_keeps(void **state)
{
    (void)state;
    daruma_arena a;
    assert_true(room_open(&a, 0, SIZE_MAX / 2));
    daruma_str body = long_request(5, &a);
    const size_t usual[] = {body.n, body.n * 2, body.n * 30, body.n / 3 * 2, body.n / 2,
                            100,    0}; /* it is not known before */
    for (size_t i = 0; i < COUNT(usual); i++)
        write_once(body, usual[i]);
    room_close(&a);
}

/* ---- work beside the loop ---- */

static const drive_work *waiting; /* for its turn */
static void *waiting_data;

static bool work_waits(void *user, size_t bytes, const drive_work *kind, void *data)
{
    (void)user;
    (void)bytes;
    waiting = kind;
    waiting_data = data;
    return false;
}

static void work_is_dropped(void *user, drive_remains *r)
{
    (void)user;
    waiting->drop(waiting_data);
    waiting = NULL;
    drive_remains_close(drv.rooms, r);
}

/* What earlier calls leave on the stack, where nobody sets it. */
static void dirty_stack(void)
{
    volatile char room[1 << 16];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = 0x5a;
}

/* The client leaves before anybody looked at its large request. */
static void work_that_never_began_is_dropped(void **state)
{
    (void)state;
    drive_host waits = host;
    waits.work = work_waits;
    waits.work_left = work_is_dropped;
    session *x = calloc(1, session_bytes());
    size_t bytes = daruma_health_bytes(PLACES);
    void *memory = malloc(bytes);
    daruma_arena health = arena_over(memory, bytes), a;
    drv = (driver){.host = &waits, .rooms = &rooms, .health = daruma_health_new(&health, PLACES)};
    at_time(1000);
    assert_true(driver_begin(&drv));
    assert_true(sys_arena_init(&a, 4096, 64 << 20));
    world here = {.a = &a};
    w = &here;
    world_begin(w, NULL, &dialect_openai, 100);
    w->x = x;
    w->got = buf_in(&a);
    daruma_buf body = buf_in(&a);
    BUF_LIT(&body, "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"");
    for (size_t i = 0; i < LOOK_BYTES_MAX; i++)
        buf_putc(&body, 'x');
    BUF_LIT(&body, "\"}]}");
    drive_options o = {.policy = daruma_policy_find(S("default"))};
    session_request q = {.d = &dialect_openai,
                         .body = buf_str(&body),
                         .arena = &a,
                         .options = &o,
                         .credential = 1,
                         .waits = -1,
                         .speaks = &dialect_openai,
                         .no_target = S("no target")};
    dirty_stack();
    session_open(x, &drv, w, &q);
    assert_non_null(waiting);
    session_gone(x);
    assert_null(waiting);
    assert_int_equal(w->overs, 1);
    driver_end(&drv);
    sys_arena_done(&a);
    assert_int_equal(arenas, 0);
    free(x);
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_is_written_into_the_memory_that_it_keeps),
        cmocka_unit_test(a_text_is_written_where_addresses_are_few),
        cmocka_unit_test(a_conversation_of_many_messages_is_kept_while_a_provider_thinks),
        cmocka_unit_test(work_that_never_began_is_dropped), cmocka_unit_test(random_sessions_keep_what_must_hold)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
