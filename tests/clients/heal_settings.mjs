// The settings of mending, each where it can be seen: at the provider, and at the one who is asked for summaries.
import assert from "node:assert/strict";
import { count, names, until } from "./net.mjs";
import { batch, body, both, every, json, paired, reply, target, tokens, whole, wires } from "./wires.mjs";

const NEWEST = "what is the newest order?";
const lorem = (n, chars) => `HEAD-${n} ${"lorem ipsum dolor sit amet ".repeat(chars / 27)} TAIL-${n}`;
const isSide = (q) => !q.body.includes(NEWEST);
const sides = (pair) => pair.own.seen.filter(isSide);
const mains = (pair) => pair.own.seen.filter((q) => !isSide(q));

every((name, d, w) => {
  // Four results of one turn, new to the model: nothing is old enough to go without a question.
  const four = (chars) => ({ model: d.own, more: { [w.key]: [w.user(NEWEST), ...batch(name, [0, 1, 2, 3].map((i) => [`call_${i}`, lorem(i, chars)]))] } });
  const sized = (limit) => (q, res) => (isSide(q) ? w.answer(res, "SUMMARY") : tokens(q) > limit ? long(res, limit, tokens(q)) : reply(w, q, res, "done"));
  // In words that every profile reads: PenguiFlow knows few (P-W1).
  const long = (res, limit, used) => w.refuse(res, `This model's maximum context length is ${limit} tokens. However, your messages resulted in ${used} tokens.`, { code: "context_length_exceeded" });
  const refusing = (q, res) => (isSide(q) ? w.answer(res, "SUMMARY") : long(res, 500, 30000));
  const policy = (settings) => (c) => Object.assign(c.recovery, settings);
  const summarised = (q) => q.body.toString().split("SUMMARY").length - 1;

  /* ---- not at all ---- */

  for (const off of [{ enabled: false }, { mend: false }])
    both(name, `with ${JSON.stringify(off)} a conversation that is too long is the client's to mend`, {
      config: (c) => (policy({ ...off, on_failure: "error" })(c)),
      async run(pair, ask) {
        let words = "";
        pair.own.answer = (q, res) => w.overflow({ writeHead: (...a) => (res.writeHead(...a), { end: (b) => res.end((words = b)) }) }, 1500, tokens(q));
        const r = await ask(four(8000));
        assert.equal(r.status, 400);
        assert.equal(pair.own.seen.length, 1);
        if (off.enabled === false) {
          assert.equal(r.text, words, "the error is not the provider's, byte for byte");
          assert.equal(names(pair.events()).replace("llm_request_failed", "").replace("error_recovery_failed", "").trim(), "");
        }
        assert.equal(count(pair.events(), "trajectory_compressed"), 0);
      },
    });

  both(name, "with mend: false a call without result stays as it is, and the refusal is told", {
    config: policy({ mend: false, on_failure: "error" }),
    async run(pair, ask) {
      pair.own.answer = (q, res) => (whole(w, body(q)) ? reply(w, q, res, "ok") : w.refuse(res, w.orphan));
      const r = await ask({ model: d.own, more: { [w.key]: w.history([{ user: "go" }, { call: "call_a" }, { user: "still there?" }]) } });
      assert.equal(r.status, 400, r.text);
      assert.equal(pair.own.seen.length, 1);
    },
  });

  /* ---- how often ---- */

  for (const [n, profile] of [[0, "default"], [1, "default"], [2, "default"], [0, "penguiflow"], [1, "penguiflow"]])
    both(name, `max_compress_retries: ${n} in profile ${profile}`, {
      config: policy({ max_compress_retries: n, profile, on_failure: "error" }),
      async run(pair, ask) {
        pair.own.answer = refusing;
        const r = await ask(four(8000));
        assert.equal(r.status, profile === "default" ? 400 : 200, r.text); // which answers in the model's place (P-F12)
        const done = Math.min(n, 1); // four short summaries leave nothing for a second time
        assert.equal(mains(pair).length, done + 1);
        assert.equal(count(pair.events(), "trajectory_compressed"), done);
        mains(pair).forEach((q) => paired(w, body(q)));
      },
    });

  /* ---- what is large, and who sums it up ---- */

  for (const [chars, over, asked] of [[3000, undefined, 4], [3000, 4000, 0], [1500, undefined, 0], [1500, 1000, 4]])
    both(name, `compression_threshold_chars: ${over ?? "as it is"}, observations of ${chars} characters`, {
      config: policy({ ...(over && { compression_threshold_chars: over }) }),
      async run(pair, ask) {
        pair.own.answer = sized(1100);
        const r = await ask(four(chars));
        assert.equal(r.said, "done", r.text);
        assert.equal(sides(pair).length, asked);
        assert.equal(summarised(mains(pair).at(-1)), asked);
        paired(w, body(mains(pair).at(-1)));
      },
    });

  for (const settings of [{ summarize_on_compress: false }, { side_calls: false }])
    both(name, `with ${JSON.stringify(settings)} nobody is asked, and it fits all the same`, {
      config: policy(settings),
      async run(pair, ask) {
        pair.own.answer = sized(1500);
        const r = await ask(four(8000));
        assert.equal(r.said, "done", r.text);
        assert.equal(sides(pair).length, 0);
        const sent = mains(pair).at(-1).body.toString();
        for (let i = 0; i < 4; i++) assert.ok(sent.includes(`HEAD-${i}`), `HEAD-${i} is lost`);
        paired(w, body(mains(pair).at(-1)));
      },
    });

  both(name, "with summarize_on_compress: false PenguiFlow's way keeps the beginning", {
    config: policy({ summarize_on_compress: false, profile: "penguiflow" }),
    async run(pair, ask) {
      pair.own.answer = sized(1500);
      const r = await ask(four(8000));
      assert.equal(r.said, "done", r.text);
      assert.equal(sides(pair).length, 0);
      assert.equal(mains(pair).at(-1).body.toString().split("[Summary unavailable] ").length - 1, 4);
    },
  });

  both(name, "side_calls: false in profile penguiflow compresses nothing and apologises", {
    config: policy({ side_calls: false, profile: "penguiflow", on_failure: "message" }),
    async run(pair, ask) {
      pair.own.answer = sized(1500);
      const r = await ask(four(8000));
      assert.equal(pair.own.seen.length, 1);
      assert.equal(r.outcome, "explained");
      assert.match(r.said, /\nI'm sorry, but I encountered an issue while processing your request: /);
      assert.deepEqual(pair.events().filter((e) => e.event === "error_recovery_failed").map((e) => [e.reason, e.compression_error]), [["compression_failed", "No LLM client available for compression"]]);
    },
  });

  for (const [other, v] of Object.entries(wires)) {
    if (other === name) continue;
    both(name, `a summariser that speaks ${other}`, {
      config: policy({ summariser: target[other].replace(/\/.*/, "/small") }),
      async run(pair, ask) {
        pair.own.answer = (q, res) => (isSide(q) ? v.answer(res, "SUMMARY") : sized(1500)(q, res));
        const r = await ask(four(8000));
        assert.equal(r.said, "done", r.text);
        assert.equal(sides(pair).length, 4);
        for (const q of sides(pair)) {
          assert.ok(q.url.startsWith(v.path.replace("g-own", "small")), q.url);
          assert.match(q.url + q.body, /small/);
        }
        assert.equal(summarised(mains(pair).at(-1)), 4);
      },
    });
  }

  /* ---- the apology ---- */

  both(name, "an apology that fails leaves the fixed explanation", {
    config: policy({ on_failure: "message" }),
    async run(pair, ask) {
      pair.own.answer = (q, res) => (isSide(q) ? json(res, 500, {}) : w.refuse(res, "The frobnicator of this request is out of tune."));
      const r = await ask({ model: d.own, text: NEWEST });
      assert.equal(r.outcome, "explained", r.text);
      assert.match(r.said, /^\[daruma\] /);
      assert.match(r.said, /out of tune/);
      assert.equal(pair.own.seen.length, 2);
      await until("it is told", () => count(pair.events(), "error_recovery_failed") === 1);
    },
  });

  both(name, "where errors are wanted, no model is asked for words", {
    config: policy({ on_failure: "error" }),
    async run(pair, ask) {
      pair.own.answer = (q, res) => w.refuse(res, "The frobnicator of this request is out of tune.");
      const r = await ask({ model: d.own, text: NEWEST });
      assert.equal(r.status, 400, r.text);
      assert.equal(d.error(r.json).message, "The frobnicator of this request is out of tune.");
    },
  });

  /* ---- calls without result ---- */

  for (const [orphans, profile] of [["answer", "default"], ["answer", "swarm"], ["prune", "default"], ["profile", "default"], ["profile", "swarm"]])
    both(name, `orphans: ${orphans} in profile ${profile}`, {
      config: policy({ orphans, profile }),
      async run(pair, ask) {
        const prunes = orphans === "prune" || (orphans === "profile" && profile === "swarm");
        const words = profile === "swarm" ? "tool_use block must have corresponding tool_result" : w.orphan;
        pair.own.answer = (q, res) => (whole(w, body(q)) ? reply(w, q, res, "ok") : w.refuse(res, words));
        const r = await ask({ model: d.own, more: { [w.key]: w.history([{ user: "go" }, { call: "call_a" }, { user: "still there?" }]) } });
        assert.equal(r.said, "ok", r.text);
        const sent = body(pair.own.seen.at(-1));
        assert.equal(w.callIds(sent).length, prunes ? 0 : 1);
        assert.equal(/system-reminder/.test(JSON.stringify(w.messages(sent).at(-1))), prunes, "the model is told of what was removed, and only then");
        const told = pair.events().find((e) => /history_repaired|orphan_tool_calls_pruned/.test(e.event));
        assert.equal(told?.[prunes ? "pruned_count" : "answered_count"], 1, JSON.stringify(told));
      },
    });
});
