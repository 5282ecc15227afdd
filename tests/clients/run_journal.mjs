// The journal of `daruma run`: what is recorded goes on, what was begun is not done twice, who is asked answers, and what cannot
// be written or read is said. The model is the test's own: it answers the n-th question with the n-th act.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { daruma, sleep } from "./pair.mjs";
import { flips } from "./run_flips.mjs";
import { kill } from "./run_kill.mjs";
import { long } from "./run_long.mjs";
import { wire } from "./wire.mjs";

const holds = (name, run, limit = 60000) => wire.push({ name: `run: journal: ${name}`, limit, run });
const KEY = "sk-proj-b7Kd93jSl20fmZp41QxT77bVc";

const say = (act, n) =>
  typeof act === "string"
    ? { role: "assistant", content: act }
    : { role: "assistant", content: null, tool_calls: [{ id: `call_${n}`, type: "function", function: { name: act.call, arguments: JSON.stringify(act.args ?? {}) } }] };

// A folder, and a model that does one act after the other: which, its history says. `hold(n)`: the n-th question waits.
async function scene(acts, f, { hold = () => null, refuse = () => false } = {}) {
  const dir = mkdtempSync(join(tmpdir(), "daruma-journal-")), root = join(dir, "root"), state = join(dir, "state");
  mkdirSync(root);
  writeFileSync(join(root, "log.txt"), "BEGIN\nEND\n");
  const asked = [];
  const server = createServer((req, res) => {
    let text = "";
    req.on("data", (d) => (text += d));
    req.on("end", async () => {
      const body = JSON.parse(text), n = body.messages.filter((m) => m.role === "tool").length;
      asked.push({ n, text });
      await hold(n, asked.length);
      if (refuse(n)) return res.writeHead(401, { "content-type": "application/json" }).end('{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}');
      const message = say(acts[Math.min(n, acts.length - 1)], n);
      res.writeHead(200, { "content-type": "application/json" });
      res.end(JSON.stringify({ id: `a${n}`, object: "chat.completion", model: "m", choices: [{ index: 0, message, finish_reason: message.tool_calls ? "tool_calls" : "stop" }], usage: { prompt_tokens: 10, completion_tokens: 2 } }));
    });
    req.on("error", () => {});
  });
  await new Promise((ok) => server.listen(0, "127.0.0.1", ok));
  const base = ["--model", "m", "--base-url", `http://127.0.0.1:${server.address().port}/v1`, "--root", root];
  const go = (args, { env = {}, limited, closed } = {}) => {
    const all = ["run", ...args];
    const options = { env: { OPENAI_API_KEY: KEY, ...(process.env.ASAN_OPTIONS && { ASAN_OPTIONS: process.env.ASAN_OPTIONS }), ...env }, stdio: ["ignore", "pipe", "pipe"], cwd: dir };
    const child = limited || closed ? spawn("sh", ["-c", `${limited ? `ulimit ${limited};` : ""} exec "$0" "$@" ${closed ?? ""}`, daruma, ...all], options) : spawn(daruma, all, options);
    const said = { child, out: "", err: "" };
    child.stdout.on("data", (d) => (said.out += d));
    child.stderr.on("data", (d) => (said.err += d));
    said.over = new Promise((ok) =>
      child.on("close", (code, signal) => {
        assert.doesNotMatch(said.out + said.err, /b7Kd93jSl20/, "the key got out");
        const lines = said.out.split("\n").filter((l) => l.startsWith("{") && l.endsWith("}")).map((l) => JSON.parse(l));
        ok({ code, signal, lines, result: lines.find((l) => l.event === "result"), ...said });
      }),
    );
    return said;
  };
  const s = {
    dir, root, state, asked, base, go,
    run: (args = [], o) => go([...base, "--state", state, "--yes", "--json", ...args, "the task"], o),
    resume: (args = [], o) => go(["--resume", "last", "--state", state, "--json", ...args], o),
    explain: (...args) => spawnSync(daruma, ["explain", "last", "--state", state, ...args], { encoding: "utf8" }),
    log: () => readFileSync(join(root, "log.txt"), "utf8"),
    file: () => join(state, readdirSync(state).find((f) => f.endsWith(".db"))),
    // Something outside changes the record.
    change: (sql) => {
      const db = new DatabaseSync(s.file());
      db.exec(sql);
      db.close();
    },
  };
  try {
    await f(s);
    for (const name of existsSync(state) ? readdirSync(state) : []) assert.equal(readFileSync(join(state, name)).includes(KEY), false, "the key is in the journal");
  } finally {
    server.closeAllConnections();
    server.close();
    rmSync(dir, { recursive: true });
  }
}

const until = async (what, why) => {
  for (let i = 0; i < 400; i++) {
    if (what()) return;
    await sleep(25);
  }
  throw new Error(`waited in vain for ${why}`);
};

const edit = (i) => ({ call: "fs_edit", args: { path: "log.txt", old: "END", new: `edit-${i}\nEND` } });
const read = { call: "fs_read", args: { path: "log.txt" } };

holds("killed 40 times at random moments, no finished step is lost and no effect comes twice", async () => {
  const tally = await kill(40);
  assert.ok(tally.kills >= 40 && tally.tasks > 1, JSON.stringify(tally));
}, 180000);

