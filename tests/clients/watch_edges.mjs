// Agents at the edges: ids that tell nothing apart, requests made to be slow, words that must not get out, requests in
// which nothing can be said. Raw bodies, and a provider of the test's own that keeps what it got.
import { until } from "./net.mjs";
import assert from "node:assert/strict";
import { holds } from "./wire.mjs";
import { json, wires } from "./wires.mjs";

const w = wires.openai;
const mode = (watch) => (c) => ((c.watch = watch), Object.assign(c.timeouts, { first_byte: "10s", idle: "10s", total: "60s" }));
const tools = [{ type: "function", function: { name: "look", parameters: { type: "object", properties: {} } } }];
const call = (id, args = "{}") => ({ role: "assistant", content: null, tool_calls: [{ id, type: "function", function: { name: "look", arguments: args } }] });
const result = (id, content) => ({ role: "tool", tool_call_id: id, content });
const user = (content) => ({ role: "user", content });

async function post(pair, body, { path = w.path, key = "sk-client-a", headers = {} } = {}) {
  const sent = JSON.stringify(body), n = pair.own.seen.length;
  const r = await fetch(pair.base + path, { method: "POST", body: sent, headers: { "content-type": "application/json", authorization: `Bearer ${key}`, "x-api-key": key, ...headers } });
  const text = await r.text(), got = pair.own.seen[n]?.body.toString();
  return { status: r.status, text, headers: r.headers, sent, got, changed: got !== sent, calls: pair.own.seen.length - n };
}
// An agent that makes one call again and again: the turn in which it was told, counted from 1; 0: never.
async function told_in(pair, id, { turns = 10, task = "Find the leak.", said = () => "3 pipes", ...more } = {}) {
  const messages = [user(task)];
  for (let i = 0; i < turns; i++) {
    messages.push(call(id(i)), result(id(i), said(i)));
    if ((await post(pair, { model: "m-own", messages, tools, ...more })).changed) return i + 1;
  }
  return 0;
}
const talks = (pair) => (pair.own.answer = (q, res) => w.answer(res, "ok"));

for (const [what, id] of Object.entries({ "one id for all": () => "call_0", "ids that are counted": (i) => `call_${i}`, "no ids that mean anything": () => "", "ids made by chance": (i) => `call_${(0x9e3779b9 * (i + 1)).toString(36)}` }))
  holds(`a circle is seen with ${what}`, {
    config: mode("guide"),
    async run(pair) {
      talks(pair);
      const turn = await told_in(pair, id);
      assert.ok(turn >= 3 && turn <= 6, `told in turn ${turn}`);
    },
  });

holds("an agent whose first call is another's newest one, under the same counted id, is not told of that one's circle", {
  config: mode("guide"),
  async run(pair) {
    talks(pair);
    assert.ok((await told_in(pair, () => "functions.look:0")) > 0);
    for (const task of ["Count the doors.", "Paint the fence."]) {
      const r = await post(pair, { model: "m-own", messages: [user(task), call("functions.look:0"), result("functions.look:0", "3 pipes")], tools });
      assert.equal(r.changed, false, "it was told what another one did");
    }
  },
});

holds("what a server keeps the rest of, and what only talks, makes nobody be forgotten", {
  config: (c) => (mode("guide")(c), c.providers.forEach((p) => p.keys.splice(1))),
  async run(pair) {
    talks(pair);
    for (let i = 0; i < 20; i++) {
      await post(pair, { model: "m-own", messages: [user(`Hello ${i}.`)], tools });
      const input = [{ type: "function_call_output", call_id: `call_${i}x7Gq`, output: "done" }];
      await post(pair, { model: "m-own", previous_response_id: `resp_${i}`, input, tools: [{ type: "function", name: "look", parameters: {} }] }, { path: "/v1/responses" });
    }
    assert.equal((await pair.status()).watch.agents, 0);
  },
});

