// Requests as no SDK sends them, byte by byte over TCP: paths that a server could read as others, forms that are for
// proxies, odd framing, wrong tokens. Providers here are a socket that counts: not one of these opens a connection to it.
import assert from "node:assert/strict";
import net from "node:net";
import { raw } from "./net.mjs";
import { holds } from "./wire.mjs";

// A provider that reads nothing but bytes: whatever comes, in whatever form, is kept.
async function counter() {
  const c = { calls: 0, bytes: "" };
  const server = net.createServer((s) => {
    c.calls++;
    s.on("error", () => {});
    s.on("data", (d) => {
      c.bytes += d.toString("latin1");
      s.end('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 11\r\nconnection: close\r\n\r\n{"data":[]}');
    });
  });
  await new Promise((ok) => server.listen(0, "127.0.0.1", ok));
  return Object.assign(c, { port: server.address().port, stop: () => server.close() });
}

const text = (method, target, headers = [], body = "", version = "HTTP/1.1") =>
  `${method} ${target} ${version}\r\n${["host: localhost", "authorization: Bearer sk-client", "connection: close", ...headers, ...(body ? [`content-length: ${body.length}`] : [])].join("\r\n")}\r\n\r\n${body}`;
const utf8 = (s) => Buffer.from(s, "utf8").toString("latin1"); // raw() is handed bytes as latin1
const percent = (s) => [...Buffer.from(s)].map((b) => `%${b.toString(16).padStart(2, "0")}`).join("");

// Each of these is read as "..", "." or nothing by some server: undone once, twice, cut at a NUL, a parameter or a
// backslash, in more bytes than needed (%c0%ae), as Windows and IIS write it (%u002e, blanks behind it), or as another
// character's compatible form.
const parents = ["..", "%2e%2e", ".%2e", "%2e.", "%2E%2e", "%252e%252e", "%25252e%25252e", "%%32%65%%32%65", "%25%32%65%25%32%65", "..%00", "..%00x", "..%0a", "..%0d%0a", "..%09", "..;", "..;x=y", "..%3b", "..%3Bx", "..%253b", "..%5c", "..%255c", "..\\", "%5c..", "%c0%ae%c0%ae", "%C0%AE.", ".%c0%ae", "%e0%80%ae%e0%80%ae", "%f0%80%80%ae%f0%80%80%ae", "%25c0%25ae%25c0%25ae", "%u002e%u002e", "%u002e.", "%25u002e%25u002e", "%uff0e%uff0e", percent("．．"), percent("。。"), percent("․․"), percent("‥"), "..%20", "%20..", "%2e%2e%20", "..%c2%a0", "%00..", "%7f..", ".", "%2e", "%252e", ".;", ".%00", ".%20", "", "%2f", "%252f", "..%2f", "..%252f", "%2f..", "%c0%af", "..%c0%af", "%e0%80%af", "%u002f", "%u2215..", ";", ";x=y", "%3b", "%00", "%0d%0aX-Y:z", "%ff", "%80", "%ed%a0%80", "%fe%ff"];
const outside = parents.flatMap((p) => [`/v1/${p}/admin`, `/v1/models/${p}/admin`, `/v1/chat/completions/${p}`, `/v1beta/models/m/${p}`]).filter((p) => !/[^/]\/$/.test(p)); // one slash at the end is no trick

// Paths that are nearly those of an API.
const near = ["/V1/Models", "/v1/MODELS", "/v1/Chat/Completions", "/v1/models.", "/v1/models..", "/v1/models%20", "/v1/%20models", "/v1/models%2e", "/v1/%6dodels", "/%76%31/models", "/v1%2fmodels", "/v1%252fmodels", "/v1/models,x", "/v1/models!", "/v1/models+", "/v1/models~1", "/v1/models::$DATA", "/v1/models$", "/v1/models%3fx", "/v1/models%23x", "/v1/mod%0065ls", "/v1/m%C5%8Ddels", `/v1/${percent("ｍodels")}`, `/v1/${percent("mоdels")}`, "/v1/models*", "/v1/models|x", "/v1/models'", '/v1/models"', "/v1/models(1)", "/v1/*", "/v1/**/models", "/v1/~/models", "/v1/models.json", "/v1/models.php", "/v1/chat.completions", "/v1/chat%2fcompletions", "/v1/chat%252fcompletions", "/v0/models/../..", "/v1./models", "/v1 /models", "/v1%00/models", "/v1%20/models", "/.v1/models", "/~v1/models", "/v1:443/models", "/v1@evil.example/models", "/@evil.example/models", "/:80/models", "/evil.example/v1/models", "/http://evil.example/v1/models", "/http:/evil.example/v1/models", "/https%3a%2f%2fevil.example/v1/models", "/?/v1/models", "/??/v1/models", "/#/v1/models", "/%23/v1/models", "/%3f/v1/models", "/a/v1/models", "/v1/v1/v1/v1/models", "/v1/api/openai/v1/x/models", "/proxy/v1/models", "/upload/download/upload/download/files"];

