// `daruma run` is killed with SIGKILL at random moments and resumed, again and again, until its task is done. The model is the
// test's own: what it says depends on the history that it is sent and on nothing else, so that the same question gets the same
// answer. Effects are counted in files, by lines that a shell appended or an edit put there.
//
//   node tests/clients/run_kill.mjs 500       so many kills, by hand
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { daruma, sleep } from "./pair.mjs";

const STEPS = 12;
const KINDS = ["read", "edit", "shell", "write"];
const kind = (i) => KINDS[i % KINDS.length];

const call = (i) =>
  ({
    read: { name: "fs_read", args: { path: "log.txt" } },
    edit: { name: "fs_edit", args: { path: "log.txt", old: "END", new: `edit-${i}\nEND` } },
    write: { name: "fs_write", args: { path: `w-${i}.txt`, content: `write-${i}` } },
    shell: { name: "shell_run", args: { command: `echo shell-${i} >>shell.txt; sleep 0.02; echo ok-${i}` } },
  })[kind(i)];

// What a sensible model does next: a call whose outcome nobody knows is looked into before it is made again.
function next(messages) {
  const results = messages.filter((m) => m.role === "tool").map((m) => (typeof m.content === "string" ? m.content : m.content.map((p) => p.text).join("")));
  let i = 0, looks = false;
  for (const r of results) {
    if (looks) {
      looks = false;
      if (r.includes(`shell-${i}\n`)) i++;
    } else if (kind(i) === "shell" && !r.includes(`ok-${i}`)) {
      looks = true;
    } else {
      i++;
    }
  }
  return { n: results.length, act: looks ? { name: "fs_read", args: { path: "shell.txt" } } : i < STEPS ? call(i) : null };
}

export class Model {
  runs = new Map(); // by task: what was asked
  answers = 0;
  faults = 0.03;
  constructor(dice) {
    this.dice = dice;
    this.server = createServer((req, res) => {
      let text = "";
      req.on("data", (d) => (text += d));
      req.on("end", () => this.answer(text, res));
      req.on("error", () => {});
    });
  }
  listen = () => new Promise((ok) => this.server.listen(0, "127.0.0.1", () => ok((this.port = this.server.address().port))));
  stop = () => (this.server.closeAllConnections(), this.server.close());
  async answer(text, res) {
    const body = JSON.parse(text), { n, act } = next(body.messages);
    const task = body.messages.find((m) => m.role === "user").content;
    const run = this.runs.get(task) ?? { most: -1, hashes: [], wrong: [] };
    this.runs.set(task, run);
    const hash = createHash("sha256").update(text).digest("hex");
    if (n < run.most) run.wrong.push(`question ${n} was asked again behind question ${run.most}`);
    if (run.hashes[n] && run.hashes[n] !== hash) run.wrong.push(`question ${n} is another one than before`);
    run.hashes[n] = hash;
    run.most = Math.max(run.most, n);
    await sleep(this.dice() * 10);
    if (this.dice() < this.faults) return res.destroy();
    this.answers++;
    const message = act
      ? { role: "assistant", content: null, tool_calls: [{ id: `call_${n}`, type: "function", function: { name: act.name, arguments: JSON.stringify(act.args) } }] }
      : { role: "assistant", content: "all done" };
    res.writeHead(200, { "content-type": "application/json" });
    res.end(JSON.stringify({ id: `a${n}`, object: "chat.completion", model: body.model, choices: [{ index: 0, message, finish_reason: act ? "tool_calls" : "stop" }], usage: { prompt_tokens: 10, completion_tokens: 2 } }));
  }
}

// Commands that the killed program had under way go on without it: they are waited for.
export async function orphans(root) {
  const real = realpathSync(root);
  for (let tries = 0; tries < 400; tries++) {
    const there = readdirSync("/proc").some((p) => {
      try {
        return /^\d+$/.test(p) && Number(p) !== process.pid && readlinkSync(`/proc/${p}/cwd`) === real;
      } catch {
        return false;
      }
    });
    if (!there) return;
    await sleep(5);
  }
  throw new Error("a command does not end");
}

