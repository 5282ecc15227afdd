// Several daruma that share a store: what one of them was refused nobody else asks for again, and a store that is slow,
// gone or full of somebody else's words costs nobody anything. The store is Redis or Valkey, of the machine.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { dialects, question, until } from "./net.mjs";
import { daruma, freePort, ownProvider, sleep } from "./pair.mjs";
import { holds } from "./wire.mjs";
import { json, refuses, wires } from "./wires.mjs";

const SERVER = ["/usr/bin/valkey-server", "/usr/bin/redis-server"].find(existsSync);
const d = dialects.openai;
const keyOf = (q) => q.headers.authorization;

class Store {
  static async begin(dir, more = []) {
    const s = new Store();
    s.port = await freePort();
    s.args = ["--port", String(s.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", dir, ...more];
    await s.back();
    return s;
  }
  async back() {
    this.child = spawn(SERVER, this.args, { stdio: "ignore" });
    await until("the store listens", () => new Promise((yes) => net.connect(this.port, "127.0.0.1").on("connect", function () { this.destroy(), yes(true); }).on("error", () => yes(false))));
  }
  async away() {
    const over = new Promise((yes) => this.child.once("exit", yes));
    this.child.kill("SIGKILL");
    await over;
  }
  // A command, and the first bytes of its answer.
  ask(...words) {
    return new Promise((yes, no) => {
      const c = net.connect(this.port, "127.0.0.1", () => c.write(`*${words.length}\r\n${words.map((w) => `$${Buffer.byteLength(w)}\r\n${w}\r\n`).join("")}`));
      c.on("data", (b) => (c.destroy(), yes(b.toString("latin1")))).on("error", no);
    });
  }
}

// One more daruma with the same configuration on a port of its own; a client of it is a pair with another address.
async function another(pair, change) {
  const port = await freePort(), at = join(pair.dir, `replica-${port}.yaml`), events = join(pair.dir, `replica-${port}.jsonl`);
  const c = JSON.parse(readFileSync(join(pair.dir, "daruma.yaml"), "utf8"));
  Object.assign(c, { listen: `127.0.0.1:${port}`, events: { file: events } });
  change?.(c);
  writeFileSync(at, JSON.stringify(c));
  writeFileSync(events, "");
  const child = spawn(daruma, ["serve", "--config", at, "--quiet"], { stdio: "ignore" });
  const over = new Promise((yes) => child.once("exit", yes));
  const base = `http://127.0.0.1:${port}`;
  await until("the replica answers", () => fetch(`${base}/health`).then((r) => r.ok, () => false));
  return {
    ...pair, base, port,
    events: () => readFileSync(events, "utf8").split("\n").slice(0, -1).map((l) => JSON.parse(l)),
    stop: async () => (child.kill("SIGTERM"), over),
  };
}

const told = (name, n = 1) => (p) => p.events().filter((e) => e.event === name).length >= n;
const ready = (...all) => until("the replicas share the store", () => all.every(told("store_ready")), 10000);

const ask = (pair, text, more = { logit_bias: { 1: 1 } }) => question(pair, d, { model: d.own, text, more });

// A scenario with a store and one more replica.
function shares(name, run, { server = [], url = (s) => `redis://127.0.0.1:${s.port}`, replica } = {}) {
  if (!SERVER) return;
  holds(`replicas: ${name}`, {
    async run(pair) {
      const store = await Store.begin(pair.dir, server);
      let other = null;
      try {
        await pair.again((c) => (c.store = url(store)));
        other = await another(pair, replica);
        await ready(pair, other);
        await run(pair, other, store);
      } finally {
        await other?.stop();
        if (store.child.exitCode === null && !store.child.signalCode) await store.away();
      }
    },
  });
}

shares("what one was refused is known to the other within 100 ms, and to one that comes later", async (pair, other) => {
  refuses(pair);
  assert.equal((await ask(pair, "one")).said, "seven eight");
  assert.equal(pair.own.seen.length, 3);
  await sleep(100);
  pair.own.seen = [];
  const r = await ask(other, "two");
  assert.equal(r.said, "seven eight", r.text);
  assert.ok(pair.own.seen.every((q) => keyOf(q) === keyOf(pair.own.seen[0])), "the key that is out of credit was asked again");
  await sleep(1500); // whatever is no health is told each second
  pair.own.seen = [];
  assert.equal((await ask(other, "three")).said, "seven eight");
  assert.equal(pair.own.seen.length, 1);
  const third = await another(pair);
  try {
    await ready(third);
    pair.own.seen = [];
    assert.equal((await ask(third, "four")).said, "seven eight");
    assert.equal(pair.own.seen.length, 1, "one that came later asked again");
  } finally {
    await third.stop();
  }
});

shares("a store that dies delays nobody, is told once, and what was learned meanwhile is told when it is back", async (pair, other, store) => {
  pair.own.answer = (q, res) => wires.openai.answer(res, "seven eight");
  await store.away();
  await until("store_lost is told", () => told("store_lost")(pair) && told("store_lost")(other), 15000);
  refuses(pair);
  const began = Date.now();
  assert.equal((await ask(pair, "one")).said, "seven eight");
  assert.ok(Date.now() - began < 1500);
  await sleep(2500);
  await store.back();
  await until("both are back", () => told("store_ready", 2)(pair) && told("store_ready", 2)(other), 20000);
  await sleep(1500);
  pair.own.seen = [];
  assert.equal((await ask(other, "two")).said, "seven eight");
  assert.equal(pair.own.seen.length, 1);
  for (const p of [pair, other]) assert.equal(p.events().filter((e) => e.event === "store_lost").length, 1);
});

shares("a store that says nothing any more delays nobody and is lost within 12 s", async (pair, other, store) => {
  store.child.kill("SIGSTOP");
  refuses(pair);
  try {
    for (let i = 0; i < 20; i++) {
      const began = Date.now();
      assert.equal((await ask(pair, `one ${i}`)).said, "seven eight");
      assert.ok(Date.now() - began < 1500);
    }
    await until("store_lost is told", () => told("store_lost")(pair), 12000);
    assert.match(pair.events().find((e) => e.event === "store_lost").reason, /does not answer/);
  } finally {
    store.child.kill("SIGCONT");
  }
});

shares("what all know is told no more, however much is asked", async (pair, other, store) => {
  refuses(pair);
  await ask(pair, "one");
  await ask(other, "two");
  await sleep(3500); // told, told again by who heard it
  let heard = "";
  const ear = net.connect(store.port, "127.0.0.1", () => ear.write("SUBSCRIBE daruma:news:0\r\n"));
  ear.on("data", (b) => (heard += b));
  try {
    for (let i = 0; i < 40; i++) assert.equal((await ask(i % 2 ? pair : other, `again ${i}`)).said, "seven eight");
    await sleep(1500);
    const said = heard.split("\r\nmessage\r\n").slice(1), lines = said.join("\n").split("\n").filter((l) => l.startsWith("{") && !l.includes("daruma_memory"));
    assert.match(heard, /subscribe/);
    assert.ok(!lines.some((l) => /"is":"(lesson|place|count)"/.test(l)), lines.join("\n"));
    assert.ok(said.length <= 6, `${said.length} messages:\n${lines.join("\n")}`); // notes on new conversations
  } finally {
    ear.destroy();
  }
});

shares("the words of somebody else in the store change nothing", async (pair, other, store) => {
  pair.own.answer = (q, res) => wires.openai.answer(res, "seven eight");
  const line = (o) => JSON.stringify(o);
  const head = line({ is: "daruma_memory", form: 1, wall: Math.floor(Date.now() / 1000) });
  const words = ["", "\n", "nonsense", "0123456789abcdef\n", `0123456789abcdef\n${head}\n{"is":"place","id":"xx"}\n{"is":\n[[[[\n`, `0123456789abcdef\n${head}\n${line({ is: "place", id: "00000000000000aa", cool_ms: -5, scope: "key", why: "quota" })}\n`, `${"f".repeat(16)}\n${head}\n${line({ is: "place", id: "00000000000000aa", cool_ms: 1e15, scope: "key", why: "quota" })}\n`, "\0".repeat(100000), head.repeat(5000)];
  for (const w of words) await store.ask("PUBLISH", "daruma:news:0", w);
  await store.ask("SET", "daruma:state", "nonsense\n{}\n");
  await store.ask("SET", "daruma:secret", "short");
  const third = await another(pair);
  try {
    await ready(third);
    for (const p of [pair, other, third]) assert.equal((await ask(p, "one", {})).said, "seven eight");
    assert.equal(pair.own.seen.length, 3);
  } finally {
    await third.stop();
  }
});

shares("a password is used and never told; a wrong one is told as what the store says", async (pair, other, store) => {
  refuses(pair);
  assert.equal((await ask(pair, "one")).said, "seven eight");
  await sleep(100);
  pair.own.seen = [];
  await ask(other, "two");
  assert.ok(pair.own.seen.every((q) => keyOf(q) === keyOf(pair.own.seen[0])));
  const wrong = await another(pair, (c) => (c.store = `redis://:sk-two-wrong@127.0.0.1:${store.port}/3`));
  try {
    await until("store_lost is told", () => told("store_lost")(wrong), 10000);
    const why = wrong.events().find((e) => e.event === "store_lost").reason;
    assert.match(why, /WRONGPASS|invalid|AUTH/i);
    assert.doesNotMatch(why, /sk-two/);
    assert.equal((await ask(wrong, "three")).said, "seven eight");
  } finally {
    await wrong.stop();
  }
}, { server: ["--requirepass", "sk-two-store"], url: (s) => `redis://:sk-two-store@127.0.0.1:${s.port}/3` });

shares("a store that does not know how to log in is told no password by anybody", async (pair) => {
  const odd = await Store.begin(pair.dir, ["--rename-command", "AUTH", ""]);
  const alone = await another(pair, (c) => (c.store = `redis://:sk-two-odd@127.0.0.1:${odd.port}`));
  try {
    await until("store_lost is told", () => told("store_lost")(alone), 10000);
    assert.doesNotMatch(alone.events().find((e) => e.event === "store_lost").reason, /sk-two/);
  } finally {
    await alone.stop();
    await odd.away();
  }
});

shares("a store that may not be written to is told once, and is heard all the same", async (pair, other, store) => {
  const copy = await Store.begin(pair.dir, ["--replicaof", "127.0.0.1", String(store.port)]);
  const reader = await another(pair, (c) => (c.store = `redis://127.0.0.1:${copy.port}`));
  try {
    await ready(reader);
    await until("store_refused is told", () => told("store_refused")(reader), 10000);
    refuses(pair);
    assert.equal((await ask(reader, "one")).said, "seven eight");
    await sleep(2500);
    for (const name of ["store_refused", "store_ready"]) assert.equal(reader.events().filter((e) => e.event === name).length, 1, name);
    assert.equal(reader.events().filter((e) => e.event === "store_lost").length, 0);
  } finally {
    await reader.stop();
    await copy.away();
  }
});

shares("who listens no longer is back when its connection was cut, and knows what was said meanwhile", async (pair, other, store) => {
  refuses(pair);
  await store.ask("CLIENT", "KILL", "TYPE", "pubsub");
  assert.equal((await ask(pair, "one")).said, "seven eight");
  await until("both are back", () => told("store_ready", 2)(pair) && told("store_ready", 2)(other), 10000);
  await sleep(2500);
  pair.own.seen = [];
  assert.equal((await ask(other, "two")).said, "seven eight");
  assert.equal(pair.own.seen.length, 1);
});

shares("one whose connection is cut alone learns what the others said meanwhile", async (pair, other, store) => {
  const listeners = async () => [...(await store.ask("CLIENT", "LIST", "TYPE", "pubsub")).matchAll(/\bid=(\d+)/g)].map((m) => m[1]);
  const before = await listeners(), third = await another(pair);
  try {
    await ready(third);
    const [its] = (await listeners()).filter((id) => !before.includes(id));
    refuses(pair);
    await store.ask("CLIENT", "KILL", "ID", its);
    assert.equal((await ask(pair, "one")).said, "seven eight");
    await until("it is back", () => told("store_ready", 2)(third), 10000);
    await sleep(3500);
    pair.own.seen = [];
    assert.equal((await ask(third, "two")).said, "seven eight");
    assert.equal(pair.own.seen.length, 1);
  } finally {
    await third.stop();
  }
});

shares("two fleets on two databases of one store know nothing of each other", async (pair, other, store) => {
  refuses(pair);
  const foreign = await another(pair, (c) => (c.store = `redis://127.0.0.1:${store.port}/1`));
  try {
    await ready(foreign);
    assert.equal((await ask(pair, "one")).said, "seven eight");
    await sleep(1500);
    pair.own.seen = [];
    assert.equal((await ask(foreign, "two")).said, "seven eight");
    assert.equal(pair.own.seen.length, 3);
  } finally {
    await foreign.stop();
  }
});

// A place that is down for 6 s, asked through two replicas: calls to it, and whether all are answered.
async function outage(pair, replicas) {
  const sick = await ownProvider();
  let down = true, calls = 0;
  sick.answer = (q, res) => (down ? (calls++, json(res, 503, { error: { message: "The server is currently down.", type: "server_error" } })) : wires.openai.answer(res, "five six"));
  try {
    const change = (c) => {
      c.providers.push({ name: "sick", dialect: "openai", url: `http://127.0.0.1:${sick.port}/v1`, keys: ["sk-one"] });
      c.models.push({ name: "m-both", targets: ["sick/m", "own/m"] });
      if (replicas.url) c.store = replicas.url;
    };
    await pair.again(change);
    const other = await another(pair);
    try {
      if (replicas.url) await ready(pair, other);
      pair.own.answer = (q, res) => wires.openai.answer(res, "seven eight");
      const began = Date.now(), all = [];
      while (Date.now() - began < 6000) {
        for (const p of [pair, other]) all.push(question(p, d, { model: "m-both", text: `at ${Date.now() - began}` })), await sleep(40);
      }
      for (const r of await Promise.all(all)) assert.equal(r.said, "seven eight", r.text);
      down = false;
      await until("it is asked again", async () => (await question(pair, d, { model: "m-both" })).said === "five six", 40000);
      await until("the other asks it, too", async () => (await question(other, d, { model: "m-both" })).said === "five six", 3000);
      return calls;
    } finally {
      await other.stop();
    }
  } finally {
    sick.stop();
  }
}

if (SERVER)
  holds("replicas: a place that is down is found out about by one for all, and asked by all again when it is well", {
    async run(pair) {
      const store = await Store.begin(pair.dir);
      try {
        const alone = await outage(pair, {}), together = await outage(pair, { url: `redis://127.0.0.1:${store.port}` });
        console.log(`# replicas: calls to a place that is down for 6 s: ${together} of two that share, ${alone} of two that do not`);
        assert.ok(together < alone, `${together} and ${alone}`);
      } finally {
        await store.away();
      }
    },
  });
else console.log("# replicas: not seen, because there is neither valkey-server nor redis-server (apt install redis-server)");
