// What is done, one thing after the other, when a conversation does not fit: masks, summaries, a model with more room,
// one summary of the whole conversation, and words when nothing helps. In each, the task, the tools, the newest turn
// and the pairs of calls and results stay as they are.
import assert from "node:assert/strict";
import { count, names, until } from "./net.mjs";
import { batch, body, both, every, own, paired, reply, target, tokens } from "./wires.mjs";

const LIMIT = 6000; // tokens that the provider takes, by its own count
const NEWEST = "what is the newest order?";
const lorem = (n, chars = 8000) => `HEAD-${n} ${"lorem ipsum dolor sit amet ".repeat(chars / 27)} TAIL-${n}`;
const rounds = (n, chars) => [{ user: "find it" }, ...Array.from({ length: n }, (_, i) => [{ call: `call_${i}` }, { result: `call_${i}`, text: lorem(i, chars) }]).flat(), { text: "found" }, { user: NEWEST }];
const talk = (n, chars) => [...Array.from({ length: n }, (_, i) => [{ user: `question ${i}: ${lorem(i, chars)}` }, { text: `answer ${i}: ${lorem(i, chars)}` }]).flat(), { user: NEWEST }];
// Whatever is asked on the side is about what was, never the user's newest words.
const isSide = (q) => !q.body.includes(NEWEST);
const sides = (pair) => pair.own.seen.filter(isSide);
const mains = (pair) => pair.own.seen.filter((q) => !isSide(q));
const provider = (w, side, limit = LIMIT) => (q, res) => (isSide(q) ? side(q, res) : tokens(q) > limit ? w.overflow(res, limit, tokens(q)) : reply(w, q, res, "done"));
const says = (w, text) => (q, res) => w.answer(res, text);
const never = (q) => assert.fail(`nobody shall be asked: ${q.body.toString().slice(0, 200)}`);
const remedies = (r) => r.headers["x-daruma-remedies"];

