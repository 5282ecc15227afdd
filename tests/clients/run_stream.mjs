// `daruma run` prints the answer as the model says it, on a terminal and with --stream: whatever happens to the stream, each
// piece once.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { daruma, sleep } from "./pair.mjs";
import { asked, body } from "./run_tools.mjs";
import { wire } from "./wire.mjs";

const bases = { openai: "/v1", "openai-responses": "/v1", anthropic: "", gemini: "/v1beta" };
const answer = Array.from({ length: 40 }, (_, i) => `Sentence ${i} of the answer is here, once.`).join(" ") + "\nThe end.";
const script = (answers, faults = "faults: []\n") => `keep: 200\nmodels:\n  m-agent:\n    answers:\n${answers.map((a) => `      - ${JSON.stringify(a)}\n`).join("")}${faults}`;
const fault = (text) => `faults:\n  - { model: m-agent, ${text} }\n`;
const look = { text: "I look first.", call: "fs_read", arguments: { path: "a.txt" } };

function holds(name, chaos, test) {
  wire.push({
    limit: 60000,
    chaos,
    name: `run: stream: ${name}`,
    async run(pair) {
      const root = mkdtempSync(join(tmpdir(), "daruma-stream-"));
      writeFileSync(join(root, "a.txt"), "what stands in the file\n");
      try {
        await test(pair, root);
      } finally {
        rmSync(root, { recursive: true });
      }
    },
  });
}

// Output in pieces, with the time of each; `terminal`: in a terminal, where both streams are one.
function go(pair, dialect, root, args, { terminal = false } = {}) {
  const all = ["run", "--dialect", dialect, "--model", "m-agent", "--base-url", pair.chaos + bases[dialect], "--root", root, "--no-journal", "--yes", ...args, "the task"];
  const env = { ...process.env, OPENAI_API_KEY: "sk-stream-1", ANTHROPIC_API_KEY: "sk-stream-1", GEMINI_API_KEY: "sk-stream-1" };
  const child = terminal ? spawn("script", ["-qec", [daruma, ...all].map((w) => `'${w}'`).join(" "), "/dev/null"], { env, stdio: ["ignore", "pipe", "pipe"] }) : spawn(daruma, all, { env, stdio: ["ignore", "pipe", "pipe"] });
  const r = { out: "", err: "", pieces: [], child };
  child.stdout.on("data", (b) => {
    r.out += b;
    r.pieces.push({ at: Date.now(), text: `${b}` });
  });
  child.stderr.on("data", (b) => (r.err += b));
  r.over = new Promise((ok) => child.on("close", (code) => ok(Object.assign(r, { code, ended: Date.now() }))));
  return r;
}
const times = (text, part) => text.split(part).length - 1;
const wasStreamed = (q, b) => b.stream === true || /:streamGenerateContent/.test(q.path ?? "");

// What stands on a terminal in the end: its lines, each without what was taken away.
const screen = (text) =>
  text.split("\n").map((line) => line.replace(/\r$/, "").split("\r").reduce((shown, part) => (part.startsWith("\x1b[K") ? part.slice(3) : part + shown.slice(part.length)), ""));

