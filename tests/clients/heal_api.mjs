// A provider that has only one of OpenAI's two APIs is asked in that one, whichever the client speaks.
import assert from "node:assert/strict";
import OpenAI from "openai";
import { count, dialects, question } from "./net.mjs";
import { holds, once, oneKey } from "./wire.mjs";
import { body, json, object, parsed, streams, wires } from "./wires.mjs";

const chat = wires.openai, responses = wires.responses;
const said = (q, res, w, text, calls = []) => {
  const list = calls.map(([id, n, a]) => [id, n, w.toolArgs(a)]);
  if (streams(q)) res.writeHead(200, { "content-type": "text/event-stream" }).end([w.opening(), w.piece(text), ...calls.map(([id, n, a], i) => w.called(i, id, n, JSON.stringify(a))), calls.length ? w.closingCalls() : w.closing()].join(""));
  else w.answer(res, text, list);
};
const isChat = (q) => q.url.startsWith("/v1/chat/completions"), isResponses = (q) => q.url.startsWith("/v1/responses");
const text = (res, status, words, type = "text/plain") => res.writeHead(status, { "content-type": type }).end(words);

// How servers say that there is nothing at a path.
const absent = {
  "FastAPI's": (res) => json(res, 404, { detail: "Not Found" }),
  "Go's": (res) => text(res, 404, "404 page not found\n"),
  "Express's": (res) => text(res, 404, '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>Error</title>\n</head>\n<body>\n<pre>Cannot POST /v1/responses</pre>\n</body>\n</html>\n', "text/html"),
  "nginx's": (res) => text(res, 404, "<html>\r\n<head><title>404 Not Found</title></head>\r\n<body>\r\n<center><h1>404 Not Found</h1></center>\r\n<hr><center>nginx/1.22.1</center>\r\n</body>\r\n</html>\r\n", "text/html"),
  "Azure's": (res) => json(res, 404, { error: { code: "404", message: "Resource not found" } }),
  "an empty": (res) => res.writeHead(404).end(),
  "a method's": (res) => json(res, 405, { detail: "Method Not Allowed" }),
  "a server's that has not built it": (res) => json(res, 501, { error: { message: "Not Implemented", type: "server_error" } }),
  "OpenAI's": (res) => json(res, 404, { error: { message: "Invalid URL (POST /v1/responses)", type: "invalid_request_error", param: null, code: null } }),
  "DeepSeek's": (res) => text(res, 404, "Not Found. Please check the configuration."),
  "LM Studio's": (res) => json(res, 200, { error: "Unexpected endpoint or method. (POST /v1/responses)" }),
  "Flask's": (res) => text(res, 404, "<!doctype html>\n<html lang=en>\n<title>404 Not Found</title>\n<h1>Not Found</h1>\n<p>The requested URL was not found on the server. If you entered the URL manually please check your spelling and try again.</p>\n", "text/html"),
  "a gateway's": (res) => json(res, 400, { error: { message: "This route supports /v1/chat/completions alone.", type: "invalid_request_error" } }),
};
for (const [whose, refuse] of Object.entries(absent))
  for (const stream of [false, true])
    holds(`a provider that has Chat alone answers Responses${stream ? " streams" : ""}: ${whose} 404`, {
      async run(pair) {
        const d = dialects.responses, ask = () => question(pair, d, { model: d.own, stream, more: { input: responses.history([{ user: "go" }]), tools: responses.tools(object), instructions: "be brief" } });
        pair.own.answer = (q, res) => (isChat(q) ? said(q, res, chat, "it is 42", [["call_9", "look", { city: "Oslo" }]]) : refuse(res));
        const r = await ask();
        assert.equal(r.status, 200, r.text);
        assert.equal(r.said, "it is 42", r.text);
        assert.deepEqual(parsed(responses.calls(r)).map(([, n, a]) => [n, a]), [["look", { city: "Oslo" }]], r.text);
        assert.equal(r.outcome, "recovered");
        assert.equal(r.headers["x-daruma-remedies"], "change_api");
        assert.deepEqual(pair.own.seen.map((q) => q.url), ["/v1/responses", "/v1/chat/completions"]);
        assert.deepEqual(body(pair.own.seen[1]).messages.map((m) => m.content), ["be brief", "go"]);
        // It is known from then on, said each time, and shown.
        const again = await ask();
        assert.equal(again.said, "it is 42", again.text);
        assert.equal(again.headers["x-daruma-remedies"], "change_api");
        assert.equal(pair.own.seen.length, 3);
        assert.ok(isChat(pair.own.seen[2]));
        const known = (await pair.status()).models_learned.filter((m) => m.provider === "own");
        assert.deepEqual(known.map((m) => [m.model, m.api]), [["m-own", "openai"]]);
        // Chat itself goes on as ever.
        const c = dialects.openai, plain = await question(pair, c, { model: c.own, stream });
        assert.equal(plain.said, "it is 42", plain.text);
        assert.equal(plain.headers["x-daruma-remedies"], "none");
      },
    });

