// Places that are silent, refuse, or are away for a while: another one is asked beside a silent one (a hedge), what
// passes is waited for, and what met one request harms no other.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { ask, count, dialects, pathOf, question, until } from "./net.mjs";
import { sleep } from "./pair.mjs";
import { holds, oneKey } from "./wire.mjs";
import { body, every, json, own, sse, streams, target, wires } from "./wires.mjs";

const words = "the quick brown fox";
const remedies = (r) => r.headers["x-daruma-remedies"] ?? "";
export const asks = (q, model) => q.body.includes(`"${model}"`) || q.url.includes(`/${model}:`);

// Answers as it was asked, in several writes.
export const answer = (v, q, res, text = words) => {
  if (!streams(q)) return v.answer(res, text);
  sse(res, v.opening(), ...text.match(/.{1,7}/gs).map((t) => v.piece(t)), v.closing()).end();
};

const fails = (res) => json(res, 500, { error: { message: "The server had an error", type: "server_error" } });

// Two targets, the first of this dialect. The clocks are off: silence alone ends nothing.
export const two = (name, other) => (c) => {
  c.models.find((m) => m.name === dialects[name].own).targets = [target[name].replace(/\/.*/, "/first"), target[other].replace(/\/.*/, "/second")];
  if (name === "responses") c.models.find((m) => m.name === dialects.openai.own).targets = ["own-responses/first", target[other].replace(/\/.*/, "/second")];
  c.timeouts = { connect: "2s", first_byte: "none", idle: "none", total: "15s" };
  oneKey(c); // else another key of the first target would be asked, too
};

// The first target is quick once, so that its usual time is known, and silent from then on. `first` and `second` answer.
async function silent(pair, d, w, stream, { first, second }) {
  const ends = { first: 0, second: 0 }; // calls that were hung up on
  let quick = true;
  pair.own.answer = (q, res) => {
    const at = asks(q, "first") ? "first" : "second";
    if (quick) return answer(w, q, res, "quick");
    res.on("close", () => (ends[at] += !res.writableFinished));
    return at === "first" ? first?.(q, res) : second(q, res);
  };
  const r = await question(pair, d, { model: d.own, stream });
  assert.equal(r.said, "quick", r.text);
  quick = false;
  pair.own.seen.length = 0;
  return ends;
}

