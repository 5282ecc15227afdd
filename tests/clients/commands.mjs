// What a person meets: options, messages, exit codes, files, and the examples of the documents.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ask, dialects, pathOf, question, until } from "./net.mjs";
import { daruma } from "./pair.mjs";
import { holds as wired, wire } from "./wire.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const env = { ...process.env, KEY_1: "sk-one", KEY_2: "sk-two", OPENAI_API_KEY: "abc-two", ANTHROPIC_API_KEY: "abc-three", GITHUB_TOKEN: "abc-four", AWS_BEARER_TOKEN_BEDROCK: "abc-five" };
const run = (args, input = "", more = {}) => {
  const r = spawnSync(daruma, args, { input, encoding: "utf8", env, timeout: 15000, ...more });
  return { code: r.status, out: r.stdout, err: r.stderr };
};
const holds = (name, run, more = {}) => wire.push({ name: `commands: ${name}`, chaos: "faults: []\n", run, ...more });
const provider = "providers: [ { name: main, dialect: openai, url: http://127.0.0.1:9100/v1, keys: [ abc-one ] } ]\n";

holds("what comes from outside is not obeyed by a terminal: C1, bidi marks and escapes are taken out of all that is told", async () => {
  const odd = "a\u009b31mb\u202ec\u2066d\u200fe\u061cf\u2028g\u001b[31mh\u0007i\u{e0041}j\u0085k";
  const obeyed = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\u{e0000}-\u{e007f}]/u;
  const error = JSON.stringify({ error: { message: `The model ${odd} is overloaded; try another one ${odd}`, type: odd, code: odd, param: odd } });
  const call = (i, args, result) => [{ role: "assistant", content: null, tool_calls: [{ id: `c${i}`, type: "function", function: { name: `look_${odd}`, arguments: JSON.stringify({ path: args }) } }] }, { role: "tool", tool_call_id: `c${i}`, content: result }];
  const run_ = { model: odd, messages: [{ role: "user", content: odd }, ...[1, 2, 3, 4, 5, 6].flatMap((i) => call(i, odd, `Error: ${odd} not found`))] };
  const event = { event: "error_recovery_failed", case: "0000000000000001", kind: "overloaded", message: odd, model: odd, provider: odd, reason: odd };
  let said = 0;
  for (const [args, input] of [
    [["classify", "--status", "529"], error], [["classify", "--status", "400", "--text"], error], [["explain", "--status", "529"], error], [["explain", "--status", "400", "--provider", odd, "--model", odd], error],
    [["review"], JSON.stringify(run_)], [["loops"], JSON.stringify(run_)], [["explain"], JSON.stringify(event)], [["mend"], `{"messages": [${odd}`], [["convert", "--from", "openai", "--to", "anthropic"], odd],
    [["check", "-"], `providers: [ { name: main, dialect: "${odd.replace(/[\u001b\u0007]/g, "")}", url: "http://127.0.0.1/v1" } ]\n`],
    [["classify", "--jsonl"], JSON.stringify({ id: odd, status: 529, body: error })], [["loops", "--jsonl"], JSON.stringify(run_)], [["review", "--json"], JSON.stringify(run_)],
  ]) {
    const r = run(args, input);
    said += r.out.length + r.err.length;
    for (const [where, text] of [["stdout", r.out], ["stderr", r.err]]) assert.doesNotMatch(text, obeyed, `${args[0]} ${where}: ${JSON.stringify(text)}`);
  }
  assert.ok(said > 3000);
  assert.ok(JSON.parse(run(["review", "--json"], JSON.stringify(run_)).out)); // escaped, and JSON still
});

/* ---- what is typed ---- */

const names = ["serve", "with", "demo", "chaos", "check", "policy", "classify", "explain", "replay", "loops", "review", "mend", "convert", "version"];

holds("every command has a help of its own, and `help` finds it", async () => {
  for (const name of names) {
    const r = run([name, "--help"]);
    assert.equal(r.code, 0, name);
    assert.match(r.out.split("\n")[0], new RegExp(`^usage: daruma ${name}\\b`, "i"));
    for (const l of r.out.split("\n")) assert.ok(l.length <= 120, `${name}: ${l}`);
    assert.equal(run(["help", name]).out, r.out);
    assert.equal(run([name, "-h"]).out, r.out);
  }
});

holds("a misspelt option or command is answered with the nearest one, and the command that was meant", async () => {
  for (const [args, words] of [
    [["sreve"], /did you mean `serve`/], [["--hepl"], /did you mean `--help`/], [["help", "sreve"], /did you mean `serve`/],
    [["serve", "--lisen", ":1"], /^daruma serve: .*did you mean --listen\?/], [["mend", "--shrink", "5"], /^daruma mend: .*--shrink-to\?/],
    [["classify", "--heder", "a: b"], /^daruma classify: .*--header\?/], [["check", "--option"], /^daruma check: .*--options\?/],
    [["chaos", "--fault", "cut", "--tmes", "2"], /^daruma chaos: .*--times\?/], [["policy", "--profile", "swrm"], /did you mean `swarm`/],
    [["policy", "--profile", "swarm/both"], /no variant `both`; there are `doc` and `code`/]]) {
    const r = run(args);
    assert.equal(r.code, 2, args.join(" "));
    assert.match(r.err, words);
  }
  assert.match(run(["policy", "--profile", "swarm/code"]).out, /profile `swarm`/);
});

holds("a scenario that is not there is an error of run.mjs, which names those near it", async () => {
  for (const args of [["lock: 50 wrong tokns"], ["openai: 50 wrong tokens get", "lock: 50 wrong tokns"]]) {
    const child = spawn(process.execPath, [fileURLToPath(new URL("run.mjs", import.meta.url)), ...args], { stdio: ["ignore", "pipe", "pipe"] });
    let err = "", out = "";
    child.stderr.on("data", (b) => (err += b));
    child.stdout.on("data", (b) => (out += b));
    const [code] = await once(child, "close");
    assert.equal(code, 2, out);
    assert.match(err, /no scenario is called "lock: 50 wrong tokns"; near it: .*lock: openai: 50 wrong tokens/);
    assert.doesNotMatch(out, /^(ok|not ok|1\.\.)/m, "scenarios ran");
  }
});

