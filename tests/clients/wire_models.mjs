// Lists of models: what clients are shown is what they may ask for, in their dialect.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ask, count, dialects, until } from "./net.mjs";
import { sleep } from "./pair.mjs";
import { holds, send } from "./wire.mjs";

// Providers of the test's own, told apart by the beginning of their path; the second has two keys.
const two = (c) => {
  const url = c.providers.find((p) => p.name === "own").url.replace(/\/v1$/, "");
  const of = (dialect, version) => [
    { name: `${dialect}-a`, dialect, url: `${url}/a${version}`, keys: ["sk-one"] },
    { name: `${dialect}-b`, dialect, url: `${url}/b${version}`, keys: ["sk-one", "sk-two"] },
  ];
  c.providers = [...of("openai", "/v1"), ...of("anthropic", ""), ...of("gemini", "/v1beta")];
  c.models = [{ name: "best", targets: ["openai-a/x-1"], window: 8000 }, { name: "shared", targets: ["openai-b/shared"] }, { name: "gpt-*", targets: ["openai-a/*"] }];
};
const kinds = {
  openai: { path: "/v1/models", headers: dialects.openai.headers, list: (names) => ({ object: "list", data: names.map((id) => ({ id, object: "model", created: 7, owned_by: "them" })) }), names: (j) => j.data.map((m) => m.id) },
  anthropic: { path: "/v1/models", headers: dialects.anthropic.headers, list: (names) => ({ data: names.map((id) => ({ type: "model", id, display_name: id, created_at: "2025-01-01T00:00:00Z" })), has_more: false, first_id: names[0] ?? null, last_id: names.at(-1) ?? null }), names: (j) => j.data.map((m) => m.id) },
  gemini: { path: "/v1beta/models", headers: dialects.gemini.headers, list: (names) => ({ models: names.map((n) => ({ name: `models/${n}`, version: "1" })) }), names: (j) => j.models.map((m) => m.name.replace("models/", "")) },
};
const each = (f) => Object.entries(kinds).forEach(([name, k]) => f(name, k));
const get = async (pair, k, path = k.path, headers = {}) => {
  const r = await ask(pair, path, { headers: { ...k.headers, ...headers } });
  if (/json/.test(r.headers["content-type"])) r.json = JSON.parse(r.text);
  return r;
};
const of = (q) => (q.url.startsWith("/a/") ? "a" : "b");
const lists = (pair, k, a, b) => (pair.own.answer = (q, res) => send(res, 200, k.list(of(q) === "a" ? a : b)));

each((name, k) =>
  holds(`models ${name}: own names come first, then what each provider lists, and nothing twice`, {
    config: two,
    async run(pair) {
      lists(pair, k, ["m-1", "shared", "m-2"], ["m-2", "m-3"]);
      const r = await get(pair, k);
      assert.deepEqual([r.status, k.names(r.json), r.headers["x-daruma-outcome"], r.headers["x-daruma-left-out"]], [200, ["best", "shared", "m-1", "m-2", "m-3"], "ok", undefined], r.text);
      assert.equal(pair.own.seen.length, 2);
      const theirs = k.list(["m-1"]), one = (j) => (j.data ?? j.models)[0];
      assert.deepEqual((r.json.data ?? r.json.models)[2], one(theirs), "what a provider says of its model was changed");
      if (name === "gemini") assert.equal(r.json.models[0].inputTokenLimit, 8000);
      for (const q of pair.own.seen) assert.doesNotMatch(JSON.stringify(q.headers), /sk-client/);
      const own = await get(pair, k, `${k.path}/best`), other = await get(pair, k, `${k.path}/other`);
      assert.deepEqual([own.status, own.json.id ?? own.json.name.replace("models/", "")], [200, "best"], own.text);
      assert.deepEqual([other.status, pair.own.seen.length, pair.own.seen.at(-1).url.split("?")[0].endsWith("/models/other")], [200, 3, true]);
      assert.deepEqual(k.names((await get(pair, k, k.path, { "if-none-match": '"1"', range: "bytes=0-1", "accept-encoding": "gzip" })).json).length, 5);
      assert.deepEqual(["if-none-match", "range", "accept-encoding"].map((f) => pair.own.seen.at(-1).headers[f]), [undefined, undefined, "identity"]);
      const head = await ask(pair, k.path, { method: "HEAD", headers: k.headers });
      assert.deepEqual([head.status, head.bytes.length], [200, 0]);
    },
  }),
);

