import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { buildLaunch } from "./support/launch.ts";

interface Launched {
  /** Lines on descriptor 3. */
  readonly report: readonly string[];
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

/** Runs launch with its report on descriptor 3, through a shell that keeps the report apart from the rest. */
async function launch(...args: string[]): Promise<Launched> {
  const report = join("/tmp", `boxyard-launch-${crypto.randomUUID()}`);
  const child = Bun.spawn(["/bin/sh", "-c", 'report=$1; shift; exec "$@" 3> "$report"', "sh", report, buildLaunch(), ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: "/usr/bin:/bin", KEPT: "yes" },
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const lines = readFileSync(report, "utf8").split("\n").filter(Boolean);
  await Bun.file(report).delete();
  return { report: lines, stdout, stderr, exitCode };
}

const statusOf = (result: Launched) => Number(result.report[1]);

describe("launch", () => {
  test("reports the pid, then the raw wait status", async () => {
    const exited = await launch("-", "0", "0", "-", "/", "sh", "-c", "echo $$; exit 7");
    expect(exited.report[0]).toBe(exited.stdout.trim());
    expect([statusOf(exited), exited.exitCode]).toEqual([7 << 8, 0]);
    expect(statusOf(await launch("-", "0", "0", "-", "/", "sh", "-c", "kill -9 $$"))).toBe(9);
    expect(statusOf(await launch("-", "0", "0", "-", "/", "sh", "-c", "kill -15 $$"))).toBe(15);
  });

  test("sets user, group and the groups of the list, or none", async () => {
    const ids = await launch("-", "1234", "2345", "2345,50,27", "/", "sh", "-c", "id -u; id -g; id -G; grep ^Uid: /proc/self/status");
    expect(ids.stdout).toBe("1234\n2345\n2345 27 50\nUid:\t1234\t1234\t1234\t1234\n");
    expect((await launch("-", "0", "5", "-", "/", "id", "-G")).stdout).toBe("5\n");
  });

  test("a program has no descriptor above 2, the environment as it was, and the directory asked for", async () => {
    const result = await launch("-", "0", "0", "-", "/usr", "sh", "-c", "ls /proc/self/fd; pwd; echo $KEPT");
    expect(result.stdout).toBe("0\n1\n2\n3\n/usr\nyes\n");
  });

  test("what can't be executed is 127 or 126, with words on standard error", async () => {
    const missing = await launch("-", "0", "0", "-", "/", "nothing-here");
    expect([statusOf(missing), missing.stderr]).toEqual([127 << 8, "nothing-here: command not found\n"]);
    const absolute = await launch("-", "0", "0", "-", "/", "/no/such");
    expect([statusOf(absolute), absolute.stderr]).toEqual([127 << 8, "/no/such: command not found\n"]);
    expect(statusOf(await launch("-", "0", "0", "-", "/", "/etc/passwd"))).toBe(126 << 8);
    expect(statusOf(await launch("-", "0", "0", "-", "/", "/tmp"))).toBe(126 << 8);
    const script = `/tmp/boxyard-launch-${crypto.randomUUID()}`;
    await Bun.write(script, "#!/no/such/interpreter\n");
    Bun.spawnSync(["chmod", "755", script]);
    const orphan = await launch("-", "0", "0", "-", "/", script);
    expect([statusOf(orphan), orphan.stderr]).toEqual([127 << 8, `${script}: its interpreter is missing in this sandbox\n`]);
    await Bun.file(script).delete();
  });

  test("what it can't do is reported instead of a pid, with the errno", async () => {
    expect((await launch("/no/such/cgroup", "0", "0", "-", "/", "true")).report).toEqual(["!cgroup 2"]);
    expect((await launch("/etc", "0", "0", "-", "/", "true")).report).toEqual(["!clone 9"]);
    expect((await launch("-", "0", "0", "-", "/no/such", "true")).report).toEqual(["!cwd 2"]);
    expect((await launch("-", "1234", "1234", "-", "/root", "true")).report).toEqual(["!cwd 13"]);
    expect((await launch("-t", "-", "0", "0", "-", "/", "true")).report).toEqual(["!tty 25"]);
  });

  test("an order that makes no sense is refused before anything is done", async () => {
    const groups = Array.from({ length: 1025 }, (_, i) => i).join(",");
    const orders = [
      [],
      ["-", "0", "0", "-", "/"],
      ["-", "x", "0", "-", "/", "true"],
      ["-", "-1", "0", "-", "/", "true"],
      ["-", "0", "4294967295", "-", "/", "true"],
      ["-", "0", "0", "1,", "/", "true"],
      ["-", "0", "0", "1 2", "/", "true"],
      ["-", "0", "0", "", "/", "true"],
      ["-", "0", "0", groups, "/", "true"],
      ["-", "0", "99999999999999999999", "-", "/", "true"],
    ];
    for (const order of orders) {
      const result = await launch(...order);
      expect([order.length, result.exitCode, result.report]).toEqual([order.length, 125, []]);
    }
  });
});
