import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentAddress, SandboxHandle, SandboxSpec } from "@boxyard/driver";
import { eventually } from "@boxyard/testkit";
import { countInto, lastCount } from "../testing/counting.ts";
import { exec, initAgent, startUnread } from "../testing/exec.ts";
import { never } from "../testing/machine.ts";
import { REAL_PROGRAM } from "../testing/real-program.ts";
import { useTestMachine } from "../testing/use-test-machine.ts";

const COUNT = "/root/count";

describe("snapshots", () => {
  setDefaultTimeout(60_000);
  const machine = useTestMachine();
  afterEach(async () => {
    await machine.destroyAll();
    for (const { id } of await machine.driver.snapshots.list()) await machine.driver.snapshots.remove(id);
    expect(readdirSync(join(machine.dataDir, "pool/snapshots"))).toEqual([]);
  }, 60_000);

  const capture = (handle: SandboxHandle, id: string, memory = true) => machine.driver.snapshots.capture(handle, { id, memory }, never);
  const specFrom = (snapshot: string, memory = true): SandboxSpec => ({
    ...machine.spec(),
    ...{ hostname: "fork", from: { snapshot, memory }, agent: { initKey: "a-key-of-the-fork-alone" } },
  });
  /** A running sandbox whose agent has had `/init`. */
  const boot = async (spec = machine.spec()): Promise<{ handle: SandboxHandle; address: AgentAddress }> => {
    const handle = await machine.boot(spec);
    const address = await machine.driver.address(handle);
    await initAgent(address, spec.agent.initKey);
    return { handle, address };
  };
  const output = async (address: AgentAddress, command: string) => (await exec(address, command)).output;
  const goesOn = async (address: AgentAddress) => {
    const count = async () => Number(await output(address, lastCount(COUNT)));
    const seen = await count();
    await eventually("the loop goes on", async () => (await count()) > seen);
  };

  test("forks go on with their source's processes and disk, and do not affect each other", async () => {
    const source = await boot();
    await startUnread(source.address, countInto(COUNT));
    await output(source.address, "echo kept > /root/file; useradd -m other; echo mine > /home/other/file; chown other /home/other/file");
    await capture(source.handle, "s");
    await output(source.address, "echo later > /root/file");
    const forks = await Promise.all([boot(specFrom("s")), boot(specFrom("s"))]);
    for (const { address } of [source, ...forks]) await goesOn(address);
    for (const { handle, address } of forks) {
      expect(await output(address, "cat /root/file; hostname; cat /etc/hostname; stat -c '%U %u' /home/other/file /root/file")).toBe(
        "kept\nfork\nfork\nother 1001\nroot 0\n",
      );
      const hosts = await output(address, "cat /etc/hosts");
      expect([hosts.includes(`${address.host} fork`), hosts.includes(source.address.host)]).toEqual([true, false]);
      expect(await output(address, `echo ${handle.sandboxId} > /tmp/file && chown other /tmp/file && su other -c 'cat /tmp/file'`)).toBe(
        `${handle.sandboxId}\n`,
      );
    }
    expect(await output(source.address, "cat /root/file")).toBe("later\n");
    const base = (handle: SandboxHandle) => readFileSync(`/proc/${machine.initPid(handle)}/uid_map`, "utf8");
    expect(new Set([source, ...forks].map(({ handle }) => base(handle))).size).toBe(3);
  });

  test("file capabilities and access lists of the source hold in sandboxes that start from its snapshot", async () => {
    const source = await boot();
    const set = `import os, struct
os.setxattr("/srv/p", "security.capability", struct.pack("<IIIII", 0x02000001, 1 << 10, 0, 0, 0))
os.setxattr("/srv/f", "system.posix_acl_access", struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in [(1, 6, 0xffffffff), (2, 4, 1234), (4, 0, 0xffffffff), (16, 4, 0xffffffff), (32, 0, 0xffffffff)]))`;
    await output(source.address, `cp /usr/bin/cat /srv/p; echo secret > /srv/f; python3 -c '${set}'`);
    const asUser = (id: number, command: string) =>
      `python3 -c 'import os; os.setgid(${id}); os.setuid(${id}); os.execv("/bin/sh", ["sh", "-c", "${command}"])' 2>&1`;
    const look = `${asUser(1234, "cat /srv/f; /srv/p /proc/self/status | grep CapEff")}; ${asUser(4321, "cat /srv/f")}`;
    const seen = await output(source.address, look);
    expect(seen).toBe("secret\nCapEff:\t0000000000000400\ncat: /srv/f: Permission denied\n");
    await capture(source.handle, "s");
    for (const memory of [true, false]) {
      const { address } = await boot(specFrom("s", memory));
      expect(await output(address, look)).toBe(seen);
    }
  });

  test("a start from the disk alone boots with the files of the source, without its processes", async () => {
    const source = await boot();
    await startUnread(source.address, "exec sleep 1000");
    await output(source.address, "echo kept > /root/file");
    await capture(source.handle, "s");
    const { address } = await boot(specFrom("s", false));
    expect(await output(address, "cat /root/file /etc/hostname; cat /proc/[0-9]*/comm | grep -c sleep")).toBe("kept\nfork\n0\n");
  });

  test("what real programs have open, lock and share works on in the source, in forks and in forks of forks", async () => {
    const resources = { memoryBytes: 512 << 20, maxProcesses: 512 };
    const source = await boot(machine.spec(resources));
    await output(source.address, `cat > /root/real.py <<'END'\n${REAL_PROGRAM}\nEND`);
    await startUnread(source.address, "exec python3 /root/real.py 2> /root/errors");
    await startUnread(source.address, "touch /root/log; exec tail -f /root/log > /root/followed");
    await startUnread(source.address, `python3 -c 'import pty; pty.spawn(["sh", "-c", "while sleep 0.1; do tty; done"])' > /root/terminal`);
    const told = (address: AgentAddress) => output(address, "cat /root/told /root/errors");
    const isAt = (address: AgentAddress, round: number) =>
      eventually(`round ${round}`, async () => (await told(address)) === `${round} all there\n`).catch(async (cause) => {
        throw new Error(await told(address), { cause });
      });
    const again = async (address: AgentAddress, round: number) => {
      await output(address, `touch /root/again; echo ${round} >> /root/log; : > /root/terminal`);
      await isAt(address, round);
      const follows = async () => (await output(address, "tail -n 1 /root/followed")) === `${round}\n`;
      await eventually("a watch tells", follows);
      await eventually("the terminal is there", async () => (await output(address, "cat /root/terminal")).includes("/dev/pts/"));
    };
    await isAt(source.address, 1);
    await capture(source.handle, "s");
    const forks = await Promise.all([1, 2].map(() => boot({ ...specFrom("s"), resources: machine.spec(resources).resources })));
    for (const { address } of [source, ...forks]) {
      await again(address, 2);
      expect(await output(address, "ls -a /root | grep -c link_remap")).toBe("0\n");
    }
    const [first] = forks as [(typeof forks)[0], ...typeof forks];
    await capture(first.handle, "s2");
    const grandchild = await boot({ ...specFrom("s2"), resources: machine.spec(resources).resources });
    for (const { address } of [first, grandchild]) await again(address, 3);
    const fromDisk = await boot(specFrom("s2", false));
    expect(await output(fromDisk.address, "ls -a /root | grep -c link_remap; cat /root/told")).toBe("0\n2 all there\n");
  });

  test("twenty generations have the layers of the first, the disk of one, and all that was written", async () => {
    const layersOf = (handle: SandboxHandle) =>
      /^\S+ \S+ \S+ \S+ \/ .*lowerdir=([^,]*)/m.exec(readFileSync(`/proc/${machine.initPid(handle)}/mountinfo`, "utf8"))?.[1];
    let now = await boot();
    await startUnread(now.address, countInto(COUNT));
    const layers = layersOf(now.handle);
    for (let generation = 1; generation <= 20; generation++) {
      await output(now.address, `echo ${generation} >> /root/generations; head -c 4M /dev/urandom > /root/changed; sync /root/changed`);
      const memory = generation % 5 !== 0;
      await capture(now.handle, `s${generation}`, memory);
      await machine.driver.destroy(now.handle);
      now = await boot(specFrom(`s${generation}`, memory));
      await machine.driver.snapshots.remove(`s${generation}`);
      if (!memory) await startUnread(now.address, countInto(COUNT));
    }
    const expected = Array.from({ length: 20 }, (_, i) => `${i + 1}\n`).join("");
    expect(await output(now.address, "cat /root/generations")).toBe(expected);
    await goesOn(now.address);
    expect(layersOf(now.handle)).toBe(layers);
    expect((await machine.driver.stats(now.handle)).diskUsedBytes).toBeLessThan(12 << 20);
  }, 180_000);

  test("what the disk of a snapshot holds counts against the disk of what starts from it", async () => {
    const source = await boot();
    await output(source.address, "head -c 40M /dev/urandom > /root/held; sync /root/held");
    const { diskUsedBytes } = await capture(source.handle, "s", false);
    expect(diskUsedBytes).toBeGreaterThan(40 << 20);
    const withDisk = (diskBytes: number) => ({ ...specFrom("s", false), resources: { ...machine.spec().resources, diskBytes } });
    const small = await machine.driver.create(withDisk(20 << 20), never).catch((error: unknown) => error);
    expect(small).toMatchObject({ code: "failed_precondition", reason: "disk_too_small" });
    const { handle, address } = await boot(withDisk(60 << 20));
    expect(await output(address, "head -c 40M /dev/urandom > /root/more; sync /root/more")).toContain("Disk quota exceeded");
    expect((await machine.driver.stats(handle)).diskUsedBytes).toBeGreaterThan(40 << 20);
  });

  test("a snapshot becomes a layer of what the source has changed, and protects the layers below from removal", async () => {
    const source = await boot();
    await output(source.address, "echo kept > /srv/file; chown 1000 /srv/file; rm /etc/motd");
    await capture(source.handle, "s");
    await machine.driver.destroy(source.handle);
    const fork = await boot(specFrom("s", false));
    await output(fork.address, "echo of the fork > /srv/other");
    await capture(fork.handle, "s2", false);
    const { images, snapshots } = machine.driver;
    await machine.driver.freeze(fork.handle);
    const committed = await images.commit(fork.handle, { signal: never });
    await machine.driver.destroy(fork.handle);
    const [base = ""] = machine.spec().image.layers;
    expect(await images.removeLayer(base).catch((error: unknown) => error)).toMatchObject({
      reason: "layer_in_use",
      details: { snapshots: ["s", "s2"] },
    });
    const { digest } = await snapshots.toLayer("s2", { signal: never });
    expect(committed.digest).toBe(digest);
    const { image } = machine.spec();
    const { address } = await boot({ ...machine.spec(), image: { ...image, layers: [...image.layers, digest] } });
    expect(await output(address, "cat /srv/file /srv/other; stat -c %u /srv/file; ls /etc/motd 2>&1; cat /etc/hostname")).toBe(
      "kept\nof the fork\n1000\nls: cannot access '/etc/motd': No such file or directory\ntest\n",
    );
    await machine.destroyAll();
    await images.removeLayer(digest);
  });

  test("starts during a removal have the whole snapshot or do not find it", async () => {
    const source = await boot();
    await capture(source.handle, "s");
    const starts = Array.from({ length: 6 }, () => machine.boot(specFrom("s")).catch((error: unknown) => error));
    // The first start ends before the removal begins.
    expect(await Promise.race(starts)).not.toBeInstanceOf(Error);
    await machine.driver.snapshots.remove("s");
    for (const started of await Promise.all(starts)) {
      if (started instanceof Error) expect(started).toMatchObject({ reason: "snapshot_not_found" });
      else await initAgent(await machine.driver.address(started as SandboxHandle), "a-key-of-the-fork-alone");
    }
    expect(readdirSync(join(machine.dataDir, "pool/snapshots"))).toEqual([]);
  });
});