each((name, k) =>
  holds(`models ${name}: a provider that fails, is slow or sends something else is left out, and the answer says which`, {
    config: two,
    async run(pair) {
      const bad = {
        "(HTTP 503)": (res) => send(res, 503, { error: { message: "sk-leak" } }),
        "(it sent no list)": (res) => send(res, 200, "<html>hello</html>"),
        "(it sent no list) cut": (res) => send(res, 200, '{"data":[{"id":"m-9"}'),
        "(the connection was": (res) => res.socket.resetAndDestroy(),
        silent: () => {},
      };
      for (const [why, fails] of Object.entries(bad)) {
        await pair.again(two);
        pair.own.answer = (q, res) => (of(q) === "a" ? fails(res) : send(res, 200, k.list(["m-3"])));
        const r = await get(pair, k);
        assert.deepEqual([r.status, k.names(r.json), r.headers["x-daruma-outcome"], r.headers["x-daruma-left-out"]], [200, ["best", "shared", "m-3"], "degraded", `${name}-a`], `${why}: ${r.text}`);
        assert.ok(r.took < 7000, `${r.took} ms`);
        const told = pair.events().find((e) => e.event === "models_left_out");
        assert.ok(told.reason.startsWith(`${name}-a (`), told.reason);
        if (why.startsWith("(HTTP")) assert.equal(told.reason, `${name}-a ${why}`);
      }
    },
    limit: 40000,
  }),
);

each((name, k) =>
  holds(`models ${name}: with nothing to list the answer is an error in the client's dialect, and a key that is refused has the next one tried`, {
    config: (c) => (two(c), (c.models = [])),
    async run(pair) {
      pair.own.answer = (q, res) => send(res, 429, { error: { message: "slow down" } });
      const r = await get(pair, k);
      assert.deepEqual([r.status, r.headers["x-daruma-outcome"]], [429, "failed"], r.text);
      assert.match(dialects[name].error(r.json).message, new RegExp(`No provider gave a list of its models: ${name}-a \\(HTTP 429\\), ${name}-b \\(HTTP 429\\)`));
      assert.equal(pair.own.seen.length, 3, "one of two keys was not tried");
      pair.own.answer = (q, res) => (/sk-one/.test(JSON.stringify(q.headers)) ? send(res, 401, { error: { message: "bad key" } }) : send(res, 200, k.list(["m-3"])));
      const other = await get(pair, k);
      assert.deepEqual([other.status, k.names(other.json), other.headers["x-daruma-left-out"]], [200, ["m-3"], `${name}-a`]);
    },
  }),
);

each((name, k) =>
  holds(`models ${name}: one provider and no names of its own: the list passes through byte for byte`, {
    config: (c) => (two(c), (c.models = [{ name: "gpt-*", targets: ["openai-a/*"] }]), (c.providers = c.providers.filter((p) => p.name.endsWith("-a")))),
    async run(pair) {
      const bytes = ` ${JSON.stringify(k.list(["m-1", "m-1"]), null, 3)}\n\n`;
      pair.own.answer = (q, res) => send(res, 200, bytes, { "x-odd": "1" });
      const r = await get(pair, k, `${k.path}?limit=3&x=%2F`);
      assert.deepEqual([r.text, r.headers["x-odd"], pair.own.seen.length, pair.own.seen[0].url.split("?")[1]], [bytes, "1", 1, "limit=3&x=%2F"]);
    },
  }),
);

