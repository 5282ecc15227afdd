// Reads Protocol Buffers by the part of opentelemetry-proto that spans are made of: messages as objects, with the names that
// OTLP's JSON gives them. A field that the schema does not know, or of another kind, fails.
import assert from "node:assert/strict";

const text = (b) => new TextDecoder("utf-8", { fatal: true }).decode(b), hex = (b) => b.toString("hex");
const VARINT = 0, FIXED64 = 1, BYTES = 2;
const within = (fields, many) => [BYTES, (b) => message(fields, b), many];
const value = { 1: ["stringValue", BYTES, text], 2: ["boolValue", VARINT, (v) => v === 1n], 3: ["intValue", VARINT, Number] };
const attribute = { 1: ["key", BYTES, text], 2: ["value", ...within(value)] };
const span = {
  1: ["traceId", BYTES, hex], 2: ["spanId", BYTES, hex], 4: ["parentSpanId", BYTES, hex], 5: ["name", BYTES, text], 6: ["kind", VARINT, Number],
  7: ["startTimeUnixNano", FIXED64, String], 8: ["endTimeUnixNano", FIXED64, String], 9: ["attributes", ...within(attribute, true)], 15: ["status", ...within({ 3: ["code", VARINT, Number] })],
};
const scopeSpans = { 1: ["scope", ...within({ 1: ["name", BYTES, text], 2: ["version", BYTES, text] })], 2: ["spans", ...within(span, true)] };
const resourceSpans = { 1: ["resource", ...within({ 1: ["attributes", ...within(attribute, true)] })], 2: ["scopeSpans", ...within(scopeSpans, true)] };
export const schema = { export: { 1: ["resourceSpans", ...within(resourceSpans, true)] } };

export function message(fields, bytes) {
  const o = {};
  let at = 0;
  const varint = () => {
    for (let v = 0n, shift = 0n; ; shift += 7n) {
      assert.ok(at < bytes.length, "a number without end");
      v |= BigInt(bytes[at] & 127) << shift;
      if (!(bytes[at++] & 128)) return v;
    }
  };
  const take = (n) => (assert.ok(at + n <= bytes.length, "longer than what it is within"), bytes.subarray(at, (at += n)));
  while (at < bytes.length) {
    const tag = varint(), kind = Number(tag & 7n), [name, of, read, many] = fields[tag >> 3n] ?? [];
    assert.equal(kind, of, `field ${tag >> 3n}`);
    const v = read(kind === VARINT ? varint() : kind === FIXED64 ? take(8).readBigUInt64LE() : take(Number(varint())));
    assert.ok(many || !(name in o), `${name} stands there twice`);
    if (many) (o[name] ??= []).push(v);
    else o[name] = v;
  }
  return o;
}
