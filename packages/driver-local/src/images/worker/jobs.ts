import type { ErrorCode } from "@boxyard/core";

/** What a worker is asked to do, as JSON on its command line. Paths are of this machine and of our making. `seed`: see `InodeSeeds`. */
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
  | { readonly kind: "export"; readonly tree: string; readonly facts: string };

interface MakeJob {
  /** An empty directory in the pool; the worker makes `tree` (a subvolume) and `facts` in it. */
  readonly directory: string;
  readonly maxBytes: number;
  /** What the tree may hold in the pool; the driver's guard changes it while the worker is at it. No limit without. */
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
  /** A commit has its own copy: the sandbox may go on. */
  | { readonly type: "copied" }
  | { readonly type: "done"; readonly digest: string }
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

export const FILES = { tree: "tree", facts: "facts", factsFile: "facts.json", skeleton: "skeleton", kept: "kept" } as const;
