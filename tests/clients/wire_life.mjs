// The program as a whole: signals, limits, what it says of itself, its subcommands; and the Responses API with its SDK.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import net from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import OpenAI from "openai";
import { ask, count, dialects, events, pathOf, question, raw, until } from "./net.mjs";
import { daruma, run, sleep } from "./pair.mjs";
import { each, fault, good, holds, once, oneKey, send } from "./wire.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");

/* ---- signals ---- */

holds("SIGHUP: a new file holds from the next request on, a bad one changes nothing", {
  async run(pair) {
    const g = pair.gateway();
    const hangs = new Promise((ok) => (pair.own.answer = (q, res) => setTimeout(() => (ok(), send(res, 200, good.openai)), 600)));
    const under = question(pair, dialects.openai, { model: "m-own" }); // begun under the old file
    await until("it is under way", () => pair.own.seen.length);
    pair.write((c) => ((c.models = c.models.filter((m) => m.name !== "m-own")), c.models.push({ name: "m-new", targets: ["main/m-single"] })));
    g.kill("SIGHUP");
    await until("it was read again", () => g.said.includes("read again"));
    const r = await question(pair, dialects.openai, { model: "m-new" });
    assert.equal(r.headers["x-daruma-target"], "main/m-single");
    pair.config("listen: 127.0.0.1:1\nproviders:\n  - nmae: main\n");
    g.kill("SIGHUP");
    await until("it was refused", () => /stays as it was: .*:3:.*nmae/.test(g.said));
    pair.config("\n"); // an editor empties it before it writes: who may ask and with which keys must not be open meanwhile
    g.kill("SIGHUP");
    await until("it was refused", () => /stays as it was: .*it is empty/.test(g.said));
    assert.equal((await question(pair, dialects.openai, { model: "m-new" })).headers["x-daruma-target"], "main/m-single");
    await hangs;
    const old = await under;
    assert.deepEqual([old.said, old.headers["x-daruma-target"]], ["fine", "own/m-own"]);
    assert.equal((await ask(pair, "/daruma/health")).status, 200);
  },
});

holds("SIGHUP: a pipe, a device or a huge file in the place of the configuration, or of what it names, holds nobody up", {
  async run(pair) {
    const g = pair.gateway(), file = join(pair.dir, "daruma.yaml"), pipe = join(pair.dir, "pipe"), huge = join(pair.dir, "huge");
    assert.equal(spawnSync("mkfifo", [pipe]).status, 0);
    writeFileSync(huge, "");
    truncateSync(huge, 2 ** 40); // of holes
    const stays = async (what, words) => {
      const before = g.said.length;
      g.kill("SIGHUP");
      await until(`${what} was refused`, () => words.test(g.said.slice(before)));
      assert.equal((await ask(pair, "/daruma/health")).status, 200);
      assert.equal((await question(pair, dialects.openai, { model: "m-own" })).status, 200);
    };
    pair.own.answer = (q, res) => send(res, 200, good.openai);
    for (const [name, put] of Object.entries({ admin: (c, f) => (c.admin = { file: f }), clients: (c, f) => (c.clients = [{ name: "one", file: f }]), ca_file: (c, f) => (c.tls = { ca_file: f }), cert_file: (c, f) => (c.tls = { cert_file: f, key_file: f }) }))
      for (const [f, words] of [[pipe, /a pipe, a device or a socket/], [huge, /the file is too long/]]) {
        pair.write((c) => put(c, f));
        await stays(name, new RegExp(`stays as it was: .*${name}[^]*${words.source}`));
      }
    try {
      for (const [f, words] of [[pipe, /a pipe, a device or a socket/], ["/dev/zero", /a pipe, a device or a socket/], [huge, /the file is too long/]]) {
        rmSync(file);
        symlinkSync(f, file);
        await stays("the configuration", new RegExp(`stays as it was: .*${words.source}`));
      }
    } finally {
      rmSync(file); // the next one is written there
    }
  },
});

