// Several clients of one gateway: what one of them says or asks for wrongly costs no other one anything.
import assert from "node:assert/strict";
import { question } from "./net.mjs";
import { holds } from "./wire.mjs";
import { every, json } from "./wires.mjs";

const hostile = [
  ["the words of an empty account", "You exceeded your current quota, please check your plan and billing details."],
  ["a wait of a day", "Rate limit reached, please try again in 86400s"],
  ["the words of a wrong key", "Incorrect API key provided"],
  ["the words of a missing model", "The model m-own does not exist or you do not have access to it"],
  ["the words of a busy model", "The server is overloaded or not ready yet"],
];

// What providers answer who quote the value that they do not take.
const refusal = {
  openai: (words) => ({ error: { message: `Invalid value: '${words}'. Supported values are: 'auto' and 'default'.`, type: "invalid_request_error", param: "service_tier", code: "invalid_value" } }),
  responses: (words) => ({ error: { message: `Invalid value: '${words}'. Supported values are: 'auto' and 'default'.`, type: "invalid_request_error", param: "service_tier", code: "invalid_value" } }),
  anthropic: (words) => ({ type: "error", error: { type: "invalid_request_error", message: `metadata.user_id: ${words}: is not a user of this organization` } }),
  gemini: (words) => ({ error: { code: 400, message: `Invalid value at 'labels' (TYPE_ENUM), "${words}"`, status: "INVALID_ARGUMENT" } }),
};
const says = {
  openai: (words) => ({ service_tier: words }),
  responses: (words) => ({ service_tier: words }),
  anthropic: (words) => ({ metadata: { user_id: words } }),
  gemini: (words) => ({ labels: { team: words } }),
};

// What one request says wrongly is dropped from that one, and from no other.
const wrong = {
  openai: [["service_tier", "bogus", "flex"], ["temperature", "hot", 0.5], ["tool_choice", "auto", "none"]],
  responses: [["service_tier", "bogus", "flex"], ["temperature", "hot", 0.5], ["tool_choice", "auto", "none"]],
  anthropic: [["service_tier", "bogus", "standard_only"], ["temperature", "hot", 0.5]],
  gemini: [],
};
const words = {
  service_tier: ["Invalid value: 'bogus'. Supported values are: 'auto', 'default', 'flex', and 'priority'.", "invalid_value"],
  temperature: ["Invalid type for 'temperature': expected a decimal, but got a string instead.", "invalid_type"],
  tool_choice: ["Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.", null],
};

every((name, d, w) => {
  for (const [param, bad, good] of wrong[name])
    holds(`neighbours ${name}: a ${param} that is wrong in one request stays in the requests of others`, {
      async run(pair) {
        const [message, code] = words[param];
        pair.own.answer = (q, res) => (JSON.parse(q.body)[param] === bad ? json(res, 400, name === "anthropic" ? { type: "error", error: { type: "invalid_request_error", message: `${param}: ${message}` } } : { error: { message, type: "invalid_request_error", param, code } }) : w.answer(res, "seven eight"));
        await question(pair, d, { model: d.own, more: { [param]: bad } });
        await question(pair, d, { model: d.own, more: { [param]: good }, text: "say more" });
        assert.deepEqual(JSON.parse(pair.own.seen.at(-1).body)[param], good, "it was left out");
      },
    });

  for (const [what, words] of hostile)
    holds(`neighbours ${name}: ${what}, quoted from one request, rest nothing and cost nobody else a call`, {
      async run(pair) {
        pair.own.answer = (q, res) => (q.body.includes(words) ? json(res, 400, refusal[name](words)) : w.answer(res, "seven eight"));
        const bad = await question(pair, d, { model: d.own, more: says[name](words) });
        assert.ok(bad.status === 400 || (bad.outcome === "recovered" && bad.said === "seven eight"), bad.text); // perhaps it was dropped
        const calls = pair.own.seen.length;
        assert.ok(calls <= 2, `${calls} calls`); // once more at most, without what was refused
        for (const q of pair.own.seen) assert.equal(q.headers.authorization ?? q.headers["x-api-key"] ?? q.headers["x-goog-api-key"], pair.own.seen[0].headers.authorization ?? pair.own.seen[0].headers["x-api-key"] ?? pair.own.seen[0].headers["x-goog-api-key"], "another key was tried");
        for (let i = 0; i < 3; i++) {
          const good = await question(pair, d, { model: d.own, text: `say ${i}` });
          assert.deepEqual([good.status, good.said, good.outcome, good.headers["x-daruma-attempts"]], [200, "seven eight", "ok", "1"], good.text);
        }
        const s = await pair.status();
        assert.ok(s.places.length > 0);
        for (const p of s.places) assert.deepEqual([p.cool_in_ms, p.breaker], [0, "closed"], JSON.stringify(p));
      },
    });
});
