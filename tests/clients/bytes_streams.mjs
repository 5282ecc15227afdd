// Streams against the limits: what is held before its first content, one event, text that is kept for joining, calls
// that are held, continuations. As they come, and written anew for another dialect.
import assert from "node:assert/strict";
import { around, askFor, dialects, fetchAll, filling, found, give, judgedStream, limits, meets, okCount, patient } from "./bytes_kit.mjs";
import { pathOf } from "./net.mjs";
import { body, wires } from "./wires.mjs";

const stream = { headers: { "content-type": "text/event-stream" } };
const say = (n) => filling(n).toString("latin1");
// Who asks, and how the provider that is asked speaks.
const ways = [["as it comes", dialects.openai], ["written anew", dialects.anthropic]];
// For a client of Responses, a provider that speaks Chat Completions is one of its own.
const others = [["written anew", dialects.responses], ["written anew", dialects.gemini]];
const claude = { as: others, model: dialects.anthropic.own };
const W = wires.openai;
const pieces = (text, w = W) => w.opening() + (text.match(/[^]{1,50000}/g) ?? []).map((t) => w.piece(t)).join("") + w.closing();
// How the bytes of a stream come.
const comings = [["at once", { framing: "chunked", piece: 1 << 20 }], ["in pieces of 1,000", { framing: "chunked", piece: 1000 }], ["slowly, with a length", { framing: "length", piece: 60000, slow: true }]];

// Asks for each stream in each way. `of`: what of the events is to be `want`; else their text.
async function each(pair, limit, cases, { more = {}, of, as = ways, model = dialects.openai.own, come = comings, expected = () => "whole" } = {}) {
  for (const [asked, d] of as)
    for (const [coming, how] of come)
      for (const [at, text, want] of cases) {
        const what = `${limit}, ${asked} for ${pathOf(d)}, ${coming}, ${at}`, before = await okCount(pair), bytes = Buffer.from(text, "latin1");
        pair.own.answer = (q, res) => give(res, bytes, { ...stream, ...how });
        const r = await askFor(pair, d, { model, stream: true, keep: true, slow: how.slow, more: typeof more === "function" ? more(d) : more });
        const came = judgedStream(what, d, r, want, of?.(d));
        found(what, came, expected(at, asked));
        if (came === "whole" && asked === "as it comes" && !of) assert.ok(r.bytes.equals(bytes), `${what}: other bytes than were sent`);
        assert.equal((await okCount(pair)) - before, came === "whole" ? 1 : 0, what);
      }
}

meets(["STREAM_HELD_BYTES_MAX"], "a stream that has much before its first content arrives whole", {
  config: patient,
  async run(pair) {
    const cases = around(limits.STREAM_HELD_BYTES_MAX).flatMap(([at, size]) => [
      [`${at} of comments`, `: ${"wait\n\n: ".repeat(size / 8)}${say(size % 8)}\n\n${W.opening()}${W.piece("said")}${W.closing()}`, "said"],
      [`${at} in the first event`, W.opening() + W.piece(say(size - W.opening().length - W.piece("").length)) + W.closing(), say(size - W.opening().length - W.piece("").length)],
      [`${at} in a comment`, `:${say(size - 3)}\n\n${W.opening()}${W.piece("said")}${W.closing()}`, "said"],
    ]);
    await each(pair, "STREAM_HELD_BYTES_MAX", cases);
  },
});

meets(["SSE_EVENT_BYTES_MAX"], "a large event is whole or an error", {
  config: patient,
  async run(pair) {
    const cases = around(limits.SSE_EVENT_BYTES_MAX).map(([at, size]) => [at, W.opening() + W.piece("so: ") + W.piece(say(size - W.piece("").length)) + W.closing(), `so: ${say(size - W.piece("").length)}`]);
    const expected = (at, asked) => (at === "3 limits" && asked === "written anew" ? "error event" : "whole");
    await each(pair, "SSE_EVENT_BYTES_MAX", cases, { come: [comings[0], comings[2]], expected });
    // Data in several lines is joined by whoever reads it.
    const lines = (n) => W.opening() + W.piece("so: ") + W.piece(say(n)).replace('"choices"', '\ndata: "choices"') + W.closing();
    const short = [1000, 5000, 20000, 70000].map((n) => [`lines of ${n}`, lines(n), `so: ${say(n)}`]);
    await each(pair, "SSE_EVENT_BYTES_MAX", short, { expected });
    const first = short.map(([at, , want]) => [`first ${at}`, W.piece(want.slice(4)).replace('"choices"', '\ndata: "choices"') + W.closing(), want.slice(4)]);
    await each(pair, "SSE_EVENT_BYTES_MAX", first, { expected });
  },
});

