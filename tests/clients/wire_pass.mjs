// What is not a dialect of ours passes through; header fields both ways; keys that a command prints; credentials of
// the clients' own.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { ask, count, dialects, pathOf, question, raw, until } from "./net.mjs";
import { sleep } from "./pair.mjs";
import { json, wires } from "./wires.mjs";
import { each, fault, good, holds, once, oneKey, send, unmended } from "./wire.mjs";

// The test's own provider alone: what is nobody's dialect goes to the first one.
const ownFirst = (c) => ((c.providers = c.providers.filter((p) => p.name.startsWith("own"))), (c.models = c.models.filter((m) => m.name.endsWith("own"))));
const fields = (raw) => raw.flatMap((v, i) => (i % 2 ? [] : [[v, raw[i + 1]]])).filter(([k]) => !/^(x-daruma-.*|date|connection|keep-alive|transfer-encoding)$/i.test(k));

holds("any path and method passes through, byte for byte, both ways", {
  config: ownFirst,
  async run(pair) {
    const bytes = Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 7) & 255));
    const cases = [
      ["GET", "/v1/files?limit=2&after=a%2Fb", 200, null],
      ["GET", "/v1/models/gpt%2Fx", 404, null],
      ["POST", "/v1/embeddings", 200, '{"model":"e","input":"x" }'],
      ["POST", "/v1/files", 201, bytes],
      ["DELETE", "/v1/files/f-1", 204, null],
      ["PUT", "/v1/vector_stores/path:x=y,@z", 418, bytes],
      ["PATCH", "/v1/assistants/a", 403, '{"a":1}'],
      ["HEAD", "/v1/files", 200, null],
      ["GET", "/v1/chat/completions", 405, null],
      ["POST", "/v1/messages/count_tokens", 422, '{"model":"c"}'],
    ];
    for (const [method, path, status, body] of cases) {
      pair.own.seen = [];
      const out = status === 204 || method === "HEAD" ? null : Buffer.concat([Buffer.from("<<"), bytes, Buffer.from(">>")]);
      pair.own.answer = (q, res) =>
        res.writeHead(status, ["Content-Type", "application/x-odd", "X-Odd-Case", "a; b=\"c\"", "Set-Cookie", "a=1", "Set-Cookie", "b=2", "ETag", 'W/"1"', ...(out ? ["Content-Length", String(out.length)] : [])]).end(out);
      const r = await ask(pair, path, { method, body, headers: { ...dialects.openai.headers, "x-mine": "Yes", ...(body && { "content-type": "application/octet-stream", "content-length": body.length }) } });
      const what = `${method} ${path}`;
      assert.equal(r.status, status, what);
      assert.ok(r.bytes.equals(out ?? Buffer.alloc(0)), what);
      assert.deepEqual(fields(r.raw).slice(0, 5).map(([k, v]) => [k.toLowerCase(), v]), [["content-type", "application/x-odd"], ["x-odd-case", 'a; b="c"'], ["set-cookie", "a=1"], ["set-cookie", "b=2"], ["etag", 'W/"1"']], what);
      assert.equal(pair.own.seen.length, 1, what);
      const q = pair.own.seen[0];
      assert.equal(`${q.method} ${q.url}`, what);
      assert.ok(q.body.equals(Buffer.from(body ?? "")), what);
      assert.equal(q.headers["x-mine"], "Yes");
    }
  },
});

holds("a request that has no body says so where its method could have one: Google answers 411 without it", {
  config: ownFirst,
  async run(pair) {
    pair.own.answer = (q, res) => send(res, ["GET", "DELETE"].includes(q.method) || q.headers["content-length"] === "0" ? 200 : 411, {});
    const framings = [{ "content-length": "0" }, { "transfer-encoding": "chunked" }];
    for (const [method, path] of [["POST", "/v1/batches/b/cancel"], ["POST", "/v1beta/batches/b:cancel"], ["PUT", "/v1/vector_stores/v"], ["PATCH", "/v1/assistants/a"]])
      for (const headers of framings) assert.equal((await ask(pair, path, { method, headers })).status, 200, method + path);
    pair.own.seen = [];
    for (const method of ["GET", "DELETE"]) assert.equal((await ask(pair, "/v1/files/f", { method })).status, 200);
    assert.deepEqual(pair.own.seen.map((q) => q.headers["content-length"]), [undefined, undefined]);
  },
});