export function start(args, after) {
  const child = spawn(daruma, ["run", ...args], { env: { OPENAI_API_KEY: "sk-kill", ...(process.env.ASAN_OPTIONS && { ASAN_OPTIONS: process.env.ASAN_OPTIONS }) }, stdio: ["ignore", "pipe", "pipe"] });
  let out = "", err = "";
  child.stdout.on("data", (d) => (out += d));
  child.stderr.on("data", (d) => (err += d));
  const timer = after >= 0 && setTimeout(() => child.kill("SIGKILL"), after);
  return new Promise((ok) =>
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      ok({ code, killed: signal === "SIGKILL", out, err });
    }),
  );
}

export const lines = (file) => (existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : []);
const wanted = (what) => Array.from({ length: STEPS }, (_, i) => i).filter((i) => kind(i) === what);

// One task, killed until it is done or `kills` is reached. Returns how often it was killed.
async function one(model, dir, number, kills, pace, tally) {
  const own = join(dir, String(number)), root = join(own, "root"), state = join(own, "state");
  mkdirSync(root, { recursive: true });
  writeFileSync(join(root, "log.txt"), "BEGIN\nEND\n");
  const task = `task ${number}`;
  const first = ["--model", "m", "--base-url", `http://127.0.0.1:${model.port}/v1`, "--root", root, "--state", state, "--shell", "--yes", "--json", task];
  let killed = 0, words = [];
  for (;;) {
    const begun = existsSync(state) && readdirSync(state).some((f) => f.endsWith(".db"));
    const args = begun ? ["--resume", "last", "--state", state, "--yes", "--json", ...words] : first;
    words = [];
    const r = await start(args, killed < kills ? model.dice() * pace : -1);
    await orphans(root);
    for (const l of r.out.split("\n").filter((l) => l.includes('"run_resumed"') && l.endsWith("}"))) {
      const { fate = "none" } = JSON.parse(l);
      tally[fate] = (tally[fate] ?? 0) + 1;
    }
    if (r.killed) {
      killed++;
      continue;
    }
    if (r.code === 4) { // the same command was lost three times in a row: a person is there who says go on
      tally.escalated = (tally.escalated ?? 0) + 1;
      words = ["go on"];
      continue;
    }
    if (begun && r.code === 2 && /nothing is recorded|is damaged: no such table|what is in it does not fit/.test(r.err)) {
      rmSync(state, { recursive: true }); // it was killed while the file was made: nothing was done
      assert.equal(model.runs.get(task), undefined, r.err);
      continue;
    }
    assert.equal(r.code, 0, r.out + r.err);
    break;
  }
  const run = model.runs.get(task);
  assert.deepEqual(run.wrong, [], `${task}: a finished step was lost`);
  assert.deepEqual(lines(join(root, "shell.txt")), wanted("shell").map((i) => `shell-${i}`), `${task}: effects of the shell`);
  assert.deepEqual(lines(join(root, "log.txt")), ["BEGIN", ...wanted("edit").map((i) => `edit-${i}`), "END"], `${task}: effects of edits`);
  for (const i of wanted("write")) assert.equal(readFileSync(join(root, `w-${i}.txt`), "utf8"), `write-${i}`);
  rmSync(own, { recursive: true });
  return killed;
}

// So many kills. Returns what was seen.
export async function kill(times, seed = Date.now() % 1e9, say = () => {}) {
  let s = seed >>> 0;
  const dice = () => ((s = (Math.imul(s, 1664525) + 1013904223) >>> 0), s / 2 ** 32);
  const model = new Model(dice), dir = mkdtempSync(join(tmpdir(), "daruma-kill-"));
  const tally = { seed, kills: 0, tasks: 0 };
  await model.listen();
  try {
    const began = Date.now();
    await one(model, dir, 0, 0, 0, {}); // undisturbed: how long is a task?
    const pace = (Date.now() - began) * 0.7;
    while (tally.kills < times) {
      tally.kills += await one(model, dir, ++tally.tasks, times - tally.kills, pace, tally);
      say(tally);
    }
    tally.answers = model.answers;
    return tally;
  } catch (e) {
    e.message += `\nseed ${seed}, ${JSON.stringify(tally)}, ${dir}`;
    throw e;
  } finally {
    model.stop();
    if (tally.kills >= times) rmSync(dir, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const began = Date.now();
  const tally = await kill(Number(process.argv[2] ?? 500), process.argv[3] ? Number(process.argv[3]) : undefined, (t) => process.stdout.write(`\r${t.kills} kills, ${t.tasks} tasks  `));
  console.log(`\n${JSON.stringify(tally)} in ${Math.round((Date.now() - began) / 1000)} s: no finished step was lost, no effect came twice`);
}
