/* facts.c - what the result of a tool says about itself. Structure speaks first: members of JSON whose meaning their
 * name tells, exit codes, HTTP statuses. Text speaks only where it begins or ends with what nobody writes but who
 * failed: a file may be about errors, a log may hold some. */
#include "engine/watch/facts.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"

/* ---- names of failures -------------------------------------------------------------------- */

typedef struct code_row {
    const char *word; /* lower case, words apart by '_'; whole words only where it begins or ends with one */
    uint8_t kind;     /* daruma_tool_kind */
    bool retry;
} code_row;

// clang-format off
#define K(kind) DARUMA_TOOL_##kind##_KIND
static const code_row code_rows[] = {
    /* errno, as Node, Python, Rust and libuv spell them */
    {"_enoent_", K(NOT_FOUND), false},       {"_enodev_", K(NOT_FOUND), false},      {"_enxio_", K(NOT_FOUND), false},
    {"_esrch_", K(NOT_FOUND), false},        {"_eacces_", K(PERMISSION), false},     {"_eperm_", K(PERMISSION), false},
    {"_erofs_", K(PERMISSION), false},       {"_eisdir_", K(VALIDATION), false},     {"_enotdir_", K(VALIDATION), false},
    {"_eexist_", K(VALIDATION), false},      {"_enotempty_", K(VALIDATION), false},  {"_einval_", K(VALIDATION), false},
    {"_erange_", K(VALIDATION), false},      {"_enametoolong_", K(VALIDATION), false}, {"_e2big_", K(VALIDATION), false},
    {"_efbig_", K(VALIDATION), false},       {"_ebadf_", K(VALIDATION), false},      {"_etimedout_", K(TIMEOUT), true},
    {"_esockettimedout_", K(TIMEOUT), true}, {"_etime_", K(TIMEOUT), true},          {"_econnrefused_", K(NETWORK), true},
    {"_econnreset_", K(NETWORK), true},      {"_econnaborted_", K(NETWORK), true},   {"_epipe_", K(NETWORK), true},
    {"_enetunreach_", K(NETWORK), true},     {"_enetdown_", K(NETWORK), true},       {"_ehostunreach_", K(NETWORK), true},
    {"_ehostdown_", K(NETWORK), true},       {"_enotfound_", K(NETWORK), true},      {"_eai_again_", K(NETWORK), true},
    {"_eagain_", K(UNKNOWN), true},          {"_ebusy_", K(UNKNOWN), true},          {"_emfile_", K(UNKNOWN), true},
    {"_enfile_", K(UNKNOWN), true},          {"_enospc_", K(UNKNOWN), false},        {"_enomem_", K(UNKNOWN), false},
    {"_edquot_", K(UNKNOWN), false},         {"_eio_", K(UNKNOWN), false},
    /* words of codes and of classes; who may not is told before what was wrong */
    {"_timeout", K(TIMEOUT), true},          {"_timed_out_", K(TIMEOUT), true},      {"_timedout_", K(TIMEOUT), true},
    {"_deadline_exceeded_", K(TIMEOUT), true},
    {"_rate_limit", K(RATE_LIMIT), true},    {"_ratelimit", K(RATE_LIMIT), true},    {"_too_many_requests_", K(RATE_LIMIT), true},
    {"_throttl", K(RATE_LIMIT), true},       {"_quota_", K(RATE_LIMIT), false},      {"_resource_exhausted_", K(RATE_LIMIT), true},
    {"_unauthorized_access_", K(PERMISSION), false}, {"_unauthorized_", K(AUTH), false},      {"_unauthenticated_", K(AUTH), false},  {"_authentication_", K(AUTH), false},
    {"_not_authenticated_", K(AUTH), false}, {"_invalid_token_", K(AUTH), false},    {"_token_expired_", K(AUTH), false},
    {"_expired_token_", K(AUTH), false},     {"_token_revoked_", K(AUTH), false},    {"_invalid_auth_", K(AUTH), false},
    {"_not_authed_", K(AUTH), false},        {"_invalid_api_key_", K(AUTH), false},  {"_invalid_grant_", K(AUTH), false},
    {"_invalid_client_", K(AUTH), false},    {"_credentials_", K(AUTH), false},      {"_auth_error_", K(AUTH), false},
    {"_auth_required_", K(AUTH), false},     {"_login_required_", K(AUTH), false},
    {"_denied_", K(PERMISSION), false},      {"_forbidden_", K(PERMISSION), false},  {"_permission_", K(PERMISSION), false},
    {"_permissions_", K(PERMISSION), false}, {"_not_allowed_", K(PERMISSION), false}, {"_missing_scope_", K(PERMISSION), false},
    {"_insufficient_scope_", K(PERMISSION), false}, {"_restricted_", K(PERMISSION), false},
    {"_not_found_", K(NOT_FOUND), false},    {"_notfound_", K(NOT_FOUND), false},    {"_no_such_", K(NOT_FOUND), false},
    {"_does_not_exist_", K(NOT_FOUND), false}, {"_doesnotexist_", K(NOT_FOUND), false}, {"_unknown_tool_", K(NOT_FOUND), false},
    {"_nosuch", K(NOT_FOUND), false},        {"_no_session_", K(NOT_FOUND), false},
    {"_network_", K(NETWORK), true},         {"_connection_", K(NETWORK), true},     {"_connect_error_", K(NETWORK), true},
    {"_dns_", K(NETWORK), true},             {"_socket_", K(NETWORK), true},         {"_unreachable_", K(NETWORK), true},
    {"_validation_", K(VALIDATION), false},  {"_invalid_", K(VALIDATION), false},    {"_missing_", K(VALIDATION), false},
    {"_required_", K(VALIDATION), false},    {"_mismatch_", K(VALIDATION), false},   {"_ambiguous_", K(VALIDATION), false},
    {"_out_of_range_", K(VALIDATION), false}, {"_too_large_", K(VALIDATION), false}, {"_too_long_", K(VALIDATION), false},
    {"_malformed_", K(VALIDATION), false},   {"_bad_request_", K(VALIDATION), false}, {"_unprocessable", K(VALIDATION), false},
    {"_already_exists_", K(VALIDATION), false}, {"_no_change_", K(VALIDATION), false}, {"_not_a_file_", K(VALIDATION), false},
    {"_not_a_directory_", K(VALIDATION), false}, {"_is_a_directory_", K(VALIDATION), false}, {"_match_not_", K(VALIDATION), false},
    {"_unread_file_", K(VALIDATION), false}, {"_changed_since_", K(VALIDATION), false}, {"_conflict_", K(VALIDATION), false},
    {"_unavailable_", K(UNKNOWN), true},     {"_overloaded_", K(RATE_LIMIT), true},
};

