// What is Gemini's alone: a key in the query, a stream as one JSON array, methods behind a colon.
import assert from "node:assert/strict";
import { GoogleGenAI } from "@google/genai";
import { ask, dialects, question, SECRETS } from "./net.mjs";
import { fault, good, holds, once, send } from "./wire.mjs";

const d = dialects.gemini;
const json = { "content-type": "application/json" };
const post = (pair, path, headers = {}, body = d.body("", "say seven eight")) => ask(pair, path, { method: "POST", headers: { ...json, ...headers }, body: JSON.stringify(body) });
const renamed = (c) => (c.models.find((m) => m.name === "g-own").targets = ["own-gemini/g-other"]);
const own = (pair) => pair.own.seen.map((q) => q.url);
const nowhere = (pair) => assert.doesNotMatch(pair.gateway().said + pair.eventsText() + JSON.stringify(pair.own.seen.map((q) => [q.url, q.raw])), SECRETS);

holds("gemini: a key in the query reaches no provider that has keys of its own", {
  async run(pair) {
    pair.own.answer = (q, res) => send(res, 200, good.gemini);
    for (const [query, sent] of [["?key=sk-client", ""], ["?key=sk-client&alt=json", "?alt=json"], ["?alt=json&key=sk-client&x=1", "?alt=json&x=1"]]) {
      pair.own.seen = [];
      assert.equal((await post(pair, `/v1beta/models/g-own:generateContent${query}`)).status, 200);
      assert.deepEqual(own(pair), [`/v1beta/models/g-own:generateContent${sent}`]);
      assert.equal(pair.own.seen[0].headers["x-goog-api-key"], "sk-one");
      pair.own.seen[0].raw = []; // the provider's own key is there rightly
      nowhere(pair);
    }
  },
});

holds("gemini: another model is asked in the same form, and a provider without keys gets the client's", {
  config: (c) => (renamed(c), delete c.providers.find((p) => p.name === "own-gemini").keys),
  async run(pair) {
    pair.own.answer = (q, res) => send(res, 200, /stream/.test(q.url) ? [good.gemini] : good.gemini);
    assert.equal((await post(pair, "/v1beta/models/g-own:generateContent?key=sk-client")).status, 200);
    const r = await post(pair, "/v1beta/models/g-own:streamGenerateContent?key=sk-client");
    assert.ok(Array.isArray(JSON.parse(r.text)), r.text);
    assert.deepEqual(own(pair), ["generateContent", "streamGenerateContent"].map((m) => `/v1beta/models/g-other:${m}?key=sk-client`));
    assert.doesNotMatch(pair.gateway().said + pair.eventsText(), SECRETS);
  },
});

holds("gemini: a stream of another model is asked for as events, once", {
  config: renamed,
  async run(pair) {
    pair.own.answer = (q, res) => res.writeHead(200, { "content-type": "text/event-stream" }).end(`data: ${JSON.stringify(good.gemini)}\n\n`);
    assert.equal((await post(pair, "/v1beta/models/g-own:streamGenerateContent?key=sk-client&alt=sse")).status, 200);
    assert.deepEqual(own(pair), ["/v1beta/models/g-other:streamGenerateContent?alt=sse"]);
  },
});

// Who streams reads events alone: of a plain body the SDKs make an answer without words.
for (const name of ["openai", "anthropic", "responses"])
  holds(`gemini: one JSON array where events were asked for becomes events for clients of ${name}`, {
    config: (c) => (c.models = [{ name: dialects[name].own, targets: ["own-gemini/g-own"] }]),
    async run(pair) {
      const part = (parts, more = {}) => ({ candidates: [{ content: { role: "model", parts }, index: 0, ...more }] }), call = { functionCall: { name: "look", args: { city: "Paris" } } };
      pair.own.answer = (q, res) => send(res, 200, [part([{ text: "se" }]), part([{ text: "ven" }]), ...(q.body.includes("look") ? [part([call])] : []), { ...part([{ text: "" }], { finishReason: "STOP" }), usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 } }]);
      for (const tools of [false, true]) {
        const e = dialects[name], r = await question(pair, e, { model: e.own, stream: true, more: tools ? { tools: e.tools } : {}, text: tools ? "look" : "say" });
        assert.deepEqual([r.status, r.outcome, r.headers["content-type"]?.split(";")[0], r.said], [200, "ok", "text/event-stream", "seven"], r.text);
        assert.match(new URL(pair.own.seen.at(-1).url, "http://x").search, /alt=sse/);
        assert.equal(/Paris/.test(r.text), tools);
      }
    },
  });