for (const [what, status, error] of [
  ["the model has Responses alone", 404, { message: "This model is only supported in v1/responses and not in v1/chat/completions.", type: "invalid_request_error", param: "model", code: null }],
  ["a parameter goes in Responses alone", 400, { message: "Function tools with reasoning_effort are not supported for m-own in /v1/chat/completions. Please use /v1/responses instead.", type: "invalid_request_error", param: "reasoning_effort", code: null }],
])
  for (const stream of [false, true])
    holds(`Chat${stream ? " streams" : ""} is answered through Responses where ${what}`, {
      async run(pair) {
        const d = dialects.openai;
        pair.own.answer = (q, res) => (isResponses(q) ? said(q, res, responses, "it is 42") : json(res, status, { error }));
        for (const calls of status === 404 ? [2, 3] : [2, 4]) { // of a parameter only those know who send it
          const r = await question(pair, d, { model: d.own, stream, more: { reasoning_effort: "low" } });
          assert.equal(r.status, 200, r.text);
          assert.equal(r.said, "it is 42", r.text);
          assert.equal(r.headers["x-daruma-remedies"], "change_api");
          assert.equal(pair.own.seen.length, calls);
          assert.deepEqual(body(pair.own.seen.at(-1)).reasoning?.effort, "low");
        }
      },
    });

holds("a model that is not there is asked for once, in the API that the client speaks", {
  async run(pair) {
    const d = dialects.responses;
    pair.own.answer = (q, res) => json(res, 404, { error: { message: "The model `m-own` does not exist or you do not have access to it.", type: "invalid_request_error", param: null, code: "model_not_found" } });
    const r = await question(pair, d, { model: d.own });
    assert.equal(r.status, 404, r.text);
    assert.ok(pair.own.seen.every(isResponses), pair.own.seen.map((q) => q.url).join());
    assert.equal(count(pair.events(), "request_converted"), 0);
  },
});

// What is not found is something that the request names, or the path is named beside another cause: Responses are there.
for (const [what, status, error] of [
  ["a conversation", 404, { message: "Conversation with id conv_1 not found.", type: "invalid_request_error" }],
  ["a container", 404, { message: "Container cntr_1 not found", type: "invalid_request_error" }],
  ["a file", 404, { message: "No such File object: file-abc", type: "invalid_request_error", param: "id" }],
  ["a prompt", 404, { message: "Prompt with id 'pmpt_1' not found.", type: "invalid_request_error" }],
  ["a list of paths", 404, { message: "The engine is gone. Supported endpoints: /v1/chat/completions, /v1/responses", type: "invalid_request_error" }],
  ["a parameter", 400, { message: "Unknown parameter: 'verbosity'. In /chat/completions it is called otherwise.", type: "invalid_request_error", param: "verbosity", code: "unknown_parameter" }],
  ["content that is refused", 400, { message: "Your request to /v1/responses was refused by our content policy; it is not supported in /v1/chat/completions either.", type: "invalid_request_error", code: "content_policy_violation" }],
])
  holds(`a refusal that is about ${what} turns no request to Chat`, {
    config: once,
    async run(pair) {
      const d = dialects.responses;
      pair.own.answer = (q, res) => (isChat(q) ? said(q, res, chat, "from chat") : json(res, status, { error }));
      const r = await question(pair, d, { model: d.own });
      assert.equal(r.status, status, r.text);
      assert.ok(pair.own.seen.every(isResponses), pair.own.seen.map((q) => q.url).join());
      assert.deepEqual((await pair.status()).models_learned.filter((m) => m.api), []);
    },
  });

