// Servers that copy OpenAI's API and take less of it than their clients send. Their words are real ones, the source stands
// beside each. The first request is mended after one refusal; where the server never takes it, the next one costs none.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { dialects, question } from "./net.mjs";
import { holds, once } from "./wire.mjs";
import { body, data, json, object, sse, wires } from "./wires.mjs";

const chat = wires.openai, d = dialects.openai;
const bad = (message, more = {}) => [400, { error: { message, type: "invalid_request_error", param: null, code: null, ...more } }];
const roles = (b) => b.messages.map((m) => m.role).join(" ");
const isText = (m) => typeof m.content === "string";
const developer = [{ role: "developer", content: "be brief" }, { role: "user", content: "go" }];
const parts = [{ role: "system", content: [{ type: "text", text: "be" }, { type: "text", text: "brief" }] }, { role: "user", content: [{ type: "text", text: "go" }] }];
const loop = (content = null) => [{ role: "user", content: "go" }, { role: "assistant", content, tool_calls: [{ id: "call_00_abc", type: "function", function: { name: "look", arguments: "{}" } }] }, { role: "tool", tool_call_id: "call_00_abc", content: "seen" }];
const later = [{ role: "system", content: "x" }, { role: "user", content: "a" }, { role: "assistant", content: "b" }, { role: "system", content: "be brief" }, { role: "user", content: "c" }];

const noDeveloper = (b) => !roles(b).includes("developer"), onlyStrings = (b) => b.messages.every(isText);
const asBrief = (b) => assert.deepEqual(b.messages.map((m) => [m.role, m.content]), [["system", "be brief"], ["user", "go"]]);

const servers = {
  // cloudflare/cloudflare-os#36
  "no developer, Qwen": { messages: developer, takes: noDeveloper, refusal: bad("developer is not one of ['system', 'assistant', 'user', 'tool', 'function'] - 'messages.[0].role'"), sent: asBrief },
  // peonist-ai/halogen-server#3
  "no developer, a template": { messages: developer, takes: noDeveloper, refusal: bad("chat template rejected the request: Unexpected message role."), sent: asBrief },
  // earendil-works/pi#6238
  "no developer, pydantic": { messages: developer, takes: noDeveloper, refusal: [422, { detail: [{ type: "enum", loc: ["body", "messages", 0, "role"], msg: "Input should be 'system', 'user', 'assistant', 'function' or 'tool'", input: "developer", ctx: { expected: "'system', 'user', 'assistant', 'function' or 'tool'" } }] }], sent: asBrief },
  // moeru-ai/airi#1222
  "no parts, DeepSeek": { messages: parts, takes: onlyStrings, refusal: bad("Failed to deserialize the JSON body into the target type: messages[0]: invalid type: sequence, expected a string at line 1 column 9837", { code: "invalid_request_error" }) },
  // nextcloud/integration_openai#236
  "no parts, IONOS": { messages: parts, takes: onlyStrings, refusal: bad("JSON format issue: expected string at field messages.content got instead array") },
  // danny-avila/LibreChat#3111
  "no parts, Azure": { messages: parts, takes: onlyStrings, refusal: bad("Invalid type for 'messages[0].content': expected a string, but got an array instead.", { param: "messages[0].content", code: "invalid_type" }) },
  // jeffdapaz/VisualChatGPTStudio#66
  "no parts, vLLM": { messages: parts, takes: onlyStrings, refusal: [400, { object: "error", message: "[{'loc': ('body', 'messages'), 'msg': 'str type expected', 'type': 'type_error.str'}, {'loc': ('body', 'messages', 0, 'content'), 'msg': 'str type expected', 'type': 'type_error.str'}]", type: "invalid_request_error", param: null, code: null }] },
  // lmstudio-ai/lmstudio-bug-tracker#261
  "no null, LM Studio": { messages: loop(), takes: (b) => b.messages.every((m) => m.content !== null), refusal: [400, { error: "Invalid 'content': 'content' field must be a string or an array of objects." }] },
  // vercel/ai#14950
  "no null, OpenAI": { messages: loop(), takes: (b) => b.messages.every((m) => m.content !== null), refusal: bad("Invalid value for 'content': expected a string, got null.", { param: "messages.[1].content" }) },
  // Portkey-AI/gateway#995
  "no silent calls, Bedrock": { messages: loop(), takes: (b) => b.messages.every((m) => m.content), refusal: bad("bedrock error: The content field in the Message object at messages.1 is empty. Add a ContentBlock object to the content field and try again.") },
  // anomalyco/opencode#1680
  "ids of nine, Mistral": { messages: loop(""), takes: (b) => b.messages.every((m) => (m.tool_calls ?? [{ id: m.tool_call_id ?? "123456789" }]).every((c) => /^[a-zA-Z0-9]{9}$/.test(c.id))), refusal: [400, { object: "error", message: "Tool call id was call_00_abc but must be a-z, A-Z, 0-9, with a length of 9.", type: "invalid_function_call", param: null, code: "3280" }], remedy: "repair_history", sent: (b) => assert.equal(b.messages[1].tool_calls[0].id, b.messages[2].tool_call_id) },
  // continuedev/continue#11285
  "thinking stays, DeepSeek": { messages: loop(""), takes: (b) => b.messages.every((m) => m.role !== "assistant" || m.reasoning_content), refusal: bad("Missing `reasoning_content` field in the assistant message at message index 1. For more information, please refer to https://api-docs.deepseek.com/guides/thinking_mode#tool-calls", { code: "invalid_request_error" }) },
  // craft-ai-agents/craft-agents-oss#703
  "thinking stays, DeepSeek again": { messages: loop(""), takes: (b) => b.messages.every((m) => m.role !== "assistant" || m.reasoning_content), refusal: bad("The `reasoning_content` in the thinking mode must be passed back to the API.") },
  // raullenchai/Rapid-MLX#1543
  "system first, Qwen": { messages: later, takes: (b) => b.messages.every((m, i) => !i || m.role !== "system"), refusal: bad("Chat template error: System message must be at the beginning."), sent: (b) => assert.match(JSON.stringify(b.messages.slice(1)), /be brief/) },
};

