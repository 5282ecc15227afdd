// Answers that are whole, and empty or wrong, each time: after a few tries the client gets what it would have had without
// daruma, and is told. Nobody waits for what is no outage. And who leaves meanwhile ends nobody else.
import assert from "node:assert/strict";
import { ask, pathOf, question } from "./net.mjs";
import { holds } from "./wire.mjs";
import { body, both, every, json, sse, streams, target, wires } from "./wires.mjs";
import { sleep } from "./pair.mjs";

const object = { type: "object", properties: { days: { type: "integer" } }, required: ["days"] };
const silence = {
  openai: (w, q, res) => (streams(q) ? sse(res, w.opening(), w.chunk({}, "stop"), `data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m-own", choices: [], usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 } })}\n\n`, "data: [DONE]\n\n").end() : w.answer(res, "")),
  anthropic: (w, q, res) => (streams(q) ? sse(res, w.opening(), w.closing()).end() : w.answer(res, "")),
  responses: (w, q, res) => (streams(q) ? sse(res, w.opening(), w.closing()).end() : w.answer(res, "")),
  gemini: (w, q, res) => (streams(q) ? sse(res, w.closing().replace('"usageMetadata":{', '"usageMetadata":{"candidatesTokenCount":2,')).end() : w.answer(res, "")),
};

