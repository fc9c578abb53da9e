import { afterAll, beforeAll } from "bun:test";
import { join } from "node:path";
import { CHECKOUT, type Platform } from "@boxyard/testkit";
import { pythonClient } from "./published.ts";

const PROGRAM = join(CHECKOUT, "e2e/clients/python/run.py");

interface Ended {
  /** A negative number: the signal that ended the scenario; -14 if it exceeded its limit. */
  readonly exitCode: number;
  readonly output: string;
}

/** Runs scenarios of e2e/clients/python one after another, each in a process of its own. */
export type RunScenario = (flavour: string, scenario: string, module: string, limitMs: number) => Promise<Ended>;

/** For a test file. Call at the top level; use the result inside tests only. */
export function usePythonScenarios(platform: () => Platform): RunScenario {
  let server: Awaited<ReturnType<typeof startServer>> | undefined;
  beforeAll(async () => {
    server = await startServer(platform());
  }, 240_000);
  afterAll(async () => {
    await server?.end();
  }, 60_000);
  return async (flavour, scenario, module, limitMs) => {
    if (!server) throw new Error("run.py did not start; see the failure of beforeAll");
    const [exitCode, output] = await server.ask([limitMs / 1000, flavour, scenario, module]);
    return { exitCode, output };
  };
}

async function startServer(platform: Platform) {
  const child = Bun.spawn([await pythonClient(), PROGRAM, "serve"], {
    env: platform.env,
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const answers = lines(child.stdout);
  return {
    async ask(question: readonly unknown[]): Promise<[number, string]> {
      child.stdin.write(`${JSON.stringify(question)}\n`);
      await child.stdin.flush();
      const { value } = await answers.next();
      if (value === undefined) throw new Error(`run.py ended with exit code ${await child.exited}`);
      return JSON.parse(value) as [number, string];
    },
    async end(): Promise<void> {
      await child.stdin.end();
      await child.exited;
    },
  };
}

async function* lines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of stream) {
    const whole = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = whole.pop() ?? "";
    yield* whole;
  }
}