// Of a request that is refused for one of its parts, that part gives way: the label is cut, the image is left out where it
// stands, and nothing else is.
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const seen = (what, n) => ({ type: "image", source: { type: "base64", media_type: "image/png", data: png + what.repeat(4 * n) } });
const claude = (message) => [400, { type: "error", error: { type: "invalid_request_error", message } }];
const parts_of = {
  // vybestack/llxprt-code#2135, theopenco/llmgateway#3110
  "a cache key": { name: "openai", more: { prompt_cache_key: "k".repeat(69) }, takes: (b) => b.prompt_cache_key?.length <= 64, refusal: bad("Invalid 'prompt_cache_key': string too long. Expected a string with maximum length 64, but got a string with length 69 instead.", { param: "prompt_cache_key", code: "string_above_max_length" }), remedy: "mend_parameter" },
  "a label": { name: "anthropic", more: { metadata: { user_id: "u".repeat(300) } }, takes: (b) => !(b.metadata?.user_id?.length > 256), refusal: claude("metadata.user_id: String should have at most 256 characters"), remedy: "mend_parameter" },
  // earendil-works/pi#424
  "an image": {
    name: "anthropic",
    more: { messages: [{ role: "user", content: [{ type: "text", text: "see" }, seen("A", 900), seen("B", 9)] }, { role: "assistant", content: "ok" }, { role: "user", content: [seen("C", 2)] }] },
    takes: (b) => !JSON.stringify(b).includes("BBBB"),
    refusal: claude("messages.0.content.2.image.source.base64: image exceeds 5 MB maximum: 5649924 bytes > 5242880 bytes"),
    remedy: "shrink_request",
    sent: (b) => assert.deepEqual([b.messages[0].content.map((p) => p.type), b.messages[2].content.map((p) => p.type)], [["text", "image", "text"], ["image"]]),
  },
  "an image of a result": {
    name: "anthropic",
    more: { messages: [{ role: "user", content: "go" }, { role: "assistant", content: [{ type: "tool_use", id: "toolu_9", name: "look", input: {} }] }, { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_9", content: [seen("A", 900), seen("B", 9), seen("C", 9)] }] }] },
    takes: (b) => !JSON.stringify(b).includes("BBBB"),
    refusal: claude("messages.2.content.0.tool_result.content.1.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels"),
    remedy: "shrink_request",
    sent: (b) => assert.deepEqual(b.messages[2].content[0].content.map((p) => p.type), ["image", "text", "image"]),
  },
  "a container of none": { name: "anthropic", more: { container: null }, takes: (b) => !("container" in b), refusal: claude("container: Extra inputs are not permitted"), remedy: "mend_parameter" },
};
for (const [what, s] of Object.entries(parts_of))
  holds(`a server that takes less: ${what} gives way`, {
    async run(pair) {
      const w = wires[s.name], d = dialects[s.name];
      pair.own.answer = (q, res) => (s.takes(body(q)) ? w.answer(res, "fine") : json(res, ...s.refusal));
      const r = await question(pair, d, { model: d.own, more: s.more });
      assert.equal(r.said, "fine", r.text);
      assert.deepEqual([r.headers["x-daruma-remedies"], pair.own.seen.length], [s.remedy, 2]);
      s.sent?.(body(pair.own.seen.at(-1)));
    },
  });

holds("a server that takes less of two things refuses them one after the other, once", {
  async run(pair) {
    const messages = [{ role: "developer", content: [{ type: "text", text: "be brief" }] }, { role: "user", content: [{ type: "text", text: "go" }] }];
    const ask = () => question(pair, d, { model: d.own, more: { messages } });
    pair.own.answer = (q, res) => {
      const broken = [servers["no developer, Qwen"], servers["no parts, Azure"]].find((s) => !s.takes(body(q)));
      broken ? json(res, ...broken.refusal) : chat.answer(res, "fine");
    };
    for (const calls of [3, 4]) {
      const r = await ask();
      assert.equal(r.said, "fine", r.text);
      assert.deepEqual([r.headers["x-daruma-remedies"], pair.own.seen.length], ["mend_messages", calls]);
    }
    asBrief(body(pair.own.seen.at(-1)));
    assert.deepEqual((await pair.status()).models_learned[0].messages, ["developer_is_system", "content_is_string"]);
  },
});

holds("who refuses and then fails has taken nothing: it learns nothing when another answers", {
  config: (c) => (c.models.find((m) => m.name === "m-own").targets = ["own/m-one", "own/m-two"]),
  async run(pair) {
    const s = servers["no developer, Qwen"];
    pair.own.answer = (q, res) => (body(q).model === "m-two" ? chat.answer(res, "from two") : s.takes(body(q)) ? json(res, 503, { error: { message: "upstream is gone" } }) : json(res, ...s.refusal));
    const r = await question(pair, d, { model: d.own, more: { messages: developer } });
    assert.equal(r.said, "from two", r.text);
    assert.deepEqual((await pair.status()).models_learned.filter((m) => m.messages), []);
  },
});

holds("what was mended of a request that failed all the same is no habit", {
  config: once,
  async run(pair) {
    const s = servers["no developer, Qwen"];
    pair.own.answer = (q, res) => (s.takes(body(q)) ? json(res, 400, { error: { message: "I do not like it.", type: "invalid_request_error" } }) : json(res, ...s.refusal));
    const r = await question(pair, d, { model: d.own, more: { messages: developer } });
    assert.equal(r.status, 400, r.text);
    assert.deepEqual((await pair.status()).models_learned.filter((m) => m.messages), []);
  },
});

for (const [what, s] of Object.entries(servers))
  holds(`a server that takes less: ${what}`, {
    async run(pair) {
      const ask = () => question(pair, d, { model: d.own, more: { messages: s.messages, tools: chat.tools(object) } });
      pair.own.answer = (q, res) => (s.takes(body(q)) ? chat.answer(res, "fine") : json(res, ...s.refusal));
      const r = await ask(), sent = body(pair.own.seen.at(-1));
      assert.equal(r.said, "fine", r.text);
      assert.deepEqual([r.headers["x-daruma-remedies"], pair.own.seen.length], [s.remedy ?? "mend_messages", 2]);
      s.sent?.(sent);
      // It is known from then on, and said.
      const again = await ask();
      assert.equal(again.said, "fine", again.text);
      assert.deepEqual([again.headers["x-daruma-remedies"], pair.own.seen.length], ["mend_messages", 3]);
      assert.deepEqual(body(pair.own.seen.at(-1)), sent);
      const [known] = (await pair.status()).models_learned.filter((m) => m.provider === "own");
      assert.equal(known.messages.length, 1, JSON.stringify(known));
    },
  });

// The conversation of an Anthropic client as such a server gets it.
holds("what a server never takes is known of requests that move to it, too", {
  config: (c) => (c.models.find((m) => m.name === "c-own").targets = ["own/m-own"]),
  async run(pair) {
    const a = dialects.anthropic, w = wires.anthropic, nine = servers["ids of nine, Mistral"];
    const history = w.history([{ user: "go" }, { call: "toolu_01ABCDEFGHJK" }, { result: "toolu_01ABCDEFGHJK", text: "seen" }]);
    pair.own.answer = (q, res) => (nine.takes(body(q)) ? chat.answer(res, "fine") : json(res, ...nine.refusal));
    for (const calls of [2, 3]) {
      const r = await question(pair, a, { model: a.own, more: { messages: history, tools: w.tools(object) } });
      assert.equal(r.said, "fine", r.text);
      assert.equal(pair.own.seen.length, calls);
      const sent = body(pair.own.seen.at(-1)).messages;
      assert.equal(sent.find((m) => m.tool_calls).tool_calls[0].id, sent.find((m) => m.role === "tool").tool_call_id);
    }
  },
});

holds("images stay where a server refuses content in pieces of another message", {
  async run(pair) {
    const image = { role: "user", content: [{ type: "text", text: "what is it?" }, { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } }] };
    pair.own.answer = (q, res) => (isText(body(q).messages[0]) ? chat.answer(res, "fine") : json(res, ...bad("'messages.0' : for 'role:system' the following must be satisfied[('messages.0.content' : value must be a string)]")));
    const r = await question(pair, d, { model: d.own, more: { messages: [parts[0], image] } });
    assert.equal(r.said, "fine", r.text);
    assert.deepEqual(body(pair.own.seen.at(-1)).messages, [{ role: "system", content: "be\nbrief" }, image]);
  },
});

holds("who asks for JSON and does not say so is helped out", {
  async run(pair) {
    pair.own.answer = (q, res) => (/json/i.test(JSON.stringify(body(q).messages)) ? chat.answer(res, "{}") : json(res, ...bad("'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.", { param: "messages" })));
    const r = await question(pair, d, { model: d.own, more: { response_format: { type: "json_object" } } });
    assert.equal(r.said, "{}", r.text);
    assert.equal(pair.own.seen.length, 2);
  },
});

holds("a form of answers that is unavailable is asked for in a simpler form, and not again and again", {
  async run(pair) {
    const schema = { type: "json_schema", json_schema: { name: "x", schema: { type: "object", properties: { a: { type: "string" } }, required: ["a"] } } };
    pair.own.answer = (q, res) => (body(q).response_format?.type === "json_schema" ? json(res, ...bad("This response_format type is unavailable now", { code: "invalid_request_error" })) : chat.answer(res, '{"a":"b"}'));
    const r = await question(pair, d, { model: d.own, more: { response_format: schema } });
    assert.equal(r.said, '{"a":"b"}', r.text);
    assert.deepEqual([r.headers["x-daruma-remedies"], pair.own.seen.length], ["lower_format", 2]);
  },
});

// The same of Anthropic's API: what newer clients send and older or other servers do not know.
const a = dialects.anthropic, w = wires.anthropic;
const refusal = (message) => [400, { type: "error", error: { type: "invalid_request_error", message } }];
const look = w.tools(object);
const result = (content) => [{ role: "user", content: "go" }, { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "look", input: {} }] }, { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content }] }];
const has = (b, text) => JSON.stringify(b).includes(text);
const strange = {
  "thinking of a kind it has not": { ask: { thinking: { type: "adaptive" } }, takes: (b) => b.thinking?.type !== "adaptive", refusal: refusal("thinking: Input tag 'adaptive' found using 'type' does not match any of the expected tags: 'disabled', 'enabled'") },
  "any thinking": { ask: { thinking: { type: "enabled", budget_tokens: 1024 }, max_tokens: 3000 }, takes: (b) => !b.thinking, refusal: refusal("claude-3-5-haiku-20241022 does not support thinking.") },
  "a list of servers": { ask: { mcp_servers: [] }, takes: (b) => !("mcp_servers" in b), refusal: refusal("mcp_servers: Extra inputs are not permitted") },
  "an empty system prompt": { ask: { system: [{ type: "text", text: "" }] }, takes: (b) => !has(b, '"text":""'), refusal: refusal("system: text content blocks must be non-empty") },
  "a mark on an empty text": { ask: { system: [{ type: "text", text: "", cache_control: { type: "ephemeral" } }] }, takes: (b) => !has(b, '"text":""'), refusal: refusal("system.0.text: cache_control cannot be set for empty text blocks") },
  "tools that run at Anthropic": { ask: { tools: [...look, { type: "web_search_20250305", name: "web_search" }] }, takes: (b) => !has(b.tools, "web_search"), refusal: refusal("tools.1: Input tag 'web_search_20250305' found using 'type' does not match any of the expected tags: 'bash_20250124', 'custom', 'text_editor_20250124'"), kept: '"look"' },
  "hidden thinking in the history": { ask: { messages: [{ role: "user", content: "go" }, { role: "assistant", content: [{ type: "redacted_thinking", data: "xx" }, { type: "text", text: "so" }] }, { role: "user", content: "on" }] }, takes: (b) => !has(b, "redacted"), refusal: refusal("messages.1.content.0.type: Input should be 'text', 'image', 'tool_use', 'tool_result'"), kept: '"so"' },
  "a reference in a result": { ask: { messages: result([{ type: "text", text: "seen" }, { type: "tool_reference", tool_name: "x" }]), tools: look }, takes: (b) => !has(b, "tool_reference"), refusal: refusal("messages.2.content.0.tool_result.content.1: Input tag 'tool_reference' found using 'type' does not match any of the expected tags: 'text', 'image'"), kept: '"seen"' },
};
for (const [what, s] of Object.entries(strange))
  holds(`a server of Anthropic's API that does not take ${what} is asked without`, {
    async run(pair) {
      pair.own.answer = (q, res) => (s.takes(body(q)) ? w.answer(res, "fine") : json(res, ...s.refusal));
      const r = await question(pair, a, { model: a.own, more: s.ask });
      assert.equal(r.said, "fine", r.text);
      assert.equal(pair.own.seen.length, 2);
      if (s.kept) assert.ok(has(body(pair.own.seen.at(-1)), s.kept));
    },
  });

