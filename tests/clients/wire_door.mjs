// Who is let in: names a request may be for, paths that go to a provider, and whose key goes where.
import assert from "node:assert/strict";
import { ask, dialects, question, raw } from "./net.mjs";
import { ownProvider, sleep } from "./pair.mjs";
import { each, good, holds, send } from "./wire.mjs";

const get = (pair, path, host = "localhost") => raw(pair, `GET ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
const statusOf = (r) => Number(/^HTTP\/1\.1 (\d+)/.exec(r)?.[1] ?? 0);
const bodyOf = (r) => JSON.parse(r.slice(r.indexOf("\r\n\r\n")));
// The first provider is the test's own: what is no dialect's goes there.
const ownFirst = (c) => c.providers.sort((a, b) => b.name.startsWith("own") - a.name.startsWith("own"));
const token = "0123456789abcdef-me";
const fine = (q, res) => send(res, 200, { fine: true });

holds("door: a gateway on the loopback answers loopback names and refuses every other Host, whatever the path", {
  config: ownFirst,
  async run(pair) {
    pair.own.answer = fine;
    for (const host of ["localhost", "LocalHost", "localhost.", "app.localhost:1", "127.0.0.1", "127.1.2.3:80", "[::1]:4141", "[0:0::1]", "[::ffff:127.0.0.1]"]) assert.equal(statusOf(await get(pair, "/v1/models", host)), 200, host);
    const seen = pair.own.seen.length;
    const others = ["evil.example", "evil.example:4141", "127.0.0.1.evil.example", "localhost.evil.example", "localhost:80.evil.example", "[::1].evil.example", "notlocalhost", "128.0.0.1", "0.0.0.0", "[::2]", "[::ffff:128.0.0.1]", "[::1%00]", "host.docker.internal"];
    for (const host of others)
      for (const path of ["/v1/models", "/", "/health", "/daruma/health", "/nothing"]) {
        const r = await get(pair, path, host);
        assert.equal(statusOf(r), 403, `${host} ${path}`);
        assert.match(bodyOf(r).error.message, /hosts: \["/);
      }
    // A target that is a whole URL says its host itself, and the field beside it counts no more (RFC 9112, 3.2.2).
    const whole = (url, host) => raw(pair, `GET ${url} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
    assert.equal(statusOf(await whole("http://evil.example/v1/models", "localhost")), 403);
    assert.equal(pair.own.seen.length, seen);
    for (const [url, arrives] of [["http://localhost/v1/files?a=b/c", "/v1/files?a=b/c"], ["HTTP://127.0.0.1:80/v1/files/f", "/v1/files/f"], ["https://[::1]:4141/v1/files/http://x", null]]) {
      const r = await whole(url, "evil.example");
      assert.equal(statusOf(r), arrives ? 200 : 400, url);
      if (arrives) assert.deepEqual([pair.own.seen.at(-1).url, pair.own.seen.at(-1).headers.host], [arrives, `127.0.0.1:${pair.own.port}`]);
    }
    assert.equal(statusOf(await whole("http://localhost", "localhost")), statusOf(await get(pair, "/")));
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
  admin: token,
  config: (c) => (ownFirst(c), (c.clients = [{ name: "me", token }]), (c.admin = { token }), (c.listen = c.listen.replace("127.0.0.1", "0.0.0.0"))),
  async run(pair) {
    pair.own.answer = fine;
    const r = await raw(pair, `GET /v1/models HTTP/1.1\r\nhost: gate.example\r\nauthorization: Bearer ${token}\r\nconnection: close\r\n\r\n`);
    assert.equal(statusOf(r), 200);
  },
});

/* ---- paths ---- */

holds("door: the body of a page of another site, or for another host, is not waited for", {
  async run(pair) {
    for (const [fields, words] of [["host: localhost\r\norigin: https://evil.example", /pages of other sites/], ["host: evil.example", /evil\.example/]]) {
      const got = await raw(pair, `POST /v1/chat/completions HTTP/1.1\r\n${fields}\r\ncontent-type: text/plain\r\ncontent-length: 60000000\r\n\r\n{`, 1000);
      assert.match(got, /^HTTP\/1.1 403 .*connection: close/is);
      assert.match(got, words);
    }
    assert.equal(pair.own.seen.length, 0);
  },
});

holds("door: a path that could leave the provider's base URL is refused, and no provider sees it", {
  config: (c) => (ownFirst(c), (c.passthrough = ["/"])),
  async run(pair) {
    pair.own.answer = fine;
    const odd = ["/v1/../admin", "/v1/models/..", "/v1/./models", "/v1/%2e%2e/admin", "/v1/%2E./admin", "/v1/.%2e", "/v1/models%2f..%2fadmin", "/v1/%252e%252e/admin", "/v1/%%32e%%32e/admin", "/v1/%25%32e%25%32e/admin", "/v1/%2%32%2%33/..%00/x", "/v1/x%00", `/v1/%${"25".repeat(20)}2e./x`, "/v1/..;x/admin", "/v1/%2e%2e%3bx/admin", "/v1/models;x=y", "/v1/..\\admin", "/v1/models%5c..", "/v1//models", "//v1/models", "//evil.example/v1/models", "/v1/models//"];
    for (const path of odd) {
      const r = await get(pair, path);
      assert.equal(statusOf(r), 400, path);
      assert.match(bodyOf(r).error.message, /could leave the base URL/);
    }
    assert.equal(pair.own.seen.length, 0);
    for (const path of ["/v1/models/", "/v1/models/org%2Fm", "/v1/models/a..b", "/v1/models/...", "/v1/models/.m", "/v1/files?after=../x;y//z"]) {
      assert.equal(statusOf(await get(pair, path)), 200, path);
      assert.equal(pair.own.seen.at(-1).url, path);
    }
  },
});

