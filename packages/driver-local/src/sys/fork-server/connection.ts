import { close, syscall, trySyscall } from "../libc.ts";
import { type Answer, AnswerReader } from "./wire.ts";

const AF_UNIX = 1;
const SOCK_STREAM = 1;
const SOCK_CLOEXEC = 0o2000000;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
const EAGAIN = 11;
/** Pause before the next attempt to send when the socket's buffer is full. */
const RETRY_MS = 1;

type Socket = Awaited<ReturnType<typeof Bun.connect>>;

/** One running fork server: its process and the socket to it. It ends when the socket is closed, or this process ends. */
export class Connection {
  private readonly fd: number;
  private readonly reader = new AnswerReader();
  private readonly onAnswer: (answer: Answer) => void;
  private readonly onGone: () => void;
  private unsent: Uint8Array[] = [];
  private socket: Socket | undefined;
  private isGone = false;
  private isWanted = false;
  private readonly child: Bun.Subprocess;

  /** Starts the program of the descriptor `program`. Throws the error of a failed start. */
  constructor(program: number, onAnswer: (answer: Answer) => void, onGone: () => void) {
    this.onAnswer = onAnswer;
    this.onGone = onGone;
    const ends = new Int32Array(2);
    syscall("socketpair", [AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends]);
    const [ours, theirs] = ends as unknown as [number, number];
    this.fd = ours;
    try {
      const cmd = [`/proc/${process.pid}/fd/${program}`];
      const child = Bun.spawn({ cmd, argv0: "fork-server", stdio: [theirs, "ignore", "ignore"], env: {}, cwd: "/" });
      child.unref();
      this.child = child;
    } catch (error) {
      close(ours);
      throw error;
    } finally {
      close(theirs);
    }
    this.listen();
  }

  get pid(): number {
    return this.child.pid;
  }

  /** False when the fork server has ended: then it received nothing. */
  send(bytes: Uint8Array): boolean {
    this.unsent.push(bytes);
    if (this.unsent.length === 1) this.flush();
    return !this.isGone;
  }

  /** Tells whether a caller waits for an answer: then the socket keeps this process from ending by itself. */
  want(isWanted: boolean): void {
    this.isWanted = isWanted;
    if (isWanted) this.socket?.ref();
    else this.socket?.unref();
  }

  /** Ends the fork server, also one that no longer reads its socket. Programs that it has started go on. */
  close(): void {
    this.child.kill("SIGKILL");
    if (this.socket) this.socket.end();
    this.leave();
  }

  private listen(): void {
    const gone = () => this.leave();
    const handlers = {
      open: (socket: Socket) => this.open(socket),
      data: (_socket: unknown, bytes: Buffer) => this.receive(bytes),
      end: gone,
      close: gone,
      error: gone,
    };
    // Bun accepts a descriptor and then owns it; its types do not have this option.
    Bun.connect({ fd: this.fd, socket: handlers } as unknown as Parameters<typeof Bun.connect>[0]).catch(gone);
  }

  private open(socket: Socket): void {
    if (this.isGone) {
      socket.end();
      return;
    }
    this.socket = socket;
    this.want(this.isWanted);
  }

  private receive(bytes: Buffer): void {
    for (const answer of this.reader.push(bytes)) this.onAnswer(answer);
  }

  /** Sends as much as the socket's buffer has room for; the rest after `RETRY_MS`. */
  private flush(): void {
    while (!this.isGone) {
      const [first] = this.unsent;
      if (!first) return;
      const sent = trySyscall("sendto", this.fd, first, first.byteLength, MSG_DONTWAIT | MSG_NOSIGNAL, null, 0);
      if (sent === -EAGAIN) {
        setTimeout(() => this.flush(), RETRY_MS);
        return;
      }
      if (sent < 0) {
        this.leave();
        return;
      }
      if (sent === first.byteLength) this.unsent.shift();
      else this.unsent[0] = first.subarray(sent);
    }
  }

  private leave(): void {
    if (this.isGone) return;
    this.isGone = true;
    this.unsent = [];
    this.onGone();
  }
}
