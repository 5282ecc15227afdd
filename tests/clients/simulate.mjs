// `daruma simulate`: what it prints, and what it refuses.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { daruma } from "./pair.mjs";
import { wire } from "./wire.mjs";

const simulate = (...args) =>
  new Promise((done) => {
    execFile(daruma, ["simulate", ...args], { encoding: "utf8", env: {}, maxBuffer: 1 << 26 }, (e, out, err) =>
      done({ code: e ? e.code : 0, out, err }));
  });
const holds = (name, run) => wire.push({ name: `simulate: ${name}`, chaos: "faults: []\n", run: async () => run() });

const configured = async (text, run) => {
  const folder = mkdtempSync(join(tmpdir(), "daruma-simulate-")), file = join(folder, "daruma.yaml");
  writeFileSync(file, text);
  try {
    return await run(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
};
const two = `providers:
  - { name: main, dialect: openai, url: "https://api.openai.com/v1", keys: ["\${KEY_ONE}", "\${KEY_TWO}"] }
  - { name: other, dialect: anthropic, url: "https://api.anthropic.com", keys: ["\${KEY_THREE}"] }
models:
  - { name: best, targets: [main/gpt-5, other/claude] }
  - { name: lone, targets: [main/gpt-5] }
`;

holds("the same seed prints the same table, another seed another one", async () => {
  const [a, b, c] = await Promise.all(["1", "1", "2"].map((seed) => simulate("--class", "healthy", "--worlds", "40", "--seed", seed)));
  assert.equal(a.code, 0, a.out + a.err);
  assert.equal(a.out, b.out);
  assert.notEqual(a.out, c.out);
});

holds("nothing is lost where nothing is sick, and JSON says the same as the table", async () => {
  const all = JSON.parse((await simulate("--class", "healthy", "--worlds", "40", "--json")).out).all;
  assert.equal(all.daruma.lost, 0);
  assert.equal(all.could, all.requests);
  assert.equal(all.sick, 0);
  assert.equal(all.blind, 0);
  assert.equal(all.both, all.requests);
  assert.match((await simulate("--class", "healthy", "--worlds", "40")).out, new RegExp(`\\| all +\\| +${all.requests} \\|`));
});

holds("each of the worst worlds is replayed by the command that is printed", async () => {
  const table = (await simulate("--class", "only-ever", "--worlds", "40")).out;
  const [, lost, args] = table.match(/^ *(\d+) of \d+ lost, .*: daruma simulate (--.*)$/m);
  const one = await simulate(...args.split(" "));
  assert.equal(one.code, 0, one.err);
  assert.match(one.out, new RegExp(`^${lost} lost$`, "m"));
  assert.equal((one.out.match(/ LOST$/gm) ?? []).length, Number(lost));
});

holds("bounds that are missed end with 1 and say by how much", async () => {
  assert.equal((await simulate("--class", "healthy", "--worlds", "20", "--max-lost", "0", "--max-calls", "2")).code, 0);
  const r = await simulate("--class", "only-ever", "--worlds", "20", "--max-calls", "0.5");
  assert.equal(r.code, 1);
  assert.match(r.err, /--max-calls/);
});

holds("a configuration gives targets and policy, and its keys need not be set", async () =>
  configured(two, async (file) => {
    const one = await simulate("--config", file, "--class", "provider", "--world", "3");
    assert.match(one.out, /target 0: main\/gpt-5 \(key1.*\n.*target 1: main\/gpt-5 \(key2.*\n.*target 2: other\/claude \(key1/);
    assert.doesNotMatch(one.out, /target 3/);
    const lone = await simulate("--config", file, "--model", "lone", "--class", "provider");
    assert.equal(lone.code, 2);
    assert.match(lone.err, /cannot be in a world of the class/);
    assert.match((await simulate("--config", file, "--model", "none")).err, /no model `none`/);
    assert.match((await simulate("--config", file, "--worlds", "64")).out, new RegExp(`simulate --config ${file} --seed 1 --class`));
  }));

holds("a policy alone is taken from a file without providers", async () =>
  configured("recovery: { profile: swarm }\n", async (file) => {
    const mine = JSON.parse((await simulate("--policy", file, "--class", "all-down", "--worlds", "30", "--json")).out);
    const theirs = JSON.parse((await simulate("--profile", "swarm", "--class", "all-down", "--worlds", "30", "--json")).out);
    assert.deepEqual(mine.all, theirs.all);
  }));

holds("all profiles are one table at the end", async () => {
  const r = await simulate("--profile", "all", "--class", "healthy", "--worlds", "5");
  const rows = r.out.split("All worlds, by profile")[1].match(/^\| [a-z-]+ +\| +\d+ /gm);
  assert.ok(rows.length >= 8, r.out);
});

holds("what is asked wrongly is told", async () => {
  for (const [args, says] of [
    [["--worlds", "0"], /--worlds needs a whole number from 1/],
    [["--seed", "x"], /--seed needs/],
    [["--max-lost", "1.234"], /--max-lost needs a number like/],
    [["--class", "provder"], /did you mean `provider`/],
    [["--profile", "none"], /no profile `none`/],
    [["--profile", "swarm", "--policy", "x"], /give one/],
    [["more"], /more/],
  ]) {
    const r = await simulate(...args);
    assert.equal(r.code, 2, `${args}: ${r.err}`);
    assert.match(r.err, says);
    assert.equal(r.out, "");
  }
  for (const c of (await simulate("--classes")).out.trim().split("\n")) assert.match(c, /^[a-z0-9-]+ +\S/);
});

holds("agents are run under every profile, and one trial step by step", async () => {
  const all = JSON.parse((await simulate("--agents", "--trials", "12", "--json")).out).profiles;
  const best = all.find((p) => p.profile === "default").all;
  assert.equal(best.trials, 12);
  assert.equal(best.doubled, 0);
  for (const p of all) assert.ok(p.all.done <= best.done, p.profile);
  assert.ok(all.some((p) => p.profile === "swarm,ruby-llm"));
  const args = ["--agents", "--trials", "12", "--profile", "default"];
  assert.match((await simulate(...args)).out, new RegExp(`default \\| ${((100 * best.done) / 12).toFixed(1)} % `));
  assert.equal((await simulate(...args)).out, (await simulate(...args)).out);
  assert.notEqual((await simulate(...args)).out, (await simulate(...args, "--seed", "2")).out);
  assert.match((await simulate("--agents", "--trial", "10", "--profile", "default")).out, /^ +0\.000 {2}trial 10: server\n[^]*end: .*, done\n/);
  for (const c of (await simulate("--agents", "--classes")).out.trim().split("\n")) assert.match(c, /^[a-z-]+ +\S/);
  for (const [wrong, says] of [
    [["--agents", "--trial", "3"], /--trial needs --profile/],
    [["--agents", "--class", "none"], /no class `none`/],
    [["--agents", "--profile", "none"], /no profile `none`/],
    [["--agents", "--worlds", "3"], /--agents goes with/],
    [["--trials", "3"], /go with --agents/],
  ]) {
    const r = await simulate(...wrong);
    assert.equal(r.code, 2, `${wrong}: ${r.err}`);
    assert.match(r.err, says);
  }
});
