// Agents, tools, servers and limits of `daruma run` in a configuration; agents that work for each other.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { daruma } from "./pair.mjs";
import { run } from "./run_agent.mjs";
import { asked, body, results, script } from "./run_tools.mjs";
import { wire } from "./wire.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const lines = (root, name) => (existsSync(join(root, name)) ? readFileSync(join(root, name), "utf8").trim().split("\n") : []);
const holds = (name, s) =>
  wire.push({
    limit: 60000,
    ...s,
    name: `run: config: ${name}`,
    async run(pair) {
      const root = mkdtempSync(join(tmpdir(), "daruma-config-"));
      try {
        await s.run(pair, root);
      } finally {
        rmSync(root, { recursive: true });
      }
    },
  });

const providers = (pair) => `providers:
  - { name: main, dialect: openai, url: "${pair.chaos}/v1", keys: [{ value: "sk-config-a8Kd93jSl20f" }] }
  - { name: other, dialect: anthropic, url: "${pair.chaos}", keys: [{ command: "echo sk-printed-a8Kd93jSl20f" }] }
models:
  - { name: best, targets: [main/m-lead, other/m-spare] }
`;
// Writes the file and runs it; the models' answers are those of the script, by model.
async function go(pair, root, config, models, args = [], faults = "faults: []\n") {
  const file = join(root, "daruma.yaml");
  writeFileSync(file, providers(pair) + config);
  const text = Object.entries(models).map(([name, list]) => `  ${name}:\n    answers:\n${list.map((l) => `      - ${JSON.stringify(l)}\n`).join("")}`).join("");
  await script(pair, `keep: 200\nmodels:\n${text}${faults}`);
  const r = await run(pair, null, root, ["--config", file, ...args]).over;
  const bodies = [];
  for (const q of await asked(pair)) bodies.push({ model: q.model, path: q.path, ...(await body(pair, q)) });
  return { ...r, bodies };
}
const names = (b) => (b.tools ?? []).map((t) => (t.function ?? t).name).sort();

// Each call that fails is one of them: sessions that repeat stop at the limit, and so do agents that work for another.
for (const calls of [1, 2, 3, 4, 5, 6])
  holds(`no more than ${calls} calls go out where a limit says so, repeated ones included`, {
    async run(pair, root) {
      const r = await go(
        pair, root,
        `agents:\n  - { name: lead, model: best, tools: [fs.*], limits: { calls: ${calls} } }\n`,
        { "m-lead": [{ call: "fs_list", arguments: {} }, { text: "done" }], "m-spare": [{ text: "never" }] },
        [],
        "faults:\n  - { model: m-lead, times: 3, kind: server_error }\n  - { model: m-spare, kind: server_error }\n",
      );
      assert.ok(r.bodies.length <= calls, `${r.bodies.length} calls went out`);
      assert.ok(r.result.calls === r.bodies.length, `${r.result.calls} are told, ${r.bodies.length} went out`);
      if (r.code !== 0) assert.equal(r.result.limit, "calls", r.out);
    },
  });

holds("an agent has its model, instructions, tools and limits; another provider takes over in another dialect", {
  async run(pair, root) {
    const r = await go(
      pair, root,
      "agents:\n  - { name: lead, model: best, instructions: \"You are brief.\", tools: [fs.*], limits: { steps: 5, time: 1m } }\n",
      { "m-lead": [{ text: "never" }], "m-spare": [{ call: "fs_list", arguments: {} }, { text: "done by the spare one" }] },
      [],
      "faults:\n  - { model: m-lead, kind: auth }\n",
    );
    assert.equal(r.code, 0, r.out + r.err);
    assert.equal(r.result.text, "done by the spare one");
    assert.ok(r.result.recovered_calls >= 1);
    const first = r.bodies.find((b) => b.path === "/v1/chat/completions"), spare = r.bodies.find((b) => b.path === "/v1/messages");
    assert.match(JSON.stringify(first.messages[0]), /You are brief\./);
    assert.deepEqual(names(first), ["fs_edit", "fs_list", "fs_read", "fs_search", "fs_write"]);
    assert.match(JSON.stringify(spare.system), /You are brief\./);
    assert.ok(r.lines.some((l) => l.agent === "lead"));
  },
});

