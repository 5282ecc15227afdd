/* A conversation of each dialect as each other would have read it; see convert.c. */
#include "test.h"
#include "dialect/dialect.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"

static char mem[4 << 20];
static const dialect *const all[] = {&dialect_openai, &dialect_openai_responses, &dialect_anthropic, &dialect_gemini};
#define NALL 4

/* ---- one conversation, said four times ---- */

#define SCHEMA "{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"}},\"required\":[\"city\"]}"
#define FORMAT "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}"
#define PNG    "iVBORw0KGgoAAAANSUhEUg=="

static const char chat[] =
    "{\"model\":\"m\",\"stream\":true,\"max_completion_tokens\":5000,\"temperature\":0.5,\"stop\":[\"END\"],"
    "\"parallel_tool_calls\":false,\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"weather\"}},"
    "\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"answer\",\"schema\":" FORMAT "}},"
    "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"weather\",\"description\":\"Tells "
    "it\",\"parameters\":" SCHEMA "}},{\"type\":\"function\",\"function\":{\"name\":\"now\",\"parameters\":{\"type\":"
    "\"object\",\"properties\":{}}}}],"
    "\"messages\":[{\"role\":\"system\",\"content\":\"Be \\\"brief\\\".\"},"
    "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Which "
    "city?\"},{\"type\":\"image_url\",\"image_url\":{"
    "\"url\":\"data:image/png;base64," PNG "\"}}]},"
    "{\"role\":\"assistant\",\"content\":\"Let me "
    "look.\",\"tool_calls\":[{\"id\":\"call_a\",\"type\":\"function\",\"function\":{"
    "\"name\":\"weather\",\"arguments\":\"{\\\"city\\\":\\\"Oslo\\\"}\"}},{\"id\":\"call_b\",\"type\":\"function\","
    "\"function\":{"
    "\"name\":\"now\",\"arguments\":\"{}\"}}]},"
    "{\"role\":\"tool\",\"tool_call_id\":\"call_a\",\"content\":\"rain\"},"
    "{\"role\":\"tool\",\"tool_call_id\":\"call_b\",\"content\":\"noon\"},"
    "{\"role\":\"assistant\",\"content\":\"Rain at noon.\"},"
    "{\"role\":\"user\",\"content\":\"Thanks. And tomorrow?\"}]}";

static const char anthropic[] =
    "{\"model\":\"m\",\"stream\":true,\"max_tokens\":5000,\"temperature\":0.5,\"stop_sequences\":[\"END\"],"
    "\"tool_choice\":{\"type\":\"tool\",\"name\":\"weather\",\"disable_parallel_tool_use\":true},"
    "\"output_config\":{\"format\":{\"type\":\"json_schema\",\"schema\":" FORMAT "}},"
    "\"tools\":[{\"name\":\"weather\",\"description\":\"Tells it\",\"input_schema\":" SCHEMA
    "},{\"name\":\"now\",\"input_schema\":{\"type\":\"object\",\"properties\":{}}}],"
    "\"system\":[{\"type\":\"text\",\"text\":\"Be \\\"brief\\\".\",\"cache_control\":{\"type\":\"ephemeral\"}}],"
    "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Which "
    "city?\"},{\"type\":\"image\",\"source\":{"
    "\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"" PNG "\"}}]},"
    "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"Hm.\",\"signature\":\"c2ln\"},"
    "{\"type\":\"text\",\"text\":\"Let me look.\"},"
    "{\"type\":\"tool_use\",\"id\":\"call_a\",\"name\":\"weather\",\"input\":{\"city\":\"Oslo\"}},"
    "{\"type\":\"tool_use\",\"id\":\"call_b\",\"name\":\"now\",\"input\":{}}]},"
    "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"call_a\",\"content\":\"rain\"},"
    "{\"type\":\"tool_result\",\"tool_use_id\":\"call_b\",\"content\":[{\"type\":\"text\",\"text\":\"noon\"}]}]},"
    "{\"role\":\"assistant\",\"content\":\"Rain at noon.\"},"
    "{\"role\":\"user\",\"content\":\"Thanks. And tomorrow?\"}]}";

static const char responses[] =
    "{\"model\":\"m\",\"stream\":true,\"max_output_tokens\":5000,\"temperature\":0.5,\"parallel_tool_calls\":false,"
    "\"tool_choice\":{\"type\":\"function\",\"name\":\"weather\"},\"store\":false,"
    "\"text\":{\"format\":{\"type\":\"json_schema\",\"name\":\"answer\",\"schema\":" FORMAT "}},"
    "\"tools\":[{\"type\":\"function\",\"name\":\"weather\",\"description\":\"Tells it\",\"parameters\":" SCHEMA
    "},{\"type\":\"function\",\"name\":\"now\",\"parameters\":{\"type\":\"object\",\"properties\":{}}}],"
    "\"instructions\":\"Be "
    "\\\"brief\\\".\",\"input\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":"
    "\"Which city?\"},{\"type\":\"input_image\",\"image_url\":\"data:image/png;base64," PNG "\"}]},"
    "{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[],\"encrypted_content\":\"c2ln\"},"
    "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"Let me look.\"}]},"
    "{\"type\":\"function_call\",\"call_id\":\"call_a\",\"name\":\"weather\",\"arguments\":\"{\\\"city\\\":"
    "\\\"Oslo\\\"}\"},"
    "{\"type\":\"function_call\",\"call_id\":\"call_b\",\"name\":\"now\",\"arguments\":\"{}\"},"
    "{\"type\":\"function_call_output\",\"call_id\":\"call_a\",\"output\":\"rain\"},"
    "{\"type\":\"function_call_output\",\"call_id\":\"call_b\",\"output\":\"noon\"},"
    "{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"Rain at noon.\"}]},"
    "{\"role\":\"user\",\"content\":\"Thanks. And tomorrow?\"}]}";

