/* failure.c - the names of things: made from the lists in daruma_parts.h. Kinds of failure are in kinds.c. */
#include "daruma_parts.h"

static const char *const tool_kinds[] = {
#define X(sym, name) name,
    DARUMA_TOOL_KIND_MAP(X)
#undef X
};

static const struct {
    const char *name, *words;
} nets[] = {
#define X(sym, name, words) {name, words},
    DARUMA_NET_MAP(X)
#undef X
};

static const struct {
    const char *name, *words;
    daruma_act act;
} remedies[] = {
#define X(sym, name, act, words) {name, words, DARUMA_##act},
    DARUMA_REMEDY_MAP(X)
#undef X
};

static const struct {
    const char *name;
    daruma_kind kind;
    const char *words;
} circles[] = {
#define X(sym, name, kind, words) {name, DARUMA_##kind, words},
    DARUMA_CIRCLE_MAP(X)
#undef X
};

static const char *const outcomes[] = {
#define X(sym, name) name,
    DARUMA_OUTCOME_MAP(X)
#undef X
};

const char *daruma_tool_kind_name(daruma_tool_kind k)
{
    return tool_kinds[k];
}

const char *daruma_severity_name(daruma_severity s)
{
    static const char *const names[] = {"retriable", "replanning", "reclassification", "critical", "fatal"};
    return names[s];
}

const char *daruma_scope_name(daruma_scope s)
{
    static const char *const names[] = {"request", "conversation", "answer", "key",   "account", "target",
                                        "model",   "provider",     "tool",   "agent", "plan",    "task"};
    return names[s];
}

const char *daruma_net_name(daruma_net n)
{
    return nets[n].name;
}

const char *daruma_net_words(daruma_net n)
{
    return nets[n].words;
}

const char *daruma_remedy_name(daruma_remedy_kind r)
{
    return remedies[r].name;
}

const char *daruma_remedy_words(daruma_remedy_kind r)
{
    return remedies[r].words;
}

daruma_act daruma_remedy_act(daruma_remedy_kind r)
{
    return remedies[r].act;
}

const char *daruma_outcome_name(daruma_outcome o)
{
    return outcomes[o];
}

const char *daruma_circle_name(daruma_circle c)
{
    return (unsigned)c < DARUMA_CIRCLES ? circles[c].name : "";
}

const char *daruma_circle_words(daruma_circle c)
{
    return (unsigned)c < DARUMA_CIRCLES ? circles[c].words : "";
}

daruma_kind daruma_circle_kind(daruma_circle c)
{
    return (unsigned)c < DARUMA_CIRCLES ? circles[c].kind : DARUMA_LOOP;
}
