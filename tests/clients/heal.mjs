// What was sent and what came back is mended: conversations, parameters, tool calls, streams that break off. The
// provider is the test's own: it refuses as the real ones do and keeps every request, so that the mended one can be
// looked at.
import assert from "node:assert/strict";
import { dialects, events, question } from "./net.mjs";
import { holds } from "./wire.mjs";

const json = (res, status, o) => res.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(o));
const sse = (res, ...chunks) => {
  res.writeHead(200, { "content-type": "text/event-stream" });
  for (const c of chunks) res.write(c);
  return res;
};
const data = (o) => `data: ${JSON.stringify(o)}\n\n`;
const named = (o) => `event: ${o.type}\n${data(o)}`;

// How each dialect says things: an answer, a stream in pieces, a refusal; and how its histories look.
export const wires = {
  openai: {
    refuse: (res, message, more = {}) => json(res, 400, { error: { message, type: "invalid_request_error", param: null, code: null, ...more } }),
    overflow: (res, limit, used) => json(res, 400, { error: { message: `This model's maximum context length is ${limit} tokens. However, your messages resulted in ${used} tokens. Please reduce the length of the messages.`, type: "invalid_request_error", param: "messages", code: "context_length_exceeded" } }),
    answer: (res, text, calls = [], finish) => json(res, 200, { id: "chatcmpl-1", object: "chat.completion", created: 1, model: "m-own", choices: [{ index: 0, message: { role: "assistant", content: text || null, ...(calls.length && { tool_calls: calls.map(([id, name, args]) => ({ id, type: "function", function: { name, arguments: args } })) }) }, finish_reason: finish ?? (calls.length ? "tool_calls" : "stop") }], usage: { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 } }),
    chunk: (delta, finish = null) => data({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m-own", choices: [{ index: 0, delta, finish_reason: finish }] }),
    opening() { return this.chunk({ role: "assistant", content: "" }); },
    piece(t) { return this.chunk({ content: t }); },
    closing() { return this.chunk({}, "stop") + "data: [DONE]\n\n"; },
    called(i, id, name, args) {
      const cut = Math.ceil(args.length / 3) || 1;
      const head = this.chunk({ tool_calls: [{ index: i, id, type: "function", function: { name, arguments: "" } }] });
      return head + [0, 1, 2].map((k) => args.slice(k * cut, (k + 1) * cut)).filter(Boolean).map((a) => this.chunk({ tool_calls: [{ index: i, function: { arguments: a } }] })).join("");
    },
    closingCalls() { return this.chunk({}, "tool_calls") + "data: [DONE]\n\n"; },
    history: (turns) => turns.flatMap((t) => (t.user ? [{ role: "user", content: t.user }] : t.call ? [{ role: "assistant", content: null, tool_calls: [{ id: t.call, type: "function", function: { name: "look", arguments: "{}" } }] }] : t.result ? [{ role: "tool", tool_call_id: t.result, content: t.text }] : [{ role: "assistant", content: t.text }])),
    messages: (b) => b.messages,
    callIds: (b) => b.messages.flatMap((m) => (m.tool_calls ?? []).map((c) => c.id)),
    resultIds: (b) => b.messages.filter((m) => m.role === "tool").map((m) => m.tool_call_id),
    calls: (r) => (r.events ? chatCalls(r.events) : r.json.choices[0].message.tool_calls?.map((c) => [c.id, c.function.name, c.function.arguments]) ?? []),
    tools: (schema) => [{ type: "function", function: { name: "look", parameters: schema } }],
    orphan: "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ",
  },
  anthropic: {
    refuse: (res, message) => json(res, 400, { type: "error", error: { type: "invalid_request_error", message } }),
    overflow: (res, limit, used) => json(res, 400, { type: "error", error: { type: "invalid_request_error", message: `prompt is too long: ${used} tokens > ${limit} maximum` } }),
    answer: (res, text, calls = [], finish) => json(res, 200, { id: "msg_1", type: "message", role: "assistant", model: "c-own", content: [...(text ? [{ type: "text", text }] : []), ...calls.map(([id, name, args]) => ({ type: "tool_use", id, name, input: args }))], stop_reason: finish ?? (calls.length ? "tool_use" : "end_turn"), stop_sequence: null, usage: { input_tokens: 5, output_tokens: 5 } }),
    opening: () => named({ type: "message_start", message: { id: "msg_1", type: "message", role: "assistant", model: "c-own", content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } } }) + named({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
    piece: (t) => named({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: t } }),
    closing: () => named({ type: "content_block_stop", index: 0 }) + named({ type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 2 } }) + named({ type: "message_stop" }),
    called(i, id, name, args) {
      const cut = Math.ceil(args.length / 3) || 1;
      const at = i + 1;
      return (i ? "" : named({ type: "content_block_stop", index: 0 })) + named({ type: "content_block_start", index: at, content_block: { type: "tool_use", id, name, input: {} } }) + [0, 1, 2].map((k) => args.slice(k * cut, (k + 1) * cut)).filter(Boolean).map((a) => named({ type: "content_block_delta", index: at, delta: { type: "input_json_delta", partial_json: a } })).join("") + named({ type: "content_block_stop", index: at });
    },
    closingCalls: () => named({ type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: { output_tokens: 2 } }) + named({ type: "message_stop" }),
    history: (turns) => turns.flatMap((t) => (t.user ? [{ role: "user", content: t.user }] : t.call ? [{ role: "assistant", content: [{ type: "tool_use", id: t.call, name: "look", input: {} }] }] : t.result ? [{ role: "user", content: [{ type: "tool_result", tool_use_id: t.result, content: t.text }] }] : [{ role: "assistant", content: t.text }])),
    messages: (b) => b.messages,
    callIds: (b) => b.messages.flatMap((m) => (Array.isArray(m.content) ? m.content.filter((p) => p.type === "tool_use").map((p) => p.id) : [])),
    resultIds: (b) => b.messages.flatMap((m) => (Array.isArray(m.content) ? m.content.filter((p) => p.type === "tool_result").map((p) => p.tool_use_id) : [])),
    calls: (r) => (r.events ? anthropicCalls(r.events) : r.json.content.filter((b) => b.type === "tool_use").map((b) => [b.id, b.name, JSON.stringify(b.input)])),
    tools: (schema) => [{ name: "look", input_schema: schema }],
    orphan: "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: ",
  },
};

function chatCalls(list) {
  const calls = [];
  for (const e of list)
    for (const t of e.json?.choices?.[0]?.delta?.tool_calls ?? []) {
      calls[t.index] ??= [t.id, t.function?.name, ""];
      calls[t.index][2] += t.function?.arguments ?? "";
    }
  return calls;
}

function anthropicCalls(list) {
  const blocks = {};
  for (const { json: e } of list)
    if (e?.type === "content_block_start" && e.content_block.type === "tool_use") blocks[e.index] = [e.content_block.id, e.content_block.name, ""];
    else if (e?.type === "content_block_delta" && e.delta.type === "input_json_delta") blocks[e.index][2] += e.delta.partial_json;
  return Object.values(blocks);
}

const both = (f) => ["openai", "anthropic"].forEach((n) => f(n, dialects[n], wires[n]));
const own = (d, w, turns, more = {}) => ({ model: d.own, more: { messages: w.history(turns), ...more } });
const tokens = (q) => Math.ceil(q.body.length / 4);
const body = (q) => JSON.parse(q.body);
const paired = (w, b) => assert.deepEqual([...w.callIds(b)].sort(), [...w.resultIds(b)].sort(), "a pair is not whole");
const object = { type: "object", properties: { city: { type: "string" }, days: { type: "integer" } }, required: ["city"] };

/* ---- the conversation ---- */

both((name, d, w) => {
  const long = (n) => `HEAD-${n} ${"lorem ipsum dolor sit amet ".repeat(300)} id=order-${n}-7f3a9c TAIL-${n}`;
  const turns = [{ user: "find it" }];
  for (let i = 0; i < 6; i++) turns.push({ call: `call_${i}` }, { result: `call_${i}`, text: long(i) });
  const overflow = (window) => (q, res) => (tokens(q) > window ? w.overflow(res, window, tokens(q)) : w.answer(res, "done"));

  holds(`heal ${name}: a history that is too long is masked, once for all its turns`, {
    async run(pair) {
      pair.own.answer = overflow(6000);
      const r = await question(pair, d, own(d, w, turns));
      assert.equal(r.status, 200, r.text);
      assert.equal(r.said, "done");
      assert.equal(r.outcome, "recovered");
      assert.equal(pair.own.seen.length, 2);
      const sent = body(pair.own.seen[1]);
      paired(w, sent);
      assert.equal(w.callIds(sent).length, 6);
      const text = JSON.stringify(sent);
      for (let i = 0; i < 6; i++) for (const kept of [`HEAD-${i}`, `TAIL-${i}`]) assert.ok(text.includes(kept), `${kept} is lost`);
      assert.ok(text.includes(long(5).slice(0, 3000)), "the newest result was touched");
      const next = [...turns, { text: "done" }, { user: "and now?" }];
      const second = await question(pair, d, own(d, w, next));
      assert.equal(second.said, "done");
      assert.equal(pair.own.seen.length, 3, "it overflowed again");
      assert.deepEqual(w.messages(body(pair.own.seen[2])).slice(0, w.messages(sent).length), w.messages(sent), "the same turn came out with other bytes");
      const status = await pair.status();
      assert.ok(status.known_compressions.hits > 0, JSON.stringify(status.known_compressions));
      const events = await pair.events();
      assert.ok(events.some((e) => e.event === "trajectory_compressed"), "no event told of it");
    },
  });

  holds(`heal ${name}: tenants share nothing`, {
    config: (c) => c.providers.forEach((p) => delete p.keys),
    async run(pair) {
      pair.own.answer = overflow(6000);
      const key = (k) => (name === "openai" ? { authorization: `Bearer ${k}` } : { "x-api-key": k });
      await question(pair, d, { ...own(d, w, turns), headers: key("k-first") });
      const other = await question(pair, d, { ...own(d, w, turns), headers: key("k-second") });
      assert.equal(other.said, "done");
      assert.equal(pair.own.seen.length, 4, "the second tenant profited from the first");
    },
  });

  holds(`heal ${name}: input and output cap together are too much: the cap is lowered`, {
    async run(pair) {
      const message = name === "openai" ? "This model's maximum context length is 8192 tokens. However, you requested 9096 tokens (1096 in the messages, 8000 in the completion). Please reduce the length of the messages or completion." : "input length and `max_tokens` exceed context limit: 1096 + 8000 > 8192, decrease input length or `max_tokens` and try again";
      pair.own.answer = (q, res) => (body(q).max_tokens + 1096 > 8192 ? w.refuse(res, message, { code: "context_length_exceeded" }) : w.answer(res, "fits"));
      const r = await question(pair, d, own(d, w, [{ user: "x" }], { max_tokens: 8000 }));
      assert.equal(r.said, "fits", r.text);
      assert.equal(pair.own.seen.length, 2);
      const cap = body(pair.own.seen[1]).max_tokens;
      assert.ok(cap > 4000 && cap <= 7096, `the cap is ${cap}`);
    },
  });

  holds(`heal ${name}: large observations are summarised by a model when masking is not enough`, {
    async run(pair) {
      const few = [{ user: "find it" }, { call: "c1" }, { result: "c1", text: long(1).repeat(6) }];
      let asked = 0;
      pair.own.answer = (q, res) => {
        const text = q.body.toString();
        if (/summar/i.test(text) && !text.includes('"tool_use_id"') && !text.includes('"tool_call_id"')) return asked++, w.answer(res, "SUMMARY id=order-1-7f3a9c");
        return tokens(q) > 500 ? w.overflow(res, 500, tokens(q)) : w.answer(res, "done");
      };
      const r = await question(pair, d, own(d, w, few));
      assert.equal(r.said, "done", r.text);
      paired(w, body(pair.own.seen.at(-1)));
    },
  });

  for (const [what, broken] of [
    ["a call without result", [{ user: "go" }, { call: "call_a" }, { user: "still there?" }]],
    ["a result without call", [{ user: "go" }, { result: "call_lost", text: "the answer is 42" }, { user: "still there?" }]],
  ])
    holds(`heal ${name}: ${what} is mended`, {
      async run(pair) {
        const whole = (b) => JSON.stringify([...w.callIds(b)].sort()) === JSON.stringify([...w.resultIds(b)].sort());
        const words = what.startsWith("a call") ? w.orphan + "call_a" : name === "openai" ? "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'." : "messages.1.content.0: unexpected `tool_use_id` found in `tool_result` blocks: call_lost. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.";
        pair.own.answer = (q, res) => (whole(body(q)) ? w.answer(res, "ok") : w.refuse(res, words));
        const r = await question(pair, d, own(d, w, broken));
        assert.equal(r.said, "ok", r.text);
        assert.equal(pair.own.seen.length, 2);
        assert.match(r.headers["x-daruma-remedies"], /repair_history/);
        const text = JSON.stringify(body(pair.own.seen[1]));
        assert.ok(text.includes("still there?"));
        if (what.startsWith("a call")) assert.match(text, /unknown/i);
      },
    });

  /* ---- the request ---- */

  holds(`heal ${name}: a parameter that is not accepted is changed, and known the next time`, {
    async run(pair) {
      const bad = name === "openai" ? (b) => "max_tokens" in b && "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead." : (b) => b.temperature > 1 && "temperature: range: 0..1";
      pair.own.answer = (q, res) => (bad(body(q)) ? w.refuse(res, bad(body(q)), name === "openai" ? { param: "max_tokens", code: "unsupported_parameter" } : {}) : w.answer(res, "ok"));
      const ask = () => question(pair, d, own(d, w, [{ user: "hello" }], { max_tokens: 77, temperature: 1.5 }));
      const r = await ask();
      assert.equal(r.said, "ok", r.text);
      assert.equal(pair.own.seen.length, 2);
      assert.match(r.headers["x-daruma-remedies"], /mend_parameter/);
      if (name === "openai") assert.equal(body(pair.own.seen[1]).max_completion_tokens, 77);
      await ask();
      assert.equal(pair.own.seen.length, 3, "it was not learned");
      const s = JSON.stringify(await pair.status());
      assert.match(s, name === "openai" ? /"path":"max_tokens"/ : /"path":"temperature"/);
    },
  });

  holds(`heal ${name}: an output cap beyond the model's is clamped`, {
    async run(pair) {
      const words = name === "openai" ? "max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000." : "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for c-own";
      pair.own.answer = (q, res) => (body(q).max_tokens > 64000 ? w.refuse(res, words, { param: "max_tokens", code: "invalid_value" }) : w.answer(res, "ok"));
      const r = await question(pair, d, own(d, w, [{ user: "hello" }], { max_tokens: 100000 }));
      assert.equal(r.said, "ok", r.text);
      assert.equal(body(pair.own.seen[1]).max_tokens, name === "openai" ? 16384 : 64000);
    },
  });

  /* ---- the answer ---- */

  const broken = { "a trailing comma": '{"city": "Oslo", "days": 3,}', "single quotes": "{'city': 'Oslo', 'days': 3}", "a fence": '```json\n{"city": "Oslo", "days": 3}\n```', "a number in a string": '{"city": "Oslo", "days": "3"}' };
  const good = { city: "Oslo", days: 3 };
  const withTool = (more = {}) => ({ model: d.own, more: { tools: w.tools(object), ...more } });

  for (const [what, args] of Object.entries(broken)) {
    if (name === "anthropic" && what !== "a number in a string") continue; // whole answers carry objects there
    holds(`heal ${name}: tool arguments with ${what} are mended`, {
      async run(pair) {
        pair.own.answer = (q, res) => w.answer(res, "", [["call_1", "look", name === "anthropic" ? JSON.parse(args) : args]]);
        const r = await question(pair, d, withTool());
        assert.deepEqual(w.calls(r).map(([id, n, a]) => [id, n, JSON.parse(a)]), [["call_1", "look", good]], r.text);
        assert.equal(pair.own.seen.length, 1);
      },
    });
  }
  for (const [what, args] of Object.entries(broken))
    holds(`heal ${name} stream: tool arguments with ${what} are mended`, {
      async run(pair) {
        pair.own.answer = (q, res) => sse(res, w.opening(), w.piece("looking"), w.called(0, "call_1", "look", args), w.closingCalls()).end();
        const r = await question(pair, d, { ...withTool(), stream: true });
        assert.equal(r.said, "looking");
        assert.deepEqual(w.calls(r).map(([id, n, a]) => [id, n, JSON.parse(a)]), [["call_1", "look", good]], r.text);
        assert.ok(d.ended(r.events), r.text);
        assert.equal(pair.own.seen.length, 1);
      },
    });

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
        const say = (res, n) => (stream ? sse(res, w.opening(), w.called(0, `call_${n}`, n === 1 ? "lock_the_door" : "look", '{"city": "Oslo"}'), w.closingCalls()).end() : w.answer(res, "", [[`call_${n}`, n === 1 ? "lock_the_door" : "look", name === "anthropic" ? { city: "Oslo" } : '{"city": "Oslo"}']]));
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
              return s.end(name === "openai" ? data({ error: { message: "The server had an error", type: "server_error" } }) : named({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }));
            }
            const b = body(q), sent = JSON.stringify(b.messages);
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
          return sse(res, w.opening(), w.piece("let me look"), all.slice(0, all.lastIndexOf(name === "openai" ? "data:" : "event:"))).end();
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

/* ---- another dialect ---- */

both((name, d, w) => {
  const [to, v] = name === "openai" ? ["own-claude/c-own", wires.anthropic] : ["own/m-own", wires.openai];
  const config = (c) => {
    const m = c.models.find((x) => x.name === d.own);
    m.targets = [name === "openai" ? "main/m-single" : "claude/c-single", to];
  };
  const down = "faults:\n  - { kind: model_not_found, status: 404 }\n";
  const turns = [{ user: "go" }, { call: "call_1" }, { result: "call_1", text: "the answer is 42" }, { user: "and?" }];
  for (const stream of [false, true])
    holds(`heal ${name}${stream ? " stream" : ""}: a conversation moves to a provider of another dialect`, {
      chaos: down,
      config,
      async run(pair) {
        pair.own.answer = (q, res) => (stream ? sse(res, v.opening(), v.piece("it is "), v.piece("42"), v.called(0, "call_9", "look", '{"city": "Oslo"}'), v.closingCalls()).end() : v.answer(res, "it is 42", [["call_9", "look", name === "openai" ? { city: "Oslo" } : '{"city": "Oslo"}']]));
        const r = await question(pair, d, { ...own(d, w, turns, { tools: w.tools(object), ...(name === "anthropic" && { system: "be brief" }) }), stream });
        assert.equal(r.status, 200, r.text);
        assert.equal(r.said, "it is 42", r.text);
        assert.deepEqual(w.calls(r).map(([, n, a]) => [n, JSON.parse(a)]), [["look", { city: "Oslo" }]], r.text);
        if (stream) assert.ok(d.ended(r.events), r.text);
        const sent = body(pair.own.seen[0]);
        assert.equal(pair.own.seen[0].url, name === "openai" ? "/v1/messages" : "/v1/chat/completions");
        paired(v, sent);
        assert.ok(JSON.stringify(sent).includes("the answer is 42"));
      },
    });
});

export { events };
