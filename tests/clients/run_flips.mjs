// A journal whose bits flipped: a run is killed at random moments, bits of its SQLite file and of the log beside it are flipped,
// and it is resumed. Whatever was lost, no effect may come twice: the run goes on, or says where its journal is damaged.
//
//   node tests/clients/run_flips.mjs 120 [SEED]       so many trials, by hand
import assert from "node:assert/strict";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Model, lines, orphans, start } from "./run_kill.mjs";

const PER_KILL = 6; // trials with what one killed run left

// Flips one to eight bits near each other in the database or its log, whichever the dice say. Returns where.
function flip(state, dice) {
  const files = readdirSync(state).filter((f) => /\.db(-wal)?$/.test(f) && statSync(join(state, f)).size > 0);
  const name = files[Math.floor(dice() * files.length)], path = join(state, name), bytes = readFileSync(path);
  const at = Math.floor(dice() * bytes.length), n = 1 + Math.floor(dice() * 8);
  for (let i = 0; i < n; i++) bytes[Math.min(at + Math.floor(dice() * 16), bytes.length - 1)] ^= 1 << Math.floor(dice() * 8);
  writeFileSync(path, bytes);
  return `${name.replace(/.*\.db/, "db")} at ${at} of ${bytes.length}`;
}

// Lines of what commands and edits left that stand there twice.
function twice(root) {
  const all = ["shell.txt", "log.txt"].flatMap((f) => lines(join(root, f)));
  return all.filter((l, i) => all.indexOf(l) !== i);
}

// So many trials. Returns what came of them; `doubled` is what must be empty.
export async function flips(trials, seed = Date.now() % 1e9) {
  let s = seed >>> 0;
  const dice = () => ((s = (Math.imul(s, 1664525) + 1013904223) >>> 0), s / 2 ** 32);
  const model = new Model(dice), dir = mkdtempSync(join(tmpdir(), "daruma-flips-"));
  const tally = { seed, trials: 0, done: 0, refused: 0, other: 0, doubled: [], said: {} };
  model.faults = 0;
  await model.listen();
  try {
    for (let killed = 0, pace = 400; tally.trials < trials; killed++) {
      const own = join(dir, `k${killed}`), root = join(own, "root"), state = join(own, "state");
      mkdirSync(root, { recursive: true });
      writeFileSync(join(root, "log.txt"), "BEGIN\nEND\n");
      const began = Date.now();
      const r = await start(["--model", "m", "--base-url", `http://127.0.0.1:${model.port}/v1`, "--root", root, "--state", state, "--shell", "--yes", "--json", `task ${killed}`], killed ? dice() * pace : -1);
      if (!r.killed) pace = Date.now() - began;
      await orphans(root);
      const begun = r.killed && existsSync(join(root, "shell.txt")) && readdirSync(state).some((f) => f.endsWith(".db"));
      for (let i = 0; begun && i < PER_KILL && tally.trials < trials; i++, tally.trials++) {
        const copy = join(dir, "copy"), at = join(copy, "state");
        cpSync(own, copy, { recursive: true });
        const where = flip(at, dice);
        const on = await start(["--resume", "last", "--state", at, "--root", join(copy, "root"), "--yes", "--json"], -1);
        await orphans(join(copy, "root"));
        tally[on.code === 0 ? "done" : on.code === 2 ? "refused" : "other"]++;
        if (on.code === 2) assert.match(on.err, /damaged|another version|cannot (go on|open|read|write)|nothing is recorded/, where);
        const why = on.err.match(/is damaged: ([^.]*)/)?.[1].replace(/\d+/g, "N");
        if (why) tally.said[why] = (tally.said[why] ?? 0) + 1;
        if (twice(join(copy, "root")).length) tally.doubled.push(`${twice(join(copy, "root"))}: ${where}`);
        rmSync(copy, { recursive: true });
      }
      rmSync(own, { recursive: true });
    }
    return tally;
  } finally {
    model.stop();
    rmSync(dir, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const tally = await flips(Number(process.argv[2] ?? 120), process.argv[3] ? Number(process.argv[3]) : undefined);
  console.log(JSON.stringify(tally, null, 1));
  process.exit(tally.doubled.length ? 1 : 0);
}
