/* memory.c - bounded tables of what was seen: which key a conversation used, which cases failed lately, which
 * messages daruma wrote. Each is a table of fixed size in which a new entry takes the place of the one
 * touched longest ago among the few places its hash may stand in. */
#include "base/buf.h"
#include "base/fair.h"
#include "base/limits.h"
#include "base/record.h"
#include "engine/drive/memory/memory.h"
#include <stdio.h>

enum { MEMORY_WAYS = 4 /* places among which an entry stands */ };

typedef struct seen {
    uint64_t conversation, key_id;
    uint64_t touched; /* stamp of the table's own clock; 0 empty */
    uint32_t stuck;   /* requests in a row that were too long, whatever was done about it */
} seen;

typedef struct kept_case {
    uint64_t request;
    daruma_ms at;
    daruma_case c;
    bool full;
} kept_case;

/* How the requests of one client are counted on a lane: what others write there is other text. */
typedef struct count_fact {
    uint64_t whose; /* 0 empty */
    int64_t rate;   /* bytes of a request to 1,000 of its tokens; 0 unknown */
    int64_t scale;  /* its tokens to 1,000 of our estimate; 0 unknown */
} count_fact;

typedef struct owner {
    uint64_t answer, key_id;
    uint64_t client;  /* whose answer it is: base/fair.h */
    uint64_t touched; /* stamp of the table's own clock; 0 empty */
} owner;

typedef struct renamed {
    uint64_t answer; /* 0 empty */
    char id[RENAMED_ID_BYTES_MAX];
} renamed;

struct memory {
    const drive_rooms *rooms;
    uint64_t clock;
    size_t nsessions;
    seen *sessions;   /* made when the first is kept */
    kept_case *cases; /* likewise */
    uint32_t next_case;
    uint64_t *notices;  /* likewise; 0 empty */
    lane_fact *lanes;   /* likewise */
    count_fact *counts; /* likewise */
    owner *owners;      /* likewise */
    renamed *renamed;   /* likewise */
};

memory *memory_new(const drive_rooms *rooms)
{
    memory *m = rooms->take(sizeof *m);
    if (m)
        m->rooms = rooms;
    return m;
}

void memory_free(memory *m)
{
    if (!m)
        return;
    void (*give)(void *p) = m->rooms->give;
    give(m->sessions);
    give(m->cases);
    give(m->notices);
    give(m->lanes);
    give(m->counts);
    give(m->owners);
    give(m->renamed);
    give(m);
}

static seen *seen_find(memory *m, uint64_t conversation, bool make)
{
    if (!m->sessions && (!make || !(m->sessions = m->rooms->take(SESSIONS_MAX * sizeof *m->sessions))))
        return NULL;
    seen *set = &m->sessions[conversation % (SESSIONS_MAX / MEMORY_WAYS) * MEMORY_WAYS], *oldest = set;
    for (int i = 0; i < MEMORY_WAYS; i++) {
        if (set[i].touched && set[i].conversation == conversation)
            return &set[i];
        if (set[i].touched < oldest->touched)
            oldest = &set[i];
    }
    if (!make)
        return NULL;
    m->nsessions += oldest->touched == 0;
    *oldest = (seen){.conversation = conversation};
    return oldest;
}

uint64_t memory_session(memory *m, uint64_t conversation)
{
    seen *s = seen_find(m, conversation, false);
    if (!s)
        return 0;
    s->touched = ++m->clock;
    return s->key_id;
}

void memory_session_set(memory *m, uint64_t conversation, uint64_t key_id)
{
    seen *s = seen_find(m, conversation, true);
    if (!s)
        return;
    s->key_id = key_id;
    s->touched = ++m->clock;
}

uint32_t memory_stuck(memory *m, uint64_t conversation)
{
    const seen *s = seen_find(m, conversation, false);
    return s ? s->stuck : 0;
}

void memory_stuck_set(memory *m, uint64_t conversation, uint32_t times)
{
    seen *s = seen_find(m, conversation, times > 0);
    if (!s)
        return;
    s->stuck = times;
    s->touched = ++m->clock;
}

size_t memory_sessions(const memory *m)
{
    return m->nsessions;
}

bool memory_case_take(memory *m, uint64_t request, daruma_ms now, daruma_case *ret)
{
    for (size_t i = 0; m->cases && i < CASES_MAX; i++) {
        kept_case *k = &m->cases[i];
        if (!k->full || k->request != request)
            continue;
        k->full = false;
        if (now - k->at > CASE_MS_MAX)
            return false;
        *ret = k->c;
        return true;
    }
    return false;
}

