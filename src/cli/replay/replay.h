/* replay.h - scenario files: what they hold and how they are run. doc/cases.md is their format. */
#ifndef CLI_REPLAY_REPLAY_H
#define CLI_REPLAY_REPLAY_H
#include "daruma_parts.h"
#include "dialect/dialect.h"
#include "engine/seeds/seeds.h"

enum {
    REPLAY_STEPS_MAX = 256, /* lines of an upstream or steps block */
    REPLAY_FILE_BYTES_MAX = 1 << 20,
    REPLAY_LOG_BYTES_MAX = 1 << 20,
    REPLAY_MODEL_MAX = 32,        /* answers of a scene's model */
    REPLAY_ROOM_BYTES = 64 << 20, /* memory of one scene of steps */
    REPLAY_AGENTS_MAX = 4,        /* of one scene */
    REPLAY_AGENT_TOOLS_MAX = 12,
    REPLAY_AGENT_RULES_MAX = 12, /* of one agent, all tools together */
};
#define REPLAY_PEOPLE "allowed denied interrupted expired resume" /* what people say, as agent_reply counts them */

/* A line of a file, and what is wrong there. */
typedef struct replay_place {
    const char *file;
    int line;
    char *why; /* of 256 bytes; empty: nothing */
} replay_place;

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

/* What an agent block says. */
typedef struct replay_agent_told {
    daruma_str name; /* behind the word "agent"; the first may have none */
    daruma_str task;
    agent_setup setup; /* mode, models, instructions, limits */
    agent_tool tools[REPLAY_AGENT_TOOLS_MAX];
    agent_rule rules[REPLAY_AGENT_RULES_MAX];
    daruma_str rule_of[REPLAY_AGENT_RULES_MAX]; /* the tool that the rule is about */
    size_t ntools, nrules;
    uint32_t moves;      /* 0: as the profile says */
    daruma_ms cancel_at; /* the run is interrupted then; 0: never */
    agent_retry retry;   /* of models */
} replay_agent_told;

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
    daruma_arena room;      /* of the stack of profiles */
    _Alignas(16) char stack[16 << 10];
    daruma_str expect; /* the log as the file has it */
    int expect_line;   /* of its first line */
} replay_scene;

/* Walks the scenes of a file. */
typedef struct replay_reader {
    replay_place at;
    daruma_str rest, title;
} replay_reader;

/* `why` is empty, and says what is wrong with the file behind a replay_next() that failed. */
replay_reader replay_open(const char *file, daruma_str text, char why[256]);
/* The next scene; false at the end or when the file is wrong. */
bool replay_next(replay_reader *r, replay_scene *ret);
/* Says "case.md:3: WHAT `ABOUT`", unless something is said already; false. */
bool replay_wrong(const replay_place *at, const char *what, daruma_str about);
/* The place of `v` in a list of words with blanks between; -1: it is none of them. */
int replay_word_index(daruma_str v, const char *words);
/* Adds a line to a block of at most `max`, and cuts "3x " off its front. NULL after it was told that it is full. */
replay_step *replay_step_add(replay_reader *r, daruma_str *line, replay_step *list, size_t *n, size_t max);
/* A line of an agent block. False after it was told what is wrong. */
bool replay_agent_line(const replay_place *at, daruma_str line, replay_agent_told *g);
/* A line of a tools block. */
bool replay_tool_line(replay_reader *r, daruma_str line, replay_scene *s);
/* Reads "retry-after=2"-like words: cuts the next word from *rest; false at the end. */
bool replay_word(daruma_str *rest, daruma_str *name, daruma_str *value);

typedef enum replay_type {
    REPLAY_SWITCH,   /* bool: "off on", or two other words */
    REPLAY_NUMBER,   /* int64_t */
    REPLAY_COUNT,    /* uint32_t */
    REPLAY_MILLI,    /* uint32_t, thousandths: "1.5" */
    REPLAY_DURATION, /* daruma_ms */
    REPLAY_TEXT,     /* daruma_str */
    REPLAY_WORD,     /* int: its place among words */
    REPLAY_OWN,      /* `read` takes it */
} replay_type;

/* A name, and the field that its value goes to. */
typedef struct replay_setting {
    const char *name;
    replay_type type;
    size_t at; /* offset */
    const char *words;
    bool (*read)(const replay_place *at, daruma_str v, void *to);
} replay_setting;

#define REPLAY_AT(type, member) .at = offsetof(type, member)

typedef struct replay_settings {
    const replay_setting *rows;
    size_t n;
    const char *others; /* what is said of a name that is none of them */
} replay_settings;
#define REPLAY_SETTINGS(rows, others) ((replay_settings){rows, COUNT(rows), others})

/* Sets the field of that name in *to. False after it was told what is wrong. */
bool replay_set(const replay_place *at, replay_settings of, daruma_str name, daruma_str v, void *to);
/* The same for each of the words "max_attempts=6 delay=2s". */
bool replay_set_words(const replay_place *at, replay_settings of, daruma_str words, void *to);
/* Cuts NAME[TRAITS] off the front: "poll[waits reads]". */
bool replay_tool_name(const replay_place *at, daruma_str *rest, agent_tool *ret);
/* A tool as scenes write it: NAME[TRAITS] [SCHEMA] [DESCRIPTION]. */
bool replay_tool_read(const replay_place *at, daruma_str text, agent_tool *ret);
/* ARGUMENTS -> RESULT of a call: -> it worked, !> it failed, ?> nobody says (ok: 1, 0, -1); or ARGUMENTS lost. False:
 * it is neither. */
bool replay_call(daruma_str text, daruma_str *args, daruma_str *result, int *ok, bool *lost);
/* A JSON string as its text, anything else as it stands. */
daruma_str replay_plain(daruma_str text, daruma_arena *a);
/* A duration "2s", "500ms", or plain milliseconds; -1 when it is none. */
daruma_ms replay_duration(daruma_str s);

/* "{{3000 x}}" is 3,000 times x, and "{n}" is `n` when that is not 0. Lives in `a`. */
daruma_str replay_expand(daruma_str text, uint32_t n, daruma_arena *a);

/* Plays the steps of a scene, of an agent that is not ours, and writes its log. */
bool replay_steps_run(replay_scene *s, daruma_buf *log, char why[256]);
/* Runs a scene and writes its log. False when it cannot be run; then `why` says so. */
bool replay_run(replay_scene *s, daruma_buf *log, char why[256]);
#endif
