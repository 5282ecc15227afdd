// How each dialect says things: an answer, a stream in pieces, a refusal; and how its histories look. The provider is
// the test's own: it refuses as the real ones do and keeps every request, so that the mended one can be looked at.
import assert from "node:assert/strict";
import { dialects, question } from "./net.mjs";
import { exchange } from "./pair.mjs";
import { holds } from "./wire.mjs";

export const json = (res, status, o) => res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(o));
export const sse = (res, ...chunks) => {
  res.writeHead(200, { "content-type": "text/event-stream" });
  res.flushHeaders();
  for (const c of chunks) if (c) res.write(c);
  return res;
};
export const data = (o) => `data: ${JSON.stringify(o)}\n\n`;
export const named = (o) => `event: ${o.type}\n${data(o)}`;
const wireRefusal = (res, message, more = {}) => json(res, 400, { error: { message, type: "invalid_request_error", param: null, code: null, ...more } });

export const wires = {
  openai: {
    refuse: wireRefusal,
    overflow: (res, limit, used) => json(res, 400, { error: { message: `This model's maximum context length is ${limit} tokens. However, your messages resulted in ${used} tokens. Please reduce the length of the messages.`, type: "invalid_request_error", param: "messages", code: "context_length_exceeded" } }),
    answer: (res, text, calls = [], finish, used = 5) => json(res, 200, { id: "chatcmpl-1", object: "chat.completion", created: 1, model: "m-own", choices: [{ index: 0, message: { role: "assistant", content: text || null, ...(calls.length && { tool_calls: calls.map(([id, name, args]) => ({ id, type: "function", function: { name, arguments: args } })) }) }, finish_reason: finish ?? (calls.length ? "tool_calls" : "stop") }], usage: { prompt_tokens: used, completion_tokens: 5, total_tokens: used + 5 } }),
    chunk: (delta, finish = null) => data({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m-own", choices: [{ index: 0, delta, finish_reason: finish }] }),
    opening() { return this.chunk({ role: "assistant", content: "" }); },
    piece(t) { return this.chunk({ content: t }); },
    closing() { return this.chunk({}, "stop") + "data: [DONE]\n\n"; },
    called(i, id, name, args) {
      const cut = Math.ceil(args.length / 3) || 1;
      const head = this.chunk({ tool_calls: [{ index: i, id, type: "function", function: { name, arguments: "" } }] });
      return head + [0, 1, 2].map((k) => args.slice(k * cut, (k + 1) * cut)).filter(Boolean).map((a) => this.chunk({ tool_calls: [{ index: i, function: { arguments: a } }] })).join("");
    },
    closingCalls() { return this.chunk({}, "tool_calls") + "data: [DONE]\n\n"; },
    closingLength(used) { return this.chunk({}, "length") + (used ? data({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m-own", choices: [], usage: { prompt_tokens: used, completion_tokens: 0, total_tokens: used } }) : "") + "data: [DONE]\n\n"; },
    history: (turns) => turns.flatMap((t) => (t.user ? [{ role: "user", content: t.user }] : t.call ? [{ role: "assistant", content: null, tool_calls: [{ id: t.call, type: "function", function: { name: "look", arguments: "{}" } }] }] : t.result ? [{ role: "tool", tool_call_id: t.result, content: t.text }] : [{ role: "assistant", content: t.text }])),
    messages: (b) => b.messages,
    callIds: (b) => b.messages.flatMap((m) => (m.tool_calls ?? []).map((c) => c.id)),
    resultIds: (b) => b.messages.filter((m) => m.role === "tool").map((m) => m.tool_call_id),
    calls: (r) => (r.events ? chatCalls(r.events) : r.json.choices[0].message.tool_calls?.map((c) => [c.id, c.function?.name, c.function?.arguments]) ?? []),
    tools: (schema) => [{ type: "function", function: { name: "look", parameters: schema } }],
    key: "messages",
    path: "/v1/chat/completions",
    capped: (n) => ({ max_tokens: n }),
    cap: (b) => b.max_tokens ?? b.max_completion_tokens,
    overflowCap: "This model's maximum context length is 8192 tokens. However, you requested 9096 tokens (1096 in the messages, 8000 in the completion). Please reduce the length of the messages or completion.",
    overCap: "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.",
    most: 16384,
    orphan: "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_a",
    stray: "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    broken: () => data({ error: { message: "The server had an error", type: "server_error" } }),
    image: (text, base64) => ({ role: "user", content: [{ type: "text", text }, { type: "image_url", image_url: { url: `data:image/png;base64,${base64}` } }] }),
    images: (b) => b.messages.flatMap((m) => (Array.isArray(m.content) ? m.content.filter((p) => p.type === "image_url") : [])).length,
    assistant: (text) => ({ role: "assistant", content: text }),
    user: (text) => ({ role: "user", content: text }),
    schemaOf: (b) => b.tools[0].function.parameters,
    refuseSchema: (keyword) => `Invalid schema for function 'look': In context=('properties', 'city'), '${keyword}' is not permitted.`,
    format: (schema) => ({ response_format: { type: "json_schema", json_schema: { name: "place", schema } } }),
    formatOf: (b) => b.response_format?.type ?? "text",
    refuseFormat: (kind) => `Invalid parameter: 'response_format' of type '${kind}' is not supported with this model.`,
    filled: "length",
    toolArgs: (o) => JSON.stringify(o),
  },
  anthropic: {
    refuse: (res, message) => json(res, 400, { type: "error", error: { type: "invalid_request_error", message } }),
    overflow: (res, limit, used) => json(res, 400, { type: "error", error: { type: "invalid_request_error", message: `prompt is too long: ${used} tokens > ${limit} maximum` } }),
    answer: (res, text, calls = [], finish, used = 5) => json(res, 200, { id: "msg_1", type: "message", role: "assistant", model: "c-own", content: [...(text ? [{ type: "text", text }] : []), ...calls.map(([id, name, args]) => ({ type: "tool_use", id, name, input: args }))], stop_reason: finish ?? (calls.length ? "tool_use" : "end_turn"), stop_sequence: null, usage: { input_tokens: used, output_tokens: 5 } }),
    opening: () => named({ type: "message_start", message: { id: "msg_1", type: "message", role: "assistant", model: "c-own", content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } } }) + named({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
    piece: (t) => named({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: t } }),
    closing: () => named({ type: "content_block_stop", index: 0 }) + named({ type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 2 } }) + named({ type: "message_stop" }),
    called(i, id, name, args) {
      const cut = Math.ceil(args.length / 3) || 1;
      const at = i + 1;
      return (i ? "" : named({ type: "content_block_stop", index: 0 })) + named({ type: "content_block_start", index: at, content_block: { type: "tool_use", id, name, input: {} } }) + [0, 1, 2].map((k) => args.slice(k * cut, (k + 1) * cut)).filter(Boolean).map((a) => named({ type: "content_block_delta", index: at, delta: { type: "input_json_delta", partial_json: a } })).join("") + named({ type: "content_block_stop", index: at });
    },
    closingLength: (used) => named({ type: "content_block_stop", index: 0 }) + named({ type: "message_delta", delta: { stop_reason: "max_tokens", stop_sequence: null }, usage: { ...(used && { input_tokens: used }), output_tokens: 2 } }) + named({ type: "message_stop" }),
    closingCalls: () => named({ type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: { output_tokens: 2 } }) + named({ type: "message_stop" }),
    history: (turns) => turns.flatMap((t) => (t.user ? [{ role: "user", content: t.user }] : t.call ? [{ role: "assistant", content: [{ type: "tool_use", id: t.call, name: "look", input: {} }] }] : t.result ? [{ role: "user", content: [{ type: "tool_result", tool_use_id: t.result, content: t.text }] }] : [{ role: "assistant", content: t.text }])),
    messages: (b) => b.messages,
    callIds: (b) => b.messages.flatMap((m) => (Array.isArray(m.content) ? m.content.filter((p) => p.type === "tool_use").map((p) => p.id) : [])),
    resultIds: (b) => b.messages.flatMap((m) => (Array.isArray(m.content) ? m.content.filter((p) => p.type === "tool_result").map((p) => p.tool_use_id) : [])),
    calls: (r) => (r.events ? anthropicCalls(r.events) : r.json.content.filter((b) => b.type === "tool_use").map((b) => [b.id, b.name, JSON.stringify(b.input)])),
    tools: (schema) => [{ name: "look", input_schema: schema }],
    key: "messages",
    path: "/v1/messages",
    capped: (n) => ({ max_tokens: n }),
    cap: (b) => b.max_tokens,
    overflowCap: "input length and `max_tokens` exceed context limit: 1096 + 8000 > 8192, decrease input length or `max_tokens` and try again",
    overCap: "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for c-own",
    most: 64000,
    orphan: "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: call_a",
    stray: "messages.1.content.0: unexpected `tool_use_id` found in `tool_result` blocks: call_lost. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.",
    broken: () => named({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }),
    image: (text, base64) => ({ role: "user", content: [{ type: "text", text }, { type: "image", source: { type: "base64", media_type: "image/png", data: base64 } }] }),
    images: (b) => b.messages.flatMap((m) => (Array.isArray(m.content) ? m.content.filter((p) => p.type === "image") : [])).length,
    assistant: (text) => ({ role: "assistant", content: text }),
    user: (text) => ({ role: "user", content: text }),
    schemaOf: (b) => b.tools[0].input_schema,
    refuseSchema: (keyword) => `tools.0.custom.input_schema: JSON schema is invalid: '${keyword}' is not supported. It must match JSON Schema draft 2020-12`,
    format: (schema) => ({ output_config: { format: { type: "json_schema", schema } } }),
    formatOf: (b) => b.output_config?.format?.type ?? "text",
    refuseFormat: () => "output_config.format: json_schema output format is not supported by this model",
    filled: "max_tokens",
    toolArgs: (o) => o,
    whole: true, // arguments are objects in whole answers
  },
  responses: responsesWire(),
  gemini: geminiWire(),
};

// OpenAI Responses: events are numbered, and the last one holds the whole answer. Each request to the test's own provider
// has a stream of its own, however many are answered side by side; outside of one it is the stream that was begun last.
export function responsesWire() {
  let newest;
  const stream = () => exchange.getStore()?.responses ?? newest;
  const usage = (used) => ({ input_tokens: used, input_tokens_details: { cached_tokens: 0 }, output_tokens: 5, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: used + 5 });
  const ev = (type, o) => named({ type, sequence_number: stream().n++, ...o });
  const response = (status, output, more = {}) => ({ id: "resp_1", object: "response", created_at: 1, status, model: "m-own", error: null, incomplete_details: null, output, usage: status === "in_progress" ? null : usage(5), ...more });
  const message = (t, status = "completed") => ({ id: "msg_1", type: "message", status, role: "assistant", content: status === "completed" ? [{ type: "output_text", text: t, annotations: [] }] : [] });
  const part = (t) => ({ type: "output_text", text: t, annotations: [] });
  const shut = () => {
    const s = stream(), { text } = s;
    if (!s.open) return "";
    s.open = false;
    s.items.push(message(text));
    const at = { item_id: "msg_1", output_index: 0, content_index: 0 };
    return ev("response.output_text.done", { ...at, text }) + ev("response.content_part.done", { ...at, part: part(text) }) + ev("response.output_item.done", { output_index: 0, item: message(text) });
  };
  const over = (status = "completed", more) => shut() + ev(`response.${status}`, { response: response(status, stream().items, more) });
  return {
    refuse: wireRefusal,
    overflow: (res) => json(res, 400, { error: { message: "Your input exceeds the context window of this model. Please adjust your input and try again.", type: "invalid_request_error", param: "input", code: "context_length_exceeded" } }),
    answer: (res, t, calls = [], finish, used = 5) => json(res, 200, response(finish ? "incomplete" : "completed", [...(t ? [message(t)] : []), ...calls.map(([id, name, args], i) => ({ id: `fc_${i}`, type: "function_call", status: "completed", call_id: id, name, arguments: args }))], finish ? { incomplete_details: { reason: finish }, usage: usage(used) } : {})),
    opening() {
      newest = { n: 0, text: "", items: [], open: true };
      if (exchange.getStore()) exchange.getStore().responses = newest;
      return ev("response.created", { response: response("in_progress", []) }) + ev("response.in_progress", { response: response("in_progress", []) }) + ev("response.output_item.added", { output_index: 0, item: message("", "in_progress") }) + ev("response.content_part.added", { item_id: "msg_1", output_index: 0, content_index: 0, part: part("") });
    },
    piece: (t) => ((stream().text += t), ev("response.output_text.delta", { item_id: "msg_1", output_index: 0, content_index: 0, delta: t, logprobs: [] })),
    closing: () => over(),
    closingLength: (used = 5) => over("incomplete", { incomplete_details: { reason: "max_output_tokens" }, usage: usage(used) }),
    called(i, id, name, args) {
      const cut = Math.ceil(args.length / 3) || 1, at = { item_id: `fc_${i}`, output_index: i + 1 };
      const item = (arguments_, status) => ({ id: `fc_${i}`, type: "function_call", status, call_id: id, name, arguments: arguments_ });
      const all = shut() + ev("response.output_item.added", { output_index: i + 1, item: item("", "in_progress") }) + [0, 1, 2].map((k) => args.slice(k * cut, (k + 1) * cut)).filter(Boolean).map((a) => ev("response.function_call_arguments.delta", { ...at, delta: a })).join("") + ev("response.function_call_arguments.done", { ...at, arguments: args }) + ev("response.output_item.done", { output_index: i + 1, item: item(args, "completed") });
      stream().items.push(item(args, "completed"));
      return all;
    },
    closingCalls: () => over(),
    history: (turns) => turns.map((t) => (t.user ? { role: "user", content: t.user } : t.call ? { type: "function_call", call_id: t.call, name: "look", arguments: "{}" } : t.result ? { type: "function_call_output", call_id: t.result, output: t.text } : { role: "assistant", content: t.text })),
    messages: (b) => b.input,
    callIds: (b) => b.input.filter((i) => i.type === "function_call").map((i) => i.call_id),
    resultIds: (b) => b.input.filter((i) => i.type === "function_call_output").map((i) => i.call_id),
    calls: (r) => (r.events ? r.events.map((e) => e.json).filter((e) => e?.type === "response.output_item.done" && e.item.type === "function_call").map((e) => e.item) : r.json.output.filter((i) => i.type === "function_call")).map((i) => [i.call_id, i.name, i.arguments]),
    tools: (schema) => [{ type: "function", name: "look", parameters: schema }],
    key: "input",
    path: "/v1/responses",
    capped: (c) => ({ max_output_tokens: c }),
    cap: (b) => b.max_output_tokens,
    overflowCap: "This model's maximum context length is 8192 tokens. However, you requested 9096 tokens (1096 in the messages, 8000 in the completion). Please reduce the length of the messages or completion.",
    overCap: "max_output_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.",
    most: 16384,
    orphan: "No tool output found for function call call_a.",
    stray: "No tool call found for function call output with call_id call_lost.",
    broken: () => ev("error", { code: "server_error", message: "The server had an error", param: null }),
    image: (t, base64) => ({ role: "user", content: [{ type: "input_text", text: t }, { type: "input_image", image_url: `data:image/png;base64,${base64}` }] }),
    images: (b) => b.input.flatMap((m) => (Array.isArray(m.content) ? m.content.filter((p) => p.type === "input_image") : [])).length,
    assistant: (t) => ({ role: "assistant", content: t }),
    user: (t) => ({ role: "user", content: t }),
    schemaOf: (b) => b.tools[0].parameters,
    refuseSchema: (keyword) => `Invalid schema for function 'look': In context=('properties', 'city'), '${keyword}' is not permitted.`,
    format: (schema) => ({ text: { format: { type: "json_schema", name: "place", schema } } }),
    formatOf: (b) => b.text?.format?.type ?? "text",
    refuseFormat: (kind) => `Invalid parameter: 'text.format' of type '${kind}' is not supported with this model.`,
    filled: "max_output_tokens",
    toolArgs: (o) => JSON.stringify(o),
  };
}

// Gemini: a stream is whole responses, calls come whole, and the stop reason is its end.
function geminiWire() {
  const whole = (parts, finish, used = 5) => ({ candidates: [{ content: { parts, role: "model" }, ...(finish && { finishReason: finish }), index: 0 }], usageMetadata: { promptTokenCount: used, candidatesTokenCount: 5, totalTokenCount: used + 5 }, modelVersion: "g-own", responseId: "gem-1" });
  const call = ([id, name, args]) => ({ functionCall: { id, name, args } });
  const refuse = (res, message) => json(res, 400, { error: { code: 400, message, status: "INVALID_ARGUMENT" } });
  const parts = (b) => b.contents.flatMap((c) => c.parts);
  return {
    refuse,
    overflow: (res, limit, used) => refuse(res, `The input token count (${used}) exceeds the maximum number of tokens allowed (${limit}).`),
    answer: (res, text, calls = [], finish, used) => json(res, 200, whole([...(text ? [{ text }] : []), ...calls.map(call)], finish ?? "STOP", used)),
    opening: () => "",
    piece: (t) => data(whole([{ text: t }])),
    closing: () => data(whole([{ text: "" }], "STOP")),
    closingLength: (used) => data(whole([{ text: "" }], "MAX_TOKENS", used)),
    called: (i, id, name, args) => data(whole([call([id, name, JSON.parse(args)])])),
    closingCalls: () => data(whole([{ text: "" }], "STOP")),
    history: (turns) => turns.map((t) => (t.user ? { role: "user", parts: [{ text: t.user }] } : t.call ? { role: "model", parts: [call([t.call, "look", {}])] } : t.result ? { role: "user", parts: [{ functionResponse: { id: t.result, name: "look", response: { output: t.text } } }] } : { role: "model", parts: [{ text: t.text }] })),
    messages: (b) => b.contents,
    callIds: (b) => parts(b).filter((p) => p.functionCall).map((p) => p.functionCall.id),
    resultIds: (b) => parts(b).filter((p) => p.functionResponse).map((p) => p.functionResponse.id),
    calls: (r) => (r.events ? r.events.map((e) => e.json) : [r.json]).flatMap((j) => j?.candidates?.[0]?.content?.parts ?? []).filter((p) => p.functionCall).map(({ functionCall: c }) => [c.id, c.name, JSON.stringify(c.args)]),
    tools: (schema) => [{ functionDeclarations: [{ name: "look", parameters: schema }] }],
    key: "contents",
    path: "/v1beta/models/g-own",
    capped: (n) => ({ generationConfig: { maxOutputTokens: n } }),
    cap: (b) => b.generationConfig?.maxOutputTokens,
    overflowCap: "The input token count (1096) and maxOutputTokens (8000) exceed the maximum number of tokens allowed (8192).",
    overCap: "Unable to submit request because it has a maxOutputTokens value of 100000 but the supported range is from 1 (inclusive) to 65537 (exclusive). Update the value and try again.",
    most: 65536,
    orphan: "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
    stray: "Please ensure that function response turn comes immediately after a function call turn.",
    broken: () => data({ error: { code: 503, message: "The model is overloaded. Please try again later.", status: "UNAVAILABLE" } }),
    image: (text, base64) => ({ role: "user", parts: [{ text }, { inlineData: { mimeType: "image/png", data: base64 } }] }),
    images: (b) => parts(b).filter((p) => p.inlineData).length,
    assistant: (text) => ({ role: "model", parts: [{ text }] }),
    user: (text) => ({ role: "user", parts: [{ text }] }),
    schemaOf: (b) => b.tools[0].functionDeclarations[0].parameters,
    refuseSchema: (keyword) => `Invalid JSON payload received. Unknown name "${keyword}" at 'tools[0].function_declarations[0].parameters.properties[0].value': Cannot find field.`,
    format: (schema) => ({ generationConfig: { responseMimeType: "application/json", responseSchema: schema } }),
    formatOf: (b) => (b.generationConfig?.responseSchema ? "json_schema" : b.generationConfig?.responseMimeType === "application/json" ? "json_object" : "text"),
    refuseFormat: (kind) => (kind === "json_schema" ? "response_schema is not supported by this model" : "JSON mode (response_mime_type) is not supported by this model"),
    filled: "MAX_TOKENS",
    toolArgs: (o) => o,
    whole: true, // arguments are objects in whole answers
  };
}


function chatCalls(list) {
  const calls = [];
  for (const e of list)
    for (const t of e.json?.choices?.[0]?.delta?.tool_calls ?? []) {
      calls[t.index] ??= [t.id, t.function?.name, ""];
      calls[t.index][2] += t.function?.arguments ?? "";
    }
  return calls;
}

function anthropicCalls(list) {
  const blocks = {};
  for (const { json: e } of list)
    if (e?.type === "content_block_start" && e.content_block.type === "tool_use") blocks[e.index] = [e.content_block.id, e.content_block.name, ""];
    else if (e?.type === "content_block_delta" && e.delta.type === "input_json_delta") blocks[e.index][2] += e.delta.partial_json;
  return Object.values(blocks);
}

export { dialects };
export const every = (f) => Object.keys(wires).forEach((n) => f(n, dialects[n], wires[n]));

// The provider and the model of a dialect that are the test's own.
export const target = { openai: "own/m-own", anthropic: "own-claude/c-own", responses: "own-responses/m-own", gemini: "own-gemini/g-own" };

// A question with that history.
export const own = (d, w, turns, more = {}) => ({ model: d.own, more: { [w.key]: w.history(turns), ...more } });
export const tokens = (q) => Math.ceil(q.body.length / 4);
export const body = (q) => JSON.parse(q.body);
export const paired = (w, b) => assert.deepEqual([...w.callIds(b)].sort(), [...w.resultIds(b)].sort(), "a pair is not whole");
export const whole = (w, b) => JSON.stringify([...w.callIds(b)].sort()) === JSON.stringify([...w.resultIds(b)].sort());
export const parsed = (calls) => calls.map(([id, n, a]) => [id, n, JSON.parse(a)]);
export const object = { type: "object", properties: { city: { type: "string" }, days: { type: "integer" } }, required: ["city"] };

// One turn with several calls, and their results: [id, text] each.
export const batch = (name, results) => {
  const w = wires[name], calls = w.history(results.map(([id]) => ({ call: id }))), texts = w.history(results.map(([result, text]) => ({ result, text })));
  const merged = (list) => [list.reduce((a, b) => Object.fromEntries(Object.entries(a).map(([k, v]) => [k, Array.isArray(v) ? [...v, ...b[k]] : v])))];
  return name === "responses" ? [...calls, ...texts] : [...merged(calls), ...(name === "openai" ? texts : merged(texts))];
};

// Whether a stream was asked for; and an answer as it was asked for.
export const streams = (q) => /:streamGenerate/.test(q.url) || body(q).stream === true;
export const reply = (w, q, res, text, calls = []) => {
  if (!streams(q)) return w.answer(res, text, calls.map(([id, n, a]) => [id, n, w.toolArgs(a)]));
  sse(res, w.opening(), text && w.piece(text), ...calls.map(([id, n, a], i) => w.called(i, id, n, JSON.stringify(a))), calls.length ? w.closingCalls() : w.closing()).end();
};

// Holds for whole answers and for streams: `ask` asks in the way at hand, and a stream never ends without saying how.
export function both(name, what, s) {
  const d = dialects[name];
  for (const stream of [false, true])
    holds(`heal ${name}${stream ? " stream" : ""}: ${what}`, {
      ...s,
      run: (pair) =>
        s.run(pair, async (o) => {
          const r = await question(pair, d, { ...o, stream });
          if (r.events) assert.ok(d.ended(r.events) !== d.failed(r.events), `the stream ends in the air: ${r.text}`);
          return r;
        }, stream),
    });
}

// The first key is out of credit, and a parameter is never taken.
export const refuses = (pair) => {
  let first = null;
  pair.own.answer = (q, res) => {
    first ??= q.headers.authorization;
    if (q.headers.authorization === first) return json(res, 429, { error: { message: "You exceeded your current quota, please check your plan and billing details.", type: "insufficient_quota", code: "insufficient_quota" } });
    if ("logit_bias" in body(q)) return json(res, 400, { error: { message: "Unsupported parameter: 'logit_bias' is not supported with this model.", type: "invalid_request_error", param: "logit_bias", code: "unsupported_parameter" } });
    wires.openai.answer(res, "seven eight");
  };
};
