/* explain.c - a failure in plain words: what happened, what daruma tried, what you can do. */
#include "engine/tell/words.h"
#include "model/kinds.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"

enum {
    NAME_BYTES_MAX = 80,   /* of a provider's, model's or parameter's name */
    QUOTE_BYTES_MAX = 300, /* of a provider's message; what is longer is no sentence */
};

/* What the host found out itself and no provider said, by its code. */
typedef struct own_words {
    daruma_str code;
    const char *what; /* NULL: as its kind says it */
    const char *step;
} own_words;
static const own_words owns[] = {
    {LIT("key_command_failed"), NULL, "Run the command by hand, as the user that daruma runs as, and see what it says"},
    {LIT("answer_too_long"), "its answer is longer than daruma can hand on",
     "Ask for less at once, or use a model whose provider speaks the dialect of this request: its answers pass at any "
     "length"},
};

static const own_words *own(const daruma_failure *f)
{
    static const own_words none;
    for (size_t i = 0; i < COUNT(owns); i++)
        if (str_eq(f->code, owns[i].code))
            return &owns[i];
    return &none;
}

/* What people can do where waiting helps. */
static const char *waiting_step(const daruma_failure *f)
{
    if (f->net == DARUMA_NET_LOCAL)
        return "; if it lasts, allow daruma more open files (`ulimit -n`, LimitNOFILE) or more memory, or send it "
               "fewer requests at a time";
    if (f->net == DARUMA_NET_CERTIFICATE)
        return ": check that the server's certificate names its host under subjectAltName (a common name alone does "
               "not count), has not expired, and is signed by an authority that this machine trusts";
    if (f->net == DARUMA_NET_HEAD)
        return ": look at what stands between daruma and the provider; often a proxy on the way adds fields in a loop";
    return kind_rows[f->kind].advice;
}

static void put_clean(daruma_buf *out, daruma_str text, size_t max)
{
    char room[WORDS_ROOM_BYTES];
    daruma_arena a = arena_over(room, sizeof room);
    buf_put(out, words_clean(text, max, &a));
}

/* ---- what happened ---- */

/* Was it about a call to a model? Else it is about the agent and its task. */
static bool about_a_call(daruma_kind k)
{
    daruma_scope s = daruma_kind_scope(k);
    return s < DARUMA_SICK_TOOL && k != DARUMA_TOOL_UNKNOWN && k != DARUMA_TOOL_ARGUMENTS;
}

/* Is the request refused without a word about what in it is wrong? Then nothing in it is blamed. */
static bool names_nothing(const daruma_failure *f)
{
    return f->kind == DARUMA_INVALID_PARAMETER && !f->subject.n;
}

/* Did daruma itself refuse a parameter? Its message says what to set. */
static bool refused_here(const daruma_failure *f)
{
    return f->kind == DARUMA_INVALID_PARAMETER && f->ours;
}

/* Is the model there, but nobody at this router serves it with what the request asks for (tools, images, a policy)? */
static bool lacks_endpoints(const daruma_failure *f)
{
    return f->kind == DARUMA_MODEL_NOT_FOUND && str_ifind(f->message, S("no endpoints found that")) != STR_NONE;
}

static void put_what(daruma_buf *out, const daruma_failure *f, const daruma_case *c)
{
    const char *words = own(f)->what ? own(f)->what : daruma_kind_words(f->kind);
    if (!about_a_call(f->kind)) {
        buf_putc(out, (char)(words[0] - ('a' <= words[0] && words[0] <= 'z' ? 32 : 0)));
        buf_putz(out, words + 1);
        return;
    }
    BUF_LIT(out, "The call");
    if (c && c->target >= 0 && (size_t)c->target < c->ntargets) {
        BUF_LIT(out, " to ");
        put_clean(out, c->targets[c->target].model, NAME_BYTES_MAX);
        if (c->targets[c->target].model.n) /* what only passes through names none */
            BUF_LIT(out, " at ");
        put_clean(out, c->targets[c->target].provider, NAME_BYTES_MAX);
    }
    BUF_SAY(out, " failed: ",
            names_nothing(f) || refused_here(f) ? "the request is not accepted"
            : lacks_endpoints(f)                ? "nobody there serves the model with what this request asks for"
            : f->lacks                          ? "the model cannot do what this request asks for"
                                                : words);
    if (f->net != DARUMA_NET_NONE) {
        BUF_SAY(out, ": ", daruma_net_words(f->net));
    }
}

