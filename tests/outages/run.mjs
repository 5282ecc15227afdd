// Outages that last, over real sockets: each world of worlds.mjs has a place that is sick for a
// while. A steady stream of requests, then a burst, through `daruma serve`; what could be answered has to be answered.
//
//   clients --> daruma serve --> daruma chaos (one for each provider)
//
// DARUMA=path/to/daruma node run.mjs [--rate N] [--scale N] [--burst N] [--pairs N] [--noisy] [WORD...]
// Prints TAP, and a table in comments: answered, calls a request, calls to the sick place behind its first three seconds,
// times. --scale 0.3 makes what lasts shorter, --burst a burst smaller, --pairs says how many worlds are played side by side.
// With --noisy only what was lost counts: times and calls to sick places are told, and judged by the full run alone.
// Healthy calls that are silent for minutes: long.mjs.
import { writeFileSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";
import { deaths, dir, sleep, start } from "./kit.mjs";
import { worlds } from "./worlds.mjs";

const args = process.argv.slice(2);
const option = (name, fallback) => {
  const i = args.indexOf(`--${name}`);
  return i < 0 ? fallback : Number(args.splice(i, 2)[1]);
};
const rate = option("rate", 8), scale = option("scale", 1), burst = option("burst", 500), pairs = option("pairs", 6);
const noisy = args.includes("--noisy"), SECONDS = 20;
const words = args.filter((a) => !a.startsWith("--"));
const agent = new http.Agent({ keepAlive: true, maxSockets: 2000 });

function ask(port, path, body, headers = {}) {
  const began = performance.now();
  return new Promise((done) => {
    const text = JSON.stringify(body);
    const req = http.request({ port, path, method: "POST", agent, headers: { "content-type": "application/json", "content-length": Buffer.byteLength(text), ...headers } }, (res) => {
      let got = "";
      res.setEncoding("utf8");
      res.on("data", (d) => (got += d));
      res.on("end", () => done({ status: res.statusCode, body: got, headers: res.headers, ms: performance.now() - began }));
      res.on("error", () => done({ status: 0, body: got, ms: performance.now() - began }));
      res.on("aborted", () => done({ status: 0, body: got, ms: performance.now() - began }));
    });
    req.on("error", (e) => done({ status: 0, body: String(e), ms: performance.now() - began }));
    req.end(text);
  });
}

// One connection each, made before the first fault: a provider that refuses connections keeps those it has.
const lines = new Map();
const control = (port, path, body) => new Promise((ok, no) => {
  if (!lines.has(port)) lines.set(port, new http.Agent({ keepAlive: true, maxSockets: 1 }));
  const req = http.request({ port, path, method: body === undefined ? "GET" : "POST", agent: lines.get(port) }, (res) => {
    let got = "";
    res.on("data", (d) => (got += d)).on("end", () => (res.statusCode < 300 ? ok(got) : no(new Error(got))));
  });
  req.on("error", no);
  req.end(body);
});

// The text of an answer, plain or streamed; null when it is not whole.
function text(r, stream) {
  if (r.status !== 200) return null;
  try {
    if (!stream) return JSON.parse(r.body).choices[0].message.content;
    if (!/data: \[DONE\]/.test(r.body) || /"error"/.test(r.body)) return null;
    return r.body.split("\n").filter((l) => l.startsWith("data: {")).map((l) => JSON.parse(l.slice(6)).choices[0]?.delta?.content ?? "").join("");
  } catch {
    return null;
  }
}

const at = (list, share) => list.length ? list[Math.min(list.length - 1, Math.floor(list.length * share))] : NaN;

async function play(w, loadKind) {
  const chaos = [];
  for (let i = 0; i < (w.providers ?? 1); i++) {
    const script = join(dir, `${w.id}-${loadKind}-${i}.yaml`);
    writeFileSync(script, JSON.stringify({ listen: "127.0.0.1:0", seed: 7, models: w.models?.[i] ?? { a: {}, b: {} } }));
    chaos.push(await start("chaos", script, "--quiet"));
  }
  const lasts = (f) => (f.for ? { ...f, for: `${Math.round(parseInt(f.for) * 1000 * scale)}ms` } : f);
  const turn = (t) => Promise.all(chaos.map((c, i) => control(c.port, "/chaos/script", JSON.stringify({ faults: w.faults(t, i).map(lasts) }))));
  const config = join(dir, `${w.id}-${loadKind}.yaml`);
  writeFileSync(config, JSON.stringify({
    listen: "127.0.0.1:0",
    providers: chaos.map((c, i) => ({ name: `p${i}`, dialect: "openai", url: `http://127.0.0.1:${c.port}`, keys: w.serveKeys ?? ["sk-one"] })),
    models: [{ name: "m", targets: w.targets ?? ["p0/a", "p0/b"] }],
    ...w.config,
  }));
  const gateway = await start("serve", "--config", config);
  await turn(0);
  const began = performance.now();
  const timers = (w.turns ?? []).filter((t) => t).map((t) => setTimeout(() => turn(t).catch((e) => console.log(`# ${w.id}: ${e.message}`)), t * 1000 * scale));
  const calls = async () => {
    const reports = await Promise.all(chaos.map((c) => control(c.port, "/chaos/report").then(JSON.parse)));
    const all = reports.reduce((n, r) => n + r.calls, 0);
    const count = (v) => (typeof v === "number" ? v : v?.calls ?? 0);
    const sick = w.sick ? reports.reduce((n, r, i) => n + (w.sick.provider === undefined || w.sick.provider === i ? (w.sick.model ? count(r.models[w.sick.model]) : r.calls) : 0), 0) : 0;
    return { all, sick };
  };
  let early = { all: 0, sick: 0 };
  const earlyAt = setTimeout(async () => (early = await calls()), 3000 * scale);
  const results = [];
  const one = async (i) => {
    const stream = i % 2 === 1, word = `answer-${i}`;
    const r = await ask(gateway.port, "/v1/chat/completions", { model: "m", stream, messages: [{ role: "user", content: `say ${word}` }] }, { "x-stainless-timeout": String(w.deadline ?? 120) });
    results.push({ ...r, ok: text(r, stream) === word, stream });
  };
  const asked = [];
  if (loadKind === "burst") {
    if (w.burstAt) await sleep(w.burstAt * 1000 * scale);
    for (let i = 0; i < burst; i++) asked.push(one(i));
  } else {
    const n = Math.ceil((w.rate ?? rate) * (w.seconds ?? SECONDS) * scale);
    for (let i = 0; i < n; i++) {
      asked.push(one(i));
      await sleep(Math.max(0, began + ((i + 1) * 1000) / (w.rate ?? rate) - performance.now()));
    }
  }
  await Promise.all(asked);
  clearTimeout(earlyAt);
  timers.forEach(clearTimeout);
  const late = await calls();
  for (const c of [gateway, ...chaos]) c.stop();
  const good = results.filter((r) => r.ok), times = results.map((r) => r.ms).sort((a, b) => a - b);
  return {
    n: results.length, good: good.length, calls: late.all / results.length,
    sick: late.all > early.all ? (late.sick - early.sick) / (late.all - early.all) : 0, sickCalls: late.sick - early.sick,
    p50: at(times, 0.5), p99: at(times, 0.99), max: times.at(-1), bad: results.filter((r) => !r.ok),
  };
}

const plays = worlds.filter((w) => !words.length || words.some((x) => `${w.id} ${w.name}`.includes(x)))
  .flatMap((w) => (w.loads ?? ["steady", "burst"]).map((load) => ({ w, load })));
console.log(`1..${plays.length}`);
const queue = plays.sort((a, b) => !!b.w.lasts - !!a.w.lasts); // the longest first
let told = 0, failed = 0;
async function worker() {
  for (let p; (p = queue.shift()); ) {
    let r, why;
    try {
      r = await play(p.w, p.load);
      const share = r.good / r.n;
      if (share < 0.995 && r.bad.length > (p.w.tolerates ?? 0)) why = `${(100 * share).toFixed(1)} % answered`;
      // A burst is over before much is known; a place that nobody can do without is called when it may be back.
      if (!why && !noisy && p.load === "steady" && p.w.sick && !p.w.alone && r.sickCalls > 2 && r.sick > 0.02) why = `${(100 * r.sick).toFixed(1)} % of the calls went to the sick place`;
      if (!why && !noisy && p.w.within && r.p50 > p.w.within) why = `half of the answers took more than ${p.w.within} ms`;
      if (!why && !noisy && p.load === "steady" && p.w.calls && r.calls > p.w.calls) why = `more than ${p.w.calls} calls a request`;
    } catch (e) {
      why = e.stack;
    }
    told++;
    failed += !!why;
    console.log(`${why ? "not ok" : "ok"} ${told} - ${p.load}: ${p.w.name}`);
    if (r) console.log(`# ${r.good}/${r.n} answered, ${r.calls.toFixed(2)} calls a request, ${(100 * r.sick).toFixed(1)} % to the sick place, p50 ${r.p50.toFixed(0)} p99 ${r.p99.toFixed(0)} max ${r.max.toFixed(0)} ms`);
    if (why) console.log(`# ${why}`.replaceAll("\n", "\n# "));
    if (r?.bad.length && process.env.VERBOSE) for (const b of r.bad.slice(0, 3)) console.log(`#   ${b.status} ${b.ms.toFixed(0)} ms ${JSON.stringify(b.headers)} ${b.body.slice(0, 600)}`.replaceAll("\n", "\n# "));
  }
}
await Promise.all(Array.from({ length: pairs }, worker));
for (const d of deaths) console.log(`# ${d}`.replaceAll("\n", "\n# "));
process.exit(failed || deaths.length ? 1 : 0);