holds("a request made to be slow is none: 30000 calls and 30000 results that do not belong together", {
  limit: 60000,
  config: mode("guide"),
  async run(pair) {
    pair.own.answer = (q, res) => wires.anthropic.answer(res, "ok");
    const many = (f) => Array.from({ length: 30000 }, (_, i) => f(i));
    for (const [mine, theirs] of [["a", "b"], ["a", "a"]]) {
      const calls = many((i) => ({ type: "tool_use", id: `${mine}${i}`, name: "look", input: {} }));
      const results = many((i) => ({ type: "tool_result", tool_use_id: `${theirs}${i}`, content: "Error: no such pipe" }));
      const messages = [{ role: "user", content: "Go." }, { role: "assistant", content: calls }, { role: "user", content: results }, { role: "assistant", content: "So." }, { role: "user", content: "Yes." }];
      const began = Date.now();
      const r = await post(pair, { model: "c-own", max_tokens: 50, messages, tools: [{ name: "look", input_schema: { type: "object" } }] }, { path: "/v1/messages", headers: { "anthropic-version": "2023-06-01" } });
      assert.equal(r.status, 200);
      assert.ok(Date.now() - began < 5000, `it took ${Date.now() - began} ms`);
    }
  },
});

// A model that makes the same call whatever it is told.
const stubborn = (pair, id = "call_again1") => (pair.own.answer = (q, res) => w.answer(res, null, [[id, "look", "{}"]]));

holds("enforce: a secret that a tool gave is in no event, and what was stopped is counted", {
  limit: 60000,
  config: mode("enforce"),
  async run(pair) {
    const secret = "AKIAIOSFODNN7EXAMPLE", password = "postgres://app:hunter2hunter2@db/x";
    stubborn(pair);
    const messages = [user("Find the leak.")];
    let stopped = 0, last;
    for (let i = 0; i < 12 && !stopped; i++) {
      messages.push(call(`call_${i}Qx9z`), result(`call_${i}Qx9z`, `aws_access_key_id = ${secret}\nurl = ${password}`));
      last = await post(pair, { model: "m-own", messages, tools });
      stopped += last.text.includes("[daruma]");
    }
    assert.equal(stopped, 1, "it was not stopped");
    const events = pair.eventsText();
    assert.doesNotMatch(events, new RegExp(`${secret}|hunter2`));
    assert.match(last.headers.get("x-daruma-watch"), /; stop_partial$/);
    assert.equal(last.headers.get("x-daruma-outcome"), "degraded");
    assert.equal((await pair.status()).remedies.stop_partial, 1);
    assert.equal(pair.events().filter((e) => e.event === "agent_stopped").length, 1);
    assert.ok(pair.events().some((e) => e.event === "call_refused"));
  },
});

holds("enforce: a call that is refused is answered with its own last result, not with the newest of its lap", {
  limit: 60000,
  config: mode("enforce"),
  async run(pair) {
    const says = { look: "3 pipes", measure: "12 bar in the cellar" }, names = Object.keys(says), messages = [user("Find the leak.")];
    const both = names.map((name) => ({ type: "function", function: { name, parameters: { type: "object", properties: {} } } }));
    const refused = [];
    for (let i = 0; i < 16 && !refused.length; i++) {
      const id = `call_${i}Qx9z`, name = names[i % 2];
      messages.push({ role: "assistant", content: null, tool_calls: [{ id, type: "function", function: { name, arguments: "{}" } }] }, result(id, says[name]));
      pair.own.answer = (q, res) => w.answer(res, null, [["call_again1", names[(i + 1) % 2], "{}"]]);
      const r = await post(pair, { model: "m-own", messages, tools: both });
      const said = pair.own.seen.slice(-r.calls).map((q) => JSON.parse(q.body).messages.at(-1).content);
      refused.push(...said.filter((text) => /The call of \w+ was refused/.test(text)));
    }
    assert.ok(refused.length > 0, "nothing was refused");
    for (const text of refused) {
      const [, name, gave] = /The call of (\w+) was refused[^]* Its last result was: (.*)/.exec(text);
      assert.equal(gave, says[name]);
    }
  },
});

for (const [what, recovery] of Object.entries({ "recovery.mend: false": { mend: false }, "recovery.enabled: false": { enabled: false }, "the profile compact": { profile: "compact" } }))
  holds(`enforce means observe under ${what}: events, and no byte changed`, {
    config: (c) => (mode("enforce")(c), (c.recovery = recovery)),
    async run(pair) {
      talks(pair);
      assert.equal(await told_in(pair, (i) => `call_${i}Qx9z`, { turns: 12, said: () => "Error: ENOENT: no such file" }), 0);
      const events = pair.events(), named = (name) => events.filter((e) => e.event === name);
      assert.equal(named("tool_failed").length, 12);
      assert.equal(named("loop_detected").length, 1);
      assert.match(named("needs_review")[0].reason, recovery.profile ? /^Too many errors with look$/ : /3 times in a row/);
      assert.equal(named("nudge").length, 0);
    },
  });

