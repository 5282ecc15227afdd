/* paths.c - which paths go to a provider. What goes there goes with its key and behind its base URL, so a path that
 * could leave the base URL is refused, and so is one that no API of ours has. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/scan.h"
#include "gateway/inside.h"

enum { PATH_SHOWN_BYTES = 200 };

// clang-format off
/* What may stand before the first word, with or without a version ("/v1", "/v1beta"): Azure's and Gemini's paths for
 * OpenAI's clients, prefixes that gateways use, Gemini's files. */
static const daruma_str leads[] = {
    LIT("openai"), LIT("anthropic"), LIT("api"), LIT("upload"), LIT("download"),
};

/* The first words of the APIs' paths, as the reference pages and the official SDKs have them. */
static const daruma_str words[] = {
    /* OpenAI; `deployments` is Azure's, `rerank` of servers like OpenAI's */
    LIT("agents"), LIT("assistants"), LIT("audio"), LIT("batches"), LIT("chat"), LIT("chatkit"), LIT("completions"),
    LIT("containers"), LIT("content_provenance_checks"), LIT("conversations"), LIT("decisions"), LIT("deployments"),
    LIT("edits"), LIT("embeddings"), LIT("engines"), LIT("evals"), LIT("files"), LIT("fine-tunes"),
    LIT("fine_tuning"), LIT("images"), LIT("live"), LIT("models"), LIT("moderations"), LIT("organization"),
    LIT("projects"), LIT("realtime"), LIT("rerank"), LIT("responses"), LIT("safety"), LIT("skills"), LIT("threads"),
    LIT("uploads"), LIT("vaults"), LIT("vector_stores"), LIT("videos"), LIT("webhook_endpoints"),
    LIT("webhook_event_types"),
    /* Anthropic */
    LIT("complete"), LIT("deployment_runs"), LIT("dreams"), LIT("environments"), LIT("memory_stores"),
    LIT("messages"), LIT("organizations"), LIT("sessions"), LIT("traces"), LIT("tunnels"), LIT("user_profiles"),
    /* Gemini; the last ones on Vertex AI */
    LIT("auth_tokens"), LIT("cachedContents"), LIT("corpora"), LIT("dynamic"), LIT("fileSearchStores"),
    LIT("generatedFiles"), LIT("interactions"), LIT("media"), LIT("operations"), LIT("tunedModels"),
    LIT("tuningJobs"), LIT("webhooks"), LIT("batchPredictionJobs"), LIT("endpoints"), LIT("publishers"),
    LIT("ragCorpora"), LIT("reasoningEngines"),
};
// clang-format on

/* Undoes the escapes of p[0..n) in place; what is left of n. */
static size_t undo_escapes(char *p, size_t n)
{
    size_t to = 0;
    for (size_t at = 0; at < n;)
        p[to++] = (char)str_unescaped((daruma_str){p, n}, &at);
    return to;
}

/* Undoes the escapes of a path, those that the others make as well. False: that has no end, or there is no memory. */
static bool without_escapes(daruma_str *path, daruma_arena *a)
{
    size_t was = path->n + 1;
    *path = arena_copy(a, *path);
    for (int passes = 0; path->n && path->n < was && passes <= ESCAPES_UNDONE_MAX; passes++) {
        was = path->n;
        path->n = undo_escapes((char *)(uintptr_t)path->p, was);
    }
    return path->n == was;
}

// clang-format off
/* Characters that some servers fold into a dot, a slash, a backslash or a blank (Unicode's compatible forms, and the
 * full stop of names of hosts), as UTF-8. No name of an API has one. */
static const daruma_str folded[] = {
    LIT("\u2024"), LIT("\u2025"), LIT("\u2026"), LIT("\uff0e"), LIT("\ufe52"), LIT("\u3002"), LIT("\uff61"), /* . .. ... */
    LIT("\uff0f"), LIT("\u2215"), LIT("\u2044"), LIT("\u29f8"),                                             /* / */
    LIT("\uff3c"), LIT("\ufe68"),                                                                           /* \ */
    LIT("\u00a0"), LIT("\u3000"),                                                                           /* blanks */
};
// clang-format on

/* True if bytes that stood there escaped could become a dot or a slash where a server reads them: longer forms of
 * UTF-8 than needed ("%c0%ae"), characters that are folded, "%u002e" as IIS has it. */
static bool is_disguised(daruma_str path)
{
    for (size_t at = 0; at < path.n;) {
        daruma_str rest = str_from(path, at);
        size_t n = (unsigned char)rest.p[0] < 0x80 ? 1 : str_utf8(rest);
        if (n == 0 || (rest.p[0] == '%' && rest.n > 1 && (rest.p[1] | 0x20) == 'u'))
            return true;
        for (size_t i = 0; n > 1 && i < COUNT(folded); i++)
            if (str_starts(rest, folded[i]))
                return true;
        at += n;
    }
    return false;
}

/* True if each byte of the path is a letter, a digit, '-', '_' or '/', and no '/' stands before another: there is
 * nothing to be read in two ways. 15 bytes at a time, and the one behind them. */
