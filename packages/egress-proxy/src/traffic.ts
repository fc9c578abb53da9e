import type { Connection } from "@boxyard/http1";
import { originalDestination } from "./original-destination.ts";

/** After so long a connection that is still open is reported, and again. */
const AGAIN_MS = 60_000;
/** Reports of one sandbox and of all sandboxes, a second and at once. What is beyond is not reported. */
const OF_ONE: Rate = { perSecond: 40, burst: 200 };
const OF_ALL: Rate = { perSecond: 1000, burst: 5000 };

/** What a connection of a sandbox was let out or refused for, and the bytes since its last report. */
export interface TrafficReport {
  /** Of the sandbox. */
  readonly address: string;
  readonly isAllowed: boolean;
  /** The host that the client named, as rules compare it. */
  readonly name?: string | undefined;
  /** The entry of the policy's hosts that allowed the name. */
  readonly entry?: string | undefined;
  /** IPv4 address and port that the sandbox asked for. */
  readonly server?: string | undefined;
  readonly port: number;
  /** By the sandbox, and for it. */
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

type Goal = Pick<TrafficReport, "name" | "entry">;

interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

class Bucket {
  private left: number;
  private at: number;
  private readonly rate: Rate;

  constructor(rate: Rate, now: number) {
    this.rate = rate;
    this.left = rate.burst;
    this.at = now;
  }

  take(now: number): boolean {
    this.left = Math.min(this.rate.burst, this.left + ((now - this.at) / 1000) * this.rate.perSecond);
    this.at = now;
    if (this.left < 1) return false;
    this.left -= 1;
    return true;
  }

  isFull(now: number): boolean {
    return this.left + ((now - this.at) / 1000) * this.rate.perSecond >= this.rate.burst;
  }
}

/** Reports of one connection of a sandbox: when it is refused, when it goes on to another host, when it ends, and each minute before that. */
export class Traffic {
  private connection: Pick<Connection, "sentBytes" | "receivedBytes"> = { sentBytes: 0, receivedBytes: 0 };
  private readonly tell: (report: Omit<TrafficReport, "address">) => void;
  private readonly now: () => number;
  private port: number;
  private server: string | undefined;
  private goal: Goal | undefined;
  private sent = 0;
  private received = 0;
  private at = 0;
  private isTold = false;

  /** `port`: the one that was asked for, unless the kernel knows it. */
  constructor(port: number, now: () => number, tell: (report: Omit<TrafficReport, "address">) => void) {
    this.port = port;
    this.now = now;
    this.tell = tell;
  }

  /** To be called once the socket of the connection is there. */
  begin(connection: Connection): void {
    this.connection = connection;
    const asked = originalDestination(connection);
    this.server = asked?.address;
    this.port = asked?.port ?? this.port;
  }

  /** From now on the connection is for this host. */
  allowed(goal: Goal): void {
    if (this.goal && this.goal.name === goal.name && this.goal.entry === goal.entry) return;
    this.end();
    this.goal = goal;
    this.at = this.now();
    this.isTold = false;
  }

  denied(name: string | undefined): void {
    this.end();
    const { server, port } = this;
    this.tell({ isAllowed: false, name, server, port, sentBytes: 0, receivedBytes: 0 });
  }

  end(): void {
    if (this.goal) this.report(this.goal);
    this.goal = undefined;
  }

  /** Reports a connection that has been open for long, if it has moved bytes. */
  sweep(): void {
    if (!this.goal || this.now() - this.at < AGAIN_MS) return;
    this.at = this.now();
    if (this.connection.sentBytes + this.connection.receivedBytes > this.sent + this.received) this.report(this.goal);
  }

  private report(goal: Goal): void {
    const { server, port } = this;
    const { sentBytes, receivedBytes } = this.connection;
    const moved = { sentBytes: receivedBytes - this.sent, receivedBytes: sentBytes - this.received };
    if (this.isTold && moved.sentBytes + moved.receivedBytes === 0) return;
    this.sent = receivedBytes;
    this.received = sentBytes;
    this.isTold = true;
    this.tell({ isAllowed: true, ...goal, server, port, ...moved });
  }
}

/** Reports of the connections of all sandboxes, a bounded number of each. */
export class TrafficReports {
  private readonly tell: (report: TrafficReport) => void;
  private readonly now: () => number;
  private readonly open = new Set<Traffic>();
  private readonly ofOne = new Map<string, Bucket>();
  private readonly ofAll: Bucket;

  /** `now`: monotonic ms. */
  constructor(tell: (report: TrafficReport) => void, now: () => number) {
    this.tell = tell;
    this.now = now;
    this.ofAll = new Bucket(OF_ALL, now());
  }

  /** Follows a connection of the sandbox with this address until `leave` is called with what is returned. */
  follow(address: string, port: number): Traffic {
    const traffic = new Traffic(port, this.now, (report) => {
      if (this.mayTell(address)) this.tell({ address, ...report });
    });
    this.open.add(traffic);
    return traffic;
  }

  leave(traffic: Traffic): void {
    traffic.end();
    this.open.delete(traffic);
  }

  sweep(): void {
    for (const traffic of this.open) traffic.sweep();
    const now = this.now();
    for (const [address, bucket] of this.ofOne) if (bucket.isFull(now)) this.ofOne.delete(address);
  }

  private mayTell(address: string): boolean {
    const now = this.now();
    const bucket = this.ofOne.get(address) ?? new Bucket(OF_ONE, now);
    this.ofOne.set(address, bucket);
    return bucket.take(now) && this.ofAll.take(now);
  }
}
