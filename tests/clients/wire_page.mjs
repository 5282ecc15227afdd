// The page at /daruma/: one file, asks nobody but daruma. In a browser (Debian's Chromium) it shows a recovery while it
// happens, by keyboard, at 360 px, in light and dark, behind the admin token, and never as anything but text. With
// PAGE_SHOTS=DIR pictures of it are left there; doc/page.png is one of them.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { ask, dialects, events, question, until } from "./net.mjs";
import { sleep } from "./pair.mjs";
import { fault, holds } from "./wire.mjs";

const BROWSER = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find(existsSync);
const d = dialects.openai;
const admin = "0123456789abcdef0123456789abcdef";
const wide = { width: 1100, height: 800 }, narrow = { width: 360, height: 740 };

holds("page: it is whole in itself, nothing on it comes from elsewhere, and no other page may hold it", {
  async run(pair) {
    for (const path of ["/daruma/", "/daruma"]) {
      const r = await ask(pair, path), text = r.text ?? r.body?.toString();
      assert.equal(r.status, 200);
      assert.match(r.headers["content-type"], /^text\/html/);
      assert.match(text, /<title>daruma<\/title>/);
      assert.match(r.headers["content-security-policy"], /default-src 'none';.*connect-src 'self';.*frame-ancestors 'none'/);
      assert.doesNotMatch(text, /https?:\/\/|@import|src=|innerHTML|insertAdjacentHTML|document\.write|eval\(/);
      assert.equal(Number(r.headers["content-length"]), r.bytes.length);
      const words = JSON.parse(/id="words">(.*)<\/script>\n$/.exec(text)[1]);
      for (const name of ["rate_limit", "cancelled", "retry", "explain", "dns", "local"]) assert.ok(words[name], `${name} has no words`); // the ends of each list
    }
    const foreign = await ask(pair, "/daruma/", { headers: { host: "evil.example" } });
    assert.equal(foreign.status, 403);
  },
});

holds("page: with an admin token the page opens without it, and what it shows does not", {
  admin,
  config: (c) => (c.admin = { token: admin }),
  async run(pair) {
    assert.equal((await ask(pair, "/daruma/")).status, 200);
    assert.equal((await ask(pair, "/daruma/status")).status, 401);
    assert.equal((await ask(pair, "/daruma/events")).status, 401);
  },
});

/* ---- in a browser ---- */

let started;
const browser = () =>
  (started ??= import("playwright-core").then(({ chromium }) => chromium.launch({ executablePath: BROWSER, args: process.getuid() === 0 ? ["--no-sandbox"] : [] })));

// Opens the page and looks at what every page must keep to: no error, nobody else asked, no wider than its window.
// `route` answers for daruma where it is given; `locked`: the browser itself tells of a 401 on its console.
async function open(pair, { size = wide, scheme = "light", route, locked, lost }, run) {
  const context = await (await browser()).newContext({ viewport: size, colorScheme: scheme });
  try {
    const page = await context.newPage(), asked = [], wrong = [];
    page.on("request", (r) => asked.push(r.url()));
    page.on("pageerror", (e) => wrong.push(e.message));
    page.on("console", (m) => m.type() === "error" && wrong.push(m.text()));
    if (route) await page.route("**/daruma/events", route);
    await page.goto(`${pair.base}/daruma/`);
    await run(page);
    assert.deepEqual(wrong.filter((text) => !(locked && /status of 401/.test(text)) && !(lost && /net::ERR_/.test(text))), []);
    for (const url of asked) assert.ok(url.startsWith(pair.base), url);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= size.width, "it is wider than the window");
  } finally {
    await context.close();
  }
}

const seen = (name, s, run) => holds(`page: ${name}`, { limit: 60000, ...s, ...(BROWSER ? {} : { skip: "there is no chromium (apt install chromium)" }), run });
const live = (page) => page.waitForFunction(() => document.getElementById("live").textContent === "live");
const shot = (page, name) => process.env.PAGE_SHOTS && page.screenshot({ fullPage: true, path: `${process.env.PAGE_SHOTS}/${name}.png` });
const newest = (page) => page.locator("details").first();

