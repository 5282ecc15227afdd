// Frameworks people build agents with, set up as doc/clients/ says, their own retries off: what arrives was recovered.
import assert from "node:assert/strict";
import { scenarios } from "./scenarios.mjs";
import { sdks } from "./sdks.mjs";
import { data, json, sse, target, wires } from "./wires.mjs";

// Loaded once, before any scenario: that takes a second, and the loop is everybody's.
let loaded;
const libraries = () => (loaded ??= load());
async function load() {
  const names = ["@ai-sdk/anthropic", "@ai-sdk/openai", "@langchain/anthropic", "@langchain/openai", "ai", "@openai/agents"];
  const l = Object.assign({}, ...(await Promise.all(names.map((n) => import(n)))));
  globalThis.AI_SDK_LOG_WARNINGS = false;
  l.setTracingDisabled(true);
  return { ...l, OpenAI: (await import("openai")).default };
}

const WORDS = "fall seven times rise eight", SAY = `say ${WORDS}`;
const { openai, anthropic } = sdks;

async function all(parts) {
  let text = "";
  for await (const p of parts) text += p;
  return text;
}

const langchain = {
  openai: (l, url) => new l.ChatOpenAI({ model: openai.models.main, apiKey: "sk-client", maxRetries: 0, configuration: { baseURL: `${url}/v1` } }),
  anthropic: (l, url, model = anthropic.models.main) => new l.ChatAnthropic({ model, apiKey: "sk-client", maxRetries: 0, anthropicApiUrl: url }),
};
const vercel = {
  responses: (l, url, model = openai.models.main) => l.createOpenAI({ apiKey: "sk-client", baseURL: `${url}/v1` })(model),
  chat: (l, url) => l.createOpenAI({ apiKey: "sk-client", baseURL: `${url}/v1` }).chat(openai.models.main),
  anthropic: (l, url) => l.createAnthropic({ apiKey: "sk-client", baseURL: `${url}/v1` })(anthropic.models.main),
};
const runner = (l, url, useResponses) =>
  new l.Runner({ modelProvider: new l.OpenAIProvider({ openAIClient: new l.OpenAI({ apiKey: "sk-client", baseURL: `${url}/v1`, maxRetries: 0 }), useResponses }), tracingDisabled: true });
const look = {
  name: "look",
  description: "looks at a place",
  strict: false,
  parameters: { type: "object", properties: { place: { type: "string" } }, required: [], additionalProperties: true },
  execute: ({ place }) => `seen ${place}`,
};
const agent = (l, more) => new l.Agent({ name: "a", model: openai.models.main, instructions: "be brief", ...more });

const clients = {
  "langchain openai, whole": async (l, url) => (await langchain.openai(l, url).invoke(SAY)).content,
  "langchain openai, stream": async (l, url) => all((async function* () { for await (const c of await langchain.openai(l, url).stream(SAY)) yield c.content; })()),
  "langchain anthropic, stream": async (l, url) => all((async function* () { for await (const c of await langchain.anthropic(l, url).stream(SAY)) yield c.text; })()),
  "ai sdk responses, whole": async (l, url) => (await l.generateText({ model: vercel.responses(l, url), prompt: SAY, maxRetries: 0 })).text,
  "ai sdk responses, stream": async (l, url) => all(l.streamText({ model: vercel.responses(l, url), prompt: SAY, maxRetries: 0 }).textStream),
  "ai sdk chat, stream": async (l, url) => all(l.streamText({ model: vercel.chat(l, url), prompt: SAY, maxRetries: 0 }).textStream),
  "ai sdk anthropic, stream": async (l, url) => all(l.streamText({ model: vercel.anthropic(l, url), prompt: SAY, maxRetries: 0 }).textStream),
  "openai agents, responses": async (l, url) => (await runner(l, url, true).run(agent(l), SAY)).finalOutput,
  "openai agents, chat, stream": async (l, url) => {
    const r = await runner(l, url, false).run(agent(l), SAY, { stream: true });
    await r.completed;
    return r.finalOutput;
  },
};
const faults = [
  ["two rate limits", "- { times: 2, kind: rate_limit }"],
  ["a connection that breaks in the answer", "- { times: 1, cut: { after_bytes: 400 } }"],
  ["an answer that ends early in good order", "- { times: 1, kind: eof, after_bytes: 400 }"],
];

for (const [name, ask] of Object.entries(clients))
  for (const [what, fault] of faults)
    scenarios.push({
      name: `frameworks: ${name}: ${what}`,
      prepare: libraries,
      chaos: `faults:\n  ${fault}\n`,
      async run(pair) {
        assert.equal((await ask(await libraries(), pair.base)).trim(), WORDS);
        assert.ok((await pair.report()).calls > 1, "nothing had to be recovered");
      },
    });

