// Gateways in a row: a chain of them carries a request to its end, a ring of them is told at its first turn.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import http from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { ask, dialects, question, until } from "./net.mjs";
import { daruma } from "./pair.mjs";
import { each, good, holds, oneKey, send } from "./wire.mjs";

const port = () =>
  new Promise((ok) => {
    const s = createServer().listen(0, "127.0.0.1", () => {
      const free = s.address().port;
      s.close(() => ok(free));
    });
  });

// Another gateway, whose only provider is at `url`. `f` is called with it; it ends with `f`.
async function second(pair, at, url, f) {
  const file = join(pair.dir, "second.yaml");
  writeFileSync(file, JSON.stringify({ listen: `127.0.0.1:${at}`, providers: [{ name: "next", dialect: "openai", url: `${url}/v1`, keys: [{ value: "sk-two" }] }] }));
  const child = spawn(daruma, ["serve", "--config", file, "--quiet"], { stdio: ["ignore", "ignore", "inherit"] });
  const there = { port: at, heard: [] };
  try {
    await until("the second gateway is there", () => ask(there, "/daruma/health").then((r) => r.status === 200, () => false), 15000);
    await f(there);
  } finally {
    child.kill("SIGTERM");
    await new Promise((ok) => child.once("exit", ok));
  }
}

// A provider whose address leads back: it hands on what it gets, head and body.
const proxy = (pair) => (q, res) => {
  const req = http.request({ host: "127.0.0.1", port: pair.port, path: q.url, method: q.method, headers: { ...q.headers, host: `127.0.0.1:${pair.port}`, connection: "close" } }, (r) => (res.writeHead(r.statusCode, r.headers), r.pipe(res)));
  req.on("error", () => res.destroy());
  req.end(q.body);
};

each((name, d) => {
  for (const on_failure of ["error", "message"])
    holds(`${name}: a request that comes back to its own gateway ends there, and says what to do: ${on_failure}`, {
      config: (c) => (oneKey(c), (c.recovery.on_failure = on_failure)),
      async run(pair) {
        pair.own.answer = proxy(pair);
        const r = await question(pair, d, { model: d.own });
        assert.match(r.text, /came back to the daruma that sent it/);
        assert.match(r.text, /Set the `url` of that provider/);
        assert.equal(r.status, on_failure === "error" ? 508 : 200);
        assert.equal(pair.own.seen.length, 1);
        const s = await question(pair, d, { model: d.own, stream: true });
        assert.match(s.text, /came back to the daruma that sent it/);
        assert.equal(pair.own.seen.length, 2);
      },
    });
});

holds("what only passes through ends there, too", {
  async run(pair) {
    pair.own.answer = proxy(pair);
    const r = await ask(pair, "/v1/files", { headers: dialects.openai.headers });
    assert.deepEqual([r.status, pair.own.seen.length], [508, 1], r.text);
    // A list of models asks each provider once, and those that lead back give none.
    pair.own.seen = [];
    const list = await ask(pair, "/v1/models", { headers: dialects.openai.headers });
    assert.deepEqual([list.status, list.headers["x-daruma-outcome"], pair.own.seen.length], [200, "degraded", 2], list.text);
    assert.match(list.headers["x-daruma-left-out"], /own, own-responses/);
  },
  config: (c) => (c.providers = c.providers.filter((p) => p.name === "own").concat(c.providers.filter((p) => p.name !== "own"))),
});

holds("two gateways in a row carry a request, and both say that they did", {
  async run(pair) {
    pair.own.answer = (q, res) => send(res, 200, good.openai);
    await second(pair, await port(), pair.base, async (there) => {
      const r = await question(there, dialects.openai, { model: "m-own", headers: { via: "1.1 client-side" } });
      assert.equal(r.said, "fine", r.text);
    });
    assert.match(pair.own.seen[0].headers.via, /^1\.1 client-side, 1\.1 daruma-[0-9a-f]{8}, 1\.1 daruma-[0-9a-f]{8}$/);
  },
});

holds("two gateways that point at each other say so after one turn", {
  async run(pair) {
    const at = await port();
    await pair.again((c) => (oneKey(c), (c.providers.find((p) => p.name === "own").url = `http://127.0.0.1:${at}/v1`)));
    await second(pair, at, pair.base, async (there) => {
      for (const to of [pair, there]) {
        const r = await question(to, dialects.openai, { model: "m-own", stream: to === there });
        assert.match(r.text, /came back to the daruma that sent it/);
      }
    });
    const tried = pair.events().filter((e) => e.event === "llm_request_failed" || e.attempts > 2);
    assert.deepEqual(tried.filter((e) => e.attempts > 2), []);
  },
});
