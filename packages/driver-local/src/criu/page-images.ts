import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { messagesIn } from "./image-messages.ts";

/*
 * CRIU's images of memory: a `pagemap` says which pages a `pages` file holds (criu/images/pagemap.proto). A pause with missing pages could never be
 * resumed, so they are counted, even if CRIU reports success.
 */

/** The smallest page size of any machine: a file with fewer bytes for each page was cut off. */
const PAGE_BYTES = 4_096;
/** A map of more than a hundred thousand pieces is not read: it would block the server. */
export const MAX_MAP_BYTES = 2 ** 21;
const HEAD_FIELD = { pagesId: 1 } as const;
const FIELD = { address: 1, fewPages: 2, flags: 4, pages: 5 } as const;
/** Flag: the pages are in this file, not in a parent's. */
const PRESENT = 4;

/** Throws `internal`, reason `checkpoint_failed`, when a file of pages is shorter than its map says, or a map is cut off. */
export function checkPagesIn(images: string): void {
  for (const name of readdirSync(images).filter((file) => /^pagemap-.*\.img$/.test(file))) {
    const path = join(images, name);
    if (statSync(path).size > MAX_MAP_BYTES) continue;
    const { pagesId, pages } = readPagemap(readFileSync(path), name);
    if (pages > 0 && sizeOf(join(images, `pages-${pagesId}.img`)) < pages * PAGE_BYTES) throw cutOff(`pages-${pagesId}.img`);
  }
}

/** The pages of one process that are in a file. */
export interface Pages {
  /** The number of the file. */
  readonly pagesId: number;
  readonly count: number;
  /** Pieces of memory in the order of their addresses: where each begins in the file, and its length, in pages. */
  readonly runs: readonly { readonly address: number; readonly at: number; readonly count: number }[];
}

/** The number of the file that holds the pages, and how many pages it must hold. `name`: the map's name, for errors. */
export function readPagemap(image: Buffer, name: string): { readonly pagesId: number; readonly pages: number } {
  const { pagesId, count } = readPages(image, name);
  return { pagesId, pages: count };
}

/** As `readPagemap`, with the places of the pages. */
export function readPages(image: Buffer, name: string): Pages {
  let pagesId: number | undefined;
  let at = 0;
  const runs: Pages["runs"][number][] = [];
  for (const message of messagesIn(image, () => cutOff(name))) {
    const fields = numbersIn(message);
    if (pagesId === undefined) pagesId = fields[HEAD_FIELD.pagesId];
    else if (((fields[FIELD.flags] ?? PRESENT) & PRESENT) !== 0) {
      const count = fields[FIELD.pages] ?? fields[FIELD.fewPages] ?? 0;
      runs.push({ address: fields[FIELD.address] ?? 0, at, count });
      at += count;
    }
  }
  if (pagesId === undefined) throw cutOff(name);
  return { pagesId, count: at, runs };
}

const sizeOf = (path: string): number => (existsSync(path) ? statSync(path).size : 0);

/**
 * Fields of a message that holds only numbers, by field number. Addresses have fewer than 53 bits. A map may have a hundred thousand messages, for
 * which `fieldsIn` with its big integers takes too long.
 */
function numbersIn(bytes: Buffer): (number | undefined)[] {
  const fields: (number | undefined)[] = [];
  let at = 0;
  const next = () => {
    let value = 0;
    for (let scale = 1; at < bytes.length; scale *= 128) {
      const byte = bytes[at++] as number;
      value += (byte & 127) * scale;
      if (byte < 128) break;
    }
    return value;
  };
  while (at < bytes.length) {
    const tag = next();
    fields[tag >> 3] = next();
  }
  return fields;
}

const cutOff = (name: string) =>
  new AppError("internal", `CRIU has not written all of ${name}, but reported success`, { reason: "checkpoint_failed" });