holds("a request whose only tool runs at a provider that has it not is not asked without it", {
  async run(pair) {
    pair.own.answer = (q, res) => (has(body(q).tools ?? [], "web_search") ? json(res, ...strange["tools that run at Anthropic"].refusal) : w.answer(res, "from nothing"));
    const r = await question(pair, a, { model: a.own, more: { tools: [{ type: "web_search_20250305", name: "web_search" }] } });
    assert.notEqual(r.said, "from nothing", r.text);
  },
});

// Claude Code asks so for what the newest of Anthropic's servers know; clouds refuse the whole request.
const betas = "claude-code-20250219,context-management-2025-06-27,interleaved-thinking-2025-05-14";
for (const [what, takes, message, sent] of [
  ["one word", (v) => !v.includes("context-management"), "Unexpected value(s) `context-management-2025-06-27` for the `anthropic-beta` header. Please consult our documentation at docs.anthropic.com or try again without the header.", "claude-code-20250219,interleaved-thinking-2025-05-14"],
  ["some word", (v) => v === "", "invalid beta flag", ""],
])
  for (const stream of [false, true])
    holds(`a server that does not know ${what} of anthropic-beta is asked without it${stream ? ", stream" : ""}`, {
      async run(pair) {
        const field = (q) => q.headers["anthropic-beta"] ?? "";
        pair.own.answer = (q, res) => {
          if (!takes(field(q))) return json(res, ...refusal(message));
          if (stream) res.writeHead(200, { "content-type": "text/event-stream" }).end([w.opening(), w.piece("fine"), w.closing()].join(""));
          else w.answer(res, "fine");
        };
        for (const calls of [2, 3]) {
          const r = await question(pair, a, { model: a.own, stream, headers: { "anthropic-beta": betas } });
          assert.equal(r.said, "fine", r.text);
          assert.deepEqual([r.headers["x-daruma-remedies"], pair.own.seen.length], ["mend_parameter", calls]);
          assert.equal(field(pair.own.seen.at(-1)), sent);
        }
        const other = await question(pair, a, { model: a.own, stream });
        assert.deepEqual([other.headers["x-daruma-remedies"], pair.own.seen.length], ["none", 4]);
        const [known] = (await pair.status()).models_learned.filter((m) => m.provider === "own-claude");
        assert.equal(known.betas_refused, sent ? "context-management-2025-06-27" : "*");
      },
    });

