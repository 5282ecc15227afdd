// A run of many steps: what one step costs of processor time and memory, early and late. The model is the test's own: it writes a
// file and reads it, over and over.
//
//   node tests/clients/run_long.mjs 1000 [OPTIONS of daruma run]
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { daruma } from "./pair.mjs";

const HZ = 100; // ticks of /proc/PID/stat a second
const cpu = (pid) => readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ").slice(11, 13).map((t) => Number(t) * (1000 / HZ));
const rss = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]);

// Plays so many steps. Returns samples: step, processor time in ms (ours, the kernel's), resident KB, bytes of the request.
export async function long(steps, more = []) {
  const dir = mkdtempSync(join(tmpdir(), "daruma-long-")), root = join(dir, "root"), state = join(dir, "state"), samples = [];
  mkdirSync(root);
  let child, n = 0;
  const every = Math.max(1, Math.floor(steps / 10));
  const server = createServer((req, res) => {
    let bytes = 0;
    req.on("data", (d) => (bytes += d.length));
    req.on("end", () => {
      if (n % every === 0) samples.push({ step: n, cpu: cpu(child.pid), rss: rss(child.pid), bytes });
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
    const args = ["run", "--model", "m", "--base-url", `http://127.0.0.1:${server.address().port}/v1`, "--root", root, "--state", state, "--yes", "--steps", String(steps + 10), "--seconds", "100000", ...more, "the task"];
    child = spawn(daruma, args, { env: { OPENAI_API_KEY: "sk-long" }, stdio: ["ignore", "pipe", "pipe"] });
    let out = "", err = "";
    child.stdout.on("data", (d) => (out += d));
    child.stderr.on("data", (d) => (err = (err + d).slice(-2000)));
    const code = await new Promise((ok) => child.on("close", ok));
    assert.equal(code, 0, out.slice(-2000) + err);
    assert.match(out, /all done/);
    assert.equal(n, steps + 1, "a step was asked for twice");
    const journal = more.includes("--no-journal") ? 0 : readdirSync(state).reduce((a, f) => a + statSync(join(state, f)).size, 0);
    return { samples, journal };
  } finally {
    server.closeAllConnections();
    server.close();
    rmSync(dir, { recursive: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const steps = Number(process.argv[2] ?? 1000), { samples, journal } = await long(steps, process.argv.slice(3));
  const each = (a, b, k) => ((b.cpu[k] - a.cpu[k]) / (b.step - a.step)).toFixed(2);
  console.log("  step   request KB    RSS KB   ms a step: ours, the kernel's");
  samples.forEach((s, i) => {
    const b = samples[i - 1];
    console.log(`${String(s.step).padStart(6)} ${(s.bytes / 1024).toFixed(1).padStart(12)} ${String(s.rss).padStart(9)}   ${b ? `${each(b, s, 0).padStart(16)} ${each(b, s, 1).padStart(13)}` : ""}`);
  });
  console.log(`in all ${each(samples[0], samples.at(-1), 0)} + ${each(samples[0], samples.at(-1), 1)} ms a step; the journal has ${Math.round(journal / 1024)} KB`);
}
