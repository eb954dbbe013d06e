import htm from "htm";
import { h } from "preact";
import { useEffect, useState } from "preact/hooks";

export const html = htm.bind(h) as (strings: TemplateStringsArray, ...values: any[]) => any;

export type Asked<T> = { value: T | null; problem: string | null };

/** What a promise came to, asked again when `keys` change; the old answer stays until the new one is there. */
export function useAsked<T>(ask: (() => Promise<T>) | null, keys: unknown[]): Asked<T> {
  const [state, set] = useState<Asked<T>>({ value: null, problem: null });
  useEffect(() => {
    let current = true;
    if (!ask) set({ value: null, problem: null });
    else
      ask().then(
        (value) => current && set({ value, problem: null }),
        (error: Error) => current && set({ value: null, problem: error.message }),
      );
    return () => {
      current = false;
    };
  }, keys);
  return state;
}

export const Problem = ({ words }: { words: string }) => html`<p class="problem" role="alert">${words}</p>`;
export const Waiting = ({ words }: { words: string }) => html`<p class="waiting" role="status">${words}</p>`;

/** Calls back when the element's size changes, and once at first. */
export function onSize(element: Element, callback: (width: number, height: number) => void): () => void {
  const observer = new ResizeObserver(([entry]) => callback(entry.contentRect.width, entry.contentRect.height));
  observer.observe(element);
  return () => observer.disconnect();
}

export function useDark(): boolean {
  const query = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => document.querySelector<HTMLElement>(".partita")?.dataset.theme;
  const [dark, set] = useState(chosen() ? chosen() === "dark" : query.matches);
  useEffect(() => {
    const look = () => set(chosen() ? chosen() === "dark" : query.matches);
    query.addEventListener("change", look);
    addEventListener("partita-theme", look);
    return () => {
      query.removeEventListener("change", look);
      removeEventListener("partita-theme", look);
    };
  }, []);
  return dark;
}
