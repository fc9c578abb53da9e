const X64 = {
  socket: 41,
  reboot: 169,
  init_module: 175,
  kexec_load: 246,
  add_key: 248,
  request_key: 249,
  keyctl: 250,
  perf_event_open: 298,
  open_by_handle_at: 304,
  finit_module: 313,
  bpf: 321,
  userfaultfd: 323,
  io_uring_setup: 425,
  open_tree: 428,
  fsopen: 430,
};
const ARM64: typeof X64 = {
  ...X64,
  socket: 198,
  reboot: 142,
  init_module: 105,
  kexec_load: 104,
  add_key: 217,
  request_key: 218,
  keyctl: 219,
  perf_event_open: 241,
  open_by_handle_at: 265,
  finit_module: 273,
  bpf: 280,
  userfaultfd: 282,
};
/** Numbers of system calls that a hostile program would try, except those that the driver uses too (`sys/numbers.ts`). */
export const NUMBERS = process.arch === "arm64" ? ARM64 : X64;
