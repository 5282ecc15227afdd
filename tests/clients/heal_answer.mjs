// Answers that came back broken: tool calls are mended where only one reading is possible, else the model is asked again.
import assert from "node:assert/strict";
import { question } from "./net.mjs";
import { holds } from "./wire.mjs";
import { body, data, dialects, every, json, object, paired, parsed, sse, wires } from "./wires.mjs";

every((name, d, w) => {
  /* ---- the answer ---- */

  const broken = { "a trailing comma": '{"city": "Oslo", "days": 3,}', "single quotes": "{'city': 'Oslo', 'days': 3}", "a fence": '```json\n{"city": "Oslo", "days": 3}\n```', "a number in a string": '{"city": "Oslo", "days": "3"}' };
  const good = { city: "Oslo", days: 3 };
  const withTool = (more = {}) => ({ model: d.own, more: { tools: w.tools(object), ...more } });

  for (const [what, args] of Object.entries(broken)) {
    if (w.whole && what !== "a number in a string") continue; // whole answers carry objects there
    holds(`heal ${name}: tool arguments with ${what} are mended`, {
      async run(pair) {
        pair.own.answer = (q, res) => w.answer(res, "", [["call_1", "look", w.whole ? JSON.parse(args) : args]]);
        const r = await question(pair, d, withTool());
        assert.deepEqual(parsed(w.calls(r)), [["call_1", "look", good]], r.text);
        assert.equal(pair.own.seen.length, 1);
      },
    });
  }
  for (const [what, args] of Object.entries(broken)) {
    if (name === "gemini" && what !== "a number in a string") continue; // calls are objects in its streams, too
    holds(`heal ${name} stream: tool arguments with ${what} are mended`, {
      async run(pair) {
        pair.own.answer = (q, res) => sse(res, w.opening(), w.piece("looking"), w.called(0, "call_1", "look", args), w.closingCalls()).end();
        const r = await question(pair, d, { ...withTool(), stream: true });
        assert.equal(r.said, "looking");
        assert.deepEqual(parsed(w.calls(r)), [["call_1", "look", good]], r.text);
        assert.ok(d.ended(r.events), r.text);
        assert.equal(pair.own.seen.length, 1);
      },
    });
  }

  holds(`heal ${name} stream: text is not held, though calls would be`, {
    async run(pair) {
      const words = ["one ", "two ", "three ", "four"];
      let heard = "", more = () => {};
      pair.own.answer = async (q, res) => {
        sse(res, w.opening());
        for (const t of words) {
          res.write(w.piece(t));
          while (!heard.includes(t.trim())) await new Promise((ok) => (more = ok)); // no next word before this one arrived
        }
        res.end(w.closing());
      };
      const r = await question(pair, d, { ...withTool(), stream: true, onData: (soFar) => ((heard = soFar), more()) });
      assert.equal(r.said, words.join(""));
      assert.equal(pair.own.seen.length, 1);
    },
  });

  holds(`heal ${name} stream: good calls go out byte for byte`, {
    async run(pair) {
      const all = w.opening() + w.piece("looking") + w.called(0, "call_1", "look", '{"city": "Oslo"}') + w.called(1, "call_2", "look", '{"city": "Bergen"}') + w.closingCalls();
      pair.own.answer = (q, res) => sse(res, all).end();
      const r = await question(pair, d, { ...withTool(), stream: true });
      assert.equal(r.text, all);
      assert.equal(r.outcome, "ok");
    },
  });

  for (const stream of [false, true])
    holds(`heal ${name}${stream ? " stream" : ""}: a tool that does not exist is asked for again, with what is wrong`, {
      async run(pair) {
        const say = (res, n) => (stream ? sse(res, w.opening(), w.called(0, `call_${n}`, n === 1 ? "lock_the_door" : "look", '{"city": "Oslo"}'), w.closingCalls()).end() : w.answer(res, "", [[`call_${n}`, n === 1 ? "lock_the_door" : "look", w.toolArgs({ city: "Oslo" })]]));
        pair.own.answer = (q, res) => say(res, q.n);
        const r = await question(pair, d, { ...withTool(), stream });
        assert.equal(pair.own.seen.length, 2, r.text);
        assert.deepEqual(w.calls(r).map(([id, n]) => [id, n]), [["call_2", "look"]], r.text);
        const again = pair.own.seen[1].body.toString();
        assert.match(again, /lock_the_door/);
        if (!stream) assert.equal(r.headers["x-daruma-remedies"], "ask_again"); // a stream's head was out before
        assert.ok(pair.events().some((e) => e.event === "output_repair"), "no event told of it");
        paired(w, body(pair.own.seen[1]));
      },
    });
});