holds("a notice about failures says the line that matters, not where the trace begins", {
  config: mode("guide"),
  async run(pair) {
    talks(pair);
    const trace = `Traceback (most recent call last):\n${'  File "/srv/app/store/lib/open.py", line 12, in open_it\n    return self.inner.open(path, mode, *rest)\n'.repeat(6)}FileNotFoundError: [Errno 2] No such file or directory: '/srv/x.ini'\n`;
    assert.ok((await told_in(pair, (i) => `call_${i}Qx9z`, { said: () => trace })) > 0);
    const notice = JSON.parse(pair.own.seen.at(-1).body).messages.at(-1).content;
    assert.match(notice, /failed with `FileNotFoundError: .*No such file or directory: '\/srv\/x.ini'`/);
    assert.doesNotMatch(notice, /Traceback/);
  },
});

holds("failed results that were shown compactly stay so when the user says something new", {
  config: (c) => (mode("guide")(c), (c.tool_errors = "compact")),
  async run(pair) {
    talks(pair);
    const trace = `Error: ENOENT: no such file or directory, open '/srv/x'\n${"    at open (/srv/app/node_modules/store/lib/open.js:12:7)\n".repeat(30)}`;
    const messages = [user("Find the leak."), call("call_1Qx9z"), result("call_1Qx9z", trace)];
    const first = await post(pair, { model: "m-own", messages, tools });
    messages.push({ role: "assistant", content: "It is not there." }, user("Then count the doors."));
    const second = await post(pair, { model: "m-own", messages, tools });
    assert.doesNotMatch(first.got, /node_modules/);
    assert.equal(JSON.stringify(JSON.parse(second.got).messages.slice(0, 3)), JSON.stringify(JSON.parse(first.got).messages), "what the provider has cached was changed");
  },
});

holds("enforce: who calls functions in the older spelling is forbidden them in it", {
  limit: 60000,
  config: mode("enforce"),
  async run(pair) {
    stubborn(pair);
    pair.own.answer = (q, res) => json(res, 200, { id: "c", object: "chat.completion", created: 1, model: "m-own", choices: [{ index: 0, message: { role: "assistant", content: null, function_call: { name: "look", arguments: "{}" } }, finish_reason: "function_call" }], usage: { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 } });
    const messages = [user("Find the leak.")], functions = tools.map((t) => t.function);
    for (let i = 0; i < 12; i++) {
      messages.push({ role: "assistant", content: null, function_call: { name: "look", arguments: "{}" } }, { role: "function", name: "look", content: "3 pipes" });
      if ((await post(pair, { model: "m-own", messages, functions })).text.includes("[daruma]")) break;
    }
    const asked = pair.own.seen.map((q) => JSON.parse(q.body));
    assert.ok(asked.some((b) => b.function_call === "none"), "it may call until the end");
    assert.ok(asked.every((b) => !("tool_choice" in b)), "a choice of tools, where there are none");
  },
});

holds("where nothing can be said nothing is done, and nothing is claimed: the model's turn has begun", {
  config: mode("enforce"),
  async run(pair) {
    pair.own.answer = (q, res) => wires.anthropic.answer(res, "ok");
    const messages = [user("Find the leak.")], declared = [{ name: "look", input_schema: { type: "object" } }];
    for (let i = 0; i < 10; i++) {
      const id = `toolu_${i}Qx9z`;
      messages.push({ role: "assistant", content: [{ type: "tool_use", id, name: "look", input: {} }] }, { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "3 pipes" }] });
      const r = await post(pair, { model: "c-own", max_tokens: 50, tools: declared, messages: [...messages, { role: "assistant", content: "So" }] }, { path: "/v1/messages", headers: { "anthropic-version": "2023-06-01" } });
      if (r.calls === 0) break; // stopped
      assert.equal(r.changed, false);
      assert.equal(r.headers.get("x-daruma-watch"), null);
    }
  },
});

