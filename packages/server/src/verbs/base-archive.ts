import { renameSync, rmSync, statSync } from "node:fs";
import { absentImages } from "@boxyard/driver";
import type { Machine } from "../machine.ts";
import { exportArchive } from "../registry/index.ts";
import { imageOfTemplate } from "../templates/images/template-image.ts";

/**
 * Builds the base template anew and writes it as an archive, from which any server can build a template. A running server is not touched: it gets the
 * template by its API, like every other. Returns the exit code.
 */
export async function baseArchive(machine: Machine, path: string): Promise<number> {
  const { tar, settings } = await machine.rebuildBase();
  const digest = `sha256:${await hashOf(tar)}`;
  const images = {
    ...absentImages("archive"),
    getLayer: async () => ({ digest, sizeBytes: statSync(tar).size, createdAt: 0 }),
    exportLayer: async () => Bun.file(tar).stream(),
  };
  const spec = { ...settings, image: { digest, layers: [digest] } };
  const { signal } = new AbortController();
  const archive = await exportArchive({ image: imageOfTemplate(spec), images, signal, name: "base:default" });
  const aside = `${path}.new`;
  try {
    await Bun.write(aside, new Response(archive.tar));
    renameSync(aside, path);
  } finally {
    rmSync(aside, { force: true });
  }
  return 0;
}

async function hashOf(path: string): Promise<string> {
  const hasher = new Bun.CryptoHasher("sha256");
  for await (const chunk of Bun.file(path).stream()) hasher.update(chunk);
  return hasher.digest("hex");
}
