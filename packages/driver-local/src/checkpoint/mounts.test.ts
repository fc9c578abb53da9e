import { expect, test } from "bun:test";
import type { SandboxCgroup } from "../cgroup/sandbox-cgroup.ts";
import { BOOT_ID_PATH } from "../figures/files.ts";
import { externalMounts, sourcePath } from "./mounts.ts";

/** Lines of a sandbox's mountinfo, shortened. Its own facts are bound from the data directory's disk. */
const MOUNTINFO = `
20 1 0:40 / / rw,nodev - overlay overlay rw,lowerdir=x
21 20 0:41 / /.boxyard ro,nosuid - overlay guest ro
22 21 254:0 /data/sandboxes/i1/host /.boxyard/host ro,nosuid - ext4 /dev/root rw
23 20 0:42 / /proc rw,nosuid - proc proc rw
24 23 0:42 /sys /proc/sys ro,nosuid - proc proc rw
25 24 254:0 /data/sandboxes/i1/host/boot_id ${BOOT_ID_PATH} ro,nosuid,nodev,noexec - ext4 /dev/root rw
26 23 254:0 /data/sandboxes/i1/host/meminfo /proc/meminfo ro,nosuid - ext4 /dev/root rw
27 23 0:43 / /proc/acpi ro - tmpfs tmpfs ro
28 20 0:44 /null /dev/null rw - tmpfs devices rw
29 20 0:45 /volumes/v1/disk /mnt/a\\040b rw,nosuid,nodev,noatime,idmapped - btrfs /dev/loop1 rw
30 20 0:45 /volumes/v1/disk /data ro,nosuid,nodev,noatime,idmapped - btrfs /dev/loop1 rw`;

test("volumes, and the files that are mounted over those of the kernel, are found for the sandbox that is restored", () => {
  const mounts = externalMounts(MOUNTINFO, "/.boxyard");
  expect(mounts.map(({ target, source }) => [target, source])).toEqual([
    ["/.boxyard", "guest"],
    ["/.boxyard/host", "host"],
    [BOOT_ID_PATH, "figure:boot_id"],
    ["/proc/meminfo", "figure:meminfo"],
    ["/proc/acpi", "empty"],
    ["/dev/null", "device:/null"],
    ["/mnt/a b", "volume:v1"],
    ["/data", "volume-ro:v1"],
  ]);
  const cgroup = {} as SandboxCgroup;
  const places = { guest: "/s/guest", host: "/s/host", devices: "/s/devices", empty: "/s/empty", volumes: "/s/volumes", cgroup };
  expect(mounts.map(({ source }) => sourcePath(source, places))).toEqual([
    ...["/s/guest", "/s/host", "/s/host/boot_id", "/s/host/meminfo", "/s/empty", "/s/devices/null", "/s/volumes/rw-v1", "/s/volumes/ro-v1"],
  ]);
});
