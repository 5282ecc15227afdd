/* limits.h - every bound on outside data: name, unit, reason. */
#ifndef BASE_LIMITS_H
#define BASE_LIMITS_H

#define JSON_DEPTH_MAX          512          /* levels; deeper than any API answers, shallow enough for a bit stack */
#define JSON_UNWRAP_LEVELS_MAX  8            /* JSON inside JSON strings; seen in the wild: 3 */
#define UNWRAP_DEPTH_MAX        48           /* objects of an error in each other: four a string, and some */
#define PASTED_LINES_MAX        400          /* typed or chattered before the head of a pasted answer; curl -v has 40 */
#define CLASSIFY_BODY_BYTES_MAX (256u << 10) /* an error body beyond this says nothing new */
#define QUOTE_REQUEST_BYTES_MAX                                                                                        \
    (6u << 20) /* of a request, that an error may quote, looks at words counted: up to 30 ms of the one loop */
#define QUOTE_MARKS_BYTES          256     /* marks that stand further from words are not around them */
#define QUOTE_LOOKS_MAX            3000000 /* at words of an error that fields and names may cost: 10 to 30 ms of it */
#define CLASSIFY_MESSAGE_BYTES_MAX 4096    /* of one message; longer ones echo the prompt */
#define FAILURE_TEXT_BYTES_MAX     500     /* of a message in an event or an explanation */
#define JOIN_ID_MAX                128 /* bytes of an id that a client or a provider gave, in an event: UUIDs have 36 */
#define EVENT_LINE_MAX             16384 /* bytes of one event as a line: some texts of 500, most of them much shorter */
#define LOG_TOLD_S                 60    /* seconds: it is said again no sooner that a log cannot be written */
#define LOG_HELD_MS                10 /* a line of the usage log waits so long for others: 80 come in 2 under full load */
#define LOG_HELD_BYTES             (16u << 10) /* of the usage log, written together: some 80 lines */
#define REASON_MAX                 1500  /* bytes of the reason in an event: an explanation with what failed where */
#define TRIED_SAID_MAX             8     /* targets that an explanation names with what failed there */
#define LATE_MS_MIN                1000  /* later than it would have been: nobody asks why of less */
#define LATE_UNKNOWN_MS            5000  /* ... where nobody knows how long its model usually takes */
#define LATE_UNKNOWN_WHOLE_MS      60000 /* ... and it is not streamed: many answers are written for so long */
#define SPENT_TOLD_DIV             50    /* a smaller part of its time than this one is none that anybody asks for */
#define SPENT_MAX                  12    /* parts of the time of one request that are told apart */

#define HTTP_HEAD_BYTES_MAX        (64u << 10) /* request or answer head; Node allows 16 KiB, agents send large betas */
#define HTTP_HEADERS_MAX           1024 /* fields in one head; 128 and more came from providers behind several proxies */
#define HTTP_URL_BYTES_MAX         (16u << 10)  /* request target */
#define MULTIPART_BOUNDARY_MAX     70           /* characters of a form's boundary: RFC 2046, 5.1.1 */
#define HTTP_CHUNK_LINE_BYTES_MAX  256          /* chunk size with extensions */
#define BODY_BYTES_MAX             (64u << 20)  /* request body, default of `limits.body` */
#define ALL_BODIES_BYTES_MAX       (1u << 30)   /* of all request bodies at a time, default of `limits.memory` */
#define ANSWER_HELD_BYTES_MAX      (16u << 20)  /* of a plain answer that is checked before it goes out */
#define ANSWER_ARENA_BYTES_MAX     (128u << 20) /* of one attempt: such an answer as it grew, read and written anew */
#define STREAM_HELD_BYTES_MAX      (256u << 10) /* of a stream before its commit point */
#define SSE_EVENT_BYTES_MAX        (4u << 20)   /* one event; images come as one */
#define SSE_STRING_BYTES_KEPT      256 /* of each string of a longer event, which is read without the rest: ids, reasons */
#define EVENT_STREAM_BYTES_MAX     (6u << 20) /* one message of Amazon's event stream: such an event in base64 */

#define CONNECTIONS_MAX            8192  /* open client connections, default of `limits.connections` */
#define HEAD_MS_MAX                10000 /* from the first byte of a head to its last */
#define HEAD_CROWDED_MS_MAX        1000  /* ... while all connections are taken: heads come in one or two packets */
#define GREETING_CROWDED_MS_MAX    100   /* likewise, from accept to the first byte: clients connect to ask */
#define BODY_IDLE_MS_MAX           30000 /* silence within a request body */
#define BODY_MS_MAX                60000 /* a whole request body may take so long ... */
#define BODY_BYTES_PER_MS_MIN      4     /* ... and a millisecond more for so many bytes of it that came */
#define KEEPALIVE_MS               75000 /* idle client connection; longer than clients keep theirs */
#define RESET_LOOK_MS              25    /* so often a silent client is looked at: has it gone? */
#define KEEPALIVE_FIRST_S          30 /* of silence on a connection to a provider before TCP asks whether it is there */
#define KEEPALIVE_EVERY_S          10 /* and between two such questions */
#define KEEPALIVE_TIMES            6  /* without an answer, and it is gone */
#define POOL_IDLE_MS               30000 /* idle upstream connection; shorter than providers keep theirs */
#define POOL_IDLE_MAX              128   /* idle upstream connections to one origin */
#define POOL_AGAIN_TRIPS           2     /* round trips behind sending: who closed before we sent is heard by then */
#define POOL_AGAIN_MS_MIN          25    /* of them: a busy loop hears later; little work is done in less */
#define POOL_AGAIN_MS_MAX          500   /* of them: nobody is so far away, a slow handshake says nothing */
#define WRITE_QUEUE_BYTES_MAX      (256u << 10) /* waiting for a slow reader before the other side is paused */
#define GATHERED_BYTES             (64u << 10) /* small writes of one turn of the loop that go out together: 30 of 2 KB */
#define GATHERED_PIECE_BYTES_MAX   (8u << 10) /* of each; to copy more costs as much as to wake its reader */
#define GATHERED_MAX               64         /* connections they are for: the first waits for 64 requests, 1 ms */
#define READER_MS_MAX              600000     /* a client that takes nothing of its answer for so long is let go; ... */
#define READER_CROWDED_MS_MAX      30000      /* ... for so long, while the gateway stops or answers fill their room */
#define READERS_BYTES_MAX          (256u << 20) /* that room: of all answers together that wait for their clients */
#define DRAIN_REQUEST_MS_MAX       5000 /* a request that is not whole so long after the order to stop is refused */
#define LINGER_MS                  2000 /* of silence: who is refused reads why behind all that it sends */
#define LINGER_BYTES_MAX           (8u << 20)   /* of what it sends, if it announced no longer body */
#define SERVER_PLAIN_BYTES         (16u << 10)  /* read out of TLS, or put into it, at a time: one record */
#define AHEAD_BYTES_MAX            (64u << 10)  /* pipelined requests that wait in memory; then reading pauses */
#define CALL_ARENA_BYTES_MAX       (256u << 20) /* memory of one call, its body apart: a 64 MiB body edited twice */
#define REDACT_INDEX_BYTES_USUAL   (12u << 10)  /* to look for a few credentials: two indices, and their forms */
#define DNS_CACHE_MS               30000        /* addresses of one origin; failures are not kept */
#define DNS_ADDRESSES_MAX          8            /* tried one after the other for one name */

