/* bench/shapes - shapes of requests of any size, in four dialects, and what is done with them without I/O. bench_growth
 * takes the time of it, tests/test_growth.c counts its steps. */
#include "shapes.h"
#include "engine/mend/answer/answer.h"
#include "engine/mend/pairs/pairs.h"
#include "engine/mend/request/request.h"
#include "engine/mend/shorten/shorten.h"
#include "engine/watch/steps.h"
#include "base/buf.h"
#include "base/str.h"
#include <stdio.h>

#define MB ((size_t)1 << 20)

enum { CHAT, RESPONSES, ANTHROPIC, GEMINI, WIRES };
static const dialect *const wires[WIRES] = {&dialect_openai, &dialect_openai_responses, &dialect_anthropic,
                                            &dialect_gemini};
static const char *const wire_names[WIRES] = {"chat", "responses", "anthropic", "gemini"};

/* A body of a shape: `before`, `item` as often as the size allows, `after`. '#' in an item is its number. An item
 * that is NULL: the wire has no such requests. */
struct shape {
    const char *name;
    struct {
        const char *before, *item, *after;
    } of[WIRES];
};

#define CHAT_HEAD      "{\"model\":\"m\",\"messages\":["
#define USER           "{\"role\":\"user\",\"content\":\"Find the fault.\"}"
#define RESPONSES_HEAD "{\"model\":\"m\",\"input\":["
#define ANTHROPIC_HEAD "{\"model\":\"m\",\"max_tokens\":4096,\"messages\":["
#define GEMINI_HEAD    "{\"contents\":["
#define GEMINI_USER    "{\"role\":\"user\",\"parts\":[{\"text\":\"Find the fault.\"}]}"
#define SCHEMA                                                                                                         \
    "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\",\"format\":\"uri\"},\"n\":{\"type\":"          \
    "\"integer\"}},\"required\":[\"path\"],\"additionalProperties\":false}"

#define OUTPUT                                                                                                         \
    "src/file_#.c:12: error: unknown name request_#\\nTraceback of /home/me/run_#.py, line #\\nall is well here and "  \
    "there is nothing to say of it, nothing at all, again and again and again, for as long as it takes to say so. "    \
    "id=7f3a#b2 https://example.org/a/#?b=c made 12 of 30, the rest is as it was before and will be so tomorrow."

#define DEEP8     "[[[[[[[["
#define DEEP8_END "]]]]]]]]"
#define DEEP      DEEP8 DEEP8 DEEP8 DEEP8 "#" DEEP8_END DEEP8_END DEEP8_END DEEP8_END

/* Words in turns, each message so many bytes of them. */
#define SAID(text) ",{\"role\":\"assistant\",\"content\":\"" text "\"},{\"role\":\"user\",\"content\":\"" text "\"}"
#define SAYS(text)                                                                                                     \
    {                                                                                                                  \
        {CHAT_HEAD USER, SAID(text), "]}"}, {RESPONSES_HEAD USER, SAID(text), "]}"},                                   \
            {ANTHROPIC_HEAD USER, SAID(text), "]}"},                                                                   \
        {                                                                                                              \
            GEMINI_HEAD GEMINI_USER,                                                                                   \
                ",{\"role\":\"model\",\"parts\":[{\"text\":\"" text                                                    \
                "\"}]},{\"role\":\"user\",\"parts\":[{\"text\":\"" text "\"}]}",                                       \
                "]}"                                                                                                   \
        }                                                                                                              \
    }