// The least contrast of any text that is seen, by WCAG 2: 4.5 is enough for all sizes.
const contrast = (page) =>
  page.evaluate(() => {
    const light = (c) => c.map((v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const read = (c) => c.match(/[\d.]+/g).map(Number);
    const behind = (e) => { for (; e; e = e.parentElement) { const c = read(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c.slice(0, 3); } return [255, 255, 255]; };
    let least = { ratio: 99 };
    for (const e of document.querySelectorAll("main *")) {
      if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) || !e.checkVisibility()) continue;
      const [a, b] = [light(read(getComputedStyle(e).color).slice(0, 3)), light(behind(e))].sort((x, y) => y - x), ratio = (a + 0.05) / (b + 0.05);
      if (ratio < least.ratio) least = { ratio, text: e.textContent.slice(0, 60) };
    }
    return least;
  });

for (const [size, scheme] of [[wide, "light"], [narrow, "dark"]])
  seen(`in a browser of ${size.width} px, ${scheme}, it says why a request was answered late, step by step, opened by keyboard`, {
    chaos: fault('{ times: 1, kind: quota, model: m-main }', '{ times: 1, kind: server_error, delay: 900ms, model: m-main }', '{ times: 1, kind: reset, model: m-main }'),
    config: (c) => ((c.recovery.kinds.server_error.delay = "400ms"), (c.recovery.kinds.server_error.max_delay = "400ms"), (c.timeouts.first_byte = c.timeouts.idle = "10s"), (c.timeouts.total = "30s"), (c.prices = [{ model: "*", input: 3, output: 15 }]), (c.models.length = 1)),
  }, (pair) =>
    open(pair, { size, scheme }, async (page) => {
      await live(page);
      assert.match(await page.innerText("#none"), /No request has needed help/);
      const began = Date.now(), answer = await question(pair, d, { model: d.main, text: "say fall seven times" }), took = Date.now() - began;
      assert.equal(answer.status, 200);
      await page.waitForFunction(() => /recovered in/.test(document.querySelector("summary")?.textContent));
      const short = await page.innerText("summary"), [, n, unit] = /recovered in ([\d.]+) (m?s)/.exec(short);
      const said = n * (unit === "s" ? 1000 : 1);
      assert.ok(said >= 900 && said <= took + 50, `${short}: it took ${took} ms`);
      // Where the time went stands there before anything is opened.
      for (const words of [/Late by [\d.]+ s: [\d.]+ m?s in a call to main\/m-main \(key2\) that failed: the provider had an internal error/, /\d ms of waiting before the next try, since a call to main\/m-main \(key2\) had failed/]) assert.match(short, words);
      while ((await page.evaluate(() => document.activeElement.tagName)) !== "SUMMARY") await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await page.waitForFunction(() => document.querySelector("details").open && document.querySelector("ol")?.innerText); // it opens in a later turn
      const told = await page.innerText("ol"), at = [...told.matchAll(/^at ([\d.]+) (m?s)$/gm)].map(([, v, u]) => v * (u === "s" ? 1000 : 1));
      for (const words of [/call 1 to main\/m-main \(key1\) failed.*: the account has no credit/, /daruma used another account: call 2 goes to main\/m-main \(key2\), at once/, /You exceeded your current quota/, /waited and tried again: call 3 goes to .* after a wait of \d+ ms/, /the connection was reset/, /answered, call 4 of this request/, /tokens read, .* written, cost 0\.0000/, new RegExp(`case ${answer.headers["x-daruma-case"]}`)])
        assert.match(told, words);
      // On a busy machine the call that takes 900 ms takes longer; what the page says of it stands in its event.
      const [, its, of] = /call 2 to main\/m-main \(key2\) failed after ([\d.]+) (m?s): the provider had an internal error/.exec(told) ?? assert.fail(told), slow = its * (of === "s" ? 1000 : 1);
      const event = pair.events().find((e) => e.kind === "server_error" && e.took_ms !== undefined);
      assert.ok(slow >= 900 && slow < said && Math.abs(slow - event.took_ms) <= 50, `${told}\n${JSON.stringify(event)}`);
      assert.ok(at.length >= 7 && at.every((v, i) => i === 0 || v >= at[i - 1] - 1), `the steps are not in order: ${at}`);
      // Each bar lies where its step lies in the time of the whole.
      const bars = await page.$$eval(".bar", (all) => all.map((b) => [parseFloat(b.style.marginLeft), parseFloat(b.style.width)]));
      assert.ok(bars.length >= 2 && bars.every(([left, width]) => left >= 0 && width > 0 && left + width <= 100.1), JSON.stringify(bars));
      assert.ok(bars.some(([, width]) => width > (90 * slow) / said), `the slow call is not to be seen: ${JSON.stringify(bars)}`);
      await page.waitForFunction(() => /1recovered/.test(document.getElementById("numbers").textContent));
      await page.waitForFunction(() => /main\/m-main \(key1\)the account has no credit or allowance left: the account rests/.test(document.getElementById("places").textContent) && /^well: .*main\/m-fallback \(key2\)/.test(document.getElementById("well").textContent));
      assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), scheme === "dark" ? "rgb(22, 21, 19)" : "rgb(251, 250, 248)");
      const least = await contrast(page);
      assert.ok(least.ratio >= 4.5, `hard to read: ${JSON.stringify(least)}`);
      await shot(page, scheme);
    }));

