// What SDKs do not show: bytes, times, headers, connections. Scenarios as in scenarios.mjs; after each, no secret may
// have reached an answer, an event, the status or a log.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import net from "node:net";
import { ask, dialects, pathOf, question, SECRETS, until } from "./net.mjs";
import { sleep } from "./pair.mjs";

export const wire = [];

// Adds a scenario; `limit` as in scenarios.mjs.
export function holds(name, s) {
  wire.push({
    chaos: "faults: []\n",
    ...s,
    name: `wire: ${name}`,
    async run(pair) {
      await s.run(pair);
      const g = pair.gateway();
      const heard = [Buffer.concat(pair.heard).toString("latin1"), pair.eventsText(), g.said];
      if (g.exitCode === null && !g.signalCode) heard.push(JSON.stringify(await pair.status()));
      for (const text of heard) assert.doesNotMatch(text, SECRETS, "a secret got out");
    },
  });
}

export const each = (f) => Object.entries(dialects).forEach(([name, d]) => f(name, d));
export const fault = (...lines) => `faults:\n${lines.map((l) => `  - ${l}\n`).join("")}`;
export const unmended = (c) => (c.recovery.mend = false);
export const once = (c) => (c.recovery.max_attempts = 1);
export const oneKey = (c) => c.providers.forEach((p) => p.keys.pop());
const target = (r) => r.headers["x-daruma-target"];

/* ---- heartbeats ---- */

holds("a stream that waits 10 s hears a comment and then its answer; others hear nothing", {
  chaos: fault("{ kind: delay, delay: 10500ms }"),
  config: (c) => (c.timeouts.first_byte = "14s"),
  async run(pair) {
    const d = dialects.openai;
    pair.own.answer = (q, res) => setTimeout(() => send(res, 200, good.openai), q.n === 1 ? 10500 : 0); // no stream, though one was asked for
    const [s, plain, odd] = await Promise.all([question(pair, d, { stream: true }), question(pair, d, { text: "say plain" }), question(pair, d, { model: d.own, stream: true })]);
    assert.equal(odd.outcome, "pending");
    assert.ok(d.ended(odd.events) && !d.failed(odd.events), odd.text);
    assert.equal(odd.said, "fine", odd.text);
    assert.equal(s.status, 200);
    assert.equal(s.outcome, "pending");
    assert.ok(s.times[0] > 9500, `the first beat came after ${s.times[0]} ms`);
    assert.match(s.events[0].raw, d.beat); // before the answer, which comes at 10.5 s
    assert.equal(s.said, "seven eight");
    assert.ok(s.events.some((e) => e.data === "[DONE]"));
    assert.match(s.events.at(-1).raw, /^: daruma outcome=ok attempts=1 case=[0-9a-f]{16}$/); // what the head could not say
    assert.ok(plain.times[0] >= 10450, "a plain answer was begun early");
    assert.equal(plain.outcome, "ok");
  },
});

holds("a stream that is silent for 10 s within its content hears from daruma meanwhile, and is whole", {
  chaos: fault("{ stall: { within: text, for: 10500ms } }"),
  config: (c) => (c.timeouts.idle = "14s"),
  run: (pair) =>
    Promise.all(Object.values(dialects).map(async (d) => {
      const s = await question(pair, d, { stream: true, text: "say fall seven times rise eight" });
      assert.equal(s.said, "fall seven times rise eight", s.text);
      assert.ok(d.ended(s.events) && !d.failed(s.events), s.text);
      assert.equal(s.outcome, "ok");
      const pieces = s.events.filter((e) => d.piece(e)), beat = s.events.findLastIndex((e) => d.beat.test(e.raw));
      assert.ok(beat > s.events.indexOf(pieces[0]) && beat < s.events.indexOf(pieces.at(-1)), s.text);
    })),
});

// As DeepSeek and OpenRouter do. `n` pieces of it, each second; false: the client left.
async function blanks(res, n) {
  res.writeHead(200, { "content-type": "application/json" });
  for (let i = 0; i < n; i++) res.write("\n"), await sleep(1000);
}

