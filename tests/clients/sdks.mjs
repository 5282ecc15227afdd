// The official SDKs with the same few verbs, so that what is asked of one is written once: a client of each dialect, an
// answer in one piece, a stream. Without options they do not retry by themselves.
import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import Anthropic from "@anthropic-ai/sdk";
import { ApiError, GoogleGenAI } from "@google/genai";
import OpenAI from "openai";

const once = { maxRetries: 0 };

// Google's SDK keeps the header fields of errors to itself: they are heard below it.
const heard = new AsyncLocalStorage(), fetched = globalThis.fetch;
globalThis.fetch = async (...request) => {
  const r = await fetched(...request), into = heard.getStore();
  if (into) into.headers = r.headers;
  return r;
};
const listening = (f) => {
  const into = {};
  return heard.run(into, f).then((r) => ({ ...r, headers: into.headers }), (e) => Promise.reject(Object.assign(e, { headers: into.headers })));
};
const googleError = (e) => (e instanceof ApiError ? JSON.parse(e.message.slice(e.message.indexOf("{"))).error : e);

export const sdks = {
  openai: {
    models: { main: "m-main", single: "m-single", fallback: "m-fallback" },
    client: (pair, more = once) => new OpenAI({ apiKey: "sk-client", baseURL: `${pair.base}/v1`, ...more }),
    body: (model, text, tool) => ({
      model,
      messages: [{ role: "user", content: text }],
      ...(tool && { tools: [{ type: "function", function: { name: tool.name, description: tool.description, parameters: tool.schema } }] }),
    }),
    async plain(c, model, text, tool) {
      const { data, response } = await c.chat.completions.create(this.body(model, text, tool)).withResponse();
      const m = data.choices[0].message;
      return { text: m.content ?? "", calls: (m.tool_calls ?? []).map((t) => ({ name: t.function.name, args: JSON.parse(t.function.arguments) })), usage: data.usage, headers: response.headers };
    },
    async stream(c, model, text, tool) {
      const { data, response } = await c.chat.completions.create({ ...this.body(model, text, tool), stream: true }).withResponse();
      let out = "", finish = null;
      const calls = [];
      for await (const chunk of data) {
        const choice = chunk.choices[0];
        if (!choice) continue;
        out += choice.delta?.content ?? "";
        finish = choice.finish_reason ?? finish;
        for (const t of choice.delta?.tool_calls ?? []) {
          calls[t.index] ??= { name: "", args: "" };
          calls[t.index].name += t.function?.name ?? "";
          calls[t.index].args += t.function?.arguments ?? "";
        }
      }
      assert.ok(finish, "the stream ended without a finish_reason");
      return { text: out, calls: calls.map((t) => ({ name: t.name, args: JSON.parse(t.args) })), headers: response.headers };
    },
    message: (e) => e.error?.message ?? e.message,
    note: (e) => e.error?.daruma?.explanation,
  },
  anthropic: {
    models: { main: "c-main", single: "c-single", fallback: "c-fallback" },
    client: (pair, more = once) => new Anthropic({ apiKey: "sk-client", baseURL: pair.base, ...more }),
    body: (model, text, tool) => ({
      model,
      max_tokens: 200,
      messages: [{ role: "user", content: text }],
      ...(tool && { tools: [{ name: tool.name, description: tool.description, input_schema: tool.schema }] }),
    }),
    read: (message, headers) => ({
      text: message.content.filter((b) => b.type === "text").map((b) => b.text).join(""),
      calls: message.content.filter((b) => b.type === "tool_use").map((b) => ({ name: b.name, args: b.input })),
      usage: message.usage,
      headers,
    }),
    async plain(c, model, text, tool) {
      const { data, response } = await c.messages.create(this.body(model, text, tool)).withResponse();
      return this.read(data, response.headers);
    },
    async stream(c, model, text, tool) {
      const s = c.messages.stream(this.body(model, text, tool));
      const { response } = await s.withResponse();
      return this.read(await s.finalMessage(), response.headers);
    },
    message: (e) => e.error?.error?.message ?? e.message,
    note: (e) => e.error?.error?.daruma?.explanation,
  },
  responses: {
    client: (pair, more = once) => new OpenAI({ apiKey: "sk-client", baseURL: `${pair.base}/v1`, ...more }),
    async plain(c, model, text) {
      const { data, response } = await c.responses.create({ model, input: text }).withResponse();
      assert.equal(data.status, "completed");
      return { text: data.output_text, calls: [], usage: data.usage, headers: response.headers };
    },
    async stream(c, model, text) {
      const { data, response } = await c.responses.create({ model, input: text, stream: true }).withResponse();
      let out = "", done = null;
      for await (const e of data) {
        if (e.type === "response.output_text.delta") out += e.delta;
        if (e.type === "response.failed" || e.type === "error") throw new Error(JSON.stringify(e));
        if (e.type === "response.completed") done = e.response;
      }
      assert.ok(done, "the stream ended without response.completed");
      assert.equal(done.output.flatMap((o) => o.content ?? []).map((p) => p.text).join(""), out, "its pieces are not its whole");
      return { text: out, calls: [], headers: response.headers };
    },
  },
  gemini: {
    models: { main: "g-main", single: "g-single", fallback: "g-fallback" },
    client: (pair) => new GoogleGenAI({ apiKey: "sk-client", httpOptions: { baseUrl: pair.base } }), // it does not retry
    body: (model, text, tool) => ({
      model,
      contents: text,
      ...(tool && { config: { tools: [{ functionDeclarations: [{ name: tool.name, description: tool.description, parametersJsonSchema: tool.schema }] }] } }),
    }),
    take(r, one) {
      for (const p of one.candidates?.[0]?.content?.parts ?? [])
        if (p.functionCall) r.calls.push({ name: p.functionCall.name, args: p.functionCall.args });
        else if (!p.thought) r.text += p.text ?? "";
      r.finish = one.candidates?.[0]?.finishReason ?? r.finish;
      r.usage = one.usageMetadata ?? r.usage;
      return r;
    },
    plain: (c, model, text, tool) => listening(async () => sdks.gemini.take({ text: "", calls: [] }, await c.models.generateContent(sdks.gemini.body(model, text, tool)))),
    stream: (c, model, text, tool) =>
      listening(async () => {
        const r = { text: "", calls: [] };
        for await (const one of await c.models.generateContentStream(sdks.gemini.body(model, text, tool))) sdks.gemini.take(r, one);
        assert.ok(r.finish, "the stream ended without a finishReason");
        return r;
      }),
    message: (e) => googleError(e).message,
    note: (e) => googleError(e).daruma?.explanation,
    opening: 0, // its first event has content
    refused: { 401: 400 }, // it says so of a key that is not valid
  },
};
