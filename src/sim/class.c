/* class.c - the table of worlds: first the rows of what was measured with a real gateway, then more. */
#include "sim/class.h"
#include "base/str.h"

#define BIT(x)  (1u << SIM_##x)
#define FAILS   (BIT(BROKEN) | BIT(UNAVAILABLE) | BIT(OVERLOADED))
#define LOST    (BIT(RESET) | BIT(REFUSED))
#define REFUSES (BIT(FORBIDDEN) | BIT(UNKNOWN_MODEL))
#define LIMITS  (BIT(LIMIT) | BIT(LIMIT_NAMED))
#define ANSWERS (BIT(EMPTY) | BIT(CUT) | BIT(STALL))
#define SECONDS *1000
#define ALONE                                                                                                          \
    {1, 1},                                                                                                            \
    {                                                                                                                  \
        1, 1                                                                                                           \
    }
#define FULL                                                                                                           \
    {                                                                                                                  \
        SIM_WHOLE, SIM_WHOLE                                                                                           \
    }
#define ANY_LOAD (SIM_AGENT | SIM_STEADY)

// clang-format off
const sim_class sim_classes[] = {
    /* name, in words,                                                   providers models keys   sick                        where         shape                    load                  share        lasts                      requests */
    {"healthy",     "nothing is sick",                                   {1, 4}, {1, 3}, {1, 4}, 0,                          SIM_NOWHERE,  0,                       ANY_LOAD | SIM_BURST, {0, 0},      {0, 0},                    {20, 120}},
    {"model-500",   "one model answers 500, others of it are well",      {1, 2}, {2, 3}, {1, 2}, FAILS,                      SIM_MODEL,    SIM_FIRST,               ANY_LOAD,             FULL,        {20 SECONDS, 90 SECONDS},  {20, 200}},
    {"model-reset", "one model resets connections",                      {1, 2}, {2, 3}, {1, 2}, BIT(RESET),                 SIM_MODEL,    SIM_FIRST,               ANY_LOAD,             FULL,        {20 SECONDS, 90 SECONDS},  {20, 200}},
    {"model-empty", "one model answers with nothing in it",              {1, 2}, {2, 3}, {1, 2}, BIT(EMPTY),                 SIM_MODEL,    SIM_FIRST,               ANY_LOAD,             FULL,        {20 SECONDS, 90 SECONDS},  {20, 200}},
    {"model-silent","one model never answers",                           {1, 2}, {2, 3}, {1, 2}, BIT(SILENT),                SIM_MODEL,    SIM_FIRST,               ANY_LOAD,             FULL,        {20 SECONDS, 90 SECONDS},  {20, 200}},
    {"model-half",  "one model fails a share of its calls",              {1, 2}, {2, 3}, {1, 2}, FAILS | LOST | ANSWERS,     SIM_MODEL,    SIM_FIRST | SIM_THROUGH, ANY_LOAD,             {200, 700},  {60 SECONDS, 90 SECONDS},  {20, 200}},
    {"model-cut",   "one model cuts every answer",                       {1, 2}, {2, 3}, {1, 2}, BIT(CUT),                   SIM_MODEL,    SIM_FIRST,               ANY_LOAD,             FULL,        {20 SECONDS, 90 SECONDS},  {20, 200}},
    {"model-stall", "one model stops in the midst of every answer",      {1, 2}, {2, 3}, {1, 2}, BIT(STALL),                 SIM_MODEL,    SIM_FIRST,               ANY_LOAD,             FULL,        {20 SECONDS, 90 SECONDS},  {20, 200}},
    {"model-brief", "one model is sick for a few seconds",               {1, 2}, {2, 3}, {1, 2}, FAILS | LOST | ANSWERS,     SIM_MODEL,    SIM_FIRST,               ANY_LOAD,             FULL,        {1 SECONDS, 8 SECONDS},    {20, 200}},
    {"turns",       "two providers take turns in being down",            {2, 2}, {1, 2}, {1, 2}, FAILS | LOST,               SIM_TURNS,    SIM_FLAPS,               ANY_LOAD,             FULL,        {60 SECONDS, 90 SECONDS},  {20, 200}},
    {"all-down",    "every provider is down for a while",                {2, 3}, {1, 2}, {1, 2}, FAILS | LOST,               SIM_ALL,      0,                       ANY_LOAD,             FULL,        {1 SECONDS, 20 SECONDS},   {20, 200}},
    {"only-down",   "the only target is down for a while",               ALONE, {1, 1},          FAILS | LOST,               SIM_ALL,      0,                       ANY_LOAD,             FULL,        {1 SECONDS, 20 SECONDS},   {20, 200}},
    {"only-long",   "the only target is down for long",                  ALONE, {1, 1},          FAILS | LOST,               SIM_ALL,      0,                       ANY_LOAD,             FULL,        {20 SECONDS, 90 SECONDS},  {20, 100}},
    {"only-ever",   "the only target stays down: nobody can answer",     ALONE, {1, 1},          FAILS | LOST,               SIM_ALL,      0,                       ANY_LOAD,             FULL,        {200 SECONDS, 300 SECONDS},{20, 60}},
    {"only-silent", "the only target is silent for a while",             ALONE, {1, 1},          BIT(SILENT),                SIM_ALL,      0,                       ANY_LOAD,             FULL,        {1 SECONDS, 60 SECONDS},   {20, 100}},
    {"only-limit",  "the only target has to be asked less for a while",  ALONE, {1, 1},          LIMITS,                     SIM_ALL,      0,                       ANY_LOAD,             FULL,        {1 SECONDS, 60 SECONDS},   {20, 100}},
    {"busy",        "one of two is out, up to 170 requests a second",    {2, 2}, {1, 1}, {1, 2}, FAILS | LOST,               SIM_PROVIDER, SIM_FIRST,               SIM_BUSY,             FULL,        {1 SECONDS, 5 SECONDS},    {200, 600}},
    {"burst",       "many at once meet a sick model",                    {1, 3}, {2, 2}, {1, 2}, FAILS | LOST | BIT(SILENT), SIM_MODEL,    SIM_FIRST | SIM_THROUGH, SIM_BURST,            FULL,        {10 SECONDS, 60 SECONDS},  {50, 500}},
    {"burst-all",   "many at once meet an outage of everything",         {1, 3}, {1, 2}, {1, 2}, FAILS | LOST,               SIM_ALL,      SIM_THROUGH,             SIM_BURST,            FULL,        {1 SECONDS, 30 SECONDS},   {50, 300}},
    {"refusals",    "one model is refused for good, another is well",    {1, 3}, {2, 3}, {1, 2}, REFUSES,                    SIM_MODEL,    SIM_FIRST | SIM_THROUGH, ANY_LOAD,             FULL,        {300 SECONDS, 300 SECONDS},{20, 100}},
    {"key",         "one key of several is refused or limited",          {1, 2}, {1, 2}, {2, 4}, BIT(KEY) | LIMITS,          SIM_ONE_KEY,  SIM_FIRST,               ANY_LOAD,             FULL,        {20 SECONDS, 90 SECONDS},  {20, 200}},
    {"account",     "one account of several has no credit",              {1, 3}, {1, 2}, {2, 4}, BIT(NO_CREDIT) | LIMITS,    SIM_ACCOUNT,  SIM_FIRST,               ANY_LOAD,             FULL,        {20 SECONDS, 300 SECONDS}, {20, 200}},
    {"provider",    "one provider is down, another is well",             {2, 4}, {1, 3}, {1, 2}, FAILS | LOST,               SIM_PROVIDER, SIM_FIRST,               ANY_LOAD,             FULL,        {5 SECONDS, 90 SECONDS},   {20, 200}},
    {"region",      "several providers are down, one is well",           {3, 4}, {1, 2}, {1, 2}, FAILS | LOST | BIT(SILENT), SIM_REGION,   SIM_FIRST,               ANY_LOAD,             FULL,        {5 SECONDS, 90 SECONDS},   {20, 200}},
    {"slow",        "one model is slower by a factor, another is well",  {1, 3}, {2, 2}, {1, 2}, BIT(SLOW),                  SIM_MODEL,    SIM_FIRST,               ANY_LOAD,             {300, 1000}, {20 SECONDS, 90 SECONDS},  {20, 200}},
    {"thinking",    "healthy models that think for minutes",             {1, 2}, {1, 2}, {1, 1}, 0,                          SIM_NOWHERE,  SIM_THINKS,              SIM_AGENT,            {0, 0},      {0, 0},                    {20, 40}},
    {"firewall",    "a firewall refuses single requests",                {1, 2}, {1, 3}, {1, 2}, 0,                          SIM_NOWHERE,  SIM_WALLS,               ANY_LOAD,             {0, 0},      {0, 0},                    {20, 120}},
    {"flapping",    "a provider comes and goes",                         {2, 3}, {1, 2}, {1, 2}, FAILS | LOST | ANSWERS,     SIM_PROVIDER, SIM_FIRST | SIM_FLAPS,   ANY_LOAD,             FULL,        {30 SECONDS, 90 SECONDS},  {20, 200}},
    {"growing",     "a provider fails ever more of its calls",           {2, 3}, {1, 2}, {1, 2}, FAILS | LOST | BIT(SILENT), SIM_PROVIDER, SIM_FIRST | SIM_GROWS,   ANY_LOAD,             {0, 1000},   {30 SECONDS, 90 SECONDS},  {20, 200}},
    {"noise",       "every place fails some calls",                      {1, 3}, {1, 2}, {1, 2}, FAILS | LOST | ANSWERS | BIT(SILENT), SIM_EACH, SIM_THROUGH,     ANY_LOAD,             {20, 200},   {300 SECONDS, 300 SECONDS},{20, 200}},
    {"leaving",     "clients leave while a model is sick",               {1, 2}, {1, 2}, {1, 2}, FAILS | LOST | BIT(SILENT), SIM_PROVIDER, SIM_FIRST | SIM_LEAVES,  ANY_LOAD,             {500, 1000}, {5 SECONDS, 60 SECONDS},   {20, 200}},
    {"mixed",       "several of all this",                               {1, 4}, {1, 3}, {1, 4}, FAILS | LOST | REFUSES | LIMITS | ANSWERS | BIT(SILENT) | BIT(SLOW) | BIT(KEY) | BIT(NO_CREDIT), SIM_ANY, 0, ANY_LOAD | SIM_BURST, {100, 1500}, {1 SECONDS, 90 SECONDS}, {20, 200}},
    {"clocks",      "several of all this, and a clock that jumps",       {1, 3}, {1, 3}, {1, 3}, FAILS | LOST | REFUSES | LIMITS | ANSWERS | BIT(SILENT) | BIT(SLOW) | BIT(KEY) | BIT(NO_CREDIT), SIM_ANY, SIM_JUMPS | SIM_LEAVES, ANY_LOAD | SIM_BURST, {100, 1500}, {1 SECONDS, 90 SECONDS}, {20, 100}},
};
// clang-format on
const size_t nsim_classes = COUNT(sim_classes);

