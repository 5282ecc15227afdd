// What the programs here have in common: daruma is started, and everything is gone at the end.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const daruma = process.env.DARUMA ?? join(dirname(fileURLToPath(import.meta.url)), "../../build/daruma");
const children = new Set();

export const dir = mkdtempSync(join(tmpdir(), "daruma-outages-"));
export const sleep = (ms) => new Promise((r) => setTimeout(r, ms));

export const deaths = []; // what those said last who ended by themselves, or badly

// Starts a command of daruma. Resolves with its port when it listens, and what ends it.
export function start(...argv) {
  const child = spawn(daruma, argv, { stdio: ["ignore", "pipe", "pipe"] });
  children.add(child);
  return new Promise((ok, no) => {
    let said = "";
    const look = (bytes) => {
      said = (said + bytes).slice(-20000);
      const m = /(?:127\.0\.0\.1):(\d+)/.exec(said);
      if (m) ok({ port: Number(m[1]), stop: () => child.kill("SIGTERM") });
    };
    child.stdout.on("data", look);
    child.stderr.on("data", look);
    child.on("exit", (code, signal) => {
      children.delete(child);
      if (!child.killed || code) deaths.push(`${argv.join(" ")} ended with ${code ?? signal}:\n${said}`);
      no(new Error(`${argv[0]} ended with ${code ?? signal}: ${said}`));
    });
  });
}

process.on("exit", () => {
  children.forEach((c) => c.kill("SIGKILL"));
  rmSync(dir, { recursive: true, force: true });
});
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(130));