holds("models: a client that has models of its own is shown those alone, whatever path it asks by", {
  admin: "sk-leak-boss-0123456789",
  config: (c) => (two(c), Object.assign(c, { admin: { token: "sk-leak-boss-0123456789" }, clients: [{ name: "me", token: "sk-leak-client-one-012345", models: ["best", "m-*"] }] })),
  async run(pair) {
    for (const [name, k] of Object.entries(kinds)) {
      lists(pair, k, ["m-1", "other"], ["m-3", "gpt-9"]);
      const headers = Object.fromEntries(Object.entries(k.headers).map(([h, v]) => [h, v.replace("sk-client", "sk-leak-client-one-012345")]));
      const r = await get(pair, k, k.path, headers);
      assert.deepEqual(k.names(r.json), ["best", "m-1", "m-3"], name);
      assert.equal((await get(pair, k, `${k.path}/shared`, headers)).status, 403);
      assert.equal((await get(pair, k, `${k.path}/best`, headers)).status, 200);
    }
    lists(pair, kinds.openai, ["m-1", "other"], ["m-3", "gpt-9"]);
    const r = await get(pair, kinds.openai, "/openai/v1/models", { authorization: "Bearer sk-leak-client-one-012345" });
    assert.deepEqual(kinds.openai.names(r.json), ["best", "m-1", "m-3"]);
    assert.doesNotMatch(JSON.stringify(pair.own.seen), /sk-leak/);
  },
});

holds("models: a client's own key is shown to one provider alone, and no key at all to those that have their own", {
  config: (c) => (two(c), c.providers.forEach((p) => p.dialect === "openai" && delete p.keys), c.providers.push({ name: "keyed", dialect: "openai", url: c.providers[0].url.replace("/a/", "/b/"), keys: ["sk-two"] }), (c.models = [])),
  async run(pair) {
    lists(pair, kinds.openai, ["m-1"], ["m-3"]);
    const r = await get(pair, kinds.openai);
    assert.deepEqual(kinds.openai.names(r.json), ["m-1", "m-3"]);
    assert.deepEqual(pair.own.seen.map((q) => [q.url, q.headers.authorization]).sort(), [["/a/v1/models", "Bearer sk-client"], ["/b/v1/models", "Bearer sk-two"]]);
  },
});

holds("models: a client's own key goes where it goes for other paths of its dialect, and to no other provider without keys", {
  config: (c) => {
    two(c);
    const [a, b] = c.providers;
    c.providers = [{ name: "a", dialect: "openai-responses", url: a.url }, { name: "b", dialect: "openai", url: b.url }];
    c.models = [{ name: "mine", targets: ["b/x"] }];
  },
  async run(pair) {
    lists(pair, kinds.openai, ["m-1"], ["m-3"]);
    const r = await get(pair, kinds.openai);
    assert.deepEqual(kinds.openai.names(r.json), ["mine", "m-3"]);
    assert.deepEqual(pair.own.seen.map((q) => [q.url, q.headers.authorization]), [["/b/v1/models", "Bearer sk-client"]]);
  },
});

holds("models: clients of a dialect that no provider speaks read the list in theirs", {
  config: (c) => (two(c), (c.models = []), (c.providers = c.providers.filter((p) => p.name === "openai-a"))),
  async run(pair) {
    lists(pair, kinds.openai, ["m-1", "m-2"], []);
    for (const name of ["anthropic", "gemini"]) {
      const r = await get(pair, kinds[name]);
      assert.deepEqual([r.status, kinds[name].names(r.json), r.headers["x-daruma-outcome"]], [200, ["m-1", "m-2"], "ok"], r.text);
    }
    assert.deepEqual(pair.own.seen.map((q) => q.url), ["/a/v1/models"], "the same list was asked for twice");
    await pair.again((c) => (two(c), (c.models = []), (c.providers = c.providers.filter((p) => p.name === "anthropic-a"))));
    lists(pair, kinds.anthropic, ["m-1", "m-2"], []);
    assert.deepEqual(kinds.openai.names((await get(pair, kinds.openai)).json), ["m-1", "m-2"]);
    const q = pair.own.seen.at(-1).headers;
    assert.deepEqual([q["anthropic-version"], q["x-api-key"], q.authorization], ["2023-06-01", "sk-one", undefined]);
  },
});

