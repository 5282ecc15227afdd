// An agent of sixty turns with large tool output against a window of 16,000 tokens. It sends its whole history each
// turn, as agents do, and would die at the eighth. The provider is the test's own: it counts tokens by a rule of its
// own, refuses what is longer in the words of its dialect, with numbers or without, insists on whole pairs, writes
// summaries when it is asked for some, and says what the agent does next.
import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { holds } from "./wire.mjs";

const TURNS = 60, WINDOW = 16000, OVERFLOWS_MAX = TURNS / 15;
const TASK = "Find out why the shipment of order ORD-10001 is late, and repair what is broken under /srv/shop. Keep the ids you meet.";
const MASKED = "[daruma left out ", SUMMARISED = "[Summary of the earlier conversation.";

/* ---- what the tools say ---- */

function dice(seed) {
  let s = seed * 2654435761 + 1;
  return (n) => ((s = (Math.imul(s ^ (s >>> 15), 0x2c1b3c6d) + 0x9e3779b9) | 0), ((s ^ (s >>> 13)) >>> 0) % n);
}
const hex = (r, n) => Array.from({ length: n }, () => r(16).toString(16)).join("");

// Five makes of identifiers that no other line of the output has: they stand out, and so a mask keeps them.
const makes = [
  (r) => `ORD-7${1000 + r(9000)}`,
  (r) => `${hex(r, 8)}-${hex(r, 4)}-4${hex(r, 3)}-a${hex(r, 3)}-${hex(r, 12)}`,
  (r) => `/srv/shop/releases/${hex(r, 6)}/carrier.conf`,
  (r) => hex(r, 40),
  (r) => `E4${100 + r(900)}: carrier rejected manifest ${10000 + r(90000)}`,
];
const lines = [
  (r, i) => `drwxr-xr-x  ${r(9)} app app  ${4096} Nov ${10 + r(18)} 12:${10 + r(49)} module ${i}`,
  (r, i) => `{"row": ${i}, "state": "${["open", "paid", "sent"][r(3)]}", "items": ${r(9)}, "note": "nothing to be seen here"},`,
  (r, i) => `12:${10 + r(49)}:${10 + r(49)} INFO worker ${r(8)} handled a job in ${r(900)} ms, queue ${r(40)}, step ${i}`,
  (r) => `the parcel waits at the depot, the carrier was told, and the customer has heard nothing so far (${r(99)})`,
];

// Where the policy says that an identifier stays: in the first 400 bytes of an output, in its last 200, and of what is
// between, what has a shape of its own and lines that tell of errors. One make at each of four places: 20.
export const PLACES = ["head", "tail", "middle", "middle"];
const planted = Array.from({ length: 20 }, (_, k) => {
  const make = k % makes.length, id = makes[make](dice(7000 + k));
  return { turn: 1 + 2 * k, place: PLACES[Math.floor(k / makes.length)], id, line: make === 4 ? `error ${id}` : `see ${id} for more` };
});

function toolOutput(turn, k, size) {
  const r = dice(turn * 101 + k * 7 + 3), line = lines[r(lines.length)], out = [];
  let n = 0;
  for (let i = 0; n < size; i++) n += out.push(line(r, i)) && out.at(-1).length + 1;
  for (const p of planted)
    if (p.turn === turn && k === 0) out.splice(p.place === "head" ? 1 : p.place === "tail" ? out.length - 1 : out.length >> 1, 0, p.line);
  return out.join("\n");
}

/* ---- the dialects: a request as a list of [who, what, id], how answers and refusals look, and the SDK ---- */

const sse = (res, list) => {
  res.writeHead(200, { "content-type": "text/event-stream" });
  res.end(list.map((e) => (e.type ? `event: ${e.type}\n` : "") + `data: ${typeof e === "string" ? e : JSON.stringify(e)}\n\n`).join(""));
};
const json = (res, status, o) => res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(o));
const listed = (content) => (typeof content === "string" ? [{ type: "text", text: content }] : content ?? []);
const words = (content) => listed(content).map((p) => p.text).join("\n");
const openai = (pair) => new OpenAI({ apiKey: "sk-client", baseURL: `${pair.base}/v1`, maxRetries: 0 });
const openaiRefusal = (res, param, used) => json(res, 400, { error: { message: used ? `This model's maximum context length is ${WINDOW} tokens. However, your messages resulted in ${used} tokens. Please reduce the length of the messages.` : "Your input exceeds the context window of this model. Please adjust your input and try again.", type: "invalid_request_error", param, code: "context_length_exceeded" } });

