/* Nothing that is done with a request grows with the square of its size: the steps of each row of bench_growth are
 * counted (bench/steps.h), at sizes that double. */
#include "test.h"
#include "shapes.h"
#include "steps.h"
#include "engine/mend/request/request.h"
#include "engine/tell/redact.h"
#include "dialect/dialect.h"
#include "dialect/sse.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/str.h"
#include <stdio.h>
#include <sys/mman.h>
#define XXH_NAMESPACE daruma_ /* as the code that is built once more has it */
#include <xxhash.h>

enum {
    FROM_BYTES = 16 << 10,
    DOUBLINGS_MIN = 2,
    DOUBLINGS_MAX = 6,       /* where a look back of so many messages has its bound it grows faster up to there */
    MOST_MILLI = 2300,       /* of steps, and of memory, per doubling */
    SPARE_BYTES = 256 << 10, /* tables of fixed size and the like */
};

static const size_t room_bytes = (size_t)4 << 30; /* of addresses */

typedef struct tally {
    char *room;
    size_t rows, bad;
} tally;

static bool too_much(int64_t now, int64_t before, int64_t spare)
{
    return before > 0 && (now - spare) * 1000 > before * MOST_MILLI;
}

typedef struct used {
    int64_t steps, bytes;
} used;

/* The last doubling must be no faster than it may; where it is, larger ones are looked at, as far as the bound. */
static bool grows_straight(const row *x, void *user)
{
    tally *t = user;
    used last = {0}, now = {0};
    bool fast = false;
    int doublings_max = x->error < 0 ? DOUBLINGS_MAX : DOUBLINGS_MIN; /* an error's end is behind all its bounds */
    t->rows++;
    for (int i = 0; i <= DOUBLINGS_MIN || (fast && i <= doublings_max); i++) {
        daruma_arena a = arena_over(t->room, room_bytes);
        last = now;
        if (!row_do(x, (size_t)FROM_BYTES << i, &a, steps_now, &now.steps))
            return true;
        now.bytes = a.beg - t->room;
        fast = too_much(now.steps, last.steps, 0) || too_much(now.bytes, last.bytes, SPARE_BYTES);
    }
    if (fast)
        print_error("%s: %lld steps and %lld bytes, and with twice as much %lld and %lld\n", x->name,
                    (long long)last.steps, (long long)last.bytes, (long long)now.steps, (long long)now.bytes);
    t->bad += fast;
    return true;
}

static void nothing_grows_with_the_square(void **state)
{
    (void)state;
    tally t = {.room =
                   mmap(NULL, room_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)};
    assert_true(t.room != MAP_FAILED);
    rows_each(grows_straight, &t);
    munmap(t.room, room_bytes);
    assert_true(t.rows > 500);
    assert_int_equal(t.bad, 0);
}

/* What a request takes at most: what was read, what it became, what is written, and the request itself. In
 * tenths of the request, of each shape: written for another dialect, and mended in whatever way. Four times the request
 * are enough where a message says some 60 bytes or more: the rows of the conversation take 150 bytes a message;
 * `output` says 500. Shapes of shorter ones take more, and have their bounds here so that they keep them. */
static const struct {
    const char *shape;
    int converted, mended; /* 0: not measured here */
} most_memory[] = {
    {"one-output ", 21, 41}, {"one-text ", 21, 38},  {"one-call ", 22, 35}, {"output ", 30, 42},
    {"loop ", 43, 68},       {"one-id ", 47, 0},     {"no-output ", 53, 0}, {"tools ", 26, 0},
    {"images ", 43, 0},      {"deep ", 30, 0},       {"thinking ", 59, 0},  {"failures ", 63, 0},
    {"strange ", 48, 0},     {"stray ", 45, 0},      {"lost ", 84, 0},      {"wide ", 91, 0},
    {"turns ", 68, 0},       {"says-10 ", 60, 93},   {"says-40 ", 45, 64},  {"says-100 ", 34, 45},
    {"says-150 ", 30, 39},   {"parts ", 123, 0},     {"system ", 82, 0},    {"empty ", 75, 0},
    {"empty-user ", 80, 0},  {"turn-marks ", 33, 0}, {"marks ", 33, 0},     {"bare-tools ", 93, 0},
    {"stops ", 31, 0},       {"labels ", 12, 0},     {"members ", 12, 0},   {"twice ", 12, 0},
};

