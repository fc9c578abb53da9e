import type { ContextEntry } from "./files.ts";
/** Writes a tar of these entries, gzipped, into a file. Times and owners are left out: equal content gives equal archives. */
export declare function writeTarGz(entries: readonly ContextEntry[], file: string): Promise<void>;
