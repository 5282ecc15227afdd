// Who may come in: tokens of clients, their models and their rate, the admin token. What is refused reaches no provider.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import https from "node:https";
import net from "node:net";
import tls from "node:tls";
import { join } from "node:path";
import { ask, dialects, pathOf, question, until } from "./net.mjs";
import { daruma, sleep } from "./pair.mjs";
import { each, good, holds, send } from "./wire.mjs";

// Beside the loop: other scenarios of this process go on meanwhile, and wait for nobody.
const run = (program, args) => new Promise((ok) => execFile(program, args, { encoding: "utf8", timeout: 20000 }, (e, stdout, stderr) => ok({ status: e ? e.code : 0, stdout, stderr })));

// No part of these may get out: they look like the other secrets.
const one = "sk-leak-client-one-0123456789", two = "sk-leak-client-two-0123456789", boss = "sk-leak-admin-0123456789";
const locked = (clients) => (c) => ((c.clients = clients), (c.admin = { token: boss }), (c.timeouts.first_byte = "10s"));
const me = [{ name: "me", token: one }];
const keyed = (d, token) => Object.fromEntries(Object.entries(d.headers).map(([k, v]) => [k, v.replace("sk-client", token)]));
const calls = async (pair) => (await pair.report()).calls + pair.own.seen.length;

each((name, d) =>
  holds(`lock: ${name}: a client shows its token as its API key or beside it, and it goes to no provider`, {
    admin: boss,
    config: locked([...me, { name: "other", token: two }]),
    async run(pair) {
      pair.own.answer = (q, res) => send(res, 200, good[name]);
      for (const headers of [keyed(d, one), keyed(d, two), { ...d.headers, "x-daruma-token": two }]) {
        const r = await question(pair, d, { model: d.own, headers });
        assert.equal(r.status, 200, r.text);
      }
      assert.equal(pair.own.seen.length, 3);
      assert.doesNotMatch(JSON.stringify(pair.own.seen), /sk-leak|x-daruma/i);
    },
  }),
);

holds("lock: a token that a reload takes away while the body comes lets nobody in any more", {
  admin: boss,
  config: locked(me),
  async run(pair) {
    const s = net.connect(pair.port, "127.0.0.1"), body = JSON.stringify({ model: dialects.openai.own, messages: [{ role: "user", content: "hi" }] });
    let got = "";
    s.on("data", (bytes) => (got += bytes));
    s.write(`POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${one}\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`);
    await until("it is asked for its body", () => got.includes("100 Continue"));
    pair.write(locked([{ name: "me", token: two }]));
    const before = pair.gateway().said.length;
    pair.gateway().kill("SIGHUP");
    await until("the file is read again", () => pair.gateway().said.length > before);
    s.write(body);
    await until("its answer", () => got.includes("}"));
    assert.match(got, /HTTP\/1\.1 401 /);
    assert.equal(await calls(pair), 0);
    s.destroy();
  },
});

each((name, d) =>
  holds(`lock: ${name}: 50 wrong tokens get 401 in the words of the dialect and reach no provider`, {
    admin: boss,
    config: locked(me),
    async run(pair) {
      const wrong = ["", "x", one.slice(1), one.slice(0, -1), `${one}x`, `x${one}`, one.toUpperCase(), one.replace("9", "8"), one.replace("s", "S"), `${one},${one}`, `"${one}"`, `${one}%00`, one + one, boss, "Bearer", "me", "null", "undefined"];
      while (wrong.length < 48) wrong.push(one.slice(0, wrong.length % one.length) + "!" + one.slice((wrong.length % one.length) + 1));
      for (const w of wrong) {
        const r = await question(pair, d, { headers: keyed(d, w) });
        assert.deepEqual([r.status, r.headers["x-should-retry"], r.headers["www-authenticate"]], [401, "false", 'Bearer realm="daruma"'], w);
        assert.match(d.error(r.json).message, /no token of theirs.*`clients`/);
      }
      for (const path of ["/v1/models", "/v1/files", "/nothing", "/v1/embeddings"]) assert.equal((await ask(pair, path)).status, 401, path);
      assert.equal((await ask(pair, `${pathOf(d)}${pathOf(d).includes("?") ? "&" : "?"}key=${two}`, { method: "POST", body: "{}" })).status, 401);
      assert.equal(await calls(pair), 0);
      assert.ok((await pair.status()).refused.token >= 53);
      assert.equal((await question(pair, d, { headers: keyed(d, one) })).status, 200);
    },
  }),
);

