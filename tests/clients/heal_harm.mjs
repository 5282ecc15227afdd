// What once made things worse: statuses that pass, overflows that say little, requests above a limit, empty lists,
// reasoning that binds to an account which rests, and the keys of strangers in errors.
import assert from "node:assert/strict";
import { ask, dialects, question } from "./net.mjs";
import { fault, holds } from "./wire.mjs";
import { body, both, every, json, object, own, paired, reply, sse, target, tokens, wires } from "./wires.mjs";

const NEWEST = "what is the newest order?";
const lorem = (n, chars = 8000) => `HEAD-${n} ${"lorem ipsum dolor sit amet ".repeat(chars / 27)} TAIL-${n}`;
const rounds = (n, chars) => [{ user: "find it" }, ...Array.from({ length: n }, (_, i) => [{ call: `call_${i}` }, { result: `call_${i}`, text: lorem(i, chars) }]).flat(), { text: "found" }, { user: NEWEST }];
const talk = (n, chars) => [...Array.from({ length: n }, (_, i) => [{ user: `question ${i}: ${lorem(i, chars)}` }, { text: `answer ${i}: ${lorem(i, chars)}` }]).flat(), { user: NEWEST }];
const remedies = (r) => r.headers["x-daruma-remedies"];
const asError = (c) => (c.recovery.on_failure = "error");
const oneKey = (c) => c.providers.forEach((p) => p.keys.pop());

