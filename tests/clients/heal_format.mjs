// Answers that were asked for as JSON: what is meant as JSON becomes it, else the model is asked again. What is right
// flows as it came.
import assert from "node:assert/strict";
import { question } from "./net.mjs";
import { holds } from "./wire.mjs";
import { both, dialects, every, json, object, sse, streams, target, wires } from "./wires.mjs";

const good = { city: "Oslo", days: 3 };
const meant = {
  "a fence": '```json\n{"city": "Oslo", "days": 3}\n```',
  "words around it": 'Sure, here it is:\n\n{"city": "Oslo", "days": 3}\n\nAnything else?',
  "a trailing comma in a fence": '```\n{"city": "Oslo", "days": 3,}\n```',
  "a number in a string, in a fence": '```json\n{"city": "Oslo", "days": "3"}\n```',
};
const pieces = (text) => text.match(/[^]{1,7}/g);
const says = (w, q, res, text) => (streams(q) ? sse(res, w.opening(), ...pieces(text).map((t) => w.piece(t)), w.closing()).end() : w.answer(res, text));
const wants = (d, w, more = {}) => ({ model: d.own, more: { ...w.format({ ...object, additionalProperties: false }), ...more } });

every((name, d, w) => {
  for (const [what, text] of Object.entries(meant))
    both(name, `an answer that shall be JSON, with ${what}, is made so`, {
      async run(pair, ask) {
        pair.own.answer = (q, res) => says(w, q, res, text);
        const r = await ask(wants(d, w));
        assert.deepEqual(JSON.parse(r.said), good);
        assert.equal(pair.own.seen.length, 1);
      },
    });

  both(name, "an answer that shall be JSON and is words is asked for again", {
    async run(pair, ask) {
      pair.own.answer = (q, res) => says(w, q, res, q.n === 1 ? "I think that Oslo is lovely." : '{"city": "Oslo", "days": 3}');
      const r = await ask(wants(d, w));
      assert.deepEqual(JSON.parse(r.said), good);
      assert.equal(pair.own.seen.length, 2);
      assert.match(pair.own.seen[1].body.toString(), /lovely.*one JSON value.*days/s);
    },
  });

  both(name, "words instead of JSON, again and again, go out as they came, and are told", {
    async run(pair, ask) {
      pair.own.answer = (q, res) => says(w, q, res, "I am sorry, I cannot help with Oslo.");
      const r = await ask(wants(d, w));
      assert.equal(r.said, "I am sorry, I cannot help with Oslo.", r.text);
      assert.ok(!r.events || (d.ended(r.events) && !d.failed(r.events)), r.text);
      assert.ok(pair.own.seen.length <= 5, `${pair.own.seen.length} calls`);
      assert.ok(pair.events().some((e) => e.outcome === "degraded" && /goes out as it came/.test(e.reason)));
    },
  });

  both(name, "JSON goes out as it came", {
    async run(pair, ask) {
      const text = '{ "days":3 ,\n "city":"Oslo" }';
      pair.own.answer = (q, res) => says(w, q, res, text);
      const r = await ask(wants(d, w));
      assert.equal(r.said, text);
      assert.equal(pair.own.seen.length, 1);
    },
  });

  for (const stream of [false, true])
    holds(`heal ${name}${stream ? " stream" : ""}: JSON that was cut by the output cap is left alone`, {
      async run(pair) {
        const text = '```json\n{"city": "Os';
        pair.own.answer = (q, res) => (stream ? sse(res, w.opening(), w.piece(text), w.closingLength()).end() : w.answer(res, text, [], w.filled));
        const r = await question(pair, d, { ...wants(d, w), stream });
        assert.equal(r.said, text);
        assert.equal(pair.own.seen.length, 1);
      },
    });

  both(name, "words are words where no JSON was asked for", {
    async run(pair, ask) {
      const text = '```json\n{"city": "Oslo", "days": 3}\n```';
      pair.own.answer = (q, res) => says(w, q, res, text);
      const r = await ask({ model: d.own });
      assert.equal(r.said, text);
    },
  });

  both(name, "a schema that is refused is kept all the same", {
    async run(pair, ask) {
      pair.own.answer = (q, res) => (w.formatOf(JSON.parse(q.body)) === "text" ? says(w, q, res, meant["a fence"]) : w.refuse(res, w.refuseFormat(w.formatOf(JSON.parse(q.body))), { param: name === "responses" ? "text.format" : "response_format" }));
      const r = await ask(wants(d, w));
      assert.deepEqual(JSON.parse(r.said), good);
    },
  });

  holds(`heal ${name}: JSON that does not fit its schema is asked for again, once`, {
    async run(pair) {
      pair.own.answer = (q, res) => w.answer(res, q.n < 3 ? '{"town": "Oslo"}' : "too often");
      const r = await question(pair, d, wants(d, w));
      assert.equal(d.text(r.json), '{"town": "Oslo"}', "it is no worse than it was");
      assert.equal(pair.own.seen.length, 2);
      assert.match(pair.own.seen[1].body.toString(), /city/);
      assert.deepEqual([r.outcome, r.headers["x-daruma-remedies"]], ["degraded", "ask_again"], "it is no recovery");
      assert.equal((await pair.status()).requests.degraded, 1);
      assert.deepEqual(pair.events().map((e) => e.event).filter((e) => /unfit|success|recovery_failed/.test(e)), ["answer_unfit", "error_recovery_failed"]);
      assert.equal(pair.events().at(-1).outcome, "degraded", "its case is closed");
    },
  });

  for (const [what, text] of Object.entries({
    "two answers": 'If there is time: {"city": "Oslo", "days": 3}. Otherwise: {"city": "Bonn", "days": 1}.',
    "an example and an answer in fences": 'So it looks:\n```json\n{"city": "Bonn", "days": 1}\n```\nMine:\n```json\n{"city": "Oslo", "days": 3}\n```',
  }))
    both(name, `of an answer that shall be JSON and has ${what} none is chosen`, {
      async run(pair, ask) {
        pair.own.answer = (q, res) => says(w, q, res, q.n === 1 ? text : JSON.stringify(good));
        const r = await ask(wants(d, w));
        assert.deepEqual(JSON.parse(r.said), good);
        assert.equal(pair.own.seen.length, 2);
      },
    });

  holds(`heal ${name} stream: JSON flows`, {
    async run(pair) {
      const parts = ['{"city": ', '"Oslo", ', '"days": ', "3}"];
      let heard = "", more = () => {};
      pair.own.answer = async (q, res) => {
        sse(res, w.opening());
        for (const [i, t] of parts.entries()) {
          res.write(w.piece(t));
          const sign = ["city", "Oslo", "days", "3}"][i];
          while (!heard.includes(sign)) await new Promise((ok) => (more = ok)); // no next piece before this one arrived
        }
        res.end(w.closing());
      };
      const r = await question(pair, d, { ...wants(d, w), stream: true, onData: (soFar) => ((heard = soFar), more()) });
      assert.deepEqual(JSON.parse(r.said), good);
    },
  });

  for (const [other, v] of Object.entries(wires)) {
    if (other === name) continue;
    both(name, `a provider that speaks ${other} puts a fence around JSON`, {
      config: (c) => (c.models.find((m) => m.name === d.own).targets = name === "responses" && other === "openai" ? [target[other], "own-responses/never"] : [target[other]]), // else it is given Responses
      async run(pair, ask) {
        pair.own.answer = (q, res) => says(v, q, res, meant["a fence"]);
        const r = await ask(wants(d, w));
        assert.deepEqual(JSON.parse(r.said), good);
        assert.equal(pair.own.seen.length, 1);
      },
    });
  }
});

