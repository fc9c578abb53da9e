import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { checkoutWithPackages } from "./packages.ts";

const SOURCES = "packages/dashboard/src";

const SHARED = {
  target: "browser",
  format: "esm",
  minify: true,
  // The second one is what the reader of Dockerfiles asks: what a build makes of it is decided by the server's machine.
  define: { "process.env.NODE_ENV": '"production"', "process.arch": '"x64"' },
} as const;

/** A file of the dashboard, as it was made. */
export interface MadeFile {
  readonly name: string;
  /** Bytes as they are sent. */
  readonly compressedBytes: number;
  /** True for what a browser loads before it shows the first page. */
  readonly isFirst: boolean;
}

/**
 * Bundles the dashboard into the new directory `target`: `index.html`, and scripts and styles whose names have the hash of their content, compressed with
 * gzip. Throws when the packages cannot be installed or the sources have a fault.
 */
export async function makeFiles(target: string): Promise<MadeFile[]> {
  const parent = dirname(resolve(target));
  mkdirSync(parent, { recursive: true });
  const work = mkdtempSync(join(parent, ".dashboard-"));
  try {
    return await bundle(join(await checkoutWithPackages(work), SOURCES), target);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

async function bundle(sources: string, target: string): Promise<MadeFile[]> {
  const worker = await bundleWorker(sources);
  const { outputs } = await Bun.build({
    ...SHARED,
    entrypoints: [join(sources, "main.tsx"), join(sources, "styles/index.css")],
    splitting: true,
    naming: { entry: "[name]-[hash].[ext]", chunk: "part-[hash].[ext]", asset: "[name]-[hash].[ext]" },
    define: { ...SHARED.define, PDF_WORKER_ADDRESS: JSON.stringify(`/dashboard/assets/${worker.name}`) },
    jsx: { runtime: "automatic", importSource: "preact", development: false },
  });
  mkdirSync(target);
  const names = { script: "", style: "" };
  const texts = new Map([[worker.name, worker.text]]);
  for (const output of outputs) {
    const name = basename(output.path);
    if (name.endsWith(".css")) names.style = name;
    else if (output.kind === "entry-point") names.script = name;
    texts.set(name, await output.text());
  }
  writeFileSync(join(target, "index.html"), pageOf(names));
  const first = firstLoad(names, texts);
  return [...texts].map(([name, text]) => {
    const compressed = gzipSync(text, { level: 9 });
    writeFileSync(join(target, `${name}.gz`), compressed);
    return { name, compressedBytes: compressed.length, isFirst: first.has(name) };
  });
}

/** The worker that reads PDFs, in one file: what it is served with lets it load no other. */
async function bundleWorker(sources: string): Promise<{ readonly name: string; readonly text: string }> {
  const { outputs } = await Bun.build({ ...SHARED, entrypoints: [join(sources, "heavy/pdf/worker.ts")], naming: "pdf-[hash].[ext]" });
  const [output] = outputs;
  if (!output) throw new Error("The worker for PDFs was not made");
  return { name: basename(output.path), text: await output.text() };
}

/** The style, the entry, and what the entry imports at once, also through others. */
function firstLoad({ script, style }: { script: string; style: string }, texts: ReadonlyMap<string, string>): Set<string> {
  const found = new Set([style, script]);
  for (const name of found) {
    for (const [, other = ""] of (texts.get(name) ?? "").matchAll(/\bfrom ?"\.\/([\w.-]+\.js)"|\bimport ?"\.\/([\w.-]+\.js)"/g)) {
      if (other !== "") found.add(other);
    }
  }
  return found;
}

/** The page. The server replaces NONCE, a new one for each response. */
function pageOf({ script, style }: { script: string; style: string }): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Boxyard</title>
<link rel="stylesheet" nonce="NONCE" href="/dashboard/assets/${style}">
<script type="module" nonce="NONCE" src="/dashboard/assets/${script}"></script>
</head>
<body><div id="app"></div></body>
</html>
`;
}
