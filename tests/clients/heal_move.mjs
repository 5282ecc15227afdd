// A conversation moves between all dialects: whoever fails, a provider of any other dialect goes on with it.
import assert from "node:assert/strict";
import { dialects, question } from "./net.mjs";
import { holds } from "./wire.mjs";
import { body, data, every, json, object, paired, parsed, sse, target, whole, wires } from "./wires.mjs";

const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

// Gemini alone checks the signature of its call.
every((name, d, w) => {
  for (const stream of name === "gemini" ? [] : [false, true])
    holds(`heal ${name}${stream ? " stream" : ""}: a call that Gemini signed is mended like any other`, {
      config: (c) => (c.models.find((x) => x.name === d.own).targets = [target.gemini]),
      async run(pair) {
        const call = { functionCall: { name: "look", args: { city: "Oslo", days: "3" } }, thoughtSignature: "b2xk" };
        const answer = { candidates: [{ content: { role: "model", parts: [call] }, finishReason: "STOP" }], usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 } };
        pair.own.answer = (q, res) => (stream ? sse(res, data(answer)).end() : json(res, 200, answer));
        const r = await question(pair, d, { model: d.own, more: { tools: w.tools(object) }, stream });
        assert.deepEqual(parsed(w.calls(r)).map(([, n, a]) => [n, a]), [["look", { city: "Oslo", days: 3 }]], r.text);
      },
    });
});

every((name, d, w) => {
  for (const [other, v] of Object.entries(wires)) {
    if (other === name) continue;
    const config = (c) => {
      const m = c.models.find((x) => x.name === d.own);
      m.targets = [name === "responses" ? "own-responses/gone" : target[name].replace(/\/.*/, "/gone"), target[other].replace(/\/.*/, "/there")];
    };
    const turns = [{ user: "go" }, { call: "call_1" }, { result: "call_1", text: "the answer is 42" }, { text: "I saw it" }];
    const gone = (q) => q.body.includes('"gone"') || q.url.includes("/gone:");
    for (const stream of [false, true])
      holds(`heal ${name}${stream ? " stream" : ""}: a conversation moves to ${other}`, {
        config,
        async run(pair) {
          pair.own.answer = (q, res) => {
            if (gone(q)) return res.writeHead(404, { "content-type": "application/json" }).end(JSON.stringify({ error: { message: "The model `gone` does not exist", type: name === "anthropic" ? "not_found_error" : "invalid_request_error", code: name === "gemini" ? 404 : "model_not_found", status: "NOT_FOUND" } }));
            if (stream) sse(res, v.opening(), v.piece("it is "), v.piece("42"), v.called(0, "call_9", "look", '{"city": "Oslo"}'), v.closingCalls()).end();
            else v.answer(res, "it is 42", [["call_9", "look", v.toolArgs({ city: "Oslo" })]]);
          };
          const history = [...w.history(turns), w.image("and this?", png)];
          const r = await question(pair, d, { model: d.own, stream, more: { [w.key]: history, tools: w.tools(object), ...(name === "anthropic" && { system: "be brief" }), ...(name === "responses" && { instructions: "be brief" }) } });
          assert.equal(r.status, 200, r.text);
          assert.equal(r.said, "it is 42", r.text);
          assert.deepEqual(w.calls(r).map(([, n, a]) => [n, JSON.parse(a)]), [["look", { city: "Oslo" }]], r.text);
          assert.equal(r.outcome, "recovered");
          if (stream) assert.ok(d.ended(r.events), r.text);
          const q = pair.own.seen.at(-1), sent = body(q), text = q.body.toString();
          assert.ok(q.url.startsWith(v.path.replace("g-own", "there")), q.url);
          assert.equal(v.callIds(sent).length, 1);
          if (other === "gemini") assert.ok(v.callIds(sent).length === v.resultIds(sent).length);
          else paired(v, sent);
          for (const said of ["the answer is 42", "I saw it", "and this?", png]) assert.ok(text.includes(said), `${said} is lost: ${text}`);
          if (name === "anthropic" || name === "responses") assert.ok(text.includes("be brief"), text);
          assert.equal(v.images(sent), 1, text);
        },
      });
  }
});

