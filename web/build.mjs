// Bundles src/ to one ES module and writes it, its style, its pages and the licences of what is inside, to the folder
// given (by default the package's own). The same sources and versions give the same bytes.
import { build } from "esbuild";
import { copyFileSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "../src/partita/explorer/static");
const modules = join(here, "node_modules");
mkdirSync(out, { recursive: true });

const result = await build({
  absWorkingDir: here,
  entryPoints: { explorer: "src/main.ts" },
  outdir: out,
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  legalComments: "none",
  charset: "utf8",
  metafile: true,
  logLevel: "warning",
});
for (const page of ["index.html", "single.html"]) copyFileSync(join(here, "src", page), join(out, page));

const wasm = readFileSync(join(modules, "onnxruntime-web/dist/ort-wasm-simd-threaded.wasm"));
const zipped = gzipSync(wasm, { level: 9 });
zipped[9] = 255; // the system that zipped it is nobody's business, and would make other bytes elsewhere
writeFileSync(join(out, "ort.wasm.gz"), zipped);

// Which packages really went in, by the bundler's own account; onnxruntime's bundle holds its common part.
const inside = new Set(["onnxruntime-common"]);
for (const input of Object.keys(result.metafile.inputs)) {
  const name = input.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1];
  if (name) inside.add(name);
}
const parts = [...inside].sort().map((name) => {
  const folder = join(modules, name);
  const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  const own = file ? join(folder, file) : join(here, "licences", `${name}.txt`);
  return `${name} ${about.version} (${about.license})\n\n${readFileSync(own, "utf8").trim()}\n`;
});
const rule = `\n${"-".repeat(100)}\n\n`;
const head = `The explorer's bundle (explorer.js, explorer.css, ort.wasm.gz) holds these packages, under these licences.
ort.wasm.gz is ONNX Runtime as its makers compiled it; the libraries inside it, and their licences, are in ort-notices.txt.gz.
`;
copyFileSync(join(here, "licences/ort-notices.txt.gz"), join(out, "ort-notices.txt.gz"));
writeFileSync(join(out, "LICENSES.txt"), head + rule + parts.join(rule));
