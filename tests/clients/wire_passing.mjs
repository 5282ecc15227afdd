// Models that are named by calls which only pass through (embeddings, images, audio, moderations, counts of tokens): they
// go to the targets of the configuration, under the names that those have, and fail over like conversations.
import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import { ask, count, dialects } from "./net.mjs";
import { holds, send } from "./wire.mjs";

const models = (c) => {
  c.models = [
    { name: "vec", targets: ["own/vec-large", "claude/vec", "own-responses/vec-small"] },
    { name: "vec-claude", targets: ["claude/vec"] },
    { name: "talk-*", targets: ["own/voice/*", "own/other-*"] },
    { name: "c-x", targets: ["own-claude/claude-1", "own-claude/claude-2"] },
    { name: "g-x", targets: ["own-gemini/gem-1", "own-gemini/gem-2"] },
    { name: "g-claude-*", targets: ["own-claude/*"] },
  ];
};
const fine = (res) => send(res, 200, { fine: true });
const gone = (res, model) => send(res, 404, { error: { message: `The model \`${model}\` does not exist or you do not have access to it.`, type: "invalid_request_error", param: null, code: "model_not_found" } });
const post = async (pair, path, body, headers = {}, d = dialects.openai) => {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  const r = await ask(pair, path, { method: "POST", headers: { ...d.headers, "content-type": "application/json", "content-length": bytes.length, ...headers }, body: bytes });
  if (/json/.test(r.headers["content-type"])) r.json = JSON.parse(r.text);
  r.outcome = r.headers["x-daruma-outcome"];
  return r;
};
const B = "----form.of'one";
const form = (...parts) => Buffer.concat([...parts.flatMap(([head, value]) => [Buffer.from(`--${B}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`), Buffer.from(value), Buffer.from("\r\n")]), Buffer.from(`--${B}--\r\n`)]);
const formed = { "content-type": `multipart/form-data; boundary="${B}"` };
const noise = Buffer.from(Array.from({ length: 70000 }, (_, i) => (i * 37) & 255));

holds("passing: every call that names a model in JSON goes to its target under the target's name, and else as it is", {
  config: models,
  async run(pair) {
    pair.own.answer = (q, res) => fine(res);
    for (const end of ["embeddings", "moderations", "rerank", "completions", "images/generations", "audio/speech", "responses/input_tokens"])
      for (const lead of ["/v1/", "/"]) {
        pair.own.seen = [];
        const r = await post(pair, `${lead}${end}?x=1`, ' {"a":[1, 2] ,"model" : "vec","input":"model \\"vec\\"", "z":{"model":"vec"}}\n');
        assert.deepEqual([r.status, r.outcome, r.headers["x-daruma-target"]], [200, "ok", "own/vec-large"], r.text);
        assert.deepEqual(pair.own.seen.map((q) => [q.url, q.body.toString(), q.headers.authorization]), [[`${lead === "/v1/" ? "/v1" : ""}/${end}?x=1`.replace(/^\/(?!v1)/, "/v1/"), ' {"a":[1, 2] ,"model" : "vec-large","input":"model \\"vec\\"", "z":{"model":"vec"}}\n', "Bearer sk-one"]]);
      }
    pair.own.seen = [];
    await post(pair, "/v1/embeddings", '{"model":"vec","model":"talk-1"}');
    assert.equal(pair.own.seen[0].body.toString(), '{"model":"voice/talk-1","model":"voice/talk-1"}');
    // What is no call of a model, or names one that nobody configured, stays what it was.
    for (const [path, body] of [["/v1/files", '{"model":"vec"}'], ["/v1/batches", '{"model":"vec"}'], ["/v1/fine_tuning/jobs", '{"model":"vec"}'], ["/openai/deployments/d/embeddings", '{"model":"vec"}'], ["/v1/embeddings", '{"model":"else"}'], ["/v1/embeddings", '{"model":7}'], ["/v1/embeddings", '{"model":"vec"'], ["/v1/embeddings", "vec"]]) {
      await pair.again((c) => (models(c), c.providers.unshift(...c.providers.splice(c.providers.findIndex((p) => p.name === "own"), 1))));
      pair.own.seen = [];
      await post(pair, path, body);
      assert.deepEqual(pair.own.seen.map((q) => q.body.toString()), [body], path);
    }
  },
});

