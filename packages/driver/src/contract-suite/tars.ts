import { makeTar, type TarEntry } from "../fake/make-tar.ts";

export const streamOf = (bytes: Uint8Array): ReadableStream<Uint8Array> => new Blob([bytes as Uint8Array<ArrayBuffer>]).stream();

/** A tar with a random name in it, so that tests do not share layers. */
export const freshTar = (...entries: readonly TarEntry[]) =>
  makeTar([
    { path: "name", text: crypto.randomUUID() },
    { path: "opt", type: "directory" },
    { path: "opt/tool", text: "x", mode: 0o755 },
    ...entries,
  ]);
