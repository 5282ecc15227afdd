// What is known outlives the process: a restart, and a kill, cost no second failure; a folder that fails costs nobody anything.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { lookup } from "node:dns/promises";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { dialects, question, until } from "./net.mjs";
import { daruma, freePort, sleep } from "./pair.mjs";
import { holds } from "./wire.mjs";
import { json, refuses, wires } from "./wires.mjs";

const d = dialects.openai;
const folder = (pair) => join(pair.dir, "state"), file = (pair) => join(folder(pair), "state.jsonl");
const kept = (pair) => (c) => (c.state = folder(pair));
const keyOf = (q) => q.headers.authorization;

async function begin(pair) {
  rmSync(folder(pair), { recursive: true, force: true });
  mkdirSync(folder(pair));
  await pair.again(kept(pair));
}

const ask = (pair, text) => question(pair, d, { model: d.own, text, more: { logit_bias: { 1: 1 } } });

for (const how of ["SIGTERM", "SIGKILL"])
  holds(`state: behind ${how} nobody is asked again who had refused`, {
    async run(pair) {
      await begin(pair);
      refuses(pair);
      assert.equal((await ask(pair, "one")).said, "seven eight");
      assert.equal(pair.own.seen.length, 3);
      await sleep(how === "SIGKILL" ? 500 : 0);
      const gone = new Promise((yes) => pair.gateway().once("exit", yes));
      pair.gateway().kill(how);
      await gone;
      await pair.again(kept(pair));
      pair.own.seen = [];
      const r = await ask(pair, "two");
      assert.deepEqual([r.said, pair.own.seen.length], ["seven eight", 1], r.text);
      assert.equal(statSync(file(pair)).mode & 0o777, 0o600);
      assert.doesNotMatch(readFileSync(file(pair), "utf8"), /sk-(one|two)/);
    },
  });

holds("state: which API a server has, what it never takes in messages and which words it refuses is known behind a restart", {
  async run(pair) {
    await begin(pair);
    const a = dialects.anthropic, said = (q) => JSON.parse(q.body);
    pair.own.answer = (q, res) => {
      if (q.url.startsWith("/v1/messages")) return q.headers["anthropic-beta"] ? json(res, 400, { type: "error", error: { type: "invalid_request_error", message: "invalid beta flag" } }) : wires.anthropic.answer(res, "seven eight");
      if (q.url.startsWith("/v1/responses")) return json(res, 404, { detail: "Not Found" });
      if (said(q).messages.some((m) => m.role === "developer")) return json(res, 400, { error: { message: "Unexpected message role.", type: "invalid_request_error" } });
      wires.openai.answer(res, "seven eight");
    };
    const all = async () => {
      const r = [
        await question(pair, dialects.responses, { model: "m-own" }),
        await question(pair, d, { model: d.own, more: { messages: [{ role: "developer", content: "be brief" }, { role: "user", content: "go" }] } }),
        await question(pair, a, { model: a.own, headers: { "anthropic-beta": "new-2026-01-01" } }),
      ];
      assert.deepEqual(r.map((x) => x.said), ["seven eight", "seven eight", "seven eight"]);
    };
    await all();
    assert.equal(pair.own.seen.length, 6);
    await pair.again(kept(pair));
    pair.own.seen = [];
    await all();
    assert.equal(pair.own.seen.length, 3);
  },
});

holds("state: conversations keep their keys behind a restart, and what a client's own key was refused is known", {
  async run(pair) {
    await begin(pair);
    const change = (c) => {
      kept(pair)(c);
      c.providers.push({ name: "many", dialect: "openai", url: c.providers.find((p) => p.name === "own").url, keys: ["sk-a1", "sk-a2", "sk-a3"].map((value) => ({ value, account: value })), spread: true });
      const { keys, ...bare } = { ...c.providers.find((p) => p.name === "own"), name: "bare" };
      c.providers.push(bare);
      c.models.push({ name: "m-many", targets: ["many/m-many"] }, { name: "m-bare", targets: ["bare/m-bare", "many/m-many"] });
    };
    await pair.again(change);
    pair.own.answer = (q, res) => (keyOf(q) === "Bearer sk-client" ? json(res, 429, { error: { message: "You exceeded your current quota, please check your plan and billing details.", type: "insufficient_quota", code: "insufficient_quota" } }) : wires.openai.answer(res, "seven eight"));
    const keys = [], say = (i, more = []) => question(pair, d, { model: "m-many", more: { messages: [{ role: "user", content: `conversation ${i} of some` }, ...more] } });
    for (let i = 0; i < 8; i++) await say(i), keys.push(keyOf(pair.own.seen.at(-1)));
    assert.ok(new Set(keys).size > 1);
    assert.equal((await question(pair, d, { model: "m-bare" })).said, "seven eight"); // behind a refusal
    const gone = new Promise((yes) => pair.gateway().once("exit", yes));
    pair.gateway().kill("SIGTERM");
    await gone;
    await pair.again(change);
    for (let i = 0; i < 8; i++) {
      await say(i, [{ role: "assistant", content: "seven eight" }, { role: "user", content: "and now?" }]);
      assert.equal(keyOf(pair.own.seen.at(-1)), keys[i], `conversation ${i}`);
    }
    pair.own.seen = [];
    assert.equal((await question(pair, d, { model: "m-bare", text: "once more" })).said, "seven eight");
    assert.equal(pair.own.seen.length, 1, "the client's own key was asked again");
    assert.equal(statSync(join(folder(pair), "secret")).mode & 0o777, 0o600);
  },
});

