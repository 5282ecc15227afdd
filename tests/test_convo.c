/* test_convo.c - requests as conversations: what was read goes out as it came, edits change what they name. */
#include "convo_kit.h"
#include "dialect/kit/convo_kit.h"

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
    assert_str(convo_schema_path(&c.tools[0], c.arena), "tools.0.function.parameters");
    assert_int_equal(convo_last_user(&c), 1);
    assert_int_equal(convo_loop_begin(&c), 2);
    assert_str(kit_write(chat_write, &c), chat);
}

/* What goes out, with `edit` done: everything as it came but for `from`, which is `to`. */
static void edited_by(daruma_status (*read)(daruma_str, daruma_arena *, convo *),
                      void (*write)(const convo *, daruma_buf *), const char *body, void (*edit)(convo *c),
                      const char *from, const char *to)
{
    kit_begin();
    convo c = kit_read(read, body);
    edit(&c);
    daruma_buf want = buf_in(&kit_arena);
    size_t at = str_find(str_of(body), str_of(from));
    assert_true(at != STR_NONE);
    buf_put(&want, str_sub(str_of(body), 0, at));
    buf_putz(&want, to);
    buf_put(&want, str_from(str_of(body), at + strlen(from)));
    buf_putc(&want, 0);
    daruma_str got = kit_write(write, &c);
    assert_str(got, want.p);
    assert_true(json_valid(got));
    assert_str(kit_write(write, &c), want.p); /* writing changes nothing */
}

static void edited(const char *body, void (*edit)(convo *c), const char *from, const char *to)
{
    edited_by(chat_read, chat_write, body, edit, from, to);
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
    convo_patch_add(c, PATCH_SET, S("no.0.parent"), S("true"));
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

static const char anthropic[] =
    "{\"model\":\"claude\",\"max_tokens\":100,\"system\":[{\"type\":\"text\",\"text\":\"S\",\"cache_control\":{"
    "\"type\":"
    "\"ephemeral\"}}],\n \"messages\": [\n  {\"role\":\"user\",\"content\":\"hi\"},\n"
    "  {\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"t\",\"signature\":\"sig\"},"
    "{\"type\":\"redacted_thinking\",\"data\":\"xx\"},{\"type\":\"text\",\"text\":\"ok\"},"
    "{\"type\":\"tool_use\",\"id\":\"u1\",\"name\":\"f\",\"input\":{\"x\": 1}}]},\n"
    "  {\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"u1\",\"is_error\":true,\"content\":["
    "{\"type\":\"text\",\"text\":\"out\"},{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":"
    "\"image/png\",\"data\":\"QUJD\"}}]},{\"type\":\"text\",\"text\":\"go\",\"cache_control\":{\"type\":"
    "\"ephemeral\"}}]},\n  {\"role\":\"system\",\"content\":\"note\"}\n ],\"tools\":[{\"name\":\"f\",\"input_schema\":"
    "{\"type\":\"object\"}},{\"type\":\"web_search_20250305\",\"name\":\"web_search\"}],"
    "\"tool_choice\":{\"type\":\"tool\",\"name\":\"f\",\"disable_parallel_tool_use\":true},"
    "\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":2000},\"metadata\":{\"user_id\":\"me\"},"
    "\"output_config\":{\"effort\":\"low\",\"format\":{\"type\":\"json_schema\",\"schema\":{\"type\":\"string\"}}}}";

static void anthropic_is_read_into_messages_and_parts(void **state)
{
    (void)state;
    kit_begin();
    convo c = kit_read(anthropic_read, anthropic);
    assert_int_equal(c.nmessages, 5);
    assert_true(c.messages[0].apart);
    assert_str(convo_text(&c, &c.messages[0].parts[0]), "S");
    convo_part *p = c.messages[2].parts;
    assert_true(p[0].kind == PART_THINKING && p[0].sealed && p[1].kind == PART_THINKING && p[1].sealed);
    assert_str(p[0].signature, "sig");
    assert_str(convo_text(&c, &p[3]), "{\"x\": 1}");
    p = c.messages[3].parts;
    assert_true(p[0].kind == PART_RESULT && p[0].failed && p[0].nparts == 2);
    assert_str(convo_text(&c, &p[0]), "out");
    assert_str(p[0].id, "u1");
    assert_str(p[0].parts[1].media, "QUJD");
    assert_true(c.messages[4].role == CONVO_SYSTEM && !c.messages[4].apart);
    assert_int_equal(convo_last_user(&c), 3);
    assert_int_equal(convo_loop_begin(&c), 2); /* a reminder beside a result does not end the loop */
    assert_true(c.tools[1].hosted && c.tools[1].name.n == 0 && !c.tools[0].hosted);
    assert_str(convo_schema_path(&c.tools[0], c.arena), "tools.0.input_schema");
    assert_true(c.set.choice == CHOICE_ONE && c.set.parallel == 0 && c.set.thinking == 1);
    assert_int_equal(c.set.thinking_budget, 2000);
    assert_str(c.set.user, "me");
    assert_str(c.set.effort, "low");
    assert_str(c.set.format_schema, "{\"type\":\"string\"}");
    assert_true(convo_tool_find(&c, S("f")) == c.tools);
    assert_null(convo_tool_find(&c, S("")));
    assert_str(kit_write(anthropic_write, &c), anthropic);
}