static const char gemini[] =
    "{\"generationConfig\":{\"maxOutputTokens\":5000,\"temperature\":0.5,\"stopSequences\":[\"END\"],"
    "\"responseMimeType\":\"application/json\",\"responseJsonSchema\":" FORMAT "},"
    "\"toolConfig\":{\"functionCallingConfig\":{\"mode\":\"ANY\",\"allowedFunctionNames\":[\"weather\"]}},"
    "\"tools\":[{\"functionDeclarations\":[{\"name\":\"weather\",\"description\":\"Tells "
    "it\",\"parametersJsonSchema\":" SCHEMA
    "},{\"name\":\"now\",\"parametersJsonSchema\":{\"type\":\"object\",\"properties\":{}}}]}],"
    "\"systemInstruction\":{\"parts\":[{\"text\":\"Be \\\"brief\\\".\"}]},"
    "\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"Which "
    "city?\"},{\"inlineData\":{\"mimeType\":\"image/png\",\"data\":"
    "\"" PNG "\"}}]},"
    "{\"role\":\"model\",\"parts\":[{\"text\":\"Let me "
    "look.\"},{\"functionCall\":{\"name\":\"weather\",\"args\":{\"city\":"
    "\"Oslo\"}},\"thoughtSignature\":\"c2ln\"},{\"functionCall\":{\"name\":\"now\",\"args\":{}}}]},"
    "{\"role\":\"user\",\"parts\":[{\"functionResponse\":{\"name\":\"weather\",\"response\":{\"output\":\"rain\"}}},"
    "{\"functionResponse\":{\"name\":\"now\",\"response\":{\"output\":\"noon\"}}}]},"
    "{\"role\":\"model\",\"parts\":[{\"text\":\"Rain at noon.\"}]},"
    "{\"role\":\"user\",\"parts\":[{\"text\":\"Thanks. And tomorrow?\"}]}]}";

static const char *const requests[] = {chat, responses, anthropic, gemini};

/* ---- helpers ---- */

static convo read_request(const dialect *d, daruma_str body, daruma_arena *a)
{
    convo c = {0};
    if (d->read(body, a, &c) != DARUMA_OK)
        fail_msg("%s does not read " STR_FMT, d->name, STR_ARG(body));
    return c;
}

static bool lost(const dialect_losses *l, const char *what)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->what[i], what) == 0)
            return true;
    return false;
}

static daruma_str converted(const dialect *from, const dialect *to, daruma_str body, dialect_losses *losses,
                            daruma_arena *a)
{
    convo c = read_request(from, body, a), out = {0};
    daruma_buf b = buf_in(a);
    *losses = (dialect_losses){0};
    assert_int_equal(dialect_convert(&c, to, a, &out, losses), DARUMA_OK);
    assert_int_equal(out.quirks, to->quirks);
    to->write(&out, &b);
    assert_false(b.full || a->full);
    if (!json_valid(buf_str(&b)))
        fail_msg("no JSON: " STR_FMT, STR_ARG(buf_str(&b)));
    return buf_str(&b);
}

/* All that was said, one unit a line: role and text; calls and results by the number of the call. Without ids a result
 * belongs to the first call of its tool that has none. */
static daruma_str said(convo *c, daruma_arena *a)
{
    static const char letters[] = "SUAT";
    daruma_buf b = buf_in(a);
    daruma_str ids[64], names[64];
    bool answered[64] = {false};
    size_t nids = 0;
    for (size_t i = 0; i < c->nmessages; i++)
        for (size_t k = 0; k < c->messages[i].nparts; k++) {
            convo_part *p = &c->messages[i].parts[k];
            size_t nth = 0;
            switch (p->kind) {
            case PART_TEXT:
                buf_printf(&b, "%c ", letters[c->messages[i].role]);
                buf_put(&b, convo_text(c, p));
                break;
            case PART_MEDIA:
                buf_printf(&b, "image %.*s %.*s", STR_ARG(p->media_type), STR_ARG(p->media));
                break;
            case PART_CALL:
                buf_printf(&b, "call %zu %.*s ", nids, STR_ARG(p->name));
                buf_put(&b, convo_text(c, p));
                assert_true(nids < 64);
                names[nids] = p->name;
                ids[nids++] = p->id;
                break;
            case PART_RESULT:
                while (nth < nids &&
                       (p->id.n ? !str_eq(ids[nth], p->id) : answered[nth] || !str_eq(names[nth], p->name)))
                    nth++;
                assert_true(nth < nids);
                answered[nth] = true;
                buf_printf(&b, "result %zu ", nth);
                buf_put(&b, convo_text(c, p));
                break;
            case PART_THINKING:
                buf_printf(&b, "thinking");
                break;
            case PART_OTHER:
                buf_printf(&b, "other " STR_FMT, STR_ARG(p->raw));
                break;
            }
            buf_putc(&b, '\n');
        }
    assert_false(b.full);
    return buf_str(&b);
}

static const char want_said[] = "S Be \"brief\".\nU Which city?\nimage image/png " PNG "\nA Let me look.\n"
                                "call 0 weather {\"city\":\"Oslo\"}\ncall 1 now {}\nresult 0 rain\nresult 1 noon\n"
                                "A Rain at noon.\nU Thanks. And tomorrow?\n";

