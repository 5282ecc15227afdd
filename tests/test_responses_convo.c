#include "test.h"
#include "dialect/dialect.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"

static char mem[1 << 20];
static const dialect *const r = &dialect_openai_responses;

#define ASK                                                                                                            \
    "{\"role\": \"user\", \"content\": [ {\"type\":\"input_text\",\"text\":\"Wh\\u0061t?\"}, "                         \
    "{\"type\":\"input_image\",\"detail\":\"low\",\"image_url\":\"data:image/png;base64,QUJD\"} ]}"
#define DEV "{\"type\":\"message\",\"role\":\"developer\",\"content\":\"Be brief\"}"
#define THINK                                                                                                          \
    "{\"id\":\"rs_1\",\"type\":\"reasoning\",\"summary\":[{\"type\":\"summary_text\",\"text\":\"hm\"}],\"encrypted_"   \
    "content\":\"ZW5j\"}"
#define CALL                                                                                                           \
    "{\"type\":\"function_call\", "                                                                                    \
    "\"id\":\"fc_1\",\"call_id\":\"call_1\",\"name\":\"read\",\"arguments\":\"{\\\"p\\\":1}\",\"status\":"             \
    "\"completed\"}"
#define OUT    "{\"type\":\"function_call_output\",\"call_id\":\"call_1\",\"output\":\"a\\nb\"}"
#define CUSTOM "{\"type\":\"custom_tool_call\",\"call_id\":\"call_2\",\"name\":\"sh\",\"input\":\"ls -l\"}"
#define CUSTOM_OUT                                                                                                     \
    "{\"type\":\"custom_tool_call_output\",\"call_id\":\"call_2\",\"output\":[{\"type\":\"input_text\",\"text\":"      \
    "\"x\"},{\"type\":\"input_image\",\"image_url\":\"https://e.org/i.png\"}]}"
#define SEARCH "{\"type\":\"web_search_call\",\"id\":\"ws_1\",\"status\":\"completed\"}"
#define SAID                                                                                                           \
    "{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"status\":\"completed\",\"content\":[{\"type\":"   \
    "\"output_text\",\"annotations\":[],\"text\":\"Done\"}, {\"type\":\"refusal\",\"refusal\":\"no\"}]}"
#define REQUEST                                                                                                        \
    " {\n \"model\" : \"gpt-5\", \"instructions\": \"You\\nare\" ,\n \"input\" : [ " DEV " ,\n" ASK "," THINK          \
    ",\n  " CALL "," OUT "," CUSTOM "," CUSTOM_OUT "," SEARCH "," SAID                                                 \
    " ],\n \"tools\":[{\"type\":\"function\",\"name\":"                                                                \
    "\"read\",\"description\":\"Reads\",\"parameters\":{\"type\":\"object\"},\"strict\":true},{\"type\":\"custom\","   \
    "\"name\":\"sh\"},{\"type\":\"web_search\"}],\"tool_choice\":{\"type\":\"function\",\"name\":\"read\"},"           \
    "\"text\":{\"verbosity\":\"low\",\"format\":{\"type\":\"json_schema\",\"name\":\"out\",\"schema\":{\"type\":"      \
    "\"object\"},\"strict\":true}},\"max_output_tokens\":100,\"temperature\":0.5,\"top_p\":null,\"reasoning\":"        \
    "{\"effort\":\"low\",\"summary\":\"auto\"},\"parallel_tool_calls\":false,\"store\":false,\"stream\":true,"         \
    "\"include\":[\"reasoning.encrypted_content\"],\"user\":\"u\",\"unknown\":[1, 2]}\n"

static convo read_it(const char *body, daruma_arena *a)
{
    convo c;
    *a = arena_over(mem, sizeof mem);
    assert_int_equal(r->read(str_of(body), a, &c), DARUMA_OK);
    return c;
}

