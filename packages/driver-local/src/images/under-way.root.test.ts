import { expect, setDefaultTimeout, test } from "bun:test";
import { closeSync, fstatSync, openSync } from "node:fs";
import { makeTar } from "@boxyard/driver/fake";
import { useTestMachine } from "../testing/use-test-machine.ts";

/* Layers that are being made or read while something else happens. */

setDefaultTimeout(30_000);
const machine = useTestMachine();

const never = new AbortController().signal;

/** A source that gives `bytes` and then nothing more, without ending. */
function stuck(bytes = new Uint8Array(0)): { source: ReadableStream<Uint8Array>; asked: Promise<void>; canceled: Promise<unknown> } {
  const asked = Promise.withResolvers<void>();
  const canceled = Promise.withResolvers<unknown>();
  let given = bytes.length === 0;
  const source = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (given) asked.resolve();
      else controller.enqueue(bytes);
      given = true;
      return given && bytes.length === 0 ? new Promise(() => {}) : undefined;
    },
    cancel: (reason) => canceled.resolve(reason),
  });
  return { source, asked: asked.promise, canceled: canceled.promise };
}

test("a sandbox can be thawed and destroyed while its commit waits for its turn", async () => {
  const { driver } = machine;
  const handle = await machine.boot();
  await driver.freeze(handle);
  const stop = new AbortController();
  // As many imports as run at the same time; none of them ends.
  const holders = Array.from({ length: 4 }, () => stuck());
  const imports = holders.map(({ source }) => driver.images.importLayer(source, { signal: stop.signal }).catch((error: unknown) => error));
  await Promise.all(holders.map(({ asked }) => asked));
  const commit = driver.images.commit(handle, { signal: stop.signal }).catch((error: unknown) => error);
  await driver.thaw(handle);
  await driver.destroy(handle);
  stop.abort(new Error("enough"));
  expect([...(await Promise.all(imports)), await commit].map(String)).toEqual(Array(5).fill("Error: enough"));
});

test("an import of a bad tar fails before its source ends, and cancels the source", async () => {
  const { source, canceled } = stuck(new TextEncoder().encode("no tar at all ".repeat(100)));
  const error = await machine.driver.images.importLayer(source, { signal: never }).catch((e: unknown) => e);
  expect(error).toMatchObject({ code: "invalid_argument" });
  await canceled;
});

test("an export that is canceled while its first bytes are awaited closes its descriptors, and only once", async () => {
  const tar = makeTar([{ path: "file", text: crypto.randomUUID() }]);
  const { digest } = await machine.driver.images.importLayer(new Blob([tar as Uint8Array<ArrayBuffer>]).stream(), { signal: never });
  const opened: number[] = [];
  try {
    for (let round = 0; round < 10; round++) {
      const reader = (await machine.driver.images.exportLayer(digest, { signal: never })).getReader();
      const first = reader.read();
      await reader.cancel();
      // These get the numbers that have just become free: a second close would close one of these.
      opened.push(openSync("/dev/null", "r"), openSync("/dev/null", "r"));
      await first;
      await machine.driver.images.hasLayer(digest);
    }
    for (const fd of opened) expect(fstatSync(fd).isCharacterDevice()).toBe(true);
  } finally {
    for (const fd of opened) closeSync(fd);
  }
  await machine.driver.images.removeLayer(digest);
});
