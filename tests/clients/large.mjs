// Large requests: what is done to them keeps nobody else waiting, takes no more memory than it needs while the provider
// thinks, and is given up rather than the request.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { ask, dialects, events, pathOf, until } from "./net.mjs";
import { sleep } from "./pair.mjs";
import { holds } from "./wire.mjs";
import { data, sse, wires } from "./wires.mjs";

const MIB = 1 << 20;
const d = dialects.openai, w = wires.openai;
const repeat = (item, bytes) => {
  const list = [];
  for (let n = 0, i = 0; n < bytes; i++) {
    list.push(item(i));
    n += list.at(-1).length + 1;
  }
  return list.join(",");
};
const said = (items, more = "") => `{"model":"m-own"${more},"messages":[{"role":"user","content":"Go."},${items},{"role":"user","content":"Go on."}]}`;
const turns = (bytes) => repeat((i) => `{"role":"${i % 2 ? "user" : "assistant"}","content":"hi ${i}"}`, bytes);
const empty = (bytes) => repeat((i) => `{"role":"${i % 2 ? "user" : "assistant"}","content":""}`, bytes);
const schema = '{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}';
const tools = (bytes) => `{"model":"m-own","messages":[{"role":"user","content":"Go."}],"tools":[${repeat((i) => `{"type":"function","function":{"name":"tool_${i}","strict":true,"parameters":${schema}}}`, bytes)}]}`;

