// A stream with a call that is mended goes out as it came but for that call: ids, models, usage, text and thinking between
// calls, blocks and members that nobody knows. Its arguments stand whole in its first piece, and the others are empty.
import assert from "node:assert/strict";
import { dialects, question } from "./net.mjs";
import { holds } from "./wire.mjs";
import { object, sse, wires } from "./wires.mjs";

const broken = ['{"ci', 'ty": "Os', 'lo",}'], good = ['{"city":"Oslo"}', "", ""], fine = ['{"city":', '"Rome"}'];
const named = (o) => `event: ${o.type}\ndata: ${JSON.stringify(o)}\n\n`, bare = (o) => `data: ${JSON.stringify(o)}\n\n`;
const chunk = (delta, more = {}) => bare({ id: "chatcmpl-own", object: "chat.completion.chunk", created: 7, model: "m-own-0613", service_tier: "flex", system_fingerprint: "fp_9", choices: [{ index: 0, delta, logprobs: null, finish_reason: null, ...more }], x_more: { kept: [1] } });

// What each wire sends: `args` are the pieces of the first call, `name` is that call's tool.
const streams = {
  openai: (args, name) =>
    [
      chunk({ role: "assistant", content: null }),
      chunk({ tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name, arguments: args === good ? args[0] : "" }, extra_content: { google: { thought_signature: "c2ln" } } }] }),
      ...args.map((p) => chunk({ tool_calls: [{ index: 0, function: { arguments: args === good ? "" : p } }] })),
      ": still there\n\n",
      chunk({ content: "and now", annotations: [{ type: "url_citation", url: "https://example.org" }] }),
      chunk({ reasoning_content: "hm" }),
      chunk({ tool_calls: [{ index: 1, id: "call_2", type: "function", function: { name: "look", arguments: fine.join("") } }] }),
      chunk({}, { finish_reason: "tool_calls" }),
      bare({ id: "chatcmpl-own", object: "chat.completion.chunk", created: 7, model: "m-own-0613", choices: [], usage: { prompt_tokens: 5, completion_tokens: 9, total_tokens: 14, cost: 0.25 } }),
      "data: [DONE]\n\n",
    ].join(""),
  anthropic: (args, name, acts) => {
    const block = (index, content_block, ...deltas) => [{ type: "content_block_start", index, content_block }, ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })), { type: "content_block_stop", index }];
    const tool = (i, n, pieces) => block(i, { type: "tool_use", id: `toolu_${i}`, name: n, input: {}, caller: { type: "direct" } }, ...pieces.map((partial_json) => ({ type: "input_json_delta", partial_json })));
    return [
      { type: "message_start", message: { id: "msg_1", type: "message", role: "assistant", model: "c-own-2025", content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 5, output_tokens: 1, service_tier: "priority" } } },
      ...tool(0, name, args),
      ...block(1, { type: "thinking", thinking: "", signature: "" }, { type: "thinking_delta", thinking: "hm" }, { type: "signature_delta", signature: "U0lH" }),
      ...block(2, acts ? { type: "server_tool_use", id: "srvtoolu_1", name: "code_execution", input: { code: "1" } } : { type: "redacted_thinking", data: "xx" }),
      ...block(3, { type: "text", text: "" }, { type: "text_delta", text: "and now" }, { type: "citations_delta", citation: { type: "char_location", cited_text: "x" } }),
      ...tool(4, "look", fine),
      { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null, container: null }, usage: { output_tokens: 5, thinking_tokens: 2 } },
      { type: "message_stop" },
    ].map(named).join("");
  },
  responses: (args, name, acts) => {
    const whole = args === good ? args[0] : args.join(""), events = [], output = [];
    let n = 0;
    const put = (type, more) => events.push(named({ type, sequence_number: n++, ...more }));
    const item = (o, ...between) => {
      const output_index = output.length;
      put("response.output_item.added", { output_index, item: { ...o, status: "in_progress", ...(o.arguments === undefined ? {} : { arguments: "" }) } });
      for (const [type, more] of between) put(type, { item_id: o.id, output_index, ...more });
      put("response.output_item.done", { output_index, item: o });
      output.push(o);
    };
    const call = (i, tool, pieces, text) => item({ id: `fc_${i}`, type: "function_call", status: "completed", arguments: text, call_id: `call_${i}`, name: tool, x_own: i }, ...pieces.map((delta) => ["response.function_call_arguments.delta", { delta, obfuscation: "aa" }]), ["response.function_call_arguments.done", { arguments: text }]);
    const head = { id: "resp_1", object: "response", created_at: 7, model: "m-own-2025", metadata: { run: "9" }, temperature: 0.5 };
    put("response.created", { response: { ...head, status: "in_progress", output: [] } });
    call(0, name, args, whole);
    item({ id: "rs_1", type: "reasoning", summary: [{ type: "summary_text", text: "hm" }], encrypted_content: "gAAA" });
    if (acts) item({ id: "mcp_1", type: "mcp_call", name: "send_mail", server_label: "mail", input: "{}", output: "sent" });
    item({ id: "ws_1", type: "custom_tool_call", status: "completed", call_id: "call_9", name: "apply_patch", input: "*** {" });
    call(3, "look", fine, fine.join(""));
    item({ id: "msg_1", type: "message", status: "completed", role: "assistant", phase: "final", content: [{ type: "output_text", text: "and now", annotations: [{ type: "file_citation" }], logprobs: [] }] }, ["response.output_text.delta", { content_index: 0, delta: "and now" }]);
    put("response.completed", { response: { ...head, status: "completed", output, usage: { input_tokens: 5, output_tokens: 9, total_tokens: 14, input_tokens_details: { cached_tokens: 1 } } } });
    return events.join("");
  },
  gemini: (args, name, acts) => {
    const part = (...parts) => bare({ candidates: [{ content: { parts, role: "model" }, index: 0, groundingMetadata: { x: 1 } }], modelVersion: "g-own-001", responseId: "r1", usageMetadata: { promptTokenCount: 5, totalTokenCount: 9 } });
    return part({ functionCall: { name, args: args === good ? { city: "Oslo" } : args.join("") } }, { text: "hm", thought: true }, ...(acts ? [{ executableCode: { language: "PYTHON", code: "1" } }] : []), { functionCall: { id: "f2", name: "look", args: { city: "Rome" } }, thoughtSignature: "c2ln" }) + part({ text: "and now" }) + bare({ candidates: [{ content: { parts: [{ text: "" }], role: "model" }, finishReason: "STOP", index: 0 }], modelVersion: "g-own-001", usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 4, trafficType: "ON_DEMAND" } });
  },
};

