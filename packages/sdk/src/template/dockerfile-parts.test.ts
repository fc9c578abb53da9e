import { expect, test } from "bun:test";
import { parseDockerfile } from "./dockerfile.ts";

test("a template FROM scratch is what is copied into it: nobody else's user and directory", () => {
  const text = 'FROM scratch\nCOPY x /x\nENV A=b\nENTRYPOINT ["/x", "a b"]\nHEALTHCHECK CMD ["/x", "--ok"]';
  const { steps, origin, startCmd, readyCmd } = parseDockerfile(text, { context: ".", ignoreFile: "", args: {} });
  expect([origin, startCmd, readyCmd]).toEqual([{ fromImage: "scratch" }, "/x 'a b'", "/x --ok"]);
  expect(steps.map(({ type, args }) => [type, args[0]])).toEqual([
    ["USER", "root"],
    ["WORKDIR", "/"],
    ["COPY", "x"],
    ["ENV", "A"],
  ]);
});
