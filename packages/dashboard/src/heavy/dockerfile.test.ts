import { expect, test } from "bun:test";
import { orderOfDockerfile } from "./dockerfile.ts";

test("stages, commands, variables and the start command, as the command line reads them", () => {
  const order = orderOfDockerfile(
    'FROM debian:13 AS made\nRUN echo one >/one\nFROM boxyard/base\nENV A=b\nCOPY --from=made /one /two\nCMD ["sleep", "60"]\n',
  ) as {
    fromTemplate?: string;
    stages?: { name: string; fromImage?: string; steps: unknown[] }[];
    steps: { type: string }[];
    startCmd?: string;
  };
  expect([order.fromTemplate, order.startCmd?.includes("sleep"), order.stages?.[0]?.name, order.stages?.[0]?.fromImage]).toEqual([
    ...["base", true, "made", "debian:13"],
  ]);
  expect(order.steps.map(({ type }) => type)).toContain("COPY");
});

test("what a page cannot send, and what is wrong, is named with its line", () => {
  expect(() => orderOfDockerfile("FROM boxyard/base\nRUN true\nCOPY app /srv\n")).toThrow(/^Line 3: COPY takes files/);
  expect(() => orderOfDockerfile("FROM boxyard/base\nBAKE it\n")).toThrow(/2.*BAKE|BAKE.*2/s);
  expect(() => orderOfDockerfile("")).toThrow("FROM");
});
