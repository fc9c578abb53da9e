import { expect, test } from "bun:test";
import type { AppError } from "@boxyard/core";
import { checkVolumeMounts, isMountPath, sameVolumeMounts, type VolumeMount } from "./volume-mounts.ts";

const at = (path: string, volume = "v", readOnly = false): VolumeMount => ({ volume, path, readOnly });

function reasonFor(mounts: readonly VolumeMount[]): string {
  try {
    checkVolumeMounts(mounts);
    return "allowed";
  } catch (error) {
    return (error as AppError).reason;
  }
}

test("a mount path is absolute, plain and outside the directories of the platform", () => {
  for (const path of ["/data", "/home/user/work", "/mnt/ä b", "/procedures", "/.boxyard2", "/a..b/.hidden"]) {
    expect([path, isMountPath(path)]).toEqual([path, true]);
  }
  for (const path of [
    ...["", "/", "data", "./data", "/data/", "//data", "/a//b", "/a/../b", "/a/.", "/..", "/a\nb", "/a\0b", `/${"x".repeat(1_024)}`],
    ...["/proc", "/proc/x", "/sys/fs", "/dev/shm", "/run", "/run/x", "/running", "/.boxyard", "/.boxyard/host"],
  ]) {
    expect([path, isMountPath(path)]).toEqual([path, false]);
  }
});

test("the mounts of a spec are few, at separate paths, and of well-formed ids", () => {
  expect(reasonFor([at("/a"), at("/b", "w"), at("/ab"), at("/c", "v", true)])).toBe("allowed");
  expect(reasonFor([at("/a"), at("/a", "w")])).toBe("mount_paths_overlap");
  expect(reasonFor([at("/a"), at("/a/b", "w")])).toBe("mount_paths_overlap");
  expect(reasonFor([at("/a", "../x")])).toBe("bad_volume_id");
  expect(reasonFor([at("/etc/../a")])).toBe("bad_mount_path");
  expect(reasonFor(Array.from({ length: 32 }, (_, i) => at(`/m${i}`)))).toBe("allowed");
  expect(reasonFor(Array.from({ length: 33 }, (_, i) => at(`/m${i}`)))).toBe("too_many_volumes");
});

test("equal mounts are equal in any order", () => {
  expect(sameVolumeMounts([at("/a"), at("/b")], [at("/b"), at("/a")])).toBe(true);
  expect(sameVolumeMounts(undefined, [])).toBe(true);
  expect(sameVolumeMounts([at("/a")], [at("/a", "v", true)])).toBe(false);
  expect(sameVolumeMounts([at("/a")], [at("/a", "w")])).toBe(false);
});