holds("SIGHUP: a key that was refused is forgotten, a new one in its place is used at once", {
  async run(pair) {
    const d = dialects.openai, key = (c, value) => c.providers.forEach((p) => (p.keys = [value]));
    pair.own.answer = (q, res) => (q.headers.authorization === "Bearer sk-two" ? send(res, 200, good.openai) : send(res, 401, { error: { message: "no", code: "invalid_api_key" } }));
    await pair.again((c) => key(c, "sk-one"));
    assert.equal((await question(pair, d, { model: d.own })).status, 401);
    assert.equal((await question(pair, d, { model: d.own })).headers["x-daruma-attempts"], "1"); // it rests, but there is nobody else
    pair.write((c) => key(c, "sk-two"));
    pair.gateway().kill("SIGHUP");
    await until("it was read again", () => pair.gateway().said.includes("read again"));
    const r = await question(pair, d, { model: d.own });
    assert.deepEqual([r.status, r.said], [200, "fine"]);
  },
});

const exited = (child) => (child.exitCode !== null || child.signalCode ? Promise.resolve() : new Promise((ok) => child.once("exit", ok)));

holds("SIGTERM: who begins to listen for events then is not waited for", {
  async run(pair) {
    const g = pair.gateway(), [s, idle] = [0, 1].map(() => net.connect(pair.port, "127.0.0.1").on("error", () => {}).resume());
    const stops = new Promise((ok) => idle.on("close", ok));
    pair.ended = true;
    s.write("GET /daruma/events HTTP/1.1\r\nhost: localhost\r\n");
    await ask(pair, "/daruma/health"); // by now the head in part has come
    g.kill("SIGTERM");
    await stops;
    s.write("\r\n");
    await Promise.race([exited(g), sleep(4000)]);
    assert.equal(g.exitCode, 0);
  },
});

holds("SIGTERM: what is under way ends, nobody new comes in, exit code 0", {
  chaos: fault("{ kind: stall, after_events: 4, for: 800ms }"),
  config: (c) => (c.timeouts.idle = "3s"),
  async run(pair) {
    const g = pair.gateway(), idle = net.connect(pair.port, "127.0.0.1");
    let idleEnded = false;
    idle.on("close", () => (idleEnded = true)).on("error", () => {}).resume();
    pair.ended = true;
    let head;
    const stream = question(pair, dialects.openai, { stream: true, text: "say one two three four five six", onHead: () => (head = true) });
    await until("it streams", () => head);
    g.kill("SIGTERM");
    await until("nobody comes in", () => ask(pair, "/daruma/health").then(() => false, () => true));
    await until("idle connections are closed", () => idleEnded);
    const r = await stream;
    assert.equal(r.said, "one two three four five six");
    assert.ok(dialects.openai.ended(r.events));
    await exited(g);
    assert.equal(g.exitCode, 0, g.said);
  },
});

holds("a second signal stops at once, whatever is under way", {
  chaos: fault("{ kind: timeout }"),
  config: (c) => {
    c.timeouts.first_byte = "20s";
    c.recovery.kinds.rate_limit = { delay: "5s", max_delay: "5s" };
    c.providers.find((p) => p.name === "own-claude").keys = [{ command: "sleep 3; exit 1" }];
  },
  async run(pair) {
    const g = pair.gateway(), lost = [];
    pair.ended = true;
    pair.own.answer = (q, res) => send(res, 429, { error: { message: "Rate limit reached", code: "rate_limit_exceeded" } });
    for (const [d, model] of [["openai", "m-single"], ["openai", "m-own"], ["anthropic", "c-own"], ["responses", "m-single"]])
      lost.push(question(pair, dialects[d], { model, stream: true }).then(() => false, () => true)); // hangs, waits, fetches a key
    lost.push(ask(pair, "/daruma/events").catch(() => true));
    await until("they are under way", async () => (await pair.report()).calls === 2 && pair.own.seen.length >= 2);
    const began = Date.now();
    g.kill("SIGTERM");
    await sleep(100);
    assert.equal(g.exitCode, null);
    g.kill("SIGTERM");
    await exited(g);
    assert.ok(Date.now() - began < 2500, `it took ${Date.now() - began} ms`);
    assert.equal(g.exitCode, 0, g.said);
    await Promise.all(lost);
  },
});

/* ---- how often it is tried ---- */