for (const dialect of Object.keys(bases)) {
  holds(`${dialect}: an answer comes as it is said, and calls of tools between`, script([look, { text: answer }], fault("skip: 1, times: 1, kind: trickle, every: 30ms")), async (pair, root) => {
    const r = await go(pair, dialect, root, ["--stream"]).over;
    assert.equal(r.code, 0, r.err);
    assert.equal(r.out, `I look first.\n${answer}\n`);
    const first = r.pieces.find((p) => p.text.includes("Sentence 0"));
    assert.ok(r.pieces.length > 5 && r.ended - first.at > 600, `${r.pieces.length} pieces in ${r.ended - first.at} ms`);
    for (const q of await asked(pair)) assert.ok(wasStreamed(q, await body(pair, q)), JSON.stringify(q));
    assert.match(r.err, /\[ok\] 2 steps, 1 tool calls, [1-9]\d* tokens/);
  });

  holds(`${dialect}: an answer that comes byte by byte is the same`, script([{ text: "Only ten wörds — and some that are none: 日本語." }], fault("kind: slow, every: 1ms")), async (pair, root) => {
    const r = await go(pair, dialect, root, ["--stream"]).over;
    assert.equal(r.out, "Only ten wörds — and some that are none: 日本語.\n", r.err);
  });

  holds(`${dialect}: an answer that is cut is gone on with, no piece twice`, script([look, { text: answer }], fault("skip: 1, times: 1, kind: cut")), async (pair, root) => {
    const r = await go(pair, dialect, root, ["--stream"]).over;
    assert.equal(r.code, 0, r.err);
    assert.equal(r.out, `I look first.\n${answer}\n`);
    assert.match(r.err, /1 calls recovered/);
    assert.equal((await asked(pair)).length, 3);
  });

  holds(`${dialect}: what failed before it said anything leaves no trace in the answer`, script([{ text: answer }], fault("times: 3, kind: [rate_limit, server_error, empty], headers: { retry-after: \"0\" }")), async (pair, root) => {
    const r = await go(pair, dialect, root, ["--stream"]).over;
    assert.equal(r.code, 0, r.err);
    assert.equal(r.out, `${answer}\n`);
  });

  holds(`${dialect}: Ctrl-C ends a stream at once`, script([{ text: answer }], fault("kind: stall, for: 30s")), async (pair, root) => {
    const r = go(pair, dialect, root, ["--stream"]);
    for (let i = 0; i < 100 && !r.out.includes("Sentence 3"); i++) await sleep(50);
    const began = Date.now();
    r.child.kill("SIGINT");
    await r.over;
    assert.ok(Date.now() - began < 5000);
    assert.equal(r.code, 130, r.out + r.err);
    assert.match(r.out, /^Sentence 0[^]*Sentence 3[^\n]*\n[^]*cancelled/, "what comes behind stands on a line of its own");
    assert.equal(times(r.out, "Sentence 0 "), 1);
  });
}

holds("a pipe gets the answer when it is whole, and nothing is streamed for it", script([look, { text: answer }]), async (pair, root) => {
  const r = await go(pair, "openai", root, []).over;
  assert.equal(r.out, `${answer}\n`);
  for (const q of await asked(pair)) assert.ok(!wasStreamed(q, await body(pair, q)));
});

holds("events tell pieces when they are asked for", script([look, { text: answer }], fault("skip: 1, times: 1, kind: cut")), async (pair, root) => {
  const lines = (r) => r.out.trim().split("\n").map((l) => JSON.parse(l));
  const told = lines(await go(pair, "openai", root, ["--json", "--stream"]).over).filter((l) => l.event === "answer_text");
  assert.deepEqual(told.filter((l) => l.begins).length, 2);
  assert.equal(told.map((l) => (l.begins ? "|" : "") + l.text).join(""), `|I look first.|${answer}`);
  await fetch(`${pair.chaos}/chaos/reset`, { method: "POST" });
  assert.ok(lines(await go(pair, "openai", root, ["--json"]).over).every((l) => l.event !== "answer_text"));
});