for (const [what, status, message, calls] of [
  ["a subscription", 400, "The long context beta is not yet available for this subscription.", 3],
  ["an account", 429, "Extra usage is required for long context requests.", 4], // which may be bought: it is asked for again
])
  holds(`${what} that has no long context is asked without it`, {
    async run(pair) {
      const field = (q) => q.headers["anthropic-beta"] ?? "";
      pair.own.answer = (q, res) => (field(q).includes("context-1m") ? json(res, status, { type: "error", error: { type: "invalid_request_error", message } }) : w.answer(res, "fine"));
      for (const n of [2, calls]) {
        const r = await question(pair, a, { model: a.own, headers: { "anthropic-beta": `context-1m-2025-08-07,${betas}` } });
        assert.equal(r.said, "fine", r.text);
        assert.equal(pair.own.seen.length, n);
        assert.equal(field(pair.own.seen.at(-1)), betas);
      }
    },
  });

holds("the window of a model is not that of a call which asks for a longer one", {
  async run(pair) {
    const usual = 8000, long = "context-1m-2025-08-07", size = (q) => Math.ceil(q.body.length / 4), asks = (q) => (q.headers["anthropic-beta"] ?? "").includes(long);
    pair.own.answer = (q, res) => {
      const most = asks(q) ? usual * 5 : usual;
      return size(q) > most ? w.overflow(res, most, size(q)) : w.answer(res, "fine", [], undefined, size(q));
    };
    const talk = (n, about) => Array.from({ length: n }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: `${about} ${i} ${"word ".repeat(200)}` })).concat({ role: "user", content: "and now?" });
    const put = (n, about, headers = {}) => question(pair, a, { model: a.own, headers, more: { messages: talk(n, about) } });
    assert.equal((await put(60, "one")).said, "fine"); // too long: now the usual window is known
    assert.ok(pair.own.seen.length > 1);
    for (const again of [1, 2]) {
      pair.own.seen = [];
      const r = await put(60, `two${again}`, { "anthropic-beta": long });
      assert.deepEqual([r.said, r.headers["x-daruma-remedies"], pair.own.seen.length], ["fine", "none", 1], "what fits the longer window was made shorter");
      assert.equal(body(pair.own.seen[0]).messages.length, 61);
      pair.own.seen = [];
      assert.equal((await put(60, `three${again}`)).said, "fine");
      assert.ok(pair.own.seen.every((q) => size(q) <= usual), "the usual window was forgotten");
    }
  },
});