#define HEALTH_PLACES              4096  /* things that can be sick and are remembered, of all tenants */
#define SESSIONS_MAX               4096  /* conversations whose key is remembered */
#define ERROR_BODY_MS_MAX          5000  /* for the words behind an error status; the status alone says enough */
#define HEARTBEAT_FIRST_MS         10000 /* of silence towards a streaming client before the first heartbeat */
#define HEARTBEAT_EVERY_MS         10000 /* and between them */
#define HEARTBEATS_SILENT_MAX      60 /* while nothing comes of an answer that has begun: ten minutes, as SDKs wait */
#define RETRY_ADVICE_MS_MAX        60000 /* longer advice is not worth the client's waiting: x-should-retry false */
#define ADVICE_DAYS_MAX            32 /* longer advice is a mistake and says nothing: allowances are a month's at most */

#define NAMED_SURE_MS              10000 /* a shorter wait that a provider names is not tested */
#define NAMED_TEST_MS              1500  /* ... a longer one is, first after this: rounding may hide a second */
#define ADVICE_ROUNDS_MS           1000  /* Retry-After is in whole seconds */
#define BACKOFF_STEPS_MAX          64    /* growth steps; a delay that doubles meets any cap before */
#define BACKOFF_OTHERS_STEPS       4     /* where others are answered meanwhile, waiting longer helps nobody */
#define BACKOFF_SAVED_CALLS        8     /* ... but for so many last calls: a step more, to last for the patience */
#define BACKOFF_SPREAD_DIV         8     /* waiters for one recovery spread over up to this part of the wait on top */
#define PATIENCE_MS                120000 /* default of recovery.patience: agents run unattended; outages last a minute */
#define KEY_TRUSTED_MS             600000 /* so long a key that was taken is asked once more when it is refused */
#define KEY_TRUSTED_MIN            2      /* so many answers of a key or model, and a refusal after them may pass */
#define NARROW_MS                  600000 /* so long a body as large as one that was refused for its bytes goes elsewhere first */
#define REFUSED_PASSES_MS          20000 /* ... and waited for: who checks keys is out of order for seconds */
#define QUOTA_PASSES_MS            3000 /* ... but an account without credit as long as SDKs ask again: it seldom passes */
#define VAGUE_BELOW                85   /* percent: a refusal judged with less may be a page of somebody on the way */
#define WAIT_MS_MIN                100  /* before a repeat, whatever the dice say */
#define WAIT_SHORT_MS              1000 /* a shorter rest is waited for though another model is well */
#define WAITERS_LOOKED_MAX         256 /* the oldest of those who wait: so many are looked at, whoever of them may go */
#define WAITERS_EACH_MS            100 /* who was refused so often is not sent out sooner because others are answered */
#define TURNS_GIVEN_MAX            5 /* ... nor who was refused more often: its last tries are for an outage that lasts */
#define WAIT_REST_MS               2000 /* who only has to slow down for so long is waited for, rather than ask who is sick */
#define BUDGET_EMPTY_STEPS         2     /* steps of backoff more while a provider's retry budget is empty */
#define BUDGET_PERCENT             30    /* retries per 100 calls of the last minute, each provider */
#define BUDGET_FLOOR               10    /* retries a minute on top, so that a quiet client can recover too */
#define BUDGET_WINDOW_MS           60000 /* "the last minute" */
#define BREAKER_HALF_MS            15000 /* half of the span a breaker looks back on; calls to models take seconds */
#define BREAKER_CALLS_MIN          6     /* fewer calls prove nothing about a share */
#define BREAKER_BAD_PERCENT        50    /* of them, and it opens: at 20 % faults retries do better than a breaker */
#define BREAKER_OPEN_ROW           2     /* failures in a row, and it opens: one may be chance */
#define BREAKER_DOWN_ROW           5     /* failures in a row of two requests, and it seems to be down altogether */
#define BREAKER_ROW_MAX            16    /* of a row that ended with a success, so much is remembered at most */
#define BREAKER_ROWS_TIMES         6 /* ... and where rows are usual, so many times as many and it seems to be down */
#define BREAKER_OPEN_MS            1000 /* first time open; doubles with every trip in short order */
#define BREAKER_FORGIVEN_TIMES     2    /* closed for so many times as long as it was open, one trip is forgiven */
#define BREAKER_PASSED_MIN         100 /* calls that go elsewhere before one probes, or REST_MS_MAX: a probe is cheap */
#define BREAKER_PROBE_MS           10000 /* a probe that hangs keeps others off so long */
#define BREAKER_PROBE_LOOK_MS      500   /* while a probe is out: look again after this */
#define BREAKER_SERVED_TIMES       3     /* as long out as the probe before it took to fail: it is being served */
#define HURRY_DIV                  4     /* nobody waits for more than this part of his time without asking */
#define HURRY_DOWN_DIV             16 /* of the time a place is down: after such a part somebody who is short of time asks */
#define ALONE_MS_MIN               500 /* between two calls to what seems to be down, for those who have nobody else */
#define ALONE_CALLS                3   /* so often an SDK asks without us: who is short of time does, too */
#define ALONE_LOOK_MS              200 /* who is short of time looks again after this whether it is back */
#define REST_MS_MAX                30000 /* the longest rest that nobody named: what is back is noticed within it */
#define REST_WRONG_MS              2000 /* the first rest of a model whose answers are wrong; the next ones are twice as long */
#define REST_TOLD_TIMES            2    /* in a row that "come again in 0 s" is believed: some say so to everybody */
#define REST_DOUBTED_MS_MAX        1000 /* ... and so is whatever is shorter than this; who names seconds means them */
#define PACE_MS_MAX                20000 /* until a stated limit ends, to be waited for: some state when all of it is back */
#define PACE_PROOF_MS              600000 /* a limit of tokens that refused is kept to for so long: our counts may be wrong */
#define PACE_TOKENS_MS_MAX         120000 /* the same of tokens, whose limits are of a minute: twice that is the bound */
#define CROWD_TURNS                2 /* so often calls are served and refused by turns: it is no chance, of calls at once */
#define CROWD_TURN_MS              10000 /* ... each in so short a time: limits of a minute have longer ones */
#define CROWD_STEPS_MAX            10    /* without a refusal twice as many are let in, and after so many steps all */
#define TURNS_BAD_MAX              2     /* so many are refused who had their turn, and it is no matter of turns ... */
#define TURNS_GOOD_EACH            4     /* ... or one more for each so many who were served */
#define TEMPO_CALLS_MIN            4     /* out at once when one is refused: fewer do not hinder each other */
#define TEMPO_MS                   100   /* between calls then, at first; it doubles with each refusal */
#define TEMPO_DIV                  8     /* ... shrinks by such a part with each that is served */
#define TEMPO_VAIN_TIMES           4     /* ... that often longer while nobody is served: that seems an outage */
#define TEMPO_QUIET_TIMES          20    /* ... ends that often as long after the newest refusal */
#define TEMPO_MS_MAX               2000  /* ... and where it would be longer nobody is served there */
#define HEARSAY_REST_MS_MAX        5000  /* ... of which words alone speak: the next request finds out more */
#define HEDGE_MS_MIN               250 /* of silence before another is asked: less is noise, of the network and of this machine */
#define HEDGE_UNKNOWN_MS           2000  /* ... where nothing is known of the model, and no head of a stream came */
#define HEDGE_PLAIN_MS             5000  /* ... and no head of an answer in one piece, which comes when it is ready */
#define HEDGE_BEGUN_MS             60000 /* ... and the head of its stream came: it is at work */
#define HEDGE_STALL_MS             10000 /* ... between two pieces of content: models that look something up pause */
#define HEDGE_THINKS_MS            30000 /* ... or more, while it thinks, which it shows with long pauses */
#define HEDGE_SICK_MS              2000  /* ... of a target that is known to be sick, where its neighbour is unknown */
#define HEDGE_SAME_MS              15000 /* ... where only another key of the same model is left to ask */
#define HEDGE_PAUSE_MS             1000  /* a shorter usual pause counts as this: they differ by what is written */
#define HEDGE_DEAD_MS              60000 /* calls that hung at a place that is well again are of one outage within this */
#define HEDGE_LOOK_MS              500   /* health changes meanwhile: a silent call is looked at so often */
#define HEDGES_EACH_MAX            6     /* second calls of one request: by then somebody would have answered */
#define HEDGE_PERCENT              3     /* second calls in vain beside a silent one per 100 calls of the last minute */
#define ANSWER_OVER_MS             3000 /* of silence behind the end of an answer: then it is over */
#define ANSWER_SETTLED_MS          5000 /* ... behind words and a stop reason: nothing but its marker may come */
#define ANSWER_COUNTS_MS           10000 /* ... or the counts of tokens that were asked for: they come at once, or never */
#define ANSWER_CALLS_MS            20000 /* ... or what follows calls that its provider makes himself, and does not show */
#define HEDGE_NOTED_TIMES          3     /* as long silent as is usual, and the model counts as failing */
#define HEDGE_KNOCK_TIMES          10    /* ... and where nobody else is well a second call asks whether it is back */
#define HEDGE_KNOCK_MS             5000   /* ... no sooner and no more often than this */
#define HEDGE_KNOCK_DIV            4      /* ... or when this part of the time of the client is over */
#define HEDGE_KNOCKS_MAX           10     /* in the time of a client */
#define USUAL_SURE                 4      /* answers of a model from which on it is known what is usual ... */
#define USUAL_COUNTS_TIMES         2      /* ... and an answer counts for no more than so many times that */
#define USUAL_KEPT_MS              600000 /* the shortest usual time of the last ten to twenty minutes is kept beside */
#define UNFIT_TELLS                3 /* failures of one request while others are answered: what follows is of the request */
#define UNFIT_GIVES_UP             5 /* ... and it waits for nothing but luck: ... */
#define UNFIT_PATIENCE_DIV         4 /* ... this part of the patience is enough for that */
#define HEDGE_SHARES               3 /* parts of the time of a client: who is asked gets one at least, before another is */
#define HEDGE_MUTE_CALLS           3 /* overdue at once: that is no call that happens to take long, and needs no budget */
#define HEDGE_FLOOR                2    /* ... and so many a minute on top, so that a quiet client is helped too */
#define BOUND_REST_MS_MAX          5000 /* longer than a person waits for the sake of reasoning that can be done without */
#define HEALTH_COOL_MS_MAX         86400000 /* longer advice is an error of the provider's clock or ours */

