import type { ErrorCode } from "@boxyard/core/errors";

/** The job of a worker, as JSON on its command line. Paths are chosen by the server, on this machine. `seed`: see `InodeSeeds`. */
export type Job =
  | (MakeJob & { readonly kind: "import"; readonly expectedDigest?: string; readonly seed?: string })
  | (MakeJob & {
      readonly kind: "commit";
      /** A sandbox's volume, and the first id of its range. */
      readonly volume: string;
      readonly uidBase: number;
      readonly leaveOut: readonly string[];
    })
  | (MakeJob & { readonly kind: "merge"; readonly trees: readonly string[] })
  | { readonly kind: "export"; readonly tree: string; readonly facts: string }
  | (ArchiveBounds & { readonly kind: "exportVolume" })
  | (ArchiveBounds & { readonly kind: "importVolume" });

/** Of the tar of a volume. */
interface ArchiveBounds {
  /** The volume's subvolume; an import finds it empty. */
  readonly tree: string;
  readonly maxBytes: number;
  readonly maxEntries: number;
  readonly maxDepth: number;
}

/** The jobs that make a layer. */
export type LayerJob = Extract<Job, { kind: "import" | "commit" | "merge" }>;

interface MakeJob {
  /** An empty directory in the pool; the worker makes `tree` (a subvolume) and `facts` in it. */
  readonly directory: string;
  readonly maxBytes: number;
  /** First limit of the tree in the pool, bytes; the driver's growth guard changes it while the worker runs. Undefined: no limit. */
  readonly quotaBytes?: number;
  readonly maxEntries: number;
}

/** Device nodes of a tar that are not in the layer's tree, and some of their paths. */
export interface LeftOut {
  readonly count: number;
  readonly examples: readonly string[];
}

/** One line of JSON from a worker. */
export type Message =
  | { readonly type: "progress"; readonly bytesRead: number }
  | ({ readonly type: "leftOut" } & LeftOut)
  /** A commit has its own snapshot of the volume: the sandbox may go on. */
  | { readonly type: "copied" }
  | { readonly type: "done"; readonly digest: string }
  /** An import of a volume is done. */
  | ({ readonly type: "filled" } & LeftOut)
  | {
      readonly type: "failed";
      readonly code: ErrorCode;
      readonly reason: string;
      readonly message: string;
      readonly details: Readonly<Record<string, unknown>>;
    };

/** `facts.json` of a layer. */
export interface LayerFacts {
  readonly version: 1;
  readonly digest: string;
  readonly sizeBytes: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** Contents that the tar holds and the tree does not: see `Replaced`. */
  readonly replaced: readonly { readonly path: string; readonly before: number; readonly file: string }[];
}

/** What a job has made, for `facts.json`. */
export type Made = Pick<LayerFacts, "digest" | "sizeBytes"> & Partial<LayerFacts>;
export type Send = (message: Message) => void;

export const FILES = { tree: "tree", facts: "facts", factsFile: "facts.json", skeleton: "skeleton", kept: "kept" } as const;
