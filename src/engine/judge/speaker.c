/* speaker.c - who spoke: a provider of models, or a tool. Only what tools are called, what carries their results and
 * words that only they use make it a tool: a name that nobody knows is no evidence of one. */
#include "engine/judge/speaker.h"
#include "base/str.h"

/* Does a word of the hint begin with a family of model providers, gateways, servers or agents? They stand by
 * their first letter, '/' between. */
static bool is_model_provider(daruma_str provider)
{
    static const char *const families[26] = {
        // clang-format off
        ['a' - 'a'] = "anthropic/aws/azure/alibaba/aliyun/ark/ai21/aleph/anyscale/agno/ai-sdk/aider/autogen/aihubmix/aimlapi/antigravity/arcee",
        ['b' - 'a'] = "bedrock/bigmodel/bailian/baidu/baichuan/baseten/bifrost",
        ['c' - 'a'] = "claude/cohere/cerebras/copilot/codex/cloudflare/chutes/coreweave/cursor/cline/continue/crew/cherry/clarifai/comfyui/commandcode/command-code",
        ['d' - 'a'] = "deepseek/dashscope/doubao/databricks/deepinfra/dify/deepchat/dspy",
        ['f' - 'a'] = "fireworks/friendli/featherless/flowise/forgecode",
        ['g' - 'a'] = "google/gemini/groq/grok/glm/github-models/github_models/gpt/genkit/gateway/gpustack/goose",
        ['h' - 'a'] = "huggingface/hugging/hunyuan/hyperbolic/helicone/haystack/hermes",
        ['i' - 'a'] = "ibm/iflow/inference/instructor",
        ['k' - 'a'] = "kimi/kong/kobold/kilo/kiro",
        ['l' - 'a'] = "lmstudio/lm-studio/lm_studio/llama/llm/lambda/lepton/lmdeploy/localai/langchain/langgraph/langfuse/langflow/letta/librechat/lobe",
        ['m' - 'a'] = "mistral/moonshot/minimax/mlx/mastra/modelscope/mindie/modal",
        ['n' - 'a'] = "nvidia/nim/novita/nebius/nous/n8n/new-api/neuraldeep",
        ['o' - 'a'] = "openai/openrouter/ollama/oobabooga/opencode/openhands/openclaw/open-webui/omniroute/one-api",
        ['p' - 'a'] = "perplexity/portkey/proxy/pydantic-ai/parasail/pollinations/ppio",
        ['q' - 'a'] = "qwen/qianfan",
        ['r' - 'a'] = "replicate/reka/requesty/router/runpod/roo-code/routstr",
        ['s' - 'a'] = "sglang/siliconflow/stepfun/snowflake/sambanova/scaleway/semantic-kernel/smolagents/spring-ai/sagemaker",
        ['t' - 'a'] = "tgi/triton/tencent/together/tabby/targon/trae",
        ['v' - 'a'] = "vertex/volc/vercel/venice/vscode",
        ['w' - 'a'] = "watsonx/writer/windsurf",
        ['x' - 'a'] = "xai/x.ai/xiaomi/xinference",
        ['z' - 'a'] = "zhipu/z.ai/zai/zed/zenmux",
        // clang-format on
    };
    for (size_t i = 0; i < provider.n; i++) {
        char c = ch_lower(provider.p[i]);
        const char *names = c >= 'a' && c <= 'z' ? families[c - 'a'] : NULL;
        if (i && ch_alpha(provider.p[i - 1])) /* "chatgpt"; but "mongoose" is no "goose" */
            names = "openai/anthropic/gemini/claude/llama/llm/gpt/glm/router";
        if (names && match_begins(str_from(provider, i), names))
            return true;
    }
    return false;
}

bool speaker_has_word(daruma_str provider, const daruma_str *words, size_t n)
{
    size_t from = 0;
    for (size_t i = 0; i <= provider.n; i++) {
        if (i < provider.n && (ch_alpha(provider.p[i]) || ch_digit(provider.p[i])))
            continue;
        for (size_t k = 0; i > from && k < n; k++)
            if (i - from == words[k].n && str_istarts(str_from(provider, from), words[k]))
                return true;
        from = i + 1;
    }
    return false;
}

