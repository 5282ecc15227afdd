// Sound and images in streams: no other answer goes on with them, and none that has them ends without.
import assert from "node:assert/strict";
import { dialects, question } from "./net.mjs";
import { holds } from "./wire.mjs";
import { json, sse, wires } from "./wires.mjs";

const data = (o) => `data: ${JSON.stringify(o)}\n\n`;
const media = {
  openai: { sound: data({ id: "c", choices: [{ index: 0, delta: { audio: { id: "a", data: "QUFB" } }, finish_reason: null }] }), "an image": data({ id: "c", choices: [{ index: 0, delta: { images: [{ type: "image_url", image_url: { url: "data:image/png;base64,QUFB" } }] }, finish_reason: null }] }) },
  gemini: { sound: data({ candidates: [{ content: { parts: [{ inlineData: { mimeType: "audio/pcm", data: "QUFB" } }], role: "model" }, index: 0 }] }), "an image": data({ candidates: [{ content: { parts: [{ inlineData: { mimeType: "image/png", data: "QUFB" } }], role: "model" }, index: 0 }] }) },
};
for (const [name, kinds] of Object.entries(media))
  for (const [what, event] of Object.entries(kinds)) {
    const w = wires[name], d = dialects[name], text = "Here is what you asked me for: ";
    const ask = (pair) => question(pair, d, { model: d.own, stream: true });
    const isError = (r) => r.broke || /"error"/.test(r.text);

    holds(`heal ${name} stream: ${what} that breaks off is not ended as if it were whole`, {
      async run(pair) {
        pair.own.answer = (q, res) => sse(res, w.opening(), w.piece(text), event, ...(q.n === 1 ? [] : [event, w.closing()])).end();
        const r = await ask(pair);
        assert.equal(r.text.split("QUFB").length, 2, r.text);
        assert.ok(isError(r), r.text);
      },
    });

    holds(`heal ${name} stream: ${what} in what goes on with a text is not left out of an answer that ends well`, {
      async run(pair) {
        pair.own.answer = (q, res) => sse(res, w.opening(), w.piece(text), ...(q.n === 1 ? [] : [event, w.closing()])).end();
        const r = await ask(pair);
        if (name === "gemini") assert.deepEqual([r.text.split("QUFB").length, isError(r)], [2, false], r.text); // it stands behind the seam
        else assert.ok(isError(r), r.text);
      },
    });
  }

for (const client of ["anthropic", "responses"])
  holds(`${client}: thinking that nobody signed is not in a stream of another provider's`, {
    config: (c) => c.models.push({ name: "moved", targets: ["own/m-own"] }),
    async run(pair) {
      const d = dialects[client], w = wires.openai;
      pair.own.answer = (q, res) => (q.url.endsWith("/responses") ? json(res, 404, { detail: "Not Found" }) : sse(res, w.opening(), data({ id: "c", choices: [{ index: 0, delta: { reasoning_content: "Hm. " }, finish_reason: null }] }), w.piece("42"), w.closing()).end());
      const r = await question(pair, d, { model: "moved", stream: true });
      assert.equal(r.said, "42", r.text);
      assert.doesNotMatch(r.text, /Hm\. |"thinking"|"reasoning_text|summary_text/);
    },
  });

holds("a byte order mark before a whole answer is no part of it", {
  async run(pair) {
    pair.own.answer = (q, res) => res.writeHead(200, { "content-type": "application/json" }).end('\ufeff{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"42"},"finish_reason":"stop"}]}');
    const r = await question(pair, dialects.openai, { model: "m-own" });
    assert.equal(JSON.parse(r.text).choices[0].message.content, "42");
    assert.equal(pair.own.seen.length, 1);
  },
});
