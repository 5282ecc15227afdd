/* words_call.c - what the words of tools, actions and commands mean. A tool that nobody knows means nothing: then its
 * results decide. */
#include "engine/watch/words.h"
#include "base/str.h"
#include "engine/watch/words_find.h"

#define T_READS    DARUMA_TOOL_READS
#define T_WAITS    DARUMA_TOOL_WAITS
#define T_WRITES   DARUMA_TOOL_WRITES
#define T_ACTS     DARUMA_TOOL_ACTS
#define T_COMPACTS DARUMA_TOOL_COMPACTS
#define T_NOTES    DARUMA_TOOL_NOTES
#define W_PAUSES   WORDS_PAUSES
#define W_ASKS     WORDS_ASKS
#define W_RANDOM   WORDS_RANDOM
#define W_INPUT    WORDS_INPUT
#define W_SHELL    WORDS_SHELL
#define W_MOVES    WORDS_MOVES
#define W_SPEAKS   WORDS_SPEAKS
#define W_MEASURES WORDS_MEASURES
#define W_WEAK     WORDS_WEAK
#define W_SHORTEN  WORDS_SHORTEN
#define W_HISTORY  WORDS_HISTORY
#define W_STILL    WORDS_STILL
#define W_CHANGES  WORDS_CHANGES
#define W_ONCE     WORDS_ONCE
#define W_KEYS     WORDS_KEYS
#define W_SEEKS    WORDS_SEEKS
#define W_DEALS    WORDS_DEALS
#define W_OPENS    WORDS_OPENS
#define W_AGAIN    WORDS_AGAIN

