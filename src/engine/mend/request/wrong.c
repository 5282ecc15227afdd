#include "base/arena.h"
#include "base/str.h"
#include "engine/mend/request/said.h"
#include "engine/mend/request/wrong.h"

/* Words of providers (spec of each: the phrase table's rows of invalid_message), lower case; all of a row must be
 * there. Rows add up. */
static const struct row {
    const char *has, *and;
    uint32_t bits;
} rows[] = {
    // clang-format off
    {"non-empty",                       NULL,            WRONG_EMPTY},
    {"nonempty",                        NULL,            WRONG_EMPTY},
    {"non-whitespace",                  NULL,            WRONG_EMPTY},
    {"is blank",                        NULL,            WRONG_EMPTY},
    {"empty",                           "content",       WRONG_EMPTY},
    {"empty",                           "message",       WRONG_EMPTY},
    {"empty",                           "text",          WRONG_EMPTY},
    {"got null",                        NULL,            WRONG_EMPTY},
    {"content or tool_calls",           NULL,            WRONG_EMPTY},
    {"either content or tool_calls",    NULL,            WRONG_EMPTY},
    {"text is not set",                 NULL,            WRONG_EMPTY},
    {"`text` is not set",               NULL,            WRONG_EMPTY},
    {"at least one parts field",        NULL,            WRONG_EMPTY},
    {"contents is not specified",       NULL,            WRONG_EMPTY},
    {"must have one initialized field", NULL,            WRONG_EMPTY},
    {"at least one message",            NULL,            WRONG_EMPTY},
    {"final block",                     "thinking",      WRONG_EMPTY},
    {"alternate",                       NULL,            WRONG_TURNS | WRONG_FIRST | WRONG_LATER},
    {"after role 'user'",               NULL,            WRONG_TURNS},
    {"after role 'assistant'",          NULL,            WRONG_TURNS},
    {"'user' after role 'tool'",        NULL,            WRONG_SILENT},
    {"call turn comes immediately",     NULL,            WRONG_TURNS | WRONG_FIRST},
    {"valid role",                      NULL,            WRONG_ROLE},
    {"roles in a row",                  NULL,            WRONG_TURNS},
    {"2 or more assistant messages",    NULL,            WRONG_TURNS | WRONG_LAST},
    {"ensure that single turn",         NULL,            WRONG_TURNS | WRONG_FIRST},
    {"ensure that multiturn",           NULL,            WRONG_TURNS | WRONG_FIRST | WRONG_LAST},
    {"first message",                   NULL,            WRONG_FIRST},
    {"conversation must start with",    NULL,            WRONG_FIRST},
    {"at least one user message",       NULL,            WRONG_FIRST},
    {"no user query",                   NULL,            WRONG_FIRST},
    {"prefill",                         NULL,            WRONG_LAST},
    {"end with a user",                 NULL,            WRONG_LAST},
    {"ends with a user",                NULL,            WRONG_LAST},
    {"last message",                    NULL,            WRONG_LAST},
    {"last role",                       NULL,            WRONG_LAST},
    {"last role",                       "got system",    WRONG_LATER},
    {"final assistant",                 NULL,            WRONG_LAST},
    {"trailing whitespace",             NULL,            WRONG_TRAILING},
    {"signature",                       "invalid",       WRONG_SEAL},
    {"signature",                       "thinking",      WRONG_SEAL},
    {"signature",                       "corrupted",     WRONG_SEAL},
    {"thought signature",               NULL,            WRONG_SEAL},
    {"cannot be modified",              "thinking",      WRONG_SEAL},
    {"encrypted",                       "content",       WRONG_SEAL},
    {"encrypted_content",               NULL,            WRONG_SEAL},
    {"expected `thinking`",             NULL,            WRONG_UNTHOUGHT},
    {"must start with a thinking",      NULL,            WRONG_UNTHOUGHT},
    {"thinking is enabled but",         NULL,            WRONG_UNTHOUGHT},
    {"missing a thought_signature",     NULL,            WRONG_UNSIGNED},
    {"missing a `thought_signature`",   NULL,            WRONG_UNSIGNED},
    {"missing thought_signature",       NULL,            WRONG_UNSIGNED},
    {"reasoning_content",               "not ",          WRONG_THINKING},
    {"reasoning_content",               "extra",         WRONG_THINKING},
    {"reasoning_content",               "included",      WRONG_THINKING},
    {"vision",                          "support",       WRONG_MEDIA},
    {"image",                           NULL,            WRONG_MEDIA},
    {"mmproj",                          NULL,            WRONG_MEDIA},
    {"only text is supported",          NULL,            WRONG_MEDIA | WRONG_LIST},
    {"media type",                      NULL,            WRONG_MEDIA},
    {"media_type",                      NULL,            WRONG_MEDIA},
    {"mime type",                       NULL,            WRONG_MEDIA},
    {"modalit",                         NULL,            WRONG_MEDIA},
    {"multimodal",                      NULL,            WRONG_MEDIA},
    {"pdf",                             NULL,            WRONG_MEDIA},
    {"audio input",                     NULL,            WRONG_MEDIA},
    {"while downloading",               NULL,            WRONG_MEDIA},
    {"cannot fetch content",            NULL,            WRONG_MEDIA},
    {"invalid base64",                  NULL,            WRONG_MEDIA},
    {"input tag",                       NULL,            WRONG_BLOCK},
    {"supported values are",            "type",          WRONG_BLOCK},
    {"unsupported content",             NULL,            WRONG_BLOCK},
    {"content block that you provided", NULL,            WRONG_BLOCK},
    {".id: string should match",        NULL,            WRONG_ID},
    {"call_id",                         "too long",      WRONG_ID},
    {"call_id",                         "pattern",       WRONG_ID},
    {".id'",                            "too long",      WRONG_ID},
    {".id'",                            "pattern",       WRONG_ID},
    {"tool call id",                    "length of 9",   WRONG_NINE},
    {"tool call id",                    "must be",       WRONG_ID},
    {".name",                           "pattern",       WRONG_NAME},
    {".name",                           "too long",      WRONG_NAME},
    {"tool_use.input",                  NULL,            WRONG_ARGUMENTS},
    {"arguments",                       "json",          WRONG_ARGUMENTS},
    {"developer",                       "not",           WRONG_DEVELOPER},
    {"role",                            NULL,            WRONG_DEVELOPER},
    {"instruction is not enabled",      NULL,            WRONG_PROMPT | WRONG_SYSTEM},
    {"system role",                     NULL,            WRONG_SYSTEM},
    {"system message",                  NULL,            WRONG_SYSTEM},
    {"role 'system'",                   "not",           WRONG_SYSTEM},
    {"role \"system\"",                 NULL,            WRONG_SYSTEM},
    {"top-level `system`",              NULL,            WRONG_SYSTEM},
    {"not support 'system'",            NULL,            WRONG_SYSTEM},
    {"'input_text'",                    "'output_text'", WRONG_PIECE},
    {"content should be a string",      NULL,            WRONG_LIST},
    {"content must be a string",        NULL,            WRONG_LIST},
    {"expected string, got list",       NULL,            WRONG_LIST},
    {"string",                          "sequence",      WRONG_TEXTS},
    {"string",                          "got an array",  WRONG_TEXTS},
    {"string",                          "instead array", WRONG_TEXTS},
    {"str",                             "list found",    WRONG_TEXTS},
    {"str",                             "not \"list\"",  WRONG_TEXTS},
    {"content",                         "valid string",  WRONG_TEXTS},
    {"str type",                        NULL,            WRONG_TEXTS},
    {"content",                         "be a string",   WRONG_TEXTS},
    {"content",                         "null",          WRONG_NULL},
    {"content",                         "nonetype",      WRONG_NULL},
    {"content",                         "be a string",   WRONG_NULL},
    {"content",                         "valid string",  WRONG_NULL},
    {"content",                         "required",      WRONG_NULL},
    {"content",                         "missing",       WRONG_NULL},
    {"content",                         "empty",         WRONG_BARE},
    {"missing",                         "reasoning_con", WRONG_REASONED},
    {"must be passed back",             "reasoning_con", WRONG_REASONED},
    {"must be passed back",             "reasoning con", WRONG_REASONED},
    {"contain the word",                "json",          WRONG_JSON},
    {"expected an id that begins",      NULL,            WRONG_ITEM},
    {"item with id",                    "not found",     WRONG_ITEM},
    {"without its required",            NULL,            WRONG_ITEM},
    // clang-format on
};

