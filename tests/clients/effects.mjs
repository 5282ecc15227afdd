// A provider that does something outside for an answer, and counts what it did: whatever breaks, nothing is done twice, and
// the client learns that the answer is not whole.
import assert from "node:assert/strict";
import { ask, pathOf, question } from "./net.mjs";
import { holds } from "./wire.mjs";
import { body, data, dialects, json, named, streams, target, wires } from "./wires.mjs";

const short = (o) => ({ status: o.status ?? "completed", ...o });

// What a hosted tool looks like in each dialect: how it is declared, and the events of its work between the words before
// and behind it.
const responses = (tool, item, extra = []) => ({
  more: { tools: [tool] },
  events() {
    let n = 0;
    const ev = (type, o) => named({ type, sequence_number: n++, ...o });
    const response = (status, output = []) => ({ id: "resp_1", object: "response", created_at: 1, status, model: "m-own", error: null, incomplete_details: null, output, usage: null });
    const message = (text) => ({ id: "msg_1", type: "message", status: "completed", role: "assistant", content: [{ type: "output_text", text, annotations: [] }] });
    const at = { item_id: "msg_1", output_index: 1, content_index: 0 };
    return [
      ev("response.created", { response: response("in_progress") }),
      ev("response.in_progress", { response: response("in_progress") }),
      { effect: ev("response.output_item.added", { output_index: 0, item: { id: "ht_1", ...item, status: "in_progress" } }) },
      ...extra.map((type) => ev(type, { item_id: "ht_1", output_index: 0 })),
      ev("response.output_item.done", { output_index: 0, item: short({ id: "ht_1", ...item }) }),
      ev("response.output_item.added", { output_index: 1, item: { ...message(""), content: [], status: "in_progress" } }),
      ev("response.content_part.added", { ...at, part: { type: "output_text", text: "", annotations: [] } }),
      ev("response.output_text.delta", { ...at, delta: "seven " }),
      ev("response.output_text.delta", { ...at, delta: "eight" }),
      ev("response.output_text.done", { ...at, text: "seven eight" }),
      ev("response.output_item.done", { output_index: 1, item: message("seven eight") }),
      ev("response.completed", { response: response("completed", [short({ id: "ht_1", ...item }), message("seven eight")]) }),
    ];
  },
  whole: () => ({ id: "resp_1", object: "response", created_at: 1, status: "completed", model: "m-own", output: [short({ id: "ht_1", ...item }), { id: "msg_1", type: "message", status: "completed", role: "assistant", content: [{ type: "output_text", text: "seven eight", annotations: [] }] }] }),
});

const anthropic = (more, use, result) => ({
  more,
  events() {
    const block = (index, content_block) => named({ type: "content_block_start", index, content_block });
    const stop = (index) => named({ type: "content_block_stop", index });
    const text = (index, t) => named({ type: "content_block_delta", index, delta: { type: "text_delta", text: t } });
    return [
      named({ type: "message_start", message: { id: "msg_1", type: "message", role: "assistant", model: "c-own", content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } } }),
      named({ type: "ping" }),
      { effect: block(0, { id: "srvtoolu_1", input: {}, ...use }) },
      named({ type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: '{"a":1}' } }),
      stop(0),
      block(1, { tool_use_id: "srvtoolu_1", ...result }),
      stop(1),
      block(2, { type: "text", text: "" }),
      text(2, "seven "),
      text(2, "eight"),
      stop(2),
      named({ type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 2 } }),
      named({ type: "message_stop" }),
    ];
  },
  whole: () => ({ id: "msg_1", type: "message", role: "assistant", model: "c-own", content: [{ id: "srvtoolu_1", input: {}, ...use }, { tool_use_id: "srvtoolu_1", ...result }, { type: "text", text: "seven eight" }], stop_reason: "end_turn", stop_sequence: null, usage: { input_tokens: 1, output_tokens: 2 } }),
});

const gemini = (tools, ...parts) => ({
  more: { tools },
  events() {
    const ev = (list, more = {}) => data({ candidates: [{ content: { parts: list, role: "model" }, index: 0, ...more }], usageMetadata: { promptTokenCount: 1 }, modelVersion: "g-own", responseId: "r1" });
    return [data({ usageMetadata: { promptTokenCount: 1 }, modelVersion: "g-own", responseId: "r1" }), { effect: ev([parts[0]]) }, ...parts.slice(1).map((p) => ev([p])), ev([{ text: "seven " }]), ev([{ text: "eight" }]), ev([{ text: "" }], { finishReason: "STOP" })];
  },
  whole: () => ({ candidates: [{ content: { parts: [...parts, { text: "seven eight" }], role: "model" }, finishReason: "STOP", index: 0 }], usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2 }, modelVersion: "g-own", responseId: "r1" }),
});

