// Animated GIF, written byte by byte: one palette for all frames, LZW, and a rectangle of what changed.

export class GifWriter {
  constructor(width, height, palette) {
    this.width = width;
    this.height = height;
    this.bytes = [];
    this.colours = Math.max(1, Math.ceil(Math.log2(palette.length)));
    const table = new Array(3 * 2 ** this.colours).fill(0);
    palette.forEach((rgb, k) => rgb.forEach((v, c) => { table[3 * k + c] = v; }));
    this.text("GIF89a");
    this.short(width);
    this.short(height);
    this.bytes.push(0xf0 | (this.colours - 1), 0, 0, ...table);
    this.bytes.push(0x21, 0xff, 11);
    this.text("NETSCAPE2.0");
    this.bytes.push(3, 1, 0, 0, 0);
  }

  text(words) {
    for (const sign of words) this.bytes.push(sign.charCodeAt(0));
  }

  short(value) {
    this.bytes.push(value & 255, value >> 8);
  }

  // Pixels are numbers of colours; shown for so many hundredths of a second.
  frame(pixels, hundredths) {
    const [x, y, width, height] = this.changed(pixels);
    this.bytes.push(0x21, 0xf9, 4, 4);
    this.short(hundredths);
    this.bytes.push(0, 0, 0x2c);
    [x, y, width, height].forEach((value) => this.short(value));
    this.bytes.push(0);
    const part = new Uint8Array(width * height);
    for (let row = 0; row < height; row++) part.set(pixels.subarray((y + row) * this.width + x, (y + row) * this.width + x + width), row * width);
    this.compress(part);
    this.last = pixels;
  }

  changed(pixels) {
    if (!this.last) return [0, 0, this.width, this.height];
    let [x0, y0, x1, y1] = [this.width, this.height, -1, -1];
    for (let k = 0; k < pixels.length; k++) {
      if (pixels[k] === this.last[k]) continue;
      const x = k % this.width, y = (k - x) / this.width;
      x0 = Math.min(x0, x); x1 = Math.max(x1, x); y0 = Math.min(y0, y); y1 = Math.max(y1, y);
    }
    return x1 < 0 ? [0, 0, 1, 1] : [x0, y0, x1 - x0 + 1, y1 - y0 + 1];
  }

  compress(pixels) {
    const least = Math.max(2, this.colours), clear = 1 << least, end = clear + 1;
    let block = [], bits = 0, held = 0, size = least + 1, next = end + 1, table = new Map();
    const flush = () => { if (block.length) this.bytes.push(block.length, ...block); block = []; };
    const emit = (code) => {
      held |= code << bits;
      bits += size;
      while (bits >= 8) { block.push(held & 255); held >>= 8; bits -= 8; if (block.length === 255) flush(); }
    };
    this.bytes.push(least);
    emit(clear);
    let prefix = pixels[0];
    for (let k = 1; k < pixels.length; k++) {
      const key = prefix * 256 + pixels[k], known = table.get(key);
      if (known !== undefined) { prefix = known; continue; }
      emit(prefix);
      if (next < 4096) {
        if (next === 1 << size) size += 1;
        table.set(key, next++);
      } else { emit(clear); table = new Map(); size = least + 1; next = end + 1; }
      prefix = pixels[k];
    }
    emit(prefix);
    if (next === 1 << size && size < 12) size += 1;
    emit(end);
    if (bits > 0) block.push(held & 255);
    flush();
    this.bytes.push(0);
  }

  end() {
    this.bytes.push(0x3b);
    return new Uint8Array(this.bytes);
  }
}

// The commonest colours of some pictures, at most 256; each coarse cell is named by its mean.
export function commonColours(pictures) {
  const cells = new Map();
  for (const { data } of pictures) {
    for (let k = 0; k < data.length; k += 4) {
      const key = coarse(data, k), cell = cells.get(key);
      if (cell) { cell[0] += data[k]; cell[1] += data[k + 1]; cell[2] += data[k + 2]; cell[3] += 1; }
      else cells.set(key, [data[k], data[k + 1], data[k + 2], 1]);
    }
  }
  const kept = [...cells.values()].sort((a, b) => b[3] - a[3]).slice(0, 256);
  return kept.map(([r, g, b, n]) => [Math.round(r / n), Math.round(g / n), Math.round(b / n)]);
}

const coarse = (data, k) => ((data[k] >> 2) << 12) | ((data[k + 1] >> 2) << 6) | (data[k + 2] >> 2);

export function nearestColours(picture, palette, memory) {
  const { data } = picture, pixels = new Uint8Array(data.length / 4);
  for (let k = 0; k < data.length; k += 4) {
    const key = coarse(data, k);
    let best = memory.get(key);
    if (best === undefined) {
      let least = Infinity;
      palette.forEach(([r, g, b], number) => {
        const distance = (r - data[k]) ** 2 + (g - data[k + 1]) ** 2 + (b - data[k + 2]) ** 2;
        if (distance < least) { least = distance; best = number; }
      });
      memory.set(key, best);
    }
    pixels[k / 4] = best;
  }
  return pixels;
}
