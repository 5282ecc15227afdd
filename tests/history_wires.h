/* history_wires.h - a history of history_kit.h as a request on one of the four wires. */
#ifndef HISTORY_WIRES_H
#define HISTORY_WIRES_H
#include "history_kit.h"

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
    const kit_history *h;
    int at;    /* open message: 0 none, 'u' user, 'm' model */
    bool some; /* something stands before, at this level */
    int marks; /* for the cache: at most four are taken */
} kit_writer;

static inline void kit_comma(kit_writer *k)
{
    if (k->some)
        buf_putz(k->b, k->h->spaced ? " ,\n  " : ",");
    k->some = true;
}

/* The id of a call: rich ones have those of many clients. */
static inline const char *kit_id(const kit_writer *k, int number)
{
    static char out[80];
    static const char *const looks[] = {"c%d",      "toolu_01Ab%d", "call_%d|fc_%d", "functions.f:%d",
                                        "call_%d-", "call_%030d",   "c\xc3\xa9 %d"};
    unsigned look = ((unsigned)number * 7u + k->h->ids) % 11;
    if (k->h->rich && look == 10 && number < 900 && (k->w == KIT_CHAT || k->w == KIT_ANTHROPIC))
        snprintf(out, sizeof out, "call_%d", number % 9); /* used again in later turns */
    else
        snprintf(out, sizeof out, looks[k->h->rich && look < 7 ? look : 0], number, number);
    return out;
}

static inline daruma_str kit_sign(const kit_writer *k, const char *text)
{
    return k->h->sign ? k->h->sign(str_of(text), k->h->arena) : S("c2ln");
}

