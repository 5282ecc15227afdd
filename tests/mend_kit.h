/* mend_kit.h - random histories on every wire, with flaws and without, and a checker that shares nothing with the code
 * that mends them: it reads the written JSON. */
#ifndef MEND_KIT_H
#define MEND_KIT_H
#include "base/buf.h"
#include "base/json.h"
#include "dialect/dialect.h"
#include "dialect/shapes.h"

typedef enum kit_wire { KIT_CHAT, KIT_ANTHROPIC, KIT_RESPONSES, KIT_GEMINI, KIT_WIRES } kit_wire;
static const char *const kit_names[KIT_WIRES] = {"openai", "anthropic", "openai-responses", "gemini"};

enum { KIT_EVENTS = 96, KIT_CALLS = 4 };

typedef enum kit_kind { KIT_USER, KIT_MODEL, KIT_RESULT } kit_kind;

/* One thing that happened, whatever the wire. */
typedef struct kit_event {
    kit_kind kind;
    int number;        /* of the text or of the call */
    int size;          /* bytes of filling in its text */
    bool empty, image; /* USER, RESULT; MODEL: no text */
    int thinking;      /* MODEL: 0 none, 1 unsigned, 2 signed */
    int calls[KIT_CALLS];
    int ncalls;
    bool orphan, doubled; /* RESULT */
} kit_event;

typedef struct kit_history {
    kit_event e[KIT_EVENTS];
    int n, calls;
    bool flawed; /* in its pairs */
    bool system;
    bool any_empty;
} kit_history;

/* ---- chance ---- */

typedef struct kit_dice {
    uint64_t s;
} kit_dice;

static inline uint32_t kit_roll(kit_dice *d, uint32_t of) /* splitmix64 */
{
    uint64_t z = (d->s += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ (z >> 31)) % of);
}

static inline bool kit_one_in(kit_dice *d, uint32_t n)
{
    return n && kit_roll(d, n) == 0;
}

/* ---- making one ---- */

static inline kit_event *kit_add(kit_history *h, kit_kind kind)
{
    kit_event *e = &h->e[h->n < KIT_EVENTS ? h->n++ : KIT_EVENTS - 1];
    *e = (kit_event){.kind = kind, .number = h->n};
    return e;
}

/* The results of one answer: all, some, twice, in another order, some later (in `late`). */
static inline void kit_results(kit_history *h, const kit_event *model, kit_dice *d, uint32_t flaws, int *late,
                               int *nlate)
{
    int order[KIT_CALLS];
    for (int i = 0; i < model->ncalls; i++)
        order[i] = model->calls[i];
    if (kit_one_in(d, flaws) && model->ncalls > 1) {
        int t = order[0];
        order[0] = order[model->ncalls - 1];
        order[model->ncalls - 1] = t;
        h->flawed = true;
    }
    for (int i = 0; i < model->ncalls; i++) {
        if (kit_one_in(d, flaws)) {
            h->flawed = true;
            if (*nlate < 8 && kit_one_in(d, 2))
                late[(*nlate)++] = order[i];
            continue;
        }
        kit_event *e = kit_add(h, KIT_RESULT);
        e->number = order[i];
        e->size = kit_one_in(d, 30) ? 1500 + (int)kit_roll(d, 3000) : (int)kit_roll(d, 40);
        e->image = kit_one_in(d, 16);
        if (kit_one_in(d, flaws)) {
            h->flawed = true;
            kit_event *again = kit_add(h, KIT_RESULT);
            again->number = order[i];
            again->doubled = true;
        }
    }
}