static void says_the_same(const dialect *d, daruma_str body, daruma_arena *a)
{
    convo c = read_request(d, body, a);
    daruma_str got = said(&c, a);
    if (!str_eq(got, str_of(want_said)))
        fail_msg("%s says\n" STR_FMT "in " STR_FMT, d->name, STR_ARG(got), STR_ARG(body));
    assert_int_equal(c.ntools, 2);
    assert_str(c.tools[0].name, "weather");
    assert_str(c.tools[0].description, "Tells it");
    assert_true(c.tools[0].schema.n > 0);
    assert_str(c.tools[1].name, "now");
    assert_int_equal(c.set.choice, CHOICE_ONE);
    assert_str(c.set.choice_name, "weather");
    assert_int_equal(c.set.format, FORMAT_SCHEMA);
    assert_true(json_get(c.set.format_schema, S("properties")).n > 0);
    assert_int_equal(c.set.max_output, 5000);
    assert_str(c.set.temperature, "0.5");
}

/* ---- every pair ---- */

static void a_conversation_is_the_same_in_every_dialect(void **state)
{
    (void)state;
    for (size_t i = 0; i < NALL; i++)
        for (size_t k = 0; k < NALL; k++) {
            daruma_arena a = arena_over(mem, sizeof mem);
            dialect_losses l;
            daruma_str there = converted(all[i], all[k], str_of(requests[i]), &l, &a);
            says_the_same(all[k], there, &a);
            says_the_same(all[i], converted(all[k], all[i], there, &l, &a), &a);
            assert_true(str_eq(converted(all[i], all[k], str_of(requests[i]), &l, &a), there)); /* caches hit */
        }
}

static void what_follows_leaves_what_went_before_as_it_was(void **state)
{
    (void)state;
    for (size_t i = 0; i < NALL; i++)
        for (size_t k = 0; k < NALL; k++) {
            daruma_arena a = arena_over(mem, sizeof mem);
            convo c = read_request(all[i], str_of(requests[i]), &a), whole = {0}, part = {0};
            convo less = read_request(all[i], str_of(requests[i]), &a);
            dialect_losses l = {0};
            daruma_buf long_one = buf_in(&a), short_one = buf_in(&a);
            assert_int_equal(dialect_convert(&c, all[k], &a, &whole, &l), DARUMA_OK);
            less.messages[less.nmessages - 1].dropped = true;
            assert_int_equal(dialect_convert(&less, all[k], &a, &part, &l), DARUMA_OK);
            assert_int_equal(part.nmessages, whole.nmessages - 1);
            whole.nmessages--;
            all[k]->write(&whole, &long_one);
            all[k]->write(&part, &short_one);
            assert_true(str_eq(buf_str(&long_one), buf_str(&short_one)));
        }
}

static void losses_are_told(void **state)
{
    (void)state;
    daruma_arena a = arena_over(mem, sizeof mem);
    dialect_losses l;
    converted(&dialect_anthropic, &dialect_openai, str_of(anthropic), &l, &a);
    assert_true(lost(&l, "thinking"));
    converted(&dialect_openai, &dialect_openai_responses, str_of(chat), &l, &a);
    assert_true(lost(&l, "stop"));
    converted(&dialect_openai, &dialect_gemini, str_of(chat), &l, &a);
    assert_true(lost(&l, "parallel_tool_calls"));
    assert_false(lost(&l, "several_answers"));
    converted(&dialect_openai, &dialect_gemini, S("{\"n\":2,\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}"), &l,
              &a);
    assert_true(lost(&l, "several_answers"));
    converted(&dialect_gemini, &dialect_openai,
              S("{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"x\"}]}],\"generationConfig\":{"
                "\"candidateCount\":2}}"),
              &l, &a);
    assert_true(lost(&l, "several_answers"));
    converted(
        &dialect_openai, &dialect_anthropic,
        S("{\"messages\":[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"system\",\"content\":\"y\"}],\"seed\":1,"
          "\"temperature\":1.5,\"frequency_penalty\":0.1,\"presence_penalty\":0.1,\"response_format\":{\"type\":"
          "\"json_object\"},\"tools\":[{\"type\":\"web_search\"}],\"stop\":\"\\n\"}"),
        &l, &a);
    assert_true(lost(&l, "seed") && lost(&l, "temperature") && lost(&l, "frequency_penalty") &&
                lost(&l, "presence_penalty") && lost(&l, "json_mode") && lost(&l, "hosted_tools") && lost(&l, "stop") &&
                lost(&l, "system_message_in_between"));
    converted(&dialect_anthropic, &dialect_openai,
              S("{\"messages\":[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"assistant\",\"content\":\"{\"}],"
                "\"top_k\":3,"
                "\"max_tokens\":5}"),
              &l, &a);
    assert_true(lost(&l, "top_k") && lost(&l, "prefill"));
}

/* ---- what single wires insist on ---- */

/* OpenAI: "Invalid 'user': string too long. Expected a string with maximum length 64". Claude Code's has 150 bytes. */
static void a_user_whose_name_is_too_long_for_a_wire_is_not_named(void **state)
{
    (void)state;
    static const struct {
        size_t n;
        bool openai, anthropic;
    } cases[] = {{64, true, true}, {65, false, true}, {256, false, true}, {257, false, false}};
    char name[300], body[600];
    memset(name, 'u', sizeof name);
    for (size_t i = 0; i < COUNT(cases); i++) {
        daruma_arena a = arena_over(mem, sizeof mem);
        dialect_losses l;
        daruma_buf b = buf_over(body, sizeof body);
        BUF_LIT(&b,
                "{\"max_tokens\":9,\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"metadata\":{\"user_id\":");
        buf_json(&b, (daruma_str){name, cases[i].n});
        BUF_LIT(&b, "}}");
        daruma_str to = converted(&dialect_anthropic, &dialect_openai, buf_str(&b), &l, &a);
        assert_int_equal(json_get(to, S("user")).n > 0, cases[i].openai);
        assert_int_equal(lost(&l, "user"), !cases[i].openai);
        b.n = 0;
        BUF_LIT(&b, "{\"input\":\"x\",\"user\":");
        buf_json(&b, (daruma_str){name, cases[i].n});
        BUF_LIT(&b, "}");
        to = converted(&dialect_openai_responses, &dialect_anthropic, buf_str(&b), &l, &a);
        assert_int_equal(json_path(to, "metadata.user_id").n > 0, cases[i].anthropic);
        assert_int_equal(lost(&l, "user"), !cases[i].anthropic);
    }
}