static const shape shapes[] = {
    {"loop",
     {{CHAT_HEAD USER,
       ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call_#\",\"type\":\"function\","
       "\"function\":{\"name\":\"read\",\"arguments\":\"{\\\"path\\\":\\\"/src/file_#.c\\\"}\"}}]},"
       "{\"role\":\"tool\",\"tool_call_id\":\"call_#\",\"content\":\"int main(void) { return 0; }\"}",
       "]}"},
      {RESPONSES_HEAD USER,
       ",{\"type\":\"function_call\",\"call_id\":\"call_#\",\"name\":\"read\",\"arguments\":\"{\\\"path\\\":\\\"/src/"
       "file_#.c\\\"}\"},{\"type\":\"function_call_output\",\"call_id\":\"call_#\",\"output\":\"int main(void) { "
       "return 0; }\"}",
       "]}"},
      {ANTHROPIC_HEAD USER,
       ",{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"toolu_#\",\"name\":\"read\",\"input\":{"
       "\"path\":\"/src/file_#.c\"}}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":"
       "\"toolu_#\",\"content\":\"int main(void) { return 0; }\"}]}",
       "]}"},
      {GEMINI_HEAD GEMINI_USER,
       ",{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"read\",\"args\":{\"path\":\"/src/file_#.c\"}}}]}"
       ",{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"read\",\"response\":{\"output\":\"int "
       "main(void) { return 0; }\"}}}]}",
       "]}"}}},
    {"one-id", /* a client that numbers the calls of each turn from 0 */
     {{CHAT_HEAD USER,
       ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call_0\",\"type\":\"function\","
       "\"function\":{\"name\":\"read\",\"arguments\":\"{\\\"path\\\":\\\"/src/file_#.c\\\"}\"}}]},"
       "{\"role\":\"tool\",\"tool_call_id\":\"call_0\",\"content\":\"int main(void) { return 0; }\"}",
       "]}"},
      {RESPONSES_HEAD USER,
       ",{\"type\":\"function_call\",\"call_id\":\"call_0\",\"name\":\"read\",\"arguments\":\"{\\\"path\\\":\\\"/src/"
       "file_#.c\\\"}\"},{\"type\":\"function_call_output\",\"call_id\":\"call_0\",\"output\":\"int main(void) { "
       "return 0; }\"}",
       "]}"},
      {ANTHROPIC_HEAD USER,
       ",{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"toolu_0\",\"name\":\"read\",\"input\":{"
       "\"path\":\"/src/file_#.c\"}}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":"
       "\"toolu_0\",\"content\":\"int main(void) { return 0; }\"}]}",
       "]}"},
      {GEMINI_HEAD GEMINI_USER,
       ",{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"id\":\"c\",\"name\":\"read\",\"args\":{\"path\":\"/src/"
       "file_#.c\"}}}]},{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"id\":\"c\",\"name\":\"read\","
       "\"response\":{\"output\":\"int main(void) { return 0; }\"}}}]}",
       "]}"}}},
    {"lost", /* calls whose results are missing */
     {{CHAT_HEAD USER,
       ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call_#\",\"type\":\"function\","
       "\"function\":{\"name\":\"read\",\"arguments\":\"{\\\"path\\\":\\\"/src/file_#.c\\\"}\"}}]}",
       "]}"},
      {RESPONSES_HEAD USER,
       ",{\"type\":\"function_call\",\"call_id\":\"call_#\",\"name\":\"read\",\"arguments\":\"{\\\"path\\\":\\\"/src/"
       "file_#.c\\\"}\"}",
       "]}"},
      {ANTHROPIC_HEAD USER,
       ",{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"toolu_#\",\"name\":\"read\",\"input\":{"
       "\"path\":\"/src/file_#.c\"}}]},{\"role\":\"user\",\"content\":\"Go on.\"}",
       "]}"},
      {GEMINI_HEAD GEMINI_USER,
       ",{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"read_#\",\"args\":{\"path\":\"/src/"
       "file_#.c\"}}}]},{\"role\":\"user\",\"parts\":[{\"text\":\"Go on.\"}]}",
       "]}"}}},
    {"stray", /* results whose calls are missing */
     {{CHAT_HEAD USER, ",{\"role\":\"tool\",\"tool_call_id\":\"call_#\",\"content\":\"int main(void);\"}", "]}"},
      {RESPONSES_HEAD USER, ",{\"type\":\"function_call_output\",\"call_id\":\"call_#\",\"output\":\"int main;\"}",
       "]}"},
      {ANTHROPIC_HEAD USER,
       ",{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_#\",\"content\":\"int "
       "main;\"}]}",
       "]}"},
      {GEMINI_HEAD GEMINI_USER,
       ",{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"read_#\",\"response\":{\"output\":\"int "
       "main;\"}}}]}",
       "]}"}}},
    {"wide", /* all calls in one turn, all results behind it, in the other order */
     {{CHAT_HEAD USER ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c\",\"type\":\"function\","
                      "\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}}",
       ",{\"id\":\"call_#\",\"type\":\"function\",\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}}",
       "]},{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"x\"}]}"},
      {RESPONSES_HEAD USER,
       ",{\"type\":\"function_call\",\"call_id\":\"call_#\",\"name\":\"read\",\"arguments\":\"{}\"}",
       ",{\"type\":\"function_call_output\",\"call_id\":\"call_0\",\"output\":\"x\"}]}"},
      {ANTHROPIC_HEAD USER ",{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"So.\"}",
       ",{\"type\":\"tool_use\",\"id\":\"toolu_#\",\"name\":\"read\",\"input\":{}}",
       "]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_0\",\"content\":\"x\"}]}]"
       "}"},
      {GEMINI_HEAD GEMINI_USER ",{\"role\":\"model\",\"parts\":[{\"text\":\"So.\"}",
       ",{\"functionCall\":{\"name\":\"read\",\"args\":{}}}",
       "]},{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"read\",\"response\":{\"output\":\"x\"}}}]}]"
       "}"}}},
    {"empty",
     {{CHAT_HEAD USER, ",{\"role\":\"assistant\",\"content\":\"\"},{\"role\":\"user\",\"content\":\"\"}", "]}"},
      {RESPONSES_HEAD USER, ",{\"role\":\"assistant\",\"content\":\"\"},{\"role\":\"user\",\"content\":\"\"}", "]}"},
      {ANTHROPIC_HEAD USER, ",{\"role\":\"assistant\",\"content\":\"\"},{\"role\":\"user\",\"content\":\"\"}", "]}"},
      {GEMINI_HEAD GEMINI_USER,
       ",{\"role\":\"model\",\"parts\":[{\"text\":\"\"}]},{\"role\":\"user\",\"parts\":[{\"text\":\"\"}]}", "]}"}}},
    {"empty-user",
     {{CHAT_HEAD USER, ",{\"role\":\"user\",\"content\":\"\"}", "]}"},
      {RESPONSES_HEAD USER, ",{\"role\":\"user\",\"content\":\"\"}", "]}"},
      {ANTHROPIC_HEAD USER, ",{\"role\":\"user\",\"content\":\"\"}", "]}"},
      {GEMINI_HEAD GEMINI_USER, ",{\"role\":\"user\",\"parts\":[{\"text\":\"\"}]}", "]}"}}},
    {"turns", /* of the user alone */
     {{CHAT_HEAD USER, ",{\"role\":\"user\",\"content\":\"hi #\"}", "]}"},
      {RESPONSES_HEAD USER, ",{\"role\":\"user\",\"content\":\"hi #\"}", "]}"},
      {ANTHROPIC_HEAD USER, ",{\"role\":\"user\",\"content\":\"hi #\"}", "]}"},
      {GEMINI_HEAD GEMINI_USER, ",{\"role\":\"user\",\"parts\":[{\"text\":\"hi #\"}]}", "]}"}}},
    {"says-10", SAYS("line # of")},
    {"says-40", SAYS("the fault of line # is in the next one")},
    {"says-100",
     SAYS("the fault of line # is in the next one, which is read before it was written, as the log of it says")},
    {"says-150", SAYS("the fault of line # is in the next one, which is read before it was written, as the log of it "
                      "says, and so are all the others that were found since then")},
    {"parts", /* many in one message */
     {{CHAT_HEAD "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"\"}",
       ",{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"\"}", "]}]}"},
      {RESPONSES_HEAD "{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"\"}",
       ",{\"type\":\"input_text\",\"text\":\"a\"},{\"type\":\"input_text\",\"text\":\"\"}", "]}]}"},
      {ANTHROPIC_HEAD "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"\"}",
       ",{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"\"}", "]}]}"},
      {GEMINI_HEAD "{\"role\":\"user\",\"parts\":[{\"text\":\"\"}", ",{\"text\":\"a\"},{\"text\":\"\"}", "]}]}"}}},
    {"system",
     {{CHAT_HEAD USER, ",{\"role\":\"system\",\"content\":\"Be short.\"},{\"role\":\"user\",\"content\":\"hi\"}", "]}"},
      {RESPONSES_HEAD USER,
       ",{\"role\":\"developer\",\"content\":\"Be short.\"},{\"role\":\"user\",\"content\":\"hi\"}", "]}"},
      {"{\"model\":\"m\",\"max_tokens\":9,\"system\":[{\"type\":\"text\",\"text\":\"Be kind.\"}",
       ",{\"type\":\"text\",\"text\":\"Be short.\"}", "],\"messages\":[" USER "]}"},
      {"{\"systemInstruction\":{\"parts\":[{\"text\":\"Be kind.\"}", ",{\"text\":\"Be short.\"}",
       "]},\"contents\":[" GEMINI_USER "]}"}}},
    {"tools",
     {{"{\"model\":\"m\",\"messages\":[" USER "],\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"x\"}}",
       ",{\"type\":\"function\",\"function\":{\"name\":\"tool_#\",\"description\":\"d\",\"strict\":true,"
       "\"parameters\":" SCHEMA "}}",
       "]}"},
      {"{\"model\":\"m\",\"input\":[" USER "],\"tools\":[{\"type\":\"function\",\"name\":\"x\"}",
       ",{\"type\":\"function\",\"name\":\"tool_#\",\"description\":\"d\",\"strict\":true,\"parameters\":" SCHEMA "}",
       "]}"},
      {"{\"model\":\"m\",\"max_tokens\":9,\"messages\":[" USER "],\"tools\":[{\"name\":\"x\",\"input_schema\":" SCHEMA
       "}",
       ",{\"name\":\"tool.#\",\"description\":\"d\",\"input_schema\":" SCHEMA "}", "]}"},
      {"{\"contents\":[" GEMINI_USER "],\"tools\":[{\"functionDeclarations\":[{\"name\":\"x\"}",
       ",{\"name\":\"tool.#\",\"description\":\"d\",\"parametersJsonSchema\":" SCHEMA "}", "]}]}"}}},
    {"bare-tools", /* without schemas, so small that they are many */
     {{"{\"model\":\"m\",\"messages\":[" USER "],\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"x\"}}",
       ",{\"type\":\"function\",\"function\":{\"name\":\"tool.#\"}}", "]}"},
      {"{\"model\":\"m\",\"input\":[" USER "],\"tools\":[{\"type\":\"function\",\"name\":\"x\"}",
       ",{\"type\":\"function\",\"name\":\"tool.#\"}", "]}"},
      {"{\"model\":\"m\",\"max_tokens\":9,\"messages\":[" USER "],\"tools\":[{\"name\":\"x\"}",
       ",{\"name\":\"tool.#\"}", "]}"},
      {"{\"contents\":[" GEMINI_USER "],\"tools\":[{\"functionDeclarations\":[{\"name\":\"x\"}",
       ",{\"name\":\"tool.#\"}", "]}]}"}}},
    {"marks",
     {[ANTHROPIC] = {ANTHROPIC_HEAD "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}",
                     ",{\"type\":\"text\",\"text\":\"a\",\"cache_control\":{\"type\":\"ephemeral\"}}", "]}]}"}}},
    {"turn-marks",
     {[ANTHROPIC] = {ANTHROPIC_HEAD USER,
                     ",{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\",\"cache_control\":{\"type\":"
                     "\"ephemeral\"}}]}",
                     "]}"}}},
    {"output", /* of tools, long, with what a mask keeps of it */
     {{CHAT_HEAD USER,
       ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call_#\",\"type\":\"function\","
       "\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}}]},"
       "{\"role\":\"tool\",\"tool_call_id\":\"call_#\",\"content\":\"" OUTPUT "\"}",
       "]}"},
      {RESPONSES_HEAD USER,
       ",{\"type\":\"function_call\",\"call_id\":\"call_#\",\"name\":\"read\",\"arguments\":\"{}\"},{\"type\":"
       "\"function_call_output\",\"call_id\":\"call_#\",\"output\":\"" OUTPUT "\"}",
       "]}"},
      {ANTHROPIC_HEAD USER,
       ",{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"toolu_#\",\"name\":\"read\",\"input\":{}}"
       "]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_#\",\"content\":\"" OUTPUT
       "\"}]}",
       "]}"},
      {GEMINI_HEAD GEMINI_USER,
       ",{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"read\",\"args\":{}}}]},{\"role\":\"user\","
       "\"parts\":["
       "{\"functionResponse\":{\"name\":\"read\",\"response\":{\"output\":\"" OUTPUT "\"}}}]}",
       "]}"}}},
    {"no-output", /* results that say nothing */
     {{CHAT_HEAD USER,
       ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call_#\",\"type\":\"function\","
       "\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}}]},"
       "{\"role\":\"tool\",\"tool_call_id\":\"call_#\",\"content\":\"\"}",
       "]}"},
      {RESPONSES_HEAD USER,
       ",{\"type\":\"function_call\",\"call_id\":\"call_#\",\"name\":\"read\",\"arguments\":\"{}\"},{\"type\":"
       "\"function_call_output\",\"call_id\":\"call_#\",\"output\":\"\"}",
       "]}"},
      {ANTHROPIC_HEAD USER,
       ",{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"toolu_#\",\"name\":\"read\",\"input\":{}}"
       "]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_#\",\"content\":\"\"}]}",
       "]}"},
      {GEMINI_HEAD GEMINI_USER,
       ",{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"read\",\"args\":{}}}]},{\"role\":\"user\","
       "\"parts\":["
       "{\"functionResponse\":{\"name\":\"read\",\"response\":{}}}]}",
       "]}"}}},
    {"one-text", /* a single message, most of it escapes */
     {{CHAT_HEAD "{\"role\":\"user\",\"content\":\"", "line \\\"#\\\" of it\\n\\u0007\\\\", "\"}]}"},
      {RESPONSES_HEAD "{\"role\":\"user\",\"content\":\"", "line \\\"#\\\" of it\\n\\u0007\\\\", "\"}]}"},
      {ANTHROPIC_HEAD "{\"role\":\"user\",\"content\":\"", "line \\\"#\\\" of it\\n\\u0007\\\\", "\"}]}"},
      {GEMINI_HEAD "{\"role\":\"user\",\"parts\":[{\"text\":\"", "line \\\"#\\\" of it\\n\\u0007\\\\", "\"}]}]}"}}},
    {"one-output", /* of one tool, all of it */
     {{CHAT_HEAD USER ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call_1\",\"type\":"
                      "\"function\",\"function\":{\"name\":\"read\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\","
                      "\"tool_call_id\":\"call_1\",\"content\":\"",
       OUTPUT, "\"}]}"},
      {RESPONSES_HEAD USER ",{\"type\":\"function_call\",\"call_id\":\"call_1\",\"name\":\"read\",\"arguments\":"
                           "\"{}\"},{\"type\":\"function_call_output\",\"call_id\":\"call_1\",\"output\":\"",
       OUTPUT, "\"}]}"},
      {ANTHROPIC_HEAD USER ",{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":"
                           "\"read\",\"input\":{}}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\","
                           "\"tool_use_id\":\"toolu_1\",\"content\":\"",
       OUTPUT, "\"}]}]}"},
      {GEMINI_HEAD GEMINI_USER ",{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"read\",\"args\":{}}}]},"
                               "{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"read\",\"response\":{"
                               "\"output\":\"",
       OUTPUT, "\"}}}]}]}"}}},
    {"one-call", /* whose arguments have many members */
     {{CHAT_HEAD USER ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call_1\",\"type\":"
                      "\"function\",\"function\":{\"name\":\"read\",\"arguments\":\"{\\\"a\\\":0",
       ",\\\"p#\\\":{\\\"v\\\":[1,#]}", "}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"call_1\",\"content\":\"x\"}]}"},
      {RESPONSES_HEAD USER ",{\"type\":\"function_call\",\"call_id\":\"call_1\",\"name\":\"read\",\"arguments\":"
                           "\"{\\\"a\\\":0",
       ",\\\"p#\\\":{\\\"v\\\":[1,#]}",
       "}\"},{\"type\":\"function_call_output\",\"call_id\":\"call_1\",\"output\":\"x\"}]}"},
      {ANTHROPIC_HEAD USER ",{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":"
                           "\"read\",\"input\":{\"a\":0",
       ",\"p#\":{\"v\":[1,#]}",
       "}}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_1\",\"content\":\"x\"}]}"
       "]}"},
      {GEMINI_HEAD GEMINI_USER ",{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"read\",\"args\":{\"a\":0",
       ",\"p#\":{\"v\":[1,#]}",
       "}}}]},{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"read\",\"response\":{\"output\":\"x\"}}"
       "}]}]}"}}},
    {"failures", /* results that say that something went wrong, each another */
     {{CHAT_HEAD USER,
       ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"call_#\",\"type\":\"function\","
       "\"function\":{\"name\":\"run_#\",\"arguments\":\"{\\\"n\\\":#}\"}}]},{\"role\":\"tool\",\"tool_call_id\":"
       "\"call_#\",\"content\":\"Error: no such file: /src/file_#.c\"}",
       "]}"},
      {RESPONSES_HEAD USER,
       ",{\"type\":\"function_call\",\"call_id\":\"call_#\",\"name\":\"run_#\",\"arguments\":\"{\\\"n\\\":#}\"},{"
       "\"type\":\"function_call_output\",\"call_id\":\"call_#\",\"output\":\"Error: no such file: /src/file_#.c\"}",
       "]}"},
      {ANTHROPIC_HEAD USER,
       ",{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"toolu_#\",\"name\":\"run_#\",\"input\":{"
       "\"n\":#}}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_#\",\"is_error\":"
       "true,\"content\":\"Error: no such file: /src/file_#.c\"}]}",
       "]}"},
      {GEMINI_HEAD GEMINI_USER,
       ",{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"run_#\",\"args\":{\"n\":#}}}]},{\"role\":"
       "\"user\","
       "\"parts\":[{\"functionResponse\":{\"name\":\"run_#\",\"response\":{\"error\":\"no such file: /src/file_#.c\"}}}"
       "]}",
       "]}"}}},
    {"thinking", /* what the model thought, signed */
     {{CHAT_HEAD USER,
       ",{\"role\":\"assistant\",\"reasoning_content\":\"well # then\",\"content\":\"so\"},{\"role\":\"user\","
       "\"content\":\"go on\"}",
       "]}"},
      {RESPONSES_HEAD USER,
       ",{\"type\":\"reasoning\",\"id\":\"rs_#\",\"summary\":[{\"type\":\"summary_text\",\"text\":\"well\"}],"
       "\"encrypted_content\":\"gAAAA#\"},{\"role\":\"assistant\",\"content\":\"so\"}",
       "]}"},
      {ANTHROPIC_HEAD USER,
       ",{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"well #\",\"signature\":\"Eq#\"},{"
       "\"type\":\"text\",\"text\":\"so\"}]},{\"role\":\"user\",\"content\":\"go on\"}",
       "]}"},
      {GEMINI_HEAD GEMINI_USER,
       ",{\"role\":\"model\",\"parts\":[{\"text\":\"well #\",\"thought\":true},{\"text\":\"so\",\"thoughtSignature\":"
       "\"Eq#\"}]},{\"role\":\"user\",\"parts\":[{\"text\":\"go on\"}]}",
       "]}"}}},
    {"images",
     {{CHAT_HEAD USER,
       ",{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,"
       "aGVsbG8#\"}}]}",
       "]}"},
      {RESPONSES_HEAD USER,
       ",{\"role\":\"user\",\"content\":[{\"type\":\"input_image\",\"image_url\":\"data:image/png;base64,aGVsbG8#\"}]}",
       "]}"},
      {ANTHROPIC_HEAD USER,
       ",{\"role\":\"user\",\"content\":[{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/"
       "png\",\"data\":\"aGVsbG8#\"}}]}",
       "]}"},
      {GEMINI_HEAD GEMINI_USER,
       ",{\"role\":\"user\",\"parts\":[{\"inlineData\":{\"mimeType\":\"image/png\",\"data\":\"aGVsbG8#\"}}]}", "]}"}}},
    {"strange", /* parts of kinds that nobody knows */
     {{CHAT_HEAD USER, ",{\"role\":\"user\",\"content\":[{\"type\":\"new_#\",\"value\":{\"a\":[#]}}]}", "]}"},
      {RESPONSES_HEAD USER, ",{\"type\":\"new_#\",\"value\":{\"a\":[#]}}", "]}"},
      {ANTHROPIC_HEAD USER, ",{\"role\":\"user\",\"content\":[{\"type\":\"new_#\",\"value\":{\"a\":[#]}}]}", "]}"},
      {GEMINI_HEAD GEMINI_USER, ",{\"role\":\"user\",\"parts\":[{\"new_#\":{\"a\":[#]}}]}", "]}"}}},
    {"deep", /* lists in lists, as far as they are read */
     {{CHAT_HEAD USER, ",{\"role\":\"user\",\"content\":\"a\",\"x\":" DEEP "}", "]}"},
      {RESPONSES_HEAD USER, ",{\"role\":\"user\",\"content\":\"a\",\"x\":" DEEP "}", "]}"},
      {ANTHROPIC_HEAD USER, ",{\"role\":\"user\",\"content\":\"a\",\"x\":" DEEP "}", "]}"},
      {GEMINI_HEAD GEMINI_USER, ",{\"role\":\"user\",\"parts\":[{\"text\":\"a\"}],\"x\":" DEEP "}", "]}"}}},
    {"stops", /* of one setting */
     {{"{\"model\":\"m\",\"messages\":[" USER "],\"stop\":[\"a\"", ",\"s#\"", "]}"},
      {"{\"model\":\"m\",\"input\":[" USER "],\"include\":[\"a\"", ",\"s#\"", "]}"},
      {"{\"model\":\"m\",\"max_tokens\":9,\"messages\":[" USER "],\"stop_sequences\":[\"a\"", ",\"s#\"", "]}"},
      {"{\"contents\":[" GEMINI_USER "],\"generationConfig\":{\"stopSequences\":[\"a\"", ",\"s#\"", "]}}"}}},
    {"labels", /* members of one setting */
     {{"{\"model\":\"m\",\"messages\":[" USER "],\"metadata\":{\"a\":\"b\"", ",\"k#\":\"v\"", "}}"},
      {"{\"model\":\"m\",\"input\":[" USER "],\"metadata\":{\"a\":\"b\"", ",\"k#\":\"v\"", "}}"},
      {"{\"model\":\"m\",\"max_tokens\":9,\"messages\":[" USER "],\"metadata\":{\"a\":\"b\"", ",\"k#\":\"v\"", "}}"},
      {"{\"contents\":[" GEMINI_USER "],\"labels\":{\"a\":\"b\"", ",\"k#\":\"v\"", "}}"}}},
    {"twice", /* the same member of the body again and again: the last one counts */
     {{"{\"model\":\"m\",\"messages\":[" USER "]", ",\"seed\":#", "}"},
      {"{\"model\":\"m\",\"input\":[" USER "]", ",\"top_p\":#", "}"},
      {"{\"model\":\"m\",\"max_tokens\":9,\"messages\":[" USER "]", ",\"top_k\":#", "}"},
      {"{\"contents\":[" GEMINI_USER "]", ",\"generationConfig\":{\"topK\":#}", "}"}}},
    {"members", /* of the body, and of a message */
     {{"{\"model\":\"m\",\"messages\":[" USER "]", ",\"x_#\":1", "}"},
      {"{\"model\":\"m\",\"input\":[" USER "]", ",\"x_#\":1", "}"},
      {"{\"model\":\"m\",\"max_tokens\":9,\"messages\":[" USER "]", ",\"x_#\":1", "}"},
      {"{\"contents\":[" GEMINI_USER "]", ",\"x_#\":1", "}"}}},
};

