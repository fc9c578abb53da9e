import { expect, test } from "bun:test";
import { AppError } from "@boxyard/core";
import { fromErrno } from "@boxyard/core/errno";
import { BuildFailure } from "./build-failure.ts";
import { explain } from "./explain.ts";

const kernel = (code: string) => Object.assign(new Error(`${code}: …, open '/data/secret/path'`), { code });
const LOG = "The server could not build the template; its log says why";

test.each([
  ["as it came", kernel("EMFILE"), "EMFILE"],
  ["of a step", new AppError("internal", "starting a sandbox for the build: EROFS", { cause: kernel("EROFS") }), "EROFS"],
  ["of a worker, whose error has lost its cause", new AppError("internal", "make a layer: fchown: EIO", { reason: "eio" }), "EIO"],
  ["with the kernel's own sentence", fromErrno("create sandbox", kernel("ENOSPC")), "ENOSPC"],
])("a refusal of the machine is named, without paths: %s", (_, error, errno) => {
  const { message } = explain(error);
  expect([message.includes(`(${errno})`), message.includes("/data/")]).toEqual([true, false]);
});

test("an error with a message of its own keeps that; a fault of the server is only in the log", () => {
  const full = new AppError("resource_exhausted", "The storage pool is full", { reason: "disk_full", cause: kernel("ENOSPC") });
  expect([explain(full), explain(new BuildFailure("RUN failed", "2")), explain(new TypeError("x")), explain(kernel("ENOENT"))]).toEqual([
    { message: "The storage pool is full" },
    { message: "RUN failed", step: "2" },
    { message: LOG },
    { message: LOG },
  ]);
});
