#include "base/arena.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/json.h"
#include "base/map.h"
#include "base/scan.h"
#include "base/str.h"
#include "engine/watch/same/same_bits.h"
#include "test.h"
#include <stdlib.h>

static void a_star_stands_for_anything(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text;
        bool is;
    } rows[] = {
        {"", "", true},
        {"", "a", false},
        {"*", "", true},
        {"*", "abc", true},
        {"a", "a", true},
        {"a", "A", false},
        {"a*", "a", true},
        {"a*", "abc", true},
        {"a*", "ba", false},
        {"*c", "abc", true},
        {"*c", "abcd", false},
        {"a*c", "ac", true},
        {"a*c", "abcc", true},
        {"a*c", "acb", false},
        {"*b*", "abc", true},
        {"*b*", "ac", false},
        {"a*b*c", "a1b2c", true},
        {"a*b*c", "a1c2b", false},
        {"**", "x", true},
        {"a**", "a", true},
        {"*aab", "aaaab", true},
        {"gpt-*", "gpt-4o", true},
        {"gpt-*", "xgpt-4", false},
        {"?", "a", false},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        if (str_glob(str_of(rows[i].pattern), str_of(rows[i].text)) != rows[i].is)
            fail_msg("%s and %s", rows[i].pattern, rows[i].text);
}

static void a_list_grows_where_it_stands_while_it_is_the_newest(void **state)
{
    (void)state;
    char mem[4096];
    memset(mem, 0x5a, sizeof mem);
    daruma_arena a = arena_over(mem, sizeof mem);
    uint32_t *list = NULL, *was;
    size_t cap = 0;
    for (uint32_t i = 0; i < 100; i++) {
        was = list;
        list = arena_grow(&a, list, i, &cap, sizeof *list, 4);
        assert_true(list && cap > i && (!was || list == was));
        list[i] = i;
    }
    assert_true(cap < 130 && a.beg == (char *)(list + cap));
    arena_take(&a, 1, 1);
    was = list;
    list = arena_grow(&a, list, cap, &cap, sizeof *list, 4);
    assert_true(list && list != was && list[99] == 99);
    size_t n = cap;
    a.beg = a.end; /* no room: the list stays as it is */
    assert_null(arena_grow(&a, list, n, &cap, sizeof *list, 4));
    assert_true(a.full && cap == n && list[99] == 99);
    cap = SIZE_MAX / 4;
    assert_null(arena_grow(&a, list, cap, &cap, sizeof *list, 4));
}

static void a_map_keeps_a_number_for_each_text(void **state)
{
    (void)state;
    static char mem[4 << 20];
    daruma_arena a = arena_over(mem, sizeof mem);
    str_map m = {0};
    assert_null(map_get(&m, S("")));
    for (uint64_t i = 0; i < 5000; i++) {
        daruma_buf b = buf_in(&a);
        buf_int(&b, (int64_t)i);
        uint64_t *at = map_put(&m, &a, buf_str(&b));
        assert_true(at && !*at);
        *at = i + 1;
    }
    assert_int_equal(*map_get(&m, S("0")), 1);
    assert_int_equal(*map_put(&m, &a, S("4999")), 5000);
    assert_null(map_get(&m, S("5000")));
    assert_true(map_add(&m, &a, (daruma_str){0}));
    assert_false(map_add(&m, &a, S("")));
    assert_int_equal(m.n, 5001);
}

static void a_map_without_room_says_so(void **state)
{
    (void)state;
    char mem[64];
    daruma_arena a = arena_over(mem, sizeof mem);
    str_map m = {0};
    assert_null(map_put(&m, &a, S("x")));
    assert_false(map_add(&m, &a, S("x")));
    assert_null(map_get(&m, S("x")));
    assert_true(a.full);
}

/* As it is defined. */
static size_t place_of(daruma_str s, daruma_str what)
{
    for (size_t at = 0; at + what.n <= s.n; at++)
        if (memcmp(s.p + at, what.p, what.n) == 0)
            return at;
    return STR_NONE;
}

