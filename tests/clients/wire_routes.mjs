// Where a request goes: forms of names, models that nobody named, providers of another dialect; and what a client may ask of
// daruma for one request (x-daruma-* fields).
import assert from "node:assert/strict";
import { ask, dialects, question } from "./net.mjs";
import { holds } from "./wire.mjs";
import { every, json, target, wires } from "./wires.mjs";

const models = (...list) => (c) => (c.models = list);
const asked = (pair) => pair.own.seen.map((q) => JSON.parse(q.body).model);

every((name, d, w) => {
  if (name === "gemini") return; // it names its model in the path
  const at = target[name].split("/")[0];
  holds(`routes ${name}: a form of names goes where it says, with the name that was asked for`, {
    config: models({ name: "gpt-5", targets: [`${at}/exactly`] }, { name: "gpt-*", targets: [`${at}/*`] }, { name: "*-mini", targets: [`${at}/small/*-v1`] }),
    async run(pair) {
      pair.own.answer = (q, res) => w.answer(res, "seven eight");
      for (const model of ["gpt-5", "gpt-6", "gpt-6-mini", "o-mini"]) assert.equal((await question(pair, d, { model })).said, "seven eight", model);
      assert.deepEqual(asked(pair), ["exactly", "gpt-6", "gpt-6-mini", "small/o-mini-v1"]);
    },
  });

  holds(`routes ${name}: a model that nobody named goes to the targets of default, and fails over between them`, {
    config: (c) => (c.default = [`${at}/first`, `${at}/*`]),
    async run(pair) {
      pair.own.answer = (q, res) => (JSON.parse(q.body).model === "first" ? w.refuse(res, "The model `first` does not exist", { status: 404, code: "model_not_found" }) : w.answer(res, "seven eight"));
      const r = await question(pair, d, { model: "anything" });
      assert.deepEqual([r.said, r.outcome], ["seven eight", "recovered"], r.text);
      assert.deepEqual(asked(pair), ["first", "anything"]);
    },
  });
});

holds("routes: a configuration with one dialect serves clients of the others", {
  config: (c) => {
    c.providers = c.providers.filter((p) => p.name === "own");
    c.models = [];
  },
  async run(pair) {
    pair.own.answer = (q, res) => wires.openai.answer(res, "seven eight");
    for (const d of [dialects.anthropic, dialects.gemini]) assert.equal((await question(pair, d, { model: "m-1" })).said, "seven eight");
    assert.deepEqual(pair.own.seen.map((q) => q.url), ["/v1/chat/completions", "/v1/chat/completions"]);
    assert.deepEqual(asked(pair), ["m-1", "m-1"]);
  },
});

holds("routes: spread keys share new conversations, and each stays with its own", {
  config: (c) => {
    Object.assign(c.providers.find((p) => p.name === "own"), { keys: ["sk-one", "sk-two", "sk-three"].map((value) => ({ value, account: value.slice(3) })), spread: true });
    c.models = [{ name: "m-x", targets: ["own/m-x"] }];
  },
  async run(pair) {
    const d = dialects.openai, keys = new Map(), used = [];
    pair.own.answer = (q, res) => wires.openai.answer(res, "seven eight");
    for (let turn = 0; turn < 2; turn++)
      for (let i = 0; i < 30; i++) {
        const talk = [{ role: "user", content: `question ${i} of many, each of its own` }, ...(turn ? [{ role: "assistant", content: "seven eight" }, { role: "user", content: "and now?" }] : [])];
        await question(pair, d, { model: "m-x", more: { messages: talk } });
        const key = pair.own.seen.at(-1).headers.authorization;
        if (turn) assert.equal(key, keys.get(i), `conversation ${i} changed its key`);
        else used.push(key), keys.set(i, key);
      }
    for (const key of new Set(used)) assert.ok(used.filter((k) => k === key).length >= 4, used.join(" "));
    assert.equal(new Set(used).size, 3);
  },
});

/* ---- fields of one request ---- */

