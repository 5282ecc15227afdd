/* classify.c - evidence becomes a failure: unwrap what was said, find the row that fits, then
 * let tool or model, the numbers and the forwarded bytes have their say. */
#include "engine/read/chars.h"
#include "engine/judge/hints.h"
#include "engine/judge/lacks.h"
#include "engine/judge/match.h"
#include "engine/judge/quote.h"
#include "engine/judge/speaker.h"
#include "engine/judge/spans.h"
#include "model/kinds.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"

#define OTHER_TEXT_BYTES_MAX 1024         /* of the texts around the innermost message */
#define SECRET_BYTES_MIN     6            /* shorter words are not taken for secrets */
#define SHORT_WAIT_MS        (5 * 60000)  /* no allowance comes back so soon */
#define LONG_WAIT_MS         (60 * 60000) /* no rate is slower: what comes back later is an allowance */
#define SUBJECT_BYTES_MAX    80           /* a longer quoted word is no name */

/* ---- the texts ------------------------------------------------------------------------------ */

/* Is there nothing for `flatten` to do? Nearly always; without branches, so that many bytes are
 * asked at once. */
static bool is_flat(daruma_str text)
{
    unsigned char odd = 0;
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        odd |= (c < ' ') | (c == 0x7f) | (c == 0xe2);
    }
    for (size_t i = 1; i < text.n; i++)
        odd |= (text.p[i] == ' ') & (text.p[i - 1] == ' ');
    return !odd;
}

/* `text` on one line, at most `max` bytes: white space and control characters become one space,
 * curly quotes straight ones. Borrows when it is so already. */
static daruma_str flatten(daruma_str text, size_t max, daruma_arena *a)
{
    text = str_sub(str_trim(text), 0, max);
    if (is_flat(text))
        return text;
    char *out = arena_take(a, text.n, 1);
    size_t n = 0;
    if (!out)
        return (daruma_str){0};
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (c <= ' ' || c == 0x7f) {
            if (n && out[n - 1] != ' ')
                out[n++] = ' ';
        } else if (c == 0xe2 && i + 2 < text.n && (unsigned char)text.p[i + 1] == 0x80 &&
                   ((unsigned char)text.p[i + 2] & 0xf0) == 0x90 && (unsigned char)text.p[i + 2] >= 0x98) {
            out[n++] = (unsigned char)text.p[i + 2] < 0x9c ? '\'' : '"'; /* U+2018..U+201F */
            i += 2;
        } else {
            out[n++] = (char)c;
        }
    }
    return (daruma_str){out, n};
}

static daruma_str lower(daruma_str s, daruma_arena *a)
{
    char *out = arena_take(a, s.n, 1);
    if (!out)
        return (daruma_str){0};
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i]; /* without branches: many bytes at once */
        out[i] = (char)(c | (unsigned char)(((unsigned char)(c - 'A') < 26) << 5));
    }
    return (daruma_str){out, s.n};
}

/* The parameter, else the first short word in quotes or backticks. */
static daruma_str subject_of(const said *s, daruma_str message)
{
    if (s->param.n || !chars_has(message, "\"'`"))
        return s->param;
    for (size_t i = 0; i < message.n; i++) {
        char q = message.p[i];
        if (!char_is(q, CHAR_QUOTE) || (i && char_is(message.p[i - 1], CHAR_WORD)))
            continue;
        size_t n = str_findch(str_sub(message, i + 1, SUBJECT_BYTES_MAX), q);
        if (n != STR_NONE && n && str_findch(str_sub(message, i + 1, n), ' ') == STR_NONE)
            return str_sub(message, i + 1, n);
    }
    return (daruma_str){0};
}

/* ---- facts ----------------------------------------------------------------------------------- */

static const char *const statuses[] = {"4xx", "5xx"};

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

/* True if a word of a name in mixed case begins at p[i], behind another. */
static bool code_begins_word(daruma_str name, size_t i)
{
    return i && is_upper(name.p[i]) && ch_alpha(name.p[i - 1]) && !is_upper(name.p[i - 1]);
}

/* "TesseractNotFoundError" as "tesseract not found error", where `joint` is a space. */
static daruma_str spelt_out(daruma_str name, char joint, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    for (size_t i = 0; i < name.n; i++) {
        if (code_begins_word(name, i))
            buf_putc(&b, joint);
        buf_putc(&b, name.p[i] == '-' ? joint : ch_lower(name.p[i]));
    }
    return buf_str(&b);
}

