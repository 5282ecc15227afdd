/* event_stream.h - Amazon's framing of streams (application/vnd.amazon.eventstream), in which Bedrock sends the events
 * of Anthropic's API: https://smithy.io/2.0/aws/amazon-eventstream.html. All numbers are big-endian.
 *
 *     | all bytes 4 | header bytes 4 | CRC 4 |  headers  |  payload  | CRC 4 |
 *      ------- checked by this one --        ...
 *      ----------------- checked by the last one -------------------
 *
 *     header:  | n 1 | name n | type 1 | value |      a string (type 7) is  | n 2 | text n |
 *     payload: {"bytes":"..."}, an event of Anthropic's in base64; of an exception {"message":"..."} */
#ifndef DIALECT_EVENT_STREAM_H
#define DIALECT_EVENT_STREAM_H
#include "daruma_parts.h"

typedef enum event_stream_found {
    EVENT_STREAM_MORE,  /* the message is not whole yet */
    EVENT_STREAM_TAKEN, /* it was taken */
    EVENT_STREAM_BAD,   /* it is none, or damaged: nothing behind its place can be read */
} event_stream_found;

/* Takes a message from the front of *rest and appends what it says as Anthropic's API would send it, a server-sent
 * event; nothing where it has nothing for a client. */
event_stream_found event_stream_next(daruma_str *rest, daruma_buf *out);
#endif
