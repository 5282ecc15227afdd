// A stream was asked for and the answer comes whole: from a server that does not stream, or because a model that refuses
// streams is asked without. The client has a stream all the same.
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { dialects, question } from "./net.mjs";
import { holds } from "./wire.mjs";
import { body, every, json, object, parsed, streams, wires } from "./wires.mjs";

every((name, d, w) => {
  const ask = (pair, more = {}) => question(pair, d, { model: d.own, stream: true, more: { tools: w.tools(object), ...more } });
  const asked = (w, calls) => calls.map(([id, n, a]) => [id, n, w.toolArgs(a)]);

  holds(`${name}: an answer that comes whole where a stream was asked for goes out as one`, {
    async run(pair) {
      pair.own.answer = (q, res) => w.answer(res, "it is 42", asked(w, [["call_9", "look", { city: "Oslo" }], ["call_8", "look", { city: "Rome", days: 2 }]]));
      const r = await ask(pair);
      assert.equal(r.status, 200, r.text);
      assert.match(r.headers["content-type"], /^text\/event-stream/);
      assert.ok(r.events?.length > 2, r.text);
      assert.equal(r.said, "it is 42", r.text);
      assert.deepEqual(parsed(w.calls(r)).map(([, n, a]) => [n, a]), [["look", { city: "Oslo" }], ["look", { city: "Rome", days: 2 }]], r.text);
      assert.equal(r.outcome, "ok");
      assert.equal(pair.own.seen.length, 1);
      assert.equal(pair.events().filter((e) => e.event === "answer_streamed").length, 1);
    },
  });

  holds(`${name}: a whole answer that is broken off is no stream, but asked for again`, {
    async run(pair) {
      let n = 0;
      pair.own.answer = (q, res) => (n++ ? w.answer(res, "it is 42") : res.writeHead(200, { "content-type": "application/json" }).end('{"id":"x","cho'));
      const r = await ask(pair);
      assert.equal(r.said, "it is 42", r.text);
      assert.equal(pair.own.seen.length, 2);
      assert.equal(r.outcome, "recovered");
    },
  });

  holds(`${name}: a whole answer that lasts longer than a client's patience is kept open and comes as a stream`, {
    config: (c) => (c.timeouts = { connect: "2s", first_byte: "20s", idle: "20s", total: "30s" }),
    async run(pair) {
      pair.own.answer = async (q, res) => (await pause(11000), w.answer(res, "it is 42"));
      const r = await ask(pair);
      assert.equal(r.said, "it is 42", r.text);
      assert.equal(pair.own.seen.length, 1);
    },
  });
});

// What has no kind of its own goes out as it stands, and each event is one line.
const printed = {
  anthropic: [{ id: "msg_1", type: "message", role: "assistant", model: "c-own", content: [{ type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "x\n" } }, { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] }, { type: "text", text: "it is 42" }], stop_reason: "end_turn", stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } }, (r) => r.events.filter((e) => e.json?.type === "content_block_start").map((e) => e.json.content_block), (o) => o.content.slice(0, 2).concat({ type: "text", text: "" })],
  responses: [{ id: "resp_1", object: "response", status: "completed", model: "m-own", output: [{ type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search", query: "x\n" } }, { type: "message", id: "msg_1", status: "completed", role: "assistant", content: [{ type: "output_text", text: "it is 42", annotations: [] }] }], usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } }, (r) => r.events.find((e) => e.json?.type === "response.completed").json.response.output.slice(0, 1), (o) => o.output.slice(0, 1)],
  gemini: [{ candidates: [{ content: { role: "model", parts: [{ executableCode: { language: "PYTHON", code: "x\n" } }, { text: "it is 42" }] }, finishReason: "STOP", index: 0 }], usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 } }, (r) => r.events.flatMap((e) => e.json.candidates[0].content.parts).filter((p) => p.executableCode), (o) => o.candidates[0].content.parts.slice(0, 1)],
};
for (const [name, [answer, blocks, of]] of Object.entries(printed))
  holds(`${name}: a whole answer on many lines, with what the provider did, goes out as a stream whose every event is one line`, {
    async run(pair) {
      pair.own.answer = (q, res) => res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer, null, 1));
      const d = dialects[name], r = await question(pair, d, { model: d.own, stream: true });
      assert.equal(r.said, "it is 42", r.text);
      assert.ok(!r.text.split(/\r?\n/).some((l) => l && !/^(data|event|id|retry)?:/.test(l)), r.text);
      assert.deepEqual(blocks(r), of(answer), r.text);
    },
  });

