import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../config.ts";

export const readDocument = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** The text below a heading of the second level, without the heading. Throws if the document has no such heading. */
export function section(markdown: string, heading: string): string {
  const start = `\n## ${heading}\n`;
  const at = markdown.indexOf(start);
  if (at < 0) throw new Error(`there is no heading '${heading}'`);
  const rest = markdown.slice(at + start.length);
  const end = rest.indexOf("\n## ");
  return (end < 0 ? rest : rest.slice(0, end)).trim();
}

/** The first paragraph after the title, on one line. */
export function summary(markdown: string): string {
  const paragraph = markdown.split("\n\n").find((part) => !/^(#|<!--)/.test(part));
  if (paragraph === undefined) throw new Error("the document has no paragraph");
  return withoutLinks(paragraph.replaceAll("\n", " "));
}

/** Relative links as plain text, for readers who have no checkout: the words, with the target in brackets where they differ. */
export function withoutLinks(markdown: string): string {
  return markdown.replaceAll(/\[([^\]\n]{1,200})\]\((?!https?:)([^)#\s]{0,200})[^)\n]{0,200}\)/g, (_link, words: string, target: string) =>
    target === "" || words === target ? words : `${words} (${target})`,
  );
}
