import { expect, test } from "bun:test";
import { BodyBudget } from "../../body/budget.ts";
import { LIMITS } from "../limits.ts";
import { readComposeRequest } from "./request.ts";

const request = (source_paths: unknown[]) =>
  readComposeRequest(
    new Request("http://agent/files/compose", { method: "POST", body: JSON.stringify({ source_paths, destination: "d" }) }),
    new BodyBudget({ totalBytes: LIMITS.composeBodyBytes, freeBytes: 0, waitMs: 0, collectBytes: 1e9 }, () => {}).claim(),
  );

test("accepts up to LIMITS.composeSources sources, and refuses one more of any type", async () => {
  const most = new Array<string>(LIMITS.composeSources).fill("s");
  expect((await request(most)).sourcePaths).toEqual(most);
  for (const more of ["s", 1]) {
    await expect(request([...most, more])).rejects.toThrow(`source_paths must not have more than ${LIMITS.composeSources} items`);
  }
});
