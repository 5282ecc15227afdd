// Several clients of one gateway: what one of them says or asks for wrongly costs no other one anything.
import assert from "node:assert/strict";
import { dialects, question } from "./net.mjs";
import { holds } from "./wire.mjs";
import { every, json, own, wires } from "./wires.mjs";

const hostile = [
  ["the words of an empty account", "You exceeded your current quota, please check your plan and billing details."],
  ["a wait of a day", "Rate limit reached, please try again in 86400s"],
  ["the words of a wrong key", "Incorrect API key provided"],
  ["the words of a missing model", "The model m-own does not exist or you do not have access to it"],
  ["the words of a busy model", "The server is overloaded or not ready yet"],
];

// What providers answer who quote the value that they do not take.
const refusal = {
  openai: (words) => ({ error: { message: `Invalid value: '${words}'. Supported values are: 'auto' and 'default'.`, type: "invalid_request_error", param: "service_tier", code: "invalid_value" } }),
  responses: (words) => ({ error: { message: `Invalid value: '${words}'. Supported values are: 'auto' and 'default'.`, type: "invalid_request_error", param: "service_tier", code: "invalid_value" } }),
  anthropic: (words) => ({ type: "error", error: { type: "invalid_request_error", message: `metadata.user_id: ${words}: is not a user of this organization` } }),
  gemini: (words) => ({ error: { code: 400, message: `Invalid value at 'labels' (TYPE_ENUM), "${words}"`, status: "INVALID_ARGUMENT" } }),
};
const says = {
  openai: (words) => ({ service_tier: words }),
  responses: (words) => ({ service_tier: words }),
  anthropic: (words) => ({ metadata: { user_id: words } }),
  gemini: (words) => ({ labels: { team: words } }),
};

// What one request says wrongly is dropped from that one, and from no other.
const wrong = {
  openai: [["service_tier", "bogus", "flex"], ["temperature", "hot", 0.5], ["tool_choice", "auto", "none"]],
  responses: [["service_tier", "bogus", "flex"], ["temperature", "hot", 0.5], ["tool_choice", "auto", "none"]],
  anthropic: [["service_tier", "bogus", "standard_only"], ["temperature", "hot", 0.5]],
  gemini: [],
};
const words = {
  service_tier: ["Invalid value: 'bogus'. Supported values are: 'auto', 'default', 'flex', and 'priority'.", "invalid_value"],
  temperature: ["Invalid type for 'temperature': expected a decimal, but got a string instead.", "invalid_type"],
  tool_choice: ["Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.", null],
};

every((name, d, w) => {
  for (const [param, bad, good] of wrong[name])
    holds(`neighbours ${name}: a ${param} that is wrong in one request stays in the requests of others`, {
      async run(pair) {
        const [message, code] = words[param];
        pair.own.answer = (q, res) => (JSON.parse(q.body)[param] === bad ? json(res, 400, name === "anthropic" ? { type: "error", error: { type: "invalid_request_error", message: `${param}: ${message}` } } : { error: { message, type: "invalid_request_error", param, code } }) : w.answer(res, "seven eight"));
        await question(pair, d, { model: d.own, more: { [param]: bad } });
        await question(pair, d, { model: d.own, more: { [param]: good }, text: "say more" });
        assert.deepEqual(JSON.parse(pair.own.seen.at(-1).body)[param], good, "it was left out");
      },
    });

  for (const [what, words] of hostile)
    holds(`neighbours ${name}: ${what}, quoted from one request, rest nothing and cost nobody else a call`, {
      async run(pair) {
        pair.own.answer = (q, res) => (q.body.includes(words) ? json(res, 400, refusal[name](words)) : w.answer(res, "seven eight"));
        const bad = await question(pair, d, { model: d.own, more: says[name](words) });
        assert.ok(bad.status === 400 || (bad.outcome === "recovered" && bad.said === "seven eight"), bad.text); // perhaps it was dropped
        const calls = pair.own.seen.length;
        assert.ok(calls <= 2, `${calls} calls`); // once more at most, without what was refused
        for (const q of pair.own.seen) assert.equal(q.headers.authorization ?? q.headers["x-api-key"] ?? q.headers["x-goog-api-key"], pair.own.seen[0].headers.authorization ?? pair.own.seen[0].headers["x-api-key"] ?? pair.own.seen[0].headers["x-goog-api-key"], "another key was tried");
        for (let i = 0; i < 3; i++) {
          const good = await question(pair, d, { model: d.own, text: `say ${i}` });
          assert.deepEqual([good.status, good.said, good.outcome, good.headers["x-daruma-attempts"]], [200, "seven eight", "ok", "1"], good.text);
        }
        const s = await pair.status();
        assert.ok(s.places.length > 0);
        for (const p of s.places) assert.deepEqual([p.cool_in_ms, p.breaker], [0, "closed"], JSON.stringify(p));
      },
    });
});

