// The main rows of mending with the providers' own SDKs, their retries switched off: the SDK parses what daruma wrote.
import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";
import { holds } from "./wire.mjs";
import { batch, body, object, sse, target, tokens, whole, wires } from "./wires.mjs";

const parsed = (s) => (typeof s === "string" ? JSON.parse(s) : s);

// Each asks with a history as the wire has it, and reads the answer through the SDK: {text, calls, end}.
const sdks = {
  openai: async (pair, stream, more) => {
    const c = new OpenAI({ apiKey: "sk-client", baseURL: `${pair.base}/v1`, maxRetries: 0 });
    const ask = { model: "m-own", messages: [{ role: "user", content: "go" }], ...more };
    const done = stream ? await c.chat.completions.stream(ask).finalChatCompletion() : await c.chat.completions.create(ask);
    const { message: m, finish_reason } = done.choices[0];
    return { text: m.content ?? "", calls: (m.tool_calls ?? []).map((t) => [t.function.name, parsed(t.function.arguments)]), end: finish_reason };
  },
  responses: async (pair, stream, more) => {
    const c = new OpenAI({ apiKey: "sk-client", baseURL: `${pair.base}/v1`, maxRetries: 0 });
    const ask = { model: "m-own", input: [{ role: "user", content: "go" }], ...more };
    const done = stream ? await c.responses.stream(ask).finalResponse() : await c.responses.create(ask);
    return { text: done.output.flatMap((o) => o.content ?? []).map((p) => p.text ?? "").join(""), calls: done.output.filter((o) => o.type === "function_call").map((o) => [o.name, parsed(o.arguments)]), end: done.status };
  },
  anthropic: async (pair, stream, more) => {
    const c = new Anthropic({ apiKey: "sk-client", baseURL: pair.base, maxRetries: 0, timeout: 60000 });
    const ask = { model: "c-own", max_tokens: 100, messages: [{ role: "user", content: "go" }], ...more };
    const m = stream ? await c.messages.stream(ask).finalMessage() : await c.messages.create(ask);
    return { text: m.content.filter((b) => b.type === "text").map((b) => b.text).join(""), calls: m.content.filter((b) => b.type === "tool_use").map((b) => [b.name, b.input]), end: m.stop_reason };
  },
  gemini: async (pair, stream, { contents, tools, generationConfig = {} } = {}) => {
    const c = new GoogleGenAI({ apiKey: "sk-client", httpOptions: { baseUrl: pair.base } });
    const ask = { model: "g-own", contents: contents ?? [{ role: "user", parts: [{ text: "go" }] }], config: { ...generationConfig, ...(tools && { tools }) } };
    const r = { text: "", calls: [], end: null };
    const take = (one) => {
      for (const p of one.candidates?.[0]?.content?.parts ?? []) {
        if (p.text && !p.thought) r.text += p.text;
        if (p.functionCall) r.calls.push([p.functionCall.name, p.functionCall.args]);
      }
      r.end = one.candidates?.[0]?.finishReason ?? r.end;
    };
    if (!stream) take(await c.models.generateContent(ask));
    else for await (const one of await c.models.generateContentStream(ask)) take(one);
    return r;
  },
};

const text = "The quick brown fox jumps over the lazy dog and runs away into the deep dark wood.";
const long = (n) => `HEAD-${n} ${"lorem ipsum dolor sit amet ".repeat(300)} TAIL-${n}`;