// The model stands in the body, or in a path of its own, and where it goes the path names it.
const away = ["..", ".", "../../v1beta/files", "a/../../b", "a//b", "//evil.example/x", "/x", "x/", "models/..", "tunedModels/../x", "a\\..\\b", "..;/x", "%2e%2e/x", "a%2f..%2fb", "a%2f%2fb", "%25252e%25252e/x", "%%32e%%32e/x", "%2%65%2%65/x", "%u002e%u002e/x", "a%3bb", "a%5cb", "a%00", "a\r\nx: 1", "\u0000"];
const stays = ["arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-v1:0", "arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fabc", "meta/llama-3.3:free", "claude@20250514", "模型/é:1", "50%off", "100%", "%", "a%20b", "a%2540b", "a..b/...", "a b+c=d&e?f#g"];
for (const [where, prefix] of Object.entries({ gemini: "/v1beta/", vertex: "/v1/publishers/anthropic/models/", bedrock: "/model/" }))
  holds(`door: ${where}: no name of a model leaves the place where models stand, and the others arrive as they are`, {
    config(c) {
      const at = c.providers.find((p) => p.name === "own").url.replace("/v1", "");
      c.providers.push({ name: "vertex", dialect: "anthropic", url: `${at}/v1/publishers/anthropic`, cloud: "vertex", keys: ["sk-one"] }, { name: "bedrock", dialect: "anthropic", url: at, cloud: "bedrock", keys: ["sk-one"] });
      c.models = [];
      c.default = [where === "gemini" ? "own-gemini/*" : `${where}/*`];
      c.recovery.max_attempts = 1;
    },
    async run(pair) {
      pair.own.answer = (q, res) => send(res, 404, { error: { message: "no such model" } });
      for (const model of away)
        for (const d of [dialects.openai, dialects.anthropic]) {
          const n = pair.own.seen.length;
          await question(pair, d, { model });
          assert.ok(pair.own.seen.length > n, "nobody was asked"); // who has no such model says so
          const { url } = pair.own.seen.at(-1), name = url.slice(prefix.length).replace(/[:/](generateContent|rawPredict|invoke)(\?.*)?$/, "");
          assert.ok(url.startsWith(prefix), url);
          assert.ok(!/%(2[ef5]|5c|3b|[01])|;|\\/i.test(name) && !`/${name}`.split("/").slice(1).some((s) => ["", ".", ".."].includes(s)), `${JSON.stringify(model)}: ${url}`);
        }
      for (const model of stays) {
        await question(pair, dialects.openai, { model });
        const name = pair.own.seen.at(-1).url.replace(/[:/](generateContent|rawPredict|invoke)(\?.*)?$/, "").slice(prefix.length);
        assert.equal(decodeURIComponent(where === "gemini" ? name.replace(/^models\//, "") : name), model);
      }
    },
  });

const apis = {
  openai: ["/v1/chat/completions", "/v1/chat/completions/c-1/messages", "/v1/completions", "/v1/responses/r-1", "/v1/responses/r-1/input_items", "/v1/responses/compact", "/v1/conversations/c-1", "/v1/models", "/models", "/v1/embeddings", "/v1/audio/speech", "/v1/images/edits", "/v1/videos/v-1/content", "/v1/files/f-1/content", "/v1/uploads/u-1/parts", "/v1/moderations", "/v1/batches", "/v1/fine_tuning/jobs", "/v1/vector_stores/v/files", "/v1/assistants/a", "/v1/threads/t/runs", "/v1/realtime/client_secrets", "/v1/containers", "/v1/evals", "/v1/live/calls", "/v1/organization/usage/costs", "/openai/deployments/d/embeddings?api-version=1", "/openai/v1/models", "/api/v1/models"],
  anthropic: ["/v1/messages/count_tokens", "/v1/messages/batches/b-1/results", "/v1/models/claude", "/v1/complete", "/v1/files", "/v1/skills", "/v1/organizations/me", "/v1/agents", "/v1/sessions/s/events", "/anthropic/v1/models"],
  gemini: ["/v1beta/models", "/v1beta/models/m", "/v1beta/models/m:countTokens", "/v1alpha/models/m:embedContent", "/v1beta/files:register", "/upload/v1beta/files", "/download/v1beta/files/f:download", "/v1beta/cachedContents", "/v1beta/tunedModels/t", "/v1beta/batches/b:cancel", "/v1beta/fileSearchStores", "/v1beta/interactions/i", "/v1beta/openai/models", "/v1/projects/p/locations/l/publishers/google/models/m:predict", "/v1beta1/publishers/google/models/m:countTokens"],
};
each((name, d) =>
  apis[name] &&
  holds(`door: ${name}: the paths of its API go to its provider`, {
    config: (c) => (c.providers = c.providers.filter((p) => p.name === { openai: "own", anthropic: "own-claude", gemini: "own-gemini" }[name]), c.models = []),
    async run(pair) {
      pair.own.answer = fine;
      for (const path of apis[name]) {
        const r = await ask(pair, path, { headers: d.headers });
        assert.equal(r.status, 200, `${path}: ${r.text}`);
      }
      assert.equal(pair.own.seen.length, apis[name].length);
    },
  }),
);

holds("door: no other path goes to a provider, whatever the method, and the answer says how to open it", {
  config: ownFirst,
  async run(pair) {
    pair.own.answer = fine;
    for (const path of ["/healthz", "/live", "/favicon.ico", "/.env", "/v1", "/v1/", "/v1/metrics", "/v1/modelsx", "/api/tags", "/admin/v1/models", "/openai", "/wp-login.php"])
      for (const method of ["GET", "POST", "DELETE", "OPTIONS"]) {
        const r = await ask(pair, path, { method, headers: dialects.openai.headers, body: method === "POST" ? "{}" : undefined });
        assert.equal(r.status, 404, `${method} ${path}`);
        const { error } = JSON.parse(r.text);
        assert.ok(error.message.includes(`passthrough: ["${path}"]`), error.message);
        assert.equal(error.code, "not_found");
      }
    const claude = await ask(pair, "/v1/nothing", { headers: dialects.anthropic.headers });
    assert.equal(JSON.parse(claude.text).error.type, "not_found_error");
    assert.equal((await ask(pair, "/", { method: "POST", body: "{}" })).status, 404);
    assert.equal(pair.own.seen.length, 0);
  },
});

holds("door: `passthrough` opens paths by whole segments", {
  config: (c) => (ownFirst(c), (c.passthrough = ["/api", "/metrics/"])),
  async run(pair) {
    pair.own.answer = fine;
    for (const [path, status] of [["/api", 200], ["/api/tags?x=y", 200], ["/metrics/cpu", 200], ["/apix", 404], ["/metrics", 200], ["/v1/api", 404]]) assert.equal((await ask(pair, path)).status, status, path);
    assert.equal(pair.own.seen.length, 3);
    assert.equal(pair.own.seen[0].headers.authorization, "Bearer sk-one");
  },
});

holds("door: /, /health and /ready are answered here, and questions to daruma as before", {
  config: ownFirst,
  async run(pair) {
    for (const path of ["/", "/health", "/ready"]) {
      const r = await ask(pair, path), head = await ask(pair, path, { method: "HEAD" });
      const { name, ready } = JSON.parse(r.text);
      assert.deepEqual([r.status, name, ready, head.status, head.text], [200, "daruma", true, 200, ""], path);
    }
    assert.deepEqual(JSON.parse((await ask(pair, "/daruma/health")).text), { status: "ok" });
    assert.equal((await ask(pair, "/daruma/nothing")).status, 404);
    assert.equal(pair.own.seen.length, 0);
  },
});

holds("door: what is refused is counted by its reason and told, one of many at a time, without a secret", {
  async run(pair) {
    const say = (path, headers) => raw(pair, `GET ${path} HTTP/1.1\r\nconnection: close\r\n${Object.entries(headers).map(([k, v]) => `${k}: ${v}\r\n`).join("")}\r\n`);
    const here = { host: "localhost" };
    for (let i = 0; i < 5; i++) {
      assert.equal(statusOf(await say("/v1/models", { host: "evil.example" })), 403);
      assert.equal(statusOf(await say("/v1/models", { ...here, origin: "http://page.example" })), 403);
      assert.equal(statusOf(await say("/v1/../x", here)), 400);
      assert.equal(statusOf(await say("/nothing/sk-leak-0123456789abcdef0123?key=sk-leak-1123456789abcdef0123", here)), 404);
    }
    const s = await pair.status(), told = pair.events().filter((e) => e.event === "request_refused");
    assert.deepEqual([s.refused, s.requests.all], [{ host: 5, origin: 5, path: 5, unknown_path: 5, token: 0, model: 0, rate: 0, body: 0, room: 0 }, 0]);
    assert.deepEqual(told.map((e) => e.reason.split(": ")[0]), ["a request for the name of another host", "a page of another site", "a path that could leave the provider's base URL", "a path that no API has"]);
    for (const [i, words] of ["evil.example", "http://page.example", "/v1/../x", "/nothing/"].entries()) assert.ok(told[i].reason.includes(words), told[i].reason);
    await sleep(1050);
    await say("/v1/models", { host: "other.example" });
    assert.match(pair.events().at(-1).reason, /other\.example \(4 more since the last event\)$/);
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
