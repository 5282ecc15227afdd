// Failed tool results as a model sees them when the file says `tool_errors: compact`: in each dialect.
import assert from "node:assert/strict";
import { bodyOf, dialects, requests, runAgent, script } from "./watch_kit.mjs";
import { holds } from "./wire.mjs";

const frames = "    at open (/srv/app/node_modules/store/lib/open.js:12:7)\n".repeat(30);
const places = ["alpha", "bravo", "delta", "gamma", "omega"];
const targets = { m: "main", c: "claude", g: "google" };

async function run(pair, d, stream, failure = (path) => `!Error: ENOENT: no such file or directory, open '${path}'\n${frames}`) {
  const model = `${d.letter}-errors`, lap = [...places, "alpha"].map((place) => ({ call: "deploy", arguments: { path: `srv/${place}` } }));
  await script(pair, { [model]: { loop: { lap, until: { text: "^deployed alpha" }, then: [{ text: "It is out." }] } } });
  const deploy = ({ path }, n) => (n < places.length ? failure(path, n) : "deployed alpha");
  const r = await runAgent({ base: pair.base }, d, { model, task: "Deploy it.", tools: { deploy }, stream, steps: 9 });
  assert.equal(r.text, "It is out.");
  const got = await requests(pair), body = await bodyOf(pair, got.at(-1).number);
  return { sent: r.sent.at(-1), body, events: pair.events() };
}

const config = (tool_errors) => (c) => {
  c.timeouts.first_byte = c.timeouts.idle = "10s";
  c.tool_errors = tool_errors;
  c.models.push(...Object.entries(targets).map(([letter, at]) => ({ name: `${letter}-errors`, targets: [`${at}/${letter}-errors`] })));
};

for (const [name, d] of Object.entries(dialects))
  for (const stream of [false, true]) {
    const how = `${name}, ${stream ? "streams" : "plain"}`;
    holds(`failed results are shown compactly, and what was resolved as a word: ${how}`, {
      limit: 60000,
      config: config("compact"),
      run: async (pair) => {
        const { sent, body, events } = await run(pair, d, stream);
        assert.equal(sent.split("node_modules").length - 1, 150);
        assert.equal(body.split("node_modules").length - 1, 0, "frames of a stack are still there");
        assert.equal(body.split("<error>").length - 1, 3, "the newest failures are shown, as many as the policy says");
        assert.match(body, /was reached later/);
        assert.match(body, /deployed alpha/);
        assert.ok(body.length < sent.length / 2);
        assert.equal(d.items(JSON.parse(body)).length, d.items(JSON.parse(sent)).length, "a message came or went");
        assert.ok(events.some((e) => e.event === "tool_errors_compacted" && e.steps_compressed === 5));
        assert.equal(events.filter((e) => e.event === "tool_failed" && e.tool_kind === "not_found").length, 5);
      },
    });
  }

for (const [name, d] of Object.entries(dialects))
  holds(`what a tool says to do about its failure is shown compactly, too: ${name}`, {
    limit: 60000,
    config: config("compact"),
    run: async (pair) => {
      const failure = (path, n) => `!${JSON.stringify({ error: `ENOENT: no such file or directory, open '${path}'`, stack: frames, suggestions: [`way-${n}/${path}`], next_step: `list number ${n}` })}`;
      const { body } = await run(pair, d, false, failure);
      assert.equal(body.split("node_modules").length - 1, 0, "frames of a stack are still there");
      const open = places.map((p, n) => [p, n]).slice(1); // what the first was for was reached later
      for (const [p, n] of open) assert.ok(body.includes(`way-${n}/srv/${p}`) && body.includes(`list number ${n}`), `the way out of ${p} is gone: ${body}`);
    },
  });

holds("failed results go through as they came, when nobody says otherwise", {
  limit: 60000,
  config: config("full"),
  run: async (pair) => {
    const { sent, body } = await run(pair, dialects.openai, false);
    assert.equal(body, sent);
  },
});