holds("a server that refuses anthropic-beta whatever it says is asked once without it", {
  async run(pair) {
    pair.own.answer = (q, res) => json(res, ...refusal("invalid beta flag"));
    const r = await question(pair, a, { model: a.own, headers: { "anthropic-beta": betas } });
    assert.equal(r.status, 400, r.text);
    assert.equal(pair.own.seen.length, 2);
  },
});

holds("anthropic-beta goes as a whole where more of its words are refused than are remembered", {
  async run(pair) {
    for (const n of [189, 190, 191, 192, 193, 576]) {
      const word = `beta-${n}-`.padEnd(n, "x"), field = (q) => q.headers["anthropic-beta"] ?? "";
      pair.own.answer = (q, res) => (field(q).includes(word) ? json(res, ...refusal(`Unexpected value(s) \`${word}\` for the \`anthropic-beta\` header.`)) : w.answer(res, "fine"));
      await pair.again();
      pair.own.seen = [];
      const r = await question(pair, a, { model: a.own, headers: { "anthropic-beta": `claude-code-20250219,${word}` } });
      assert.equal(r.said, "fine", r.text);
      assert.deepEqual(pair.own.seen.map(field), [`claude-code-20250219,${word}`, n < 192 ? "claude-code-20250219" : ""], `${n}`);
    }
  },
});

