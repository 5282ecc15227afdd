// The law of bytes: either every byte arrives or a visible error does - a status of 400 and more, an error event of the
// dialect, a connection that breaks off - and never a clean end with bytes missing or changed. Each limit of
// src/base/limits.h that a body, a stream, a head, a buffer or a queue can meet is met here at limit - 1, limit,
// limit + 1 and three times the limit. The limits are read from that file, so that this cannot drift from it.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import http from "node:http";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { dialects, events } from "./net.mjs";
import { sleep } from "./pair.mjs";

const file = join(dirname(fileURLToPath(import.meta.url)), "../../src/base/limits.h");
const number = (text) => (/^[\d\s()u<*+-]+$/.test(text) ? Number(Function(`return ${text.replaceAll("u", "")}`)()) : NaN);
export const limits = Object.fromEntries(
  [...readFileSync(file, "utf8").replaceAll(/\\\n/g, " ").matchAll(/^#define ([A-Z0-9_]+)[ \t]+(\([^)]*\)|\S+)/gm)].map(([, name, value]) => [name, number(value)]),
);

export const scenarios = [];
export const covered = new Map(); // limit -> the scenarios that meet it

// Adds a scenario that meets these limits. What it finds is said in comments of the TAP.
export function meets(names, what, s) {
  for (const n of names) {
    assert.ok(limits[n] > 0, `${n} is no number in limits.h`);
    covered.set(n, [...(covered.get(n) ?? []), what]);
  }
  scenarios.push({ chaos: "faults: []\n", limit: 60000, ...s, name: `bytes: ${what}` });
}

// The four sizes at which a limit is met.
export const around = (limit) => [["limit - 1", limit - 1], ["limit", limit], ["limit + 1", limit + 1], ["3 limits", 3 * limit]];

// Patient, once, and the test's own providers alone; what passes through goes to the first of them.
export function patient(c) {
  c.providers = c.providers.filter((p) => p.name.startsWith("own"));
  c.models = c.models.filter((m) => m.name.endsWith("own"));
  c.providers.forEach((p) => p.keys.pop());
  c.timeouts = { connect: "2s", first_byte: "30s", idle: "30s", total: "60s" };
  c.recovery.max_attempts = 1;
  c.recovery.on_failure = "error";
}

/* ---- bytes that tell where they belong ---- */

const MIB = 1 << 20;
const block = Buffer.from(Array.from({ length: MIB / 64 }, (_, i) => createHash("sha384").update(`${i}`).digest("base64url")).join(""));

// `n` bytes of ASCII without anything that JSON escapes; no two MiB of them are alike.
export function filling(n) {
  const out = Buffer.allocUnsafe(n);
  for (let at = 0, i = 0; at < n; at += MIB, i++) {
    block.write(String(i).padStart(8, "0"), 64);
    block.copy(out, at, 0, Math.min(MIB, n - at));
  }
  return out;
}

// `before` and `behind` with so much between them that all is `size` bytes.
export const sized = (before, behind, size) => Buffer.concat([Buffer.from(before), filling(size - before.length - behind.length), Buffer.from(behind)]);
export const hash = (bytes) => createHash("sha1").update(bytes).digest("hex");

/* ---- the two ends ---- */

// When one of these happens; the others are not listened for any more.
const first = (emitter, ...names) => new Promise((ok) => {
  const done = () => (names.forEach((n) => emitter.off(n, done)), ok());
  names.forEach((n) => emitter.on(n, done));
});

// What the provider sends: `framing` is "length" or "chunked", `piece` the bytes of one write, `slow` rests between them.
export async function give(res, bytes, { status = 200, headers = {}, framing = "length", piece = MIB, slow = false, until = bytes.length } = {}) {
  res.writeHead(status, { "content-type": "application/json", ...headers, ...(framing === "length" && { "content-length": bytes.length }) });
  res.socket.setNoDelay(true);
  for (let at = 0, n = 0; at < until && !res.destroyed; at += piece, n++) {
    if (!res.write(bytes.subarray(at, Math.min(at + piece, until)))) await first(res, "drain", "close");
    if (slow && n % Math.ceil(until / piece / 20) === 0) await sleep(5);
  }
  if (until < bytes.length) res.socket?.destroy();
  else res.end();
}

// One request over a connection of its own. `slow`: the answer is not read for a while, and then with rests. `upload`: as
// the body of give(). Keeps the answer only with `keep`; else its length and hash.
export function fetchAll(pair, path, { method = "POST", headers = {}, body, upload = {}, slow = false, keep = false, onSlow } = {}) {
  return new Promise((ok, no) => {
    const sum = createHash("sha1"), parts = [];
    let length = 0, answered = false, next = 8 * MIB;
    const chunked = upload.framing === "chunked";
    const req = http.request({ host: "127.0.0.1", port: pair.port, path, method, agent: false, maxHeaderSize: 8 * MIB, headers: { ...headers, ...(body && !chunked && { "content-length": body.length }) } }, (res) => {
      answered = true;
      const end = (whole) => ok({ status: res.statusCode, headers: res.headers, raw: res.rawHeaders, length, hash: sum.digest("hex"), bytes: keep ? Buffer.concat(parts) : null, whole: whole && res.complete, outcome: res.headers["x-daruma-outcome"] });
      res.on("data", (d) => {
        length += d.length;
        sum.update(d);
        if (keep) parts.push(d);
        if (slow && length >= next) {
          next += 8 * MIB;
          res.pause();
          Promise.resolve(onSlow?.()).then(() => sleep(10)).then(() => res.resume());
        }
      });
      res.on("end", () => end(true));
      res.on("error", () => end(false));
      if (slow) {
        res.pause();
        sleep(150).then(() => res.resume());
      }
    });
    req.on("error", (e) => answered || ok({ status: 0, headers: {}, raw: [], length: 0, hash: "", bytes: Buffer.alloc(0), whole: false, outcome: undefined, error: e }));
    (async () => {
      if (!body || (!upload.slow && !chunked)) return req.end(body);
      const piece = upload.piece ?? 65536;
      for (let at = 0, n = 0; at < body.length && !req.destroyed && !answered; at += piece, n++) {
        if (!req.write(body.subarray(at, at + piece))) await first(req, "drain", "close", "response");
        if (upload.slow && n % Math.ceil(body.length / piece / 20) === 0) await sleep(5);
      }
      req.end();
    })().catch(no);
  });
}

/* ---- the law ---- */

// How an answer of bytes came out: "whole", or what shows that it is not.
export function judged(what, r, want) {
  if (r.status === 0) return "broken off";
  if (r.status >= 400) return String(r.status);
  if (!r.whole) return "broken off";
  assert.equal(r.length, want.length, `${what}: a clean end, and ${want.length - r.length} bytes are missing`);
  assert.equal(r.hash, want.hash ?? hash(want), `${what}: the bytes are not those that were sent`);
  return "whole";
}

// The same of a stream, by its text or whatever `of` takes out of its events.
export function judgedStream(what, d, r, want, of = (list) => list.map(d.piece).join("")) {
  if (r.status === 0) return "broken off";
  if (r.status >= 400) return String(r.status);
  if (!r.whole) return "broken off";
  const list = events(r.bytes.toString());
  if (d.failed(list)) return "error event";
  assert.ok(d.ended(list), `${what}: a clean end without the last event`);
  const got = of(list);
  if (got !== want) assert.equal(got.length, want.length, `${what}: a clean end, and the stream is not whole`);
  assert.ok(got === want, `${what}: the text is not what was sent`);
  return "whole";
}

// One question in a dialect, for what it gives as bytes.
export const askFor = (pair, d, { model = d.own, stream = false, more = {}, body, ...rest } = {}) =>
  fetchAll(pair, typeof d.path === "function" ? d.path(model, stream) : d.path, { headers: { ...d.headers, "content-type": "application/json" }, body: body ?? Buffer.from(JSON.stringify(d.body(model, "say it", stream ? { stream, ...more } : more))), ...rest });

export const seen = {}; // limit -> how what met it came out, and how often

// Counts what was found, which is to be what is expected: a word, or a regular expression. `what` begins with the limit.
export function found(what, came, expected) {
  const name = /^[A-Z0-9_]+/.exec(what)[0], of = (seen[name] ??= {});
  assert.ok(covered.has(name), `${name} is not among the limits that its scenario says`);
  of[came] = (of[came] ?? 0) + 1;
  if (expected instanceof RegExp) assert.match(came, expected, what);
  else assert.equal(came, expected, what);
}

// What is not whole is not counted as if it were.
export async function okCount(pair) {
  const n = (await pair.status()).requests;
  return n.ok + n.recovered;
}

// Resident memory of the gateway, in bytes.
export const rss = (pair) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pair.gateway().pid}/status`, "utf8"))[1]) * 1024;

export { dialects, MIB };
