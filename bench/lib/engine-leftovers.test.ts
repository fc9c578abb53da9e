import { expect, test } from "bun:test";
import { type EngineLeftovers, newLeftovers } from "./engine-leftovers.ts";

const none: EngineLeftovers = { mounts: [], links: [], tables: [], cgroups: [], forwarding: "0" };

test("only what was not there before is podman's to be put back", () => {
  const before = { ...none, tables: ["ip nat"], links: ["podman0"] };
  const now: EngineLeftovers = {
    mounts: ["/var/lib/containers/storage/overlay"],
    links: ["podman0", "cni-podman0"],
    tables: ["ip nat", "ip filter"],
    cgroups: ["/sys/fs/cgroup/pids/libpod_parent/conmon", "/sys/fs/cgroup/pids/libpod_parent"],
    forwarding: "1",
  };
  expect(newLeftovers(before, now)).toEqual({ ...now, links: ["cni-podman0"], tables: ["ip filter"] });
  expect(newLeftovers(now, now)).toEqual({ ...none, forwarding: "" });
});
