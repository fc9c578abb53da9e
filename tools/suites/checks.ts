import { checkBoundaries } from "../checks/boundaries.ts";
import { checkCircles } from "../checks/circles.ts";
import { checkCycles } from "../checks/cycles.ts";
import { deadExports } from "../checks/dead-exports.ts";
import { checkMachineTime } from "../checks/machine-time.ts";
import { checkPatterns } from "../checks/patterns.ts";
import { checkPromises } from "../checks/promises.ts";
import { checkRatchets } from "../checks/ratchet.ts";
import { longFiles, longFunctions } from "../checks/sizes.ts";
import { checkSleeps, isTestCode } from "../checks/sleeps.ts";
import { checkWords } from "../checks/words.ts";
import { generators } from "../generate/index.ts";
import { documentFiles, sourceFiles } from "../lib/files.ts";
import { addTallies, bun, failedOne, npmBinary, passedOne, type Suite, tallyOf } from "../lib/suite.ts";
import { changedFiles, readTree } from "../lib/tree.ts";

export const lint: Suite = {
  name: "lint",
  proves:
    "format and lint rules hold (biome), regular expressions for untrusted text take linear time, no text has a refused word (tools/checks/words.ts), files take the machine's time only for a reason (tools/checks/machine-time.ts), no test waits for a fixed time without a reason, such waits only become fewer (tools/checks/ratchet.ts), and every test awaits the promises that it checks",
  limitMs: 60_000,
  run: async ({ command }) => {
    const biome = await command([
      ...[npmBinary("biome"), "check", "--error-on-warnings", "--diagnostic-level=warn", "--max-diagnostics=100", "."],
    ]);
    const slow = sourceFiles(["ts"]).flatMap(checkPatterns);
    const lines = slow.map((found) => `${found.path}:${found.line}: ${found.message}`);
    const words = [...sourceFiles(["ts", "tsx", "c", "h", "sh", "proto", "md", "py"]), ...documentFiles()]
      .filter(({ path }) => !path.startsWith("tools/checks/words."))
      .flatMap(checkWords)
      .map((found) => `${found.path}:${found.line}: ${found.message}`);
    const sleeps = sourceFiles(["ts", "tsx"])
      .filter(({ path }) => isTestCode(path) && !path.startsWith("tools/checks/sleeps."))
      .flatMap(checkSleeps)
      .map((found) => `${found.path}:${found.line}: ${found.message}`);
    const promises = sourceFiles(["ts", "tsx"])
      .filter(({ path }) => isTestCode(path))
      .flatMap(checkPromises)
      .map((found) => `${found.path}:${found.line}: ${found.message}`);
    const times = checkMachineTime(sourceFiles(["ts"])).map((found) => `${found.path}:${found.line}: ${found.message}`);
    return addTallies([
      tallyOf(biome),
      ...[lines, words, sleeps, promises, times, checkRatchets(sourceFiles(["ts", "tsx"]))].map((found) =>
        found.length > 0 ? failedOne(found.join("\n")) : passedOne(),
      ),
    ]);
  },
};

export const types: Suite = {
  name: "types",
  proves: "the whole checkout has no type errors (tsc, strict)",
  limitMs: 120_000,
  run: async ({ command }) => tallyOf(await command([npmBinary("tsc"), "-p", "."])),
};

export const boundaries: Suite = {
  name: "boundaries",
  proves:
    "imports follow the table and form no cycle of files and no circle of directories, other files use every export, only config.ts reads the environment, only main.ts ends the process",
  limitMs: 30_000,
  run: async () => {
    const sources = sourceFiles(["ts", "tsx"]);
    const findings = [...sources.flatMap(checkBoundaries), ...checkCycles(sources), ...checkCircles(sources), ...deadExports(sources)];
    const lines = findings.map((found) => `${found.path}:${found.line}: ${found.message}`);
    return lines.length > 0 ? failedOne(lines.join("\n")) : passedOne();
  },
};

export const sizes: Suite = {
  name: "sizes",
  proves: "no file and no function is longer than its limit",
  limitMs: 60_000,
  run: async ({ command }) => {
    const tooLong = longFiles(sourceFiles(["ts", "tsx", "c", "h", "sh", "proto", "py"]));
    const directories = ["packages", "tools", "e2e", "bench", "images", "native"];
    const rule = "--only=complexity/noExcessiveLinesPerFunction";
    const biome = await command([npmBinary("biome"), "lint", rule, "--max-diagnostics=none", "--reporter=json", ...directories]);
    const json = biome.output.slice(biome.output.indexOf("{"), biome.output.lastIndexOf("}") + 1);
    const failures = [...tooLong, ...longFunctions(json)];
    return failures.length > 0 ? failedOne(failures.join("\n")) : passedOne();
  },
};

export const generated: Suite = {
  name: "generated",
  proves: "the committed generated files are what the generators write now",
  limitMs: 120_000,
  run: async ({ command }) => {
    const tallies = [];
    for (const generator of generators) {
      const before = readTree(generator.output);
      const result = await command([bun, generator.script]);
      const changed = changedFiles(before, readTree(generator.output));
      if (result.exitCode !== 0 || result.timedOut) tallies.push(tallyOf(result));
      else if (changed.length === 0) tallies.push(passedOne());
      else tallies.push(failedOne(`bun ${generator.script} changed committed files; commit the new text:\n${changed.join("\n")}`));
    }
    return addTallies(tallies);
  },
};
