/**
 * The system calls that a sandbox may make. Written as lists of what is allowed, so that new calls are refused. What confines a sandbox is its user
 * namespace; the lists also refuse calls with a history of escapes from one, and calls that use up what the whole machine has once.
 *
 * Numbers are those of <linux/*.h>, the same on every processor we run on.
 */

export const EPERM = 1;
const E2BIG = 7;
const EINVAL = 22;
export const ENOSYS = 38;
const EIO = 5;
const ENOSPC = 28;
const ENOPROTOOPT = 92;
const EPROTONOSUPPORT = 93;
const EAFNOSUPPORT = 97;

/** The call is let through, or it returns this errno at once; `errno 0` does nothing and says that it was done. */
export type Verdict = "allow" | { readonly errno: number };

/** An argument's lower 32 bits, all that the kernel looks at in these calls, masked: one of `values`. */
export interface ArgumentTest {
  readonly index: number;
  readonly mask?: number;
  readonly values: readonly number[];
}

/** Holds when every test does. */
export interface Clause {
  readonly verdict: Verdict;
  readonly tests: readonly ArgumentTest[];
}

/** All clauses that hold for the same arguments have one verdict; `otherwise`: when none does. */
export interface ConditionalCall {
  readonly clauses: readonly Clause[];
  readonly otherwise: number;
}

const allow = (...tests: ArgumentTest[]): Clause => ({ verdict: "allow", tests });
const refuse = (errno: number, ...tests: ArgumentTest[]): Clause => ({ verdict: { errno }, tests });
const is = (index: number, ...values: number[]): ArgumentTest => ({ index, values });

const AF = { UNIX: 1, INET: 2, INET6: 10, NETLINK: 16, PACKET: 17 } as const;
/** KEY, RDS, CAN, TIPC, BLUETOOTH, ALG, VSOCK, XDP: those that programs (and attackers) ask for. Any other would load a module too. */
const MODULE_FAMILIES = [15, 21, 29, 30, 31, 38, 40, 44];
const SOCK = { STREAM: 1, DGRAM: 2, RAW: 3 } as const;
/** SOCK_NONBLOCK and SOCK_CLOEXEC stand above it. */
const SOCK_TYPE = 0xf;
const socketType = (...values: number[]): ArgumentTest => ({ index: 1, mask: SOCK_TYPE, values });
/** By default, ICMP, TCP, UDP, ICMPv6. Others (SCTP, DCCP, MPTCP, L2TP, UDP-Lite …) would load modules. */
const INET_PROTOCOLS = [0, 1, 6, 17, 58];
const INET_MODULES = [33, 115, 132, 136, 262];
/**
 * ROUTE, SOCK_DIAG, KOBJECT_UEVENT, GENERIC: to look at links and sockets. What waits in a netlink socket is charged to no cgroup; with USERSOCK
 * any program may fill one. A program that finds no AUDIT (sudo, PAM) goes on without it.
 */
const NETLINK_PROTOCOLS = [0, 4, 15, 16];
/** USERSOCK, XFRM, SELINUX, AUDIT, FIB_LOOKUP, CONNECTOR, NETFILTER, RDMA, CRYPTO. */
const NETLINK_REFUSED = [2, 6, 7, 9, 10, 11, 12, 20, 21];

const socket: ConditionalCall = {
  clauses: [
    allow(is(0, AF.UNIX, AF.PACKET)),
    allow(is(0, AF.INET, AF.INET6), socketType(SOCK.STREAM, SOCK.DGRAM), is(2, ...INET_PROTOCOLS)),
    // Needs CAP_NET_RAW, which the sandbox's root has for ping.
    allow(is(0, AF.INET, AF.INET6), socketType(SOCK.RAW)),
    allow(is(0, AF.NETLINK), is(2, ...NETLINK_PROTOCOLS)),
    refuse(EPROTONOSUPPORT, is(0, AF.NETLINK), is(2, ...NETLINK_REFUSED)),
    refuse(EPROTONOSUPPORT, is(0, AF.INET, AF.INET6), socketType(SOCK.STREAM, SOCK.DGRAM), is(2, ...INET_MODULES)),
    refuse(EAFNOSUPPORT, is(0, ...MODULE_FAMILIES)),
  ],
  otherwise: EAFNOSUPPORT,
};