static void anthropic_is_told_how_much_it_may_say(void **state)
{
    (void)state;
    daruma_arena a = arena_over(mem, sizeof mem);
    dialect_losses l;
    daruma_str body = converted(&dialect_openai, &dialect_anthropic,
                                S("{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}"), &l, &a);
    assert_int_equal(json_int(json_get(body, S("max_tokens")), 0), 8192);
    body = converted(
        &dialect_openai, &dialect_anthropic,
        S("{\"reasoning_effort\":\"high\",\"temperature\":1,\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}"), &l,
        &a);
    int64_t budget = json_int(json_path(body, "thinking.budget_tokens"), 0);
    assert_int_equal(budget, 16384);
    assert_true(json_int(json_get(body, S("max_tokens")), 0) > budget);
    assert_false(json_get(body, S("temperature")).n); /* refused beside thinking */
}

static void no_thinking_is_asked_for_within_a_tool_loop_without_it(void **state)
{
    (void)state;
    daruma_arena a = arena_over(mem, sizeof mem);
    dialect_losses l;
    daruma_str body = converted(&dialect_openai, &dialect_anthropic,
                                S("{\"reasoning_effort\":\"high\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"},{"
                                  "\"role\":\"assistant\",\"content\":"
                                  "null,\"tool_calls\":[{\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":"
                                  "\"f\",\"arguments\":\"{}\"}}]},"
                                  "{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"r\"}],\"tools\":[{\"type\":"
                                  "\"function\",\"function\":{\"name\":\"f\"}}]}"),
                                &l, &a);
    assert_false(json_get(body, S("thinking")).n);
    assert_true(lost(&l, "reasoning_effort"));
}

/* What OpenAI's two APIs have in common goes along between them, and is named elsewhere. */
static void what_openai_alone_has_stays_with_it(void **state)
{
    (void)state;
    static const struct {
        const char *ask, *path, *is; /* empty: it is not there */
    } rows[] = {
        {"\"reasoning_effort\":\"none\"", "reasoning.effort", "\"none\""},
        {"\"reasoning_effort\":\"xhigh\"", "reasoning.effort", "\"xhigh\""},
        {"\"reasoning_effort\":\"max\"", "reasoning.effort", "\"high\""},
        {"\"reasoning\":{\"enabled\":false}", "reasoning.effort", ""},
        {"\"service_tier\":\"flex\"", "service_tier", "\"flex\""},
        {"\"service_tier\":null", "service_tier", ""},
        {"\"prompt_cache_key\":\"k\"", "prompt_cache_key", "\"k\""},
        {"\"verbosity\":\"low\"", "text.verbosity", "\"low\""},
        {"\"verbosity\":\"low\",\"response_format\":{\"type\":\"json_object\"}", "text.format.type", "\"json_object\""},
    };
    daruma_arena a = arena_over(mem, sizeof mem);
    dialect_losses l;
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_buf b = buf_in(&a);
        buf_printf(&b, "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],%s}", rows[i].ask);
        daruma_str to = converted(&dialect_openai, &dialect_openai_responses, buf_str(&b), &l, &a);
        assert_str(json_path(to, rows[i].path), rows[i].is);
        assert_int_equal(l.n, 0);
    }
    daruma_str from = S("{\"input\":\"x\",\"text\":{\"verbosity\":\"high\"},\"service_tier\":\"priority\","
                        "\"reasoning\":{\"effort\":\"none\"},\"top_logprobs\":2,\"metadata\":{\"a\":\"b\"}}");
    daruma_str to = converted(&dialect_openai_responses, &dialect_openai, from, &l, &a);
    assert_str(json_get(to, S("verbosity")), "\"high\"");
    assert_str(json_get(to, S("service_tier")), "\"priority\"");
    assert_str(json_get(to, S("reasoning_effort")), "\"none\"");
    assert_int_equal(l.n, 2); /* Chat takes metadata of what it stores alone */
    to = converted(&dialect_openai_responses, &dialect_gemini, from, &l, &a);
    assert_int_equal(l.n, 4);
    assert_true(lost(&l, "verbosity") && lost(&l, "service_tier") && lost(&l, "logprobs") && lost(&l, "metadata"));
    assert_str(json_path(to, "generationConfig.thinkingConfig.thinkingBudget"), "0");
}

static void ids_that_do_not_fit_are_made_anew_in_pairs(void **state)
{
    (void)state;
#define CALL(id, args)                                                                                                 \
    "{\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"" args "\"}}"
#define RESULT(id, text) "{\"role\":\"tool\",\"tool_call_id\":\"" id "\",\"content\":\"" text "\"}"
#define LONG             "call_0123456789012345678901234567890123456789012345678901234567890123456789"
    static const char body[] =
        "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"assistant\",\"content\":null,\"tool_calls\":"
        "[" CALL("functions.f:0", "{}") "," CALL(LONG, "{}") "]}," RESULT("functions.f:0", "r0") "," RESULT(
            LONG, "r1") ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":"
                        "[" CALL("functions.f:0", "{\\\"again\\\":1}") "]}," RESULT("functions.f:0", "r2") "]}";
    for (size_t k = 1; k < NALL; k++) {
        daruma_arena a = arena_over(mem, sizeof mem);
        dialect_losses l;
        convo c = read_request(all[k], converted(&dialect_openai, all[k], str_of(body), &l, &a), &a);
        assert_str(said(&c, &a),
                   "U x\ncall 0 f {}\ncall 1 f {}\nresult 0 r0\nresult 1 r1\ncall 2 f {\"again\":1}\nresult 2 r2\n");
        for (size_t i = 0; i < c.nmessages; i++)
            for (size_t p = 0; p < c.messages[i].nparts; p++) {
                daruma_str id = c.messages[i].parts[p].id;
                if (all[k] == &dialect_gemini)
                    continue;
                assert_true(id.n <= 64);
                for (size_t n = 0; all[k] == &dialect_anthropic && n < id.n; n++)
                    assert_true(ch_alpha(id.p[n]) || ch_digit(id.p[n]) || id.p[n] == '_' || id.p[n] == '-');
            }
    }
}