holds("two agents at work under one name are not told that they go in circles", {
  config: mode("guide"),
  async run(pair) {
    talks(pair);
    const both = ["Count the doors.", "Paint the fence."].map((task) => [user(task)]);
    for (let i = 0; i < 14; i++)
      for (const [k, messages] of both.entries()) {
        const id = `call_${i}${k}Qx9z`;
        messages.push(call(id, JSON.stringify({ room: `${k}-${i}` })), result(id, `there are ${(i * 7 + k * 3) % 11} of them, and the ${i}th is ${["red", "blue", "old", "new"][i % 4]}`));
        const r = await post(pair, { model: "m-own", messages, tools }, { headers: { "x-daruma-session": "crew" } });
        assert.equal(r.changed, false, `told in turn ${i + 1}: ${r.got?.slice(-400)}`);
      }
  },
});

// Messages are a list on Anthropic's wire, also behind a kept answer: what the server refuses is nobody's history.
holds("words in place of messages, behind an answer that Anthropic keeps, are no history that was shortened", {
  config: mode("guide"),
  async run(pair) {
    const claude = wires.anthropic, to = { path: claude.path, headers: { "x-daruma-session": "crew; continued", "anthropic-version": "2023-06-01" } };
    const asked = { model: "c-own", max_tokens: 100, tools: [{ name: "look", input_schema: { type: "object", properties: {} } }] };
    pair.own.answer = (q, res) => (Array.isArray(JSON.parse(q.body).messages) ? claude.answer(res, "ok") : json(res, 400, { type: "error", error: { type: "invalid_request_error", message: "messages: Input should be a valid list" } }));
    const look = { type: "tool_use", id: "toolu_1x7Gq", name: "look", input: {} }, pipes = { type: "tool_result", tool_use_id: look.id, content: "3 pipes" };
    assert.equal((await post(pair, { ...asked, messages: [user("Find the leak."), { role: "assistant", content: [look] }, user([pipes])] }, to)).status, 200);
    for (let i = 0; i < 8; i++) await post(pair, { ...asked, thread: { type: "continue", previous_message_id: "msg_1" }, messages: `go on ${i}` }, to);
    assert.deepEqual(pair.events().filter((e) => e.event === "loop_detected"), []);
  },
});

// A run of the same steps, under a name; whether its last request was changed.
async function run_named(pair, { task, turns, session = "night-shift", tag, system = "You mend pipes." }) {
  const messages = [{ role: "system", content: system }, user(task)];
  let changed = false;
  for (let i = 0; i < turns; i++) {
    messages.push(call(`call_${tag}${i}Qx9z`), result(`call_${tag}${i}Qx9z`, "3 pipes"));
    changed = (await post(pair, { model: "m-own", messages, tools }, { headers: { "x-daruma-session": session } })).changed;
    if (changed) break;
  }
  return changed;
}

holds("a new conversation under an old name begins anew, unless it or its client says that it goes on", {
  config: mode("guide"),
  async run(pair) {
    talks(pair);
    for (let i = 0; i < 6; i++) assert.equal(await run_named(pair, { task: `Task ${i}: look around.`, turns: 2, tag: `n${i}` }), false, `told in conversation ${i}`);
    const before = { session: "day-shift", turns: 2 };
    await run_named(pair, { ...before, task: "Find the leak.", tag: "a" });
    assert.equal(await run_named(pair, { ...before, task: "This session is being continued from a previous conversation that ran out of context. Find the leak.", tag: "b" }), true, "a summary was taken for a new task");
    await run_named(pair, { ...before, session: "third-shift", task: "Find the leak.", tag: "c" });
    assert.equal(await run_named(pair, { ...before, session: "third-shift; continued", task: "Go on with the leak.", tag: "d" }), true, "the client was not believed");
  },
});

holds("calls in a history are seen where no tools are offered any more, and none is forbidden there", {
  limit: 60000,
  config: mode("enforce"),
  async run(pair) {
    talks(pair);
    const turn = await told_in(pair, (i) => `call_${i}Qx9z`, { tools: undefined });
    assert.ok(turn >= 3 && turn <= 6, `told in turn ${turn}`);
    assert.ok((await told_in(pair, (i) => `call_2${i}Qx9z`, { tools: undefined, task: "Go on.", turns: 4 })) > 0);
    const messages = [user("Mend it.")];
    for (let i = 0; i < 12; i++) {
      messages.push(call(`call_3${i}Qx9z`), result(`call_3${i}Qx9z`, "3 pipes"));
      if ((await post(pair, { model: "m-own", messages })).text.includes("[daruma]")) break;
    }
    for (const q of pair.own.seen) assert.ok(!("tool_choice" in JSON.parse(q.body)), "a choice of tools, where there are none");
    // Who only talks is not looked at.
    for (let i = 0; i < 8; i++) assert.equal((await post(pair, { model: "m-own", messages: Array.from({ length: 2 * i + 1 }, (_, k) => ({ role: k % 2 ? "assistant" : "user", content: "Well." })) })).changed, false);
  },
});

