/* unwrap.c - takes code, type, status, parameter and message out of whatever an error came in.
 *
 *     litellm.BadRequestError: AnthropicException - {"error":{"message":"{\"type\":...}"}}
 *     ^ class names, status       text around it    ^ JSON     ^ JSON in a string, at most 8 of them
 *
 * Valid JSON is walked as JSON. What only resembles it (Python dicts, unescaped quotes, a cut
 * body) is scanned for `"key": value` pairs; both feed the same table of key names. */
#include "engine/judge/echo.h"
#include "engine/read/chars.h"
#include "engine/read/line.h"
#include "engine/read/sentence.h"
#include "base/arena.h"
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
    K("message", IS_MESSAGE),
    K("code", IS_CODE),
    K("type", IS_TYPE),
    K("error", IS_NEST),
    K("err", IS_NEST),
    K("status", IS_STATUS),
    K("param", IS_PARAM),
    K("msg", IS_MESSAGE),
    K("detail", IS_NEST),
    K("details", IS_NEST),
    K("reason", IS_CODE),
    K("metadata", IS_NEST),
    K("raw", IS_NEST),
    K("errors", IS_NEST),
    K("errormessages", IS_NEST),
    K("fielderrors", IS_NEST),
    K("nonfielderrors", IS_NEST),
    K("errormessage", IS_MESSAGE),
    K("errormsg", IS_MESSAGE),
    K("errmsg", IS_MESSAGE),
    K("errorcode", IS_CODE),
    K("errcode", IS_CODE),
    K("errortype", IS_TYPE),
    K("errorname", IS_TYPE),
    K("name", IS_TYPE),
    K("errno", IS_CODE),
    K("description", IS_MESSAGE),
    K("errordescription", IS_MESSAGE),
    K("title", IS_TITLE),
    K("statusmsg", IS_MESSAGE),
    K("statusmessage", IS_MESSAGE),
    K("statuscode", IS_STATUS),
    K("httpstatus", IS_STATUS),
    K("httpstatuscode", IS_STATUS),
    K("httpcode", IS_STATUS),
    K("responsecode", IS_STATUS),
    K("responsecodedetails", IS_CODE),
    K("apierrorstatus", IS_STATUS),
    K("innererror", IS_NEST),
    K("cause", IS_NEST),
    K("baseresp", IS_NEST),
    K("lasterror", IS_NEST),
    K("exception", IS_NEST),
    K("response", IS_NEST),
    K("responsebody", IS_NEST),
    K("body", IS_NEST),
    K("data", IS_NEST),
    K("result", IS_NEST),
    K("violations", IS_NEST),
    K("errordetails", IS_NEST),
    K("originalerror", IS_NEST),
    K("choices", IS_CHOICES),
    K("loc", IS_PARAM),
    K("path", IS_PATH),
    K("stderr", IS_MESSAGE),
    K("parameter", IS_PARAM),
    K("field", IS_PARAM),
    K("retrydelay", IS_WAIT),
    K("retryafter", IS_WAIT),
    K("retryafterseconds", IS_WAIT),
    K("retryaftersec", IS_WAIT),
    K("resetsinseconds", IS_WAIT),
    K("resetinseconds", IS_WAIT),
    K("estimatedtime", IS_WAIT),
    K("retryafterms", IS_WAIT_MS),
    K("resetsat", IS_RESET),
    K("resetat", IS_RESET),
    K("resettime", IS_RESET),
    K("quotaid", IS_QUOTA),
    K("quotavalue", IS_LIMIT),
    K("nctx", IS_LIMIT),
    K("nprompttokens", IS_USED),
    K("finishreason", IS_FINISH),
    K("stopreason", IS_FINISH),
    K("jsonrpc", IS_RPC),
    K("iserror", IS_IS_ERROR),
#undef K
};