holds("gemini: one JSON array that is whole goes out although its connection dies behind it", {
  config: (c) => c.models.push({ name: "m-bridged", targets: ["own-gemini/g-own"] }),
  async run(pair) {
    const part = (text, more = {}) => ({ candidates: [{ content: { role: "model", parts: [{ text }] }, index: 0, ...more }] }), all = JSON.stringify([part("se"), part("ven", { finishReason: "STOP" })]);
    pair.own.answer = (q, res) => (res.writeHead(200, { "content-type": "application/json", "content-length": all.length + 1 }).write(all), setTimeout(() => res.socket?.resetAndDestroy(), 30));
    const own = await post(pair, "/v1beta/models/g-own:streamGenerateContent");
    assert.equal(own.text, all);
    const r = await question(pair, dialects.openai, { model: "m-bridged", stream: true });
    assert.deepEqual([r.said, r.outcome, pair.own.seen.length], ["seven", "ok", 2], r.text);
  },
});

const array = "/v1beta/models/g-single:streamGenerateContent";
for (const [what, line] of Object.entries({ "a server error": "{ times: 1, kind: server_error }", "a rate limit": "{ times: 1, kind: rate_limit }", "truncated JSON": "{ times: 1, truncated_json: true }", "a cut": "{ times: 1, cut: { after_bytes: 20 } }" }))
  holds(`gemini: a stream as one JSON array recovers from ${what}`, {
    chaos: fault(line),
    async run(pair) {
      const r = await post(pair, array), all = JSON.parse(r.text);
      assert.equal(all.map((json) => d.piece({ json })).join(""), "seven eight");
      assert.equal(r.headers["x-daruma-outcome"], "recovered");
    },
  });

for (const mode of ["error", "message"])
  holds(`gemini: who wants one JSON array gets the ${mode} as one`, {
    chaos: fault("{ kind: html, status: 502 }"),
    config: (c) => (once(c), (c.recovery.on_failure = mode)),
    async run(pair) {
      const r = await post(pair, array), [first, ...rest] = JSON.parse(r.text);
      assert.equal(rest.length, 0);
      if (mode === "error") assert.ok(d.error(first).message);
      else assert.match(d.text(first), /^\[daruma\] /);
    },
  });

holds("gemini: an answer of another dialect becomes one JSON array for whom asked for it", {
  config: (c) => (c.models.find((m) => m.name === "g-own").targets = ["own/m-other"]),
  async run(pair) {
    pair.own.answer = (q, res) => send(res, 200, good.openai);
    const r = await post(pair, "/v1beta/models/g-own:streamGenerateContent?key=sk-client");
    assert.equal(d.text(JSON.parse(r.text)[0]), "fine");
    assert.deepEqual(own(pair), ["/v1/chat/completions"]);
  },
});

