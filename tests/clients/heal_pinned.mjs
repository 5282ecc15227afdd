// What only its own provider understands stays with it and as it is: files, stored answers and conversations, cached
// content, thinking. Thinking of the tool loop at hand goes through every surgery untouched; others' models get none.
import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import { holds } from "./wire.mjs";
import { dialects, question } from "./net.mjs";
import { both, body, every, json, named, object, own, paired, reply, sse, target, tokens, wires } from "./wires.mjs";

const NEWEST = "what is the newest order?";
const lorem = (n) => `HEAD-${n} ${"lorem ipsum dolor sit amet ".repeat(150)} TAIL-${n}`;

const files = {
  openai: { role: "user", content: [{ type: "text", text: "read it" }, { type: "file", file: { file_id: "file-one" } }] },
  responses: { role: "user", content: [{ type: "input_text", text: "read it" }, { type: "input_file", file_id: "file-one" }] },
  anthropic: { role: "user", content: [{ type: "text", text: "read it" }, { type: "document", source: { type: "file", file_id: "file-one" } }] },
  gemini: { role: "user", parts: [{ text: "read it" }, { fileData: { mimeType: "application/pdf", fileUri: "https://generativelanguage.googleapis.com/v1beta/files/file-one" } }] },
};
const stored = {
  responses: [{ previous_response_id: "resp_one" }, { conversation: "conv_one" }],
  gemini: [{ cachedContent: "cachedContents/one" }],
};
// A call with the thinking that led to it; the text of it, and its seal.
const thought = {
  anthropic: (i) => [{ role: "assistant", content: [{ type: "thinking", thinking: `thought-${i}`, signature: `seal-${i}` }, { type: "tool_use", id: `call_${i}`, name: "look", input: {} }] }],
  responses: (i) => [{ type: "reasoning", id: `rs_${i}`, summary: [{ type: "summary_text", text: `thought-${i}` }], encrypted_content: `seal-${i}` }, { type: "function_call", call_id: `call_${i}`, name: "look", arguments: "{}" }],
  gemini: (i) => [{ role: "model", parts: [{ text: `thought-${i}`, thought: true }, { functionCall: { id: `call_${i}`, name: "look", args: {} }, thoughtSignature: `seal-${i}` }] }],
};