every((name, d, w) => {
  const model = (c) => c.models.find((m) => m.name === d.own);
  const tools = w.tools({ type: "object", properties: {} });

  both(name, "a 409 and a 425 pass by themselves", {
    config: asError,
    async run(pair, ask) {
      pair.own.answer = (q, res) => (q.n === 1 ? json(res, 409, { type: "error", error: { type: "conflict_error", code: 409, message: "Conflict" } }) : q.n === 2 ? res.writeHead(425).end() : reply(w, q, res, "done"));
      const r = await ask(own(d, w, [{ user: NEWEST }]));
      assert.equal(r.said, "done", r.text);
      assert.equal(r.outcome, "recovered");
      assert.equal(pair.own.seen.length, 3);
      pair.own.answer = (q, res) => json(res, 409, { type: "error", error: { type: "conflict_error", code: 409, message: "Conflict" } });
      const last = await ask(own(d, w, [{ user: `${NEWEST} now` }]));
      assert.equal(last.status, 409, last.text);
      assert.equal(last.headers["x-should-retry"], "true", "the client's own retry is stopped");
    },
  });

  for (const [what, turns] of [["tool output", rounds(44, 6500)], ["talk", talk(22, 6500)]])
    both(name, `an overflow of ${what} that names no numbers is met by halves`, {
      chaos: `models: { m-single: { window: 8000, overflow: no_numbers }, c-single: { window: 8000, overflow: no_numbers }, g-single: { window: 8000, overflow: no_numbers } }\n${fault()}`.replace("faults:\n", "faults: []\n"),
      config: asError,
      async run(pair, ask) {
        const r = await ask({ more: { [w.key]: w.history(turns), tools } });
        assert.equal(r.status, 200, r.text);
        assert.equal(r.outcome, "recovered", r.text);
        assert.ok(r.said.length > 0);
        assert.match(remedies(r), /mask_tool_output|summarise_observations|compact_conversation/);
        assert.ok(Number(r.headers["x-daruma-attempts"]) <= 5, `${r.headers["x-daruma-attempts"]} calls`);
      },
    });

  both(name, "an overflow that says both numbers in another order is met at once", {
    config: (c) => (asError(c), (c.recovery.side_calls = false)),
    async run(pair, ask) {
      pair.own.answer = (q, res) => (tokens(q) > 8000 ? w.refuse(res, `Prompt contains ${tokens(q)} tokens and 0 draft tokens, too large for model with 8000 maximum context length`) : reply(w, q, res, "done"));
      const r = await ask(own(d, w, rounds(30, 4800), { tools }));
      assert.equal(r.said, "done", r.text);
      assert.deepEqual(pair.own.seen.map((q) => tokens(q) > 8000), [true, false]);
      assert.ok(tokens(pair.own.seen[1]) > 2500, "more went than had to");
      paired(w, body(pair.own.seen[1]));
    },
  });

  for (const status of [413, 429])
    both(name, `what alone is above the tokens a minute becomes smaller, and the key goes on (${status})`, {
      config: asError,
      async run(pair, ask) {
        const counted = (q) => tokens(q) + (w.cap(body(q)) ?? 0);
        const says = (q) => `Request too large for model \`m-own\` in organization \`org_1\` service tier \`on_demand\` on tokens per minute (TPM): Limit 8000, Requested ${counted(q)}, please reduce your message size and try again.`;
        pair.own.answer = (q, res) => (counted(q) > 8000 ? json(res, status, { type: "error", error: { message: says(q), type: "tokens", code: "rate_limit_exceeded" } }) : reply(w, q, res, "done"));
        const began = Date.now();
        const r = await ask(own(d, w, rounds(8, 4800), { tools, ...w.capped(2000) }));
        assert.equal(r.said, "done", r.text);
        assert.equal(pair.own.seen.length, 2);
        assert.match(remedies(r), /mask_tool_output/);
        const long = await ask(own(d, w, [{ user: NEWEST }], w.capped(20000)));
        assert.equal(long.said, "done", long.text);
        assert.match(remedies(long), /clamp_output/);
        assert.ok(Date.now() - began < 1500, "it waited");
        const key = (q) => q.headers.authorization ?? q.headers["x-api-key"] ?? q.headers["x-goog-api-key"];
        assert.equal(new Set(pair.own.seen.map(key)).size, 1, "another key was asked");
      },
    });

  const FOREIGN = "sk-proj-AbCd1234EfGh5678IjKl";
  const noise = { type: "error", error: { type: "authentication_error", status: "UNAUTHENTICATED", code: "invalid_api_key", message: `Incorrect API key provided: ${FOREIGN}.\n${FOREIGN} is \u00e9ven "escaped"; ask support@example.com`, param: null, n: [1.50, { "x-api-key": "Zz9-other-secret-77", key: "messages.0" }] } };
  both(name, "a stranger's key in an error reaches nobody, and all else stays as it came", {
    config: (c) => (asError(c), oneKey(c), (c.recovery.max_attempts = 1)),
    async run(pair, ask, stream) {
      const heard = (r) => JSON.stringify(r.raw) + r.text + pair.eventsText() + pair.gateway().said;
      const clean = (r) => {
        for (const secret of [FOREIGN, "Zz9-other-secret-77"]) assert.ok(!heard(r).includes(secret), `${secret} in ${heard(r)}`);
      };
      pair.own.answer = (q, res) => res.writeHead(401, { "content-type": "application/json", "x-debug": `called with ${FOREIGN}` }).end(JSON.stringify(noise));
      const r = await ask(own(d, w, [{ user: NEWEST }]));
      assert.equal(r.status, 401, r.text);
      clean(r);
      assert.equal(r.json.error.message, noise.error.message.replaceAll(FOREIGN, "[redacted]"));
      assert.equal(r.json.error.n[1]["x-api-key"], "[redacted]");
      assert.equal(r.json.error.n[1].key, "messages.0");
      assert.ok(r.text.includes("[1.5,"), r.text);
      assert.match(r.headers["x-debug"], /^called with \[redacted\]$/);
      if (!stream) return;
      await pair.again((c) => (asError(c), oneKey(c), (c.recovery.max_attempts = 1), (c.recovery.mend = false)));
      pair.own.answer = (q, res) => sse(res, w.opening(), w.piece("seven "), `event: error\ndata: ${JSON.stringify({ ...noise, code: "invalid_api_key", message: noise.error.message })}\n\n`).end();
      const s = await ask(own(d, w, [{ user: `${NEWEST} again` }]));
      clean(s);
      assert.match(s.text, /\[redacted\]/);
    },
  });
});

holds("a stranger's key in an error of a path that passes through reaches nobody", {
  config: (c) => ((c.providers = c.providers.filter((p) => p.name === "own")), (c.models = c.models.filter((m) => m.name === "m-own"))),
  async run(pair) {
    const FOREIGN = "gsk_AbCd1234EfGh5678IjKl", d = dialects.openai;
    const text = `{ "error" : { "message":"called with ${FOREIGN}\\u0021", "n": 1.0 } }\n`;
    pair.own.answer = (q, res) => res.writeHead(403, { "content-type": "application/json", "x-debug": FOREIGN, location: "/x" }).end(text);
    const r = await ask(pair, "/v1/files", { headers: d.headers });
    assert.equal(r.status, 403);
    assert.ok(!(JSON.stringify(r.raw) + r.text).includes(FOREIGN), r.text);
    assert.equal(r.text, '{ "error" : { "message":"called with [redacted]!", "n": 1.0 } }\n');
    pair.own.answer = (q, res) => res.writeHead(200, { "content-type": "application/json" }).end(text);
    assert.equal((await ask(pair, "/v1/files", { headers: d.headers })).text, text); // an answer is the client's
  },
});

