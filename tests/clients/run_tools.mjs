// The tools of `daruma run` beyond files: the web and the shell, with a scripted model, real servers and real processes.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { model, run } from "./run_agent.mjs";
import { sleep } from "./pair.mjs";
import { wire } from "./wire.mjs";

const holds = (name, s) =>
  wire.push({
    limit: 60000,
    ...s,
    name: `run: ${name}`,
    async run(pair) {
      const root = mkdtempSync(join(tmpdir(), "daruma-tools-"));
      try {
        await s.run(pair, root);
      } finally {
        rmSync(root, { recursive: true });
      }
    },
  });
export const calls = (...list) => model(`\n${list.map(([tool, args]) => `      - { call: ${tool}, arguments: ${JSON.stringify(args)} }\n`).join("")}      - { text: "Done." }\n`);

export const asked = async (pair) => (await (await fetch(`${pair.chaos}/chaos/requests`)).json()).requests;
export const body = async (pair, { number }) => JSON.parse(await (await fetch(`${pair.chaos}/chaos/requests/${number}`)).text());
// What the model was shown of each call, in their order, when it saw it first; of the requests behind the first `from`.
export async function results(pair, from = 0) {
  const seen = [];
  for (const q of (await asked(pair)).slice(from)) {
    const tools = (await body(pair, q)).messages.filter((m) => m.role === "tool");
    for (const m of tools.slice(seen.length)) seen.push(typeof m.content === "string" ? m.content : m.content.map((c) => c.text).join(""));
  }
  return seen;
}
const alive = (pid) => {
  try {
    return process.kill(pid, 0), !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
};
async function gone(pid, ms = 4000) {
  for (let t = 0; t < ms && alive(pid); t += 50) await sleep(50);
  return !alive(pid);
}
async function pidIn(file) {
  for (let i = 0; i < 200 && !(existsSync(file) && readFileSync(file, "utf8").trim()); i++) await sleep(25);
  return Number(readFileSync(file, "utf8"));
}

holds("a second interrupt ends at once what takes no notice of the first", {
  async run(pair, root) {
    const file = join(root, "pid");
    for (const signal of ["SIGINT", "SIGTERM"]) {
      rmSync(file, { force: true });
      await script(pair, calls(["shell_run", { command: `trap '' TERM INT HUP; sleep 60 & echo $! >${file}; wait` }]));
      const r = run(pair, "openai", root, ["--shell", "--yes"]);
      const pid = await pidIn(file);
      r.child.kill(signal);
      for (let i = 0; i < 400 && !r.out.includes('"status":"cancelled"'); i++) await sleep(5); // it heard the first one
      assert.ok(alive(pid));
      r.child.kill(signal);
      assert.equal((await r.over).code, null, "it was ended by the signal");
      assert.ok(await gone(pid), "what the command started runs on");
    }
  },
});

/* ---- http.get ---- */

async function site(answer) {
  const seen = [];
  const server = http.createServer((q, res) => (seen.push(q), answer(q, res, seen.length)));
  await new Promise((ok) => server.listen(0, "127.0.0.1", ok));
  return { seen, url: `http://127.0.0.1:${server.address().port}`, close: () => (server.closeAllConnections(), server.close()) };
}
// The script needs the address of the site: so it is posted when that is known.
export const script = async (pair, text) => assert.equal((await fetch(`${pair.chaos}/chaos/script`, { method: "POST", body: text })).status, 200);

holds("http.get reads a page, follows redirects, and goes through a long one in parts", {
  async run(pair, root) {
    const long = "äöü-".repeat(20000);
    const s = await site((q, res) => {
      if (q.url === "/a/b?x=1") return res.writeHead(302, { location: "../c" }).end();
      if (q.url === "/c") return res.writeHead(308, { location: "//" + q.headers.host + "/d/d%20e?y" }).end();
      if (q.url === "/d/d%20e?y") return res.writeHead(302, { location: "there" }).end(); // beside where the last one led
      if (q.url === "/d/there") return res.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end("<p>here it is</p>");
      if (q.url === "/round") return res.writeHead(301, { location: "/round" }).end();
      if (q.url === "/long") return res.writeHead(200, { "content-type": "text/plain" }).end(long);
      if (q.url === "/picture") return res.writeHead(200, { "content-type": "image/png" }).end(Buffer.from([137, 80, 78, 71, 0]));
      if (q.url === "/bytes") return res.writeHead(200).end(Buffer.from("ab\0cd"));
      if (q.url === "/zipped") return res.writeHead(200, { "content-type": "text/plain", "content-encoding": "gzip" }).end("xx");
      return res.writeHead(200, { "content-type": "application/json" }).end('{"empty": false}');
    });
    try {
      await script(pair, calls(...["/a/b?x=1#part", "/round", "/long", "/picture", "/bytes", "/zipped", "/ü{}"].map((u) => ["http_get", { url: s.url + u }]), ["http_get", { url: s.url + "/long", from: 49150 }], ["http_get", { url: "ftp://x" }]));
      const r = await run(pair, "openai", root, ["--allow-local"]).over;
      assert.equal(r.code, 0, r.out + r.err);
      const [page, round, one, picture, bytes, zipped, odd, two, ftp] = await results(pair);
      assert.equal(page, "<p>here it is</p>");
      assert.match(round, /one redirect too many/);
      assert.match(one, /\[bytes 0 to 4915\d of 140000; go on with from=4915\d\]$/);
      assert.ok(!one.includes("�") && one.startsWith("äöü-"), "a part ends between two characters");
      assert.match(two, /\[bytes 49150 to 9830\d of 140000; go on with from=9830\d\]$/);
      for (const bad of [picture, bytes, zipped]) assert.match(bad, /NOT_TEXT/);
      assert.match(picture, /image\/png/);
      assert.equal(odd, '{"empty": false}');
      assert.ok(s.seen.some((q) => q.url === "/%C3%BC%7B%7D"));
      assert.match(ftp, /BAD_URL[^]*https:\/\/example\.org/);
      assert.equal(s.seen[0].headers["accept-encoding"], "identity");
      assert.match(s.seen[0].headers["user-agent"], /^daruma\//);
      assert.equal(s.seen[0].headers.authorization, undefined);
    } finally {
      s.close();
    }
  },
});

holds("http.get: errors of the web are failures that the judge reads; what may pass is tried again", {
  async run(pair, root) {
    const s = await site((q, res, n) => {
      if (q.url === "/missing") return res.writeHead(404, { "content-type": "text/plain" }).end("no such page");
      if (q.url === "/busy" && n < 4) return res.writeHead(503, { "retry-after": "0" }).end("come back later");
      return res.writeHead(200, { "content-type": "text/plain" }).end("at last");
    });
    try {
      await script(pair, calls(["http_get", { url: s.url + "/missing" }], ["http_get", { url: s.url + "/busy" }], ["http_get", { url: "http://127.0.0.1:1/" }]));
      const r = await run(pair, "openai", root, ["--allow-local"]).over;
      assert.equal(r.code, 0, r.out + r.err);
      const failed = r.lines.filter((l) => l.event === "tool_failed");
      assert.equal(failed[0].kind, "not_found", r.out);
      assert.match(failed[0].message, /404/);
      const [missing, busy, refused] = await results(pair);
      assert.match(missing, /404/);
      assert.equal(busy, "at last");
      assert.match(refused, /network/);
      assert.ok(r.lines.some((l) => l.event === "retry_scheduled"));
    } finally {
      s.close();
    }
  },
});

holds("http.get reads nothing of this machine or its network unless it is allowed", {
  async run(pair, root) {
    const s = await site((q, res) => res.end("a secret of this machine"));
    const port = new URL(s.url).port;
    try {
      const places = ["127.0.0.1", "localhost", "x.localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433", "127.1", "0x7f000001", "169.254.169.254", "10.0.0.1", "192.168.1.1", "[fe80::1]", "[fd00::1]", "[64:ff9b::7f00:1]", "100.64.0.1"];
      for (const p of places) {
        await script(pair, calls(["http_get", { url: `http://${p}:${port}/` }]));
        const before = (await asked(pair)).length;
        const r = await run(pair, "openai", root, []).over;
        assert.equal(r.code, 0, r.out);
        assert.match(r.lines.find((l) => l.event === "tool_failed").message, /ADDRESS_DENIED/, p);
        assert.doesNotMatch((await results(pair, before))[0], /a secret of this machine/);
      }
      assert.equal(s.seen.length, 0);
    } finally {
      s.close();
    }
  },
});

/* ---- shell.run ---- */

holds("shell.run is not there unless it is asked for, and asks first", {
  async run(pair, root) {
    await script(pair, calls(["shell_run", { command: "touch made" }]));
    const off = await run(pair, "openai", root, ["--yes"]).over;
    assert.equal(existsSync(join(root, "made")), false, off.out);
    await script(pair, calls(["shell_run", { command: "touch made" }]));
    const asked = await run(pair, "openai", root, ["--shell"]).over;
    assert.equal(existsSync(join(root, "made")), false);
    assert.ok(asked.lines.some((l) => l.event === "person_answered" && l.answer === "expired"));
    await script(pair, calls(["shell_run", { command: "touch made" }]));
    await run(pair, "openai", root, ["--shell", "--yes"]).over;
    assert.equal(existsSync(join(root, "made")), true);
  },
});

holds("shell.run gives output in its order, exit code and signal; no key is in its environment, nothing on its input", {
  async run(pair, root) {
    await script(
      pair,
      calls(
        ["shell_run", { command: "pwd; echo one; echo two >&2; echo three; cat; echo [$OPENAI_API_KEY$GEMINI_API_KEY]; env; tr '\\0' '\\n' </proc/$PPID/environ" }],
        ["shell_run", { command: "echo before; exit 3" }],
        ["shell_run", { command: "kill -9 $$" }],
        ["shell_run", { command: "true" }],
        ["shell_run", { command: "seq 1 40000; echo the end" }],
        ["shell_run", { command: "no-such-program-x" }],
        ["shell_run", { command: "printf 'a\\0b\\0'" }],
        ["shell_run", { command: "printf ELF; head -c 50000 /dev/zero" }],
      ),
    );
    const r = await run(pair, "openai", root, ["--shell", "--yes"]).over;
    const [plain, three, nine, none, long, missing, names, binary] = await results(pair);
    assert.match(plain, new RegExp(`${root.split("/").at(-1)}\none\ntwo\nthree\n\\[\\]\n`), plain);
    assert.match(plain, /OPENAI_API_KEY=x+\n/, "the environment of daruma can be read, but for its keys");
    assert.doesNotMatch(plain, /a8Kd93jSl20/);
    assert.match(three, /Exit code 3[^]*before/);
    assert.match(nine, /signal 9/);
    assert.match(none, /printed nothing; exit code 0/);
    assert.equal(names, "a\0b\0");
    assert.match(binary, /^ELF\0{1021}\n\[\.\.\. 48979 bytes were left out: they are no text \.\.\.\]\n$/);
    assert.match(long, /^1\n2\n[^]*\n\[\.\.\. \d+ bytes were left out \.\.\.\]\n[^]*\n39999\n40000\nthe end\n$/);
    assert.ok(long.length < 50000);
    assert.match(missing, /127[^]*did not find|not found/);
    assert.equal(r.code, 0, r.out);
  },
});

holds("shell.run: a command is not run again because one part of it could not connect", {
  async run(pair, root) {
    await script(pair, calls(["shell_run", { command: "echo x >>done; echo 'curl: (7) Failed to connect to localhost: Connection refused' >&2; exit 7" }]));
    const r = await run(pair, "openai", root, ["--shell", "--yes"]).over;
    assert.equal(readFileSync(join(root, "done"), "utf8"), "x\n", r.err);
  },
});

holds("shell.run: a command that takes too long is ended with all that it started, whatever it ignores", {
  async run(pair, root) {
    await script(pair, calls(["shell_run", { seconds: 1, command: "trap '' TERM; sh -c 'echo $$ >pid; exec sleep 1000' & echo begun; while :; do sleep 0.1; done" }], ["shell_run", { command: "sleep 1000 & echo $! >left; echo done" }]));
    const began = Date.now();
    const r = await run(pair, "openai", root, ["--shell", "--yes"]).over;
    assert.ok(Date.now() - began < 9000);
    const [late, left] = await results(pair);
    assert.match(late, /timeout/i);
    assert.match(late, /did not end within 1 s|1\.0 s/);
    assert.match(left, /done/);
    for (const f of ["pid", "left"]) assert.ok(await gone(await pidIn(join(root, f))), `${f} is alive`);
    assert.equal(r.code, 0, r.out);
  },
});

holds("an interrupt ends a command that is under way, with all that it started", {
  async run(pair, root) {
    await script(pair, calls(["shell_run", { command: "sleep 1000 & echo $! >pid; wait" }]));
    for (const signal of ["SIGINT", "SIGTERM"]) {
      rmSync(join(root, "pid"), { force: true });
      const r = run(pair, "openai", root, ["--shell", "--yes"]);
      const pid = await pidIn(join(root, "pid"));
      r.child.kill(signal);
      const end = await r.over;
      assert.equal(end.code, 130);
      assert.ok(await gone(pid), "what it started is alive");
      await script(pair, calls(["shell_run", { command: "sleep 1000 & echo $! >pid; wait" }]));
    }
  },
});

holds("a search that is under way does not hold an interrupt up", {
  async run(pair, root) {
    for (let i = 0; i < 300; i++) writeFileSync(join(root, `f${i}`), "x".repeat(1e6));
    await script(pair, calls(["fs_search", { text: "y" }]));
    const r = run(pair, "openai", root, []);
    while (!/tool_called/.test(r.out)) await sleep(10);
    const began = Date.now();
    r.child.kill("SIGINT");
    assert.equal((await r.over).code, 130);
    assert.ok(Date.now() - began < 500, `${Date.now() - began} ms`);
  },
});