static daruma_str written(const convo *c)
{
    static char out[1 << 16];
    daruma_buf b = buf_over(out, sizeof out);
    r->write(c, &b);
    assert_false(b.full);
    if (!json_valid(buf_str(&b)))
        fail_msg("not JSON: " STR_FMT, STR_ARG(buf_str(&b)));
    return buf_str(&b);
}

/* What is written is `before` with `old`, which stands there once, replaced. */
static void assert_replaced(const convo *c, const char *before, const char *old, const char *fresh)
{
    static char want[1 << 16];
    daruma_str body = str_trim(str_of(before));
    size_t at = str_find(body, str_of(old));
    assert_true(at != STR_NONE);
    daruma_buf b = buf_over(want, sizeof want);
    buf_put(&b, str_sub(body, 0, at));
    buf_putz(&b, fresh);
    buf_put(&b, str_from(body, at + strlen(old)));
    daruma_str got = str_trim(written(c));
    if (!str_eq(got, buf_str(&b)))
        fail_msg("got\n" STR_FMT "\nwant\n" STR_FMT, STR_ARG(got), STR_ARG(buf_str(&b)));
}

static void a_request_is_read(void **state)
{
    (void)state;
    daruma_arena a;
    convo c = read_it(REQUEST, &a);
    const convo_message *m = c.messages;
    static const convo_role roles[] = {CONVO_SYSTEM, CONVO_SYSTEM,    CONVO_USER, CONVO_ASSISTANT, CONVO_ASSISTANT,
                                       CONVO_TOOL,   CONVO_ASSISTANT, CONVO_TOOL, CONVO_ASSISTANT, CONVO_ASSISTANT};
    assert_int_equal(c.nmessages, 10);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(m[i].role, roles[i]);
    assert_true(m[0].apart && !m[1].apart);
    assert_str(convo_text(&c, &m[0].parts[0]), "You\nare");
    assert_str(convo_wire_role(&m[1]), "developer");
    assert_str(convo_text(&c, &m[1].parts[0]), "Be brief");
    assert_str(convo_text(&c, &m[2].parts[0]), "What?");
    assert_int_equal(m[2].parts[1].kind, PART_MEDIA);
    assert_str(m[2].parts[1].media_type, "image/png");
    assert_str(m[2].parts[1].media, "QUJD");
    assert_int_equal(m[3].parts[0].kind, PART_THINKING);
    assert_true(m[3].parts[0].sealed && !m[3].parts[0].remote);
    assert_str(m[3].parts[0].signature, "ZW5j");
    assert_str(convo_text(&c, &m[3].parts[0]), "hm");
    assert_int_equal(m[4].parts[0].kind, PART_CALL);
    assert_str(m[4].parts[0].id, "call_1");
    assert_str(m[4].parts[0].name, "read");
    assert_str(convo_text(&c, &m[4].parts[0]), "{\"p\":1}");
    assert_int_equal(m[5].parts[0].kind, PART_RESULT);
    assert_str(m[5].parts[0].id, "call_1");
    assert_str(convo_text(&c, &m[5].parts[0]), "a\nb");
    assert_str(convo_text(&c, &m[6].parts[0]), "ls -l");
    assert_int_equal(m[7].parts[0].nparts, 2);
    assert_int_equal(m[7].parts[0].parts[1].kind, PART_MEDIA);
    assert_true(m[7].parts[0].parts[1].media_url);
    assert_str(convo_text(&c, &m[7].parts[0]), "x");
    assert_int_equal(m[8].parts[0].kind, PART_OTHER);
    assert_str(convo_text(&c, &m[9].parts[0]), "Done");
    assert_str(convo_text(&c, &m[9].parts[1]), "no");

    assert_int_equal(c.ntools, 3);
    assert_str(c.tools[0].name, "read");
    assert_str(c.tools[0].schema, "{\"type\":\"object\"}");
    assert_str(convo_schema_path(&c.tools[0], c.arena), "tools.0.parameters");
    assert_true(!c.tools[1].hosted && !c.tools[1].schema.n);
    assert_true(c.tools[2].hosted);

    const convo_settings *s = &c.set;
    assert_str(s->model, "gpt-5");
    assert_int_equal(s->stream, 1);
    assert_int_equal(s->max_output, 100);
    assert_str(s->max_output_path, "max_output_tokens");
    assert_str(s->temperature, "0.5");
    assert_int_equal(s->top_p.n, 0);
    assert_int_equal(s->choice, CHOICE_ONE);
    assert_str(s->choice_name, "read");
    assert_int_equal(s->parallel, 0);
    assert_int_equal(s->format, FORMAT_SCHEMA);
    assert_str(s->format_name, "out");
    assert_str(s->effort, "low");
    assert_int_equal(s->thinking, 1);
    assert_str(s->user, "u");
    assert_false(c.remote || c.before || c.edited || c.full);
    assert_true(written(&c).n == strlen(REQUEST));
    assert_str(written(&c), REQUEST);
}