#define MEND_SHRINKS               4 /* times one request is sent again shorter: 128,000 tokens by halves fit in 8,000 */
#define MEND_LARGE_CHARS           2000 /* longer tool output is summarised (its compression_threshold_chars) */

#define JOB_BYTES_MIN              (128u << 10) /* of a request: work on a shorter one takes the loop 45 ms at worst */
#define JOBS_MAX                   2  /* under way at a time: libuv has four threads, and they look up names as well */
#define LOOP_TURN_MS_LONG          50 /* a turn of the loop that takes longer is counted: others notice it */
#define LOOP_BYTES_MAX             (5u << 19) /* of a request that is read on the loop, ... */
#define LOOP_READ_BYTES_MAX        (8u << 20) /* ... in so much memory: 8,000 messages, and 20 ms */
#define LOOP_MESSAGES_MAX          8192 /* of a request that is read on the loop: more do not fit in that memory */
#define LOOP_WRITTEN_TIMES         2    /* ... and this times its bytes, where it is written for another dialect */
#define TOOLS_READ_BYTES_MAX       (16u << 20) /* of a request's tools, and of its format: no answer is checked beyond */
#define TOOLS_LOOP_BYTES_MAX       (64u << 10) /* of the same, against which answers are held on the loop */
#define CALLS_LOOP_BYTES_MAX       (256u << 10) /* of schemas that the calls of one answer are held against there: 30 ms */
#define CALLS_CHECKED_BYTES_MAX    (8u << 20) /* ... and beside the loop; what calls more is not checked */
#define SCHEMA_SMALL_BYTES         256 /* of a tool: as often as it is called it is no more than six times the answer */
#define TOOL_NAME_COST             150 /* bytes of a schema that are read while one name is compared with another */
#define LOOK_BYTES_MAX             (1u << 20) /* of a request that is looked at on the loop when it comes in: 1 to 5 ms */
#define MEND_ARENA_BYTES_MAX       (256u << 20) /* of a request as it is read and mended: doc/bench.md, "Memory" */
#define MEND_NODES_MAX             8000000 /* messages, parts and tools that the remedies of one request go through */
#define MEND_ROOM_BYTES_USUAL      (8u << 10) /* of a request as it is read, to begin with */
#define NAMES_LOOKED_BYTES_MAX     (2u << 20) /* of a request that is gone through for the names in a refusal: 10 ms */
#define NAMES_LOOKED_MIN           8          /* ... but of a larger one for so many names, beside the loop */
#define MEND_KEPT_BYTES            (256u << 10) /* of it that may be kept while a provider thinks */
#define MEND_KEPT_TIMES            1  /* ... and so often the size of a larger one, whose bytes are there three times */
#define LESSONS_APPLIED_MAX        32 /* on one model, to one request: more say that it takes nothing at all */

#define HEAD_BYTES_USUAL           900 /* fields of a call to a provider; glibc hands out up to 1 KiB without a search */
#define WHOLE_BYTES_USUAL          3000       /* the same with an answer of one piece, and its own fields */
#define WHOLE_STEP_BYTES_MIN       1024       /* of an answer in one piece, in one read: what is less is a trickle */
#define CALL_BYTES_USUAL           160        /* beside a request's head: names and target, 119 */
#define CALL_BODY_BYTES_MAX        (4u << 10) /* of a body that stands with its head, if it came with it */
#define HASHED_BYTES_MAX           240 /* of a text that a conversation is known by; XXH3 is cheapest up to here */
#define REQUEST_KNOWN_BYTES        (64u << 10) /* at each end, that a client's own retry is known by: 30 us */

#define EXCHANGES_KEPT             256        /* used exchanges kept for the next requests */
#define ROOMS_KEPT                 32         /* likewise memory of heads, of answers, and of calls to providers */
#define CALL_KEPT_BYTES_MAX        (8u << 10) /* of a head that is kept so, with its body: most have less, a few 100 KB */
#define CLIENT_HEAD_MS             600000     /* from its start, once the SDK has its head: SDKs wait so by default */
#define CLIENT_ROOM_MS_MAX         1000       /* of the client's own timeout, left for our answer to arrive */
#define CASES_MAX                  1024       /* failed cases kept so that a client's own retry continues them */
#define CASE_MS_MAX                120000     /* and for how long; SDKs retry within seconds */
#define NOTICES_MAX                4096       /* hashes of messages daruma wrote */
#define KEY_COMMAND_MS_MAX         15000      /* a key command; password managers may ask a daemon */
#define ESCAPES_UNDONE_MAX         8    /* times that escapes of a path are undone; nobody escapes more than twice */
#define SERVICE_SOCKETS_MAX        8    /* that a service manager hands over: IPv4 and IPv6 of a few networks */
#define REFUSED_TOLD_EVERY_MS      1000 /* events of requests refused at the door, for each reason: strangers send many */
#define REFUSED_SHOWN_BYTES        200         /* of a name or path that is refused, in such an event */
#define MODELS_MS_MAX              5000        /* for providers to list their models: a person waits for the menu */
#define MODELS_LIST_BYTES_MAX      (4u << 20)  /* of one provider's list; OpenRouter's has some 500 KiB */
#define MODELS_FRESH_MS            10000       /* a list is shown again: agents that start together all ask for it */
#define MODELS_STALE_MS            600000      /* ... where its provider fails: nobody takes models away so fast */
#define MODELS_KEPT_MAX            64          /* lists kept: CONFIG_PROVIDERS_MAX, or so many accounts of clients */
#define MODELS_KEPT_BYTES_MAX      (16u << 20) /* of all of them: four of the largest */
#define PASSING_NAMES_MAX          256 /* places in a body that name the model: Gemini takes 100 texts in one call */
#define EVENT_SUBSCRIBERS_MAX      64  /* listeners on /daruma/events */
#define EVENTS_KEPT_BYTES_MAX      (512u << 10) /* of the newest for who listens later: those of some 70 to 140 requests */
#define METER_ROWS_MAX             256          /* models with a row of their own in /metrics; clients name them */
#define METER_OTHERS_MAX           64  /* ... and providers with one for all other models: CONFIG_PROVIDERS_MAX */
#define METER_NAME_BYTES_MAX       100 /* of a model's name there */