// Answers that come in pieces: `parts` of each event, of the candidate with that index.
const said = (parts, { index = 0, finishReason } = {}) => ({ candidates: [{ content: { role: "model", parts }, ...(finishReason && { finishReason }), index }], usageMetadata: { promptTokenCount: 5 } });
const stop = (index) => said([{ text: "" }], { index, finishReason: "STOP" });
const tools = [{ functionDeclarations: [{ name: "light", parameters: { type: "OBJECT", properties: { room: { type: "STRING" }, level: { type: "INTEGER" } }, required: ["room", "level"] } }] }];
const streamsArgs = { tools, toolConfig: { functionCallingConfig: { streamFunctionCallArguments: true } } };
// Vertex says a call piece by piece: its name, each value, that it is over.
const pieces = (level) => [
  said([{ functionCall: { name: "light", willContinue: true } }]),
  said([{ functionCall: { partialArgs: [{ jsonPath: "$.room", stringValue: "kit", willContinue: true }], willContinue: true } }]),
  said([{ functionCall: { partialArgs: [{ jsonPath: "$.room", stringValue: "chen" }, { jsonPath: "$.level", ...level }], willContinue: true } }]),
  said([{ functionCall: {} }]),
  stop(),
];
const events = (res, list) => res.writeHead(200, { "content-type": "text/event-stream" }).end(list.map((o) => `data: ${JSON.stringify(o)}\r\n\r\n`).join(""));
const asArray = (list) => `[${list.map((o) => JSON.stringify(o, null, 1)).join("\n,\r\n")}\n]\n`;
const sseOf = (text) => text.split(/\r?\n\r?\n/).filter((e) => e.startsWith("data: ")).map((e) => JSON.parse(e.slice(6)));
const partsOf = (list, index = 0) => list.flatMap((o) => o.candidates.filter((c) => c.index === index).flatMap((c) => c.content.parts));

for (const how of ["events", "one array"])
  holds(`gemini: a call whose arguments are streamed is whole, as ${how}`, {
    async run(pair) {
      const list = pieces({ numberValue: 50 }), there = how === "events" ? "?alt=sse" : "";
      pair.own.answer = (q, res) => (there ? events(res, list) : send(res, 200, asArray(list)));
      const r = await post(pair, `/v1beta/models/g-own:streamGenerateContent${there}`, {}, { ...d.body("", "go"), ...streamsArgs });
      assert.equal(pair.own.seen.length, 1, r.text);
      assert.equal(r.text, there ? list.map((o) => `data: ${JSON.stringify(o)}\r\n\r\n`).join("") : asArray(list));
      assert.deepEqual(pair.events(), []);
    },
  });

for (const how of ["events", "one array"])
  holds(`gemini: a call whose arguments are streamed is mended as a whole one, as ${how}`, {
    async run(pair) {
      const list = pieces({ stringValue: "50" }), there = how === "events" ? "?alt=sse" : "";
      pair.own.answer = (q, res) => (there ? events(res, list) : send(res, 200, asArray(list)));
      const r = await post(pair, `/v1beta/models/g-own:streamGenerateContent${there}`, {}, { ...d.body("", "go"), ...streamsArgs });
      const got = there ? sseOf(r.text) : JSON.parse(r.text);
      assert.equal(pair.own.seen.length, 1, r.text);
      assert.deepEqual(partsOf(got), [{ functionCall: { name: "light", args: { room: "kitchen", level: 50 } } }, { text: "" }, { text: "" }, { text: "" }, { text: "" }], r.text);
      assert.deepEqual(got.at(-1), list.at(-1));
    },
  });

