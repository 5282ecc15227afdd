#!/usr/bin/env python3
"""The bindings, against the faulty provider over real sockets: each example recovers from each fault, plain and as a
stream, and what is wrong is said in the words of libdaruma. Prints TAP. DARUMA and DARUMA_LIBRARY say what is tested."""

import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DARUMA = os.environ["DARUMA"]
NODE = os.environ.get("NODE", "node")
EXAMPLES = {"python": [sys.executable, f"{ROOT}/bindings/python/example.py"], "node": [NODE, f"{ROOT}/bindings/node/example.mjs"]}

# What goes wrong, and whether the second place is asked for it.
FAULTS = {
    "rate_limit": ["--fault", "rate_limit", "--times", "1", "--headers", '{ retry-after: "1" }'],
    "server_error": ["--fault", "server_error", "--times", "2"],
    "reset": ["--fault", "reset", "--times", "1"],
    "cut": ["--fault", "cut", "--times", "1", "--after-bytes", "120"],
    "an error within a 200": ["--fault", "overloaded", "--times", "1", "--in-band", "true"],
    "nothing": [],
}

done = 0
failed = 0


def told(fine, name, why=""):
    global done, failed
    done += 1
    failed += not fine
    print(f"{'ok' if fine else 'not ok'} {done} - {name}")
    if not fine:
        print("# " + str(why).replace("\n", "\n# "))
    sys.stdout.flush()