// The last event of Responses has all of the text once more.
meets(["SSE_EVENT_BYTES_MAX", "SSE_STRING_BYTES_KEPT"], "a last event that repeats a long answer arrives whole, and is read", {
  config: (c) => (patient(c), (c.models.find((m) => m.name === "m-own").targets = ["own-responses/m-own"])),
  async run(pair) {
    const d = dialects.responses, w = wires.responses;
    let whole = 0;
    for (const [ends, coming, times] of [["\n", comings[0], 2], ["\n", comings[2], 3], ["\r\n", comings[0], 3], ["\r", comings[0], 3], ["\n", comings[0], 5]]) {
      const size = times * limits.SSE_EVENT_BYTES_MAX, at = `${times} limits`, how = coming[1];
      const text = say(size), all = Buffer.from(pieces(`\u00e9\\"${text}`, w).replaceAll("\n", ends), "utf8"), what = `SSE_EVENT_BYTES_MAX, ${JSON.stringify(ends)}, ${coming[0]}, ${at}`;
      pair.own.answer = (q, res) => give(res, all, { ...stream, ...how });
      const r = await askFor(pair, d, { model: "m-own", stream: true, keep: true });
      assert.ok(r.whole && r.bytes.equals(all), `${what}: other bytes than were sent`);
      found(what, "whole", "whole");
      whole++;
      const cut = all.subarray(0, all.length - 300 - (size >> 1)); // within that event
      const before = await okCount(pair);
      pair.own.answer = (q, res) => (give(res, cut, { ...stream, framing: "chunked" }));
      const r2 = await askFor(pair, d, { model: "m-own", stream: true, keep: true });
      assert.match(judgedStream(what, d, r2, text), /broken off|error event/, `${what}: half an event`);
      assert.equal(await okCount(pair), before, what);
    }
    const counted = await fetchAll(pair, "/metrics", { method: "GET", keep: true });
    const output = Number(/gen_ai_client_token_usage_sum\{[^}]*"output"[^}]*\} (\d+)/.exec(counted.bytes.toString())?.[1]);
    assert.equal(output, 5 * whole, "the usage in those events is counted");
  },
});

meets(["TALK_SAID_BYTES_MAX"], "a long text arrives whole, asked for as JSON or not", {
  config: patient,
  async run(pair) {
    const cases = (w) => around(limits.TALK_SAID_BYTES_MAX).map(([at, size]) => [at, pieces(say(size), w), say(size)]);
    await each(pair, "TALK_SAID_BYTES_MAX", cases(W), { come: [comings[0], comings[2]] });
    await each(pair, "TALK_SAID_BYTES_MAX", cases(wires.anthropic), { ...claude, come: [comings[0], comings[2]] });
    const json = around(limits.TALK_SAID_BYTES_MAX).map(([at, size]) => [`JSON, ${at}`, pieces(`{"a":"${say(size - 8)}"}`), `{"a":"${say(size - 8)}"}`]);
    const more = (d) => wires[d === dialects.openai ? "openai" : "anthropic"].format({ type: "object", properties: { a: { type: "string" } } });
    await each(pair, "TALK_SAID_BYTES_MAX", json, { more, come: [comings[0]] });
    // What is asked for as JSON and begins with words is held; mended or as it came, it is the same JSON.
    const fenced = around(limits.TALK_SAID_BYTES_MAX).map(([at, size]) => [`behind words, ${at}`, pieces(`Here: {"a":"${say(size - 14)}"}`), `{"a":"${say(size - 14)}"}`]);
    const of = (d) => (list) => list.map(d.piece).join("").replace(/^Here: /, "");
    await each(pair, "TALK_SAID_BYTES_MAX", fenced, { more, of, come: [comings[0]], expected: (at) => (/limit( - 1)?$/.test(at) ? "whole" : /^(whole|error event)$/) });
  },
});

