// A dropped file as one observation, where there is no server to read it.
import type { Run } from "./documents";

export async function numbersOf(file: File, run: Run): Promise<Float32Array> {
  const size = run.shape.reduce((a, b) => a * b, 1);
  const name = file.name.toLowerCase();
  if (file.size > 64e6) throw new Error(`${file.name} has ${(file.size / 1e6).toFixed(0)} MB; one observation has at most 64 MB.`);
  let values: Float32Array;
  if (name.endsWith(".npy")) values = npy(await file.arrayBuffer(), file.name);
  else if (name.endsWith(".csv") || name.endsWith(".tsv") || name.endsWith(".txt")) values = csv(await file.text(), file.name);
  else values = await image(file, run);
  if (values.length < size || values.length % size)
    throw new Error(`${file.name} holds ${values.length} numbers; one observation of this run has ${size}.`);
  return values.slice(0, size);
}

const KINDS: Record<string, [number, (view: DataView, at: number, little: boolean) => number]> = {
  f4: [4, (v, i, e) => v.getFloat32(i, e)], f8: [8, (v, i, e) => v.getFloat64(i, e)],
  u1: [1, (v, i) => v.getUint8(i)], i1: [1, (v, i) => v.getInt8(i)], b1: [1, (v, i) => v.getUint8(i)],
  u2: [2, (v, i, e) => v.getUint16(i, e)], i2: [2, (v, i, e) => v.getInt16(i, e)],
  u4: [4, (v, i, e) => v.getUint32(i, e)], i4: [4, (v, i, e) => v.getInt32(i, e)],
  i8: [8, (v, i, e) => Number(v.getBigInt64(i, e))], u8: [8, (v, i, e) => Number(v.getBigUint64(i, e))],
};

function npy(buffer: ArrayBuffer, name: string): Float32Array {
  const view = new DataView(buffer);
  if (buffer.byteLength < 12 || view.getUint32(0) !== 0x934e554d) throw new Error(`${name} is not a NumPy array: save it with numpy.save.`);
  const long = view.getUint8(6) > 1;
  const start = long ? 12 : 10;
  const length = long ? view.getUint32(8, true) : view.getUint16(8, true);
  const header = new TextDecoder("latin1").decode(buffer.slice(start, start + length));
  const [, order, kind] = header.match(/'descr': *'([<>|=])([a-z]\d)'/) ?? [];
  if (!kind || !KINDS[kind]) throw new Error(`${name} holds no plain numbers: save an array of floats.`);
  if (/'fortran_order': *True/.test(header)) throw new Error(`${name} is in Fortran order: save numpy.ascontiguousarray of it.`);
  const [bytes, read] = KINDS[kind];
  const body = start + length;
  const values = new Float32Array(Math.floor((buffer.byteLength - body) / bytes));
  for (let i = 0; i < values.length; i++) values[i] = read(view, body + i * bytes, order !== ">");
  return values;
}

function csv(text: string, name: string): Float32Array {
  for (const line of text.split(/\r?\n/)) {
    const cells = line.trim().split(/[,;\t ]+/).filter((cell) => cell !== "");
    if (cells.length && cells.every((cell) => Number.isFinite(Number(cell)))) return Float32Array.from(cells, Number);
  }
  throw new Error(`${name} has no row of numbers.`);
}

async function image(file: File, run: Run): Promise<Float32Array> {
  if (run.shape.length < 2) throw new Error(`${file.name}: this run reads .npy or a row of a CSV, not pictures.`);
  const [h, w] = run.shape.slice(-2);
  const channels = run.shape.length > 2 ? run.shape[0] : 1;
  const bitmap = await createImageBitmap(file).catch(() => {
    throw new Error(`${file.name} is not a picture this browser can read: give a PNG, a JPEG or a .npy.`);
  });
  const canvas = document.createElement("canvas");
  canvas.width = w;
  canvas.height = h;
  const context = canvas.getContext("2d", { willReadFrequently: true })!;
  context.imageSmoothingQuality = "high";
  context.drawImage(bitmap, 0, 0, w, h);
  const pixels = context.getImageData(0, 0, w, h).data;
  const [low, high] = run.value_range;
  const values = new Float32Array(channels * h * w);
  for (let i = 0; i < h * w; i++) {
    const [r, g, b] = [pixels[4 * i], pixels[4 * i + 1], pixels[4 * i + 2]];
    const levels = channels === 1 ? [0.299 * r + 0.587 * g + 0.114 * b] : [r, g, b];
    for (let c = 0; c < channels; c++) values[c * h * w + i] = low + (levels[c % 3] / 255) * (high - low);
  }
  return values;
}
