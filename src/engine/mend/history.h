/* history.h - small moves that pairs.c and messages.c share. */
#ifndef MEND_HISTORY_H
#define MEND_HISTORY_H
#include "engine/mend/mend.h"

/* Said by us in the user's place where a wire wants the user to speak and nobody did. */
#define HISTORY_GO_ON "[Please go on.]"
/* ... where what the user had sent is gone and the message has to stay. */
#define HISTORY_NOTHING "[Nothing was said here.]"

/* Is it on the wire? */
static inline bool history_on(const convo_message *m)
{
    return !m->dropped;
}
/* Has the wire one of these quirks (convo_quirk)? */
static inline bool history_wire(const convo *c, uint32_t quirks)
{
    return (c->quirks & quirks) != 0;
}
static inline bool history_chat(const convo *c)
{
    return !history_wire(c, WIRE_RESULTS_IN_USER | WIRE_FLAT | WIRE_NO_IDS);
}
static inline bool history_anthropic(const convo *c)
{
    return history_wire(c, WIRE_RESULTS_IN_USER) && !history_wire(c, WIRE_NO_IDS);
}
bool history_has(const convo_message *m, part_kind kind); /* is one of its parts on the wire of that kind? */
size_t history_parts(const convo_message *m);             /* how many of its parts are on the wire */
/* Index of the next message behind `at` that is on the wire; nmessages when none. */
size_t history_next(const convo *c, size_t at);
/* The one before; STR_NONE when none. The system prompt that stands apart does not count. */
size_t history_before(const convo *c, size_t at);
/* A part becomes a text of ours. */
void history_text(convo *c, convo_message *m, convo_part *p, daruma_str text);
/* One more text of ours at the end of a message; NULL: there was no memory for that one. */
void history_add(convo *c, convo_message *m, daruma_str text);
/* A new message with a text, at index `at`. Moves all behind it: for many, see history_insert. */
void history_say(convo *c, size_t at, convo_role role, daruma_str text);
/* The name of the tool whose call has that id and stands in or before message `at`, near it; empty: there is none. */
daruma_str history_tool(const convo *c, size_t at, daruma_str id);
/* Messages of ours that are to come into the list, in one pass: `text` of `role` before the message that has the index
 * `at` now. In order of `at`. */
typedef struct history_inserts {
    struct history_insert {
        size_t at;
        convo_role role;
        daruma_str text;
    } * p;
    size_t n, cap;
} history_inserts;
void history_insert_later(convo *c, history_inserts *list, size_t at, convo_role role, daruma_str text);
void history_insert(convo *c, const history_inserts *list);
/* Said to the model at the end of the conversation: by the user, in their newest message where the wire wants turns. */
void history_tell_model(convo *c, daruma_str text);
/* Has it something that a provider checks, and so must stay as it is or go whole? */
bool history_sealed(const convo_message *m);
/* An item of the Responses wire goes without its id; thinking and references, which are nothing without it, go whole.
 */
void history_drop_id(convo *c, convo_message *m);
/* Neighbours of one role become one message; a sealed one is parted from the one before by a word of the user instead.
 * Returns how often. Nothing on a flat wire. */
uint32_t history_merge(convo *c);
#endif