static void read_any(reader *r, daruma_str text, int level);
static void read_value(reader *r, daruma_str value, int level);

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
static void reader_text(reader *r, daruma_str text, int level)
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
        s->status = (int)n;
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
static void read_string(reader *r, daruma_str text, int level)
{
    r->strings++;
    read_any(r, text, level);
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
        read_string(r, text, level + 1);
        break;
    case IS_TITLE:
        reader_text(r, text, 0);
        break;
    case IS_STATUS:
        if (str_int(text, &n) && reader_is_status(n))
            r->s->status = (int)n;
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
        else if (text.n && text.n < PARAM_BYTES_MAX)
            r->s->param = text;
        break;
    case IS_PATH:
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
        read_string(r, json_text(json_get(item, S("text")), r->a), level + 1);
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
        read_value(r, json_get(item, S("error")), level + 1);
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
        read_string(r, json_text(words, r->a), level + 1);
    }
}

static bool is_error(daruma_str object)
{
    static const daruma_str named[] = {LIT("code"), LIT("type"), LIT("status"), LIT("error")};
    bool any = false;
    for (size_t i = 0; i < COUNT(named); i++)
        any |= json_get(object, named[i]).n > 0;
    return any && json_is_string(json_get(object, S("message")));
}

/* {"output":[{"code":400,"message":"..."}]}: an error that stands where no name says so. */
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
        read_value(r, v, level + 1);
        return;
    }
}

static void read_object(reader *r, daruma_str object, int level)
{
    daruma_str key, v, words = {0};
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
        if (role == IS_NOTHING) {
            if (json_is_string(v) && v.n > words.n && memchr(v.p, ' ', v.n))
                words = v;
            continue;
        }
        if (role == IS_IS_ERROR && json_get(object, S("api_error_status")).n)
            continue; /* what an agent says of its whole run */
        if (role == IS_IS_ERROR && (json_is_true(v) || json_is_array(json_get(object, S("content"))))) {
            r->s->shape |= SAID_RPC;
            read_tool_result(r, object, level);
        } else if (json_is_object(v) || json_is_array(v)) {
            if (json_is_object(v) && str_eq(key, S("errors")))
                read_fields(r, v, level + 1);
            if (role == IS_NEST || role == IS_MESSAGE || role == IS_CODE || role == IS_TYPE)
                read_value(r, v, level + 1);
            else if (role == IS_PARAM || (role == IS_PATH && json_is_array(v)))
                read_path(r, v);
            else if (role == IS_CHOICES)
                read_choices(r, v, level);
            else if (role == IS_WAIT && json_is_object(v))
                add_wait(r, scalar(r, json_get(v, S("seconds"))), false);
        } else {
            reader_member(r, role, scalar(r, v), level);
        }
    }
    if (level > 0 && r->s->ntexts == texts && r->s->ncodes) /* an error whose message has an unheard-of name */
        reader_text(r, json_text(words, r->a), level);
    if (level == 0 && !r->s->ntexts && !r->s->ncodes)
        read_fields(r, object, level);
    if (level == 0 && !r->s->ntexts)
        read_within(r, object, level);
}

static void read_value(reader *r, daruma_str v, int level)
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
            read_string(r, json_text(item, r->a), level + 1);
        else
            read_value(r, item, level + 1);
    }
}

/* ---- text -------------------------------------------------------------------------------------- */

/* True if the code that was met after `codes` others has a seam, as names of errors have: "no_user_key". */
static bool names_error(const reader *r, size_t codes)
{
    return r->s->ncodes > codes && str_findch(r->s->codes[codes], '_') != STR_NONE;
}

/* What a text says of itself before `at`, where that which it wraps begins. */
static void read_before(reader *r, daruma_str t, size_t at, int level)
{
    reader_prefix(r, str_sub(t, 0, at), false);
    reader_text(r, str_sub(t, 0, at), level);
}

