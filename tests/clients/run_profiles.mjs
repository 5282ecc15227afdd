// Profiles of the seeds in `daruma run`, over sockets: what their case files show in virtual time a live agent does, too.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { daruma } from "./pair.mjs";
import { model, run } from "./run_agent.mjs";
import { wire } from "./wire.mjs";

const holds = (name, answers, play, faults) =>
  wire.push({
    limit: 60000,
    name: `run: ${name}`,
    chaos: model(answers, faults),
    async run(pair) {
      const root = mkdtempSync(join(tmpdir(), "daruma-seeds-"));
      writeFileSync(join(root, "a.txt"), "it tracks progress\n");
      try {
        await play(pair, root);
      } finally {
        rmSync(root, { recursive: true });
      }
    },
  });

// What the model was sent, in order.
async function sent(pair) {
  const list = await (await fetch(`${pair.chaos}/chaos/requests`)).json();
  return Promise.all((list.requests ?? list).map(async (r) => (await fetch(`${pair.chaos}/chaos/requests/${r.number}`)).json()));
}
const bodies = async (pair) => (await sent(pair)).map((r) => JSON.stringify(r));
const named = (lines, event) => lines.filter((l) => l.event === event);

// ---- KB Labs: the loop with a report ----

for (const dialect of ["openai", "openai-responses", "anthropic", "gemini"])
  holds(
    `${dialect}: adaptive-head ends with a report, and a model that only speaks is told so (K-F18, K-F20)`,
    `
      - { text: "Here is the answer" }
      - { call: report, arguments: { answer: "" } }
      - { calls: [ { call: fs_read, arguments: { path: a.txt } }, { call: report, arguments: { answer: "It tracks." } } ] }
`,
    async (pair, root) => {
      const r = await run(pair, dialect, root, ["--profile", "adaptive-head"], "What does a.txt say?").over;
      const asked = await bodies(pair);
      assert.equal(r.code, 0, r.out);
      assert.equal(r.result.text, "It tracks.");
      assert.equal(asked.length, 3);
      assert.match(asked[0], /report/, "it has the tool");
      assert.match(asked[1], /must call the report tool/);
      assert.match(asked[2], /the report says nothing/, "an empty one ends nothing");
      assert.equal(named(r.lines, "report_nudge").length, 1);
      assert.deepEqual(named(r.lines, "tool_called").map((l) => l.tool), ["report", "report"], "beside a report nothing is done");
    },
  );

holds(
  "adaptive-head takes the second answer in words (K-T2)",
  `
      - { text: "Here is the answer", times: 2 }
`,
  async (pair, root) => {
    const r = await run(pair, "openai", root, ["--profile", "adaptive-head"]).over;
    assert.equal(r.code, 0, r.out);
    assert.equal(r.result.text, "Here is the answer");
    assert.equal((await sent(pair)).length, 2);
    assert.equal(named(r.lines, "report_nudge").length, 1);
  },
);

for (const [dialect, forced] of [
  ["openai", (b) => b.tool_choice?.function?.name],
  ["openai-responses", (b) => b.tool_choice?.name],
  ["anthropic", (b) => b.tool_choice?.name],
  ["gemini", (b) => b.toolConfig?.functionCallingConfig?.allowedFunctionNames?.[0]],
]) {
  holds(
    `${dialect}: adaptive-head nudges at 4, 6 and 8 steps without progress, and then forces the report (K-F23)`,
    `
      - { call: fs_read, arguments: { path: "no{n}" }, times: 7 }
      - { call: report, arguments: { answer: "There is none." } }
`,
    async (pair, root) => {
      const r = await run(pair, dialect, root, ["--profile", "adaptive-head"]).over;
      const asked = (await sent(pair)).map((q) => q.body ?? q);
      assert.equal(r.result.text, "There is none.", r.out);
      assert.deepEqual(named(r.lines, "stuck_nudge").map((l) => l.level), [1, 2, 3]);
      assert.deepEqual(asked.map((b) => forced(b) === "report"), [...Array(7).fill(false), true]);
    },
  );
  holds(
    `${dialect}: the last iteration of adaptive-head is announced, and the report forced (K-F23)`,
    `
      - { call: fs_read, arguments: { path: "a.txt", line: "{n}" }, times: 2 }
      - { call: report, arguments: { answer: "It tracks." } }
`,
    async (pair, root) => {
      const r = await run(pair, dialect, root, ["--profile", "adaptive-head", "--steps", "3"]).over;
      const asked = (await sent(pair)).map((q) => q.body ?? q);
      assert.equal(r.code, 0, r.out);
      assert.equal(r.result.text, "It tracks.");
      assert.equal(named(r.lines, "last_iteration_nudge").length, 1);
      assert.match(JSON.stringify(asked[2]), /FINAL ITERATION/);
      assert.deepEqual(asked.map((b) => forced(b) === "report"), [false, false, true]);
    },
  );
}

