import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@boxyard/testkit";

/** A text that only the machine's root can read: in a file of root, and in the environment of a process of root. */
export interface Secret extends AsyncDisposable {
  readonly text: string;
  /** The file. */
  readonly path: string;
  /** Pid in the machine's process namespace. */
  readonly pid: number;
}

export async function plantSecret(): Promise<Secret> {
  const text = `secret-of-the-machine-${crypto.randomUUID()}`;
  const directory = mkdtempSync("/var/boxyard-secret-");
  chmodSync(directory, 0o700);
  const path = join(directory, "secret");
  writeFileSync(path, text, { mode: 0o600 });
  const holder = Bun.spawn(["sleep", "600"], { env: { PATH: "/usr/bin:/bin", SECRET: text }, stdin: "ignore", stdout: "ignore" });
  // It is there to be found: who finds nothing was kept from it.
  await eventually("the secret is planted", () => readFileSync(`/proc/${holder.pid}/environ`, "utf8").includes(text));
  return {
    text,
    path,
    pid: holder.pid,
    async [Symbol.asyncDispose]() {
      holder.kill("SIGKILL");
      await holder.exited;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
