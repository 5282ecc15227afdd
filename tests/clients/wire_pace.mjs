// Limits that a provider states with each answer are kept: a refusal that can be foreseen is not called for. The provider
// counts by itself, and says what is left; or says something else than is true.
import assert from "node:assert/strict";
import { dialects, question } from "./net.mjs";
import { sleep } from "./pair.mjs";
import { holds } from "./wire.mjs";
import { json, wires } from "./wires.mjs";

const d = dialects.openai, W = 1200; // ms of a window

// A provider that takes `limit` requests of each key in a window, and says so (`says`: its header fields; null: nothing).
function limited(pair, limit, { wire = wires.openai, says = (left, ms) => ({ "x-ratelimit-limit-requests": String(limit), "x-ratelimit-remaining-requests": String(left), "x-ratelimit-reset-requests": `${ms}ms` }), takes = 0 } = {}) {
  const keys = new Map();
  const n = { calls: 0, refused: 0, by: {} };
  pair.own.answer = async (q, res) => {
    const key = q.headers.authorization ?? q.headers["x-api-key"], now = Date.now();
    let k = keys.get(key);
    if (!k || now >= k.until) keys.set(key, (k = { until: now + W, used: 0 }));
    n.calls++;
    n.by[key] = (n.by[key] ?? 0) + 1;
    const nth = ++k.used, ms = k.until - now;
    for (const [name, value] of Object.entries(says?.(Math.max(0, limit - nth), ms) ?? {})) res.setHeader(name, value);
    if (takes) await sleep(takes);
    if (nth > limit) return n.refused++, json(res.setHeader("retry-after-ms", String(Math.max(1, k.until - Date.now()))), 429, { error: { message: "Rate limit reached for requests", type: "requests", code: "rate_limit_exceeded" } });
    wire.answer(res, "seven eight");
  };
  return n;
}
const one = (c) => ((c.models = [{ name: "m-x", targets: ["own/m-x"] }]), (c.timeouts = {}), c.providers.find((p) => p.name === "own").keys.pop(), (c.recovery.patience = "1m"), (c.recovery.max_attempts = 16));
const ask = (pair, i = 0) => question(pair, d, { model: "m-x", text: `question ${i}` });

holds("pace: with one key calls wait for the next window rather than be refused: with the header fields and without", {
  limit: 60000,
  config: one,
  async run(pair) {
    const counted = {};
    for (const what of ["without", "with"]) {
      await pair.again(one);
      const n = limited(pair, 4, what === "without" ? { says: null } : {});
      for (let i = 0; i < 16; i++) assert.equal((await ask(pair, i)).said, "seven eight");
      counted[what] = n;
    }
    const { with: w, without: o } = counted;
    console.log(`# pace, one key, 16 requests of 4 in ${W} ms: ${o.calls} calls and ${o.refused} refused without, ${w.calls} and ${w.refused} with`);
    assert.ok(o.refused >= 2, "nothing had to be foreseen");
    assert.ok(w.refused <= 1, `${w.refused} were refused: one call may test what is stated`);
  },
});

holds("pace: with two keys the one that has requests left is asked, and nobody waits", {
  config: (c) => (one(c), (c.providers.find((p) => p.name === "own").keys = [{ value: "sk-one", account: "a" }, { value: "sk-two", account: "b" }])),
  async run(pair) {
    const n = limited(pair, 5), began = Date.now();
    for (let i = 0; i < 10; i++) assert.equal((await ask(pair, i)).outcome, "ok");
    assert.ok(Date.now() - began < W, `${Date.now() - began} ms`);
    assert.deepEqual([n.refused, Object.values(n.by)], [0, [5, 5]]);
  },
});

holds("pace: requests at once count as they go out", {
  limit: 40000,
  config: one,
  async run(pair) {
    const n = limited(pair, 6, { takes: 150 });
    await ask(pair);
    await Promise.all(Array.from({ length: 12 }, (_, i) => ask(pair, i).then((r) => assert.equal(r.said, "seven eight"))));
    console.log(`# pace, 12 at once behind 1, 6 in ${W} ms: ${n.calls} calls, ${n.refused} refused`);
    assert.ok(n.refused <= 2, `${n.refused} of ${n.calls} refused`);
  },
});

