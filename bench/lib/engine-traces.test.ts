import { expect, test } from "bun:test";
import { type EngineTraces, newTraces } from "./engine-traces.ts";

const none: EngineTraces = { mounts: [], links: [], tables: [], cgroups: [], forwarding: "0" };

test("only what was not there before is podman's to be put back", () => {
  const before = { ...none, tables: ["ip nat"], links: ["podman0"] };
  const now: EngineTraces = {
    mounts: ["/var/lib/containers/storage/overlay"],
    links: ["podman0", "cni-podman0"],
    tables: ["ip nat", "ip filter"],
    cgroups: ["/sys/fs/cgroup/pids/libpod_parent/conmon", "/sys/fs/cgroup/pids/libpod_parent"],
    forwarding: "1",
  };
  expect(newTraces(before, now)).toEqual({ ...now, links: ["cni-podman0"], tables: ["ip filter"] });
  expect(newTraces(now, now)).toEqual({ ...none, forwarding: "" });
});
