// Real SDKs through the gateway against the faulty provider, over real sockets, with the SDKs' own retries
// switched off: whatever arrives was recovered by daruma. Prints TAP.
//
//   SDK --> daruma serve --> daruma chaos
//
// DARUMA=path/to/daruma run.mjs [name...] runs only scenarios whose name contains one of the words.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
if (Number(process.versions.node.split(".")[0]) < 22) {
  const pinned = join(here, "node_modules/.bin/node"); // current SDKs need Node 22: the npm package `node` brings one
  if (!existsSync(pinned)) {
    console.log("1..1\nnot ok 1 - Node 22 is not there: run `npm ci` in test/clients");
    process.exit(1);
  }
  process.exit(spawnSync(pinned, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: "inherit" }).status ?? 1);
}

const { scenarios } = await import("./scenarios.mjs");
const { startPair } = await import("./pair.mjs");

const wanted = process.argv.slice(2);
const chosen = scenarios.filter((s) => !wanted.length || wanted.some((w) => s.name.includes(w)));
const dir = mkdtempSync(join(tmpdir(), "daruma-clients-"));
console.log(`1..${chosen.length}`);
let failed = 0;
const pair = await startPair(dir);
try {
  for (const [i, s] of chosen.entries()) {
    const began = Date.now();
    let problem = null;
    try {
      await pair.script(s.chaos ?? "");
      await Promise.race([
        s.run(pair),
        new Promise((_, no) => setTimeout(() => no(new Error(`took longer than ${s.limit ?? 20000} ms`)), s.limit ?? 20000).unref()),
      ]);
    } catch (e) {
      problem = e;
      failed++;
    }
    console.log(`${problem ? "not ok" : "ok"} ${i + 1} - ${s.name} (${Date.now() - began} ms)`);
    if (problem) console.log(`${problem.stack ?? problem}\n${pair.obituary()}`.replace(/^/gm, "# "));
    if (pair.obituary()) break;
  }
} finally {
  await pair.stop();
  rmSync(dir, { recursive: true, force: true });
}
process.exit(failed ? 1 : 0);