holds("names of any length, bodies that hold odd things, and clients that leave end nobody", {
  config: mode("enforce"),
  async run(pair) {
    talks(pair);
    const odd = [
      '{"model":"m-own","tools":[{}],"messages":[]}',
      '{"model":"m-own","tools":[{}],"messages":[null,1,"a",[],{},{"role":null},{"role":"tool"},{"role":"assistant","tool_calls":[null,{},{"id":null,"function":null}]}]}',
      '{"model":"m-own","tools":[{"type":"function","function":{"name":"look"}}],"messages":[{"role":"user","content":"x"}],"messages":[{"role":"user","content":"y"},{"role":"tool","tool_call_id":"t","content":"r"}]}',
      `{"model":"m-own","tools":[{}],"messages":[${'{"role":"user","content":"a"},'.repeat(10000)}{"role":"tool","tool_call_id":"abcdef12","content":null}]}`,
      `{"model":"m-own","tools":[{}],"messages":[{"role":"tool","tool_call_id":"abcdef12","content":${"[".repeat(60)}1${"]".repeat(60)}}]}`,
      '{"model":"m-own","tools":[{}],"messages":[{"role":"assistant","tool_calls":[{"id":"\\ud800zzzz","type":"function","function":{"name":"\\u0000","arguments":"{\\"a\\":\\"\\ud800\\"}"}}]},{"role":"tool","tool_call_id":"\\ud800zzzz","content":"\\ud800"}]}',
    ];
    for (const body of odd)
      for (const name of ["", "n", "n".repeat(6000)])
        for (let i = 0; i < 3; i++) {
          const r = await fetch(pair.base + w.path, { method: "POST", body, headers: { "content-type": "application/json", authorization: "Bearer sk-client-a", ...(name && { "x-daruma-session": name }) } });
          assert.ok(r.status < 500, `${r.status} for ${body.slice(0, 80)}`);
          await r.arrayBuffer();
        }
    // In circles, with results that break off in the midst of a character; clients leave while a model is asked on the side.
    const messages = [user("Find the leak.")];
    let waits = true;
    pair.own.answer = (q, res) => (waits && JSON.parse(q.body).tools === undefined ? setTimeout(() => w.answer(res, "no"), 400) : w.answer(res, null, [["call_again1", "look", "{}"]]));
    for (let i = 0; i < 14; i++) {
      messages.push(call(`call_${i}Qx9z`), result(`call_${i}Qx9z`, `ok ${"\u{1F6B0}".repeat(700)}`));
      const gone = new AbortController(), late = setTimeout(() => gone.abort(), 150);
      const r = await fetch(pair.base + w.path, { method: "POST", body: JSON.stringify({ model: "m-own", messages, tools, stream: i % 2 === 1 }), signal: gone.signal, headers: { "content-type": "application/json", authorization: "Bearer sk-client-a" } }).then((r) => r.text()).catch(() => "");
      clearTimeout(late);
      if (i === 8) waits = false;
      if (r.includes("[daruma]")) break;
    }
    for (const q of pair.own.seen.slice(-12)) assert.ok(!q.body.toString("utf8").includes("\ufffd"), "a character was cut in two");
    await until("nobody is served any more", async () => !((await pair.status()).active ?? 0));
  },
});

