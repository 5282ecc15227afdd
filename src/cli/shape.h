/* shape.h - which dialect a text is in, found by what stands in it; and the messages in the session files of agents. */
#ifndef CLI_SHAPE_H
#define CLI_SHAPE_H
#include "dialect/dialect.h"

/* Of a request: what it surely is, and by which sign (static words); NULL: it could be of several dialects, or shows
 * signs of more than one. */
const dialect *shape_of_request(daruma_str body, const char **sign);
/* The same of a list of messages. */
const dialect *shape_of_messages(daruma_str list, const char **sign);
/* Of an answer, whole or a recorded stream. */
const dialect *shape_of_answer(daruma_str text, const char **sign);

/* The list of messages in a request of that dialect: "messages", "input" or "contents". */
const char *shape_list_of(const dialect *d);

bool shape_has(daruma_str object, const char *key);
/* Is it an item of the Responses API that a conversation is made of? */
bool shape_is_item(daruma_str v);

/* Settles the dialect of a text for `command`: `said` (NULL: nothing) where the text does not show another one, else
 * what it shows; a request that shows nothing is taken for Chat Completions, and that is told. NULL, and told on
 * standard error, where both differ or nothing can be found. */
const dialect *cli_settle_dialect(const char *command, const char *option, const dialect *said, daruma_str text,
                                  bool answer);

/* A line of a session file that an agent keeps. */
typedef enum shape_line {
    LINE_NONE,    /* of no such file */
    LINE_MESSAGE, /* a message of the conversation: *message */
    LINE_ASIDE,   /* a message of an agent that the first one called: a conversation of its own */
    LINE_OTHER,   /* something else that such a file holds */
} shape_line;
/* Claude Code's ({"type":"user","message":{...}}) and Codex's ({"type":"response_item","payload":{...}}). */
shape_line shape_session_line(daruma_str line, daruma_str *message);
#endif