for (const [what, status, error, calls] of [
  ["that fails inside", 500, { message: "The server had an error while processing your request", type: "server_error" }, 2 * 4],
  ["that is overloaded", 529, { message: "Overloaded", type: "overloaded_error" }, 2 * 4],
  ["that refuses every key", 401, { message: "Incorrect API key provided", type: "invalid_request_error", code: "invalid_api_key" }, 4],
])
  each((name, d) =>
    holds(`${name}: a provider ${what} gets ${calls} calls, with four keys and two models`, {
      config: (c) => {
        c.providers.filter((p) => p.name.startsWith("own")).forEach((p) => (p.keys = ["sk-one", "sk-two", "sk-one3", "sk-two4"]));
        const own = { openai: "own", anthropic: "own-claude", responses: "own-responses", gemini: "own-gemini" }[name];
        c.models = [{ name: d.own, targets: [`${own}/first`, `${own}/second`] }];
        c.recovery.on_failure = "error";
      },
      async run(pair) {
        pair.own.answer = (q, res) => send(res, status, { error });
        const r = await question(pair, d, { model: d.own });
        assert.equal(r.status, status);
        assert.equal(pair.own.seen.length, calls);
        assert.equal(r.headers["x-daruma-attempts"], String(calls));
      },
    }),
  );

holds("who waits for a provider goes when somebody else finds it well", {
  config: (c) => (oneKey(c), (c.recovery.on_failure = "error")),
  async run(pair) {
    const d = dialects.openai, ask_ = (text) => question(pair, d, { model: d.own, text });
    let ill = true;
    pair.own.answer = (q, res) => (ill ? send(res, 500, { error: { message: "The server had an error", type: "server_error" } }) : send(res, 200, good.openai));
    const waiting = Array.from({ length: 6 }, (_, i) => ask_(`say ${i}`)); // until the breaker opens
    const shut = async () => (await pair.status()).places.some((p) => /model|target/.test(p.who) && p.breaker === "open");
    await until("the provider is left alone", shut);
    const calls = pair.own.seen.length, began = Date.now();
    ill = false;
    assert.equal((await ask_("say hello")).said, "fine"); // a first call is tried all the same
    for (const r of await Promise.all(waiting)) if (r.status === 200) assert.equal(r.said, "fine");
    assert.ok(pair.own.seen.length > calls + 1, "nobody had waited");
    assert.ok(Date.now() - began < 2500, `they waited ${Date.now() - began} ms more`);
  },
});

/* ---- limits and framing ---- */

each((name, d) =>
  holds(`${name}: a body that is too large is refused before it is sent`, {
    config: (c) => (c.limits = { body: "64KiB" }),
    async run(pair) {
      const body = JSON.stringify(d.body(d.model, "x".repeat(70000)));
      const r = await ask(pair, pathOf(d), { method: "POST", headers: d.headers, body });
      assert.equal(r.status, 413);
      assert.equal((await pair.report()).calls, 0);
      assert.equal((await pair.status()).refused.body, 1);
      assert.ok(pair.events().some((e) => e.event === "request_refused" && e.reason.startsWith("a body larger than `limits.body`: /v1")));
      const fits = await question(pair, d, { text: "x".repeat(60000) });
      assert.equal(fits.status, 200);
    },
  }),
);

holds("a web page of somebody else gets nothing from a gateway on this machine", {
  async run(pair) {
    const d = dialects.openai, host = new URL(pair.base).host;
    for (const origin of ["https://evil.example", "http://127.evil.example", "null"])
      assert.equal((await question(pair, d, { headers: { origin } })).status, 403, origin);
    assert.equal((await pair.report()).calls, 0);
    for (const origin of ["http://localhost:3000", "http://127.0.0.1", "vscode-webview://abc", "http://app.localhost"])
      assert.equal((await question(pair, d, { headers: { origin } })).status, 200, origin);
    for (const name of ["evil.example", "127.0.0.1.evil.example"]) // a stranger's name that resolves to this machine
      assert.match(await raw(pair, `GET /daruma/status HTTP/1.1\r\nhost: ${name}\r\n\r\n`), /^HTTP\/1.1 403 /);
    assert.match(await raw(pair, `GET /daruma/status HTTP/1.1\r\nhost: ${host}\r\n\r\n`), /^HTTP\/1.1 200 /);
  },
});

