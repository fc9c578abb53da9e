import { randomHex } from "../random.ts";

/*
 * Names of files that are being written beside their destination. Watchers know them: a client that watches a directory sees the finished
 * file appear or change, not our way of getting there (watch/translate.ts).
 */

const PATTERN = /^\.boxyard-(new|old)-[0-9a-f]{24}\.tmp$/;

/** A name nobody has. `replaces`: the destination exists already. */
export function temporaryName(replaces: boolean): string {
  return `.boxyard-${replaces ? "old" : "new"}-${randomHex(12)}.tmp`;
}

/** Undefined for every other name; else whether the file is to replace one. */
export function temporaryKind(name: string): "new" | "old" | undefined {
  return PATTERN.exec(name)?.[1] as "new" | "old" | undefined;
}
