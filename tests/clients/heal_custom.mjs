// Custom tools of OpenAI's APIs, which take words and no JSON: their calls are calls like any other, and none is lost where
// another call beside them is mended or asked for again.
import assert from "node:assert/strict";
import OpenAI from "openai";
import { dialects, question } from "./net.mjs";
import { holds } from "./wire.mjs";
import { body, object, parsed, reply, sse, target, wires } from "./wires.mjs";

const patch = '*** Begin Patch\n*** Update File: a.c\n-int main(void) { return "1"\n+{\n*** End Patch';
const event = (o) => `event: ${o.type}\ndata: ${JSON.stringify(o)}\n\n`;
const chunk = (delta, finish = null) => `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m-own", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
// Each event of Responses with its number.
const numbered = (...texts) => {
  let n = 0;
  return texts.join("").replace(/^data: (\{"type".*)$/gm, (_, o) => `data: ${JSON.stringify({ ...JSON.parse(o), sequence_number: n++ })}`);
};
const apis = {
  openai: {
    tool: { type: "custom", custom: { name: "apply_patch", description: "patches a file" } },
    called: (n, id, input) => [chunk({ tool_calls: [{ index: n, id, type: "custom", custom: { name: "apply_patch", input: "" } }] }), ...input.match(/[^]{1,20}/g).map((text) => chunk({ tool_calls: [{ index: n, custom: { input: text } }] }))].join(""),
    read: (r) => {
      const calls = [];
      for (const e of r.events)
        for (const c of e.json?.choices?.[0]?.delta?.tool_calls ?? [])
          if (c.custom) (calls[c.index] ??= { id: c.id, name: c.custom.name, input: "" }).input += c.custom.input ?? "";
      return calls.filter(Boolean).map((c) => [c.id, c.name, c.input]);
    },
  },
  responses: {
    tool: { type: "custom", name: "apply_patch", description: "patches a file" },
    called: (n, id, input) => {
      const item = { type: "custom_tool_call", id: `ctc_${n}`, call_id: id, name: "apply_patch", input: "", status: "in_progress" }, at = { output_index: n + 1, item_id: item.id };
      return [event({ type: "response.output_item.added", output_index: n + 1, item }), ...input.match(/[^]{1,20}/g).map((delta) => event({ type: "response.custom_tool_call_input.delta", ...at, delta })), event({ type: "response.custom_tool_call_input.done", ...at, input }), event({ type: "response.output_item.done", output_index: n + 1, item: { ...item, input, status: "completed" } })].join("");
    },
    read: (r) => r.events.filter((e) => e.json?.type === "response.output_item.done" && e.json.item.type === "custom_tool_call").map((e) => [e.json.item.call_id, e.json.item.name, e.json.item.input]),
  },
};

for (const [name, api] of Object.entries(apis)) {
  const w = wires[name], d = dialects[name], more = { tools: [api.tool, ...w.tools(object)] };
  const ask = (pair, tools = more.tools) => question(pair, d, { model: d.own, stream: true, more: { tools } });

  holds(`heal ${name} stream: a call of a custom tool goes out byte for byte`, {
    async run(pair) {
      const all = w.opening() + w.piece("so") + api.called(0, "call_1", patch) + w.closingCalls();
      pair.own.answer = (q, res) => sse(res, all).end();
      for (const tools of [[api.tool], more.tools]) {
        const r = await ask(pair, tools);
        assert.equal(r.text, all);
        assert.equal(r.outcome, "ok");
      }
    },
  });

  for (const [what, args] of Object.entries({ "is mended": '{"city": "Oslo",}', "is good": '{"city":"Oslo"}' }))
    for (const first of [true, false])
      holds(`heal ${name} stream: a custom tool is called ${first ? "before" : "behind"} a call that ${what}`, {
        async run(pair) {
          const custom = api.called(first ? 0 : 1, "call_1", patch), plain = w.called(first ? 1 : 0, "call_2", "look", args);
          pair.own.answer = (q, res) => sse(res, numbered(w.opening(), ...(first ? [custom, plain] : [plain, custom]), w.closingCalls())).end();
          const r = await ask(pair);
          assert.deepEqual(api.read(r), [["call_1", "apply_patch", patch]], r.text);
          assert.deepEqual(parsed(w.calls(r).filter(([id]) => id === "call_2")), [["call_2", "look", { city: "Oslo" }]], r.text);
          assert.ok(d.ended(r.events), r.text);
          assert.equal(pair.own.seen.length, 1);
        },
      });

  for (const how of ["breaks off", "calls a tool that nobody has"])
    holds(`heal ${name} stream: a custom tool is called behind an answer that said something and ${how}`, {
      async run(pair) {
        pair.own.answer = (q, res) => {
          if (q.n > 1) return sse(res, numbered(w.opening(), w.piece("The quick brown fox jumps"), api.called(0, "call_1", patch), w.called(1, "call_2", "look", '{"city":"Oslo"}'), w.closingCalls())).end();
          sse(res, w.opening(), w.piece("The quick brown fox jumps"), ...(how === "breaks off" ? [] : [w.called(1, "call_0", "unheard", '{"city":"Oslo"}'), w.closingCalls()])).end();
        };
        const r = await ask(pair);
        assert.equal(pair.own.seen.length, 2);
        assert.deepEqual(api.read(r), [["call_1", "apply_patch", patch]], r.text);
        assert.deepEqual(parsed(w.calls(r).filter(([, n]) => n === "look")), [["call_2", "look", { city: "Oslo" }]], r.text);
        assert.ok(d.ended(r.events), r.text);
      },
    });

  holds(`heal ${name} stream: behind a custom tool's call that went out no other answer repeats it`, {
    async run(pair) {
      pair.own.answer = (q, res) => sse(res, w.opening(), w.piece("so"), api.called(0, "call_1", patch), ...(q.n === 1 ? [] : [w.closingCalls()])).end();
      const r = await ask(pair, [api.tool]);
      assert.ok(api.read(r).length <= 1, r.text);
      assert.equal(r.text.split('"apply_patch"').length <= 3, true, r.text);
    },
  });

  holds(`heal ${name} stream: a custom tool is called in the answer that was asked for again`, {
    async run(pair) {
      pair.own.answer = (q, res) => sse(res, w.opening(), w.called(0, "call_1", "look", q.n === 1 ? '{"days":3}' : '{"city":"Oslo"}'), ...(q.n === 1 ? [] : [api.called(1, "call_2", patch)]), w.closingCalls()).end();
      const r = await ask(pair);
      assert.equal(pair.own.seen.length, 2);
      assert.deepEqual(api.read(r), [["call_2", "apply_patch", patch]], r.text);
      assert.deepEqual(parsed(w.calls(r).filter(([, n]) => n === "look")), [["call_1", "look", { city: "Oslo" }]], r.text);
      assert.ok(d.ended(r.events), r.text);
    },
  });
}