seen("of a request that was mended before its first call, or told of a failed tool, and was then answered it says so, not that it is under way", {}, (pair) =>
  open(pair, {}, async (page) => {
    await live(page);
    const answer = await question(pair, d, { more: failing(1) });
    assert.equal(answer.status, 200);
    await page.waitForFunction(() => document.querySelector("summary"));
    await page.waitForFunction(() => /recovered in [\d.]+ m?s/.test(document.querySelector("summary").textContent), null, { timeout: 3000 });
    assert.doesNotMatch(pair.eventsText(), /request_over/); // it is for those who watch
  }));

seen("who opens it later sees what was recovered before, once, and who was refused at the door", {
  chaos: fault("{ times: 1, kind: overloaded }"),
  config: (c) => (c.clients = [{ name: "nightly", token: "nightly-token-000001", rate: 1 }]),
}, async (pair) => {
  const headers = { authorization: "Bearer nightly-token-000001" };
  assert.equal((await question(pair, d, { headers })).outcome, "recovered");
  assert.equal((await question(pair, d, { headers })).status, 429);
  await open(pair, {}, async (page) => {
    await page.waitForFunction(() => /recovered in/.test(document.querySelector("summary")?.textContent));
    await page.waitForFunction(() => /request refused: a client that asks too often \(nightly\)/.test(document.getElementById("beside").textContent));
    assert.ok(!(await page.isVisible("#none")));
    const heard = await new Promise((ok) => ask(pair, "/daruma/events", { headers: { "last-event-id": "0" }, onData: (all, req) => /request_refused.*\n\n/.test(all) && (req.destroy(), ok(all)) }).catch(() => {}));
    const ids = [...heard.matchAll(/^id: (\d+)$/gm)].map((m) => m[1]), rest = await new Promise((ok) => ask(pair, "/daruma/events", { headers: { "last-event-id": ids[0] }, onData: (all, req) => /request_refused.*\n\n/.test(all) && (req.destroy(), ok(all)) }).catch(() => {}));
    assert.equal((rest.match(/^id: /gm) ?? []).length, ids.filter((id) => Number(id) > Number(ids[0])).length); // what it has is not sent again
    assert.equal(await page.locator("details").count(), 1);
  });
});

holds("page: of more events than are kept the newest are, each of them whole", {
  async run(pair) {
    const max = 512 << 10;
    for (let n = 0; pair.eventsText().length < 1.6 * max; n++) assert.equal((await question(pair, d, { more: failing(n) })).status, 200);
    const newest = pair.events().at(-1).case, text = await new Promise((ok) => ask(pair, "/daruma/events", { headers: { "last-event-id": "0" }, onData: (all, req) => new RegExp(`request_over.*"case":"${newest}".*\\n\\n$`).test(all) && (req.destroy(), ok(all)) }).catch(() => {}));
    const all = text.slice(text.indexOf("\n\n") + 2);
    assert.ok(all.length > max / 4 && all.length <= max, `${all.length} bytes`);
    for (const one of all.split("\n\n").slice(0, -1)) assert.ok(JSON.parse(/^id: \d+\ndata: (.*)$/.exec(one)[1]).event, one);
  },
});

seen("where nothing is kept of what needed help it says so, not that nothing did", {
  chaos: fault("{ times: 1, kind: overloaded }"),
}, async (pair) => {
  assert.equal((await question(pair, d)).outcome, "recovered");
  await open(pair, { route: () => new Promise(() => {}) }, (page) => page.waitForFunction(() => /^1 request needed help before this page was opened.*daruma cases FILE/.test(document.getElementById("none").textContent)));
});

