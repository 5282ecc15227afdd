// Two clients of one gateway, side by side: A says hostile words, asks for what is wrong, and meets faults; B works. What
// B's provider gets, B's answers, outcomes and waits are the same as without A. TENANTS_REQUESTS sets how many there are:
// 100000 take some seven minutes.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import http from "node:http";
import { dialects, pathOf } from "./net.mjs";
import { sleep } from "./pair.mjs";
import { holds } from "./wire.mjs";
import { json, sse, wires } from "./wires.mjs";

const REQUESTS = Number(process.env.TENANTS_REQUESTS ?? 3000);
const AT_ONCE = 4;          // of B, and three times as many of A
const A_LEAVES_MS = 400;    // A does not wait for what passes by itself, but leaves
const WAITED_MS = 4000;     // longer than without A: no machine is so busy, and every rest is longer
const names = Object.keys(dialects);

// Numbers that are the same each time: of the n-th request of a client, for one purpose.
const dice = (...of) => createHash("md5").update(of.join(" ")).digest().readUInt32LE(0) / 2 ** 32;
const pick = (list, ...of) => list[Math.floor(dice(...of) * list.length)];
const filler = (n, ...of) => Array.from({ length: n }, (_, i) => `${pick(["lorem", "ipsum", "dolor", "sit", "amet"], ...of, i)} ${i}`).join(" ");

const words = [
  "You exceeded your current quota, please check your plan and billing details.",
  "Rate limit reached, please try again in 86400s",
  "Incorrect API key provided",
  "The model m-own does not exist or you do not have access to it",
  "The server is overloaded or not ready yet",
  "This model's maximum context length is 1500 tokens. However, your messages resulted in 2200 tokens.",
  "prompt is too long: 2200 tokens > 1500 maximum",
  "Unsupported parameter: 'temperature' is not supported with this model.",
  "Your account has been deactivated, contact billing",
  "Unknown parameter: 'service_tier'.",
];

/* ---- what B asks, and how its provider is: well, but for one call in twenty ---- */

const useful = {
  openai: [{}, { temperature: 0 }, { service_tier: "flex" }, { tool_choice: "none" }, { seed: 7, top_p: 0.5 }],
  responses: [{}, { temperature: 0 }, { service_tier: "flex" }, { tool_choice: "none" }, { top_p: 0.5 }],
  anthropic: [{}, { temperature: 0 }, { service_tier: "standard_only" }, { top_k: 3 }],
  gemini: [{}, { generationConfig: { temperature: 0, topK: 3 } }, { labels: { team: "blue" } }],
};

function questionOfB(n) {
  const name = pick(names, "wire", n), d = dialects[name], stream = dice("stream", n) < 0.4;
  const text = `B-${n}. say seven eight. ${filler(dice("long", n) < 0.1 ? 1500 : 5, "text", n)}`;
  const tools = dice("tools", n) < 0.5 && name !== "gemini" ? { tools: d.tools } : {};
  const { tool_choice, ...more } = pick(useful[name], "more", n);
  return { name, d, stream, body: { ...d.body(d.own, text, stream ? { stream } : {}), ...tools, ...more, ...(tool_choice && tools.tools && { tool_choice }) } };
}

/* ---- what A asks, and what comes of it ---- */

const wrong = { openai: ["temperature", "service_tier", "tool_choice"], responses: ["temperature", "service_tier", "tool_choice"], anthropic: ["temperature", "service_tier"], gemini: ["labels"] };
const badly = { temperature: "hot", service_tier: "bogus", tool_choice: "auto", labels: "none" };
const complaint = {
  temperature: ["Invalid type for 'temperature': expected a decimal, but got a string instead.", "invalid_type"],
  service_tier: ["Invalid value: 'bogus'. Supported values are: 'auto', 'default', 'flex', and 'priority'.", "invalid_value"],
  tool_choice: ["Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.", null],
  labels: ["Invalid value at 'labels' (type.googleapis.com/google.protobuf.Struct), \"none\"", null],
};
const plans = ["quoted", "quoted", "named", "wrong", "broken", "cut", "well", "strange"];
const ownPlans = ["refused", "limited", "missing", "busy", "quota"]; // of A's own account

