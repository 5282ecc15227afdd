// How long the loop is at work at a time, while requests of every shape of bench/shapes.c are read, watched, mended, written for
// another dialect and judged: what /daruma/status says of it, in CPU time of the loop's thread, so that a busy machine counts
// for little. `run.mjs --turns` runs these alone, for a build without sanitizers (`./test turns`).
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { ask, dialects, pathOf } from "./net.mjs";
import { daruma } from "./pair.mjs";
import { target, wires } from "./wires.mjs";

// What is promised is 50 ms; on an idle machine it takes 10 to 40. Beside other programs the same work takes up to twice the CPU
// time (caches, and threads that share a core), and a virtual machine adds what its host does. What goes wrong in such code goes
// wrong by more: work that belongs beside the loop takes 200 ms and more at these sizes, work that grows with the square seconds.
const TURN_MS_MAX = 150;

// Just below what goes beside the loop (JOB_BYTES_MIN), below what is looked at there (LOOK_BYTES_MAX), and below the most that is
// read on the loop (LOOP_BYTES_MAX).
const SIZES = [125 << 10, 1000 << 10, 2500 << 10];

export const scenarios = [];
const holds = (what, s) => scenarios.push({ chaos: "faults: []\n", ...s, name: `turns: ${what}` });

const program = join(dirname(realpathSync(daruma)), "../../bench/bench_shape");
const shape = (...args) => {
  try {
    return execFileSync(program, args.map(String), { maxBuffer: 1 << 28, encoding: "utf8" });
  } catch (e) {
    if (e.status !== 1) throw e;
    return ""; // the dialect has no such requests
  }
};

const patient = (c) => ((c.recovery.hedge = "off"), Object.assign(c.timeouts, { connect: "60s", first_byte: "60s", idle: "60s", total: "120s" }));
const others = { openai: "gemini", responses: "anthropic", anthropic: "openai", gemini: "anthropic" };
const dialectOf = (url) => (/generateContent/i.test(url) ? "gemini" : /messages$/.test(url) ? "anthropic" : /responses$/.test(url) ? "responses" : "openai");
const send = (pair, d, body) => ask(pair, pathOf(d, "m"), { method: "POST", headers: { ...d.headers, "content-type": "application/json" }, body });
const turn = async (pair) => (await pair.status()).loop.longest_turn_ms;
const hot = (name, body) => body.replace("{", name === "gemini" ? '{"generationConfig":{"temperature":0.5},' : '{"temperature":0.5,');

// Refuses a parameter, then the model, both with words of the request; whoever is asked next answers.
const refusing = (name) => {
  const w = wires[name], more = name === "openai" || name === "responses" ? { param: "temperature", code: "unsupported_parameter" } : {};
  return (q, res) => {
    const now = dialectOf(q.url), text = q.body.toString();
    if (now !== name) wires[now].answer(res, "seven eight");
    else if (/"temperature":/.test(text.slice(0, 100))) w.refuse(res, name === "gemini" ? 'Invalid JSON payload received. Unknown name "temperature" at \'generation_config\': Cannot find field.' : "Unsupported parameter: 'temperature' is not supported with this model.", more);
    else w.refuse(res, `The model \`m\` does not exist: ${text.slice(-1500)}`, { code: "model_not_found" });
  };
};

for (const name of Object.keys(wires))
  for (const [what, targets, answer] of [
    ["is answered", [target[name]], () => (q, res) => wires[name].answer(res, "seven eight")],
    ["is refused, mended, refused and moved", [target[name], target[others[name]]], refusing],
  ])
    holds(`${name}: no request of any shape that ${what} holds the loop`, {
      limit: 600000,
      config: (c) => (patient(c), c.models.push({ name: "m", targets })),
      async run(pair) {
        assert.ok(existsSync(program), `${program} is not built`);
        const d = dialects[name], long = [];
        let last = 0, sent = 0;
        pair.own.answer = answer(name);
        for (const kind of shape().trim().split("\n"))
          for (const bytes of targets.length > 1 ? [SIZES.at(0), SIZES.at(-1)] : SIZES) {
            const body = shape(kind, name === "openai" ? "chat" : name, bytes);
            if (!body) continue;
            const r = await send(pair, d, targets.length > 1 ? hot(name, body) : body), now = await turn(pair);
            if (process.env.TURNS_TOLD && now > last) console.log(`# ${name}, ${kind} of ${bytes >> 10} KiB: ${now} ms, status ${r.status}, ${r.headers["x-daruma-remedies"]}`);
            if (now > last && now > TURN_MS_MAX) long.push(`${kind} of ${bytes >> 10} KiB: ${now} ms`);
            last = now;
            sent++;
            pair.own.seen.length = 0;
          }
        assert.ok(sent > 40, `${sent} requests`);
        assert.deepEqual(long, []);
      },
    });