static void put_item(daruma_buf *out, const char *item, unsigned n)
{
    daruma_str rest = str_of(item);
    while (rest.n) {
        size_t at = str_findch(rest, '#');
        buf_put(out, str_sub(rest, 0, at == STR_NONE ? rest.n : at));
        if (at != STR_NONE)
            buf_int(out, n);
        rest = str_from(rest, at == STR_NONE ? rest.n : at + 1);
    }
}

static daruma_str body_of(const shape *s, int wire, size_t bytes, daruma_arena *a)
{
    daruma_buf b = buf_in(a);
    buf_putz(&b, s->of[wire].before);
    for (unsigned n = 0; b.n < bytes; n++)
        put_item(&b, s->of[wire].item, n);
    buf_putz(&b, s->of[wire].after);
    return buf_done(&b); /* what it did not need is no memory of the request */
}

/* ---- what is done with it ---- */

typedef struct run {
    const dialect *from, *to;
    daruma_str body;
    daruma_arena *a;
    convo c;
} run;

static bool written(run *r, const dialect *d, const convo *c)
{
    /* As the gateway has it (drive_text_write): a room beside the one that is worked in, of which only what is written
     * is memory. What is larger moves into another one, and from there into one that fits. */
    size_t first = r->body.n * 8;
    daruma_arena room = {.beg = r->a->end - (r->a->end - r->a->beg) / 2, .end = r->a->end};
    r->a->end = room.beg;
    daruma_buf out = buf_in(&room);
    buf_room(&out, first);
    d->write(c, &out);
    r->a->end = room.end;
    bool counted = arena_raw(r->a, out.cap > first ? first + 2 * out.n : out.n, 1);
    return counted && !out.full && !c->full;
}

