// `daruma report`, `cases` and `doctor`, the usage log and prices: what was told of a gateway's traffic, read again.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { ask, dialects, question, until } from "./net.mjs";
import { daruma, freePort, run } from "./pair.mjs";
import { good, holds, once, send } from "./wire.mjs";

const answered = (tokens) => ({ ...good.openai, usage: { prompt_tokens: tokens[0], completion_tokens: tokens[1], total_tokens: tokens[0] + tokens[1] } });
const limited = { error: { message: "Rate limit reached", code: "rate_limit_exceeded" } };

holds("report: what failed, what it cost and saved, and the cases to look at come out of the event file and the usage log", {
  config: (c) => {
    once(c), (c.recovery.patience = "none");
    c.usage = { file: c.events.file.replace("events", "usage") };
    c.prices = [{ model: "own/m-*", input: 2.5, output: "10.000001" }, { model: "*", input: 0, output: 0 }];
    c.clients = [{ name: "night", token: "sk-client-0123456789abcdef" }];
  },
  async run(pair) {
    const d = dialects.openai, usage = pair.eventsFile.replace("events", "usage"), headers = { authorization: "Bearer sk-client-0123456789abcdef" };
    writeFileSync(usage, "");
    await ask(pair, "/daruma/status"); // it is there
    const say = (text, more) => question(pair, d, { model: "m-own", text, headers, ...more });
    pair.own.answer = (q, res) => (q.n === 2 ? send(res, 429, limited) : /lost/.test(q.body) ? send(res, 400, { error: { message: "what is this?" } }) : send(res, 200, answered([1000, 200])));
    const plain = await say("say plain"), saved = await say("say saved"), lost = await say("say lost", { stream: false });
    assert.deepEqual([plain.status, saved.status, saved.outcome, lost.status], [200, 200, "recovered", 400]);
    const lines = await until("all is there", () => readFileSync(usage, "utf8").split("\n").length > 3 && readFileSync(usage, "utf8").trim().split("\n").map((l) => JSON.parse(l)));
    const cost = "0.004500000"; // 1000 * 2.5 + 200 * 10.000001, of millions, in billionths: 0.0045000002
    assert.deepEqual(lines.map((l) => [l.client, l.asked, l.target, l.input_tokens, l.output_tokens, l.status, l.outcome, l.calls]), [
      ["night", "m-own", "own/m-own", 1000, 200, 200, "ok", 1],
      ["night", "m-own", "own/m-own", 1000, 200, 200, "recovered", 2],
      ["night", "m-own", "own/m-own", undefined, undefined, 400, "failed", 1],
    ]);
    assert.deepEqual([lines[0].case, lines[1].case, lines[2].case], [plain, saved, lost].map((r) => r.headers["x-daruma-case"]));
    assert.ok(readFileSync(usage, "utf8").includes(`"cost":${cost}`) && lines[2].cost === undefined);
    assert.doesNotMatch(readFileSync(usage, "utf8"), /say|plain|what is this|sk-/);
    for (const e of pair.events()) assert.equal(e.client, "night");

    const r = await run(["report", "--json", pair.eventsFile, usage]), j = JSON.parse(r.out);
    assert.deepEqual([r.code, r.err], [0, ""]);
    assert.deepEqual([j.outcomes, j.failures], [{ recovered: 1, failed: 1 }, { rate_limit: 1, [j.look[0].kind]: 1 }]);
    assert.deepEqual([j.saved.requests, j.saved.input_tokens, j.saved.output_tokens, j.saved.cost, j.wasted.calls], [1, 1000, 200, 0.0045, 2]);
    assert.deepEqual([j.targets.map((t) => [t.target, t.failed]), j.look[0].case, j.requests], [[["own/m-own", 2]], lost.headers["x-daruma-case"], 3]);
    assert.deepEqual([j.clients[0].client, j.clients[0].requests, j.clients[0].cost], ["night", 3, 0.009]);
    const page = (await run(["report", pair.eventsFile, usage])).out;
    assert.match(page, /2 cases that are over: 1 recovered, 1 failed/);
    assert.match(page, /saved {3}1 request; 1,000 tokens in and 200 out in their answers, cost 0\.0045/);
    assert.match(page, new RegExp(`daruma explain ${lost.headers["x-daruma-case"]} --events`));
    assert.match(page, /night +3 requests; 2,000 tokens in and 400 out, cost 0\.009/);
    assert.match((await run(["report", "--since", "2h", pair.eventsFile])).out, /2 cases/);
    assert.match((await run(["report", "--since", "2099-01-01", pair.eventsFile])).out, /No events/);

    const cases = (await run(["cases", "--json", pair.eventsFile])).out.trim().split("\n").map((l) => JSON.parse(l));
    assert.deepEqual(cases.map((c) => [c.case, c.model, c.target, c.outcome, c.remedies.length > 0]), [
      [saved.headers["x-daruma-case"], "m-own", "own/m-own", "recovered", true],
      [lost.headers["x-daruma-case"], "m-own", "own/m-own", "failed", false],
    ]);
    for (const [args, n] of [[["--outcome", "failed"], 1], [["--kind", "rate_limit"], 1], [["--target", "own/*"], 2], [["--target", "x/*"], 0], [["--since", "1d"], 2]])
      assert.equal((await run(["cases", ...args, pair.eventsFile])).out.split("\n").length - 1, n, args.join(" "));
    assert.match((await run(["cases", "--kind", "rate_limi", pair.eventsFile])).err, /did you mean rate_limit\?/);
    assert.match((await run(["cases", "--outcome", "zzzzzz", pair.eventsFile])).err, /none of that name; take one of open, ok, recovered, degraded, /);

    const metrics = (await ask(pair, "/metrics")).text;
    assert.match(metrics, /^daruma_cost_total 0\.00900000[0-9]$/m);
    assert.match(metrics, /^daruma_cost_saved_total 0\.00450000[0-9]$/m);
    assert.match(metrics, /^daruma_cost_wasted_total 0\.000000000$/m);
    assert.match(metrics, /^daruma_tokens_saved_total\{gen_ai_token_type="output"\} 200$/m);

    const here = await say("say here", { headers: { ...headers, "x-daruma-targets": "nobody/m" } });
    assert.equal(here.status, 404);
    const told = await until("it is told", () => pair.events().some((e) => e.case === here.headers["x-daruma-case"]) && run(["report", pair.eventsFile]));
    assert.match(told.out, new RegExp(`${here.headers["x-daruma-case"]}  model_not_found .*  refused here, nothing was sent\n`));
    const kept = await say("say kept", { headers: { ...headers, "x-daruma-targets": "nobody/m", "x-daruma-on-failure": "message" } });
    assert.equal(kept.outcome, "explained");
    const explained = await until("it is told", () => pair.events().some((e) => e.case === kept.headers["x-daruma-case"]) && run(["report", pair.eventsFile]));
    assert.match(explained.out, new RegExp(`${kept.headers["x-daruma-case"]}  model_not_found .*  explained, nothing was sent\n`));
  },
});