const tools = (d) => ({ tools: d === dialects.openai ? W.tools({ type: "object", properties: { city: { type: "string" } } }) : wires.anthropic.tools({ type: "object", properties: { city: { type: "string" } } }) });
const argsOf = (d) => (list) => {
  const r = { events: list };
  return (d === dialects.openai ? W : wires.anthropic).calls(r).map(([, , args]) => args).join("");
};
// A call whose arguments come in pieces, so that no event is too large.
function call(args, n = 100000) {
  const parts = args.match(new RegExp(`[^]{1,${n}}`, "g")) ?? [];
  return W.opening() + W.chunk({ tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "look", arguments: "" } }] }) + parts.map((a) => W.chunk({ tool_calls: [{ index: 0, function: { arguments: a } }] })).join("") + W.closingCalls();
}

meets(["TALK_BYTES_MAX"], "a call that is too large to be held goes out as it comes, or ends with an error", {
  config: patient,
  async run(pair) {
    const cases = around(limits.TALK_BYTES_MAX).map(([at, size]) => {
      const args = `{"city":"${say((at === "3 limits" ? 1.5 * limits.TALK_BYTES_MAX : size) - 11)}"}`;
      return [at, call(args), args];
    });
    const small = [4, 8].map((part) => {
      const args = `{"city":"${say(limits.TALK_BYTES_MAX / part)}"}`;
      return [`1/${part}`, call(args), args];
    });
    await each(pair, "TALK_BYTES_MAX", [...small, ...cases], { more: tools, of: argsOf, come: [comings[0]], expected: (at, asked) => (asked === "as it comes" || at === "1/8" ? "whole" : /^(whole|error event|broken off|5\d\d)$/) });
  },
});

meets(["TALK_BYTES_MAX"], "a text that is too large to be kept goes out as it comes, or ends with an error", {
  config: patient,
  async run(pair) {
    const text = say(limits.TALK_BYTES_MAX + 100), expected = (at, asked) => (asked === "as it comes" ? "whole" : /^(whole|error event)$/);
    await each(pair, "TALK_BYTES_MAX", [["limit + 100 of text", pieces(text), text]], { come: [comings[0]], expected });
    await each(pair, "TALK_BYTES_MAX", [["limit + 100 of text", pieces(text, wires.anthropic), text]], { ...claude, come: [comings[0]], expected });
  },
});

meets(["REPAIR_BYTES_MAX"], "broken arguments are mended, go out as they came, or are an error", {
  config: patient,
  async run(pair) {
    const cases = around(limits.REPAIR_BYTES_MAX).map(([at, size]) => {
      const args = `{"city":"${say(size - 12)}",}`; // a comma too many
      return [at, call(args), args];
    });
    const mended = (d) => (list) => argsOf(d)(list).replace(/,?\}$/, ",}"); // mended or not, the same city
    await each(pair, "REPAIR_BYTES_MAX", cases, { more: tools, of: mended, come: [comings[0]], expected: (at) => (at.startsWith("limit -") ? "whole" : /^(whole|error event|5\d\d)$/) });
  },
});