static bool act_convert(run *r)
{
    convo to = {0};
    dialect_losses lost = {0};
    return dialect_convert(&r->c, r->to, r->a, &to, &lost) == DARUMA_OK && written(r, r->to, &to);
}

static bool act_pairs(run *r)
{
    mend_pairs(&r->c, MEND_SYNTHESISE);
    return written(r, r->from, &r->c);
}

static bool act_prune(run *r)
{
    mend_pairs(&r->c, MEND_PRUNE);
    return written(r, r->from, &r->c);
}

static bool act_messages(run *r)
{
    mend_messages(&r->c, NULL, NULL, NULL);
    return written(r, r->from, &r->c);
}

/* All that a model may never take. */
static bool act_habits(run *r)
{
    mend_report rep = {0};
    mend_habits(&r->c, UINT32_MAX, &rep);
    return written(r, r->from, &r->c);
}

static bool act_mask(run *r)
{
    mend_mask(&r->c, convo_tokens(&r->c) / 2, NULL);
    return written(r, r->from, &r->c);
}

static bool act_shed(run *r)
{
    mend_shed(&r->c, r->body.n / 2);
    return written(r, r->from, &r->c);
}

/* After another remedy of the same request, as a ladder has them. */
static bool mended_by(run *r, const char *message)
{
    daruma_failure f = {.kind = DARUMA_INVALID_TOOL_SCHEMA, .message = str_of(message)};
    mend_report rep = {0};
    mend_lesson l;
    mend_messages(&r->c, &f, NULL, NULL);
    mend_member(&r->c, &f, &l, &rep);
    mend_parameter(&r->c, &f, &l, &rep);
    mend_empty_list(&r->c, &f, &l, &rep);
    mend_cache_marks(&r->c, &f, &rep);
    mend_double_tools(&r->c, &f, &rep);
    mend_tool_schemas(&r->c, &f, &rep);
    mend_double_items(&r->c, &f, &rep);
    return written(r, r->from, &r->c);
}

