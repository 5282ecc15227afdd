// A whole answer was asked for and a stream comes: from a server that streams at any rate, or because a model that only
// streams is asked so. The client has a whole answer all the same.
import assert from "node:assert/strict";
import { dialects, question } from "./net.mjs";
import { holds } from "./wire.mjs";
import { body, json, object, parsed, sse, streams, wires } from "./wires.mjs";

for (const name of ["openai", "anthropic", "responses"]) {
  const w = wires[name], d = dialects[name];
  const ask = (pair, more = {}) => question(pair, d, { model: d.own, more: { tools: w.tools(object), ...more } });
  const all = () => [w.opening(), w.piece("it is "), w.piece("42"), w.closing()];
  const whole = (r) => {
    assert.equal(r.status, 200, r.text);
    assert.match(r.headers["content-type"], /^application\/json/);
    return JSON.parse(r.text);
  };

  holds(`${name}: a stream that nobody asked for goes out as a whole answer`, {
    async run(pair) {
      pair.own.answer = (q, res) => sse(res, ...all()).end();
      const r = await ask(pair);
      assert.ok(whole(r).id);
      assert.equal(r.said, "it is 42", r.text);
      assert.equal(pair.own.seen.length, 1);
      assert.equal(pair.events().filter((e) => e.event === "answer_folded").length, 1);
    },
  });

  holds(`${name}: calls of a stream that nobody asked for are checked, and mended`, {
    async run(pair) {
      pair.own.answer = (q, res) => sse(res, w.opening(), w.called(0, "call_1", "look", '{"city": "Oslo",}'), w.closingCalls()).end();
      const r = await ask(pair);
      whole(r);
      assert.deepEqual(parsed(w.calls(r)), [["call_1", "look", { city: "Oslo" }]], r.text);
      assert.equal(r.headers["x-daruma-remedies"], "mend_answer");
    },
  });

  for (const [what, end] of Object.entries({ "breaks off": () => "", "ends in an error": () => (name === "anthropic" ? 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n' : name === "responses" ? 'event: error\ndata: {"type":"error","code":"server_error","message":"The server had an error","sequence_number":9}\n\n' : 'data: {"error":{"message":"The server had an error","type":"server_error","code":503}}\n\n') }))
    holds(`${name}: a stream that nobody asked for and that ${what} is asked for again`, {
      async run(pair) {
        pair.own.answer = (q, res) => (q.n === 1 ? sse(res, w.opening(), w.piece("it is "), end()).end() : sse(res, ...all()).end());
        const r = await ask(pair);
        whole(r);
        assert.equal(r.said, "it is 42", r.text);
        assert.equal(pair.own.seen.length, 2);
        assert.equal(r.outcome, "recovered");
      },
    });

  holds(`${name}: a stream that nobody asked for goes out whole although its connection dies behind it; one that lacks its end is a failure of the network`, {
    async run(pair) {
      const dies = (res) => setTimeout(() => res.socket?.resetAndDestroy(), 30);
      for (const [lost, calls, outcome] of [[0, 1, "ok"], [1, 2, "recovered"]]) {
        pair.own.seen = [];
        pair.own.answer = (q, res) => dies(sse(res, ...all().slice(0, q.n === 1 ? 4 - lost : 4)));
        const r = await ask(pair);
        whole(r);
        assert.deepEqual([r.said, pair.own.seen.length, r.outcome], ["it is 42", calls, outcome], r.text);
      }
      assert.deepEqual([...new Set(pair.events().map((e) => e.kind).filter(Boolean))], ["network"]);
    },
  });

  holds(`${name}: a stream that nobody asked for and that has a damaged event is asked for again`, {
    async run(pair) {
      const damaged = w.piece("and some of it").replace(/\}\n\n$/, "\n\n");
      pair.own.answer = (q, res) => sse(res, w.opening(), w.piece("it is "), ...(q.n === 1 ? [damaged] : []), w.piece("42"), w.closing()).end();
      const r = await ask(pair);
      assert.equal(r.said, "it is 42", r.text);
      assert.equal(pair.own.seen.length, 2);
    },
  });

  holds(`${name}: a stream that nobody asked for may lack its last blank line`, {
    async run(pair) {
      pair.own.answer = (q, res) => sse(res, all().join("").replace(/(data: \[DONE\])?\n\n$/, "")).end();
      const r = await ask(pair);
      assert.equal(r.said, "it is 42", r.text);
      assert.equal(pair.own.seen.length, 1);
    },
  });

  // Words of Qwen and of Codex's backend.
  for (const message of ["This model only support stream mode, please enable the stream parameter to access the model.", "Stream must be set to true"])
    holds(`${name}: a model that only streams is asked so: ${message}`, {
      async run(pair) {
        pair.own.answer = (q, res) => (streams(q) ? sse(res, ...all()).end() : json(res, 400, { error: { message, type: "invalid_request_error" } }));
        for (const calls of [2, 3]) {
          const r = await ask(pair);
          whole(r);
          assert.equal(r.said, "it is 42", r.text);
          assert.equal(r.headers["x-daruma-remedies"], "mend_parameter");
          assert.equal(pair.own.seen.length, calls);
          assert.deepEqual(body(pair.own.seen.at(-1)).stream_options, name === "openai" ? { include_usage: true } : undefined);
        }
      },
    });
}

// As Codex's backend does.
holds("responses: a stream whose last event has no items has them in those before", {
  async run(pair) {
    const w = wires.responses, item = { id: "msg_1", type: "message", status: "completed", role: "assistant", content: [{ type: "output_text", text: "it is 42", annotations: [] }] };
    const event = (type, o) => `event: ${type}\ndata: ${JSON.stringify({ type, ...o })}\n\n`, response = { id: "resp_1", object: "response", created_at: 1, model: "m-own" };
    pair.own.answer = (q, res) => sse(res, event("response.created", { response: { ...response, status: "in_progress", output: [] } }), event("response.output_item.added", { output_index: 0, item: { ...item, content: [] } }), event("response.output_text.delta", { output_index: 0, content_index: 0, item_id: "msg_1", delta: "it is 42" }), event("response.output_item.done", { output_index: 0, item }), event("response.completed", { response: { ...response, status: "completed", output: [], usage: { input_tokens: 5, output_tokens: 2, total_tokens: 7 } } })).end();
    const r = await question(pair, dialects.responses, { model: "m-own", more: { tools: w.tools(object) } });
    assert.equal(r.said, "it is 42", r.text);
    assert.equal(JSON.parse(r.text).id, "resp_1");
    assert.equal(pair.own.seen.length, 1);
  },
});

holds("several answers that come as a stream nobody asked for are left as they are", {
  async run(pair) {
    const all = [0, 1].map((index) => `data: ${JSON.stringify({ id: "c", choices: [{ index, delta: { content: "hi" }, finish_reason: "stop" }] })}\n\n`).join("") + "data: [DONE]\n\n";
    pair.own.answer = (q, res) => sse(res, all).end();
    assert.equal((await question(pair, dialects.openai, { model: "m-own", more: { n: 2 } })).text, all);
  },
});
