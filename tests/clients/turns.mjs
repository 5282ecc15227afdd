// How long the loop is at work at a time, while requests of every shape of bench/shapes.c are read, watched, mended, written for
// another dialect and judged: what /daruma/status says of it, in CPU time of the loop's thread, so that a busy machine counts
// for little. `run.mjs --turns` runs these alone, for a build without sanitizers (`./test turns`).
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ask, dialects, pathOf, question, until } from "./net.mjs";
import { daruma } from "./pair.mjs";
import { sse, target, wires } from "./wires.mjs";

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

// What a provider says, or a model calls, that once cost work with the square of its length, or without a bound: it holds nobody
// up, and it was read all the same.
const quick = (pair, what) =>
  turn(pair).then((ms) => {
    if (process.env.TURNS_TOLD) console.log(`# ${what}: ${ms} ms`);
    assert.ok(ms <= TURN_MS_MAX, `${ms} ms`);
  });
const alone = (name) => (c) => (patient(c), (c.recovery.max_attempts = 1), c.models.push({ name: "m", targets: [target[name]] }));

// `message` without its credentials is what the client is told, to the last byte.
const key = "sk-proj-4711abcDEF0815ghiJKL";
const many = (word, bytes) => word.repeat(Math.floor(bytes / word.length));
for (const [what, message, clean] of [
  ["backslashes", `no: ${many("\\", 120 << 10)} sk-one x`, `no: ${many("\\", 120 << 10)} [redacted] x`],
  ["beginnings of keys", `no: ${many("sk-", 240 << 10)} ${key} x`, `no: ${many("sk-", 240 << 10)} [redacted] x`],
  ["beginnings of keys before dots", `no: ${many(`${many("xai-", 8000)}${many("./", 8000)} `, 240 << 10)} ${key} x`, `no: ${many(`${many("xai-", 8000)}${many("./", 8000)} `, 240 << 10)} [redacted] x`],
  ["names of secrets", `no: ${many("token=", 240 << 10)} ${key} x`, `no: ${many("token=", 240 << 10)} [redacted] x`],
  ["names of secrets in quotes", `no: ${many("token:' ", 240 << 10)}' ${key} x`, `no: ${many("token:' ", 240 << 10)}' [redacted] x`],
  ["words of one letter", `no: ${many("s-", 240 << 10)} ${key} x`, `no: ${many("s-", 240 << 10)} [redacted] x`],
  ["single stars", `no: ${many("a*", 240 << 10)} ${key} x`, `no: ${many("a*", 240 << 10)} [redacted] x`],
  ["signs of addresses", `no: ${many("a://", 120 << 10)}${many("@a.", 120 << 10)} ${key} x`, `no: ${many("a://", 120 << 10)}${many("@a.", 120 << 10)} [redacted] x`],
])
  holds(`an error of ${message.length >> 10} KiB of ${what} holds nobody up, and is told without the key in it`, {
    limit: 120000,
    config: alone("openai"),
    async run(pair) {
      pair.own.answer = (q, res) => wires.openai.refuse(res, message);
      const r = await send(pair, dialects.openai, JSON.stringify({ model: "m", messages: [{ role: "user", content: "hi" }] }));
      assert.equal(r.status, 400, r.text.slice(0, 300));
      const said = JSON.parse(r.text).error.message, at = [...said].findIndex((c, i) => c !== clean[i]);
      assert.ok(said === clean, `${said.length} bytes for ${clean.length}, from byte ${at} on: ${said.slice(at - 20, at + 60)} in place of ${clean.slice(at - 20, at + 60)}`);
      await quick(pair, what);
    },
  });

// Each of our keys is looked for in every form that shows it.
const keys60 = Array.from({ length: 60 }, (_, i) => `Own.Key.${i}.${"x7Yz".repeat(8)}`);
for (const [what, filler] of [
  ["base64", Buffer.from("what somebody sent there ".repeat(20)).toString("base64").replaceAll("=", "")],
  ["pieces of keys in base64", Buffer.from(keys60[7].slice(0, 30)).toString("base64")],
  ["digits", Buffer.from("what somebody sent there ".repeat(20)).toString("hex")],
])
  holds(`an error of 240 KiB of ${what} beside 60 keys holds nobody up, and is told without the key in it`, {
    limit: 120000,
    config: (c) => (alone("openai")(c), (c.providers.find((p) => p.name === "own").keys = keys60)),
    async run(pair) {
      const all = `${many(filler, 240 << 10)} ${Buffer.from(`a:${keys60[41]}:b`).toString("base64")} x`;
      pair.own.answer = (q, res) => wires.openai.refuse(res, all);
      const r = await send(pair, dialects.openai, JSON.stringify({ model: "m", messages: [{ role: "user", content: "hi" }] }));
      assert.equal(r.status, 400, r.text.slice(0, 300));
      const said = JSON.parse(r.text).error.message;
      assert.match(said.slice(-40), /^[\w+/ ]*YT\[redacted\]OmI= x$/, said.slice(-100));
      await quick(pair, `${what} and keys`);
    },
  });

