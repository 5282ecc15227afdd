// A store that is gone, full, slow or corrupt, a file or Redis, costs clean traffic nothing: beside a daruma that keeps nothing stands one
// whose store fails, and both are asked the same, in turns. CPU and latency are compared, and nobody waits for the store.
import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { dialects, question, until } from "./net.mjs";
import { sleep } from "./pair.mjs";
import { holds } from "./wire.mjs";
import { apart } from "./wire_state.mjs";
import { json, wires } from "./wires.mjs";

const d = dialects.openai, STALL_MS = 5000, TICK_MS = 10;

// What stands before libc's in the daruma under test: the disk takes 5 s for each file, or has no room.
const slow = `#include <unistd.h>\nint fsync(int fd) { (void)fd; usleep(${STALL_MS * 1000}); return 0; }\n`;
const full = `#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <errno.h>\n#include <stdio.h>\n#include <string.h>\n#include <unistd.h>
ssize_t write(int fd, const void *p, size_t n)
{
    static ssize_t (*real)(int, const void *, size_t);
    char link[64], path[4096];
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "write");
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, path, sizeof path);
    if (len > 10 && !memcmp(path + len - 10, ".jsonl.new", 10)) {
        errno = ENOSPC;
        return -1;
    }
    return real(fd, p, n);
}
`;

// A server that speaks as much of Redis as daruma asks for. `how` says what is wrong with it; it is well until it is told so.
class Redis {
  static async begin() {
    const s = new Redis();
    s.how = "well";
    s.kept = new Map();
    s.open = new Set();
    s.came = 0;
    s.server = net.createServer((c) => s.meet(c));
    await s.listen(0);
    return s;
  }
  listen(port) {
    return new Promise((ok) => this.server.listen(port, "127.0.0.1", () => ((this.port = this.server.address().port), ok())));
  }
  meet(c) {
    let got = Buffer.alloc(0);
    this.came++;
    this.open.add(c);
    c.on("close", () => this.open.delete(c)).on("error", () => {});
    c.on("data", (b) => {
      got = Buffer.concat([got, b]);
      for (let q; (q = this.take(got)); got = q.rest) this.answer(c, q.words);
    });
  }
  // One array of strings from the front of the bytes.
  take(b) {
    const line = (at) => b.indexOf("\r\n", at);
    if (b[0] !== 42 || line(0) < 0) return null;
    let at = line(0) + 2;
    const words = [];
    for (let n = Number(b.subarray(1, at - 2)); n; n--) {
      const end = line(at);
      if (end < 0) return null;
      const size = Number(b.subarray(at + 1, end));
      if (b.length < end + 2 + size + 2) return null;
      words.push(b.subarray(end + 2, end + 2 + size));
      at = end + 2 + size + 2;
    }
    return { words, rest: b.subarray(at) };
  }
  answer(c, [name, key, ...rest]) {
    const what = name.toString().toUpperCase(), bulk = (v) => (v === undefined ? "$-1\r\n" : Buffer.concat([Buffer.from(`$${v.length}\r\n`), v, Buffer.from("\r\n")]));
    const say = (v) => (this.how === "slow" ? setTimeout(() => c.destroyed || c.write(v), STALL_MS) : c.write(v));
    if (this.how === "silent") return;
    if (this.how === "full" && ["SET", "SETEX", "PUBLISH"].includes(what)) return say("-OOM command not allowed when used memory > 'maxmemory'.\r\n");
    if (this.how === "noise" && what !== "PING" && what !== "SUBSCRIBE") return c.write(Buffer.from([0xff, 0, 0x2a, 0x0d, 0x0a, 0x80]));
    if (this.how === "list" && what.startsWith("GET")) return say("-WRONGTYPE Operation against a key holding the wrong kind of value\r\n");
    if (this.how === "odd" && what.startsWith("GET")) return say(bulk(Buffer.from('{"is":"daruma_memory","form":1}\n\0\0[[[[{{{{'.repeat(500)))); // no line of it is one
    switch (what) {
      case "PING": return say("+PONG\r\n");
      case "SUBSCRIBE": return say(`*3\r\n$9\r\nsubscribe\r\n$${key.length}\r\n${key}\r\n:1\r\n`);
      case "GET": case "GETRANGE": return say(bulk(this.kept.get(key.toString()) ?? (what === "GET" ? undefined : Buffer.alloc(0))));
      case "SETEX": return this.kept.set(key.toString(), rest[1]), say("+OK\r\n");
      case "SET": return this.kept.has(key.toString()) || this.kept.set(key.toString(), rest[0]), say("+OK\r\n");
      default: return say(what === "PUBLISH" ? ":0\r\n" : "+OK\r\n");
    }
  }
  gone() {
    this.server.close();
    for (const c of this.open) c.destroy();
  }
}

