// Streams: where the commit point lies, how they break off, and who waits for whom.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import http from "node:http";
import net from "node:net";
import { dialects, question, until } from "./net.mjs";
import { sleep } from "./pair.mjs";
import { fault, holds, oneKey, once, unmended } from "./wire.mjs";
import { object, wires } from "./wires.mjs";

const chunk = (delta, finish = null) => `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const event = (o) => `event: ${o.type}\ndata: ${JSON.stringify(o)}\n\n`;

// A stream of each dialect in its parts.
const parts = {
  openai: {
    opening: chunk({ role: "assistant", content: "" }),
    content: (t) => chunk({ content: t }),
    finish: chunk({}, "stop"),
    end: "data: [DONE]\n\n",
    ping: ": keep-alive\n\n",
  },
  anthropic: {
    opening: event({ type: "message_start", message: { id: "m", type: "message", role: "assistant", content: [], usage: { input_tokens: 1, output_tokens: 1 } } }) + event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
    content: (t) => event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: t } }),
    finish: event({ type: "content_block_stop", index: 0 }) + event({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } }),
    end: event({ type: "message_stop" }),
    ping: event({ type: "ping" }),
  },
  responses: {
    opening: event({ type: "response.created", response: { id: "r", status: "in_progress", output: [] } }) + event({ type: "response.output_item.added", output_index: 0, item: { type: "message", role: "assistant", content: [] } }),
    content: (t) => event({ type: "response.output_text.delta", output_index: 0, content_index: 0, delta: t }),
    finish: event({ type: "response.output_text.done", output_index: 0, content_index: 0, text: "ab" }),
    end: event({ type: "response.completed", response: { id: "r", status: "completed", output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "ab" }] }] } }),
    ping: ": keep-alive\n\n",
  },
  gemini: {
    opening: `data: ${JSON.stringify({ usageMetadata: { promptTokenCount: 5 }, modelVersion: "g-own", responseId: "x" })}\n\n`,
    content: (t) => `data: ${JSON.stringify({ candidates: [{ content: { parts: [{ text: t }], role: "model" }, index: 0 }] })}\n\n`,
    finish: "",
    end: `data: ${JSON.stringify({ candidates: [{ content: { parts: [{ text: "" }], role: "model" }, finishReason: "STOP", index: 0 }] })}\n\n`,
    ping: ": keep-alive\n\n",
  },
};
// The same as whole answers.
const wholes = {
  openai: { id: "x", object: "chat.completion", choices: [{ index: 0, message: { role: "assistant", content: "ab" }, finish_reason: "stop" }] },
  anthropic: { id: "m", type: "message", role: "assistant", content: [{ type: "text", text: "ab" }], stop_reason: "end_turn", usage: { input_tokens: 1, output_tokens: 1 } },
  responses: { id: "r", object: "response", status: "completed", output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "ab" }] }] },
  gemini: { candidates: [{ content: { parts: [{ text: "ab" }], role: "model" }, finishReason: "STOP", index: 0 }] },
};
const whole = (p) => p.opening + p.content("a") + p.content("b") + p.finish + p.end;
const open = (res) => res.writeHead(200, { "content-type": "text/event-stream" });

Object.entries(dialects).forEach(([name, d]) => {
  const p = parts[name];
  const own = { model: d.own, stream: true };

  // What a first answer may look like without the client ever seeing a byte of it.
  const invisible = {
    "that ends cleanly before content": (res) => open(res).end(p.opening),
    "that only opens and is cut": (res) => (open(res).write(p.opening), setTimeout(() => res.destroy(), 30)),
    "that is cut within its first content": (res) => (open(res).write(p.opening + p.content("WRONG").slice(0, -3)), setTimeout(() => res.destroy(), 30)),
    "with an error event before content": (res) => open(res).end(p.opening + event({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } })),
    "with broken JSON before content": (res) => open(res).end(`${p.opening}data: {"choices": [{"del\n\n${p.end}`),
    "that finishes without content": (res) => open(res).end(p.opening + p.finish + p.end),
    "with nothing in it": (res) => open(res).end(),
  };
  holds(`${name}: a first stream that fails before content is never seen`, {
    async run(pair) {
      for (const [what, first] of Object.entries(invisible)) {
        if (name === "responses" && what.startsWith("that finishes")) continue; // its last event carries the text
        pair.own.seen = [];
        pair.own.answer = (q, res) => (q.n === 1 ? first(res) : open(res).end(whole(p)));
        const r = await question(pair, d, own);
        assert.equal(r.outcome, "recovered", what);
        assert.equal(r.text, whole(p), what);
        assert.equal(pair.own.seen.length, 2, what);
      }
    },
  });

  // Nobody waits for ever for a connection to end whose answer is here. What comes a little later is still waited for.
  holds(`${name}: an answer is over behind its end although its connection stays open, as a stream and as a whole`, {
    limit: 45000,
    config: (c) => (c.timeouts = { connect: "5s" }),
    async run(pair) {
      const long = { "content-length": 100000 };
      const ways = {
        ...((name === "openai" || name === "anthropic") && { "all but its last event": [true, whole(p).slice(0, -p.end.length), {}] }),
        ...(name !== "gemini" && { "chunks without a last one": [true, whole(p), {}], "more bytes promised": [true, whole(p), long] }), // Google's streams have no marker
        ...(name === "responses" && { "one event": [true, p.end, {}] }),
        "a whole answer": [false, JSON.stringify(wholes[name]), long],
      };
      pair.own.answer = (q, res) => {
        const [stream, text, more] = ways[Object.keys(ways).find((what) => q.body.includes(what))];
        res.writeHead(200, { "content-type": stream ? "text/event-stream" : "application/json", ...more }).write(text);
      };
      await Promise.all(Object.entries(ways).map(async ([what, [stream, text]]) => {
        const began = performance.now(), r = await Promise.race([question(pair, d, { model: d.own, stream, text: what }), sleep(35000)]);
        assert.ok(r, `${what} did not end`);
        assert.deepEqual([r.status, r.outcome, r.text.replaceAll(p.ping, "").replaceAll(/: daruma is waiting\n\n|event: ping\ndata: .*\n\n/g, "")], [200, "ok", what.startsWith("all but") ? whole(p) : text], what);
        assert.ok(performance.now() - began > 2000, what);
      }));
      assert.equal(pair.own.seen.length, Object.keys(ways).length);
    },
  });

  // The answer is there: nobody waits for a marker that may never come.
  if (name === "openai" || name === "anthropic")
    holds(`${name}: a stream that falls silent behind its stop reason is over soon, be it with its last words`, {
      limit: 30000,
      config: (c) => (c.timeouts = { connect: "5s" }),
      async run(pair) {
        const ways = {
          "alone": p.opening + p.content("a") + p.content("b") + p.finish,
          ...(name === "openai" && { "with words": p.opening + p.content("a") + chunk({ content: "b" }, "stop") }),
        };
        pair.own.answer = (q, res) => open(res).write(ways[Object.keys(ways).find((what) => q.body.includes(what))]);
        await Promise.all(Object.entries(ways).map(async ([what, sent]) => {
          const began = performance.now(), r = await Promise.race([question(pair, d, { model: d.own, stream: true, text: what }), sleep(25000)]);
          assert.ok(r, `${what} did not end`);
          assert.deepEqual([r.status, r.outcome, r.text], [200, "ok", sent + p.end], what);
          assert.ok(performance.now() - began < 8000, what);
        }));
      },
    });

  // LiteLLM and ChatMock run tools themselves behind a stop reason. Who pings there is not silent.
  if (name === "openai")
    holds("openai: a stop reason behind calls that nobody here runs is no end, nor one that pings follow", {
      limit: 45000,
      config: (c) => (c.timeouts = { connect: "5s" }),
      async run(pair) {
        const w = wires.openai, rest = [p.content("c"), p.finish, p.end];
        const ways = {
          "its own tools": [p.opening, w.called(0, "call_1", "look", '{"city": "Oslo"}'), w.closingCalls().replace(p.end, ""), 23000, ...rest],
          "hidden calls": [p.opening, p.content("a"), chunk({}, "tool_calls"), ...[1, 2, 3].flatMap(() => [8000, p.ping]), ...rest],
          "pings": [p.opening, p.content("a"), p.finish, ...[1, 2, 3, 4].flatMap(() => [4000, p.ping]), ...rest],
          "counts": [p.opening, p.content("a"), p.finish, 8000, chunk({}).replace(/"choices":.*\]/, '"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}'), p.end],
        };
        pair.own.answer = async (q, res) => {
          open(res);
          for (const part of ways[Object.keys(ways).find((what) => q.body.includes(what))])
            await (typeof part === "number" ? sleep(part) : res.write(part));
          res.end();
        };
        await Promise.all(Object.entries(ways).map(async ([what, sent]) => {
          const r = await question(pair, d, { model: d.own, stream: true, text: what, ...(what === "counts" && { more: { stream_options: { include_usage: true } } }) });
          const texts = sent.filter((part) => typeof part !== "number").join("");
          assert.deepEqual([r.status, r.outcome, r.text.replaceAll(/: daruma is waiting\n\n/g, "")], [200, "ok", texts], what);
        }));
      },
    });

  // Google, and who translates for it, sends a stop reason with each event, or before the words while the model reasons.
  if (name === "gemini")
    holds("gemini: a stop reason is no end as long as the connection is open, and words behind it are not lost", {
      limit: 25000,
      config: (c) => (c.timeouts = { connect: "5s" }),
      async run(pair) {
        const stop = (text) => p.end.replace('"text":""', `"text":"${text}"`);
        const ways = { "on each event": [stop("a"), stop("b")], "before the words": [stop("").repeat(2), stop("ab")] };
        pair.own.answer = async (q, res) => {
          const [first, rest] = ways[Object.keys(ways).find((what) => q.body.includes(what))];
          open(res).write(first);
          await sleep(4000);
          res.end(rest);
        };
        await Promise.all(Object.entries(ways).map(async ([what, texts]) => {
          const r = await question(pair, d, { model: d.own, stream: true, text: what });
          assert.deepEqual([r.status, r.outcome, r.text], [200, "ok", texts.join("")], what);
        }));
      },
    });

  if (name !== "gemini")
    holds(`${name}: pings behind the end of a stream keep nobody waiting for its call`, {
      limit: 25000,
      config: (c) => (c.timeouts = { connect: "5s" }),
      async run(pair) {
        pair.own.answer = async (q, res) => {
          open(res).write(wires[name].opening() + wires[name].called(0, "call_1", "look", '{"city": "Oslo"}') + wires[name].closingCalls());
          for (let i = 0; i < 12 && !res.destroyed; i++) await sleep(1000), res.write(": ping\n\n");
          res.end();
        };
        const began = performance.now(), r = await question(pair, d, { model: d.own, stream: true, more: { tools: wires[name].tools(object) } });
        assert.deepEqual([r.status, r.outcome, wires[name].calls(r).length], [200, "ok", 1], r.text);
        assert.ok(performance.now() - began < 8000, `it took ${performance.now() - began} ms`);
      },
    });

  // All that the client needs is there: it is not asked for, paid for and waited for again.
  holds(`${name}: a stream whose last event is whole but for its blank line is an answer, also when the connection dies there`, {
    async run(pair) {
      const all = whole(p).trimEnd(), alone = { gemini: p.end.replace('"text":""', '"text":"ab"'), responses: p.end }[name]?.trimEnd();
      for (const [what, text] of [["behind its content", all], ...(alone ? [["with all of its content", alone]] : [])])
        for (const [how, ends] of [["closed", (s) => s.destroy()], ["reset", (s) => s.resetAndDestroy()]]) {
          pair.own.seen = [];
          pair.own.answer = (q, res) => (open(res).write(text), setTimeout(() => ends(res.socket), 30));
          const r = await question(pair, d, own);
          assert.deepEqual([r.status, r.outcome, pair.own.seen.length, r.text.trimEnd()], [200, "ok", 1, text], `${what}, ${how}`);
        }
      // Half of that event is none.
      pair.own.seen = [];
      pair.own.answer = (q, res) => (q.n === 1 ? (open(res).write(p.opening + p.end.slice(0, p.end.length / 2)), setTimeout(() => res.destroy(), 30)) : open(res).end(whole(p)));
      const r = await question(pair, d, own);
      assert.deepEqual([r.outcome, pair.own.seen.length, r.text], ["recovered", 2, whole(p)]);
    },
  });

  holds(`${name}: a stream goes out as it came, byte for byte, in whatever pieces it came`, {
    async run(pair) {
      const text = p.ping + p.opening + p.ping + p.content("zwölf Boxkämpfer \u{1f94a}") + p.ping + p.content("b") + p.finish + p.end;
      const bytes = Buffer.from(text);
      for (const size of [1, 7, 1000]) {
        pair.own.answer = async (q, res) => {
          open(res);
          res.socket.setNoDelay(true);
          for (let i = 0; i < bytes.length; i += size) {
            res.write(bytes.subarray(i, i + size));
            if (i % (size * 16) === 0) await new Promise(setImmediate);
          }
          res.end();
        };
        const r = await question(pair, d, own);
        assert.equal(r.outcome, "ok");
        assert.equal(r.text, text, `in pieces of ${size}`);
      }
    },
  });

  holds(`${name}: content is with the client before the stream ends, and nothing is before content`, {
    async run(pair) {
      let goOn, began;
      const first = new Promise((ok) => (goOn = ok));
      pair.own.answer = async (q, res) => {
        open(res).write(p.opening);
        await sleep(150);
        assert.equal(began, undefined, "a head came before content");
        res.write(p.content("a"));
        await first;
        res.end(p.content("b") + p.finish + p.end);
      };
      const r = await question(pair, d, { ...own, onHead: () => (began = Date.now()), onData: () => goOn() });
      assert.equal(r.text, whole(p));
    },
  });

  // Behind the commit point: whole events, then an error of the dialect, and the same answer is never begun again.
  const broken = {
    "cut within an event": (res) => (open(res).write(p.opening + p.content("a") + p.content("LOST").slice(0, -4)), setTimeout(() => res.destroy(), 30)),
    "cut between events": (res) => (open(res).write(p.opening + p.content("a")), setTimeout(() => res.destroy(), 30)),
    "a clean end without its marker": (res) => open(res).end(p.opening + p.content("a")),
    "a clean end within an event": (res) => open(res).end(p.opening + p.content("a") + p.content("LOST").slice(0, -4)),
    "an event whose JSON breaks off": (res) => open(res).end(p.opening + p.content("a") + 'data: {"id":"x","ob\n\n' + p.content("LOST") + p.end),
    "silence": (res) => open(res).write(p.opening + p.content("a")),
    "pings alone": (res) => {
      open(res).write(p.opening + p.content("a"));
      const t = setInterval(() => res.write(p.ping), 80);
      res.on("close", () => clearInterval(t));
    },
    "an error event": (res) => open(res).end(p.opening + p.content("a") + event({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } })),
  };
  holds(`${name}: behind content a failure is an error event, never a clean end`, {
    config: (c) => ((c.timeouts.idle = "300ms"), unmended(c)),
    async run(pair) {
      for (const [what, first] of Object.entries(broken)) {
        pair.own.seen = [];
        pair.own.answer = (q, res) => first(res);
        const r = await question(pair, d, own);
        assert.equal(r.status, 200);
        assert.equal(r.said, "a", what);
        assert.ok(r.text.startsWith(p.opening + p.content("a")), what);
        assert.ok(d.failed(r.events), `${what}: no error event in ${r.text}`);
        assert.ok(!d.ended(r.events) && !r.text.includes(p.end), `${what}: it looks like a good end: ${r.text}`);
        assert.equal(pair.own.seen.length, 1, what);
        const kind = what === "an error event" ? "overloaded" : "interrupted";
        assert.match(r.events.at(-1).raw, new RegExp(`^: daruma outcome=degraded attempts=1 kind=${kind} remedies=keep_partial(,explain)? case=`), what);
      }
    },
  });

  if (name !== "responses" && name !== "gemini") // their last event says more than that it is the last
    holds(`${name}: an answer that is whole but for its end marker gets one`, {
      async run(pair) {
        pair.own.answer = (q, res) => open(res).end(p.opening + p.content("a") + p.content("b") + p.finish);
        const r = await question(pair, d, own);
        assert.equal(r.text.replace(/ /g, ""), whole(p).replace(/ /g, ""));
        assert.equal(r.outcome, "ok");
        pair.own.answer = (q, res) => (open(res).write(p.opening + p.content("a") + p.content("b") + p.finish + p.end.slice(0, 9)), setTimeout(() => res.destroy(), 30));
        const cut = await question(pair, d, own);
        assert.equal(cut.text.replace(/ /g, ""), whole(p).replace(/ /g, ""));
        pair.own.answer = (q, res) => open(res).end(whole(p).slice(0, -1)); // the last blank line is missing
        const s = await question(pair, d, own);
        assert.equal(s.said, "ab");
        assert.ok(d.ended(s.events));
      },
    });

  holds(`${name}: an error that ends a stream without a blank line is the error that it says`, {
    config: (c) => (c.recovery.mend = false),
    async run(pair) {
      for (const begun of [true, false]) {
        pair.own.seen = [];
        pair.own.answer = (q, res) => (q.n === 1 || begun ? open(res).end(p.opening + (begun ? p.content("a") : "") + event({ type: "error", error: { type: "overloaded_error", message: "Overloaded" } }).trimEnd()) : open(res).end(whole(p)));
        const r = await question(pair, d, own);
        if (begun) assert.match(r.events.at(-1).raw, /^: daruma outcome=degraded attempts=1 kind=overloaded remedies=keep_partial(,explain)? case=/, r.text);
        else assert.equal(r.said, "ab", r.text);
        const failed = pair.events().filter((e) => e.kind);
        assert.ok(failed.length && failed.every((e) => e.kind === "overloaded"), JSON.stringify(failed));
      }
    },
  });

  holds(`${name}: a stream under another type is one all the same`, {
    async run(pair) {
      for (const type of ["application/json", "text/plain", undefined])
        for (const cut of [true, false]) {
          pair.own.seen = [];
          pair.own.answer = (q, res) => {
            res.writeHead(200, type && { "content-type": type });
            if (cut && q.n === 1) res.write(p.opening, () => setTimeout(() => res.destroy(), 30));
            else res.end(": hi\n\n" + whole(p));
          };
          const r = await question(pair, d, own);
          assert.match(r.headers["content-type"], /^text\/event-stream/);
          assert.equal(r.said, "ab", `${type}: ${r.text}`);
          assert.equal(r.outcome, cut ? "recovered" : "ok", type);
        }
    },
  });

  holds(`${name}: pings keep a call alive, but are no progress`, {
    config: (c) => ((c.timeouts.idle = "800ms"), (c.timeouts.first_byte = "800ms")), // no content for 4 x idle: stuck
    async run(pair) {
      pair.own.answer = (q, res) => {
        open(res);
        if (q.n > 1) return res.end(whole(p));
        res.write(p.opening);
        const t = setInterval(() => res.write(p.ping), 80);
        res.on("close", () => clearInterval(t));
      };
      const r = await question(pair, d, own);
      assert.equal(r.outcome, "recovered");
      assert.equal(r.text, whole(p));
      assert.ok(r.took > 3000 && r.took < 9000, `given up after ${r.took} ms`);
      pair.own.answer = async (q, res) => {
        open(res).write(p.opening);
        for (let i = 0; i < 8; i++) await sleep(80), res.write(p.ping);
        res.end(p.content("a") + p.content("b") + p.finish + p.end);
      };
      const s = await question(pair, d, own);
      assert.equal(s.outcome, "ok");
      assert.equal(s.said, "ab");
    },
  });
});

