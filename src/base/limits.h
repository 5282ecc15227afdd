/* limits.h - every bound on outside data: name, unit, reason. */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#define JSON_DEPTH_MAX             512 /* levels; deeper than any API answers, shallow enough for a bit stack */
#define JSON_UNWRAP_LEVELS_MAX     8   /* JSON inside JSON strings; seen in the wild: 3 */
#define CLASSIFY_BODY_BYTES_MAX    (256u << 10) /* an error body beyond this says nothing new */
#define CLASSIFY_MESSAGE_BYTES_MAX 4096         /* of one message; longer ones echo the prompt */
#define FAILURE_TEXT_BYTES_MAX     500          /* of a message in an event or an explanation */

#define HTTP_HEAD_BYTES_MAX        (64u << 10) /* request or answer head; Node allows 16 KiB, agents send large betas */
#define HTTP_HEADERS_MAX           128         /* fields in one head */
#define HTTP_URL_BYTES_MAX         (16u << 10) /* request target */
#define HTTP_CHUNK_LINE_BYTES_MAX  256         /* chunk size with extensions */
#define BODY_BYTES_MAX             (64u << 20) /* request body, default of `limits.body` */
#define ANSWER_HELD_BYTES_MAX      (16u << 20) /* of a plain answer that is checked before it goes out */
#define STREAM_HELD_BYTES_MAX      (256u << 10) /* of a stream before its commit point */
#define SSE_EVENT_BYTES_MAX        (4u << 20)   /* one event; images come as one */

#define CONNECTIONS_MAX            8192         /* open client connections, default of `limits.connections` */
#define HEAD_MS_MAX                10000        /* from the first byte of a head to its last */
#define BODY_IDLE_MS_MAX           30000        /* silence within a request body */
#define KEEPALIVE_MS               75000        /* idle client connection; longer than clients keep theirs */
#define POOL_IDLE_MS               30000        /* idle upstream connection; shorter than providers keep theirs */
#define POOL_IDLE_MAX              128          /* idle upstream connections to one origin */
#define WRITE_QUEUE_BYTES_MAX      (256u << 10) /* waiting for a slow reader before the other side is paused */

#define WARD_PLACES                4096  /* things that can be sick and are remembered, of all tenants */
#define SESSIONS_MAX               4096  /* conversations whose key is remembered */
#define HEARTBEAT_FIRST_MS         10000 /* of silence towards a streaming client before the first heartbeat */
#define HEARTBEAT_EVERY_MS         10000 /* and between them */
#define RETRY_ADVICE_MS_MAX        60000 /* longer advice is not worth the client's waiting: x-should-retry false */

#endif