for (const [name, d] of Object.entries(dialects))
  holds(`a notice about a path that is not found names the one that tools have printed: ${name}`, {
    limit: 60000,
    config: (c) => (config("full")(c), (c.watch = "guide")),
    run: async (pair) => {
      const model = `${d.letter}-errors`, read = { call: "read", arguments: { path: "progress-tracker.ts" } };
      for (const [printed, path, opened = "progress-tracker.ts"] of [
        ["src/executor/progress-tracker.ts:50: class Tracker", "src/executor/progress-tracker.ts"],
        ["src/a/progress-tracker.ts:1\nsrc/b/progress-tracker.ts:1", ""],
        ["nothing was found", "", "work/progress-tracker.ts"], // the error of the call itself names it: that is what is not there
      ]) {
        await script(pair, { [model]: { answers: [{ call: "search", arguments: { text: "Tracker" } }], loop: { lap: [read], until: { text: "take it if that is the one" }, then: [{ text: "It is there." }] } } });
        const tools = { search: () => printed, read: () => "!Error: ENOENT: no such file or directory, open '" + opened + "'" };
        const r = await runAgent({ base: pair.base }, d, { model, task: `Read the tracker: ${printed.length}`, tools, steps: 8 });
        const last = await bodyOf(pair, (await requests(pair)).at(-1).number);
        assert.ok(pair.events().some((e) => e.event === "nudge"), last);
        assert.equal(last.includes("A tool printed the path `"), path !== "");
        if (path) assert.ok(last.includes(`A tool printed the path \`${path}\`: take it if that is the one.]`), last);
        assert.equal(r.text === "It is there.", path !== "");
      }
    },
  });

for (const [name, d] of Object.entries(dialects))
  holds(`a notice about a failure says what helped the same client against it before: ${name}`, {
    limit: 60000,
    config: (c) => (config("full")(c), (c.watch = "guide")),
    run: async (pair) => {
      const model = `${d.letter}-errors`, wrong = { call: "query", arguments: { table: "orders" } }, right = { call: "query", arguments: { table: "shop.orders" } };
      const tools = { query: ({ table }) => (table === "shop.orders" ? "7 rows" : `!Error: the relation '${table}' does not exist`) };
      const agent = (task, key) => runAgent({ base: pair.base, key }, d, { model, task, tools, steps: 8 });
      for (let i = 0; i < 3; i++) {
        await script(pair, { [model]: { answers: [wrong, right, { text: "7" }] } });
        await agent(`Count the orders of day ${i}.`, "sk-client-a");
      }
      for (const [key, helped] of [["sk-client-a", true], ["sk-client-b", false]]) {
        await script(pair, { [model]: { loop: { lap: [wrong], until: { text: "it helped before to call" }, then: [{ text: "It helps again." }] } } });
        const r = await agent(`Count them all for ${key}.`, key);
        const last = await bodyOf(pair, (await requests(pair)).at(-1).number);
        assert.ok(pair.events().some((e) => e.event === "nudge"), last);
        assert.equal(r.text === "It helps again.", helped, last);
        assert.equal(last.includes("shop.orders"), helped, last);
      }
    },
  });

// The newest failure that nobody has overcome is one of another call.
holds("a notice about a circle of calls that work says nothing of what helped against another failure", {
  limit: 60000,
  config: (c) => (config("full")(c), (c.watch = "guide")),
  run: async (pair) => {
    const d = dialects.openai, model = `${d.letter}-errors`, wrong = { call: "query", arguments: { table: "orders" } }, right = { call: "query", arguments: { table: "shop.orders", of: "`all`" } }, list = { call: "list", arguments: { of: "tables" } };
    const tools = { query: ({ table }) => (table === "orders" ? "!Error: the relation 'orders' does not exist" : "7 rows"), list: () => "shop.orders" };
    const agent = (task) => runAgent({ base: pair.base, key: "sk-client-a" }, d, { model, task, tools, steps: 8 });
    for (let i = 0; i < 3; i++) {
      await script(pair, { [model]: { answers: [wrong, right, { text: "7" }] } });
      await agent(`Count the orders of day ${i}.`);
    }
    for (const [circle, helped] of [[list, false], [wrong, true]]) {
      await script(pair, { [model]: { answers: [wrong], loop: { lap: [circle], until: { text: "daruma" }, then: [{ text: "It was told." }] } } });
      await agent(`Count them all: ${helped}`);
      const last = await bodyOf(pair, (await requests(pair)).at(-1).number);
      assert.ok(pair.events().some((e) => e.event === "nudge"), last);
      assert.equal(last.includes("it helped before to call"), helped, last);
      if (helped) assert.ok(last.includes("\\\"of\\\":\\\"'all'\\\"}`"), last);
    }
  },
});
