/* hosted.c - what providers do themselves for an answer: which of it only reads, and may be done twice. Whatever the
 * tables do not name may have effects outside: it sends, writes, runs or costs, and is done once.
 * https://platform.openai.com/docs/guides/tools, https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/overview,
 * https://ai.google.dev/gemini-api/docs/tools, https://docs.x.ai/docs/guides/tools/overview */
#include "dialect/kit/parts.h"

/* A name that ends with '*' is the beginning of one. Providers put the date of a version behind it. */
static const daruma_str chat_tools[] = {
    LIT("function"),       LIT("custom"),   LIT("web_search*"),         LIT("openrouter:web_search"),
    LIT("browser_search"), LIT("x_search"), LIT("collections_search*"), LIT("file_search"),
    LIT("live_search"),    LIT("retrieval")};
static const daruma_str chat_calls[] = {LIT("function"),      LIT("custom"),           LIT("web_search_call"),
                                        LIT("x_search_call"), LIT("file_search_call"), LIT("collections_search_call")};

/* Functions, a computer, a shell or an editor of the client's are carried out by the client, after the answer. */
static const daruma_str responses_tools[] = {
    LIT("function"),    LIT("custom"),    LIT("namespace"),          LIT("local_shell"),
    LIT("apply_patch"), LIT("computer*"), LIT("web_search*"),        LIT("file_search"),
    LIT("tool_search"), LIT("x_search"),  LIT("collections_search*")};
static const daruma_str responses_items[] = {LIT("message"),
                                             LIT("reasoning"),
                                             LIT("compaction"),
                                             LIT("function_call"),
                                             LIT("function_call_output"),
                                             LIT("custom_tool_call"),
                                             LIT("custom_tool_call_output"),
                                             LIT("local_shell_call"),
                                             LIT("apply_patch_call"),
                                             LIT("computer_call"),
                                             LIT("web_search_call"),
                                             LIT("file_search_call"),
                                             LIT("tool_search_call"),
                                             LIT("tool_search_output"),
                                             LIT("x_search_call"),
                                             LIT("collections_search_call"),
                                             LIT("mcp_list_tools"),
                                             LIT("mcp_approval_request")};

static const daruma_str anthropic_tools[] = {
    LIT("custom"),   LIT("bash_*"),       LIT("text_editor_*"), LIT("computer_*"),
    LIT("memory_*"), LIT("web_search_*"), LIT("web_fetch_*"),   LIT("tool_search_tool_*")};
static const daruma_str anthropic_blocks[] = {
    LIT("text"),          LIT("thinking"),   LIT("redacted_thinking"),      LIT("tool_use"),
    LIT("tool_result"),   LIT("compaction"), LIT("web_search_tool_result"), LIT("web_fetch_tool_result"),
    LIT("tool_search_*"), LIT("fallback")};
static const daruma_str anthropic_servers[] = {LIT("web_search"), LIT("web_fetch"), LIT("tool_search_tool_*")};

static const daruma_str gemini_tools[] = {
    LIT("functionDeclarations"), LIT("googleSearch"), LIT("googleSearchRetrieval"),
    LIT("enterpriseWebSearch"),  LIT("urlContext"),   LIT("googleMaps"),
    LIT("fileSearch"),           LIT("retrieval"),    LIT("computerUse")};
static const daruma_str gemini_parts[] = {LIT("functionCall"),   LIT("functionResponse"), LIT("inlineData"),
                                          LIT("fileData"),       LIT("videoMetadata"),    LIT("partMetadata"),
                                          LIT("mediaResolution")};

/* Models that run code, or a browser, where the request names no tool: https://console.groq.com/docs/compound. Those
 * that only search unasked (Perplexity's) are not among them. */
static const daruma_str acting_models[] = {LIT("groq/compound*"), LIT("compound-beta*")};

#define LIST(names) names, COUNT(names)
const hosted hosted_chat = {LIST(chat_tools), LIST(chat_calls), false};
const hosted hosted_responses = {LIST(responses_tools), LIST(responses_items), false};
const hosted hosted_anthropic = {LIST(anthropic_tools), LIST(anthropic_blocks), false};
const hosted hosted_gemini = {LIST(gemini_tools), LIST(gemini_parts), true};