holds("an item that the server does not keep is mended in Responses", {
  async run(pair) {
    const d = dialects.responses, input = [{ role: "user", content: "go" }, { type: "message", id: "msg_1", role: "assistant", status: "completed", content: [{ type: "output_text", text: "gone", annotations: [] }] }, { role: "user", content: "on" }];
    pair.own.answer = (q, res) => {
      if (isChat(q)) said(q, res, chat, "from chat");
      else if (body(q).input.some((i) => i.id)) json(res, 404, { error: { message: "Item with id 'msg_1' not found.", type: "invalid_request_error", param: "input", code: null } });
      else said(q, res, responses, "in responses");
    };
    const r = await question(pair, d, { model: d.own, more: { input } });
    assert.equal(r.said, "in responses", r.text);
    assert.equal(r.headers["x-daruma-remedies"], "mend_messages");
    assert.ok(pair.own.seen.every(isResponses));
  },
});

holds("a provider that has neither API is asked once in each, and its own words are given", {
  config: once,
  async run(pair) {
    const d = dialects.responses;
    pair.own.answer = (q, res) => json(res, 404, { detail: "Not Found" });
    const r = await question(pair, d, { model: d.own });
    assert.equal(r.status, 404, r.text);
    assert.match(d.error(r.json).message, /Not Found/);
    assert.deepEqual(pair.own.seen.map((q) => q.url), ["/v1/responses", "/v1/chat/completions"]);
  },
});

holds("what only Responses can carry is not forced into Chat: the provider's refusal is given", {
  async run(pair) {
    const d = dialects.responses;
    pair.own.answer = (q, res) => (isChat(q) ? said(q, res, chat, "from nothing") : json(res, 404, { detail: "Not Found" }));
    const r = await question(pair, d, { model: d.own, more: { previous_response_id: "resp_1" } });
    assert.ok(r.status >= 400, r.text);
    assert.ok(pair.own.seen.every(isResponses));
  },
});

holds("fifty that ask at once for what a provider has under its other API alone are all answered, and Chat is never held back", {
  async run(pair) {
    const d = dialects.responses, c = dialects.openai;
    pair.own.answer = (q, res) => setTimeout(() => (isChat(q) ? said(q, res, chat, "it is 42") : json(res, 404, { detail: "Not Found" })), 30);
    const all = await Promise.all(Array.from({ length: 50 }, (_, i) => question(pair, i % 2 ? c : d, { model: d.own, text: `question ${i}` })));
    for (const r of all) assert.equal(r.said, "it is 42", r.text);
    for (const r of all.filter((_, i) => i % 2)) assert.equal(r.headers["x-daruma-attempts"] ?? "1", "1");
  },
});

holds("a provider that gets Responses later is found to have it when it refuses Chat in so many words", {
  async run(pair) {
    const d = dialects.responses;
    pair.own.answer = (q, res) => (isChat(q) ? said(q, res, chat, "in chat") : json(res, 404, { detail: "Not Found" }));
    assert.equal((await question(pair, d, { model: d.own })).said, "in chat");
    pair.own.answer = (q, res) => (isResponses(q) ? said(q, res, responses, "in responses") : json(res, 404, { error: { message: "This model is only supported in v1/responses and not in v1/chat/completions.", type: "invalid_request_error", param: "model", code: null } }));
    assert.equal((await question(pair, d, { model: d.own })).said, "in responses");
    const r = await question(pair, d, { model: d.own });
    assert.equal(r.said, "in responses");
    assert.equal(r.headers["x-daruma-remedies"], "none");
  },
});

holds("each of two targets that have Chat alone is asked in it, whoever of them answers", {
  config: (c) => (c.models.find((m) => m.name === "m-own").targets = ["own/m-one", "own/m-two"]),
  async run(pair) {
    const d = dialects.responses;
    pair.own.answer = (q, res) => {
      if (isResponses(q)) return json(res, 404, { detail: "Not Found" });
      if (body(q).model === "m-one") return json(res, 503, { error: { message: "upstream is gone" } });
      said(q, res, chat, "from two");
    };
    const r = await question(pair, d, { model: d.own });
    assert.equal(r.said, "from two", r.text);
    const asked = pair.own.seen.map((q) => [isChat(q), body(q).model].join()), of = (m) => asked.filter((a) => a.endsWith(m));
    assert.deepEqual([of("m-one")[0], of("m-two").join(" ")], ["false,m-one", "false,m-two true,m-two"]);
    assert.ok(of("m-one").slice(1).every((a) => a.startsWith("true")), asked.join(" "));
  },
});

