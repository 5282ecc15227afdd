/* replay_mend.h - the conversation of a scene: remedies are carried out on it, its model answers from a script. */
#ifndef CLI_REPLAY_MEND_H
#define CLI_REPLAY_MEND_H
#include "cli/replay.h"
#include "engine/drive/history.h"

typedef struct replay_mend {
    const replay_scene *s;
    const daruma_policy *policy;
    history past;       /* the conversation; the driver carries remedies out on it */
    drive_text *texts;  /* bodies that were written anew */
    daruma_arena a;     /* all else that is made for one request lives here */
    daruma_str body;    /* what goes out; empty: the scene has no conversation */
    size_t asked;       /* answers of the scene's model that are used up */
    daruma_str whole;   /* of the answer, what the client has; for going on behind it */
    mend_going going;   /* how the model was asked to go on */
    bool resumed;       /* the next answer goes on behind it */
    bool unsure;        /* it came, and could not be joined */
    bool unfit;         /* an answer did not fit its schema, and was asked for again */
    bool answer_mended; /* the answer that was checked last goes out mended */
} replay_mend;

/* Begins a request of the scene. `why` says what is wrong with its body. */
bool replay_mend_begin(replay_mend *m, const replay_scene *s, const daruma_policy *p, void *room, size_t bytes,
                       char why[256]);
void replay_mend_end(replay_mend *m); /* gives its memory back */

typedef enum replay_mended {
    MENDED_NOT,   /* this remedy has nothing to mend: it is not a mending one */
    MENDED_GOOD,  /* carried out; `e` says what was done */
    MENDED_UNFIT, /* there is nothing that it could do, or it is not enough */
    MENDED_BROKE, /* something that it needs failed; e->mend_error says what */
} replay_mended;

/* Carries out a remedy on what goes out. Calls to the scene's model are logged. */
replay_mended replay_mend_do(replay_mend *m, const daruma_remedy *r, const daruma_failure *f, const daruma_evidence *ev,
                             const daruma_target *t, daruma_event *e, daruma_buf *log);
/* Asks the scene's model to apologise; empty when it fails. */
daruma_str replay_mend_apology(replay_mend *m, const daruma_failure *f, daruma_buf *log);
/* Looks at the tool calls of an answer: false when one is broken, then `why` says so for the model. */
bool replay_mend_check(replay_mend *m, daruma_str answer, daruma_str *why, daruma_buf *log);
/* Joins an answer to what the client has and logs how; false when it cannot be joined with certainty. */
bool replay_mend_join(replay_mend *m, daruma_str answer, daruma_buf *log);
/* Writes `body` on one line; twenty and more of one character as {{24 x}}. */
void replay_mend_show(daruma_str body, daruma_buf *log);
#endif
