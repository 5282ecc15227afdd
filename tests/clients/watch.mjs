// Agents in circles and agents at work, over the official SDKs, in each dialect, streaming and not. The faulty provider
// plays a model that repeats itself until its newest turn tells it to stop. It knows nothing of who tells it.
import assert from "node:assert/strict";
import { bodyOf, dialects, requests, runAgent, script, sha256, touched } from "./watch_kit.mjs";
import { work } from "./watch_work.mjs";
import { holds } from "./wire.mjs";

/* ---- circles: what the model does, and what its tools say to it ---- */

// Words by which somebody tells a model that it repeats itself. No tool here says any of them.
export const HEARS = "circles|again and again|same (call|result|failure|error)|repeat|refused from now";
const IN_CIRCLES = { text: HEARS };
export const TASK = "Find out why the shop has been slow since Monday.";
const file = "cache_size = 40\nworkers = 2\n";
const listing = "conf\nlogs\nREADME.md";
const elsewhere = { list_files: () => listing };

// `most`: answers of the lap until it must have been told, at the latest.
export const circles = {
  "A-A-A": { most: 6, period: 1, lap: [{ call: "read_file", arguments: { path: "conf/shop.ini" } }], tools: { read_file: () => file } },
  "A-B-A-B": {
    most: 10,
    period: 2,
    lap: [{ call: "read_file", arguments: { path: "conf/shop.ini" } }, { call: "search", arguments: { query: "slow" } }],
    tools: { read_file: () => file, search: () => "logs/app.log:12: slow query" },
  },
  "A-B-C": {
    most: 14,
    period: 3,
    lap: [{ call: "read_file", arguments: { path: "conf/shop.ini" } }, { call: "search", arguments: { query: "slow" } }, { call: "head", arguments: { path: "logs/app.log" } }],
    tools: { read_file: () => file, search: () => "logs/app.log:12: slow query", head: () => "12:00:01 app started" },
  },
  "two calls at once": {
    most: 6,
    period: 2,
    lap: [{ calls: [{ call: "read_file", arguments: { path: "conf/shop.ini" } }, { call: "search", arguments: { query: "slow" } }] }],
    tools: { read_file: () => file, search: () => "logs/app.log:12: slow query" },
  },
  "one failure in other words": {
    most: 8,
    period: 1,
    lap: [{ call: "bash", arguments: { command: "git push origin fix-{n}" } }],
    tools: { bash: (a, n) => `!fatal: could not read Username for 'https://git.example.com': terminal prompts disabled (pid ${3000 + 17 * n})` },
  },
};
export const THEN = [{ call: "list_files", arguments: { path: "." } }, { text: "It is the cache: it is too small." }];

const named = (d) => `${d.letter}-loop`;
const at = (d) => ({ m: "main", c: "claude", g: "google" })[d.letter];
const model = (d, watch, name = named(d)) => ({ name, targets: [`${at(d)}/${name}`], ...(watch && { watch }) });
const watched = (mode) => (c) => c.models.push(...["m", "c", "g"].map((letter) => model({ letter }, mode)));
const patient = (f) => (c) => ((c.timeouts.first_byte = c.timeouts.idle = "10s"), f(c)); // machines that test are busy

const detected = (pair) => pair.events().filter((e) => e.event === "loop_detected");
const loop = (circle, until, more = {}) => ({ call_ids: true, loop: { lap: circle.lap, until, ...more } });
const agent = (pair, d, circle, o = {}) => runAgent({ base: pair.base, key: o.key }, d, { model: named(d), task: TASK, tools: { ...circle.tools, ...elsewhere }, ...o });
const each = (f) => Object.entries(dialects).forEach(([name, d]) => [false, true].forEach((stream) => f(`${name}, ${stream ? "streams" : "plain"}`, d, stream)));
const run = (name, mode, f, more = {}) => holds(name, { limit: 60000, config: patient(typeof mode === "function" ? mode : watched(mode)), run: f, ...more });

/* ---- guide ---- */