holds("lock: the body of a stranger is not waited for: it is refused at once, and takes nobody's place or memory", {
  admin: boss,
  config: (c) => (locked(me)(c), (c.limits = { connections: 4, memory: "2MiB" })),
  async run(pair) {
    const d = dialects.openai, head = (n) => `POST ${d.path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer nobody\r\n${n}\r\n\r\n`, open = [];
    for (const begin of [head("content-length: 60000000"), head("transfer-encoding: chunked") + "5\r\n"]) {
      const list = Array.from({ length: 4 }, () => {
        const s = net.connect(pair.port, "127.0.0.1"), t = { s, got: "" };
        s.on("data", (b) => (t.got += b)).on("error", () => {});
        s.write(`${begin}{`);
        open.push(s);
        return t;
      });
      await until("all are refused", () => list.every((t) => /\r\n\r\n.*no token of theirs/s.test(t.got)), 15000);
      for (const t of list) assert.match(t.got, /^HTTP\/1.1 401 .*connection: close/is);
    }
    assert.equal((await question(pair, d, { headers: keyed(d, one) })).status, 200); // beside those that are still there
    open.forEach((s) => s.destroy());
    const r = await ask(pair, d.path, { method: "POST", headers: keyed(d, "nobody"), body: "x".repeat(3 << 20) });
    assert.equal(r.status, 401, r.text);
    assert.equal(await calls(pair), 1);
    assert.equal((await pair.status()).refused.token, 9);
  },
});

holds("lock: a stranger with a large body reads why it is refused: the connection is not cut while it sends", {
  admin: boss,
  config: locked(me),
  async run(pair) {
    const d = dialects.openai, n = 20 << 20, s = net.connect({ port: pair.port, host: "127.0.0.1", allowHalfOpen: true });
    let got = "";
    s.on("data", (b) => (got += b)).on("error", () => {});
    s.end(`POST ${d.path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer nobody\r\ncontent-length: ${n}\r\n\r\n${"x".repeat(n)}`);
    const cut = await new Promise((ok) => s.on("close", ok));
    assert.match(got, /^HTTP\/1.1 401 .*no token of theirs/s);
    assert.equal(cut, false);
  },
});

