/* pasted.c - a whole HTTP answer, as people copy it: of `curl -i`, of `curl -v` and other clients that mark the lines
 * of its head, of wget -S, which indents them.
 *
 *     $ curl -i https://api.example/v1/chat/completions ...
 *     HTTP/1.1 429 Too Many Requests          * Connected to api.example
 *     retry-after: 20                         < HTTP/2 429
 *                                             < retry-after: 20
 *     {"error":{"message":"..."}}             <
 *                                             {"error":{"message":"..."}}* Connection #0 to host api.example left
 * intact
 *
 * The last head counts: those before it are of redirects, of proxies, or say 100. */
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "cli/cli.h"

/* "HTTP/1.1 429 Too Many Requests", "HTTP/2 429": its status, 0 when it is none. */
static int status_of(daruma_str line, daruma_str *ret_reason)
{
    daruma_str rest = line, version = str_cut(&rest, ' '), digits;
    int64_t status;
    if (!str_starts(version, S("HTTP/")) || version.n < 6 || version.n > 8 || !ch_digit(version.p[5]))
        return 0;
    rest = str_trim(rest);
    digits = str_cut(&rest, ' ');
    if (digits.n != 3 || !str_int(digits, &status) || status < 100 || status > 599)
        return 0;
    *ret_reason = str_trim(rest);
    return (int)status;
}

/* "name: value"; false for what is no field of a head, as the first line of a body without an empty one before it. */
static bool field_of(daruma_str line, daruma_header *ret)
{
    size_t colon = str_findch(line, ':');
    if (colon == STR_NONE || !colon)
        return false;
    for (size_t i = 0; i < colon; i++)
        if (!ch_alpha(line.p[i]) && !ch_digit(line.p[i]) && line.p[i] != '-' && line.p[i] != '_')
            return false;
    *ret = (daruma_header){str_sub(line, 0, colon), str_trim(str_from(line, colon + 1))};
    return true;
}

/* What `curl -v` says of itself: "* ...", "> ..." and "{ [5 bytes data]". */
static bool is_chatter(daruma_str line)
{
    return str_starts(line, S("* ")) || str_starts(line, S("> ")) || str_eq(line, S(">")) ||
           str_starts(line, S("{ [")) || str_starts(line, S("} ["));
}

/* A line as it was sent, and whether a client marked it as one of a head. */
static daruma_str unmarked(daruma_str line, bool *ret_marked)
{
    *ret_marked = str_starts(line, S("< ")) || str_eq(str_trim(line), S("<"));
    return str_trim(*ret_marked ? str_from(line, 1) : line);
}

/* Does a head begin in the text, and nothing before it but what is typed or chattered? `ret_marked`: its lines are
 * marked. */
static bool has_head(daruma_str text, bool *ret_marked)
{
    daruma_str reason;
    for (int lines = 0; text.n && lines < PASTED_LINES_MAX; lines++) {
        daruma_str line = str_cut(&text, '\n');
        if (status_of(unmarked(line, ret_marked), &reason))
            return true;
        line = str_trim(line);
        bool typed = str_starts(line, S("$ ")) || str_starts(line, S("curl ")) || str_ends(line, S("\\"));
        if (line.n && !typed && !is_chatter(line))
            return false;
    }
    return false;
}

/* Without what curl says behind a body that ends without a line's end. */
static daruma_str without_goodbye(daruma_str line)
{
    size_t at = str_find(line, S("* Connection #"));
    return at == STR_NONE ? line : str_sub(line, 0, at);
}

bool cli_pasted(daruma_str text, daruma_evidence *ev, daruma_header *headers, size_t max, daruma_arena *a)
{
    bool chatty, marked, in_head = false;
    int status = 0;
    size_t given = ev->nheaders;
    daruma_str reason = {0};
    daruma_buf body = buf_in(a);
    if (!has_head(text, &chatty))
        return false;
    while (text.n && body.n < CLASSIFY_BODY_BYTES_MAX) {
        daruma_str line = str_cut(&text, '\n'), bare = unmarked(line, &marked), why;
        daruma_header field;
        int begins = body.n ? 0 : status_of(bare, &why);
        if (begins && marked == chatty) {
            status = begins;
            reason = why;
            ev->nheaders = given;
            in_head = true;
        } else if (!status || (chatty && is_chatter(line))) {
            continue;
        } else if (in_head && marked == chatty && field_of(bare, &field)) {
            if (ev->nheaders < max)
                headers[ev->nheaders++] = field;
        } else {
            in_head = false;
            if (body.n || bare.n)
                BUF_SAY(&body, chatty ? without_goodbye(line) : line, "\n");
        }
    }
    ev->headers = headers;
    ev->status = ev->status ? ev->status : status;
    ev->body = str_trim(buf_str(&body));
    if (!ev->body.n)
        ev->body = reason;
    return true;
}
