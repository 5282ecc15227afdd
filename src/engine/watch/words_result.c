/* words_result.c - what results say of the world behind them, and what names of arguments and of members of results
 * are about. */
#include "engine/watch/words.h"
#include "base/str.h"
#include "engine/watch/words_find.h"

#define W_EMPTY    WORDS_EMPTY
#define W_ACK      WORDS_ACK
#define W_ALIVE    WORDS_ALIVE
#define W_OVER     WORDS_OVER
#define W_RETRY    WORDS_RETRY
#define W_ABSENT   WORDS_ABSENT
#define W_REFUSED  WORDS_REFUSED
#define W_UNCLEAR  WORDS_UNCLEAR
#define W_OVERFLOW WORDS_OVERFLOW
#define W_LIMITED  WORDS_LIMITED
#define W_MISUSED  (WORDS_MISUSED | WORDS_REFUSED)
#define N_NONCE    NAME_NONCE
#define N_SEEKS    NAME_SEEKS
#define N_TIME     NAME_TIME
#define N_REASON   NAME_REASON
#define N_TITLE    NAME_TITLE
#define N_COMMAND  NAME_COMMAND
#define N_QUERY    NAME_QUERY
#define N_SPACED   NAME_SPACED
#define N_PAGE     NAME_PAGE
#define N_WAIT     NAME_WAIT
#define N_LIMIT    NAME_LIMIT
#define N_ACTION   NAME_ACTION
#define N_VOLATILE NAME_VOLATILE
#define N_STATE    NAME_STATE
#define N_UNIT     NAME_UNIT
#define N_WHEN     NAME_WHEN
#define N_SINCE    NAME_SINCE

