// Where one looks at a plane of points, in the points' own units.
export interface Camera { x: number; y: number; width: number; height: number }
export type Corner = [number, number];

export function around([x0, x1]: [number, number], [y0, y1]: [number, number]): Camera {
  const [w, h] = [(x1 - x0 || 1) * 1.16, (y1 - y0 || 1) * 1.16];
  return { x: (x0 + x1) / 2, y: (y0 + y1) / 2, width: w, height: h };
}
export const moved = (c: Camera, dx: number, dy: number): Camera => ({ ...c, x: c.x + dx * c.width, y: c.y + dy * c.height });
export function zoomed(c: Camera, factor: number, at: Corner = [c.x, c.y]): Camera {
  return { x: at[0] + (c.x - at[0]) * factor, y: at[1] + (c.y - at[1]) * factor, width: c.width * factor, height: c.height * factor };
}
export const toScreen = (c: Camera, [x, y]: Corner, w: number, h: number): Corner => [((x - c.x) / c.width + 0.5) * w, (0.5 - (y - c.y) / c.height) * h];
export const toPlane = (c: Camera, [px, py]: Corner, w: number, h: number): Corner => [c.x + (px / w - 0.5) * c.width, c.y + (0.5 - py / h) * c.height];

/** Numbers for an axis: about five, at steps of 1, 2 or 5. */
export function ticks(low: number, high: number): number[] {
  const raw = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw)!;
  const found = [];
  for (let t = Math.ceil(low / step); t * step <= high; t++) found.push(Number((t * step).toPrecision(6)));
  return found;
}

/** Which points lie in a polygon, by the even-odd rule. */
export function inside(polygon: Corner[], xs: Float32Array, ys: Float32Array): Uint8Array {
  const mask = new Uint8Array(xs.length);
  if (polygon.length < 3) return mask;
  const [px, py] = [polygon.map((p) => p[0]), polygon.map((p) => p[1])];
  const [x0, x1, y0, y1] = [Math.min(...px), Math.max(...px), Math.min(...py), Math.max(...py)];
  for (let i = 0; i < xs.length; i++) {
    const x = xs[i];
    const y = ys[i];
    if (x < x0 || x > x1 || y < y0 || y > y1) continue;
    let odd = 0;
    for (let a = 0, b = px.length - 1; a < px.length; b = a++)
      if (py[a] > y !== py[b] > y && x < ((px[b] - px[a]) * (y - py[a])) / (py[b] - py[a]) + px[a]) odd ^= 1;
    mask[i] = odd;
  }
  return mask;
}

/** The point nearest to the pointer, within some pixels of it; -1 where there is none. */
export function nearest(c: Camera, at: Corner, w: number, h: number, xs: Float32Array, ys: Float32Array, reach = 14): number {
  const [x, y] = toPlane(c, at, w, h);
  const sx = w / c.width;
  const sy = h / c.height;
  let best = reach * reach;
  let found = -1;
  for (let i = 0; i < xs.length; i++) {
    const dx = (xs[i] - x) * sx;
    const dy = (ys[i] - y) * sy;
    if (dx * dx + dy * dy < best) {
      best = dx * dx + dy * dy;
      found = i;
    }
  }
  return found;
}
