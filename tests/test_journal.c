/* The journal of a run: what was recorded is read again, and an agent that is told it goes on as if nothing had been.
 */
#include "test.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "engine/agent/crew.h"
#include "tools/files.h"
#include "store/journal.h"
#include "run/resume.h"
#include "sys/arena.h"
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <signal.h>
#include <unistd.h>

static char folder[] = "/tmp/daruma-journal-XXXXXX";
static char why[256];

static int begin(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int end(void **state)
{
    (void)state;
    char command[200];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* ---- a world that answers each act, the same one always in the same way ---- */

static const drive_rooms rooms = SYS_ROOMS;

static const agent_tool tools[] = {
    {.about = {LIT("fs.read"), LIT("reads a file"),
               LIT("{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"}}}"),
               DARUMA_TOOL_KNOWN | DARUMA_TOOL_READS}},
    {.about = {LIT("pay"), LIT("pays a bill"),
               LIT("{\"type\":\"object\",\"properties\":{\"sum\":{\"type\":\"integer\"}}}"),
               DARUMA_TOOL_KNOWN | DARUMA_TOOL_ACTS},
     .ask = true},
};

typedef struct world {
    uint64_t seed;
    daruma_ms now;
    uint64_t acts;      /* a hash of all that was asked for, in its order */
    uint32_t asked;     /* acts in all */
    unsigned helped;    /* acts of an agent that works for another */
    unsigned guidances; /* times that a person said how to go on */
} world;

static uint64_t mix(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdu;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53u;
    return x ^ x >> 33;
}

/* One agent, or one that has another to work for it. */
static crew *open_agent(const world *w, daruma_moment m)
{
    static crew_member members[2];
    static agent_tool both[COUNT(tools) + 1];
    memcpy(both, tools, sizeof tools);
    both[COUNT(tools)] = crew_tool(S("helper"), S("helps"));
    members[0].as = (agent_setup){.name = S("tester"),
                                  .d = &dialect_openai,
                                  .model = S("big"),
                                  .second = S("small"),
                                  .tools = both,
                                  .ntools = COUNT(tools) + (w->seed % 3 == 0),
                                  .mode = w->seed % 4 == 0 ? AGENT_PLANNED : AGENT_REACTIVE,
                                  .limits = {.steps = 20, .time = 600000}};
    members[1].as = (agent_setup){.name = S("helper"),
                                  .d = &dialect_openai,
                                  .model = S("small"),
                                  .tools = tools,
                                  .ntools = COUNT(tools),
                                  .limits = {.steps = 4}};
    crew *a = crew_open(members, COUNT(members), &rooms, S("the task"), m);
    assert_non_null(a);
    return a;
}

static void put_answer(uint64_t dice, daruma_buf *b)
{
    BUF_LIT(b, "{\"id\":\"a\",\"object\":\"chat.completion\",\"model\":\"big\",\"choices\":[{\"index\":0,\"message\":"
               "{\"role\":\"assistant\",\"content\":");
    if (dice % 12 == 0)
        BUF_LIT(b, "\"that is all\"},\"finish_reason\":\"stop\"}]");
    else if (dice % 12 == 1)
        BUF_LIT(b, "\"{\\\"tools\\\":[\\\"fs.read\\\",\\\"pay\\\"],\\\"steps\\\":[{\\\"key\\\":\\\"k\\\",\\\"tool\\\":"
                   "\\\"pay\\\","
                   "\\\"objective\\\":\\\"o\\\"}]}\"},\"finish_reason\":\"stop\"}]");
    else if (dice % 12 == 4)
        buf_printf(b,
                   "null,\"tool_calls\":[{\"id\":\"c%u\",\"type\":\"function\",\"function\":{\"name\":\"helper\","
                   "\"arguments\":\"{\\\"task\\\":\\\"help\\\"}\"}}]},\"finish_reason\":\"tool_calls\"}]",
                   (unsigned)(dice >> 8 & 0xffff));
    else if (dice % 12 < 4)
        buf_printf(b,
                   "null,\"tool_calls\":[{\"id\":\"c%u\",\"type\":\"function\",\"function\":{\"name\":\"pay\","
                   "\"arguments\":\"{\\\"sum\\\":%u}\"}}]},\"finish_reason\":\"tool_calls\"}]",
                   (unsigned)(dice >> 8 & 0xffff), (unsigned)(dice >> 24 & 7));
    else
        buf_printf(
            b,
            "\"I read\",\"tool_calls\":[{\"id\":\"c%u\",\"type\":\"function\",\"function\":{\"name\":\"fs_read\","
            "\"arguments\":\"{\\\"path\\\":\\\"f%u\\\"}\"}}]},\"finish_reason\":\"tool_calls\"}]",
            (unsigned)(dice >> 8 & 0xffff), (unsigned)(dice >> 24 & 15));
    BUF_LIT(b, ",\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":3}}");
}