// clang-format off
/* One to three words; the longest row that begins at a word counts; sorted. */
static const words_row result_rows[] = {
    {"0 changes", W_EMPTY}, {"0 documents", W_EMPTY}, {"0 entries", W_EMPTY}, {"0 errors", W_EMPTY | W_ACK},
    {"0 events", W_EMPTY}, {"0 files", W_EMPTY}, {"0 found", W_EMPTY}, {"0 hits", W_EMPTY}, {"0 issues", W_EMPTY | W_ACK},
    {"0 items", W_EMPTY}, {"0 matches", W_EMPTY}, {"0 messages", W_EMPTY}, {"0 new", W_EMPTY}, {"0 open", W_EMPTY},
    {"0 orders", W_EMPTY}, {"0 problems", W_EMPTY | W_ACK}, {"0 records", W_EMPTY}, {"0 results", W_EMPTY}, {"0 rows", W_EMPTY}, {"0 tasks", W_EMPTY},
    {"0 unread", W_EMPTY}, {"0 users", W_EMPTY}, {"0 violations", W_EMPTY | W_ACK}, {"0 warnings", W_EMPTY | W_ACK}, {"000", W_RETRY}, {"200", W_ACK}, {"201", W_ACK}, {"202", W_ALIVE}, {"204", W_ACK},
    {"400", W_REFUSED}, {"401", W_REFUSED}, {"403", W_REFUSED}, {"404", W_ABSENT}, {"405", W_REFUSED},
    {"410", W_ABSENT}, {"422", W_REFUSED}, {"425", W_RETRY | W_LIMITED}, {"429", W_RETRY | W_LIMITED},
    {"502", W_RETRY | W_UNCLEAR}, {"503", W_RETRY}, {"504", W_RETRY | W_UNCLEAR}, {"abandoned", W_OVER}, {"aborted", W_OVER},
    {"absent", W_ABSENT}, {"accepted", W_ALIVE | W_ACK}, {"access denied", W_REFUSED}, {"ack", W_ACK},
    {"acknowledged", W_ACK}, {"acquire lock", W_RETRY}, {"acquire the lock", W_RETRY}, {"activated", W_ACK}, {"activating", W_ALIVE}, {"active", W_ALIVE}, {"added", W_ACK},
    {"advanced", W_ACK}, {"ahead", W_ALIVE}, {"allocating", W_ALIVE}, {"analyzing", W_ALIVE}, {"another git process", W_RETRY}, {"another instance", W_RETRY}, {"another operation", W_RETRY}, {"another process", W_RETRY}, {"appended", W_ACK},
    {"applied", W_ACK}, {"approved", W_ACK}, {"archived", W_OVER | W_ACK}, {"argument error", W_MISUSED}, {"argumenterror", W_MISUSED}, {"assertion failed", W_REFUSED},
    {"assertionerror", W_REFUSED}, {"assigned", W_ACK}, {"attributeerror", W_REFUSED},
    {"authentication failed", W_REFUSED}, {"awaiting", W_ALIVE}, {"backing off", W_RETRY}, {"backoff", W_ALIVE},
    {"bad argument", W_MISUSED}, {"bad gateway", W_RETRY | W_UNCLEAR}, {"bad request", W_REFUSED}, {"baking", W_ALIVE}, {"being", W_ALIVE},
    {"billing", W_REFUSED}, {"boarding", W_ALIVE}, {"booked", W_ACK}, {"booting", W_ALIVE},
    {"broken pipe", W_UNCLEAR | W_RETRY}, {"buffering", W_ALIVE}, {"building", W_ALIVE}, {"busy", W_ALIVE},
    {"calibrating", W_ALIVE}, {"can't find", W_ABSENT}, {"canceled", W_OVER | W_ACK}, {"cancelled", W_OVER | W_ACK},
    {"cannot be found", W_ABSENT}, {"cannot find", W_ABSENT}, {"capacity", W_RETRY | W_LIMITED}, {"changed", W_ACK},
    {"charged", W_ACK}, {"charging", W_ALIVE}, {"clean", W_ACK}, {"cleared", W_ACK}, {"clicked", W_ACK},
    {"closed", W_OVER | W_ACK}, {"cold start", W_RETRY}, {"collecting", W_ALIVE}, {"committed", W_ACK},
    {"compiling", W_ALIVE}, {"complete", W_OVER | W_ACK}, {"completed", W_OVER | W_ACK}, {"confirmed", W_ACK},
    {"confirming", W_ALIVE}, {"connect failed", W_RETRY}, {"connecting", W_ALIVE},
    {"connection closed", W_RETRY | W_UNCLEAR}, {"connection lost", W_UNCLEAR | W_RETRY},
    {"connection refused", W_RETRY}, {"connection reset", W_RETRY | W_UNCLEAR}, {"containercreating", W_ALIVE},
    {"contention", W_RETRY}, {"context length", W_OVERFLOW}, {"context limit", W_OVERFLOW},
    {"context overflow", W_OVERFLOW}, {"context window", W_OVERFLOW}, {"context_length_exceeded", W_OVERFLOW},
    {"converging", W_ALIVE}, {"cooking", W_ALIVE}, {"cooling", W_ALIVE}, {"copied", W_ACK}, {"copying", W_ALIVE},
    {"could not connect", W_RETRY}, {"could not find", W_ABSENT | W_EMPTY}, {"could not resolve", W_ABSENT},
    {"couldn't connect", W_RETRY}, {"couldn't find", W_ABSENT}, {"crashed", W_OVER}, {"crashloopbackoff", W_OVER},
    {"created", W_ACK}, {"creating", W_ALIVE}, {"daily limit", W_REFUSED}, {"deactivated", W_ACK}, {"dead", W_OVER},
    {"deadline exceeded", W_UNCLEAR | W_RETRY}, {"deadlock", W_RETRY}, {"declined", W_OVER}, {"delayed", W_ALIVE},
    {"deleted", W_OVER | W_ACK}, {"delivered", W_OVER | W_ACK}, {"denied", W_REFUSED}, {"deployed", W_ACK},
    {"deploying", W_ALIVE}, {"destroyed", W_OVER}, {"device busy", W_RETRY}, {"did not match", W_EMPTY}, {"disabled", W_REFUSED | W_ACK},
    {"dispatched", W_ALIVE | W_ACK}, {"does not exist", W_ABSENT}, {"doesn't exist", W_ABSENT},
    {"done", W_OVER | W_ACK}, {"downloading", W_ALIVE}, {"draining", W_ALIVE}, {"drying", W_ALIVE},
    {"eacces", W_REFUSED}, {"eagain", W_RETRY}, {"eai_again", W_RETRY}, {"ebusy", W_RETRY}, {"econnrefused", W_RETRY},
    {"econnreset", W_RETRY | W_UNCLEAR}, {"edited", W_ACK}, {"einval", W_REFUSED}, {"emailed", W_ACK}, {"empty", W_EMPTY},
    {"en route", W_ALIVE}, {"enabled", W_ACK}, {"encoding", W_ALIVE}, {"ended", W_OVER}, {"enoent", W_ABSENT},
    {"enqueued", W_ACK}, {"eperm", W_REFUSED}, {"error", W_OVER}, {"errored", W_OVER}, {"esrch", W_ABSENT},
    {"estimated", W_ALIVE}, {"eta", W_ALIVE}, {"etimedout", W_RETRY | W_UNCLEAR}, {"evaluating", W_ALIVE}, {"evicted", W_OVER},
    {"exceeds the context", W_OVERFLOW}, {"executed", W_ACK}, {"executing", W_ALIVE}, {"exists", W_ACK},
    {"exited", W_OVER}, {"expected a", W_REFUSED}, {"expected an", W_REFUSED}, {"expected array", W_MISUSED}, {"expected boolean", W_MISUSED}, {"expected int", W_MISUSED}, {"expected integer", W_MISUSED}, {"expected number", W_MISUSED}, {"expected object", W_MISUSED}, {"expected string", W_MISUSED}, {"expected type", W_MISUSED}, {"expired", W_OVER},
    {"extracting", W_ALIVE}, {"failed", W_OVER}, {"failed assertion", W_REFUSED}, {"failed to connect", W_RETRY},
    {"failed to parse", W_REFUSED}, {"failure", W_OVER}, {"false", W_EMPTY}, {"fermenting", W_ALIVE}, {"fine", W_ACK},
    {"finished", W_OVER | W_ACK}, {"fixed", W_ACK}, {"focused", W_ACK}, {"forbidden", W_REFUSED},
    {"formatted", W_ACK}, {"found 0", W_EMPTY}, {"gateway timeout", W_RETRY | W_UNCLEAR}, {"generating", W_ALIVE},
    {"get lock", W_RETRY}, {"gone", W_OVER}, {"good", W_ACK}, {"got it", W_ACK}, {"hang up", W_UNCLEAR}, {"has ended", W_OVER},
    {"healing", W_ALIVE}, {"healthy", W_ACK}, {"heating", W_ALIVE}, {"held by", W_RETRY}, {"hit", W_ACK}, {"hold on", W_ALIVE},
    {"illegal", W_REFUSED}, {"importerror", W_REFUSED}, {"in progress", W_ALIVE}, {"in queue", W_ALIVE},
    {"in review", W_ALIVE}, {"in transit", W_ALIVE}, {"in use", W_RETRY}, {"in_progress", W_ALIVE},
    {"incomplete", W_ALIVE}, {"incubating", W_ALIVE}, {"indexed", W_ACK}, {"indexerror", W_REFUSED},
    {"indexing", W_ALIVE}, {"initialising", W_ALIVE}, {"initializing", W_ALIVE}, {"inprogress", W_ALIVE},
    {"input is too long", W_OVERFLOW}, {"inserted", W_ACK}, {"installing", W_ALIVE}, {"insufficient", W_REFUSED},
    {"insufficient funds", W_REFUSED}, {"insufficient_quota", W_REFUSED}, {"invalid", W_REFUSED},
    {"invalid argument", W_MISUSED}, {"invalid arguments", W_MISUSED}, {"invalid duration", W_MISUSED}, {"invalid input", W_MISUSED}, {"invalid int", W_MISUSED}, {"invalid integer", W_MISUSED}, {"invalid interval", W_MISUSED}, {"invalid number", W_MISUSED}, {"invalid parameter", W_MISUSED}, {"invalid parameters", W_MISUSED}, {"invalid params", W_MISUSED}, {"invalid timeout", W_MISUSED}, {"invalid type", W_MISUSED}, {"invalid value", W_MISUSED}, {"invalid_request", W_REFUSED}, {"invited", W_ACK}, {"is busy", W_RETRY}, {"is empty", W_ALIVE}, {"is locked", W_RETRY},
    {"is required", W_REFUSED}, {"is starting", W_RETRY}, {"keyerror", W_REFUSED}, {"killed", W_OVER}, {"labeled", W_ACK}, {"labelled", W_ACK},
    {"launching", W_ALIVE}, {"left", W_ALIVE}, {"loading", W_ALIVE}, {"loading model", W_RETRY}, {"lock file", W_RETRY}, {"lock is held", W_RETRY}, {"lock timeout", W_RETRY}, {"lock wait", W_RETRY}, {"locked", W_RETRY},
    {"logged", W_ACK}, {"login failed", W_REFUSED}, {"lost", W_OVER}, {"lost connection", W_UNCLEAR},
    {"malformed", W_REFUSED}, {"marked", W_ACK}, {"maximum context", W_OVERFLOW}, {"may have", W_UNCLEAR},
    {"merged", W_ACK}, {"migrating", W_ALIVE}, {"minutes left", W_ALIVE}, {"missing", W_ABSENT},
    {"missing argument", W_MISUSED}, {"missing parameter", W_MISUSED}, {"missing required", W_MISUSED}, {"modulenotfounderror", W_REFUSED}, {"monthly limit", W_REFUSED}, {"moved", W_ACK}, {"moving", W_ACK},
    {"must be a", W_MISUSED}, {"must be an", W_MISUSED}, {"muted", W_ACK}, {"nameerror", W_REFUSED}, {"nan", W_EMPTY}, {"neither", W_EMPTY},
    {"network is unreachable", W_RETRY}, {"never", W_EMPTY}, {"nil", W_EMPTY}, {"no", W_EMPTY},
    {"no change", W_ALIVE}, {"no changes", W_ALIVE}, {"no data", W_EMPTY}, {"no defects", W_EMPTY | W_ACK}, {"no entries", W_EMPTY},
    {"no error", W_EMPTY | W_ACK}, {"no errors", W_EMPTY | W_ACK}, {"no event", W_ALIVE}, {"no events", W_ALIVE}, {"no findings", W_EMPTY | W_ACK}, {"no hits", W_EMPTY}, {"no issues", W_EMPTY | W_ACK}, {"no items", W_EMPTY}, {"no longer", W_OVER},
    {"no longer exists", W_ABSENT}, {"no match", W_EMPTY}, {"no matches", W_EMPTY}, {"no matching", W_ABSENT},
    {"no message", W_ALIVE}, {"no messages", W_ALIVE}, {"no new", W_ALIVE}, {"no output", W_ALIVE},
    {"no permission", W_REFUSED}, {"no problems", W_EMPTY | W_ACK}, {"no process", W_ABSENT}, {"no records", W_EMPTY}, {"no response", W_UNCLEAR},
    {"no response yet", W_ALIVE}, {"no results", W_EMPTY}, {"no results for", W_ABSENT}, {"no route", W_RETRY},
    {"no rows", W_EMPTY}, {"no rule", W_REFUSED}, {"no session", W_ABSENT}, {"no such", W_ABSENT},
    {"no update", W_ALIVE}, {"no updates", W_ALIVE}, {"no violations", W_EMPTY | W_ACK}, {"no warnings", W_EMPTY | W_ACK}, {"nobody", W_EMPTY}, {"none", W_EMPTY},
    {"nonexistent", W_ABSENT}, {"not a valid", W_REFUSED}, {"not allowed", W_REFUSED}, {"not authorized", W_REFUSED},
    {"not available", W_EMPTY}, {"not available yet", W_RETRY}, {"not complete", W_ALIVE}, {"not completed", W_ALIVE},
    {"not defined", W_ABSENT}, {"not done", W_ALIVE}, {"not exist", W_ABSENT}, {"not exists", W_ABSENT},
    {"not finished", W_ALIVE}, {"not found", W_ABSENT | W_EMPTY}, {"not installed", W_ABSENT},
    {"not logged in", W_REFUSED}, {"not of type", W_MISUSED}, {"not permitted", W_REFUSED}, {"not ready", W_RETRY}, {"not registered", W_ABSENT},
    {"not responding", W_RETRY}, {"not running", W_ABSENT}, {"not supported", W_REFUSED}, {"not yet", W_ALIVE},
    {"not_found", W_ABSENT}, {"noted", W_ACK}, {"notfound", W_ABSENT}, {"nothing", W_EMPTY},
    {"nothing found", W_EMPTY}, {"nothing new", W_ALIVE}, {"notified", W_ACK}, {"nowhere", W_EMPTY},
    {"null", W_EMPTY}, {"nxdomain", W_ABSENT}, {"ok", W_ACK}, {"okay", W_ACK}, {"on hold", W_ALIVE},
    {"on its way", W_ALIVE}, {"ongoing", W_ALIVE}, {"oomkilled", W_OVER}, {"opened", W_ACK}, {"out for", W_ALIVE},
    {"out of range", W_REFUSED}, {"outcome unknown", W_UNCLEAR}, {"overloaded", W_RETRY | W_LIMITED}, {"paid", W_ACK},
    {"parse", W_REFUSED}, {"parse error", W_REFUSED}, {"partial", W_ALIVE}, {"pass", W_ACK}, {"passed", W_ACK},
    {"patched", W_ACK}, {"paused", W_ACK}, {"pending", W_ALIVE}, {"percent", W_ALIVE},
    {"permission denied", W_REFUSED}, {"plan limit", W_REFUSED}, {"played", W_ACK}, {"please wait", W_ALIVE},
    {"polling", W_ALIVE}, {"popped", W_ACK}, {"position", W_ALIVE}, {"posted", W_ACK}, {"preparing", W_ALIVE},
    {"pressed", W_ACK}, {"printed", W_ACK}, {"printing", W_ALIVE}, {"processing", W_ALIVE}, {"prohibited", W_REFUSED},
    {"prompt is too long", W_OVERFLOW}, {"propagating", W_ALIVE}, {"provisioning", W_ALIVE}, {"published", W_ACK},
    {"pushed", W_ACK}, {"queued", W_ALIVE | W_ACK}, {"quota", W_REFUSED}, {"rate limit", W_RETRY | W_LIMITED},
    {"rate limited", W_RETRY | W_LIMITED}, {"rate-limited", W_RETRY | W_LIMITED}, {"rate_limit", W_RETRY | W_LIMITED},
    {"rate_limit_exceeded", W_RETRY | W_LIMITED}, {"ratelimit", W_RETRY | W_LIMITED},
    {"ratelimited", W_RETRY | W_LIMITED}, {"read-only", W_REFUSED}, {"readonly", W_REFUSED}, {"ready", W_ACK},
    {"rebooting", W_ALIVE}, {"received", W_ACK}, {"received by", W_ALIVE}, {"recorded", W_ACK},
    {"recovering", W_ALIVE}, {"redone", W_ACK}, {"refreshed", W_ACK}, {"refunded", W_OVER}, {"refused by", W_REFUSED},
    {"registered", W_ACK}, {"rejected", W_OVER}, {"remaining", W_ALIVE}, {"removed", W_ACK}, {"renamed", W_ACK},
    {"rendering", W_ALIVE}, {"replaced", W_ACK}, {"replicating", W_ALIVE}, {"replied", W_ACK}, {"required argument", W_MISUSED}, {"required parameter", W_MISUSED}, {"reset", W_ACK},
    {"resource busy", W_RETRY}, {"response lost", W_UNCLEAR}, {"restarting", W_ALIVE}, {"restored", W_ACK},
    {"resumed", W_ACK}, {"retry", W_RETRY}, {"retry after", W_RETRY}, {"retrying", W_RETRY}, {"returned 0", W_EMPTY},
    {"revoked", W_OVER}, {"ringing", W_ALIVE}, {"roger", W_ACK}, {"rolling", W_ALIVE}, {"rotated", W_ACK},
    {"running", W_ALIVE}, {"saved", W_ACK}, {"saved to", W_ACK}, {"scanning", W_ALIVE},
    {"scheduled", W_ALIVE | W_ACK}, {"scrolled", W_ACK}, {"selected", W_ACK}, {"sent", W_ACK},
    {"sequencing", W_ALIVE}, {"serialization failure", W_RETRY}, {"service unavailable", W_RETRY}, {"set", W_ACK},
    {"settled", W_OVER}, {"settling", W_ALIVE}, {"shipped", W_ALIVE}, {"slept", W_ACK},
    {"slow down", W_RETRY | W_LIMITED}, {"socket hang", W_UNCLEAR | W_RETRY}, {"soon", W_ALIVE},
    {"spinning up", W_ALIVE}, {"started", W_ALIVE | W_ACK}, {"starting", W_ALIVE}, {"starting up", W_RETRY},
    {"state lock", W_RETRY}, {"stepped", W_ACK}, {"still", W_ALIVE}, {"still starting", W_RETRY}, {"stopped", W_OVER | W_ACK},
    {"stored", W_ACK}, {"submitted", W_ALIVE | W_ACK}, {"subscribed", W_ACK}, {"succeeded", W_OVER | W_ACK},
    {"success", W_OVER | W_ACK}, {"successful", W_OVER | W_ACK}, {"successfully", W_ACK}, {"swiped", W_ACK},
    {"switched", W_ACK}, {"synced", W_ACK}, {"syncing", W_ALIVE}, {"syntax error", W_REFUSED},
    {"syntaxerror", W_REFUSED}, {"tagged", W_ACK}, {"tapped", W_ACK}, {"temporarily", W_RETRY}, {"terminal", W_OVER},
    {"terminated", W_OVER}, {"thanks", W_ACK}, {"throttled", W_RETRY | W_LIMITED},
    {"throttling", W_RETRY | W_LIMITED}, {"time out", W_UNCLEAR}, {"timed out", W_UNCLEAR | W_RETRY},
    {"timeout", W_UNCLEAR | W_RETRY}, {"toggled", W_ACK}, {"token limit", W_OVERFLOW}, {"too large", W_REFUSED},
    {"too long", W_REFUSED}, {"too many requests", W_RETRY | W_LIMITED}, {"too many tokens", W_OVERFLOW},
    {"traceback", W_REFUSED}, {"training", W_ALIVE}, {"transcoding", W_ALIVE}, {"transferred", W_ACK},
    {"transferring", W_ALIVE}, {"true", W_ACK}, {"try again", W_RETRY}, {"turned", W_ACK}, {"typed", W_ACK},
    {"typeerror", W_MISUSED}, {"typing", W_ALIVE}, {"unable to find", W_ABSENT | W_EMPTY},
    {"unauthenticated", W_REFUSED}, {"unauthorised", W_REFUSED}, {"unauthorized", W_REFUSED},
    {"unavailable", W_RETRY | W_ABSENT}, {"unchanged", W_ALIVE}, {"unconfirmed", W_ALIVE}, {"undefined", W_ABSENT | W_EMPTY},
    {"under review", W_ALIVE}, {"understood", W_ACK}, {"undone", W_ACK}, {"unexpected", W_REFUSED},
    {"unexpected argument", W_MISUSED}, {"unexpected keyword", W_MISUSED}, {"unknown", W_ABSENT}, {"unknown argument", W_MISUSED}, {"unknown flag", W_REFUSED}, {"unknown option", W_REFUSED}, {"unknown outcome", W_UNCLEAR},
    {"unknown parameter", W_MISUSED}, {"unprocessable", W_REFUSED}, {"unreachable", W_RETRY}, {"unrecognized", W_ABSENT},
    {"unrecognized option", W_REFUSED}, {"unresolved", W_REFUSED}, {"unsupported", W_REFUSED}, {"up to date", W_ACK},
    {"up-to-date", W_ACK}, {"updated", W_ACK}, {"updating", W_ALIVE}, {"uploaded", W_ACK}, {"uploading", W_ALIVE},
    {"valid", W_ACK}, {"validation error", W_MISUSED}, {"validation failed", W_MISUSED}, {"validationerror", W_MISUSED}, {"valueerror", W_MISUSED}, {"verifying", W_ALIVE}, {"voided", W_OVER}, {"waited", W_ACK},
    {"waiting", W_ALIVE}, {"warming", W_ALIVE}, {"warming up", W_RETRY}, {"withdrawn", W_OVER}, {"without", W_EMPTY},
    {"working", W_ALIVE}, {"written", W_ACK}, {"wrote", W_ACK}, {"yes", W_ACK}, {"yet", W_ALIVE}, {"zero", W_EMPTY},
    {"zero results", W_EMPTY}, {"zoomed", W_ACK},
};

