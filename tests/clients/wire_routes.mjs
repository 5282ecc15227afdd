// Where a request goes: forms of names, models that nobody named, providers of another dialect; and what a client may ask of
// daruma for one request (x-daruma-* fields).
import assert from "node:assert/strict";
import { dialects, question } from "./net.mjs";
import { holds } from "./wire.mjs";
import { every, json, target, wires } from "./wires.mjs";

const models = (...list) => (c) => (c.models = list);
const asked = (pair) => pair.own.seen.map((q) => JSON.parse(q.body).model);

every((name, d, w) => {
  if (name === "gemini") return; // it names its model in the path
  const at = target[name].split("/")[0];
  holds(`routes ${name}: a form of names goes where it says, with the name that was asked for`, {
    config: models({ name: "gpt-5", targets: [`${at}/exactly`] }, { name: "gpt-*", targets: [`${at}/*`] }, { name: "*-mini", targets: [`${at}/small/*-v1`] }),
    async run(pair) {
      pair.own.answer = (q, res) => w.answer(res, "seven eight");
      for (const model of ["gpt-5", "gpt-6", "gpt-6-mini", "o-mini"]) assert.equal((await question(pair, d, { model })).said, "seven eight", model);
      assert.deepEqual(asked(pair), ["exactly", "gpt-6", "gpt-6-mini", "small/o-mini-v1"]);
    },
  });

  holds(`routes ${name}: a model that nobody named goes to the targets of default, and fails over between them`, {
    config: (c) => (c.default = [`${at}/first`, `${at}/*`]),
    async run(pair) {
      pair.own.answer = (q, res) => (JSON.parse(q.body).model === "first" ? w.refuse(res, "The model `first` does not exist", { status: 404, code: "model_not_found" }) : w.answer(res, "seven eight"));
      const r = await question(pair, d, { model: "anything" });
      assert.deepEqual([r.said, r.outcome], ["seven eight", "recovered"], r.text);
      assert.deepEqual(asked(pair), ["first", "anything"]);
    },
  });
});

holds("routes: a configuration with one dialect serves clients of the others", {
  config: (c) => {
    c.providers = c.providers.filter((p) => p.name === "own");
    c.models = [];
  },
  async run(pair) {
    pair.own.answer = (q, res) => wires.openai.answer(res, "seven eight");
    for (const d of [dialects.anthropic, dialects.gemini]) assert.equal((await question(pair, d, { model: "m-1" })).said, "seven eight");
    assert.deepEqual(pair.own.seen.map((q) => q.url), ["/v1/chat/completions", "/v1/chat/completions"]);
    assert.deepEqual(asked(pair), ["m-1", "m-1"]);
  },
});

holds("routes: spread keys share new conversations, and each stays with its own", {
  config: (c) => {
    Object.assign(c.providers.find((p) => p.name === "own"), { keys: ["sk-one", "sk-two", "sk-three"].map((value) => ({ value, account: value.slice(3) })), spread: true });
    c.models = [{ name: "m-x", targets: ["own/m-x"] }];
  },
  async run(pair) {
    const d = dialects.openai, keys = new Map(), used = [];
    pair.own.answer = (q, res) => wires.openai.answer(res, "seven eight");
    for (let turn = 0; turn < 2; turn++)
      for (let i = 0; i < 30; i++) {
        const talk = [{ role: "user", content: `question ${i} of many, each of its own` }, ...(turn ? [{ role: "assistant", content: "seven eight" }, { role: "user", content: "and now?" }] : [])];
        await question(pair, d, { model: "m-x", more: { messages: talk } });
        const key = pair.own.seen.at(-1).headers.authorization;
        if (turn) assert.equal(key, keys.get(i), `conversation ${i} changed its key`);
        else used.push(key), keys.set(i, key);
      }
    for (const key of new Set(used)) assert.ok(used.filter((k) => k === key).length >= 4, used.join(" "));
    assert.equal(new Set(used).size, 3);
  },
});

/* ---- fields of one request ---- */

const down = (pair) => (pair.own.answer = (q, res) => json(res, 500, { error: { message: "The server had an error", type: "server_error" } }));

holds("x-daruma-off: the first failure is final, and an agent is told nothing", {
  async run(pair) {
    const d = dialects.openai;
    down(pair);
    const r = await question(pair, d, { model: d.own, headers: { "x-daruma-off": "true" } });
    assert.deepEqual([r.status, pair.own.seen.length], [500, 1], r.text);
    assert.equal(pair.own.seen[0].headers["x-daruma-off"], undefined, "the provider sees it");
    pair.own.seen = [];
    await question(pair, d, { model: d.own, headers: { "x-daruma-off": "false", "x-daruma-deadline": "1s" } });
    assert.ok(pair.own.seen.length > 1);
  },
});

for (const [field, value] of [["x-daruma-deadline", "900ms"], ["x-daruma-deadline-ms", "900"]])
  holds(`${field}: the answer comes before that, whatever it is`, {
    async run(pair) {
      const d = dialects.openai;
      down(pair);
      const began = Date.now(), r = await question(pair, d, { model: d.own, headers: { [field]: value } });
      assert.ok(Date.now() - began < 3000, `${Date.now() - began} ms`);
      assert.equal(r.outcome, "failed", r.text);
    },
  });

holds("x-daruma-on-failure: one request gets words, or an error, whatever is configured", {
  async run(pair) {
    const d = dialects.openai;
    down(pair);
    const as = async (form) => (await question(pair, d, { model: d.own, headers: { "x-daruma-on-failure": form, "x-daruma-deadline": "500ms" } })).status;
    assert.deepEqual([await as("message"), await as("error")], [200, 500]);
  },
});

holds("x-daruma-targets: only those, in that order, and none that the model does not have", {
  config: models({ name: "m-x", targets: ["own/one", "own/two", "own/three"] }),
  async run(pair) {
    const d = dialects.openai;
    pair.own.answer = (q, res) => (JSON.parse(q.body).model === "three" ? json(res, 404, { error: { message: "The model `three` does not exist", type: "invalid_request_error", code: "model_not_found" } }) : wires.openai.answer(res, "seven eight"));
    const ask = (targets) => question(pair, d, { model: "m-x", headers: { "x-daruma-targets": targets } });
    assert.equal((await ask("own/three, own/two")).said, "seven eight");
    assert.deepEqual([...new Set(asked(pair))], ["three", "two"]);
    pair.own.seen = [];
    const r = await ask("own/four, main/m-main");
    assert.equal(pair.own.seen.length, 0);
    assert.ok(r.status >= 400 && /x-daruma-targets/.test(r.text), r.text);
  },
});

for (const [field, value] of [["x-daruma-off", "perhaps"], ["x-daruma-deadline", "soon"], ["x-daruma-deadline-ms", "-4"], ["x-daruma-on-failure", "cry"]])
  holds(`${field}: a value that is not known is refused, with what it may be`, {
    async run(pair) {
      const d = dialects.openai, r = await question(pair, d, { model: d.own, headers: { [field]: value } });
      assert.equal(r.status, 400, r.text);
      assert.match(r.text, /x-daruma-.* Set it to/);
      assert.equal(pair.own.seen.length, 0);
    },
  });