holds("what nobody asked for is refused, not ignored", async () => {
  for (const args of [["version", "x"], ["demo", "x"], ["serve", "--quiet=yes"], ["serve", "--config="], ["serve", "--listen"], ["serve", "a", "b"], ["check"], ["check", "a", "b"],
    ["check", "--options", "x"], ["chaos", "a", "b"], ["chaos", "--times", "2"], ["chaos", "--for", "5"], ["chaos", "--fault"], ["chaos", "--listen", "nosuch:1"],
    ["explain", "error.json"], ["explain", "abc"], ["classify"], ["classify", "--status", "42"], ["classify", "--header", "x"], ["replay"]]) {
    const r = run(args);
    assert.equal(r.code, 2, `${args.join(" ")}: ${r.code} ${r.err}`);
    assert.match(r.err, new RegExp(`^daruma ${args[0]}: `), args.join(" "));
    assert.equal(r.out, "");
  }
});

holds("what is not there is not read as something empty", async ({ dir }) => {
  for (const args of [["classify", dir], ["classify", "/no/such"], ["replay", dir], ["replay", "/no/such"], ["check", "/no/such"], ["check", dir], ["convert", "--from", "openai", "--to", "gemini", dir]]) {
    const r = run(args);
    assert.equal(r.code, 1, args.join(" "));
    assert.match(r.err, /No such file|Is a directory/);
  }
  writeFileSync(join(dir, "empty.md"), "# Nothing is tested here\n");
  const none = run(["replay", join(dir, "empty.md")]);
  assert.equal(none.code, 1);
  assert.match(none.err, /no scene/);
  for (const args of [["mend", "--dialect", "openai"], ["convert", "--from", "openai", "--to", "gemini"], ["convert", "--from", "openai", "--to", "gemini", "--answer"], ["classify"], ["explain"]]) assert.match(run(args).err, /nothing came/);
  assert.match(run(["convert", "--from", "openai", "--to", "gemini"], '{"contents":[]}').err, /looks like a request of gemini .it has `contents`., not of openai: say --from gemini/);
  assert.match(run(["convert", "--from", "openai", "--to", "gemini", "--answer"], "hello").err, /line 1, column 1: this is no JSON/);
});

holds("JSON that breaks is shown where it breaks", async () => {
  for (const [text, column, rest] of [
    ['{"a": "x" b}', 11, "b}"], ['{"a": 1 "b": 2}', 9, '"b": 2}'], ['{"a": [{} {}]}', 11, "{}]}"], ['{"a": {"b" 1}}', 12, "1}}"], ['{"a":1,}', 8, "}"],
    ['{"a": tru}', 7, "tru}"], ["{x:1}", 2, "x:1}"], ['{"a": "b" } }', 13, "}"], ['{"a":[1,{"b":[2,}]}', 17, "}]}"],
  ])
    assert.equal(run(["mend", "--dialect", "openai"], text).err, `daruma mend: line 1, column ${column}: this is no JSON: ${rest}\n`, text);
  for (const text of ["{", '{"a"', '{"a":', '{"a":1', '{"a":1,', '{"a":[1,']) assert.equal(run(["mend", "--dialect", "openai"], text).err, `daruma mend: line 1, column ${text.length + 1}: the JSON ends here, and it should go on\n`);
});

holds("a byte order mark before a text is none of it", async () => {
  const request = '{"model":"m","messages":[{"role":"user","content":"hi"}]}';
  assert.equal(run(["mend", "--dialect", "openai"], `\ufeff${request}`).out.trim(), request);
  assert.equal(run(["convert", "--from", "openai", "--to", "gemini"], `\ufeff${request}`).code, 0);
  assert.match(run(["classify", "--rule"], '\ufeff{"error":{"code":"invalid_api_key","message":"no"}}').out, /kind +auth/);
});

holds("what cannot be printed is told, and is no success", async () => {
  const request = '{"model":"m","messages":[{"role":"user","content":"hi"}]}';
  for (const [args, input] of [[["policy"]], [["version"]], [["check", "--options"]], [["check", "--json", "-"], provider], [["chaos", "--list"]], [["mend", "--dialect", "openai"], request], [["convert", "--from", "openai", "--to", "gemini"], request], [["classify"], "boom"], [["explain"], "boom"]]) {
    const full = openSync("/dev/full", "w");
    const r = run(args, input, { stdio: ["pipe", full, "pipe"] });
    closeSync(full);
    assert.equal(r.code, 1, args.join(" "));
    assert.match(r.err, /could not be written/);
  }
});

holds("classify takes a header again and again, and says where a line is wrong", async () => {
  const r = run(["classify", "--status", "429", "--header", "x-a: 1", "--header=retry-after: 20", "-"], "slow down");
  assert.match(r.out, /wait +20 s/);
  const lines = run(["classify", "--jsonl"], '{"id":1,"status":429}\nnonsense\n{"id":2,"status":401}\n');
  assert.deepEqual([lines.code, lines.out.trim().split("\n").map((l) => JSON.parse(l).kind)], [1, ["rate_limit", "auth"]]);
  assert.match(lines.err, /line 2/);
});

