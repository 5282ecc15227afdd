// Agents whose history the provider keeps: each request names the answer that it goes on from and brings only what is
// new. First over the official SDK and the faulty provider, then raw bodies and a provider of the test's own.
import assert from "node:assert/strict";
import { circles, HEARS, TASK, THEN } from "./watch.mjs";
import { dialects, requests, runAgent, script, touched } from "./watch_kit.mjs";
import { work } from "./watch_work.mjs";
import { holds } from "./wire.mjs";
import { json } from "./wires.mjs";

const listing = "conf\nlogs\nREADME.md";
const models = (mode) => (c) => {
  Object.assign(c.timeouts, { first_byte: "10s", idle: "10s" });
  c.models.push({ name: "m-past", targets: ["main/m-past"], watch: mode });
};

// The dialect Responses as an agent speaks it that sends nothing twice. One for each run.
function past() {
  let known = 0, before;
  return {
    ...dialects.responses,
    async turn(client, { model, history, tools, stream, headers }) {
      const schema = { type: "object", properties: {}, additionalProperties: true };
      const body = { model, input: history.slice(known), tools: tools.map((name) => ({ type: "function", name, parameters: schema, strict: false })), ...(before && { previous_response_id: before }) };
      let r = stream ? null : await client.responses.create(body, { headers });
      if (stream) for await (const e of await client.responses.create({ ...body, stream: true }, { headers })) if (e.type === "response.completed") r = e.response;
      const calls = r.output.filter((o) => o.type === "function_call");
      const text = r.output.filter((o) => o.type === "message").flatMap((o) => o.content).map((c) => c.text).join("");
      const said = [...(text ? [{ role: "assistant", content: text }] : []), ...calls];
      known = history.length + said.length;
      before = r.id;
      return { said, text, calls: calls.map((c) => ({ id: c.call_id, name: c.name, args: JSON.parse(c.arguments) })) };
    },
  };
}
const both = (f) => [false, true].forEach((stream) => f(stream ? "streams" : "plain", stream));
const detected = (pair) => pair.events().filter((e) => e.event === "loop_detected");

both((how, stream) => {
  for (const [k, [form, circle]] of Object.entries(circles).entries()) {
    const ignores = k % 2;
    holds(`guide: ${form} is left after ${ignores + 1} notices, though no request has more than its newest turn: ${how}`, {
      limit: 60000,
      config: models("guide"),
      async run(pair) {
        await script(pair, { "m-past": { call_ids: true, loop: { lap: circle.lap, until: { text: HEARS }, ignores, then: THEN } } });
        const r = await runAgent({ base: pair.base }, past(), { model: "m-past", task: TASK, stream, tools: { ...circle.tools, list_files: () => listing } });
        const report = await pair.report(), changed = await touched(pair, r.sent);
        assert.equal(r.text, THEN[1].text, `it was not freed in ${r.turns} turns`);
        assert.equal(report.told["m-past"], ignores + 1);
        assert.ok(report.circled["m-past"] <= circle.most + ignores, `it went on for ${report.circled["m-past"]} calls`);
        assert.equal(changed.length, ignores + 1, `requests ${changed} were changed`);
      },
    });
  }

  holds(`guide: the provider keeps what the model was told, so it is told once in each way: ${how}`, {
    limit: 60000,
    config: models("guide"),
    async run(pair) {
      const circle = circles["A-A-A"];
      await script(pair, { "m-past": { call_ids: true, loop: { lap: circle.lap, until: "never" } } });
      const r = await runAgent({ base: pair.base }, past(), { model: "m-past", task: TASK, stream, steps: 16, tools: circle.tools });
      assert.equal((await touched(pair, r.sent)).length, 3);
      assert.equal(detected(pair).length, 1);
    },
  });

  holds(`enforce: an agent that never listens ends in words, though the provider keeps its history: ${how}`, {
    limit: 60000,
    config: models("enforce"),
    async run(pair) {
      for (const circle of Object.values(circles)) {
        await script(pair, { "m-past": { call_ids: true, loop: { lap: circle.lap, until: "never" } } });
        const r = await runAgent({ base: pair.base }, past(), { model: "m-past", task: TASK, stream, tools: circle.tools });
        assert.ok(r.text !== null, `it went on for ${r.turns} turns`);
        assert.match(r.text, /^\[daruma\] The run was stopped/);
        assert.match(r.text, new RegExp(Object.keys(circle.tools).join("|")));
      }
    },
  });
});

