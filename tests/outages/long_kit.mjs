// A world of long.mjs: one provider of the test's own that answers for all models in it, a gateway without a word about
// recovery, and the SDKs. A line of it is a model as its clients know it, and its targets.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort, ownProvider } from "../clients/pair.mjs";
import { sdks } from "../clients/sdks.mjs";
import { responsesWire, sse, streams, wires } from "../clients/wires.mjs";
import { dir, sleep, start } from "./kit.mjs";

export { sdks, sleep };
export const names = Object.keys(wires); // of the dialects
const said = { openai: ["openai", "/v1"], responses: ["openai-responses", "/v1"], anthropic: ["anthropic", ""], gemini: ["gemini", "/v1beta"] };
let worlds = 0;

/* ---- what providers do: each is called with the wire of its dialect, the request, the answer and whether to stream ---- */

// How one writes in this dialect; streams that are open side by side do not share what they count.
const wireOf = (name) => (name === "responses" ? responsesWire() : wires[name]);
const pieces = (text) => text.match(/.{1,9}/gs);
export const open = (res) => sse(res); // its head alone
export const finish = (w, res, text) => {
  for (const t of pieces(text)) res.write(w.piece(t));
  res.end(w.closing());
};

export const answers = {
  quick: (text) => (w, q, res, stream) => (stream ? (open(res), res.write(w.opening()), finish(w, res, text)) : w.answer(res, text)),
  // Nothing at all, then everything.
  late: (text, ms) => async (w, q, res, stream) => {
    await sleep(ms);
    if (!res.destroyed) answers.quick(text)(w, q, res, stream);
  },
  // The head, and what opens a stream, then nothing for a while.
  headed: (text, ms) => async (w, q, res) => {
    open(res);
    res.write(w.opening());
    await sleep(ms);
    finish(w, res, text);
  },
  // Half of the text, then nothing for a while.
  within: (text, ms) => async (w, q, res) => {
    open(res);
    res.write(w.opening());
    const list = pieces(text), half = list.length >> 1;
    for (const t of list.slice(0, half)) res.write(w.piece(t));
    await sleep(ms);
    for (const t of list.slice(half)) res.write(w.piece(t));
    res.end(w.closing());
  },
  // As `headed`, and says that it is there: `ping` every so often.
  pinging: (text, ms, every, ping) => async (w, q, res) => {
    open(res);
    res.write(w.opening());
    for (const end = performance.now() + ms; performance.now() < end; await sleep(every)) res.write(ping);
    finish(w, res, text);
  },
  // White space before a whole answer, which JSON allows: so some providers keep a connection open.
  blanks: (text, ms, every) => async (w, q, res) => {
    res.writeHead(200, { "content-type": "application/json" });
    res.flushHeaders();
    for (const end = performance.now() + ms; performance.now() < end; await sleep(every)) res.write("\n");
    w.answer({ writeHead: () => res }, text);
  },
  never: () => () => {},
};

/* ---- the world ---- */

// `lines`: { name: { dialect, targets: [{ dialect, answer }] } }; what a target does can be changed at any time.
// `away`: its port refuses connections at first.
export async function world(lines, { away = false } = {}) {
  const provider = await ownProvider(await freePort());
  if (away) provider.away();
  const targets = new Map();
  for (const [name, l] of Object.entries(lines)) l.targets.forEach((t, i) => targets.set(`${name}-${i}`, t));
  provider.answer = (q, res) => {
    const asked = /\/models\/([^:/]+):/.exec(q.url)?.[1] ?? JSON.parse(q.body).model, t = targets.get(asked);
    t.asked = [...(t.asked ?? []), performance.now()];
    provider.seen.length = 0;
    (provider.down ?? t.answer)(wireOf(t.dialect), q, res, streams(q));
  };
  const file = join(dir, `long-${++worlds}.yaml`);
  writeFileSync(file, JSON.stringify({
    listen: "127.0.0.1:0",
    providers: [...targets].map(([name, t]) => ({ name: `p-${name}`, dialect: said[t.dialect][0], url: `http://127.0.0.1:${provider.port}${said[t.dialect][1]}`, keys: ["sk-one"] })),
    models: Object.entries(lines).map(([name, l]) => ({ name, targets: l.targets.map((_, i) => `p-${name}-${i}/${name}-${i}`) })),
  }));
  const gateway = await start("serve", "--config", file);
  const base = `http://127.0.0.1:${gateway.port}`;
  const client = (dialect, more, at = base) => sdks[dialect].client({ base: at }, more);
  return {
    lines,
    provider,
    base,
    // One question, by the SDK of the line. `direct`: without daruma, of its first target.
    ask(name, stream, { more, direct = false } = {}) {
      const d = lines[name].dialect, c = client(d, more, direct ? `http://127.0.0.1:${provider.port}` : base);
      return sdks[d][stream ? "stream" : "plain"](c, direct ? `${name}-0` : name, "hello");
    },
    stop() {
      gateway.stop();
      provider.stop();
    },
  };
}

// What came is one of the texts that were sent, whole and once, within `limit` ms. Says how long it took.
export async function arrives(asked, texts, limit) {
  const began = performance.now();
  let timer;
  try {
    const r = await Promise.race([asked, new Promise((_, no) => (timer = setTimeout(() => no(new Error("nothing came in time")), limit)))]);
    const ms = performance.now() - began;
    assert.ok(texts.includes(r.text), `this came: ${JSON.stringify(r.text)}`);
    return { ms, by: texts.indexOf(r.text) };
  } catch (e) {
    e.measured = `after ${seconds(performance.now() - began)}`;
    throw e;
  } finally {
    clearTimeout(timer);
  }
}
export const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;