holds("models: pages are those that were asked for, and together they are the list", {
  config: two,
  async run(pair) {
    const a = kinds.anthropic, g = kinds.gemini, all = ["best", "shared", "m-1", "m-2", "m-3", "m-4", "m-5"];
    lists(pair, a, ["m-1", "m-2"], ["m-3", "m-4", "m-5"]);
    let got = [], r, after = "";
    do {
      r = (await get(pair, a, `${a.path}?limit=3${after}`)).json;
      got.push(...a.names(r));
      assert.deepEqual([r.first_id, r.last_id], [r.data[0].id, r.data.at(-1).id]);
      after = `&after_id=${r.last_id}`;
    } while (r.has_more);
    assert.deepEqual(got, all);
    r = (await get(pair, a, `${a.path}?limit=2&before_id=m-3`)).json;
    assert.deepEqual([a.names(r), r.has_more], [["m-1", "m-2"], true]);
    assert.ok(pair.own.seen.every((q) => q.url.endsWith("?limit=1000")), pair.own.seen[0].url);
    lists(pair, g, ["m-1", "m-2"], ["m-3", "m-4", "m-5"]);
    got = [];
    let token = "";
    do {
      r = (await get(pair, g, `${g.path}?pageSize=3${token}`)).json;
      got.push(...g.names(r));
      token = `&pageToken=${encodeURIComponent(r.nextPageToken)}`;
    } while (r.nextPageToken);
    assert.deepEqual(got, all);
  },
});

each((name, k) =>
  holds(`models ${name}: clients that ask together make one call of each provider, and so do those that come soon after`, {
    config: two,
    limit: 60000,
    async run(pair) {
      pair.own.answer = (q, res) => setTimeout(() => send(res, 200, k.list(of(q) === "a" ? ["m-1"] : ["m-3"])), 200);
      const many = (n, more) => Promise.all(Array.from({ length: n }, (_, i) => get(pair, k, k.path, { "user-agent": `agent/${i}`, "x-request-id": `r-${i}`, ...more })));
      for (const list of [await many(40), await many(10)])
        for (const r of list) assert.deepEqual([r.status, k.names(r.json), r.headers["x-daruma-outcome"]], [200, ["best", "shared", "m-1", "m-3"], "ok"], r.text);
      assert.equal(pair.own.seen.length, 2, "50 clients within a second");
      await many(5, { "cache-control": "no-cache" });
      assert.equal(pair.own.seen.length, 4, "who wants it anew gets it anew");
      if (name !== "openai") return;
      await sleep(10100); // MODELS_FRESH_MS
      pair.own.answer = (q, res) => send(res, 200, k.list(["m-9"]));
      assert.deepEqual(k.names((await get(pair, k)).json), ["best", "shared", "m-9"]);
    },
  }),
);

each((name, k) =>
  holds(`models ${name}: a provider that fails is shown with what it listed last, and said to be so; one that refuses its key is not`, {
    config: two,
    limit: 60000,
    async run(pair) {
      const anew = { "cache-control": "no-cache" };
      lists(pair, k, ["m-1"], ["m-3"]);
      await get(pair, k);
      const bad = { "(HTTP 503)": (res) => send(res, 503, { error: {} }), "(HTTP 429)": (res) => send(res, 429, { error: {} }), "(it sent no list)": (res) => send(res, 200, "<html>"), "(the connection": (res) => res.socket.resetAndDestroy() };
      for (const [why, fails] of Object.entries(bad)) {
        pair.own.answer = (q, res) => (of(q) === "a" ? fails(res) : send(res, 200, k.list(["m-4"])));
        const r = await get(pair, k, k.path, anew);
        assert.deepEqual([r.status, k.names(r.json), r.headers["x-daruma-outcome"], r.headers["x-daruma-stale"], r.headers["x-daruma-left-out"]], [200, ["best", "shared", "m-1", "m-4"], "degraded", `${name}-a`, undefined], `${why}: ${r.text}`);
        const told = pair.events().findLast((e) => e.event === "models_stale");
        assert.ok(told.reason.startsWith(`${name}-a ${why}`) && told.reason.endsWith(", its list of 0 s ago"), told.reason);
      }
      for (const status of [401, 403, 404]) {
        pair.own.answer = (q, res) => (of(q) === "a" ? send(res, status, { error: {} }) : send(res, 200, k.list(["m-4"])));
        const r = await get(pair, k, k.path, anew);
        assert.deepEqual([k.names(r.json), r.headers["x-daruma-stale"], r.headers["x-daruma-left-out"]], [["best", "shared", "m-4"], undefined, `${name}-a`], r.text);
      }
    },
  }),
);