// clang-format off
/* Words of names of tools; sorted. */
static const words_row tool_rows[] = {
    {"accelerate", T_ACTS | W_INPUT}, {"acquire", W_DEALS}, {"act", T_ACTS | W_INPUT | W_WEAK},
    {"action", T_ACTS | W_INPUT | W_WEAK}, {"activate", T_WRITES | W_OPENS}, {"add", T_ACTS}, {"adjust", T_WRITES},
    {"administer", T_ACTS}, {"advance", T_ACTS | W_INPUT}, {"agent", T_ACTS | W_WEAK}, {"alert", T_ACTS | W_WEAK},
    {"allocate", W_DEALS}, {"analyse", T_READS}, {"analyze", T_READS}, {"announce", T_ACTS},
    {"answer", T_ACTS | W_WEAK}, {"append", T_ACTS}, {"apply", T_WRITES}, {"approve", T_ACTS}, {"archive", T_WRITES},
    {"art", W_DEALS}, {"article", T_READS | W_WEAK}, {"articles", T_READS | W_WEAK},
    {"arxiv", T_READS | W_WEAK | W_SEEKS}, {"ask", T_READS | W_WEAK | W_SEEKS}, {"assign", T_WRITES},
    {"assistant", W_SPEAKS}, {"attach", W_OPENS}, {"audio", W_DEALS}, {"audit", T_READS}, {"authenticate", W_OPENS},
    {"autocompact", T_COMPACTS}, {"availability", T_READS | W_WEAK | W_ASKS}, {"avatar", W_DEALS}, {"await", T_WAITS},
    {"backup", T_ACTS}, {"balance", T_READS | W_WEAK | W_MOVES}, {"bandwidth", W_MEASURES}, {"bash", W_SHELL},
    {"battery", T_READS | W_WEAK | W_MOVES}, {"bench", W_MEASURES}, {"benchmark", W_MEASURES}, {"bid", T_ACTS},
    {"bigquery", W_SHELL}, {"book", T_ACTS | W_WEAK | W_ONCE}, {"brainstorm", T_NOTES}, {"brake", T_ACTS | W_INPUT},
    {"branch", W_STILL}, {"brightness", T_ACTS | W_INPUT | W_WEAK}, {"broadcast", T_ACTS | W_ONCE},
    {"browse", T_READS | W_OPENS}, {"build", T_ACTS | W_WEAK}, {"bump", T_ACTS | W_INPUT},
    {"busca", T_READS | W_SEEKS}, {"buscar", T_READS | W_SEEKS}, {"button", T_ACTS | W_INPUT | W_WEAK},
    {"buy", T_ACTS | W_ONCE}, {"calculate", T_READS}, {"calculator", T_READS | W_WEAK}, {"call", T_ACTS | W_WEAK},
    {"camera", T_READS | W_WEAK | W_MOVES}, {"cancel", T_ACTS}, {"captcha", W_DEALS}, {"cat", T_READS},
    {"catalog", T_READS | W_WEAK}, {"catalogue", T_READS | W_WEAK}, {"cd", W_OPENS}, {"cerca", T_READS | W_SEEKS},
    {"chance", T_READS | W_WEAK | W_RANDOM}, {"change", T_WRITES}, {"channel", T_ACTS | W_INPUT | W_WEAK},
    {"charge", T_ACTS | W_ONCE}, {"check", T_READS}, {"checkout", T_WRITES}, {"chmod", T_WRITES}, {"claim", W_DEALS},
    {"classify", T_READS}, {"clear", T_WRITES}, {"click", T_ACTS | W_MOVES}, {"clock", T_READS | W_WEAK | W_MOVES},
    {"clone", T_ACTS}, {"close", T_WRITES | W_WEAK}, {"cmd", W_SHELL}, {"code", W_SHELL},
    {"coin", T_READS | W_WEAK | W_RANDOM}, {"command", W_SHELL}, {"commands", W_SHELL},
    {"comment", T_ACTS | W_WEAK | W_ONCE}, {"commit", T_ACTS}, {"compact", T_COMPACTS}, {"compaction", T_COMPACTS},
    {"compare", T_READS}, {"compile", T_ACTS | W_WEAK}, {"compress", W_SHORTEN}, {"compute", T_READS},
    {"condensation", T_COMPACTS}, {"condense", T_COMPACTS}, {"condenser", T_COMPACTS}, {"config", T_WRITES | W_WEAK},
    {"configuration", T_WRITES | W_WEAK}, {"configure", T_WRITES}, {"confirm", T_ACTS}, {"connect", W_OPENS},
    {"console", W_SHELL}, {"consult", T_READS | W_WEAK | W_SEEKS}, {"consume", W_DEALS}, {"container", W_DEALS},
    {"context", W_HISTORY}, {"control", T_ACTS | W_INPUT | W_WEAK}, {"conversation", W_HISTORY}, {"convert", T_READS},
    {"copy", T_WRITES | W_WEAK}, {"count", T_READS}, {"coupon", W_DEALS}, {"cp", T_WRITES}, {"crawl", T_READS},
    {"create", T_ACTS | W_ONCE}, {"credit", T_ACTS | W_WEAK}, {"database", W_SHELL},
    {"datetime", T_READS | W_WEAK | W_MOVES}, {"db", W_SHELL},
    {"deactivate", T_WRITES}, {"deal", T_READS | W_WEAK | W_RANDOM}, {"dealer", T_READS | W_WEAK | W_RANDOM},
    {"debit", T_ACTS | W_WEAK}, {"decrease", T_WRITES}, {"decrement", T_ACTS | W_INPUT},
    {"definition", T_READS | W_WEAK}, {"delay", T_WAITS | W_PAUSES}, {"delegate", T_ACTS}, {"delete", T_WRITES},
    {"deploy", T_ACTS}, {"deposit", T_ACTS | W_WEAK | W_ONCE}, {"dequeue", T_ACTS | W_INPUT | W_DEALS},
    {"describe", T_READS}, {"details", T_READS | W_WEAK}, {"detect", T_READS}, {"determine", T_READS},
    {"dial", T_ACTS}, {"dice", T_READS | W_WEAK | W_RANDOM}, {"diff", T_READS}, {"dig", T_READS | W_WEAK},
    {"directions", T_READS | W_WEAK}, {"directory", T_READS | W_WEAK}, {"disable", T_WRITES},
    {"discover", T_READS | W_SEEKS}, {"dispatch", T_ACTS}, {"dispense", T_ACTS}, {"docs", T_READS | W_WEAK | W_SEEKS},
    {"donate", T_ACTS | W_ONCE}, {"download", T_ACTS | W_WEAK}, {"drag", T_ACTS | W_INPUT},
    {"draw", T_ACTS | W_WEAK | W_RANDOM | W_DEALS}, {"drawing", W_DEALS}, {"edit", T_WRITES},
    {"edits", T_WRITES | W_WEAK}, {"email", T_ACTS | W_WEAK | W_ONCE}, {"emit", T_ACTS}, {"enable", T_WRITES},
    {"enqueue", T_ACTS}, {"enroll", T_ACTS}, {"enumerate", T_READS}, {"erase", T_WRITES}, {"escalate", T_ACTS},
    {"estado", T_READS | W_WEAK | W_ASKS}, {"estimate", T_READS}, {"eta", T_READS | W_WEAK | W_ASKS},
    {"evaluate", T_READS | W_MOVES}, {"examine", T_READS}, {"exec", W_SHELL}, {"execute", T_ACTS | W_WEAK},
    {"explain", T_READS}, {"export", T_ACTS | W_WEAK}, {"extract", T_READS}, {"faq", T_READS | W_WEAK},
    {"feed", T_ACTS | W_WEAK}, {"fetch", T_READS}, {"filter", T_READS}, {"find", T_READS | W_SEEKS},
    {"fix", T_WRITES | W_WEAK}, {"flip", T_READS | W_WEAK | W_RANDOM}, {"follow", T_ACTS | W_WEAK},
    {"forecast", T_READS | W_WEAK}, {"fork", T_ACTS}, {"format", T_WRITES | W_WEAK}, {"forward", T_ACTS | W_INPUT},
    {"fresh", W_DEALS}, {"gamble", T_READS | W_WEAK | W_RANDOM}, {"gauge", T_READS | W_WEAK | W_MOVES},
    {"generate", T_ACTS | W_WEAK | W_RANDOM}, {"geocode", T_READS}, {"get", T_READS}, {"git", W_STILL},
    {"glob", T_READS | W_SEEKS}, {"go", T_ACTS | W_INPUT | W_WEAK}, {"goto", T_READS | W_OPENS}, {"grep", T_READS},
    {"guess", T_READS | W_WEAK | W_RANDOM}, {"handoff", T_ACTS}, {"head", T_READS | W_WEAK},
    {"health", T_READS | T_WAITS | W_WEAK}, {"healthcheck", T_READS | T_WAITS | W_WEAK},
    {"heartbeat", T_READS | T_WAITS | W_WEAK}, {"help", T_READS | W_WEAK}, {"hg", W_STILL}, {"hire", T_ACTS | W_WEAK},
    {"history", T_READS | W_WEAK | W_HISTORY}, {"hit", T_ACTS | W_INPUT}, {"home", W_OPENS},
    {"hover", T_READS | W_WEAK}, {"hyperfine", W_MEASURES}, {"identify", T_READS}, {"idle", T_WAITS | W_PAUSES},
    {"illustration", W_DEALS}, {"image", W_DEALS}, {"images", W_DEALS}, {"imagine", T_READS | W_WEAK | W_RANDOM},
    {"import", T_ACTS}, {"inbox", T_READS | W_WEAK | W_ASKS}, {"increase", T_WRITES}, {"increment", T_ACTS | W_INPUT},
    {"index", T_READS | W_WEAK}, {"info", T_READS | W_WEAK}, {"inject", T_ACTS}, {"input", W_KEYS},
    {"insert", T_ACTS}, {"inspect", T_READS}, {"install", T_ACTS}, {"instance", W_DEALS}, {"invite", T_ACTS | W_ONCE},
    {"invoice", T_ACTS | W_WEAK}, {"invoke", T_ACTS}, {"iperf", W_MEASURES}, {"ipython", W_SHELL},
    {"issue", T_ACTS | W_WEAK | W_ONCE}, {"journal", T_NOTES}, {"jump", T_ACTS | W_INPUT}, {"jupyter", W_SHELL},
    {"kb", T_READS | W_WEAK}, {"keepalive", T_READS | T_WAITS | W_WEAK},
    {"key", T_ACTS | W_INPUT | W_WEAK | W_KEYS | W_DEALS}, {"keyboard", T_ACTS | W_INPUT | W_WEAK | W_KEYS},
    {"keypress", T_ACTS | W_INPUT | W_KEYS}, {"keys", T_ACTS | W_INPUT | W_WEAK | W_KEYS}, {"keystroke", W_KEYS},
    {"keystrokes", W_KEYS}, {"kill", T_ACTS}, {"knowledge", T_READS | W_WEAK | W_SEEKS}, {"label", T_WRITES | W_WEAK},
    {"latency", W_MEASURES}, {"launch", T_ACTS | W_OPENS}, {"lease", W_DEALS}, {"lint", T_READS}, {"list", T_READS},
    {"listen", T_WAITS}, {"liveness", T_READS | T_WAITS | W_WEAK}, {"load", T_READS | W_WEAK},
    {"loadtest", W_MEASURES}, {"location", T_READS | W_WEAK | W_MOVES}, {"lock", T_WRITES},
    {"log", T_READS | W_WEAK | W_MOVES}, {"login", W_OPENS}, {"logo", W_DEALS}, {"logs", T_READS | W_WEAK | W_MOVES},
    {"look", T_READS | W_WEAK}, {"lookup", T_READS | W_SEEKS}, {"lottery", T_READS | W_WEAK | W_RANDOM},
    {"ls", T_READS}, {"mail", T_ACTS | W_WEAK | W_ONCE}, {"mailbox", T_READS | W_WEAK | W_ASKS},
    {"manual", T_READS | W_WEAK}, {"mark", T_WRITES | W_WEAK}, {"market", T_READS | W_WEAK | W_MOVES},
    {"match", T_READS | W_WEAK}, {"measure", T_READS}, {"memo", T_NOTES}, {"memorize", T_NOTES},
    {"memory", T_NOTES | W_WEAK | W_HISTORY}, {"mention", T_ACTS | W_ONCE}, {"merge", T_ACTS}, {"message", T_ACTS | W_WEAK | W_ONCE},
    {"messages", W_HISTORY}, {"metric", T_READS | W_WEAK | W_MOVES}, {"metrics", T_READS | W_WEAK | W_MOVES},
    {"migrate", T_ACTS}, {"mint", T_ACTS | W_DEALS}, {"mkdir", T_WRITES}, {"mode", T_WRITES | W_WEAK},
    {"modify", T_WRITES}, {"monitor", T_WAITS}, {"monologue", W_SPEAKS}, {"mouse", T_ACTS | W_INPUT | W_WEAK},
    {"move", T_WRITES | W_WEAK | T_ACTS | W_INPUT}, {"music", W_DEALS}, {"mute", T_WRITES | W_WEAK}, {"mv", T_WRITES},
    {"mysql", W_SHELL}, {"navigate", T_READS | W_OPENS}, {"new", W_DEALS}, {"next", T_ACTS | W_INPUT | W_DEALS},
    {"nonce", W_DEALS}, {"note", T_NOTES | W_WEAK}, {"notepad", T_NOTES}, {"notes", T_NOTES | W_WEAK},
    {"notify", T_ACTS | W_ONCE}, {"nslookup", T_READS | W_WEAK}, {"nudge", T_ACTS | W_INPUT}, {"observe", T_READS},
    {"obtain", W_DEALS}, {"ocr", T_READS}, {"open", T_READS | W_WEAK | W_OPENS}, {"option", T_READS | W_WEAK},
    {"options", T_READS | W_WEAK}, {"oracle", T_READS | W_WEAK | W_RANDOM}, {"order", T_ACTS | W_WEAK | W_ONCE},
    {"otp", W_DEALS}, {"otpcode", W_DEALS}, {"outline", T_READS | W_WEAK}, {"overwrite", T_WRITES},
    {"page", T_READS | W_WEAK | W_MOVES}, {"pagedown", T_ACTS | W_INPUT}, {"pageup", T_ACTS | W_INPUT},
    {"parse", T_READS}, {"password", W_DEALS}, {"paste", T_WRITES | W_WEAK}, {"patch", T_WRITES},
    {"pause", T_WAITS | W_PAUSES}, {"pay", T_ACTS | W_ONCE}, {"payment", T_ACTS | W_WEAK}, {"peek", T_READS},
    {"pending", T_READS | W_WEAK | W_ASKS}, {"perf", W_MEASURES}, {"perform", T_ACTS | W_WEAK},
    {"pesquisa", T_READS | W_SEEKS}, {"pesquisar", T_READS | W_SEEKS}, {"photo", W_DEALS},
    {"pick", T_ACTS | W_WEAK | W_RANDOM}, {"picture", W_DEALS}, {"pin", T_WRITES | W_WEAK | W_DEALS},
    {"ping", T_READS | T_WAITS | W_WEAK}, {"place", T_ACTS | W_ONCE}, {"plan", T_NOTES | W_WEAK},
    {"planning", T_NOTES | W_WEAK}, {"play", T_ACTS | W_WEAK}, {"poll", T_WAITS}, {"ponder", T_NOTES},
    {"pop", T_ACTS | W_INPUT | W_DEALS}, {"position", T_READS | W_WEAK | W_MOVES}, {"post", T_ACTS | W_ONCE},
    {"postgres", W_SHELL}, {"powershell", W_SHELL}, {"predict", T_READS | W_WEAK}, {"press", T_ACTS | W_INPUT},
    {"prev", T_ACTS | W_INPUT}, {"preview", T_READS}, {"previous", T_ACTS | W_INPUT},
    {"price", T_READS | W_WEAK | W_MOVES}, {"prices", T_READS | W_WEAK | W_MOVES}, {"print", T_ACTS | W_WEAK},
    {"procurar", T_READS | W_SEEKS}, {"profile", T_READS | W_WEAK}, {"profiler", W_MEASURES},
    {"progress", T_READS | W_WEAK | W_ASKS}, {"prompt", T_ACTS | W_WEAK}, {"provision", T_ACTS}, {"prune", W_SHORTEN},
    {"psql", W_SHELL}, {"publish", T_ACTS | W_ONCE}, {"purchase", T_ACTS | W_ONCE}, {"push", T_ACTS},
    {"put", T_WRITES}, {"python", W_SHELL}, {"query", T_READS | W_WEAK | W_SEEKS},
    {"quote", T_READS | W_WEAK | W_MOVES}, {"quotes", T_READS | W_WEAK | W_MOVES},
    {"radar", T_READS | W_WEAK | W_MOVES}, {"raffle", T_READS | W_WEAK | W_RANDOM},
    {"randint", T_READS | W_WEAK | W_RANDOM}, {"random", T_READS | W_WEAK | W_RANDOM},
    {"randomize", T_READS | W_WEAK | W_RANDOM}, {"react", T_ACTS | W_WEAK}, {"read", T_READS},
    {"readiness", T_READS | T_WAITS | W_WEAK}, {"reading", T_READS | W_WEAK | W_MOVES},
    {"ready", T_READS | W_WEAK | W_ASKS}, {"reason", T_NOTES}, {"reasoning", T_NOTES}, {"reboot", T_ACTS},
    {"recall", T_READS | W_SEEKS}, {"receive", W_DEALS}, {"recherche", T_READS | W_SEEKS},
    {"rechercher", T_READS | W_SEEKS}, {"recommend", T_READS | W_WEAK}, {"record", T_ACTS | W_WEAK},
    {"redo", T_ACTS | W_INPUT}, {"refactor", T_WRITES}, {"references", T_READS | W_WEAK}, {"reflect", T_NOTES},
    {"reflection", T_NOTES}, {"refresh", T_ACTS | W_WEAK | W_AGAIN}, {"refund", T_ACTS | W_ONCE},
    {"register", T_ACTS | W_ONCE}, {"reject", T_ACTS}, {"release", T_ACTS | W_WEAK}, {"reload", T_ACTS | W_AGAIN},
    {"remember", T_NOTES}, {"remove", T_WRITES}, {"rename", T_WRITES}, {"repl", W_SHELL}, {"replace", T_WRITES},
    {"reply", T_ACTS | W_ONCE}, {"repo", W_STILL}, {"repository", W_STILL}, {"request", T_ACTS | W_WEAK},
    {"rerun", T_ACTS}, {"resend", T_ACTS}, {"reserve", T_ACTS | W_ONCE}, {"reset", T_ACTS}, {"resolve", T_READS},
    {"respond", T_ACTS | W_WEAK}, {"restart", T_ACTS}, {"restore", T_ACTS}, {"retrieve", T_READS | W_SEEKS},
    {"retry", T_ACTS}, {"revert", T_WRITES}, {"rewrite", T_WRITES}, {"rg", T_READS}, {"rm", T_WRITES},
    {"rng", T_READS | W_WEAK | W_RANDOM}, {"roll", T_READS | W_WEAK | W_RANDOM}, {"rotate", T_ACTS | W_INPUT},
    {"run", T_ACTS | W_WEAK}, {"sample", T_READS | W_WEAK | W_RANDOM}, {"sampler", T_READS | W_WEAK | W_RANDOM},
    {"sandbox", W_DEALS}, {"save", T_WRITES}, {"say", W_SPEAKS}, {"scan", T_READS}, {"schedule", T_ACTS | W_WEAK},
    {"scrape", T_READS}, {"scratchpad", T_NOTES}, {"screen", T_READS | W_WEAK | W_MOVES},
    {"screenshot", T_READS | W_WEAK | W_MOVES}, {"script", W_SHELL}, {"scroll", T_ACTS | W_INPUT},
    {"search", T_READS | W_SEEKS}, {"see", T_READS | W_WEAK}, {"seed", W_DEALS}, {"select", T_READS},
    {"sell", T_ACTS}, {"send", T_ACTS | W_ONCE}, {"sensor", T_READS | W_WEAK | W_MOVES},
    {"sensors", T_READS | W_WEAK | W_MOVES}, {"set", T_WRITES}, {"sh", W_SHELL}, {"shell", W_SHELL},
    {"shift", T_ACTS | W_INPUT | W_WEAK}, {"ship", T_ACTS}, {"shoot", T_ACTS | W_INPUT}, {"show", T_READS | W_WEAK},
    {"shrink", W_SHORTEN}, {"shuffle", T_READS | W_WEAK | W_RANDOM}, {"shutdown", T_ACTS}, {"sign", T_ACTS | W_WEAK},
    {"signin", W_OPENS}, {"sleep", T_WAITS | W_PAUSES}, {"slot", T_READS | W_WEAK | W_RANDOM},
    {"sms", T_ACTS | W_WEAK | W_ONCE}, {"snapshot", T_READS | W_WEAK | W_MOVES}, {"song", W_DEALS}, {"spawn", T_ACTS},
    {"speak", W_SPEAKS}, {"speed", W_MEASURES}, {"speedtest", W_MEASURES}, {"spin", T_READS | W_WEAK | W_RANDOM},
    {"sql", W_SHELL}, {"sqlite", W_SHELL}, {"ssh", W_SHELL}, {"stage", T_WRITES | W_WEAK},
    {"star", T_WRITES | W_WEAK}, {"start", T_ACTS}, {"stat", T_READS}, {"state", T_READS | W_WEAK | W_ASKS},
    {"stato", T_READS | W_WEAK | W_ASKS}, {"status", T_READS | W_WEAK | W_ASKS},
    {"statut", T_READS | W_WEAK | W_ASKS}, {"stdin", W_KEYS}, {"steer", T_ACTS | W_INPUT}, {"step", T_ACTS | W_INPUT},
    {"stock", T_READS | W_WEAK | W_MOVES}, {"stop", T_ACTS}, {"store", T_WRITES}, {"stress", W_MEASURES},
    {"strreplace", T_WRITES}, {"strum", T_ACTS | W_INPUT}, {"subagent", T_ACTS | W_WEAK}, {"submit", T_ACTS | W_ONCE},
    {"subscribe", T_ACTS}, {"substitute", T_WRITES}, {"suche", T_READS | W_SEEKS}, {"suchen", T_READS | W_SEEKS},
    {"suggest", T_READS | W_WEAK}, {"summarise", T_READS | W_SHORTEN}, {"summarize", T_READS | W_SHORTEN},
    {"svn", W_STILL}, {"swap", T_WRITES}, {"swipe", T_ACTS | W_INPUT}, {"switch", T_WRITES | W_WEAK},
    {"symbols", T_READS | W_WEAK}, {"sync", T_ACTS}, {"szukaj", T_READS | W_SEEKS}, {"tag", T_WRITES | W_WEAK},
    {"tail", T_READS | W_WEAK | W_MOVES}, {"take", W_DEALS}, {"tap", T_ACTS | W_MOVES}, {"task", T_ACTS | W_WEAK},
    {"telemetry", T_READS | W_WEAK | W_MOVES}, {"temperature", T_READS | W_WEAK | W_MOVES}, {"terminal", W_SHELL},
    {"terminate", T_ACTS}, {"test", T_READS | W_WEAK}, {"tests", T_READS | W_WEAK}, {"text", T_ACTS | W_WEAK},
    {"thermostat", T_READS | W_WEAK | W_MOVES}, {"think", T_NOTES}, {"thought", T_NOTES}, {"thoughts", T_NOTES},
    {"throughput", W_MEASURES}, {"tick", T_ACTS | W_INPUT}, {"ticket", T_ACTS | W_WEAK},
    {"time", T_READS | W_WEAK | W_MOVES}, {"timeit", W_MEASURES}, {"timing", W_MEASURES}, {"todo", T_NOTES},
    {"todos", T_NOTES}, {"toggle", T_WRITES | W_WEAK | W_INPUT}, {"token", W_DEALS},
    {"toss", T_READS | W_WEAK | W_RANDOM}, {"touch", T_WRITES}, {"track", T_READS | W_WEAK | W_ASKS},
    {"tracking", T_READS | W_WEAK | W_ASKS}, {"trade", T_ACTS | W_WEAK}, {"transcript", W_HISTORY},
    {"transfer", T_ACTS | W_ONCE}, {"translate", T_READS}, {"tree", T_READS | W_WEAK}, {"trigger", T_ACTS},
    {"trim", W_SHORTEN}, {"truncate", W_SHORTEN}, {"tune", T_WRITES}, {"turn", T_ACTS | W_INPUT | W_WEAK},
    {"tweet", T_ACTS | W_ONCE}, {"type", T_ACTS | W_WEAK}, {"unarchive", T_WRITES}, {"undo", T_ACTS | W_INPUT},
    {"unlock", T_WRITES}, {"unsubscribe", T_ACTS}, {"update", T_WRITES}, {"upload", T_ACTS}, {"upsert", T_WRITES},
    {"usage", T_READS | W_WEAK | W_MOVES}, {"use", W_OPENS}, {"utterance", W_SPEAKS},
    {"uuid", T_READS | W_WEAK | W_RANDOM}, {"validate", T_READS | W_WEAK}, {"variant", W_DEALS},
    {"variants", W_DEALS}, {"variation", W_RANDOM}, {"variations", W_RANDOM}, {"verify", T_READS}, {"video", W_DEALS},
    {"view", T_READS | W_WEAK}, {"viewport", T_READS | W_WEAK | W_MOVES}, {"visit", T_READS | W_OPENS},
    {"vm", W_DEALS}, {"volume", T_ACTS | W_INPUT | W_WEAK}, {"vote", T_ACTS | W_WEAK}, {"voucher", W_DEALS},
    {"wait", T_WAITS}, {"walk", T_ACTS | W_INPUT}, {"watch", T_WAITS}, {"water", T_ACTS | W_WEAK},
    {"weather", T_READS | W_WEAK | W_MOVES}, {"which", T_READS | W_WEAK}, {"whoami", T_READS},
    {"whois", T_READS | W_WEAK}, {"wiki", T_READS | W_WEAK | W_SEEKS}, {"wikipedia", T_READS | W_WEAK | W_SEEKS},
    {"withdraw", T_ACTS | W_ONCE}, {"worker", W_DEALS}, {"write", T_WRITES}, {"zoek", T_READS | W_SEEKS},
    {"zoeken", T_READS | W_SEEKS}, {"zoom", T_ACTS | W_INPUT}, {"zsh", W_SHELL},
    {"zustand", T_READS | W_WEAK | W_ASKS},
};

