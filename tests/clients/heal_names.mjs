// Tools whose names a provider does not take: with dots, slashes, long prefixes of a server. They are called otherwise there
// and by their own name here, in whole answers and in streams.
import assert from "node:assert/strict";
import OpenAI from "openai";
import { dialects, question } from "./net.mjs";
import { holds } from "./wire.mjs";
import { body, every, json, object, parsed, reply, wires } from "./wires.mjs";

const long = `mcp__a_server_with_a_name_that_is_long__and_a_tool_with_one_as_well_${"x".repeat(20)}`;
const wished = ["git.look", "git/look", "fs read", `${long}_one`, `${long}_two`, "plain"];
const toolsOf = {
  openai: (n) => ({ type: "function", function: { name: n, description: n, parameters: object } }),
  responses: (n) => ({ type: "function", name: n, description: n, parameters: object }),
  anthropic: (n) => ({ name: n, description: n, input_schema: object }),
};
const namesOf = { openai: (b) => b.tools.map((t) => t.function.name), responses: (b) => b.tools.map((t) => t.name), anthropic: (b) => b.tools.map((t) => t.name) };
const refusals = {
  openai: (res, i) => json(res, 400, { error: { message: `Invalid 'tools[${i}].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`, type: "invalid_request_error", param: `tools[${i}].function.name`, code: "invalid_value" } }),
  responses: (res, i) => json(res, 400, { error: { message: `Invalid 'tools[${i}].name': string too long. Expected a string with maximum length 64, but got a string with length 80 instead.`, type: "invalid_request_error", param: `tools[${i}].name`, code: "string_above_max_length" } }),
  anthropic: (res, i) => json(res, 400, { type: "error", error: { type: "invalid_request_error", message: `tools.${i}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'` } }),
};
const fits = (n) => /^[a-zA-Z0-9_-]{1,64}$/.test(n);
// Refuses the first name that it does not take, wherever it stands.
const strict = (name, q, res) => {
  const b = body(q), at = namesOf[name](b).findIndex((n) => !fits(n));
  if (at >= 0) return refusals[name](res, at), true;
  for (const m of JSON.stringify(b).matchAll(/"type":"(?:tool_use|function_call)"[^}]*?"name":"([^"]*)"/g)) assert.ok(fits(m[1]), m[0]);
  assert.equal(new Set(namesOf[name](b)).size, wished.length);
  return false;
};

for (const name of ["openai", "responses", "anthropic"])
  for (const stream of [false, true])
    holds(`${name}: tools are called as the provider takes it, and here as they are: ${stream ? "streams" : "plain"}`, {
      async run(pair) {
        const d = dialects[name], w = wires[name];
        const ask = (history) => question(pair, d, { model: d.own, stream, more: { tools: wished.map(toolsOf[name]), ...(history && { [w.key]: history }) } });
        pair.own.answer = (q, res) => {
          if (strict(name, q, res)) return;
          const names = namesOf[name](body(q));
          reply(w, q, res, "look", names.map((n, i) => [`call_${i}`, n, { city: n }]));
        };
        for (const calls of [2, 3]) {
          const r = await ask();
          assert.deepEqual(parsed(w.calls(r)).map(([, n]) => n), wished, r.text);
          assert.equal(r.said, "look", r.text);
          assert.equal(pair.own.seen.length, calls);
          assert.notEqual(r.headers["x-daruma-remedies"], "none");
        }
        // What is sent of the history and told of the choice has the same names.
        const called = name === "anthropic" ? { role: "assistant", content: [{ type: "tool_use", id: "call_9", name: wished[0], input: {} }] } : name === "openai" ? { role: "assistant", content: null, tool_calls: [{ id: "call_9", type: "function", function: { name: wished[0], arguments: "{}" } }] } : { type: "function_call", call_id: "call_9", name: wished[0], arguments: "{}" };
        const told = name === "anthropic" ? { role: "user", content: [{ type: "tool_result", tool_use_id: "call_9", content: "seen" }] } : name === "openai" ? { role: "tool", tool_call_id: "call_9", content: "seen" } : { type: "function_call_output", call_id: "call_9", output: "seen" };
        const r = await ask([{ role: "user", content: "go" }, called, told]);
        assert.deepEqual(parsed(w.calls(r)).map(([, n]) => n), wished, r.text);
        const sent = String(pair.own.seen.at(-1).body);
        assert.equal(sent.split(`"${namesOf[name](JSON.parse(sent))[0]}"`).length - 1, 2, sent);
        assert.deepEqual((await pair.status()).models_learned[0].messages, ["plain_tool_names"]);
      },
    });