every((name, d, w) => {
  const model = (c) => c.models.find((m) => m.name === d.own);
  const mine = name === "responses" ? "own-responses/m-own" : target[name];
  const failing = (bad, v) => (q, res) => (bad(q) ? json(res, 503, { error: { message: "The server is overloaded", type: "overloaded_error", code: 503, status: "UNAVAILABLE" } }) : reply(v, q, res, "elsewhere"));

  for (const [other, v] of Object.entries(wires)) {
    if (other === name) continue;
    const there = (q) => q.body.includes('"there"') || q.url.includes("/there");
    const config = (c) => ((model(c).targets = [mine, target[other].replace(/\/.*/, "/there")]), (c.recovery.max_attempts = 1), (c.recovery.on_failure = "error"), c.providers.forEach((p) => p.keys.pop()));

    both(name, `a file of its own provider is never sent to one that speaks ${other}`, {
      config,
      async run(pair, ask) {
        pair.own.answer = failing((q) => !there(q), v);
        const r = await ask({ model: d.own, more: { [w.key]: [files[name]] } });
        assert.equal(pair.own.seen.filter(there).length, 0, "it was sent elsewhere");
        assert.ok(r.status >= 500, r.text);
        // Uploaded files bind a request of Gemini before anything is tried; the others are told of when it fails.
        if (name !== "gemini") assert.ok(pair.events().some((e) => e.event === "request_not_convertible"), "no event says why");
      },
    });

    if (thought[name])
      both(name, `thinking is not shown to a provider that speaks ${other}`, {
        config,
        async run(pair, ask) {
          pair.own.answer = failing((q) => !there(q), v);
          const history = [w.user("go"), ...thought[name](1), ...w.history([{ result: "call_1", text: "seen" }, { text: "I see" }]), w.user(NEWEST)];
          const r = await ask({ model: d.own, more: { [w.key]: history, tools: w.tools(object) } });
          if (r.said !== "elsewhere") assert.ok(!pair.own.seen.some(there), r.text); // sealed thinking may bind it to its provider
          for (const q of pair.own.seen.filter(there)) assert.doesNotMatch(q.body.toString(), /thought-1|seal-1/);
          if (name !== "responses") assert.equal(r.said, "elsewhere", r.text);
        },
      });
  }

  for (const ref of stored[name] ?? [])
    both(name, `with ${Object.keys(ref)[0]} the tool output that is here is masked, and all else stays as it is`, {
      config: (c) => ((model(c).targets = [mine]), (c.recovery.side_calls = false), (c.recovery.on_failure = "error")),
      async run(pair, ask) {
        const used = (q) => tokens(q) + 1000; // with what is on the server
        pair.own.answer = (q, res) => (used(q) > 3600 ? w.overflow(res, 3600, used(q)) : reply(w, q, res, "done"));
        const turns = [{ user: "find it" }, { call: "call_1" }, { result: "call_1", text: lorem(1).repeat(3) }, { text: "found" }, { user: NEWEST }];
        const r = await ask(own(d, w, turns, ref));
        assert.equal(r.said, "done", r.text);
        assert.equal(pair.own.seen.length, 2);
        const sent = body(pair.own.seen[1]), was = w.history(turns);
        assert.deepEqual(sent[Object.keys(ref)[0]], Object.values(ref)[0]);
        paired(w, sent);
        assert.equal(w.messages(sent).length, was.length);
        w.messages(sent).forEach((m, i) => (i === 2 ? assert.match(JSON.stringify(m), /HEAD-1.*daruma left out.*TAIL-1/) : assert.deepEqual(m, was[i])));
      },
    });

  if (thought[name])
    for (const [how, limit] of [["masked", 4000], ["summarised", 1400]])
      both(name, `when output is ${how}, the thinking of the loop at hand stays as it came`, {
        config: (c) => ((model(c).targets = [{ target: mine, ...(name === "responses" && { window: limit }) }])),
        async run(pair, ask) {
          const side = (q) => !q.body.includes(NEWEST);
          pair.own.answer = (q, res) => (side(q) ? w.answer(res, "SUMMARY") : tokens(q) > limit ? w.overflow(res, limit, tokens(q)) : reply(w, q, res, "done"));
          const history = [w.user(NEWEST), ...[0, 1, 2, 3].flatMap((i) => [...thought[name](i), ...w.history([{ result: `call_${i}`, text: lorem(i) }])])];
          const r = await ask({ model: d.own, more: { [w.key]: history, tools: w.tools(object) } });
          if (r.said !== "done") assert.equal(r.status, 400, r.text);
          const sent = body(pair.own.seen.filter((q) => !side(q)).at(-1)), text = JSON.stringify(sent);
          paired(w, sent);
          const call = (m) => JSON.stringify(m).includes("thought-") || JSON.stringify(m).includes("seal-");
          const left = w.messages(sent).filter(call), first = history.filter(call);
          assert.deepEqual(left, first.slice(first.length - left.length), "thinking was edited");
          assert.equal(r.said, "done", `${text.length} bytes: ${r.text}`);
          assert.equal(left.length, first.length, "thinking of the loop at hand is gone");
        },
      });
});

/* ---- a conversation that Anthropic's server keeps: its SDK's tool runner sends what is new alone ---- */