// A provider names the image that it refuses by its place in what it was sent, which is not its place in what the client
// sent: here the system prompt has turns of its own, or none.
const imagePlace = {
  openai: (b) => b.messages.flatMap((m, i) => (Array.isArray(m.content) ? m.content.flatMap((p, j) => (p.type === "image_url" ? [[`messages[${i}].content[${j}].image_url`, p.image_url.url]] : [])) : [])),
  responses: (b) => b.input.flatMap((m, i) => (Array.isArray(m.content) ? m.content.flatMap((p, j) => (p.type === "input_image" ? [[`input[${i}].content[${j}]`, p.image_url]] : [])) : [])),
  anthropic: (b) => b.messages.flatMap((m, i) => (Array.isArray(m.content) ? m.content.flatMap((p, j) => (p.type === "image" ? [[`messages.${i}.content.${j}.image.source.base64`, p.source.data]] : [])) : [])),
};
every((name, d, w) => {
  for (const [other, v] of Object.entries(wires)) {
    if (other === name || !imagePlace[other]) continue;
    holds(`heal ${name}: the image that ${other} refuses by its place is left out, and no other`, {
      config: (c) => (c.models.find((m) => m.name === d.own).targets = [target[other].replace(/\/.*/, "/there"), ...(name === "responses" ? ["own-responses/spare"] : [])]),
      async run(pair) {
        const large = png.slice(0, 64) + "Q".repeat(32);
        pair.own.answer = (q, res) => {
          const at = imagePlace[other](body(q)).find(([, data]) => data.includes(large));
          if (at) return v.refuse(res, `${at[0]}: image exceeds 5 MB maximum: 5649924 bytes > 5242880 bytes`);
          v.answer(res, "seen");
        };
        const history = [w.user("look"), w.assistant("at what?"), w.image("the first", png), w.assistant("a dot"), w.image("the second", large), w.assistant("too large?"), w.image("the third", png)];
        const r = await question(pair, d, { model: d.own, more: { [w.key]: history, ...(name === "anthropic" && { system: "be brief" }), ...(name === "responses" && { instructions: "be brief" }) } });
        assert.equal(r.said, "seen", r.text);
        assert.equal(pair.own.seen.length, 2);
        const sent = pair.own.seen[1].body.toString();
        assert.equal(v.images(body(pair.own.seen[1])), 2, sent);
        assert.ok(!sent.includes(large) && sent.includes("the second"), sent);
      },
    });
  }
});

// Names of tools and ids of calls that are longer than elsewhere allowed, and hold what is not allowed there.
const long = (n) => "mcp__the server of the office/" + "x".repeat(n);
const renamed = (o, from, to) => JSON.parse(JSON.stringify(o).replaceAll(`"${from}"`, `"${to}"`));
every((name, d, w) => {
  for (const [other, v] of Object.entries(wires)) {
    if (other === name) continue;
    const tool = long(70), twin = long(71), takes = other === "gemini" ? /^[a-zA-Z_][\w.:-]{0,63}$/ : other === "anthropic" ? /^[\w-]{1,128}$/ : /^[\w-]{1,64}$/;
    const back = name === "gemini" ? /^.+$/ : name === "anthropic" ? /^[\w-]{1,64}$/ : name === "openai" ? /^.{1,40}$/ : /^.{1,64}$/;
    const history = renamed(w.history([{ user: "go" }, { call: "call_1" }, { result: "call_1", text: "seen" }, { user: "and now?" }]), "look", tool);
    const tools = [...renamed(w.tools(object), "look", tool), ...renamed(w.tools(object), "look", twin)];
    const choice = { openai: { tool_choice: { type: "function", function: { name: twin } } }, responses: { tool_choice: { type: "function", name: twin } }, anthropic: { tool_choice: { type: "tool", name: twin } }, gemini: { toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: [twin] } } } }[name];
    for (const stream of [false, true])
      holds(`heal ${name}${stream ? " stream" : ""}: names and ids that ${other} does not take are others there, and the same here`, {
        config: (c) => (c.models.find((m) => m.name === d.own).targets = [target[other].replace(/\/.*/, "/there"), ...(name === "responses" ? ["own-responses/spare"] : [])]),
        async run(pair) {
          const id = "call/of " + "y".repeat(80);
          let sent = null;
          pair.own.answer = (q, res) => {
            const b = JSON.stringify(body(q)), found = [...b.matchAll(/"(mcp_[^"]*)"/g)].map((m) => m[1]);
            const names = new Set(found.filter((f) => takes.test(f)));
            if (found.some((f) => !takes.test(f)) || names.size !== 2) return v.refuse(res, `these are no names: ${found}`);
            if (sent && b !== sent) return v.refuse(res, "it changes from turn to turn");
            sent = b;
            const chosen = JSON.stringify({ ...body(q).tool_choice, ...body(q).toolConfig }).match(/"(mcp_[^"]*)"/)?.[1];
            if (!names.has(chosen)) return v.refuse(res, "nothing was chosen");
            const calls = [[id, chosen, '{"city": "Oslo"}']];
            if (stream) sse(res, v.opening(), v.piece("so"), v.called(0, ...calls[0]), v.closingCalls()).end();
            else v.answer(res, "so", calls.map(([i, n, a]) => [i, n, v.toolArgs(JSON.parse(a))]));
          };
          for (let turn = 0; turn < 2; turn++) {
            const r = await question(pair, d, { model: d.own, stream, more: { [w.key]: history, tools, ...choice } });
            assert.equal(r.status, 200, r.text);
            const [[got, called, args]] = w.calls(r);
            assert.deepEqual([called, JSON.parse(args)], [twin, { city: "Oslo" }], r.text);
            assert.match(got, back);
            if (name === "gemini") assert.equal(got, id);
          }
        },
      });
  }
});

