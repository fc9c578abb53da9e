import type { Identity } from "./protocol.ts";

/** Longest wait for the server. */
const ANSWER_MS = 5_000;

interface Asking {
  readonly answer: Promise<Identity>;
  resolve(identity: Identity): void;
  reject(error: Error): void;
}

/** Asks the server for certificates, each at most once at a time. */
export class Certificates {
  private readonly ask: (host: string) => void;
  private readonly asking = new Map<string, Asking>();

  constructor(ask: (host: string) => void) {
    this.ask = ask;
  }

  /** Rejects when the server refuses, or does not answer. */
  find(host: string): Promise<Identity> {
    const known = this.asking.get(host);
    if (known) return known.answer;
    const { promise, resolve, reject } = Promise.withResolvers<Identity>();
    const timer = setTimeout(() => reject(new Error("the server gives no certificate")), ANSWER_MS);
    const answer = promise.finally(() => {
      clearTimeout(timer);
      this.asking.delete(host);
    });
    this.asking.set(host, { answer, resolve, reject });
    this.ask(host);
    return answer;
  }

  /** Takes an answer of the server. */
  take(host: string, { cert, key }: Partial<Identity>): void {
    const asking = this.asking.get(host);
    if (cert !== undefined && key !== undefined) asking?.resolve({ cert, key });
    else asking?.reject(new Error("TLS may not be opened for this host"));
  }
}