const SOL = { IP: 0, SOCKET: 1, TCP: 6, UDP: 17, IPV6: 41, ICMPV6: 58, UDPLITE: 136, RAW: 255, PACKET: 263, NETLINK: 270, MPTCP: 284 };
/** Buffers keep the default size (`net.core.[rw]mem_default`): on cgroup v1, and for netlink and packets everywhere, they are charged to no cgroup. */
const BUFFER_SIZES = [7, 8];
const FORCED_BUFFER_SIZES = [32, 33];
/** Filters of the sandbox's own, as for `seccomp`: the machine has one budget for compiled ones, without which no sandbox can be made. */
const SOCKET_FILTERS = [26, 50, 51, 52];
/** REUSEADDR, DONTROUTE, BROADCAST, KEEPALIVE … PASSCRED, timeouts, BINDTODEVICE, timestamps, peeking, busy polling, pacing, ZEROCOPY … */
const SOCKET_OPTIONS = [
  2, 5, 6, 9, 10, 11, 12, 13, 15, 16, 18, 19, 20, 21, 25, 27, 29, 34, 35, 37, 40, 42, 44, 46, 47, 60, 61, 63, 64, 65, 66, 67, 69,
];
/** NODELAY to QUICKACK, CONGESTION, THIN_…, USER_TIMEOUT, FASTOPEN …, INQ. Not among them: ULP, which is TLS inside the kernel; REPAIR, MD5. */
const TCP_OPTIONS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 16, 17, 18, 23, 24, 25, 30, 34, 36];
/** Both ends are in it. */
const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i);
/**
 * IP_TOS to OPTIONS, RECVOPTS to FREEBIND, PASSSEC to RECVERR_RFC4884, MULTICAST_IF, TTL and LOOP, MULTICAST_ALL to LOCAL_PORT_RANGE. Not among
 * them: memberships of groups (35 to 48) and multicast routes (200 to 212). Each takes the network lock of the whole machine (`rtnl_lock`), for a
 * time that grows with the number of memberships, and a program can join and leave without end, so that no limit of their number bounds it.
 */
const IP_OPTIONS = [...range(1, 4), ...range(6, 15), ...range(18, 26), 32, 33, 34, 49, 50, 51];
/** ADD_MEMBERSHIP to MCAST_MSFILTER. */
const IP_MEMBERSHIPS = range(35, 48);
/** Not among them, beside memberships: ADDRFORM, which takes the same lock, and ROUTER_ALERT, one list of the whole machine. */
const IPV6_OPTIONS = [...range(2, 11), ...range(16, 19), 23, 24, 25, 26, 29, 31, 33, 36, ...range(49, 62), 66, 67, 70, ...range(72, 78)];
/** ADD_MEMBERSHIP, DROP_MEMBERSHIP, JOIN_ANYCAST, LEAVE_ANYCAST, MCAST_JOIN_GROUP to MCAST_MSFILTER. */
const IPV6_MEMBERSHIPS = [20, 21, 27, 28, ...range(42, 48)];
/** IPV6_FLOWLABEL_MGR leases flow labels, of which the whole machine has 4,096; reading its own label takes none. */
const FLOW_LABELS = 32;
/** Can be read alone. */
const IP_PROTOCOL = 52;
/** The address that a redirected connection was for, of IP and IPv6. */
const ORIGINAL_ADDRESS = 80;
/** Auxiliary data, original device. */
const PACKET_OPTIONS = [8, 9];
/** They take the network lock as memberships of IP do. */
const PACKET_MEMBERSHIPS = [1, 2];
/** RX_RING, VERSION, TX_RING, FANOUT, TX_HAS_OFF: rings are memory that is charged to no cgroup. */
const PACKET_RINGS = [5, 10, 13, 18, 19];
/** Asks whether there are rings. */
const PACKET_HDRLEN = 11;
const PACKET_STATISTICS = 6;

