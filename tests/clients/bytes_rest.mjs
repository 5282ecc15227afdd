// Questions of the gateway's own, those who listen to events, connections; and that no limit was forgotten.
import assert from "node:assert/strict";
import net from "node:net";
import { ask, until } from "./net.mjs";
import { sleep } from "./pair.mjs";
import { around, askFor, covered, dialects, filling, found, limits, meets, patient, scenarios, seen } from "./bytes_kit.mjs";
import { wires } from "./wires.mjs";

meets(["SIDE_ANSWER_BYTES_MAX"], "an answer to a question of the gateway's own is taken whole or not at all", {
  config: (c) => (patient(c), (c.recovery.max_attempts = 3)),
  async run(pair) {
    const [d, w] = [dialects.openai, wires.openai];
    const newest = "what is the newest order?", long = "lorem ipsum dolor sit amet ".repeat(400);
    const turns = [...Array.from({ length: 6 }, (_, i) => [{ user: `question ${i}: ${long}` }, { text: `answer ${i}: ${long}` }]).flat(), { user: newest }];
    for (const [at, size] of around(limits.SIDE_ANSWER_BYTES_MAX))
      for (const framing of ["length", "chunked"]) {
        await pair.again((c) => (patient(c), (c.recovery.max_attempts = 3)));
        const what = `SIDE_ANSWER_BYTES_MAX, ${framing}, ${at}`;
        const summary = `Summary: ${"it was said. ".repeat(40)}`.trim();
        const frame = (more) => JSON.stringify({ id: "x", more, object: "chat.completion", model: "m-own", choices: [{ index: 0, message: { role: "assistant", content: summary }, finish_reason: "stop" }], usage: { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 } });
        const more = filling(size - frame("").length).toString();
        const sides = [], mains = [];
        pair.own.answer = (q, res) => {
          const text = q.body.toString();
          if (!text.includes(newest)) {
            sides.push(text);
            const bytes = Buffer.from(frame(more));
            return res.writeHead(200, { "content-type": "application/json", ...(framing === "length" && { "content-length": bytes.length }) }).end(bytes);
          }
          mains.push(text);
          return mains.length === 1 ? w.overflow(res, 6000, 30000) : w.answer(res, "done");
        };
        const r = await askFor(pair, d, { more: { messages: w.history(turns) }, keep: true });
        assert.ok(sides.length > 0, `${what}: nobody was asked`);
        // The summary is in what is sent, from its first byte to its last, or nothing of it is.
        for (const text of mains.slice(1)) assert.equal(text.includes("Summary: "), text.includes(summary), `${what}: a part of the summary was taken`);
        found(what, r.status !== 200 ? String(r.status) : mains.at(-1).includes(summary) ? "taken" : "not taken", size <= limits.SIDE_ANSWER_BYTES_MAX ? "taken" : /^(not taken|[45]\d\d)$/);
      }
  },
});

meets(["MODELS_LIST_BYTES_MAX"], "a provider's list of models is taken whole or not at all", {
  config: (c) => (patient(c), (c.providers = c.providers.filter((p) => p.name === "own" || p.name === "own-responses")), (c.models = [])),
  async run(pair) {
    for (const [at, size] of around(limits.MODELS_LIST_BYTES_MAX))
      for (const framing of ["length", "chunked"]) {
        const frame = (more) => JSON.stringify({ object: "list", data: [{ id: "m-1", more }, { id: "m-2" }] });
        const bytes = Buffer.from(frame(filling(size - frame("").length).toString()));
        pair.own.seen = [];
        pair.own.answer = (q, res) => (q.n === 1 ? res.writeHead(200, { "content-type": "application/json", ...(framing === "length" && { "content-length": bytes.length }) }).end(bytes) : res.writeHead(200, { "content-type": "application/json" }).end('{"data":[{"id":"m-3"}]}'));
        const r = await ask(pair, "/v1/models", { headers: { ...dialects.openai.headers, "x-case": `${at}, ${framing}` } }); // each a list of its own
        const ids = JSON.parse(r.text).data.map((m) => m.id).sort().join(" ");
        assert.equal(r.status, 200);
        if (size <= limits.MODELS_LIST_BYTES_MAX) assert.ok(r.bytes.includes(bytes.subarray(bytes.indexOf('{"id":"m-1"'), bytes.indexOf(',{"id":"m-2"'))), "its bytes are others");
        found(`MODELS_LIST_BYTES_MAX, ${framing}, ${at}`, ids, size <= limits.MODELS_LIST_BYTES_MAX ? "m-1 m-2 m-3" : "m-3");
      }
  },
});