/* The names of the tools of a Gemini request as OpenAI gets them. */
static daruma_str names_there(const char *tools, const char *called, daruma_arena *a)
{
    char body[2000];
    dialect_losses l;
    snprintf(body, sizeof body,
             "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"x\"}]}%s%s%s],\"tools\":[{"
             "\"functionDeclarations\":[%s]}]}",
             *called ? ",{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"args\":{},\"name\":\"" : "", called,
             *called ? "\"}}]}" : "", tools);
    convo c = read_request(&dialect_openai, converted(&dialect_gemini, &dialect_openai, str_of(body), &l, a), a);
    daruma_buf b = buf_in(a);
    for (size_t i = 0; i < c.ntools; i++) {
        buf_put(&b, c.tools[i].name);
        buf_putc(&b, ' ');
    }
    for (size_t i = 0; i < c.nmessages; i++)
        for (size_t k = 0; k < c.messages[i].nparts; k++)
            if (c.messages[i].parts[k].kind == PART_CALL)
                buf_put(&b, c.messages[i].parts[k].name);
    return buf_str(&b);
}

static void a_name_that_does_not_fit_stays_readable_where_no_other_tool_has_it(void **state)
{
    (void)state;
    daruma_arena a = arena_over(mem, sizeof mem);
    assert_str(names_there("{\"name\":\"fs.read\"},{\"name\":\"fs:list\"},{\"name\":\"plain\"}", "fs.read", &a),
               "fs_read fs_list plain fs_read");
    /* another one is called so, would be called so, or was called so */
    daruma_str names[] = {names_there("{\"name\":\"fs.read\"},{\"name\":\"fs_read\"}", "fs.read", &a),
                          names_there("{\"name\":\"fs.read\"},{\"name\":\"fs:read\"}", "", &a),
                          names_there("{\"name\":\"fs.read\"}", "fs_read", &a)};
    for (size_t i = 0; i < COUNT(names); i++) {
        daruma_str rest = names[i], one = str_cut(&rest, ' '), two = i < 2 ? str_cut(&rest, ' ') : rest;
        assert_true(str_starts(one, S("fs_read_")) && one.n == 24);
        assert_false(str_eq(one, two));
        assert_true(i == 1 || str_eq(two, S("fs_read")));
        assert_true(i != 0 || str_eq(rest, one));
    }
}

static void tools_that_may_not_be_called_are_not_offered_elsewhere(void **state)
{
    (void)state;
    static const char chat_tools[] =
        "[{\"type\":\"function\",\"function\":{\"name\":\"look\"}},{\"type\":\"function\","
        "\"function\":{\"name\":\"ls\"}},{\"type\":\"function\",\"function\":{\"name\":\"rm\"}}]";
    static const char items[] = "[{\"type\":\"function\",\"name\":\"look\"},{\"type\":\"function\",\"name\":\"ls\"},"
                                "{\"type\":\"function\",\"name\":\"rm\"}]";
    char of_chat[1024], of_responses[1024];
    snprintf(of_chat, sizeof of_chat,
             "{\"messages\":[{\"role\":\"user\",\"content\":\"go\"}],\"tools\":%s,\"tool_choice\":{\"type\":\"allowed_"
             "tools\","
             "\"allowed_tools\":{\"mode\":\"auto\",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"look\"}},"
             "{\"type\":\"function\",\"function\":{\"name\":\"ls\"}}]}}}",
             chat_tools);
    snprintf(
        of_responses, sizeof of_responses,
        "{\"input\":\"go\",\"tools\":%s,\"tool_choice\":{\"type\":\"allowed_tools\",\"mode\":\"required\",\"tools\":"
        "[{\"type\":\"function\",\"name\":\"look\"},{\"type\":\"function\",\"name\":\"ls\"}]}}",
        items);
    static const char of_gemini[] =
        "{\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"go\"}]}],\"tools\":[{\"functionDeclarations\":[{"
        "\"name\":"
        "\"look\"},{\"name\":\"ls\"},{\"name\":\"rm\"}]}],\"toolConfig\":{\"functionCallingConfig\":{\"mode\":\"ANY\","
        "\"allowedFunctionNames\":[\"look\",\"ls\"]}}}";
    const char *const bodies[] = {of_chat, of_responses, NULL, of_gemini};
    for (size_t i = 0; i < COUNT(all); i++)
        for (size_t k = 0; k < COUNT(all) && bodies[i]; k++) {
            daruma_arena a = arena_over(mem, sizeof mem);
            dialect_losses l;
            if (i == k)
                continue;
            convo c = read_request(all[k], converted(all[i], all[k], str_of(bodies[i]), &l, &a), &a);
            assert_int_equal(c.ntools, 2);
            assert_str(c.tools[0].name, "look");
            assert_str(c.tools[1].name, "ls");
            assert_int_equal(c.set.choice, i == 0 ? CHOICE_AUTO : CHOICE_ANY);
        }
}