static void a_set_text(convo *c)
{
    convo_set_text(c, &c->messages[1], &c->messages[1].parts[0], S("ho"));
}

static void a_set_marked_text(convo *c)
{
    convo_set_text(c, &c->messages[3], &c->messages[3].parts[1], S("stop"));
}

static void a_set_result(convo *c)
{
    convo_set_text(c, &c->messages[3], &c->messages[3].parts[0], S("short"));
}

static void a_drop_inner(convo *c)
{
    convo_part *p = &c->messages[3].parts[0];
    assert_str(convo_text(c, p), "out");
    convo_drop_part(c, &c->messages[3], &p->parts[0]);
    assert_str(convo_text(c, p), "");
}

static void a_drop_thinking(convo *c)
{
    convo_drop_part(c, &c->messages[2], &c->messages[2].parts[0]);
    convo_drop_part(c, &c->messages[2], &c->messages[2].parts[1]);
}

static void a_drop_system(convo *c)
{
    convo_drop_message(c, &c->messages[0]);
}

static void a_set_system(convo *c)
{
    convo_part *p = convo_insert_part(c, &c->messages[0], 9, PART_TEXT);
    p->text = S("T");
}

static void a_add_result(convo *c)
{
    convo_part *p = convo_insert_part(c, &c->messages[3], 9, PART_RESULT);
    p->id = S("u 2");
    p->text = S("lost");
    p->failed = true;
}

static void a_drop_format(convo *c)
{
    c->set.format = FORMAT_TEXT;
    c->set.format_edited = true;
}

static void a_add_messages(convo *c)
{
    convo_message *m = convo_insert_message(c, 4, CONVO_TOOL);
    kit_result(c, m, "x", "1");
    m = convo_insert_message(c, 4, CONVO_USER);
    kit_part(c, m, PART_TEXT, "u");
}

static void edits_of_anthropic_change_what_they_name_and_nothing_else(void **state)
{
    (void)state;
    edited_by(anthropic_read, anthropic_write, anthropic, a_set_text, "\"hi\"", "\"ho\"");
    edited_by(anthropic_read, anthropic_write, anthropic, a_set_marked_text, "\"go\"", "\"stop\"");
    edited_by(
        anthropic_read, anthropic_write, anthropic, a_set_result,
        "[{\"type\":\"text\",\"text\":\"out\"},{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":"
        "\"image/png\",\"data\":\"QUJD\"}}]",
        "\"short\"");
    edited_by(anthropic_read, anthropic_write, anthropic, a_drop_inner, "{\"type\":\"text\",\"text\":\"out\"},", "");
    edited_by(anthropic_read, anthropic_write, anthropic, a_drop_thinking,
              "{\"type\":\"thinking\",\"thinking\":\"t\",\"signature\":\"sig\"},"
              "{\"type\":\"redacted_thinking\",\"data\":\"xx\"},",
              "");
    edited_by(anthropic_read, anthropic_write, anthropic, a_drop_system,
              ",\"system\":[{\"type\":\"text\",\"text\":\"S\",\"cache_control\":{\"type\":\"ephemeral\"}}]", "");
    edited_by(anthropic_read, anthropic_write, anthropic, a_set_system, "\"ephemeral\"}}],\n",
              "\"ephemeral\"}},{\"type\":\"text\",\"text\":\"T\"}],\n");
    edited_by(anthropic_read, anthropic_write, anthropic, a_add_result, ",{\"type\":\"text\",\"text\":\"go\"",
              ",{\"type\":\"tool_result\",\"tool_use_id\":\"u 2\",\"content\":\"lost\",\"is_error\":true},"
              "{\"type\":\"text\",\"text\":\"go\"");
    edited_by(anthropic_read, anthropic_write, anthropic, a_drop_format,
              ",\"format\":{\"type\":\"json_schema\",\"schema\":{\"type\":\"string\"}}", "");
    edited_by(anthropic_read, anthropic_write, anthropic, a_add_messages, "]},\n  {\"role\":\"system\"",
              "]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"x\",\"content\":\"1\"},"
              "{\"type\":\"text\",\"text\":\"u\"}]},{\"role\":\"system\"");
}

