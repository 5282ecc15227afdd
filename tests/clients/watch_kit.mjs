// An agent with tools of its own, over the official SDKs, in each dialect, streaming and not: what it sends is kept as
// it went out, so that it can be compared with what the provider got.
import { AsyncLocalStorage } from "node:async_hooks";
import { createHash } from "node:crypto";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";

/* ---- what goes out, heard below the SDKs ---- */

const outbox = new AsyncLocalStorage(), fetched = globalThis.fetch;
globalThis.fetch = async (url, init) => {
  const sent = outbox.getStore();
  if (typeof init?.body === "string") sent?.push(init.body);
  const r = await fetched(url, init);
  if (sent) sent.headers = r.headers;
  return r;
};
export const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/* ---- the dialects: how a history begins, what is added to it, one turn of the model ---- */

const schema = { type: "object", properties: {} };
const textOf = (parts) => parts.filter((p) => p.type === "text" || p.type === "output_text").map((p) => p.text).join("");
const openai = ({ base, key }) => new OpenAI({ apiKey: key, baseURL: `${base}/v1`, maxRetries: 0 });

export const dialects = {
  openai: {
    letter: "m",
    client: openai,
    items: (b) => b.messages,
    begin: (task) => [{ role: "system", content: "You work with tools." }, { role: "user", content: task }],
    head: 2, // messages that a client keeps when it shortens its history
    user: (text) => [{ role: "user", content: text }],
    results: (list) => list.map((r) => ({ role: "tool", tool_call_id: r.id, content: r.text })),
    renamed: (turn, id) => JSON.parse(JSON.stringify(turn).replaceAll(/"(call_[^"]*)"/g, `"${id}"`)),
    async turn(client, { model, history, tools, stream, headers }) {
      const body = { model, messages: history, tools: tools.map((name) => ({ type: "function", function: { name, parameters: schema } })) };
      const r = stream ? await client.chat.completions.stream(body, { headers }).finalChatCompletion() : await client.chat.completions.create(body, { headers });
      const m = r.choices[0].message;
      const tool_calls = m.tool_calls?.map((c) => ({ id: c.id, type: "function", function: { name: c.function.name, arguments: c.function.arguments } }));
      return { said: [{ role: "assistant", content: m.content, ...(tool_calls?.length && { tool_calls }) }], text: m.content ?? "", calls: (tool_calls ?? []).map((c) => ({ id: c.id, name: c.function.name, args: JSON.parse(c.function.arguments) })) };
    },
  },
  responses: {
    letter: "m",
    client: openai,
    items: (b) => b.input,
    begin: (task) => [{ role: "user", content: task }],
    head: 1,
    user: (text) => [{ role: "user", content: text }],
    results: (list) => list.map((r) => ({ type: "function_call_output", call_id: r.id, output: r.text })),
    renamed: (turn, id) => JSON.parse(JSON.stringify(turn).replaceAll(/"(call_[^"]*)"/g, `"${id}"`)),
    async turn(client, { model, history, tools, stream, headers }) {
      const body = { model, instructions: "You work with tools.", input: history, store: false, tools: tools.map((name) => ({ type: "function", name, parameters: schema, strict: false })) };
      let r = stream ? null : await client.responses.create(body, { headers });
      if (stream) for await (const e of await client.responses.create({ ...body, stream: true }, { headers })) if (e.type === "response.completed") r = e.response;
      if (!r) throw new Error("the stream ended without its answer");
      const text = r.output.filter((o) => o.type === "message").map((o) => textOf(o.content)).join("");
      const calls = r.output.filter((o) => o.type === "function_call");
      return { said: [...(text ? [{ role: "assistant", content: text }] : []), ...calls.map((c) => ({ type: "function_call", call_id: c.call_id, name: c.name, arguments: c.arguments }))], text, calls: calls.map((c) => ({ id: c.call_id, name: c.name, args: JSON.parse(c.arguments) })) };
    },
  },
  anthropic: {
    letter: "c",
    client: ({ base, key }) => new Anthropic({ apiKey: key, baseURL: base, maxRetries: 0 }),
    items: (b) => b.messages,
    begin: (task) => [{ role: "user", content: task }],
    head: 1,
    user: (text) => [{ role: "user", content: text }],
    results: (list) => [{ role: "user", content: list.map((r) => ({ type: "tool_result", tool_use_id: r.id, content: r.text, ...(r.failed && { is_error: true }) })) }],
    renamed: (turn, id) => JSON.parse(JSON.stringify(turn).replaceAll(/"(toolu_[^"]*)"/g, `"${id}"`)),
    async turn(client, { model, history, tools, stream, headers }) {
      const body = { model, max_tokens: 500, system: "You work with tools.", messages: history, tools: tools.map((name) => ({ name, input_schema: schema })) };
      const m = stream ? await client.messages.stream(body, { headers }).finalMessage() : await client.messages.create(body, { headers });
      const content = m.content.map((b) => (b.type === "text" ? { type: "text", text: b.text } : { type: "tool_use", id: b.id, name: b.name, input: b.input }));
      return { said: [{ role: "assistant", content }], text: textOf(m.content), calls: m.content.filter((b) => b.type === "tool_use").map((b) => ({ id: b.id, name: b.name, args: b.input })) };
    },
  },
  gemini: {
    letter: "g",
    client: ({ base, key }) => new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: base } }), // it does not retry
    items: (b) => b.contents,
    begin: (task) => [{ role: "user", parts: [{ text: task }] }],
    head: 1,
    user: (text) => [{ role: "user", parts: [{ text }] }],
    results: (list) => [{ role: "user", parts: list.map((r) => ({ functionResponse: { ...(r.id && { id: r.id }), name: r.name, response: r.failed ? { error: r.text } : { output: r.text } } })) }],
    renamed: (turn, id) => JSON.parse(JSON.stringify(turn).replaceAll(/"id":"[^"]*"/g, `"id":"${id}"`)),
    async turn(client, { model, history, tools, stream, headers }) {
      const body = { model, contents: history, config: { tools: [{ functionDeclarations: tools.map((name) => ({ name, parametersJsonSchema: schema })) }], ...(headers && { httpOptions: { headers } }) } };
      const parts = [], take = (one) => parts.push(...(one.candidates?.[0]?.content?.parts ?? []));
      if (stream) for await (const one of await client.models.generateContentStream(body)) take(one);
      else take(await client.models.generateContent(body));
      const whole = parts.filter((p) => p.text !== "");
      const text = whole.filter((p) => p.text && !p.thought).map((p) => p.text).join("");
      const calls = whole.filter((p) => p.functionCall);
      return { said: [{ role: "model", parts: [...(text ? [{ text }] : []), ...calls] }], text, calls: calls.map(({ functionCall: c }) => ({ id: c.id, name: c.name, args: c.args ?? {} })) };
    },
  },
};