every((name, d, w) => {
  for (const stream of [false, true]) {
    const how = `outage ${name}${stream ? " stream" : ""}`;

    for (const [other, v] of Object.entries(wires))
      holds(`${how}: beside a silent target one that speaks ${other} is asked`, {
        config: two(name, other),
        async run(pair) {
          const ends = await silent(pair, d, w, stream, { second: (q, res) => answer(v, q, res) });
          const r = await question(pair, d, { model: d.own, stream });
          assert.equal(r.status, 200, r.text);
          assert.equal(r.said, words, r.text);
          if (stream) assert.ok(d.ended(r.events) && !d.failed(r.events), r.text);
          assert.deepEqual([r.outcome, remedies(r), r.headers["x-daruma-attempts"]], ["recovered", "hedge", "2"]);
          assert.match(r.headers["x-daruma-target"], /\/second$/);
          assert.ok(r.took < 3000, `it took ${r.took} ms`);
          await until("the first call is cancelled", () => ends.first === 1);
          assert.deepEqual([pair.own.seen.length, ends.second], [2, 0]);
          assert.equal(count(pair.events(), "llm_call_hedged"), 1);
          const s = await pair.status();
          assert.deepEqual([s.requests.recovered, s.active], [1, 0], JSON.stringify(s.requests));
        },
      });

    // Above JOB_BYTES_MIN requests are worked on beside the loop, but not for a call beside another one.
    for (const [other, v] of Object.entries(wires))
      holds(`${how}: beside a silent target one that speaks ${other} is asked with a large request`, {
        config: two(name, other),
        async run(pair) {
          await silent(pair, d, w, stream, { second: (q, res) => answer(v, q, res) });
          const large = own(d, w, [{ user: `Read this: ${"word ".repeat(80000)}` }]);
          const r = await question(pair, d, { ...large, model: d.own, stream });
          assert.deepEqual([r.status, r.said, r.outcome, remedies(r)], [200, words, "recovered", "hedge"], r.text.slice(0, 300));
          assert.match(r.headers["x-daruma-target"], /\/second$/);
          assert.ok(pair.own.seen.at(-1).body.length > 400000, "it is not what the client sent");
        },
      });

    // Their memory grows in blocks: a head may begin in one and end in another.
    for (const n of name === "openai" ? [5, 10, 15, 20, 25, 30, 40, 60] : [25])
      holds(`${how}: the ${n} fields of the second answer arrive`, {
        config: two(name, name),
        async run(pair) {
          const fields = Array.from({ length: n }, (_, i) => [`x-provider-field-${i}`, `value ${i} of this provider`.padEnd(40, ".")]);
          await silent(pair, d, w, stream, { second: (q, res) => (fields.forEach(([k, value]) => res.setHeader(k, value)), answer(w, q, res)) });
          const r = await question(pair, d, { model: d.own, stream });
          assert.deepEqual([r.status, r.said, remedies(r)], [200, words, "hedge"], r.text);
          for (const [k, value] of fields) assert.equal(r.headers[k], value);
        },
      });

    for (const [what, second] of Object.entries({
      "fails inside": (q, res) => fails(res),
      "refuses it": (q, res) => w.refuse(res, "no"),
      "is reset": (q, res) => res.destroy(),
      "says nothing": (q, res) => (stream ? sse(res, w.opening()).end() : res.writeHead(200, { "content-type": "application/json" }).end()),
      "breaks off": (q, res) => (stream ? sse(res, w.opening(), w.broken()).end() : res.writeHead(200, { "content-type": "application/json", "content-length": 500 }).write('{"id": ', () => res.destroy())),
    }))
      holds(`${how}: a second call that ${what} leaves the answer of the first whole`, {
        config: two(name, name),
        async run(pair) {
          const ends = await silent(pair, d, w, stream, { first: (q, res) => setTimeout(() => answer(w, q, res), 1000), second });
          const r = await question(pair, d, { model: d.own, stream });
          assert.equal(r.status, 200, r.text);
          assert.equal(r.said, words, r.text);
          if (stream) assert.ok(d.ended(r.events) && !d.failed(r.events), r.text);
          assert.match(r.headers["x-daruma-target"], /\/first$/);
          assert.doesNotMatch(remedies(r), /hedge/);
          assert.equal(ends.first, 0);
          assert.ok(pair.own.seen.some((q) => asks(q, "second")), "nobody was asked beside it");
        },
      });

    const broken = { candidates: [{ content: { role: "model" }, finishReason: "MALFORMED_FUNCTION_CALL", index: 0 }] };
    for (const [what, second] of Object.entries({
      "is empty on purpose": (q, res) => (stream ? sse(res, w.opening(), w.closing().replace('"usageMetadata":{', '"usageMetadata":{"candidatesTokenCount":2,')).end() : w.answer(res, "")),
      ...(name === "gemini" && { "calls in a broken way": (q, res) => (stream ? sse(res, `data: ${JSON.stringify(broken)}\n\n`).end() : json(res, 200, broken)) }),
    }))
      holds(`${how}: a second answer that ${what} says nothing of its model`, {
        config: two(name, name),
        async run(pair) {
          await silent(pair, d, w, stream, { first: (q, res) => setTimeout(() => answer(w, q, res), 1500), second });
          const r = await question(pair, d, { model: d.own, stream });
          assert.deepEqual([r.status, r.said], [200, words], r.text);
          assert.ok(pair.own.seen.some((q) => asks(q, "second")), "nobody was asked beside it");
          const places = (await pair.status()).places.filter((p) => p.why === "malformed_output" || (p.bad && /second/.test(p.name)));
          assert.deepEqual(places, []); // the first was slow
        },
      });

    if (!stream)
      holds(`${how}: a second answer that is whole takes over although its connection dies behind it`, {
        config: two(name, name),
        async run(pair) {
          const longer = (res) => ({ writeHead: (status, h) => ({ end: (text) => (res.writeHead(status, { ...h, "content-length": Buffer.byteLength(text) + 2 }).write(text), setTimeout(() => res.socket.resetAndDestroy(), 30)) }) });
          await silent(pair, d, w, stream, { first: (q, res) => setTimeout(() => answer(w, q, res), 3000), second: (q, res) => answer(w, q, longer(res)) });
          const r = await question(pair, d, { model: d.own, stream });
          assert.deepEqual([r.status, r.said, remedies(r)], [200, words, "hedge"], r.text);
          assert.match(r.headers["x-daruma-target"], /\/second$/);
        },
      });

    // What its events say of it is looked at when the scenario is over.
    holds(`${how}: a second call that is refused in words with its credentials tells them to nobody`, {
      config: two(name, name),
      async run(pair) {
        await silent(pair, d, w, stream, {
          first: (q, res) => setTimeout(() => answer(w, q, res), 1000),
          second: (q, res) => {
            const said = [q.headers.authorization, q.headers["x-api-key"], q.headers["x-goog-api-key"]].filter(Boolean).join(" ");
            const error = { type: "error", error: { type: "authentication_error", message: `Incorrect API key provided: ${said}`, code: "invalid_api_key" } };
            if (stream) sse(res, w.opening(), `event: error\ndata: ${JSON.stringify(error)}\n\n`).end();
            else json(res, 200, error);
          },
        });
        const r = await question(pair, d, { model: d.own, stream });
        assert.deepEqual([r.status, r.said], [200, words], r.text);
        assert.ok(pair.events().some((e) => e.event === "llm_request_failed" && e.model === "second"), pair.eventsText());
      },
    });

    if (stream)
      holds(`${how}: a second answer that is a stream under another type is one`, {
        config: two(name, name),
        async run(pair) {
          await silent(pair, d, w, stream, { second: (q, res) => res.writeHead(200, { "content-type": "text/plain" }).end(w.opening() + w.piece(words) + w.closing()) });
          const r = await question(pair, d, { model: d.own, stream });
          assert.deepEqual([r.status, r.said, remedies(r)], [200, words, "hedge"], r.text);
        },
      });

    if (stream)
      for (const [what, write] of Object.entries({
        "lacks its last blank line": (res) => res.end((w.opening() + w.piece(words) + w.closing()).trimEnd()),
        "comes byte by byte": async (res) => {
          for (const byte of w.opening() + w.piece(words) + w.closing()) res.write(byte), await sleep(0);
          res.end();
        },
        "is one write": (res) => res.end(w.opening() + w.piece(words) + w.closing()),
        "has lines of its own for each piece of its data": (res) => res.end((w.opening() + w.piece(words) + w.closing()).replaceAll(/^data: (\{.*)$/gm, (_, o) => JSON.stringify({ ...JSON.parse(o), filler: Array(200).fill("some words") }, null, 1).replaceAll(/^/gm, "data: "))),
      }))
        holds(`${how}: a second answer that ${what} is one`, {
          config: two(name, name),
          async run(pair) {
            await silent(pair, d, w, stream, { second: (q, res) => (res.writeHead(200, { "content-type": "text/event-stream" }), write(res)) });
            const r = await question(pair, d, { model: d.own, stream });
            assert.deepEqual([r.status, r.said, remedies(r), r.headers["x-daruma-attempts"]], [200, words, "hedge", "2"], r.text);
            assert.ok(d.ended(r.events) && !d.failed(r.events), r.text);
          },
        });

    holds(`${how}: SIGTERM waits for an answer of which two are asked`, {
      config: two(name, name),
      async run(pair) {
        const g = pair.gateway();
        await silent(pair, d, w, stream, { second: (q, res) => setTimeout(() => answer(w, q, res), 600) });
        const r = question(pair, d, { model: d.own, stream });
        await until("two are asked", () => pair.own.seen.length === 2);
        pair.ended = true;
        g.kill("SIGTERM");
        assert.equal((await r).said, words);
        await until("it ended", () => g.exitCode !== null || g.signalCode);
        assert.equal(g.exitCode, 0, g.said);
      },
    });

    holds(`${how}: what was read again meanwhile does not end either of two calls`, {
      config: two(name, name),
      async run(pair) {
        const g = pair.gateway();
        await silent(pair, d, w, stream, { second: (q, res) => setTimeout(() => answer(w, q, res), 800) });
        const r = question(pair, d, { model: d.own, stream });
        await until("two are asked", () => pair.own.seen.length === 2);
        pair.write((c) => (c.models = c.models.filter((m) => m.name !== d.own)));
        g.kill("SIGHUP");
        await until("it was read again", () => g.said.includes("read again"));
        assert.equal((await r).said, words);
      },
    });

    if (stream)
      for (const [other, v] of Object.entries(wires))
        holds(`${how}: beside a stream that stands still in its midst one that speaks ${other} goes on with it`, {
          config: two(name, other),
          limit: 20000,
          async run(pair) {
            const ends = await silent(pair, d, w, stream, {
              first: (q, res) => sse(res, w.opening(), w.piece("the quick brown ")),
              second: (q, res) => answer(v, q, res, "brown fox jumps"),
            });
            const r = await question(pair, d, { model: d.own, stream });
            assert.deepEqual([r.status, r.said], [200, "the quick brown fox jumps"], r.text);
            assert.ok(d.ended(r.events) && !d.failed(r.events), r.text);
            assert.ok(r.took > 2500 && r.took < 6000, `it took ${r.took} ms`);
            await until("the first call is cancelled", () => ends.first === 1);
            assert.deepEqual([pair.own.seen.length, ends.second], [2, 0]);
            const e = pair.events().find((e) => e.event === "llm_call_hedged");
            assert.ok(e, pair.eventsText());
            const s = await pair.status();
            assert.deepEqual([s.requests.recovered, s.active], [1, 0], JSON.stringify(s.requests));
          },
        });
    if (stream)
      holds(`${how}: a stream that stood still and goes on is not gone on with by another`, {
        config: two(name, name),
        limit: 20000,
        async run(pair) {
          const ends = await silent(pair, d, w, stream, {
            first: (q, res) => {
              const [opening, quick, brown, fox] = [w.opening(), w.piece("the quick "), w.piece("brown "), w.piece("fox") + w.closing()]; // one dialect counts its events
              sse(res, opening, quick);
              setTimeout(() => (res.write(brown), setTimeout(() => res.end(fox), 1500)), 3600);
            },
            second: () => {}, // it says nothing
          });
          const r = await question(pair, d, { model: d.own, stream });
          assert.deepEqual([r.status, r.said], [200, words], r.text);
          assert.ok(d.ended(r.events) && !d.failed(r.events), r.text);
          assert.doesNotMatch(remedies(r) + r.events.at(-1).raw, /hedge/);
          assert.deepEqual([ends.first, pair.own.seen.length], [0, 2]);
          await until("the second call is cancelled", () => ends.second === 1);
        },
      });

    if (stream)
      holds(`${how}: a second call that does not go on with a stream that stands still ends nothing`, {
        config: two(name, name),
        limit: 20000,
        async run(pair) {
          const ends = await silent(pair, d, w, stream, {
            first: (q, res) => {
              const [opening, begun, rest] = [w.opening(), w.piece("the quick brown "), w.piece("fox") + w.closing()];
              sse(res, opening, begun);
              setTimeout(() => res.end(rest), 6000);
            },
            second: (q, res) => answer(w, q, res, "Sure! Here is something else that was never asked for, and it does not fit."),
          });
          const r = await question(pair, d, { model: d.own, stream });
          assert.deepEqual([r.status, r.said], [200, words], r.text);
          assert.ok(d.ended(r.events) && !d.failed(r.events), r.text);
          assert.doesNotMatch(remedies(r) + r.events.at(-1).raw, /hedge/);
          assert.deepEqual([ends.first, pair.own.seen.length], [0, 2]);
        },
      });

    // Its first second call adds nothing: that is an empty answer, or all that was missing was the end.
    if (stream)
      for (const [where, cut] of [["its last word", Infinity], ["some words", 58]])
        holds(`${how}: a stream that stands still behind ${where} is gone on with although a second call adds nothing`, {
          config: two(name, name),
          limit: 30000,
          async run(pair) {
            const text = "The quick brown fox jumps over the lazy dog and runs away into the deep dark wood.";
            let asked = 0;
            const ends = await silent(pair, d, w, stream, {
              first: (q, res) => sse(res, w.opening(), w.piece(text.slice(0, cut))),
              second: (q, res) => {
                const sent = JSON.stringify(w.messages(body(q)));
                let told = 0;
                while (told < text.length && sent.includes(text.slice(0, told + 1))) told++;
                const rest = text.slice(/What arrived ends with/.test(sent) ? told - 40 : told);
                if (++asked === 1 || !rest) sse(res, w.opening(), w.closing()).end();
                else answer(w, q, res, rest);
              },
            });
            const r = await question(pair, d, { model: d.own, stream });
            assert.deepEqual([r.status, r.said], [200, text], r.text);
            assert.ok(d.ended(r.events) && !d.failed(r.events), r.text);
            await until("the first call is cancelled", () => ends.first === 1);
            assert.equal(asked, 2);
          },
        });

    holds(`${how}: a second answer of a megabyte arrives whole`, {
      config: two(name, name),
      async run(pair) {
        const much = Array.from({ length: 100000 }, (_, i) => `word ${i % 1000}`).join(" ");
        await silent(pair, d, w, stream, { second: (q, res) => (stream ? sse(res, w.opening(), w.piece(much), w.closing()).end() : answer(w, q, res, much)) });
        const r = await question(pair, d, { model: d.own, stream });
        assert.equal(r.status, 200);
        assert.ok(r.said === much, `${r.said.length} of ${much.length} bytes`);
        assert.equal(remedies(r), "hedge");
      },
    });

    holds(`${how}: a first call that fails is taken over by the one beside it`, {
      config: two(name, name),
      async run(pair) {
        await silent(pair, d, w, stream, {
          first: (q, res) => setTimeout(fails, 800, res),
          second: (q, res) => {
            if (stream) sse(res, w.opening()); // its head is here before, its content later
            setTimeout(() => (stream ? res.end(w.piece(words) + w.closing()) : answer(w, q, res)), 1200);
          },
        });
        const r = await question(pair, d, { model: d.own, stream });
        assert.deepEqual([r.status, r.said, r.outcome, remedies(r)], [200, words, "recovered", "hedge"], r.text);
        assert.equal(pair.own.seen.length, 2);
      },
    });

    if (!stream)
      holds(`${how}: an empty answer goes out in the end without the fields of the call that took over from it`, {
        config: two(name, name),
        async run(pair) {
          const says = (res, id) => res.setHeader("x-request-id", id);
          await silent(pair, d, w, stream, {
            first: (q, res) => setTimeout(() => w.answer(says(res, "first"), ""), 800),
            second: (q, res) => setTimeout(() => w.refuse(says(res, "second"), "Something is wrong with this request"), 1200),
          });
          const r = await question(pair, d, { model: d.own });
          assert.deepEqual([r.status, r.said ?? "", r.outcome], [200, "", "degraded"], r.text);
          assert.match(remedies(r), /^hedge,.*keep_partial$/); // what the second refuses, the first is asked once more
          assert.notEqual(r.headers["x-request-id"], "second");
          assert.deepEqual(pair.own.seen.map((q) => asks(q, "second")).sort(), [false, false, false, true].slice(-pair.own.seen.length));
        },
      });

    holds(`${how}: where both calls fail it is asked again`, {
      config: two(name, name),
      async run(pair) {
        let calls = 0;
        const dies = (q, res) => (++calls > 2 ? answer(w, q, res) : setTimeout(fails, calls === 1 ? 700 : 900, res));
        await silent(pair, d, w, stream, { first: dies, second: dies });
        const r = await question(pair, d, { model: d.own, stream });
        assert.deepEqual([r.status, r.said, r.outcome], [200, words, "recovered"], r.text);
        assert.match(remedies(r), /^hedge,/);
      },
    });

    holds(`${how}: who leaves while two are asked cancels both`, {
      config: two(name, name),
      async run(pair) {
        const ends = await silent(pair, d, w, stream, { second: () => {} });
        const left = ask(pair, pathOf(d, d.own, stream), { method: "POST", headers: { ...d.headers, "content-type": "application/json", connection: "close" }, body: JSON.stringify(d.body(d.own, "hello", stream ? { stream } : {})), onStart: (req) => until("two are asked", () => pair.own.seen.length === 2).finally(() => req.destroy()) });
        await assert.rejects(left);
        await until("both are cancelled", () => ends.first === 1 && ends.second === 1);
        const s = await until("it was counted", async () => { const now = await pair.status(); return now.active === 0 ? now : null; });
        assert.equal(s.requests.cancelled, 1, JSON.stringify(s.requests));
      },
    });

    holds(`${how}: a provider that refuses connections for 3 s costs time and no answer`, {
      async run(pair) {
        const server = createServer((req, res) => {
          const parts = [];
          req.on("data", (b) => parts.push(b)).on("end", () => answer(w, { url: req.url, body: Buffer.concat(parts) }, res));
        });
        const listens = (port) => new Promise((ok) => server.listen(port, "127.0.0.1", ok));
        await listens(0);
        const port = server.address().port;
        server.close(); // nobody listens there now
        await pair.again((c) => {
          const own = target[name].replace(/\/.*/, "");
          const p = c.providers.find((x) => x.name === own);
          p.url = p.url.replace(/:\d+/, `:${port}`);
          c.models.find((m) => m.name === d.own).targets = [target[name]];
          delete c.recovery;
          delete c.timeouts;
        });
        const began = Date.now(), clients = Array.from({ length: 4 }, (_, i) => question(pair, d, { model: d.own, stream, text: `say ${i}` }));
        await sleep(3000);
        await listens(port);
        try {
          for (const r of await Promise.all(clients)) assert.deepEqual([r.status, r.said, /^(ok|recovered)$/.test(r.outcome)], [200, words, true], r.text);
          assert.ok(Date.now() - began < 12000, `it took ${Date.now() - began} ms`);
        } finally {
          server.closeAllConnections();
          server.close();
        }
      },
    });

    holds(`${how}: a page of a firewall that met one request harms no other`, {
      config: (c) => {
        c.models.find((m) => m.name === d.own).targets = [target[name]];
        delete c.recovery;
      },
      async run(pair) {
        pair.own.answer = (q, res) => (q.body.includes("DROP TABLE") ? res.writeHead(403, { "content-type": "text/html" }).end("<html><head><title>403 Forbidden</title></head><body><h1>Forbidden</h1>Request blocked.</body></html>") : answer(w, q, res));
        const blocked = question(pair, d, { model: d.own, stream, text: "DROP TABLE students" });
        for (let i = 0; i < 5; i++) {
          const r = await question(pair, d, { model: d.own, stream, text: `say ${i}` });
          assert.deepEqual([r.status, r.said, r.outcome, r.headers["x-daruma-attempts"]], [200, words, "ok", "1"], r.text);
          assert.ok(r.took < 1500, `it took ${r.took} ms`);
          await sleep(50);
        }
        assert.equal((await blocked).status, 403);
        const r = await question(pair, d, { model: d.own, stream });
        assert.deepEqual([r.status, r.outcome, r.headers["x-daruma-attempts"]], [200, "ok", "1"], r.text);
      },
    });
  }
});

holds("outage openai stream: where a second call thinks for longer than it is held, no further one is paid for", {
  config: two("openai", "openai"),
  limit: 20000,
  async run(pair) {
    const d = dialects.openai, w = wires.openai;
    await silent(pair, d, w, true, {
      first: (q, res) => (sse(res, w.opening(), w.piece("the quick brown ")), setTimeout(() => res.end(w.piece("fox") + w.closing()), 8000)),
      second: (q, res) => sse(res, w.opening(), ...Array.from({ length: 20 }, () => w.chunk({ reasoning_content: "hm ".repeat(8000) }))),
    });
    const r = await question(pair, d, { model: d.own, stream: true });
    assert.deepEqual([r.status, r.said, pair.own.seen.length], [200, words, 2], r.text);
  },
});

// Thinking cannot be gone on with, and most streams of models that think begin with it.
holds("outage anthropic stream: one that thought first and stands still in its words is gone on with", {
  config: two("anthropic", "anthropic"),
  limit: 20000,
  async run(pair) {
    const d = dialects.anthropic, w = wires.anthropic;
    const event = (o) => `event: ${o.type}\ndata: ${JSON.stringify(o)}\n\n`, block = (index, content_block) => event({ type: "content_block_start", index, content_block });
    const delta = (index, o) => event({ type: "content_block_delta", index, delta: o }), stop = (index) => event({ type: "content_block_stop", index });
    const message = event({ type: "message_start", message: { id: "msg_1", type: "message", role: "assistant", model: "m", content: [], stop_reason: null, stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } } });
    await silent(pair, d, w, true, {
      first: (q, res) => {
        sse(res, message, block(0, { type: "thinking", thinking: "", signature: "" }), delta(0, { type: "thinking_delta", thinking: "hm" }));
        setTimeout(() => res.write(delta(0, { type: "signature_delta", signature: "c2ln" }) + stop(0) + block(1, { type: "text", text: "" }) + delta(1, { type: "text_delta", text: "the quick brown " })), 300);
      },
      second: (q, res) => answer(w, q, res, "brown fox jumps"),
    });
    const r = await question(pair, d, { model: d.own, stream: true });
    assert.deepEqual([r.status, r.said], [200, "the quick brown fox jumps"], r.text);
    assert.ok(d.ended(r.events) && !d.failed(r.events), r.text);
  },
});