holds("who asks for one tool by a name that is not taken gets that one", {
  async run(pair) {
    const d = dialects.openai, w = wires.openai;
    pair.own.answer = (q, res) => strict("openai", q, res) || w.answer(res, "", [["call_1", body(q).tool_choice.function.name, '{"city":"Oslo"}']]);
    const r = await question(pair, d, { model: d.own, more: { tools: wished.map(toolsOf.openai), tool_choice: { type: "function", function: { name: wished[3] } } } });
    assert.deepEqual(parsed(w.calls(r)).map(([, n]) => n), [wished[3]], r.text);
  },
});

for (const stream of [false, true])
  holds(`gemini: tools are called as the provider takes it, in the list of those that may be called as well: ${stream ? "stream" : "plain"}`, {
    async run(pair) {
      const d = dialects.gemini, w = wires.gemini, wanted = ["7days", "git/look", "plain"];
      const declared = wanted.map((name) => ({ name, description: name, parameters: { type: "object", properties: { city: { type: "string" } } } }));
      pair.own.answer = (q, res) => {
        const b = body(q), names = b.tools[0].functionDeclarations.map((f) => f.name), bad = names.findIndex((n) => !fits(n) || /^[^a-z_]/i.test(n));
        if (bad >= 0) return json(res, 400, { error: { code: 400, message: `* GenerateContentRequest.tools[0].function_declarations[${bad}].name: Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.) or dashes (-), with a maximum length of 64.`, status: "INVALID_ARGUMENT" } });
        const may = b.toolConfig.functionCallingConfig.allowedFunctionNames;
        if (may.some((n) => !names.includes(n))) return json(res, 400, { error: { code: 400, message: "Invalid value at allowed_function_names", status: "INVALID_ARGUMENT" } });
        reply(w, q, res, "", may.map((n, i) => [`call_${i}`, n, { city: n }]));
      };
      const r = await question(pair, d, { model: d.own, stream, more: { tools: [{ functionDeclarations: declared }], toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: wanted.slice(0, 2) } } } });
      assert.deepEqual(parsed(w.calls(r)).map(([, n]) => n), wanted.slice(0, 2), r.text);
      assert.equal(pair.own.seen.length, 2);
    },
  });

for (const stream of [false, true])
  holds(`the OpenAI SDK goes through a tool loop with names that the provider does not take: ${stream ? "streams" : "plain"}`, {
    async run(pair) {
      const c = new OpenAI({ apiKey: "sk-client", baseURL: `${pair.base}/v1`, maxRetries: 0 }), tools = wished.map(toolsOf.openai), messages = [{ role: "user", content: "go" }];
      pair.own.answer = (q, res) => {
        if (strict("openai", q, res)) return;
        const told = body(q).messages.find((m) => m.role === "tool");
        reply(wires.openai, q, res, told ? `it is ${told.content}` : "", told ? [] : [["call_9", namesOf.openai(body(q))[4], { city: "Oslo" }]]);
      };
      const turn = async () => (stream ? await c.chat.completions.stream({ model: "m-own", messages, tools }).finalChatCompletion() : await c.chat.completions.create({ model: "m-own", messages, tools })).choices[0].message;
      const first = await turn();
      assert.equal(first.tool_calls[0].function.name, wished[4]);
      messages.push(first, { role: "tool", tool_call_id: first.tool_calls[0].id, content: "cold" });
      assert.equal((await turn()).content, "it is cold");
      assert.equal(pair.own.seen.length, 3);
    },
  });

// What else is in a stream stays in it: events go out as they came, but for the names.
holds("beside calls of renamed tools all of a stream stays as it came", {
  async run(pair) {
    const d = dialects.responses, w = wires.responses;
    const patch = { id: "ctc_1", type: "custom_tool_call", status: "completed", call_id: "call_8", name: "apply_patch", input: "*** Begin" };
    pair.own.answer = (q, res) => {
      if (strict("responses", q, res)) return;
      const call = { id: "fc_1", type: "function_call", status: "completed", call_id: "call_9", name: namesOf.responses(body(q))[0], arguments: '{"city":"Oslo"}' };
      const say = (type, o) => `event: ${type}\ndata: ${JSON.stringify({ type, ...o })}\n\n`;
      const r = { id: "resp_1", object: "response", created_at: 1, status: "in_progress", model: "m-own", output: [], metadata: { mine: "1" } };
      const items = [call, patch].flatMap((item, i) => [say("response.output_item.added", { output_index: i, item }), say("response.output_item.done", { output_index: i, item })]);
      res.writeHead(200, { "content-type": "text/event-stream" }).end([say("response.created", { response: r }), ...items, say("response.completed", { response: { ...r, status: "completed", output: [call, patch], usage: { input_tokens: 5, output_tokens: 5, total_tokens: 10 } } })].join(""));
    };
    const r = await question(pair, d, { model: d.own, stream: true, more: { tools: wished.map(toolsOf.responses) } });
    const end = r.events.map((e) => e.json).find((e) => e?.type === "response.completed").response;
    assert.deepEqual(end.output.map((o) => [o.id, o.type, o.name]), [["fc_1", "function_call", wished[0]], ["ctc_1", "custom_tool_call", "apply_patch"]], r.text);
    assert.deepEqual(end.metadata, { mine: "1" });
    assert.equal(r.text.split("apply_patch").length - 1, 3);
  },
});

