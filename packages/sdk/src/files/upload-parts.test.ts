import { expect, test } from "bun:test";
import { RequestScope } from "../connection/request-scope.ts";
import { ConnectionError, NotEnoughSpaceError, TimeoutError } from "../errors.ts";
import { PartSize } from "./part-size.ts";
import { type PartTarget, uploadInParts } from "./upload-parts.ts";

const DIRECTORY = "/data/.upload-1";
const PARTS = [new Uint8Array([1]), new Uint8Array([2])];
const lost = () => new ConnectionError("the connection failed", { code: "unavailable", reason: "network_failed" });

/** A sandbox's files, as far as an upload touches them. What `change` gives stands instead of the usual. */
function sandbox(change: (files: Set<string>) => Partial<PartTarget> = () => ({})) {
  const files = new Set<string>();
  const target: PartTarget = {
    put: async (path) => files.add(path),
    join: async () => ({ path: "/data/x", name: "x", type: "file", metadata: {} }),
    remove: async () => files.clear(),
    ...change(files),
  };
  const upload = () => uploadInParts(target, DIRECTORY, iterate(), new PartSize(2), () => {}, new RequestScope("write", 0, []));
  return { files, upload };
}

async function* iterate(): AsyncGenerator<Uint8Array<ArrayBuffer>, void, undefined> {
  yield* PARTS;
}

test("a removal whose connection fails is repeated", async () => {
  let removals = 0;
  const { files, upload } = sandbox((files) => ({
    remove: async () => {
      if (++removals < 3) throw lost();
      files.clear();
    },
  }));
  await upload();
  expect([removals, [...files]]).toEqual([3, []]);
});

test("a part that was given up and arrives after the removal does not stay", async () => {
  const late: string[] = [];
  const { files, upload } = sandbox((files) => ({
    put: async (path) => {
      if (path.endsWith(".0")) {
        late.push(path);
        throw lost();
      }
      files.add(path);
    },
    remove: async () => {
      files.clear();
      for (const path of late.splice(0)) files.add(path);
    },
  }));
  await upload();
  expect([[...files], late]).toEqual([[], []]);
});

test.each([
  ["which was answered, is not waited for", new NotEnoughSpaceError("full", { code: "resource_exhausted" }), 1],
  ["of which no answer came, may still arrive", new TimeoutError("no answer", { code: "deadline_exceeded" }), 2],
] as const)("a part that failed, %s", async (_what, failure, expected) => {
  let removals = 0;
  const { upload } = sandbox(() => ({
    put: async () => {
      throw failure;
    },
    remove: async () => {
      removals++;
    },
  }));
  await expect(upload()).rejects.toBe(failure);
  expect(removals).toBe(expected);
});

test("the first failure is thrown, also when the directory cannot be removed", async () => {
  const { upload } = sandbox(() => ({
    join: async () => {
      throw new Error("the disk is full");
    },
    remove: async () => {
      throw new Error("no such directory");
    },
  }));
  await expect(upload()).rejects.toThrow("the disk is full");
});
