#include "test.h"
#include "gateway/config/config.h"
#include "base/arena.h"
#include "base/buf.h"
#include <stdlib.h>
#include <string.h>

static char memory[1 << 20];

static daruma_str test_env(daruma_str name, bool *found, void *user)
{
    static const char *const vars[][2] = {
        {"KEY_1", "sk-live-0123456789abcdef"},
        {"EMPTY", ""},
        {"BROKEN", "sk-1\n"},
        {"SOON", "soon"},
        {"PORT", "9100"},
        {"HTTPS_PROXY", "http://u:pw@proxy:3128"},
        {"no_proxy", "localhost,.corp"},
        {"LOOP", "${LOOP}"},
    };
    (void)user;
    for (size_t i = 0; i < COUNT(vars); i++)
        if (str_eq(name, str_of(vars[i][0]))) {
            *found = true;
            return str_of(vars[i][1]);
        }
    *found = false;
    return (daruma_str){0};
}

static daruma_str no_env(daruma_str name, bool *found, void *user)
{
    (void)name, (void)user;
    *found = false;
    return (daruma_str){0};
}

static bool read_text(const char *text, config *c, conf_mistakes *e)
{
    daruma_arena a = arena_over(memory, sizeof memory);
    return config_read(str_of(text), test_env, NULL, &a, c, e);
}

/* The first mistake in words. */
static const char *first(const conf_mistakes *e)
{
    static char text[1200];
    daruma_buf b = buf_over(text, sizeof text - 1);
    if (e->n)
        conf_mistake_say(&e->at[0], &b);
    text[b.n] = 0;
    return text;
}

#define P "providers:\n- { name: a, dialect: openai, url: http://h:1 }\n"

/* ---- what is wrong: place, text, and what is shown ------------------------------------ */