holds("report: an answer that broke off behind its tokens was paid for and is wasted", {
  config: (c) => (once(c), (c.recovery.patience = "none"), (c.recovery.mend = false), (c.prices = [{ model: "*", input: 1, output: 1 }])),
  async run(pair) {
    pair.own.answer = (q, res) => {
      res.writeHead(200, { "content-type": "text/event-stream" });
      const piece = (delta, usage) => res.write(`data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", model: "m-own", choices: delta ? [{ index: 0, delta, finish_reason: null }] : [], usage })}\n\n`);
      piece({ role: "assistant", content: "seven" }, { prompt_tokens: 500, completion_tokens: 1, total_tokens: 501 });
      setTimeout(() => res.destroy(), 100);
    };
    await question(pair, dialects.openai, { model: "m-own", stream: true });
    const failed = await until("it is told", () => pair.events().find((e) => e.event === "llm_request_failed"));
    assert.equal(failed.input_tokens, 500);
    const j = JSON.parse((await run(["report", "--json", pair.eventsFile])).out);
    assert.ok(j.wasted.input_tokens >= 500 && j.wasted.cost > 0, JSON.stringify(j.wasted));
    assert.match((await ask(pair, "/metrics")).text, /^daruma_tokens_wasted_total\{gen_ai_token_type="input"\} [1-9]/m);
  },
});

