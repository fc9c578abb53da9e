/** Words that this project does not use, each with what to write instead: readers know the standard terms, but no terms of our own. */
export const WORDS: readonly { readonly pattern: RegExp; readonly instead: string }[] = [
  { pattern: /\bbur(?:y|ies|ied)\b/i, instead: "remove, release" },
  { pattern: /\btakes? ?back\b|\btakeBack\b/i, instead: "adopt, remove, read again" },
  { pattern: /waiting[- ]?room/i, instead: "spare children, queue" },
  { pattern: /\bwhoever\b/i, instead: "the caller, a client, the owner: name who it is" },
  { pattern: /folder/i, instead: "directory" },
  { pattern: /\bbefalls?\b/i, instead: "happens to" },
  { pattern: /\bour fault\b/i, instead: "a fault of the server" },
  { pattern: /\bhis traffic\b/i, instead: "its traffic" },
  { pattern: /\ball the same[.,:;)]/i, instead: "anyway, still" },
  { pattern: /\bfor want of\b/i, instead: "for lack of, because there is no" },
  { pattern: /\bin the midst\b/i, instead: "in the middle of, during" },
  { pattern: /\bhands on\b/i, instead: "passes on" },
  { pattern: /\bin vain\b/i, instead: "without result: say what does not happen" },
  { pattern: /\bheed(?:s|ed)?\b/i, instead: "use, follow, obey" },
  { pattern: /\b(?:comes?|came) to be\b/i, instead: "is created, is made, becomes" },
  { pattern: /\bsomebody else's\b/i, instead: "another process's, another sandbox's: name whose" },
  { pattern: /\blets? go of\b/i, instead: "release, close, forget, cancel: name what is done" },
  { pattern: /\b(?:tells|told) of\b/i, instead: "report, say, show, describe" },
  { pattern: /(?<![-\w])(?:he|his|him|himself)\b(?!")/i, instead: "name who it is: the user, the owner, the program" },
  { pattern: /\bundead\b/i, instead: "not ended, orphan" },
  { pattern: /\blest\b/i, instead: "so that … does not" },
  { pattern: /\bafresh\b/i, instead: "again, anew" },
  { pattern: /\bunharmed\b/i, instead: "unchanged" },
  { pattern: /\bby way of\b/i, instead: "through, by" },
  { pattern: /\bno matter of\b/i, instead: "does not mean, is not about" },
  { pattern: /\bcomes? round\b/i, instead: "runs again, returns" },
  { pattern: /\bat hand\b/i, instead: "there, in memory, open: say where" },
  { pattern: /\bno door to\b/i, instead: "does not offer, has no call for" },
  { pattern: /\bwithout a word\b/i, instead: "silently, without an error" },
  { pattern: /\b(?:that|what|which|who) is none\b(?! of)/i, instead: "invalid, that is not a …: name what it is not" },
  { pattern: /\bhalf-made\b/i, instead: "unfinished, incomplete" },
  { pattern: /\bnobody's\b/i, instead: "no sandbox's, of no process: name whose it is not" },
  { pattern: /\bto be had\b/i, instead: "free, available" },
  { pattern: /\b(?:by|for) who\b/i, instead: "by party, for the caller: name who it is" },
  { pattern: /\bof no interest\b/i, instead: "does not matter" },
  { pattern: /\bof the moment\b/i, instead: "present, set so far: say which" },
  { pattern: /\bover and over\b/i, instead: "repeatedly" },
  { pattern: /\bin silence\b/i, instead: "without an error" },
  { pattern: /\bletGo\b|\b(?:is|are|was|were|be) let go\b/, instead: "disconnected, closed, released: name what is done" },
  { pattern: /\bas the (?:machine|sandbox) numbers\b/i, instead: "in the process namespace of the machine, of the sandbox" },
  { pattern: /\bno account holds\b|\bon nobody's account\b/i, instead: "no cgroup counts, charged to no cgroup" },
  { pattern: /\bwakings\b/i, instead: "wake queue, wake" },
  { pattern: /\bremainders?\b/i, instead: "frozen orphan, rest: name what is left" },
  { pattern: /\.strangers\b|Strangers\b/, instead: "orphans, unknown sandboxes" },
  {
    pattern: /\b(?:create|destroy|keep|reset|clone)Volume\b.*storage|storage\.\w*Volume\b/,
    instead: "disk: a volume is what a user makes",
  },
  { pattern: /\bboot-anew\b|\bbootAnew/i, instead: "reboot" },
];

export interface WordFinding {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

/** Every use of a refused word, in code, comments and documents. */
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
