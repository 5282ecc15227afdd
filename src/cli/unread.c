/* unread.c - which dialect a request or an answer is in, and why it could not be read, for people. */
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/shape.h"
#include "dialect/dialect.h"
#include "sys/arena.h"
#include "sys/sys.h"

static bool no_object(const char *command, const char *what, daruma_str body)
{
    daruma_str text = str_trim(body);
    cli_place at = cli_json_breaks(body);
    if (json_valid(text) && json_is_object(text))
        return false;
    if (!text.n)
        fprintf(stderr, "daruma %s: nothing came: give it %s as JSON\n", command, what);
    else if (json_valid(text))
        fprintf(stderr, "daruma %s: this is JSON, and no object: %s is one\n", command, what);
    else if (at.rest[0])
        fprintf(stderr, "daruma %s: line %zu, column %zu: this is no JSON: %s\n", command, at.line, at.column, at.rest);
    else
        fprintf(stderr, "daruma %s: line %zu, column %zu: the JSON ends here, and it should go on\n", command, at.line,
                at.column);
    return true;
}

/* Another dialect than `d` that the request is one of; NULL: there is none. */
static const dialect *fits_other(const dialect *d, daruma_str body, daruma_arena *a)
{
    const dialect *known;
    convo c;
    for (size_t i = 0; (known = dialect_at(i)); i++)
        if (known != d && known->read(body, a, &c) == DARUMA_OK)
            break;
    return known;
}

int cli_unread(const char *command, const char *what, daruma_status s, const dialect *d, daruma_str body,
               daruma_arena *a)
{
    bool request = strcmp(what, CLI_REQUEST) == 0;
    const dialect *other;
    switch (s) {
    case DARUMA_OK:
        return 0;
    case DARUMA_EDEEP:
        fprintf(stderr, "daruma %s: its JSON is nested deeper than %d levels\n", command, JSON_DEPTH_MAX);
        break;
    case DARUMA_EFULL:
        fprintf(stderr, "daruma %s: it is too large\n", command);
        break;
    case DARUMA_EINPUT:
        if (no_object(command, what, body))
            break;
        fprintf(stderr, "daruma %s: this is no %s of the dialect %s", command, request ? "request" : "answer", d->name);
        if (request)
            fprintf(stderr, ": there is no list `%s` in it", shape_list_of(d));
        if (request && (other = fits_other(d, body, a)))
            fprintf(stderr, "; is it one of %s?", other->name);
        fprintf(stderr, "\n");
    }
    return 2;
}

const dialect *cli_settle_dialect(const char *command, const char *option, const dialect *said, daruma_str text,
                                  bool answer)
{
    const char *sign = NULL;
    const dialect *d = answer ? shape_of_answer(text, &sign) : shape_of_request(str_trim(text), &sign);
    if (said && d && d != said)
        return CLI_NULL(command, "this looks like %s of %s (it has %s), not of %s: say %s %s, or leave the option out",
                        answer ? CLI_ANSWER : CLI_REQUEST, d->name, sign, said->name, option, d->name);
    if (said || d)
        return said ? said : d;
    if (!answer && json_get(str_trim(text), S("messages")).n) {
        fprintf(stderr, "taken for a request of %s, since nothing in it says more; %s names another\n",
                dialect_openai.name, option);
        return &dialect_openai;
    }
    if (!answer && no_object(command, CLI_REQUEST, text))
        return NULL;
    return CLI_NULL(command, "nothing in it says which dialect it is in: say %s", option);
}

bool cli_read(const char *command, const char *path, size_t file_most, size_t most, daruma_arena *a, daruma_str *ret)
{
    char why[256] = "no memory";
    bool room = sys_arena_init(a, 1 << 16, most), read = room && sys_read_file(path, file_most, a, ret, why);
    if (read) {
        *ret = cli_unmarked(*ret);
        return true;
    }
    if (room)
        sys_arena_done(a);
    return cli_say(false, command, "%s", why);
}
