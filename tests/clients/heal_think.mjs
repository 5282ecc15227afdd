// Streams of models that think, cut within their thinking: Anthropic's is signed, half of it would be refused when the
// client hands it back, and an SDK does not ask again once a stream has begun. The provider of the test checks what
// comes back as Anthropic does.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { dialects, question, until } from "./net.mjs";
import { holds } from "./wire.mjs";
import { body, data, json, named, object, sse, target, wires } from "./wires.mjs";

const THOUGHT = "The user wants to know about the fox, so I shall say first what it does and then where it goes.";
const TEXT = "The quick brown fox jumps over the lazy dog and runs away into the deep dark wood.";
const sign = (thought) => createHash("sha256").update(`signed ${thought}`).digest("base64");
const thinking = (t, signature = sign(t)) => ({ type: "thinking", thinking: t, signature });
const text = (t) => ({ type: "text", text: t });
const split = (...deltas) => ({ ...text(deltas.join("")), deltas });
const call = (id, city = "Oslo") => ({ type: "tool_use", id, name: "look", input: { city } });
const pieces = (t, n = 3) => Array.from({ length: n }, (_, i) => t.slice(Math.ceil((i * t.length) / n), Math.ceil(((i + 1) * t.length) / n))).filter(Boolean);

// The events of an answer with these blocks.
const events = (blocks, more = {}) => [
  { type: "message_start", message: { id: "msg_1", type: "message", role: "assistant", model: "c-own", content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 11, output_tokens: 1 } } },
  ...blocks.flatMap((b, index) => {
    const begun = b.type === "thinking" ? { ...b, thinking: "", signature: "" } : b.type === "text" ? text("") : /tool_use$/.test(b.type) ? { ...b, input: {} } : b.type === "compaction" ? { ...b, content: null } : b;
    const deltas = b.type === "thinking" ? [...pieces(b.thinking).map((t) => ({ type: "thinking_delta", thinking: t })), ...(b.signature ? [{ type: "signature_delta", signature: b.signature }] : [])] : b.type === "text" ? [...(b.citations ?? []).map((citation) => ({ type: "citations_delta", citation })), ...(b.deltas ?? pieces(b.text)).map((t) => ({ type: "text_delta", text: t }))] : b.type === "compaction" ? [{ type: "compaction_delta", content: b.content }] : /tool_use$/.test(b.type) ? pieces(JSON.stringify(b.input)).map((t) => ({ type: "input_json_delta", partial_json: t })) : [];
    return [{ type: "content_block_start", index, content_block: begun }, ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })), { type: "content_block_stop", index }];
  }),
  { type: "message_delta", delta: { stop_reason: blocks.some((b) => b.type === "tool_use") ? "tool_use" : "end_turn", stop_sequence: null, ...more.delta }, usage: { output_tokens: 7 } },
  { type: "message_stop" },
];
const bytes = (blocks, more) => events(blocks, more).map(named).join("");
// As far as a block of that kind, and within it: behind its first delta.
const within = (blocks, nth) => {
  const all = events(blocks), at = all.findIndex((e) => e.type === "content_block_delta" && e.index === nth);
  return all.slice(0, at + 1).map(named).join("");
};
const before = (blocks, nth) => bytes(blocks).split(`event: content_block_start\ndata: ${JSON.stringify({ type: "content_block_start", index: nth }).slice(0, -1)}`)[0];

// Anthropic's checks of thinking that comes back. Null: it is taken.
function refusal(b) {
  for (const [i, m] of b.messages.entries())
    for (const [k, part] of (Array.isArray(m.content) ? m.content : []).entries()) {
      if (part.type === "thinking" && part.signature !== sign(part.thinking)) return `messages.${i}.content.${k}: Invalid \`signature\` in \`thinking\` block`;
      if (part.type === "redacted_thinking" && part.data !== "sealed") return `messages.${i}.content.${k}: Invalid \`data\` in \`redacted_thinking\` block`;
    }
  const loop = b.messages.at(-1).role === "user" && b.messages.at(-1).content.some?.((p) => p.type === "tool_result");
  const first = loop && b.messages.at(-2).content[0];
  if (b.thinking?.type === "enabled" && first && !/thinking$/.test(first.type)) return `messages.${b.messages.length - 2}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first.type}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceeding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`;
  return null;
}
const refuse = (res, message) => json(res, 400, { type: "error", error: { type: "invalid_request_error", message } });
const ask = (more = {}) => ({ model: "c-own", max_tokens: 4000, thinking: { type: "enabled", budget_tokens: 2000 }, messages: [{ role: "user", content: "go" }], ...more });
const claude = (pair) => new Anthropic({ apiKey: "sk-client", baseURL: pair.base, maxRetries: 0, timeout: 60000 });
const told = (b) => JSON.stringify(b.messages).match(/ends with:\\n\\n(.*?)\\n\\nGo on exactly/)?.[1];

// Asks as an SDK does and checks what every client relies on: one message, blocks in order, each closed.
async function stream(pair, request) {
  const s = claude(pair).messages.stream(request), seen = [];
  s.on("streamEvent", (e) => seen.push(e));
  const m = await s.finalMessage();
  assert.equal(seen.filter((e) => e.type === "message_start").length, 1, "the message begins twice");
  assert.deepEqual(seen.filter((e) => e.type === "content_block_start").map((e) => e.index), m.content.map((_, i) => i), "indexes are not in sequence");
  assert.deepEqual(seen.filter((e) => e.type === "content_block_stop").map((e) => e.index), m.content.map((_, i) => i), "a block is not closed");
  for (const b of m.content) if (b.type === "thinking" && b.signature) assert.equal(b.signature, sign(b.thinking), "signed thinking was changed");
  return m;
}
const kinds = (m) => m.content.map((b) => (b.type === "thinking" ? (b.signature ? "signed" : "half") : b.type));
const said = (m) => m.content.filter((b) => b.type === "text").map((b) => b.text).join("");

const ways = { cleanly: (s) => s.end(), "by a reset": (s, res) => setTimeout(() => res.destroy(), 40), "by an error event": (s) => s.end(named({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } })) };
for (const [how, cut] of Object.entries(ways))
  holds(`heal think: an answer that is cut ${how} within its thinking is made again behind it`, {
    async run(pair) {
      const blocks = [thinking(THOUGHT), text(TEXT)];
      pair.own.answer = (q, res) => (q.n === 1 ? cut(sse(res, within(blocks, 0)), res) : sse(res, bytes(blocks)).end());
      const m = await stream(pair, ask());
      assert.deepEqual(kinds(m), ["half", "signed", "text"]);
      assert.ok(THOUGHT.startsWith(m.content[0].thinking) && m.content[0].thinking);
      assert.deepEqual([m.content[1], m.content[2].text, m.stop_reason], [blocks[0], TEXT, "end_turn"]);
      assert.equal(m.usage.output_tokens, 7);
      assert.equal(pair.own.seen.length, 2);
      assert.deepEqual(body(pair.own.seen[1]), body(pair.own.seen[0]), "it is asked the same");
    },
  });

holds("heal think: what is said and done of an answer that is made again behind its thinking", {
  async run(pair) {
    const d = dialects.anthropic, blocks = [thinking(THOUGHT), text(TEXT)];
    pair.own.answer = (q, res) => sse(res, q.n === 1 ? within(blocks, 0) : bytes(blocks)).end();
    const r = await question(pair, d, { model: d.own, stream: true });
    assert.match(r.events.at(-1).raw, /^: daruma outcome=recovered attempts=2 kind=interrupted remedies=resume case=[0-9a-f]{16}$/);
    assert.match(pair.eventsText(), /the answer broke off before its first word: it is asked once more/);
    const health = (await pair.status()).places.filter((p) => p.who === "model");
    assert.ok(health.every((p) => p.breaker === "closed"), JSON.stringify(health));
  },
});

