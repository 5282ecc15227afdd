// The planners of the seeds as live agents, PenguiFlow's and Osprey's: what their case files show in virtual time, over sockets.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { daruma } from "./pair.mjs";
import { wire } from "./wire.mjs";

const holds = (name, s) =>
  wire.push({
    limit: 60000,
    name: `run: planners: ${name}`,
    async run(pair) {
      const root = mkdtempSync(join(tmpdir(), "daruma-planners-"));
      try {
        await s((...args) => go(pair, root, ...args));
      } finally {
        rmSync(root, { recursive: true });
      }
    },
  });

// One run: `says` gives the answers in their order, the last one again and again; or is a function of the request.
//   "text", { call: [name, arguments] }, { status, message, headers }, "lost" the connection is closed, "never" there is no answer
async function go(pair, root, profile, says, { more = "", tools = "", top = "", files = {}, person = "" } = {}) {
  const requests = [], questions = [];
  pair.own.answer = (q, res) => {
    const body = JSON.parse(q.body);
    if (body.question) { // of --approve
      questions.push(body);
      return res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ answer: person, text: "not this page" }));
    }
    requests.push(body);
    const say = typeof says === "function" ? says(body, requests.length) : says[Math.min(requests.length, says.length) - 1];
    if (say === "never") return;
    if (say === "lost") return res.socket.destroy();
    const json = (status, o) => res.writeHead(status, { "content-type": "application/json", ...say.headers }).end(JSON.stringify(o));
    if (say.status) return json(say.status, { error: { message: say.message, type: "error" } });
    const call = say.call && [{ id: `call_${requests.length}`, type: "function", function: { name: say.call[0], arguments: JSON.stringify(say.call[1] ?? {}) } }];
    json(200, { id: "c", object: "chat.completion", model: body.model, choices: [{ index: 0, message: { role: "assistant", content: call ? null : say, ...(call && { tool_calls: call }) }, finish_reason: call ? "tool_calls" : "stop" }] });
  };
  writeFileSync(
    join(root, "d.yaml"),
    `providers:\n  - { name: own, dialect: openai, url: "http://127.0.0.1:${pair.own.port}/v1", keys: [{ value: sk-x }] }\n${top}${tools && `tools:\n  - ${tools}\n`}agents:\n  - { name: a, model: own/m, tools: ["fs.*"], profile: ${JSON.stringify(profile)}${more} }\n`,
  );
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text);
  const child = spawn(daruma, ["run", "--config", join(root, "d.yaml"), "--root", root, "--state", join(root, "state"), ...(person ? ["--approve", `http://127.0.0.1:${pair.own.port}/ask`] : ["--yes"]), "--json", "report on the pages"], { stdio: ["ignore", "pipe", "pipe"] });
  let out = "", err = "";
  child.stdout.on("data", (b) => (out += b));
  child.stderr.on("data", (b) => (err += b));
  const code = await new Promise((ok) => child.on("close", ok));
  const lines = out.split("\n").filter(Boolean).map((l) => JSON.parse(l));
  return { code, lines, requests, questions, out: out + err, result: lines.find((l) => l.event === "result"), of: (name) => lines.filter((l) => l.event === name), explained: () => spawnSync(daruma, ["explain", "last", "--state", join(root, "state")], { encoding: "utf8" }).stdout };
}
const act = (next_node, args = {}, thought = "look") => JSON.stringify({ thought, next_node, args });
const finish = (raw_answer) => act("final_response", { raw_answer });
const last = (r) => r.requests.at(-1).messages.at(-1).content;