static const struct {
    const char *text;
    int line, column;
    const char *says; /* part of the error */
} wrong[] = {
    // clang-format off
    /* YAML itself */
    {"listen: [", 2, 1, "not valid YAML"},
    {"listen: \"x", 1, 11, "not valid YAML"},
    {"timeouts:\n\tconnect: 5s\n", 2, 1, "does not allow a tab here; indent with spaces"},
    {"a: b: c\n", 1, 5, "not valid YAML: mapping values are not allowed in this context"},
    {"listen: :4141\n---\nlisten: :4142\n", 3, 1, "a second document begins here"},
    {"listen: \xff\n", 1, 9, "save the file as UTF-8"},
    {"listen: :1\n# \x01\n", 2, 3, "control characters"},
    {"a: *nobody\n", 1, 4, "found undefined alias"},
    {"a: &x 1\nb: &x 2\n", 2, 4, "duplicate anchor"},
    {"- a\n", 1, 1, "expected options like `listen: 127.0.0.1:4141`, found a list"},
    {"hello\n", 1, 1, "found a single value"},
    {"? [a, b]\n: 1\n", 1, 3, "expected the name of an option, found a list"},
    {"listen: :1\nlisten: :2\n", 2, 1, "the key `listen` stands here twice, first in line 1"},
    /* who is let in */
    {"hosts: gate.example\n", 1, 8, "hosts: expected a list, found a single value"},
    {"hosts: [\"gate.example:4141\"]\n", 1, 9, "hosts[0]: expected a name of letters, digits"},
    {"hosts: [\"\"]\n", 1, 9, "it is empty"},
    {"passthrough: [api]\n", 1, 15, "passthrough[0]: a path begins with a slash, e.g. /api"},
    {"passthrough: [/api, \"/x?y\"]\n", 1, 21, "passthrough[1]: a path ends before its `?`"},
    /* keys */
    {"timeout: { connect: 5s }\n", 1, 1, "unknown key `timeout`; did you mean `timeouts`?"},
    {"timeouts: { conect: 5s }\n", 1, 13, "timeouts: unknown key `conect`; did you mean `connect`?"},
    {"first_byte: 5s\n", 1, 1, "unknown key `first_byte` here; its place is `timeouts.first_byte`"},
    {"tls: { insecure: true }\n", 1, 8, "tls: unknown key `insecure`; known here: ca_file"},
    {"sk-live-0123456789abcdef: 1\n", 1, 1, "unknown key `[redacted]`"},
    {"timeouts: &t { connect: 1s }\nlimits: { <<: *t }\n", 2, 11, "merging with `<<` is not done"},
    {"timeouts: 5s\n", 1, 11, "timeouts: expected a mapping, found a single value"},
    {"timeouts: [1]\n", 1, 11, "timeouts: expected a mapping, found a list"},
    /* durations */
    {"timeouts: { connect: soon }\n", 1, 22, "timeouts.connect: expected a duration like 5s from 10ms to 10m, or none, found \"soon\"; write it like 500ms, 5s or 1m30s"},
    {"timeouts: { connect: 5 }\n", 1, 22, "found \"5\"; add a unit, e.g. 5s"},
    {"timeouts: { connect: 1.5 }\n", 1, 22, "add a unit"},
    {"timeouts: { idle: 0 }\n", 1, 19, "write none to switch it off"},
    {"timeouts: { connect: 1ms }\n", 1, 22, "it is too small"},
    {"timeouts: { connect: 2h }\n", 1, 22, "it is too large"},
    {"timeouts: { connect: 99999999999999999999d }\n", 1, 22, "it is too large"},
    {"timeouts: { connect: -5s }\n", 1, 22, "expected a duration"},
    {"timeouts: { connect: [5s] }\n", 1, 22, "expected a duration like 5s from 10ms to 10m, or none, found a list"},
    {"timeouts:\n  connect:\n", 2, 11, "found nothing; give a value or remove the line"},
    {"timeouts:\n  connect: ${SOON}\n", 2, 12, "found \"${SOON}\""},
    /* sizes, numbers, words */
    {"limits: { body: 64 }\n", 1, 17, "limits.body: expected a size like 64MiB from 1KiB to 1GiB, found \"64\"; add a unit, e.g. 64MiB"},
    {"limits: { body: 64MiBs }\n", 1, 17, "write it like 512KiB, 10MB or 64MiB"},
    {"limits: { body: 1B }\n", 1, 17, "it is too small"},
    {"limits: { connections: 0 }\n", 1, 24, "expected a whole number from 1 to 1000000"},
    {"limits: { connections: 8k }\n", 1, 24, "write all digits"},
    {"limits: { connections: many }\n", 1, 24, "found \"many\""},
    {"recovery: { enabled: maybe }\n", 1, 22, "recovery.enabled: expected true or false, found \"maybe\""},
    {"recovery: { on_failure: mesage }\n", 1, 25, "expected one of auto, error, message, found \"mesage\"; did you mean message?"},
    {"recovery: { max_attempts: 0 }\n", 1, 27, "from 1 to 100"},
    {"recovery: { kinds: { ratelimit: { delay: 1s } } }\n", 1, 22, "unknown kind of failure `ratelimit`; did you mean `rate_limit`?"},
    {"recovery: { kinds: { zzz: { delay: 1s } } }\n", 1, 22, "unknown kind of failure `zzz`; known here: unknown, context_length"},
    {"recovery: { kinds: { timeout: 3 } }\n", 1, 31, "recovery.kinds.timeout: expected a mapping"},
    {"recovery: { kinds: { timeout: { factor: 0.5 } } }\n", 1, 41, "recovery.kinds.timeout.factor: expected a number like 1.5 from 1 to 100"},
    {"recovery: { kinds: { timeout: { jitter: 2 } } }\n", 1, 41, "from 0 to 1"},
    {"recovery: { kinds: { timeout: { delay: 10s, max_delay: 1s } } }\n", 1, 40, "the first delay (10 s) is longer than the longest (1 s)"},
    {"recovery: { kinds: { timeout: { max_delay: 1ms, delay: 1s } } }\n", 1, 56, "longer than the longest"},
    {"recovery: { kinds: { timeout: {}, timeout: {} } }\n", 1, 35, "stands here twice"},
    {"events: { stderr: sometimes }\n", 1, 19, "expected true, false or auto"},
    {"events: { file: \"\" }\n", 1, 17, "it is empty"},
    /* addresses */
    {"listen: 4141\n", 1, 9, "put a colon before the port"},
    {"listen: 127.0.0.1\n", 1, 9, "add the port, e.g. :4141"},
    {"listen: 0.0.0.0\n", 1, 9, "add the port: 0.0.0.0:4141"},
    {"listen: \"[::]\"\n", 1, 9, "add the port: [::]:4141"},
    {"listen: 127.0.0.1:99999\n", 1, 9, "the port is a number up to 65535"},
    {"listen: \"::1:4141\"\n", 1, 9, "put an IPv6 address into brackets"},
    {"listen: example.com:4141\n", 1, 9, "the host is an IP address or localhost"},
    {"listen: \"[127.0.0.1]:1\"\n", 1, 9, "the host is an IP address or localhost"},
    /* the environment */
    {"events: { file: \"${NOT_THERE}\" }\n", 1, 17, "events.file: the environment variable NOT_THERE is not set"},
    {"events: { file: \"${KEY_1\" }\n", 1, 17, "expected ${NAME}"},
    {"events: { file: \"${KEY_1:-x}\" }\n", 1, 17, "expected ${NAME}"},
    {"events: { file: \"${EMPTY}\" }\n", 1, 17, "it is empty (the environment variable is set to nothing)"},
    /* providers */
    {"providers: []\n", 1, 12, "providers: it is empty; give at least 1"},
    {"providers: { name: a }\n", 1, 12, "expected a list, found a mapping; begin each element with \"- \""},
    {"providers: [a]\n", 1, 13, "providers[0]: expected a mapping like { name: main, dialect: openai, url: https://api.openai.com }, found a single value"},
    {"providers:\n- { name: a, url: http://h }\n", 2, 3, "providers[0]: `dialect` is missing"},
    {"providers:\n- { dialect: openai, url: http://h }\n", 2, 3, "`name` is missing"},
    {"providers:\n- { name: a, dialect: openai }\n", 2, 3, "`url` is missing"},
    {"providers:\n- { name: a/b, dialect: openai, url: http://h }\n", 2, 11, "expected a name of letters"},
    {"providers:\n- { name: a, dialect: opnai, url: http://h }\n", 2, 23, "expected one of openai, openai-responses, anthropic, gemini, found \"opnai\"; did you mean openai?"},
    {"providers:\n- { name: a, dialect: OpenAI, url: http://h }\n", 2, 23, "did you mean openai?"},
    {"providers:\n- { name: a, dialect: cohere, url: http://h }\n", 2, 23, "take the one whose SDK your program uses"},
    {"providers:\n- { name: a, dialect: openai, url: \"http://h/v1/chat/completions\" }\n", 2, 36, "it ends with what clients add to it"},
    {"providers:\n- { name: a, dialect: anthropic, url: \"http://h/anthropic/v1/messages\" }\n", 2, 39, "it ends with what clients add to it"},
    {"listen: http://127.0.0.1:4141\n", 1, 9, "it is no URL"},
    {"listen: \"[::1]\"\n", 1, 9, "add the port"},
    {"recovery: { profile: zebra }\n", 1, 22, "there are default, penguiflow, penguiflow-client, penguiflow-native, swarm, ruby-llm, osprey, osprey-reactive, compact, adaptive, adaptive-head"},
    {"providers:\n- { name: a, dialect: openai, url: ftp://h }\n", 2, 36, "expected a URL like https://api.openai.com, found \"ftp://h\""},
    {"providers:\n- { name: a, dialect: openai, url: \"http://u:pw@h\" }\n", 2, 36, "holds no user or password"},
    {P "- { name: a, dialect: openai, url: http://h }\n", 3, 11, "another provider has the name \"a\""},
    {"providers:\n- { name: a, dialect: openai, url: http://h, keys: sk-secret }\n", 2, 52, "providers[0].keys: expected a list, found a single value"},
    {"providers:\n- { name: a, dialect: openai, url: http://h, keys: [[sk-secret]] }\n", 2, 53, "expected a text, found a list"},
    {"providers:\n- { name: a, dialect: openai, url: http://h, keys: [\"${BROKEN}\"] }\n", 2, 53, "line break or control character; remove it from the environment variable"},
    {"providers:\n- { name: a, dialect: openai, url: http://h, keys: [{ acount: b, value: sk-secret }] }\n", 2, 55, "unknown key `acount`; did you mean `account`?"},
    {"providers:\n- { name: a, dialect: openai, url: http://h, keys: [{ account: b }] }\n", 2, 53, "providers[0].keys[0]: `value` is missing (or `command`"},
    {"providers:\n- { name: a, dialect: openai, url: http://h, keys: [{ value: b, command: c }] }\n", 2, 53, "both `value` and `command`"},
    {"providers:\n- { name: a, dialect: openai, url: http://h, keys: [x, { value: b, name: key1 }] }\n", 2, 74, "providers[0].keys[1].name: another key of this provider has the name \"key1\""},
    {"providers:\n- { name: a, dialect: openai, url: http://h, headers: { \"a b\": c } }\n", 2, 57, "not the name of a header"},
    {"providers:\n- { name: a, dialect: openai, url: http://h, headers: { Host: c } }\n", 2, 57, "daruma writes this header itself"},
    {"providers:\n- { name: a, dialect: openai, url: http://h, headers: { X-A: \"a\\r\\nb: c\" } }\n", 2, 62, "line break or control character"},
    /* models */
    {P "models: [{ targets: [a/m] }]\n", 3, 10, "`name` is missing"},
    {P "models: [{ name: m }]\n", 3, 10, "`targets` is missing"},
    {P "models: [{ name: m, targets: [] }]\n", 3, 30, "it is empty"},
    {P "models: [{ name: m, targets: a/m }]\n", 3, 30, "expected a list"},
    {P "models: [{ name: m, targets: [m] }]\n", 3, 31, "models[0].targets[0]: expected a target like provider/model, found \"m\""},
    {P "models: [{ name: m, targets: [a/] }]\n", 3, 31, "expected a target like provider/model"},
    {P "models: [{ name: m, targets: [b/m] }]\n", 3, 31, "there is no provider \"b\""},
    {P "- { name: main, dialect: openai, url: http://h }\nmodels: [{ name: m, targets: [mian/m] }]\n", 4, 31, "did you mean \"main\"?"},
    {P "models: [{ name: m, targets: [a/m, a/m] }]\n", 3, 36, "stands here twice"},
    {P "models: [{ name: m, targets: [a/m] }, { name: m, targets: [a/n] }]\n", 3, 47, "another model has the name \"m\""},
    {P "models: [{ name: m, targets: [a/m], window: big }]\n", 3, 45, "expected a whole number from 1 to 1000000000, or learned, found \"big\""},
    /* clouds */
    {"providers: [{ name: a, dialect: openai, cloud: vertex, url: http://h, keys: [k] }]\n", 1, 48, "write `dialect: anthropic`"},
    {"providers: [{ name: a, dialect: anthropic, cloud: vertex, url: http://h/v1, keys: [k] }]\n", 1, 64, "ends with /publishers/anthropic; write https://aiplatform.googleapis.com/v1/projects/PROJECT"},
    {"providers: [{ name: a, dialect: anthropic, cloud: vertx, url: http://h, keys: [k] }]\n", 1, 51, "one of auto, vertex, bedrock, found \"vertx\"; did you mean vertex?"},
    {"providers: [{ name: a, dialect: anthropic, cloud: bedrock, url: http://h, keys: [AKIAIOSFODNN7EXAMPLE] }]\n", 1, 81, "daruma signs none; make an API key of Bedrock"},
    {"providers: [{ name: a, dialect: anthropic, url: https://bedrock-runtime.us-east-1.amazonaws.com }]\n", 1, 13, "add its own, e.g. keys: [\"${AWS_BEARER_TOKEN_BEDROCK}\"]"},
    {"providers: [{ name: a, dialect: anthropic, url: http://h/v1/projects/p/locations/l/publishers/anthropic }]\n", 1, 13, "add its own, e.g. keys: [{ command: \"gcloud auth print-access-token\" }]"},
    /* traces */
    {P "traces: http://127.0.0.1:4318\n", 3, 9, "expected a mapping"},
    {P "traces: { url: 127.0.0.1:4318 }\n", 3, 16, "expected a URL like http://127.0.0.1:4318/v1/traces, found"},
    {P "traces: { url: \"http://u:pw@h\" }\n", 3, 16, "put it under `headers`"},
    {P "traces: { url: http://h, headers: { Host: c } }\n", 3, 37, "daruma writes this header itself"},
    {P "traces: { to: http://h }\n", 3, 11, "unknown key `to`"},
    /* proxies */
    {"proxy: { https_proxy: \"ftp://user:geheim@p\" }\n", 1, 23, "found [redacted]"},
    // clang-format on
};

