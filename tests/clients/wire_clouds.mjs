// Anthropic's models on Vertex AI and on Bedrock: the provider is the test's own, and refuses what those refuse.
import Anthropic from "@anthropic-ai/sdk";
import assert from "node:assert/strict";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { ask, dialects, question, until } from "./net.mjs";
import { sleep } from "./pair.mjs";
import { holds, once } from "./wire.mjs";
import { json, sse, wires } from "./wires.mjs";

const claude = wires.anthropic;
const body = (q) => JSON.parse(q.body);
const sdk = (pair) => new Anthropic({ apiKey: "sk-client", baseURL: pair.base, maxRetries: 0 });
const asked = { max_tokens: 100, messages: [{ role: "user", content: "go" }] };
const said = (m) => m.content.map((b) => b.text).join("");

/* ---- Vertex AI ---- */

const HOME = "/v1/projects/p-1/locations/global/publishers/anthropic", SONNET = "claude-sonnet-4-5@20250929";
const google = (res, code, status, message) => json(res, code, [{ error: { code, status, message } }]);

// What reaches it, told apart as Vertex AI does; `answer` gives what the model says.
function vertex(answer) {
  return (q, res) => {
    const at = /^\/v1\/projects\/p-1\/locations\/global\/publishers\/anthropic\/models\/([^/:]+):(rawPredict|streamRawPredict)$/.exec(q.url);
    if (q.url.startsWith("/v1/messages")) return answer(q, res, null);
    if (!at || q.method !== "POST") return res.writeHead(404, { "content-type": "text/html" }).end("<!DOCTYPE html><title>Error 404 (Not Found)!!1</title>");
    if (q.headers.authorization !== "Bearer sk-one" || q.headers["x-api-key"]) return google(res, 401, "UNAUTHENTICATED", "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.");
    const b = body(q);
    if (b.anthropic_version !== "vertex-2023-10-16") return claude.refuse(res, "anthropic_version: Field required");
    if ("model" in b) return claude.refuse(res, "model: Extra inputs are not permitted");
    if (Boolean(b.stream) !== (at[2] === "streamRawPredict")) return claude.refuse(res, "stream: Input should be as the path says");
    return answer(q, res, decodeURIComponent(at[1]));
  };
}
const speaks = (text) => (q, res) => (body(q).stream ? sse(res, claude.opening(), claude.piece(text), claude.closing()).end() : claude.answer(res, text));
const cut = (res) => setTimeout(() => res.destroy(), 50);
const onVertex = (c) => {
  const port = c.providers.find((p) => p.name === "own").url.match(/:(\d+)/)[1];
  c.providers.push({ name: "vertex", dialect: "anthropic", url: `http://127.0.0.1:${port}${HOME}`, keys: ["sk-one"] });
  c.models.push({ name: "c-vertex", targets: [`vertex/${SONNET}`] });
};

holds("vertex: the SDK's questions and streams reach Claude at its address there, with a bearer token", {
  config: onVertex,
  async run(pair) {
    pair.own.answer = vertex(speaks("seven eight"));
    const c = sdk(pair);
    assert.equal(said(await c.messages.create({ model: "c-vertex", ...asked })), "seven eight");
    assert.equal(said(await c.messages.stream({ model: "c-vertex", ...asked }).finalMessage()), "seven eight");
    assert.equal(said(await c.beta.messages.create({ model: "c-vertex", betas: ["context-1m-2025-08-07"], ...asked })), "seven eight");
    assert.deepEqual(pair.own.seen.map((q) => [q.url, q.headers["anthropic-beta"], Object.keys(body(q)).sort().join()]), [
      [`${HOME}/models/${SONNET}:rawPredict`, undefined, "anthropic_version,max_tokens,messages"],
      [`${HOME}/models/${SONNET}:streamRawPredict`, undefined, "anthropic_version,max_tokens,messages,stream"],
      [`${HOME}/models/${SONNET}:rawPredict`, "context-1m-2025-08-07", "anthropic_version,max_tokens,messages"],
    ]);
  },
});