/* Names, without '_' and '-'; sorted. */
static const words_row name_rows[] = {
    {"_", N_TIME}, {"accessed", N_WHEN}, {"act", N_ACTION}, {"action", N_ACTION}, {"actiontype", N_ACTION},
    {"after", N_UNIT | N_SINCE}, {"age", N_VOLATILE}, {"ageminutes", N_VOLATILE}, {"agems", N_VOLATILE}, {"ageseconds", N_VOLATILE}, {"asked", N_WHEN}, {"asof", N_WHEN}, {"attempt", N_NONCE},
    {"attemptid", N_NONCE | N_VOLATILE}, {"bash", N_COMMAND}, {"before", N_SINCE}, {"begin", N_PAGE},
    {"block", N_WAIT}, {"blocking", N_WAIT}, {"blockuntil", N_WAIT}, {"bytes", N_PAGE}, {"bytesrange", N_PAGE},
    {"cacheage", N_VOLATILE}, {"cachebust", N_NONCE}, {"cachebuster", N_NONCE}, {"cachekey", N_NONCE},
    {"calledat", N_TIME}, {"callid", N_NONCE | N_VOLATILE}, {"captured", N_WHEN}, {"capturedat", N_VOLATILE},
    {"cb", N_NONCE}, {"checked", N_WHEN}, {"checkedat", N_VOLATILE}, {"chunk", N_PAGE}, {"chunkindex", N_PAGE}, {"cli", N_COMMAND}, {"clientrequestid", N_NONCE},
    {"clienttime", N_TIME}, {"clienttoken", N_NONCE}, {"cmd", N_COMMAND | N_SPACED}, {"cmdname", N_ACTION},
    {"code", N_COMMAND}, {"command", N_COMMAND | N_SPACED}, {"commandline", N_COMMAND | N_SPACED},
    {"commands", N_COMMAND}, {"commentary", N_REASON}, {"completed", N_UNIT}, {"completedat", N_VOLATILE},
    {"conclusion", N_STATE}, {"condition", N_STATE}, {"correlationid", N_NONCE | N_VOLATILE}, {"count", N_PAGE},
    {"cputime", N_VOLATILE}, {"crawled", N_WHEN}, {"currenttime", N_TIME | N_VOLATILE}, {"cursor", N_PAGE},
    {"cwd", N_SPACED}, {"date", N_TIME | N_VOLATILE | N_WHEN}, {"datetime", N_TIME | N_VOLATILE},
    {"deadline", N_LIMIT}, {"dedupid", N_NONCE}, {"delay", N_WAIT}, {"delayms", N_WAIT}, {"delayseconds", N_WAIT},
    {"depth", N_PAGE}, {"description", N_TITLE}, {"dir", N_SPACED}, {"directory", N_SPACED}, {"distance", N_PAGE},
    {"done", N_UNIT}, {"duration", N_LIMIT | N_VOLATILE | N_UNIT}, {"durationms", N_VOLATILE},
    {"durationns", N_VOLATILE}, {"durations", N_VOLATILE}, {"durationsec", N_VOLATILE},
    {"durationseconds", N_VOLATILE}, {"elapsed", N_VOLATILE | N_UNIT}, {"elapsedms", N_VOLATILE},
    {"elapsedseconds", N_VOLATILE}, {"elapsedtime", N_VOLATILE}, {"end", N_PAGE}, {"endedat", N_VOLATILE},
    {"endindex", N_PAGE}, {"endline", N_PAGE}, {"endtime", N_VOLATILE}, {"endts", N_VOLATILE}, {"etag", N_VOLATILE},
    {"event", N_ACTION}, {"every", N_WAIT}, {"everyseconds", N_WAIT}, {"executed", N_UNIT},
    {"executioncount", N_VOLATILE}, {"executionid", N_VOLATILE}, {"executiontime", N_VOLATILE},
    {"executiontimems", N_VOLATILE}, {"expiresin", N_VOLATILE}, {"explanation", N_REASON}, {"expression", N_COMMAND},
    {"fetched", N_WHEN}, {"fetchedat", N_VOLATILE}, {"file", N_SPACED}, {"filename", N_SPACED},
    {"filepath", N_SPACED}, {"finished", N_UNIT}, {"finishedat", N_VOLATILE}, {"first", N_PAGE},
    {"from", N_PAGE | N_SINCE}, {"fromline", N_PAGE}, {"function", N_ACTION}, {"generated", N_WHEN},
    {"generatedat", N_VOLATILE}, {"goal", N_REASON | N_SPACED}, {"head", N_PAGE}, {"health", N_STATE},
    {"height", N_PAGE}, {"hold", N_WAIT}, {"holdms", N_WAIT}, {"idempotencykey", N_NONCE},
    {"idempotencytoken", N_NONCE}, {"in", N_UNIT}, {"input", N_COMMAND}, {"intent", N_REASON},
    {"intentname", N_ACTION}, {"internalmonologue", N_REASON}, {"interval", N_WAIT}, {"intervalms", N_WAIT},
    {"invocationid", N_NONCE | N_VOLATILE}, {"issuedat", N_TIME}, {"justification", N_REASON}, {"k", N_PAGE},
    {"keyword", N_QUERY | N_SEEKS}, {"keywords", N_QUERY | N_SPACED | N_SEEKS}, {"label", N_TITLE}, {"last", N_PAGE},
    {"lastchecked", N_SINCE}, {"lasted", N_UNIT}, {"lastseen", N_SINCE}, {"latency", N_VOLATILE},
    {"latencyms", N_VOLATILE}, {"length", N_PAGE}, {"level", N_PAGE}, {"limit", N_PAGE}, {"line", N_PAGE}, {"lineend", N_PAGE},
    {"linerange", N_PAGE}, {"lines", N_PAGE}, {"linestart", N_PAGE}, {"loadtime", N_VOLATILE},
    {"loadtimems", N_VOLATILE}, {"logid", N_VOLATILE}, {"longpoll", N_WAIT}, {"max", N_PAGE}, {"maxresults", N_PAGE},
    {"maxseconds", N_LIMIT}, {"maxwait", N_WAIT}, {"maxwaitms", N_WAIT}, {"message", N_SPACED},
    {"messageid", N_NONCE | N_VOLATILE}, {"method", N_ACTION}, {"millis", N_LIMIT}, {"minutes", N_LIMIT},
    {"modifiedsince", N_SINCE}, {"ms", N_LIMIT | N_VOLATILE}, {"name", N_TITLE}, {"newerthan", N_SINCE},
    {"nocache", N_NONCE}, {"nonce", N_NONCE | N_VOLATILE}, {"now", N_TIME | N_VOLATILE | N_WHEN},
    {"numlines", N_PAGE}, {"numresults", N_PAGE}, {"offset", N_PAGE}, {"op", N_ACTION}, {"operation", N_ACTION},
    {"operationtype", N_ACTION}, {"outcome", N_STATE}, {"page", N_PAGE}, {"pageindex", N_PAGE}, {"pageno", N_PAGE}, {"pagenum", N_PAGE}, {"pagenumber", N_PAGE}, {"pagesize", N_PAGE},
    {"path", N_SPACED}, {"pattern", N_SPACED}, {"perpage", N_PAGE}, {"phase", N_STATE}, {"phrase", N_QUERY},
    {"pid", N_VOLATILE}, {"pollevery", N_WAIT}, {"pollinterval", N_WAIT}, {"pollintervalms", N_WAIT}, {"pos", N_PAGE},
    {"position", N_PAGE}, {"ppid", N_VOLATILE}, {"preamble", N_REASON}, {"printed", N_WHEN},
    {"processingtime", N_VOLATILE}, {"processingtimems", N_VOLATILE}, {"program", N_COMMAND}, {"prompt", N_SPACED},
    {"purpose", N_REASON}, {"q", N_QUERY | N_SPACED | N_SEEKS}, {"queried", N_WHEN}, {"queriedat", N_VOLATILE},
    {"query", N_QUERY | N_SPACED | N_SEEKS}, {"queryid", N_VOLATILE}, {"queryms", N_VOLATILE}, {"querytime", N_VOLATILE},
    {"querytimems", N_VOLATILE}, {"question", N_QUERY | N_SPACED | N_SEEKS}, {"radius", N_PAGE}, {"ran", N_UNIT},
    {"rand", N_NONCE}, {"random", N_NONCE}, {"randomid", N_NONCE}, {"range", N_PAGE}, {"rationale", N_REASON},
    {"reason", N_REASON}, {"reasoning", N_REASON}, {"refreshed", N_WHEN}, {"regex", N_SPACED}, {"rendered", N_WHEN},
    {"renderedat", N_VOLATILE}, {"reqid", N_NONCE | N_VOLATILE}, {"requested", N_WHEN}, {"requestedat", N_TIME},
    {"requestid", N_NONCE | N_VOLATILE}, {"requesttime", N_TIME | N_VOLATILE}, {"requestuuid", N_NONCE},
    {"responsetime", N_VOLATILE}, {"responsetimems", N_VOLATILE}, {"result", N_STATE}, {"retrieved", N_WHEN},
    {"retrievedat", N_VOLATILE}, {"retrycount", N_NONCE}, {"rnd", N_NONCE}, {"roundtrip", N_VOLATILE | N_UNIT}, {"rtt", N_VOLATILE | N_UNIT}, {"runid", N_NONCE | N_VOLATILE},
    {"runtime", N_VOLATILE | N_UNIT}, {"runtimems", N_VOLATILE}, {"salt", N_NONCE}, {"scale", N_PAGE}, {"script", N_COMMAND},
    {"search", N_QUERY | N_SPACED | N_SEEKS}, {"searchquery", N_QUERY | N_SEEKS}, {"searchterm", N_QUERY | N_SEEKS}, {"searchterms", N_QUERY | N_SEEKS},
    {"seconds", N_LIMIT | N_VOLATILE | N_UNIT}, {"sentat", N_TIME}, {"served", N_WHEN}, {"servedat", N_VOLATILE},
    {"servertime", N_VOLATILE}, {"sessionuptime", N_VOLATILE}, {"shell", N_COMMAND | N_SPACED}, {"since", N_SINCE},
    {"sincetime", N_SINCE}, {"sincets", N_SINCE}, {"size", N_PAGE}, {"skip", N_PAGE}, {"sleep", N_WAIT},
    {"sleepms", N_WAIT}, {"sleepseconds", N_WAIT}, {"snapshot", N_WHEN}, {"source", N_COMMAND},
    {"spanid", N_NONCE | N_VOLATILE}, {"sql", N_COMMAND | N_SPACED}, {"stage", N_STATE}, {"start", N_PAGE},
    {"started", N_VOLATILE}, {"startedat", N_VOLATILE}, {"startindex", N_PAGE}, {"startline", N_PAGE},
    {"starttime", N_VOLATILE}, {"startts", N_VOLATILE}, {"state", N_STATE}, {"statement", N_COMMAND | N_SPACED},
    {"status", N_STATE}, {"subcommand", N_ACTION}, {"summary", N_TITLE}, {"t", N_TIME}, {"tail", N_PAGE},
    {"task", N_SPACED}, {"terms", N_QUERY | N_SEEKS}, {"text", N_QUERY}, {"thought", N_REASON}, {"thoughts", N_REASON},
    {"tid", N_VOLATILE}, {"time", N_TIME | N_UNIT}, {"timems", N_VOLATILE}, {"timeout", N_LIMIT},
    {"timeoutms", N_LIMIT}, {"timeouts", N_LIMIT}, {"timeoutsec", N_LIMIT}, {"timeoutseconds", N_LIMIT},
    {"timestamp", N_TIME | N_VOLATILE | N_WHEN}, {"timetaken", N_VOLATILE}, {"title", N_TITLE}, {"to", N_PAGE},
    {"toline", N_PAGE}, {"took", N_VOLATILE | N_UNIT}, {"tookms", N_VOLATILE}, {"toolaction", N_REASON},
    {"toolcallid", N_NONCE}, {"toolsummary", N_REASON}, {"top", N_PAGE}, {"topic", N_QUERY},
    {"traceid", N_NONCE | N_VOLATILE}, {"tryno", N_NONCE}, {"ts", N_TIME | N_VOLATILE}, {"uniqueid", N_NONCE},
    {"until", N_SINCE}, {"up", N_UNIT}, {"updated", N_WHEN}, {"updatedsince", N_SINCE}, {"uptime", N_VOLATILE},
    {"uptimems", N_VOLATILE}, {"uptimes", N_VOLATILE}, {"uri", N_SPACED}, {"url", N_SPACED}, {"v", N_TIME},
    {"ver", N_TIME}, {"verb", N_ACTION}, {"viewrange", N_PAGE}, {"wait", N_WAIT}, {"waitfor", N_WAIT},
    {"waitforcompletion", N_WAIT}, {"waitms", N_WAIT}, {"waits", N_WAIT}, {"waitseconds", N_WAIT},
    {"waittime", N_WAIT}, {"waituntil", N_WAIT}, {"walltime", N_VOLATILE}, {"walltimems", N_VOLATILE},
    {"why", N_REASON}, {"width", N_PAGE}, {"within", N_UNIT}, {"xrequestid", N_NONCE | N_VOLATILE}, {"yield", N_WAIT},
    {"yieldms", N_WAIT}, {"yieldseconds", N_WAIT}, {"yieldtime", N_WAIT}, {"yieldtimems", N_WAIT}, {"z", N_PAGE}, {"zoom", N_PAGE}, {"zoomlevel", N_PAGE},
};
// clang-format on