seen("a summary that was asked for is a step of its own with its time, which is not the answer's", {
  chaos: `models: { m-single: { window: 8000 } }\n${fault("{ asks: summary, kind: delay, delay: 1200ms }")}`,
  config: (c) => ((c.timeouts.first_byte = c.timeouts.idle = "10s"), (c.timeouts.total = "30s")),
}, (pair) =>
  open(pair, {}, async (page) => {
    await live(page);
    const messages = Array.from({ length: 41 }, (_, i) => ({ role: i % 2 ? "assistant" : "user", content: `${i}: ${"the quick brown fox jumps over the lazy dog ".repeat(26)}` }));
    assert.equal((await question(pair, d, { more: { messages } })).outcome, "recovered");
    await page.waitForFunction(() => /recovered in/.test(document.querySelector("summary")?.textContent));
    assert.match(await page.innerText("summary"), /Late by [\d.]+ s: [\d.]+ s for summarising the conversation, which was too long/);
    await newest(page).locator("summary").click();
    await page.waitForFunction(() => /summarising the conversation took [\d.]+ s/.test(document.querySelector("ol").innerText));
    assert.ok(pair.events().find((e) => e.event === "trajectory_compressed").took_ms >= 1200);
    const again = await question(pair, d, { more: { messages } }); // it is shortened before its first call now
    assert.ok(!pair.events().some((e) => e.case === again.headers["x-daruma-case"] && e.outcome));
    await page.waitForFunction(() => document.querySelectorAll("summary").length === 2 && /recovered in/.test(document.querySelector("summary").textContent));
  }));

// Events of one case, `at` so many milliseconds each, as daruma sends them.
const sent = (...all) => all.map(([at, event, more]) => `id: ${10000 + at}\ndata: ${JSON.stringify({ event, ts: "2026-01-02T03:04:05Z", case: "00000000000000ab", asked: "birch", provider: "main", model: "birch", key: "key1", ...more })}\n\n`).join("");
const limited = { kind: "rate_limit", status: 429, message: "Try again in 9s.", retry_after_ms: 9000 };
const told = (name, body, run) => seen(name, {}, (pair) => {
  let served = false;
  return open(pair, { route: (r) => (served ? new Promise(() => {}) : ((served = true), r.fulfill({ contentType: "text/event-stream", body }))) }, async (page) => {
    await page.waitForSelector("summary");
    await newest(page).locator("summary").click();
    await page.waitForFunction(() => document.querySelector("ol").innerText);
    await run(await page.innerText("summary"), await page.innerText("ol"));
  });
});

told("a wait that is planned is told as planned",
  sent([5, "llm_request_failed", { ...limited, attempt: 1, took_ms: 5 }], [5, "llm_retry_attempt", { ...limited, remedy: "wait_retry", attempt: 2, delay_ms: 9300 }]),
  (short, steps) => {
    assert.match(short, /planned: a wait of 9\.3 s, 5 ms in 1 call that failed/);
    assert.doesNotMatch(short, /of waiting/);
    assert.match(steps, /at 5 ms\ndaruma plans a wait of 9\.3 s; then call 2 goes to main\/birch \(key1\)/);
  });

told("it begins with what took longest, each step stands where it happened, and words that come again are said once",
  sent([0, "tool_failed", { kind: "tool_error", tool: "get_weather", message: "the result was lost: whether the call took effect is unknown" }],
    [5, "llm_request_failed", { ...limited, attempt: 1, took_ms: 5 }], [5, "llm_retry_attempt", { ...limited, remedy: "wait_retry", attempt: 2, delay_ms: 9300 }],
    ...[2, 3, 4].flatMap((n) => [[9000 + n * 100, "llm_request_failed", { ...limited, retry_after_ms: -1, attempt: n, took_ms: 100 }], [9000 + n * 100, "llm_retry_attempt", { ...limited, remedy: "wait_retry", attempt: n + 1, delay_ms: 0 }]]),
    [9450, "recovery_ineffective", { remedy: "compact", compression_error: "the model that should summarise failed", took_ms: 50 }], [9500, "error_recovery_success", { ...limited, outcome: "recovered", attempts: 5, took_ms: 9500 }]),
  (short, steps) => {
    assert.match(short, /birch recovered in 9\.5 s\n9\.1 s of waiting, 305 ms in 4 calls that failed/);
    for (const words of [/^at 0 ms\nthe history has a call of get_weather without its result$/m, /^at 9\.2 s\ncall 2 to .* failed after 100 ms/m, /^at 5 ms\ndaruma waited and tried again: call 2 goes to main\/birch \(key1\) after a wait of 9\.1 s/m, /^daruma tried to summarise the conversation; that failed too$/m, /^at 9\.5 s\nmain\/birch \(key1\) answered, call 5/m]) assert.match(steps, words);
    assert.equal(steps.match(/Try again in 9s\./g).length, 1);
    assert.match(steps, /Try again in 9s\. \(the same 3 times more\)/);
  });