holds("vertex: wherever the model stands in a request, it is left out and the rest is as it was", {
  config: (c) => (onVertex(c), c.models.push({ name: "claude/a:b", targets: ["vertex/*"] }, { name: "x-*", targets: ["vertex/*"] }), c.models.splice(-2, 1)),
  async run(pair) {
    pair.own.answer = vertex(speaks("fine"));
    const rest = '"max_tokens":9,"messages":[{"role":"user","content":"a \\"model\\":\\"x\\" b"}],"metadata":{"model":"y"}', version = '"anthropic_version":"vertex-2023-10-16"';
    const bodies = [
      [`{"model":"c-vertex",${rest}}`, `{${version},${rest}}`],
      [` \n{ "model" : "c-vertex" , ${rest} }\n`, `{${version} , ${rest} }`],
      [`{${rest},"model":"c-vertex"}`, `{${version},${rest}}`],
      [`{"stop_sequences":["."],"model":"c-vertex",${rest}}`, `{${version},"stop_sequences":["."],${rest}}`],
      [`{"mod\\u0065l":"c-vertex",${rest}}`, `{${version},${rest}}`],
    ];
    for (const [out, there] of bodies) {
      const r = await ask(pair, "/v1/messages", { method: "POST", body: out, headers: { ...dialects.anthropic.headers, "content-type": "application/json" } });
      assert.equal(r.status, 200, `${out}: ${r.text}`);
      assert.equal(pair.own.seen.at(-1).body.toString(), there);
    }
    await question(pair, dialects.anthropic, { model: "x-/a:b c?" }); // a name ends no path
    assert.equal(pair.own.seen.at(-1).url, `${HOME}/models/x-%2Fa%3Ab%20c%3F:rawPredict`);
  },
});

for (const stream of [false, true])
  holds(`vertex: a ${stream ? "stream" : "question"} goes from Anthropic's API to Vertex AI and back when one of them fails`, {
    config: (c) => (onVertex(c), once(c), c.models.push({ name: "c-both", targets: ["own-claude/c-own", `vertex/${SONNET}`] }, { name: "c-back", targets: [`vertex/${SONNET}`, "own-claude/c-own"] })),
    async run(pair) {
      let down = "direct";
      pair.own.answer = vertex((q, res, model) => {
        if (!model && down === "direct") return json(res, 529, { type: "error", error: { type: "overloaded_error", message: "Overloaded" } });
        if (model && down === "vertex") return google(res, 429, "RESOURCE_EXHAUSTED", "Quota exceeded for aiplatform.googleapis.com/online_prediction_input_tokens_per_minute_per_base_model with base model: anthropic-claude-sonnet-4-5.");
        return speaks(model ?? body(q).model)(q, res);
      });
      const there = await question(pair, dialects.anthropic, { model: "c-both", stream });
      assert.deepEqual([there.status, there.said, there.headers["x-daruma-target"]], [200, SONNET, `vertex/${SONNET}`], there.text);
      down = "vertex";
      const back = await question(pair, dialects.anthropic, { model: "c-back", stream });
      assert.deepEqual([back.status, back.said, back.headers["x-daruma-target"]], [200, "c-own", "own-claude/c-own"], back.text);
      assert.ok(pair.events().some((e) => e.provider === "vertex" && /rate_limit|quota/.test(e.kind)), pair.eventsText());
    },
  });