static void a_text_is_found_wherever_it_stands(void **state)
{
    (void)state;
    uint32_t dice = 7;
    for (int round = 0; round < 20000; round++) {
        size_t n = (dice = dice * 1664525 + 1013904223) >> 8 & 255, m = (dice >> 16 & 7) + 1;
        char *s = malloc(n + 1), what[8]; /* just as long, so that a sanitizer sees what is read behind it */
        assert_non_null(s);
        for (size_t i = 0; i < n; i++)
            s[i] = (char)('a' + ((dice = dice * 1664525 + 1013904223) >> 24) % 3);
        for (size_t i = 0; i < m; i++)
            what[i] = (char)('a' + ((dice = dice * 1664525 + 1013904223) >> 24) % 3);
        daruma_str at = {realloc(s, n ? n : 1), n}, it = {what, m};
        assert_int_equal(str_find(at, it), place_of(at, it));
        free((char *)(uintptr_t)at.p);
    }
    assert_int_equal(str_find(S("abc"), S("")), 0);
    assert_int_equal(str_find(S("abc"), S("abcd")), STR_NONE);
}

static void a_member_is_found_verbatim(void **state)
{
    (void)state;
    daruma_str v = json_get(S("{\"a\":[1, {\"b\":\"]\"}],\"c\":tr"), S("a"));
    assert_str(v, "[1, {\"b\":\"]\"}]");
}

static void the_last_of_duplicate_keys_wins_whatever_its_spelling(void **state)
{
    (void)state;
    assert_str(json_get(S("{\"a\":1,\"\\u0061\":2}"), S("a")), "2");
}

static void escapes_become_utf8(void **state)
{
    (void)state;
    char mem[64];
    daruma_arena a = arena_over(mem, sizeof mem);
    assert_str(json_text(S("\"\\ud83d\\ude00\\n\\u00e9\\ud800x\""), &a), "\xf0\x9f\x98\x80\n\xc3\xa9\xef\xbf\xbdx");
}

/* What is written in one go, and what is decoded into a buffer, is what is decoded first and written then. */
static void a_string_is_written_anew_without_being_decoded(void **state)
{
    static const char *const strings[] = {"\"\"",
                                          "\"plain\"",
                                          "\"\\ud83d\\ude00\\n\\u00e9\\ud800x\"",
                                          "\"a\\/b\\u0041\\u0007\\b\\f\\r\\t\\\"\\\\\"",
                                          "\"\\ud83d\"",
                                          "\"\\ude00\\ud83d\\ude00\"",
                                          "\"\xc3\\u00a9\xa9\xff\"",
                                          "\"\\u0000 16 bytes and more behind it\\u007f\"",
                                          "null",
                                          "\"not valid \\\""};
    (void)state;
    char mem[1024];
    for (size_t i = 0; i < COUNT(strings); i++) {
        daruma_arena a = arena_over(mem, sizeof mem);
        daruma_str raw = str_of(strings[i]), text = json_text(raw, &a);
        daruma_buf first = buf_in(&a), anew = buf_in(&a), plain = buf_in(&a);
        buf_json(&first, text);
        json_put_anew(&anew, raw);
        json_put_text(&plain, raw);
        assert_true(str_eq(buf_str(&first), buf_str(&anew)));
        assert_true(str_eq(text, buf_str(&plain)));
    }
}

static void durations_and_dates_are_read(void **state)
{
    (void)state;
    assert_int_equal(date_duration(S("6m0s"), NULL), 360000);
    assert_int_equal(date_duration(S("1.5s"), NULL), 1500);
    assert_int_equal(date_duration(S("20ms"), NULL), 20);
    assert_int_equal(date_duration(S("1m30.002s"), NULL), 90002);
    assert_int_equal(date_duration(S("16 days"), NULL), 16 * 86400000LL);
    assert_int_equal(date_duration(S("soon"), NULL), -1);
    assert_int_equal(date_http(S("Sun, 06 Nov 1994 08:49:37 GMT")), 784111777000);
    assert_int_equal(date_http(S("Sunday, 06-Nov-94 08:49:37 GMT")), 784111777000);
    assert_int_equal(date_http(S("Sun Nov  6 08:49:37 1994")), 784111777000);
    assert_int_equal(date_rfc3339(S("1994-11-06T10:49:37.25+02:00")), 784111777250);
    char out[21];
    date_write(784111777, out);
    assert_string_equal(out, "1994-11-06T08:49:37Z");
}