static void every_mistake_is_told_with_its_place(void **state)
{
    (void)state;
    int bad = 0;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        config c;
        conf_mistakes e;
        if (read_text(wrong[i].text, &c, &e)) {
            print_error("accepted: %s\n", wrong[i].text);
            bad++;
        } else if (e.at[0].line != wrong[i].line || e.at[0].column != wrong[i].column ||
                   !strstr(first(&e), wrong[i].says)) {
            print_error("%s  got  %d:%d: %s\n  want %d:%d: %s\n", wrong[i].text, e.at[0].line, e.at[0].column,
                        first(&e), wrong[i].line, wrong[i].column, wrong[i].says);
            bad++;
        }
    }
    assert_int_equal(bad, 0);
}

static void no_error_shows_a_secret(void **state)
{
    (void)state;
    static const char *const files[] = {
        "providers:\n- { name: a, dialct: openai, keys: [SECRET-1, { value: SECRET-2 }] }\n",
        "providers:\n- { name: a, dialect: openai, key: SECRET }\n",
        "providers:\n- { name: a, dialect: openai, url: http://h, keys: SECRET }\n",
        "providers:\n- { name: a, dialect: openai, url: http://h, keys: { SECRET: x } }\n",
        "providers:\n- name: a\n  keys:\n  - [SECRET\n",
        "providers:\n- name: a\n  keys: [\n\"SECRET\", SECRET: b: c ]\n",
        "keys: SECRET\nlisten: :x # SECRET\n",
        "listen: x # SECRET\n",
        "listen: :4141\nproxy: { https_proxy: \"ftp://SECRET@h\" }\n",
        "providers:\n- { name: a, dialect: openai, url: \"http://SECRET@h\", keys: [] }\n",
        "providers:\n- { name: a, dialect: openai, url: http://h, headers: { X-Key: [SECRET] } }\n",
        "providers:\n- { name: a, dialect: openai, url: http://h, keys: [\"SECRET\\n\"] }\n",
        "providers:\n- { name: a, dialect: openai, url: http://h, keys: [\"SECRET${NOPE}\"] }\n",
        "providers:\n- { name: a, dialect: openai, url: \"ftp://u:SECRET@h\", keys: [] }\n",
        "SECRET-0123: 1\n",
        "timeouts: { connect: sk-proj-SECRET0123456789 }\n", /* keys where nobody expects them */
        "recovery: { profile: \"sk-proj-SECRET0123456789\" }\n",
        "recovery: { sk-proj-SECRET0123456789: 1 }\n",
        "events: sk-proj-SECRET0123456789\n",
        "providers:\n- { name: a, dialect: sk-proj-SECRET0123456789, url: http://h }\n",
    };
    for (size_t i = 0; i < COUNT(files); i++) {
        config c;
        conf_mistakes e;
        assert_false(read_text(files[i], &c, &e));
        if (strstr(first(&e), "SECRET") || strstr(e.at[0].excerpt, "SECRET"))
            fail_msg("file %zu: %s | %s", i, first(&e), e.at[0].excerpt);
    }
}

static void the_line_is_shown_with_the_place(void **state)
{
    (void)state;
    config c;
    conf_mistakes e;
    assert_false(read_text("timeouts: { connect: soon } # note\n", &c, &e));
    assert_string_equal(e.at[0].excerpt, "timeouts: { connect: soon } *** ***");
    assert_int_equal(e.at[0].caret, 21);
    assert_false(read_text("providers:\n- { keys: [\"${NO}\", \"x${NO}\"], name: ä, url: 1 }\n", &c, &e));
    assert_string_equal(e.at[0].excerpt, "- { keys: [\"${NO}\", \"***{***}\"], name: ä, url: 1 }");
    assert_false(read_text("providers:\n- { keys: [abc, def], name: ä, url: 1 }\n", &c, &e));
    assert_string_equal(e.at[0].excerpt, "- { keys: [***, ***], name: ä, url: 1 }");
    assert_false(read_text("providers:\n  main:\n    url: http://h\n", &c, &e));
    assert_string_equal(e.at[0].excerpt, "  main:");
    assert_false(read_text("providers:\n  sk-proj-SECRET0123456789: x\n", &c, &e));
    assert_string_equal(e.at[0].excerpt, "  ***: ***");
}

static void every_prefix_of_a_file_is_read_or_refused(void **state)
{
    (void)state;
    static const char text[] = "listen: :1\nproviders:\n- name: a\n  dialect: openai\n  url: http://h\n  keys:\n"
                               "  - { command: \"x\", account: &a b }\n  - { value: y, account: *a }\n"
                               "models:\n- { name: m, targets: [a/m/n] }\n";
    for (size_t n = 0; n < sizeof text; n++) {
        daruma_arena a = arena_over(memory, sizeof memory);
        char *copy = malloc(n ? n : 1); /* exactly as long, so that a byte too many is seen */
        memcpy(copy, text, n);
        config c;
        conf_mistakes e;
        if (!config_read((daruma_str){copy, n}, no_env, NULL, &a, &c, &e))
            assert_true(e.n > 0);
        free(copy);
    }
}

static void a_small_arena_is_told(void **state)
{
    (void)state;
    for (size_t n = 0; n < 2000; n += 50) {
        daruma_arena a = arena_over(memory, n);
        config c;
        conf_mistakes e;
        if (!config_read(S(P "models: [{ name: m, targets: [a/m] }]\n"), no_env, NULL, &a, &c, &e))
            assert_non_null(strstr(first(&e), "memory"));
    }
}

/* ---- what is right ------------------------------------------------------------------------ */

static const char sample[] =
    "listen: 127.0.0.1:4141\n"
    "providers:\n"
    "  - name: main\n"
    "    dialect: openai\n"
    "    url: http://127.0.0.1:9100/v1\n"
    "    keys:                                        # a key, or a command that prints one\n"
    "      - { value: \"${KEY_1}\", account: a }\n"
    "      - { command: \"pass show openai\", account: b }\n"
    "  - { name: claude, dialect: anthropic, url: http://127.0.0.1:9100, keys: [\"${KEY_1}\"] }\n"
    "models:\n"
    "  - { name: m-main, targets: [main/m-main, main/m-fallback], window: 128000, max_output: 16384 }\n"
    "timeouts: { connect: 5s, first_byte: 60s, idle: 30s, total: 10m }\n"
    "recovery:\n"
    "  enabled: true\n"
    "  profile: default\n"
    "  on_failure: auto\n"
    "  max_attempts: 4\n"
    "  kinds: { rate_limit: { max_attempts: 6, delay: 2s, factor: 2, max_delay: 60s }, timeout: { max_attempts: 2 } }\n"
    "events: { file: daruma.events.jsonl }\n";