#define ROWS(rows) rows, sizeof(rows) / sizeof *(rows)

enum {
    HEAD_BYTES = 600, /* of a result are looked at, */
    TAIL_BYTES = 200, /*   and of its end */
    TEXT_WORDS_MAX = 128,
    ACK_WORDS_MAX = 10, /* who tells more than that does not only say that it was done */
    EMPTY_AT_MAX = 4,   /* "no" further behind says no for something else */
    EMPTY_WORDS_MAX = 18,
    STATE_WORDS_MAX = 40, /* a longer text is not about how one thing stands */
    SHORT_BYTES_MAX = 24,
    FEW_WORDS_MAX = 6,
    BEGINS_WORDS_MAX = 12, /* who begins with "pending" says no more than that */
};

unsigned words_of_name(daruma_str name)
{
    char plain[32];
    size_t n = 0;
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] == '_' || name.p[i] == '-' || name.p[i] == ' ')
            continue;
        if (n == sizeof plain)
            return 0;
        plain[n++] = ch_lower(name.p[i]);
    }
    return words_find(ROWS(name_rows), n ? (daruma_str){plain, n} : name);
}

typedef struct text_words {
    daruma_str at[TEXT_WORDS_MAX];
    size_t n;
} text_words;

static bool in_word(char c)
{
    return ch_word(c) || c == '\'' || c == '-';
}