/* ---- nothing, too little, too late ---- */

every((name, d, w) => {
  const withTool = (more = {}) => ({ model: d.own, more: { tools: w.tools(object), ...more } });
  const good = { city: "Oslo" };
  const looks = (res, stream, id, args, ...before) => (stream ? sse(res, w.opening(), ...before.map((t) => w.piece(t)), w.called(0, id, "look", JSON.stringify(args)), w.closingCalls()).end() : w.answer(res, before.join(""), [[id, "look", w.toolArgs(args)]]));

  const nothing = {
    openai: { "no choices": { choices: [] }, "an empty message": { choices: [{ index: 0, message: { role: "assistant", content: "" }, finish_reason: "stop" }] } },
    anthropic: { "no content": { content: [], stop_reason: "end_turn" } },
    responses: { "no output": { output: [], status: "completed" }, "an empty message": { status: "completed", output: [{ id: "m", type: "message", role: "assistant", status: "completed", content: [] }] } },
    gemini: { "no candidates": { candidates: [] }, "a candidate without parts": { candidates: [{ content: { role: "model" }, finishReason: "STOP", index: 0 }] } },
  }[name];
  const shell = { openai: { id: "x", object: "chat.completion", created: 1, model: "m-own" }, anthropic: { id: "x", type: "message", role: "assistant", model: "c-own", stop_sequence: null, usage: { input_tokens: 5, output_tokens: 0 } }, responses: { id: "x", object: "response", created_at: 1, model: "m-own" }, gemini: { modelVersion: "g-own", usageMetadata: { promptTokenCount: 5 } } }[name];
  for (const [what, part] of Object.entries(nothing))
    holds(`heal ${name}: an answer with ${what} is asked for again`, {
      async run(pair) {
        pair.own.answer = (q, res) => (q.n === 1 ? json(res, 200, { ...shell, ...part }) : w.answer(res, "here I am"));
        const r = await question(pair, d, { model: d.own });
        assert.equal(r.said, "here I am", r.text);
        assert.equal(r.outcome, "recovered");
        assert.equal(pair.own.seen.length, 2);
      },
    });

  holds(`heal ${name} stream: a stream that says nothing is asked for again`, {
    async run(pair) {
      pair.own.answer = (q, res) => (q.n === 1 ? sse(res, w.opening(), w.closing()).end() : sse(res, w.opening(), w.piece("here I am"), w.closing()).end());
      const r = await question(pair, d, { model: d.own, stream: true });
      assert.equal(r.said, "here I am", r.text);
      assert.ok(d.ended(r.events), r.text);
      assert.equal(pair.own.seen.length, 2);
    },
  });

  for (const stream of [false, true]) {
    const how = stream ? " stream" : "";
    holds(`heal ${name}${how}: arguments that lack what the tool requires are asked for again, with what is missing`, {
      async run(pair) {
        pair.own.answer = (q, res) => looks(res, stream, `call_${q.n}`, q.n === 1 ? { days: 3 } : good);
        const r = await question(pair, d, { ...withTool(), stream });
        assert.deepEqual(parsed(w.calls(r)), [["call_2", "look", good]], r.text);
        if (stream) assert.ok(d.ended(r.events), r.text);
        assert.equal(pair.own.seen.length, 2);
        assert.match(pair.own.seen[1].body.toString(), /city/);
        paired(w, body(pair.own.seen[1]));
      },
    });

    holds(`heal ${name}${how}: a call that stays wrong is asked for a few times, and then goes out as it came`, {
      async run(pair) {
        pair.own.answer = (q, res) => looks(res, stream, `call_${q.n}`, { days: 3 });
        const r = await question(pair, d, { ...withTool(), stream });
        assert.ok(pair.own.seen.length <= 5, `${pair.own.seen.length} calls`);
        assert.deepEqual(parsed(w.calls(r)).map(([, tool, args]) => [tool, args]), [["look", { days: 3 }]], r.text); // whose agent tells the model what is wrong
        assert.ok(!stream || (d.ended(r.events) && !d.failed(r.events)), r.text);
        assert.ok(pair.events().some((e) => e.outcome === "degraded" && /goes out as it came/.test(e.reason)));
      },
    });

    if (name === "gemini") continue; // its calls come whole
    holds(`heal ${name}${how}: a call that the output limit cut is never mended, but asked for again`, {
      async run(pair) {
        const cut = '{"city": "Os';
        pair.own.answer = (q, res) => {
          if (q.n > 1) return looks(res, stream, `call_${q.n}`, good);
          if (!stream) return w.answer(res, "", [["call_1", "look", w.whole ? { city: undefined } : cut]], w.filled);
          const length = w.closingLength();
          sse(res, w.opening(), w.called(0, "call_1", "look", cut), name === "anthropic" ? length.slice(length.indexOf("event: message_delta")) : length).end();
        };
        const r = await question(pair, d, { ...withTool(), stream });
        assert.deepEqual(parsed(w.calls(r)), [["call_2", "look", good]], r.text);
        assert.equal(pair.own.seen.length, 2);
      },
    });
  }

  holds(`heal ${name} stream: a broken call behind text that went out comes once and right`, {
    async run(pair) {
      pair.own.answer = (q, res) => (q.n === 1 ? looks(res, true, "call_1", { days: 3 }, "let me ", "look") : looks(res, true, "call_2", good, "let me look again"));
      const r = await question(pair, d, { ...withTool(), stream: true });
      assert.deepEqual(parsed(w.calls(r)), [["call_2", "look", good]], r.text);
      assert.ok(r.said.startsWith("let me look"), r.said);
      assert.equal(r.said.split("let me look").length - 1, 1, r.said);
      assert.ok(d.ended(r.events), r.text);
      assert.ok(!d.failed(r.events), r.text);
    },
  });
});