const post = (pair, body, more = {}) => ask(pair, pathOf(d), { method: "POST", headers: { ...d.headers, "content-type": "application/json" }, body, ...more });
const unsupported = (res) => w.refuse(res, "Unsupported parameter: 'seed' is not supported with this model.", { param: "seed", code: "unsupported_parameter" });
// A busy machine is no silent provider, and nobody else is asked meanwhile: calls are counted here.
const patient = (c) => ((c.recovery.hedge = "off"), Object.assign(c.timeouts, { connect: "60s", first_byte: "60s", idle: "60s", total: "60s" }));
const toClaude = (c) => (patient(c), (c.models.find((m) => m.name === "m-own").targets = ["own-claude/c-own"]));
const rss = (pair) => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pair.gateway().pid}/status`, "utf8"))[1]) / 1024;
const isSanitized = (pair) => /libasan|libclang_rt/.test(readFileSync(`/proc/${pair.gateway().pid}/maps`, "utf8")); // their memory is not the gateway's

/* ---- mending is given up, not the request ---- */

holds("large: a request that is too much to be mended goes out as the client sent it", {
  limit: 120000,
  config: patient,
  async run(pair) {
    const refuses = (q) => q.body.length < MIB && JSON.parse(q.body).seed !== undefined;
    pair.own.answer = (q, res) => (refuses(q) ? unsupported(res) : w.answer(res, "seven eight"));
    const small = await post(pair, said('{"role":"user","content":"hi"}', ',"seed":1'));
    assert.equal(small.headers["x-daruma-remedies"], "mend_parameter", small.text); // that is known from now on
    const body = said(empty(63 * MIB), ',"seed":1'), seen = pair.own.seen.length;
    const r = await post(pair, body);
    assert.deepEqual([r.status, pair.own.seen.length - seen], [200, 1], r.text.slice(0, 300));
    assert.ok(pair.own.seen.at(-1).body.equals(Buffer.from(body)), "it is not what the client sent");
    assert.deepEqual(pair.events().filter((e) => e.event === "mending_given_up").map((e) => Boolean(e.reason)), [true]);
  },
});

holds("large: what is too much to be mended after a refusal gets the provider's words, not ours", {
  limit: 120000,
  config: patient,
  async run(pair) {
    pair.own.answer = (q, res) => w.refuse(res, "messages: text content blocks must be non-empty");
    const r = await post(pair, said(empty(63 * MIB)));
    assert.equal(r.status, 400, r.text.slice(0, 300));
    assert.match(JSON.parse(r.text).error.message, /must be non-empty/);
    assert.equal(pair.events().filter((e) => e.event === "mending_given_up").length, 1);
  },
});

holds("large: what is too much to be written for another dialect is refused in words", {
  limit: 120000,
  config: toClaude,
  async run(pair) {
    pair.own.answer = (q, res) => wires.anthropic.answer(res, "seven eight");
    const r = await post(pair, said(turns(63 * MIB)));
    assert.equal(pair.own.seen.length, 0);
    assert.ok(r.status >= 400 && r.status < 500, `${r.status}`);
    assert.match(JSON.parse(r.text).error.message, /too large/);
  },
});

/* ---- nobody waits for it ---- */

// Asks for the gateway's health again and again on a thread of its own; the longest that one took, in ms.
async function probing(pair, run) {
  const script = `
    const http = require("http"), { parentPort, workerData: port } = require("worker_threads");
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    let worst = 0, n = 0, over = false;
    parentPort.on("message", () => (over = true));
    const once = () => {
      const from = performance.now();
      http.get({ host: "127.0.0.1", port, path: "/daruma/health", agent }, (r) => r.resume().on("end", () => {
        worst = Math.max(worst, performance.now() - from);
        if (++n === 1) (worst = 0, parentPort.postMessage("on"));
        if (over) { agent.destroy(); parentPort.postMessage([worst, n]); parentPort.close(); } else setTimeout(once, 5);
      }));
    };
    once();`;
  const worker = new Worker(script, { eval: true, workerData: pair.port });
  const next = () => new Promise((ok, no) => worker.once("message", ok).once("error", no));
  await next();
  const from = performance.now(), ret = await run(), took = performance.now() - from, told = next();
  worker.postMessage("over");
  const [worst, n] = await told;
  return { worst, n, took, ret };
}

// One message of many MB, in parts of two letters.
const parts = (bytes) => `{"model":"m-own","tools":${JSON.stringify(w.tools({ type: "object", properties: {} }))},"messages":[{"role":"user","content":"Go."},{"role":"user","content":[${repeat(() => '{"type":"text","text":"hi"}', bytes)}]}]}`;

for (const [what, body, refusal, config] of [
  ["is only looked at", () => said(turns(24 * MIB)), undefined, patient],
  ["brings one message of parts", () => parts(24 * MIB), undefined, patient],
  ["is mended", () => tools(16 * MIB), "Invalid schema for function 'tool_0': In context=('properties', 'path'), 'additionalProperties' is not permitted."],
  ["is mended before it goes out", () => said(turns(12 * MIB), ',"seed":1'), null],
  ["is written for another dialect", () => said(turns(7 * MIB)), null, toClaude],
])
  holds(`large: while a request of many MB ${what}, others are answered`, {
    limit: 120000,
    config,
    async run(pair) {
      if (what === "is mended before it goes out") {
        pair.own.answer = (q, res) => (JSON.parse(q.body).seed === undefined ? w.answer(res, "seven eight") : unsupported(res));
        await post(pair, said('{"role":"user","content":"hi"}', ',"seed":1'));
      }
      let refused = !refusal;
      pair.own.answer = (q, res) => (refused ? (config === toClaude ? wires.anthropic : w).answer(res, "seven eight") : ((refused = true), w.refuse(res, refusal)));
      const sent = body(), r = await probing(pair, () => post(pair, sent));
      assert.equal(r.ret.status, 200, r.ret.text.slice(0, 300));
      assert.ok((await pair.status()).calls.beside_the_loop > 0, "it was done on the loop");
      // Who would wait for the work waits for most of the request; bytes of 16 MB that come and go take a while, too.
      assert.ok(r.worst < 150 || r.worst < r.took / 4, `somebody waited ${r.worst} ms of ${r.took}`);
    },
  });

// Calls of an answer, each of them with what no tool has.
const calls = (bytes) => Array.from({ length: bytes / 130 }, (_, i) => [`call_${i}`, "look", { path: `/src/file_${i}.c` }]);
const withTools = (m) => JSON.stringify({ model: m, messages: [{ role: "user", content: "Go." }], tools: w.tools({ type: "object", properties: { path: { type: "string" } } }) });

for (const [what, config] of [
  ["checked", patient],
  ["written for another dialect", toClaude],
])
  holds(`large: while an answer of many MB is ${what}, others are answered`, {
    limit: 120000,
    config,
    async run(pair) {
      const list = calls(12 * MIB);
      pair.own.answer = (q, res) => (config === toClaude ? wires.anthropic.answer(res, "", list) : w.answer(res, "", list.map(([id, name, args]) => [id, name, JSON.stringify(args)])));
      const r = await probing(pair, () => post(pair, withTools("m-own")));
      assert.equal(r.ret.status, 200, r.ret.text.slice(0, 300));
      assert.equal(w.calls({ json: JSON.parse(r.ret.text) }).length, list.length);
      assert.ok((await pair.status()).calls.beside_the_loop > 0, "it was done on the loop");
      assert.ok(r.worst < 150 || r.worst < r.took / 4, `somebody waited ${r.worst} ms of ${r.took}`);
    },
  });

holds("large: an answer of many MB whose calls cannot be carried out is asked for again", {
  limit: 120000,
  config: patient,
  async run(pair) {
    const list = calls(2 * MIB).map(([id, name, args]) => [id, name, JSON.stringify(args)]);
    const bad = [...list.slice(0, -1), ["call_bad", "no_such_tool_at_all", "{}"]];
    pair.own.answer = (q, res) => w.answer(res, "", pair.own.seen.length === 1 ? bad : list);
    const r = await post(pair, withTools("m-own"));
    assert.deepEqual([r.status, pair.own.seen.length], [200, 2], r.text.slice(0, 300));
    assert.equal(w.calls({ json: JSON.parse(r.text) }).length, list.length);
  },
});

holds("large: clients that leave while their answer is checked harm nobody", {
  limit: 120000,
  config: patient,
  async run(pair) {
    const list = calls(4 * MIB).map(([id, name, args]) => [id, name, JSON.stringify(args)]);
    pair.own.answer = (q, res) => w.answer(res, "", list);
    const leaves = async (i) => {
      const before = (await pair.status()).calls.beside_the_loop;
      await post(pair, withTools("m-own"), {
        onStart: async (req) => {
          for (let t = 0; t < 400 && (await pair.status()).calls.beside_the_loop === before; t++) await sleep(5);
          await sleep(i * 2);
          req.destroy();
        },
      }).catch(() => {});
    };
    for (let round = 0; round < 3; round++) await Promise.all([0, 1, 2, 3, 4].map((i) => leaves(i + round)));
    await until("all are gone", async () => !(await pair.status()).active);
    const r = await post(pair, withTools("m-own"));
    assert.equal(r.status, 200, r.text.slice(0, 300));
  },
});

holds("large: clients that leave while their request is mended, converted or told something harm nobody", {
  limit: 120000,
  config: (c) => (patient(c), c.models.push({ name: "m-moved", targets: ["own-claude/c-own"] })),
  async run(pair) {
    pair.own.answer = (q, res) => (/messages$/.test(q.url) ? wires.anthropic.answer(res, "seven eight") : JSON.parse(q.body).tools?.[0].function.strict ? w.refuse(res, "Invalid schema for function 'tool_0': In context=(), 'additionalProperties' is not permitted.") : w.answer(res, "seven eight"));
    const bodies = [tools(2 * MIB), said(turns(2 * MIB)).replace("m-own", "m-moved"), `{"model":"m-own","messages":[{"role":"user","content":"Go."},${circles(2 * MIB)}]}`];
    const leaves = async (i) => {
      const before = (await pair.status()).calls.beside_the_loop;
      await post(pair, bodies[i % 3], {
        onStart: async (req) => {
          for (let t = 0; t < 400 && (await pair.status()).calls.beside_the_loop === before; t++) await sleep(5);
          await sleep(i * 3);
          req.destroy();
        },
      }).catch(() => {});
    };
    for (let round = 0; round < 4; round++) await Promise.all([0, 1, 2, 3, 4, 5].map((i) => leaves(i + round)));
    await until("all are gone", async () => (await pair.status()).active === 0 || (await pair.status()).active === undefined);
    const r = await post(pair, bodies[1]);
    assert.equal(r.status, 200, r.text.slice(0, 300));
  },
});

/* ---- streams ---- */

// A stream of calls, each of which needs mending: a number that is written as text.
const list = (n) => Array.from({ length: n }, (_, i) => [`call_${i}`, "look", { days: `${i}`, path: "x".repeat(200) }]);
const look = w.tools({ type: "object", properties: { days: { type: "integer" }, path: { type: "string" } } });
const streamed = JSON.stringify({ model: "m-own", stream: true, messages: [{ role: "user", content: "Go." }], tools: look });

for (const [what, config] of [
  ["mended", patient],
  ["written for another dialect", toClaude],
])
  holds(`large: the many calls that end a stream are ${what} beside the loop, and all of them arrive`, {
    limit: 60000,
    config,
    async run(pair) {
      const n = 4000, their = config === toClaude ? wires.anthropic : w;
      pair.own.answer = (q, res) => {
        sse(res, their.opening(), list(n).map(([id, name, args], i) => their.called(i, id, name, JSON.stringify(args))).join("")).end(their.closingCalls());
      };
      const r = await post(pair, streamed), got = w.calls({ events: events(r.text) });
      assert.equal(got.length, n, r.text.slice(-500));
      got.forEach(([, name, args], i) => assert.deepEqual([name, JSON.parse(args).days], ["look", i]));
      assert.equal((await pair.status()).calls.beside_the_loop, 1, "it was done on the loop");
    },
  });

holds("large: clients that leave while the calls of their stream are checked harm nobody", {
  limit: 60000,
  config: patient,
  async run(pair) {
    const all = list(2000).map(([id, name, args], i) => w.called(i, id, name, JSON.stringify(args))).join("");
    pair.own.answer = (q, res) => sse(res, w.opening(), all).end(w.closingCalls());
    const leaves = async (i) => {
      const before = (await pair.status()).calls.beside_the_loop;
      await post(pair, streamed, {
        onStart: async (req) => {
          for (let t = 0; t < 800 && (await pair.status()).calls.beside_the_loop === before; t++) await sleep(5);
          await sleep(i);
          req.destroy();
        },
      }).catch(() => {});
    };
    for (let round = 0; round < 3; round++) await Promise.all([0, 3, 8].map((i) => leaves(i + round)));
    await until("all are gone", async () => !(await pair.status()).active);
    assert.equal(w.calls({ events: events((await post(pair, streamed)).text) }).length, 2000);
  },
});

holds("large: a broken stream of a large request is gone on with beside the loop", {
  limit: 60000,
  config: patient,
  async run(pair) {
    pair.own.answer = (q, res) => {
      if (pair.own.seen.length > 1) return sse(res, w.opening(), w.piece("eight nine ten"), w.closing()).end();
      sse(res, w.opening(), w.piece("One two three four five six seven "));
      setTimeout(() => res.destroy(), 100);
    };
    const body = said(turns(0.8 * MIB), ',"stream":true'), r = await post(pair, body);
    assert.equal(pair.own.seen.length, 2);
    assert.equal((await pair.status()).calls.beside_the_loop, 1, "it was done on the loop");
    assert.match(r.text, /remedies=resume/);
    assert.equal(JSON.parse(pair.own.seen[1].body).messages.length, JSON.parse(body).messages.length + 2);
  },
});

for (const [what, config, their, path] of [
  ["of the same dialect", patient, w, pathOf(d)],
  ["of another dialect", (c) => (patient(c), (c.models.find((m) => m.name === "m-own").targets = ["own-gemini/g-own"])), wires.gemini, pathOf(d)],
])
  holds(`large: one event ${what} may hold a thousand calls`, {
    limit: 60000,
    config,
    async run(pair) {
      const n = 1000, all = list(n).map(([id, name, args], i) => [id, name, { ...args, days: i }]);
      const one = { openai: () => w.chunk({ tool_calls: all.map(([id, name, args], index) => ({ index, id, type: "function", function: { name, arguments: JSON.stringify(args) } })) }), gemini: () => data({ candidates: [{ index: 0, content: { role: "model", parts: all.map(([id, name, args]) => ({ functionCall: { id, name, args } })) } }], responseId: "gem-1", modelVersion: "g-own" }) };
      pair.own.answer = (q, res) => sse(res, their.opening(), one[their === w ? "openai" : "gemini"](), their.closingCalls()).end();
      const r = await post(pair, streamed), got = w.calls({ events: events(r.text) });
      assert.deepEqual([got.length, got.map(([, , args]) => JSON.parse(args).days)], [n, all.map((_, i) => i)], r.text.slice(-500));
      assert.match(r.text, /\[DONE\]/);
    },
  });

// What calls are held against is the client's, and how many there are is the model's: the work is the product of both.
const manyTools = (n) => Array.from({ length: n }, (_, i) => ({ type: "function", function: { name: `t${i}` } }));
const wideTool = (n) => [{ type: "function", function: { name: "t1", parameters: { type: "object", properties: Object.fromEntries(Array.from({ length: n }, (_, i) => [`p${i}`, { type: "integer" }])), required: ["p1"] } } }];
for (const [what, list, name, args] of [
  ["tools that there are not, beside 50,000 that there are", () => manyTools(50000), (i) => `frob${i}`, "{}"],
  ["one tool of 200 KB, wrongly", () => wideTool(7600), () => "t1", '{"p1":"7"}'],
  ["one tool of 2 MB, wrongly", () => wideTool(76000), () => "t1", '{"p1":"7"}'],
])
  for (const stream of [false, true])
    holds(`large: an answer${stream ? " in pieces" : ""} that calls ${what}, 300 times, keeps nobody waiting`, {
      limit: 90000,
      config: (c) => (patient(c), (c.recovery.max_attempts = 2)),
      async run(pair) {
        const all = Array.from({ length: 300 }, (_, i) => [`call_${i}`, name(i), args]);
        pair.own.answer = (q, res) => (stream ? sse(res, w.opening(), all.map(([id, n, a], i) => w.called(i, id, n, a)).join("")).end(w.closingCalls()) : w.answer(res, "", all));
        const body = JSON.stringify({ model: "m-own", stream, messages: [{ role: "user", content: "Go." }], tools: list() });
        const r = await probing(pair, () => post(pair, body));
        assert.ok(r.ret.status === 200 || r.ret.status >= 400, r.ret.text.slice(0, 300));
        assert.ok((await pair.status()).calls.beside_the_loop > 0, "it was done on the loop");
        assert.ok(r.worst < 400, `somebody waited ${r.worst} ms of ${r.took}`); // a busy machine, and 20 times as slow under a sanitizer
        if (name(0) === "t1") assert.equal(pair.events().filter((e) => e.event === "mending_given_up").length, 1, "what was not checked is not told");
        if (name(0) === "t1" && r.ret.status === 200) assert.match(r.ret.text, /"?p1\\?":\s*7/, "the first call was not mended");
      },
    });

holds("large: names that another dialect does not take are changed as far as anybody has so many tools", {
  limit: 60000,
  config: (c) => (toClaude(c), (c.recovery.on_failure = "error")),
  async run(pair) {
    pair.own.answer = (q, res) => wires.anthropic.answer(res, "", [["call_1", JSON.parse(q.body).tools[7].name, {}]]);
    const ask = (n) => post(pair, JSON.stringify({ model: "m-own", messages: [{ role: "user", content: "Go." }], tools: Array.from({ length: n }, (_, i) => ({ type: "function", function: { name: `my.tool.${i}` } })) }));
    const few = await ask(1024);
    assert.deepEqual(w.calls({ json: JSON.parse(few.text) }).map(([, name]) => name), ["my.tool.7"], few.text.slice(0, 300));
    const calls = pair.own.seen.length, many = await ask(1025);
    assert.deepEqual([many.status, pair.own.seen.length], [413, calls], many.text.slice(0, 300));
    assert.match(JSON.parse(many.text).error.message, /too large/);
  },
});

holds("large: what only another dialect refuses is not looked for on the loop in very many messages", {
  limit: 60000,
  config: toClaude,
  async run(pair) {
    pair.own.answer = (q, res) => ("top_p" in JSON.parse(q.body) ? wires.anthropic.refuse(res, "top_p: Extra inputs are not permitted") : wires.anthropic.answer(res, "seven eight"));
    const few = await post(pair, said(turns(0.2 * MIB), ',"top_p":0.5'));
    assert.deepEqual([few.status, few.headers["x-daruma-remedies"]], [200, "mend_parameter"], few.text.slice(0, 300));
    await pair.again(toClaude);
    assert.equal((await post(pair, said(turns(1 * MIB), ',"top_p":0.5'))).status, 400);
  },
});

holds("large: of many failures of tools that one request brings so many are read as any turn has", {
  limit: 60000,
  config: patient,
  async run(pair) {
    pair.own.answer = (q, res) => w.answer(res, "seven eight");
    const trace = (i) => `Traceback (most recent call last):\n${Array.from({ length: 400 }, (_, k) => `  File "/src/file_${i}_${k}.py", line ${k}, in run\n    raise ValueError(${i})\n`).join("")}ValueError: cannot open /src/file_${i}.c`;
    const ask = (n) => post(pair, JSON.stringify({ model: "m-own", tools: w.tools({ type: "object", properties: {} }), messages: [{ role: "user", content: "Go." }, { role: "assistant", content: null, tool_calls: Array.from({ length: n }, (_, i) => ({ id: `call_${i}`, type: "function", function: { name: "look", arguments: `{"n":${i}}` } })) }, ...Array.from({ length: n }, (_, i) => ({ role: "tool", tool_call_id: `call_${i}`, content: trace(i) }))] }));
    assert.equal((await ask(60)).status, 200);
    const told = pair.events().filter((e) => e.event === "tool_failed").length;
    assert.ok(told >= 8 && told <= 12, `${told} of 60 were read`);
  },
});

// A second call beside a silent one is written on the loop, as far as that is brief.
for (const [what, items, asked] of [
  ["of ordinary messages", (bytes) => repeat((i) => `{"role":"${i % 2 ? "user" : "assistant"}","content":"${"lorem ipsum ".repeat(40)}${i}"}`, bytes), true],
  ["that is made up of very many messages", turns, false],
])
  holds(`large: a request ${what} ${asked ? "is asked beside" : "waits for"} a silent provider of its dialect, and goes elsewhere when that fails`, {
    limit: 60000,
    config: (c) => (patient(c), (c.recovery.hedge = "auto"), c.models.find((m) => m.name === "m-own").targets.push("own-claude/c-own")),
    async run(pair) {
      let hang, late = 0;
      pair.own.answer = (q, res, socket) => {
        if (!/messages$/.test(q.url)) return hang ? socket.destroy() : void (hang = socket);
        late = hang.destroyed ? late : late + 1;
        wires.anthropic.answer(res, "seven eight");
      };
      const answer = post(pair, said(items(1.5 * MIB)));
      await until("the first is asked", () => hang, 20000);
      await sleep(6500); // HEDGE_PLAIN_MS, and some
      assert.equal(late, asked ? 1 : 0, "it was written on the loop, or not asked");
      hang.destroy();
      const r = await answer;
      assert.deepEqual([r.status, r.headers["x-daruma-target"]], [200, "own-claude/c-own"], r.text);
    },
  });

/* ---- memory ---- */

for (const [what, config, refuses] of [
  ["converted", toClaude, false],
  ["mended", patient, true],
])
  holds(`large: ten requests of 2 MB that were ${what} hold four times their size while the provider thinks`, {
    limit: 120000,
    config,
    async run(pair) {
      let go, waiting = 0;
      const gone = new Promise((ok) => (go = ok));
      pair.own.answer = async (q, res) => {
        if (refuses && JSON.parse(q.body).seed !== undefined) return unsupported(res);
        waiting++;
        await gone;
        (refuses ? w : wires.anthropic).answer(res, "seven eight");
      };
      const body = said(turns(2 * MIB), ',"seed":1'), before = rss(pair);
      const all = Array.from({ length: 10 }, () => post(pair, body));
      await until("all wait", () => waiting === 10, 60000);
      await sleep(200);
      const held = rss(pair) - before;
      go();
      for (const r of await Promise.all(all)) assert.equal(r.status, 200, r.text.slice(0, 300));
      if (!isSanitized(pair)) assert.ok(held <= 4 * 20 + 8, `${held} MB for 20 MB of requests`);
    },
  });

// An agent that reads one file again and again: it is told so as well, which is another time that its request is written.
const circles = (bytes) => repeat((i) => `{"role":"assistant","content":null,"tool_calls":[{"id":"call_${i}","type":"function","function":{"name":"read","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_${i}","content":"int main(void) { return 0; }"}`, bytes);

for (const [mib, jobs] of [
  [0.6, 1], // it is told beside the loop
  [6, 2], // and looked at there
])
  holds(`large: an agent in circles whose request has ${mib} MiB is told so beside the loop`, {
    limit: 60000,
    config: patient,
    async run(pair) {
      pair.own.answer = (q, res) => w.answer(res, "seven eight");
      const r = await post(pair, `{"model":"m-own","messages":[{"role":"user","content":"Go."},${circles(mib * MIB)}]}`);
      assert.deepEqual([r.status, r.headers["x-daruma-remedies"]], [200, "notice"], r.text.slice(0, 300));
      assert.match(pair.own.seen.at(-1).body.subarray(-2000).toString(), /you are going in circles/);
      assert.equal((await pair.status()).calls.beside_the_loop, jobs);
      assert.deepEqual(pair.events().map((e) => e.event).filter((e) => /nudge|given_up/.test(e)), ["nudge"]);
    },
  });

holds("large: ten requests of 2 MB that were mended, and then converted, hold four times their size while the provider thinks", {
  limit: 120000,
  config: (c) => (patient(c), c.models.find((m) => m.name === "m-own").targets.push("own-claude/c-own")),
  async run(pair) {
    let go, waiting = 0;
    const gone = new Promise((ok) => (go = ok));
    pair.own.answer = async (q, res) => {
      if (!/messages$/.test(q.url)) return JSON.parse(q.body).seed !== undefined ? unsupported(res) : w.refuse(res, "The model `m-own` does not exist", { code: "model_not_found" });
      waiting++;
      await gone;
      wires.anthropic.answer(res, "seven eight");
    };
    const body = said(circles(2 * MIB), ',"seed":1'), before = rss(pair);
    const all = Array.from({ length: 10 }, () => post(pair, body));
    await until("all wait", () => waiting === 10, 60000);
    await sleep(200);
    const held = rss(pair) - before;
    go();
    for (const r of await Promise.all(all)) assert.equal(r.status, 200, r.text.slice(0, 300));
    if (!isSanitized(pair)) assert.ok(held <= 4 * 20 + 8, `${held} MB for 20 MB of requests`);
  },
});

holds("large: our own words are taken out of a request of any size", {
  limit: 60000,
  config: (c) => (patient(c), (c.recovery.on_failure = "message")),
  async run(pair) {
    pair.own.answer = (q, res) => w.refuse(res, "This is refused.");
    const notice = JSON.parse((await post(pair, said('{"role":"user","content":"hi"}'))).text).choices[0].message.content;
    const with_ours = (bytes) => said(`{"role":"assistant","content":${JSON.stringify(notice)}},${turns(bytes)}`);
    pair.own.answer = (q, res) => w.answer(res, "seven eight");
    for (const mib of [0.5, 8]) {
      const r = await post(pair, with_ours(mib * MIB));
      assert.equal(r.status, 200, r.text.slice(0, 300));
      assert.ok(!pair.own.seen.at(-1).body.includes("[daruma] "), `${mib} MiB`);
    }
  },
});

holds("large: beyond limits.memory a request is refused in words, and those before it are not", {
  limit: 60000,
  config: (c) => (patient(c), c.limits = { memory: "3MiB" }),
  async run(pair) {
    let go;
    const gone = new Promise((ok) => (go = ok));
    pair.own.answer = async (q, res) => (await gone, w.answer(res, "seven eight"));
    const body = said(turns(2 * MIB)), first = post(pair, body);
    await until("the first is there", () => pair.own.seen.length === 1);
    const second = await post(pair, body);
    assert.deepEqual([second.status, second.headers["retry-after"]], [503, "1"]);
    assert.match(JSON.parse(second.text).error.message, /memory/);
    assert.equal((await post(pair, said('{"role":"user","content":"hi"}'), { onStart: () => setTimeout(go, 100) })).status, 200);
    assert.equal((await first).status, 200);
    assert.equal((await post(pair, body)).status, 200, "what was given back is not there");
  },
});

holds("large: what is written of a request counts for limits.memory as its body does", {
  limit: 60000,
  config: (c) => (toClaude(c), c.limits = { memory: "5MiB" }),
  async run(pair) {
    let go;
    const gone = new Promise((ok) => (go = ok));
    pair.own.answer = async (q, res) => (await gone, wires.anthropic.answer(res, "seven eight"));
    const body = said(turns(2 * MIB)), first = post(pair, body);
    await until("the first is there", () => pair.own.seen.length === 1, 20000);
    assert.equal((await post(pair, body)).status, 503, "only the body was counted");
    go();
    assert.equal((await first).status, 200);
    assert.equal((await post(pair, body)).status, 200, "what was given back is not there");
  },
});

/* ---- what is read borrows from the body that it was read from ---- */

for (const kib of [100, 600])
  holds(`large: a request of ${kib} KiB that is shortened and then mended twice more stays the request`, {
    limit: 60000,
    config: (c) => (patient(c), (c.recovery.max_attempts = 6)),
    async run(pair) {
      const params = ["seed", "top_p", "frequency_penalty"];
      pair.own.answer = (q, res) => {
        if (q.body.length > (kib << 10) * 0.7) return w.overflow(res, Math.floor(kib * 180), Math.floor(kib * 256));
        const b = JSON.parse(q.body), param = params.find((p) => p in b);
        return param ? w.refuse(res, `Unsupported parameter: '${param}' is not supported with this model.`, { param, code: "unsupported_parameter" }) : w.answer(res, "seven eight");
      };
      const text = "lorem ipsum dolor sit amet ".repeat(8);
      const list = [{ role: "user", content: "Go." }];
      for (let i = 0, n = 0; n < kib << 10; i++) {
        list.push({ role: "assistant", content: null, tool_calls: [{ id: `c${i}`, type: "function", function: { name: "look", arguments: `{"i":${i}}` } }] }, { role: "tool", tool_call_id: `c${i}`, content: text });
        n += 380;
      }
      list.push({ role: "user", content: "Go on." });
      const r = await post(pair, JSON.stringify({ model: "m-own", seed: 1, top_p: 0.5, frequency_penalty: 0.1, messages: list }));
      assert.equal(r.status, 200, r.text);
      const b = JSON.parse(pair.own.seen.at(-1).body);
      for (const p of params) assert.ok(!(p in b), `${p} was not left out`);
      const calls = new Map(list.filter((m) => m.tool_calls).map((m) => [m.tool_calls[0].id, m.tool_calls[0].function.arguments]));
      for (const m of b.messages) {
        for (const c of m.tool_calls ?? []) assert.equal(c.function.arguments, calls.get(c.id), "a call is another");
        if (m.role === "tool") assert.ok(calls.has(m.tool_call_id), m.tool_call_id);
      }
      assert.equal(b.messages.at(-1).content, "Go on.");
    },
  });
