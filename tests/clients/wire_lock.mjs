// Who may come in: tokens of clients, their models and their rate, the admin token. What is refused reaches no provider.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ask, dialects, pathOf, question } from "./net.mjs";
import { daruma, sleep } from "./pair.mjs";
import { each, good, holds, send } from "./wire.mjs";

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
      `{"model":"m-own",${hello}}`, `{${hello}}`, `{"model":"gpt-x","model":"m-own",${hello}}`, `{"model":"m-own","model":"gpt-x",${hello}}`, `{"model":"gpt-x",${hello},"mod\\u0065l":"m-own"}`, "", "[]", `{"model":"gpt-x",${hello}`, '{"model":{"a":1}}',
    ];
    for (const body of refused) {
      const r = await say(body);
      assert.equal(r.status, 403, `${body}: ${r.text}`);
      assert.match(JSON.parse(r.text).error.message, /Its models are: gpt-\*, g-single/);
    }
    assert.equal((await say(`{"model":"gpt-x",${hello}}`, d.path, { "content-encoding": "gzip" })).status, 403);
    assert.equal((await say('{"input":"x"}', "/v1/embeddings")).status, 403);
    assert.equal((await ask(pair, "/v1/files", { headers })).status, 403);
    assert.equal((await say("{}", "/v1beta/models/g-own:generateContent")).status, 403);
    assert.equal(await calls(pair), 0);
    assert.equal((await say(`{"model":"gpt-x",${hello}}`)).status, 200);
    assert.equal((await question(pair, dialects.gemini, { headers: { "x-goog-api-key": one } })).status, 200);
    assert.notEqual((await ask(pair, "/v1/models", { headers })).status, 403);
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
    const check = (c, ...args) => {
      writeFileSync(file, JSON.stringify(c));
      const r = spawnSync(daruma, ["check", ...args, file], { encoding: "utf8" });
      assert.doesNotMatch(r.stdout + r.stderr, /sk-leak/);
      return r;
    };
    const providers = [{ name: "p", dialect: "openai", url: "http://127.0.0.1:9/v1", keys: ["k"] }], listen = "0.0.0.0:0";
    assert.match(check({ listen, providers }).stderr, /other machines can reach 0\.0\.0\.0.*clients: \[\{ name: me, file/s);
    assert.match(check({ listen, providers, clients: [] }).stderr, /other machines/);
    const open = spawnSync(daruma, ["serve", "--listen", listen], { encoding: "utf8", timeout: 10000 });
    assert.deepEqual([open.status, /other machines/.test(open.stderr)], [2, true], open.stderr);
    const fine = check({ listen, providers, clients: me });
    assert.deepEqual([fine.status, /speaks no TLS/.test(fine.stdout + fine.stderr)], [0, true], fine.stderr);
    assert.match(check({ providers, clients: [{ name: "a", token: "sk-leak-short" }] }).stderr, /13 characters and could be guessed/);
    assert.match(check({ providers, clients: [{ name: "a", token: one }, { name: "b", token: one }] }).stderr, /same token as "a"/);
    assert.match(check({ providers, clients: [{ name: "a" }] }).stderr, /`token` is missing/);
    assert.match(check({ providers, clients: [{ name: "a", token: one, file: secret }] }).stderr, /keep one/);
    assert.match(check({ providers, clients: [{ name: "a", file: secret }] }).stderr, /clients\[0\]\.file.*No such file/s);
    writeFileSync(secret, `${two}\nmore\n`);
    assert.equal(check({ providers, clients: [{ name: "a", file: secret }], admin: { file: secret } }).status, 0);
    assert.ok(execFileSync(daruma, ["check", "--options"], { encoding: "utf8" }).includes("clients[].token"));
  },
});
