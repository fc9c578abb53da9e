import { isCarried } from "./pack-volume.ts";
import { BadTar } from "./tar/header.ts";
import type { TarEntry } from "./tar/reader.ts";
import { TreeUnpacker } from "./tree-unpacker.ts";

/** The highest id that sandboxes know. */
const MAX_ID = 65_535;

/** Unpacks a hostile tar into a new volume. */
export class VolumeUnpacker extends TreeUnpacker {
  private readonly maxDepth: number;

  constructor(root: number, { maxEntries, maxDepth }: { readonly maxEntries: number; readonly maxDepth: number }) {
    super(root, { maxEntries, maxId: MAX_ID });
    this.maxDepth = maxDepth;
  }

  override entry(entry: TarEntry): boolean {
    return super.entry({ ...entry, xattrs: new Map([...entry.xattrs].filter(([name]) => isCarried(name))) });
  }

  protected override isWanted(_entry: TarEntry, above: readonly string[]): boolean {
    if (above.length >= this.maxDepth) throw new BadTar(`a path in it is deeper than ${this.maxDepth} levels`);
    return true;
  }
}