holds("a page of another site that shows no origin reaches no provider", {
  async run(pair) {
    pair.own.answer = (q, res) => res.writeHead(200, { "content-type": "application/json" }).end('{"object":"list","data":[]}');
    const get = (path, fields, method = "GET") => raw(pair, `${method} ${path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${Object.entries(fields).map(([k, v]) => `${k}: ${v}\r\n`).join("")}\r\n`);
    const image = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" };
    const link = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
    const frame = { ...link, "sec-fetch-dest": "iframe" };
    for (const fields of [image, link, frame]) assert.match(await get("/v1/models", fields), /^HTTP\/1.1 403 /, JSON.stringify(fields));
    assert.match(await get("/v1/models", image, "DELETE"), /^HTTP\/1.1 403 /);
    for (const fields of [image, frame]) assert.match(await get("/daruma/events", fields), /^HTTP\/1.1 403 /); // it would hold a listener's place
    for (const path of ["/", "/health", "/daruma/status"]) assert.match(await get(path, link), /^HTTP\/1.1 200 /, path);
    const calls = async () => (await pair.report()).calls;
    assert.equal(await calls(), 0);
    const anew = { "cache-control": "no-cache" };
    for (const site of ["same-origin", "same-site", "none"]) await get("/v1/models", { ...image, ...anew, "sec-fetch-site": site });
    await get("/v1/models", { ...image, ...anew, origin: "http://localhost:3000" }); // to a browser the name and the address are two sites
    await get("/v1/models", anew);
    assert.equal(await calls(), 5);
    assert.ok((await pair.status()).refused.origin >= 6);
    assert.ok(pair.events().some((e) => e.event === "request_refused" && /without an Origin/.test(e.reason)));
  },
});

const connected = (pair) => new Promise((ok) => { const s = net.connect(pair.port, "127.0.0.1", () => ok(s)); s.got = ""; s.on("error", () => {}).on("close", () => (s.left = true)).on("data", (d) => (s.got += d)); });
const health = "GET /daruma/health HTTP/1.1\r\nhost: localhost\r\n", answered = async (pair) => /^HTTP\/1.1 200/.test(await raw(pair, `${health}connection: close\r\n\r\n`, 5000));

for (const [what, first] of [
  ["that ask for nothing", ""],
  ["that were answered", `${health}\r\n`],
  ["whose head does not come to its end", `${health}\r\nGET /dar`],
])
  holds(`as many clients as allowed, ${what}, keep no other out: the one that has waited longest leaves`, {
    config: (c) => (c.limits = { connections: 4 }),
    async run(pair) {
      const held = [];
      for (let i = 0; i < 4; i++) {
        const s = await connected(pair);
        s.write(first);
        held.push(s);
        await until("it has its answer", () => !first || s.got);
      }
      await until("there is room", () => answered(pair)); // for a head as soon as it is slow
      await until("the first has left", () => held[0].left);
      assert.deepEqual(held.map((s) => !!s.left), [true, false, false, false]);
      held.forEach((s) => s.destroy());
    },
  });

holds("no more clients than allowed that are at work; one that leaves makes room", {
  config: (c) => (c.limits = { connections: 4 }),
  async run(pair) {
    const held = await Promise.all(Array.from({ length: 4 }, () => connected(pair)));
    held.forEach((s) => s.write("POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: 9\r\n\r\n"));
    await until("their bodies are waited for", () => held.every((s) => s.got.startsWith("HTTP/1.1 100 ")));
    assert.match(await raw(pair, `${health}\r\n`, 5000), /^HTTP\/1.1 503/);
    held.forEach((s) => s.destroy());
    await until("there is room", () => answered(pair));
    assert.equal((await pair.status()).refused.room, 1);
    assert.ok(pair.events().some((e) => e.event === "request_refused" && e.reason === "a request that there is no room for: too many connections"));
  },
});

// The gateway stands still while they connect, so that it accepts all of them before it reads from one.
holds("of a burst of more clients than allowed each has an answer or a refusal", {
  config: (c) => (c.limits = { connections: 8 }),
  async run(pair) {
    const burst = 24, d = dialects.openai, body = JSON.stringify(d.body("m-own", "say x"));
    pair.own.answer = (q, res) => setTimeout(() => send(res, 200, good.openai), 300);
    pair.gateway().kill("SIGSTOP");
    const all = await Promise.all(Array.from({ length: burst }, () => connected(pair)));
    all.forEach((s) => s.write(`POST ${d.path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`));
    await sleep(50);
    pair.gateway().kill("SIGCONT");
    await until("all have gone", () => all.every((s) => s.left));
    const told = all.map((s) => s.got.slice(9, 12));
    assert.deepEqual(told.filter((status) => status !== "200" && status !== "503"), []);
    assert.ok(told.filter((status) => status === "200").length >= 7, `${told}`); // who asked whether it is there may hold a place
  },
});