holds(
  "adaptive-head is told that its tokens run out, and a report counts that goes beyond them (K-F19, K-F24)",
  `
      - { call: fs_read, arguments: { path: "a.txt" } }
      - { call: report, arguments: { answer: "It tracks." } }
`,
  async (pair, root) => {
    const first = await run(pair, "openai", root, ["--profile", "adaptive-head", "--steps", "1"]).over;
    const one = first.result.input_tokens + first.result.output_tokens;
    await fetch(`${pair.chaos}/chaos/reset`, { method: "POST" });
    const r = await run(pair, "openai", root, ["--profile", "adaptive-head", "--tokens", String(Math.floor(one * 1.2))]).over;
    assert.equal(named(r.lines, "soft_warning").length, 1, r.out);
    assert.match((await bodies(pair)).at(-1), /TOKEN BUDGET: \d+% consumed/);
    assert.ok(r.result.input_tokens + r.result.output_tokens > one * 1.2, "beyond the limit");
    assert.equal(r.result.text, "It tracks.");
    assert.equal(r.code, 0, r.out);
  },
);

for (const dialect of ["openai", "anthropic"])
  holds(
    `${dialect}: an agent without a report is nudged a third time, and no tool is forced`,
    `
      - { call: fs_search, arguments: { text: "none{n}" }, times: 10 }
      - { text: "There is none." }
`,
    async (pair, root) => {
      const r = await run(pair, dialect, root, ["--profile", "default"]).over;
      assert.ok(named(r.lines, "stuck_nudge").some((l) => l.level === 3), r.out);
      for (const b of await sent(pair)) assert.equal((b.body ?? b).tool_choice, undefined, r.out);
    },
  );

// ---- Compact Errors ----

holds(
  "too many errors escalate with reason, last error and history, and a person's words let it go on (E-F6)",
  `
      - { call: fs_read, arguments: { path: "no{n}" }, times: 3 }
      - { call: fs_read, arguments: { path: "no9" } }
      - { call: fs_read, arguments: { path: "a.txt" } }
      - { text: "It tracks." }
`,
  async (pair, root) => {
    const state = ["--state", join(root, "state")];
    const r = await run(pair, "openai", root, ["--profile", "compact", ...state]).over;
    assert.equal(r.code, 4, r.out);
    assert.equal(r.result.status, "escalated");
    assert.equal(r.result.why, "Too many errors with fs.read");
    assert.match(r.result.last_error, /no3/);
    assert.equal(r.result.error_history.length, 3);
    r.result.error_history.forEach((e, i) => assert.match(e, new RegExp(`^<error>\\ntool: fs.read\\ntype: .*\\nmessage: .*no${i + 1}[^]*</error>$`)));
    const on = await run(pair, null, root, ["--resume", "last", ...state], "read a.txt").over; // its counts begin anew
    assert.equal(on.code, 0, on.out + on.err);
    assert.equal(on.result.text, "It tracks.");
    assert.equal(on.result.error_history, undefined);
    assert.match((await bodies(pair)).at(-1), /read a.txt/);
  },
);

holds(
  "default lets a model look for a file under several names",
  "\n" +
    ["README.md", "Makefile", "package.json"].map((p) => `      - { call: fs_read, arguments: { path: ${p} } }\n`).join("") +
    `      - { call: fs_read, arguments: { path: a.txt } }
      - { text: "It tracks." }
`,
  async (pair, root) => {
    const r = await run(pair, "openai", root, ["--profile", "default"]).over;
    assert.equal(r.code, 0, r.out);
    assert.equal(r.result.text, "It tracks.");
    assert.equal(named(r.lines, "tool_failed").length, 3);
  },
);

// ---- SwarmSDK ----