/* `flaws`: one in so many; 0 none. */
static inline void kit_make(kit_history *h, kit_dice *d, uint32_t flaws)
{
    int late[8], nlate = 0, turns = 1 + (int)kit_roll(d, 4), room = 3 + (int)kit_roll(d, 11);
    *h = (kit_history){.system = kit_one_in(d, 2)};
    for (int t = 0; t < turns && h->n < room; t++) {
        kit_event *u = kit_add(h, KIT_USER);
        u->size = (int)kit_roll(d, 60);
        u->image = kit_one_in(d, 8);
        u->empty = flaws && kit_one_in(d, 24) && t > 0;
        h->any_empty |= u->empty;
        for (int steps = (int)kit_roll(d, 4); steps >= 0; steps--) {
            kit_event *m = kit_add(h, KIT_MODEL);
            m->thinking = (int)kit_roll(d, 4) % 3;
            m->empty = kit_one_in(d, 3);
            m->ncalls = steps ? 1 + (int)kit_roll(d, KIT_CALLS) : 0;
            m->empty &= m->ncalls > 0 || (flaws && kit_one_in(d, 4));
            h->any_empty |= m->empty && !m->ncalls;
            for (int i = 0; i < m->ncalls; i++)
                m->calls[i] = ++h->calls;
            kit_event copy = *m;
            kit_results(h, &copy, d, flaws, late, &nlate);
            if (flaws && kit_one_in(d, flaws * 2)) {
                kit_event *o = kit_add(h, KIT_RESULT);
                o->number = 1000 + h->n;
                o->orphan = h->flawed = true;
                o->empty = kit_one_in(d, 3);
            }
            if (nlate && kit_one_in(d, 2))
                kit_add(h, KIT_RESULT)->number = late[--nlate];
        }
    }
    while (nlate)
        kit_add(h, KIT_RESULT)->number = late[--nlate];
    if (!flaws || !kit_one_in(d, 4)) { /* the request is the user's turn */
        kit_add(h, KIT_USER)->size = 10;
    }
}

/* ---- writing it on a wire ---- */

static inline void kit_filling(daruma_buf *b, int size, int number)
{
    static const char *const words[] = {"lorem ", "\xe4\xbd\xa0\xe5\xa5\xbd ", "/src/file.c:12 ", "\\\"q\\\" ", "\\n"};
    for (int n = 0, i = number; n < size; i++) {
        const char *w = words[(unsigned)i % 5];
        buf_putz(b, w);
        n += (int)strlen(w);
    }
}

static inline void kit_text(daruma_buf *b, const kit_event *e, const char *letter)
{
    if (e->empty) {
        BUF_LIT(b, "\"\"");
        return;
    }
    buf_printf(b, "\"%s%d. ", letter, e->number);
    kit_filling(b, e->size, e->number);
    buf_putc(b, '"');
}

/* What each wire does with one event. `at`: message the wire is in: 0 none, else the kind + 1. */
typedef struct kit_writer {
    daruma_buf *b;
    kit_wire w;
    kit_dice *d;
    int at;    /* open message: 0 none, 'u' user, 'm' model */
    bool some; /* something stands before, at this level */
} kit_writer;

static inline void kit_comma(kit_writer *k)
{
    if (k->some)
        buf_putc(k->b, ',');
    k->some = true;
}

static inline void kit_close(kit_writer *k)
{
    if (k->at)
        BUF_LIT(k->b, "]}");
    k->at = 0;
    k->some = true;
}

static inline void kit_open_message(kit_writer *k, int at)
{
    if (k->at == at)
        return;
    kit_close(k);
    if (k->b->p[k->b->n - 1] == '}')
        buf_putc(k->b, ',');
    const char *role = at == 'u' ? "user" : k->w == KIT_GEMINI ? "model" : "assistant";
    buf_printf(k->b, "{\"role\":\"%s\",\"%s\":[", role, k->w == KIT_GEMINI ? "parts" : "content");
    k->at = at;
    k->some = false;
}

static inline void kit_image(kit_writer *k)
{
    static const char *const shapes[KIT_WIRES] = {
        "{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,%s\"}}",
        "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"%s\"}}",
        "{\"type\":\"input_image\",\"image_url\":\"data:image/png;base64,%s\"}",
        "{\"inlineData\":{\"mimeType\":\"image/png\",\"data\":\"%s\"}}",
    };
    static const char data[] =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    char out[1024];
    snprintf(out, sizeof out, shapes[k->w], data);
    kit_comma(k);
    buf_putz(k->b, out);
}