// Osprey's way: the choice of tools, a plan of one step and an answer, the analysis; what `own` says comes before.
const planned = (own = {}) => {
  const asked = {};
  return (body) => {
    const system = body.messages[0].content;
    const what = /Say which of the tools/.test(system) ? "classes" : /Make a plan/.test(system) ? "plan" : /explain failures/.test(system) ? "analysis" : body.messages.at(-1).role === "tool" ? "step" : body.tools ? "call" : "answer";
    const list = own[what] ?? [], n = (asked[what] = (asked[what] ?? 0) + 1);
    return list[Math.min(n, list.length) - 1] ?? {
      classes: '{"tools": ["fs.read"]}',
      plan: '{"steps": [{"key": "page", "tool": "fs.read", "objective": "Read the page"}]}',
      call: { call: ["fs_read", { path: "none.txt" }] },
      step: "it was read",
      answer: "the report",
      analysis: "It could not be read.",
    }[what];
  };
};

for (const [profile, type] of [["penguiflow:code", "unknown"], ["penguiflow:code,penguiflow-client", "unknown"], ["penguiflow:doc", "unknown"], ["compact", "network"]])
  holds(`under ${profile} a lost connection is raised as what it is`, async (go) => {
    const r = await go(profile, ["lost"]);
    assert.equal(r.code, 1, r.out);
    const [attempt] = r.of("error_recovery_attempt");
    assert.deepEqual([attempt.error_type, attempt.error_message], [type, "the connection was closed before the answer began"]);
    assert.equal(r.result.text, attempt.error_message);
    assert.match(r.explained(), /there was no answer: the connection was closed before the answer began\n/);
  });

for (const profile of ["penguiflow:code", "penguiflow:code,penguiflow-client"])
  holds(`under ${profile} an answer without words is raised, and nobody asks again (P-F24)`, async (go) => {
    const r = await go(profile, [""]);
    assert.equal(r.code, 1, r.out);
    assert.equal(r.requests.length, 1);
    assert.equal(r.of("error_recovery_attempt")[0].error_type, "unknown");
    assert.equal(r.result.text, "the model's answer was broken or empty");
  });

holds("under osprey a connection that is lost while planning may pass; the report of one that stays lost says what failed", async (go) => {
  const once = await go("osprey:code", planned({ classes: ["lost", undefined], call: ["the page says 42"] }));
  assert.equal(once.code, 0, once.out);
  assert.deepEqual(once.of("retry_scheduled").map((l) => l.reason), ["the connection was closed before the answer began"]);
  const stays = await go("osprey:doc", planned({ plan: ["lost"] }), { more: ", retry: { max_attempts: 2, delay_seconds: 0.1 }" });
  assert.equal(stays.code, 1, stays.out);
  assert.match(stays.result.text, /\*\*Error Message:\*\* the connection was [^\n]*\n/);
  assert.doesNotMatch(stays.result.text, /daruma called/);
});

holds("an analysis without words has the words of the seed (O-T4)", async (go) => {
  const r = await go("osprey:code", planned({ analysis: [""] }));
  assert.equal(r.code, 1, r.out);
  assert.match(r.result.text, /\*\*Analysis:\*\* The error occurred during system operation\. Please review the recovery options above\./);
});

for (const profile of ["osprey:doc", "osprey-reactive", "penguiflow:doc", "penguiflow:code"])
  holds(`under ${profile} a call that takes all of the time ends as a limit, with what there is`, async (go) => {
    const code = profile === "penguiflow:code", plan = profile === "osprey:doc";
    const list = { call: ["fs_list", {}] };
    const says = plan
      ? planned({ classes: ['{"tools": ["fs.list"]}'], plan: ['{"steps": [{"key": "page", "tool": "fs.list", "objective": "List"}]}'], call: [list], step: ["never"] })
      : [code ? act("fs.list") : list, "never"];
    const r = await go(profile, says, { more: ", limits: { time: 2s }" });
    assert.equal(r.code, 3, r.out);
    assert.deepEqual([r.result.reason, r.result.limit], ["budget_exhausted", "time"]);
    assert.match(r.result.text, /the time set aside is over[^]*d\.yaml/);
    assert.equal(r.requests.length, plan ? 4 : 2, "nobody is asked behind the end");
  });