every((name, d, w) => {
  for (const [other, v] of Object.entries(wires)) {
    if (other === name) continue;
    holds(`heal ${name}: when ${other} refuses a tool that is called otherwise there, it is said by its name here`, {
      config: (c) => (c.models.find((m) => m.name === d.own).targets = [target[other].replace(/\/.*/, "/there"), ...(name === "responses" ? ["own-responses/spare"] : [])]),
      async run(pair) {
        const tool = long(120), names = new Set();
        pair.own.answer = (q, res) => {
          const [, there] = JSON.stringify(body(q)).match(/"(mcp_[^"]*)"/);
          names.add(there);
          v.refuse(res, `The tool '${there}' is not permitted for this key, nor will ${there} ever be.`);
        };
        const r = await question(pair, d, { model: d.own, more: { tools: renamed(w.tools(object), "look", tool) } });
        names.delete(tool); // of a target that takes it
        assert.ok(r.status >= 400 && names.size === 1, r.text);
        assert.ok(d.error(r.json).message.includes(`The tool '${tool}' is not permitted for this key, nor will ${tool} ever be`), r.text);
        for (const there of names) assert.ok(!(r.text + pair.eventsText()).includes(there), r.text);
      },
    });
  }
});

for (const [what, refusal] of Object.entries({
  "the array is too long": { message: "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 129 instead.", type: "invalid_request_error", param: "tools", code: "array_above_max_length" },
  "there are too many": { message: "Too many tools: 129. At most 128 are supported.", type: "invalid_request_error", code: null, param: null },
}))
  holds(`more tools than a provider takes are not sent again when it says that ${what}, and it is said what to do`, {
    async run(pair) {
      const d = dialects.openai, tools = Array.from({ length: 129 }, (_, i) => renamed(wires.openai.tools(object), "look", `look_${i}`)[0]);
      pair.own.answer = (q, res) => json(res, 400, { error: refusal });
      const r = await question(pair, d, { model: d.own, more: { tools } });
      assert.match(r.said, /Offer the model fewer tools/);
      assert.equal(pair.own.seen.length, 1);
    },
  });

