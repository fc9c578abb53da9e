import { readConfig } from "./config.ts";
import type { CliContext } from "./context.ts";
import { exitCodeOf, explain } from "./errors.ts";
import { listenForInterrupt } from "./interrupt.ts";
import { Output } from "./output/output.ts";
import { runProgram } from "./program.ts";

async function main(): Promise<number> {
  const interrupt = listenForInterrupt((exitCode) => process.exit(exitCode));
  let output = new Output(false);
  let context: CliContext | undefined;
  try {
    const config = readConfig();
    output = new Output(config.color);
    context = { config, output, signal: interrupt.signal, interrupt, exitCode: 0 };
    const exitCode = await runProgram(process.argv.slice(2), context);
    return interrupt.exitCode() ?? exitCode;
  } catch (error) {
    const code = interrupt.exitCode() ?? exitCodeOf(error, context?.failureExitCode);
    const [first, ...rest] = explain(error);
    // After Ctrl-C, and when no program reads the output, no error is printed.
    if (interrupt.exitCode() === undefined && code !== 141) output.error([`${output.red("error:")} ${first}`, ...rest].join("\n"));
    return code;
  }
}

// No await at the top level, which the CommonJS bundle of the tests cannot have.
void main().then((exitCode) => process.exit(exitCode));
