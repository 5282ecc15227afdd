/* keys.c - secrets: written in the configuration, or printed by a command that is run when the key is first
 * needed and once more when the provider refuses it. Many requests may wait for one run. */
#include "base/limits.h"
#include "gateway/inside.h"
#include "gateway/keep/keep.h"
#include "gateway/see/see.h"
#include "sys/process.h"
#include <stdlib.h>

bool key_ready(const key_state *k, daruma_str *secret)
{
    if (!k->key->command.n) {
        *secret = k->key->value;
        return true;
    }
    *secret = (daruma_str){k->secret, k->secret_n};
    return k->secret != NULL && !k->running;
}

struct key_run {
    setup *s;
    key_state *k;
    process *command;
    key_run *next; /* of the gateway */
};

static void run_end(key_run *r)
{
    key_run **at = &r->s->g->key_runs;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    setup_drop(r->s);
    free(r);
}

/* Can it stand in a header field? What cannot is no key, and would be left out of the request. */
static bool is_printable(daruma_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
            return false;
    return s.n > 0;
}

/* In words of ours: what the command printed is a secret, or half of one. */
static void tell_failed(gateway *g, const key_state *k)
{
    daruma_event e = DARUMA_EVENT_INIT;
    daruma_target t = {.provider = k->provider->name, .account = k->key->account, .key = k->key->name};
    e.name = "key_command_failed";
    e.at = gateway_now(g);
    e.target = &t;
    e.reason = str_of(k->why);
    events_emit(g->events, &e);
}

static void ran(int exit_code, daruma_str out, const char *why, void *user)
{
    key_run *r = user;
    key_state *k = r->k;
    bool failed = exit_code != 0 || why || !is_printable(out);
    if (failed && !why)
        why = "what it printed cannot stand in a header";
    snprintf(k->why, sizeof k->why, "%s", failed ? why : "");
    if (k->secret)
        explicit_bzero(k->secret, k->secret_n);
    free(k->secret);
    k->secret = failed ? NULL : malloc(out.n);
    k->secret_n = 0;
    if (k->secret) {
        memcpy(k->secret, out.p, out.n);
        k->secret_n = out.n;
    }
    if (failed)
        tell_failed(r->s->g, k);
    k->running = false;
    exchange *x = k->waiting;
    k->waiting = NULL;
    while (x) {
        exchange *next = x->next_waiting;
        x->next_waiting = NULL;
        if (k->running) { /* the one before refused this key already: its successor is on the way */
            x->next_waiting = k->waiting;
            k->waiting = x;
        } else {
            x->ops->key_here(x);
        }
        x = next;
    }
    run_end(r);
}

void key_fetch(setup *s, key_state *k, exchange *x)
{
    if (x) {
        x->next_waiting = k->waiting;
        k->waiting = x;
    }
    if (k->running)
        return;
    key_run *r = calloc(1, sizeof *r);
    char *command = strndup(k->key->command.p, k->key->command.n);
    if (!r || !command) {
        free(r);
        free(command);
        if (!x)
            return;
        key_forget(k, x);
        x->ops->key_here(x);
        return;
    }
    *r = (key_run){.s = setup_hold(s), .k = k, .next = s->g->key_runs};
    s->g->key_runs = r;
    k->running = true;
    process *p = process_run(s->g->loop, command, KEY_COMMAND_MS_MAX, ran, r);
    if (p) /* else it has ended already, and the run with it */
        r->command = p;
    free(command);
}

void keys_stop(gateway *g)
{
    while (g->key_runs)
        process_stop(g->key_runs->command);
}

void key_forget(key_state *k, exchange *x)
{
    for (exchange **at = &k->waiting; *at; at = &(*at)->next_waiting)
        if (*at == x) {
            *at = x->next_waiting;
            x->next_waiting = NULL;
            return;
        }
}