holds("enforce: a target of another dialect is told and forbidden in its own words, and the client hears the end in its own", {
  limit: 60000,
  config: (c) => (mode("enforce")(c), c.models.push({ name: "m-moved", targets: ["own-claude/c-moved"] })),
  async run(pair) {
    pair.own.answer = (q, res) => wires.anthropic.answer(res, null, [["toolu_again1", "look", "{}"]]);
    const messages = [user("Find the leak.")];
    let end = null;
    for (let i = 0; i < 12 && !end; i++) {
      messages.push(call(`call_${i}Qx9z`), result(`call_${i}Qx9z`, "3 pipes"));
      const r = await post(pair, { model: "m-moved", messages, tools, tool_choice: "required" });
      assert.equal(r.status, 200);
      const m = JSON.parse(r.text).choices[0].message;
      if (m.content?.includes("[daruma]")) end = m;
    }
    assert.ok(end, "it was not stopped");
    const asked = pair.own.seen.map((q) => JSON.parse(q.body));
    assert.ok(asked.some((b) => b.tool_choice?.type === "none"), "it may call until the end");
    assert.ok(asked.some((b) => JSON.stringify(b.messages.at(-1)).includes("going in circles")));
    for (const b of asked) for (const [i, m] of b.messages.entries()) assert.ok(i === 0 || m.role !== b.messages[i - 1].role, "two turns of one");
  },
});

holds("enforce: who wants one JSON array gets what is known as one", {
  limit: 60000,
  config: mode("enforce"),
  async run(pair) {
    pair.own.answer = (q, res) => json(res, 200, [{ candidates: [{ content: { role: "model", parts: [{ functionCall: { name: "look", args: {} } }] }, finishReason: "STOP", index: 0 }], usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 5, totalTokenCount: 10 } }]);
    const contents = [{ role: "user", parts: [{ text: "Find the leak." }] }];
    let end = null;
    for (let i = 0; i < 12 && !end; i++) {
      contents.push({ role: "model", parts: [{ functionCall: { name: "look", args: {} } }] }, { role: "user", parts: [{ functionResponse: { name: "look", response: { output: "3 pipes" } } }] });
      const r = await post(pair, { contents, tools: [{ functionDeclarations: [{ name: "look" }] }], tool_config: { function_calling_config: { mode: "ANY" } } }, { path: "/v1beta/models/g-own:streamGenerateContent", headers: { "x-goog-api-key": "sk-client-a" } });
      assert.equal(r.status, 200);
      const list = JSON.parse(r.text);
      assert.ok(Array.isArray(list));
      end = list[0].candidates[0].content.parts.find((p) => p.text?.includes("[daruma]"));
    }
    assert.ok(end, "it was not stopped");
    const asked = pair.own.seen.map((q) => JSON.parse(q.body));
    assert.ok(asked.every((b) => !("toolConfig" in b)), "it was said twice how tools may be called");
    assert.ok(asked.some((b) => b.tool_config?.functionCallingConfig?.mode === "NONE"), "it may call until the end");
  },
});

holds("enforce: an agent that keeps its history short, and names no calls by ids, is stopped all the same", {
  limit: 60000,
  config: mode("enforce"),
  async run(pair) {
    const turn = [{ role: "model", parts: [{ functionCall: { name: "look", args: {} } }] }, { role: "user", parts: [{ functionResponse: { name: "look", response: { output: "3 pipes" } } }] }];
    const answer = { candidates: [{ content: turn[0], finishReason: "STOP", index: 0 }], usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 5, totalTokenCount: 10 } };
    pair.own.answer = (q, res) => json(res, 200, answer);
    const ask = (n) => post(pair, { contents: [{ role: "user", parts: [{ text: "Find the leak." }] }, ...Array(n).fill(turn).flat()], tools: [{ functionDeclarations: [{ name: "look" }] }] }, { path: "/v1beta/models/g-own:generateContent", headers: { "x-goog-api-key": "sk-client-a" } });
    let stopped = 0;
    for (let i = 1; i < 16 && !stopped; i++) stopped = (await ask(Math.min(i, 4))).text.includes("[daruma]") ? i : 0;
    assert.ok(stopped > 5, `stopped in turn ${stopped}`);
    assert.ok((await ask(4)).text.includes("[daruma]"), "who asks once more goes on");
  },
});

