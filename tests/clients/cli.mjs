// Commands that read a request and print one: `daruma mend` and `daruma convert`.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { daruma } from "./pair.mjs";
import { wire } from "./wire.mjs";

const run = (args, input) => {
  const r = spawnSync(daruma, args, { input: typeof input === "string" ? input : JSON.stringify(input), encoding: "utf8" });
  return { code: r.status, out: r.stdout, err: r.stderr };
};
const holds = (name, run) => wire.push({ name: `cli: ${name}`, chaos: "faults: []\n", run: async () => run() });

const lost = {
  openai: { model: "m", messages: [{ role: "user", content: "go" }, { role: "assistant", content: null, tool_calls: [{ id: "c1", type: "function", function: { name: "look", arguments: "{}" } }] }, { role: "user", content: "well?" }] },
  anthropic: { model: "m", max_tokens: 9, messages: [{ role: "user", content: "go" }, { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "look", input: {} }] }, { role: "user", content: "well?" }] },
  "openai-responses": { model: "m", input: [{ role: "user", content: "go" }, { type: "function_call", call_id: "c1", name: "look", arguments: "{}" }, { role: "user", content: "well?" }] },
  gemini: { contents: [{ role: "user", parts: [{ text: "go" }] }, { role: "model", parts: [{ functionCall: { name: "look", args: {} } }] }, { role: "user", parts: [{ text: "well?" }] }] },
};

holds("control characters of others never reach the terminal", () => {
  const bad = "\u001b]0;owned\u0007\u009b31m\u007f red";
  const error = JSON.stringify({ error: { message: `Rate limit ${bad}`, code: "rate_limit_exceeded" } });
  const broken = run(["mend", "--dialect", "openai"], `{"model": ${bad}}`);
  const cut = run(["convert", "--answer", "--from", "openai", "--to", "anthropic"], `data: {"error":{"message":"no ${"\\u001b"} ${bad.slice(-6)}"}}\n\n`);
  const judged = run(["classify", "--status", "429"], error);
  for (const r of [broken, cut, judged]) assert.doesNotMatch(r.out + r.err, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/, JSON.stringify(r));
  assert.match(broken.err, /this is no JSON: \?\]0;owned/);
});

holds("health names the address that it asked, with or without a slash at its end", () => {
  for (const at of ["http://127.0.0.1:1", "http://127.0.0.1:1/"]) assert.match(run(["health", at]).err, /^daruma health: http:\/\/127\.0\.0\.1:1\/health: /);
});

for (const [name, request] of Object.entries(lost)) {
  holds(`mend and convert find the dialect themselves, and refuse what is of another: ${name}`, () => {
    const said = run(["mend", "--dialect", name], request);
    assert.deepEqual(run(["mend"], request), said);
    for (const other of Object.keys(lost).filter((o) => o !== name)) {
      for (const args of [["mend", "--dialect", other], ["convert", "--from", other, "--to", name]]) {
        const r = run(args, request);
        assert.ok(r.code > 0 && r.out === "", `${args}: ${r.out}`);
        assert.match(r.err, new RegExp(`looks like a request of ${name} .*say --(dialect|from) ${name}`));
      }
      assert.deepEqual(run(["convert", "--to", other], said.out), run(["convert", "--from", name, "--to", other], said.out));
    }
  });
  holds(`mend gives a lost call its result, once: ${name}`, () => {
    const r = run(["mend", "--dialect", name], request);
    assert.equal(r.code, 0, r.err);
    assert.match(r.out, /unknown/i);
    assert.match(r.err, /1 tool call/);
    const again = run(["mend", "--dialect", name], r.out);
    assert.equal(again.out.trim(), r.out.trim(), "it was mended twice");
  });
  holds(`mend leaves alone what is well: ${name}`, () => {
    const well = name === "gemini" ? '{"contents" : [ {"role":"user","parts":[{"text":"hi"}]} ]}' : name === "openai-responses" ? '{"model":"m", "input" : "hi"}' : '{"model":"m", "messages" : [ {"role":"user","content":"hi"} ], "max_tokens":9}';
    assert.equal(run(["mend", "--dialect", name], well).out.trim(), well);
  });
  for (const to of Object.keys(lost))
    holds(`convert ${name} to ${to} and back keeps what was said and called`, () => {
      const there = run(["convert", "--from", name, "--to", to], run(["mend", "--dialect", name], request).out);
      assert.equal(there.code, 0, there.err);
      const back = run(["convert", "--from", to, "--to", name], there.out);
      assert.equal(back.code, 0, back.err);
      for (const word of ["go", "well?", "look"]) assert.ok(there.out.includes(word) && back.out.includes(word), `${word} is lost: ${there.out} ${back.out}`);
    });
}

