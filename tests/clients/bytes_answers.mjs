// Whole answers against the limits: what is checked before it goes out, what passes through, what is written anew for
// another dialect, and errors.
import assert from "node:assert/strict";
import { count, until } from "./net.mjs";
import { wires } from "./wires.mjs";
import { around, askFor, dialects, fetchAll, filling, found, give, judged, limits, meets, MIB, okCount, patient, rss, sized } from "./bytes_kit.mjs";

const HELD = limits.ANSWER_HELD_BYTES_MAX;
const framings = ["length", "chunked"];
// An answer of a dialect that is so large.
const whole = {
  openai: (size) => sized('{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"', '"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}}', size),
  responses: (size) => sized('{"id":"r","object":"response","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"', '"}]}],"usage":{"input_tokens":1,"output_tokens":2}}', size),
  gemini: (size) => sized('{"candidates":[{"content":{"role":"model","parts":[{"text":"', '"}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2}}', size),
  anthropic: (size) => sized('{"id":"x","type":"message","role":"assistant","model":"c","content":[{"type":"text","text":"', '"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":2}}', size),
};
const sizes = around(HELD).map(([at, size]) => [at, whole.openai(size)]);

for (const framing of framings)
  meets(["ANSWER_HELD_BYTES_MAX", "WRITE_QUEUE_BYTES_MAX"], `a plain answer (${framing}) arrives whole, checked or not`, {
    config: patient,
    async run(pair) {
      const d = dialects.openai;
      for (const [at, bytes] of sizes)
        for (const [ends, client, provider] of [["quick", {}, { piece: 4 * MIB }], ["pieces of 60,000, slow provider", {}, { piece: 60000, slow: true }], ["slow client", { slow: true }, {}]]) {
          if (ends !== "quick" && at === "limit - 1") continue; // as the limit itself, and much slower
          const what = `ANSWER_HELD_BYTES_MAX, ${framing}, ${ends}, ${at}`, before = await okCount(pair);
          pair.own.answer = (q, res) => give(res, bytes, { framing, ...provider });
          const r = await askFor(pair, d, client);
          found(what, judged(what, r, bytes), "whole");
          assert.equal(r.outcome, "ok", what);
          await until(`${what}: counted`, async () => (await okCount(pair)) === before + 1);
          if (framing === "length") assert.equal(r.headers["content-length"], String(bytes.length), what);
        }
      assert.equal(count(pair.events(), "answer_not_checked"), 6); // of the two larger sizes
    },
  });

meets(["ANSWER_HELD_BYTES_MAX"], "a large answer of each dialect arrives whole, and is counted", {
  config: (c) => (patient(c), c.models.forEach((m) => m.targets.push(`${m.targets[0].split("/")[0]}/other`))),
  async run(pair) {
    for (const [name, d] of Object.entries(dialects))
      for (const [i, framing] of framings.entries()) {
        const bytes = whole[name](HELD + 1 + i * HELD), what = `ANSWER_HELD_BYTES_MAX, ${name}, ${framing}, ${i ? "2 limits + 1" : "limit + 1"}`;
        pair.own.answer = (q, res) => give(res, bytes, { framing });
        const r = await askFor(pair, d);
        found(what, judged(what, r, bytes), "whole");
        assert.equal(r.outcome, "ok", what);
      }
    await until("all are counted", async () => (await okCount(pair)) === 8);
  },
});

meets(["ANSWER_HELD_BYTES_MAX"], "a large answer that its provider breaks off is seen to break off", {
  config: patient,
  async run(pair) {
    for (const framing of framings)
      for (const [at, bytes] of sizes) {
        const what = `ANSWER_HELD_BYTES_MAX, ${framing}, broken off, ${at}`, before = await okCount(pair);
        pair.own.answer = (q, res) => give(res, bytes, { framing, until: bytes.length - 1000 });
        const r = await askFor(pair, dialects.openai);
        found(what, judged(what, r, bytes), bytes.length > HELD + 1000 ? "broken off" : /^(5\d\d|broken off)$/);
        assert.equal(await okCount(pair), before, what);
      }
  },
});