static const char older[] =
    "{\"messages\":[{\"role\":\"user\",\"content\":\"u\"},{\"role\":\"assistant\",\"function_call\":{\"name\":\"f\", "
    "\"arguments\":\"{1\"},\"refusal\":\"no\",\"audio\":{\"id\":\"au\"},\"reasoning\":\"r\",\"reasoning_details\":[{"
    "\"type\":\"reasoning.text\",\"text\":\"r\",\"signature\":\"s\"}],\"annotations\":[]},{\"role\":\"function\","
    "\"name\":\"f\",\"content\":\"x\"},{\"role\":\"assistant\",\"content\":\"c\",\"tool_calls\":[{\"id\":\"k\","
    "\"type\":"
    "\"custom\",\"custom\":{\"name\":\"g\",\"input\":\"free\"}},{\"id\":\"l\",\"type\":\"function\",\"function\":{"
    "\"name\":\"h\",\"arguments\":{\"o\":1}},\"extra_content\":{\"google\":{\"thought_signature\":\"gs\"}}}]}],"
    "\"functions\":[{\"name\":\"f\",\"parameters\":{}}],\"function_call\":{\"name\":\"f\"},"
    "\"max_tokens\":1,\"max_completion_tokens\":2,\"reasoning_effort\":\"low\"}";

static void what_others_made_of_chat_is_read(void **state)
{
    (void)state;
    kit_begin();
    convo c = kit_read(chat_read, older);
    convo_part *p = c.messages[1].parts;
    assert_int_equal(c.messages[1].nparts, 5);
    assert_true(p[0].kind == PART_THINKING && !p[0].sealed && p[1].kind == PART_THINKING && p[1].sealed);
    assert_str(convo_text(&c, &p[1]), "r");
    assert_true(p[2].kind == PART_TEXT && p[3].kind == PART_OTHER && p[3].remote && c.remote);
    assert_true(p[4].kind == PART_CALL && !p[4].id.n);
    assert_str(convo_text(&c, &p[4]), "{1");
    assert_int_equal(c.messages[2].role, CONVO_TOOL);
    assert_str(c.messages[2].parts[0].name, "f");
    p = c.messages[3].parts;
    assert_str(convo_text(&c, &p[1]), "free");
    assert_str(convo_text(&c, &p[2]), "{\"o\":1}");
    assert_true(p[2].sealed && !p[1].sealed);
    assert_str(p[2].signature, "gs");
    assert_str(convo_schema_path(&c.tools[0], c.arena), "functions.0.parameters");
    assert_true(c.set.choice == CHOICE_ONE && c.set.max_output == 2 && c.set.thinking == 1);
    assert_str(c.set.max_output_path, "max_completion_tokens");
}

static void o_mend_arguments(convo *c)
{
    convo_set_text(c, &c->messages[1], &c->messages[1].parts[4], S("{}"));
}

static void o_mend_input(convo *c)
{
    convo_set_text(c, &c->messages[3], &c->messages[3].parts[1], S("freer"));
}

static void o_give_id(convo *c)
{
    convo_part *p = &c->messages[3].parts[2];
    convo_text(c, &c->messages[3].parts[1]); /* only looked at */
    p->id = S("m");
    p->edited = c->messages[3].edited = c->edited = true;
}

static void o_drop_refusal(convo *c)
{
    convo_drop_part(c, &c->messages[1], &c->messages[1].parts[2]);
    convo_drop_part(c, &c->messages[1], &c->messages[1].parts[3]);
}

static void o_drop_thinking(convo *c)
{
    convo_drop_part(c, &c->messages[1], &c->messages[1].parts[0]);
    convo_drop_part(c, &c->messages[1], &c->messages[1].parts[1]);
}

static void o_set_thinking(convo *c)
{
    convo_set_text(c, &c->messages[1], &c->messages[1].parts[0], S("q"));
}

static void o_set_result(convo *c)
{
    convo_set_text(c, &c->messages[2], &c->messages[2].parts[0], S("y"));
}

static void o_result_speaks(convo *c)
{
    convo_message *m = &c->messages[2];
    m->parts[0] = (convo_part){.kind = PART_TEXT, .edited = true, .ready = true, .text = S("it said x")};
    m->role = CONVO_USER;
    m->raw = (daruma_str){0};
    m->wire_role = NULL;
    m->edited = c->edited = true;
}

static void o_join(convo *c) /* as merging does: parts of one message stand in another */
{
    convo_part *p = convo_insert_part(c, &c->messages[0], 1, PART_TEXT);
    *p = c->messages[3].parts[0];
}

static void edits_reach_every_member_of_a_message(void **state)
{
    (void)state;
    edited(older, o_mend_arguments, "\"{1\"", "\"{}\"");
    edited(older, o_mend_input, "\"free\"", "\"freer\"");
    edited(older, o_give_id, "\"id\":\"l\"", "\"id\":\"m\"");
    edited(older, o_drop_refusal, ",\"refusal\":\"no\",\"audio\":{\"id\":\"au\"}", "");
    edited(older, o_drop_thinking,
           ",\"reasoning\":\"r\",\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"r\",\"signature\":"
           "\"s\"}]",
           "");
    edited(older, o_set_thinking, "\"reasoning\":\"r\"", "\"reasoning\":\"q\"");
    edited(older, o_set_result, "\"content\":\"x\"", "\"content\":\"y\"");
    edited(older, o_result_speaks, "{\"role\":\"function\",\"name\":\"f\",\"content\":\"x\"}",
           "{\"role\":\"user\",\"content\":\"it said x\"}");
    edited(older, o_join, "\"content\":\"u\"",
           "\"content\":[{\"type\":\"text\",\"text\":\"u\"},{\"type\":\"text\",\"text\":\"c\"}]");
}

