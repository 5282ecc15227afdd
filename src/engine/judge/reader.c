/* reader.c - what the members of an error object mean, what was found of it, and JSON. */
#include "engine/judge/echo.h"
#include "engine/read/sentence.h"
#include "base/buf.h"
#include "base/date.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"

/* Member names as compared: lower case without '_' and '-'. */
static const struct {
    daruma_str name;
    enum role role;
} keys[] = {
#define K(name, role)                                                                                                  \
    {                                                                                                                  \
        LIT(name), role                                                                                                \
    }
    // clang-format off
    K("message", IS_MESSAGE), K("code", IS_CODE), K("type", IS_TYPE), K("error", IS_NEST), K("err", IS_NEST),
    K("status", IS_STATUS), K("param", IS_PARAM), K("msg", IS_MESSAGE), K("detail", IS_NEST), K("details", IS_NEST),
    K("debug", IS_ATTEMPTS), /* of a detail, as Connect prints it */
    K("reason", IS_CODE), K("metadata", IS_NEST), K("raw", IS_NEST), K("errors", IS_NEST), K("errormessages", IS_NEST),
    K("fielderrors", IS_NEST), K("nonfielderrors", IS_NEST), K("errormessage", IS_MESSAGE), K("errormsg", IS_MESSAGE),
    K("errmsg", IS_MESSAGE), K("errorcode", IS_CODE), K("errcode", IS_CODE), K("errortype", IS_TYPE), K("errorname", IS_TYPE),
    K("name", IS_TYPE), K("errno", IS_CODE), K("description", IS_MESSAGE), K("errordescription", IS_MESSAGE),
    K("title", IS_TITLE), K("statusmsg", IS_MESSAGE), K("statusmessage", IS_MESSAGE), K("statuscode", IS_STATUS),
    K("httpstatus", IS_STATUS), K("httpstatuscode", IS_STATUS), K("httpcode", IS_STATUS), K("responsecode", IS_STATUS),
    K("responsecodedetails", IS_CODE), K("apierrorstatus", IS_STATUS), K("innererror", IS_NEST), K("cause", IS_NEST),
    K("baseresp", IS_NEST), K("lasterror", IS_NEST), K("attempts", IS_ATTEMPTS), K("exception", IS_NEST),
    K("response", IS_NEST), K("responsebody", IS_NEST), K("body", IS_NEST), K("data", IS_NEST), K("result", IS_NEST),
    K("violations", IS_NEST), K("errordetails", IS_NEST), K("originalerror", IS_NEST), K("choices", IS_CHOICES),
    K("loc", IS_PARAM), K("path", IS_PATH), K("stderr", IS_MESSAGE), K("parameter", IS_PARAM), K("field", IS_PARAM),
    K("retrydelay", IS_WAIT), K("retryafter", IS_WAIT), K("retryafterseconds", IS_WAIT), K("retryaftersec", IS_WAIT),
    K("resetsinseconds", IS_WAIT), K("resetinseconds", IS_WAIT), K("estimatedtime", IS_WAIT), K("retryafterms", IS_WAIT_MS),
    K("resetsat", IS_RESET), K("resetat", IS_RESET), K("resettime", IS_RESET), K("quotaid", IS_QUOTA),
    K("quotavalue", IS_LIMIT), K("quotalimitvalue", IS_LIMIT), K("nctx", IS_LIMIT), K("nprompttokens", IS_USED),
    K("finishreason", IS_FINISH), K("stopreason", IS_FINISH), K("jsonrpc", IS_RPC), K("iserror", IS_IS_ERROR),
// clang-format on
#undef K
};

