// What daruma tells of its recoveries: events that join to others' logs, that are whole lines whatever the disk does, and
// what failed at each target in the last word.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ask, dialects, question, until } from "./net.mjs";
import { daruma, freePort, sleep } from "./pair.mjs";
import { each, good, holds, oneKey, once, send } from "./wire.mjs";

const trace = "4bf92f3577b34da6a3ce929d0e0e4736", span = "00f067aa0ba902b7", traceparent = `00-${trace}-${span}-01`;
const busy = { openai: { error: { message: "Rate limit reached", type: "requests", code: "rate_limit_exceeded" } } };
busy.responses = busy.openai;
busy.anthropic = { type: "error", error: { type: "rate_limit_error", message: "Rate limit reached" } };
busy.gemini = { error: { code: 429, status: "RESOURCE_EXHAUSTED", message: "Rate limit reached" } };
const counted = { openai: { usage: { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 } }, responses: { usage: { input_tokens: 11, output_tokens: 4, total_tokens: 15 } } };

each((name, d) =>
  holds(`see: ${name}: events carry the request ids of both sides, the session and the trace, and the provider gets the trace as it came`, {
    async run(pair) {
      const ids = ["req_011CSHoEeqs5C35K2UUqR7Fy", "req-b2c3-answer"];
      pair.own.answer = (q, res) => {
        res.setHeader(name === "anthropic" ? "request-id" : "x-request-id", ids[Math.min(q.n, ids.length) - 1]);
        send(res, q.n === 1 ? 429 : 200, q.n === 1 ? busy[name] : { ...good[name], ...counted[name] });
      };
      const mine = "9f1c2d3e-1111-4222-8333-444455556666";
      const r = await question(pair, d, { model: d.own, headers: { "x-request-id": mine, traceparent, tracestate: "a=b", "x-daruma-session": "night-run; continued" } });
      assert.equal(r.status, 200, r.text);
      const list = await until("the end is told", () => pair.events().some((e) => e.event === "error_recovery_success") && pair.events());
      for (const e of list) assert.deepEqual([e.request_id, e.session, e.trace_id, e.span_id], [mine, "night-run", trace, span], JSON.stringify(e));
      const of = (event) => list.find((e) => e.event === event).provider_request_id;
      assert.deepEqual([of("llm_request_failed"), of("error_recovery_success")], ids);
      for (const q of pair.own.seen) assert.deepEqual([q.headers.traceparent, q.headers.tracestate, q.headers["x-request-id"]], [traceparent, "a=b", mine]);
      const end = list.find((e) => e.event === "error_recovery_success");
      assert.ok(end.input_tokens > 0 && end.output_tokens > 0, JSON.stringify(end));
    },
  }),
);

holds("see: what a client sends as ids is bounded, one line, and shows no secret", {
  config: (c) => (once(c), (c.recovery.patience = "none")),
  async run(pair) {
    const d = dialects.openai;
    pair.own.answer = (q, res) => (res.setHeader("x-request-id", `sk-leak-0123456789abcdef0123 ${"y".repeat(3000)}`), send(res, 500, { error: { message: "no" } }));
    const odd = [
      { "x-request-id": "x".repeat(6000), traceparent: "z".repeat(6000) },
      { "x-request-id": 'a"b\\c\u00e9{}', traceparent: `00-${"0".repeat(32)}-${span}-01` },
      { "x-request-id": "Bearer sk-leak-abcdefghijklmnop0123456789", traceparent: `00-${trace.toUpperCase()}-${span}-01` },
      { "x-client-request-id": "theirs-1", traceparent: `ff-${trace}-${span}-01` },
      { "x-request-id": "plain", traceparent: `00-${trace}-${span}-01-more`, session_id: "s".repeat(500) },
    ];
    for (const headers of odd) await question(pair, d, { model: d.own, headers });
    const failed = pair.events().filter((e) => e.event === "llm_request_failed");
    assert.equal(failed.length, odd.length);
    for (const e of failed) {
      assert.ok(!e.trace_id && !e.span_id, JSON.stringify(e));
      for (const v of [e.request_id, e.provider_request_id, e.session]) assert.ok(v === undefined || v.length <= 128, v);
    }
    assert.equal(failed[3].request_id, "theirs-1");
    assert.match(failed[0].session, /^[0-9a-f]{16}$/);
    assert.match(failed[4].session, /^s{125}\.\.\.$/);
    for (const line of pair.eventsText().trim().split("\n")) assert.match(line, /^[\x20-\x7e\u0080-\uffff]*$/);
  },
});

