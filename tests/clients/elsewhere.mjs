// What one place refuses, lacks or breaks, and another one answers.
import assert from "node:assert/strict";
import { question, until } from "./net.mjs";
import { answer, asks, two } from "./outage.mjs";
import { holds } from "./wire.mjs";
import { every, json, sse } from "./wires.mjs";

const words = "the quick brown fox";
const off = (res) => json(res, 503, { error: { message: "The server is away", type: "server_error" } });
const refuse = (res, message, status = 400) => json(res, status, { error: { message, type: "invalid_request_error" } });

const schema = { type: "object", properties: { place: { type: "string" } }, required: ["place"] };
const tools = {
  openai: [{ type: "function", function: { name: "look", parameters: schema } }],
  responses: [{ type: "function", name: "look", parameters: schema }],
  anthropic: [{ name: "look", input_schema: schema }],
  gemini: [{ functionDeclarations: [{ name: "look", parameters: schema }] }],
};

every((name, d, w) => {
  for (const stream of [false, true])
    for (const [what, status, message] of [
      ["words that say nothing", 400, "Invalid request: tenant feature set mismatch."],
      ["a parameter", 400, "Unrecognized request argument supplied: foo_bar_mode"],
      ["a content filter", 400, "The response was filtered due to the prompt triggering our content management policy."],
      ["a size", 413, "Request Entity Too Large"],
    ])
      holds(`elsewhere ${name}${stream ? " stream" : ""}: a neighbour that refuses with ${what} ends nothing, the first is asked again`, {
        config: two(name, name),
        async run(pair) {
          let away = 2;
          pair.own.answer = (q, res) => (asks(q, "second") ? refuse(res, message, status) : away-- > 0 ? off(res) : answer(w, q, res));
          for (let i = 0; i < 3; i++) {
            const r = await question(pair, d, { model: d.own, stream, text: `say ${i}` });
            assert.deepEqual([r.status, r.said], [200, words], r.text);
          }
          const there = pair.own.seen.filter((q) => asks(q, "second")).length;
          assert.ok(there >= 1 && there <= 4, `${there} calls`);
        },
      });

  holds(`elsewhere ${name}: what the first place refuses is final, at one call`, {
    config: two(name, name),
    async run(pair) {
      pair.own.answer = (q, res) => (asks(q, "second") ? answer(w, q, res) : refuse(res, "Unrecognized request argument supplied: foo_bar_mode"));
      const r = await question(pair, d, { model: d.own });
      assert.equal(r.status, 400, r.text);
      assert.equal(r.headers["x-should-retry"], "false");
      assert.equal(pair.own.seen.length, 1);
    },
  });

  for (const message of ["registry.example/first does not support tools", "`tool calling` is not supported with this model", "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set", "No endpoints found that support tool use"])
    holds(`elsewhere ${name}: requests with tools leave a model that lacks them (${message.slice(0, 20)}), and it is known; others stay`, {
      config: two(name, name),
      async run(pair) {
        pair.own.answer = (q, res) => (asks(q, "first") && q.body.includes('"look"') ? refuse(res, message, message.startsWith("No") ? 404 : 400) : answer(w, q, res));
        const first = () => pair.own.seen.filter((q) => asks(q, "first")).length;
        const r = await question(pair, d, { model: d.own, more: { tools: tools[name] } });
        assert.deepEqual([r.status, r.said, r.outcome, r.headers["x-daruma-remedies"]], [200, words, "recovered", "switch_model"], r.text);
        assert.deepEqual([pair.own.seen.length, first()], [2, 1]);
        for (let i = 0; i < 3; i++) {
          const more = await question(pair, d, { model: d.own, more: { tools: tools[name] }, text: `say ${i}` });
          assert.deepEqual([more.said, more.outcome, more.headers["x-daruma-attempts"]], [words, "ok", "1"], more.text);
        }
        assert.equal(first(), 1);
        assert.deepEqual((await pair.status()).models_learned.map((m) => [m.model, m.lacks]), [["first", ["tools"]]]);
        const plain = await question(pair, d, { model: d.own });
        assert.deepEqual([plain.said, plain.outcome, first()], [words, "ok", 2], plain.text);
        // Nobody else can answer: what is known is asked after.
        pair.own.answer = (q, res) => (asks(q, "second") ? refuse(res, "The model `second` does not exist or you do not have access to it.", 404) : answer(w, q, res));
        const back = await question(pair, d, { model: d.own, more: { tools: tools[name] }, text: "say once more" });
        assert.deepEqual([back.status, back.said], [200, words], back.text);
        assert.equal((await pair.status()).models_learned.some((m) => m.lacks), false);
      },
    });

  // A call that ends within a string, and says that it is whole.
  if (name !== "gemini") // whose calls are never cut
    for (const stream of [false, true])
      holds(`elsewhere ${name}${stream ? " stream" : ""}: a call that its model cuts each time is made by another one, which is asked first from then on`, {
        config: two(name, name),
        async run(pair) {
          const args = (q) => (asks(q, "first") ? '{"place":"Os' : '{"place":"Oslo"}');
          pair.own.answer = (q, res) => (stream ? sse(res, w.opening(), w.called(0, "call_1", "look", args(q)), w.closingCalls()).end() : w.answer(res, "", [["call_1", "look", name === "anthropic" && asks(q, "second") ? { place: "Oslo" } : args(q)]]));
          const first = () => pair.own.seen.filter((q) => asks(q, "first")).length;
          for (let i = 0; i < 8; i++) {
            const r = await question(pair, d, { model: d.own, stream, more: { tools: tools[name] }, text: `say ${i}` });
            const [[, called, said]] = w.calls(r);
            assert.deepEqual([r.status, called, typeof said === "string" ? JSON.parse(said) : said], [200, "look", { place: "Oslo" }], r.text);
            if (i === 2) pair.told = first();
          }
          assert.ok(first() <= pair.told + 2, `${first()} calls, ${pair.told} of the first three requests`); // a probe now and then
        },
      });

  for (const stream of [false, true])
    holds(`elsewhere ${name}${stream ? " stream" : ""}: a model that says nothing to several requests is asked last, until it speaks`, {
      config: two(name, name),
      async run(pair) {
        let mute = true;
        pair.own.answer = (q, res) => (!mute || asks(q, "second") ? answer(w, q, res) : stream ? sse(res, w.opening(), w.closing()).end() : w.answer(res, ""));
        const first = () => pair.own.seen.filter((q) => asks(q, "first")).length;
        const next = async (i) => {
          const r = await question(pair, d, { model: d.own, stream, text: `say ${i}` });
          assert.deepEqual([r.status, r.said], [200, words], r.text);
          return r;
        };
        for (let i = 0; i < 3; i++) await next(i);
        const told = first();
        for (let i = 3; i < 10; i++) await next(i);
        assert.ok(first() <= told + 2, `${first()} calls, ${told} for the first three requests`);
        mute = false;
        await until("it is asked again", async () => /first$/.test((await next("now")).headers["x-daruma-target"]), 8000);
      },
    });

  for (const stream of [false, true])
    holds(`elsewhere ${name}${stream ? " stream" : ""}: what is marked as gzip and is none is asked of another one`, {
      config: two(name, name),
      async run(pair) {
        pair.own.answer = (q, res) => {
          if (asks(q, "second")) return answer(w, q, res);
          const body = JSON.stringify({ an: "answer" });
          res.writeHead(200, { "content-type": stream ? "text/event-stream" : "application/json", "content-encoding": "gzip" }).end(body);
        };
        for (let i = 0; i < 3; i++) {
          const r = await question(pair, d, { model: d.own, stream, text: `say ${i}` });
          assert.deepEqual([r.status, r.said, r.headers["content-encoding"]], [200, words, undefined], r.text);
        }
      },
    });
});
