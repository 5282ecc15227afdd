// MCP servers of `daruma run`: two real ones from npm, and one that dies, hangs and writes what it should not. What took effect is
// counted by the server, not by daruma.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { sleep } from "./pair.mjs";
import { run } from "./run_agent.mjs";
import { asked, body, calls, results, script } from "./run_tools.mjs";
import { wire } from "./wire.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const real = (name) => `${process.execPath} ${join(here, "node_modules/@modelcontextprotocol", name, "dist/index.js")}`;
const odd = (root, how = "") => ["--mcp", `odd=${process.execPath} ${join(here, "mcp_server.mjs")} ${root} ${how}`];
const lines = (root, name) => (existsSync(join(root, name)) ? readFileSync(join(root, name), "utf8").trim().split("\n") : []);

const holds = (name, s) =>
  wire.push({
    limit: 60000,
    ...s,
    name: `run: mcp: ${name}`,
    async run(pair) {
      const root = mkdtempSync(join(tmpdir(), "daruma-mcp-"));
      try {
        await s.run(pair, root);
      } finally {
        rmSync(root, { recursive: true });
      }
    },
  });

// Carries out the calls, and gives what the model saw of each.
async function go(pair, root, args, ...list) {
  await script(pair, calls(...list));
  const before = await asked(pair);
  const r = await run(pair, "openai", root, ["--yes", ...args]).over;
  return { r, seen: await results(pair, before.length) };
}