// What a notice may change of a request: nothing up to the newest result, and it stands at the end.
async function only_the_end(pair, d, sent, number, newest) {
  const got = await bodyOf(pair, number), as_text = JSON.stringify(newest).slice(1, -1);
  const until = sent.lastIndexOf(as_text) + as_text.length;
  assert.ok(until > as_text.length, "the newest result is not in the request");
  assert.equal(got.slice(0, until), sent.slice(0, until), "what stands before the notice was changed");
  const [was, is] = [d.items(JSON.parse(sent)), d.items(JSON.parse(got))];
  assert.deepEqual(is.slice(0, was.length - 1), was.slice(0, -1));
  assert.ok(is.length - was.length <= 1, "more than one message was added");
  assert.match(JSON.stringify(is.slice(was.length - 1)), new RegExp(HEARS));
}

each((how, d, stream) => {
  for (const [k, [form, circle]] of Object.entries(circles).entries()) {
    const ignores = (k + stream) % 2;
    run(`guide: ${form} is left after ${ignores ? "two notices" : "one notice"}: ${how}`, "guide", async (pair) => {
      await script(pair, { [named(d)]: loop(circle, IN_CIRCLES, { ignores, then: THEN }) });
      const r = await agent(pair, d, circle, { stream });
      const report = await pair.report(), changed = await touched(pair, r.sent);
      assert.equal(r.text, THEN[1].text, `it was not freed in ${r.turns} turns`);
      assert.equal(report.told[named(d)], ignores + 1);
      assert.ok(report.circled[named(d)] <= circle.most + ignores, `it went on for ${report.circled[named(d)]} calls`);
      assert.equal(changed.length, ignores + 1, `requests ${changed} were changed`);
      assert.ok(!changed.includes(r.sent.length), "the notice stayed after the circle was left");
      const got = await requests(pair);
      for (const n of changed) await only_the_end(pair, d, r.sent[n - 1], got[n - 1].number, r.said[n - 2]);
      assert.ok([1, circle.period].includes(detected(pair)[0].period));
    });
  }
});

each((how, d, stream) =>
  run(`guide: a provider that fails when the model is to be told takes nothing of it away: ${how}`, "guide", async (pair) => {
    const circle = circles["A-A-A"], skip = (await told_at(pair, d, circle, { stream, key: "sk-client-one" })) - 1;
    await script(pair, { [named(d)]: loop(circle, IN_CIRCLES, { then: THEN }) }, [{ skip, times: 1, kind: "server_error" }, { skip, times: 1, kind: "overloaded" }]);
    const r = await agent(pair, d, circle, { stream, key: "sk-client-two" });
    const got = await requests(pair);
    assert.equal(r.text, THEN[1].text, `it was not freed in ${r.turns} turns`);
    assert.deepEqual(got.map((q) => q.status >= 400), got.map((_, i) => i === skip || i === skip + 1));
    assert.equal(got.length, r.sent.length + 2);
    assert.equal((await pair.report()).told[named(d)], 1);
    const sent = new Set(r.sent.map(sha256)), changed = new Set(got.map((q) => q.sha256).filter((s) => !sent.has(s)));
    assert.equal(changed.size, 1, "the notice was another one when it was sent again");
  }),
);

/* ---- observe and off ---- */

each((how, d, stream) =>
  run(`observe tells of a circle and changes no byte: ${how}`, "observe", async (pair) => {
    let seen = 0;
    for (const [form, circle] of Object.entries(circles)) {
      await script(pair, { [named(d)]: loop(circle, IN_CIRCLES, { then: THEN }) });
      const r = await agent(pair, d, circle, { stream, steps: 16, task: `${TASK} Mind ${form}.` });
      assert.deepEqual(await touched(pair, r.sent), []);
      assert.equal(r.text, null);
      const news = detected(pair).slice(seen), [e] = news;
      assert.ok(news.length >= 1, `${form} was not seen`);
      assert.ok(news.length <= 2, `${form} was told of ${news.length} times`);
      seen += news.length;
      const first = e.first_step ?? e.first;
      assert.match(e.circle, /^[a-z_]+$/);
      assert.ok([1, circle.period].includes(e.period), `a period of ${e.period}`); // at first a longer one may look like one call with others between
      assert.ok(e.times >= 2 && e.times * e.period <= e.step + e.period, `${e.times} times until step ${e.step}`);
      assert.ok(first >= 1 && first < e.step && e.step <= circle.most, `from step ${first} to step ${e.step}`);
    }
    assert.equal(pair.events().filter((e) => e.event === "nudge").length, 0);
  }),
);