holds("report: lines that are no events are told by number once and left out, and 40 MB are read in the same memory", {
  limit: 120000,
  async run(pair) {
    const file = join(pair.dir, "odd.jsonl");
    const event = (i, more = {}) => JSON.stringify({ event: "llm_request_failed", ts: "2026-01-31T10:00:00Z", case: i.toString(16).padStart(16, "0"), kind: "timeout", attempt: 1, took_ms: 10, provider: "main", model: `m${i % 1000}`, ...more });
    const end = (i) => JSON.stringify({ event: "error_recovery_failed", ts: "2026-01-31T10:00:01Z", case: i.toString(16).padStart(16, "0"), kind: "timeout", attempts: 2, took_ms: 20, outcome: "failed", provider: "main", model: "m\u001b[31m\u202e" });
    writeFileSync(file, ["no json", event(1), '{"event":"cut', "[]", "{}", "x".repeat(400000), end(1), "", event(2), '{"ev'].join("\n"));
    const r = await run(["report", "--json", file]), c = await run(["cases", file]);
    assert.deepEqual([r.code, JSON.parse(r.out).failures, JSON.parse(r.out).unreadable], [0, { timeout: 2 }, 7]);
    for (const e of [r.err, c.err]) assert.match(e, /^daruma \w+: \S+: 7 lines are no event and left out: line 1, 3, 4, 5, 6, 8, 10\n$/);
    assert.equal(c.out.split("\n").length - 1, 2); // one failed, one open
    assert.match(c.out, /000000001 +failed.*\n.*000000002 +open/);
    assert.doesNotMatch(c.out + (await run(["report", file])).out, /\u001b|\u202e/);
    assert.equal((await run(["report", "/no/such/file"])).code, 2);
    assert.equal((await run(["report", pair.dir])).code, 2);
    assert.match((await run(["report", "--since", "soon", file])).err, /write how long ago/);
    assert.deepEqual([(await run(["report", "-"], { input: event(3) })).code, (await run(["report", "-"], { input: "" })).out], [0, "No events: nothing failed, or nothing was written.\n"]);
    const big = join(pair.dir, "big.jsonl"), out = openSync(big, "w");
    for (let i = 0; i < 110; i++) writeSync(out, Array.from({ length: 1000 }, (_, k) => event(i * 1000 + k, { message: "x".repeat(200) }) + "\n").join("") + end(i) + "\n");
    closeSync(out);
    const sanitized = readFileSync(daruma).includes("__asan_init"); // it takes terabytes of addresses for itself
    for (const command of ["report", "cases"]) {
      const c = spawn("sh", ["-c", `${sanitized ? ":" : "ulimit -v 262144"}; exec "$0" ${command} ${big}`, daruma], { stdio: ["ignore", "pipe", "inherit"] });
      let n = 0;
      c.stdout.on("data", (b) => (n += b.length));
      assert.equal(await new Promise((ok) => c.on("close", ok)), 0);
      assert.ok(n > 300);
    }
  },
});

holds("usage log: each line has the model that its own request asked for, and no key that stands in one", {
  config: (c) => (once(c), (c.usage = { file: c.events.file.replace("events", "usage") })),
  async run(pair) {
    const usage = pair.eventsFile.replace("events", "usage"), key = "sk-proj-" + "Ab1".repeat(20), asked = ["m-own", "m-other", "m-own", key, key, "m-own"];
    pair.own.answer = (q, res) => send(res, 200, answered([1, 1]));
    for (const model of asked) await question(pair, dialects.openai, { model });
    const lines = await until("all is there", () => readFileSync(usage, "utf8").split("\n").length > asked.length && readFileSync(usage, "utf8").trim().split("\n").map((l) => JSON.parse(l)));
    assert.deepEqual(lines.map((l) => l.asked), asked.map((m) => (m === key ? "[redacted]" : m)));
  },
});

holds("prices and the usage log are checked: what counts nowhere, what never counts, what cannot be written", {
  async run(pair) {
    const check = async (change) => {
      const file = join(pair.dir, "prices.yaml");
      writeFileSync(file, JSON.stringify({ listen: "127.0.0.1:1", providers: [{ name: "p", dialect: "openai", url: "http://127.0.0.1:9" }], models: [{ name: "m", targets: ["p/a", "p/b"] }], ...change }));
      const r = await run(["check", file, "--listen", `127.0.0.1:${await freePort()}`]);
      return r.out + r.err;
    };
    assert.match(await check({ prices: [{ model: "a", input: 1, output: 2 }] }), /warning: prices: no row is about p\/b: what it costs counts nowhere/);
    assert.match(await check({ prices: [{ model: "p/*", input: 3, output: 2 }] }), /warning: prices: p\/\*: tokens of answers are cheaper/);
    assert.match(await check({ prices: [{ model: "*", input: 1, output: 2 }, { model: "b", input: 1, output: 2 }] }), /prices\[1\].*this row never counts/);
    for (const bad of ["-1", "1.0000001", "1e3", "x", ".", "1.", "9999999"]) assert.match(await check({ prices: [{ model: "a", input: bad, output: 2 }] }), /prices\[0\]\.input: expected a number like 2\.5/, bad);
    assert.match(await check({ prices: [{ model: "a", input: 1 }] }), /prices\[0\].*`output` is missing/);
    assert.match(await check({ usage: { file: "/no/such/folder/usage.jsonl" } }), /usage\.file: .*No such file/);
    assert.match(await check({ usage: { file: "same.jsonl" }, events: { file: "same.jsonl" } }), /usage\.file: events are written to the same file/);
  },
});