// What is learned of a model follows it when it gets slower little by little.
for (const stream of [false, true])
  holds(`outage openai${stream ? " stream" : ""}: a target that gets slower little by little is noticed`, {
    config: two("openai", "openai"),
    limit: 60000,
    async run(pair) {
      const d = dialects.openai, w = wires.openai;
      let first = 150;
      pair.own.answer = (q, res) => (asks(q, "second") ? answer(w, q, res) : setTimeout(answer, q.n > 12 ? (first *= 1.12) : first, w, q, res));
      const took = [];
      while (first < 5000 && took.length < 60) {
        const r = await question(pair, d, { model: d.own, stream });
        assert.deepEqual([r.status, r.said], [200, words], r.text);
        took.push(r.took);
      }
      assert.ok(Math.max(...took) < 3000, took.join(" ")); // three times what it took at most is 700 ms on a quiet machine
      assert.ok(pair.own.seen.slice(-10).filter((q) => asks(q, "first")).length <= 5, "the slow one is asked first all the time");
    },
  });

holds("outage openai whole: an answer that comes byte by byte is asked for elsewhere, also where nothing is known", {
  config: two("openai", "openai"),
  limit: 30000,
  async run(pair) {
    const d = dialects.openai, w = wires.openai;
    const drip = (q, res) => {
      const byte = JSON.stringify({ id: "c1", object: "chat.completion", created: 1, model: "m", choices: [{ index: 0, message: { role: "assistant", content: "slow" }, finish_reason: "stop" }] });
      res.writeHead(200, { "content-type": "application/json" });
      const t = setInterval((at) => res.write(byte[at.i++] ?? " "), 200, { i: 0 });
      res.on("close", () => clearInterval(t));
    };
    pair.own.answer = (q, res) => (asks(q, "second") ? answer(w, q, res) : drip(q, res));
    const unknown = await question(pair, d, { model: d.own });
    assert.deepEqual([unknown.status, unknown.said, unknown.outcome, remedies(unknown)], [200, words, "recovered", "hedge"], unknown.text);
    assert.ok(unknown.took < 13000, `it took ${unknown.took} ms`);
  },
});

