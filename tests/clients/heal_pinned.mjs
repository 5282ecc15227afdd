// What only its own provider understands stays with it and as it is: files, stored answers and conversations, cached
// content, thinking. Thinking of the tool loop at hand goes through every surgery untouched; others' models get none.
import assert from "node:assert/strict";
import { both, body, every, json, object, own, paired, reply, target, tokens, wires } from "./wires.mjs";

const NEWEST = "what is the newest order?";
const lorem = (n) => `HEAD-${n} ${"lorem ipsum dolor sit amet ".repeat(150)} TAIL-${n}`;

const files = {
  openai: { role: "user", content: [{ type: "text", text: "read it" }, { type: "file", file: { file_id: "file-one" } }] },
  responses: { role: "user", content: [{ type: "input_text", text: "read it" }, { type: "input_file", file_id: "file-one" }] },
  anthropic: { role: "user", content: [{ type: "text", text: "read it" }, { type: "document", source: { type: "file", file_id: "file-one" } }] },
  gemini: { role: "user", parts: [{ text: "read it" }, { fileData: { mimeType: "application/pdf", fileUri: "https://generativelanguage.googleapis.com/v1beta/files/file-one" } }] },
};
const stored = {
  responses: [{ previous_response_id: "resp_one" }, { conversation: "conv_one" }],
  gemini: [{ cachedContent: "cachedContents/one" }],
};
// A call with the thinking that led to it; the text of it, and its seal.
const thought = {
  anthropic: (i) => [{ role: "assistant", content: [{ type: "thinking", thinking: `thought-${i}`, signature: `seal-${i}` }, { type: "tool_use", id: `call_${i}`, name: "look", input: {} }] }],
  responses: (i) => [{ type: "reasoning", id: `rs_${i}`, summary: [{ type: "summary_text", text: `thought-${i}` }], encrypted_content: `seal-${i}` }, { type: "function_call", call_id: `call_${i}`, name: "look", arguments: "{}" }],
  gemini: (i) => [{ role: "model", parts: [{ text: `thought-${i}`, thought: true }, { functionCall: { id: `call_${i}`, name: "look", args: {} }, thoughtSignature: `seal-${i}` }] }],
};

every((name, d, w) => {
  const model = (c) => c.models.find((m) => m.name === d.own);
  const mine = name === "responses" ? "own-responses/m-own" : target[name];
  const failing = (bad, v) => (q, res) => (bad(q) ? json(res, 503, { error: { message: "The server is overloaded", type: "overloaded_error", code: 503, status: "UNAVAILABLE" } }) : reply(v, q, res, "elsewhere"));

  for (const [other, v] of Object.entries(wires)) {
    if (other === name) continue;
    const there = (q) => q.body.includes('"there"') || q.url.includes("/there");
    const config = (c) => ((model(c).targets = [mine, target[other].replace(/\/.*/, "/there")]), (c.recovery.max_attempts = 1), (c.recovery.on_failure = "error"), c.providers.forEach((p) => p.keys.pop()));

    both(name, `a file of its own provider is never sent to one that speaks ${other}`, {
      config,
      async run(pair, ask) {
        pair.own.answer = failing((q) => !there(q), v);
        const r = await ask({ model: d.own, more: { [w.key]: [files[name]] } });
        assert.equal(pair.own.seen.filter(there).length, 0, "it was sent elsewhere");
        assert.ok(r.status >= 500, r.text);
        // Uploaded files bind a request of Gemini before anything is tried; the others are told of when it fails.
        if (name !== "gemini") assert.ok(pair.events().some((e) => e.event === "request_not_convertible"), "no event says why");
      },
    });

    if (thought[name])
      both(name, `thinking is not shown to a provider that speaks ${other}`, {
        config,
        async run(pair, ask) {
          pair.own.answer = failing((q) => !there(q), v);
          const history = [w.user("go"), ...thought[name](1), ...w.history([{ result: "call_1", text: "seen" }, { text: "I see" }]), w.user(NEWEST)];
          const r = await ask({ model: d.own, more: { [w.key]: history, tools: w.tools(object) } });
          if (r.said !== "elsewhere") assert.ok(!pair.own.seen.some(there), r.text); // sealed thinking may bind it to its provider
          for (const q of pair.own.seen.filter(there)) assert.doesNotMatch(q.body.toString(), /thought-1|seal-1/);
          if (name !== "responses") assert.equal(r.said, "elsewhere", r.text);
        },
      });
  }

  for (const ref of stored[name] ?? [])
    both(name, `with ${Object.keys(ref)[0]} the history is not ours to shorten`, {
      config: (c) => ((model(c).targets = [mine]), (c.recovery.on_failure = "error")),
      async run(pair, ask) {
        pair.own.answer = (q, res) => w.overflow(res, 1500, tokens(q));
        const turns = [{ user: "find it" }, { call: "call_1" }, { result: "call_1", text: lorem(1).repeat(3) }, { text: "found" }, { user: NEWEST }];
        const r = await ask(own(d, w, turns, ref));
        assert.equal(r.status, 400, r.text);
        for (const q of pair.own.seen) assert.deepEqual(w.messages(body(q)), w.history(turns));
        assert.equal(pair.own.seen.length, 1);
      },
    });

  if (thought[name])
    for (const [how, limit] of [["masked", 4000], ["summarised", 1400]])
      both(name, `when output is ${how}, the thinking of the loop at hand stays as it came`, {
        config: (c) => ((model(c).targets = [{ target: mine, ...(name === "responses" && { window: limit }) }])),
        async run(pair, ask) {
          const side = (q) => !q.body.includes(NEWEST);
          pair.own.answer = (q, res) => (side(q) ? w.answer(res, "SUMMARY") : tokens(q) > limit ? w.overflow(res, limit, tokens(q)) : reply(w, q, res, "done"));
          const history = [w.user(NEWEST), ...[0, 1, 2, 3].flatMap((i) => [...thought[name](i), ...w.history([{ result: `call_${i}`, text: lorem(i) }])])];
          const r = await ask({ model: d.own, more: { [w.key]: history, tools: w.tools(object) } });
          if (r.said !== "done") assert.equal(r.status, 400, r.text);
          const sent = body(pair.own.seen.filter((q) => !side(q)).at(-1)), text = JSON.stringify(sent);
          paired(w, sent);
          const call = (m) => JSON.stringify(m).includes("thought-") || JSON.stringify(m).includes("seal-");
          const left = w.messages(sent).filter(call), first = history.filter(call);
          assert.deepEqual(left, first.slice(first.length - left.length), "thinking was edited");
          assert.equal(r.said, "done", `${text.length} bytes: ${r.text}`);
          assert.equal(left.length, first.length, "thinking of the loop at hand is gone");
        },
      });
});
