/* speaker.c - who spoke: a provider of models, or a tool. Only what tools are called, what carries their results and
 * words that only they use make it a tool: a name that nobody knows is no evidence of one. */
#include "engine/judge/speaker.h"
#include "base/str.h"

/* Names by their first letter, '/' between. */
typedef const char *const names_by_letter[26];

// clang-format off
/* Families of model providers, gateways, servers and agents. */
static names_by_letter families = {
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
};
/* Words that only tools carry, even behind the name of a model's provider. */
static names_by_letter tools = {
    ['b' - 'a'] = "bash/browser",
    ['c' - 'a'] = "calendar",
    ['d' - 'a'] = "docs/drive",
    ['e' - 'a'] = "ec2/editor",
    ['f' - 'a'] = "files/filesystem",
    ['g' - 'a'] = "gmail",
    ['i' - 'a'] = "iam",
    ['m' - 'a'] = "maps/mcp",
    ['p' - 'a'] = "plugin",
    ['s' - 'a'] = "s3/sandbox/sheets/shell",
    ['t' - 'a'] = "terminal/tool/tools",
};
/* ... and elsewhere: "github-mcp", "bash-tool", "angular-cli". */
static names_by_letter programs = {
    ['a' - 'a'] = "adb/airtable/ansible/apt/arxiv/asana/atlassian",
    ['b' - 'a'] = "bigquery/bitbucket/brave/brew",
    ['c' - 'a'] = "cargo/chrome/cli/clickhouse/cmake/conda/confluence/curl",
    ['d' - 'a'] = "database/datadog/db/discord/docker/dropbox/duckdb/duckduckgo/dynamodb",
    ['e' - 'a'] = "edit/elasticsearch/eslint/exa",
    ['f' - 'a'] = "fetch/ffmpeg/figma/file/firecrawl",
    ['g' - 'a'] = "gcloud/git/github/gitlab/gradle/grafana",
    ['h' - 'a'] = "helm/heroku/homebrew/http/hubspot",
    ['j' - 'a'] = "java/jenkins/jest/jira/jupyter",
    ['k' - 'a'] = "kafka/kubectl/kubernetes",
    ['l' - 'a'] = "linear",
    ['m' - 'a'] = "make/maven/metabase/mongo/mongodb/mongoose/mssql/mysql",
    ['n' - 'a'] = "neo4j/node/notion/npm",
    ['o' - 'a'] = "oracle/outlook",
    ['p' - 'a'] = "paapi/pagerduty/pandas/patch/php/pip/playwright/pnpm/poetry/postgres/powershell/prometheus/psql/puppeteer/pytest/python",
    ['r' - 'a'] = "rabbitmq/redis/ruby/rust",
    ['s' - 'a'] = "salesforce/search/searx/searxng/selenium/sendgrid/sentry/serpapi/serper/shopify/slack/snowsql/spotify/sql/sqlite/ssh/stripe/supabase",
    ['t' - 'a'] = "tavily/teams/telegram/terraform/trello/tsc/twilio/twitter",
    ['u' - 'a'] = "uv",
    ['v' - 'a'] = "vite",
    ['w' - 'a'] = "web/webfetch/wget/wikipedia",
    ['x' - 'a'] = "xcodebuild",
    ['y' - 'a'] = "yarn/youtube",
    ['z' - 'a'] = "zendesk",
};
/* Clouds of which models are a part. */
static names_by_letter clouds = {
    ['a' - 'a'] = "aws/azure", ['c' - 'a'] = "cloudflare", ['d' - 'a'] = "databricks", ['g' - 'a'] = "google",
    ['m' - 'a'] = "modal", ['v' - 'a'] = "vercel",
};
static names_by_letter cli = {['c' - 'a'] = "cli"};
// clang-format on

/* True if one of the names is a whole word of the hint. */
static bool has_name(daruma_str hint, names_by_letter names)
{
    for (size_t i = 0; i < hint.n; i++) {
        char c = ch_lower(hint.p[i]);
        bool begins = c >= 'a' && c <= 'z' && !(i && (ch_alpha(hint.p[i - 1]) || ch_digit(hint.p[i - 1])));
        if (begins && names[c - 'a'] && match_begins(str_from(hint, i), names[c - 'a'], true))
            return true;
    }
    return false;
}

/* Does a word of the hint begin with a family? */
static bool is_model_provider(daruma_str hint)
{
    for (size_t i = 0; i < hint.n; i++) {
        char c = ch_lower(hint.p[i]);
        const char *names = c >= 'a' && c <= 'z' ? families[c - 'a'] : NULL;
        if (i && ch_alpha(hint.p[i - 1])) /* "chatgpt"; but "mongoose" is no "goose" */
            names = memchr("oagclr", c, 6) ? "openai/anthropic/gemini/claude/llama/llm/gpt/glm/router" : NULL;
        if (names && match_begins(str_from(hint, i), names, false))
            return true;
    }
    return false;
}

static bool is_tool_name(daruma_str hint, bool model)
{
    return (has_name(hint, cli) && has_name(hint, clouds)) || has_name(hint, tools) ||
           (!model && has_name(hint, programs));
}

phrase_for speaker_of(const daruma_evidence *ev, const said *s, seen *v)
{
    if (ev->model_call)
        return FOR_MODEL;
    bool model = is_model_provider(ev->provider);
    bool http = ev->status || s->status; /* agents speak JSON-RPC, too, and put HTTP's failures into it */
    if (ev->phase == DARUMA_AT_TOOL || is_tool_name(ev->provider, model) || (s->shape & SAID_RPC && !http) ||
        s->shape & SAID_TAGGED)
        return FOR_TOOL;
    v->guessed = !ev->status && match_tools(v);
    return v->guessed ? FOR_TOOL : FOR_MODEL;
}