enum role reader_role(daruma_str key)
{
    char low[KEY_BYTES_MAX];
    size_t n = 0;
    for (size_t i = 0; i < key.n; i++) {
        if (key.p[i] == '_' || key.p[i] == '-')
            continue;
        if (n == sizeof low)
            return IS_NOTHING;
        low[n++] = ch_lower(key.p[i]);
    }
    for (size_t i = 0; i < COUNT(keys); i++)
        if (keys[i].name.n == n && keys[i].name.p[0] == low[0] && memcmp(keys[i].name.p, low, n) == 0)
            return keys[i].role;
    if (n > 5 && memcmp(low + n - 5, "error", 5) == 0) /* upstream_error, providerError, ... */
        return IS_NEST;
    bool others =
        n > 7 && (memcmp(low, "system", 6) == 0 || memcmp(low, "commit", 6) == 0 || memcmp(low, "last", 4) == 0 ||
                  memcmp(low, "first", 5) == 0 || memcmp(low, "input", 5) == 0);
    if (n > 7 && memcmp(low + n - 7, "message", 7) == 0 && !others) /* external_model_message, developerMessage, ... */
        return IS_MESSAGE;
    return IS_NOTHING;
}

/* ---- what was found ------------------------------------------------------------- */

/* The deepest text is the message. */
void reader_text(reader *r, daruma_str text, int level)
{
    said *s = r->s;
    text = str_trim(text);
    if (!text.n)
        return;
    for (size_t i = 0; i < s->ntexts; i++)
        if (str_eq(s->texts[i], text))
            return;
    if (s->ntexts < SAID_TEXTS)
        s->ntexts++;
    else if (level < r->best)
        return;
    if (s->ntexts == 1 || level > r->best) {
        s->texts[s->ntexts - 1] = s->texts[0];
        s->texts[0] = text;
        r->best = level;
    } else {
        s->texts[s->ntexts - 1] = text;
    }
}

bool reader_is_status(int64_t n)
{
    return n >= 400 && n <= 599;
}

void reader_status(reader *r, int64_t status, said_how how)
{
    r->s->status = (int)status;
    r->s->how = how;
}

void reader_code(reader *r, daruma_str code, int level, bool is_type)
{
    said *s = r->s;
    code = str_trim(code);
    /* "com.amazon.coral.service#ThrottlingException:http://..." names its last part; "channel:invalid_key" is whole */
    size_t hash = str_findch(code, '#');
    if (hash != STR_NONE)
        code = str_from(code, hash + 1);
    if (!code.n || code.n > 80 || str_findch(code, ' ') != STR_NONE || str_eq(code, S("about:blank")))
        return; /* about:blank says that the title is all (RFC 9457 4.2.1) */
    size_t colon = str_findch(code, ':');
    if (colon != STR_NONE && colon && (str_starts(str_from(code, colon), S(":http")) || colon + 1 == code.n))
        code = str_sub(code, 0, colon);
    int64_t n;
    if (str_int(code, &n) && reader_is_status(n)) {
        reader_status(r, n, SAID_IN_FIELD);
        is_type = true; /* says no more than a type does */
    }
    int rank = 2 * level + !is_type;
    if (s->ncodes < SAID_CODES)
        s->codes[s->ncodes++] = code;
    else if (rank > r->code_rank) /* what stands deeper says more */
        s->codes[SAID_CODES - 1] = code;
    if (rank > r->code_rank && !str_ieq(code, S("error"))) {
        s->code = code;
        r->code_rank = rank;
    }
}

/* The text of a scalar: a string without quotes and escapes, a number as it stands. */
static daruma_str scalar(reader *r, daruma_str v)
{
    return json_is_string(v) ? json_text(v, r->a) : json_is_number(v) ? v : (daruma_str){0};
}

static void add_wait(reader *r, daruma_str text, bool is_ms)
{
    int64_t milli, ms = -1;
    if (date_milli(text, &milli))
        ms = is_ms ? milli / 1000 : milli;
    else
        ms = date_duration(text, NULL);
    if (ms >= 0 && ms > r->s->wait)
        r->s->wait = ms;
}

