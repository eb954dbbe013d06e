// What the Python side says, and the one interface by which the front end asks for it.

export interface Score { value: number | null; low?: number | null; high?: number | null; protocol?: string | null }
export interface RunRow {
  id: string; method: string; data: string; state: string; seed: number | null; settings: Record<string, unknown>;
  scores: Record<string, Score>; bound: number | null; verdict: string | null; problem: string | null;
  bound_of?: string | null;
}
export interface Study {
  title: string; kind: "study" | "model"; runs: RunRow[]; score_names: string[]; metrics_note?: string | null;
  score_about?: Record<string, { better: string; explanation: string }>;
}
export interface Factor { name: string; kind: "categorical" | "continuous"; levels: string[] | null }
export interface Table { rows: string[]; columns: string[]; nats: (number | null)[][]; n?: number; by?: string }
export interface Alignment {
  rows: string[]; columns: string[]; r2: (number | null)[][]; assignment: number[]; mean: number | null;
  grouping?: string | null;
}
export interface Merge {
  groups: number[][]; nats: number | null; interval: [number, number] | null; p: number | null; accepted: boolean;
}
export interface Tree { merges: Merge[]; groups: number[][]; words: string | null }
export interface Curve { step: number[]; value: (number | null)[]; label?: string; unit?: string }
export interface Diagnosis { verdict: string; reasons: string[] }
export interface Run {
  id: string; method: string; title: string; problem: string | null; groups: number[][]; latents: number;
  latent_names: string[]; range: [number, number][]; start: number[]; kl: (number | null)[]; active: boolean[];
  shows: "image" | "curve" | "map" | "bars"; shape: number[]; value_range: [number, number];
  features: string[] | null; units: string | null; factors: Factor[]; information: Table | null;
  alignment: Alignment | null; tree: Tree | null; curves: Record<string, Curve>;
  diagnosis: Diagnosis | null; count: number; total: number; encodes: boolean; decodes: boolean;
  notes: string[];
}
export interface Encoded { mean: number[]; log_variance: number[]; shown: ArrayLike<number> }

export interface Source {
  /** Who decodes, for people: "by the server", "in this page". */
  where: string;
  study(): Promise<Study>;
  run(id: string): Promise<Run>;
  /** These two take seconds to compute, so they are asked for when looked at. */
  tree(id: string): Promise<{ tree: Tree | null; problem: string | null }>;
  diagnosis(id: string): Promise<{ diagnosis: Diagnosis | null; problem: string | null }>;
  /** n x K codes, then n x F factors. */
  points(id: string): Promise<Float32Array>;
  /** B x K -> B x prod(shape). */
  decode(id: string, z: Float32Array): Promise<Float32Array>;
  observation(id: string, row: number): Promise<Float32Array>;
  encode(id: string, file: File): Promise<Encoded>;
}

/** A run document may lack anything, above all where the run has a problem: this fills what views read. */
export function completed(run: Partial<Run> & { id: string }): Run {
  const latents = run.latents ?? run.start?.length ?? 0;
  const each = [...Array(latents).keys()];
  return {
    method: "", title: run.id, problem: null, features: null, units: null, information: null,
    alignment: null, tree: null, diagnosis: null, encodes: false, decodes: latents > 0,
    ...run,
    latents,
    shows: run.shows ?? "bars",
    groups: run.groups?.length ? run.groups : each.map((k) => [k]),
    latent_names: run.latent_names ?? each.map((k) => `z${k}`),
    range: run.range ?? each.map(() => [-3, 3] as [number, number]),
    start: run.start ?? each.map(() => 0),
    kl: run.kl ?? [],
    active: run.active ?? each.map(() => true),
    shape: run.shape ?? [],
    value_range: run.value_range ?? [0, 1],
    factors: run.factors ?? [],
    curves: run.curves ?? {},
    count: run.count ?? 0,
    total: run.total ?? run.count ?? 0,
    notes: run.notes ?? [],
  };
}
