import { expect, test } from "bun:test";
import { endStatusOf, looksKilled } from "./end-status.ts";

test("each end has the text of the contract", () => {
  const exit = (code: number) => code << 8;
  expect(endStatusOf(exit(0))).toEqual({ exitCode: 0, exited: true, status: "exit status 0" });
  expect(endStatusOf(exit(0), "ignored")).toEqual({ exitCode: 0, exited: true, status: "exit status 0" });
  expect(endStatusOf(exit(255))).toEqual({ exitCode: 255, exited: true, status: "exit status 255", error: "exit status 255" });
  expect(endStatusOf(9)).toEqual({ exitCode: -1, exited: false, status: "signal: killed", error: "signal: killed" });
  expect(endStatusOf(15).status).toBe("signal: terminated");
  expect(endStatusOf(11 | 0x80).status).toBe("signal: segmentation fault (core dumped)");
  expect(endStatusOf(40).status).toBe("signal: signal 40");
  expect(endStatusOf(9, "out of memory").error).toBe("signal: killed (out of memory)");
});

test("looksKilled is true for SIGKILL and for a shell's exit code of it", () => {
  expect([9, 137 << 8, 15, 9 << 8, 0].map(looksKilled)).toEqual([true, true, false, false, false]);
});