/* What comes of an act. */
static crew_input outcome(const world *w, const agent_act *x, daruma_buf *b)
{
    uint64_t dice = mix(w->seed * 1000003 + x->call);
    crew_input in = {.call = x->call, .at = at(w->now + 10 + (daruma_ms)(dice >> 40 & 0xff))};
    in.at.dice = dice;
    switch (x->what) {
    case AGENT_DO_MODEL:
        in.kind = dice % 10 < 2 ? CREW_FAILED : CREW_ANSWERED;
        if (in.kind == CREW_FAILED) {
            static const int statuses[] = {500, 429, 400, 401};
            in.code = statuses[dice >> 4 & 3];
            in.phase = DARUMA_AT_HEAD;
            BUF_LIT(b, "{\"error\":{\"message\":\"it did not work\"}}");
        } else if (dice % 10 == 3) {
            BUF_LIT(b, "{\"choices\":[{\"mess");
        } else {
            put_answer(dice >> 8, b);
        }
        break;
    case AGENT_DO_TOOL:
        in.kind = CREW_TOOL;
        in.code = dice % 4 != 0;
        in.lost = dice % 16 == 0;
        if (in.code)
            buf_printf(b, "the text of it, %u", (unsigned)(dice >> 16 & 0xff));
        else if (!in.lost)
            buf_printf(b, "%s: it failed", dice >> 5 & 1 ? "PERMISSION_DENIED" : "TIMEOUT: timed out");
        break;
    case AGENT_DO_ASK:
        in.kind = CREW_PERSON;
        in.code = dice % 3 == 0 ? AGENT_DENIED : dice % 7 == 0 ? AGENT_EXPIRED : AGENT_ALLOWED;
        if (in.code == AGENT_DENIED)
            BUF_LIT(b, "not that much");
        break;
    case AGENT_DO_WAIT:
        in.kind = CREW_CLOCK;
        in.call = 0;
        in.at.now = x->until;
        break;
    case AGENT_DO_NOTHING:
    case AGENT_DO_EVENT:
    case AGENT_DO_FINISH:
        break;
    }
    in.text = buf_str(b);
    return in;
}

/* The next act that is no event. */
static agent_act next(crew *a, journal *j, daruma_ms now)
{
    for (;;) {
        agent_act x = crew_next(a);
        if (x.what != AGENT_DO_EVENT)
            return x;
        assert_true(journal_event(j, x.text, at(now)));
    }
}

static void hand_in(world *w, crew *a, journal *j, const crew_input *in)
{
    w->now = in->at.now;
    assert_true(journal_told(j, in));
    assert_true(crew_tell(a, in));
}

/* Closes all and goes on with the record alone. `ret_out`: an act is out, and stands there. */
static crew *again(world *w, crew *a, journal **j, daruma_str id, agent_act *ret_out, bool *ret_is_out)
{
    daruma_moment m;
    resumed r;
    crew_close(a);
    journal_close(*j);
    *j = journal_open(folder, id, why);
    if (!*j)
        fail_msg("%s", why);
    assert_true(resume_moment(*j, &m, why));
    a = open_agent(w, m);
    if (!resume_replay(*j, a, &r, why))
        fail_msg("seed %llu: %s", (unsigned long long)w->seed, why);
    assert_int_equal(r.at.now, w->now);
    *ret_is_out = r.out;
    *ret_out = r.act;
    return a;
}