// What refuses is no broken answer, where the wire tells the two apart.
const refuses = {
  openai: (res) => json(res, 200, { id: "c", object: "chat.completion", created: 1, model: "m-own", choices: [{ index: 0, message: { role: "assistant", content: null, refusal: "I must not." }, finish_reason: "stop" }], usage: { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 } }),
  responses: (res) => json(res, 200, { id: "resp_1", object: "response", created_at: 1, status: "completed", model: "m-own", error: null, incomplete_details: null, output: [{ id: "msg_1", type: "message", status: "completed", role: "assistant", content: [{ type: "refusal", refusal: "I must not." }] }], usage: { input_tokens: 5, output_tokens: 5, total_tokens: 10 } }),
};
for (const [name, answer] of Object.entries(refuses))
  holds(`heal ${name}: a refusal is no broken JSON`, {
    async run(pair) {
      pair.own.answer = (q, res) => answer(res);
      const r = await question(pair, dialects[name], wants(dialects[name], wires[name]));
      assert.match(r.text, /"refusal":\s*"I must not\."/);
      assert.equal(pair.own.seen.length, 1);
    },
  });

// Clients look there before they parse what they asked for as JSON.
holds("heal: a refusal is one in the other API as well, whole and streamed", {
  config: (c) => c.models.push({ name: "own-r", targets: ["own-responses/m-own"] }),
  async run(pair) {
    const asks = (name, stream, model) => question(pair, dialects[name], { ...wants(dialects[name], wires[name]), model, stream });
    for (const stream of [false, true]) {
      pair.own.answer = (q, res) => refuses.responses(res);
      const chat = await asks("openai", stream, "own-r");
      assert.match(chat.text, /"refusal":"I must not\."/);
      assert.equal(chat.said || null, null, chat.text);
      pair.own.answer = (q, res) => (/responses/.test(q.url) ? json(res, 404, { error: { message: "Not Found" } }) : refuses.openai(res));
      const responses = await asks("responses", stream, "m-own");
      assert.match(responses.text, /\{"type":"refusal","refusal":"I must not\."\}/);
      assert.doesNotMatch(responses.text, /"type":"output_text"/);
    }
    // Some servers write the word into each answer.
    pair.own.answer = (q, res) => (/responses/.test(q.url) ? json(res, 404, { error: { message: "Not Found" } }) : json(res, 200, { id: "c", object: "chat.completion", created: 1, model: "m-own", choices: [{ index: 0, message: { role: "assistant", content: '{"a":1}', refusal: "" }, finish_reason: "stop" }] }));
    for (const stream of [false, true]) assert.equal((await question(pair, dialects.responses, { model: "m-own", stream })).said, '{"a":1}');
  },
});
