// An MCP server that misbehaves as its tools are told to: `node mcp_server.mjs FOLDER [at start]`. Each life appends a line to
// FOLDER/lives, each effect of a tool one to FOLDER/effects: what happened is counted there, whatever daruma believes.
//   at start: die (each time), die1 (the first life only), mute (answers nothing), noise (prints before it speaks), restless (its
//   list changes whenever it is read), chatty (it says so behind whatever it answers), stubborn (answers nothing, and ends neither
//   with its input nor by SIGTERM)
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [folder, how = ""] = process.argv.slice(2);
appendFileSync(join(folder, "lives"), `${process.pid}\n`);
const life = readFileSync(join(folder, "lives"), "utf8").trim().split("\n").length;
const once = (name) => !existsSync(join(folder, name)) && (writeFileSync(join(folder, name), ""), true);
if (how === "die" || (how === "die1" && life === 1)) {
  console.error("cannot find my configuration");
  process.exit(7);
}
if (how === "stubborn") {
  process.on("SIGTERM", () => {});
  for (;;) await new Promise((ok) => setTimeout(ok, 1000));
}
if (how === "noise") process.stdout.write('Starting up...\n{"half": \n[]\n"text"\n{"jsonrpc":"2.0"}\n\n{"jsonrpc":"2.0","id":99,"result":{}}\n');

const write = (text) => process.stdout.write(text);
const line = (o) => JSON.stringify({ jsonrpc: "2.0", ...o }) + "\n";
const send = (o) => (write(line(o)), how === "chatty" && o.result && write(line({ method: "notifications/tools/list_changed" })));
const effect = (text) => appendFileSync(join(folder, "effects"), `${text}\n`);
const heard = (text) => appendFileSync(join(folder, "heard"), `${text}\n`);
const text = (t, more) => ({ content: [{ type: "text", text: t }], ...more });