/* "(HTTP 400, about temperature, 130000 of 128000)" as far as it is known. */
static void put_details(daruma_buf *out, const daruma_failure *f)
{
    const char *sep = " (";
    if (f->status > 0) {
        buf_printf(out, "%sHTTP %d", sep, f->status);
        sep = ", ";
    }
    bool plain = f->subject.n > 0 && f->subject.n <= NAME_BYTES_MAX;
    for (size_t i = 0; i < f->subject.n && plain; i++)
        plain = ch_word(f->subject.p[i]) || (f->subject.p[i] && strchr("-._:/[]", f->subject.p[i]));
    if (plain) {
        buf_printf(out, "%sabout ", sep);
        put_clean(out, f->subject, NAME_BYTES_MAX);
        sep = ", ";
    }
    int64_t asked = f->requested >= 0 ? f->requested : f->used;
    if (f->limit > 0 && asked > 0) {
        buf_printf(out, "%s%lld", sep, (long long)asked);
        if (asked <= f->limit && f->used > 0 && f->requested >= 0) /* alone it would fit */
            buf_printf(out, " beside %lld in use", (long long)f->used);
        buf_printf(out, " where %lld are allowed", (long long)f->limit);
        sep = ", ";
    }
    if (sep[0] == ',')
        BUF_LIT(out, ")");
}

/* Is it a sentence, and not a piece of JSON, HTML or code? */
static bool is_prose(daruma_str s)
{
    bool space = false;
    if (s.n < 8 || s.n > QUOTE_BYTES_MAX || !(ch_word(s.p[0]) || s.p[0] == '\'' || s.p[0] == '`'))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (memchr("{}<>\"\\\n\r\t", s.p[i], 9))
            return false;
        space |= s.p[i] == ' ';
    }
    return space;
}

static const char *who_says(const daruma_failure *f)
{
    if (f->kind == DARUMA_TOOL_ERROR || f->kind == DARUMA_TOOL_UNKNOWN || f->kind == DARUMA_TOOL_ARGUMENTS)
        return " It says: \"";
    return f->ours || own(f)->step ? " " : " The provider says: \"";
}

static void put_quote(daruma_buf *out, const daruma_failure *f)
{
    daruma_str message = str_trim(f->message);
    while (message.n && message.p[message.n - 1] == '.')
        message.n--;
    if (!is_prose(message))
        return;
    buf_putz(out, who_says(f));
    put_clean(out, message, QUOTE_BYTES_MAX);
    buf_putz(out, f->ours || own(f)->step ? "." : "\".");
}

/* ---- what was tried ---- */

static int targets_called(const daruma_case *c)
{
    int n = 0;
    for (size_t i = 0; i < c->ntargets && i < DARUMA_CASE_TRIED; i++)
        n += c->calls[i] > 0;
    return n;
}

/* "waited and tried again, used another key and ..." */
static bool put_remedies(daruma_buf *out, uint32_t remedies)
{
    remedies &= ~(1u << DARUMA_REMEDY_NONE | 1u << DARUMA_REMEDY_KEEP_PARTIAL | 1u << DARUMA_REMEDY_EXPLAIN |
                  1u << DARUMA_REMEDY_APOLOGISE);
    for (uint32_t left = remedies; left; left &= left - 1) {
        if (left != remedies)
            buf_putz(out, left & (left - 1) ? ", " : " and ");
        buf_putz(out, daruma_remedy_words((daruma_remedy_kind)__builtin_ctz(left)));
    }
    return remedies != 0;
}

/* Why one call was all. */
static const char *why_once(const daruma_failure *f, const daruma_case *c)
{
    if (c->done_once)
        return "because the provider may have done what must not be done twice.";
    if (own(f)->what)
        return "because its answer would be as long again.";
    if (f->kind == DARUMA_INTERRUPTED)
        return "because its answer had already begun to go out.";
    if (f->kind == DARUMA_UNKNOWN && !f->retryable)
        return "because nothing said that it would help.";
    return f->retryable ? "because there was no time, budget or other target for it."
                        : "because the same request would fail again.";
}

static bool any_rests(const daruma_case *c)
{
    for (size_t i = 0; c->health && i < c->ntargets && i < DARUMA_CASE_TRIED; i++)
        if (!daruma_health_look(c->health, &c->targets[i], c->opened).well)
            return true;
    return false;
}

/* How long until one of the targets rests no more. */
static daruma_ms rests(const daruma_case *c)
{
    daruma_ms least = -1;
    for (size_t i = 0; c->health && i < c->ntargets && i < DARUMA_CASE_TRIED; i++) {
        daruma_condition h = daruma_health_look(c->health, &c->targets[i], c->opened);
        daruma_ms in = h.alone_in > h.named_in ? h.alone_in : h.named_in;
        if (least < 0 || in < least)
            least = in;
    }
    return least;
}

