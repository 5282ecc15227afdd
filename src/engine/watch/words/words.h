/* words.h - what the words of tools, commands and results mean to who looks for circles. Tables, no judgement. */
#ifndef ENGINE_WATCH_WORDS_WORDS_H
#define ENGINE_WATCH_WORDS_WORDS_H
#include "daruma_parts.h"

/* What the words of a call say, beside the bits of daruma_trait. */
enum words_call {
    WORDS_PAUSES = 1 << 8,   /* does nothing but let time pass */
    WORDS_ASKS = 1 << 9,     /* asks how something is getting on; weaker than DARUMA_TOOL_WAITS */
    WORDS_RANDOM = 1 << 10,  /* another answer each time, and all are wanted: by chance, by measuring, the next one */
    WORDS_INPUT = 1 << 11,   /* a key, a click, one step on: doing it often is how it is used */
    WORDS_SHELL = 1 << 12,   /* runs what its arguments say */
    WORDS_MOVES = 1 << 13,   /* may stand for something that moves by itself: a sensor, a screen, a log */
    WORDS_WEAK = 1 << 16,    /* could be a noun as well */
    WORDS_SHORTEN = 1 << 17, /* with HISTORY: compaction */
    WORDS_HISTORY = 1 << 18,
    WORDS_STILL = 1 << 19,   /* what it asks after does not go on by itself */
    WORDS_CHANGES = 1 << 20, /* a command that may change something, or nothing is known of it */
    WORDS_ONCE = 1 << 21,    /* sends, pays, makes: who means it once does it once */
    WORDS_KEYS = 1 << 22,    /* keys and what is typed: input, whatever verb stands before it */
    WORDS_SEEKS = 1 << 23,   /* looks for what words say; their order makes no difference */
    WORDS_FINDS = 1 << 24,   /* what it finds comes in whatever order */
    WORDS_IDLE = 1 << 25,    /* a command whose answer stands in it: "true", "echo ok" */
};

/* What the words of a result say. */
enum words_result {
    WORDS_EMPTY = 1 << 0,    /* nothing was found, there is nothing */
    WORDS_ACK = 1 << 1,      /* "ok", "sent": that it was done, no more */
    WORDS_ALIVE = 1 << 2,    /* it goes on, it will change */
    WORDS_OVER = 1 << 3,     /* it came to its end, well or not */
    WORDS_RETRY = 1 << 4,    /* may pass by itself */
    WORDS_ABSENT = 1 << 5,   /* what was asked for is not there */
    WORDS_REFUSED = 1 << 6,  /* may not, or was asked wrongly: it will not pass by itself */
    WORDS_UNCLEAR = 1 << 7,  /* whether it took effect is unknown */
    WORDS_SHORT = 1 << 8,    /* a word or a number */
    WORDS_STATED = 1 << 9,   /* how one thing stands, in a word that nobody knows: of any language */
    WORDS_HEARD = 1 << 10,   /* it was looked at: always there */
    WORDS_STANDS = 1 << 11,  /* with ALIVE: it is said of how one thing stands, not in passing */
    WORDS_LIMITED = 1 << 12, /* with RETRY: it was asked too often */
    WORDS_FEW = 1 << 13,     /* at most six words, short ones */
    WORDS_MISUSED = 1 << 15, /* with REFUSED: it complains of the arguments */
    WORDS_SAME = 1 << 17,    /* nothing was changed */
    WORDS_UNMADE = 1 << 20,  /* no connection was made: it had no effect */
    WORDS_PLEA = 1 << 21,    /* with REFUSED: the call is to be mended first */
};

/* Bits of daruma_trait and words_call. */
unsigned words_of_tool(daruma_str name);
/* The same for the words of an action, {"action":"poll"}, and the like. */
unsigned words_of_action(daruma_str value);
/* Of a command line: READS when all of it only looks, PAUSES or WAITS when it waits, CHANGES, MEASURES. */
unsigned words_of_command(daruma_str command);
/* WAITS when a program in any language lets time pass: "time.sleep(2)", "setTimeout(done, 500)". */
unsigned words_of_code(daruma_str code);
/* Bits of words_result. Looks at the beginning and the end. What is quoted from `args` of the call says of nothing that
 * it may pass by itself. */
unsigned words_of_result(daruma_str result, daruma_str args, bool failed);

/* What the name of an argument, or of a member of a result, is about. Spelt in any way. */
enum words_name {
    NAME_NONCE = 1 << 0,     /* makes calls differ and nothing else */
    NAME_TIME = 1 << 1,      /* the same, when its value is the time */
    NAME_REASON = 1 << 2,    /* why the model makes the call */
    NAME_TITLE = 1 << 3,     /* the same, beside a command */
    NAME_COMMAND = 1 << 4,   /* a command, code */
    NAME_QUERY = 1 << 5,     /* words to look for, in any order */
    NAME_PAGE = 1 << 7,      /* where to go on in something long */
    NAME_WAIT = 1 << 8,      /* how long to wait */
    NAME_LIMIT = 1 << 9,     /* how long it may take; waiting only where nothing else is done */
    NAME_ACTION = 1 << 10,   /* what to do */
    NAME_VOLATILE = 1 << 11, /* of a result: changes by itself */
    NAME_STATE = 1 << 12,    /* of a result: how it stands */
    NAME_UNIT = 1 << 13,     /* a word before a duration that nobody asked for */
    NAME_MOMENT = 1 << 15,   /* never of a name: the value is a date or a time */
    NAME_SEEKS = 1 << 16,    /* with QUERY: it can be nothing else */
    NAME_PROSE = 1 << 17,    /* never of a name: the value is words with blanks between */
};
unsigned words_of_name(daruma_str name);
#endif