holds("doctor: each thing has a line with its remedy, keys are never shown, and --connect asks each provider with each key", {
  limit: 60000,
  async run(pair) {
    const file = join(pair.dir, "doctor.yaml"), port = await freePort(), log = join(pair.dir, "doctor.jsonl");
    const base = {
      listen: `127.0.0.1:${port}`,
      providers: [
        { name: "own", dialect: "openai", url: `http://127.0.0.1:${pair.own.port}/v1`, keys: [{ name: "good", value: "sk-one-0123456789" }, { name: "bad", value: "sk-two-0123456789" }, { name: "printed", command: "echo sk-cmd-0123456789" }, { name: "broken", command: "echo sk-leak-0123456789; exit 7" }] },
        { name: "away", dialect: "anthropic", url: "http://127.0.0.1:9", keys: ["sk-one-0123456789"] },
        { name: "lost", dialect: "gemini", url: "https://no-such-host.invalid", keys: ["sk-one-0123456789"] },
      ],
      events: { file: log },
    };
    const doctor = async (change, ...more) => {
      writeFileSync(file, JSON.stringify({ ...base, ...change }));
      const r = await run(["doctor", "--config", file, "--json", ...more]);
      assert.doesNotMatch(r.out + r.err, /sk-(one|two|cmd|leak)/);
      return { code: r.code, checks: JSON.parse(r.out).checks, ok: JSON.parse(r.out).ok, of: (about) => JSON.parse(r.out).checks.filter((c) => c.about === about).map((c) => `${c.state}: ${c.what}${c.remedy ? ` -> ${c.remedy}` : ""}`).join("; ") };
    };
    const away = new Date(Date.now() - 400000).toUTCString();
    pair.own.answer = (q, res) => (res.setHeader("date", away), send(res, /sk-two/.test(q.headers.authorization) ? 401 : 200, { object: "list", data: [] }));
    const r = await doctor({}, "--connect");
    assert.deepEqual([r.code, r.ok], [1, false]);
    assert.deepEqual(pair.own.seen.map((q) => [q.method, q.url, q.headers.authorization]), ["sk-one", "sk-two", "sk-cmd"].map((k) => ["GET", "/v1/models", `Bearer ${k}-0123456789`]));
    assert.match(r.of("key good of own"), /^ok: it is there: 17 characters; ok: it answers in \d+ ms and takes the key$/);
    assert.match(r.of("key bad of own"), /wrong: it answers in \d+ ms and refuses the key \(HTTP 401\) -> check the key/);
    assert.match(r.of("key printed of own"), /^ok: its command printed a key of 17 characters; ok: .*takes the key$/);
    assert.match(r.of("key broken of own"), /^wrong: its command gave no key: it ended with exit code 7 -> run the command by hand/);
    assert.match(r.of("provider away"), /^wrong: the connection was refused -> check the port/);
    assert.match(r.of("provider lost"), /^wrong: the host name could not be resolved -> check how the host is spelt/);
    assert.match(r.of("clock"), /wrong: it is \d+ s before that of .* -> set it, and let NTP keep it/);
    assert.match(r.of("events"), /^ok: .* can be written$/);
    assert.equal(r.of("port"), `ok: 127.0.0.1:${port} is free`);
    for (const about of ["open files", "memory", "TLS"]) assert.match(r.of(about), /^(ok|warning): /, about);

    pair.own.seen = [];
    const quiet = await doctor({ providers: [{ ...base.providers[0], keys: ["sk-one-0123456789"] }] });
    assert.deepEqual([quiet.code, quiet.ok, pair.own.seen.length], [0, true, 0]);
    assert.match((await doctor({ listen: `127.0.0.1:${pair.port}` })).of("port"), /^warning: something listens on .* -> fine if a daruma runs already/);
    const behind = await doctor({ proxy: { http_proxy: "http://127.0.0.1:9", no_proxy: "" }, providers: [{ ...base.providers[0], url: "http://provider.example", keys: ["sk-one-0123456789"] }] }, "--connect");
    assert.match(behind.of("provider own"), /^wrong: the proxy could not be reached or refused to connect -> check `proxy`/);
    assert.match((await doctor({ events: {} })).of("events"), /^warning: they go to no file/);
    assert.match((await run(["doctor", "/no/such.yaml"])).out, /^wrong +configuration: \/no\/such\.yaml: No such file/);
    assert.match((await run(["doctor"], { env: { http_proxy: "ftp://proxy" } })).out, /^wrong +configuration: proxy\.http_proxy: expected a URL/);
    assert.match((await doctor({ limits: { connections: 1000000 } })).of("open files"), /^(ok|warning)/);
    assert.match((await doctor({ limits: { memory: "512GiB" } })).of("memory"), /^warning: requests may take 524288 MiB/);
    const bad = await doctor({ nonsense: 1, timeouts: { connect: "soon" } });
    assert.deepEqual([bad.code, bad.checks.every((c) => c.state === "wrong" && c.remedy)], [1, true]);
    assert.equal((await run(["doctor", "--config", "/no/such.yaml"])).code, 1);
    assert.equal((await run(["doctor", file, "more"])).code, 2);
  },
});