static const struct {
    int from, to;
    uint8_t kind;
    bool retry;
} status_rows[] = {
    {401, 401, K(AUTH), false},      {402, 402, K(RATE_LIMIT), false}, {403, 403, K(PERMISSION), false},
    {404, 404, K(NOT_FOUND), false}, {407, 407, K(AUTH), false},       {408, 408, K(TIMEOUT), true},
    {405, 406, K(VALIDATION), false}, {409, 409, K(VALIDATION), false}, {410, 410, K(NOT_FOUND), false},
    {411, 417, K(VALIDATION), false}, {422, 422, K(VALIDATION), false}, {425, 425, K(RATE_LIMIT), true},
    {428, 428, K(VALIDATION), false}, {429, 429, K(RATE_LIMIT), true},  {451, 451, K(PERMISSION), false},
    {504, 504, K(TIMEOUT), true},    {522, 522, K(TIMEOUT), true},     {524, 524, K(TIMEOUT), true},
    {529, 529, K(RATE_LIMIT), true},
}, any_status_rows[] = {
    {400, 499, K(VALIDATION), false}, {500, 599, K(UNKNOWN), true},
}, exit_rows[] = {
    {124, 124, K(TIMEOUT), true},    /* timeout(1) */
    {126, 126, K(PERMISSION), false}, /* found, but not to be executed */
    {127, 127, K(NOT_FOUND), false}, /* no such command */
}, rpc_rows[] = { /* JSON-RPC 2.0 section 5.1; MCP's own below -32000 */
    {-32700, -32700, K(VALIDATION), false}, {-32602, -32602, K(VALIDATION), false}, {-32601, -32601, K(NOT_FOUND), false},
    {-32600, -32600, K(VALIDATION), false}, {-32002, -32002, K(NOT_FOUND), false},  {-32001, -32001, K(TIMEOUT), true},
};
// clang-format on

