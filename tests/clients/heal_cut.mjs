// Tool calls that were cut: whatever the answer says of its end, none reaches the agent as whole that was not whole. The
// model is asked again, and the client is told so. What is mended in place is told, too.
import assert from "node:assert/strict";
import { question } from "./net.mjs";
import { holds } from "./wire.mjs";
import { both, data, every, json, named, parsed, sse, streams, target, wires } from "./wires.mjs";

const file = { type: "object", properties: { path: { type: "string" }, content: { type: "string" }, mode: { type: "integer" }, sync: { type: "boolean" } }, required: ["path"] };
const meant = { path: "a.c", content: 'int main(void) { return 0; }\n/* "x": [1, 2] */', mode: 420, sync: true };
const text = JSON.stringify(meant);
const upTo = (s, more = 0) => text.slice(0, text.indexOf(s) + s.length + more);
const cuts = {
  "within a string": upTo("int main(void) { return 0"),
  "within an escape": upTo("return 0; }\\"),
  "within a string, behind a bracket": upTo("return 0; }"),
  "behind a quote of the string": upTo('/* \\"x\\"'),
  "within a number": upTo('"mode":42'),
  "behind a number": upTo('"mode":420'),
  "within a literal": upTo('"sync":tr'),
  "behind a comma": upTo('"path":"a.c",'),
  "behind a colon": upTo('"content":'),
  "within a name": upTo('"cont'),
  "behind a whole member": upTo('"path":"a.c"'),
  "behind its first bracket": "{",
};

// Why each dialect says that it stopped; the last ones are for what the output limit cut.
export const reasons = { openai: ["tool_calls", "stop", "function_call", "length"], anthropic: ["tool_use", "end_turn", "stop_sequence", "max_tokens"], responses: ["completed", "max_output_tokens"], gemini: ["STOP", "MAX_TOKENS"] };
export const limited = ["length", "max_tokens", "max_output_tokens", "MAX_TOKENS"];

// The end of a stream that called something.
const over = {
  openai: (w, reason) => w.chunk({}, reason) + "data: [DONE]\n\n",
  anthropic: (w, reason) => named({ type: "message_delta", delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: 2 } }) + named({ type: "message_stop" }),
  responses: (w, reason) => (reason === "completed" ? w.closingCalls() : w.closingLength()),
  gemini: (w, reason) => data({ candidates: [{ content: { parts: [{ text: "" }], role: "model" }, finishReason: reason, index: 0 }], usageMetadata: { promptTokenCount: 5 } }),
};
const geminiCall = (id, args) => data({ candidates: [{ content: { parts: [{ functionCall: { id, name: "look", args } }], role: "model" }, index: 0 }], usageMetadata: { promptTokenCount: 5 } });

// One call with these arguments, as text, in the way that was asked for; `said`: words in front of it.
export function calls(name, w, q, res, id, args, reason, said = "") {
  const finish = name === "responses" && reason === "completed" ? undefined : reason;
  if (!streams(q)) return w.answer(res, said, [[id, "look", args]], finish); // a text also where an object is expected
  const opening = w.opening(), before = said && w.piece(said); // one dialect counts its events
  const called = name === "gemini" ? geminiCall(id, args) : w.called(0, id, "look", args);
  return sse(res, opening, before, called, over[name](w, reason)).end();
}
const right = (name, w, q, res, id, said) => calls(name, w, q, res, id, streams(q) && name !== "gemini" ? text : w.toolArgs(meant), { openai: "tool_calls", anthropic: "tool_use", responses: "completed", gemini: "STOP" }[name], said);

// What the client is told: by the head, or behind the end of a stream whose head was out. Google's clients read no comments.
function told(name, r, outcome, remedies) {
  const comment = /^: daruma outcome=(\w+) attempts=\d+ (?:kind=\w+ )?remedies=([\w,]+) case=[0-9a-f]{16}$/.exec(r.events?.at(-1).raw ?? "");
  if (comment) assert.deepEqual(comment.slice(1), [outcome, remedies], r.text);
  else if (!r.events || name !== "gemini") assert.deepEqual([r.outcome, r.headers["x-daruma-remedies"]], [outcome, remedies], r.text);
}