const scarce = fault('{ times: 1, kind: rate_limit, headers: { retry-after: "3" } }');
for (const [size, scheme] of [[wide, "dark"], [narrow, "light"]])
  seen(`in a browser of ${size.width} px a request that only waits for a place that rests is on it while it waits and behind it, and the times of all can be compared`, {
    chaos: scarce,
    config: (c) => ((c.timeouts = {}), (c.recovery.kinds = {}), c.providers.forEach((p) => p.keys.pop())),
  }, (pair) =>
    open(pair, { size, scheme }, async (page) => {
      await live(page);
      const first = question(pair, d, { text: "say first" });
      await page.waitForFunction(() => /under way/.test(document.querySelector("summary")?.textContent));
      const second = question(pair, d, { text: "say second" });
      await page.waitForFunction(() => document.querySelectorAll("summary").length === 2 && /under way.*planned: [\d.]+ s of waiting for main\/m-single \(key1\), which rested because calls there had failed: the provider asked to slow down/s.test(document.querySelector("summary").innerText));
      await Promise.all([first, second]);
      await page.waitForFunction(() => /answered in [\d.]+ s\nLate by [\d.]+ s: [\d.]+ s of waiting for main\/m-single \(key1\), which rested/.test(document.querySelector("summary").innerText) && /recovered in/.test(document.querySelectorAll("summary")[1].innerText));
      assert.doesNotMatch(pair.eventsText(), /request_waits/); // it is for those who watch
      // Bars of all requests have one scale, that is written above them; those of an opened one have their own.
      const read = () => page.evaluate(() => {
        const box = (e) => e.getBoundingClientRect(), n = (t) => parseFloat(t) * (/ ms$/.test(t) ? 1 : 1000);
        const marks = (axis) => [...axis.children].map((e) => ({ ms: n(e.textContent), x: box(e).left - box(axis).left }));
        return { axis: marks(document.getElementById("axis")), bars: [...document.querySelectorAll("#cases .parts")].map((p) => ({ ms: [...p.children].reduce((all, i) => all + Number(i.style.getPropertyValue("--ms")), 0), width: box(p.lastChild).right - box(p.firstChild).left })), steps: [...document.querySelectorAll("#cases ol .axis")].map(marks), lanes: [...document.querySelectorAll("#cases ol .lane")].map((e) => box(e).width) };
      });
      await newest(page).locator("summary").click();
      await page.waitForFunction(() => /at 0 ms\n[\d.]+ s of waiting for main/.test(document.querySelector("ol")?.innerText));
      const { axis, bars, steps, lanes } = await read();
      assert.equal(bars.length, 2);
      for (const marks of [axis, ...steps]) {
        assert.ok(marks.length >= 2 && marks.length <= 5 && marks[0].ms === 0, JSON.stringify(marks));
        for (let i = 1; i < marks.length; i++) assert.ok(Math.abs(marks[i].x / marks[i].ms - marks[1].x / marks[1].ms) < 0.001 && marks[i].x - marks[i - 1].x > 38, JSON.stringify(marks)); // even, and room for each
      }
      for (const b of bars) assert.ok(Math.abs(b.width / b.ms - axis[1].x / axis[1].ms) < 0.005, JSON.stringify({ axis, bars })); // pixels a millisecond
      assert.ok(steps.length === 1 && lanes.length >= 2 && lanes.every((w) => w >= 200 && w === lanes[0]), JSON.stringify(lanes));
      const least = await contrast(page);
      assert.ok(least.ratio >= 4.5, `hard to read: ${JSON.stringify(least)}`);
      await shot(page, `waited-${size.width}`);
    }));

