import type { Readable, Writable } from "node:stream";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { serverOf } from "./server.ts";
import { type Connect, Session } from "./session/session.ts";

interface Streams {
  readonly input: Readable;
  readonly output: Writable;
  readonly signal: AbortSignal;
}

/** Serves one client on two streams until the input ends or the signal aborts, then ends the session's sandboxes. */
export async function serveStreams(connect: Connect, { input, output, signal }: Streams): Promise<void> {
  const session = new Session(connect);
  const server = serverOf(session);
  const done = Promise.withResolvers<void>();
  for (const event of ["end", "close", "error"]) input.once(event, () => done.resolve());
  // A client that reads no more has gone.
  output.on("error", () => done.resolve());
  signal.addEventListener("abort", () => done.resolve(), { once: true });
  server.onclose = () => done.resolve();
  await server.connect(new StdioServerTransport(input, output));
  try {
    await done.promise;
  } finally {
    await session.end();
    await server.close();
  }
}