void memory_case_put(memory *m, uint64_t request, daruma_ms now, const daruma_case *c)
{
    if (!m->cases && !(m->cases = m->rooms->take(CASES_MAX * sizeof *m->cases)))
        return;
    m->cases[m->next_case++ % CASES_MAX] = (kept_case){.request = request, .at = now, .c = *c, .full = true};
}

void memory_notice_put(memory *m, uint64_t hash)
{
    if (!m->notices && !(m->notices = m->rooms->take(NOTICES_MAX * sizeof *m->notices)))
        return;
    m->notices[hash % NOTICES_MAX] = hash;
}

const uint64_t *memory_notices(const memory *m)
{
    return m->notices;
}

uint64_t *memory_notices_copy(const memory *m)
{
    size_t bytes = NOTICES_MAX * sizeof *m->notices;
    uint64_t *copy = m->notices ? m->rooms->take(bytes) : NULL;
    if (copy)
        memcpy(copy, m->notices, bytes);
    return copy;
}

bool memory_notice_known(uint64_t hash, const void *notices)
{
    return ((const uint64_t *)notices)[hash % NOTICES_MAX] == hash;
}

/* ---- how requests are counted ---- */

static count_fact *count_of(const memory *m, uint64_t whose)
{
    count_fact *f = m->counts ? &m->counts[whose % COUNTS_MAX] : NULL;
    return f && f->whose == whose ? f : NULL;
}

static count_fact *count_make(memory *m, uint64_t whose)
{
    if (!m->counts && !(m->counts = m->rooms->take(COUNTS_MAX * sizeof *m->counts)))
        return NULL;
    count_fact *f = &m->counts[whose % COUNTS_MAX];
    if (f->whose != whose)
        *f = (count_fact){.whose = whose};
    return f;
}

int64_t memory_rate(const memory *m, uint64_t whose)
{
    const count_fact *f = count_of(m, whose);
    return f && f->rate ? f->rate : REQUEST_RATE;
}

void memory_rate_put(memory *m, uint64_t whose, size_t bytes, int64_t tokens)
{
    int64_t rate = tokens >= RATE_TOKENS_MIN ? mul_sat((int64_t)bytes, 1000) / tokens : 0;
    count_fact *f = rate >= RATE_MIN && rate <= RATE_MAX ? count_make(m, whose) : NULL;
    if (f)
        f->rate = rate;
}

int64_t memory_scale(const memory *m, uint64_t whose)
{
    const count_fact *f = count_of(m, whose);
    return f ? f->scale : 0;
}

void memory_scale_put(memory *m, uint64_t whose, int64_t estimate, int64_t tokens)
{
    int64_t scale = tokens >= RATE_TOKENS_MIN && estimate > 0 ? mul_sat(tokens, 1000) / estimate : 0;
    count_fact *f = scale >= SCALE_MIN && scale <= SCALE_MAX ? count_make(m, whose) : NULL;
    if (f)
        f->scale = scale;
}

/* ---- who made stored answers ---- */

static owner *owners_of(const memory *m, uint64_t answer)
{
    return &m->owners[answer % (OWNERS_MAX / MEMORY_WAYS) * MEMORY_WAYS];
}

uint64_t memory_owner(const memory *m, uint64_t answer)
{
    const owner *set = m->owners ? owners_of(m, answer) : NULL;
    for (size_t i = 0; set && i < MEMORY_WAYS; i++)
        if (set[i].touched && set[i].answer == answer)
            return set[i].key_id;
    return 0;
}

void memory_owner_put(memory *m, uint64_t answer, uint64_t client, uint64_t key_id)
{
    if (!m->owners && !(m->owners = m->rooms->take(OWNERS_MAX * sizeof *m->owners)))
        return;
    owner *set = owners_of(m, answer), *o = NULL;
    fair_place places[MEMORY_WAYS];
    for (size_t i = 0; i < MEMORY_WAYS && !o; i++) {
        places[i] = (fair_place){set[i].client, set[i].touched};
        o = set[i].touched && set[i].answer == answer ? &set[i] : NULL;
    }
    o = o ? o : &set[fair_spare(places, MEMORY_WAYS, client)];
    *o = (owner){answer, key_id, client, ++m->clock};
}

daruma_str memory_renamed(const memory *m, uint64_t answer)
{
    const renamed *r = m->renamed ? &m->renamed[answer % RENAMED_MAX] : NULL;
    return r && r->answer == answer ? str_of(r->id) : (daruma_str){0};
}