/* How commands begin; sorted. Tests and linters only look: what they leave behind is no work. */
static const words_row command_rows[] = {
    {"./bench.sh", W_MEASURES}, {"ack", T_READS}, {"ag", T_READS}, {"alter", W_CHANGES},
    {"ansible --version", T_READS}, {"apt list", T_READS}, {"apt-cache", T_READS}, {"ava", T_READS}, {"awk", T_READS},
    {"aws s3 ls", T_READS}, {"basename", T_READS}, {"bat", T_READS}, {"bazel query", T_READS},
    {"bazel test", T_READS}, {"bench", W_MEASURES}, {"bench.sh", W_MEASURES}, {"brew list", T_READS},
    {"bundle exec rspec", T_READS}, {"cal", T_READS}, {"cargo check", T_READS}, {"cargo clippy", T_READS},
    {"cargo test", T_READS}, {"cargo tree", T_READS}, {"cat", T_READS}, {"cd", T_READS}, {"chmod", W_CHANGES},
    {"chown", W_CHANGES}, {"clippy", T_READS}, {"cmp", T_READS}, {"column", T_READS}, {"composer test", T_READS},
    {"conda list", T_READS}, {"consul members", T_READS}, {"copy-item", W_CHANGES}, {"cp", W_CHANGES},
    {"create", W_CHANGES}, {"crontab -l", T_READS}, {"ctest", T_READS}, {"curl", T_READS}, {"cut", T_READS},
    {"date", T_READS}, {"dd", W_CHANGES}, {"delete", W_CHANGES}, {"describe", T_READS}, {"df", T_READS},
    {"diff", T_READS}, {"dig", T_READS}, {"dir", T_READS}, {"dirname", T_READS}, {"docker compose logs", T_READS},
    {"docker compose ps", T_READS}, {"docker images", T_READS}, {"docker info", T_READS}, {"docker inspect", T_READS},
    {"docker logs", T_READS}, {"docker ps", T_READS}, {"docker stats", T_READS}, {"docker version", T_READS},
    {"docker wait", T_WAITS}, {"dotnet test", T_READS}, {"dpkg", T_READS}, {"drop", W_CHANGES}, {"du", T_READS},
    {"echo", T_READS}, {"egrep", T_READS}, {"env", T_READS}, {"eslint", T_READS}, {"exa", T_READS},
    {"explain", T_READS}, {"export", T_READS}, {"eza", T_READS}, {"false", T_READS}, {"fd", T_READS},
    {"fgrep", T_READS}, {"file", T_READS}, {"find", T_READS}, {"fio", W_MEASURES}, {"flake8", T_READS},
    {"free", T_READS}, {"get", T_READS}, {"get-childitem", T_READS}, {"get-content", T_READS}, {"getent", T_READS},
    {"gh api", T_READS}, {"gh issue list", T_READS}, {"gh issue view", T_READS}, {"gh pr checks", T_READS},
    {"gh pr diff", T_READS}, {"gh pr list", T_READS}, {"gh pr status", T_READS}, {"gh pr view", T_READS},
    {"gh run list", T_READS}, {"gh run view", T_READS}, {"gh run watch", T_WAITS}, {"git add", W_CHANGES},
    {"git apply", W_CHANGES}, {"git bisect", W_CHANGES}, {"git blame", T_READS}, {"git branch", T_READS},
    {"git checkout", W_CHANGES}, {"git cherry-pick", W_CHANGES}, {"git clean", W_CHANGES}, {"git clone", W_CHANGES},
    {"git commit", W_CHANGES}, {"git config", T_READS}, {"git describe", T_READS}, {"git diff", T_READS},
    {"git fetch", T_READS}, {"git grep", T_READS}, {"git init", W_CHANGES}, {"git log", T_READS},
    {"git ls-files", T_READS}, {"git merge", W_CHANGES}, {"git mv", W_CHANGES}, {"git pull", W_CHANGES},
    {"git push", W_CHANGES}, {"git rebase", W_CHANGES}, {"git reflog", T_READS}, {"git remote", T_READS},
    {"git reset", W_CHANGES}, {"git restore", W_CHANGES}, {"git rev-parse", T_READS}, {"git revert", W_CHANGES},
    {"git rm", W_CHANGES}, {"git show", T_READS}, {"git stash", W_CHANGES}, {"git status", T_READS},
    {"git switch", W_CHANGES}, {"git tag", T_READS}, {"go env", T_READS}, {"go list", T_READS}, {"go test", T_READS},
    {"go vet", T_READS}, {"golangci-lint", T_READS}, {"gradle test", T_READS}, {"gradlew test", T_READS},
    {"grant", W_CHANGES}, {"grep", T_READS}, {"groups", T_READS}, {"hadolint", T_READS}, {"head", T_READS},
    {"helm list", T_READS}, {"helm status", T_READS}, {"history", T_READS}, {"host", T_READS}, {"hostname", T_READS},
    {"hyperfine", W_MEASURES}, {"id", T_READS}, {"ifconfig", T_READS}, {"insert", W_CHANGES}, {"install", W_CHANGES},
    {"ip", T_READS}, {"iperf", W_MEASURES}, {"iperf3", W_MEASURES}, {"jest", T_READS}, {"journalctl", T_READS},
    {"jq", T_READS}, {"kubectl cluster-info", T_READS}, {"kubectl describe", T_READS}, {"kubectl diff", T_READS},
    {"kubectl get", T_READS}, {"kubectl logs", T_READS}, {"kubectl rollout history", T_READS},
    {"kubectl rollout status", T_WAITS}, {"kubectl top", T_READS}, {"kubectl version", T_READS},
    {"kubectl wait", T_WAITS}, {"less", T_READS}, {"ln", W_CHANGES}, {"locate", T_READS}, {"ls", T_READS},
    {"lsblk", T_READS}, {"lscpu", T_READS}, {"lsof", T_READS}, {"make -n", T_READS}, {"make check", T_READS},
    {"make lint", T_READS}, {"make test", T_READS}, {"man", T_READS}, {"md5", T_READS}, {"md5sum", T_READS},
    {"merge", W_CHANGES}, {"mix test", T_READS}, {"mkdir", W_CHANGES}, {"mocha", T_READS}, {"more", T_READS},
    {"mount", T_READS}, {"move-item", W_CHANGES}, {"mv", W_CHANGES}, {"mvn test", T_READS}, {"mypy", T_READS},
    {"mysqladmin ping", T_READS | T_WAITS}, {"netstat", T_READS}, {"new-item", W_CHANGES}, {"ninja -n", T_READS},
    {"nl", T_READS}, {"node --version", T_READS}, {"node -v", T_READS}, {"nomad status", T_READS},
    {"nosetests", T_READS}, {"npm -v", T_READS}, {"npm audit", T_READS}, {"npm list", T_READS}, {"npm ls", T_READS},
    {"npm outdated", T_READS}, {"npm run lint", T_READS}, {"npm run test", T_READS}, {"npm run test:unit", T_READS},
    {"npm run typecheck", T_READS}, {"npm t", T_READS}, {"npm test", T_READS}, {"npm view", T_READS},
    {"nproc", T_READS}, {"nslookup", T_READS}, {"nvidia-smi", T_READS}, {"oc get", T_READS}, {"od", T_READS},
    {"openssl x509", T_READS}, {"patch", W_CHANGES}, {"perf", W_MEASURES}, {"pg_isready", T_READS | T_WAITS},
    {"phpunit", T_READS}, {"ping", T_READS}, {"pip check", T_READS}, {"pip freeze", T_READS}, {"pip list", T_READS},
    {"pip show", T_READS}, {"pnpm test", T_READS}, {"podman ps", T_READS}, {"pragma", T_READS}, {"printenv", T_READS},
    {"printf", T_READS}, {"ps", T_READS}, {"pwd", T_READS}, {"pylint", T_READS}, {"pyright", T_READS},
    {"pytest", T_READS}, {"python --version", T_READS}, {"python -m pytest", T_READS},
    {"python -m unittest", T_READS}, {"python -v", T_READS}, {"python3 -m pytest", T_READS},
    {"python3 -m unittest", T_READS}, {"rake test", T_READS}, {"readlink", T_READS}, {"realpath", T_READS},
    {"redis-cli ping", T_READS | T_WAITS}, {"remove-item", W_CHANGES}, {"replace", W_CHANGES}, {"rg", T_READS},
    {"rm", W_CHANGES}, {"rmdir", W_CHANGES}, {"rpm", T_READS}, {"rspec", T_READS}, {"ruff", T_READS},
    {"sed -i", W_CHANGES}, {"sed -n", T_READS}, {"select", T_READS}, {"select-string", T_READS}, {"set", T_READS},
    {"set-content", W_CHANGES}, {"sha256sum", T_READS}, {"shasum", T_READS}, {"shellcheck", T_READS},
    {"show", T_READS}, {"showmount", T_READS}, {"sinfo", T_READS}, {"sleep", T_WAITS | W_PAUSES}, {"sort", T_READS},
    {"squeue", T_READS}, {"ss", T_READS}, {"start-sleep", T_WAITS | W_PAUSES}, {"stat", T_READS},
    {"strings", T_READS}, {"swift test", T_READS}, {"sysbench", W_MEASURES},
    {"systemctl is-active", T_READS | T_WAITS}, {"systemctl list-units", T_READS}, {"systemctl status", T_READS},
    {"tac", T_READS}, {"tail", T_READS}, {"tee", W_CHANGES}, {"terraform plan", T_READS}, {"terraform show", T_READS},
    {"terraform validate", T_READS}, {"test", T_READS}, {"tflint", T_READS}, {"time", W_MEASURES}, {"top", T_READS},
    {"touch", W_CHANGES}, {"tox", T_READS}, {"tr", T_READS}, {"traceroute", T_READS}, {"tree", T_READS},
    {"true", T_READS}, {"truncate", W_CHANGES}, {"tsc", T_READS}, {"type", T_READS}, {"uname", T_READS},
    {"uniq", T_READS}, {"update", W_CHANGES}, {"uptime", T_READS}, {"vault status", T_READS}, {"vitest", T_READS},
    {"wait", T_WAITS | W_PAUSES}, {"wait-for-it", T_WAITS}, {"wait-for-it.sh", T_WAITS}, {"watch", T_WAITS},
    {"wc", T_READS}, {"whereis", T_READS}, {"which", T_READS}, {"whoami", T_READS}, {"whois", T_READS},
    {"with", T_READS}, {"wrk", W_MEASURES}, {"xxd", T_READS}, {"yamllint", T_READS}, {"yarn lint", T_READS},
    {"yarn list", T_READS}, {"yarn test", T_READS}, {"yq", T_READS},
};
// clang-format on