#define SPAN_BYTES_MAX             8192        /* of one span; two names of 256 bytes, and words of ours */
#define TRACE_LOOK_BYTES_MAX       (64u << 10) /* of an answer that are searched for its model's name, which comes early */
#define EXPORT_BATCH_BYTES         (256u << 10) /* of spans in one export: some 600; collectors take 4 MiB */
#define EXPORT_BATCHES_MAX         16           /* that wait for a collector: spans of some 4,500 requests */
#define EXPORT_EVERY_MS            1000         /* spans wait so long for others to go with them */
#define EXPORT_MS_MAX              10000        /* one export: OpenTelemetry's own default */
#define EXPORT_RETRY_MS_MAX        30000        /* between two tries: a collector that is back is noticed within it */
#define EXPORT_STOP_MS             3000 /* at the end, for what is left: whoever waits for the process is not kept long */
#define EXPORT_ANSWER_BYTES_MAX    4096 /* of a collector's answer; it is empty, or a message and a number */

#define CONF_KEYS_MAX              256         /* keys of one mapping in a file; they are compared with each other */
#define CONF_MISTAKES_MAX          32          /* mistakes of one file that are told; nobody mends more at a time */
#define CONFIG_BYTES_MAX           (1u << 20)  /* a configuration file; real ones have a few KiB */
#define CONFIG_PROVIDERS_MAX       64          /* providers in one file */
#define CONFIG_KEYS_MAX            64          /* keys of one provider */
#define CONFIG_HEADERS_MAX         32          /* extra headers of one provider */
#define CONFIG_NAMES_MAX           64          /* hosts, and paths that pass through, in one file */
#define CONFIG_MODELS_MAX          1024        /* models in one file; looked up by walking */
#define CONFIG_CLIENTS_MAX         256         /* clients in one file; each request is held against all tokens */
#define CONFIG_TOKEN_BYTES_MAX     (64u << 10) /* the file of a token; its first line counts */
#define CONFIG_TOKEN_CHARS_MIN     16          /* of a token that clients show: shorter ones can be guessed */
#define CONFIG_WAYS_MAX            16384       /* targets times keys of all models in one file; 3 MiB of them */
#define CONFIG_MEMORY_BYTES_MAX    (16u << 20) /* what a configuration takes as read, the values of variables included */
#define CONFIG_PROCESS_BYTES_MAX   (64u << 10) /* output of a key command; a key has a few hundred bytes */

#define CHAOS_SCRIPT_BYTES_MAX     (1u << 20)   /* a script of the faulty provider, as read; thousands of faults */
#define CHAOS_BODIES_MAX           (1u << 20)   /* different request bodies whose calls are counted; 16 MiB of counts */
#define CHAOS_NAMES_MAX            256          /* models, keys, faults and paths counted each by its name */
#define CHAOS_KEPT_BYTES_MAX       (256u << 20) /* request bodies kept for who asks what came; a long run of an agent */
#define CHAOS_STORED_MAX           65536        /* answers that previous_response_id can name; 2 MiB */

#define CONVO_MESSAGES_FIRST       32   /* room for messages a conversation begins with; doubles */
#define CONVO_PATCHES_FIRST        8    /* the same for edits by path */
#define CONVO_MESSAGE_TOKENS       4    /* what a message costs beside its text (OpenAI's cookbook: 3, and the role) */
#define CONVO_PART_TOKENS          8    /* brackets and names around what we write from fields */
#define CONVO_IMAGE_TOKENS         1600 /* Anthropic: width * height / 750 of at most 1568 px; OpenAI high detail: 1445 */
#define CONVO_DOCUMENT_TOKENS      4800 /* a PDF or a recording: three pages at Anthropic's 1,500 to 3,000 a page */

#define REPAIR_BYTES_MAX                                                                                               \
    (1u << 20)                     /* of broken JSON that is repaired; a tool call with a file in it has some 100 KiB */
#define REPAIR_DEPTH_MAX       128 /* levels of broken JSON; arguments have some 5 */
#define REPAIR_LOOK_BYTES      256 /* how far a name or comment is looked for behind a quote: keeps it linear */
#define REPAIR_STARTS_MAX      8   /* brackets in prose that are tried as the beginning of the value */
#define REPAIR_JUNK_BYTES_MAX  3   /* behind a complete value that are junk whatever they are (Kimi) */
#define EXPONENT_MAX           100000      /* of a number that is compared: none that means something has more */
#define SCHEMA_DEPTH_MAX       64          /* levels of a schema or of a value held against it */
#define SCHEMA_BYTES_MAX       (1u << 20)  /* of one lowered schema: references are written out where they stand */
#define SCHEMA_REFS_MAX        512         /* references written out in one schema, for the same reason */
#define SCHEMA_STEPS_MAX       20000       /* subschemas looked at for one value: references branch exponentially */
#define SCHEMA_STEP_COST       16          /* bytes that could be read in the time that such a look takes */
#define SCHEMA_STEP_BYTES      4096        /* of a text that is searched count as one more: 80 MB in all */
#define LOOKUP_BYTES_MIN       1024        /* a shorter object or list is looked through: an index costs more */
#define ARGS_WHY_BYTES_MAX     1000        /* of what a model is told about its call */
#define ARGS_SUGGEST_MAX       3           /* names of tools that are suggested */
#define ASK_ANSWER_BYTES_MAX   16000       /* of a bad answer that is shown to its model again */
#define JOIN_LOOK_BYTES        (64u << 10) /* of a continued answer that are held back at most, when it begins anew */
#define JOIN_FIRST_BYTES       512         /* of it that tell how it goes on, usually */
#define JOIN_OVERLAP_BYTES_MIN 12          /* repeated bytes that are no chance */
#define JOIN_OPENER_BYTES_MAX  160         /* "Sure, here is the rest:" */
#define JOIN_TAIL_BYTES        80          /* last words that a model is asked to begin with, at least */
#define JOIN_ANCHOR_BYTES_MAX  300         /* ... and at most, where the last ones repeat what stands before them */
#define JOIN_KEPT_BYTES        24          /* of a cut answer that are not shown when it is asked for in other words */
#define LESSONS_PER_LANE       4           /* parameters that one model does not take, on average */
#define API_LASTS_MS           3600000     /* a path that is missing may be so for the minutes of a deployment */
#define LACKS_LAST_MS          600000      /* 10 min: to ask it again costs one short call, and models are changed */
#define HABITS_LAST_MS         86400000 /* 24 h: what a model does not take in messages, or as a format, is tried again */
#define LESSONS_SHOWN          16       /* of one account's model on the status page */
#define REFUSALS_MENDED_MAX    8 /* parameters, or keywords of schemas, refused one after the other, for one request */
#define PARAMETER_DEPTH_MAX    4 /* levels of settings that are searched for a parameter's name */
#define PARAMETER_PLACES_MAX   512 /* of one member in all messages that are edited for one lesson */