/* "RateLimitExceeded" and "permission-denied" as "rate_limit_exceeded" and "permission_denied": one spelling for
 * what is the same code. Empty when it is spelled so already, or is a class: those say less than their text. */
static daruma_str in_words(daruma_str code, daruma_arena *a)
{
    bool other = false;
    for (size_t i = 1; i < code.n; i++)
        other |= code.p[i] == '-' || code_begins_word(code, i);
    if (!other || str_ends(code, S("Error")) || str_ends(code, S("Exception")))
        return (daruma_str){0};
    return spelt_out(code, '_', a);
}

/* A message of one word is a code: "Error: error.NoResponseContent". Empty when it is not. */
static daruma_str lone_code(daruma_str message)
{
    if (str_istarts(message, S("error: ")))
        message = str_from(message, 7);
    if (message.n > SUBJECT_BYTES_MAX || str_findch(message, ' ') != STR_NONE)
        return (daruma_str){0};
    size_t from = 0;
    bool joined = false; /* it has seams: a word like others has none */
    for (size_t i = 0; i < message.n; i++) {
        joined |= message.p[i] == '_' || (i > from && is_upper(message.p[i]) && !is_upper(message.p[i - 1]));
        if (message.p[i] == '.')
            from = i + 1;
        else if (!char_is(message.p[i], CHAR_WORD))
            return (daruma_str){0};
    }
    return joined ? str_from(message, from) : (daruma_str){0};
}

static void add_code(seen *v, daruma_str code, daruma_arena *a)
{
    seen_add(v, AT_CODE, lower(code, a));
    seen_add(v, AT_CODE, in_words(code, a));
}

static void add_facts(seen *v, const daruma_evidence *ev, const said *s, char number[4], daruma_arena *a)
{
    static const struct {
        unsigned bit;
        daruma_str name;
    } shapes[] = {
        {SAID_NOTHING, LIT("nothing")},
        {SAID_HTML, LIT("html")},
        {SAID_NO_CHOICES, LIT("no_choices")},
        {SAID_REFUSAL, LIT("refusal")},
        {SAID_CUT, LIT("broken")},
        {SAID_BAD_CALL, LIT("bad_call")},
        {SAID_PER_DAY, LIT("quota_per_day")},
        {SAID_PER_MINUTE, LIT("quota_per_minute")},
        {SAID_ZERO_LIMIT, LIT("quota_zero")},
    };
    v->page = s->shape & SAID_HTML;
    for (size_t i = 0; i < COUNT(shapes); i++)
        if (s->shape & shapes[i].bit)
            seen_add(v, AT_SHAPE, shapes[i].name);
    bool empty = (s->shape & SAID_ANSWER) && !(s->shape & SAID_CONTENT) && !s->ncodes;
    if (empty || ev->flaw == DARUMA_FLAW_EMPTY)
        seen_add(v, AT_SHAPE, S("empty_answer"));
    bool unfinished =
        (s->shape & SAID_STREAM) && !(s->shape & SAID_FINISHED) && !s->finish.n && !s->ntexts && !s->code.n;
    if (ev->flaw == DARUMA_FLAW_CUT || unfinished)
        seen_add(v, AT_SHAPE, S("cut"));
    if ((s->shape & SAID_ANSWER) && s->ntexts && ev->status < 400)
        seen_add(v, AT_SHAPE, S("error_in_answer"));
    if (ev->flaw == DARUMA_FLAW_BROKEN)
        seen_add(v, AT_SHAPE, S("broken"));
    if (ev->flaw == DARUMA_FLAW_FILTERED)
        seen_add(v, AT_SHAPE, S("refusal"));
    if (ev->flaw == DARUMA_FLAW_SILENT)
        seen_add(v, AT_SHAPE, S("silent"));
    if (ev->flaw == DARUMA_FLAW_ENCODED)
        seen_add(v, AT_SHAPE, S("encoded"));
    for (size_t i = 0; i < s->ncodes; i++)
        add_code(v, s->codes[i], a);
    seen_add(v, AT_FINISH, lower(str_trim(ev->finish.n ? ev->finish : s->finish), a));
    if (ev->net != DARUMA_NET_NONE && ev->net < DARUMA_NETS)
        seen_add(v, AT_NET, str_of(daruma_net_name(ev->net)));
    if (v->status >= 400 && v->status <= 599) {
        for (int i = 2, n = v->status; i >= 0; i--, n /= 10)
            number[i] = (char)('0' + n % 10);
        seen_add(v, AT_STATUS, (daruma_str){number, 3});
        seen_add(v, AT_STATUS, str_of(statuses[v->status / 100 - 4]));
    }
}