// A prompt at which each place breaks. That others are answered there tells that it is no outage.
holds("outage openai: a request that fails everywhere while others are answered is given up sooner, and harms none", {
  config: (c) => (two("openai", "openai")(c), delete c.recovery, delete c.timeouts),
  limit: 90000,
  async run(pair) {
    const d = dialects.openai, w = wires.openai, others = [];
    pair.own.answer = (q, res) => (q.body.includes("poison") ? fails(res) : setTimeout(answer, 100, w, q, res));
    for (let i = 0; i < 5; i++) await question(pair, d, { model: d.own, text: `say ${i}` });
    let ended;
    question(pair, d, { model: d.own, text: "poison" }).then((r) => (ended = r));
    while (!ended) others.push(await question(pair, d, { model: d.own, text: `say ${others.length}` }));
    assert.equal(ended.status, 500);
    assert.ok(ended.took < 40000, `it took ${ended.took} ms`);
    assert.ok(others.every((r) => r.status === 200 && r.took < 1500));
    const away = others.slice(50).filter((r) => !/first$/.test(r.headers["x-daruma-target"])).length;
    assert.ok(away <= others.length / 20, `${away} of ${others.length} went elsewhere`);
  },
});

holds("outage openai whole: an answer of which a part came, and no more, is asked for elsewhere", {
  config: two("openai", "openai"),
  limit: 30000,
  async run(pair) {
    const d = dialects.openai, w = wires.openai;
    const ends = await silent(pair, d, w, false, { first: (q, res) => res.writeHead(200, { "content-type": "application/json" }).write('{"id":"c1","object":"chat.completion","choices":[{"index":0,"mess'), second: (q, res) => answer(w, q, res) });
    const r = await question(pair, d, { model: d.own });
    assert.deepEqual([r.status, r.said, r.outcome, remedies(r)], [200, words, "recovered", "hedge"], r.text);
    await until("the first call was hung up on", () => ends.first === 1);
  },
});

