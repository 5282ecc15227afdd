// What must hold: right answers under every recoverable fault, streaming and not, with tools; honest errors under
// the others, at one call per credential and model.
import assert from "node:assert/strict";
import { until } from "./net.mjs";
import { sdks } from "./sdks.mjs";

const WORDS = "fall seven times rise eight";
const weather = {
  name: "get_weather",
  description: "weather of a city",
  schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};

// Those in which every scenario here is played.
const dialects = { openai: sdks.openai, anthropic: sdks.anthropic, gemini: sdks.gemini };

export const scenarios = [];

const asks = [
  { how: "plain", what: "text", text: `say ${WORDS}`, right: (r) => assert.equal(r.text.trim(), WORDS) },
  { how: "stream", what: "text", text: `say ${WORDS}`, right: (r) => assert.equal(r.text.trim(), WORDS) },
  { how: "plain", what: "tool", text: "call get_weather", tool: weather, right: calledWeather },
  { how: "stream", what: "tool", text: "call get_weather", tool: weather, right: calledWeather },
];

function calledWeather(r) {
  assert.equal(r.calls.length, 1);
  assert.equal(r.calls[0].name, "get_weather");
  assert.equal(typeof r.calls[0].args.city, "string");
}

// fault: lines of the chaos script. only: restrict to plain or stream. calls: upstream calls at most.
const recoverable = [
  { name: "nothing", fault: "", outcome: "ok", calls: 1 },
  { name: "rate_limit", fault: "- { times: 2, kind: rate_limit }" },
  { name: "rate_limit with retry-after-ms", fault: '- { times: 2, status: 429, kind: rate_limit, headers: { retry-after-ms: "80" } }' },
  { name: "overloaded", fault: "- { times: 2, kind: overloaded }" },
  { name: "server_error", fault: "- { times: 2, kind: server_error }" },
  { name: "HTML 502", fault: "- { times: 1, html: 502 }" },
  { name: "timeout", fault: "- { times: 1, kind: timeout }" },
  { name: "connection reset", fault: "- { times: 2, kind: reset }" },
  { name: "cut before content", fault: "- { times: 1, cut: { after_bytes: 20 } }" },
  { name: "empty stream", fault: "- { times: 1, empty: stream }", only: "stream" },
  { name: "empty answer", fault: "- { times: 1, empty: choices }", only: "plain" },
  { name: "in-band error", fault: "- { times: 1, kind: overloaded, in_band: true, after_events: OPENING }" },
  { name: "no JSON in a 200", fault: "- { times: 1, kind: malformed, form: not_json }" },
  { name: "truncated JSON in a 200", fault: "- { times: 1, truncated_json: true }", only: "plain" },
  { name: "quota, second key", fault: "- { key: sk-one, kind: quota }", calls: 2 },
  { name: "auth, second key", fault: "- { key: sk-one, kind: auth }", calls: 2 },
  { name: "model_not_found, second model", fault: "- { model: MAIN, kind: model_not_found }", calls: 2 },
  { name: "overloaded for long, second model", fault: "- { model: MAIN, kind: overloaded }" },
];

for (const [dialect, d] of Object.entries(dialects))
  for (const f of recoverable)
    for (const ask of asks) {
      if (f.only && f.only !== ask.how) continue;
      scenarios.push({
        name: `${dialect} ${ask.how} ${ask.what}: ${f.name}`,
        chaos: f.fault ? `faults:\n  ${f.fault.replace("MAIN", d.models.main).replace("OPENING", d.opening ?? 1)}\n` : "faults: []\n",
        async run(pair) {
          const r = await d[ask.how](d.client(pair), d.models.main, ask.text, ask.tool);
          ask.right(r);
          assert.equal(r.headers.get("x-daruma-outcome"), f.outcome ?? "recovered");
          const report = await pair.report();
          if (f.calls) assert.equal(report.calls, f.calls, "calls to the provider");
          assert.equal(String(report.calls), r.headers.get("x-daruma-attempts"));
        },
      });
    }

// Nothing can be done: one call per credential and model, the provider's own words, an explanation for people.
const hopeless = [
  { name: "auth", fault: "- { kind: auth }", status: 401, calls: 2 },
  { name: "quota", fault: "- { kind: quota }", calls: 2 },
  { name: "permission", fault: "- { kind: permission }", status: 403, calls: 2 },
  { name: "model_not_found", fault: "- { kind: model_not_found }", status: 404, calls: 1 },
  { name: "unprocessable", fault: "- { kind: unprocessable }", status: 422, calls: 1 },
];