for (const profile of ["swarm", "penguiflow:doc", "penguiflow:code", "osprey-reactive", "adaptive"])
  holds(`under ${profile} the model reads all that a failing tool said, its hint too (P-F45)`, async (go) => {
    const code = profile === "penguiflow:code";
    const r = await go(profile, (body) => (body.messages.at(-1).role !== "tool" && body.messages.length < 4 ? (code ? act("fs.read", { path: "none.txt" }) : { call: ["fs_read", { path: "none.txt" }] }) : code ? finish("done") : "done"));
    const seen = r.requests.flatMap((b) => b.messages).map((m) => String(m.content)).find((t) => /FILE_NOT_FOUND/.test(t));
    assert.match(seen ?? r.out, /none\.txt[^]*Next step: /);
  });

holds("what `recovery` says of shortening holds for a planner, too; summaries that are long are summarised again (P-F23)", async (go) => {
  const list = (n) => act("fs.read", { path: `${n}.txt` });
  const too = { status: 400, message: "Input is too long for requested model." }, summary = "s".repeat(2500);
  const page = async (recovery, says) => go("penguiflow:code", says, { top: `recovery: ${recovery}\n`, files: { "1.txt": "x".repeat(3000) } });
  const thrice = await page("{ max_compress_retries: 3 }", [list(1), too, summary, too, summary, too, summary, too]);
  assert.equal(thrice.code, 0, thrice.out);
  const sizes = thrice.of("trajectory_compressed").map((l) => [l.attempt, l.original_size_chars > 2540, l.compressed_size_chars > 2500]);
  assert.deepEqual(sizes, [1, 2, 3].map((n) => [n, true, true]), thrice.out);
  assert.equal(thrice.requests.length, 1 + 4 + 3);
  assert.equal(thrice.of("error_recovery_failed")[0].reason, "max_compress_retries_exceeded");
  const large = await page("{ compression_threshold_chars: 5000 }", [list(1), too, finish("done")]);
  assert.deepEqual(large.of("trajectory_compressed"), [], "nothing is large");
  const off = await page("{ enabled: false }", [list(1), too, finish("done")]);
  assert.equal(off.code, 1, off.out);
  assert.equal(off.requests.length, 2);
  assert.equal(off.result.text, too.message);
});

holds("its own client, as PenguiFlow's planner calls it: three calls, and no look at the advice (P-F27)", async (go) => {
  const slow = { status: 429, message: "slow down", headers: { "retry-after": "9" } };
  const r = await go("penguiflow:code,penguiflow-native:adapter", [slow]);
  assert.equal(r.code, 1, r.out);
  assert.equal(r.requests.length, 3);
  assert.ok(r.result.took_ms >= 3000 && r.result.took_ms < 8000, `${r.result.took_ms}`);
  assert.equal(r.of("error_recovery_attempt")[0].error_type, "rate_limit");
});

holds("what a tool says of its repetitions holds, and of what it does not say what its agent's profile has", async (go) => {
  const waits = async (profile, said) => {
    const tools = `{ name: fs.read${said}, rules: [{ words: FILE_NOT_FOUND, severity: retriable }] }`;
    const r = await go(profile, (body) => (body.messages.at(-1).role === "tool" ? "over" : { call: ["fs_read", { path: "none.txt" }] }), { tools, more: ", mode: reactive" });
    return r.of("retry_scheduled").map((l) => l.delay_ms);
  };
  assert.deepEqual(await waits("osprey:code", ""), [500, 750]);
  assert.deepEqual(await waits("osprey:code", ", delay_seconds: 0.1"), [100, 150]);
  assert.deepEqual(await waits("osprey:code", ", delay_seconds: 0"), [0, 0]);
  assert.deepEqual(await waits("osprey:code", ", backoff_factor: 2"), [500, 1000]);
  assert.deepEqual(await waits("osprey:code", ", max_attempts: 2"), [1000]);
  assert.deepEqual(await waits("osprey-reactive", ", max_attempts: 3, delay_seconds: 0.1"), [100, 150]);
});