const down = (pair) => (pair.own.answer = (q, res) => json(res, 500, { error: { message: "The server had an error", type: "server_error" } }));

holds("x-daruma-off: the first failure is final, and an agent is told nothing", {
  async run(pair) {
    const d = dialects.openai;
    down(pair);
    const r = await question(pair, d, { model: d.own, headers: { "x-daruma-off": "true" } });
    assert.deepEqual([r.status, pair.own.seen.length], [500, 1], r.text);
    assert.equal(pair.own.seen[0].headers["x-daruma-off"], undefined, "the provider sees it");
    pair.own.seen = [];
    await question(pair, d, { model: d.own, headers: { "x-daruma-off": "false", "x-daruma-deadline": "1s" } });
    assert.ok(pair.own.seen.length > 1);
    for (const on of ["1", "on", "YES", "True"]) {
      pair.own.seen = [];
      await question(pair, d, { model: d.own, headers: { "x-daruma-off": on } });
      assert.equal(pair.own.seen.length, 1, on);
    }
    for (const not of ["0", "Off", "no", ""])
      assert.notEqual((await question(pair, d, { model: d.own, headers: { "x-daruma-off": not, "x-daruma-deadline": "100ms" } })).status, 400, not);
  },
});

for (const [field, value] of [["x-daruma-deadline", "900ms"], ["x-daruma-deadline-ms", "900"]])
  holds(`${field}: the answer comes before that, whatever it is`, {
    async run(pair) {
      const d = dialects.openai;
      down(pair);
      const began = Date.now(), r = await question(pair, d, { model: d.own, headers: { [field]: value } });
      assert.ok(Date.now() - began < 3000, `${Date.now() - began} ms`);
      assert.equal(r.outcome, "failed", r.text);
    },
  });

holds("x-daruma-on-failure: one request gets words, or an error, whatever is configured", {
  async run(pair) {
    const d = dialects.openai;
    down(pair);
    const as = async (form) => (await question(pair, d, { model: d.own, headers: { "x-daruma-on-failure": form, "x-daruma-deadline": "500ms" } })).status;
    assert.deepEqual([await as("message"), await as("error")], [200, 500]);
  },
});

holds("x-daruma-targets: only those, in that order, and none that the model does not have", {
  config: models({ name: "m-x", targets: ["own/one", "own/two", "own/three"] }),
  async run(pair) {
    const d = dialects.openai;
    pair.own.answer = (q, res) => (JSON.parse(q.body).model === "three" ? json(res, 404, { error: { message: "The model `three` does not exist", type: "invalid_request_error", code: "model_not_found" } }) : wires.openai.answer(res, "seven eight"));
    const ask = (targets) => question(pair, d, { model: "m-x", headers: { "x-daruma-targets": targets } });
    assert.equal((await ask("own/three, own/two")).said, "seven eight");
    assert.deepEqual([...new Set(asked(pair))], ["three", "two"]);
    pair.own.seen = [];
    const r = await ask("own/four, main/m-main");
    assert.equal(pair.own.seen.length, 0);
    assert.ok(r.status >= 400 && /x-daruma-targets/.test(r.text), r.text);
  },
});

for (const [field, value] of [["x-daruma-off", "perhaps"], ["x-daruma-deadline", "soon"], ["x-daruma-deadline-ms", "-4"], ["x-daruma-on-failure", "cry"]])
  holds(`${field}: a value that is not known is refused, with what it may be`, {
    async run(pair) {
      const d = dialects.openai, r = await question(pair, d, { model: d.own, headers: { [field]: value } });
      assert.equal(r.status, 400, r.text);
      assert.match(r.text, new RegExp(`${field} has.* Set it to`));
      assert.doesNotMatch(r.text, /provider|by the model/); // daruma's own words
      assert.equal(pair.own.seen.length, 0);
    },
  });

/* ---- a target for what a content filter refused ---- */