const failures = {
  "a model that is not there": (res) => gone(res, "vec-large"),
  "a server error": (res) => send(res, 500, { error: { message: "The server had an error", type: "server_error" } }),
  "a reset": (res) => res.socket.resetAndDestroy(),
  "a rate limit": (res) => send(res, 429, { error: { message: "Rate limit reached for vec-large", type: "requests", code: "rate_limit_exceeded" } }, { "retry-after": "30" }),
  "no permission": (res) => send(res, 403, { error: { message: "Project does not have access to model vec-large", type: "invalid_request_error", code: "model_not_found" } }),
};
for (const [what, fails] of Object.entries(failures))
  holds(`passing: behind ${what} the next target is asked, one of another dialect never, and of a limited one it is known`, {
    config: models,
    async run(pair) {
      const model = (q) => JSON.parse(q.body).model;
      pair.own.answer = (q, res) => (model(q) === "vec-large" ? fails(res) : fine(res));
      const r = await post(pair, "/v1/embeddings", { model: "vec", input: "x" });
      assert.deepEqual([r.status, r.outcome, r.json], [200, "recovered", { fine: true }], r.text);
      assert.deepEqual([...new Set(pair.own.seen.map(model))], ["vec-large", "vec-small"]);
      assert.equal((await pair.report()).calls, 0, "a target of another dialect was asked");
      const end = pair.events().find((e) => e.outcome === "recovered");
      assert.equal(end.asked, "vec");
      pair.own.seen = [];
      for (let i = 0; i < 3; i++) await post(pair, "/v1/embeddings", { model: "vec", input: `${i}` });
      if (what === "a rate limit") assert.deepEqual(pair.own.seen.map(model), ["vec-small", "vec-small", "vec-small"]);
    },
  });

holds("passing: a call that is paid for goes to the next target only where it was surely not run", {
  config: models,
  async run(pair) {
    const model = (q) => JSON.parse(q.body).model, unsure = ["a server error", "a reset"];
    for (const [what, fails] of Object.entries(failures))
      for (const path of ["images/generations", "audio/speech", "completions"]) {
        await pair.again(models);
        pair.own.seen = [];
        pair.own.answer = (q, res) => (model(q) === "vec-large" ? fails(res) : fine(res));
        const r = await post(pair, `/v1/${path}`, { model: "vec", prompt: "x" }), again = !unsure.includes(what);
        assert.deepEqual([r.status < 400, ...new Set(pair.own.seen.map(model))], again ? [true, "vec-large", "vec-small"] : [false, "vec-large"], `${path} after ${what}: ${r.text}`);
        if (!again) assert.equal(pair.own.seen.length, 1, `${path} after ${what}`);
      }
  },
  limit: 40000,
});

holds("passing: a form names its model in a field, of which everything else arrives as it was", {
  config: models,
  async run(pair) {
    const audio = ['name="file"; filename="a;b.wav"\r\nContent-Type: audio/wav', noise];
    pair.own.answer = (q, res) => fine(res);
    for (const end of ["audio/transcriptions", "audio/translations", "images/edits", "images/variations"]) {
      pair.own.seen = [];
      const r = await post(pair, `/v1/${end}`, form(audio, ['name="model"', "talk-1"], ["name=language", "en"]), formed);
      assert.equal(r.status, 200, r.text);
      assert.deepEqual([pair.own.seen[0].headers["content-type"], pair.own.seen[0].url], [formed["content-type"], `/v1/${end}`]);
      assert.ok(pair.own.seen[0].body.equals(form(audio, ['name="model"', "voice/talk-1"], ["name=language", "en"])), end);
    }
    // A part that is broken, or that servers may read in two ways, is not read here: all of it goes on as it is.
    const own = (c) => (models(c), c.providers.unshift(...c.providers.splice(c.providers.findIndex((p) => p.name === "own"), 1)));
    await pair.again(own);
    for (const odd of [form(['name="mod\\el"', "talk-1"]), form(['name="model"; name="x"', "talk-1"]), form(["name*=utf-8''model", "talk-1"]), form(['name="model"', "talk-1"]).subarray(0, -9), form(['name="model"', `talk-1\n--${B}\nx`]), Buffer.from(`--${B}\nContent-Disposition: form-data; name="model"\n\ntalk-1\n--${B}--`)]) {
      pair.own.seen = [];
      await post(pair, "/v1/audio/transcriptions", odd, formed);
      assert.ok(pair.own.seen.length === 1 && pair.own.seen[0].body.equals(odd), odd.toString());
    }
    // It is sent whole to the next target as well.
    await pair.again(models);
    pair.own.seen = [];
    pair.own.answer = (q, res) => (q.body.includes("voice/") ? gone(res, "voice/talk-1") : fine(res));
    const r = await post(pair, "/v1/audio/transcriptions", form(['name="model"', "talk-1"], audio), formed);
    assert.equal(r.outcome, "recovered");
    assert.ok(pair.own.seen.at(-1).body.equals(form(['name="model"', "other-talk-1"], audio)));
  },
});