every((name, d, w) => {
  both(name, "an answer that stays empty goes out as it came, after a few calls and without a wait", {
    config: (c) => delete c.recovery.max_attempts,
    async run(pair, askOne) {
      pair.own.answer = (q, res) => (res.setHeader("x-request-id", `req-${q.n}`), silence[name](w, q, res));
      const began = Date.now(), r = await askOne({ model: d.own });
      assert.deepEqual([r.status, r.said ?? ""], [200, ""], r.text);
      assert.ok(!r.events || (d.ended(r.events) && !d.failed(r.events)), r.text);
      assert.ok(pair.own.seen.length > 1 && pair.own.seen.length <= 3, `${pair.own.seen.length} calls`);
      assert.ok(Date.now() - began < 2000, `it took ${Date.now() - began} ms`);
      assert.equal(r.outcome, "degraded", r.text);
      assert.equal(r.headers["x-request-id"], `req-${pair.own.seen.length}`);
      assert.ok(name !== "gemini" || !r.events || !/^:/m.test(r.text), r.text); // Google's SDK reads no comments
    },
  });

  // Streams of Chat Completions count tokens only when they are asked to, and some servers never do.
  if (name === "openai")
    both(name, "an answer that stays empty and counts no tokens goes out as it came, without a wait", {
      config: (c) => (delete c.recovery.max_attempts, (c.recovery.kinds = {}), (c.recovery.patience = "4s")),
      async run(pair, askOne) {
        const answer = { id: "chatcmpl-1", object: "chat.completion", created: 1, model: "m-own", choices: [{ index: 0, message: { role: "assistant", content: "" }, finish_reason: "stop" }] };
        pair.own.answer = (q, res) => (streams(q) ? sse(res, w.opening(), w.chunk({}, "stop"), "data: [DONE]\n\n").end() : json(res, 200, answer));
        const r = await askOne({ model: d.own });
        assert.deepEqual([r.status, r.said ?? "", r.outcome, r.headers["x-daruma-remedies"]], [200, "", "degraded", "retry,keep_partial"], r.text);
        assert.equal(pair.own.seen.length, 3);
      },
    });

  holds(`heal ${name} stream: a whole answer that is empty where a stream was asked for goes out as what was asked for, or as an error`, {
    config: (c) => delete c.recovery.max_attempts,
    async run(pair) {
      pair.own.answer = (q, res) => w.answer(res, "");
      const r = await question(pair, d, { stream: true, model: d.own });
      if (/event-stream/.test(r.headers["content-type"])) assert.ok(d.ended(r.events) || d.failed(r.events), r.text);
      else assert.ok(r.status >= 400, r.text);
    },
  });

  for (const [other, v] of Object.entries(wires)) {
    if (other === name) continue;
    for (const stream of [false, true])
      holds(`heal ${name}${stream ? " stream" : ""}: an answer of ${other} that stays empty goes out as an empty one`, {
        config(c) {
          delete c.recovery.max_attempts;
          c.models.find((m) => m.name === d.own).targets = [target[other], ...(name === "responses" && other === "openai" ? ["own-responses/spare"] : [])]; // else it is given Responses
        },
        async run(pair) {
          pair.own.answer = (q, res) => (/responses/.test(q.url) ? silence.responses(wires.responses, q, res) : silence[other](v, q, res));
          const r = await question(pair, d, { stream, model: d.own });
          assert.deepEqual([r.status, r.said ?? "", r.outcome], [200, "", "degraded"], r.text);
          assert.ok(!stream || (d.ended(r.events) && !d.failed(r.events)), r.text);
          assert.ok(pair.own.seen.length > 1 && pair.own.seen.length <= 4, `${pair.own.seen.length} calls`);
        },
      });
  }

  both(name, "an answer that is empty twice is asked for again", {
    config: (c) => delete c.recovery.max_attempts,
    async run(pair, askOne) {
      pair.own.answer = (q, res) => (q.n < 3 ? silence[name](w, q, res) : streams(q) ? sse(res, w.opening(), w.piece("here it is"), w.closing()).end() : w.answer(res, "here it is"));
      const r = await askOne({ model: d.own });
      assert.equal(r.said, "here it is", r.text);
      assert.equal(r.outcome, "recovered");
    },
  });

  for (const stream of [false, true])
    holds(`heal ${name}${stream ? " stream" : ""}: a call that stays wrong does not wait for two minutes, and goes out beside what was right`, {
      config: (c) => delete c.recovery.max_attempts,
      async run(pair) {
        const call = (id, o) => [id, "look", w.toolArgs(o)];
        const text = (o) => (typeof w.toolArgs(o) === "string" ? w.toolArgs(o) : JSON.stringify(o));
        pair.own.answer = (q, res) => (res.setHeader("x-request-id", `req-${q.n}`), streams(q) ? sse(res, w.opening(), w.called(0, "call_1", "look", text({ days: 2 })), w.called(1, "call_2", "look", text({ days: "many" })), w.closingCalls()).end() : w.answer(res, "", [call("call_1", { days: 2 }), call("call_2", { days: "many" })]));
        const began = Date.now(), r = await question(pair, d, { stream, model: d.own, more: { tools: w.tools(object) } });
        assert.deepEqual(w.calls(r).map(([, , args]) => JSON.parse(args)), [{ days: 2 }, { days: "many" }], r.text);
        assert.ok(pair.own.seen.length > 2 && pair.own.seen.length <= 5, `${pair.own.seen.length} calls`);
        assert.ok(Date.now() - began < 3000, `it took ${Date.now() - began} ms`);
        assert.equal(stream ? /outcome=degraded/.test(r.text) === (name !== "gemini") : r.outcome === "degraded", true, r.text);
        assert.equal(r.headers["x-request-id"], `req-${stream ? 1 : pair.own.seen.length}`); // of a stream its head brings them
        const failed = pair.events().filter((e) => e.event === "llm_request_failed");
        assert.deepEqual(failed.map((e) => e.provider_request_id), failed.map((_, i) => `req-${i + 1}`));
      },
    });

  for (const stream of name === "responses" ? [false, true] : [])
    holds(`heal responses${stream ? " stream" : ""}: what refers to an answer that went out as it came goes to the account that made it`, {
      config: (c) => delete c.recovery.max_attempts,
      async run(pair) {
        const key = (q) => q.headers.authorization;
        pair.own.answer = (q, res) => {
          if (q.n === 1) return json(res.setHeader("retry-after-ms", "700"), 429, { error: { message: "Rate limit reached", type: "requests", code: "rate_limit_exceeded" } });
          if (body(q).previous_response_id) return key(q) === key(pair.own.seen[1]) ? w.answer(res, "yes, still") : w.refuse(res, "Previous response with id 'resp_1' not found.", { param: "previous_response_id", code: "previous_response_not_found" });
          if (streams(q)) return sse(res, w.opening(), w.called(0, "call_1", "look", '{"days":"many"}'), w.closingCalls()).end();
          w.answer(res, "", [["call_1", "look", w.toolArgs({ days: "many" })]]);
        };
        const first = await question(pair, d, { stream, model: d.own, more: { tools: w.tools(object) } });
        assert.equal(w.calls(first).length, 1, first.text);
        await sleep(800); // the first account is well again
        const next = await question(pair, d, { model: d.own, text: "still there?", more: { previous_response_id: "resp_1" } });
        assert.equal(next.said, "yes, still", next.text);
        assert.equal(key(pair.own.seen.at(-1)), key(pair.own.seen[1]));
      },
    });

  holds(`heal ${name} stream: who leaves while a wrong answer is asked for again ends nobody`, {
    config: (c) => (delete c.recovery.max_attempts, delete c.recovery.kinds),
    async run(pair) {
      pair.own.answer = (q, res) => (body(q).tools ? sse(res, w.opening(), w.called(0, "call_1", "look", '{"days":true}'), w.closingCalls()).end() : w.answer(res, "fine"));
      const leaves = (ms) => ask(pair, pathOf(d, d.own, true), { method: "POST", headers: d.headers, body: JSON.stringify(d.body(d.own, "look", { stream: true, tools: w.tools(object) })), onStart: (req) => setTimeout(() => req.destroy(), ms) }).catch(() => {});
      await Promise.all([5, 20, 60, 300, 900, 1500].map(leaves));
      const next = await question(pair, d, { model: d.own });
      assert.equal(next.said, "fine", next.text);
    },
  });
});