static void the_sample_means_what_it_says(void **state)
{
    (void)state;
    config c;
    conf_mistakes e;
    if (!read_text(sample, &c, &e))
        fail_msg("%d:%d: %s", e.at[0].line, e.at[0].column, first(&e));
    assert_str(c.listen.host, "127.0.0.1");
    assert_int_equal(c.listen.port, 4141);
    assert_int_equal(c.nproviders, 2);
    const config_provider *main = &c.providers[0];
    assert_str(main->name, "main");
    assert_ptr_equal(main->dialect, &dialect_openai);
    assert_str(main->to.prefix, "/v1");
    assert_int_equal(main->to.port, 9100);
    assert_int_equal(main->nkeys, 2);
    assert_str(main->keys[0].value, "sk-live-0123456789abcdef");
    assert_str(main->keys[0].account, "a");
    assert_str(main->keys[0].name, "key1");
    assert_str(main->keys[1].command, "pass show openai");
    assert_str(main->keys[1].name, "key2");
    assert_int_equal(main->keys[1].value.n, 0);
    assert_ptr_equal(c.providers[1].dialect, &dialect_anthropic);
    assert_str(c.providers[1].keys[0].value, "sk-live-0123456789abcdef");
    assert_str(c.providers[1].keys[0].account, "key1");
    assert_int_equal(c.nmodels, 1);
    assert_int_equal(c.models[0].ntargets, 2);
    assert_str(c.models[0].targets[1].model, "m-fallback");
    assert_int_equal(c.models[0].targets[1].provider, 0);
    assert_int_equal(c.models[0].window, 128000);
    assert_int_equal(c.models[0].max_output, 16384);
    assert_int_equal(c.clocks.connect, 5000);
    assert_int_equal(c.clocks.total, 600000);
    assert_true(c.policy.enabled);
    assert_int_equal(c.policy.max_attempts, 4);
    const daruma_kind_policy *k = &c.policy.kinds[DARUMA_RATE_LIMIT];
    assert_int_equal(k->max_attempts, 6);
    assert_int_equal(k->backoff.base, 2000);
    assert_int_equal(k->backoff.factor_milli, 2000);
    assert_int_equal(k->backoff.cap, 60000);
    assert_int_equal(c.policy.kinds[DARUMA_TIMEOUT].max_attempts, 2);
    assert_str(c.events_file, "daruma.events.jsonl");
    assert_int_equal(c.on_failure, DRIVE_FORM_AUTO);
    assert_int_equal(c.body_bytes_max, 64 << 20);
    assert_int_equal(c.connections_max, 8192);
    assert_str(c.https_proxy, "http://u:pw@proxy:3128");
    assert_str(c.no_proxy, "localhost,.corp");
}

static void a_summary_shows_no_secret(void **state)
{
    (void)state;
    config c;
    conf_mistakes e;
    assert_true(read_text(sample, &c, &e));
    static char out[4096];
    daruma_buf b = buf_over(out, sizeof out);
    config_summary(&c, &b);
    assert_int_equal(str_find(buf_str(&b), S("sk-live")), STR_NONE);
    assert_int_equal(str_find(buf_str(&b), S("pw@")), STR_NONE);
    assert_int_not_equal(str_find(buf_str(&b), S("main/m-main, then main/m-fallback")), STR_NONE);
    assert_int_not_equal(str_find(buf_str(&b), S("2 keys (key1 of a, key2 of b, by command)")), STR_NONE);
    size_t before = b.n;
    config_warnings(&c, &b);
    assert_int_equal(b.n, before);
}

static void an_empty_file_is_no_file_with_a_name(void **state)
{
    (void)state;
    static const char *const files[] = {"",    "\n",           "# nothing\n",         "---\n",
                                        "~\n", "\xef\xbb\xbf", "timeouts:\nmodels:\n"};
    for (size_t i = 0; i < COUNT(files); i++) {
        config c;
        conf_mistakes e;
        if (!read_text(files[i], &c, &e))
            fail_msg("%s", first(&e));
        assert_int_equal(c.nproviders, 3);
        assert_int_equal(c.nmodels, 0);
        assert_int_equal(c.clocks.idle, 0); /* nobody knows how long a model thinks */
        assert_int_equal(c.policy.patience, 120000);
        assert_true(c.policy.hedge);
    }
}

static void single_values_are_read(void **state)
{
    (void)state;
    config c;
    conf_mistakes e;
    assert_true(read_text("recovery: { patience: 30s, hedge: off }", &c, &e));
    assert_int_equal(c.policy.patience, 30000);
    assert_false(c.policy.hedge);
    assert_true(read_text("recovery: { patience: none }", &c, &e));
    assert_int_equal(c.policy.patience, -1);
    assert_false(read_text("recovery: { hedge: maybe }", &c, &e));
    assert_true(read_text("timeouts: { connect: 500ms, first_byte: 1m30s, idle: none, total: 1h }", &c, &e));
    assert_int_equal(c.clocks.connect, 500);
    assert_int_equal(c.clocks.first_byte, 90000);
    assert_int_equal(c.plain_first_byte, 90000); /* who writes the one means both */
    assert_int_equal(c.clocks.idle, 0);
    assert_int_equal(c.clocks.total, 3600000);
    assert_true(read_text("limits: { body: 10MB }\nevents: { stderr: on }", &c, &e));
    assert_int_equal(c.body_bytes_max, 10000000);
    assert_true(c.events_stderr);
    assert_true(read_text("limits: { body: 1.5KiB }\nevents: { stderr: false }", &c, &e));
    assert_int_equal(c.body_bytes_max, 1536);
    assert_false(c.events_stderr);
    assert_true(read_text("recovery: { kinds: { timeout: { factor: 1.5, jitter: 0.25 } }, profile: default }", &c, &e));
    assert_int_equal(c.policy.kinds[DARUMA_TIMEOUT].backoff.factor_milli, 1500);
    assert_int_equal(c.policy.kinds[DARUMA_TIMEOUT].backoff.jitter_milli, 250);
    uint32_t rungs = 0;
    const char *const spellings[] = {"recovery: { profile: [swarm, ruby-llm] }",
                                     "recovery:\n  profile:\n    - swarm\n    - ruby-llm\n",
                                     "recovery: { profile: \"swarm, ruby-llm\" }"};
    for (size_t i = 0; i < COUNT(spellings); i++) {
        assert_true(read_text(spellings[i], &c, &e));
        if (i)
            assert_int_equal(c.policy.nrungs, rungs);
        rungs = (uint32_t)c.policy.nrungs;
    }
    assert_false(read_text("recovery: { profile: [] }", &c, &e));
    assert_false(read_text("recovery: { profile: [swarm, [ruby-llm]] }", &c, &e));
    assert_true(read_text("recovery: { profile: \"swarm, ruby-llm\" }", &c, &e));
    assert_int_equal(c.policy.quick.base, 100);
    assert_false(read_text("recovery: { profile: \"swarm, ruby\" }", &c, &e));
    assert_true(read_text("recovery: { kinds: { auth: { delay: 2s } } }", &c, &e)); /* the profile has no cap for it */
    assert_int_equal(c.policy.kinds[DARUMA_AUTH].backoff.base, 2000);
    assert_true(c.policy.kinds[DARUMA_AUTH].backoff.cap >= 2000);
    assert_true(read_text("recovery: { on_failure: message, enabled: no, max_wait: 2m }", &c, &e));
    assert_int_equal(c.on_failure, DRIVE_FORM_MESSAGE);
    assert_false(c.policy.enabled);
    assert_int_equal(c.policy.max_wait, 120000);
    static const struct {
        const char *url, *host;
        int port;
        const char *user, *password;
        int database;
    } stores[] = {
        {"redis://cache", "cache", 6379, "", "", 0},
        {"redis://cache/", "cache", 6379, "", "", 0},
        {"REDIS://10.0.0.7:6380/3", "10.0.0.7", 6380, "", "", 3},
        {"redis://:geheim@cache:1", "cache", 1, "", "geheim", 0},
        {"redis://me:a:b@c@[::1]:65535/65535", "::1", 65535, "me", "a:b@c", 65535},
        {"redis://:p%40s%3As%zz%2@cache", "cache", 6379, "", "p@s:s%zz%2", 0},
        {"redis://:65536", NULL, 0, NULL, NULL, 0},
        {"redis://cache:65536", NULL, 0, NULL, NULL, 0},
        {"redis://:a%00b@cache", NULL, 0, NULL, NULL, 0},
        {"redis://cache:0", NULL, 0, NULL, NULL, 0},
        {"redis://cache:", NULL, 0, NULL, NULL, 0},
        {"redis://", NULL, 0, NULL, NULL, 0},
        {"redis://[::1", NULL, 0, NULL, NULL, 0},
        {"redis://[::1]x", NULL, 0, NULL, NULL, 0},
        {"redis://me@cache", NULL, 0, NULL, NULL, 0},
        {"redis://cache/x", NULL, 0, NULL, NULL, 0},
        {"redis://cache/65536", NULL, 0, NULL, NULL, 0},
        {"rediss://cache", NULL, 0, NULL, NULL, 0},
        {"http://cache", NULL, 0, NULL, NULL, 0},
        {"cache:6379", NULL, 0, NULL, NULL, 0},
    };
    for (size_t i = 0; i < COUNT(stores); i++) {
        char text[128];
        snprintf(text, sizeof text, "store: \"%s\"\n", stores[i].url);
        assert_int_equal(read_text(text, &c, &e), stores[i].host != NULL);
        if (!stores[i].host)
            continue;
        assert_str(c.store.host, stores[i].host);
        assert_int_equal(c.store.port, stores[i].port);
        assert_str(c.store.user, stores[i].user);
        assert_str(c.store.password, stores[i].password);
        assert_int_equal(c.store.database, stores[i].database);
    }
    assert_true(read_text("proxy: { https_proxy: \"\", http_proxy: corp:8080, no_proxy: \"*\" }", &c, &e));
    assert_str(c.https_proxy, "");
    assert_str(c.http_proxy, "http://corp:8080");
    assert_str(c.no_proxy, "*");
}

