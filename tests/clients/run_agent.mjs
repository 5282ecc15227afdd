// `daruma run`: a task over real files, with a scripted model behind a provider that misbehaves. Whether it is done is decided by
// a program that did not write the files: node runs them.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { daruma } from "./pair.mjs";
import { wire } from "./wire.mjs";

const holds = (name, s) => wire.push({ limit: 60000, ...s, name: `run: ${name}` });

// 20 modules that add one each, one of which takes one away; main.mjs counts to 20.
function project() {
  const root = mkdtempSync(join(tmpdir(), "daruma-run-"));
  mkdirSync(join(root, "src", "deep"), { recursive: true });
  for (let i = 1; i <= 20; i++) writeFileSync(join(root, "src", "deep", `step${i}.mjs`), `export const step = (n) => n ${i === 13 ? "-" : "+"} 1;\n`);
  writeFileSync(
    join(root, "main.mjs"),
    "let n = 0;\nfor (let i = 1; i <= 20; i++) n = (await import(`./src/deep/step${i}.mjs`)).step(n);\nprocess.exit(n === 20 ? 0 : 1);\n",
  );
  writeFileSync(join(root, "..", "daruma-run-secret"), "a secret outside");
  symlinkSync("..", join(root, "up"));
  return root;
}
const passes = (root) => spawnSync(process.execPath, [join(root, "main.mjs")]).status === 0;

const answers = (more = "") => `
      - { call: fs_search, arguments: { text: "n - 1" } }
      - { call: fs_read, arguments: { path: "step13.mjs" } }
      - { call: fs_read, arguments: { path: "src/deep/step13.mjs" } }
${more}      - { call: fs_edit, arguments: { path: "src/deep/step13.mjs", old: "n - 1", new: "n + 1" } }
      - { text: "step13 took one away; it adds one now." }
`;
export const model = (list, faults = "faults: []\n") => `keep: 200\nmodels:\n  m-other: {}\n  m-agent:\n    answers:${list}${faults}`;