static bool act_keyword(run *r)
{
    return mended_by(r, "Invalid schema: 'additionalProperties' is not supported");
}

static bool act_any_schema(run *r)
{
    return mended_by(r, "Invalid schema for a function") && mended_by(r, "Invalid schema for a function");
}

static bool act_marks(run *r)
{
    return mended_by(r, "A maximum of 4 blocks with cache_control may be provided. Found 1000000000.");
}

static bool act_double(run *r)
{
    return mended_by(r, "tools: Tool names must be unique. Duplicate item found.");
}

static bool act_empty(run *r)
{
    return mended_by(r, "messages: text content blocks must be non-empty");
}

static bool act_roles(run *r)
{
    return mended_by(r, "messages: roles must alternate between user and assistant");
}

static bool act_system(run *r)
{
    return mended_by(r, "Unexpected role \"system\": system messages are not supported");
}

/* What a model learned: done to each request. */
static bool act_lessons(run *r)
{
    static const mend_lesson learned[] = {
        {.op = PATCH_DROP, .path = "tools.*.schema.additionalProperties", .value = "lower"},
        {.op = PATCH_DROP, .path = "tools.*.function.strict", .value = ""},
        {.op = PATCH_DROP, .path = "messages.*.content.*.cache_control", .value = ""},
        {.op = PATCH_DROP, .path = "messages.*.tool_calls", .value = "[]"},
        {.op = PATCH_RENAME, .path = "max_tokens", .value = "max_completion_tokens"}};
    mend_report rep = {0};
    for (size_t i = 0; i < COUNT(learned); i++)
        mend_lesson_apply(&r->c, &learned[i], &rep);
    return written(r, r->from, &r->c);
}

