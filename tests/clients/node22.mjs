// The official SDKs need Node 22, which is newer than Debian's: the npm package `node` brings one. A program begins itself
// anew in it when it was started in an older one.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export function needNode22() {
  if (Number(process.versions.node.split(".")[0]) >= 22) return;
  const pinned = join(dirname(fileURLToPath(import.meta.url)), "node_modules/.bin/node");
  if (!existsSync(pinned)) {
    console.log("1..1\nnot ok 1 - Node 22 is not there: run `npm ci` in tests/clients");
    process.exit(1);
  }
  process.exit(spawnSync(pinned, process.argv.slice(1), { stdio: "inherit" }).status ?? 1);
}
