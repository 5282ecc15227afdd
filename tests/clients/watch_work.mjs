// Long runs of agents that look like circles and are work. Each row: a name, how many turns, and what the model does in
// turn `i` (from 0) and what its tools say to it: [tool, arguments, answer], or a list of those. "!" begins a failure.
const pad = (n, w = 2) => String(n).padStart(w, "0");
const colours = ["amber", "blue", "coral", "dun", "ecru", "fawn", "green", "heliotrope", "indigo", "jade", "khaki", "lilac"];
const word = (i) => `${colours[i % 12]}-${colours[(i * 5 + 3) % 12]}-${i}`;
const lines = (i, n) => Array.from({ length: n }, (_, k) => `${i * n + k}: ${word(i * n + k)}`).join("\n");
const ok = (i) => `ok ${i + 1} - ${word(i)}`;

export const work = [
  /* polling with moving answers */
  ["a job that gets on", 30, (i) => ["get_job", { id: "job-7" }, i < 29 ? `running, ${Math.floor((100 * i) / 29)} % done` : "finished"]],
  ["a pipeline, stage by stage", 24, (i) => ["pipeline_status", { pipeline: 4711 }, `stage ${1 + Math.floor(i / 2)} of 12: ${word(Math.floor(i / 2))}, ${i % 2 ? "tests" : "builds"}`]],
  ["a rollout", 20, (i) => ["kubectl", { args: ["rollout", "status", "deploy/web"] }, `Waiting for deployment "web" rollout to finish: ${i} of 20 updated replicas are available...`]],
  ["a log that grows", 22, (i) => ["tail_log", { file: "/var/log/shop.log", lines: 3 }, [0, 1, 2].map((k) => `worker handled ${word(i + k)}`).join("\n")]],
  ["a download, with waiting between the looks", 30, (i) => (i % 2 ? ["stat", { path: "image.iso" }, `image.iso ${(i + 1) * 52428800} bytes`] : ["wait", { seconds: 30 }, "waited"])],
  ["a queue that empties", 25, (i) => ["queue_depth", { queue: "mail" }, JSON.stringify({ queue: "mail", waiting: 240 - i * 9 - (i % 3) })]],
  ["a build that is queued for a while, then gets on", 18, (i) => ["build_status", { build: "b-12" }, i < 3 ? "queued" : `compiling ${word(i)}, ${i} of 17`]],
  /* paging */
  ["pages of orders", 26, (i) => ["list_orders", { page: i + 1, per_page: 20 }, JSON.stringify({ page: i + 1, rows: [`ORD-${1000 + i * 20}`, `ORD-${1001 + i * 20}`, word(i)] })]],
  ["a cursor", 20, (i) => ["list_events", i ? { cursor: `c_${word(i)}` } : {}, JSON.stringify({ events: [word(i * 2), word(i * 2 + 1)], next: `c_${word(i + 1)}` })]],
  ["a long file in pieces", 24, (i) => ["read_file", { path: "src/parser.c", offset: i * 40, limit: 40 }, lines(i, 6)]],
  ["search results", 16, (i) => ["web_search", { query: "carrier delays", start: i * 10 }, `${i * 10 + 1}. ${word(i)} explains\n${i * 10 + 2}. ${word(i + 7)} denies`]],
  ["a table by day, some days empty", 21, (i) => ["query", { sql: `select * from visits where day = '2025-03-${pad(i + 1)}'` }, i % 3 === 1 ? "(0 rows)" : `${word(i)} | ${17 * i + 3}\n(1 row)`]],
  /* edit and test */
  ["tests that fail less and less", 30, (i) => (i % 2 ? ["run_tests", { target: "all" }, i < 29 ? `!${15 - (i + 1) / 2} failed, ${20 + (i + 1) / 2} passed: ${word(i)} is wrong` : "35 passed"] : ["edit_file", { path: "src/price.c", old: `x${i}`, new: `y${i}` }, "edited src/price.c"])],
  ["a compiler with another error each time", 24, (i) => (i % 2 ? ["bash", { command: "make" }, i < 23 ? `!src/main.c:${40 + i * 7}: error: '${word(i)}' undeclared` : "built"] : ["edit_file", { path: "src/main.c", old: word(i), new: word(i + 1) }, "1 replacement"])],
  ["a lint, file by file", 32, (i) => (i % 2 ? ["bash", { command: "eslint src" }, `${31 - i} problems left, the first in src/${word(i + 1)}.js`] : ["write_file", { path: `src/${word(i)}.js`, content: `export default ${i};\n` }, "written"])],
  ["a test for each module", 30, (i) => (i % 2 ? ["bash", { command: `npm test -- ${word(i - 1)}` }, `1..1\n${ok(i)}`] : ["write_file", { path: `test/${word(i)}.js`, content: `check("${word(i)}");\n` }, "written"])],
  ["a parameter that is tuned", 20, (i) => ["train", { rate: (0.1 / (i + 1)).toFixed(4), epochs: 3 }, `loss ${(2.4 / (i + 1.5)).toFixed(3)}, accuracy ${(61 + i * 1.7).toFixed(1)}`]],
  ["a bisection", 16, (i) => ["git", { args: ["bisect", i % 3 ? "good" : "bad"] }, `Bisecting: ${Math.floor(40000 / 2 ** i)} revisions left to test after this\n[${word(i)}] change ${i}`]],
  ["read, edit, test, and again", 36, (i) => [["read_file", { path: `lib/${word(i / 3)}.py` }, `def f${i}(): return "${word(i)}"`], ["edit_file", { path: `lib/${word((i - 1) / 3)}.py`, old: "return", new: "yield" }, "edited"], ["run_tests", { target: "lib" }, `${12 - (i - 2) / 3} failing, ${40 + (i - 2) / 3} fine`]][i % 3]],
  /* batches */
  ["a mail to each of them", 20, (i) => ["send_mail", { to: `${word(i)}@example.com`, subject: "Your order" }, "accepted for delivery"]],
  ["pictures, one by one", 24, (i) => ["resize", { path: `img/${pad(i * 7, 4)}.png`, width: 640 }, "done"]],
  ["new customers", 18, (i) => ["create_user", { name: word(i) }, JSON.stringify({ id: 9000 + i * 13, name: word(i) })]],
  ["old files go", 20, (i) => ["delete_file", { path: `tmp/${word(i)}.bak` }, "deleted"]],
  ["thirty files are read, and some are alike", 30, (i) => ["read_file", { path: `pkg/${word(i)}/LICENSE` }, i % 5 === 2 ? "MIT License" : `License of ${word(i)}, see ${word(i + 1)}`]],
  ["four at a time", 15, (i) => [0, 1, 2, 3].map((k) => ["fetch_page", { url: `https://shop.example/${word(i * 4 + k)}` }, `<h1>${word(i * 4 + k)}</h1> costs ${i * 4 + k + 0.5}`])],
  /* scrolling and keys */
  ["a page that is scrolled", 22, (i) => ["scroll", { direction: "down", pixels: 600 }, `now seen: ${word(i)}, ${word(i + 1)}, ${word(i + 2)}`]],
  ["a menu, key by key", 18, (i) => ["press_key", { key: "Down" }, `selected: ${word(i)}`]],
  ["the next one, please", 25, (i) => ["next_record", {}, JSON.stringify({ record: word(i), amount: 100 + i * 7 })]],
  /* simulators */
  ["a simulator, tick by tick", 35, (i) => ["tick", {}, JSON.stringify({ t: i, height: Math.round(1000 * Math.cos(i / 9)), speed: Math.round(1000 * Math.sin(i / 7)) })]],
  ["a game of few moves", 30, (i) => ["move", { to: ["left", "up", "left", "down"][i % 4] }, `at ${(i * 7) % 31},${(i * 11) % 29}: ${word(i)} lies here`]],
  ["a robot that goes on", 24, (i) => (i % 2 ? ["look", {}, `${word(i)} ahead, ${300 - i * 9} cm`] : ["forward", { cm: 20 }, `stands at ${i * 10} cm`])],
  /* of each some */
  ["notes between the steps", 30, (i) => (i % 3 === 2 ? ["think", { thought: `so ${word(i)} hangs on ${word(i - 1)}` }, "noted"] : ["read_file", { path: `doc/${word(i)}.md` }, `# ${word(i)}\nsee ${word(i + 4)}`])],
];