holds("a run whose journal has flipped bits does nothing twice", async () => {
  const tally = await flips(48, 20261);
  assert.deepEqual(tally.doubled, []);
  assert.ok(tally.refused > 2 && tally.done > 2, JSON.stringify(tally));
}, 180000);

const unfinished = (dir) => readdirSync(dir).filter((f) => f.startsWith(".daruma-new-"));
holds("what a killed write left beside its file is gone when the run goes on, and nothing else", () =>
  scene([{ call: "fs_edit", args: { path: "sub/large.txt", old: "END", new: "edited" } }, "all done"], async (s) => {
    const sub = join(s.root, "sub"), large = join(sub, "large.txt");
    const was = `${"x".repeat(4000000)}END`, is = was.replace("END", "edited"); // long to write; a try is short, since nobody sends it
    for (let tries = 0; ; tries++) {
      assert.ok(tries < 40, "no write was caught at work");
      rmSync(s.state, { recursive: true, force: true });
      rmSync(sub, { recursive: true, force: true });
      mkdirSync(sub);
      writeFileSync(large, was);
      const first = s.run();
      while (!unfinished(sub).length && statSync(large).size === was.length && first.child.exitCode === null) await new Promise(setImmediate);
      first.child.kill("SIGKILL");
      await first.over;
      if (unfinished(sub).length) break;
    }
    writeFileSync(join(sub, ".daruma-new-20261126-180212-3f9a-0"), "another run's");
    const on = await s.resume(["--yes"]).over;
    assert.equal(on.code, 0, on.out + on.err);
    assert.equal(on.lines.find((l) => l.event === "run_resumed").fate, "again");
    assert.deepEqual(readdirSync(sub).sort(), [".daruma-new-20261126-180212-3f9a-0", "large.txt"]);
    assert.ok(readFileSync(large, "utf8") === is);
  }),
);

holds("a question to a person that is put again is no call of a model", () =>
  scene([{ call: "fs_write", args: { path: "a.txt", content: "x" } }, "all done"], async (s) => {
    const file = join(s.dir, "answer"), put = `${file}.question`;
    const first = s.go([...s.base, "--state", s.state, "--approve", file, "--json", "the task"]);
    await until(() => existsSync(put), "the question");
    first.child.kill("SIGKILL");
    await first.over;
    rmSync(put);
    const on = s.resume(["--approve", file]);
    await until(() => existsSync(put), "the question again");
    writeFileSync(file, "allow");
    const r = await on.over;
    assert.equal(r.code, 0, r.out + r.err);
    assert.equal(s.asked.length, 2);
    assert.equal(r.result.calls, 2, r.out);
  }),
);

const most = (samples, key) => Math.max(...samples.map((s) => s[key]));
holds("memory is flat over 1,200 steps, from where the model's window is full", async () => {
  const { samples } = await long(1200, [], { window: 16000 }), early = samples.filter((s) => s.step >= 240 && s.step <= 360), late = samples.filter((s) => s.step > 360);
  assert.ok(most(late, "bytes") < 1.2 * most(early, "bytes"), JSON.stringify(samples));
  assert.ok(most(late, "rss") < most(early, "rss") + 384, JSON.stringify(samples)); // KB; 840 more steps of 1.8 KB would be 1,512
}, 180000);

holds("killed behind steps that left the conversation, a run asks what it would have asked", async () => {
  const { samples } = await long(700, [], { window: 16000, kills: [150, 300, 301, 640] });
  assert.ok(most(samples, "bytes") < 48000, JSON.stringify(samples));
}, 180000);

holds("a run that was killed goes on with the question that was out; list and explain tell of it", () => {
  const gate = { open: null };
  return scene([read, edit(1), "all done"], async (s) => {
    const first = s.run();
    await until(() => s.asked.length === 3, "the third question");
    const id = first.out.match(/"run":"([^"]+)"/)[1];
    const list = () => spawnSync(daruma, ["run", "--list", "--state", s.state], { encoding: "utf8" }).stdout;
    assert.match(list(), new RegExp(`^${id} .* running +the task\n$`));
    const twice = await s.resume(["--yes"]).over;
    assert.equal(twice.code, 2);
    assert.match(twice.err, /is under way in another process/);
    assert.match(s.explain().stdout, /It is under way/);
    first.child.kill("SIGKILL");
    await first.over;
    assert.match(list(), / stopped +the task/);
    assert.match(s.explain().stdout, /Under way: m \(a question to the model\)[^]*It is stopped without a word: it can go on[^]*--resume/);
    gate.open();
    const r = await s.go(["--resume", id, "--state", s.state, "--yes", "--json"]).over;
    assert.equal(r.code, 0, r.out + r.err);
    assert.equal(r.result.text, "all done");
    assert.equal(r.result.calls, 4);
    assert.deepEqual(s.asked.map((q) => q.n), [0, 1, 2, 2], "only the question that was out is asked again");
    assert.equal(s.asked[2].text, s.asked[3].text);
    assert.equal(s.log(), "BEGIN\nedit-1\nEND\n");
    assert.deepEqual(r.lines.filter((l) => l.event === "tool_called"), [], "what was told is not told again");
    assert.match(list(), / ok +the task/);
    const said = s.explain();
    assert.equal(said.status, 0);
    assert.match(said.stdout, /Task: the task\nModel: m at http[^]*fs\.read [^]*worked[^]*fs\.edit [^]*worked in [^]*The run went on again[^]*It ended: ok \(answer_complete\)\.[^]*2 tool calls, 30 tokens in and 6 out/);
    const again = await s.resume().over; // over: its end is told again, nobody is asked
    assert.equal(again.code, 0);
    assert.equal(again.result.text, "all done");
    assert.equal(s.asked.length, 4);
    assert.equal(statSync(s.file()).mode & 0o777, 0o600);
    assert.equal(statSync(s.state).mode & 0o777, 0o700);
  }, { hold: (n, i) => (i === 3 ? new Promise((ok) => (gate.open = ok)) : null) });
});

