// Why a request was late: one event of it says where its time went, the largest part first, in words that need no
// knowledge of daruma; and so do the page, `daruma report`, `cases` and `explain`. Nothing is told of who was not late.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import net from "node:net";
import { count, dialects, question, until } from "./net.mjs";
import { run, sleep } from "./pair.mjs";
import { fault, good, holds, oneKey, send } from "./wire.mjs";

const d = dialects.openai;
const calm = (c) => ((c.timeouts = { total: "40s" }), (c.recovery.kinds = {}), (c.recovery.max_attempts = 6));
const one = (c) => (calm(c), oneKey(c));
const script = (pair, ...faults) => fetch(`${pair.chaos}/chaos/script`, { method: "POST", body: fault(...faults) });
const known = async (pair, more) => { for (let i = 0; i < 6; i++) await question(pair, d, { text: `say one two three ${i}`, ...more }); };
const long = Array.from({ length: 41 }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: `${i}: ${"the quick brown fox jumps over the lazy dog ".repeat(26)}` }));
const limited = { error: { message: "slow down", type: "rate_limit_error", code: "rate_limit_exceeded" } };

// A request whose bytes go out as `send(socket, head, body)` likes; over when its connection is.
const bare = (pair, body, send) => new Promise((ok) => {
  const text = JSON.stringify(body), head = `POST ${d.path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer sk-client\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n`;
  const s = net.connect({ port: pair.port, host: "127.0.0.1" }, () => send(s, head, text));
  s.on("data", () => {});
  s.on("close", ok);
});