/* ---- quotes in other clothes ---- */

// How a request may hold words, and how the error that quotes them shows them.
const chat = (more) => ({ messages: [{ role: "user", content: "hi" }], ...more });
const called = (args) => chat({ messages: [{ role: "user", content: "hi" }, { role: "assistant", content: null, tool_calls: [{ id: "c1", type: "function", function: { name: "look", arguments: JSON.stringify(args) } }] }, { role: "tool", tool_call_id: "c1", content: "x" }] });
const clothes = [
  ["a value in the arguments of a tool call", (words) => called({ place: words, of: "it" }), (words) => `Bad request: ${words}`],
  ["an address, read by the provider", (words) => chat({ user: `https://pictures.example/${encodeURIComponent(words)}` }), (words) => `Failed to load https://pictures.example/${words}`],
  ["a text that a page shows", (words) => chat({ user: words.replaceAll(" ", " & ") }), (words) => `<html><body><h1>Error</h1><p>${words.replaceAll(" ", " &amp; ")}</p></body></html>`],
];
// The same words in pieces, as base64, or as a name; and errors that say them with a code, and nothing else.
const split = (words) => words.split(" ").map((text) => ({ type: "text", text }));
const halves = (words) => [words.slice(0, words.length / 2 + 1), words.slice(words.length / 2 + 1)].map((text) => ({ type: "text", text }));
const inParts = (parts) => chat({ messages: [{ role: "user", content: "hi" }, { role: "user", content: parts }] });
const base64 = (words) => Buffer.from(words).toString("base64");
clothes.push(
  ["a message of one part for each word", (words) => inParts(split(words)), (words) => `Bad request: ${words}`],
  ["two parts of a message that cut a word", (words) => inParts(halves(words)), (words) => `Bad request: ${words}`],
  ["a file as base64", (words) => inParts([{ type: "file", file: { filename: "a.txt", file_data: `data:text/plain;base64,${base64(words)}` } }]), (words) => `Cannot read the file: ${words}`],
  ["a file as base64, behind much else", (words) => inParts([{ type: "file", file: { filename: "a.txt", file_data: base64(`${"Nothing of this is of interest to anybody. ".repeat(300)}${words} and so on for ever more`) } }]), (words) => `Cannot read the file: ${words} and so on for ever more`],
  ["the name of a member, said alone", (words) => chat({ [words.replaceAll(" ", "_").toLowerCase()]: 1 }), (words) => JSON.stringify({ error: { message: words.replaceAll(" ", "_").toLowerCase() } })],
);
// Names of several words that no API has, one word that could be a code, and strings within strings.
const name = (words) => words.replaceAll(" ", "_").toLowerCase();
const gave = (content) => called({}).messages.with(-1, { role: "tool", tool_call_id: "c1", content });
clothes.push(
  ["the name of a member of what a tool gave", (words) => chat({ messages: gave(JSON.stringify({ [name(words)]: 1 })) }), (words) => JSON.stringify({ error: { message: `Unrecognized request argument supplied: ${name(words)}`, type: "invalid_request_error" } })],
  ["one word as a value, said alone", (words) => chat({ user: name(words) }), (words) => JSON.stringify({ error: { message: name(words) } })],
  ["a string within strings, in quotation marks", (words) => called({ a: JSON.stringify({ b: JSON.stringify({ c: `"${words}"` }) }) }), (words) => `Bad request: "${words}"`],
  ["a string within strings, shown as it was escaped", (words) => called({ a: JSON.stringify({ b: words }) }), (words) => JSON.stringify({ error: { message: `Cannot read ${JSON.stringify(JSON.stringify({ b: words }))}` } })],
);
// What stands beside the body, and an error that sends back what it was sent.
const sentBack = (words) => ({ metadata: { code: name(words), status: name(words), retry_after: words.startsWith("zebras") ? 1 : 86400 } });
clothes.push(
  ["a header field", () => chat(), (words) => `A field is bad: ${words}`, (words) => ({ "x-tag": words })],
  ["a header field, read as JSON", () => chat(), (words) => JSON.stringify({ error: { message: "The field is not valid", body: { code: name(words) } } }), (words) => ({ code: name(words) })],
  ["a text with pictures, escaped", (words) => chat({ user: `so ${words.replaceAll(" ", " \u{1f600} ")} it says` }), (words) => `{"error":{"message":"Bad user: so ${words.replaceAll(" ", " \\ud83d\\ude00 ")} it says"}}`],
  ["members that the error sends back", (words) => chat(sentBack(words)), (words) => JSON.stringify({ error: { message: "The request is not valid", body: sentBack(words) } })],
);
for (const [what, more, shown, headers] of clothes)
  for (const status of [400, 500])
    for (const words of ["please try again in 86400s", "Incorrect API key provided", "The server is overloaded", "insufficient quota"])
      holds(`neighbours: "${words}" in ${what}, quoted with ${status}, is judged as other words are`, {
        config: (c) => (c.recovery.max_attempts = 3),
        async run(pair) {
          const { answer } = wires.openai, d = dialects.openai;
          pair.own.answer = (q, res) => (q.body.includes("hi") ? res.writeHead(status, { "content-type": "text/plain" }).end(shown(now)) : answer(res, "seven eight"));
          const heard = [];
          let now;
          for (const said of ["zebras walk to melons", words]) {
            await pair.again((c) => (c.recovery.max_attempts = 3));
            pair.own.seen = [];
            await question(pair, d, { model: d.own, more: more((now = said)), headers: headers?.(said) });
            const { places } = await pair.status();
            heard.push({ calls: pair.own.seen.length, rests: places.filter((p) => p.cool_in_ms > 0).length, breakers: places.map((p) => p.breaker).sort(), kind: pair.events().find((e) => e.kind)?.kind });
          }
          assert.deepEqual(heard[1], heard[0]);
        },
      });