holds("an error whose words never come whole is judged by what came", {
  config: (c) => (once(c), oneKey(c)),
  async run(pair) {
    pair.own.answer = (q, res) => {
      res.writeHead(503, { "content-type": "application/json", "content-length": "100000" }).write('{"error":{"message":"Overloaded","type":"overloaded_error"}}');
      const t = setInterval(() => res.write(" "), 100);
      res.on("close", () => clearInterval(t));
    };
    const r = await question(pair, dialects.openai, { model: dialects.openai.own });
    assert.equal(r.status, 503);
    assert.match(r.json.error.message, /Overloaded/);
    assert.ok(r.took < 9000, `given up after ${r.took} ms`);
  },
});

holds("in-band errors of the faulty provider, before content and behind it", {
  chaos: fault("{ times: 1, kind: overloaded, in_band: true, after_events: 1, model: m-single }", "{ kind: overloaded, in_band: true, after_events: 5 }"),
  config: once,
  async run(pair) {
    const d = dialects.openai;
    const r = await question(pair, d, { stream: true });
    assert.ok(r.status >= 500 || r.outcome === "recovered", `${r.status} ${r.outcome}`);
    const s = await question(pair, d, { stream: true, text: "say one two three four five six seven" });
    assert.ok(d.failed(s.events));
    assert.ok(!d.ended(s.events));
  },
});

