import { expect, test } from "bun:test";
import { meminfoText } from "./meminfo.ts";
import { processorFiles } from "./processors.ts";

const MIB = 1 << 20;
const V1 = `cache ${9 * MIB}\nrss 1\ntotal_cache ${30 * MIB}\ntotal_rss ${50 * MIB}\ntotal_shmem ${5 * MIB}\ntotal_active_file ${10 * MIB}
total_inactive_file ${15 * MIB}\ntotal_active_anon ${55 * MIB}\ntotal_inactive_anon 0\n`;
const V2 = `anon ${50 * MIB}\nfile ${30 * MIB}\nshmem ${5 * MIB}\nactive_file ${10 * MIB}\ninactive_file ${15 * MIB}\nslab_reclaimable ${2 * MIB}
slab_unreclaimable ${MIB}\n`;
const kib = (text: string, name: string) => Number(new RegExp(`^${name}: +(\\d+) kB$`, "m").exec(text)?.[1]) * 1024;

test("a cgroup's account is shown as the memory of a machine of that size, with the figures of the metrics", () => {
  for (const [stat, isV1, reclaimable] of [
    [V1, true, 25],
    [V2, false, 27],
  ] as const) {
    const text = meminfoText({ limitBytes: 512 * MIB, usageBytes: 100 * MIB, stat, isV1 });
    expect(kib(text, "MemTotal")).toBe(512 * MIB);
    expect(kib(text, "MemFree")).toBe(412 * MIB);
    expect(kib(text, "MemAvailable")).toBe((412 + reclaimable) * MIB);
    expect(kib(text, "Cached")).toBe(30 * MIB);
    expect(kib(text, "Shmem")).toBe(5 * MIB);
    expect(kib(text, "AnonPages")).toBe(50 * MIB);
    expect(kib(text, "SReclaimable")).toBe(isV1 ? 0 : 2 * MIB);
    expect(kib(text, "SwapTotal")).toBe(0);
  }
});

test("every text of a sandbox has the same length, whatever the account is, and numbers stay within the limit", () => {
  for (const limitBytes of [64 * MIB, 2 ** 40]) {
    const lengths = [0, 1, limitBytes, 2 * limitBytes].map(
      (usageBytes) => meminfoText({ limitBytes, usageBytes, stat: `${V1}dirt\n`, isV1: true }).length,
    );
    expect(new Set(lengths).size).toBe(1);
  }
  const over = meminfoText({ limitBytes: 64 * MIB, usageBytes: 65 * MIB, stat: "", isV1: false });
  expect([kib(over, "MemFree"), kib(over, "MemAvailable")]).toEqual([0, 0]);
});

test("a sandbox sees as many processors as it may use, and the machine's own files when it may use all", () => {
  const block = (number: number) => `processor\t: ${number}\nmodel name\t: X\n\n`;
  const machine = { info: `${block(0)}${block(1)}${block(2)}Hardware\t: board\n`, count: 3 };
  expect(processorFiles(0.5, machine)).toEqual({ info: block(0), online: "0\n", isAll: false });
  expect(processorFiles(1.5, machine)).toEqual({ info: `${block(0)}${block(1)}`, online: "0-1\n", isAll: false });
  for (const all of [3, 64]) expect(processorFiles(all, machine)).toEqual({ info: machine.info, online: "0-2\n", isAll: true });
});