meets(["ANSWER_HELD_BYTES_MAX", "ANSWER_ARENA_BYTES_MAX"], "an answer that is written anew for another dialect is whole or refused", {
  config: patient,
  async run(pair) {
    const d = dialects.anthropic;
    const cases = sizes.map(([at, bytes]) => [`ANSWER_HELD_BYTES_MAX, ${at}`, bytes, bytes.length <= HELD ? "whole" : /^5\d\d$/]);
    const text = JSON.stringify("a\n".repeat(HELD / 3 - 200)).slice(1, -1); // each escape is written on its own
    const escapes = Buffer.from(whole.openai(300).toString().replace(/"content":"[^"]*"/, () => `"content":"${text}"`));
    cases.push(["ANSWER_ARENA_BYTES_MAX, of escapes", escapes, "whole"]);
    for (const framing of framings)
      for (const [at, bytes, expected] of framing === "chunked" ? cases : cases.slice(0, 3)) {
        const what = `${at}, ${framing}, converted`, before = await okCount(pair);
        pair.own.answer = (q, res) => give(res, bytes, { framing });
        const r = await askFor(pair, d, { model: dialects.openai.own, keep: true });
        let came = r.status >= 400 ? String(r.status) : "broken off";
        if (r.whole && r.status < 400) {
          assert.ok(d.text(JSON.parse(r.bytes)) === dialects.openai.text(JSON.parse(bytes)), `${what}: the text is not what was sent`);
          came = "whole";
        }
        found(what, came, expected);
        assert.equal((await okCount(pair)) - before, came === "whole" ? 1 : 0, what);
      }
  },
});

// A limit of ours is told as ours: it costs no second call, and rests nobody.
const blamed = async (pair, what, least) => {
  assert.equal(pair.own.seen.length, least, `${what}: it was asked for again`);
  const sick = (await pair.status()).places.filter((p) => p.cool_in_ms > 0 || p.bad > 0 || p.breaker !== "closed");
  assert.deepEqual(sick, [], what);
};
const fallback = (c) => {
  patient(c);
  c.recovery.max_attempts = 4;
  const m = c.models.find((x) => x.name === dialects.openai.own);
  m.targets = ["own/m-own", "own/m-other"];
};

meets(["ANSWER_HELD_BYTES_MAX", "TALK_BYTES_MAX", "SSE_EVENT_BYTES_MAX"], "an answer that meets a limit of ours blames nobody, and is not asked for again", {
  config: fallback,
  async run(pair) {
    const w = wires.openai, text = (n) => filling(n).toString("latin1");
    const args = (n) => Array.from({ length: Math.ceil(n / 500000) }, () => w.chunk({ tool_calls: [{ index: 0, function: { arguments: text(500000) } }] })).join("");
    const call = w.opening() + w.chunk({ tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "look", arguments: '{"city":"' } }] }) + args(limits.TALK_BYTES_MAX + 1000) + w.chunk({ tool_calls: [{ index: 0, function: { arguments: '"}' } }] }) + w.closingCalls();
    const event = w.opening() + w.piece("so: ") + w.piece(text(3 * limits.SSE_EVENT_BYTES_MAX)) + w.closing();
    const tools = { tools: wires.anthropic.tools({ type: "object", properties: { city: { type: "string" } } }) };
    const cases = [
      ["ANSWER_HELD_BYTES_MAX", whole.openai(HELD + 1), "application/json", {}, /too long to be written anew here: daruma holds 16 MiB/],
      ["ANSWER_HELD_BYTES_MAX", whole.openai(3 * HELD), "application/json", {}, /too long to be written anew here: daruma holds 16 MiB/],
      ["TALK_BYTES_MAX", Buffer.from(call), "text/event-stream", { stream: true, more: tools }, /too long to be written anew here: daruma keeps 32 MiB/],
      ["SSE_EVENT_BYTES_MAX", Buffer.from(event), "text/event-stream", { stream: true }, /too long to be written anew here: daruma reads 4 MiB/],
    ];
    for (const [limit, bytes, type, how, says] of cases)
      for (let n = 0; n < 3; n++) {
        const what = `${limit}, ${bytes.length} bytes, ${n}`;
        pair.own.seen = [];
        pair.own.answer = (q, res) => give(res, bytes, { framing: "chunked", headers: { "content-type": type } });
        const r = await askFor(pair, dialects.anthropic, { model: dialects.openai.own, keep: true, ...how });
        const said = r.bytes.toString();
        assert.match(said.slice(-5000), says, what);
        assert.match(said.slice(-5000), /its answer is longer than daruma can hand on/, what);
        if (r.status !== 200) assert.equal(r.headers["x-should-retry"], "false", what);
        found(what, r.status === 200 ? "error event" : String(r.status), how.stream ? /^(error event|502)$/ : "502");
        await blamed(pair, what, 1);
      }
    // What one attempt filled is not missing in the next: broken arguments, which are too long to be mended, then good ones.
    const long = (end) => w.opening() + w.chunk({ tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "look", arguments: '{"city":"' } }] }) + args(limits.TALK_BYTES_MAX / 3) + w.chunk({ tool_calls: [{ index: 0, function: { arguments: end } }] }) + w.closingCalls();
    pair.own.seen = [];
    pair.own.answer = (q, res) => give(res, Buffer.from(long(q.n > 1 ? '"}' : '",,}')), { framing: "chunked", headers: { "content-type": "text/event-stream" } });
    const again = await askFor(pair, dialects.anthropic, { model: dialects.openai.own, keep: true, stream: true, more: tools });
    found("TALK_BYTES_MAX, asked again", again.bytes.toString().includes("message_stop") ? "whole" : "error event", "whole");
    pair.own.answer = (q, res) => w.answer(res, "seven eight");
    assert.match((await askFor(pair, dialects.anthropic, { model: dialects.openai.own, keep: true })).bytes.toString(), /seven eight/);
  },
});

