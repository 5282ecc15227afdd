/* reader.h - one body being read: its members and JSON (reader.c), text (unwrap.c), what is nearly JSON (loose.c). */
#ifndef JUDGE_READER_H
#define JUDGE_READER_H
#include "engine/judge/unwrap.h"

/* What the member of an error object is to us. */
enum role {
    IS_NOTHING,
    IS_MESSAGE,  /* words for people */
    IS_TITLE,    /* words for people, less telling than a message */
    IS_CODE,     /* a name for the failure */
    IS_TYPE,     /* a name for its sort: many failures have it */
    IS_STATUS,   /* HTTP status as a number, else a name */
    IS_NEST,     /* holds another error, or text */
    IS_ATTEMPTS, /* errors of attempts; read where nothing else says why all of them failed */
    IS_CHOICES,  /* an answer that holds an error */
    IS_PARAM,
    IS_PATH, /* a list is one of a parameter, a text of a file */
    IS_WAIT, /* seconds, or a duration */
    IS_WAIT_MS,
    IS_RESET, /* a moment: unix seconds, milliseconds, or RFC 3339 */
    IS_QUOTA, /* the id of a quota: "...PerDay...", "...PerMinute..." */
    IS_LIMIT,
    IS_USED,
    IS_FINISH, /* why an answer ended */
    IS_RPC,
    IS_IS_ERROR,
};

typedef struct reader {
    said *s;
    daruma_arena *a;
    int best;          /* level of texts[0] */
    int code_rank;     /* of s->code: twice its level, one more when it is no type */
    int strings;       /* that hold what is read: JSON in JSON */
    unsigned values;   /* looked at so far: bounds the whole work */
    struct echo *echo; /* members that the request has as well say nothing */
} reader;

#define UNWRAP_VALUES_MAX 512 /* members of one error body; real ones have under 60 */
#define UNWRAP_BRACES_MAX 8   /* places in a text where JSON may begin */
#define PARAM_BYTES_MAX   200 /* a longer name of a parameter is none */
#define KEY_BYTES_MAX     24  /* the longest name in `keys` is shorter */

enum role reader_role(daruma_str key); /* of the member with this name */
bool reader_is_status(int64_t n);      /* 400 to 599 */
void reader_status(reader *r, int64_t status, said_how how);

/* What was found, at a level of nesting. */
void reader_code(reader *r, daruma_str code, int level, bool is_type); /* a code is shown rather than a type */
void reader_member(reader *r, enum role role, daruma_str text, int level);
void reader_text(reader *r, daruma_str text, int level); /* words for people */

void reader_value(reader *r, daruma_str value, int level); /* of JSON */
void reader_string(reader *r, daruma_str text, int level); /* what one of its strings holds */
void reader_any(reader *r, daruma_str text, int level);    /* unwrap.c: whatever it is */

/* loose.c: reads `"key": value`, `'key': value` and `key: "value"` wherever they stand. True when there was any. */
bool reader_loose(reader *r, daruma_str t, int level);
/* The name at t[i] when it is a key: `"key":` and `'key':` wherever they stand, and `key: "value"` behind a brace, a
 * comma or the beginning of a line, as Node prints objects, or a number behind it. `ret_value` is behind the colon and
 * its spaces. Empty:
 * none. */
daruma_str reader_key(daruma_str t, size_t i, size_t *ret_value);
/* Backslash escapes away: what a Python repr or a twice quoted string carries. */
daruma_str reader_unescape(reader *r, daruma_str raw);
/* An answer that breaks off: its words are the model's or the request's own, whatever they say. */
bool reader_cut_answer(daruma_str t);
/* The error, else the message, of a line of `key=value` pairs, with its quotes: time=... level=error msg="...", or of
 * lines of `key: value` pairs. Empty: there is none. */
daruma_str reader_logged(daruma_str t);
/* The words of a page, tags, scripts and styles away; its first CLASSIFY_MESSAGE_BYTES_MAX. */
daruma_str reader_page(reader *r, daruma_str t);
/* JSON whose quotes an editor made curly, `{\u201cdetails\u201d:...`, with straight ones; else `t`. */
daruma_str reader_straight(reader *r, daruma_str t);
/* Why an answer ended, as programs print its enum: "FinishReason.SAFETY", `["finishReason"]=>
 * enum(FinishReason::SAFETY)`, "finish_reason: RECITATION". Empty: none is named. */
daruma_str reader_finish(daruma_str t);
/* Class names and status numbers of the text around a message, or (is_all) of a bare message. */
void reader_prefix(reader *r, daruma_str t, bool is_all);
#endif