holds("heal think: text of an answer that is made again goes out as it comes", {
  async run(pair) {
    const blocks = [thinking(THOUGHT), text(TEXT)];
    let heard;
    const first = new Promise((ok) => (heard = ok));
    pair.own.answer = async (q, res) => {
      if (q.n === 1) return sse(res, within(blocks, 0)).end();
      const half = within(blocks, 1), s = sse(res, half);
      await first; // the rest is sent when the client has the beginning
      s.end(bytes(blocks).slice(half.length));
    };
    const s = claude(pair).messages.stream(ask());
    s.on("text", () => heard());
    assert.equal(said(await s.finalMessage()), TEXT);
  },
});

holds("heal think: an answer that is cut twice within its thinking is one answer", {
  async run(pair) {
    const blocks = [thinking(THOUGHT), text(TEXT)];
    pair.own.answer = (q, res) => sse(res, q.n < 3 ? within(blocks, 0) : bytes(blocks)).end();
    const m = await stream(pair, ask());
    assert.deepEqual(kinds(m), ["half", "half", "signed", "text"]);
    assert.equal(said(m), TEXT);
    assert.equal(pair.own.seen.length, 3);
  },
});

// What the first attempt brought, what the second is, and which blocks the client has.
const A = thinking("first thought"), B = thinking(THOUGHT), B2 = thinking("and one more"), sealed = { type: "redacted_thinking", data: "sealed" };
const cases = {
  "behind thinking that is whole": [before([A, text(TEXT)], 1), [B, text(TEXT)], ["signed", "text"]],
  "behind redacted thinking": [before([sealed, text(TEXT)], 1), [B, text(TEXT)], ["redacted_thinking", "text"]],
  "within its second thought": [within([A, B, text(TEXT)], 1), [B, text(TEXT)], ["signed", "half", "text"]],
  "within its thinking, and then thinks in two blocks": [within([A, text(TEXT)], 0), [B, B2, text(TEXT)], ["half", "signed", "signed", "text"]],
  "within its thinking, and then thinks in a block that is redacted": [within([A, text(TEXT)], 0), [B, sealed, text(TEXT)], ["half", "signed", "redacted_thinking", "text"]],
  "within its thinking, and then is signed but not shown": [within([A, text(TEXT)], 0), [thinking(""), B2, text(TEXT)], ["half", "signed", "signed", "text"]],
  "within its thinking, and then does not think": [within([A, text(TEXT)], 0), [text(TEXT)], ["half", "text"]],
};
for (const [what, [first, second, has]] of Object.entries(cases))
  holds(`heal think: an answer that is cut ${what}`, {
    async run(pair) {
      pair.own.answer = (q, res) => sse(res, q.n === 1 ? first : bytes(second)).end();
      const m = await stream(pair, ask());
      assert.deepEqual(kinds(m), has);
      assert.equal(said(m), TEXT);
      assert.equal(pair.own.seen.length, 2);
    },
  });

holds("heal think: an answer that is cut within thinking behind its text goes on with its text", {
  async run(pair) {
    const whole = [A, text(TEXT.slice(0, 40)), B, text(TEXT.slice(40))];
    pair.own.answer = (q, res) => {
      const anchor = told(body(q));
      sse(res, q.n === 1 ? within(whole, 2) : bytes([B2, text(TEXT.slice(TEXT.indexOf(anchor)))])).end();
    };
    const m = await stream(pair, ask());
    assert.deepEqual(kinds(m), ["signed", "text", "half", "text"]);
    assert.equal(said(m), TEXT);
  },
});

// What the provider's own tools did and the sources of a text are blocks and deltas that daruma does not tell apart.
const cite = (url) => ({ type: "web_search_result_location", url, title: url, encrypted_index: "E", cited_text: "fox" });
const search = [{ type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "a fox" } }, { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [{ type: "web_search_result", url: "https://fox.example", title: "fox", encrypted_content: "E" }] }];
const others = {
  "searched the web": [B, text("I shall search."), ...search, B2, text(TEXT)],
  "searched the web before it said anything": [...search, text(TEXT)],
  "names its sources": [B, text(TEXT.slice(0, 20)), { ...text(TEXT.slice(20, 40)), citations: [cite("https://a.example"), cite("https://b.example")] }, { ...text(TEXT.slice(40)), citations: [cite("https://c.example")] }],
  "was compacted": [{ type: "compaction", content: "what was said" }, B, text(TEXT)],
};
for (const [what, blocks] of Object.entries(others))
  holds(`heal think: an answer that ${what} and is made again behind half a thought has all its blocks`, {
    async run(pair) {
      const d = dialects.anthropic;
      pair.own.answer = (q, res) => sse(res, q.n === 1 ? within([A, text(TEXT)], 0) : bytes(blocks)).end();
      const r = await question(pair, d, { model: d.own, stream: true, more: ask({ tools: [{ type: "web_search_20250305", name: "web_search" }] }) });
      const got = r.events.map((e) => e.json).filter((e) => e?.index > 0).map((e) => ({ ...e, index: e.index - 1 }));
      assert.deepEqual(got, events(blocks).filter((e) => e.index >= 0));
      assert.equal(pair.own.seen.length, 2);
    },
  });

// Behind a call that is held for the end the block waits as well.
holds("heal think: a block that comes behind a call of an answer that is made again stands behind that call", {
  async run(pair) {
    pair.own.answer = (q, res) => sse(res, q.n === 1 ? within([A, text(TEXT)], 0) : bytes([B, call("toolu_1"), ...search])).end();
    const m = await stream(pair, ask({ tools: [{ name: "look", input_schema: object }, { type: "web_search_20250305", name: "web_search" }] }));
    assert.deepEqual(m.content.slice(1), [B, call("toolu_1"), ...search]);
    assert.equal(pair.own.seen.length, 2);
  },
});

holds("heal think: sources that come ahead of their text behind a call and a block stand in that text", {
  async run(pair) {
    const said = { ...text(TEXT), citations: [cite("https://a.example")] };
    pair.own.answer = (q, res) => sse(res, q.n === 1 ? within([A, text(TEXT)], 0) : bytes([B, call("toolu_1"), ...search, said])).end();
    const d = dialects.anthropic;
    const r = await question(pair, d, { model: d.own, stream: true, more: ask({ tools: [{ name: "look", input_schema: object }, { type: "web_search_20250305", name: "web_search" }] }) });
    const list = r.events.map((e) => e.json), named = list.find((e) => e?.delta?.type === "citations_delta");
    assert.equal(list.find((e) => e?.type === "content_block_start" && e.index === named.index).content_block.type, "text", r.text);
    assert.ok(list.some((e) => e?.delta?.text === TEXT && e.index === named.index), r.text);
  },
});