/* ---- the verdict ------------------------------------------------------------------------------ */

/* What the numbers of the message decide. A request of more tokens than a minute allows never passes; where requests
 * are counted, it was one too many. */
static void apply_sum(daruma_failure *f, seen *v, uint8_t sum)
{
    if (f->kind == DARUMA_RATE_LIMIT && f->limit > 0 && f->requested > f->limit && match_tokens(v))
        f->retryable = false;
    if (sum == SUM_FILLS_WINDOW && f->limit > 0 && f->requested >= f->limit)
        f->kind = DARUMA_OUTPUT_LIMIT;
}

enum { PAGE_SURE = 60 }; /* percent at most, of what a page for people says: it may be of somebody on the way */

/* True of a status that is said of nothing else. 403, 429 and 503 are said of much: a word beside them proves little.
 */
static bool status_says(daruma_kind k, int status)
{
    return (k == DARUMA_AUTH && status == 401) || (k == DARUMA_QUOTA && status == 402);
}

/* Words of a code are as good as a code, and so are words beside a status that says the same by itself. */
static uint8_t sure_of(const phrase *p, const seen *v)
{
    static const uint8_t percent[] = {[AT_TEXT] = 92, [AT_CODE] = 92,   [AT_FINISH] = 92,   [AT_SHAPE] = 80,
                                      [AT_NET] = 95,  [AT_STATUS] = 65, [AT_SENTENCE] = 85, [AT_MESSAGE] = 60};
    if (p->where == AT_SENTENCE && (v->coded || status_says((daruma_kind)p->kind, v->status)))
        return percent[AT_CODE];
    return p->kind == DARUMA_UNKNOWN ? 10 : percent[p->where];
}

/* What a status says of a tool whose connection broke: somebody answered and refused it before. */
static void apply_refusal(daruma_failure *f, int status)
{
    static const struct {
        int status;
        daruma_tool_kind kind;
    } refusals[] = {{400, DARUMA_TOOL_VALIDATION_KIND}, {401, DARUMA_TOOL_AUTH_KIND},
                    {403, DARUMA_TOOL_PERMISSION_KIND}, {404, DARUMA_TOOL_NOT_FOUND_KIND},
                    {413, DARUMA_TOOL_VALIDATION_KIND}, {429, DARUMA_TOOL_RATE_LIMIT_KIND}};
    for (size_t i = 0; f->tool_kind == DARUMA_TOOL_NETWORK_KIND && i < COUNT(refusals); i++)
        if (refusals[i].status == status) {
            f->tool_kind = refusals[i].kind;
            f->retryable = status == 429;
        }
}

static void decide(daruma_failure *f, seen *v, uint16_t rule)
{
    const phrase row = match_row(rule), *p = rule ? &row : NULL;
    f->rule = rule;
    f->kind = p ? (daruma_kind)p->kind : DARUMA_UNKNOWN;
    f->tool_kind = p ? (daruma_tool_kind)p->tool_kind : DARUMA_TOOL_NONE_KIND;
    f->sure = p ? sure_of(p, v) : 10;
    if (v->page && f->sure > PAGE_SURE)
        f->sure = PAGE_SURE;
    f->retryable = kind_rows[f->kind].retryable;
    if (p && p->retry != RETRY_BY_KIND)
        f->retryable = p->retry == RETRY_YES;
    if (p)
        apply_sum(f, v, p->sum);
    if (v->answered)
        apply_refusal(f, v->status);
    if (f->kind == DARUMA_TOOL_ERROR || f->kind == DARUMA_CANCELLED)
        return;
    bool model = p && (p->only == FOR_MODEL || kind_rows[f->kind].of_models);
    if (v->tool == FOR_TOOL && !(v->guessed && model)) {
        f->tool_kind = kind_rows[f->kind].tool_kind;
        f->kind = DARUMA_TOOL_ERROR;
    }
}