// The same with text alone, in these pieces.
const answers = {
  openai: (pieces) => [chunk({ role: "assistant", content: pieces[0] }, { logprobs: { content: [] } }), chunk({ reasoning_content: "hm" }), ...pieces.slice(1).map((content) => chunk({ content })), chunk({}, { finish_reason: "stop" }), bare({ id: "chatcmpl-own", choices: [], usage: { prompt_tokens: 5, completion_tokens: 9, total_tokens: 14, cost: 0.25 } }), "data: [DONE]\n\n"].join(""),
  anthropic: (pieces) =>
    [
      { type: "message_start", message: { id: "msg_1", type: "message", role: "assistant", model: "c-own-2025", content: [], usage: { input_tokens: 5, output_tokens: 1, service_tier: "priority" } } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      ...pieces.map((text) => ({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })),
      { type: "content_block_delta", index: 0, delta: { type: "citations_delta", citation: { type: "char_location", cited_text: "x" } } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null, container: null }, usage: { output_tokens: 5, thinking_tokens: 2 } },
      { type: "message_stop" },
    ].map(named).join(""),
  responses: (pieces) => {
    const text = pieces.join(""), head = { id: "resp_1", object: "response", created_at: 7, model: "m-own-2025", metadata: { run: "9" } };
    const part = (t) => ({ type: "output_text", text: t, annotations: [], logprobs: [] }), item = (status, content) => ({ id: "msg_1", type: "message", status, role: "assistant", phase: "final", content }), at = { item_id: "msg_1", output_index: 1, content_index: 0 };
    const thought = { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "gAAA" };
    return [
      { type: "response.created", response: { ...head, status: "in_progress", output: [] } },
      { type: "response.output_item.added", output_index: 0, item: thought },
      { type: "response.output_item.done", output_index: 0, item: thought },
      { type: "response.output_item.added", output_index: 1, item: item("in_progress", []) },
      { type: "response.content_part.added", ...at, part: part("") },
      ...pieces.map((delta) => ({ type: "response.output_text.delta", ...at, delta, obfuscation: "a" })),
      { type: "response.output_text.done", ...at, text, logprobs: [] },
      { type: "response.content_part.done", ...at, part: part(text) },
      { type: "response.output_item.done", output_index: 1, item: item("completed", [part(text)]) },
      { type: "response.completed", response: { ...head, status: "completed", output: [thought, item("completed", [part(text)])], usage: { input_tokens: 5, output_tokens: 9, total_tokens: 14 } } },
    ].map((e, n) => named({ ...e, sequence_number: n })).join("");
  },
  gemini: (pieces) => [...pieces.map((text) => bare({ candidates: [{ content: { parts: [{ text }], role: "model" }, index: 0 }], modelVersion: "g-own-001", responseId: "r1" })), bare({ candidates: [{ content: { parts: [{ text: "", thoughtSignature: "c2ln" }], role: "model" }, finishReason: "STOP", index: 0 }], modelVersion: "g-own-001", usageMetadata: { promptTokenCount: 5, trafficType: "ON_DEMAND" } })].join(""),
};

