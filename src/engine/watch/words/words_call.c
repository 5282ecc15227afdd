/* words_call.c - what the words of tools, actions and commands mean. A tool that nobody knows means nothing: then its
 * results decide. */
#include "base/str.h"
#include "engine/watch/words/words.h"
#include "engine/watch/words/words_find.h"

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
#define W_WEAK     WORDS_WEAK
#define W_SHORTEN  WORDS_SHORTEN
#define W_HISTORY  WORDS_HISTORY
#define W_STILL    WORDS_STILL
#define W_CHANGES  WORDS_CHANGES
#define W_ONCE     WORDS_ONCE
#define W_KEYS     WORDS_KEYS
#define W_SEEKS    WORDS_SEEKS
#define W_FINDS    WORDS_FINDS
#define W_IDLE     WORDS_IDLE

// clang-format off
/* Words of names of tools; sorted. */
static const words_row tool_rows[] = {
    {"act", T_ACTS | W_INPUT | W_WEAK}, {"action", T_ACTS | W_INPUT | W_WEAK}, {"add", T_ACTS},
    {"agent", T_ACTS | W_WEAK}, {"alert", T_ACTS | W_WEAK}, {"analyze", T_READS}, {"answer", T_ACTS | W_WEAK},
    {"append", T_ACTS}, {"apply", T_WRITES}, {"approve", T_ACTS}, {"archive", T_WRITES},
    {"ask", T_READS | W_WEAK | W_SEEKS}, {"assign", T_WRITES}, {"availability", T_READS | W_WEAK | W_ASKS},
    {"await", T_WAITS}, {"balance", T_READS | W_WEAK | W_MOVES}, {"bash", W_SHELL}, {"bench", W_RANDOM},
    {"benchmark", W_RANDOM}, {"book", T_ACTS | W_WEAK | W_ONCE}, {"branch", W_STILL}, {"broadcast", T_ACTS | W_ONCE},
    {"browse", T_READS}, {"build", T_ACTS | W_WEAK}, {"button", T_ACTS | W_INPUT | W_WEAK}, {"buy", T_ACTS | W_ONCE},
    {"calculate", T_READS}, {"call", T_ACTS | W_WEAK}, {"cancel", T_ACTS}, {"cat", T_READS}, {"change", T_WRITES},
    {"charge", T_ACTS | W_ONCE}, {"check", T_READS}, {"checkout", T_WRITES}, {"chmod", T_WRITES}, {"clear", T_WRITES},
    {"click", T_ACTS | W_MOVES}, {"clock", T_READS | W_WEAK | W_MOVES}, {"clone", T_ACTS},
    {"close", T_WRITES | W_WEAK}, {"cmd", W_SHELL}, {"code", W_SHELL}, {"coin", W_RANDOM}, {"command", W_SHELL},
    {"commands", W_SHELL}, {"comment", T_ACTS | W_WEAK | W_ONCE}, {"commit", T_ACTS}, {"compact", T_COMPACTS},
    {"compaction", T_COMPACTS}, {"compare", T_READS}, {"compile", T_ACTS | W_WEAK}, {"compress", W_SHORTEN},
    {"compute", T_READS}, {"condense", T_COMPACTS}, {"config", T_WRITES | W_WEAK},
    {"configuration", T_WRITES | W_WEAK}, {"configure", T_WRITES}, {"confirm", T_ACTS}, {"console", W_SHELL},
    {"consult", T_READS | W_WEAK | W_SEEKS}, {"context", W_HISTORY}, {"control", T_ACTS | W_INPUT | W_WEAK},
    {"conversation", W_HISTORY}, {"convert", T_READS}, {"copy", T_WRITES | W_WEAK}, {"count", T_READS},
    {"cp", T_WRITES}, {"crawl", T_READS}, {"create", T_ACTS | W_ONCE}, {"database", W_SHELL}, {"db", W_SHELL},
    {"deactivate", T_WRITES}, {"deal", T_READS | W_WEAK | W_RANDOM}, {"definition", T_READS | W_WEAK},
    {"delay", T_WAITS | W_PAUSES}, {"delegate", T_ACTS}, {"delete", T_WRITES}, {"deploy", T_ACTS},
    {"deposit", T_ACTS | W_WEAK | W_ONCE}, {"describe", T_READS}, {"detect", T_READS},
    {"dice", T_READS | W_WEAK | W_RANDOM}, {"diff", T_READS}, {"directory", T_READS | W_WEAK}, {"disable", T_WRITES},
    {"discover", T_READS | W_SEEKS}, {"dispatch", T_ACTS}, {"docs", T_READS | W_WEAK | W_SEEKS},
    {"download", T_ACTS | W_WEAK}, {"drag", T_ACTS | W_INPUT}, {"draw", T_ACTS | W_WEAK | W_RANDOM},
    {"edit", T_WRITES}, {"edits", T_WRITES | W_WEAK}, {"email", T_ACTS | W_WEAK | W_ONCE}, {"emit", T_ACTS},
    {"enable", T_WRITES}, {"enqueue", T_ACTS}, {"eta", T_READS | W_WEAK | W_ASKS}, {"evaluate", T_READS | W_MOVES},
    {"examine", T_READS}, {"exec", W_SHELL}, {"execute", T_ACTS | W_WEAK}, {"explain", T_READS},
    {"export", T_ACTS | W_WEAK}, {"extract", T_READS}, {"fetch", T_READS}, {"filter", T_READS},
    {"find", T_READS | W_SEEKS | W_FINDS}, {"flip", W_RANDOM}, {"format", T_WRITES | W_WEAK}, {"forward", T_ACTS | W_INPUT},
    {"generate", T_ACTS | W_WEAK | W_RANDOM}, {"get", T_READS}, {"git", W_STILL}, {"glob", T_READS | W_SEEKS | W_FINDS},
    {"go", T_ACTS | W_INPUT | W_WEAK}, {"goto", T_READS}, {"grep", T_READS | W_FINDS}, {"handoff", T_ACTS},
    {"head", T_READS | W_WEAK}, {"health", T_READS | T_WAITS | W_WEAK}, {"help", T_READS | W_WEAK},
    {"history", T_READS | W_WEAK | W_HISTORY}, {"identify", T_READS}, {"idle", T_WAITS | W_PAUSES},
    {"image", W_RANDOM}, {"images", W_RANDOM}, {"import", T_ACTS}, {"inbox", T_READS | W_WEAK | W_ASKS},
    {"info", T_READS | W_WEAK}, {"input", W_KEYS}, {"insert", T_ACTS}, {"inspect", T_READS}, {"install", T_ACTS},
    {"invite", T_ACTS | W_ONCE}, {"invoke", T_ACTS}, {"ipython", W_SHELL}, {"issue", T_ACTS | W_WEAK | W_ONCE},
    {"key", T_ACTS | W_INPUT | W_WEAK | W_RANDOM | W_KEYS}, {"keyboard", T_ACTS | W_INPUT | W_WEAK | W_KEYS},
    {"keys", T_ACTS | W_INPUT | W_WEAK | W_KEYS}, {"kill", T_ACTS}, {"knowledge", T_READS | W_WEAK | W_SEEKS},
    {"latency", W_RANDOM}, {"launch", T_ACTS}, {"lint", T_READS}, {"list", T_READS}, {"listen", T_WAITS},
    {"load", T_READS | W_WEAK}, {"location", T_READS | W_WEAK | W_MOVES}, {"lock", T_WRITES},
    {"log", T_READS | W_WEAK | W_MOVES}, {"logs", T_READS | W_WEAK | W_MOVES}, {"look", T_READS | W_WEAK},
    {"lookup", T_READS | W_SEEKS}, {"ls", T_READS}, {"mail", T_ACTS | W_WEAK | W_ONCE},
    {"market", T_READS | W_WEAK | W_MOVES}, {"match", T_READS | W_WEAK}, {"measure", T_READS},
    {"memory", T_NOTES | W_WEAK | W_HISTORY}, {"merge", T_ACTS}, {"message", T_ACTS | W_WEAK | W_ONCE},
    {"messages", W_HISTORY}, {"metric", T_READS | W_WEAK | W_MOVES}, {"metrics", T_READS | W_WEAK | W_MOVES},
    {"migrate", T_ACTS}, {"mkdir", T_WRITES}, {"modify", T_WRITES}, {"monitor", T_WAITS},
    {"mouse", T_ACTS | W_INPUT | W_WEAK}, {"move", T_WRITES | W_WEAK | T_ACTS | W_INPUT}, {"mv", T_WRITES},
    {"mysql", W_SHELL}, {"navigate", T_READS}, {"new", W_RANDOM}, {"next", T_ACTS | W_INPUT | W_RANDOM},
    {"note", T_NOTES | W_WEAK}, {"notepad", T_NOTES}, {"notes", T_NOTES | W_WEAK}, {"notify", T_ACTS | W_ONCE},
    {"observe", T_READS}, {"ocr", T_READS}, {"open", T_READS | W_WEAK}, {"order", T_ACTS | W_WEAK | W_ONCE},
    {"overwrite", T_WRITES}, {"page", T_READS | W_WEAK | W_MOVES}, {"parse", T_READS}, {"password", W_RANDOM},
    {"patch", T_WRITES}, {"pause", T_WAITS | W_PAUSES}, {"pay", T_ACTS | W_ONCE}, {"payment", T_ACTS | W_WEAK},
    {"pending", T_READS | W_WEAK | W_ASKS}, {"perf", W_RANDOM}, {"pick", T_ACTS | W_WEAK | W_RANDOM},
    {"ping", T_READS | T_WAITS | W_WEAK}, {"place", T_ACTS | W_ONCE}, {"plan", T_NOTES | W_WEAK},
    {"planning", T_NOTES | W_WEAK}, {"play", T_ACTS | W_WEAK}, {"poll", T_WAITS}, {"pop", T_ACTS | W_INPUT | W_RANDOM},
    {"position", T_READS | W_WEAK | W_MOVES}, {"post", T_ACTS | W_ONCE}, {"powershell", W_SHELL},
    {"press", T_ACTS | W_INPUT}, {"prev", T_ACTS | W_INPUT}, {"preview", T_READS},
    {"price", T_READS | W_WEAK | W_MOVES}, {"prices", T_READS | W_WEAK | W_MOVES}, {"print", T_ACTS | W_WEAK},
    {"progress", T_READS | W_WEAK | W_ASKS}, {"prompt", T_ACTS | W_WEAK}, {"prune", W_SHORTEN}, {"psql", W_SHELL},
    {"publish", T_ACTS | W_ONCE}, {"purchase", T_ACTS | W_ONCE}, {"push", T_ACTS}, {"put", T_WRITES},
    {"python", W_SHELL}, {"query", T_READS | W_WEAK | W_SEEKS}, {"quote", T_READS | W_WEAK | W_MOVES},
    {"random", T_READS | W_WEAK | W_RANDOM}, {"read", T_READS}, {"reading", T_READS | W_WEAK | W_MOVES},
    {"ready", T_READS | W_WEAK | W_ASKS}, {"reason", T_NOTES}, {"reasoning", T_NOTES}, {"reboot", T_ACTS},
    {"recall", T_READS | W_SEEKS}, {"recommend", T_READS | W_WEAK}, {"record", T_ACTS | W_WEAK}, {"reflect", T_NOTES},
    {"reflection", T_NOTES}, {"refresh", T_ACTS | W_WEAK}, {"refund", T_ACTS | W_ONCE}, {"register", T_ACTS | W_ONCE},
    {"reject", T_ACTS}, {"release", T_ACTS | W_WEAK}, {"reload", T_ACTS}, {"remember", T_NOTES}, {"remove", T_WRITES},
    {"rename", T_WRITES}, {"repl", W_SHELL}, {"replace", T_WRITES}, {"reply", T_ACTS | W_ONCE}, {"repo", W_STILL},
    {"repository", W_STILL}, {"request", T_ACTS | W_WEAK}, {"rerun", T_ACTS}, {"reserve", T_ACTS | W_ONCE},
    {"reset", T_ACTS}, {"resolve", T_READS}, {"respond", T_ACTS | W_WEAK}, {"restart", T_ACTS}, {"restore", T_ACTS},
    {"retrieve", T_READS | W_SEEKS}, {"retry", T_ACTS}, {"revert", T_WRITES}, {"rewrite", T_WRITES}, {"rg", T_READS | W_FINDS},
    {"rm", T_WRITES}, {"roll", T_READS | W_WEAK | W_RANDOM}, {"run", T_ACTS | W_WEAK},
    {"sample", T_READS | W_WEAK | W_RANDOM}, {"sandbox", W_RANDOM}, {"save", T_WRITES}, {"scan", T_READS},
    {"schedule", T_ACTS | W_WEAK}, {"scrape", T_READS}, {"scratchpad", T_NOTES},
    {"screen", T_READS | W_WEAK | W_MOVES}, {"screenshot", T_READS | W_WEAK | W_MOVES}, {"script", W_SHELL},
    {"scroll", T_ACTS | W_INPUT}, {"search", T_READS | W_SEEKS | W_FINDS}, {"see", T_READS | W_WEAK}, {"select", T_READS},
    {"send", T_ACTS | W_ONCE}, {"sensor", T_READS | W_WEAK | W_MOVES}, {"set", T_WRITES}, {"sh", W_SHELL},
    {"shell", W_SHELL}, {"show", T_READS | W_WEAK}, {"shrink", W_SHORTEN}, {"shuffle", W_RANDOM}, {"shutdown", T_ACTS},
    {"sleep", T_WAITS | W_PAUSES}, {"sms", T_ACTS | W_WEAK | W_ONCE}, {"snapshot", T_READS | W_WEAK | W_MOVES},
    {"spawn", T_ACTS}, {"speed", W_RANDOM}, {"speedtest", W_RANDOM}, {"spin", W_RANDOM}, {"sql", W_SHELL},
    {"sqlite", W_SHELL}, {"ssh", W_SHELL}, {"start", T_ACTS}, {"stat", T_READS}, {"state", T_READS | W_WEAK | W_ASKS},
    {"status", T_READS | W_WEAK | W_ASKS}, {"stdin", W_KEYS}, {"step", T_ACTS | W_INPUT},
    {"stock", T_READS | W_WEAK | W_MOVES}, {"stop", T_ACTS}, {"store", T_WRITES}, {"strreplace", T_WRITES},
    {"subagent", T_ACTS | W_WEAK}, {"submit", T_ACTS | W_ONCE}, {"subscribe", T_ACTS}, {"suggest", T_READS | W_WEAK},
    {"summarize", T_READS | W_SHORTEN}, {"swipe", T_ACTS | W_INPUT}, {"switch", T_WRITES | W_WEAK}, {"sync", T_ACTS},
    {"tag", T_WRITES | W_WEAK}, {"tail", T_READS | W_WEAK | W_MOVES}, {"take", W_RANDOM}, {"tap", T_ACTS | W_MOVES},
    {"task", T_ACTS | W_WEAK}, {"terminal", W_SHELL}, {"terminate", T_ACTS}, {"test", T_READS | W_WEAK},
    {"tests", T_READS | W_WEAK}, {"think", T_NOTES}, {"thought", T_NOTES}, {"thoughts", T_NOTES},
    {"ticket", T_ACTS | W_WEAK}, {"time", T_READS | W_WEAK | W_MOVES}, {"timeit", W_RANDOM}, {"todo", T_NOTES},
    {"todos", T_NOTES}, {"toggle", T_WRITES | W_WEAK | W_INPUT}, {"token", W_RANDOM}, {"touch", T_WRITES},
    {"track", T_READS | W_WEAK | W_ASKS}, {"tracking", T_READS | W_WEAK | W_ASKS}, {"trade", T_ACTS | W_WEAK},
    {"transcript", W_HISTORY}, {"transfer", T_ACTS | W_ONCE}, {"translate", T_READS}, {"tree", T_READS | W_WEAK},
    {"trigger", T_ACTS}, {"trim", W_SHORTEN}, {"truncate", W_SHORTEN}, {"turn", T_ACTS | W_INPUT | W_WEAK},
    {"type", T_ACTS | W_WEAK}, {"undo", T_ACTS | W_INPUT}, {"unlock", T_WRITES}, {"update", T_WRITES},
    {"upload", T_ACTS}, {"upsert", T_WRITES}, {"usage", T_READS | W_WEAK | W_MOVES},
    {"uuid", T_READS | W_WEAK | W_RANDOM}, {"validate", T_READS | W_WEAK}, {"variant", W_RANDOM},
    {"variants", W_RANDOM}, {"verify", T_READS}, {"view", T_READS | W_WEAK}, {"visit", T_READS}, {"wait", T_WAITS},
    {"walk", T_ACTS | W_INPUT}, {"watch", T_WAITS}, {"weather", T_READS | W_WEAK | W_MOVES},
    {"which", T_READS | W_WEAK}, {"wiki", T_READS | W_WEAK | W_SEEKS}, {"wikipedia", T_READS | W_WEAK | W_SEEKS},
    {"withdraw", T_ACTS | W_ONCE}, {"write", T_WRITES}, {"zoom", T_ACTS | W_INPUT}, {"zsh", W_SHELL},
};

