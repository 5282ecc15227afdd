// Requests that are refused for what they are made of: schemas, messages, sizes, windows; and what nothing mends.
import assert from "node:assert/strict";
import { question } from "./net.mjs";
import { holds } from "./wire.mjs";
import { body, both, every, json, own, paired, reply, sse, tokens, whole } from "./wires.mjs";

const window = (d, n) => (c) => (c.models.find((m) => m.name === d.own).window = n);
const long = (n) => `HEAD-${n} ${"lorem ipsum dolor sit amet ".repeat(300)} TAIL-${n}`;
const results = (n) => [{ user: "find it" }, ...Array.from({ length: n }, (_, i) => [{ call: `call_${i}` }, { result: `call_${i}`, text: long(i) }]).flat()];

every((name, d, w) => {
  const refuses = (bad, words, more) => (q, res) => (bad(body(q)) ? w.refuse(res, words, more) : reply(w, q, res, "ok"));
  const remedies = (r, what) => assert.match(r.headers["x-daruma-remedies"] ?? "", what);

  /* ---- schemas ---- */

  both(name, `a keyword that the provider refuses in a tool's schema is lowered`, {
    async run(pair, ask) {
      const schema = { type: "object", properties: { city: { type: "string", pattern: "^[A-Z]", description: "a city" } }, required: ["city"] };
      pair.own.answer = refuses((b) => JSON.stringify(w.schemaOf(b)).includes('"pattern"'), w.refuseSchema("pattern"), { param: "tools[0].function.parameters", code: "invalid_function_parameters" });
      const r = await ask(own(d, w, [{ user: "go" }], { tools: w.tools(schema) }));
      assert.equal(r.said, "ok", r.text);
      assert.equal(pair.own.seen.length, 2);
      remedies(r, /lower_schema|mend_parameter/);
      assert.equal(w.schemaOf(body(pair.own.seen[1])).properties.city.description.startsWith("a city"), true);
    },
  });

  both(name, `a response format that is refused becomes a simpler one`, {
    async run(pair, ask) {
      pair.own.answer = (q, res) => {
        const kind = w.formatOf(body(q));
        if (kind === "text") reply(w, q, res, '{"city": "Oslo"}');
        else w.refuse(res, w.refuseFormat(kind), { param: name === "responses" ? "text.format" : "response_format" });
      };
      const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false };
      const format = w.format(schema);
      const r = await ask(own(d, w, [{ user: "where?" }], format));
      assert.equal(r.said, '{"city": "Oslo"}', r.text);
      const ladder = pair.own.seen.map((q) => w.formatOf(body(q)));
      assert.deepEqual(ladder, name === "anthropic" ? ["json_schema", "text"] : ["json_schema", "json_object", "text"]);
      assert.match(pair.own.seen.at(-1).body.toString(), /city/, "the model is not told what is wanted");
      const before = pair.own.seen.length;
      const next = await ask(own(d, w, [{ user: "and where now?" }], format));
      assert.equal(next.said, '{"city": "Oslo"}', next.text);
      assert.equal(pair.own.seen.length, before + 1, "it was not learned");
    },
  });

  /* ---- messages ---- */

  const empties = { openai: ["messages[1]: assistant message must not be empty: content or tool_calls must be set", { param: "messages[1].content" }], responses: ["Invalid 'input[1].content': the content must be non-empty.", { param: "input[1].content" }], anthropic: ["messages.1: all messages must have non-empty content except for the optional final assistant message", {}], gemini: ["Unable to submit request because it must include at least one parts field, which describes the prompt input.", {}] };
  both(name, `a message without content is mended`, {
    async run(pair, ask) {
      const [words, more] = empties[name];
      const empty = (b) => w.messages(b).some((m) => (name === "gemini" ? !m.parts.length || m.parts.every((p) => p.text === "") : m.content === ""));
      pair.own.answer = refuses(empty, words, more);
      const history = [w.user("hello"), w.assistant(""), w.user("still there?")];
      const r = await ask({ model: d.own, more: { [w.key]: history } });
      assert.equal(r.said, "ok", r.text);
      assert.equal(pair.own.seen.length, 2);
      remedies(r, /mend_messages/);
      const text = pair.own.seen[1].body.toString();
      assert.ok(text.includes("hello") && text.includes("still there?"));
    },
  });

  if (name !== "responses")
    both(name, `roles that do not alternate are mended`, {
      async run(pair, ask) {
        const role = (m) => m.role;
        const twice = (b) => w.messages(b).some((m, i, all) => i && role(m) === role(all[i - 1]));
        pair.own.answer = refuses(twice, name === "gemini" ? "Please ensure that multiturn requests alternate between user and model." : "messages: roles must alternate between \"user\" and \"assistant\", but found multiple \"user\" roles in a row");
        const r = await ask({ model: d.own, more: { [w.key]: [w.user("first words"), w.user("second words"), w.assistant("yes"), w.user("third words")] } });
        assert.equal(r.said, "ok", r.text);
        assert.equal(pair.own.seen.length, 2);
        for (const said of ["first words", "second words", "yes", "third words"]) assert.ok(pair.own.seen[1].body.includes(said), said);
      },
    });

  both(name, `a begun answer that the model does not take becomes a turn of the history`, {
    async run(pair, ask) {
      const last = (b) => ["assistant", "model"].includes(w.messages(b).at(-1).role);
      pair.own.answer = refuses(last, { openai: "The last message must be a user message: assistant prefill is not supported.", responses: "The last message must be a user message: assistant prefill is not supported.", anthropic: "This model does not support assistant message prefill. The conversation must end with a user message.", gemini: "Please ensure that multiturn requests alternate between user and model, and end with a user turn." }[name]);
      const r = await ask({ model: d.own, more: { [w.key]: [w.user("count"), w.assistant("one, two,")] } });
      assert.equal(r.said, "ok", r.text);
      assert.equal(pair.own.seen.length, 2);
      assert.ok(pair.own.seen[1].body.includes("one, two,"));
    },
  });

  const sealed = {
    anthropic: [{ role: "assistant", content: [{ type: "thinking", thinking: "hm hm", signature: "c3RhbGU=" }, { type: "text", text: "yes" }] }, (b) => b.messages.some((m) => Array.isArray(m.content) && m.content.some((p) => p.type === "thinking")), "messages.1.content.0: Invalid `signature` in `thinking` block", {}],
    gemini: [{ role: "model", parts: [{ text: "yes", thoughtSignature: "c3RhbGU=" }, { functionCall: { id: "call_1", name: "look", args: {} }, thoughtSignature: "c3RhbGU=" }] }, (b) => JSON.stringify(b).includes("c3RhbGU="), "Thought signature is not valid.", {}],
    responses: [{ type: "reasoning", id: "rs_1", summary: [], encrypted_content: "c3RhbGU=" }, (b) => b.input.some((i) => i.type === "reasoning"), "The encrypted content c3Rh... could not be verified.", { code: "invalid_encrypted_content", param: "input[1].encrypted_content" }],
  }[name];
  if (sealed)
    both(name, `thinking that is stale goes whole`, {
      async run(pair, ask) {
        const [turn, stale, words, more] = sealed;
        pair.own.answer = refuses(stale, words, more);
        const result = name === "gemini" ? [{ role: "user", parts: [{ functionResponse: { id: "call_1", name: "look", response: { output: "seen" } } }] }, w.assistant("I see")] : [];
        const history = [w.user("hello"), turn, ...(name === "responses" ? [w.assistant("yes")] : []), ...result, w.user("still there?")];
        const r = await ask({ model: d.own, more: { [w.key]: history } });
        assert.equal(r.said, "ok", r.text);
        assert.equal(pair.own.seen.length, 2);
        assert.ok(pair.own.seen[1].body.includes("yes"));
      },
    });

  /* ---- sizes ---- */

  both(name, `bodies that are too large are made so small that the next turns have room`, {
    async run(pair, ask) {
      const most = 60000;
      pair.own.answer = (q, res) => (q.body.length > most ? json(res, 413, { error: { message: `Request payload size exceeds the limit: ${most} bytes.`, type: "request_too_large", code: 413, status: "INVALID_ARGUMENT" } }) : reply(w, q, res, "ok"));
      const turns = [{ user: "find it" }];
      for (let i = 0; i < 24; i++) {
        turns.push({ call: `call_${i}` }, { result: `call_${i}`, text: `HEAD-${i} ${"lorem ipsum ".repeat(420)} TAIL-${i}` });
        const r = await ask({ model: d.own, more: { [w.key]: w.history(turns) } });
        assert.equal(r.said, "ok", r.text);
      }
      const refused = pair.own.seen.filter((q) => q.body.length > most).length;
      assert.ok(refused <= 4, `${refused} of 24 turns were too large`);
      assert.ok(pair.own.seen.at(-1).body.includes("lorem ipsum ".repeat(400)), "the newest output was shortened");
    },
  });

  both(name, `a body that is too large loses its oldest images first`, {
    async run(pair, ask) {
      const png = (n) => Buffer.from(String(n).repeat(30000)).toString("base64");
      const history = [w.image("the first", png(1)), w.assistant("seen"), w.image("the second", png(2)), w.assistant("seen"), w.image("the third", png(3))];
      const most = 100000;
      pair.own.answer = (q, res) => (q.body.length > most ? json(res, 413, { error: { message: `Request payload size exceeds the limit: ${most} bytes.`, type: "request_too_large", code: 413, status: "INVALID_ARGUMENT" } }) : reply(w, q, res, "ok"));
      const r = await ask({ model: d.own, more: { [w.key]: history } });
      assert.equal(r.said, "ok", r.text);
      assert.equal(pair.own.seen.length, 2);
      remedies(r, /shrink_request/);
      const sent = body(pair.own.seen[1]);
      assert.equal(w.images(sent), 2);
      for (const kept of ["the first", "the second", "the third", png(3), png(2)]) assert.ok(pair.own.seen[1].body.includes(kept), "something else went");
    },
  });

  for (const status of [400, 413])
    both(name, `a ${status} without a word means the window when the request nearly fills it`, {
      config: window(d, 14000),
      async run(pair, ask) {
        pair.own.answer = (q, res) => (tokens(q) > 8000 ? res.writeHead(status).end() : reply(w, q, res, "ok"));
        const r = await ask(own(d, w, results(6)));
        assert.equal(r.said, "ok", r.text);
        remedies(r, /mask_tool_output/);
        paired(w, body(pair.own.seen.at(-1)));
      },
    });

  for (const stream of [false, true]) {
    const how = stream ? " stream" : "";
    holds(`heal ${name}${how}: an answer cut off before its first word at a full window is an overflow`, {
      config: window(d, 14000),
      async run(pair) {
        pair.own.answer = (q, res) => {
          if (tokens(q) <= 8000) return stream ? sse(res, w.opening(), w.piece("ok"), w.closing()).end() : w.answer(res, "ok");
          if (stream) sse(res, w.opening(), w.closingLength(13990)).end();
          else w.answer(res, "", [], w.filled, 13990);
        };
        const r = await question(pair, d, { ...own(d, w, results(6)), stream });
        assert.equal(r.said, "ok", r.text);
        if (stream) assert.ok(d.ended(r.events), r.text);
        const first = pair.own.seen[0].body.length;
        assert.ok(pair.own.seen.at(-1).body.length < first * 0.7, "nothing was shortened");
        paired(w, body(pair.own.seen.at(-1)));
      },
    });

    holds(`heal ${name}${how}: more input than fits that was taken without a word is an overflow`, {
      config: window(d, 9000),
      async run(pair) {
        pair.own.answer = (q, res) => {
          const fits = tokens(q) <= 8000;
          if (stream) sse(res, w.opening(), fits ? w.piece("ok") : "", fits ? w.closing() : w.closingLength(14000)).end();
          else w.answer(res, fits ? "ok" : "I have forgotten the beginning", [], fits ? undefined : w.filled, fits ? 5 : 14000);
        };
        const r = await question(pair, d, { ...own(d, w, results(6)), stream });
        assert.equal(r.said, "ok", r.text);
        paired(w, body(pair.own.seen.at(-1)));
      },
    });

    /* ---- what nothing mends ---- */

    const strange = (q, res, ask) => (ask(q.body.toString()) ? w.answer(res, "I am sorry: the request was refused. Please ask me in another way.") : w.refuse(res, "The frobnicator of this request is out of tune.", { type: "invalid_request_error" }));
    const isApology = (text) => /you are sorry/.test(text) && !text.includes("tune the piano");
    holds(`heal ${name}${how}: for another 400 the model itself says what can be done`, {
      config: (c) => (c.recovery.on_failure = "message"),
      async run(pair) {
        pair.own.answer = (q, res) => strange(q, res, isApology);
        const r = await question(pair, d, { ...own(d, w, [{ user: "tune the piano" }]), stream });
        assert.match(r.said, /I am sorry: the request was refused/, r.text);
        if (stream) assert.ok(d.ended(r.events), r.text);
        assert.equal(r.outcome, "explained");
        assert.equal(pair.own.seen.length, 2);
        const asked = pair.own.seen[1].body.toString();
        assert.match(asked, /out of tune/, "the model is not told what happened");
      },
    });
    holds(`heal ${name}${how}: without side calls the explanation is the fixed one`, {
      config: (c) => ((c.recovery.on_failure = "message"), (c.recovery.side_calls = false)),
      async run(pair) {
        pair.own.answer = (q, res) => strange(q, res, isApology);
        const r = await question(pair, d, { ...own(d, w, [{ user: "tune the piano" }]), stream });
        assert.match(r.said, /^\[daruma\] /, r.text);
        assert.equal(pair.own.seen.length, 1);
      },
    });
  }

  /* ---- history ---- */

  both(name, `with orphans: prune a call without result goes, and the model is told`, {
    config: (c) => (c.recovery.orphans = "prune"),
    async run(pair, ask) {
      pair.own.answer = (q, res) => (whole(w, body(q)) ? reply(w, q, res, "ok") : w.refuse(res, w.orphan));
      const r = await ask(own(d, w, [{ user: "go" }, { call: "call_a" }, { user: "still there?" }]));
      assert.equal(r.said, "ok", r.text);
      assert.equal(pair.own.seen.length, 2);
      const sent = body(pair.own.seen[1]);
      assert.deepEqual([w.callIds(sent), w.resultIds(sent)], [[], []]);
      assert.ok(JSON.stringify(sent).includes("still there?"));
    },
  });

  if (name === "responses")
    holds("heal responses: a stream that another answer went on with is gone on from by the id that its client has", {
      async run(pair) {
        const named = (chunk, id) => chunk.replaceAll("resp_1", id);
        const kept = ["resp_rest"]; // the provider keeps what it completed
        pair.own.answer = (q, res) => {
          const was = body(q).previous_response_id;
          if (was && !kept.includes(was)) return w.refuse(res, `Previous response with id '${was}' not found.`, { param: "previous_response_id", code: "previous_response_not_found" });
          if (was) return w.answer(res, "yes, still");
          const id = q.n === 1 ? "resp_cut" : "resp_rest", opening = named(w.opening(), id);
          if (q.n > 1) return sse(res, opening, w.piece("seven eight, and so on"), named(w.closing(), id)).end();
          sse(res, opening, w.piece("seven eight"));
          setTimeout(() => res.destroy(), 50);
        };
        const first = await question(pair, d, { stream: true, model: d.own });
        assert.equal(first.said, "seven eight, and so on", first.text);
        assert.doesNotMatch(first.text, /resp_rest/);
        for (const turn of [1, 2]) {
          const next = await question(pair, d, { model: d.own, text: "still there?", more: { previous_response_id: "resp_cut" } });
          assert.equal(next.said, "yes, still", next.text);
          assert.equal(pair.own.seen.length, 2 + turn);
          assert.equal(body(pair.own.seen.at(-1)).previous_response_id, "resp_rest");
          assert.equal(next.headers["x-daruma-remedies"], "mend_parameter");
        }
        assert.equal(pair.events().filter((e) => e.event === "known_mendings_applied" && /previous_response_id/.test(e.reason)).length, 2);
      },
    });

  if (name === "responses")
    holds("heal responses: what refers to a stored answer goes to the account that made it, and only there", {
      async run(pair) {
        const key = (q) => q.headers.authorization;
        pair.own.answer = (q, res) => {
          const was = body(q).previous_response_id;
          if (q.n === 1) return json(res, 429, { error: { message: "Rate limit reached", type: "requests", code: "rate_limit_exceeded" } });
          if (was && key(q) !== key(pair.own.seen[1])) return w.refuse(res, `Previous response with id '${was}' not found.`, { param: "previous_response_id", code: "previous_response_not_found" });
          w.answer(res, was ? "yes, still" : "hello");
        };
        const first = await question(pair, d, { model: d.own });
        assert.equal(first.said, "hello", first.text);
        assert.notEqual(key(pair.own.seen[0]), key(pair.own.seen[1]));
        const next = await question(pair, d, { model: d.own, text: "still there?", more: { previous_response_id: first.json.id } });
        assert.equal(next.said, "yes, still", next.text);
        assert.equal(pair.own.seen.length, 3);
      },
    });
});