holds("a WebSocket is refused at once, so that its client asks over HTTP; other upgrades are none", {
  config: ownFirst,
  async run(pair) {
    pair.own.answer = (q, res) => send(res, 200, { path: q.url });
    const shake = (path, upgrade) => raw(pair, `GET ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade\r\nupgrade: ${upgrade}\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`);
    for (const path of ["/v1/responses", "/v1/realtime?model=m"]) {
      const r = await shake(path, "WebSocket");
      assert.match(r, /^HTTP\/1\.1 426 /);
      assert.match(r, /"code":"websocket_not_supported"/);
    }
    assert.equal(pair.own.seen.length, 0);
    assert.match(await shake("/v1/files", "h2c"), /^HTTP\/1\.1 200 [^]*"path":"\/v1\/files"/);
    assert.equal(pair.own.seen[0].headers.upgrade, undefined);
  },
});

holds("HEAD, Expect, pipelined requests and HTTP/1.0 are answered as they should be", {
  config: ownFirst,
  async run(pair) {
    pair.own.answer = (q, res) => (q.method === "HEAD" ? res.writeHead(200, { "content-length": "1234", etag: "x" }).end() : send(res, 200, { path: q.url, body: q.body.toString() }));
    const head = await ask(pair, "/v1/files", { method: "HEAD" });
    assert.deepEqual([head.status, head.headers.etag, head.headers["content-length"], head.bytes.length], [200, "x", "1234", 0]);
    const two = await raw(pair, "GET /v1/files/a HTTP/1.1\r\nhost: localhost\r\n\r\nGET /v1/files/b HTTP/1.1\r\nhost: localhost\r\n\r\n");
    assert.deepEqual([...two.matchAll(/"path":"([^"]*)"/g)].map((m) => m[1]), ["/v1/files/a", "/v1/files/b"]);
    const expect = await raw(pair, 'POST /v1/files HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\nhi');
    assert.match(expect, /^(HTTP\/1.1 100 .*\r\n\r\n)?HTTP\/1.1 200 [^]*"body":"hi"/);
    const old = await raw(pair, "GET /v1/files HTTP/1.0\r\n\r\n");
    assert.match(old, /^HTTP\/1.[01] (200|400)/);
    assert.doesNotMatch(old, /transfer-encoding/i);
  },
});

holds("large and chunked answers of other paths pass through as they come", {
  config: ownFirst,
  async run(pair) {
    pair.own.answer = async (q, res) => {
      res.writeHead(200, { "content-type": "audio/mpeg" }).write("first");
      await sleep(200);
      for (let i = 0; i < 40; i++) res.write(Buffer.alloc(100000, i));
      res.end();
    };
    const r = await ask(pair, "/v1/audio/speech", { method: "POST", body: "{}" });
    assert.equal(r.bytes.length, 5 + 4e6);
    assert.ok(r.times[0] < 150, "it was held back");
  },
});

holds("what is safe is sent again, what is not never twice", {
  config: ownFirst,
  async run(pair) {
    const failures = {
      "503": (res) => send(res, 503, { error: { message: "The server is overloaded or not ready yet." } }),
      "500": (res) => send(res, 500, { error: { message: "Internal" } }),
      "429": (res) => send(res, 429, { error: { message: "Rate limit reached", type: "requests", code: "rate_limit_exceeded" } }, { "retry-after-ms": "20" }),
      reset: (res) => res.socket.resetAndDestroy(),
      "close before the head": (res) => res.socket.destroy(),
      silence: () => {},
    };
    for (const [what, fail] of Object.entries(failures))
      for (const [method, path, safe] of [["GET", "/v1/files", true], ["POST", "/v1/embeddings", true], ["POST", "/v1/messages/count_tokens", true], ["POST", "/v1/images/generations", false], ["POST", "/v1/audio/speech", false], ["POST", "/v1/files", false], ["DELETE", "/v1/files/x", false], ["POST", "/v1/fine_tuning/jobs", false]]) {
        pair.own.seen = [];
        pair.own.answer = (q, res) => (q.n === 1 ? fail(res) : send(res, 200, { fine: true }));
        await pair.again(ownFirst); // nothing rests from the round before
        const r = await ask(pair, path, { method, headers: dialects.openai.headers, body: method === "POST" ? "{}" : null });
        const again = safe || what === "429";
        assert.equal(pair.own.seen.length, again ? 2 : 1, `${method} ${path} after ${what}: calls`);
        assert.equal(r.status, again ? 200 : Number(what) || (what === "silence" ? 504 : 502), `${method} ${path} after ${what}: ${r.text}`);
        if (again) assert.deepEqual(JSON.parse(r.text), { fine: true });
      }
  },
  limit: 60000,
});

holds("an answer that breaks off when its head is out is seen to break off, and is not begun again", {
  config: ownFirst,
  async run(pair) {
    for (const bytes of [0, 10]) {
      pair.own.seen = [];
      pair.own.answer = (q, res) => {
        res.writeHead(200, { "content-length": "100" }).flushHeaders();
        if (bytes) res.write("x".repeat(bytes));
        setTimeout(() => res.socket.destroy(), 50);
      };
      const r = await ask(pair, "/v1/files").catch((e) => ({ cut: true, e }));
      assert.ok(r.cut, "it looked whole");
      assert.equal(pair.own.seen.length, 1);
    }
  },
});

holds("a refusal on a path that is not ours keeps its status when its body is cut", {
  config: ownFirst,
  async run(pair) {
    for (const method of ["GET", "POST"]) {
      pair.own.seen.length = 0;
      pair.own.answer = (q, res) => {
        res.writeHead(404, { "content-type": "text/plain", "content-length": "100" }).flushHeaders();
        res.write("there is no such");
        setTimeout(() => res.socket.destroy(), 50);
      };
      const r = await ask(pair, "/v1/files/f-1", { method, body: method === "POST" ? "{}" : undefined });
      assert.deepEqual([r.status, r.text], [404, "there is no such"]);
      assert.equal(pair.own.seen.length, 1);
    }
  },
});

holds("what was never sent may be sent: a provider that comes up late gets even an unsafe request, once", {
  async run(pair) {
    const probe = createServer(() => {});
    await new Promise((ok) => probe.listen(0, "127.0.0.1", ok));
    const { port } = probe.address();
    await new Promise((ok) => probe.close(ok));
    await pair.again((c) => (ownFirst(c), c.providers.forEach((p) => (p.url = `http://127.0.0.1:${port}`)), (c.recovery.kinds.network = { delay: "300ms", max_delay: "300ms", jitter: 0 })));
    let came = 0;
    const late = createServer((q, res) => (came++, send(res, 200, { fine: true })));
    setTimeout(() => late.listen(port, "127.0.0.1"), 150);
    const r = await ask(pair, "/v1/files", { method: "POST", body: "data" });
    late.closeAllConnections(), late.close();
    assert.equal(r.status, 200, r.text);
    assert.equal(came, 1);
  },
});

holds("an unsafe request is not sent twice because its connection had been used before", {
  config: ownFirst,
  async run(pair) {
    pair.own.answer = (q, res, socket) => (q.method === "POST" ? socket.resetAndDestroy() : send(res, 200, {}));
    assert.equal((await ask(pair, "/v1/files")).status, 200);
    const r = await ask(pair, "/v1/fine_tuning/jobs", { method: "POST", body: "{}", headers: { "content-type": "application/json" } });
    assert.equal(r.status, 502, r.text);
    assert.deepEqual(pair.own.seen.map((q) => q.method), ["GET", "POST"]);
  },
});

holds("an encoded request passes untouched and unrecovered, and an event says so", {
  async run(pair) {
    const d = dialects.openai, bytes = gzipSync(JSON.stringify(d.body(d.own, "hi")));
    await pair.again(ownFirst);
    pair.own.answer = (q, res) => send(res, 500, { error: { message: "no" } });
    const r = await ask(pair, d.path, { method: "POST", headers: { ...d.headers, "content-encoding": "gzip", "content-type": "application/json" }, body: bytes });
    assert.equal(r.status, 500);
    assert.equal(pair.own.seen.length, 1);
    assert.ok(pair.own.seen[0].body.equals(bytes));
    assert.equal(pair.own.seen[0].headers["content-encoding"], "gzip");
    assert.equal(count(pair.events(), "request_not_readable"), 1);
  },
});

each((name, d) =>
  holds(`${name}: an answer that is encoded unasked passes as it is, and an error like that is told by its status`, {
    config: (c) => (once(c), oneKey(c), (c.recovery.on_failure = "error")),
    async run(pair) {
      const packed = gzipSync(JSON.stringify(good[name]));
      pair.own.answer = (q, res) => res.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip", "content-length": packed.length }).end(packed);
      const r = await ask(pair, pathOf(d, d.own), { method: "POST", headers: { ...d.headers, "content-type": "application/json" }, body: JSON.stringify(d.body(d.own, "go", {})) });
      assert.equal(r.status, 200);
      assert.equal(r.headers["content-encoding"], "gzip");
      assert.ok(r.bytes.equals(packed));
      assert.equal(count(pair.events(), "answer_not_readable"), 1);
      assert.deepEqual([r.headers["x-daruma-unchecked"], (await pair.status()).requests.unchecked], ["encoded", 1], "it is told as if it had been read");
      assert.equal(pair.own.seen.length, 1);
      const error = gzipSync('{"error":{"message":"busy"}}');
      pair.own.answer = (q, res) => res.writeHead(503, { "content-type": "application/json", "content-encoding": "gzip" }).end(error);
      const e = await question(pair, d, { model: d.own });
      assert.equal(e.status, 503);
      assert.match(d.error(e.json).message, /^[\x20-\x7e]+$/);
      assert.equal(e.headers["content-encoding"], undefined);
    },
  }),
);

/* ---- header fields ---- */

each((name, d) =>
  holds(`${name}: fields for the provider are the client's, but hop-by-hop ones, credentials and those of the configuration`, {
    config: (c) => c.providers.forEach((q) => (q.headers = { "X-Team": "ours" })),
    async run(pair) {
      pair.own.answer = (q, res) => send(res, 200, good[name], { "x-request-id": "r-1", connection: "x-secret-hop", "x-secret-hop": "1", "x-daruma-outcome": "forged" });
      const r = await question(pair, d, { model: d.own, headers: { authorization: "Bearer sk-client", "x-api-key": "sk-client", "x-goog-api-key": "sk-client", connection: "x-hop, close", "x-hop": "1", te: "trailers", "proxy-authorization": "Basic sk-client", "x-daruma-mode": "x", "accept-encoding": "gzip, br", "x-stainless-lang": "js", "x-team": "theirs", "OpenAI-Beta": "b" } });
      assert.equal(r.said, "fine");
      const { headers, raw: all } = pair.own.seen[0];
      assert.equal(headers["accept-encoding"], "identity");
      assert.equal(headers["content-length"], String(pair.own.seen[0].body.length));
      assert.equal(headers.host, `127.0.0.1:${pair.own.port}`);
      assert.equal(headers["x-stainless-lang"], "js");
      assert.equal(headers["openai-beta"], "b");
      assert.equal(headers["x-team"], "ours");
      for (const gone of ["x-hop", "te", "proxy-authorization", "x-daruma-mode", "transfer-encoding"]) assert.equal(headers[gone], undefined, gone);
      assert.doesNotMatch(JSON.stringify(all), /sk-client/);
      assert.deepEqual([headers.authorization, headers["x-api-key"], headers["x-goog-api-key"]], { anthropic: [undefined, "sk-one", undefined], gemini: [undefined, undefined, "sk-one"] }[name] ?? ["Bearer sk-one", undefined, undefined]);
      assert.equal(new Set(all.filter((_, i) => i % 2 === 0).map((k) => k.toLowerCase())).size, all.length / 2, "a field came twice");
      assert.equal(r.headers["x-request-id"], "r-1");
      assert.equal(r.headers["x-secret-hop"], undefined);
      assert.equal(r.headers["x-daruma-outcome"], "ok");
    },
  }),
);

/* ---- keys that a command prints ---- */

const printing = (pair, script) => (c) => {
  ownFirst(c);
  for (const p of c.providers) p.keys = [{ command: script }];
};

holds("a key command is run once for many requests, and once more when the key is refused", {
  async run(pair) {
    const log = join(pair.dir, "runs"), d = dialects.openai;
    writeFileSync(log, "");
    await pair.again(printing(pair, `echo run >> ${log}; sleep 0.2; echo sk-cmd-$(wc -l < ${log})`));
    const runs = () => readFileSync(log, "utf8").split("\n").filter(Boolean).length;
    let valid = "Bearer sk-cmd-1";
    pair.own.answer = (q, res) => (q.headers.authorization === valid ? send(res, 200, good.openai) : send(res, 401, { error: { message: "Incorrect API key provided: sk-c***.", code: "invalid_api_key" } }));
    const many = (n) => Promise.all(Array.from({ length: n }, () => question(pair, d, { model: d.own })));
    for (const r of await many(20)) assert.deepEqual([r.outcome, r.said], ["ok", "fine"]);
    assert.equal(runs(), 1);
    valid = "Bearer sk-cmd-2";
    for (const r of await many(20)) assert.equal(r.said, "fine", r.text);
    assert.equal(runs(), 2);
    valid = "Bearer nothing";
    const r = await question(pair, d, { model: d.own });
    assert.equal(r.status, 401);
    assert.equal(r.headers["x-should-retry"], "false");
    assert.equal(runs(), 3);
  },
});

holds("a key command that fails is explained; neither its words nor the client's key go out", {
  async run(pair) {
    const d = dialects.openai;
    await pair.again(printing(pair, "printf 'sk-leak\\rx: y'"));
    assert.equal((await question(pair, d, { model: d.own })).headers["x-daruma-attempts"], "1");
    assert.deepEqual([pair.own.seen.length, count(pair.events(), "key_command_failed")], [0, 1]); // no header can hold that
    await pair.again(printing(pair, "echo sk-leak-out; echo sk-leak-err >&2; exit 3"));
    pair.own.answer = (q, res) => (q.headers.authorization ? send(res, 200, good.openai) : send(res, 401, { error: { message: "You didn't provide an API key." } }));
    const r = await question(pair, d, { model: d.own });
    assert.equal(r.status, 401, r.text);
    assert.match(r.json.error.daruma.explanation, /\. The command that prints the key key1 of this provider failed: it ended with exit code 3\. .*Run the command by hand/);
    const told = pair.events().find((e) => e.event === "key_command_failed");
    assert.deepEqual([told.provider, told.key, told.reason, told.case], ["own", "key1", "it ended with exit code 3", undefined]);
    for (const q of pair.own.seen) assert.doesNotMatch(JSON.stringify(q.raw), /sk-/);
    const after = await ask(pair, "/v1/files", { headers: d.headers });
    assert.equal(after.status, 401);
    for (const q of pair.own.seen) assert.doesNotMatch(JSON.stringify(q.raw), /sk-/);
  },
});

each((name, d) =>
  holds(`${name}: a provider that repeats the credentials of a call tells them to nobody`, {
    async run(pair) {
      const key = "Own.Key/of+seven=Years", token = "tok-4711-for-nobody";
      const config = (c) => (unmended(c), once(c), ownFirst(c), c.providers.forEach((p) => ((p.keys = [key]), (p.headers = { "x-gate-token": token, "x-plain": "ordinary" }))));
      await pair.again(config);
      const escaped = key.replaceAll("/", "\\/"), quoted = encodeURIComponent(key);
      const words = `Incorrect key: ${key}, ${quoted} or ${token}; ordinary`;
      const code = (lead, base, tail) => [...token].map((c) => lead + c.charCodeAt(0).toString(base).padStart(base === 16 ? 4 : 0, "0") + tail).join("");
      const spelt = [code("\\u", 16, ""), code("\\\\u", 16, ""), code("&#", 10, ";"), code("&#x", 16, ";")]; // as JSON, JSON in JSON and HTML may
      const error = `{"type":"error","error":{"message":"${words} ${escaped} ${spelt.join(" ")}","type":"invalid_request_error","code":"${escaped}","status":"INVALID_ARGUMENT"}}`;
      const says = {
        "as an error": (q, res) => send(res, 401, error, { "www-authenticate": `Bearer realm="${key}"` }),
        "in a page": (q, res) => send(res, 500, `<html><body><p>${words}</p></body></html>`, { "content-type": "text/html" }),
        "in place of a stream": (q, res) => res.writeHead(200, { "content-type": "text/event-stream" }).end(`event: error\ndata: ${error}\n\n`),
        "behind content": (q, res) => {
          const content = structuredClone({ openai: { choices: [{ index: 0, delta: { content: "seven" } }] }, anthropic: { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "seven" } }, responses: { type: "response.output_text.delta", delta: "seven" }, gemini: good.gemini }[name]);
          if (name === "gemini") delete content.candidates[0].finishReason;
          res.writeHead(200, { "content-type": "text/event-stream" }).end(`data: ${JSON.stringify(content)}\n\nevent: error\ndata: ${error}\n\n`);
        },
      };
      for (const [how, answer] of Object.entries(says)) {
        pair.own.answer = answer;
        const r = await question(pair, d, { model: d.own, stream: /stream|content/.test(how) });
        const heard = JSON.stringify(r.raw) + r.text + pair.eventsText() + JSON.stringify(await pair.status());
        for (const secret of [key, escaped, quoted, token, ...spelt]) assert.ok(!heard.includes(secret) && !heard.includes(JSON.stringify(secret).slice(1, -1)), `${how}: ${secret} in ${heard}`);
        if (how === "as an error") assert.match(d.error(r.json).message, /^Incorrect key: \[redacted\], \[redacted\] or \[redacted\]; ordinary/);
      }
      if (name === "openai") { // whatever the client sends that looks like a credential, ours are taken out first
        await pair.again((c) => (config(c), c.providers.forEach((p) => (p.keys = [...p.keys, "sk-of-another-call-5150"]))));
        pair.own.answer = (q, res) => send(res, 400, { error: { message: `No: ${key}, sk-of-another-call-5150`, type: "invalid_request_error" } });
        const r = await ask(pair, `/v1/chat/completions?${Array.from({ length: 600 }, (_, i) => `key=sk-no-${1000 + i}`).join("&")}`, { method: "POST", headers: { ...d.headers, "content-type": "application/json" }, body: JSON.stringify({ model: d.own, messages: [{ role: "user", content: "hi" }] }) });
        assert.equal(r.status, 400, r.text);
        const heard = JSON.stringify(r.raw) + r.text + pair.eventsText();
        for (const secret of [key, "sk-of-another-call-5150"]) assert.ok(!heard.includes(secret), `${secret} in ${heard}`);
      }
      for (const [status, method] of [[403, "GET"], [404, "POST"], [422, "POST"], [302, "GET"], [500, "POST"], [401, "GET"]]) { // paths that only pass through
        await pair.again(config); // the key was refused, whatever the status, and rests
        pair.own.answer = (q, res) => {
          assert.equal(q.headers["accept-encoding"], "identity"); // else nobody can see what it says
          send(res, status, status === 302 ? "" : error, { "www-authenticate": `Bearer realm="${key}"`, location: `/v1/models?key=${quoted}` });
        };
        const r = await ask(pair, "/v1/files", { method, headers: { ...d.headers, "accept-encoding": "gzip" }, body: method === "POST" ? "{}" : undefined });
        assert.equal(r.status, status);
        const heard = JSON.stringify(r.raw) + r.text + pair.eventsText();
        for (const secret of [key, escaped, quoted, token, ...spelt]) assert.ok(!heard.includes(secret), `${status}: ${secret} in ${heard}`);
        if (status !== 302) assert.match(r.text, /^\{"type":"error".*Incorrect key: \[redacted\], \[redacted\] or \[redacted\]; ordinary/);
      }
    },
  }),
);

// A provider, or a proxy before it, may show what it was sent in another coat: the header of a call as base64, a dump of it in
// digits, a body in lines. What is found of a key again must not be decoded from what the client and the event log get.
each((name, d) =>
  holds(`${name}: a provider that repeats a key in base64 or in digits tells it to nobody`, {
    async run(pair) {
      const key = "Own.Key/of+seven=Years_4711-for-nobody~", word = "open-sesame-0815", basic = Buffer.from(`robot:${word}`).toString("base64");
      const config = (c) => (unmended(c), once(c), ownFirst(c), c.providers.forEach((p) => ((p.keys = [key]), (p.headers = { "x-gate-auth": `Basic ${basic}` }))));
      const b64 = (t) => Buffer.from(t).toString("base64"), url = (t) => Buffer.from(t).toString("base64url"), hex = (t) => Buffer.from(t).toString("hex");
      const lined = (t, n = 76, end = "\n") => t.replace(new RegExp(`.{${n}}`, "g"), `$&${end}`);
      const dump = `POST /v1 HTTP/1.1\r\nhost: p\r\nauthorization: Bearer ${key}\r\nx-gate-auth: Basic ${basic}\r\n\r\n{"a":1}`;
      const coats = [b64(key), b64(`${key}:`), ...["a", "ab", "abc", "user:"].map((before) => b64(`${before}${key}${before}`)), url(`x${key}`), hex(key), hex(key).toUpperCase(), hex(dump), b64(dump), lined(b64(dump)), lined(b64(`zz${dump}`), 60, "\r\n"), lined(hex(dump), 32, " "), encodeURIComponent(b64(`y${key}`)), b64(`z${key}`).replaceAll("/", "\\/"), b64(key).replaceAll("+", "\\u002b"), word, b64(word), basic];
      // What any reader may make of it: every piece that could be base64 or digits, from each of its first signs on.
      const reads = (text) => {
        const flat = text.replace(/\\\\?[nrt]|\s/g, "").replace(/\\u002b/g, "+").replaceAll("\\", "").replace(/%2[bB]/g, "+").replace(/%2[fF]/g, "/").replace(/%3[dD]/g, "=").replaceAll("-", "+").replaceAll("_", "/");
        const pieces = [...flat.matchAll(/[A-Za-z0-9+/]{8,}/g)].map((m) => m[0]);
        return [text, ...pieces.flatMap((p) => [...[0, 1, 2, 3].map((n) => Buffer.from(p.slice(n), "base64").toString("latin1")), ...[0, 1].map((n) => Buffer.from((p.slice(n).match(/^[0-9a-fA-F]+/) ?? [""])[0], "hex").toString("latin1"))])].join("\n");
      };
      const parts = (secret) => Array.from({ length: Math.floor(secret.length / 8) }, (_, i) => secret.slice(8 * i, 8 * i + 8));
      await pair.again(config);
      for (const [i, coat] of coats.entries()) {
        assert.ok(parts(key).some((p) => reads(coat).includes(p)) || parts(word).some((p) => reads(coat).includes(p)), `the test does not see it in ${coat}`);
        for (const [how, answer] of Object.entries({
          "as an error": (q, res) => res.writeHead(i % 2 ? 401 : 500, { "content-type": "application/json" }).end(JSON.stringify({ type: "error", error: { message: `No: ${coat} was sent; ordinary words stay`, type: "invalid_request_error", status: "INVALID_ARGUMENT" } })),
          "in a page": (q, res) => send(res, 502, `<html><body><p>No: ${coat} was sent; ordinary words stay</p></body></html>`, { "content-type": "text/html" }),
        })) {
          pair.own.answer = answer;
          const r = await question(pair, d, { model: d.own }), heard = r.text + JSON.stringify(r.raw) + pair.eventsText();
          for (const p of [...parts(key), ...parts(word)]) assert.ok(!reads(heard).includes(p), `${how}: ${p} of ${coat} in ${r.text}`);
          assert.match(r.text, /No: .*\[redacted\].* was sent; ordinary words stay/s, `${how}: ${coat}`);
        }
        if (i % 6 === 5) await pair.again(config); // keys that were refused rest
      }
    },
  }),
);

holds("a client that leaves while a key command runs takes nobody along", {
  async run(pair) {
    const d = dialects.openai;
    await pair.again(printing(pair, "sleep 0.5; echo sk-cmd"));
    pair.own.answer = (q, res) => send(res, 200, good.openai);
    const stays = question(pair, d, { model: d.own });
    const leaves = question(pair, d, { model: d.own, text: "leaving" }).catch((e) => e);
    const body = JSON.stringify(d.body(d.own, "leaving too"));
    await raw(pair, `POST ${d.path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${body.length}\r\n\r\n${body}`, 150); // leaves after 150 ms
    assert.equal((await stays).said, "fine");
    await leaves;
    assert.equal(pair.own.seen.length, 2);
    assert.equal((await pair.status()).requests.cancelled, 1);
    assert.equal(count(pair.events(), "request_cancelled"), 1);
  },
});

/* ---- no configuration at all ---- */

holds("without a configuration the client's own credentials pass through, to the provider that is meant", {
  zero: "own",
  chaos: "keys: { sk-client: {} }\nfaults: []\n",
  async run(pair) {
    pair.own.answer = (q, res) => send(res, 200, q.url.startsWith("/v1/chat") ? good.openai : { fine: true });
    assert.equal((await question(pair, dialects.openai)).said, "fine");
    assert.equal(pair.own.seen[0].headers.authorization, "Bearer sk-client");
    await ask(pair, "/v1/models", { headers: dialects.openai.headers });
    assert.equal(pair.own.seen.length, 2);
    assert.equal((await question(pair, dialects.anthropic)).said, "seven eight"); // chaos knows sk-client alone
    const models = await ask(pair, "/v1/models", { headers: dialects.anthropic.headers });
    assert.equal(models.status, 200);
    assert.equal(pair.own.seen.length, 2, "anthropic-version went to OpenAI");
  },
});

for (const [what, refusal] of Object.entries({ "401": "auth", "429": "rate_limit", "no credit": "quota" }))
  each((name, d) =>
    holds(`${name}: without a configuration, one client's ${what} is nobody else's`, {
      zero: true,
      chaos: `faults:\n  - { key: sk-poor, kind: ${refusal}, headers: { retry-after: "90" } }\n`,
      async run(pair) {
        const who = (key) => (name === "anthropic" ? { "x-api-key": key } : name === "gemini" ? { "x-goog-api-key": key } : { authorization: `Bearer ${key}` });
        for (let i = 0; i < 15; i++) {
          const r = await question(pair, d, { headers: who("sk-poor") });
          assert.ok(r.status >= 400, `${r.status}`);
          assert.ok(r.took < 2000);
        }
        const r = await question(pair, d, { headers: who("sk-rich") });
        assert.equal(r.status, 200, r.text);
        assert.deepEqual([r.outcome, r.said], ["ok", "seven eight"]);
      },
    }),
  );

holds("addresses of clouds (doc/clouds.md) get the path and the key that they want", {
  async run(pair) {
    const { answer } = wires.openai, base = pair.base.replace(/:\d+$/, "");
    const at = (path) => `${base}:${pair.own.port}${path}`;
    await pair.again((c) => {
      c.providers.unshift(
        { name: "azure", dialect: "openai", url: at("/openai/v1"), headers: { "api-key": "sk-azure" } },
        { name: "vertex", dialect: "openai", url: at("/v1/projects/p/locations/global/endpoints/openapi"), keys: [{ command: "echo sk-vertex" }] },
        { name: "bedrock", dialect: "openai", url: at("/openai/v1"), keys: ["sk-bedrock"] },
      );
      c.models = [["azure", "my-deployment"], ["vertex", "google/gemini-pro"], ["bedrock", "openai.gpt-oss-120b-1:0"]].map(([p, m]) => ({ name: `m-${p}`, targets: [`${p}/${m}`] }));
    });
    pair.own.answer = (q, res) => answer(res, "seven eight");
    for (const p of ["azure", "vertex", "bedrock"]) assert.equal((await question(pair, dialects.openai, { model: `m-${p}` })).said, "seven eight", p);
    assert.deepEqual(
      pair.own.seen.map((q) => [q.url, q.headers.authorization, q.headers["api-key"], JSON.parse(q.body).model]),
      [
        ["/openai/v1/chat/completions", undefined, "sk-azure", "my-deployment"],
        ["/v1/projects/p/locations/global/endpoints/openapi/chat/completions", "Bearer sk-vertex", undefined, "google/gemini-pro"],
        ["/openai/v1/chat/completions", "Bearer sk-bedrock", undefined, "openai.gpt-oss-120b-1:0"],
      ],
    );
  },
});

// Groq's SDK says "/openai" before "/v1", Azure's the deployment.
holds("a base path that the client's SDK says itself stands once, or gives way to that of the provider who answers", {
  async run(pair) {
    const { answer } = wires.openai, base = pair.base.replace(/:\d+$/, "");
    const at = (path) => `${base}:${pair.own.port}${path}`;
    await pair.again((c) => {
      c.providers.unshift(
        { name: "groq", dialect: "openai", url: at("/openai/v1"), keys: ["sk-groq"] },
        { name: "host", dialect: "openai", url: at(""), keys: ["sk-host"] },
      );
      c.models = [{ name: "m-groq", targets: ["groq/m-one", "own/m-two"] }, { name: "m-host", targets: ["host/m-three"] }];
    });
    pair.own.answer = (q, res) => (q.headers.authorization === "Bearer sk-groq" && pair.own.seen.length > 1 ? json(res, 404, { error: { message: "The model `m-one` does not exist", type: "invalid_request_error", code: "model_not_found" } }) : answer(res, "seven eight"));
    const ask = async (model, path) => {
      const r = await fetch(pair.base + path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ model, messages: [{ role: "user", content: "x" }] }) });
      assert.equal(r.status, 200, await r.text());
    };
    for (const model of ["m-groq", "m-groq", "m-host"]) await ask(model, "/openai/v1/chat/completions");
    await ask("m-host", "/openai/deployments/d/chat/completions?api-version=1");
    assert.deepEqual(pair.own.seen.map((q) => [q.url, JSON.parse(q.body).model]), [
      ["/openai/v1/chat/completions", "m-one"],
      ["/openai/v1/chat/completions", "m-one"],
      ["/v1/chat/completions", "m-two"],
      ["/openai/v1/chat/completions", "m-three"],
      ["/openai/deployments/d/chat/completions?api-version=1", "m-three"],
    ]);
  },
});
