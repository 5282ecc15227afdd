// Requests and heads against the limits: bodies, fields, targets, chunks, requests that come ahead of an answer.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import net from "node:net";
import { pathOf } from "./net.mjs";
import { sleep } from "./pair.mjs";
import { around, askFor, dialects, fetchAll, filling, found, hash, judged, limits, meets, MIB, patient, sized } from "./bytes_kit.mjs";

const fine = '{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"fine"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}';
const json = { "content-type": "application/json" };
const openai = (size) => sized('{"model":"m-own","messages":[{"role":"user","content":"', '"}]}', size);

// A request of bytes comes to the provider as it was sent, or is refused; what came of it, in a word.
function arrived(what, pair, r, bytes) {
  if (r.status === 0 || r.status >= 400) {
    assert.equal(pair.own.seen.length, 0, `${what}: the provider was asked`);
    return r.status ? String(r.status) : "broken off";
  }
  assert.equal(r.status, 200, what);
  assert.equal(pair.own.seen.length, 1, what);
  assert.equal(pair.own.seen[0].body.length, bytes.length, `${what}: not all of it is with the provider`);
  assert.equal(hash(pair.own.seen[0].body), hash(bytes), `${what}: another request is with the provider`);
  return "whole";
}

// Sends bytes as they are, and reads what comes back until the other side closes, is silent, or said what was waited for.
function speak(pair, bytes, { piece = bytes.length, rest = 0, quiet = 1000, slow = false, done } = {}) {
  return new Promise((ok) => {
    const s = net.connect(pair.port, "127.0.0.1"), parts = [];
    let timer;
    const end = () => (clearTimeout(timer), s.destroy(), ok(Buffer.concat(parts)));
    const again = () => (clearTimeout(timer), (timer = setTimeout(end, quiet)));
    s.on("data", (d) => (parts.push(d), done?.(Buffer.concat(parts).toString("latin1")) ? end() : again()));
    s.on("close", end);
    s.on("error", () => {});
    s.on("connect", async () => {
      again();
      if (slow) (s.pause(), setTimeout(() => s.resume(), 300));
      for (let at = 0; at < bytes.length && !s.destroyed; at += piece) {
        s.write(bytes.subarray(at, at + piece));
        if (rest) (await sleep(rest), again());
      }
    });
  });
}

meets(["BODY_BYTES_MAX"], "a request body comes to the provider whole, or is refused with 413", {
  config: (c) => (patient(c), (c.limits = { body: "1MiB" })),
  async run(pair) {
    pair.own.answer = (q, res) => res.writeHead(200, json).end(fine);
    const uploads = [["length", {}], ["length, slow", { slow: true, piece: 20000 }], ["chunked", { framing: "chunked" }], ["chunked, slow, pieces of 999", { framing: "chunked", slow: true, piece: 999 }]];
    for (const [framing, upload] of uploads)
      for (const [path, headers] of [["/v1/chat/completions", json], ["/v1/files", { "content-type": "application/octet-stream" }]])
        for (const [at, size] of around(MIB)) {
          const bytes = openai(size), what = `BODY_BYTES_MAX, as limits.body, ${framing}, ${path}, ${at}`;
          pair.own.seen = [];
          found(what, arrived(what, pair, await fetchAll(pair, path, { headers: { ...dialects.openai.headers, ...headers }, body: bytes, upload }), bytes), size <= MIB ? "whole" : /^(413|broken off)$/);
        }
  },
});