holds("outage openai stream: of two that are silent the first is given up, and a third is asked beside the second", {
  config: (c) => {
    two("openai", "openai")(c);
    c.models.find((m) => m.name === dialects.openai.own).targets.push(target.openai.replace(/\/.*/, "/third"));
  },
  async run(pair) {
    const ends = await silent(pair, dialects.openai, wires.openai, true, {
      second: (q, res) => asks(q, "third") && setTimeout(() => answer(wires.openai, q, res), 400),
    });
    const r = await question(pair, dialects.openai, { model: dialects.openai.own, stream: true });
    assert.equal(r.said, words, r.text);
    assert.deepEqual([r.outcome, remedies(r), r.headers["x-daruma-attempts"]], ["recovered", "hedge", "3"]);
    await until("both are cancelled", () => ends.first === 1 && ends.second === 1);
  },
});

holds("outage openai stream: beside a call that was asked for the rest and says nothing another one is asked", {
  config: two("openai", "openai"),
  limit: 20000,
  async run(pair) {
    const d = dialects.openai, w = wires.openai;
    let calls = 0;
    await silent(pair, d, w, true, {
      first: (q, res) => ++calls === 1 && (sse(res, w.opening(), w.piece("the quick brown ")), setTimeout(() => res.destroy(), 200)), // then silent
      second: (q, res) => answer(w, q, res, "brown fox jumps"),
    });
    const r = await question(pair, d, { model: d.own, stream: true });
    assert.deepEqual([r.status, r.said], [200, "the quick brown fox jumps"], r.text);
    assert.ok(d.ended(r.events) && !d.failed(r.events), r.text);
    assert.ok(r.took < 5000, `it took ${r.took} ms`);
  },
});