holds("the OpenAI SDK is given a custom tool's call beside one that was mended", {
  async run(pair) {
    const w = wires.openai, c = new OpenAI({ apiKey: "sk-client", baseURL: `${pair.base}/v1`, maxRetries: 0 });
    pair.own.answer = (q, res) => sse(res, w.opening(), w.called(0, "call_1", "look", '{"city": "Oslo",}'), apis.openai.called(1, "call_2", patch), w.closingCalls()).end();
    const seen = [];
    for await (const part of await c.chat.completions.create({ model: "m-own", stream: true, messages: [{ role: "user", content: "go" }], tools: [apis.openai.tool, ...w.tools(object)] }))
      for (const t of part.choices[0]?.delta.tool_calls ?? []) {
        const at = (seen[t.index] ??= { type: t.type, text: "" });
        at.text += t.function?.arguments ?? t.custom?.input ?? "";
      }
    assert.deepEqual(seen, [{ type: "function", text: '{"city":"Oslo"}' }, { type: "custom", text: patch }]);
    assert.equal(body(pair.own.seen[0]).tools.length, 2);
  },
});

/* ---- where there are no custom tools, they are functions, and customs again in the answer ---- */

const grammar = { syntax: "lark", definition: 'start: "*** Begin Patch" LINE+' };
const moved = {
  openai: {
    tool: { type: "custom", custom: { name: "apply_patch", description: "patches a file", format: { type: "grammar", grammar } } },
    history: [{ role: "user", content: "go" }, { role: "assistant", content: null, tool_calls: [{ id: "call_0", type: "custom", custom: { name: "apply_patch", input: patch } }] }, { role: "tool", tool_call_id: "call_0", content: "no" }],
    choice: { type: "custom", custom: { name: "apply_patch" } },
    whole: (r) => r.json.choices[0].message.tool_calls.map((c) => [c.id, c.type, c.custom?.name, c.custom?.input]),
  },
  responses: {
    tool: { type: "custom", name: "apply_patch", description: "patches a file", format: { type: "grammar", ...grammar } },
    history: [{ role: "user", content: "go" }, { type: "custom_tool_call", call_id: "call_0", name: "apply_patch", input: patch }, { type: "custom_tool_call_output", call_id: "call_0", output: "no" }],
    choice: { type: "custom", name: "apply_patch" },
    whole: (r) => r.json.output.filter((i) => i.type !== "message").map((i) => [i.call_id, i.type.replace("_tool_call", ""), i.name, i.input]),
  },
};
const sent = {
  openai: (b) => [b.tools[0].function.name, b.tools[0].function.description, b.tools[0].function.parameters, b.tool_choice.function.name, JSON.parse(b.messages[1].tool_calls[0].function.arguments), b.messages[2].content],
  anthropic: (b) => [b.tools[0].name, b.tools[0].description, b.tools[0].input_schema, b.tool_choice.name, b.messages[1].content[0].input, b.messages[2].content[0].content],
  responses: (b) => [b.tools[0].name, b.tools[0].description, b.tools[0].parameters, b.tool_choice.name, JSON.parse(b.input[1].arguments), b.input[2].output],
  gemini: (b) => [b.tools[0].functionDeclarations[0].name, b.tools[0].functionDeclarations[0].description, b.tools[0].functionDeclarations[0].parametersJsonSchema, b.toolConfig.functionCallingConfig.allowedFunctionNames[0], b.contents[1].parts[0].functionCall.args, b.contents[2].parts[0].functionResponse.response.output],
};
for (const [name, m] of Object.entries(moved))
  for (const other of Object.keys(wires))
    for (const stream of [false, true])
      if (other !== name)
        holds(`heal ${name}${stream ? " stream" : ""}: a custom tool is a function for ${other}, and its calls are its own`, {
          config: (c) => (c.models.find((x) => x.name === dialects[name].own).targets = [target[other].replace(/\/.*/, "/there"), ...(name === "responses" ? ["own-responses/spare"] : [])]),
          async run(pair) {
            const w = wires[name], v = wires[other], d = dialects[name];
            pair.own.answer = (q, res) => reply(v, q, res, "so", [["call_1", "apply_patch", { input: patch }], ["call_2", "look", { city: "Oslo" }]]);
            const r = await question(pair, d, { model: d.own, stream, more: { [w.key]: m.history, tools: [m.tool, ...w.tools(object)], tool_choice: m.choice } });
            const [called, description, schema, choice, args, result] = sent[other](body(pair.own.seen[0]));
            assert.deepEqual([called, description, choice, args, result], ["apply_patch", "patches a file", "apply_patch", { input: patch }, "no"]);
            assert.deepEqual([schema.required, schema.properties.input.type], [["input"], "string"]);
            assert.ok(schema.properties.input.description.endsWith(grammar.definition) && /lark/.test(schema.properties.input.description));
            assert.deepEqual(stream ? apis[name].read(r) : m.whole(r).filter((c) => c[1] === "custom").map((c) => [c[0], ...c.slice(2)]), [["call_1", "apply_patch", patch]], r.text);
            assert.deepEqual(parsed(w.calls(r).filter((c) => c[1] === "look")), [["call_2", "look", { city: "Oslo" }]], r.text);
            assert.equal(pair.own.seen.length, 1);
            if (stream) assert.ok(d.ended(r.events), r.text);
          },
        });