{
  const w = wires.anthropic;
  const has = (b, type) => b.messages.some((m) => Array.isArray(m.content) && m.content.some((p) => p.type === type));
  const refuse = (res, status, type, message, code) => json(res, status, { type: "error", error: { type, message, ...(code && { details: { error_code: code } }) }, request_id: "req_1" });
  const names = { forgets: "forgets threads", refuses: "does not know threads", keeps: "keeps threads", loses: "has lost a thread" };
  for (const [how, what] of Object.entries(names))
    for (const stream of [false, true])
      holds(`heal anthropic${stream ? " stream" : ""}: the tool runner of the SDK finishes with a server that ${what}`, {
        config: (c) => c.models.find((m) => m.name === "c-own").targets.push("own-claude/c-other"), // may not be asked for what the first one keeps
        async run(pair) {
          const threads = new Map(); // the calls of each answer, by its id
          let lost = how === "loses";
          pair.own.answer = (q, res) => {
            const b = body(q), before = b.thread?.previous_message_id, id = `msg_${q.n}`;
            if (b.model !== "c-own") return refuse(res, 404, "not_found_error", "model: c-other");
            if (how === "refuses" && b.thread) return refuse(res, 400, "invalid_request_error", "thread: Extra inputs are not permitted");
            const kept = how === "keeps" || how === "loses";
            if (kept && before && lost) lost = false, threads.clear();
            if (kept && before && !threads.has(before)) return refuse(res, 404, "not_found_error", "No usable Thread state was found for `previous_message_id`.", "thread_not_found");
            if (has(b, "tool_result") && !has(b, "tool_use") && !(kept && before)) return refuse(res, 400, "invalid_request_error", "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.");
            const turn = (before && kept ? threads.get(before) : b.messages.filter((m) => has({ messages: [m] }, "tool_use")).length) + 1;
            if (b.thread && kept) threads.set(id, turn);
            const call = [`toolu_${turn}`, "look", { city: `city ${turn}` }], last = turn > 3;
            const named = (s) => s.replace('"msg_1"', JSON.stringify(id));
            if (stream) return res.writeHead(200, { "content-type": "text/event-stream" }), res.end(named(last ? w.opening() + w.piece("all is well") + w.closing() : w.opening() + w.called(0, call[0], call[1], JSON.stringify(call[2])) + w.closingCalls()));
            json(res, 200, { id, type: "message", role: "assistant", model: "c-own", content: last ? [{ type: "text", text: "all is well" }] : [{ type: "tool_use", id: call[0], name: call[1], input: call[2] }], stop_reason: last ? "end_turn" : "tool_use", stop_sequence: null, usage: { input_tokens: 5, output_tokens: 5 } });
          };
          const seen = [], client = new Anthropic({ apiKey: "sk-client", baseURL: pair.base, maxRetries: 0 });
          const runner = client.beta.messages.toolRunner({ model: "c-own", max_tokens: 100, max_iterations: 9, stream, messages: [{ role: "user", content: "go" }], tools: [{ name: "look", description: "looks", input_schema: object, run: ({ city }) => (seen.push(city), "sunny"), parse: (x) => x }] });
          let m;
          if (stream) for await (const s of runner) m = await s.finalMessage();
          else m = await runner;
          assert.equal(m.content.map((p) => p.text).join(""), "all is well");
          assert.deepEqual(seen, ["city 1", "city 2", "city 3"]);
          const continued = pair.own.seen.map(body).filter((b) => b.thread?.type === "continue");
          if (how === "keeps") assert.equal(continued.length, 3);
          assert.ok(continued.every((b) => b.messages.length === 1 && has(b, "tool_result")), "what is new was changed");
          if (how === "keeps") assert.ok(!pair.own.seen.some((q) => body(q).model !== "c-own"), "another model was asked");
          assert.ok(how === "refuses" || !pair.own.seen.some((q) => body(q).thread?.type === "continue" && q.headers["x-api-key"] !== "sk-one"), "another account was asked for what one keeps");
        },
      });

  for (const stream of [false, true])
    holds(`heal anthropic${stream ? " stream" : ""}: the tool runner of the SDK finishes when another dialect answers, which keeps nothing`, {
      config: (c) => ((c.models.find((m) => m.name === "c-own").targets = ["own-claude/c-own", "own/there"]), (c.recovery.max_attempts = 1)),
      async run(pair) {
        const v = wires.openai;
        pair.own.answer = (q, res) => {
          const b = body(q);
          if (b.model !== "there") return refuse(res, 529, "overloaded_error", "Overloaded");
          const results = b.messages.filter((m) => m.role === "tool").length;
          assert.ok(b.messages.some((m) => m.role === "user"), "the conversation is lost");
          reply(v, q, res, results > 1 ? "all is well" : "", results > 1 ? [] : [[`call_${results}`, "look", { city: `city ${results + 1}` }]]);
        };
        const seen = [], client = new Anthropic({ apiKey: "sk-client", baseURL: pair.base, maxRetries: 0 });
        const runner = client.beta.messages.toolRunner({ model: "c-own", max_tokens: 100, max_iterations: 9, stream, messages: [{ role: "user", content: "go" }], tools: [{ name: "look", description: "looks", input_schema: object, run: ({ city }) => (seen.push(city), "sunny"), parse: (x) => x }] });
        let m;
        if (stream) for await (const s of runner) m = await s.finalMessage();
        else m = await runner;
        assert.equal(m.content.map((p) => p.text).join(""), "all is well");
        assert.deepEqual(seen, ["city 1", "city 2"]);
      },
    });
}

