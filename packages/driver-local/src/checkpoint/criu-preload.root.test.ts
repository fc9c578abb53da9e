import { describe, expect, test } from "bun:test";
import { withPreload, workingCriu } from "../criu/criu.ts";
import { criuPreloadFile } from "../setup/fork-server.ts";
import { runCommand } from "../sys/run.ts";
import { useTestMachine } from "../testing/use-test-machine.ts";

/** Types of messages: questions about tracked connections and about expected ones, and answers. */
const [CONNECTIONS, EXPECTED, NLMSG_ERROR, NLMSG_DONE] = [0x101, 0x201, 2, 3];
const [REQUEST, DUMP] = [1, 0x300];
/** A way of sending that sockets of netlink do not have, and the error for it. */
const [MSG_OOB, EOPNOTSUPP] = [1, 95];
/** The number by which CRIU knows its answers. */
const SEQUENCE = 24_680;
/** Sends a question as CRIU does; prints type, sequence and first word of the answer, or the number of the error. */
const ASK = `
import socket, struct, sys
kind, flags, how = map(int, sys.argv[1:])
asked = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12) # NETLINK_NETFILTER
try: asked.sendmsg([struct.pack("=IHHIIBBH", 20, kind, flags, ${SEQUENCE}, 0, 0, 0, 0)], [], how, (0, 0))
except OSError as error: sys.exit(print(error.errno))
answer = asked.recv(65536)
print(*struct.unpack_from("=H", answer, 4), *struct.unpack_from("=I", answer, 8), *struct.unpack_from("=i", answer, 16))
`;

describe("the library that a dump loads before those of CRIU", () => {
  const machine = useTestMachine();
  const library = () => criuPreloadFile(machine.dataDir);

  async function ask(type: number, flags: number, how = 0): Promise<number[]> {
    const said = await runCommand(["env", `LD_PRELOAD=${library()}`, "python3", "-c", ASK, ...[type, flags, how].map(String)]);
    return said.trim().split(" ").map(Number);
  }

  test("CRIU's question about tracked connections is confirmed at once", async () => {
    expect(await ask(CONNECTIONS, REQUEST | DUMP)).toEqual([NLMSG_ERROR, SEQUENCE, 0]);
  });

  test("other questions reach the kernel as they are", async () => {
    expect(await ask(EXPECTED, REQUEST | DUMP)).toEqual([NLMSG_DONE, SEQUENCE, 0]);
    // A question about one connection, which it does not name: the kernel refuses it.
    const [type, sequence, error = 0] = await ask(CONNECTIONS, REQUEST);
    expect([type, sequence, error < 0]).toEqual([NLMSG_ERROR, SEQUENCE, true]);
  });

  test("a failure to send is reported", async () => {
    expect(await ask(CONNECTIONS, REQUEST | DUMP, MSG_OOB)).toEqual([EOPNOTSUPP]);
  });

  test("a private CRIU calls the library", async () => {
    const criu = workingCriu(machine.dataDir);
    if (!criu || criu.args.length === 0) return; // The machine's own CRIU passed its test, so there is no private one.
    const { file, args } = withPreload(criu, library());
    const env = { LD_DEBUG: "bindings", LD_BIND_NOW: "1" };
    const { stderr, exitCode } = Bun.spawnSync([file, ...args, "--version"], { env, stdin: "ignore", stdout: "ignore", stderr: "pipe" });
    expect(exitCode).toBe(0);
    expect(stderr.toString()).toMatch(/binding file \S*\/criu \S* to \S*\/criu-preload\.so \S* normal symbol `sendmsg'/);
  });
});