meets(["BODY_BYTES_MAX", "CALL_ARENA_BYTES_MAX"], "a request body of the usual limit comes to the provider whole, or is refused", {
  config: patient,
  async run(pair) {
    pair.own.answer = (q, res) => res.writeHead(200, json).end(fine);
    for (const [framing, at, size] of [["length", "limit - 1", -1], ["chunked", "limit", 0], ["length", "limit + 1", 1], ["chunked", "limit + 1", 1], ["length", "3 limits", 2 * limits.BODY_BYTES_MAX]]) {
      const bytes = openai(limits.BODY_BYTES_MAX + size), what = `BODY_BYTES_MAX, ${framing}, ${at}`;
      pair.own.seen = [];
      const r = await fetchAll(pair, "/v1/chat/completions", { headers: { ...dialects.openai.headers, ...json }, body: bytes, upload: { framing, piece: 4 * MIB } });
      found(what, arrived(what, pair, r, bytes), size <= 0 ? "whole" : /^(413|broken off)$/);
    }
    // Written anew for another dialect, a request takes several times its size: a text of escapes, and small messages.
    const d = dialects.anthropic, model = dialects.openai.own;
    const content = (m) => (typeof m.content === "string" ? m.content : m.content.map((p) => p.text).join(""));
    const cases = [16, 64].map((size) => [`${size} MiB of escapes`, [{ role: "user", content: "a\n".repeat((size * MIB) / 3 - 100) }]]);
    for (const size of [1, 12, 40]) cases.push([`${size} MiB of small messages`, Array.from({ length: size * 16000 }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: `${i}-${"w".repeat(20)}` }))]);
    for (const [at, messages] of cases) {
      const what = `CALL_ARENA_BYTES_MAX, ${at}`;
      pair.own.seen = [];
      const r = await askFor(pair, d, { body: Buffer.from(JSON.stringify({ model, max_tokens: 100, messages })) });
      if (r.status === 200) {
        const sent = JSON.parse(pair.own.seen[0].body).messages.map(content);
        assert.equal(sent.length, messages.length, what);
        assert.ok(sent.every((t, i) => t === messages[i].content), `${what}: other words are with the provider`);
      } else assert.equal(pair.own.seen.length, 0, what);
      found(what, r.status === 200 ? "whole" : String(r.status), /^(16|1) /.test(at) ? "whole" : /^(whole|[45]\d\d)$/);
    }
  },
});

/* ---- heads ---- */

// A provider that writes its heads itself.
async function rawProvider(write) {
  const p = { write, heads: [] };
  const server = net.createServer((s) => {
    let got = Buffer.alloc(0);
    s.on("error", () => {});
    s.on("data", (d) => {
      got = Buffer.concat([got, d]);
      const end = got.indexOf("\r\n\r\n");
      if (end < 0) return;
      p.heads.push(got.subarray(0, end).toString("latin1"));
      got = Buffer.alloc(0);
      p.write(s);
    });
  });
  await new Promise((ok) => server.listen(0, "127.0.0.1", ok));
  p.config = (c) => (patient(c), c.providers.forEach((q) => (q.url = q.url.replace(/:\d+/, `:${server.address().port}`))));
  p.stop = () => server.close();
  return p;
}

// A head of exactly so many bytes, or with so many fields, or with such a target. None of them is a body.
const head = (first, fields, size) => {
  const list = [...fields];
  if (size) {
    const bare = `${first}\r\n${list.map((f) => `${f}\r\n`).join("")}x-long: \r\n\r\n`.length;
    list.push(`x-long: ${"v".repeat(size - bare)}`);
  }
  return Buffer.from(`${first}\r\n${list.map((f) => `${f}\r\n`).join("")}\r\n`);
};
const status = (bytes) => Number(/^HTTP\/1\.1 (\d+)/.exec(bytes.toString("latin1"))?.[1] ?? 0);
const pieces = [["at once", {}], ["in pieces", { piece: 5000, rest: 2 }]];

meets(["HTTP_HEAD_BYTES_MAX", "HTTP_HEADERS_MAX", "HTTP_URL_BYTES_MAX"], "the head of a request comes to the provider whole, or is refused", {
  config: patient,
  async run(pair) {
    const p = await rawProvider((s) => s.write("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfine"));
    const cases = [
      ...around(limits.HTTP_HEAD_BYTES_MAX).map(([at, size]) => ["HTTP_HEAD_BYTES_MAX", at, head("GET /v1/files HTTP/1.1", ["host: localhost"], size), /431/]),
      ...around(limits.HTTP_HEADERS_MAX).map(([at, n]) => ["HTTP_HEADERS_MAX", at, head("GET /v1/files HTTP/1.1", ["host: localhost", ...Array.from({ length: n - 1 }, (_, i) => `x-f-${i}: ${i}`)]), /431/]),
      ...around(limits.HTTP_URL_BYTES_MAX).map(([at, size]) => ["HTTP_URL_BYTES_MAX", at, head(`GET /v1/files/${"u".repeat(size - 10)} HTTP/1.1`, ["host: localhost"]), /414/]),
    ];
    try {
      await pair.again(p.config);
      for (const [limit, at, bytes, refusal] of cases)
        for (const [coming, how] of pieces) {
          const what = `${limit}, ${coming}, ${at}`;
          p.heads = [];
          const r = await speak(pair, bytes, { ...how, quiet: 2000, done: (t) => t.endsWith("fine") });
          if (status(r) === 200) {
            assert.ok(r.toString().endsWith("fine"), what);
            const sent = bytes.toString().trimEnd().split("\r\n"), got = p.heads[0].split("\r\n");
            assert.equal(got[0], sent[0], `${what}: the target`);
            for (const f of sent.slice(2)) assert.ok(got.includes(f), `${what}: without ${f.slice(0, 20)}`);
          } else assert.equal(p.heads.length, 0, what);
          found(what, status(r) === 200 ? "whole" : String(status(r)), /^limit( - 1)?$/.test(at) ? "whole" : refusal);
        }
    } finally {
      p.stop();
    }
  },
});