holds("vertex: clients of OpenAI's dialect are answered, and a stream that is cut is gone on with elsewhere", {
  config: (c) => (onVertex(c), c.models.push({ name: "c-both", targets: [`vertex/${SONNET}`, "own-claude/c-own"] })),
  async run(pair) {
    pair.own.answer = vertex((q, res, model) => (model && body(q).stream ? cut(sse(res, claude.opening(), claude.piece("seven "))) : body(q).stream ? sse(res, claude.opening(), claude.piece("eight"), claude.closing()).end() : speaks("seven eight")(q, res)));
    const r = await question(pair, dialects.openai, { model: "c-vertex" });
    assert.deepEqual([r.status, r.said], [200, "seven eight"], r.text);
    const s = await question(pair, dialects.anthropic, { model: "c-both", stream: true });
    assert.ok(dialects.anthropic.ended(s.events) && !dialects.anthropic.failed(s.events), s.text);
    assert.match(s.said, /^seven .*eight$/);
  },
});

holds("vertex: a token that has run out is printed anew, and a refusal reaches the client as Anthropic's", {
  config: onVertex,
  async run(pair) {
    const count = join(pair.dir, "tokens");
    await pair.again((c) => (onVertex(c), (c.providers.at(-1).keys = [{ command: `if [ -e ${count} ]; then echo sk-one; else touch ${count}; echo sk-two; fi` }])));
    pair.own.answer = vertex((q, res) => (body(q).max_tokens === 1 ? claude.refuse(res, "messages: at least one message is required") : speaks("fine")(q, res)));
    assert.equal(said(await sdk(pair).messages.create({ model: "c-vertex", ...asked })), "fine");
    assert.deepEqual(pair.own.seen.map((q) => q.headers.authorization), ["Bearer sk-two", "Bearer sk-one"]);
    await assert.rejects(sdk(pair).messages.create({ model: "c-vertex", ...asked, max_tokens: 1 }), (e) => e instanceof Anthropic.BadRequestError && /at least one message is required/.test(e.message));
  },
});

holds("vertex: what only Anthropic's API has goes to no cloud, and the client reads why", {
  config: (c) => (onVertex(c), (c.providers = c.providers.filter((p) => p.name === "vertex")), (c.models = c.models.filter((m) => m.name === "c-vertex"))),
  async run(pair) {
    pair.own.answer = vertex(speaks("fine"));
    const headers = { ...dialects.anthropic.headers, "content-type": "application/json" };
    const count = await ask(pair, "/v1/messages/count_tokens", { method: "POST", body: JSON.stringify({ model: "c-vertex", messages: asked.messages }), headers });
    assert.deepEqual([count.status, count.headers["x-daruma-estimated"], typeof JSON.parse(count.text).input_tokens], [200, "tokens", "number"], count.text);
    const embedded = await ask(pair, "/v1/embeddings", { method: "POST", body: JSON.stringify({ model: "c-vertex", input: "x" }), headers });
    assert.ok(embedded.status >= 400 && embedded.status < 600, embedded.text);
    assert.match(embedded.text, /No target of this model in daruma's configuration knows this path/);
    const batches = await ask(pair, "/v1/messages/batches", { method: "POST", body: "{}", headers });
    assert.ok(batches.status >= 400, batches.text);
    assert.match(batches.text, /"type":"error"/);
    const models = await ask(pair, "/v1/models", { headers });
    assert.deepEqual(JSON.parse(models.text).data.map((m) => m.id), ["c-vertex"]);
    assert.equal(pair.own.seen.length, 0);
  },
});

holds("vertex: questions of daruma's own go there, too", {
  config: (c) => (onVertex(c), Object.assign(c.recovery, { on_failure: "message", summariser: `vertex/${SONNET}` })),
  async run(pair) {
    pair.own.answer = vertex((q, res, model) => (model ? claude.answer(res, "It is out of tune.") : claude.refuse(res, "The frobnicator of this request is out of tune.")));
    const r = await question(pair, dialects.anthropic, { model: "c-own" });
    assert.match(r.said, /It is out of tune\.$/);
    assert.deepEqual(pair.own.seen.map((q) => q.url), ["/v1/messages", `${HOME}/models/${SONNET}:rawPredict`]);
  },
});

/* ---- Bedrock ---- */

const HAIKU = "us.anthropic.claude-haiku-4-5-20251001-v1:0";
const amazon = (res, code, type, message) => (res.setHeader("x-amzn-ErrorType", `${type}:http://internal.amazon.com/coral/com.amazon.bedrock/`), json(res, code, { message }));

// A message of Amazon's event stream.
function message(headers, payload) {
  const written = Buffer.concat(Object.entries(headers).map(([k, v]) => Buffer.concat([Buffer.from([k.length]), Buffer.from(k), Buffer.from([7, v.length >> 8, v.length & 255]), Buffer.from(v)])));
  const prelude = Buffer.alloc(12), end = Buffer.alloc(4), body = Buffer.from(JSON.stringify(payload));
  prelude.writeUInt32BE(16 + written.length + body.length, 0);
  prelude.writeUInt32BE(written.length, 4);
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8);
  const all = Buffer.concat([prelude, written, body]);
  end.writeUInt32BE(crc32(all));
  return Buffer.concat([all, end]);
}
const chunk = (event) => message({ ":event-type": "chunk", ":content-type": "application/json", ":message-type": "event" }, { bytes: Buffer.from(event).toString("base64"), p: "abcdef" });
const exception = (type, text) => message({ ":exception-type": type, ":content-type": "application/json", ":message-type": "exception" }, { message: text });
// Server-sent events as Bedrock sends them.
const framed = (...events) => Buffer.concat(events.join("").split("\n\n").filter(Boolean).map((e) => chunk(/^data: (.*)$/m.exec(e)[1])));
const begin = (res) => (res.writeHead(200, { "content-type": "application/vnd.amazon.eventstream", "x-amzn-bedrock-content-type": "application/json" }), res.flushHeaders(), res);