/* A conversation of nobody's wire is written in the wire's own shape. */
static convo of_fields(uint32_t quirks)
{
    convo c = kit_convo(quirks);
    c.set.model = S("m");
    c.set.max_output = 9;
    c.set.stop = S("\"x\"");
    c.set.user = S("me");
    c.set.choice = CHOICE_ANY;
    c.set.parallel = 0;
    c.tools = ARENA_NEW(&kit_arena, convo_tool, 1);
    c.tools[0] = (convo_tool){.name = S("f"), .description = S("d"), .schema = S("{\"type\":\"object\"}")};
    c.ntools = 1;
    kit_text(&c, CONVO_SYSTEM, "s");
    convo_message *m = kit_text(&c, CONVO_USER, "look");
    convo_part *p = kit_part(&c, m, PART_MEDIA, "");
    p->media = S("QUJD");
    p->media_type = S("image/png");
    m = kit_text(&c, CONVO_ASSISTANT, "");
    m->nparts = 0;
    kit_call(&c, m, "a", "f", "{\"x\":1}");
    kit_call(&c, m, "b", "f", "");
    kit_result(&c, kit_message(&c, CONVO_TOOL), "a", "1");
    kit_result(&c, kit_message(&c, CONVO_TOOL), "b", "2")->failed = true;
    kit_text(&c, CONVO_USER, "and?");
    return c;
}

static void fields_alone_become_a_chat_request(void **state)
{
    (void)state;
    kit_begin();
    convo c = of_fields(CHAT_QUIRKS);
    assert_str(
        kit_write(chat_write, &c),
        "{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\",\"content\":[{"
        "\"type\":\"text\",\"text\":\"look\"},{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/"
        "png;base64,QUJD\"}}]},{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"a\",\"type\":"
        "\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\":1}\"}},{\"id\":\"b\",\"type\":"
        "\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":"
        "\"a\",\"content\":\"1\"},{\"role\":\"tool\",\"tool_call_id\":\"b\",\"content\":\"2\"},{\"role\":\"user\","
        "\"content\":\"and?\"}],\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"description\":"
        "\"d\",\"parameters\":{\"type\":\"object\"}}}],\"tool_choice\":\"required\",\"parallel_tool_calls\":false,"
        "\"max_tokens\":9,\"stop\":\"x\",\"user\":\"me\"}");
    convo_patch_add(&c, PATCH_DROP, S("user"), (daruma_str){0});
    assert_true(str_ends(kit_write(chat_write, &c), S("\"stop\":\"x\"}")));
}

static void fields_alone_become_an_anthropic_request(void **state)
{
    (void)state;
    kit_begin();
    convo c = of_fields(ANTHROPIC_QUIRKS);
    assert_str(
        kit_write(anthropic_write, &c),
        "{\"model\":\"m\",\"max_tokens\":9,\"system\":\"s\",\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":"
        "\"text\",\"text\":\"look\"},{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/"
        "png\",\"data\":\"QUJD\"}}]},{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"a\","
        "\"name\":\"f\",\"input\":{\"x\":1}},{\"type\":\"tool_use\",\"id\":\"b\",\"name\":\"f\",\"input\":{}}]},{"
        "\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":\"1\"},{"
        "\"type\":\"tool_result\",\"tool_use_id\":\"b\",\"content\":\"2\",\"is_error\":true},{\"type\":\"text\","
        "\"text\":\"and?\"}]}],\"tools\":[{\"name\":\"f\",\"description\":\"d\",\"input_schema\":{\"type\":"
        "\"object\"}}],\"tool_choice\":{\"type\":\"any\",\"disable_parallel_tool_use\":true},"
        "\"stop_sequences\":[\"x\"],\"metadata\":{\"user_id\":\"me\"}}");
}

/* ---- odd shapes ---- */