const says = {
  openai: "Your request was rejected as a result of our safety system. The request was flagged by our content filter.",
  responses: "Your request was rejected as a result of our safety system. The request was flagged by our content filter.",
  anthropic: "Output blocked by content filtering policy",
  gemini: "The request was blocked by safety filters.",
};
// The whole answer, and the stream, of a provider whose filter withheld what the model said.
const withheld = {
  openai: { body: { choices: [{ index: 0, message: { role: "assistant", content: "" }, finish_reason: "content_filter" }] }, stream: [{ choices: [{ index: 0, delta: { role: "assistant", content: "" } }] }, { choices: [{ index: 0, delta: {}, finish_reason: "content_filter" }] }, "[DONE]"] },
  anthropic: { body: { id: "m", type: "message", role: "assistant", model: "c", content: [], stop_reason: "refusal", usage: { input_tokens: 1, output_tokens: 0 } }, stream: [{ type: "message_start", message: { id: "m", type: "message", role: "assistant", model: "c", content: [], usage: { input_tokens: 1, output_tokens: 0 } } }, { type: "message_delta", delta: { stop_reason: "refusal" }, usage: { output_tokens: 0 } }, { type: "message_stop" }] },
  gemini: { body: { candidates: [{ content: { role: "model" }, finishReason: "SAFETY", index: 0 }] }, stream: [{ promptFeedback: { blockReason: "SAFETY" }, usageMetadata: { promptTokenCount: 3 } }] },
};
const withhold = (name, q, res) => {
  const w = withheld[name], streams = /alt=sse/.test(q.url) || JSON.parse(q.body).stream;
  if (!streams) return json(res, 200, w.body);
  res.writeHead(200, { "content-type": "text/event-stream" });
  res.end(w.stream.map((e) => `${e.type ? `event: ${e.type}\n` : ""}data: ${typeof e === "string" ? e : JSON.stringify(e)}\n\n`).join(""));
};
const modelOf = (q) => /models\/([^:]+):/.exec(q.url)?.[1] ?? JSON.parse(q.body).model;
const filtered = (name, more) => (c) => {
  const at = target[name].split("/")[0];
  c.models = [{ name: "m-x", targets: [`${at}/first`, `${at}/second`], ...more(at) }, { name: "f-*", targets: [`${at}/*`], ...more(at) }];
};

every((name, d, w) => {
  const refusals = { "an error": (q, res) => w.refuse(res, says[name], name === "openai" || name === "responses" ? { code: "content_filter" } : undefined), ...(withheld[name] && { "an answer that is withheld": (q, res) => withhold(name, q, res) }) };
  for (const [what, refuse] of Object.entries(refusals))
    for (const stream of [false, true])
      holds(`on_content_filter ${name}: ${what}${stream ? " in a stream" : ""} goes to that target, once, and only where it is configured`, {
        config: filtered(name, (at) => ({ on_content_filter: `${at}/lenient` })),
        async run(pair) {
          if (stream && !w.opening) return;
          const answer = (q, res) => (stream ? (res.writeHead(200, { "content-type": "text/event-stream" }), res.end([w.opening(), w.piece("seven eight"), w.closing()].join(""))) : w.answer(res, "seven eight"));
          pair.own.answer = (q, res) => (modelOf(q) === "lenient" ? answer(q, res) : refuse(q, res));
          for (const model of ["m-x", "f-1"]) {
            pair.own.seen = [];
            const r = await question(pair, d, { model, stream });
            assert.deepEqual([r.said, r.outcome, r.headers["x-daruma-remedies"]], ["seven eight", "recovered", "switch_model"], r.text);
            assert.match(r.headers["x-daruma-target"], /\/lenient$/);
            assert.deepEqual(pair.own.seen.map(modelOf), [model === "m-x" ? "first" : "f-1", "lenient"]);
          }
          const failed = pair.events().find((e) => e.event === "llm_request_failed" || e.event === "call_failed" || e.kind);
          assert.equal(failed.kind, "content_filter");
          // That one refuses as well: nobody else is asked, and the client is told.
          pair.own.answer = refuse;
          pair.own.seen = [];
          const again = await question(pair, d, { model: "m-x", stream, text: "something else" });
          assert.deepEqual(pair.own.seen.map(modelOf), ["first", "lenient"]);
          assert.ok(["failed", "explained"].includes(again.outcome), `${again.outcome} ${again.text}`);
          // All else is not its business.
          pair.own.answer = (q, res) => (modelOf(q) === "first" ? json(res, 500, { error: { message: "The server had an error", type: "server_error" } }) : answer(q, res));
          pair.own.seen = [];
          await question(pair, d, { model: "m-x", stream, text: "one more" });
          assert.ok(!pair.own.seen.map(modelOf).includes("lenient"), pair.own.seen.map(modelOf).join(" "));
          // Without it the refusal is the client's, as it came.
          await pair.again(filtered(name, () => ({})));
          pair.own.answer = refuse;
          pair.own.seen = [];
          await question(pair, d, { model: "m-x", stream });
          assert.deepEqual(pair.own.seen.map(modelOf), ["first"]);
        },
      });
});