#define STUCK_MAX              3 /* requests of a conversation that stay too long; then it is shortened no more */
#define SEQUENCE_MAX                                                                                                   \
    0xffffffff             /* number of an event in a stream of Responses; behind a higher one we count ourselves */
#define TURN_CALLS_MAX  64 /* newest calls of a streamed answer that are told apart: so many may come mixed */
#define PIECE_DEPTH_MAX 32 /* levels of arguments that Gemini streams; deeper ones go out as they came */
#define TURN_DELTAS_FEW                                                                                                \
    224 /* things one event says, for which there is room at once: more stand in no event of less than 2 KiB */
#define CHOICES_MAX 128 /* answers of one request (`n`) that are told apart: OpenAI makes no more; of 64 each */
#define RESUME_BODY_BYTES_MAX                                                                                          \
    (16u << 20)                   /* a request is kept so long as its answer streams, to go on when that breaks off */
#define TALK_SAID_BYTES_USUAL 128 /* of it that have room at once */
#define TALK_BYTES_MAX        (32u << 20) /* all that is kept of a stream: its text twice, calls that are held */
#define TALK_SAID_BYTES_MAX                                                                                            \
    (1u << 20)                      /* text of a streamed answer that is kept for joining; models stop long before     \
                                     */
#define SIDE_PARALLEL_MAX         4 /* questions of our own under way for one request */
#define SIDE_ANSWER_BYTES_MAX     (1u << 20) /* of an answer to one */
#define SIDE_MS_MAX               60000      /* and the time it may take */
#define SUMMARIES_MAX             64         /* observations summarised at one time */
#define SUMMARY_TOKENS            400        /* output cap of a summary that shall have 500 characters */
#define COMPACT_ASK_LESS          4 /* of one that failed, the next question is this part: few steps lead to a small one */
#define COMPACT_TOKENS            4000       /* output cap of the summary of a conversation */
#define COMPACT_PROMPT_TOKENS_MAX 100000     /* of the conversation, as the summariser is shown it */
#define APOLOGY_TOKENS            300        /* output cap of an explanation by a model: fewer than 100 words */
#define KNOWN_TEXT_BYTES          (8u << 20) /* compressions of earlier turns that are remembered, all tenants */
#define LESSON_LANES              1024       /* accounts' models about which is remembered what they refuse */
#define LANES_MAX                 1024       /* ... whose window or habits are remembered */
#define LONG_CONTEXT_SURE_TOKENS  150000     /* such a request needs no context-1m: windows without it hold 200,000 */
#define BETAS_BYTES_MAX           192  /* words of anthropic-beta that are remembered of one; more: none is asked for */
#define COUNTS_MAX                4096 /* clients of them of whom is remembered how their requests are counted */
#define OWNERS_MAX                16384 /* stored answers (previous_response_id) whose account is remembered */
#define GIVEN_BYTES_MAX                                                                                                \
    (256u << 10)                  /* an answer that was found wrong is kept up to this, should nothing better come     \
                                   */
#define RENAMED_MAX          1024 /* ... that their provider has under another id than the client: streams gone on with */
#define RENAMED_ID_BYTES_MAX 96   /* such an id and its NUL; those of OpenAI have 55 */

#define REQUEST_RATE         4000 /* bytes of a request to 1,000 tokens, until a provider has counted one */
#define RATE_MIN             1000 /* what is counted otherwise is not text alone: images, Base64 */
#define RATE_MAX             8000
#define SCALE_MIN            300        /* a count that differs so from our estimate is not of the same text: */
#define SCALE_MAX            3000       /* history on the server, media */
#define RATE_TOKENS_MIN      1000       /* of shorter requests the frame is too large a part */
#define ESTIMATE_RATE        3500       /* the same as the estimate of requests that were read has it */
#define WINDOW_LEARNED_MIN   1000       /* tokens: a limit that a provider names below this is none of a window, */
#define WINDOW_LEARNED_MAX   1000000000 /* ... nor is one above; as configured windows */
#define WINDOW_BYTES_MIN     2  /* bytes of a request to a token, at least: a shorter one fills no such window */
#define WINDOW_NEAR_PERCENT  97 /* of a window: what is estimated longer is not sent */
#define REFUSED_NEAR_PERCENT 90 /* of a request that was refused without numbers: likewise */
#define SHRINK_FREE_PERCENT  5  /* of a window that stay free: providers count a little differently each time */
#define SHRINK_BLIND_PERCENT                                                                                           \
    70 /* of a window, where the provider names no count; of our estimate, before it was refused */
#define SHRINK_HALF_PERCENT           50 /* of our estimate, where nothing is known: MEND_SHRINKS of them leave a sixteenth */
#define SHRINK_LOW_PERCENT            75 /* of the target: so far down old output is masked, for several turns to have room */
#define SHRINK_ROOMY_PERCENT          90 /* of the target: what leaves less room is due again next turn */
#define SHRINK_WORTH_PERCENT          90 /* of what was refused: what is no longer may be sent, whatever the estimate says */
#define SHRINK_TOKENS_MIN             1024 /* a smaller request says too little to be worth sending */
#define OUTPUT_RESERVE_TOKENS         4096 /* room for an answer whose cap nobody names */
#define OUTPUT_CAP_TOKENS_MIN         1024 /* a lower cap cuts most answers; or a quarter of what was asked for */
#define MASK_OVER_BYTES               1000 /* shorter tool output stays */
#define MASK_HEAD_BYTES               400  /* what stays of a masked one in front: what it is */
#define MASK_TAIL_BYTES               200  /* and at its end: how it came out */
#define MASK_BARE_OVER_BYTES          320  /* the same to the bone, where nothing else makes a conversation fit */
#define MASK_BARE_HEAD_BYTES          100
#define MASK_BARE_TAIL_BYTES          60
#define MASK_KEEP_NEWEST              3    /* newest results that the model still works with */
#define MASK_KEPT_BYTES_MAX           600  /* identifiers and error lines out of what was left out */
#define MASK_KEPT_BYTES_MIN           160  /* ... of a short one; between them an eighth of what was left out */
#define MASK_TOKEN_BYTES_MAX          200  /* longer words are data, no identifiers */
#define MASK_TOKENS_MAX               1024 /* candidates that are weighed against each other in one text */
#define MASK_WORDS_TOKENS             400  /* what a mask says beside head and tail, at most */
#define MASK_FAILED_OVER_BYTES        4000 /* error reports are shortened from here on, when nothing else helps */
#define MASKED_BYTES_MAX              4096 /* what is longer is not taken for a text that was masked before */
#define SUMMARY_INPUT_CHARS_MAX       8000 /* of an observation shown to the summariser (P-F19) */
#define SUMMARY_FALLBACK_CHARS        400  /* of it that stay when the summariser fails (P-F21) */
#define COMPACT_SAVES_PERCENT         10   /* less is no progress */
#define COMPACT_ROUNDS_MIN            2    /* newest rounds of a tool loop that stay in any case */
#define CALL_LOOK_MESSAGES            64 /* before a result that are searched for its call, to tell the name of the tool */
#define KNOWN_OWNERS                  512 /* tenants are told apart: two that share a number share what they hold */
#define KNOWN_MEAN_BYTES              256 /* of a replacement: decides how many are remembered beside each other */
#define KNOWN_MOVED_TIMES             16 /* a new text moves so many times its bytes of others that stay: 8 MB take 1 ms */
#define KNOWN_LOOK_BYTES_MIN          512 /* shorter tool output was never compressed, so it is not looked up */