holds("a head that does not come to its end is not waited for", {
  async run(pair) {
    const s = net.connect(pair.port, "127.0.0.1"), began = Date.now();
    let got = "";
    s.on("data", (d) => (got += d)).on("error", () => {});
    s.write("GET /daruma/health HTTP/1.1\r\nhost: localhost\r\n");
    const drip = setInterval(() => s.write("x-slow: 1\r\n"), 500);
    await new Promise((ok) => s.on("close", ok));
    clearInterval(drip);
    assert.ok(Date.now() - began < 14000);
    assert.match(got, /^HTTP\/1.1 408/);
  },
});

holds("requests that could be read two ways reach the provider once or not at all", {
  async run(pair) {
    const d = dialects.openai, body = JSON.stringify(d.body(d.model, "say x")), n = body.length;
    const post = (fields, rest) => `POST ${d.path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer sk-client\r\n${fields}\r\n${rest}`;
    const chunked = `${n.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    const hidden = "GET /v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n";
    const rows = [
      [post(`content-length: ${n}\r\ntransfer-encoding: chunked\r\n`, chunked), 0],
      [post(`content-length: ${n}\r\ncontent-length: ${n + 1}\r\n`, body), 0],
      [post(`content-length: ${n}\r\ncontent-length: ${n}\r\n`, body), 0],
      [post("transfer-encoding: chunked, identity\r\n", chunked), 0],
      [post("transfer-encoding: xchunked\r\n", chunked), 0],
      [post(`content-length: +${n}\r\n`, body), 0],
      [post(`content-length : ${n}\r\n`, body), 0],
      [post(`x-a: b\r\n content-length: 5\r\ncontent-length: ${n}\r\n`, body), 0],
      [post("transfer-encoding: chunked\r\n", `${n.toString(16)};a=\r\n${body}\r\n-0\r\n\r\n`), 0],
      [post("transfer-encoding: chunked\r\n", `ffffffffffffffff1\r\n${body}\r\n0\r\n\r\n`), 0],
      [post("content-length: 0\r\nhost: y\r\n", ""), 0],
      [post("transfer-encoding: chunked\r\n", `${chunked.slice(0, -2)}content-length: 900\r\n\r\n`), 1], // trailers are dropped
      [post(`content-length: ${n}\r\n`, body), 1],
      [post(`content-length: ${n + hidden.length}\r\n`, body + hidden), 1], // one request: what follows is its body
      [`POST ${d.path} HTTP/1.1\nhost: localhost\ncontent-length: ${n}\n\n${body}`, 0],
    ];
    for (const [bytes, calls] of rows) {
      await fetch(`${pair.chaos}/chaos/reset`, { method: "POST" });
      const r = await raw(pair, bytes, 150);
      const report = await pair.report();
      assert.equal(report.calls, calls, `${bytes.slice(0, 200)}\n${r.slice(0, 200)}`);
      assert.match(r, calls ? /^HTTP\/1.1 [24]00/ : /^HTTP\/1.1 [45]\d\d/, bytes);
      assert.equal(r.split("HTTP/1.1 ").length - 1, 1, `two answers: ${r}`);
      assert.deepEqual(Object.keys(report.paths), calls ? [d.path] : [], "another path was called");
    }
  },
});

/* ---- what it says of itself ---- */

holds("health, status and events agree with the traffic and with the file", {
  chaos: fault("{ kind: auth, skip: 1 }"),
  config: (c) => (c.models = [{ name: "m-main", targets: ["main/m-main"] }]),
  async run(pair) {
    const health = await ask(pair, "/daruma/health");
    assert.deepEqual([health.status, JSON.parse(health.text).status], [200, "ok"]);
    let heard = "";
    const listening = new Promise((ok) => {
      ask(pair, "/daruma/events", { onData: (all, req) => ((heard = all), /error_recovery_failed.*\n\n/.test(all) && (req.destroy(), ok())) }).then(ok, ok);
    });
    await until("it listens", () => heard);
    await question(pair, dialects.openai, { model: "m-main", text: "say first" });
    const lost = await question(pair, dialects.openai, { model: "m-main" });
    assert.equal(lost.status, 401);
    await listening;
    const s = await pair.status();
    assert.deepEqual([s.requests.all, s.requests.ok, s.requests.failed, s.requests.recovered], [2, 1, 1, 0]);
    assert.deepEqual([s.calls.all, s.calls.failed, s.failures], [4, 3, { auth: 3 }]); // the key that worked is asked once more
    assert.equal(s.active, 0);
    assert.ok(s.targets["m-main"].every((t) => !t.well));
    const lines = events(heard).filter((e) => e.data);
    assert.deepEqual(lines.map((e) => e.data), pair.eventsText().split("\n").filter(Boolean));
    for (const e of pair.events()) assert.match(e.ts, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    assert.equal(pair.events().filter((e) => e.case === lost.headers["x-daruma-case"]).length, pair.events().length);
    assert.equal(count(pair.events(), "llm_request_failed"), 3);
    for (const path of ["/daruma/nothing", "/daruma/page.html"]) assert.equal((await ask(pair, path)).status, 404);
    assert.equal((await ask(pair, "/daruma/status", { method: "POST", body: "{}" })).status, 405);
  },
});

holds("status is JSON whatever clients call their models, and a model's name breaks no header or event", {
  zero: true,
  async run(pair) {
    for (const model of ['a"b\\c', "line\r\nx-evil: 1", "m\u0000n", "日本語 \u{1f38e}", "x".repeat(300)]) {
      const r = await question(pair, dialects.openai, { model });
      assert.equal(r.headers["x-evil"], undefined);
      assert.equal(r.said, "seven eight");
    }
    await pair.status();
    pair.events();
  },
});

/* ---- subcommands ---- */

holds("daruma health: it asks the one that listens where the file says, with its exit code, and whether it is ready", {
  config: (c) => (once(c), (c.recovery.patience = "none"), (c.models = [{ name: "m-own", targets: ["own/m-own"] }]), c.providers.forEach((p) => (p.keys = ["sk-one"]))),
  async run(pair) {
    const file = join(pair.dir, "daruma.yaml"), health = async (...args) => (await run(["health", "--config", file, ...args]));
    const up = await health();
    assert.deepEqual([up.code, up.err], [0, ""]);
    assert.match(up.out, /^HTTP 200 \{"name":"daruma",.*"ready":true,"targets":1,"well":1\}\n$/);
    assert.equal((await health("--ready")).code, 0);
    assert.equal((await run(["health", pair.base])).code, 0);
    assert.equal((await run(["health", "--listen", `127.0.0.1:${pair.port}`], { env: { http_proxy: "http://127.0.0.1:9" } })).code, 0);
    pair.write((c) => (c.nmae = 1)); // what runs is well, whatever became of its file
    const mistaken = await health();
    assert.deepEqual([mistaken.code, /nmae/.test(mistaken.err)], [0, true], mistaken.err);
    pair.write();
    pair.own.answer = (q, res) => send(res, 401, { error: { message: "no", code: "invalid_api_key" } });
    await question(pair, dialects.openai, { model: "m-own" });
    const rests = await health("--ready");
    assert.deepEqual([rests.code, (await health()).code], [1, 0], rests.out);
    assert.match(rests.out, /^HTTP 503 .*"ready":false/);
    pair.own.answer = () => {};
    const slow = await run(["health", `http://127.0.0.1:${pair.own.port}`]);
    assert.deepEqual([slow.code, slow.out], [1, ""]);
    const away = await run(["health", "http://127.0.0.1:9"]);
    assert.deepEqual([away.code, away.out], [1, ""]);
    assert.match(away.err, /refused/);
    for (const args of [["--config", "/no/such.yaml"], ["not a url"], ["http://127.0.0.1:9", "two"], ["--no"]]) assert.equal((await run(["health", ...args])).code, 2, args.join(" "));
  },
});

