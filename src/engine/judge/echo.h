/* echo.h - members of an error that are the request's own: a provider that sends back what it was sent ("input": {...})
 * says nothing with the codes, waits and numbers in it. */
#ifndef JUDGE_ECHO_H
#define JUDGE_ECHO_H
#include "engine/judge/reader.h"
#include "engine/judge/strings.h"

#define ECHO_MEMBERS_MAX 64 /* codes, statuses, waits and limits of one error; real ones have under 10 */

typedef struct echo_member {
    enum role role;
    daruma_str text;
    bool echoed; /* the request has a member of this role with this value */
} echo_member;

/* What an error says in members that are no words. All zero to begin with. */
typedef struct echo {
    echo_member members[ECHO_MEMBERS_MAX];
    size_t n;
    uint64_t lengths; /* of their texts, modulo 64: a bit each */
    bool over;        /* there were more, or not all of the request was looked at: what was not met says nothing */
    bool looked;      /* the request went by */
    bool any;         /* some of it is the request's own, or may be */
} echo;

/* Notes a member of the error; `text` must live as long as `e`. When the request went by: is it the request's own? */
bool echo_note(echo *e, enum role role, daruma_str text);
/* A value of the request, which is a member `key`, or a name with a number behind it: `s` of `request`, `end` behind
 * it. */
void echo_meet(echo *e, daruma_str request, const judge_text *s, size_t end);
/* The same for a value that stands alone. */
void echo_meet_value(echo *e, daruma_str key, daruma_str text);
/* All went by. `whole`: all of the request was looked at. */
void echo_end(echo *e, bool whole);
#endif