const family = `tools:
  - { name: "fs.write", ask: no }
agents:
  - { name: lead, model: best, tools: [fs.read, helper], limits: { tokens: 100000 } }
  - { name: helper, description: "writes files", model: main/m-helper, instructions: "You write.", tools: [fs.write, fs.read] }
`;
holds("an agent works for another; its answer is the result, its failure a record", {
  async run(pair, root) {
    const r = await go(pair, root, family, {
      "m-lead": [{ call: "helper", arguments: { task: "write a.txt" } }, { call: "helper", arguments: { task: "fail" } }, { text: "all done" }],
      "m-helper": [{ call: "fs_write", arguments: { path: "a.txt", content: "by the helper" } }, { text: "a.txt is written" }],
    }, [], "faults:\n  - { model: m-helper, skip: 2, kind: auth }\n");
    assert.equal(r.code, 0, r.out + r.err);
    assert.equal(r.result.text, "all done");
    assert.equal(readFileSync(join(root, "a.txt"), "utf8"), "by the helper");
    const lead = r.bodies.filter((b) => b.model === "m-lead"), helper = r.bodies.filter((b) => b.model === "m-helper");
    assert.deepEqual(names(lead[0]), ["fs_read", "helper"]);
    assert.deepEqual(names(helper[0]), ["fs_read", "fs_write"]);
    assert.match(JSON.stringify(helper[0].messages), /You write\.[^]*write a\.txt/);
    assert.match(JSON.stringify(lead[1].messages.at(-1)), /a\.txt is written/);
    const record = lead[2].messages.filter((m) => m.role === "tool").at(-1).content;
    assert.match(typeof record === "string" ? record : record[0].text, /"error":true,"agent":"helper","message":"[^"]*key[^]*"error_class":"auth"/);
    assert.ok(r.lines.some((l) => l.agent === "helper" && l.swarm_id === "lead/helper" && l.parent_swarm_id === "lead"));
    assert.equal(r.result.tools, 3, "what the helper spent is the lead's");
  },
});

holds("money ends a run by the prices of the file, at the dearest place of its model; where nothing says a price, that is a mistake", {
  async run(pair, root) {
    const agents = "agents:\n  - { name: lead, model: best, tools: [fs.*], limits: { money: 1.5 } }\n";
    const models = { "m-lead": [{ call: "fs_list", arguments: {}, times: 9 }, { text: "never" }], "m-spare": [{ text: "never" }] };
    const r = await go(pair, root, `prices: [{ model: "main/*", input: 1, output: 1 }, { model: m-spare, input: 1000, output: 2000 }]\n${agents}`, models);
    assert.equal(r.code, 3, r.out + r.err);
    assert.equal(r.result.limit, "money");
    assert.ok(r.result.money >= 1.5 && r.result.money < 4, `${r.result.money} is told`);
    assert.match(r.result.text, /money set aside is spent/);
    const none = await run(pair, null, root, ["--config", join(root, "none.yaml")].map((w) => (writeFileSync(join(root, "none.yaml"), providers(pair) + agents), w))).over;
    assert.equal(none.code, 2);
    assert.match(none.err, /agents\[0\]\.limits\.money: nothing says what tokens of best cost/);
  },
});