holds("lock: a client whose key goes to the provider shows its token beside it, and a token in the query goes nowhere", {
  admin: boss,
  config: (c) => (locked(me)(c), c.providers.forEach((p) => delete p.keys)),
  async run(pair) {
    const d = dialects.gemini;
    pair.own.answer = (q, res) => send(res, 200, good.gemini);
    assert.equal((await question(pair, d, { model: d.own, headers: { "x-daruma-token": one, "x-goog-api-key": "its-own" } })).status, 200);
    assert.equal(pair.own.seen[0].headers["x-goog-api-key"], "its-own");
    const r = await ask(pair, `${pathOf(d, d.own)}?alt=json&key=${one}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(d.body(d.own, "hello")) });
    assert.equal(r.status, 200, r.text);
    assert.equal((await question(pair, d, { model: d.own, headers: { "x-goog-api-key": one } })).status, 200);
    assert.doesNotMatch(JSON.stringify(pair.own.seen), /sk-leak/);
    assert.match(pair.own.seen[1].url, /\?alt=json$/);
  },
});

holds("lock: a client gets its own models, and nothing by a model that is named twice, escaped, encoded or not at all", {
  admin: boss,
  config: locked([{ name: "me", token: one, models: ["gpt-*", "g-single"] }]),
  async run(pair) {
    const d = dialects.openai, headers = { authorization: `Bearer ${one}`, "content-type": "application/json" };
    const say = (body, path = d.path, more = {}) => ask(pair, path, { method: "POST", headers: { ...headers, ...more }, body });
    const hello = '"messages":[{"role":"user","content":"hello"}]';
    pair.own.answer = (q, res) => send(res, 200, good.openai);
    const refused = [
      `{"model":"m-own",${hello}}`, `{${hello}}`, `{"model":"gpt-x","model":"m-own",${hello}}`, `{"model":"m-own","model":"gpt-x",${hello}}`, `{"model":"gpt-x",${hello},"mod\\u0065l":"m-own"}`, `{"model":"gpt-x",${hello},"model":"gpt-4"}`, `{"model":"gpt-x",${hello}}{}`, `{"model":"gpt-x",${hello},"x":[1 2]}`, "", "[]", "[1]", '[{"model":"gpt-x"}]', `{"model":"gpt-x",${hello}`, '{"model":{"a":1}}',
    ];
    for (const body of refused) {
      const r = await say(body);
      assert.equal(r.status, 403, `${body}: ${r.text}`);
      const said = JSON.parse(r.text).error.message;
      assert.match(said, /Its models are: gpt-\*, g-single/);
      assert.doesNotMatch(said, /may not ask for the model gpt-/); // that it may: the rest is what was wrong
    }
    assert.equal((await say(`{"model":"gpt-x",${hello}}`, d.path, { "content-encoding": "gzip" })).status, 403);
    assert.equal((await say('{"input":"x"}', "/v1/embeddings")).status, 403);
    const form = (...models) => say(models.map((m) => `--b\r\ncontent-disposition: form-data; name="model"\r\n\r\n${m}\r\n`).join("") + "--b--\r\n", "/v1/audio/transcriptions", { "content-type": "multipart/form-data; boundary=b" });
    for (const models of [[], ["m-own"], ["gpt-x", "m-own"], ["m-own", "gpt-x"], ["gpt-x", "gpt-4"]]) assert.equal((await form(...models)).status, 403, models.join());
    assert.equal((await ask(pair, "/v1/files", { headers })).status, 403);
    assert.equal((await say("{}", "/v1beta/models/g-own:generateContent")).status, 403);
    assert.equal(await calls(pair), 0);
    assert.equal((await say(`{"model":"gpt-x",${hello}}`)).status, 200);
    assert.equal((await question(pair, dialects.gemini, { headers: { "x-goog-api-key": one } })).status, 200);
    assert.notEqual((await ask(pair, "/v1/models", { headers })).status, 403);
  },
});

// What an attacker would try with a token that is good for some models alone: 200 paths that lead to others, or to no model.
const folders = ["models", "deployments", "engines", "tunedModels", "endpoints"];
const tricks = (() => {
  const list = [];
  const add = (method, path) => list.push([method, path, '{"model":"gpt-x","input":"x"}']);
  for (const before of ["/v1/files", "/v1/batches", "/v1/assistants", "/v1/vector_stores", "/v1/threads", "/v1/containers", "/v1/organization", "/v1beta/cachedContents", "/v1beta/corpora", "/api/v1/sessions", "/openai/v1/evals"])
    for (const end of ["/models", "/models/", "/models/x", "/models/gpt-x", "/f-1/models", "/f-1/models/gpt-x", "/models/gpt-x/content"]) add("GET", before + end);
  for (const end of ["/v1/models/m-own", "/models/m-own", "/v1/models/m-own/", "/v1/models/org/m", "/v1/models/m-own/gpt-x", "/v1/models/gpt-x/a/b", "/v1/models/m%2Down", "/v1/models/%6d-own", "/v1/models/%256d-own", "/v1/models/gpt-x%25", "/v1/Models/gpt-x", "/v1/modelsx", "/v1beta/models/m-own", "/v1beta/tunedModels", "/v1beta/tunedModels/t", "/v1/models/gpt-x/models/m-own", "/v1/files", "/v1/files/f-1/content", "/v1/responses/r-1", "/v1/realtime?model=gpt-x"]) add("GET", end), add("HEAD", end);
  // The path says which model answers, and the body another one.
  for (const f of folders)
    for (const name of ["m-own", "m-own:countTokens", "m-own:embedContent", "%6d-own:predict", "m-own%3ApredictLongRunning", "%256d-own:predict"])
      for (const lead of ["/v1beta", "/openai"]) add("POST", `${lead}/${f}/${name}${lead === "/openai" ? "/embeddings" : ""}`);
  for (const end of ["/openai/deployments/m-own/chat/completions?api-version=1", "/openai/Deployments/m-own/chat/completions", "/openai/%64eployments/m-own/chat/completions", "/v1/engines/m-own/completions", "/v1/models/m-own/chat/completions", "/v1beta/models/m-own/models/gpt-x:generateContent", "/v1beta/models/gpt-x/models/m-own:generateContent", "/v1beta/models/m-own:generateContent", "/v1beta/models/m-own:streamGenerateContent?alt=sse", "/v1/projects/p/locations/l/publishers/google/models/m-own:generateContent", "/v1/projects/p/locations/l/publishers/google/models/m-own:predict", "/v1/projects/p/locations/l/endpoints/7:predict", "/v1/chat/completions?model=m-own", "/v1/chat/completions?Model=m-own", "/v1/chat/completions?x=1&mod%65l=m-own", "/v1/chat/completions?model=gpt-x%25", "/v1/chat/completions?model", "/v1/audio/speech?model=%6d-own", "/v1/batches", "/v1/messages/batches", "/v1/batches/b/cancel", "/v1/b%61tches"]) add("POST", end);
  for (const method of ["DELETE", "PUT", "PATCH", "POST"]) for (const end of ["/v1/models/m-own", "/v1/models/gpt-x/../m-own", "/v1/models/gpt-x/%2e%2e/m-own", "/v1/models;gpt-x/m-own"]) add(method, end);
  return list;
})();
const unlisted = ["", "/v1", "/api", "/openai", "/admin", "/internal", "/v2/x", "/v1beta/x"].flatMap((lead) => ["metrics", "healthz", "favicon.ico", ".env", ".git/config", "wp-login.php", "server-status", "debug/pprof", "console", "actuator", "tags", "generate", "show", "pull", "delete", "modelsx", "xmodels", "chat.completions", "response", "message", "key/generate", "user/info", "config", "admin", "graphql", "swagger.json"].map((end) => `${lead}/${end}`)).filter((p) => p !== "/metrics").slice(0, 200);

holds("lock: a client that has its own models gets no other one by 200 tricks with the path, and nobody gets anything by 200 paths of no API", {
  admin: boss,
  limit: 60000,
  config: (c) => (locked([{ name: "me", token: one, models: ["gpt-*"] }, { name: "other", token: two }])(c), c.providers.unshift(...c.providers.splice(c.providers.findIndex((p) => p.name === "own"), 1))),
  async run(pair) {
    pair.own.answer = (q, res) => send(res, 200, good.openai);
    const say = (token, [method, path, body]) => ask(pair, path, { method, body, headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...(body && { "content-length": body.length }) } });
    assert.ok(tricks.length >= 200 && unlisted.length === 200, `${tricks.length} and ${unlisted.length}`);
    for (const t of tricks) {
      const r = await say(one, t), got = pair.own.seen.splice(0).length;
      assert.ok([400, 403, 404].includes(r.status) && !got, `${t.join(" ")}: ${r.status}, ${got} calls`);
    }
    for (const path of unlisted)
      for (const [token, method] of [[one, "GET"], [two, "GET"], [two, "POST"]]) {
        const r = await say(token, [method, path, method === "POST" ? '{"model":"gpt-x"}' : undefined]), got = pair.own.seen.splice(0).length;
        assert.ok([403, 404].includes(r.status) && !got, `${method} ${path}: ${r.status}, ${got} calls`);
      }
    assert.equal(await calls(pair), 0);
    console.log(`# lock: ${tricks.length} tricks with the path and ${unlisted.length} paths of no API, and none reached a provider`);
    // What it may do it still can.
    for (const list of [["GET", "/v1/models"], ["GET", "/models"], ["HEAD", "/v1/models/"]]) {
      pair.own.answer = (q, res) => send(res, 200, { data: [{ id: "gpt-x" }] });
      const r = await say(one, list);
      assert.deepEqual([r.status, r.text.includes("gpt-x")], [200, list[0] === "GET"], list.join(" "));
    }
    assert.ok(pair.own.seen.splice(0).length > 0);
    pair.own.answer = (q, res) => send(res, 200, good.openai);
    for (const fine of [["GET", "/v1/models/gpt-x"], ["GET", "/openai/v1/models/gpt-x"], ["POST", "/openai/deployments/gpt-x/embeddings", '{"model":"gpt-x"}'], ["POST", "/v1/projects/p/locations/l/endpoints/openapi/embeddings", '{"model":"gpt-x"}'], ["POST", "/v1/embeddings?model=gpt-x", '{"model":"gpt-x"}']]) {
      const r = await say(one, fine);
      assert.deepEqual([r.status, pair.own.seen.splice(0).length], [200, 1], fine.join(" "));
    }
  },
});

holds("lock: a reload fills no rate: a client that asked as often as it may still waits, by its name, whatever its token is then", {
  limit: 60000,
  admin: boss,
  config: locked([{ name: "me", token: one, rate: 5 }]),
  async run(pair) {
    const d = dialects.openai, as = async (t) => (await question(pair, d, { model: d.own, headers: { authorization: `Bearer ${t}` } })).status;
    pair.own.answer = (q, res) => send(res, 200, good.openai);
    for (let i = 0; i < 5; i++) assert.equal(await as(one), 200);
    assert.equal(await as(one), 429);
    await reload(pair, locked([{ name: "before", token: "sk-leak-client-before-0123456789" }, { name: "me", token: two, rate: 5 }]));
    assert.equal(await as(two), 429, "the reload filled its rate");
    assert.equal(await as(one), 401);
    await reload(pair, locked([{ name: "another", token: two, rate: 5 }]));
    assert.equal(await as(two), 200);
  },
});

holds("lock: a client that asks too often gets 429 and a time, and others go on", {
  limit: 60000,
  admin: boss,
  config: locked([{ name: "me", token: one, rate: 30 }, { name: "other", token: two }]),
  async run(pair) {
    const d = dialects.openai, as = (t) => question(pair, d, { model: d.own, headers: { authorization: `Bearer ${t}` } });
    pair.own.answer = (q, res) => send(res, 200, good.openai);
    for (let i = 0; i < 30; i++) assert.equal((await as(one)).status, 200);
    const began = Date.now();
    let r = await as(one);
    for (let i = 0; r.status === 200 && i < 10; i++) r = await as(one); // a second may have passed meanwhile
    assert.deepEqual([r.status, Number(r.headers["retry-after"]) in { 1: 0, 2: 0 }, r.headers["x-should-retry"]], [429, true, undefined]);
    assert.match(d.error(r.json).message, /may ask 30 times a minute/);
    assert.equal((await as(two)).status, 200);
    await sleep(2100);
    assert.equal((await as(one)).status, 200, `after ${Date.now() - began} ms`);
    assert.ok((await pair.status()).refused.rate >= 1);
    const told = pair.events().find((e) => e.event === "request_refused");
    assert.deepEqual([told.client, told.reason], ["me", "a client that asks too often (me): /v1/chat/completions"]); // which one of many
  },
});

holds("lock: what is refused for its form is told with the client whose token it shows", {
  admin: boss,
  config: locked(me),
  async run(pair) {
    for (const headers of [{ authorization: `Bearer ${one}` }, {}]) assert.equal((await ask(pair, "/v1/models/..%2fx", { headers })).status, 400);
    const told = pair.events().find((e) => e.event === "request_refused");
    assert.deepEqual([told.client, told.reason], ["me", "a path that could leave the provider's base URL (me): /v1/models/..%2fx"]);
  },
});

holds("lock: what daruma knows is shown for the admin token alone, and probes are answered without", {
  admin: boss,
  config: locked(me),
  async run(pair) {
    for (const path of ["/daruma/status", "/daruma/events"])
      for (const headers of [{}, { authorization: `Bearer ${one}` }, { authorization: boss.slice(1) }, { "x-daruma-token": `${boss}x` }]) assert.equal((await ask(pair, path, { headers })).status, 401, path);
    for (const headers of [{ authorization: `Bearer ${boss}` }, { "x-daruma-token": boss }]) assert.equal((await ask(pair, "/daruma/status", { headers })).status, 200);
    for (const path of ["/", "/health", "/ready", "/daruma/health"]) assert.equal((await ask(pair, path)).status, 200, path);
    assert.equal((await question(pair, dialects.openai, { headers: { authorization: `Bearer ${boss}` } })).status, 401);
  },
});

holds("lock: /ready says 503 while no configured target is well", {
  config: (c) => ((c.models = [{ name: "only", targets: ["own/only"] }]), c.providers.forEach((p) => p.keys?.splice(1)), (c.recovery.patience = "none"), (c.recovery.max_attempts = 1)),
  async run(pair) {
    const d = dialects.openai, ready = async () => JSON.parse((await ask(pair, "/ready")).text);
    assert.deepEqual([(await ready()).ready, (await ready()).targets, (await ready()).well], [true, 1, 1]);
    pair.own.answer = (q, res) => send(res, 429, { error: { message: "Rate limit reached. Please try again in 30s.", type: "rate_limit_error" } }, { "retry-after": "30" });
    await question(pair, d, { model: "only" });
    const r = await ask(pair, "/ready");
    assert.deepEqual([r.status, JSON.parse(r.text).well], [503, 0], r.text);
    assert.deepEqual([(await ask(pair, "/health")).status, (await ask(pair, "/daruma/health")).status], [200, 200]);
  },
});

holds("lock: nobody listens beyond the loopback unlocked, and a token is neither short, double nor shown", {
  async run(pair) {
    const file = join(pair.dir, "locked.yaml"), secret = join(pair.dir, "token");
    const check = async (c, ...args) => {
      writeFileSync(file, JSON.stringify(c));
      const r = await run(daruma, ["check", ...args, file]);
      assert.doesNotMatch(r.stdout + r.stderr, /sk-leak/);
      return r;
    };
    const providers = [{ name: "p", dialect: "openai", url: "http://127.0.0.1:9/v1", keys: ["k"] }], listen = "0.0.0.0:0";
    assert.match((await check({ listen, providers })).stderr, /other machines can reach 0\.0\.0\.0.*clients: \[\{ name: me, file/s);
    assert.match((await check({ listen, providers, clients: [] })).stderr, /other machines/);
    const open = await run(daruma, ["serve", "--listen", listen]);
    assert.deepEqual([open.status, /other machines/.test(open.stderr)], [2, true], open.stderr);
    const fine = await check({ listen, providers, clients: me });
    assert.deepEqual([fine.status, /speaks no TLS/.test(fine.stdout + fine.stderr)], [0, true], fine.stderr);
    assert.match((await check({ providers, clients: [{ name: "a", token: "sk-leak-short" }] })).stderr, /13 characters and could be guessed/);
    assert.match((await check({ providers, clients: [{ name: "a", token: one }, { name: "b", token: one }] })).stderr, /same token as "a"/);
    assert.match((await check({ providers, clients: [{ name: "a" }] })).stderr, /`token` is missing/);
    assert.match((await check({ providers, clients: [{ name: "a", token: one, file: secret }] })).stderr, /keep one/);
    assert.match((await check({ providers, clients: [{ name: "a", file: secret }] })).stderr, /clients\[0\]\.file.*No such file/s);
    writeFileSync(secret, `${two}\nmore\n`);
    assert.equal((await check({ providers, clients: [{ name: "a", file: secret }], admin: { file: secret } })).status, 0);
    assert.ok((await run(daruma, ["check", "--options"])).stdout.includes("clients[].token"));
  },
});

/* ---- TLS ---- */

// A certificate that signs itself, for localhost and 127.0.0.1.
const certify = async (dir, name) => {
  const at = (end) => join(dir, `${name}.${end}`);
  const r = await run("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", `/CN=${name}`, "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", at("key"), "-out", at("pem")]);
  assert.equal(r.status, 0, r.stderr);
  return { cert_file: at("pem"), key_file: at("key"), ca: readFileSync(at("pem")) };
};
const secret = (pair, ca, path, { method = "GET", headers = {}, body, agent = false, slow, onRequest } = {}) =>
  new Promise((ok, no) => {
    const req = https.request({ host: "127.0.0.1", port: pair.port, path, method, headers, agent, ca }, (res) => {
      const parts = [], from = req.socket.getPeerCertificate().subject?.CN;
      res.on("data", (d) => (parts.push(d), slow && (res.pause(), setTimeout(() => res.resume(), slow))));
      res.on("end", () => ok({ status: res.statusCode, headers: res.headers, bytes: Buffer.concat(parts), from, reused: req.reusedSocket }));
      res.on("error", no);
    });
    req.on("error", no);
    req.end(body);
    onRequest?.(req);
  });
const settled = async (f) => {
  for (let i = 0; i < 100; i++, await sleep(50)) if (await f()) return true;
  return false;
};

// The pair looks for its gateway by plain HTTP: TLS is switched on by a reload, which is tried as well, and off in the end.
const reload = async (pair, change) => {
  const times = () => pair.gateway().said.split("was read again").length, before = times();
  pair.write(change);
  pair.gateway().kill("SIGHUP");
  assert.ok(await settled(() => times() > before), pair.gateway().said);
};
const secured = async (pair, { ca, ...files }, run) => {
  await reload(pair, (c) => ((c.timeouts.first_byte = "30s"), (c.tls = files)));
  try {
    await run();
  } finally {
    await reload(pair);
  }
};

holds("lock: clients are spoken to in TLS, whole, large, slow, in pieces and many at a time, with bytes as they were", {
  limit: 120000,
  config: (c) => (c.timeouts.first_byte = "30s"),
  async run(pair) {
    const one = await certify(pair.dir, "one"), d = dialects.openai, { ca } = one;
    await secured(pair, one, async () => {
    assert.equal((await run(daruma, ["health", "--config", join(pair.dir, "daruma.yaml")])).status, 0, "daruma health");
    const sum = (b) => createHash("sha256").update(b).digest("hex");
    const say = (body, more) => secret(pair, ca, d.path, { method: "POST", headers: { "content-type": "application/json", authorization: "Bearer x" }, body, ...more });
    for (const [sent, answered, slow] of [[10, 10], [16383, 16384], [16385, 16383], [200000, 300001], [3 << 20, 5 << 20], [100, 3 << 20, 5]]) {
      const text = randomBytes(sent / 2).toString("hex"), reply = randomBytes(answered / 2).toString("hex");
      pair.own.answer = (q, res) => send(res, 200, { choices: [{ index: 0, message: { role: "assistant", content: reply }, finish_reason: "stop" }] });
      const r = await say(JSON.stringify(d.body(d.own, text)), { slow });
      assert.equal(r.status, 200);
      assert.equal(sum(JSON.parse(r.bytes).choices[0].message.content), sum(reply), `an answer of ${answered}`);
      const got = pair.own.seen.map((q) => sum(JSON.parse(q.body).messages.at(-1).content)); // a call beside a slow one may be the last
      assert.ok(got.includes(sum(text)), `a request of ${sent}`);
    }
    pair.own.answer = (q, res) => {
      res.writeHead(200, { "content-type": "text/event-stream" });
      let n = 0;
      const next = () => (n++ < 50 ? (res.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: `${n} ` } }] })}\n\n`), setTimeout(next, 5)) : res.end(`data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}\n\ndata: [DONE]\n\n`));
      next();
    };
    const all = await Promise.all(Array.from({ length: 50 }, () => say(JSON.stringify({ ...d.body(d.own, "go"), stream: true }))));
    for (const r of all) { // on a machine that stands still for a while a stream may be gone on with elsewhere
      const lines = r.bytes.toString().split("\n").filter((l) => l.startsWith("data: ")).map((l) => l.slice(6));
      assert.equal(lines.pop(), "[DONE]");
      assert.equal(lines.map((l) => JSON.parse(l).choices[0].delta.content ?? "").join(""), Array.from({ length: 50 }, (_, i) => `${i + 1} `).join(""));
    }
    const agent = new https.Agent({ keepAlive: true, maxSockets: 1 });
    const twice = [await secret(pair, ca, "/health", { agent }), await secret(pair, ca, "/health", { agent })];
    assert.deepEqual(twice.map((r) => [r.status, r.reused]), [[200, false], [200, true]]);
    agent.destroy();
    });
  },
});

holds("lock: a port that speaks TLS says so in plain words, refuses what is broken, and shows a new certificate after a reload", {
  limit: 60000,
  async run(pair) {
    const one = await certify(pair.dir, "first"), two = await certify(pair.dir, "second");
    await secured(pair, one, async () => {
    assert.equal((await secret(pair, one.ca, "/health")).from, "first");
    const plain = await ask(pair, "/health");
    assert.deepEqual([plain.status, /https:\/\//.test(plain.text)], [400, true], plain.text);
    await assert.rejects(secret(pair, two.ca, "/health"), /self.signed/);
    const shake = (o) => new Promise((ok, no) => { const s = tls.connect({ host: "127.0.0.1", port: pair.port, ca: one.ca, ...o }, () => ok(s)); s.on("error", no); });
    const h1 = await shake({ ALPNProtocols: ["h2", "http/1.1"] });
    assert.equal(h1.alpnProtocol, "http/1.1");
    await assert.rejects(shake({ maxVersion: "TLSv1.1", minVersion: "TLSv1.1" }));
    for (const bytes of [Buffer.from([0x16]), randomBytes(100), Buffer.concat([Buffer.from([0x16, 3, 1, 0x40, 0]), randomBytes(20000)])]) {
      const s = net.connect(pair.port, "127.0.0.1");
      s.on("error", () => {});
      s.end(bytes);
      await new Promise((ok) => (s.on("close", ok), s.resume()));
    }
    await reload(pair, (c) => (c.tls = { cert_file: two.cert_file, key_file: two.key_file }));
    assert.equal((await secret(pair, two.ca, "/health")).from, "second");
    h1.write("GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"); // began under the first one
    const said = await new Promise((ok) => { let t = ""; h1.on("data", (d) => (t += d)).on("end", () => ok(t)); });
    assert.match(said, /^HTTP\/1\.1 200/);
    writeFileSync(two.key_file, "no key");
    pair.gateway().kill("SIGHUP");
    assert.ok(await settled(() => /no key of|key_file/.test(pair.gateway().said)), pair.gateway().said);
    assert.equal((await secret(pair, two.ca, "/health")).from, "second"); // what was in force stays
    const check = (t) => { const f = join(pair.dir, "tls.yaml"); writeFileSync(f, JSON.stringify({ tls: t })); return run(daruma, ["check", f]); };
    assert.match((await check({ cert_file: one.cert_file })).stderr, /belong together; add `key_file`/);
    const third = await certify(pair.dir, "third"), none = join(pair.dir, "none"), closed = join(pair.dir, "closed");
    assert.equal((await run("openssl", ["ec", "-aes128", "-passout", "pass:x", "-in", one.key_file, "-out", closed])).status, 0);
    const wrong = { [third.key_file]: /key_file.*it is not the key of/, [none]: /key_file.*No such file/, [one.cert_file]: /key_file.*no key in it/, [closed]: /key_file.*without a password/ };
    for (const [file, words] of Object.entries(wrong)) assert.match((await check({ cert_file: one.cert_file, key_file: file })).stderr, words);
    assert.match((await check({ cert_file: none, key_file: one.key_file })).stderr, /tls\.cert_file.*No such file/);
    assert.match((await check({ cert_file: one.key_file, key_file: one.key_file })).stderr, /no certificate in it/);
    const weak = join(pair.dir, "weak");
    assert.equal((await run("openssl", ["req", "-x509", "-newkey", "rsa:512", "-nodes", "-keyout", `${weak}.key`, "-out", `${weak}.crt`, "-subj", "/CN=localhost"])).status, 0);
    assert.match((await check({ cert_file: `${weak}.crt`, key_file: `${weak}.key` })).stderr, /tls\.cert_file.*not taken: .*key too small/);
    });
  },
});