static void split(daruma_str text, text_words *w)
{
    for (size_t i = 0; i < text.n && w->n < TEXT_WORDS_MAX;) {
        size_t from = i;
        if (!ch_word(text.p[i])) {
            i++;
            continue;
        }
        while (i < text.n && in_word(text.p[i]))
            i++;
        w->at[w->n++] = str_sub(text, from, i - from);
    }
}

/* Words from `i` on, single spaces between them. */
static size_t join(const text_words *w, size_t i, char line[2 * WORDS_ROW_BYTES])
{
    size_t n = 0;
    for (size_t k = i; k < i + 3 && k < w->n && n + w->at[k].n + 1 < 2 * WORDS_ROW_BYTES; k++) {
        if (n)
            line[n++] = ' ';
        for (size_t b = 0; b < w->at[k].n; b++)
            line[n++] = ch_lower(w->at[k].p[b]);
    }
    line[n] = 0;
    return n;
}

/* The meaning of the words at `i`; `*used` is how many they are. The rows that begin with a word follow each other. */
static unsigned phrase_at(const text_words *w, size_t i, size_t *used)
{
    char key[WORDS_ROW_BYTES], line[2 * WORDS_ROW_BYTES];
    size_t n = sizeof result_rows / sizeof *result_rows, word = w->at[i].n, longest = 0, joined = 0;
    unsigned means = 0;
    *used = 1;
    if (!words_key(w->at[i], key))
        return 0;
    uint64_t first = word < sizeof first ? ~(UINT64_MAX >> 8 * word) : UINT64_MAX; /* its first bytes */
    for (size_t at = words_from(ROWS(result_rows), key); at < n; at++) {
        const char *row = result_rows[at].words;
        if ((words_load(row) ^ words_load(key)) & first)
            break; /* of most words the row before which they would stand */
        if (word > sizeof first && memcmp(row, key, word) != 0)
            break;
        if (row[word] && row[word] != ' ')
            continue;
        if (!joined)
            joined = join(w, i, line);
        size_t len = strlen(row);
        if (len <= longest || len > joined || memcmp(row, line, len) != 0 || (line[len] && line[len] != ' '))
            continue;
        longest = len;
        means = result_rows[at].means;
    }
    for (size_t b = 0; b < longest; b++)
        *used += line[b] == ' ';
    return means;
}