holds("white space before a whole answer reaches the client, and what follows it is the answer or no end", {
  limit: 30000,
  config: (c) => ((c.timeouts.first_byte = c.timeouts.idle = "14s"), (c.recovery.max_attempts = 2), (c.recovery.on_failure = "error")),
  async run(pair) {
    const d = dialects.openai, tried = {};
    pair.own.answer = async (q, res) => {
      const [, what] = /(whole|again|never|quick)/.exec(q.body), n = (tried[what] = (tried[what] ?? 0) + 1);
      if (what === "quick" || (what === "again" && n === 2)) return what === "quick" ? (await blanks(res, 1), res.end(JSON.stringify(good.openai))) : send(res, 200, good.openai);
      await blanks(res, 11);
      if (what === "whole") res.end(JSON.stringify(good.openai));
      else res.destroy();
    };
    const asked = (text) => question(pair, d, { model: d.own, text });
    const body = JSON.stringify(d.body(d.own, "never"));
    const [whole, again, never] = await Promise.all([asked("whole"), asked("again"), ask(pair, d.path, { method: "POST", headers: { ...d.headers, "content-type": "application/json" }, body })]);
    for (const r of [whole, again]) {
      assert.deepEqual([r.status, r.outcome, r.cut], [200, "pending", false], r.text);
      assert.deepEqual(r.json, good.openai);
      assert.ok(r.times[0] > 9500 && r.times[0] < 10800, `its first byte came after ${r.times[0]} ms`);
    }
    const quick = await asked("quick");
    assert.deepEqual([quick.status, quick.outcome], [200, "ok"]); // nobody needs it so soon
    assert.ok(quick.text.trim() === JSON.stringify(good.openai), quick.text);
    assert.deepEqual([never.status, never.cut, never.text.trim()], [200, true, ""]);
    assert.ok(tried.never === 2 || tried.never === 3); // the second may have one beside it, as its time runs out
    assert.deepEqual(tried, { whole: 1, again: 2, quick: 1, never: tried.never });
  },
});

holds("behind a heartbeat a failure is an event of the dialect, and a comment says the rest", {
  chaos: fault("{ kind: server_error, delay: 10500ms }"),
  config: (c) => ((c.timeouts.first_byte = "14s"), once(c), oneKey(c), (c.recovery.on_failure = "error")),
  async run(pair) {
    await Promise.all(
      Object.values(dialects).map(async (d) => {
        const r = await question(pair, d, { stream: true });
        assert.equal(r.status, 200);
        assert.equal(r.outcome, "pending");
        assert.match(r.events[0].raw, d.beat);
        assert.ok(d.failed(r.events), `no error event: ${r.text}`);
        assert.match(r.events.at(-1).raw, /^: daruma outcome=failed attempts=1 kind=server_error remedies=explain case=[0-9a-f]{16}$/);
      }),
    );
  },
});

holds("behind a heartbeat an answer that has begun is not begun again", {
  config: (c) => ((c.timeouts.first_byte = "14s"), unmended(c)),
  async run(pair) {
    const d = dialects.openai;
    const long = `data: {"choices":[{"delta":{"content":"begun"}}]}\n\ndata: {"choices":[{"delta":{"content":"${"x".repeat(300000)}`; // more than is held, and never whole
    pair.own.answer = (q, res) =>
      setTimeout(() => {
        res.writeHead(200, { "content-type": "text/event-stream" });
        res.write(long, () => setTimeout(() => res.destroy(), 300));
      }, 10300);
    const r = await question(pair, d, { model: d.own, stream: true });
    assert.equal(r.outcome, "pending");
    assert.equal(pair.own.seen.length, 1);
    assert.ok(d.failed(r.events), r.text);
    assert.match(r.events.at(-1).raw, /^: daruma outcome=degraded attempts=1 /);
  },
});

/* ---- where the provider sends it on to ---- */

holds("a redirect within the host is followed, one to another is not, and nobody goes there with a key", {
  async run(pair) {
    const d = dialects.openai;
    pair.own.answer = (q, res) => (/completions$/.test(q.url) ? res.writeHead(307, { location: `${q.url}/` }).end() : send(res, 200, good.openai));
    const near = await question(pair, d, { model: d.own });
    assert.deepEqual([near.said, near.outcome, near.headers["x-daruma-attempts"]], ["fine", "ok", "1"], near.text);
    assert.equal(String(pair.own.seen[1].body), String(pair.own.seen[0].body));
    const far = "http://localhost:1/v1/chat/completions";
    pair.own.answer = (q, res) => res.writeHead(308, { location: far }).end();
    const r = await question(pair, d, { model: d.own });
    assert.deepEqual([r.status, r.headers.location, r.headers["x-should-retry"]], [502, undefined, "false"]); // an SDK would go there, with its key
    assert.match(r.text, /it says that it has moved/);
  },
});