scenarios.push({
  name: "frameworks: openai agents: a tool is called with arguments that came broken",
  prepare: libraries,
  chaos: "faults:\n  - { times: 1, kind: bad_arguments, form: trailing_comma }\n",
  async run(pair) {
    const l = await libraries();
    const r = await runner(l, pair.base, false).run(agent(l, { tools: [l.tool(look)] }), "call look");
    assert.match(r.finalOutput, /seen/);
  },
});

// It refers to the words of an answer by the id of their item. No provider has an answer that another dialect gave.
for (const [how, ask] of [
  ["whole", (l, model, messages) => l.generateText({ model, messages, maxRetries: 0 })],
  ["stream", async (l, model, messages) => {
    const r = l.streamText({ model, messages, maxRetries: 0 });
    return { text: await all(r.textStream), response: await r.response };
  }],
])
  scenarios.push({
    name: `frameworks: ai sdk responses, ${how}: a conversation goes on behind an answer of another dialect, there and back`,
    prepare: libraries,
    chaos: "faults: []\n",
    config: (c) => c.models.push({ name: "m-two", targets: ["own-responses/m-own", "own-claude/c-own"] }),
    async run(pair) {
      const l = await libraries(), model = vercel.responses(l, pair.base, "m-two"), messages = [];
      const { anthropic: claude, responses } = wires;
      let sick = responses;
      const saw = () => JSON.parse(pair.own.seen.at(-1).body);
      pair.own.answer = (q, res) => {
        const text = `words ${q.n}`, wire = q.url === claude.path ? claude : responses;
        if (wire === sick) json(res, 500, { error: { message: "The server had an error", type: "server_error" } });
        else if (how === "whole") wire.answer(res, text);
        else sse(res, wire.opening(), wire.piece(text), wire.closing()).end();
      };
      const turn = async (content) => {
        messages.push({ role: "user", content });
        const r = await ask(l, model, messages);
        messages.push(...r.response.messages);
        return r.text;
      };
      const first = await turn("one"), second = await turn("two");
      const said = (content) => [content].flat().map((p) => p.text ?? p).join("");
      assert.deepEqual(saw().messages.map((m) => said(m.content)), ["one", first, "two"]);
      sick = claude;
      await turn("three");
      assert.deepEqual(saw().input.map((i) => said(i.content)), ["one", first, "two", second, "three"]);
    },
  });

// Gemini says in each event how much it has written so far, from the first one on.
scenarios.push({
  name: "frameworks: langchain anthropic, stream: what another dialect's model wrote is counted once",
  prepare: libraries,
  chaos: "faults: []\n",
  config: (c) => c.models.push({ name: "c-two", targets: ["own-gemini/g-own"] }),
  async run(pair) {
    const l = await libraries();
    const part = (text, more) => data({ candidates: [{ content: { role: "model", parts: [{ text }] }, index: 0, ...more }], usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 7, thoughtsTokenCount: 500, totalTokenCount: 518 } });
    pair.own.answer = (q, res) => sse(res, part("fall "), part("seven", { finishReason: "STOP" })).end();
    let whole;
    for await (const c of await langchain.anthropic(l, pair.base, "c-two").stream(SAY)) whole = whole ? whole.concat(c) : c;
    assert.equal(whole.text, "fall seven");
    assert.equal(whole.usage_metadata.output_tokens, 507);
  },
});

// Mistral's SDK and the AI SDK's provider for xAI refuse a stream in which a piece of a call has no name or arguments.
for (const [name, wire] of Object.entries(wires).filter(([n]) => n !== "openai"))
  scenarios.push({
    name: `frameworks: a stream of Chat from ${name} has each call whole in one event, for the SDKs of Mistral and xAI`,
    chaos: "faults: []\n",
    config: (c) => c.models.push({ name: "m-other", targets: [target[name]] }),
    async run(pair) {
      const calls = [["call_a", "look", '{"place":"Bergen"}'], ["call_b", "look", "{}"]];
      pair.own.answer = (q, res) => sse(res, wire.opening(), ...calls.map(([id, n, args], i) => wire.called(i, id, n, args)), wire.closingCalls()).end();
      const tools = [{ type: "function", function: { name: "look", parameters: { type: "object", properties: { place: { type: "string" } } } } }];
      const r = await fetch(`${pair.base}/v1/chat/completions`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ model: "m-other", stream: true, messages: [{ role: "user", content: "look" }], tools }) });
      const said = [...(await r.text()).matchAll(/^data: (\{.*)$/gm)].flatMap((m) => JSON.parse(m[1]).choices[0]?.delta.tool_calls ?? []);
      assert.deepEqual(said.map((c) => [c.index, c.id, c.type, c.function]), calls.map(([id, n, args], i) => [i, id, "function", { name: n, arguments: args }]));
    },
  });
