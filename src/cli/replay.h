/* replay.h - scenario files: what they hold and how they are run. doc/cases.md is their format. */
#ifndef CLI_REPLAY_H
#define CLI_REPLAY_H
#include "daruma_parts.h"
#include "cli/replay_agent.h"
#include "dialect/dialect.h"

enum {
    REPLAY_STEPS_MAX = 256, /* lines of an upstream or steps block */
    REPLAY_FILE_BYTES_MAX = 1 << 20,
    REPLAY_LOG_BYTES_MAX = 1 << 20,
    REPLAY_MODEL_MAX = 32,        /* answers of a scene's model */
    REPLAY_ROOM_BYTES = 64 << 20, /* memory of one scene of steps */
    REPLAY_TURNS_MAX = 10000,     /* inputs of one request: more is a bug of ours */
};

/* One line of an upstream, steps, tools or people block. */
typedef struct replay_step {
    int line;
    uint32_t times;        /* how often it is still to happen */
    daruma_str where, key; /* only calls to this "provider/model" and key; empty: any */
    daruma_str what;       /* the outcome, or "request ..." or "advance ..."; what a tool gives, or a person says */
    int ok;         /* of a tool: 1 it worked, 0 it failed, -1 nobody says; `key` are its arguments, empty: any */
    bool lost;      /* ... whether it had its effect is unknown */
    daruma_ms took; /* a tool, a person */
} replay_step;

typedef struct replay_scene {
    const char *file;
    daruma_str title;
    daruma_policy policy;
    daruma_target targets[DARUMA_CASE_TRIED];
    size_t ntargets;
    daruma_ms deadline; /* from each request on, -1 none */
    int64_t seed;
    bool refresh;
    bool explain, rules;    /* the log has the explanation, the rule that judged */
    bool fields, sent;      /* the log has the fields of events; the body when it changes */
    const dialect *dialect; /* of the body */
    daruma_str body;        /* of each request; empty: one that says hello */
    bool stream;            /* the answer is asked for as a stream, whatever the body says */
    int body_line;
    daruma_str model[REPLAY_MODEL_MAX]; /* answers to what remedies ask, in order; "fail" fails */
    size_t nmodel;
    replay_step steps[REPLAY_STEPS_MAX];
    size_t nsteps;
    replay_step tools[REPLAY_MODEL_MAX]; /* what tools give: `where` is the tool, `what` the result */
    size_t ntools;
    replay_agent_told agents[REPLAY_AGENTS_MAX]; /* whole agents; the first one runs, it may delegate to the others */
    size_t nagents;
    replay_step people[REPLAY_MODEL_MAX]; /* what people answer, in order */
    size_t npeople;
    daruma_str profile;     /* as the scene names it; empty: default */
    bool agent;             /* the lines are steps of an agent */
    int watch;              /* daruma_watch_mode: what may be done about circles */
    daruma_str key;         /* failures count under it; empty: under the tool */
    bool messages, notices; /* the log has what failed in words; the notices to the model */
    bool counts;            /* the log has the counters behind each failure */
    bool progress;          /* the log has steps with and without progress, and the nudges */
    daruma_str expect;      /* the log as the file has it */
    int expect_line;        /* of its first line */
} replay_scene;

/* Walks the scenes of a file. */
typedef struct replay_reader {
    const char *file;
    daruma_str text, rest;
    int line; /* lines read */
    daruma_str title;
    char why[256];     /* what is wrong with the file, with its line; empty: nothing */
    daruma_arena room; /* of the scene's stack of profiles */
    _Alignas(16) char stack[16 << 10];
} replay_reader;

replay_reader replay_open(const char *file, daruma_str text);
/* The next scene; false at the end or when the file is wrong (then `why` says so). */
bool replay_next(replay_reader *r, replay_scene *ret);
/* Says what is wrong with the line at hand; false. */
bool replay_wrong(replay_reader *r, const char *what, daruma_str about);
/* The place of `v` in a list of words with blanks between; -1: it is none of them. */
int replay_word_index(daruma_str v, const char *words);
/* "3x " before a line: it happens three times. */
uint32_t replay_times(daruma_str *line);
/* A line of a tools block. */
bool replay_tool_line(replay_reader *r, daruma_str line, replay_scene *s);
/* Reads "retry-after=2"-like words: cuts the next word from *rest; false at the end. */
bool replay_word(daruma_str *rest, daruma_str *name, daruma_str *value);
/* A duration "2s", "500ms", or plain milliseconds; -1 when it is none. */
daruma_ms replay_duration(daruma_str s);

/* "{{3000 x}}" is 3,000 times x, and "{n}" is `n` when that is not 0. Lives in `a`. */
daruma_str replay_expand(daruma_str text, uint32_t n, daruma_arena *a);

/* Runs a scene and writes its log. False when it cannot be run; then `why` says so. */
bool replay_run(replay_scene *s, daruma_buf *log, char why[256]);
#endif