static void odd_requests_are_read_and_kept(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "{\"input\":\"hi\"}",
        "{\"input\":\"\"}",
        "{\"input\":[]}",
        "{\"input\":null,\"previous_response_id\":\"resp_1\"}",
        "{\"prompt\":{\"id\":\"pmpt_1\"}}",
        "{\"instructions\":null,\"input\":[{\"role\":\"user\",\"content\":\"hi\"},{\"id\":\"msg_2\"}]}",
        "{\"instructions\":[1],\"input\":[1,null,\"x\",[],{},{\"type\":7},{\"role\":7},{\"type\":\"message\"},{"
        "\"type\":"
        "\"message\",\"role\":\"user\",\"content\":[1,null,\"x\",{},{\"type\":\"input_text\"},{\"type\":\"input_"
        "image\"},"
        "{\"type\":\"input_file\"}]},{\"type\":\"function_call\"},{\"type\":\"function_call_output\"},{\"type\":"
        "\"function_call_output\",\"output\":[1,{}]},{\"type\":\"reasoning\"},{\"type\":\"custom_tool_call\"},{"
        "\"type\":"
        "\"new\"}],\"tools\":[1,{},{\"type\":\"function\"}],\"tool_choice\":7,\"text\":7,\"reasoning\":7}",
        "{\"input\":[],\"tools\":{},\"text\":{},\"tool_choice\":{},\"max_output_tokens\":\"x\"}",
    };
    for (size_t i = 0; i < COUNT(bodies); i++) {
        daruma_arena a;
        convo c = read_it(bodies[i], &a);
        assert_str(written(&c), bodies[i]);
        c.edited = true; /* now all of it is walked */
        assert_str(written(&c), bodies[i]);
        for (size_t k = 0; k < c.nmessages; k++)
            c.messages[k].edited = true; /* whatever it becomes, it is JSON, and it can be read again */
        daruma_arena b = arena_over(mem + sizeof mem / 2, sizeof mem / 2);
        a.end = mem + sizeof mem / 2;
        convo again;
        assert_int_equal(r->read(written(&c), &b, &again), DARUMA_OK);
    }
}

static void what_is_no_request_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "", "{}", "[]", "{\"input\":7}", "{\"input\":{}}", "{\"input\":[}", "{\"input\":null}", "{\"input\":[]}x"};
    static char deep[4096];
    daruma_arena a = arena_over(mem, sizeof mem);
    convo c;
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(r->read(str_of(bad[i]), &a, &c), DARUMA_EINPUT);
    daruma_buf b = buf_over(deep, sizeof deep);
    BUF_LIT(&b, "{\"input\":");
    for (int i = 0; i < 600; i++)
        buf_putc(&b, '[');
    for (int i = 0; i < 600; i++)
        buf_putc(&b, ']');
    buf_putc(&b, '}');
    assert_int_equal(r->read(buf_str(&b), &a, &c), DARUMA_EDEEP);
    a = arena_over(mem, 900);
    assert_int_equal(r->read(S(REQUEST), &a, &c), DARUMA_EFULL);
}