/* ---- back-pressure ---- */

const rss = (pair) => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pair.gateway().pid}/status`, "utf8"))[1]) / 1024; // MiB

holds("a slow reader holds the provider back: neither memory nor connections fill", {
  config: (c) => (c.timeouts.idle = "1s"),
  async run(pair) {
    const d = dialects.openai, p = parts.openai, one = p.content("x".repeat(8000)), n = 12000; // 96 MB
    let written = 0;
    pair.own.answer = async (q, res) => {
      open(res).write(p.opening);
      for (let i = 0; i < n; i++) {
        if (!res.write(one)) await new Promise((ok) => res.once("drain", ok));
        written += one.length;
      }
      res.end(p.finish + p.end);
    };
    const before = rss(pair);
    const body = JSON.stringify(d.body(d.own, "much", { stream: true }));
    const req = http.request(pair.base + d.path, { method: "POST", headers: d.headers, agent: false });
    req.end(body);
    const res = await new Promise((ok, no) => req.on("response", ok).on("error", no));
    await until("the provider is held back", async () => {
      const was = written;
      await sleep(150);
      return written === was && written > 0;
    });
    assert.ok(written < 24e6, `${written} bytes went out though nobody read`);
    await sleep(1300); // longer than the idle clock: it is the client that is slow, not the provider
    assert.ok(rss(pair) - before < 40, `${before} -> ${rss(pair)} MiB`);
    let got = 0, tail = "";
    for await (const part of res) (got += part.length), (tail = (tail + part).slice(-100));
    assert.equal(got, p.opening.length + n * one.length + p.finish.length + p.end.length);
    assert.ok(tail.endsWith(p.end));
    assert.ok(rss(pair) - before < 60, `${before} -> ${rss(pair)} MiB`);
  },
});

holds("a provider that reads slowly gets a large request whole, and others are served meanwhile", {
  config: (c) => (oneKey(c), (c.timeouts.first_byte = "5s"), (c.timeouts.total = "15s")),
  async run(pair) {
    const text = "y".repeat(24e6);
    let readable, came = 0;
    const server = net.createServer((s) => {
      s.pause();
      readable = () => s.resume();
      s.on("data", (b) => {
        came += b.length;
        if (came > text.length) s.end(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 81\r\n\r\n${'{"choices":[{"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}'.slice(0, 81)}`);
      });
      s.on("error", () => {});
    });
    await new Promise((ok) => server.listen(0, "127.0.0.1", ok));
    try {
      await pair.again((c) => (c.providers.find((p) => p.name === "own").url = `http://127.0.0.1:${server.address().port}/v1`));
      const slow = question(pair, dialects.openai, { model: "m-own", text });
      await until("it arrives", () => readable);
      const quick = await question(pair, dialects.openai);
      assert.equal(quick.said, "seven eight");
      await sleep(300);
      assert.ok(rss(pair) < 250, `${rss(pair)} MiB`);
      readable();
      await slow.catch(() => {});
      assert.ok(came > text.length);
    } finally {
      server.close();
    }
  },
});