static void add_reset(reader *r, daruma_str text)
{
    int64_t n;
    if (!str_int(text, &n))
        n = date_rfc3339(text);
    else if (n < 100000000000) /* seconds until the year 5138 */
        n = mul_sat(n, 1000);
    if (n > 0)
        r->s->reset_wall = n;
}

/* What a string holds: perhaps JSON again. */
void reader_string(reader *r, daruma_str text, int level)
{
    r->strings++;
    reader_any(r, text, level);
    r->strings--;
}

/* Scripts without spaces: no code is written so. */
static bool is_foreign(daruma_str text)
{
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] >= 0x80)
            return true;
    return false;
}

/* One member of an error object, already as text. `level` is how deep the object stands. */
void reader_member(reader *r, enum role role, daruma_str text, int level)
{
    int64_t n;
    if (r->echo && echo_note(r->echo, role, text))
        return;
    switch (role) {
    case IS_MESSAGE:
    case IS_NEST:
        reader_string(r, text, level + 1);
        break;
    case IS_TITLE:
        reader_text(r, text, 0);
        break;
    case IS_STATUS:
        if (str_int(text, &n) && reader_is_status(n))
            reader_status(r, n, SAID_IN_FIELD);
        else
            reader_code(r, text, level, false);
        break;
    case IS_CODE:
    case IS_TYPE:
        if (str_findch(text, ' ') != STR_NONE || is_foreign(text))
            reader_text(r, text, level); /* a "reason" in words */
        else
            reader_code(r, text, level, role == IS_TYPE);
        break;
    case IS_PARAM:
        if (str_findch(text, ' ') != STR_NONE)
            reader_text(r, text, level); /* some put the sentence there */
        else if (text.n && text.n < PARAM_BYTES_MAX && !str_ieq(text, S("none")) && !str_ieq(text, S("null")))
            r->s->param = text; /* Python prints that there is none */
        break;
    case IS_PATH:
    case IS_ATTEMPTS:
        break;
    case IS_CHOICES:
    case IS_WAIT:
    case IS_WAIT_MS:
        add_wait(r, text, role == IS_WAIT_MS);
        break;
    case IS_RESET:
        add_reset(r, text);
        break;
    case IS_QUOTA:
        if (str_ifind(text, S("perday")) != STR_NONE)
            r->s->shape |= SAID_PER_DAY;
        else if (str_ifind(text, S("perminute")) != STR_NONE)
            r->s->shape |= SAID_PER_MINUTE;
        break;
    case IS_LIMIT:
        if (str_int(text, &n)) {
            r->s->limit = n;
            if (n == 0)
                r->s->shape |= SAID_ZERO_LIMIT;
        }
        break;
    case IS_USED:
        if (str_int(text, &n))
            r->s->used = n;
        break;
    case IS_RPC:
        r->s->shape |= SAID_RPC;
        break;
    case IS_IS_ERROR:
        if (str_ieq(text, S("true")))
            r->s->shape |= SAID_RPC;
        break;
    case IS_FINISH:
        if (!r->s->finish.n)
            r->s->finish = text;
        break;
    case IS_NOTHING:
        break;
    }
}

/* ---- JSON ---------------------------------------------------------------------------- */

/* {"content":[{"type":"text","text":"..."}],"isError":true}: what an MCP tool says. */
static void read_tool_result(reader *r, daruma_str object, int level)
{
    daruma_str item;
    json_iter it = json_open(json_get(object, S("content")));
    while (r->values++ < UNWRAP_VALUES_MAX && json_next(&it, NULL, &item))
        reader_string(r, json_text(json_get(item, S("text")), r->a), level + 1);
}

/* {"jsonrpc":"2.0","result":{"content":[{"type":"text",...}]}}, {"invocation":{...},"result":{"content":...}}: what a
 * call of a tool came to, whatever it says of its success. */