static void shapes_that_nobody_documents_are_kept(void **state)
{
    (void)state;
    static const char *const odd[] = {
        "{\"messages\":[]}",
        " {\"messages\":[1,\"x\",null,[],{},{\"role\":5},{\"role\":\"critic\",\"content\":7}]}\n",
        "{\"messages\":[{\"role\":\"assistant\",\"tool_calls\":{}},{\"role\":\"assistant\",\"tool_calls\":[1,null,{}]}]"
        "}",
        "{\"messages\":[{\"role\":\"assistant\",\"content\":[],\"function_call\":{\"name\":\"f\",\"arguments\":\"{}\"}}"
        ","
        "{\"role\":\"function\",\"name\":\"f\",\"content\":\"1\"}]}",
        "{\"messages\":[{\"role\":\"tool\"},{\"role\":\"tool\",\"content\":{}},{\"role\":\"tool\",\"content\":[1,[],{}]"
        "}]}",
        "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\"},{\"type\":\"image_url\",\"image_url\":"
        "5},{\"type\":\"file\",\"file\":[]},{\"type\":\"input_audio\"},{\"type\":9},{\"type\":\"text\"},\"bare\"]}]}",
        "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\"},{\"type\":\"tool_use\"},{\"type\":"
        "\"image\"},{\"type\":\"document\",\"source\":[]},{\"type\":\"thinking\"},{\"type\":\"container_upload\"}]}],"
        "\"system\":5,\"tools\":{},\"tool_choice\":[],\"thinking\":1,\"output_config\":[],\"metadata\":0}",
        "{\"messages\":{},\"messages\":[{\"role\":\"user\",\"role\":\"assistant\",\"content\":1,\"content\":\"x\"}]}",
        "{\"m\\u0065ssages\":[{\"r\\u006fle\":\"us\\u0065r\",\"c\\u006fntent\":\"x\"}],\"tools\":[1,{},[],{"
        "\"function\":"
        "1}],\"response_format\":{\"type\":\"json_schema\"},\"reasoning\":7}",
    };
    for (size_t i = 0; i < COUNT(odd); i++) {
        kit_begin();
        convo c = kit_read(chat_read, odd[i]), a = kit_read(anthropic_read, odd[i]);
        assert_str(kit_write(chat_write, &c), odd[i]);
        assert_str(kit_write(anthropic_write, &a), odd[i]);
        c.edited = a.edited = true; /* walked, nothing changed */
        assert_str(kit_write(chat_write, &c), odd[i]);
        assert_str(kit_write(anthropic_write, &a), odd[i]);
        assert_true(convo_tokens(&c) > 0);
        for (size_t k = 0; k < c.nmessages; k++)
            c.messages[k].edited = true;
        for (size_t k = 0; k < a.nmessages; k++)
            a.messages[k].edited = true;
        assert_true(json_valid(kit_write(chat_write, &c)));
        assert_true(json_valid(kit_write(anthropic_write, &a)));
    }
}

static void what_is_no_request_is_refused(void **state)
{
    (void)state;
    static char deep[2000];
    static const char *const bad[] = {
        "", "[]", "{", "{}", "{\"messages\":1}", "{\"messages\":[}", "{\"messages\":[]}x"};
    convo c;
    kit_begin();
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_int_equal(chat_read(str_of(bad[i]), &kit_arena, &c), DARUMA_EINPUT);
        assert_int_equal(anthropic_read(str_of(bad[i]), &kit_arena, &c), DARUMA_EINPUT);
    }
    size_t n = (size_t)snprintf(deep, sizeof deep, "{\"messages\":[],\"x\":");
    memset(deep + n, '[', 600);
    memset(deep + n + 600, ']', 600);
    deep[n + 1200] = '}';
    assert_int_equal(chat_read(str_of(deep), &kit_arena, &c), DARUMA_EDEEP);
    assert_int_equal(anthropic_read(str_of(deep), &kit_arena, &c), DARUMA_EDEEP);
}

/* ---- patches ---- */

static void patched(const char *before, const convo_patch *p, size_t n, const char *after)
{
    kit_begin();
    convo c = {.arena = &kit_arena};
    for (size_t i = 0; i < n; i++)
        convo_patch_add(&c, p[i].op, p[i].path, p[i].value);
    c.body = str_of(before);
    daruma_buf b = buf_in(&kit_arena);
    body_write(&c, NULL, 0, NULL, &b);
    assert_false(b.full);
    assert_str(buf_str(&b), after);
}

#define PATCHED(before, after, ...)                                                                                    \
    patched(before, (convo_patch[]){__VA_ARGS__}, COUNT(((convo_patch[]){__VA_ARGS__})), after)
#define SET(path, value)                                                                                               \
    {                                                                                                                  \
        PATCH_SET, S(path), S(value)                                                                                   \
    }
#define DROP(path)                                                                                                     \
    {                                                                                                                  \
        PATCH_DROP, S(path),                                                                                           \
        {                                                                                                              \
            0                                                                                                          \
        }                                                                                                              \
    }
#define RENAME(path, name)                                                                                             \
    {                                                                                                                  \
        PATCH_RENAME, S(path), S(name)                                                                                 \
    }