holds("see: the last word says what failed at each target, with kind, status and wait, and no key", {
  limit: 40000,
  config: (c) => {
    once(c), oneKey(c), (c.recovery.patience = "none");
    c.providers.push({ name: "away", dialect: "openai", url: "http://127.0.0.1:9/v1", keys: ["sk-two"] });
    c.models.push({ name: "three", targets: ["own/first", "away/second", "own/third"] });
  },
  async run(pair) {
    const d = dialects.openai;
    pair.own.answer = (q, res) => {
      const first = q.body.includes('"first"');
      if (first) res.setHeader("retry-after", "77");
      send(res, first ? 429 : 404, { error: first ? { message: "Rate limit reached for sk-one", code: "rate_limit_exceeded" } : { message: "The model `third` does not exist", code: "model_not_found" } });
    };
    const r = await question(pair, d, { model: "three" });
    assert.ok(r.status >= 400, r.text);
    assert.match(r.text, /What failed where: own\/first rate_limit \(HTTP 429\), wait 77 s; away\/second network \(the connection was refused\); own\/third model_not_found \(HTTP 404\)\./);
    const end = pair.events().find((e) => e.event === "error_recovery_failed");
    assert.deepEqual(end.tried.map(({ target, kind, status, wait_ms, net }) => [target, kind, status ?? net, wait_ms]), [["own/first", "rate_limit", 429, 77000], ["away/second", "network", "refused", undefined], ["own/third", "model_not_found", 404, undefined]]);
    assert.ok(end.reason.includes("What failed where"));
    assert.equal(pair.events().find((e) => e.model === "second" && e.event === "llm_request_failed").net, "refused");
  },
});

/* ---- a gateway of its own, whose log has little room ---- */

// Runs `sh -c` around a gateway: limits, pipes. Resolves when it answers.
async function around(pair, script, change, use) {
  const port = await freePort(), file = join(pair.dir, `see-${port}.yaml`);
  pair.write((c) => ((c.listen = `127.0.0.1:${port}`), once(c), (c.recovery.patience = "none"), change?.(c, port)));
  const text = readFileSync(join(pair.dir, "daruma.yaml"), "utf8");
  writeFileSync(file, text);
  const child = spawn("sh", ["-c", script, daruma, file], { stdio: ["ignore", "pipe", "pipe"] });
  child.said = "";
  for (const s of [child.stdout, child.stderr]) s.on("data", (b) => (child.said += b));
  const gone = new Promise((ok) => child.once("exit", (code, signal) => ok(signal ?? code)));
  const up = () => ask({ ...pair, port }, "/daruma/health").then((r) => r.status === 200, () => false);
  try {
    await until(`it answers: ${child.said}`, up);
    await use({ ...pair, port, said: () => child.said });
    assert.ok(await up(), `it is gone: ${child.said}`);
  } finally {
    child.kill("SIGTERM");
    await Promise.race([gone, sleep(4000)]);
    child.kill("SIGKILL");
  }
}

const fail = (pair, i) => question(pair, dialects.openai, { model: "m-own", text: `say ${i} ${"x".repeat(i % 40)}` });
const wholeLines = (text) => {
  assert.ok(text === "" || text.endsWith("\n"), JSON.stringify(text.slice(-120)));
  return text.split("\n").filter(Boolean).map((l) => JSON.parse(l));
};

