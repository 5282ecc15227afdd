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
#define READER_MS_MAX              30000        /* a client that takes nothing of its answer for so long is let go */
#define LINGER_MS                  2000         /* a refused client may go on sending so long and still read why */
#define LINGER_BYTES_MAX           (8u << 20)   /* and so much */
#define AHEAD_BYTES_MAX            (64u << 10)  /* pipelined requests that wait in memory; then reading pauses */
#define CALL_ARENA_BYTES_MAX       (256u << 20) /* memory of one call, its body apart: a 64 MiB body edited twice */
#define DNS_CACHE_MS               30000        /* addresses of one origin; failures are not kept */
#define DNS_ADDRESSES_MAX          8            /* tried one after the other for one name */

#define WARD_PLACES                4096  /* things that can be sick and are remembered, of all tenants */
#define SESSIONS_MAX               4096  /* conversations whose key is remembered */
#define FIRST_BYTE_MS              60000 /* default for streams: a model that has not begun by then is stuck */
#define HEARTBEAT_FIRST_MS         10000 /* of silence towards a streaming client before the first heartbeat */
#define HEARTBEAT_EVERY_MS         10000 /* and between them */
#define RETRY_ADVICE_MS_MAX        60000 /* longer advice is not worth the client's waiting: x-should-retry false */

#define BACKOFF_STEPS_MAX          64      /* growth steps; a delay that doubles meets any cap before */
#define BACKOFF_SPREAD_DIV         8       /* waiters for one recovery spread over up to this part of the wait on top */
#define BUDGET_PERCENT             30      /* retries per 100 calls of the last minute, each provider */
#define BUDGET_FLOOR               10      /* retries a minute on top, so that a quiet client can recover too */
#define BUDGET_WINDOW_MS           60000   /* "the last minute" */
#define BREAKER_HALF_MS            15000   /* half of the span a breaker looks back on; calls to models take seconds */
#define BREAKER_CALLS_MIN          10      /* fewer calls prove nothing */
#define BREAKER_BAD_PERCENT        50      /* of them, and it opens: at 20 % faults retries do better than a breaker */
#define BREAKER_SHUT_MS            5000    /* first time shut; doubles with every trip in a row */
#define BREAKER_SHUT_MS_MAX        120000  /* longest time shut: a provider that is back is noticed within it */
#define BREAKER_PROBE_LOOK_MS      500     /* while the probe of a half-open breaker is out: look again after this */
#define WARD_CREDENTIALS_MS        300000  /* a refused key, lane or model rests so long, then one call may probe it */
#define WARD_QUOTA_MS              300000  /* an empty account rests so long at first; doubles */
#define WARD_QUOTA_MS_MAX          3600000 /* and at most so long: credit that was bought is noticed within it */
#define WARD_PROBE_MS              30000   /* others keep off while one call probes what had refused */
#define WARD_COOL_MS_MAX           86400000 /* longer advice is an error of the provider's clock or ours */

#define MEND_SHRINKS               2    /* times one request is sent again shorter (PenguiFlow's max_compress_retries) */
#define MEND_LARGE_CHARS           2000 /* longer tool output is summarised (its compression_threshold_chars) */

#define HEAD_BYTES_USUAL           900 /* fields of an answer in memory; glibc hands out up to 1 KiB without a search */
#define HASHED_BYTES_MAX           240 /* of a text that a conversation is known by; XXH3 is cheapest up to here */

#define EXCHANGES_KEPT             256    /* used exchanges kept for the next requests */
#define CLIENT_ROOM_MS_MAX         1000   /* of the client's own timeout, left for our answer to arrive */
#define CASES_MAX                  1024   /* failed cases kept so that a client's own retry continues them */
#define CASE_MS_MAX                120000 /* and for how long; SDKs retry within seconds */
#define NOTICES_MAX                4096   /* hashes of messages daruma wrote */
#define KEY_COMMAND_MS_MAX         15000  /* a key command; password managers may ask a daemon */
#define EVENT_SUBSCRIBERS_MAX      64     /* listeners on /daruma/events */

#define CONFIG_BYTES_MAX           (1u << 20)  /* a configuration file; real ones have a few KiB */
#define CONFIG_PROVIDERS_MAX       64          /* providers in one file */
#define CONFIG_KEYS_MAX            64          /* keys of one provider */
#define CONFIG_HEADERS_MAX         32          /* extra headers of one provider */
#define CONFIG_MODELS_MAX          1024        /* models in one file; looked up by walking */
#define CONFIG_PROCESS_BYTES_MAX   (64u << 10) /* output of a key command; a key has a few hundred bytes */

#define CHAOS_SCRIPT_BYTES_MAX     (1u << 20) /* a script of the faulty provider, as read; thousands of faults */
#define CHAOS_BODIES_MAX           (1u << 20) /* different request bodies whose calls are counted; 16 MiB of counts */
#define CHAOS_NAMES_MAX            256        /* models, keys, faults and paths counted each by its name */

#endif
