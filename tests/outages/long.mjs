// First, do no harm: what works without daruma works through it, however long it takes, and what lasts costs waiting. The
// official SDKs, daruma without a word about clocks or recovery, and providers of the test's own, over real sockets:
//
//   SDKs --> daruma serve (one for each world) --> providers that are slow, silent, away
//
// DARUMA=path/to/daruma node long.mjs [--scale 0.02] [WORD...]
// All worlds at once: they mostly wait. --scale divides what lasts: the short one shows that all arrives whole, the full one
// (some six minutes) that no clock is too short, and how long what had to be waited for took. Prints TAP.
import { needNode22 } from "../clients/node22.mjs";
needNode22();
const { worlds } = await import("./long_worlds.mjs");
const { deaths } = await import("./kit.mjs");

const args = process.argv.slice(2), at = args.indexOf("--scale");
const scale = at < 0 ? 1 : Number(args.splice(at, 2)[1]);
let told = 0, failed = 0;

// One thing that holds, or not: `run` resolves with what was measured.
async function holds(name, run) {
  let note, why;
  try {
    note = await run();
  } catch (e) {
    why = e.stack ?? String(e);
    for (let c = e.cause; c; c = c.cause) why += `\ncause: ${c.message} ${c.code ?? ""}`;
    if (e.measured) why += `\n${e.measured}`;
  }
  failed += !!why;
  console.log(`${why ? "not ok" : "ok"} ${++told} - ${name}`);
  for (const line of `${why ?? note ?? ""}`.split("\n").filter(Boolean)) console.log(`# ${line}`);
}

// What is left on the way when a world ends is nobody's any more.
process.on("unhandledRejection", (e) => {
  console.log(`# nobody waited for this:\n${e.stack ?? e}`.replaceAll("\n", "\n# "));
  failed++;
});

const chosen = worlds.filter((w) => (scale === 1 || !w.full) && (!args.length || args.some((word) => w.name.includes(word))));
await Promise.all(chosen.map((w) => w.run(holds, scale).catch((e) => holds(w.name, () => Promise.reject(e)))));
for (const d of deaths) await holds("daruma goes on", () => Promise.reject(new Error(d)));
console.log(`1..${told}`);
process.exit(failed || !told ? 1 : 0);