// Calls that went out before a resume are in its limits, whoever ended the run and however often.
const limited = async (f, { calls, answer }) => {
  const dir = mkdtempSync(join(tmpdir(), "daruma-limited-")), file = join(dir, "c.yaml"), asked = [];
  const server = createServer((req, res) => {
    req.resume();
    req.on("end", () => answer(res, asked.push(1)));
  });
  await new Promise((ok) => server.listen(0, "127.0.0.1", ok));
  writeFileSync(file, `providers:\n  - { name: p, dialect: openai, url: "http://127.0.0.1:${server.address().port}/v1", keys: [{ value: kkkkkkkkkkkk }] }\nagents:\n  - { name: main, model: p/m, limits: { calls: ${calls} } }\n`);
  const go = (...args) => {
    const child = spawn(daruma, ["run", "--state", join(dir, "state"), "--json", ...args], { cwd: dir, env: {}, stdio: ["ignore", "pipe", "pipe"] });
    let out = "";
    child.stdout.on("data", (d) => (out += d));
    return { child, over: new Promise((ok) => child.on("close", () => ok(out.split("\n").filter((l) => l.startsWith('{"event":"result"')).map((l) => JSON.parse(l))[0]))) };
  };
  try {
    await f({ asked, first: () => go("--config", file, "the task"), resume: () => go("--resume", "last") });
  } finally {
    server.closeAllConnections();
    server.close();
    rmSync(dir, { recursive: true });
  }
};
const busy = (res) => res.writeHead(503, { "content-type": "application/json" }).end('{"error":{"message":"overloaded","type":"server_error"}}');

holds("a limit of calls holds however often a run is resumed, and is what it ends with", () =>
  limited(async (s) => {
    for (let i = 0; i < 4; i++) {
      const { limit, calls } = await (i ? s.resume() : s.first()).over;
      assert.deepEqual([i, limit, calls, s.asked.length], [i, "calls", 3, 3]);
    }
  }, { calls: 3, answer: busy }));

holds("calls of a question that was broken off are told and limited with it, killed or interrupted", () =>
  limited(async (s) => {
    for (const [i, signal] of ["SIGKILL", "SIGKILL", "SIGINT", "SIGKILL", "SIGINT"].entries()) {
      const r = i ? s.resume() : s.first();
      await until(() => s.asked.length === i + 1, `question ${i + 1}`);
      r.child.kill(signal);
      const end = await r.over;
      if (signal === "SIGINT") assert.equal(end.calls, i + 1);
    }
    const { limit, calls } = await s.resume().over; // it has one call left
    assert.deepEqual([limit, calls, s.asked.length], ["calls", 6, 6]);
  }, { calls: 6, answer: (res, n) => n > 5 && busy(res) }));

holds("a run that failed for good tells the calls of all that was asked", () =>
  limited(async (s) => {
    for (let i = 0; i < 3; i++) {
      const { calls } = await (i ? s.resume() : s.first()).over;
      assert.deepEqual([calls, s.asked.length], [2 * i + 2, 2 * i + 2]);
    }
  }, { calls: 100, answer: (res, n) => n % 2 ? busy(res) : res.writeHead(401, { "content-type": "application/json" }).end('{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}') }));

holds("an interrupt is no end: the run goes on", () =>
  scene([read, "all done"], async (s) => {
    const r = s.run();
    await until(() => s.asked.length === 2, "the second question");
    r.child.kill("SIGINT");
    const end = await r.over;
    assert.equal(end.code, 130);
    assert.match(end.err, /daruma run --resume \S+\n/);
    assert.match(s.explain().stdout, /interrupted: it can go on/);
    const on = await s.resume(["--yes"]).over;
    assert.equal(on.code, 0, on.err);
    assert.equal(on.result.text, "all done");
    assert.equal(on.result.calls, s.asked.length, "the question that was out when it stopped went out, too");
  }, { hold: (n, i) => (i === 2 ? new Promise(() => {}) : null) }));

