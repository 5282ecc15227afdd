// A conversation moves between all dialects: whoever fails, a provider of any other dialect goes on with it.
import assert from "node:assert/strict";
import { question } from "./net.mjs";
import { holds } from "./wire.mjs";
import { body, every, json, object, paired, parsed, sse, target, whole, wires } from "./wires.mjs";

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

every((name, d, w) => {
  for (const [other, v] of Object.entries(wires)) {
    if (other === name) continue;
    const config = (c) => {
      const m = c.models.find((x) => x.name === d.own);
      m.targets = [name === "responses" ? "own-responses/gone" : target[name].replace(/\/.*/, "/gone"), target[other].replace(/\/.*/, "/there")];
    };
    const turns = [{ user: "go" }, { call: "call_1" }, { result: "call_1", text: "the answer is 42" }, { text: "I saw it" }];
    const gone = (q) => q.body.includes('"gone"') || q.url.includes("/gone:");
    for (const stream of [false, true])
      holds(`heal ${name}${stream ? " stream" : ""}: a conversation moves to ${other}`, {
        config,
        async run(pair) {
          pair.own.answer = (q, res) => {
            if (gone(q)) return res.writeHead(404, { "content-type": "application/json" }).end(JSON.stringify({ error: { message: "The model `gone` does not exist", type: name === "anthropic" ? "not_found_error" : "invalid_request_error", code: name === "gemini" ? 404 : "model_not_found", status: "NOT_FOUND" } }));
            if (stream) sse(res, v.opening(), v.piece("it is "), v.piece("42"), v.called(0, "call_9", "look", '{"city": "Oslo"}'), v.closingCalls()).end();
            else v.answer(res, "it is 42", [["call_9", "look", v.toolArgs({ city: "Oslo" })]]);
          };
          const history = [...w.history(turns), w.image("and this?", png)];
          const r = await question(pair, d, { model: d.own, stream, more: { [w.key]: history, tools: w.tools(object), ...(name === "anthropic" && { system: "be brief" }), ...(name === "responses" && { instructions: "be brief" }) } });
          assert.equal(r.status, 200, r.text);
          assert.equal(r.said, "it is 42", r.text);
          assert.deepEqual(w.calls(r).map(([, n, a]) => [n, JSON.parse(a)]), [["look", { city: "Oslo" }]], r.text);
          assert.equal(r.outcome, "recovered");
          if (stream) assert.ok(d.ended(r.events), r.text);
          const q = pair.own.seen.at(-1), sent = body(q), text = q.body.toString();
          assert.ok(q.url.startsWith(v.path.replace("g-own", "there")), q.url);
          assert.equal(v.callIds(sent).length, 1);
          if (other === "gemini") assert.ok(v.callIds(sent).length === v.resultIds(sent).length);
          else paired(v, sent);
          for (const said of ["the answer is 42", "I saw it", "and this?", png]) assert.ok(text.includes(said), `${said} is lost: ${text}`);
          if (name === "anthropic" || name === "responses") assert.ok(text.includes("be brief"), text);
          assert.equal(v.images(sent), 1, text);
        },
      });
  }
});

every((name, d, w) => {
  if (name === "gemini") return;
  for (const stream of [false, true])
    holds(`heal ${name}${stream ? " stream" : ""}: calls that Gemini gave no ids have one each, by which their results are told apart`, {
      config: (c) => (c.models.find((m) => m.name === d.own).targets = ["own-gemini/g-own"]),
      async run(pair) {
        const parts = ["Oslo", "Rome"].map((city) => ({ functionCall: { name: "look", args: { city } } }));
        const whole = { candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }], usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 } };
        pair.own.answer = (q, res) => (stream ? sse(res, `data: ${JSON.stringify(whole)}\n\n`).end() : json(res, 200, whole));
        const r = await question(pair, d, { model: d.own, stream, more: { tools: w.tools(object) } });
        const ids = w.calls(r).map(([id]) => id);
        assert.equal(ids.length, 2, r.text);
        assert.ok(ids.every(Boolean) && ids[0] !== ids[1], JSON.stringify(ids));
      },
    });
});