// [what happens, what the event says made it late, its words, its outcome (where no other event has it), the rest]
const kinds = [
  ["a rest that another request was told to keep", "rest", /[\d.]+ s of waiting for main\/m-single \(key1\), which rested because calls there had failed: the provider asked to slow down/, "ok", {
    chaos: fault('{ times: 1, kind: rate_limit, headers: { retry-after: "3" } }'), config: one,
    async run(pair) {
      const first = question(pair, d, { text: "say first" });
      await until("it rests", () => /llm_retry_attempt/.test(pair.eventsText()));
      const r = await question(pair, d);
      await first;
      return r;
    } }],
  ["a limit that its provider had stated", "rate", /s of waiting for own\/m-own \(key1\), which had said that its rate limit was used up until then/, "ok", {
    config: one,
    async run(pair) {
      pair.own.answer = (q, res) => (Object.entries({ limit: "1", remaining: "0", reset: "2s" }).forEach(([k, v]) => res.setHeader(`x-ratelimit-${k}-requests`, v)), send(res, 200, good.openai));
      await question(pair, d, { model: d.own });
      return question(pair, d, { model: d.own, text: "say next" });
    } }],
  ["a provider that serves two calls at once", "room", /of waiting for a free place at own\/m-own \(key1\), which serves no more calls at once than were under way/, "ok", {
    config: (c) => (one(c), delete c.recovery),
    async run(pair) {
      const held = [], asks = (text) => question(pair, d, { model: d.own, text }), both = () => until("two are out", () => held.length === 2);
      const ends = () => held.splice(0).forEach((end) => end());
      let refused = 0;
      pair.own.answer = (q, res) => (held.length >= 2 ? (refused++, send(res, 429, limited)) : held.push(() => send(res, 200, good.openai)));
      for (let i = 0; i < 3; i++) { // it is refused by turns: from then on it is known
        const two = [asks(`say one ${i}`), asks(`say two ${i}`)];
        await both();
        const third = asks(`say three ${i}`);
        await until("it is refused", () => refused > i);
        ends();
        await Promise.all(two);
        await until("it goes out again", () => held.length, 8000);
        ends();
        await third;
      }
      pair.own.answer = (q, res) => (held.length >= 2 ? send(res, 429, limited) : (held.push(0), setTimeout(() => (held.pop(), send(res, 200, good.openai)), 700)));
      await Promise.all(Array.from({ length: 12 }, (_, i) => asks(`say ${i}`)));
      const waited = pair.events().find((e) => e.late_by === "room" && e.outcome === "ok");
      return { headers: { "x-daruma-case": waited?.case } };
    } }],
  ["a wait that its provider asked for", "advised", /2 s of waiting before the next try, for so long as main asked: the provider asked to slow down/, undefined, {
    chaos: fault('{ times: 1, kind: rate_limit, headers: { retry-after: "2" } }'), config: one }],
  ["pauses of daruma's own behind failures", "backoff", /of waiting before the next try, since a call to main\/m-single \(key1\) had failed: the model is too busy/, undefined, {
    chaos: fault("{ times: 4, kind: overloaded }"), config: one }],
  ["a provider that begins late, and usually does not", "begin", /main\/m-single \(key1\) took [\d.]+ s to begin its answer; it usually takes (less than 0\.1 s|\d+ ms)/, "ok", {
    config: one,
    run: async (pair) => (await known(pair, { stream: true }), await script(pair, "{ times: 1, kind: pings_only, for: 3s }"), question(pair, d, { stream: true })) }],
  ["... and of which nobody knows what is usual", "begin", /main\/m-single \(key1\) took [\d.]+ s to begin its answer; how long it usually takes is not known yet/, "ok", {
    chaos: fault("{ times: 1, delay: 5500ms }"), config: one, run: (pair) => question(pair, d, { stream: true }) }],
  ["... or usually writes a shorter one, in one piece", "begin", /main\/m-single \(key1\) took [\d.]+ s for its answer, which came in one piece and may just be long; it usually takes/, "ok", {
    config: one,
    run: async (pair) => (await known(pair), await script(pair, "{ times: 1, delay: 2500ms }"), question(pair, d)) }],
  ["a pause in the midst of its answer", "pause", /main\/m-single \(key1\) paused for [\d.]+ s within its answer; its longest pause usually takes/, "ok", {
    config: one,
    run: async (pair) => (await known(pair, { stream: true, text: "say one two three four five six" }), await script(pair, "{ times: 1, stall: { within: text, for: 3s } }"), question(pair, d, { stream: true, text: "say one two three four five six" })) }],
  ["many pauses in it", "pause", /main\/m-single \(key1\) paused for 1\d s within its answer; its longest pause usually takes .* \([3-9] times\)/, "ok", {
    config: one,
    run: async (pair) => (await known(pair, { stream: true, text: "say one two three four five six" }), await script(pair, "{ times: 1, kind: trickle, every: 1500ms }"), question(pair, d, { stream: true, text: "say one two three four five six" })) }],
  ["a deadline of the client that ended its call", "ended", /[\d.]+ s in a call to main\/m-single \(key1\) until the time was over that the client or the configuration gives/, undefined, {
    config: (c) => (one(c), (c.recovery.hedge = "off")),
    run: async (pair) => (await script(pair, "{ kind: timeout }"), question(pair, d, { headers: { "x-stainless-timeout": "4" } })) }],
  ["a silent call beside which another one was asked", "begin", /main\/m-fallback \(key[12]\) took [\d.]+ s to begin its answer.*in a call to main\/m-main \(key1\) that had not begun to answer; it usually takes/, undefined, {
    config: calm,
    run: async (pair) => (await known(pair, { model: d.main, stream: true }), await script(pair, "{ model: m-main, delay: 20s }", "{ model: m-fallback, delay: 5500ms }"), question(pair, d, { model: d.main, stream: true })) }],
  ["calls that failed", "failed", /1\.[45] s in a call to main\/m-single \(key1\) that failed: the account has no credit or allowance left/, undefined, {
    chaos: fault("{ times: 1, kind: quota, delay: 1400ms }"), config: calm }],
  ["a summary", "summary", /[\d.]+ s for summarising the conversation, which was too long/, undefined, {
    chaos: `models: { m-single: { window: 8000 } }\n${fault("{ asks: summary, kind: delay, delay: 2s }")}`, config: calm,
    run: (pair) => question(pair, d, { more: { messages: long } }) }],
  ["a command that prints a key", "key", /[\d.]+ s for the command that prints the key of main\/m-single \(key1\)/, "ok", {
    config: (c) => (calm(c), (c.providers[0].keys = [{ command: "sleep 2; echo sk-one" }])) }],
  ["a client that sends its request slowly", "upload", /[\d.]+ s until the client had sent all of its request/, "ok", {
    config: one,
    run: (pair) => bare(pair, d.body(d.model, "say slowly"), async (s, head, body) => { s.write(head + body.slice(0, 10)); await sleep(1600); s.write(body.slice(10)); }) }],
  ["a client that reads slowly", "reader", /[\d.]+ s of waiting for the client, which read the answer slowly/, "ok", {
    config: one,
    async run(pair) {
      const piece = `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta: { content: "word ".repeat(400) }, finish_reason: null }] })}\n\n`;
      pair.own.answer = async (q, res) => {
        res.writeHead(200, { "content-type": "text/event-stream" });
        for (let i = 0; i < 4000; i++) if (!res.write(piece)) await new Promise((ok) => res.once("drain", ok));
        res.end(`${piece.replace(/"delta":.*"finish_reason":null/, '"delta":{},"finish_reason":"stop"')}data: [DONE]\n\n`);
      };
      await bare(pair, d.body(d.own, "say much", { stream: true }), (s, head, body) => {
        s.write(head + body);
        s.once("data", () => (s.pause(), setTimeout(() => s.resume(), 2500)));
      });
    } }],
  ["a client that left while it waited", "advised", /^[\d.]+ s of waiting before the next try, for so long as main asked/, undefined, {
    chaos: fault('{ times: 2, kind: rate_limit, headers: { retry-after: "30" } }'), config: one,
    run: (pair) => question(pair, d, { onStart: (r) => setTimeout(() => r.destroy(), 1500) }).catch(() => {}) }],
];