/* ---- what comes compressed though it is asked for as it is ---- */

for (const [name, coding, how] of [["gzip", "gzip", gzipSync], ["x-gzip", "x-gzip", gzipSync], ["deflate", "deflate", deflateSync], ["deflate without its head", "deflate", deflateRawSync]]) {
  const coded = (res, status, o) => res.writeHead(status, { "content-type": "application/json", "content-encoding": coding }).end(how(JSON.stringify(o)));
  holds(`an error that comes as ${name} is read like any other`, {
    async run(pair) {
      const size = (q) => Math.ceil(q.body.length / 4), message = "prompt is too long: 15000 tokens > 8000 maximum";
      pair.own.answer = (q, res) => (size(q) > 8000 ? coded(res, 400, { type: "error", error: { type: "invalid_request_error", message } }) : w.answer(res, "fine"));
      const messages = Array.from({ length: 60 }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: `part ${i} ${"word ".repeat(200)}` })).concat({ role: "user", content: "and now?" });
      const r = await question(pair, a, { model: a.own, more: { messages } });
      assert.deepEqual([r.said, r.outcome], ["fine", "recovered"], r.text);
      pair.own.answer = (q, res) => coded(res, 403, { type: "error", error: { type: "permission_error", message: "Not for sk-one, says the house." } });
      const no = await question(pair, a, { model: a.own });
      assert.equal(no.status, 403);
      assert.match(no.json.error.message, /^Not for .*, says the house\.$/);
      assert.ok(!/sk-one/.test(no.text) && !no.headers["content-encoding"], no.text);
    },
  });
  holds(`an answer that comes as ${name} goes to a client of another dialect`, {
    config: (c) => (c.models.find((m) => m.name === "m-own").targets = ["own-claude/c-own"]),
    async run(pair) {
      const long = "All of it, with ümlauts. ".repeat(4000);
      pair.own.answer = (q, res) => coded(res, 200, { id: "msg_1", type: "message", role: "assistant", model: "c-own", content: [{ type: "text", text: long }], stop_reason: "end_turn", stop_sequence: null, usage: { input_tokens: 5, output_tokens: 5 } });
      for (const stream of [false, true]) {
        const r = await question(pair, dialects.openai, { model: "m-own", stream });
        assert.equal(r.said, long);
        assert.equal(r.headers["content-encoding"], undefined);
      }
      assert.equal(pair.own.seen.length, 2);
    },
  });
}

// The bound holds for what came and for what it becomes: CLASSIFY_BODY_BYTES_MAX, 256 KiB.
holds("an error that comes as gzip is read up to 256 KiB, before and after; beyond that the client is told why it has no words", {
  config: (c) => ((c.recovery.max_attempts = 1), (c.recovery.on_failure = "error")),
  async run(pair) {
    const most = 256 << 10, refusal = (n) => JSON.stringify({ type: "error", error: { type: "permission_error", message: "Not for you, says the house.", pad: "" } }).replace('"pad":""', (m) => `"pad":"${"x".repeat(n - 109)}"`);
    const sized = (n) => (refusal(n).length === n ? refusal(n) : refusal(2 * n - refusal(n).length));
    const stored = (n) => gzipSync(sized(n), { level: 0 }), beside = stored(most).length - most;
    for (const [what, bytes, read] of [["limit - 1", gzipSync(sized(most - 1)), true], ["limit", gzipSync(sized(most)), true], ["limit + 1", gzipSync(sized(most + 1)), false], ["3 x limit", gzipSync(sized(3 * most)), false], ["limit as it came", stored(most - beside), true], ["limit + 1 as it came", stored(most - beside + 1), false]]) {
      if (/came/.test(what)) assert.equal(bytes.length, most + !read, what);
      await pair.again((c) => ((c.recovery.max_attempts = 1), (c.recovery.on_failure = "error")));
      pair.own.answer = (q, res) => res.writeHead(403, { "content-type": "application/json", "content-encoding": "gzip" }).end(bytes);
      const r = await question(pair, a, { model: a.own });
      assert.deepEqual([r.status, r.headers["content-encoding"], /^Not for you, says the house\.$/.test(r.json.error.message), /could not be read: it is encoded as "gzip"/.test(r.json.error.message)], [403, undefined, read, !read], `${what}: ${r.text.slice(0, 300)}`);
    }
  },
});

