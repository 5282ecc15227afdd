// Real SDKs through the gateway against the faulty provider, over real sockets, with the SDKs' own retries
// switched off: whatever arrives was recovered by daruma. Prints TAP.
//
//   SDK --> daruma serve --> daruma chaos
//
// DARUMA=path/to/daruma run.mjs [--bytes] [name...] runs with --bytes the scenarios that meet every limit on bytes (bytes_kit.mjs)
// instead, with --turns those that measure how long the loop is at work (turns.mjs), one at a time; with names only
// scenarios whose name contains one of the words, and it is an error that none contains one of them.
// --effects=10000 breaks so many streams of hosted tools in place of some hundreds (effects.mjs).
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { needNode22 } from "./node22.mjs";

needNode22();
const soak = process.argv.findIndex((a) => a.startsWith("--effects="));
if (soak > 0) process.env.EFFECTS = process.argv.splice(soak, 1)[0].slice("--effects=".length);
const { scenarios } = await import("./scenarios.mjs");
const { wire } = await import("./wire.mjs");
for (const part of ["streams", "pass", "door", "lock", "tricks", "metrics", "see", "trace", "report", "life", "chain", "harm", "routes", "models", "passing", "pace", "state", "store", "replicas", "page", "late", "clouds"]) await import(`./wire_${part}.mjs`);
await import("./frameworks.mjs");
await import("./gemini.mjs");
await import("./heal.mjs");
await import("./heal_edges.mjs");
await import("./cli.mjs");
await import("./commands.mjs");
await import("./outage.mjs");
await import("./elsewhere.mjs");
await import("./neighbours.mjs");
await import("./tenants.mjs");
await import("./effects.mjs");
await import("./large.mjs");
await import("./simulate.mjs");
await import("./agent.mjs");
await import("./run_cuts.mjs");
await import("./run_agent.mjs");
await import("./run_journal.mjs");
await import("./run_tools.mjs");
await import("./run_mcp.mjs");
await import("./run_config.mjs");
await import("./run_stream.mjs");
await import("./run_profiles.mjs");
await import("./run_planners.mjs");
await import("./watch.mjs");
await import("./watch_errors.mjs");
await import("./watch_edges.mjs");
await import("./watch_past.mjs");
const apart = []; // those that are run alone
if (process.argv[2] === "--bytes") {
  const kit = await import("./bytes_kit.mjs");
  for (const part of ["answers", "streams", "requests", "rest"]) await import(`./bytes_${part}.mjs`);
  apart.push(...kit.scenarios);
} else if (process.argv[2] === "--turns") {
  apart.push(...(await import("./turns.mjs")).scenarios);
}
const { sleep, startPair } = await import("./pair.mjs");

// The names that have most of the word's groups of three letters.
function nearest(word, names) {
  const threes = (s) => Array.from({ length: Math.max(s.length - 2, 0) }, (_, i) => s.slice(i, i + 3).toLowerCase()), of = threes(word);
  const close = (name) => of.filter((t) => name.toLowerCase().includes(t)).length;
  return names.map((n) => [close(n), n]).sort(([a, x], [b, y]) => b - a || x.length - y.length).slice(0, 5).map(([, n]) => n);
}

const PAIRS = process.argv[2] === "--turns" ? 1 : 6; // scenarios wait four times as long as they compute, but for those
const LATE_MAX = 12; // so many may be run again alone; when more fail it is not for want of time
const wanted = process.argv.slice(apart.length ? 3 : 2);
const all = apart.length ? apart : [...wire, ...scenarios]; // the longest first
const chosen = all.filter((s) => !wanted.length || wanted.some((w) => s.name.includes(w)));
const unknown = wanted.filter((w) => !all.some((s) => s.name.includes(w)));
for (const w of unknown) console.error(`no scenario is called "${w}"; near it: ${nearest(w, all.map((s) => s.name)).map((n) => JSON.stringify(n)).join(", ")}`);
if (unknown.length) process.exit(2);
const dir = mkdtempSync(join(tmpdir(), "daruma-clients-"));
const queue = chosen.filter((s) => !s.alone), alone = chosen.filter((s) => s.alone); // what is timed is not run beside others
const late = [];
let failed = 0, told = 0, dead = false;

// What a scenario that failed had under way ends with its gateway: that is no reason to end the others.
process.on("unhandledRejection", (e) => {
  console.log(`# nobody waited for this:\n${e.stack ?? e}`.replace(/\n/g, "\n# "));
  failed ||= 1;
});

async function play(pair, s) {
  const limit = s.limit ?? 20000;
  let timer;
  try {
    await pair.begin(s);
    await Promise.race([
      s.run(pair),
      new Promise((_, no) => (timer = setTimeout(() => no(new Error(`took longer than ${limit} ms`)), limit))),
    ]);
    return null;
  } catch (e) {
    return e;
  } finally {
    clearTimeout(timer);
  }
}

async function work(n) {
  const own = join(dir, String(n));
  mkdirSync(own);
  const pair = await startPair(own);
  try {
    for (let s; !dead && (s = queue.shift()); ) {
      if (s.skip) {
        console.log(`ok ${++told} - ${s.name} # SKIP ${s.skip}`);
        continue;
      }
      const began = Date.now();
      let problem = await play(pair, s);
      if (problem) await sleep(300); // one that is dying says why
      const obituary = pair.obituary();
      if (obituary) problem ??= new Error("a program died");
      const why = problem && `${problem.stack ?? problem}\n${obituary}`.replace(/^/gm, "# ");
      dead ||= / chaos .* died \(/.test(obituary);
      if (problem && !obituary && !s.again && late.length < LATE_MAX) {
        late.push({ ...s, alone: true, again: true }); // on a busy machine it may have been too slow: nothing died
        console.log(`# ${s.name}: failed${s.alone ? "" : " beside others"}, and is run again alone (${Date.now() - began} ms)\n${why}`);
        continue;
      }
      if (problem) failed++;
      console.log(`${problem ? "not ok" : "ok"} ${++told} - ${s.name}${s.again ? ", second try" : ""}${s.alone ? ", alone" : ""} (${Date.now() - began} ms)`);
      if (problem) console.log(why);
    }
  } finally {
    await pair.stop();
  }
}

console.log(`1..${chosen.length}`);
for (const s of chosen) if (!s.skip) await s.prepare?.(); // what would hold up the others
try {
  await Promise.all(Array.from({ length: Math.min(PAIRS, chosen.length) }, (_, n) => work(n)));
  queue.push(...alone);
  if (queue.length) await work(PAIRS);
  queue.push(...late);
  if (queue.length) await work(PAIRS + 1);
} finally {
  rmSync(dir, { recursive: true, force: true });
}
process.exit(failed || told < chosen.length ? 1 : 0);