for (const status of [400, 500])
  holds(`neighbours: words that come with ${status} make nobody wait for a day`, {
    async run(pair) {
      const { answer } = wires.openai, d = dialects.openai;
      pair.own.answer = (q, res) => (q.body.includes("hi") ? json(res, status, { error: { message: "Cannot be read: please try again in 86400s", type: "server_error" } }) : answer(res, "seven eight"));
      await question(pair, d, { model: d.own, text: "hi", headers: { "x-daruma-deadline-ms": "500" } });
      for (const p of (await pair.status()).places) assert.ok(p.cool_in_ms <= 5000, JSON.stringify(p));
    },
  });

holds("neighbours: words of an overload that come with 400 open no breaker", {
  config: (c) => (c.recovery.max_attempts = 4),
  async run(pair) {
    const { answer } = wires.openai, d = dialects.openai;
    pair.own.answer = (q, res) => (q.body.includes("hi") ? json(res, 400, { error: { message: "The server is overloaded" } }) : answer(res, "seven eight"));
    for (let i = 0; i < 3; i++) await question(pair, d, { model: d.own, text: `hi ${i}` });
    for (const p of (await pair.status()).places) assert.equal(p.breaker, "closed", JSON.stringify(p));
  },
});

for (const code of ["unknown_parameter", "invalid_type", "InvalidParameter", "string_above_max_length"])
  for (const words of ["You exceeded your current quota", "Rate limit reached", "Incorrect API key provided", "The model m-own does not exist"])
    holds(`neighbours: "${words}" beside the code ${code} rests nobody, and tries no other key`, {
      async run(pair) {
        const d = dialects.openai;
        pair.own.answer = (q, res) => json(res, 400, { error: { message: words, type: "invalid_request_error", code } }); // nothing of it stands in the request
        const r = await question(pair, d, { model: d.own });
        assert.deepEqual([r.status, pair.own.seen.length], [400, 1], r.text);
        for (const p of (await pair.status()).places) assert.deepEqual([p.cool_in_ms, p.breaker], [0, "closed"], JSON.stringify(p));
      },
    });

/* ---- lessons belong to who paid for them ---- */