static void patches_find_their_way_by_path(void **state)
{
    (void)state;
    PATCHED(" {\"a\": 1 , \"b\":[1, {\"c\":2}]}\n", " {\"a\": 5 , \"b\":[1, {\"c\":6}]}\n", SET("a", "5"),
            SET("b.1.c", "6"));
    PATCHED("{\"a\":1, \"b\":2 }", "{\"b\":2 }", DROP("a"));
    PATCHED("{\"a\":1, \"b\":2 }", "{\"a\":1 }", DROP("b"));
    PATCHED("{ \"a\":1 }", "{}", DROP("a"));
    PATCHED("{\"a\":[1,2,3]}", "{\"a\":[1,3]}", DROP("a.1"));
    PATCHED("{\"a\":[1,2,3]}", "{\"a\":[1,2,3,4]}", SET("a.3", "4"), SET("a.9", "5"));
    PATCHED("{\"a\":{}}", "{\"a\":{\"x\":{\"y\":1}},\"z\":{\"y\":1}}", SET("a.x", "{}"), SET("a.x.y", "1"),
            SET("z.y", "1"));
    PATCHED("{}", "{}", SET("z.0.y", "1"), SET("z.0", "1"));
    PATCHED("{\"a\":1}", "{\"b\":1}", RENAME("a", "b"));
    PATCHED("{\"a\":1,\"b\":2}", "{\"b\":1}", RENAME("a", "b"));
    PATCHED("{\"a\":1}", "{\"b\":7}", RENAME("a", "b"), SET("b", "7"));
    PATCHED("{\"a\":{\"x\":1}}", "{\"b\":{\"y\":1}}", RENAME("a", "b"), RENAME("b.x", "y"));
    PATCHED("{\"a\":1}", "{\"a\":1}", RENAME("x", "y"), DROP("x"), DROP("a.b"), SET("a.b", "1"));
    PATCHED("{\"a\":1}", "{}", SET("a", "2"), DROP("a"));
    PATCHED("{\"a\":1}", "{\"a\":2}", DROP("a"), SET("a", "2"));
    PATCHED("{\"a\":1,\"\\u0061\":2}", "{}", DROP("a"));
}

/* ---- weights ---- */

static void tokens_are_estimated_high_and_media_by_a_flat_rate(void **state)
{
    (void)state;
    kit_begin();
    assert_int_equal(text_tokens(S("")), 0);
    assert_in_range(text_tokens(S("The quick brown fox jumps over the lazy dog.")), 10, 14);
    assert_int_equal(text_tokens(S("\xe4\xbd\xa0\xe5\xa5\xbd")), 3); /* two characters of Chinese */
    daruma_buf b = buf_in(&kit_arena);
    buf_putz(&b, "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\"image_url\":{\"url\":"
                 "\"data:image/png;base64,");
    for (int i = 0; i < 100000; i++)
        buf_putc(&b, 'A');
    buf_putz(&b, "\"}}]}]}");
    convo c;
    assert_int_equal(chat_read(buf_str(&b), &kit_arena, &c), DARUMA_OK);
    assert_in_range(convo_tokens(&c), 1600, 1700);
    convo_drop_part(&c, &c.messages[0], &c.messages[0].parts[0]);
    assert_in_range(convo_tokens(&c), 0, 20);
}

/* ---- too little memory ---- */

static void little_memory_is_told_and_never_broken(void **state)
{
    (void)state;
    static char small[1 << 16], room[1 << 16];
    bool read = false, wrote = false;
    for (size_t n = 0; n < sizeof small; n += n < 6000 ? 16 : 500) {
        for (int which = 0; which < 2; which++) {
            daruma_arena a = arena_over(small, n);
            daruma_buf b = buf_over(room, sizeof room);
            convo c;
            daruma_status st = which ? anthropic_read(str_of(anthropic), &a, &c) : chat_read(str_of(chat), &a, &c);
            assert_true(st == DARUMA_OK || st == DARUMA_EFULL);
            if (st != DARUMA_OK)
                continue;
            read = true;
            convo_set_text(&c, &c.messages[3], &c.messages[3].parts[0], S("new"));
            convo_patch_add(&c, PATCH_SET, S("tools.0.x.y"), S("1"));
            convo_set_max_output(&c, 3);
            convo_insert_message(&c, 1, CONVO_USER);
            (which ? anthropic_write : chat_write)(&c, &b);
            if (c.full || b.full)
                continue;
            wrote = true;
            assert_true(json_valid(buf_str(&b)));
        }
    }
    assert_true(read && wrote);
}

/* ---- random histories ---- */

typedef struct gen {
    uint64_t dice;
    daruma_buf *out;
} gen;

static unsigned roll(gen *g, unsigned n)
{
    g->dice = g->dice * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(g->dice >> 33) % n;
}

static void space(gen *g)
{
    static const char *const some[] = {"", "", "", "", " ", "\n", "\t ", "\r\n"};
    buf_putz(g->out, some[roll(g, 8)]);
}

/* Writes `text` with % for white space, $ for a random text, & for a random value, # for a digit. */
static void emit(gen *g, const char *text);

static void emit_string(gen *g)
{
    static const char *const some[] = {"\"\"",
                                       "\"a\"",
                                       "\"caf\\u00e9 \\ud83d\\ude00\"",
                                       "\"x\\ny\"",
                                       "\"\xe4\xbd\xa0\"",
                                       "\"[{\\\"}\"",
                                       "\"{\\\"a\\\":1}\"",
                                       "\"data:,x\""};
    buf_putz(g->out, some[roll(g, 8)]);
}