#define ROW_OF(rows, n)                                                                                                \
    do {                                                                                                               \
        for (size_t i_ = 0; i_ < sizeof(rows) / sizeof *(rows); i_++)                                                  \
            if ((n) >= (rows)[i_].from && (n) <= (rows)[i_].to) {                                                      \
                if (retry)                                                                                             \
                    *retry = (rows)[i_].retry;                                                                         \
                return (daruma_tool_kind)(rows)[i_].kind;                                                              \
            }                                                                                                          \
        return DARUMA_TOOL_NONE_KIND;                                                                                  \
    } while (0)

daruma_tool_kind facts_status(int status, bool *retry)
{
    ROW_OF(status_rows, status);
}

daruma_tool_kind facts_status_any(int status, bool *retry)
{
    ROW_OF(any_status_rows, status);
}

daruma_tool_kind facts_exit(int exit, bool *retry)
{
    ROW_OF(exit_rows, exit);
}

daruma_tool_kind facts_rpc(int code, bool *retry)
{
    ROW_OF(rpc_rows, code);
}

enum { CODE_BYTES_MAX = 80 }; /* a longer name of a failure is a sentence */

/* "FileNotFoundError", "FILE_NOT_FOUND", "file-not-found" as "_file_not_found_error_". Returns its bytes, 0: no name.
 */
static size_t spell(daruma_str code, char out[CODE_BYTES_MAX * 2 + 2])
{
    size_t n = 0;
    if (!code.n || code.n > CODE_BYTES_MAX)
        return 0;
    out[n++] = '_';
    for (size_t i = 0; i < code.n; i++) {
        char c = code.p[i];
        bool upper = c >= 'A' && c <= 'Z', was_lower = i && code.p[i - 1] >= 'a' && code.p[i - 1] <= 'z';
        bool before_lower = i && i + 1 < code.n && code.p[i + 1] >= 'a' && code.p[i + 1] <= 'z';
        if (c == ' ' || (unsigned char)c >= 0x80)
            return 0;
        if (!ch_alpha(c) && !ch_digit(c)) {
            if (out[n - 1] != '_')
                out[n++] = '_';
            continue;
        }
        if (upper && (was_lower || (before_lower && ch_alpha(code.p[i - 1]))) && out[n - 1] != '_')
            out[n++] = '_';
        out[n++] = ch_lower(c);
    }
    if (out[n - 1] != '_')
        out[n++] = '_';
    return n;
}

daruma_tool_kind facts_code(daruma_str code, bool *retry)
{
    char name[CODE_BYTES_MAX * 2 + 2];
    daruma_str spelt = {name, spell(code, name)};
    for (size_t i = 0; spelt.n && i < sizeof code_rows / sizeof *code_rows; i++)
        if (str_find(spelt, str_of(code_rows[i].word)) != STR_NONE) {
            if (retry)
                *retry = code_rows[i].retry;
            return (daruma_tool_kind)code_rows[i].kind;
        }
    return DARUMA_TOOL_NONE_KIND;
}

/* ---- members of JSON ------------------------------------------------------------------------- */

enum role {
    IS_ERROR,  /* holds an error, its text, or whether there is one */
    IS_BAD,    /* true: it failed */
    IS_GOOD,   /* false: it failed */
    IS_WORD,   /* "error" or "ok", or an HTTP status */
    IS_STATUS, /* an HTTP status */
    IS_CODE,   /* a name, or a number of HTTP or JSON-RPC */
    IS_CLASS,  /* a name, but only of what is an error */
    IS_EXIT,   /* of a process */
    IS_LATE,   /* true: it took too long */
    IS_RETRY,
    IS_TEXT,  /* words about the failure */
    IS_OUT,   /* what a process wrote about it */
    IS_PLAIN, /* what it gave back: the error, when it failed */
    IS_NEST,  /* looked into */
};