const setsockopt: ConditionalCall = {
  clauses: [
    allow(is(1, SOL.UDP, SOL.ICMPV6, SOL.RAW, SOL.NETLINK)),
    allow(is(1, SOL.IP), is(2, ...IP_OPTIONS)),
    allow(is(1, SOL.IPV6), is(2, ...IPV6_OPTIONS)),
    allow(is(1, SOL.TCP), is(2, ...TCP_OPTIONS)),
    allow(is(1, SOL.PACKET), is(2, ...PACKET_OPTIONS)),
    allow(is(1, SOL.SOCKET), is(2, ...SOCKET_OPTIONS)),
    // Reported as done: the kernel, too, accepts any size and sets another.
    refuse(0, is(1, SOL.SOCKET), is(2, ...BUFFER_SIZES)),
    refuse(EPERM, is(1, SOL.SOCKET), is(2, ...FORCED_BUFFER_SIZES)),
    refuse(ENOPROTOOPT, is(1, SOL.SOCKET), is(2, ...SOCKET_FILTERS)),
    // As by a kernel without multicast: programs that look for others by it go on without.
    refuse(ENOPROTOOPT, is(1, SOL.IP), is(2, ...IP_MEMBERSHIPS)),
    refuse(ENOPROTOOPT, is(1, SOL.IPV6), is(2, ...IPV6_MEMBERSHIPS)),
    refuse(ENOPROTOOPT, is(1, SOL.PACKET), is(2, ...PACKET_MEMBERSHIPS)),
    // Programs then assume a kernel without rings, and read packet by packet.
    refuse(ENOPROTOOPT, is(1, SOL.PACKET), is(2, ...PACKET_RINGS)),
  ],
  otherwise: ENOPROTOOPT,
};

const getsockopt: ConditionalCall = {
  clauses: [
    allow(is(1, SOL.SOCKET, SOL.TCP, SOL.UDP, SOL.ICMPV6, SOL.UDPLITE, SOL.RAW, SOL.NETLINK, SOL.MPTCP)),
    allow(is(1, SOL.IP), is(2, ...IP_OPTIONS, IP_PROTOCOL, ORIGINAL_ADDRESS)),
    allow(is(1, SOL.IPV6), is(2, ...IPV6_OPTIONS, FLOW_LABELS, ORIGINAL_ADDRESS)),
    allow(is(1, SOL.PACKET), is(2, ...PACKET_OPTIONS, PACKET_STATISTICS)),
    refuse(ENOPROTOOPT, is(1, SOL.PACKET), is(2, PACKET_HDRLEN)),
  ],
  otherwise: ENOPROTOOPT,
};

/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. `clone3` hides its flags: `user.max_user_namespaces` closes that one. */
const NAMESPACE_FLAGS = 0x7e02_0000;
/** The native one, PER_LINUX32, UNAME26, both, ADDR_NO_RANDOMIZE (debuggers), and the query of the current one. */
const PERSONALITIES = [0, 0x8, 0x2_0000, 0x2_0008, 0x4_0000, 0xffff_ffff];
/**
 * Signal of the parent's death, dumpable, capabilities, name, seccomp's state, securebits, timer slack, memory layout, subreaper, no new
 * privileges, huge pages, vector lengths, speculation, pointers with tags and keys, write-xor-execute, merging of memory, shadow stacks.
 */
const PRCTLS = [
  1, 2, 3, 4, 7, 8, 15, 16, 21, 23, 24, 27, 28, 29, 30, 35, 36, 37, 38, 39, 40, 41, 42, 47, 50, 51, 52, 53, 54, 55, 56, 60, 61, 63, 64, 65,
  66, 67, 68, 74, 75, 76,
];
/** PR_SET_PTRACER, PR_SET_VMA. */
const NAMED_PRCTLS = [0x5961_6d61, 0x5356_4d41];
/**
 * Flags, duplicates, locks of a process, owners and signals; leases, notifications, queries, locks to cancel, pipes, seals, hints of use. The most
 * frequent first.
 */