holds("what the provider says of another try is heard, and told to the client", {
  async run(pair) {
    const d = dialects.openai, more = (status, says) => (q, res) => send(res, status, JSON.stringify({ error: { message: "shard is moving", type: "invalid_request_error" } }), { "x-should-retry": says });
    pair.own.answer = (q, res) => (q.n === 1 ? more(400, "true")(q, res) : send(res, 200, good.openai));
    assert.equal((await question(pair, d, { model: d.own })).said, "fine");
    pair.own.seen = [];
    pair.own.answer = more(500, "false");
    const r = await question(pair, d, { model: d.own });
    assert.deepEqual([r.status, r.headers["x-should-retry"]], [500, "false"]);
    assert.equal(pair.own.seen.length, 1);
  },
});

/* ---- one budget with the client ---- */

const limited = (s) => `{ status: 429, kind: rate_limit, headers: { retry-after: "${s}" } }`;

each((name, d) => {
  holds(`${name}: a wait that the client will not wait for is told at once, with honest advice`, {
    chaos: fault(limited(5)),
    async run(pair) {
      const r = await question(pair, d, { headers: { "x-stainless-timeout": "2" } });
      assert.ok(r.took < 1000, `it took ${r.took} ms`);
      assert.equal(r.status, 429);
      assert.ok(Math.abs(Number(r.headers["retry-after"]) - 5) <= 1, `retry-after: ${r.headers["retry-after"]}`);
      assert.equal(r.headers["x-should-retry"], "true");
      assert.equal(r.headers["x-daruma-attempts"], "2"); // one for each account
    },
  });
  holds(`${name}: a wait that does not fit becomes another model`, {
    chaos: fault(limited(5).replace("{", `{ model: ${d.main},`)),
    async run(pair) {
      const r = await question(pair, d, { model: d.main, headers: { "x-stainless-timeout": "2" } });
      assert.ok(r.took < 1000);
      assert.equal(r.status, 200);
      assert.equal(r.outcome, "recovered");
      assert.match(target(r), /fallback$/);
    },
  });
});

holds("advice of more than a minute is not worth the client's waiting", {
  chaos: fault(limited(120)),
  async run(pair) {
    const r = await question(pair, dialects.openai);
    assert.equal(r.headers["x-should-retry"], "false");
    assert.ok(Math.abs(Number(r.headers["retry-after"]) - 120) <= 2);
    const quick = await question(pair, dialects.openai); // the keys rest: nobody is called
    assert.equal(quick.status, 429);
    assert.equal(quick.headers["x-should-retry"], "false");
    assert.equal((await pair.report()).calls, 2);
  },
});

holds("the client's own timeout ends a call that hangs, while it still listens", {
  chaos: fault("{ kind: timeout }"),
  config: (c) => (c.timeouts.first_byte = "10s"),
  async run(pair) {
    const r = await question(pair, dialects.openai, { headers: { "x-stainless-timeout": "1" } });
    assert.ok(r.took < 1000, `it took ${r.took} ms`);
    assert.equal(r.status, 504);
    assert.match(r.json.error.message, /\w/);
  },
});

holds("a client's own retry continues the same case", {
  chaos: fault("{ times: 3, kind: server_error }"),
  config: (c) => ((c.recovery.kinds.server_error.max_attempts = 3), oneKey(c), (c.recovery.on_failure = "error")),
  async run(pair) {
    const first = await question(pair, dialects.openai);
    const other = await question(pair, dialects.openai, { text: "say other", headers: { "x-stainless-retry-count": "1" } });
    const again = await question(pair, dialects.openai, { headers: { "x-stainless-retry-count": "1" } });
    assert.equal(first.status, 500);
    assert.equal(first.headers["x-daruma-attempts"], "3");
    assert.notEqual(other.headers["x-daruma-case"], first.headers["x-daruma-case"]);
    assert.equal(again.headers["x-daruma-case"], first.headers["x-daruma-case"]);
    assert.equal(again.headers["x-daruma-attempts"], "4");
    assert.equal(again.said, "seven eight");
  },
});