function questionOfA(n, own) {
  const name = pick(names, "A wire", n), d = dialects[name], stream = dice("A stream", n) < 0.4;
  const plan = pick(own ? [...plans, ...ownPlans] : plans, "A plan", n), said = pick(words, "A words", n), param = pick(wrong[name], "A param", n);
  const text = `A-${n} ${plan}. ${filler(plan === "quoted" && dice("A long", n) < 0.5 ? 1200 : 3, "A text", n)} ${said}`;
  const more = plan === "wrong" ? { [param]: badly[param] } : plan === "named" ? { [said]: 1 } : {};
  return { name, d, stream, plan, said, param, body: { ...d.body(d.own, text, stream ? { stream } : {}), ...more } };
}

const refusal = (name, message, more) => (name === "anthropic" ? { type: "error", error: { type: "invalid_request_error", message } } : name === "gemini" ? { error: { code: 400, message, status: "INVALID_ARGUMENT" } } : { error: { message, type: "invalid_request_error", param: null, code: null, ...more } });

function answerToA(a, res, tries) {
  const w = wires[a.name], d = a.d, say = (status, message, headers = {}) => res.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify({ error: { message, type: "error" } }));
  switch (a.plan) {
    case "quoted":
      return json(res, pick([400, 404, 422], "A status", a.said, tries), refusal(a.name, `Invalid value: '${a.said}'. Supported values are: 'auto' and 'default'.`, { param: "metadata", code: "invalid_value" }));
    case "named":
      return json(res, 400, refusal(a.name, a.name === "gemini" ? `Invalid JSON payload received. Unknown name "${a.said}": Cannot find field.` : a.name === "anthropic" ? `${a.said}: Extra inputs are not permitted` : `Unrecognized request argument supplied: ${a.said}`));
    case "wrong":
      return a.again[a.param] === badly[a.param] ? json(res, 400, refusal(a.name, complaint[a.param][0], { param: a.param, code: complaint[a.param][1] })) : well(a, res);
    case "broken":
      return tries < 2 ? say(500, `Internal error while handling "${a.said}"`) : well(a, res);
    case "cut":
      return tries < 2 && a.stream ? sse(res, w.opening(), w.piece("seven")).destroy() : tries < 2 ? res.destroy() : well(a, res);
    case "strange":
      return tries < 2 ? res.writeHead(200, { "content-type": "application/json" }).end(`{"oops": ${JSON.stringify(a.said)}`) : well(a, res);
    case "refused":
      return say(401, "Incorrect API key provided: this one. You can find your API key in your account.");
    case "limited":
      return say(429, "Rate limit reached for requests per day", { "retry-after": "3600" });
    case "missing":
      return json(res, 404, { error: { message: `The model ${d.own} does not exist or you do not have access to it.`, type: "invalid_request_error", code: "model_not_found" } });
    case "busy":
      return say(503, "The model is overloaded. Please try again later.", { "retry-after": "30" });
    case "quota":
      return json(res, 429, { error: { message: words[0], type: "insufficient_quota", code: "insufficient_quota" } });
    default:
      return well(a, res);
  }
}

function well({ name, stream }, res) {
  const w = wires[name];
  return stream ? sse(res, w.opening(), w.piece("seven "), w.piece("eight"), w.closing()).end() : w.answer(res, "seven eight");
}

/* ---- the two of them ---- */

const agent = new http.Agent({ keepAlive: true, maxSockets: 8 * AT_ONCE });
const headersOf = (name, key) => (name === "anthropic" ? { "x-api-key": key, "anthropic-version": "2023-06-01" } : name === "gemini" ? { "x-goog-api-key": key } : { authorization: `Bearer ${key}` });

function send(pair, { name, d, stream, body }, key, deadline) {
  const began = performance.now();
  return new Promise((ok) => {
    const req = http.request({ host: "127.0.0.1", port: pair.port, path: pathOf(d, d.own, stream), method: "POST", agent, headers: { ...headersOf(name, key), "content-type": "application/json" } }, (res) => {
      const parts = [];
      res.on("data", (p) => parts.push(p));
      const end = () => ok({ status: res.statusCode, headers: res.headers, text: Buffer.concat(parts).toString(), took: performance.now() - began });
      res.on("end", end);
      res.on("error", end);
    });
    req.on("error", (e) => ok({ status: 0, headers: {}, text: String(e.code), took: performance.now() - began }));
    if (deadline) setTimeout(() => req.destroy(), deadline).unref();
    req.end(JSON.stringify(body));
  });
}

// Ids and times of an answer are its own; the rest is B's.
const stable = (text) => text.replace(/case=[0-9a-f]{16}/g, "").replace(/"case":"[0-9a-f]{16}"/g, "");