every((name, d, w) => {
  const ask = () => ({ model: d.own, more: { tools: w.tools(file) } });

  for (const reason of reasons[name])
    both(name, `a call that was cut, with the stop reason ${reason}, is asked for again`, {
      limit: 40000,
      async run(pair, askOne) {
        let turn = 0, cut, said;
        pair.own.answer = (q, res) => (++turn === 1 ? calls(name, w, q, res, "call_1", cut, reason, said) : right(name, w, q, res, "call_2", said));
        for (const [where, args] of Object.entries(cuts))
          for (said of ["", "let me write that"]) {
            [turn, cut] = [0, args];
            const r = await askOne(ask());
            assert.deepEqual(parsed(w.calls(r)), [["call_2", "look", meant]], `${where}: ${r.text}`);
            assert.equal(turn, 2, where);
            told(name, r, "recovered", "ask_again");
            if (said) assert.equal(r.said.split(said).length, 2, r.text);
          }
        const repairs = pair.events().filter((e) => e.event === "output_repair");
        assert.equal(repairs.length, 2 * Object.keys(cuts).length);
        assert.ok(repairs.every((e) => e.remedy === "ask_again"));
        const again = pair.own.seen[1].body.toString();
        assert.match(again, limited.includes(reason) ? /cut off/ : /before they are complete/);
      },
    });

  both(name, "a call that stays cut never goes out", {
    async run(pair, askOne) {
      pair.own.answer = (q, res) => calls(name, w, q, res, `call_${q.n}`, cuts["within a string"], reasons[name][0], "let me");
      const r = await askOne(ask());
      assert.deepEqual(w.calls(r), [], r.text);
      assert.doesNotMatch(r.text, /int main/);
      assert.doesNotMatch(r.text, /apologise/);
    },
  });

  if (name !== "gemini") // whose calls are never cut
    both(name, "a call that the output cap cuts each time: the answer ends with what was said before, and says so", {
      async run(pair, askOne) {
        const reason = limited.find((r) => reasons[name].includes(r));
        for (const said of ["let me", ""]) {
          pair.own.answer = (q, res) => calls(name, w, q, res, `call_${q.n}`, cuts["within a string"], reason, said);
          const r = await askOne({ model: d.own, more: { tools: w.tools(file), ...w.capped(300) } });
          assert.deepEqual([r.status, w.calls(r), r.said ?? ""], [200, [], said], r.text);
          assert.doesNotMatch(r.text, /int main|"error":\{/);
          assert.match(r.text, new RegExp(`"(finish_reason|stop_reason|reason)":"${reason}"`));
          if (r.events) assert.ok(d.ended(r.events) && !d.failed(r.events), r.text);
          told(name, r, "degraded", "ask_again,keep_partial");
        }
        const given = pair.events().filter((e) => e.outcome === "degraded");
        assert.equal(given.length, 2);
        assert.match(given[0].reason, /output cap cut a tool call/);
      },
    });

  both(name, "a call that was mended is told, and keeps no member that its schema does not know", {
    async run(pair, askOne) {
      pair.own.answer = (q, res) => calls(name, w, q, res, "call_1", "{'path': 'a.c', 'mood': 'good', 'mode': '420',}", reasons[name][0]);
      const r = await askOne(ask());
      assert.deepEqual(parsed(w.calls(r)), [["call_1", "look", { path: "a.c", mode: 420 }]], r.text);
      assert.equal(pair.own.seen.length, 1);
      told(name, r, "recovered", "mend_answer");
      const repair = pair.events().find((e) => e.event === "output_repair");
      assert.equal(repair.remedy, "mend_answer");
      assert.match(repair.reason, /call to look were mended, and 1 member that its schema does not know left out/);
      assert.equal((await pair.status()).remedies.mend_answer, 1);
      assert.deepEqual(pair.events().map((e) => e.event), ["output_repair"]); // nothing failed
    },
  });

  if (name !== "gemini") // whose calls are objects
    for (const [what, args] of Object.entries({
      "stand in words": `do not write ${text}`,
      "stand in words and a fence": "Not this one:\n```json\n" + text + "\n```",
      "are two": '```json\n{"path":"a.c"}\n```\n```json\n{"path":"b.c"}\n```',
      "hold a path whose backslashes may be escapes": '{"path":"C:\\dir\\new"}',
    }))
      both(name, `arguments that ${what} are asked for again`, {
        async run(pair, askOne) {
          pair.own.answer = (q, res) => (q.n === 1 ? calls(name, w, q, res, "call_1", args, reasons[name][0]) : right(name, w, q, res, "call_2"));
          const r = await askOne(ask());
          assert.deepEqual(parsed(w.calls(r)), [["call_2", "look", meant]], r.text);
          told(name, r, "recovered", "ask_again");
        },
      });

  both(name, "a bracket is closed where no member can be missing", {
    async run(pair, askOne) {
      pair.own.answer = (q, res) => calls(name, w, q, res, "call_1", text.slice(0, -1), reasons[name][0]);
      const r = await askOne(ask());
      assert.deepEqual(parsed(w.calls(r)), [["call_1", "look", meant]], r.text);
      assert.equal(pair.own.seen.length, 1);
      told(name, r, "recovered", "mend_answer");
    },
  });

  for (const stream of [false, true]) {
    const how = stream ? " stream" : "";
    if (w.whole && (name === "gemini" || !stream))
      holds(`heal ${name}${how}: an object of arguments that the output limit ended is asked for again`, {
        async run(pair) {
          const half = { path: "a.c", content: "int main(void) { return 0" };
          pair.own.answer = (q, res) => {
            if (q.n > 1) return right(name, w, q, res, "call_2");
            if (!stream) return w.answer(res, "", [["call_1", "look", half]], w.filled);
            sse(res, geminiCall("call_1", half), over.gemini(w, "MAX_TOKENS")).end();
          };
          const r = await question(pair, d, { ...ask(), stream });
          assert.deepEqual(parsed(w.calls(r)), [["call_2", "look", meant]], r.text);
        },
      });

    if (w.whole && (name === "gemini" || !stream))
      holds(`heal ${name}${how}: an object that lacks no argument is whole, whatever ended the answer`, {
        async run(pair) {
          pair.own.answer = (q, res) => {
            if (!stream) return w.answer(res, "", [["call_1", "look", meant]], w.filled);
            sse(res, geminiCall("call_1", meant), over.gemini(w, "MAX_TOKENS")).end();
          };
          const r = await question(pair, d, { ...ask(), stream });
          assert.deepEqual(parsed(w.calls(r)), [["call_1", "look", meant]], r.text);
          assert.equal(pair.own.seen.length, 1);
          assert.deepEqual(pair.events(), []);
        },
      });

    holds(`heal ${name}${how}: a call without arguments goes out as it came`, {
      async run(pair) {
        const none = { openai: "{}", responses: "{}", anthropic: stream ? "" : {}, gemini: undefined }[name];
        pair.own.answer = (q, res) => calls(name, w, q, res, "call_1", none, reasons[name][0]);
        const r = await question(pair, d, { model: d.own, more: { tools: w.tools({ type: "object", properties: { path: { type: "string" } } }) }, stream });
        assert.deepEqual(w.calls(r).map(([id]) => id), ["call_1"], r.text);
        assert.equal(pair.own.seen.length, 1);
        assert.equal(r.outcome, "ok");
        assert.doesNotMatch(r.text, /: daruma/);
        assert.deepEqual(pair.events(), []);
      },
    });
  }

  holds(`heal ${name}: an answer that shall be JSON and was cut is asked for again, not completed`, {
    async run(pair) {
      let turn = 0, cut;
      pair.own.answer = (q, res) => w.answer(res, ++turn === 1 ? cut : text);
      for (const args of Object.values(cuts)) {
        [turn, cut] = [0, args];
        const r = await question(pair, d, { model: d.own, more: w.format({ ...file, additionalProperties: false }) });
        assert.equal(r.said, text, r.text);
        assert.equal(turn, 2);
        told(name, r, "recovered", "ask_again");
      }
    },
  });
});

/* ---- where the provider speaks another dialect ---- */

every((name, d, w) => {
  for (const [other, v] of Object.entries(wires)) {
    if (other === name) continue;
    both(name, `a call that ${other} cut is asked for again`, {
      config: (c) => (c.models.find((m) => m.name === d.own).targets = [target[other].replace(/\/.*/, "/there"), ...(name === "responses" ? ["own-responses/spare"] : [])]),
      async run(pair, askOne) {
        let turn = 0, cut;
        pair.own.answer = (q, res) => (++turn === 1 ? calls(other, v, q, res, "call_1", cut, reasons[other][0], "let me") : right(other, v, q, res, "call_2", "let me"));
        for (const where of ["within a string", "behind a number", "behind a whole member"]) {
          [turn, cut] = [0, cuts[where]];
          const r = await askOne({ model: d.own, more: { tools: w.tools(file) } });
          assert.deepEqual(w.calls(r).map(([, n, a]) => [n, JSON.parse(a)]), [["look", meant]], `${where}: ${r.text}`);
          assert.equal(turn, 2, where);
          told(name, r, "recovered", "ask_again");
        }
      },
    });
  }
});

/* ---- only what was done is told ---- */

every((name, d, w) => {
  const refuse = (res) => json(res, 400, { error: { message: "The frobnicator of this request is out of tune.", type: "error", code: 400, status: "FLIBBER" } });

  holds(`heal ${name}: an apology is told only when a model was asked for one`, {
    async run(pair) {
      pair.own.answer = (q, res) => refuse(res);
      const r = await question(pair, d, { model: d.own });
      assert.equal(r.status, 400, r.text);
      assert.equal(pair.own.seen.length, 1);
      assert.equal(r.headers["x-daruma-remedies"], "explain");
      pair.own.seen = [];
      pair.own.answer = (q, res) => (q.n === 1 ? refuse(res) : w.answer(res, "It was not to be."));
      const asked = await question(pair, d, { model: d.own, more: { tools: w.tools(file) } });
      assert.match(asked.said, /It was not to be/);
      assert.deepEqual([asked.outcome, asked.headers["x-daruma-remedies"]], ["explained", "apologise"]);
    },
  });
});