for (const profile of ["penguiflow:code", "penguiflow:code,penguiflow-client"])
  holds(`under ${profile} an error within a 200 is judged by its words`, async (go) => {
    const r = await go(profile, [{ status: 200, message: "Input is too long for requested model." }]);
    assert.deepEqual(r.of("error_recovery_attempt").map((l) => [l.error_type, l.error_message]), [["context_length_exceeded", "Input is too long for requested model."]]);
    const other = await go(profile, [{ status: 200, message: "no such thing" }]);
    assert.deepEqual(other.of("error_recovery_attempt").map((l) => [l.error_type, l.error_message]), [["unknown", "no such thing"]]);
  });

holds("calls that a session repeats count for the limit of calls, also behind a resume", async (go) => {
  const list = { call: ["fs_list", {}] }, busy = { status: 503, message: "overloaded" };
  const r = await go("default", [busy, busy, list], { more: ", limits: { calls: 4 }" });
  assert.equal(r.code, 3, r.out);
  assert.deepEqual([r.requests.length, r.result.calls, r.result.limit], [4, 4, "calls"]);
  assert.match(r.explained(), /4 calls of models/);
});

holds("answers that were no use are counted in the result: asked for again, or what is left of them taken (P-F35)", async (go) => {
  const broken = '{"thought": "x", "next_node": ';
  const mended = await go("penguiflow:code", [broken, broken, finish("the report")]);
  assert.deepEqual([mended.code, mended.result.validation_failures_count, mended.result.repair_attempts, mended.result.salvage_used], [0, 2, 2, undefined], mended.out);
  const left = await go("penguiflow:code", ['{"raw_answer": "half of it']);
  assert.equal(left.result.text, "half of it", left.out);
  assert.deepEqual([left.result.validation_failures_count, left.result.repair_attempts, left.result.salvage_used], [left.requests.length, left.requests.length - 1, 1]);
  const well = await go("penguiflow:code", [finish("the report")]);
  assert.equal(well.result.validation_failures_count, undefined, well.out);
});

for (const profile of ["osprey:doc", "osprey:code", "penguiflow:code"])
  holds(`under ${profile} a person is asked about a step of the plan, and hears it once`, async (go) => {
    const write = { path: "new.txt", content: "text" };
    const says = () =>
      profile === "penguiflow:code"
        ? [act("fs.write", write), finish("the report")]
        : planned({ classes: ['{"tools": ["fs.write"]}'], plan: ['{"steps": [{"key": "page", "tool": "fs.write", "objective": "Write the page"}]}'], call: [{ call: ["fs_write", write] }] });
    for (const person of ["allow", "deny"]) {
      const r = await go(profile, says(), { person });
      assert.equal(r.code, 0, r.out);
      assert.deepEqual(r.questions.map((q) => [q.tool, q.arguments]), [["fs.write", write]]);
      assert.deepEqual(r.of("person_answered").map((l) => l.answer), [person === "deny" ? "denied" : "allowed"]);
      const told = JSON.stringify(r.requests.map((q) => q.messages));
      assert.match(told, person === "deny" ? /permission denied: the user did not allow this call\. They said: not this page/ : /written: 4 bytes/);
    }
  });

for (const profile of ["osprey:doc", "osprey:code"])
  holds(`under ${profile} a wait that is longer than what is left of the time ends as a limit, at once`, async (go) => {
    const r = await go(profile, planned({ plan: ["lost"] }), { more: ", limits: { time: 20s }, retry: { max_attempts: 5, delay_seconds: 30 }" });
    assert.equal(r.code, 3, r.out);
    assert.deepEqual([r.result.reason, r.result.limit], ["budget_exhausted", "time"]);
    assert.ok(r.result.took_ms < 5000, "nobody waits for nothing");
  });