// What reaches it, told apart as Bedrock does; `answer` gives what the model says.
function bedrock(answer) {
  return (q, res) => {
    const at = /^\/model\/([^/]+)\/(invoke|invoke-with-response-stream)$/.exec(q.url);
    if (q.url.startsWith("/v1/messages")) return answer(q, res, null);
    if (!at || q.method !== "POST") return amazon(res, 404, "UnknownOperationException", "");
    if (q.headers.authorization !== "Bearer sk-one" || q.headers["x-api-key"]) return amazon(res, 403, "AccessDeniedException", "Authentication failed: Please make sure your API Key is valid.");
    const b = body(q), extra = Object.keys(b).find((k) => ["model", "stream"].includes(k));
    if (b.anthropic_version !== "bedrock-2023-05-31") return amazon(res, 400, "ValidationException", "Malformed input request: #: required key [anthropic_version] not found, please reformat your input and try again.");
    if (extra) return amazon(res, 400, "ValidationException", `Malformed input request: #: extraneous key [${extra}] is not permitted, please reformat your input and try again.`);
    return answer(q, res, decodeURIComponent(at[1]), at[2] !== "invoke");
  };
}
const saysThere = (text) => (q, res, model, streams) => (!model ? speaks(text)(q, res) : streams ? begin(res).end(framed(claude.opening(), claude.piece(text), claude.closing())) : claude.answer(res, text));
const onBedrock = (c) => {
  const port = c.providers.find((p) => p.name === "own").url.match(/:(\d+)/)[1];
  c.providers.push({ name: "bedrock", dialect: "anthropic", cloud: "bedrock", url: `http://127.0.0.1:${port}`, keys: ["sk-one"] });
  c.models.push({ name: "c-bedrock", targets: [`bedrock/${HAIKU}`] }, { name: "c-both", targets: [`bedrock/${HAIKU}`, "own-claude/c-own"] }, { name: "c-back", targets: ["own-claude/c-own", `bedrock/${HAIKU}`] });
};