holds("outage gemini: who wants one JSON array gets that of the second call", {
  config: two("gemini", "gemini"),
  async run(pair) {
    const d = dialects.gemini, w = wires.gemini, path = "/v1beta/models/g-own:streamGenerateContent";
    let quick = true;
    const array = (res, text) => json(res, 200, [{ candidates: [{ content: { role: "model", parts: [{ text }] }, finishReason: "STOP", index: 0 }], usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 } }]);
    pair.own.answer = (q, res) => (quick || asks(q, "second") ? array(res, quick ? "quick" : words) : null);
    const post = () => ask(pair, path, { method: "POST", headers: { ...d.headers, "content-type": "application/json" }, body: JSON.stringify(d.body(d.own, "hello")) });
    assert.equal(d.text(JSON.parse((await post()).text)[0]), "quick");
    quick = false;
    const r = await post();
    assert.deepEqual([r.status, d.text(JSON.parse(r.text)[0]), remedies(r)], [200, words, "hedge"], r.text);
  },
});

/* ---- the clocks of clients ---- */

// One target, and no clocks of our own.
const alone = (name) => (c) => {
  c.models.find((m) => m.name === dialects[name].own).targets = [target[name]];
  c.timeouts = { connect: "2s", first_byte: "none", idle: "none" };
  oneKey(c);
};

