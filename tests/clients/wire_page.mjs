// The page at /daruma/: one file, asks nobody but daruma. In a browser (Debian's Chromium, where it is installed) it shows a
// recovery while it happens, by keyboard, at 360 px, in light and dark, behind the admin token.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { ask, dialects, question } from "./net.mjs";
import { fault, holds } from "./wire.mjs";

const BROWSER = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find(existsSync);
const d = dialects.openai;
const admin = "0123456789abcdef0123456789abcdef";

holds("page: it is whole in itself, nothing on it comes from elsewhere, and no other page may hold it", {
  async run(pair) {
    for (const path of ["/daruma/", "/daruma"]) {
      const r = await ask(pair, path), text = r.text ?? r.body?.toString();
      assert.equal(r.status, 200);
      assert.match(r.headers["content-type"], /^text\/html/);
      assert.match(text, /<title>daruma<\/title>/);
      assert.match(r.headers["content-security-policy"], /default-src 'none';.*connect-src 'self';.*frame-ancestors 'none'/);
      assert.doesNotMatch(text, /https?:\/\/|@import|src=|innerHTML|insertAdjacentHTML|document\.write|eval\(/);
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

if (BROWSER) {
  const { chromium } = await import("playwright-core");
  const open = async (pair, size, colorScheme, run) => {
    const browser = await chromium.launch({ executablePath: BROWSER, args: ["--no-sandbox"] });
    try {
      const page = await browser.newPage({ viewport: size, colorScheme }), asked = [], wrong = [];
      page.on("request", (r) => asked.push(r.url()));
      page.on("pageerror", (e) => wrong.push(e.message));
      await page.goto(`${pair.base}/daruma/`);
      await run(page);
      assert.deepEqual(wrong, []);
      for (const url of asked) assert.ok(url.startsWith(pair.base), url);
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= size.width, "it is wider than the window");
    } finally {
      await browser.close();
    }
  };
  const live = (page) => page.waitForFunction(() => document.getElementById("live").textContent === "live");

  for (const [size, scheme] of [[{ width: 1100, height: 800 }, "light"], [{ width: 360, height: 740 }, "dark"]])
    holds(`page: in a browser of ${size.width} px, ${scheme}, a recovery is told step by step, and opened by keyboard`, {
      limit: 60000,
      chaos: fault("{ times: 1, kind: rate_limit, headers: { retry-after: \"1\" } }", "{ times: 1, kind: overloaded }"),
      run: (pair) =>
        open(pair, size, scheme, async (page) => {
          await live(page);
          const answer = question(pair, d, { text: "say fall seven times" });
          await page.waitForSelector("details");
          assert.equal((await answer).status, 200);
          await page.waitForFunction(() => /recovered in/.test(document.querySelector("summary").textContent));
          await page.focus("summary");
          await page.keyboard.press("Enter");
          const told = await page.innerText("ol");
          for (const words of [/failed: rate limit \(429\)/, /switch key: call 2 goes to/, /answered by .* behind 3 calls/]) assert.match(told, words);
          await page.waitForFunction(() => /recovered/.test(document.getElementById("numbers").textContent));
          await page.waitForFunction(() => /well/.test(document.getElementById("places").textContent));
          const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
          assert.equal(dark, scheme === "dark" ? "rgb(22, 21, 19)" : "rgb(251, 250, 248)");
        }),
    });

  holds("page: at 200 events a second a new recovery is there within half a second, in the median", {
    limit: 60000,
    chaos: fault("{ rate: 0.9, kind: rate_limit, headers: { retry-after-ms: \"20\" } }"),
    config: (c) => (c.recovery.max_attempts = 4),
    run: (pair) =>
      open(pair, { width: 1100, height: 800 }, "light", async (page) => {
        await live(page);
        const late = [];
        for (let i = 0; i < 8; i++) {
          const before = await page.evaluate(() => document.querySelectorAll("details").length), began = Date.now();
          const burst = Promise.all(Array.from({ length: 25 }, () => question(pair, d, { text: "say it" })));
          await page.waitForFunction((n) => document.querySelectorAll("details").length > n, before, { polling: 10 });
          late.push(Date.now() - began);
          await burst;
        }
        late.sort((a, b) => a - b);
        console.log(`# page: shown after ${late.join(" ")} ms`);
        assert.ok(late[4] < 500, `${late} ms`);
      }),
  });

  holds("page: behind the admin token it asks for it, and shows what is there when it has it", {
    limit: 60000,
    admin,
    config: (c) => (c.admin = { token: admin }),
    run: (pair) =>
      open(pair, { width: 1100, height: 800 }, "light", async (page) => {
        await page.waitForSelector("#lock:not([hidden])");
        await page.fill("#token", admin);
        await page.keyboard.press("Enter");
        await live(page);
        await page.waitForFunction(() => /requests/.test(document.getElementById("numbers").textContent));
      }),
  });
} else console.log("# page: not seen in a browser, because there is no chromium (apt install chromium)");
