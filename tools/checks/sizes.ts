/** Lines of a file: a warning above the first (but for lists of test cases), a failure above the second. Generated files are not counted. */
export const FILE_LINES = { warn: 300, fail: 500 } as const;
/** Lines of a function's body. biome counts them (`noExcessiveLinesPerFunction`). */
export const FUNCTION_LINES = 80;

/** `tools/checks/size-exceptions.json`: what may be longer, each with the reason. */
export interface SizeExceptions {
  readonly files: Readonly<Record<string, string>>;
  /** Functions by `path`; the reason says which. */
  readonly functions: Readonly<Record<string, string>>;
}

export interface SizeReport {
  readonly warnings: string[];
  readonly failures: string[];
}

export function checkFileSizes(files: readonly { path: string; text: string }[], exceptions: SizeExceptions): SizeReport {
  const report: SizeReport = { warnings: [], failures: [] };
  for (const { path, text } of files) {
    const lines = text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
    if (lines <= (isSuite(path) ? FILE_LINES.fail : FILE_LINES.warn) || exceptions.files[path]) continue;
    if (lines > FILE_LINES.fail) report.failures.push(`${path}: ${lines} lines (at most ${FILE_LINES.fail})`);
    else report.warnings.push(`${path}: ${lines} lines (aim at ${FILE_LINES.warn})`);
  }
  const known = new Set(files.map((file) => file.path));
  for (const path of [...Object.keys(exceptions.files), ...Object.keys(exceptions.functions)]) {
    if (!known.has(path)) report.failures.push(`${path} is an exception in size-exceptions.json, but there is no such file`);
  }
  return report;
}

/** The part of biome's JSON report that is used here. */
interface BiomeReport {
  readonly diagnostics?: readonly {
    readonly category?: string | null;
    readonly message?: unknown;
    readonly location?: { readonly path?: unknown; readonly start?: { readonly line?: number } };
  }[];
}

/** Findings of biome's rule on long functions, without tests (a group of cases is one long function) and exceptions. */
export function longFunctions(json: string, exceptions: SizeExceptions): string[] {
  const report = JSON.parse(json) as BiomeReport;
  return (report.diagnostics ?? []).flatMap((diagnostic) => {
    if (!diagnostic.category?.includes("noExcessiveLinesPerFunction")) return [];
    const where = diagnostic.location?.path;
    const path = typeof where === "string" ? where : ((where as { file?: string } | undefined)?.file ?? "?");
    if (exceptions.functions[path] || isSuite(path)) return [];
    return [`${path}:${diagnostic.location?.start?.line ?? "?"}: a function of more than ${FUNCTION_LINES} lines`];
  });
}

/** Files whose outermost function is a list of test cases. */
function isSuite(path: string): boolean {
  return /\.test\.tsx?$|-(suite|contract)\.ts$|\/contract\//.test(path);
}