holds("guide: an agent of one client is known again, however many another client has", {
  limit: 60000,
  config: models("guide"),
  async run(pair) {
    const OTHERS = 600, circle = circles["A-A-A"], took = [];
    const other = async (n) => (await fetch(`${pair.base}/v1/responses`, { method: "POST", headers: { authorization: "Bearer sk-other", "content-type": "application/json" }, body: JSON.stringify({ model: "m-past", input: [{ role: "user", content: `task ${n}` }, { type: "function_call", call_id: `call_${n}`, name: "look", arguments: "{}" }, { type: "function_call_output", call_id: `call_${n}`, output: `${n}` }], tools: [{ type: "function", name: "look", parameters: {} }] }) })).text();
    for (const others of [0, OTHERS]) {
      await script(pair, { "m-past": { call_ids: true, loop: { lap: circle.lap, until: { text: HEARS }, ignores: 0, then: THEN } } });
      const d = past(), how = { model: "m-past", task: TASK, tools: { ...circle.tools, list_files: () => listing } };
      const begun = await runAgent({ base: pair.base }, d, { ...how, steps: 2 });
      for (let n = 0; n < others; n += 10) await Promise.all(Array.from({ length: 10 }, (_, i) => other(n + i)));
      const r = await runAgent({ base: pair.base }, d, { ...how, history: begun.history });
      assert.equal(r.text, THEN[1].text);
      took.push(begun.turns + r.turns);
    }
    assert.equal(took[1], took[0], "it was told later");
  },
});

holds(`guide: ${work.length} long runs of honest work go through untouched, though the provider keeps their history`, {
  limit: 120000,
  config: models("guide"),
  async run(pair) {
    for (const [k, [what, turns, does]] of work.entries()) {
      const calls = Array.from({ length: turns }, (_, i) => (Array.isArray(does(i)[0]) ? does(i) : [does(i)]));
      const answers = calls.map((list) => ({ calls: list.map(([call, args]) => ({ call, arguments: JSON.stringify(args) })) }));
      const tools = Object.fromEntries(calls.flat().map(([tool]) => [tool, (_, n) => calls.flat()[n][2]]));
      await script(pair, { "m-past": { call_ids: true, answers: [...answers, { text: "Done." }] } });
      const r = await runAgent({ base: pair.base }, past(), { model: "m-past", task: `Please do this: ${what}.`, tools, stream: k % 2 === 0 });
      assert.equal(r.text, "Done.");
      assert.deepEqual(await touched(pair, r.sent), [], `${what} was changed`);
      assert.deepEqual(detected(pair), [], what);
    }
  },
});

/* ---- raw ---- */

const tools = [{ type: "function", name: "look", parameters: { type: "object", properties: {} } }];
let made = 0;
// Answers each request with one call, and keeps the id of the answer and of its call.
function calls_look(pair, args = () => "{}") {
  const last = {};
  pair.own.answer = (q, res) => {
    Object.assign(last, { id: `resp_${++made}`, call: `call_${made}Qx9z` });
    json(res, 200, { id: last.id, object: "response", created_at: 1, status: "completed", model: "m-own", output: [{ type: "function_call", id: `fc_${made}`, call_id: last.call, name: "look", arguments: args(made), status: "completed" }], usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } });
  };
  return last;
}
async function post(pair, body, { key = "sk-client-a", headers = {} } = {}) {
  const sent = JSON.stringify({ model: "m-own", tools, ...body }), n = pair.own.seen.length;
  const r = await fetch(`${pair.base}/v1/responses`, { method: "POST", body: sent, headers: { "content-type": "application/json", authorization: `Bearer ${key}`, ...headers } });
  assert.equal(r.status, 200, await r.clone().text());
  await r.arrayBuffer();
  return pair.own.seen[n].body.toString() !== sent;
}
const output = (call_id, output = "3 pipes") => [{ type: "function_call_output", call_id, output }];
const raw = (what, run) => holds(what, { config: (c) => ((c.watch = "guide"), Object.assign(c.timeouts, { first_byte: "10s", idle: "10s" })), run });
// Goes on until it is told: in which turn, counted from 1; 0: never.
async function told_in(pair, last, body = (id) => ({ previous_response_id: id }), turns = 8, o = {}) {
  for (let i = 1; i <= turns; i++) if (await post(pair, { ...body(last.id), input: output(last.call) }, o)) return i;
  return 0;
}

const shapes = {
  custom_tool_call: [{ name: "look", input: "pipes" }, (call_id) => ({ type: "custom_tool_call_output", call_id, output: "3 pipes" })],
  local_shell_call: [{ action: { type: "exec", command: ["ls", "pipes"], env: {} } }, (id) => ({ type: "local_shell_call_output", id, output: "3 pipes" })],
  shell_call: [{ action: { commands: ["ls pipes"], timeout_ms: 1000, max_output_length: 4096 } }, (call_id) => ({ type: "shell_call_output", call_id, output: [{ stdout: "3 pipes", stderr: "", outcome: { type: "exit", exit_code: 0 } }] })],
  apply_patch_call: [{ operation: { type: "update_file", path: "pipes.md", diff: "@@\n-2\n+3\n" } }, (call_id) => ({ type: "apply_patch_call_output", call_id, status: "failed", output: "no such line" })],
};
const named = (o) => `event: ${o.type}\ndata: ${JSON.stringify(o)}\n\n`;
// One call in each answer, whole or as a stream.
function calls_other(pair, type, stream) {
  const last = {};
  pair.own.answer = (q, res) => {
    Object.assign(last, { id: `resp_${++made}`, call: `call_${made}Qx9z` });
    const item = { type, id: `x_${made}`, call_id: last.call, status: "completed", ...shapes[type][0] };
    const whole = { id: last.id, object: "response", created_at: 1, status: "completed", model: "m-own", output: [item], usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } };
    if (!stream) return json(res, 200, whole);
    let n = 0;
    const ev = (t, o) => named({ type: t, sequence_number: n++, ...o });
    res.writeHead(200, { "content-type": "text/event-stream" });
    res.write(ev("response.created", { response: { ...whole, status: "in_progress", output: [] } }));
    res.write(ev("response.output_item.added", { output_index: 0, item: { ...item, ...(item.input && { input: "" }), status: "in_progress" } }));
    res.write(ev("response.output_item.done", { output_index: 0, item }));
    res.end(ev("response.completed", { response: whole }));
  };
  return last;
}