const theirs = (c) => c.providers.forEach((p) => delete p.keys); // each client brings its own key
const keyed = (name, key) => ({ openai: { authorization: `Bearer ${key}` }, responses: { authorization: `Bearer ${key}` }, anthropic: { "x-api-key": key }, gemini: { "x-goog-api-key": key } })[name];
const keyOf = (q) => (q.headers.authorization ?? q.headers["x-api-key"] ?? q.headers["x-goog-api-key"]).replace("Bearer ", "");
const refuses = (name, w, res, param) => w.refuse(res, name === "gemini" ? `Unknown name "${param}": Cannot find field.` : name === "anthropic" ? `${param}: Extra inputs are not permitted` : `Unsupported parameter: '${param}' is not supported with this model.`, { param, code: "unsupported_parameter" });

every((name, d, w) => {
  const param = name === "gemini" ? "cachePoint" : "service_tier";
  const more = { [param]: "auto" }, has = (q) => param in JSON.parse(q.body);

  holds(`neighbours ${name}: what one client's key was refused goes out with another's`, {
    config: theirs,
    async run(pair) {
      pair.own.answer = (q, res) => (has(q) && keyOf(q) === "k-first" ? refuses(name, w, res, param) : w.answer(res, "seven eight"));
      const first = await question(pair, d, { model: d.own, more, headers: keyed(name, "k-first") });
      assert.deepEqual([first.status, first.outcome, first.headers["x-daruma-remedies"]], [200, "recovered", "mend_parameter"], first.text);
      const other = await question(pair, d, { model: d.own, more, text: "say more", headers: keyed(name, "k-second") });
      assert.deepEqual([other.outcome, other.headers["x-daruma-remedies"], has(pair.own.seen.at(-1))], ["ok", "none", true], "the second client's request was changed for the first one's lesson");
      const again = await question(pair, d, { model: d.own, more, text: "say once more", headers: keyed(name, "k-first") });
      assert.deepEqual([again.headers["x-daruma-attempts"], again.headers["x-daruma-remedies"], has(pair.own.seen.at(-1))], ["1", "mend_parameter", false], "it was not learned, or not told");
      const told = pair.events().filter((e) => e.event === "known_mendings_applied");
      assert.equal(told.length, 1);
      assert.match(told[0].reason, new RegExp(param));
      const { models_learned } = await pair.status();
      assert.deepEqual(models_learned.map((m) => [m.parameters.length, m.parameters[0].applied, m.parameters[0].case]), [[1, 1, first.headers["x-daruma-case"]]]);
    },
  });

  holds(`neighbours ${name}: what one account was refused goes out to another`, {
    async run(pair) {
      const away = new Set();
      pair.own.answer = (q, res) => (away.has(keyOf(q)) ? json(res, 429, { error: { message: "Rate limit reached, please slow down", type: "rate_limit_error" } }) : has(q) && keyOf(q) === "sk-one" ? refuses(name, w, res, param) : w.answer(res, "seven eight"));
      assert.equal((await question(pair, d, { model: d.own, more })).status, 200);
      away.add("sk-one");
      await question(pair, d, { model: d.own, text: "fill the place of the first account" }); // it rests now, for a moment
      const other = await question(pair, d, { model: d.own, more, text: "say more" });
      assert.equal(keyOf(pair.own.seen.at(-1)), "sk-two");
      assert.deepEqual([other.status, has(pair.own.seen.at(-1))], [200, true], other.text);
    },
  });

  holds(`neighbours ${name}: a lesson that hurts is forgotten, and the request goes out as it came`, {
    async run(pair) {
      let wants = false;
      pair.own.answer = (q, res) => {
        if (!wants) return has(q) ? refuses(name, w, res, param) : w.answer(res, "seven eight");
        return has(q) ? w.answer(res, "seven eight") : w.refuse(res, `Missing required parameter: '${param}'.`, { param, code: "missing_required_parameter" });
      };
      assert.equal((await question(pair, d, { model: d.own, more })).status, 200);
      assert.equal((await question(pair, d, { model: d.own, more, text: "two" })).headers["x-daruma-attempts"], "1");
      wants = true; // the provider has a new version
      const r = await question(pair, d, { model: d.own, more, text: "three" });
      assert.deepEqual([r.status, r.said, r.headers["x-daruma-attempts"]], [200, "seven eight", "2"], r.text);
      const next = await question(pair, d, { model: d.own, more, text: "four" });
      assert.deepEqual([next.outcome, next.headers["x-daruma-attempts"]], ["ok", "1"], next.text);
      assert.equal(pair.events().filter((e) => e.event === "lesson_forgotten").length, 1);
      for (const m of (await pair.status()).models_learned) assert.deepEqual(m.parameters, []);
    },
  });

  holds(`neighbours ${name}: a model that one client may not use is asked for another, whose key may`, {
    config: theirs,
    async run(pair) {
      pair.own.answer = (q, res) => (keyOf(q) === "k-first" ? json(res, 404, { type: "error", error: { code: name === "gemini" ? 404 : "model_not_found", type: "not_found_error", status: "NOT_FOUND", message: `The model ${d.own} does not exist or you do not have access to it.` } }) : w.answer(res, "seven eight"));
      for (const text of ["one", "two", "three"]) assert.equal((await question(pair, d, { model: d.own, text, headers: keyed(name, "k-first") })).status, 404);
      const calls = pair.own.seen.length;
      const other = await question(pair, d, { model: d.own, headers: keyed(name, "k-second") });
      assert.deepEqual([other.status, other.said, pair.own.seen.length], [200, "seven eight", calls + 1], other.text);
    },
  });

  holds(`neighbours ${name}: a model that is overloaded for one client, for a while, is asked for another at once`, {
    config: theirs,
    async run(pair) {
      pair.own.answer = (q, res) => (keyOf(q) === "k-first" ? res.writeHead(503, { "content-type": "application/json", "retry-after": "20" }).end(JSON.stringify({ error: { message: "The model is overloaded, please try again later.", type: "overloaded_error" } })) : w.answer(res, "seven eight"));
      const first = await question(pair, d, { model: d.own, headers: { ...keyed(name, "k-first"), "x-daruma-deadline-ms": "500" }, signal: AbortSignal.timeout(1500) }).catch((e) => e);
      assert.ok(first.status === 503 || first.name === "TimeoutError" || first.name === "AbortError", first.text ?? String(first));
      const at = Date.now();
      const other = await question(pair, d, { model: d.own, headers: keyed(name, "k-second") });
      assert.deepEqual([other.status, other.said, other.headers["x-daruma-attempts"]], [200, "seven eight", "1"], other.text);
      assert.ok(Date.now() - at < 1000, `it waited ${Date.now() - at} ms`);
    },
  });

  if (name !== "responses") // whose words have no numbers
    holds(`neighbours ${name}: a window that the refused request cannot have filled is not learned`, {
      async run(pair) {
        const long = `remember this: ${"lorem ipsum dolor sit amet ".repeat(600)}`;
        pair.own.answer = (q, res) => (q.body.includes("short") ? w.overflow(res, 1500, 1600) : w.answer(res, "seven eight"));
        await question(pair, d, { model: d.own, text: "short" });
        const r = await question(pair, d, { model: d.own, text: long });
        assert.deepEqual([r.status, r.outcome, r.headers["x-daruma-remedies"]], [200, "ok", "none"], r.text);
        assert.ok(pair.own.seen.at(-1).body.includes(long), "it was shortened");
        assert.ok((await pair.status()).models_learned.every((m) => !m.window));
      },
    });

  if (name !== "responses")
    holds(`neighbours ${name}: a window that is smaller than what was taken is forgotten, or not learned at all`, {
      async run(pair) {
        const words = (n) => "lorem ipsum dolor sit amet ".repeat(n);
        const turns = Array.from({ length: 4 }, (_, i) => [{ user: `look ${words(20)}` }, { call: `c${i}` }, { result: `c${i}`, text: words(60) }]).flat();
        let refuse = 1, count = 5;
        pair.own.answer = (q, res) => (refuse-- > 0 ? w.overflow(res, 2000, 3000) : w.answer(res, "seven eight", [], undefined, count));
        const send = () => question(pair, d, own(d, w, turns));
        await send();
        const window = async () => (await pair.status()).models_learned.find((m) => m.window)?.window;
        assert.equal(await window(), 2000);
        count = 5000; // as the provider counts what it took
        await question(pair, d, { model: d.own, text: "a picture" });
        assert.equal(await window(), undefined, "it was kept");
        assert.equal(pair.events().filter((e) => e.event === "lesson_forgotten").length, 1);
        refuse = 1;
        await send();
        assert.equal(await window(), undefined, "it was learned again");
      },
    });
});

