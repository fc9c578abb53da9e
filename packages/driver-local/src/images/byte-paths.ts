import { BadTar } from "./tar/header.ts";

/** A byte string for messages: quoted, at most 200 bytes of it. */
export const show = (path: string): string => JSON.stringify(Buffer.from(path.slice(0, 200), "latin1").toString("utf8"));

export const joinPath = (parent: string, name: string): string => (parent === "" ? name : `${parent}/${name}`);

/** The components of a path; leading slashes and dots are ignored. Throws `BadTar` for `..` and NUL. */
export function partsOf(path: string): string[] {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) throw new BadTar(`${show(path)} leads out of its tree`);
  if (path.includes("\0")) throw new BadTar(`${show(path)} holds a NUL`);
  return parts;
}