/* Output is masked, that is learned, and done to the next turn. What is read to learn it is given back before. */
static bool act_known(run *r)
{
    convo before, next;
    mend_mask(&r->c, convo_tokens(&r->c) / 4, NULL);
    mend_known *k = mend_known_new(r->a, mend_known_room(&r->c)); /* as note_shortened() has it */
    daruma_arena learning = *r->a;
    if (!k || r->from->read(r->body, &learning, &before) != DARUMA_OK)
        return false;
    mend_known_learn(k, 1, &before, &r->c);
    if (r->from->read(r->body, r->a, &next) != DARUMA_OK)
        return false;
    mend_known_apply(k, 1, &next);
    bool good = written(r, r->from, &next);
    r->a->beg = learning.beg > r->a->beg ? learning.beg : r->a->beg;
    return good;
}

static bool act_compact(run *r)
{
    mend_report rep = {0};
    mend_cut cut = mend_compact_plan(&r->c, convo_tokens(&r->c) / 4);
    if (cut.to > cut.from && mend_compact_prompt(&r->c, cut, r->body.n).n)
        mend_compact_put(&r->c, cut, S("They looked for the fault, and have not found it."), &rep);
    return written(r, r->from, &r->c);
}

static bool act_summarise(run *r)
{
    enum { MANY = 1 << 16 }; /* SUMMARIES_MAX at a time: their list is no memory of the request */
    static mend_large large[MANY];
    mend_report rep = {0};
    size_t n = mend_large_results(&r->c, 300, true, MEND_SUMMARY_PLAIN, large, MANY);
    for (size_t i = 0; i < n; i++) {
        daruma_str prompt = mend_summary_prompt(&r->c, large[i], MEND_SUMMARY_PLAIN);
        mend_summary_put(&r->c, large[i], str_sub(prompt, 0, 40), MEND_SUMMARY_PLAIN, &rep);
    }
    return written(r, r->from, &r->c);
}

/* What providers complain about in messages: each kind is looked for in all of them. */
static bool act_blocks(run *r)
{
    return mended_by(r, "messages.1.content.0: Input tag 'text' found using 'type' does not match any of the expected "
                        "tags");
}

static bool act_no_result(run *r)
{
    return mended_by(r, "messages.2: tool results must have a non-empty content");
}

static bool act_prefill(run *r)
{
    return mended_by(r, "This model does not support assistant message prefill. The conversation must end with a user "
                        "message.");
}

static bool act_named_tool(run *r)
{
    return mended_by(r, "Invalid schema for function 'tool_1': 'format' is not supported");
}

