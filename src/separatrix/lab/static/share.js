// The whole state in the address: points, methods and parameters, packed after the #.

async function through(stream, bytes) {
  const piped = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(piped).arrayBuffer());
}

export async function packed(state) {
  const bytes = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(state)));
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

// Whoever made the address, only points and choices of the right kind come out.
export async function unpacked(text) {
  try {
    const raw = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = await through(new DecompressionStream("deflate-raw"), Uint8Array.from(raw, (c) => c.charCodeAt(0)));
    if (bytes.length > 2e6) return null;
    const state = JSON.parse(new TextDecoder().decode(bytes));
    const { points, classes, choices } = state;
    const right = Array.isArray(points) && Array.isArray(classes) && points.length === classes.length && points.length <= 10000
      && points.every((p) => Array.isArray(p) && p.length === 2 && p.every((v) => Number.isFinite(v) && Math.abs(v) <= 1e9))
      && classes.every((c) => Number.isInteger(c) && c >= 0 && c < 6)
      && Array.isArray(choices) && choices.length >= 1 && choices.length <= 2;
    if (!right) return null;
    const names = Array.isArray(state.names) ? state.names.slice(0, 2).map(String) : ["", ""];
    return { points, classes, choices, names, step: Number.isInteger(state.step) ? state.step : null };
  } catch {
    return null;
  }
}