/* {"status":"...ing"}: whatever it does, it is at it. */
static bool is_doing(const text_words *w, size_t i)
{
    if (w->at[i].n <= 4 || !str_ends(w->at[i], S("ing")))
        return false;
    return i == 0 ? w->n <= 2 : (words_of_name(w->at[i - 1]) & NAME_STATE) != 0;
}

/* A number is one of HTTP at the beginning of a text, or behind a word that says so. */
static bool is_status(const text_words *w, size_t i)
{
    static const char *const before[] = {"http", "status", "code", "error", "statuscode", "returned", "got", NULL};
    for (int k = 0; i > 2 && before[k]; k++)
        if (str_ieq(w->at[i - 1], str_of(before[k])))
            return true;
    return i <= 2 || (w->at[i - 1].n == 1 && i > 2 && str_ieq(w->at[i - 2], S("1"))); /* HTTP/1.1 503 */
}

/* "status: running", "still running", "pending": not "the running shoes of ...". */
static bool stands(const text_words *w, size_t i, daruma_str text)
{
    static const char *const before[] = {"is", "are", "still", "currently", "now", "not", "job", "task", NULL};
    static const char *const lasting[] = {"active",  "started",    "accepted", "submitted",
                                          "shipped", "dispatched", "partial",  NULL}; /* states a thing may stay in */
    size_t words = 0;
    for (int k = 0; lasting[k]; k++)
        if (str_ieq(w->at[i], str_of(lasting[k])))
            return false;
    if (i == 0 && text.p[0] != '{' && w->n <= BEGINS_WORDS_MAX)
        return true;
    for (size_t k = 0; k < w->n; k++)
        words += !ch_digit(w->at[k].p[0]);
    if (words <= 3 && text.p[0] != '{')
        return true;
    if (str_ieq(w->at[i], S("still")) || str_ieq(w->at[i], S("not")))
        return w->n <= 8;
    for (int k = 0; i && before[k]; k++)
        if (str_ieq(w->at[i - 1], str_of(before[k])))
            return true;
    return i && (words_of_name(w->at[i - 1]) & NAME_STATE);
}