#define ROWS(rows) rows, COUNT(rows)

enum { CLASS = T_READS | T_WRITES | T_ACTS | T_NOTES, NAME_WORDS_MAX = 12, COMMAND_BYTES_MAX = 4096 };

/* The first word that can only be a verb says what kind of tool it is; else the first that may be one. */
static unsigned add_word(unsigned have, unsigned word, unsigned *weak)
{
    if (word & CLASS & ~(unsigned)T_NOTES && word & W_WEAK) {
        if (!*weak)
            *weak = word;
        else if (word & T_READS) /* "order_history": that is no order */
            *weak &= ~(unsigned)W_ONCE;
        bool makes = (have & (T_ACTS | T_READS)) == T_ACTS; /* "add_comment" */
        return have | (word & ~(unsigned)(CLASS | W_WEAK | W_INPUT | (makes ? 0 : W_ONCE)));
    }
    if (have & CLASS)
        word &= ~(unsigned)(CLASS | W_INPUT);
    return have | (word & ~(unsigned)W_WEAK);
}

/* Walks the words of "mcp__files__read_file", "readFile", "read-file", "wait1". */
static bool next_word(daruma_str *rest, daruma_str *word)
{
    size_t i = 0, from;
    while (i < rest->n && !ch_alpha(rest->p[i]) && !ch_digit(rest->p[i]))
        i++;
    from = i;
    while (i < rest->n && (ch_alpha(rest->p[i]) || ch_digit(rest->p[i]))) {
        bool upper = rest->p[i] >= 'A' && rest->p[i] <= 'Z';
        bool number = i > from && ch_digit(rest->p[i]) && !ch_digit(rest->p[i - 1]);
        if (number || (i > from && upper && !(rest->p[i - 1] >= 'A' && rest->p[i - 1] <= 'Z')))
            break;
        i++;
    }
    *word = str_sub(*rest, from, i - from);
    *rest = str_from(*rest, i);
    return word->n > 0;
}

