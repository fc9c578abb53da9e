import { posix } from "node:path";
import { IMPORT_RULES, IMPORTS, MAY_ALSO, TEXT_RULES } from "./import-table.ts";
import { codeOf, type Import, importsOf, lineAt } from "./source-text.ts";

export interface Source {
  /** Path in the checkout. */
  readonly path: string;
  readonly text: string;
}

export interface Finding {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

/** Checks one file against the import table and the other rules of import-table.ts. */
export function checkBoundaries(source: Source): Finding[] {
  const imports = importsOf(source.text);
  return [...imports.flatMap((found) => checkImport(source.path, found)), ...checkText(source)].sort((a, b) => a.line - b.line);
}

function packageOf(path: string): string | undefined {
  return /^packages\/([^/]+)\//.exec(path)?.[1];
}

function checkImport(path: string, { specifier, line }: Import): Finding[] {
  const target = specifier.startsWith(".") ? posix.normalize(posix.join(posix.dirname(path), specifier)) : specifier;
  const message = specifier.startsWith(".") ? checkRelative(path, target) : checkPackage(path, specifier);
  const findings: Finding[] = message ? [{ path, line, message }] : [];
  for (const rule of IMPORT_RULES) {
    if (!rule.files.test(path) || rule.except?.test(path) || !rule.forbidden.test(target)) continue;
    findings.push({ path, line, message: `may not import ${specifier}: ${rule.because}` });
  }
  return findings;
}

function checkRelative(path: string, target: string): string | undefined {
  const from = packageOf(path);
  if (from && !target.startsWith(`packages/${from}/`)) return `${target} is outside the package: import it by its package's name`;
  // Files in a directory `testing/` are for tests outside of the package, and are not part of its interface.
  if (!from && packageOf(target) && !target.includes("/testing/")) return `${target} is inside a package: import it by its package's name`;
  return undefined;
}

function checkPackage(path: string, specifier: string): string | undefined {
  const from = packageOf(path);
  const wanted = /^@boxyard\/([^/]+)/.exec(specifier)?.[1];
  if (!from || !wanted || wanted === from) return undefined;
  const allowed = [...(IMPORTS[from] ?? []), ...MAY_ALSO.filter((row) => row.file.test(path)).flatMap((row) => row.imports)];
  if (allowed.includes("*") || allowed.includes(wanted)) return undefined;
  return `${from} may not import @boxyard/${wanted} (allowed: ${allowed.join(", ") || "nothing"})`;
}

function checkText({ path, text }: Source): Finding[] {
  const rules = TEXT_RULES.filter((rule) => rule.files.test(path) && !rule.except?.test(path));
  if (rules.length === 0) return [];
  const code = codeOf(text, { keepStrings: false });
  return rules.flatMap((rule) =>
    [...code.matchAll(new RegExp(rule.forbidden, "g"))].map((match) => ({
      path,
      line: lineAt(code, match.index),
      message: `${match[0]}: ${rule.because}`,
    })),
  );
}
