import { expect, test } from "bun:test";
import { parseOptions } from "./options.ts";
import { inLines, plan } from "./plan.ts";
import { failedOne, passedOne } from "./suite.ts";

const suite = (name: string, more: object = {}) => ({ name, proves: "", limitMs: 1, run: async () => passedOne(), ...more });
const files = (own: string) => ({ files: (only: readonly string[]) => (only.some((part) => own.includes(part)) ? [own] : []) });
const all = [
  suite("needs"),
  suite("unit", files("packages/core/src/ids.test.ts")),
  suite("platform", { needs: ["needs"] }),
  suite("e2e", { needs: ["platform"], ...files("e2e/api/auth.test.ts") }),
  suite("leaks", { always: true }),
];
const names = (suites: readonly { name: string }[]) => suites.map(({ name }) => name);

test("a call without names runs the suites of its tier", () => {
  expect(names(plan(all, [], []))).toEqual(["needs", "unit", "platform", "e2e", "leaks"]);
  expect(names(plan([...all, suite("soak"), suite("root")], [], [], "quick"))).toEqual(["needs", "unit", "platform", "e2e", "leaks"]);
  expect(names(plan([...all, suite("soak"), suite("root")], [], [], "long"))).toEqual(["needs", "platform", "e2e", "leaks", "soak"]);
});

test("a call that names a suite also runs the suites that it needs, and the leak check if one of them changes the machine", () => {
  expect(names(plan(all, ["unit"], []))).toEqual(["unit"]);
  expect(names(plan(all, ["e2e"], []))).toEqual(["needs", "platform", "e2e", "leaks"]);
});

test("part of a file's name selects its suite", () => {
  expect(names(plan(all, [], ["ids"]))).toEqual(["unit"]);
  expect(plan(all, [], ["no-such-file"])).toEqual([]);
});

test("options are distinguished from names", () => {
  const tier = { tier: "all", seconds: undefined } as const;
  const options = { help: false, list: false, verbose: true, installed: false, ...tier, suites: ["unit"], only: ["auth"] };
  expect(parseOptions(["-v", "unit", "auth"], ["unit"])).toEqual(options);
  expect(parseOptions(["-v", "--installed", "unit", "auth"], ["unit"])).toEqual({ ...options, installed: true });
  expect(parseOptions(["--quick"], [])).toMatchObject({ tier: "quick", seconds: undefined });
  expect(parseOptions(["--long=3600"], [])).toMatchObject({ tier: "long", seconds: 3600 });
  for (const bad of ["--long", "--long=0", "--long=soon"]) expect(() => parseOptions([bad], [])).toThrow(`Unknown option ${bad}`);
  expect(() => parseOptions(["--verbos"], [])).toThrow("Unknown option --verbos");
});

test("lines run at the same time, the suites of a line one after another, each after the suites that it needs; those with `always` run last", async () => {
  const log: string[] = [];
  const guest = Promise.withResolvers<void>();
  const lines = [
    [suite("guest")],
    [suite("lint"), suite("unit")],
    [suite("root", { needs: ["guest"] })],
    [suite("leaks", { always: true })],
  ];
  const running = inLines(lines, async ({ name }, broken) => {
    log.push(`${name} begins${broken.map((need) => ` without ${need}`)}`);
    if (name === "guest") await guest.promise;
    if (name === "unit") guest.resolve();
    log.push(`${name} ends`);
    return name === "guest" ? failedOne("") : passedOne();
  });
  expect([...(await running).keys()].sort()).toEqual(["guest", "leaks", "lint", "root", "unit"]);
  const order = [...["guest begins", "lint begins", "lint ends", "unit begins", "unit ends", "guest ends"]];
  expect(log).toEqual([...order, "root begins without guest", "root ends", "leaks begins", "leaks ends"]);
});