// clang-format off
static const struct {
    const char *name;
    enum role role;
} members[] = {
    {"error", IS_ERROR},           {"errors", IS_ERROR},        {"err", IS_ERROR},           {"exception", IS_ERROR},
    {"isError", IS_BAD},           {"is_error", IS_BAD},        {"failed", IS_BAD},          {"has_error", IS_BAD},
    {"ok", IS_GOOD},               {"success", IS_GOOD},        {"succeeded", IS_GOOD},      {"status", IS_WORD},
    {"state", IS_WORD},            {"status_code", IS_STATUS},  {"statusCode", IS_STATUS},   {"http_status", IS_STATUS},
    {"httpStatus", IS_STATUS},     {"code", IS_CODE},           {"error_code", IS_CODE},     {"errorCode", IS_CODE},
    {"errno", IS_CODE},            {"error_type", IS_CODE},     {"errorType", IS_CODE},      {"type", IS_CLASS},
    {"name", IS_CLASS},            {"kind", IS_CLASS},          {"exit_code", IS_EXIT},      {"exitCode", IS_EXIT},
    {"returncode", IS_EXIT},       {"return_code", IS_EXIT},    {"returnCode", IS_EXIT},     {"exit_status", IS_EXIT},
    {"exitStatus", IS_EXIT},       {"exit", IS_EXIT},           {"timed_out", IS_LATE},      {"timedOut", IS_LATE},
    {"timeout", IS_LATE},          {"retryable", IS_RETRY},     {"message", IS_TEXT},        {"msg", IS_TEXT},
    {"error_message", IS_TEXT},    {"errorMessage", IS_TEXT},   {"error_description", IS_TEXT}, {"detail", IS_TEXT},
    {"details", IS_TEXT},          {"reason", IS_TEXT},         {"title", IS_TEXT},          {"stderr", IS_OUT},
    {"stdout", IS_PLAIN},          {"output", IS_PLAIN},        {"content", IS_NEST},        {"text", IS_PLAIN},
    {"result", IS_NEST},           {"metadata", IS_NEST},       {"data", IS_NEST},           {"response", IS_NEST},
};

/* Which of two texts is shown; what a process writes last to stdout is often the failure, but stderr is it by name. */
static const int rank_of[] = {[IS_ERROR] = 5, [IS_TEXT] = 4, [IS_OUT] = 3, [IS_PLAIN] = 1, [IS_NEST] = 2};
// clang-format on

static void add_text(facts *f, daruma_str value, int rank)
{
    size_t at = f->ntexts < FACTS_TEXTS ? f->ntexts : FACTS_TEXTS;
    if (value.n < 3) /* "" */
        return;
    while (at > 0 && f->ranks[at - 1] < rank)
        at--;
    if (at >= FACTS_TEXTS)
        return;
    for (size_t i = f->ntexts < FACTS_TEXTS ? f->ntexts : FACTS_TEXTS - 1; i > at; i--) {
        f->texts[i] = f->texts[i - 1];
        f->ranks[i] = f->ranks[i - 1];
    }
    f->texts[at] = value;
    f->ranks[at] = rank;
    f->ntexts += f->ntexts < FACTS_TEXTS;
}

static daruma_str inside(daruma_str value) /* of a string of JSON */
{
    return json_is_string(value) && value.n >= 2 ? str_sub(value, 1, value.n - 2) : (daruma_str){0};
}

static void add_code(facts *f, daruma_str code)
{
    if (code.n && code.n <= CODE_BYTES_MAX && f->ncodes < FACTS_CODES)
        f->codes[f->ncodes++] = code;
}

static bool is_word(daruma_str text, const char *const *words)
{
    for (; *words; words++)
        if (str_ieq(text, str_of(*words)))
            return true;
    return false;
}