/* ---- an agent whose answers are stored: its SDK sends references to them, and the output of its tools ---- */

for (const stream of [false, true]) {
  const w = wires.responses, d = dialects.responses, LIMIT = 20000, TURNS = 20;
  holds(`heal responses${stream ? " stream" : ""}: an agent outlives its window by far though its calls, three at a time, are on the server`, {
    config: (c) => ((c.models.find((m) => m.name === d.own).targets = [target.responses]), (c.recovery.side_calls = false)),
    async run(pair) {
      const items = new Map(), input = [w.user("go")];
      const whole = (list) => list.map((i) => (i.type === "item_reference" ? items.get(i.id) : i));
      const size = (list) => Math.ceil(JSON.stringify(whole(list)).length / 4);
      let overflows = 0;
      pair.own.answer = (q, res) => {
        const all = body(q), seen = { input: whole(all.input) };
        if (seen.input.some((i) => !i)) return w.refuse(res, "Item with id 'msg_x' not found.");
        if (JSON.stringify(w.callIds(seen)) !== JSON.stringify(w.resultIds(seen))) return w.refuse(res, w.stray);
        if (size(all.input) > LIMIT) return overflows++, w.overflow(res);
        reply(w, q, res, "going on");
      };
      for (let t = 0; t < TURNS; t++) {
        const r = await question(pair, d, { model: d.own, stream, more: { input, tools: w.tools(object) } });
        assert.equal(r.said, "going on", `turn ${t}: ${r.text}`);
        const sent = body(pair.own.seen.at(-1)).input;
        assert.deepEqual(sent.map((i) => i.id ?? i.call_id ?? i.role), input.map((i) => i.id ?? i.call_id ?? i.role), "an item is gone, or elsewhere");
        for (const i of input) if (i.type !== "function_call_output") assert.deepEqual(sent[input.indexOf(i)], i);
        const calls = [0, 1, 2].map((k) => `call_${t}_${k}`);
        const kept = [w.assistant(`turn ${t}`), ...calls.map((id) => ({ type: "function_call", call_id: id, name: "look", arguments: "{}" }))];
        kept.forEach((item, k) => (items.set(`item_${t}_${k}`, item), input.push({ type: "item_reference", id: `item_${t}_${k}` })));
        for (const id of calls) input.push({ type: "function_call_output", call_id: id, output: `${lorem(id)} ${lorem(id)}` });
      }
      assert.ok(size(input) > 4 * LIMIT, "the window was not left");
      assert.ok(overflows > 0 && overflows <= 2, `${overflows} overflows`);
    },
  });
}

