#!/usr/bin/env node
// A host of daruma in Node: sends a request through whatever goes wrong, with fetch.
//
//     daruma chaos --fault rate_limit --times 1 &
//     DARUMA_LIBRARY=build/libdaruma.so node bindings/node/example.mjs http://127.0.0.1:9100 [--stream]
import { BREAK, BYTES, CANCEL, END, EVENT, HEAD, Memory, SEND } from "./daruma.mjs";

const keys = { openai: ["authorization", "Bearer "], "openai-responses": ["authorization", "Bearer "], anthropic: ["x-api-key", ""], gemini: ["x-goog-api-key", ""] };
const how = { ECONNREFUSED: "refused", ECONNRESET: "reset", ENOTFOUND: "dns", UND_ERR_SOCKET: "cut", UND_ERR_CONNECT_TIMEOUT: "connect_timeout" };

// Makes one call and tells what came of it.
async function call(session, url, key, act, signal, look) {
  const [name, prefix] = keys[act.dialect];
  try {
    const answer = await fetch(url + act.path, { method: "POST", body: act.body, signal, headers: { "content-type": "application/json", "accept-encoding": "identity", [name]: prefix + key } });
    session.head(act.call, answer.status, answer.headers);
    look();
    for await (const piece of answer.body) {
      session.bytes(act.call, piece);
      look();
    }
    session.end(act.call);
  } catch (e) {
    if (signal.aborted && signal.reason !== "late") return; // it was cancelled: nobody wants to hear of it
    session.failed(act.call, signal.aborted ? "total_timeout" : how[e.cause?.code] ?? "closed");
  }
  look();
}

const looks = new WeakMap(); // of each session, what carries out its acts

// Sends `body` and hands the answer to `write`. Resolves to its status, fields, and how it went.
export function recover(memory, options, body, urls, key, write) {
  return new Promise((resolve) => {
    const session = memory.session(options, body), calls = new Map();
    let head, timer;
    // What happened to one session may let another one go on: somebody is well again.
    const lookAtOthers = () => {
      const other = memory.ready();
      if (other && other !== session) looks.get(other)();
    };
    const look = () => {
      clearTimeout(timer);
      for (const act of session) {
        if (act.kind === SEND) {
          const end = new AbortController();
          calls.set(act.call, end);
          if (act.totalMs > 0) setTimeout(() => end.abort("late"), act.totalMs).unref();
          call(session, urls[act.target], key, act, end.signal, look);
        } else if (act.kind === CANCEL) calls.get(act.call).abort("cancelled");
        else if (act.kind === HEAD) head = act;
        else if (act.kind === BYTES) write(act.body);
        else if (act.kind === EVENT) console.error(act.body.toString());
        else if (act.kind === END || act.kind === BREAK) {
          const { outcome, attempts, remedies } = session;
          session.close();
          lookAtOthers();
          return resolve({ status: head?.status, fields: head?.fields, outcome, attempts, remedies, whole: act.kind === END });
        }
      }
      const wakes = session.wakesIn();
      if (wakes !== undefined) timer = setTimeout(() => (session.clock(), look()), wakes);
      lookAtOthers();
    };
    looks.set(session, look);
    look();
  });
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const urls = process.argv.slice(2).filter((a) => !a.startsWith("--"));
  if (!urls.length) {
    console.error("usage: node example.mjs URL... [--stream]");
    process.exit(2);
  }
  const request = { model: "m-main", messages: [{ role: "user", content: "Say hello." }], stream: process.argv.includes("--stream") };
  const targets = urls.map((_, i) => ({ name: `place${i}`, model: "m-main" }));
  const places = Object.fromEntries(targets.map((t, i) => [t.name, urls[i]]));
  const memory = new Memory();
  const r = await recover(memory, { dialect: "openai", targets, secrets: ["sk-example-key"] }, JSON.stringify(request), places, "sk-example-key", (b) => process.stdout.write(b));
  memory.close();
  console.log(`\n${r.status} ${r.outcome} after ${r.attempts} calls: ${r.remedies}`);
  process.exitCode = r.whole && r.status === 200 ? 0 : 1;
}