static bool is_plain(daruma_str path)
{
    const char *p = path.p, *end = path.p + path.n;
    unsigned odd = path.n < sizeof(scan16);
    for (; !odd; p += sizeof(scan16) - 1) {
        if ((size_t)(end - p) < sizeof(scan16))
            p = end - sizeof(scan16);
        scan16 v = scan_load(p);
        unsigned slashes = scan_bits(scan_is(v, '/'));
        scan16 word =
            scan_range(v | scan_all(0x20), 'a', 'z') | scan_range(v, '0', '9') | scan_is(v, '-') | scan_is(v, '_');
        odd = (~scan_bits(word) & ~slashes & 0xffff) | (slashes & slashes << 1);
        if (p + sizeof(scan16) == end)
            break;
    }
    return !odd;
}

/* True if a server could read the path as one outside of the provider's base URL: it has a segment "." or "..", an
 * empty one, perhaps with blanks beside it (Windows servers cut them off), parameters behind ';' (Java servers cut
 * them off: "..;x"), '\' (a slash to some), or a control character (a NUL ends a string in C). Servers behind us may
 * undo escapes more than once, so all are undone here, those that the others make as well: "%25%32e" is "%2e", and
 * that a dot. */
static bool leaves_prefix(daruma_str path, daruma_arena *a)
{
    if (is_plain(path))
        return false;
    bool odd = str_findch(path, '%') != STR_NONE && (!without_escapes(&path, a) || is_disguised(path));
    for (size_t i = 0; i < path.n; i++) {
        unsigned char c = (unsigned char)path.p[i];
        odd |= (c == ';') | (c == '\\') | (c < 0x20) | (c == 0x7f);
    }
    for (daruma_str rest = str_from(path, 1); rest.n && !odd;) {
        daruma_str segment = str_trim(str_cut(&rest, '/'));
        odd = !segment.n || str_eq(segment, S(".")) || str_eq(segment, S(".."));
    }
    return odd;
}

static bool is_opened(const config *c, daruma_str path)
{
    for (size_t i = 0; i < c->npassthrough; i++) {
        daruma_str p = c->passthrough[i], rest = str_from(path, p.n);
        if (str_starts(path, p) && (!rest.n || rest.p[0] == '/' || str_ends(p, S("/"))))
            return true;
    }
    return false;
}

daruma_str path_text(daruma_str raw, daruma_arena *a, bool *bad)
{
    if (str_findch(raw, '%') == STR_NONE)
        return raw;
    daruma_str name = arena_copy(a, raw);
    if (name.n)
        name.n = undo_escapes((char *)(uintptr_t)name.p, name.n);
    *bad |= !name.n || str_findch(name, '%') != STR_NONE; /* an escape of an escape, or a broken one */
    return name;
}

bool path_is_lead(daruma_str segment)
{
    return url_is_version(segment) || STR_ANY(str_eq, segment, leads);
}

/* True if an API has this path: "/v1/files/f-1/content", "/models", "/v1beta/models/m:countTokens". */
static bool is_known(daruma_str path)
{
    enum { LEADS_MAX = 3 }; /* /upload/v1beta/openai */
    daruma_str rest = str_from(path, 1), word = str_cut(&rest, '/');
    for (int i = 0; i < LEADS_MAX && path_is_lead(word); i++)
        word = str_cut(&rest, '/');
    daruma_str verb = word;
    word = str_cut(&verb, ':');   /* "files:register", and not the "files::$DATA" of Windows */
    if (str_eq(path, S("/live"))) /* a probe of this machine, and no call of OpenAI's Live API */
        return false;
    for (size_t i = 0; i < verb.n; i++)
        if (!ch_alpha(verb.p[i]))
            return false;
    return STR_ANY(str_eq, word, words);
}

bool path_refused_form(gateway *g, call *c)
{
    if (!leaves_prefix(c->head.path, c->arena))
        return false;
    return call_refuse(
        g, c, REFUSED_PATH, 400, DARUMA_UNKNOWN, -1,
        S("The path of this request has a segment that is empty, `.` or `..`, or it has `;` or `\\`, perhaps "
          "escaped. It could leave the base URL of the provider, and daruma sends it to none. Remove that part; "
          "an empty segment often comes from a base URL that ends with a slash."));
}

bool path_refused_unknown(gateway *g, call *c, const dialect *d)
{
    daruma_str path = c->head.path;
    if (d || is_known(path) || is_opened(&g->now->cfg, path))
        return false;
    daruma_str shown = str_sub(path, 0, PATH_SHOWN_BYTES);
    return call_refuse(
        g, c, REFUSED_UNKNOWN_PATH, 404, DARUMA_UNKNOWN, -1,
        STR_SAY(
            c->arena, "daruma does not know the path ", shown,
            " as one of OpenAI's, Anthropic's or Gemini's API, and sends it to no provider. Check the client's base "
            "URL: it ends with /v1 for OpenAI's SDK, and with the port for Anthropic's and Google's. If the provider "
            "has this path, allow it in daruma's configuration: passthrough: [\"",
            shown, "\"]"));
}