/* ---- Vercel's AI SDK refers to what an answer said and thought, and sends its calls whole ---- */

const ARGS = '{"city":"Oslo"}';
const saidBy = (id, text) => ({ type: "message", id: `msg_${id}`, role: "assistant", status: "completed", content: [{ type: "output_text", text, annotations: [] }] });
const answeredBy = (id, text, calls) => [
  { type: "reasoning", id: `rs_${id}`, summary: [], encrypted_content: `seal-${id}` },
  saidBy(id, text),
  ...(calls ? [{ type: "function_call", id: `fc_${id}`, call_id: `call_${id}`, name: "look", arguments: ARGS, status: "completed" }] : []),
];
function sayItems(res, output, stream) {
  const response = { id: `resp_${output[1].id}`, object: "response", created_at: 1, model: "m-own", status: "completed", output, usage: { input_tokens: 5, output_tokens: 5, total_tokens: 10 } };
  if (!stream) return json(res, 200, response);
  const text = output[1].content[0].text, at = { item_id: output[1].id, output_index: 1, content_index: 0 };
  const events = [{ type: "response.created", response: { ...response, status: "in_progress", output: [], usage: null } }];
  output.forEach((item, output_index) => {
    events.push({ type: "response.output_item.added", output_index, item: { ...item, status: "in_progress", ...(item.content && { content: [] }), ...(item.arguments && { arguments: "" }) } });
    if (item.content) events.push({ type: "response.content_part.added", ...at, part: { type: "output_text", text: "", annotations: [] } }, { type: "response.output_text.delta", ...at, delta: text }, { type: "response.output_text.done", ...at, text }, { type: "response.content_part.done", ...at, part: item.content[0] });
    if (item.arguments) events.push({ type: "response.function_call_arguments.delta", item_id: item.id, output_index, delta: item.arguments }, { type: "response.function_call_arguments.done", item_id: item.id, output_index, arguments: item.arguments });
    events.push({ type: "response.output_item.done", output_index, item });
  });
  sse(res, [...events, { type: "response.completed", response }].map((e, sequence_number) => named({ ...e, sequence_number })).join("")).end();
}
const nameless = ({ id, ...item }) => item; // who keeps an item of that id refuses it without what was thought before it
const referTo = (id) => ({ type: "item_reference", id });
const referring = (id) => [referTo(`rs_${id}`), referTo(`msg_${id}`), { type: "function_call", call_id: `call_${id}`, name: "look", arguments: ARGS }, { type: "function_call_output", call_id: `call_${id}`, output: "sunny" }];