// Words of OpenAI, of Amazon Bedrock behind gateways, of vLLM's and others' servers.
const refusals = {
  "an organization that is not verified": { message: "Your organization must be verified to stream this model. Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization. If you just verified, it can take up to 15 minutes for access to propagate.", type: "invalid_request_error", param: "stream", code: "unsupported_value" },
  "a model that does not stream": { message: "Unsupported value: 'stream' does not support true with this model. Only the default (false) value is supported.", type: "invalid_request_error", param: "stream", code: "unsupported_value" },
  "a server that does not stream": { message: "Streaming is not supported for this model.", type: "BadRequestError", param: null, code: 400 },
};
for (const [who, error] of Object.entries(refusals))
  for (const name of ["openai", "responses"])
    holds(`${name}: ${who} is asked without a stream, the client has one, and it is known`, {
      async run(pair) {
        const w = wires[name], d = dialects[name];
        pair.own.answer = (q, res) => (streams(q) ? json(res, 400, { error }) : w.answer(res, "it is 42", [["call_9", "look", w.toolArgs({ city: "Oslo" })]]));
        for (const calls of [2, 3]) {
          const r = await question(pair, d, { model: d.own, stream: true, more: { tools: w.tools(object), ...(name === "openai" && { stream_options: { include_usage: true } }) } });
          assert.equal(r.said, "it is 42", r.text);
          assert.deepEqual(parsed(w.calls(r)).map(([, n, a]) => [n, a]), [["look", { city: "Oslo" }]], r.text);
          assert.equal(r.headers["x-daruma-remedies"], "mend_parameter");
          assert.equal(pair.own.seen.length, calls);
          assert.equal(body(pair.own.seen.at(-1)).stream_options, undefined);
          if (name === "openai") assert.equal(r.events.filter((e) => e.json?.usage).length, 1, r.text);
        }
      },
    });

holds("a stream that goes wrong with tools alone is asked for whole then, and nothing is learned", {
  async run(pair) {
    const d = dialects.openai, w = wires.openai;
    pair.own.answer = (q, res) => (streams(q) && body(q).tools ? json(res, 400, { error: { message: "This model doesn't support tool use in streaming mode.", type: "invalid_request_error" } }) : streams(q) ? res.writeHead(200, { "content-type": "text/event-stream" }).end(w.opening() + w.piece("in pieces") + w.closing()) : w.answer(res, "whole"));
    assert.equal((await question(pair, d, { model: d.own, stream: true, more: { tools: w.tools(object) } })).said, "whole");
    const r = await question(pair, d, { model: d.own, stream: true });
    assert.equal(r.said, "in pieces", r.text);
    assert.equal(r.headers["x-daruma-remedies"], "none");
  },
});

// What no delta can say goes out as it stands, each piece for itself.
const thinking = (t, signature) => ({ type: "thinking", thinking: t, signature });
const claudes = (...content) => ({ id: "msg_1", type: "message", role: "assistant", model: "c-own", content, stop_reason: "end_turn", stop_sequence: null, usage: { input_tokens: 7, output_tokens: 5 } });
const reasoning = (id) => ({ id, type: "reasoning", summary: [], encrypted_content: `sealed ${id}` });
const patch = { id: "ctc_1", type: "custom_tool_call", status: "completed", call_id: "call_9", name: "apply_patch", input: "*** Begin Patch" };
const wholes = {
  "a custom tool's call and two thoughts": [[reasoning("rs_1"), reasoning("rs_2"), patch], async (pair) => {
    const c = new OpenAI({ apiKey: "sk-client", baseURL: `${pair.base}/v1`, maxRetries: 0 });
    return (await c.responses.stream({ model: "m-own", input: "go", store: false }).finalResponse()).output;
  }],
  "two thoughts, a hidden one and a tool of the provider's": [[thinking("a", "sA"), { type: "redacted_thinking", data: "sealed" }, thinking("b", "sB"), thinking("c", "sC"), { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "x" } }, { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [] }, { type: "text", text: "42" }], async (pair) => {
    const c = new Anthropic({ apiKey: "sk-client", baseURL: pair.base, maxRetries: 0 });
    return (await c.messages.stream({ model: "c-own", max_tokens: 9, messages: [{ role: "user", content: "go" }] }).finalMessage()).content;
  }],
};
for (const [what, [parts, ask]] of Object.entries(wholes))
  holds(`${what} of a whole answer are all in the stream that was asked for`, {
    async run(pair) {
      pair.own.answer = (q, res) => json(res, 200, q.url.endsWith("/responses") ? { id: "resp_1", object: "response", created_at: 1, status: "completed", model: "m-own", output: parts, usage: { input_tokens: 5, output_tokens: 5, total_tokens: 10 } } : claudes(...parts));
      assert.deepEqual(JSON.parse(JSON.stringify(await ask(pair))), parts);
      assert.equal(pair.own.seen.length, 1);
    },
  });