/* All is said as one answer, each call is held against the tools, and it goes to a client of each other dialect. */
static bool act_answer(run *r)
{
    turn t = {0};
    write_ctx x = {.model = S("m"), .id = 1};
    daruma_buf b = buf_in(r->a);
    t.message = (convo_message){.role = CONVO_ASSISTANT};
    for (size_t i = 0; i < r->c.nmessages; i++)
        for (size_t k = 0; k < r->c.messages[i].nparts; k++) {
            const convo_part *p = &r->c.messages[i].parts[k];
            convo_part *q = p->kind == PART_CALL || p->kind == PART_TEXT
                                ? convo_add_part(&r->c, &t.message, p->kind, (daruma_str){0})
                                : NULL;
            if (q)
                *q = (convo_part){
                    .kind = p->kind, .id = p->id, .name = p->name, .text = convo_part_text(&r->c, p), .ready = true};
        }
    t.finish = FINISH_STOP;
    r->from->write_answer(&t, &x, &b);
    char *top = r->a->beg;
    for (int w = 0; w < WIRES && !b.full; w++) { /* a client speaks one of them: memory for the largest */
        daruma_arena a = *r->a;
        daruma_buf out = buf_in(&a);
        dialect_convert_answer(r->from, wires[w], buf_str(&b), &x, &out, &a);
        top = a.beg > top ? a.beg : top;
    }
    r->a->beg = top;
    turn read = {0};
    if (b.full || r->from->read_answer(buf_str(&b), r->a, &read) != DARUMA_OK)
        return !b.full;
    for (size_t i = 0; i < read.message.nparts; i++) {
        const convo_part *p = &read.message.parts[i];
        if (p->kind == PART_CALL && r->c.ntools)
            mend_args(&r->c, p->name, convo_part_text(&r->c, p), false, r->a);
    }
    return true;
}

/* All is seen as the work of one agent. */
static bool act_watch(run *r)
{
    const daruma_policy *policy = daruma_policy_find(S("default"));
    daruma_stall *stall = daruma_stall_new(r->a);
    daruma_tracker *tracker = daruma_tracker_new(r->a, policy);
    daruma_arena scratch, all = *r->a;
    steps_item item;
    size_t n = 0;
    if (!stall || !tracker)
        return false;
    for (steps_iter it = {.c = &r->c}; steps_next(&it, &item);) {
        if (item.what != STEPS_STEP)
            continue;
        scratch = *r->a;
        n += daruma_stall_see(stall, &item.step).circle != DARUMA_CIRCLE_NONE;
        if (daruma_step_failed(&item.step))
            n += daruma_tool_judge(&item.step, policy, &scratch).retryable;
        daruma_tracker_see(tracker, (daruma_str){0}, &item.step, (daruma_moment){.now = 1}, &scratch);
    }
    return n <= r->body.n && all.beg;
}

/* What the loop reads of a request with tools: its newest messages are known again, and those that are new are read. */
static bool act_newest(run *r)
{
    uint32_t at[SCAN_NEWEST];
    request_scan s = r->from->scan(r->body, at, false);
    size_t first = s.nmessages > SCAN_NEWEST ? s.nmessages - SCAN_NEWEST : 0;
    uint64_t id, all = 0;
    convo c = {.arena = r->a};
    for (size_t i = first; i < s.nmessages; i++)
        all += dialect_message_hash(dialect_message(&s, at, i), &id);
    dialect_read_newest(r->from, &s, at, first, (daruma_str){0}, r->a, &c);
    return s.ok && (all || !s.nmessages);
}

/* It is refused in words that may be its own. */
static bool act_quote(run *r)
{
    daruma_evidence ev = {.phase = DARUMA_AT_ANSWER,
                          .status = 400,
                          .request = r->body,
                          .body = S("{\"error\":{\"message\":\"Invalid value: 'int main(void) { return 0; }' in "
                                    "'hi 7', read call_12 of the user: You exceeded your current quota\"}}")};
    return daruma_classify(&ev, (daruma_moment){.now = 1}, r->a).kind < DARUMA_KINDS;
}

/* An answer calls each of the tools, the last one first. */
static bool act_calls(run *r)
{
    convo_tools_index(&r->c);
    for (size_t i = r->c.ntools; i--;) {
        const convo_tool *t = convo_tool_find(&r->c, r->c.tools[i].name);
        if (t && mend_args(&r->c, t->name, S("{\"path\":3}"), false, r->a).verdict == ARGS_UNKNOWN_TOOL)
            return false;
    }
    return !r->a->full;
}

static const struct act {
    const char *name;
    bool (*go)(run *r);
} acts[] = {
    {"pairs", act_pairs},         {"prune", act_prune},
    {"messages", act_messages},   {"habits", act_habits},
    {"mask", act_mask},           {"shed", act_shed},
    {"keyword", act_keyword},     {"any-schema", act_any_schema},
    {"marks", act_marks},         {"double", act_double},
    {"empty", act_empty},         {"roles", act_roles},
    {"system", act_system},       {"lessons", act_lessons},
    {"known", act_known},         {"compact", act_compact},
    {"summarise", act_summarise}, {"blocks", act_blocks},
    {"no-result", act_no_result}, {"prefill", act_prefill},
    {"named", act_named_tool},    {"answer", act_answer},
    {"calls", act_calls},         {"watch", act_watch},
    {"newest", act_newest},       {"quote", act_quote},
};

/* ---- one tool, and a call of it ---- */

enum { MANY_GOOD, MANY_COERCED, MANY_UNKNOWN, MANY_MISSING, MANY_LOWERED, MANY_STRICT, MANY_ENUM, MANYS };
static const char *const many_names[MANYS] = {"fit", "coerced", "unknown", "missing", "lowered", "strict", "enum"};

