// What a client, a provider or the machine does badly harms nobody else: slow readers and senders, no descriptors, pipes
// that nobody reads, bytes that a terminal obeys.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import zlib from "node:zlib";
import { ask, dialects, question, until } from "./net.mjs";
import { daruma, freePort, sleep } from "./pair.mjs";
import { good, holds, once, send } from "./wire.mjs";

const exited = (child) => (child.exitCode !== null || child.signalCode ? Promise.resolve() : new Promise((ok) => child.once("exit", ok)));
const post = (body, more = "") => `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer sk-client\r\ncontent-type: application/json\r\n${more}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

// Asks and reads nothing for `pause` ms; then everything until the other side closes.
async function sleeper(pair, body, pause) {
  const s = net.connect(pair.port, "127.0.0.1"), parts = [];
  let ended = false;
  s.on("error", () => (ended = true)).on("close", () => (ended = true));
  s.write(post(body, "connection: close\r\n"));
  await sleep(pause);
  s.on("data", (d) => parts.push(d));
  await until("the connection ends", () => ended, 20000);
  return Buffer.concat(parts).toString("latin1");
}

holds("a client that reads nothing for 35 s gets its answer whole, a plain one and a stream", {
  limit: 70000,
  config: (c) => (delete c.timeouts.total, (c.timeouts.first_byte = "20s")),
  async run(pair) {
    const piece = "x".repeat(60000), pieces = 260; // 15.6 MB: more than the sockets between hold
    pair.own.answer = async (q, res) => {
      if (!q.body.includes('"stream":true')) return res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ choices: [{ index: 0, message: { role: "assistant", content: piece.repeat(pieces) }, finish_reason: "stop" }] }));
      res.writeHead(200, { "content-type": "text/event-stream" });
      for (let i = 0; i < pieces; i++) if (!res.write(`data: {"choices":[{"index":0,"delta":{"content":"${piece}"}}]}\n\n`)) await new Promise((ok) => res.once("drain", ok));
      res.end(`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`);
    };
    const body = (more) => JSON.stringify(dialects.openai.body("m-own", "say much", more));
    const [plain, stream] = await Promise.all([sleeper(pair, body({}), 35000), sleeper(pair, body({ stream: true }), 35000)]);
    for (const [what, text, end] of [["plain", plain, /"finish_reason":"stop"\}\]\}$/], ["stream", stream, /data: \[DONE\]\n\n\r\n0\r\n\r\n$/]]) {
      assert.equal(text.split(piece).length - 1, pieces, `${what}: it was cut`);
      assert.match(text.slice(-100), end, what);
    }
  },
});

holds("SIGTERM: a request that comes too slowly gets 503 and holds nothing up, one that is nearly there is answered", {
  async run(pair) {
    const g = pair.gateway(), body = JSON.stringify(dialects.openai.body("m-own", "say fine"));
    pair.ended = true;
    pair.own.answer = (q, res) => res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(good.openai));
    const talk = ["slow", "quick"].map((name) => {
      const s = net.connect(pair.port, "127.0.0.1"), t = { name, s, got: "", ended: false };
      s.on("data", (d) => (t.got += d)).on("close", () => (t.ended = true)).on("error", () => {});
      s.write(post(body).slice(0, -body.length / 2));
      return t;
    });
    const drips = setInterval(() => talk[0].s.write(" "), 300); // never silent
    await sleep(200);
    const began = Date.now();
    g.kill("SIGTERM");
    await sleep(300);
    talk[1].s.write(post(body).slice(-body.length / 2));
    await Promise.race([exited(g), sleep(11000)]);
    clearInterval(drips);
    assert.equal(g.exitCode, 0, `it runs on after ${Date.now() - began} ms`);
    assert.ok(Date.now() - began < 9500, `it took ${Date.now() - began} ms`);
    await until("both connections end", () => talk.every((t) => t.ended));
    assert.match(talk[1].got, /^HTTP\/1\.1 200 [^]*"fine"/);
    assert.match(talk[0].got, /^HTTP\/1\.1 503 [^]*retry-after: 1\r\n[^]*connection: close\r\n[^]*is stopping[^]*"server_is_overloaded"/);
  },
});

holds("responses: numbers of events at the end of their range are gone on from", {
  async run(pair) {
    const event = (type, more) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more }).replace('"last"', "9223372036854775807")}\n\n`;
    const d = dialects.responses;
    pair.own.answer = (q, res) => {
      res.writeHead(200, { "content-type": "text/event-stream" });
      res.write(event("response.created", { sequence_number: 0, response: { id: "r", status: "in_progress", output: [] } }));
      res.write(event("response.output_item.added", { sequence_number: 1, output_index: 0, item: { id: "m", type: "message", role: "assistant", content: [] } }));
      res.write(event("response.output_text.delta", { sequence_number: "last", item_id: "m", output_index: 0, content_index: 0, delta: "seven " }));
      setTimeout(() => res.destroy(), 50);
    };
    const r = await question(pair, { ...d, one: undefined }, { model: d.own, stream: true });
    const made = r.events.filter((e) => e.json && e.json.sequence_number < 1e6).map((e) => e.json.sequence_number);
    assert.ok(d.failed(r.events), r.text);
    assert.ok(made.length >= 3 && made.every((n, i) => n >= 0 && (!i || n > made[i - 1])), r.text);
    assert.equal(r.events.filter((e) => e.json && !(e.json.sequence_number >= 0)).length, 0, r.text);
  },
});

