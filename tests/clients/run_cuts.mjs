// Tool calls that are cut anywhere: in their arguments, with every reason to stop that the dialect knows, or in the bytes of the
// answer, whole or a stream. None may reach an agent as whole that was not whole: a call that goes out has the arguments that
// were meant, or, where the text of the arguments alone ended early and the model says that it was done, nothing but values that
// stood whole in it.
//
//   node tests/clients/run_cuts.mjs 10000 [SEED]      so many calls, by hand
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { calls, limited, reasons } from "./heal_cut.mjs";
import { question } from "./net.mjs";
import { startPair } from "./pair.mjs";
import { holds } from "./wire.mjs";
import { dialects, streams, wires } from "./wires.mjs";

const AT_ONCE = 40;
const done = { openai: "tool_calls", anthropic: "tool_use", responses: "completed", gemini: "STOP" };
const schema = { type: "object", properties: { path: { type: "string" }, content: { type: "string" }, mode: { type: "integer" }, sync: { type: "boolean" }, more: { type: "array" }, at: { type: "object" } }, required: ["path"] };

// Arguments of one call: strings with everything that JSON escapes, numbers of every form, literals, nesting.
function meantBy(dice) {
  const pick = (list) => list[Math.floor(dice() * list.length)];
  const word = () => Array.from({ length: 1 + Math.floor(dice() * 12) }, () => pick(["a", "Z", " ", '"', "\\", "\n", "}", "]", "{", ":", ",", "ü", "漢", "🙂", "</x>", "0", "'", "\t", "```", "//"])).join("");
  const number = () => pick([0, 7, -12, 420, 1.5, -0.25, 1e21, 123456789]);
  const all = { path: word(), content: word(), mode: Math.floor(dice() * 1000), sync: dice() < 0.5, more: [number(), word(), null, [dice() < 0.5]], at: { line: number(), text: word() } };
  return Object.fromEntries(Object.entries(all).filter((_, i) => i === 0 || dice() < 0.7).sort(() => dice() - 0.5));
}

// True if each value in `got` stands in `meant` at its place: nothing is made up, changed or shortened but by what is not there.
function within(got, meant) {
  if (Array.isArray(got)) return Array.isArray(meant) && got.length <= meant.length && got.every((g, i) => within(g, meant[i]));
  if (got && typeof got === "object") return meant && typeof meant === "object" && !Array.isArray(meant) && Object.entries(got).every(([k, g]) => k in meant && within(g, meant[k]));
  return Object.is(got, meant);
}

// Collects what is written in place of sending it.
function held() {
  const parts = [], head = { status: 200, headers: {} };
  const res = {
    writeHead: (status, headers) => ((head.status = status), (head.headers = headers), res),
    flushHeaders: () => {},
    write: (s) => (parts.push(s), true),
    end: (s) => (s && parts.push(s), res),
  };
  return { res, head, bytes: () => Buffer.from(parts.join("")) };
}

// Sends the first bytes of an answer, and ends: as if it were over, or with a reset.
function cutOff(answer, res, share, reset) {
  const bytes = answer.bytes(), n = Math.floor(bytes.length * share);
  res.writeHead(answer.head.status, { ...answer.head.headers, ...(reset === "length" && { "content-length": bytes.length }) });
  if (n) res.write(bytes.subarray(0, n));
  setTimeout(() => (reset === "clean" ? res.end() : res.socket?.destroy()), 2);
}

// So many calls; what came of them. `broken` must be empty.
export async function cuts(trials, seed, pair) {
  let s = seed >>> 0;
  const dice = () => ((s = (Math.imul(s, 1664525) + 1013904223) >>> 0), s / 2 ** 32);
  const tally = { seed, trials: 0, equal: 0, part: 0, limited: 0, none: 0, error: 0, broken: [] };
  const plans = new Map();
  pair.own.answer = (q, res) => {
    const plan = plans.get(/plan-(\d+)-/.exec(q.body.toString())?.[1]), w = wires[plan.name];
    const whole = plan.stays || plan.turn++ === 0 ? null : JSON.stringify(plan.meant);
    const args = whole ?? plan.text;
    const give = (to) => {
      const object = whole !== null || plan.text === JSON.stringify(plan.meant);
      calls(plan.name, w, q, to, `call_${++plan.ids}`, object && (!streams(q) || plan.name === "gemini") ? w.toolArgs(plan.meant) : args, whole === null ? plan.reason : done[plan.name]);
    };
    if (whole !== null || !plan.wire) return give(res);
    const answer = held();
    give(answer.res);
    cutOff(answer, res, plan.share, plan.wire);
  };
  const one = async (n) => {
    const name = Object.keys(wires)[Math.floor(dice() * 4)], w = wires[name], d = dialects[name], stream = dice() < 0.5, meant = meantBy(dice);
    const text = JSON.stringify(meant), wire = dice() < 0.5 && (stream ? ["clean", "reset"] : ["length", "reset"])[Math.floor(dice() * 2)];
    const plan = { name, meant, wire, share: dice(), text: wire ? text : text.slice(0, Math.floor(dice() * text.length)), turn: 0, ids: 0, stays: dice() < 0.3 };
    plan.reason = wire ? done[name] : reasons[name][Math.floor(dice() * reasons[name].length)];
    plans.set(String(n), plan);
    const r = await question(pair, d, { model: d.own, stream, text: `plan-${n}-`, more: { tools: w.tools(schema) } }).catch((e) => ({ thrown: e }));
    tally.trials++;
    const said = () => JSON.stringify({ n, ...plan, stream, status: r.status, answer: r.text ?? String(r.thrown) });
    if (r.thrown || r.cut || r.status >= 400 || (r.events ? d.failed(r.events) || !d.ended(r.events) : r.json?.error)) return void tally.error++; // a client sees it
    const out = w.calls(r);
    if (!out.length) return void tally.none++;
    for (const [, , args] of out) {
      let got;
      try {
        got = typeof args === "string" ? JSON.parse(args) : args;
      } catch {
        if (limited.some((l) => r.text.includes(`"${l}"`))) tally.limited++; // the agent is told that it was cut
        else tally.broken.push(said());
        continue;
      }
      if (within(meant, got) && within(got, meant)) tally.equal++;
      else if (!wire && !limited.includes(plan.reason) && within(got, meant)) tally.part++;
      else tally.broken.push(said());
    }
  };
  let next = 0;
  await Promise.all(Array.from({ length: AT_ONCE }, async () => { while (next < trials) await one(next++); }));
  return tally;
}

holds("400 tool calls that are cut anywhere: none reaches an agent as whole that was not whole", {
  limit: 60000,
  async run(pair) {
    const tally = await cuts(400, 1, pair);
    assert.deepEqual(tally.broken, []);
    assert.ok(tally.equal > 200 && tally.none + tally.error > 50, JSON.stringify(tally));
  },
});

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const dir = mkdtempSync(join(tmpdir(), "daruma-cuts-")), pair = await startPair(dir);
  try {
    await pair.begin({});
    const tally = await cuts(Number(process.argv[2] ?? 10000), Number(process.argv[3] ?? Date.now() % 1e9), pair);
    console.log(JSON.stringify({ ...tally, broken: tally.broken.length }, null, 1));
    for (const b of tally.broken.slice(0, 5)) console.log(b.slice(0, 1500));
    process.exitCode = tally.broken.length ? 1 : 0;
  } finally {
    await pair.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}
