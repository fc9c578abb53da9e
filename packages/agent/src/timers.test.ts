import { expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { after } from "./timers.ts";

test("fires once after its time, unless cancelled; a time beyond the runtime's limit does not fire at once", async () => {
  const fired: string[] = [];
  after(10, () => fired.push("short"));
  after(10, () => fired.push("cancelled"))();
  const cancel = after(9_999_999_999, () => fired.push("long"));
  after(20, () => fired.push("later"));
  await eventually("a later one fires", () => fired.includes("later"));
  cancel();
  expect(fired).toEqual(["short", "later"]);
});
