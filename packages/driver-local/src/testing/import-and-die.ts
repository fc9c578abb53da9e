import { LayerStore } from "../images/index.ts";

/** A program for tests: `import-and-die.ts DATA_DIR` begins an import, prints a line, and never ends by itself. */
const [dataDir] = process.argv.slice(2);
if (!dataDir) throw new Error("usage: import-and-die.ts DATA_DIR");

const source = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(new Uint8Array(100)) });
const importing = new LayerStore(dataDir).import(source, { signal: new AbortController().signal });
setTimeout(() => console.log("begun"), 300);
await importing;