for (const [name, ask] of Object.entries(sdks)) {
  const w = wires[name];
  const history = (turns) => ({ [w.key]: w.history(turns) });
  for (const stream of [false, true]) {
    const say = (res, ...parts) => (stream ? sse(res, w.opening(), ...parts.map((t) => w.piece(t)), w.closing()).end() : w.answer(res, parts.join("")));
    const call = (res, tool, args) => (stream ? sse(res, w.opening(), w.called(0, "call_1", tool, args), w.closingCalls()).end() : w.answer(res, "", [["call_1", tool, w.whole ? parsed(args) : args]]));
    const sdk = (what, answer, more, check, config) =>
      holds(`heal sdk ${name}${stream ? " stream" : ""}: ${what}`, {
        ...(config && { config }),
        async run(pair) {
          pair.own.answer = answer;
          const r = await ask(pair, stream, more);
          assert.ok(r.end, "it has no end");
          check(r, pair);
        },
      });

    const six = [{ user: "find it" }, ...Array.from({ length: 6 }, (_, i) => [{ call: `call_${i}` }, { result: `call_${i}`, text: long(i) }]).flat()];
    sdk("a history that is too long", (q, res) => (tokens(q) > 6000 ? w.overflow(res, 6000, tokens(q)) : say(res, "do", "ne")), history(six), (r, pair) => {
      assert.equal(r.text, "done");
      assert.ok(pair.own.seen.length <= 3);
    });
    sdk("a call without result", (q, res) => (whole(w, body(q)) ? say(res, "ok") : w.refuse(res, w.orphan)), history([{ user: "go" }, { call: "call_a" }, { user: "still there?" }]), (r) => assert.equal(r.text, "ok"));
    sdk("an output cap beyond the model's", (q, res) => (w.cap(body(q)) > w.most ? w.refuse(res, w.overCap, { param: "max_tokens", code: "invalid_value" }) : say(res, "ok")), w.capped(100000), (r) => assert.equal(r.text, "ok"));
    sdk("a call with a number in a string", (q, res) => call(res, "look", '{"city": "Oslo", "days": "3"}'), { tools: w.tools(object) }, (r, pair) => {
      assert.deepEqual(r.calls, [["look", { city: "Oslo", days: 3 }]]);
      assert.equal(pair.own.seen.length, 1);
    });
    sdk("a call of a tool that does not exist", (q, res) => call(res, q.n === 1 ? "lock_the_door" : "look", '{"city": "Oslo"}'), { tools: w.tools(object) }, (r) => assert.deepEqual(r.calls, [["look", { city: "Oslo" }]]));
    sdk("another 400 is explained", (q, res) => (/you are sorry/.test(q.body) ? w.answer(res, "I am sorry.") : w.refuse(res, "The frobnicator is out of tune.")), {}, (r) => assert.match(r.text, /I am sorry/), (c) => (c.recovery.on_failure = "message"));

    /* ---- the rows of a conversation that does not fit, and of a request that is not taken ---- */

    const model = (c) => c.models.find((m) => m.name === target[name].split("/")[1]);
    const windowed = (n) => (c) => name === "responses" && (model(c).window = n); // its words have no numbers
    const isSide = (q) => !q.body.includes("the newest words");
    const fits = (n, side) => (q, res) => (isSide(q) ? w.answer(res, side) : tokens(q) > n ? w.overflow(res, n, tokens(q)) : say(res, "do", "ne"));
    const done = (r, pair) => (assert.equal(r.text, "done"), assert.ok(pair.own.seen.at(-1).body.includes("the newest words")));

    sdk("large observations become summaries", fits(1500, "SUMMARY"), { [w.key]: [w.user("the newest words"), ...batch(name, [0, 1, 2].map((i) => [`call_${i}`, long(i)]))] }, (r, pair) => {
      done(r, pair);
      assert.equal(pair.own.seen.filter(isSide).length, 3);
    }, windowed(1500));
    sdk("a long talk becomes a summary", fits(6000, "SUMMARY"), history([...Array.from({ length: 6 }, (_, i) => [{ user: long(i) }, { text: long(i) }]).flat(), { user: "the newest words" }]), (r, pair) => {
      done(r, pair);
      assert.ok(pair.own.seen.at(-1).body.includes("SUMMARY"));
    }, windowed(6000));
    sdk("a model with more room", (q, res) => (/wide/.test(q.url) || body(q).model === "wide" ? say(res, "do", "ne") : w.overflow(res, 6000, tokens(q))), history([{ user: `${long(1).repeat(5)} the newest words` }]), done, (c) => {
      const near = name === "responses" ? "own/m-own" : target[name];
      model(c).targets = [{ target: near, window: 6000 }, { target: near.replace(/\/.*/, "/wide"), window: 100000 }];
    });

    const strict = { type: "object", properties: { city: { type: "string", pattern: "^[A-Z]" } }, required: ["city"] };
    sdk("a schema that is refused", (q, res) => (JSON.stringify(w.schemaOf(body(q))).includes('"pattern"') ? w.refuse(res, w.refuseSchema("pattern"), { param: "tools[0].function.parameters", code: "invalid_function_parameters" }) : say(res, "do", "ne")), { tools: w.tools(strict) }, (r, pair) => {
      assert.equal(r.text, "done");
      assert.equal(pair.own.seen.length, 2);
    });
    sdk("a response format that is refused", (q, res) => (w.formatOf(body(q)) === "text" ? say(res, '{"city": ', '"Oslo"}') : w.refuse(res, w.refuseFormat(w.formatOf(body(q))), { param: name === "responses" ? "text.format" : "response_format" })), w.format({ ...object, additionalProperties: false }), (r) => assert.deepEqual(JSON.parse(r.text), { city: "Oslo" }));
    sdk("a body that is too large", (q, res) => (q.body.length > 60000 ? res.writeHead(413, { "content-type": "application/json" }).end(JSON.stringify({ error: { message: "Request exceeds the maximum size", type: "request_too_large", code: 413, status: "INVALID_ARGUMENT" } })) : say(res, "do", "ne")), { [w.key]: [w.image("the first", "A".repeat(40000)), w.assistant("seen"), w.image("the newest words", "A".repeat(40000))] }, (r, pair) => {
      done(r, pair);
      assert.equal(w.images(body(pair.own.seen.at(-1))), 1);
    });

    for (const [other, v] of Object.entries(wires)) {
      if (other === name) continue;
      sdk(
        `an answer of a provider that speaks ${other}`,
        (q, res) => {
          if (q.body.includes('"gone"') || q.url.includes("/gone:")) return res.writeHead(404, { "content-type": "application/json" }).end(JSON.stringify({ error: { message: "The model `gone` does not exist", type: "not_found_error", code: "model_not_found", status: "NOT_FOUND" } }));
          if (stream) sse(res, v.opening(), v.piece("it is "), v.piece("42"), v.called(0, "call_9", "look", '{"city": "Oslo"}'), v.closingCalls()).end();
          else v.answer(res, "it is 42", [["call_9", "look", v.toolArgs({ city: "Oslo" })]]);
        },
        { tools: w.tools(object) },
        (r) => {
          assert.equal(r.text, "it is 42");
          assert.deepEqual(r.calls, [["look", { city: "Oslo" }]]);
        },
        (c) => (c.models.find((m) => m.name === { openai: "m-own", responses: "m-own", anthropic: "c-own", gemini: "g-own" }[name]).targets = [target[name].replace(/\/.*/, "/gone").replace("own/", name === "responses" ? "own-responses/" : "own/"), target[other].replace(/\/.*/, "/there")]),
      );
    }

    if (!stream) continue;
    for (const how of ["cleanly", "by an error event"])
      sdk(`a stream that is cut ${how} is one answer`, (q, res) => (q.n === 1 ? sse(res, w.opening(), w.piece(text.slice(0, 26)), how === "cleanly" ? "" : w.broken()).end() : sse(res, w.opening(), w.piece(["assistant", "model"].includes(w.messages(body(q)).at(-1).role) ? text.slice(26) : text.slice(8)), w.closing()).end()), {}, (r) => assert.equal(r.text, text));
  }
}