void memory_renamed_put(memory *m, uint64_t answer, daruma_str id)
{
    if (!answer || id.n >= RENAMED_ID_BYTES_MAX ||
        (!m->renamed && !(m->renamed = m->rooms->take(RENAMED_MAX * sizeof *m->renamed))))
        return;
    renamed *r = &m->renamed[answer % RENAMED_MAX];
    *r = (renamed){.answer = answer};
    memcpy(r->id, id.p, id.n);
}

/* ---- lanes ---- */

/* The MEMORY_WAYS places where it may stand. */
static lane_fact *set_of(const memory *m, uint64_t lane)
{
    return &m->lanes[lane % (LANES_MAX / MEMORY_WAYS) * MEMORY_WAYS];
}

/* NULL: nothing is known. */
static lane_fact *fact_of(const memory *m, uint64_t lane)
{
    for (size_t i = 0; m->lanes && i < MEMORY_WAYS; i++)
        if (set_of(m, lane)[i].lane == lane)
            return &set_of(m, lane)[i];
    return NULL;
}

/* Its fact; what is known of another lane makes room, of the account that has the most. NULL: there is no memory. */
static lane_fact *lane_make(memory *m, uint64_t lane, uint64_t account)
{
    if (!m->lanes && !(m->lanes = m->rooms->take(LANES_MAX * sizeof *m->lanes)))
        return NULL;
    lane_fact *f = fact_of(m, lane), *set = set_of(m, lane);
    fair_place places[MEMORY_WAYS];
    for (size_t i = 0; i < MEMORY_WAYS; i++)
        places[i] = (fair_place){set[i].owner, set[i].lane ? set[i].touched : 0};
    if (!f) {
        f = &set[fair_spare(places, MEMORY_WAYS, account)];
        *f = (lane_fact){.lane = lane, .owner = account, .window = -1};
    }
    if (account)
        f->owner = account;
    f->touched = ++m->clock;
    return f;
}

static lane_fact *fact_make(memory *m, const daruma_target *t)
{
    return lane_make(m, t->lane_id, t->account_id);
}

/* Habits and the format are known for a while, and so is the API. */
static void forget_old(lane_fact *f, daruma_ms now)
{
    if (now - f->habits_at >= HABITS_LAST_MS) {
        f->habits = 0;
        f->format = FORMAT_UNSAID;
    }
    if (now - f->api_at >= API_LASTS_MS)
        f->api = API_ANY;
    if (now - f->lacks_at >= LACKS_LAST_MS)
        f->lacks = 0;
}

const lane_fact *memory_lane(const memory *m, uint64_t lane, daruma_ms now)
{
    static const lane_fact none = {.window = -1};
    lane_fact *f = fact_of(m, lane);
    if (f)
        forget_old(f, now);
    return f ? f : &none;
}

bool memory_window_put(memory *m, const daruma_target *t, int64_t tokens)
{
    lane_fact *f = fact_make(m, t);
    if (!f || tokens < f->taken)
        return false;
    f->window = tokens;
    return true;
}

bool memory_taken(memory *m, const daruma_target *t, int64_t tokens)
{
    lane_fact *f = tokens >= RATE_TOKENS_MIN ? fact_make(m, t) : NULL;
    bool wrong = f && f->window > 0 && tokens > f->window;
    if (f && tokens > f->taken)
        f->taken = tokens;
    if (wrong)
        f->window = -1;
    return wrong;
}

void memory_prefill_refused(memory *m, const daruma_target *t)
{
    lane_fact *f = fact_make(m, t);
    if (f)
        f->no_prefill = true;
}

/* What is over goes before something is learned beside it. */
static lane_fact *fact_fresh(memory *m, const daruma_target *t, daruma_ms now)
{
    lane_fact *f = fact_make(m, t);
    if (f)
        forget_old(f, now);
    if (f && !f->habits && !f->format)
        f->habits_at = now;
    return f;
}

void memory_lacks_put(memory *m, const daruma_target *t, uint8_t lacks, daruma_ms now)
{
    lane_fact *f = fact_make(m, t);
    if (!f)
        return;
    f->lacks = lacks;
    f->lacks_at = now;
    f->at = now; /* others hear of it */
}

void memory_format_put(memory *m, const daruma_target *t, convo_format most, daruma_ms now)
{
    lane_fact *f = fact_fresh(m, t, now);
    if (f)
        f->format = most;
}

void memory_habits_learn(memory *m, const daruma_target *t, uint32_t habits, daruma_ms now)
{
    lane_fact *f = fact_fresh(m, t, now);
    if (f)
        f->habits |= habits;
}

void memory_habits_forget(memory *m, const daruma_target *t, uint32_t habits, daruma_ms now)
{
    lane_fact *f = fact_make(m, t);
    if (!f)
        return;
    f->habits &= ~habits;
    f->at = now; /* others hear of it */
}