for (const stream of [false, true]) {
  const w = wires.responses, v = wires.anthropic, d = dialects.responses, kind = stream ? " stream" : "";
  const ask = (pair, input) => question(pair, d, { model: d.own, stream, more: { input, tools: w.tools(object) } });
  const quota = (res) => json(res, 429, { error: { message: "You exceeded your current quota, please check your plan and billing details.", type: "insufficient_quota", param: null, code: "insufficient_quota" } });

  holds(`heal responses${kind}: what an account keeps goes to another one whole when its credit is used up, without what it thought`, {
    config: (c) => (c.models.find((m) => m.name === d.own).targets = ["own-responses/m-own"]),
    async run(pair) {
      let used = false, n = 0;
      const kept = { "Bearer sk-one": new Set(), "Bearer sk-two": new Set() };
      pair.own.answer = (q, res) => {
        const key = q.headers.authorization;
        if (key === "Bearer sk-one" && used) return quota(res);
        const missing = body(q).input.find((i) => i.type === "item_reference" && !kept[key].has(i.id));
        if (missing) return json(res, 404, { error: { message: `Item with id '${missing.id}' not found.`, type: "invalid_request_error", param: "input", code: null } });
        const bare = body(q).input.find((i) => i.id && i.type !== "item_reference");
        if (bare) return w.refuse(res, `Item '${bare.id}' of type '${bare.type}' was provided without its required 'reasoning' item: 'rs_lost'.`);
        const items = answeredBy(++n, `step ${n}`, n < 4);
        items.forEach((i) => kept[key].add(i.id));
        sayItems(res, items, stream);
      };
      const input = [w.user("go")];
      assert.equal((await ask(pair, input)).said, "step 1");
      input.push(...referring(1));
      assert.equal((await ask(pair, input)).said, "step 2");
      assert.deepEqual(body(pair.own.seen.at(-1)).input, input, "who keeps it is told more than it was");
      input.push(...referring(2));
      used = true;
      for (const step of [3, 4]) {
        const r = await ask(pair, input);
        assert.equal(r.said, `step ${step}`, r.text);
        const sent = body(pair.own.seen.at(-1)).input;
        assert.deepEqual(sent.slice(0, 7), [input[0], nameless(saidBy(1, "step 1")), ...referring(1).slice(2), nameless(saidBy(2, "step 2")), ...referring(2).slice(2)]);
        assert.deepEqual(sent.slice(7), input.slice(9), "what the other account keeps stays a reference");
        input.push(...referring(3));
      }
    },
  });

  holds(`heal responses${kind}: what an account keeps goes to another dialect when nobody else answers`, {
    config: (c) => ((c.models.find((m) => m.name === d.own).targets = ["own-responses/m-own", "own-claude/there"]), c.providers.forEach((p) => p.keys.pop())),
    async run(pair) {
      pair.own.answer = (q, res) => {
        if (body(q).model === "there") return reply(v, q, res, "elsewhere");
        if (pair.own.seen.length > 1) return quota(res);
        sayItems(res, answeredBy(1, "step 1", true), stream);
      };
      await ask(pair, [w.user("go")]);
      const r = await ask(pair, [w.user("go"), ...referring(1)]);
      assert.equal(r.said, "elsewhere", r.text);
      assert.deepEqual(body(pair.own.seen.at(-1)).messages.map((m) => m.role), ["user", "assistant", "user"]);
      assert.match(JSON.stringify(body(pair.own.seen.at(-1)).messages), /step 1/);
    },
  });

  // Accounts without retention keep nothing, whatever `store` says; the SDK refers to calls as well up to version 5.
  for (const calls of ["whole", "references"])
    holds(`heal responses${kind}: an account that keeps nothing is told what it said, calls as ${calls}`, {
      async run(pair) {
        let n = 0;
        pair.own.answer = (q, res) => {
          const lost = body(q).input.find((i) => i.type === "item_reference" || i.type === "reasoning");
          if (lost) return json(res, 404, { error: { message: `Item with id '${lost.id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`, type: "invalid_request_error", param: "input", code: null } });
          const pairs = [w.callIds, w.resultIds].map((ids) => JSON.stringify(ids(body(q))));
          if (pairs[0] !== pairs[1]) return w.refuse(res, w.stray);
          n++;
          sayItems(res, answeredBy(n, `step ${n}`, n < 3), stream);
        };
        const input = [w.user("go")];
        for (const step of [1, 2, 3]) {
          const r = await ask(pair, input);
          assert.equal(r.said, `step ${step}`, r.text);
          const said = body(pair.own.seen.at(-1)).input.filter((i) => i.role === "assistant").map((i) => i.content[0].text);
          assert.deepEqual(said, ["step 1", "step 2"].slice(0, step - 1));
          input.push(...referring(step).map((i) => (i.type === "function_call" && calls === "references" ? referTo(`fc_${step}`) : i)));
        }
        const seen = pair.own.seen.length;
        await ask(pair, [referTo("rs_1")]);
        assert.deepEqual(body(pair.own.seen[seen]).input, [referTo("rs_1")], "nothing was left of it");
        assert.equal(seen, 5, "it was refused more than once for what it does not keep");
        assert.ok(pair.own.seen.every((q) => !q.body.includes("seal-")), "what one account thought was shown to whoever asked for it");
      },
    });

  holds(`heal responses${kind}: an image that is not found changes nothing in what an account keeps`, {
    async run(pair) {
      let lost = true;
      pair.own.answer = (q, res) => (q.n > 1 && lost ? json(res, 400, { error: { message: "Error while downloading https://example.com/lost.png. Upstream status code: 404 Not Found.", type: "invalid_request_error", param: "url", code: "invalid_value" } }) : sayItems(res, answeredBy(q.n, "step", true), stream));
      await ask(pair, [w.user("go")]);
      const input = [w.user("go"), ...referring(1), { role: "user", content: [{ type: "input_image", image_url: "https://example.com/lost.png" }] }];
      await ask(pair, input);
      lost = false;
      await ask(pair, input.slice(0, -1));
      assert.deepEqual(body(pair.own.seen.at(-1)).input, input.slice(0, -1));
    },
  });

  holds(`heal responses${kind}: what one client was told is told to no other, whatever ids it names`, {
    async run(pair) {
      pair.own.answer = (q, res) => {
        const lost = body(q).input.find((i) => i.type === "item_reference");
        if (lost) return json(res, 404, { error: { message: `Item with id '${lost.id}' not found.`, type: "invalid_request_error", param: "input", code: null } });
        sayItems(res, answeredBy(q.n, `secret ${q.n}`, true), stream);
      };
      await ask(pair, [w.user("go")]);
      const before = pair.own.seen.length;
      await question(pair, d, { model: d.own, stream, headers: { authorization: "Bearer sk-stranger" }, more: { input: [w.user("go"), ...referring(1)], tools: w.tools(object) } });
      assert.ok(pair.own.seen.length > before, "nobody was asked");
      assert.ok(pair.own.seen.slice(before).every((q) => !q.body.includes("secret 1")));
      await ask(pair, [w.user("go"), ...referring(1)]);
      assert.match(pair.own.seen.at(-1).body.toString(), /secret 1/);
    },
  });

  holds(`heal responses${kind}: what one client was told is remembered, however much another is told`, {
    async run(pair) {
      pair.own.answer = (q, res) => {
        const lost = body(q).input.find((i) => i.type === "item_reference");
        if (lost) return json(res, 404, { error: { message: `Item with id '${lost.id}' not found.`, type: "invalid_request_error", param: "input", code: null } });
        if (q.body.includes("long")) return sayItems(res, [answeredBy(q.n, "", false)[0], ...Array.from({ length: 15 }, (_, i) => saidBy(`${q.n}_${i}`, "x".repeat(60000)))], stream);
        if (q.body.includes("short")) return sayItems(res, [answeredBy(q.n, "", false)[0], ...Array.from({ length: 400 }, (_, i) => saidBy(`${q.n}_${i}`, "x"))], stream);
        sayItems(res, answeredBy(1, "step 1", true), stream);
      };
      for (let i = 0; i < 16; i++) await ask(pair, [w.user("long")]); // what was forgotten does not count
      await ask(pair, [w.user("go")]);
      for (const text of ["long", "short"]) // more bytes, and more items, than are kept of all clients
        for (let i = 0; i < 8; i++) await question(pair, d, { model: d.own, stream, headers: { authorization: "Bearer sk-stranger" }, more: { input: [w.user(text)], tools: w.tools(object) } });
      await ask(pair, [w.user("go"), ...referring(1)]);
      assert.match(pair.own.seen.at(-1).body.toString(), /step 1/, "it was forgotten");
    },
  });

  holds(`heal responses${kind}: behind references to what an account keeps, a call of no tool is asked for again`, {
    async run(pair) {
      pair.own.answer = (q, res) => {
        const items = answeredBy(q.n, "step", true);
        if (q.n === 2) items[2].name = "no_such_tool";
        sayItems(res, items, stream);
      };
      await ask(pair, [w.user("go")]);
      const r = await ask(pair, [w.user("go"), ...referring(1)]);
      assert.deepEqual(w.calls(r).map(([, name]) => name), ["look"], r.text);
      assert.equal(pair.own.seen.length, 3);
    },
  });

  holds(`heal responses${kind}: what an account keeps and nobody else saw stays there, as it was named`, {
    config: (c) => (c.models.find((m) => m.name === d.own).targets = ["own-responses/m-own"]),
    async run(pair) {
      pair.own.answer = (q, res) => (pair.own.seen.length > 1 ? quota(res) : sayItems(res, answeredBy(1, "step 1", true), stream));
      await ask(pair, [w.user("go")]);
      const input = [w.user("go"), referTo("msg_before"), ...referring(1)];
      await ask(pair, input);
      assert.ok(pair.own.seen.slice(1).every((q) => JSON.stringify(body(q).input) === JSON.stringify(input) && q.headers.authorization === pair.own.seen[0].headers.authorization));
    },
  });
}