/* ---- many at once ---- */

holds("a storm: every answer right, few calls wasted, the counts agree", {
  chaos: fault("{ rate: 0.15, kind: [server_error, overloaded, reset, cut, rate_limit] }", "{ rate: 0.05, stream: true, kind: [empty, eof], after_events: 0 }"),
  config: (c) => ((c.recovery.kinds.rate_limit = { delay: "20ms", max_delay: "50ms" }), c.models.push({ name: "r-main", targets: ["main/m-main", "main/m-fallback"] })),
  async run(pair) {
    const all = Object.values(dialects), n = 240, outcomes = {};
    let next = 0;
    const client = async () => {
      for (let i; (i = next++) < n; ) {
        const d = all[i % all.length], words = `number ${i} of the storm`, stream = i % 2 === 0;
        const r = await question(pair, d, { model: d.main, text: `say ${words}`, stream });
        outcomes[r.outcome] = (outcomes[r.outcome] ?? 0) + 1;
        if (r.outcome === "ok" || r.outcome === "recovered") {
          if (!stream || d.ended(r.events)) assert.equal(r.said, words);
          else assert.ok(d.failed(r.events), `neither whole nor failed: ${r.text}`);
        } else assert.ok(r.status >= 400 || r.events, `${r.status} ${r.outcome}`);
      }
    };
    await Promise.all(Array.from({ length: 40 }, client));
    const s = await pair.status(), report = await pair.report();
    assert.equal(s.requests.all, n);
    assert.equal(s.requests.ok + s.requests.recovered + s.requests.degraded + s.requests.failed, n);
    assert.ok(s.calls.all <= report.calls, "a pooled connection that died is replaced without a new attempt");
    assert.ok((outcomes.failed ?? 0) <= 2, JSON.stringify(outcomes));
    assert.ok(report.calls <= n * 1.5, `${report.calls} calls`);
    assert.equal(s.active, 0);
    assert.equal((await pair.report()).open, 0);
  },
});

