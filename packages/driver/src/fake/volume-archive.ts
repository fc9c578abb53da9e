import { AppError } from "@boxyard/core";
import { makeTar } from "./make-tar.ts";
import type { FakeVolumeFiles } from "./volume-files.ts";

/* Tars of fake volumes: plain files and directories with short names, in the format that `tar` reads and writes. */

const BLOCK = 512;
const badArchive = () => new AppError("invalid_argument", "The archive is no tar of files and directories", { reason: "bad_archive" });

export function archiveOf(files: FakeVolumeFiles): Uint8Array<ArrayBuffer> {
  return makeTar(
    files.below("/", Number.POSITIVE_INFINITY).map((path) => {
      const { type, mode, uid, gid } = files.entry(path);
      const facts = { path: path.slice(1), mode, uid, gid };
      return type === "file" ? { ...facts, text: files.bytesOf(path) } : { ...facts, type: "directory" };
    }),
  );
}

/** Puts what a tar holds into an empty volume. */
export function unpackInto(files: FakeVolumeFiles, tar: Uint8Array<ArrayBuffer>): void {
  const bytes = Buffer.from(tar);
  if (bytes.length === 0 || bytes.length % BLOCK !== 0) throw badArchive();
  for (let at = 0; at < bytes.length && bytes[at] !== 0; ) {
    const text = (from: number, length: number) => bytes.toString("utf8", at + from, at + from + length).split("\0", 1)[0] ?? "";
    const octal = (from: number, length: number) => Number.parseInt(text(from, length).trim() || "0", 8);
    const size = octal(124, 12);
    const type = text(156, 1) || "0";
    if (text(257, 5) !== "ustar" || !["0", "5"].includes(type) || at + BLOCK + size > bytes.length) throw badArchive();
    const path = files.pathOf(text(0, 100));
    const attributes = { uid: octal(108, 8), gid: octal(116, 8), mode: octal(100, 8) };
    const content = type === "0" ? tar.slice(at + BLOCK, at + BLOCK + size) : undefined;
    if (path === "/") files.update(path, attributes);
    else files.put(path, content, attributes);
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
}
