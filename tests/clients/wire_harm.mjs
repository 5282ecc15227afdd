// What a client, a provider or the machine does badly harms nobody else: slow readers and senders, no descriptors, pipes
// that nobody reads, bytes that a terminal obeys.
import assert from "node:assert/strict";
import net from "node:net";
import { dialects, question, until } from "./net.mjs";
import { sleep } from "./pair.mjs";
import { good, holds } from "./wire.mjs";

const exited = (child) => (child.exitCode !== null || child.signalCode ? Promise.resolve() : new Promise((ok) => child.once("exit", ok)));
const post = (body, more = "") => `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer sk-client\r\ncontent-type: application/json\r\n${more}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

// Asks and reads nothing for `pause` ms; then everything until the other side closes.
async function sleeper(pair, body, pause) {
  const s = net.connect(pair.port, "127.0.0.1"), parts = [];
  let ended = false;
  s.on("error", () => (ended = true)).on("close", () => (ended = true));
  s.write(post(body, "connection: close\r\n"));
  await sleep(pause);
  s.on("data", (d) => parts.push(d));
  await until("the connection ends", () => ended, 20000);
  return Buffer.concat(parts).toString("latin1");
}

holds("a client that reads nothing for 35 s gets its answer whole, a plain one and a stream", {
  limit: 70000,
  config: (c) => (delete c.timeouts.total, (c.timeouts.first_byte = "20s")),
  async run(pair) {
    const piece = "x".repeat(60000), pieces = 260; // 15.6 MB: more than the sockets between hold
    pair.own.answer = async (q, res) => {
      if (!q.body.includes('"stream":true')) return res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ choices: [{ index: 0, message: { role: "assistant", content: piece.repeat(pieces) }, finish_reason: "stop" }] }));
      res.writeHead(200, { "content-type": "text/event-stream" });
      for (let i = 0; i < pieces; i++) if (!res.write(`data: {"choices":[{"index":0,"delta":{"content":"${piece}"}}]}\n\n`)) await new Promise((ok) => res.once("drain", ok));
      res.end(`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`);
    };
    const body = (more) => JSON.stringify(dialects.openai.body("m-own", "say much", more));
    const [plain, stream] = await Promise.all([sleeper(pair, body({}), 35000), sleeper(pair, body({ stream: true }), 35000)]);
    for (const [what, text, end] of [["plain", plain, /"finish_reason":"stop"\}\]\}$/], ["stream", stream, /data: \[DONE\]\n\n\r\n0\r\n\r\n$/]]) {
      assert.equal(text.split(piece).length - 1, pieces, `${what}: it was cut`);
      assert.match(text.slice(-100), end, what);
    }
  },
});

holds("SIGTERM: a request that comes too slowly gets 503 and holds nothing up, one that is nearly there is answered", {
  async run(pair) {
    const g = pair.gateway(), body = JSON.stringify(dialects.openai.body("m-own", "say fine"));
    pair.ended = true;
    pair.own.answer = (q, res) => res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(good.openai));
    const talk = ["slow", "quick"].map((name) => {
      const s = net.connect(pair.port, "127.0.0.1"), t = { name, s, got: "", ended: false };
      s.on("data", (d) => (t.got += d)).on("close", () => (t.ended = true)).on("error", () => {});
      s.write(post(body).slice(0, -body.length / 2));
      return t;
    });
    const drips = setInterval(() => talk[0].s.write(" "), 300); // never silent
    await sleep(200);
    const began = Date.now();
    g.kill("SIGTERM");
    await sleep(300);
    talk[1].s.write(post(body).slice(-body.length / 2));
    await Promise.race([exited(g), sleep(11000)]);
    clearInterval(drips);
    assert.equal(g.exitCode, 0, `it runs on after ${Date.now() - began} ms`);
    assert.ok(Date.now() - began < 9500, `it took ${Date.now() - began} ms`);
    await until("both connections end", () => talk.every((t) => t.ended));
    assert.match(talk[1].got, /^HTTP\/1\.1 200 [^]*"fine"/);
    assert.match(talk[0].got, /^HTTP\/1\.1 503 [^]*retry-after: 1\r\n[^]*connection: close\r\n[^]*"overloaded_error"[^]*is stopping/);
  },
});

holds("responses: numbers of events at the end of their range are gone on from", {
  async run(pair) {
    const event = (type, more) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more }).replace('"last"', "9223372036854775807")}\n\n`;
    const d = dialects.responses;
    pair.own.answer = (q, res) => {
      res.writeHead(200, { "content-type": "text/event-stream" });
      res.write(event("response.created", { sequence_number: 0, response: { id: "r", status: "in_progress", output: [] } }));
      res.write(event("response.output_item.added", { sequence_number: 1, output_index: 0, item: { id: "m", type: "message", role: "assistant", content: [] } }));
      res.write(event("response.output_text.delta", { sequence_number: "last", item_id: "m", output_index: 0, content_index: 0, delta: "seven " }));
      setTimeout(() => res.destroy(), 50);
    };
    const r = await question(pair, { ...d, one: undefined }, { model: d.own, stream: true });
    const made = r.events.filter((e) => e.json && e.json.sequence_number < 1e6).map((e) => e.json.sequence_number);
    assert.ok(d.failed(r.events), r.text);
    assert.ok(made.length >= 3 && made.every((n, i) => n >= 0 && (!i || n > made[i - 1])), r.text);
    assert.equal(r.events.filter((e) => e.json && !(e.json.sequence_number >= 0)).length, 0, r.text);
  },
});