holds("bedrock: the SDK's questions and streams reach Claude at its address there, and streams are read out of Amazon's framing", {
  config: onBedrock,
  async run(pair) {
    const c = sdk(pair), home = `/model/${encodeURIComponent(HAIKU)}/invoke`;
    pair.own.answer = bedrock(saysThere("seven \u20ac eight"));
    assert.equal(said(await c.messages.create({ model: "c-bedrock", ...asked })), "seven \u20ac eight");
    assert.equal(said(await c.messages.stream({ model: "c-bedrock", ...asked }).finalMessage()), "seven \u20ac eight");
    assert.equal(said(await c.beta.messages.stream({ model: "c-bedrock", betas: ["context-1m-2025-08-07", "b-2"], ...asked }).finalMessage()), "seven \u20ac eight");
    assert.deepEqual(pair.own.seen.map((q) => [q.url, q.headers["anthropic-beta"], Object.keys(body(q)).sort().join(), body(q).anthropic_beta]), [
      [home, undefined, "anthropic_version,max_tokens,messages", undefined],
      [`${home}-with-response-stream`, undefined, "anthropic_version,max_tokens,messages", undefined],
      [`${home}-with-response-stream`, undefined, "anthropic_beta,anthropic_version,max_tokens,messages", ["context-1m-2025-08-07", "b-2"]],
    ]);
    const s = await question(pair, dialects.anthropic, { model: "c-bedrock", stream: true });
    assert.match(s.headers["content-type"], /^text\/event-stream/);
    assert.ok(s.text.startsWith(claude.opening().slice(0, 40)), s.text); // named events, as Anthropic's API has them
    const o = await question(pair, dialects.openai, { model: "c-bedrock", stream: true });
    assert.deepEqual([o.said, dialects.openai.ended(o.events)], ["seven \u20ac eight", true], o.text);
  },
});

holds("bedrock: a stream that comes in bits is the same, and comes as it is said", {
  config: onBedrock,
  async run(pair) {
    let heard;
    const text = [], hears = new Promise((ok) => (heard = ok)); // the rest is sent when the client has the beginning
    pair.own.answer = bedrock(async (q, res) => {
      const begins = framed(claude.opening(), claude.piece("seven ")), ends = framed(claude.piece("eight"), claude.closing());
      const bits = async (bytes) => {
        for (let i = 0; i < bytes.length; i += 7) res.write(bytes.subarray(i, i + 7)), await sleep(0);
      };
      await bits(begin(res) && begins);
      await hears;
      await bits(ends);
      res.end();
    });
    await sdk(pair).messages.stream({ model: "c-bedrock", ...asked }).on("text", (t) => heard(text.push(t))).finalMessage();
    assert.deepEqual(text, ["seven ", "eight"]);
  },
});

for (const stream of [false, true])
  holds(`bedrock: a ${stream ? "stream" : "question"} goes from Anthropic's API to Bedrock and back when one of them fails`, {
    config: (c) => (onBedrock(c), once(c)),
    async run(pair) {
      let down = "direct";
      pair.own.answer = bedrock((q, res, model, streams) => {
        if (!model && down === "direct") return json(res, 529, { type: "error", error: { type: "overloaded_error", message: "Overloaded" } });
        if (model && down === "bedrock") return amazon(res, 429, "ThrottlingException", "Too many tokens, please wait before trying again.");
        return saysThere(model ?? body(q).model)(q, res, model, streams);
      });
      const there = await question(pair, dialects.anthropic, { model: "c-back", stream });
      assert.deepEqual([there.status, there.said, there.headers["x-daruma-target"]], [200, HAIKU, `bedrock/${HAIKU}`], there.text);
      down = "bedrock";
      const back = await question(pair, dialects.anthropic, { model: "c-both", stream });
      assert.deepEqual([back.status, back.said, back.headers["x-daruma-target"]], [200, "c-own", "own-claude/c-own"], back.text);
      assert.ok(pair.events().some((e) => e.provider === "bedrock" && e.kind === "rate_limit"), pair.eventsText());
    },
  });

