/* Arguments of a call against the schema of its tool: whatever both are, what comes out as good is JSON that fits, and
 * good when it comes back, and each string, number and literal of it stood whole in what came in; a schema that is
 * lowered is a schema, and lowering it again changes nothing. The input, a line each: the schema, its keyword that a
 * provider does not take, the name of the tool; the rest are the arguments.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/check.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "engine/mend/answer/args.h"
#include "engine/mend/value.h"
#include "engine/mend/answer/answer.h"
#include "engine/mend/request/request.h"
#include "exact.h"
#include "whole.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char room[24 << 20];

static void calls(daruma_str schema, daruma_str name, daruma_str args, daruma_arena *a)
{
    convo_tool tools[] = {{.name = S("read_file"), .schema = schema}, {.name = S("write-file")}};
    convo c = {.tools = tools, .ntools = 2};
    for (int cut = 0; cut < 2; cut++) {
        args_check x = mend_args(&c, name, args, cut, a);
        if (a->full)
            return;
        check((x.verdict == ARGS_GOOD || x.verdict == ARGS_REPAIRED) == !x.why.n);
        check(x.why.n <= ARGS_WHY_BYTES_MAX);
        check(x.verdict != ARGS_BROKEN || cut || !json_valid(args) || json_is_string(str_trim(args)));
        if (x.why.n)
            continue;
        daruma_str good = x.verdict == ARGS_REPAIRED ? x.fixed : args;
        bool has_schema = str_eq(x.name, S("read_file")) && json_valid(schema);
        check(json_valid(good));
        whole_in(args, good, a);
        check(!has_schema || schema_fits(schema, good, NULL));
        check(mend_args(&c, x.name, good, false, a).verdict == ARGS_GOOD || a->full);
    }
}

/* The same of an answer that shall be JSON. */
static void answers(daruma_str schema, daruma_str text, daruma_arena *a)
{
    args_check x = mend_said(schema, text, a);
    if (a->full)
        return;
    check((x.verdict == ARGS_GOOD || x.verdict == ARGS_REPAIRED) == !x.why.n);
    check(x.why.n <= ARGS_WHY_BYTES_MAX);
    if (x.verdict != ARGS_REPAIRED)
        return;
    check(json_valid(x.fixed));
    whole_in(text, x.fixed, a);
    check(!json_valid(schema) || schema_fits(schema, x.fixed, NULL));
    check(mend_said(schema, x.fixed, a).verdict == ARGS_GOOD || a->full);
}

static void lowered(daruma_str schema, daruma_str keyword, daruma_arena *a)
{
    for (int strict = 0; strict < 2; strict++) {
        daruma_str low = schema_lower(schema, keyword, strict, a);
        if (a->full)
            return;
        check(json_valid(low) || !json_valid(schema));
        daruma_str again = schema_lower(low, keyword, strict, a);
        check(a->full || str_eq(again, low));
    }
}

static void values(daruma_str x, daruma_str y)
{
    char text[400];
    daruma_buf why = buf_over(text, sizeof text);
    check(schema_fits(x, y, &why) == schema_fits(x, y, NULL));
    if (!json_whole(x, &x) || !json_whole(y, &y))
        return;
    check(value_same(x, y) == value_same(y, x));
    if (json_is_number(x) && json_is_number(y)) {
        int c = number_compare(x, y);
        check(number_compare(y, x) == (c == 2 ? 2 : -c));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    daruma_arena a = arena_over(room, sizeof room);
    daruma_str rest = {(const char *)data, size};
    exact_pieces x = {0};
    daruma_str schema = exact(&x, str_cut(&rest, '\n')), keyword = exact(&x, str_cut(&rest, '\n'));
    daruma_str name = exact(&x, str_cut(&rest, '\n')), args = exact(&x, rest);
    calls(schema, name, args, &a);
    answers(schema, args, &a);
    lowered(schema, keyword, &a);
    values(schema, args);
    exact_end(&x);
    return 0;
}