/* "job 7 is FAILED", "session expired 5 s ago", {"state":"dead"}: said of one thing, and no count: "14 failed". */
static bool is_dead(const text_words *w, size_t i, unsigned means, daruma_str text)
{
    if (!(means & WORDS_OVER) || ((means & WORDS_ACK) && !str_istarts(w->at[i], S("cancel"))))
        return false;
    if (i && (words_of_name(w->at[i - 1]) & NAME_STATE))
        return true;
    if (text.p[0] == '{' || i >= EMPTY_AT_MAX || w->n > BEGINS_WORDS_MAX || (i && ch_digit(w->at[i - 1].p[0])))
        return false;
    bool counts = i + 1 < w->n && ch_digit(w->at[i + 1].p[0]);
    for (size_t k = i + 1; k < w->n && counts; k++)
        counts = !str_ieq(w->at[k], S("ago"));
    return !counts;
}

/* JSON without a value that says anything: "[]", {"items":[],"total":0}. Or nothing at all. */
static bool says_nothing(daruma_str text)
{
    bool key = false;
    if (text.n > HEAD_BYTES || str_eq(text, S("000"))) /* curl's word for a server that does not answer */
        return false;
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '"' && text.p[0] == '{') {
            size_t end = str_findch(str_from(text, i + 1), '"');
            if (end == STR_NONE)
                return false;
            i += end + 1;
            key = i + 1 < text.n &&
                  (text.p[i + 1] == ':' || (text.p[i + 1] == ' ' && i + 2 < text.n && text.p[i + 2] == ':'));
            if (!key && end > 0)
                return false;
        } else if (ch_alpha(c)) {
            daruma_str rest = str_from(text, i);
            static const daruma_str nothing[] = {{"null", 4}, {"false", 5}, {"None", 4}, {"nil", 3}};
            size_t k = 0;
            while (k < 4 && !str_starts(rest, nothing[k]))
                k++;
            if (k == 4 || (rest.n > nothing[k].n && ch_word(rest.p[nothing[k].n])))
                return false;
            i += nothing[k].n - 1;
        } else if (ch_digit(c) ? c != '0' : (unsigned char)c >= 0x80) {
            return false;
        }
    }
    return true;
}