// Credentials of the client whose beginning the error says everywhere: the search for one costs no more than its length.
holds("an error of 240 KiB that nearly says the client's long keys everywhere holds nobody up", {
  limit: 120000,
  config: alone("openai"),
  async run(pair) {
    const more = Object.fromEntries(Array.from({ length: 6 }, (_, i) => [`x-${i}-token`, many("A", 2500) + i]));
    pair.own.answer = (q, res) => wires.openai.refuse(res, many("A", 240 << 10));
    const headers = { "content-type": "application/json", ...more };
    const r = await ask(pair, "/v1/chat/completions", { method: "POST", headers, body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "hi" }] }) });
    assert.equal(r.status, 400, r.text.slice(0, 300));
    await quick(pair, "long keys");
  },
});

holds("an error that repeats 51 KB of the request without a space holds nobody up, and is known as a quote", {
  limit: 120000,
  config: alone("openai"),
  async run(pair) {
    const hostile = "You exceeded your current quota, please check your plan and billing details.", quoted = `${hostile} no: ${`zq${".".repeat(100)}`.repeat(500)}`;
    const rests = async () => (await pair.status()).places.filter((p) => p.cool_in_ms > 0).length;
    const ask = (content) => send(pair, dialects.openai, JSON.stringify({ model: "m", stop: Array(20).fill("zq"), messages: [{ role: "user", content }] }));
    pair.own.answer = (q, res) => wires.openai.refuse(res, quoted);
    const bad = await ask(quoted);
    assert.deepEqual([bad.status, pair.own.seen.length, await rests()], [400, 1, 0], bad.text.slice(0, 300));
    await quick(pair, "a quote");
    await ask(quoted.slice(hostile.length)); // who says it unasked is believed
    assert.ok((await rests()) > 0, "words of its own are taken for a quote");
  },
});

// A schema that refers to itself doubles the work with each level of what is held against it. The steps of that are bounded; what
// was not looked at goes out as it came, and that is told. A call that lacks what is required is known as wrong at once, asked for again, and
// goes out as it came when it stays so.
const deep = (levels) => Array.from({ length: levels }).reduce((args) => `{"a":${args}}`, "1");
const recursive = { type: "object", properties: { a: { anyOf: [{ $ref: "#" }, { $ref: "#" }] }, b: { type: "integer" } } };
for (const [what, more, all, as, wrong] of [
  ["100 calls, the first of them broken,", {}, ['{"b":1,}', ...Array(99).fill(deep(20))], ['{"b":1}', ...Array(99).fill(deep(20))]],
  ["one call", {}, [deep(20)], [deep(20)]],
  ["100 calls that lack what is required", { required: ["b"] }, Array(100).fill(deep(12)), Array(100).fill(deep(12)), true],
])
  for (const stream of [false, true])
    holds(`${what} of a tool whose schema refers to itself${stream ? ", in pieces," : ""} hold nobody up, and ${wrong ? "are asked for again" : "what is not checked goes out as it came, and is told"}`, {
      limit: 120000,
      config: alone("openai"),
      async run(pair) {
        const w = wires.openai, list = all.map((a, i) => [`c${i}`, "look", a]);
        pair.own.answer = (q, res) => (stream ? sse(res, w.opening(), list.map(([id, n, a], i) => w.called(i, id, n, a)).join("")).end(w.closingCalls()) : w.answer(res, "", list));
        const r = await question(pair, dialects.openai, { model: "m", stream, more: { tools: w.tools({ ...recursive, ...more }) } }), told = pair.events();
        assert.equal(r.status, 200, r.text.slice(0, 300));
        assert.deepEqual(w.calls(r).map((c) => c.join(" ")).join("\n"), as.map((a, i) => `c${i} look ${a}`).join("\n"));
        const given = told.filter((e) => e.event === "mending_given_up" && /answer/.test(e.reason)).length;
        if (!wrong) assert.equal(given, 1, "what was not checked is not told");
        else assert.ok(pair.own.seen.length > 2 && told.some((e) => e.outcome === "degraded"), "nobody is told");
        if (!wrong) assert.equal(told.filter((e) => e.event === "output_repair" && /arguments/.test(e.reason)).length, as.length > 1 ? 1 : 0);
        await quick(pair, what);
      },
    });

// A format of 2.3 MB is read beside the loop, each time that an answer is held against it.
const wide = { type: "object", properties: Object.fromEntries(Array.from({ length: 76000 }, (_, i) => [`p${i}`, { type: "integer" }])), required: ["p1"], additionalProperties: false };
for (const name of Object.keys(wires))
  for (const stream of [false, true])
    holds(`${name}: an answer${stream ? " in pieces" : ""} that is asked for by a schema of ${JSON.stringify(wide).length >> 10} KiB holds nobody up, and is made to fit`, {
      limit: 120000,
      config: alone(name),
      async run(pair) {
        const d = dialects[name], w = wires[name];
        pair.own.answer = (q, res) => (stream ? sse(res, w.opening(), w.piece('```json\n{"p1": "7",'), w.piece(' "p2": 8}\n```')).end(w.closing()) : w.answer(res, '```json\n{"p1": "7", "p2": 8}\n```'));
        const r = await question(pair, d, { model: "m", stream, more: w.format(wide) });
        assert.equal(r.status, 200, r.text.slice(0, 300));
        assert.deepEqual(JSON.parse(r.said), { p1: 7, p2: 8 }, r.text.slice(0, 300));
        assert.equal(pair.events().filter((e) => e.event === "output_repair").length, 1);
        assert.ok((await pair.status()).calls.beside_the_loop > 0, "it was done on the loop");
        await quick(pair, "a format");
      },
    });

