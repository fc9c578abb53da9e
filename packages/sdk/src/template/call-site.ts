/** A place in a program or in a Dockerfile that adds a step to a build. */
export interface CallSite {
  /** Path or URL of the file, if it is known. */
  readonly file?: string | undefined;
  readonly line: number;
  readonly column?: number | undefined;
  /** The calls that led to this place, as in a stack trace. */
  readonly frames?: readonly string[] | undefined;
}

const FRAME = /^\s*at (?:.*\()?(.+?):(\d+):(\d+)\)?$/;

/** The line outside of these files that the current call comes from. Undefined where the runtime does not tell. */
export function callSite(...own: readonly string[]): CallSite | undefined {
  const ours = [import.meta.url, ...own].map(pathOf);
  const frames = (new Error().stack ?? "").split("\n").filter((line) => FRAME.test(line));
  const first = frames.findIndex((frame) => !ours.includes(pathOf(FRAME.exec(frame)?.[1] ?? "")));
  if (first < 0) return undefined;
  const [, file = "", line, column] = FRAME.exec(frames[first] ?? "") ?? [];
  return { file: pathOf(file), line: Number(line), column: Number(column), frames: frames.slice(first) };
}

/** `FILE:LINE:COLUMN`, as editors and terminals open it. */
export function placeOf({ file = "Dockerfile", line, column }: CallSite): string {
  return column === undefined ? `${file}:${line}` : `${file}:${line}:${column}`;
}

function pathOf(text: string): string {
  if (!text.startsWith("file:")) return text;
  try {
    return decodeURIComponent(new URL(text).pathname);
  } catch {
    return text;
  }
}
