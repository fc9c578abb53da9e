import { expect, test } from "bun:test";
import { toolList } from "../server.ts";

/** What all tools may cost a model's context. A token of JSON has about 4 bytes in the tokenizers that are published. */
const MAX_TOKENS = 2500;
const BYTES_PER_TOKEN = 4;

test("names, descriptions and schemas of all tools cost at most 2,500 tokens", () => {
  const bytes = Buffer.byteLength(JSON.stringify(toolList()));
  expect(Math.ceil(bytes / BYTES_PER_TOKEN)).toBeLessThanOrEqual(MAX_TOKENS);
});

test("every tool has another name and a description in full sentences", () => {
  const tools = toolList() as { name: string; description: string }[];
  expect(new Set(tools.map(({ name }) => name)).size).toBe(tools.length);
  for (const { description } of tools) expect(description).toMatch(/^[A-Z].*\.$/);
});