const wires = {
  openai: {
    history: (b) => b.messages,
    items: (b) => b.messages.flatMap((m) => (m.role === "tool" ? [["result", words(m.content), m.tool_call_id]] : [...listed(m.content).map((p) => [m.role, p.text]), ...(m.tool_calls ?? []).map((c) => ["call", c.function.arguments, c.id])])),
    // Every call is answered by the messages right behind it, once each, and nothing else is.
    whole(b) {
      let open = new Set();
      for (const m of b.messages) {
        if (m.role === "tool") { if (!open.delete(m.tool_call_id)) return false; continue; }
        if (open.size) return false;
        open = new Set((m.tool_calls ?? []).map((c) => c.id));
      }
      return open.size === 0;
    },
    system: (b) => b.messages.filter((m) => m.role === "system").map((m) => words(m.content)).join("\n"),
    refuse: (res, used) => openaiRefusal(res, "messages", used),
    answer(res, text, calls, used, stream) {
      const usage = { prompt_tokens: used, completion_tokens: 20, total_tokens: used + 20 }, finish_reason = calls.length ? "tool_calls" : "stop";
      const tool_calls = calls.map(([id, name, args], index) => ({ ...(stream && { index }), id, type: "function", function: { name, arguments: args } }));
      const base = { id: "chatcmpl-1", created: 1, model: "m-own" };
      if (!stream) return json(res, 200, { ...base, object: "chat.completion", choices: [{ index: 0, message: { role: "assistant", content: text, ...(calls.length && { tool_calls }) }, finish_reason }], usage });
      const chunk = (delta, finish = null) => ({ ...base, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }] });
      sse(res, [chunk({ role: "assistant", content: "" }), chunk({ content: text }), ...tool_calls.map((t) => chunk({ tool_calls: [t] })), chunk({}, finish_reason), { ...base, object: "chat.completion.chunk", choices: [], usage }, "[DONE]"]);
    },
    client: openai,
    begin: () => [{ role: "system", content: "You are a careful operator." }],
    say: (h, text) => h.push({ role: "user", content: text }),
    results: (h, list) => list.forEach(([id, text]) => h.push({ role: "tool", tool_call_id: id, content: text })),
    async step(client, history, stream) {
      const tools = toolNames.map((name) => ({ type: "function", function: { name, parameters: schema } }));
      const body = { model: "m-own", messages: history, tools };
      let m;
      if (!stream) m = (await client.chat.completions.create(body)).choices[0].message;
      else m = (await client.chat.completions.stream(body).finalChatCompletion()).choices[0].message;
      const tool_calls = m.tool_calls?.map((c) => ({ id: c.id, type: "function", function: { name: c.function.name, arguments: c.function.arguments } }));
      history.push({ role: "assistant", content: m.content, ...(tool_calls?.length && { tool_calls }) });
      return { text: m.content, calls: (tool_calls ?? []).map((c) => [c.id, c.function.arguments]) };
    },
  },
  responses: {
    history: (b) => b.input,
    items: (b) => b.input.flatMap((m) => (m.type === "function_call" ? [["call", m.arguments, m.call_id]] : m.type === "function_call_output" ? [["result", words(m.output), m.call_id]] : listed(m.content).map((p) => [m.role, p.text]))),
    whole(b) {
      const open = new Set(), seen = new Set();
      for (const m of b.input) {
        if (m.type === "function_call_output" && !open.delete(m.call_id)) return false;
        if (m.type === "function_call" && (seen.has(m.call_id) || !open.add(m.call_id) || !seen.add(m.call_id))) return false;
      }
      return open.size === 0;
    },
    system: (b) => `${b.instructions ?? ""}${typeof b.input === "string" ? "" : b.input.filter((m) => /system|developer/.test(m.role)).map((m) => words(m.content)).join("\n")}`,
    refuse: (res, used) => openaiRefusal(res, "input", used),
    answer(res, text, calls, used, stream) {
      const items = [{ type: "message", id: "msg_1", role: "assistant", status: "completed", content: [{ type: "output_text", text, annotations: [] }] }, ...calls.map(([id, name, args]) => ({ type: "function_call", id: `fc_${id}`, call_id: id, name, arguments: args, status: "completed" }))];
      const usage = { input_tokens: used, input_tokens_details: { cached_tokens: 0 }, output_tokens: 20, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: used + 20 };
      const response = (status, output) => ({ id: "resp_1", object: "response", created_at: 1, model: "m-own", status, output, error: null, incomplete_details: null, usage: status === "completed" ? usage : null });
      if (!stream) return json(res, 200, response("completed", items));
      const list = [{ type: "response.created", response: response("in_progress", []) }];
      items.forEach((item, output_index) => {
        const at = { output_index, item_id: item.id };
        if (item.type === "message")
          list.push({ type: "response.output_item.added", output_index, item: { ...item, status: "in_progress", content: [] } }, { type: "response.content_part.added", ...at, content_index: 0, part: { type: "output_text", text: "", annotations: [] } }, { type: "response.output_text.delta", ...at, content_index: 0, delta: text }, { type: "response.output_text.done", ...at, content_index: 0, text }, { type: "response.content_part.done", ...at, content_index: 0, part: item.content[0] });
        else
          list.push({ type: "response.output_item.added", output_index, item: { ...item, status: "in_progress", arguments: "" } }, { type: "response.function_call_arguments.delta", ...at, delta: item.arguments }, { type: "response.function_call_arguments.done", ...at, arguments: item.arguments });
        list.push({ type: "response.output_item.done", output_index, item });
      });
      list.push({ type: "response.completed", response: response("completed", items) });
      sse(res, list.map((e, sequence_number) => ({ ...e, sequence_number })));
    },
    client: openai,
    begin: () => [],
    say: (h, text) => h.push({ role: "user", content: text }),
    results: (h, list) => list.forEach(([id, text]) => h.push({ type: "function_call_output", call_id: id, output: text })),
    async step(client, history, stream) {
      const tools = toolNames.map((name) => ({ type: "function", name, parameters: schema, strict: false }));
      const body = { model: "m-own", instructions: "You are a careful operator.", input: history, tools, store: false };
      let r = stream ? null : await client.responses.create(body);
      if (stream) for await (const e of await client.responses.create({ ...body, stream: true })) if (e.type === "response.completed") r = e.response;
      const calls = r.output.filter((o) => o.type === "function_call");
      const text = r.output.filter((o) => o.type === "message").map((o) => words(o.content)).join("");
      history.push({ role: "assistant", content: text }, ...calls.map((c) => ({ type: "function_call", call_id: c.call_id, name: c.name, arguments: c.arguments })));
      return { text, calls: calls.map((c) => [c.call_id, c.arguments]) };
    },
  },
  anthropic: {
    history: (b) => b.messages,
    items: (b) => b.messages.flatMap((m) => listed(m.content).map((p) => (p.type === "tool_use" ? ["call", JSON.stringify(p.input), p.id] : p.type === "tool_result" ? ["result", words(p.content), p.tool_use_id] : [m.role, p.text]))),
    whole(b) {
      let open = new Set();
      for (const [i, m] of b.messages.entries()) {
        const parts = listed(m.content), results = parts.filter((p) => p.type === "tool_result");
        if (m.role !== (i % 2 ? "assistant" : "user") || parts.some((p) => p.type === "text" && !p.text)) return false;
        if (parts.slice(0, results.length).some((p) => p.type !== "tool_result") || results.some((p) => !open.delete(p.tool_use_id)) || open.size) return false;
        open = new Set(parts.filter((p) => p.type === "tool_use").map((p) => p.id));
      }
      return open.size === 0;
    },
    system: (b) => words(b.system),
    refuse: (res, used) => json(res, 400, { type: "error", error: { type: "invalid_request_error", message: used ? `prompt is too long: ${used} tokens > ${WINDOW} maximum` : "prompt is too long" } }),
    answer(res, text, calls, used, stream) {
      const content = [{ type: "text", text }, ...calls.map(([id, name, args]) => ({ type: "tool_use", id, name, input: JSON.parse(args) }))];
      const base = { id: "msg_1", type: "message", role: "assistant", model: "c-own", stop_sequence: null }, stop_reason = calls.length ? "tool_use" : "end_turn";
      if (!stream) return json(res, 200, { ...base, content, stop_reason, usage: { input_tokens: used, output_tokens: 20 } });
      const list = [{ type: "message_start", message: { ...base, content: [], stop_reason: null, usage: { input_tokens: used, output_tokens: 1 } } }];
      content.forEach((c, index) => list.push({ type: "content_block_start", index, content_block: c.type === "text" ? { type: "text", text: "" } : { ...c, input: {} } }, { type: "content_block_delta", index, delta: c.type === "text" ? { type: "text_delta", text } : { type: "input_json_delta", partial_json: JSON.stringify(c.input) } }, { type: "content_block_stop", index }));
      sse(res, [...list, { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 20 } }, { type: "message_stop" }]);
    },
    client: (pair) => new Anthropic({ apiKey: "sk-client", baseURL: pair.base, maxRetries: 0 }),
    begin: () => [],
    say: (h, text) => h.push({ role: "user", content: text }),
    results: (h, list) => h.push({ role: "user", content: list.map(([id, text]) => ({ type: "tool_result", tool_use_id: id, content: text })) }),
    async step(client, history, stream) {
      const tools = toolNames.map((name) => ({ name, input_schema: schema }));
      const body = { model: "c-own", max_tokens: 1000, system: "You are a careful operator.", messages: history, tools };
      const m = stream ? await client.messages.stream(body).finalMessage() : await client.messages.create(body);
      history.push({ role: "assistant", content: m.content.map((b) => (b.type === "text" ? { type: "text", text: b.text } : { type: "tool_use", id: b.id, name: b.name, input: b.input })) });
      return { text: words(m.content.filter((b) => b.type === "text")), calls: m.content.filter((b) => b.type === "tool_use").map((b) => [b.id, JSON.stringify(b.input)]) };
    },
  },
};
const toolNames = ["list_files", "query_orders", "read_log", "read_page"];
const schema = { type: "object", properties: { n: { type: "integer" }, size: { type: "integer" } }, required: ["n", "size"] };