// The journal says that a call was begun; what stands in the file says what came of it.
for (const [what, before, fate, after] of [
  ["was not begun is made", "BEGIN\nEND\n", "again", "BEGIN\nedit-1\nEND\n"],
  ["was made is not made again", "BEGIN\nedit-1\nEND\n", "done", "BEGIN\nedit-1\nEND\n"],
  ["met another file is lost", "BEGIN\nsomebody else\nEND\n", "lost", "BEGIN\nsomebody else\nEND\n"],
])
  holds(`an edit that ${what}`, () =>
    scene([edit(1), "all done"], async (s) => {
      const first = s.run();
      await until(() => s.asked.length === 2, "the second question");
      first.child.kill("SIGKILL");
      await first.over;
      // As if it had been killed within the edit.
      s.change("DELETE FROM input WHERE kind='tool'; DELETE FROM act WHERE call > (SELECT call FROM act WHERE what='tool'); UPDATE run SET value=(SELECT chain FROM act WHERE what='tool') WHERE key='head'");
      writeFileSync(join(s.root, "log.txt"), before);
      const r = await s.resume(["--yes"]).over;
      assert.equal(r.code, 0, r.out + r.err);
      assert.equal(r.lines.find((l) => l.event === "run_resumed").fate, fate);
      assert.equal(s.log(), after);
      const told = JSON.parse(s.asked.at(-1).text).messages.find((m) => m.role === "tool").content;
      assert.match(told, fate === "lost" ? /was lost|unknown/i : /edited/);
    }, { hold: (n, i) => (i === 2 ? new Promise(() => {}) : null) }));

holds("a command that was under way is not run again: the model is told that nobody knows", () =>
  scene([{ call: "shell_run", args: { command: "echo x >>count; sleep 30" } }, "I looked"], async (s) => {
    const first = s.run(["--shell"]);
    await until(() => existsSync(join(s.root, "count")), "the command");
    first.child.kill("SIGKILL");
    await first.over;
    const r = await s.resume(["--yes"]).over;
    assert.equal(r.code, 0, r.out + r.err);
    assert.equal(r.lines.find((l) => l.event === "run_resumed").fate, "lost");
    assert.equal(readFileSync(join(s.root, "count"), "utf8"), "x\n");
    assert.match(s.explain().stdout, /Nobody was asked: --yes allows it[^]*nobody knows what came of it/);
    assert.doesNotMatch(s.explain().stdout, /A person was asked/);
  }));

holds("a run that was escalated goes on with what a person says", () =>
  scene([0, 1, 2].map(() => ({ call: "fs_read", args: { path: "gone.txt" } })).concat(["I go without it"]), async (s) => {
    const r = await s.run().over;
    assert.equal(r.code, 4, r.out);
    assert.match(r.err, /--resume \S+ "what you say to it"/);
    assert.equal((await s.resume().over).code, 4, "without words it stays where it is");
    const on = await s.resume(["gone.txt is gone for good"]).over;
    assert.equal(on.code, 0, on.err);
    assert.equal(on.result.text, "I go without it");
    assert.match(s.asked.at(-1).text, /gone\.txt is gone for good/);
    assert.match(s.explain().stdout, /A person said how to go on: gone\.txt is gone for good/);
    const more = await s.resume(["more words"]).over;
    assert.equal(more.code, 2);
    assert.match(more.err, /does not wait for a person: it is over, and tells its end, daruma run --resume/);
  }));

holds("a run whose model failed for good asks again, and nothing else", () => {
  let broken = true;
  return scene([read, edit(1), "all done"], async (s) => {
    const r = await s.run().over;
    assert.equal(r.code, 1, r.out + r.err);
    assert.match(r.err, /daruma run --resume/);
    assert.equal((await s.resume(["--yes"]).over).code, 1, "it is still broken");
    broken = false;
    const on = await s.resume(["--yes"]).over;
    assert.equal(on.code, 0, on.out + on.err);
    assert.equal(on.result.text, "all done");
    assert.equal(s.log(), "BEGIN\nedit-1\nEND\n");
    assert.deepEqual(s.asked.map((q) => q.n), [0, 1, 1, 1, 1, 2]); // a key that has just worked is asked once more, by the run that saw it
    assert.equal(s.asked[1].text, s.asked[3].text);
    assert.match(s.explain().stdout, /auth[^]*The run went on again[^]*It ended: ok/);
  }, { refuse: (n) => broken && n === 1 });
});

// ---- who is asked ----

// What is typed at a question on a terminal, and what comes of it.
for (const [typed, code, log, says] of [
  ["y\n", 0, "BEGIN\nedit-1\nEND\n", /edited/],
  ["n\n", 0, "BEGIN\nEND\n", /permission denied/],
  ["not this line\n", 0, "BEGIN\nEND\n", /They said: not this line/],
  ["\x03", 130, "BEGIN\nEND\n", null],
  ["\x04", 130, "BEGIN\nEND\n", null],
])
  holds(`the terminal is asked, and ${JSON.stringify(typed)} is typed`, () =>
    scene([edit(1), "all done"], async (s) => {
      const quoted = [daruma, "run", ...s.base, "--state", s.state, "the task"].map((a) => `'${a}'`).join(" ");
      const child = spawn("script", ["-qec", quoted, "/dev/null"], { env: { ...process.env, OPENAI_API_KEY: KEY }, stdio: ["pipe", "pipe", "inherit"] });
      let out = "";
      child.stdout.on("data", (d) => (out += d));
      const over = new Promise((ok) => child.on("close", ok));
      await until(() => out.includes("[y/N]"), "the question");
      child.stdin.write(typed);
      assert.equal(await over, code, out);
      assert.equal(s.log(), log);
      if (says) assert.match(JSON.parse(s.asked.at(-1).text).messages.at(-1).content, says);
      else {
        assert.match(s.explain().stdout, /Under way: fs\.edit [^]*\(a question to a person\)[^]*interrupted: it can go on/);
        const on = await s.resume(["--yes"]).over; // the question was not answered: it is put again
        assert.equal(on.code, 0, on.err);
        assert.equal(s.log(), "BEGIN\nedit-1\nEND\n");
      }
    }));