meets(["EVENT_SUBSCRIBERS_MAX"], "who listens to events hears them all, or is refused", {
  config: patient,
  async run(pair) {
    const d = dialects.openai, max = limits.EVENT_SUBSCRIBERS_MAX;
    const open = [];
    const listen = () => new Promise((ok) => {
      const s = net.connect(pair.port, "127.0.0.1", () => s.write("GET /daruma/events HTTP/1.1\r\nhost: localhost\r\n\r\n"));
      const one = { s, text: "", closed: false };
      open.push(one);
      s.on("data", (b) => ((one.text += b), ok(one)));
      s.on("close", () => ((one.closed = true), ok(one)));
      s.on("error", () => {});
    });
    try {
      for (let i = 0; i < 3 * max; i++) await listen();
      for (const [at, n] of around(max)) {
        found(`EVENT_SUBSCRIBERS_MAX, ${at}`, /^HTTP\/1\.1 (\d+)/.exec(open[n - 1].text)?.[1] ?? "nothing", n <= max ? "200" : "503");
      }
      pair.own.answer = (q, res) => res.writeHead(404, { "content-type": "application/json" }).end('{"error":{"message":"no such model","type":"invalid_request_error","code":"model_not_found"}}');
      await askFor(pair, d);
      const last = pair.eventsText().split("\n").filter(Boolean).at(-1);
      for (const one of open.slice(0, max)) await until("all events", () => one.text.includes(last));
    } finally {
      for (const one of open) one.s.destroy();
    }
  },
});

meets(["CONNECTIONS_MAX"], "who comes when every connection is taken is told so", {
  config: (c) => (patient(c), (c.limits = { connections: 50 })),
  async run(pair) {
    const max = 50, open = [];
    await sleep(100); // those who asked whether it is there have gone
    try {
      for (let i = 0; i < 3 * max; i++) {
        await new Promise((ok) => {
          const s = net.connect(pair.port, "127.0.0.1", ok), one = { s, text: "" };
          open.push(one);
          s.on("data", (b) => (one.text += b));
          s.on("error", () => {});
          s.write(`POST ${dialects.openai.path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\nexpect: 100-continue\r\n\r\n`); // who is at work stays
        });
        await until("it has heard", () => open[i].text);
      }
      for (const [at, n] of around(max)) {
        const refused = open[n - 1].text;
        if (n < max) assert.match(refused, /^HTTP\/1\.1 100 /, at);
        if (n > max) assert.match(refused, /^HTTP\/1\.1 503 /, at);
        found(`CONNECTIONS_MAX, as limits.connections, ${at}`, /^HTTP\/1\.1 503 /.test(refused) ? "503" : "welcome", n < max ? "welcome" : n > max ? "503" : /^(503|welcome)$/);
      }
    } finally {
      for (const one of open) one.s.destroy();
    }
    await until("somebody goes", async () => (await ask(pair, "/daruma/health").catch(() => ({}))).status === 200);
  },
});

/* ---- none was forgotten ---- */

