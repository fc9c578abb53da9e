/** Hidden: they describe the machine, not the sandbox. */
export const MASKED_PATHS = [
  "/proc/acpi",
  "/proc/asound",
  // The machine's kernel parameters, and parameters for its programs.
  "/proc/cmdline",
  // Disks, partitions and file systems of the machine.
  "/proc/diskstats",
  "/proc/fs",
  "/proc/interrupts",
  "/proc/kcore",
  "/proc/keys",
  "/proc/key-users",
  "/proc/latency_stats",
  "/proc/mdstat",
  "/proc/partitions",
  // How long the machine's tasks waited: it shows the load of other sandboxes.
  "/proc/pressure",
  "/proc/sched_debug",
  "/proc/scsi",
  // Where the machine's swap is.
  "/proc/swaps",
  "/proc/timer_list",
  "/proc/timer_stats",
  // Block devices and file systems of the machine, with the disk accounts of every sandbox.
  "/sys/block",
  "/sys/devices/virtual/block",
  "/sys/devices/virtual/powercap",
  "/sys/firmware",
  "/sys/fs/btrfs",
] as const;

export const READONLY_PATHS = ["/proc/bus", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"] as const;

/** No device but the few that every program needs (the runtime makes those). Applied where the runtime can; see docs/decisions.md, Devices. */
export const DEVICE_RULES = [{ allow: false, access: "rwm" }] as const;
