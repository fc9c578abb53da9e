import type { Step } from "@boxyard/core";
import { makeUpper } from "../rootfs/upper.ts";
import type { CreateContext } from "../sandbox/parts.ts";

/** Makes a volume with the disk limit, and in it overlay's upper and work directories. The step `create` mounts the overlay. */
export const rootfs: Step<CreateContext> = {
  name: "rootfs",
  async run(ctx) {
    const { parts, spec, record } = ctx;
    ctx.volume = await parts.storage.createDisk(spec.sandboxId, spec.resources.diskBytes, spec.image.layers);
    makeUpper(ctx.volume, {
      owner: record.uidBase,
      hostname: spec.hostname,
      address: record.lease.address,
      dnsAddress: parts.networks.dnsAddress,
    });
  },
};
