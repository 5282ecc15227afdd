// daruma - recovery of requests to models, by libdaruma.
//
//     const memory = new Memory();
//     const session = memory.session({ dialect: "openai", targets: [{ name: "main", model: "gpt-4o" }] }, body);
//     for (const act of session)          // what to do now; ends when there is nothing
//       if (act.kind === SEND) ...        // send act.body to act.path of act.target, as call number act.call
//     session.head(call, 200, fields);    // what came of it: head, bytes, end, failed
//
// include/daruma.h says what each of them does; example.mjs is a whole host. DARUMA_LIBRARY names the library where the
// system does not find it. close() gives a session, a policy or a memory back.
import koffi from "koffi";

const ABI = 1; // of the functions that are used here
export const [NOTHING, SEND, CANCEL, PAUSE, RESUME, LIMIT, HEAD, BYTES, EVENT, END, BREAK] = Array(11).keys();

const name = process.env.DARUMA_LIBRARY || (process.platform === "darwin" ? "libdaruma.dylib" : "libdaruma.so.0");
const library = koffi.load(name);
const declared = `
  const char *version()
  int abi()
  void *policy_new(const char *json, size_t n, void *why, size_t why_bytes)
  size_t policy_json(void *p, void *out, size_t out_bytes)
  void policy_free(void *p)
  void *memory_new()
  void memory_free(void *m)
  void memory_now(void *m, int64_t now_ms, int64_t wall_s, uint64_t dice)
  void *memory_ready(void *m)
  size_t memory_status(void *m, void *out, size_t out_bytes)
  size_t memory_save(void *m, void *out, size_t out_bytes)
  int64_t memory_load(void *m, const void *text, size_t n, void *why, size_t why_bytes)
  void *session_open(void *m, void *p, const char *options, size_t n, const void *body, size_t body_bytes, void *why, size_t why_bytes)
  void session_free(void *s)
  int session_next(void *s)
  int64_t session_wakes_ms(void *s)
  int64_t session_call(void *s)
  void *session_target(void *s, _Out_ size_t *n)
  void *session_dialect(void *s, _Out_ size_t *n)
  void *session_model(void *s, _Out_ size_t *n)
  void *session_path(void *s, _Out_ size_t *n)
  void *session_bytes(void *s, _Out_ size_t *n)
  void *session_fields(void *s, _Out_ size_t *n)
  int64_t session_total_ms(void *s)
  int session_status(void *s)
  void session_clock(void *s)
  void session_gone(void *s)
  const char *session_outcome(void *s)
  size_t session_remedies(void *s, void *out, size_t out_bytes)
  int64_t session_attempts(void *s)
  void call_head(void *s, int64_t call, int status, const void *fields, size_t n)
  void call_bytes(void *s, int64_t call, const void *bytes, size_t n)
  void call_end(void *s, int64_t call)
  void call_failed(void *s, int64_t call, const char *how)`;
const lib = {};
for (const line of declared.trim().split("\n")) {
  const [, result, function_name, rest] = line.trim().match(/^(.*?)(\w+)(\(.*\))$/);
  lib[function_name] = library.func(`${result} daruma_${function_name}${rest}`);
}
if (lib.abi() !== ABI) throw new Error(`${name} is daruma ${lib.version()} with interface ${lib.abi()}; this file needs ${ABI}`);

export const version = () => lib.version();
export const nowMs = () => Math.floor(performance.now()); // the clock of all times here

// A text that a function writes into a buffer: asked for its length first.
function whole(f, p) {
  const n = Number(f(p, null, 0)), room = Buffer.alloc(n + 1);
  f(p, room, n + 1);
  return room.toString("utf8", 0, n);
}

const sentence = (room) => room.toString("utf8", 0, room.indexOf(0));

// What is done about each kind of failure: an object as in daruma.h; {} is the default one.
export class Policy {
  constructor(settings = {}) {
    const text = JSON.stringify(settings), why = Buffer.alloc(512);
    this.pointer = lib.policy_new(text, Buffer.byteLength(text), why, why.length);
    if (!this.pointer) throw new TypeError(sentence(why));
  }
  settings() {
    return JSON.parse(whole(lib.policy_json, this.pointer));
  }
  close() {
    if (this.pointer) lib.policy_free(this.pointer);
    this.pointer = null;
  }
}

