import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CHECKOUT } from "@boxyard/testkit";

/** The first code block of a document in this language that holds `part`, as it stands there. `root`: another checkout. */
export function block(document: string, language: string, part = "", root = CHECKOUT): string {
  const written = readFileSync(join(root, document), "utf8");
  const blocks = [...written.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "gm"))].map(([, text = ""]) => text);
  const found = blocks.find((text) => text.includes(part));
  if (found === undefined) throw new Error(`${document} has no block in ${language} with ${part}`);
  return found;
}