/* Converted answers are no requests, and have an arena of their own. */
static bool is_of_answer(const row *x)
{
    return str_ends(str_of(x->name), S(" answer"));
}

/* Bytes up to the last page that was written to: also what is not held any more. */
static int64_t touched(const char *room)
{
    enum { PAGE_BYTES = 4096, LOOK_BYTES = 64 << 20 };
    static unsigned char there[LOOK_BYTES / PAGE_BYTES];
    int64_t last = LOOK_BYTES / PAGE_BYTES;
    assert_int_equal(mincore((void *)(uintptr_t)room, LOOK_BYTES, there), 0);
    while (last > 0 && !(there[last - 1] & 1))
        last--;
    return last * PAGE_BYTES;
}

static bool takes_little(const row *x, void *user)
{
    enum { BODY_BYTES = 512 << 10 };
    tally *t = user;
    bool known = x->to < 0 || x->many >= 0 || is_of_answer(x);
    for (size_t i = 0; i < COUNT(most_memory); i++) {
        daruma_arena a = arena_over(t->room, room_bytes);
        int64_t steps;
        int most = x->to >= 0 ? most_memory[i].converted : is_of_answer(x) ? 0 : most_memory[i].mended;
        if (!str_starts(str_of(x->name), str_of(most_memory[i].shape)) || x->many >= 0 || !most)
            continue;
        known = true;
        t->rows++;
        assert_int_equal(madvise(t->room, room_bytes, MADV_DONTNEED), 0);
        if (!row_do(x, BODY_BYTES, &a, steps_now, &steps))
            continue;
        int64_t held = a.beg - t->room, bytes = touched(t->room); /* what is written is counted in `held` alone */
        bytes = bytes > held ? bytes : held;
        if (bytes * 10 <= (int64_t)BODY_BYTES * most)
            continue;
        t->bad++;
        print_error("%s: %lld bytes\n", x->name, (long long)bytes);
    }
    if (!known)
        print_error("%s: its shape has no bound\n", x->name);
    t->bad += !known;
    return true;
}

static void a_request_is_converted_and_mended_in_little_memory(void **state)
{
    (void)state;
    tally t = {.room =
                   mmap(NULL, room_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)};
    assert_true(t.room != MAP_FAILED);
    rows_each(takes_little, &t);
    munmap(t.room, room_bytes);
    assert_true(t.rows > 800);
    assert_int_equal(t.bad, 0);
}

/* A message of `n` parts, or of `n` blocks that bring no result. */
static int64_t steps_of_message(size_t n, char *room)
{
    daruma_arena a = arena_over(room, room_bytes);
    daruma_buf b = buf_in(&a);
    BUF_LIT(&b, "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}");
    for (size_t i = 1; i < n; i++)
        BUF_LIT(&b, ",{\"type\":\"text\",\"text\":\"hi\"}");
    BUF_LIT(&b, "]}");
    int64_t from = steps_now();
    dialect_message_hash(buf_str(&b), NULL);
    return steps_now() - from;
}