holds("--approve FILE: allowed, denied with words, and a question that outlives its asker is put once", () =>
  scene([edit(1), edit(2), edit(3), "all done"], async (s) => {
    const file = join(s.dir, "answer"), question = `${file}.question`;
    const args = [...s.base, "--state", s.state, "--json", "--approve", file, "the task"];
    writeFileSync(file, '{"answer": "allow"}\n'); // of another question, long ago
    const first = s.go(args);
    await until(() => existsSync(question), "the question");
    const q = JSON.parse(readFileSync(question, "utf8"));
    assert.equal(q.tool, "fs.edit");
    assert.equal(q.arguments.new, "edit-1\nEND");
    assert.match(q.text, /May the agent call fs\.edit/);
    await sleep(600);
    assert.equal(s.log(), "BEGIN\nEND\n", "an old answer counts for nothing");
    writeFileSync(`${file}.tmp`, "allow\n");
    renameSync(`${file}.tmp`, file);
    await until(() => existsSync(question) && JSON.parse(readFileSync(question, "utf8")).question !== q.question, "the second question");
    assert.equal(s.log(), "BEGIN\nedit-1\nEND\n");
    assert.equal(existsSync(file), false, "an answer is used once");
    const second = JSON.parse(readFileSync(question, "utf8")).question;
    first.child.kill("SIGKILL");
    await first.over;
    writeFileSync(file, JSON.stringify({ question: second, answer: "deny", text: "not this line" })); // while nobody runs
    const on = s.resume(["--approve", file]);
    await until(() => existsSync(question) && ![q.question, second].includes(JSON.parse(readFileSync(question, "utf8")).question), "the third question");
    const told = JSON.parse(s.asked.at(-1).text).messages.filter((m) => m.role === "tool").at(-1).content;
    assert.match(told, /not this line/);
    writeFileSync(file, '{"answer": "maybe"}\n');
    await until(() => /approval_waits/.test(on.out), "a word about the answer");
    writeFileSync(`${file}.tmp`, '{"answer": "allow"}');
    renameSync(`${file}.tmp`, file);
    const r = await on.over;
    assert.equal(r.code, 0, r.out + r.err);
    assert.equal(s.log(), "BEGIN\nedit-1\nedit-3\nEND\n");
    assert.equal(existsSync(question), false);
    const answers = r.lines.filter((l) => l.event === "person_answered").map((l) => l.answer);
    assert.deepEqual(answers, ["denied", "allowed"]);
    assert.match(s.explain().stdout, /A person was asked: denied, and said: not this line/);
  }));

holds("--approve FILE: an answer that was read before a kill, and is still there, stands in nobody's way", () =>
  scene([edit(1), edit(2), "all done"], async (s) => {
    const file = join(s.dir, "answer"), question = `${file}.question`, named = () => JSON.parse(readFileSync(question, "utf8")).question;
    const first = s.go([...s.base, "--state", s.state, "--json", "--approve", file, "the task"]);
    await until(() => existsSync(question), "the question");
    const read = JSON.stringify({ question: named(), answer: "allow" });
    writeFileSync(file, read);
    await until(() => existsSync(question) && named() !== JSON.parse(read).question, "the second question");
    first.child.kill("SIGKILL");
    await first.over;
    writeFileSync(file, read); // as if it had been killed between hearing it and removing it
    const on = s.resume(["--approve", file]);
    await until(() => !existsSync(file), "the old answer goes");
    writeFileSync(file, JSON.stringify({ question: named(), answer: "allow" }));
    const r = await on.over;
    assert.equal(r.code, 0, r.out + r.err);
    assert.equal(s.log(), "BEGIN\nedit-1\nedit-2\nEND\n");
  }));

// Two runs that ask at one place, the second behind the first.
async function two_ask(s, between) {
  const file = join(s.dir, "answer"), question = `${file}.question`;
  const asks = () => {
    try {
      return JSON.parse(readFileSync(question, "utf8")).run;
    } catch {
      return false; // nobody does
    }
  };
  const roots = ["one", "two"].map((n) => (mkdirSync(join(s.dir, n)), writeFileSync(join(s.dir, n, "log.txt"), "BEGIN\nEND\n"), join(s.dir, n)));
  const go = (i) => s.go([...s.base.slice(0, -1), roots[i], "--state", s.state, "--json", "--approve", file, "the task"]);
  const runs = [go(0)];
  await until(asks, "the question");
  const first = asks(), second = () => asks() && asks() !== first;
  await between({ file, question, second, runs, more: () => runs.push(go(1)) });
  const ends = await Promise.all(runs.map((r) => r.over));
  assert.deepEqual(ends.map((e) => e.code), [0, 0], ends[1].out + ends[1].err);
  return roots.map((r) => readFileSync(join(r, "log.txt"), "utf8"));
}