class Chaos:
    """The faulty provider on a free port."""

    def __init__(self, arguments):
        self.process = subprocess.Popen(
            [DARUMA, "chaos", "--listen", "127.0.0.1:0", "--quiet", "--for", "60s", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        line = self.process.stdout.readline()
        found = re.search(r"http://[0-9.:]+", line)
        if not found:
            raise RuntimeError(f"daruma chaos says: {line}")
        self.url = found.group()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate(timeout=10)


def run(binding, arguments):
    r = subprocess.run(EXAMPLES[binding] + arguments, capture_output=True, text=True, timeout=60)
    return r.returncode, r.stdout, r.stderr


def text_of(out, stream):
    """What the model says in the answer that was printed."""
    if not stream:
        return json.loads(out.splitlines()[0])["choices"][0]["message"]["content"]
    pieces = [json.loads(line[6:]) for line in out.splitlines() if line.startswith("data: {")]
    return "".join(c["delta"].get("content") or "" for p in pieces for c in p["choices"])


def recovers(binding, fault, stream):
    with Chaos(FAULTS[fault]) as chaos:
        code, out, err = run(binding, [chaos.url] + (["--stream"] if stream else []))
    outcome = "ok" if fault == "nothing" else "recovered"
    fine = code == 0 and f"200 {outcome} after" in out and text_of(out, stream) == "hello."
    told(fine, f"{binding}: {fault}, {'stream' if stream else 'plain'}", f"exit {code}\n{out}\n{err}")


def goes_elsewhere(binding):
    with Chaos(["--fault", "auth"]) as sick, Chaos([]) as well:
        code, out, err = run(binding, [sick.url, well.url])
    told(code == 0 and "switch_model" in out, f"{binding}: a refused key, and another place", f"exit {code}\n{out}\n{err}")


def explains(binding):
    with Chaos(["--fault", "auth"]) as chaos:
        code, out, err = run(binding, [chaos.url])
    fine = code == 1 and "401 failed after 1 calls: explain" in out and "sk-example-key" not in out + err
    told(fine, f"{binding}: what cannot be mended is explained, without the key", f"exit {code}\n{out}\n{err}")


MISTAKES = {
    "python": ([sys.executable, "-c"], """
import sys; sys.path.insert(0, "bindings/python")
import daruma
for make in (lambda: daruma.Memory().session({"dialect": "opnai"}, b"{}"), lambda: daruma.Policy({"patience": 1})):
    try: make()
    except daruma.Error as e: print(e)
print(daruma.Policy(daruma.Policy({"max_attempts": 7}).settings()).settings()["max_attempts"])
with daruma.Memory().session({"dialect": "openai", "targets": [{"name": "a"}]}, '{"model":"\\udcff"}'.encode("utf-8", "surrogateescape")) as s:
    print(next(iter(s)).kind == daruma.SEND)
s.end(1); s.close()
print(s.outcome, s.attempts, list(s))
try: s.wakes_in()
except ValueError as e: print(e)
"""),
    "node": ([NODE, "--input-type=module", "-e"], """
const { Memory, Policy } = await import(process.cwd() + "/bindings/node/daruma.mjs");
for (const make of [() => new Memory().session({ dialect: "opnai" }, "{}"), () => new Policy({ patience: 1 })])
  try { make(); } catch (e) { console.log(e.message); }
console.log(new Policy(new Policy({ max_attempts: 7 }).settings()).settings().max_attempts);
const memory = new Memory(), s = memory.session({ dialect: "openai", targets: [{ name: "a" }] }, Buffer.from('{"model":"\\xff"}', "latin1"));
console.log([...s][0].kind === 1 ? "True" : "False");
s.close(); s.end(1); s.close();
console.log(s.outcome, s.attempts, JSON.stringify([...s]));
memory.close();
try { memory.session({}, ""); } catch (e) { console.log(e.message); }
"""),
}
SAID = """dialect: there is no such word; did you mean "openai"?
patience: there is no such member; did you mean "patience_ms"?
7
True
pending 1 []
the %s is closed
"""

# What one process learns another one knows: the place that refused its key is not asked again.
KEPT = {
    "python": ([sys.executable, "-c"], """
import subprocess, sys; sys.path.insert(0, "bindings/python")
import daruma
options = {"dialect": "openai", "targets": [{"name": "a", "model": "m"}, {"name": "b", "model": "m"}]}
def asked(memory):
    with memory.session(options, b'{"model":"m","messages":[]}') as s:
        sent = [a for a in s if a.kind == daruma.SEND][0]
        first = sent.target
        if first == "a":
            s.head(sent.call, 401, [("content-type", "application/json")])
            s.bytes(sent.call, b'{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}')
            s.end(sent.call)
        return first
if len(sys.argv) > 1:
    memory = daruma.Memory()
    print(memory.load(sys.stdin.read()) > 0, asked(memory))
    try: memory.load("hello")
    except daruma.Error as e: print(e)
else:
    memory = daruma.Memory()
    print(asked(memory), flush=True)
    subprocess.run([*sys.orig_argv, "again"], input=memory.save(), text=True)
"""),
    "node": ([NODE, "--input-type=module", "-e"], """
import { spawnSync } from "node:child_process";
const { Memory, SEND } = await import(process.cwd() + "/bindings/node/daruma.mjs");
const options = { dialect: "openai", targets: [{ name: "a", model: "m" }, { name: "b", model: "m" }] };
function asked(memory) {
  const s = memory.session(options, '{"model":"m","messages":[]}'), sent = [...s].find((a) => a.kind === SEND);
  if (sent.target === "a") {
    s.head(sent.call, 401, [["content-type", "application/json"]]);
    s.bytes(sent.call, Buffer.from('{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}'));
    s.end(sent.call);
  }
  s.close();
  return sent.target;
}
const memory = new Memory();
if (process.env.SNAPSHOT) {
  console.log(memory.load(process.env.SNAPSHOT) > 0 ? "True" : "False", asked(memory));
  try { memory.load("hello"); } catch (e) { console.log(e.message); }
} else {
  console.log(asked(memory));
  spawnSync(process.execPath, process.execArgv, { env: { ...process.env, SNAPSHOT: memory.save() }, stdio: "inherit" });
}
"""),
}
AGAIN = "a\nTrue b\nThis is no snapshot of daruma's memory, or one of another form.\n"

# Memory that grows from session to session would be seen: 3,000 of them that fail and recover.
LEAKS = {
    "python": ([sys.executable, "-c"], """
import sys; sys.path.insert(0, "bindings/python")
import daruma, resource
memory, options = daruma.Memory(), {"dialect": "openai", "targets": [{"name": "a", "model": "m"}, {"name": "b", "model": "m"}]}
body = b'{"model":"m","messages":[{"role":"user","content":"' + b"x" * 20000 + b'"}]}'
def one():
    with memory.session(options, body) as s:
        for way in ("reset", "whole"):
            call = [a.call for a in s if a.kind == daruma.SEND][-1]
            if way == "reset": s.failed(call, "reset")
            else:
                s.head(call, 200, [("content-type", "application/json")])
                s.bytes(call, b'{"id":"1","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}')
                s.end(call)
        list(s)
        assert s.outcome == "recovered", s.outcome
for i in range(500): one()
was = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for i in range(3000): one()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - was < 4096)
"""),
    "node": ([NODE, "--expose-gc", "--input-type=module", "-e"], """
const { Memory, SEND } = await import(process.cwd() + "/bindings/node/daruma.mjs");
const memory = new Memory(), options = { dialect: "openai", targets: [{ name: "a", model: "m" }, { name: "b", model: "m" }] };
const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "x".repeat(20000) }] });
const answer = Buffer.from(JSON.stringify({ id: "1", choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }] }));
function one() {
  const s = memory.session(options, body), sent = () => [...s].filter((a) => a.kind === SEND).at(-1).call;
  s.failed(sent(), "reset");
  const call = sent();
  s.head(call, 200, [["content-type", "application/json"]]);
  s.bytes(call, answer);
  s.end(call);
  [...s];
  if (s.outcome !== "recovered") throw new Error(s.outcome);
  s.close();
}
for (let i = 0; i < 1500; i++) one();
gc(); const was = process.memoryUsage().rss;
for (let i = 0; i < 3000; i++) one();
gc(); console.log(process.memoryUsage().rss - was < 24 << 20 ? "True" : `grew by ${process.memoryUsage().rss - was}`);
"""),
}


def prints(binding, name, command, script, wanted):
    r = subprocess.run([*command, script], capture_output=True, text=True, cwd=ROOT, timeout=120)
    told(r.stdout == wanted, f"{binding}: {name}", f"exit {r.returncode}\n{r.stdout}\n{r.stderr}")


def main():
    print(f"1..{len(EXAMPLES) * (2 * len(FAULTS) + 5)}")
    for binding in EXAMPLES:
        for fault in FAULTS:
            for stream in (False, True):
                recovers(binding, fault, stream)
        goes_elsewhere(binding)
        explains(binding)
        prints(binding, "mistakes are told in words", *MISTAKES[binding], SAID % {"python": "session", "node": "memory"}[binding])
        prints(binding, "what one process learns another one knows", *KEPT[binding], AGAIN)
        prints(binding, "memory does not grow from session to session", *LEAKS[binding], "True\n")
    sys.exit(1 if failed else 0)


main()
