import { expect, test } from "bun:test";
import { shellExitCode } from "./signals.ts";

test("an exit code is as a shell shows it", () => {
  const codes = [
    { exitCode: 0, status: "exit status 0" },
    { exitCode: 7, status: "exit status 7" },
    { exitCode: -1, status: "signal: killed" },
    { exitCode: -1, status: "signal: segmentation fault (core dumped)" },
    { exitCode: -1, status: "signal: killed (out of memory: the sandbox reached its memory limit)" },
    { exitCode: -1, status: "signal: signal 37" },
    { exitCode: -1, status: "something else" },
  ].map(shellExitCode);
  expect(codes).toEqual([0, 7, 137, 139, 137, 165, 255]);
});
