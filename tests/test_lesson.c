/* What helped against which failure: counted only when it did, fading, nobody's but the tenant's. */
#include "test.h"
#include "base/arena.h"
#include "base/buf.h"

enum { DAY = 86400, NOW = 1767225600, PLACES = 8 };

static char memory[1 << 16], room[1 << 16];

static daruma_lessons *fresh(uint32_t places)
{
    daruma_arena a = arena_over(memory, daruma_lessons_bytes(places));
    daruma_lessons *l = daruma_lessons_new(&a, places);
    assert_non_null(l);
    return l;
}

static daruma_lesson_key key(uint64_t tenant, const char *tool, uint64_t error)
{
    return (daruma_lesson_key){
        .tenant = tenant, .tool = str_of(tool), .schema = S("{\"type\":\"object\"}"), .error = error};
}

static daruma_strategy fix(daruma_strategy_kind kind, const char *tool, const char *parameters)
{
    return (daruma_strategy){.kind = kind, .tool = str_of(tool), .parameters = str_of(parameters)};
}

static void what_helped_is_found_again(void **state)
{
    (void)state;
    daruma_lessons *l = fresh(PLACES);
    daruma_lesson_key k = key(1, "fs:read", 7);
    daruma_strategy x = fix(DARUMA_STRATEGY_ADJUST, "fs:read", "{\"path\":\"src/a.c\"}");
    daruma_lesson out[3];
    k.call = 99;
    daruma_lessons_tell(l, &k, &x, true, NOW);
    assert_int_equal(daruma_lessons_find(l, &k, NOW, out, 3), 1);
    assert_int_equal(out[0].kind, DARUMA_STRATEGY_ADJUST);
    assert_string_equal(out[0].tool, "fs:read");
    assert_string_equal(out[0].parameters, "{\"path\":\"src/a.c\"}");
    assert_int_equal(out[0].score, 666);
    assert_int_equal(out[0].call, 99);
    daruma_lessons_tell(l, &k, &x, true, NOW);
    assert_int_equal(daruma_lessons_find(l, &k, NOW, out, 3), 1);
    assert_int_equal(out[0].score, 750);
    assert_int_equal(out[0].worked, 2);
}

static void what_never_helped_is_no_lesson(void **state)
{
    (void)state;
    daruma_lessons *l = fresh(PLACES);
    daruma_lesson_key k = key(1, "fs:read", 7);
    daruma_strategy x = fix(DARUMA_STRATEGY_RETRY, "fs:read", "{}");
    daruma_lesson out[3];
    daruma_lessons_tell(l, &k, &x, false, NOW);
    assert_int_equal(daruma_lessons_find(l, &k, NOW, out, 3), 0);
    daruma_lessons_tell(l, &k, &x, true, NOW);
    assert_int_equal(daruma_lessons_find(l, &k, NOW, out, 3), 1);
    daruma_lessons_tell(l, &k, &x, false, NOW); /* as often as not */
    assert_int_equal(daruma_lessons_find(l, &k, NOW, out, 3), 0);
    daruma_lessons_tell(l, &k, &x, true, NOW);
    assert_int_equal(daruma_lessons_find(l, &k, NOW, out, 3), 1);
    x.kind = DARUMA_STRATEGY_ESCALATE;
    k.error = 8;
    daruma_lessons_tell(l, &k, &x, true, NOW);
    assert_int_equal(daruma_lessons_find(l, &k, NOW, out, 3), 0);
}

static void worth_halves_in_45_days(void **state)
{
    (void)state;
    daruma_lessons *l = fresh(PLACES);
    daruma_lesson_key k = key(1, "fs:read", 7);
    daruma_strategy x = fix(DARUMA_STRATEGY_RETRY, "fs:read", "");
    daruma_lesson out[3];
    for (int i = 0; i < 6; i++)
        daruma_lessons_tell(l, &k, &x, true, NOW);
    daruma_lessons_find(l, &k, NOW, out, 3);
    assert_int_equal(out[0].score, 7000 / 8);
    daruma_lessons_find(l, &k, NOW + 45 * DAY, out, 3);
    assert_int_equal(out[0].score, 4000 / 5);
    int16_t last = 1000;
    for (int d = 0; d < 2000; d++) { /* always less, never below one half */
        size_t n = daruma_lessons_find(l, &k, NOW + d * (int64_t)DAY, out, 3);
        if (!n)
            break;
        assert_true(out[0].score <= last && out[0].score > 500);
        last = out[0].score;
    }
    assert_int_equal(daruma_lessons_find(l, &k, INT64_MAX, out, 3), 0);
    assert_int_equal(daruma_lessons_find(l, &k, NOW - 100 * DAY, out, 3), 1); /* a clock that goes back */
    assert_int_equal(out[0].score, 7000 / 8);
}