// What is remembered between requests. It outlives its sessions.
export class Memory {
  #sessions = new Map();
  constructor() {
    this.pointer = lib.memory_new();
    if (!this.pointer) throw new Error("libdaruma has no memory");
  }
  #open() {
    if (!this.pointer) throw new Error("the memory is closed");
    return this.pointer;
  }
  // Opens a session for one request: `options` as in daruma.h, `body` its bytes or its text.
  session(options, body, policy) {
    const s = new Session(this, options, Buffer.from(body), policy, () => this.#sessions.delete(koffi.address(s.pointer)));
    this.#sessions.set(koffi.address(s.pointer), s);
    return s;
  }
  // A session in which there is something to do; undefined: there is none.
  ready() {
    const p = lib.memory_ready(this.#open());
    return p ? this.#sessions.get(koffi.address(p)) : undefined;
  }
  status() {
    this.tick();
    return JSON.parse(whole(lib.memory_status, this.pointer));
  }
  // What is known, as text for load() in another process. It holds texts of conversations, and no key.
  save() {
    this.tick();
    return whole(lib.memory_save, this.pointer);
  }
  // Learns what save() wrote, before the first session; returns how many things were learned.
  load(snapshot) {
    const text = Buffer.from(snapshot), why = Buffer.alloc(256);
    this.tick();
    const taken = Number(lib.memory_load(this.pointer, text, text.length, why, why.length));
    if (taken < 0) throw new TypeError(sentence(why));
    return taken;
  }
  tick() {
    lib.memory_now(this.#open(), nowMs(), Math.floor(Date.now() / 1000), (BigInt(Math.floor(Math.random() * 2 ** 32)) << 32n) | BigInt(Math.floor(Math.random() * 2 ** 32)));
  }
  close() {
    for (const s of this.#sessions.values()) s.close();
    if (this.pointer) lib.memory_free(this.pointer);
    this.pointer = null;
  }
}

// Bytes of the act at hand, copied: they are gone with the next one.
function bytes(f, pointer) {
  const n = [0], p = f(pointer, n);
  return Number(n[0]) ? Buffer.from(new Uint8Array(koffi.view(p, Number(n[0])))) : Buffer.alloc(0); // Buffer.from() copies
}

// One request. Iterate over it for what is to be done now, again after each input.
class Session {
  constructor(memory, options, body, policy, closed) {
    const text = JSON.stringify(options), why = Buffer.alloc(512);
    Object.assign(this, { memory, closed }); // the memory outlives it
    memory.tick();
    if (policy && !policy.pointer) throw new Error("the policy is closed");
    this.pointer = lib.session_open(memory.pointer, policy?.pointer ?? null, text, Buffer.byteLength(text), body, body.length, why, why.length);
    if (!this.pointer) throw new TypeError(sentence(why));
  }
  *[Symbol.iterator]() {
    for (let kind; this.pointer && (kind = lib.session_next(this.pointer)) !== NOTHING; ) {
      const s = this.pointer, act = { kind }, text = (f) => bytes(f, s).toString();
      if (kind >= SEND && kind <= LIMIT) act.call = Number(lib.session_call(s));
      if (kind === SEND || kind === LIMIT) act.totalMs = Number(lib.session_total_ms(s));
      if (kind === SEND || kind === BYTES || kind === EVENT) act.body = bytes(lib.session_bytes, s);
      if (kind === SEND) Object.assign(act, { dialect: text(lib.session_dialect), model: text(lib.session_model), path: text(lib.session_path) });
      if (kind === SEND || kind === HEAD) {
        const lines = bytes(lib.session_fields, s).toString("latin1").split("\r\n").filter(Boolean);
        Object.assign(act, { status: lib.session_status(s), target: text(lib.session_target), fields: lines.map((l) => l.split(/: (.*)/s, 2)) });
      }
      yield act;
    }
  }
  // Milliseconds until clock() is to be called; undefined: never.
  wakesIn() {
    const at = this.pointer ? Number(lib.session_wakes_ms(this.pointer)) : -1;
    return at < 0 ? undefined : Math.max(0, at - nowMs());
  }
  #input(f, ...rest) {
    if (!this.pointer) return;
    this.memory.tick();
    f(this.pointer, ...rest);
  }
  // The head of an answer: `fields` are pairs of name and value.
  head(call, status, fields) {
    const text = Buffer.from([...fields].map(([k, v]) => `${k}: ${v}\r\n`).join(""), "latin1");
    this.#input(lib.call_head, call, status, text, text.length);
  }
  bytes(call, data) {
    this.#input(lib.call_bytes, call, data, data.length);
  }
  end(call) {
    this.#input(lib.call_end, call);
  }
  // `how`: "refused", "reset", "dns", "tls", "first_byte_timeout", "total_timeout", "closed", "cut", ...
  failed(call, how) {
    this.#input(lib.call_failed, call, how);
  }
  clock() {
    this.#input(lib.session_clock);
  }
  gone() {
    this.#input(lib.session_gone);
  }
  get outcome() {
    return this.pointer ? lib.session_outcome(this.pointer) : this.went.outcome;
  }
  get attempts() {
    return this.pointer ? Number(lib.session_attempts(this.pointer)) : this.went.attempts;
  }
  get remedies() {
    return this.pointer ? whole(lib.session_remedies, this.pointer) : this.went.remedies;
  }
  // Gives the session back; how it went is still known.
  close() {
    if (!this.pointer) return;
    const { outcome, attempts, remedies } = this;
    this.went = { outcome, attempts, remedies };
    this.closed();
    lib.session_free(this.pointer);
    this.pointer = null;
  }
}
