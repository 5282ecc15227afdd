// What a provider says about one message, one member or one parameter, in its own words, and what is sent then: exactly
// what it names is mended, all else stays, and the second call is the last.
import assert from "node:assert/strict";
import { dialects } from "./net.mjs";
import { body, both, json, reply, target, wires } from "./wires.mjs";

const talk = (...list) => list.map(([role, content, more]) => ({ role, content, ...more }));
const chatCall = (args, id = "call_a") => ({ role: "assistant", content: null, tool_calls: [{ id, type: "function", function: { name: "look", arguments: args } }] });
const chatResult = { role: "tool", tool_call_id: "call_a", content: "seen" };
const use = (more) => ({ role: "assistant", content: [{ type: "tool_use", id: "call_a", name: "look", ...more }] });
const used = { role: "user", content: [{ type: "tool_result", tool_use_id: "call_a", content: "seen" }] };
const item = (more) => ({ type: "function_call", call_id: "call_a", name: "look", arguments: "{}", ...more });
const output = { type: "function_call_output", call_id: "call_a", output: "seen" };
const said = (role, ...parts) => ({ role, parts });
const call = (more) => ({ functionCall: { name: "look", args: {} }, ...more });
const response = { functionResponse: { name: "look", response: { output: "seen" } } };
const turns = (list) => list.every((m, i) => !i || m.role !== list[i - 1].role);
const parses = (text) => typeof JSON.parse(text) === "object";
const skip = "skip_thought_signature_validator";