holds("server-everything from npm: text, numbers, pictures, structure, links, resources", {
  async run(pair, root) {
    const { r, seen } = await go(
      pair, root, ["--mcp", `all=${real("server-everything")}`],
      ["all_echo", { message: "äöü \"quoted\"" }],
      ["all_get-sum", { a: 2, b: 40 }],
      ["all_get-tiny-image", {}],
      ["all_get-structured-content", { location: "Chicago" }],
      ["all_get-resource-links", { count: 2 }],
      ["all_get-resource-reference", { resourceType: "Text", resourceId: 1 }],
      ["all_trigger-long-running-operation", { duration: 1, steps: 3 }],
    );
    assert.equal(r.code, 0, r.out + r.err);
    assert.match(seen[0], /äöü "quoted"/);
    assert.match(seen[1], /42/);
    assert.match(seen[2], /\[image, image\/png, \d+ bytes, not shown\]/);
    assert.match(seen[3], /temperature/);
    assert.match(seen[4], /\[link to demo:[^]*\[link to demo:/);
    assert.match(seen[5], /\[resource demo:[^]*\]\n/);
    assert.match(seen[6], /completed/i);
    assert.ok(r.lines.some((l) => l.event === "mcp_started" && l.server === "all" && l.tools >= 10));
    const first = await body(pair, (await asked(pair))[0]);
    assert.match(JSON.stringify(first.messages[0]), /Everything Server/, "what the server says about its tools is told");
    assert.ok(first.tools.some((t) => (t.function ?? t).name === "all_echo"));
  },
});

holds("server-filesystem from npm: files are written, read and not found", {
  async run(pair, root) {
    const { r, seen } = await go(
      pair, root, ["--mcp", `disk=${real("server-filesystem")} "${root}"`],
      ["disk_write_file", { path: join(root, "new.txt"), content: "written by a server" }],
      ["disk_read_text_file", { path: join(root, "new.txt") }],
      ["disk_read_text_file", { path: join(root, "none.txt") }],
      ["disk_read_text_file", { path: "/etc/passwd" }],
    );
    assert.equal(r.code, 0, r.out + r.err);
    assert.equal(readFileSync(join(root, "new.txt"), "utf8"), "written by a server");
    assert.match(seen[1], /written by a server/);
    assert.match(seen[2], /ENOENT/);
    assert.match(seen[3], /denied/i);
    const failed = r.lines.filter((l) => l.event === "tool_failed");
    assert.deepEqual(failed.map((l) => l.kind), ["not_found", "permission"], r.out);
  },
});

holds("content of every kind, halves of lines, logs and batches are read; errors are failures", {
  async run(pair, root) {
    const { r, seen } = await go(pair, root, odd(root, "noise"), ...["odd_parts", "odd_halves", "odd_logs", "odd_batch", "odd_asks", "odd_structured", "odd_nothing", "odd_refuse", "odd_fails", "odd_large"].map((t) => [t, {}]));
    assert.equal(r.code, 0, r.out + r.err);
    const [parts, halves, logs, batch, asks, structured, nothing, refuse, fails, large] = seen;
    assert.equal(parts, 'one\n[image, image/png, 3 bytes, not shown]\n[audio, audio/wav, 6 bytes, not shown]\n[resource file:///a]\nin it\n[resource file:///b, a/b, 3 bytes, not shown]\n[link to file:///c: c, see there]\n{"type":"newer","x":1}');
    assert.equal(halves, "ä whole line");
    assert.equal(logs, "behind the noise");
    assert.equal(batch, "in a batch");
    assert.equal(asks, "asked");
    assert.equal(structured, '{"a":1}');
    assert.match(nothing, /gave nothing/);
    assert.match(refuse, /validation[^]*`x` is missing/);
    assert.match(fails, /not_found[^]*no such record/);
    assert.match(large, /^y{65536}\n\[\.\.\. 5177344 more bytes were left out\]$/);
    assert.equal(lines(root, "lives").length, 1);
    assert.equal(r.lines.filter((l) => l.event === "mcp_noise").length, 1, "noise is told once");
    assert.ok(lines(root, "heard").includes("answer -32601"), "what we do not offer is refused");
    assert.equal(lines(root, "heard").filter((l) => l === "answer").length, 1, "a ping is answered");
    assert.ok(lines(root, "heard").includes("end of input"), "it was asked to end before it was killed");
  },
});

holds("structured content is held against the schema that its tool declares (P-T33)", {
  async run(pair, root) {
    const { r, seen } = await go(pair, root, odd(root), ["odd_shaped", { right: true }], ["odd_shaped", {}], ["odd_shapeless", {}]);
    assert.equal(r.code, 0, r.out + r.err);
    assert.equal(seen[0], "it is cold");
    assert.match(seen[1], /validation[^]*returned data that did not validate: [^]*degrees/);
    assert.equal(seen[2], "no structure, as some servers do");
    assert.deepEqual(r.lines.filter((l) => l.event === "tool_failed").map((l) => [l.tool, l.kind]), [["odd.shaped", "validation"]]);
    const whole = await go(pair, root, [...odd(root), "--profile", "swarm"], ["odd_shaped", {}]);
    assert.match(whole.seen[0], /returned data[^]*it is cold/, "what it said is told, too");
    const acted = await go(pair, root, odd(root), ["odd_shaped_put", {}]);
    assert.deepEqual(lines(root, "effects"), ["shaped_put"], "it was done twice");
    assert.match(acted.seen[0], /Look before you make it again/, "it may have acted, and nobody says so");
  },
});

holds("a server that dies is started again; what had an effect is not repeated, and the model is told", {
  async run(pair, root) {
    const { r, seen } = await go(pair, root, odd(root), ["odd_add_die", {}], ["odd_look", {}], ["odd_put_die_once", {}], ["odd_add", {}]);
    assert.equal(r.code, 0, r.out + r.err);
    assert.match(seen[0], /whether it took effect is unknown/);
    assert.match(seen[1], /^add_die\n$/);
    assert.equal(seen[2], "put at last", "an idempotent call is repeated");
    assert.deepEqual(lines(root, "effects"), ["add_die", "put_die_once", "put_die_once", "add"]);
    assert.equal(lines(root, "lives").length, 3);
    const died = r.lines.filter((l) => l.event === "mcp_died");
    assert.deepEqual(died.map((l) => l.reason), ["it ended with exit code 9", "it was ended by signal 9"]);
    assert.equal(r.lines.filter((l) => l.event === "mcp_started").length, 3);
  },
});

holds("a server that dies again and again is given up, and its calls fail at once", {
  async run(pair, root) {
    const { r, seen } = await go(pair, root, odd(root), ["odd_look_die", {}], ["odd_add", {}], ["fs_list", {}]);
    assert.match(seen[0], /network[^]*CONNECTION_LOST/);
    assert.equal(lines(root, "lives").length, 4, "a pure call is tried as often as the policy says");
    assert.equal(seen[1], "added");
    assert.equal(r.code, 0, r.out);
    rmSync(join(root, "effects"));
    const worse = await go(pair, root, odd(root), ["odd_look_die", { a: 1 }], ["odd_look_die", { a: 2 }], ["odd_add", {}]);
    assert.ok(worse.seen.some((s) => /SERVER_GONE|not started again/.test(s)), worse.seen.join("\n"));
    assert.equal(lines(root, "lives").length, 4 + 4, "1 life and 3 restarts");
    assert.deepEqual(lines(root, "effects"), [], "no server is there to carry it out");
  },
});

holds("a line that is too long ends its call, not the server", {
  async run(pair, root) {
    const { r, seen } = await go(pair, root, odd(root), ["odd_huge", {}], ["odd_add", {}]);
    assert.equal(r.code, 0, r.out.slice(0, 3000) + r.err);
    assert.match(seen[0], /too large to be read/);
    assert.equal(seen[1], "added");
    assert.deepEqual(lines(root, "effects"), ["huge", "add"]);
    assert.equal(lines(root, "lives").length, 1);
  },
});

holds("a list of tools that changes is read again; what is gone is refused", {
  async run(pair, root) {
    const { r, seen } = await go(pair, root, odd(root), ["odd_nothing", {}], ["odd_change", {}], ["odd_nothing", { x: 1 }], ["odd_add", {}]);
    assert.equal(r.code, 0, r.out + r.err);
    assert.equal(seen[1], "changed");
    assert.match(seen[2], /not offered by its server any more/);
    assert.equal(seen[3], "added");
    assert.ok(r.lines.some((l) => l.event === "mcp_changed"));
    const after = await go(pair, root, odd(root), ["odd_change_refuse", {}], ["odd_add", {}]);
    assert.equal(after.seen[1], "added", "a list that cannot be read takes nothing away");
  },
});

holds("a list of tools that changes whenever it is read holds nothing up", {
  async run(pair, root) {
    const { r, seen } = await go(pair, root, odd(root, "restless"), ["odd_add", {}], ["odd_put_die_once", {}], ["odd_look", {}], ...Array(6).fill(["odd_halves", {}]));
    assert.equal(r.code, 0, r.out + r.err);
    assert.deepEqual(seen.slice(0, 2), ["added", "put at last"], "a call that waited for the next life is sent");
    assert.deepEqual(lines(root, "effects"), ["add", "put_die_once", "put_die_once"]);
    assert.deepEqual(r.lines.filter((l) => /^mcp_/.test(l.event)).map((l) => l.event), ["mcp_started", "mcp_died", "mcp_started"]);
    const asked = lines(root, "heard").filter((l) => l === "tools/list").length;
    assert.ok(asked <= 2 * 16 * 8, `its list was asked for ${asked} times`); // two lives, 16 lists, pages of 5 tools
  },
});

holds("a server that says behind whatever it answers that its list has changed is left alone after a while", {
  async run(pair, root) {
    const { r, seen } = await go(pair, root, odd(root, "chatty"), ["odd_add", {}], ...Array(8).fill(["odd_halves", {}]), ["odd_look", {}]);
    assert.equal(r.code, 0, r.out + r.err);
    assert.equal(seen[0], "added");
    assert.equal(lines(root, "lives").length, 1);
    const asked = lines(root, "heard").filter((l) => l === "tools/list").length;
    assert.ok(asked <= 16 * 8, `its list was asked for ${asked} times`);
  },
});

holds("effects are asked about first, but for what is only read; names are such as providers take", {
  async run(pair, root) {
    const name = "odd_odd_name_with_signs_and_more_than_sixty-four_letters_";
    await script(pair, calls(["odd_add", {}], ["odd_put", {}], ["odd_liar", {}], ["odd_look", {}]));
    const r = await run(pair, "openai", root, odd(root)).over;
    assert.deepEqual(lines(root, "effects"), []);
    assert.equal(r.lines.filter((l) => l.event === "person_answered" && l.answer === "expired").length, 3);
    const names = (await body(pair, (await asked(pair))[0])).tools.map((t) => (t.function ?? t).name);
    assert.ok(names.every((n) => /^[a-zA-Z0-9_-]{1,64}$/.test(n)), names.join(" "));
    assert.equal(new Set(names).size, names.length, "no name is there twice");
    const twins = await go(pair, root, odd(root), ["odd_twin_one", {}], ["odd_twin_one_2", {}]);
    assert.deepEqual(twins.seen, ["with a dot", "with a line"]);
    const odd1 = names.find((n) => n.startsWith(name.slice(0, 50)));
    const again = await go(pair, root, odd(root), [odd1, {}]);
    assert.equal(again.seen[0], "odd");
  },
});

holds("an interrupt while servers start ends them, and leaves no run behind", {
  async run(pair, root) {
    const state = join(root, "state");
    for (const signal of ["SIGINT", "SIGTERM"]) {
      rmSync(join(root, "lives"), { force: true });
      const r = run(pair, "openai", root, [...odd(root, "stubborn"), "--state", state]);
      for (let i = 0; i < 400 && !lines(root, "lives").length; i++) await sleep(25);
      r.child.kill(signal);
      const { code, err } = await r.over;
      assert.equal(code, 130, err);
      assert.deepEqual(readdirSync(state), [], "`--resume last` would find it");
      assert.throws(() => process.kill(Number(lines(root, "lives")[0]), 0), "its server runs on");
    }
  },
});

holds("a server that does not start says why, and nothing is begun", {
  async run(pair, root) {
    for (const [args, says, times] of [
      [odd(root, "die"), /MCP server `odd` did not start: it ended with exit code 7; it said last: cannot find my configuration/, 4],
      [["--mcp", "none=/no/such/program x"], /MCP server `none` did not start: \/no\/such\/program could not be started: no such file/, 0],
      [["--mcp", "nothing"], /--mcp wants NAME=COMMAND/, 0],
      [["--mcp", 'a=x "half'], /--mcp wants NAME=COMMAND/, 0],
    ]) {
      rmSync(join(root, "lives"), { force: true });
      const r = await run(pair, "openai", root, args).over;
      assert.equal(r.code, 2, r.out + r.err);
      assert.match(r.err, says);
      assert.equal(lines(root, "lives").length, times);
    }
    rmSync(join(root, "lives"), { force: true });
    const { r } = await go(pair, root, odd(root, "die1"), ["odd_add", {}]);
    assert.equal(r.code, 0, r.out + r.err);
    assert.equal(lines(root, "lives").length, 2, "one that only stumbled is started again");
  },
});
