/* fault_texts.c - the words of the providers for the errors that a script can ask for. */
#include "chaos/faults.h"
#include "base/buf.h"
#include "base/str.h"

/* How a provider says an error. */
typedef struct fault_text {
    const char *kind;
    wire wire;
    int status;
    const char *type, *code, *param, *text;
} fault_text;

// clang-format off
/* Row: kind, wire, status, type (Gemini: status), code, parameter, text. Chat's row serves Responses where that has none
 * of its own. In braces: what the request fills in. */
static const fault_text texts[] = {
    {"rate_limit", WIRE_CHAT, 429, "tokens", "rate_limit_exceeded", NULL,
     "Rate limit reached for {model} in organization org-chaos on tokens per min (TPM): Limit 30000, Used 29700, Requested "
     "400. Please try again in {retry}. Visit https://platform.openai.com/account/rate-limits to learn more."},
    {"rate_limit", WIRE_MESSAGES, 429, "rate_limit_error", NULL, NULL,
     "This request would exceed the rate limit for your organization of 30,000 input tokens per minute. For details, refer "
     "to: https://docs.anthropic.com/en/api/rate-limits. You can see the response headers for current usage. Please reduce "
     "the prompt length or the maximum tokens requested, or try again later. You may also contact sales at "
     "https://www.anthropic.com/contact-sales to discuss your options for a rate limit increase."},
    {"quota", WIRE_CHAT, 429, "insufficient_quota", "insufficient_quota", NULL,
     "You exceeded your current quota, please check your plan and billing details. For more information on this error, read "
     "the docs: https://platform.openai.com/docs/guides/error-codes/api-errors."},
    {"quota", WIRE_MESSAGES, 400, "invalid_request_error", NULL, NULL,
     "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase "
     "credits."},
    {"overloaded", WIRE_CHAT, 503, "server_error", NULL, NULL,
     "The engine is currently overloaded, please try again later"},
    {"overloaded", WIRE_RESPONSES, 503, "service_unavailable_error", "server_is_overloaded", NULL,
     "Our servers are currently overloaded. Please try again later."},
    {"overloaded", WIRE_MESSAGES, 529, "overloaded_error", NULL, NULL, "Overloaded"},
    {"server_error", WIRE_CHAT, 500, "server_error", NULL, NULL,
     "The server had an error processing your request. Sorry about that! You can retry your request, or contact us through "
     "our help center at help.openai.com if you keep seeing this error."},
    {"server_error", WIRE_RESPONSES, 500, "server_error", "server_error", NULL,
     "An error occurred while processing your request. You can retry your request, or contact us through our help center at "
     "help.openai.com if the error persists."},
    {"server_error", WIRE_MESSAGES, 500, "api_error", NULL, NULL, "Internal server error"},
    {"auth", WIRE_CHAT, 401, "invalid_request_error", "invalid_api_key", NULL,
     "Incorrect API key provided: {key}***. You can find your API key at https://platform.openai.com/account/api-keys."},
    {"auth", WIRE_MESSAGES, 401, "authentication_error", NULL, NULL, "invalid x-api-key"},
    {"permission", WIRE_CHAT, 403, "request_forbidden", "unsupported_country_region_territory", NULL,
     "Country, region, or territory not supported"},
    {"permission", WIRE_MESSAGES, 403, "permission_error", NULL, NULL,
     "Your API key does not have permission to use the specified resource."},
    {"model_not_found", WIRE_CHAT, 404, "invalid_request_error", "model_not_found", NULL,
     "The model `{model}` does not exist or you do not have access to it."},
    {"model_not_found", WIRE_MESSAGES, 404, "not_found_error", NULL, NULL, "model: {model}"},
    {"context_length", WIRE_CHAT, 400, "invalid_request_error", "context_length_exceeded", "messages",
     "This model's maximum context length is {window} tokens. However, your messages resulted in {tokens} tokens. Please "
     "reduce the length of the messages."},
    {"context_length", WIRE_RESPONSES, 400, "invalid_request_error", "context_length_exceeded", "input",
     "Your input exceeds the context window of this model. Please adjust your input and try again."},
    {"context_length", WIRE_MESSAGES, 400, "invalid_request_error", NULL, NULL,
     "prompt is too long: {tokens} tokens > {window} maximum"},
    {"output_limit", WIRE_CHAT, 400, "invalid_request_error", "invalid_value", "max_tokens",
     "max_tokens is too large: {output}. This model supports at most {output_max} completion tokens, whereas you provided "
     "{output}."},
    {"output_limit", WIRE_RESPONSES, 400, "invalid_request_error", "integer_above_max_value", "max_output_tokens",
     "Invalid 'max_output_tokens': integer above maximum value. Expected a value <= {output_max}, but got {output} instead."},
    {"output_limit", WIRE_MESSAGES, 400, "invalid_request_error", NULL, NULL,
     "max_tokens: {output} > {output_max}, which is the maximum allowed number of output tokens for {model}"},
    {"request_too_large", WIRE_CHAT, 413, "server_error", NULL, NULL,
     "413: Maximum content size limit (26214400) exceeded (26428490 bytes read)"},
    {"request_too_large", WIRE_MESSAGES, 413, "request_too_large", NULL, NULL, "Request exceeds the maximum size"},
    {"orphan_tool_call", WIRE_CHAT, 400, "invalid_request_error", NULL, "messages.[2].role",
     "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The "
     "following tool_call_ids did not have response messages: call_chaos01"},
    {"orphan_tool_call", WIRE_RESPONSES, 400, "invalid_request_error", NULL, "input",
     "No tool output found for function call call_chaos01."},
    {"orphan_tool_call", WIRE_MESSAGES, 400, "invalid_request_error", NULL, NULL,
     "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_chaos01. Each `tool_use` "
     "block must have a corresponding `tool_result` block in the next message."},
    {"orphan_tool_result", WIRE_CHAT, 400, "invalid_request_error", NULL, "messages.[2].role",
     "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."},
    {"orphan_tool_result", WIRE_RESPONSES, 400, "invalid_request_error", NULL, "input",
     "No tool call found for function call output with call_id call_chaos01."},
    {"orphan_tool_result", WIRE_MESSAGES, 400, "invalid_request_error", NULL, NULL,
     "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_chaos01. Each `tool_result` block "
     "must have a corresponding `tool_use` block in the previous message."},
    {"invalid_parameter", WIRE_CHAT, 400, "invalid_request_error", "unsupported_parameter", "temperature",
     "Unsupported parameter: 'temperature' is not supported with this model."},
    {"invalid_parameter", WIRE_MESSAGES, 400, "invalid_request_error", NULL, NULL,
     "temperature: Extra inputs are not permitted"},
    {"invalid_tool_schema", WIRE_CHAT, 400, "invalid_request_error", "invalid_function_parameters",
     "tools[0].function.parameters",
     "Invalid schema for function 'chaos': In context=(), 'additionalProperties' is required to be supplied and to be false."},
    {"invalid_tool_schema", WIRE_MESSAGES, 400, "invalid_request_error", NULL, NULL,
     "tools.0.custom.input_schema: JSON schema is invalid. It must match JSON Schema draft 2020-12"},
    {"invalid_message", WIRE_CHAT, 400, "invalid_request_error", NULL, "messages.[1].content",
     "Invalid value for 'content': expected a string, got null."},
    {"invalid_message", WIRE_MESSAGES, 400, "invalid_request_error", NULL, NULL,
     "messages.1: all messages must have non-empty content except for the optional final assistant message"},
    {"content_filter", WIRE_CHAT, 400, "invalid_request_error", "invalid_prompt", NULL,
     "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a different "
     "prompt: https://platform.openai.com/docs/guides/reasoning#advice-on-prompting"},
    {"content_filter", WIRE_MESSAGES, 400, "invalid_request_error", NULL, NULL,
     "Output blocked by content filtering policy"},
    {"unprocessable", WIRE_CHAT, 422, "invalid_request_error", NULL, NULL,
     "The request was well-formed but could not be processed."},
    {"unprocessable", WIRE_MESSAGES, 422, "invalid_request_error", NULL, NULL,
     "The request was well-formed but could not be processed."},
    {"status", WIRE_CHAT, 500, "error", NULL, NULL, "The request failed."},
    {"status", WIRE_MESSAGES, 500, "error", NULL, NULL, "The request failed."},
    {"rate_limit", WIRE_GEMINI, 429, "RESOURCE_EXHAUSTED", NULL, NULL,
     "You exceeded your current quota, please check your plan and billing details. For more information on this error, head "
     "to: https://ai.google.dev/gemini-api/docs/rate-limits.\n* Quota exceeded for metric: "
     "generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 10\nPlease retry in {retry}."},
    {"quota", WIRE_GEMINI, 429, "RESOURCE_EXHAUSTED", NULL, NULL,
     "You exceeded your current quota, please check your plan and billing details. * Quota exceeded for metric: "
     "generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 0, quotaId: "
     "GenerateRequestsPerDayPerProjectPerModel-FreeTier"},
    {"overloaded", WIRE_GEMINI, 503, "UNAVAILABLE", NULL, NULL, "The model is overloaded. Please try again later."},
    {"server_error", WIRE_GEMINI, 500, "INTERNAL", NULL, NULL,
     "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting"},
    {"auth", WIRE_GEMINI, 400, "INVALID_ARGUMENT", NULL, NULL, "API key not valid. Please pass a valid API key."},
    {"permission", WIRE_GEMINI, 403, "PERMISSION_DENIED", NULL, NULL, "The caller does not have permission"},
    {"model_not_found", WIRE_GEMINI, 404, "NOT_FOUND", NULL, NULL,
     "models/{model} is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the "
     "list of available models and their supported methods."},
    {"context_length", WIRE_GEMINI, 400, "INVALID_ARGUMENT", NULL, NULL,
     "The input token count ({tokens}) exceeds the maximum number of tokens allowed ({window})."},
    {"output_limit", WIRE_GEMINI, 400, "INVALID_ARGUMENT", NULL, NULL,
     "Unable to submit request because it has a maxOutputTokens value of {output} but the supported range is from 1 "
     "(inclusive) to {output_max} (exclusive). Update the value and try again."},
    {"request_too_large", WIRE_GEMINI, 400, "INVALID_ARGUMENT", NULL, NULL,
     "Request payload size exceeds the limit: 20971520 bytes."},
    {"orphan_tool_call", WIRE_GEMINI, 400, "INVALID_ARGUMENT", NULL, NULL,
     "Please ensure that the number of function response parts is equal to the number of function call parts of the function "
     "call turn."},
    {"orphan_tool_result", WIRE_GEMINI, 400, "INVALID_ARGUMENT", NULL, NULL,
     "Please ensure that function response turn comes immediately after a function call turn."},
    {"invalid_parameter", WIRE_GEMINI, 400, "INVALID_ARGUMENT", NULL, NULL,
     "Invalid JSON payload received. Unknown name \"topK\" at 'generation_config': Cannot find field."},
    {"invalid_tool_schema", WIRE_GEMINI, 400, "INVALID_ARGUMENT", NULL, NULL,
     "Invalid JSON payload received. Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters': "
     "Cannot find field."},
    {"invalid_message", WIRE_GEMINI, 400, "INVALID_ARGUMENT", NULL, NULL,
     "* GenerateContentRequest.contents[1].parts: contents.parts must not be empty.\n"},
    {"content_filter", WIRE_GEMINI, 400, "INVALID_ARGUMENT", NULL, NULL,
     "The response was blocked because the prompt violates the usage policies."},
    {"unprocessable", WIRE_GEMINI, 422, "FAILED_PRECONDITION", NULL, NULL,
     "The request was well-formed but could not be processed."},
    {"status", WIRE_GEMINI, 500, "unknown", NULL, NULL, "The request failed."},
};
// clang-format on

