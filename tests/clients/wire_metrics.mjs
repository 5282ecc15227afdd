// GET /metrics: what is counted, in both text formats, with names and units as Prometheus and OpenTelemetry have them.
import assert from "node:assert/strict";
import { ask, dialects, question } from "./net.mjs";
import { fault, good, holds, send } from "./wire.mjs";

// Reads a page strictly: every sample belongs to the metric announced before it, is there once, and histograms add up.
const read = (text, open) => {
  const samples = new Map(), types = new Map();
  let now = null;
  const lines = text.split("\n");
  assert.equal(lines.pop(), "");
  if (open) assert.equal(lines.pop(), "# EOF");
  for (const line of lines) {
    const about = /^# (HELP|TYPE) ([a-z][a-z0-9_]*) (.+)$/.exec(line);
    if (about?.[1] === "TYPE") {
      assert.equal(about[2], now, line);
      assert.match(about[3], /^(counter|gauge|histogram)$/);
      assert.equal(about[3] === "counter", open ? about[3] === "counter" : now.endsWith("_total"), line);
      types.set(now, about[3]);
      continue;
    }
    if (about) {
      assert.ok(!types.has(about[2]), `${about[2]} twice`);
      now = about[2];
      continue;
    }
    const s = /^([a-z][a-z0-9_]*)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\])*",?)*)\})? (\d+(?:\.\d+)?)$/.exec(line);
    assert.ok(s, line);
    const ends = { counter: open ? ["_total"] : [""], gauge: [""], histogram: ["_bucket", "_count", "_sum"] }[types.get(now)];
    assert.ok(ends.some((e) => s[1] === now + e), `${line} is not of ${now}`);
    const key = `${s[1]}{${s[2] ?? ""}}`;
    assert.ok(!samples.has(key), `${key} twice`);
    samples.set(key, Number(s[3]));
  }
  const counts = [...samples].filter(([k]) => k.includes("_count{"));
  for (const [key, n] of counts) {
    const labels = /\{(.*)\}/.exec(key)[1], name = key.slice(0, key.indexOf("_count{"));
    const buckets = [...samples].filter(([k]) => k.startsWith(`${name}_bucket{${labels},le=`));
    assert.ok(buckets.length > 10 && buckets.every(([, v], i) => i === 0 || v >= buckets[i - 1][1]), key);
    assert.equal(buckets.at(-1)[1], n);
    assert.match(buckets.at(-1)[0], /le="\+Inf"/);
    assert.ok(samples.has(`${name}_sum{${labels}}`));
  }
  return samples;
};
const page = async (pair, open, headers = {}) => {
  const r = await ask(pair, "/metrics", { headers: { ...headers, ...(open && { accept: "application/openmetrics-text; version=1.0.0,text/plain;q=0.5" }) } });
  assert.equal(r.status, 200, r.text);
  assert.match(r.headers["content-type"], open ? /^application\/openmetrics-text; version=1\.0\.0/ : /^text\/plain; version=0\.0\.4/);
  return read(r.text, open);
};

holds("metrics: requests, failures, remedies, times and tokens are counted for each model, in both formats", {
  chaos: fault("{ kind: rate_limit, times: 1 }"),
  async run(pair) {
    const d = dialects.openai;
    const before = await page(pair, true);
    assert.equal(before.get('daruma_requests_total{outcome="ok"}'), 0);
    const first = await question(pair, d), stream = await question(pair, d, { stream: true, more: { stream_options: { include_usage: true } } });
    assert.deepEqual([first.status, stream.status], [200, 200]);
    const a = await page(pair, true), b = await page(pair, false);
    for (const s of [a, b]) {
      assert.equal(s.get('daruma_requests_total{outcome="ok"}') + s.get('daruma_requests_total{outcome="recovered"}'), 2);
      assert.equal(s.get('daruma_failures_total{kind="rate_limit"}'), 1);
      assert.equal(s.get('daruma_recoveries_total{kind="rate_limit"}'), 1);
      assert.equal(s.get("daruma_calls_total{}"), 3);
      const of = (name, more = "") => [...s].filter(([k]) => k.startsWith(`${name}{gen_ai_operation_name="chat",gen_ai_provider_name="`) && k.includes(more)).reduce((n, [, v]) => n + v, 0);
      assert.equal(of("gen_ai_client_operation_duration_seconds_count"), 2);
      assert.equal(of("gen_ai_server_time_to_first_token_seconds_count"), 1);
      assert.equal(of("gen_ai_client_token_usage_count", 'gen_ai_token_type="input"'), 2);
      assert.equal(of("gen_ai_client_token_usage_sum", 'gen_ai_token_type="output"'), d.usage(first.json)[1] + stream.events.map((e) => e.json?.usage?.completion_tokens ?? 0).reduce((x, y) => Math.max(x, y), 0));
      assert.ok([...s].some(([k, v]) => k.startsWith('daruma_target_well{name="') && v === 1));
    }
  },
});

holds("metrics: what failed for good is counted apart, and names that clients make up stay few and harmless", {
  limit: 120000,
  config: (c) => ((c.recovery.max_attempts = 1), (c.recovery.patience = "none")),
  async run(pair) {
    const d = dialects.openai;
    pair.own.answer = (q, res) => (q.body.includes('"bad') ? send(res, 400, { error: { message: "no such thing", type: "invalid_request_error" } }) : send(res, 200, good.openai));
    await question(pair, d, { model: d.own });
    const body = (model) => JSON.stringify({ model, messages: [{ role: "user", content: "hello" }] });
    const say = (model) => ask(pair, d.path, { method: "POST", headers: { "content-type": "application/json" }, body: body(model) });
    const odd = ['quote"}\n evil_total 1', "back\\slash", "\u00e4\u202e", "x".repeat(5000)];
    for (const name of odd) await say(name);
    for (let i = 0; i < 400; i += 20) await Promise.all(Array.from({ length: 20 }, (_, k) => say(`made-up-${i + k}`)));
    const s = await page(pair, true), models = new Set([...s.keys()].map((k) => /gen_ai_request_model="((?:[^"\\]|\\.)*)"/.exec(k)?.[1]).filter(Boolean));
    assert.ok(models.size <= 257, `${models.size} models`);
    assert.ok(models.has("_other") && ![...models].some((m) => m.length > 210), [...models].slice(0, 8).join());
    assert.ok(!s.has("evil_total{}"));
    const all = [...s].filter(([k]) => k.startsWith("gen_ai_client_operation_duration_seconds_count")).reduce((n, [, v]) => n + v, 0);
    assert.equal(all, 405);
    await question(pair, d, { model: d.own, text: "bad" });
    assert.ok([...(await page(pair, true))].some(([k, v]) => k.includes('error_type="unanswered"') && k.includes("_count{") && v === 1));
  },
});

holds("metrics: they are shown for the admin token where there is one", {
  admin: "sk-leak-admin-0123456789",
  config: (c) => (c.admin = { token: "sk-leak-admin-0123456789" }),
  async run(pair) {
    assert.equal((await ask(pair, "/metrics")).status, 401);
    await page(pair, true, { authorization: "Bearer sk-leak-admin-0123456789" });
    assert.equal((await ask(pair, "/metrics", { method: "POST" })).status, 405);
  },
});
