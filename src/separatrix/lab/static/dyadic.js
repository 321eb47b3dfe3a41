// Exact numbers: a float64 is an integer times a power of two, and so are all sums and products of such.

// { m, e } means m * 2^e, m a BigInt.
export function ofFloat(value) {
  if (!Number.isFinite(value)) throw new TypeError("NaN and infinities are no numbers");
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0), sign = bits >> 63n ? -1n : 1n;
  const exponent = Number((bits >> 52n) & 0x7ffn), fraction = bits & 0xfffffffffffffn;
  if (exponent === 0) return { m: sign * fraction, e: -1074 };
  return { m: sign * (fraction | 0x10000000000000n), e: exponent - 1075 };
}

// C99 hexadecimal floats, as certificates write them; what a float64 cannot hold exactly is rounded there.
export function ofHexFloat(text) {
  const parts = typeof text === "string" && /^([+-]?)0x([0-9a-f]+)(?:\.([0-9a-f]*))?(?:p([+-]?\d+))?$/i.exec(text.trim());
  if (!parts) throw new TypeError("not a hexadecimal float");
  const [, sign, whole, part = "", power = "0"] = parts;
  const m = BigInt(`0x${whole}${part}`), e = Number(power) - 4 * part.length;
  if (m === 0n) return { m: 0n, e: 0 };
  const exact = { m: sign === "-" ? -m : m, e };
  if (!fitsFloat(exact)) throw new TypeError("not a float64");
  return exact;
}

function fitsFloat({ m, e }) {
  let size = m < 0n ? -m : m, low = e;
  while ((size & 1n) === 0n) { size >>= 1n; low += 1; }
  const bits = size.toString(2).length;
  return bits <= 53 && low >= -1074 && low + bits <= 1024;
}

export function ofHexInteger(text) {
  const parts = typeof text === "string" && /^(-?)0x([0-9a-f]+)$/.exec(text);
  if (!parts) throw new TypeError("not a hexadecimal integer");
  const size = BigInt(`0x${parts[2]}`);
  return parts[1] === "-" ? -size : size;
}

export const times = (a, b) => ({ m: a.m * b.m, e: a.e + b.e });

export function plus(a, b) {
  const e = Math.min(a.e, b.e);
  return { m: (a.m << BigInt(a.e - e)) + (b.m << BigInt(b.e - e)), e };
}

export const minus = (a, b) => plus(a, { m: -b.m, e: b.e });
export const sign = ({ m }) => (m > 0n ? 1 : m < 0n ? -1 : 0);
export const compared = (a, b) => sign(minus(a, b));
export const signedSquare = (a) => ({ m: a.m < 0n ? -(a.m * a.m) : a.m * a.m, e: 2 * a.e });
export const summed = (list) => list.reduce(plus, { m: 0n, e: 0 });

// Integers with one common exponent.
export function aligned(list) {
  const e = list.reduce((low, { e: own }) => Math.min(low, own), 0);
  return { integers: list.map((x) => x.m << BigInt(x.e - e)), e };
}