holds("--approve FILE: of two runs that ask at one place the second waits for the first", () =>
  scene([edit(1), "all done"], async (s) => {
    const logs = await two_ask(s, async ({ file, question, second, runs, more }) => {
      more();
      await until(() => /approval_waits/.test(runs[1].out), "a word of the second");
      assert.match(runs[1].out, /another run asks there, and is answered first/);
      assert.equal(second(), false, "the first question stands");
      writeFileSync(file, "deny\n");
      await until(second, "the second question");
      assert.equal((await runs[0].over).code, 0);
      assert.equal(existsSync(question), true, "who was answered takes only its own away");
      writeFileSync(file, "allow\n");
    });
    assert.deepEqual(logs, ["BEGIN\nEND\n", "BEGIN\nedit-1\nEND\n"]);
    assert.deepEqual(readdirSync(s.dir).filter((f) => f.startsWith("answer")), []);
  }));

holds("--approve FILE: a question that somebody took away to answer it does not mix with the next one", () =>
  scene([edit(1), "all done"], async (s) => {
    const logs = await two_ask(s, async ({ file, question, second, runs, more }) => {
      renameSync(question, join(s.dir, "taken"));
      more();
      await until(second, "the second question");
      await until(() => /approval_waits/.test(runs[0].out), "a word of the first, whose place it is not any more");
      writeFileSync(file, "allow\n");
      await until(() => existsSync(question) && !second(), "the first question again");
      writeFileSync(file, "deny\n");
    });
    assert.deepEqual(logs, ["BEGIN\nEND\n", "BEGIN\nedit-1\nEND\n"]);
  }));

holds("--approve FILE: what is no plain file is not read, and does not hold the run up", () =>
  scene([edit(1), "I may not"], async (s) => {
    for (const [name, make] of [["pipe", (f) => spawnSync("mkfifo", [f])], ["folder", mkdirSync]]) {
      const file = join(s.dir, name);
      make(file);
      const r = await s.go([...s.base, "--state", s.state, "--json", "--approve", file, "--approve-within", "1", "the task"]).over;
      assert.equal(r.code, 0, r.out + r.err);
      assert.deepEqual(r.lines.filter((l) => l.event === "person_answered").map((l) => l.answer), ["expired"]);
      assert.deepEqual(r.lines.filter((l) => l.event === "approval_waits").map((l) => l.reason), ["what lies where the answer is expected is no plain file"]);
    }
  }));

holds("--approve FILE: a question that cannot be written is said, and leaves nothing", () =>
  scene([edit(1), "I may not"], async (s) => {
    const file = join(s.dir, "answer"), args = [...s.base, "--no-journal", "--json", "--approve", file, "the task"];
    const r = await s.go(args, { limited: "-f 0" }).over; // no file may have a byte
    assert.equal(r.code, 0, r.out + r.err);
    assert.match(r.lines.find((l) => l.event === "approval_waits").reason, /cannot be written to [^]*answer\.question: File too large/);
    assert.deepEqual(readdirSync(s.dir).filter((f) => f.startsWith("answer")), []);
  }));

holds("on a terminal what was typed before a question stood there does not answer it", () => {
  let typed;
  return scene([edit(1), "I may not"], async (s) => {
    const words = [daruma, "run", ...s.base, "--state", s.state, "the task"].map((w) => `'${w}'`).join(" ");
    const child = spawn("script", ["-qec", words, "/dev/null"], { env: { PATH: process.env.PATH, OPENAI_API_KEY: KEY }, stdio: ["pipe", "pipe", "pipe"] });
    let out = "";
    child.stdout.on("data", (d) => (out += d));
    typed = async () => {
      child.stdin.write("y\n");
      await until(() => /y\r?\n/.test(out), "the echo");
    };
    const over = new Promise((ok) => child.on("close", ok));
    await until(() => /\[y\/N\]/.test(out), "the question");
    child.stdin.write("n\n");
    assert.equal(await over, 0, out);
    assert.equal(s.log(), "BEGIN\nEND\n");
  }, { hold: (n) => (n ? null : typed()) });
});