const chat = (tool, delta) => ({
  more: { tools: [tool] },
  events() {
    const w = wires.openai;
    return [w.opening(), { effect: w.chunk(delta) }, w.piece("seven "), w.piece("eight"), w.chunk({}, "stop"), "data: [DONE]\n\n"];
  },
  whole: () => ({ id: "chatcmpl-1", object: "chat.completion", created: 1, model: "m-own", choices: [{ index: 0, message: { role: "assistant", content: "seven eight", ...delta }, finish_reason: "stop" }] }),
});

const mcp = { type: "mcp", server_label: "mail", server_url: "https://mail.example", require_approval: "never" };
const python = { type: "code_interpreter", container: { type: "auto" } };
const harmful = {
  responses: {
    mcp: responses(mcp, { type: "mcp_call", name: "send_mail", server_label: "mail", arguments: "{}", output: "sent" }, ["response.mcp_call.in_progress", "response.mcp_call_arguments.done", "response.mcp_call.completed"]),
    "code interpreter": responses(python, { type: "code_interpreter_call", code: "print(1)", container_id: "c1", outputs: null }, ["response.code_interpreter_call.in_progress", "response.code_interpreter_call.completed"]),
    image: responses({ type: "image_generation" }, { type: "image_generation_call", result: "aGk=" }, ["response.image_generation_call.generating"]),
    "a shell at the provider": responses({ type: "shell", environment: { type: "container_auto" } }, { type: "shell_call", call_id: "s1", action: { commands: ["make"] }, environment: { type: "container_reference", container_id: "c1" } }),
    "a tool that nobody knows": responses({ type: "frobnicate" }, { type: "frobnicate_call", result: "done" }),
  },
  anthropic: {
    mcp: anthropic({ mcp_servers: [{ type: "url", url: "https://mail.example", name: "mail" }], tools: [{ type: "mcp_toolset", mcp_server_name: "mail" }] }, { type: "mcp_tool_use", name: "send_mail", server_name: "mail" }, { type: "mcp_tool_result", is_error: false, content: [{ type: "text", text: "sent" }] }),
    "code execution": anthropic({ tools: [{ type: "code_execution_20250825", name: "code_execution" }] }, { type: "server_tool_use", name: "bash_code_execution" }, { type: "bash_code_execution_tool_result", content: { type: "bash_code_execution_result", stdout: "", stderr: "", return_code: 0, content: [] } }),
    "a tool that nobody knows": anthropic({ tools: [{ type: "frobnicate_20300101", name: "frobnicate" }] }, { type: "server_tool_use", name: "frobnicate" }, { type: "frobnicate_tool_result", content: [] }),
  },
  gemini: {
    "code execution": gemini([{ codeExecution: {} }], { executableCode: { language: "PYTHON", code: "print(1)" } }, { codeExecutionResult: { outcome: "OUTCOME_OK", output: "1\n" } }),
    "a tool that nobody knows": gemini({ frobnicate: {} }, { frobnicated: { id: "f1" } }, { frobnicated: { output: "done" } }),
  },
  openai: {
    mcp: chat(mcp, { executed_tools: [{ index: 0, type: "mcp", arguments: "{}", output: "sent" }] }),
    "a call at the server": chat(python, { tool_calls: [{ index: 0, id: "call_1", type: "code_interpreter_call", function: { name: "python", arguments: "{}" } }] }),
  },
};
const harmless = {
  responses: {
    "web search": responses({ type: "web_search" }, { type: "web_search_call", action: { type: "search", query: "q" } }, ["response.web_search_call.searching"]),
    "file search": responses({ type: "file_search", vector_store_ids: [] }, { type: "file_search_call", queries: ["q"], results: null }),
  },
  anthropic: {
    "web search": anthropic({ tools: [{ type: "web_search_20250305", name: "web_search" }] }, { type: "server_tool_use", name: "web_search" }, { type: "web_search_tool_result", content: [] }),
  },
  gemini: {
    "google search": gemini([{ googleSearch: {} }], { text: "well, " }),
    "content that is cached there": { ...gemini(undefined, { text: "well, " }), more: { cachedContent: "cachedContents/c1" } },
  },
  openai: {},
};

const text = (e) => e.effect ?? e;
const quick = (c) => Object.assign(c.timeouts, { idle: "5s" });

// The provider sends the first `cut` events and breaks off in one of the ways; what comes later on the same request is
// whole. It does its work when it says so; where it breaks before that, nobody can know, so it did.
const ways = { "the socket dies": (res, socket) => socket.destroy(), "it ends too early": (res) => res.end() };
function breaks(pair, tool, cut, way) {
  const done = { effects: 0, calls: 0 };
  pair.own.answer = (q, res, socket) => {
    const list = tool.events(), first = !done.calls++;
    done.effects++;
    if (!streams(q)) {
      if (!first) return json(res, 200, tool.whole());
      const all = JSON.stringify(tool.whole());
      res.writeHead(200, { "content-type": "application/json", "content-length": all.length });
      res.write(all.slice(0, Math.floor((all.length * cut) / list.length)), () => setImmediate(() => socket.destroy()));
      return;
    }
    if (cut < 0 && first) return socket.destroy();
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.flushHeaders();
    const sent = first ? list.slice(0, cut) : list;
    for (const e of sent) res.write(text(e));
    if (!first || cut === list.length) res.end();
    else setTimeout(() => ways[way](res, socket), 2);
  };
  return done;
}