/* "rpc error: code = Unavailable desc = ...": how gRPC prints an error. False: there is none. */
static bool read_grpc(reader *r, daruma_str t, int level)
{
    static const daruma_str lead = LIT("rpc error: code = "), desc = LIT(" desc = ");
    size_t at = str_find(t, lead), end = at == STR_NONE ? at : str_find(str_from(t, at), desc);
    if (end == STR_NONE || end <= lead.n || (at && char_is(t.p[at - 1], CHAR_QUOTE))) /* what is quoted is no error */
        return false;
    reader_member(r, IS_CODE, str_sub(t, at + lead.n, end - lead.n), level);
    read_before(r, t, at, level - 1);
    read_string(r, str_from(t, at + end + desc.n), level + 1);
    return true;
}

static void read_html(reader *r, daruma_str t, int level)
{
    daruma_str words = reader_page(r, t);
    r->s->shape |= SAID_HTML;
    reader_prefix(r, words, true);
    reader_text(r, words, level);
}

/* Does a quote stand open at `at`? What is quoted is no error. */
static bool in_quotes(daruma_str before)
{
    bool open = false;
    for (size_t i = 0; i < before.n; i++)
        open ^= before.p[i] == '"';
    return open;
}

/* "Invalid key: Error fetching from https://...: [400 Bad Request] the location ...": how Google's SDKs print an error.
 * What was sent stands behind the status. False: there is none. */
static bool read_bracketed(reader *r, daruma_str t, int level)
{
    int64_t status;
    bool quoted = false;
    for (size_t at = 0, hit; (hit = str_find(str_from(t, at), S(": ["))) != STR_NONE; at += hit + 3) {
        size_t from = at + hit + 3, end = str_find(str_from(t, from), S("] "));
        if (end == STR_NONE)
            return false;
        quoted ^= in_quotes(str_sub(t, at, hit));
        size_t address = at + hit; /* it was asked, so that these are no words of a request */
        while (address && t.p[address - 1] != ' ')
            address--;
        if (str_find(str_sub(t, address, at + hit - address), S("://")) == STR_NONE)
            continue;
        if (!str_int(str_sub(t, from, 3), &status) || !reader_is_status(status) || (end > 3 && t.p[from + 3] != ' ') ||
            quoted)
            continue;
        r->s->status = (int)status;
        read_before(r, t, from - 1, level - 1);
        read_string(r, str_from(t, from + end + 2), level);
        return true;
    }
    return false;
}

/* Text with a page somewhere in it: "unexpected status 413: <html>...". */
static bool read_embedded_page(reader *r, daruma_str t, int level)
{
    if (!memchr(t.p, '<', t.n))
        return false;
    size_t at = str_ifind(t, S("<!doctype")), html = str_ifind(t, S("<html"));
    at = html < at ? html : at;
    if (at == STR_NONE || str_findch(str_sub(t, 0, at), '{') != STR_NONE || in_quotes(str_sub(t, 0, at)))
        return false;
    read_before(r, t, at, level - 1);
    read_html(r, str_from(t, at), level);
    return true;
}

/* Text with an object somewhere in it: the object is what was said, the rest is wrapping. */
static bool read_embedded(reader *r, daruma_str t, int level)
{
    int tries = 0;
    for (size_t i = 0; i < t.n && tries < UNWRAP_BRACES_MAX; i++) {
        size_t brace = str_findch(str_from(t, i), '{');
        if (brace == STR_NONE)
            return false;
        i += brace && t.p[i + brace - 1] == '[' ? brace - 1 : brace; /* "[{" is a list of them */
        tries++;
        daruma_str v;
        size_t had = r->s->ntexts, codes = r->s->ncodes, texts_before = had;
        size_t end = json_skip(t, i, &v);
        bool whole = end != STR_NONE;
        if (whole) {
            read_value(r, v, level + 1);
        } else {
            daruma_str rest = str_from(t, i);
            if (reader_cut_answer(rest)) {
                r->s->shape |= SAID_ANSWER | SAID_CUT;
                return true;
            }
            bool quoted = rest.n > 2 && (rest.p[1] == '"' || rest.p[1] == '\'' || rest.p[1] == '\\');
            size_t first = 1, value;
            while (first < rest.n && ch_space(rest.p[first]))
                first++;
            if (!quoted && (first == rest.n || !reader_key(rest, first, &value).n))
                continue;
            if (rest.p[1] == '\\') /* {\"error\": one level of quoting too many */
                rest = reader_unescape(r, rest);
            if (!reader_loose(r, rest, level + 1))
                continue;
            end = t.n;
        }
        size_t enough = codes + !(whole && names_error(r, codes)); /* one type alone may be of anything */
        if (r->s->ntexts > texts_before || r->s->ncodes > enough || (r->s->shape & SAID_ANSWER)) {
            if (i && (r->s->ntexts > texts_before || r->s->ncodes > codes))
                read_before(r, t, i, level - 1);
            r->s->behind = str_from(t, end);
            return true;
        }
        i = end - 1;
    }
    return false;
}

