/* phrases.c - what providers, gateways, wires and tools say, and what it means.
 *
 * First row that fits wins. So the order is knowledge too: a tool's own words first; codes that
 * say it all; then sentences from the specific to the general; then what the words of a sentence
 * mean that is none of them; then vague codes and stop reasons; the HTTP status last, because providers send everything
 * as 400 and as 500. What decides debatable cases stands above each block. How a row is read: phrases.h. */
#include "engine/judge/phrases.h"
#include "base/str.h"

#define T(nm, kd, ...)                                                                                                 \
    {                                                                                                                  \
        .name = "text." nm, .where = AT_TEXT, .kind = DARUMA_##kd, .says = __VA_ARGS__                                 \
    }
#define C(kd, code, ...)                                                                                               \
    {                                                                                                                  \
        .name = "code." code, .where = AT_CODE, .kind = DARUMA_##kd, .says = code __VA_ARGS__                          \
    }
#define CW(kd, w, code, ...)                                                                                           \
    {                                                                                                                  \
        .name = "code." w "." code, .where = AT_CODE, .kind = DARUMA_##kd, .says = code, .who = __VA_ARGS__            \
    }
#define CLS(kd, code)                                                                                                  \
    {                                                                                                                  \
        .name = "class." code, .where = AT_CODE, .kind = DARUMA_##kd, .says = code                                     \
    }
#define FIN(kd, why, ...)                                                                                              \
    {                                                                                                                  \
        .name = "finish." why, .where = AT_FINISH, .kind = DARUMA_##kd, .says = why __VA_ARGS__                        \
    }
#define SHP(kd, sh, ...)                                                                                               \
    {                                                                                                                  \
        .name = "shape." sh, .where = AT_SHAPE, .kind = DARUMA_##kd, .says = sh __VA_ARGS__                            \
    }
#define NET(kd, n, ...)                                                                                                \
    {                                                                                                                  \
        .name = "net." n, .where = AT_NET, .kind = DARUMA_##kd, .says = n __VA_ARGS__                                  \
    }
#define ST(kd, n, ...)                                                                                                 \
    {                                                                                                                  \
        .name = "status." n, .where = AT_STATUS, .kind = DARUMA_##kd, .says = n __VA_ARGS__                            \
    }
#define TOOL(nm, tk, ...)                                                                                              \
    {                                                                                                                  \
        .name = "tool." nm, .where = AT_TEXT, .kind = DARUMA_TOOL_ERROR, .tool_kind = DARUMA_TOOL_##tk##_KIND,         \
        .says = __VA_ARGS__                                                                                            \
    }
#define TCODE(tk, code, ...)                                                                                           \
    {                                                                                                                  \
        .name = "tool.code." code, .where = AT_CODE, .kind = DARUMA_TOOL_ERROR, .tool_kind = DARUMA_TOOL_##tk##_KIND,  \
        .says = code __VA_ARGS__                                                                                       \
    }
#define SEN(nm, kd, ...)                                                                                               \
    {                                                                                                                  \
        .name = "sentence." nm, .where = AT_SENTENCE, .kind = DARUMA_##kd, .says = __VA_ARGS__                         \
    }
#define TSEN(nm, tk, ...)                                                                                              \
    {                                                                                                                  \
        .name = "sentence.tool." nm, .where = AT_SENTENCE, .kind = DARUMA_TOOL_ERROR,                                  \
        .tool_kind = DARUMA_TOOL_##tk##_KIND, .only = FOR_TOOL, .says = __VA_ARGS__                                    \
    }
#define WORDS(nm, kd, ...)                                                                                             \
    {                                                                                                                  \
        .name = "words." nm, .where = AT_MESSAGE, .kind = DARUMA_##kd, .says = __VA_ARGS__                             \
    }
#define NO    .retry = RETRY_NO
#define YES   .retry = RETRY_YES
#define TOOLS .only = FOR_TOOL
#define MODEL .only = FOR_MODEL

#define WEAK  .status = STATUS_OF_KIND

#define ZHIPU "zhipu/z.ai/zai/bigmodel/glm"

// clang-format off
const phrase phrases[] = {
#include "engine/judge/rows/tools.def"
#include "engine/judge/rows/codes.def"
#include "engine/judge/rows/answer.def"
#include "engine/judge/rows/allowance.def"
#include "engine/judge/rows/history.def"
#include "engine/judge/rows/access.def"
#include "engine/judge/rows/service.def"
#include "engine/judge/rows/sentence.def"
#include "engine/judge/rows/rest.def"
};
// clang-format on
const uint16_t nphrases = COUNT(phrases);

const char *const phrases_of_tools[] = {
    "^tool * failed",
    "^tool * returned: ",
    "failed for tool",
    "tool timed out",
    "tool call timed out",
    "error executing tool",
    "tool execution failed",
    "error calling tool",
    "^tool execution",
    "failed to execute tool",
    "^error: tool ",
    "exit code: ",
    "exited with code",
    "exit status",
    "command failed",
    "process exited",
    "mcp server",
    "calling mcp tool",
    "mcp error",
    "exit code 1",
    "mcp|",
    "error response from daemon",
    "error from server (",
    "^fatal: ",
    "npm err",
    "toolexception|",
    "toolerror|",
    "sqlalchemy.exc",
    "[sql: ",
    "psycopg2",
    "asyncpg",
    "pymysql",
    NULL,
};

static bool word_char(char c)
{
    return (c >= 'a' && c <= 'z') || ch_digit(c) || c == '_';
}

daruma_str phrase_word(const char *says, int nth)
{
    for (const char *p = says; *p;) {
        if (!word_char(*p)) {
            p++;
            continue;
        }
        const char *from = p;
        while (word_char(*p))
            p++;
        size_t n = (size_t)(p - from);
        bool open_end = *p == 0 || *p == '*' || *p == '#';
        bool open_start = from > says && from[-1] == '#';
        if (!open_start && (n >= PHRASE_PREFIX || !open_end))
            if (nth-- == 0)
                return (daruma_str){from, n < PHRASE_PREFIX ? n : PHRASE_PREFIX};
    }
    return (daruma_str){0};
}
