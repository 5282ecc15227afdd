/* chaos.h - the faulty provider: an HTTP server that speaks OpenAI Chat, OpenAI Responses, Anthropic Messages and
 * Google's generateContent, and misbehaves as a script says. It must not know how anybody recovers from it. */
#ifndef CHAOS_CHAOS_H
#define CHAOS_CHAOS_H
#include "chaos/script.h"
#include <uv.h>

typedef struct chaos chaos;

typedef struct chaos_settings {
    const char *host;                         /* "127.0.0.1" */
    int port;                                 /* 0: any free one */
    void (*say)(daruma_str line, void *user); /* one line per call, without its newline; NULL: nobody listens */
    void (*finished)(bool expectations_held, void *user); /* POST /chaos/finish came; NULL: nothing happens then */
    void *user;
} chaos_settings;

/* Serves on `loop`. Takes the script over. NULL and a sentence in `why` when it cannot listen. */
chaos *chaos_start(uv_loop_t *loop, const chaos_settings *s, script *script, char why[256]);
int chaos_port(const chaos *k);
/* The counts so far, for people; then the expectations. True: all hold. */
bool chaos_finish(const chaos *k, daruma_buf *text);
/* Breaks off what is under way; its memory is freed here and while the loop runs on. */
void chaos_close(chaos *k);
#endif
