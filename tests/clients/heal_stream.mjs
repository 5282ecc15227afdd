// Streams that break off after something went out: another attempt goes on, and the client has one whole answer.
import assert from "node:assert/strict";
import { question } from "./net.mjs";
import { holds } from "./wire.mjs";
import { body, every, object, parsed, sse, target, wires } from "./wires.mjs";

every((name, d, w) => {
  const withTool = (more = {}) => ({ model: d.own, more: { tools: w.tools(object), ...more } });

  /* ---- streams that break off ---- */

  const text = "The quick brown fox jumps over the lazy dog and runs away into the deep dark wood.";
  for (const [how, rest] of Object.entries({ exactly: (said) => text.slice(said.length), "with a repetition": (said) => text.slice(Math.max(0, said.length - 18)), "from the beginning": () => text }))
    for (const cut of ["cleanly", "by a reset", "by an error event"])
      holds(`heal ${name}: a stream that is cut ${cut} goes on ${how}`, {
        async run(pair) {
          pair.own.answer = (q, res) => {
            if (q.n === 1) {
              const s = sse(res, w.opening(), w.piece(text.slice(0, 10)), w.piece(text.slice(10, 26)));
              if (cut === "cleanly") return s.end();
              if (cut === "by a reset") return setTimeout(() => res.destroy(), 40);
              return s.end(w.broken());
            }
            const b = body(q), sent = JSON.stringify(w.messages(b));
            if (!sent.includes(text.slice(0, 26).trimEnd())) return w.refuse(res, "what was said so far is missing");
            if (name === "anthropic" && how !== "exactly" && b.messages.at(-1).role === "assistant") return w.refuse(res, "This model does not support assistant message prefill. The conversation must end with a user message.");
            const more = rest(text.slice(0, 26));
            return sse(res, w.opening(), w.piece(more.slice(0, 5)), w.piece(more.slice(5)), w.closing()).end();
          };
          const r = await question(pair, d, { model: d.own, stream: true });
          assert.equal(r.said, text, r.text);
          assert.ok(d.ended(r.events), r.text);
          assert.ok(!d.failed(r.events), r.text);
          assert.equal(pair.own.seen.length, name === "anthropic" && how !== "exactly" ? 3 : 2);
        },
      });

  holds(`heal ${name}: what cannot be joined ends with an error, and what arrived is kept`, {
    async run(pair) {
      const prefilled = (q) => name === "anthropic" && body(q).messages.at(-1).role === "assistant";
      pair.own.answer = (q, res) => (prefilled(q) ? w.refuse(res, "This model does not support assistant message prefill. The conversation must end with a user message.") : q.n === 1 ? sse(res, w.opening(), w.piece("The first sentence is done. The second")).end() : sse(res, w.opening(), w.piece("I am sorry, what would you like to know? Let me start over."), w.closing()).end());
      const r = await question(pair, d, { model: d.own, stream: true });
      assert.equal(r.said, "The first sentence is done. The second", r.text);
      assert.ok(d.failed(r.events), r.text);
    },
  });

  holds(`heal ${name}: a stream that is cut within a tool call is asked again, and the call comes once`, {
    async run(pair) {
      pair.own.answer = (q, res) => {
        if (q.n === 1) {
          const all = w.called(0, "call_1", "look", '{"city": "Oslo"}');
          return sse(res, w.opening(), w.piece("let me look"), name === "gemini" ? all : all.slice(0, all.lastIndexOf(name === "openai" ? "data:" : "event:"))).end();
        }
        return sse(res, w.opening(), w.called(0, "call_2", "look", '{"city": "Oslo"}'), w.closingCalls()).end();
      };
      const r = await question(pair, d, { ...withTool(), stream: true });
      assert.deepEqual(w.calls(r).map(([, n, a]) => [n, JSON.parse(a)]), [["look", { city: "Oslo" }]], r.text);
      assert.ok(r.said.startsWith("let me look"), r.said);
      assert.ok(d.ended(r.events), r.text);
    },
  });
});
