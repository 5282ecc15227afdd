// The worlds of doc/outages.md. `faults(t, i)`: what provider number i does from second t on; `turns`: when that changes;
// `sick`: the place whose calls are counted; `lasts`: it takes longer than its stream; `alone`: nobody else could answer meanwhile;
// `within`: half of the answers take no more ms; `calls`: so many calls a request at most, in a stream.
const always = (fault) => () => [fault];
const during = (from, to, fault) => (t) => (t >= from && t < to ? [fault] : []);
const a = (fault) => ({ model: "a", ...fault });
const two = { providers: 2, targets: ["p0/a", "p1/a"] };
const silentStreams = { kind: "stall", stream: true, after_events: 0, for: "200s" };
const one = { targets: ["p0/a"], alone: true };

export const worlds = [
  { id: "model-500", name: "one model answers 500, another model of the provider is well", faults: always(a({ kind: "server_error" })), sick: { model: "a" }, within: 1000 },
  { id: "model-reset", name: "one model resets connections", faults: always(a({ kind: "reset" })), sick: { model: "a" }, within: 1000 },
  { id: "model-503", name: "one model gives 503 pages", faults: always(a({ kind: "html", status: 503 })), sick: { model: "a" }, within: 1000 },
  { id: "model-empty", name: "one model answers 200 with nothing in it", faults: always(a({ kind: "empty" })), sick: { model: "a" }, within: 1000 },
  { id: "model-silent", name: "one model never answers", faults: always(a({ kind: "timeout" })), within: 8000 },
  { id: "model-silent-later", name: "one model stops answering after four seconds", turns: [4], faults: during(4, 99, a({ kind: "timeout" })), loads: ["steady"], within: 1000 },
  { id: "model-pings", name: "one model sends nothing but keep-alives", lasts: true, faults: always(a({ kind: "pings_only", for: "100s" })), loads: ["steady"] },
  { id: "model-half", name: "one model answers every other request with 500", faults: always(a({ kind: "server_error", rate: 0.5 })), sick: { model: "a" }, within: 1000 },
  { id: "model-cut", name: "one model cuts every answer", faults: always(a({ kind: "cut" })), sick: { model: "a" }, within: 1000 },
  { id: "model-500-8s", name: "one model answers 500 for 8 s, then is well", turns: [8], faults: during(0, 8, a({ kind: "server_error" })), within: 1000 },
  { id: "turns", name: "two providers take turns in being down", ...two, turns: [0, 5, 10, 15], faults: (t, i) => (Math.floor(t / 5) % 2 === i ? [{ kind: "refuse" }] : []), within: 1000 },
  { id: "turns-500", name: "two providers take turns in answering 500", ...two, turns: [0, 5, 10, 15], faults: (t, i) => (Math.floor(t / 5) % 2 === i ? [{ kind: "server_error" }] : []), within: 1000 },
  { id: "both-6s", name: "both providers down for 6 s", ...two, alone: true, turns: [0, 6], faults: during(0, 6, { kind: "refuse" }) },
  { id: "only-5s", name: "the only provider down for 5 s", ...one, turns: [0, 5], faults: during(0, 5, { kind: "refuse" }) },
  { id: "only-500-5s", name: "the only model answers 500 for 5 s", ...one, turns: [0, 5], faults: during(0, 5, { kind: "server_error" }) },
  { id: "only-empty-5s", name: "the only model answers nothing for 5 s", ...one, turns: [0, 5], faults: during(0, 5, { kind: "empty" }) },
  { id: "only-cut-5s", name: "the only model cuts every answer for 5 s", ...one, turns: [0, 5], faults: during(0, 5, { kind: "cut" }) },
  { id: "only-silent-5s", name: "the only model does not answer what comes in the first 5 s", ...one, lasts: true, turns: [0, 5], faults: during(0, 5, { kind: "timeout", for: "100s" }) },
  { id: "only-half", name: "the only model answers half of the requests with 500", ...one, lasts: true, faults: always({ kind: "server_error", rate: 0.5 }) },
  { id: "only-429", name: "the only model is limited for 8 s, and says nothing of when it ends", ...one, turns: [0, 8], faults: during(0, 8, { kind: "rate_limit" }) },
  { id: "only-529", name: "the only model is overloaded for 8 s", ...one, turns: [0, 8], faults: during(0, 8, { kind: "overloaded" }) },
  { id: "fast-5of12", name: "one model of two is out for 5 of 12 s, 167 requests a second", rate: 167, seconds: 12, loads: ["steady"], turns: [3, 8], faults: during(3, 8, a({ kind: "server_error" })), within: 1000 },
  { id: "model-529", name: "one model is overloaded", faults: always(a({ kind: "overloaded" })), sick: { model: "a" }, within: 1000 },
  { id: "model-404", name: "one model is not there", faults: always(a({ kind: "model_not_found" })), sick: { model: "a" }, within: 1000 },
  { id: "key-401", name: "one key of two is refused", serveKeys: [{ value: "sk-bad", account: "x" }, { value: "sk-one", account: "y" }], targets: ["p0/a"], faults: always({ key: "sk-bad", kind: "auth" }), within: 1000 },
  { id: "quota", name: "one account of two has no credit", serveKeys: [{ value: "sk-bad", account: "x" }, { value: "sk-one", account: "y" }], targets: ["p0/a"], faults: always({ key: "sk-bad", kind: "quota" }), within: 1000 },
  { id: "model-429", name: "one model is limited, retry-after: 60", faults: always(a({ kind: "rate_limit", headers: { "retry-after": "60" } })), sick: { model: "a" }, within: 1000 },
  { id: "provider-down", name: "a whole provider is down, another is well", ...two, faults: (t, i) => (i === 0 ? [{ kind: "refuse" }] : []), sick: { provider: 0 }, within: 1000 },
  { id: "firewall", name: "one request gets a 403 page of a firewall, others are well", ...one, alone: false, faults: always({ kind: "html", status: 403, times: 1 }), tolerates: 1 },
  { id: "proxy-413", name: "the proxy of one provider takes fewer bytes than the request has, another is well", ...two, faults: (t, i) => (i === 0 ? [{ kind: "html", status: 413 }] : []), within: 1000, calls: 1.2 },
  { id: "fallback-cut", name: "one provider is silent for 5 s, another is well", ...two, turns: [3, 8], faults: (t, i) => (i === 0 && t >= 3 && t < 8 ? [{ kind: "timeout" }] : []), burstAt: 3.5 },
  { id: "head-silent", name: "one provider sends the head of its streams and nothing more, another is well", ...two, faults: (t, i) => (i === 0 ? [silentStreams] : []), within: 6000, calls: 1.4 },
  { id: "head-silent-later", name: "one provider sends the head of its streams and nothing more after four seconds", ...two, turns: [4], faults: (t, i) => (i === 0 && t >= 4 ? [silentStreams] : []), loads: ["steady"], within: 1000, calls: 1.2 },
  { id: "only-401-waves", name: "the only key is refused for 3 of 6 s, and was taken before", ...one, lasts: true, loads: ["steady"], turns: [3, 6, 9, 12, 15, 18], faults: (t) => (Math.floor(t / 3) % 2 ? [{ kind: "auth" }] : []) },
  { id: "only-404-half", name: "half of the calls get 404 while a new version is rolled out", ...one, lasts: true, loads: ["steady"], turns: [3], faults: during(3, 99, { kind: "model_not_found", rate: 0.5 }) },
];