/* ---- the agent ---- */

// Runs until the model answers without calling a tool, for `steps` turns at most. `tools`: what each says, as a function
// of its arguments and of how many calls went before it; what begins with "!" is a failure. `shorten` may change the
// history before each request; `history` is one to go on with. The answer: what it sent and called, the newest result of
// each turn, and the text it ended with, null when it did not end. `urge` is what a program says to a model that only
// talks, so that it goes on; daruma's own words end the run all the same.
export async function runAgent({ base, key = "sk-client" }, d, { model, task, tools, stream = false, steps = 40, headers, shorten, urge, history = d.begin(task), names = Object.keys(tools) }) {
  const client = d.client({ base, key }), sent = [], r = { history, sent, calls: [], said: [], text: null, turns: 0 };
  for (; r.turns < steps && r.text === null; r.turns++) {
    if (shorten) r.history = shorten(r.history, r.turns);
    const turn = await outbox.run(sent, () => d.turn(client, { model, history: r.history, tools: names, stream, headers }));
    r.history = [...r.history, ...turn.said];
    if (!turn.calls.length && (!urge || turn.text.startsWith("[daruma]"))) r.text = turn.text;
    else if (!turn.calls.length) r.history = [...r.history, ...d.user(urge)];
    const results = turn.calls.map((c) => {
      const said = tools[c.name](c.args, r.calls.length), failed = said.startsWith("!");
      r.calls.push(c);
      return { id: c.id, name: c.name, text: failed ? said.slice(1) : said, failed };
    });
    if (results.length) r.history = [...r.history, ...d.results(results)];
    r.said.push(results.at(-1)?.text);
  }
  return r;
}

/* ---- the provider: what it got ---- */

const post = async (pair, what, body = "") => {
  const r = await fetched(`${pair.chaos}/chaos/${what}`, { method: "POST", body });
  if (!r.ok) throw new Error(`chaos refused ${what}: ${await r.text()}`);
};
// Another script for its models: JSON is YAML. What it kept and counted is gone.
export async function script(pair, models, faults = []) {
  await post(pair, "script", JSON.stringify({ keep: 100000, models, faults }));
  await post(pair, "reset");
}
export const requests = async (pair) => (await (await fetched(`${pair.chaos}/chaos/requests`)).json()).requests;
export const bodyOf = async (pair, number) => (await fetched(`${pair.chaos}/chaos/requests/${number}`)).text();

// Which of the client's requests did not reach the provider as they were sent, and in one call each, counted from 1.
export async function touched(pair, sent) {
  const got = await requests(pair), n = Math.max(got.length, sent.length);
  return Array.from({ length: n }, (_, i) => i).flatMap((i) => (sent[i] !== undefined && sha256(sent[i]) === got[i]?.sha256 ? [] : [i + 1]));
}
