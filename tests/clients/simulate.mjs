// `daruma simulate`: what it prints, and what it refuses.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { daruma } from "./pair.mjs";
import { wire } from "./wire.mjs";

const simulate = (...args) => {
  const r = spawnSync(daruma, ["simulate", ...args], { encoding: "utf8", env: {} });
  return { code: r.status, out: r.stdout, err: r.stderr };
};
const holds = (name, run) => wire.push({ name: `simulate: ${name}`, chaos: "faults: []\n", run: async () => run() });

const configured = (text, run) => {
  const folder = mkdtempSync(join(tmpdir(), "daruma-simulate-")), file = join(folder, "daruma.yaml");
  writeFileSync(file, text);
  try {
    return run(file);
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

holds("the same seed prints the same table, another seed another one", () => {
  const [a, b, c] = [["1"], ["1"], ["2"]].map(([seed]) => simulate("--class", "healthy", "--worlds", "40", "--seed", seed));
  assert.equal(a.code, 0, a.out + a.err);
  assert.equal(a.out, b.out);
  assert.notEqual(a.out, c.out);
});

holds("nothing is lost where nothing is sick, and JSON says the same as the table", () => {
  const all = JSON.parse(simulate("--class", "healthy", "--worlds", "40", "--json").out).all;
  assert.equal(all.daruma.lost, 0);
  assert.equal(all.could, all.requests);
  assert.equal(all.sick, 0);
  assert.equal(all.blind, 0);
  assert.equal(all.both, all.requests);
  assert.match(simulate("--class", "healthy", "--worlds", "40").out, new RegExp(`\\| all +\\| +${all.requests} \\|`));
});

holds("each of the worst worlds is replayed by the command that is printed", () => {
  const table = simulate("--class", "only-ever", "--worlds", "40").out;
  const [, lost, args] = table.match(/^ *(\d+) of \d+ lost, .*: daruma simulate (--.*)$/m);
  const one = simulate(...args.split(" "));
  assert.equal(one.code, 0, one.err);
  assert.match(one.out, new RegExp(`^${lost} lost$`, "m"));
  assert.equal((one.out.match(/ LOST$/gm) ?? []).length, Number(lost));
});

holds("bounds that are missed end with 1 and say by how much", () => {
  assert.equal(simulate("--class", "healthy", "--worlds", "20", "--max-lost", "0", "--max-calls", "2").code, 0);
  const r = simulate("--class", "only-ever", "--worlds", "20", "--max-calls", "0.5");
  assert.equal(r.code, 1);
  assert.match(r.err, /--max-calls/);
});

holds("a configuration gives targets and policy, and its keys need not be set", () =>
  configured(two, (file) => {
    const one = simulate("--config", file, "--class", "provider", "--world", "3");
    assert.match(one.out, /target 0: main\/gpt-5 \(key1.*\n.*target 1: main\/gpt-5 \(key2.*\n.*target 2: other\/claude \(key1/);
    assert.doesNotMatch(one.out, /target 3/);
    const lone = simulate("--config", file, "--model", "lone", "--class", "provider");
    assert.equal(lone.code, 2);
    assert.match(lone.err, /cannot be in a world of the class/);
    assert.match(simulate("--config", file, "--model", "none").err, /no model `none`/);
    assert.match(simulate("--config", file, "--worlds", "64").out, new RegExp(`simulate --config ${file} --seed 1 --class`));
  }));

holds("a policy alone is taken from a file without providers", () =>
  configured("recovery: { profile: swarm }\n", (file) => {
    const mine = JSON.parse(simulate("--policy", file, "--class", "all-down", "--worlds", "30", "--json").out);
    const theirs = JSON.parse(simulate("--profile", "swarm", "--class", "all-down", "--worlds", "30", "--json").out);
    assert.deepEqual(mine.all, theirs.all);
  }));

holds("all profiles are one table at the end", () => {
  const r = simulate("--profile", "all", "--class", "healthy", "--worlds", "5");
  const rows = r.out.split("All worlds, by profile")[1].match(/^\| [a-z-]+ +\| +\d+ /gm);
  assert.ok(rows.length >= 8, r.out);
});

holds("what is asked wrongly is told", () => {
  for (const [args, says] of [
    [["--worlds", "0"], /--worlds needs a whole number from 1/],
    [["--seed", "x"], /--seed needs/],
    [["--max-lost", "1.234"], /--max-lost needs a number like/],
    [["--class", "provder"], /did you mean `provider`/],
    [["--profile", "none"], /no profile `none`/],
    [["--profile", "swarm", "--policy", "x"], /give one/],
    [["more"], /more/],
  ]) {
    const r = simulate(...args);
    assert.equal(r.code, 2, `${args}: ${r.err}`);
    assert.match(r.err, says);
    assert.equal(r.out, "");
  }
  for (const c of simulate("--classes").out.trim().split("\n")) assert.match(c, /^[a-z0-9-]+ +\S/);
});
