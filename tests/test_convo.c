/* test_convo.c - requests as conversations: what was read goes out as it came, edits change what they name. */
#include "convo_kit.h"

static const char chat[] =
    "{ \"model\" : \"gpt-5\",\"messages\":[ {\"role\":\"system\",\"content\":\"Be brief.\"} ,\n"
    "{\"role\":\"user\",\"name\":\"ann\",\"content\":[{\"type\":\"text\",\"text\":\"Look \\u00e9\"}, {\"type\":"
    "\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,QUJD\"}}]},\n"
    "{\"role\":\"assistant\",\"content\":null,\"reasoning_content\":\"hm\",\"tool_calls\":[ "
    "{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\":1}\"}},"
    "{\"id\":\"b\",\"type\":\"function\",\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}} ] , \"x\":1},\n"
    "{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":\"one\"},"
    "{\"role\":\"tool\",\"tool_call_id\":\"b\",\"content\":[{\"type\":\"text\",\"text\":\"t\"},{\"type\":\"text\","
    "\"text\":\"wo\"}]}],\n\"max_tokens\":7, \"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\","
    "\"parameters\":{\"type\":\"object\"}}}], \"unknown\":[1, 2] }\n";

static void chat_is_read_into_messages_and_parts(void **state)
{
    (void)state;
    kit_begin();
    convo c = kit_read(chat_read, chat);
    assert_int_equal(c.nmessages, 5);
    assert_str(c.set.model, "gpt-5");
    assert_int_equal(c.set.max_output, 7);
    assert_str(c.set.max_output_path, "max_tokens");
    assert_int_equal(c.messages[0].role, CONVO_SYSTEM);
    convo_part *p = c.messages[1].parts;
    assert_str(convo_text(&c, &p[0]), "Look \xc3\xa9");
    assert_int_equal(p[1].kind, PART_MEDIA);
    assert_str(p[1].media_type, "image/png");
    assert_str(p[1].media, "QUJD");
    p = c.messages[2].parts;
    assert_int_equal(c.messages[2].nparts, 3);
    assert_int_equal(p[0].kind, PART_THINKING);
    assert_str(p[1].id, "a");
    assert_str(p[1].name, "f");
    assert_str(convo_text(&c, &p[1]), "{\"x\":1}");
    assert_str(convo_text(&c, &c.messages[4].parts[0]), "t\nwo");
    assert_str(c.tools[0].name, "f");
    assert_str(c.tools[0].schema_path, "tools.0.function.parameters");
    assert_int_equal(convo_last_user(&c), 1);
    assert_int_equal(convo_loop_begin(&c), 2);
    assert_str(kit_write(chat_write, &c), chat);
}

/* What goes out, with `edit` done: everything as it came but for `from`, which is `to`. */
static void edited(const char *body, void (*edit)(convo *c), const char *from, const char *to)
{
    kit_begin();
    convo c = kit_read(chat_read, body);
    edit(&c);
    daruma_buf want = buf_in(&kit_arena);
    size_t at = str_find(str_of(body), str_of(from));
    assert_true(at != STR_NONE);
    buf_put(&want, str_sub(str_of(body), 0, at));
    buf_putz(&want, to);
    buf_put(&want, str_from(str_of(body), at + strlen(from)));
    buf_putc(&want, 0);
    daruma_str got = kit_write(chat_write, &c);
    assert_str(got, want.p);
    assert_true(json_valid(got));
}

static void set_result(convo *c)
{
    convo_set_text(c, &c->messages[3], &c->messages[3].parts[0], S("a \"b\""));
}

static void set_listed_result(convo *c)
{
    convo_set_text(c, &c->messages[4], &c->messages[4].parts[0], S("less"));
}

static void drop_call(convo *c)
{
    convo_drop_part(c, &c->messages[2], &c->messages[2].parts[1]);
}

static void drop_calls(convo *c)
{
    convo_drop_part(c, &c->messages[2], &c->messages[2].parts[1]);
    convo_drop_part(c, &c->messages[2], &c->messages[2].parts[2]);
}

static void drop_thinking(convo *c)
{
    convo_drop_part(c, &c->messages[2], &c->messages[2].parts[0]);
}

static void drop_message(convo *c)
{
    convo_drop_message(c, &c->messages[1]);
}

static void insert_message(convo *c)
{
    convo_message *m = convo_insert_message(c, 3, CONVO_TOOL);
    convo_part *p = convo_insert_part(c, m, 0, PART_RESULT);
    p->id = S("z");
    p->text = S("new");
}

static void drop_image(convo *c)
{
    convo_drop_part(c, &c->messages[1], &c->messages[1].parts[1]);
}

static void set_cap(convo *c)
{
    convo_set_max_output(c, 5);
}

static void rename_cap(convo *c)
{
    convo_patch_add(c, PATCH_RENAME, S("max_tokens"), S("max_completion_tokens"));
}

static void drop_deep(convo *c)
{
    convo_patch_add(c, PATCH_DROP, S("tools.0.function.parameters"), (daruma_str){0});
    convo_patch_add(c, PATCH_DROP, S("tools.0.nothing.parameters"), (daruma_str){0});
}

static void set_deep(convo *c)
{
    convo_patch_add(c, PATCH_SET, S("tools.0.function.parameters.type"), S("1"));
    convo_patch_add(c, PATCH_SET, S("tools.0.function.strict"), S("false"));
    convo_patch_add(c, PATCH_SET, S("tools.0.function.strict"), S("true"));
    convo_patch_add(c, PATCH_SET, S("no.such.parent"), S("true"));
}

static void edits_change_what_they_name_and_nothing_else(void **state)
{
    (void)state;
    edited(chat, set_result, "\"one\"", "\"a \\\"b\\\"\"");
    edited(chat, set_listed_result, "[{\"type\":\"text\",\"text\":\"t\"},{\"type\":\"text\",\"text\":\"wo\"}]",
           "\"less\"");
    edited(chat, drop_call,
           "[ {\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\":1}\"}},{\"id",
           "[{\"id");
    edited(chat, drop_calls,
           "null,\"reasoning_content\":\"hm\",\"tool_calls\":[ "
           "{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\":1}\"}},"
           "{\"id\":\"b\",\"type\":\"function\",\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}} ]",
           "\"\",\"reasoning_content\":\"hm\"");
    edited(chat, drop_thinking, ",\"reasoning_content\":\"hm\"", "");
    edited(chat, drop_message,
           " ,\n{\"role\":\"user\",\"name\":\"ann\",\"content\":[{\"type\":\"text\",\"text\":\"Look \\u00e9\"}, "
           "{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,QUJD\"}}]},\n",
           ",");
    edited(chat, insert_message, ",\n{\"role\":\"tool\"",
           ",{\"role\":\"tool\",\"tool_call_id\":\"z\",\"content\":\"new\"},{\"role\":\"tool\"");
    edited(chat, drop_image, ", {\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,QUJD\"}}]", "]");
    edited(chat, set_cap, "\"max_tokens\":7", "\"max_tokens\":5");
    edited(chat, rename_cap, "\"max_tokens\":7", "\"max_completion_tokens\":7");
    edited(chat, drop_deep, ",\"parameters\":{\"type\":\"object\"}", "");
    edited(chat, set_deep, "{\"type\":\"object\"}", "{\"type\":1},\"strict\":true");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chat_is_read_into_messages_and_parts),
        cmocka_unit_test(edits_change_what_they_name_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
