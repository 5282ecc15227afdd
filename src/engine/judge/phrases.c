/* phrases.c - what providers, gateways, wires and tools say, and what it means.
 *
 * First row that fits wins. So the order is knowledge too: a tool's own words first; codes that
 * say it all; then sentences from the specific to the general; then what the words of a sentence
 * mean that is none of them; then vague codes and stop reasons; the HTTP status last, because providers send everything
 * as 400 and as 500. What decides debatable cases stands above each block. How a row is read: phrases.h. */
#include "engine/judge/phrases.h"
#include "base/str.h"

/* Of several sayings each is a row; they come one after the other. */
#define ANY(...)                                                                                                       \
    NULL, .any = (const char *const[])                                                                                 \
    {                                                                                                                  \
        __VA_ARGS__, NULL                                                                                              \
    }

#define ROW(nm, at, kd, ...)                                                                                           \
    {                                                                                                                  \
        .name = nm, .where = AT_##at, .kind = DARUMA_##kd, .says = __VA_ARGS__                                         \
    }
#define T(nm, kd, ...)     ROW("text." nm, TEXT, kd, __VA_ARGS__)
#define C(kd, ...)         ROW("code.", CODE, kd, __VA_ARGS__)
#define CW(kd, w, ...)     ROW("code." w ".", CODE, kd, __VA_ARGS__)
#define CLS(kd, ...)       ROW("class.", CODE, kd, __VA_ARGS__)
#define FIN(kd, ...)       ROW("finish.", FINISH, kd, __VA_ARGS__)
#define SHP(kd, ...)       ROW("shape.", SHAPE, kd, __VA_ARGS__)
#define NET(kd, ...)       ROW("net.", NET, kd, __VA_ARGS__)
#define ST(kd, ...)        ROW("status.", STATUS, kd, __VA_ARGS__)
#define SEN(nm, kd, ...)   ROW("sentence." nm, SENTENCE, kd, __VA_ARGS__)
#define WORDS(nm, kd, ...) ROW("words." nm, MESSAGE, kd, __VA_ARGS__)

/* Of tools: TOOL and TCODE whoever is said to have spoken, TSEN and TST where it is known to be one. */
#define TOOL_ROW(nm, at, tk, ...) ROW(nm, at, TOOL_ERROR, __VA_ARGS__, .tool_kind = DARUMA_TOOL_##tk##_KIND)
#define TOOL(nm, tk, ...)         TOOL_ROW("tool." nm, TEXT, tk, __VA_ARGS__)
#define TCODE(tk, ...)            TOOL_ROW("tool.code.", CODE, tk, __VA_ARGS__)
#define TSEN(nm, tk, ...)         TOOL_ROW("sentence.tool." nm, SENTENCE, tk, __VA_ARGS__, TOOLS)
#define TST(tk, ...)              TOOL_ROW("tool.status.", STATUS, tk, __VA_ARGS__, TOOLS)

#define NO                        .retry = RETRY_NO
#define YES                       .retry = RETRY_YES
#define TOOLS                     .only = FOR_TOOL
#define MODEL                     .only = FOR_MODEL

#define WEAK                      .status = STATUS_OF_KIND

#define ZHIPU                     .who = "zhipu/z.ai/zai/bigmodel/glm"
#define MINIMAX                   .who = "minimax"

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

// clang-format off
const char *const phrases_of_tools[] = {
    "^tool * failed", "^tool * returned: ", "failed for tool", "tool timed out", "tool call timed out",
    "error executing tool", "tool execution failed", "error calling tool", "^tool execution",
    "failed to execute tool", "^error: tool ", "exit code: ", "exited with code", "exit status", "command failed",
    "process exited", "mcp server", "calling mcp tool", "mcp error", "exit code 1", "mcp|",
    "error response from daemon", "error from server (", "^fatal: ", "npm err", "toolexception|", "toolerror|",
    "sqlalchemy.exc", "[sql: ", "psycopg2", "asyncpg", "pymysql", NULL,
};
// clang-format on

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