// Limits that count bytes, and why nothing on its way through the gateway can lose any by them.
const elsewhere = {
  "how a text is judged or looked for; what is sent stays as it is": "CLASSIFY_MESSAGE_BYTES_MAX QUOTE_REQUEST_BYTES_MAX QUOTE_MARKS_BYTES WINDOW_BYTES_MIN LOOKUP_BYTES_MIN HASHED_BYTES_MAX REPAIR_LOOK_BYTES REPAIR_JUNK_BYTES_MAX SCHEMA_STEP_BYTES JOIN_FIRST_BYTES JOIN_OVERLAP_BYTES_MIN JOIN_OPENER_BYTES_MAX JOIN_TAIL_BYTES JOIN_ANCHOR_BYTES_MAX JOIN_KEPT_BYTES KNOWN_MEAN_BYTES TOOL_HINT_BYTES_MAX KNOWN_LOOK_BYTES_MIN SAME_STRING_BYTES_MAX SAME_ANSWER_BYTES_MAX SAME_FAILURE_BYTES_MAX SAME_LINES_BYTES_MAX TOOL_COMPLAINT_BYTES_MAX TOOL_COMPLAINTS_BYTES_MAX TOOL_TEXT_HEAD_BYTES TOOL_TEXT_TAIL_BYTES TOOL_LINE_BYTES_MAX WATCH_JUDGED_BYTES_MAX",
  "words of ours about a failure, an agent or a call, in an event, a notice or a question": "FAILURE_TEXT_BYTES_MAX REFUSED_SHOWN_BYTES METER_NAME_BYTES_MAX ARGS_WHY_BYTES_MAX ASK_ANSWER_BYTES_MAX WATCH_LAST_BYTES WATCH_FIRST_WORDS_BYTES VERDICT_TEXT_BYTES_MAX VERDICT_TOOL_BYTES_MAX PARTIAL_RESULT_BYTES_MAX PARTIAL_WORDS_BYTES_MAX STRATEGY_SCHEMA_BYTES_MAX LESSON_BYTES_MAX TOOL_WHOLE_BYTES_MAX TRACKED_TEXT_BYTES_MAX TRACKED_NAME_BYTES_MAX ERRORS_SHORT_BYTES SEED_MESSAGE_BYTES_MAX SPAN_BYTES_MAX",
  "lines between replicas, which are told in as many messages as they need, as the scenarios `replicas:` hold": "REPLICA_PIECE_BYTES",
  "lines of the usage log that wait for others: a longer one goes out by itself, as tests/test_log_file.c holds": "LOG_HELD_BYTES",
  "spans on their way to a collector: what does not fit is lost and counted, as the scenarios `trace:` hold; of its answers and those of providers only the beginning is read": "EXPORT_BATCH_BYTES EXPORT_ANSWER_BYTES_MAX TRACE_LOOK_BYTES_MAX",
  "what a remedy shortens on purpose, marks in its place and tells in an event, because the provider refused the whole": "MASK_OVER_BYTES MASK_HEAD_BYTES MASK_TAIL_BYTES MASK_BARE_OVER_BYTES MASK_BARE_HEAD_BYTES MASK_BARE_TAIL_BYTES MASK_KEPT_BYTES_MAX MASK_KEPT_BYTES_MIN MASK_TOKEN_BYTES_MAX MASK_FAILED_OVER_BYTES MASKED_BYTES_MAX SHED_BYTES_MIN SHED_WRITTEN_BYTES",
  "of a request that is mended or converted: what is larger stays as it came, or is done on another thread, as the tests of large requests hold": "MEND_ARENA_BYTES_MAX LOOP_BYTES_MAX LOOP_READ_BYTES_MAX LOOK_BYTES_MAX TOOLS_READ_BYTES_MAX TOOLS_LOOP_BYTES_MAX CALLS_LOOP_BYTES_MAX CALLS_CHECKED_BYTES_MAX SCHEMA_SMALL_BYTES JOB_BYTES_MIN MEND_KEPT_BYTES",
  "where a short body stands, and what memory of a request is kept for the next; it is taken whole, wherever it stands": "CALL_BODY_BYTES_MAX CALL_KEPT_BYTES_MAX",
  "of all requests together, the default of limits.memory: beyond it 503 and when to come again, as the tests of large requests hold": "ALL_BODIES_BYTES_MAX",
  "of a remedy that is left undone when it does not fit: the schema of a tool stays as it came": "SCHEMA_BYTES_MAX",
  "ids and names that providers refuse when they are longer; each is replaced both ways, as the tests of convert and mend hold": "MEND_ID_BYTES_MAX MEND_ID_BYTES_MIN MEND_NAME_BYTES_MAX CALL_ID_BYTES_MAX CHAT_CALL_ID_BYTES_MAX TOOL_NAME_BYTES_MAX ANTHROPIC_TOOL_NAME_BYTES_MAX OPENAI_USER_BYTES_MAX ANTHROPIC_USER_BYTES_MAX",
  "an answer that was found wrong, kept should nothing better come: a longer one is an error, said": "GIVEN_BYTES_MAX",
  "what is remembered of other requests; what does not fit is not remembered": "RENAMED_ID_BYTES_MAX KNOWN_TEXT_BYTES WATCH_READ_BYTES_MAX MODELS_KEPT_BYTES_MAX STORED_ANSWER_BYTES_MAX STORED_READ_BYTES_MAX ANSWER_ID_BYTES_MAX STORED_BYTES_MAX",
  "events kept for who opens the page later; the older half goes first, and the file has all, as the scenarios `page:` hold": "EVENTS_KEPT_BYTES_MAX",
  "words of anthropic-beta that a provider refuses; where they are more the whole field goes, as the scenarios `anthropic-beta` hold": "BETAS_BYTES_MAX",
  "how much memory is taken at first; it grows": "REDACT_INDEX_BYTES_USUAL MEND_ROOM_BYTES_USUAL HEAD_BYTES_USUAL WHOLE_BYTES_USUAL CALL_BYTES_USUAL TALK_SAID_BYTES_USUAL TURN_DELTAS_FEW",
  "what waits for all clients together; beyond it those who read nothing are let go sooner, as test_server.c holds": "READERS_BYTES_MAX",
  "one message of a cloud's stream, room for an event of SSE_EVENT_BYTES_MAX in base64: a larger one is no message, as test_event_stream.c holds": "EVENT_STREAM_BYTES_MAX",
  "small writes that wait for the end of a turn of the loop: longer ones go out by themselves, as tests/test_gather.c holds": "GATHERED_BYTES GATHERED_PIECE_BYTES_MAX",
  "one piece of what is spoken in TLS, as the scenarios `lock:` hold": "SERVER_PLAIN_BYTES",
  "a rate, and too slow is answered with 408": "BODY_BYTES_PER_MS_MIN",
  "the ends of a request that the client's own retry is known by; the request goes out as it is": "REQUEST_KNOWN_BYTES",
  "files and commands of this machine, read before anybody connects": "CONFIG_BYTES_MAX CONFIG_TOKEN_BYTES_MAX CONFIG_MEMORY_BYTES_MAX CONFIG_PROCESS_BYTES_MAX",
  "the public library, which the gateway does not use": "LIB_OPTIONS_BYTES_MAX LIB_STATUS_BYTES_MAX LIB_SNAPSHOT_BYTES_MAX LIB_SLOW_BYTES",
  "names that a refusal quotes are looked for so far; the request goes out as it is": "NAMES_LOOKED_BYTES_MAX",
  "an agent of our own, which is no client of the gateway": "AGENT_LAST_WORDS_BYTES_MAX AGENT_LONG_TEXT_BYTES_MIN AGENT_BYTES_MAX AGENT_SCRATCH_BYTES_MAX AGENT_OBSERVATION_BYTES_MAX AGENT_ANSWER_BYTES_MAX AGENT_METADATA_BYTES_MAX AGENT_ANALYSIS_BYTES_MAX AGENT_ORIGINAL_ERROR_BYTES_MAX AGENT_OUTPUT_BYTES_MAX AGENT_PATH_BYTES_MIN AGENT_PATH_BYTES_MAX FILES_NAME_BYTES_MAX FILES_WRITER_BYTES_MAX FILE_BYTES_MAX FILE_SEARCH_BYTES_MAX FILE_PIECE_BYTES FILES_LINE_BYTES_MAX WEB_BYTES_MAX WEB_SHOWN_BYTES WEB_ERROR_BYTES WEB_LOOK_BYTES SHELL_HEAD_BYTES SHELL_TAIL_BYTES SHELL_ODD_BYTES SHELL_PRINTED_BYTES_MAX CHILD_READ_BYTES MCP_LINE_BYTES_MAX MCP_HEAD_BYTES MCP_WAITING_BYTES_MAX MCP_LAST_BYTES MCP_TOOL_SAYS_BYTES MCP_KEEP_BYTES_MAX RUN_MEMORY_BYTES_MAX RUN_TASK_BYTES_MAX RUN_TOOL_BYTES_MAX RUN_ANSWER_BYTES_MAX RUN_SHOWN_BYTES JOURNAL_WAITING_BYTES JOURNAL_PATH_BYTES APPROVE_ANSWER_BYTES APPROVE_MEMORY_BYTES AGENT_SALVAGE_BYTES_MAX",
  "the faulty provider of the tests, which is none of the gateway": "CHAOS_SCRIPT_BYTES_MAX CHAOS_KEPT_BYTES_MAX",
};