/* ---- empty lists ---- */

both("openai", "empty lists of calls and of tools are left out when they are refused, and known from then on", {
  config: asError,
  async run(pair, ask) {
    const d = dialects.openai, messages = [{ role: "user", content: "hi" }, { role: "assistant", content: "Hello.", tool_calls: [] }, { role: "user", content: NEWEST }];
    for (const more of [{ messages }, { tools: [], messages: messages.slice(0, 1) }]) {
      const r = await ask({ more });
      assert.equal(r.status, 200, r.text);
      assert.equal(r.outcome, "recovered");
      assert.match(remedies(r), more.tools ? /lower_schema/ : /mend_messages/);
      assert.equal((await question(pair, d, { more })).headers["x-daruma-attempts"], "1", "it was refused once more");
    }
  },
});

/* ---- reasoning that one account can read ---- */

{
  const w = wires.responses, d = dialects.responses;
  const history = [w.user("go"), { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "thought-1" }], encrypted_content: "seal-1" }, { type: "function_call", call_id: "call_1", name: "look", arguments: "{}" }, ...w.history([{ result: "call_1", text: "seen" }]), w.user(NEWEST)];
  const asked = { model: d.own, more: { input: history, tools: w.tools(object), store: false, include: ["reasoning.encrypted_content"] } };
  const first = (q) => q.headers.authorization === "Bearer sk-one";
  for (const [why, status, after] of [["is asked to slow down for long", 429, "30"], ["has no credit left", 402, undefined]])
    both("responses", `where the account that can read the reasoning ${why}, another goes on without it`, {
      config: (c) => ((c.models.find((m) => m.name === d.own).targets = [target.responses]), asError(c)),
      async run(pair, ask) {
        const refused = { 429: ["Rate limit reached for requests", "rate_limit_exceeded"], 402: ["Insufficient credits", "insufficient_credits"] }[status];
        pair.own.answer = (q, res) => {
          if (first(q)) return res.writeHead(status, { "content-type": "application/json", ...(after && { "retry-after": after }) }).end(JSON.stringify({ error: { message: refused[0], type: "invalid_request_error", code: refused[1] } }));
          if (q.body.includes("seal-1")) return w.refuse(res, "The encrypted content seal-1 could not be verified.", { code: "invalid_encrypted_content" });
          reply(w, q, res, "elsewhere");
        };
        const began = Date.now(), r = await ask(asked);
        assert.ok(Date.now() - began < 4000, "it hung");
        assert.equal(r.said, "elsewhere", r.text);
        const there = pair.own.seen.filter((q) => !first(q));
        assert.equal(there.length, 1, "it was tried with the reasoning");
        assert.doesNotMatch(there[0].body.toString(), /seal-1|thought-1/);
        paired(w, body(there[0]));
        assert.ok(pair.events().some((e) => e.event === "request_converted" && /reasoning/.test(e.reason)), "nothing says so");
        const seen = pair.own.seen.length, again = Date.now(), next = await ask({ ...asked, more: { ...asked.more, input: [...history, w.assistant("well"), w.user("and now?")] } });
        assert.equal(next.said, "elsewhere", next.text);
        assert.ok(Date.now() - again < 4000, "it hung");
        assert.ok(pair.own.seen.slice(seen).every((q) => !first(q)), "an account that rests was asked");
      },
    });
  both("responses", "where the account that can read the reasoning rests for a moment, it is waited for", {
    config: (c) => ((c.models.find((m) => m.name === d.own).targets = [target.responses]), asError(c)),
    async run(pair, ask) {
      pair.own.answer = (q, res) => (q.n === 1 ? res.writeHead(429, { "content-type": "application/json", "retry-after": "1" }).end(JSON.stringify({ error: { message: "Rate limit reached for requests", type: "requests", code: "rate_limit_exceeded" } })) : reply(w, q, res, "here"));
      const r = await ask(asked);
      assert.equal(r.said, "here", r.text);
      assert.ok(pair.own.seen.every(first), "another account was asked");
      assert.match(pair.own.seen.at(-1).body.toString(), /seal-1/);
    },
  });
}