static void put_tried(daruma_buf *out, const daruma_failure *f, const daruma_case *c)
{
    if (c->attempts == 0 && (f->ours || (c->health && !any_rests(c)))) {
        BUF_LIT(out, " daruma sent nothing.");
        return;
    }
    if (c->attempts == 0) {
        BUF_LIT(out, " daruma sent nothing, because all it could call is resting after earlier failures");
        daruma_ms in = rests(c);
        if (in > 0) {
            BUF_LIT(out, "; it asks there again in about ");
            buf_duration(out, in);
        }
        BUF_LIT(out, ".");
        return;
    }
    if (c->attempts == 1) {
        BUF_SAY(out, " daruma called once and did not repeat it, ", why_once(f, c));
    } else {
        BUF_LIT(out, " daruma ");
        if (!put_remedies(out, c->remedies))
            BUF_LIT(out, "tried again");
        int to = targets_called(c);
        buf_printf(out, " (%u calls to %d target%s", c->attempts, to, to == 1 ? "" : "s");
        if (c->waited > 0) {
            BUF_LIT(out, ", ");
            buf_duration(out, c->waited);
            BUF_LIT(out, " of waiting");
        }
        BUF_LIT(out, "), without success.");
    }
    if (c->done_once && c->attempts > 1)
        BUF_LIT(out, " It went no further, because the provider may have done what must not be done twice.");
    if (c->remedies & 1u << DARUMA_REMEDY_KEEP_PARTIAL)
        BUF_LIT(out, " What had arrived of the answer was kept.");
}

/* ---- what can be done ---- */

/* Is it about all of them, and not about one that could be corrected? */
static bool too_many_tools(const daruma_failure *f)
{
    static const daruma_str many[] = {LIT("too many tools"), LIT("too many function")};
    if (f->kind != DARUMA_INVALID_TOOL_SCHEMA)
        return false;
    for (size_t i = 0; i < COUNT(many); i++)
        if (str_ifind(f->message, many[i]) != STR_NONE)
            return true;
    return str_eq(f->subject, S("tools")) && str_ifind(f->message, S("array too long")) != STR_NONE;
}

/* What stands behind "Try again in a minute", as a sentence of its own. */
static daruma_str step_alone(const char *step)
{
    static const daruma_str joints[] = {LIT(", or "), LIT("; if it lasts, "), LIT(", ")};
    for (size_t i = 0; i < COUNT(joints); i++)
        if (str_starts(str_of(step), joints[i]))
            return str_from(str_of(step), joints[i].n);
    return str_of(step);
}

static void put_step(daruma_buf *out, const daruma_failure *f)
{
    if (f->kind == DARUMA_UNKNOWN && f->status >= 300 && f->status < 400) {
        BUF_LIT(out, " Check the provider's address in the configuration: it says that it has moved.");
        return;
    }
    if (refused_here(f))
        return;
    if (names_nothing(f)) {
        BUF_LIT(
            out,
            " Look what the provider's documentation says of such a request: it did not say what is wrong with it.");
        return;
    }
    if (f->ours && f->kind == DARUMA_MODEL_NOT_FOUND) {
        BUF_LIT(out, " Add a provider for it to the configuration, or ask for another model.");
        return;
    }
    if (lacks_endpoints(f)) {
        BUF_LIT(out, " Ask for a model that can do it, or let the provider route to more endpoints in its settings.");
        return;
    }
    if (f->lacks) {
        BUF_LIT(out, " Ask for a model that can do it, or add one to the configuration.");
        return;
    }
    if (too_many_tools(f)) {
        BUF_LIT(out, " Offer the model fewer tools, or add a model that takes more to the configuration.");
        return;
    }
    if (f->kind == DARUMA_RATE_LIMIT && !f->retryable && f->limit > 0 && f->requested > f->limit) {
        BUF_LIT(out,
                " Waiting will not help: shorten the conversation, ask for a shorter answer, or use an account or a "
                "model that may use more tokens at once.");
        return;
    }
    if (kind_rows[f->kind].waits && f->retryable) {
        BUF_LIT(out, " Try again in about ");
        if (f->wait > 0)
            buf_duration(out, f->wait);
        else
            BUF_LIT(out, "a minute");
        buf_putz(out, waiting_step(f));
    } else if (kind_rows[f->kind].waits) {
        BUF_SAY(out, " Trying again will not help by itself: ", step_alone(waiting_step(f)));
    } else {
        const char *step = own(f)->step;
        BUF_SAY(out, " ", step ? step : kind_rows[f->kind].advice);
        if (f->wait > 0) {
            BUF_LIT(out, "; the provider says that it passes in about ");
            buf_duration(out, f->wait);
        }
    }
    BUF_LIT(out, ".");
}

/* ---- in a profile's own words ---- */

static daruma_str advice_for(const daruma_policy *p, daruma_kind k)
{
    for (size_t i = 0; i < p->nadvice; i++)
        if (p->advice[i].kind < 0 || p->advice[i].kind == (int)k)
            return str_of(p->advice[i].text);
    return (daruma_str){0};
}

