// Asks for each document once, and decodes so that the newest wish wins and none waits in a line.
import { completed, type Run, type Source, type Study } from "./documents";

export interface Points { n: number; codes: Float32Array; factors: Float32Array; latents: number; factorCount: number }

const MOST_ROWS = 256; // observations kept; a pointer passes over many

export class Library {
  private kept = new Map<string, Promise<unknown>>();
  constructor(readonly source: Source) {}

  private once<T>(key: string, make: () => Promise<T>): Promise<T> {
    if (!this.kept.has(key)) {
      const made = make();
      made.catch(() => this.kept.delete(key)); // a failure may be over when asked again
      this.kept.set(key, made);
    }
    return this.kept.get(key) as Promise<T>;
  }
  study = (): Promise<Study> => this.once("study", () => this.source.study());
  run = (id: string): Promise<Run> => this.once(`run ${id}`, async () => completed({ ...(await this.source.run(id)), id }));
  tree = (run: Run) => this.once(`tree ${run.id}`, () => (run.tree ? Promise.resolve({ tree: run.tree, problem: null }) : this.source.tree(run.id)));
  diagnosis = (run: Run) =>
    this.once(`diagnosis ${run.id}`, () => (run.diagnosis ? Promise.resolve({ diagnosis: run.diagnosis, problem: null }) : this.source.diagnosis(run.id)));
  points = (run: Run): Promise<Points> =>
    this.once(`points ${run.id}`, async () => {
      const all = await this.source.points(run.id);
      const width = run.latents + run.factors.length;
      const n = width ? Math.floor(all.length / width) : 0;
      return {
        n, latents: run.latents, factorCount: run.factors.length,
        codes: all.subarray(0, n * run.latents), factors: all.subarray(n * run.latents, n * width),
      };
    });
  private rows: string[] = [];
  observation = (run: Run, row: number): Promise<Float32Array> => {
    const key = `row ${run.id} ${row}`;
    if (!this.kept.has(key)) this.rows.push(key);
    if (this.rows.length > MOST_ROWS) this.kept.delete(this.rows.shift()!);
    return this.once(key, () => this.source.observation(run.id, row));
  };
  /** Features of a table by how far they move between the ends of the latents' ranges, most first. */
  order = (run: Run): Promise<number[]> =>
    this.once(`order ${run.id}`, async () => {
      const latents = Math.min(run.latents, 31);
      const z = new Float32Array((2 * latents + 1) * run.latents); // the mean point, and both ends of each latent
      for (let b = 0; b <= 2 * latents; b++) z.set(run.start, b * run.latents);
      for (let k = 0; k < latents; k++)
        for (const end of [0, 1]) z[(1 + 2 * k + end) * run.latents + k] = run.range[k][end];
      const all = await this.source.decode(run.id, z);
      const size = all.length / (2 * latents + 1);
      const span = Float32Array.from({ length: size }, (_, i) => {
        const values = [...Array(2 * latents + 1).keys()].map((b) => all[b * size + i]);
        return Math.max(...values) - Math.min(...values);
      });
      return [...span.keys()].sort((a, b) => span[b] - span[a]);
    });
}

/** One answer under way at most; what is wished for meanwhile replaces what was wished for before. */
export class Latest<Wish, Answer> {
  private busy = false;
  private next: { wish: Wish } | null = null;
  private closed = false;
  constructor(
    private answer: (wish: Wish) => Promise<Answer>,
    private show: (answer: Answer, took: number) => void,
    private fail: (error: Error) => void,
  ) {}
  async ask(wish: Wish): Promise<void> {
    this.next = { wish };
    if (this.busy) return;
    this.busy = true;
    while (this.next && !this.closed) {
      const { wish: now } = this.next;
      this.next = null;
      const begun = performance.now();
      try {
        const said = await this.answer(now);
        if (!this.closed) this.show(said, performance.now() - begun);
      } catch (error) {
        if (!this.closed) this.fail(error as Error);
      }
    }
    this.busy = false;
  }
  close(): void {
    this.closed = true;
  }
}
