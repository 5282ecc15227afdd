// Commands that read a request and print one: `daruma mend` and `daruma convert`.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { daruma } from "./pair.mjs";
import { wire } from "./wire.mjs";

const run = (args, input) => {
  const r = spawnSync(daruma, args, { input: typeof input === "string" ? input : JSON.stringify(input), encoding: "utf8" });
  return { code: r.status, out: r.stdout, err: r.stderr };
};
const holds = (name, run) => wire.push({ name: `cli: ${name}`, chaos: "faults: []\n", run: async () => run() });

const lost = {
  openai: { model: "m", messages: [{ role: "user", content: "go" }, { role: "assistant", content: null, tool_calls: [{ id: "c1", type: "function", function: { name: "look", arguments: "{}" } }] }, { role: "user", content: "well?" }] },
  anthropic: { model: "m", max_tokens: 9, messages: [{ role: "user", content: "go" }, { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "look", input: {} }] }, { role: "user", content: "well?" }] },
  "openai-responses": { model: "m", input: [{ role: "user", content: "go" }, { type: "function_call", call_id: "c1", name: "look", arguments: "{}" }, { role: "user", content: "well?" }] },
  gemini: { contents: [{ role: "user", parts: [{ text: "go" }] }, { role: "model", parts: [{ functionCall: { name: "look", args: {} } }] }, { role: "user", parts: [{ text: "well?" }] }] },
};

for (const [name, request] of Object.entries(lost)) {
  holds(`mend gives a lost call its result, once: ${name}`, () => {
    const r = run(["mend", "--dialect", name], request);
    assert.equal(r.code, 0, r.err);
    assert.match(r.out, /unknown/i);
    assert.match(r.err, /1 tool call/);
    const again = run(["mend", "--dialect", name], r.out);
    assert.equal(again.out.trim(), r.out.trim(), "it was mended twice");
  });
  holds(`mend leaves alone what is well: ${name}`, () => {
    const well = name === "gemini" ? '{"contents" : [ {"role":"user","parts":[{"text":"hi"}]} ]}' : name === "openai-responses" ? '{"model":"m", "input" : "hi"}' : '{"model":"m", "messages" : [ {"role":"user","content":"hi"} ], "max_tokens":9}';
    assert.equal(run(["mend", "--dialect", name], well).out.trim(), well);
  });
  for (const to of Object.keys(lost))
    holds(`convert ${name} to ${to} and back keeps what was said and called`, () => {
      const there = run(["convert", "--from", name, "--to", to], run(["mend", "--dialect", name], request).out);
      assert.equal(there.code, 0, there.err);
      const back = run(["convert", "--from", to, "--to", name], there.out);
      assert.equal(back.code, 0, back.err);
      for (const word of ["go", "well?", "look"]) assert.ok(there.out.includes(word) && back.out.includes(word), `${word} is lost: ${there.out} ${back.out}`);
    });
}

holds("mend shortens to a number of tokens, or says that it cannot", () => {
  const long = structuredClone(lost.openai);
  long.messages.splice(1, 0, ...[0, 1, 2, 3, 4, 5].flatMap((i) => [{ role: "assistant", content: null, tool_calls: [{ id: `x${i}`, type: "function", function: { name: "look", arguments: "{}" } }] }, { role: "tool", tool_call_id: `x${i}`, content: `begin-${i} ${"many words ".repeat(800)} end-${i}` }]));
  const good = run(["mend", "--dialect", "openai", "--shrink-to", "9000"], long);
  assert.equal(good.code, 0, good.err);
  assert.ok(good.out.length < JSON.stringify(long).length);
  for (let i = 0; i < 6; i++) assert.ok(good.out.includes(`begin-${i}`) && good.out.includes(`end-${i}`));
  const bad = run(["mend", "--dialect", "openai", "--shrink-to", "50"], long);
  assert.equal(bad.code, 1, bad.err);
  assert.match(bad.err, /50/);
});

holds("what cannot be read is told with its place, what is wrongly asked with what is there", () => {
  const broken = run(["mend", "--dialect", "openai"], '{"messages": [\n{"role": }]}');
  assert.equal(broken.code, 2);
  assert.match(broken.err, /line 2/);
  const unknown = run(["convert", "--from", "openai", "--to", "openia"], lost.openai);
  assert.equal(unknown.code, 2);
  assert.match(unknown.err, /openai-responses/);
  for (const c of ["mend", "convert"]) assert.match(run([c, "--help"], "").out + run([c, "--help"], "").err, /--/);
});