const told = (r) => /^: daruma outcome=degraded /m.test(r.text) || ["failed", "explained"].includes(r.outcome) || /^: daruma outcome=(failed|explained) /m.test(r.text);

// Every way to break the work of a tool that has effects: one call, one effect, and an end that says so.
async function once(pair, name, tool, cut, way, stream = true) {
  const d = dialects[name], all = tool.events(), where = `${name}, ${stream ? `event ${cut} of ${all.length}, ${way}` : `whole, ${cut} of ${all.length}`}`;
  const done = breaks(pair, tool, cut, way);
  const r = await question(pair, d, { model: d.own, stream, more: tool.more });
  assert.equal(done.effects, 1, `it was done ${done.effects} times: ${where}\n${r.text}`);
  if (!stream) {
    assert.ok(r.status >= 400 || r.outcome === "explained", `${where}\n${r.status} ${r.text}`);
    if (r.status >= 400) assert.equal(r.headers["x-should-retry"], "false", where);
    return;
  }
  const last = name === "openai" || name === "anthropic" ? all.length - 1 : all.length; // its stop reason is its end, what follows only a marker
  if (cut >= last) {
    assert.ok(d.ended(r.events) && !d.failed(r.events), `${where}\n${r.text}`);
    return;
  }
  assert.ok(told(r), `${where}: nobody is told\n${r.text}`);
  if (!/^.*outcome=explained/m.test(r.text) && r.outcome !== "explained") assert.ok(d.failed(r.events ?? []) || r.status >= 400, `${where}: no error\n${r.text}`);
  const at = all.findIndex((e) => e.effect);
  if (cut > at) for (const e of all.slice(0, cut)) assert.ok(r.text.includes(text(e).trim()) || name === "openai", `${where}: what came was not kept:\n${text(e)}\n${r.text}`);
}

for (const name of Object.keys(harmful)) {
  for (const [what, tool] of Object.entries(harmful[name]))
    holds(`effects ${name}: ${what} is done once, wherever its stream breaks`, {
      config: quick,
      limit: 60000,
      async run(pair) {
        for (const way of Object.keys(ways)) for (let cut = 0; cut <= tool.events().length; cut++) await once(pair, name, tool, cut, way);
        await once(pair, name, tool, -1, "before its head");
      },
    });
  const tool = Object.values(harmful[name])[0];
  holds(`effects ${name}: a whole answer with a tool that has effects is asked for once`, {
    async run(pair) {
      for (let cut = 0; cut < tool.events().length; cut++) await once(pair, name, tool, cut, "", false);
    },
  });
  holds(`effects ${name}: what a provider refuses was not done, and goes to another key`, {
    async run(pair) {
      const d = dialects[name];
      for (const status of [429, 401]) {
        let calls = 0;
        pair.own.answer = (q, res) => (calls++ ? json(res, 200, tool.whole()) : json(res, status, name === "anthropic" ? { type: "error", error: { type: "rate_limit_error", message: "slow down" } } : { error: { code: status, message: "slow down", status: "RESOURCE_EXHAUSTED", type: "requests" } }));
        const r = await question(pair, d, { model: d.own, more: tool.more });
        assert.deepEqual([r.status, r.outcome, calls], [200, "recovered", 2], r.text);
      }
    },
  });
  holds(`effects ${name}: a gateway that lost sight of the provider may have let it work`, {
    async run(pair) {
      const d = dialects[name];
      for (const status of [502, 504, 500]) {
        let calls = 0;
        pair.own.answer = (q, res) => (calls++, res.writeHead(status, { "content-type": "text/html" }).end("<html>Bad Gateway</html>"));
        const r = await question(pair, d, { model: d.own, more: tool.more });
        assert.equal(calls, 1, r.text);
        assert.notEqual(r.outcome, "recovered");
      }
    },
  });
  for (const [what, seeking] of Object.entries(harmless[name]))
    holds(`effects ${name}: ${what} only reads, and a broken answer is recovered`, {
      config: quick,
      async run(pair) {
        const d = dialects[name];
        for (let cut = -1; cut < 2; cut++) {
          const done = breaks(pair, seeking, cut, "the socket dies");
          const r = await question(pair, d, { model: d.own, stream: true, more: seeking.more });
          assert.ok(done.calls > 1 && d.ended(r.events) && !d.failed(r.events), `event ${cut}, ${done.calls} calls\n${r.text}`);
        }
      },
    });
}