static void read_number(facts *f, enum role role, int64_t n)
{
    if (role == IS_EXIT) {
        f->exit = n >= -255 && n <= 255 ? (int)n : 255;
        f->failed |= n != 0;
        f->worked |= n == 0;
    } else if (n >= 400 && n <= 599) {
        f->status = (int)n;
        f->failed |= role == IS_STATUS || role == IS_WORD;
    } else if (n <= -32000 && n >= -32768) {
        f->rpc = (int)n;
    }
}

static void read_level(facts *f, daruma_str value, int level);

static bool is_nothing(daruma_str v)
{
    return json_is_null(v) || str_eq(v, S("false")) || str_eq(v, S("\"\"")) || str_eq(v, S("0")) ||
           ((json_is_array(v) || json_is_object(v)) && json_count(v) == 0);
}

/* "ENOENT", "FileNotFound", "not_found": a name, not a word. */
static bool is_name(daruma_str s)
{
    bool mark = false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == ' ')
            return false;
        mark |= s.p[i] == '_' || (s.p[i] >= 'A' && s.p[i] <= 'Z');
    }
    return mark;
}

static void read_error(facts *f, daruma_str v, int level)
{
    if (is_nothing(v))
        return;
    f->failed = true;
    if (json_is_string(v)) {
        add_text(f, v, rank_of[IS_ERROR] * 4 + level);
        if (is_name(inside(v)))
            add_code(f, inside(v));
    } else {
        read_level(f, v, level + 1);
    }
}

static void read_member(facts *f, enum role role, daruma_str v, int level)
{
    static const char *const bad[] = {"error", "err", "timeout", NULL}, *const good[] = {"ok", "success", NULL};
    bool yes = json_is_true(v), no = str_eq(v, S("false"));
    switch (role) {
    case IS_ERROR:
        read_error(f, v, level);
        break;
    case IS_BAD:
        f->failed |= yes;
        f->worked |= no;
        break;
    case IS_GOOD:
        f->failed |= no;
        f->worked |= yes;
        break;
    case IS_WORD: /* what an asked-after job came to is no failure of the asking: "failed" says nothing */
        f->failed |= is_word(inside(v), bad);
        f->worked |= is_word(inside(v), good);
        if (json_is_number(v))
            read_number(f, role, json_int(v, 0));
        else
            add_code(f, inside(v));
        break;
    case IS_CLASS:
        if (level > 0)
            add_code(f, inside(v));
        break;
    case IS_STATUS:
    case IS_CODE:
    case IS_EXIT:
        if (json_is_number(v))
            read_number(f, role, json_int(v, 0));
        else
            add_code(f, inside(v));
        break;
    case IS_LATE:
        f->failed |= yes;
        if (yes)
            add_code(f, S("timeout"));
        break;
    case IS_RETRY:
        f->retry = yes ? 1 : no ? 0 : f->retry;
        break;
    case IS_TEXT:
    case IS_OUT:
    case IS_PLAIN:
        if (json_is_string(v))
            add_text(f, v, rank_of[role] * 4 + level);
        break;
    case IS_NEST:
        if (json_is_string(v))
            add_text(f, v, rank_of[role] * 4 + level);
        else
            read_level(f, v, level + 1);
        break;
    }
}

/* One object, or the first elements of an array. The walk stops where the limits say. */
static void read_level(facts *f, daruma_str value, int level)
{
    daruma_str key, v;
    json_iter it = json_open(value);
    bool array = json_is_array(value);
    if (level > TOOL_FACTS_LEVELS_MAX || (!array && !json_is_object(value)))
        return;
    for (int i = 0; i < (array ? TOOL_FACTS_ELEMENTS_MAX : TOOL_FACTS_MEMBERS_MAX) && json_next(&it, &key, &v); i++) {
        if (array) {
            if (json_is_string(v))
                add_text(f, v, rank_of[IS_PLAIN] * 4 + level);
            else
                read_level(f, v, level + 1);
            continue;
        }
        for (size_t k = 0; k < sizeof members / sizeof *members; k++)
            if (json_raw_eq(key, str_of(members[k].name))) {
                read_member(f, members[k].role, v, level);
                break;
            }
    }
}

/* ---- plain text --------------------------------------------------------------------------------- */