// What a provider says of one request's own schema, words or companions, and what another client has in the same place.
const shape = (schema) => ({ type: "json_schema", json_schema: { name: "place", strict: true, schema } });
const fine = shape({ type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false });
const companions = [
  ["a response format whose schema is wrong", "response_format", shape({ type: "string" }), fine, "Invalid schema for response_format 'place': schema must be a JSON Schema of 'type: \"object\"', got 'type: \"string\"'.", null],
  ["logprobs in a combination", "logprobs", true, false, "logprobs is not supported in combination with stream", "unsupported_parameter"],
  ["a seed that a companion forbids", "seed", 1, 2, "Unsupported parameter: 'seed' is not supported if 'store' is true.", "unsupported_parameter"],
];
for (const [what, param, bad, good, message, code] of companions)
  holds(`neighbours: ${what} stays with the request that had it`, {
    async run(pair) {
      const d = dialects.openai, same = (q) => JSON.stringify(JSON.parse(q.body)[param]);
      pair.own.answer = (q, res) => (same(q) === JSON.stringify(bad) ? json(res, 400, { error: { message, type: "invalid_request_error", param, code } }) : wires.openai.answer(res, '{"a":"b"}'));
      for (const text of ["one", "two"]) await question(pair, d, { model: d.own, text, more: { [param]: bad } });
      const r = await question(pair, d, { model: d.own, text: "mine", more: { [param]: good } });
      assert.deepEqual([r.outcome, r.headers["x-daruma-remedies"], same(pair.own.seen.at(-1))], ["ok", "none", JSON.stringify(good)], "it was changed for another one's request");
    },
  });