static void a_duration_is_told_however_long_it_is(void **state)
{
    (void)state;
    static const struct {
        daruma_ms ms;
        const char *says;
    } rows[] = {{999, "999 ms"},     {1500, "1.5 s"},       {119000, "119 s"},
                {129600000, "36 h"}, {216000000, "3 days"}, {INT64_MAX, "106751991167 days"}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        char mem[64];
        daruma_buf b = buf_over(mem, sizeof mem);
        buf_duration(&b, rows[i].ms);
        assert_str(buf_str(&b), rows[i].says);
    }
}

static void broken_json_is_refused_and_every_prefix_too(void **state)
{
    (void)state;
    static const char text[] = "{\"a\":[1,-2.5e3,true,false,null,\"x\\u12ab\\\"\"],\"b\":{}}";
    daruma_str whole = S(text);
    assert_true(json_valid(whole));
    for (size_t n = 0; n < whole.n; n++)
        assert_false(json_valid(str_sub(whole, 0, n)));
    static const char *const bad[] = {"01",     "1.",      "-",   "[1,]",  "{\"a\"}", "{a:1}",
                                      "\"\n\"", "\"\\x\"", "tru", "[1 2]", "",        "{}x"};
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(json_valid(str_of(bad[i])));
}

/* Whatever stands about a name's colon, and however long the name is; without its colon it is broken. */
static void a_member_is_found_however_it_is_spaced(void **state)
{
    (void)state;
    static const char *const colons[] = {":", " :", ": ", ":\n", "", ";"};
    for (int n = 0; n <= 20; n++)
        for (size_t i = 0; i < COUNT(colons); i++) {
            char text[100];
            daruma_str key, value;
            snprintf(text, sizeof text, "{\"a\":1,\"%.*s\"%s[22],\"behind\":\"0123456789abcdef\"}", n,
                     "abcdefghijklmnopqrstuvwxyz", colons[i]);
            json_iter it = json_open(str_of(text));
            assert_true(json_next(&it, &key, &value));
            assert_int_equal(json_next(&it, &key, &value), i < 4);
            assert_int_equal(it.bad, i >= 4);
            if (i < 4) {
                assert_int_equal(key.n, n);
                assert_str(value, "[22]");
            }
        }
}

static void a_buffer_says_pieces_by_their_type(void **state)
{
    (void)state;
    char mem[256];
    daruma_buf b = buf_over(mem, sizeof mem);
    daruma_str none = {0};
    const char *nothing = NULL;
    size_t n = 3;
    BUF_SAY(&b, "a", S("b"), -7, n, (bool)true, nothing, none, buf_quoted(S("\"")));
    assert_str(buf_str(&b), "ab-73true\"\\\"\"");
    b.n = 0;
    BUF_OBJECT(&b, "a", "x\"", "n", INT64_MIN, "no", buf_any(none), "raw", buf_raw(S("[1]")), "flag", (bool)false,
               "not", BUF_IF(n > 3, n), "is", BUF_IF(n == 3, n), "empty", none);
    assert_str(buf_str(&b),
               "{\"a\":\"x\\\"\",\"n\":-9223372036854775808,\"raw\":[1],\"flag\":false,\"is\":3,\"empty\":\"\"}");
    b.n = 0;
    BUF_LIT(&b, "{");
    BUF_MEMBERS(&b, "a", buf_any(none));
    BUF_MEMBERS(&b, "b", 1);
    BUF_MEMBERS(&b, "c", 2);
    assert_str(buf_str(&b), "{\"b\":1,\"c\":2");
}