static inline void kit_user(kit_writer *k, const kit_event *e)
{
    static const char *const types[KIT_WIRES] = {"text", "text", "input_text", NULL};
    if (k->w == KIT_GEMINI || k->w == KIT_ANTHROPIC) {
        if (k->w == KIT_ANTHROPIC && kit_one_in(k->d, 2))
            kit_close(k);
        kit_open_message(k, 'u');
    } else {
        kit_comma(k);
        BUF_LIT(k->b, "{\"role\":\"user\",\"content\":");
        if (!e->image && kit_one_in(k->d, 2)) {
            kit_text(k->b, e, "U");
            BUF_LIT(k->b, "}");
            return;
        }
        BUF_LIT(k->b, "[");
        k->some = false;
    }
    kit_comma(k);
    if (types[k->w])
        buf_printf(k->b, "{\"type\":\"%s\",\"text\":", types[k->w]);
    else
        BUF_LIT(k->b, "{\"text\":");
    kit_text(k->b, e, "U");
    BUF_LIT(k->b, "}");
    if (e->image)
        kit_image(k);
    if (k->w == KIT_CHAT || k->w == KIT_RESPONSES) {
        BUF_LIT(k->b, "]}");
        k->some = true;
    }
}

static inline void kit_call(kit_writer *k, int number, int i)
{
    static const char *const shapes[KIT_WIRES] = {
        "{\"id\":\"c%d\",\"type\":\"function\",\"function\":{\"name\":\"tool_%d\",\"arguments\":\"{\\\"n\\\": %d}\"}}",
        "{\"type\":\"tool_use\",\"id\":\"c%d\",\"name\":\"tool_%d\",\"input\":{\"n\": %d}}",
        "{\"type\":\"function_call\",\"call_id\":\"c%d\",\"name\":\"tool_%d\",\"arguments\":\"{\\\"n\\\": %d}\"}",
        "{\"functionCall\":{\"id\":\"c%d\",\"name\":\"tool_%d\",\"args\":{\"n\": %d}}}",
    };
    (void)i;
    kit_comma(k);
    char out[256];
    snprintf(out, sizeof out, shapes[k->w], number, number % 7, number);
    if (k->w == KIT_GEMINI) /* most of its calls have no ids */
        snprintf(out, sizeof out, "{\"functionCall\":{\"name\":\"tool_%d\",\"args\":{\"n\": %d}}}", number % 7, number);
    buf_putz(k->b, out);
}