/* ---- what a refusal is about ---- */

// Each is refused for what stands in this request: a mode, another number, words of its own. What the next one says of the
// same parameter goes out as it is.
const tool = (more) => ({ type: "function", function: { name: "look", parameters: { type: "object", properties: { of: { type: "string", ...more } } } } });
const long = `You exceeded your current quota, please check your plan and billing details.`;
for (const [what, d, first, next, message, code] of [
  ["a stream", "openai", { logprobs: true, stream: true }, { logprobs: true }, "Unsupported parameter: 'logprobs' is not supported with streaming.", "unsupported_parameter"],
  ["calls that are no streams", "openai", { n: 3, stream: true }, { n: 3 }, "'n' must be 1 for streamed responses.", "invalid_value"],
  ["thinking", "anthropic", { top_p: 0.5, thinking: { type: "enabled", budget_tokens: 1024 }, max_tokens: 4000 }, { top_p: 0.5 }, "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.", null],
  ["another number", "anthropic", { thinking: { type: "enabled", budget_tokens: 9000 }, max_tokens: 4000 }, { thinking: { type: "enabled", budget_tokens: 9000 }, max_tokens: 20000 }, "`max_tokens` must be greater than `thinking.budget_tokens`.", null],
  ["what it is used with", "openai", { parallel_tool_calls: true, service_tier: "auto" }, { parallel_tool_calls: true }, "Unsupported parameter: 'parallel_tool_calls' cannot be used with service_tier.", "unsupported_parameter"],
  ["tools beside it", "openai", { reasoning_effort: "high", tools: [tool({})] }, { reasoning_effort: "high" }, "Function tools with reasoning_effort are not supported for m-own in /v1/chat/completions. Please use /v1/responses instead.", null],
  ["its own value, which is a code", "openai", { service_tier: "extra_forbidden" }, { service_tier: "flex" }, "service_tier: extra_forbidden is not one of auto and flex", null],
  ["an expression of its own", "openai", { tools: [tool({ pattern: "(" })] }, { tools: [tool({ pattern: "^a$" })] }, "Invalid schema for function 'look': In context=('properties', 'of'), 'pattern' is not a valid regex: '('.", "invalid_function_parameters"],
  ["its own words", "openai", { temperature: "temperature is not supported with this model" }, { temperature: 0 }, "Unsupported value 'temperature is not supported with this model' of temperature.", "unsupported_value"],
])
  holds(`neighbours ${d}: a parameter that is refused because of ${what} goes out for others`, {
    async run(pair) {
      const w = wires[d], dialect = dialects[d];
      let seen = 0;
      pair.own.answer = (q, res) => (seen++ === 0 ? json(res, 400, d === "anthropic" ? { type: "error", error: { type: "invalid_request_error", message } } : { error: { message, type: "invalid_request_error", param: Object.keys(first)[0], code } }) : w.answer(res, "seven eight"));
      await question(pair, dialect, { model: dialect.own, more: first });
      await question(pair, dialect, { model: dialect.own, more: next, text: "say more" });
      const sent = JSON.parse(pair.own.seen.at(-1).body);
      for (const [name, value] of Object.entries(next)) assert.deepEqual(sent[name], value, name);
    },
  });

