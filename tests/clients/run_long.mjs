// A run of many steps: what one step costs of processor time and memory, early and late. The model is the test's own: it writes a
// file and reads it, over and over.
//
//   node tests/clients/run_long.mjs 1000 [OPTIONS of daruma run]
//   WINDOW=16000 node tests/clients/run_long.mjs 1000       the model's window, in tokens
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { daruma } from "./pair.mjs";

const HZ = 100; // ticks of /proc/PID/stat a second
const cpu = (pid) => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ").slice(11, 13).map((t) => Number(t) * (1000 / HZ));
const rss = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]);

const isSanitized = (pid) => /libasan|libclang_rt/.test(readFileSync(`/proc/${pid}/maps`, "utf8")); // their memory is not the run's

// Plays so many steps. With `window` that is the model's; at the steps of `kills` the program is killed and resumed. Returns samples: step, processor time in ms (ours, the kernel's), resident KB, bytes of the request.
export async function long(steps, more = [], { window = 0, kills = [] } = {}) {
  const dir = mkdtempSync(join(tmpdir(), "daruma-long-")), root = join(dir, "root"), state = join(dir, "state"), samples = [];
  mkdirSync(root);
  let child, n = 0, killed = 0, last = "";
  const every = Math.max(1, Math.floor(steps / 10));
  const server = createServer((req, res) => {
    let bytes = 0, text = "";
    req.on("data", (d) => ((bytes += d.length), kills.length && (text += d)));
    req.on("end", () => {
      if (last && text !== last) return res.writeHead(500).end("the question is another one than before the kill");
      last = "";
      if (n === kills[killed]) return killed++, (last = text), child.kill("SIGKILL");
      if (n % every === 0) samples.push({ step: n, cpu: cpu(child.pid), rss: isSanitized(child.pid) ? 0 : rss(child.pid), bytes });
      const i = n >> 1, path = `dir${i % 37}/file-${i}.txt`;
      const act = n % 2 ? { name: "fs_read", args: { path } } : { name: "fs_write", args: { path, content: `content ${i * 7919} of file ${i}` } };
      const message = n < steps ? { role: "assistant", content: null, tool_calls: [{ id: `call_${n}`, type: "function", function: { name: act.name, arguments: JSON.stringify(act.args) } }] } : { role: "assistant", content: "all done" };
      n++;
      res.writeHead(200, { "content-type": "application/json" });
      res.end(JSON.stringify({ id: `a${n}`, object: "chat.completion", model: "m", choices: [{ index: 0, message, finish_reason: message.tool_calls ? "tool_calls" : "stop" }], usage: { prompt_tokens: 10, completion_tokens: 2 } }));
    });
    req.on("error", () => {});
  });
  await new Promise((ok) => server.listen(0, "127.0.0.1", ok));
  try {
    const url = `http://127.0.0.1:${server.address().port}/v1`, file = join(dir, "daruma.yaml");
    writeFileSync(file, `providers:\n  - { name: own, dialect: openai, url: "${url}", keys: ["*"] }\nmodels:\n  - { name: m, targets: [own/m], window: ${window} }\nagents:\n  - { name: lead, model: m }\n`);
    const args = ["run", ...(window ? ["--config", file] : ["--model", "m", "--base-url", url]), "--root", root, "--state", state, "--yes", "--steps", String(steps + 10), "--seconds", "100000", ...more, "the task"];
    let out, err, code = null;
    for (let i = 0; i <= kills.length && code === null; i++) {
      out = err = "";
      child = spawn(daruma, i ? ["run", "--resume", "last", "--state", state, "--yes"] : args, { env: { OPENAI_API_KEY: "sk-long", ...(process.env.ASAN_OPTIONS && { ASAN_OPTIONS: process.env.ASAN_OPTIONS }) }, stdio: ["ignore", "pipe", "pipe"] });
      child.stdout.on("data", (d) => (out += d));
      child.stderr.on("data", (d) => (err = (err + d).slice(-2000)));
      code = await new Promise((ok) => child.on("close", ok));
    }
    assert.equal(code, 0, out.slice(-2000) + err);
    assert.match(out, /all done/);
    assert.equal(n, steps + 1, "a step was asked for twice");
    assert.equal(killed, kills.length);
    const journal = more.includes("--no-journal") ? 0 : readdirSync(state).reduce((a, f) => a + statSync(join(state, f)).size, 0);
    return { samples, journal };
  } finally {
    server.closeAllConnections();
    server.close();
    rmSync(dir, { recursive: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const steps = Number(process.argv[2] ?? 1000), { samples, journal } = await long(steps, process.argv.slice(3), { window: Number(process.env.WINDOW ?? 0) });
  const each = (a, b, k) => ((b.cpu[k] - a.cpu[k]) / (b.step - a.step)).toFixed(2);
  console.log("  step   request KB    RSS KB   ms a step: ours, the kernel's");
  samples.forEach((s, i) => {
    const b = samples[i - 1];
    console.log(`${String(s.step).padStart(6)} ${(s.bytes / 1024).toFixed(1).padStart(12)} ${String(s.rss).padStart(9)}   ${b ? `${each(b, s, 0).padStart(16)} ${each(b, s, 1).padStart(13)}` : ""}`);
  });
  console.log(`in all ${each(samples[0], samples.at(-1), 0)} + ${each(samples[0], samples.at(-1), 1)} ms a step; the journal has ${Math.round(journal / 1024)} KB`);
}
