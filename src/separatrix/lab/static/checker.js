// A second checker of certificates, written from docs/certificates.md in exact integers. It shares nothing
// with what found the claim, nor with the checker in Python: where the two agree, neither need be trusted alone.

import { aligned, compared, ofFloat, ofHexFloat, ofHexInteger, sign, signedSquare, summed, times } from "./dyadic.js";

const FORMAT = "separatrix-certificate-1";
const PRIMES = [1425089352415399837n, 1876932102566028323n, 1923151465198308623n];

const WITNESS = ["rows", "multipliers"];
const FIELDS = {
  separation: ["weights", "integers"], "margin-bounds": ["weights", "lower", "upper", ...WITNESS],
  gordan: WITNESS, overlap: [...WITNESS, "others"], quasi: [...WITNESS, "others", "integers"],
};
const ABOUT = ["rows", "features", "intercept", "classes", "sha256", "columns", "target", "zero_based", "decimals"];

class Refused extends Error {}

function refuseOthers(object, names, where) {
  const other = Object.keys(object).find((name) => !names.includes(name));
  if (other !== undefined) throw new Refused(`${where} must not hold '${other}'`);
}

// data: { rows: lists of floats, codes: class numbers, nFeatures, nClasses, classes: their names, if known }
export async function checkCertificate(certificate, data) {
  try {
    const claims = { separation, "margin-bounds": marginBounds, gordan, overlap: (...a) => partition(...a, false), quasi: (...a) => partition(...a, true) };
    if (certificate.format !== FORMAT) throw new Refused(`the format must be '${FORMAT}'`);
    const about = certificate.data;
    refuseOthers(certificate, ["format", "kind", "data", "claim"], "the certificate");
    refuseOthers(about, ABOUT, "data");
    if (about.rows !== data.rows.length || about.features !== data.nFeatures || about.classes.length !== data.nClasses) {
      throw new Refused("the certificate speaks of another number of rows, columns or classes");
    }
    if (data.classes?.some((name, k) => name !== about.classes[k])) throw new Refused("the certificate names other classes");
    if (about.sha256 !== (await fingerprint(data))) throw new Refused("the certificate speaks of other data: the SHA-256 differs");
    if (typeof about.intercept !== "boolean") throw new Refused("intercept must be true or false");
    if (!Object.hasOwn(claims, certificate.kind)) throw new Refused("the kind of claim is not known");
    refuseOthers(certificate.claim, FIELDS[certificate.kind], "the claim");
    if (certificate.claim.weights && certificate.claim.integers) throw new Refused("the claim must hold either weights or integers");
    const words = claims[certificate.kind](exactRows(data), certificate.claim, about.intercept);
    return { holds: true, words: words + (about.intercept ? "" : " (through the origin: no intercept)") };
  } catch (error) {
    return { holds: false, words: error instanceof Refused ? error.message : `not a well-formed certificate: ${error.message}` };
  }
}

const LEAF_ROWS = 4096;
const FEW_COLUMNS = 65536;