/* ---- the provider ---- */

const KEPT = new RegExp("ORD-\\d+|[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}|/srv/shop/releases/\\S*?\\.conf|\\b[0-9a-f]{40}\\b|E4\\d{3}: [a-z ]+\\d{5}", "g");

function provider(w, o) {
  const p = { turn: 0, refused: 0, summaries: 0, same: 0, changed: 0, least: WINDOW, flaws: [], last: null, outputs: new Map() };
  const count = (b) => Math.ceil(JSON.stringify([w.history(b), b.tools, w.system(b)]).length / o.rate);
  p.answer = (q, res) => {
    const b = JSON.parse(q.body), used = count(b);
    if (used > WINDOW) return p.refused++, w.refuse(res, o.numbers && used);
    if (/summary|shorten/i.test(w.system(b))) {
      p.summaries++;
      const ids = [...new Set(w.items(b).map(([, text]) => text).join("\n").match(KEPT))];
      return w.answer(res, `## Progress\nLooked around.\n## Critical context\n${ids.join("\n")}`, [], used, false);
    }
    look(b);
    p.turn++;
    const r = dice(p.turn), talks = o.users && p.turn % 8 === 0, n = o.parallel ? 2 + r(3) : 1;
    const calls = Array.from({ length: p.turn === TURNS || talks ? 0 : n }, (_, k) => [`call_${p.turn}_${k}`, toolNames[r(4)], JSON.stringify({ n: k, size: n > 1 ? 2000 + r(6000) : 2000 + r(10000) })]);
    w.answer(res, p.turn === TURNS ? "It is repaired." : talks ? "I wait for your word." : `Step ${p.turn}.`, calls, used, b.stream === true);
  };
  // What every request that comes through must be.
  function look(b) {
    const items = w.items(b), flaw = (what) => p.flaws.push(`turn ${p.turn + 1}: ${what}`);
    if (!w.whole(b)) flaw("a pair is lost or doubled");
    if (!items.some(([who, text]) => who === "user" && text === TASK)) flaw("the task is gone");
    const newest = items.findLastIndex(([who]) => who === "assistant" || who === "call");
    for (const [who, text, id] of items.slice(newest + 1)) if (who === "result" && text !== p.outputs.get(id)) flaw(`${id}, of the newest turn, is not what the tool said`);
    const shown = new Set(items.filter(([who]) => who === "result").map(([, , id]) => id));
    if (p.newest?.some((id) => !shown.has(id))) flaw("a result of the newest turn is gone");
    const now = w.history(b).map((m) => JSON.stringify(m)), at = p.last ? p.last.findIndex((m, i) => m !== now[i]) : -1;
    if (p.last) at < 0 ? p.same++ : p.changed++;
    if (at >= 0 && !now.slice(at ? at - 1 : 0, at + 1).some((m) => m.includes(MASKED) || m.includes(SUMMARISED) || m.includes("I have read the summary"))) flaw(`message ${at} changed and was not compressed: ${now[at]?.slice(0, 200)}`);
    p.last = now;
    p.text = items.map(([, text]) => text).join("\n");
  }
  return p;
}