// The rest of an answer that is gone on with: its text is joined, and what comes behind the seam stands where it came. Whether
// the client has what comes in front of it cannot be told, unless the answer was begun for the model; and the sources of a text
// that is glued to another would name that one, too.
const done = { ...text(" Done."), citations: [cite("https://b.example")] };
const rests = {
  "searched the web first": [(rest) => [...search, text(rest)], () => []],
  "searched the web first, and has sources": [(rest) => [...search, text(rest), done], () => [text(" Done.")]],
  "searched the web within it": [(rest) => [text(rest.slice(0, 50)), ...search, text(rest.slice(50))], (rest) => [...search, text(rest.slice(50))]],
  "searched the web behind it": [(rest) => [text(rest), ...search, done], () => [...search, done]],
  "names its sources": [(rest) => [{ ...text(rest), citations: [cite("https://a.example")] }, done], () => [done]],
  "searched the web behind a call": [(rest) => [text(rest), call("toolu_1"), ...search], () => [call("toolu_1"), ...search]],
};
const begun = {
  "searched the web first": [(rest) => [...search, { ...text(rest), citations: [cite("https://a.example")] }, done], (rest) => [...search, text(rest), done]],
  "names its sources": [(rest) => [{ ...text(rest), citations: [cite("https://a.example")] }, done], () => [done]],
};
const half = TEXT.slice(0, 40), webs = [{ name: "look", input_schema: object }, { type: "web_search_20250305", name: "web_search" }];
for (const [how, list] of [["", rests], [" where it was begun for the model", begun]])
  for (const [what, [blocks, behind]] of Object.entries(list))
    holds(`heal think: an answer that is gone on with by one that ${what}${how} has each block in its place`, {
      async run(pair) {
        let rest;
        pair.own.answer = (q, res) => {
          if (q.n === 1) return sse(res, before([text(half)], 1).replace(/event: (content_block_stop|message_delta)[^]*/, "")).end();
          rest = TEXT.slice(how ? 40 : TEXT.indexOf(told(body(q))));
          sse(res, bytes(blocks(rest))).end();
        };
        const m = await stream(pair, ask({ tools: webs, ...(how && { thinking: undefined }) }));
        const last = behind(rest), first = TEXT.slice(0, TEXT.length - last.map((b) => (TEXT.endsWith(b.text) ? b.text : "")).join("").length);
        assert.deepEqual(JSON.parse(JSON.stringify(m.content)), JSON.parse(JSON.stringify([{ ...text(first) }, ...last])));
        assert.equal(pair.own.seen.length, 2);
      },
    });

// A server's tool call without a result would be refused when it comes back.
const [asks] = search, unavailable = { type: "web_search_tool_result", tool_use_id: asks.id, content: { type: "web_search_tool_result_error", error_code: "unavailable" } };
for (const [how, first] of [["its result", (b) => before(b, 2)], ["all of it came", (b) => within(b, 1)]])
  for (const [where, said] of [["behind text", [text("I shall search.")]], ["behind a thought", [A]]])
    holds(`heal think: a search that is cut ${where} before ${how} says that it failed, and the answer goes on behind it`, {
      async run(pair) {
        const again = structuredClone(search);
        for (const b of again) b.id ? (b.id = "srvtoolu_2") : (b.tool_use_id = "srvtoolu_2");
        pair.own.answer = (q, res) => sse(res, q.n === 1 ? first([...said, ...search, text(TEXT)]) : bytes([...(said[0] === A ? [B] : said), ...again, text(TEXT)])).end();
        const m = await stream(pair, ask({ tools: webs }));
        assert.deepEqual([m.content[1].type, ...m.content.slice(2)], [asks.type, unavailable, ...again, text(TEXT)]);
        assert.equal(pair.own.seen.length, 2);
      },
    });

// Who gets the half a second time as if it were the whole would take the two for one.
for (const [name, client] of [["openai", "openai"], ["responses", "responses"], ["anthropic", "openai"]])
  holds(`heal think ${name}: a refusal of ${client} that is cut is not said twice`, {
    config: (c) => name !== client && (c.models.find((x) => x.name === dialects[name].own).targets = [target[client]]),
    async run(pair) {
      const d = dialects[name], w = wires[client], half = "I'm sorry, but I ca", rest = "n't help with that.";
      const part = (refusal) => (client === "openai" ? w.chunk({ refusal }) : named({ type: "response.refusal.delta", sequence_number: 4, item_id: "msg_1", output_index: 0, content_index: 0, delta: refusal }));
      pair.own.answer = (q, res) => (q.n === 1 ? sse(res, w.opening() + part(half)).end() : sse(res, w.opening() + part(half) + part(rest) + w.closing()).end());
      const r = await question(pair, d, { model: d.own, stream: true });
      assert.equal(r.text.split("I'm sorry").length, 2, r.text);
      assert.deepEqual([d.ended(r.events), d.failed(r.events)].map(Boolean), [false, true], r.text);
    },
  });

// Some models begin with blank lines, or with code that is indented. Anthropic takes no text of white space alone.
const blanks = {
  "blank text, then half a thought,": [within([split("\n\n"), A, text(TEXT)], 1), [B, text(`\n${TEXT}`)], ["text", "half", "signed", "text"], `\n\n${TEXT}`],
  "whole thinking, then blank text,": [within([A, split("\n\n"), text(TEXT)], 1), [B, text(`\n\n${TEXT}`)], ["signed", "text"], `\n\n${TEXT}`],
  "half a thought and now begins with blank lines": [within([A, text(TEXT)], 0), [split("\n", "\n", "    ", TEXT)], ["half", "text"], `\n\n    ${TEXT}`],
  "blank lines and now begins indented": [within([split("\n\n"), text(TEXT)], 0), [split("  ", "\n", `  ${TEXT}`)], ["text"], `\n\n  \n  ${TEXT}`],
  "blank lines and now begins with fewer": [within([split("\n\n"), text(TEXT)], 0), [split("\n", "  ", TEXT)], ["text"], `\n\n  ${TEXT}`],
};
for (const [what, [first, second, has, whole]] of Object.entries(blanks))
  holds(`heal think: an answer that is cut behind ${what} is made again`, {
    async run(pair) {
      pair.own.answer = (q, res) => sse(res, q.n === 1 ? first : bytes(second)).end();
      const m = await stream(pair, ask());
      assert.deepEqual(kinds(m), has);
      assert.equal(said(m), whole);
      assert.equal(pair.own.seen.length, 2);
    },
  });

holds("heal think openai: an answer that is cut behind blank text is made again", {
  async run(pair) {
    const w = wires.openai, d = dialects.openai, begin = w.opening() + w.chunk({ reasoning_content: "hm" }) + w.piece("\n\n");
    pair.own.answer = (q, res) => sse(res, q.n === 1 ? begin : begin + w.piece(TEXT) + w.closing()).end();
    const r = await question(pair, d, { model: d.own, stream: true });
    assert.deepEqual([r.said, !!d.ended(r.events), pair.own.seen.length], [`\n\n${TEXT}`, true, 2], r.text);
  },
});

holds("heal think: words that shall be JSON, are none and are more than is held, behind blank text", {
  async run(pair) {
    const most = "y".repeat(1 << 16), words = ["Here: ", ...Array(17).fill(most), "\n", "\n", "end"];
    pair.own.answer = (q, res) => sse(res, q.n === 1 ? within([split("\n\n\n"), text(TEXT)], 0) : bytes([split(...words)])).end();
    const m = await stream(pair, ask({ output_config: { format: { type: "json_schema", schema: object } } }));
    assert.ok(said(m) === `\n\n\n${words.join("")}`, `${said(m).length} bytes`);
  },
});