static void tenants_tools_and_failures_have_nothing_in_common(void **state)
{
    (void)state;
    daruma_lessons *l = fresh(PLACES);
    daruma_lesson_key k = key(1, "fs:read", 7), other;
    daruma_strategy x = fix(DARUMA_STRATEGY_RETRY, "fs:read", "");
    daruma_lesson out[3];
    daruma_lessons_tell(l, &k, &x, true, NOW);
    other = key(2, "fs:read", 7);
    assert_int_equal(daruma_lessons_find(l, &other, NOW, out, 3), 0);
    other = key(1, "fs:write", 7);
    assert_int_equal(daruma_lessons_find(l, &other, NOW, out, 3), 0);
    other = key(1, "fs:read", 8);
    assert_int_equal(daruma_lessons_find(l, &other, NOW, out, 3), 0);
    other = key(2, "fs:read", 7); /* what fails there says nothing here */
    daruma_lessons_tell(l, &other, &x, false, NOW);
    assert_int_equal(daruma_lessons_find(l, &k, NOW, out, 3), 1);
    assert_int_equal(out[0].failed, 0);
}

static void another_schema_ends_what_was_learned(void **state)
{
    (void)state;
    daruma_lessons *l = fresh(PLACES);
    daruma_lesson_key k = key(1, "fs:read", 7);
    daruma_strategy x = fix(DARUMA_STRATEGY_ADJUST, "fs:read", "{\"p\":1}");
    daruma_lesson out[3];
    daruma_lessons_tell(l, &k, &x, true, NOW);
    k.schema = S("{\"type\":\"object\",\"required\":[\"path\"]}");
    assert_int_equal(daruma_lessons_find(l, &k, NOW, out, 3), 0);
    daruma_strategy y = fix(DARUMA_STRATEGY_RETRY, "fs:read", "");
    daruma_lessons_tell(l, &k, &y, true, NOW);
    k.schema = S("{\"type\":\"object\"}"); /* and it does not come back with the old one */
    assert_int_equal(daruma_lessons_find(l, &k, NOW, out, 3), 0);
}

static void the_best_come_first_and_no_more_than_asked_for(void **state)
{
    (void)state;
    daruma_lessons *l = fresh(PLACES);
    daruma_lesson_key k = key(1, "fs:read", 7);
    daruma_lesson out[3];
    char parameters[24];
    for (int i = 0; i < 5; i++) {
        snprintf(parameters, sizeof parameters, "{\"i\":%d}", i);
        daruma_strategy x = fix(DARUMA_STRATEGY_ADJUST, "fs:read", parameters);
        for (int j = 0; j <= (i * 3) % 5; j++)
            daruma_lessons_tell(l, &k, &x, true, NOW + i);
    }
    assert_int_equal(daruma_lessons_find(l, &k, NOW + 5, out, 3), 3);
    assert_string_equal(out[0].parameters, "{\"i\":3}");
    assert_string_equal(out[1].parameters, "{\"i\":1}");
    assert_string_equal(out[2].parameters, "{\"i\":4}");
    assert_int_equal(daruma_lessons_find(l, &k, NOW + 5, out, 0), 0);
}