holds("neighbours openai: words behind 2,048 others of a quote are no evidence, and a parameter that is named ends the search for keys", {
  async run(pair) {
    const d = dialects.openai, user = `${"a b c d e f g ".repeat(300)}${long}`;
    pair.own.answer = (q, res) => json(res, 400, { error: { message: `user: ${user}: is not a user`, type: "invalid_request_error" } });
    const keys = () => new Set(pair.own.seen.map((q) => q.headers.authorization)).size;
    await question(pair, d, { model: d.own, more: { user } });
    assert.ok(pair.own.seen.length <= 2 && keys() === 1, "another key was tried"); // once more at most, without what was refused
    pair.own.answer = (q, res) => json(res, 422, { error: { message: "The server is overloaded or not ready yet", type: "invalid_request_error", param: "messages" } });
    const before = pair.own.seen.length;
    await question(pair, d, { model: d.own });
    assert.ok(pair.own.seen.length <= before + 2 && keys() === 1, "another key was tried");
    for (const p of (await pair.status()).places) assert.deepEqual([p.cool_in_ms, p.breaker], [0, "closed"], JSON.stringify(p));
  },
});

holds("neighbours openai: a value that was learned goes when it is refused as well", {
  async run(pair) {
    const d = dialects.openai, w = wires.openai, least = 500;
    let most = 100;
    pair.own.answer = (q, res) => {
      const n = JSON.parse(q.body).max_tokens;
      const wrong = n > most ? `max_tokens is too large: ${n}. This model supports at most ${most} completion tokens.` : most > least && n < least ? `Invalid 'max_tokens': integer below minimum value. Expected a value of at least ${least}, but got ${n} instead.` : null;
      return wrong ? json(res, 400, { error: { message: wrong, type: "invalid_request_error", param: "max_tokens", code: "invalid_value" } }) : w.answer(res, "seven eight");
    };
    const ask = async (text) => {
      const r = await question(pair, d, { model: d.own, more: { max_tokens: 800 }, text });
      return [r.status, JSON.parse(pair.own.seen.at(-1).body).max_tokens];
    };
    assert.deepEqual(await ask("one"), [200, 100]);
    assert.deepEqual(await ask("two"), [200, 100]); // known by now
    assert.equal(pair.own.seen.length, 3);
    most = 4000;
    await ask("three"); // refused for the 100 that daruma made of it
    assert.deepEqual(await ask("four"), [200, 800], "the old lesson is still in force");
  },
});

holds("neighbours openai: a window that a request quotes is not learned", {
  async run(pair) {
    const d = dialects.openai, w = wires.openai, said = "This model's maximum context length is 1500 tokens. However, your messages resulted in 9000 tokens.";
    pair.own.answer = (q, res) => (q.body.includes("9000 tokens") ? json(res, 400, { error: { message: said, type: "invalid_request_error" } }) : w.answer(res, "seven eight"));
    await question(pair, d, { model: d.own, text: `What does this mean? ${said} ${"It is long. ".repeat(600)}` });
    pair.own.seen = [];
    const text = "More of it, and more. ".repeat(800);
    const r = await question(pair, d, { model: d.own, text });
    assert.deepEqual([r.status, r.outcome, pair.own.seen.length], [200, "ok", 1], r.text);
    assert.ok(pair.own.seen[0].body.includes(text), "it was shortened");
  },
});

/* ---- keys and accounts that others were refused a moment ago ---- */

const noCredit = (res) => json(res, 429, { error: { message: "You exceeded your current quota, please check your plan and billing details.", type: "insufficient_quota", param: null, code: "insufficient_quota" } });
const noKey = (res) => json(res, 401, { error: { message: "Incorrect API key provided.", type: "invalid_request_error", param: null, code: "invalid_api_key" } });
const keys = (...names) => (c) => (c.providers.find((p) => p.name === "own").keys = names.map((value, i) => ({ value, account: `account-${i}` })));
const asks = (pair, text, key) => question(pair, dialects.openai, { model: dialects.openai.own, text, headers: key ? keyed("openai", key) : {} });