static inline void kit_mark(kit_writer *k) /* inside a block, behind a member */
{
    if (k->h->marked && k->marks < 4 && kit_one_in(k->d, 4) && ++k->marks)
        BUF_LIT(k->b, ",\"cache_control\":{\"type\":\"ephemeral\"}");
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

static inline void kit_file(kit_writer *k)
{
    static const char *const shapes[KIT_WIRES] = {
        "{\"type\":\"file\",\"file\":{\"file_id\":\"file-1\"}}",
        "{\"type\":\"document\",\"source\":{\"type\":\"file\",\"file_id\":\"file_1\"}}",
        "{\"type\":\"input_file\",\"file_id\":\"file-1\"}",
        "{\"fileData\":{\"fileUri\":\"https://generativelanguage.googleapis.com/v1beta/files/abc\"}}",
    };
    kit_comma(k);
    buf_putz(k->b, shapes[k->w]);
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
        if (!e->image && !e->remote && kit_one_in(k->d, 2)) {
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
    if (k->w == KIT_ANTHROPIC)
        kit_mark(k);
    BUF_LIT(k->b, "}");
    if (e->image)
        kit_image(k);
    if (e->remote)
        kit_file(k);
    if (k->w == KIT_CHAT || k->w == KIT_RESPONSES) {
        BUF_LIT(k->b, "]}");
        k->some = true;
    }
}

/* Responses: is this item of the model on the server? Then a reference stands in its place: "fc_7". */
static inline bool kit_refers(kit_writer *k, const char *to, int number)
{
    if (!k->h->referred || k->w != KIT_RESPONSES || ((unsigned)number * 7u + k->h->ids + (unsigned)*to) % 3)
        return false;
    kit_comma(k);
    buf_printf(k->b, "{\"type\":\"item_reference\",\"id\":\"%s_%d\"}", to, number);
    return true;
}

static inline void kit_call(kit_writer *k, int number, bool seal)
{
    const char *id = kit_id(k, number);
    char name[16];
    if (kit_refers(k, "fc", number))
        return;
    kit_comma(k);
    snprintf(name, sizeof name, "tool_%d", number % 7);
    switch (k->w) {
    case KIT_CHAT:
        buf_printf(k->b,
                   "{\"id\":\"%s\",\"type\":\"function\",\"function\":{\"name\":\"%s\",\"arguments\":\"{\\\"n\\\": "
                   "%d}\"}}",
                   id, name, number);
        return;
    case KIT_ANTHROPIC:
        buf_printf(k->b, "{\"type\":\"tool_use\",\"id\":\"%s\",\"name\":\"%s\",\"input\":{\"n\": %d}", id, name,
                   number);
        kit_mark(k);
        BUF_LIT(k->b, "}");
        return;
    case KIT_RESPONSES:
        buf_printf(k->b,
                   "{\"type\":\"function_call\",\"call_id\":\"%s\",\"name\":\"%s\",\"arguments\":\"{\\\"n\\\": %d}\"}",
                   id, name, number);
        return;
    case KIT_GEMINI: /* most of its calls have no ids */
        BUF_LIT(k->b, "{\"functionCall\":{");
        if (k->h->ids % 3 == 1)
            buf_printf(k->b, "\"id\":\"%s\",", id);
        buf_printf(k->b, "\"name\":\"%s\",\"args\":{\"n\": %d}}", name, number);
        if (seal)
            buf_printf(k->b, ",\"thoughtSignature\":\"" STR_FMT "\"", STR_ARG(kit_sign(k, name)));
        BUF_LIT(k->b, "}");
        return;
    case KIT_WIRES:
        return;
    }
}

static inline void kit_thinking(kit_writer *k, const kit_event *e)
{
    char text[16];
    snprintf(text, sizeof text, "T%d", e->number);
    daruma_str seal = kit_sign(k, text);
    if (e->thinking < 2 || kit_refers(k, "rs", e->number))
        return;
    kit_comma(k);
    if (k->w == KIT_RESPONSES)
        buf_printf(k->b,
                   "{\"type\":\"reasoning\",\"id\":\"rs_%d\",\"summary\":[{\"type\":\"summary_text\",\"text\":\"%s\"}],"
                   "\"encrypted_content\":\"" STR_FMT "\"}",
                   e->number, text, STR_ARG(seal));
    else if (e->thinking == 3)
        buf_printf(k->b, "{\"type\":\"redacted_thinking\",\"data\":\"ZGF0%d\"}", e->number);
    else
        buf_printf(k->b, "{\"type\":\"thinking\",\"thinking\":\"%s\",\"signature\":\"" STR_FMT "\"}", text,
                   STR_ARG(seal));
}

/* Responses: the words of the model. */
static inline void kit_words(kit_writer *k, const kit_event *e)
{
    if (kit_refers(k, "msg", e->number))
        return;
    kit_comma(k);
    BUF_LIT(k->b, "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":");
    kit_text(k->b, e, "M");
    BUF_LIT(k->b, "}]}");
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
        if (k->h->thinks && e->thinking)
            buf_printf(k->b, ",\"reasoning_content\":\"T%d\"", e->number);
        if (e->ncalls) {
            BUF_LIT(k->b, ",\"tool_calls\":[");
            k->some = false;
            for (int i = 0; i < e->ncalls; i++)
                kit_call(k, e->calls[i], k->h->thinks && i == 0);
            BUF_LIT(k->b, "]");
            k->some = true;
        }
        BUF_LIT(k->b, "}");
        return;
    case KIT_ANTHROPIC:
        if (kit_one_in(k->d, 2) || e->thinking)
            kit_close(k); /* each answer a message of its own, as clients keep them */
        kit_open_message(k, 'm');
        kit_thinking(k, e);
        if (!e->empty || !e->ncalls) {
            kit_comma(k);
            BUF_LIT(k->b, "{\"type\":\"text\",\"text\":");
            kit_text(k->b, e, "M");
            BUF_LIT(k->b, "}");
        }
        for (int i = 0; i < e->ncalls; i++)
            kit_call(k, e->calls[i], k->h->thinks && i == 0);
        kit_close(k);
        return;
    case KIT_RESPONSES:
        kit_thinking(k, e);
        if (!e->empty || !e->ncalls)
            kit_words(k, e);
        for (int i = 0; i < e->ncalls; i++)
            kit_call(k, e->calls[i], k->h->thinks && i == 0);
        return;
    case KIT_GEMINI:
        kit_close(k);
        kit_open_message(k, 'm');
        if (!e->empty || !e->ncalls) {
            kit_comma(k);
            if (k->h->thinks && e->thinking && kit_one_in(k->d, 2)) {
                buf_printf(k->b, "{\"text\":\"T%d\",\"thought\":true}", e->number);
                kit_comma(k);
            }
            BUF_LIT(k->b, "{\"text\":");
            kit_text(k->b, e, "M");
            BUF_LIT(k->b, "}");
        }
        for (int i = 0; i < e->ncalls; i++)
            kit_call(k, e->calls[i], k->h->thinks && i == 0);
        kit_close(k);
        return;
    case KIT_WIRES:
        return;
    }
}

/* The content of a result: a text, or a list of them, perhaps with an image. */
static inline void kit_content(kit_writer *k, const kit_event *e, const char *letter, const char *type, bool media)
{
    bool image = e->image && media, list = image || (k->h->rich && e->form == 1);
    if (list)
        buf_printf(k->b, "[{\"type\":\"%s\",\"text\":", type);
    kit_text(k->b, e, letter);
    if (list && e->form == 1)
        buf_printf(k->b, "},{\"type\":\"%s\",\"text\":\"and more\"", type);
    if (list)
        BUF_LIT(k->b, "}");
    if (image)
        kit_image(k);
    if (list)
        BUF_LIT(k->b, "]");
    k->some = true;
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
    const char *id = kit_id(k, e->number);
    switch (k->w) {
    case KIT_CHAT:
        buf_printf(k->b, "{\"role\":\"tool\",\"tool_call_id\":\"%s\",\"content\":", id);
        kit_content(k, e, letter, "text", false);
        BUF_LIT(k->b, "}");
        return;
    case KIT_ANTHROPIC:
        buf_printf(k->b, "{\"type\":\"tool_result\",\"tool_use_id\":\"%s\",", id);
        if (e->failed)
            BUF_LIT(k->b, "\"is_error\":true,");
        BUF_LIT(k->b, "\"content\":");
        kit_content(k, e, letter, "text", true);
        kit_mark(k);
        BUF_LIT(k->b, "}");
        return;
    case KIT_RESPONSES:
        buf_printf(k->b, "{\"type\":\"function_call_output\",\"call_id\":\"%s\",\"output\":", id);
        kit_content(k, e, letter, "input_text", k->h->rich);
        BUF_LIT(k->b, "}");
        return;
    case KIT_GEMINI:
        BUF_LIT(k->b, "{\"functionResponse\":{");
        if (k->h->ids % 3 == 1)
            buf_printf(k->b, "\"id\":\"%s\",", id);
        buf_printf(k->b,
                   "\"name\":\"tool_%d\",\"response\":{\"%s\":", e->orphan ? 9 : e->number % 7, /* nobody called 9 */
                   e->failed      ? "error"
                   : e->form == 1 ? "output"
                                  : "result");
        if (e->form == 2)
            BUF_LIT(k->b, "{\"n\":1,\"lines\":[");
        kit_text(k->b, e, letter);
        buf_putz(k->b, e->form == 2 ? "]}}}}" : "}}}");
        return;
    case KIT_WIRES:
        return;
    }
}

/* What stands before the list of messages, and behind it. */
static inline void kit_head(const kit_history *h, kit_wire w, daruma_buf *b)
{
    static const char *const heads[KIT_WIRES] = {"{\"model\":\"m\",", "{\"model\":\"m\",", "{\"model\":\"m\",", "{"};
    static const char *const caps[KIT_WIRES] = {
        "\"max_completion_tokens\":4000,\"temperature\":0.7,\"top_p\":0.9,\"seed\":7,",
        "\"max_tokens\":4000,\"top_k\":5,",
        "\"max_output_tokens\":4000,\"temperature\":0.7,\"top_p\":0.9,\"store\":false,",
        "\"generationConfig\":{\"maxOutputTokens\":4000,\"temperature\":0.7,\"topK\":5"};
    static const char *const formats[KIT_WIRES] = {
        "\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"f\",\"schema\":{\"type\":\"object\","
        "\"properties\":{"
        "\"a\":{\"type\":\"string\"}}}}},",
        "\"output_config\":{\"format\":{\"type\":\"json_schema\",\"schema\":{\"type\":\"object\",\"properties\":{\"a\":"
        "{\"type\":"
        "\"string\"}}}}},",
        "\"text\":{\"format\":{\"type\":\"json_schema\",\"name\":\"f\",\"schema\":{\"type\":\"object\",\"properties\":{"
        "\"a\":{"
        "\"type\":\"string\"}}}}},",
        ",\"responseMimeType\":\"application/"
        "json\",\"responseSchema\":{\"type\":\"OBJECT\",\"properties\":{\"a\":{\"type\":"
        "\"STRING\"}}}"};
    static const char *const tools[KIT_WIRES] = {
        "{\"type\":\"function\",\"function\":{\"name\":\"tool_%d\",\"description\":\"d\",\"parameters\":%s}}",
        "{\"name\":\"tool_%d\",\"description\":\"d\",\"input_schema\":%s}",
        "{\"type\":\"function\",\"name\":\"tool_%d\",\"description\":\"d\",\"parameters\":%s}",
        "{\"name\":\"tool_%d\",\"description\":\"d\",\"parameters\":%s}"};
    static const char *const schemas[] = {
        "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\",\"minimum\":0,\"format\":\"int32\"},\"s\":{"
        "\"anyOf\":[{"
        "\"type\":\"string\"},{\"type\":\"null\"}],\"default\":null}},\"additionalProperties\":false}",
        "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},\"required\":[\"n\"]}",
        "{\"type\":\"object\",\"$defs\":{\"k\":{\"const\":\"x\"}},\"properties\":{\"k\":{\"$ref\":\"#/$defs/"
        "k\"},\"p\":{\"type\":"
        "\"string\",\"pattern\":\"^a\",\"minLength\":1}}}"};
    buf_putz(b, heads[w]);
    if (!h->rich) {
        buf_putz(b, w == KIT_ANTHROPIC ? "\"max_tokens\":100," : "");
        return;
    }
    buf_putz(b, caps[w]);
    if (h->formatted)
        buf_putz(b, formats[w]);
    if (w == KIT_GEMINI)
        BUF_LIT(b, "},");
    if (h->thinks && w == KIT_ANTHROPIC)
        BUF_LIT(b, "\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":2000},");
    if (h->before)
        BUF_LIT(b, "\"previous_response_id\":\"resp_1\",");
    if (h->tools) {
        buf_putz(b, w == KIT_GEMINI ? "\"tools\":[{\"functionDeclarations\":[" : "\"tools\":[");
        for (int i = 0; i < h->tools; i++) {
            buf_putz(b, i ? ", " : "");
            char tool[512];
            snprintf(tool, sizeof tool, tools[w], i, schemas[(h->ids + (unsigned)i) % 3]);
            buf_putz(b, tool);
        }
        buf_putz(b, w == KIT_GEMINI ? "]}]," : "],");
    }
}

static inline void kit_body(const kit_history *h, kit_wire w, kit_dice *d, daruma_buf *b)
{
    kit_writer k = {.b = b, .w = w, .d = d, .h = h};
    static const char *const lists[KIT_WIRES] = {"\"messages\":[", "\"messages\":[", "\"input\":[", "\"contents\":["};
    kit_head(h, w, b);
    buf_putz(b, lists[w]);
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
    buf_putz(b, h->rich ? "}" : ",\"temperature\":0.5}");
}
#endif
