import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CHECKOUT, type ProgramOptions, type ProgramResult, runProgram } from "@boxyard/testkit";

/** What a checkout needs and the single executable must not: the runtimes of JavaScript, and what compiles the guest bundle. */
const HIDDEN = ["node", "nodejs", "npm", "npx", "bun", "cc", "gcc", "musl-gcc"];
const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Covers the checkout and, wherever they are found, the programs; then waits for the end of standard input. */
const HIDE = `
empty=$1 checkout=$2; shift 2
for name do
  while path=$(command -v "$name"); do mount --bind "$empty" "$(readlink -f "$path")" || exit 1; done
done
mount -t tmpfs -o size=64k none "$checkout" || exit 1
echo ready
read -r end
`;

/** A machine without our checkout, Node, npm, Bun and compilers: a mount namespace of its own. */
export interface HiddenCheckout extends AsyncDisposable {
  /** Runs a program there, with the system's directories in PATH and no variables but those given. */
  run(argv: readonly string[], options: ProgramOptions & { readonly cwd: string }): Promise<ProgramResult>;
}

/** `directory` is for a file that is needed; it must lie outside of the checkout. */
export async function hideCheckout(directory: string): Promise<HiddenCheckout> {
  const empty = join(directory, "empty-file");
  writeFileSync(empty, "", { mode: 0o644 });
  const base = { PATH: SYSTEM_PATH, HOME: "/root" };
  const holder = Bun.spawn(["unshare", "--mount", "sh", "-c", HIDE, "sh", empty, CHECKOUT, ...HIDDEN], {
    cwd: "/",
    env: base,
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const reader = holder.stdout.getReader();
  const { done } = await reader.read();
  if (done) throw new Error(`the checkout could not be hidden: exit code ${await holder.exited}`);
  return {
    run: (argv, { cwd, env, ...options }) => {
      const enter = ["nsenter", `--target=${holder.pid}`, "--mount", "sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", cwd];
      return runProgram([...enter, ...argv], { ...options, cwd: "/", env: { ...base, ...env } });
    },
    async [Symbol.asyncDispose]() {
      holder.stdin.end();
      await holder.exited;
    },
  };
}