unsigned words_of_result(daruma_str result, bool failed)
{
    text_words w = {.n = 0};
    unsigned got = WORDS_HEARD, head = 0, alive = 0; /* `alive`: said by more than "no new output" */
    result = str_trim(result);
    if (says_nothing(result))
        return WORDS_EMPTY | WORDS_SHORT | WORDS_HEARD;
    split(str_sub(result, 0, HEAD_BYTES), &w);
    if (result.n > HEAD_BYTES)
        split(str_from(result, result.n - TAIL_BYTES), &w);
    for (size_t i = 0, used; i < w.n; i += used) {
        unsigned means = phrase_at(&w, i, &used);
        if (ch_digit(w.at[i].p[0]) && !is_status(&w, i))
            means &= WORDS_EMPTY;
        if (!means && is_doing(&w, i))
            means = WORDS_ALIVE;
        if ((means & WORDS_ALIVE) && stands(&w, i, result))
            means |= WORDS_STANDS;
        if (is_dead(&w, i, means, result))
            means |= WORDS_DEAD;
        if (!str_ieq(w.at[i], S("no")))
            alive |= means;
        got |= means;
        if (i < EMPTY_AT_MAX)
            head |= means;
    }
    if ((got & WORDS_DEAD) && !(alive & WORDS_ALIVE))
        got &= ~(unsigned)(WORDS_ALIVE | WORDS_STANDS);
    if (!failed && !(head & WORDS_MISUSED))
        got &= ~(unsigned)WORDS_MISUSED;
    if (w.n > ACK_WORDS_MAX || failed)
        got &= ~(unsigned)WORDS_ACK;
    if (w.n > EMPTY_WORDS_MAX || !(head & WORDS_EMPTY))
        got &= ~(unsigned)WORDS_EMPTY;
    if (w.n > STATE_WORDS_MAX)
        got &= ~(unsigned)(WORDS_ALIVE | WORDS_OVER | WORDS_DEAD);
    if (w.n <= FEW_WORDS_MAX)
        got |= WORDS_FEW;
    if (w.n <= 1 || result.n <= SHORT_BYTES_MAX)
        got |= WORDS_SHORT;
    return got;
}