for (const [what, by, words, outcome, s] of kinds)
  holds(`late: ${what}: one event says so`, {
    limit: 60000,
    ...s,
    async run(pair) {
      const r = await (s.run ?? ((p) => question(p, d)))(pair);
      const late = await until("it is told", () => pair.events().find((e) => e.event === "request_late" && (!r || e.case === r.headers["x-daruma-case"])), 5000);
      assert.deepEqual([late.late_by, late.outcome], [by, outcome], JSON.stringify(late));
      assert.match(late.reason, words);
      assert.equal(pair.events().filter((e) => e.case === late.case && e.event === "request_late").length, 1);
      // Its parts are its time, the largest first, and each is told by its words; more than nothing of it is late.
      const ms = late.spent.map((p) => p.ms), all = ms.reduce((a, b) => a + b, 0), upload = late.spent.find((p) => p.on === "upload")?.ms ?? 0;
      assert.deepEqual(ms, [...ms].sort((a, b) => b - a));
      assert.ok(all <= late.took_ms + upload && all > 0.9 * (late.took_ms + upload), JSON.stringify(late));
      assert.ok(late.late_ms >= 1000 && late.late_ms <= late.took_ms + upload, JSON.stringify(late));
      assert.equal(late.reason, late.spent.map((p) => p.words).join(". "));
      assert.equal(late.late_words, late.spent.find((p) => p.on === by).words);
      const report = JSON.parse((await run(["report", "--json", pair.eventsFile])).out);
      assert.ok(report.late.some((l) => l.by === by && l.requests >= 1 && l.late_ms >= 1000), JSON.stringify(report.late));
      const cases = (await run(["cases", pair.eventsFile])).out.split("\n").filter((l) => l.includes(late.case));
      assert.equal(cases.length, 1);
      assert.match(cases[0], new RegExp(`late by [\\d.]+ m?s \\(${by}\\)`));
      assert.match((await run(["explain", late.case, "--events", pair.eventsFile])).out, /request late: [\d.]+ |request late: (main|own)\//);
    },
  });

holds("late: nothing is told of a long answer that came as usual, nor of a recovery within a second, be it behind much of an answer", {
  config: one,
  chaos: fault("{ times: 1, kind: overloaded }", "{ kind: trickle, every: 300ms, stream: true }"),
  async run(pair) {
    assert.equal((await question(pair, d)).outcome, "recovered");
    const r = await question(pair, d, { stream: true, text: "say one two three four five six seven" });
    assert.ok(r.took > 1500, `${r.took} ms`);
    const piece = (text, end) => `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta: text ? { content: text } : {}, finish_reason: end ?? null }] })}\n\n`;
    pair.own.answer = async (q, res) => { // what came before it broke off was in time
      res.writeHead(200, { "content-type": "text/event-stream" });
      if (q.n > 1) return res.end(`${piece("one two three four five six seven eight")}${piece("", "stop")}data: [DONE]\n\n`);
      for (const text of ["one ", "two ", "three ", "four ", "five ", "six "]) { res.write(piece(text)); await sleep(300); }
      res.destroy();
    };
    const cut = await question(pair, d, { model: d.own, stream: true });
    assert.ok(cut.took > 1500 && /seven eight/.test(cut.said) && pair.own.seen.length === 2, cut.text);
    assert.equal(count(pair.events(), "request_late"), 0);
  },
});

// What nobody knows to be late is not called so: an answer in one piece takes as long as it is, another model behind a
// failure may take its time, and who leaves a call that is not late yet has his own reasons.
holds("late: nothing is told of an answer in one piece, or behind a short failure, of a model that nobody knows, nor of a client that left before its call was late", {
  config: one,
  chaos: fault("{ times: 1, delay: 5300ms }", "{ times: 1, kind: overloaded }", "{ times: 1, delay: 1500ms }"),
  limit: 60000,
  async run(pair) {
    assert.equal((await question(pair, d)).status, 200);
    const behind = await question(pair, d, { stream: true });
    assert.equal(behind.outcome, "recovered");
    assert.ok(behind.took > 1500, `${behind.took} ms`);
    pair.own.answer = (q, res) => setTimeout(() => send(res, 200, good.openai), q.n <= 5 ? 1800 : 20000);
    await Promise.all(Array.from({ length: 5 }, (_, i) => question(pair, d, { model: d.own, text: `say ${i}` })));
    await question(pair, d, { model: d.own, onStart: (r) => setTimeout(() => r.destroy(), 1300) }).catch(() => {});
    await until("it is over", () => count(pair.events(), "request_cancelled"));
    assert.equal(count(pair.events(), "request_late"), 0, pair.eventsText());
  },
});
