// Numbers for people.
export function number(value: number | null | undefined, digits = 3): string {
  if (value == null || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e5) return String(value).replace("-", "−");
  const text = size >= 1e5 || size < 1e-4 ? value.toExponential(1) : size >= 100 ? value.toFixed(1) : value.toFixed(size >= 10 ? 2 : digits);
  if (Number(text) === 0) return text.replace("-", ""); // what rounds to nothing has no sign
  return text.replace("-", "−").replace("e+", "e");
}
export const tick = (value: number): string => String(value).replace("-", "−");
export const count = (value: number): string => value.toLocaleString("en-US");
export const probability = (p: number | null): string => (p == null ? "" : p < 0.001 ? "p < 0.001" : `p = ${p.toFixed(3)}`);
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}
export function latentsNamed(group: number[], names: string[]): string {
  return group.map((k) => names[k] ?? `z${k}`).join(" ");
}
