/* Random tool calls through the driver, cut at every byte: in four dialects and from each to each other, streamed and
 * whole, by every stop reason, by what a connection does, before and behind words, alone and beside others (CALLS=10000
 * SEED=7 for more, and others). Each answer of a provider has arguments of its own. None reaches an agent as whole that
 * was not whole, and none is put together from two. */
#include "drive_kit.h"
#include "base/json.h"
#include "engine/mend/value.h"

enum { CALLS_USUAL = 80, BESIDE_MAX = 3, ARGS_BYTES = 4096 };

/* ---- arguments ---- */

/* What is the same in each answer of a session (names, kinds of values), and what is not. */
static uint64_t shape, values;

static uint32_t roll_of(uint64_t *own, uint32_t n)
{
    uint64_t was = dice;
    dice = *own;
    uint32_t r = roll(n);
    *own = dice;
    dice = was;
    return r;
}

static const char *const pieces[] = {
    "a",
    "two words ",
    "\\n",
    "\\t",
    "\\\"",
    "\\\\",
    "\\/",
    "\\u00fc",
    "\\ud83d\\ude00",
    "\xe2\x82\xac",
    "\xe6\x97\xa5\xe6\x9c\xac",
    "\xf0\x9f\x98\x80",
    "{",
    "}",
    "[1, 2]",
    ",",
    ":",
    "\\\"}",
    "\\\",\\\"k\\\":",
    "it's",
    "// x",
    "/* y */",
    "```",
    "true",
    "12",
    "null",
    "<b>",
    "\\\\n",
    "return 0;",
    "# ",
    "'",
    "\\b\\f",
    "$",
};

static void put_string(daruma_buf *b)
{
    buf_putc(b, '"');
    for (uint32_t n = roll_of(&values, 6); n; n--)
        buf_putz(b, pieces[roll_of(&values, COUNT(pieces))]);
    buf_putc(b, '"');
}

static void put_number(daruma_buf *b, bool integer)
{
    static const char *const floats[] = {"-0.5", "6.0225e-23", "1E-7", "-12.75e+1", "3.25"};
    if (integer)
        buf_printf(b, "%s%u", roll_of(&values, 4) ? "" : "-", roll_of(&values, 1000000));
    else
        buf_putz(b, floats[roll_of(&values, COUNT(floats))]);
}

static void put_member_name(daruma_buf *b, uint32_t i)
{
    static const char *const forms[] = {"\"k%u\":", "\"k%u\": ", "\"a b%u\":", "\"\\u006bey%u\":", "\"\xc3\xbc%u\" : "};
    char name[32];
    snprintf(name, sizeof name, forms[roll_of(&shape, COUNT(forms))], i);
    buf_putz(b, name);
}

static void put_value(daruma_buf *b, int depth)
{
    uint32_t what = roll_of(&shape, depth > 3 ? 5 : 7);
    if (what < 2) {
        put_string(b);
    } else if (what == 2) {
        put_number(b, roll_of(&shape, 2));
    } else if (what == 3) {
        buf_putz(b, roll_of(&values, 2) ? "true" : "false");
    } else if (what == 4) {
        BUF_LIT(b, "null");
    } else {
        buf_putc(b, what == 5 ? '{' : '[');
        for (uint32_t i = 0, n = roll_of(&shape, 4); i < n; i++) {
            buf_putz(b, i ? ", " : "");
            if (what == 5)
                put_member_name(b, i);
            put_value(b, depth + 1);
        }
        buf_putc(b, what == 5 ? '}' : ']');
    }
}

/* The arguments of one call. "at" is another number in each answer, so that they can be told apart. */
static daruma_str random_arguments(uint64_t of_shape, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    shape = of_shape;
    uint32_t n = 1 + roll_of(&shape, 4), at = roll_of(&shape, n + 1);
    buf_putc(&b, '{');
    for (uint32_t i = 0; i <= n; i++) {
        buf_putz(&b, i ? "," : "");
        if (i == at) {
            buf_printf(&b, "\"at\":%u", 100000 + roll_of(&values, 900000));
        } else {
            put_member_name(&b, i);
            put_value(&b, 1);
        }
    }
    buf_putc(&b, '}');
    assert_false(b.full);
    return buf_str(&b);
}

