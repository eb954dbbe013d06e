// The notebook's shell: the same questions as messages to the kernel, answered by their number.
import type { Encoded, Run, Source, Study } from "./documents";

export interface WidgetModel {
  send(content: unknown, callbacks?: unknown, buffers?: ArrayBuffer[]): void;
  on(event: string, callback: (content: any, buffers: DataView[]) => void): void;
  off(event: string, callback: (content: any, buffers: DataView[]) => void): void;
}

export function widget(model: WidgetModel): { source: Source; close: () => void } {
  const waiting = new Map<number, { resolve: (answer: any) => void; reject: (error: Error) => void }>();
  let last = 0;
  const heard = (content: any, buffers: DataView[]) => {
    const asked = waiting.get(content?.id);
    if (!asked) return;
    waiting.delete(content.id);
    if (content.ok) asked.resolve({ document: content.document, buffer: buffers?.[0] });
    else asked.reject(new Error(content.problem ?? "The kernel did not answer."));
  };
  model.on("msg:custom", heard);
  function ask(kind: string, about: object = {}, buffer?: ArrayBuffer): Promise<{ document: any; buffer: DataView }> {
    const id = ++last;
    return new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject });
      model.send({ id, kind, ...about }, undefined, buffer ? [buffer] : []);
    });
  }
  const floats = (view: DataView) => {
    const copy = new Uint8Array(view.buffer, view.byteOffset, view.byteLength).slice();
    return new Float32Array(copy.buffer);
  };
  const source: Source = {
    where: "by the kernel",
    study: async () => (await ask("study")).document as Study,
    run: async (run) => (await ask("run", { run })).document as Run,
    tree: async (run) => (await ask("tree", { run })).document,
    diagnosis: async (run) => (await ask("diagnosis", { run })).document,
    points: async (run) => floats((await ask("points", { run })).buffer),
    decode: async (run, z) => floats((await ask("decode", { run }, z.slice().buffer as ArrayBuffer)).buffer),
    observation: async (run, row) => floats((await ask("observation", { run, row })).buffer),
    encode: async (run, file) =>
      (await ask("encode", { run, filename: file.name, type: file.type }, await file.arrayBuffer())).document as Encoded,
  };
  return { source, close: () => model.off("msg:custom", heard) };
}