holds("passing: a case that ends with a refusal which is passed on is closed", {
  config: (c) => c.providers.unshift(...c.providers.splice(c.providers.findIndex((p) => p.name === "own"), 1)),
  async run(pair) {
    pair.own.answer = (q, res) => (q.n === 1 ? send(res, 503, { error: { message: "busy" } }) : send(res, 404, { error: { message: "No such file" } }));
    const r = await ask(pair, "/v1/files/file-1", { headers: dialects.openai.headers });
    assert.deepEqual([r.status, r.headers["x-daruma-outcome"], pair.own.seen.length], [404, "failed", 2], r.text);
    const end = pair.events().at(-1);
    assert.deepEqual([end.event, end.outcome, end.kind, end.attempts], ["error_recovery_failed", "failed", "overloaded", 2], pair.eventsText());
  },
});

const estimated = (r, member) => {
  assert.deepEqual([r.status, r.headers["x-daruma-estimated"], r.outcome], [200, "tokens", "degraded"], r.text);
  return r.json[member];
};
holds("passing: a count of tokens that no provider could say is estimated, and no provider is asked", {
  config: (c) => (models(c), (c.providers = c.providers.filter((p) => ["own", "own-responses", "claude"].includes(p.name))), (c.models = [{ name: "claude-x", targets: ["own/m-own"] }, { name: "gemini-*", targets: ["own/m-own"] }, { name: "r-x", targets: ["claude/c"] }])),
  async run(pair) {
    const text = "Hello, how are you? ".repeat(500), A = dialects.anthropic, anthropic = new Anthropic({ apiKey: "sk-client", baseURL: pair.base, maxRetries: 0 });
    const sdk = await anthropic.messages.countTokens({ model: "claude-x", system: "Be brief.", messages: [{ role: "user", content: text }] });
    assert.ok(sdk.input_tokens > 2400 && sdk.input_tokens < 3500, sdk.input_tokens);
    const tool = { name: "look", description: text, input_schema: { type: "object", properties: {} } }, image = { type: "image", source: { type: "base64", media_type: "image/png", data: "A".repeat(1 << 20) } };
    const tooled = estimated(await post(pair, "/v1/messages/count_tokens?beta=true", { model: "claude-x", tools: [tool], messages: [{ role: "user", content: text }] }, {}, A), "input_tokens");
    assert.ok(tooled > 4800 && tooled < 7000, tooled);
    const seen = estimated(await post(pair, "/v1/messages/count_tokens", { model: "claude-x", messages: [{ role: "user", content: [image] }] }, {}, A), "input_tokens");
    assert.ok(seen > 500 && seen < 5000, `an image has no text: ${seen}`);
    const contents = [{ role: "user", parts: [{ text }] }], google = dialects.gemini;
    const bare = estimated(await post(pair, "/v1beta/models/gemini-9:countTokens", { contents }, {}, google), "totalTokens");
    assert.ok(bare > 2400 && bare < 3500, bare);
    assert.ok(estimated(await post(pair, "/v1beta/models/gemini-9:countTokens", { generateContentRequest: { model: "models/gemini-9", contents, systemInstruction: { parts: [{ text }] } } }, {}, google), "totalTokens") > 1.8 * bare);
    assert.ok(estimated(await post(pair, "/v1beta/models/gemini-9:countTokens", { generate_content_request: { model: "models/gemini-9", contents, system_instruction: { parts: [{ text }] } } }, {}, google), "totalTokens") > 1.8 * bare);
    // Nobody here knows how long a history or a file is that lives on the server.
    for (const [path, body, d] of [
      ["/v1/responses/input_tokens", { model: "r-x", input: "go on", previous_response_id: "resp_1" }],
      ["/v1/responses/input_tokens", { model: "r-x", input: "go on", conversation: "conv_1" }],
      ["/v1/messages/count_tokens", { model: "claude-x", messages: [{ role: "user", content: [{ type: "document", source: { type: "file", file_id: "file_1" } }] }] }, A],
    ]) {
      const r = await post(pair, path, body, {}, d);
      assert.deepEqual([r.status, r.headers["x-daruma-estimated"]], [404, undefined], r.text);
    }
    const input = estimated(await post(pair, "/v1/responses/input_tokens", { model: "r-x", input: text }), "input_tokens");
    assert.ok(input > 2400 && input < 3500, input);
    assert.deepEqual([pair.own.seen.length, (await pair.report()).calls], [0, 0]);
    // Without an entry for the model as well, where conversations go to the first provider with a key.
    await pair.again((c) => ((c.providers = c.providers.filter((p) => p.name === "own")), (c.models = [])));
    estimated(await post(pair, "/v1/messages/count_tokens", { model: "claude-y", messages: [{ role: "user", content: text }] }, {}, A), "input_tokens");
    assert.equal(pair.own.seen.length, 0);
    // What is no request, or is too large to be read here, goes to nobody who does not know the path.
    for (const body of ["{", { model: "claude-y", messages: [{ role: "user", content: "x".repeat(3 << 20) }] }]) {
      const r = await post(pair, "/v1/messages/count_tokens", body, {}, A);
      assert.deepEqual([r.status, r.headers["x-daruma-estimated"], pair.own.seen.length], [404, undefined, 0], r.text);
      assert.match(r.json.error.message, /^No provider in daruma's configuration speaks the dialect of this path/);
    }
  },
});

holds("passing: Anthropic's count of tokens and Gemini's calls have the target's name in body and path", {
  config: models,
  async run(pair) {
    pair.own.answer = (q, res) => (q.n === 1 ? send(res, 404, { type: "error", error: { type: "not_found_error", message: "model: claude-1" } }) : fine(res));
    const c = await post(pair, "/v1/messages/count_tokens", { model: "c-x", messages: [] }, {}, dialects.anthropic);
    assert.deepEqual([c.status, c.outcome, ...pair.own.seen.map((q) => `${q.url} ${JSON.parse(q.body).model} ${q.headers["x-api-key"]}`)], [200, "recovered", "/v1/messages/count_tokens claude-1 sk-one", "/v1/messages/count_tokens claude-2 sk-one"]);
    const d = dialects.gemini;
    for (const [call, body, sent] of [
      ["countTokens", { contents: [] }, { contents: [] }],
      ["countTokens", { generateContentRequest: { model: "models/g-x", contents: [] } }, { generateContentRequest: { model: "models/gem-1", contents: [] } }],
      ["embedContent", { model: "models/g-x", content: { parts: [{ text: "models/g-x" }] } }, { model: "models/gem-1", content: { parts: [{ text: "models/g-x" }] } }],
      ["batchEmbedContents", { requests: [{ model: "models/g-x", content: 1 }, { model: "models/else" }, { content: 2, model: "models/g-x" }] }, { requests: [{ model: "models/gem-1", content: 1 }, { model: "models/else" }, { content: 2, model: "models/gem-1" }] }],
    ]) {
      pair.own.seen = [];
      pair.own.answer = (q, res) => fine(res);
      const r = await post(pair, `/v1beta/models/g-x:${call}`, body, {}, d);
      assert.deepEqual([r.status, pair.own.seen.length, pair.own.seen[0]?.url, JSON.parse(pair.own.seen[0].body)], [200, 1, `/v1beta/models/gem-1:${call}`, sent], r.text);
    }
    // More places than are read: a model of the file is not called by its client's name; one that nobody named is.
    const many = (model) => JSON.stringify({ requests: Array.from({ length: 300 }, () => ({ model: `models/${model}` })) });
    await pair.again((c) => (models(c), c.providers.unshift(...c.providers.splice(c.providers.findIndex((p) => p.name === "own-gemini"), 1))));
    pair.own.seen = [];
    const refused = await post(pair, "/v1beta/models/g-x:batchEmbedContents", many("g-x"), {}, d);
    assert.deepEqual([refused.status, pair.own.seen.length], [413, 0], refused.text);
    assert.match(refused.json.error.message, /more than 256 places/);
    await post(pair, "/v1beta/models/else:batchEmbedContents", many("else"), {}, d);
    assert.deepEqual([pair.own.seen[0].url, pair.own.seen[0].body.toString() === many("else")], ["/v1beta/models/else:batchEmbedContents", true]);
  },
});

holds("passing: a model of a form is described by its target; models of default go there, and those without a target for the path get a word", {
  config: models,
  async run(pair) {
    pair.own.answer = (q, res) => (q.url.includes("voice") ? gone(res, "voice/talk-1") : fine(res));
    const r = await ask(pair, "/v1/models/talk-1", { headers: dialects.openai.headers });
    assert.deepEqual([r.status, ...pair.own.seen.map((q) => q.url)], [200, "/v1/models/voice/talk-1", "/v1/models/other-talk-1"], r.text);
    pair.own.seen = [];
    const none = await post(pair, "/v1/embeddings", { model: "vec-claude" });
    assert.deepEqual([none.status, pair.own.seen.length, (await pair.report()).calls], [404, 0, 0]);
    assert.match(none.json.error.message, /No target of this model .* knows this path/);
    const own = (c) => ((c.models = []), (c.default = ["own-claude/*", "own/only"]));
    await pair.again(own);
    pair.own.answer = (q, res) => fine(res);
    await post(pair, "/v1/embeddings", { model: "any" });
    assert.deepEqual(pair.own.seen.map((q) => JSON.parse(q.body).model), ["only"]);
    pair.own.seen = [];
    await pair.again((c) => (own(c), c.default.pop(), c.providers.unshift(...c.providers.splice(c.providers.findIndex((p) => p.name === "own"), 1))));
    await post(pair, "/v1/embeddings", { model: "any" });
    assert.deepEqual(pair.own.seen.map((q) => JSON.parse(q.body).model), ["any"], "default has no target for the path: it goes where it went");
  },
});

holds("passing: x-daruma-off, -targets and a client's own key hold for these calls as well", {
  config: models,
  async run(pair) {
    pair.own.answer = (q, res) => gone(res, "x");
    const off = await post(pair, "/v1/embeddings", { model: "vec" }, { "x-daruma-off": "true" });
    assert.deepEqual([off.status, pair.own.seen.length], [404, 1]);
    pair.own.seen = [];
    pair.own.answer = (q, res) => fine(res);
    await post(pair, "/v1/embeddings", { model: "vec" }, { "x-daruma-targets": "own-responses" });
    assert.deepEqual(pair.own.seen.map((q) => JSON.parse(q.body).model), ["vec-small"]);
    const odd = await post(pair, "/v1/embeddings", { model: "vec" }, { "x-daruma-off": "perhaps" });
    assert.equal(odd.status, 400);
    // Keys of clients: one host gets them.
    await pair.again((c) => (models(c), c.providers.forEach((p) => delete p.keys), c.providers.push({ name: "far", dialect: "openai", url: c.providers.find((p) => p.name === "main").url }), (c.models = [{ name: "vec", targets: ["own/one", "far/two"] }])));
    pair.own.seen = [];
    pair.own.answer = (q, res) => gone(res, "one");
    const r = await post(pair, "/v1/embeddings", { model: "vec" });
    assert.deepEqual([r.status, pair.own.seen[0].headers.authorization, (await pair.report()).calls], [404, "Bearer sk-client", 0]);
  },
});

holds("passing: a failure that nothing helps against is the provider's own, and is not waited for", {
  config: models,
  async run(pair) {
    pair.own.answer = (q, res) => gone(res, JSON.parse(q.body).model);
    const began = Date.now(), r = await post(pair, "/v1/embeddings", { model: "vec" });
    assert.deepEqual([r.status, r.json.error.code, r.outcome], [404, "model_not_found", "failed"]);
    assert.ok(Date.now() - began < 1500, `${Date.now() - began} ms`);
    assert.equal(count(pair.events(), "error_recovery_failed"), 1);
    // A server that does not know the path says nothing of the model for conversations.
    await pair.again((c) => ((c.models = [{ name: "m-x", targets: ["own/m-x"] }]), c.providers.forEach((p) => p.keys.pop())));
    pair.own.answer = (q, res) => (q.url.endsWith("/rerank") ? res.writeHead(404, { "content-type": "text/html" }).end("<html><h1>Not Found</h1></html>") : send(res, 200, { choices: [{ index: 0, message: { role: "assistant", content: "fine" }, finish_reason: "stop" }] }));
    assert.equal((await post(pair, "/v1/rerank", { model: "m-x" })).status, 404);
    const talk = await post(pair, "/v1/chat/completions", { model: "m-x", messages: [{ role: "user", content: "hi" }] });
    assert.deepEqual([talk.status, talk.outcome], [200, "ok"]);
    const ways = Object.values((await pair.status()).targets).flat();
    assert.deepEqual(ways.map((w) => w.well), [true], JSON.stringify(ways));
  },
});

holds("passing: a client with models of its own may send forms that name one of them, and nothing by a form that can be read in two ways", {
  admin: "sk-leak-boss-0123456789",
  config: (c) => (models(c), Object.assign(c, { admin: { token: "sk-leak-boss-0123456789" }, clients: [{ name: "me", token: "sk-leak-client-one-012345", models: ["talk-*"] }] })),
  async run(pair) {
    const headers = { ...formed, authorization: "Bearer sk-leak-client-one-012345" };
    pair.own.answer = (q, res) => fine(res);
    assert.equal((await post(pair, "/v1/audio/transcriptions", form(['name="model"', "talk-1"]), headers)).status, 200);
    pair.own.seen = [];
    const model = (value) => ['name="model"', value];
    const tricks = [
      form(model("vec")), form(), form(['name="x"', "talk-1"]), form(model("talk-1"), model("vec")), form(model("vec"), model("talk-1")), form(model("talk-1"), ['name="mod\\el"', "vec"]), form(model("talk-1"), ["name*=utf-8''model", "vec"]), form(model("talk-1"), ['name="x"; name="model"', "vec"]),
      form(model(`talk-1\n--${B}\nContent-Disposition: form-data; name="model"\n\nvec`)), Buffer.concat([Buffer.from("x\r\n"), form(model("talk-1"))]), form(model("talk-1")).subarray(0, -6), form(['name="a"\r\n\tx', "talk-1"], model("vec")), form(['name="a"\r\nContent-Disposition: form-data; name="model"', "vec"], model("talk-1")), form(['name="a"', `--${B}\r\nContent-Disposition: form-data; name="model"\r\n\r\nvec`], model("talk-1")), form(["NAME=\"model\"", "vec"], model("talk-1")),
    ];
    for (const body of tricks) assert.equal((await post(pair, "/v1/audio/transcriptions", body, headers)).status, 403, body.toString());
    for (const type of ["multipart/form-data", "multipart/mixed; boundary=x", `multipart/form-data; boundary="${B}"; boundary=x`, "multipart/form-data; boundary="]) assert.equal((await post(pair, "/v1/audio/transcriptions", form(model("talk-1")), { ...headers, "content-type": type })).status, 403, type);
    assert.equal(pair.own.seen.length, 0);
  },
});