/* Plays a run to its end. `stops`: it is broken off and resumed at each place where that can happen. */
static agent_result play(world *w, bool stops, char text[256])
{
    char name[JOURNAL_ID_BYTES];
    snprintf(name, sizeof name, "run-%llu-%d", (unsigned long long)w->seed, stops);
    daruma_str id = str_of(name);
    journal *j = journal_new(folder, id, S("{}"), S("the task"), at(0), why);
    if (!j)
        fail_msg("%s", why);
    crew_input opened = {.kind = CREW_OPENED, .at = at(5)};
    w->now = 5;
    assert_true(journal_told(j, &opened));
    crew *a = open_agent(w, opened.at);
    agent_act x;
    bool is_out = false;
    for (int i = 0; i < 400; i++) {
        if (!is_out) { /* what the agent asks for */
            x = next(a, j, w->now);
            if (x.what == AGENT_DO_FINISH) {
                agent_result r = crew_result_of(a);
                if (r.end != AGENT_END_ESCALATED || w->guidances == 2)
                    break;
                w->guidances++;
                crew_input words = {.kind = CREW_RESUMED, .at = at(w->now + 1), .text = S("go another way")};
                hand_in(w, a, j, &words);
                continue;
            }
            assert_int_not_equal(x.what, AGENT_DO_NOTHING);
            w->acts = mix(w->acts ^ journal_hash(&x));
            w->asked++;
            w->helped += str_eq(crew_who(a)->as.name, S("helper"));
            assert_true(journal_asked(j, &x, NULL, at(w->now)));
            is_out = true;
            if (stops) {
                uint64_t was = journal_hash(&x);
                a = again(w, a, &j, id, &x, &is_out);
                assert_true(is_out);
                assert_true(was == journal_hash(&x));
            }
        }
        char bytes[4096];
        daruma_buf b = buf_over(bytes, sizeof bytes);
        crew_input in = outcome(w, &x, &b);
        is_out = false;
        if (stops) { /* recorded, and broken off before the agent hears of it */
            w->now = in.at.now;
            assert_true(journal_told(j, &in));
            a = again(w, a, &j, id, &x, &is_out);
            assert_false(is_out);
        } else {
            hand_in(w, a, j, &in);
        }
    }
    agent_result r = crew_result_of(a);
    snprintf(text, 256, STR_FMT, STR_ARG(str_sub(r.text, 0, 255)));
    r.text = r.recovery = r.reason = r.last_error = r.history = (daruma_str){0};
    r.failure = (agent_failure){0};
    assert_true(journal_ended(j, JOURNAL_OVER, S("{}"), at(w->now)));
    crew_close(a);
    journal_close(j);
    return r;
}

static void a_run_that_is_broken_off_everywhere_is_the_run_that_never_was(void **state)
{
    uint32_t asked = 0, helped = 0, guidances = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        char text[256], text_again[256];
        world w = {.seed = seed}, v = {.seed = seed};
        agent_result r = play(&w, false, text), s = play(&v, true, text_again);
        assert_int_not_equal(r.outcome, DARUMA_OUTCOME_PENDING);
        assert_true(w.acts == v.acts);
        assert_int_equal(w.asked, v.asked);
        assert_string_equal(text, text_again);
        assert_memory_equal(&r.spent, &s.spent, sizeof r.spent);
        assert_int_equal(r.end, s.end);
        asked += w.asked;
        helped += w.helped;
        guidances += w.guidances;
    }
    assert_true(asked > 300); /* the worlds are not empty */
    assert_true(helped > 20);
    assert_true(guidances > 0);
}

/* ---- what is not as it was ---- */

/* A run of one answer and one call that is out. */
static journal *one_call(const char *name, crew **ret, agent_act *ret_out)
{
    world w = {.seed = 1, .now = 5};
    char bytes[4096];
    daruma_buf b = buf_over(bytes, sizeof bytes);
    journal *j = journal_new(folder, str_of(name), S("{\"--model\":\"big\"}"), S("the task"), at(0), why);
    assert_non_null(j);
    assert_true(journal_told(j, &(crew_input){.kind = CREW_OPENED, .at = at(5)}));
    *ret = open_agent(&w, at(5));
    agent_act x = next(*ret, j, 5);
    assert_int_equal(x.what, AGENT_DO_MODEL);
    assert_true(journal_asked(j, &x, NULL, at(5)));
    put_answer(11, &b);
    hand_in(&w, *ret, j, &(crew_input){.kind = CREW_ANSWERED, .call = x.call, .at = at(9), .text = buf_str(&b)});
    *ret_out = next(*ret, j, 9);
    assert_int_equal(ret_out->what, AGENT_DO_TOOL);
    assert_true(journal_asked(j, ret_out, &(journal_look){true, 1, 2}, at(9)));
    return j;
}