uint32_t wrong_of(const daruma_failure *f, daruma_arena *a)
{
    static const daruma_str first[] = {LIT("beginning"),     LIT("only one"),      LIT("multiple system"),
                                       LIT("more than one"), LIT("single system"), LIT("optional system"),
                                       LIT("initial"),       LIT("first"),         LIT(" after ")};
    static const daruma_str lists[] = {LIT("valid list"), LIT("list["), LIT("valid array"), LIT("or an array"),
                                       LIT("or array")};   /* that is taken, too */
    daruma_str said[] = {f->message, f->code, f->subject}; /* a type that is not known is named by its place alone */
    char *low = arena_take(a, f->message.n + f->code.n + f->subject.n + 3, 1);
    uint32_t bits = 0;
    size_t n = 0;
    if (!low)
        return 0;
    for (size_t k = 0; k < COUNT(said); k++) {
        for (size_t i = 0; i < said[k].n; i++)
            low[n++] = ch_lower(said[k].p[i]);
        low[n++] = '\n';
    }
    daruma_str text = {low, n};
    for (size_t i = 0; i < COUNT(rows); i++)
        if (str_find(text, str_of(rows[i].has)) != STR_NONE &&
            (!rows[i].and || str_find(text, str_of(rows[i].and)) != STR_NONE))
            bits |= rows[i].bits;
    if (bits & WRONG_REASONED)
        bits &= ~(uint32_t)(WRONG_THINKING | WRONG_UNTHOUGHT); /* they want more of it, not less */
    if (bits & WRONG_NINE)
        bits &= ~(uint32_t)WRONG_ID;
    if (bits & WRONG_SYSTEM && STR_ANY(str_has, text, first))
        bits = (bits & ~(uint32_t)WRONG_SYSTEM) | WRONG_LATER;
    if (bits & (WRONG_TEXTS | WRONG_LIST) && STR_ANY(str_has, text, lists))
        bits &= ~(uint32_t)(WRONG_TEXTS | WRONG_LIST);
    if (bits & WRONG_TRAILING)
        bits &= ~(uint32_t)(WRONG_LAST | WRONG_EMPTY);
    return bits;
}