holds("daruma with: of what was mended ahead, so that no call failed, it names no kinds", {
  async run(pair) {
    const file = join(pair.dir, "with.yaml"), known = mkdtempSync(join(pair.dir, "known-"));
    writeFileSync(file, JSON.stringify({ providers: [{ name: "own", dialect: "openai", url: `http://127.0.0.1:${pair.own.port}/v1`, keys: ["sk-one"] }], state: known }));
    const refusal = { message: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", type: "invalid_request_error", param: "max_tokens", code: "unsupported_parameter" };
    pair.own.answer = (q, res) => (JSON.parse(q.body).max_tokens ? send(res, 400, { error: refusal }) : send(res, 200, good.openai));
    const script = `
      const body = JSON.stringify({ model: "m", max_tokens: 5, messages: [{ role: "user", content: "say hi" }] });
      await (await fetch(process.env.OPENAI_BASE_URL + "/chat/completions", { method: "POST", body, headers: { "content-type": "application/json" } })).text();`;
    const once = () => run(["with", "--config", file, "--", process.execPath, "--input-type=module", "-e", script]);
    assert.match((await once()).err, /1 request, 2 calls to providers\. Recovered 1 \(1 invalid_parameter\)\.\n/);
    assert.match((await once()).err, /1 request, 1 call to providers\. Recovered 1\.\n/);
  },
});

holds("daruma with: a gateway for one command, its exit code, and what was recovered", {
  chaos: fault("{ times: 2, kind: server_error }"),
  async run(pair) {
    const env = { OPENAI_BASE_URL: `${pair.chaos}/v1`, ANTHROPIC_BASE_URL: pair.chaos };
    const script = `
      const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "say hi" }] });
      const r = await fetch(process.env.OPENAI_BASE_URL + "/chat/completions", { method: "POST", body, headers: { authorization: "Bearer sk-client", "content-type": "application/json" } });
      console.log(r.headers.get("x-daruma-outcome"), (await r.json()).choices[0].message.content, process.env.ANTHROPIC_BASE_URL.includes("127.0.0.1"));
      process.exit(7);`;
    const r = await run(["with", "--", process.execPath, "--input-type=module", "-e", script], { env });
    assert.equal(r.out.trim(), "recovered hi true", r.err);
    assert.equal(r.code, 7);
    assert.match(r.err, /1 request, 3 calls to providers\. Recovered 1 \(1 server_error\)/);
    assert.doesNotMatch(r.err, /base URL|llm_retry_attempt/);
    await fetch(`${pair.chaos}/chaos/reset`, { method: "POST" });
    const loud = await run(["with", "--verbose", "--", process.execPath, "--input-type=module", "-e", script], { env });
    assert.match(loud.err, /llm_retry_attempt/, "each step is a line, terminal or not");
    assert.match((await run(["with", "--", "true"], { env })).err, /0 requests[^]*has the base URL from its own configuration/);
    const none = await run(["with", "--", "no-such-command-anywhere"], { env });
    assert.equal(none.code, 127);
    assert.equal((await run(["with"], { env })).code, 2);
    assert.equal((await run(["with", "--", "sh", "-c", "kill -9 $$"], { env })).code, 137);
  },
});

holds("daruma explain: a case of the event file, and an error on stdin, in plain words", {
  chaos: fault("{ kind: quota }"),
  async run(pair) {
    const lost = await question(pair, dialects.openai);
    const id = lost.headers["x-daruma-case"];
    const r = await run(["explain", id, "--events", pair.eventsFile]);
    assert.equal(r.code, 0, r.err);
    assert.match(r.out, /call 1 to main\/m-single \(key1\) failed/);
    assert.match(r.out, /call 2 to main\/m-single \(key2\) failed/);
    assert.match(r.out, /, the provider's request req_[0-9a-f]+/);
    assert.match(r.out, /credit|quota|billing/i);
    assert.doesNotMatch(r.out, /[{}]|sk-/);
    assert.equal((await run(["explain", "--events", pair.eventsFile, "0000000000000000"])).code, 1);
    assert.equal((await run(["explain", "--events", "/no/such/file", id])).code, 2);
    const text = await run(["explain"], { input: lost.text });
    assert.equal(text.code, 0);
    assert.match(text.out, /quota|credit/i);
    assert.doesNotMatch(text.out, /[{}]/);
    assert.equal((await run(["explain"], { input: "" })).code, 2);
  },
});

holds("check, policy, classify, version: exit codes, and the page of the policy is what the program prints", {
  async run(pair) {
    const file = join(pair.dir, "check.yaml");
    pair.write();
    assert.equal((await run(["check", join(pair.dir, "daruma.yaml")])).code, 0);
    writeFileSync(file, "providers:\n  - { name: a, dialect: opneai, url: http://x }\n");
    const bad = await run(["check", file]);
    assert.equal(bad.code, 2);
    assert.match(bad.err + bad.out, /check\.yaml:2:\d+: .*openai/);
    const policy = await run(["policy"]);
    assert.equal(policy.code, 0);
    assert.equal(policy.out, readFileSync(join(root, "doc/policy.md"), "utf8"));
    const profiles = await run(["profiles"]);
    assert.equal(profiles.code, 0);
    assert.ok(readFileSync(join(root, "doc/seeds.md"), "utf8").includes(profiles.out), "doc/seeds.md shows what `daruma profiles` prints");
    assert.equal((await run(["profiles", "swarn"])).code, 2);
    for (const [names, says] of [
      [["default:nonsense"], /there is no variant `nonsense`; there are `doc` and `code`/],
      [["swarm", "defualt:doc"], /there is no profile `defualt`; did you mean `default`\? There are `default`, .*`swarm`/],
      [Array(25).fill("swarm"), /at most 24 .*, not 25/],
    ]) {
      const refused = await run(["profiles", ...names]);
      assert.deepEqual([refused.code, refused.out], [2, ""], refused.err);
      assert.match(refused.err, says);
    }
    assert.equal((await run(["profiles", ...Array(24).fill("swarm")])).code, 0);
    assert.match((await run(["profiles", "default:"])).out, /^\| failure \| default \|$/m, "a variant without a name is none");
    const stacked = await run(["policy", "--profile", "swarm,ruby-llm"]);
    assert.equal(stacked.code, 0, stacked.err);
    assert.match(stacked.out, /server_error +\| wait_retry +\| +3 .* quick backoff/);
    assert.equal((await run(["policy", "--profile", "swarm,rubyllm"])).code, 2);
    const line = { id: "x1", status: 429, headers: { "retry-after": "3" }, body: '{"error":{"code":"rate_limit_exceeded","message":"Rate limit reached"}}', provider: "openai" };
    const classified = await run(["classify", "--jsonl"], { input: `${JSON.stringify(line)}\n` });
    assert.equal(classified.code, 0, classified.err);
    const c = JSON.parse(classified.out);
    assert.deepEqual([c.id, c.kind, c.retryable, c.retry_after_s], ["x1", "rate_limit", true, 3]);
    assert.equal((await run(["version"])).code, 0);
    assert.equal((await run(["no-such-thing"])).code, 2);
    assert.equal((await run(["serve", "--config", "/no/such/file"])).code, 2);
    assert.equal((await run(["serve", "--config", file])).code, 2);
  },
});

/* ---- OpenAI Responses, with its SDK ---- */

const responses = {
  "a rate limit": "{ times: 2, kind: rate_limit }",
  "a server error": "{ times: 2, kind: server_error }",
  "an overload": "{ times: 1, kind: overloaded }",
  "a reset": "{ times: 1, kind: reset }",
  "a hanging call": "{ times: 1, kind: timeout }",
  "a cut before content": "{ times: 1, cut: { after_bytes: 20 } }",
  "an error event": "{ times: 1, stream: true, kind: overloaded, in_band: true }",
  "an empty stream": "{ times: 1, stream: true, empty: stream }",
  "a model that is not there": "{ model: m-main, kind: model_not_found }",
  "a lasting overload of one model": "{ model: m-main, kind: overloaded }",
  "a refused key": "{ key: sk-one, kind: auth }",
};
for (const [what, line] of Object.entries(responses))
  holds(`responses with its SDK, plain and stream: ${what}`, {
    chaos: fault(line),
    async run(pair) {
      const c = new OpenAI({ apiKey: "sk-client", baseURL: `${pair.base}/v1`, maxRetries: 0 });
      const only = /stream: true/.test(line);
      if (!only) {
        const { data, response } = await c.responses.create({ model: "m-main", input: "say fall seven rise eight" }).withResponse();
        assert.equal(data.output_text, "fall seven rise eight");
        assert.equal(response.headers.get("x-daruma-outcome"), "recovered");
      }
      await pair.begin({ chaos: fault(line) });
      const { data, response } = await c.responses.create({ model: "m-main", input: "say fall seven rise eight", stream: true }).withResponse();
      let text = "", last = null;
      for await (const e of data) {
        if (e.type === "response.output_text.delta") text += e.delta;
        last = e.type;
      }
      assert.deepEqual([text, last], ["fall seven rise eight", "response.completed"]);
      assert.equal(response.headers.get("x-daruma-outcome"), "recovered");
    },
  });

holds("responses with its SDK: tools are called, plain and stream", {
  async run(pair) {
    const c = new OpenAI({ apiKey: "sk-client", baseURL: `${pair.base}/v1`, maxRetries: 0 });
    const tools = [{ type: "function", name: "get_weather", strict: false, parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } }];
    const r = await c.responses.create({ model: "m-main", input: "call get_weather", tools });
    assert.equal(r.output.find((o) => o.type === "function_call").name, "get_weather");
    let args = "";
    for await (const e of await c.responses.create({ model: "m-main", input: "call get_weather", tools, stream: true })) if (e.type === "response.function_call_arguments.done") args = e.arguments;
    assert.equal(typeof JSON.parse(args).city, "string");
  },
});