scenarios.push({
  chaos: "faults: []\n",
  name: "bytes: every limit on bytes is met by a test, or it is said why nothing can meet it",
  async run() {
    const reasons = Object.entries(elsewhere).flatMap(([why, names]) => names.split(" ").map((n) => [n, why]));
    for (const [n] of reasons) {
      assert.ok(n in limits, `${n} is no limit of limits.h any more`);
      assert.ok(!covered.has(n), `${n} is met by a test, and said not to be`);
    }
    const told = new Set(reasons.map(([n]) => n)), alike = /BYTES|^TURN_|^HTTP_|SUBSCRIBERS|^CONNECTIONS_/;
    const forgotten = Object.keys(limits).filter((n) => alike.test(n) && !covered.has(n) && !told.has(n));
    assert.deepEqual(forgotten, [], "limits that no test meets and no reason excuses");
    for (const [n, by] of [...covered].sort()) console.log(`# ${n} = ${limits[n]}: ${by.length} scenario(s)`);
    console.log(`# ${told.size} more limits on bytes cannot be met on the wire`);
  },
});

process.on("exit", () => {
  for (const [n, of] of Object.entries(seen).sort()) console.log(`# ${n}: ${Object.entries(of).map(([came, times]) => `${times} ${came}`).join(", ")}`);
});
