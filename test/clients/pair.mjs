// Starts a gateway and a faulty provider on free ports and talks to both.
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const daruma = process.env.DARUMA ?? join(here, "../../build/daruma");

const freePort = () =>
  new Promise((ok, no) => {
    const s = createServer();
    s.on("error", no);
    s.listen(0, "127.0.0.1", () => {
      const { port } = s.address();
      s.close(() => ok(port));
    });
  });

export const sleep = (ms) => new Promise((ok) => setTimeout(ok, ms));

async function answers(url, child) {
  for (let i = 0; i < 200; i++) {
    if (child.exitCode !== null) throw new Error(`${child.spawnargs.join(" ")} ended with ${child.exitCode}:\n${child.said}`);
    try {
      await fetch(url);
      return;
    } catch {
      await sleep(25);
    }
  }
  throw new Error(`${url} does not answer`);
}

function start(args) {
  const child = spawn(daruma, args, { stdio: ["ignore", "pipe", "pipe"] });
  child.said = "";
  for (const s of [child.stdout, child.stderr]) s.on("data", (d) => (child.said = (child.said + d).slice(-20000)));
  return child;
}

const config = (gateway, chaos, events) => `
listen: 127.0.0.1:${gateway}
providers:
  - name: main
    dialect: openai
    url: http://127.0.0.1:${chaos}/v1
    keys:
      - { value: sk-one, account: a }
      - { value: sk-two, account: b }
  - name: claude
    dialect: anthropic
    url: http://127.0.0.1:${chaos}
    keys: [ { value: sk-one, account: a }, { value: sk-two, account: b } ]
models:
  - { name: m-main, targets: [main/m-main, main/m-fallback] }
  - { name: m-single, targets: [main/m-single] }
  - { name: c-main, targets: [claude/c-main, claude/c-fallback] }
  - { name: c-single, targets: [claude/c-single] }
timeouts: { connect: 2s, first_byte: 1s, idle: 1s, total: 15s }
recovery:
  kinds:
    rate_limit: { delay: 50ms, max_delay: 400ms }
    overloaded: { delay: 20ms, max_delay: 200ms }
    server_error: { delay: 20ms, max_delay: 200ms }
    timeout: { delay: 20ms, max_delay: 200ms }
    network: { delay: 20ms, max_delay: 200ms }
events: { file: ${events} }
`;

export async function startPair(dir) {
  const [gatewayPort, chaosPort] = [await freePort(), await freePort()];
  const events = join(dir, "events.jsonl"), file = join(dir, "daruma.yaml");
  writeFileSync(events, "");
  writeFileSync(file, config(gatewayPort, chaosPort, events));
  const chaos = start(["chaos", "--listen", `127.0.0.1:${chaosPort}`]);
  const url = `http://127.0.0.1:${chaosPort}`;
  await answers(`${url}/chaos/report`, chaos);
  const serve = () => start(["serve", "--config", file, "--quiet"]);
  let gateway = serve();
  const base = `http://127.0.0.1:${gatewayPort}`;
  await answers(`${base}/daruma/health`, gateway);
  const stop = async (child) => {
    const gone = new Promise((ok) => child.once("exit", ok));
    if (child.exitCode !== null) return;
    child.kill("SIGTERM");
    const hard = setTimeout(() => child.kill("SIGKILL"), 5000);
    await gone;
    clearTimeout(hard);
  };
  return {
    base,
    chaos: url,
    events: () => readFileSync(events, "utf8").split("\n").filter(Boolean).map((l) => JSON.parse(l)),
    status: async () => (await fetch(`${base}/daruma/status`)).json(),
    report: async () => (await fetch(`${url}/chaos/report`)).json(),
    // A new script for the provider, and a gateway that has seen nothing yet: scenarios do not colour each other.
    script: async (yaml) => {
      const r = await fetch(`${url}/chaos/script`, { method: "POST", body: yaml });
      if (!r.ok) throw new Error(`chaos refused the script: ${await r.text()}`);
      await fetch(`${url}/chaos/reset`, { method: "POST" });
      await stop(gateway);
      writeFileSync(events, "");
      gateway = serve();
      await answers(`${base}/daruma/health`, gateway);
    },
    // What a process that died said last.
    obituary: () => [chaos, gateway].filter((c) => c.exitCode !== null || c.signalCode).map((c) => `${c.spawnargs.join(" ")} died:\n${c.said}`).join("\n"),
    stop: async () => {
      await stop(gateway);
      await stop(chaos);
    },
  };
}
