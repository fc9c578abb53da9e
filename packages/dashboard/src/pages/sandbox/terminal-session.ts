import type { CommandHandle } from "@boxyard/sdk";
import type { Screen } from "../../heavy/terminal.ts";
import type { Agent } from "../../lib/agent.ts";

/** Tag of the terminals of this page: a page that is loaded again finds them by it. */
export const TERMINAL_TAG = "dashboard-terminal";

export type Connection = "connecting" | "open" | "lost" | "ended";

interface SessionOptions {
  readonly agent: Agent;
  readonly screen: Screen;
  /** Pid of a terminal that runs already. */
  readonly pid?: number | undefined;
  readonly onState: (state: Connection) => void;
}

const FIRST_WAIT_MS = 300;
const LONGEST_WAIT_MS = 5000;
const REPLAY_PAUSE_MS = 500;
const encoder = new TextEncoder();

/**
 * A terminal in the sandbox and the screen that shows it. A lost connection is made again, from the byte that came last, as long as the session is not
 * disposed: after a break of the network, a restart of the server, or a pause and a resume.
 */
export class TerminalSession {
  private readonly options: SessionOptions;
  private readonly over = new AbortController();
  private handle: CommandHandle | undefined;
  private pid: number | undefined;
  /** Bytes of output that the screen has. */
  private offset = 0;
  private retry: (() => void) | undefined;
  private replay: ReturnType<typeof setTimeout> | undefined;

  constructor(options: SessionOptions) {
    this.options = options;
    this.pid = options.pid;
    void this.keepOpen();
  }

  async input(text: string): Promise<void> {
    if (this.pid === undefined) return;
    await this.options.agent.pty.sendInput(this.pid, encoder.encode(text)).catch(() => {});
  }

  async resize(cols: number, rows: number): Promise<void> {
    if (this.pid === undefined) return;
    await this.options.agent.pty.resize(this.pid, { cols, rows }).catch(() => {});
  }

  /** Tries again at once, for example when the sandbox has been resumed. */
  tryNow(): void {
    this.retry?.();
  }

  /** Ends the shell in the sandbox too. */
  async kill(): Promise<void> {
    this.dispose();
    if (this.pid !== undefined) await this.options.agent.pty.kill(this.pid);
  }

  /** Lets the shell run on. */
  dispose(): void {
    this.over.abort();
    this.retry?.();
    void this.handle?.disconnect();
  }

  private async keepOpen(): Promise<void> {
    const { onState } = this.options;
    for (let failures = 0; !this.over.signal.aborted; failures++) {
      onState(failures === 0 ? "connecting" : "lost");
      try {
        this.handle = await this.open();
        failures = 0;
        onState("open");
        const { screen } = this.options;
        void this.resize(screen.size.cols, screen.size.rows);
        if (await this.follow(this.handle)) return onState("ended");
      } catch (error) {
        if (isGone(error)) return onState("ended");
      }
      if (this.over.signal.aborted) return;
      onState("lost");
      await this.wait(Math.min(FIRST_WAIT_MS * 2 ** failures, LONGEST_WAIT_MS));
    }
  }

  private async open(): Promise<CommandHandle> {
    const { agent, screen } = this.options;
    const shared = { timeoutMs: 0, onData: (bytes: Uint8Array) => this.take(bytes) };
    if (this.pid !== undefined) {
      // A new screen gets what earlier ones have shown.
      if (this.offset === 0) this.beginReplay();
      return agent.pty.connect(this.pid, { ...shared, fromOffset: this.offset });
    }
    const handle = await agent.pty.create({ ...screen.size, ...shared, tag: TERMINAL_TAG });
    this.pid = handle.pid;
    return handle;
  }

  /** Waits for the end of the connection; true if the shell has ended. */
  private async follow(handle: CommandHandle): Promise<boolean> {
    try {
      await handle.wait();
      return true;
    } catch (error) {
      // A shell that leaves with another status than 0 has ended too.
      return (error as { exitCode?: unknown }).exitCode !== undefined;
    }
  }

  private async take(bytes: Uint8Array): Promise<void> {
    this.offset += bytes.length;
    if (this.replay !== undefined) this.beginReplay();
    await this.options.screen.write(bytes);
  }

  /** Old output comes without a pause: after one, the output is new. */
  private beginReplay(): void {
    const { screen } = this.options;
    screen.isReplay(true);
    clearTimeout(this.replay);
    this.replay = setTimeout(() => {
      this.replay = undefined;
      screen.isReplay(false);
    }, REPLAY_PAUSE_MS);
  }

  private wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.retry?.(), ms);
      this.retry = () => {
        clearTimeout(timer);
        this.retry = undefined;
        resolve();
      };
    });
  }
}

/** The sandbox runs, and has no such process any more. */
const isGone = (error: unknown): boolean => (error as { reason?: unknown }).reason === "process_not_found";
