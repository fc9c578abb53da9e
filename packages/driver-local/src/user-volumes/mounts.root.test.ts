import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { SandboxHandle, VolumeMount } from "@boxyard/driver";
import { failure } from "@boxyard/driver/contract-suite";
import { exec, initAgent } from "../testing/exec.ts";
import { never } from "../testing/machine.ts";
import { useTestMachine } from "../testing/use-test-machine.ts";

const LIMIT = { limitBytes: 32 << 20 };
const DATA: VolumeMount = { volume: "v", path: "/data", readOnly: false };

describe("mounts of volumes", () => {
  setDefaultTimeout(60_000);
  const machine = useTestMachine();
  afterEach(async () => {
    await machine.destroyAll();
    for (const { id } of await machine.driver.snapshots.list()) await machine.driver.snapshots.remove(id);
    for (const { id } of await machine.driver.volumes.list()) await machine.driver.volumes.remove(id);
  }, 60_000);

  const boot = async (volumes: readonly VolumeMount[]) => {
    const handle = await machine.boot({ ...machine.spec(), volumes });
    await initAgent(await machine.driver.address(handle));
    return handle;
  };
  const run = async (handle: SandboxHandle, command: string, user = "root") =>
    (await exec(await machine.driver.address(handle), command, { user })).output.trim();

  test("a file belongs to the same user in each sandbox, and for the content API", async () => {
    await machine.driver.volumes.create("v", LIMIT);
    const [first, second] = [await boot([DATA]), await boot([{ ...DATA, path: "/home/user/work/deep" }])];
    expect(await run(first, "echo hello > /data/note; mkdir /data/d; stat -c %u:%g /data/note", "user")).toBe("1000:1000");
    expect(await run(second, "cd /home/user/work/deep; stat -c %u:%g note d; echo more >> note; cat note", "user")).toBe(
      "1000:1000\n1000:1000\nhello\nmore",
    );
    expect(await machine.driver.volumes.content.stat("v", "note")).toMatchObject({ uid: 1000, gid: 1000 });
    expect(await run(first, "stat -c '%a %U' /data; touch /data/x; stat -c %U /data/x")).toBe("777 root\nroot");
  });

  test("directories on the way are made for root; those of the image keep owner, mode and content", async () => {
    await machine.driver.volumes.create("v", LIMIT);
    const mounts = ["/home/user/work/deep", "/new/one", "/new/two/three", "/usr/share", "/mnt/ä b"].map((path) => ({ ...DATA, path }));
    const handle = await boot(mounts);
    const stat = (paths: string) => run(handle, `stat -c '%U %a' ${paths}`);
    expect(await stat("/home/user /home/user/work /new /new/one /usr /usr/share")).toBe(
      ["user 755", "root 755", "root 755", "root 777", "root 755", "root 777"].join("\n"),
    );
    expect(await run(handle, "ls -A /usr/share; ls /usr/bin/env; ls -A /home/user | grep -c bashrc; touch '/mnt/ä b/x'; ls /new/one")).toBe(
      "/usr/bin/env\n1\nx",
    );
  });

  test("a path over a link, or over a file, is refused, and leaves nothing", async () => {
    await machine.driver.volumes.create("v", LIMIT);
    const source = await boot([]);
    await run(source, "ln -s /etc /opt/link; ln -s loop /opt/loop; touch /opt/file; rm -r /usr/local/lib; mkdir /opt/plain; sync");
    await machine.driver.snapshots.capture(source, { id: "s", memory: false }, never);
    const from = { snapshot: "s", memory: false };
    const create = (path: string) => failure(machine.driver.create({ ...machine.spec(), from, volumes: [{ ...DATA, path }] }, never));
    for (const path of ["/bin", "/bin/x", "/etc/passwd", "/etc/passwd/x", "/opt/link", "/opt/link/x", "/opt/loop/x", "/opt/file"]) {
      expect([path, await create(path)]).toEqual([path, "failed_precondition bad_mount_point"]);
    }
    expect((await machine.driver.list()).map(({ sandboxId }) => sandboxId)).toEqual([source.sandboxId]);
    for (const path of ["/opt/plain", "/usr/local/lib/x"]) expect([path, await create(path)]).toEqual([path, "resolved"]);
  });

  test("a sandbox whose volume is damaged while it is paused says so, and resumes after a repair", async () => {
    await machine.driver.volumes.create("v", LIMIT);
    const spec = { ...machine.spec(), volumes: [DATA] };
    const handle = await machine.boot(spec);
    await machine.driver.pause(handle, { memory: true }, never);
    const marker = Bun.file(`${machine.dataDir}/pool/volumes/v/volume.json`);
    const whole = await marker.text();
    await Bun.write(marker, "damaged");
    const resume = () => machine.driver.resume({ ...spec, incarnation: 2 }, { memory: true }, never);
    expect(await failure(resume())).toBe("data_loss bad_volume");
    await Bun.write(marker, whole);
    await resume();
  });
});
