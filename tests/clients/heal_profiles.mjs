// The ways of other systems, as their own scenarios have them (P-T: PenguiFlow's wrapper around a step, S-T: SwarmSDK's
// smart retry): calls, events in their order, what is sent and what is said, at a real provider.
import assert from "node:assert/strict";
import { names, until } from "./net.mjs";
import { body, both, every, json, own, reply, whole } from "./wires.mjs";

const NEWEST = "report on the pages";
const isSide = (q) => !q.body.includes(NEWEST);
const sides = (pair) => pair.own.seen.filter(isSide);
const mains = (pair) => pair.own.seen.filter((q) => !isSide(q));
const told = (pair, list) => until(`${list}, not ${names(pair.events())}`, () => names(pair.events()) === list, 1500);
const SORRY = "I'm sorry, but I encountered an issue while processing your request: ";
const BOOM = { error: { message: "boom", type: "server_error", code: 500, status: "INTERNAL" } };

every((name, d, w) => {
  // Machines that test are busy: a slow answer is none of these scenarios' matter.
  const patience = (c) => Object.assign(c.timeouts, { first_byte: "10s", idle: "10s" });
  const profile = (p, more) => (c) => (patience(c), delete c.recovery.max_attempts, Object.assign(c.recovery, { profile: p, on_failure: "message" }, more)); // its own number of calls
  const long = (res) => w.refuse(res, "This model's maximum context length is 1000 tokens.", { code: "context_length_exceeded" });
  const steps = (...chars) => own(d, w, [{ user: NEWEST }, ...chars.flatMap((n, i) => [{ call: `call_${i}` }, { result: `call_${i}`, text: `{"d": "${"x".repeat(n)}"}` }])]);
  const texts = (q) => JSON.stringify(w.messages(body(q)));
  const summary = "_compressed";

  /* ---- PenguiFlow ---- */

  both(name, "P-T4 two large observations are summarised and the step is tried again", {
    config: profile("penguiflow/code"),
    async run(pair, ask) {
      pair.own.answer = (q, res) => (isSide(q) ? w.answer(res, "short") : mains(pair).length === 1 ? long(res) : reply(w, q, res, "ok"));
      const r = await ask(steps(3000, 3000, 100));
      assert.equal(r.said, "ok", r.text);
      assert.deepEqual([mains(pair).length, sides(pair).length], [2, 2]);
      const sent = texts(mains(pair)[1]);
      assert.equal(sent.split(summary).length - 1, 2);
      assert.ok(sent.includes("x".repeat(100)) && !sent.includes("x".repeat(101)));
      await told(pair, "error_recovery_attempt trajectory_compressed");
      const [attempt, compressed] = pair.events();
      assert.deepEqual([attempt.error_type, attempt.compress_attempt], ["context_length_exceeded", 0]);
      assert.deepEqual([compressed.attempt, compressed.reason, compressed.steps_compressed], [1, "context_length", 2]);
      assert.ok(compressed.original_size_chars > 6000 && compressed.compressed_size_chars < 500);
    },
  });

  both(name, "P-T5 it compresses once, then it apologises, whatever on_failure says", {
    config: profile("penguiflow/code", { on_failure: "error" }),
    async run(pair, ask) {
      pair.own.answer = (q, res) => (isSide(q) ? w.answer(res, "short") : long(res));
      const r = await ask(steps(3000));
      assert.ok(r.said.includes(SORRY), r.text);
      assert.deepEqual([mains(pair).length, sides(pair).length], [2, 1]);
      await told(pair, "error_recovery_attempt trajectory_compressed error_recovery_attempt error_recovery_failed");
      assert.equal(pair.events()[2].compress_attempt, 1);
      assert.equal(pair.events()[3].reason, "max_compress_retries_exceeded");
    },
  });

  both(name, "P-T8, P-T14 where nothing is large, an attempt is told and nothing is tried", {
    config: profile("penguiflow/code"),
    async run(pair, ask) {
      pair.own.answer = (q, res) => long(res);
      const r = await ask(steps(100, 1990)); // with what is around it: 1,999 characters
      assert.ok(r.said.includes(SORRY), r.text);
      assert.equal(pair.own.seen.length, 1);
      await told(pair, "error_recovery_attempt");
    },
  });

  both(name, "P-T9 a summariser that fails is no error", {
    config: profile("penguiflow/code"),
    async run(pair, ask) {
      pair.own.answer = (q, res) => (isSide(q) ? json(res, 500, BOOM) : mains(pair).length === 1 ? long(res) : reply(w, q, res, "ok"));
      const r = await ask(steps(9000));
      assert.equal(r.said, "ok", r.text);
      assert.match(texts(mains(pair)[1]), /\[Summary unavailable\] .*x\.\.\./);
      await told(pair, "error_recovery_attempt trajectory_compressed");
    },
  });

  for (const variant of ["code", "doc"])
    both(name, `P-T12 another refusal is answered with an apology, as in the ${variant}`, {
      config: profile(`penguiflow/${variant}`, { on_failure: "error" }),
      async run(pair, ask) {
        pair.own.answer = (q, res) => (isSide(q) ? w.answer(res, "I am sorry. Please say it in another way.") : w.refuse(res, "Invalid request format"));
        const r = await ask(steps(100));
        assert.ok(r.said.includes(variant === "doc" ? "I am sorry. Please say it in another way." : `${SORRY}Invalid request format. Please try again or rephrase your question.`), r.text);
        assert.deepEqual([mains(pair).length, sides(pair).length], [1, variant === "doc" ? 1 : 0]);
        await told(pair, "error_recovery_attempt error_recovery_success");
        assert.deepEqual(pair.events().map((e) => [e.error_type, e.strategy]), [["bad_request_other", undefined], ["bad_request_other", "graceful_failure"]]);
      },
    });

  const raised = { "a rate limit": [429, "rate_limit"], "a server error": [500, "service_unavailable"], "a gateway timeout": [504, "timeout"] };
  for (const [what, [status, type]] of Object.entries(raised))
    both(name, `P-T13 ${what} is raised as it came`, {
      config: profile("penguiflow/code"),
      async run(pair, ask) {
        const words = { error: { ...BOOM.error, message: "no luck" }, ...(name === "anthropic" && { type: "error" }) };
        pair.own.answer = (q, res) => json(res, status, words);
        const r = await ask(steps(3000));
        assert.equal(r.status, status, r.text);
        assert.equal(r.text, JSON.stringify(words));
        assert.equal(pair.own.seen.length, 1);
        await told(pair, "error_recovery_attempt");
        assert.equal(pair.events()[0].error_type, type);
      },
    });

  both(name, "P-T2 switched off, nothing is told and the error is the provider's", {
    config: profile("penguiflow/code", { enabled: false, on_failure: "error" }),
    async run(pair, ask) {
      pair.own.answer = (q, res) => long(res);
      const r = await ask(steps(3000));
      assert.equal(r.status, 400, r.text);
      assert.doesNotMatch(r.text, /daruma/);
      assert.equal(pair.own.seen.length, 1);
      assert.equal(names(pair.events()), "");
    },
  });

  both(name, "P-T2 switched off, an answer without words is what the client gets", {
    config: profile("penguiflow/code", { enabled: false, on_failure: "error" }),
    async run(pair, ask) {
      pair.own.answer = (q, res) => reply(w, q, res, "");
      const r = await ask(steps(100));
      assert.equal(r.status, 200, r.text);
      assert.doesNotMatch(r.text, /daruma called/);
      assert.equal(pair.own.seen.length, 1);
    },
  });

  both(name, "P-F10 a connection that is lost is raised with words that say so", {
    config: profile("penguiflow/code"),
    async run(pair, ask) {
      pair.own.answer = (q, res) => res.socket.destroy();
      const r = await ask(steps(100));
      assert.equal(r.status, 502, r.text);
      assert.match(r.text, /the connection was closed before the answer began/);
    },
  });

  /* ---- SwarmSDK ---- */

  const orphaned = () => own(d, w, [{ user: "look at the file" }, { text: "Let me check that file..." }, { call: "call_orphan" }, { user: `New message: ${NEWEST}` }]);
  const PRUNE = "tool_use block must have corresponding tool_result";

  both(name, "S-T1, S-T4, S-T5 an unfinished call is pruned at once, and the model is reminded", {
    config: profile("swarm/code"),
    async run(pair, ask) {
      pair.own.answer = (q, res) => (whole(w, body(q)) ? reply(w, q, res, "Recovered!") : w.refuse(res, PRUNE));
      const r = await ask(orphaned());
      assert.equal(r.said, "Recovered!", r.text);
      assert.equal(pair.own.seen.length, 2);
      const sent = body(pair.own.seen[1]), last = JSON.stringify(w.messages(sent).at(-1));
      assert.deepEqual([w.callIds(sent), w.resultIds(sent)], [[], []]);
      assert.ok(texts(pair.own.seen[1]).includes("Let me check that file..."));
      for (const words of ["New message", "<system-reminder>", "tool calls were interrupted", "look", "never executed"]) assert.ok(last.includes(words), `${words}: ${last}`);
      await told(pair, "orphan_tool_calls_pruned");
      assert.equal(pair.events()[0].pruned_count, 1);
      assert.equal(pair.events()[0].original_error, PRUNE);
    },
  });

  const final = { "S-T2 another refusal": [400, "BadRequest", "The request format may be invalid."], "S-T6 credentials that are refused": [401, "Unauthorized", "Please check your API credentials."], "S-F3 no credit": [402, "PaymentRequired", "Please check your account billing status."], "S-F3 no permission": [403, "Forbidden", "You may not have permission to access this resource."], "S-F2 a gateway timeout": [504, "UnknownAPIError", "Please review the error and try again."] };
  for (const [what, [status, type, guidance]] of Object.entries(final))
    both(name, `${what} is final and told as a message, whatever on_failure says`, {
      config: profile("swarm/code", { on_failure: "error" }),
      async run(pair, ask) {
        pair.own.answer = (q, res) => json(res, status, { ...(name === "anthropic" && { type: "error" }), error: { message: "Invalid JSON format" } });
        const r = await ask(orphaned());
        assert.equal(r.outcome, "explained", r.text);
        for (const words of ["I encountered an error while processing your request:", `**Status Code:** ${status}`, "**Message:** Invalid JSON format", guidance]) assert.ok(r.said.includes(words), r.said);
        assert.equal(pair.own.seen.length, 1);
        await told(pair, "llm_request_failed");
        const e = pair.events()[0];
        assert.deepEqual([e.error_type, e.retryable, e.severity, e.status_code], [type, false, "critical", status]);
        assert.equal(e.error_class, `RubyLLM::${/\*\*Error Type:\*\* (\w+)/.exec(r.said)[1]}`);
      },
    });

  for (const [what, status, type] of [["S-T8 a server that stays down", 500, "ServerError"], ["S-T9 a rate limit", 429, "RateLimit"], ["S-T9 overload", 529, "Overloaded"]])
    both(name, `${what} is called three times, then raised`, {
      config: profile("swarm/code"),
      async run(pair, ask) {
        pair.own.answer = (q, res) => json(res, status, BOOM);
        const r = await ask(orphaned());
        assert.equal(r.status, status, r.text);
        assert.equal(pair.own.seen.length, 3);
        await told(pair, "llm_retry_attempt llm_retry_attempt llm_retry_exhausted");
        const list = pair.events();
        assert.deepEqual(list.map((e) => e.error_type), [type, type, type]);
        assert.deepEqual([list[0].attempt, list[1].attempt, list[2].attempts], [1, 2, 3]);
        assert.equal(list[0].delay_ms, list[1].delay_ms, "the wait grows");
        assert.deepEqual([list[0].max_retries, list[0].retry_delay], [3, list[0].delay_ms / 1000]);
      },
    });

  both(name, "S-T8 a server that comes back", {
    config: profile("swarm/code"),
    async run(pair, ask) {
      pair.own.answer = (q, res) => (q.n < 3 ? json(res, 500, BOOM) : reply(w, q, res, "here"));
      const r = await ask(orphaned());
      assert.equal(r.said, "here", r.text);
      await told(pair, "llm_retry_attempt llm_retry_attempt");
    },
  });

  both(name, "S-T12 after pruning the tries begin anew", {
    config: profile("swarm/code"),
    async run(pair, ask) {
      pair.own.answer = (q, res) => (whole(w, body(q)) ? json(res, 500, BOOM) : w.refuse(res, PRUNE));
      const r = await ask(orphaned());
      assert.equal(r.status, 500, r.text);
      assert.equal(pair.own.seen.length, 4);
      await told(pair, "orphan_tool_calls_pruned llm_retry_attempt llm_retry_attempt llm_retry_exhausted");
      assert.equal(pair.events()[3].attempts, 3);
    },
  });

  both(name, "S-T14 a result without its call is not pruned, and that is told as a message, whatever on_failure says", {
    config: profile("swarm/code", { on_failure: "error" }),
    async run(pair, ask) {
      pair.own.answer = (q, res) => w.refuse(res, "unexpected tool_use_id found in tool_result blocks");
      const r = await ask(own(d, w, [{ user: NEWEST }, { text: "I did." }, { result: "call_gone", text: "a file" }]));
      assert.match(r.said, /BadRequestError/, r.text);
      assert.equal(pair.own.seen.length, 1);
      await told(pair, "llm_request_failed");
    },
  });
});