static inline void kit_model(kit_writer *k, const kit_event *e)
{
    switch (k->w) {
    case KIT_CHAT:
        kit_comma(k);
        BUF_LIT(k->b, "{\"role\":\"assistant\",\"content\":");
        if (e->empty && e->ncalls)
            BUF_LIT(k->b, "null");
        else
            kit_text(k->b, e, "M");
        if (e->ncalls) {
            BUF_LIT(k->b, ",\"tool_calls\":[");
            k->some = false;
            for (int i = 0; i < e->ncalls; i++)
                kit_call(k, e->calls[i], i);
            BUF_LIT(k->b, "]");
            k->some = true;
        }
        BUF_LIT(k->b, "}");
        return;
    case KIT_ANTHROPIC:
        if (kit_one_in(k->d, 2) || e->thinking)
            kit_close(k); /* each answer a message of its own, as clients keep them */
        kit_open_message(k, 'm');
        if (e->thinking == 2) {
            kit_comma(k);
            buf_printf(k->b, "{\"type\":\"thinking\",\"thinking\":\"T%d\",\"signature\":\"c2ln%d\"}", e->number,
                       e->number);
        }
        if (!e->empty || !e->ncalls) {
            kit_comma(k);
            BUF_LIT(k->b, "{\"type\":\"text\",\"text\":");
            kit_text(k->b, e, "M");
            BUF_LIT(k->b, "}");
        }
        for (int i = 0; i < e->ncalls; i++)
            kit_call(k, e->calls[i], i);
        kit_close(k);
        return;
    case KIT_RESPONSES:
        if (e->thinking == 2) {
            kit_comma(k);
            buf_printf(k->b,
                       "{\"type\":\"reasoning\",\"id\":\"rs_%d\",\"summary\":[],\"encrypted_content\":\"ZW5j%d\"}",
                       e->number, e->number);
        }
        if (!e->empty || !e->ncalls) {
            kit_comma(k);
            BUF_LIT(k->b,
                    "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":");
            kit_text(k->b, e, "M");
            BUF_LIT(k->b, "}]}");
        }
        for (int i = 0; i < e->ncalls; i++)
            kit_call(k, e->calls[i], i);
        return;
    case KIT_GEMINI:
        kit_close(k);
        kit_open_message(k, 'm');
        if (!e->empty || !e->ncalls) {
            kit_comma(k);
            BUF_LIT(k->b, "{\"text\":");
            kit_text(k->b, e, "M");
            BUF_LIT(k->b, "}");
        }
        for (int i = 0; i < e->ncalls; i++)
            kit_call(k, e->calls[i], i);
        kit_close(k);
        return;
    case KIT_WIRES:
        return;
    }
}

static inline void kit_result(kit_writer *k, const kit_event *e)
{
    const char *letter = e->doubled ? "D" : e->orphan ? "O" : "R";
    if (k->w == KIT_GEMINI || k->w == KIT_ANTHROPIC) {
        if (k->w == KIT_ANTHROPIC && e->orphan && kit_one_in(k->d, 3))
            kit_close(k);
        kit_open_message(k, 'u');
    }
    kit_comma(k);
    switch (k->w) {
    case KIT_CHAT:
        buf_printf(k->b, "{\"role\":\"tool\",\"tool_call_id\":\"c%d\",\"content\":", e->number);
        kit_text(k->b, e, letter);
        BUF_LIT(k->b, "}");
        return;
    case KIT_ANTHROPIC:
        buf_printf(k->b, "{\"type\":\"tool_result\",\"tool_use_id\":\"c%d\",\"content\":", e->number);
        if (e->image) {
            BUF_LIT(k->b, "[{\"type\":\"text\",\"text\":");
            kit_text(k->b, e, letter);
            BUF_LIT(k->b, "}");
            kit_image(k);
            BUF_LIT(k->b, "]}");
            return;
        }
        kit_text(k->b, e, letter);
        BUF_LIT(k->b, "}");
        return;
    case KIT_RESPONSES:
        buf_printf(k->b, "{\"type\":\"function_call_output\",\"call_id\":\"c%d\",\"output\":", e->number);
        kit_text(k->b, e, letter);
        BUF_LIT(k->b, "}");
        return;
    case KIT_GEMINI:
        buf_printf(k->b, "{\"functionResponse\":{\"name\":\"tool_%d\",\"response\":{\"result\":",
                   e->orphan ? 9 : e->number % 7); /* nobody called 9 */
        kit_text(k->b, e, letter);
        BUF_LIT(k->b, "}}}");
        return;
    case KIT_WIRES:
        return;
    }
}

static inline void kit_body(const kit_history *h, kit_wire w, kit_dice *d, daruma_buf *b)
{
    kit_writer k = {.b = b, .w = w, .d = d};
    static const char *const heads[KIT_WIRES] = {"{\"model\":\"m\",\"messages\":[",
                                                 "{\"model\":\"m\",\"max_tokens\":100,\"messages\":[",
                                                 "{\"model\":\"m\",\"input\":[", "{\"contents\":["};
    buf_putz(b, heads[w]);
    if (h->system && w == KIT_CHAT) {
        BUF_LIT(b, "{\"role\":\"system\",\"content\":\"Be kind.\"}");
        k.some = true;
    }
    for (int i = 0; i < h->n; i++)
        switch (h->e[i].kind) {
        case KIT_USER:
            kit_user(&k, &h->e[i]);
            break;
        case KIT_MODEL:
            kit_model(&k, &h->e[i]);
            break;
        case KIT_RESULT:
            kit_result(&k, &h->e[i]);
            break;
        }
    kit_close(&k);
    BUF_LIT(b, "]");
    if (h->system && w == KIT_ANTHROPIC)
        BUF_LIT(b, ",\"system\":\"Be kind.\"");
    if (h->system && w == KIT_RESPONSES)
        BUF_LIT(b, ",\"instructions\":\"Be kind.\"");
    if (h->system && w == KIT_GEMINI)
        BUF_LIT(b, ",\"systemInstruction\":{\"parts\":[{\"text\":\"Be kind.\"}]}");
    BUF_LIT(b, ",\"temperature\":0.5}");
}

/* ---- is every call answered, once, where its provider wants it? Empty: yes ---- */

typedef struct kit_ids {
    daruma_str id[64];
    size_t n;
} kit_ids;

static inline json_iter kit_walk(daruma_str v) /* of what was checked before */
{
    json_iter it = json_open(v);
    it.quick = true;
    return it;
}

static inline daruma_str kit_get(daruma_str v, daruma_str name)
{
    daruma_str key, value;
    if (json_is_object(v))
        for (json_iter it = kit_walk(v); json_next(&it, &key, &value);)
            if (str_eq(key, name))
                return value;
    return (daruma_str){0};
}

static inline daruma_str kit_field(daruma_str v, const char *path)
{
    daruma_str s = v, rest = str_of(path);
    while (rest.n)
        s = kit_get(s, str_cut(&rest, '.'));
    return json_is_string(s) ? str_sub(s, 1, s.n - 2) : s;
}

static inline bool kit_type(daruma_str v, const char *type)
{
    return str_eq(kit_field(v, "type"), str_of(type));
}

static inline const char *kit_check_chat(daruma_str list)
{
    kit_ids open = {0};
    daruma_str m, call;
    size_t got = 0;
    for (json_iter it = kit_walk(list); json_next(&it, NULL, &m);) {
        if (str_eq(kit_field(m, "role"), S("tool"))) {
            if (got == open.n)
                return "a tool message without call";
            if (!str_eq(kit_field(m, "tool_call_id"), open.id[got++]))
                return "tool messages in another order than their calls";
            continue;
        }
        if (got != open.n)
            return "a call without tool message";
        open.n = got = 0;
        json_iter in = kit_walk(kit_get(m, S("tool_calls")));
        while (in.p && json_next(&in, NULL, &call) && open.n < 64)
            open.id[open.n++] = kit_field(call, "id");
    }
    return got == open.n ? NULL : "calls at the end without tool messages";
}

static inline const char *kit_check_parts(daruma_str list, bool gemini)
{
    kit_ids open = {0};
    daruma_str m, p;
    for (json_iter it = kit_walk(list); json_next(&it, NULL, &m);) {
        kit_ids mine = {0};
        size_t got = 0;
        bool model = !str_eq(kit_field(m, "role"), S("user")) && !str_eq(kit_field(m, "role"), S("function"));
        bool other = false;
        json_iter in = kit_walk(kit_get(m, gemini ? S("parts") : S("content")));
        while (json_next(&in, NULL, &p)) {
            bool call = gemini ? kit_get(p, S("functionCall")).n > 0 : kit_type(p, "tool_use");
            bool result = gemini ? kit_get(p, S("functionResponse")).n > 0 : kit_type(p, "tool_result");
            if (call && mine.n < 64)
                mine.id[mine.n++] = kit_field(p, gemini ? "functionCall.name" : "id");
            if (result && (model || other))
                return "a result behind something else";
            daruma_str id = kit_field(p, gemini ? "functionResponse.name" : "tool_use_id");
            if (result && (got == open.n || !str_eq(open.id[got++], id)))
                return "a result that is not that of the call in its place";
            other |= !result;
        }
        if (got != open.n)
            return "a call without result in the next message";
        open = mine;
    }
    return open.n ? "calls at the end without results" : NULL;
}

static inline const char *kit_check_items(daruma_str list)
{
    kit_ids calls = {0};
    bool answered[64] = {0};
    daruma_str m;
    for (json_iter it = kit_walk(list); json_next(&it, NULL, &m);) {
        daruma_str id = kit_field(m, "call_id");
        if (kit_type(m, "function_call") && calls.n < 64)
            calls.id[calls.n++] = id;
        if (!kit_type(m, "function_call_output"))
            continue;
        size_t i = calls.n;
        while (i > 0 && !str_eq(calls.id[i - 1], id))
            i--;
        if (i == 0)
            return "an output before or without its call";
        if (answered[i - 1])
            return "a second output";
        answered[i - 1] = true;
    }
    for (size_t i = 0; i < calls.n; i++)
        if (!answered[i])
            return "a call without output";
    return NULL;
}

static inline const char *kit_check(kit_wire w, daruma_str body)
{
    static const char *const lists[KIT_WIRES] = {"messages", "messages", "input", "contents"};
    daruma_str list = kit_get(body, str_of(lists[w]));
    if (!json_valid(body) || !json_is_array(list))
        return "no JSON, or no list";
    switch (w) {
    case KIT_CHAT:
        return kit_check_chat(list);
    case KIT_ANTHROPIC:
        return kit_check_parts(list, false);
    case KIT_GEMINI:
        return kit_check_parts(list, true);
    case KIT_RESPONSES:
        return kit_check_items(list);
    case KIT_WIRES:
        break;
    }
    return NULL;
}
#endif