static void change(const char *name, const char *sql)
{
    char path[200];
    sqlite3 *db;
    snprintf(path, sizeof path, "%s/%s.db", folder, name);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static bool replays_in(const char *name, uint64_t seed)
{
    daruma_moment m;
    resumed r;
    world w = {.seed = seed};
    journal *j = journal_open(folder, str_of(name), why);
    bool well = j && resume_moment(j, &m, why);
    crew *a = well ? open_agent(&w, m) : NULL;
    well = well && resume_replay(j, a, &r, why);
    if (well) {
        assert_true(r.out);
        assert_int_equal(r.was.started, 1);
        assert_true(r.was.look.known && r.was.look.before == 1 && r.was.look.after == 2);
    }
    crew_close(a);
    journal_close(j);
    return well;
}

static bool replays(const char *name)
{
    return replays_in(name, 1);
}

static void what_was_changed_is_found_out(void **state)
{
    static const struct {
        const char *sql, *says;
    } rows[] = {
        {"UPDATE input SET text='x' WHERE n=2", "what stands behind act 1 is not what was written"},
        {"UPDATE input SET now=8 WHERE n=2", "what stands behind act 1 is not what was written"},
        {"UPDATE input SET kind='nothing' WHERE n=2", "what stands behind act 1 is not what was written"},
        {"UPDATE input SET kind='nothing' WHERE n=1", "its beginning is not what was written"},
        {"DELETE FROM input WHERE n=1", "what stands as act 1 is not what was written"},
        {"DELETE FROM input WHERE n=2", "what stands as act 2 is not what was written"},
        {"DELETE FROM input", "what stands as act 1 is not what was written"},
        {"DELETE FROM input; DELETE FROM act", "its beginning is not what was written"},
        {"UPDATE act SET hash=7 WHERE what='tool'", "what stands as act 2 is not what was written"},
        {"UPDATE act SET looked=0 WHERE what='tool'", "what stands as act 2 is not what was written"},
        {"DELETE FROM act WHERE what='tool'", "what stood behind act 1 is missing"},
        {"UPDATE run SET value='{}' WHERE key='settings'", "its beginning is not what was written"},
        {"DELETE FROM run WHERE key='head'", "what stood behind act 2 is missing"},
        {"DROP TABLE act", "damaged: no such table"},
        {"UPDATE run SET value='99' WHERE key='format'", "another version"},
        {"DELETE FROM run", "damaged"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char name[32];
        crew *a;
        agent_act x;
        snprintf(name, sizeof name, "changed-%zu", i);
        journal_close(one_call(name, &a, &x));
        crew_close(a);
        assert_true(replays(name));
        change(name, rows[i].sql);
        assert_false(replays(name));
        if (!strstr(why, rows[i].says))
            fail_msg("%s: says \"%s\", not \"%s\"", rows[i].sql, why, rows[i].says);
    }
}

static void another_agent_does_not_go_on(void **state)
{
    crew *a;
    agent_act x;
    (void)state;
    journal_close(one_call("another", &a, &x));
    crew_close(a);
    assert_false(replays_in("another", 4)); /* it plans */
    assert_non_null(strstr(why, "act 1 would be another one now than it was (model big)"));
}

/* The log is empty behind each act that has effects: what is dropped from it may come again. */
static void what_has_effects_does_not_stand_in_the_log(void **state)
{
    char path[200];
    struct stat st;
    crew *a;
    agent_act x;
    (void)state;
    journal *j = one_call("logged", &a, &x);
    snprintf(path, sizeof path, "%s/logged.db-wal", folder);
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size > 0); /* a call that reads */
    x = (agent_act){.what = AGENT_DO_TOOL, .call = 3, .tool = S("pay"), .about = &tools[1]};
    assert_true(journal_asked(j, &x, NULL, at(10)));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 0);
    journal_close(j);
    crew_close(a);
}

