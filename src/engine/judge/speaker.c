/* speaker.c - who spoke: a provider of models, or a tool. Only what tools are called, what carries their results and
 * words that only they use make it a tool: a name that nobody knows is no evidence of one. */
#include "engine/judge/speaker.h"
#include "base/str.h"

#define AT(letter) ((letter) - 'a')
/* Names by their first letter, '/' between. */
typedef const char *const names_by_letter[26];

// clang-format off
/* Families of model providers, gateways, servers and agents. */
static names_by_letter families = {
    [AT('a')] = "anthropic/aws/azure/alibaba/aliyun/ark/ai21/aleph/anyscale/agno/ai-sdk/aider/autogen/aihubmix/aimlapi/antigravity/arcee",
    [AT('b')] = "bedrock/bigmodel/bailian/baidu/baichuan/baseten/bifrost",
    [AT('c')] = "claude/cohere/cerebras/copilot/codex/cloudflare/chutes/coreweave/cursor/cline/continue/crew/cherry/clarifai/comfyui/commandcode/command-code",
    [AT('d')] = "deepseek/dashscope/doubao/databricks/deepinfra/dify/deepchat/dspy", [AT('f')] = "fireworks/friendli/featherless/flowise/forgecode",
    [AT('g')] = "google/gemini/groq/grok/glm/github-models/github_models/gpt/genkit/gateway/gpustack/goose",
    [AT('h')] = "huggingface/hugging/hunyuan/hyperbolic/helicone/haystack/hermes", [AT('i')] = "ibm/iflow/inference/instructor",
    [AT('k')] = "kimi/kong/kobold/kilo/kiro",
    [AT('l')] = "lmstudio/lm-studio/lm_studio/llama/llm/lambda/lepton/lmdeploy/localai/langchain/langgraph/langfuse/langflow/letta/librechat/lobe",
    [AT('m')] = "mistral/moonshot/minimax/mlx/mastra/modelscope/mindie/modal", [AT('n')] = "nvidia/nim/novita/nebius/nous/n8n/new-api/neuraldeep",
    [AT('o')] = "openai/openrouter/ollama/oobabooga/opencode/openhands/openclaw/open-webui/omniroute/one-api",
    [AT('p')] = "perplexity/portkey/proxy/pydantic-ai/parasail/pollinations/ppio", [AT('q')] = "qwen/qianfan",
    [AT('r')] = "replicate/reka/requesty/router/runpod/roo-code/routstr",
    [AT('s')] = "sglang/siliconflow/stepfun/snowflake/sambanova/scaleway/semantic-kernel/smolagents/spring-ai/sagemaker",
    [AT('t')] = "tgi/triton/tencent/together/tabby/targon/trae", [AT('v')] = "vertex/volc/vercel/venice/vscode", [AT('w')] = "watsonx/writer/windsurf",
    [AT('x')] = "xai/x.ai/xiaomi/xinference", [AT('z')] = "zhipu/z.ai/zai/zed/zenmux",
};
/* Words that only tools carry, even behind the name of a model's provider. */
static names_by_letter tools = {
    [AT('b')] = "bash/browser", [AT('c')] = "calendar", [AT('d')] = "docs/drive", [AT('e')] = "ec2/editor", [AT('f')] = "files/filesystem",
    [AT('g')] = "gmail", [AT('i')] = "iam", [AT('m')] = "maps/mcp", [AT('o')] = "openhands-sandbox", [AT('p')] = "plugin", [AT('s')] = "s3/sheets/shell",
    [AT('t')] = "terminal/tool/tools",
};
/* ... and elsewhere: "github-mcp", "bash-tool", "angular-cli". */
static names_by_letter programs = {
    [AT('a')] = "adb/airtable/ansible/apt/arxiv/asana/atlassian", [AT('b')] = "bigquery/bitbucket/brave/brew",
    [AT('c')] = "cargo/chrome/cli/clickhouse/cmake/conda/confluence/curl", [AT('d')] = "database/datadog/db/discord/docker/dropbox/duckdb/duckduckgo/dynamodb",
    [AT('e')] = "edit/elasticsearch/eslint/exa", [AT('f')] = "fetch/ffmpeg/figma/file/firecrawl", [AT('g')] = "gcloud/git/github/gitlab/gradle/grafana",
    [AT('h')] = "helm/heroku/homebrew/http/hubspot", [AT('j')] = "java/jenkins/jest/jira/jupyter", [AT('k')] = "kafka/kubectl/kubernetes", [AT('l')] = "linear",
    [AT('m')] = "make/maven/metabase/mongo/mongodb/mongoose/mssql/mysql", [AT('n')] = "neo4j/node/notion/npm", [AT('o')] = "oracle/outlook",
    [AT('p')] = "paapi/pagerduty/pandas/patch/php/pip/playwright/pnpm/poetry/postgres/powershell/prometheus/psql/puppeteer/pytest/python",
    [AT('r')] = "rabbitmq/redis/ruby/rust",
    [AT('s')] = "salesforce/sandbox/search/searx/searxng/selenium/sendgrid/sentry/serpapi/serper/shopify/slack/snowsql/spotify/sql/sqlite/ssh/stripe/supabase",
    [AT('t')] = "tavily/teams/telegram/terraform/trello/tsc/twilio/twitter", [AT('u')] = "uv", [AT('v')] = "vite", [AT('w')] = "web/webfetch/wget/wikipedia",
    [AT('x')] = "xcodebuild", [AT('y')] = "yarn/youtube", [AT('z')] = "zendesk",
};
/* Clouds of which models are a part. */
static names_by_letter clouds = {
    [AT('a')] = "aws/azure", [AT('c')] = "cloudflare", [AT('d')] = "databricks", [AT('g')] = "google", [AT('m')] = "modal", [AT('v')] = "vercel",
};
static names_by_letter cli = {[AT('c')] = "cli"};
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