every((name, d, w) => {
  holds(`outage ${name}: the clock of an SDK is for the head, and ends no answer behind it`, {
    config: alone(name),
    async run(pair) {
      const late = (res, then) => setTimeout(then, 15000 - (Date.now() - began)).unref();
      const began = Date.now();
      pair.own.answer = (q, res) => {
        if (!streams(q)) { // a plain one, with white space ahead
          res.writeHead(200, { "content-type": "application/json" });
          const blanks = setInterval(() => res.write("\n"), 500);
          res.on("close", () => clearInterval(blanks));
          res.writeHead = () => (clearInterval(blanks), res); // it is out
          return late(res, () => w.answer(res, words));
        }
        sse(res, w.opening());
        late(res, () => res.end(words.match(/.{1,7}/gs).map((t) => w.piece(t)).join("") + w.closing()));
      };
      const [thinks, blank, own] = await Promise.all([
        question(pair, d, { model: d.own, stream: true, headers: { "x-stainless-timeout": "13" } }),
        question(pair, d, { model: d.own, headers: { "x-stainless-timeout": "13" } }),
        question(pair, d, { model: d.own, stream: true, headers: { "x-daruma-deadline": "12s" } }),
      ]);
      for (const r of [thinks, blank]) assert.deepEqual([r.status, r.said, r.outcome], [200, words, "pending"], r.text);
      assert.ok(d.ended(thinks.events) && !d.failed(thinks.events), thinks.text);
      assert.ok(d.failed(own.events) && own.took < 14500, `it took ${own.took} ms: ${own.text}`); // that was for the answer
    },
  });

  for (const [what, refuses] of Object.entries({
    "a redirect": (res) => res.writeHead(302, { location: "https://status.example.com/" }).end(),
    "a page of a proxy": (res) => res.writeHead(400, { "content-type": "text/html" }).end("<html><h1>400 Bad Request</h1>nginx</html>"),
    "words that nobody knows": (res) => json(res, 418, { error: { message: "Upstream pool is detached" } }),
  }))
    holds(`outage ${name}: where one place has only ${what} for all, the other one is asked first`, {
      config: two(name, name),
      async run(pair) {
        pair.own.answer = (q, res) => (asks(q, "second") ? answer(w, q, res) : refuses(res));
        for (let i = 0; i < 12; i++) assert.equal((await question(pair, d, { model: d.own, text: `say ${i}` })).said, words);
        const there = pair.own.seen.filter((q) => asks(q, "first")).length;
        assert.ok(there <= 4, `${there} of 12 calls went there`);
      },
    });

  for (const status of [429, 503])
    holds(`outage ${name}: a wait that a ${status} names and that does not hold is found out by one call now and then`, {
      config: (c) => (alone(name)(c), (c.recovery.on_failure = "error")),
      async run(pair) {
        let limited = false;
        pair.own.answer = (q, res) => {
          if (!limited) return answer(w, q, res);
          res.setHeader("retry-after", "300");
          json(res, status, { error: { message: status === 429 ? "Rate limit reached" : "Service unavailable" } });
        };
        const next = (i) => question(pair, d, { model: d.own, text: `say ${i}` });
        assert.equal((await next(0)).said, words);
        limited = true;
        const told = await next(1);
        assert.deepEqual([told.status, told.headers["retry-after"]], [status, "300"], told.text);
        limited = false;
        const before = pair.own.seen.length;
        let r, asked = 0;
        for (const began = Date.now(); Date.now() - began < 10000; await sleep(20)) {
          asked++;
          if ((r = await next(2)).status === 200) break;
        }
        assert.equal(r.said, words, r.text);
        assert.equal(pair.own.seen.length, before + 1, `${asked} requests`); // the others were refused without a call
        assert.equal((await next(3)).said, words);
      },
    });

  for (const [what, status, advice, places] of [
    ["45 s, while its neighbour is down,", 429, "45", two(name, name)],
    ["40 s", 503, "40", alone(name)],
  ])
    holds(`outage ${name}: a wait of ${what} that is over sooner is found out by few calls, and nobody is lost`, {
      config: places,
      async run(pair) {
        let limited = false, refused = 0;
        pair.own.answer = (q, res) => {
          if (asks(q, "second")) return json(res, 503, { error: { message: "Service unavailable" } });
          if (!limited) return answer(w, q, res);
          refused++;
          res.setHeader("retry-after", advice);
          json(res, status, { error: { message: "Rate limit reached" } });
        };
        assert.equal((await question(pair, d, { model: d.own })).said, words);
        limited = true;
        const began = Date.now(), all = [];
        for (let i = 0; i < 8; i++, await sleep(250)) all.push(question(pair, d, { model: d.own, text: `say ${i}` }));
        await sleep(500);
        limited = false;
        for (const r of await Promise.all(all)) assert.equal(r.said, words, r.text);
        assert.ok(Date.now() - began < 8000, `it took ${Date.now() - began} ms`);
        assert.ok(refused <= 4, `${refused} calls`);
      },
    });

  holds(`outage ${name}: a wait that does not fit is told at once, to the next client without a call and with the same status`, {
    config: (c) => (alone(name)(c), (c.recovery.on_failure = "error")),
    async run(pair) {
      pair.own.answer = (q, res) => {
        res.setHeader("retry-after", "3600");
        json(res, 503, { error: { message: "Service unavailable" } });
      };
      for (let n = 0; n < 2; n++) {
        const told = await question(pair, d, { model: d.own });
        assert.deepEqual([told.status, pair.own.seen.length], [503, 1], told.text);
        assert.ok(told.took < 400 && Number(told.headers["retry-after"]) > 3590, JSON.stringify([told.took, told.headers]));
      }
    },
  });
});