// [dialect, what, the request, the words, is the mended one as it shall be?]
const rows = [
  ["anthropic", "a system message in the list becomes the system prompt", { messages: talk(["system", "be kind"], ["user", "go"]) }, 'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" as an input message role.', (b) => JSON.stringify(b.system).includes("be kind") && b.messages.length === 1],
  ["anthropic", "a call without input gets an empty one", { messages: [...talk(["user", "go"]), use(), used] }, "messages.1.content.0.tool_use.input: Field required", (b) => JSON.stringify(b.messages[1].content[0].input) === "{}"],
  ["anthropic", "input that is a text becomes the object it says", { messages: [...talk(["user", "go"]), use({ input: '{"city": "Oslo"}' }), used] }, "messages.1.content.0.tool_use.input: Input should be a valid dictionary", (b) => b.messages[1].content[0].input.city === "Oslo"],
  ["anthropic", "a member of a message that nobody knows goes", { messages: talk(["user", "a"], ["assistant", "b", { reasoning_content: "hm" }], ["user", "c"]) }, "messages.1.reasoning_content: Extra inputs are not permitted", (b) => JSON.stringify(b.messages) === JSON.stringify(talk(["user", "a"], ["assistant", "b"], ["user", "c"])), true],
  ["openai", "a member of a message that nobody knows goes", { messages: talk(["user", "a"], ["assistant", "b", { annotations: [] }], ["user", "c"]) }, "Unknown parameter: 'messages[1].annotations'.", (b) => JSON.stringify(b.messages) === JSON.stringify(talk(["user", "a"], ["assistant", "b"], ["user", "c"])), true],
  ["openai", "arguments that do not parse are mended in the history", { messages: [...talk(["user", "go"]), chatCall('{"city": "Os'), chatResult] }, "Invalid 'messages[1].tool_calls[0].function.arguments': failed to parse tool call arguments as json", (b) => parses(b.messages[1].tool_calls[0].function.arguments)],
  ["openai", "a model that takes no system message is told as the user", { messages: talk(["system", "be kind"], ["user", "go"]) }, "Unsupported value: 'messages[0].role' does not support 'system' with this model.", (b) => b.messages[0].role === "user" && b.messages[0].content === "be kind"],
  ["openai", "the model says something between results and the user", { messages: [...talk(["user", "go"]), chatCall("{}"), chatResult, ...talk(["user", "well?"])] }, "Unexpected role 'user' after role 'tool'", (b) => b.messages[3].role === "assistant" && b.messages.length === 5],
  ["openai", "an answer that only calls tools gets a content, pydantic", { messages: [...talk(["user", "go"]), chatCall("{}"), chatResult] }, "messages.1.content: Input should be a valid string", (b) => b.messages[1].content === "", true],
  ["openai", "a model that takes no instruction of the developer is told as the user", { messages: talk(["system", "be kind"], ["user", "go"]) }, "Developer instruction is not enabled for models/gemma-3-27b-it", (b) => b.messages[0].role === "user" && b.messages[0].content.includes("be kind"), true],
  ["openai", "an empty text that is called not set goes", { messages: [{ role: "user", content: [{ type: "text", text: "" }, { type: "text", text: "hi" }] }] }, "Param Incorrect: `text` is not set", (b) => b.messages[0].content.length === 1],
  ["openai", "of two system messages one is made where roles take turns", { messages: talk(["system", "a"], ["system", "b"], ["user", "go"]) }, "Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/...", (b) => b.messages.length === 2 && b.messages[0].role === "system", true],
  ["responses", "roles take turns", { input: talk(["user", "a"], ["user", "b"], ["assistant", "c"], ["assistant", "d"], ["user", "e"]) }, "Conversation roles must alternate user/assistant/user/assistant/...", (b) => turns(b.input) && ["a", "b", "c", "d", "e"].every((t) => JSON.stringify(b.input).includes(`"${t}"`))],
  ["responses", "text of the model has the type of its role", { input: [...talk(["user", "a"]), { role: "assistant", content: [{ type: "input_text", text: "b" }] }, ...talk(["user", "c"])] }, ["Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.", { param: "input[1].content[0]", code: "invalid_value" }], (b) => JSON.stringify(b.input[1].content) === '[{"type":"output_text","text":"b"}]'],
  ["responses", "reasoning that stands alone goes", { input: [...talk(["user", "a"]), { type: "reasoning", id: "rs_1", summary: [] }, ...talk(["user", "b"])] }, "Item 'rs_1' of type 'reasoning' was provided without its required following item.", (b) => b.input.length === 2],
  ["responses", "a call whose reasoning is lost goes without its id", { input: [...talk(["user", "a"]), item({ id: "fc_1" }), output] }, "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_7'.", (b) => b.input[1].id === undefined && b.input[1].call_id === "call_a"],
  ["responses", "a parameter that moved is sent where it is now", { response_format: { type: "json_schema", json_schema: { name: "n", schema: {} } } }, "Unsupported parameter: 'response_format'. In the Responses API, this parameter has moved to 'text.format'. Try again with the new parameter.", (b) => b.response_format === undefined && JSON.stringify(b.text) === '{"format":{"type":"json_schema","name":"n","schema":{}}}', true],
  ["responses", "an output cap gets its name", { max_tokens: 50 }, "Unsupported parameter: 'max_tokens' is not supported with the Responses API. Use 'max_output_tokens' instead.", (b) => b.max_tokens === undefined && b.max_output_tokens === 50, true],
  ["anthropic", "an output cap gets its name", { max_tokens: undefined, max_completion_tokens: 77 }, "max_tokens: Field required", (b) => b.max_tokens === 77 && b.max_completion_tokens === undefined, true],
  ["gemini", "a model that takes no system prompt is told as the user", { systemInstruction: { parts: [{ text: "be brief" }] }, contents: [said("user", { text: "a" })] }, "Developer instruction is not enabled for models/gemma-3-27b-it", (b) => !b.systemInstruction && /be brief/.test(JSON.stringify(b.contents[0])) && b.contents.every((m) => m.role === "user")],
  ["gemini", "a role gets its name", { contents: [said("user", { text: "a" }), said("assistant", { text: "b" }), said("user", { text: "c" })] }, "Please use a valid role: user, model.", (b) => b.contents[1].role === "model"],
  ["gemini", "calls come right after the user", { contents: [said("user", { text: "a" }), said("model", { text: "b" }), said("model", call()), said("user", response)] }, "Please ensure that function call turn comes immediately after a user turn or after a function response turn.", (b) => turns(b.contents) && b.contents.length === 3],
  ["gemini", "the user speaks first", { contents: [said("model", call()), said("user", response)] }, "Please ensure that function call turn comes immediately after a user turn or after a function response turn.", (b) => b.contents[0].role === "user" && b.contents.length === 3],
  ["gemini", "a call without signature says that it has none", { contents: [said("user", { text: "a" }), said("model", call()), said("user", response)] }, "Function call is missing a thought_signature in functionCall parts.", (b) => b.contents[1].parts[0].thoughtSignature === skip],
  ["gemini", "a signature that is not valid is replaced", { contents: [said("user", { text: "a" }), said("model", call({ thoughtSignature: "zzz" })), said("user", response)] }, "Thought signature is not valid.", (b) => b.contents[1].parts[0].thoughtSignature === skip],
  ["gemini", "a budget of nothing goes where the model always thinks", { generationConfig: { topK: 4, thinkingConfig: { thinkingBudget: 0 } } }, "Budget 0 is invalid. This model only works in thinking mode.", (b) => b.generationConfig.thinkingConfig.thinkingBudget === undefined && b.generationConfig.topK === 4],
  ["anthropic", "a member of a tool that nobody knows goes", { tools: [{ name: "look", strict: true, input_schema: { type: "object", properties: { a: { type: "string", format: "uri" } } } }] }, "tools.0.custom.strict: Extra inputs are not permitted", (b) => b.tools[0].strict === undefined && b.tools[0].input_schema.properties.a.format === "uri", true],
  ["anthropic", "a tool that stands twice stands once", { tools: [{ name: "look", input_schema: { type: "object" } }, { name: "look", input_schema: { type: "object" } }, { name: "seek", input_schema: { type: "object" } }] }, "tools: Tool names must be unique.", (b) => b.tools.map((t) => t.name).join() === "look,seek"],
  ["gemini", "a tool that stands twice stands once", { tools: [{ functionDeclarations: ["look", "seek", "look"].map((name) => ({ name, parameters: { type: "object", properties: { a: { type: "string" } } } })) }] }, "Duplicate function declaration found: look", (b) => b.tools[0].functionDeclarations.map((t) => t.name).join() === "look,seek"],
  ["gemini", "an enum of numbers goes where only texts may be", { tools: [{ functionDeclarations: [{ name: "look", parameters: { type: "object", properties: { a: { type: "integer", enum: [1, 2] }, b: { type: "string", enum: ["x"] } } } }] }] }, "* GenerateContentRequest.tools[0].function_declarations[0].parameters.properties[a].enum: only allowed for STRING type\n", (b) => JSON.stringify(b.tools[0].functionDeclarations[0].parameters.properties) === '{"a":{"type":"integer"},"b":{"type":"string","enum":["x"]}}'],
  ["anthropic", "the oldest marks for the prompt cache go, so many as are too many", { messages: [{ role: "user", content: Array.from({ length: 6 }, (_, i) => ({ type: "text", text: `t${i}`, cache_control: { type: "ephemeral" } })) }] }, "A maximum of 4 blocks with cache_control may be provided. Found 6.", (b) => b.messages[0].content.map((p) => ("cache_control" in p ? 1 : 0)).join("") === "001111"],
];