meets(["HTTP_HEAD_BYTES_MAX", "HTTP_HEADERS_MAX"], "the head of an answer comes to the client whole, or is an error", {
  config: patient,
  async run(pair) {
    const p = await rawProvider(() => {});
    const cases = [
      ...around(limits.HTTP_HEAD_BYTES_MAX).map(([at, size]) => ["HTTP_HEAD_BYTES_MAX", at, head("HTTP/1.1 200 OK", ["content-length: 4"], size)]),
      ...around(limits.HTTP_HEADERS_MAX).map(([at, n]) => ["HTTP_HEADERS_MAX", at, head("HTTP/1.1 200 OK", ["content-length: 4", ...Array.from({ length: n - 1 }, (_, i) => `x-f-${i}: ${i}`)])]),
    ];
    try {
      for (const [limit, at, bytes] of cases)
        for (const slow of [false, true]) {
          const what = `${limit}, of an answer, ${slow ? "in pieces" : "at once"}, ${at}`;
          await pair.again(p.config);
          p.write = async (s) => {
            for (let i = 0; slow && i < bytes.length; i += 9000) (s.write(bytes.subarray(i, i + 9000)), await sleep(2));
            if (!slow) s.write(bytes);
            s.write("fine");
          };
          const r = await fetchAll(pair, "/v1/files", { method: "GET", keep: true });
          if (r.status === 200) {
            assert.equal(r.bytes.toString(), "fine", what);
            const sent = bytes.toString().trimEnd().split("\r\n").slice(2);
            const got = new Set(r.raw.flatMap((v, i) => (i % 2 ? [] : [`${v}: ${r.raw[i + 1]}`])));
            for (const f of sent) assert.ok(got.has(f), `${what}: without ${f.slice(0, 20)}`);
          }
          found(what, r.status === 200 ? "whole" : String(r.status), /^limit( - 1)?$/.test(at) ? "whole" : "502");
        }
    } finally {
      p.stop();
    }
  },
});

meets(["HTTP_CHUNK_LINE_BYTES_MAX", "HTTP_HEAD_BYTES_MAX"], "long chunk lines and trailers do not change a body, or break it off", {
  config: patient,
  async run(pair) {
    const p = await rawProvider(() => {});
    const chunked = (line, trailer) => `5${line}\r\nhello\r\n7;b=2\r\n, world\r\n0\r\n${trailer}\r\n`;
    const cases = [
      ...around(limits.HTTP_CHUNK_LINE_BYTES_MAX).map(([at, n]) => ["HTTP_CHUNK_LINE_BYTES_MAX", at, chunked(`;${"e".repeat(n)}`, "")]),
      ...around(limits.HTTP_HEAD_BYTES_MAX).map(([at, n]) => ["HTTP_HEAD_BYTES_MAX", `of trailers, ${at}`, chunked("", `x: ${"t".repeat(n - 3)}\r\n`)]),
    ];
    const want = Buffer.from("hello, world");
    try {
      await pair.again(p.config);
      for (const [limit, at, text] of cases)
        for (const slow of [false, true]) {
          const what = `${limit}, ${slow ? "byte by byte" : "at once"}, ${at}`, fits = /(^|, )limit( - 1)?$/.test(at);
          p.write = async (s) => {
            s.setNoDelay(true);
            s.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
            const step = text.length > 2000 ? 3000 : 50;
            for (let i = 0; slow && i < text.length; i += step) (s.write(text.slice(i, i + step)), await sleep(1));
            if (!slow) s.write(text);
          };
          found(`${what}, of an answer`, judged(what, await fetchAll(pair, "/v1/files", { method: "GET" }), want), fits ? "whole" : /^(whole|broken off|502)$/);
        }
      await pair.again(patient);
      pair.own.answer = (q, res) => res.writeHead(200, json).end(fine);
      for (const [limit, at, text] of cases) {
        const what = `${limit}, of a request, ${at}`, fits = /(^|, )limit( - 1)?$/.test(at);
        pair.own.seen = [];
        const r = await speak(pair, Buffer.from(`POST /v1/files HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n${text}`), { quiet: 2000 });
        found(what, arrived(what, pair, { status: status(r) }, want), fits ? "whole" : /^(whole|400|431)$/);
      }
    } finally {
      p.stop();
    }
  },
});