holds("a terminal that cannot clear a line gets no line that would have to be cleared", () =>
  scene([read, "all done"], async (s) => {
    const words = [daruma, "run", ...s.base, "--state", s.state, "the task"].map((w) => `'${w}'`).join(" ");
    const [plain, able] = await Promise.all(["dumb", "xterm"].map((t) => new Promise((ok) => {
      const child = spawn("script", ["-qec", words, "/dev/null"], { env: { PATH: process.env.PATH, OPENAI_API_KEY: KEY, TERM: t }, stdio: ["ignore", "pipe", "pipe"] });
      let out = "";
      child.stdout.on("data", (d) => (out += d));
      child.on("close", () => ok(out));
    })));
    assert.match(plain, /all done/);
    assert.doesNotMatch(plain, /\x1b/);
    assert.match(able, /\x1b\[K/);
  }));

holds("on a terminal a run in the background that asks is not stopped for it", () =>
  scene([edit(1), "I may not"], async (s) => {
    const words = [daruma, "run", ...s.base, "--state", s.state, "--approve-within", "1", "the task"].map((w) => `"${w}"`).join(" ");
    const child = spawn("script", ["-qec", `bash -mc '${words} & wait; echo over'`, "/dev/null"], { env: { PATH: process.env.PATH, OPENAI_API_KEY: KEY }, stdio: ["pipe", "pipe", "pipe"] });
    let out = "";
    child.stdout.on("data", (d) => (out += d));
    await new Promise((ok) => child.on("close", ok));
    assert.match(out, /\[y\/N\][^]*I may not[^]*over/, out);
  }));

holds("--approve-within: an answer that does not come is none, and that is not asked again", () =>
  scene([edit(1), edit(1), "I may not"], async (s) => {
    const file = join(s.dir, "answer");
    const r = await s.go([...s.base, "--state", s.state, "--json", "--approve", file, "--approve-within", "1", "the task"]).over;
    assert.equal(r.code, 0, r.out + r.err);
    assert.deepEqual(r.lines.filter((l) => l.event === "person_answered").map((l) => l.answer), ["expired"]);
    assert.equal(existsSync(`${file}.question`), false);
    assert.equal(s.log(), "BEGIN\nEND\n");
    assert.match(s.explain().stdout, /A person was asked: expired/);
  }));

holds("--approve URL: the question is posted until it is answered, with one name", () =>
  scene([edit(1), edit(2), "all done"], async (s) => {
    const posts = [];
    const door = createServer((req, res) => {
      let text = "";
      req.on("data", (d) => (text += d));
      req.on("end", () => {
        posts.push(JSON.parse(text));
        const n = posts.length;
        if (n === 1) return res.writeHead(503).end();
        if (n === 2) return res.writeHead(202).end();
        res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(n === 3 ? { answer: "allow" } : { answer: "deny", text: "enough" }));
      });
    });
    await new Promise((ok) => door.listen(0, "127.0.0.1", ok));
    try {
      const r = await s.go([...s.base, "--state", s.state, "--json", "--approve", `http://127.0.0.1:${door.address().port}/ask`, "the task"]).over;
      assert.equal(r.code, 0, r.out + r.err);
      assert.equal(s.log(), "BEGIN\nedit-1\nEND\n");
      assert.equal(posts.length, 4);
      assert.equal(new Set(posts.slice(0, 3).map((p) => p.question)).size, 1);
      assert.notEqual(posts[3].question, posts[0].question);
      assert.equal(r.lines.filter((l) => l.event === "approval_waits").length, 1);
      assert.match(s.asked.at(-1).text, /enough/);
    } finally {
      door.closeAllConnections();
      door.close();
    }
  }));

// ---- what does not fit, cannot be written, or is broken ----

holds("the last run is asked for where there is none", () =>
  scene(["done"], async (s) => {
    const r = await s.go(["--resume", "last", "--state", s.state]).over;
    assert.equal(r.code, 2);
    assert.match(r.err, new RegExp(`there is no run in ${s.state}\n`));
  }));

holds("another task, model or tool is refused before anything is done", () =>
  scene([read, edit(1), "all done"], async (s) => {
    const first = s.run();
    await until(() => s.asked.length === 2, "the second question");
    first.child.kill("SIGKILL");
    await first.over;
    for (const [args, says] of [
      [["--model", "other"], /another --model \("m"\)/],
      [["--shell"], /another --shell/],
      [["--plan"], /another --plan/],
      [["--no-journal"], /needs the journal/],
    ]) {
      const r = await s.resume(args).over;
      assert.equal(r.code, 2, r.out + r.err);
      assert.match(r.err, says);
    }
    s.change("UPDATE run SET value='another task' WHERE key='task'");
    const r = await s.resume(["--yes"]).over;
    assert.equal(r.code, 2, r.out + r.err);
    assert.match(r.err, /is damaged: its beginning is not what was written\. Nothing was done/);
    assert.equal(s.asked.length, 2);
    assert.equal(s.log(), "BEGIN\nEND\n");
    const none = await s.go(["--resume", "20200101-000000-0000", "--state", s.state]).over;
    assert.equal(none.code, 2);
    assert.match(none.err, /there is no run 20200101-000000-0000/);
    assert.match((await s.go(["--resume", "../x", "--state", s.state]).over).err, /is no run/);
  }, { hold: (n, i) => (i === 2 ? new Promise(() => {}) : null) }));

holds("a journal that is damaged is not gone on with", () =>
  scene([read, edit(1), "all done"], async (s) => {
    const first = s.run();
    await until(() => s.asked.length === 3, "the third question");
    first.child.kill("SIGKILL");
    await first.over;
    s.change("UPDATE input SET text=replace(text,'BEGIN','BEGUN') WHERE kind='tool' AND n=3");
    const r = await s.resume(["--yes"]).over;
    assert.equal(r.code, 2, r.out + r.err);
    assert.match(r.err, /\.db is damaged: what stands behind act 2 is not what was written\. Nothing was done/);
    const said = s.explain();
    assert.equal(said.status, 1);
    assert.match(said.stdout, /Under way: fs\.read/, "what stands before that is told");
    assert.doesNotMatch(said.stdout, /fs\.edit/);
    assert.match(said.stderr, /is damaged: what stands behind act 2 /);
    truncateSync(s.file(), 5000);
    const cut = await s.resume(["--yes"]).over;
    assert.equal(cut.code, 2);
    assert.match(cut.err, /damaged|cannot/);
    writeFileSync(s.file(), "this is no database, but long enough to be read as one, or so it seems to be at first");
    assert.match((await s.resume(["--yes"]).over).err, /damaged/);
    assert.equal(s.asked.length, 3);
  }, { hold: (n, i) => (i === 3 ? new Promise(() => {}) : null) }));