holds("state: a second daruma on the same folder reads it, says so, and writes nothing", {
  async run(pair) {
    await begin(pair);
    refuses(pair);
    await ask(pair, "one");
    await until("it is written", () => existsSync(file(pair)));
    await sleep(300);
    const before = readFileSync(file(pair), "utf8"), events = join(pair.dir, "second.jsonl"), at = join(pair.dir, "second.yaml");
    writeFileSync(at, JSON.stringify({ listen: "127.0.0.1:0", providers: [{ name: "m", dialect: "openai", url: "http://127.0.0.1:9/v1", keys: ["k"] }], state: folder(pair), events: { file: events } }));
    const second = spawn(daruma, ["serve", "--config", at, "--quiet"], { stdio: "ignore" });
    const over = new Promise((yes) => second.on("close", yes));
    try {
      await until("it says so", () => existsSync(events) && /another daruma/.test(readFileSync(events, "utf8")), 10000);
    } finally {
      second.kill("SIGTERM");
      await over;
    }
    assert.equal(readFileSync(file(pair), "utf8"), before);
  },
});

holds("state: a file that is none of daruma's is kept aside, told once, and nothing of it is believed", {
  async run(pair) {
    await begin(pair);
    for (const text of ["{\"nonsense\":1}\n", "", "\0\0\0\0", readFileSync("/proc/self/exe").subarray(0, 70000)]) {
      const gone = new Promise((yes) => pair.gateway().once("exit", yes));
      pair.gateway().kill("SIGKILL");
      await gone;
      writeFileSync(file(pair), text);
      await pair.again(kept(pair));
      pair.own.answer = (q, res) => wires.openai.answer(res, "seven eight");
      assert.equal((await question(pair, d, { model: d.own })).said, "seven eight");
      assert.equal(pair.events().filter((e) => e.event === "state_unread").length, 1);
      assert.ok(existsSync(`${file(pair)}.unread`));
    }
  },
});

holds("state: a folder that goes delays nobody, is told once, and is written again when it is back", {
  async run(pair) {
    await begin(pair);
    refuses(pair);
    rmSync(folder(pair), { recursive: true });
    for (const text of ["one", "two", "three"]) {
      const began = Date.now();
      assert.equal((await ask(pair, text)).said, "seven eight");
      assert.ok(Date.now() - began < 2000);
      await sleep(150);
    }
    await until("state_unwritten is told", () => pair.events().some((e) => e.event === "state_unwritten"));
    assert.equal(pair.events().filter((e) => e.event === "state_unwritten").length, 1);
    mkdirSync(folder(pair));
    await until("the file is there", () => existsSync(file(pair)), 8000);
    await until("state_written is told", () => pair.events().some((e) => e.event === "state_written"));
  },
});

holds("state: a folder that is not there, or no folder, is refused at the start with what to do", {
  async run(pair) {
    await begin(pair);
    const check = async (state) => {
      const at = join(pair.dir, "check.yaml");
      writeFileSync(at, JSON.stringify({ providers: [{ name: "m", dialect: "openai", url: "http://127.0.0.1:9/v1", keys: ["k"] }], state }));
      const child = spawn(daruma, ["check", at]);
      let err = "";
      child.stderr.on("data", (c) => (err += c));
      const code = await new Promise((yes) => child.on("close", yes));
      return [code, err];
    };
    const gone = await check(join(pair.dir, "nowhere"));
    assert.equal(gone[0], 2);
    assert.match(gone[1], /state: .*No such file.*mkdir -p/s);
    assert.match((await check(join(pair.dir, "check.yaml")))[1], /is no folder/);
  },
});

/* ---- a disk that is slow, memory that is gone ---- */