static void what_is_strict_stays_so_between_the_apis_of_openai(void **state)
{
    (void)state;
    static const char body[] = "{\"messages\":[{\"role\":\"user\",\"content\":\"go\"}],\"tools\":[{\"type\":"
                               "\"function\",\"function\":{\"name\":"
                               "\"look\",\"strict\":true,\"parameters\":{\"type\":\"object\"}}},{\"type\":\"function\","
                               "\"function\":{\"name\":\"ls\","
                               "\"parameters\":{\"type\":\"object\"}}}],\"response_format\":{\"type\":\"json_schema\","
                               "\"json_schema\":{\"name\":\"x\","
                               "\"strict\":true,\"schema\":{\"type\":\"object\"}}}}";
    daruma_arena a = arena_over(mem, sizeof mem);
    dialect_losses l;
    daruma_str there = converted(&dialect_openai, &dialect_openai_responses, str_of(body), &l, &a);
    assert_true(json_is_true(json_path(there, "tools.0.strict")) &&
                json_is_true(json_path(there, "text.format.strict")));
    assert_false(json_is_true(json_path(there, "tools.1.strict")));
    daruma_str back = converted(&dialect_openai_responses, &dialect_openai, there, &l, &a);
    assert_true(json_is_true(json_path(back, "tools.0.function.strict")));
    assert_true(json_is_true(json_path(back, "response_format.json_schema.strict")));
    daruma_str away = converted(&dialect_openai, &dialect_anthropic, str_of(body), &l, &a);
    assert_int_equal(str_find(away, S("strict")), STR_NONE);
}

static void what_a_search_found_is_said_in_words(void **state)
{
    (void)state;
    static const char body[] = "{\"max_tokens\":9,\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"document\","
                               "\"title\":\"T\",\"source\":{\"type\":"
                               "\"content\",\"content\":[{\"type\":\"text\",\"text\":\"alpha\"},{\"type\":\"text\","
                               "\"text\":\"beta\"}]}}]},{\"role\":"
                               "\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"find\","
                               "\"input\":{}}]},{\"role\":\"user\","
                               "\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_1\",\"content\":[{"
                               "\"type\":\"search_result\",\"source\":"
                               "\"https://e.org\",\"title\":\"Found\",\"content\":[{\"type\":\"text\",\"text\":\"the "
                               "words\"}]},{\"type\":\"text\",\"text\":"
                               "\"end\"}]}]}]}";
    for (size_t k = 0; k < COUNT(all); k++) {
        daruma_arena a = arena_over(mem, sizeof mem);
        dialect_losses l;
        if (all[k] == &dialect_anthropic)
            continue;
        daruma_str there = converted(&dialect_anthropic, all[k], str_of(body), &l, &a);
        assert_true(str_find(there, S("T\\nalpha\\nbeta")) != STR_NONE);
        assert_true(str_find(there, S("end\\nFound\\nhttps://e.org\\nthe words")) != STR_NONE);
        assert_int_equal(l.n, 0);
    }
}

static void of_a_document_in_blocks_what_is_no_text_is_told(void **state)
{
    (void)state;
    static const char body[] = "{\"max_tokens\":9,\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"document\","
                               "\"title\":\"T\",\"source\":{\"type\":"
                               "\"content\",\"content\":\"alpha\"}},{\"type\":\"document\",\"source\":{\"type\":"
                               "\"content\",\"content\":[{\"type\":\"text\","
                               "\"text\":\"beta\"},{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":"
                               "\"image/png\",\"data\":\"QUFB\"}}]}}]}]}";
    daruma_arena a = arena_over(mem, sizeof mem);
    dialect_losses l;
    daruma_str there = converted(&dialect_anthropic, &dialect_openai, str_of(body), &l, &a);
    assert_true(str_find(there, S("alpha")) != STR_NONE && str_find(there, S("beta")) != STR_NONE);
    assert_int_equal(l.n, 1);
    assert_string_equal(l.what[0], "unknown_content");
}

static void roles_take_turns_and_the_user_begins(void **state)
{
    (void)state;
    static const char body[] =
        "{\"messages\":[{\"role\":\"system\",\"content\":\"a\"},{\"role\":\"developer\",\"content\":\"b\"},"
        "{\"role\":\"assistant\",\"content\":\"hello\"},{\"role\":\"assistant\",\"content\":\"there\"},"
        "{\"role\":\"user\",\"content\":\"1\"},{\"role\":\"user\",\"content\":\"2\"},{\"role\":\"user\",\"content\":"
        "\"\"}]}";
    static const dialect *const strict[] = {&dialect_anthropic, &dialect_gemini};
    for (size_t k = 0; k < 2; k++) {
        daruma_arena a = arena_over(mem, sizeof mem);
        dialect_losses l;
        convo c = read_request(strict[k], converted(&dialect_openai, strict[k], str_of(body), &l, &a), &a);
        assert_int_equal(c.nmessages, 4);
        assert_true(c.messages[0].apart);
        assert_int_equal(c.messages[0].nparts, 2);
        assert_int_equal(c.messages[1].role, CONVO_USER);
        assert_int_equal(c.messages[2].role, CONVO_ASSISTANT);
        assert_int_equal(c.messages[2].nparts, 2);
        assert_int_equal(c.messages[3].nparts, 2); /* the empty text is gone */
    }
}