holds("neighbours: a refused key of one client, and dead keys of the gateway, keep no other client's key from its provider", {
  config(c) {
    const { keys: dropped, ...bare } = { ...c.providers.find((p) => p.name === "own"), name: "bare" };
    keys("sk-dead-1", "sk-dead-2")(c);
    c.providers.push(bare);
    c.models.find((m) => m.name === dialects.openai.own).targets = ["own/m-own", "bare/m-own"];
  },
  async run(pair) {
    const good = new Set(["k-good"]);
    pair.own.answer = (q, res) => (good.has(keyOf(q)) ? wires.openai.answer(res, "seven eight") : noKey(res));
    for (let i = 0; i < 4; i++) {
      const [bad, well] = await Promise.all([asks(pair, `bad ${i}`, "k-bad"), asks(pair, `good ${i}`, "k-good")]);
      assert.deepEqual([bad.status, well.status, well.said], [401, 200, "seven eight"], bad.text + well.text);
    }
    good.add("k-bad"); // which is renewed
    good.delete("k-good");
    await new Promise((yes) => setTimeout(yes, 600));
    const renewed = await asks(pair, "renewed", "k-bad");
    assert.deepEqual([renewed.status, renewed.said], [200, "seven eight"], renewed.text);
  },
});

holds("neighbours: a key that is refused for a moment is asked by whom a dead one was refused, whatever others were told", {
  config: keys("sk-dead", "sk-two"),
  async run(pair) {
    let away = false;
    pair.own.answer = (q, res) => (keyOf(q) === "sk-two" && !away ? wires.openai.answer(res, "seven eight") : noKey(res));
    for (let i = 0; i < 3; i++) assert.equal((await asks(pair, `before ${i}`)).status, 200);
    away = true;
    setTimeout(() => (away = false), 900);
    const all = await Promise.all(Array.from({ length: 8 }, (_, i) => new Promise((yes) => setTimeout(yes, 60 * i)).then(() => asks(pair, `meanwhile ${i}`))));
    assert.deepEqual(all.map((r) => r.status), all.map(() => 200), JSON.stringify(all.map((r) => r.text)));
  },
});

holds("neighbours: what a large request has no credit for, a small one is asked for all the same", {
  config: keys("sk-dead", "sk-two"),
  async run(pair) {
    pair.own.answer = (q, res) => (keyOf(q) === "sk-dead" ? noKey(res) : /large/.test(q.body) ? noCredit(res) : wires.openai.answer(res, "seven eight"));
    assert.equal((await asks(pair, "large 0")).status, 429);
    for (let i = 0; i < 4; i++) {
      await asks(pair, `large ${i}`);
      const small = await asks(pair, `small ${i}`);
      assert.deepEqual([small.status, small.said], [200, "seven eight"], small.text);
    }
  },
});

holds("neighbours: an account whose credit is used up is told within seconds, and at once where another one has some", {
  config: keys("sk-one"),
  async run(pair) {
    const empty = new Set(), timed = async (text) => [Date.now(), await asks(pair, text), Date.now()];
    pair.own.answer = (q, res) => (empty.has(keyOf(q)) ? noCredit(res) : wires.openai.answer(res, "seven eight"));
    for (let i = 0; i < 3; i++) assert.equal((await asks(pair, `before ${i}`)).status, 200);
    empty.add("sk-one");
    const [from, told, to] = await timed("empty");
    assert.equal(told.status, 429, told.text);
    assert.match(told.text, /insufficient_quota/);
    assert.ok(to - from > 900 && to - from < 9000, `told after ${to - from} ms`);
    const second = await asks(pair, "later");
    assert.deepEqual([second.status, second.headers["x-daruma-attempts"]], [429, "1"], "it was waited for behind that");
    empty.clear();
    assert.equal((await asks(pair, "it has some again")).status, 200);
    await pair.again(keys("sk-one", "sk-two"));
    for (let i = 0; i < 3; i++) assert.equal((await asks(pair, `with both ${i}`)).status, 200);
    empty.add(keyOf(pair.own.seen.at(-1)));
    const [begin, other, end] = await timed("from the other one");
    assert.deepEqual([other.status, other.headers["x-daruma-attempts"]], [200, "2"], other.text);
    assert.ok(end - begin < 2500, `it waited ${end - begin} ms`);
  },
});