// A request that names cached content reads it. Making it is another request: each one costs storage for as long as it lives.
holds("effects gemini: cached content is made once, changed once and deleted once", {
  config: (c) => (quick(c), (c.providers = c.providers.filter((p) => p.name === "own-gemini")), (c.models = [])),
  async run(pair) {
    const d = dialects.gemini, cache = { model: "models/g-own", contents: [{ role: "user", parts: [{ text: "long" }] }] };
    for (const [method, path] of [["POST", "/v1beta/cachedContents"], ["PATCH", "/v1beta/cachedContents/c1"], ["DELETE", "/v1beta/cachedContents/c1"]])
      for (const dies of [
        (res, socket) => socket.destroy(),
        (res, socket) => (res.writeHead(200, { "content-type": "application/json", "content-length": 500 }), res.write("{"), setTimeout(() => socket.destroy(), 5)),
        (res) => res.writeHead(504, { "content-type": "text/html" }).end("<html>Gateway Timeout</html>"),
      ]) {
        let calls = 0;
        pair.own.answer = (q, res, socket) => (calls++, dies(res, socket));
        const r = await ask(pair, path, { method, headers: { ...d.headers, "content-type": "application/json" }, body: JSON.stringify(cache) });
        assert.equal(calls, 1, `${method} ${path}: ${r.text}`);
      }
  },
});

holds("effects responses: what runs in the background is never posted twice", {
  async run(pair) {
    const d = dialects.responses;
    const posts = async (answer) => {
      let calls = 0;
      pair.own.answer = (q, res, socket) => (calls++, answer(res, socket));
      const r = await question(pair, d, { model: d.own, more: { background: true } });
      return [calls, r];
    };
    const resp = (status, error = null) => JSON.stringify({ id: "resp_1", object: "response", created_at: 1, status, model: "m-own", error, output: [] });
    for (const answer of [
      (res, socket) => socket.destroy(),
      (res, socket) => (res.writeHead(200, { "content-type": "application/json", "content-length": 500 }), res.write("{"), setTimeout(() => socket.destroy(), 5)),
      (res) => json(res, 502, {}),
      (res) => res.writeHead(200, { "content-type": "application/json" }).end(resp("failed", { code: "server_error", message: "The server had an error" })),
      (res) => res.writeHead(200, { "content-type": "application/json" }).end(resp("completed")),
    ]) {
      const [calls, r] = await posts(answer);
      assert.equal(calls, 1, r.text);
    }
    const [calls, r] = await posts((res) => res.writeHead(200, { "content-type": "application/json" }).end(resp("queued")));
    assert.deepEqual([calls, r.status, r.outcome], [1, 200, "ok"]);
  },
});

// What is said in a `conversation` at OpenAI, and what is answered, is added to it when the answer is complete: also where nobody
// hears it. What failed adds nothing.
holds("effects responses: what is said in a conversation is added to it once", {
  config: quick,
  async run(pair) {
    const d = dialects.responses, w = wires.responses, plain = { type: "function", name: "look", parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } };
    const whole = (output) => ({ id: "resp_1", object: "response", created_at: 1, status: "completed", model: "m-own", error: null, output });
    const said = { id: "msg_1", type: "message", status: "completed", role: "assistant", content: [{ type: "output_text", text: "seven eight", annotations: [] }] };
    const bad = { id: "fc_1", type: "function_call", status: "completed", call_id: "call_1", name: "no_such_tool", arguments: "{}" };
    for (const conversation of ["conv_1", { id: "conv_1" }])
      for (const [what, stream, answer, most] of [
        ["a socket dies", false, (q, res, socket) => socket.destroy(), 1],
        ["an answer is cut", false, (q, res, socket) => (res.writeHead(200, { "content-type": "application/json", "content-length": 500 }), res.write("{"), setTimeout(() => socket.destroy(), 5)), 1],
        ["a stream is cut", true, (q, res, socket) => (res.writeHead(200, { "content-type": "text/event-stream" }), res.write(w.opening() + w.piece("seven ")), setTimeout(() => socket.destroy(), 5)), 1],
        ["somebody between lost sight", false, (q, res) => res.writeHead(504, { "content-type": "text/html" }).end("<html>Gateway Timeout</html>"), 1],
        ["it calls what there is not", false, (q, res) => json(res, 200, whole([bad])), 1],
        ["it says nothing", false, (q, res) => json(res, 200, whole([])), 1],
        ["it was refused first", false, (q, res, socket, n) => (n === 1 ? json(res, 429, { error: { message: "Rate limit reached", code: "rate_limit_exceeded" } }) : json(res, 200, whole([said]))), 2],
        ["it failed first", true, (q, res, socket, n) => (res.writeHead(200, { "content-type": "text/event-stream" }), res.end(n === 1 ? w.opening() + w.broken() : w.opening() + w.piece("seven eight") + w.closing())), 2],
      ]) {
        let calls = 0;
        await pair.again(quick);
        pair.own.answer = (q, res, socket) => answer(q, res, socket, ++calls);
        const r = await question(pair, d, { model: d.own, stream, more: { conversation, tools: [plain] } });
        assert.equal(calls, most, `${what}: ${r.text}`);
      }
  },
});