holds("heal think openai: an answer that is made again behind half a thought keeps the blank lines that it begins with", {
  async run(pair) {
    const w = wires.openai, d = dialects.openai, begin = w.opening() + w.chunk({ reasoning_content: "hm" });
    pair.own.answer = (q, res) => sse(res, q.n === 1 ? begin : begin + ["\n", "\n", "  - a"].map((t) => w.piece(t)).join("") + w.closing()).end();
    const r = await question(pair, d, { model: d.own, stream: true });
    assert.deepEqual([r.said, !!d.ended(r.events), pair.own.seen.length], ["\n\n  - a", true, 2], r.text);
  },
});

holds("heal think: two thoughts of a server that numbers all its blocks alike are two", {
  async run(pair) {
    const alike = events([B, B2, text(TEXT)]).map((e) => named(e.index ? { ...e, index: 0 } : e)).join("");
    pair.own.answer = (q, res) => sse(res, q.n === 1 ? within([A, text(TEXT)], 0) : alike).end();
    const m = await stream(pair, ask());
    assert.deepEqual(m.content.slice(1), [B, B2, text(TEXT)]);
  },
});

// A delta of a kind that nobody knows yet.
holds("heal think: an unknown delta within a call of an answer that is made again does not cost the call", {
  async run(pair) {
    const all = events([B, call("toolu_1")]).map(named), at = all.findIndex((e) => e.includes("input_json_delta"));
    all.splice(at, 0, named({ type: "content_block_delta", index: 1, delta: { type: "caller_delta", caller: "x" } }));
    pair.own.answer = (q, res) => sse(res, q.n === 1 ? within([A, text(TEXT)], 0) : all.join("")).end();
    const m = await stream(pair, ask({ tools: [{ name: "look", input_schema: object }] }));
    assert.deepEqual([kinds(m), m.content[2].input, pair.own.seen.length], [["half", "signed", "tool_use"], { city: "Oslo" }, 2]);
  },
});

holds("heal think: thinking that was held behind a call when its answer was cut is none that the client has", {
  async run(pair) {
    const blocks = [call("toolu_1"), A, text(TEXT)];
    pair.own.answer = (q, res) => sse(res, q.n === 1 ? before(blocks, 2) : bytes([B, call("toolu_2")])).end();
    const m = await stream(pair, ask({ tools: [{ name: "look", input_schema: object }] }));
    assert.deepEqual([kinds(m), m.content.at(-1).input], [["signed", "tool_use"], { city: "Oslo" }]);
  },
});

holds("heal think: arguments that follow the beginning of another block are those of their call", {
  config: (c) => (c.models.find((x) => x.name === "m-own").targets = [target.anthropic]),
  async run(pair) {
    const d = dialects.openai, w = wires.openai, [start, open, ...rest] = events([call("toolu_1")]);
    pair.own.answer = (q, res) => sse(res, [start, open, { type: "content_block_start", index: 1, content_block: { type: "unknown", x: 1 } }, ...rest.slice(0, -2), { type: "content_block_stop", index: 1 }, ...rest.slice(-2)].map(named).join("")).end();
    const r = await question(pair, d, { model: d.own, stream: true, more: { tools: d.tools } });
    assert.deepEqual(w.calls(r).map(([id, name, args]) => [id, name, JSON.parse(args)]), [["toolu_1", "look", { city: "Oslo" }]], r.text);
  },
});

holds("heal think: thinking of a server that does not announce its blocks is none of the half that the client has", {
  async run(pair) {
    const bare = events([B, text(TEXT)]).filter((e) => !/^content_block_st/.test(e.type)).map(named).join("");
    pair.own.answer = (q, res) => sse(res, q.n === 1 ? within([A, text(TEXT)], 0) : bare).end();
    const m = await stream(pair, ask());
    assert.deepEqual(m.content.slice(1), [B, text(TEXT)]);
  },
});

const stops = { "within its thinking": [within([A, text(TEXT)], 0), [B, text(TEXT)]], "within its text": [before([text(TEXT.slice(0, 40)), text("")], 1), [text(TEXT.slice(40))]] };
for (const [what, [first, second]] of Object.entries(stops))
  holds(`heal think: an answer that is cut ${what} says which stop sequence ended it`, {
    async run(pair) {
      const b = bytes(second, { delta: { stop_reason: "stop_sequence", stop_sequence: 'E"ND' } });
      pair.own.answer = (q, res) => sse(res, q.n === 1 ? first : b).end();
      const m = await stream(pair, ask({ stop_sequences: ['E"ND'] }));
      assert.deepEqual([said(m), m.stop_reason, m.stop_sequence], [TEXT, "stop_sequence", 'E"ND']);
    },
  });

holds("heal think: an answer that is cut behind the whole thinking of a server that signs none has no second thinking", {
  async run(pair) {
    const blocks = [thinking(THOUGHT, ""), text(TEXT)];
    pair.own.answer = (q, res) => sse(res, q.n === 1 ? before(blocks, 1) : bytes(blocks)).end();
    const m = await stream(pair, ask());
    assert.deepEqual(m.content.map((b) => b.thinking ?? b.text), [THOUGHT, TEXT]);
  },
});

holds("heal think: an answer that is cut twice, of a server that signs none, has its whole thinking once", {
  async run(pair) {
    const blocks = [thinking(THOUGHT, ""), text(TEXT)];
    pair.own.answer = (q, res) => sse(res, q.n === 1 ? within(blocks, 0) : q.n === 2 ? before(blocks, 1) : bytes([thinking("once more", ""), text(TEXT)])).end();
    const m = await stream(pair, ask());
    assert.deepEqual(m.content.slice(1).map((b) => b.thinking ?? b.text), [THOUGHT, TEXT]);
    assert.equal(pair.own.seen.length, 3);
  },
});

// The history goes back as the SDK has it, turn by turn, and each turn is cut.
holds("heal think: a tool loop goes on with what the client has of answers that were cut within their thinking", {
  async run(pair) {
    const messages = [{ role: "user", content: "look at three places" }], calls = [];
    pair.own.answer = (q, res) => {
      const b = body(q), no = refusal(b), turn = b.messages.filter((m) => m.role === "assistant").length;
      calls[turn] = (calls[turn] ?? 0) + 1;
      if (no) return refuse(res, no);
      const blocks = [thinking(`${THOUGHT} ${turn}`), turn < 3 ? call(`toolu_${turn}`) : text(TEXT)];
      return sse(res, calls[turn] === 1 ? within(blocks, 0) : bytes(blocks)).end();
    };
    for (let turn = 0; turn < 4; turn++) {
      const m = await stream(pair, ask({ messages, tools: [{ name: "look", input_schema: object }] }));
      assert.deepEqual(kinds(m), ["half", "signed", turn < 3 ? "tool_use" : "text"]);
      if (turn < 3) assert.deepEqual(m.content[2].input, { city: "Oslo" });
      messages.push({ role: "assistant", content: m.content }, { role: "user", content: m.content.filter((b) => b.type === "tool_use").map((b) => ({ type: "tool_result", tool_use_id: b.id, content: "sunny" })) });
    }
    assert.deepEqual(calls, [2, 2, 2, 2], "what is refused was sent");
    const sent = body(pair.own.seen.at(-1));
    assert.deepEqual(sent.messages.filter((m) => m.role === "assistant").map((m) => m.content), [0, 1, 2].map((i) => [thinking(`${THOUGHT} ${i}`), call(`toolu_${i}`)]), "what the model said goes back as it was");
    assert.equal(sent.thinking.type, "enabled");
    assert.match(pair.eventsText(), /"known_mendings_applied"[^\n]*thinking that broke off before its signature/);
  },
});

