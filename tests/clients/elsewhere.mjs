// What one place refuses, lacks or breaks, and another one answers.
import assert from "node:assert/strict";
import { question } from "./net.mjs";
import { answer, asks, two } from "./outage.mjs";
import { holds } from "./wire.mjs";
import { every, json } from "./wires.mjs";

const words = "the quick brown fox";
const off = (res) => json(res, 503, { error: { message: "The server is away", type: "server_error" } });
const refuse = (res, message, status = 400) => json(res, status, { error: { message, type: "invalid_request_error" } });

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
});
