import { expect, test } from "bun:test";
import { after } from "./timers.ts";

test("fires once after the time, unless cancelled; a very long time does not fire at once", async () => {
  const fired: string[] = [];
  after(10, () => fired.push("short"));
  after(10, () => fired.push("cancelled"))();
  const cancel = after(9_999_999_999, () => fired.push("long"));
  await Bun.sleep(50);
  cancel();
  expect(fired).toEqual(["short"]);
});