static void base64_is_read_as_json_has_it(void **state)
{
    (void)state;
    static const struct {
        const char *text, *is; /* NULL: it is none */
    } rows[] = {
        {"", ""},        {"YQ==", "a"},      {"YWI", "ab"},   {"YWJj", "abc"},
        {"Pz8/", "???"}, {"Pz8\\/", "???"},  {"Pz8_", "???"}, {"YWJj\\nZGVm", "abcdef"},
        {"YW Jj", NULL}, {"YQ==YQ==", NULL}, {"a,b", NULL},   {"YW\r\nJj\n", "abc"},
        {"YQ==\n", "a"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char room[16];
        daruma_buf b = buf_over(room, sizeof room);
        assert_int_equal(base64_put(&b, str_of(rows[i].text)), rows[i].is != NULL);
        assert_str(buf_str(&b), rows[i].is ? rows[i].is : "");
    }
    char text[4001] = {0}, room[4096];
    for (size_t i = 0; i < 4000; i++)
        text[i] = "YWJj"[i % 4];
    daruma_buf b = buf_over(room, sizeof room);
    assert_true(base64_put(&b, str_of(text)) && b.n == 3000 && !memcmp(b.p + 2997, "abc", 3));
}

static void a_buffer_writes_json_strings(void **state)
{
    (void)state;
    char mem[256];
    daruma_buf b = buf_over(mem, sizeof mem);
    buf_json(&b, S("a\"\\\n\x01\xff\xc3\xa9"));
    assert_str(buf_str(&b), "\"a\\\"\\\\\\n\\u0001\xef\xbf\xbd\xc3\xa9\"");
    assert_false(b.full);
}

/* ---- bits of texts ---- */

static bool byte_is(char c, bool digit)
{
    return digit ? ch_digit(c) : ch_word(c);
}

/* What the bits say of `text` from `at` on is what its bytes say. */
static void check_bits_at(daruma_str text, const uint64_t *bits, size_t at, bool digit)
{
    size_t row = 0, next = at;
    while (at + row < text.n && byte_is(text.p[at + row], digit))
        row++;
    while (next < text.n && !byte_is(text.p[next], digit))
        next++;
    assert_int_equal(bits_in_row(bits, at), row);
    assert_int_equal(bits_from(bits, at) & 1, row > 0);
    for (size_t n = 0; n <= text.n - at; n++)
        if (bits_any(bits, at, n) != (n > next - at))
            fail_msg("%zu bytes from %zu of %zu", n, at, text.n);
}

static void check_bits(daruma_str text)
{
    same_bits bits;
    memset(&bits, 0xa5, sizeof bits); /* what an earlier text left behind */
    bits_of(text, &bits);
    for (size_t at = 0; at <= text.n; at++) {
        check_bits_at(text, bits.word, at, false);
        check_bits_at(text, bits.digit, at, true);
    }
}

static void bits_say_what_bytes_say(void **state)
{
    static const size_t rows[] = {0, 1, 7, 8, 9, 56, 57, 58, 63, 64, 65, 113, 114, 115, 128, 171};
    static const char of[] = {'7', 'k', '_', '\xff'};
    char every[256], text[80 + 171 + 80];
    (void)state;
    for (int i = 0; i < 256; i++) /* the signs beside digits and letters, too */
        every[i] = (char)i;
    check_bits((daruma_str){every, sizeof every});
    for (size_t r = 0; r < COUNT(rows); r++)
        for (size_t before = 0; before < 80; before++) {
            size_t behind = before % 3 ? before : 0; /* some rows end with the text */
            memset(text, '-', sizeof text);
            memset(text + before, of[(r + before) % sizeof of], rows[r]);
            check_bits((daruma_str){text, before + rows[r] + behind});
        }
}

static void bits_of_the_longest_text_are_all_there(void **state)
{
    enum { LONGEST = SAME_FAILURE_BYTES_MAX };
    char *text = malloc(LONGEST); /* a byte read behind it is seen */
    same_bits bits;
    (void)state;
    assert_non_null(text);
    memset(text, '3', LONGEST);
    for (size_t from = 0; from <= 130; from++) {
        daruma_str s = {text + from, LONGEST - from};
        memset(&bits, 0xff, sizeof bits);
        bits_of(s, &bits);
        for (size_t at = 0; at <= s.n; at += at + 70 < s.n ? 61 : 1) {
            assert_int_equal(bits_in_row(bits.word, at), s.n - at);
            assert_int_equal(bits_in_row(bits.digit, at), s.n - at);
            assert_int_equal(bits_any(bits.digit, at, s.n - at), at < s.n);
        }
    }
    free(text);
}

static void what_a_terminal_obeys_is_not_fit_to_be_shown(void **state)
{
    (void)state;
    static const char *const unfit[] = {
        "\x1b",         "\a",           "\n",           "\x7f",         "\xc2\x80",
        "\xc2\x9b",     "\xc2\x9f",     "\x9b",         "\xd8\x9c",     "\xe2\x80\x8e",
        "\xe2\x80\xa8", "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xaf", "\xf3\xa0\x81\x81"};
    static const char *const fit[] = {"a",
                                      " ",
                                      "\xc2\xa0",
                                      "\xc3\x9b",
                                      "\xd8\x9d",
                                      "\xe2\x80\x8d",
                                      "\xe2\x80\xa6",
                                      "\xe4\xb8\x9b",
                                      "\xf0\x9f\x9b\x9b",
                                      "\xf3\xa0\x84\x80",
                                      "\xff"};
    bool is;
    for (size_t i = 0; i < COUNT(unfit); i++) {
        assert_int_equal(str_step(str_of(unfit[i]), &is), strlen(unfit[i]));
        assert_false(is);
    }
    for (size_t i = 0; i < COUNT(fit); i++) {
        assert_int_equal(str_step(str_of(fit[i]), &is), strlen(fit[i]));
        assert_true(is);
    }
    assert_int_equal(str_step(S("\xe2\x80"), &is), 1); /* cut: its bytes alone */
}

/* What is found of 16 bytes at a time is what is found byte by byte, for every byte at every place. */
static void bytes_are_the_same_alone_and_many_at_a_time(void **state)
{
    (void)state;
    static const struct {
        uint8_t first, last;
    } ranges[] = {{0, 0x1f}, {'a', 'z'},   {'!', '~'}, {0x80, 0xbf}, {0xc2, 0xdf},
                  {0, 0},    {0xff, 0xff}, {0, 0xfe},  {1, 0xff}};
    char p[64];
    uint16_t tags[32];
    for (int first = 0; first < 256; first++) {
        for (int i = 0; i < 64; i++)
            p[i] = (char)(first + i * 37);
        for (int i = 0; i < 32; i++)
            tags[i] = (uint16_t)(first * 257 + i % 7);
        scan16 v = scan_load(p), ends = scan_load_ends(p, p + 13);
        for (int i = 0; i < 16; i++) {
            assert_int_equal(scan_bits(scan_is(v, (char)first)) >> i & 1, p[i] == (char)first);
            assert_int_equal(scan_bits(v) >> i & 1, (unsigned char)p[i] >> 7);
            assert_int_equal(ends[i], (unsigned char)(i < 8 ? p[i] : p[13 - 16 + i]));
            for (size_t r = 0; r < COUNT(ranges); r++)
                assert_int_equal(scan_bits(scan_range(v, ranges[r].first, ranges[r].last)) >> i & 1,
                                 (unsigned char)p[i] >= ranges[r].first && (unsigned char)p[i] <= ranges[r].last);
        }
        for (int i = 0; i < 64; i++) {
            assert_int_equal(scan_equal64_plain(p, (char)first, 0x20) >> i & 1, (p[i] | 0x20) == (char)first);
            if (scan_has_avx2())
                assert_int_equal(scan_equal64_avx2(p, (char)first, 0x20) >> i & 1, (p[i] | 0x20) == (char)first);
        }
        for (int i = 0; i < 32; i++)
            assert_int_equal(scan_tags(tags, (uint16_t)(first * 257 + 3)) >> i & 1, i % 7 == 3);
    }
}

/* Characters are counted by their length: in a text of any length, also where its counters would run over. */
static void high_bytes_are_counted_as_one_by_one(void **state)
{
    (void)state;
    static char p[64 * 600];
    for (int kind = 0; kind < 3; kind++) {
        for (size_t i = 0; i < sizeof p; i++)
            p[i] = (char)(kind == 0 ? 0xff : kind == 1 ? i * 89 >> (i % 3) : i % 997 ? 'a' : 0xe4);
        for (size_t n = 0; n < sizeof p; n += n < 200 ? 1 : 1913) {
            size_t from80 = 0, fromc0 = 0, frome0 = 0, fromf0 = 0;
            for (size_t i = 0; i < n; i++) {
                unsigned char b = (unsigned char)p[i];
                from80 += b >= 0x80, fromc0 += b >= 0xc0, frome0 += b >= 0xe0, fromf0 += b >= 0xf0;
            }
            scan_high got = scan_high_bytes(p, n);
            assert_int_equal(got.from80, from80);
            assert_int_equal(got.fromc0, fromc0);
            assert_int_equal(got.frome0, frome0);
            assert_int_equal(got.fromf0, fromf0);
        }
    }
}

/* Blocks of plain text are skipped up to the first byte that is none, and never beyond the end. */
/* A string ends at its quote, and is broken by what may not stand in it, wherever that is and whatever stands around.
 */
static void a_string_is_judged_alike_wherever_its_bytes_stand(void **state)
{
    (void)state;
    static const struct {
        daruma_str text;
        bool fits;
    } pieces[] = {
        {LIT("\\\""), true},     {LIT("\\\\"), true}, {LIT("\\n"), true},      {LIT("\\u12aF"), true},
        {LIT("\x7f"), true},     {LIT("\xff"), true}, {LIT("\\\\\\\""), true}, {LIT("\\x"), false},
        {LIT("\\u12g4"), false}, {LIT("\n"), false},  {LIT("\x1f"), false},    {LIT("\0"), false},
        {LIT("\\u123"), false},
    };
    for (size_t k = 0; k < COUNT(pieces) * COUNT(pieces); k++)
        for (size_t at = 0; at < 120; at++) {
            char p[200];
            daruma_buf b = buf_over(p, sizeof p);
            buf_putc(&b, '"');
            for (size_t i = 0; i < 120; i++)
                if (i == at) {
                    buf_put(&b, pieces[k / COUNT(pieces)].text);
                    buf_put(&b, pieces[k % COUNT(pieces)].text);
                } else {
                    buf_putc(&b, 'z'); /* no digit of an escape */
                }
            buf_putc(&b, '"');
            bool fits = pieces[k / COUNT(pieces)].fits && pieces[k % COUNT(pieces)].fits;
            size_t end = json_skip(buf_str(&b), 0, NULL);
            assert_int_equal(end == b.n, fits);
            buf_put(&b, S(",\"behind\""));
            assert_int_equal(json_skip(buf_str(&b), 0, NULL), end);
            if (fits) /* and not before it: every beginning is broken */
                assert_true(json_skip(str_sub(buf_str(&b), 0, end - 1 - at / 8), 0, NULL) == STR_NONE);
        }
}

/* Bytes are looked at 16 at a time: each one must be written as alone, wherever it stands. */
static void every_byte_is_written_as_alone_wherever_it_stands(void **state)
{
    (void)state;
    for (int c = 0; c < 256; c++) {
        char alone[16], one = (char)c;
        daruma_buf a = buf_over(alone, sizeof alone);
        buf_json(&a, (daruma_str){&one, 1});
        for (size_t n = 1; n <= 40; n++)
            for (size_t at = 0; at < n; at++) {
                char text[40], got[64], want[64];
                daruma_buf b = buf_over(got, sizeof got), w = buf_over(want, sizeof want);
                memset(text, 'a', n);
                text[at] = one;
                buf_json(&b, (daruma_str){text, n});
                buf_putc(&w, '"');
                for (size_t i = 0; i < n; i++)
                    buf_put(&w, i == at ? str_sub(buf_str(&a), 1, a.n - 2) : S("a"));
                buf_putc(&w, '"');
                assert_true(str_eq(buf_str(&b), buf_str(&w)));
            }
    }
}

static void numbers_are_written_as_printf_writes_them(void **state)
{
    (void)state;
    uint64_t x = 1;
    for (int i = 0; i < 20000; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        int64_t v = i < 2100 ? i - 1050 : i == 2100 ? INT64_MIN : i == 2101 ? INT64_MAX : (int64_t)x >> x % 64;
        char got[32], want[32];
        daruma_buf b = buf_over(got, sizeof got);
        buf_int(&b, v);
        int n = snprintf(want, sizeof want, "%lld", (long long)v);
        assert_true(str_eq(buf_str(&b), (daruma_str){want, (size_t)n}));
        b.n = 0;
        buf_hex64(&b, (uint64_t)v);
        snprintf(want, sizeof want, "%016llx", (unsigned long long)v);
        assert_true(str_eq(buf_str(&b), (daruma_str){want, 16}));
    }
}

static void case_counts_for_nothing_but_letters(void **state)
{
    (void)state;
    for (size_t n = 1; n <= 20; n++)
        for (size_t at = 0; at < n; at++)
            for (int c = 0; c < 256 * 256; c++) {
                char a[20], b[20];
                if (n > 9 && c % 7) /* longer ones go the same way */
                    continue;
                memset(a, 'm', sizeof a);
                memset(b, 'M', sizeof b);
                a[at] = (char)(c & 255);
                b[at] = (char)(c >> 8);
                if (str_ieq((daruma_str){a, n}, (daruma_str){b, n}) != ch_ieq(a[at], b[at]))
                    fail_msg("%zu bytes, %02x and %02x at %zu", n, (unsigned)c & 255, (unsigned)c >> 8, at);
            }
}

static void a_text_is_found_in_any_case_wherever_it_stands(void **state)
{
    static const char *const texts[] = {"k", "ok", "e-5", "quota", "context_length", "no such file or directory"};
    (void)state;
    for (size_t t = 0; t < COUNT(texts); t++)
        for (size_t n = strlen(texts[t]); n < 80; n++)
            for (size_t at = 0; at + strlen(texts[t]) <= n; at++) {
                char text[80];
                memset(text, '@', sizeof text); /* '`' but for a bit */
                for (size_t i = 0; texts[t][i]; i++)
                    text[at + i] = i % 2 && ch_alpha(texts[t][i]) ? (char)(texts[t][i] ^ 0x20) : texts[t][i];
                assert_int_equal(str_ifind((daruma_str){text, n}, str_of(texts[t])), at);
                text[at + strlen(texts[t]) / 2] = '@';
                assert_true(str_ifind((daruma_str){text, n}, str_of(texts[t])) == STR_NONE);
            }
}

static void escapes_end_a_string_wherever_they_stand(void **state)
{
    static const char *const odd[] = {"\\\\", "\\\"", "\\\\\\\"", "\\\\\\\\", "\\n\\n", "\\n\\\\"};
    (void)state;
    for (size_t k = 0; k < COUNT(odd); k++)
        for (size_t at = 0; at < 200; at++) {
            char text[300];
            memset(text, 'x', sizeof text);
            text[0] = '"';
            memcpy(text + 1 + at, odd[k], strlen(odd[k]));
            text[1 + at + strlen(odd[k])] = '"';
            const char *end = text + 1 + at + strlen(odd[k]) + 1;
            assert_ptr_equal(json_string_end_quick(text, text + sizeof text), end);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(case_counts_for_nothing_but_letters),
        cmocka_unit_test(a_text_is_found_in_any_case_wherever_it_stands),
        cmocka_unit_test(escapes_end_a_string_wherever_they_stand),
        cmocka_unit_test(what_a_terminal_obeys_is_not_fit_to_be_shown),
        cmocka_unit_test(a_star_stands_for_anything),
        cmocka_unit_test(every_byte_is_written_as_alone_wherever_it_stands),
        cmocka_unit_test(numbers_are_written_as_printf_writes_them),
        cmocka_unit_test(a_list_grows_where_it_stands_while_it_is_the_newest),
        cmocka_unit_test(a_map_keeps_a_number_for_each_text),
        cmocka_unit_test(a_map_without_room_says_so),
        cmocka_unit_test(a_member_is_found_verbatim),
        cmocka_unit_test(the_last_of_duplicate_keys_wins_whatever_its_spelling),
        cmocka_unit_test(escapes_become_utf8),
        cmocka_unit_test(a_string_is_written_anew_without_being_decoded),
        cmocka_unit_test(durations_and_dates_are_read),
        cmocka_unit_test(a_duration_is_told_however_long_it_is),
        cmocka_unit_test(broken_json_is_refused_and_every_prefix_too),
        cmocka_unit_test(a_member_is_found_however_it_is_spaced),
        cmocka_unit_test(a_text_is_found_wherever_it_stands),
        cmocka_unit_test(a_buffer_says_pieces_by_their_type),
        cmocka_unit_test(base64_is_read_as_json_has_it),
        cmocka_unit_test(a_buffer_writes_json_strings),
        cmocka_unit_test(bits_say_what_bytes_say),
        cmocka_unit_test(bits_of_the_longest_text_are_all_there),
        cmocka_unit_test(bytes_are_the_same_alone_and_many_at_a_time),
        cmocka_unit_test(high_bytes_are_counted_as_one_by_one),
        cmocka_unit_test(a_string_is_judged_alike_wherever_its_bytes_stand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
