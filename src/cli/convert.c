/* convert.c - `daruma convert`: a request, an answer or a stream of one dialect as one of another. */
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/shape.h"
#include "dialect/dialect.h"
#include "sys/sys.h"

#define CONVERT_MEMORY_BYTES (16 * (size_t)BODY_BYTES_MAX) /* a body, and what it becomes several times over */

/* A request, or an answer, that could not be read or written. */
static int unread(const char *what, daruma_status s, const dialect *from, daruma_str body, daruma_arena *a)
{
    return cli_unread("convert", what, s, from, body, a) ? 1 : 0;
}

static int convert_request(const dialect *from, const dialect *to, const char *model, daruma_str body, daruma_buf *out,
                           daruma_arena *a)
{
    convo c, made;
    dialect_losses lost = {0};
    daruma_status s = from->read(body, a, &c);
    if (s != DARUMA_OK)
        return unread(CLI_REQUEST, s, from, body, a);
    s = dialect_convert(&c, to, a, &made, &lost);
    if (s == DARUMA_EINPUT)
        return cli_say(
            1, "convert", "%s",
            c.remote ? "it refers to what lives on the provider's server (a stored response, a file, a cache): only "
                       "that provider can go on with it"
                     : "there is nothing in it that could be carried over");
    if (s != DARUMA_OK)
        return unread(CLI_REQUEST, s, from, body, a);
    if (model)
        made.set.model = str_of(model);
    to->write(&made, out);
    for (size_t i = 0; i < lost.n; i++)
        fprintf(stderr, "lost: %s\n", lost.what[i]);
    if (to == &dialect_gemini)
        fprintf(stderr, "path: " STR_FMT "\n", STR_ARG(dialect_path(to, made.set.model, made.set.stream == 1, a)));
    return unread(CLI_REQUEST, out->full || made.full ? DARUMA_EFULL : DARUMA_OK, from, body, a);
}

static void tell_error(daruma_str body)
{
    fputs("daruma convert: it ends with an error: ", stderr);
    cli_put(stderr, body);
    fputc('\n', stderr);
}

/* A stream that was recorded, as the bytes came. */
static int convert_stream(const dialect *from, const dialect *to, daruma_str body, const write_ctx *x, daruma_buf *out,
                          daruma_arena *a)
{
    stream_bridge b;
    stream_view v = {0};
    sse_event e;
    daruma_str whole = body;
    bool any = false;
    bridge_begin(&b, from, to, x, a);
    for (; sse_next(&body, &e, a); any = true) {
        dialect_watch(from, &v, &e);
        bridge_event(&b, &e, out, a);
    }
    if (out->full || a->full)
        return unread(CLI_ANSWER, DARUMA_EFULL, from, body, a);
    if (!any)
        return unread(CLI_ANSWER, DARUMA_EINPUT, from, whole, a);
    if (v.error)
        tell_error(v.error_body);
    else if (!bridge_end(&b, out))
        fprintf(stderr, "daruma convert: it is cut off: no end was written\n");
    else
        return 0;
    return 1;
}

static int convert_answer(const dialect *from, const dialect *to, const char *model, daruma_str body, daruma_buf *out,
                          daruma_arena *a)
{
    write_ctx x = {.model = str_of(model), .wall = sys_moment().wall};
    daruma_str start = str_trim(body);
    if (start.n && start.p[0] != '{' && start.p[0] != '[')
        return convert_stream(from, to, body, &x, out, a);
    return unread(CLI_ANSWER, dialect_convert_answer(from, to, body, &x, out, a), from, body, a);
}

int cli_convert(int argc, char **argv)
{
    const char *from_name = NULL, *to_name = NULL, *model = NULL;
    bool answer = false;
    const cli_option options[] = {
        CLI_VALUE("--from", "NAME", &from_name, "the dialect it is in; default: found by its shape"),
        CLI_VALUE("--to", "NAME", &to_name, "the dialect it shall be in"),
        CLI_VALUE("--model", "NAME", &model, "the model to ask; default: the one that is named"),
        CLI_SWITCH("--answer", &answer, "it is an answer, or a recorded stream of one"),
        {0}};
    int at = cli_options(argc, argv, options, "convert [--from NAME] --to NAME [--model NAME] [--answer] [FILE]",
                         "Says a request in the words of another API. The dialects are openai (Chat Completions),\n"
                         "openai-responses, anthropic and gemini. The result goes to standard output; what could not\n"
                         "be carried over is named on standard error, one a line. Thinking never is: other models\n"
                         "cannot read it. doc/dialects.md has the whole list. What is surely of another dialect\n"
                         "than --from says is refused.\n"
                         "\n"
                         "Try:  echo '{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"Hi\"}]}' |\n"
                         "        daruma convert --from openai --to anthropic\n"
                         "      daruma convert --from gemini --to openai --answer < answer.json");
    if (at < 0)
        return at == -2 ? 0 : 2;
    const dialect *from = from_name ? cli_dialect(argv[0], "--from", from_name) : NULL;
    const dialect *to = from || !from_name ? cli_dialect(argv[0], "--to", to_name) : NULL;
    const char *path = to ? cli_one_file(argc, argv, at) : NULL;
    if (!path)
        return 2;
    daruma_arena a;
    daruma_str body;
    int code = 1;
    if (!cli_read(argv[0], path, BODY_BYTES_MAX, CONVERT_MEMORY_BYTES, &a, &body))
        return 1;
    if ((from = cli_settle_dialect("convert", "--from", from, body, answer))) {
        daruma_buf out = buf_in(&a);
        code =
            answer ? convert_answer(from, to, model, body, &out, &a) : convert_request(from, to, model, body, &out, &a);
        if (out.n && !out.full && (code == 0 || answer))
            fwrite(out.p, 1, out.n, stdout);
        if (code == 0 && out.n && out.p[out.n - 1] != '\n')
            putchar('\n');
    }
    sys_arena_done(&a);
    return code;
}