// Some models run code where the request names no tool.
for (const client of ["openai", "anthropic"])
  holds(`effects ${client}: a model that runs tools unasked is not asked twice`, {
    config: (c) => (quick(c), c.models.push({ name: "compound", targets: ["own/groq/compound"] }, { name: "other", targets: ["own/groq/other"] })),
    async run(pair) {
      const d = dialects[client], w = wires.openai;
      const count = async (model, stream, answer) => {
        let calls = 0;
        pair.own.answer = (q, res, socket) => answer(q, res, socket, ++calls);
        const r = await question(pair, d, { model, stream });
        return [calls, r];
      };
      const dies = (q, res, socket) => socket.destroy();
      const cut = (q, res, socket) => (res.writeHead(200, { "content-type": "text/event-stream" }), res.write(w.opening() + w.piece("seven ")), setTimeout(() => socket.destroy(), 5));
      for (const [stream, answer] of [[false, dies], [true, dies], [true, cut]]) {
        const [calls, r] = await count("compound", stream, answer);
        assert.equal(calls, 1, r.text);
        const [others] = await count("other", stream, answer);
        assert.ok(others > 1, `${others} calls of a model that acts on nothing`);
      }
    },
  });

holds("effects: a silent call that may be at work is not doubled by a second one", {
  config(c) {
    Object.assign(c.timeouts, { first_byte: "30s", idle: "30s" });
    c.models.push({ name: "two", targets: ["own-responses/m-one", "own-responses/m-two"] });
  },
  limit: 30000,
  async run(pair) {
    const d = dialects.responses, tool = harmful.responses.mcp;
    for (const [more, most] of [[tool.more, 1], [{ background: true }, 1]]) {
      let calls = 0;
      // Its usual time is known: a call that is silent for longer is hedged.
      for (let i = 0; i < 6; i++) {
        pair.own.answer = (q, res) => json(res, 200, tool.whole());
        await question(pair, d, { model: "two", text: `warm ${i}` });
      }
      pair.own.answer = (q, res) => (calls++, setTimeout(() => json(res, 200, tool.whole()), 6000));
      const r = await question(pair, d, { model: "two", more });
      assert.deepEqual([r.status, calls <= most], [200, true], `${calls} calls\n${r.text}`);
    }
  },
});

holds("effects: a call to a client's tool that is broken does not have the hosted one run again", {
  async run(pair) {
    for (const stream of [false, true]) {
      const d = dialects.responses, w = wires.responses, tool = harmful.responses.mcp;
      let calls = 0;
      const item = short({ id: "ht_1", type: "mcp_call", name: "send_mail", server_label: "mail", arguments: "{}", output: "sent" });
      const call = { id: "fc_1", type: "function_call", status: "completed", call_id: "call_1", name: "look", arguments: '{"city": 3, "days": "x' };
      pair.own.answer = (q, res) => {
        calls++;
        const whole = { ...tool.whole(), output: [item, call] };
        if (!streams(q)) return json(res, 200, whole);
        let n = 0;
        const ev = (type, o) => named({ type, sequence_number: n++, ...o });
        res.writeHead(200, { "content-type": "text/event-stream" });
        res.end(ev("response.created", { response: { ...whole, status: "in_progress", output: [] } }) + ev("response.output_item.added", { output_index: 0, item: { ...item, status: "in_progress" } }) + ev("response.output_item.done", { output_index: 0, item }) + ev("response.output_item.added", { output_index: 1, item: { ...call, arguments: "" } }) + ev("response.function_call_arguments.delta", { item_id: "fc_1", output_index: 1, delta: call.arguments }) + ev("response.output_item.done", { output_index: 1, item: call }) + ev("response.completed", { response: whole }));
      };
      const schema = { type: "object", properties: { city: { type: "string" }, days: { type: "integer" } }, required: ["city"] };
      const r = await question(pair, d, { model: d.own, stream, more: { tools: [mcp, ...w.tools(schema)] } });
      assert.equal(calls, 1, r.text);
      assert.ok(r.text.includes("sent") && r.text.includes("call_1"), r.text);
    }
  },
});

// ---- many at once ----

// A row of numbers that is the same each time.
const dice = (seed) => () => ((seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0), seed / 2 ** 32);
const SOAK = Number(process.env.EFFECTS ?? 150), AT_ONCE = 24;

// How a call ends: what the provider sends of its answer, and what becomes of the connection.
const ends = {
  destroyed: (res, socket) => socket.destroy(),
  reset: (res, socket) => socket.resetAndDestroy(),
  ended: (res) => res.end(),
  "an error event": (res, socket, name) => res.end(name === "anthropic" ? named({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }) : name === "responses" ? named({ type: "error", code: "server_error", message: "The server had an error", sequence_number: 99 }) : data({ error: { code: 503, message: "The server had an error", type: "server_error", status: "UNAVAILABLE" } })),
  "half an event": (res, socket) => res.write("data: {\"type\":", () => socket.destroy()),
};