// CPU of a process and of all its threads, those that are over as well, in ms.
const cpuOf = (one) => {
  const f = readFileSync(`/proc/${one.child.pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(f[11]) + Number(f[12])) * TICK_MS;
};
const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1];

// Asks both in turns, clean requests alone but for one that is recovered at the beginning of each turn: there is always something to keep.
async function traffic(pair, both, ms) {
  const of = both.map((one) => ({ one, times: [], cpu: 0 }));
  let fail = false, n = 0;
  pair.own.answer = (q, res) => (fail ? ((fail = false), json(res, 500, { error: { message: "The server had an error", type: "server_error" } })) : wires.openai.answer(res, "seven eight"));
  const ask = async (one, text) => {
    const began = process.hrtime.bigint(), r = await question(one, d, { model: d.own, text });
    assert.equal(r.said, "seven eight", r.text);
    return Number(process.hrtime.bigint() - began) / 1e6;
  };
  for (const began = Date.now(); Date.now() - began < ms; )
    for (const w of of) {
      const before = cpuOf(w.one);
      fail = true;
      await ask(w.one, `recovered ${n++}`);
      for (let i = 0; i < 60; i++) w.times.push(await ask(w.one, `question ${n++}`));
      w.cpu += cpuOf(w.one) - before;
    }
  return of;
}

const quick = (c) => (c.recovery = { kinds: { server_error: { delay: "10ms", max_delay: "10ms" } } });
// `options` of the daruma under test; `trouble` begins when it is up, `told` are events that stand there then, each as often at most.
const clean = (what, { begin, trouble = () => {}, told, ms = 4000 }) =>
  holds(`store: ${what}: clean traffic has its usual CPU and latency, and the trouble is told once`, {
    alone: true,
    limit: 60000,
    async run(pair) {
      const with_ = await begin(pair), { change, ...options } = with_.options ?? {};
      const none = await apart(pair, { name: "none", change: (c) => (quick(c), delete c.state) });
      const one = await apart(pair, { name: "one", ...options, change: (c) => (quick(c), change?.(c)) });
      try {
        await trouble(one, with_);
        const [usual, its] = await traffic(pair, [none, one], ms), per = (w) => w.cpu / w.times.length, most = (w) => Math.max(...w.times);
        const line = `CPU ${per(its).toFixed(3)} of ${per(usual).toFixed(3)} ms, median ${median(its.times).toFixed(2)} of ${median(usual.times).toFixed(2)} ms, longest ${most(its).toFixed(0)} of ${most(usual).toFixed(0)} ms, ${its.times.length} requests`;
        console.log(`# store: ${what}: ${line}`);
        assert.ok(per(its) < 1.25 * per(usual) + 0.05, line);
        assert.ok(median(its.times) < 1.25 * median(usual.times) + 0.2, line);
        assert.ok(most(its) < STALL_MS / 5, line);
        const names = one.events();
        for (const [name, times] of Object.entries(told)) {
          const n = names.filter((e) => e === name).length;
          assert.ok(n >= Math.min(times, 1) && n <= times, `${name} ${n} times: ${names.filter((e) => /^st(ate|ore)_/.test(e)).join(" ")}`);
        }
      } finally {
        for (const x of [none, one]) x.child.kill("SIGKILL"), await x.gone;
        with_.redis?.gone();
      }
    },
  });

const file = (options) => async () => ({ options });
clean("a file that is well", { begin: file({}), told: { state_unwritten: 0, state_unread: 0 } });
clean("its folder is gone", { begin: file({}), trouble: (one) => rmSync(one.state, { recursive: true }), told: { state_unwritten: 1 } });
clean("its disk is full", { begin: file({ shim: full }), told: { state_unwritten: 1, state_written: 0 } });
clean("its disk takes 5 s", { begin: file({ shim: slow }), told: { state_unwritten: 0 } });
clean("its file is corrupt", { begin: file({ prepare: (at) => writeFileSync(join(at, "state.jsonl"), Buffer.alloc(4 << 20, '{"is":"daruma_memory","form":1}\n\0\xff[[[[')) }), told: { state_unread: 1, state_unwritten: 0 } });

const shared = (how, from = () => {}) => ({
  begin: async () => {
    const redis = await Redis.begin();
    from(redis);
    return { redis, options: { change: (c) => ((c.store = `redis://127.0.0.1:${redis.port}`), delete c.state) } };
  },
  trouble: async (one, { redis }) => {
    await until("the store is shared", () => one.events().includes("store_ready"), 10000);
    how(redis);
  },
});
const turns = (how) => shared((r) => (r.how = how)), is = (how) => shared(() => {}, (r) => (r.how = how));
clean("a Redis that is well", { ...turns("well"), told: { store_lost: 0, store_refused: 0 } });
clean("a Redis that goes", { ...shared((r) => r.gone()), told: { store_lost: 1 } });
clean("a Redis that is full", { ...turns("full"), told: { store_refused: 1, store_lost: 0 } });
clean("a Redis that takes 5 s for each answer", { ...turns("slow"), told: { store_ready: 2 }, ms: 16000 });
clean("a Redis that says nothing any more", { ...turns("silent"), told: { store_lost: 1, store_ready: 1 }, ms: 11000 });
clean("a Redis whose answers are noise", { ...turns("noise"), told: { store_lost: 2, store_ready: 2 } });
clean("a Redis that keeps something else", { ...is("odd"), told: { store_lost: 0, store_ready: 1 } });
clean("a Redis that keeps a list where daruma's text should be", { ...is("list"), told: { store_lost: 0, store_refused: 1 } });

holds("store: a Redis that came and went is news again when it stays", {
  limit: 60000,
  async run(pair) {
    const { redis, options } = await shared(() => {}).begin(), one = await apart(pair, { name: "slips", change: options.change });
    const times = (name) => one.events().filter((e) => e === name).length;
    try {
      await until("the store is shared", () => times("store_ready") === 1, 10000);
      redis.how = "noise";
      pair.own.answer = (q, res) => wires.openai.answer(res, "seven eight");
      await question(one, d, { model: d.own });
      await until("it is found to come and go", () => redis.came > 6, 15000); // two connections each time
      assert.deepEqual([times("store_ready"), times("store_lost")], [2, 2]);
      redis.how = "well";
      await until("it stays", () => times("store_ready") === 3, 30000);
      assert.equal(times("store_lost"), 2);
    } finally {
      one.child.kill("SIGKILL");
      await one.gone;
      redis.gone();
    }
  },
});