holds("an image of a whole answer is in the stream that was asked for", {
  async run(pair) {
    const d = dialects.gemini, image = { inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } };
    pair.own.answer = (q, res) => json(res, 200, { candidates: [{ content: { parts: [{ text: "see" }, image], role: "model" }, finishReason: "STOP", index: 0 }], usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 5, totalTokenCount: 10 } });
    const r = await question(pair, d, { model: d.own, stream: true });
    assert.deepEqual(r.events.flatMap((e) => e.json?.candidates?.[0].content?.parts ?? []).filter((p) => p.inlineData), [image]);
  },
});

// Conditions, and other things that are said of streams.
for (const [what, more, message] of [
  ["what goes in no stream", { logprobs: true }, "logprobs are not supported in streaming mode."],
  ["several answers", { n: 2 }, "n > 1 is not supported in streaming mode"],
  ["a call of functions", { tools: wires.openai.tools(object) }, "streaming is not supported for function calls"],
  ["a stream that is the only way", { logprobs: true }, "This model only supports streaming mode for logprobs=false"],
])
  holds(`of a refusal that is about ${what} no lane learns not to stream`, {
    async run(pair) {
      const d = dialects.openai, w = wires.openai;
      pair.own.answer = (q, res) => (streams(q) && body(q)[Object.keys(more)[0]] ? json(res, 400, { error: { message, type: "invalid_request_error" } }) : streams(q) ? res.writeHead(200, { "content-type": "text/event-stream" }).end(w.opening() + w.piece("in pieces") + w.closing()) : w.answer(res, "whole"));
      await question(pair, d, { model: d.own, stream: true, more });
      const r = await question(pair, d, { model: d.own, stream: true });
      assert.equal(r.said, "in pieces", r.text);
      assert.equal(r.headers["x-daruma-remedies"], "none");
    },
  });

holds("a model that does not stream has the time of whole answers for them", {
  config: (c) => (c.timeouts = { connect: "2s", first_byte: "500ms", plain_first_byte: "10s", idle: "5s", total: "20s" }),
  async run(pair) {
    const d = dialects.openai, w = wires.openai;
    pair.own.answer = async (q, res) => (streams(q) ? json(res, 400, { error: refusals["a model that does not stream"] }) : (await pause(1500), w.answer(res, "whole")));
    for (const calls of [2, 3]) {
      const r = await question(pair, d, { model: d.own, stream: true });
      assert.deepEqual([r.said, pair.own.seen.length], ["whole", calls], r.text);
    }
  },
});

holds("a model that does not stream is asked plain questions as ever", {
  async run(pair) {
    const d = dialects.openai, w = wires.openai;
    pair.own.answer = (q, res) => (streams(q) ? json(res, 400, { error: refusals["a server that does not stream"] }) : w.answer(res, "whole"));
    assert.equal((await question(pair, d, { model: d.own, stream: true })).said, "whole");
    const r = await question(pair, d, { model: d.own });
    assert.deepEqual([r.said, r.headers["x-daruma-remedies"], "stream" in body(pair.own.seen.at(-1))], ["whole", "none", false]);
  },
});