holds("a call beside a silent one that meets a provider with Chat alone spoils nothing: it is asked in Chat next", {
  config: (c) => ((c.timeouts = { connect: "2s", first_byte: "3s", idle: "3s", total: "20s" }), (c.models.find((m) => m.name === "m-own").targets = ["own/m-one", "own/m-two"]), oneKey(c)),
  async run(pair) {
    const d = dialects.responses;
    pair.own.answer = (q, res) => (body(q).model === "m-one" ? undefined : isChat(q) ? said(q, res, chat, "from two") : json(res, 404, { detail: "Not Found" }));
    const r = await question(pair, d, { model: d.own, stream: true });
    assert.equal(r.said, "from two", r.text);
    const two = pair.own.seen.filter((q) => body(q).model === "m-two");
    assert.deepEqual(two.map(isChat), [false, true]);
    assert.deepEqual((await pair.status()).models_learned.map((m) => [m.model, m.api]), [["m-two", "openai"]]);
  },
});

for (const stream of [false, true])
  holds(`the OpenAI SDK's Responses${stream ? " streams" : ""} go through a tool loop at a provider that has Chat alone`, {
    async run(pair) {
      const c = new OpenAI({ apiKey: "sk-client", baseURL: `${pair.base}/v1`, maxRetries: 0 });
      const ask = async (input) => {
        const q = { model: "m-own", instructions: "be brief", input, tools: responses.tools(object), store: false };
        return stream ? await c.responses.stream(q).finalResponse() : await c.responses.create(q);
      };
      pair.own.answer = (q, res) => {
        if (!isChat(q)) return json(res, 404, { detail: "Not Found" });
        const told = body(q).messages.find((m) => m.role === "tool");
        said(q, res, chat, told ? `it is ${told.content}` : "", told ? [] : [["call_9", "look", { city: "Oslo" }]]);
      };
      const first = await ask([{ role: "user", content: "go" }]), call = first.output.find((o) => o.type === "function_call");
      assert.deepEqual([call.name, JSON.parse(call.arguments)], ["look", { city: "Oslo" }]);
      const second = await ask([{ role: "user", content: "go" }, ...first.output, { type: "function_call_output", call_id: call.call_id, output: "cold" }]);
      assert.equal(second.output_text, "it is cold");
      assert.equal(second.status, "completed");
      assert.equal(pair.own.seen.filter((q) => !isChat(q)).length, 1);
    },
  });

holds("who goes on from an answer that a provider with Chat alone cannot keep is told to send all of it", {
  async run(pair) {
    const d = dialects.responses;
    pair.own.answer = (q, res) => (isChat(q) ? said(q, res, chat, "it is 42") : json(res, 404, { detail: "Not Found" }));
    const first = await question(pair, d, { model: d.own }), asked = pair.own.seen.length;
    const r = await question(pair, d, { model: d.own, more: { previous_response_id: first.json.id } });
    assert.equal(r.status, 400, r.text);
    assert.match(d.error(r.json).message, /send the whole conversation in `input`/);
    assert.deepEqual([d.error(r.json).code, d.error(r.json).param], ["previous_response_not_found", "previous_response_id"]);
    assert.equal(pair.own.seen.length, asked);
  },
});