// What a usage says beside the tokens is somebody's bill.
for (const asked of [true, false])
  holds(`openai: the usage of a stream that was gone on with is its provider's, with all that it says${asked ? "" : ", beside the finish reason"}`, {
    async run(pair) {
      const p = parts.openai, said = { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12, cost: 0.0021, cost_details: { upstream_inference_cost: null }, completion_tokens_details: { reasoning_tokens: 2 } };
      const last = (usage) => `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", choices: [], usage })}\n\n`;
      pair.own.answer = (q, res) => (q.n === 1 ? (open(res).write(p.opening + p.content("One two three four five six seven eight nine ten ")), setTimeout(() => res.destroy(), 30)) : open(res).end(p.opening + p.content("nine ten eleven twelve.") + p.finish + last({ ...said, cost: 1 }) + last(said) + p.end));
      const d = dialects.openai, r = await question(pair, d, { model: d.own, stream: true, more: asked ? { stream_options: { include_usage: true } } : {} });
      assert.match(r.text, /outcome=recovered/);
      assert.equal(pair.own.seen.length, 2);
      assert.deepEqual(r.text.split("\n").filter((l) => /"usage":\{/.test(l)).map((l) => JSON.parse(l.slice(6)).usage), [said], r.text);
    },
  });

const usages = {
  anthropic: {
    said: { input_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 7, server_tool_use: { web_search_requests: 2 } },
    end: (usage) => event({ type: "content_block_stop", index: 0 }) + event({ type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage }) + event({ type: "message_stop" }),
    usage: (e) => e.json?.type === "message_delta" && e.json.usage,
  },
  responses: {
    said: { input_tokens: 5, input_tokens_details: { cached_tokens: 1 }, output_tokens: 7, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 12, cost: 0.0021 },
    end: (usage) => event({ type: "response.completed", response: { id: "r", status: "completed", output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "nine ten eleven twelve." }] }], usage } }),
    usage: (e) => e.json?.response?.usage,
  },
  gemini: {
    said: { promptTokenCount: 5, candidatesTokenCount: 7, totalTokenCount: 12, promptTokensDetails: [{ modality: "TEXT", tokenCount: 5 }], trafficType: "PROVISIONED_THROUGHPUT" },
    end: (usageMetadata) => `data: ${JSON.stringify({ candidates: [{ content: { parts: [{ text: "" }], role: "model" }, finishReason: "STOP", index: 0 }], usageMetadata })}\n\n`,
    usage: (e) => e.json?.candidates?.[0]?.finishReason && e.json.usageMetadata,
  },
};
// An event of several `data:` lines has line breaks in its JSON, between tokens.
const spread = (s) => s.replace(/^data: (\{.*\})$/gm, (line, o) => JSON.stringify(JSON.parse(o), null, 1).replace(/^/gm, "data: "));
for (const [name, { said, end, usage }] of Object.entries(usages))
  holds(`${name}: the usage of a stream that was gone on with is its provider's, with all that it says`, {
    config: (c) => (c.models.find((m) => m.name === "m-own").targets = ["own-responses/m-own"]),
    async run(pair) {
      const p = parts[name], d = dialects[name];
      for (const shape of [(s) => s, spread]) {
        pair.own.seen = [];
        pair.own.answer = (q, res) => (q.n === 1 ? (open(res).write(p.opening + p.content("One two three four five six seven eight nine ten ")), setTimeout(() => res.destroy(), 30)) : open(res).end(p.opening + p.content("nine ten eleven twelve.") + shape(end(said))));
        const r = await question(pair, d, { model: d.own, stream: true });
        assert.match(r.said, /^One two three .* ten eleven twelve\.$/);
        assert.equal(pair.own.seen.length, 2);
        assert.deepEqual(r.events.map(usage).filter(Boolean), [said], r.text);
      }
    },
  });