static void put_schema(daruma_buf *b, daruma_str value, bool required, bool otherwise, const char *more)
{
    daruma_str key, v;
    bool first = true;
    buf_printf(b, "{\"type\":\"%s\"", value_type(value));
    if (json_is_object(value)) {
        BUF_LIT(b, ",\"properties\":{");
        for (json_iter it = json_open(value); json_next(&it, &key, &v); first = false) {
            buf_putz(b, first ? "\"" : ",\"");
            buf_put(b, key);
            BUF_LIT(b, "\":");
            if (otherwise && str_eq(key, S("at")))
                BUF_LIT(b, "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"minLength\":40}}");
            else
                put_schema(b, v, required, false, "");
        }
        buf_putz(b, first && *more ? more + 1 : more);
        BUF_LIT(b, "},\"required\":[");
        first = true;
        for (json_iter it = json_open(value); required && json_next(&it, &key, &v); first = false) {
            buf_putz(b, first ? "\"" : ",\"");
            buf_put(b, key);
            BUF_LIT(b, "\"");
        }
        buf_putc(b, ']');
    }
    buf_putc(b, '}');
}

/* ---- what one session is about ---- */

/* What the tools say of their arguments: nothing; all that there is; that, and something that is not there; that the
 * first one is called wrongly in each answer. */
typedef enum known { NOTHING, ALL, ALL_REQUIRED, MORE, OTHERWISE, KNOWNS } known;

/* One answer of a provider. */
typedef struct told {
    daruma_str args[BESIDE_MAX]; /* as they were meant */
    size_t n;                    /* calls that it has, the one that is cut included */
    int bare;                    /* of this one nothing came, which is how some say that it has no arguments; -1 none */
    daruma_str came;             /* all of it, on the wire */
} told;

static struct {
    uint64_t shapes[BESIDE_MAX];
    daruma_str body;  /* the request */
    size_t n;         /* calls in each answer */
    size_t which, at; /* the first answer is cut in this call, behind so many bytes */
    bool required;    /* the schema says that there are arguments */
    uint32_t again;   /* of so many percent of the others something is missing, too */
    told told[CALLS];
    size_t ntold;
} about;

/* ---- answers on the wire ---- */

typedef struct answer {
    daruma_str text;             /* words before the calls; empty: none */
    daruma_str args[BESIDE_MAX]; /* as far as they came */
    size_t n;
    const char *reason; /* NULL: it is not said why the answer ended */
    bool shut;          /* the call that was cut is closed as a whole one is; else nothing comes behind it */
} answer;

static const char *const chat_reasons[] = {"tool_calls", "stop", "function_call", "length", NULL},
                         *const anthropic_reasons[] = {"tool_use", "end_turn", "stop_sequence", "max_tokens", NULL},
                         *const responses_reasons[] = {"completed", "max_output_tokens", NULL},
                         *const gemini_reasons[] = {"STOP", "MAX_TOKENS", NULL};

static const char *reason_of(const dialect *d)
{
    if (d == &dialect_openai)
        return chat_reasons[roll(COUNT(chat_reasons))];
    if (d == &dialect_anthropic)
        return anthropic_reasons[roll(COUNT(anthropic_reasons))];
    if (d == &dialect_openai_responses)
        return responses_reasons[roll(COUNT(responses_reasons))];
    return gemini_reasons[roll(COUNT(gemini_reasons))];
}

static const char *whole_reason(const dialect *d)
{
    return d == &dialect_openai             ? "tool_calls"
           : d == &dialect_anthropic        ? "tool_use"
           : d == &dialect_openai_responses ? "completed"
                                            : "STOP";
}

/* Takes some characters from the beginning of `rest`. */
static daruma_str take_piece(daruma_str *rest)
{
    size_t n = 1 + roll((uint32_t)rest->n);
    while (n < rest->n && ((unsigned char)rest->p[n] & 0xc0) == 0x80)
        n++;
    daruma_str piece = str_sub(*rest, 0, n);
    *rest = str_from(*rest, n);
    return piece;
}

