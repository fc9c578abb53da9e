import type { GuestImage } from "./image.ts";

export interface BootResult {
  readonly console: string;
  /** Exit code of the job; undefined when the guest did not get so far within its time. */
  readonly exitCode: number | undefined;
  /** Time of the CPU that the emulator used. */
  readonly cpuMs: number;
}

const ENDED = /^job exit (\d+)\s*$/m;

/**
 * One processor, since several wait for each other and make their memory accesses atomic (with two, a run takes a third more CPU time). The features
 * left out are slow to emulate: REP MOVSB moves single bytes, page tables have a fifth level, and the kernel's accesses to a program's memory begin
 * and end with instructions that end a translated block.
 */
const PROCESSOR = ["-accel", "tcg,thread=single", "-smp", "1", "-cpu", "max,-erms,-la57,-pku,-smap,-smep,-umip"] as const;

/**
 * Translated code is found by its address: with each program at the same addresses in all its processes it is translated once, and the start of a
 * process takes a quarter of the CPU time. The emulated counter is steady; if the kernel is not told so, it reads a slow timer. No test is about what
 * these settings turn off. Not cheaper: Bun without its JIT compilers or without the optimizing ones.
 */
const KERNEL = "norandmaps nokaslr mitigations=off tsc=reliable clocksource=tsc";

export interface BootOptions {
  /** The guest is stopped after this time. */
  readonly limitMs: number;
  /** Stops the guest. */
  readonly signal?: AbortSignal;
  readonly onText?: (text: string) => void;
}

/** Boots `disk` under emulation and waits for its end. */
export async function boot(image: GuestImage, disk: string, options: BootOptions): Promise<BootResult> {
  const stops = [AbortSignal.timeout(options.limitMs), ...(options.signal ? [options.signal] : [])];
  const qemu = Bun.spawn(
    [
      // Other tests run meanwhile, and more than two: the guest has a little less than they, and ends before them.
      ...["nice", "-n", "5", "qemu-system-x86_64", ...PROCESSOR, "-m", "3G"],
      ...["-nodefaults", "-no-user-config", "-nographic", "-no-reboot", "-serial", "stdio"],
      ...["-kernel", image.kernel, "-initrd", image.initrd],
      ...["-append", `console=ttyS0 quiet panic=-1 systemd.unified_cgroup_hierarchy=1 ${KERNEL}`],
      // What is written to the system is kept in a temporary file and forgotten.
      ...["-drive", `file=${image.system},if=virtio,format=raw,cache=unsafe,snapshot=on`],
      ...["-drive", `file=${disk},if=virtio,format=raw,cache=unsafe`],
    ],
    { stdin: "ignore", stdout: "pipe", stderr: "inherit", killSignal: "SIGKILL", signal: AbortSignal.any(stops) },
  );
  let console = "";
  try {
    const decoder = new TextDecoder();
    for await (const chunk of qemu.stdout) {
      const text = decoder.decode(chunk, { stream: true });
      console += text;
      options.onText?.(text);
    }
    await qemu.exited;
  } finally {
    qemu.kill("SIGKILL");
  }
  const ended = ENDED.exec(console.replaceAll("\r", ""));
  const cpuMs = Number(qemu.resourceUsage()?.cpuTime.total ?? 0) / 1000;
  return { console, exitCode: ended ? Number(ended[1]) : undefined, cpuMs };
}