const FCNTLS = [
  3, 4, 1, 2, 0, 1030, 6, 7, 5, 8, 9, 10, 11, 15, 16, 17, 1024, 1025, 1026, 1027, 1028, 1029, 1031, 1032, 1033, 1034, 1035, 1036, 1037,
  1038,
];
/** GETLK, SETLK and SETLKW of an open file: locks are charged to no cgroup, and these name no process, so their owner cannot be found. */
const OPEN_FILE_LOCKS = [36, 37, 38];
const PTRACE = { POKEUSER: 6, SETREGSET: 0x4205 };
/**
 * TRACEME, PEEK…, POKE…, CONT to SINGLESTEP, registers, ATTACH, DETACH, SYSCALL, thread areas, ARCH_PRCTL, SYSEMU, SINGLEBLOCK or tags of memory,
 * SETOPTIONS to SET_SYSCALL_INFO.
 */
const PTRACES = [...range(0, 5), ...range(7, 9), ...range(12, 19), 21, ...range(24, 26), ...range(30, 34), ...range(0x4200, 0x4212)].filter(
  (request) => request !== PTRACE.SETREGSET,
);
/** struct user of x86-64: its registers; and the debug registers, each of which makes an event of the kernel's profiler. */
const USER_REGISTERS = range(0, 26).map((at) => 8 * at);
const DEBUG_REGISTERS = range(0, 7).map((at) => 848 + 8 * at);
/** NT_PRSTATUS, NT_FPREGSET, NT_X86_XSTATE, those of arm64 from NT_ARM_TLS, NT_ARM_SYSTEM_CALL to NT_ARM_POE. */
const REGISTER_SETS = [1, 2, 0x202, 0x400, 0x401, ...range(0x404, 0x40f)];
/** NT_ARM_HW_BREAK, NT_ARM_HW_WATCH. */
const BREAKPOINT_SETS = [0x402, 0x403];
/** Strict mode, and queries of what the kernel supports. Not among them: a filter. */
const SECCOMP_OPERATIONS = [0, 2, 3];

/**
 * Access lists (POSIX ACLs) are kept in memory with their file, and that memory is charged to no cgroup: a directory in memory (tmpfs, memfd) may
 * hold 128 KiB of them. The name of the attribute cannot be read here, but its size can: a list of `n` entries is `4 + 8n` bytes, and no other
 * size makes one. So values of these sizes are small (128 bytes of memory at most), and other attributes may have any other size.
 */
const ACL_ENTRIES = 13;
const ACL_HEAD = 4;
const ACL_ENTRY = 8;
export const LARGEST_ACL_BYTES = ACL_HEAD + ACL_ENTRY * ACL_ENTRIES;
const ofAcl = (bits: number, values: readonly number[]): ArgumentTest => ({ index: 3, mask: (ACL_ENTRY - 1) | bits, values });
/** Sizes from 128 on have one of these bits. The kernel itself refuses more than 64 KiB. */
const LARGE_SIZES = Array.from({ length: 10 }, (_, i) => 0x80 << i);

const setxattr: ConditionalCall = {
  clauses: [
    allow(
      ofAcl(
        0,
        Array.from({ length: ACL_ENTRY }, (_, i) => i).filter((rest) => rest !== ACL_HEAD),
      ),
    ),
    allow(is(3, ...Array.from({ length: ACL_ENTRIES + 1 }, (_, entries) => ACL_HEAD + ACL_ENTRY * entries))),
    refuse(E2BIG, is(3, LARGEST_ACL_BYTES + ACL_ENTRY, LARGEST_ACL_BYTES + 2 * ACL_ENTRY)),
    ...LARGE_SIZES.map((bit) => refuse(E2BIG, ofAcl(bit, [ACL_HEAD | bit]))),
  ],
  // What the kernel answers to values that are too large.
  otherwise: E2BIG,
};

/** Numbers of btrfs's own ioctls are of this type (bits 8 to 15). */
const BTRFS_TYPE = 0x9400;
const TYPE_BITS = [15, 14, 13, 12, 11, 10, 9, 8];
/** FICLONE, FICLONERANGE, FIDEDUPERANGE: they have btrfs's type, and only share data of files. */
const REFLINKS = [0x4004_9409, 0x4020_940d, 0xc018_9436];
const ENOTTY = 25;