/* "send_code", "verify_code": that one is no program, unless it is run. */
static bool is_code(daruma_str word)
{
    return str_ieq(word, S("code"));
}

static bool runs_code(daruma_str word)
{
    return str_ieq(word, S("run")) || str_istarts(word, S("exec")) || str_istarts(word, S("interpret")) ||
           str_istarts(word, S("eval"));
}

static unsigned words_in(daruma_str name)
{
    unsigned have = 0, weak = 0, verbs = 0;
    bool code = false, runs = false;
    daruma_str word;
    for (int i = 0; i < NAME_WORDS_MAX && next_word(&name, &word); i++) {
        unsigned means = words_find(ROWS(tool_rows), word);
        code |= (means & W_SHELL) && is_code(word);
        runs |= (means & W_SHELL) ? !is_code(word) : runs_code(word);
        verbs |= means & CLASS;
        have = add_word(have, means, &weak);
    }
    if (code && verbs && !runs)
        have &= ~(unsigned)W_SHELL;
    if (have & W_SEEKS && have & T_READS) /* "search_code" runs none */
        have &= ~(unsigned)W_SHELL;
    if (!(have & CLASS) && weak)
        have |= weak; /* W_WEAK tells that it is no more than likely */
    if ((have & W_SHORTEN) && (have & W_HISTORY))
        have |= T_COMPACTS;
    if (have & W_STILL)
        have &= ~(unsigned)W_ASKS;
    if (have & W_KEYS && have & (T_ACTS | T_WRITES))
        have = (have & ~(unsigned)W_ONCE) | W_INPUT;
    return have;
}