const broken = framed(claude.piece("eight"));
broken[broken.length - 20] ^= 1;
for (const [how, kind, end] of [
  ["an exception", "rate_limit", (res) => res.end(exception("throttlingException", "Too many tokens, please wait before trying again."))],
  ["an exception of the model", "server_error", (res) => res.end(exception("modelStreamErrorException", "The system encountered an unexpected error during processing. Try your request again."))],
  ["a damaged message", "network|interrupted", (res) => res.write(broken)],
  ["half a message", "network|interrupted", (res) => res.end(framed(claude.piece("eight")).subarray(0, 40))],
  ["no end", "interrupted|malformed_output", (res) => res.end()],
])
  for (const [where, before] of [["before anything is said", framed(claude.opening())], ["in the middle", framed(claude.opening(), claude.piece("seven "))]])
    holds(`bedrock: a stream with ${how} ${where} is made whole by another call`, {
      config: onBedrock,
      async run(pair) {
        pair.own.answer = bedrock((q, res, ...there) => {
          if (q.n > 1) return saysThere(where === "in the middle" ? "eight" : "seven eight")(q, res, ...there);
          begin(res).write(before);
          setTimeout(() => end(res), 30);
        });
        const s = await question(pair, dialects.anthropic, { model: "c-both", stream: true });
        assert.ok(dialects.anthropic.ended(s.events) && !dialects.anthropic.failed(s.events), s.text);
        assert.equal(s.said, "seven eight", s.text);
        assert.ok(pair.events().some((e) => e.provider === "bedrock" && e.event === "llm_request_failed"), pair.eventsText());
        const failed = pair.events().find((e) => e.provider === "bedrock" && e.kind);
        assert.match(failed.kind, new RegExp(`^(${kind})$`), JSON.stringify(failed));
      },
    });

holds("bedrock: what stands before a damaged message is not lost, even when both come at once", {
  config: onBedrock,
  async run(pair) {
    let said;
    pair.own.answer = bedrock((q, res, ...there) => {
      if (q.n > 1) return (said = body(q).messages), saysThere("eight")(q, res, ...there);
      begin(res).write(Buffer.concat([framed(claude.opening(), claude.piece("seven ")), broken]));
    });
    const s = await question(pair, dialects.anthropic, { model: "c-both", stream: true });
    assert.ok(dialects.anthropic.ended(s.events) && !dialects.anthropic.failed(s.events), s.text);
    assert.equal(s.said, "seven eight", s.text);
    assert.match(JSON.stringify(said), /seven/); // it was asked to go on from there
  },
});

holds("bedrock: a whole answer is whole, whatever stands behind it", {
  config: onBedrock,
  async run(pair) {
    pair.own.answer = bedrock((q, res) => begin(res).write(Buffer.concat([framed(claude.opening(), claude.piece("seven"), claude.closing()), broken])));
    const s = await question(pair, dialects.anthropic, { model: "c-both", stream: true });
    assert.ok(dialects.anthropic.ended(s.events) && !dialects.anthropic.failed(s.events), s.text);
    assert.deepEqual([s.said, pair.own.seen.length], ["seven", 1], s.text);
  },
});

holds("bedrock: words of anthropic-beta that it refuses are left out of its body", {
  config: onBedrock,
  async run(pair) {
    pair.own.answer = bedrock((q, res, ...there) => (body(q).anthropic_beta ? amazon(res, 400, "ValidationException", "invalid beta flag") : saysThere("fine")(q, res, ...there)));
    const m = await sdk(pair).beta.messages.create({ model: "c-bedrock", betas: ["a-1", "b-2"], ...asked });
    assert.equal(said(m), "fine");
    assert.deepEqual(pair.own.seen.map((q) => body(q).anthropic_beta), [["a-1", "b-2"], undefined]);
    assert.ok(pair.own.seen.every((q) => !q.headers["anthropic-beta"] && !q.headers["anthropic-version"] && !q.headers.accept));
  },
});

