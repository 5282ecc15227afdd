/* test_conf.c - the reader of YAML by tables: a small table of its own, so that nothing here depends on what an option
 * means. */
#include "test.h"
#include "conf/conf.h"
#include "base/arena.h"
#include "base/buf.h"
#include <stdlib.h>

/* ---- a table ------------------------------------------------------------------------ */

typedef struct cup {
    daruma_str name, note;
    int64_t ml;
} cup;

typedef struct tray {
    cup *cups;
    size_t ncups;
    daruma_str *words;
    size_t nwords;
    daruma_header *labels;
    size_t nlabels;
    conf_address at;
    daruma_str secret, json;
    int64_t wait, share;
    uint32_t colour;
    int lit;
    bool said;
    int seen; /* cups that fit */
} tray;

static void cup_fits(conf *r, void *base, void *item, size_t index)
{
    (void)index;
    ((tray *)base)->seen++;
    if (((cup *)item)->ml == 13)
        conf_wrong(r, "thirteen\ntake another");
}

static const conf_option cup_rows[] = {
    {"name", CONF_NAME, CONF_REQUIRED, CONF_AT(cup, name), .min = 1, .help = "what it is called"},
    {"ml", CONF_INTEGER, CONF_AT(cup, ml), .min = 1, .max = 500, .fallback = "200", .help = "what it holds"},
    {"note", CONF_TEXT, CONF_AT(cup, note), .max = 5, .help = "a note"},
};
static const conf_option word = {NULL, CONF_TEXT, .size = sizeof(daruma_str), .min = 1, .help = "a word"};
static const conf_option label = {NULL, CONF_TEXT, CONF_AT(daruma_header, value), .help = "a label"};
static const cup empty_cup = {.ml = -1};
static const conf_shape cups = {.of = CONF_ROWS(cup_rows),
                                .like = "{ name: a }",
                                .size = sizeof(cup),
                                .blank = &empty_cup,
                                .max = 40,
                                .thing = "cup",
                                .name_at = offsetof(cup, name),
                                .fits = cup_fits};
static const conf_shape words = {.element = &word, .size = sizeof(daruma_str), .max = 3};
static const conf_shape labels = {
    .element = &label, .size = sizeof(daruma_header), .name_at = offsetof(daruma_header, name)};
static const conf_option light_rows[] = {
    {"colour", CONF_ENUM, CONF_AT(tray, colour), .fallback = "red", .words = "red green", .help = "of the light"},
    {"lit", CONF_BOOL, CONF_AT(tray, lit), .fallback = "auto", .word = "auto", .word_is = 2, .help = "is it on"},
};
static const conf_shape light = {.of = CONF_ROWS(light_rows)};
static const conf_option rows[] = {
    {"cups", CONF_LIST, CONF_ITEMS(tray, cups), .shape = &cups, .said = offsetof(tray, said), .help = "the cups"},
    {"words", CONF_LIST, CONF_OR_SINGLE, CONF_ITEMS(tray, words), .shape = &words, .help = "words"},
    {"labels", CONF_NAMED, CONF_ITEMS(tray, labels), .shape = &labels, .help = "labels"},
    {"at", CONF_ADDRESS, CONF_AT(tray, at), .fallback = ":80", .help = "where"},
    {"secret", CONF_TEXT, CONF_SECRET, CONF_AT(tray, secret), .env = "low HIGH", .help = "a secret"},
    {"json", CONF_JSON, CONF_AT(tray, json), .help = "anything"},
    {"wait", CONF_DURATION, CONF_AT(tray, wait), .max = 1000, .fallback = "none", .word = "none", .help = "a wait"},
    {"share", CONF_FRACTION, CONF_AT(tray, share), .max = 1000, .fallback = "0.5", .help = "a share"},
    {"light", CONF_GROUP, .shape = &light, .help = "the light"},
};
static const conf_shape root = {.of = CONF_ROWS(rows), .like = "`at: :80`"};

static daruma_str env(daruma_str name, bool *found, void *user)
{
    (void)user;
    *found = str_eq(name, S("HIGH")) || str_eq(name, S("ML"));
    return str_eq(name, S("ML")) ? S("501") : *found ? S("sesame") : S("");
}