holds("a request that could be of two dialects is what it is said to be, and one that shows both is believed as well", () => {
  const plain = '{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":9}';
  const both = '{"model":"m","system":"be brief","messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"x"}]}';
  for (const text of [plain, both]) for (const d of ["openai", "anthropic"]) assert.equal(run(["mend", "--dialect", d], text).code, 0, text);
  assert.match(run(["mend"], plain).err, /taken for a request of openai.*--dialect names another/);
  for (const text of ["{}", '{"a":1}']) assert.match(run(["mend"], text).err, /nothing in it says which dialect/);
  const answers = {
    openai: '{"choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}',
    anthropic: '{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}',
    "openai-responses": '{"id":"r","object":"response","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hello"}]}]}',
    gemini: '{"candidates":[{"content":{"role":"model","parts":[{"text":"hello"}]},"finishReason":"STOP"}]}',
  };
  for (const [from, text] of Object.entries(answers))
    for (const to of Object.keys(answers).filter((t) => t !== from)) {
      const r = run(["convert", "--answer", "--to", to], text);
      assert.ok(r.code === 0 && r.out.includes("hello"), r.err);
      assert.match(run(["convert", "--answer", "--from", to, "--to", from], text).err, new RegExp(`looks like an answer of ${from} `));
    }
  assert.equal(run(["convert", "--answer", "--to", "anthropic"], `data: ${answers.openai.replace("message", "delta")}\n\ndata: [DONE]\n\n`).code, 0);
});

holds("options may stand behind what they are about, and what is meant by nothing is told", () => {
  const r = run(["convert", "-", "--from", "openai", "--to=anthropic"], lost.openai);
  assert.equal(r.code, 0, r.err);
  assert.match(r.out, /tool_use/);
  for (const args of [["policy", "swarm"], ["explain", "a", "b"], ["mend", "a", "--dialect", "openai", "b"]]) {
    const odd = run(args, "");
    assert.equal(odd.code, 2, args.join(" "));
    assert.match(odd.err, /swarm|not also b/);
  }
  const own = run(["with", "--", "sh", "-c", 'echo "$0 $1"', "--config", "x"], ""); // the command's options are its own
  assert.equal(own.out, "--config x\n", own.err);
});

holds("mend shortens to a number of tokens, or says that it cannot", () => {
  const long = structuredClone(lost.openai);
  long.messages.splice(1, 0, ...[0, 1, 2, 3, 4, 5].flatMap((i) => [{ role: "assistant", content: null, tool_calls: [{ id: `x${i}`, type: "function", function: { name: "look", arguments: "{}" } }] }, { role: "tool", tool_call_id: `x${i}`, content: `begin-${i} ${"many words ".repeat(800)} end-${i}` }]));
  const good = run(["mend", "--dialect", "openai", "--shrink-to", "9000"], long);
  assert.equal(good.code, 0, good.err);
  assert.ok(good.out.length < JSON.stringify(long).length);
  for (let i = 0; i < 6; i++) assert.ok(good.out.includes(`begin-${i}`) && good.out.includes(`end-${i}`));
  const bad = run(["mend", "--dialect", "openai", "--shrink-to", "50"], long);
  assert.equal(bad.code, 1, bad.err);
  assert.match(bad.err, /50/);
});

