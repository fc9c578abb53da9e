import { expect, test } from "bun:test";
import { parseDockerfile } from "./dockerfile.ts";
import { triggerKey } from "./dockerfile-parts.ts";

const input = { context: ".", ignoreFile: "", args: {} };

test("a template FROM scratch is what is copied into it: nobody else's user and directory", () => {
  const text = 'FROM scratch\nCOPY x /x\nENV A=b\nENTRYPOINT ["/x", "a b"]\nHEALTHCHECK CMD ["/x", "--ok"]';
  const { steps, origin, startCmd, readyCmd } = parseDockerfile(text, input);
  expect([origin, startCmd, readyCmd]).toEqual([{ fromImage: "scratch" }, "/x 'a b'", "/x --ok"]);
  expect(steps.map(({ type, args }) => [type, args[0]])).toEqual([
    ["USER", "root"],
    ["WORKDIR", "/"],
    ["COPY", "x"],
    ["ENV", "A"],
  ]);
});

test("triggers of an image are done first in the stage that begins with it, and are not its own", () => {
  const triggers = new Map([[triggerKey({ fromImage: "a" }), ["ENV WHO=you", "run echo $WHO", 'CMD ["x"]']]]);
  const read = (text: string) => parseDockerfile(text, { ...input, triggers });
  const { steps, startCmd, onBuild } = read("FROM a\nCOPY $WHO /x\nONBUILD workdir /y");
  expect(steps.slice(2, 5).map(({ type, args, at }) => [type, args[0], at?.line])).toEqual([
    ["ENV", "WHO", 1],
    ["RUN", "echo $WHO", 1],
    ["COPY", "you", 2],
  ]);
  expect([startCmd, onBuild]).toEqual(["x", ["WORKDIR /y"]]);
  // Neither of other images, nor a second time in a stage that begins with the first.
  expect(read("FROM b\nRUN x").steps.length).toBe(5);
  expect(read("FROM a AS one\nFROM one").steps.length).toBe(6);
});

test("a trigger keeps its here-documents: in the file, on the way into an image, and out of one", () => {
  const done = ["RUN <<EOF\necho one\necho two\nEOF", "COPY <<-'A' <<B /x/\nin $A\nA\nin B\nB"];
  const file = `FROM a AS one\n${done.map((text) => `ONBUILD ${text}`).join("\n")}`;
  expect(parseDockerfile(file, input).onBuild).toEqual(done);
  const expected = parseDockerfile(`FROM a\n${done.join("\n")}`, input).steps.map(({ type, args }) => ({ type, args }));
  expect(expected.slice(2, 5)).toMatchObject([
    { args: [expect.stringContaining("echo one\necho two\n")] },
    { type: "COPY" },
    { type: "COPY" },
  ]);
  expect(parseDockerfile(`${file}\nFROM one`, input).steps).toMatchObject(expected);
  const triggers = new Map([[triggerKey({ fromImage: "a" }), done]]);
  expect(parseDockerfile("FROM a", { ...input, triggers }).steps).toMatchObject(expected);
});

test("a trigger of an image whose here-document has no end is refused", () => {
  const triggers = new Map([[triggerKey({ fromImage: "a" }), ["RUN <<EOF\necho one"]]]);
  expect(() => parseDockerfile("FROM a", { ...input, triggers })).toThrow("line 1 (ONBUILD): there is no line 'EOF' that ends");
});

test.each(["FROM b", "ONBUILD RUN x", "MAINTAINER me"])("a trigger %p of an image is refused", (trigger) => {
  const triggers = new Map([[triggerKey({ fromImage: "a" }), [trigger]]]);
  expect(() => parseDockerfile("FROM a", { ...input, triggers })).toThrow("is not allowed");
});