/* ---- pages and streams -------------------------------------------------------------------- */

static bool is_html(daruma_str t)
{
    static const daruma_str starts[] = {LIT("<!doctype"), LIT("<html"), LIT("<head"), LIT("<body"), LIT("<center>"),
                                        LIT("<title"),    LIT("<h1"),   LIT("<?xml"), LIT("<!--")};
    for (size_t i = 0; t.p[0] == '<' && i < COUNT(starts); i++)
        if (str_istarts(t, starts[i]))
            return true;
    return false;
}

static bool is_sse(daruma_str t)
{
    return str_starts(t, S("data:")) || str_starts(t, S("event:")) || str_starts(t, S(": ")) ||
           str_starts(t, S(":\n")) || str_starts(t, S("id:")) || str_starts(t, S("retry:"));
}

static bool is_error_event(daruma_str name)
{
    return str_ifind(name, S("error")) != STR_NONE || str_ifind(name, S("exception")) != STR_NONE ||
           str_eq(name, S("response.failed"));
}

static void read_sse(reader *r, daruma_str t, int level)
{
    daruma_str rest = t, event = {0};
    r->s->shape |= SAID_STREAM;
    while (rest.n && r->values++ < UNWRAP_VALUES_MAX * 4) {
        daruma_str line = str_trim(str_cut(&rest, '\n')), v;
        if (str_starts(line, S("event:"))) {
            event = str_trim(str_from(line, 6));
            if (str_eq(event, S("message_stop")) || str_eq(event, S("response.completed")))
                r->s->shape |= SAID_FINISHED | SAID_ANSWER;
        }
        if (!str_starts(line, S("data:")))
            continue;
        daruma_str data = str_trim(str_from(line, 5));
        if (str_eq(data, S("[DONE]"))) {
            r->s->shape |= SAID_FINISHED | SAID_ANSWER;
        } else if (is_error_event(event)) {
            r->s->shape |= SAID_ERROR_EVENT;
            read_any(r, data, level + 1);
        } else if (json_whole(data, &v)) {
            read_value(r, v, level + 1);
        } else if (data.n && data.p[0] == '{') {
            daruma_str all = {data.p, (size_t)(t.p + t.n - data.p)};
            size_t end = json_skip(all, 0, &v); /* over several lines, though none but the first says "data:" */
            if (end != STR_NONE) {
                read_value(r, v, level + 1);
                rest = str_from(all, end);
                continue;
            }
            r->s->shape |= SAID_CUT;
            reader_loose(r, data, level + 1);
        } else {
            reader_text(r, data, level + 1);
        }
    }
}

/* ---- anything ----------------------------------------------------------------------------- */

/* Words for people, perhaps in a log or behind a stack; not JSON, a page or a stream of events. */
static bool is_of_lines(daruma_str t)
{
    daruma_str v;
    char next = t.n > 1 ? t.p[1] : 0;
    bool json = t.p[0] == '{' || t.p[0] == '<' || (t.p[0] == '[' && !ch_digit(next) && !ch_alpha(next)) ||
                (t.p[0] == '"' && json_whole(t, &v));
    return !json && !is_sse(t);
}