uint32_t wrong_lasts(const daruma_failure *f, daruma_arena *a)
{
    daruma_failure own = *f;
    if (f->own.p)
        own.message = f->own;
    uint32_t bits = wrong_of(&own, a) & WRONG_ALWAYS;
    bool as_such = said(own.message, SAID_MESSAGE_NEVER);
    if (str_ifind(own.message, S("alternat")) != STR_NONE)
        bits &= ~(uint32_t)WRONG_DEVELOPER;                 /* no role is unknown there */
    return as_such ? bits : bits & ~(uint32_t)WRONG_SYSTEM; /* which may have been said of what one of them says */
}

bool mend_messages_known(const daruma_failure *f, daruma_arena *a)
{
    return wrong_of(f, a) != 0;
}

/* ".3", "[3]" or ".[3]" at the start; the rest is behind it. */
static bool take_index(daruma_str *rest, size_t *ret)
{
    daruma_str s = *rest;
    int64_t n;
    if (s.n && s.p[0] == '.')
        s = str_from(s, 1);
    bool bracket = s.n && s.p[0] == '[';
    if (bracket)
        s = str_from(s, 1);
    size_t used = 0;
    while (used < s.n && ch_digit(s.p[used]))
        used++;
    if (!used || !str_int(str_sub(s, 0, used), &n))
        return false;
    s = str_from(s, used);
    if (bracket && (!s.n || s.p[0] != ']'))
        return false;
    *rest = bracket ? str_from(s, 1) : s;
    *ret = (size_t)n;
    return true;
}