each((how, d, stream) =>
  run(`off: nobody looks: ${how}`, "off", async (pair) => {
    const circle = circles["A-A-A"];
    await script(pair, { [named(d)]: loop(circle, IN_CIRCLES, { then: THEN }) });
    const r = await agent(pair, d, circle, { stream, steps: 14 });
    assert.deepEqual(await touched(pair, r.sent), []);
    assert.deepEqual(detected(pair), []);
  }),
);

/* ---- where the mode is said ---- */

run("the file's word is for all models, a model's own word for itself", (c) => {
  c.watch = "off";
  c.models.push(model(dialects.openai, "guide"), model(dialects.openai, null, "m-plain"));
}, async (pair) => {
  const d = dialects.openai, circle = circles["A-A-A"];
  await script(pair, { [named(d)]: loop(circle, IN_CIRCLES, { then: THEN }), "m-plain": loop(circle, IN_CIRCLES, { then: THEN }) });
  const plain = await agent(pair, d, circle, { model: "m-plain", steps: 12 });
  assert.equal(plain.text, null);
  assert.deepEqual(detected(pair), []);
  assert.equal((await agent(pair, d, circle)).text, THEN[1].text);
});

run("guide is what a file means that says nothing", (c) => c.models.push(model(dialects.openai)), async (pair) => {
  const d = dialects.openai, circle = circles["A-A-A"];
  await script(pair, { [named(d)]: loop(circle, IN_CIRCLES, { then: THEN }) });
  assert.equal((await agent(pair, d, circle)).text, THEN[1].text);
});

/* ---- enforce ---- */