/* ---- the agent ---- */

async function agent(pair, w, o) {
  const p = provider(w, o), client = w.client(pair), history = w.begin();
  pair.own.answer = p.answer;
  w.say(history, TASK);
  for (p.steps = 0; p.steps < TURNS; p.steps++) {
    let r;
    try {
      r = await w.step(client, history, o.stream);
    } catch (e) {
      return Object.assign(p, { died: e });
    }
    if (r.text === "It is repaired.") return Object.assign(p, { finished: true });
    if (!r.calls.length && !o.users) return Object.assign(p, { said: r.text });
    if (!r.calls.length) {
      if (r.text !== "I wait for your word.") return Object.assign(p, { said: r.text });
      w.say(history, `Go on, this is word ${p.steps} of mine. Look at the log once more.`);
      p.newest = [];
      continue;
    }
    const turn = Number(r.calls[0][0].split("_")[1]);
    const results = r.calls.map(([id, args]) => [id, toolOutput(turn, JSON.parse(args).n, JSON.parse(args).size)]);
    for (const [id, text] of results) p.outputs.set(id, text);
    p.newest = results.map(([id]) => id);
    w.results(history, results);
  }
  return p;
}

const told = (name, p, more = "") => console.log(`# ${name}: ${p.steps + !!p.finished} turns, ${p.refused} overflow errors, ${p.summaries} summaries, prefix unchanged in ${Math.round((100 * p.same) / (p.same + p.changed || 1))} % of requests${more}`);
const patient = (c) => ((c.timeouts.first_byte = c.timeouts.idle = "10s"), c);