holds("a journal of a newer version is left to that one", () =>
  scene(["all done"], async (s) => {
    assert.equal((await s.run().over).code, 0);
    s.change("UPDATE run SET value='9' WHERE key='format'");
    const r = await s.resume().over;
    assert.equal(r.code, 2);
    assert.match(r.err, /another version of daruma \(format 9, not \d+\): only that one goes on with it/);
  }));

holds("what lists or explains and has no reader any more ends in silence, as programs do", () => {
  for (const what of ["--help", "--list"]) {
    const r = spawnSync("bash", ["-c", `(sleep 0.3; exec "$0" run ${what} --state /) | true`, daruma], { encoding: "utf8" });
    assert.equal(r.stderr.replace(/^there is no run in .*\n/, ""), "");
  }
});

holds("where no journal can be kept the run goes on without; where one was asked for it does not begin", () =>
  scene([edit(1), "all done"], async (s) => {
    const refused = await s.go([...s.base, "--state", "/dev/null/x", "--yes", "the task"]).over;
    assert.equal(refused.code, 2);
    assert.match(refused.err, /cannot be made: Not a directory\. Name another folder with --state DIR, or go without: --no-journal/);
    assert.equal(s.asked.length, 0);
    const without = await s.go([...s.base, "--yes", "--json", "the task"], { env: { HOME: "/dev/null" } }).over;
    assert.equal(without.code, 0, without.out + without.err);
    assert.match(without.err, /goes on without a journal and cannot be resumed/);
    const home = await s.go([...s.base, "--yes", "--json", "the task"], { env: { HOME: s.dir } }).over;
    assert.equal(home.lines[0].event, "run_started");
    assert.equal(home.lines[0].journal, true);
    assert.equal(readdirSync(join(s.dir, ".local", "state", "daruma")).length, 1);
    const off = await s.go([...s.base, "--yes", "--json", "--no-journal", "--state", s.state, "the task"]).over;
    assert.equal(off.lines[0].journal, false);
    assert.equal(existsSync(s.state), false);
  }));

holds("without a standard output what is printed does not go into the journal", () => {
  const heads = [];
  let file;
  return scene([edit(1), edit(2), "all done"], async (s) => {
    file = s.file;
    const r = await s.run([], { closed: ">&-" }).over;
    assert.equal(r.code, 1, "what was printed did not arrive");
    assert.match(r.err, /standard output could not be written/);
    assert.deepEqual(heads, ["SQLite format 3", "SQLite format 3", "SQLite format 3"]);
    assert.match(s.explain().stdout, /It ended: ok/, s.explain().stderr);
  }, { hold: () => void heads.push(readFileSync(file(), "latin1").slice(0, 15)) });
});

holds("a run that may have few descriptors, or no file for its journal, says so and leaves none", () =>
  scene([{ call: "shell_run", args: { command: "echo ran >>log.txt" } }, "all done"], async (s) => {
    for (const [limited, says] of [["-n 7", /cannot wait for anything: too many open files/], ["-n 12", /too many open files/i], ["-f 8", /cannot write .*\.db/]]) {
      const r = await s.run(["--shell"], { limited }).over;
      assert.equal(r.code, 2, `${limited}: ${r.signal} ${r.out} ${r.err}`);
      assert.match(r.err, says);
      assert.deepEqual(readdirSync(s.state).filter((f) => f.endsWith(".db")), [], limited);
    }
    const tight = await s.run(["--shell"], { limited: "-n 16" }).over; // too few for a pipe to the command, or just enough
    assert.equal(tight.code, 0, `${tight.signal} ${tight.out} ${tight.err}`);
  }));

holds("a disk that is full in the middle ends the journal, not the run, and nobody resumes it", () =>
  scene([...Array.from({ length: 6 }, (_, i) => ({ call: "fs_edit", args: { path: "log.txt", old: "END", new: `edit-${i}\n${"x".repeat(8000)}\nEND` } })), "all done"], async (s) => {
    const r = await s.run([], { limited: "-f 110" }).over; // no file may be longer than 55 KB
    assert.equal(r.code, 0, r.out + r.err);
    const lost = r.lines.find((l) => l.event === "journal_lost");
    assert.match(lost.reason, /cannot write/);
    assert.match(lost.then, /goes on without a journal/);
    assert.equal(s.log().match(/edit-\d/g).length, 6);
    const id = r.lines[0].run;
    assert.ok(existsSync(join(s.state, `${id}.broken`)));
    const again = await s.go(["--resume", id, "--state", s.state, "--yes"]).over;
    assert.equal(again.code, 2);
    assert.match(again.err, /cannot go on: its journal could not be written to its end/);
    assert.match(spawnSync(daruma, ["run", "--list", "--state", s.state], { encoding: "utf8" }).stdout, / broken +the task/);
    const said = spawnSync(daruma, ["explain", `${id}.broken`, "--state", s.state], { encoding: "utf8" });
    assert.match(said.stdout, /fs\.edit/, said.stderr);
  }));