static void emit_value(gen *g)
{
    static const char *const some[] = {"null", "true", "-1.5e3",          "$",
                                       "[]",   "{}",   "[1,%{\"a\":$}%]", "{\"type\":$,%\"x\":[&]}"};
    emit(g, some[roll(g, 8)]);
}

static void emit(gen *g, const char *text)
{
    for (; *text; text++)
        if (*text == '%')
            space(g);
        else if (*text == '$')
            emit_string(g);
        else if (*text == '&')
            emit_value(g);
        else if (*text == '#')
            buf_putc(g->out, (char)('0' + roll(g, 10)));
        else
            buf_putc(g->out, *text);
}

static void emit_list(gen *g, const char *const *some, unsigned n, unsigned most)
{
    emit(g, "[%");
    for (unsigned i = 0, count = roll(g, most); i < count; i++) {
        emit(g, i ? "%,%" : "");
        emit(g, some[roll(g, n)]);
    }
    emit(g, "%]");
}

// clang-format off
static const char *const pieces[] = {
    "{\"type\":\"text\",%\"text\":$}", "{\"type\":\"text\",\"text\":$,\"cache_control\":{\"type\":\"ephemeral\"}}",
    "{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,QUJD\"}}", "&",
    "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",%\"data\":\"QUJD\"}}",
    "{\"type\":\"tool_use\",\"id\":\"t#\",\"name\":$,\"input\":&}", "{\"type\":\"thinking\",\"thinking\":$,\"signature\":$}",
    "{\"type\":\"tool_result\",\"tool_use_id\":\"t#\",\"content\":$}", "{\"type\":\"tool_result\",\"tool_use_id\":\"t#\"}",
    "{\"type\":\"tool_result\",\"tool_use_id\":\"t#\",\"is_error\":true,\"content\":[%{\"type\":\"text\",\"text\":$}%,&]}",
    "{\"type\":\"redacted_thinking\",\"data\":$}", "{\"type\":\"server_tool_use\",\"id\":$,\"input\":&}",
};
static const char *const calls[] = {
    "{\"id\":\"t#\",%\"type\":\"function\",\"function\":%{\"name\":$,\"arguments\":$}}", "&",
    "{\"id\":\"t#\",\"type\":\"custom\",\"custom\":{\"name\":$,\"input\":$}}",
};
// clang-format on

static void emit_message(gen *g)
{
    static const char *const roles[] = {"\"system\"", "\"developer\"", "\"user\"",      "\"assistant\"",
                                        "\"tool\"",   "\"function\"",  "\"assistant\"", "&"};
    emit(g, "{%\"role\":%");
    emit(g, roles[roll(g, 8)]);
    if (roll(g, 8)) {
        emit(g, "%,%\"content\":%");
        if (roll(g, 2))
            emit_list(g, pieces, COUNT(pieces), 4);
        else
            emit(g, roll(g, 4) ? "$" : "&");
    }
    if (!roll(g, 3)) {
        emit(g, ",%\"tool_calls\":");
        emit_list(g, calls, COUNT(calls), 3);
    }
    static const char *const more[] = {"",
                                       ",\"tool_call_id\":%\"t#\"",
                                       ",\"reasoning_content\":$",
                                       ",\"reasoning_details\":[{\"text\":$,\"signature\":$}]",
                                       ",%\"name\":$",
                                       ",\"refusal\":$",
                                       ",\"audio\":{\"id\":$}",
                                       ",\"function_call\":{\"name\":$,\"arguments\":$}",
                                       ",\"content\":$",
                                       ",$:&"};
    emit(g, more[roll(g, 10)]);
    emit(g, more[roll(g, 10)]);
    emit(g, "%}");
}

static daruma_str emit_body(gen *g)
{
    static const char *const more[] = {
        "",
        ",\"system\":$",
        ",\"system\":[{\"type\":\"text\",\"text\":$}]",
        ",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":$,\"parameters\":{}}}]",
        ",%\"tools\":[{\"name\":$,\"input_schema\":{}}]",
        ",\"max_tokens\":#",
        ",$:&",
        ",\"stop\":null"};
    emit(g, "%{%\"model\":$");
    emit(g, more[roll(g, 8)]);
    emit(g, "%,%\"messages\":%[%");
    for (unsigned i = 0, n = roll(g, 6); i < n; i++) {
        emit(g, i ? "%,%" : "");
        emit_message(g);
    }
    emit(g, "%]");
    emit(g, more[roll(g, 8)]);
    emit(g, "%}%");
    return buf_str(g->out);
}