holds(
  "events of calls say whose they are, in a swarm of agents too (S-F6, S-F7)",
  `
      - { call: helper, arguments: { task: "look" } }
      - { text: "It found nothing." }
`,
  async (pair, root) => {
    const file = join(root, "d.yaml");
    writeFileSync(
      file,
      `providers:\n  - { name: main, dialect: openai, url: "${pair.chaos}/v1", keys: [{ value: sk-x }] }\nagents:\n` +
        "  - { name: lead, model: main/m-agent, profile: swarm, tools: [helper] }\n  - { name: helper, model: main/m-other, profile: swarm }\n",
    );
    const r = await run(pair, null, root, ["--config", file]).over;
    const failed = named(r.lines, "llm_request_failed")[0];
    assert.equal(failed.agent, "helper", r.out);
    assert.equal(failed.swarm_id, "lead/helper");
    assert.equal(failed.parent_swarm_id, "lead");
    assert.deepEqual([failed.error_type, failed.error_class], ["Unauthorized", "RubyLLM::UnauthorizedError"]);
    assert.equal(failed.status_code, 401);
    assert.equal(failed.retryable, false);
    assert.match((await bodies(pair)).at(-1), /UnauthorizedError.*401.*check your API credentials/, "the parent reads it (S-T13)");
    assert.equal(r.result.text, "It found nothing.");
    const lead = named(r.lines, "model_asked")[0];
    assert.equal(lead.swarm_id, "lead");
    assert.equal(lead.parent_swarm_id, undefined);
  },
  "faults:\n  - { model: m-other, kind: auth }\n",
);

holds(
  "what `recovery` says of shortening holds for an agent that names no profile",
  `
      - { call: fs_read, arguments: { path: "a.txt" } }
      - { text: "It tracks." }
`,
  async (pair, root) => {
    writeFileSync(join(root, "a.txt"), "it tracks progress\n".repeat(400));
    const file = join(root, "d.yaml");
    const go = async (recovery) => {
      await fetch(`${pair.chaos}/chaos/reset`, { method: "POST" });
      writeFileSync(
        file,
        `providers:\n  - { name: main, dialect: openai, url: "${pair.chaos}/v1", keys: [{ value: sk-x }] }\n` +
          `recovery: { profile: penguiflow${recovery} }\nagents:\n  - { name: a, model: main/m-agent }\n`,
      );
      return run(pair, null, root, ["--config", file]).over;
    };
    const off = await go(", enabled: false");
    assert.notEqual(off.code, 0, off.out);
    assert.equal(named(off.lines, "trajectory_compressed").length, 0, off.out);
    assert.equal(off.result.calls, 2);
    const on = await go("");
    assert.equal(on.code, 0, on.out);
    assert.equal(named(on.lines, "trajectory_compressed").length, 1);
  },
  "faults:\n  - { model: m-agent, skip: 1, times: 1, kind: context_length, asks: turn }\n",
);

holds(
  "a call that the network broke off has a message, too (S-F7)",
  `
      - { text: "It tracks." }
`,
  async (pair, root) => {
    const r = await run(pair, "openai", root, ["--profile", "swarm,ruby-llm"]).over;
    const [first] = named(r.lines, "llm_retry_attempt");
    assert.match(first.error_message, /connection/, r.out);
  },
  "faults:\n  - { model: m-agent, times: 1, kind: reset }\n",
);

holds(
  "calls that a session repeats, and its waits, count in the result, behind a resume too",
  `
      - { text: "It tracks." }
`,
  async (pair, root) => {
    const state = ["--state", join(root, "state")];
    const r = await run(pair, "openai", root, ["--profile", "swarm,ruby-llm", ...state]).over;
    const retries = named(r.lines, "llm_retry_attempt");
    assert.deepEqual(retries.map((l) => [l.agent, l.attempt, l.retryable]), [["run", 1, true], ["run", 2, true], ["run", 3, true]]);
    assert.equal(r.result.calls, 4, r.out);
    assert.equal((await sent(pair)).length, 4);
    assert.ok(r.result.waited_ms >= 650 && r.result.waited_ms <= r.result.took_ms, r.out);
    const again = await run(pair, null, root, [...state, "--resume"], "last").over;
    assert.deepEqual([again.result.calls, again.result.waited_ms], [4, r.result.waited_ms]);
  },
  "faults:\n  - { model: m-agent, times: 3, kind: server_error }\n",
);

// ---- KB Labs: its document ----