/* "null", or the word in quotes. */
static void put_reason(daruma_buf *b, const char *reason)
{
    if (reason)
        buf_json(b, str_of(reason));
    else
        BUF_LIT(b, "null");
}

static void chat_chunk(daruma_buf *b, const char *before, daruma_str text, const char *behind, const char *reason)
{
    buf_printf(b,
               "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":"
               "[{\"index\":0,\"delta\":{%s",
               before);
    if (text.p)
        buf_json(b, text);
    buf_printf(b, "%s},\"finish_reason\":", behind);
    put_reason(b, reason);
    BUF_LIT(b, "}]}\n\n");
}

static void chat_stream(daruma_buf *b, const answer *o)
{
    char begins[160];
    chat_chunk(b, "\"role\":\"assistant\",\"content\":", o->text, "", NULL);
    for (size_t i = 0; i < o->n; i++) {
        snprintf(begins, sizeof begins,
                 "\"tool_calls\":[{\"index\":%zu,\"id\":\"call_%zu\",\"type\":\"function\",\"function\":{\"name\":"
                 "\"look%zu\",\"arguments\":",
                 i, i, i);
        chat_chunk(b, begins, S(""), "}}]", NULL);
        snprintf(begins, sizeof begins, "\"tool_calls\":[{\"index\":%zu,\"function\":{\"arguments\":", i);
        for (daruma_str rest = o->args[i]; rest.n;)
            chat_chunk(b, begins, take_piece(&rest), "}}]", NULL);
    }
    if (!o->shut)
        return;
    if (o->reason)
        chat_chunk(b, "", (daruma_str){0}, "", o->reason);
    BUF_LIT(b, "data: [DONE]\n\n");
}

static void chat_whole(daruma_buf *b, const answer *o)
{
    BUF_LIT(b, "{\"id\":\"c\",\"object\":\"chat.completion\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,"
               "\"message\":{\"role\":\"assistant\",\"content\":");
    buf_json(b, o->text);
    for (size_t i = 0; i < o->n; i++) {
        buf_printf(b, "%s{\"id\":\"call_%zu\",\"type\":\"function\",\"function\":{\"name\":\"look%zu\",\"arguments\":",
                   i ? "," : ",\"tool_calls\":[", i, i);
        buf_json(b, o->args[i]);
        BUF_LIT(b, "}}");
    }
    BUF_LIT(b, "]},\"finish_reason\":");
    put_reason(b, o->reason);
    BUF_LIT(b, "}],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":5,\"total_tokens\":10}}");
}