/* One random edit. */
static void meddle(gen *g, convo *c)
{
    if (!c->nmessages)
        return;
    convo_message *m = &c->messages[roll(g, (unsigned)c->nmessages)];
    convo_part *p = m->nparts ? &m->parts[roll(g, (unsigned)m->nparts)] : NULL;
    switch (roll(g, 7)) {
    case 0:
        convo_drop_message(c, m);
        break;
    case 1:
        if (p && (p->kind == PART_TEXT || p->kind == PART_RESULT))
            convo_set_text(c, m, p, S("\"new\"\n"));
        break;
    case 2:
        if (p)
            convo_drop_part(c, m, p);
        break;
    case 3:
        if (p && p->nparts)
            convo_drop_part(c, m, &p->parts[roll(g, (unsigned)p->nparts)]);
        break;
    case 4:
        p = convo_insert_part(c, m, roll(g, 3), m->role == CONVO_ASSISTANT ? PART_CALL : PART_RESULT);
        p->id = S("fresh");
        p->name = S("f");
        p->text = S("{}");
        break;
    case 5:
        m = convo_insert_message(c, roll(g, 4), roll(g, 2) ? CONVO_TOOL : CONVO_USER);
        p = convo_insert_part(c, m, 0, m->role == CONVO_TOOL ? PART_RESULT : PART_TEXT);
        p->text = S("fresh");
        break;
    default:
        convo_patch_add(c, PATCH_DROP, S("max_tokens"), (daruma_str){0});
    }
}

static void random_histories(daruma_status (*read)(daruma_str, daruma_arena *, convo *),
                             void (*write)(const convo *, daruma_buf *), uint64_t seed, unsigned count)
{
    gen g = {.dice = seed};
    for (unsigned i = 0; i < count; i++) {
        daruma_arena a = arena_over(kit_memory, 1 << 20);
        daruma_buf body = buf_in(&a), out = buf_in(&a), again = buf_in(&a), third = buf_in(&a);
        convo c, d;
        g.out = &body;
        daruma_str text = emit_body(&g);
        if (read(text, &a, &c) != DARUMA_OK)
            fail_msg("not read: " STR_FMT, STR_ARG(text));
        write(&c, &out);
        if (!str_eq(buf_str(&out), text))
            fail_msg("changed: " STR_FMT, STR_ARG(text));
        c.edited = true;
        write(&c, &again); /* walked member by member */
        if (!str_eq(buf_str(&again), text))
            fail_msg("walked: " STR_FMT "\n" STR_FMT, STR_ARG(text), STR_ARG(buf_str(&again)));
        for (size_t k = 0; k < c.nmessages; k++)
            c.messages[k].edited = true;
        again = buf_in(&a);
        write(&c, &again); /* and part by part */
        if (!str_eq(buf_str(&again), text))
            fail_msg("rewritten: " STR_FMT "\n" STR_FMT, STR_ARG(text), STR_ARG(buf_str(&again)));
        for (size_t k = 0; k < c.nmessages; k++)
            c.messages[k].edited = false;
        assert_true(convo_tokens(&c) > 0);
        for (unsigned n = 1 + roll(&g, 4); n--;)
            meddle(&g, &c);
        assert_false(c.full);
        write(&c, &third);
        if (third.full || !json_valid(buf_str(&third)) || read(buf_str(&third), &a, &d) != DARUMA_OK)
            fail_msg("broken: " STR_FMT "\n" STR_FMT, STR_ARG(text), STR_ARG(buf_str(&third)));
        for (size_t k = 0; k < c.nmessages; k++) { /* what nobody touched is there as it was */
            const convo_message *m = &c.messages[k];
            if (!m->edited && !m->dropped && str_find(buf_str(&third), m->raw) == STR_NONE)
                fail_msg("lost: " STR_FMT "\n" STR_FMT, STR_ARG(m->raw), STR_ARG(buf_str(&third)));
        }
    }
}

static void random_histories_of_chat_go_out_as_they_came(void **state)
{
    (void)state;
    random_histories(chat_read, chat_write, 1, 50000);
}

static void random_histories_of_anthropic_go_out_as_they_came(void **state)
{
    (void)state;
    random_histories(anthropic_read, anthropic_write, 2, 50000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chat_is_read_into_messages_and_parts),
        cmocka_unit_test(edits_change_what_they_name_and_nothing_else),
        cmocka_unit_test(anthropic_is_read_into_messages_and_parts),
        cmocka_unit_test(edits_of_anthropic_change_what_they_name_and_nothing_else),
        cmocka_unit_test(what_others_made_of_chat_is_read),
        cmocka_unit_test(edits_reach_every_member_of_a_message),
        cmocka_unit_test(fields_alone_become_a_chat_request),
        cmocka_unit_test(fields_alone_become_an_anthropic_request),
        cmocka_unit_test(shapes_that_nobody_documents_are_kept),
        cmocka_unit_test(what_is_no_request_is_refused),
        cmocka_unit_test(patches_find_their_way_by_path),
        cmocka_unit_test(tokens_are_estimated_high_and_media_by_a_flat_rate),
        cmocka_unit_test(little_memory_is_told_and_never_broken),
        cmocka_unit_test(random_histories_of_chat_go_out_as_they_came),
        cmocka_unit_test(random_histories_of_anthropic_go_out_as_they_came),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