// name: [annotations, what it does with (id, arguments), the schema of its structured content]
const pure = { readOnlyHint: true }, again = { idempotentHint: true };
const tools = {
  add: [{}, (id) => (effect("add"), send({ id, result: text("added") }))],
  put: [again, (id) => (effect("put"), send({ id, result: text("put") }))],
  look: [pure, (id) => send({ id, result: text(existsSync(join(folder, "effects")) ? readFileSync(join(folder, "effects"), "utf8") : "nothing") })],
  add_die: [{}, () => (effect("add_die"), process.exit(9))],
  put_die_once: [again, (id) => (effect("put_die_once"), once("died") ? process.kill(process.pid, "SIGKILL") : send({ id, result: text("put at last") }))],
  look_die: [pure, () => process.exit(1)],
  hang: [{}, () => effect("hang")],
  freeze: [{}, () => { effect("freeze"); for (;;); }],
  change_freeze: [{}, () => { effect("change_freeze"); send({ method: "notifications/tools/list_changed" }); for (;;); }],
  halves: [pure, (id) => { const l = line({ id, result: text("ä whole line") }); const b = Buffer.from(l); [...b].forEach((_, i) => setTimeout(() => process.stdout.write(b.subarray(i, i + 1)), i)); }],
  huge: [{}, (id) => (effect("huge"), write(`{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"${"x".repeat(17 << 20)}"}]}}\n`))],
  large: [pure, (id) => send({ id, result: text("y".repeat(5 << 20)) })],
  logs: [pure, (id) => (write("INFO a line of a log\n"), write("{not json}\n\u0000\u0001\n"), send({ method: "notifications/message", params: { level: "info", data: "x" } }), write(" " + line({ id: "7777777", result: {} })), send({ id, result: text("behind the noise") }))],
  batch: [pure, (id) => write(JSON.stringify([{ jsonrpc: "2.0", method: "notifications/progress" }, { jsonrpc: "2.0", id: String(id), result: text("in a batch") }]) + "\n")],
  refuse: [pure, (id) => send({ id, error: { code: -32602, message: "the argument `x` is missing" } })],
  fails: [pure, (id) => send({ id, result: text("no such record: 17", { isError: true }) })],
  asks: [pure, (id) => (send({ id: "q1", method: "sampling/createMessage", params: {} }), send({ id: 5, method: "ping" }), setTimeout(() => send({ id, result: text("asked") }), 200))],
  parts: [pure, (id) => send({ id, result: { content: [{ type: "text", text: "one" }, { type: "image", mimeType: "image/png", data: "AAAA" }, { type: "audio", mimeType: "audio/wav", data: "AAAAAAAA" }, { type: "resource", resource: { uri: "file:///a", text: "in it" } }, { type: "resource", resource: { uri: "file:///b", mimeType: "a/b", blob: "AAAA" } }, { type: "resource_link", uri: "file:///c", name: "c", description: "see there" }, { type: "newer", x: 1 }] } })],
  structured: [pure, (id) => send({ id, result: { content: [], structuredContent: { a: 1 } } })],
  shaped: [pure, (id, a) => send({ id, result: { content: [{ type: "text", text: "it is cold" }], structuredContent: a.right ? { degrees: 3 } : { degrees: "three" } } }), { type: "object", properties: { degrees: { type: "number" } }, required: ["degrees"] }],
  shaped_put: [{}, (id) => (effect("shaped_put"), send({ id, result: { content: [{ type: "text", text: "it was put" }], structuredContent: { degrees: "three" } } })), { type: "object", properties: { degrees: { type: "number" } } }],
  shapeless: [pure, (id) => send({ id, result: text("no structure, as some servers do") }), { type: "object", required: ["degrees"] }],
  nothing: [pure, (id) => send({ id, result: {} })],
  change: [pure, (id) => (writeFileSync(join(folder, "changed"), ""), send({ method: "notifications/tools/list_changed" }), setTimeout(() => send({ id, result: text("changed") }), 200))],
  change_refuse: [pure, (id) => ((refuses = true), send({ method: "notifications/tools/list_changed" }), setTimeout(() => send({ id, result: text("changed") }), 200))],
  "odd name/with:signs and more than sixty-four letters in all, which no provider takes": [pure, (id) => send({ id, result: text("odd") })],
  "twin.one": [pure, (id) => send({ id, result: text("with a dot") })],
  twin_one: [pure, (id) => send({ id, result: text("with a line") })],
  liar: [{ readOnlyHint: true, destructiveHint: true }, (id) => (effect("liar"), send({ id, result: text("lied") }))],
};
const list = () => {
  const changed = existsSync(join(folder, "changed"));
  return Object.entries(tools).filter(([name]) => !changed || name !== "nothing").map(([name, [annotations, , outputSchema]]) => ({ name, description: `the tool ${name}`, inputSchema: { type: "object" }, annotations, outputSchema }));
};

let greeted = false, refuses = false;
createInterface({ input: process.stdin }).on("line", (l) => {
  const q = JSON.parse(l);
  heard(`${q.method ?? "answer"}${q.params?.requestId ? " of a call" : ""}${q.error ? ` ${q.error.code}` : ""}`);
  if (how === "mute") return;
  if (q.method === "initialize") return send({ id: q.id, result: { protocolVersion: q.params.protocolVersion, capabilities: { tools: { listChanged: true } }, serverInfo: { name: "odd" }, instructions: "Look before you add." } });
  if (q.method === "notifications/initialized") return (greeted = true);
  if (!greeted) return send({ id: q.id, error: { code: -32600, message: "not initialized" } });
  if (q.method === "ping") return send({ id: q.id, result: {} });
  if (q.method === "tools/list") {
    const all = list(), from = Number(q.params?.cursor ?? 0); // in pages of 5
    if (refuses) return send({ id: q.id, error: { code: -32603, message: "not now" } });
    if (how === "restless") send({ method: "notifications/tools/list_changed" });
    return send({ id: q.id, result: { tools: all.slice(from, from + 5), ...(from + 5 < all.length && { nextCursor: String(from + 5) }) } });
  }
  if (q.method === "tools/call") tools[q.params.name]?.[1](q.id, q.params.arguments);
}).on("close", () => (heard("end of input"), process.exit(0)));