static bool settled; /* settle() was called */
static void settle(conf *r, void *at)
{
    settled = true;
    conf_go(r, "cups[1].ml");
    if (((tray *)at)->ncups > 1 && ((tray *)at)->cups[1].ml == 7)
        conf_wrong(r, "seven");
}

static const conf_host host = {
    .root = &root, .what = "tray", .file = "tray.yaml", .bytes_max = 1 << 16, .env = env, .settle = settle};
static char memory[1 << 18];
static conf_mistakes m;
static tray t;

static bool read_tray(const char *text)
{
    daruma_arena a = arena_over(memory, sizeof memory);
    t = (tray){0};
    settled = false;
    return conf_read(str_of(text), &host, &t, &a, &m);
}

/* All mistakes, as "LINE:COLUMN key: what; remedy" each in a line. */
static const char *all(void)
{
    static char text[1 << 16];
    daruma_buf b = buf_over(text, sizeof text - 1);
    for (size_t i = 0; i < m.n; i++) {
        buf_printf(&b, "%d:%d ", m.at[i].line, m.at[i].column);
        conf_mistake_say(&m.at[i], &b);
        BUF_LIT(&b, "\n");
    }
    text[b.n] = 0;
    return text;
}

/* ---- values ---------------------------------------------------------------------------- */

static void a_file_fills_the_structs_and_what_it_does_not_say_has_defaults(void **state)
{
    (void)state;
    assert_true(read_tray("cups: [ { name: a, ml: 5 }, { name: b } ]\nwords: one\nlabels: { x: 1, y: z }\n"
                          "json: { a: [1, \"2\"] }\nlight: { lit: on }\n"));
    assert_int_equal(t.ncups, 2);
    assert_int_equal(t.cups[0].ml, 5);
    assert_int_equal(t.cups[1].ml, 200);
    assert_int_equal(t.seen, 2);
    assert_int_equal(t.nwords, 1); /* a list that may be its one element */
    assert_str(t.labels[1].name, "y");
    assert_str(t.labels[1].value, "z");
    assert_str(t.json, "{\"a\":[1,\"2\"]}");
    assert_str(t.at.host, "127.0.0.1");
    assert_int_equal(t.at.port, 80);
    assert_str(t.secret, "sesame"); /* the second variable: the first is not set */
    assert_int_equal(t.share, 500);
    assert_int_equal(t.colour, 0);
    assert_int_equal(t.lit, 1);
    assert_true(t.said && settled);
    assert_true(read_tray(""));
    assert_int_equal(t.lit, 2);
    assert_false(t.said);
}

/* ---- mistakes ------------------------------------------------------------------------------ */

static void mistakes_come_in_the_order_of_lines_whatever_the_order_of_the_table(void **state)
{
    (void)state;
    assert_false(read_tray("light: { colour: gren }\nshare: 2\nat: x\ncups:\n- ml: 0\n  name: a b\n- 5\n"));
    assert_string_equal(all(),
                        "1:18 light.colour: expected one of red, green, found \"gren\"; did you mean green?\n"
                        "2:8 share: expected a number like 1.5 from 0 to 1, found \"2\"; it is too large\n"
                        "3:5 at: expected an address like 127.0.0.1:4141, found \"x\"; add the port, e.g. :4141\n"
                        "5:7 cups[0].ml: expected a whole number from 1 to 500, found \"0\"; it is too small\n"
                        "6:9 cups[0].name: expected a name of letters, digits, '.', '_' and '-', found \"a b\"\n"
                        "7:3 cups[1]: expected a mapping like { name: a }, found a single value\n");
    assert_false(settled);
    assert_int_equal(t.seen, 0); /* nothing fits that is wrong already */
}

