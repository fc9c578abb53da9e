import { expect, test } from "bun:test";
import { systemClock, type TeamId } from "@boxyard/core";
import type { Store, TemplateRecord } from "../store/index.ts";
import { Templates } from "./templates.ts";

const TEAM = "team-1" as TeamId;

/** The templates of a store that has these names of the team. */
async function having(...names: string[]): Promise<Templates> {
  const list = names.map(
    (name) => ({ id: `id-${name}`, name, teamId: TEAM, namespace: "default", isPublic: false }) as unknown as TemplateRecord,
  );
  const store = { templates: { list: async () => list, listUntagged: async () => [], listVersions: async () => [] } } as unknown as Store;
  const templates = new Templates(store, systemClock);
  await templates.load();
  return templates;
}

test("the name 'code-interpreter-v1', which clients ask for, means 'code-interpreter', unless a template has that name", async () => {
  const found = (templates: Templates, text: string) => templates.find(TEAM, text).record.name;
  const shipped = await having("base", "code-interpreter");
  expect(["code-interpreter-v1", "code-interpreter", "Default/Code-Interpreter-V1:default"].map((text) => found(shipped, text))).toEqual(
    Array(3).fill("code-interpreter"),
  );
  expect(found(await having("code-interpreter", "code-interpreter-v1"), "code-interpreter-v1")).toBe("code-interpreter-v1");
});

test("a shipped template that is not built yet is not found, and the answer says what builds it", async () => {
  const templates = await having("base");
  for (const name of ["code-interpreter-v1", "code-interpreter"]) {
    expect(() => templates.find(TEAM, name)).toThrow(
      `template '${name}' not found; \`boxyard template rebuild code-interpreter\` on the server makes it`,
    );
  }
  expect(() => templates.find(TEAM, "constructor")).toThrow(/^template 'constructor' not found$/);
});