/* The loop asks this of each of the newest messages, whatever stands in them. */
static void a_message_is_known_again_in_bounded_steps(void **state)
{
    (void)state;
    char *room = mmap(NULL, room_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(room != MAP_FAILED);
    int64_t few = steps_of_message(100, room), many = steps_of_message(20000, room),
            more = steps_of_message(200000, room);
    munmap(room, room_bytes);
    assert_true(few * 10 < many);
    assert_true(more < many * 6); /* ten times the bytes: those behind the bound are only hashed */
}

/* Steps of judging a refusal that quotes the end of a request of one long text, or nothing of it. */
static int64_t steps_of_quote(size_t bytes, bool quotes, char *room)
{
    enum { QUOTED_BYTES = 1500 };
    daruma_arena a = arena_over(room, room_bytes);
    daruma_str request = shape_body(S("one-text"), S("chat"), bytes, &a);
    daruma_buf b = buf_in(&a);
    BUF_LIT(&b, "{\"error\":{\"message\":\"no model: ");
    buf_put(&b, quotes ? str_from(request, request.n - QUOTED_BYTES - 4) : S("\"}}"));
    daruma_evidence ev = {.phase = DARUMA_AT_ANSWER, .status = 400, .request = request, .body = buf_str(&b)};
    int64_t from = steps_now();
    daruma_classify(&ev, (daruma_moment){.now = 1}, &a);
    return steps_now() - from;
}

/* The loop looks for the words of a refusal in the request: bytes that go by and looks at words have one bound. */
static void a_quote_of_a_long_request_is_looked_for_in_bounded_steps(void **state)
{
    (void)state;
    enum { LONG_BYTES = 5 << 20 };
    char *room = mmap(NULL, room_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(room != MAP_FAILED);
    int64_t plain = steps_of_quote(LONG_BYTES, false, room), quoted = steps_of_quote(LONG_BYTES, true, room);
    munmap(room, room_bytes);
    assert_true(quoted < plain * 3 / 2);
}

/* Steps of mending `body` for a refusal whose message is so often `word`, numbered or not, and whose field names
 * `subject`. */
static int64_t steps_of_refusal(daruma_str body, const char *word, bool numbered, size_t n, daruma_str subject,
                                daruma_arena *a)
{
    convo c;
    mend_lesson l;
    mend_report rep = {0};
    daruma_buf message = buf_in(a);
    for (size_t i = 0; i < n; i++)
        if (numbered)
            buf_printf(&message, "%s%zu' ", word, i);
        else
            buf_putz(&message, word);
    daruma_failure f = {
        .kind = DARUMA_INVALID_PARAMETER, .status = 400, .message = buf_str(&message), .subject = subject};
    assert_int_equal(dialect_openai.read(body, a, &c), DARUMA_OK);
    int64_t from = steps_now();
    assert_false(mend_parameter(&c, &f, &l, &rep));
    return steps_now() - from;
}

/* Steps of judging a refusal of which no word stands in the request: no look at a word is counted. */
static int64_t steps_without_looks(size_t bytes, char *room)
{
    daruma_arena a = arena_over(room, room_bytes);
    daruma_buf b = buf_in(&a);
    BUF_LIT(&b, "{\"messages\":[{\"role\":\"user\",\"content\":\"");
    while (b.n < bytes)
        BUF_LIT(&b, "bbbb ccc ");
    BUF_LIT(&b, "\"}]}");
    daruma_evidence ev = {.phase = DARUMA_AT_ANSWER,
                          .status = 400,
                          .request = buf_str(&b),
                          .body = S("{\"error\":{\"message\":\"zqzqx wvwvk\"}}")};
    int64_t from = steps_now();
    daruma_classify(&ev, (daruma_moment){.now = 1}, &a);
    return steps_now() - from;
}

static void a_request_beyond_the_bound_is_not_read_for_quotes(void **state)
{
    (void)state;
    char *room = mmap(NULL, room_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(room != MAP_FAILED);
    int64_t within = steps_without_looks(QUOTE_REQUEST_BYTES_MAX - (1u << 20), room),
            beyond = steps_without_looks(4 * QUOTE_REQUEST_BYTES_MAX, room);
    munmap(room, room_bytes);
    assert_true(beyond < within * 3 / 2);
}

/* A refusal may quote what the client wrote, and each name in it is looked for in the request. */
static void a_refusal_of_many_names_is_looked_up_in_bounded_steps(void **state)
{
    (void)state;
    char *room = mmap(NULL, room_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(room != MAP_FAILED);
    daruma_arena a = arena_over(room, room_bytes);
    daruma_str body = shape_body(S("parts"), S("chat"), 256 << 10, &a);
    int64_t few = steps_of_refusal(body, "'zebra", true, 20, S(""), &a),
            many = steps_of_refusal(body, "'zebra", true, 400, S(""), &a);
    assert_true(many < few * 2);
    few = steps_of_refusal(body, "zebra ", false, 1, S("zebra"), &a);
    many = steps_of_refusal(body, "'zebra' ", false, 1, S("zebra"), &a);
    assert_true(many * 4 < few * 5); /* what a field names and the message repeats is looked for once */
    daruma_buf settings = buf_in(&a), nearly = buf_in(&a);
    BUF_LIT(&settings, "{\"messages\":[]");
    BUF_LIT(&nearly, "{\"messages\":[]");
    for (int i = 0; i < 20000; i++)
        buf_printf(&settings, ",\"setting_%d\":1", i);
    for (int i = 0; i < 2000; i++) /* "a a a ..." may say each of them, from everywhere in it */
        buf_printf(&nearly, ",\"%090dx%d\":1", 0, i);
    BUF_LIT(&settings, "}");
    BUF_LIT(&nearly, "}");
    few = steps_of_refusal(buf_str(&settings), "zebra", true, 40, S(""), &a);
    many = steps_of_refusal(buf_str(&settings), "zebra", true, 400, S(""), &a);
    assert_true(many < few * 2);
    few = steps_of_refusal(buf_str(&nearly), "1 ", false, 2000, S(""), &a);
    many = steps_of_refusal(buf_str(&nearly), "0 ", false, 2000, S(""), &a);
    munmap(room, room_bytes);
    assert_true(many < few * 2);
}

/* ---- texts that are redacted, and judged ---- */

typedef void text_work(daruma_str text, daruma_arena *a);

static void work_redact(daruma_str text, daruma_arena *a)
{
    daruma_redact(text, a);
}

static void work_judge(daruma_str text, daruma_arena *a)
{
    daruma_classify(&(daruma_evidence){.body = text, .took = -1}, (daruma_moment){.wall = 1800000000}, a);
}

/* Steps of the work on a text of so many bytes: `a` and `b` in turn, or first one and then the other. */
static int64_t steps_of_text(text_work *work, const char *a, const char *b, bool in_turn, size_t bytes, char *room)
{
    daruma_arena arena = arena_over(room, room_bytes);
    daruma_buf text = buf_in(&arena);
    while (in_turn && text.n < bytes) {
        buf_putz(&text, a);
        buf_putz(&text, b);
    }
    while (text.n < bytes / 2)
        buf_putz(&text, a);
    while (text.n < bytes)
        buf_putz(&text, b);
    daruma_str all = buf_str(&text);
    int64_t from = steps_now();
    work(all, &arena);
    return steps_now() - from;
}

/* Providers, tools and models write what is redacted, and each of these is where something may begin, go on or end. */
static void check_growth_of(text_work *work)
{
    static const char *const pieces[] = {"sk-",         "eyJ",       "token=", "cookie: ", "password", "bearer ", "a-",
                                         "a*",          "***",       "..",     "./",       "://",      "@a.",     "\\",
                                         "\"",          "'",         "    ",   "key\": '", "A",        "x",       "\n",
                                         "-----BEGIN ", "-----END ", "^\n",    "(): ",     "\n\n"};
    enum { BYTES = 8 << 10, SPARE_STEPS = 2000 };
    char *room = mmap(NULL, room_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(room != MAP_FAILED);
    size_t bad = 0;
    for (size_t i = 0; i < COUNT(pieces); i++)
        for (size_t j = 0; j < COUNT(pieces); j++)
            for (int in_turn = 0; in_turn < 2; in_turn++) {
                int64_t one = steps_of_text(work, pieces[i], pieces[j], in_turn, BYTES, room),
                        two = steps_of_text(work, pieces[i], pieces[j], in_turn, 2 * BYTES, room);
                if (two * 1000 <= one * MOST_MILLI + SPARE_STEPS * 1000)
                    continue;
                bad++;
                print_error("%s and %s%s: %lld steps, and of twice as much %lld\n", pieces[i], pieces[j],
                            in_turn ? " in turn" : "", (long long)one, (long long)two);
            }
    munmap(room, room_bytes);
    assert_int_equal(bad, 0);
}

static void a_text_is_redacted_in_steps_that_grow_with_it(void **state)
{
    (void)state;
    check_growth_of(work_redact);
}

static void a_text_is_judged_in_steps_that_grow_with_it(void **state)
{
    (void)state;
    check_growth_of(work_judge);
}

/* Steps of taking `n` known secrets that begin alike, with `begin` many times, out of `bytes` of `piece`. */
static int64_t steps_of_secrets(size_t n, const char *begin, int times, const char *piece, size_t bytes, char *room)
{
    daruma_arena a = arena_over(room, room_bytes);
    daruma_buf text = buf_in(&a);
    while (text.n < bytes)
        buf_putz(&text, piece);
    redaction r = {.longest = text.n, .arena = &a, .index = &a};
    int64_t from = steps_now();
    for (size_t i = 0; i < n; i++) {
        daruma_buf secret = buf_in(&a);
        for (int k = 0; k < times; k++)
            buf_putz(&secret, begin);
        buf_int(&secret, (int64_t)i);
        BUF_LIT(&secret, ".x7Yzx7Yzx7Yzx7Yzx7Yzx7Yzx7Yzx7Yz");
        redact_add(&r, buf_str(&secret), true);
    }
    daruma_str left = redact_known(&r, buf_str(&text));
    assert_true(left.n > 0);
    return steps_now() - from;
}

/* Also out of one that says nearly each of them everywhere: plain, with escapes, and in base64. */
static void known_keys_are_taken_out_in_steps_that_hardly_grow_with_their_number(void **state)
{
    static const struct {
        const char *begin;
        int times;
        const char *piece;
    } rows[] = {
        {"Own.Key.", 1, "Own.Key."},
        {"Own.Key.", 1, "x7Yz"},
        {"Own.Key.", 1, "Own.Key.7.x7Yz "},
        {"Own.Key.", 1, "\\u004fwn.Key.\\\\"},
        {"Own.Key.", 1, "T3duLktleS43Lng3WXp4N1l6"},
        {"Own.Key.", 1, "eDdZeng3WXp4"},
        {"Own.Key.", 1, "4f776e2e4b65792e372e"},
        {"Own.Key.", 1, "words of a message, "},
        {"A", 64, "A"}, /* as fields of somebody hostile may be */
        {"A", 64, "QUFB"},
    };
    enum { BYTES = 64 << 10, MANY = 60, MOST_TIMES = 2 };
    (void)state;
    char *room = mmap(NULL, room_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(room != MAP_FAILED);
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t few = steps_of_secrets(1, rows[i].begin, rows[i].times, rows[i].piece, BYTES, room),
                many = steps_of_secrets(MANY, rows[i].begin, rows[i].times, rows[i].piece, BYTES, room);
        if (many >= few * MOST_TIMES)
            print_error("%s in %s: %lld steps, and for %d keys %lld\n", rows[i].begin, rows[i].piece, (long long)few,
                        (int)MANY, (long long)many);
        assert_true(many < few * MOST_TIMES);
    }
    munmap(room, room_bytes);
}

/* A known secret, and a text that says the beginning of it everywhere: as it is, and in base64. */
static void a_known_key_is_taken_out_in_steps_that_grow_with_the_text(void **state)
{
    static const char *const pieces[] = {"QUFB" /* "AAA" */, "AAA"};
    (void)state;
    char *room = mmap(NULL, room_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(room != MAP_FAILED);
    for (size_t piece = 0; piece < COUNT(pieces); piece++) {
        int64_t took[2];
        for (size_t i = 0; i < 2; i++) {
            daruma_arena a = arena_over(room, room_bytes);
            daruma_buf text = buf_in(&a), secret = buf_in(&a);
            while (text.n < (size_t)32 << (10 + i))
                buf_putz(&text, pieces[piece]);
            for (int n = 0; n < 5000; n++)
                BUF_LIT(&secret, "AAA");
            BUF_LIT(&secret, "1");
            redaction r = {.longest = text.n, .arena = &a, .index = &a};
            int64_t from = steps_now();
            redact_add(&r, buf_str(&secret), true);
            daruma_str left = redact_known(&r, buf_str(&text));
            took[i] = steps_now() - from;
            assert_true(left.n < 1000);
        }
        assert_true(took[1] * 1000 < took[0] * MOST_MILLI);
    }
    munmap(room, room_bytes);
}

/* ---- keys that somebody chose ---- */

enum { CHOSEN = 1500, CHOSEN_ROWS = 2048 /* of the map that holds so many */ };

/* Steps of putting keys into a map. `chosen`: the hash that everybody can compute gives all of them one place. */
static int64_t steps_of_map(bool chosen, char *room)
{
    daruma_arena a = arena_over(room, room_bytes);
    daruma_str *keys = ARENA_NEW(&a, daruma_str, CHOSEN);
    str_map m = {0};
    size_t n = 0;
    for (unsigned i = 0; n < CHOSEN; i++) {
        char text[16];
        daruma_str key = {text, (size_t)snprintf(text, sizeof text, "call_%x", i)};
        if (!chosen || XXH3_64bits(key.p, key.n) % CHOSEN_ROWS == 7)
            keys[n++] = arena_copy(&a, key);
    }
    int64_t from = steps_now();
    for (size_t i = 0; i < CHOSEN; i++)
        assert_true(map_add(&m, &a, keys[i]));
    assert_int_equal(m.cap, CHOSEN_ROWS);
    for (size_t i = 0; i < CHOSEN; i++)
        assert_non_null(map_get(&m, keys[i]));
    return steps_now() - from;
}

static void keys_that_somebody_chose_do_not_stand_together(void **state)
{
    (void)state;
    char *room = mmap(NULL, room_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(room != MAP_FAILED);
    int64_t any = steps_of_map(false, room), chosen = steps_of_map(true, room);
    munmap(room, room_bytes);
    assert_true(chosen < any * 2);
}

/* Steps of looking for the end of an event of so many bytes in lines that say nothing, each time `piece` more have
 * come. */
static int64_t steps_of_event(size_t bytes, size_t piece, char *room)
{
    daruma_arena a = arena_over(room, room_bytes);
    daruma_buf b = buf_in(&a);
    sse_event e;
    while (b.n < bytes)
        BUF_LIT(&b, ":\n");
    BUF_LIT(&b, "\n");
    int64_t from = steps_now();
    for (size_t n = piece; n < b.n; n += piece) {
        daruma_str rest = {b.p, n};
        assert_false(sse_next(&rest, &e, &a));
    }
    daruma_str rest = buf_str(&b);
    assert_true(sse_next(&rest, &e, &a));
    return steps_now() - from;
}

static void an_event_of_short_lines_is_read_in_steps_that_hardly_grow_with_its_pieces(void **state)
{
    (void)state;
    enum { EVENT_BYTES = 1 << 20, PIECE_BYTES = 64 << 10 };
    char *room = mmap(NULL, room_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(room != MAP_FAILED);
    int64_t whole = steps_of_event(EVENT_BYTES, 2 * EVENT_BYTES, room),
            pieces = steps_of_event(EVENT_BYTES, PIECE_BYTES, room);
    munmap(room, room_bytes);
    assert_true(pieces < whole * 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_that_somebody_chose_do_not_stand_together),
        cmocka_unit_test(a_quote_of_a_long_request_is_looked_for_in_bounded_steps),
        cmocka_unit_test(a_request_beyond_the_bound_is_not_read_for_quotes),
        cmocka_unit_test(a_message_is_known_again_in_bounded_steps),
        cmocka_unit_test(an_event_of_short_lines_is_read_in_steps_that_hardly_grow_with_its_pieces),
        cmocka_unit_test(a_refusal_of_many_names_is_looked_up_in_bounded_steps),
        cmocka_unit_test(a_text_is_redacted_in_steps_that_grow_with_it),
        cmocka_unit_test(a_text_is_judged_in_steps_that_grow_with_it),
        cmocka_unit_test(a_known_key_is_taken_out_in_steps_that_grow_with_the_text),
        cmocka_unit_test(known_keys_are_taken_out_in_steps_that_hardly_grow_with_their_number),
        cmocka_unit_test(a_request_is_converted_and_mended_in_little_memory),
        cmocka_unit_test(nothing_grows_with_the_square),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
