/* codes.c - what names and numbers of failures mean: errno, exception classes, HTTP statuses, exit codes, JSON-RPC. */
#include "engine/watch/facts.h"
#include "base/str.h"

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
        for (size_t i_ = 0; i_ < COUNT(rows); i_++)                                                                    \
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
    for (size_t i = 0; spelt.n && i < COUNT(code_rows); i++)
        if (str_find(spelt, str_of(code_rows[i].word)) != STR_NONE) {
            if (retry)
                *retry = code_rows[i].retry;
            return (daruma_tool_kind)code_rows[i].kind;
        }
    return DARUMA_TOOL_NONE_KIND;
}