/* ---- what comes ahead, and what nobody waits for ---- */

meets(["AHEAD_BYTES_MAX", "WRITE_QUEUE_BYTES_MAX"], "pipelined requests are each answered, in order, however much waits", {
  config: patient,
  async run(pair) {
    const answer = filling(20000).toString();
    pair.own.answer = (q, res) => {
      const text = `<${q.body.length}:${createHash("sha1").update(q.body).digest("hex")}>${answer}`;
      setTimeout(() => res.writeHead(200, { "content-length": text.length }).end(text), q.n === 1 ? 100 : 0); // a length: chunks end anywhere
    };
    for (const [at, size] of around(limits.AHEAD_BYTES_MAX))
      for (const [reader, slow] of [["quick", false], ["slow", true]])
        for (const parts of [1, 30]) {
          const bodies = [Buffer.from("first")], one = Math.floor(size / parts);
          for (let i = 0; i < parts; i++) {
            const frame = `POST /v1/files HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${String(one).padStart(6, "0")}\r\n\r\n`.length;
            bodies.push(filling(one - frame + (i ? 0 : size - one * parts)).fill(65 + i, 0, 1));
          }
          const bytes = Buffer.concat(bodies.flatMap((b) => [Buffer.from(`POST /v1/files HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${String(b.length).padStart(6, "0")}\r\n\r\n`), b]));
          const r = (await speak(pair, bytes, { slow, quiet: 3000, done: (t) => t.length > bodies.length * answer.length && t.split(answer).length > bodies.length })).toString("latin1");
          const got = [...r.matchAll(/<(\d+):([0-9a-f]{40})>/g)].map((m) => `${m[1]} ${m[2]}`);
          const what = `AHEAD_BYTES_MAX, ${parts} requests, ${reader}, ${at}`;
          assert.deepEqual(got, bodies.map((b) => `${b.length} ${hash(b)}`), what);
          assert.equal(r.split(answer).length - 1, bodies.length, `${what}: the answers are not whole`);
          found(what, "whole", "whole");
        }
  },
});

meets(["LINGER_BYTES_MAX"], "who is refused reads why, or sees the connection break off", {
  config: (c) => (patient(c), (c.limits = { body: "1KiB" })),
  async run(pair) {
    for (const [framing, first] of [["length", (n) => `content-length: ${n}`], ["chunked", () => "transfer-encoding: chunked"]])
      for (const [at, size] of around(limits.LINGER_BYTES_MAX)) {
        const body = filling(size), what = `LINGER_BYTES_MAX, ${framing}, ${at}`;
        const frame = framing === "chunked" ? [Buffer.from(`${size.toString(16)}\r\n`), body, Buffer.from("\r\n0\r\n\r\n")] : [body];
        const bytes = Buffer.concat([Buffer.from(`POST ${pathOf(dialects.openai)} HTTP/1.1\r\nhost: localhost\r\n${first(size)}\r\n\r\n`), ...frame]);
        const r = await speak(pair, bytes, { piece: 1 * MIB, rest: 1, quiet: 3000 });
        found(what, r.length ? String(status(r)) : "broken off", at === "3 limits" ? /^(413|broken off)$/ : "413");
        assert.equal(pair.own.seen.length, 0, what);
      }
  },
});