const slowly = (ms) => `#include <unistd.h>\nint fsync(int fd) { (void)fd; usleep(${ms * 1000}); return 0; }\n`;
// A daruma of the scenario's own, with a state folder; the functions of `shim`, in C, stand before those of libc. `prepare` is done with the
// folder before it starts. Returns what a pair is to question(), and more.
export async function apart(pair, { name = "apart", shim, env = {}, change = () => {}, prepare = () => {} } = {}) {
  const at = (end) => join(pair.dir, `${name}.${end}`), port = await freePort(), state = name === "apart" ? folder(pair) : at("state");
  rmSync(state, { recursive: true, force: true });
  mkdirSync(state);
  prepare(state);
  if (shim) execFileSync("gcc", ["-shared", "-fPIC", "-x", "c", "-o", at("so"), "-"], { input: shim });
  const c = { listen: `127.0.0.1:${port}`, providers: [{ name: "own", dialect: "openai", url: `http://127.0.0.1:${pair.own.port}/v1`, keys: ["sk-one", "sk-two"].map((value) => ({ value, account: value })) }], models: [{ name: "m-own", targets: ["own/m-own"] }], state, events: { file: at("jsonl") } };
  change(c);
  writeFileSync(at("jsonl"), "");
  writeFileSync(at("yaml"), JSON.stringify(c));
  const asan = `${process.env.ASAN_OPTIONS ?? "quarantine_size_mb=4"}:verify_asan_link_order=0`;
  const child = spawn(daruma, ["serve", "--config", at("yaml"), "--quiet"], { stdio: "ignore", env: { ...process.env, ...env, ...(shim && { LD_PRELOAD: at("so"), ASAN_OPTIONS: asan }) } });
  const one = { port, state, heard: pair.heard, own: pair.own, child, gone: new Promise((yes) => child.once("exit", (code, signal) => yes(code ?? signal))), events: () => readFileSync(at("jsonl"), "utf8").trim().split("\n").filter(Boolean).map((l) => JSON.parse(l).event) };
  await until("it is up", async () => (await fetch(`http://127.0.0.1:${port}/health`).catch(() => ({}))).ok, 10000);
  return one;
}
const under = (pair) => existsSync(`${file(pair)}.new`);

holds("state: a disk that hangs holds no thread that others need", {
  async run(pair) {
    const began = Date.now(), found = await lookup(hostname()).catch(() => null);
    if (!found || Date.now() - began > 2000) return console.log("# not looked at: this machine's own name takes long to be found");
    const one = await apart(pair, { shim: slowly(8000), env: { UV_THREADPOOL_SIZE: "1" }, change: (c) => (c.providers.push({ name: "named", dialect: "openai", url: `http://${hostname()}:9/v1`, keys: ["sk-one"] }), c.models.push({ name: "m-named", targets: ["named/x"] }), (c.recovery = { max_attempts: 1, patience: "none" })) });
    try {
      refuses(pair);
      assert.equal((await ask(one, "one")).said, "seven eight");
      await until("it is being written", () => under(pair));
      const r = await question(one, d, { model: "m-named" });
      assert.equal(r.outcome, "failed");
      assert.ok(r.took < 5000 && under(pair), `${r.took} ms, for a name and a connection that is refused`);
    } finally {
      one.child.kill("SIGKILL");
      await one.gone;
    }
  },
});

holds("state: a stop waits for the write under way, and what became known since is in the file", {
  async run(pair) {
    const one = await apart(pair, { shim: slowly(1500) });
    try {
      let first = true;
      pair.own.answer = (q, res) => {
        const b = JSON.parse(q.body), odd = ["logit_bias", "seed"].find((k) => k in b);
        if (odd) return json(res, 400, { error: { message: `Unsupported parameter: '${odd}' is not supported with this model.`, type: "invalid_request_error", param: odd, code: "unsupported_parameter" } });
        wires.openai.answer(res, first ? "seven eight" : "nine");
      };
      assert.equal((await ask(one, "one")).said, "seven eight");
      await until("it is being written", () => under(pair));
      first = false;
      assert.equal((await question(one, d, { model: d.own, text: "two", more: { seed: 7 } })).said, "nine");
      assert.ok(under(pair), "the first write is over");
      one.child.kill("SIGTERM");
      assert.equal(await one.gone, 0);
      const text = readFileSync(file(pair), "utf8");
      assert.ok(text.includes("logit_bias") && text.includes("seed") && !under(pair), text);
    } finally {
      one.child.kill("SIGKILL");
    }
  },
});

holds("state: what could not be kept for want of memory is kept when there is some again", {
  async run(pair) {
    if (readFileSync(daruma).includes("__asan_init")) return; // it takes terabytes of addresses for itself
    const one = await apart(pair), limit = (v) => execFileSync("prlimit", ["--pid", String(one.child.pid), `--as=${v}:unlimited`]);
    try {
      pair.own.answer = (q, res) => wires.openai.answer(res, "seven eight");
      for (let i = 0; i < 30; i++) await question(one, d, { model: d.own }); // what requests need is at hand then
      refuses(pair);
      const has = Number(/VmSize:\s+(\d+) kB/.exec(readFileSync(`/proc/${one.child.pid}/status`, "utf8"))[1]);
      limit((has + 7000) * 1024); // enough for a request, and for no stack of a thread
      assert.equal((await ask(one, "one")).said, "seven eight");
      await until("it is told", () => one.events().includes("state_unwritten"));
      assert.ok(!existsSync(file(pair)));
      limit("unlimited");
      await until("it is written", () => existsSync(file(pair)) && one.events().includes("state_written"), 8000);
      assert.match(readFileSync(file(pair), "utf8"), /quota/);
    } finally {
      one.child.kill("SIGKILL");
      await one.gone;
    }
  },
});