/* "__message__": what a harness writes down of its model's words, as if it were a tool. */
static bool is_speech(daruma_str name)
{
    static const daruma_str rows[] = {LIT("message"),  LIT("text"),   LIT("reply"),
                                      LIT("response"), LIT("answer"), LIT("output")};
    if (name.n < 5 || !str_starts(name, S("__")) || !str_eq(str_from(name, name.n - 2), S("__")))
        return false;
    daruma_str word = str_sub(name, 2, name.n - 4);
    for (size_t i = 0; i < COUNT(rows); i++)
        if (str_ieq(word, rows[i]))
            return true;
    return false;
}

unsigned words_of_tool(daruma_str name)
{
    if (is_speech(name))
        return W_SPEAKS;
    size_t server = str_find(name, S("__")); /* mcp__server__tool: the server's name says nothing */
    if (str_starts(name, S("mcp__")) && server != STR_NONE) {
        size_t tool = str_find(str_from(name, 5), S("__"));
        if (tool != STR_NONE)
            name = str_from(name, 5 + tool + 2);
    }
    unsigned means = words_in(name);
    return means ? means : words_find(ROWS(command_rows), name) & T_READS; /* a tool "date" is that command */
}

unsigned words_of_action(daruma_str value)
{
    return value.n <= 64 ? words_in(value) : 0;
}