/**
 * All ioctls but btrfs's own, which a volume would answer: any user can make subvolumes, which are under no limit of the volume's, and set one read-only. The
 * clauses are the numbers whose type differs from btrfs's first in this bit.
 */
const ioctl: ConditionalCall = {
  clauses: [
    ...TYPE_BITS.map((bit) => {
      const mask = 0xff00 & ~((1 << bit) - 1);
      return allow({ index: 1, mask, values: [(BTRFS_TYPE & mask) ^ (1 << bit)] });
    }),
    allow(is(1, ...REFLINKS)),
  ],
  otherwise: ENOTTY,
};

/**
 * What waits for files holds up to 140 bytes for each until one is ready, charged to no cgroup, and every thread may wait. With the number of threads
 * (`mostProcesses` of the server) this bounds them to an eighth of the sandbox's memory. A program that waits for more files uses epoll.
 */
const WAITS = 1_024;
/** Numbers above it have one of the bits above its own, or its own with one below. */
const MORE_WAITS = [
  ...Array.from({ length: 21 }, (_, i) => (2 * WAITS * 2 ** i) >>> 0),
  ...Array.from({ length: 10 }, (_, i) => WAITS | (1 << i)),
];
const atMostWaits = (index: number): ConditionalCall => ({
  clauses: [
    allow({ index, mask: ~(WAITS - 1) >>> 0, values: [0] }),
    allow(is(index, WAITS)),
    ...MORE_WAITS.map((bits) => refuse(EINVAL, { index, mask: bits, values: [bits] })),
  ],
  // What the kernel answers to more files than the process may open.
  otherwise: EINVAL,
});

export const CONDITIONS: Readonly<Record<string, ConditionalCall>> = {
  socket,
  socketpair: { clauses: [allow(is(0, AF.UNIX))], otherwise: EAFNOSUPPORT },
  setsockopt,
  getsockopt,
  clone: { clauses: [allow({ index: 0, mask: NAMESPACE_FLAGS, values: [0] })], otherwise: EPERM },
  personality: { clauses: [allow(is(0, ...PERSONALITIES))], otherwise: EPERM },
  // EINVAL is what a kernel without filters says, and what programs that can do without one look for.
  prctl: { clauses: [allow(is(0, ...PRCTLS, ...NAMED_PRCTLS))], otherwise: EINVAL },
  // EINVAL is what a kernel without them says, and what programs that can take the others look for.
  fcntl: { clauses: [allow(is(1, ...FCNTLS)), refuse(EINVAL, is(1, ...OPEN_FILE_LOCKS))], otherwise: EINVAL },
  setxattr,
  lsetxattr: setxattr,
  fsetxattr: setxattr,
  ioctl,
  poll: atMostWaits(1),
  ppoll: atMostWaits(1),
  select: atMostWaits(0),
  pselect6: atMostWaits(0),
  // ENOSPC is what the kernel says when a processor has no breakpoint left. Each makes an event of its profiler.
  ptrace: {
    clauses: [
      allow(is(0, ...PTRACES)),
      allow(is(0, PTRACE.POKEUSER), is(2, ...USER_REGISTERS)),
      refuse(ENOSPC, is(0, PTRACE.POKEUSER), is(2, ...DEBUG_REGISTERS)),
      allow(is(0, PTRACE.SETREGSET), is(2, ...REGISTER_SETS)),
      refuse(ENOSPC, is(0, PTRACE.SETREGSET), is(2, ...BREAKPOINT_SETS)),
    ],
    otherwise: EIO,
  },
  // Reported as done: a thread that changes processors makes the kernel move it at the highest priority, in time that is charged to no cgroup.
  sched_setaffinity: { clauses: [refuse(0)], otherwise: 0 },
  seccomp: { clauses: [allow(is(0, ...SECCOMP_OPERATIONS))], otherwise: EINVAL },
};