meets(["ANSWER_HELD_BYTES_MAX"], "what passes through arrives whole: other paths, encoded answers", {
  config: patient,
  async run(pair) {
    const coded = { "content-encoding": "zstd" };
    const paths = [["GET", "/v1/files/f-1/content", {}], ["POST", "/v1/embeddings", {}], ["POST", "/v1/chat/completions", coded]];
    for (const [i, framing] of framings.entries())
      for (const [at, bytes] of sizes)
        for (const [j, [method, path, headers]] of paths.entries()) {
          const what = `ANSWER_HELD_BYTES_MAX, ${framing}, ${path}, ${at}`;
          pair.own.answer = (q, res) => give(res, bytes, { framing, headers: { "content-type": "application/octet-stream", ...headers }, slow: (i + j) % 2 === 0 });
          const r = await fetchAll(pair, path, { method, headers: { ...dialects.openai.headers, "content-type": "application/json" }, body: method === "POST" ? Buffer.from('{"model":"m-own","messages":[{"role":"user","content":"hi"}],"input":"x"}') : undefined, slow: (i + j) % 2 === 1 });
          found(what, judged(what, r, bytes), "whole");
        }
  },
});

meets(["ANSWER_HELD_BYTES_MAX"], "an error that passes through is whole, or seen to break off", {
  config: patient,
  async run(pair) {
    for (const framing of framings)
      for (const status of [400, 500])
        for (const [at, bytes] of status === 400 ? sizes : sizes.slice(1, 3)) {
          await pair.again(patient); // nothing rests from the round before
          const what = `ANSWER_HELD_BYTES_MAX, ${framing}, status ${status}, ${at}`;
          pair.own.answer = (q, res) => give(res, bytes, { framing, status });
          const r = await fetchAll(pair, "/v1/files", { headers: dialects.openai.headers, body: Buffer.from("x") });
          assert.equal(r.status, status, what);
          found(what, r.whole ? judged(what, { ...r, status: 200 }, bytes) : "broken off", bytes.length <= HELD ? "whole" : "broken off");
        }
  },
});

meets(["CLASSIFY_BODY_BYTES_MAX"], "an error body of a dialect is an error however long it is", {
  config: patient,
  async run(pair) {
    for (const framing of framings)
      for (const [name, d] of Object.entries(dialects))
        for (const [at, size] of around(limits.CLASSIFY_BODY_BYTES_MAX)) {
          const bytes = sized('{"type":"error","error":{"type":"invalid_request_error","message":"No such thing: ', '"}}', size);
          const what = `CLASSIFY_BODY_BYTES_MAX, ${framing}, ${name}, ${at}`, before = await okCount(pair);
          pair.own.answer = (q, res) => give(res, bytes, { framing, status: 400 });
          found(what, judged(what, await askFor(pair, d), bytes), "400");
          assert.equal(await okCount(pair), before, what);
        }
  },
});

meets(["WRITE_QUEUE_BYTES_MAX"], "what waits for a slow reader is bounded, and arrives whole", {
  config: (c) => (patient(c), (c.timeouts.total = "120s")),
  async run(pair) {
    for (const [at, size] of around(limits.WRITE_QUEUE_BYTES_MAX)) {
      const bytes = filling(size), what = `WRITE_QUEUE_BYTES_MAX, ${at}`;
      pair.own.answer = (q, res) => give(res, bytes, { framing: "chunked" });
      found(what, judged(what, await fetchAll(pair, "/v1/files/x", { method: "GET", slow: true }), bytes), "whole");
    }
    // 200 MB that nobody takes: the gateway holds what it checks, the provider is paused.
    for (const framing of framings) {
      const bytes = whole.openai(200 * MIB), began = rss(pair);
      let most = 0;
      const look = () => (most = Math.max(most, rss(pair)));
      const timer = setInterval(look, 20);
      pair.own.answer = (q, res) => give(res, bytes, { framing });
      const r = await askFor(pair, dialects.openai, { slow: true, onSlow: look });
      clearInterval(timer);
      console.log(`# 200 MiB to a slow reader (${framing}): memory grows by ${Math.round((most - began) / MIB)} MiB`);
      const grown = Math.round((most - began) / MIB), what = `WRITE_QUEUE_BYTES_MAX, ${framing}, 200 MiB, memory grows by ${grown} MiB`;
      found(what, judged(what, r, bytes), "whole");
      assert.ok(grown < (10 * HELD) / MIB, what); // what is held, as it grew, and once more in the queue; a sanitizer's share
    }
  },
});