const sim_class *sim_class_find(daruma_str name)
{
    for (size_t i = 0; i < nsim_classes; i++)
        if (str_eq(name, str_of(sim_classes[i].name)))
            return &sim_classes[i];
    return NULL;
}

/* How many different ids the targets have, where id `id` stands in each. */
static int count_different(const sim_places *p, size_t id)
{
    int n = 0;
    for (int i = 0; i < p->ntargets; i++) {
        bool seen = false;
        for (int j = 0; j < i && !seen; j++)
            seen = memcmp((const char *)&p->targets[i] + id, (const char *)&p->targets[j] + id, sizeof(uint64_t)) == 0;
        n += !seen;
    }
    return n;
}

bool sim_class_fits(const sim_class *c, const sim_places *p)
{
    int providers = count_different(p, offsetof(daruma_target, provider_id));
    int models = count_different(p, offsetof(daruma_target, model_id));
    switch (c->where) {
    case SIM_MODEL:
        return models >= 2;
    case SIM_ONE_KEY:
        return count_different(p, offsetof(daruma_target, key_id)) >= 2;
    case SIM_ACCOUNT:
        return count_different(p, offsetof(daruma_target, account_id)) >= 2;
    case SIM_PROVIDER:
    case SIM_TURNS:
        return providers >= 2;
    case SIM_REGION:
        return providers >= 3;
    case SIM_ALL: /* the same in two rows: once with one target, once with more */
        return c->models[1] > 1 ? p->ntargets > 1 : true;
    case SIM_NOWHERE:
    case SIM_EACH:
    case SIM_ANY:
        break;
    }
    return p->ntargets >= 1;
}
