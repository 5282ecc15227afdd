#include "test.h"
#include "dialect/event_stream.h"
#include "base/arena.h"
#include "base/limits.h"
#include "event_stream_kit.h"
#include <stdlib.h>

static char mem[1 << 20], written[1 << 16];

#define PING     "{\"bytes\":\"eyJ0eXBlIjoicGluZyJ9\",\"p\":\"abc\"}"
#define SAID     "event: ping\ndata: {\"type\":\"ping\"}\n\n"
#define ERROR(e) "event: error\ndata: {\"type\":\"error\",\"error\":" e "}\n\n"

/* As zlib and the description of the format have it. */
static const char golden[] = "\x00\x00\x00\x85\x00\x00\x00K\xfd*x\x93\x0b:event-type\x07\x00\x05"
                             "chunk\x0d:content-type\x07\x00\x10"
                             "application/json\x0d:message-type\x07\x00\x05"
                             "event{\"bytes\":\"eyJ0eXBlIjoicGluZyJ9\",\"p\":\"abc\"}s\x03\x36\xa1";

/* Reads `bytes` in pieces of `step`, each end of what is there at an end of memory, and writes what they say; what
 * ended it: more, or bad. */
static event_stream_found read_all(daruma_str bytes, size_t step, daruma_buf *out)
{
    size_t taken = 0, came = 0;
    for (;;) {
        char *here = malloc(came - taken + 1);
        assert_non_null(here);
        memcpy(here + 1, bytes.p + taken, came - taken);
        daruma_str rest = {here + 1, came - taken};
        event_stream_found found = event_stream_next(&rest, out);
        taken = came - rest.n;
        free(here);
        if (found == EVENT_STREAM_TAKEN)
            continue;
        if (found == EVENT_STREAM_BAD || came == bytes.n)
            return found;
        came += bytes.n - came < step ? bytes.n - came : step;
    }
}

static void says(daruma_str bytes, const char *want)
{
    for (size_t step = 1; step <= bytes.n + 1; step += 1 + step / 4) {
        daruma_arena a = arena_over(mem, sizeof mem);
        daruma_buf out = buf_in(&a);
        assert_int_equal(read_all(bytes, step, &out), EVENT_STREAM_MORE);
        if (!str_eq(buf_str(&out), str_of(want)))
            fail_msg("in steps of %zu: got \"" STR_FMT "\", want \"%s\"", step, STR_ARG(buf_str(&out)), want);
    }
}

static bool is_bad(daruma_str bytes)
{
    daruma_arena a = arena_over(mem, sizeof mem);
    daruma_buf out = buf_in(&a);
    return read_all(bytes, bytes.n, &out) == EVENT_STREAM_BAD;
}

/* A message with an event, a failure or nothing in particular. */
static daruma_str message(const char *type, const char *name, const char *value, const char *payload)
{
    static char room[1 << 12];
    daruma_buf b = buf_over(written, sizeof written), headers = buf_over(room, sizeof room);
    kit_header(&headers, ":content-type", "application/json");
    kit_header(&headers, ":message-type", type);
    if (name)
        kit_header(&headers, name, value);
    kit_message(&b, buf_str(&headers), str_of(payload));
    return buf_str(&b);
}

static daruma_str chunk(const char *payload)
{
    return message("event", ":event-type", "chunk", payload);
}

static void a_chunk_is_an_event(void **state)
{
    (void)state;
    says((daruma_str){golden, sizeof golden - 1}, SAID);
    says(chunk(PING), SAID);
    says(chunk("{\"bytes\":\"eyJ0eXBlIjoicGluZyIsCiJhIjoi4oKsPz8\\/In0=\"}"),
         "event: ping\ndata: {\"type\":\"ping\", \"a\":\"\xe2\x82\xac\?\?\?\"}\n\n");
    daruma_buf two = buf_over(mem + sizeof mem / 2, sizeof mem / 2);
    buf_put(&two, chunk(PING));
    buf_put(&two, message("event", ":event-type", "initial-response", "{}"));
    buf_put(&two, chunk(PING));
    says(buf_str(&two), SAID SAID);
}

static void a_failure_is_an_error_event(void **state)
{
    (void)state;
    says(message("exception", ":exception-type", "throttlingException", "{\"message\":\"Too many \\\"tokens\\\"\"}"),
         ERROR("{\"type\":\"throttlingException\",\"message\":\"Too many \\\"tokens\\\"\"}"));
    says(message("exception", ":exception-type", "modelStreamErrorException", ""),
         ERROR("{\"type\":\"modelStreamErrorException\",\"message\":\"\"}"));
    says(message("exception", NULL, NULL, "{\"message\":7}"), ERROR("{\"type\":\"api_error\",\"message\":\"\"}"));
    daruma_buf b = buf_over(written, sizeof written);
    char room[200];
    daruma_buf headers = buf_over(room, sizeof room);
    kit_header(&headers, ":message-type", "error");
    kit_header(&headers, ":error-code", "internal");
    kit_header(&headers, ":error-message", "it \"broke\"");
    kit_message(&b, buf_str(&headers), (daruma_str){0});
    says(buf_str(&b), ERROR("{\"type\":\"internal\",\"message\":\"it \\\"broke\\\"\"}"));
}