holds("bedrock: clients that leave in the middle of a message leave nothing behind", {
  config: (c) => (onBedrock(c), (c.timeouts.idle = "5s")),
  async run(pair) {
    pair.own.answer = bedrock((q, res) => begin(res).write(Buffer.concat([framed(claude.opening(), claude.piece("seven ")), framed(claude.piece("eight")).subarray(0, 60)])));
    for (let i = 0; i < 5; i++) {
      const s = sdk(pair).messages.stream({ model: "c-bedrock", ...asked });
      await assert.rejects((s.on("text", () => s.abort()), s.finalMessage()));
    }
    await until("they are over", async () => (await pair.status()).active === 0);
    pair.own.answer = bedrock(saysThere("fine"));
    assert.equal(said(await sdk(pair).messages.create({ model: "c-bedrock", ...asked })), "fine");
  },
});

holds("bedrock: beside a stream that is silent another is asked, and the first that speaks is the answer", {
  config: (c) => (onBedrock(c), Object.assign(c.timeouts, { first_byte: "20s", idle: "20s" }), (c.recovery.hedge = "auto"), (c.models.find((m) => m.name === "c-both").targets = ["own-claude/c-own", `bedrock/${HAIKU}`])),
  async run(pair) {
    pair.own.answer = bedrock(saysThere("fine"));
    for (let i = 0; i < 12; i++) assert.equal((await question(pair, dialects.anthropic, { model: "c-both", stream: true })).said, "fine"); // how long it usually takes
    pair.own.answer = bedrock((q, res, model, streams) => (model ? saysThere("seven eight")(q, res, model, streams) : setTimeout(() => res.destroy(), 15000)));
    const s = await question(pair, dialects.anthropic, { model: "c-both", stream: true });
    assert.deepEqual([s.said, dialects.anthropic.ended(s.events)], ["seven eight", true], s.text);
    assert.ok(s.took < 14000, `${s.took}`);
    assert.ok(pair.own.seen.at(-1).url.startsWith("/model/"));
  },
});

holds("bedrock: what it refuses is told plainly, in Anthropic's form", {
  config: onBedrock,
  async run(pair) {
    const rows = [
      [403, "AccessDeniedException", "You don't have access to the model with the specified model ID.", Anthropic.PermissionDeniedError],
      [400, "ValidationException", "The provided model identifier is invalid.", Anthropic.BadRequestError],
      [404, "ResourceNotFoundException", "Could not resolve the foundation model from the provided model identifier.", Anthropic.NotFoundError],
    ];
    for (const [status, type, text, kind] of rows) {
      await pair.again(onBedrock);
      pair.own.answer = bedrock((q, res) => amazon(res, status, type, text));
      for (const stream of [false, true])
        await assert.rejects(sdk(pair).messages.create({ model: "c-bedrock", stream, ...asked }), (e) => e.error?.type === "error" && e.message.includes(text) && (assert.equal(e.constructor.name, kind.name, e.message), true));
    }
  },
});

holds("mantle and foundry speak as Anthropic's API does, at addresses of their own", {
  async run(pair) {
    const home = `http://127.0.0.1:${pair.own.port}/anthropic`;
    await pair.again((c) => {
      c.providers.push(...["mantle", "foundry"].map((name) => ({ name, dialect: "anthropic", url: home, keys: [`sk-${name}`] })));
      c.models.push({ name: "c-mantle", targets: ["mantle/anthropic.claude-sonnet-4-5"] }, { name: "c-foundry", targets: ["foundry/my-deployment"] });
    });
    pair.own.answer = speaks("fine");
    for (const name of ["mantle", "foundry"]) assert.equal(said(await sdk(pair).messages.create({ model: `c-${name}`, ...asked })), "fine");
    assert.deepEqual(pair.own.seen.map((q) => [q.url, q.headers["x-api-key"], body(q).model]), [
      ["/anthropic/v1/messages", "sk-mantle", "anthropic.claude-sonnet-4-5"],
      ["/anthropic/v1/messages", "sk-foundry", "my-deployment"],
    ]);
  },
});