/* A class without the modules that it stands in: "RubyLLM::Error" is "Error". */
static daruma_str bare_class(const char *label)
{
    daruma_str s = str_of(label ? label : "");
    for (size_t i = s.n; i-- > 0;)
        if (s.p[i] == ':')
            return str_from(s, i + 1);
    return s;
}

/* Writes what a {word} stands for; false when that is not known. */
static bool put_word(daruma_buf *out, daruma_str word, const daruma_failure *f, const daruma_policy *p)
{
    size_t before = out->n;
    if (str_eq(word, S("message")))
        put_clean(out, f->message, FAILURE_TEXT_BYTES_MAX);
    else if (str_eq(word, S("label")))
        buf_put(out, bare_class(f->label));
    else if (str_eq(word, S("type")))
        buf_putz(out, f->type ? f->type : "");
    else if (str_eq(word, S("kind")))
        buf_putz(out, daruma_kind_name(f->kind));
    else if (str_eq(word, S("advice")))
        buf_put(out, advice_for(p, f->kind));
    else if (str_eq(word, S("status")) && f->status > 0)
        buf_int(out, f->status);
    return out->n > before;
}

/* A line of the text; nothing of it when a word in it is not known. */
static bool put_line(daruma_buf *out, daruma_str line, const daruma_failure *f, const daruma_policy *p)
{
    size_t begun = out->n;
    while (line.n) {
        daruma_str plain = str_cut(&line, '{');
        buf_put(out, plain);
        if (plain.p + plain.n == line.p + line.n) /* no brace: that was all */
            break;
        if (!put_word(out, str_cut(&line, '}'), f, p)) {
            out->n = begun;
            return false;
        }
    }
    return true;
}

static void put_text(daruma_buf *out, const daruma_failure *f, const daruma_policy *p)
{
    daruma_str rest = str_of(p->text);
    size_t begun = out->n;
    for (bool first = true; rest.n; first = false) {
        size_t before = out->n;
        if (!first && before > begun)
            BUF_LIT(out, "\n");
        if (!put_line(out, str_cut(&rest, '\n'), f, p))
            out->n = before;
    }
}

void daruma_explain(const daruma_failure *f, const daruma_case *c, daruma_buf *out)
{
    size_t begun = out->n;
    if (c && c->policy && c->policy->text)
        put_text(out, f, c->policy);
    if (out->n > begun) /* else the provider said nothing that its text could hold */
        return;
    put_what(out, f, c);
    put_details(out, f);
    BUF_LIT(out, ".");
    put_quote(out, f);
    if (c)
        put_tried(out, f, c);
    if (c && c->done_once)
        BUF_LIT(out,
                " A tool that runs at the provider, or a call in the background, may have been carried out: look what "
                "it did before you send this again.");
    else
        put_step(out, f);
}

/* Did the same happen at another key of the same target? */
static bool tried_alike(const daruma_tried *a, const daruma_tried *b)
{
    return a->kind == b->kind && a->status == b->status && a->net == b->net &&
           str_eq(a->target->provider, b->target->provider) && str_eq(a->target->model, b->target->model);
}

static void put_tried_one(daruma_buf *out, const daruma_tried *t, int keys)
{
    put_clean(out, t->target->provider, NAME_BYTES_MAX);
    if (t->target->model.n) {
        BUF_LIT(out, "/");
        put_clean(out, t->target->model, NAME_BYTES_MAX);
    }
    BUF_SAY(out, " ", daruma_kind_name(t->kind));
    if (t->status > 0)
        buf_printf(out, " (HTTP %d)", t->status);
    else if (t->net != DARUMA_NET_NONE)
        buf_printf(out, " (%s)", daruma_net_words(t->net));
    if (keys > 1)
        buf_printf(out, " with each of %d keys", keys);
    if (t->wait > 0) {
        BUF_LIT(out, ", wait ");
        buf_duration(out, t->wait);
    }
}

void daruma_tried_say(const daruma_tried *t, size_t n, daruma_buf *out)
{
    size_t groups = 0;
    for (size_t pass = 0; pass < 2; pass++) { /* counts them, then says them */
        size_t told = 0;
        for (size_t i = 0; i < n; i++) {
            int keys = 0;
            bool before = false;
            for (size_t k = 0; k < n; k++) {
                keys += tried_alike(&t[i], &t[k]);
                before |= k < i && tried_alike(&t[i], &t[k]);
            }
            if (before)
                continue;
            if (pass && told < TRIED_SAID_MAX) {
                buf_putz(out, told ? "; " : " What failed where: ");
                put_tried_one(out, &t[i], keys);
            }
            told++;
        }
        groups = told;
        if (groups < 2) /* the explanation is about it */
            return;
    }
    if (groups > TRIED_SAID_MAX)
        buf_printf(out, "; and %zu more", groups - TRIED_SAID_MAX);
    BUF_LIT(out, ".");
}
