// Requests without an SDK: sockets and node's http, so that every byte and its time can be seen.
import assert from "node:assert/strict";
import http from "node:http";
import net from "node:net";
import { sleep } from "./pair.mjs";

export const SECRETS = /sk-(one|two|client|cmd|leak)/;

// The dialects that the faulty provider speaks: how one asks, where the text of an answer is, what an error looks like.
// The last event; what daruma says of itself in a comment behind it is none.
const last = (events) => events.findLast((e) => !e.raw.startsWith(": daruma outcome="));

export const dialects = {
  openai: {
    path: "/v1/chat/completions",
    model: "m-single",
    main: "m-main",
    own: "m-own",
    headers: { authorization: "Bearer sk-client" },
    beat: /^:/,
    body: (model, text, more) => ({ model, messages: [{ role: "user", content: text }], ...more }),
    tools: [{ type: "function", function: { name: "look", parameters: { type: "object", properties: {} } } }],
    text: (j) => j.choices[0].message.content,
    piece: (e) => e.json?.choices?.[0]?.delta?.content ?? "",
    usage: (j) => [j.usage.prompt_tokens, j.usage.completion_tokens],
    error: (j) => j.error,
    ended: (events) => last(events)?.data === "[DONE]",
    failed: (events) => events.some((e) => e.json?.error),
    history: (list) => ({ messages: list.map(([role, content]) => ({ role, content })) }),
  },
  anthropic: {
    path: "/v1/messages",
    model: "c-single",
    main: "c-main",
    own: "c-own",
    headers: { "x-api-key": "sk-client", "anthropic-version": "2023-06-01" },
    beat: /^event: ping\n/,
    body: (model, text, more) => ({ model, max_tokens: 100, messages: [{ role: "user", content: text }], ...more }),
    tools: [{ name: "look", input_schema: { type: "object", properties: {} } }],
    text: (j) => j.content.map((b) => b.text).join(""),
    piece: (e) => e.json?.delta?.text ?? "",
    usage: (j) => [j.usage.input_tokens, j.usage.output_tokens],
    error: (j) => j.error,
    ended: (events) => last(events)?.json?.type === "message_stop",
    failed: (events) => events.some((e) => e.json?.type === "error"),
    history: (list) => ({ messages: list.map(([role, content]) => ({ role, content })) }),
  },
  responses: {
    path: "/v1/responses",
    model: "m-single",
    main: "m-main",
    own: "m-own",
    headers: { authorization: "Bearer sk-client" },
    beat: /^:/,
    body: (model, text, more) => ({ model, input: [{ role: "user", content: text }], ...more }),
    tools: [{ type: "function", name: "look", parameters: { type: "object", properties: {} } }],
    text: (j) => j.output.flatMap((o) => o.content ?? []).map((c) => c.text ?? "").join(""),
    piece: (e) => (e.json?.type === "response.output_text.delta" ? e.json.delta : ""),
    usage: (j) => [j.usage.input_tokens, j.usage.output_tokens],
    error: (j) => j.error,
    ended: (events) => ["response.completed", "response.incomplete"].includes(last(events)?.json?.type),
    failed: (events) => events.some((e) => e.json?.type === "error" || e.json?.type === "response.failed"),
    // Clients sort by the numbers, and know an answer by its id: whoever wrote the events, they are those of one stream.
    one: (events) => {
      const list = events.map((e) => e.json).filter(Boolean), numbers = list.map((e) => e.sequence_number).filter((n) => n !== undefined);
      assert.ok(numbers.every((n, i) => i === 0 || n > numbers[i - 1]), `its events are not in order: ${numbers}`);
      assert.ok(new Set(list.map((e) => e.response?.id).filter(Boolean)).size <= 1, "it has several ids");
    },
    history: (list) => ({ input: list.map(([role, content]) => ({ role, content })) }),
  },
  // Says in the path which model is asked and whether the answer shall be a stream.
  gemini: {
    path: (model, stream) => `/v1beta/models/${model}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
    model: "g-single",
    main: "g-main",
    own: "g-own",
    headers: { "x-goog-api-key": "sk-client" },
    beat: /^data: \{"candidates":\[\]\}$/,
    body: (model, text, { stream, ...more } = {}) => ({ contents: [{ role: "user", parts: [{ text }] }], ...more }),
    tools: [{ functionDeclarations: [{ name: "look", parameters: { type: "object", properties: {} } }] }],
    text: (j) => (j.candidates[0].content?.parts ?? []).map((p) => (p.thought ? "" : p.text ?? "")).join(""),
    piece: (e) => (e.json?.candidates?.[0]?.content?.parts ?? []).map((p) => (p.thought ? "" : p.text ?? "")).join(""),
    usage: (j) => [j.usageMetadata.promptTokenCount, j.usageMetadata.candidatesTokenCount],
    error: (j) => j.error,
    ended: (events) => Boolean(last(events)?.json?.candidates?.[0]?.finishReason),
    failed: (events) => events.some((e) => e.json?.error),
    history: (list) => ({ contents: list.map(([role, text]) => ({ role: role === "assistant" ? "model" : role, parts: [{ text }] })) }),
  },
};

export const pathOf = (d, model = d.model, stream = false) => (typeof d.path === "function" ? d.path(model, stream) : d.path);

// One request over a connection of its own. `onStart(req)` has it when it is on its way, `onData(soFar, req)` sees what comes while it comes.
export function ask(pair, path, { method = "GET", headers = {}, body, onStart, onHead, onData } = {}) {
  return new Promise((ok, no) => {
    const began = Date.now();
    const req = http.request({ host: "127.0.0.1", port: pair.port, path, method, headers, agent: false }, (res) => {
      const parts = [], times = [];
      onHead?.(res, req);
      res.on("data", (d) => {
        parts.push(d);
        times.push(Date.now() - began);
        pair.heard.push(d);
        onData?.(Buffer.concat(parts).toString(), req);
      });
      const end = (cut) => {
        const bytes = Buffer.concat(parts);
        pair.heard.push(Buffer.from(JSON.stringify(res.rawHeaders)));
        ok({ status: res.statusCode, headers: res.headers, raw: res.rawHeaders, bytes, text: bytes.toString(), times, took: Date.now() - began, cut });
      };
      res.on("end", () => end(!res.complete));
      res.on("error", () => end(true));
    });
    req.on("error", no);
    req.end(body);
    onStart?.(req);
  });
}

// A question in a dialect. The answer has .json, or .events of a stream.
export async function question(pair, d, { model = d.model, text = "say seven eight", stream = false, headers = {}, more = {}, ...rest } = {}) {
  const body = JSON.stringify(d.body(model, text, stream ? { stream, ...more } : more));
  const r = await ask(pair, pathOf(d, model, stream), { method: "POST", headers: { ...d.headers, "content-type": "application/json", ...headers }, body, ...rest });
  if (/^text\/event-stream/.test(r.headers["content-type"])) r.events = events(r.text);
  else if (/json/.test(r.headers["content-type"])) r.json = JSON.parse(r.text);
  if (r.events) d.one?.(r.events);
  r.said = r.events ? r.events.map(d.piece).join("") : r.json && !r.json.error ? d.text(r.json) : "";
  r.outcome = r.headers["x-daruma-outcome"];
  return r;
}

// Server-sent events, comments among them; every one must be whole.
export function events(text) {
  text = text.replaceAll("\r\n", "\n"); // Google's lines end so
  assert.ok(text === "" || text.endsWith("\n\n"), `the stream ends within an event: ${JSON.stringify(text.slice(-80))}`);
  return text.split("\n\n").filter(Boolean).map((raw) => {
    const data = raw.split("\n").filter((l) => l.startsWith("data:")).map((l) => l.slice(5).trimStart()).join("\n");
    const e = { raw, data: data || null, name: /^event: ?(.*)$/m.exec(raw)?.[1], comment: raw.startsWith(":") };
    if (data && data !== "[DONE]") e.json = JSON.parse(data);
    return e;
  });
}

// Bytes as they are; everything that comes back until the other side closes or `quiet` ms are silent.
export function raw(pair, bytes, quiet = 400) {
  return new Promise((ok) => {
    const s = net.connect(pair.port, "127.0.0.1");
    let got = "", timer;
    const end = () => (clearTimeout(timer), s.destroy(), ok(got));
    const again = () => (clearTimeout(timer), (timer = setTimeout(end, quiet)));
    s.on("data", (d) => ((got += d.toString("latin1")), again()));
    s.on("close", end);
    s.on("error", end);
    s.on("connect", () => (s.write(bytes), again()));
  });
}

// Waits, bounded, until something is so.
export async function until(what, test, ms = 3000) {
  for (const began = Date.now(); Date.now() - began < ms; await sleep(10)) {
    const r = await test();
    if (r) return r;
  }
  assert.fail(`not within ${ms} ms: ${what}`);
}

export const names = (list) => list.map((e) => e.event).join(" ");
export const count = (list, event) => list.filter((e) => e.event === event).length;
