import { expect, test } from "bun:test";
import { signFileUrl } from "./file-url.ts";

test("signs as the contract's test vector says", async () => {
  const signature = await signFileUrl({
    path: "hello.txt",
    operation: "read",
    user: "user",
    accessToken: "0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0",
  });
  expect(signature).toBe("v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E");
});

test("an expiration is part of what is signed, also zero", async () => {
  const input = { path: "a", operation: "write", user: "", accessToken: "t" } as const;
  const signatures = await Promise.all([signFileUrl(input), signFileUrl({ ...input, expiration: 0 })]);
  expect(new Set(signatures).size).toBe(2);
});
