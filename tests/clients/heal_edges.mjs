// Mending at its edges: clients that leave, providers that die while something is held or asked on the side, what is
// switched off, and what must not cross.
import assert from "node:assert/strict";
import { ask, dialects, question, until } from "./net.mjs";
import { sleep } from "./pair.mjs";
import { holds } from "./wire.mjs";
import { body, data, every, json, named, object, own, parsed, sse, target, wires } from "./wires.mjs";

const { openai: d, anthropic: claude } = dialects, { openai: w, anthropic: c } = wires;
const withTool = (more = {}) => ({ model: d.own, stream: true, more: { tools: w.tools(object), ...more } });
const broken = w.called(0, "call_1", "look", '{"days": 1}'), good = w.called(0, "call_2", "look", '{"city": "Oslo"}');
const ended = (r) => r.text.split("data: [DONE]").length - 1;
const policy = (more) => (f) => (f.recovery = { ...f.recovery, ...more });

/* ---- a stream of which the client has a head and nothing else ---- */

holds("heal edge: a stream that begins with a broken call, and then nothing works, ends readably", {
  async run(pair) {
    pair.own.answer = (q, res) => (q.n === 1 ? sse(res, broken, w.closingCalls()).end() : res.writeHead(500).end("{}"));
    const r = await question(pair, d, withTool());
    assert.equal(r.status, 200, r.text);
    assert.ok(r.said.startsWith("[daruma] ") && ended(r) === 1, r.text);
    assert.equal((await question(pair, d, { model: d.own })).status, 500);
  },
});

holds("heal edge: a stream that is cut in its first call is asked again", {
  async run(pair) {
    pair.own.answer = (q, res) => (q.n === 1 ? sse(res, w.called(0, "call_1", "look", '{"city": "Os')).end() : sse(res, good, w.closingCalls()).end());
    const r = await question(pair, d, withTool());
    assert.deepEqual(parsed(w.calls(r)), [["call_2", "look", { city: "Oslo" }]], r.text);
    assert.equal(ended(r), 1, r.text);
    assert.ok(!d.failed(r.events), r.text);
  },
});

holds("heal edge: a mended call ends its stream once, whether or not the provider says that it ends", {
  async run(pair) {
    pair.own.answer = (q, res) => sse(res, w.opening(), w.called(0, "call_1", "look", "{'city': 'Oslo',}"), w.chunk({}, "tool_calls")).end();
    const r = await question(pair, d, withTool());
    assert.deepEqual(parsed(w.calls(r)), [["call_1", "look", { city: "Oslo" }]], r.text);
    assert.equal(ended(r), 1, r.text);
  },
});

holds("heal edge: text behind a call that was mended is not lost", {
  async run(pair) {
    pair.own.answer = (q, res) => sse(res, w.opening(), w.piece("first "), w.called(0, "call_1", "look", "{'city': 'Oslo',}"), w.piece("and last"), w.closingCalls()).end();
    const r = await question(pair, d, withTool());
    assert.equal(r.said, "first and last", r.text);
    assert.deepEqual(parsed(w.calls(r)), [["call_1", "look", { city: "Oslo" }]], r.text);
  },
});

/* ---- switched off ---- */

for (const off of [{ enabled: false }, { mend: false }])
  holds(`heal edge: with ${JSON.stringify(off)} an answer is the provider's, byte for byte`, {
    config: (f) => {
      policy(off)(f);
      f.models.find((m) => m.name === d.own).window = 1000;
    },
    async run(pair) {
      const bytes = w.opening() + w.piece("well") + broken + w.closingLength(5000);
      pair.own.answer = (q, res) => (body(q).stream ? sse(res, bytes).end() : w.answer(res, "", [["call_1", "look", "{'city"]], undefined, 5000));
      const r = await question(pair, d, withTool());
      assert.equal(r.text, bytes);
      const whole = await question(pair, d, { ...withTool(), stream: false });
      assert.deepEqual(w.calls(whole), [["call_1", "look", "{'city"]], whole.text);
      assert.equal(pair.own.seen.length, 2);
    },
  });

holds("heal edge: a request that nobody can take is refused once, recovery on or off", {
  config: (f) => {
    policy({ enabled: false })(f);
    f.models.find((m) => m.name === d.own).targets = [target.anthropic];
  },
  async run(pair) {
    pair.own.answer = (q, res) => c.answer(res, "hello");
    for (const on of [false, true]) {
      if (on) await pair.again((f) => (f.models.find((m) => m.name === d.own).targets = [target.anthropic]));
      const r = await question(pair, dialects.responses, { model: d.own, more: { previous_response_id: "resp_9" } });
      assert.equal(r.status, 400, r.text);
      assert.equal(pair.own.seen.length, 0);
    }
  },
});

/* ---- more keys than a case keeps count of ---- */

holds("heal edge: stored answers of an account beyond those that are tried", {
  async run(pair) {
    const keys = Array.from({ length: 40 }, (_, i) => ({ value: `sk-one-${i}`, account: `a${i}` }));
    const config = (list) => (f) => {
      f.providers.find((p) => p.name === "own-responses").keys = list;
      f.models.find((m) => m.name === d.own).targets = ["own-responses/m-own"];
    };
    const ask = (more) => question(pair, dialects.responses, { model: d.own, more });
    pair.own.answer = (q, res) => wires.responses.answer(res, "hello");
    await pair.again(config(keys));
    assert.equal((await ask({})).status, 200);
    pair.write(config([...keys].reverse()));
    pair.gateway().kill("SIGHUP");
    await until("the keys are in their new order", async () => (await ask({}), pair.own.seen.at(-1).headers.authorization.endsWith("-39")));
    assert.equal((await ask({ previous_response_id: "resp_1" })).status, 200);
    assert.doesNotMatch(pair.gateway().said, /runtime error/);
  },
});

holds("heal openai: a conversation that stays too long is worked on three times, then no more", {
  async run(pair) {
    const d = dialects.openai;
    const messages = [{ role: "user", content: "find it" }];
    for (let i = 0; i < 6; i++) messages.push({ role: "assistant", content: null, tool_calls: [{ id: `c${i}`, type: "function", function: { name: "look", arguments: "{}" } }] }, { role: "tool", tool_call_id: `c${i}`, content: "many words ".repeat(600) });
    const words = "This model's maximum context length is 6000 tokens. However, your messages resulted in 12000 tokens.";
    pair.own.answer = (q, res) => res.writeHead(400, { "content-type": "application/json" }).end(JSON.stringify({ error: { message: words, type: "invalid_request_error", code: "context_length_exceeded" } }));
    const calls = [];
    for (let i = 0; i < 5; i++) {
      pair.own.seen = [];
      const r = await question(pair, d, { model: d.own, more: { messages } });
      assert.equal(r.status, 400, r.text);
      calls.push(pair.own.seen.length);
    }
    assert.ok(calls[0] > 1 && calls[2] > 1, `the first were not worked on: ${calls}`);
    assert.deepEqual(calls.slice(3), [1, 1], `it is worked on for ever: ${calls}`);
  },
});
