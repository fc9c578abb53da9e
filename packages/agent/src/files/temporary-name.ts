import { randomHex } from "../random.ts";

/*
 * Names of temporary files next to their destination. Watches recognise them: a client that watches the directory is told about the finished
 * file, and not about the temporary one (watch/translate.ts).
 */

const PATTERN = /^\.boxyard-(new|old)-[0-9a-f]{24}\.tmp$/;

/** A random, unused name. `replaces`: the destination exists already. */
export function temporaryName(replaces: boolean): string {
  return `.boxyard-${replaces ? "old" : "new"}-${randomHex(12)}.tmp`;
}

/** `old` if the file is to replace one, `new` if not; undefined for the name of any other file. */
export function temporaryKind(name: string): "new" | "old" | undefined {
  return PATTERN.exec(name)?.[1] as "new" | "old" | undefined;
}