/* True if one of the words, between what is no letter or digit, stands in `text`; case is ignored. */
static bool has_word(daruma_str text, const daruma_str *words, size_t n)
{
    size_t from = 0;
    for (size_t i = 0; i <= text.n; i++) {
        if (i < text.n && (ch_alpha(text.p[i]) || ch_digit(text.p[i])))
            continue;
        for (size_t k = 0; i > from && k < n; k++)
            if (i - from == words[k].n && str_istarts(str_from(text, from), words[k]))
                return true;
        from = i + 1;
    }
    return false;
}

/* Does a code say that a value or a member of the request is wrong: "invalid_value", "string_above_max_length"? Words
 * like "invalid_request_error" are said of everything. */
static bool blames_value(daruma_str code)
{
    static const daruma_str wrong[] = {LIT("invalid"),    LIT("unknown"),   LIT("unsupported"), LIT("missing"),
                                       LIT("unexpected"), LIT("above"),     LIT("below"),       LIT("empty"),
                                       LIT("extra"),      LIT("duplicate"), LIT("malformed"),   LIT("required")};
    static const daruma_str parts[] = {LIT("value"),  LIT("type"),  LIT("parameter"), LIT("parameters"), LIT("param"),
                                       LIT("params"), LIT("field"), LIT("property"),  LIT("schema"),     LIT("enum"),
                                       LIT("string"), LIT("array"), LIT("integer"),   LIT("decimal"),    LIT("number"),
                                       LIT("object"), LIT("json")};
    return has_word(code, wrong, COUNT(wrong)) && has_word(code, parts, COUNT(parts));
}

static bool any_blames_value(const said *s, daruma_arena *a)
{
    for (size_t i = 0; i < s->ncodes; i++)
        if (blames_value(s->codes[i]) || blames_value(in_words(s->codes[i], a)))
            return true;
    return false;
}

/* True if words that people read decided, not a code. */
static bool is_of_words(const seen *v, uint16_t rule)
{
    uint8_t where = match_row(rule).where;
    return !v->coded && (where == AT_TEXT || where == AT_SENTENCE || where == AT_MESSAGE);
}

/* True if the rule may be one of a message that is one word: a code, or a word of the request. */
static bool is_lone(const seen *v, uint16_t rule, daruma_str lone)
{
    return lone.n && (v->coded || match_row(rule).where == AT_CODE);
}

/* Where a request is refused for what it holds, and says where or for which fault of a value, its words do not speak of
 * accounts: perhaps they are its own. `words`: what decided was words. */
static void doubt_words(daruma_failure *f, const said *s, bool words, daruma_arena *a)
{
    f->hearsay = f->rule && words && f->status && !match_status(f->kind, f->status);
    bool refused = f->status == 400 || f->status == 404 || f->status == 422;
    bool names_it = f->kind == DARUMA_MODEL_NOT_FOUND && str_ifind(s->param, S("model")) != STR_NONE;
    if (!f->rule || !words || !refused || names_it || (!s->param.n && !any_blames_value(s, a)))
        return;
    daruma_scope sick = daruma_kind_scope(f->kind);
    if (sick == DARUMA_SICK_KEY || sick == DARUMA_SICK_ACCOUNT || sick == DARUMA_SICK_TARGET ||
        sick == DARUMA_SICK_MODEL || sick == DARUMA_SICK_PROVIDER) {
        f->kind = DARUMA_INVALID_PARAMETER;
        f->rule = 0;
        f->sure = 60;
        f->retryable = f->hearsay = false;
    }
}

/* True if a page for people came in place of an answer with 5xx, and only its words say that it will not pass. A server
 * that is away is back later, whatever its page says ("Please accept the terms"). */
static bool is_page_of_outage(const daruma_failure *f, const seen *v)
{
    return v->page && f->status >= 500 && f->rule && is_of_words(v, f->rule) && !f->retryable;
}

/* Where no word says anything the names of exceptions are read as words. */
static void read_classes(daruma_failure *f, seen *v, const said *s, daruma_arena *a)
{
    if ((f->kind != DARUMA_TOOL_ERROR && f->kind != DARUMA_UNKNOWN) || f->rule || !s->ncodes)
        return;
    for (size_t i = 0; i < s->ncodes; i++)
        seen_text(v, spelt_out(s->codes[i], ' ', a));
    decide(f, v, match_first(v));
}