seen("of a request whose provider was slow it says so, with what is usual there", {
  config: (c) => ((c.timeouts = {}), c.providers.forEach((p) => p.keys.pop())),
}, (pair) =>
  open(pair, {}, async (page) => {
    await live(page);
    for (let i = 0; i < 6; i++) await question(pair, d, { text: `say it ${i}`, stream: true });
    assert.equal(await page.locator("summary").count(), 0);
    await fetch(`${pair.chaos}/chaos/script`, { method: "POST", body: fault("{ times: 1, kind: pings_only, for: 2500ms }") });
    const late = question(pair, d, { stream: true });
    await page.waitForFunction(() => /under way\nso far: [\d.]+ s in a call to main\/m-single \(key1\) that had not begun to answer; it usually takes/.test(document.querySelector("summary")?.innerText));
    await late;
    await page.waitForFunction(() => /answered in [\d.]+ s\nLate by [\d.]+ s: main\/m-single \(key1\) took [\d.]+ s to begin its answer; it usually takes (less than 0\.1 s|\d+ ms)/.test(document.querySelector("summary")?.innerText));
  }));

/* ---- how soon, and how much ---- */

// What daruma sends to those who listen: each event with the time at which it was made, by this machine's clock.
function listening(pair) {
  const wall = Date.now() - Number(process.hrtime.bigint() / 1000000n), all = [];
  let told = 0, end;
  const done = ask(pair, "/daruma/events", { onStart: (req) => (end = () => req.destroy()), onData: (text) => {
    const whole = text.slice(told, text.lastIndexOf("\n\n") + 2);
    told += whole.length;
    for (const e of events(whole)) if (e.json) all.push({ ...e.json, at: wall + Number(/^id: (\d+)$/m.exec(e.raw)[1]) });
  } }).catch(() => {});
  return { all, end: () => (end(), done) };
}

// A history whose tools failed: an event each.
const failing = (n) => ({
  messages: [
    { role: "user", content: `say it ${n}` },
    { role: "assistant", content: null, tool_calls: Array.from({ length: 24 }, (_, i) => ({ id: `c${n}-${i}`, type: "function", function: { name: `read_${i}`, arguments: `{"path":"/${n}/${i}"}` } })) },
    ...Array.from({ length: 24 }, (_, i) => ({ role: "tool", tool_call_id: `c${n}-${i}`, content: `Error: ENOENT: no such file or directory, open '/${n}/${i}'` })),
  ],
});

seen("at 200 events a second a recovery is on it within half a second of its event, 95 of 100", {
  chaos: fault("{ rate: 0.5, kind: empty, form: text }"),
  config: (c) => ((c.recovery.max_attempts = 2), (c.timeouts.total = "4s")),
  alone: true,
}, (pair) =>
  open(pair, {}, async (page) => {
    await live(page);
    await page.evaluate(() => {
      window.shown = {}; // when the frame was painted that says of a case that it is recovered
      new MutationObserver((list) => {
        const found = new Set(list.map((m) => m.target.closest?.("details") ?? m.addedNodes[0]).filter((e) => e?.dataset?.case && /recovered in/.test(e.firstChild.textContent) && !window.shown[e.dataset.case]).map((e) => e.dataset.case));
        if (found.size) requestAnimationFrame(() => setTimeout(() => { for (const id of found) window.shown[id] ??= Date.now(); }));
      }).observe(document.getElementById("cases"), { childList: true, subtree: true });
    });
    const heard = listening(pair), asked = [];
    await until("there is a listener more", async () => (await pair.status()).events.listeners === 2);
    const began = Date.now(), end = began + 6000;
    for (; Date.now() < end; await sleep(50)) {
      while (asked.length < ((Date.now() - began) / 1000) * 45) asked.push(asked.length % 3 ? question(pair, asked.length % 3 === 1 ? dialects.anthropic : dialects.gemini, { text: "say it" }) : question(pair, d, { more: failing(asked.length) })); // each provider has a budget of retries
    }
    await Promise.all(asked);
    const over = heard.all.filter((e) => e.event === "error_recovery_success"), rate = heard.all.filter((e) => e.at < end).length / 6;
    await page.waitForFunction((ids) => ids.every((id) => window.shown[id]), over.map((e) => e.case), { timeout: 5000 }).catch(() => {});
    await heard.end();
    const shown = await page.evaluate(() => window.shown);
    const late = over.map((e) => (shown[e.case] ?? Infinity) - e.at).sort((a, b) => a - b);
    console.log(`# page: ${late.length} recoveries at ${Math.round(rate)} events a second: half of them shown within ${late[late.length >> 1]} ms, 95 of 100 within ${late[Math.floor(late.length * 0.95)]} ms, the last ${late.at(-1)} ms`);
    assert.ok(rate >= 200 && late.length >= 30, `${late.length} recoveries, ${rate} events a second`);
    assert.ok(late[0] >= -5, "it was shown before it happened");
    assert.ok(late[Math.floor(late.length * 0.95)] < 500, `${late}`);
  }));