async function play(pair, own, withA) {
  const got = new Map(), tries = new Map(), of = new Map();
  const keyB = own ? "k-tenant-b" : "k-any", keyA = own ? "k-tenant-a" : "k-any";
  pair.own.answer = (q, res) => {
    pair.own.seen.length = 0;
    const who = /([AB])-(\d+)[. ]/.exec(q.body), id = who[0].slice(0, -1), t = (tries.get(id) ?? 0) + 1;
    tries.set(id, t);
    if (who[1] === "A") return answerToA({ ...questionOfA(Number(who[2]), own), again: JSON.parse(q.body) }, res, t);
    got.set(id, [...(got.get(id) ?? []), `${q.url} ${q.headers.authorization ?? q.headers["x-api-key"] ?? q.headers["x-goog-api-key"]} ${createHash("md5").update(q.body).digest("hex")}`]);
    const b = of.get(id);
    return t === 1 && dice("B fault", id) < 0.05 ? json(res, 500, { error: { message: "The server had an error while processing your request", type: "server_error" } }) : well(b, res);
  };
  const seen = [];
  let next = 0, nextA = 0, over = false;
  const b = async () => {
    for (let n; (n = next++) < REQUESTS / 2; ) {
      while (withA && nextA * 3 <= n) await sleep(2); // B is not over before A has done its worst
      const q = questionOfB(n);
      of.set(`B-${n}`, q);
      const r = await send(pair, q, keyB);
      seen[n] = { n, status: r.status, text: stable(r.text), outcome: r.headers["x-daruma-outcome"], remedies: r.headers["x-daruma-remedies"], attempts: r.headers["x-daruma-attempts"], target: r.headers["x-daruma-target"], got: got.get(`B-${n}`), took: r.took };
    }
  };
  const a = async () => {
    for (let n; !over && (n = nextA++) < REQUESTS / 2; ) {
      const q = questionOfA(n, own);
      await send(pair, q, keyA, A_LEAVES_MS);
      tries.delete(`A-${n}`);
    }
  };
  const many = (n, f) => Promise.all(Array.from({ length: n }, f));
  const hostile = withA ? many(3 * AT_ONCE, a) : null;
  await many(AT_ONCE, b);
  over = true;
  await hostile;
  return { seen, hostile: nextA };
}

for (const own of [false, true])
  holds(`two tenants, ${own ? "each with a key of its own" : "with the gateway's keys"}: what one meets is the same whatever the other does`, {
    limit: 30000 + REQUESTS * 20,
    config: config(own),
    async run(pair) {
      const both = await play(pair, own, true);
      const learned = (await pair.status()).models_learned;
      await pair.again(config(own));
      const alone = await play(pair, own, false);
      assert.ok(both.hostile > REQUESTS / 8, `A asked ${both.hostile} times only`);
      let other = 0, first = null, late = [];
      for (let n = 0; n < alone.seen.length; n++) {
        const { took: t, ...x } = both.seen[n], { took: u, ...y } = alone.seen[n];
        if (JSON.stringify(x) !== JSON.stringify(y)) other++, (first ??= [x, y]);
        if (t > WAITED_MS + u) late.push(Math.round(t));
      }
      const median = (s) => s.map((r) => r.took).sort((p, q) => p - q)[s.length >> 1].toFixed(1);
      console.log(`# two tenants, ${own ? "own keys" : "one account"}: ${alone.seen.length} requests of B beside ${both.hostile} of A: ${other} differ, ${late.length} waited; median ${median(both.seen)} ms, ${median(alone.seen)} ms alone`);
      assert.equal(other, 0, `the first that differs, with A and without:\n${JSON.stringify(first, null, 1)?.slice(0, 4000)}\nlearned: ${JSON.stringify(learned)}`);
      assert.deepEqual(late, [], "B waited");
    },
  });

function config(own) {
  return (c) => {
    c.timeouts = {};
    c.recovery = { hedge: "off", /* a busy machine is silent, too */ kinds: Object.fromEntries(["server_error", "interrupted", "malformed_output", "unknown", "network", "overloaded"].map((k) => [k, { delay: "5ms", max_delay: "20ms" }])) };
    c.events = undefined;
    c.providers.forEach((p) => (own ? delete p.keys : p.keys.pop())); // which of two keys carries B is the order of health
  };
}