#define PAIRS_LOOK_BACK               256 /* calls or turns that are looked at to find that of one result */
#define REMINDER_CHARS_MAX            50  /* of a string argument in a reminder; longer ones are cut (S-F13) */
#define REMINDER_DEPTH_MAX            8   /* levels of an argument that are shown as Ruby shows them */

#define MEND_ID_BYTES_MAX             256  /* of a call's id in Messages; OpenAI's wires take 64 and less */
#define MEND_ID_BYTES_MIN             16   /* a shorter maximum was read wrongly out of a message */
#define MEND_NAME_BYTES_MAX           64   /* of a tool's name, and of a call's id at OpenAI */
#define SHED_BYTES_MIN                1024 /* shorter tool output is not worth shortening for the size of a body */
#define SHED_WRITTEN_BYTES            96   /* brackets, names and ids around a part that we write */

#define CALL_ID_BYTES_MAX             64   /* of a tool call's id: OpenAI and Anthropic refuse longer ones */
#define CHAT_CALL_ID_BYTES_MAX        40   /* the same in Chat Completions */
#define TOOLS_RENAMED_MAX             1024 /* of one request, for another dialect: each name of its answer is looked up */
#define TOOL_NAME_BYTES_MAX           64   /* of a tool's name: OpenAI and Gemini refuse longer ones */
#define ANTHROPIC_TOOL_NAME_BYTES_MAX 128 /* the same at Anthropic */
#define OPENAI_USER_BYTES_MAX         64  /* of `user`: OpenAI refuses longer ones */
#define ANTHROPIC_USER_BYTES_MAX      256 /* of `metadata.user_id` */
#define ANTHROPIC_MAX_TOKENS                                                                                           \
    8192 /* tokens of output when nobody said how many: it must be said, all models take it                            \
          */

#define TOOL_SAME_FAILURES_MAX    3   /* in a row with one signature: it does not get better by itself */
#define TOOL_FAILURES_MAX         5   /* of one tool without a success between: another tool may do better */
#define TOOL_FAILURES_ALL_MAX     10  /* in all (E-F4); each success gives one back, so long healthy runs go on */
#define TOOL_FAILURES_SHOWN       3   /* to the model (E-F4): the newest, older ones are counted */
#define TOOL_MESSAGE_CHARS_MAX    200 /* of a tool's failure (E-F2) */
#define TOOL_RECOVERIES_MAX       2   /* attempts at recovery per tool (K-F6) */

#define MESSAGE_HASH_DEPTH        16   /* levels of a message that are looked into to know it again */
#define MESSAGE_HASH_VALUES       4096 /* values of one message that it is known by: 64 messages take 20 ms at most */
#define WATCH_READ_BYTES_MAX      (2u << 20) /* of memory that new messages may take beside their own bytes: 10 ms */
#define WATCH_AGENTS_MAX          512 /* agents that are watched at a time; of who has the most the oldest is forgotten */
#define WATCH_CHAIN               4   /* newest messages that a conversation is known again by */
#define WATCH_USERS_KEPT          8   /* newest things a user said: what is said again is no new task */
#define WATCH_STEPS_MAX           1024         /* new steps of one request that are looked at; a turn has a few */
#define WATCH_JUDGED_BYTES_MAX    (320u << 10) /* of failed tools in one request, 4 ms; more is only counted */
#define WATCH_LAST_BYTES          1024         /* of the newest arguments and result that are kept for a notice */
#define WATCH_FIRST_WORDS_BYTES   4096         /* of a history's first words, where it says that it is a summary */
#define STORED_ANSWERS_MAX        2048    /* newest answers whose calls are remembered, and their items: 4 an agent */
#define STORED_ANSWER_BYTES_MAX   65536   /* of the calls of one, or of an item; of what is longer nothing is */
#define STORED_READ_BYTES_MAX     1048576 /* of an answer that is read for them, on the loop: 10 ms */
#define ANSWER_ID_BYTES_MAX       65536   /* of an answer, in which its id stands */
#define STORED_BYTES_MAX          4194304 /* of all of them */

#define SAME_LINES_BYTES_MAX      32768 /* of an answer that is looked through line by line: a window of a file */

#define SAME_STRING_BYTES_MAX     4096 /* of an argument that is compared word by word; of a longer one, its bytes */
#define SAME_ANSWER_BYTES_MAX     2048 /* of an answer, at its two ends, where envelopes are: there numbers are weighed */
#define SAME_FAILURE_BYTES_MAX    8192 /* of a failure, its two ends; what is between tells no more */
#define SAME_TOLD_MIN             2    /* words of an answer beside what changes by itself; with less, that was it */
#define VERDICT_TEXT_BYTES_MAX    240  /* of arguments, and of a result, in what is said of a circle */
#define VERDICT_TOOL_BYTES_MAX    80   /* of the name of a tool there */
#define WATCH_TOLD_PAIRS          2048 /* pairs of words an agent is known to have read: some ten long results */
#define STALL_WINDOW              32 /* calls an agent is remembered by: two laps of six, others between; a power of two */

#define PARTIAL_RESULTS_MAX       4   /* different results that a stopped run is told to have found */
#define PARTIAL_RESULT_BYTES_MAX  300 /* of each */
#define PARTIAL_WORDS_BYTES_MAX   800 /* of the model's last words */

#define REVIEW_CIRCLES_MAX        64  /* of one run that are told; a run in more of them was beyond help */
#define REVIEW_CALLS_MAX          16  /* different calls of one circle that are told */
#define REVIEW_FAILURES_MAX       128 /* kinds of failures of one run that are told */
#define REVIEW_ESCALATIONS_MAX    64  /* tasks of one run in which a person should have looked */
#define REVIEW_AHEAD_MAX          200 /* steps behind a failure in which its goal may be reached */
#define REVIEW_LESSONS_MAX        128 /* places for what helped */

#define DETECT_DEPTH_MAX          64   /* levels of arguments that are compared without regard to order */
#define ANSWER_STARTS_MAX         64   /* braces in an answer that are tried as the beginning of its JSON */
#define SITUATION_TEXTS_MAX       32   /* blockers, failures, facts of each that a model is shown */
#define SITUATION_TEXT_CHARS_MAX  200  /* of each (K-F9) */
#define STRATEGY_GOAL_CHARS_MAX   2000 /* of the task, in a question about it */
#define STRATEGY_SCHEMA_BYTES_MAX 600  /* of the schema of one tool there; longer ones are left out */
#define STRATEGY_TOOLS_MAX        64   /* tools that are named there */
#define STRATEGY_TOKENS           600  /* output cap of a strategy (K-F3) */
#define STRATEGY_TEMPERATURE      200  /* thousandths: what comes is to be factual (K-F3) */
#define ESTIMATE_TOKENS           500  /* output cap of an estimate of progress (K-F7) */
#define ESTIMATE_TEMPERATURE      100  /* thousandths (K-F7) */
#define STRATEGY_AUTO_PERCENT     80   /* confidence at which a strategy is done (K-F11), where a policy names none; */
#define STRATEGY_ASK_PERCENT      50   /* ... and at which a person is asked */
#define STRATEGY_FACTS            10   /* facts a model is shown */
#define STRATEGY_LEARNED_MIN      700  /* per mille: a lesson below this is no reason to go without a model */