static void what_lives_on_the_server_is_seen(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        bool remote, before;
    } rows[] = {
        {"{\"input\":\"x\",\"previous_response_id\":\"resp_1\"}", true, true},
        {"{\"input\":\"x\",\"conversation\":\"conv_1\"}", true, true},
        {"{\"input\":\"x\",\"conversation\":{\"id\":\"conv_1\"}}", true, true},
        {"{\"input\":\"x\",\"prompt\":{\"id\":\"pmpt_1\"}}", true, false},
        {"{\"input\":[{\"type\":\"item_reference\",\"id\":\"fc_1\"}]}", true, false},
        {"{\"input\":[{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[]}]}", true, false},
        {"{\"store\":false,\"input\":[{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[]}]}", false, false},
        {"{\"input\":[{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],\"encrypted_content\":\"x\"}]}", false,
         false},
        {"{\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_file\",\"file_id\":\"file-1\"}]}]}", true,
         false},
        {"{\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_image\",\"file_id\":\"file-1\"}]}]}", true,
         false},
        {"{\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_file\",\"file_url\":\"https://e.org/x\"}]}]}",
         false, false},
        {"{\"input\":\"x\",\"tools\":[{\"type\":\"file_search\",\"vector_store_ids\":[\"vs_1\"]}]}", true, false},
        {"{\"input\":\"x\",\"previous_response_id\":null,\"conversation\":null,\"prompt\":null}", false, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a;
        convo c = read_it(rows[i].body, &a);
        if (c.remote != rows[i].remote || c.before != rows[i].before)
            fail_msg("remote %d, before %d: %s", c.remote, c.before, rows[i].body);
    }
}

static void one_edit_changes_one_thing(void **state)
{
    (void)state;
    daruma_arena a;
    static const struct {
        size_t message, part;
        const char *text, *old, *fresh;
    } rows[] = {
        {0, 0, "He \"is\"", "\"You\\nare\"", "\"He \\\"is\\\"\""},
        {1, 0, "Long", "\"Be brief\"", "\"Long\""},
        {2, 0, "Why?", "\"Wh\\u0061t?\"", "\"Why?\""},
        {4, 0, "{\"p\":2}", "\"{\\\"p\\\":1}\"", "\"{\\\"p\\\":2}\""},
        {5, 0, "short", "\"a\\nb\"", "\"short\""},
        {6, 0, "pwd", "\"ls -l\"", "\"pwd\""},
        {7, 0, "gone",
         "[{\"type\":\"input_text\",\"text\":\"x\"},{\"type\":\"input_image\",\"image_url\":\"https://e.org/i.png\"}]",
         "\"gone\""},
        {9, 0, "Did", "\"Done\"", "\"Did\""},
        {9, 1, "yes", "\"refusal\":\"no\"", "\"refusal\":\"yes\""},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        convo c = read_it(REQUEST, &a);
        convo_message *m = &c.messages[rows[i].message];
        convo_set_text(&c, m, &m->parts[rows[i].part], str_of(rows[i].text));
        assert_replaced(&c, REQUEST, rows[i].old, rows[i].fresh);
    }
    convo c = read_it(REQUEST, &a);
    convo_set_text(&c, &c.messages[7], &c.messages[7].parts[0].parts[0], S("y"));
    assert_replaced(&c, REQUEST, "\"text\":\"x\"", "\"text\":\"y\"");
    c = read_it(REQUEST, &a);
    convo_drop_part(&c, &c.messages[7], &c.messages[7].parts[0].parts[1]);
    assert_replaced(&c, REQUEST, ",{\"type\":\"input_image\",\"image_url\":\"https://e.org/i.png\"}", "");
    c = read_it(REQUEST, &a);
    convo_drop_part(&c, &c.messages[2], &c.messages[2].parts[0]);
    assert_replaced(&c, REQUEST, " {\"type\":\"input_text\",\"text\":\"Wh\\u0061t?\"}, ", "");
    c = read_it(REQUEST, &a);
    convo_drop_part(&c, &c.messages[4], &c.messages[4].parts[0]);
    convo_drop_message(&c, &c.messages[5]);
    assert_replaced(&c, REQUEST, ",\n  " CALL "," OUT, "");
    c = read_it(REQUEST, &a);
    convo_drop_message(&c, &c.messages[0]);
    assert_replaced(&c, REQUEST, ", \"instructions\": \"You\\nare\"", "");
    c = read_it(REQUEST, &a);
    convo_set_max_output(&c, 42);
    assert_replaced(&c, REQUEST, "\"max_output_tokens\":100", "\"max_output_tokens\":42");
    c = read_it(REQUEST, &a);
    c.set.format = FORMAT_JSON;
    c.set.format_edited = c.edited = true;
    assert_replaced(&c, REQUEST,
                    "{\"type\":\"json_schema\",\"name\":\"out\",\"schema\":{\"type\":\"object\"},\"strict\":true}",
                    "{\"type\":\"json_object\"}");
}