static void a_mistake_is_told_once_and_not_what_follows_from_it(void **state)
{
    (void)state;
    static const char *const files[][2] = {
        {"cups: [ { nmae: a } ]", "1:11 cups[0]: unknown key `nmae`; did you mean `name`?\n"}, /* and none is missing */
        {"cup: [ { name: a, ml: 0 } ]",
         "1:1 unknown key `cup`; did you mean `cups`?\n"
         "1:23 cups[0].ml: expected a whole number from 1 to 500, found \"0\"; it is too small\n"}, /* within it, too */
        {"cup: 5", "1:1 unknown key `cup`; did you mean `cups`?\n"},
        {"cups: [ { name: a }, &a { name: b, ml: x }, *a ]",
         "1:33 cups[2].name: another cup has the name \"b\"; names are unique\n"
         "1:40 cups[1].ml: expected a whole number from 1 to 500, found \"x\"\n"},
        {"cups: [ { name: a, ml: \"${X}\" }, { name: b, ml: \"${X}\" }, { name: \"${Y}\" } ]",
         "1:24 cups[0].ml: the environment variable X is not set; set it before starting daruma, or write $${ for a "
         "literal ${\n1:67 cups[2].name: the environment variable Y is not set; set it before starting daruma, or "
         "write "
         "$${ for a literal ${\n"},
        {"at: :1\nat: :2\nat: :3", "2:1 the key `at` stands here twice, first in line 1; remove one\n"
                                   "3:1 the key `at` stands here twice, first in line 1; remove one\n"},
        {"cups: [ { name: a, ml: 13 } ]", "1:9 cups[0]: thirteen; take another\n"},
        {"cups: [ { name: a }, { name: b, ml: 7 } ]", "1:37 cups[1].ml: seven\n"},
        {"cups: [ { name: a, ml: \"${ML}\" } ]",
         "1:24 cups[0].ml: expected a whole number from 1 to 500, found \"${ML}\"; it is too large\n"},
        {"words: [a, b, c, d]", "1:8 words: 4 are too many; 3 at most\n"},
        {"ml: 5", "1:1 unknown key `ml` here; its place is `cups[].ml`\n"},
        {"labels: { y: }", "1:14 labels.y: expected a text, found nothing; give a value or remove the line\n"},
        {"zebra: 5",
         "1:1 unknown key `zebra`; known here: cups, words, labels, at, secret, json, wait, share, light\n"},
    };
    for (size_t i = 0; i < COUNT(files); i++) {
        if (read_tray(files[i][0]))
            fail_msg("%s", files[i][0]);
        assert_string_equal(all(), files[i][1]);
    }
}

static void more_mistakes_than_are_kept_are_counted_and_the_first_lines_are_kept(void **state)
{
    (void)state;
    static char text[1 << 14];
    daruma_buf b = buf_over(text, sizeof text - 1);
    BUF_LIT(&b, "light:\n  lit: 5\nat: x\ncups:\n");
    for (int i = 0; i < 39; i++)
        buf_printf(&b, "- { name: c%d, ml: x }\n", i);
    text[b.n] = 0;
    assert_false(read_tray(text));
    assert_int_equal(m.n, CONF_MISTAKES_MAX);
    assert_int_equal(m.more, 41 - CONF_MISTAKES_MAX);
    assert_string_equal(m.at[0].key, "light.lit"); /* read last */
    assert_string_equal(m.at[1].key, "at");
    assert_int_equal(m.at[CONF_MISTAKES_MAX - 1].line, 4 + CONF_MISTAKES_MAX - 2);
    static char told[1 << 16];
    daruma_buf out = buf_over(told, sizeof told);
    conf_mistakes_say(&m, &out);
    assert_true(str_starts(buf_str(&out), S("tray.yaml:2:8: light.lit: expected true, false or auto, found \"5\"\n"
                                            "    lit: 5\n"
                                            "         ^\n")));
    assert_true(str_ends(buf_str(&out), S("\nand 9 more\n")));
}

static void a_mapping_of_too_many_keys_is_not_compared(void **state)
{
    (void)state;
    static char text[1 << 16];
    daruma_buf b = buf_over(text, sizeof text - 1);
    for (int i = 0; i <= CONF_KEYS_MAX; i++)
        buf_printf(&b, "k%d: 1\n", i);
    text[b.n] = 0;
    assert_false(read_tray(text));
    assert_string_equal(all(), "1:1 257 are too many; 256 at most\n");
}