static void a_run_under_way_is_nobody_elses(void **state)
{
    crew *a;
    agent_act x;
    bool busy = false;
    (void)state;
    journal *j = one_call("busy", &a, &x);
    assert_null(journal_open(folder, S("busy"), why));
    assert_non_null(strstr(why, "is under way"));
    journal *other = journal_read(folder, S("busy"), &busy, why);
    assert_non_null(other);
    assert_true(busy);
    journal_close(other);
    assert_true(journal_asked_again(j, x.call, NULL, at(20))); /* who reads takes nothing away */
    journal_close(j);
    crew_close(a);
    other = journal_read(folder, S("busy"), &busy, why);
    assert_false(busy);
    journal_act was;
    assert_true(journal_act_of(other, x.call, &was));
    assert_int_equal(was.started, 2);
    journal_close(other);
}

static void names_are_names(void **state)
{
    char id[JOURNAL_ID_BYTES];
    (void)state;
    journal_id(at(0), id);
    assert_true(journal_id_fits(str_of(id)));
    assert_memory_equal(id, "20260101-000000-", 16);
    static const char *const bad[] = {"", "../x", "a/b", "a.db", "a b", "0123456789012345678901234567890123"};
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_false(journal_id_fits(str_of(bad[i])));
    assert_null(journal_open(folder, S("none"), why));
    assert_non_null(strstr(why, "there is no run none"));
    assert_null(journal_new("/dev/null/x", S("a"), S("{}"), S("t"), at(0), why));
    assert_non_null(strstr(why, "cannot be made"));
}

