/* routes.h - whom a request may go to, and what its client wishes. */
#ifndef GATEWAY_ROUTES_H
#define GATEWAY_ROUTES_H
#include "gateway/inside.h"

struct route {
    daruma_str model;
    daruma_target *targets; /* those with keys of our own */
    size_t ntargets;
    bool form; /* its name has a `*` */
    bool asks; /* whom a request goes to is known when it asks: it is a form, load is shared, or some providers get the
                  client's key */
};

/* ---- routes/targets.c: whom a request may go to ---- */

/* For each model of the file: all keys of its first target, then all of its second, and so on. False: no memory. */
bool setup_routes_build(setup *s);
/* For whom targets are looked for. */
typedef struct asker {
    uint64_t credential; /* hash of what the client sent */
    uint64_t share; /* of the conversation: which key of a provider comes first, and which target, where load is shared.
                       The same for all its requests, so that prompt caches are met */
} asker;
/* Targets of a request: those of the model if one is configured, else those of `default`, else all keys of the first
 * provider of its dialect, else those of the first provider with a key: the conversation is translated then.
 * `credential`: hash of what the client sent. NULL: nobody speaks that dialect. */
const daruma_target *setup_targets(const setup *s, const dialect *d, daruma_str model, const asker *who,
                                   daruma_arena *a, size_t *n);
/* Targets of a request that nothing of is converted: of its model's those alone whose provider speaks `d`. NULL: the
 * configuration has no word for that model, or one that is for many and leads to no such target. */
const daruma_target *setup_targets_of(const setup *s, const dialect *d, daruma_str model, const asker *who,
                                      daruma_arena *a, size_t *n);
const daruma_target *setup_provider_targets(const setup *s, int provider, daruma_str model, const asker *who,
                                            daruma_arena *a, size_t *n);

/* ---- routes/models_list.c: lists of models that are known for a short time ---- */

void models_kept_free(models_kept *m); /* may be NULL */

/* ---- routes/wishes.c: what a client asks of daruma itself, in x-daruma-* fields ---- */

/* Lays them over what is configured for `q`; what cannot be read makes it a refusal. Lives in `a`. */
void wishes_read(const http_head *h, session_request *q, daruma_arena *a);
/* Is the request to pass through as it is? */
bool wishes_off(const http_head *h);
/* Of the targets of a request those that its client names, in that order; all without the field. */
const daruma_target *wishes_targets(const http_head *h, const daruma_target *t, size_t *n, daruma_arena *a);

/* ---- routes/passing.c: models that requests name which only pass through ---- */

/* The model of such a request, the places that name it, and where it goes. */
struct passing {
    const dialect *d;   /* whose path it is */
    daruma_str model;   /* as the client asks for it */
    daruma_str in_path; /* where the path names it, escapes kept; empty: it does not */
    daruma_str *places; /* where the body names it, in order: values of JSON, of a form, ... */
    size_t nplaces;
    bool crowded;                 /* there are more than PASSING_NAMES_MAX: not all can have the target's name */
    bool json;                    /* ... that are JSON strings */
    const daruma_target *targets; /* of that model, which know the path; there may be none */
    size_t ntargets;
};

/* Reads the model of a request, and looks up its targets. NULL: it names none that the configuration speaks of, or in
 * no way that we know; then it goes where all others of its dialect go. Lives in the call's arena. */
passing *passing_read(const exchange *x);
/* The model that such a request names; empty: none, or in no way that we know. Lives in the call, or its arena. */
daruma_str passing_model(const call *c);
/* Why it is refused: not all that names the model can have the target's name. NULL: it is not. Lives in `a`. */
const daruma_failure *passing_refused(const passing *p, daruma_arena *a);
/* May a request be sent again, although no dialect of ours reads it, and the first one may have been run? A second one
 * changes nothing on a server, and costs next to nothing. */
bool passing_is_cheap(daruma_str path);
/* Path and body with the model's name at the target in the place of the client's. */
daruma_str passing_path(const passing *p, daruma_str path, daruma_str model, daruma_arena *a);
void passing_body(const passing *p, daruma_str body, daruma_str model, daruma_arena *a, daruma_str ret[4]);

/* ---- routes/counts.c: counts of tokens that no provider can say ---- */

/* Writes an estimate as the answer to a count of tokens whose request would be served by conversion; the caller ends
 * the call. False: it is no such count, or a provider is there to answer it. */
bool counts_answer(const exchange *x);
/* Of a count of tokens leaves out what is left out of its conversation. True: it did. Before anything reads the body.
 */
bool counts_mend(const exchange *x, const driver *v);
/* True if this is a count of tokens and no provider has its path: nobody is asked what daruma cannot estimate. */
bool counts_unknown(const exchange *x);
/* Gemini's whole request whose tokens are counted, where it stands in a member of `body`; else empty. */
daruma_str counts_request(daruma_str body);

/* ---- routes/models.c: lists of models ---- */

/* Is it a list of models (*ret_name is empty), or one of them (its name, as the path has it)? */
bool models_path(const http_head *h, daruma_str *ret_name);
/* Answers a list of models, or begins to, and a model of the configuration. False: it is one provider's to answer, or
 * came back to us. */
bool models_answers(gateway *g, call *c);
#endif