holds("on_content_filter: it may speak another dialect, content that went out stays, and what lives at one account stays there", {
  config: (c) => (c.models = [{ name: "m-x", targets: ["own/first"], on_content_filter: "own-claude/lenient" }]),
  async run(pair) {
    const d = dialects.openai, w = wires.openai;
    pair.own.answer = (q, res) => (modelOf(q) === "lenient" ? wires.anthropic.answer(res, "seven eight") : withhold("openai", q, res));
    const r = await question(pair, d, { model: "m-x" });
    assert.deepEqual([r.said, r.outcome, ...pair.own.seen.map((q) => q.url)], ["seven eight", "recovered", "/v1/chat/completions", "/v1/messages"], r.text);
    // The filter spoke in the midst of the answer: its beginning is the client's already.
    pair.own.seen = [];
    pair.own.answer = (q, res) => (res.writeHead(200, { "content-type": "text/event-stream" }), res.end(w.opening() + w.piece("seven") + w.chunk({}, "content_filter") + "data: [DONE]\n\n"));
    const cut = await question(pair, d, { model: "m-x", stream: true });
    assert.deepEqual([cut.said, cut.outcome, pair.own.seen.length], ["seven", "ok", 1]);
    // A request that goes on from a stored answer is nobody else's.
    await pair.again((c) => (c.models = [{ name: "m-x", targets: ["own-responses/first"], on_content_filter: "own-responses/lenient" }]));
    pair.own.seen = [];
    pair.own.answer = (q, res) => wires.responses.refuse(res, says.responses, { code: "content_filter" });
    await question(pair, dialects.responses, { model: "m-x", more: { previous_response_id: "resp_1" } });
    assert.deepEqual(pair.own.seen.map(modelOf), ["first"]);
    // The client's own list of targets leaves it out.
    pair.own.seen = [];
    await question(pair, dialects.responses, { model: "m-x", headers: { "x-daruma-targets": "own-responses" } });
    assert.deepEqual(pair.own.seen.map(modelOf), ["first"]);
  },
});

// A filter cut these in the midst, in one piece each: what came is the answer.
const cut = {
  openai: { choices: [{ index: 0, message: { role: "assistant", content: "seven" }, finish_reason: "content_filter" }] },
  responses: { id: "resp_1", object: "response", status: "incomplete", incomplete_details: { reason: "content_filter" }, output: [{ type: "message", id: "msg_1", role: "assistant", status: "incomplete", content: [{ type: "output_text", text: "seven", annotations: [] }] }] },
  anthropic: { id: "m", type: "message", role: "assistant", model: "c", content: [{ type: "text", text: "seven" }], stop_reason: "refusal", usage: { input_tokens: 1, output_tokens: 1 } },
  gemini: { candidates: [{ content: { role: "model", parts: [{ text: "seven" }] }, finishReason: "RECITATION", index: 0 }] },
};
every((name, d, w) =>
  holds(`on_content_filter ${name}: an answer that has words is the client's, whatever its stop reason`, {
    config: filtered(name, (at) => ({ on_content_filter: `${at}/lenient` })),
    async run(pair) {
      pair.own.answer = (q, res) => json(res, 200, cut[name]);
      const r = await question(pair, d, { model: "m-x" });
      assert.deepEqual([r.status, r.said, r.outcome, ...pair.own.seen.map(modelOf)], [200, "seven", "ok", "first"], r.text);
    },
  }),
);