holds("pace: what is stated and not true costs one wait, and a moment that is far costs none", {
  limit: 60000,
  config: one,
  async run(pair) {
    const wrong = (fields) => ((pair.own.answer = (q, res) => (Object.entries(fields).forEach(([k, v]) => res.setHeader(k, v)), wires.openai.answer(res, "seven eight"))), fields);
    for (const [fields, least, most] of [
      [{ "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1s" }, 900, 2600],
      [{ "anthropic-ratelimit-requests-remaining": "0", "anthropic-ratelimit-requests-reset": new Date(Date.now() + 86400000).toISOString() }, 0, 800],
      [{ "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "5m0s" }, 0, 800],
      [{ "x-ratelimit-remaining-requests": "-3", "x-ratelimit-reset-requests": "1s" }, 0, 800],
      [{ "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "soon" }, 0, 800],
      [{ "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1s" }, 0, 800],
    ]) {
      await pair.again(one);
      wrong(fields);
      const began = Date.now();
      for (let i = 0; i < 8; i++) assert.equal((await ask(pair, i)).outcome, "ok");
      const took = Date.now() - began;
      assert.ok(took >= least && took <= most, `${JSON.stringify(fields)}: ${took} ms for 8 requests`);
    }
  },
});

holds("pace: a client that has no time to wait is not kept waiting", {
  config: one,
  async run(pair) {
    pair.own.answer = (q, res) => (res.setHeader("x-ratelimit-remaining-requests", "0"), res.setHeader("x-ratelimit-reset-requests", "15s"), wires.openai.answer(res, "seven eight"));
    await ask(pair);
    const began = Date.now(), r = await question(pair, d, { model: "m-x", headers: { "x-daruma-deadline": "3s" } });
    assert.equal(r.said, "seven eight", r.text);
    assert.ok(Date.now() - began < 2500, `${Date.now() - began} ms`);
  },
});

// The faulty provider states its limit as OpenAI and Anthropic do; on Google's wire it says nothing before it refuses.
for (const [name, most] of [["openai", 1], ["anthropic", 1], ["gemini", Infinity]])
  holds(`pace ${name}: against daruma chaos, 12 requests of 4 in 2 s`, {
    limit: 60000,
    chaos: "keys: { sk-one: { account: a, limit: 4, per: 2s } }\nfaults: []\n",
    config: (c) => ((c.timeouts = {}), c.providers.forEach((p) => p.keys.splice(1)), (c.recovery.patience = "1m"), (c.recovery.max_attempts = 16)),
    async run(pair) {
      const wire = dialects[name];
      for (let i = 0; i < 12; i++) {
        const r = await question(pair, wire, { text: `say number ${i}` });
        assert.equal(r.status, 200, r.text);
      }
      const { calls, statuses } = await pair.report(), refused = statuses["429"] ?? 0;
      console.log(`# pace ${name}: 12 requests, ${calls} calls, ${refused} refused`);
      assert.equal(calls, 12 + refused);
      assert.ok(refused <= most, `${refused} refused`);
      if (most === Infinity) assert.ok(refused >= 2, "nothing had to be foreseen");
    },
  });

// The same with tokens, which come back bit by bit: a request waits until there are as many as it needs, and a small one
// goes at once.
for (const name of ["openai", "anthropic"])
  holds(`pace ${name}: against daruma chaos, 12 requests of 300 tokens each, of 1000 in 3 s`, {
    limit: 60000,
    chaos: "keys: { sk-one: { account: a, tokens: 1000, per: 3s } }\nfaults: []\n",
    config: (c) => ((c.timeouts = {}), c.providers.forEach((p) => p.keys.splice(1)), (c.recovery.patience = "1m"), (c.recovery.max_attempts = 16)),
    async run(pair) {
      const wire = dialects[name];
      for (let i = 0; i < 12; i++) {
        const r = await question(pair, wire, { text: `say number ${i}: ${"and so on ".repeat(110)}` });
        assert.equal(r.status, 200, r.text);
      }
      const { calls, statuses } = await pair.report(), refused = statuses["429"] ?? 0;
      console.log(`# pace of tokens ${name}: 12 requests, ${calls} calls, ${refused} refused`);
      assert.equal(calls, 12 + refused);
      assert.ok(refused >= 1, "nothing had to be foreseen");
      assert.ok(refused <= 2, `${refused} refused`);
    },
  });

holds("pace: a picture's bytes are no tokens: it goes at once where a text of the same length waits", {
  limit: 30000,
  config: one,
  async run(pair) {
    let calls = 0;
    pair.own.answer = (q, res) => {
      for (const [name, value] of Object.entries({ limit: "1000", remaining: "100", reset: "10s" })) res.setHeader(`x-ratelimit-${name}-tokens`, value);
      if (++calls === 2) return json(res.setHeader("retry-after-ms", "10"), 429, { error: { message: "Rate limit reached for tokens", type: "tokens", code: "rate_limit_exceeded" } });
      wires.openai.answer(res, "seven eight");
    };
    const long = "and so on ".repeat(150), timed = async (o) => {
      const began = Date.now(), r = await question(pair, d, { model: "m-x", ...o });
      assert.equal(r.said, "seven eight", r.text);
      return Date.now() - began;
    };
    for (let i = 0; i < 2; i++) await timed({ text: `${i} ${long}` }); // the second is refused, and the limit is proven
    const picture = [{ role: "user", content: [{ type: "text", text: "what is this" }, { type: "image_url", image_url: { url: `data:image/png;base64,${"iVBORw0K".repeat(190)}` } }] }];
    const [shown, said] = [await timed({ more: { messages: picture } }), await timed({ text: long })];
    assert.ok(shown < 800, `the picture took ${shown} ms`);
    assert.ok(said > 1500, `the text took ${said} ms`);
  },
});

// A place that serves so many at once, and is too busy for the others: who was refused goes out again when one of those is
// over, and not with all others that were refused.
for (const status of [503, 529, 429])
  holds(`pace: 150 at once of a place that serves four at once and answers ${status} to the others cost some two calls each`, {
    limit: 60000,
    config: one,
    async run(pair) {
      let out = 0, calls = 0;
      pair.own.answer = async (q, res) => {
        calls++;
        if (out >= 4) return json(res, status, { error: { message: status === 429 ? "Too many requests" : "Service temporarily unavailable", type: "server_error" } });
        out++;
        await sleep(200);
        out--;
        wires.openai.answer(res, "seven eight");
      };
      const all = await Promise.all(Array.from({ length: 150 }, (_, i) => ask(pair, i)));
      assert.deepEqual(all.filter((r) => r.said !== "seven eight").map((r) => r.text), []);
      console.log(`# pace: 150 at once, ${calls} calls`);
      assert.ok(calls <= 150 * 2.7, `${calls} calls`);
    },
  });

// A bucket of tokens: each call takes one, and they come back one by one. Who finds it empty is told when the next is there, in
// words that are true for one of all who hear them.
for (const [what, told] of [["exactly", (ms) => ["retry-after-ms", String(ms)]], ["as \"0\"", () => ["retry-after", "0"]]])
  holds(`pace: where many wait for a bucket of tokens they take turns: each is answered, and few are refused twice; told ${what}`, {
    limit: 60000,
    config: one,
    async run(pair) {
      const MANY = 60, EACH = 100, HOLDS = 6;
      let full = 0, calls = 0;
      pair.own.answer = (q, res) => {
        const now = Date.now(), base = Math.max(full, now);
        calls++;
        if (base - now > (HOLDS - 1) * EACH) return json(res.setHeader(...told(base - now - (HOLDS - 1) * EACH)), 429, { error: { message: "Slow down.", type: "rate_limit_error" } });
        full = base + EACH;
        setTimeout(() => wires.openai.answer(res, "seven eight"), 100);
      };
      const all = await Promise.all(Array.from({ length: MANY }, (_, i) => ask(pair, i)));
      for (const a of all) assert.equal(a.said, "seven eight");
      console.log(`# pace, ${MANY} at once, a bucket of ${HOLDS}, one comes back in ${EACH} ms: ${calls} calls`);
      assert.ok(calls <= 3 * MANY, `${calls} calls for ${MANY}`);
    },
  });