static void addresses_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text, *host;
        int port;
    } rows[] = {
        {"listen: 127.0.0.1:4141", "127.0.0.1", 4141}, {"listen: :8080", "127.0.0.1", 8080},
        {"listen: localhost:1", "127.0.0.1", 1},       {"listen: \"[::1]:4141\"", "::1", 4141},
        {"listen: 0.0.0.0:4141", "0.0.0.0", 4141},     {"listen: :0", "127.0.0.1", 0},
        {"listen: \":${PORT}\"", "127.0.0.1", 9100},   {"{}", "127.0.0.1", 4141},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        config c;
        conf_mistakes e;
        if (!read_text(rows[i].text, &c, &e))
            fail_msg("%s: %s", rows[i].text, first(&e));
        assert_str(c.listen.host, rows[i].host);
        assert_int_equal(c.listen.port, rows[i].port);
    }
}

static void variables_are_replaced_once(void **state)
{
    (void)state;
    config c;
    conf_mistakes e;
    assert_true(read_text("events: { file: \"a-${SOON}-$${SOON}-${LOOP}-$5\" }", &c, &e));
    assert_str(c.events_file, "a-soon-${SOON}-${LOOP}-$5");
}

/* Paths are handed to the system as they are. */
static void a_value_with_variables_ends_with_a_nul(void **state)
{
    (void)state;
    static char room[1 << 20];
    config c;
    conf_mistakes e;
    char text[600], name[200];
    for (size_t n = 1; n < sizeof name; n++) {
        memset(name, 'a', n);
        name[n] = 0;
        snprintf(text, sizeof text, "{ state: \"${SOON}%s\", events: { file: \"${SOON}%s\" } }", name, name);
        memset(room, 'x', sizeof room);
        daruma_arena a = arena_over(room, sizeof room);
        assert_true(config_read(str_of(text), test_env, NULL, &a, &c, &e));
        assert_int_equal(strlen(c.state.p), c.state.n);
        assert_int_equal(strlen(c.events_file.p), c.events_file.n);
    }
}

static void aliases_and_later_providers_are_understood(void **state)
{
    (void)state;
    config c;
    conf_mistakes e;
    assert_true(read_text("models:\n- { name: x, targets: &t [or/meta/llama-3:free] }\n- { name: y, targets: *t }\n"
                          "providers:\n- { name: or, dialect: openai, url: https://openrouter.ai/api/v1,\n"
                          "    headers: { X-Title: daruma, HTTP-Referer: \"${SOON}\" } }\n",
                          &c, &e));
    assert_str(c.models[1].targets[0].model, "meta/llama-3:free");
    assert_int_equal(c.models[1].window, -1);
    assert_int_equal(c.providers[0].nheaders, 2);
    assert_str(c.providers[0].headers[1].name, "HTTP-Referer");
    assert_str(c.providers[0].headers[1].value, "soon");
}

static void aliases_that_multiply_are_bounded(void **state)
{
    (void)state;
    config c;
    conf_mistakes e;
    assert_false(read_text("a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\n"
                           "providers: [*c,*c,*c]\n",
                           &c, &e));
    assert_false(read_text("providers: &p [*p, *p]\n", &c, &e));
    assert_false(read_text("recovery: &r { kinds: *r }\n", &c, &e));
    static char many[1 << 16];
    daruma_buf b = buf_over(many, sizeof many - 1);
    BUF_LIT(&b, "providers:\n- &p { name: a, dialect: openai, url: http://h, keys: [");
    for (int i = 0; i < 65; i++)
        BUF_LIT(&b, "k,");
    BUF_LIT(&b, "] }\n");
    assert_false(read_text(many, &c, &e));
    assert_non_null(strstr(first(&e), "65 are too many; 64 at most"));
}

static void without_a_file_the_two_providers_are_there(void **state)
{
    (void)state;
    daruma_arena a = arena_over(memory, sizeof memory);
    config c;
    conf_mistakes e;
    assert_true(config_read((daruma_str){0}, no_env, NULL, &a, &c, &e));
    assert_str(c.providers[0].name, "anthropic");
    assert_str(c.providers[0].to.host, "api.anthropic.com");
    assert_true(c.providers[1].to.tls);
    assert_int_equal(c.providers[1].nkeys, 0);
    assert_int_equal(config_provider_of(&c, &dialect_anthropic), 0);
    assert_int_equal(config_provider_of(&c, &dialect_openai), 1);
    assert_int_equal(config_provider_of(&c, &dialect_openai_responses), 1);
    assert_int_equal(c.clocks.first_byte, 0);
    assert_int_equal(c.clocks.total, 0);
    assert_int_equal(c.plain_first_byte, 0); /* models think for minutes */
    assert_str(c.policy.profile ? str_of(c.policy.profile) : S(""), "default");
}

static daruma_str moved_env(daruma_str name, bool *found, void *user)
{
    *found = str_eq(name, S("OPENAI_UPSTREAM_URL"));
    return *found ? str_of(user) : (daruma_str){0};
}

static void the_environment_says_where_the_two_are(void **state)
{
    (void)state;
    daruma_arena a = arena_over(memory, sizeof memory);
    config c;
    conf_mistakes e;
    char moved[] = "http://127.0.0.1:9100/v1", broken[] = "127";
    assert_true(config_read((daruma_str){0}, moved_env, moved, &a, &c, &e));
    assert_int_equal(c.providers[1].to.port, 9100);
    assert_str(c.providers[0].to.host, "api.anthropic.com");
    assert_false(config_read((daruma_str){0}, moved_env, broken, &a, &c, &e));
    assert_non_null(strstr(first(&e), "OPENAI_UPSTREAM_URL: expected a URL like https://api.openai.com"));
    assert_int_equal(e.at[0].line, 0);
}

static int lines_of(daruma_str text)
{
    int n = 0;
    for (; text.n; n++)
        str_cut(&text, '\n');
    return n;
}

static void warnings_name_what_is_hardly_meant(void **state)
{
    (void)state;
    config c;
    conf_mistakes e;
    static char out[4096];
    daruma_buf b = buf_over(out, sizeof out - 1);
    assert_true(read_text("listen: 0.0.0.0:1\ntimeouts: { first_byte: 1h, total: 10m }\nproviders:\n"
                          "- { name: a, dialect: openai, url: http://far.example, keys: [x, x] }\n",
                          &c, &e));
    config_warnings(&c, &b);
    assert_int_equal(lines_of(buf_str(&b)), 4);
    assert_non_null(strstr(out, "provider a: its keys travel unencrypted; use https"));
    assert_non_null(strstr(out, "key1 and key2 are the same key"));
    assert_non_null(strstr(out, "other machines can reach 0.0.0.0, and it speaks no TLS"));
    assert_non_null(strstr(out, "first_byte is longer than total"));
    memset(out, 0, sizeof out);
    b = buf_over(out, sizeof out - 1);
    assert_true(read_text("providers:\n- { name: a, dialect: openai, url: https://a.example }\n"
                          "- { name: b, dialect: openai, url: https://b.example }\n"
                          "models: [{ name: m, targets: [a/x], on_content_filter: b/y }]\n",
                          &c, &e));
    config_warnings(&c, &b);
    assert_int_equal(lines_of(buf_str(&b)), 1);
    assert_non_null(strstr(out, "so b (on_content_filter) is never asked with one; give it `keys`"));
}

