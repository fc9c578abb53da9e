import type { GuestImage } from "./image.ts";

export interface BootResult {
  readonly console: string;
  /** Exit code of `/guest-job`; undefined when the guest did not get so far within its time. */
  readonly exitCode: number | undefined;
}

const ENDED = /^guest-job exit (\d+)\s*$/m;

/** Boots `disk` under emulation and waits for its end; the guest is stopped after `limitMs`. */
export async function boot(
  image: GuestImage,
  disk: string,
  limitMs: number,
  onText: (text: string) => void = () => {},
): Promise<BootResult> {
  const qemu = Bun.spawn(
    [
      // Other tests run meanwhile, and more than two: the guest has a little less than they, and ends before them.
      ...["nice", "-n", "5", "qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "3G"],
      ...["-nodefaults", "-no-user-config", "-nographic", "-no-reboot", "-serial", "stdio"],
      ...["-kernel", image.kernel, "-initrd", image.initrd],
      ...["-append", "console=ttyS0 quiet panic=-1 systemd.unified_cgroup_hierarchy=1"],
      ...["-drive", `file=${disk},if=virtio,format=raw,cache=unsafe`],
    ],
    { stdin: "ignore", stdout: "pipe", stderr: "inherit" },
  );
  const timer = setTimeout(() => qemu.kill("SIGKILL"), limitMs);
  let console = "";
  try {
    const decoder = new TextDecoder();
    for await (const chunk of qemu.stdout) {
      const text = decoder.decode(chunk, { stream: true });
      console += text;
      onText(text);
    }
    await qemu.exited;
  } finally {
    clearTimeout(timer);
    qemu.kill("SIGKILL");
  }
  const ended = ENDED.exec(console.replaceAll("\r", ""));
  return { console, exitCode: ended ? Number(ended[1]) : undefined };
}