/* What a text begins with that is one failure and nothing else; lower case. */
static const char *const begins[] = {
    "error:",
    "error executing",
    "error calling",
    "error while",
    "error running",
    "error reading",
    "error writing",
    "[error]",
    "fatal:",
    "fatal error",
    "failed to ",
    "failure:",
    "exception:",
    "unhandled exception",
    "uncaught ",
    "traceback (most ",
    "panic:",
    "thread 'main' pan",
    "command failed",
    "command exited with",
    "process exited",
    "mcp error",
    "npm err",
    "api error",
    "tool execution failed",
    "permission denied",
    "access denied",
    "request failed",
    "internal error",
    "<tool_use_error>",
    "<error>",
    "timed out",
    "timeout:",
    "connection refused",
    "segmentation fault",
    "exception in thread",
    "unauthorized",
    "forbidden",
    "bad request",
    "no such file or directory",
    "unexpected error",
    "an error occurred",
    "an exception occ",
    "invalid arguments",
    "invalid argument",
    "inputvalidationerror",
    "unknown tool",
    "tool not found",
    "\xe2\x9d\x8c",
};

/* Behind an exit code that is not 0: "Exit code 1", "(exit status 2)", "[exit code: 1]". */
static const char *const exits[] = {"exit code",
                                    "exit status",
                                    "exited with code",
                                    "exited with status",
                                    "returned non-zero exit status",
                                    "exited with error code"};

/* Nothing but what closes a line. */
static bool ends_so(daruma_str rest)
{
    size_t i = 0;
    while (i < rest.n && (rest.p[i] == ')' || rest.p[i] == ']' || rest.p[i] == '.'))
        i++;
    return i == rest.n;
}

int facts_exit_in(daruma_str line)
{
    for (size_t i = 0; i < sizeof exits / sizeof *exits; i++) {
        size_t at = str_ifind(line, str_of(exits[i]));
        int64_t n = 0;
        if (at == STR_NONE)
            continue;
        daruma_str rest = str_trim(str_from(line, at + strlen(exits[i])));
        if (rest.n && (rest.p[0] == ':' || rest.p[0] == '='))
            rest = str_trim(str_from(rest, 1));
        size_t used = str_scan_int(rest, &n);
        bool leads = at == 0 || (at == 1 && !ch_word(line.p[0]));
        if (used && n > 0 && n <= 255 && (leads || ends_so(str_from(rest, used))))
            return (int)n;
    }
    return 0;
}

/* "TypeError: ", "java.io.IOException: ", "ENOENT: ", "FILE_NOT_FOUND: ": a name of a failure and a colon. */
static daruma_str leading(daruma_str line)
{
    size_t colon = str_findch(str_sub(line, 0, CODE_BYTES_MAX), ':');
    daruma_str name = str_sub(line, 0, colon == STR_NONE ? 0 : colon);
    bool capitals = name.n > 3;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        if (!ch_alpha(c) && !ch_digit(c) && c != '_' && c != '.' && c != '$')
            return (daruma_str){0};
        capitals &= !(c >= 'a' && c <= 'z') && c != '.';
    }
    bool class =
        str_eq(name, S("Error")) || (name.n > 5 && (str_ends(name, S("Error")) || str_ends(name, S("Exception"))));
    bool code = capitals && (name.p[0] == 'E' || str_findch(name, '_') != STR_NONE) &&
                facts_code(name, NULL) != DARUMA_TOOL_NONE_KIND;
    return class || code ? name : (daruma_str){0};
}

daruma_str facts_leading(daruma_str line)
{
    static const daruma_str before[] = {{"Unhandled exception. ", 21},
                                        {"Uncaught ", 9},
                                        {"Caused by: ", 11},
                                        {"Exception in thread \"main\" ", 27},
                                        {"Error: ", 7}};
    daruma_str name = leading(line);
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        if (str_istarts(line, before[i])) {
            daruma_str behind = leading(str_from(line, before[i].n));
            return behind.n ? behind : name;
        }
    return name;
}

static bool begins_so(daruma_str text)
{
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (str_istarts(text, str_of(begins[i])))
            return true;
    return false;
}

