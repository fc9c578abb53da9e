import { expect, test } from "bun:test";
import { FakeClock } from "@boxyard/core";
import { LIMITS } from "../limits.ts";
import { endStatusOf } from "./end-status.ts";
import { Journal } from "./journal.ts";

const command = (pid: number, cmd: string, args: string[]) => {
  const { promise: finished, resolve } = Promise.withResolvers<ReturnType<typeof endStatusOf>>();
  return {
    subject: { pid, config: { cmd, args, envs: { SECRET: "x" } }, finished },
    end: (code: number) => resolve(endStatusOf(code << 8)),
  };
};

test("the journal has the start and the end of a command, with its line, its end and its time", async () => {
  const clock = new FakeClock();
  const journal = new Journal(clock);
  const { subject, end } = command(7, "/bin/bash", ["-l", "-c", "make all"]);
  journal.follow(subject);
  expect(journal.after(0)).toMatchObject({ last: 1, running: 1, entries: [{ seq: 1, kind: "started", text: "make all", pid: 7 }] });
  clock.advance(1500);
  end(2);
  await subject.finished;
  const after = journal.after(1);
  expect(after).toMatchObject({ last: 2, running: 0 });
  expect(after.entries).toEqual([
    { seq: 2, at: expect.any(Number), kind: "ended", text: "exit status 2: make all", pid: 7, exitCode: 2, ms: 1500 },
  ]);
  expect(JSON.stringify(journal.after(0))).not.toContain("SECRET");
});

test("other programs have their words, and long lines are cut", () => {
  const journal = new Journal(new FakeClock());
  journal.follow(command(1, "ls", ["-l", "/tmp"]).subject);
  journal.follow(command(2, "echo", ["x".repeat(10_000)]).subject);
  const [first, second] = journal.after(0).entries;
  expect(first?.text).toBe("ls -l /tmp");
  expect(second?.text.length).toBe(LIMITS.journalTextChars);
});

test("only the newest entries are kept, and an answer has the oldest of those first", () => {
  const journal = new Journal(new FakeClock());
  for (let i = 0; i < LIMITS.journalEntries + 10; i++) journal.tell(`line ${i}`);
  const first = journal.after(0);
  expect(first.entries[0]).toMatchObject({ seq: 11, kind: "agent", text: "line 10" });
  expect(first.entries.length).toBe(LIMITS.journalAnswer);
  const rest = journal.after(first.entries.at(-1)?.seq ?? 0);
  expect([rest.entries.at(-1)?.seq, rest.last]).toEqual([LIMITS.journalEntries + 10, LIMITS.journalEntries + 10]);
});
