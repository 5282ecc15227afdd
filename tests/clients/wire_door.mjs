// Who is let in, and whose key goes where.
import assert from "node:assert/strict";
import { dialects, question } from "./net.mjs";
import { ownProvider } from "./pair.mjs";
import { good, holds, send } from "./wire.mjs";

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