static bool is_named(const daruma_str *names, size_t n, daruma_str name, bool camel)
{
    for (size_t i = 0; i < n; i++) {
        daruma_str known = names[i];
        bool begins = known.p[known.n - 1] == '*';
        if (begins  ? str_starts(name, str_sub(known, 0, known.n - 1))
            : camel ? key_camel(name, known)
                    : key_is(name, known))
            return true;
    }
    return false;
}

bool hosted_item(const hosted *h, daruma_str name)
{
    return name.n && !is_named(h->items, h->nitems, name, h->by_member);
}

bool dialect_model_acts(daruma_str model)
{
    return is_named(LIST(acting_models), model, false);
}

/* A shell runs at the client only where its environment says so. */
static bool is_shell(daruma_str type)
{
    return str_eq(type, S("shell")) || str_eq(type, S("shell_call"));
}

static bool is_elsewhere(daruma_str environment)
{
    daruma_str type = value_raw(json_get(environment, S("type")));
    return type.n && !str_eq(type, S("local"));
}

bool hosted_shell(daruma_str type, daruma_str environment, bool *ret)
{
    if (!is_shell(type))
        return false;
    *ret = is_elsewhere(environment);
    return true;
}

/* A tool at Google is known by its member, all others by their type, which mostly stands first. */
static bool pass_tool(const hosted *h, json_iter *it, daruma_str *ret)
{
    daruma_str key, value, type = {0}, environment = {0};
    bool effects = false, whole = h->by_member;
    json_iter tool = json_enter(it);
    while ((whole || !type.n || is_shell(type)) && json_step(&tool, &key)) {
        bool typed = !whole && key_is(key, S("type"));
        if (!json_pass(&tool, &value))
            break;
        if (typed)
            type = value_raw(value);
        else if (!whole && key_is(key, S("environment")))
            environment = value;
        else if (whole && !json_is_null(value))
            effects |= !is_named(h->tools, h->ntools, key, true);
    }
    json_leave(it, &tool, ret);
    if (whole || hosted_shell(type, environment, &effects))
        return effects;
    return type.n && !is_named(h->tools, h->ntools, type, false);
}

bool hosted_tools(const hosted *h, json_iter *it, daruma_str *ret)
{
    bool effects = false;
    if (*it->p == '{')
        return pass_tool(h, it, ret);
    if (*it->p != '[') {
        json_pass(it, ret);
        return false;
    }
    json_iter list = json_enter(it);
    while (json_step(&list, NULL))
        if (*list.p == '{')
            effects |= pass_tool(h, &list, NULL);
        else
            json_pass(&list, NULL);
    json_leave(it, &list, ret);
    return effects;
}

bool hosted_block(daruma_str type, daruma_str name)
{
    if (str_eq(type, S("server_tool_use")))
        return !is_named(LIST(anthropic_servers), name, false);
    return hosted_item(&hosted_anthropic, type);
}

bool hosted_event(daruma_str type)
{
    daruma_str name = str_from(type, sizeof "response." - 1);
    if (!str_starts(type, S("response.")))
        return false;
    name = str_cut(&name, '.');
    size_t call = str_find(name, S("_call"));
    if (call == STR_NONE || str_starts(name, S("shell_")))
        return false;
    return hosted_item(&hosted_responses, str_sub(name, 0, call + sizeof "_call" - 1));
}

/* Google's searches of its own are called so since they may stand beside functions. */
bool hosted_part(daruma_str key, daruma_str value)
{
    bool call = key_camel(key, S("toolCall")) || key_camel(key, S("toolResponse"));
    daruma_str type = call ? value_raw(json_get(value, S("toolType"))) : (daruma_str){0};
    if (str_starts(type, S("GOOGLE_")) || str_eq(type, S("URL_CONTEXT")) || str_eq(type, S("FILE_SEARCH")))
        return false;
    return hosted_item(&hosted_gemini, key);
}