// Clients send the phase back: without it a model takes what it said on the way for its final answer.
holds("heal responses: a message that is joined keeps its phase", {
  config: (c) => c.models.push({ name: "r-own", targets: ["own-responses/m-own"] }),
  async run(pair) {
    const message = (phase, text, status) => ({ id: `msg_${phase}`, type: "message", status, role: "assistant", phase, content: text ? [{ type: "output_text", text, annotations: [], logprobs: [] }] : [] });
    const whole = "I look at the file first, and then I write down what is to be done with it.", half = whole.slice(0, 50);
    const stream = (res, phase, text, cut) => {
      let n = 0;
      const ev = (type, o) => `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: n++, ...o })}\n\n`, at = { item_id: `msg_${phase}`, output_index: 0, content_index: 0 };
      const response = (status, output) => ({ id: "resp_1", object: "response", created_at: 1, status, model: "m-own", output });
      res.writeHead(200, { "content-type": "text/event-stream" });
      res.write(ev("response.created", { response: response("in_progress", []) }) + ev("response.output_item.added", { output_index: 0, item: message(phase, "", "in_progress") }) + ev("response.content_part.added", { ...at, part: { type: "output_text", text: "", annotations: [], logprobs: [] } }) + ev("response.output_text.delta", { ...at, delta: text, logprobs: [] }));
      if (cut) setTimeout(() => res.socket.destroy(), 50);
      else res.end(ev("response.output_text.done", { ...at, text, logprobs: [] }) + ev("response.output_item.done", { output_index: 0, item: message(phase, text, "completed") }) + ev("response.completed", { response: response("completed", [message(phase, text, "completed")]) }));
    };
    pair.own.answer = (q, res) => (q.n === 1 ? stream(res, "commentary", half, true) : stream(res, "final_answer", whole.slice(20)));
    const client = new OpenAI({ apiKey: "sk-client", baseURL: `${pair.base}/v1`, maxRetries: 0 });
    const done = [];
    let last;
    for await (const e of await client.responses.create({ model: "r-own", input: "look", stream: true })) {
      if (e.type === "response.output_item.done") done.push(e.item);
      if (e.type === "response.completed") last = e.response;
    }
    assert.equal(pair.own.seen.length, 2);
    for (const list of [done, last.output]) assert.deepEqual(list.map((i) => [i.phase, i.content[0].text]), [["commentary", whole]]);
  },
});

// A client that takes the commentary for the last word never shows the answer.
holds("heal responses: messages and searches behind the seam of an answer keep their phases and places", {
  config: (c) => c.models.push({ name: "r-own", targets: ["own-responses/m-own"] }),
  async run(pair) {
    const message = (id, phase, text) => ({ id, type: "message", status: "completed", role: "assistant", phase, content: [{ type: "output_text", text, annotations: [], logprobs: [] }] });
    const first = "I look at the file first, and then I write down what is to be done.", items = [message("msg_1", "commentary", first), { id: "ws_1", type: "web_search_call", status: "completed", action: { type: "search", query: "file" } }, message("msg_2", "final_answer", "This is to be done.")];
    const stream = (upto) => {
      let n = 0;
      const ev = (type, o) => `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: n++, ...o })}\n\n`;
      const response = (status, output) => ({ id: "resp_1", object: "response", created_at: 1, status, model: "m-own", output });
      const created = ev("response.created", { response: response("in_progress", []) });
      const all = items.map((item, output_index) => {
        const at = { item_id: item.id, output_index, content_index: 0 }, text = item.content?.[0].text;
        const added = ev("response.output_item.added", { output_index, item: { ...item, status: "in_progress", ...(text && { content: [] }) } });
        const said = text && ev("response.content_part.added", { ...at, part: { ...item.content[0], text: "" } }) + [text.slice(0, 40), text.slice(40)].filter(Boolean).map((delta) => ev("response.output_text.delta", { ...at, delta, logprobs: [] })).join("");
        return added + (said ?? "") + ev("response.output_item.done", { output_index, item });
      });
      const out = created + all.join("") + ev("response.completed", { response: response("completed", items) });
      return upto ? out.slice(0, out.indexOf(upto)) : out;
    };
    const client = new OpenAI({ apiKey: "sk-client", baseURL: `${pair.base}/v1`, maxRetries: 0 });
    for (const cut of ['event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":4', 'event: response.output_item.added\ndata: {"type":"response.output_item.added","sequence_number":6']) {
      pair.own.seen = [];
      pair.own.answer = (q, res) => (res.writeHead(200, { "content-type": "text/event-stream" }), res.end(stream(q.n === 1 && cut)));
      const last = await client.responses.stream({ model: "r-own", input: "look", tools: [{ type: "web_search" }] }).finalResponse();
      assert.deepEqual(last.output.map((i) => i.phase ?? i.id), ["commentary", "ws_1", "final_answer"], cut);
      assert.deepEqual(last.output.map((i) => i.content?.[0].text), [first, undefined, "This is to be done."]);
      assert.equal(pair.own.seen.length, 2);
    }
  },
});
