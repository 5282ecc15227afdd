// Mending at its edges: clients that leave, providers that die while something is held or asked on the side, what is
// switched off, and what must not cross.
import assert from "node:assert/strict";
import { dialects, question, until } from "./net.mjs";
import { sleep } from "./pair.mjs";
import { holds } from "./wire.mjs";
import { body, json, named, object, own, parsed, sse, target, whole, wires } from "./wires.mjs";

const { openai: d } = dialects, { openai: w, anthropic: c } = wires;
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

/* ---- questions on the side: the profile that asks before it masks ---- */

const asking = (more) => policy({ profile: "penguiflow", ...more });

const asks = (q) => /summar/i.test(q.body.toString()) && !/tool_call_id/.test(q.body.toString());
const long = (n) => Array.from({ length: 90 * n }, (_, i) => `line ${i} of a report that nobody reads twice`).join("\n");
const tooLong = (n = 1, size = 4) => own(d, w, [{ user: "find it" }, ...Array.from({ length: n }, (_, i) => [{ call: `c${i}` }, { result: `c${i}`, text: `${i} ${long(size)}` }]).flat()]);
// Overflows until the observations are short; `side` answers what is asked on the side.
const script = (pair, side, most = 6000) =>
  (pair.own.answer = (q, res, socket) => (asks(q) ? side(q, res, socket) : q.body.length > most ? w.overflow(res, most / 4, Math.ceil(q.body.length / 4)) : w.answer(res, "done")));
const sides = (pair) => pair.own.seen.filter(asks);

for (const [how, side] of Object.entries({
  "before its head": (q, res, socket) => socket.destroy(),
  "behind its head": (q, res) => (res.writeHead(200, { "content-type": "application/json" }).flushHeaders(), setTimeout(() => res.destroy(), 30)),
  "in its answer": (q, res) => (res.writeHead(200, { "content-type": "application/json", "content-length": 5000 }).write('{"id":"x","choices":[{"index":0,"mes'), setTimeout(() => res.destroy(), 30)),
  "with an error": (q, res) => json(res, 500, { error: { message: "no" } }),
  "with nonsense": (q, res) => res.writeHead(200).end("<html>"),
  "with far too much": (q, res) => w.answer(res, "SUMMARY ".repeat(400000)),
}))
  holds(`heal edge: a model that is asked on the side fails ${how}, and the beginning stands for the rest`, {
    config: asking(),
    async run(pair) {
      script(pair, side);
      const r = await question(pair, d, tooLong());
      assert.equal(r.said, "done", r.text);
      assert.ok(sides(pair).length === 1 || how === "before its head", "it is not asked again"); // but on a fresh connection
      assert.equal(r.outcome, "recovered");
    },
  });

const post = (pair, o, more) => fetch(pair.base + d.path, { method: "POST", headers: { ...d.headers, "content-type": "application/json" }, body: JSON.stringify(d.body(o.model, "", o.more)), ...more });

for (const [when, side] of Object.entries({
  "is asked": () => {},
  "begins to answer": (q, res) => res.writeHead(200, { "content-type": "application/json" }).write('{"id":"x",'),
}))
  holds(`heal edge: a client leaves while a model ${when} on the side`, {
    config: asking(),
    async run(pair) {
      let open = 0;
      script(pair, (q, res) => (open++, res.on("close", () => open--), side(q, res)));
      const leave = new AbortController(), r = post(pair, tooLong(3), { signal: leave.signal }).catch((e) => e.name);
      await until("it is asked three times", () => open === 3);
      leave.abort();
      assert.equal(await r, "AbortError");
      await until("all that was asked is let go", () => open === 0);
      assert.equal((await pair.status()).requests.cancelled, 1);
      script(pair, (q, res) => w.answer(res, "SUMMARY"));
      assert.equal((await question(pair, d, tooLong(3))).said, "done");
    },
  });

holds("heal edge: the client's own patience ends while a model is asked on the side", {
  config: asking(),
  async run(pair) {
    script(pair, () => {});
    const began = Date.now(), r = await question(pair, d, { ...tooLong(), headers: { "x-stainless-timeout": "2" } });
    assert.ok(Date.now() - began < 2500, `${Date.now() - began} ms`);
    assert.ok(r.status === 400 || r.status === 504, r.text);
  },
});

holds("heal edge: a new configuration and the end of the program wait for what is asked on the side", {
  config: asking(),
  async run(pair) {
    const answers = [];
    script(pair, (q, res) => answers.push(() => w.answer(res, "SUMMARY")));
    const r = question(pair, d, tooLong());
    await until("it is asked", () => answers.length === 1);
    pair.gateway().kill("SIGHUP");
    await sleep(100);
    pair.ended = true;
    pair.gateway().kill("SIGTERM");
    await sleep(100);
    answers[0]();
    assert.equal((await r).said, "done");
    await until("it ends", () => pair.gateway().exitCode === 0);
  },
});

holds("heal edge: questions on the side are retries of the provider's budget, and no more than it has", {
  config: asking(),
  async run(pair) {
    script(pair, (q, res) => w.answer(res, "SUMMARY"), 20000);
    const r = await question(pair, d, tooLong(30));
    assert.equal(r.said, "done", r.text);
    assert.ok(sides(pair).length >= 10 && sides(pair).length < 20, `${sides(pair).length} questions`);
  },
});