for (const [other, v] of Object.entries(wires))
  if (other !== "anthropic")
    for (const says of [true, false])
      holds(`heal anthropic stream: an answer of ${other} that ${says ? "says" : "does not say"} what it used begins with the tokens of the request`, {
        config: (c) => (c.models.find((m) => m.name === "c-own").targets = [target[other].replace(/\/.*/, "/there")]),
        async run(pair) {
          const strip = (s) => (says ? s : s.replace(/"usage(Metadata)?":\{/g, '"unsaid":{'));
          pair.own.answer = (q, res) => {
            if (other === "openai") assert.equal(body(q).stream_options?.include_usage, true);
            const used = says && other === "openai" ? v.closingLength(77) : v.closing();
            sse(res, ...[v.opening(), v.piece("it is "), v.piece("42"), used].map(strip)).end();
          };
          const text = "word ".repeat(400), d = dialects.anthropic;
          const r = await question(pair, d, { model: "c-own", stream: true, text });
          assert.equal(r.said, "it is 42", r.text);
          const of = (type) => r.events.find((e) => e.json?.type === type).json, first = of("message_start").message.usage.input_tokens, last = of("message_delta").usage.input_tokens;
          const estimate = (n) => n > 400 && n < 1200;
          if (says && other === "gemini") assert.equal(first, 5); // who said it at once
          else assert.ok(estimate(first), r.text);
          if (says) assert.equal(last, other === "openai" ? 77 : 5, r.text);
          else assert.ok(estimate(last), r.text);
        },
      });

every((name, d, w) => {
  if (name === "gemini") return;
  for (const stream of [false, true])
    holds(`heal ${name}${stream ? " stream" : ""}: calls that Gemini gave no ids have one each, by which their results are told apart`, {
      config: (c) => (c.models.find((m) => m.name === d.own).targets = ["own-gemini/g-own"]),
      async run(pair) {
        const parts = ["Oslo", "Rome"].map((city) => ({ functionCall: { name: "look", args: { city } } }));
        const whole = { candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }], usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 } };
        pair.own.answer = (q, res) => (stream ? sse(res, `data: ${JSON.stringify(whole)}\n\n`).end() : json(res, 200, whole));
        const r = await question(pair, d, { model: d.own, stream, more: { tools: w.tools(object) } });
        const ids = w.calls(r).map(([id]) => id);
        assert.equal(ids.length, 2, r.text);
        assert.ok(ids.every(Boolean) && ids[0] !== ids[1], JSON.stringify(ids));
      },
    });
});

// A custom tool is a function where there are none, whatever it has to be called there.
const odd = "the editor of the office ".repeat(6).trim();
for (const [other, v] of Object.entries({ anthropic: wires.anthropic, gemini: wires.gemini }))
  for (const stream of [false, true])
    holds(`heal responses${stream ? " stream" : ""}: a custom tool that ${other} calls otherwise keeps its name here`, {
      config: (c) => (c.models.find((m) => m.name === "m-own").targets = [target[other].replace(/\/.*/, "/there"), "own-responses/spare"]),
      async run(pair) {
        pair.own.answer = (q, res) => {
          const [, there] = JSON.stringify(body(q)).match(/"(the_editor[^"]*)"/);
          if (stream) sse(res, v.opening(), v.piece("so"), v.called(0, "call_9", there, '{"input": "a"}'), v.closingCalls()).end();
          else v.answer(res, "so", [["call_9", there, v.toolArgs({ input: "a" })]]);
        };
        const input = [{ role: "user", content: "go" }, { type: "custom_tool_call", call_id: "call_1", name: odd, input: "a" }, { type: "custom_tool_call_output", call_id: "call_1", output: "seen" }, { role: "user", content: "and now?" }];
        const tools = [{ type: "custom", name: odd, description: "edits" }, ...wires.responses.tools(object)];
        const r = await question(pair, dialects.responses, { model: "m-own", stream, more: { input, tools } });
        assert.equal(r.status, 200, r.text);
        const items = stream ? r.events.map((e) => e.json).filter((e) => e?.type === "response.output_item.done").map((e) => e.item) : r.json.output;
        assert.deepEqual(items.filter((i) => i.type !== "message").map((i) => [i.type, i.name, i.input]), [["custom_tool_call", odd, "a"]], r.text);
        assert.doesNotMatch(r.text, /the_editor/);
      },
    });