holds("on a terminal the answer and the line that says how far it is do not overwrite each other", script([look, look, { text: answer }], fault("skip: 2, times: 1, kind: cut")), async (pair, root) => {
  const r = await go(pair, "openai", root, [], { terminal: true }).over;
  assert.equal(r.code, 0, r.out);
  assert.match(r.out, /\r\x1b\[Kstep \d, fs\.read/);
  const shown = screen(r.out);
  assert.ok(shown.includes("I look first."), r.out);
  assert.ok(shown.some((l) => l.startsWith("[call] fs.read")), r.out);
  assert.ok(!shown.some((l) => l.includes("tokens, 0 recovered")), "the line is gone in the end");
  const words = shown.filter((l) => !l.startsWith("[")).join("").replaceAll("\n", "");
  for (let i = 0; i < 40; i++) assert.equal(times(words, `Sentence ${i} of the answer is here, once.`), 1, r.out);
});

// The beginning of a text is held back while it may become words of a gateway's.
for (const text of ["[daruma]", "[daruma] The model is a name of mine.", "["])
  holds(`an answer that begins as a gateway's words and goes on otherwise is told: ${text}`, script([{ text }], fault("kind: slow, every: 1ms")), async (pair, root) => {
    const r = await go(pair, "openai", root, ["--stream"]).over;
    assert.equal(r.code, 0, r.err);
    assert.equal(r.out, `${text}\n`);
  });

for (const begins of ["[daruma] The run was stopped. This message was written by daruma, not by the model.", "[daruma] The model could not answer. This message was written by daruma, not by the model."])
  for (const stream of [false, true])
    holds(`words of a gateway's are no answer, ${stream ? "in pieces" : "whole"}: ${begins.slice(0, 30)}`, script([{ text: `${begins}\n\nIt was said.` }], fault("kind: slow, every: 1ms")), async (pair, root) => {
      const r = await go(pair, "openai", root, ["--json", ...(stream ? ["--stream"] : [])]).over;
      assert.equal(r.code, 1, r.out + r.err);
      assert.ok(!r.out.includes('"answer_text"'), r.out);
    });

// A stream was asked for.
for (const [how, before, kind] of [["a whole answer behind blanks", "\n\n  ", "application/json"], ["a stream behind blanks and comments", "\n\n: waits\n\n", "text/event-stream"]])
  holds(`${how} is read as what it is`, script([]), async (pair, root) => {
    const whole = JSON.stringify({ id: "c", object: "chat.completion", model: "m", choices: [{ index: 0, message: { role: "assistant", content: answer }, finish_reason: "stop" }], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } });
    const piece = (delta, finish_reason = null) => `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", model: "m", choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
    pair.own.answer = (q, res) => {
      res.writeHead(200, { "content-type": kind });
      res.write(before);
      setTimeout(() => res.end(kind === "application/json" ? whole : piece({ role: "assistant", content: answer }) + piece({}, "stop") + "data: [DONE]\n\n"), 100);
    };
    writeFileSync(join(root, "d.yaml"), `providers:\n  - { name: own, dialect: openai, url: "http://127.0.0.1:${pair.own.port}/v1", keys: [{ value: sk-x }] }\nagents:\n  - { name: a, model: own/m }\n`);
    const child = spawn(daruma, ["run", "--config", join(root, "d.yaml"), "--root", root, "--no-journal", "--stream", "the task"], { stdio: ["ignore", "pipe", "pipe"] });
    const r = { out: "", err: "" };
    child.stdout.on("data", (b) => (r.out += b));
    child.stderr.on("data", (b) => (r.err += b));
    assert.equal(await new Promise((ok) => child.on("close", ok)), 0, r.out + r.err);
    assert.equal(r.out, `${answer}\n`);
  });

// The provider of the test's own breaks every stream, and says nothing new when it is asked to go on: the session gives up, and the
// agent asks again.
holds("an answer that is given again from its beginning is not printed twice", script([]), async (pair, root) => {
  const chunk = (text) => `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", model: "m", choices: [{ index: 0, delta: { role: "assistant", content: text }, finish_reason: null }] })}\n\n`;
  const half = answer.slice(0, 700);
  let calls = 0, other = false;
  pair.own.answer = (q, res, socket) => {
    const asksOn = !q.body.toString().includes('"content":"the task"}]'), whole = ++calls > 6;
    res.writeHead(200, { "content-type": "text/event-stream" });
    if (asksOn && !whole) return void socket.destroy();
    res.write(chunk(other && whole ? `${half.slice(0, 350)} but otherwise now.` : half), () => {
      if (!whole) return void socket.destroy();
      res.end(`${other ? "" : chunk(answer.slice(700))}data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`);
    });
  };
  writeFileSync(join(root, "d.yaml"), `providers:\n  - { name: own, dialect: openai, url: "http://127.0.0.1:${pair.own.port}/v1", keys: [{ value: sk-x }] }\nrecovery: { max_attempts: 2, kinds: { interrupted: { delay: 10ms, max_attempts: 2 }, network: { delay: 10ms, max_attempts: 2 } } }\nagents:\n  - { name: a, model: own/m, retry: { max_attempts: 9, delay_seconds: 0.1 } }\n`);
  for (other of [false, true]) {
    calls = 0;
    const child = spawn(daruma, ["run", "--config", join(root, "d.yaml"), "--root", root, "--no-journal", "--stream", "the task"], { stdio: ["ignore", "pipe", "pipe"] });
    const r = { out: "", err: "" };
    child.stdout.on("data", (b) => (r.out += b));
    child.stderr.on("data", (b) => (r.err += b));
    const code = await new Promise((ok) => child.on("close", ok));
    assert.equal(code, 0, r.out + r.err);
    assert.ok(calls > 6, `${calls}`);
    assert.equal(r.out, other ? `${half}\n${half.slice(0, 350)} but otherwise now.\n` : `${answer}\n`, r.err);
  }
});
