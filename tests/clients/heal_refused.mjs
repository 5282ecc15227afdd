// More forms of requests that are refused: parameters one after the other, blocks that nobody knows, bodies without an
// image to leave out, histories that are wrong in other ways; and what is mended once and refused again.
import assert from "node:assert/strict";
import { names, until } from "./net.mjs";
import { batch, body, both, every, json, own, paired, reply, whole } from "./wires.mjs";

const refusals = {
  openai: {
    drop: ["Unrecognized request argument supplied: frobnicate", { param: "frobnicate", code: "unknown_parameter" }],
    high: ["Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead.", { param: "temperature", code: "decimal_above_max_value" }],
    block: [{ type: "frob", frob: { n: 1 } }, "Invalid value: 'frob'. Supported values are: 'text', 'image_url', 'input_audio', 'refusal', 'audio', and 'file'.", { param: "messages[0].content[1].type", code: "invalid_value" }],
  },
  responses: {
    drop: ["Unknown parameter: 'frobnicate'.", { param: "frobnicate", code: "unknown_parameter" }],
    high: ["Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead.", { param: "temperature", code: "decimal_above_max_value" }],
    block: [{ type: "frob", frob: { n: 1 } }, "Invalid value: 'frob'. Supported values are: 'input_text', 'input_image', 'output_text', 'refusal', 'input_file', 'computer_screenshot', and 'summary_text'.", { param: "input[0].content[1].type", code: "invalid_value" }],
  },
  anthropic: {
    drop: ["frobnicate: Extra inputs are not permitted"],
    high: ["temperature: range: 0..1"],
    block: [{ type: "frob", frob: { n: 1 } }, "messages.0.content.1: Input tag 'frob' found using 'type' does not match any of the expected tags: 'document', 'image', 'redacted_thinking', 'text', 'thinking', 'tool_result', 'tool_use'"],
  },
  gemini: {
    drop: ['Invalid JSON payload received. Unknown name "frobnicate" at \'generation_config\': Cannot find field.'],
    high: ["Unable to submit request because it has a temperature value of 3 but the supported range is from 0 (inclusive) to 2.0001 (exclusive). Update the value and try again."],
    block: [{ frob: { n: 1 } }, 'Invalid JSON payload received. Unknown name "frob" at \'contents[0].parts[1]\': Cannot find field.'],
  },
};