// A tree of SHA-256, as docs/certificates.md defines it. The lab makes certificates of this kind only.
export async function fingerprint({ rows, codes, nFeatures, nClasses }) {
  const entries = rows.map((row) => row.flatMap((x, j) => (x === 0 ? [] : [[j, x]])));
  const parts = [new TextEncoder().encode("separatrix-data-2\n"), packed([rows.length, nFeatures, nClasses], 8, wholeNumber)];
  parts.push(await sha256([packed(codes, 4, wholeNumber)]));
  for (let begin = 0; begin < rows.length; begin += LEAF_ROWS) {
    parts.push(await leaf(entries.slice(begin, begin + LEAF_ROWS), nFeatures));
  }
  const digest = await sha256(parts);
  return "2-" + [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// The hash of some rows, dense or sparse as suits them, in the narrowest numbers that hold them.
function leaf(entries, nFeatures) {
  const stored = entries.flat();
  const isByte = ([, x]) => Number.isInteger(x) && x >= 0 && x <= 255;
  const width = stored.every(isByte) ? 1 : stored.every(([, x]) => Math.fround(x) === x) ? 4 : 8;
  const column = nFeatures <= FEW_COLUMNS ? 2 : 4;
  const isDense = entries.length * nFeatures * width <= 2 * (4 * entries.length + stored.length * (column + width));
  const head = new Uint8Array([isDense ? 1 : 0, width]);
  if (!isDense) {
    const counts = packed(entries.map((row) => row.length), 4, wholeNumber);
    const columns = packed(stored.map(([j]) => j), column, wholeNumber);
    return sha256([head, counts, columns, packed(stored.map(([, x]) => x), width, value)]);
  }
  const dense = new Array(entries.length * nFeatures).fill(0);
  entries.forEach((row, i) => row.forEach(([j, x]) => { dense[i * nFeatures + j] = x; }));
  return sha256([head, packed(dense, width, value)]);
}

function packed(numbers, width, write) {
  const view = new DataView(new ArrayBuffer(numbers.length * width));
  numbers.forEach((number, i) => write(view, i * width, number, width));
  return new Uint8Array(view.buffer);
}

function wholeNumber(view, at, number, width) {
  for (let byte = 0, rest = BigInt(number); byte < width; byte += 1, rest >>= 8n) view.setUint8(at + byte, Number(rest & 255n));
}

function value(view, at, number, width) {
  if (width === 1) view.setUint8(at, number);
  else if (width === 4) view.setFloat32(at, number, true);
  else view.setFloat64(at, number, true);
}

async function sha256(parts) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", await new Blob(parts).arrayBuffer()));
}

// Rows as integers [1, x_1, ...] times one power of two.
function exactRows({ rows, codes, nFeatures, nClasses }) {
  const { integers, e } = aligned([{ m: 1n, e: 0 }, ...rows.flat().map(ofFloat)]);
  const one = integers[0];
  const vectors = rows.map((_, i) => integers.slice(1 + i * nFeatures, 1 + (i + 1) * nFeatures));
  return { vectors, one, e, codes, nFeatures, nClasses, length: 1 + nFeatures };
}

function readWeights(data, claim) {
  const count = data.nClasses === 2 ? 1 : data.nClasses;
  let flat, e = 0;
  const shaped = !claim.weights || (claim.weights.length === count && claim.weights.every((row) => Array.isArray(row) && row.length === data.length));
  if (!shaped) throw new Refused(`the weights must be ${count} lists of ${data.length} numbers`);
  if (Object.hasOwn(claim, "integers")) flat = claim.integers.map(ofHexInteger);
  else ({ integers: flat, e } = aligned(claim.weights.flatMap((row) => [...row].map(ofHexFloat))));
  if (flat.length !== count * data.length) throw new Refused(`the weights must be ${count} x ${data.length} numbers`);
  return { blocks: Array.from({ length: count }, (_, k) => flat.slice(k * data.length, (k + 1) * data.length)), flat, e };
}

// Every signed margin w.z, in the order of the signed rows; integers in units of 2^(weights' e + rows' e).
function signedMargins(data, blocks, intercept) {
  return data.vectors.flatMap((row, i) => {
    const totals = blocks.map((w) => row.reduce((sum, x, j) => sum + w[1 + j] * x, intercept ? w[0] * data.one : 0n));
    const code = data.codes[i];
    if (blocks.length === 1) return [code === 1 ? totals[0] : -totals[0]];
    return totals.flatMap((total, other) => (other === code ? [] : [totals[code] - total]));
  });
}

function separation(data, claim, intercept) {
  const { blocks } = readWeights(data, claim);
  signedMargins(data, blocks, intercept).forEach((margin, number) => {
    if (margin <= 0n) throw new Refused(`signed row ${number} is not strictly on its own side`);
  });
  return `the weights separate all ${data.vectors.length} rows strictly`;
}

function marginBounds(data, claim, intercept) {
  const lower = ofHexFloat(claim.lower), upper = ofHexFloat(claim.upper), { blocks, e } = readWeights(data, claim);
  const counted = blocks.flatMap((w) => (intercept ? w : w.slice(1))); // without an intercept the bias is no part of w
  const square = { m: counted.reduce((sum, v) => sum + v * v, 0n), e: 2 * e };
  if (sign(square) === 0 || compared(lower, upper) > 0) throw new Refused("zero weights have no margin, and bounds may not cross");
  const least = times(signedSquare(lower), square);
  signedMargins(data, blocks, intercept).forEach((m, number) => {
    if (compared(signedSquare({ m, e: e + data.e }), least) < 0) throw new Refused(`signed row ${number} has a margin below the lower bound`);
  });
  const multipliers = claim.multipliers.map(ofHexFloat), total = summed(multipliers);
  if (multipliers.some((m) => sign(m) < 0) || sign(total) <= 0) throw new Refused("multipliers must be at least zero, and not all zero");
  const { integers, e: unit } = aligned(multipliers);
  const sum = combination(data, claim.rows, integers, intercept);
  const length = { m: sum.reduce((s, v) => s + v * v, 0n), e: 2 * (unit + data.e) };
  if (compared(length, times(signedSquare(upper), times(total, total))) > 0) throw new Refused("the multipliers do not prove the upper bound");
  return "the largest margin of any hyperplane lies between the bounds";
}

// The exact sum of multiplier times signed row.
function combination(data, numbers, multipliers, intercept) {
  if (numbers.length !== multipliers.length || new Set(numbers).size !== numbers.length) {
    throw new Refused("rows and multipliers must be of one length, and no row named twice");
  }
  const rivals = Math.max(1, data.nClasses - 1), isTwo = data.nClasses === 2;
  const total = new Array(isTwo ? data.length : data.length * data.nClasses).fill(0n);
  numbers.forEach((number, k) => {
    if (!Number.isInteger(number) || number < 0 || number >= data.vectors.length * rivals) throw new Refused(`there is no signed row ${number}`);
    const sample = Math.floor(number / rivals), code = data.codes[sample], step = multipliers[k];
    let other = number % rivals;
    if (other >= code) other += 1;
    const blocks = isTwo ? [[0, code === 1 ? step : -step]] : [[code * data.length, step], [other * data.length, -step]];
    for (const [begin, share] of blocks) {
      if (intercept) total[begin] += share * data.one;
      data.vectors[sample].forEach((x, j) => { total[begin + 1 + j] += share * x; });
    }
  });
  return total;
}

function gordan(data, claim, intercept) {
  const multipliers = claim.multipliers.map(ofHexInteger);
  if (data.nClasses !== 2 || multipliers.length === 0 || multipliers.some((m) => m <= 0n)) throw new Refused("a witness needs two classes and positive multipliers");
  if (combination(data, claim.rows, multipliers, intercept).some((v) => v !== 0n)) throw new Refused("the multiples of the rows do not sum to zero");
  return `no hyperplane strictly separates these ${multipliers.length} rows, nor all of the data`;
}

function partition(data, claim, intercept, quasi) {
  const { blocks } = quasi ? readWeights(data, claim) : readWeights(data, { integers: new Array(data.length).fill("0x0") });
  const margins = signedMargins(data, blocks, intercept), some = margins.some((m) => m > 0n);
  const tight = new Set(margins.flatMap((m, number) => (m === 0n ? [number] : [])));
  const named = [...claim.rows], rest = [...tight].filter((number) => !named.includes(number));
  if (margins.length === 0 || margins.some((m) => m < 0n) || quasi !== some || named.some((number) => !tight.has(number))) {
    throw new Refused("the margins are not those of such a claim");
  }
  const others = ofHexInteger(claim.others);
  if (others < 0n) throw new Refused("others must not be below zero");
  let { multipliers, rows } = claim;
  if (others !== 0n) {
    rows = [...named, ...rest];
    multipliers = [...multipliers, ...rest.map(() => claim.others)];
  } else if (rest.length && (quasi || rank(data, named, intercept) < data.nFeatures + Number(intercept))) {
    throw new Refused("the named rows do not span the others");
  }
  gordan(data, { rows, multipliers }, intercept);
  if (!quasi) return `the classes overlap: all ${margins.length} rows are on the boundary, or one is beyond it`;
  return `of ${margins.length} rows, ${tight.size} are on the boundary whenever none is beyond it`;
}

// The rank modulo primes, which is never more than the rank.
function rank(data, numbers, intercept) {
  const full = Math.min(numbers.length, data.nFeatures + Number(intercept));
  let found = 0;
  for (const prime of PRIMES) {
    if (found < full) found = Math.max(found, rankModulo(prime, data, numbers, intercept));
  }
  return found;
}

function rankModulo(prime, data, numbers, intercept) {
  const remainder = (x) => ((x % prime) + prime) % prime;
  const left = numbers.map((i) => [intercept ? data.one : 0n, ...data.vectors[i]].map(remainder));
  let found = 0;
  for (let column = 0; column < data.length; column++) {
    const at = left.findIndex((row) => row[column] !== 0n);
    if (at < 0) continue;
    const [pivot] = left.splice(at, 1), turned = inverse(pivot[column], prime);
    found += 1;
    for (const row of left) {
      const factor = remainder(row[column] * turned);
      if (factor !== 0n) pivot.forEach((x, j) => { row[j] = remainder(row[j] - factor * x); });
    }
  }
  return found;
}

function inverse(x, prime) {
  let [result, base, power] = [1n, x, prime - 2n];
  for (; power > 0n; power >>= 1n) {
    if (power & 1n) result = (result * base) % prime;
    base = (base * base) % prime;
  }
  return result;
}