/* Does the status ask to come again later? */
static bool asks_to_wait(int status)
{
    return !status || status == 402 || status == 408 || status == 429 || status == 503 || status == 529;
}

/* What is called a quota, and is free again at once or counts by the minute, is a rate; what is called a rate and is
 * free again in hours is a quota. */
static void hear_rate(daruma_failure *f, seen *v, const said *s)
{
    if (f->kind == DARUMA_RATE_LIMIT && f->wait > LONG_WAIT_MS && is_of_words(v, f->rule) && !match_rates(v)) {
        f->kind = DARUMA_QUOTA;
        f->severity = daruma_kind_severity(f->kind);
        f->retryable = false;
        return;
    }
    if (f->kind != DARUMA_QUOTA || !is_of_words(v, f->rule) || !asks_to_wait(f->status) ||
        s->shape & (SAID_PER_DAY | SAID_ZERO_LIMIT) || f->limit == 0)
        return;
    if ((f->wait <= 0 || f->wait > SHORT_WAIT_MS) && !match_rates(v))
        return;
    f->kind = DARUMA_RATE_LIMIT;
    f->severity = daruma_kind_severity(f->kind);
    f->retryable = true;
}

/* What the provider itself says of another try. What is called a fault of the request, and of nothing in it, is one of
 * the provider's if it will pass. */
static void hear_retry(daruma_failure *f, int says)
{
    if (says < 0 || f->kind == DARUMA_TOOL_ERROR)
        return;
    if (says && !f->subject.n && (f->kind == DARUMA_INVALID_PARAMETER || f->kind == DARUMA_UNKNOWN))
        f->kind = DARUMA_SERVER_ERROR;
    f->severity = daruma_kind_severity(f->kind);
    f->retryable = says;
}

/* In words of other kinds "try again" is said in passing. */
static bool waits(daruma_kind k)
{
    return kind_rows[k].retryable || k == DARUMA_QUOTA || k == DARUMA_TOOL_ERROR || k == DARUMA_UNKNOWN;
}

/* Judges what `body` says. Of words in quotes only names are heard. */
static daruma_failure judge_body(const daruma_evidence *ev, daruma_str body, echo *e, daruma_moment at, daruma_arena *a)
{
    said s;
    unwrap(&s, body, e, a);
    daruma_str name = s.ncodes ? (daruma_str){0} : hints_error_name(ev);
    if (name.n)
        s.codes[s.ncodes++] = s.code = name;
    daruma_failure f = {.status = ev->status, .net = ev->net, .wait = -1, .limit = -1, .used = -1, .requested = -1};
    /* a line may stand in what was sent, and then HTTP knows better */
    bool sent = s.how == SAID_IN_LINE && ev->status >= 400 && ev->status < 500;
    seen v = {.provider = ev->provider,
              .model_call = ev->model_call,
              .ended = s.ended,
              .status = s.status && ev->status < 600 && !sent ? s.status : ev->status};
    char number[4];
    daruma_str message = {0};
    for (size_t i = 0; i < s.ntexts; i++) {
        daruma_str line = flatten(s.texts[i], i ? OTHER_TEXT_BYTES_MAX : CLASSIFY_MESSAGE_BYTES_MAX, a);
        if (!i)
            message = line;
        seen_text(&v, lower(spans_strip(line, a), a));
    }
    if (s.param.n) {
        daruma_buf b = buf_in(a);
        BUF_LIT(&b, "param=");
        buf_put(&b, s.param);
        seen_text(&v, lower(buf_str(&b), a));
    }
    v.tool = speaker_of(ev, &s, &v);
    v.answered = (v.tool == FOR_TOOL && !v.guessed) || (s.how != SAID_IN_FIELD && v.status == s.status);
    add_facts(&v, ev, &s, number, a);
    daruma_str lone = s.ntexts ? lone_code(str_trim(s.texts[0])) : (daruma_str){0};
    add_code(&v, lone, a);
    for (size_t i = 0; i < v.ntexts; i++)
        hints_numbers(v.texts[i], &s);
    f.limit = s.limit;
    f.used = s.used;
    f.requested = s.requested;
    decide(&f, &v, match_first(&v));
    if (is_page_of_outage(&f, &v)) {
        seen status = {.provider = v.provider, .status = v.status, .tool = v.tool, .model_call = v.model_call};
        char digits[4];
        add_facts(&status, ev, &s, digits, a);
        seen_text(&status, S("page")); /* there are words, and they say nothing */
        decide(&f, &status, match_first(&status));
    }
    read_classes(&f, &v, &s, a);
    doubt_words(&f, &s, is_of_words(&v, f.rule) || is_lone(&v, f.rule, lone), a);
    for (size_t i = 0; i < v.ntexts && f.kind == DARUMA_CONTEXT_LENGTH && (f.limit < 0 || f.used < 0); i++) {
        hints_overflow(v.texts[i], &s);
        f.limit = s.limit;
        f.used = s.used;
    }
    if (ev->forwarded && (f.kind == DARUMA_NETWORK || f.kind == DARUMA_TIMEOUT))
        f.kind = DARUMA_INTERRUPTED;
    f.severity = daruma_kind_severity(f.kind);
    s.behind = lower(s.behind, a);
    s.limited = f.kind == DARUMA_RATE_LIMIT || f.kind == DARUMA_QUOTA;
    f.wait = hints_wait(ev, &s, v.texts, waits(f.kind) ? v.ntexts : 0, at);
    hear_rate(&f, &v, &s);
    if (!f.status)
        f.status = s.status;
    f.hearsay |= f.wait >= 0 && !asks_to_wait(f.status) && f.wait != hints_wait(ev, &s, NULL, 0, at);
    f.subject = subject_of(&s, message);
    f.code = daruma_redact(s.code, a); /* a copy: what is judged may go before the failure does */
    f.own = f.message = daruma_redact(message, a);
    hear_retry(&f, hints_should_retry(ev));
    f.subject = f.subject.n >= SECRET_BYTES_MIN ? daruma_redact(f.subject, a) : arena_copy(a, f.subject);
    return f;
}