holds(`effects: of ${SOAK} broken answers with hosted tools none is done twice, and each says that it is not whole`, {
  config(c) {
    Object.assign(c.timeouts, { first_byte: "20s", idle: "20s", total: "60s" });
    // Two accounts and two models everywhere: whoever repeats has where to go.
    for (const [name, own] of Object.entries(target)) c.models.push({ name: `soak-${name}`, targets: [own, own.replace(/[^/]*$/, "other")] });
  },
  limit: 90000 + SOAK * 100, // places that only fail are waited for
  async run(pair) {
    const roll = dice(7), of = (list) => list[Math.floor(roll() * list.length)], done = new Map(), plans = new Map(), sums = { whole: 0, degraded: 0, failed: 0, explained: 0, calls: 0, refused: 0 };
    pair.own.answer = (q, res, socket) => {
      const id = /#(\d+)#/.exec(q.body)[1], plan = plans.get(id), list = plan.tool.events();
      sums.calls++;
      pair.own.seen.length = 0;
      if (plan.refuse > 0 && plan.refuse--) { // which is no work, and may be asked again elsewhere
        sums.refused++;
        return json(res, 429, { error: { code: 429, message: "slow down", type: "requests", status: "RESOURCE_EXHAUSTED" } });
      }
      // What it announces it does, and where it breaks nobody knows; only its own error in front of any item says that it did nothing.
      const at = list.findIndex((e) => e.effect), nothing = plan.way === "an error event" && streams(q) && plan.cut >= 0 && plan.cut <= at && plan.name !== "openai";
      if (!nothing) done.set(id, (done.get(id) ?? 0) + 1);
      if (plan.cut < 0) return plan.way === "reset" ? socket.resetAndDestroy() : socket.destroy();
      if (!streams(q)) {
        const all = JSON.stringify(plan.tool.whole());
        res.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(all) });
        return res.write(all.slice(0, Math.floor((all.length * plan.cut) / (list.length + 1))), () => socket.destroy());
      }
      res.writeHead(200, { "content-type": "text/event-stream" });
      res.flushHeaders();
      for (const e of list.slice(0, plan.cut)) res.write(text(e));
      setTimeout(() => ends[plan.way](res, socket, plan.name), roll() * 4);
    };
    let next = 0;
    const one = async () => {
      for (let n; (n = next++) < SOAK; ) {
        const name = of(Object.keys(harmful)), tool = of(Object.values(harmful[name])), stream = roll() < 0.9, size = tool.events().length;
        const plan = { name, tool, way: of(Object.keys(ends)), cut: Math.floor(roll() * (size + 1)) - 1, refuse: roll() < 0.1 ? 1 : 0 };
        plans.set(String(n), plan);
        const d = dialects[name], r = await question(pair, d, { model: `soak-${name}`, stream, more: tool.more, text: `say #${n}#` });
        const where = `${n}: ${name}, ${stream ? "stream" : "whole"}, event ${plan.cut} of ${size}, ${plan.way}\n${r.status} ${r.text}`;
        assert.ok((done.get(String(n)) ?? 0) <= 1, `done ${done.get(String(n))} times: ${where}`);
        const explained = /outcome=explained|\[daruma\] The model could not answer/.test(r.text) || r.outcome === "explained"; // behind a heartbeat Gemini's clients have it from the text alone
        const ended = r.events && d.ended(r.events) && !d.failed(r.events) && !explained;
        const whole = ["openai", "anthropic"].includes(name) ? size - 1 : size;
        if (ended) assert.ok(plan.cut >= whole, `a cut answer is whole: ${where}`);
        else assert.ok(explained || told(r) || r.status >= 400, `nobody is told: ${where}`);
        sums[ended ? "whole" : /outcome=degraded/.test(r.text) ? "degraded" : explained ? "explained" : "failed"]++;
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
    if (process.env.EFFECTS) console.log(`# ${SOAK} asked, ${JSON.stringify(sums)}, most effects of one: ${Math.max(...done.values())}`);
    assert.equal(Math.max(...done.values()), 1, "something came when its client had its end already");
    assert.ok(sums.degraded > SOAK / 4, JSON.stringify(sums));
  },
});

// ---- connections that are used again ----

// The provider has answered once, so that its connection is in the pool; then it takes a request and dies.
async function dies(pair, d, w, ms, more = {}) {
  const sockets = new Set();
  pair.own.answer = (q, res, socket) => (sockets.add(socket), w.answer(res, "one"));
  assert.equal((await question(pair, d, { model: d.own, text: "warm" })).said, "one");
  const from = pair.own.seen.length, events = pair.events().length;
  let calls = 0, reused = false;
  pair.own.answer = (q, res, socket) => {
    if (calls++) return w.answer(res, "seven eight");
    reused = sockets.has(socket);
    ms ? setTimeout(() => socket.destroy(), ms) : socket.destroy();
  };
  const r = await question(pair, d, { model: d.own, more });
  return { r, reused, calls, got: pair.own.seen.length - from, events: pair.events().slice(events) };
}