static void what_is_added_is_composed(void **state)
{
    (void)state;
    daruma_arena a;
    convo c = read_it(REQUEST, &a);
    convo_message *m = convo_insert_message(&c, 8, CONVO_TOOL);
    convo_part *p = convo_insert_part(&c, m, 0, PART_RESULT); /* a second one, of the custom tool */
    p->id = S("call_2");
    p->text = S("lost");
    assert_replaced(&c, REQUEST, CUSTOM_OUT,
                    CUSTOM_OUT ",{\"type\":\"custom_tool_call_output\",\"call_id\":\"call_2\",\"output\":\"lost\"}");

    c = read_it(REQUEST, &a);
    p = convo_insert_part(&c, &c.messages[2], 1, PART_TEXT);
    p->text = S("more");
    assert_replaced(&c, REQUEST, "\"Wh\\u0061t?\"}, ", "\"Wh\\u0061t?\"},{\"type\":\"input_text\",\"text\":\"more\"},");

    c = read_it(REQUEST, &a); /* a result that becomes words of the user */
    m = &c.messages[5];
    convo_drop_part(&c, m, &m->parts[0]);
    m->dropped = false;
    m->role = CONVO_USER;
    p = convo_insert_part(&c, m, 1, PART_TEXT);
    p->text = S("it said a");
    assert_replaced(&c, REQUEST, OUT, "{\"type\":\"message\",\"role\":\"user\",\"content\":\"it said a\"}");

    c = read_it("{\"input\":\"hi\"}", &a);
    convo_set_text(&c, &c.messages[0], &c.messages[0].parts[0], S("ho"));
    assert_str(written(&c), "{\"input\":\"ho\"}");
    m = convo_insert_message(&c, 1, CONVO_ASSISTANT);
    p = convo_insert_part(&c, m, 0, PART_TEXT);
    p->text = S("yo");
    m = convo_insert_message(&c, 0, CONVO_SYSTEM);
    m->apart = true;
    p = convo_insert_part(&c, m, 0, PART_TEXT);
    p->text = S("s");
    assert_str(written(&c),
               "{\"input\":[{\"type\":\"message\",\"role\":\"user\",\"content\":\"ho\"},{\"type\":\"message\","
               "\"role\":\"assistant\",\"content\":\"yo\"}],\"instructions\":\"s\"}");
}

static convo_part *say(convo *c, convo_role role, part_kind kind, const char *text)
{
    convo_message *m = convo_add_message(c, role, (daruma_str){0});
    convo_part *p = convo_add_part(c, m, kind, (daruma_str){0});
    p->text = str_of(text);
    return p;
}