for (const [dialect, d] of Object.entries(dialects))
  for (const f of hopeless)
    for (const how of ["plain", "stream"])
      scenarios.push({
        name: `${dialect} ${how}: ${f.name} costs ${f.calls} call${f.calls > 1 ? "s" : ""} and is explained`,
        chaos: `faults:\n  ${f.fault}\n`,
        async run(pair) {
          const e = await d[how](d.client(pair), d.models.single, `say ${WORDS}`).then(() => assert.fail("there was an answer"), (x) => x);
          assert.ok(e.status >= 400, `not an API error: ${e}`);
          if (f.status) assert.equal(e.status, d.refused?.[f.status] ?? f.status);
          assert.equal(e.headers.get("x-should-retry"), "false");
          assert.equal((await pair.report()).calls, f.calls, "calls to the provider");
          const note = d.note(e);
          assert.match(note ?? "", /^The call to \S+ at \S+ failed: /, "what happened");
          assert.match(note, /\. daruma (called|used|waited|tried|fetched) .*\. [A-Z][^.]+\.$/s, "what was tried, and the next step");
          assert.doesNotMatch(note, /[{}]|sk-one|sk-two|sk-client/);
          assert.match(d.message(e), /\w/);
        },
      });

for (const [dialect, d] of Object.entries(dialects)) {
  if (dialect !== "gemini") scenarios.push({
    name: `${dialect} plain: the SDK's own retries go on with the same case`,
    chaos: "faults:\n  - { kind: server_error }\n",
    async run(pair) {
      const c = d.client(pair).withOptions({ maxRetries: 2 });
      const e = await d.plain(c, d.models.single, `say ${WORDS}`).then(() => assert.fail("there was an answer"), (x) => x);
      assert.equal(e.status, 500);
      const { calls } = await pair.report();
      assert.ok(calls <= 4 + 2, `${calls} calls to the provider`);
      assert.equal(e.headers.get("x-daruma-attempts"), String(calls));
    },
  });
  scenarios.push({
    name: `${dialect} stream: cut in the middle ends with an error, never cleanly`,
    chaos: "faults:\n  - { cut: { after_events: 4 } }\n",
    async run(pair) {
      await d.stream(d.client(pair), d.models.single, `say ${WORDS}`).then(
        (r) => assert.fail(`the cut answer looked whole: ${r.text}`),
        (e) => assert.match(e.message, /ended without/), // words that agents know as worth another try
      );
    },
  });
  scenarios.push({
    name: `${dialect} stream: an answer that a filter withheld arrives as it is`,
    chaos: "faults:\n  - { kind: filtered }\n",
    async run(pair) {
      const r = await d.stream(d.client(pair), d.models.single, `say ${WORDS}`);
      assert.equal(r.text, "");
      assert.equal(r.headers.get("x-daruma-outcome"), "ok");
      assert.equal((await pair.report()).calls, 1);
    },
  });
  scenarios.push({
    name: `${dialect} plain: with tools a lasting failure becomes a readable message`,
    chaos: "faults:\n  - { kind: server_error }\n",
    async run(pair) {
      const r = await d.plain(d.client(pair), d.models.single, "call get_weather", weather);
      assert.equal(r.headers.get("x-daruma-outcome"), "explained");
      assert.match(r.text, /^\[daruma\] /);
      assert.doesNotMatch(r.text, /[{}]/);
    },
  });
  scenarios.push({
    name: `${dialect} stream: a client that leaves cancels the call within 100 ms`,
    chaos: "faults:\n  - { stall: { after_events: 5, for: 10s } }\n",
    async run(pair) {
      const c = d.client(pair), body = d.body(d.models.single, `say ${WORDS}`), times = [];
      while (times.length < 4 && !times.some((ms) => ms >= 0 && ms < 100)) times.push(await leave(pair, dialect, c, body, times.length));
      assert.ok(times.some((ms) => ms >= 0 && ms < 100), `the provider noticed after ${times} ms`);
    },
  });
}

// Asks for a stream, leaves at its first piece, and says after how many milliseconds the provider saw that.
async function leave(pair, dialect, c, body, before) {
  const stop = new AbortController(), { signal } = stop;
  const s = dialect === "gemini" ? await c.models.generateContentStream({ ...body, config: { abortSignal: signal } }) : dialect === "openai" ? await c.chat.completions.create({ ...body, stream: true }, { signal }) : await c.messages.create({ ...body, stream: true }, { signal });
  for await (const _ of s) { // leaving the loop may end the stream already
    await fetch(`${pair.chaos}/chaos/mark`, { method: "POST" });
    break;
  }
  stop.abort();
  const r = await until("the provider notices", () => pair.report().then((now) => now.aborted_by_client > before && now));
  return r.noticed_ms;
}
