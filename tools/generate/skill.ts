/** Writes the skill file for agents that read such files, made from the documents. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT } from "../config.ts";
import { readDocument, section, withoutLinks } from "./markdown.ts";

const OUTPUT = join(ROOT, "docs/skills/boxyard/SKILL.md");

const readme = readDocument("README.md");
const text = `---
name: boxyard
description: Runs code in isolated Linux sandboxes with Boxyard, by MCP tools, the command boxyard, or its clients for TypeScript and Python. Use it to run code that is not trusted, to try commands without touching this machine, or when the user asks for a sandbox.
---

# Boxyard sandboxes

If tools named \`create\` and \`run\` of a server \`boxyard\` are there, use these. Otherwise use the command in a shell, or write a program with a client.

## With the tools

${withoutLinks(section(readDocument("docs/mcp.md"), "Tools"))}

## In a shell

${withoutLinks(section(readme, "Every day"))}

## In a program

\`boxyard env\` prints the variables that the clients read.

${withoutLinks(section(readme, "A first program"))}
`;
mkdirSync(dirname(OUTPUT), { recursive: true });
writeFileSync(OUTPUT, text);