holds("anthropic: of two usages in a stream that was gone on with the newer one counts, though it says less", {
  async run(pair) {
    const p = parts.anthropic, d = dialects.anthropic, usage = (o, delta = {}) => event({ type: "message_delta", delta, usage: o });
    pair.own.answer = (q, res) => (q.n === 1 ? (open(res).write(p.opening + p.content("One two three four five six seven eight nine ten ")), setTimeout(() => res.destroy(), 30)) : open(res).end(p.opening + p.content("nine ten eleven twelve.") + usage({ input_tokens: 10, output_tokens: 2 }) + event({ type: "content_block_stop", index: 0 }) + usage({ output_tokens: 55 }, { stop_reason: "end_turn" }) + p.end));
    const r = await question(pair, d, { model: d.own, stream: true });
    const said = r.events.filter((e) => e.json?.type === "message_delta").map((e) => [e.json.usage.input_tokens, e.json.usage.output_tokens]);
    assert.deepEqual(said, [[10, 55]], r.text);
  },
});

/* ---- memory ---- */

const isSanitized = (pair) => /libasan|libclang_rt/.test(readFileSync(`/proc/${pair.gateway().pid}/maps`, "utf8")); // their memory is not the gateway's

holds("the id that a provider gives a request is looked through for keys, and a stream holds no memory for that", {
  limit: 60000,
  config: (c) => (oneKey(c), (c.recovery.hedge = "off"), Object.assign(c.timeouts, { connect: "60s", first_byte: "60s", idle: "60s", total: "60s" })),
  async run(pair) {
    const many = 100, open = [], d = dialects.openai, rss = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pair.gateway().pid}/status`, "utf8"))[1]);
    pair.own.answer = (q, res) => {
      const id = JSON.parse(q.body).user;
      res.writeHead(200, { "content-type": "text/event-stream", ...(id ? { "x-request-id": id } : {}) });
      res.write(parts.openai.opening + parts.openai.content("a"));
    };
    const begin = async (id) => {
      const before = rss(), body = JSON.stringify({ ...d.body(d.own, "say a"), stream: true, user: id });
      const list = await Promise.all(Array.from({ length: many }, () => new Promise((ok) => {
        const s = net.connect(pair.port, "127.0.0.1", () => s.write(`POST ${d.path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer sk-client\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`));
        s.got = "";
        s.on("error", () => {}).on("data", (b) => /"content":"a"/.test((s.got += b)) && ok(s));
      })));
      open.push(...list);
      return (rss() - before) / many;
    };
    await begin(""); // what it has at the first time of so many
    const without = await begin(""), with_ = await begin("7d1f4b1e-8a5c-4c0e-9f35-2f7b6f1f9a3b");
    assert.ok(open.at(-1).got.includes("7d1f4b1e"), open.at(-1).got);
    open.forEach((s) => s.destroy());
    console.log(`# a stream takes ${without.toFixed(1)} KB, and ${with_.toFixed(1)} KB with an id`);
    assert.ok(isSanitized(pair) || with_ < without + 4, `${with_} KB, and ${without} KB`);
  },
});