#define LESSON_HALF_LIFE_S        (45 * 86400) /* what helped long ago may help no more; tools change within months */
#define LESSON_BYTES_MAX          1800         /* of lessons in a question: they are paid for each time */
#define LESSON_SHOWN_MIN          500          /* per mille: what failed as often as it helped is not shown */
#define WATCH_LESSONS_MAX         256          /* lessons of all clients: what helped against which failure of a tool */

#define TOOL_PATIENCE             2    /* times as many failures of what may pass by itself, in a row and of one tool */
#define TOOL_HINT_BYTES_MAX       600  /* of what a tool says to do about its failure; a list of names has some 300 */
#define TOOL_HINT_LEVELS_MAX      5    /* of a result's JSON that are looked into for it: content, text, error, data */
#define TOOL_FACTS_LEVELS_MAX     4    /* of a result's JSON that are looked into for what failed */
#define TOOL_FACTS_MEMBERS_MAX    64   /* of one object there; envelopes of tools have under 20 */
#define TOOL_FACTS_ELEMENTS_MAX   4    /* of one list there: the first errors, the first parts of a text */
#define TOOL_COMPLAINT_BYTES_MAX  300  /* a longer line is no complaint of a program about itself */
#define TOOL_COMPLAINTS_BYTES_MAX 4000 /* a longer text that begins with "Error" is a document about errors */
#define TOOL_TEXT_HEAD_BYTES      8192 /* of a failed tool's output that is read, from its beginning */
#define TOOL_TEXT_TAIL_BYTES      24576 /* and from its end, where traces end */
#define TOOL_TEXT_LINES_MAX       4096  /* of it that are looked at */
#define TOOL_LINE_BYTES_MAX       2048  /* of the one line that matters */
#define TOOL_WHOLE_BYTES_MAX      16384 /* of a failed tool's output in its full form; beyond it nobody reads */
#define TRACKED_FAILURES_MAX      32    /* kept of one agent, so that 10 in all and what followed are there */
#define TRACKED_TEXT_BYTES_MAX    6144  /* of their tools and messages together */
#define TRACKED_ROWS_MAX          16    /* signatures, and tools, that are counted at a time */
#define TRACKED_ARGS_MAX          8     /* arguments of a failed call that it is known again by */
#define TRACKED_NAME_BYTES_MAX    64    /* of a tool or an agent, as its failures are told */
#define ERRORS_STEPS_MAX          256   /* newest steps among which failures and what resolved them are looked for */
#define ERRORS_SHORT_BYTES        120   /* a failed result as short as this stays as it is */

#define WINDOW_TOKENS_MAX         1000000000 /* of a window or an output cap, as people configure it */

/* ---- an agent of ours ---- */
#define AGENT_BYTES_MAX                (256u << 20) /* memory of one run: its results and what it made of them */
#define AGENT_SCRATCH_BYTES_MAX        (128u << 20) /* of one step: the conversation, read and written */
#define AGENT_STEPS_MAX                65536        /* calls, words and notes of one run */
#define AGENT_STEP_TOKENS              40           /* of a step beyond its texts: ids, names, brackets */
#define AGENT_OPEN_CALLS_MAX           32           /* calls whose effect nobody knows that stay when old steps leave */
#define AGENT_CALLS_OF_TURN_MAX        32           /* calls of one answer that are carried out */
#define AGENT_EVENTS_MAX               32           /* events of one outcome; more are not told */
#define AGENT_MOVES_MAX                256          /* decisions between two acts: a circle among them ends the run */
#define AGENT_OBSERVATION_BYTES_MAX    (64u << 10)  /* of one result; files and pages beyond it are read in parts */
#define AGENT_ANSWER_BYTES_MAX         (256u << 10) /* of what the model says in one answer */
#define AGENT_METADATA_BYTES_MAX       4096         /* of one failure; the model reads all of it */
#define AGENT_METADATA_DEPTH_MAX       16    /* brackets in each other that a report puts on lines of their own */
#define AGENT_METADATA_ITEMS_MAX       32    /* members of it, and elements of its lists */
#define AGENT_ANALYSIS_TOKENS          500   /* output cap of the explanation of a failure */
#define AGENT_ANALYSIS_MS              30000 /* and its deadline: the report is ready without it */
#define AGENT_ANALYSIS_BYTES_MAX       4000  /* of it that are shown */
#define AGENT_ORIGINAL_ERROR_BYTES_MAX 1000  /* of a provider's words in `_recovery` (P-F12) */
#define AGENT_LAST_WORDS_BYTES_MAX     2048  /* of what is said in place of a report: two messages, and ours */
#define AGENT_REPORT_STEPS_MAX         32    /* steps of each list in a report */
#define AGENT_PARTIAL_RESULTS          5     /* results that a run which ends early tells */
#define AGENT_TIME_OVER_MS             50    /* clocks that shall end together may be so far apart */
#define AGENT_WAIT_MS_MAX              60000 /* a longer wait is not waited: the failure is told */
#define AGENT_VERDICTS_MAX             256   /* calls that a person decided about */
#define AGENT_PLAN_STEPS_MAX           32    /* of one plan; longer ones are refused */
#define AGENT_PLAN_INPUTS_MAX          16    /* of one step of it */
#define AGENT_PLAN_TOKENS              2000  /* output cap of a plan */
#define AGENT_CLASSES_TOKENS           500   /* output cap of a choice of tools */
#define AGENT_OUTPUT_BYTES_MAX         8000  /* of one step's output that later steps read */
#define AGENT_LINEAGE_MAX              8     /* agents that work for each other; deeper is a mistake */
#define AGENT_PATH_BYTES_MIN           3     /* of a path that is completed: shorter ones are words */
#define AGENT_PATH_BYTES_MAX           1024  /* of it, as systems have it a few times over */
#define AGENT_PATH_RESULTS             64    /* newest results that are searched for it */
#define AGENT_LONG_TEXT_BYTES_MIN      20    /* of the only argument of a finish that is taken for its answer */
#define AGENT_ACTIONS_MAX              10    /* in one answer that is written as JSON; more are not looked at */
#define AGENT_FILL_FIELDS_MAX          16    /* missing arguments of one call that are told and asked for */
#define AGENT_SALVAGE_BYTES_MAX        1000  /* of what cannot be read that becomes the answer (P-F34) */
#define AGENT_LEAN_TOKENS              500   /* a step that takes fewer brings little (K-F24) */
#define AGENT_LEAN_STEPS               3     /* of them in a row: the agent is told */
#define AGENT_ESTIMATE_TOKENS          500   /* output cap of an estimate of progress (K-F7) */
#define SEED_MESSAGE_BYTES_MAX         500   /* of a provider's words in events under a seed's names (P-F6) */
#define AGENT_WALL_MAX                 253402300800 /* unix seconds: the year 10000 */