// What each stream says, in its order: text, and names of tools.
const inOrder = {
  openai: (r) => r.events.flatMap((e) => e.json?.choices?.[0] ? [e.json.choices[0].delta.content, ...(e.json.choices[0].delta.tool_calls ?? []).map((c) => c.function.name)] : []),
  anthropic: (r) => r.events.flatMap((e) => [e.json?.delta?.text, e.json?.content_block?.name]),
  responses: (r) => r.events.filter((e) => e.json?.type === "response.output_item.done").map((e) => e.json.item.name ?? e.json.item.content[0].text),
  gemini: (r) => r.events.flatMap((e) => e.json?.candidates?.[0]?.content.parts.map((p) => p.text ?? p.functionCall.name)),
};
every((name, d, w) => {
  for (const [other, v] of Object.entries({ anthropic: wires.anthropic, gemini: wires.gemini }))
    if (other !== name)
      holds(`heal ${name} stream: text that ${other} says behind a call stays behind it`, {
        config: (c) => (c.models.find((m) => m.name === d.own).targets = [target[other].replace(/\/.*/, "/there")]),
        async run(pair) {
          const block = (text, index) => `event: x\ndata: ${JSON.stringify({ type: "content_block_start", index, content_block: { type: "text", text: "" } })}\n\nevent: x\ndata: ${JSON.stringify({ type: "content_block_delta", index, delta: { type: "text_delta", text } })}\n\nevent: x\ndata: ${JSON.stringify({ type: "content_block_stop", index })}\n\n`;
          const said = (text, index) => (other === "gemini" ? v.piece(text) : block(text, index));
          pair.own.answer = (q, res) => sse(res, v.opening(), v.piece("one "), v.called(0, "call_1", "look", '{"city":"Oslo"}'), said("two ", 2), said("three", 3), v.called(other === "gemini" ? 1 : 3, "call_2", "look", '{"city":"Bonn"}'), said("four", 5), v.closingCalls()).end();
          const r = await question(pair, d, { model: d.own, stream: true, more: { tools: w.tools(object) } });
          assert.deepEqual(inOrder[name](r).filter(Boolean).join("|").replace("two |three", "two three"), "one |look|two three|look|four", r.text);
          assert.ok(d.ended(r.events), r.text);
          assert.equal(pair.own.seen.length, 1);
        },
      });
});

// A client that offers `functions` knows calls as function_call alone, whoever answers it, and one at a time.
for (const other of ["anthropic", "responses", "gemini", "openai"])
  for (const stream of [false, true])
    holds(`heal openai${stream ? " stream" : ""}: who offers functions gets a function_call ${other !== "openai" ? `from ${other}` : stream ? "from behind a cut" : "that was mended"}`, {
      config: (c) => (c.models.find((m) => m.name === "m-own").targets = [target[other]]),
      async run(pair) {
        const v = wires[other], cut = other === "openai";
        const old = (call, finish) => `data: ${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m-own", choices: [{ index: 0, delta: call ? { function_call: call } : {}, finish_reason: finish ?? null }] })}\n\n`;
        pair.own.answer = (q, res) => {
          if (cut && stream && q.n === 1) return sse(res, v.opening(), v.piece("Let me look at the city of Oslo")).end();
          if (cut && stream) return sse(res, v.opening(), v.piece(" now."), old({ name: "look", arguments: "" }), old({ arguments: '{"city": "Oslo"}' }), old(null, "function_call"), "data: [DONE]\n\n").end();
          if (cut) return json(res, 200, { id: "chatcmpl-1", object: "chat.completion", created: 1, model: "m-own", choices: [{ index: 0, message: { role: "assistant", content: "now.", function_call: { name: "look", arguments: '{"city": "Oslo",}' } }, finish_reason: "function_call" }] });
          if (stream) sse(res, v.opening(), v.piece("now."), v.called(0, "call_1", "look", '{"city": "Oslo"}'), v.called(1, "call_2", "look", '{"city": "Bergen"}'), v.closingCalls()).end();
          else v.answer(res, "now.", [["call_1", "look", v.toolArgs({ city: "Oslo" })], ["call_2", "look", v.toolArgs({ city: "Bergen" })]]);
        };
        const messages = [{ role: "user", content: "go" }, { role: "assistant", content: null, function_call: { name: "look", arguments: "{}" } }, { role: "function", name: "look", content: "which?" }];
        const r = await question(pair, dialects.openai, { model: "m-own", stream, more: { messages, functions: [{ name: "look", parameters: object }], function_call: "auto" } });
        assert.equal(r.status, 200, r.text);
        assert.match(r.said, /now\.$/);
        const parts = stream ? r.events.map((e) => e.json?.choices?.[0]).filter(Boolean) : r.json.choices;
        const calls = parts.map((c) => (c.delta ?? c.message).function_call).filter(Boolean);
        assert.equal(calls[0].name, "look", r.text);
        assert.deepEqual(JSON.parse(calls.map((c) => c.arguments).join("")), { city: "Oslo" });
        assert.ok(!/tool_calls/.test(r.text), r.text);
        assert.equal(parts.at(-1).finish_reason, "function_call");
        const sent = body(pair.own.seen.at(-1));
        if (other === "anthropic") assert.equal(sent.tool_choice.disable_parallel_tool_use, true);
        if (other === "responses") assert.equal(sent.parallel_tool_calls, false);
      },
    });