static const fault_text *text_of(const char *kind, wire w)
{
    const fault_text *found = &texts[0];
    for (size_t i = 0; i < COUNT(texts); i++) {
        if (strcmp(texts[i].kind, kind) != 0)
            continue;
        if (texts[i].wire == w)
            return &texts[i];
        if (texts[i].wire == WIRE_CHAT)
            found = &texts[i];
    }
    return found;
}

static void put_value(daruma_buf *b, daruma_str word, const fault_values *v)
{
    const struct {
        daruma_str word;
        buf_part value;
    } rows[] = {{LIT("model"), BUF_PART(v->model)},          {LIT("key"), BUF_PART(v->key)},
                {LIT("retry"), BUF_PART(v->retry)},          {LIT("tokens"), BUF_PART(v->tokens)},
                {LIT("window"), BUF_PART(v->window)},        {LIT("output"), BUF_PART(v->output)},
                {LIT("output_max"), BUF_PART(v->output_max)}};
    for (size_t i = 0; i < COUNT(rows); i++)
        if (str_eq(rows[i].word, word))
            BUF_SAY(b, rows[i].value);
}

refusal fault_refusal(const char *kind, wire w, const fault_values *v, daruma_arena *a)
{
    const fault_text *t = text_of(kind, w);
    daruma_buf b = buf_in(a);
    daruma_str rest = str_of(t->text);
    while (rest.n) {
        buf_put(&b, str_cut(&rest, '{'));
        if (rest.n)
            put_value(&b, str_cut(&rest, '}'), v);
    }
    return (refusal){.status = t->status,
                     .type = str_of(t->type),
                     .code = str_of(t->code),
                     .param = str_of(t->param),
                     .message = buf_str(&b),
                     .kind = kind};
}
