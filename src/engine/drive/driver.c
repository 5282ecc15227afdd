/* driver.c - what the sessions of one host share, and what is told of a session. */
#include "base/buf.h"
#include "engine/drive/agents/watch.h"
#include "engine/drive/memory/memory.h"
#include "engine/drive/mend/recall.h"
#include "engine/drive/request/apis.h"
#include "engine/mend/request/request.h"

bool driver_begin(driver *v)
{
    v->mem = memory_new(v->rooms);
    return v->mem != NULL;
}

void driver_end(driver *v)
{
    v->rooms->close(&v->event);
    memory_free(v->mem);
    mended_free(v->rooms, v->mended);
    watch_free(v->rooms, v->watch);
    v->rooms->give(v->told);
    v->told = NULL;
    v->mem = NULL;
    v->mended = NULL;
    v->watch = NULL;
}

int64_t driver_window(const driver *v, uint64_t lane)
{
    return memory_lane(v->mem, lane, v->at.now)->window;
}

size_t driver_sessions(const driver *v)
{
    return memory_sessions(v->mem);
}

void driver_learned_status(const driver *v, daruma_buf *b)
{
    static const char *const formats[] = {"any", "text", "json_object", "json_schema"};
    bool first = true;
    BUF_LIT(b, "\"models_learned\":[");
    for (size_t i = 0; i < LANES_MAX; i++) {
        const lane_fact *m = memory_lane_at(v->mem, i, v->at.now);
        if (!m)
            continue;
        const char *api = m->api == API_CHAT ? dialect_openai.name : dialect_openai_responses.name;
        buf_putz(b, first ? "{" : ",{");
        BUF_MEMBERS(b, "provider", str_of(m->provider), "model", str_of(m->name), "account", str_of(m->account),
                    "window", BUF_IF(m->window > 0, m->window), "response_format",
                    BUF_IF(m->format, formats[m->format]), "prefill", BUF_IF(m->no_prefill, (bool)false), "api",
                    BUF_IF(m->api, api), "betas_refused", buf_any(str_of(m->betas)));
        if (m->habits) {
            const char *name;
            BUF_LIT(b, ",\"messages\":[");
            for (size_t k = 0; (name = mend_habit_name(m->habits, k)); k++)
                buf_printf(b, "%s\"%s\"", k ? "," : "", name);
            buf_putc(b, ']');
        }
        BUF_LIT(b, ",\"parameters\":");
        driver_lessons_status(v, m->lane, b);
        BUF_LIT(b, ",\"case\":\"");
        buf_hex64(b, m->by);
        buf_printf(b, "\",\"ago_ms\":%lld}", (long long)(v->at.now - m->at));
        first = false;
    }
    BUF_LIT(b, "],");
}

/* ---- of a session ---- */

const dialect *session_dialect_of(const session *x, const daruma_target *t)
{
    return session_dialect(x, (int)(t - x->targets));
}

daruma_str session_model(const session *x)
{
    return x->out.scan.model;
}

uint32_t session_attempts(const session *x)
{
    return x->kase.attempts;
}

daruma_outcome session_outcome(const session *x)
{
    return x->kase.outcome;
}

void session_say_remedies(const session *x, daruma_buf *b)
{
    if (!x->kase.ndid)
        BUF_LIT(b, "none");
    for (size_t i = 0; i < x->kase.ndid; i++) {
        if (i)
            BUF_LIT(b, ",");
        buf_putz(b, daruma_remedy_name((daruma_remedy_kind)x->kase.did[i]));
    }
}

daruma_ms session_again_in(const session *x)
{
    return daruma_case_again_in(&x->kase, x->kase.attempts ? &session_last(x)->failure : NULL, x->v->at.now);
}

const daruma_target *session_target(const session *x)
{
    return x->kase.target >= 0 && (size_t)x->kase.target < x->kase.ntargets ? &x->targets[x->kase.target] : NULL;
}