void memory_betas_put(memory *m, const daruma_target *t, daruma_str words)
{
    lane_fact *f = words.n < BETAS_BYTES_MAX ? fact_make(m, t) : NULL;
    if (f)
        snprintf(f->betas, sizeof f->betas, STR_FMT, STR_ARG(words));
}

void memory_api_put(memory *m, const daruma_target *t, memory_apis has, daruma_ms now)
{
    lane_fact *f = fact_make(m, t);
    if (!f)
        return;
    f->api = has;
    f->api_at = now;
}

void memory_learned(memory *m, const daruma_target *t, uint64_t by, daruma_ms at)
{
    lane_fact *f = fact_make(m, t);
    if (!f)
        return;
    f->by = by;
    f->at = at;
    if (f->name[0])
        return;
    snprintf(f->provider, sizeof f->provider, STR_FMT, STR_ARG(t->provider));
    snprintf(f->account, sizeof f->account, STR_FMT, STR_ARG(t->account));
    snprintf(f->name, sizeof f->name, STR_FMT, STR_ARG(t->model));
}

const lane_fact *memory_lane_at(const memory *m, size_t index, daruma_ms now)
{
    bool learned = m->lanes && index < LANES_MAX && m->lanes[index].name[0];
    return learned ? memory_lane(m, m->lanes[index].lane, now) : NULL;
}

/* ---- a snapshot ---- */

// clang-format off
static const record_member seen_members[] = {
    RECORD_MEMBER(RECORD_ID,    seen, "id", conversation),
    RECORD_MEMBER(RECORD_ID,    seen, "key", key_id),
    RECORD_MEMBER(RECORD_COUNT, seen, "touched", touched),
    RECORD_MEMBER(RECORD_WHOLE, seen, "stuck", stuck),
};
static const record_member lane_members[] = {
    RECORD_MEMBER(RECORD_ID,     lane_fact, "id", lane),
    RECORD_MEMBER(RECORD_ID,     lane_fact, "owner", owner),
    RECORD_MEMBER(RECORD_SIGNED, lane_fact, "window", window),
    RECORD_MEMBER(RECORD_WHOLE,  lane_fact, "taken", taken),
    RECORD_MEMBER(RECORD_FLAG,   lane_fact, "no_prefill", no_prefill),
    RECORD_MEMBER(RECORD_WHOLE,  lane_fact, "format", format),
    RECORD_MEMBER(RECORD_WHOLE,  lane_fact, "api", api),
    RECORD_MEMBER(RECORD_TIME,   lane_fact, "api_at", api_at),
    RECORD_MEMBER(RECORD_WHOLE,  lane_fact, "habits", habits),
    RECORD_MEMBER(RECORD_TIME,   lane_fact, "habits_at", habits_at),
    RECORD_MEMBER(RECORD_WHOLE,  lane_fact, "lacks", lacks),
    RECORD_MEMBER(RECORD_TIME,   lane_fact, "lacks_at", lacks_at),
    RECORD_MEMBER(RECORD_TEXT,   lane_fact, "betas", betas),
    RECORD_MEMBER(RECORD_TEXT,   lane_fact, "provider", provider),
    RECORD_MEMBER(RECORD_TEXT,   lane_fact, "account", account),
    RECORD_MEMBER(RECORD_TEXT,   lane_fact, "model", name),
    RECORD_MEMBER(RECORD_ID,     lane_fact, "case", by),
    RECORD_MEMBER(RECORD_TIME,   lane_fact, "at", at),
};
static const record_member count_members[] = {
    RECORD_MEMBER(RECORD_ID,    count_fact, "id", whose),
    RECORD_MEMBER(RECORD_WHOLE, count_fact, "rate", rate),
    RECORD_MEMBER(RECORD_WHOLE, count_fact, "scale", scale),
};
static const record_member owner_members[] = {
    RECORD_MEMBER(RECORD_ID, owner, "id", answer),
    RECORD_MEMBER(RECORD_ID, owner, "key", key_id),
    RECORD_MEMBER(RECORD_ID, owner, "client", client),
};
static const record_member renamed_members[] = {
    RECORD_MEMBER(RECORD_ID,   renamed, "id", answer),
    RECORD_MEMBER(RECORD_TEXT, renamed, "as", id),
};
// clang-format on
static const record_member notice_member = {.name = "id", .bytes = sizeof(uint64_t), .type = RECORD_ID};
static const record_table seens = {"conversation", seen_members, COUNT(seen_members)},
                          lanes = {"lane", lane_members, COUNT(lane_members)},
                          counts = {"count", count_members, COUNT(count_members)},
                          owners = {"stored", owner_members, COUNT(owner_members)},
                          renames = {"renamed", renamed_members, COUNT(renamed_members)},
                          notices = {"notice", &notice_member, 1};

