/* mend.c - `daruma mend`: the history of a request put right, and shortened when asked. The request goes to standard
 * output, what was done to standard error, one thing a line. */
#include "engine/mend/pairs/pairs.h"
#include "engine/mend/request/request.h"
#include "engine/mend/shorten/shorten.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/shape.h"
#include "dialect/dialect.h"
#include "sys/sys.h"

#define MEND_MEMORY_BYTES (16 * (size_t)BODY_BYTES_MAX) /* a body, and what it becomes several times over */

/* ---- doing it ---- */

static void mend_tell(const mend_report *r)
{
    for (daruma_str rest = str_of(r->what); rest.n;) {
        daruma_str one = str_trim(str_cut(&rest, ';'));
        cli_put(stderr, one);
        fputc('\n', stderr);
    }
}

/* False when the target was not met. */
static bool shrink(convo *c, int64_t target)
{
    int64_t before = convo_tokens(c);
    mend_report r = mend_mask(c, target, NULL);
    int64_t after = convo_tokens(c);
    mend_tell(&r);
    fprintf(stderr, "about %lld tokens before, %lld after\n", (long long)before, (long long)after);
    if (after <= target)
        return true;
    return cli_say(false, "mend",
                   "it cannot be brought to %lld tokens by shortening tool output: what is left needs a summary,\n"
                   "and that a model, which the gateway asks when a request comes back as too long",
                   (long long)target);
}

static int mend_body(const dialect *d, daruma_str body, bool prune, int64_t target, daruma_arena *a)
{
    convo c;
    daruma_status s = d->read(body, a, &c);
    if (s != DARUMA_OK)
        return cli_unread("mend", CLI_REQUEST, s, d, body, a);
    mend_report pairs = mend_pairs(&c, prune ? MEND_PRUNE : MEND_SYNTHESISE),
                messages = mend_messages(&c, NULL, NULL, NULL);
    mend_tell(&pairs);
    mend_tell(&messages);
    if (!mend_did(&pairs) && !mend_did(&messages))
        fprintf(stderr, "nothing to mend\n");
    bool met = target < 0 || shrink(&c, target);
    daruma_buf out = buf_in(a);
    d->write(&c, &out);
    if (c.full || out.full)
        return cli_unread("mend", CLI_REQUEST, DARUMA_EFULL, d, body, a);
    fwrite(out.p, 1, out.n, stdout);
    return met ? 0 : 1;
}

int cli_mend(int argc, char **argv)
{
    const char *name = NULL, *tokens = NULL;
    bool prune = false;
    const cli_option options[] = {
        CLI_VALUE("--dialect", "NAME", &name, "the dialect it is in; default: found by its shape"),
        CLI_SWITCH("--prune", &prune, "calls without result are removed, not answered"),
        CLI_VALUE("--shrink-to", "TOKENS", &tokens, "old tool output is shortened until it has so many tokens"),
        {0}};
    int at =
        cli_options(argc, argv, options, "mend [--dialect NAME] [--prune] [--shrink-to TOKENS] [FILE]",
                    "Puts the history of a request right: tool calls without result, results without call, doubled\n"
                    "or displaced ones, empty messages, messages in an order that the provider refuses. The\n"
                    "request goes to standard output, what was done to standard error. What is fine keeps its\n"
                    "bytes. The dialects are openai (Chat Completions), openai-responses, anthropic and gemini.\n"
                    "The exit status is 1 when --shrink-to could not be met, 2 when it could not be read.\n"
                    "\n"
                    "A request that is surely of another dialect than --dialect says is refused.\n"
                    "\n"
                    "Try:  daruma mend < request.json > mended.json\n"
                    "      daruma mend --shrink-to 16000 < request.json");
    int64_t target = -1;
    if (at < 0)
        return at == -2 ? 0 : 2;
    const dialect *d = name ? cli_dialect(argv[0], "--dialect", name) : NULL;
    if (name && !d)
        return 2;
    if (tokens && (!str_int(str_of(tokens), &target) || target == 0))
        return cli_say(2, "mend", "--shrink-to takes a number of tokens, not `%s`", tokens);
    const char *path = cli_one_file(argc, argv, at);
    if (!path)
        return 2;
    daruma_arena a;
    daruma_str body;
    if (!cli_read(argv[0], path, BODY_BYTES_MAX, MEND_MEMORY_BYTES, &a, &body))
        return 2;
    d = cli_settle_dialect("mend", "--dialect", d, body, false);
    int code = d ? mend_body(d, body, prune, target, &a) : 2;
    sys_arena_done(&a);
    return code;
}