/* ---- words ---- */

holds("words: a body that is too large is refused in the client's dialect, with its size and the option", {
  config: (c) => (c.limits = { body: "2KiB" }),
  async run(pair) {
    for (const [name, d] of Object.entries(dialects))
      for (const framing of ["content-length", "chunked"]) {
        const r = await question(pair, d, { text: "x".repeat(4000), headers: framing === "chunked" ? { "transfer-encoding": "chunked" } : {} }).catch((e) => e);
        assert.equal(r.status, 413, `${name} ${framing}: ${r.text ?? r}`);
        const e = d.error(r.json);
        assert.match(e.message, framing === "chunked" ? /is too large: daruma takes 2048 \(`limits\.body`/ : /has \d{4} bytes, and daruma takes 2048 \(`limits\.body` in its configuration\)/);
        assert.equal(r.json.type, name === "anthropic" ? "error" : undefined, r.text);
        assert.equal(e.status, name === "gemini" ? "INVALID_ARGUMENT" : undefined, r.text);
      }
  },
});

holds("words: nobody puts daruma's own words into a provider's mouth, and nothing rests where nobody was asked", {
  config: (c) => ((c.providers = c.providers.filter((p) => p.dialect === "openai").map(({ keys, ...p }) => p)), (c.models = []), once(c)),
  async run(pair) {
    const r = await question(pair, dialects.gemini, { model: "none" });
    assert.equal(r.status, 404);
    assert.match(r.json.error.daruma.explanation, /No provider in daruma's configuration speaks the dialect of this path/);
    assert.doesNotMatch(r.text, /The provider says|resting/);
  },
});

holds("words: what passes through and is refused does not say that it went well, and recoveries of it are in the last line", {
  limit: 60000,
  async run(pair) {
    pair.own.answer = (q, res) => (q.url.endsWith("/nope") ? send(res, 404, { error: { message: "no such model" } }) : q.n === 2 ? send(res, 429, limited) : send(res, 200, { object: "list", data: [] }));
    await pair.again((c) => ((c.providers = [{ name: "own", dialect: "openai", url: `http://127.0.0.1:${pair.own.port}/v1`, keys: ["sk-one"] }]), (c.models = [])));
    const refused = await ask(pair, "/v1/models/nope"), well = await ask(pair, "/v1/models");
    assert.deepEqual([refused.status, refused.headers["x-daruma-outcome"]], [404, "failed"]);
    assert.deepEqual([well.status, well.headers["x-daruma-outcome"]], [200, "recovered"]);
    assert.equal((await pair.status()).requests.passed_on, 2);
    const port = await freePort(), file = join(pair.dir, "last.yaml");
    writeFileSync(file, readFileSync(join(pair.dir, "daruma.yaml"), "utf8").replace(/"listen": "[^"]*"/, `"listen": "127.0.0.1:${port}"`));
    const child = spawn(daruma, ["serve", "--config", file], { stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    child.stderr.on("data", (b) => (said += b));
    await until("it answers", () => ask({ ...pair, port }, "/daruma/health").then(() => true, () => false));
    pair.own.seen.length = 1;
    await ask({ ...pair, port }, "/v1/models");
    child.kill("SIGTERM");
    await new Promise((ok) => child.on("close", ok));
    assert.match(said, /daruma: 0 requests and 1 passed on, 2 calls to providers\. Recovered 1 \(1 rate_limit\)/);
  },
});

holds("words: -v says the version", {
  async run() {
    const r = await run(["-v"]);
    assert.deepEqual([r.code, r.out], [0, (await run(["version"])).out]);
  },
});