// An agent whose calls differ and fail in one way: there is none to refuse, so another way is looked for. A model that is
// asked on the side proposes one.
const proposal = { strategy: "alternative-tool", reasoning: "The look fails wherever it is tried.", action: { toolName: "listen", parameters: { room: "cellar" } }, expectedOutcome: "The leak is heard.", confidence: 0.9 };
const listen = { type: "function", function: { name: "listen", parameters: { type: "object", properties: { room: { type: "string" } }, required: ["room"] } } };
async function ask_for_a_way(pair, answer = JSON.stringify(proposal), messages = [user("Find the leak.")]) {
  const sides = [], mains = [];
  pair.own.answer = (q, res) => (JSON.parse(q.body).tools ? (mains.push(JSON.parse(q.body)), w.answer(res, "hm")) : (sides.push(JSON.parse(q.body)), w.answer(res, answer)));
  for (let i = 0; i < 14 && !sides.length; i++) {
    messages.push(call(`call_${i}Qx9z`, JSON.stringify({ place: `wall ${i}` })), result(`call_${i}Qx9z`, "Error: the lamp is broken, no light"));
    await post(pair, { model: "m-own", messages, tools: [...tools, listen] });
  }
  const events = pair.events();
  return { sides, last: JSON.stringify(mains.at(-1).messages.at(-1)), proposed: events.filter((e) => e.event === "recovery_strategy_generated"), review: events.filter((e) => e.event === "needs_review" && e.strategy) };
}
holds("strategies: a model is asked about what fails now, whatever failed before, and not about what was overcome", {
  limit: 60000,
  config: (c) => strategies("log")(c),
  async run(pair) {
    const before = ["no such door", "permission denied: attic", "timed out after 3 s", "rate limit reached, slow down", "connection refused by the sink", "field `depth` is required", "401 unauthorized", "disk quota exceeded", "broken pipe", "not a directory: roof", "checksum mismatch", "unexpected end of input"];
    const messages = [user("Find the leak.")];
    before.forEach((why, i) => messages.push(call(`call_b${i}Qx9z`, JSON.stringify({ door: `d${i}` })), result(`call_b${i}Qx9z`, `Error: ${why}`)));
    messages.push(call("call_o1Qx9z", '{"window":"w"}'), result("call_o1Qx9z", "Error: the window is stuck"), call("call_o2Qx9z", '{"window":"w"}'), result("call_o2Qx9z", "a garden with a pond"));
    const r = await ask_for_a_way(pair, JSON.stringify(proposal), messages);
    const asked = JSON.stringify(r.sides[0].messages);
    assert.match(asked, /the lamp is broken/);
    assert.doesNotMatch(asked, /the window is stuck/, "it was asked about what was overcome");
    assert.doesNotMatch(asked, /disk quota|broken pipe|not a directory/, "it was asked about old failures");
  },
});

const strategies = (how) => (c) => (mode("enforce")(c), (c.strategies = how));

holds("strategies: log, a proposal is written down and nobody else hears of it", {
  limit: 60000,
  config: strategies("log"),
  async run(pair) {
    const r = await ask_for_a_way(pair);
    assert.equal(r.sides.length, 1);
    assert.equal(r.sides[0].temperature, 0.2);
    assert.equal(r.sides[0].max_completion_tokens, 600);
    assert.match(JSON.stringify(r.sides[0].messages), /the lamp is broken/);
    assert.deepEqual(r.proposed.map((e) => [e.strategy, e.tool, e.confidence_milli, e.mode, e.fate]), [["alternative-tool", "listen", 900, "log", "log"]]);
    assert.equal(r.review.length, 0);
    assert.match(r.last, /going in circles/);
    assert.doesNotMatch(r.last, /listen/);
  },
});

holds("strategies: auto, the model is told what is sure enough", {
  limit: 60000,
  config: strategies("auto"),
  async run(pair) {
    const r = await ask_for_a_way(pair);
    assert.deepEqual(r.proposed.map((e) => [e.mode, e.fate]), [["auto", "do"]]);
    assert.match(r.last, /A way to go on: call listen with .*cellar/);
  },
});

holds("strategies: auto, what is not sure, or no known tool, is not told the model", {
  limit: 60000,
  config: strategies("auto"),
  async run(pair) {
    const r = await ask_for_a_way(pair, JSON.stringify({ ...proposal, action: { toolName: "dig", parameters: {} } }));
    assert.equal(r.proposed.length, 1);
    assert.notEqual(r.proposed[0].tool, "dig");
    assert.doesNotMatch(r.last, /dig/);
  },
});

holds("strategies: ask, a person is asked and the model is not told", {
  limit: 60000,
  config: strategies("ask"),
  async run(pair) {
    const r = await ask_for_a_way(pair);
    assert.deepEqual(r.proposed.map((e) => [e.mode, e.fate]), [["ask", "ask"]]);
    assert.equal(r.review.length, 1);
    assert.doesNotMatch(r.last, /listen/);
  },
});