void memory_save(const memory *m, daruma_ms now, daruma_buf *out)
{
    const struct {
        const record_table *table;
        const void *rows;
        size_t n, bytes;
        size_t id; /* where a row has the id that is 0 where the row is empty */
    } all[] = {
        {&seens, m->sessions, SESSIONS_MAX, sizeof(seen), offsetof(seen, conversation)},
        {&lanes, m->lanes, LANES_MAX, sizeof(lane_fact), offsetof(lane_fact, lane)},
        {&counts, m->counts, COUNTS_MAX, sizeof(count_fact), offsetof(count_fact, whose)},
        {&owners, m->owners, OWNERS_MAX, sizeof(owner), offsetof(owner, answer)},
        {&renames, m->renamed, RENAMED_MAX, sizeof(renamed), offsetof(renamed, answer)},
        {&notices, m->notices, NOTICES_MAX, sizeof(uint64_t), 0},
    };
    for (size_t i = 0; i < COUNT(all); i++)
        for (size_t j = 0; all[i].rows && j < all[i].n; j++) {
            const char *row = (const char *)all[i].rows + j * all[i].bytes;
            uint64_t id;
            memcpy(&id, row + all[i].id, sizeof id);
            if (!id)
                continue;
            record_write(out, all[i].table, row, now);
            BUF_LIT(out, "}\n");
        }
}

static bool load_seen(memory *m, const seen *got)
{
    seen *s = got->touched ? seen_find(m, got->conversation, true) : NULL;
    if (!s)
        return false;
    *s = *got;
    m->clock = got->touched > m->clock ? got->touched : m->clock;
    return true;
}

static bool load_lane(memory *m, const lane_fact *got)
{
    bool fine = got->lane && got->format <= FORMAT_SCHEMA && got->api <= API_RESPONSES && got->window >= -1;
    lane_fact *f = fine ? lane_make(m, got->lane, got->owner) : NULL;
    if (!f)
        return false;
    if (f->at && add_sat(f->at, REPLICA_SLACK_MS) >= got->at) /* what is known here is newer, or the same */
        return true;
    uint64_t touched = f->touched, account = f->owner; /* rows of older programs name none */
    *f = *got;
    f->touched = touched;
    f->owner = account;
    f->window = got->window ? got->window : -1;
    return true;
}

static bool load_count(memory *m, const count_fact *got)
{
    bool rate = !got->rate || (got->rate >= RATE_MIN && got->rate <= RATE_MAX);
    bool scale = !got->scale || (got->scale >= SCALE_MIN && got->scale <= SCALE_MAX);
    count_fact *f = got->whose && rate && scale ? count_make(m, got->whose) : NULL;
    if (f)
        *f = *got;
    return f != NULL;
}

bool memory_load(memory *m, daruma_str line, daruma_ms now, daruma_ms aged)
{
    daruma_str what = record_name(line);
    union {
        seen seen;
        lane_fact lane;
        count_fact count;
        owner owner;
        renamed renamed;
        uint64_t notice;
    } got = {0};
    memset(&got, 0, sizeof got);
    if (str_eq(what, str_of(seens.what)))
        return record_read(&seens, line, &got, now, aged) && load_seen(m, &got.seen);
    if (str_eq(what, str_of(lanes.what)))
        return record_read(&lanes, line, &got, now, aged) && load_lane(m, &got.lane);
    if (str_eq(what, str_of(counts.what)))
        return record_read(&counts, line, &got, now, aged) && load_count(m, &got.count);
    if (str_eq(what, str_of(owners.what))) {
        bool fine = record_read(&owners, line, &got, now, aged) && got.owner.answer;
        if (fine)
            memory_owner_put(m, got.owner.answer, got.owner.client, got.owner.key_id);
        return fine;
    }
    if (str_eq(what, str_of(renames.what))) {
        bool fine = record_read(&renames, line, &got, now, aged) && got.renamed.answer && got.renamed.id[0];
        if (fine)
            memory_renamed_put(m, got.renamed.answer, str_of(got.renamed.id));
        return fine;
    }
    if (str_eq(what, str_of(notices.what))) {
        bool fine = record_read(&notices, line, &got, now, aged) && got.notice;
        if (fine)
            memory_notice_put(m, got.notice);
        return fine;
    }
    return false;
}
