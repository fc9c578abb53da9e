/** Words that this project does not use, each with what to write instead. Readers know the field's terms; nobody knows ours. */
export const WORDS: readonly { readonly pattern: RegExp; readonly instead: string }[] = [
  { pattern: /\bbur(?:y|ies|ied)\b/i, instead: "remove, release" },
  { pattern: /\btakes? ?back\b|\btakeBack\b/i, instead: "adopt, remove, read again" },
  { pattern: /waiting[- ]?room/i, instead: "spare children, queue" },
  { pattern: /\bwhoever\b/i, instead: "the caller, a client, the owner: name who it is" },
  { pattern: /folder/i, instead: "directory" },
  { pattern: /\bbefalls?\b/i, instead: "happens to" },
  { pattern: /\bour fault\b/i, instead: "a fault of the server" },
  { pattern: /\bhis traffic\b/i, instead: "its traffic" },
];

export interface WordFinding {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

/** Every use of such a word, in code, comments and documents. */
export function checkWords({ path, text }: { readonly path: string; readonly text: string }): WordFinding[] {
  return text.split("\n").flatMap((line, index) =>
    WORDS.flatMap(({ pattern, instead }) => {
      const found = pattern.exec(line)?.[0];
      return found === undefined
        ? []
        : [{ path, line: index + 1, message: `"${found}": write instead: ${instead} (tools/checks/words.ts)` }];
    }),
  );
}