/* ---- what nobody here can look into ---- */

const codings = { gzip: zlib.gzipSync, deflate: zlib.deflateSync, br: zlib.brotliCompressSync };
holds("an encoded error that repeats our key does not reach the client; its status does, with words that say why", {
  config: (c) => (c.providers.sort((a, b) => b.name.startsWith("own") - a.name.startsWith("own")), (c.recovery.max_attempts = 1)),
  async run(pair) {
    for (const [coding, pack] of Object.entries(codings))
      for (const status of [400, 401, 403, 404, 429, 500]) {
        pair.own.answer = (q, res) => res.writeHead(status, { "content-type": "text/plain", "content-encoding": coding, etag: "x" }).end(pack(`Incorrect API key provided: ${q.headers.authorization}`));
        const r = await ask(pair, "/v1/files", { headers: { "accept-encoding": "gzip, deflate, br" } });
        assert.deepEqual([r.status, r.headers["content-encoding"], r.headers["content-type"], r.headers.etag], [status, undefined, "application/json", "x"], `${coding} ${status}`);
        assert.match(JSON.parse(r.text).error.message, new RegExp(`HTTP ${status} .* encoded as ${coding}`));
      }
    assert.ok(pair.events().some((e) => e.event === "answer_not_readable"));
    const packed = zlib.gzipSync("[]"); // an answer that is none of these is the client's to read
    pair.own.answer = (q, res) => res.writeHead(200, { "content-encoding": "gzip" }).end(packed);
    assert.deepEqual((await ask(pair, "/v1/files")).bytes, packed);
    // The client's own key: nothing of ours is in it, and the client asked for the coding.
    await pair.again((c) => (c.providers.splice(0, 9, { name: "own", dialect: "openai", url: `http://127.0.0.1:${pair.own.port}/v1` }), (c.models = [])));
    pair.own.answer = (q, res) => (assert.equal(q.headers["accept-encoding"], "gzip"), res.writeHead(404, { "content-encoding": "gzip" }).end(packed));
    assert.deepEqual((await ask(pair, "/v1/files", { headers: { ...dialects.openai.headers, "accept-encoding": "gzip" } })).bytes, packed);
    // A key in a configured field is ours as well.
    await pair.again((c) => (c.providers.splice(0, 9, { name: "own", dialect: "openai", url: `http://127.0.0.1:${pair.own.port}/v1`, headers: { "api-key": "sk-two" } }), (c.models = [])));
    pair.own.answer = (q, res) => (assert.equal(q.headers["accept-encoding"], "identity"), res.writeHead(404, { "content-encoding": "gzip" }).end(zlib.gzipSync(q.headers["api-key"])));
    assert.match((await ask(pair, "/v1/files", { headers: { "accept-encoding": "gzip" } })).text, /encoded as gzip/);
  },
});

/* ---- pipes that nobody empties ---- */

// Enough events to fill a pipe: what is sent to a key that is refused is told several times.
async function many(pair, n) {
  const d = dialects.openai;
  pair.own.answer = (q, res) => res.writeHead(500, { "content-type": "application/json" }).end(`{"error":{"message":"${"long ".repeat(100)}"}}`);
  await Promise.all(Array.from({ length: n }, async (_, i) => assert.equal((await question(pair, d, { model: d.own, text: `say ${i}` })).status, 500)));
}