holds("a pasted HTTP answer is read with its head", async () => {
  const head = "HTTP/1.1 429 Too Many Requests\r\nDate: Mon, 1 Jan 2026 00:00:00 GMT\r\nRetry-After: 20\r\n\r\n";
  const slow = '{"error":{"message":"slow down"}}';
  const verbose = "* Connected to a\n> POST / HTTP/2\n> Host: a\n>\n< HTTP/2 429 \n< retry-after: 20\n<\n{ [5 bytes data]\n" + slow + "* Connection #0 to host a left intact\n";
  for (const text of [head + slow, head.replaceAll("\r", "") + slow, `$ curl -i http://a\n${head}${slow}`, verbose, "HTTP/2 429\nretry-after: 20\n" + slow,
    "HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + head + slow, "  HTTP/1.1 429 Too Many Requests\n  Retry-After: 20\n\n" + slow]) {
    const r = run(["classify"], text);
    for (const line of [/^kind +rate_limit$/m, /^status +429$/m, /^wait +20 s$/m, /^message +slow down$/m]) assert.match(r.out, line, text);
    assert.match(run(["explain"], text).out, /20 s/, text);
  }
  assert.match(run(["classify", "--status", "402", "--header", "retry-after: 9"], head + slow).out, /status +402\n.*\n.*\nwait +9 s/); // what is said counts
  assert.match(run(["classify"], "HTTP/1.1 503 Service Unavailable\r\nserver: x\r\n\r\n").out, /kind +server_error\n/); // no body: the reason
  for (const text of ["prompt is too long\nHTTP/1.1 429 Too Many Requests\nretry-after: 20\n", "HTTP/1.1 4291 x\nretry-after: 20\n\nboom", "HTTP/1.1 is old\nretry-after: 20\n\nboom"])
    assert.match(run(["classify"], text).out, /^message +.*HTTP\/1\.1/m, text); // no head: all of it is the message
});

holds("a limit that is used up by others is told with what they use: 400 is not more than 30000", async () => {
  const told = (used, asked) => run(["explain", "--status", "429"], `Rate limit reached for m in organization o on tokens per min (TPM): Limit 30000, Used ${used}, Requested ${asked}. Please try again in 20s.`).out;
  assert.match(told(29700, 400), /\(HTTP 429, 400 beside 29700 in use where 30000 are allowed\)/);
  assert.match(told(29700, 31000), /\(HTTP 429, 31000 where 30000 are allowed\)/);
});

holds("colours are for terminals that want them", async () => {
  for (const more of [{}, { NO_COLOR: "1" }]) assert.doesNotMatch(spawnSync(daruma, ["demo", "--chaos", "--listen", "x"], { encoding: "utf8", env: { ...env, ...more } }).stdout, /\x1b/);
  if (spawnSync("script", ["--version"]).status !== 0) return; // a terminal, where there is a way to have one
  const tty = (more) => spawnSync("script", ["-qec", `timeout -s INT 1 ${daruma} demo --chaos --listen 127.0.0.1:0`, "/dev/null"], { encoding: "utf8", env: { ...env, ...more } }).stdout;
  assert.match(tty({ TERM: "xterm" }), /\x1b\[1m/);
  assert.doesNotMatch(tty({ TERM: "xterm", NO_COLOR: "1" }), /\x1b\[1m/);
});

holds("demo shows each failure twice: a bare client gets none of the answers, daruma all but one", async () => {
  const child = spawn(daruma, ["demo", "--once", "--listen", "127.0.0.1:0"], { env: { ...env, http_proxy: "http://127.0.0.1:9" }, stdio: ["ignore", "pipe", "pipe"] }); // which leads elsewhere
  let out = "", err = "";
  child.stdout.on("data", (d) => (out += d));
  child.stderr.on("data", (d) => (err += d));
  const code = await new Promise((yes) => child.on("close", yes));
  assert.equal(code, 0, err);
  const bare = out.match(/^ {2}a bare client .*$/gm), through = out.match(/^ {2}through daruma .*$/gm);
  assert.deepEqual([bare.length, through.length], [9, 9], out);
  assert.ok(bare.every((l) => !l.endsWith("rise eight")), out);
  for (const l of bare.filter((l) => l.startsWith("  a bare client  200 "))) assert.match(l, / ms, (but no whole answer|then the connection .*): /); // else it looks fine
  assert.equal(through.filter((l) => l.startsWith("  through daruma 200 ") && l.endsWith(": fall seven times, rise eight")).length, 8, out);
  assert.match(through[8], /^ {2}through daruma 500 .*failed.*second provider/);
  assert.match(out, /^A bare client got an answer to 0 of 9 requests; through daruma 8 were answered\.$/m);
  assert.match(out, /Not recovered: 1 \(0 explained, 0 broken off, 1 failed, 1 of them with what to do\)/, "an outcome is counted as the answer calls it");
  assert.match(run(["demo", "--help"]).out, /^ {2}breaks-off .*; only with "stream": true$/m);
  for (const remedy of ["switch_key", "wait_retry", "switch_model", "mend_parameter", "resume", "repair_history"]) assert.match(err, new RegExp(`-> ${remedy}`));
});

/* ---- check ---- */

const check = (text) => run(["check", "-"], text);

holds("check warns in words", async () => {
  for (const [text, words] of [
    [provider.replace("abc-one", "abc-one, abc-one"), /^warning: provider main: key1 and key2 are the same key$/m],
    [`listen: 0.0.0.0:4141\nclients: [{ name: me, token: 0123456789abcdef }]\n${provider}`, /^warning: listen: other machines can reach 0\.0\.0\.0, and it speaks no TLS/m],
    [provider.replace("abc-one", "$OPENAI_API_KEY"), /^warning: provider main: key1 begins with \$: a variable is written \$\{NAME\}$/m]]) {
    const r = check(text);
    assert.equal(r.code, 0, r.err);
    assert.match(r.out, words);
  }
  assert.doesNotMatch(check(provider).out, /warning/);
});

holds("check shows where models that nobody named go, where what is known is kept, and that a proxy or a token is in between", async ({ dir }) => {
  const text = `${provider}default: [ "main/*", main/small ]\nadmin: { token: 93f0b6e2517c4d8a }\nstate: ${dir}\nstore: redis://u:geheim@127.0.0.1:7000/1\nproxy: { http_proxy: "http://u:geheim@proxy:3128", https_proxy: "" }\n`;
  const r = check(text);
  assert.equal(r.code, 0, r.err);
  for (const line of [/^  default    main\/\*, then main\/small$/m, /^  admin      with a token$/m, /^  store      127\.0\.0\.1:7000$/m, /^  proxy      for http providers$/m]) assert.match(r.out, line);
  assert.match(check(`${provider}store: "redis://[::1]:7000"\n`).out, /^  store      \[::1\]:7000$/m);
  assert.ok(r.out.includes(`  state      ${dir}\n`));
  assert.doesNotMatch(r.out, /geheim/);
});

// What is wrong with a file, and a piece of what is said. All limits are met at limit + 1.
const many = (n, f) => Array.from({ length: n }, (_, i) => f(i)).join(", ");
const name = (i, more = "") => `{ name: n${i}, dialect: openai, url: "http://h${i}"${more} }`;
const refused = (dir) => [
  ["listen: [", /not valid YAML/], ["providers: [ { name: main, keys: [${KEY_1}] } ]\n", /not valid YAML: .*`\$\{NAME\}` stand in quotes/], [`${provider}models: [ { name: a, targets: [main/a] }, { name: a, targets: [main/b] } ]\n`, /models\[1\]\.name: another model has the name "a"/], ["- a\n", /expected options/], ["a: 1\n---\nb: 2\n", /a second document/], [`# ${"x".repeat(1 << 20)}\n`, /the file is too long/],
  [`${provider}tls: { ca_file: /no/such.pem }\n`, /tls\.ca_file: \/no\/such\.pem: .*No such file/], [`${provider}tls: { ca_file: ${daruma} }\n`, /tls\.ca_file: .*no certificate/], [`${provider}tls: { ca_file: ${dir} }\n`, /tls\.ca_file/],
  [`${provider}events: { file: ${dir} }\n`, /events\.file: .*directory/], [`${provider}events: { file: /no/such/x.jsonl }\n`, /events\.file: .*No such file or directory; make the folder that it is in/], [`${provider}events: { file: ${dir}/new/ }\n`, /events\.file: .*directory/],
  [`${provider}events: { file: ${dir}/dangling }\n`, /events\.file: .*No such file/], [`${provider}events: { file: ${dir}/round }\n`, /events\.file: .*symbolic links/], [`${provider}events: { file: ${dir}/${"x".repeat(300)} }\n`, /events\.file: .*too long/],
  [`${provider}events: { file: ${"/x".repeat(2049)} }\n`, /longer than 4096 bytes/], [`${provider}events: { file: "${"/x".repeat(2048)}" }\n`, /too long/],
  [`${provider}events: { file: "\${NOT_THERE}" }\n`, /NOT_THERE is not set/], [`${provider}proxy: { https_proxy: "https://proxy:1" }\n`, /proxy\.https_proxy: .*without TLS/], [`${provider}proxy: { http_proxy: "ftp://proxy" }\n`, /proxy\.http_proxy/],
  [provider, /HTTPS_PROXY/, { HTTPS_PROXY: "https://proxy:1" }], ["{}\n", /OPENAI_UPSTREAM_URL/, { OPENAI_UPSTREAM_URL: "127" }],
  [`listen: 192.0.2.1:4141\n${provider}`, /listen: cannot listen on 192\.0\.2\.1 port 4141/], [`listen: 127.0.0.1:99999\n${provider}`, /up to 65535/], [`listen: 127.0.0.1:9100\n${provider}`, /providers\[0\]\.url: provider main: .*where daruma itself listens/],
  [provider, /where daruma itself listens/, {}, ["--listen", "127.0.0.1:9100"]], [provider, /--listen: expected an address/, {}, ["--listen", "nonsense"]],
  [`providers: [ ${many(65, name)} ]\n`, /65 are too many/], [`providers: [ ${name(0, `, keys: [ ${many(65, (i) => `k${i}`)} ]`)} ]\n`, /65 are too many/], [`providers: [ ${name(0, `, headers: { ${many(33, (i) => `x-${i}: a`)} }`)} ]\n`, /33 are too many/],
  [`${provider}hosts: [ ${many(65, (i) => `h${i}`)} ]\n`, /65 are too many/], [`${provider}passthrough: [ ${many(65, (i) => `/p${i}`)} ]\n`, /65 are too many/], [`${provider}models: [ ${many(1025, (i) => `{ name: m${i}, targets: [main/x] }`)} ]\n`, /1025 are too many/],
  [`${provider}models: [ { name: m, targets: [ ${many(33, (i) => `main/m${i}`)} ] } ]\n`, /33 are too many/], [`${provider}limits: { ${many(257, (i) => `k${i}: 1`)} }\n`, /257 are too many/],
  [`providers: [ ${name(0, `, keys: [ ${many(64, (i) => `k${i}`)} ]`)} ]\nmodels: [ ${many(16, (i) => `{ name: m${i}, targets: ${i ? "*t" : `&t [ ${many(16, (k) => `n0/m${k}`)} ]`} }`)} ]\n`, /make 16640 ways/],
  [`providers: [ ${many(18, (i) => name(i, `, keys: ${i ? "*k" : `&k [ ${many(64, () => '"${BIG}"')} ]`}`))} ]\n`, /larger than 16777216 bytes|does not fit into memory/, { BIG: "x".repeat(16000) }],
];

holds("check says no where serve would, in the same words and with the same places", async ({ dir }) => {
  const file = join(dir, "bad.yaml");
  symlinkSync(join(dir, "no/such"), join(dir, "dangling"));
  symlinkSync(join(dir, "round"), join(dir, "round"));
  for (const [i, [text, words, more, args = text.startsWith("listen: ") || text.includes("\nlisten: ") ? [] : ["--listen", "127.0.0.1:0"]]] of refused(dir).entries()) {
    writeFileSync(file, text);
    const options = { env: { ...env, ...more }, timeout: 5000 };
    const checked = run(["check", ...args, file], "", options), served = run(["serve", ...args, file], "", options);
    assert.equal(served.code, 2, `${text.slice(0, 300)}: ${served.err}`);
    assert.ok(checked.code === 2 || (checked.code === 1 && /the file is too long/.test(checked.err)), `${text.slice(0, 300)}: ${checked.code} ${checked.err}`);
    assert.match(checked.err, words);
    assert.equal(served.err.replace("daruma serve: ", ""), checked.err.replace("daruma check: ", ""));
    if (i % 5) continue;
    const told = run(["check", "--json", ...args, file], "", options), { ok, errors } = JSON.parse(told.out);
    assert.deepEqual([told.code, ok, told.err], [checked.code, false, ""]);
    for (const e of errors) assert.ok(checked.err.includes(e.message) && (!e.line || checked.err.includes(`${file}:${e.line}:${e.column}: `)), JSON.stringify(e));
  }
  for (const path of ["/no/such", dir]) assert.deepEqual([run(["check", path]).code, run(["serve", path]).code, JSON.parse(run(["check", "--json", path]).out).ok], [1, 2, false]);
  writeFileSync(file, `${provider}events: { file: ${join(dir, "new.jsonl")} }\n`);
  assert.equal(run(["check", file]).code, 0);
  symlinkSync("new.jsonl", join(dir, "later"));
  assert.equal(check(`${provider}events: { file: ${join(dir, "later")} }\n`).code, 0);
  assert.equal(readdirSync(dir).includes("new.jsonl"), false, "looking leaves nothing behind");
}, { limit: 120000 });

holds("an address that is in use is a warning to check, since that may be the daruma that the file is for", async ({ dir }) => {
  const other = createServer().listen(0, "127.0.0.1"), file = join(dir, "taken.yaml");
  await once(other, "listening");
  writeFileSync(file, `listen: 127.0.0.1:${other.address().port}\n${provider}`);
  const r = run(["check", file]), served = run(["serve", file]);
  other.close();
  assert.equal(r.code, 0, r.err);
  assert.match(r.out, /^warning: listen: something listens on 127\.0\.0\.1 port \d+; unless that is the daruma that this file is for, serve cannot$/m);
  assert.equal(served.code, 2);
  assert.match(served.err, /^daruma serve: cannot listen on 127\.0\.0\.1 port \d+: address already in use; `ss -ltnp` shows what has it$/m);
  assert.doesNotMatch(check(`listen: 127.0.0.1:${other.address()?.port ?? 0}\n${provider}`).out, /warning/);
});

holds("all mistakes of a file are told in one run, each once, in order, and none that follows from another one", async () => {
  const text = `listen: 127.0.0.1:99999
provider:
  - { name: main, dialect: opnai, url: "http://h", keys: ["\${NOPE}", "\${NOPE}"] }
  - { nmae: other, dialect: openai, url: "http://h" }
timeouts: { conect: soon, total: 5 }
models:
  - { name: m, targets: [main/m, other/n, mian/x] }
  - { name: m, target: main/x }
recovery:
  profile: adaptiv
  kinds: { ratelimit: { delay: 1 }, timeout: { delay: 10s } }
`;
  const r = JSON.parse(run(["check", "--json", "-"], text).out);
  assert.deepEqual(r.errors.map((e) => `${e.line}:${e.column} ${e.key}`), ["1:9 listen", "2:1 ", "3:28 providers[0].dialect", "3:59 providers[0].keys[0]", "4:7 providers[1]", "5:13 timeouts", "5:34 timeouts.total",
    "7:43 models[0].targets[2]", "8:13 models[1].name", "8:16 models[1]", "10:12 recovery.profile", "11:12 recovery.kinds"]);
  assert.deepEqual(r.errors[6], { line: 5, column: 34, key: "timeouts.total", message: 'expected a duration like 5s from 10ms to 24h, or none, found "5"', expected: "a duration like 5s from 10ms to 24h, or none", remedy: "add a unit, e.g. 5s" });
  const people = check(text).err.split("\n");
  assert.equal(people.filter((l) => l.startsWith("-:")).length, 12);
  assert.deepEqual(people.slice(9, 12), ["-:3:59: providers[0].keys[0]: the environment variable NOPE is not set; set it before starting daruma, or write $${ for a literal ${", '    - { name: main, dialect: opnai, url: "http://h", keys: ["${NOPE}", "${NOPE}"] }', `${" ".repeat(60)}^`]);
  const far = JSON.parse(run(["check", "--json", "-"], `${provider}tokens: [a]\n`).out); // it may be `models`, or no list of anything
  assert.deepEqual(far.errors.map((e) => e.message), ["unknown key `tokens`"]);
  const lots = check(`${provider}passthrough: [ ${many(40, (i) => `x${i}`)} ]\n`);
  assert.equal(lots.err.split("\n").filter((l) => l.startsWith("-:")).length, 32);
  assert.match(lots.err, /\nand 8 more\n$/);
  assert.equal(JSON.parse(run(["check", "--json", "-"], `${provider}passthrough: [ ${many(40, (i) => `x${i}`)} ]\n`).out).more, 8);
  const script = run(["chaos", "-", "--listen", "127.0.0.1:0", "--for", "10ms"], "faults:\n- { kin: quota }\n- { cut: { after_byts: 3 }, times: x }\nexpect: { call: 1 }\n");
  assert.equal(script.code, 2);
  assert.deepEqual(script.err.split("\n").filter((l) => l.startsWith("-:")).map((l) => l.split(";")[0]), ["-:2:5: faults[0]: unknown key `kin`", "-:3:12: faults[1].cut: unknown key `after_byts`",
    '-:3:36: faults[1].times: expected a whole number from 0 on, found "x"', "-:4:11: expect: unknown expectation `call`"]);
});

holds("check --json says what a file means, with no secret in it", async () => {
  const r = run(["check", "--json", "-"], `${provider}models: [ { name: m, targets: [main/x, { target: main/y, window: 5 }] } ]\nrecovery: { kinds: { timeout: { delay: 2s } } }\n`);
  assert.equal(r.code, 0, r.err);
  const { ok, file, errors, more, warnings, means } = JSON.parse(r.out);
  assert.deepEqual([ok, file, errors, more, warnings], [true, "-", [], 0, []]);
  assert.deepEqual(means.providers, [{ name: "main", dialect: "openai", url: "http://127.0.0.1:9100/v1", keys: [{ value: "[redacted]", command: null, account: "key1", name: "key1" }], spread: false, cloud: "auto", headers: {} }]);
  assert.deepEqual(means.models[0].targets, [{ target: "main/x", window: "model", max_output: "model", weight: 0 }, { target: "main/y", window: 5, max_output: "model", weight: 0 }]);
  assert.deepEqual([means.listen, means.timeouts.connect, means.timeouts.idle, means.limits.body, means.recovery.profile, means.recovery.kinds.timeout.delay, means.events.stderr, means.watch], ["127.0.0.1:4141", "5s", "none", "64MiB", "default", "2s", false, "guide"]);
  const rows = run(["check", "--options"]).out.split("\n").flatMap((l) => l.match(/^\| `([a-z_.]+)`/)?.[1] ?? []);
  assert.ok(rows.length > 40);
  for (const row of rows) assert.notEqual(row.split(".").reduce((at, k) => at?.[k], means), undefined, row);
  assert.equal(JSON.parse(run(["check", "--json", "-"], `listen: 0.0.0.0:4141\nclients: [{ name: me, token: 0123456789abcdef }]\n${provider}`).out).warnings.length, 1);
  assert.doesNotMatch(r.out, /abc-one/);
});

holds("check shows what is watched, and which variant of a profile", async () => {
  const r = check(`${provider}watch: observe\nmodels: [ { name: m, targets: [main/m], watch: enforce } ]\nrecovery: { profile: swarm/code }\n`);
  assert.match(r.out, /^  watch      observe, m enforce$/m);
  assert.match(r.out, /profile swarm\/code,/);
});

/* ---- with ---- */

holds("with names the variable that was set, not the one that it became", async () => {
  const r = run(["with", "--", "true"], "", { env: { ...env, OPENAI_BASE_URL: "ftp://x" } });
  assert.equal(r.code, 2);
  assert.match(r.err, /OPENAI_BASE_URL/);
});

holds("with points every variable of its help at itself", async () => {
  const listed = run(["with", "--help"]).out.match(/\b[A-Z]+_[A-Z_]*(URL|BASE|HOST)\b/g);
  assert.ok(listed.length >= 8, listed.join(" "));
  const manual = readFileSync(join(root, "doc/daruma.1"), "utf8");
  const set = run(["with", "--", "env"]).out;
  for (const name of listed) {
    assert.match(set, new RegExp(`^${name}=http://127\\.0\\.0\\.1:\\d+(/v1)?$`, "m"));
    assert.ok(manual.includes(name), `the manual does not know ${name}`);
  }
});

for (const signal of ["SIGTERM", "SIGHUP"])
  holds(`with hands ${signal} on, and its status is the command's`, async () => {
    const child = spawn(daruma, ["with", "--", "sh", "-c", "trap 'echo told; exit 9' TERM HUP; echo ready; while :; do sleep 0.05; done"], { env, stdio: ["ignore", "pipe", "ignore"] });
    let said = "";
    child.stdout.on("data", (d) => (said += d));
    const gone = new Promise((ok) => child.once("exit", ok));
    await until("the command", () => said.includes("ready"));
    child.kill(signal);
    assert.equal(await gone, 9);
    assert.match(said, /told/);
  });

/* ---- the gateway, seen by who runs it ---- */

wired("a provider at daruma's own address is refused at once, whoever said where it listens", {
  async run(pair) {
    const own = `providers: [ { name: main, dialect: openai, url: "http://localhost:4987/v1" } ]\n`;
    writeFileSync(join(pair.dir, "own.yaml"), own);
    for (const listen of ["127.0.0.1:4987", "0.0.0.0:4987"]) {
      const r = run(["serve", "--listen", listen, join(pair.dir, "own.yaml")], "", { timeout: 3000 });
      assert.equal(r.code, 2, r.err);
      assert.match(r.err, /provider main: .*where daruma itself listens/);
    }
    const zero = run(["serve", "--listen", "127.0.0.1:4987"], "", { timeout: 3000, env: { ...env, OPENAI_UPSTREAM_URL: "http://127.0.0.1:4987/v1" } });
    assert.equal(zero.code, 2, zero.err);
    pair.write((c) => (c.providers[0].url = `${pair.base}/v1`)); // and a file that is read again changes nothing
    pair.gateway().kill("SIGHUP");
    await until("the refusal", () => /stays as it was: .*itself listens/.test(pair.gateway().said));
    assert.equal((await question(pair, dialects.openai)).status, 200);
  },
});

wired("targets with keys of ours and targets with the client's own stand in one model", {
  config: (c) => {
    delete c.providers.find((p) => p.name === "own").keys;
    c.models.push({ name: "m-both", targets: ["main/m-dead", "own/m-alive", "main/m-last"] });
  },
  chaos: "faults:\n  - { model: m-dead, kind: model_not_found }\n",
  async run(pair) {
    pair.own.answer = (q, res) => res.writeHead(200, { "content-type": "application/json" }).end('{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"mine"},"finish_reason":"stop"}]}');
    const r = await question(pair, dialects.openai, { model: "m-both", headers: { authorization: "Bearer sk-client" } });
    assert.equal(r.status, 200, r.text);
    assert.equal(r.headers["x-daruma-target"], "own/m-alive");
    assert.equal(pair.own.seen[0].headers.authorization, "Bearer sk-client");
  },
});

wired("no key of ours is shown, whichever call a provider names it in; nor a header that the file adds", {
  config: (c) => (c.providers[0].headers = { "x-team": "sk-leak-header" }),
  chaos: 'faults:\n  - { times: 8, kind: permission, message: "sk-one, sk-two and sk-leak-header may not do this" }\n',
  async run(pair) {
    const r = await question(pair, dialects.openai);
    pair.heard.push(Buffer.from(r.text + JSON.stringify(r.headers)));
    assert.match(r.text, /\[redacted\]/);
  },
});

wired("what was learned of a model is in the status, also of one that no file names", {
  zero: true,
  chaos: "models: { m-main: { renamed: { max_tokens: max_completion_tokens }, window: 3000 }, m-other: {} }\nfaults: [ { model: m-other, times: 1, kind: server_error } ]\n",
  async run(pair) {
    const d = dialects.openai, body = { ...d.body("m-main", "say hi"), max_tokens: 50 };
    const send = (more) => ask(pair, pathOf(d, "m-main"), { method: "POST", headers: { ...d.headers, "content-type": "application/json" }, body: JSON.stringify({ ...body, ...more }) });
    assert.equal((await question(pair, d, { model: "m-other" })).status, 200);
    assert.equal((await send()).status, 200);
    const [m, ...others] = (await pair.status()).models_learned;
    assert.deepEqual([m.provider, m.model, others.length], ["openai", "m-main", 0]);
    assert.deepEqual(m.parameters.map(({ do: what, path, value }) => ({ what, path, value })), [{ what: "rename", path: "max_tokens", value: "max_completion_tokens" }]);
    assert.match(m.account, /^client-[0-9a-f]{16}$/);
    assert.match(m.case, /^[0-9a-f]{16}$/);
    assert.deepEqual([m.parameters[0].case, m.parameters[0].applied], [m.case, 0]);
    assert.ok(m.parameters[0].ago_ms >= 0 && m.ago_ms >= 0);
    const call = (i) => [{ role: "assistant", content: null, tool_calls: [{ id: `c${i}`, type: "function", function: { name: "look", arguments: "{}" } }] }, { role: "tool", tool_call_id: `c${i}`, content: `${i} ${"many words ".repeat(400)}` }];
    assert.equal((await send({ messages: [...[1, 2, 3, 4, 5].flatMap(call), { role: "user", content: "say hi" }] })).status, 200);
    assert.equal((await pair.status()).models_learned[0].window, 3000);
  },
});

wired("monitors may ask with HEAD; other methods are told what there is", {
  async run(pair) {
    for (const path of ["/daruma/health", "/daruma/status"]) {
      const r = await fetch(pair.base + path, { method: "HEAD" });
      assert.deepEqual([r.status, await r.text()], [200, ""]);
    }
    const odd = await fetch(`${pair.base}/daruma/health`, { method: "DELETE" });
    assert.deepEqual([odd.status, odd.headers.get("allow")], [405, "GET, HEAD"]);
  },
});

wired("a reload says what has to wait for the next start", {
  async run(pair) {
    const g = pair.gateway();
    let told = 0;
    for (const change of [(c) => ((c.listen = "127.0.0.1:4999"), (c.watch = "off")), (c) => (c.store = "redis://127.0.0.1:1"), (c) => (c.state = pair.dir)]) {
      pair.write(change);
      for (let i = 1; i <= 2; i++) {
        g.kill("SIGHUP");
        await until("the word", () => g.said.split("holds from the next start on").length > told + 1);
        told++;
      }
    }
    pair.write((c) => (c.state = `${pair.dir}/nowhere`));
    g.kill("SIGHUP"); // the next start would refuse it
    await until("the word", () => /stays as it was: .*state: .*nowhere: No such file/.test(g.said));
    assert.equal((await question(pair, dialects.openai)).status, 200);
  },
});

wired("explain finds a case by the digits that a line on the terminal shows", {
  chaos: "faults:\n  - { times: 1, kind: overloaded }\n",
  async run(pair) {
    const r = await question(pair, dialects.openai), id = r.headers["x-daruma-case"];
    await until("its end", () => pair.eventsText().includes("error_recovery_success"));
    const whole = run(["explain", "--events", pair.eventsFile, id]);
    assert.match(whole.out, /it worked/);
    assert.equal(run(["explain", "--events", pair.eventsFile, id.slice(0, 8)]).out, whole.out);
    const none = run(["explain", "--events", pair.eventsFile, id.startsWith("0000") ? "ffff" : "0000"]);
    assert.equal(none.code, 1);
    assert.match(none.err, /no case/);
  },
});

wired("explain says of each call which key it used and what was wrong on the wire, what was changed in the request, and how long it took", {
  chaos: "models: { m-single: { unsupported: [temperature] } }\nfaults:\n  - { times: 1, kind: rate_limit }\n  - { times: 1, kind: reset }\n",
  async run(pair) {
    const r = await question(pair, dialects.openai, { model: "m-single", more: { temperature: 1 } });
    await until("its end", () => pair.eventsText().includes("error_recovery_success"));
    const { out } = run(["explain", "--events", pair.eventsFile, r.headers["x-daruma-case"]]);
    assert.match(out, /call 1 to main\/m-single \(key1\) failed: the provider asked to slow down/);
    assert.match(out, /so daruma used another key: main\/m-single \(key2\)/);
    assert.match(out, /call 2 to main\/m-single \(key2\) failed: the connection failed: the connection was reset/);
    assert.match(out, /temperature was left out/);
    assert.match(out, /it worked: main\/m-single \(key\d\) answered, \d[^,]* after the request came/);
  },
});

holds("explain says of a circle which tool failed and how, and what the model was told", async ({ dir }) => {
  const file = join(dir, "circle.jsonl"), of = { ts: "2026-01-31T12:00:00Z", case: "00000000000000c1", tool: "read_file" };
  writeFileSync(file, [{ event: "tool_failed", ...of, kind: "tool_error", message: "no such file: a.txt" }, { event: "nudge", ...of, remedy: "notice", level: 1 }].map((e) => `${JSON.stringify(e)}\n`).join(""));
  const { out } = run(["explain", "--events", file, of.case]);
  assert.match(out, /tool failed \(read_file\): no such file: a\.txt$/m);
  assert.match(out, /nudge \(read_file\): daruma told the model what it keeps doing$/m);
});

/* ---- the documents ---- */

// Their examples of configurations and scripts, with the page and the line they stand in. What is a part only (it
// names no provider) is read behind the providers of the page's first example.
const pages = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "STYLE.md", ...["doc", "doc/clients"].flatMap((d) => readdirSync(join(root, d)).filter((f) => f.endsWith(".md")).map((f) => `${d}/${f}`))];
const examples = pages.flatMap((page) => {
  const text = readFileSync(join(root, page), "utf8");
  return [...text.matchAll(/^```yaml\n(.*?)^```$/gms)].map((m) => ({ page, line: text.slice(0, m.index).split("\n").length + 1, text: m[1] }));
});

holds("every example of the documents loads", async () => {
  const scripts = examples.filter((e) => e.page === "doc/chaos.md"), configs = examples.filter((e) => e.page !== "doc/chaos.md");
  assert.ok(scripts.length >= 3 && configs.length >= 3);
  for (const e of configs) {
    const first = configs.find((c) => c.page === e.page && /^providers:/m.test(c.text))?.text ?? provider;
    const text = /^providers:/m.test(e.text) ? e.text : first.match(/^providers:.*?^(?=\w)/ms)[0] + e.text;
    const r = check(text);
    assert.equal(r.code, 0, `${e.page}:${e.line}: ${r.err}`);
    assert.doesNotMatch(r.out, /warning/, `${e.page}:${e.line}`);
  }
  for (const e of scripts) assert.notEqual(run(["chaos", "-", "--listen", "127.0.0.1:0", "--for", "10ms"], e.text).code, 2, `${e.page}:${e.line}`);
  for (const f of readdirSync(join(root, "examples")).filter((f) => f.endsWith(".yaml"))) {
    const r = f.startsWith("chaos") ? run(["chaos", join(root, "examples", f), "--listen", "127.0.0.1:0", "--for", "10ms"]) : run(["check", join(root, "examples", f)]);
    assert.notEqual(r.code, 2, `${f}: ${r.err}`);
  }
});

holds("the manual page has every command and every option that the program has", async () => {
  const manual = readFileSync(join(root, "doc/daruma.1"), "utf8").replaceAll("\\-", "-"), readme = readFileSync(join(root, "README.md"), "utf8");
  for (const name of names) {
    assert.match(manual, new RegExp(`^\\.SS "?${name}\\b`, "m"));
    assert.match(readme, new RegExp(`\`daruma ${name}\\b`));
    const [, rows] = run([name, "--help"]).out.match(/\nOptions\n(.*)$/s) ?? [];
    const part = manual.split(/^\.S[SH] /m).find((p) => new RegExp(`^"?${name}\\b`).test(p));
    for (const [, option] of (rows ?? "").matchAll(/^  (--[\w-]+)/gm)) assert.ok(part.includes(option), `${name} ${option} is not in the manual`);
  }
});

holds("each promise of SECURITY.md names tests that there are", async () => {
  const text = readFileSync(join(root, "SECURITY.md"), "utf8"), folders = [join(root, "tests"), join(root, "tests/clients"), join(root, "fuzz")];
  const tests = folders.flatMap((f) => readdirSync(f).filter((n) => /\.(c|mjs)$/.test(n)).map((n) => n + "\n" + readFileSync(join(f, n), "utf8"))).join("\n").replaceAll('\\"', '"');
  const rows = text.split("\n").filter((l) => /^\| [A-Z]/.test(l)).map((l) => l.split("|")[2]);
  assert.ok(rows.length > 15);
  for (const row of rows) {
    const names = [...row.matchAll(/`([^`]+)`/g)].map(([, name]) => name);
    assert.ok(names.length, `a promise that no test holds: ${row}`);
    for (const name of names) assert.ok(tests.includes(name), `there is no test "${name}"`);
  }
});

holds("a number that stands beside the name of a limit is that limit", async () => {
  const header = readFileSync(join(root, "src/base/limits.h"), "utf8").replace(/\\\n/g, " ").replace(/\/\*.*?\*\//gs, "");
  const limits = new Map([...header.matchAll(/^#define (\w+) +(\S.*)$/gm)].map(([, name, value]) => [name, Number(Function(`return ${value.replace(/(\d)u\b/g, "$1")}`)())]));
  assert.ok(limits.size > 100);
  const forms = (name, n) => {
    const all = [String(n), n.toLocaleString("en-US")];
    for (const [unit, size] of [["KiB", 1024], ["MiB", 1 << 20]]) if (n % size === 0) all.push(`${n / size} ${unit}`);
    if (/_MS\b|_MS_/.test(name)) for (const [unit, size] of [["s", 1000], ["min", 60000], ["h", 3600000]]) if (n % size === 0) all.push(`${n / size} ${unit}`);
    return all;
  };
  let seen = 0;
  for (const page of pages) {
    const parts = readFileSync(join(root, page), "utf8").split(/\n\n|\n(?=\|)/);
    for (const part of parts)
      for (const [, name] of part.matchAll(/`([A-Z][A-Z_]+[A-Z])`/g)) {
        if (!limits.has(name)) continue;
        seen++;
        assert.ok(forms(name, limits.get(name)).some((f) => new RegExp(`(?<![\\d.,])${f}(?!\\d|,\\d)`).test(part)), `${page}: ${name} is ${limits.get(name)}: ${part}`);
      }
  }
  assert.ok(seen >= 14, `${seen} limits are named`);
});

// The anchors of a page's headings, as GitHub makes them.
const heads = (page) => [...readFileSync(join(root, page), "utf8").matchAll(/^#+ (.*)$/gm)].map(([, h]) => h.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "").trim().replaceAll(" ", "-"));

holds("every file, heading and function that the documents name is there", async () => {
  const listed = (dir) => readdirSync(join(root, dir), { recursive: true, withFileTypes: true }).filter((e) => e.isFile() && !e.parentPath.includes("node_modules")).map((e) => join(e.parentPath, e.name).slice(root.length));
  const files = ["src", "include", "tests", "fuzz", "bench", "bindings", "examples", "doc", "tools"].flatMap(listed);
  const code = files.filter((f) => /^(src|include)\/.*\.[ch]$/.test(f)).map((f) => readFileSync(join(root, f), "utf8")).join("\n");
  for (const page of pages) {
    const text = readFileSync(join(root, page), "utf8");
    for (const [, name] of text.matchAll(/`((?:[\w-]+\/)*[\w-]+\.(?:c|h|def|mjs|py|md|yaml))`/g))
      assert.ok(/NAME|daruma\.yaml/.test(name) || files.some((f) => f === name || f.endsWith(`/${name}`)) || readdirSync(root).includes(name), `${page}: there is no ${name}`);
    for (const [, name] of text.matchAll(/`([a-z_]\w+)\(\)`/g)) assert.match(code, new RegExp(`\\b${name}\\(`), `${page}: there is no ${name}()`);
    for (const [, place, head] of text.matchAll(/\]\(([\w/.-]+\.md)?(?:#([\w-]+))?\)/g)) {
      const there = place ? join(dirname(page), place) : page;
      assert.ok(files.includes(there) || readdirSync(root).includes(there), `${page}: ${place}`);
      assert.ok(!head || heads(there).includes(head), `${page}: ${there} has no heading #${head}`);
    }
    for (const [, name, file] of text.matchAll(/`(\w+)\(\)`\s+(?:in|\()\s*`(src\/[\w/]+\.[ch])`/g)) assert.match(readFileSync(join(root, file), "utf8"), new RegExp(`^[\\w *]*\\b${name}\\(`, "m"), `${page}: ${name}() is not in ${file}`);
  }
});
