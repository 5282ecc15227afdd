// Who is let in: names a request may be for, and whose key goes where.
import assert from "node:assert/strict";
import { ask, dialects, question, raw } from "./net.mjs";
import { ownProvider } from "./pair.mjs";
import { each, good, holds, send } from "./wire.mjs";

const get = (pair, path, host = "localhost") => raw(pair, `GET ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
const statusOf = (r) => Number(/^HTTP\/1\.1 (\d+)/.exec(r)?.[1] ?? 0);
const bodyOf = (r) => JSON.parse(r.slice(r.indexOf("\r\n\r\n")));
// The first provider is the test's own: what is no dialect's goes there.
const ownFirst = (c) => c.providers.sort((a, b) => b.name.startsWith("own") - a.name.startsWith("own"));
const fine = (q, res) => send(res, 200, { fine: true });

holds("door: a gateway on the loopback answers loopback names and refuses every other Host, whatever the path", {
  config: ownFirst,
  async run(pair) {
    pair.own.answer = fine;
    for (const host of ["localhost", "LocalHost", "localhost.", "app.localhost:1", "127.0.0.1", "127.1.2.3:80", "[::1]:4141", "[0:0::1]", "[::ffff:127.0.0.1]"]) assert.equal(statusOf(await get(pair, "/v1/models", host)), 200, host);
    const seen = pair.own.seen.length;
    const others = ["evil.example", "evil.example:4141", "127.0.0.1.evil.example", "localhost.evil.example", "localhost:80.evil.example", "[::1].evil.example", "notlocalhost", "128.0.0.1", "0.0.0.0", "[::2]", "[::ffff:128.0.0.1]", "host.docker.internal"];
    for (const host of others)
      for (const path of ["/v1/models", "/daruma/health", "/daruma/status"]) {
        const r = await get(pair, path, host);
        assert.equal(statusOf(r), 403, `${host} ${path}`);
        assert.match(bodyOf(r).error.message, /hosts: \["/);
      }
    assert.equal(statusOf(await raw(pair, "GET http://evil.example/v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n")), 400);
    assert.equal(pair.own.seen.length, seen);
  },
});

each((name, d) =>
  holds(`door: ${name}: a request for another host is refused in the words of its dialect`, {
    async run(pair) {
      const r = await question(pair, d, { headers: { host: "evil.example" } });
      assert.deepEqual([r.status, r.headers["x-should-retry"]], [403, "false"]);
      assert.match(d.error(r.json).message, /"evil\.example".*hosts: \["evil\.example"\]/);
      assert.deepEqual([d.error(r.json).code, d.error(r.json).type, d.error(r.json).status], { anthropic: [undefined, "permission_error", undefined], gemini: [403, undefined, "PERMISSION_DENIED"] }[name] ?? ["permission_denied", "invalid_request_error", undefined]);
      assert.equal((await pair.report()).calls, 0);
    },
  }),
);

holds("door: `hosts` allows further names, for requests and for pages, and for nobody else", {
  config: (c) => (ownFirst(c), (c.hosts = ["host.docker.internal", "gate.example"])),
  async run(pair) {
    pair.own.answer = fine;
    for (const host of ["host.docker.internal:4141", "Gate.Example", "gate.example."]) assert.equal(statusOf(await get(pair, "/v1/models", host)), 200, host);
    for (const host of ["x.gate.example", "gate.example.evil"]) assert.equal(statusOf(await get(pair, "/v1/models", host)), 403, host);
    const from = async (origin) => (await ask(pair, "/v1/models", { headers: { origin } })).status;
    assert.deepEqual([await from("http://gate.example:3000"), await from("http://evil.example")], [200, 403]);
  },
});

holds("door: where daruma listens for other machines, every name is answered", {
  config: (c) => (ownFirst(c), (c.listen = c.listen.replace("127.0.0.1", "0.0.0.0"))),
  async run(pair) {
    pair.own.answer = fine;
    assert.equal(statusOf(await get(pair, "/v1/models", "gate.example")), 200);
  },
});

/* ---- whose key goes where ---- */

holds("door: the client's key and cookies go to one host; another place without keys is not asked", {
  async run(pair) {
    const other = await ownProvider();
    const headers = { ...dialects.openai.headers, cookie: "session=mine" };
    const model = (c, targets) => (c.models = [{ name: "m-own", targets }]);
    const keyless = (c) => {
      c.providers = c.providers.filter((p) => p.name === "own" || p.name === "main");
      delete c.providers.find((p) => p.name === "own").keys;
      c.providers.push({ name: "same", dialect: "openai", url: `http://127.0.0.1:${pair.own.port}/second/v1` }, { name: "other", dialect: "openai", url: `http://127.0.0.1:${other.port}/v1` }, { name: "claude", dialect: "anthropic", url: `http://127.0.0.1:${other.port}` });
      c.recovery.on_failure = "error";
    };
    try {
      other.answer = (q, res) => send(res, 200, q.url.endsWith("/messages") ? good.anthropic : good.openai);
      pair.own.answer = (q, res) => send(res, 404, { error: { message: "The model `m` does not exist", code: "model_not_found" } });
      await pair.again((c) => (keyless(c), model(c, ["own/a", "other/b", "same/c"])));
      const r = await question(pair, dialects.openai, { model: "m-own", headers });
      assert.equal(r.status, 404, r.text);
      assert.equal(other.seen.length, 0, "the client's key went to another host");
      assert.deepEqual(new Set(pair.own.seen.map((q) => q.url.split("/")[1])), new Set(["v1", "second"]));
      for (const q of pair.own.seen) assert.deepEqual([q.headers.authorization, q.headers.cookie], ["Bearer sk-client", "session=mine"]);

      pair.own.seen = [];
      await pair.again((c) => (keyless(c), model(c, ["own/a", "claude/b"]))); // another dialect: asked, and told nothing of the client
      assert.equal((await question(pair, dialects.openai, { model: "m-own", headers })).said, "fine");
      for (const name of ["authorization", "x-api-key", "cookie"]) assert.equal(other.seen[0].headers[name], undefined, name);

      pair.own.seen = [];
      other.seen = [];
      await pair.again((c) => (keyless(c), (c.providers.find((p) => p.name === "other").keys = ["sk-two"]), model(c, ["own/a", "other/b"])));
      assert.equal((await question(pair, dialects.openai, { model: "m-own", headers })).said, "fine");
      assert.deepEqual([other.seen[0].headers.authorization, other.seen[0].headers.cookie], ["Bearer sk-two", undefined]);
    } finally {
      other.stop();
    }
  },
});