/* "cat: x.txt: No such file or directory": one line of a program about its own failure. */
static bool is_complaint(daruma_str line)
{
    static const char *const ends[] = {"no such file or directory",
                                       "permission denied",
                                       "command not found",
                                       "not found",
                                       "is a directory",
                                       "not a directory",
                                       "connection refused",
                                       "operation not permitted",
                                       "unrecognized option",
                                       "operation timed out"};
    if (line.n > TOOL_COMPLAINT_BYTES_MAX || str_find(line, S(": ")) == STR_NONE)
        return false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t n = strlen(ends[i]);
        if (line.n > n + 2 && str_ieq(str_from(line, line.n - n), str_of(ends[i])))
            return true;
    }
    return false;
}

static daruma_str first_line(daruma_str text)
{
    return str_trim(str_cut(&text, '\n'));
}

static daruma_str last_line(daruma_str text)
{
    size_t from = text.n;
    while (from > 0 && text.n - from < TOOL_COMPLAINT_BYTES_MAX && text.p[from - 1] != '\n')
        from--;
    return str_trim(str_from(text, from));
}

static daruma_str without_tags(daruma_str text, bool *failed)
{
    static const daruma_str tags[] = {{"<tool_use_error>", 16}, {"<error>", 7}};
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        if (str_istarts(text, tags[i])) {
            *failed = true;
            text = str_from(text, tags[i].n);
            size_t end = str_find(text, S("</"));
            return str_trim(end == STR_NONE ? text : str_sub(text, 0, end));
        }
    return text;
}

/* "TypeError: ..." and behind it a frame of a stack, "    at foo (...)". */
static bool has_trace(daruma_str text)
{
    bool named = false;
    while (text.n) {
        daruma_str raw = str_cut(&text, '\n'), line = str_trim(raw);
        if (named && line.n < raw.n && str_starts(line, S("at ")))
            return true;
        named = facts_leading(line).n > 0;
    }
    return false;
}

static void read_text(facts *f, daruma_str text)
{
    f->plain = true;
    text = without_tags(text, &f->failed);
    daruma_str first = first_line(text), last = last_line(text);
    bool shown = first.n && (first.p[0] == '[' || first.p[0] == '(' || str_istarts(first, S("exit")) ||
                             str_istarts(first, S("command")) || str_istarts(first, S("process")));
    int code = shown || first.n == text.n ? facts_exit_in(first) : 0;
    if (!code && last.n <= TOOL_COMPLAINT_BYTES_MAX)
        code = facts_exit_in(last);
    f->exit = code;
    f->failed |= code != 0;
    add_code(f, facts_leading(first));
    /* A long text that begins so is a document about errors, unless it is a trace. */
    bool trace = str_istarts(text, S("traceback (most "));
    if (trace || text.n <= TOOL_COMPLAINTS_BYTES_MAX)
        f->failed |= f->ncodes || begins_so(first);
    if (first.n == text.n)
        f->failed |= is_complaint(first);
    else if (text.n <= TOOL_COMPLAINTS_BYTES_MAX)
        f->failed |= has_trace(text);
    f->texts[f->ntexts++] = text;
}

facts facts_read(daruma_str result)
{
    facts f = {.retry = -1};
    daruma_str text = str_trim(result);
    if (json_is_object(text) || (json_is_array(text) && text.n > 1 && str_trim(str_from(text, 1)).p[0] == '{'))
        read_level(&f, text, 0);
    if (!f.ntexts && !f.ncodes && !f.failed && !f.worked)
        read_text(&f, text);
    if (!f.plain && !f.failed && f.ntexts && json_is_array(text)) { /* parts of text: the first speaks */
        facts in = {.retry = -1};
        read_text(&in, inside(f.texts[0]));
        f.failed = in.failed;
        f.exit = in.exit;
    }
    return f;
}

bool daruma_step_failed(const daruma_step *step)
{
    if (step->ok >= 0)
        return step->ok == 0;
    if (step->lost)
        return true;
    facts f = facts_read(step->result);
    return f.failed;
}