holds("what cannot be read is told with its place, what is wrongly asked with what is there", () => {
  const broken = run(["mend", "--dialect", "openai"], '{"messages": [\n{"role": }]}');
  assert.equal(broken.code, 2);
  assert.match(broken.err, /line 2/);
  const unknown = run(["convert", "--from", "openai", "--to", "openia"], lost.openai);
  assert.equal(unknown.code, 2);
  assert.match(unknown.err, /openai-responses/);
  for (const c of ["mend", "convert"]) assert.match(run([c, "--help"], "").out + run([c, "--help"], "").err, /--/);
});

// ---- daruma review ----

const review = (input, ...args) => run(["review", ...args], input);
const looked = (input, ...args) => JSON.parse(review(input, "--json", ...args).out);
const step = (tool, args, result, ok = true) => ({ tool, args, result, ok });
const nope = "ENOENT: no such file or directory, open '/srv/nope'";
const around = [step("ls", { path: "." }, "a.txt b.txt"), ...Array(6).fill(step("read_file", { path: "/srv/nope" }, nope, false)), step("read_file", { path: "a.txt" }, "hello")];
const lines = (steps) => steps.map((s) => JSON.stringify(s)).join("\n") + "\n";

// The history of an agent that took these steps, one a turn.
const histories = {
  openai: (steps, begin = "go") => [{ role: "user", content: begin }, ...steps.flatMap((s, i) => [{ role: "assistant", content: null, tool_calls: [{ id: `c${i}`, type: "function", function: { name: s.tool, arguments: JSON.stringify(s.args) } }] }, { role: "tool", tool_call_id: `c${i}`, content: s.result }])],
  anthropic: (steps, begin = "go") => [{ role: "user", content: begin }, ...steps.flatMap((s, i) => [{ role: "assistant", content: [{ type: "text", text: "Let me see." }, { type: "tool_use", id: `c${i}`, name: s.tool, input: s.args }] }, { role: "user", content: [{ type: "tool_result", tool_use_id: `c${i}`, content: s.result, is_error: !s.ok }] }])],
  "openai-responses": (steps, begin = "go") => [{ role: "user", content: begin }, ...steps.flatMap((s, i) => [{ type: "function_call", call_id: `c${i}`, name: s.tool, arguments: JSON.stringify(s.args) }, { type: "function_call_output", call_id: `c${i}`, output: s.result }])],
  gemini: (steps, begin = "go") => [{ role: "user", parts: [{ text: begin }] }, ...steps.flatMap((s) => [{ role: "model", parts: [{ functionCall: { name: s.tool, args: s.args } }] }, { role: "user", parts: [{ functionResponse: { name: s.tool, response: s.ok ? { output: s.result } : { error: s.result } } }] }])],
};
const listName = { openai: "messages", anthropic: "messages", "openai-responses": "input", gemini: "contents" };
const body = (name, messages) => ({ model: "m", [listName[name]]: messages, temperature: 0 });

const isAround = (r, name) => {
  assert.equal(r.dialect, name);
  assert.equal(r.found, true);
  assert.equal(r.steps, 8);
  assert.equal(r.circles.length, 1);
  const c = r.circles[0];
  assert.deepEqual([c.kind, c.first, c.last, c.wasted, c.ended_with], ["exact_repeat", 2, 7, 5, 8]);
  assert.ok(c.seen >= 4 && c.seen <= 5, `seen at ${c.seen}`);
  assert.equal(c.told_after, c.seen, "guide speaks as soon as it is seen");
  assert.ok(c.refused_after > c.told_after, "enforce refuses only after it was told");
  assert.deepEqual([r.failures.length, r.failures[0].tool_kind, r.failures[0].times, r.failures[0].open], [1, "not_found", 6, 6]);
  assert.deepEqual([r.cost.wasted_steps, r.cost.wasted_requests], [5, 5]);
  assert.equal(r.needs_review.length, 1);
};