// Agents in circles, whose newest messages bring as much as is read of them: they are judged, and set right.
const failed = (i, bytes) => {
  let text = "Traceback (most recent call last):\n";
  for (let k = 0; text.length < bytes; k++) text += `  File "/src/file_${i}_${k}.py", line ${k}, in run\n    raise ValueError(${i})\n`;
  return `${text}ValueError: cannot open /src/file_${i}.c`;
};
for (const [what, n, bytes, circles] of [
  ["20 long failures", 20, 110 << 10, true],
  ["60 failures", 60, 38 << 10, true],
  ["240 short ones", 240, 9 << 10, false],
])
  holds(`an agent whose newest turn brings ${what}, 2.3 MB in all, ${circles ? "is set right" : "is judged"} and holds nobody up`, {
    limit: 120000,
    config: (c) => (patient(c), c.models.push({ name: "m", targets: [target.openai] })),
    async run(pair) {
      const w = wires.openai;
      pair.own.answer = (q, res) => w.answer(res, "seven eight");
      for (let round = 0; round < 5; round++) {
        const calls = Array.from({ length: n }, (_, i) => ({ id: `call_${i}`, type: "function", function: { name: "look", arguments: `{"n":${i}}` } }));
        const messages = [{ role: "user", content: `Go, for the time number ${round}.` }, { role: "assistant", content: null, tool_calls: calls }, ...calls.map((c, i) => ({ role: "tool", tool_call_id: c.id, content: failed(i, bytes) }))];
        const r = await send(pair, dialects.openai, JSON.stringify({ model: "m", tools: w.tools({ type: "object", properties: {} }), messages }));
        assert.deepEqual([r.status, r.headers["x-daruma-remedies"]], [200, circles ? "notice" : "none"]);
      }
      const ms = await turn(pair);
      if (process.env.TURNS_TOLD) console.log(`# ${what}: ${ms} ms`);
      assert.ok(ms <= TURN_MS_MAX, `${ms} ms`);
    },
  });

// What a provider says, or a model calls, that once cost work with the square of its length, or without a bound.
const deep = Array.from({ length: 12 }).reduce((args) => `{"a":${args}}`, "1");
const recursive = { type: "object", properties: { a: { anyOf: [{ $ref: "#" }, { $ref: "#" }] } }, required: ["b"] };
for (const [what, more, answer] of [
  ["an error of 240 KiB of backslashes", {}, (q, res) => wires.openai.refuse(res, `no: ${"\\".repeat(240 << 10)} x`)],
  ["an error that repeats 51 KB without a space", { stop: Array(20).fill("zq") }, (q, res) => wires.openai.refuse(res, `no: ${`zq${".".repeat(100)}`.repeat(500)}`)],
  ["100 calls of a tool whose schema refers to itself", { tools: wires.openai.tools(recursive) }, (q, res) => wires.openai.answer(res, "", Array.from({ length: 100 }, (_, i) => [`c${i}`, "look", deep]))],
])
  holds(`${what} holds nobody up`, {
    limit: 120000,
    config: (c) => (patient(c), (c.recovery.max_attempts = 1), c.models.push({ name: "m", targets: [target.openai] })),
    async run(pair) {
      pair.own.answer = answer;
      const r = await send(pair, dialects.openai, JSON.stringify({ model: "m", ...more, messages: [{ role: "user", content: `zq${".".repeat(100)}`.repeat(500) }] }));
      assert.ok(r.status >= 200, r.text);
      const ms = await turn(pair);
      if (process.env.TURNS_TOLD) console.log(`# ${what}: ${ms} ms`);
      assert.ok(ms <= TURN_MS_MAX, `${ms} ms`);
    },
  });