// Events as daruma sent them, as those of other cases.
const many = (all, n) =>
  Array.from({ length: n }, (_, i) => all[i % all.length]).map(({ at, ...e }, i) => `id: ${at}\ndata: ${JSON.stringify({ ...e, case: (Math.floor(i / all.length) * 100 + parseInt(e.case.slice(-1), 16)).toString(16).padStart(16, "0") })}\n\n`).join("");

seen("it stays as small behind 40,000 events as behind 20,000", {
  limit: 120000,
  chaos: fault("{ times: 2, kind: overloaded }"),
}, async (pair) => {
  const heard = listening(pair);
  await until("somebody listens", async () => (await pair.status()).events.listeners === 1);
  await question(pair, d);
  await until("it is recovered", () => heard.all.some((e) => e.event === "error_recovery_success"));
  await heard.end();
  const body = many(heard.all, 20000);
  let served = 0;
  await open(pair, { route: (r) => (served++ < 2 ? r.fulfill({ contentType: "text/event-stream", body }) : new Promise(() => {})) }, async (page) => {
    const cdp = await page.context().newCDPSession(page), size = async () => {
      await page.evaluate(() => new Promise((ok) => requestAnimationFrame(() => setTimeout(ok))));
      await cdp.send("HeapProfiler.collectGarbage");
      return { heap: (await cdp.send("Runtime.getHeapUsage")).usedSize, nodes: await page.evaluate(() => document.querySelectorAll("*").length) };
    };
    await page.waitForFunction(() => /not connected/.test(document.getElementById("live").textContent), null, { timeout: 30000 });
    await newest(page).locator("summary").click();
    const once = await size();
    await until("they came again", () => served === 3, 30000);
    const twice = await size();
    console.log(`# page: behind 20,000 events ${once.nodes} elements and ${once.heap >> 10} KiB, behind 40,000 ${twice.nodes} and ${twice.heap >> 10} KiB`);
    assert.ok(once.nodes > 500 && once.nodes < 5000 && twice.nodes <= once.nodes + 50, `${once.nodes}, ${twice.nodes} elements`);
    assert.ok(twice.heap < once.heap + 1048576 && twice.heap < 16 << 20, `${once.heap}, ${twice.heap} bytes`);
  });
});

/* ---- what others say ---- */

const markup = `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`;
const TAGS = "B BR DETAILS DIV LI OL SPAN SUMMARY";
const tags = (page) => page.evaluate(() => [...new Set([...document.querySelectorAll("#cases *, #places *, #well *, #circles *, #numbers *, #about *, #live *")].map((e) => e.tagName))].filter((t) => t !== "BR").sort().join(" "));
const harmless = async (page) => {
  for (const tag of (await tags(page)).split(" ")) assert.ok(TAGS.includes(tag), `there is a ${tag}`);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
};

seen("markup in names, errors and headers is shown as text", {
  config: (c) => {
    c.providers[3].keys.pop();
    c.models = [{ name: `m${markup}`, targets: [`own/own${markup}`] }];
  },
}, async (pair) => {
  pair.own.answer = (q, res) => {
    if (q.n === 1) res.writeHead(429, { "content-type": "application/json", "x-request-id": markup }).end(JSON.stringify({ error: { message: markup, code: markup, type: "rate_limit_error" } }));
    else res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ id: "c", object: "chat.completion", created: 1, model: markup, choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: markup } }] }));
  };
  await open(pair, {}, async (page) => {
    await live(page);
    const r = await question(pair, d, { model: `m${markup}`, headers: { "x-request-id": markup, "x-daruma-session": markup } });
    assert.equal(r.outcome, "recovered", r.text);
    await page.waitForFunction(() => /recovered in/.test(document.querySelector("summary")?.textContent));
    await newest(page).locator("summary").click();
    await page.waitForFunction((text) => document.querySelector("ol")?.innerText.includes(text), markup);
    await page.waitForFunction((text) => document.querySelector("main").textContent.includes(`own/own${text}`), markup);
    await harmless(page);
  });
});