for (const stream of [false, true])
  holds(`heal gemini${stream ? " stream" : ""}: a signed call that is no object is not changed, and not passed on either`, {
    async run(pair) {
      const d = dialects.gemini, w = wires.gemini;
      pair.own.answer = (q, res) => {
        const again = pair.own.seen.length > 1, call = { functionCall: { name: "look", args: again ? { city: "Oslo", days: 3 } : '{"city": "Oslo", "days": 3,}' }, thoughtSignature: again ? "bmV3" : "b2xk" };
        const answer = { candidates: [{ content: { role: "model", parts: [call] }, finishReason: "STOP" }], usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 } };
        if (again) assert.match(String(q.body), /call look with: \{.*\\"days\\": ?3\}/);
        stream ? sse(res, data(answer)).end() : json(res, 200, answer);
      };
      const r = await question(pair, d, { model: d.own, more: { tools: w.tools(object) }, stream });
      assert.deepEqual(parsed(w.calls(r)).map(([, n, a]) => [n, a]), [["look", { city: "Oslo", days: 3 }]], r.text);
      assert.ok(r.text.includes("bmV3") && !r.text.includes("b2xk"), r.text);
      assert.equal(pair.own.seen.length, 2);
    },
  });

holds("heal stream: while calls are held the client hears that it waits, in every dialect", {
  limit: 30000,
  config: (c) => (c.timeouts = { connect: "2s", first_byte: "20s", idle: "20s", total: "30s" }),
  async run(pair) {
    const say = { "/v1/chat/completions": "openai", "/v1/messages": "anthropic", "/v1/responses": "responses" };
    pair.own.answer = (q, res) => {
      const w = wires[say[q.url] ?? "gemini"];
      const first = w.opening() + w.piece("looking"), call = w.called(0, "call_1", "look", '{"city": "Oslo"}'), end = w.closingCalls();
      sse(res, first, call);
      setTimeout(() => res.end(end), 11000);
    };
    await Promise.all(
      Object.entries(dialects).map(async ([name, d]) => {
        const w = wires[name];
        const r = await question(pair, d, { model: d.own, more: { tools: w.tools(object) }, stream: true });
        assert.equal(r.said, "looking");
        assert.deepEqual(parsed(w.calls(r)), [["call_1", "look", { city: "Oslo" }]], `${name}: ${r.text}`);
        assert.ok(r.events.some((e) => d.beat.test(e.raw)), `${name} heard nothing: ${r.text}`);
        assert.ok(d.ended(r.events), r.text);
      }),
    );
  },
});