for (const ms of [0, 400])
  holds(`effects: a request that a provider took from a pooled connection ${ms ? "long ago" : "just now"} is counted when it is sent again`, {
    config: (c) => (quick(c), (c.recovery.hedge = "off")),
    async run(pair) {
      const d = dialects.openai, { r, reused, calls, got, events } = await dies(pair, d, wires.openai, ms);
      assert.ok(reused, "the connection was not used again");
      assert.deepEqual([r.status, r.said, r.outcome, calls, got], [200, "seven eight", "recovered", 2, 2], r.text);
      assert.equal(r.headers["x-daruma-attempts"], "2");
      assert.equal(r.headers["x-daruma-remedies"], "retry_fresh");
      for (const name of ["llm_request_failed", "llm_retry_attempt", "error_recovery_success"]) assert.equal(events.filter((e) => e.event === name).length, 1, JSON.stringify(events, null, 1));
      assert.equal(events.find((e) => e.event === "llm_request_failed").kind, "network");
      const s = await pair.status();
      assert.deepEqual([s.calls.all, s.remedies.retry_fresh], [3, 1], JSON.stringify(s, null, 1));
    },
  });

holds("effects: what must not be done twice does not go over a connection that may be dead", {
  config: quick,
  async run(pair) {
    for (const ms of [0, 400]) {
      const { r, reused, calls } = await dies(pair, dialects.responses, wires.responses, ms, harmful.responses.mcp.more);
      assert.deepEqual([reused, calls], [false, 1], r.text);
    }
  },
});

// ---- several answers to one request ----