holds("outage openai: where two calls at once are served and a third is refused each time, no third goes out", {
  config: (c) => (alone("openai")(c), delete c.recovery),
  async run(pair) {
    const d = dialects.openai, held = [];
    let refused = 0, release = false;
    const ends = () => held.splice(0).forEach((end) => end());
    pair.own.answer = (q, res) => {
      if (held.length >= 2) return refused++, json(res, 429, { error: { message: "Too many requests", type: "rate_limit_error" } });
      held.push(() => answer(wires.openai, q, res));
      if (release) setTimeout(ends, 50);
    };
    const asks = (text) => question(pair, d, { model: d.own, text });
    const both = () => until("two are out", () => held.length === 2);
    for (let i = 0; i < 3; i++) {
      const two = [asks(`say one ${i}`), asks(`say two ${i}`)];
      await both();
      const third = asks(`say three ${i}`);
      await until("it is refused", () => refused > i);
      ends();
      for (const r of await Promise.all(two)) assert.equal(r.said, words, r.text);
      await until("it goes out again", () => held.length, 8000);
      ends();
      assert.equal((await third).said, words);
    }
    release = true;
    for (const r of await Promise.all(Array.from({ length: 20 }, (_, i) => asks(`say ${i}`)))) assert.equal(r.said, words, r.text);
    assert.ok(refused <= 3 + 8, `${refused - 3} were refused`); // now and then more are tried
  },
});