// The one in reserve is down, unknown, limited, slow, or speaks of something else.
const troubles = {
  "fails inside": (q, res) => json(res, 500, { error: { message: "The server had an error", type: "server_error" } }),
  "is limited": (q, res) => (res.setHeader("retry-after", "20"), json(res, 429, { error: { message: "Rate limit reached. Please try again in 20s.", type: "rate_limit_error" } })),
  "does not know the model": (q, res) => json(res, 404, { error: { message: "The model `lenient` does not exist", type: "invalid_request_error", code: "model_not_found" } }),
  "refuses its key": (q, res) => json(res, 401, { error: { message: "Incorrect API key provided", type: "invalid_request_error", code: "invalid_api_key" } }),
  "hangs up": (q, res) => res.destroy(),
  "refuses as well": (q, res) => json(res, 400, { error: { message: "Another policy of another provider", type: "invalid_request_error", code: "content_filter" } }),
};
every((name, d, w) => {
  for (const stream of [false, true])
    holds(`on_content_filter ${name}${stream ? " stream" : ""}: where that target fails as well the client is told what the filter said, by whom, and that is what events say`, {
      limit: 60000,
      async run(pair) {
        const refuse = (res) => (res.setHeader("x-request-id", "first-one"), w.refuse(res, says[name], name === "openai" || name === "responses" ? { code: "content_filter" } : undefined));
        for (const [what, trouble] of Object.entries(troubles)) {
          await pair.again(filtered(name, () => ({ on_content_filter: "own/lenient" }))); // one that rests is not asked
          pair.own.seen = [];
          pair.own.answer = (q, res) => (modelOf(q) === "lenient" ? trouble(q, res) : refuse(res));
          const r = await question(pair, d, { model: "m-x", stream, text: `question ${what}` });
          const why = `${what}: ${r.status} ${JSON.stringify(r.headers)} ${r.text}`;
          assert.ok(pair.own.seen.some((q) => modelOf(q) === "lenient"), why);
          assert.equal(r.status, 400, why);
          assert.equal(r.outcome, "failed", why);
          assert.match(r.headers["x-daruma-target"], /\/first$/, why);
          assert.match(r.headers["x-daruma-remedies"], /switch_model/, why);
          assert.deepEqual([r.headers["x-should-retry"], r.headers["retry-after"], r.headers["x-request-id"]], ["false", undefined, "first-one"], why);
          assert.ok(d.error(r.json).message.startsWith(says[name]), why);
          const list = pair.events(), end = list.findLast((e) => e.outcome);
          assert.deepEqual([end.kind, end.outcome, end.model], ["content_filter", "failed", "first"], JSON.stringify(end));
          assert.ok(list.some((e) => e.model === "lenient"), JSON.stringify(list));
        }
      },
    });
});

holds("on_content_filter: a target that refused is not asked again as the one in reserve, which is told apart from those that are asked in turn", {
  config: (c) => (c.models = [{ name: "m-x", targets: ["own/first", "own/second"], on_content_filter: "own/second" }]),
  async run(pair) {
    const d = dialects.openai, w = wires.openai;
    pair.own.answer = (q, res) => (modelOf(q) === "first" ? json(res, 404, { error: { message: "The model `first` does not exist", type: "invalid_request_error", code: "model_not_found" } }) : w.refuse(res, says.openai, { code: "content_filter" }));
    await question(pair, d, { model: "m-x" });
    assert.deepEqual([...new Set(pair.own.seen.map(modelOf))], ["first", "second"]);
    assert.equal(pair.own.seen.filter((q) => modelOf(q) === "second").length, 1);
    const ways = (await pair.status()).targets["m-x"];
    assert.deepEqual([...new Set(ways.map((t) => t.model + (t.reserve ? " in reserve" : "")))], ["first", "second", "second in reserve"]);
    const gauges = (await ask(pair, "/metrics")).text.split("\n").filter((l) => l.startsWith("daruma_target_well{"));
    assert.equal(gauges.length, ways.filter((t) => !t.reserve).length, gauges.join("\n"));
  },
});