// The events of `n` answers that come mixed: each says two pieces and then why it ends.
const several = {
  openai: {
    more: (n) => ({ n }),
    events(n) {
      const chunk = (index, delta, finish_reason = null) => data({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m-own", choices: [{ index, delta, finish_reason }] });
      const each = [...Array(n).keys()];
      return [...each.map((i) => chunk(i, { role: "assistant", content: "" })), ...each.flatMap((i) => [chunk(i, { content: `seven${i} ` })]), ...each.flatMap((i) => [chunk(i, { content: `eight${i}` }), ...(i % 2 ? [] : [chunk(i, {}, "stop")])]), ...each.filter((i) => i % 2).map((i) => chunk(i, {}, "stop")), "data: [DONE]\n\n"];
    },
    over: (list) => new Set(list.flatMap((e) => (e.json?.choices ?? []).filter((c) => c.finish_reason).map((c) => c.index))).size,
  },
  gemini: {
    more: (n) => ({ generationConfig: { candidateCount: n } }),
    events(n) {
      const ev = (index, text, finishReason) => data({ candidates: [{ content: { parts: [{ text }], role: "model" }, ...(index && { index }), ...(finishReason && { finishReason }) }], modelVersion: "g-own", responseId: "r1" });
      const each = [...Array(n).keys()];
      return [...each.map((i) => ev(i, `seven${i} `)), ...each.flatMap((i) => [ev(i, `eight${i}`, i % 2 ? undefined : "STOP")]), ...each.filter((i) => i % 2).map((i) => ev(i, "!", "STOP"))];
    },
    over: (list) => new Set(list.flatMap((e) => (e.json?.candidates ?? []).filter((c) => c.finishReason).map((c) => c.index ?? 0))).size,
  },
};

for (const [name, s] of Object.entries(several))
  for (const tools of [false, true])
    holds(`effects ${name}: none of 1 to 8 answers that were cut is ended as whole${tools ? ", with tools" : ""}`, {
      config: quick,
      limit: 60000,
      async run(pair) {
        const d = dialects[name];
        for (let n = 1; n <= 8; n++)
          for (const [way, end] of Object.entries({ ...ways, ...(name === "openai" && { "somebody between ends it": (res) => res.end("data: [DONE]\n\n") }) }))
            for (let cut = 0, all = s.events(n); cut <= all.length; cut++) {
              let calls = 0;
              pair.own.answer = (q, res, socket) => {
                const first = !calls++;
                res.writeHead(200, { "content-type": "text/event-stream" });
                for (const e of first ? all.slice(0, cut) : s.events(n)) res.write(e);
                if (!first || cut === all.length) res.end();
                else setTimeout(() => end(res, socket), 1);
              };
              const r = await question(pair, d, { model: d.own, stream: true, more: { ...s.more(n), ...(tools && { tools: d.tools }) } });
              const where = `n ${n}, event ${cut} of ${all.length}, ${way}, ${calls} calls\n${r.text}`;
              const ended = d.ended(r.events) && !d.failed(r.events);
              assert.ok(ended !== (d.failed(r.events) || told(r)), `it ends in the air: ${where}`);
              const open = n > 1 && /some/.test(way) && cut <= all.length && s.over(r.events) === 0; // nobody says how any ends, but somebody that all have
              if (ended && !open && !(n === 1 && /some/.test(way))) assert.equal(s.over(r.events), n, `a cut answer is ended as whole: ${where}`);
              if (n > 1 && calls > 1) for (let i = 0; i < n; i++) assert.equal(r.text.split(`seven${i} `).length, 2, `joined: ${where}`);
            }
      },
    });

for (const to of ["anthropic", "gemini", "responses"])
  holds(`effects openai: what asks for several and goes to ${to} gets one whole answer`, {
    config(c) {
      quick(c);
      c.models.push({ name: "moved", targets: [target[to]] });
    },
    limit: 60000,
    async run(pair) {
      const d = dialects.openai;
      for (let n = 2; n <= 4; n++)
        for (let cut = 0; cut <= 3; cut++) {
          let calls = 0;
          pair.own.answer = (q, res, socket) => {
            const w = to === "responses" ? wires.responses : wires[to], first = !calls++, all = [w.opening(), w.piece("seven "), w.piece("eight"), w.closing()];
            res.writeHead(200, { "content-type": "text/event-stream" });
            for (const e of first ? all.slice(0, cut) : all) res.write(e);
            if (first) setTimeout(() => socket.destroy(), 1);
            else res.end();
          };
          const r = await question(pair, d, { model: "moved", stream: true, more: { n } });
          assert.ok(d.ended(r.events) !== d.failed(r.events), `cut at ${cut}\n${r.text}`);
          if (d.ended(r.events)) assert.equal(r.said, "seven eight", r.text);
        }
    },
  });

// ---- many calls in one answer ----

const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
// Streams that are written anew: what the provider answers first, and then.
const rewritten = {
  "asked again": (w, n) => [[w.opening(), w.piece("well, "), w.called(0, "call_x", "look", '{"city": '), w.closingCalls()], n],
  "gone on with": (w, n) => [[w.opening(), w.piece("The quick brown fox jumps over "), null], n],
  "mended in place": (w, n) => [null, n, '{"city":"a",}'],
};
// Google's arguments are objects, which are not broken.
for (const [from, to] of Object.keys(wires).flatMap((a) => Object.keys(wires).map((b) => [a, b])).filter(([a, b]) => a !== "responses" || b !== "openai")) // which is given as it is
  for (const [what, plan] of Object.entries(from === "gemini" && to === from ? { "gone on with": rewritten["gone on with"] } : from === to ? rewritten : { converted: (w, n) => [null, n] }))
    holds(`effects ${from}${from === to ? "" : ` to ${to}`}: of many calls in a stream that is ${what} none is lost without a word`, {
      config(c) {
        quick(c);
        c.models.push({ name: "many", targets: [target[to]] });
      },
      async run(pair) {
        const d = dialects[from], w = wires[from], theirs = wires[to];
        for (const n of [63, 64, 65, 130, 300]) {
          const [first, many, args = '{"city":"a"}'] = plan(theirs, n);
          let calls = 0;
          pair.own.answer = (q, res, socket) => {
            if (first && !calls++) {
              res.writeHead(200, { "content-type": "text/event-stream" });
              for (const e of first) if (e) res.write(e);
              return first.includes(null) ? setTimeout(() => socket.destroy(), 2) : res.end();
            }
            res.writeHead(200, { "content-type": "text/event-stream" });
            res.end(theirs.opening() + (what === "gone on with" ? theirs.piece("jumps over the lazy dog") : "") + [...Array(many).keys()].map((i) => theirs.called(i, `call_${i}`, "look", i ? '{"city":"a"}' : args)).join("") + theirs.closingCalls());
          };
          const r = await question(pair, d, { model: "many", stream: true, more: { tools: w.tools(schema) } });
          if (d.failed(r.events)) continue; // told
          assert.ok(r.outcome !== "explained" && d.ended(r.events), r.text.slice(-500));
          assert.equal(w.calls(r).filter(Boolean).length, n, `${n} calls: ${r.text.slice(-500)}`);
        }
      },
    });

// Gateways and some servers give ids of hundreds of bytes, which hold what they need to know.
holds("effects responses: a long id of an answer is the same from its begin to its end, also where the stream is mended", {
  config: quick,
  async run(pair) {
    const d = dialects.responses, w = wires.responses, id = `resp_${"a1b2c3".repeat(60)}`;
    pair.own.answer = (q, res) => {
      res.writeHead(200, { "content-type": "text/event-stream" });
      res.end((w.opening() + w.piece("well, ") + w.called(0, "call_1", "look", '{"city":"a",}') + w.closingCalls()).replaceAll('"resp_1"', JSON.stringify(id)).replaceAll('"msg_1"', JSON.stringify(`msg_${id}`)));
    };
    const r = await question(pair, d, { model: d.own, stream: true, more: { tools: w.tools(schema) } });
    assert.equal(r.outcome === "ok" && !/mend_answer/.test(r.text), false, "it was not mended");
    for (const e of r.events) if (e.json?.response) assert.equal(e.json.response.id, id, e.raw);
    for (const e of r.events) if (e.json?.item_id?.startsWith("msg_")) assert.equal(e.json.item_id, `msg_${id}`, e.raw);
  },
});
