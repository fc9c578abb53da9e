import type { GuestImage } from "./image.ts";

export interface BootResult {
  readonly console: string;
  /** Exit code of the job; undefined if the job did not end before the time limit. */
  readonly exitCode: number | undefined;
  /** CPU time of the emulator. */
  readonly cpuMs: number;
}

const ENDED = /^job exit (\d+)\s*$/m;

/**
 * One processor: several would wait for each other and need atomic memory accesses (with two, a run takes a third more CPU time). The disabled
 * features are slow under emulation. For example, with ERMS the kernel copies with REP MOVSB, byte by byte; LA57 adds a fifth level to the page
 * tables; with SMAP each access of the kernel to a program's memory begins and ends with an instruction that ends a translated block.
 */
const PROCESSOR = ["-accel", "tcg,thread=single", "-smp", "1", "-cpu", "max,-erms,-la57,-pku,-smap,-smep,-umip"] as const;

/**
 * The emulator finds translated code by its address. Without address randomization a program has the same addresses in all its processes, so it is
 * translated once, and the start of a process takes a quarter of the CPU time. The emulated time stamp counter is reliable; without `tsc=reliable` the
 * kernel reads a slow timer instead. No test depends on what these settings turn off. Bun without its JIT compilers, or without the optimizing ones,
 * was not faster.
 */
const KERNEL = "norandmaps nokaslr mitigations=off tsc=reliable clocksource=tsc";

export interface BootOptions {
  /** The guest is stopped after this time. */
  readonly limitMs: number;
  /** Stops the guest. */
  readonly signal?: AbortSignal;
  readonly onText?: (text: string) => void;
}

/** Boots a guest with `disk` under emulation and waits for its end. */
export async function boot(image: GuestImage, disk: string, options: BootOptions): Promise<BootResult> {
  const stops = [AbortSignal.timeout(options.limitMs), ...(options.signal ? [options.signal] : [])];
  const qemu = Bun.spawn(
    [
      // At the priority of the other tests: the time limits of tests hold in the guest too, which is slow already.
      ...["qemu-system-x86_64", ...PROCESSOR, "-m", "3G"],
      ...["-nodefaults", "-no-user-config", "-nographic", "-no-reboot", "-serial", "stdio"],
      ...["-kernel", image.kernel, "-initrd", image.initrd],
      ...["-append", `console=ttyS0 quiet panic=-1 systemd.unified_cgroup_hierarchy=1 ${KERNEL}`],
      // Writes to the system disk go to a temporary file, which the emulator removes at its end.
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
