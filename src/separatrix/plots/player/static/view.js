// The window onto the plane: from coordinates to pixels and back, and round numbers for the axes.

export const STANDARD_BOX = [-4, 4, -3, 3];

export class View {
  constructor(box, width, height) {
    this.width = Math.max(40, width);
    this.height = Math.max(40, height);
    const [x0, x1, y0, y1] = box;
    const wide = x1 - x0, tall = y1 - y0;
    let stepX = this.width / wide, stepY = this.height / tall;
    // Right angles look right only where both axes have one scale; columns of a table may differ too much.
    this.isEqual = Math.max(stepX / stepY, stepY / stepX) < 3.5;
    if (this.isEqual) stepX = stepY = Math.min(stepX, stepY);
    this.stepX = stepX;
    this.stepY = stepY;
    const middleX = (x0 + x1) / 2, middleY = (y0 + y1) / 2;
    this.x0 = middleX - this.width / 2 / stepX;
    this.x1 = middleX + this.width / 2 / stepX;
    this.y0 = middleY - this.height / 2 / stepY;
    this.y1 = middleY + this.height / 2 / stepY;
  }

  place([x, y]) {
    return [(x - this.x0) * this.stepX, (this.y1 - y) * this.stepY];
  }

  point([px, py]) {
    return [this.x0 + px / this.stepX, this.y1 - py / this.stepY];
  }

  corners() {
    const { x0, x1, y0, y1 } = this, dx = (x1 - x0) / 50, dy = (y1 - y0) / 50;
    return [[x0 - dx, y0 - dy], [x1 + dx, y0 - dy], [x1 + dx, y1 + dy], [x0 - dx, y1 + dy]];
  }

  // The finest grid of binary fractions that is no finer than a pixel: floats hold them exactly.
  snap([x, y]) {
    const round = (value, step) => {
      const unit = 2 ** (Math.floor(Math.log2(1 / step)) + 1);
      return Math.round(value / unit) * unit;
    };
    return [round(x, this.stepX), round(y, this.stepY)];
  }
}

export function boxAround(points) {
  if (points.length === 0) return STANDARD_BOX;
  let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const [x, y] of points) {
    x0 = Math.min(x0, x); x1 = Math.max(x1, x); y0 = Math.min(y0, y); y1 = Math.max(y1, y);
  }
  const [a, b, c, d] = STANDARD_BOX;
  const small = x0 >= a && x1 <= b && y0 >= c && y1 <= d && (x1 - x0 > 2.5 || y1 - y0 > 2);
  if (small) return STANDARD_BOX;
  const padX = 0.12 * (x1 - x0 || 1), padY = 0.12 * (y1 - y0 || 1);
  return [x0 - padX, x1 + padX, y0 - padY, y1 + padY];
}

export function roundTicks(low, high, count) {
  const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= raw);
  const ticks = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) ticks.push(Number((k * step).toPrecision(12)));
  return ticks;
}
