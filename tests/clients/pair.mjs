// Starts a gateway and a faulty provider on free ports and talks to both.
import { AsyncLocalStorage } from "node:async_hooks";
import { spawn } from "node:child_process";
import { existsSync, readFileSync, readdirSync, readlinkSync, writeFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
export const daruma = process.env.DARUMA ?? join(here, "../../build/daruma");

// Below the ports that the system gives to outgoing connections: the gateway starts anew on its port for each scenario,
// and between two of them somebody's connection must not sit there.
export const freePort = () =>
  new Promise((ok) => {
    const attempt = () => {
      const port = 10000 + Math.floor(Math.random() * 20000), s = createServer();
      s.on("error", attempt);
      s.listen(port, "127.0.0.1", () => s.close(() => ok(port)));
    };
    attempt();
  });

export const sleep = (ms) => new Promise((ok) => setTimeout(ok, ms));

// Runs a command of daruma to its end; how it ended and what it said.
export const run = (args, { input, env, cwd } = {}) =>
  new Promise((ok, no) => {
    const c = spawn(daruma, args, { stdio: ["pipe", "pipe", "pipe"], env: { ...process.env, ...env }, cwd });
    const r = { out: "", err: "" };
    c.stdout.on("data", (d) => (r.out += d));
    c.stderr.on("data", (d) => (r.err += d));
    c.on("error", no);
    c.on("close", (code) => ok({ ...r, code }));
    c.stdin.on("error", () => {});
    c.stdin.end(input);
  });

// True if the process itself listens on the port: another program that sits there answers, too. Without /proc nobody can
// tell, and it is taken for granted.
function listens(port, pid) {
  if (!existsSync("/proc/net/tcp")) return true;
  const state = readFileSync("/proc/net/tcp", "utf8").split("\n").map((l) => l.trim().split(/\s+/));
  const inodes = state.filter((f) => f[3] === "0A" && parseInt(f[1]?.split(":")[1], 16) === port).map((f) => `socket:[${f[9]}]`);
  return readdirSync(`/proc/${pid}/fd`).some((fd) => {
    try {
      return inodes.includes(readlinkSync(`/proc/${pid}/fd/${fd}`));
    } catch {
      return false; // it was closed meanwhile
    }
  });
}

async function answers(url, child) {
  for (let i = 0; i < 200; i++) {
    if (child.exitCode !== null) throw new Error(`${child.spawnargs.join(" ")} ended with ${child.exitCode}:\n${child.said}`);
    try {
      await fetch(url);
      if (listens(Number(new URL(url).port), child.pid)) return;
    } catch {
      // not yet
    }
    await sleep(25);
  }
  throw new Error(`${url} does not answer, or somebody else does`);
}

function start(args, env) {
  // A small quarantine: memory that a sanitizer keeps for itself is not the gateway's.
  const sanitizer = { ASAN_OPTIONS: "quarantine_size_mb=4:malloc_context_size=5", ...process.env };
  const child = spawn(daruma, args, { stdio: ["ignore", "pipe", "pipe"], env: { ...sanitizer, ...env } });
  child.said = "";
  for (const s of [child.stdout, child.stderr]) s.on("data", (d) => (child.said = (child.said + d).slice(-20000)));
  return child;
}

// The gateway's configuration, as an object that a scenario may change: JSON is YAML.
const keys = () => [{ value: "sk-one", account: "a" }, { value: "sk-two", account: "b" }];
// The end of a recovery is told when the client has its answer already: a moment is given to it. Who looks in the middle of
// one gets what there is.
const pause = new Int32Array(new SharedArrayBuffer(4));
function settled(read) {
  for (let tries = 0; ; tries++) {
    const list = read(), open = new Set(list.filter((e) => e.event === "error_recovery_attempt").map((e) => e.case));
    for (const e of list) if (e.outcome) open.delete(e.case);
    if (!open.size || tries === 50) return list;
    Atomics.wait(pause, 0, 0, 5);
  }
}

const config = (gateway, chaos, own, events) => ({
  listen: `127.0.0.1:${gateway}`,
  providers: [
    { name: "main", dialect: "openai", url: `http://127.0.0.1:${chaos}/v1`, keys: keys() },
    { name: "claude", dialect: "anthropic", url: `http://127.0.0.1:${chaos}`, keys: keys() },
    { name: "google", dialect: "gemini", url: `http://127.0.0.1:${chaos}/v1beta`, keys: keys() },
    { name: "own", dialect: "openai", url: `http://127.0.0.1:${own}/v1`, keys: keys() },
    { name: "own-claude", dialect: "anthropic", url: `http://127.0.0.1:${own}`, keys: keys() },
    { name: "own-responses", dialect: "openai-responses", url: `http://127.0.0.1:${own}/v1`, keys: keys() },
    { name: "own-gemini", dialect: "gemini", url: `http://127.0.0.1:${own}/v1beta`, keys: keys() },
  ],
  models: [
    { name: "m-main", targets: ["main/m-main", "main/m-fallback"] },
    { name: "m-single", targets: ["main/m-single"] },
    { name: "c-main", targets: ["claude/c-main", "claude/c-fallback"] },
    { name: "c-single", targets: ["claude/c-single"] },
    { name: "g-main", targets: ["google/g-main", "google/g-fallback"] },
    { name: "g-single", targets: ["google/g-single"] },
    { name: "m-own", targets: ["own/m-own"] },
    { name: "c-own", targets: ["own-claude/c-own"] },
    { name: "g-own", targets: ["own-gemini/g-own"] },
  ],
  timeouts: { connect: "2s", first_byte: "1s", idle: "1s", total: "15s" },
  recovery: {
    max_attempts: 4, // what fails for good is to be over soon
    kinds: {
      rate_limit: { delay: "50ms", max_delay: "400ms" },
      overloaded: { delay: "20ms", max_delay: "200ms" },
      server_error: { delay: "20ms", max_delay: "200ms" },
      timeout: { delay: "20ms", max_delay: "200ms", max_attempts: 2 },
      interrupted: { delay: "20ms", max_delay: "200ms", max_attempts: 2 },
      malformed_output: { delay: "20ms", max_delay: "200ms", max_attempts: 3 },
      unknown: { delay: "20ms", max_delay: "200ms" },
      network: { delay: "20ms", max_delay: "200ms" },
    },
  },
  events: { file: events },
});

// A provider of the test's own: it keeps every request as it came, and answers what the scenario says. While it is away
// its port refuses connections.
export const exchange = new AsyncLocalStorage(); // what belongs to the request that is being answered
export async function ownProvider(port = 0) {
  const own = { seen: [], answer: null };
  const server = createHttpServer((req, res) => {
    const parts = [];
    req.on("data", (d) => parts.push(d));
    req.on("end", () => {
      const r = { method: req.method, url: req.url, headers: req.headers, raw: req.rawHeaders, body: Buffer.concat(parts), n: own.seen.length + 1 };
      own.seen.push(r);
      if (own.answer) exchange.run({}, () => own.answer(r, res, req.socket));
      else res.writeHead(500).end("no answer was said");
    });
    req.on("error", () => {});
  });
  server.keepAliveTimeout = 60000;
  const listen = (on) => new Promise((ok, no) => server.once("error", no).listen(on, "127.0.0.1", ok));
  await listen(port);
  own.port = server.address().port;
  own.away = own.stop = () => (server.closeAllConnections(), server.close());
  own.back = () => listen(own.port);
  return own;
}

export async function startPair(dir) {
  const [gatewayPort, chaosPort] = [await freePort(), await freePort()];
  const own = await ownProvider();
  const events = join(dir, "events.jsonl"), file = join(dir, "daruma.yaml");
  const chaos = start(["chaos", "--listen", `127.0.0.1:${chaosPort}`]);
  const url = `http://127.0.0.1:${chaosPort}`;
  await answers(`${url}/chaos/report`, chaos);
  const base = `http://127.0.0.1:${gatewayPort}`;
  let gateway = null;
  const write = (change) => {
    const c = config(gatewayPort, chaosPort, own.port, events);
    change?.(c);
    writeFileSync(file, JSON.stringify(c, null, 1));
  };
  // s.config changes the configuration; s.zero: no configuration at all.
  const serve = async (s) => {
    write(s.config);
    writeFileSync(events, "");
    const args = s.zero ? ["serve", "--listen", `127.0.0.1:${gatewayPort}`] : ["serve", "--config", file, "--quiet"];
    const env = s.zero ? { OPENAI_UPSTREAM_URL: `${url}/v1`, ANTHROPIC_UPSTREAM_URL: url, GEMINI_UPSTREAM_URL: url, ...(s.zero === "own" && { OPENAI_UPSTREAM_URL: `http://127.0.0.1:${own.port}/v1` }) } : {};
    gateway = start(args, env);
    await answers(`${base}/daruma/health`, gateway);
  };
  const stop = async (child) => {
    if (!child || child.exitCode !== null || child.signalCode) return;
    const gone = new Promise((ok) => child.once("exit", ok));
    child.kill("SIGTERM");
    const hard = setTimeout(() => child.kill("SIGKILL"), 5000);
    await gone;
    clearTimeout(hard);
  };
  const pair = {
    base,
    dir,
    port: gatewayPort,
    chaos: url,
    own,
    eventsFile: events,
    heard: [], // every byte that clients got, where a scenario keeps them
    gateway: () => gateway,
    ended: false, // a scenario that ends the gateway itself says so
    eventsText: () => readFileSync(events, "utf8"),
    events: () => settled(() => readFileSync(events, "utf8").split("\n").slice(0, -1).filter(Boolean).map((l) => JSON.parse(l))), // the last line may be half written
    admin: null, // the token that the status asks for, where a scenario configures one
    status: async () => (await fetch(`${base}/daruma/status`, pair.admin ? { headers: { authorization: `Bearer ${pair.admin}` } } : {})).json(),
    report: async () => (await fetch(`${url}/chaos/report`)).json(),
    write,
    config: (text) => writeFileSync(file, text),
    // A new script for the provider, and a gateway that has seen nothing yet: scenarios do not colour each other.
    begin: async (s) => {
      const clean = ["keys", "models"].filter((k) => !new RegExp(`^${k}:`, "m").test(s.chaos ?? "")).map((k) => `${k}: {}\n`).join(""); // else they stay
      const r = await fetch(`${url}/chaos/script`, { method: "POST", body: clean + (s.chaos ?? "") });
      if (!r.ok) throw new Error(`chaos refused the script: ${await r.text()}`);
      await stop(gateway);
      await fetch(`${url}/chaos/reset`, { method: "POST" });
      own.seen = [];
      own.answer = null;
      pair.admin = s.admin ?? null;
      pair.heard = [];
      pair.ended = false;
      await serve(s);
    },
    // The gateway anew, with another configuration.
    again: async (config) => {
      await stop(gateway);
      await serve({ config });
    },
    // What a process that died said last; a gateway that a scenario ended is no death.
    obituary: () => [chaos, gateway].filter((c) => (c.exitCode !== null || c.signalCode) && !(c === gateway && pair.ended)).map((c) => `${c.spawnargs.join(" ")} died (${c.signalCode ?? c.exitCode}):\n${c.said}`).join("\n"),
    stop: async () => {
      await stop(gateway);
      await stop(chaos);
      own.stop();
    },
  };
  return pair;
}
