import type { Agent } from "./agent.ts";
import { volumes } from "./api.ts";
import type { Entry } from "./file-tree.ts";

/** Where files come from: a sandbox or a volume. */
export interface FileSource {
  /** Tells one source from another. */
  readonly id: string;
  list(path: string): Promise<readonly Entry[]>;
  read(path: string, signal?: AbortSignal): Promise<Blob>;
  /** A directory with everything in it, as a tar; absent where one cannot have that. */
  readonly archive?: (path: string) => Promise<Blob>;
  write(path: string, text: string): Promise<void>;
  upload(path: string, file: Blob, onProgress: (sentBytes: number) => void): Promise<void>;
  makeDirectory(path: string): Promise<void>;
  /** A file, or a directory with everything in it. */
  remove(path: string): Promise<void>;
}

export function filesOfSandbox({ address, files }: Agent): FileSource {
  return {
    id: address.sandboxId,
    list: (path) => files.list(path),
    read: (path, signal) => files.read(path, { format: "blob", requestTimeoutMs: 0, ...(signal && { signal }) }),
    archive: (path) => files.archive(path, { format: "blob", requestTimeoutMs: 0 }),
    write: async (path, text) => void (await files.write(path, text)),
    upload: async (path, file, onProgress) =>
      void (await files.write(path, file, { onProgress: ({ sentBytes }) => onProgress(sentBytes) })),
    makeDirectory: async (path) => void (await files.makeDir(path)),
    remove: (path) => files.remove(path),
  };
}

export function filesOfVolume(volume: string, token: string): FileSource {
  return {
    id: volume,
    list: (path) => volumes.entries(volume, token, path),
    read: async (path) => (await volumes.read(volume, token, path)).blob(),
    write: async (path, text) => void (await volumes.write(volume, token, path, new Blob([text]))),
    upload: async (path, file) => void (await volumes.write(volume, token, path, file)),
    makeDirectory: async (path) => void (await volumes.makeDirectory(volume, token, path)),
    remove: (path) => volumes.removePath(volume, token, path),
  };
}
