import { LayerStore } from "./layer-store.ts";
import { sweepMaking } from "./making.ts";

/**
 * Imports a tar as a layer during set-up, without a driver, and returns the layer's digest. `data_loss` when that is not the expected one. An existing
 * layer stays.
 */
export async function importLayer(dataDir: string, tar: string, expectedDigest?: string): Promise<string> {
  await sweepMaking(dataDir);
  const options = { ...(expectedDigest !== undefined && { expectedDigest }), signal: new AbortController().signal };
  return (await new LayerStore(dataDir).import({ path: tar }, options)).digest;
}