/* How commands begin; sorted. Tests and linters only look: what they leave behind is no work. */
static const words_row command_rows[] = {
    {":", T_READS | W_IDLE}, {"alter", W_CHANGES}, {"awk", T_READS}, {"basename", T_READS}, {"bench", W_RANDOM}, {"cat", T_READS},
    {"cd", T_READS}, {"chmod", W_CHANGES}, {"chown", W_CHANGES}, {"cp", W_CHANGES}, {"create", W_CHANGES},
    {"ctest", T_READS}, {"curl", T_READS}, {"cut", T_READS}, {"date", T_READS}, {"dd", W_CHANGES},
    {"delete", W_CHANGES}, {"describe", T_READS}, {"df", T_READS}, {"diff", T_READS | W_FINDS}, {"dig", T_READS},
    {"dir", T_READS}, {"dirname", T_READS}, {"drop", W_CHANGES}, {"du", T_READS}, {"echo", T_READS | W_IDLE}, {"egrep", T_READS | W_FINDS},
    {"env", T_READS}, {"eslint", T_READS}, {"explain", T_READS}, {"export", T_READS}, {"false", T_READS},
    {"fd", T_READS | W_FINDS}, {"fgrep", T_READS | W_FINDS}, {"file", T_READS}, {"find", T_READS | W_FINDS}, {"flake8", T_READS}, {"get", T_READS},
    {"get-childitem", T_READS}, {"get-content", T_READS}, {"gh api", T_READS}, {"git add", W_CHANGES},
    {"git apply", W_CHANGES}, {"git bisect", W_CHANGES}, {"git blame", T_READS}, {"git branch", T_READS},
    {"git checkout", W_CHANGES}, {"git cherry-pick", W_CHANGES}, {"git clean", W_CHANGES}, {"git clone", W_CHANGES},
    {"git commit", W_CHANGES}, {"git config", T_READS}, {"git fetch", T_READS}, {"git grep", T_READS | W_FINDS},
    {"git init", W_CHANGES}, {"git ls-files", T_READS}, {"git merge", W_CHANGES}, {"git mv", W_CHANGES},
    {"git pull", W_CHANGES}, {"git push", W_CHANGES}, {"git rebase", W_CHANGES}, {"git reflog", T_READS},
    {"git remote", T_READS}, {"git reset", W_CHANGES}, {"git restore", W_CHANGES}, {"git rev-parse", T_READS},
    {"git revert", W_CHANGES}, {"git rm", W_CHANGES}, {"git stash", W_CHANGES}, {"git switch", W_CHANGES},
    {"git tag", T_READS}, {"go env", T_READS}, {"go vet", T_READS}, {"grant", W_CHANGES}, {"grep", T_READS | W_FINDS},
    {"head", T_READS}, {"history", T_READS}, {"hyperfine", W_RANDOM}, {"id", T_READS}, {"insert", W_CHANGES},
    {"install", W_CHANGES}, {"ip", T_READS}, {"jest", T_READS}, {"journalctl", T_READS}, {"jq", T_READS},
    {"kubectl get", T_READS}, {"kubectl rollout status", T_WAITS}, {"kubectl wait", T_WAITS}, {"less", T_READS},
    {"ln", W_CHANGES}, {"ls", T_READS}, {"lsof", T_READS}, {"man", T_READS}, {"md5", T_READS}, {"md5sum", T_READS},
    {"merge", W_CHANGES}, {"mkdir", W_CHANGES}, {"more", T_READS}, {"mount", T_READS}, {"mv", W_CHANGES},
    {"mypy", T_READS}, {"mysqladmin ping", T_READS | T_WAITS}, {"netstat", T_READS}, {"nl", T_READS},
    {"nproc", T_READS}, {"nslookup", T_READS}, {"nvidia-smi", T_READS}, {"patch", W_CHANGES}, {"perf", W_RANDOM},
    {"pg_isready", T_READS | T_WAITS}, {"phpunit", T_READS}, {"ping", T_READS}, {"printenv", T_READS},
    {"printf", T_READS | W_IDLE}, {"ps", T_READS}, {"pwd", T_READS}, {"pylint", T_READS}, {"pyright", T_READS},
    {"pytest", T_READS}, {"python -m pytest", T_READS}, {"python -m unittest", T_READS}, {"python3 -m pytest", T_READS},
    {"python3 -m unittest", T_READS}, {"readlink", T_READS}, {"realpath", T_READS},
    {"redis-cli ping", T_READS | T_WAITS}, {"replace", W_CHANGES}, {"rg", T_READS | W_FINDS}, {"rm", W_CHANGES},
    {"rmdir", W_CHANGES}, {"rspec", T_READS}, {"ruff", T_READS}, {"sed -i", W_CHANGES}, {"sed -n", T_READS},
    {"select", T_READS}, {"set", T_READS}, {"sha256sum", T_READS}, {"shasum", T_READS}, {"shellcheck", T_READS},
    {"show", T_READS}, {"sleep", T_WAITS | W_PAUSES}, {"sort", T_READS}, {"ss", T_READS}, {"start-sleep", T_WAITS | W_PAUSES}, {"stat", T_READS},
    {"systemctl is-active", T_READS | T_WAITS}, {"tail", T_READS}, {"tee", W_CHANGES}, {"test", T_READS},
    {"time", W_RANDOM}, {"top", T_READS}, {"touch", W_CHANGES}, {"tr", T_READS}, {"tree", T_READS}, {"true", T_READS | W_IDLE},
    {"truncate", W_CHANGES}, {"tsc", T_READS}, {"type", T_READS}, {"uname", T_READS}, {"uniq", T_READS},
    {"update", W_CHANGES}, {"uptime", T_READS}, {"vitest", T_READS}, {"wait", T_WAITS | W_PAUSES}, {"watch", T_WAITS},
    {"wc", T_READS}, {"which", T_READS}, {"whoami", T_READS}, {"whois", T_READS}, {"with", T_READS}, {"yq", T_READS},
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

unsigned words_of_tool(daruma_str name)
{
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

/* "cargo test", "pip list", "npm run lint:js", "docker compose logs": of a program that no row names, the word behind
 * it says that it only looks. */
static bool looks_by(daruma_str word)
{
    static const daruma_str rows[] = {LIT("test"),  LIT("tests"),    LIT("check"),  LIT("lint"),     LIT("list"),
                                      LIT("ls"),    LIT("show"),     LIT("status"), LIT("info"),     LIT("log"),
                                      LIT("logs"),  LIT("view"),     LIT("diff"),   LIT("plan"),     LIT("version"),
                                      LIT("ps"),    LIT("tree"),     LIT("top"),    LIT("validate"), LIT("describe"),
                                      LIT("audit"), LIT("outdated"), LIT("images"), LIT("inspect"),  LIT("--version")};
    for (size_t i = 0; i < COUNT(rows); i++)
        if (str_eq(str_sub(word, 0, str_findch(word, ':')), rows[i]))
            return true;
    return false;
}

/* Between a program and what it does: "npm run test", "gh pr view". */
static bool leads_on(daruma_str word)
{
    return str_eq(word, S("run")) || str_eq(word, S("compose")) || str_eq(word, S("pr")) || str_eq(word, S("issue"));
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
    rest = part;
    part_word(&rest);
    daruma_str what = part_word(&rest);
    if (leads_on(what))
        what = part_word(&rest);
    return looks_by(what) ? T_READS : 0;
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

/* Of a part that writes into a file or sends something CHANGES, of one that is told to wait WAITS. */
static unsigned options_mean(daruma_str part)
{
    static const struct {
        daruma_str reads;
        unsigned means;
    } options[] = {
        {LIT("-X P"), W_CHANGES},   {LIT("-X D"), W_CHANGES},        {LIT("-d "), W_CHANGES},
        {LIT("--data"), W_CHANGES}, {LIT("--request P"), W_CHANGES},
    };
    unsigned got = 0;
    for (size_t i = 0; i < part.n; i++) {
        const daruma_str rest = str_from(part, i);
        bool plain = part.p[i] == '>' && !(rest.n > 1 && rest.p[1] == '&');
        if (plain && str_find(str_sub(rest, 0, 12), S("/dev/null")) == STR_NONE) /* there nobody reads it */
            got |= W_CHANGES;
        if (part.p[i] != '-')
            continue;
        if (str_starts(rest, S("--wait")) || (str_starts(rest, S("--watch")) && !str_starts(rest, S("--watch=false"))))
            got |= T_WAITS; /* wherever it stands: ["ctl","--wait"] */
        if (i == 0 || !memchr(" \t\"'", part.p[i - 1], 4))
            continue;
        for (size_t k = 0; k < COUNT(options); k++)
            if (str_starts(rest, options[k].reads))
                got |= options[k].means;
        if (str_starts(rest, S("-f")) && str_find(str_sub(part, 0, i), S("tail")) != STR_NONE)
            got |= T_WAITS;
    }
    return got;
}

/* "echo $?", "echo %PATH%", "echo (date)", "echo *.py", "echo !VAR!": what it prints does not stand in it. */
static bool is_expanded(daruma_str part)
{
    for (size_t i = 0; i < part.n; i++)
        if (memchr("$`%(<*?[~{", part.p[i], 10) || (part.p[i] == '!' && i + 1 < part.n && ch_word(part.p[i + 1])))
            return true;
    return false;
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
    if ((got & W_IDLE) && is_expanded(part))
        got &= ~(unsigned)W_IDLE;
    unsigned options = options_mean(part);
    if (options & W_CHANGES)
        got &= ~(unsigned)(T_READS | W_IDLE);
    got |= options | (loop ? T_WAITS : 0);
    return got ? got : WORDS_WEAK;
}

unsigned words_of_code(daruma_str code)
{
    code = str_sub(code, 0, COMMAND_BYTES_MAX);
    bool waits = str_find(code, S("sleep(")) != STR_NONE || str_find(code, S("setTimeout(")) != STR_NONE;
    return waits ? T_WAITS : 0;
}

/* Bytes of the end of a line at `i`, which is "\n" in JSON; 0: there is none. */
static size_t line_end(daruma_str s, size_t i)
{
    return s.p[i] == '\n' ? 1 : s.p[i] == '\\' && i + 1 < s.n && s.p[i + 1] == 'n' ? 2 : 0;
}

/* The next part of a command line, up to what stands between two commands; *i is behind that. A comment is no part. */
static daruma_str next_part(daruma_str s, size_t *i)
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
        if (quote ? c == quote : !comment && (c == '\'' || c == '"'))
            quote = quote ? 0 : c;
        *i += c == '\\' && *i + 1 < s.n && s.p[*i + 1] == '\\';
    }
    daruma_str part = comment ? (daruma_str){0} : str_sub(s, from, *i - from);
    *i += n ? n : 1;
    return part;
}

unsigned words_of_command(daruma_str command)
{
    unsigned got = 0, idle = W_IDLE;
    bool reads = false, unknown = false;
    command = str_sub(command, 0, COMMAND_BYTES_MAX);
    for (size_t i = 0; i <= command.n;) {
        daruma_str words = next_part(command, &i);
        unsigned part = part_means(words);
        if (idle && !(part & W_IDLE) && str_trim(words).n && !str_starts(words, S("cd "))) /* "cd src && true" */
            idle = 0;
        reads |= (part & T_READS) != 0;
        unknown |= (part & WORDS_WEAK) != 0;
        got |= part & ~(unsigned)(T_READS | WORDS_WEAK);
    }
    if (str_find(command, S("--sort")) != STR_NONE) /* the order was asked for */
        got &= ~(unsigned)W_FINDS;
    got = (got & ~(unsigned)W_IDLE) | (got & idle);
    if (unknown && !(got & W_CHANGES))
        return got | W_WEAK;
    return got & W_CHANGES ? got : got | (reads || got ? T_READS : 0);
}