// Targets that are no path, and request lines that are none.
const forms = [
  ...["https://api.openai.com/v1/models", "http://evil.example/v1/models", "http://localhost.evil.example/v1/models", "http:/v1/models", "http:///v1/models", "http://u:p@localhost/v1/models", "http://localhost:80@evil.example/v1/models", "http://localhost:80x/v1/models", "http://localhost\\evil.example/v1/models", "http://localhost/v1/../admin", "http://localhost//v1/models", "http://localhost?/v1/models", "ftp://localhost/v1/models", "file:///etc/passwd", "//evil.example/v1/models", "///v1/models", "/\\evil.example/v1/models", "\\v1\\models", "v1/models", "models", "?x=y", "#x", "*", "evil.example:443", "localhost", ":80/v1/models", "@evil.example/v1/models", "/v1/models#x", "/v1/models\tx", "/v1/models\x00", "/v1/models\x0b", "/v1/models\x7f", "/v1/mod\x01els", "/v1/models\r", "/v1/models\n", "/v1/models\rX: y", utf8("/v1/modèls"), utf8("/v1/models/é"), "/v1/models/\xff", "/v1/models x", "/v1/models ", " /v1/models", "/v1/models  HTTP/1.1 ", `/v1/models/${"x".repeat(70000)}`].map((t) => text("GET", t)),
  ...["localhost:80", "api.openai.com:443", "/v1/models", "*", "http://localhost/v1/models", "[::1]:80"].map((t) => text("CONNECT", t)),
  ...["/v1/models", "*", "http://localhost/v1/models"].flatMap((t) => [text("TRACE", t), text("TRACK", t), text("DEBUG", t)]),
  ...["OPTIONS *", "OPTIONS http://localhost/"].map((t) => text(...t.split(" "))),
  ...["HTTP/0.9", "HTTP/1.2", "HTTP/2.0", "HTTP/3", "http/1.1", "HTTPS/1.1", "RTSP/1.0", "ICE/1.0", "HTTP/1.1x", "HTTP/1", "HTTP/01.1", "HTTP/1.10", ""].map((v) => text("GET", "/v1/models", [], "", v)),
  "GET /v1/models\r\n\r\n", "GET\t/v1/models\tHTTP/1.1\r\nhost: localhost\r\n\r\n", "GET /v1/models HTTP/1.1\nhost: localhost\n\n", "GET /v1/models HTTP/1.1\rhost: localhost\r\r", " GET /v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n", "get /v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n", "G\x00ET /v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "PROXY TCP4 1.2.3.4 1.2.3.4 1 2\r\nGET /v1/models HTTP/1.1\r\nhost: localhost\r\n\r\n",
];

// Switching to something else, and heads and bodies that two servers read in two ways.
const post = '{"model":"gpt-x","messages":[]}', chat = "/v1/chat/completions", twice = `0\r\n\r\nGET /v1/files HTTP/1.1\r\nhost: localhost\r\n\r\n`;
const heads = [
  ...["websocket", "WebSocket", "h2c, websocket", "websocket, h2c"].map((u) => text("GET", "/v1/realtime?model=m", [`upgrade: ${u}`, "sec-websocket-key: x", "sec-websocket-version: 13"])),
  ...["/admin", "/v1/nothing", "/metrics/x"].flatMap((p) => ["h2c", "TLS/1.0", "foo/2"].map((u) => text("GET", p, [`upgrade: ${u}`, "http2-settings: AAMAAABkAAQAAP__"]))),
  ...["x-original-url", "x-rewrite-url", "x-forwarded-path", "x-forwarded-prefix", "x-http-method-override"].map((h) => text("GET", "/nothing", [`${h}: /v1/models`])),
  ...["content-length: 5\r\ncontent-length: 6", "content-length: 5, 6", "content-length: +5", "content-length: -1", "content-length: 0x5", "content-length: 5 5", "content-length:", "content-length: 99999999999999999999", "content-length : 5", "content-length: 5\r\ntransfer-encoding: chunked", "transfer-encoding: chunked\r\ncontent-length: 5", "transfer-encoding: xchunked", "transfer-encoding: chunked, identity", "transfer-encoding: identity", "transfer-encoding: gzip, chunked", "transfer-encoding: chunked\r\ntransfer-encoding: chunked", "transfer-encoding:\x0bchunked", "transfer-encoding : chunked", " transfer-encoding: chunked", "transfer-encoding\n: chunked", "x: y\r\n z", "x: y\n\nGET /v1/files HTTP/1.1", "x y: z", ": z", "x\x00: z", "x: \x00", "x: y\rz", "host: evil.example", "host: localhost", "no colon"].map((h) => text("POST", chat, [h]) + twice),
  ...["host:", "host: evil.example", "host: localhost evil.example", "host: localhost/v1", "host: http://localhost", "host: localhost@evil.example", "host: evil.example#localhost", "x: y"].map((h) => `GET /v1/models HTTP/1.1\r\n${h}\r\nconnection: close\r\n\r\n`),
  ...["5 \r\nhello", "5;\nhello", "0x5\r\nhello", "-5\r\nhello", "fffffffffffffffff\r\nhello", "5\rhello", "g\r\n", "5\nhello\n0\n\n"].map((b) => text("POST", chat, ["transfer-encoding: chunked"]) + b),
];

