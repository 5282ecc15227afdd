#!/usr/bin/env node
// A host of daruma in Node: sends a request through whatever goes wrong, with fetch.
//
//     daruma chaos --fault rate_limit --times 1 &
//     DARUMA_LIBRARY=build/libdaruma.so node bindings/node/example.mjs http://127.0.0.1:9100 [--stream]
import { BREAK, BYTES, CANCEL, END, EVENT, HEAD, LIMIT, Memory, PAUSE, RESUME, SEND } from "./daruma.mjs";

const keys = { openai: ["authorization", "Bearer "], "openai-responses": ["authorization", "Bearer "], anthropic: ["x-api-key", ""], gemini: ["x-goog-api-key", ""] };
const how = { ECONNREFUSED: "refused", ECONNRESET: "reset", ENOTFOUND: "dns", UND_ERR_SOCKET: "cut", UND_ERR_CONNECT_TIMEOUT: "connect_timeout" };

// Makes one call and tells what came of it. `self` says what becomes of it meanwhile: it is ended, paused, limited.
async function call(session, url, key, act, self, look) {
  const [name, prefix] = keys[act.dialect], { signal } = self.end;
  let headed = false;
  try {
    const headers = { ...Object.fromEntries(act.fields), [name]: prefix + key };
    const answer = await fetch(url + act.path, { method: "POST", body: act.body, signal, headers, redirect: "manual" });
    headed = true;
    session.head(act.call, answer.status, answer.headers);
    look();
    for await (const piece of answer.body) {
      session.bytes(act.call, piece);
      look();
      await self.paused;
    }
    session.end(act.call);
  } catch (e) {
    if (signal.aborted && signal.reason !== "late") return; // it was cancelled: nobody wants to hear of it
    session.failed(act.call, signal.aborted ? "total_timeout" : how[e.cause?.code] ?? (headed ? "cut" : "closed"));
  } finally {
    clearTimeout(self.timer);
  }
  look();
}

// Ends a call that takes longer than that from now on; negative: never.
function limit(self, totalMs) {
  clearTimeout(self.timer);
  if (totalMs >= 0) self.timer = setTimeout(() => self.end.abort("late"), totalMs).unref();
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
      if (other && other !== session) looks.get(other)?.();
    };
    const look = () => {
      clearTimeout(timer);
      for (const act of session) {
        const self = calls.get(act.call);
        if (act.kind === SEND) {
          const made = { end: new AbortController() };
          calls.set(act.call, made);
          limit(made, act.totalMs);
          call(session, urls[act.target], key, act, made, look);
        } else if (act.kind === CANCEL) self.end.abort("cancelled");
        else if (act.kind === PAUSE) self.paused = new Promise((resolve) => (self.resume = resolve));
        else if (act.kind === RESUME) self.resume?.();
        else if (act.kind === LIMIT) limit(self, act.totalMs);
        else if (act.kind === HEAD) head = act;
        else if (act.kind === BYTES) write(act.body);
        else if (act.kind === EVENT) console.error(act.body.toString());
        else if (act.kind === END || act.kind === BREAK) {
          const { outcome, attempts, remedies } = session;
          for (const one of calls.values()) one.end.abort("cancelled");
          session.close();
          lookAtOthers();
          return resolve({ status: head?.status ?? 502, fields: head?.fields, outcome, attempts, remedies, whole: act.kind === END });
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