static void anthropic_stream(daruma_buf *b, const answer *o)
{
    size_t at = 0;
    BUF_LIT(b, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\","
               "\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,"
               "\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n");
    if (o->text.n) {
        BUF_LIT(b, "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{"
                   "\"type\":\"text\",\"text\":\"\"}}\n\nevent: content_block_delta\ndata: {\"type\":"
                   "\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":");
        buf_json(b, o->text);
        BUF_LIT(b, "}}\n\nevent: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n");
        at = 1;
    }
    for (size_t i = 0; i < o->n; i++, at++) {
        buf_printf(b,
                   "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":%zu,"
                   "\"content_block\":{\"type\":\"tool_use\",\"id\":\"call_%zu\",\"name\":\"look%zu\",\"input\":{}}}"
                   "\n\n",
                   at, i, i);
        for (daruma_str rest = o->args[i]; rest.n;) {
            buf_printf(b,
                       "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":%zu,\"delta\":"
                       "{\"type\":\"input_json_delta\",\"partial_json\":",
                       at);
            buf_json(b, take_piece(&rest));
            BUF_LIT(b, "}}\n\n");
        }
        if (o->shut || i + 1 < o->n)
            buf_printf(b, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":%zu}\n\n", at);
    }
    if (!o->shut)
        return;
    if (o->reason)
        buf_printf(b,
                   "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"%s\","
                   "\"stop_sequence\":null},\"usage\":{\"output_tokens\":5}}\n\n",
                   o->reason);
    BUF_LIT(b, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
}

/* As an object where they are one; else as the text that some servers send instead. */
static void put_object(daruma_buf *b, daruma_str args)
{
    if (json_valid(args))
        buf_put(b, args);
    else
        buf_json(b, args);
}

static void anthropic_whole(daruma_buf *b, const answer *o)
{
    BUF_LIT(b, "{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[");
    if (o->text.n) {
        BUF_LIT(b, "{\"type\":\"text\",\"text\":");
        buf_json(b, o->text);
        BUF_LIT(b, "}");
    }
    for (size_t i = 0; i < o->n; i++) {
        buf_printf(b, "%s{\"type\":\"tool_use\",\"id\":\"call_%zu\",\"name\":\"look%zu\",\"input\":",
                   i || o->text.n ? "," : "", i, i);
        put_object(b, o->args[i]);
        BUF_LIT(b, "}");
    }
    BUF_LIT(b, "],\"stop_reason\":");
    put_reason(b, o->reason);
    BUF_LIT(b, ",\"stop_sequence\":null,\"usage\":{\"input_tokens\":5,\"output_tokens\":5}}");
}

static void put_item(daruma_buf *b, size_t i, daruma_str args, bool complete)
{
    buf_printf(b,
               "{\"id\":\"fc_%zu\",\"type\":\"function_call\",\"status\":\"%s\",\"call_id\":\"call_%zu\",\"name\":"
               "\"look%zu\",\"arguments\":",
               i, complete ? "completed" : "in_progress", i, i);
    buf_json(b, args);
    BUF_LIT(b, "}");
}

static void put_message(daruma_buf *b, daruma_str text)
{
    BUF_LIT(b, "{\"id\":\"msg\",\"type\":\"message\",\"status\":\"completed\",\"role\":\"assistant\",\"content\":[{"
               "\"type\":\"output_text\",\"annotations\":[],\"text\":");
    buf_json(b, text);
    BUF_LIT(b, "}]}");
}

static void put_response(daruma_buf *b, const answer *o, const char *status)
{
    buf_printf(b,
               "{\"id\":\"resp\",\"object\":\"response\",\"created_at\":1,\"model\":\"m\",\"status\":\"%s\",\"error\":"
               "null,\"incomplete_details\":%s,\"output\":[",
               status, str_eq(str_of(status), S("incomplete")) ? "{\"reason\":\"max_output_tokens\"}" : "null");
    if (o && o->text.n)
        put_message(b, o->text);
    for (size_t i = 0; o && i < o->n; i++) {
        buf_putz(b, i || o->text.n ? "," : "");
        put_item(b, i, o->args[i], true);
    }
    BUF_LIT(b, "],\"usage\":{\"input_tokens\":5,\"output_tokens\":5,\"total_tokens\":10}}");
}

static const char *responses_status(const answer *o)
{
    return o->reason && str_eq(str_of(o->reason), S("completed")) ? "completed" : "incomplete";
}

static int sequence;
static void responses_event(daruma_buf *b, const char *type)
{
    buf_printf(b, "event: %s\ndata: {\"type\":\"%s\",\"sequence_number\":%d", type, type, sequence++);
}

static void responses_stream(daruma_buf *b, const answer *o)
{
    size_t at = 0;
    sequence = 0;
    responses_event(b, "response.created");
    BUF_LIT(b, ",\"response\":");
    put_response(b, NULL, "in_progress");
    BUF_LIT(b, "}\n\n");
    if (o->text.n) {
        responses_event(b, "response.output_item.added");
        BUF_LIT(b, ",\"output_index\":0,\"item\":{\"id\":\"msg\",\"type\":\"message\",\"status\":\"in_progress\","
                   "\"role\":\"assistant\",\"content\":[]}}\n\n");
        responses_event(b, "response.content_part.added");
        BUF_LIT(b, ",\"item_id\":\"msg\",\"output_index\":0,\"content_index\":0,\"part\":{\"type\":\"output_text\","
                   "\"text\":\"\",\"annotations\":[]}}\n\n");
        responses_event(b, "response.output_text.delta");
        BUF_LIT(b, ",\"item_id\":\"msg\",\"output_index\":0,\"content_index\":0,\"delta\":");
        buf_json(b, o->text);
        BUF_LIT(b, "}\n\n");
        responses_event(b, "response.output_text.done");
        BUF_LIT(b, ",\"item_id\":\"msg\",\"output_index\":0,\"content_index\":0,\"text\":");
        buf_json(b, o->text);
        BUF_LIT(b, "}\n\n");
        responses_event(b, "response.output_item.done");
        BUF_LIT(b, ",\"output_index\":0,\"item\":");
        put_message(b, o->text);
        BUF_LIT(b, "}\n\n");
        at = 1;
    }
    for (size_t i = 0; i < o->n; i++, at++) {
        responses_event(b, "response.output_item.added");
        buf_printf(b, ",\"output_index\":%zu,\"item\":", at);
        put_item(b, i, S(""), false);
        BUF_LIT(b, "}\n\n");
        for (daruma_str rest = o->args[i]; rest.n;) {
            responses_event(b, "response.function_call_arguments.delta");
            buf_printf(b, ",\"item_id\":\"fc_%zu\",\"output_index\":%zu,\"delta\":", i, at);
            buf_json(b, take_piece(&rest));
            BUF_LIT(b, "}\n\n");
        }
        if (!o->shut && i + 1 == o->n)
            return;
        responses_event(b, "response.function_call_arguments.done");
        buf_printf(b, ",\"item_id\":\"fc_%zu\",\"output_index\":%zu,\"arguments\":", i, at);
        buf_json(b, o->args[i]);
        BUF_LIT(b, "}\n\n");
        responses_event(b, "response.output_item.done");
        buf_printf(b, ",\"output_index\":%zu,\"item\":", at);
        put_item(b, i, o->args[i], true);
        BUF_LIT(b, "}\n\n");
    }
    if (!o->reason)
        return;
    char type[32];
    snprintf(type, sizeof type, "response.%s", responses_status(o));
    responses_event(b, type);
    BUF_LIT(b, ",\"response\":");
    put_response(b, o, responses_status(o));
    BUF_LIT(b, "}\n\n");
}

static void gemini_answer(daruma_buf *b, const answer *o, bool text, size_t from, size_t to, const char *reason)
{
    bool first = true;
    BUF_LIT(b, "{\"candidates\":[{\"index\":0,\"content\":{\"role\":\"model\",\"parts\":[");
    if (text) {
        BUF_LIT(b, "{\"text\":");
        buf_json(b, o->text);
        BUF_LIT(b, "}");
        first = false;
    }
    for (size_t i = from; i < to; i++, first = false) {
        buf_printf(b, "%s{\"functionCall\":{\"id\":\"call_%zu\",\"name\":\"look%zu\",\"args\":", first ? "" : ",", i,
                   i);
        put_object(b, o->args[i]);
        BUF_LIT(b, "}}");
    }
    BUF_LIT(b, "]}");
    if (reason)
        buf_printf(b, ",\"finishReason\":\"%s\"", reason);
    BUF_LIT(b, "}],\"usageMetadata\":{\"promptTokenCount\":5,\"candidatesTokenCount\":5,\"totalTokenCount\":10},"
               "\"modelVersion\":\"m\",\"responseId\":\"g\"}");
}

static void gemini_stream(daruma_buf *b, const answer *o)
{
    if (o->text.n) {
        BUF_LIT(b, "data: ");
        gemini_answer(b, o, true, 0, 0, NULL);
        BUF_LIT(b, "\r\n\r\n");
    }
    for (size_t i = 0; i < o->n; i++) {
        BUF_LIT(b, "data: ");
        gemini_answer(b, o, false, i, i + 1, NULL);
        BUF_LIT(b, "\r\n\r\n");
    }
    if (!o->shut || !o->reason)
        return;
    answer end = {.text = S("")};
    BUF_LIT(b, "data: ");
    gemini_answer(b, &end, true, 0, 0, o->reason);
    BUF_LIT(b, "\r\n\r\n");
}

static void put_answer(daruma_buf *b, const dialect *d, bool stream, const answer *o)
{
    if (d == &dialect_openai)
        (stream ? chat_stream : chat_whole)(b, o);
    else if (d == &dialect_anthropic)
        (stream ? anthropic_stream : anthropic_whole)(b, o);
    else if (d == &dialect_openai_responses && stream)
        responses_stream(b, o);
    else if (d == &dialect_openai_responses)
        put_response(b, o, responses_status(o));
    else if (stream)
        gemini_stream(b, o);
    else
        gemini_answer(b, o, o->text.n > 0, 0, o->n, o->reason);
}

/* The next answer of a provider: the first one is cut where the session says, others anywhere, or not. */
static daruma_str answer_of(const drive_request *r)
{
    daruma_buf b = buf_in(w->a);
    answer o = {.n = about.n, .reason = whole_reason(r->p), .shut = true};
    told *t = &about.told[about.ntold++ % CALLS];
    *t = (told){.n = about.n, .bare = -1};
    if (w->ntext && !begun_answer(r).n)
        o.text = (daruma_str){w->text, w->ntext};
    if (!o.text.p)
        o.text = S("");
    values = ((uint64_t)roll(~0u) << 32) | roll(~0u);
    bool first = about.ntold == 1;
    for (size_t i = 0; i < about.n; i++) {
        if (first && i == about.which)
            values = about.shapes[i];
        o.args[i] = t->args[i] = random_arguments(about.shapes[i], w->a);
    }
    if (first || chance(about.again)) {
        size_t which = first ? about.which : roll((uint32_t)about.n);
        size_t bytes = o.args[which].n, at = first ? about.at : chance(30) ? bytes - 1 : roll((uint32_t)bytes);
        bool cut = at < bytes;
        o.args[which] = str_sub(o.args[which], 0, at);
        t->bare = at ? -1 : (int)which;
        o.reason = reason_of(r->p);
        if (cut && chance(50)) { /* nothing came behind it */
            t->n = o.n = which + 1;
            o.shut = chance(80);
        }
    }
    put_answer(&b, r->p, r->stream, &o);
    assert_false(b.full);
    t->came = buf_str(&b);
    return t->came;
}

/* ---- what the client reads ---- */

typedef struct heard {
    bool read, whole; /* it is an answer; and nothing says that it is not all */
    daruma_buf text, args[BESIDE_MAX];
    size_t n;
    turn_finish finish;
} heard;

static heard hear(const dialect *d, bool stream, daruma_str got, daruma_arena *a)
{
    heard h = {.text = buf_in(a)};
    for (size_t i = 0; i < BESIDE_MAX; i++)
        h.args[i] = buf_in(a);
    if (!stream) {
        turn t;
        if (d->read_answer(got, a, &t) != DARUMA_OK)
            return h;
        convo owner = {.arena = a};
        h.read = h.whole = true;
        h.finish = t.finish;
        for (size_t i = 0; i < t.message.nparts; i++) {
            convo_part *p = &t.message.parts[i];
            if (p->kind == PART_TEXT)
                buf_put(&h.text, convo_text(&owner, p));
            if (p->kind == PART_CALL && ++h.n <= BESIDE_MAX)
                buf_put(&h.args[h.n - 1], p->text);
        }
        return h;
    }
    turn_reader in = {.sequence = -1, .keep = a};
    stream_view view = {0};
    sse_event e;
    h.read = true;
    for (daruma_str rest = got; sse_next(&rest, &e, a);) {
        turn_delta few[TURN_DELTAS_FEW];
        dialect_watch(d, &view, &e);
        turn_deltas said = dialect_read_delta(d, &in, &e, few, a);
        for (size_t i = 0; i < said.n; i++) {
            const turn_delta *one = &said.p[i];
            if (one->kind == DELTA_TEXT)
                buf_put(&h.text, one->text);
            else if (one->kind == DELTA_CALL)
                h.n++;
            else if (one->kind == DELTA_ARGUMENTS && one->index >= 0 && one->index < BESIDE_MAX)
                buf_put(&h.args[one->index], one->text);
            else if (one->kind == DELTA_FINISH)
                h.finish = one->finish;
        }
    }
    h.whole = (view.done || view.finished) && !view.error;
    return h;
}

static bool same(daruma_str got, daruma_str meant)
{
    daruma_str x = {0}, y = {0};
    return json_whole(got, &x) && json_whole(meant, &y) && (str_eq(x, y) || value_same(x, y));
}

static bool is_empty(daruma_str args)
{
    return !args.n || str_eq(args, S("{}"));
}

/* Do all calls stand in that one answer of a provider, as they were meant there? One that came without arguments again
 * and again is the model's. */
static bool told_so(const heard *h, const told *t)
{
    if (h->n != t->n)
        return false;
    for (size_t i = 0; i < h->n; i++)
        if (!same(buf_str(&h->args[i]), t->args[i]) &&
            !(t->bare == (int)i && (!about.required || about.ntold > 1) && is_empty(buf_str(&h->args[i]))))
            return false;
    return true;
}

static struct {
    uint64_t whole, marked, failed; /* all calls arrived; an end that says that it is not all; no answer */
} sums;

static void judge_calls(world *o, const dialect *d, bool stream, daruma_arena *a)
{
    assert_int_equal(o->overs, 1);
    assert_true(o->heads <= 1);
    sums.failed++;
    if (o->how == DRIVE_GONE || o->how == DRIVE_BARE || !o->heads || o->status != 200)
        return;
    heard h = hear(d, stream, buf_str(&o->got), a);
    if (!h.read || !h.whole || o->how != DRIVE_END)
        return;
    daruma_str text = buf_str(&h.text);
    if (!h.n && str_starts(text, S(DIALECT_MARK)))
        return; /* it was explained, in the model's place */
    sums.failed--;
    for (size_t i = 0; i < about.ntold && i < CALLS; i++)
        if (told_so(&h, &about.told[i])) {
            sums.whole++;
            if (!str_starts((daruma_str){o->text, o->ntext}, text))
                fail_msg("%s: words twice: " STR_FMT, d->name, STR_ARG(buf_str(&o->got)));
            return;
        }
    bool marked = h.finish == FINISH_LENGTH || h.finish == FINISH_WINDOW || h.finish == FINISH_ERROR;
    for (size_t i = 0; i < h.n && i < BESIDE_MAX; i++)
        marked &= !json_valid(buf_str(&h.args[i])) || same(buf_str(&h.args[i]), about.told[0].args[i]);
    if (!marked) {
        for (size_t i = 0; i < about.ntold && i < CALLS; i++)
            printf("# answer %zu:\n" STR_FMT "\n", i, STR_ARG(about.told[i].came));
        printf("# asked: " STR_FMT "\n" STR_FMT "\n", STR_ARG(about.body), STR_ARG(buf_str(&o->got)));
        fail_msg("%s%s, cut in call %zu behind %zu, became that", d->name, stream ? ", streamed" : "", about.which,
                 about.at);
    }
    sums.marked++;
}

/* ---- sessions ---- */

static void put_tools(daruma_buf *b, const dialect *d, known k, daruma_arena *a)
{
    static const char *const before[] = {
        "{\"type\":\"function\",\"function\":{\"name\":\"look%zu\",\"parameters\":",
        "{\"type\":\"function\",\"name\":\"look%zu\",\"parameters\":", "{\"name\":\"look%zu\",\"input_schema\":",
        "{\"name\":\"look%zu\",\"parameters\":"};
    size_t which = 0;
    while (all_dialects[which] != d)
        which++;
    for (size_t i = 0; i < about.n; i++) {
        char name[96];
        snprintf(name, sizeof name, before[which], i);
        buf_putz(b, i ? "," : "");
        buf_putz(b, name);
        if (k == NOTHING)
            BUF_LIT(b, "{\"type\":\"object\"}");
        else
            put_schema(b, random_arguments(about.shapes[i], a), k == ALL_REQUIRED, k == OTHERWISE && i == 0,
                       k == MORE ? ",\"unsaid\":{\"type\":\"boolean\"}" : "");
        buf_putz(b, d == &dialect_openai ? "}}" : "}");
    }
}

static daruma_str request_of(const dialect *d, bool stream, known k, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    const char *s = stream ? "true" : "false";
    if (d == &dialect_gemini)
        BUF_LIT(&b, "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"go\"}]}],\"tools\":[{"
                    "\"functionDeclarations\":[");
    else if (d == &dialect_openai_responses)
        buf_printf(&b, "{\"model\":\"m\",\"stream\":%s,\"input\":\"go\",\"tools\":[", s);
    else
        buf_printf(&b,
                   "{\"model\":\"m\",\"stream\":%s,\"max_tokens\":500,\"messages\":[{\"role\":\"user\",\"content\":"
                   "\"go\"}],\"tools\":[",
                   s);
    put_tools(&b, d, k, a);
    buf_putz(&b, d == &dialect_gemini ? "]}]}" : "]}");
    assert_false(b.full);
    return buf_str(&b);
}

static void set_calls_world(world *o, const dialect *d)
{
    world_begin(o, answer_of, d, 60);
    if (chance(40))
        o->ntext = (size_t)snprintf(o->text, TEXT_BYTES, "Let me look %u.", roll(1000));
    o->often = chance(50) ? CUT : (fate)roll(FATES);
    o->percent = chance(40) ? roll(60) : 0;
    o->slow = chance(10);
}

/* A call that is cut there. Returns how many bytes it has. */
static size_t cut_session(uint64_t of, size_t at, session *x)
{
    daruma_arena a, own;
    assert_true(sys_arena_init(&a, ARGS_BYTES, 64 << 20));
    assert_true(sys_arena_init(&own, CALL_BYTES_USUAL, 64 << 20));
    const dialect *d = all_dialects[roll(4)];
    bool stream = chance(60);
    world here = {.a = &a};
    about.n = chance(60) ? 1 : 1 + roll(BESIDE_MAX);
    about.which = roll((uint32_t)about.n);
    for (size_t i = 0; i < about.n; i++)
        about.shapes[i] = i == about.which ? of : of + 1 + roll(1000);
    about.again = chance(50) ? 0 : 30;
    about.ntold = 0;
    values = of;
    size_t bytes = random_arguments(of, &a).n;
    about.at = at;
    w = &here;
    set_calls_world(w, d);
    w->x = x;
    w->got = buf_in(&a);
    at_time(drv.at.now + 200000 + roll(100000)); /* what was learned of the last ones has passed */
    w->opened = drv.at.now;
    w->leaves = drv.at.now + 300000;
    drive_options o = {.policy = daruma_policy_find(S("default")), .on_failure = (drive_form)roll(3)};
    known k = (known)roll(KNOWNS);
    about.required = k == ALL_REQUIRED;
    about.body = request_of(d, stream, k, &a);
    session_request q = {.d = d,
                         .body = about.body,
                         .arena = &own,
                         .options = &o,
                         .credential = 1,
                         .waits = -1,
                         .speaks = d,
                         .path_names = d == &dialect_gemini,
                         .path_model = S("m"),
                         .path_stream = stream,
                         .no_target = S("no target")};
    session_open(x, &drv, w, &q);
    for (int i = 0; !w->overs && step(w); i++)
        if (i > STEPS_MAX)
            fail_msg("a session does not end");
    judge_calls(w, d, w->stream, &a);
    sys_arena_done(&own);
    sys_arena_done(&a);
    return bytes;
}

static void no_call_that_was_cut_arrives_as_whole(void **state)
{
    (void)state;
    size_t bytes = daruma_health_bytes(PLACES);
    void *memory = malloc(bytes);
    session *x = calloc(1, session_bytes());
    daruma_arena health = arena_over(memory, bytes);
    drv = (driver){.host = &host, .rooms = &rooms, .health = daruma_health_new(&health, PLACES)};
    at_time(1000);
    assert_true(driver_begin(&drv));
    uint64_t want = setting("CALLS", CALLS_USUAL), sessions = 0;
    dice = setting("SEED", 1);
    for (uint64_t i = 0; i < want; i++) {
        uint64_t of = ((uint64_t)roll(~0u) << 32) | roll(~0u);
        for (size_t at = 0, n = 1; at <= n; at++, sessions++)
            n = cut_session(of, at, x);
    }
    printf(
        "# %llu calls cut at %llu places: %llu arrived whole, %llu with an end that says what is missing, %llu not\n",
        (unsigned long long)want, (unsigned long long)sessions, (unsigned long long)sums.whole,
        (unsigned long long)sums.marked, (unsigned long long)sums.failed);
    assert_true(sums.whole > sessions / 2);
    driver_end(&drv);
    assert_int_equal(arenas, 0);
    assert_int_equal(held, 0);
    assert_int_equal(tables, 0);
    free(x);
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_call_that_was_cut_arrives_as_whole)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
