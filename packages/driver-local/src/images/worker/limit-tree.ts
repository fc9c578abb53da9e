import { setQgroupLimit, subvolumeId } from "../../sys/btrfs.ts";
import { FILES } from "./jobs.ts";

/** Sets the first limit of a job's tree, if it has one. */
export function limitTree({ directory, quotaBytes }: { readonly directory: string; readonly quotaBytes?: number }): void {
  if (quotaBytes !== undefined) setQgroupLimit(directory, subvolumeId(`${directory}/${FILES.tree}`), quotaBytes);
}