/* ---- what goes on from a stored answer goes to the model that gave it, and names it to the end ---- */

for (const stream of [false, true]) {
  const w = wires.responses, more = { previous_response_id: "resp_1", input: "and now?" };
  holds(`heal responses${stream ? " stream" : ""}: a stored answer is asked of the model that gave it, though others have the same key`, {
    config: (c) => (c.models.find((m) => m.name === "m-own").targets = ["own-responses/m-own", "own-responses/m-other"]),
    async run(pair) {
      pair.own.answer = (q, res) => reply(w, q, res, "done");
      const d = dialects.responses;
      await question(pair, d, { model: d.own, stream, more: { input: "go" } });
      const r = await question(pair, d, { model: d.own, stream, more });
      assert.equal(r.said, "done", r.text);
      assert.deepEqual(pair.own.seen.map((q) => body(q).model), ["m-own", "m-own"]);
    },
  });
  holds(`heal responses${stream ? " stream" : ""}: a server that keeps no answers is told which one is meant, and its refusal comes through`, {
    config: (c) => c.models.find((m) => m.name === "m-own").targets.splice(0, 1, "own-responses/m-own"),
    async run(pair) {
      pair.own.answer = (q, res) => (body(q).previous_response_id ? w.refuse(res, "Unsupported parameter: 'previous_response_id' is not supported with this model.", { param: "previous_response_id", code: "unsupported_parameter" }) : reply(w, q, res, "to nothing"));
      const d = dialects.responses;
      const r = await question(pair, d, { model: d.own, stream, more: { ...more, tools: w.tools(object) } });
      assert.equal(r.status, 400, r.text);
      assert.match(r.text, /previous_response_id/);
      assert.ok(pair.own.seen.every((q) => body(q).previous_response_id === "resp_1"), "it was asked without what went before");
    },
  });
}

// A client whose conversation lies with one account is told why nobody else was asked.
for (const [what, more, why] of [["goes on from a stored answer", { previous_response_id: "resp_1" }, /goes on from an answer .* Send the whole conversation/], ["names a file", { input: [{ role: "user", content: [{ type: "input_file", file_id: "file_1" }] }] }, /holds what only its own provider or account has/]])
  holds(`heal responses: the error of a request that ${what} says who was not asked, and why`, {
    config: (c) => {
      c.models.push({ name: "r-both", targets: ["own-responses/m-own", "own-claude/c-own"] });
      c.providers.forEach((p) => p.keys.pop());
    },
    async run(pair) {
      pair.own.answer = (q, res) => json(res, 503, { error: { message: "Overloaded", type: "server_error" } });
      const r = await question(pair, dialects.responses, { model: "r-both", more });
      assert.equal(r.status, 503);
      assert.match(r.json.error.daruma.explanation, /Not asked: own-claude\/c-own, since this request /);
      assert.match(r.json.error.daruma.explanation, why);
      assert.ok(pair.own.seen.every((q) => q.url.endsWith("/responses")));
    },
  });