/* ---- command lines ------------------------------------------------------------------------------ */

static daruma_str part_word(daruma_str *part)
{
    *part = str_trim(*part);
    size_t n = 0;
    while (n < part->n && !ch_space(part->p[n]))
        n++;
    daruma_str word = str_sub(*part, 0, n);
    *part = str_from(*part, n);
    return word;
}

/* "/usr/bin/ls" is "ls"; "./deploy" and "build/" stay what they are. */
static daruma_str program_name(daruma_str word)
{
    if (word.p[0] == '.' || word.p[word.n - 1] == '/')
        return word;
    for (size_t slash; (slash = str_findch(word, '/')) != STR_NONE;)
        word = str_from(word, slash + 1);
    return word;
}

/* The words of a row stand at the beginning of `part`; the longest row counts. */
static unsigned row_of(daruma_str part)
{
    char line[64];
    size_t n = 0, ends[3];
    int words = 0;
    daruma_str rest = part;
    for (; words < 3; words++) {
        daruma_str word = part_word(&rest);
        if (!word.n || n + word.n + 1 > sizeof line)
            break;
        if (n)
            line[n++] = ' ';
        if (words == 0)
            word = program_name(word);
        for (size_t i = 0; i < word.n; i++)
            line[n++] = word.p[i];
        ends[words] = n;
    }
    while (words-- > 0) {
        unsigned got = words_find(ROWS(command_rows), (daruma_str){line, ends[words]});
        if (got)
            return got;
    }
    return 0;
}