holds("each price that an agent does not name is the file's; a model that costs nothing has a price", {
  async run(pair, root) {
    const prices = (of) => `prices: [{ model: m-lead, input: 0, output: ${of} }, { model: m-spare, input: 0, output: 0 }, { model: m-helper, input: 0, output: 0 }]\n`;
    const one = await go(pair, root, `${prices(1000)}agents:\n  - { name: lead, model: best, tools: [fs.*], limits: { price_input: 1 } }\n`, { "m-lead": [{ text: "done" }] });
    assert.ok(one.result.money > one.result.output_tokens * 0.001 - 0.000001, one.out);
    const free = await go(pair, root, `${prices(0)}agents:\n  - { name: lead, model: best, tools: [fs.*], limits: { money: 1.5 } }\n`, { "m-lead": [{ text: "done" }] });
    assert.deepEqual([free.code, free.result?.money], [0, undefined], free.err);
    const said = await go(pair, root, `${prices(1000)}agents:\n  - { name: lead, model: best, tools: [fs.*], limits: { money: 1.5, price_output: 0 } }\n`, { "m-lead": [{ text: "done" }] });
    assert.deepEqual([said.code, said.result?.money], [0, undefined], `${said.err}: 0 is a price`);
    const unpriced = await go(pair, root, "agents:\n  - { name: lead, model: best, tools: [fs.*], limits: { money: 1.5, price_input: 0, price_output: 0 } }\n", { "m-lead": [{ text: "done" }] });
    assert.deepEqual([unpriced.code, unpriced.result?.money], [0, undefined], unpriced.err);
    const half = await go(pair, root, "agents:\n  - { name: lead, model: best, tools: [fs.*], limits: { money: 1.5, price_input: 0 } }\n", { "m-lead": [{ text: "done" }] });
    assert.match(half.err, /money would never run out/, `${half.out}: nothing says what output costs`);
    const agents = "agents:\n  - { name: lead, model: best, tools: [helper] }\n  - { name: helper, model: main/m-helper, tools: [fs.*] }\n";
    const models = { "m-lead": [{ call: "helper", arguments: { task: "look" } }, { text: "done" }], "m-helper": [{ text: "seen ".repeat(2000) }] };
    const helped = await go(pair, root, prices(1000) + agents, models);
    assert.ok(helped.result.money > 0 && helped.result.money < 1, `${helped.result.money}: the helper is free`);
    const second = await go(pair, root, `${prices(0)}agents:\n  - { name: lead, model: main/m-helper, second: main/m-dear, tools: [fs.*] }\n`.replace("prices: [", "prices: [{ model: m-dear, input: 1000, output: 1000 }, "), { "m-helper": [{ text: "done" }], "m-dear": [{ text: "never" }] });
    assert.equal(second.result.money, undefined, second.out);
  },
});

holds("steps, calls and tools of a helper are the lead's, who has a step left to answer", {
  async run(pair, root) {
    for (const limit of ["steps", "calls", "tools"]) {
      const r = await go(pair, root, `agents:\n  - { name: lead, model: best, tools: [helper], limits: { ${limit}: 6 } }\n  - { name: helper, model: main/m-helper, tools: [fs.read] }\n`, {
        "m-lead": [{ call: "helper", arguments: { task: "read" } }, { text: "what there is" }],
        "m-helper": [{ call: "fs_read", arguments: { path: "daruma.yaml", lines: "{n}" }, times: 30 }, { text: "never" }],
      });
      assert.equal(r.result.limit, limit);
      assert.ok(r.result[limit] <= 6, `${limit}: ${r.result[limit]} are told`);
      if (limit === "steps") assert.equal(r.result.text, "what there is");
    }
  },
});

holds("a lead that calls two helpers in one answer has a step left to answer, too", {
  async run(pair, root) {
    const call = { call: "helper", arguments: { task: "read" } };
    const r = await go(pair, root, `agents:\n  - { name: lead, model: best, tools: [helper], limits: { steps: 6 } }\n  - { name: helper, model: main/m-helper, tools: [fs.read] }\n`, {
      "m-lead": [{ calls: [call, call] }, { text: "what there is" }],
      "m-helper": [{ call: "fs_read", arguments: { path: "daruma.yaml", lines: "{n}" }, times: 30 }, { text: "never" }],
    });
    assert.ok(r.result.steps <= 6, `${r.result.steps} are told`);
    assert.equal(r.result.text, "what there is", r.out);
    const said = r.bodies.filter((b) => b.model === "m-lead").at(-1).messages.filter((m) => m.role === "tool").map((m) => JSON.parse(m.content));
    assert.deepEqual(said.map((m) => [m.agent, m.limit]), [["helper", "steps"], ["helper", "steps"]]);
  },
});

