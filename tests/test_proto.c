/* Protocol Buffers as spans are written in them, byte for byte, and what is read of a collector's answer. */
#include "base/arena.h"
#include "base/str.h"
#include "../src/gateway/see/proto.c"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

static char room[4096];

#define IS(b, bytes)                                                                                                   \
    do {                                                                                                               \
        assert_int_equal((b).n, sizeof(bytes) - 1);                                                                    \
        assert_memory_equal((b).p, bytes, sizeof(bytes) - 1);                                                          \
    } while (0)

static void fields_stand_as_they_have_to(void **state)
{
    (void)state;
    daruma_buf b = buf_over(room, sizeof room);
    proto_fixed64(&b, 7, 0x0102030405060708);
    IS(b, "\x39\x08\x07\x06\x05\x04\x03\x02\x01");
    b.n = 0;
    proto_id(&b, 2, (uint64_t[]){0x0102030405060708}, 1);
    IS(b, "\x12\x08\x01\x02\x03\x04\x05\x06\x07\x08");
    b.n = 0;
    proto_id(&b, 1, (uint64_t[]){0x0102030405060708, 9}, 2);
    IS(b, "\x0a\x10\x01\x02\x03\x04\x05\x06\x07\x08\0\0\0\0\0\0\0\x09");
    b.n = 0;
    proto_attribute(&b, 9, S("key"), S("text"));
    IS(b, "\x4a\x0d\x0a\x03key\x12\x06\x0a\x04text");
    b.n = 0;
    proto_attribute_number(&b, 9, S("key"), 3, 300); /* the example of the encoding's own guide */
    IS(b, "\x4a\x0a\x0a\x03key\x12\x03\x18\xac\x02");
}

/* Takes the only field off, which is a message or a text. */
static daruma_str within(daruma_str *message, int field)
{
    int is;
    uint64_t number;
    daruma_str bytes;
    assert_true(proto_next(message, &is, &number, &bytes));
    assert_int_equal(is, field);
    return bytes;
}

static void texts_of_any_length_come_back(void **state)
{
    (void)state;
    char text[PROTO_TEXT_BYTES + 100];
    memset(text, 'x', sizeof text);
    for (size_t n = 0; n <= PROTO_TEXT_BYTES; n++) {
        daruma_buf b = buf_over(room, sizeof room);
        proto_attribute(&b, 9, S("gen_ai.request.model"), (daruma_str){text, n});
        daruma_str all = buf_str(&b), attribute = within(&all, 9);
        assert_int_equal(all.n, 0);
        assert_true(str_eq(within(&attribute, 1), S("gen_ai.request.model")));
        daruma_str value = within(&attribute, 2);
        assert_int_equal(attribute.n, 0);
        assert_true(str_eq(within(&value, 1), (daruma_str){text, n}));
        assert_int_equal(value.n, 0);
    }
    daruma_buf b = buf_over(room, sizeof room);
    proto_attribute(&b, 9, S("key"), (daruma_str){text, sizeof text});
    assert_true(b.full);
}

static void what_does_not_fit_is_said(void **state)
{
    (void)state;
    for (size_t cap = 0; cap < 15; cap++) {
        daruma_buf b = buf_over(room, cap);
        proto_attribute(&b, 9, S("key"), S("text"));
        assert_true(b.full);
        b = buf_over(room, cap);
        proto_attribute_long(&b, 9, S("key"), S("text"));
        assert_true(b.full);
    }
}

static bool is_text(daruma_str s)
{
    size_t n = 1;
    for (; s.n && n; s = str_from(s, n))
        n = str_utf8(s);
    return !s.n;
}

static void texts_are_utf8(void **state)
{
    (void)state;
    static const struct {
        daruma_str text, shown;
    } rows[] = {
        {LIT("plain"), LIT("plain")},
        {LIT("K\xc3\xbc"
             "che"),
         LIT("K\xc3\xbc"
             "che")},
        {LIT("a\xff"), LIT("a\xef\xbf\xbd")},
        {LIT("\xc3"), LIT("\xef\xbf\xbd")},
        {LIT("\xed\xa0\x80"), LIT("\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd")}, /* half of a pair */
    };
    char clean[PROTO_TEXT_BYTES];
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_true(str_eq(proto_text(rows[i].text, clean), rows[i].shown));
    char text[PROTO_TEXT_BYTES + 1];
    memset(text, 0xff, sizeof text);
    daruma_str cut = proto_text((daruma_str){text, sizeof text}, clean); /* between two characters */
    assert_int_equal(cut.n, PROTO_TEXT_BYTES / 3 * 3);
    assert_true(is_text(cut));
}

static void broken_messages_end(void **state)
{
    (void)state;
    static const daruma_str broken[] = {LIT(""),         LIT("\x80"),
                                        LIT("\x08"),     LIT("\x0a\x05ok"),
                                        LIT("\x0b"),     LIT("\x09\x01"),
                                        LIT("\x0d\x01"), LIT("{}"),
                                        LIT("\x08\x80"), LIT("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")};
    int field;
    uint64_t number;
    daruma_str bytes;
    for (size_t i = 0; i < COUNT(broken); i++) {
        daruma_str rest = broken[i];
        assert_false(proto_next(&rest, &field, &number, &bytes));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_stand_as_they_have_to), cmocka_unit_test(texts_of_any_length_come_back),
        cmocka_unit_test(what_does_not_fit_is_said),    cmocka_unit_test(texts_are_utf8),
        cmocka_unit_test(broken_messages_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