static void hosts_and_paths_are_read(void **state)
{
    (void)state;
    config c;
    conf_mistakes e;
    static char out[4096];
    daruma_buf b = buf_over(out, sizeof out - 1);
    assert_true(read_text("hosts: [host.docker.internal, gate]\npassthrough: [/api, /]\n" P, &c, &e));
    assert_int_equal(c.nhosts, 2);
    assert_str(c.hosts[0], "host.docker.internal");
    assert_int_equal(c.npassthrough, 2);
    assert_str(c.passthrough[1], "/");
    config_summary(&c, &b);
    assert_non_null(strstr(out, "  hosts      host.docker.internal, gate\n  paths      /api, /\n"));
    assert_true(read_text(P, &c, &e));
    assert_int_equal(c.nhosts + c.npassthrough, 0);
}

static void traces_go_where_the_file_says(void **state)
{
    (void)state;
    config c;
    conf_mistakes e;
    static char out[4096];
    daruma_buf b = buf_over(out, sizeof out - 1);
    assert_true(read_text(P, &c, &e));
    assert_int_equal(c.traces.host.n, 0);
    assert_true(read_text(P "traces: { url: https://h:4318, headers: { x-key: secret } }\n", &c, &e));
    assert_str(c.traces.authority, "h:4318");
    assert_str(c.traces.prefix, "/v1/traces");
    assert_int_equal(c.ntrace_headers, 1);
    assert_str(c.trace_headers[0].name, "x-key");
    assert_str(c.trace_headers[0].value, "secret");
    config_summary(&c, &b);
    config_json(&c, &b);
    assert_non_null(strstr(out, "  traces     https://h:4318/v1/traces\n"));
    assert_null(strstr(out, "secret"));
    assert_true(read_text(P "traces: { url: http://h/otlp/v1/traces/, headers: { x-key: secret } }\n", &c, &e));
    assert_str(c.traces.prefix, "/otlp/v1/traces");
    out[0] = 0;
    b = buf_over(out, sizeof out - 1);
    config_warnings(&c, &b);
    assert_non_null(strstr(out, "traces: its headers travel unencrypted; use https\n"));
}

/* Targets of one model, in order; the client's key goes to the first that takes it. */
static void the_clients_key_is_meant_for_one_host(void **state)
{
    static const struct {
        const char *providers; /* a letter each: who stands in the model */
        const dialect *asks;
        const char *out; /* those that are out of reach */
    } rows[] = {
        {"ab", &dialect_openai, "b"},           {"ba", &dialect_openai, "a"},
        {"asb", &dialect_openai, "b"}, /* s is another path of a's host */
        {"kab", &dialect_openai, "b"}, /* k has a key, z one of its own header */
        {"akz", &dialect_openai, ""},           {"zab", &dialect_openai, "b"},
        {"cab", &dialect_openai, "b"}, /* c speaks another dialect */
        {"acb", &dialect_anthropic, ""},        {"ab", &dialect_openai_responses, "b"},
        {"arb", &dialect_openai_responses, ""}, /* r alone is asked without conversion */
    };
    static const char providers[] =
        "providers:\n- { name: a, dialect: openai, url: http://a }\n- { name: b, dialect: openai, url: http://b }\n"
        "- { name: s, dialect: openai, url: http://A/second }\n- { name: k, dialect: openai, url: http://k, keys: [x] "
        "}\n"
        "- { name: z, dialect: openai, url: http://z, headers: { Api-Key: x } }\n"
        "- { name: c, dialect: anthropic, url: http://c }\n- { name: r, dialect: openai-responses, url: http://r }\n";
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        static char text[2048], out[4096];
        char reached[8];
        daruma_buf b = buf_over(text, sizeof text - 1), tells = buf_over(out, sizeof out - 1);
        size_t n = 0;
        config c;
        conf_mistakes e;
        buf_printf(&b, "%smodels: [{ name: m, targets: [", providers);
        for (const char *p = rows[i].providers; *p; p++)
            buf_printf(&b, "%s%c/m", p == rows[i].providers ? "" : ", ", *p);
        BUF_LIT(&b, "] }]\n");
        text[b.n] = 0;
        assert_true(read_text(text, &c, &e));
        for (size_t k = 0; rows[i].providers[k]; k++)
            if (config_out_of_reach(&c, &c.models[0], rows[i].asks, k))
                reached[n++] = rows[i].providers[k];
        reached[n] = 0;
        assert_string_equal(reached, rows[i].out);
        config_warnings(&c, &tells);
        out[tells.n] = 0;
        if (n)
            assert_non_null(strstr(out, "clients' keys go to its first target without keys"));
    }
}

/* ---- paths ------------------------------------------------------------------------------------ */

