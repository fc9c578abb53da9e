import { LayerStore, sweepMaking } from "../images/index.ts";

/** `sha256:<hex>` of a file's bytes: the digest of the layer with this tar. */
export async function digestOfFile(path: string): Promise<string> {
  const hasher = new Bun.CryptoHasher("sha256");
  for await (const chunk of Bun.file(path).stream()) hasher.update(chunk);
  return `sha256:${hasher.digest("hex")}`;
}

/** Imports a tar as a layer during set-up, without a driver. `data_loss` when the file has another digest. An existing layer stays. */
export async function importLayer(dataDir: string, tar: string, digest: string): Promise<void> {
  await sweepMaking(dataDir);
  await new LayerStore(dataDir).import({ path: tar }, { expectedDigest: digest, signal: new AbortController().signal });
}