/* A schema of so many bytes, all of whose members are required, and arguments for it. */
static bool act_many(int what, size_t bytes, daruma_arena *a, bool make, daruma_str *schema, daruma_str *args)
{
    if (make) {
        daruma_buf s = buf_in(a);
        BUF_LIT(&s, "{\"type\":\"object\",\"properties\":{\"p\":{\"type\":\"integer\"}");
        unsigned n = 0;
        for (; s.n < bytes / 3 * 2 && what != MANY_UNKNOWN && what != MANY_ENUM; n++)
            put_item(&s, ",\"p#\":{\"type\":\"integer\",\"title\":\"t\"}", n);
        if (what == MANY_ENUM) {
            BUF_LIT(&s, ",\"e\":{\"enum\":[0");
            for (; s.n < bytes; n++)
                put_item(&s, ",\"v#\"", n);
            BUF_LIT(&s, "]}");
        }
        BUF_LIT(&s, "},\"additionalProperties\":false,\"required\":[\"p\"");
        for (unsigned i = 0; i < n && what != MANY_ENUM; i++)
            put_item(&s, ",\"p#\"", i);
        BUF_LIT(&s, "]}");
        *schema = buf_str(&s);
        daruma_buf b = buf_in(a);
        buf_putz(&b, what == MANY_COERCED ? "{\"p\":\"1\"" : "{\"p\":1");
        if (what == MANY_ENUM)
            put_item(&b, ",\"e\":\"v#\"", n - 1);
        for (unsigned i = 0; what == MANY_UNKNOWN ? b.n < bytes : i < n && what != MANY_MISSING && what != MANY_ENUM;
             i++)
            put_item(&b, what == MANY_COERCED ? ",\"p#\":\"1\"" : ",\"p#\":1", i);
        buf_putz(&b, what == MANY_UNKNOWN ? ",}" : "}"); /* broken: it is repaired, and what is unknown goes */
        *args = buf_str(&b);
        return !s.full && !b.full;
    }
    if (what == MANY_LOWERED)
        return schema_lower(*schema, S("title"), false, a).p != schema->p || bytes > MB;
    if (what == MANY_STRICT)
        return schema_lower(*schema, S("additionalProperties"), true, a).n;
    convo_tool t = {.name = S("read"), .schema = *schema};
    convo c = {.tools = &t, .ntools = 1, .arena = a};
    args_check v = mend_args(&c, t.name, *args, false, a);
    return v.verdict != ARGS_UNKNOWN_TOOL; /* what is too much to mend is told to the model */
}

/* ---- an error, of any length ---- */

static const struct {
    const char *name, *item; /* said again and again; # is a number */
} errors[] = {
    {"words", "the model # is overloaded, please try again. "},
    {"addresses", "dial tcp [::1]:#: connect: connection refused; "},
    {"statuses", "HTTP 503 [#] (429) "},
    {"quotes", "'input #' is no \"value\", "},
    {"brackets", "[#["},
    {"asked", "http://h/#: [503] "}, /* within a quotation */
    {"open", "http://h/#: [50a"},
    {"braces", "{\"error\":{#"},
    {"frames", "  File \"/srv/a#.py\", line 3, in call\n    raise Error\n"},
    {"tags", "<p class=a#>try<br>"},
    {"names", "requests.exceptions.Error#: "},
    {"escapes", "\\u0027\\\\u#"},
};

static bool act_error(size_t which, size_t bytes, daruma_arena *a, bool make, daruma_evidence *ev)
{
    if (!make)
        return daruma_classify(ev, (daruma_moment){.now = 1}, a).kind < DARUMA_KINDS;
    daruma_buf b = buf_in(a);
    BUF_LIT(&b, "said \"");
    for (unsigned i = 0; b.n < bytes; i++)
        put_item(&b, errors[which].item, i);
    BUF_LIT(&b, "] ");
    *ev = (daruma_evidence){.phase = DARUMA_AT_ANSWER, .status = 500, .body = buf_str(&b)};
    return !b.full;
}

daruma_str shape_body(daruma_str name, daruma_str wire, size_t bytes, daruma_arena *a)
{
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (int w = 0; w < WIRES; w++)
            if (str_eq(name, str_of(shapes[s].name)) && str_eq(wire, str_of(wire_names[w])) && shapes[s].of[w].item)
                return body_of(&shapes[s], w, bytes, a);
    return (daruma_str){0};
}

const char *shape_name(size_t i)
{
    return i < COUNT(shapes) ? shapes[i].name : NULL;
}

/* ---- rows ---- */

bool rows_each(bool (*f)(const row *x, void *user), void *user)
{
    bool good = true;
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (int w = 0; w < WIRES; w++) {
            row x = {.shape = &shapes[s], .wire = w, .many = -1, .error = -1};
            for (x.to = 0; shapes[s].of[w].item && x.to < WIRES; x.to++) {
                snprintf(x.name, sizeof x.name, "%s %s>%s", shapes[s].name, wire_names[w], wire_names[x.to]);
                good &= x.to == w || f(&x, user);
            }
            x.to = -1;
            for (x.act = 0; shapes[s].of[w].item && x.act < (int)COUNT(acts); x.act++) {
                snprintf(x.name, sizeof x.name, "%s %s %s", shapes[s].name, wire_names[w], acts[x.act].name);
                good &= f(&x, user);
            }
        }
    for (int m = 0; m < MANYS; m++) {
        row x = {.many = m, .to = -1, .error = -1};
        snprintf(x.name, sizeof x.name, "call %s", many_names[m]);
        good &= f(&x, user);
    }
    for (size_t e = 0; e < COUNT(errors); e++) {
        row x = {.many = -1, .to = -1, .error = (int)e};
        snprintf(x.name, sizeof x.name, "error %s", errors[e].name);
        good &= f(&x, user);
    }
    return good;
}

bool row_do(const row *x, size_t bytes, daruma_arena *a, int64_t (*clock)(void), int64_t *ret_took)
{
    int64_t from;
    bool good;
    if (x->many >= 0) {
        daruma_str schema, args;
        if (!act_many(x->many, bytes, a, true, &schema, &args))
            return false;
        from = clock();
        good = act_many(x->many, bytes, a, false, &schema, &args);
    } else if (x->error >= 0) {
        daruma_evidence ev;
        if (!act_error((size_t)x->error, bytes, a, true, &ev))
            return false;
        from = clock();
        good = act_error((size_t)x->error, bytes, a, false, &ev);
    } else {
        run r = {.from = wires[x->wire], .to = x->to < 0 ? NULL : wires[x->to], .a = a};
        r.body = body_of(x->shape, x->wire, bytes, a);
        from = clock();
        good = r.from->read(r.body, a, &r.c) == DARUMA_OK && (x->to >= 0 ? act_convert(&r) : acts[x->act].go(&r));
    }
    *ret_took = clock() - from;
    return good;
}
