/* approve.h - asks a person, and waits for the answer while the loop runs on: on the terminal, through a file, or by
 * HTTP. The same question has the same name however often it is put, so that who answered knows it again. */
#ifndef RUN_APPROVE_H
#define RUN_APPROVE_H
#include "engine/agent/agent.h"
#include "net/upstream.h"

typedef struct approve approve;

/* What is said in the place of a person where nobody has to be asked. */
#define APPROVE_YES "--yes"

typedef struct approve_settings {
    const char *way;                            /* NULL: the terminal; "http://...", "https://..."; else a file */
    daruma_ms within;                           /* an answer that is not there by then is none; 0: no limit */
    daruma_str run;                             /* the run that asks */
    bool yes;                                   /* everything is allowed, nobody is asked */
    void (*show)(daruma_str text, void *user);  /* a question for the terminal */
    void (*event)(daruma_str json, void *user); /* something about the asking that people should know */
    void *user;
} approve_settings;

/* `text`: what the person says; valid during the call. */
typedef void (*approve_done)(agent_reply r, daruma_str text, void *user);

/* Settings are copied, their strings borrowed. NULL and a sentence in `why`: nobody can be asked so. */
approve *approve_new(uv_loop_t *loop, upstream *up, const approve_settings *s, char why[256]);
/* Puts the question of an act; `done` is called once, from the loop. One at a time. */
void approve_ask(approve *p, const agent_act *x, approve_done done, void *user);
/* Nobody waits for the answer to the question any more, if one is out. */
void approve_drop(approve *p);
/* The same; gone when the loop has run. NULL is allowed. */
void approve_close(approve *p);
#endif
