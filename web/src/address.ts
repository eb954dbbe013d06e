// Every view has an address: what is seen is in the hash, and the hash says what is seen.
export type Parameters = Record<string, string>;

export function parsed(hash: string): Parameters {
  return Object.fromEntries(new URLSearchParams(hash.replace(/^#/, "")));
}

export function written(parameters: Parameters): string {
  const plain = (text: string) => encodeURIComponent(text).replace(/%2C/g, ",").replace(/%20/g, "+");
  return "#" + Object.entries(parameters).filter(([, v]) => v !== "").map(([k, v]) => `${plain(k)}=${plain(v)}`).join("&");
}

/** Where the person is. `keep` says whether the browser's address follows: a notebook's belongs to the notebook. */
export class Place {
  parameters: Parameters;
  private listeners = new Set<() => void>();
  private timer = 0;
  constructor(readonly keep: boolean) {
    this.parameters = keep ? parsed(location.hash) : {};
    if (keep) addEventListener("hashchange", this.moved);
  }
  private moved = () => {
    clearTimeout(this.timer);
    this.timer = 0;
    this.parameters = parsed(location.hash);
    this.tell();
  };
  private tell() {
    for (const listener of this.listeners) listener();
  }
  listen(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
  with(changes: Parameters): string {
    return written({ ...this.parameters, ...changes });
  }
  /** A step that Back undoes. */
  go(parameters: Parameters): void {
    this.write();
    this.parameters = parameters;
    if (this.keep) history.pushState(null, "", written(parameters));
    this.tell();
  }
  /** A small change in the same view. Browsers slow down pages that write addresses at every move, so it waits a little. */
  set(changes: Parameters): void {
    this.parameters = { ...this.parameters, ...changes };
    if (this.keep && !this.timer) this.timer = window.setTimeout(() => this.write(), 250);
    this.tell();
  }
  private write() {
    clearTimeout(this.timer);
    this.timer = 0;
    if (this.keep && parsed(location.hash) !== this.parameters) history.replaceState(null, "", written(this.parameters));
  }
  close(): void {
    clearTimeout(this.timer);
    removeEventListener("hashchange", this.moved);
  }
}
