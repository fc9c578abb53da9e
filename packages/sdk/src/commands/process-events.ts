import type { ProcessEvent } from "@boxyard/spec/pb/process";
import { BoxyardError } from "../errors.ts";

/** An output of a process. A PTY session has only `pty`. */
export type OutputStream = "stdout" | "stderr" | "pty";

/** A piece of output, in bytes. It may begin or end inside a character. */
export interface CommandOutput {
  readonly stream: OutputStream;
  readonly data: Uint8Array;
}

/** How a process ended. */
export interface ProcessEnd {
  /** -1 when a signal ended it. */
  readonly exitCode: number;
  /** False when a signal ended it. */
  readonly exited: boolean;
  /** `exit status 1`, `signal: killed`. */
  readonly status: string;
  /** Set if the process did not end with exit code 0. */
  readonly error: string | undefined;
}

export type ProcessMessage = { readonly output: CommandOutput } | { readonly end: ProcessEnd };

/** A stream whose first message said which process it is. */
export interface OpenProcess {
  readonly pid: number;
  /** How many bytes of its output precede the first byte of this stream. */
  readonly offset: number;
  /** The rest of the stream. Ends after the `end` message. */
  readonly messages: AsyncIterable<ProcessMessage>;
}

type Response = { readonly event?: ProcessEvent | undefined };

/** Reads the first message of a Start or Connect stream, which must be `start`, and passes on the rest. */
export async function openProcess(stream: AsyncIterable<Response>): Promise<OpenProcess> {
  const iterator = stream[Symbol.asyncIterator]();
  for (;;) {
    const first = await iterator.next();
    const event = first.done ? undefined : first.value.event?.event;
    if (event?.case === "keepalive") continue;
    if (event?.case !== "start") {
      throw new BoxyardError("the agent did not say which process this is", { code: "internal", reason: "protocol_error" });
    }
    return { pid: event.value.pid, offset: 0, messages: messages(iterator) };
  }
}

/**
 * Lets the transport notice that its call was aborted while nobody was reading: only then does it release the connection and the timer
 * that bounds the call.
 */
export function releaseCall(iterator: AsyncIterator<unknown>): void {
  iterator.next().catch(() => {});
}

async function* messages(iterator: AsyncIterator<Response>): AsyncIterable<ProcessMessage> {
  for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
    const event = next.value.event?.event;
    if (event?.case === "data" && event.value.output.case !== undefined) {
      yield { output: { stream: event.value.output.case, data: event.value.output.value } };
    } else if (event?.case === "end") {
      const { exitCode, exited, status, error } = event.value;
      yield { end: { exitCode, exited, status, error: error || undefined } };
    }
  }
}
