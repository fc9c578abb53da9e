import { LayerStore, sweepMaking } from "../images/index.ts";

/** `sha256:<hex>` of a file's bytes: the digest of a layer whose tar it is. */
export async function digestOfFile(path: string): Promise<string> {
  const hasher = new Bun.CryptoHasher("sha256");
  for await (const chunk of Bun.file(path).stream()) hasher.update(chunk);
  return `sha256:${hasher.digest("hex")}`;
}

/** Makes a layer of a tar for set-up, without a driver. `digest` must be that of the file (`data_loss` otherwise). A layer that is there stays. */
export async function importLayer(dataDir: string, tar: string, digest: string): Promise<void> {
  await sweepMaking(dataDir);
  await new LayerStore(dataDir).import({ path: tar }, { expectedDigest: digest, signal: new AbortController().signal });
}