// A token that is nearly the one, and one in a place or a form where nobody may show it.
const token = "sk-leak-client-one-0123456789", other = token.replace("9", "8");
const wrong = [
  ...["", " ", "Bearer", "Bearer ", `Bearer ${other}`, `Bearer ${token}x`, `Bearer ${token.slice(0, -1)}`, `Bearer x${token}`, `Bearer ${token.toUpperCase()}`, `Bearer ${token}\x00`, `Bearer ${token} ${token}`, `Bearer ${token},${other}`, `Bearer "${token}"`, `Bearer Bearer ${token}`, `Basic ${token}`, `Basic ${Buffer.from(`${token}:`).toString("base64")}`, `Basic ${Buffer.from(`me:${token}`).toString("base64")}`, `Digest username="me", response="${token}"`, `Token ${token}`, `Bearer ${percent(token)}`, `Bearer ${Buffer.from(token).toString("base64")}`, `Bearer *`, `Bearer ${"x".repeat(5000)}`, `Bearer ${token.slice(0, 5)}*`, `Bearer ${token.split("").join(" ")}`, utf8(`Bearer ${token}é`), "Bearer null", "Bearer undefined", "Bearer sk-client", "Negotiate x"].map((v) => [`authorization: ${v}`]),
  ...["x-token", "token", "x-auth-token", "x-forwarded-authorization", "proxy-authorization", "x-original-authorization", "authorization2", "x-authorization", "cookie", "x-client", "from", "x-amz-security-token"].map((h) => [`${h}: Bearer ${token}`]),
  [`authorization: Bearer ${other}`, `x-token: ${token}`], [`authorization : Bearer ${token}`], [`authorization\x00: Bearer ${token}`], [` authorization: Bearer ${token}`], [`x: y\r\n authorization: Bearer ${token}`],
  [`x-daruma-token: ${other}`], [`x-api-key: ${other}`], [`api-key: x`], [`x-goog-api-key: ${token}0`], [],
];

const to = (provider) => (c) => c.providers.forEach((p) => (p.url = p.url.replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${provider.port}`)));
// Sends each over a connection of its own, twenty at a time; those that were not refused, or reached a provider.
async function refused(pair, provider, list, status) {
  const wild = [];
  for (let i = 0; i < list.length; i += 20)
    await Promise.all(list.slice(i, i + 20).map(async (bytes) => {
      const r = await raw(pair, Buffer.from(bytes, "latin1"));
      const got = Number(/^HTTP\/1\.1 (\d+)/.exec(r)?.[1] ?? 0);
      if (got && !status(got) && !r.includes('"name":"daruma"')) wild.push(`${got}: ${bytes.slice(0, 120)}`); // "/?..." is answered here
    }));
  const reached = provider.bytes.match(/[A-Z]+ \S+ HTTP\/1\.\d/g) ?? [];
  assert.deepEqual({ wild, reached, calls: provider.calls }, { wild: [], reached: [], calls: 0 }, `of ${list.length}`);
}

holds("tricks: 400 paths and forms over TCP that could mean another path reach no provider", {
  limit: 120000,
  async run(pair) {
    const provider = await counter();
    try {
      await pair.again(to(provider));
      const list = [...[...outside, ...near].flatMap((p) => [text("GET", p), text("POST", p, ["content-type: application/json"], post)]), ...forms, ...heads];
      assert.ok(list.length >= 400);
      await refused(pair, provider, list, (s) => s >= 400 && s <= 505);
      const fine = await raw(pair, text("POST", "/v1/embeddings", ["x-original-url: /admin", "X-Rewrite-URL: /admin"], '{"model":"gpt-x","input":"x"}'));
      assert.match(fine, /^HTTP\/1\.1 200/);
      assert.equal(provider.calls, 1); // it does count
      assert.doesNotMatch(provider.bytes, /\/admin/, "a field that says another path went to the provider");
      console.log(`# tricks: ${list.length} with paths, forms, heads and framing, and none reached a provider`);
    } finally {
      provider.stop();
    }
  },
});

holds("tricks: 50 wrong tokens over TCP reach no provider, wherever they stand", {
  limit: 60000,
  admin: "sk-leak-admin-0123456789",
  async run(pair) {
    const provider = await counter();
    try {
      await pair.again((c) => (to(provider)(c), (c.clients = [{ name: "me", token }]), (c.admin = { token: pair.admin })));
      const list = wrong.flatMap((h) => ["/v1/embeddings", "/v1/nothing"].map((p) => `POST ${p} HTTP/1.1\r\n${["host: localhost", "connection: close", "content-type: application/json", ...h, "content-length: 31"].join("\r\n")}\r\n\r\n${post}`));
      assert.ok(wrong.length >= 50);
      await refused(pair, provider, list, (s) => s === 401 || s === 400);
      assert.match(await raw(pair, `POST /v1/embeddings HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer ${token}\r\ncontent-length: 31\r\n\r\n${post}`), /^HTTP\/1\.1 200/);
      assert.equal(provider.calls, 1);
    } finally {
      provider.stop();
    }
  },
});