static void v1_stands_once_in_an_upstream_path(void **state)
{
    (void)state;
    static const struct {
        const char *prefix, *path, *want;
    } rows[] = {
        {"/v1", "/v1/chat/completions", "/v1/chat/completions"},
        {"/v1", "/chat/completions", "/v1/chat/completions"},
        {"/v1", "/v1", "/v1"},
        {"/v1", "/v1?a=b", "/v1?a=b"},
        {"/v1", "/v1/models?limit=/v1/", "/v1/models?limit=/v1/"},
        {"/v1", "/v10/models", "/v1/v10/models"},
        {"/api/v1", "/v1/chat/completions", "/api/v1/chat/completions"},
        {"/api/paas/v4", "/v1/chat/completions", "/api/paas/v4/chat/completions"},
        {"/api/paas/v4", "/api/paas/v4/chat/completions", "/api/paas/v4/chat/completions"},
        {"/openai/v1", "/openai/v1/chat/completions", "/openai/v1/chat/completions"},
        {"/v1", "/openai/v1/chat/completions", "/v1/chat/completions"},
        {"/v1", "/openai/v1/chat/completions?x=/v1/", "/v1/chat/completions?x=/v1/"},
        {"/api/paas/v4", "/openai/v1/chat/completions", "/api/paas/v4/chat/completions"},
        {"/v1", "/chat/completions?x=/v1/", "/v1/chat/completions?x=/v1/"},
        {"/v1", "/openai/deployments/d/chat/completions", "/v1/openai/deployments/d/chat/completions"},
        {"", "/openai/v1/chat/completions", "/openai/v1/chat/completions"},
        {"", "/openai/deployments/d/chat/completions?api-version=1",
         "/openai/deployments/d/chat/completions?api-version=1"},
        {"/openai/v1", "/openai/v1", "/openai/v1/openai/v1"},
        {"/openai/v1", "/openai/v10/models", "/openai/v1/openai/v10/models"},
        {"/v1beta/openai", "/v1/chat/completions", "/v1beta/openai/chat/completions"},
        {"/v1/a/g", "/anthropic/v1/messages", "/v1/a/g/anthropic/v1/messages"}, /* Cloudflare's */
        {"/v1/a/g", "/v1/a/g/anthropic/v1/messages", "/v1/a/g/anthropic/v1/messages"},
        {"/v1beta/openai", "/chat/completions", "/v1beta/openai/chat/completions"},
        {"", "/v1/messages", "/v1/messages"},
        {"", "/v1/messages?beta=true", "/v1/messages?beta=true"},
        {"", "/messages", "/v1/messages"},
        {"", "/chat/completions", "/v1/chat/completions"},
        {"", "/chat/completions?x=/v1/", "/v1/chat/completions?x=/v1/"},
        {"", "/v1beta/models", "/v1beta/models"},
        {"", "/", "/"},
        {"", "/api/hello?x=1", "/api/hello?x=1"},
        {"", "*", "*"},
        {"/anthropic", "/v1/messages", "/anthropic/v1/messages"},
        {"/openai/deployments/x", "/chat/completions?api-version=1",
         "/openai/deployments/x/chat/completions?api-version=1"},
        {"/vx", "/v1/messages", "/vx/v1/messages"},
        {"/vx", "/vx/v1/messages", "/vx/v1/messages"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a = arena_over(memory, sizeof memory);
        config_provider p = {.to.prefix = str_of(rows[i].prefix)};
        assert_str(config_upstream_path(&p, str_of(rows[i].path), &a), rows[i].want);
    }
}

/* A client of another host of the same dialect: what its SDK says before "/v1" is that host's. */
static void another_hosts_base_path_gives_way_within_a_dialect(void **state)
{
    (void)state;
    static const struct {
        const char *prefix, *path, *want;
    } rows[] = {
        {"/v1beta/openai", "/openai/v1/chat/completions", "/v1beta/openai/chat/completions"},
        {"/v1beta/openai", "/api/v1/chat/completions", "/v1beta/openai/chat/completions"},
        {"/v1/a/g/openai", "/openai/v1/chat/completions", "/v1/a/g/openai/chat/completions"},
        {"/v1/a/g", "/anthropic/v1/messages", "/v1/a/g/anthropic/v1/messages"}, /* another dialect's words */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a = arena_over(memory, sizeof memory);
        config_provider p = {.to.prefix = str_of(rows[i].prefix), .dialect = &dialect_openai};
        assert_str(config_upstream_path(&p, str_of(rows[i].path), &a), rows[i].want);
    }
}

/* https://developers.cloudflare.com/ai-gateway/usage/providers/anthropic/ */
static void a_version_within_a_base_of_anthropics_is_the_gateways(void **state)
{
    (void)state;
    static const struct {
        const char *prefix, *path, *want, *own;
    } rows[] = {
        {"/v1/a/g/anthropic", "/v1/messages", "/v1/a/g/anthropic/v1/messages", "/v1/a/g/anthropic/v1/messages"},
        {"/v1/a/g/anthropic", "/v1/models", "/v1/a/g/anthropic/v1/models", "/v1/a/g/anthropic/v1/models"},
        {"/v1/a/g/anthropic/v1", "/v1/messages", "/v1/a/g/anthropic/v1/messages", "/v1/a/g/anthropic/v1/messages"},
        {"/v1/a/g", "/anthropic/v1/messages", "/v1/a/g/anthropic/v1/messages", "/v1/a/g/anthropic/v1/messages"},
        {"/anthropic", "/v1/messages", "/anthropic/v1/messages", "/anthropic/v1/messages"},
        {"/v1", "/v1/messages", "/v1/messages", "/v1/messages"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a = arena_over(memory, sizeof memory);
        config_provider p = {.to.prefix = str_of(rows[i].prefix), .dialect = &dialect_anthropic};
        assert_str(config_upstream_path(&p, str_of(rows[i].path), &a), rows[i].want);
        assert_str(config_own_path(&p, str_of(rows[i].path), &a), rows[i].own);
    }
}

static void googles_versions_and_uploads_stand_where_google_has_them(void **state)
{
    (void)state;
    static const struct {
        const char *prefix, *path, *want;
    } rows[] = {
        {"/v1beta", "/upload/v1beta/files", "/upload/v1beta/files"},
        {"/v1beta", "/upload/v1beta/files?upload_id=a/v1/b", "/upload/v1beta/files?upload_id=a/v1/b"},
        {"/v1beta", "/upload/v1/files", "/upload/v1beta/files"},
        {"/v1beta", "/upload/v1alpha/files", "/upload/v1alpha/files"},
        {"/v1beta", "/download/v1beta/files/f:download?alt=media", "/download/v1beta/files/f:download?alt=media"},
        {"/google/v1beta", "/upload/v1beta/files", "/google/upload/v1beta/files"},
        {"/v1beta", "/v1alpha/auth_tokens", "/v1alpha/auth_tokens"},
        {"/v1beta", "/v1alpha/models/g:generateContent", "/v1alpha/models/g:generateContent"},
        {"/v1beta", "/v1/models", "/v1beta/models"},
        {"/v1beta", "/v1beta/models", "/v1beta/models"},
        {"/v1beta", "/models", "/v1beta/models"},
        {"/v1beta", "/upload", "/v1beta/upload"},
        {"/v1beta", "/upload/files", "/v1beta/upload/files"},
        {"", "/upload/v1beta/files", "/upload/v1beta/files"},
        {"/google", "/upload/v1beta/files", "/google/upload/v1beta/files"},
        {"/v1beta/openai", "/upload/v1beta/files", "/v1beta/openai/upload/v1beta/files"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a = arena_over(memory, sizeof memory);
        config_provider p = {.to.prefix = str_of(rows[i].prefix), .dialect = &dialect_gemini};
        assert_str(config_upstream_path(&p, str_of(rows[i].path), &a), rows[i].want);
    }
    static const struct {
        const char *prefix, *want;
    } own[] = {{"", "/v1beta/models/g:generateContent"},
               {"/google", "/google/v1beta/models/g:generateContent"},
               {"/v1alpha", "/v1alpha/models/g:generateContent"},
               {"/google/v1", "/google/v1/models/g:generateContent"}};
    for (size_t i = 0; i < COUNT(own); i++) {
        daruma_arena a = arena_over(memory, sizeof memory);
        config_provider p = {.to.prefix = str_of(own[i].prefix), .dialect = &dialect_gemini};
        assert_str(config_own_path(&p, S("/v1beta/models/g:generateContent"), &a), own[i].want);
    }
    daruma_arena a = arena_over(memory, sizeof memory);
    config_provider other = {.to.prefix = S("/v1"), .dialect = &dialect_openai};
    assert_str(config_upstream_path(&other, S("/v1alpha/x"), &a), "/v1/v1alpha/x");
}

/* ---- the table itself ---------------------------------------------------------------------------- */

static void the_document_has_the_table_as_it_is_printed(void **state)
{
    (void)state;
    static char out[1 << 16], text[1 << 17];
    daruma_buf b = buf_over(out, sizeof out);
    config_options_print(&b);
    assert_false(b.full);
    FILE *f = fopen("doc/config.md", "rb");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text, f);
    fclose(f);
    if (str_find((daruma_str){text, n}, buf_str(&b)) == STR_NONE)
        fail_msg("doc/config.md: put in what `daruma check --options` prints");
}

static void a_provider_at_our_own_address_is_seen(void **state)
{
    static const struct {
        const char *listen, *url;
        bool self;
    } rows[] = {
        {"127.0.0.1:4141", "http://127.0.0.1:4141/v1", true},
        {"127.0.0.1:4141", "http://localhost:4141", true},
        {"127.0.0.1:4141", "http://api.localhost:4141", true},
        {"10.0.0.1:4141", "http://localhost:4141", false},
        {"0.0.0.0:4141", "http://127.0.0.1:4141", true},
        {"[::]:4141", "http://[::1]:4141", true},
        {"[::1]:80", "http://[::1]", true},
        {"127.0.0.1:4141", "http://127.0.0.1:4142", false},
        {"127.0.0.1:4141", "http://h:4141", false},
        {"127.0.0.1:4141", "https://127.0.0.1:4141", false},
        {"127.0.0.1:4141", "http://127.0.0.2:4141", false},
        {"127.0.0.1:0", "http://127.0.0.1:4141", false},
        {"10.0.0.1:4141", "http://127.0.0.1:4141", false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        static char room[1 << 16];
        char text[256];
        daruma_arena a = arena_over(room, sizeof room);
        config c;
        conf_mistakes e;
        int n =
            snprintf(text, sizeof text, "listen: \"%s\"\nproviders: [ { name: a, dialect: openai, url: \"%s\" } ]\n",
                     rows[i].listen, rows[i].url);
        assert_true(config_read((daruma_str){text, (size_t)n}, NULL, NULL, &a, &c, &e));
        if (config_is_self(&c, &c.providers[0]) != rows[i].self)
            fail_msg("%s and %s", rows[i].listen, rows[i].url);
    }
}

static void a_cloud_is_known_by_its_url_or_by_name(void **state)
{
    static const struct {
        const char *rest;
        config_cloud cloud;
        const char *field, *value;
    } rows[] = {
        {"dialect: anthropic, url: https://h", CONFIG_NO_CLOUD, "x-api-key", "k"},
        {"dialect: anthropic, url: "
         "https://eu-aiplatform.googleapis.com/v1/projects/p/locations/eu/publishers/anthropic",
         CONFIG_VERTEX, "authorization", "Bearer k"},
        {"dialect: anthropic, url: http://h/google/publishers/anthropic/", CONFIG_VERTEX, "authorization", "Bearer k"},
        {"dialect: anthropic, cloud: vertex, url: http://h/publishers/anthropic", CONFIG_VERTEX, "authorization",
         "Bearer k"},
        {"dialect: anthropic, url: https://bedrock-runtime.us-east-1.amazonaws.com", CONFIG_BEDROCK, "authorization",
         "Bearer k"},
        {"dialect: anthropic, url: https://bedrock-runtime-fips.us-east-1.amazonaws.com/", CONFIG_BEDROCK,
         "authorization", "Bearer k"},
        {"dialect: anthropic, url: https://vpce-0a1-b2.bedrock-runtime.us-east-1.vpce.amazonaws.com", CONFIG_BEDROCK,
         "authorization", "Bearer k"},
        {"dialect: anthropic, url: https://bedrock-runtime.us-east-1.amazonaws.com/anthropic", CONFIG_NO_CLOUD,
         "x-api-key", "k"},
        {"dialect: openai, url: https://bedrock-runtime.us-east-1.amazonaws.com", CONFIG_NO_CLOUD, "authorization",
         "Bearer k"},
        {"dialect: anthropic, url: https://bedrock-runtime.example.com", CONFIG_NO_CLOUD, "x-api-key", "k"},
        {"dialect: anthropic, url: https://my-bedrock-runtime.us-east-1.amazonaws.com", CONFIG_NO_CLOUD, "x-api-key",
         "k"},
        {"dialect: anthropic, cloud: bedrock, url: http://h/proxy", CONFIG_BEDROCK, "authorization", "Bearer k"},
        {"dialect: gemini, url: http://h/v1/projects/p/locations/l/publishers/anthropic", CONFIG_NO_CLOUD,
         "x-goog-api-key", "k"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        config c;
        conf_mistakes e;
        char text[400], room[64];
        daruma_arena a = arena_over(room, sizeof room);
        snprintf(text, sizeof text, "providers: [{ name: a, keys: [k], %s }]\n", rows[i].rest);
        if (!read_text(text, &c, &e))
            fail_msg("%s: %s", rows[i].rest, first(&e));
        daruma_header h = config_key_field(&c.providers[0], S("k"), &a);
        assert_int_equal(c.providers[0].cloud, rows[i].cloud);
        assert_str(h.name, rows[i].field);
        assert_str(h.value, rows[i].value);
        assert_true(config_has_key(&c.providers[0]));
    }
}

static void paths_without_a_dialect_go_to_no_cloud(void **state)
{
    (void)state;
    static const char cloud[] =
        "{ name: v, dialect: anthropic, url: http://h/publishers/anthropic, headers: { Authorization: x } }";
    config c;
    conf_mistakes e;
    char text[400];
    snprintf(text, sizeof text, "providers: [%s]\n", cloud);
    assert_true(read_text(text, &c, &e));
    assert_int_equal(config_provider_of(&c, &dialect_anthropic), 0);
    assert_int_equal(config_provider_of_path(&c, &dialect_anthropic), -1);
    snprintf(text, sizeof text, "providers: [%s, { name: a, dialect: anthropic, url: http://h }]\n", cloud);
    assert_true(read_text(text, &c, &e));
    assert_int_equal(config_provider_of(&c, &dialect_anthropic), 0);
    assert_int_equal(config_provider_of_path(&c, &dialect_anthropic), 1);
    assert_int_equal(config_provider_of_path(&c, &dialect_gemini), 1);
}

static void rows_of_judge_come_first(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *body;
        daruma_kind kind;
        daruma_ms wait;
    } rows[] = {
        {400, "{\"error\":{\"code\":\"Slow_Down\",\"message\":\"hm\"}}", DARUMA_RATE_LIMIT, 5000},
        {400, "{\"error\":{\"message\":\"In your project there are No Plums left\"}}", DARUMA_QUOTA, -1},
        {418, "{\"error\":{\"message\":\"prompt is too long: 9 tokens > 8 maximum\"}}", DARUMA_OVERLOADED, -1},
        {400, "{\"error\":{\"message\":\"prompt is too long: 9 tokens > 8 maximum\"}}", DARUMA_CONTEXT_LENGTH, -1},
    };
    static char room[1 << 18];
    daruma_arena a = arena_over(room, sizeof room);
    config c;
    conf_mistakes e;
    assert_true(config_read(S("judge:\n  - { kind: rate_limit, code: slow_down, wait: 5s }\n"
                              "  - { kind: quota, words: [no pears left, no Plums left] }\n"
                              "  - { kind: overloaded, status: 418 }\n"),
                            no_env, NULL, &a, &c, &e));
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_evidence ev = {.status = rows[i].status, .body = str_of(rows[i].body)};
        daruma_failure f = daruma_classify(&ev, at(0), &a);
        f = daruma_judge(&c.policy, &ev, &f);
        if (f.kind != rows[i].kind || f.wait != rows[i].wait)
            fail_msg("row %zu: %s, %lld ms", i, daruma_kind_name(f.kind), (long long)f.wait);
    }
    assert_false(config_read(S("judge: [ { kind: quota, wait: 3s } ]\n"), no_env, NULL, &a, &c, &e));
    assert_false(config_read(S("judge: [ { kind: rate_limt, code: x } ]\n"), no_env, NULL, &a, &c, &e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_mistake_is_told_with_its_place),
        cmocka_unit_test(no_error_shows_a_secret),
        cmocka_unit_test(the_line_is_shown_with_the_place),
        cmocka_unit_test(every_prefix_of_a_file_is_read_or_refused),
        cmocka_unit_test(a_small_arena_is_told),
        cmocka_unit_test(the_sample_means_what_it_says),
        cmocka_unit_test(a_summary_shows_no_secret),
        cmocka_unit_test(an_empty_file_is_no_file_with_a_name),
        cmocka_unit_test(single_values_are_read),
        cmocka_unit_test(addresses_are_read),
        cmocka_unit_test(variables_are_replaced_once),
        cmocka_unit_test(a_value_with_variables_ends_with_a_nul),
        cmocka_unit_test(aliases_and_later_providers_are_understood),
        cmocka_unit_test(aliases_that_multiply_are_bounded),
        cmocka_unit_test(without_a_file_the_two_providers_are_there),
        cmocka_unit_test(the_environment_says_where_the_two_are),
        cmocka_unit_test(warnings_name_what_is_hardly_meant),
        cmocka_unit_test(hosts_and_paths_are_read),
        cmocka_unit_test(traces_go_where_the_file_says),
        cmocka_unit_test(the_clients_key_is_meant_for_one_host),
        cmocka_unit_test(v1_stands_once_in_an_upstream_path),
        cmocka_unit_test(another_hosts_base_path_gives_way_within_a_dialect),
        cmocka_unit_test(a_version_within_a_base_of_anthropics_is_the_gateways),
        cmocka_unit_test(googles_versions_and_uploads_stand_where_google_has_them),
        cmocka_unit_test(the_document_has_the_table_as_it_is_printed),
        cmocka_unit_test(a_provider_at_our_own_address_is_seen),
        cmocka_unit_test(a_cloud_is_known_by_its_url_or_by_name),
        cmocka_unit_test(paths_without_a_dialect_go_to_no_cloud),
        cmocka_unit_test(rows_of_judge_come_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