holds("heal think: a conversation whose answer was cut within its thinking says what was left out of its next request", {
  async run(pair) {
    const blocks = [thinking(THOUGHT), text(TEXT)];
    pair.own.answer = (q, res) => (refusal(body(q)) ? refuse(res, refusal(body(q))) : body(q).stream ? sse(res, q.n === 1 ? within(blocks, 0) : bytes(blocks)).end() : wires.anthropic.answer(res, "fine"));
    const next = async (first, content) => {
      const { data: m, response } = await claude(pair).messages.create(ask({ messages: [...first, { role: "assistant", content }, { role: "user", content: "and now?" }] })).withResponse();
      return [m.content[0].text, ...["remedies", "attempts", "outcome"].map((h) => response.headers.get(`x-daruma-${h}`))];
    };
    const m = await stream(pair, ask());
    assert.deepEqual(await next(ask().messages, m.content), ["fine", "mend_messages", "1", "recovered"]);
    assert.deepEqual(body(pair.own.seen.at(-1)).messages[1].content, blocks);
    // A conversation of which nothing is known is sent as it is.
    assert.deepEqual(await next([{ role: "user", content: "another one" }], blocks), ["fine", "none", "1", "ok"]);
  },
});

holds("heal think: where nobody knows that thinking was cut, its refusal costs one call and only what has no signature", {
  async run(pair) {
    const d = dialects.anthropic;
    pair.own.answer = (q, res) => (refusal(body(q)) ? refuse(res, refusal(body(q))) : wires.anthropic.answer(res, "fine"));
    const loop = [{ role: "user", content: "look" }, { role: "assistant", content: [thinking("The us", ""), thinking(THOUGHT), call("toolu_1")] }, { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "sunny" }] }];
    const r = await question(pair, d, { model: d.own, more: ask({ messages: loop }) });
    assert.deepEqual([r.status, r.said, r.headers["x-daruma-remedies"]], [200, "fine", "mend_messages"], r.text);
    const sent = body(pair.own.seen.at(-1));
    assert.equal(pair.own.seen.length, 2);
    assert.deepEqual([sent.messages[1].content, sent.thinking.type], [[thinking(THOUGHT), call("toolu_1")], "enabled"]);
  },
});

// Nobody can tell by the history that its provider signs: the first refusal says it, for good.
holds("heal think: half a thought that is the only one of its loop costs one refused call, and none from then on", {
  async run(pair) {
    const messages = [{ role: "user", content: "look at three places" }], calls = [];
    pair.own.answer = (q, res) => {
      const b = body(q), no = refusal(b), turn = b.messages.filter((m) => m.role === "assistant").length;
      calls[turn] = (calls[turn] ?? 0) + 1;
      if (no) return refuse(res, no);
      const made = turn < 3 ? [call(`toolu_${turn}`)] : [text(TEXT)];
      return sse(res, q.n === 1 ? within([thinking(THOUGHT), ...made], 0) : bytes(made)).end();
    };
    for (let turn = 0; turn < 4; turn++) {
      const m = await stream(pair, ask({ messages, tools: [{ name: "look", input_schema: object }] }));
      assert.deepEqual(kinds(m), [...(turn ? [] : ["half"]), turn < 3 ? "tool_use" : "text"]);
      messages.push({ role: "assistant", content: m.content }, { role: "user", content: m.content.filter((b) => b.type === "tool_use").map((b) => ({ type: "tool_result", tool_use_id: b.id, content: "sunny" })) });
    }
    assert.deepEqual(calls, [2, 2, 1, 1], "what is refused was sent");
    const sent = body(pair.own.seen.at(-1));
    assert.deepEqual([sent.messages[1].content, sent.thinking.type], [[call("toolu_0")], "disabled"]);
  },
});

// Clients plan with the number: it is that of what goes to the model, and the half would be refused here as well.
holds("heal think: half a thought is left out of a count of tokens, which says so", {
  async run(pair) {
    const blocks = [thinking(THOUGHT), text(TEXT)];
    pair.own.answer = (q, res) => (q.url.includes("count_tokens") ? (refusal(body(q)) ? refuse(res, refusal(body(q))) : json(res, 200, { input_tokens: 7 })) : sse(res, q.n === 1 ? within(blocks, 0) : bytes(blocks)).end());
    const m = await stream(pair, ask()), messages = [...ask().messages, { role: "assistant", content: m.content }, { role: "user", content: "and now?" }];
    const count = (list) => claude(pair).messages.countTokens({ model: "c-own", messages: list, thinking: ask().thinking }).withResponse();
    const { data: n, response: r } = await count(messages);
    assert.deepEqual([n.input_tokens, r.headers.get("x-daruma-remedies")], [7, "mend_messages"]);
    assert.deepEqual(body(pair.own.seen.at(-1)).messages, messages.map((x, i) => (i === 1 ? { ...x, content: m.content.slice(1) } : x)));
    const other = [{ role: "user", content: "another one" }, ...messages.slice(1)];
    await assert.rejects(count(other));
    assert.deepEqual(body(pair.own.seen.at(-1)).messages, other, "of a conversation that nobody knows all is counted");
  },
});

holds("heal think: half a thought stays in a count of tokens once nothing is mended any more", {
  async run(pair) {
    const blocks = [thinking(THOUGHT), text(TEXT)];
    pair.own.answer = (q, res) => (q.url.includes("count_tokens") ? json(res, 200, { input_tokens: 7 }) : sse(res, q.n === 1 ? within(blocks, 0) : bytes(blocks)).end());
    const m = await stream(pair, ask()), messages = [...ask().messages, { role: "assistant", content: m.content }, { role: "user", content: "and now?" }];
    pair.write((c) => (c.recovery.mend = false));
    pair.gateway().kill("SIGHUP");
    await until("it is counted as it came", async () => {
      await claude(pair).messages.countTokens({ model: "c-own", messages, thinking: ask().thinking });
      return JSON.stringify(body(pair.own.seen.at(-1)).messages) === JSON.stringify(messages);
    });
  },
});

// The call is left out, and nothing is asked again: the answer ends behind the thinking.
holds("heal think: half a thought of an answer that is ended behind it is left out of the next request", {
  async run(pair) {
    const tools = [{ name: "look", input_schema: object }], first = [{ role: "user", content: "go" }, { role: "assistant", content: [thinking(THOUGHT), text(TEXT)] }, { role: "user", content: "look" }];
    const call1 = events([thinking("", ""), call("toolu_1")]).filter((e) => e.index === 1 && e.type !== "content_block_stop").slice(0, 2).map(named).join("");
    const over = events([]).slice(1).map((e) => named(e.delta ? { ...e, delta: { ...e.delta, stop_reason: "max_tokens" } } : e)).join("");
    let refused = 0;
    pair.own.answer = (q, res) => {
      const no = refusal(body(q));
      refused += !!no;
      return no ? refuse(res, no) : body(q).stream ? sse(res, within([A, text(TEXT)], 0) + call1 + over).end() : wires.anthropic.answer(res, "fine");
    };
    const m = await stream(pair, ask({ messages: first, tools }));
    assert.deepEqual([kinds(m), m.stop_reason], [["half"], "max_tokens"]);
    const messages = [...first, { role: "assistant", content: [...m.content, text("x")] }, { role: "user", content: "and now?" }];
    await claude(pair).messages.create(ask({ messages, tools }));
    assert.equal(refused, 0);
    assert.deepEqual(body(pair.own.seen.at(-1)).messages[3].content, [text("x")]);
  },
});