static void whatever_byte_is_damaged_is_seen(void **state)
{
    (void)state;
    static char copy[sizeof golden];
    for (size_t at = 0; at + 1 < sizeof golden; at++)
        for (int bit = 0; bit < 8; bit++) {
            memcpy(copy, golden, sizeof golden);
            copy[at] ^= (char)(1 << bit);
            if (!is_bad((daruma_str){copy, sizeof golden - 1}))
                fail_msg("bit %d of byte %zu", bit, at);
        }
}

/* Headers of every type that there is; behind them what makes it an event. */
static void headers_of_all_types_are_passed_over(void **state)
{
    (void)state;
    static const char kinds[] = "\x01"
                                "a\x00\x01"
                                "b\x01\x01"
                                "c\x02x\x01"
                                "d\x03xx\x01"
                                "e\x04xxxx\x01"
                                "f\x05xxxxxxxx\x01"
                                "g\x06\x00\x03"
                                "abc\x01"
                                "h\x08xxxxxxxx\x01"
                                "i\x09xxxxxxxxxxxxxxxx";
    char room[400], other[800];
    daruma_buf headers = buf_over(room, sizeof room), b = buf_over(other, sizeof other);
    buf_put(&headers, (daruma_str){kinds, sizeof kinds - 1});
    kit_header(&headers, ":message-type", "event");
    kit_header(&headers, ":event-type", "chunk");
    kit_message(&b, buf_str(&headers), str_of(PING));
    says(buf_str(&b), SAID);
    for (size_t n = 1; n < headers.n; n++) { /* cut anywhere, with a checksum that fits, they are no crash */
        b = buf_over(other, sizeof other);
        kit_message(&b, (daruma_str){room, n}, str_of(PING));
        is_bad(buf_str(&b));
    }
    static const char *const bad[] = {"\x05name", "\x01n\x0a", "\x01n\x07\x01", "\x01n\x07\x01\x01x", "\x01n\x09xxxx"};
    for (size_t i = 0; i < COUNT(bad); i++) {
        b = buf_over(other, sizeof other);
        kit_message(&b, str_of(bad[i]), str_of(PING));
        if (!is_bad(buf_str(&b)))
            fail_msg("header %zu", i);
    }
}

static void what_is_no_event_is_bad(void **state)
{
    (void)state;
    static const char *const payloads[] = {
        "",
        "{}",
        "{\"bytes\":7}",
        "{\"bytes\":\"%%%%\"}",
        "{\"bytes\":\"e30=\"}",                 /* {} */
        "{\"bytes\":\"eyJ0eXBlIjoiYVxuYiJ9\"}", /* a name with \n */
        "{\"bytes\":\"eyJ0eXBlIjoiYTogYiJ9\"}", /* "a: b" */
        "{\"bytes\":\"eyJ0eXBlIjoieHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eCJ9\"}", /* 49
                                                                                                               letters
                                                                                                             */
    };
    for (size_t i = 0; i < COUNT(payloads); i++)
        if (!is_bad(chunk(payloads[i])))
            fail_msg("payload %zu", i);
}

static void lengths_have_bounds(void **state)
{
    (void)state;
    static const struct {
        uint32_t all, headers;
        event_stream_found found;
    } rows[] = {
        {16, 0, EVENT_STREAM_MORE},
        {15, 0, EVENT_STREAM_BAD},
        {0, 0, EVENT_STREAM_BAD},
        {100, 84, EVENT_STREAM_MORE},
        {100, 85, EVENT_STREAM_BAD},
        {100, UINT32_MAX, EVENT_STREAM_BAD},
        {EVENT_STREAM_BYTES_MAX, 0, EVENT_STREAM_MORE},
        {EVENT_STREAM_BYTES_MAX + 1, 0, EVENT_STREAM_BAD},
        {UINT32_MAX, 0, EVENT_STREAM_BAD},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char room[12];
        daruma_buf b = buf_over(room, sizeof room), out = buf_over(mem, sizeof mem);
        kit_number(&b, rows[i].all);
        kit_number(&b, rows[i].headers);
        kit_number(&b, kit_crc(buf_str(&b)));
        daruma_str rest = buf_str(&b);
        if (event_stream_next(&rest, &out) != rows[i].found || rest.n != 12)
            fail_msg("row %zu", i);
    }
}

static void memory_that_runs_out_is_remembered(void **state)
{
    (void)state;
    for (size_t cap = 0; cap < sizeof SAID - 1; cap++) {
        daruma_buf out = buf_over(mem, cap);
        daruma_str rest = {golden, sizeof golden - 1};
        assert_int_equal(event_stream_next(&rest, &out), EVENT_STREAM_TAKEN);
        assert_true(out.full);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chunk_is_an_event),
        cmocka_unit_test(a_failure_is_an_error_event),
        cmocka_unit_test(whatever_byte_is_damaged_is_seen),
        cmocka_unit_test(headers_of_all_types_are_passed_over),
        cmocka_unit_test(what_is_no_event_is_bad),
        cmocka_unit_test(lengths_have_bounds),
        cmocka_unit_test(memory_that_runs_out_is_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