/* A word of the hint that only tools carry: "github-mcp", "bash-tool", "angular-cli". */
static bool is_tool_name(daruma_str provider, bool model)
{
    static const daruma_str of_any[] = {
        /* even behind the name of a model's provider */
        LIT("mcp"),    LIT("tool"), LIT("tools"),    LIT("shell"), LIT("bash"),
        LIT("sheets"), LIT("docs"), LIT("calendar"), LIT("gmail"), LIT("drive"),
        LIT("plugin"), LIT("s3"),   LIT("ec2"),      LIT("iam"),   LIT("maps"),
    };
    static const daruma_str of_others[] = {
        // clang-format off
        LIT("cli"), LIT("sql"), LIT("psql"), LIT("git"), LIT("github"), LIT("terminal"), LIT("filesystem"),
        LIT("npm"), LIT("docker"), LIT("browser"), LIT("search"), LIT("playwright"), LIT("postgres"), LIT("mysql"),
        LIT("sqlite"), LIT("slack"), LIT("jira"), LIT("notion"), LIT("python"), LIT("node"), LIT("redis"),
        LIT("fetch"), LIT("kubectl"), LIT("pip"), LIT("yarn"), LIT("pnpm"), LIT("cargo"), LIT("gradle"), LIT("edit"),
        LIT("editor"), LIT("patch"), LIT("files"), LIT("powershell"), LIT("ssh"), LIT("curl"), LIT("wget"), LIT("webfetch"),
        LIT("puppeteer"), LIT("selenium"), LIT("chrome"), LIT("mongodb"), LIT("mongo"), LIT("sandbox"),
        LIT("jupyter"), LIT("gitlab"), LIT("linear"), LIT("sentry"), LIT("supabase"), LIT("figma"), LIT("stripe"),
        LIT("twilio"), LIT("hubspot"), LIT("salesforce"), LIT("asana"), LIT("trello"), LIT("discord"),
        LIT("telegram"), LIT("atlassian"), LIT("tavily"), LIT("exa"), LIT("serper"), LIT("firecrawl"),
        LIT("confluence"), LIT("brave"), LIT("serpapi"), LIT("airtable"), LIT("kubernetes"), LIT("terraform"),
        LIT("web"), LIT("http"), LIT("file"), LIT("db"), LIT("database"), LIT("elasticsearch"), LIT("bigquery"),
        LIT("gcloud"), LIT("heroku"), LIT("helm"), LIT("ansible"), LIT("maven"), LIT("homebrew"), LIT("brew"),
        LIT("apt"), LIT("uv"), LIT("poetry"), LIT("conda"), LIT("neo4j"), LIT("clickhouse"), LIT("duckdb"),
        LIT("oracle"), LIT("mssql"), LIT("kafka"), LIT("rabbitmq"), LIT("shopify"), LIT("zendesk"), LIT("pagerduty"),
        LIT("grafana"), LIT("prometheus"), LIT("youtube"), LIT("arxiv"), LIT("wikipedia"), LIT("ffmpeg"),
        LIT("pandas"), LIT("pytest"), LIT("eslint"), LIT("tsc"), LIT("vite"), LIT("jest"), LIT("adb"), LIT("make"),
        LIT("cmake"), LIT("java"), LIT("rust"), LIT("ruby"), LIT("php"), LIT("xcodebuild"),
        LIT("sendgrid"), LIT("dropbox"), LIT("outlook"), LIT("teams"), LIT("spotify"), LIT("bitbucket"),
        LIT("jenkins"), LIT("datadog"), LIT("snowsql"), LIT("dynamodb"), LIT("duckduckgo"), LIT("searx"),
        LIT("searxng"), LIT("metabase"), LIT("mongoose"), LIT("twitter"), LIT("paapi"),
        // clang-format on
    };
    static const daruma_str cli[] = {LIT("cli")};
    static const daruma_str clouds[] = {LIT("aws"),    LIT("azure"), LIT("google"),    LIT("cloudflare"),
                                        LIT("vercel"), LIT("modal"), LIT("databricks")}; /* models are a part of it */
    if (speaker_has_word(provider, cli, 1) && speaker_has_word(provider, clouds, COUNT(clouds)))
        return true;
    return speaker_has_word(provider, of_any, COUNT(of_any)) ||
           (!model && speaker_has_word(provider, of_others, COUNT(of_others)));
}

phrase_for speaker_of(const daruma_evidence *ev, const said *s, seen *v)
{
    if (ev->model_call)
        return FOR_MODEL;
    bool model = is_model_provider(ev->provider);
    bool http = ev->status || s->status; /* agents speak JSON-RPC, too, and put HTTP's failures into it */
    if (ev->phase == DARUMA_AT_TOOL || is_tool_name(ev->provider, model) || (s->shape & SAID_RPC && !http))
        return FOR_TOOL;
    v->guessed = !ev->status && match_tools(v);
    return v->guessed ? FOR_TOOL : FOR_MODEL;
}
