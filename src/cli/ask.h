/* ask.h - one request to a server, or one command that prints a key, waited for. */
#ifndef CLI_ASK_H
#define CLI_ASK_H
#include "net/upstream.h"

enum { ASK_TEXT_BYTES = 1024 };

typedef struct cli_answer {
    bool over;
    int status;            /* 0: none came ... */
    daruma_net net;        /* ... because of this */
    int64_t date;          /* of its head, ms since 1970; -1: it has none */
    daruma_ms began, took; /* until the head came */
    size_t n;
    char text[ASK_TEXT_BYTES]; /* its first bytes */
} cli_answer;

/* Runs the default loop until the answer is there. */
cli_answer cli_ask(upstream *up, const fetch_request *q);

/* The key that a command prints, in `a`. False: it printed none, and `why` holds nothing of what it did print. */
enum { CLI_KEY_WHY_BYTES = 200 };
bool cli_key_printed(const char *command, daruma_arena *a, daruma_str *ret, char why[CLI_KEY_WHY_BYTES]);
#endif