holds("gemini: a call whose arguments are streamed is one for clients of another dialect", {
  config: (c) => (c.models.find((m) => m.name === "m-own").targets = ["own-gemini/g-own"]),
  async run(pair) {
    pair.own.answer = (q, res) => events(res, pieces({ numberValue: 50 }));
    const c = dialects.openai, r = await ask(pair, "/v1/chat/completions", { method: "POST", headers: { ...json, ...c.headers }, body: JSON.stringify({ ...c.body("m-own", "go"), stream: true, tools: [{ type: "function", function: { name: "light", parameters: { type: "object" } } }] }) });
    const called = r.text.split("\n\n").filter((e) => /^data: \{/.test(e)).flatMap((e) => JSON.parse(e.slice(6)).choices[0].delta.tool_calls ?? []);
    assert.equal(called.map((t) => t.function.arguments ?? "").join(""), '{"room":"kitchen","level":50}', r.text);
    assert.equal(pair.own.seen.length, 1);
  },
});

holds("gemini: a mended array keeps its events, and every candidate", {
  async run(pair) {
    const call = (level) => said([{ functionCall: { name: "light", args: { room: "kitchen", level } } }]);
    const list = [said([{ text: "Let " }]), said([{ text: "One" }], { index: 1 }), said([{ text: "me." }]), call("50"), stop(1), stop(0)];
    pair.own.answer = (q, res) => send(res, 200, asArray(list));
    const r = await post(pair, "/v1beta/models/g-own:streamGenerateContent", {}, { ...d.body("", "go"), tools, generationConfig: { candidateCount: 2 } });
    assert.deepEqual(JSON.parse(r.text), list.with(3, call(50)), r.text);
    assert.equal(pair.own.seen.length, 1);
  },
});

holds("gemini: words in an array that shall be JSON are mended where they stand", {
  async run(pair) {
    const list = [said([{ text: "Here:\n```json\n{\"a\"" }]), said([{ text: ": 1}\n```" }]), stop()];
    pair.own.answer = (q, res) => send(res, 200, asArray(list));
    const r = await post(pair, "/v1beta/models/g-own:streamGenerateContent", {}, { ...d.body("", "go"), generationConfig: { responseMimeType: "application/json" } });
    assert.deepEqual(JSON.parse(r.text), [said([{ text: '{"a": 1}' }]), said([{ text: "" }]), stop()], r.text);
    assert.equal(pair.own.seen.length, 1);
  },
});

const google = { type: "OBJECT", properties: { tags: { type: "ARRAY", minItems: "1", items: { type: "STRING", maxLength: "64" } }, level: { type: "STRING", format: "enum", enum: ["low", "high"], nullable: true } }, propertyOrdering: ["level", "tags"], required: ["tags"] };
const plain = { type: "object", properties: { level: { type: ["string", "null"], enum: ["low", "high", null] }, tags: { type: "array", minItems: 1, items: { type: "string", maxLength: 64 } } }, required: ["tags"] };
for (const [other, provider, read] of [["openai", "own", (b) => [b.tools[0].function.parameters, b.response_format.json_schema.schema]], ["anthropic", "own-claude", (b) => [b.tools[0].input_schema, b.output_config.format.schema]]])
  holds(`gemini: schemas of Google's kind are JSON Schema where ${other} is asked`, {
    config: (c) => (c.models.find((m) => m.name === "g-own").targets = [`${provider}/m-other`]),
    async run(pair) {
      pair.own.answer = (q, res) => send(res, 200, good[other]);
      await post(pair, "/v1beta/models/g-own:generateContent", {}, { ...d.body("", "go"), tools: [{ functionDeclarations: [{ name: "light", parameters: google }] }], generationConfig: { responseMimeType: "application/json", responseSchema: google } });
      for (const schema of read(JSON.parse(pair.own.seen[0].body))) assert.equal(JSON.stringify(schema), JSON.stringify(plain));
    },
  });

// Vercel's AI SDK 4 sends its tools without a list.
for (const [how, path] of [["plain", "generateContent"], ["stream", "streamGenerateContent?alt=sse"]])
  holds(`gemini: tools that stand without their list are known, and who calls none of them is asked again: ${how}`, {
    async run(pair) {
      pair.own.answer = (q, res) => {
        const call = said([{ functionCall: { name: q.n === 1 ? "no_such_tool" : "light", args: { room: "hall", level: 2 } } }], { finishReason: "STOP" });
        if (how === "stream") events(res, [call]);
        else send(res, 200, call);
      };
      const r = await post(pair, `/v1beta/models/g-own:${path}`, {}, { ...d.body("", "go"), tools: tools[0] });
      const got = how === "stream" ? sseOf(r.text) : [JSON.parse(r.text)];
      assert.deepEqual(partsOf(got).filter((p) => p.functionCall).map((p) => p.functionCall.name), ["light"], r.text);
      assert.equal(pair.own.seen.length, 2);
      assert.deepEqual(JSON.parse(pair.own.seen[1].body).tools, tools[0]);
    },
  });

holds("gemini: a schema that is lowered is of Google's kind still, and calls are held against what it means", {
  async run(pair) {
    const level = { type: "INTEGER", format: "enum", enum: ["1", "2"], nullable: true }, wrong = { ...google, properties: { ...google.properties, level: { ...level, patternProperties: {} } } };
    pair.own.answer = (q, res) =>
      q.n === 1
        ? send(res, 400, { error: { code: 400, message: `Invalid JSON payload received. Unknown name "patternProperties" at 'tools[0].function_declarations[0].parameters.properties[1].value': Cannot find field.`, status: "INVALID_ARGUMENT" } })
        : send(res, 200, said([{ functionCall: { name: "light", args: { tags: ["a"], level: 2 } } }], { finishReason: "STOP" }));
    const r = await post(pair, "/v1beta/models/g-own:generateContent", {}, { ...d.body("", "go"), tools: [{ functionDeclarations: [{ name: "light", parameters: wrong }] }] });
    const sent = JSON.parse(pair.own.seen[1].body).tools[0].functionDeclarations[0].parameters.properties;
    assert.deepEqual([sent.level, sent.tags.minItems], [{ ...level, type: "integer" }, "1"]);
    assert.equal(pair.own.seen.length, 2, r.text);
    assert.deepEqual(JSON.parse(r.text).candidates[0].content.parts[0].functionCall.args, { tags: ["a"], level: 2 });
  },
});

holds("gemini: other methods pass through, go to Google's provider, and are sent again where that is safe", {
  config: (c) => (c.providers = c.providers.filter((p) => p.name.startsWith("own"))) && (c.models = []),
  async run(pair) {
    for (const [method, path, safe] of [["POST", "/v1beta/models/g:countTokens", true], ["POST", "/v1beta/models/g:embedContent", true], ["POST", "/v1beta/models/g:batchEmbedContents", true], ["GET", "/v1beta/models", true], ["POST", "/upload/v1beta/files", false], ["POST", "/v1beta/cachedContents", false]]) {
      pair.own.seen = [];
      pair.own.answer = (q, res) => (q.n === 1 ? send(res, 500, { error: { code: 500, message: "Internal", status: "INTERNAL" } }) : send(res, 200, { fine: 1 }));
      const r = await ask(pair, `${path}?key=sk-client`, { method, headers: json, body: method === "POST" ? '{"x" : 1}' : null });
      assert.equal(pair.own.seen.length, safe ? 2 : 1, path);
      assert.equal(r.status, safe ? 200 : 500, path);
      for (const q of pair.own.seen) {
        assert.match(q.headers["x-goog-api-key"] ?? "", /^sk-(one|two)$/, path);
        assert.doesNotMatch(q.url, /key=/);
        if (method === "POST") assert.equal(q.body.toString(), '{"x" : 1}');
      }
    }
  },
});

// Google names these stop reasons itself: nothing passes by waiting, and the model is well for everybody else.
holds("gemini: calls that stay broken are no outage: the client need not wait for the end of patience, and others do not wait", {
  config: (c) => (delete c.recovery.max_attempts, (c.recovery.kinds = {}), (c.recovery.patience = "4s"), (c.recovery.on_failure = "error"), (c.recovery.hedge = "off")),
  async run(pair) {
    for (const [i, finishReason] of ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_FUNCTION_CALL"].entries()) {
      const bad = { candidates: [{ content: {}, finishReason, index: 0 }], usageMetadata: { promptTokenCount: 9, totalTokenCount: 9 } }, stream = i % 2 === 1;
      pair.own.seen = [];
      pair.own.answer = (q, res) => (stream ? res.writeHead(200, { "content-type": "text/event-stream" }).end(`data: ${JSON.stringify(bad)}\r\n\r\n`) : send(res, 200, bad));
      const r = await question(pair, d, { model: d.own, text: `say ${finishReason} ${i}`, stream });
      assert.deepEqual([r.status, r.headers["x-daruma-remedies"]], [502, "retry,explain"], r.text);
      assert.equal(pair.own.seen.length, 3);
    }
    pair.own.seen = [];
    pair.own.answer = (q, res) => send(res, 200, good.gemini);
    const next = await question(pair, d, { model: d.own, text: "say another" });
    assert.deepEqual([next.said, next.outcome, pair.own.seen.length], ["fine", "ok", 1]);
  },
});

// The base URL of this provider ends with /v1beta, and Google has uploads beside that.
holds("gemini: the SDK uploads a file, piece by piece, and asks in another version of the API", {
  config: (c) => (c.providers = c.providers.filter((p) => p.name.startsWith("own"))) && (c.models = []),
  async run(pair) {
    const bytes = Buffer.from(Array.from({ length: (8 << 20) + 5 }, (_, i) => (i * 37) & 255)), got = [];
    pair.own.answer = (q, res) => {
      const command = q.headers["x-goog-upload-command"], status = /finalize/.test(command) ? "final" : "active";
      if (command === "start") return res.writeHead(200, { "x-goog-upload-url": "https://google.example/upload/v1beta/files?upload_id=U&upload_protocol=resumable", "x-goog-upload-status": status }).end();
      if (command) got.push(q.body);
      send(res, 200, command ? { file: { name: "files/f" } } : { name: "auth_tokens/t" }, { "x-goog-upload-status": status });
    };
    const sdk = (apiVersion) => new GoogleGenAI({ apiKey: "sk-client", apiVersion, httpOptions: { baseUrl: pair.base } });
    const file = await sdk("v1beta").files.upload({ file: new Blob([bytes]), config: { mimeType: "text/plain" } });
    assert.equal(file.name, "files/f");
    assert.ok(Buffer.concat(got).equals(bytes));
    assert.equal((await sdk("v1alpha").authTokens.create({ config: { uses: 1 } })).name, "auth_tokens/t");
    const part = "/upload/v1beta/files?upload_id=U&upload_protocol=resumable";
    assert.deepEqual(own(pair), ["/upload/v1beta/files", part, part, "/v1alpha/auth_tokens"]);
  },
});

// The path that daruma writes is nobody's word against that.
holds("gemini: a conversation that was translated goes to the version that ends the base URL", {
  config: (c) => {
    const p = c.providers.find((one) => one.name === "own-gemini");
    p.url = p.url.replace(/v1beta$/, "v1alpha");
    c.models.find((m) => m.name === dialects.openai.own).targets = ["own-gemini/g-new"];
  },
  async run(pair) {
    pair.own.answer = (q, res) => send(res, 200, good.gemini);
    const r = await question(pair, dialects.openai, { model: dialects.openai.own });
    assert.equal(r.said, "fine", r.text);
    assert.deepEqual(own(pair), ["/v1alpha/models/g-new:generateContent"]);
  },
});

holds("gemini: without a configuration, one key in the query is refused and another is not", {
  zero: true,
  chaos: fault("{ key: sk-poor, kind: auth }"),
  async run(pair) {
    for (let i = 0; i < 5; i++) assert.ok((await post(pair, `${d.path("g")}?key=sk-poor`)).status >= 400);
    const r = await post(pair, `${d.path("g")}?key=sk-client`);
    assert.equal(d.text(JSON.parse(r.text)), "seven eight");
    const count = await post(pair, "/v1beta/models/g:countTokens?key=sk-client");
    assert.ok(JSON.parse(count.text).totalTokens > 0);
    assert.doesNotMatch(pair.gateway().said, SECRETS);
  },
});