static bool is_tool_result(daruma_str object, daruma_str key, daruma_str v)
{
    return str_eq(key, S("result")) && json_is_array(json_get(v, S("content"))) &&
           (json_get(object, S("jsonrpc")).n || json_get(object, S("invocation")).n) &&
           !json_is_true(json_get(v, S("isError")));
}

/* ["body", "messages", 0, "content"]: where FastAPI saw it, as "body.messages.0.content". */
static void read_path(reader *r, daruma_str list)
{
    daruma_str item;
    daruma_buf b = buf_in(r->a);
    json_iter it = json_open(list);
    while (b.n < PARAM_BYTES_MAX && r->values++ < UNWRAP_VALUES_MAX && json_next(&it, NULL, &item)) {
        if (b.n)
            buf_putc(&b, '.');
        buf_put(&b, scalar(r, item));
    }
    if (!r->s->param.n)
        r->s->param = buf_str(&b);
}

/* choices: [{"error": {...}}], as OpenRouter sends a failure in the middle of an answer. */
static void read_choices(reader *r, daruma_str list, int level)
{
    daruma_str item;
    json_iter it = json_open(list);
    while (r->values++ < UNWRAP_VALUES_MAX && json_next(&it, NULL, &item))
        reader_value(r, json_get(item, S("error")), level + 1);
}

/* A sentence, or the first of a list of them; empty: none. */
static daruma_str sentence_in(daruma_str v)
{
    daruma_str item;
    json_iter it = json_open(v);
    if (json_is_array(v) && json_next(&it, NULL, &item))
        v = item;
    return json_is_string(v) && memchr(v.p, ' ', v.n) ? v : (daruma_str){0};
}

/* {"email":["This field is required."]}: a sentence under the name of the field that it is about. */
static void read_fields(reader *r, daruma_str object, int level)
{
    daruma_str key, v;
    json_iter it = json_open(object);
    while (r->values++ < UNWRAP_VALUES_MAX && json_next(&it, &key, &v)) {
        daruma_str words = reader_role(key) == IS_NOTHING || json_is_array(v) ? sentence_in(v) : (daruma_str){0};
        if (!words.n)
            continue;
        if (!r->s->param.n && key.n < PARAM_BYTES_MAX)
            r->s->param = key;
        reader_string(r, json_text(words, r->a), level + 1);
    }
}

static bool is_error(daruma_str object)
{
    static const daruma_str named[] = {LIT("code"), LIT("type"), LIT("status"), LIT("error")};
    bool marked = json_is_true(json_get(object, S("isError"))), any = marked, told = false;
    for (size_t i = 0; i < COUNT(named); i++)
        any |= json_get(object, named[i]).n > 0;
    daruma_str error = json_get(object, S("error")), key, v;
    for (json_iter it = json_open(object); any && json_next(&it, &key, &v);)
        told |= json_is_string(v) && (marked ? reader_role(key) == IS_MESSAGE : str_eq(key, S("message")));
    return json_is_object(error) || json_is_string(error) || told;
}

/* {"output":[{"code":400,"message":"..."}]}, {"task":{"error":...}}: an error that stands where no name says so. */
static void read_within(reader *r, daruma_str object, int level)
{
    daruma_str v, item;
    json_iter it = json_open(object);
    while (r->values++ < UNWRAP_VALUES_MAX && json_next(&it, NULL, &v)) {
        json_iter list = json_open(v);
        if (json_is_array(v) && json_next(&list, NULL, &item))
            v = item;
        if (!json_is_object(v) || !is_error(v))
            continue;
        reader_value(r, v, level + 1);
        return;
    }
}

/* Of attempts that failed the last one says why, where no text says it of them all. */
static void read_attempts(reader *r, daruma_str list, int level)
{
    daruma_str item, last = list;
    for (size_t i = 0; i < r->s->ntexts; i++)
        if (sentence_names_cause(r->s->texts[i]))
            return;
    json_iter it = json_open(list);
    while (json_is_array(list) && r->values++ < UNWRAP_VALUES_MAX && json_next(&it, NULL, &item))
        last = item;
    if (json_is_object(last) || json_is_array(last))
        reader_value(r, last, level + 1);
    else if (json_is_string(last))
        reader_string(r, json_text(last, r->a), level + 1);
}