for (const stream of [false, true])
  holds(`heal responses${stream ? " stream" : ""}: a call of a custom tool that anthropic broke is mended or asked for again`, {
    config: (c) => (c.models.find((x) => x.name === dialects.responses.own).targets = ["own-claude/there"]),
    async run(pair) {
      const d = dialects.responses, m = moved.responses;
      let bad;
      pair.own.answer = (q, res) => reply(wires.anthropic, q, res, "so", [["call_1", "apply_patch", q.n === 1 ? bad : { input: patch }]]);
      for (bad of [{ patch }, { input: 7 }]) {
        pair.own.seen = [];
        const r = await question(pair, d, { model: d.own, stream, more: { input: m.history, tools: [m.tool] } });
        const got = stream ? apis.responses.read(r) : m.whole(r).map((c) => [c[0], ...c.slice(2)]);
        assert.deepEqual(got, [["call_1", "apply_patch", pair.own.seen.length === 1 ? "7" : patch]], r.text);
        assert.equal(pair.own.seen.length, bad.input ? 1 : 2);
      }
    },
  });

// Functions of Responses that are not among `tools` by themselves: those of a namespace, whose calls name it, and those
// that a search or the developer adds among the messages. Who cannot see such a tool does not say that there is none.
{
  const w = wires.responses, d = dialects.responses;
  const within = (text) => text.replaceAll('"name":"look"', '"name":"look","namespace":"geo"');
  const [look] = w.tools({ type: "object", properties: { place: { type: "string" } }, required: ["place"] });
  const [other] = w.tools(object), space = { type: "namespace", name: "geo", description: "places", tools: [look] };
  const user = { role: "user", content: "go" };
  const searched = [user, { type: "tool_search_call", id: "tsc_1", call_id: null, execution: "server", status: "completed", arguments: {} }, { type: "tool_search_output", id: "tso_1", call_id: null, execution: "server", status: "completed", tools: [look] }];
  const run = { ...other, name: "run" };
  const offers = {
    "of a namespace": [{ tools: [other, space], input: [user] }, within],
    "that a search found": [{ tools: [run, { type: "tool_search" }], input: searched }, (t) => t],
    "that the developer added": [{ tools: [run], input: [user, { type: "additional_tools", role: "developer", tools: [look] }] }, (t) => t],
  };
  for (const [what, [more, said]] of Object.entries(offers))
    for (const stream of [false, true])
      holds(`heal responses${stream ? " stream" : ""}: a call of a function ${what} goes out byte for byte`, {
        async run(pair) {
          let sent;
          pair.own.answer = (q, res) => {
            if (stream) sse(res, (sent = said(w.opening() + w.piece("so") + w.called(0, "call_1", "look", '{"place":"Oslo"}') + w.closingCalls()))).end();
            else w.answer({ writeHead: (...head) => (res.writeHead(...head), { end: (text) => res.end((sent = said(text))) }) }, "so", [["call_1", "look", '{"place":"Oslo"}']]);
          };
          const r = await question(pair, d, { model: d.own, stream, more });
          assert.equal(r.text, sent);
          assert.equal(r.outcome, "ok");
          assert.equal(pair.own.seen.length, 1);
        },
      });

  holds("heal responses stream: a call within a namespace keeps it behind a seam", {
    async run(pair) {
      const text = "the quick brown fox jumps over the lazy dog and runs", args = '{"place":"Oslo"}';
      pair.own.answer = (q, res, socket) => {
        if (q.n === 1) return sse(res, w.opening(), w.piece(text.slice(0, 30))), setTimeout(() => socket.destroy(), 30);
        sse(res, within(w.opening() + w.piece(text.slice(10)) + w.called(0, "call_1", "look", args) + w.closingCalls())).end();
      };
      const r = await question(pair, d, { model: d.own, stream: true, more: { tools: [other, space] } });
      assert.equal(r.said, text, r.text);
      const items = r.events.filter((e) => e.json?.type === "response.output_item.done").map((e) => e.json.item);
      assert.deepEqual(items.filter((i) => i.type === "function_call").map((i) => [i.namespace, i.name, i.arguments]), [["geo", "look", args]], r.text);
      assert.ok(d.ended(r.events) && !d.failed(r.events), r.text);
    },
  });
}