const holds = (good, b) => {
  try {
    return good(b);
  } catch {
    return false; // what it looks for is not there
  }
};

for (const [name, what, more, words, good, learned] of rows)
  both(name, `in its words: ${what}`, {
    async run(pair, ask) {
      const d = dialects[name], w = wires[name];
      pair.own.answer = (q, res) => (holds(good, body(q)) ? reply(w, q, res, "fine") : w.refuse(res, ...[words].flat()));
      const r = await ask({ model: d.own, more });
      assert.equal(r.said, "fine", `${r.text}\nsent last: ${pair.own.seen.at(-1).body}`);
      assert.equal(pair.own.seen.length, 2);
      if (!learned) return;
      assert.equal((await ask({ model: d.own, more })).said, "fine");
      assert.equal(pair.own.seen.length, 3, "it was not learned");
    },
  });

/* ---- two providers of one dialect: what lives with one of them stays there ---- */

const names = {
  openai: { "a file": { messages: [{ role: "user", content: [{ type: "text", text: "read" }, { type: "file", file: { file_id: "file-one" } }] }] }, "an answer that was spoken": { messages: [...talk(["user", "a"]), { role: "assistant", audio: { id: "audio_one" } }, ...talk(["user", "b"])] } },
  responses: {
    "an item": { input: [...talk(["user", "a"]), { type: "item_reference", id: "msg_one" }, ...talk(["user", "b"])] },
    "a stored answer": { previous_response_id: "resp_one" },
    "a file": { input: [{ role: "user", content: [{ type: "input_file", file_id: "file-one" }] }] },
    "a vector store": { tools: [{ type: "file_search", vector_store_ids: ["vs_one"] }] },
    "a container": { tools: [{ type: "code_interpreter", container: "cntr_one" }] },
  },
  anthropic: {
    "a container": { container: "container_one" },
    "a file": { messages: [{ role: "user", content: [{ type: "document", source: { type: "file", file_id: "file-one" } }] }] },
    "an upload to a container": { messages: [{ role: "user", content: [{ type: "container_upload", file_id: "file-one" }, { type: "text", text: "go" }] }] },
  },
  gemini: { "cached content": { cachedContent: "cachedContents/one" }, "a file": { contents: [said("user", { fileData: { mimeType: "image/png", fileUri: "https://generativelanguage.googleapis.com/v1beta/files/one" } })] } },
};

