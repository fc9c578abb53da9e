import { describe, expect, test } from "bun:test";
import { isAppError } from "@boxyard/core";
import type { MessageTable } from "@boxyard/spec/agent";
import {
  ConnectRequestTable,
  EntryInfoTable,
  FilesystemEventTable,
  ProcessEventTable,
  SendInputRequestTable,
  SendSignalRequestTable,
  StartRequestTable,
} from "@boxyard/spec/agent";
import { decodeMessage, encodeMessage, formatTimestamp, parseTimestamp } from "./codec.ts";

function decode<T>(table: MessageTable<T>, value: unknown): T {
  return decodeMessage(table, new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value)));
}

function refusal(table: MessageTable, value: unknown): string {
  try {
    decode(table, value);
  } catch (error) {
    if (isAppError(error, "invalid_argument")) return error.message;
    throw error;
  }
  throw new Error("was not refused");
}

describe("decoding", () => {
  test("fills in defaults, and leaves absent optional members undefined", () => {
    expect(decode(StartRequestTable, { process: { cmd: "ls" } })).toEqual({ process: { cmd: "ls", args: [], envs: {} } });
  });

  test("an empty body is the empty message", () => {
    expect(decode(StartRequestTable, "")).toEqual({});
  });

  test("accepts both spellings of a name, ignores unknown members and null", () => {
    const event = { name: "a", type: 2, entry: { symlink_target: "/x", isSymlink: true, modified_time: null, other: [[[]]] } };
    const read = decode(FilesystemEventTable, event);
    expect(read.type).toBe("EVENT_TYPE_WRITE");
    expect(read.entry?.symlinkTarget).toBe("/x");
    expect(read.entry?.isSymlink).toBe(true);
    expect(read.entry?.modifiedTime).toBeUndefined();
  });

  test("accepts base64 in both alphabets, with and without padding", () => {
    for (const text of ["+/8=", "-_8=", "+/8", "-_8"]) {
      expect(decode(SendInputRequestTable, { input: { stdin: text } }).input?.stdin).toEqual(Buffer.from([0xfb, 0xff]));
    }
    expect(decode(SendInputRequestTable, { input: { pty: "" } }).input?.pty).toEqual(Buffer.alloc(0));
  });

  test("accepts integers as numbers and text, within their range", () => {
    expect(decode(ConnectRequestTable, { process: { pid: "12" } }).process).toEqual({ pid: 12 });
    expect(decode(EntryInfoTable, { size: "9007199254740991" }).size).toBe(Number.MAX_SAFE_INTEGER);
    for (const pid of [-1, 4294967296, 1.5, "x", "", true]) {
      expect(refusal(ConnectRequestTable, { process: { pid } })).toContain("process.ConnectRequest.process.pid must be an integer");
    }
  });

  test("accepts enums by name and number, and keeps a number without a name", () => {
    const process = { pid: 1 };
    expect(decode(SendSignalRequestTable, { process, signal: "SIGNAL_SIGKILL" }).signal).toBe("SIGNAL_SIGKILL");
    expect(decode(SendSignalRequestTable, { process, signal: 15 }).signal).toBe("SIGNAL_SIGTERM");
    expect(decode(SendSignalRequestTable, { process, signal: 2 }).signal).toBe(2);
    expect(refusal(SendSignalRequestTable, { process, signal: "SIGINT" })).toContain("one of SIGNAL_UNSPECIFIED");
  });

  test("refuses two members of a oneof", () => {
    expect(refusal(ConnectRequestTable, { process: { pid: 1, tag: "a" } })).toContain("either 'pid' or 'tag'");
  });

  test("refuses wrong types with the path of the member", () => {
    expect(refusal(StartRequestTable, [])).toBe("process.StartRequest must be an object");
    expect(refusal(StartRequestTable, { process: { args: "x" } })).toBe("process.StartRequest.process.args must be an array");
    expect(refusal(StartRequestTable, { process: { args: [1] } })).toBe("process.StartRequest.process.args[0] must be a string");
    expect(refusal(StartRequestTable, { process: { envs: { A: 1 } } })).toBe("process.StartRequest.process.envs['A'] must be a string");
    expect(refusal(StartRequestTable, { stdin: "yes" })).toBe("process.StartRequest.stdin must be true or false");
    expect(refusal(SendInputRequestTable, { input: { stdin: "a*b=" } })).toContain("base64");
    expect(refusal(EntryInfoTable, { modifiedTime: "yesterday" })).toContain("RFC 3339");
  });

  test("refuses a body that is not JSON or not UTF-8", () => {
    expect(refusal(StartRequestTable, "{")).toContain("not JSON");
    expect(() => decodeMessage(StartRequestTable, new Uint8Array([0x22, 0xff, 0x22]))).toThrow("not JSON in UTF-8");
  });

  test("a map accepts any key, also names of object members", () => {
    const { process } = decode(StartRequestTable, '{"process":{"cmd":"a","envs":{"__proto__":"x","constructor":"y"}}}');
    expect(Object.entries(process?.envs ?? {})).toEqual([
      ["__proto__", "x"],
      ["constructor", "y"],
    ]);
  });

  test("deep nesting is refused", () => {
    for (const open of ["[", '{"a":']) {
      const text = open.repeat(1_000_000);
      expect(() => decode(StartRequestTable, text)).toThrow();
    }
  });
});

describe("encoding", () => {
  test("leaves defaults out, writes int64 as text and bytes as base64", () => {
    const entry = {
      name: "a",
      type: "FILE_TYPE_FILE" as const,
      path: "/a",
      size: 5,
      mode: 0o644,
      permissions: "-rw-r--r--",
      owner: "user",
      group: "user",
      modifiedTime: { seconds: 1, nanos: 500_000_000 },
      metadata: {},
      isSymlink: false,
    };
    expect(JSON.parse(encodeMessage(EntryInfoTable, entry))).toEqual({
      name: "a",
      type: "FILE_TYPE_FILE",
      path: "/a",
      size: "5",
      mode: 420,
      permissions: "-rw-r--r--",
      owner: "user",
      group: "user",
      modifiedTime: "1970-01-01T00:00:01.500Z",
    });
    expect(encodeMessage(ProcessEventTable, { data: { stdout: Buffer.from("hi") } })).toBe('{"data":{"stdout":"aGk="}}');
    expect(encodeMessage(ProcessEventTable, { end: { exitCode: 0, exited: true, status: "exit status 0" } })).toBe(
      '{"end":{"exited":true,"status":"exit status 0"}}',
    );
    expect(encodeMessage(ProcessEventTable, { keepalive: {} })).toBe('{"keepalive":{}}');
  });

  test("times are written with 0, 3, 6 or 9 digits and read back", () => {
    for (const text of [
      "2026-01-02T03:04:05Z",
      "2026-01-02T03:04:05.120Z",
      "2026-01-02T03:04:05.000120Z",
      "2026-01-02T03:04:05.000000007Z",
    ]) {
      const time = parseTimestamp(text);
      expect(time && formatTimestamp(time)).toBe(text);
    }
    expect(parseTimestamp("2026-01-02T03:04:05+01:00")).toEqual(parseTimestamp("2026-01-02T02:04:05Z"));
    expect(parseTimestamp("2026-13-02T03:04:05Z")).toBeUndefined();
  });
});