holds(
  "adaptive:doc ends a circle behind a strategy that is written down, and counts all its calls (K-F7, K-F10)",
  `
      - { call: fs_read, arguments: { path: "no.txt" } }
      - { text: '{"progressPercent":10,"reasoning":"a","nextMilestone":"find it","blockers":[]}' }
      - { call: fs_read, arguments: { path: "no.txt" } }
      - { text: '{"progressPercent":30,"reasoning":"b","nextMilestone":"find it","blockers":[]}' }
      - { call: fs_read, arguments: { path: "no.txt" } }
      - { text: '{"strategy":"parameter-adjustment","reasoning":"use the full path","action":{"toolName":"fs.read","parameters":{"path":"a.txt"}},"expectedOutcome":"text","confidence":0.85}' }
`,
  async (pair, root) => {
    const state = ["--state", join(root, "state")];
    const r = await run(pair, "openai", root, ["--profile", "adaptive:doc", ...state]).over;
    assert.equal(r.result.reason, "loop_detected", r.out);
    assert.match(r.result.text, /Loop detected: .*was called 3 times/);
    assert.equal(named(r.lines, "loop_detected")[0].times, 3);
    const way = named(r.lines, "recovery_strategy_generated")[0];
    assert.deepEqual([way.strategy, way.fate], ["parameter-adjustment", "log"]);
    assert.deepEqual([way.tool, JSON.parse(way.parameters), way.expected], ["fs.read", { path: "a.txt" }, "text"]);
    assert.match(spawnSync(daruma, ["explain", "last", ...state], { encoding: "utf8" }).stdout, /Another way was found: parameter-adjustment, fs\.read, log/);
    assert.match((await bodies(pair)).at(-1), /- `fs.read` with [^]*Analysis:\\nLoop detected: `fs.read` with/);
  },
);

// ---- KB Labs: how its later loop stops (K-F19) ----

const read = (path, more = "") => `      - { call: fs_read, arguments: { path: "${path}" }${more} }\n`;
for (const [what, answers, args, reason, words, calls] of [
  ["the third identical call ends it (K-T7)", read("a.txt", ", times: 5"), [], "loop_detected", /repeating similar actions/, 3],
  ["three calls in turn end it at the sixth (K-T8)", (read("a.txt") + read("b.txt") + read("c.txt")).repeat(3), [], "loop_detected", /repeated tool-call loop/, 6],
  ["the limit of iterations says so (K-T6)", read("no{n}", ", times: 5"), ["--steps", "3"], "no_path", /^Maximum iterations reached \(3\)/, 3],
  ["the limit of tokens says so (K-T5)", read("a.txt", ", times: 5"), ["--tokens", "50"], "budget_exhausted", /^Token hard limit: \d+\/50/, 1],
])
  holds(`adaptive-head: ${what}`, `\n${answers}`, async (pair, root) => {
    for (const name of ["b.txt", "c.txt"]) writeFileSync(join(root, name), `${name}\n`);
    const r = await run(pair, "openai", root, ["--profile", "adaptive-head", ...args]).over;
    assert.equal(r.result.reason, reason, r.out);
    assert.match(r.result.text, words);
    assert.equal(r.result.calls, calls);
    assert.equal(r.code, 3);
  });

holds(
  "an agent's retry holds where its profile tries calls again (S-F15)",
  `
      - { text: "It tracks." }
`,
  async (pair, root) => {
    const file = join(root, "d.yaml");
    for (const [profile, retry, calls] of [
      ["swarm", "max_attempts: 2, delay_seconds: 0.1", 2],
      ["swarm", "delay_seconds: 0.1", 4],
      ["[swarm, ruby-llm]", "max_attempts: 2, delay_seconds: 0.1", 5],
    ]) {
      writeFileSync(
        file,
        `providers:\n  - { name: main, dialect: openai, url: "${pair.chaos}/v1", keys: [{ value: sk-x }] }\nagents:\n` +
          `  - { name: a, model: main/m-agent, profile: ${profile}, retry: { ${retry} } }\n`,
      );
      const r = await run(pair, null, root, ["--config", file]).over;
      assert.equal(r.code, 1, r.out);
      assert.equal(r.result.calls, calls, r.out);
      assert.ok(r.result.took_ms < 5000, r.out);
      assert.equal(named(r.lines, "llm_retry_exhausted").length, 1);
    }
  },
  "faults:\n  - { model: m-agent, kind: server_error }\n",
);
