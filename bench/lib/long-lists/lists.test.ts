import { expect, test } from "bun:test";
import { routes } from "@boxyard/spec/platform";
import { listsOf, NO_LISTS } from "./lists.ts";

test("every route that is read is measured as a list, or is known as none", () => {
  const read = Object.values(routes).filter(({ method }) => method === "get");
  const measured = Object.keys(listsOf({ sandboxId: "s", templateId: "t", webhookId: "w", sandboxIds: [], events: 1 }));
  expect([...measured, ...NO_LISTS].sort()).toEqual(read.map(({ path }) => `GET ${path}`).sort());
});
