// Streams that break off after something went out: another attempt goes on, and the client has one whole answer.
import assert from "node:assert/strict";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { ask, pathOf, question, until } from "./net.mjs";
import { holds } from "./wire.mjs";
import { body, data, dialects, every, json, named, object, parsed, sse, target, wires } from "./wires.mjs";

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
          if (name !== "gemini") assert.match(r.events.at(-1).raw, /^: daruma outcome=recovered attempts=[23] kind=\w+ remedies=resume case=[0-9a-f]{16}$/); // what the head could not say
          assert.equal(pair.own.seen.length, name === "anthropic" && how !== "exactly" ? 3 : 2);
        },
      });

  if (name !== "gemini") // whose streams have no event that ends them
    holds(`heal ${name}: a client that hangs up at the event that ends its answer has been answered`, {
      async run(pair) {
        pair.own.answer = (q, res) => (q.n === 1 ? json(res, 503, { error: { message: "busy", type: "server_error" } }) : sse(res, w.opening(), w.piece(text), w.closing())); // and the connection stays open
        await ask(pair, pathOf(d, d.own, true), { method: "POST", headers: d.headers, body: JSON.stringify(d.body(d.own, "say it", { stream: true })), onData: (soFar, req) => /\[DONE\]|event: (message_stop|response\.completed)\ndata: .*\n\n/.test(soFar) && req.destroy() }).catch(() => {});
        const s = await until("it was counted", async () => { const now = await pair.status(); return now.active === 0 && now.requests.all ? now : null; });
        assert.equal(s.requests.recovered, 1, JSON.stringify(s.requests));
        assert.equal(s.requests.cancelled, 0);
      },
    });

  if (name === "gemini") // which says so itself
    for (const [times, how, end] of [[1, "is made again", "\n\n"], [1, "is made again, also where the stream ends without a blank line", "\n"], [9, "again and again ends with an error", "\n\n"]])
      holds(`heal ${name}: a call that the model made badly behind its text ${how}`, {
        async run(pair) {
          const bad = data({ candidates: [{ content: { parts: [], role: "model" }, finishReason: "MALFORMED_FUNCTION_CALL", finishMessage: "Malformed function call: look{,}", index: 0 }] }).trimEnd() + end;
          pair.own.answer = (q, res) => sse(res, w.opening(), q.n === 1 ? w.piece("Let me look.") : "", q.n <= times ? bad : w.called(0, "call_1", "look", '{"city": "Oslo"}') + w.closingCalls()).end();
          const r = await question(pair, d, { ...withTool(), stream: true });
          assert.equal(r.said, "Let me look.", r.text);
          assert.doesNotMatch(r.text, /MALFORMED/);
          if (times > 1) return assert.ok(d.failed(r.events), r.text);
          assert.deepEqual(w.calls(r).map(([, n, a]) => [n, JSON.parse(a)]), [["look", { city: "Oslo" }]], r.text);
          assert.ok(d.ended(r.events) && !d.failed(r.events), r.text);
          assert.equal(pair.own.seen.length, 2);
        },
      });

  if (name === "openai" || name === "anthropic") // the others do not name what was counted, or count the input alone
    holds(`heal ${name}: a stream that is cut goes on in a window that its output cap filled`, {
      async run(pair) {
        const used = (q) => Math.ceil(q.body.length / 5);
        const says = w.overflowCap.replace("1096", "USED").replace("9096", "ALL");
        let cut = false;
        pair.own.answer = (q, res) => {
          const b = body(q), cap = w.cap(b);
          if (used(q) + cap > 8192) return w.refuse(res, says.replace("USED", used(q)).replace("ALL", used(q) + cap).replace("8000", cap), { code: "context_length_exceeded" });
          if (!cut) return (cut = true), sse(res, w.opening(), w.piece(text.slice(0, 26))).end();
          const begun = ["assistant", "model"].includes(w.messages(b).at(-1).role);
          return sse(res, w.opening(), w.piece(text.slice(begun ? 26 : 0)), w.closing()).end();
        };
        const r = await question(pair, d, { model: d.own, stream: true, more: { ...w.capped(8000), [w.key]: w.history([{ user: `say it ${"lorem ipsum ".repeat(800)}` }]) } });
        assert.equal(r.said, text, r.text);
        assert.ok(d.ended(r.events) && !d.failed(r.events), r.text);
        assert.equal(pair.own.seen.length, 3);
      },
    });

  holds(`heal ${name}: rows that repeat each other go on at the words that were asked for, apology or not`, {
    async run(pair) {
      const rows = "Rows:\n" + Array.from({ length: 12 }, (_, i) => `| the same row again and again | 0 |\n${i === 8 ? "| another one | 1 |\n" : ""}`).join("") + "end";
      const told = (b) => JSON.stringify(w.messages(b)).match(/ends with:\\n\\n(.*?)\\n\\nGo on exactly/)?.[1];
      pair.own.answer = (q, res) => {
        if (q.n === 1) return sse(res, w.opening(), w.piece(rows.slice(0, 40)), w.piece(rows.slice(40, 130))).end();
        const b = body(q), anchor = told(b) && JSON.parse(`"${told(b)}"`), begun = ["assistant", "model"].includes(w.messages(b).at(-1).role);
        if (!begun && !anchor) return w.refuse(res, "it is not said where to go on");
        const at = begun ? rows.slice(0, 130).trimEnd().length : rows.slice(0, 130).lastIndexOf(anchor);
        return sse(res, w.opening(), w.piece(begun ? "" : "I apologise. Here is the rest:\n\n"), w.piece(rows.slice(at, at + 9)), w.piece(rows.slice(at + 9)), w.closing()).end();
      };
      const r = await question(pair, d, { model: d.own, stream: true });
      assert.equal(r.said, rows, r.text);
      assert.ok(d.ended(r.events) && !d.failed(r.events), r.text);
      assert.equal(pair.own.seen.length, 2);
    },
  });

  holds(`heal ${name}: what cannot be joined ends with an error, and what arrived is kept`, {
    async run(pair) {
      const prefilled = (q) => name === "anthropic" && body(q).messages.at(-1).role === "assistant";
      pair.own.answer = (q, res) => (prefilled(q) ? w.refuse(res, "This model does not support assistant message prefill. The conversation must end with a user message.") : q.n === 1 ? sse(res, w.opening(), w.piece("The first sentence is done. The second")).end() : sse(res, w.opening(), w.piece("I am sorry, what would you like to know? Let me start over."), w.closing()).end());
      const r = await question(pair, d, { model: d.own, stream: true });
      assert.equal(r.said, "The first sentence is done. The second", r.text);
      assert.ok(d.failed(r.events), r.text);
      const health = (await pair.status()).places.filter((p) => p.who === "model"); // the cut counts, and a refused prefill; what cannot be joined does not
      assert.ok(health.length === 1 && health.every((p) => p.bad <= (name === "anthropic" ? 2 : 1) && p.breaker === "closed" && p.calls > 1), JSON.stringify(health));
    },
  });

  if (name !== "anthropic") // its answer is begun for the model, which goes on at the byte
    for (const [so_far, next] of [
      ["The quick brown fox ", "sure, here is the rest: jumps over."],
      ["The quick brown fox ", "unfortunately i cannot continue this."],
      ["We have 4 apples. They ", "we have 5 pears. they are green."],
      ["my dear ", "okay"],
    ])
      holds(`heal ${name}: "${so_far}" does not go on with "${next}"`, {
        async run(pair) {
          pair.own.answer = (q, res) => sse(res, w.opening(), w.piece(q.n === 1 ? so_far : next), q.n === 1 ? "" : w.closing()).end();
          const r = await question(pair, d, { model: d.own, stream: true });
          assert.equal(r.said, so_far, r.text);
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

/* ---- more than one cut, other targets, thinking ---- */

every((name, d, w) => {
  const text = "The quick brown fox jumps over the lazy dog and runs away into the deep dark wood.";
  const prefilled = (q) => ["assistant", "model"].includes(w.messages(body(q)).at(-1).role);
  const withTool = (more = {}) => ({ model: d.own, more: { tools: w.tools(object), ...more } });

  holds(`heal ${name}: a stream that is cut twice is still one answer`, {
    async run(pair) {
      const long = text + " There it sits under an old fir, catches its breath and listens: nobody follows, nobody barks, only the wind.";
      pair.own.answer = (q, res) => {
        const sent = JSON.stringify(w.messages(body(q)));
        let told = 0; // as much of the answer as it is told to have given
        while (told < long.length && sent.includes(long.slice(0, told + 1))) told++;
        const from = told && !prefilled(q) ? Math.max(0, told - 40) : told; // asked in words, it repeats its last ones
        const said = long.slice(from, q.n < 3 ? told + 60 : long.length);
        const s = sse(res, w.opening(), w.piece(said.slice(0, 7)), w.piece(said.slice(7)), q.n < 3 ? "" : w.closing());
        if (q.n === 2) setTimeout(() => res.destroy(), 40);
        else s.end();
      };
      const r = await question(pair, d, { model: d.own, stream: true });
      assert.equal(r.said, long, r.text);
      assert.ok(d.ended(r.events) && !d.failed(r.events), r.text);
      assert.equal(pair.own.seen.length, 3);
      const twice = pair.own.seen[2].body.toString().split("The quick brown fox").length - 1;
      assert.ok(twice <= 2, `what was said is told ${twice} times`); // as its own words, and the last of them in the question
    },
  });

  // Shown all of its answer as begun it has nothing to add; asked in words it says the last ones again.
  holds(`heal ${name}: a stream that is cut behind its last word is ended`, {
    async run(pair) {
      pair.own.answer = (q, res) => {
        const sent = JSON.stringify(w.messages(body(q)));
        let told = 0;
        while (told < text.length && sent.includes(text.slice(0, told + 1))) told++;
        const from = /What arrived ends with/.test(sent) ? told - 40 : told;
        sse(res, w.opening(), from < text.length ? w.piece(text.slice(from)) : "", q.n === 1 ? "" : w.closing()).end();
      };
      const r = await question(pair, d, { model: d.own, stream: true });
      assert.equal(r.said, text, r.text);
      assert.ok(d.ended(r.events) && !d.failed(r.events), r.text);
      assert.ok(pair.own.seen.length <= 3);
    },
  });

  for (const [other, v] of Object.entries(wires)) {
    if (other === name) continue;
    holds(`heal ${name}: an answer that is cut goes on at a provider that speaks ${other}`, {
      config: (c) => {
        c.models.find((x) => x.name === d.own).targets = [name === "responses" ? "own-responses/cut" : target[name].replace(/\/.*/, "/cut"), target[other].replace(/\/.*/, "/there")];
        c.providers.forEach((p) => p.keys.pop());
      },
      async run(pair) {
        const cut = (q) => q.body.includes('"cut"') || q.url.includes("/cut:");
        pair.own.answer = (q, res) => {
          if (cut(q) && q.n > 1) return res.writeHead(503, { "content-type": "application/json" }).end(JSON.stringify({ error: { message: "Overloaded", type: "overloaded_error", status: "UNAVAILABLE", code: 503 } }));
          if (cut(q)) return sse(res, w.opening(), w.piece(text.slice(0, 26))).end();
          const last = v.messages(body(q)).at(-1).role;
          const from = ["assistant", "model"].includes(last) ? 26 : 8;
          sse(res, v.opening(), v.piece(text.slice(from, 40)), v.piece(text.slice(40)), v.closing()).end();
        };
        const r = await question(pair, d, { model: d.own, stream: true });
        assert.equal(r.said, text, r.text);
        assert.ok(d.ended(r.events) && !d.failed(r.events), r.text);
        assert.ok(!cut(pair.own.seen.at(-1)));
      },
    });
  }

  const thoughtOf = (w) => ({
    openai: () => w.chunk({ role: "assistant", reasoning_content: "let me think about" }),
    anthropic: () => w.opening().replace(/event: content_block_start[^]*/, "") + named({ type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } }) + named({ type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "let me think about" } }),
    responses: () => w.opening().replace(/event: response.output_item.added[^]*/, "") + named({ type: "response.output_item.added", sequence_number: 2, output_index: 0, item: { id: "rs_1", type: "reasoning", summary: [] } }) + named({ type: "response.reasoning_summary_part.added", sequence_number: 3, item_id: "rs_1", output_index: 0, summary_index: 0, part: { type: "summary_text", text: "" } }) + named({ type: "response.reasoning_summary_text.delta", sequence_number: 4, item_id: "rs_1", output_index: 0, summary_index: 0, delta: "let me think about" }),
    gemini: () => data({ candidates: [{ content: { parts: [{ text: "let me think about", thought: true }], role: "model" }, index: 0 }], modelVersion: "g-own", responseId: "gem-1" }),
  });
  holds(`heal ${name}: an answer that is cut within its thinking is made again behind it`, {
    async run(pair) {
      pair.own.answer = (q, res) => (q.n === 1 ? sse(res, thoughtOf(w)[name]()).end() : sse(res, w.opening(), w.piece("the answer"), w.closing()).end());
      const r = await question(pair, d, { model: d.own, stream: true });
      assert.match(r.text, /let me think about/);
      assert.ok(r.said === "the answer" && d.ended(r.events) && !d.failed(r.events), r.text);
      assert.equal(pair.own.seen.length, 2);
    },
  });
  // Their clients hand thinking back to a provider that would refuse it.
  const bound = name === "anthropic" || name === "responses";
  for (const [other, v] of Object.entries(wires)) {
    if (other === name) continue;
    holds(`heal ${name}: an answer that is cut within the thinking of ${other} is made again`, {
      config: (c) => (c.models.find((x) => x.name === d.own).targets = [target[other].replace(/\/.*/, "/there"), ...(name === "responses" ? ["own-responses/spare"] : [])]),
      async run(pair) {
        pair.own.answer = (q, res) => (q.n <= 2 ? sse(res, thoughtOf(v)[other]()).end() : sse(res, v.opening(), v.piece("the answer"), v.closing()).end());
        const r = await question(pair, d, { model: d.own, stream: true });
        assert.equal(r.said, "the answer", r.text);
        assert.ok(d.ended(r.events) && !d.failed(r.events), r.text);
        assert.equal(pair.own.seen.length, 3);
        assert.equal(r.text.split("let me think about").length - 1, bound ? 0 : 1, "what was thought came twice, or where it is refused");
      },
    });
  }
  if (name === "openai")
    for (const details of [true, false])
      holds(`heal openai: an answer that is cut within thinking that has a signed form is made again, and ${details ? "half of it does not go back" : "what nobody signs goes back as it came"}`, {
        async run(pair) {
          const half = [{ type: "reasoning.text", text: "let me", index: 0 }], all = [{ ...half[0], text: "let me think", signature: "c2ln" }];
          pair.own.answer = (q, res) => (body(q).stream ? sse(res, w.chunk({ role: "assistant", reasoning: "let me", reasoning_details: half }) + (q.n === 1 ? "" : w.chunk({ reasoning: " think", reasoning_details: [{ ...all[0], text: " think" }] }) + w.piece("the answer") + w.closing())).end() : w.answer(res, "fine"));
          const r = await question(pair, d, { model: d.own, stream: true });
          assert.deepEqual([r.said, !!d.ended(r.events), pair.own.seen.length], ["the answer", true, 2], r.text);
          assert.deepEqual(r.events.flatMap((e) => e.json?.choices?.[0]?.delta?.reasoning_details ?? []), half, "a second thought is joined to the half");
          const turns = [{ role: "assistant", content: "the answer", reasoning: "let me", reasoning_details: half }, { role: "user", content: "and now?" }, ...(details ? [{ role: "assistant", content: "so", reasoning_details: all }, { role: "user", content: "and then?" }] : [])];
          await question(pair, d, { model: d.own, more: { messages: [{ role: "user", content: "say seven eight" }, ...turns] } });
          const sent = body(pair.own.seen.at(-1)).messages;
          assert.deepEqual(sent.map((m) => m.reasoning_details?.length), [undefined, details ? undefined : 1, undefined, ...(details ? [1, undefined] : [])]);
          assert.equal(sent[1].reasoning, "let me");
        },
      });

  holds(`heal ${name}: a cut behind a whole call never repeats the call`, {
    async run(pair) {
      pair.own.answer = (q, res) => (q.n === 1 ? sse(res, w.opening(), w.piece("let me look"), w.called(0, "call_1", "look", '{"city": "Oslo"}')).end() : sse(res, w.opening(), w.called(0, "call_2", "look", '{"city": "Oslo"}'), w.closingCalls()).end());
      const r = await question(pair, d, { ...withTool(), stream: true });
      assert.equal(w.calls(r).length, 1, r.text);
      assert.ok(d.ended(r.events), r.text);
    },
  });
});

holds("heal responses: a cut stream goes on with the ids and numbers of its beginning, and its end holds the whole text", {
  async run(pair) {
    const d = dialects.responses, w = wires.responses, text = "one two three four five six seven eight nine ten";
    pair.own.answer = (q, res) => (q.n === 1 ? sse(res, w.opening(), w.piece(text.slice(0, 23))).end() : sse(res, w.opening(), w.piece(text.slice(4, 30)), w.piece(text.slice(30)), w.closing()).end());
    const r = await question(pair, d, { model: d.own, stream: true });
    const list = r.events.map((e) => e.json).filter(Boolean);
    assert.deepEqual(list.map((e) => e.sequence_number), list.map((_, i) => i), "the numbers have a gap");
    assert.equal(list.filter((e) => e.type === "response.created").length, 1);
    assert.equal(list.filter((e) => e.type === "response.output_item.added").length, 1);
    assert.equal(new Set(list.map((e) => e.item_id ?? e.item?.id).filter(Boolean)).size, 1);
    assert.equal(new Set(list.map((e) => e.response?.id).filter(Boolean)).size, 1);
    const end = list.at(-1);
    assert.equal(end.type, "response.completed");
    assert.equal(d.text(end.response), text);
    assert.equal(list.find((e) => e.type === "response.output_text.done").text, text);
    for (const e of r.events) assert.equal(e.name, e.json?.type);
  },
});

for (const [what, fault] of Object.entries({
  "is cut": (w, res) => res.end(),
  "is cut by a reset": (w, res) => setTimeout(() => res.destroy(), 40),
  "ends with an error": (w, res) => res.end(w.broken()),
}))
  for (const [how, goesOn] of Object.entries({ "and is not gone on with": null, "and cannot be joined": "I am sorry, what would you like to know? Let me start over.", "again where it was joined": ". Then the third" }))
    for (const mends of [true, false])
      if (mends || !goesOn)
        holds(`heal responses: the error of a stream that ${what} ${how}${mends ? "" : ", without mending,"} continues its numbers and names its answer`, {
          config: (c) => { if (!mends) c.recovery.mend = false; },
          async run(pair) {
            const d = dialects.responses, w = wires.responses, first = "The first sentence is done. The second";
            pair.own.answer = (q, res) => {
              if (q.n === 1) return fault(w, sse(res, w.opening(), w.piece(first)));
              if (!goesOn || q.n > 2) return json(res, 400, { error: { message: "no", type: "invalid_request_error" } });
              return sse(res, w.opening(), w.piece(goesOn)).end(goesOn[0] === "." ? w.broken() : w.closing());
            };
            const r = await question(pair, d, { model: d.own, stream: true });
            const list = r.events.map((e) => e.json).filter(Boolean), numbers = list.map((e) => e.sequence_number);
            assert.ok(d.failed(r.events) && !d.ended(r.events), r.text);
            assert.ok(numbers.every((n, i) => n === i), `the numbers have a gap: ${numbers}\n${r.text}`);
            for (const e of list) if (e.type === "response.failed") assert.equal(e.response.id, "resp_1");
          },
        });

// A provider's stream with these items, cut within the text of the last one.
const itemsCut = (items, cut) => {
  let n = 0;
  const ev = (type, o) => named({ type, sequence_number: n++, ...o });
  const begin = { id: "resp_1", object: "response", created_at: 1, status: "in_progress", model: "m-own", error: null, incomplete_details: null, output: [], usage: null };
  let out = ev("response.created", { response: begin }) + ev("response.in_progress", { response: begin });
  items.forEach((item, i) => {
    const at = { item_id: item.id, output_index: i, content_index: 0 }, last = i === items.length - 1;
    const { encrypted_content, ...bare } = item;
    out += ev("response.output_item.added", { output_index: i, item: item.type === "message" ? { ...item, status: "in_progress", content: [] } : bare });
    if (item.type === "message") {
      const t = item.content[0].text;
      out += ev("response.content_part.added", { ...at, part: { ...item.content[0], text: "" } }) + ev("response.output_text.delta", { ...at, delta: last ? t.slice(0, cut) : t, logprobs: [] });
      if (!last) out += ev("response.output_text.done", { ...at, text: t, logprobs: [] }) + ev("response.content_part.done", { ...at, part: item.content[0] });
    }
    if (!last) out += ev("response.output_item.done", { output_index: i, item });
  });
  return out;
};

const thoughts = { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "gAAAAAB-sealed+bytes/==", status: null };
const spoken = (id, text) => ({ id, type: "message", status: "completed", role: "assistant", phase: "commentary", content: [{ type: "output_text", text, annotations: [{ type: "url_citation", url: "https://example.org/a", title: "A", start_index: 0, end_index: 3 }] }] });

for (const [what, before] of Object.entries({
  "its reasoning": [thoughts],
  "its reasoning and an earlier message": [thoughts, spoken("msg_0", "First I look it up."), { ...thoughts, id: "rs_2", summary: [{ type: "summary_text", text: "so it is" }] }],
  "a search that the provider made": [{ id: "ws_1", type: "web_search_call", status: "completed", action: { type: "search", query: "foxes", sources: [] } }],
}))
  holds(`heal responses: a cut stream that goes on ends with ${what} as it came`, {
    async run(pair) {
      const d = dialects.responses, w = wires.responses, text = "one two three four five six seven eight nine ten";
      pair.own.answer = (q, res) => {
        if (q.n % 2) return sse(res, itemsCut([...before, spoken("msg_1", text)], 23)).end();
        sse(res, w.opening(), w.piece(text.slice(4, 30)), w.piece(text.slice(30)), w.closing()).end();
      };
      const r = await question(pair, d, { model: d.own, stream: true });
      const list = r.events.map((e) => e.json).filter(Boolean), end = list.at(-1);
      assert.equal(end.type, "response.completed", r.text);
      assert.deepEqual(list.map((e) => e.sequence_number), list.map((_, i) => i), "the numbers have a gap");
      assert.deepEqual(end.response.output.slice(0, -1), before);
      assert.deepEqual(end.response.output.map((o) => o.id), [...before.map((o) => o.id), "msg_1"]);
      assert.equal(end.response.output.at(-1).content[0].text, text);
      const done = list.filter((e) => e.type === "response.output_item.done");
      assert.deepEqual(done.map((e) => e.output_index), end.response.output.map((_, i) => i));
      const c = new OpenAI({ apiKey: "sk-client", baseURL: `${pair.base}/v1`, maxRetries: 0 });
      const final = await c.responses.stream({ model: d.own, input: "go" }).finalResponse();
      assert.deepEqual(final.output.map((o) => o.id), end.response.output.map((o) => o.id));
      assert.equal(final.output.find((o) => o.type === "reasoning")?.encrypted_content, before.find((o) => o.type === "reasoning")?.encrypted_content);
      assert.ok(final.output_text.endsWith(text));
    },
  });

holds("heal responses: a call of an answer that was cut behind its reasoning comes with that reasoning, once", {
  async run(pair) {
    const d = dialects.responses, w = wires.responses;
    const item = { id: "fc_9", type: "function_call", status: "completed", call_id: "call_1", name: "look", arguments: '{"city":"Oslo"}' };
    pair.own.answer = (q, res) => (q.n === 1 ? sse(res, itemsCut([thoughts, spoken("msg_0", "let me look"), item], 0)).end() : sse(res, w.opening(), w.called(0, "call_2", "look", '{"city":"Oslo"}'), w.closingCalls()).end());
    const r = await question(pair, d, { model: d.own, stream: true, more: { tools: w.tools(object) } });
    const end = r.events.findLast((e) => e.json).json;
    assert.equal(end.type, "response.completed", r.text);
    assert.deepEqual(end.response.output.map((o) => o.type), ["reasoning", "message", "function_call"]);
    assert.deepEqual(end.response.output.slice(0, 2), [thoughts, spoken("msg_0", "let me look")]);
    assert.deepEqual(w.calls(r).map(([, n, a]) => [n, JSON.parse(a)]), [["look", { city: "Oslo" }]], r.text);
  },
});

/* ---- signed calls ---- */

// Gemini signs the first call of a step and refuses the next request without it; the faulty provider does so, too.
const step = (calls) => `models: { g-main: { signatures: true, call_ids: true, answers: [ { text: "First I look both of them up in the big book.", calls: [${calls}] } ] }, g-fallback: { signatures: true, call_ids: true, answers: [ { text: "First I look both of them up in the big book.", calls: [${calls}] } ] } }\n`;
const two = '{ call: look, arguments: { city: Oslo, days: 2 } }, { call: find, arguments: { city: Rome, days: 3 } }';
const mendable = '{ call: look, arguments: { city: Oslo, days: "2" } }, { call: find, arguments: { city: Rome, days: "3" } }';
for (const [what, faults, calls = two, days = 2] of [
  ["within its text", ["{ times: 1, cut: { within: text } }"]],
  ["within its text twice", ["{ times: 2, cut: { within: text } }"]],
  ["within its text, and goes on at another model", ["{ times: 1, cut: { within: text } }", "{ model: g-main, skip: 1, kind: overloaded }"]],
  ["behind its first call", ["{ times: 1, cut: { within: arguments, after_pieces: 1 } }"]],
  ["behind all its calls", ["{ times: 1, cut: { within: arguments, after_pieces: 2 } }"]],
  ["within its text and then behind a call", ["{ times: 1, cut: { within: text } }", "{ times: 1, cut: { within: arguments, after_pieces: 1 } }"]],
  ["within its text, and whose arguments are mended", ["{ times: 1, cut: { within: text } }"], mendable, "2"],
  ["nowhere, and whose arguments are mended", [], mendable, "2"], // but for those of the signed one
])
  holds(`heal gemini: signed calls of an answer that is cut ${what} keep signature and order`, {
    chaos: step(calls) + (faults.length ? `faults:\n${faults.map((f) => `  - ${f}\n`).join("")}` : "faults: []\n"),
    async run(pair) {
      const c = new GoogleGenAI({ apiKey: "sk-client", httpOptions: { baseUrl: pair.base } });
      const config = { tools: [{ functionDeclarations: ["look", "find"].map((n) => ({ name: n, parameters: object })) }] };
      const contents = [{ role: "user", parts: [{ text: "look and find" }] }], parts = [];
      let end = null;
      for await (const one of await c.models.generateContentStream({ model: "g-main", contents, config })) {
        parts.push(...(one.candidates?.[0]?.content?.parts ?? []).filter((p) => p.text !== "" || p.thoughtSignature)); // an empty text is refused
        end = one.candidates?.[0]?.finishReason ?? end;
      }
      assert.equal(end, "STOP");
      assert.equal(parts.map((p) => p.text ?? "").join(""), "First I look both of them up in the big book.");
      const made = parts.filter((p) => p.functionCall);
      assert.deepEqual(made.map((p) => [p.functionCall.name, p.functionCall.args]), [["look", { city: "Oslo", days }], ["find", { city: "Rome", days: 3 }]]);
      assert.deepEqual(made.map((p) => Boolean(p.thoughtSignature)), [true, false], JSON.stringify(parts));
      assert.ok(parts.findIndex((p) => p.functionCall) > parts.findLastIndex((p) => p.text), "a text stands behind a call");
      const results = made.map(({ functionCall: f }) => ({ functionResponse: { id: f.id, name: f.name, response: { output: `sun in ${f.args.city}` } } }));
      await fetch(`${pair.chaos}/chaos/script`, { method: "POST", body: "faults: []\n" });
      const before = await pair.report();
      const next = await c.models.generateContent({ model: "g-main", contents: [...contents, { role: "model", parts }, { role: "user", parts: results }], config });
      const after = await pair.report();
      assert.deepEqual(after.refused, before.refused, "the next request was refused");
      assert.match(next.candidates[0].content.parts.map((p) => p.text ?? "").join(""), /sun in Oslo.*sun in Rome/);
    },
  });

// Behind a call that is held for the end sources wait as text does.
const cited = { type: "url_citation", url: "https://a.example", title: "a", start_index: 0, end_index: 5 };
const source = { openai: { type: "url_citation", url_citation: cited }, responses: cited };
for (const name of ["openai", "responses"])
  holds(`heal ${name}: sources that come behind a held call are those of the answer`, {
    async run(pair) {
      const w = wires[name], d = dialects[name], args = '{"city":"Oslo"}';
      const call = { id: "fc_0", type: "function_call", status: "completed", call_id: "call_1", name: "look", arguments: args }, message = { id: "msg_1", type: "message", status: "completed", role: "assistant", content: [{ type: "output_text", text: "It is so.", annotations: [cited], logprobs: [] }] };
      const at = { item_id: "msg_1", output_index: 1, content_index: 0 }, response = (status, output) => ({ response: { id: "resp_1", object: "response", created_at: 1, status, model: "m-own", output } });
      const responses = (...list) => list.map(([type, o], sequence_number) => named({ type, sequence_number, ...o })).join("");
      const begun = { openai: () => w.chunk({ role: "assistant", reasoning_content: "hm" }), responses: () => responses(["response.created", response("in_progress", [])], ["response.output_item.added", { output_index: 0, item: { id: "rs_1", type: "reasoning", summary: [] } }], ["response.reasoning_summary_text.delta", { item_id: "rs_1", output_index: 0, summary_index: 0, delta: "hm" }]) };
      const whole = {
        openai: () => w.chunk({ role: "assistant", content: "It is so." }) + w.chunk({ tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "look", arguments: args } }] }) + w.chunk({ annotations: [source.openai] }) + w.chunk({}, "tool_calls") + "data: [DONE]\n\n",
        responses: () => responses(["response.created", response("in_progress", [])], ["response.output_item.done", { output_index: 0, item: call }], ["response.output_item.added", { output_index: 1, item: { ...message, content: [] } }], ["response.output_text.delta", { ...at, delta: "It is so." }], ["response.output_text.annotation.added", { ...at, annotation_index: 0, annotation: cited }], ["response.output_item.done", { output_index: 1, item: message }], ["response.completed", response("completed", [call, message])]),
      };
      pair.own.answer = (q, res) => sse(res, (q.n === 1 ? begun : whole)[name]()).end();
      const r = await question(pair, d, { model: d.own, stream: true, more: { tools: w.tools(object) } });
      const got = name === "openai" ? r.events.flatMap((e) => e.json?.choices?.[0]?.delta?.annotations ?? []) : r.events.map((e) => e.json).find((e) => e?.type === "response.completed").response.output.flatMap((i) => i.content?.[0].annotations ?? []);
      assert.deepEqual(got, [source[name]], r.text);
      assert.equal(pair.own.seen.length, 2);
    },
  });
