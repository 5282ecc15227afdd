/* journal_read.c - reads the record of a run. */
#include "store/journal_db.h"

bool journal_act_of(journal *j, uint32_t call, journal_act *ret)
{
    sqlite3_stmt *s = db_row(j, DO_GET_ACT, buf_part_number(call));
    if (s) {
        *ret = (journal_act){.hash = (uint64_t)sqlite3_column_int64(s, 0),
                             .started = (unsigned)sqlite3_column_int64(s, 1),
                             .look = {.known = sqlite3_column_int64(s, 2) != 0,
                                      .before = (uint64_t)sqlite3_column_int64(s, 3),
                                      .after = (uint64_t)sqlite3_column_int64(s, 4)}};
        daruma_str what = db_column(s, 5), name = str_sub(db_column(s, 6), 0, sizeof ret->name / 2);
        snprintf(ret->name, sizeof ret->name, STR_FMT " " STR_FMT, STR_ARG(what), STR_ARG(name));
    }
    sqlite3_reset(s);
    return s != NULL;
}

static crew_input_kind kind_of(daruma_str name)
{
    int k = 0;
    while (k < CREW_INPUTS && !str_eq(name, str_of(db_kind_name((crew_input_kind)k))))
        k++;
    return (crew_input_kind)k;
}

int64_t journal_inputs(const journal *j)
{
    return j->ninputs;
}

bool journal_is_ahead(journal *j)
{
    journal_state s = journal_state_of(j);
    return s == JOURNAL_OVER || s == JOURNAL_ESCALATED || db_ask(j, DO_AHEAD) != 0;
}

int journal_input_of(journal *j, int64_t n, crew_input *ret, daruma_arena *a)
{
    sqlite3_stmt *s = db_row(j, DO_GET_INPUT, buf_part_number(n));
    if (!s)
        return j->broken || n <= j->ninputs ? -1 : 0; /* one in the middle is missing */
    crew_input in = {
        .kind = kind_of(db_column(s, 0)),
        .call = (uint32_t)sqlite3_column_int64(s, 1),
        .at = {sqlite3_column_int64(s, 2), sqlite3_column_int64(s, 3), (uint64_t)sqlite3_column_int64(s, 4)},
        .code = sqlite3_column_int(s, 5),
        .phase = sqlite3_column_int(s, 6),
        .net = sqlite3_column_int(s, 7),
        .lost = sqlite3_column_int(s, 8) != 0,
        .more = (uint32_t)sqlite3_column_int64(s, 9),
        .text = arena_copy(a, db_column(s, 10))};
    bool bad = a->full || in.kind == CREW_INPUTS;
    sqlite3_reset(s);
    if (bad)
        return -1;
    *ret = in;
    return 1;
}

/* The line at hand of each of the three tables; the one with the lowest number comes next. */
static bool line_of(journal *j, statement which, sqlite3_stmt *s, journal_line *l, daruma_arena *a)
{
    *l = (journal_line){0};
    if (which == DO_ALL_INPUTS) {
        l->what = JOURNAL_LINE_INPUT;
        if (journal_input_of(j, sqlite3_column_int64(s, 1), &l->in, a) != 1)
            return false;
        l->wall = l->in.at.wall;
        l->at = l->in.at.now;
        l->call = l->in.call;
        return true;
    }
    l->wall = sqlite3_column_int64(s, 1);
    l->at = sqlite3_column_int64(s, 2);
    if (which == DO_ALL_EVENTS) {
        l->what = JOURNAL_LINE_EVENT;
        l->event = db_column(s, 3);
        return true;
    }
    l->what = JOURNAL_LINE_ACT;
    l->act = db_column(s, 3);
    l->purpose = db_column(s, 4);
    l->name = db_column(s, 5);
    l->args = db_column(s, 6);
    l->call = (uint32_t)sqlite3_column_int64(s, 7);
    l->started = (unsigned)sqlite3_column_int64(s, 8);
    return true;
}

/* True if there is one more row; false and !*well: what is there cannot be read. */
static bool next_row(sqlite3_stmt *s, bool *well)
{
    int rc = s ? sqlite3_step(s) : SQLITE_ERROR;
    *well = *well && (rc == SQLITE_ROW || rc == SQLITE_DONE);
    return rc == SQLITE_ROW;
}

bool journal_each(journal *j, bool (*each)(const journal_line *l, void *user), void *user, char why[256])
{
    static const statement which[] = {DO_ALL_ACTS, DO_ALL_INPUTS, DO_ALL_EVENTS};
    sqlite3_stmt *s[COUNT(which)];
    bool more[COUNT(which)], well = sqlite3_exec(j->db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK; /* else it may grow */
    char where[80];
    int64_t breaks = db_chain_breaks(j, where);
    for (size_t i = 0; i < COUNT(which); i++) {
        s[i] = db_make(j, which[i]);
        more[i] = next_row(s[i], &well);
    }
    while (well) {
        size_t next = COUNT(which);
        for (size_t i = 0; i < COUNT(which); i++)
            if (more[i] && (next == COUNT(which) || sqlite3_column_int64(s[i], 0) < sqlite3_column_int64(s[next], 0)))
                next = i;
        if (next == COUNT(which) || (breaks && sqlite3_column_int64(s[next], 0) >= breaks))
            break;
        daruma_arena a;
        journal_line l;
        if (!sys_arena_init(&a, 16 << 10, RUN_ANSWER_BYTES_MAX))
            break;
        well = line_of(j, which[next], s[next], &l, &a);
        bool on = well && each(&l, user);
        sys_arena_done(&a);
        if (!on)
            break;
        more[next] = next_row(s[next], &well);
    }
    for (size_t i = 0; i < COUNT(which); i++)
        sqlite3_reset(s[i]);
    sqlite3_exec(j->db, "COMMIT", NULL, NULL, NULL);
    if (!well || breaks)
        snprintf(why, 256, "the journal %.80s.db is damaged: %.80s", j->path,
                 breaks ? where : "a record in it cannot be read");
    return well && !breaks;
}