static void a_secret_is_neither_in_a_mistake_nor_in_what_is_printed(void **state)
{
    (void)state;
    static char out[4096];
    daruma_buf b = buf_over(out, sizeof out - 1);
    assert_false(read_tray("secret: [hidden]\nat: hidden@x # hidden\n"));
    conf_mistakes_say(&m, &b);
    conf_mistakes_json(&m, &b);
    assert_int_equal(str_find(buf_str(&b), S("hidden")), STR_NONE);
    b.n = 0;
    assert_true(read_tray("secret: hidden\ncups: [ { name: a } ]\nlabels: { l: x }\nwait: 20ms\n"));
    conf_print_values(&root, &t, &b);
    out[b.n] = 0;
    assert_string_equal(out,
                        "{\"cups\":[{\"name\":\"a\",\"ml\":200,\"note\":null}],\"words\":[],\"labels\":{\"l\":\"x\"},"
                        "\"at\":\"127.0.0.1:80\",\"secret\":\"[redacted]\",\"json\":null,\"wait\":\"20ms\","
                        "\"share\":0.500,\"light\":{\"colour\":\"red\",\"lit\":\"auto\"}}");
}

static void mistakes_are_json_for_programs(void **state)
{
    (void)state;
    static char out[4096];
    daruma_buf b = buf_over(out, sizeof out - 1);
    assert_false(read_tray("at: \"a\\\"b\"\nwait: 5\n"));
    conf_mistakes_json(&m, &b);
    out[b.n] = 0;
    assert_string_equal(
        out, "[{\"line\":1,\"column\":5,\"key\":\"at\",\"message\":\"expected an address like 127.0.0.1:4141, "
             "found \\\"a\\\"b\\\"\",\"expected\":\"an address like 127.0.0.1:4141\",\"remedy\":\"add the "
             "port, e.g. :4141\"},{\"line\":2,\"column\":7,\"key\":\"wait\",\"message\":\"expected a duration "
             "like 5s from 0s to 1s, or none, found \\\"5\\\"\",\"expected\":\"a duration like 5s from 0s to "
             "1s, or none\",\"remedy\":\"add a unit, e.g. 5s\"}]");
}

static void every_prefix_and_every_small_arena_ends_with_an_answer(void **state)
{
    (void)state;
    static const char text[] = "cups: [ &a { name: a, ml: 5, note: \"${HIGH}\" }, *a ]\nlabels: { x: 1 }\njson: [*a]\n";
    for (size_t n = 0; n < sizeof text; n++) {
        char *copy = malloc(n ? n : 1); /* exactly as long, so that a byte too many is seen */
        memcpy(copy, text, n);
        daruma_arena a = arena_over(memory, sizeof memory);
        t = (tray){0};
        assert_true(conf_read((daruma_str){copy, n}, &host, &t, &a, &m) == !m.n);
        free(copy);
    }
    for (size_t n = 0; n < 1500; n += 10) {
        daruma_arena a = arena_over(memory, n);
        t = (tray){0};
        if (!conf_read(S("cups: [ { name: a }, { name: b } ]\nwords: [x]\n"), &host, &t, &a, &m))
            assert_string_equal(all(), "0:0 the tray does not fit into memory\n");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_fills_the_structs_and_what_it_does_not_say_has_defaults),
        cmocka_unit_test(mistakes_come_in_the_order_of_lines_whatever_the_order_of_the_table),
        cmocka_unit_test(a_mistake_is_told_once_and_not_what_follows_from_it),
        cmocka_unit_test(more_mistakes_than_are_kept_are_counted_and_the_first_lines_are_kept),
        cmocka_unit_test(a_mapping_of_too_many_keys_is_not_compared),
        cmocka_unit_test(a_secret_is_neither_in_a_mistake_nor_in_what_is_printed),
        cmocka_unit_test(mistakes_are_json_for_programs),
        cmocka_unit_test(every_prefix_and_every_small_arena_ends_with_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
