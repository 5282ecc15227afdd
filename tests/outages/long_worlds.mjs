// The worlds of long.mjs. Each `run` gets `holds(name, what)`, which tells, and the scale of what lasts.
import assert from "node:assert/strict";
import { answers, arrives, names, seconds, sleep, world } from "./long_kit.mjs";

const FIRST = "the first one says this, slowly and to its end", SECOND = "somebody else says that";
const MINUTES = 310; // seconds: five minutes and a bit, more than the 300 s that Node's own fetch waits
const LONGEST = 400000; // ms: nothing here takes so long
const PATIENCE = 120000; // ms: behind the end of an outage
const how = (stream) => (stream ? "stream" : "plain");
const add = (lines, name, dialect, ...targets) => (lines[name] = { dialect, targets: targets.map((t) => (typeof t === "function" ? { dialect, answer: t } : t)) });

// A world in which every line is asked once, plain or as a stream, and what is sent arrives whole; where there is a second
// target that is well, that one's answer will do. `warm`: after answers that were quick.
const silence = (name, make, { modes = [false, true], dialects = names, warm = false, other = true } = {}) => ({
  name,
  async run(holds, scale) {
    const lines = {}, asked = [];
    for (const d of dialects)
      for (const stream of modes)
        for (const two of other ? [false, true] : [false]) {
          const line = `${d}-${how(stream)}${two ? "-two" : ""}`, answer = make(scale, d, stream);
          add(lines, line, d, warm ? answers.late(FIRST, 50) : answer, ...(two ? [answers.quick(SECOND)] : []));
          asked.push({ line, stream, two, answer });
        }
    const w = await world(lines);
    if (warm) {
      for (let i = 0; i < 5; i++) await Promise.all(asked.map(({ line, stream }) => arrives(w.ask(line, stream), [FIRST, SECOND], LONGEST)));
      for (const { line, answer } of asked) lines[line].targets[0].answer = answer;
    }
    await Promise.all(asked.map(({ line, stream, two }) =>
      holds(`${name}: ${line}`, async () => {
        const r = await arrives(w.ask(line, stream), two ? [FIRST, SECOND] : [FIRST], LONGEST);
        return `${seconds(r.ms)}${r.by ? ", by the other target" : ""}, ${lines[line].targets.map((t) => t.asked?.length ?? 0).join(" and ")} calls`;
      })));
    w.stop();
  },
});

// The only provider is down from the first second on, for a minute: `begin` and `end` say how. Four clients ask each model,
// or one (`lonely`), who finds out everything by himself.
const WELL = 5; // answers that came before
const down = (name, { begin, end, away = false, warm = false, full = false, lonely = false }) => ({
  name,
  full, // a call that may never be answered is asked about after seconds that no scale divides
  async run(holds, scale) {
    const lines = {};
    const asked = names.flatMap((d) => [false, true].flatMap((stream) => [{}, { maxRetries: 0 }].map((more) => ({ d, stream, more, line: lonely ? `${d}-${how(stream)}-${Object.keys(more).length}` : d }))));
    for (const { line, d } of asked) add(lines, line, d, answers.late(FIRST, 50));
    const w = await world(lines, { away });
    if (warm) for (let i = 0; i < WELL; i++) await Promise.all(asked.map(({ line, stream }) => arrives(w.ask(line, stream), [FIRST], LONGEST)));
    begin?.(w);
    const back = sleep(60000 * scale).then(() => (end ? end(w) : (w.provider.down = null)));
    await Promise.all(asked.map(({ d, line, stream, more }) =>
      holds(`${name}: ${d} ${how(stream)}, ${"maxRetries" in more ? "maxRetries 0" : "the SDK's own defaults"}`, async () => {
        const r = await arrives(w.ask(line, stream, { more }), [FIRST], 60000 * scale + PATIENCE);
        return `${seconds(r.ms)}, ${lines[line].targets[0].asked.length} calls`;
      })));
    await back;
    w.stop();
  },
});

