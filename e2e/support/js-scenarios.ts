import { afterAll } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { CHECKOUT, endsWithin, type Platform } from "@boxyard/testkit";

const DIRECTORY = join(CHECKOUT, "e2e/clients/js");

/** Names of the scenarios of a directory of e2e/clients/js. */
export function jsScenarios(directory: string): string[] {
  return readdirSync(join(DIRECTORY, directory))
    .filter((file) => file.endsWith(".mjs") && file !== "tools.mjs")
    .map((file) => file.replace(/\.mjs$/, ""))
    .sort();
}

interface Ended {
  /** 137 if it exceeded its limit. */
  readonly exitCode: number;
  readonly output: string;
}

/** Runs a scenario of a directory of e2e/clients/js. */
export type RunJsScenario = (directory: string, scenario: string, limitMs: number) => Promise<Ended>;

export interface JsClient {
  readonly platform: () => Platform;
  /** The JavaScript runtime. */
  readonly runtime: string;
  /** A package's name or a module's path. */
  readonly client: () => string;
}

/**
 * For a test file. Call at the top level; use the result inside tests only. Scenarios run one after another in one process, which loads the client
 * once. One that fails, or exceeds its limit, ends the process; the next one has a new process.
 */
export function useJsScenarios(client: JsClient): RunJsScenario {
  let runner: Runner | undefined;
  afterAll(async () => {
    await runner?.end();
  }, 60_000);
  return async (directory, scenario, limitMs) => {
    runner ??= startRunner(client);
    const ended = await runner.ask(`${directory} ${scenario}\n`, limitMs);
    if (ended.exitCode !== 0) runner = undefined;
    return ended;
  };
}

type Runner = ReturnType<typeof startRunner>;

function startRunner({ platform, runtime, client }: JsClient) {
  const child = Bun.spawn([runtime, join(DIRECTORY, "run.mjs"), client()], {
    env: platform().env,
    stdin: "pipe",
    stdout: "pipe",
    stderr: "pipe",
  });
  const outputs = [parts(child.stdout), parts(child.stderr)];
  return {
    async ask(question: string, limitMs: number): Promise<Ended> {
      child.stdin.write(question);
      await child.stdin.flush();
      const said = Promise.all(outputs.map((output) => output.next()));
      if (!(await endsWithin(said, limitMs))) child.kill("SIGKILL");
      const answers = await said;
      const output = answers.map(({ value }) => value).join("");
      return { exitCode: answers.some(({ done }) => done) ? await failed(child.exited) : 0, output };
    },
    async end(): Promise<void> {
      await child.stdin.end();
      await child.exited;
    },
  };
}

/** A process that ends within a scenario has not run it to its end, whatever its exit code. */
async function failed(exited: Promise<number>): Promise<number> {
  return (await exited) || 1;
}

/** What comes before each NUL; at last, what comes after all of them. */
async function* parts(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of stream) {
    const whole = (rest + decoder.decode(bytes, { stream: true })).split("\0");
    rest = whole.pop() ?? "";
    yield* whole;
  }
  return rest;
}
