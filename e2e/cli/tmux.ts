import { eventually, runProgram } from "@boxyard/testkit";

/** A terminal of a person, driven by tmux on a server of its own. */
export class Terminal implements AsyncDisposable {
  private readonly server: string;

  private constructor(server: string) {
    this.server = server;
  }

  static async open(env: Readonly<Record<string, string>>, size: { cols: number; rows: number }): Promise<Terminal> {
    const terminal = new Terminal(`boxyard-test-${process.pid}-${Math.random().toString(36).slice(2)}`);
    const variables = Object.entries({ ...env, PS1: "$ " }).map(([name, value]) => `${name}=${value}`);
    const shell = ["env", "-i", ...variables, "TERM=screen", "bash", "--norc", "--noprofile"];
    await terminal.tmux(["-f", "/dev/null", "new-session", "-d", "-s", "t", "-x", `${size.cols}`, "-y", `${size.rows}`, ...shell]);
    return terminal;
  }

  /** Types a text as it is, then, unless told otherwise, Enter. */
  async type(text: string, enter = true): Promise<void> {
    await this.tmux(["send-keys", "-t", "t", "-l", text]);
    if (enter) await this.key("Enter");
  }

  /** Presses keys by tmux's names (`C-c`, `Escape`). */
  async key(...names: string[]): Promise<void> {
    await this.tmux(["send-keys", "-t", "t", ...names]);
  }

  async resize(cols: number, rows: number): Promise<void> {
    await this.tmux(["resize-window", "-t", "t", "-x", `${cols}`, "-y", `${rows}`]);
  }

  /** What stands on the screen, without empty lines. */
  async screen(): Promise<string> {
    const text = await this.tmux(["capture-pane", "-p", "-t", "t"]);
    return text
      .split("\n")
      .filter((line) => line.trim())
      .join("\n");
  }

  /** Waits until the screen shows it, and shows something else than it did `before`. */
  async shows(pattern: RegExp, withinMs = 15_000, before?: string): Promise<string> {
    let last = "";
    try {
      return await eventually(
        `the screen shows ${pattern}`,
        async () => {
          last = await this.screen();
          return last !== before && pattern.test(last) ? last : undefined;
        },
        { withinMs, everyMs: 50 },
      );
    } catch (cause) {
      throw new Error(`the screen does not show ${pattern}:\n${last}`, { cause });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tmux(["kill-server"]);
  }

  private async tmux(args: readonly string[]): Promise<string> {
    const { exitCode, stdout, stderr } = await runProgram(["tmux", "-L", this.server, ...args]);
    if (exitCode !== 0) throw new Error(`tmux ${args.join(" ")} failed: ${stderr}`);
    return stdout;
  }
}