static void a_full_table_gives_up_what_nobody_used_for_longest(void **state)
{
    (void)state;
    daruma_lessons *l = fresh(PLACES);
    daruma_strategy x = fix(DARUMA_STRATEGY_RETRY, "t", "");
    daruma_lesson out[3];
    for (uint64_t i = 1; i <= PLACES; i++) { /* of eight tenants */
        daruma_lesson_key k = key(i, "t", 1);
        daruma_lessons_tell(l, &k, &x, true, NOW + (int64_t)i);
    }
    daruma_lesson_key first = key(1, "t", 1), second = key(2, "t", 1), fresh_one = key(100, "t", 1);
    daruma_lessons_tell(l, &first, &x, true, NOW + 100);
    daruma_lessons_tell(l, &fresh_one, &x, true, NOW + 101);
    assert_int_equal(daruma_lessons_find(l, &first, NOW + 101, out, 3), 1);
    assert_int_equal(daruma_lessons_find(l, &second, NOW + 101, out, 3), 0);
    assert_int_equal(daruma_lessons_find(l, &fresh_one, NOW + 101, out, 3), 1);
}

static void nobody_drives_others_out(void **state)
{
    (void)state;
    daruma_lessons *l = fresh(PLACES);
    daruma_strategy x = fix(DARUMA_STRATEGY_RETRY, "t", "");
    daruma_lesson out[3];
    for (uint64_t i = 1; i <= 6; i++) {
        daruma_lesson_key k = key(i, "t", 1);
        daruma_lessons_tell(l, &k, &x, true, NOW);
    }
    for (uint64_t e = 0; e < 1000; e++) {
        daruma_lesson_key k = key(99, "t", e);
        daruma_lessons_tell(l, &k, &x, true, NOW + 1 + (int64_t)e);
    }
    for (uint64_t i = 1; i <= 6; i++) {
        daruma_lesson_key k = key(i, "t", 1);
        assert_int_equal(daruma_lessons_find(l, &k, NOW, out, 3), 1);
    }
}

/* Somebody with many keys takes from himself, not from who has few. */
static void many_keys_drive_nobody_out(void **state)
{
    (void)state;
    daruma_lessons *l = fresh(PLACES);
    daruma_strategy x = fix(DARUMA_STRATEGY_RETRY, "t", "");
    daruma_lesson out[3];
    daruma_lesson_key his = key(7, "t", 1);
    daruma_lessons_tell(l, &his, &x, true, NOW);
    for (uint64_t e = 0; e < 10000; e++) {
        daruma_lesson_key k = key(100 + e % (PLACES / 2), "t", 1 + e / (PLACES / 2) % 3);
        daruma_lessons_tell(l, &k, &x, true, NOW + 1 + (int64_t)e);
    }
    assert_int_equal(daruma_lessons_find(l, &his, NOW, out, 3), 1);
}

static void a_table_without_places_learns_nothing(void **state)
{
    (void)state;
    daruma_lessons *l = fresh(0);
    daruma_lesson_key k = key(1, "t", 1);
    daruma_strategy x = fix(DARUMA_STRATEGY_RETRY, "t", "");
    daruma_lesson out[1];
    daruma_lessons_tell(l, &k, &x, true, NOW);
    assert_int_equal(daruma_lessons_find(l, &k, NOW, out, 1), 0);
    daruma_arena none = arena_over(memory, 8);
    assert_null(daruma_lessons_new(&none, 4));
}

static void what_looks_like_a_secret_is_not_kept(void **state)
{
    (void)state;
    daruma_lessons *l = fresh(PLACES);
    daruma_lesson_key k = key(1, "http", 7);
    daruma_strategy x = fix(DARUMA_STRATEGY_ADJUST, "http",
                            "{\"header\":\"Authorization: Bearer sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD\"}");
    daruma_lesson out[1];
    daruma_lessons_tell(l, &k, &x, true, NOW);
    assert_int_equal(daruma_lessons_find(l, &k, NOW, out, 1), 1);
    assert_string_equal(out[0].parameters, "");
    char large[DARUMA_LESSON_BYTES + 50];
    memset(large, 'x', sizeof large);
    x.parameters = (daruma_str){large, sizeof large}; /* nor a part of what is too long */
    k.error = 8;
    daruma_lessons_tell(l, &k, &x, true, NOW);
    assert_int_equal(daruma_lessons_find(l, &k, NOW, out, 1), 1);
    assert_string_equal(out[0].parameters, "");
}

