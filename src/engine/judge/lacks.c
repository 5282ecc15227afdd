/* lacks.c - what a refusal says that the model cannot do at all: "m does not support tools", "image input is not
 * enabled for models/m". What is only wrong in how it was asked for (a value, a type of tool, together with something
 * else) is none of that: the same model takes it otherwise. */
#include "engine/judge/lacks.h"
#include "engine/read/chars.h"
#include "base/str.h"

#define SAYS_BYTES_MAX 512 /* of a message; what is wrong is said at its beginning */

/* What it may lack, as messages call it, longer names first. */
static const struct {
    daruma_str says;
    daruma_ability what;
} things[] = {
    // clang-format off
    {LIT("tool use with function calling"), DARUMA_CAN_TOOLS}, {LIT("function tools"), DARUMA_CAN_TOOLS},
    {LIT("function calling"), DARUMA_CAN_TOOLS}, {LIT("function calls"), DARUMA_CAN_TOOLS},
    {LIT("functions"), DARUMA_CAN_TOOLS}, {LIT("tool calling"), DARUMA_CAN_TOOLS}, {LIT("tool calls"), DARUMA_CAN_TOOLS},
    {LIT("tool use"), DARUMA_CAN_TOOLS}, {LIT("tools"), DARUMA_CAN_TOOLS},
    {LIT("image input modality"), DARUMA_CAN_MEDIA}, {LIT("image inputs"), DARUMA_CAN_MEDIA},
    {LIT("image input"), DARUMA_CAN_MEDIA}, {LIT("image_url"), DARUMA_CAN_MEDIA}, {LIT("images"), DARUMA_CAN_MEDIA},
    {LIT("pictures"), DARUMA_CAN_MEDIA}, {LIT("vision"), DARUMA_CAN_MEDIA}, {LIT("audio input"), DARUMA_CAN_MEDIA},
    {LIT("audio"), DARUMA_CAN_MEDIA}, {LIT("multimodal inputs"), DARUMA_CAN_MEDIA},
    {LIT("multimodal input"), DARUMA_CAN_MEDIA},
    {LIT("structured outputs"), DARUMA_CAN_FORMAT}, {LIT("structured output"), DARUMA_CAN_FORMAT},
    {LIT("response_format"), DARUMA_CAN_FORMAT}, {LIT("response format"), DARUMA_CAN_FORMAT},
    {LIT("json_schema"), DARUMA_CAN_FORMAT}, {LIT("json mode"), DARUMA_CAN_FORMAT},
    {LIT("reasoning_effort"), DARUMA_CAN_REASON}, {LIT("reasoning.effort"), DARUMA_CAN_REASON},
    {LIT("enable_thinking"), DARUMA_CAN_REASON}, {LIT("reasoning"), DARUMA_CAN_REASON},
    {LIT("thinking"), DARUMA_CAN_REASON},
    // clang-format on
};

/* What stands just before it, or just behind it. */
static const daruma_str before[] = {LIT("not support"),   LIT("n't support"), LIT("no support for"),
                                    LIT("not accept"),    LIT("n't accept"),  LIT("no endpoints found that support"),
                                    LIT("not capable of")};
static const daruma_str behind[] = {LIT("is not supported"), LIT("are not supported"),   LIT("isn't supported"),
                                    LIT("aren't supported"), LIT("not supported"),       LIT("is unsupported"),
                                    LIT("are unsupported"),  LIT("is not enabled"),      LIT("are not enabled"),
                                    LIT("is not available"), LIT("are not available"),   LIT("is unavailable"),
                                    LIT("are unavailable"),  LIT("is only supported by")};
/* What may stand between. */
static const daruma_str between[] = {LIT("the"),    LIT("any"),   LIT("parameter"),
                                     LIT("use of"), LIT("using"), LIT("field")};

/* Whole messages that say it otherwise. */
static const struct {
    daruma_str says;
    daruma_ability what;
} others[] = {
    {LIT("--enable-auto-tool-choice"), DARUMA_CAN_TOOLS}, /* vLLM that was started without a parser of calls */
    {LIT("unknown variant `image_url`, expected `text`"), DARUMA_CAN_MEDIA},
    {LIT("at most 0 image"), DARUMA_CAN_MEDIA},
};

/* It is about something beside it, or about a value: another request of that kind may pass. */
static const daruma_str narrower[] = {
    LIT(" when "),          LIT(" stream"),    LIT(" together"),     LIT(" combin"),     LIT(" while "),
    LIT(" unless "),        LIT(" if "),       LIT(" same time"),    LIT(" value"),      LIT(" with thinking"),
    LIT(" with reasoning"), LIT(" could not"), LIT(" in this role"), LIT(" in message"), LIT(" api version")};

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
    for (size_t i = 0; i < COUNT(before); i++)
        if (str_ends(said, before[i]))
            return true;
    char last = said.n ? said.p[said.n - 1] : ':';
    if (char_is(last, CHAR_WORD) && !str_ends(said, S(" of type"))) /* of some kind: custom tools, adaptive thinking */
        return false;
    right = to_the_word(right, false);
    for (size_t i = 0; i < COUNT(behind); i++)
        if (str_starts(right, behind[i]))
            return true;
    return false;
}

static uint8_t lacks_of(daruma_str s)
{
    for (size_t i = 0; i < COUNT(others); i++)
        if (str_find(s, others[i].says) != STR_NONE)
            return (uint8_t)others[i].what;
    for (size_t i = 0; i < COUNT(narrower); i++)
        if (str_find(s, narrower[i]) != STR_NONE)
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