static void what_is_no_file_is_no_journal_and_nobody_waits_for_it(void **state)
{
    char path[200];
    bool busy;
    (void)state;
    snprintf(path, sizeof path, "%s/pipe.db", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_null(journal_read(folder, S("pipe"), &busy, why)); /* as `daruma run --list` does with each */
    assert_non_null(strstr(why, "is no file"));
    assert_null(journal_open(folder, S("pipe"), why));
    assert_non_null(strstr(why, "is no file"));
    assert_int_equal(unlink(path), 0);
}

static void a_full_disk_ends_the_record_and_nobody_resumes_it(void **state)
{
    crew *a;
    agent_act x;
    struct rlimit was, little;
    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    journal *j = one_call("full", &a, &x);
    getrlimit(RLIMIT_FSIZE, &was);
    little = was;
    little.rlim_cur = 256 << 10;
    setrlimit(RLIMIT_FSIZE, &little);
    char text[4000];
    memset(text, 'x', sizeof text);
    int times = 0;
    while (times < 1000 &&
           journal_told(j, &(crew_input){.kind = CREW_TOOL, .call = x.call, .at = at(10), .text = {text, sizeof text}}))
        times++;
    assert_in_range(times, 1, 999);
    assert_true(journal_why(j)[0]);
    assert_non_null(strstr(journal_why(j), "cannot write"));
    assert_false(journal_event(j, S("{}"), at(11)));
    assert_false(journal_asked(j, &x, NULL, at(11)));
    assert_true(journal_set_aside(j));
    setrlimit(RLIMIT_FSIZE, &was);
    journal_close(j);
    crew_close(a);
    assert_null(journal_open(folder, S("full"), why));
    assert_non_null(strstr(why, "could not be written to its end"));
    bool busy;
    j = journal_read(folder, S("full.broken"), &busy, why);
    if (!j)
        fail_msg("%s", why);
    journal_close(j);
}

/* The questions of a record are asked for in the order of their purposes. */
static bool purpose_is_next(const journal_line *l, void *user)
{
    int *n = user;
    assert_int_equal(l->what, JOURNAL_LINE_ACT);
    assert_str(l->purpose, agent_purpose_name((agent_purpose)(*n)++));
    return true;
}

static void every_purpose_of_a_question_is_recorded_by_its_name(void **state)
{
    int n = 0;
    (void)state;
    journal *j = journal_new(folder, S("purposes"), S("{}"), S("t"), at(0), why);
    assert_non_null(j);
    for (int p = 0; p < AGENT_PURPOSES; p++) {
        agent_act x = {.what = AGENT_DO_MODEL, .call = (uint32_t)p + 1, .purpose = (agent_purpose)p, .model = S("m")};
        assert_true(journal_asked(j, &x, NULL, at(p)));
    }
    assert_true(journal_each(j, purpose_is_next, &n, why));
    assert_int_equal(n, AGENT_PURPOSES);
    journal_close(j);
}

/* ---- what came of a call that was begun ---- */

static void what_stands_there_tells_what_came_of_a_call(void **state)
{
    (void)state;
    resumed r = {.out = true, .act = {.what = AGENT_DO_TOOL, .about = &tools[1]}};
    journal_look now = {0};
    assert_int_equal(resume_tool(&r, &now), RESUME_LOST); /* it acts, and leaves nothing to look at */
    r.act.about = &tools[0];
    assert_int_equal(resume_tool(&r, &now), RESUME_AGAIN); /* it reads */
    r.act.about = NULL;
    assert_int_equal(resume_tool(&r, &now), RESUME_LOST);
    r.was.look = (journal_look){true, 1, 2};
    now = (journal_look){true, 1, 2};
    assert_int_equal(resume_tool(&r, &now), RESUME_AGAIN);
    now.before = 2;
    assert_int_equal(resume_tool(&r, &now), RESUME_DONE);
    now.before = 3;
    assert_int_equal(resume_tool(&r, &now), RESUME_LOST);
}

static uint64_t look(int root, const char *tool, const char *args, uint64_t *ret_after)
{
    static char bytes[1 << 20];
    daruma_arena a = arena_over(bytes, sizeof bytes);
    uint64_t now;
    assert_true(files_look(root, str_of(tool), str_of(args), &a, &now, ret_after));
    return now;
}

static void a_look_says_what_a_write_and_an_edit_leave(void **state)
{
    static const atomic_bool never;
    static char bytes[1 << 20];
    static const struct {
        const char *tool, *args;
        bool changes;
    } rows[] = {
        {"fs.write", "{\"path\":\"a/new.txt\",\"content\":\"one END\"}", true},
        {"fs.write", "{\"path\":\"a/new.txt\",\"content\":\"one END\"}", false}, /* it stands there */
        {"fs.edit", "{\"path\":\"a/new.txt\",\"old\":\"END\",\"new\":\"two END\"}", true},
        {"fs.edit", "{\"path\":\"a/new.txt\",\"old\":\"nowhere\",\"new\":\"x\"}", false},
        {"fs.edit", "{\"path\":\"gone.txt\",\"old\":\"a\",\"new\":\"x\"}", false},
        {"fs.edit", "{\"path\":\"../up.txt\",\"old\":\"a\",\"new\":\"x\"}", false},
        {"fs.write", "{\"path\":\"a/new.txt\",\"content\":\"\"}", true},
    };
    (void)state;
    int root = files_root(folder);
    for (size_t i = 0; i < COUNT(rows); i++) {
        uint64_t after, then, before = look(root, rows[i].tool, rows[i].args, &after);
        daruma_arena a = arena_over(bytes, sizeof bytes);
        daruma_buf out = buf_in(&a);
        assert_int_equal(before != after, rows[i].changes);
        files_call(&(files_place){.root = root}, str_of(rows[i].tool), str_of(rows[i].args), &never, &a, &out);
        assert_true(look(root, rows[i].tool, rows[i].args, &then) == after);
        if (rows[i].changes) { /* the result of the call, for who finds it done */
            daruma_buf told = buf_in(&a);
            files_done(str_of(rows[i].tool), str_of(rows[i].args), &a, &told);
            assert_true(str_eq(buf_str(&told), buf_str(&out)));
        }
    }
    uint64_t now, after;
    daruma_arena a = arena_over(bytes, sizeof bytes);
    assert_false(files_look(root, S("fs.read"), S("{\"path\":\"a/new.txt\"}"), &a, &now, &after));
    close(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_that_is_broken_off_everywhere_is_the_run_that_never_was),
        cmocka_unit_test(what_was_changed_is_found_out),
        cmocka_unit_test(another_agent_does_not_go_on),
        cmocka_unit_test(what_has_effects_does_not_stand_in_the_log),
        cmocka_unit_test(a_run_under_way_is_nobody_elses),
        cmocka_unit_test(names_are_names),
        cmocka_unit_test(what_is_no_file_is_no_journal_and_nobody_waits_for_it),
        cmocka_unit_test(a_full_disk_ends_the_record_and_nobody_resumes_it),
        cmocka_unit_test(every_purpose_of_a_question_is_recorded_by_its_name),
        cmocka_unit_test(what_stands_there_tells_what_came_of_a_call),
        cmocka_unit_test(a_look_says_what_a_write_and_an_edit_leave),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