/* What an agent says of its whole run, or of a call of its model, is no tool's. */
static bool is_of_run(daruma_str object)
{
    return json_get(object, S("api_error_status")).n || json_get(object, S("stopReason")).n ||
           (json_is_string(json_get(object, S("model"))) && !json_get(object, S("content")).n);
}

static void read_object(reader *r, daruma_str object, int level)
{
    daruma_str key, v, words = {0}, attempts = {0};
    bool log = false; /* of a logger: its error says more than what it was logged as */
    size_t texts = r->s->ntexts;
    json_iter it = json_open(object);
    it.quick = true; /* the whole was found valid before */
    r->s->shape |= SAID_CODED;
    while (r->values++ < UNWRAP_VALUES_MAX && json_next(&it, &key, &v)) {
        enum role role = reader_role(key);
        log |= str_eq(key, S("level"));
        if (log && role == IS_MESSAGE)
            role = IS_TITLE;
        if (role == IS_NOTHING || (role == IS_ATTEMPTS && json_is_string(v))) {
            if (json_is_string(v) && v.n > words.n && memchr(v.p, ' ', v.n))
                words = v;
            continue;
        }
        if (role == IS_IS_ERROR && is_of_run(object))
            continue;
        if (role == IS_IS_ERROR && (json_is_true(v) || json_is_array(json_get(object, S("content"))))) {
            r->s->shape |= SAID_RPC;
            read_tool_result(r, object, level);
        } else if (json_is_object(v) || json_is_array(v)) {
            if (json_is_object(v) && str_eq(key, S("errors")))
                read_fields(r, v, level + 1);
            if (role == IS_ATTEMPTS)
                attempts = v;
            else if (is_tool_result(object, key, v))
                r->s->shape |= SAID_RPC, read_tool_result(r, v, level);
            else if (role == IS_NEST || role == IS_MESSAGE || role == IS_CODE || role == IS_TYPE)
                reader_value(r, v, level + 1);
            else if (role == IS_PARAM || (role == IS_PATH && json_is_array(v)))
                read_path(r, v);
            else if (role == IS_CHOICES)
                read_choices(r, v, level);
            else if (role == IS_WAIT && json_is_object(v))
                add_wait(r, scalar(r, json_get(v, S("seconds"))), false);
        } else {
            if (str_eq(key, S("error")) && str_findch(v, '_') != STR_NONE && json_get(object, S("error_description")).n)
                reader_member(r, IS_CODE, scalar(r, v), level); /* as OAuth writes it (RFC 6749 5.2) */
            reader_member(r, role, scalar(r, v), level);
        }
    }
    if (attempts.n)
        read_attempts(r, attempts, level + 1);
    if (level > 0 && r->s->ntexts == texts && r->s->ncodes) /* an error whose message has an unheard-of name */
        reader_text(r, json_text(words, r->a), level);
    if (level == 0 && !r->s->ntexts && !r->s->ncodes)
        read_fields(r, object, level);
    if (level == 0 && !r->s->ntexts)
        read_within(r, object, level);
}

void reader_value(reader *r, daruma_str v, int level)
{
    if (level > UNWRAP_DEPTH_MAX)
        return;
    if (json_is_object(v)) {
        if (!answer_read(v, r->s, r->a))
            read_object(r, v, level);
        return;
    }
    daruma_str item;
    json_iter it = json_open(v);
    while (r->values++ < UNWRAP_VALUES_MAX && json_next(&it, NULL, &item)) {
        if (json_is_string(item))
            reader_string(r, json_text(item, r->a), level + 1);
        else
            reader_value(r, item, level + 1);
    }
}