const EVENTS = ["llm_request_failed", "llm_retry_attempt", "llm_call_hedged", "request_mended", "trajectory_compressed", "tool_failed", "loop_detected", "nudge", "call_refused", "recovery_strategy_generated", "agent_stopped", "error_recovery_failed", "request_waits", "request_late", "error_recovery_success", "no_such_event"];
seen("markup in any field of any event is shown as text", {}, (pair) => {
  const fields = Object.fromEntries("asked kind net code message remedy provider model key outcome reason what from to tool circle strategy fate client session late_by late_words".split(" ").map((k) => [k, markup]));
  fields.spent = [{ on: markup, ms: 5, words: markup }];
  const body = EVENTS.map((event, i) => `id: ${1000 + i}\ndata: ${JSON.stringify({ event, ts: "2026-01-02T03:04:05Z", case: markup, ...fields })}\n\n`).join("");
  let served = false;
  return open(pair, { route: (r) => (served ? new Promise(() => {}) : ((served = true), r.fulfill({ contentType: "text/event-stream", body }))) }, async (page) => {
    await page.waitForSelector("summary");
    await newest(page).locator("summary").click();
    await page.waitForSelector(".circle");
    assert.ok((await page.locator("#cases li").count()) >= 12);
    await harmless(page);
  });
});

/* ---- locked, and away ---- */

seen("behind the admin token it asks for it, says that a wrong one is refused, and shows what is there when it has it", {
  admin,
  config: (c) => (c.admin = { token: admin }),
}, (pair) =>
  open(pair, { locked: true }, async (page) => {
    await page.waitForSelector("#lock:not([hidden])");
    assert.equal(await page.evaluate(() => document.querySelector("label[for=token]").control.id), "token");
    for (const wrong of ["0123456789abcdef0123456789abcdee", "ключ"]) {
      await page.fill("#token", wrong);
      await page.keyboard.press("Enter");
      await page.waitForFunction(() => /refused/.test(document.getElementById("refused").textContent));
      await sleep(200);
      assert.deepEqual([await page.innerText("#live"), await page.innerText("#numbers")], ["locked", ""]);
    }
    await page.fill("#token", admin);
    await page.keyboard.press("Enter");
    await live(page);
    await page.waitForFunction(() => /requests/.test(document.getElementById("numbers").textContent));
    assert.ok(!(await page.isVisible("#lock")));
  }));

seen("when daruma dies it says so, and of a request that its end was not seen; when daruma is back it goes on", {
  chaos: fault('{ times: 2, kind: rate_limit, headers: { retry-after: "5" } }'),
}, (pair) =>
  open(pair, { lost: true }, async (page) => {
    await live(page);
    const lost = question(pair, d).catch(() => {});
    await page.waitForFunction(() => /under way/.test(document.querySelector("summary")?.textContent));
    pair.ended = true;
    pair.gateway().kill("SIGKILL");
    await lost;
    await page.waitForFunction(() => /not connected/.test(document.getElementById("live").textContent) && /its end was not seen/.test(document.querySelector("summary").textContent));
    await page.waitForFunction(() => /^The gateway is gone since .*; the numbers are from then\.$/.test(document.getElementById("gone").textContent) && getComputedStyle(document.querySelector("#numbers b")).color === getComputedStyle(document.querySelector("#about")).color);
    await fetch(`${pair.chaos}/chaos/script`, { method: "POST", body: fault("{ times: 1, kind: overloaded }") });
    await pair.again();
    await live(page);
    await question(pair, d);
    await page.waitForFunction(() => document.querySelectorAll("details").length === 2 && /recovered in/.test(document.querySelector("summary").textContent));
    await page.waitForFunction(() => document.getElementById("gone").hidden);
  }));
