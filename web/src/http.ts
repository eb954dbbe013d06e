// The server's shell: documents and numbers by requests to the page's own address.
import type { Encoded, Run, Source, Study } from "./documents";

export function http(): Source {
  // A token comes once, in the page's address, and then lives in memory only.
  const query = new URLSearchParams(location.search);
  const token = query.get("token");
  if (token) history.replaceState(null, "", location.pathname + location.hash);
  const headers: Record<string, string> = token ? { Authorization: `Bearer ${token}` } : {};

  async function ask(path: string, init: RequestInit = {}): Promise<Response> {
    let answer: Response;
    try {
      answer = await fetch(`api/${path}`, { ...init, headers: { ...headers, ...(init.headers as object) } });
    } catch {
      throw new Error("The server does not answer. Is partita explore still running? Start it again and reload this page.");
    }
    if (answer.ok) return answer;
    const said = await answer.json().catch(() => null);
    throw new Error(said?.problem ?? `The server answered ${answer.status} to ${path}.`);
  }
  const floats = async (answer: Response) => new Float32Array(await answer.arrayBuffer());
  const run = (id: string) => `run/${encodeURIComponent(id)}`;
  return {
    where: "by the server",
    study: async () => (await ask("study")).json() as Promise<Study>,
    run: async (id) => (await ask(run(id))).json() as Promise<Run>,
    tree: async (id) => (await ask(`${run(id)}/tree`)).json(),
    diagnosis: async (id) => (await ask(`${run(id)}/diagnosis`)).json(),
    points: async (id) => floats(await ask(`${run(id)}/points`)),
    decode: async (id, z) =>
      floats(await ask(`${run(id)}/decode`, {
        method: "POST", body: z as BodyInit, headers: { "Content-Type": "application/octet-stream" },
      })),
    observation: async (id, row) => floats(await ask(`${run(id)}/observation/${row}`)),
    encode: async (id, file) => {
      const about = { "Content-Type": file.type || "application/octet-stream", "X-Filename": encodeURIComponent(file.name) };
      return (await ask(`${run(id)}/encode`, { method: "POST", body: file, headers: about })).json() as Promise<Encoded>;
    },
  };
}