holds("the SDKs read a whole answer as the stream that they asked for", {
  async run(pair) {
    const openai = new OpenAI({ apiKey: "sk-client", baseURL: `${pair.base}/v1`, maxRetries: 0 }), anthropic = new Anthropic({ apiKey: "sk-client", baseURL: pair.base, maxRetries: 0 });
    const tools = (w) => w.tools(object), call = (w) => [["call_9", "look", w.toolArgs({ city: "Oslo" })]];
    pair.own.answer = (q, res) => {
      if (q.url.endsWith("/chat/completions")) return wires.openai.answer(res, "it is 42", call(wires.openai));
      if (q.url.endsWith("/responses"))
        return json(res, 200, { id: "resp_1", object: "response", created_at: 1, status: "completed", model: "m-own", error: null, incomplete_details: null, output: [{ id: "rs_1", type: "reasoning", summary: [], encrypted_content: "sealed" }, { id: "msg_1", type: "message", status: "completed", role: "assistant", content: [{ type: "output_text", text: "it is 42", annotations: [] }] }, { id: "fc_1", type: "function_call", status: "completed", call_id: "call_9", name: "look", arguments: '{"city":"Oslo"}' }], usage: { input_tokens: 5, output_tokens: 5, total_tokens: 10 } });
      json(res, 200, { id: "msg_1", type: "message", role: "assistant", model: "c-own", content: [{ type: "thinking", thinking: "hm", signature: "sealed" }, { type: "text", text: "it is 42" }, { type: "tool_use", id: "toolu_9", name: "look", input: { city: "Oslo" } }], stop_reason: "tool_use", stop_sequence: null, usage: { input_tokens: 7, output_tokens: 5 } });
    };
    const c = await openai.chat.completions.stream({ model: "m-own", messages: [{ role: "user", content: "go" }], tools: tools(wires.openai), stream_options: { include_usage: true } }).finalChatCompletion();
    assert.equal(c.choices[0].message.content, "it is 42");
    assert.deepEqual(c.choices[0].message.tool_calls.map((t) => [t.id, t.function.name, JSON.parse(t.function.arguments)]), [["call_9", "look", { city: "Oslo" }]]);
    assert.deepEqual([c.choices[0].finish_reason, c.usage.prompt_tokens], ["tool_calls", 5]);
    const r = await openai.responses.stream({ model: "m-own", input: "go", tools: tools(wires.responses), store: false }).finalResponse();
    assert.deepEqual([r.status, r.output_text, r.usage.input_tokens], ["completed", "it is 42", 5]);
    assert.equal(r.output.find((o) => o.type === "reasoning").encrypted_content, "sealed");
    assert.deepEqual(r.output.filter((o) => o.type === "function_call").map((o) => [o.call_id, o.name, o.arguments]), [["call_9", "look", '{"city":"Oslo"}']]);
    const m = await anthropic.messages.stream({ model: "c-own", max_tokens: 9, messages: [{ role: "user", content: "go" }], tools: tools(wires.anthropic) }).finalMessage();
    assert.deepEqual(m.content.map((b) => [b.type, b.text ?? b.input ?? b.thinking, b.signature]), [["thinking", "hm", "sealed"], ["text", "it is 42", undefined], ["tool_use", { city: "Oslo" }, undefined]]);
    assert.deepEqual([m.stop_reason, m.usage.input_tokens, m.usage.output_tokens], ["tool_use", 7, 5]);
  },
});

holds("between two dialects a model that refuses streams is asked for a whole answer, too", {
  config: (c) => (c.models.find((m) => m.name === "c-own").targets = ["own/m-own"]),
  async run(pair) {
    const d = dialects.anthropic, w = wires.openai;
    pair.own.answer = (q, res) => (streams(q) ? json(res, 400, { error: refusals["an organization that is not verified"] }) : w.answer(res, "it is 42", [["call_9", "look", w.toolArgs({ city: "Oslo" })]]));
    const r = await question(pair, d, { model: d.own, stream: true, more: { tools: wires.anthropic.tools(object) } });
    assert.equal(r.said, "it is 42", r.text);
    assert.deepEqual(parsed(wires.anthropic.calls(r)).map(([, n, a]) => [n, a]), [["look", { city: "Oslo" }]], r.text);
    assert.equal(pair.own.seen.length, 2);
  },
});

holds("gemini: arguments on many lines, from another dialect, are one line of a stream", {
  config: (c) => (c.models.find((m) => m.name === "g-own").targets = ["own/m-own"]),
  async run(pair) {
    const d = dialects.gemini;
    pair.own.answer = (q, res) => wires.openai.answer(res, "it is 42", [["call_9", "look", '{\n  "city":\r\n "Oslo"\n}']]);
    const r = await question(pair, d, { model: d.own, stream: true, more: { tools: wires.gemini.tools(object) } });
    assert.deepEqual(parsed(wires.gemini.calls(r)).map(([, n, a]) => [n, a]), [["look", { city: "Oslo" }]], r.text);
  },
});
