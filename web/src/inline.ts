// The single file's shell: documents stand in the page, encoder and decoder run in it.
import * as ort from "onnxruntime-web/wasm";
import { completed, type Run, type Source, type Study } from "./documents";
import { numbersOf } from "./files";

const element = (name: string) => document.getElementById(`partita-${name}`);

async function unpacked(name: string): Promise<Uint8Array> {
  const text = element(name)?.textContent?.trim();
  if (!text) throw new Error(`This file holds no ${name}.`);
  const plain = atob(text);
  const bytes = new Uint8Array(plain.length); // five million characters: a plain loop, not an iterator
  for (let i = 0; i < plain.length; i++) bytes[i] = plain.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const floats = (bytes: Uint8Array) => new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);

export function inline(): Source {
  const study = JSON.parse(element("study")!.textContent!) as Study;
  const run = completed(JSON.parse(element("run")!.textContent!) as Run);
  const size = run.shape.reduce((a, b) => a * b, 1);
  const kept = new Map<string, Promise<unknown>>();
  function once<T>(name: string, make: () => Promise<T>): Promise<T> {
    if (!kept.has(name)) kept.set(name, make());
    return kept.get(name) as Promise<T>;
  }
  const runtime = () =>
    once("runtime", async () => {
      ort.env.wasm.wasmBinary = (await unpacked("wasm")).buffer as ArrayBuffer;
      ort.env.wasm.numThreads = 1;
      ort.env.wasm.proxy = false;
    });
  const session = (name: "decoder" | "encoder") =>
    once(name, async () => {
      await runtime();
      return ort.InferenceSession.create(await unpacked(name), { executionProviders: ["wasm"] });
    });
  let turn: Promise<unknown> = Promise.resolve(); // a session does one thing at a time
  function compute(name: "decoder" | "encoder", input: Float32Array, shape: number[]) {
    const work = async () => {
      const model = await session(name);
      return model.run({ [model.inputNames[0]]: new ort.Tensor("float32", input, shape) });
    };
    const next = turn.then(work, work);
    turn = next.catch(() => undefined);
    return next;
  }
  return {
    where: "in this page",
    study: async () => study,
    run: async () => run,
    tree: async () => ({ tree: run.tree, problem: (run as { tree_problem?: string }).tree_problem ?? null }),
    diagnosis: async () => ({ diagnosis: run.diagnosis, problem: null }),
    points: () => once("points", async () => floats(await unpacked("points"))),
    decode: async (_, z) => {
      const answer = await compute("decoder", z, [z.length / run.latents, run.latents]);
      return Object.values(answer)[0].data as Float32Array;
    },
    observation: async (_, row) => {
      const all = await once("observations", async () => floats(await unpacked("observations")));
      if ((row + 1) * size > all.length) throw new Error("This file holds a sample of the observations, and not this one.");
      return all.slice(row * size, (row + 1) * size);
    },
    encode: async (_, file) => {
      const shown = await numbersOf(file, run);
      const answer = await compute("encoder", shown, [1, ...run.shape]);
      return {
        mean: [...(answer.mean.data as Float32Array)],
        log_variance: [...(answer.log_variance.data as Float32Array)],
        shown,
      };
    },
  };
}