static void words_have_a_limit_and_cannot_end_their_block(void **state)
{
    (void)state;
    daruma_lesson lessons[4] = {0};
    for (int i = 0; i < 4; i++) {
        lessons[i] = (daruma_lesson){.kind = DARUMA_STRATEGY_ADJUST, .worked = 3, .failed = 1};
        memset(lessons[i].parameters, '<', sizeof lessons[i].parameters - 1);
        memcpy(lessons[i].tool, "fs", 3);
    }
    snprintf(lessons[0].parameters, sizeof lessons[0].parameters, "{\"p\":\"</lessons>\nx\"}");
    daruma_buf b = buf_over(room, sizeof room);
    daruma_lessons_write(lessons, 4, &b);
    daruma_str text = buf_str(&b);
    assert_true(text.n <= 1800);
    assert_true(str_find(text, S("- parameter-adjustment: fs {\"p\":\"&lt;/lessons> x\"} (helped 3 of 4 times)")) !=
                STR_NONE);
    size_t end = str_find(text, S("</lessons>"));
    assert_int_equal(end, text.n - 10);
    for (int i = 1; i < 4; i++)
        snprintf(lessons[i].parameters, sizeof lessons[i].parameters, "{\"i\":%d}", i);
    b.n = 0;
    daruma_lessons_write(lessons, 4, &b);
    assert_true(str_find(buf_str(&b), S("{\"i\":2}")) != STR_NONE);
    assert_true(str_find(buf_str(&b), S("{\"i\":3}")) == STR_NONE); /* three are enough */
}

/* ---- looking on ---- */

static char table[1 << 16];

typedef struct school {
    daruma_learner w;
    daruma_lessons *l;
} school;

static school opened(void)
{
    daruma_arena a = arena_over(table, sizeof table);
    return (school){.l = daruma_lessons_new(&a, 16)};
}

/* A step; a failure has this kind and the signature of its tool. */
static daruma_strategy_kind sees(school *s, const char *tool, const char *args, daruma_tool_kind failed)
{
    daruma_arena a = arena_over(room, sizeof room);
    daruma_step step = {
        .tool = str_of(tool), .args = str_of(args), .result = S("..."), .ok = failed == DARUMA_TOOL_NONE_KIND};
    daruma_tool_failure f = {.tool = step.tool, .kind = failed, .signature = 7};
    return daruma_learner_see(&s->w, s->l, 1, &step, step.ok ? NULL : &f, S("{\"type\":\"object\"}"), NOW, &a);
}

static size_t learned(const school *s, const char *tool, daruma_lesson *out)
{
    daruma_lesson_key k = key(1, tool, 7);
    return daruma_lessons_find(s->l, &k, NOW, out, 3);
}

static void the_whole_path_is_learned_from_the_half_one(void **state)
{
    (void)state;
    school s = opened();
    daruma_lesson out[3];
    sees(&s, "fs:read", "{\"path\":\"file.ts\"}", DARUMA_TOOL_NOT_FOUND_KIND);
    sees(&s, "fs:search", "{\"q\":\"x\"}", DARUMA_TOOL_NONE_KIND);
    assert_int_equal(learned(&s, "fs:read", out), 0);
    assert_int_equal(sees(&s, "fs:read", "{\"path\":\"packages/core/file.ts\"}", DARUMA_TOOL_NONE_KIND),
                     DARUMA_STRATEGY_ADJUST);
    assert_int_equal(learned(&s, "fs:read", out), 1);
    assert_string_equal(out[0].parameters, "{\"path\":\"packages/core/file.ts\"}");
    assert_int_equal(out[0].call, daruma_call_hash(S("fs:read"), S("{\"path\":\"file.ts\"}")));
}

static void what_reaches_something_else_teaches_nothing(void **state)
{
    (void)state;
    school s = opened();
    daruma_lesson out[3];
    sees(&s, "fs:read", "{\"path\":\"file.ts\"}", DARUMA_TOOL_NOT_FOUND_KIND);
    assert_int_equal(sees(&s, "fs:read", "{\"path\":\"profile.ts\"}", DARUMA_TOOL_NONE_KIND), DARUMA_STRATEGY_OTHER);
    assert_int_equal(sees(&s, "fs:read", "{\"path\":\"src/main.c\"}", DARUMA_TOOL_NONE_KIND), DARUMA_STRATEGY_OTHER);
    assert_int_equal(sees(&s, "cat", "{\"path\":\"src/file.ts\"}", DARUMA_TOOL_NONE_KIND), DARUMA_STRATEGY_OTHER);
    assert_int_equal(learned(&s, "fs:read", out), 0);
}