/* `inner`: "messages.168.content.0.tool_result.content.1.image" */
static bool find_path(daruma_str text, size_t *message, size_t *part, size_t *inner)
{
    static const daruma_str lists[] = {LIT("messages"), LIT("contents"), LIT("input")};
    static const daruma_str parts[] = {LIT(".content"), LIT(".parts")};
    for (size_t l = 0; l < COUNT(lists); l++)
        for (size_t from = 0, at; (at = str_find(str_from(text, from), lists[l])) != STR_NONE;) {
            daruma_str rest = str_from(text, from += at + lists[l].n);
            if (!take_index(&rest, message))
                continue;
            *part = *inner = STR_NONE;
            for (size_t i = 0; i < COUNT(parts); i++)
                if (str_starts(rest, parts[i])) {
                    daruma_str within = str_from(rest, parts[i].n);
                    if (!take_index(&within, part))
                        continue;
                    size_t more = str_find(within, parts[i]);
                    within = more == STR_NONE ? (daruma_str){0} : str_from(within, more + parts[i].n);
                    take_index(&within, inner);
                }
            return true;
        }
    return false;
}

static bool path_of(const daruma_failure *f, size_t *message, size_t *part, size_t *inner)
{
    return find_path(f->subject, message, part, inner) || find_path(f->message, message, part, inner);
}

bool wrong_is_placed(const daruma_failure *f)
{
    size_t message, part, inner;
    return path_of(f, &message, &part, &inner);
}

static wrong_place place_in(const convo *c, const daruma_failure *f)
{
    wrong_place at = WRONG_ANYWHERE;
    size_t message, part, inner, n = 0;
    if (!path_of(f, &message, &part, &inner))
        return at;
    for (size_t i = 0; i < c->nmessages; i++) {
        if (c->messages[i].apart || c->messages[i].dropped || n++ != message)
            continue;
        at.message = i;
        at.part = part < c->messages[i].nparts ? part : STR_NONE;
        at.inner = at.part != STR_NONE && inner < c->messages[i].parts[part].nparts ? inner : STR_NONE;
        break;
    }
    return at;
}

daruma_str wrong_quoted(daruma_str text, size_t n)
{
    daruma_str word = {0};
    size_t at = 0;
    for (size_t i = 0; i <= n; i++)
        if (!next_quoted(text, &at, &word))
            return (daruma_str){0};
    return word;
}

/* ---- the same image in two dialects ---- */

/* Counts images and files up to the n-th, or to that place. True when it is found. */
static bool find_media(const convo *c, size_t *n, wrong_place *at)
{
    size_t most = *n;
    *n = 0;
    for (size_t i = 0; i < c->nmessages; i++)
        for (size_t j = 0; !c->messages[i].dropped && j < c->messages[i].nparts; j++) {
            const convo_part *p = &c->messages[i].parts[j];
            bool list = p->kind == PART_RESULT && p->nparts;
            for (size_t k = 0; k < (list ? p->nparts : 1); k++) {
                const convo_part *one = list ? &p->parts[k] : p;
                wrong_place here = {i, j, list ? k : STR_NONE};
                if (one->kind != PART_MEDIA || p->dropped || one->dropped)
                    continue;
                ++*n;
                if (most ? *n == most
                         : here.message == at->message && here.part == at->part && here.inner == at->inner) {
                    *at = here;
                    return true;
                }
            }
        }
    return false;
}

size_t mend_media_of(const convo *c, const daruma_failure *f)
{
    wrong_place at = place_in(c, f);
    size_t n = 0;
    return at.message != STR_NONE && find_media(c, &n, &at) ? n : 0;
}

wrong_place wrong_at(const convo *c, const daruma_failure *f, const mend_sent *sent)
{
    wrong_place at = WRONG_ANYWHERE;
    if (!sent || !sent->elsewhere)
        return place_in(c, f);
    size_t n = sent->media;
    return n && find_media(c, &n, &at) ? at : WRONG_ANYWHERE;
}