for (const [name, history] of Object.entries(histories)) {
  holds(`review finds the circle, the failures and their cost, whatever the request is: ${name}`, () => {
    const messages = history(around);
    isAround(looked(body(name, messages)), name);
    isAround(looked(body(name, messages), "--dialect", name), name);
    isAround(looked(messages), name); // the list alone
    if (name === "openai") isAround(looked(messages.map((m) => JSON.stringify(m)).join("\n")), name);
  });
  holds(`review counts what each request carried again: ${name}`, () => {
    const messages = history(around), whole = Buffer.byteLength(JSON.stringify(body(name, messages)));
    const size = (from) => whole - messages.slice(from).reduce((n, m) => n + Buffer.byteLength(JSON.stringify(m)), 0);
    let sent = 0; // request i is the history before turn i, the last one all of it
    for (let i = 0; i <= around.length; i++) sent += size(1 + 2 * i);
    const { cost, requests } = looked(body(name, messages));
    assert.equal(requests, 9);
    assert.equal(cost.bytes_sent, sent);
    assert.ok(cost.bytes_without < sent && cost.bytes_without >= 4 * size(1), JSON.stringify(cost));
  });
  holds(`review leaves work alone: ${name}`, () => {
    const poll = [1, 2, 3, 4, 5, 6].map((i) => step("job_status", { id: 7 }, `running, ${i * 15} % done`));
    const pages = [1, 2, 3, 4, 5, 6].map((i) => step("list_items", { page: i }, `item-${i}a item-${i}b`));
    for (const steps of [poll, pages]) {
      const r = review(body(name, history(steps)));
      assert.equal(r.code, 0, r.out);
      assert.match(r.out, /Nothing went wrong that can be seen from here/);
      assert.ok(r.out.split("\n").length < 8, r.out);
    }
  });
  holds(`review knows that a new task begins anew, and that being urged on is none: ${name}`, () => {
    const same = (n) => Array(n).fill(step("read_file", { path: "a.txt" }, "hello"));
    const join = (second) => [...history(same(2)), ...history(same(2), second)];
    assert.equal(looked(body(name, join("and now the other one"))).circles.length, 0);
    assert.equal(looked(body(name, join("go"))).circles.length, 1);
  });
}

holds("review reads steps, lists of them and records alike", () => {
  for (const text of [lines(around), JSON.stringify(around), JSON.stringify({ id: "r1", label: "loop", steps: around }), JSON.stringify({ steps: around }, null, 2)])
    isAround(looked(text), "");
  assert.equal(looked({ id: "r1", steps: around }).id, "r1");
});

holds("review fills a page for a person: what, where, how often, when somebody would have stepped in, at what cost", () => {
  const r = review(lines(around));
  assert.equal(r.code, 1);
  for (const words of [/steps 2 to 7/, /same call gives the same result again and again/, /\/srv\/nope/, /`watch: guide` would have told the model after step \d/, /`enforce` would have refused/,
    /read_file failed 6 times \(not_found\)/, /not overcome/, /What to do: /, /a person should have looked/, /5 of 8 steps \(62 %\)/, /tokens/, /Counted so: /])
    assert.match(r.out.replace(/\s+/g, " "), words);
  assert.doesNotMatch(r.out, /\x1b/, "colours are for terminals");
  assert.ok(r.out.split("\n").length < 50 && r.out.split("\n").every((l) => l.length <= 120), r.out);
});

holds("review tells what was overcome, and how", () => {
  const fixed = [step("create_issue", { title: "x" }, "validation failed: author field is required", false), step("create_issue", { title: "x", author: "me" }, "created 17"),
    step("http_get", { url: "http://a/b" }, "connect ETIMEDOUT 10.0.0.1:443", false), step("http_get", { url: "http://a/b" }, '{"v":1}')];
  const r = looked(lines(fixed)), page = review(lines(fixed));
  assert.deepEqual(r.failures.map((f) => [f.tool_kind, f.open, f.overcome_by.step]), [["validation", 0, 2], ["timeout", 0, 4]]);
  assert.equal(page.code, 0);
  assert.match(page.out, /Overcome at step 2: create_issue .*author/);
  assert.match(page.out, /the same call worked at step 4/);
});