for (const [coding, how] of [["br", brotliCompressSync], ["zstd", (s) => Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), deflateSync(s)])]])
  holds(`what comes as ${coding} is not asked for and not read, and the client is told so`, {
    config: (c) => ((c.recovery.max_attempts = 2), (c.recovery.on_failure = "error"), (c.models.find((m) => m.name === "m-own").targets = ["own-claude/c-own"])),
    async run(pair) {
      const said = new RegExp(`could not be read: it is encoded as "${coding}", and daruma asks for answers that are not encoded`);
      const sends = (status, o, type = "application/json") => (pair.own.answer = (q, res) => (assert.equal(q.headers["accept-encoding"] ?? "identity", "identity"), res.writeHead(status, { "content-type": type, "content-encoding": coding }).end(how(typeof o === "string" ? o : JSON.stringify(o)))));
      sends(400, { type: "error", error: { type: "invalid_request_error", message: "No." } });
      for (const [d, model] of [[a, a.own], [dialects.openai, "m-own"]]) {
        const r = await question(pair, d, { model });
        assert.equal(r.status, 400);
        assert.match(r.json.error.message, said);
      }
      sends(200, { id: "msg_1", type: "message", role: "assistant", model: "c-own", content: [{ type: "text", text: "fine" }], stop_reason: "end_turn", usage: { input_tokens: 5, output_tokens: 5 } });
      for (const stream of [false, true]) {
        if (stream) sends(200, "event: ping\ndata: {}\n\n", "text/event-stream");
        pair.own.seen = [];
        assert.match((await question(pair, dialects.openai, { model: "m-own", stream })).json.error.message, said);
        assert.equal(pair.own.seen.length, 1, "it comes the same again");
      }
      // Some say so of what is as it was asked for: it is read, and written anew without that word.
      for (const twice of [coding, [coding, coding]]) {
        pair.own.answer = (q, res) => res.writeHead(200, { "content-type": "application/json", "content-encoding": twice }).end(JSON.stringify({ id: "msg_1", type: "message", role: "assistant", model: "c-own", content: [{ type: "text", text: "fine" }], stop_reason: "end_turn", usage: { input_tokens: 5, output_tokens: 5 } }));
        const plain = await question(pair, dialects.openai, { model: "m-own" });
        assert.deepEqual([plain.said, plain.headers["content-encoding"]], ["fine", undefined]);
      }
    },
  });