// Servers that speak Anthropic's dialect and sign nothing want their thinking back.
holds("heal think: thinking of a server that signs none goes back as it was", {
  async run(pair) {
    const d = dialects.anthropic, blocks = [thinking(THOUGHT, ""), text(TEXT)];
    pair.own.answer = (q, res) => (body(q).stream ? sse(res, q.n === 1 ? within(blocks, 0) : bytes(blocks)).end() : wires.anthropic.answer(res, "fine"));
    const m = await stream(pair, ask());
    assert.deepEqual(m.content.map((b) => b.thinking ?? b.text), [m.content[0].thinking, THOUGHT, TEXT]);
    const messages = [...ask().messages, { role: "assistant", content: m.content }, { role: "user", content: "and now?" }];
    await question(pair, d, { model: d.own, more: { messages } });
    assert.deepEqual(body(pair.own.seen.at(-1)).messages, messages);
  },
});

holds("heal think: where something may have been done that must not be done twice, a cut within thinking is not asked again", {
  async run(pair) {
    pair.own.answer = (q, res) => sse(res, within([thinking(THOUGHT), text(TEXT)], 0)).end();
    await assert.rejects(stream(pair, ask({ tools: [{ type: "code_execution_20250825", name: "code_execution" }] })));
    assert.equal(pair.own.seen.length, 1);
  },
});

holds("heal think: an answer that is cut within its thinking is made by a provider that speaks another dialect", {
  config: (c) => {
    c.models.find((x) => x.name === "c-own").targets = [target.anthropic.replace(/\/.*/, "/cut"), target.openai.replace(/\/.*/, "/there")];
    c.providers.forEach((p) => p.keys.pop());
  },
  async run(pair) {
    const w = wires.openai;
    pair.own.answer = (q, res) => {
      if (q.body.includes('"cut"')) return q.n === 1 ? sse(res, within([thinking(THOUGHT), text(TEXT)], 0)).end() : json(res, 529, { type: "error", error: { type: "overloaded_error", message: "Overloaded" } });
      return sse(res, w.opening(), w.piece(TEXT.slice(0, 20)), w.piece(TEXT.slice(20)), w.closing()).end();
    };
    const m = await stream(pair, ask());
    assert.deepEqual(kinds(m), ["half", "text"]);
    assert.equal(said(m), TEXT);
  },
});

// Frameworks keep their own form of what was said; each hands it back with its next question.
const frameworks = {
  "the AI SDK": async (pair, ask) => {
    const { streamText } = await import("ai"), { createAnthropic } = await import("@ai-sdk/anthropic");
    const model = createAnthropic({ apiKey: "sk-client", baseURL: `${pair.base}/v1` })("c-own"), messages = [];
    globalThis.AI_SDK_LOG_WARNINGS = false;
    return ask(async (words) => {
      messages.push({ role: "user", content: words });
      const r = streamText({ model, messages, maxRetries: 0, providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens: 2000 } } } });
      const said = await r.text;
      messages.push(...(await r.response).messages);
      return said;
    });
  },
  LangChain: async (pair, ask) => {
    const { ChatAnthropic } = await import("@langchain/anthropic");
    const model = new ChatAnthropic({ model: "c-own", apiKey: "sk-client", maxRetries: 0, maxTokens: 4000, thinking: { type: "enabled", budget_tokens: 2000 }, anthropicApiUrl: pair.base }), messages = [];
    return ask(async (words) => {
      let all;
      messages.push(["user", words]);
      for await (const c of await model.stream(messages)) all = all ? all.concat(c) : c;
      messages.push(all);
      return all.text;
    });
  },
};
for (const [name, run] of Object.entries(frameworks))
  holds(`heal think: ${name} has the whole answer of each turn that was cut within its thinking`, {
    limit: 30000,
    async run(pair) {
      const asked = new Map();
      pair.own.answer = (q, res) => {
        const b = body(q), no = refusal(b), turn = b.messages.filter((m) => m.role === "assistant").length;
        if (no) return refuse(res, no);
        asked.set(turn, (asked.get(turn) ?? 0) + 1);
        const blocks = [thinking(`${THOUGHT} ${turn}`), text(`${TEXT} ${turn}`)];
        sse(res, asked.get(turn) === 1 ? within(blocks, 0) : bytes(blocks)).end();
      };
      await run(pair, async (say) => {
        for (let turn = 0; turn < 3; turn++) assert.equal(await say(`turn ${turn}`), `${TEXT} ${turn}`);
      });
      assert.equal(pair.own.seen.length, 6, "what is refused was sent");
    },
  });

// Each prompt names the byte behind which its first answer is cut.
const cutOf = (q, say) => Number(q.body.toString().match(/cut at (\d+)\./)?.[1] ?? -1);
async function everyByte(total, one, lanes = 12) {
  let next = 0;
  await Promise.all(Array.from({ length: lanes }, async () => {
    while (next < total) await one(next++);
  }));
}

holds("heal think: an answer that is cut at any byte arrives whole, nothing of it twice", {
  limit: 240000,
  async run(pair) {
    const blocks = [thinking(THOUGHT), text(TEXT)], all = bytes(blocks), asked = new Map();
    pair.own.answer = (q, res) => {
      const at = cutOf(q), b = body(q), n = (asked.get(at) ?? 0) + 1, anchor = told(b);
      asked.set(at, n);
      const no = refusal(b);
      if (no) return refuse(res, no);
      if (n === 1) return sse(res, all.slice(0, at)).end();
      if (anchor) return sse(res, bytes([B2, text(TEXT.slice(TEXT.indexOf(anchor)))])).end();
      const shown = b.messages.at(-2)?.role === "assistant" ? b.messages.at(-2).content : ""; // all but the last words
      return sse(res, bytes([thinking(THOUGHT), text(TEXT.slice(typeof shown === "string" ? shown.length : shown[0].text.length))])).end();
    };
    const counts = { half: 0, made: 0 };
    await everyByte(all.length, async (at) => {
      const m = await stream(pair, ask({ messages: [{ role: "user", content: `cut at ${at}.` }] })).catch((e) => assert.fail(`cut at ${at}: ${e}`));
      const has = kinds(m), halves = m.content.filter((b) => b.type === "thinking" && !b.signature);
      assert.equal(said(m), TEXT, `cut at ${at}: ${JSON.stringify(m.content)}`);
      assert.equal(has.filter((k) => k === "signed").length, 1, `cut at ${at}: ${has}`);
      assert.ok(m.content.some((b) => b.thinking === THOUGHT && b.signature === sign(THOUGHT)), `cut at ${at}`);
      assert.ok(halves.length <= 1 && halves.every((b) => THOUGHT.startsWith(b.thinking)), `cut at ${at}`);
      assert.equal(has.at(-1), "text");
      counts.half += halves.length;
      counts.made += asked.get(at) > 1;
    });
    assert.ok(counts.half > 200 && counts.made > 1000, JSON.stringify(counts));
  },
});

/* ---- the others ---- */

