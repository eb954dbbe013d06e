// Colours that people who confuse some can tell apart: Okabe and Ito (2008) up to seven kinds, Tol's muted up to ten,
// and cividis for anything that has an order.
export type Rgb = [number, number, number];

const OKABE = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d"];
const TOL = ["#cc6677", "#332288", "#ddcc77", "#117733", "#88ccee", "#882255", "#44aa99", "#999933", "#aa4499", "#8a8a8a"];
const LIFTED: Record<string, string> = { "#4d4d4d": "#c9ced3", "#332288": "#7f70e0", "#882255": "#c45a8c", "#117733": "#35a860", "#0072b2": "#3b9be0" };
const CIVIDIS = [
  "#00224e", "#0e2f63", "#1a386f", "#30446c", "#434e6c", "#535a6c", "#62656f", "#706f74", "#7f7c75", "#8e8978",
  "#9d9677", "#aea475", "#bfb26f", "#d0c065", "#e2d057", "#fee838",
].map(rgb);

export function rgb(hex: string): Rgb {
  return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)) as Rgb;
}
export const hex = (colour: Rgb) => "#" + colour.map((c) => Math.round(c).toString(16).padStart(2, "0")).join("");

/** t from 0 to 1 on the cividis ramp. */
export function ramp(t: number): Rgb {
  const at = Math.max(0, Math.min(1, t)) * (CIVIDIS.length - 1);
  const i = Math.min(Math.floor(at), CIVIDIS.length - 2);
  return CIVIDIS[i].map((c, j) => c + (at - i) * (CIVIDIS[i + 1][j] - c)) as Rgb;
}
/** The ramp for points: its dark end would vanish on a dark page. */
export const pointRamp = (t: number, dark: boolean): Rgb => ramp(dark ? 0.22 + 0.78 * t : t);

export function kinds(n: number, dark: boolean): Rgb[] {
  const base = n <= OKABE.length ? OKABE : n <= TOL.length ? TOL : null;
  if (!base) return [...Array(n).keys()].map((i) => pointRamp(n > 1 ? i / (n - 1) : 0, dark));
  return base.slice(0, n).map((each) => rgb(dark ? (LIFTED[each] ?? each) : each));
}
/** Black or white, whichever reads better on the colour. */
export function inkOn([r, g, b]: Rgb): string {
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#111111" : "#ffffff";
}