every((name, d, w) => {
  const model = (c) => c.models.find((m) => m.name === d.own);
  const system = { openai: {}, responses: { instructions: "be brief" }, anthropic: { system: "be brief" }, gemini: { systemInstruction: { parts: [{ text: "be brief" }] } } }[name];
  const tools = w.tools({ type: "object", properties: {} });
  const asked = (turns) => own(d, w, turns, { tools, ...system });
  // The provider's words have no numbers in Responses: what it takes is configured, and nobody has to refuse first.
  const told = name === "responses" ? (c) => (model(c).window = LIMIT) : () => {};
  const refusals = name === "responses" ? 0 : 1;
  const kept = (pair) => {
    const sent = body(mains(pair).at(-1));
    assert.deepEqual(w.messages(sent).at(-1), w.user(NEWEST), "the newest turn was touched");
    assert.deepEqual(sent.tools, tools, "the tools were touched");
    for (const key of Object.keys(system)) assert.deepEqual(sent[key], system[key], "the system prompt was touched");
    paired(w, sent);
  };

  both(name, "old tool output is masked before anybody is asked, and the events say so", {
    config: told,
    async run(pair, ask) {
      pair.own.answer = provider(w, never);
      const r = await ask(asked(rounds(8, 4000)));
      assert.equal(r.said, "done", r.text);
      assert.equal(sides(pair).length, 0);
      kept(pair);
      const told = refusals ? "llm_request_failed error_recovery_attempt trajectory_compressed llm_retry_attempt error_recovery_success" : "trajectory_compressed";
      await until(told, () => names(pair.events()) === told); // the last one is written when the client has its answer
      if (refusals) assert.equal(remedies(r), "mask_tool_output");
      const e = pair.events().find((x) => x.event === "trajectory_compressed");
      assert.ok(e.steps_compressed > 0 && e.compressed_size_chars < e.original_size_chars && e.strategy === "mask", JSON.stringify(e));
    },
  });

  both(name, "the pairs are made whole before anything is shortened", {
    config: told,
    async run(pair, ask) {
      pair.own.answer = (q, res) => (tokens(q) <= LIMIT && w.callIds(body(q)).length !== w.resultIds(body(q)).length ? w.refuse(res, w.orphan) : provider(w, never)(q, res));
      const turns = rounds(8, 4000);
      turns.splice(turns.length - 2, 0, { call: "call_lost" });
      const r = await ask(asked(turns));
      assert.equal(r.said, "done", r.text);
      assert.equal(mains(pair).length, 1 + refusals);
      kept(pair);
    },
  });

  both(name, "large observations are summarised side by side, once each, and each is smaller", {
    config: (c) => (told(c), (c.timeouts.first_byte = "4s")),
    async run(pair, ask) {
      const waiting = [];
      // No answer before all four questions are there: asked one after the other they would wait for ever.
      const side = (q, res) => waiting.push(() => w.answer(res, "SUMMARY")) === 4 && waiting.forEach((f) => f());
      pair.own.answer = provider(w, side, 1500);
      if (name === "responses") await pair.again((c) => ((model(c).window = 1500), (c.timeouts.first_byte = "4s")));
      const r = await ask({ model: d.own, more: { [w.key]: [w.user(NEWEST), ...batch(name, [0, 1, 2, 3].map((i) => [`call_${i}`, lorem(i)]))] } });
      assert.equal(r.said, "done", r.text);
      assert.equal(sides(pair).length, 4);
      assert.equal(pair.own.seen.at(-1).body.toString().split("SUMMARY").length - 1, 4);
      paired(w, body(pair.own.seen.at(-1)));
    },
  });

  const useless = { "an empty one": (w_, res) => w.answer(res, ""), "a longer one": (w_, res) => w.answer(res, lorem(7, 20000)), "an error": (w_, res) => res.writeHead(500).end(), "none at all": (w_, res) => res.destroy() };
  for (const [what, side] of Object.entries(useless))
    both(name, `instead of ${what} for a summary, the first 400 characters stay`, {
      config: (c) => (told(c), name === "responses" && (model(c).window = 1500)),
      async run(pair, ask) {
        pair.own.answer = provider(w, side, 1500);
        const r = await ask(own(d, w, [{ user: NEWEST }, { call: "call_1" }, { result: "call_1", text: lorem(1, 12000) }]));
        assert.equal(r.said, "done", r.text);
        const sent = pair.own.seen.at(-1).body.toString();
        assert.ok(sent.includes(`[Summary unavailable] ${lorem(1).slice(0, 400)}...`), sent.slice(0, 900));
        paired(w, body(pair.own.seen.at(-1)));
      },
    });

  const wide = (c) => {
    const near = target[name];
    model(c).targets = [{ target: near, window: LIMIT }, { target: near.replace(/\/.*/, "/wide"), window: 100000 }];
  };
  const isWide = (q) => /wide/.test(q.url) || body(q).model === "wide";
  both(name, "what cannot be shortened goes to a model with more room, as it is", {
    config: wide,
    async run(pair, ask) {
      pair.own.answer = (q, res) => (isWide(q) ? reply(w, q, res, "done") : w.overflow(res, LIMIT, tokens(q)));
      const r = await ask(asked([{ user: lorem(1, 40000) + NEWEST }]));
      assert.equal(r.said, "done", r.text);
      assert.deepEqual(pair.own.seen.map(isWide), [false, true]);
      assert.equal(remedies(r), "switch_model");
      assert.deepEqual(w.messages(body(pair.own.seen[1])), w.messages(body(pair.own.seen[0])));
      const told = "llm_request_failed error_recovery_attempt llm_retry_attempt error_recovery_success";
      await until(told, () => names(pair.events()) === told);
    },
  });

  both(name, "a model with more room comes before the whole conversation becomes a summary", {
    config: wide,
    async run(pair, ask) {
      pair.own.answer = (q, res) => (isSide(q) ? never(q) : isWide(q) ? reply(w, q, res, "done") : w.overflow(res, LIMIT, tokens(q)));
      const r = await ask(asked(talk(10, 2000)));
      assert.equal(r.said, "done", r.text);
      assert.ok(isWide(pair.own.seen.at(-1)));
      assert.equal(sides(pair).length, 0);
    },
  });

  both(name, "a model with no more room is not asked", {
    config: (c) => (wide(c), (model(c).targets[1].window = LIMIT), (c.recovery.side_calls = false), (c.recovery.on_failure = "error")),
    async run(pair, ask) {
      pair.own.answer = (q, res) => w.overflow(res, LIMIT, tokens(q));
      const r = await ask(asked([{ user: lorem(1, 40000) + NEWEST }]));
      assert.equal(r.status, 400, r.text);
      assert.deepEqual(pair.own.seen.map(isWide), [false]);
    },
  });

  both(name, "a long talk becomes a summary of what was, and the next turn needs none", {
    config: told,
    async run(pair, ask) {
      pair.own.answer = provider(w, says(w, "## Goal\nSUMMARY of the talk"));
      const turns = talk(12, 2000), r = await ask(asked(turns));
      assert.equal(r.said, "done", r.text);
      assert.equal(sides(pair).length, 1);
      assert.equal(mains(pair).length, 1 + refusals);
      kept(pair);
      const sent = mains(pair).at(-1).body.toString();
      assert.match(sent, /SUMMARY of the talk/);
      assert.ok(!sent.includes("question 3:") && sent.includes("answer 11:"), "the wrong part became a summary");
      if (refusals) assert.equal(remedies(r), "compact_conversation");
      assert.equal(pair.events().find((e) => e.event === "trajectory_compressed").strategy, "compact");
      const before = w.messages(body(mains(pair).at(-1)));
      const next = await ask(asked([...turns, { text: "done" }, { user: `${NEWEST} And now?` }]));
      assert.equal(next.said, "done", next.text);
      assert.equal(sides(pair).length, 1, "a model was asked again");
      assert.equal(mains(pair).length, 2 + refusals, "it overflowed again");
      assert.deepEqual(w.messages(body(mains(pair).at(-1))).slice(0, before.length), before, "the same turns came out with other bytes");
    },
  });

  both(name, "a small window is asked for a summary that fits into it", {
    config: (c) => name === "responses" && (model(c).window = 3000),
    async run(pair, ask) {
      pair.own.answer = (q, res) => {
        const taken = tokens(q) + (isSide(q) && name !== "gemini" ? w.cap(body(q)) : 0); // Google's windows are of the input alone
        if (taken > 3000) return w.overflow(res, 3000, taken);
        return isSide(q) ? w.answer(res, "## Goal\nSUMMARY of the talk") : reply(w, q, res, "done");
      };
      const r = await ask(asked(talk(24, 800)));
      assert.equal(r.said, "done", r.text);
      assert.equal(sides(pair).length, 1);
      assert.match(mains(pair).at(-1).body.toString(), /SUMMARY of the talk/);
    },
  });

  both(name, "a compaction that fails is told, and its failure is not the client's", {
    config: (c) => (told(c), (c.recovery.on_failure = "error")),
    async run(pair, ask) {
      pair.own.answer = provider(w, (q, res) => res.writeHead(500).end());
      const r = await ask(asked(talk(12, 2000)));
      assert.equal(r.status, 400, r.text);
      assert.ok(sides(pair).length >= 1);
      assert.match(d.error(r.json).message, /context|token/i);
      assert.ok(count(pair.events(), "error_recovery_failed") <= 1);
    },
  });

  both(name, "what stays too long costs four more calls at most and is explained", {
    config: (c) => (c.recovery.on_failure = "message"),
    async run(pair, ask) {
      pair.own.answer = (q, res) => (isSide(q) ? w.answer(res, "SUMMARY") : w.overflow(res, 1200, 30000));
      const r = await ask(asked(rounds(10, 8000)));
      assert.equal(r.outcome, "explained");
      assert.match(r.said, /^\[daruma\] /);
      assert.ok(mains(pair).length >= 2 && mains(pair).length <= 5, `${mains(pair).length} calls`);
      assert.equal(count(pair.events(), "trajectory_compressed"), mains(pair).length - 1);
      await until("it says so", () => names(pair.events()).endsWith("llm_retry_exhausted error_recovery_failed"));
      for (const q of mains(pair)) paired(w, body(q));
    },
  });

  both(name, "a conversation that stays too long is worked on three times, then no more", {
    config: (c) => ((c.recovery.side_calls = false), (c.recovery.on_failure = "error")),
    async run(pair, ask) {
      pair.own.answer = (q, res) => w.overflow(res, LIMIT, 12000);
      const worked = [];
      for (let i = 0; i < 5; i++) {
        pair.own.seen = [];
        const turns = rounds(8, 4000), r = await ask(asked(turns));
        assert.equal(r.status, 400, r.text);
        worked.push(JSON.stringify(w.messages(body(pair.own.seen.at(-1)))) !== JSON.stringify(w.history(turns)));
      }
      assert.deepEqual(worked, [true, true, true, false, false]);
    },
  });
});