export function run(pair, dialect, root, args, task = "Find out why main.mjs fails, and mend it") {
  const base = { openai: "/v1", "openai-responses": "/v1", anthropic: "", gemini: "/v1beta" }[dialect];
  const key = "sk-proj-a8Kd93jSl20fmZp41QxT77bVc";
  const child = spawn(daruma, ["run", ...(dialect ? ["--dialect", dialect, "--model", "m-agent", "--base-url", pair.chaos + base] : []), "--root", root, "--json", ...args, task], {
    env: { OPENAI_API_KEY: key, ANTHROPIC_API_KEY: key, GEMINI_API_KEY: key },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = { out: "", err: "", child };
  child.stdout.on("data", (b) => (said.out += b));
  child.stderr.on("data", (b) => (said.err += b));
  said.over = new Promise((ok) =>
    child.on("close", (code) => {
      const lines = said.out.split("\n").filter(Boolean).map((l) => JSON.parse(l));
      assert.doesNotMatch(said.out + said.err, /a8Kd93jSl20/, "the key got out");
      ok({ code, events: lines.map((l) => l.event), lines, result: lines.find((l) => l.event === "result"), ...said });
    }),
  );
  return said;
}

const faults = {
  "rate limits": "{ model: m-agent, times: 2, kind: rate_limit, headers: { retry-after: \"1\" } }",
  "server errors": "{ model: m-agent, rate: 0.3, kind: [server_error, overloaded] }",
  "lost connections": "{ model: m-agent, rate: 0.3, kind: [reset, cut, eof] }",
  "broken answers": "{ model: m-agent, rate: 0.3, kind: [malformed, truncated_json, empty] }",
  "broken arguments": "{ model: m-agent, times: 2, kind: bad_arguments, form: trailing_comma }",
};
for (const dialect of ["openai", "openai-responses", "anthropic", "gemini"])
  for (const [what, fault] of Object.entries(faults)) {
    if (dialect === "gemini" && what === "broken arguments") continue; // that wire cannot say them
    holds(`${dialect}: a planted bug is found and mended through ${what}`, {
      chaos: model(answers(), `faults:\n  - ${fault}\n`),
      async run(pair) {
        const root = project();
        try {
          assert.equal(passes(root), false);
          const r = await run(pair, dialect, root, ["--yes"]).over;
          assert.equal(r.code, 0, r.out + r.err);
          assert.equal(passes(root), true);
          assert.match(r.result.text, /it adds one now/);
          assert.ok(r.lines.some((l) => l.event === "tool_failed" && /FILE_NOT_FOUND/.test(l.message)));
          assert.equal(r.lines.filter((l) => l.event === "tool_called" && l.tool === "fs.edit").length, 1, "an effect twice");
          if (what === "rate limits") assert.ok(r.result.recovered_calls >= 1, r.out);
          const report = await pair.report();
          assert.equal(report.refused, 0, "the provider refused what was sent");
        } finally {
          rmSync(root, { recursive: true });
        }
      },
    });
  }

holds("nothing outside of the root is read or written", {
  chaos: model(`
      - { call: fs_read, arguments: { path: "../daruma-run-secret" } }
      - { call: fs_read, arguments: { path: "up/daruma-run-secret" } }
      - { call: fs_read, arguments: { path: "/etc/passwd" } }
      - { call: fs_write, arguments: { path: "up/daruma-run-new", content: "x" } }
      - { call: fs_list, arguments: { path: "up" } }
      - { text: "I could not." }
`),
  async run(pair) {
    const root = project();
    try {
      const r = await run(pair, "openai", root, ["--yes"]).over;
      const failed = r.lines.filter((l) => l.event === "tool_failed").map((l) => l.message);
      assert.ok(failed.length >= 3 && failed.every((m) => /PATH_DENIED/.test(m)), r.out);
      assert.equal(existsSync(join(root, "..", "daruma-run-new")), false);
      const last = await (await fetch(`${pair.chaos}/chaos/requests`)).json();
      const list = last.requests ?? last;
      const body = await (await fetch(`${pair.chaos}/chaos/requests/${list.at(-1).number}`)).text();
      assert.doesNotMatch(body, /a secret outside|root:x/);
    } finally {
      rmSync(root, { recursive: true });
    }
  },
});

holds("files are changed only when somebody allows it", {
  chaos: model(answers()),
  async run(pair) {
    const root = project();
    try {
      const r = await run(pair, "openai", root, []).over; // no terminal: nobody can be asked
      assert.equal(passes(root), false);
      assert.ok(r.lines.some((l) => l.event === "person_answered" && l.answer === "expired"), r.out);
      assert.ok(r.lines.some((l) => l.event === "tool_failed" && /nobody answered/.test(l.message)));
    } finally {
      rmSync(root, { recursive: true });
    }
  },
});

holds("a provider that is down for good ends with a report, a limit with what there is", {
  chaos: model(answers(), "faults:\n  - { model: m-agent, kind: auth }\n"),
  async run(pair) {
    const root = project();
    try {
      const down = await run(pair, "openai", root, ["--second", "m-other"]).over;
      assert.equal(down.code, 1);
      assert.match(down.result.text, /ERROR REPORT/);
      assert.match(down.result.text, /\*\*Analysis:\*\* You said/, "the second model explains it");
      await fetch(`${pair.chaos}/chaos/script`, { method: "POST", body: "faults: []\n" });
      const few = await run(pair, "openai", root, ["--steps", "2"]).over;
      assert.equal(few.code, 3, few.out);
      assert.equal(few.result.limit, "steps");
    } finally {
      rmSync(root, { recursive: true });
    }
  },
});

// A gateway that answers in the model's place says so in its head: what it says is no answer of the task.
for (const dialect of ["openai", "anthropic", "gemini"])
  holds(`${dialect}: through a gateway a task is done; the gateway's own words in the place of an answer are a failure`, {
    config: (c) => (c.recovery = { on_failure: "message" }),
    chaos: model(answers(), "faults:\n  - { model: m-agent, times: 1, kind: server_error }\n"),
    async run(pair) {
      const root = project(), gateway = { ...pair, chaos: pair.base };
      try {
        const done = await run(gateway, dialect, root, ["--yes"]).over;
        assert.equal(done.code, 0, done.out + done.err);
        assert.equal(passes(root), true);
        for (const more of [[], ["--stream"]]) {
          await fetch(`${pair.chaos}/chaos/script`, { method: "POST", body: model(answers(), "faults:\n  - { model: m-agent, kind: auth }\n") });
          const down = await run(gateway, dialect, root, ["--yes", ...more]).over;
          assert.equal(down.code, 1, down.out + down.err);
          assert.match(down.result.text, /ERROR REPORT[^]*The model could not answer/);
          assert.ok(down.lines.some((l) => l.event === "error_node" && l.kind === "auth"), down.out);
          assert.ok(!down.events.includes("answer_text"), "the gateway's words were told as an answer");
        }
      } finally {
        rmSync(root, { recursive: true });
      }
    },
  });

// A stream that waits too long for its answer has its head already: then only the words say whose they are.
for (const dialect of ["openai", "openai-responses", "anthropic", "gemini"])
  holds(`${dialect}: a gateway's words are a failure also behind a head that went out before`, {
    config: (c) => (c.recovery = { on_failure: "message" }),
    chaos: model(answers(), "faults:\n  - { model: m-agent, kind: auth, delay: 11s }\n"),
    async run(pair) {
      const root = project(), gateway = { ...pair, chaos: pair.base };
      try {
        for (const more of [[], ["--stream"]]) {
          const down = await run(gateway, dialect, root, ["--yes", ...more]).over;
          assert.equal(down.code, 1, down.out + down.err);
          assert.match(down.result.text, /ERROR REPORT[^]*The model could not answer/);
          assert.ok(!down.events.includes("answer_text"), "the gateway's words were told as an answer");
        }
      } finally {
        rmSync(root, { recursive: true });
      }
    },
  });

holds("an interrupt ends it at once, and says what there is", {
  chaos: model(answers(), "faults:\n  - { model: m-agent, skip: 1, kind: timeout }\n"),
  async run(pair) {
    const root = project();
    try {
      const r = run(pair, "openai", root, []);
      for (let i = 0; i < 100 && !/tool_called/.test(r.out); i++) await new Promise((ok) => setTimeout(ok, 50));
      await new Promise((ok) => setTimeout(ok, 200));
      r.child.kill("SIGINT");
      const end = await r.over;
      assert.equal(end.code, 130);
      assert.match(end.result.text, /cancelled/);
      assert.match(end.result.text, /step13/, "what the tools gave is there");
    } finally {
      rmSync(root, { recursive: true });
    }
  },
});

holds("a plan is made, checked and carried out", {
  chaos: model(`
      - { text: '{"tools": ["fs.search", "fs.edit", "fs.read"]}' }
      - { text: '{"steps": [{"key": "place", "tool": "fs.search", "objective": "find it"}, {"key": "x", "tool": "fs.fly", "objective": "fly"}]}' }
      - { text: '{"tools": ["fs.search", "fs.edit"]}' }
      - { text: '{"steps": [{"key": "place", "tool": "fs.search", "objective": "find it"}, {"key": "done", "tool": "fs.edit", "objective": "mend it", "inputs": {"place": "place"}}]}' }
      - { call: fs_search, arguments: { text: "n - 1" } }
      - { text: "src/deep/step13.mjs, line 1" }
      - { call: fs_edit, arguments: { path: "src/deep/step13.mjs", old: "n - 1", new: "n + 1" } }
      - { text: "mended" }
      - { text: "step13 is mended." }
`),
  async run(pair) {
    const root = project();
    try {
      const r = await run(pair, "anthropic", root, ["--yes", "--plan"]).over;
      assert.equal(r.code, 0, r.out + r.err);
      assert.equal(r.result.text, "step13 is mended.");
      assert.ok(r.events.includes("reclassify"), "a tool that was not chosen is chosen anew");
      assert.equal(passes(root), true);
    } finally {
      rmSync(root, { recursive: true });
    }
  },
});

holds("a planner's profile plans by itself, unless it is told not to", {
  chaos: model(answers()),
  async run(pair) {
    const root = project();
    const planned = `
      - { text: '{"tools": ["fs.search"]}' }
      - { text: '{"steps": [{"key": "place", "tool": "fs.search", "objective": "find it"}]}' }
      - { call: fs_search, arguments: { text: "n - 1" } }
      - { text: "src/deep/step13.mjs" }
      - { text: "It is in step13." }
`;
    const script = (answers) => fetch(`${pair.chaos}/chaos/script`, { method: "POST", body: model(answers) });
    try {
      await script(planned);
      const r = await run(pair, "openai", root, ["--profile", "osprey"]).over;
      assert.equal(r.code, 0, r.out + r.err);
      assert.ok(r.events.includes("plan_made"), r.out);
      assert.equal(r.result.text, "It is in step13.");
      for (const [args, plans] of [[["--profile", "osprey", "--no-plan"], false], [["--profile", "osprey-reactive"], false], [["--profile", "osprey-reactive", "--plan"], true]]) {
        await script(plans ? planned : "\n      - { text: Done. }\n");
        const other = await run(pair, "openai", root, args).over;
        assert.equal(other.code, 0, other.out + other.err);
        assert.equal(other.events.includes("plan_made"), plans, args.join(" "));
      }
      const file = (mode) => writeFileSync(join(root, "d.yaml"), `providers:\n  - { name: main, dialect: openai, url: "${pair.chaos}/v1", keys: [{ value: sk-x }] }\nagents:\n  - { name: a, model: main/m-agent, profile: "osprey:code"${mode} }\n`);
      for (const [mode, args, plans] of [["", [], true], [", mode: reactive", [], false], [", mode: reactive", ["--profile", "osprey"], false], ["", ["--no-plan"], false], [", mode: reactive", ["--plan"], true]]) {
        file(mode);
        await script(plans ? planned : "\n      - { text: Done. }\n");
        const other = await run(pair, null, root, ["--config", join(root, "d.yaml"), ...args]).over;
        assert.equal(other.code, 0, other.out + other.err);
        assert.equal(other.events.includes("plan_made"), plans, mode + args.join(" "));
      }
    } finally {
      rmSync(root, { recursive: true });
    }
  },
});

holds("a seed's profile does what its seed does, and a layer below it what that does", {
  chaos: model("\n      - { text: \"Done.\" }\n", "faults:\n  - { model: m-agent, times: 1, kind: rate_limit }\n"),
  async run(pair) {
    const root = project();
    const script = (faults) => fetch(`${pair.chaos}/chaos/script`, { method: "POST", body: model("\n      - { text: \"Done.\" }\n", `faults:\n${faults}`) });
    try {
      const alone = await run(pair, "openai", root, ["--profile", "penguiflow:code"]).over;
      assert.equal(alone.code, 1, alone.out); // the planner raises it
      assert.equal(alone.result.reason, "fatal");
      assert.equal(alone.lines.find((l) => l.event === "error_recovery_attempt").error_type, "rate_limit");
      await script("  - { model: m-agent, times: 1, kind: rate_limit }\n");
      const began = Date.now();
      const layered = await run(pair, "openai", root, ["--profile", "penguiflow:code,penguiflow-client"]).over;
      assert.equal(layered.code, 0, layered.out);
      assert.ok(Date.now() - began >= 1000, "the client waits a second");
      assert.equal(layered.result.recovered_calls, 1);
      await script("  - { model: m-agent, times: 1, kind: auth }\n");
      const swarm = await run(pair, "openai", root, ["--profile", "swarm"]).over;
      assert.equal(swarm.code, 0, swarm.out); // the error passes for an answer (S-F3)
      assert.match(swarm.result.text, /UnauthorizedError/);
      await script("  - { model: m-agent, times: 1, kind: auth }\n");
      const streamed = await run(pair, "openai", root, ["--profile", "swarm", "--stream"]).over;
      assert.equal(streamed.lines.filter((l) => l.event === "answer_text").map((l) => l.text).join(""), streamed.result.text, "it is told, too");
      await script("  - { model: m-agent, times: 1, kind: auth }\n");
      assert.equal((await run(pair, "openai", root, []).over).code, 1, "default says that it failed");
    } finally {
      rmSync(root, { recursive: true });
    }
  },
});

holds("what it is asked wrongly it says", {
  async run() {
    const go = (...args) => spawnSync(daruma, ["run", ...args], { encoding: "utf8", env: {} });
    for (const [args, says] of [
      [[], /what is the task/],
      [["x"], /which model/],
      [["--model", "m", "x"], /where is the model\? --base-url URL, or a variable like OPENAI_BASE_URL/],
      [["--model", "m", "--base-url", "http://127.0.0.1:1", "--root", "/nowhere", "x"], /cannot be opened/],
      [["--model", "m", "--base-url", "nonsense", "x"], /no address/],
      [["--model", "m", "--steps", "no", "x"], /wants a number/],
      [["--model", "m", "--profile", "nobody", "x"], /no profile `nobody`/],
      [["--model", "m", "--profile", "osprey:nobody,swarm", "x"], /no profile `osprey:nobody`/],
      [["--model", "m", "--dialect", "latin", "x"], /latin/],
      [["--model", "m", "--base-url", "http://127.0.0.1:1", "--plan", "--no-plan", "x"], /not both/],
    ]) {
      const r = go(...args);
      assert.equal(r.status, 2, r.stderr);
      assert.match(r.stderr, says);
    }
    assert.equal(go("--help").status, 0);
    const down = go("--model", "m", "--base-url", "http://127.0.0.1:1", "--seconds", "1", "--no-journal", "x");
    assert.match(down.stderr, /\[failure\] network refused\n/, "what is in the way is said at once, not only at the end");
  },
});

holds("a terminal has a line that says how far it is, a pipe has none", {
  chaos: model(answers()),
  async run(pair) {
    const piped = project(), shown = project(), env = { ...process.env, OPENAI_API_KEY: "sk-line" };
    const args = (root) => ["run", "--model", "m-agent", "--base-url", `${pair.chaos}/v1`, "--root", root, "--no-journal", "--yes", "the task"];
    const all = (child) =>
      new Promise((ok) => {
        let text = "";
        for (const s of [child.stdout, child.stderr]) s.on("data", (b) => (text += b));
        child.on("close", (code) => ok({ code, text }));
      });
    try {
      const plain = await all(spawn(daruma, args(piped), { env, stdio: ["ignore", "pipe", "pipe"] }));
      assert.equal(plain.code, 0, plain.text);
      assert.doesNotMatch(plain.text, /\r|\x1b/);
      await fetch(`${pair.chaos}/chaos/reset`, { method: "POST" });
      const words = [daruma, ...args(shown)].map((w) => `'${w}'`).join(" ");
      const tty = await all(spawn("script", ["-qec", words, "/dev/null"], { env, stdio: ["ignore", "pipe", "pipe"] }));
      assert.equal(tty.code, 0, tty.text);
      assert.match(tty.text, /\r\x1b\[Kstep 3, fs\.read, [1-9]\d* tokens, \d+ recovered/);
      assert.match(tty.text, /\r\x1b\[K[^\r\x1b]*step13 took one away/); // it was taken away before the answer
    } finally {
      rmSync(piped, { recursive: true });
      rmSync(shown, { recursive: true });
    }
  },
});