holds("heal edge: a summariser elsewhere hears nothing of the client but what it shall summarise", {
  config: (f) => {
    const url = f.providers.find((p) => p.name === "own").url;
    f.providers.find((p) => p.name === "own").keys = [];
    f.providers.push({ name: "elsewhere", dialect: "openai", url: url.replace("/v1", "/elsewhere/v1") });
    asking({ summariser: "elsewhere/small" })(f);
  },
  async run(pair) {
    script(pair, (q, res) => w.answer(res, "SUMMARY"));
    const r = await question(pair, d, { ...tooLong(), headers: { cookie: "session=mine", "idempotency-key": "once", "openai-organization": "org-mine" } });
    assert.equal(r.said, "done", r.text);
    const [q] = sides(pair);
    assert.equal(q.url, "/elsewhere/v1/chat/completions");
    assert.equal(body(q).model, "small");
    for (const name of ["authorization", "cookie", "idempotency-key", "openai-organization"]) assert.ok(!(name in q.headers), `${name}: ${q.headers[name]}`);
    assert.equal(pair.own.seen.at(-1).headers.authorization, "Bearer sk-client");
  },
});

holds("heal edge: the command of a summariser's key is run when it is first needed", {
  config: (f) => {
    const url = f.providers.find((p) => p.name === "own").url;
    f.providers.push({ name: "elsewhere", dialect: "openai", url, keys: [{ command: "echo sk-cmd-x" }] });
    asking({ summariser: "elsewhere/small" })(f);
  },
  async run(pair) {
    script(pair, (q, res) => w.answer(res, "SUMMARY"));
    // Until its key is there an observation is cut without it, and the request goes on all the same.
    let size = 4;
    await until("it is asked", async () => (assert.equal((await question(pair, d, tooLong(1, size++))).said, "done"), sides(pair).some((q) => q.headers.authorization === "Bearer sk-cmd-x")));
  },
});

/* ---- long holds ---- */

holds("heal edge: a client of another dialect hears from us while a long call is on its way", {
  limit: 40000, // twelve seconds of waiting, and all that runs beside it
  config: (f) => {
    f.models.find((m) => m.name === d.own).targets = [target.anthropic];
    f.timeouts.idle = "5s";
    f.timeouts.total = "60s"; // it takes twelve, and more where much runs beside it
  },
  async run(pair) {
    pair.own.answer = (q, res) => {
      const parts = c.called(0, "call_1", "look", '{"city": "Oslo"}').split(/(?<=\n\n)/);
      sse(res, c.opening(), c.piece("let me look"), parts[0], parts[1]);
      let left = 11;
      const more = setInterval(() => {
        if (left-- > 0) return res.write(named({ type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: " " } }));
        clearInterval(more);
        res.end(parts.slice(2).join("") + c.closingCalls());
      }, 1000);
    };
    const r = await question(pair, d, withTool());
    assert.deepEqual(parsed(w.calls(r)).map(([, n, a]) => [n, a]), [["look", { city: "Oslo" }]], r.text);
    assert.equal(r.events.filter((e) => e.comment).length, 1, r.text);
    assert.equal(ended(r), 1);
  },
});

/* ---- what is learned ---- */

holds("heal edge: what one model refused is not learned of the next one", {
  config: (f) => {
    f.models.find((m) => m.name === d.own).targets = ["own/m-own", "own/m-other"];
    f.models.find((m) => m.name === d.model).targets = ["own/m-other"];
  },
  async run(pair) {
    const hot = { message: "Unsupported parameter: 'temperature' is not supported with this model.", type: "invalid_request_error", param: "temperature", code: "unsupported_parameter" };
    pair.own.answer = (q, res) => {
      const { model, temperature, messages } = body(q);
      if (model === "m-own") return temperature !== undefined ? json(res, 400, { error: hot }) : json(res, 404, { error: { message: "The model does not exist", code: "model_not_found" } });
      return whole(w, { messages }) ? w.answer(res, "done") : w.refuse(res, w.orphan);
    };
    const r = await question(pair, d, own(d, w, [{ user: "go" }, { call: "call_a" }, { user: "still there?" }], { temperature: 1 }));
    assert.equal(r.said, "done", r.text);
    const second = await question(pair, d, { model: d.model, more: { temperature: 1 } });
    assert.equal(second.said, "done", second.text);
    assert.equal(body(pair.own.seen.at(-1)).model, "m-other");
    assert.equal(body(pair.own.seen.at(-1)).temperature, 1, "m-other takes it");
  },
});

/* ---- what a name says ---- */

holds("heal edge: a model that is gone is no empty account, whatever it is called", {
  config: (f) => {
    f.models.find((m) => m.name === d.own).targets = ["own/m-own-pro", "own/m-other"];
  },
  async run(pair) {
    pair.own.answer = (q, res) => {
      if (body(q).model === "m-own-pro") return json(res, 404, { error: { message: "The model `m-own-pro` does not exist or you do not have access to it.", type: "invalid_request_error", code: "model_not_found" } });
      return w.answer(res, "done");
    };
    const r = await question(pair, d, own(d, w, [{ user: "go" }]));
    assert.equal(r.said, "done", r.text);
    assert.equal(body(pair.own.seen.at(-1)).model, "m-other");
  },
});