// The first target answers in `usual` ms until that is known, and hangs from then on; the second is well. The answer is to
// come from the second at most half as much again as the usual time later than it takes that one.
// These worlds are measured one after the other, so that they do not take each other's time. The short form looks at half of its
// few calls: a busy machine may be slow twice, and then second calls have no budget left.
const NEIGHBOUR = 100; // ms that the neighbour takes
const FOUND_OUT = 300; // ms more where many meet the hanging model at once: few may ask beside it before those have found out
let turn = sleep(10000); // the others have begun
const hangs = (d, { behind = false, burst = false, slow = 0 } = {}) => ({
  name: `a model hangs${behind ? " behind its head" : ""}${burst ? ", many at once" : ""}${slow ? `, after ${slow} answers that were slow` : ""}: ${d}`,
  full: burst || slow > 0,
  run(holds, scale) {
    const full = scale === 1, play = () => this.play(holds, full, full ? names : [d, names[(names.indexOf(d) + 1) % names.length]]);
    return full ? (turn = turn.then(play)) : play();
  },
  async play(holds, full, others) {
    const usual = 400, learn = full ? 30 : 5, times = full ? 30 : 5, slack = full ? 60 : 2000;
    const lines = {}, modes = behind ? [true] : [false, true];
    for (const stream of modes)
      for (const other of others)
        add(lines, `${how(stream)}-${other}`, d, behind ? answers.headed(FIRST, usual) : answers.late(FIRST, usual), { dialect: other, answer: answers.late(SECOND, NEIGHBOUR) });
    const w = await world(lines);
    await Promise.all(modes.flatMap((stream) => others.map((other) =>
      holds(`${this.name} ${how(stream)}, the neighbour speaks ${other}`, async () => {
        const line = `${how(stream)}-${other}`, [first] = lines[line].targets, ask = () => arrives(w.ask(line, stream), [FIRST, SECOND], LONGEST);
        let sum = 0;
        for (let i = 0; i < learn; i++) sum += (await ask()).ms;
        const known = sum / learn, most = 1.5 * known + NEIGHBOUR + slack + (burst ? FOUND_OUT : 0), quick = first.answer;
        for (let i = 0; i < slow; i++) {
          first.answer = answers.late(FIRST, 5 * usual);
          await ask();
          first.answer = quick;
          for (let k = 0; k < 3; k++) await ask();
        }
        first.answer = behind ? answers.headed(FIRST, 1e6) : answers.never();
        const calls = first.asked.length, list = [];
        if (burst) list.push(...(await Promise.all(Array.from({ length: times }, ask))));
        else for (let i = 0; i < times; i++) list.push(await ask());
        const ms = list.map((r) => r.ms), late = ms.filter((x) => x > most), may = full ? 0 : times / 2;
        assert.ok(list.every((r) => r.by === 1), "the first one cannot have said this");
        const note = `usual ${known.toFixed(0)} ms; each: ${ms.map((x) => x.toFixed(0)).join(" ")}; ${first.asked.length - calls} calls to the one that hangs; at most ${most.toFixed(0)}`;
        assert.ok(late.length <= may, `${late.length} of ${times} took longer: ${note}`);
        return note;
      }))));
    w.stop();
  },
});

// What the client's own clock does not let through without daruma need not come through with it.
const asDirect = (name, make, dialects) => ({
  name,
  async run(holds, scale) {
    const lines = {};
    for (const d of dialects) add(lines, d, d, make(scale));
    const w = await world(lines);
    await Promise.all(dialects.map((d) =>
      holds(`${name}: ${d}`, async () => {
        const [direct, through] = await Promise.all([true, false].map((direct) => arrives(w.ask(d, false, { more: { maxRetries: 0 }, direct }), [FIRST], LONGEST).then((r) => r, (e) => e)));
        const tell = (r) => (r instanceof Error ? `${r.message.slice(0, 120)} (${r.cause?.cause?.code ?? r.cause?.code ?? ""}) ${r.measured}` : `whole after ${seconds(r.ms)}`);
        const note = `without daruma: ${tell(direct)}\nthrough daruma: ${tell(through)}`;
        if (through instanceof Error && !(direct instanceof Error)) throw new Error(note);
        return note;
      })));
    w.stop();
  },
});

