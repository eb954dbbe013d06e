// One bundle, three shells: a page of the server, a single file, and a widget of a notebook.
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { render } from "preact";
import { Place } from "./address";
import { App } from "./app";
import type { Source } from "./documents";
import { html } from "./html";
import { http } from "./http";
import { inline } from "./inline";
import { Library } from "./library";
import { widget, type WidgetModel } from "./widget";

/** Shows the explorer in an element; what is handed back takes it away again. */
export function start(root: HTMLElement, source: Source, address = true): () => void {
  const place = new Place(address);
  root.replaceChildren();
  root.classList.add("partita");
  render(html`<${App} library=${new Library(source)} place=${place} />`, root);
  return () => {
    render(null, root);
    place.close();
  };
}

export { http, inline, widget };

export default {
  render({ model, el }: { model: WidgetModel; el: HTMLElement }) {
    const { source, close } = widget(model);
    const end = start(el, source, false);
    return () => {
      end();
      close();
    };
  },
};

const root = document.getElementById("partita");
if (root) start(root, document.getElementById("partita-run") ? inline() : http());