holds("heal think gemini: an answer that is cut within its thoughts is made again behind them, at any byte", {
  limit: 120000,
  async run(pair) {
    const chunk = (parts, more = {}) => data({ candidates: [{ content: { parts, role: "model" }, index: 0, ...more }], modelVersion: "g-own", responseId: "gem-1", usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 } });
    const all = pieces(THOUGHT).map((t) => chunk([{ text: t, thought: true }])).join("") + chunk([{ functionCall: { name: "look", args: { city: "Oslo" } }, thoughtSignature: "c2ln" }], { finishReason: "STOP" });
    const asked = new Map(), client = new GoogleGenAI({ apiKey: "sk-client", httpOptions: { baseUrl: pair.base } });
    pair.own.answer = (q, res) => {
      const at = cutOf(q), n = (asked.get(at) ?? 0) + 1;
      asked.set(at, n);
      sse(res, n === 1 ? all.slice(0, at) : all).end();
    };
    await everyByte(all.length, async (at) => {
      const parts = [];
      for await (const one of await client.models.generateContentStream({ model: "g-own", contents: `cut at ${at}.`, config: { tools: [{ functionDeclarations: [{ name: "look", parametersJsonSchema: object }] }] } })) parts.push(...(one.candidates?.[0]?.content?.parts ?? []));
      const calls = parts.filter((p) => p.functionCall), thoughts = parts.filter((p) => p.thought).map((p) => p.text).join("");
      assert.deepEqual(calls.map((p) => [p.functionCall.name, p.functionCall.args, p.thoughtSignature]), [["look", { city: "Oslo" }, "c2ln"]], `cut at ${at}: ${JSON.stringify(parts)}`);
      assert.ok(THOUGHT.startsWith(thoughts), `cut at ${at}: ${thoughts}`);
    });
  },
});

holds("heal think responses: an answer that is cut within its reasoning is made again, and the half is no part of it", {
  async run(pair) {
    const w = wires.responses, d = dialects.responses;
    const reasoning = named({ type: "response.output_item.added", sequence_number: 2, output_index: 0, item: { id: "rs_1", type: "reasoning", summary: [] } }) + named({ type: "response.reasoning_summary_part.added", sequence_number: 3, item_id: "rs_1", output_index: 0, summary_index: 0, part: { type: "summary_text", text: "" } }) + named({ type: "response.reasoning_summary_text.delta", sequence_number: 4, item_id: "rs_1", output_index: 0, summary_index: 0, delta: "let me think about" });
    pair.own.answer = (q, res) => (q.n % 2 ? sse(res, w.opening().replace(/event: response.output_item.added[^]*/, "") + reasoning).end() : sse(res, w.opening(), w.piece(TEXT.slice(0, 30)), w.piece(TEXT.slice(30)), w.closing()).end());
    const s = new OpenAI({ apiKey: "sk-client", baseURL: `${pair.base}/v1`, maxRetries: 0 }).responses.stream({ model: "m-own", input: "go" });
    const done = await s.finalResponse();
    assert.deepEqual([done.output_text, done.status, done.output.map((o) => o.type)], [TEXT, "completed", ["message"]]);
    const r = await question(pair, d, { model: d.own, stream: true }), list = r.events.map((e) => e.json).filter(Boolean);
    assert.deepEqual(list.map((e) => e.sequence_number), list.map((_, i) => i), "the numbers have a gap");
    assert.deepEqual(list.filter((e) => e.type === "response.output_item.added").map((e) => [e.output_index, e.item.type]), [[0, "reasoning"], [1, "message"]]);
    const over = list.filter((e) => e.type === "response.output_item.done");
    assert.deepEqual(over.map((e) => [e.output_index, e.item.type]), [[0, "reasoning"], [1, "message"]]); // OpenAI's SDK insists on it
    assert.deepEqual(over[0].item, { id: "rs_1", type: "reasoning", summary: [] });
    assert.deepEqual(list.at(-1).response.output.map((o) => o.type), ["message"]);
    assert.equal(pair.own.seen.length, 4);
  },
});

// What the provider's own tools did goes out as it came; behind a call that is held it goes out with the end.
const item = (at, o) => [{ type: "response.output_item.added", output_index: at, item: o }, { type: "response.output_item.done", output_index: at, item: o }];
const message = (at, t) => {
  const whole = { id: `msg_${at}`, type: "message", status: "completed", role: "assistant", content: [{ type: "output_text", text: t, annotations: [] }] }, part = { item_id: whole.id, output_index: at, content_index: 0 };
  return [{ type: "response.output_item.added", output_index: at, item: { ...whole, status: "in_progress", content: [] } }, { type: "response.content_part.added", ...part, part: { type: "output_text", text: "", annotations: [] } }, ...pieces(t).map((delta) => ({ type: "response.output_text.delta", ...part, delta })), { type: "response.output_text.done", ...part, text: t }, { type: "response.content_part.done", ...part, part: whole.content[0] }, { type: "response.output_item.done", output_index: at, item: whole }];
};
const found = (at) => item(at, { id: `ws_${at}`, type: "web_search_call", status: "completed", action: { type: "search", query: "a fox" } });
const behind = {
  "a search": [[...found(0), ...message(1, TEXT)], ["web_search_call", "message"], TEXT],
  "a list of tools": [[...item(0, { id: "mcpl_0", type: "mcp_list_tools", server_label: "a", tools: [] }), ...message(1, TEXT)], ["mcp_list_tools", "message"], TEXT],
  "a search between two texts, and a call,": [[...message(0, "I search. "), ...found(1), ...message(2, "Found."), ...item(3, { id: "fc_3", type: "function_call", status: "completed", call_id: "call_3", name: "look", arguments: '{"city":"Oslo"}' }), ...message(4, "After.")], ["message", "web_search_call", "message", "function_call", "message"], "I search. Found.After."],
};
for (const [what, [rest, types, words]] of Object.entries(behind))
  holds(`heal think responses: text behind ${what} of an answer that is made again is there`, {
    async run(pair) {
      const d = dialects.responses, response = (status) => ({ id: "resp_1", object: "response", created_at: 1, status, model: "m-own", error: null, incomplete_details: null, output: [], usage: null });
      const begin = [{ type: "response.created", response: response("in_progress") }], half = [item(0, { id: "rs_0", type: "reasoning", summary: [] })[0], { type: "response.reasoning_summary_text.delta", item_id: "rs_0", output_index: 0, summary_index: 0, delta: "let me" }];
      const put = (list) => list.map((e, sequence_number) => named({ ...e, sequence_number })).join("");
      pair.own.answer = (q, res) => sse(res, put(q.n === 1 ? [...begin, ...half] : [...begin, ...rest, { type: "response.completed", response: response("completed") }])).end();
      const r = await question(pair, d, { model: d.own, stream: true, more: { tools: [{ type: "web_search" }, ...d.tools] } });
      const last = r.events.map((e) => e.json).filter((e) => e?.type === "response.completed");
      assert.deepEqual([r.said, last.length, last[0]?.response.output.map((o) => o.type)], [words, 1, types], r.text);
    },
  });