/* As dialect_convert() makes it: messages that are not flat, all from fields. */
static void a_converted_conversation_is_composed(void **state)
{
    (void)state;
    daruma_arena a = arena_over(mem, sizeof mem);
    convo c = {.arena = &a,
               .quirks = r->quirks,
               .set = {.model = S("gpt-5"),
                       .stream = 1,
                       .max_output = 50,
                       .temperature = S("0.2"),
                       .choice = CHOICE_ANY,
                       .parallel = -1,
                       .format = FORMAT_SCHEMA,
                       .format_schema = S("{\"type\":\"object\"}"),
                       .thinking = -1,
                       .thinking_budget = -1,
                       .effort = S("low")}};
    say(&c, CONVO_SYSTEM, PART_TEXT, "s");
    c.messages[0].apart = true;
    say(&c, CONVO_USER, PART_TEXT, "look");
    convo_part *p = convo_add_part(&c, &c.messages[1], PART_MEDIA, (daruma_str){0});
    p->media_type = S("image/png");
    p->media = S("QQ==");
    p = convo_add_part(&c, &c.messages[1], PART_MEDIA, (daruma_str){0});
    p->media_type = S("application/pdf");
    p->media = S("QQ==");
    say(&c, CONVO_ASSISTANT, PART_THINKING, "hm");
    p = convo_add_part(&c, &c.messages[2], PART_TEXT, (daruma_str){0});
    p->text = S("I do");
    p = convo_add_part(&c, &c.messages[2], PART_CALL, (daruma_str){0});
    p->text = S("{\"a\":1}");
    p->id = S("call_1");
    p->name = S("f");
    say(&c, CONVO_USER, PART_RESULT, "one")->id = S("call_1");
    p = convo_add_part(&c, &c.messages[3], PART_TEXT, (daruma_str){0});
    p->text = S("and?");
    convo_tool tools[] = {{.name = S("f"), .schema = S("{\"type\":\"object\"}")}, {.hosted = true, .raw = S("{}")}};
    c.tools = tools;
    c.ntools = 2;
    static const char want[] =
        "{\"model\":\"gpt-5\",\"instructions\":\"s\",\"input\":["
        "{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"look\"},"
        "{\"type\":\"input_image\",\"image_url\":\"data:image/png;base64,QQ==\"},{\"type\":\"input_file\",\"filename\":"
        "\"file.pdf\",\"file_data\":\"data:application/pdf;base64,QQ==\"}]},"
        "{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"I do\"},"
        "{\"type\":\"function_call\",\"call_id\":\"call_1\",\"name\":\"f\",\"arguments\":\"{\\\"a\\\":1}\"},"
        "{\"type\":\"function_call_output\",\"call_id\":\"call_1\",\"output\":\"one\"},"
        "{\"type\":\"message\",\"role\":\"user\",\"content\":\"and?\"}],"
        "\"tools\":[{\"type\":\"function\",\"name\":\"f\",\"parameters\":{\"type\":\"object\"},\"strict\":false}],"
        "\"tool_choice\":\"required\",\"max_output_tokens\":50,\"temperature\":0.2,\"text\":{\"format\":{\"type\":"
        "\"json_schema\",\"name\":\"answer\",\"schema\":{\"type\":\"object\"}}},\"reasoning\":{\"effort\":\"low\"},"
        "\"store\":false,\"stream\":true}";
    assert_str(written(&c), want);
    daruma_arena b = arena_over(mem + sizeof mem / 2, sizeof mem / 2);
    convo again;
    assert_int_equal(r->read(S(want), &b, &again), DARUMA_OK);
    assert_int_equal(again.nmessages, 6);
    assert_false(again.remote);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_read),
        cmocka_unit_test(odd_requests_are_read_and_kept),
        cmocka_unit_test(what_is_no_request_is_refused),
        cmocka_unit_test(what_lives_on_the_server_is_seen),
        cmocka_unit_test(one_edit_changes_one_thing),
        cmocka_unit_test(what_is_added_is_composed),
        cmocka_unit_test(a_converted_conversation_is_composed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
