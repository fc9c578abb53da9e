import { expect, test } from "bun:test";
import { Command } from "commander";
import { withTtyFlag } from "./docker-habits.ts";

const run = new Command("run").option("-t, --template <name>").option("-i, --stdin").option("--tty").option("-e, --env <pair>");

test("-it is a terminal among the options of a command, and nothing else anywhere", () => {
  const rewrite = (text: string) => withTtyFlag(text.split(" "), run).join(" ");
  expect(rewrite("-it -- bash -it")).toBe("--tty -- bash -it");
  expect(rewrite("-e A=1 -t base -ti bash -it")).toBe("-e A=1 -t base --tty bash -it");
  expect(rewrite("-t -it x")).toBe("-t -it x");
  expect(rewrite("--template=x -it x")).toBe("--template=x --tty x");
  expect(withTtyFlag(["-it"], new Command("cp"))).toEqual(["-it"]);
});