// Codex keeps each item that is done, and hands it back without its id: nobody can look it up where nothing is stored.
// Sources of a text stand in events of their own (Responses), or beside it (Chat). Where the text behind them begins anew their places in it are right.
const source = (n) => ({ type: "url_citation", url: `https://${n}.example`, title: n, start_index: 0, end_index: 9 });
holds("heal think responses: sources of an answer that is made again behind half a thought are there, at its end as well", {
  async run(pair) {
    const response = (status) => ({ id: "resp_1", object: "response", created_at: 1, status, model: "m-own", error: null, incomplete_details: null, output: [], usage: null });
    const begin = [{ type: "response.created", response: response("in_progress") }], half = [item(0, { id: "rs_0", type: "reasoning", summary: [] })[0], { type: "response.reasoning_summary_part.added", item_id: "rs_0", output_index: 0, summary_index: 0, part: { type: "summary_text", text: "" } }, { type: "response.reasoning_summary_text.delta", item_id: "rs_0", output_index: 0, summary_index: 0, delta: "let me" }];
    const put = (list) => list.map((e, sequence_number) => named({ ...e, sequence_number })).join("");
    const cited = message(1, TEXT).flatMap((e) => (e.type === "response.output_text.done" ? [...["a", "b"].map((n, annotation_index) => ({ type: "response.output_text.annotation.added", item_id: "msg_1", output_index: 1, content_index: 0, annotation_index, annotation: source(n) })), e] : [e]));
    pair.own.answer = (q, res) => sse(res, put(q.n === 1 ? [...begin, ...half] : [...begin, ...found(0), ...cited, { type: "response.completed", response: response("completed") }])).end();
    const s = new OpenAI({ apiKey: "sk-client", baseURL: `${pair.base}/v1`, maxRetries: 0 }).responses.stream({ model: "m-own", input: "go", tools: [{ type: "web_search" }] }), seen = [];
    s.on("event", (e) => seen.push(e));
    const done = await s.finalResponse(), told = seen.filter((e) => e.type === "response.output_text.annotation.added");
    assert.deepEqual(told.map((e) => [e.annotation_index, e.annotation]), [[0, source("a")], [1, source("b")]]);
    assert.deepEqual(seen.map((e) => e.sequence_number), seen.map((_, i) => i));
    assert.deepEqual(done.output.map((o) => o.type), ["web_search_call", "message"]);
    assert.deepEqual(done.output[1].content.map((c) => [c.text, c.annotations]), [[TEXT, [source("a"), source("b")]]]);
    assert.deepEqual(seen.filter((e) => e.type === "response.content_part.done").map((e) => e.part.annotations.length), [2]);
  },
});

holds("heal think openai: sources of an answer that is made again behind half a thought are there", {
  async run(pair) {
    const w = wires.openai, d = dialects.openai, begin = w.opening() + w.chunk({ reasoning_content: "hm" });
    pair.own.answer = (q, res) => sse(res, q.n === 1 ? begin : begin + w.piece(TEXT) + w.chunk({ annotations: [{ type: "url_citation", url_citation: source("a") }] }) + w.closing()).end();
    const r = await question(pair, d, { model: d.own, stream: true });
    assert.deepEqual([r.said, !!d.ended(r.events), pair.own.seen.length], [TEXT, true, 2], r.text);
    assert.deepEqual(r.events.flatMap((e) => e.json?.choices?.[0]?.delta?.annotations ?? []), [{ type: "url_citation", url_citation: source("a") }]);
  },
});

holds("heal think responses: half a reasoning item that comes back is left out, whole ones are not", {
  async run(pair) {
    const w = wires.responses, client = new OpenAI({ apiKey: "sk-client", baseURL: `${pair.base}/v1`, maxRetries: 0 });
    const input = [{ role: "user", content: "go" }], whole = { type: "reasoning", summary: [], encrypted_content: "sealed" }, open = { type: "reasoning", summary: [], content: [{ type: "reasoning_text", text: "in plain words" }] };
    const half = named({ type: "response.output_item.added", sequence_number: 2, output_index: 0, item: { id: "rs_1", type: "reasoning", summary: [] } }) + named({ type: "response.reasoning_summary_text.delta", sequence_number: 3, item_id: "rs_1", output_index: 0, summary_index: 0, delta: "let me" });
    pair.own.answer = (q, res) => {
      if (body(q).input.some((i) => i.type === "reasoning" && !i.encrypted_content && !i.content)) return w.refuse(res, "The encrypted content for a reasoning item could not be verified.");
      return q.n === 1 ? sse(res, w.opening().replace(/event: response.output_item.added[^]*/, "") + half).end() : sse(res, w.opening(), w.piece(TEXT), w.closing()).end();
    };
    const kept = [];
    for await (const e of await client.responses.create({ model: "m-own", input, store: false, stream: true })) if (e.type === "response.output_item.done") kept.push(e.item);
    assert.deepEqual(kept.map((i) => i.type), ["reasoning", "message"]);
    const { id, ...item } = kept[0], more = [whole, open, { role: "assistant", content: TEXT }, { role: "user", content: "and now?" }];
    for await (const e of await client.responses.create({ model: "m-own", input: [...input, item, ...more], store: false, stream: true })) void e;
    assert.deepEqual(body(pair.own.seen[2]).input, [...input, ...more]);
    assert.equal(pair.own.seen.length, 3);
  },
});

// A stream that is silent within its thinking, and does not end: another target is asked beside it, and answers.
const silentThoughts = {
  anthropic: () => within([thinking(THOUGHT), text(TEXT)], 0),
  openai: () => wires.openai.opening() + wires.openai.chunk({ reasoning_content: "hm" }),
  responses: () => {
    const response = { id: "resp_1", object: "response", created_at: 1, status: "in_progress", model: "m-own", output: [], usage: null };
    const item = { id: "rs_1", type: "reasoning", summary: [] }, at = { item_id: "rs_1", output_index: 0, summary_index: 0 };
    return [
      { type: "response.created", response },
      { type: "response.output_item.added", output_index: 0, item },
      { type: "response.reasoning_summary_part.added", ...at, part: { type: "summary_text", text: "" } },
      { type: "response.reasoning_summary_text.delta", ...at, delta: "hm" },
    ].map((e, n) => named({ ...e, sequence_number: n })).join("");
  },
  gemini: () => data({ candidates: [{ index: 0, content: { role: "model", parts: [{ text: "hm", thought: true }] } }] }),
};
for (const [name, thinks] of Object.entries(silentThoughts)) {
  const d = dialects[name], w = wires[name];
  holds(`heal think ${name}: a stream that is silent within its thinking is gone on with by another target, begun once and in order`, {
    limit: 60000,
    config: (c) => {
      c.models.find((m) => m.name === d.own).targets = [target[name].replace(/\/.*/, "/first"), target[name].replace(/\/.*/, "/second")];
      c.timeouts = { connect: "2s", first_byte: "none", idle: "none", total: "55s" };
    },
    async run(pair) {
      const isFirst = (q) => q.body.includes('"first"') || q.url.includes("/first:");
      const answer = () => (name === "anthropic" ? bytes([thinking("another thought"), text(TEXT)]) : w.opening() + w.piece(TEXT) + w.closing());
      pair.own.answer = (q, res) => (isFirst(q) ? sse(res, thinks()) : sse(res, answer()).end());
      if (name === "anthropic") {
        const m = await stream(pair, ask());
        assert.deepEqual([said(m), m.content.some((b) => b.signature && b.signature !== sign(b.thinking))], [TEXT, false]);
        assert.equal(kinds(m)[0], "half");
      } else {
        const r = await question(pair, d, { model: d.own, stream: true });
        assert.deepEqual([r.status, r.said], [200, TEXT], r.text);
        assert.ok(d.ended(r.events) && !d.failed(r.events), r.text);
        if (name === "responses") {
          assert.equal(r.text.match(/"type":"response\.created"/g).length, 1, r.text);
          const numbers = [...r.text.matchAll(/"sequence_number":(\d+)/g)].map((m) => +m[1]);
          assert.deepEqual(numbers, numbers.map((_, i) => i), r.text);
        }
      }
      assert.equal(pair.events().filter((e) => e.event === "llm_call_hedged").length, 1, pair.eventsText());
      for (const q of pair.own.seen.filter((q) => !isFirst(q))) assert.ok(!/"thinking":"[^"]/.test(q.body) && !/"thought":true/.test(q.body), q.body); // no half thought is handed on
    },
  });
}
