/* lacks.c - what a refusal says that the model cannot do at all: "m does not support tools", "image input is not
 * enabled for models/m". What is only wrong in how it was asked for (a value, a type of tool, together with something
 * else) is none of that: the same model takes it otherwise. */
#include "engine/judge/lacks.h"
#include "engine/read/chars.h"
#include "base/str.h"

#define SAYS_BYTES_MAX 512 /* of a message; what is wrong is said at its beginning */

/* What it may lack, as messages call it, longer names first. */
typedef struct lacking {
    daruma_str says;
    daruma_ability what;
} lacking;
#define W(says, can)                                                                                                   \
    {                                                                                                                  \
        LIT(says), DARUMA_CAN_##can                                                                                    \
    }
// clang-format off
static const lacking things[] = {
    W("tool use with function calling", TOOLS), W("function tools", TOOLS), W("function calling", TOOLS),
    W("function calls", TOOLS), W("functions", TOOLS), W("tool calling", TOOLS), W("tool calls", TOOLS),
    W("tool use", TOOLS), W("tools", TOOLS), W("image input modality", MEDIA), W("image inputs", MEDIA),
    W("image input", MEDIA), W("image_url", MEDIA), W("images", MEDIA), W("pictures", MEDIA), W("vision", MEDIA),
    W("audio input", MEDIA), W("audio", MEDIA), W("multimodal inputs", MEDIA), W("multimodal input", MEDIA),
    W("structured outputs", FORMAT), W("structured output", FORMAT), W("response_format", FORMAT),
    W("response format", FORMAT), W("json_schema", FORMAT), W("json mode", FORMAT), W("reasoning_effort", REASON),
    W("reasoning.effort", REASON), W("enable_thinking", REASON), W("reasoning", REASON), W("thinking", REASON),
};
/* What stands just before it, or just behind it, and what may stand between. */
static const daruma_str before[] = {LIT("not support"), LIT("n't support"), LIT("no support for"), LIT("not accept"), LIT("n't accept"),
                                    LIT("no endpoints found that support"), LIT("not capable of")};
static const daruma_str behind[] = {LIT("not supported"), LIT("isn't supported"), LIT("aren't supported"), LIT("unsupported"),
                                    LIT("not enabled"), LIT("not available"), LIT("unavailable"), LIT("only supported by")};
static const daruma_str between[] = {LIT("the"), LIT("any"), LIT("parameter"), LIT("use of"), LIT("using"), LIT("field"), LIT("is"), LIT("are")};
/* Whole messages that say it otherwise. */
static const lacking others[] = {
    W("--enable-auto-tool-choice", TOOLS), /* vLLM that was started without a parser of calls */
    W("unknown variant `image_url`, expected `text`", MEDIA), W("at most 0 image", MEDIA),
};
/* It is about something beside it, or about a value: another request of that kind may pass. */
static const daruma_str narrower[] = {LIT(" when "), LIT(" stream"), LIT(" together"), LIT(" combin"), LIT(" while "), LIT(" unless "),
                                      LIT(" if "), LIT(" same time"), LIT(" value"), LIT(" with thinking"), LIT(" with reasoning"),
                                      LIT(" could not"), LIT(" in this role"), LIT(" in message"), LIT(" api version")};
// clang-format on

/* `s` without the quotes, and what may stand between, at its end that touches the thing. */
static daruma_str to_the_word(daruma_str s, bool ends)
{
    for (size_t i = 0; s.n && i < COUNT(between);) {
        char c = s.p[ends ? s.n - 1 : 0];
        size_t n = between[i].n;
        if (c == ' ' || char_is(c, CHAR_QUOTE))
            n = 1;
        else if (s.n <= n || !(ends ? str_ends(s, between[i]) && s.p[s.n - n - 1] == ' '
                                    : str_starts(s, between[i]) && s.p[n] == ' ')) {
            i++;
            continue;
        }
        s = ends ? str_sub(s, 0, s.n - n) : str_from(s, n);
        i = 0;
    }
    return s;
}

/* Does what stands from `at` on, `n` bytes long, not exist there, as the words around it say? */
static bool is_lacking(daruma_str s, size_t at, size_t n)
{
    daruma_str left = str_sub(s, 0, at), right = str_from(s, at + n), said = to_the_word(left, true);
    if ((left.n && char_is(left.p[left.n - 1], CHAR_WORD)) || (right.n && char_is(right.p[0], CHAR_WORD)))
        return false; /* a part of a name */
    if (right.n > 1 && (right.p[0] == '.' || right.p[0] == '[') && char_is(right.p[1], CHAR_WORD))
        return false; /* a place within it */
    if (STR_ANY(str_ends, said, before))
        return true;
    char last = said.n ? said.p[said.n - 1] : ':';
    if (char_is(last, CHAR_WORD) && !str_ends(said, S(" of type"))) /* of some kind: custom tools, adaptive thinking */
        return false;
    return STR_ANY(str_starts, to_the_word(right, false), behind);
}

static uint8_t lacks_of(daruma_str s)
{
    for (size_t i = 0; i < COUNT(others); i++)
        if (str_has(s, others[i].says))
            return (uint8_t)others[i].what;
    if (STR_ANY(str_has, s, narrower))
        return 0;
    for (size_t i = 0; i < COUNT(things); i++)
        for (size_t at = 0, n; (n = str_find(str_from(s, at), things[i].says)) != STR_NONE; at += n + 1)
            if (is_lacking(s, at + n, things[i].says.n))
                return (uint8_t)things[i].what;
    return 0;
}

uint8_t judge_lacks(const daruma_failure *f)
{
    char room[SAYS_BYTES_MAX];
    daruma_str own = str_sub(f->own.p ? f->own : f->message, 0, sizeof room);
    bool of_request = f->kind == DARUMA_INVALID_TOOL_SCHEMA || f->kind == DARUMA_INVALID_PARAMETER ||
                      f->kind == DARUMA_INVALID_MESSAGE || f->kind == DARUMA_MODEL_NOT_FOUND ||
                      f->kind == DARUMA_REQUEST_TOO_LARGE;
    if (!of_request || f->hearsay || f->status < 400 || f->status >= 500)
        return 0;
    for (size_t i = 0; i < own.n; i++)
        room[i] = ch_lower(own.p[i]);
    return lacks_of((daruma_str){room, own.n});
}
