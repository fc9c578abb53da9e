/** Largest number of lines of a file of code and of a list of test cases. Generated files are not checked; there are no other exceptions. */
export const FILE_LINES = { code: 300, tests: 500 } as const;
/** Largest number of lines of a function's body. biome counts them (`noExcessiveLinesPerFunction`). */
export const FUNCTION_LINES = 80;

/** A message for each file that is longer than its limit. */
export function longFiles(files: readonly { path: string; text: string }[]): string[] {
  return files.flatMap(({ path, text }) => {
    const lines = text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
    const most = isSuite(path) ? FILE_LINES.tests : FILE_LINES.code;
    return lines > most ? [`${path}: ${lines} lines (at most ${most}); split it by job`] : [];
  });
}

/** The part of biome's JSON report that is used here. */
interface BiomeReport {
  readonly diagnostics?: readonly {
    readonly category?: string | null;
    readonly message?: unknown;
    readonly location?: { readonly path?: unknown; readonly start?: { readonly line?: number } };
  }[];
}

/** A message for each finding of biome's rule on long functions, except in tests, where a group of cases is one long function. */
export function longFunctions(json: string): string[] {
  const report = JSON.parse(json) as BiomeReport;
  return (report.diagnostics ?? []).flatMap((diagnostic) => {
    if (!diagnostic.category?.includes("noExcessiveLinesPerFunction")) return [];
    const where = diagnostic.location?.path;
    const path = typeof where === "string" ? where : ((where as { file?: string } | undefined)?.file ?? "?");
    if (isSuite(path)) return [];
    return [`${path}:${diagnostic.location?.start?.line ?? "?"}: a function of more than ${FUNCTION_LINES} lines`];
  });
}

/** Files whose outermost function is a list of test cases. */
function isSuite(path: string): boolean {
  return /\.test\.tsx?$|-(suite|contract)\.ts$|\/contract\//.test(path);
}