static void read_any(reader *r, daruma_str t, int level)
{
    t = reader_straight(r, str_trim(t));
    if (!t.n)
        return;
    if (level > UNWRAP_DEPTH_MAX || r->strings > JSON_UNWRAP_LEVELS_MAX) {
        reader_text(r, t, level);
        return;
    }
    daruma_str inner = t.n > 4 ? str_sub(t, 1, t.n - 2) : (daruma_str){0};
    if (inner.n && t.p[0] == '"' && t.p[t.n - 1] == '"' && memchr("{[", inner.p[0], 2) && json_whole(inner, &inner)) {
        read_value(r, inner, level); /* JSON in quotes that nobody escaped */
        return;
    }
    if (is_of_lines(t)) {
        t = line_strip(t, r->a);
        t = str_from(t, sentence_lead(t));
    }
    size_t value;
    if (t.p[0] == '"' && reader_key(t, 0, &value).n && reader_loose(r, t, level))
        return;
    if (t.p[0] == '{' || t.p[0] == '[') {
        daruma_str v, rest = t;
        size_t end = json_skip(rest, 0, &v);
        if (end != STR_NONE) { /* one value, or one a line */
            size_t texts = r->s->ntexts;
            while (end != STR_NONE && r->values++ < UNWRAP_VALUES_MAX) {
                if (json_is_object(v) || json_is_array(v))
                    read_value(r, v, level);
                rest = str_trim(str_from(rest, end));
                end = rest.n ? json_skip(rest, 0, &v) : STR_NONE;
            }
            if (rest.n && t.p[0] == '[' && r->s->ntexts == texts)
                reader_text(r, t, level); /* "[Tool] failed": not JSON after all */
            else if (rest.n && rest.p[0] == '{')
                r->s->shape |= SAID_CUT;
            return;
        }
        if (reader_cut_answer(t)) {
            r->s->shape |= SAID_ANSWER | SAID_CUT;
            return;
        }
        if (reader_loose(r, t, level)) {
            if (r->s->ntexts == 0)
                r->s->shape |= SAID_CUT;
            return;
        }
        if (t.p[0] == '{')
            r->s->shape |= SAID_CUT;
    }
    daruma_str quoted = reader_logged(t);
    if (quoted.n || (t.p[0] == '"' && json_whole(t, &quoted) && json_is_string(quoted))) {
        read_string(r, json_text(quoted, r->a), level + 1);
        return;
    }
    if (is_html(t)) {
        read_html(r, t, level);
    } else if (is_sse(t)) {
        read_sse(r, t, level);
    } else if (!read_embedded_page(r, t, level) && !read_grpc(r, t, level) && !read_bracketed(r, t, level) &&
               !read_embedded(r, t, level)) {
        reader_prefix(r, t, true);
        reader_text(r, t, level);
    }
}

said unwrap(daruma_str body, echo *e, daruma_arena *a)
{
    said s = {.wait = -1, .reset_wall = -1, .limit = -1, .used = -1, .requested = -1};
    reader r = {.s = &s, .a = a, .best = -9, .code_rank = -9, .echo = e};
    body = str_sub(body, 0, CLASSIFY_BODY_BYTES_MAX);
    if (body.n >= 3 && memcmp(body.p, "\xef\xbb\xbf", 3) == 0)
        body = str_from(body, 3);
    read_any(&r, body, 0);
    if (!s.finish.n && !s.ncodes) /* an error may name one in passing */
        reader_member(&r, IS_FINISH, reader_finish(body), 0);
    if (!s.ntexts && !s.ncodes && !(s.shape & (SAID_ANSWER | SAID_STREAM | SAID_CUT)))
        s.shape |= SAID_NOTHING;
    return s;
}