holds("review shows no secrets and no control characters", () => {
  const bad = Array(4).fill(step("login", { token: "sk-abcdefghijklmnop1234567890" }, "\x1b[31mdenied\x1b[0m for Bearer sk-abcdefghijklmnop1234567890", false));
  for (const args of [[], ["--json"]]) {
    const r = review(lines(bad), ...args);
    assert.doesNotMatch(r.out, /sk-abcdef|\x1b/);
    assert.match(r.out, /redacted/);
  }
});

holds("review says what it cannot see", () => {
  const text = review({ model: "m", messages: [{ role: "user", content: "hi" }, { role: "assistant", content: "Action: look" }] });
  assert.equal(text.code, 0);
  assert.match(text.out, /no call of a tool/);
  const stored = review({ model: "m", previous_response_id: "resp_1", input: [{ role: "user", content: "hi" }] });
  assert.match(stored.out, /on the provider's server/);
});

holds("loops and review read what programs write: a byte order mark, CRLF, nothing for null, arguments of any shape", () => {
  const said = (text) => run(["loops", "--jsonl"], text).out.trim().split("\n").map((l) => JSON.parse(l));
  const same = (step) => `\ufeff${Array(5).fill(JSON.stringify(step)).join("\r\n")}\r\n`;
  for (const args of [{ a: 1 }, [1, 2], '{"a":1}', "", null]) {
    const step = { tool: "look", args, result: { pipes: 3 }, ok: null };
    assert.match(review(same(step)).out, /exact_repeat/);
    const [r] = said(`\ufeff${JSON.stringify({ id: "x", steps: Array(5).fill(step) })}\r\n`);
    assert.deepEqual([r.id, r.verdict, r.kind], ["x", "loop", "exact_repeat"]);
  }
  assert.match(review(same({ tool: null, args: null, result: "I will now begin with the task at hand.", ok: null })).out, /monologue/);
  const odd = ['{"id":1,"steps":null}', '{"id":2,"steps":[]}', '{"id":3,"steps":[{"tool":"a"}]}', '{"id":4,"steps":[{"tool"', '{"id":5,"steps":[{}]}'];
  assert.deepEqual(said(odd.join("\n")).map((r) => [r.id, r.verdict, r.kind, r.at]), [1, 2, 3, 5].map((id) => [id, "ok", null, null]));
  const r = run(["loops", "--jsonl"], odd.join("\n"));
  assert.equal(r.code, 1);
  assert.match(r.err, /line 4: /);
});

holds("review tells where a file is wrong and what to do", () => {
  for (const [text, words] of [
    ["", /nothing in it/], ["{}", /1:1: .*messages, input or contents/], ['{"messages":[{"role":"user"', /1:\d+: .*ends here.*whole/],
    [lines(around.slice(0, 2)) + '{"tool":"a","result":\n', /3:\d+: /], [lines(around.slice(0, 2)) + '{"x":1}\n', /3:1: .*tool, args, result and ok/],
    ['{"steps":[\n{"tool":7}]}', /2:9: .*"tool"/], ['{"steps":[{"tool":"a","ok":"yes"}]}', /"ok" is true, false or null/],
    [`${JSON.stringify({ id: 1, steps: [] })}\n${JSON.stringify({ id: 2, steps: [] })}\n`, /daruma loops/],
    [`${JSON.stringify(body("openai", []))}\n${JSON.stringify(body("openai", []))}\n`, /tail -n 1/], ['{"messages":5}', /1:13: .*openai/]]) {
    const r = review(text);
    assert.equal(r.code, 2, text);
    assert.equal(r.out, "");
    assert.match(r.err, words);
  }
  assert.equal(run(["review", "/no/such/file"], "").code, 2);
  assert.match(run(["review", "--dialect", "gemni"], "{}").err, /gemini/);
  assert.match(review(body("openai", histories.openai(around)), "--dialect", "gemini").err, /contents/);
});

// ---- doc/loops.md ----

// "tool key=value ... -> result", "!>" when it failed, "(lost)", or "says words"
const drawn = (text) => {
  if (text.startsWith("says ")) return { tool: "", result: text.slice(5) };
  const [, tool, args, arrow, result] = text.match(/^(\w+)(.*?)\s*(?:(->|!>)\s*(.*)|\(lost\))$/);
  const named = Object.fromEntries([...args.matchAll(/(\w+)=("[^"]*"|\S+)/g)].map((a) => [a[1], a[2].replaceAll('"', "")]));
  return arrow ? { tool, args: named, result, ok: arrow === "->" } : { tool, args: named, lost: true };
};

const manual = readFileSync(new URL("../../doc/loops.md", import.meta.url), "utf8");
const pictures = [...manual.matchAll(/^```steps (\w+)\n(.*?)^```$/gms)];
holds("the manual draws every circle that has calls or words, and its honest twin", () => {
  const kinds = pictures.map((p) => p[1]);
  assert.equal(new Set(kinds).size, kinds.length);
  assert.equal(kinds.length, 12);
});
for (const [, kind, rows] of pictures)
  holds(`the manual's picture of ${kind} is one, and its twin is work`, () => {
    const columns = rows.trimEnd().split("\n").map((row) => row.split("|").map((c) => drawn(c.trim())));
    const steps = (side) => columns.map((c) => c[side]);
    const seen = looked({ steps: steps(0) }).circles, lines = [0, 1].map((id) => JSON.stringify({ id, steps: steps(id) })).join("\n");
    assert.deepEqual(seen.map((c) => c.kind), [kind]);
    const said = run(["loops", "--jsonl"], lines).out.trim().split("\n").map((l) => JSON.parse(l));
    assert.deepEqual(said.map((r) => r.verdict), ["loop", "ok"], JSON.stringify(said));
  });

// ---- session files of agents ----

// As Claude Code and Codex write them: one line a message, between lines of their own.
const claude = (steps, more = {}) =>
  [
    { type: "summary", summary: "a run", leafUuid: "u0" },
    { type: "file-history-snapshot", messageId: "x", snapshot: {} },
    ...histories.anthropic(steps).flatMap((m, i) => {
      const line = { parentUuid: i ? `u${i - 1}` : null, isSidechain: false, userType: "external", cwd: "/srv", sessionId: "s1", version: "2.0.1", gitBranch: "main", type: m.role, uuid: `u${i}`, timestamp: "2026-11-01T10:00:00.000Z", ...more };
      const parts = Array.isArray(m.content) ? m.content : [m.content];
      if (m.role === "user") return [{ ...line, message: m, ...(Array.isArray(m.content) && { toolUseResult: { stdout: "x" } }) }];
      return parts.map((part) => ({ ...line, requestId: `r${i}`, message: { id: `msg_${i}`, type: "message", role: "assistant", model: "m", content: [part], stop_reason: null, usage: { input_tokens: 1, output_tokens: 1 } } }));
    }),
    { type: "system", subtype: "turn_duration", sessionId: "s1", uuid: "u99", durationMs: 5 },
  ].map((l) => JSON.stringify(l)).join("\n") + "\n";
const codex = (steps) =>
  [
    { timestamp: "2026-11-01T10:00:00.000Z", type: "session_meta", payload: { id: "s2", cwd: "/srv", originator: "codex_cli_rs", cli_version: "0.60.0", instructions: "be good" } },
    { timestamp: "2026-11-01T10:00:00.100Z", type: "turn_context", payload: { cwd: "/srv", model: "m" } },
    ...histories["openai-responses"](steps).flatMap((m) => [
      { timestamp: "2026-11-01T10:00:01.000Z", type: "response_item", payload: m.type ? m : { type: "message", role: m.role, content: [{ type: "input_text", text: m.content }] } },
      { timestamp: "2026-11-01T10:00:01.000Z", type: "event_msg", payload: { type: "token_count", info: null } },
    ]),
  ].map((l) => JSON.stringify(l)).join("\n") + "\n";
const sums = (r) => [r.circles.length, r.circles[0]?.kind, r.circles[0]?.wasted, r.failures[0]?.tool_kind, r.failures[0]?.times];

holds("review reads the session files of Claude Code and Codex, also while they are written", () => {
  for (const [text, name] of [[claude(around), "anthropic"], [codex(around), "openai-responses"]]) {
    const r = looked(text);
    assert.equal(r.dialect, name);
    assert.deepEqual(sums(r), [1, "exact_repeat", 5, "not_found", 6]);
    assert.deepEqual(sums(looked(text + text.trim().split("\n").at(-1).slice(0, 40))), sums(r), "the last line is half there");
  }
  for (const [text, name] of [[claude([]), "anthropic"], [codex([]), "openai-responses"]]) assert.equal(looked(text).dialect, name, "it has words alone");
  const own = { type: "assistant", isApiErrorMessage: true, sessionId: "s1", message: { id: "x", type: "message", role: "assistant", model: "<synthetic>", content: [{ type: "text", text: "API Error: 529 Overloaded" }] } };
  const failing = claude(around).trim().split("\n").flatMap((l) => (JSON.parse(l).type === "user" ? [l, JSON.stringify(own)] : [l]));
  assert.deepEqual(looked(failing.join("\n") + "\n"), looked(claude(around)), "what Claude Code itself said of a failed call is no step");
  const aside = claude(around, { isSidechain: true }), both = claude(around.slice(0, 2)) + aside;
  assert.equal(looked(both).circles.length, 0);
  assert.match(review(both).out, /Not looked at: \d+ messages of agents that this one called/);
  assert.match(review(JSON.stringify({ type: "summary", summary: "x" }) + "\n" + JSON.stringify({ type: "summary", summary: "y" }) + "\n").err, /no message yet/);
});

holds("review --session takes the newest of them on this machine, and says which", () => {
  const home = mkdtempSync(join(tmpdir(), "daruma-home-"));
  const put = (path, text, at) => {
    mkdirSync(join(home, path, ".."), { recursive: true });
    writeFileSync(join(home, path), text);
    utimesSync(join(home, path), at, at);
  };
  const ask = (more = {}) => {
    const r = spawnSync(daruma, ["review", "--session", "--json"], { encoding: "utf8", env: { PATH: process.env.PATH, HOME: home, ...more } });
    return { code: r.status, err: r.stderr, json: r.stdout && JSON.parse(r.stdout) };
  };
  assert.match(ask().err, /no session of Claude Code or Codex is kept/);
  put(".claude/projects/-srv-a/one.jsonl", claude(around), 1000);
  put(".claude/projects/-srv-a/notes.txt", "newest of all", 9000);
  assert.equal(ask().json.dialect, "anthropic");
  put(".codex/sessions/2026/11/01/rollout-2026-11-01T10-00-00-x.jsonl", codex(around), 2000);
  put(".codex/sessions/2026/11/01/other.jsonl", "{}", 5000);
  const r = ask();
  assert.deepEqual([r.code, r.json.dialect], [1, "openai-responses"]);
  assert.match(r.err, /rollout-2026-11-01T10-00-00-x\.jsonl/);
  put("elsewhere/projects/p/two.jsonl", claude(around.slice(0, 2)), 3000);
  assert.deepEqual(ask({ CLAUDE_CONFIG_DIR: join(home, "elsewhere") }).json.circles, []);
  rmSync(home, { recursive: true });
});