// Does the client have the end of it, and in one of Responses that daruma wrote all of the text once more?
const ends = (d, r, text) => {
  const whole = r.events.find((e) => e.json?.type === "response.completed");
  return d.ended(r.events) && (!whole || whole.json.response.output.map((o) => o.content?.[0]?.text).join("") === text);
};

// A long answer: whole, in pieces of the usual size, and in pieces as large as a proxy makes of many, for a client of its dialect and
// for one of another. What it says comes back to the last letter, and ends, or the answer is too long to be written anew, and that is
// told.
const prose = (bytes) => many('He said: "no", and \\ went on with \u00e4 line.\n', bytes);
for (const name of Object.keys(wires))
  for (const from of [name, others[name]])
    for (const [what, size] of [["whole"], ["in pieces", 1000], ["in large pieces", 200 << 10]])
      holds(`${name}: a long answer ${what} of ${from === name ? "its own dialect" : from} holds nobody up`, {
        limit: 300000,
        config: (c) => (patient(c), c.models.push({ name: "m", targets: [target[from]] })),
        async run(pair) {
          const d = dialects[name], w = wires[from];
          for (const bytes of [8 << 20, 32 << 20]) {
            const text = prose(bytes), all = [w.opening()];
            for (let i = 0; size && i < text.length; i += size) all.push(w.piece(text.slice(i, i + size)));
            pair.own.answer = (q, res) => (size ? sse(res, all.join("")).end(w.closing()) : w.answer(res, text));
            const r = await question(pair, d, { model: "m", stream: Boolean(size) });
            if (process.env.TURNS_TOLD) console.log(`# ${name} of ${from}, ${what}, ${bytes >> 20} MiB: ${await turn(pair)} ms, ${r.status}, ${r.said.length} of ${text.length}`);
            if (!size && from !== name && bytes > 16 << 20) assert.equal(r.status, 502); // ANSWER_HELD_BYTES_MAX
            else assert.ok(r.said === text, `${r.status}, ${r.said.length} of ${text.length} letters`);
            const repeats = from === "responses" && name !== from; // the last event of its provider has all of the text: SSE_EVENT_BYTES_MAX
            if (size && !repeats && !ends(d, r, text)) {
              assert.ok(name === "responses" && from !== name && bytes > 16 << 20, `an answer of ${bytes} bytes does not end`); // TALK_BYTES_MAX
              assert.match(r.text.slice(-3000), /too long to be written anew/);
              assert.deepEqual((await pair.status()).places.filter((p) => p.cool_in_ms > 0 || p.bad > 0), []);
            }
            pair.heard.length = 0;
          }
          await quick(pair, `a long answer ${what}`);
        },
      });

// Of all that is kept in a state file compressions are most by far: KNOWN_TEXT_BYTES of text, small or large pieces of it.
for (const bytes of [256, 4000])
  holds(`a snapshot of all compressions that are remembered, of ${bytes} bytes each, holds nobody up`, {
    limit: 120000,
    config: alone("openai"),
    async run(pair) {
      const w = wires.openai, folder = join(pair.dir, "kept"), file = join(folder, "state.jsonl"), hex = (n) => n.toString(16).padStart(16, "0"), n = Math.floor((8 << 20) / bytes);
      const text = "line of output, and another\n".repeat(bytes / 28 + 1).slice(0, bytes);
      mkdirSync(folder, { recursive: true });
      writeFileSync(file, `${['{"is":"daruma_memory","form":1}', ...Array.from({ length: n }, (_, i) => JSON.stringify({ is: "compressed", id: hex(i + 7), id_high: hex(i + 11), text }))].join("\n")}\n`);
      await pair.again((c) => (alone("openai")(c), (c.state = folder)));
      const known = (await pair.status()).known_compressions;
      assert.ok(known.bytes > 7 << 20, JSON.stringify(known));
      pair.own.answer = (q, res) => (pair.own.seen.length % 2 ? w.refuse(res, "Unsupported parameter: 'seed' is not supported with this model.", { param: "seed", code: "unsupported_parameter" }) : w.answer(res, "seven eight"));
      rmSync(file);
      await question(pair, dialects.openai, { model: "m", more: { seed: 1 } });
      await until("it is written", () => existsSync(file) && statSync(file).size > 8 << 20, 20000);
      console.log(`# it took ${await turn(pair)} ms`);
      await quick(pair, "a snapshot");
    },
  });