holds("a client that gave up and asks again continues the same case", {
  config: (c) => (c.timeouts.plain_first_byte = "10s"),
  async run(pair) {
    const d = dialects.openai;
    pair.own.answer = (q, res) => q.n > 1 && send(res, 200, good.openai);
    const body = JSON.stringify(d.body(d.own, "say seven eight"));
    const gives = net.connect(pair.port, "127.0.0.1").on("error", () => {});
    gives.write(`POST ${d.path} HTTP/1.1\r\nhost: localhost\r\nauthorization: ${d.headers.authorization}\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    await until("the call", () => pair.own.seen.length);
    gives.destroy();
    await until("it was noticed", () => pair.events().some((e) => e.event === "request_cancelled"));
    const r = await question(pair, d, { model: d.own, headers: { "x-stainless-retry-count": "1" } });
    assert.deepEqual([r.said, r.headers["x-daruma-attempts"]], ["fine", "2"]);
    assert.equal(r.headers["x-daruma-case"], pair.events().find((e) => e.event === "request_cancelled").case);
  },
});

/* ---- when nothing helps ---- */

const NOTICE = "[daruma] The model could not answer. This message was written by daruma, not by the model.";

for (const mode of ["error", "message", "auto"])
  each((name, d) =>
    holds(`${name}: on_failure ${mode}, stream and not, with tools and without`, {
      chaos: fault("{ key: sk-one, kind: server_error }", "{ key: sk-two, kind: auth }"),
      config: (c) => (once(c), (c.recovery.on_failure = mode), c.providers.forEach((p) => (p.keys = ["sk-one"]))),
      async run(pair) {
        for (const stream of [false, true])
          for (const tools of [false, true]) {
            const r = await question(pair, d, { stream, more: tools ? { tools: d.tools } : {} });
            if (mode === "message" || (mode === "auto" && tools)) {
              assert.equal(r.status, 200);
              assert.equal(r.outcome, "explained");
              assert.equal(r.said.split("\n")[0], NOTICE);
              assert.ok(r.said.length > NOTICE.length + 40);
              assert.doesNotMatch(r.said, /[{}]/);
              if (stream) assert.ok(d.ended(r.events), `no end: ${r.text.slice(-200)}`);
              else assert.deepEqual(d.usage(r.json), [0, 0]);
            } else {
              assert.equal(r.status, 500);
              assert.equal(r.outcome, "failed");
              assert.ok(d.error(r.json).message);
              assert.match(d.error(r.json).daruma.explanation, /\w/);
            }
          }
      },
    }),
  );

holds("auto: clients act on auth, permission, quota, rate_limit and context_length, so they get the error", {
  config: (c) => (once(c), oneKey(c)),
  async run(pair) {
    for (const kind of ["auth", "permission", "quota", "rate_limit", "context_length"])
      for (const d of Object.values(dialects)) {
        await pair.begin({ chaos: fault(`{ kind: ${kind} }`), config: this.config });
        const r = await question(pair, d, { more: { tools: d.tools } });
        assert.ok(r.status >= 400, `${kind}: ${r.status}`);
        assert.equal(r.outcome, "failed");
      }
  },
});

// What a provider of the test's own answers when all is well.
export const good = {
  openai: { choices: [{ index: 0, message: { role: "assistant", content: "fine" }, finish_reason: "stop" }] },
  anthropic: { id: "m", type: "message", role: "assistant", content: [{ type: "text", text: "fine" }], stop_reason: "end_turn", usage: { input_tokens: 1, output_tokens: 1 } },
  responses: { id: "r", object: "response", status: "completed", output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "fine" }] }] },
  gemini: { candidates: [{ content: { role: "model", parts: [{ text: "fine" }] }, finishReason: "STOP", index: 0 }], usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 } },
};
export const send = (res, status, body, headers = {}) => res.writeHead(status, { "content-type": "application/json", ...headers }).end(typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body));

each((name, d) =>
  holds(`${name}: daruma's message is taken out of the next request, and nothing else`, {
    config: (c) => (once(c), oneKey(c), (c.recovery.on_failure = "message")),
    async run(pair) {
      pair.own.answer = (q, res) => (q.n === 1 ? send(res, 500, { error: { message: "no" } }) : send(res, 200, good[name]));
      const first = await question(pair, d, { model: d.own });
      assert.equal(first.outcome, "explained");
      const user = (text) => ["user", text], assistant = (text) => ["assistant", text];
      const before = [user("one"), assistant("two")];
      const quoted = user(`Why do I read "${NOTICE}"? It said: ${first.said}`);
      const forged = assistant(`${NOTICE}\n\nwritten by somebody else`);
      const all = [...before, assistant(first.said), quoted, forged, user("three")];
      const body = { ...d.body(d.own, "x"), ...d.history(all) };
      const r = await ask(pair, pathOf(d, d.own), { method: "POST", headers: { ...d.headers, "content-type": "application/json" }, body: JSON.stringify(body) });
      assert.equal(r.status, 200);
      const came = JSON.parse(pair.own.seen[1].body);
      assert.deepEqual(came, { ...body, ...d.history([...before, quoted, forged, user("three")]) });
    },
  }),
);

/* ---- honesty ---- */

each((name, d) =>
  holds(`${name}: x-daruma-* say what happened, and the provider's words stay`, {
    chaos: fault(`{ model: ${d.main}, times: 1, kind: server_error }`, '{ kind: context_length, path: "*", skip: 2, times: 1, message: "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again" }'),
    config: unmended,
    async run(pair) {
      const ok = await question(pair, d);
      assert.deepEqual([ok.outcome, ok.headers["x-daruma-attempts"], ok.headers["x-daruma-remedies"]], ["ok", "1", "none"]);
      assert.equal(target(ok), { anthropic: "claude/c-single", gemini: "google/g-single" }[name] ?? "main/m-single");
      assert.match(ok.headers["x-daruma-case"], /^[0-9a-f]{16}$/);
      const again = await question(pair, d, { model: d.main });
      assert.deepEqual([again.outcome, again.headers["x-daruma-attempts"]], ["recovered", "2"]);
      assert.notEqual(again.headers["x-daruma-remedies"], "none");
      const lost = await question(pair, d);
      assert.deepEqual([lost.status, lost.outcome, lost.headers["x-daruma-attempts"], lost.headers["x-should-retry"]], [400, "failed", "1", "false"]);
      assert.equal(d.error(lost.json).message, "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again");
    },
  }),
);

/* ---- a client that leaves ---- */

const leaves = {
  "while the provider hangs": { chaos: fault("{ kind: timeout }"), calls: 1 },
  "while a stream is held": { chaos: fault("{ kind: pings_only, every: 50ms }"), calls: 1 },
  "within a stream": { chaos: fault("{ kind: stall, after_events: 4, for: 10s }"), calls: 1 },
  "within a backoff": { chaos: fault("{ kind: rate_limit, headers: { retry-after: \"3\" } }"), calls: 2, aborted: 0, failures: 2 },
};
for (const [when, w] of Object.entries(leaves))
  each((name, d) =>
    holds(`${name}: a client that leaves ${when} is nobody's failure`, {
      chaos: w.chaos,
      async run(pair) {
        const times = []; // a busy machine may take its time once or twice, but not always
        while (times.length < 4 && !times.some((ms) => ms >= 0 && ms < 100)) {
          const n = times.length + 1, socket = leaver(pair, d);
          await until("the calls are made", async () => (await pair.report()).calls === n * w.calls);
          await sleep(60);
          await fetch(`${pair.chaos}/chaos/mark`, { method: "POST" });
          socket.destroy();
          const seen = () => pair.report().then((r) => (w.aborted === 0 || r.aborted_by_client === n) && r);
          times.push((await until("the provider notices", seen)).noticed_ms);
          const e = await until("the event", () => pair.events().filter((x) => x.event === "request_cancelled")[n - 1]);
          assert.equal(e.outcome, "cancelled");
          if (w.aborted === 0) break;
        }
        assert.ok(w.aborted === 0 || times.some((ms) => ms >= 0 && ms < 100), `noticed after ${times} ms`);
        const s = await pair.status();
        assert.equal(s.requests.cancelled, times.length);
        if (!w.failures) assert.deepEqual(s.failures, {});
        if (!w.failures) assert.ok(s.targets[d.model].every((t) => t.well));
      },
    }),
  );

// A connection that asks and then is in our hands.
function leaver(pair, d) {
  const body = JSON.stringify(d.body(d.model, "say that whoever leaves in the middle of an answer has not been answered", { stream: true }));
  const s = net.connect(pair.port, "127.0.0.1");
  s.on("error", () => {});
  s.on("data", () => {});
  const head = Object.entries({ host: "localhost", "content-length": Buffer.byteLength(body), ...d.headers }).map(([k, v]) => `${k}: ${v}\r\n`).join("");
  s.write(`POST ${pathOf(d, d.model, true)} HTTP/1.1\r\n${head}\r\n${body}`);
  return s;
}
