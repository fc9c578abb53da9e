import { expect, test } from "bun:test";
import type { RequestScope } from "../connection/request-scope.ts";
import { CommandHandle, type HandleParts } from "./command-handle.ts";
import type { CommandOutput } from "./process-events.ts";

const piece = (text: string): { output: CommandOutput } => ({ output: { stream: "stdout", data: new TextEncoder().encode(text) } });

test("what arrives after disconnect() is not handed out and does not move the output offset", async () => {
  let more = () => {};
  const arrival = new Promise<void>((resolve) => {
    more = resolve;
  });
  async function* messages() {
    yield piece("before");
    await arrival;
    yield piece("after");
    yield { end: { exitCode: 0, exited: true, status: "exit status 0" } };
  }
  let shown = "";
  const parts = {
    opened: { pid: 7, offset: 10, messages: messages() },
    // A transport that goes on handing out what it has read already.
    scope: { abort: () => {}, dispose: () => {} } as unknown as RequestScope,
    control: undefined,
    callbacks: {
      onStdout: (data: string) => {
        shown += data;
      },
    },
    retainOutput: true,
    owner: false,
    translate: (error: unknown) => Promise.resolve(error as Error),
  } as unknown as HandleParts;
  const handle = new CommandHandle(parts, "now");
  await Bun.sleep(0);
  expect(handle.outputOffset).toBe(16);
  await handle.disconnect();
  more();
  await expect(handle.wait()).rejects.toMatchObject({ reason: "disconnected" });
  expect({ shown, stdout: handle.stdout, offset: handle.outputOffset }).toEqual({ shown: "before", stdout: "before", offset: 16 });
});