holds("a helper whose own time is over is a record, and what it had out is nobody's any more: a command, or a question to its model", {
  async run(pair, root) {
    const timed = family.replace("fs.write, fs.read", "shell.run], limits: { time: 1s }, mcp: [").replace("\"fs.write\"", "shell.run").replace("[fs.read, helper]", "[fs.read, helper, shell.run]");
    const r = await go(pair, root, timed, {
      "m-lead": [{ call: "helper", arguments: { task: "sleep" } }, { call: "shell_run", arguments: { command: "sleep 2; echo from the lead" } }, { call: "helper", arguments: { task: "think" } }, { text: "all done" }],
      "m-helper": [{ call: "shell_run", arguments: { command: "sleep 2; echo from the helper" } }, { text: "thought at last" }],
    }, [], "faults:\n  - { model: m-helper, skip: 1, kind: timeout }\n");
    assert.equal(r.code, 0, r.out + r.err);
    const said = r.bodies.filter((b) => b.model === "m-lead").at(-1).messages.filter((m) => m.role === "tool").map((m) => JSON.stringify(m.content));
    assert.equal(said.length, 3, said);
    for (const record of [said[0], said[2]]) assert.match(record, /budget_exhausted|"timeout/); // whichever clock was first
    assert.equal(said[1], '"from the lead\\n"');
  },
});

holds("what a helper spent is told also when it is interrupted at its work", {
  async run(pair, root) {
    const file = join(root, "daruma.yaml");
    writeFileSync(file, `${providers(pair)}${family.replace("fs.write, fs.read", "shell.run").replace("\"fs.write\"", "shell.run")}`);
    await script(pair, `keep: 200\nmodels:\n  m-lead:\n    answers: [{ call: helper, arguments: { task: sleep } }]\n  m-helper:\n    answers: [{ call: shell_run, arguments: { command: "echo one >>effects; exec sleep 30" } }]\nfaults: []\n`);
    const r = run(pair, null, root, ["--config", file]);
    while (!lines(root, "effects").length) await new Promise((ok) => setTimeout(ok, 20));
    r.child.kill("SIGINT");
    const end = await r.over;
    assert.equal(end.code, 130, end.out + end.err);
    assert.deepEqual([end.result.steps, end.result.calls, end.result.tools], [2, 2, 2], end.out); // the call of the helper is one
  },
});

holds("a run with agents that work for each other goes on after kill -9, and does nothing twice", {
  async run(pair, root) {
    const file = join(root, "daruma.yaml");
    writeFileSync(file, `${providers(pair)}${family.replace("fs.write, fs.read", "shell.run").replace("\"fs.write\"", "shell.run")}`);
    await script(pair, `keep: 200
models:
  m-lead:
    answers:
      - { call: helper, arguments: { task: "append" } }
      - { text: "all done" }
  m-helper:
    answers:
      - { call: shell_run, arguments: { command: "echo one >>effects" } }
      - { call: shell_run, arguments: { command: "echo $$ >pid; echo two >>effects; exec sleep 30" } }
      - { text: "appended" }
faults: []
`);
    const state = ["--state", join(root, "state")];
    const first = run(pair, null, root, ["--config", file, ...state]);
    while (lines(root, "effects").length < 2) await new Promise((ok) => setTimeout(ok, 20));
    first.child.kill("SIGKILL");
    await first.over;
    const second = spawnSync(daruma, ["run", "--resume", "last", ...state, "--json"], { encoding: "utf8", env: { HOME: root, PATH: process.env.PATH } });
    assert.equal(second.status, 0, second.stdout + second.stderr);
    assert.match(second.stdout, /"text":"all done"/);
    assert.deepEqual(lines(root, "effects"), ["one", "two"], "nothing was done twice");
    process.kill(Number(readFileSync(join(root, "pid"), "utf8")));
  },
});

holds("rules of a tool say what its failures are, how often it is tried, and what the model reads", {
  async run(pair, root) {
    const config = (rule) => `tools:
  - { name: "odd.*", ask: no, timeout: 2s }
  - name: shell.run
    ask: no
    timeout: 1s
    max_attempts: 3
    delay_seconds: 0.1
    backoff_factor: 1.5
    rules: [${rule}]
agents:
  - { name: one, model: main/m-one, tools: [shell.run, fs.list] }
`;
    const models = { "m-one": [{ call: "shell_run", arguments: { command: "echo x >>tries; echo the db said: Connection REFUSED >&2; exit 1" } }, { text: "over" }] };
    const again = await go(pair, root, config('{ words: "connection refused", kind: network, severity: retriable, user_message: "The database is down." }'), models);
    assert.equal(again.code, 0, again.out + again.err);
    assert.equal(lines(root, "tries").length, 3, again.out);
    const failed = again.lines.filter((l) => l.event === "tool_failed");
    assert.deepEqual([failed[0].kind, failed[0].severity], ["network", "retriable"]);
    rmSync(join(root, "tries"));
    const end = await go(pair, root, config('{ words: "no such words", severity: retriable }, { severity: critical, metadata: { safety_abort_reason: "the motor is hot" } }'), models);
    assert.equal(end.code, 1, end.out);
    assert.match(end.result.text, /the motor is hot/);
    assert.equal(lines(root, "tries").length, 1);
    const late = await go(pair, root, config("{ words: never }"), { "m-one": [{ call: "shell_run", arguments: { command: "sleep 20" } }, { text: "over" }] });
    assert.ok(late.lines.some((l) => l.event === "tool_failed" && l.kind === "timeout"), late.out);
    const longer = await go(pair, root, config("{ words: never }"), { "m-one": [{ call: "shell_run", arguments: { command: "sleep 20", seconds: 15 } }, { text: "over" }] });
    assert.ok(longer.result.took_ms < 9000, "the host's word bounds the model's");
  },
});

holds("servers have their variables, a budget of restarts and a deadline; a call that hangs has an unknown outcome", {
  limit: 90000,
  async run(pair, root) {
    const config = (more) => `mcp:
  - { name: odd, command: ${JSON.stringify(process.execPath)}, args: [${JSON.stringify(join(here, "mcp_server.mjs"))}, ${JSON.stringify(root)}], env: { GREETING: "hello" }, ${more} }
tools: [{ name: "odd.*", ask: no }]
agents:
  - { name: one, model: main/m-one, mcp: [odd], tools: [fs.list] }
  - { name: two, model: main/m-one, tools: [fs.list] }
`;
    const say = (...list) => ({ "m-one": [...list.map((t) => ({ call: t, arguments: {} })), { text: "over" }] });
    const r = await go(pair, root, config("timeout: 2s"), say("odd_hang", "odd_look", "odd_freeze", "odd_look"));
    assert.equal(r.code, 0, r.out + r.err);
    const seen = await results(pair);
    assert.match(seen[0], /timeout[^]*whether it took effect is unknown/);
    assert.match(seen[1], /^hang\n$/);
    assert.match(seen[2], /timeout[^]*whether it took effect is unknown/);
    assert.match(seen[3], /^hang\nfreeze\n$/);
    assert.deepEqual(lines(root, "effects"), ["hang", "freeze"]);
    assert.ok(lines(root, "heard").includes("notifications/cancelled of a call"));
    assert.equal(lines(root, "lives").length, 2);
    assert.ok(r.lines.some((l) => l.event === "mcp_died" && /did not answer a ping/.test(l.reason)));
    assert.ok(names(r.bodies[0]).includes("odd_add"));
    const busy = await go(pair, root, config("timeout: 2s"), say("odd_change_freeze", "odd_look")); // its list is asked for meanwhile
    assert.ok(busy.lines.some((l) => l.event === "mcp_died" && /did not answer a ping/.test(l.reason)), busy.out);
    assert.match((await results(pair, r.bodies.length)).at(-1), /change_freeze\n$/);
    const two = await go(pair, root, config("restarts: 0"), say(), ["--agent", "two"]);
    assert.deepEqual(names(two.bodies.at(-1)), ["fs_list"]);
    rmSync(join(root, "lives"));
    await go(pair, root, config("restarts: 0"), say("odd_look_die", "odd_add"));
    assert.equal(lines(root, "lives").length, 1);
  },
});

holds("mistakes are told with their place, by check and by run; circles of agents are refused", {
  async run(pair, root) {
    const file = join(root, "bad.yaml");
    const check = (text) => (writeFileSync(file, providers(pair) + text), spawnSync(daruma, ["check", file], { encoding: "utf8" }));
    for (const [text, ...says] of [
      ["agents:\n  - { name: a, model: mian/x }\n", /bad\.yaml:7:\d+: agents\[0\]\.model: unknown model `mian\/x`/],
      ["agents:\n  - { name: a, model: bestt }\n", /did you mean `best`/],
      ["agents:\n  - { name: a, model: best, tools: [fs.raed] }\n", /agents\[0\]\.tools\[0\]: unknown tool or agent `fs\.raed`; did you mean `fs\.read`/, /\^/],
      ["agents:\n  - { name: a, model: mian/x }\n", /did you mean `main\/x`/],
      ["agents:\n  - { name: a, model: best, mcp: [odd] }\n", /unknown server `odd`; there is none here: add it/],
      ["tools:\n  - { name: http.gett, ask: true }\n", /bad\.yaml:7:\d+: tools\[0\]\.name: unknown tool or agent `http\.gett`; did you mean `http\.get`/],
      ["agents:\n  - { name: a, model: best, tools: [b] }\n  - { name: b, model: best, tools: [c] }\n  - { name: c, model: best, tools: [a] }\n", /agents\[2\]\.tools\[0\]: circular delegation: `c` works for `a` already/],
      ["agents:\n  - { name: a, model: best, tools: [a] }\n", /circular delegation/],
      ["agents:\n  - { name: a, model: best, tools: [\"*\"] }\n  - { name: b, model: best, tools: [fs.*, \"*\"] }\n", /agents\[1\]\.tools\[1\]: circular delegation: `b` works for `a` already/],
      ["agents:\n  - { name: a, model: best }\n  - { name: a, model: best }\n", /agents\[1\]\.name/],
      ["agents:\n  - { name: a.b, model: best }\n", /has no dot/],
      ["agents:\n  - { name: a, model: best, profile: nobody }\n", /expected a profile of an agent/],
      ["agents:\n  - { name: a, model: best, limits: { step: 3 } }\n", /unknown key `step`; did you mean `steps`/],
      ["agents:\n  - { model: best }\n", /name/],
      ["mcp:\n  - { name: x, command: y, timeout: soon }\n", /mcp\[0\]\.timeout: expected a duration/],
      ["mcp:\n  - { name: x, command: y, env: { 1A: z } }\n", /not the name of a variable/],
      ["tools:\n  - { name: shell.run, backoff_factor: 0.5 }\n", /backoff_factor/],
      ["agent:\n  - x\n", /unknown key `agent`; did you mean `agents`/],
    ]) {
      const r = check(text);
      assert.equal(r.status, 2, text + r.stdout + r.stderr);
      for (const s of says) assert.match(r.stderr, s);
      assert.equal(r.stderr.split("unknown key").length <= 2, true, "told once");
      const ran = spawnSync(daruma, ["run", "--config", file, "x"], { encoding: "utf8", env: { HOME: root } });
      assert.equal(ran.status, 2);
      assert.match(ran.stderr, /\d+:\d+: /);
    }
    // What a server has that only another command line names is not known; names may be the beginning of several.
    const tools = ["jira.search", "db.read", "git.list", "git*", "jira.*", "ma*", "fs*", "*"];
    const said = `tools: [${tools.map((t) => `{ name: "${t}", ask: true }`).join(", ")}]\n`;
    const agent = (names) => `agents:\n  - { name: main, model: best, tools: [${names.map((t) => `"${t}"`).join(", ")}] }\n`;
    const mcp = "mcp:\n  - { name: github, command: /nowhere/server }\n";
    for (const text of [said + agent(["fs.*"]), mcp + said, mcp + agent(["git*", "github.*", "jira.*"])]) assert.equal(check(text).status, 0, text + check(text).stderr);
    for (const name of ["fs.raed", "shell.rnu", "http.g*x*", "mian"]) assert.equal(check(`tools:\n  - { name: "${name}" }\n` + agent(["fs.*"])).status, 2, name);
    const withServer = (text, ...more) => (check(text), spawnSync(daruma, ["run", "--config", file, ...more, "--mcp", "jira=/nowhere/server", "--no-journal", "x"], { encoding: "utf8", env: { HOME: root } }).stderr);
    assert.doesNotMatch(withServer(said + agent(["jira.search"])), /unknown tool/);
    assert.match(withServer(said + agent(["jria.search"])), /unknown tool or agent `jria\.search`/);
    assert.equal(check(family).status, 0);
    // A pattern gives no agent itself: `b*` is a server of another command line, or another agent.
    const itself = "agents:\n  - { name: a, model: best, tools: [\"*\"] }\n  - { name: b, model: best, tools: [\"b*\", fs.*] }\n";
    assert.equal(check(itself).status, 0);
    assert.match(withServer(itself), /bad\.yaml:8:\d+: agents\[1\]\.tools\[0\]: unknown tool or agent `b\*`/);
    assert.doesNotMatch(withServer(itself), /did you mean `b`/);
    assert.doesNotMatch(withServer(itself + "  - { name: best, model: best, tools: [fs.*] }\n"), /unknown tool|there is no tool/);
    const go = (...args) => spawnSync(daruma, ["run", ...args], { encoding: "utf8", env: { HOME: root } });
    for (const [args, says] of [
      [["--config", "/nowhere.yaml", "x"], /nowhere\.yaml/],
      [["--config", file, "--agent", "nobody", "x"], /has no agent `nobody`/],
      [["--config", file, "--model", "m", "x"], /leave --model/],
      [["--agent", "a", "--model", "m", "x"], /--agent names one of a --config/],
    ]) {
      const r = go(...args);
      assert.equal(r.status, 2, r.stderr);
      assert.match(r.stderr, says);
    }
    check("listen: 127.0.0.1:0\n");
    assert.match(go("--config", file, "x").stderr, /has no agents/);
  },
});

// A profile of `recovery` that knows nothing of tools takes no words from the model.
for (const profile of ["default", "swarm", "osprey"])
  holds(`with recovery ${profile} the model reads why its tool failed`, {
    async run(pair, root) {
      const call = { index: 0, id: "call_1", type: "function", function: { name: "fs_read", arguments: '{"path":"nope.txt"}' } };
      const requests = [];
      pair.own.answer = (q, res) => {
        requests.push(JSON.parse(q.body));
        const [delta, end] = requests.length === 1 ? [{ tool_calls: [call] }, "tool_calls"] : [{ content: "done" }, "stop"];
        res.writeHead(200, { "content-type": "text/event-stream" });
        res.end(`data: ${JSON.stringify({ id: "c", choices: [{ index: 0, delta, finish_reason: end }] })}\n\ndata: [DONE]\n\n`);
      };
      writeFileSync(join(root, "d.yaml"), `providers:\n  - { name: own, dialect: openai, url: "http://127.0.0.1:${pair.own.port}/v1", keys: [{ value: sk-x }] }\nrecovery: { profile: ${profile} }\nagents:\n  - { name: a, model: own/m, tools: ["fs.*"] }\n`);
      const child = spawn(daruma, ["run", "--config", join(root, "d.yaml"), "--root", root, "--no-journal", "look"], { stdio: ["ignore", "pipe", "pipe"] });
      assert.equal(await new Promise((ok) => child.on("close", ok)), 0);
      const result = requests[1].messages.find((m) => m.role === "tool").content;
      assert.match(result, /nope\.txt/, result);
    },
  });