holds("models: each account has its own list, and three hundred accounts take no more room than some", {
  config: (c) => (two(c), (c.models = [{ name: "mine", targets: ["openai-a/x"] }]), (c.providers = [c.providers[0]]), delete c.providers[0].keys),
  limit: 60000,
  async run(pair) {
    const k = kinds.openai, key = (q) => q.headers.authorization.slice(-3), as = (n, more) => get(pair, k, k.path, { authorization: `Bearer sk-client-${String(n).padStart(3, "0")}`, ...more });
    pair.own.answer = (q, res) => send(res, 200, k.list([`m-${key(q)}${q.headers["openai-organization"] ?? ""}`]));
    for (const n of [1, 2, 1, 2]) assert.deepEqual(k.names((await as(n)).json), ["mine", `m-00${n}`]);
    assert.equal(pair.own.seen.length, 2);
    assert.deepEqual(k.names((await as(1, { "openai-organization": "x" })).json), ["mine", "m-001x"]);
    for (let n = 100; n < 400; n += 20) await Promise.all(Array.from({ length: 20 }, (_, i) => as(n + i)));
    const before = pair.own.seen.length;
    assert.deepEqual([k.names((await as(1)).json), k.names((await as(399)).json)], [["mine", "m-001"], ["mine", "m-399"]]);
    assert.equal(pair.own.seen.length, before + 1, "the oldest is asked for again, and the newest is not");
  },
});

holds("models: whoever asked first may leave, and those who wait with him get their list", {
  config: two,
  async run(pair) {
    const k = kinds.openai;
    pair.own.answer = (q, res) => setTimeout(() => send(res, 200, k.list([`m-${of(q)}`])), 300);
    let first;
    const gone = ask(pair, k.path, { headers: k.headers, onStart: (req) => (first = req) }).catch(() => null);
    await until("the first asks", () => pair.own.seen.length === 2);
    let second;
    const also = ask(pair, k.path, { headers: k.headers, onStart: (req) => (second = req) }).catch(() => null);
    const rest = Array.from({ length: 5 }, () => get(pair, k));
    await sleep(100);
    second.destroy(); // one who only waits
    first.destroy();
    for (const r of await Promise.all(rest)) assert.deepEqual([r.status, k.names(r.json)], [200, ["best", "shared", "m-a", "m-b"]], r.text);
    await gone, await also;
    assert.equal(pair.own.seen.length, 4);
    await until("no call is left", async () => (await pair.status()).active === 0);
    // All of them leave.
    const leave = Array.from({ length: 5 }, () => ask(pair, k.path, { headers: { ...k.headers, "cache-control": "no-cache" }, onStart: (req) => setTimeout(() => req.destroy(), 100) }).catch(() => null));
    await Promise.all(leave);
    assert.equal((await get(pair, k, k.path, { "cache-control": "no-cache" })).status, 200);
  },
});

holds("models: a command prints the key once for lists as well; a client that leaves leaves nothing behind", {
  config: two,
  async run(pair) {
    const log = join(pair.dir, "runs-models");
    writeFileSync(log, "");
    await pair.again((c) => (two(c), c.providers.forEach((p) => (p.keys = [{ command: `echo run >> ${log}; sleep 0.3; echo sk-cmd` }]))));
    lists(pair, kinds.openai, ["m-1"], ["m-3"]);
    const many = await Promise.all(Array.from({ length: 5 }, () => get(pair, kinds.openai)));
    for (const r of many) assert.deepEqual(kinds.openai.names(r.json), ["best", "shared", "m-1", "m-3"]);
    const { readFileSync } = await import("node:fs");
    assert.equal(readFileSync(log, "utf8").trim().split("\n").length, 2, "one run for each provider");
    // Clients leave while the key is fetched, and while providers think.
    await pair.again((c) => (two(c), c.providers.forEach((p) => (p.keys = [{ command: "sleep 0.4; echo sk-cmd" }]))));
    pair.own.answer = () => {};
    for (const wait of [100, 900]) {
      await Promise.all(Array.from({ length: 4 }, () => ask(pair, "/v1/models", { headers: kinds.openai.headers, onStart: (req) => setTimeout(() => req.destroy(), wait) }).catch(() => null)));
      await sleep(100);
    }
    lists(pair, kinds.openai, ["m-1"], ["m-3"]);
    assert.equal((await get(pair, kinds.openai)).status, 200);
    await until("no call is left", async () => (await pair.status()).active === 0);
    assert.equal(count(pair.events(), "key_command_failed"), 0);
  },
});