every((name, d, w) => {
  const { drop, high, block } = refusals[name];
  const settings = (more) => (name === "gemini" ? { generationConfig: more } : more);
  const set = (b) => (name === "gemini" ? b.generationConfig ?? {} : b);
  const hello = (more) => own(d, w, [{ user: "hello" }], more);

  /* ---- parameters ---- */

  both(name, "two parameters are refused one after the other, each as it is meant", {
    async run(pair, ask) {
      pair.own.answer = (q, res) => {
        const b = set(body(q));
        if ("frobnicate" in b) w.refuse(res, ...drop);
        else if (b.temperature > 2) w.refuse(res, ...high);
        else reply(w, q, res, "ok");
      };
      const more = settings({ frobnicate: 7, temperature: 3, ...(name === "gemini" ? { topP: 0.5 } : { top_p: 0.5 }) });
      const r = await ask(hello(more));
      assert.equal(r.said, "ok", r.text);
      assert.equal(pair.own.seen.length, 3);
      const sent = set(body(pair.own.seen.at(-1)));
      assert.equal(sent.frobnicate, undefined);
      assert.ok(sent.temperature <= 2, `the temperature is ${sent.temperature}`);
      assert.equal(sent.topP ?? sent.top_p, 0.5, "what nobody named was touched");
      const again = await ask(hello(more));
      assert.equal(again.said, "ok", again.text);
      assert.equal(pair.own.seen.length, 4, "it was not learned");
      assert.ok(pair.events().some((e) => e.event === "known_mendings_applied"));
    },
  });

  both(name, "more parameters are refused than one request may mend: the next one begins further on", {
    config: (c) => (c.recovery.on_failure = "error"),
    async run(pair, ask) {
      const knobs = [..."abcdefghijkl"].map((c) => `knob_${c}`);
      const words = (knob) => JSON.parse(JSON.stringify(drop).replaceAll("frobnicate", knob));
      pair.own.answer = (q, res) => {
        const bad = knobs.find((k) => k in set(body(q)));
        if (bad) w.refuse(res, ...words(bad));
        else reply(w, q, res, "ok");
      };
      const question = hello(settings(Object.fromEntries(knobs.map((k) => [k, 7]))));
      const first = await ask(question);
      assert.equal(first.status, 400, first.text);
      assert.equal(pair.own.seen.length, 9);
      assert.ok(d.error(first.json).message.includes("knob_i"), first.text);
      const second = await ask(question);
      assert.equal(second.said, "ok", second.text);
      assert.equal(pair.own.seen.length, 14, "what was mended before the end was not learned");
      const third = await ask(question);
      assert.equal(third.said, "ok", third.text);
      assert.equal(pair.own.seen.length, 15);
    },
  });

  both(name, "keywords of a schema are refused one after the other, and learned", {
    async run(pair, ask) {
      const keywords = { pattern: "^a", minLength: 1, maxLength: 9, multipleOf: 2, uniqueItems: true };
      pair.own.answer = (q, res) => {
        const bad = Object.keys(keywords).find((k) => JSON.stringify(w.schemaOf(body(q))).includes(`"${k}"`));
        if (bad) w.refuse(res, w.refuseSchema(bad), { param: "tools[0].function.parameters", code: "invalid_function_parameters" });
        else reply(w, q, res, "ok");
      };
      const properties = Object.fromEntries(Object.entries(keywords).map(([k, v], i) => [`p${i}`, { type: ["string", "string", "string", "integer", "array"][i], ...(i === 4 && { items: { type: "string" } }), [k]: v, description: `number ${i}` }]));
      const question = hello({ tools: w.tools({ type: "object", properties }) });
      const r = await ask(question);
      assert.equal(r.said, "ok", r.text);
      assert.equal(pair.own.seen.length, 6);
      for (const i of [0, 1, 2, 3, 4]) assert.ok(pair.own.seen[5].body.includes(`number ${i}`), "more than the keyword went");
      const again = await ask(question);
      assert.equal(again.said, "ok", again.text);
      assert.equal(pair.own.seen.length, 7, "it was not learned");
    },
  });

  both(name, "a parameter that is refused again and again ends, and the error is told", {
    config: (c) => (c.recovery.on_failure = "error"),
    async run(pair, ask) {
      pair.own.answer = (q, res) => w.refuse(res, ...high);
      const r = await ask(hello(settings({ temperature: 3 })));
      assert.equal(r.status, 400, r.text);
      assert.ok(pair.own.seen.length <= 5, `${pair.own.seen.length} calls`);
      assert.equal(d.error(r.json).message, high[0]);
    },
  });

  /* ---- messages ---- */

  both(name, "a block that the provider does not know goes, and what stands beside it stays", {
    async run(pair, ask) {
      const [what, ...words] = block;
      pair.own.answer = (q, res) => (q.body.includes('"frob"') ? w.refuse(res, ...words) : reply(w, q, res, "ok"));
      const first = w.image("look at this", "iVBORw0KGgo=");
      (first.parts ?? first.content)[1] = what;
      const r = await ask({ model: d.own, more: { [w.key]: [first, w.assistant("yes"), w.user("still there?")] } });
      assert.equal(r.said, "ok", r.text);
      assert.equal(pair.own.seen.length, 2);
      for (const said of ["look at this", "yes", "still there?"]) assert.ok(pair.own.seen[1].body.includes(said), said);
    },
  });

  /* ---- sizes ---- */

  both(name, "a body that is too large and has no images loses its largest tool output first", {
    async run(pair, ask) {
      const lorem = (n, k) => `HEAD-${n} ${"lorem ipsum dolor sit amet ".repeat(k)} TAIL-${n}`;
      const turns = [{ user: "go" }, ...[[0, 100], [1, 4000], [2, 100]].flatMap(([i, k]) => [{ call: `call_${i}` }, { result: `call_${i}`, text: lorem(i, k) }]), { text: "done" }, { user: "and now?" }];
      pair.own.answer = (q, res) => (q.body.length > 60000 ? json(res, 413, { error: { message: "Request exceeds the maximum size", type: "request_too_large", code: 413, status: "INVALID_ARGUMENT" } }) : reply(w, q, res, "ok"));
      const r = await ask(own(d, w, turns));
      assert.equal(r.said, "ok", r.text);
      const sent = pair.own.seen.at(-1).body;
      for (const kept of ["HEAD-1", "TAIL-1", lorem(0, 100), lorem(2, 100), "and now?"]) assert.ok(sent.includes(kept), `${kept.slice(0, 20)} is lost`);
      paired(w, body(pair.own.seen.at(-1)));
      assert.ok(pair.events().some((e) => e.event === "trajectory_compressed"));
    },
  });

  /* ---- histories ---- */

  const last = [w.user("still there?")];
  const flaws = {
    "one of two calls at once has its result": [w.user("go"), ...batch(name, [["call_a", "here it is"], ["call_b", "gone"]]).map((m) => without(m, "call_b")).filter(Boolean), ...last],
    "a result stands there twice": [w.user("go"), ...w.history([{ call: "call_a" }, { result: "call_a", text: "here it is" }, { result: "call_a", text: "here it is" }]), ...last],
    "a result comes behind the user's next words": [w.user("go"), ...w.history([{ call: "call_a" }]), w.user("well?"), ...w.history([{ result: "call_a", text: "here it is" }]), ...last],
  };
  // A message without the result of that call; null when nothing is left of it.
  function without(m, id) {
    if (m.tool_call_id === id || (m.type === "function_call_output" && m.call_id === id)) return null;
    const list = m.parts ? "parts" : Array.isArray(m.content) ? "content" : null;
    return list ? { ...m, [list]: m[list].filter((p) => p.tool_use_id !== id && p.functionResponse?.id !== id) } : m;
  }
  const ordered = (b) => {
    const text = JSON.stringify(b);
    return whole(w, b) && !/well\?.*here it is/.test(text);
  };
  for (const [what, history] of Object.entries(flaws)) {
    if (name === "responses" && what.startsWith("a result comes")) continue; // its items stand in any order
    both(name, `${what}: it is mended`, {
      async run(pair, ask) {
        pair.own.answer = (q, res) => (ordered(body(q)) ? reply(w, q, res, "ok") : w.refuse(res, w.orphan));
        const r = await ask({ model: d.own, more: { [w.key]: history } });
        assert.equal(r.said, "ok", r.text);
        assert.equal(pair.own.seen.length, 2);
        for (const said of ["go", "here it is", "still there?"]) assert.ok(pair.own.seen[1].body.includes(said), said);
        const told = "llm_request_failed error_recovery_attempt history_repaired llm_retry_attempt error_recovery_success";
        await until(told, () => names(pair.events()) === told);
      },
    });
  }

  both(name, "a history that is refused again when it is whole costs no third call", {
    config: (c) => (c.recovery.on_failure = "error"),
    async run(pair, ask) {
      pair.own.answer = (q, res) => w.refuse(res, w.orphan);
      const r = await ask(own(d, w, [{ user: "go" }, { call: "call_a" }, { user: "still there?" }]));
      assert.equal(r.status, 400, r.text);
      assert.equal(pair.own.seen.length, 2);
      assert.equal(d.error(r.json).message, w.orphan);
      await until("it is told", () => names(pair.events()) === "llm_request_failed error_recovery_attempt history_repaired llm_retry_attempt llm_request_failed llm_retry_exhausted error_recovery_failed");
    },
  });

  both(name, "a history that is whole is not touched, whatever the provider says", {
    config: (c) => (c.recovery.on_failure = "error"),
    async run(pair, ask) {
      pair.own.answer = (q, res) => w.refuse(res, w.orphan);
      const r = await ask(own(d, w, [{ user: "go" }, { call: "call_a" }, { result: "call_a", text: "here" }, { user: "still there?" }]));
      assert.equal(r.status, 400, r.text);
      assert.equal(pair.own.seen.length, 1);
    },
  });
});