for (const type of Object.keys(shapes))
  for (const stream of [false, true])
    raw(`an agent in circles with ${type} is told, though the provider keeps its history: ${stream ? "streams" : "plain"}`, async (pair) => {
      const last = calls_other(pair, type, stream), more = stream && { stream };
      await post(pair, { input: "Find the leak.", ...more });
      let turn = 0;
      for (let i = 1; i <= 8 && !turn; i++) if (await post(pair, { previous_response_id: last.id, input: [shapes[type][1](last.call)], ...more })) turn = i;
      assert.ok(turn >= 3 && turn <= 7, `told in turn ${turn}`);
    });

raw("an agent that goes on in a conversation of the provider's is watched", async (pair) => {
  const last = calls_look(pair), conversation = { id: "conv_1" };
  await post(pair, { conversation, input: "Find the leak." });
  const turn = await told_in(pair, last, () => ({ conversation }));
  assert.ok(turn >= 3 && turn <= 6, `told in turn ${turn}`);
});

raw("a request that is sent again because its answer was lost is no other lap", async (pair) => {
  const last = calls_look(pair);
  await post(pair, { input: "Find the leak." });
  const body = { previous_response_id: last.id, input: output(last.call) };
  for (let i = 0; i < 12; i++) assert.equal(await post(pair, body), false, `told in request ${i}`);
});

raw("what is sent again is read once, though the user said something new in it", async (pair) => {
  const last = calls_look(pair);
  await post(pair, { input: "Find the leak." });
  for (const words of ["Look at the roof.", "Look at the cellar.", "Look at the garden."]) {
    const body = { previous_response_id: last.id, input: [...output(last.call), { role: "user", content: words }] };
    await post(pair, body);
    const { agents, steps } = (await pair.status()).watch;
    await post(pair, body);
    const again = (await pair.status()).watch;
    assert.deepEqual({ agents: again.agents, steps: again.steps }, { agents: 1, steps }, words);
    assert.equal(agents, 1);
  }
});

raw("many that go on from one answer are no circle", async (pair) => {
  const last = calls_look(pair);
  await post(pair, { input: "Find the leak." });
  const { id, call } = last;
  for (let i = 0; i < 12; i++) assert.equal(await post(pair, { previous_response_id: id, input: [...output(call), { role: "user", content: `Way ${i}.` }] }), false);
});

raw("nobody is told what another tenant did that goes on from the same answers", async (pair) => {
  const last = calls_look(pair);
  await post(pair, { input: "Find the leak." });
  for (let i = 0; i < 12; i++) assert.equal(await post(pair, { previous_response_id: last.id, input: output(last.call) }, { key: `sk-client-${i % 4}` }), false, `told in turn ${i}`);
});

raw("a user who says something new, as bare text, gives a new task", async (pair) => {
  const last = calls_look(pair);
  await post(pair, { input: "Find the leak." });
  for (let i = 0; i < 12; i++) {
    const words = i % 2 ? [] : await post(pair, { previous_response_id: last.id, input: output(last.call) });
    assert.equal(i % 2 ? await post(pair, { previous_response_id: last.id, input: `Now look at pipe ${i}.` }) : words, false, `told in turn ${i}`);
  }
});

raw("who keeps nothing at the provider is not remembered by its answers", async (pair) => {
  const last = calls_look(pair);
  await post(pair, { store: false, input: "Find the leak." });
  for (let i = 0; i < 8; i++) assert.equal(await post(pair, { store: false, previous_response_id: last.id, input: output(last.call) }), false);
});

raw("bounded memory: what was called long ago is forgotten, and nothing else happens", async (pair) => {
  const last = calls_look(pair, (n) => JSON.stringify({ text: "x".repeat(60000), n }));
  for (let i = 0; i < 120; i++) await post(pair, { input: `Task ${i}.` });
  assert.equal(await post(pair, { previous_response_id: last.id, input: output(last.call) }), false);
  assert.ok((await pair.status()).watch.agents >= 1);
});