// What the client got, but for the last words that tell of the mend.
const said = (r) => r.text.replace(/^: daruma outcome=recovered attempts=1 remedies=mend_answer .*\n\n/m, "");

for (const [name, stream] of Object.entries(streams)) {
  const w = wires[name], d = dialects[name];
  const ask = (pair) => question(pair, d, { model: d.own, stream: true, more: { tools: w.tools(object) } });

  holds(`heal ${name} stream: a call is mended, and nothing else changes`, {
    async run(pair) {
      pair.own.answer = (q, res) => sse(res, stream(broken, "Look")).end();
      const r = await ask(pair);
      assert.equal(said(r), stream(good, "look"));
      assert.equal(pair.own.seen.length, 1);
    },
  });

  holds(`heal ${name} stream: an answer that shall be JSON is made so, and nothing else changes`, {
    async run(pair) {
      const [sent, meant] = [['```json\n{"city"', ': "Oslo"}', "\n```"], ['{"city": "Oslo"}', "", ""]].map(answers[name]);
      pair.own.answer = (q, res) => sse(res, sent).end();
      assert.equal(said(await question(pair, d, { model: d.own, stream: true, more: w.format(object) })), meant);
    },
  });

  if (name === "openai")
    for (const stream of [true, false])
      holds(`heal openai${stream ? " stream" : ""}: arguments that come as an object are a text, and nothing else changes`, {
        async run(pair) {
          const call = (args) => ({ id: "call_1", type: "function", function: { name: "look", arguments: args }, extra_content: { a: 1 } });
          const sends = (args) => (stream ? chunk({ tool_calls: [{ index: 0, ...call(args) }] }) + chunk({}, { finish_reason: "tool_calls" }) + "data: [DONE]\n\n" : JSON.stringify({ id: "c", choices: [{ index: 0, message: { role: "assistant", content: null, tool_calls: [call(args)] }, finish_reason: "tool_calls" }], cost: 1 }));
          pair.own.answer = (q, res) => (stream ? sse(res, sends({ city: "Oslo" })) : (res.writeHead(200, { "content-type": "application/json" }), res.write(sends({ city: "Oslo" })), res)).end();
          const r = await question(pair, d, { model: d.own, stream, more: { tools: w.tools(object) } });
          assert.equal(said(r), sends('{"city":"Oslo"}'));
          if (!stream) assert.equal(r.headers["x-daruma-remedies"], "mend_answer");
        },
      });

  if (name !== "openai")
    holds(`heal ${name} stream: a call is mended, and nothing else changes, where the provider ran a tool, too`, {
      async run(pair) {
        pair.own.answer = (q, res) => sse(res, stream(broken, "Look", true)).end();
        assert.equal(said(await ask(pair)), stream(good, "look", true));
        pair.own.answer = (q, res) => sse(res, stream(['{"city":', "3}"], "unheard_of", true)).end();
        assert.equal((await ask(pair)).text, stream(['{"city":', "3}"], "unheard_of", true), "what cannot be mended is not asked for again");
        assert.equal(pair.own.seen.length, 2);
      },
    });

  if (name !== "gemini")
    holds(`heal ${name} stream: calls that are good go out as they came beside each other`, {
      async run(pair) {
        pair.own.answer = (q, res) => sse(res, stream(fine, "look")).end();
        assert.equal((await ask(pair)).text, stream(fine, "look"));
      },
    });
}