each((how, d, stream) => {
  for (const [form, circle] of Object.entries(circles))
    run(`enforce: ${form} of a model that never listens ends in words: ${how}`, "enforce", async (pair) => {
      await script(pair, { [named(d)]: loop(circle, "never") });
      const r = await agent(pair, d, circle, { stream });
      assert.ok(r.text !== null, `it went on for ${r.turns} turns`);
      assert.match(r.text, /^\[daruma\] /);
      assert.doesNotMatch(r.text.replaceAll(/`[^`]*`/g, ""), /[{}]|sk-/); // but for the calls that it quotes
      assert.ok(r.text.length > 120 && r.text.length < 8000, r.text);
      assert.match(r.text, new RegExp(Object.keys(circle.tools).join("|")));
      assert.ok(r.calls.length <= circle.most + 6 * circle.period, `${r.calls.length} calls were carried out`);
      const { calls } = await pair.report();
      assert.ok(calls <= r.sent.length + 12, `${calls} calls to the provider for ${r.sent.length} requests`);
      // The user gives another task, and the agent may work on it.
      const next = await agent(pair, d, circle, { stream, steps: 1, history: [...r.history, ...d.user("Then list the files, and tell me which is the largest.")] });
      assert.equal(next.text, null, `it may not work any more: ${next.text}`);
    });

  run(`enforce: what stops when it may call nothing says its own last word: ${how}`, "enforce", async (pair) => {
    const circle = circles["A-A-A"];
    await script(pair, { [named(d)]: loop(circle, { tools: "none" }, { then: ["I could not find it out."] }) });
    const r = await agent(pair, d, circle, { stream });
    assert.equal(r.text, "I could not find it out.");
    assert.ok(r.calls.length <= circle.most + 6, `${r.calls.length} calls were carried out`);
  });

  run(`enforce: who listens in time is not stopped: ${how}`, "enforce", async (pair) => {
    const circle = circles["A-B-A-B"];
    await script(pair, { [named(d)]: loop(circle, IN_CIRCLES, { ignores: 1, then: THEN }) });
    const r = await agent(pair, d, circle, { stream });
    assert.equal(r.text, THEN[1].text);
    assert.equal((await pair.report()).told[named(d)], 2);
  });
});

/* ---- enforce: agents that do nothing new at all ---- */

const tests = "Error: 1 test failed: parser::empty expected 3 tokens, got 2";
const stuck = {
  monologue: { does: () => ({ text: "I will now begin with the task at hand." }), tools: elsewhere, urge: "And then?" },
  no_progress: {
    does: (i) => (i % 2 ? { call: "run_tests", arguments: "{}" } : { call: "edit_file", arguments: JSON.stringify({ path: "parser.c", line: 7 * i, text: `x${i}` }) }),
    tools: { run_tests: () => `!${tests}`, edit_file: () => "edited" },
  },
  compaction_loop: {
    does: (i) => ({ call: "read_file", arguments: JSON.stringify({ path: `part${i % 5}.txt` }) }),
    tools: { read_file: ({ path }) => `the text of ${path}` },
    shorten: (head) => (h, turn) => (turn % 5 === 4 ? h.slice(0, head) : h),
    headers: { "x-daruma-session": "stuck" },
  },
};

each((how, d, stream) => {
  for (const [circle, { does, shorten, ...o }] of Object.entries(stuck))
    run(`enforce: an agent in a ${circle} ends in words: ${how}`, "enforce", async (pair) => {
      await script(pair, { [named(d)]: { answers: Array.from({ length: 60 }, (_, i) => does(i)) } });
      const r = await agent(pair, d, {}, { stream, steps: 50, ...o, ...(shorten && { shorten: shorten(d.head) }) });
      assert.ok(r.text !== null, `it went on for ${r.turns} turns`);
      assert.match(r.text, /^\[daruma\] The run was stopped/);
      assert.ok(r.text.length > 120 && r.text.length < 8000, r.text);
      assert.equal(detected(pair)[0].circle, circle);
      const did = pair.events().filter((e) => e.event === "nudge").map((e) => e.remedy);
      assert.deepEqual(did.slice(0, 2), ["notice", "notice"], "it was not told before");
      assert.ok(!did.includes("block_call"), "no call of it is to blame");
      assert.equal(pair.events().filter((e) => e.event === "agent_stopped").length, 1);
    });
});

/* ---- work ---- */

const each_turn = (does, i) => (Array.isArray(does(i)[0]) ? does(i) : [does(i)]);

each((how, d, stream) => {
  for (const mode of ["guide", "enforce"])
    run(`${mode}: ${work.length} long runs of honest work go through untouched: ${how}`, mode, async (pair) => {
      const flaws = [];
      for (const [what, turns, does] of work) {
        const answers = Array.from({ length: turns }, (_, i) => ({ calls: each_turn(does, i).map(([call, args]) => ({ call, arguments: JSON.stringify(args) })) }));
        const said = Array.from({ length: turns }, (_, i) => each_turn(does, i)).flat();
        const tools = Object.fromEntries(said.map(([tool]) => [tool, (_, n) => said[n][2]]));
        await script(pair, { [named(d)]: { answers: [...answers, { text: `Done with ${what}.` }] } });
        const before = detected(pair).length;
        const r = await runAgent({ base: pair.base }, d, { model: named(d), task: `Please do this: ${what}.`, tools, stream });
        const changed = await touched(pair, r.sent), e = detected(pair)[before];
        if (e) flaws.push(`${what}: ${e.circle} at step ${e.step}`);
        else if (changed.length) flaws.push(`${what}: requests ${changed} were changed`);
        else if (r.text !== `Done with ${what}.` || r.turns !== turns + 1) flaws.push(`${what}: it ended after ${r.turns} turns with ${r.text}`);
      }
      assert.deepEqual(flaws, []);
    }, { limit: 120000 });
});

/* ---- who is who ---- */

// The first request of an agent that was changed, counted from 1.
async function told_at(pair, d, circle, o) {
  await script(pair, { [named(d)]: loop(circle, IN_CIRCLES, { then: THEN }) });
  const r = await agent(pair, d, circle, o);
  assert.equal(r.text, THEN[1].text, `it was not freed in ${r.turns} turns`);
  const got = await requests(pair);
  return 1 + r.sent.findIndex((body, i) => sha256(body) !== got[i].sha256);
}

for (const [name, d] of Object.entries(dialects)) {
  const circle = circles["A-A-A"];

  run(`two tenants with one prompt share no notice: ${name}`, "guide", async (pair) => {
    const one = await told_at(pair, d, circle, { key: "sk-client-one" });
    const two = await told_at(pair, d, circle, { key: "sk-client-two" });
    assert.ok(one > 2, `told in request ${one}`);
    assert.equal(two, one);
    // One goes in circles for long; another sends what that one knows itself again by: the task and its newest step.
    await script(pair, { [named(d)]: loop(circle, "never") });
    const headers = { "x-daruma-session": "night-shift" };
    const r = await agent(pair, d, circle, { key: "sk-client-three", headers, steps: one + 2 });
    const step = [...d.begin(TASK), ...r.history.slice(-4, -2)];
    const told = async (key) => touched_last(pair, await agent(pair, d, circle, { key, headers, steps: 2, history: step }));
    assert.equal(await told("sk-client-four"), false, "it was told what another one did");
    assert.equal(await told("sk-client-three"), true, "it was not known again");
  });

  run(`a client that starts anew keeps its counters: ${name}`, "guide", async (pair) => {
    const straight = await told_at(pair, d, circle, { key: "sk-client-one" });
    await script(pair, { [named(d)]: loop(circle, IN_CIRCLES, { then: THEN }) });
    let history, requests_before = 0, r;
    do {
      r = await agent(pair, d, circle, { key: "sk-client-two", steps: 1, ...(history && { history }) }); // an SDK and a connection of its own each time
      history = JSON.parse(JSON.stringify(r.history));
    } while (++requests_before < 20 && (await touched_last(pair, r)) === false);
    assert.equal(requests_before, straight);
  });

  run(`a history that is shortened in front keeps its counters: ${name}`, "guide", async (pair) => {
    const head = d.head;
    // The task, and the two newest calls with their results.
    const shorten = (h) => (h.length <= head + 4 ? h : [...h.slice(0, head), ...h.slice(-4)]);
    const straight = await told_at(pair, d, circle, { key: "sk-client-one" });
    const short = await told_at(pair, d, circle, { key: "sk-client-two", shorten });
    assert.ok(short <= straight + 1, `told in request ${short} instead of ${straight}`);
    // The same, and what is left out is told in a summary that is another one each time.
    const sum_up = (h, turn) => (turn < 3 ? h : [...d.begin(`${TASK} What was found out so far: ${turn} times nothing.`), ...h.slice(-4)]);
    const summed = await told_at(pair, d, circle, { key: "sk-client-three", shorten: sum_up });
    assert.ok(summed <= straight + 1, `told in request ${summed} instead of ${straight}`);
  });

  run(`a name ties requests together that nothing else does: ${name}`, "guide", async (pair) => {
    // A client that writes its history anew each time, ids and all, and keeps of it the newest turn alone.
    const shorten = (h, turn) => (turn < 1 ? h : [...d.begin(TASK), ...d.renamed(h.slice(-2), `call_made_anew_${turn}`)]);
    const at_last = await told_at(pair, d, circle, { key: "sk-client-one", headers: { "x-daruma-session": "night-shift" }, shorten });
    assert.ok(at_last > 2 && at_last <= circle.most + 2, `told in request ${at_last}`);
  });

  run(`two names are two agents, and a name is its tenant's own: ${name}`, "guide", async (pair) => {
    const session = (s) => ({ "x-daruma-session": s });
    const one = await told_at(pair, d, circle, { key: "sk-client-one", headers: session("a") });
    assert.equal(await told_at(pair, d, circle, { key: "sk-client-one", headers: session("b") }), one);
    assert.equal(await told_at(pair, d, circle, { key: "sk-client-two", headers: session("a") }), one);
  });
}

async function touched_last(pair, r) {
  return (await requests(pair)).at(-1).sha256 !== sha256(r.sent.at(-1));
}