const ms = (s, scale) => s * 1000 * scale;
const comment = ": keep-alive\n\n", ping = 'event: ping\ndata: {"type": "ping"}\n\n';
const streamed = { modes: [true] }, whole = { modes: [false] };
const refuses503 = (w, q, res) => res.writeHead(503, { "content-type": "application/json" }).end(JSON.stringify({ type: "error", error: { type: "api_error", code: 503, status: "UNAVAILABLE", message: "Service temporarily unavailable" } }));

export const worlds = [
  silence("70 s before the first byte", (s) => answers.late(FIRST, ms(70, s))),
  silence("70 s before the first byte of a model that is quick else", (s) => answers.late(FIRST, ms(70, s)), { warm: true }),
  silence("40 s of silence within a stream", (s) => answers.within(FIRST, ms(40, s)), streamed),
  silence("5 minutes before the head of a stream", (s) => answers.late(FIRST, ms(MINUTES, s)), streamed),
  silence("5 minutes before the head of a stream of a model that is quick else", (s) => answers.late(FIRST, ms(MINUTES, s)), { ...streamed, warm: true }),
  silence("5 minutes before the content of a stream", (s) => answers.headed(FIRST, ms(MINUTES, s)), streamed),
  silence("5 minutes before the content of a stream of a model that is quick else", (s) => answers.headed(FIRST, ms(MINUTES, s)), { ...streamed, warm: true }),
  silence("5 minutes within the content of a stream", (s) => answers.within(FIRST, ms(MINUTES, s)), streamed),
  silence("5 minutes within the content of a stream of a model that is quick else", (s) => answers.within(FIRST, ms(MINUTES, s)), { ...streamed, warm: true }),
  silence("5 minutes of comments before the content", (s) => answers.pinging(FIRST, ms(MINUTES, s), ms(5, s), comment), streamed),
  silence("5 minutes of ping events before the content", (s) => answers.pinging(FIRST, ms(MINUTES, s), ms(5, s), ping), { ...streamed, dialects: ["anthropic"] }),
  silence("290 s before a plain answer", (s) => answers.late(FIRST, ms(290, s)), whole),
  silence("290 s of white space before a plain answer", (s) => answers.blanks(FIRST, ms(290, s), ms(5, s)), whole),
  asDirect("330 s before a plain answer, beside a call without daruma", (s) => answers.late(FIRST, ms(330, s)), names),
  asDirect("330 s of white space before a plain answer, beside a call without daruma", (s) => answers.blanks(FIRST, ms(330, s), ms(5, s)), names),
  down("down for 60 s, refuses connections", { away: true, end: (w) => w.provider.back() }),
  down("down for 60 s, refuses connections after it was well", { warm: true, begin: (w) => w.provider.away(), end: (w) => w.provider.back() }),
  down("down for 60 s, 503, for one client alone", { lonely: true, begin: (w) => (w.provider.down = refuses503) }),
  down("down for 60 s, 503", { begin: (w) => (w.provider.down = refuses503) }),
  down("down for 60 s, silent", { full: true, warm: true, begin: (w) => (w.provider.down = answers.never()) }),
  down("down for 60 s, silent, for one client alone", { full: true, lonely: true, warm: true, begin: (w) => (w.provider.down = answers.never()) }),
  down("down for 60 s, silent and never heard before", { full: true, begin: (w) => (w.provider.down = answers.never()) }),
  down("down for 60 s, silent, then resets", { begin: (w) => ((w.mute = []), (w.provider.down = (_, q, res) => w.mute.push(res))), end: (w) => ((w.provider.down = null), w.mute.forEach((res) => res.destroy())) }),
  ...names.flatMap((d) => [hangs(d), hangs(d, { behind: true }), hangs(d, { burst: true })]),
  hangs("openai", { slow: 4 }),
];