/* ---- daruma run ---- */
#define FILES_NAME_BYTES_MAX    255         /* of one name in a path, as file systems have it */
#define FILE_BYTES_MAX          (4u << 20)  /* of a file that is read whole; its result is cut before */
#define FILE_SEARCH_BYTES_MAX   (1u << 20)  /* of a file that is searched; larger ones are no sources */
#define FILE_PIECE_BYTES        (64u << 10) /* read at a time */
#define FILES_WRITER_BYTES_MAX  100         /* of whoever writes, in the name of a new file */
#define FILES_FRESH_TRIES       100         /* names of a new file until one is free */
#define FILES_NAMES_MAX         2000        /* names of one folder that are looked at */
#define FILES_SEEN_MAX          50000       /* files and folders of one search */
#define FILES_HITS_MAX          200         /* lines that one search prints */
#define FILES_LINE_BYTES_MAX    300         /* of each */
#define FILES_DEPTH_MAX         24          /* folders in each other that are searched */
#define WEB_BYTES_MAX           (4u << 20)  /* of a page that is read */
#define WEB_SHOWN_BYTES         (48u << 10) /* of it that one call shows; less than AGENT_OBSERVATION_BYTES_MAX */
#define WEB_ERROR_BYTES         2000        /* of the body of an error */
#define WEB_LOOK_BYTES          4096        /* that are looked at for what no text has */
#define WEB_REDIRECTS_MAX       5           /* of one call; sites send on once or twice */
#define WEB_MS                  30000       /* for one call, redirects included */
#define SHELL_MS                120000      /* for a command that does not say how long it takes */
#define SHELL_MS_MAX            3600000     /* for one that says it, unless the host says another time */
#define SHELL_GRACE_MS          2000        /* between SIGTERM and SIGKILL */
#define SHELL_HEAD_BYTES        (16u << 10) /* of what it prints that are kept from its beginning */
#define SHELL_TAIL_BYTES        (32u << 10) /* and from its end, where errors stand; together they are one observation */
#define SHELL_ODD_BYTES         1024        /* that are kept of what is no text: of each byte six may become */
#define SHELL_ODD_SHARE         16          /* where one of so many bytes is one that no text has */
#define SHELL_PRINTED_BYTES_MAX (256u << 20) /* a command that prints more runs wild */
#define CHILD_READ_BYTES        (64u << 10)  /* read from a pipe at a time */
#define CHILD_LINGER_MS         500          /* for the rest of the output of a program that has ended */
#define MCP_SERVERS_MAX         32           /* of one run */
#define MCP_TOOLS_MAX           256          /* of one server; more than a model can choose from */
#define MCP_PAGES_MAX           64           /* of one list of tools */
#define MCP_LISTS_MAX           16    /* readings of a list, as it changes; then the last one has to do for ... */
#define MCP_LISTS_REST_MS       10000 /* ... so long: some servers say so behind whatever they answer */
#define MCP_LINE_BYTES_MAX                                                                                             \
    (16u << 20)                    /* of one message; a picture has some MiB. What is longer is dropped, and said      \
                                    */
#define MCP_TOOL_SAYS_BYTES   4000 /* of a tool's description, or of a server's instructions */
#define MCP_KEEP_BYTES_MAX    (32u << 20) /* memory of a server's list of tools, with what it changed */
#define MCP_CLOSE_MS          500         /* from the end of its input to SIGTERM */
#define MCP_BATCH_MAX         256         /* messages of one line */
#define MCP_HEAD_BYTES        4096        /* of such a line that are looked at for what it answers */
#define MCP_WAITING_BYTES_MAX (64u << 20) /* sent to a server that it has not read: it hangs */
#define MCP_LAST_BYTES        1000        /* of what it wrote last to standard error, told with its death */
#define MCP_START_MS          60000  /* from the start of a server to its list of tools: npx may have to download it */
#define MCP_CALL_MS           300000 /* for one call, unless said */
#define MCP_PING_MS           5000   /* for the answer to a ping behind a call that was late: else it hangs */
#define MCP_GRACE_MS          2000   /* between SIGTERM and SIGKILL */
#define MCP_RESTARTS          3      /* of a server that dies, unless said */
#define MCP_BACKOFF_MS        250    /* before the first of them; doubled with each */
#define MCP_BACKOFF_MS_MAX    10000  /* at most */
#define RUN_ARGV_MAX          64     /* words of a server's command */
#define AGENTS_MAX            64     /* in one configuration */
#define RUN_MEMORY_BYTES_MAX  (64u << 20) /* memory of a run's agents, tools and places */
#define RUN_TASK_BYTES_MAX    (1u << 20)  /* of a task */
#define TOOLS_MAX             512         /* of one run; providers refuse more than some 128 in a request */
#define RUN_TOOL_BYTES_MAX    (64u << 20) /* memory of one call of a tool */
#define RUN_ANSWER_BYTES_MAX  (32u << 20) /* memory of one answer of a model */
#define RUN_FIELDS_MAX        16          /* of one call; sessions write some four */
#define RUN_LOOK_MS           1000        /* how often deadlines are looked at while nothing else happens */
#define RUN_CONNECT_MS        10000       /* for a connection */
#define RUN_ANSWER_MS         600000      /* for a whole answer to begin: models think for minutes */
#define RUN_IDLE_MS           300000      /* of silence within one */
#define RUN_CALL_MS           86400000 /* of one question to a model, however long the run may take: sessions take no more */
#define RUN_STEPS             50       /* answers of the model, unless said */
#define RUN_WINDOW_TOKENS     128000      /* of a model of which nobody said how much it takes */
#define RUN_MS                1800000     /* of a run, unless said */
#define RUN_SHOWN_BYTES       200         /* of each text on a line of progress */
#define JOURNAL_FORMAT        3           /* of journals, as this version writes and reads them */
#define JOURNAL_BUSY_MS       2000        /* that are waited for somebody who reads the same journal */
#define JOURNAL_LOCK_TRIES    5           /* for the lock of a run that somebody may look at just now ... */
#define JOURNAL_LOCK_MS       20          /* ... and between them */
#define JOURNAL_WAITING_BYTES (4u << 20)  /* of events that wait for the next transaction */
#define JOURNAL_PATH_BYTES    4096        /* of the path of a journal, as systems have it */
#define JOURNAL_RUNS_MAX      100000      /* of one folder that are listed */
#define APPROVE_LOOK_MS       200         /* how often the file with the answer of a person is looked at */
#define APPROVE_AGAIN_MS      2000        /* between two posts of a question that is not answered yet */
#define APPROVE_POST_MS       600000      /* for an answer to one post: people think for minutes */
#define APPROVE_ANSWER_BYTES  (64u << 10) /* of an answer, and of a line on the terminal */
#define APPROVE_MEMORY_BYTES  (4u << 20)  /* memory of one question */

/* ---- what several replicas share ---- */
#define STORE_SILENT_MS     5000 /* without an answer: it is lost. Also how often it is asked whether it is there */
#define STORE_PAUSE_MS_MIN  500  /* between two tries to reach it; doubles */
#define STORE_PAUSE_MS_MAX  30000
#define STORE_SLIPS_MAX     2      /* times that it is lost soon after it was there, until that is no news any more */
#define STORE_UNDER_WAY_MAX 64     /* questions that it has yet to answer: beyond them nothing is asked */
#define STORE_KEPT_S        604800 /* a value that nobody renewed for a week is of no use */
#define REPLICA_HEALTH_MS   10     /* what is sick is told so soon after something was sent or failed */
#define REPLICA_ALL_MS      1000   /* and whatever else is known: it is more, and costs time to gather */
#define REPLICA_ALL_SHARE   20     /* of the loop's time at most one in so many */
#define REPLICA_PIECE_BYTES (256u << 10) /* of lines that are said at once */
#define REPLICA_SLACK_MS    1000         /* by which a time that came through the store may be off */

/* ---- the public library ---- */
#define LIB_OPTIONS_BYTES_MAX (1u << 20)  /* memory for the options of a session, or for a policy */
#define LIB_STATUS_BYTES_MAX  (16u << 20) /* of a status page: 4,096 lanes */
#define LIB_SNAPSHOT_BYTES_MAX                                                                                         \
    (256u << 20) /* of a memory's snapshot while it is written: 8 MB of texts, escaped, as it grows */
#define LIB_SLOW_BYTES (256u << 10) /* that wait for the program: beyond them no more of a call is read */

#endif