// As long as STREAM_HELD_BYTES_MAX, 256 KiB, and longer: what cannot be read is no answer, however much of it comes.
holds("a stream that comes as gzip and must be read is refused from its first bytes, however long it is", {
  limit: 60000,
  config: (c) => ((c.recovery.max_attempts = 3), (c.recovery.hedge = "off"), Object.assign(c.timeouts, { first_byte: "60s", idle: "60s", total: "60s" }), (c.recovery.on_failure = "error"), (c.models.find((m) => m.name === "m-own").targets = ["own-claude/c-own"])),
  async run(pair) {
    const text = () => Array.from({ length: 3000 }, () => `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", choices: [{ index: 0, delta: { content: randomBytes(150).toString("base64") } }] })}\n\n`).join("");
    const events = text() + "data: [DONE]\n\n", coded = gzipSync(events);
    assert.ok(coded.length > 256 << 10, `${coded.length} bytes`);
    pair.own.answer = (q, res) => res.writeHead(200, { "content-type": "text/event-stream", "content-encoding": "gzip" }).end(coded);
    const r = await question(pair, dialects.openai, { model: "m-own", stream: true });
    assert.match(r.json?.error.message ?? r.text.slice(0, 300), /could not be read: it is encoded as "gzip"/);
    assert.equal(pair.own.seen.length, 1, "it comes the same again");
    // Behind a heartbeat even the wire's own cannot pass as it is: its head would say so.
    pair.own.seen = [];
    pair.own.answer = (q, res) => setTimeout(() => res.writeHead(200, { "content-type": "text/event-stream", "content-encoding": "gzip" }).end(coded), 11500);
    const late = await question(pair, a, { model: a.own, stream: true });
    assert.ok(!late.text.includes("\ufffd"), "no raw bytes");
    assert.match(late.text, /could not be read: it is encoded as \\?"gzip/);
    assert.equal(pair.own.seen.length, 1);
  },
});

// Perplexity, Foundry Local and proxies send a message beside each delta, which has all that was said so far once more: in a
// whole answer the message counts, in a chunk the delta; so does what is mended of it, here the name.
const call = [{ index: 0, id: "call_a", type: "function", function: { name: "Look", arguments: '{"a":1}' } }];
const choice = (o) => ({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m-own", choices: [{ index: 0, ...o }], usage: { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 } });
const all = { role: "assistant", content: "Hi there", tool_calls: call };
const wholes = {
  "an empty delta behind": { message: all, delta: { role: "assistant", content: "" }, finish_reason: "tool_calls" },
  "a delta before": { delta: { role: "assistant", content: "Hi", tool_calls: [] }, message: all, finish_reason: "tool_calls" },
};
const chunks = [
  { delta: { role: "assistant", content: "Hi " }, message: { role: "assistant", content: "Hi " }, finish_reason: null },
  { message: { role: "assistant", content: "Hi there" }, delta: { content: "there" }, finish_reason: null },
  { delta: { tool_calls: call }, message: all, finish_reason: null },
  { delta: {}, message: all, finish_reason: "tool_calls" },
];
for (const name of ["openai", "anthropic"])
  holds(`a server that sends a message and a delta is read once: ${name} client`, {
    config: (c) => (c.models.find((m) => m.name === "c-own").targets = ["own/m-own"]),
    async run(pair) {
      const wire = wires[name], of = dialects[name], more = { tools: wire.tools({ type: "object", properties: { a: { type: "integer" } } }) };
      const same = async (stream, what) => {
        const r = await question(pair, of, { model: of.own, stream, more });
        assert.equal(r.said, "Hi there", `${what}: ${r.text}`);
        assert.deepEqual(wire.calls(r), [["call_a", "look", '{"a":1}']], `${what}: ${r.text}`);
        assert.equal(r.headers["x-daruma-attempts"] ?? "1", "1", what);
      };
      for (const [what, o] of Object.entries(wholes)) {
        pair.own.answer = (q, res) => json(res, 200, choice(o));
        await same(false, what);
      }
      pair.own.answer = (q, res) => sse(res, ...chunks.map((o) => data(choice(o))), "data: [DONE]\n\n").end();
      await same(true, "stream");
    },
  });

// Some say the name of a call in pieces, behind an empty one, or all of it again. Clients put it together, or take all of it.
const named = (...pieces) => pieces.map(([name, text], k) => data({ id: "c", object: "chat.completion.chunk", created: 1, model: "m-own", choices: [{ index: 0, delta: { tool_calls: [{ index: 0, ...(k === 0 && { id: "call_a", type: "function" }), function: { name, arguments: text } }] }, finish_reason: null }] })).join("");
for (const name of ["openai", "anthropic"])
  holds(`a server that says the name of a call in pieces is understood: ${name} client`, {
    config: (c) => (c.models.find((m) => m.name === "c-own").targets = ["own/m-own"]),
    async run(pair) {
      const wire = wires[name], of = dialects[name], more = { tools: wire.tools({ type: "object", properties: { a: { type: "integer" } } }) };
      const asks = async (pieces, args) => {
        const all = chat.opening() + named(...pieces) + chat.closingCalls();
        pair.own.seen = [];
        pair.own.answer = (q, res) => sse(res, all).end();
        const r = await question(pair, of, { model: of.own, stream: true, more });
        assert.equal(pair.own.seen.length, 1, r.text);
        if (name === "anthropic") assert.deepEqual(wire.calls(r), [["call_a", "look", args]], r.text);
        return { r, all };
      };
      for (const pieces of [[["lo", ""], ["ok", '{"a":1}']], [["", ""], ["look", '{"a"'], ["look", ":1}"]], [["look", ""], ["look", '{"a":1}']], [["lo", ""], ["look", '{"a":1}']]]) {
        const { r, all } = await asks(pieces, '{"a":1}');
        if (name === "openai") assert.equal(r.text, all);
      }
      const { r } = await asks([["lo", ""], ["ok", '{"a":'], ["", "1,}"]], '{"a":1}'); // what is mended is said once
      const said = (r.events ?? []).flatMap((e) => e.json?.choices?.[0]?.delta.tool_calls ?? []).map((c) => c.function);
      if (name === "openai") assert.deepEqual([said.map((f) => f.name).join(""), said.map((f) => f.arguments).join("")], ["look", '{"a":1}'], r.text);
    },
  });

// Some give each call of an answer the index 0: clients of OpenAI's stream would put their arguments together.
const shared = (i, id, name, ...pieces) => pieces.map((text, k) => data({ id: "c", object: "chat.completion.chunk", created: 1, model: "m-own", choices: [{ index: 0, delta: { tool_calls: [{ ...(k === 0 && { id, type: "function" }), function: { ...(k === 0 && { name }), arguments: text }, index: i }] }, finish_reason: null }] }));
holds("a server that gives all calls one index: each gets its own", {
  async run(pair) {
    const more = { tools: chat.tools({ type: "object", properties: { a: { type: "integer" } } }) };
    for (const indices of [[0, 0, 0], [0, 0, 1]]) {
      const calls = indices.flatMap((at, i) => shared(at, `call_${i}`, "look", '{"a"', `:${i}}`));
      pair.own.answer = (q, res) => sse(res, chat.opening(), ...calls, chat.closingCalls()).end();
      const r = await question(pair, d, { model: d.own, stream: true, more });
      assert.deepEqual(chat.calls(r), [0, 1, 2].map((i) => [`call_${i}`, "look", `{"a":${i}}`]), r.text);
      assert.match(r.text, /outcome=recovered attempts=1 remedies=mend_answer/);
    }
    const own = [2, 1, 0].flatMap((at, i) => shared(at, `call_${i}`, "look", '{"a"', `:${i}}`)), all = chat.opening() + own.join("") + chat.closingCalls();
    pair.own.answer = (q, res) => sse(res, all).end();
    const r = await question(pair, d, { model: d.own, stream: true, more });
    assert.equal(r.text, all); // odd, but clear
  },
});