static void images_of_tools_find_a_place(void **state)
{
    (void)state;
    static const char body[] =
        "{\"max_tokens\":9,\"messages\":[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"assistant\",\"content\":["
        "{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"shot\",\"input\":{}},{\"type\":\"tool_use\",\"id\":\"b\","
        "\"name\":\"shot\","
        "\"input\":{}}]},{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":[{"
        "\"type\":"
        "\"text\",\"text\":\"here\"},{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/"
        "png\",\"data\":\"" PNG "\"}}]},{\"type\":\"tool_result\",\"tool_use_id\":\"b\",\"content\":\"none\",\"is_"
        "error\":true},{\"type\":\"text\","
        "\"text\":\"go on\"}]}]}";
    daruma_arena a = arena_over(mem, sizeof mem);
    dialect_losses l;
    convo c = read_request(&dialect_openai, converted(&dialect_anthropic, &dialect_openai, str_of(body), &l, &a), &a);
    assert_str(said(&c, &a), "U x\ncall 0 shot {}\ncall 1 shot {}\nresult 0 here\nresult 1 none\n"
                             "U [From the result of tool call a:]\nimage image/png " PNG "\nU go on\n");
    assert_true(lost(&l, "media_in_result") && lost(&l, "is_error"));
    c = read_request(&dialect_gemini, converted(&dialect_anthropic, &dialect_gemini, str_of(body), &l, &a), &a);
    assert_str(said(&c, &a),
               "U x\ncall 0 shot {}\ncall 1 shot {}\nresult 0 here\nresult 1 none\nimage image/png " PNG "\nU go on\n");
    daruma_str there = converted(&dialect_anthropic, &dialect_openai_responses, str_of(body), &l, &a);
    assert_true(str_find(there, S("input_image")) != STR_NONE);
    assert_int_equal(l.n, 1); /* is_error alone */
    assert_true(str_find(converted(&dialect_openai_responses, &dialect_anthropic, there, &l, &a), S(PNG)) != STR_NONE);
}

static void media_that_cannot_go_along_is_said(void **state)
{
    (void)state;
    static const char body[] = "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"input_audio\",\"input_"
                               "audio\":{\"data\":\"AAAA\",\"format\":"
                               "\"wav\"}},{\"type\":\"file\",\"file\":{\"filename\":\"a.pdf\",\"file_data\":\"data:"
                               "application/pdf;base64,JVBERi0=\"}}]}]}";
    daruma_arena a = arena_over(mem, sizeof mem);
    dialect_losses l;
    convo c =
        read_request(&dialect_anthropic, converted(&dialect_openai, &dialect_anthropic, str_of(body), &l, &a), &a);
    assert_str(said(&c, &a), "U [audio that cannot be passed on]\nimage application/pdf JVBERi0=\n");
    assert_true(lost(&l, "audio"));
    c = read_request(&dialect_gemini, converted(&dialect_openai, &dialect_gemini, str_of(body), &l, &a), &a);
    assert_str(said(&c, &a), "image audio/wav AAAA\nimage application/pdf JVBERi0=\n");
    assert_int_equal(l.n, 1);
    assert_true(lost(&l, "file_name"));
}

#define CHAT(pieces)      "{\"messages\":[{\"role\":\"user\",\"content\":[" pieces "]}]}"
#define RESPONSES(pieces) "{\"input\":[{\"role\":\"user\",\"content\":[" pieces "]}]}"
#define CLAUDE(blocks)    "{\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":[" blocks "]}]}"

static void what_stands_beside_media_goes_along(void **state)
{
    (void)state;
    static const char image[] =
        CHAT("{\"type\":\"image_url\",\"image_url\":{\"url\":\"https://a/b.png\",\"detail\":\"low\"}}");
    static const char pdf[] =
        RESPONSES("{\"type\":\"input_file\",\"filename\":\"a \\\"b.pdf\",\"file_data\":\"JVBERi0=\"}");
    static const struct {
        const dialect *from, *to;
        const char *body, *there, *lost;
    } rows[] = {
        {&dialect_openai, &dialect_openai_responses, image, "\"image_url\":\"https://a/b.png\",\"detail\":\"low\"}",
         ""},
        {&dialect_openai_responses, &dialect_openai,
         RESPONSES("{\"type\":\"input_image\",\"image_url\":\"https://a/b.png\",\"detail\":\"high\"}"),
         "{\"url\":\"https://a/b.png\",\"detail\":\"high\"}", ""},
        {&dialect_openai, &dialect_anthropic, image, "\"url\":\"https://a/b.png\"}}", "image_detail"},
        {&dialect_openai_responses, &dialect_openai, pdf,
         "{\"filename\":\"a \\\"b.pdf\",\"file_data\":\"data:application/pdf;base64,JVBERi0=\"}", ""},
        {&dialect_openai_responses, &dialect_anthropic, pdf, "\"data\":\"JVBERi0=\"},\"title\":\"a \\\"b.pdf\"}", ""},
        {&dialect_anthropic, &dialect_openai_responses,
         CLAUDE("{\"type\":\"document\",\"title\":\"T\",\"source\":{\"type\":\"base64\",\"media_type\":\"application/"
                "pdf\",\"data\":\"JVBERi0=\"}}"),
         "\"filename\":\"T\"", ""},
        /* a file of text is text where files of text are not taken, and is sent as one where they are */
        {&dialect_openai, &dialect_anthropic,
         CHAT("{\"type\":\"file\",\"file\":{\"filename\":\"n.txt\",\"file_data\":\"data:text/plain;base64,aMO8\"}}"),
         "\"[Document n.txt]\\nh\xc3\xbc\"", ""},
        {&dialect_openai_responses, &dialect_openai,
         RESPONSES("{\"type\":\"input_file\",\"filename\":\"n.md\",\"file_data\":\"aMO8\"}"),
         "\"[Document n.md]\\nh\xc3\xbc\"", ""},
        {&dialect_gemini, &dialect_anthropic,
         "{\"contents\":[{\"parts\":[{\"inlineData\":{\"mimeType\":\"text/csv\",\"data\":\"YSxi\"}}]}]}",
         "\"[Document]\\na,b\"", ""},
        {&dialect_openai, &dialect_gemini,
         CHAT("{\"type\":\"file\",\"file\":{\"filename\":\"n.txt\",\"file_data\":\"data:text/plain;base64,aMO8\"}}"),
         "{\"mimeType\":\"text/plain\",\"data\":\"aMO8\"}", "file_name"},
        {&dialect_gemini, &dialect_anthropic,
         "{\"contents\":[{\"parts\":[{\"inlineData\":{\"mimeType\":\"text/csv\",\"data\":\"/w==\"}}]}]}",
         "[document that cannot be passed on]", "document"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        daruma_arena a = arena_over(mem, sizeof mem);
        dialect_losses l;
        daruma_str there = converted(rows[i].from, rows[i].to, str_of(rows[i].body), &l, &a);
        if (str_find(there, str_of(rows[i].there)) == STR_NONE || l.n != (*rows[i].lost != 0) ||
            (l.n && strcmp(l.what[0], rows[i].lost) != 0))
            fail_msg("row %zu: " STR_FMT ", lost %s", i, STR_ARG(there), l.n ? l.what[0] : "nothing");
    }
}

static void what_lives_on_the_server_stays_there(void **state)
{
    (void)state;
    static const struct {
        const dialect *d;
        const char *body;
    } rows[] = {
        {&dialect_openai_responses, "{\"input\":\"x\",\"previous_response_id\":\"resp_1\"}"},
        {&dialect_openai_responses,
         "{\"input\":[{\"type\":\"item_reference\",\"id\":\"msg_1\"},{\"role\":\"user\",\"content\":\"x\"}]}"},
        {&dialect_openai,
         "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"file\",\"file\":{\"file_id\":\"file-1\"}}]}]}"},
        {&dialect_anthropic,
         "{\"max_tokens\":1,\"container\":\"c_1\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}"},
        {&dialect_gemini,
         "{\"cachedContent\":\"cachedContents/1\",\"contents\":[{\"role\":\"user\",\"parts\":[{\"text\":\"x\"}]}]}"},
        {&dialect_openai, "{\"messages\":[]}"},
        {&dialect_openai, "{\"messages\":[{\"role\":\"system\",\"content\":\"x\"}]}"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        for (size_t k = 0; k < NALL; k++) {
            daruma_arena a = arena_over(mem, sizeof mem);
            convo c = read_request(rows[i].d, str_of(rows[i].body), &a), out;
            dialect_losses l = {0};
            if (dialect_convert(&c, all[k], &a, &out, &l) != DARUMA_EINPUT)
                fail_msg("row %zu to %s", i, all[k]->name);
        }
}

static void a_question_of_our_own_is_a_request(void **state)
{
    (void)state;
    for (size_t k = 0; k < NALL; k++) {
        daruma_arena a = arena_over(mem, sizeof mem);
        daruma_buf b = buf_in(&a);
        daruma_question q = {
            .system = S("You \"sum\" up."), .user = S("text\n"), .max_tokens = 300, .temperature_milli = 200};
        dialect_write_ask(all[k], S("m\"x"), &q, &b, &a);
        convo c = read_request(all[k], buf_str(&b), &a);
        assert_str(said(&c, &a), "S You \"sum\" up.\nU text\n\n");
        assert_int_equal(c.set.max_output, 300);
        assert_str(c.set.temperature, "0.200");
        if (all[k] != &dialect_gemini)
            assert_str(c.set.model, "m\"x");
    }
}

static void a_path_leads_to_its_dialect(void **state)
{
    (void)state;
    daruma_arena a = arena_over(mem, sizeof mem);
    for (size_t k = 0; k < NALL; k++)
        for (int stream = 0; stream < 2; stream++)
            assert_ptr_equal(dialect_of_path(dialect_path(all[k], S("m-1.5"), stream, &a)), all[k]);
    assert_str(dialect_path(&dialect_gemini, S("gemini-2.5-pro"), true, &a),
               "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse");
    assert_str(dialect_path(&dialect_gemini, S("models/x y?"), false, &a), "/v1beta/models/x%20y%3F:generateContent");
}

static void small_memory_is_told(void **state)
{
    (void)state;
    static char room[64 << 10];
    for (size_t i = 0; i < NALL; i++)
        for (size_t n = 0; n < sizeof room; n += 512) {
            daruma_arena a = arena_over(mem, sizeof mem), small = arena_over(room, n);
            convo c = read_request(all[i], str_of(requests[i]), &a), out;
            dialect_losses l = {0};
            daruma_status s = dialect_convert(&c, all[(i + 1) % NALL], &small, &out, &l);
            assert_true(s == DARUMA_OK || s == DARUMA_EFULL);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_conversation_is_the_same_in_every_dialect),
        cmocka_unit_test(what_follows_leaves_what_went_before_as_it_was),
        cmocka_unit_test(losses_are_told),
        cmocka_unit_test(a_user_whose_name_is_too_long_for_a_wire_is_not_named),
        cmocka_unit_test(anthropic_is_told_how_much_it_may_say),
        cmocka_unit_test(no_thinking_is_asked_for_within_a_tool_loop_without_it),
        cmocka_unit_test(what_openai_alone_has_stays_with_it),
        cmocka_unit_test(ids_that_do_not_fit_are_made_anew_in_pairs),
        cmocka_unit_test(a_name_that_does_not_fit_stays_readable_where_no_other_tool_has_it),
        cmocka_unit_test(tools_that_may_not_be_called_are_not_offered_elsewhere),
        cmocka_unit_test(what_is_strict_stays_so_between_the_apis_of_openai),
        cmocka_unit_test(what_a_search_found_is_said_in_words),
        cmocka_unit_test(of_a_document_in_blocks_what_is_no_text_is_told),
        cmocka_unit_test(roles_take_turns_and_the_user_begins),
        cmocka_unit_test(images_of_tools_find_a_place),
        cmocka_unit_test(media_that_cannot_go_along_is_said),
        cmocka_unit_test(what_stands_beside_media_goes_along),
        cmocka_unit_test(what_lives_on_the_server_stays_there),
        cmocka_unit_test(a_question_of_our_own_is_a_request),
        cmocka_unit_test(a_path_leads_to_its_dialect),
        cmocka_unit_test(small_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
