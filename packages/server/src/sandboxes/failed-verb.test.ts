import { expect, test } from "bun:test";
import { AppError } from "@boxyard/core";
import { sampleRecord } from "../store/sample-record.ts";
import { failedVerb } from "./failed-verb.ts";
import { resumeFailure } from "./transitions/resume.ts";

test("what the kernel or CRIU says of the machine's processes is not told to clients", () => {
  const error = new AppError("not_found", "pause: ENOENT: no such file, open '/proc/4711/fd/3' (pid: 4711)");
  expect(failedVerb("It runs on", "pause_failed", error).message).toBe(
    "It runs on: pause: ENOENT: no such file, open 'a process' (a process)",
  );
});

test("a resume from memory that fails for good says how the disk starts; others do not", () => {
  const broken = new AppError("internal", "CRIU could not restore", { reason: "restore_failed" });
  const full = new AppError("resource_exhausted", "no room", { reason: "no_room_for_memory" });
  const paused = sampleRecord({});
  const record = { ...paused, settings: { ...paused.settings, pauseMode: "full" as const } };
  const way = expect.stringContaining('"memory": false');
  expect(resumeFailure(record, broken, true)).toMatchObject({ code: "unavailable", reason: "resume_failed", message: way });
  expect(resumeFailure(record, broken, false).message).not.toContain("memory");
  expect(resumeFailure(paused, broken, true).message).not.toContain("memory");
  expect(resumeFailure(record, full, true).message).not.toContain("false");
});