holds("events go to a pipe that nobody reads: nothing waits, what is lost is counted, and lines stay whole", {
  limit: 30000,
  config: (c) => (c.recovery.on_failure = "error"),
  async run(pair) {
    const fifo = join(pair.dir, "fifo");
    rmSync(fifo, { force: true });
    execFileSync("mkfifo", [fifo]);
    await pair.again((c) => ((c.events.file = fifo), once(c), (c.recovery.on_failure = "error"))); // it starts although nobody reads
    await many(pair, 120);
    const { events } = await pair.status();
    assert.ok(events.lost > 0 && events.written > 0, JSON.stringify(events));
    const reader = spawn("cat", [fifo]);
    let got = "";
    reader.stdout.on("data", (d) => (got += d));
    await until("the pipe is read", () => got.length > 0);
    for (let had = -1; got.length !== had; await sleep(300)) had = got.length;
    const before = (await pair.status()).events.lost;
    await many(pair, 1);
    await sleep(100);
    reader.kill();
    assert.equal((await pair.status()).events.lost, before);
    const whole = got.split("\n").slice(0, -1).filter((l) => { try { return JSON.parse(l); } catch { return false; } }), lines = got.split("\n").slice(0, -1);
    assert.equal(lines.length, whole.length, "a line is broken");
    assert.match(whole.at(-1), /"outcome":"failed"/);
  },
});

holds("nobody reads stderr: requests are answered, and the order to stop is obeyed", {
  limit: 30000,
  async run(pair) {
    const port = await freePort(), file = join(pair.dir, "loud.yaml");
    pair.write((c) => ((c.listen = `127.0.0.1:${port}`), once(c), (c.recovery.on_failure = "error"), (c.events = { stderr: true })));
    execFileSync("cp", [join(pair.dir, "daruma.yaml"), file]);
    const g = spawn(daruma, ["serve", file], { stdio: ["ignore", "ignore", "pipe"] });
    g.stderr.pause();
    try {
      const loud = { ...pair, port, own: pair.own };
      await until("it listens", () => ask(loud, "/daruma/health").then(() => true, () => false));
      await many(loud, 300);
      g.kill("SIGHUP");
      g.kill("SIGTERM");
      await Promise.race([exited(g), sleep(4000)]);
      assert.equal(g.exitCode, 0);
    } finally {
      g.kill("SIGKILL");
    }
  },
});

/* ---- no descriptors ---- */

// From here on the gateway can open `more` descriptors.
async function allow(pair, more) {
  const pid = pair.gateway().pid;
  await sleep(100); // what is being closed is closed
  const open = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
  let most = 0;
  for (let free = 0; free < more || open.has(most); most++) free += !open.has(most);
  execFileSync("prlimit", [`--pid=${pid}`, `--nofile=${most}:`]);
}
const ticks = (pid) => readFileSync(`/proc/${pid}/stat`, "latin1").split(" ").slice(13, 15).reduce((a, b) => a + Number(b), 0); // of 10 ms

holds("no descriptor is left to connect to a provider: it is waited for, and nobody is blamed", {
  config: (c) => ((c.recovery.on_failure = "error"), delete c.recovery.max_attempts),
  async run(pair) {
    const d = dialects.openai;
    pair.own.answer = (q, res) => res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(good.openai));
    await allow(pair, 1); // for the client's own connection
    const waits = question(pair, d, { model: d.own, headers: { "x-stainless-timeout": "10" } });
    await until("it is waited", () => pair.events().filter((e) => e.kind === "network").length > 3);
    await allow(pair, 100);
    const r = await waits;
    assert.deepEqual([r.status, r.said, r.outcome, r.headers["x-daruma-remedies"]], [200, "fine", "recovered", "retry_fresh,wait_retry"], r.text);
    for (const p of (await pair.status()).places) assert.deepEqual([p.cool_in_ms, p.breaker, p.bad], [0, "closed", 0], JSON.stringify(p));
    assert.equal(pair.own.seen.length, 1);
  },
});