/* ---- weights ---- */

holds("weight: after a restart that kept nothing every conversation goes where it went before, target and key", {
  limit: 60000,
  async run(pair) {
    const d = dialects.openai, dealt = models({ name: "m-x", targets: [{ target: "own/one", weight: 1 }, { target: "own/two", weight: 1 }] });
    const config = (c) => (dealt(c), (c.providers.find((p) => p.name === "own").spread = true));
    pair.own.answer = (q, res) => wires.openai.answer(res, "seven eight");
    const deal = async () => {
      const went = [];
      await pair.again(config);
      for (let i = 0; i < 60; i++) {
        await question(pair, d, { model: "m-x", text: `question ${i} of many`, headers: { authorization: `Bearer sk-client-${i % 3}` } });
        went.push(`${modelOf(pair.own.seen.at(-1))} ${pair.own.seen.at(-1).headers.authorization}`);
      }
      return went;
    };
    const before = await deal();
    assert.equal(new Set(before).size, 4, "not all targets and keys were asked");
    assert.deepEqual(await deal(), before);
  },
});

holds("weight: targets share conversations as they are weighed, each stays with its own, and others take over for a sick one", {
  limit: 60000,
  config: models({ name: "m-x", targets: ["own/three", { target: "own/one", weight: 3 }, { target: "own/two", weight: 1 }] }, { name: "w-*", targets: [{ target: "own/first-*", weight: 1 }, { target: "own-claude/second-*", weight: 1 }] }),
  async run(pair) {
    const d = dialects.openai, mine = new Map(), n = 200;
    const talk = (i, turn) => [{ role: "user", content: `question ${i} of many, each of its own` }, ...(turn ? [{ role: "assistant", content: "seven eight" }, { role: "user", content: "and now?" }] : [])];
    const say = async (i, turn, model = "m-x") => (await question(pair, d, { model, more: { messages: talk(i, turn) } }), modelOf(pair.own.seen.at(-1)));
    pair.own.answer = (q, res) => (q.url.endsWith("/messages") ? wires.anthropic : wires.openai).answer(res, "seven eight");
    for (let i = 0; i < n; i++) mine.set(i, await say(i, 0));
    const of = (name) => [...mine.values()].filter((m) => m === name).length;
    console.log(`# weight 3 to 1 of ${n} conversations: ${of("one")} and ${of("two")}`);
    assert.equal(of("one") + of("two"), n, "one without a weight was asked");
    assert.ok(Math.abs(of("one") - (3 * n) / 4) < 28, `${of("one")} of ${n}`); // more than four deviations of a fair share
    for (let i = 0; i < 40; i++) assert.equal(await say(i, 1), mine.get(i), `conversation ${i} changed its target`);
    // A form, with a target of another dialect.
    const forms = new Set();
    for (let i = 0; i < 30; i++) forms.add(await say(i, 0, "w-7"));
    assert.deepEqual([...forms].sort(), ["first-w-7", "second-w-7"]);
    // The heavy one fails: the others answer for it, those without a weight last.
    const i = [...mine.keys()].find((k) => mine.get(k) === "one");
    pair.own.seen = [];
    pair.own.answer = (q, res) => (["one", "two"].includes(modelOf(q)) ? json(res, 404, { error: { message: `The model \`${modelOf(q)}\` does not exist`, type: "invalid_request_error", code: "model_not_found" } }) : wires.openai.answer(res, "seven eight"));
    assert.equal(await say(i, 0), "three");
    assert.deepEqual([...new Set(pair.own.seen.map(modelOf))], ["one", "two", "three"]);
  },
});