for (const [name, dialect, o] of [
  ["chat, one call at a time", "openai", { rate: 4, numbers: true, users: true }],
  ["chat, only the loop grows, parallel, streams, no numbers", "openai", { rate: 3.2, parallel: true, stream: true }],
  ["responses, only the loop grows, parallel", "responses", { rate: 4, numbers: true, parallel: true }],
  ["responses, streams, no numbers", "responses", { rate: 3.2, users: true, stream: true }],
  ["messages, parallel, streams", "anthropic", { rate: 3.2, numbers: true, parallel: true, users: true, stream: true }],
  ["messages, only the loop grows, no numbers", "anthropic", { rate: 4 }],
])
  holds(`agent of ${TURNS} turns: ${name}`, {
    limit: 60000,
    config: patient,
    async run(pair) {
      const w = wires[dialect], p = await agent(pair, w, o);
      const known = (await pair.status()).known_compressions;
      told(name, p, `, known compressions found ${known.hits} of ${known.looked_up}`);
      assert.ok(p.finished, `it ended at turn ${p.steps}: ${p.died ?? p.said}`);
      assert.deepEqual(p.flaws, []);
      assert.ok(p.refused <= OVERFLOWS_MAX, `${p.refused} overflow errors`);
      assert.deepEqual(planted.filter(({ id }) => !p.text.includes(id)), [], "identifiers that the policy keeps are lost");
      assert.ok(known.hit_rate > 0.5 && known.requests_hit > 0, JSON.stringify(known));
    },
  });

for (const dialect of Object.keys(wires))
  holds(`agent of ${TURNS} turns: ${dialect}, masking alone carries it a long way and ends in words`, {
    limit: 60000,
    config: (c) => ((patient(c).recovery.side_calls = false), c),
    async run(pair) {
      const direct = await agent({ base: `http://127.0.0.1:${pair.own.port}`, own: pair.own }, wires[dialect], { rate: 4, numbers: true });
      assert.ok(direct.died && direct.steps < 15, `without daruma it lived for ${direct.steps} turns`);
      const p = await agent(pair, wires[dialect], { rate: 4, numbers: true });
      told(`${dialect}, masking alone`, p, `; without daruma it died at turn ${direct.steps + 1}`);
      assert.deepEqual(p.flaws.filter((f) => !/not what the tool said/.test(f)), []);
      assert.ok(p.steps > 2 * direct.steps, `it lived for ${p.steps} turns, without daruma for ${direct.steps}`);
      assert.ok(p.finished || /context|window|long/i.test(p.said ?? p.died.message), `${p.said ?? p.died}`);
      assert.equal(p.summaries, 0);
    },
  });