// A loop in progress with what the model thought; and how it goes to another provider.
const thoughts = {
  openai: { more: { messages: [...talk(["user", "go"]), { ...chatCall("{}"), reasoning_content: "thought-one" }, chatResult] }, good: (b) => b.messages.length === 3 },
  anthropic: { more: { max_tokens: 4000, thinking: { type: "enabled", budget_tokens: 2000 }, messages: [...talk(["user", "go"]), { role: "assistant", content: [{ type: "thinking", thinking: "thought-one", signature: "seal-one" }, ...use({ input: {} }).content] }, used] }, good: (b) => b.thinking.type === "disabled" && b.messages[1].content.length === 1 },
  gemini: { more: { contents: [said("user", { text: "go" }), said("model", { text: "thought-one", thought: true }, call({ thoughtSignature: "seal-one" })), said("user", response)] }, good: (b) => b.contents[1].parts.length === 1 && b.contents[1].parts[0].thoughtSignature === skip },
};

for (const [name, list] of Object.entries(names)) {
  const d = dialects[name], w = wires[name];
  const second = (c) => {
    const [first, model] = target[name].split("/"), p = c.providers.find((p) => p.name === first);
    c.providers.push({ ...p, name: "second", keys: [{ value: "sk-second", account: "c" }] });
    c.models.find((m) => m.name === d.own).targets = [target[name], `second/${model}`];
    c.recovery.max_attempts = 2;
  };
  const key = (q) => (q.headers.authorization ?? q.headers["x-api-key"] ?? q.headers["x-goog-api-key"]).replace("Bearer ", "");
  const down = (res, status) => json(res, status, { type: "error", error: { message: status === 429 ? "Rate limit reached" : "boom", code: status } });
  for (const [what, more] of Object.entries(list))
    both(name, `${what} keeps a request with its provider and account, as it is`, {
      config: second,
      async run(pair, ask) {
        for (const status of [500, 429]) {
          pair.own.answer = (q, res) => down(res, status);
          await ask({ model: d.own, more });
        }
        assert.ok(pair.own.seen.length >= 3, `${pair.own.seen.length} calls`);
        for (const q of pair.own.seen) {
          assert.equal(key(q), "sk-one");
          for (const [k, v] of Object.entries(more)) assert.deepEqual(body(q)[k], v);
        }
      },
    });
  if (thoughts[name])
    both(name, "what one provider's model thought is not shown to the second provider of its dialect", {
      config: (c) => (second(c), Object.assign(c.providers.at(-1), { url: c.providers.at(-1).url.replace("127.0.0.1", "localhost") })),
      async run(pair, ask) {
        const { more, good } = thoughts[name];
        pair.own.answer = (q, res) => (key(q) === "sk-second" ? reply(w, q, res, "fine") : down(res, 500));
        const r = await ask({ model: d.own, more });
        assert.equal(r.said, "fine", r.text);
        for (const q of pair.own.seen) {
          if (key(q) === "sk-second") assert.ok(!/thought-one|seal-one/.test(q.body) && good(body(q)), q.body.toString());
          else for (const [k, v] of Object.entries(more)) assert.deepEqual(body(q)[k], v);
        }
      },
    });
  both(name, "without such a name the second provider of its dialect answers", {
    config: second,
    async run(pair, ask) {
      pair.own.answer = (q, res) => (key(q) === "sk-second" ? reply(w, q, res, "fine") : down(res, 500));
      assert.equal((await ask({ model: d.own, more: { tools: w.tools({ type: "object", properties: { file_id: { type: "string" } } }) } })).said, "fine");
    },
  });
}