static bool is_filler(daruma_str w) /* what may stand before a command */
{
    static const char *const rows[] = {"sudo",  "do",  "then", "else",   "if",      "while", "until",
                                       "!",     "{",   "(",    "exec",   "command", "nohup", "nice",
                                       "xargs", "npx", "uv",   "poetry", "run",     NULL};
    size_t eq = str_findch(w, '=');
    for (int i = 0; rows[i]; i++)
        if (str_eq(w, str_of(rows[i])))
            return true;
    return eq != STR_NONE && eq > 0 && ch_alpha(w.p[0]) && str_findch(str_sub(w, 0, eq), '/') == STR_NONE;
}

/* A part that writes into a file, or sends something. */
static bool changes_aside(daruma_str part)
{
    for (size_t i = 0; i < part.n; i++)
        if (part.p[i] == '>' && !(i + 1 < part.n && part.p[i + 1] == '&') &&
            str_find(str_sub(part, i, 12), S("/dev/null")) == STR_NONE)
            return true;
    return str_find(part, S(" -X P")) != STR_NONE || str_find(part, S(" -X D")) != STR_NONE ||
           str_find(part, S(" -d ")) != STR_NONE || str_find(part, S(" --data")) != STR_NONE ||
           str_find(part, S("--request P")) != STR_NONE;
}

static unsigned part_means(daruma_str part)
{
    daruma_str from = str_trim(part), rest = from, word = part_word(&rest);
    bool loop = str_eq(word, S("while")) || str_eq(word, S("until"));
    if (str_eq(word, S("timeout"))) {
        word = part_word(&rest);
        from = str_trim(rest);
        word = part_word(&rest);
    }
    while (word.n && is_filler(word)) {
        from = str_trim(rest);
        word = part_word(&rest);
    }
    if (!word.n || word.p[0] == '#' || str_eq(word, S("done")) || str_eq(word, S("fi")))
        return loop ? T_WAITS : 0;
    unsigned got = row_of(from);
    if (changes_aside(part))
        got = (got & ~(unsigned)T_READS) | W_CHANGES;
    if (str_find(part, S("--watch")) != STR_NONE && str_find(part, S("--watch=false")) == STR_NONE)
        got |= T_WAITS;
    if (str_find(part, S("--wait")) != STR_NONE || str_find(part, S("tail -f")) != STR_NONE || loop)
        got |= T_WAITS;
    return got ? got : WORDS_WEAK;
}

/* Code that types nothing looks what comes: write_stdin({session_id:3,chars:""}), as code or as the JSON of it. */
static bool code_types_nothing(daruma_str code)
{
    size_t at = str_find(code, S("chars"));
    daruma_str rest = at == STR_NONE ? S("") : str_from(code, at + 5);
    char quotes[2] = {0};
    bool given = false;
    size_t n = 0;
    for (; rest.n && n < 2 && str_findch(S("\\\"': ="), rest.p[0]) != STR_NONE; rest = str_from(rest, 1)) {
        char c = rest.p[0];
        given |= c == ':' || c == '=';
        if (n && c != '\\' && c != quotes[0])
            return false; /* something is typed */
        if (given && (c == '"' || c == '\''))
            quotes[n++] = c;
    }
    bool ends = rest.n && str_findch(S(",})"), rest.p[0]) != STR_NONE;
    return n == 2 && ends && str_find(code, S("session")) != STR_NONE;
}

unsigned words_of_code(daruma_str code)
{
    code = str_sub(code, 0, COMMAND_BYTES_MAX);
    bool waits = str_find(code, S("sleep(")) != STR_NONE || str_find(code, S("setTimeout(")) != STR_NONE;
    return waits || code_types_nothing(code) ? T_WAITS : 0;
}

/* Bytes of the end of a line at `i`, which is "\n" in JSON; 0: there is none. */
static size_t line_end(daruma_str s, size_t i)
{
    return s.p[i] == '\n' ? 1 : s.p[i] == '\\' && i + 1 < s.n && s.p[i + 1] == 'n' ? 2 : 0;
}

/* "<<EOF" at `i`: the lines behind this one are given to a program. */
static bool gives_lines(daruma_str s, size_t i)
{
    daruma_str at = str_sub(str_from(s, i), 0, 3);
    return str_starts(at, S("<<")) && at.n > 2 && at.p[2] != '<' && !ch_digit(at.p[2]) && (!i || s.p[i - 1] != '<');
}

/* The next part of a command line, up to what stands between two commands; *i is behind that. A comment is no part,
 * and lines that are given to a program are no commands (*given: they follow). */
static daruma_str next_part(daruma_str s, size_t *i, bool *given)
{
    size_t from = *i, n = 0;
    char quote = 0;
    while (from < s.n && (s.p[from] == ' ' || (n = line_end(s, from))))
        from += n ? n : 1, n = 0;
    bool comment = from < s.n && s.p[from] == '#';
    for (*i = from; *i < s.n; ++*i) {
        char c = s.p[*i];
        n = !quote ? line_end(s, *i) : 0;
        if (n || (!quote && !comment && (c == ';' || c == '|' || (c == '&' && (*i == 0 || s.p[*i - 1] != '>')))))
            break;
        *given |= !quote && !comment && gives_lines(s, *i);
        if (quote ? c == quote : !comment && (c == '\'' || c == '"'))
            quote = quote ? 0 : c;
        *i += c == '\\' && *i + 1 < s.n && s.p[*i + 1] == '\\';
    }
    daruma_str part = comment ? (daruma_str){0} : str_sub(s, from, *i - from);
    *i = *given && n ? s.n + 1 : *i + (n ? n : 1);
    return part;
}

unsigned words_of_command(daruma_str command)
{
    unsigned got = 0;
    bool reads = false, unknown = false, given = false;
    command = str_sub(command, 0, COMMAND_BYTES_MAX);
    for (size_t i = 0; i <= command.n;) {
        unsigned part = part_means(next_part(command, &i, &given));
        reads |= (part & T_READS) != 0;
        unknown |= (part & WORDS_WEAK) != 0;
        got |= part & ~(unsigned)(T_READS | WORDS_WEAK);
    }
    if (unknown && !(got & W_CHANGES))
        return got | W_WEAK;
    return got & W_CHANGES ? got : got | (reads || got ? T_READS : 0);
}