holds("of several answers each has the client's names", {
  async run(pair) {
    const d = dialects.openai;
    pair.own.answer = (q, res) => {
      if (strict("openai", q, res)) return;
      const message = (i) => ({ role: "assistant", content: null, tool_calls: [{ id: `call_${i}`, type: "function", function: { name: namesOf.openai(body(q))[i], arguments: '{"city":"Oslo"}' } }] });
      json(res, 200, { id: "c1", object: "chat.completion", created: 1, model: "m-own", choices: [0, 1].map((i) => ({ index: i, message: message(i), finish_reason: "tool_calls" })), usage: { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 } });
    };
    const r = await question(pair, d, { model: d.own, more: { n: 2, tools: wished.map(toolsOf.openai) } });
    assert.deepEqual(r.json.choices.map((c) => c.message.tool_calls[0].function.name), wished.slice(0, 2), r.text);
  },
});

holds("a list of the tools that may be called has the provider's names, and tools without parameters have them, too", {
  async run(pair) {
    const d = dialects.openai, w = wires.openai;
    pair.own.answer = (q, res) => strict("openai", q, res) || w.answer(res, "fine");
    const bare = { type: "function", function: { name: wished[0] } };
    const r = await question(pair, d, { model: d.own, more: { tools: [bare, ...wished.slice(1).map(toolsOf.openai)], tool_choice: { type: "allowed_tools", allowed_tools: { mode: "auto", tools: [{ type: "function", function: { name: wished[0] } }] } } } });
    assert.equal(r.said, "fine", r.text);
    const sent = body(pair.own.seen.at(-1));
    assert.equal(sent.tool_choice.allowed_tools.tools[0].function.name, sent.tools[0].function.name);
    assert.equal(pair.own.seen.length, 2);
  },
});

holds("names that are doubled are not renamed", {
  async run(pair) {
    const d = dialects.anthropic, w = wires.anthropic;
    pair.own.answer = (q, res) => (new Set(body(q).tools.map((t) => t.name)).size < body(q).tools.length ? json(res, 400, { type: "error", error: { type: "invalid_request_error", message: "tools: Tool names must be unique." } }) : w.answer(res, "fine"));
    const r = await question(pair, d, { model: d.own, more: { tools: ["a.b", "a.b"].map(toolsOf.anthropic) } });
    assert.equal(r.said, "fine", r.text);
    assert.deepEqual(body(pair.own.seen.at(-1)).tools.map((t) => t.name), ["a.b"]);
  },
});

// Python, PHP and .NET write letters of other languages as escapes where nobody tells them not to; models write them as they are.
const spelt = (o) => JSON.stringify(o).replace(/[^\x00-\x7f]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
const place = { type: "object", properties: { straße: { type: "string" }, 番地: { type: "integer" } }, required: ["straße", "番地"], additionalProperties: false };
every((name, d, w) => {
  for (const stream of [false, true])
    holds(`heal ${name}${stream ? " stream" : ""}: names of arguments that the request spells with escapes are the ones that the model calls`, {
      async run(pair) {
        const meant = { straße: "Königsallee", 番地: 7 };
        pair.own.answer = (q, res) => reply(w, q, res, "", [["call_1", "look", meant]]);
        const asked = spelt(d.body(d.own, "go", { ...(stream && { stream }), tools: w.tools(place) }));
        assert.match(asked, /stra\\u00dfe/);
        const r = await question(pair, d, { model: d.own, stream, body: asked });
        assert.deepEqual(parsed(w.calls(r)), [["call_1", "look", meant]], r.text);
        assert.equal(pair.own.seen.length, 1, "a call that was right was asked for again");
        assert.equal(r.outcome, "ok");
      },
    });
});