holds("see: a full disk loses whole events, says so once, counts them, and writes again when there is room", {
  limit: 60000,
  async run(pair) {
    const file = join(pair.dir, "full.jsonl");
    writeFileSync(file, "");
    pair.own.answer = (q, res) => send(res, 400, { error: { message: "what is this?", type: "invalid_request_error" } });
    await around(pair, 'ulimit -f 8; exec "$0" serve --config "$1"', (c) => (c.events = { file, stderr: false }), async (g) => {
      for (let i = 0; i < 25; i++) await fail(g, i);
      const list = wholeLines(readFileSync(file, "utf8")), notes = list.filter((e) => e.event === "events_lost");
      assert.ok(list.length > 2 && readFileSync(file).length <= 8 * 1024);
      const s = JSON.parse((await ask(g, "/daruma/status")).text).events;
      assert.ok(s.lost > 5, JSON.stringify(s));
      assert.equal(s.written, list.length - notes.length);
      assert.equal(g.said().match(/lines are lost until it can/g)?.length, 1, g.said());
      assert.match(g.said(), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  daruma: events\.file: \S+ cannot be written: (File too large|No space left on device)/m);
      truncateSync(file, 0); // there is room
      await fail(g, 1);
      const again = wholeLines(readFileSync(file, "utf8"));
      assert.equal(again[0].event, "events_lost");
      assert.equal(notes.reduce((n, e) => n + e.lost, again[0].lost), s.lost);
      assert.ok(again[0].ts && again[0].reason && again.length > 1);
    });
  },
});

holds("see: a FIFO without a reader stops nothing, and whoever reads it later reads whole lines", {
  limit: 60000,
  async run(pair) {
    const file = join(pair.dir, `fifo-${pair.port}`);
    pair.own.answer = (q, res) => send(res, 400, { error: { message: `what is this? ${"long words ".repeat(40)}`, type: "invalid_request_error" } });
    await around(pair, `mkfifo ${file} && exec "$0" serve --config "$1"`, (c) => (c.events = { file, stderr: false }), async (g) => {
      for (let i = 0; i < 90; i++) assert.equal((await fail(g, i)).status, 400);
      const s = JSON.parse((await ask(g, "/daruma/status")).text).events;
      assert.ok(s.lost > 5 && s.written > 0, JSON.stringify(s));
      assert.equal(g.said().match(/nobody reads it fast enough; lines are lost until it can/g)?.length, 1, g.said());
      const reader = spawn("cat", [file], { stdio: ["ignore", "pipe", "ignore"] });
      let text = "";
      reader.stdout.on("data", (b) => (text += b));
      for (let had = -1; text.length !== had || !had; await sleep(300)) had = text.length; // a pipe may hold 64 KiB, or a page where there are many
      await fail(g, 1);
      await until("it is written again", () => /"events_lost"/.test(text) && /error_recovery_failed[^\n]*\n$/.test(text));
      reader.kill();
      const list = wholeLines(text), gap = list.find((e) => e.event === "events_lost");
      assert.equal(gap.lost, s.lost);
      assert.equal(list.length - 1, s.written + list.length - 1 - list.indexOf(gap));
    });
  },
});

holds("see: the terminal line has the date, and says refused, DNS and timed out in words", {
  limit: 40000,
  async run(pair) {
    await around(
      pair,
      'exec "$0" serve --config "$1"',
      (c) => {
        c.events = { file: join(pair.dir, "said.jsonl"), stderr: true };
        c.providers.push({ name: "away", dialect: "openai", url: "http://127.0.0.1:9/v1", keys: ["sk-two"] }, { name: "lost", dialect: "openai", url: "http://no-such-host.invalid/v1", keys: ["sk-two"] });
        c.models.push({ name: "gone", targets: ["away/m"] }, { name: "nowhere", targets: ["lost/m"] });
      },
      async (g) => {
        pair.own.answer = (q, res, socket) => socket.resetAndDestroy();
        for (const model of ["gone", "nowhere", "m-own"]) await question(g, dialects.openai, { model });
        await until("all is said", () => (g.said().match(/error_recovery_failed/g) ?? []).length === 3);
        assert.match(g.said(), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  [0-9a-f]{8}  llm_request_failed  away\/m key key1  network: the connection was refused  call 1$/m);
        assert.match(g.said(), /llm_request_failed  lost\/m key key1  network: the host name could not be resolved/);
        assert.match(g.said(), /llm_request_failed  own\/m-own key key1  network: the connection was (reset|closed)/);
      },
    );
  },
});
