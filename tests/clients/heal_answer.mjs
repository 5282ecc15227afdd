// Answers that came back broken: tool calls are mended where only one reading is possible, else the model is asked again.
import assert from "node:assert/strict";
import { question } from "./net.mjs";
import { holds } from "./wire.mjs";
import { body, every, object, paired, parsed, sse, wires } from "./wires.mjs";

every((name, d, w) => {
  /* ---- the answer ---- */

  const broken = { "a trailing comma": '{"city": "Oslo", "days": 3,}', "single quotes": "{'city': 'Oslo', 'days': 3}", "a fence": '```json\n{"city": "Oslo", "days": 3}\n```', "a number in a string": '{"city": "Oslo", "days": "3"}' };
  const good = { city: "Oslo", days: 3 };
  const withTool = (more = {}) => ({ model: d.own, more: { tools: w.tools(object), ...more } });

  for (const [what, args] of Object.entries(broken)) {
    if (w.whole && what !== "a number in a string") continue; // whole answers carry objects there
    holds(`heal ${name}: tool arguments with ${what} are mended`, {
      async run(pair) {
        pair.own.answer = (q, res) => w.answer(res, "", [["call_1", "look", w.whole ? JSON.parse(args) : args]]);
        const r = await question(pair, d, withTool());
        assert.deepEqual(parsed(w.calls(r)), [["call_1", "look", good]], r.text);
        assert.equal(pair.own.seen.length, 1);
      },
    });
  }
  for (const [what, args] of Object.entries(broken)) {
    if (name === "gemini" && what !== "a number in a string") continue; // calls are objects in its streams, too
    holds(`heal ${name} stream: tool arguments with ${what} are mended`, {
      async run(pair) {
        pair.own.answer = (q, res) => sse(res, w.opening(), w.piece("looking"), w.called(0, "call_1", "look", args), w.closingCalls()).end();
        const r = await question(pair, d, { ...withTool(), stream: true });
        assert.equal(r.said, "looking");
        assert.deepEqual(parsed(w.calls(r)), [["call_1", "look", good]], r.text);
        assert.ok(d.ended(r.events), r.text);
        assert.equal(pair.own.seen.length, 1);
      },
    });
  }

  holds(`heal ${name} stream: good calls go out byte for byte`, {
    async run(pair) {
      const all = w.opening() + w.piece("looking") + w.called(0, "call_1", "look", '{"city": "Oslo"}') + w.called(1, "call_2", "look", '{"city": "Bergen"}') + w.closingCalls();
      pair.own.answer = (q, res) => sse(res, all).end();
      const r = await question(pair, d, { ...withTool(), stream: true });
      assert.equal(r.text, all);
      assert.equal(r.outcome, "ok");
    },
  });

  for (const stream of [false, true])
    holds(`heal ${name}${stream ? " stream" : ""}: a tool that does not exist is asked for again, with what is wrong`, {
      async run(pair) {
        const say = (res, n) => (stream ? sse(res, w.opening(), w.called(0, `call_${n}`, n === 1 ? "lock_the_door" : "look", '{"city": "Oslo"}'), w.closingCalls()).end() : w.answer(res, "", [[`call_${n}`, n === 1 ? "lock_the_door" : "look", w.toolArgs({ city: "Oslo" })]]));
        pair.own.answer = (q, res) => say(res, q.n);
        const r = await question(pair, d, { ...withTool(), stream });
        assert.equal(pair.own.seen.length, 2, r.text);
        assert.deepEqual(w.calls(r).map(([id, n]) => [id, n]), [["call_2", "look"]], r.text);
        const again = pair.own.seen[1].body.toString();
        assert.match(again, /lock_the_door/);
        assert.match(r.headers["x-daruma-remedies"] ?? "ask_again", /ask_again|none/);
        paired(w, body(pair.own.seen[1]));
      },
    });
});