static void a_retry_helps_only_when_nothing_else_did(void **state)
{
    (void)state;
    school s = opened();
    daruma_lesson out[3];
    sees(&s, "fetch", "{\"url\":\"u\"}", DARUMA_TOOL_TIMEOUT_KIND);
    assert_int_equal(sees(&s, "fetch", "{\"url\": \"u\"}", DARUMA_TOOL_NONE_KIND), DARUMA_STRATEGY_RETRY);
    assert_int_equal(learned(&s, "fetch", out), 1);
    assert_int_equal(out[0].kind, DARUMA_STRATEGY_RETRY);
    sees(&s, "run_tests", "{}", DARUMA_TOOL_UNKNOWN_KIND);
    sees(&s, "edit_file", "{\"path\":\"a\"}", DARUMA_TOOL_NONE_KIND);
    assert_int_equal(sees(&s, "run_tests", "{}", DARUMA_TOOL_NONE_KIND), DARUMA_STRATEGY_OTHER);
    assert_int_equal(learned(&s, "run_tests", out), 0);
}

static void what_helped_once_and_fails_later_loses_its_worth(void **state)
{
    (void)state;
    school s = opened();
    daruma_lesson out[3];
    sees(&s, "fetch", "{\"url\":\"u\"}", DARUMA_TOOL_TIMEOUT_KIND);
    sees(&s, "fetch", "{\"url\":\"u\"}", DARUMA_TOOL_NONE_KIND);
    for (int i = 0; i < 3; i++) /* the first of them opens it, the others try again */
        sees(&s, "fetch", "{\"url\":\"u\"}", DARUMA_TOOL_TIMEOUT_KIND);
    assert_int_equal(learned(&s, "fetch", out), 0);
}

static void a_learner_has_a_fixed_room(void **state)
{
    (void)state;
    school s = opened();
    char args[DARUMA_LESSON_BYTES + 200], tool[140];
    daruma_lesson out[3];
    for (int i = 0; i < 100; i++) {
        snprintf(args, sizeof args, "{\"path\":\"%0*d\"}", i * 5 + 1, i);
        snprintf(tool, sizeof tool, "tool_%0*d", i + 1, i);
        sees(&s, i % 2 ? tool : "read", args, DARUMA_TOOL_NOT_FOUND_KIND);
    }
    assert_int_equal(sees(&s, "read", args, DARUMA_TOOL_NONE_KIND), DARUMA_STRATEGY_OTHER);
    assert_int_equal(learned(&s, "read", out), 0);
    assert_int_equal(sees(&s, "", "", DARUMA_TOOL_NONE_KIND), DARUMA_STRATEGY_OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_helped_is_found_again),
        cmocka_unit_test(what_never_helped_is_no_lesson),
        cmocka_unit_test(worth_halves_in_45_days),
        cmocka_unit_test(tenants_tools_and_failures_have_nothing_in_common),
        cmocka_unit_test(another_schema_ends_what_was_learned),
        cmocka_unit_test(the_best_come_first_and_no_more_than_asked_for),
        cmocka_unit_test(a_full_table_gives_up_what_nobody_used_for_longest),
        cmocka_unit_test(nobody_drives_others_out),
        cmocka_unit_test(many_keys_drive_nobody_out),
        cmocka_unit_test(a_table_without_places_learns_nothing),
        cmocka_unit_test(what_looks_like_a_secret_is_not_kept),
        cmocka_unit_test(words_have_a_limit_and_cannot_end_their_block),
        cmocka_unit_test(the_whole_path_is_learned_from_the_half_one),
        cmocka_unit_test(what_reaches_something_else_teaches_nothing),
        cmocka_unit_test(a_retry_helps_only_when_nothing_else_did),
        cmocka_unit_test(what_helped_once_and_fails_later_loses_its_worth),
        cmocka_unit_test(a_learner_has_a_fixed_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