meets(["TURN_CALLS_MAX"], "more calls than are told apart at a time go out whole, or are an error", {
  config: patient,
  async run(pair) {
    const calls = (n, args, together) => {
      const list = Array.from({ length: n }, (_, i) => ({ index: i, id: `call_${i}`, type: "function", function: { name: "look", arguments: args(i) } }));
      return W.opening() + (together ? W.chunk({ tool_calls: list }) : list.map((c) => W.chunk({ tool_calls: [c] })).join("")) + W.closingCalls();
    };
    const good = (i) => JSON.stringify({ city: `City ${i}` }), odd = (i) => (i ? good(i) : '{"city":"City 0",}');
    const want = (n) => Array.from({ length: n }, (_, i) => good(i)).join("");
    const of = (d) => (list) => (d === dialects.openai ? W : wires.anthropic).calls({ events: list }).map(([, , args]) => args.replace(",}", "}")).join(""); // mended or not
    const cases = [false, true].flatMap((together) => [good, odd].flatMap((args) => around(limits.TURN_CALLS_MAX).map(([at, n]) => [`${together ? "in one event" : "one by one"}, ${args === odd ? "one is odd, " : ""}${at}`, calls(n, args, together), want(n)])));
    await each(pair, "TURN_CALLS_MAX", cases, { more: tools, of, come: [comings[0]], expected: (at, asked) => (/^one by one|limit( - 1)?$/.test(at) || asked === "as it comes" ? "whole" : /^(whole|error event|5\d\d)$/) });
  },
});

/* ---- streams that break off ---- */

// The first attempt breaks off behind `cut` of the text; the next is asked to go on, and begins with `again`.
async function resumed(pair, limit, at, d, w, text, cut, again, expected, more = {}) {
  const what = `${limit}, ${at}`, before = await okCount(pair);
  const pieces = (t) => (t.match(/[^]{1,60000}/g) ?? []).map((p) => w.piece(p)).join("");
  let calls = 0;
  pair.own.answer = (q, res) => {
    const bytes = Buffer.from(w.opening() + (calls++ ? pieces(again(q)) + w.closing() : pieces(text.slice(0, cut)) + w.piece("cut off in the midst").slice(0, -30)), "latin1");
    give(res, bytes, { ...stream, framing: "chunked" });
  };
  const r = await askFor(pair, d, { stream: true, keep: true, ...more });
  const came = judgedStream(what, d, r, text);
  found(what, came, expected);
  assert.equal((await okCount(pair)) - before, came === "whole" ? 1 : 0, what);
}
const goesOn = (c) => (patient(c), (c.recovery.max_attempts = 3));
const begun = (q) => ["assistant", "model"].includes(body(q).messages.at(-1).role);

meets(["TALK_SAID_BYTES_MAX", "JOIN_LOOK_BYTES"], "a stream that breaks off goes on where it was cut, or ends with an error", {
  config: goesOn,
  async run(pair) {
    const [d, w] = [dialects.anthropic, wires.anthropic];
    for (const [at, size] of around(limits.TALK_SAID_BYTES_MAX)) {
      const text = `${say(size)} and this is the end of it, said at last.`;
      await resumed(pair, "TALK_SAID_BYTES_MAX", `goes on, ${at}`, d, w, text, size, (q) => text.slice(begun(q) ? size : 0), at.endsWith("+ 1") || at.startsWith("3") ? "error event" : "whole");
    }
    for (const [at, size] of around(limits.JOIN_LOOK_BYTES)) {
      const text = `${say(size)} and this is the end of it, said at last.`;
      await resumed(pair, "JOIN_LOOK_BYTES", `begins anew, ${at}`, d, w, text, size, () => text, /^(whole|error event)$/);
      await resumed(pair, "JOIN_LOOK_BYTES", `goes on, ${at}`, dialects.openai, wires.openai, text, size, (q) => text.slice(begun(q) ? size : size - 200), /^(whole|error event)$/);
    }
  },
});

meets(["RESUME_BODY_BYTES_MAX"], "a stream of a large request that breaks off goes on, or ends with an error", {
  config: goesOn,
  async run(pair) {
    const [d, w] = [dialects.anthropic, wires.anthropic];
    for (const [at, size] of around(limits.RESUME_BODY_BYTES_MAX)) {
      const asked = (n) => JSON.stringify({ ...d.body(d.own, "x", { stream: true }), messages: [{ role: "user", content: n }] });
      const sent = asked(say(size - asked("").length));
      const text = "The first sentence is said, and so is the second one.";
      await resumed(pair, "RESUME_BODY_BYTES_MAX", at, d, w, text, 30, (q) => text.slice(q.body.subarray(-200).includes("assistant") ? 30 : 0), size <= limits.RESUME_BODY_BYTES_MAX ? "whole" : "error event", { body: Buffer.from(sent, "latin1") });
    }
  },
});
