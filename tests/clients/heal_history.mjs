// A conversation or a request that a provider refuses is mended, and what was learned is known the next time.
import assert from "node:assert/strict";
import { names } from "./net.mjs";
import { body, both, every, own, paired, reply, tokens, whole } from "./wires.mjs";

/* ---- the conversation ---- */

every((name, d, w) => {
  const long = (n) => `HEAD-${n} ${"lorem ipsum dolor sit amet ".repeat(300)} id=order-${n}-7f3a9c TAIL-${n}`;
  const turns = [{ user: "find it" }];
  for (let i = 0; i < 6; i++) turns.push({ call: `call_${i}` }, { result: `call_${i}`, text: long(i) });
  const told = (c) => name === "responses" && (c.models.find((m) => m.name === d.own).window = 6000); // its words have no numbers
  const asked = name === "responses" ? 1 : 2; // what is configured, nobody has to refuse first
  const overflow = (window) => (q, res) => (tokens(q) > window ? w.overflow(res, window, tokens(q)) : reply(w, q, res, "done"));

  both(name, `a history that is too long is masked, once for all its turns`, {
    config: told,
    async run(pair, ask) {
      pair.own.answer = overflow(6000);
      const r = await ask(own(d, w, turns));
      assert.equal(r.status, 200, r.text);
      assert.equal(r.said, "done");
      assert.equal(r.outcome, "recovered");
      assert.equal(pair.own.seen.length, asked);
      const sent = body(pair.own.seen.at(-1));
      paired(w, sent);
      assert.equal(w.callIds(sent).length, 6);
      const text = JSON.stringify(sent);
      for (let i = 0; i < 6; i++) for (const kept of [`HEAD-${i}`, `TAIL-${i}`]) assert.ok(text.includes(kept), `${kept} is lost`);
      assert.ok(text.includes(long(5).slice(0, 3000)), "the newest result was touched");
      const next = [...turns, { text: "done" }, { user: "and now?" }];
      const second = await ask(own(d, w, next));
      assert.equal(second.said, "done");
      assert.equal(pair.own.seen.length, asked + 1, "it overflowed again");
      assert.deepEqual(w.messages(body(pair.own.seen.at(-1))).slice(0, w.messages(sent).length), w.messages(sent), "the same turn came out with other bytes");
      const status = await pair.status();
      assert.ok(status.known_compressions.hits > 0, JSON.stringify(status.known_compressions));
      const events = await pair.events();
      assert.ok(events.some((e) => e.event === "trajectory_compressed"), "no event told of it");
    },
  });

  both(name, `tenants share nothing`, {
    config: (c) => (told(c), c.providers.forEach((p) => delete p.keys)),
    async run(pair, ask) {
      pair.own.answer = overflow(6000);
      const key = (k) => ({ openai: { authorization: `Bearer ${k}` }, responses: { authorization: `Bearer ${k}` }, anthropic: { "x-api-key": k }, gemini: { "x-goog-api-key": k } })[name];
      await ask({ ...own(d, w, turns), headers: key("k-first") });
      const other = await ask({ ...own(d, w, turns), headers: key("k-second") });
      assert.equal(other.said, "done");
      const known = (await pair.status()).known_compressions;
      assert.equal(known.looked_up + known.requests_hit, 0, "the second tenant profited from the first");
      assert.equal(pair.own.seen.length, 2 * asked, "the second tenant's request was shortened for what the first was told");
    },
  });

  both(name, `input and output cap together are too much: the cap is lowered`, {
    async run(pair, ask) {
      pair.own.answer = (q, res) => (w.cap(body(q)) + 1096 > 8192 ? w.refuse(res, w.overflowCap, { code: "context_length_exceeded" }) : reply(w, q, res, "fits"));
      const r = await ask(own(d, w, [{ user: "x" }], w.capped(8000)));
      assert.equal(r.said, "fits", r.text);
      assert.equal(pair.own.seen.length, 2);
      const cap = w.cap(body(pair.own.seen[1]));
      assert.ok(cap > 4000 && cap <= 7096, `the cap is ${cap}`);
    },
  });

  // Coding agents ask for 32,000 tokens whatever the window: each turn would overflow.
  if (name !== "gemini") // whose windows are of the input alone
    both(name, `a cap that the window does not leave is lowered before the next turn goes out, down to what an answer needs`, {
      config: (c) => name === "responses" && (c.models.find((m) => m.name === d.own).window = 8192),
      async run(pair, ask) {
        const used = (q) => Math.ceil(q.body.length / 5), fits = (q) => used(q) + w.cap(body(q)) <= 8192;
        const says = w.overflowCap.replace("1096", "USED").replace("9096", "ALL");
        const refuse = (q, res) => w.refuse(res, says.replace("USED", used(q)).replace("ALL", used(q) + 8000), { code: "context_length_exceeded" });
        pair.own.answer = (q, res) => (fits(q) ? reply(w, q, res, "fits") : refuse(q, res));
        const turns = [{ user: "find it" }];
        for (let i = 0; i < 5; i++) {
          turns.push({ call: `call_${i}` }, { result: `call_${i}`, text: long(i).slice(0, 4000) });
          const r = await ask(own(d, w, turns, w.capped(8000)));
          assert.equal(r.said, "fits", r.text);
          assert.ok(i === 0 || r.headers["x-daruma-attempts"] === "1", `turn ${i} overflowed`);
        }
        assert.ok(pair.own.seen.length <= 6, `${pair.own.seen.length} calls for 5 turns`);
        const caps = pair.own.seen.slice(-4).map((q) => w.cap(body(q)));
        assert.ok(caps.every((cap) => cap >= 1024 && cap < 8000), `the caps are ${caps}`);
      },
    });

  both(name, `large observations are summarised by a model when masking is not enough`, {
    async run(pair, ask) {
      const few = [{ user: "find it" }, { call: "c1" }, { result: "c1", text: long(1).repeat(6) }];
      let asked = 0;
      pair.own.answer = (q, res) => {
        const text = q.body.toString();
        if (/summar/i.test(text) && !/tool_use_id|call_id|functionResponse/.test(text)) return asked++, reply(w, q, res, "SUMMARY id=order-1-7f3a9c");
        return tokens(q) > 500 ? w.overflow(res, 500, tokens(q)) : reply(w, q, res, "done");
      };
      const r = await ask(own(d, w, few));
      assert.equal(r.said, "done", r.text);
      assert.equal(asked, 1, "no model was asked");
      assert.equal(r.headers["x-daruma-remedies"], "summarise_observations");
      assert.ok(pair.own.seen.at(-1).body.includes("SUMMARY id=order-1-7f3a9c"), "the summary is not in the request");
      paired(w, body(pair.own.seen.at(-1)));
    },
  });

  for (const [what, broken] of [
    ["a call without result", [{ user: "go" }, { call: "call_a" }, { user: "still there?" }]],
    ["a result without call", [{ user: "go" }, { result: "call_lost", text: "the answer is 42" }, { user: "still there?" }]],
  ])
    both(name, `${what} is mended`, {
      async run(pair, ask) {
        const words = what.startsWith("a call") ? w.orphan : w.stray;
        pair.own.answer = (q, res) => (whole(w, body(q)) ? reply(w, q, res, "ok") : w.refuse(res, words));
        const r = await ask(own(d, w, broken));
        assert.equal(r.said, "ok", r.text);
        assert.equal(pair.own.seen.length, 2);
        assert.match(r.headers["x-daruma-remedies"], /repair_history/);
        const text = JSON.stringify(body(pair.own.seen[1]));
        assert.ok(text.includes("still there?"));
        if (what.startsWith("a call")) assert.match(text, /unknown/i);
        assert.equal(names(pair.events()), "llm_request_failed error_recovery_attempt history_repaired llm_retry_attempt error_recovery_success");
      },
    });

  /* ---- the request ---- */

  both(name, `a parameter that is not accepted is changed, and known the next time`, {
    async run(pair, ask) {
      const hot = "temperature: must be less than or equal to 1";
      const [bad, words, more, path] = {
        openai: [(b) => "max_tokens" in b, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", { param: "max_tokens", code: "unsupported_parameter" }, "max_tokens"],
        responses: [(b) => "temperature" in b, "Unsupported parameter: 'temperature' is not supported with this model.", { param: "temperature", code: "unsupported_parameter" }, "temperature"],
        anthropic: [(b) => b.temperature > 1, "temperature: range: 0..1", {}, "temperature"],
        gemini: [(b) => b.generationConfig?.temperature > 1, hot, {}, "temperature"],
      }[name];
      pair.own.answer = (q, res) => (bad(body(q)) ? w.refuse(res, words, more) : reply(w, q, res, "ok"));
      const settings = name === "gemini" ? { generationConfig: { maxOutputTokens: 77, temperature: 1.5 } } : { ...w.capped(77), temperature: 1.5 };
      const once = () => ask(own(d, w, [{ user: "hello" }], settings));
      const r = await once();
      assert.equal(r.said, "ok", r.text);
      assert.equal(pair.own.seen.length, 2);
      assert.match(r.headers["x-daruma-remedies"], /mend_parameter/);
      assert.equal(w.cap(body(pair.own.seen[1])), 77);
      await once();
      assert.equal(pair.own.seen.length, 3, "it was not learned");
      assert.match(JSON.stringify(await pair.status()), new RegExp(`"path":"[^"]*${path}"`));
    },
  });

  both(name, `an output cap beyond the model's is clamped, and known the next time`, {
    async run(pair, ask) {
      pair.own.answer = (q, res) => (w.cap(body(q)) > w.most ? w.refuse(res, w.overCap, { param: "max_tokens", code: "invalid_value" }) : reply(w, q, res, "ok"));
      const r = await ask(own(d, w, [{ user: "hello" }], w.capped(100000)));
      assert.equal(r.said, "ok", r.text);
      assert.equal(w.cap(body(pair.own.seen[1])), w.most);
      const again = await ask(own(d, w, [{ user: "and now?" }], w.capped(100000)));
      assert.deepEqual([again.outcome, again.headers["x-daruma-attempts"], again.headers["x-daruma-remedies"]], ["recovered", "1", "mend_parameter"], again.text);
      assert.equal(w.cap(body(pair.own.seen[2])), w.most);
      const less = await ask(own(d, w, [{ user: "a little" }], w.capped(1000)));
      assert.equal(less.said, "ok", less.text);
      assert.deepEqual(pair.own.seen.slice(3).map((q) => w.cap(body(q))), [1000]);
    },
  });
});