/* Whose failure it is: known to be of the request itself, or perhaps of others too. */
static bool is_its_own(daruma_kind k)
{
    daruma_scope who = k == DARUMA_UNKNOWN ? DARUMA_SICK_PROVIDER : daruma_kind_scope(k);
    return who == DARUMA_SICK_REQUEST || who == DARUMA_SICK_CONVERSATION || who == DARUMA_SICK_ANSWER;
}

/* What it is about is what its whole text names. */
static daruma_failure judge_rest(const daruma_evidence *ev, daruma_str rest, const daruma_failure *whole, echo *e,
                                 daruma_moment at, daruma_arena *a)
{
    daruma_failure f = judge_body(ev, rest, e, at, a);
    f.own = f.message.n ? f.message : S("");
    f.subject = whole->subject;
    f.message = whole->message;
    return f;
}

daruma_failure daruma_classify(const daruma_evidence *ev, daruma_moment at, daruma_arena *a)
{
    unquoted own = {.body = ev->body, .nameless = ev->body};
    quotable sent = {.request = ev->request, .model = ev->model, .beside = ev->beside};
    bool quotes = ev->body.n && (ev->request.n || ev->model.n || ev->beside.n);
    echo *e = quotes ? ARENA_NEW(a, echo, 1) : NULL;
    if (e)
        *e = (echo){0};
    daruma_failure whole = judge_body(ev, ev->body, e, at, a), f = whole;
    if (e)
        own = quote_strip(ev->body, &sent, e, a);
    /* A conversation may hold the whole of an error that it meets once more. That is believed when it harms nobody
     * else. */
    bool believed = own.all && is_its_own(whole.kind);
    if (believed)
        f.own = S("");
    else if (own.body.p != ev->body.p || (e && e->any))
        f = judge_rest(ev, own.body, &whole, e, at, a);
    /* A request's own name may be what it is refused for, but it says nothing of others. */
    daruma_str words = f.own;
    if (own.nameless.p != own.body.p && !is_its_own(f.kind))
        f = judge_rest(ev, own.nameless, &whole, e, at, a);
    f.own = words;
    f.hearsay |= believed;
    f.lacks = judge_lacks(&f);
    return f;
}

const char *daruma_rule_name(uint16_t rule)
{
    const char *name = match_row(rule).name;
    return name ? name : "";
}