for (const [what, host] of [["an address", "127.0.0.1"], ["a name", "provider.invalid"]])
  holds(`no descriptor is left to connect to ${what}: the error names our own limit`, {
    config: (c) => (c.providers.forEach((p) => (p.url = p.url.replace("127.0.0.1", host))), (c.recovery.on_failure = "error")),
    async run(pair) {
      const d = dialects.openai;
      await allow(pair, 1);
      const r = await question(pair, d, { headers: { "x-stainless-timeout": "2" } });
      assert.ok(r.status >= 500, r.text);
      assert.match(r.json.error.message, /this machine had no descriptor.*ulimit -n/);
      await allow(pair, 100);
      for (const p of (await pair.status()).places) assert.deepEqual([p.cool_in_ms, p.breaker, p.bad], [0, "closed", 0], JSON.stringify(p));
    },
  });

holds("clients that come while no descriptor is left do not keep the loop busy", {
  async run(pair) {
    const g = pair.gateway(), open = [];
    const client = () => new Promise((ok) => { const s = net.connect(pair.port, "127.0.0.1"); open.push(s); s.on("connect", ok).on("error", ok); });
    await ask(pair, "/daruma/health");
    await allow(pair, 4);
    for (let i = 0; i < 20; i++) await client();
    const began = ticks(g.pid);
    const more = setInterval(client, 50);
    await sleep(2000);
    clearInterval(more);
    const used = ticks(g.pid) - began;
    open.forEach((s) => s.destroy());
    assert.ok(used < 40, `${used * 10} ms of 2 s`);
    await allow(pair, 100);
    assert.equal((await question(pair, dialects.openai)).said, "seven eight");
  },
});

const fields = (n) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`x-f-${i}`, `${i}`]));
for (const [what, more] of [["more fields than are taken", () => fields(1100)], ["a field longer than a head may be", () => ({ "x-long": "x".repeat(70000) })]])
  holds(`harm: an answer whose head has ${what} is asked for once, the next model is tried, and the error says the limit`, {
    config: (c) => ((c.models = [{ name: "m-own", targets: ["own/m-own", "own/m-other"] }, { name: "m-alone", targets: ["own/m-alone"] }])),
    async run(pair) {
      const model = (q) => JSON.parse(q.body).model;
      pair.own.answer = (q, res) => (model(q) === "m-other" ? send(res, 200, good.openai) : send(res, 200, good.openai, more()));
      const r = await question(pair, dialects.openai, { model: "m-own" });
      assert.deepEqual([r.status, r.headers["x-daruma-outcome"], pair.own.seen.map(model)], [200, "recovered", ["m-own", "m-other"]], r.text);
      pair.own.seen = [];
      const began = Date.now(), alone = await question(pair, dialects.openai, { model: "m-alone" });
      assert.deepEqual([alone.status, alone.headers["x-daruma-outcome"], pair.own.seen.length], [502, "failed", 1], alone.text);
      assert.match(alone.json.error.message, /head of the answer has more than 1,024 fields or 64 KiB/);
      assert.ok(Date.now() - began < 2000);
    },
  });

// An object of JSON says itself where it ends: what is missing behind it is of the framing, or blank.
for (const [what, more, framed] of [
  ["before its announced length", (n) => `content-length: ${n + 2}`, (s) => s],
  ["before the last chunk", () => "transfer-encoding: chunked", (s) => `${Buffer.byteLength(s).toString(16)}\r\n${s}\r\n`],
])
  holds(`harm: a plain answer that is whole goes out although the connection dies ${what}; one that is not is asked for again`, {
    async run(pair) {
      for (const [name, d] of Object.entries(dialects).filter(([n]) => good[n]))
        for (const how of ["end", "resetAndDestroy"]) {
          const cut = (lost) => (q, res, socket) => {
            const body = JSON.stringify(good[name]), sent = body.slice(0, body.length - (q.n === 1 ? lost : 0));
            socket.write(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n${more(Buffer.byteLength(body))}\r\n\r\n${framed(sent)}`, () => setTimeout(() => socket[how](), 30));
          };
          for (const lost of [0, 1]) {
            pair.own.seen = [];
            pair.own.answer = cut(lost);
            const r = await question(pair, d, { model: d.own });
            assert.deepEqual([r.status, r.said, r.outcome, pair.own.seen.length, r.cut], [200, "fine", lost ? "recovered" : "ok", 1 + lost, false], `${name} ${how} ${lost}: ${r.text}`);
            assert.equal(r.text, JSON.stringify(good[name]));
          }
        }
    },
  });
