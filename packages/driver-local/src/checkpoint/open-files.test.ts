import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytesField, bytesIn, fieldsIn, messagesIn, numberField, withMessages } from "../criu/image-messages.ts";
import { mendOpenFiles, moveSockets, OPEN_FILES } from "./open-files.ts";

const images = mkdtempSync(join(tmpdir(), "boxyard-open-files-"));
afterAll(() => rmSync(images, { recursive: true }));

const HEAD = Buffer.from([1, 2, 3, 4, 5, 6, 7, 8]);
const path = join(images, OPEN_FILES);
const numbers = (entries: readonly (readonly [number, number])[]) =>
  Buffer.concat(entries.map(([n, value]) => numberField(n, BigInt(value))));
/** One open file: its number, and what it is. */
const file = (id: number, kind: number, body: Buffer) =>
  Buffer.concat([
    numbers([
      [1, 0],
      [2, id],
    ]),
    bytesField(kind, body),
  ]);
const write = (...files: Buffer[]) => writeFileSync(path, withMessages(HEAD, files));
const [TIMER, REGULAR, SOCKET, MEMORY] = [12, 3, 4, 20];
const bodiesIn = (at: string, kind: number) => messagesIn(readFileSync(at)).flatMap((message) => bytesIn(fieldsIn(message), kind) ?? []);

const timer = (seconds: number, nanoseconds: number, everySeconds: number, everyNanoseconds: number, ticks = 1) =>
  numbers([
    [5, ticks],
    [7, seconds],
    [8, nanoseconds],
    [9, everySeconds],
    [10, everyNanoseconds],
  ]);

test("a repeating timer that has expired unread goes on; other timers, also stopped ones, do not change", () => {
  const others = [timer(0, 0, 0, 0), timer(3, 0, 1, 0), timer(0, 70, 0, 50), timer(0, 0, 5, 0, 0)];
  write(...[timer(0, 0, 0, 50_000_000), timer(0, 0, 2, 0), ...others].map((body, i) => file(i, TIMER, body)));
  mendOpenFiles(images);
  expect(bodiesIn(path, TIMER)).toEqual([timer(0, 1, 0, 50_000_000), timer(0, 1, 2, 0), ...others]);
  expect(readFileSync(path).subarray(0, 8)).toEqual(HEAD);
});

test("the name of a process's directory is corrected; names of files in it and elsewhere do not change", () => {
  const regular = (name: string) => Buffer.concat([numberField(5, 0n), bytesField(6, Buffer.from(name, "latin1")), numberField(7, 1n)]);
  const kept = ["/proc/5/status", "/proc/5/fd/3", "/proc/5", "/srv/proc/5/\u0010"];
  write(...["/proc/5/\u0010", "/proc/77/", "/proc/6/ome/x", ...kept].map((name, i) => file(i, REGULAR, regular(name))));
  mendOpenFiles(images);
  const names = bodiesIn(path, REGULAR).map((body) => bytesIn(fieldsIn(body), 6)?.toString("latin1") ?? "");
  expect(names).toEqual(["/proc/5", "/proc/77", "/proc/6", ...kept]);
});

test("the old address of sockets is replaced by the new one, and nothing else changes", () => {
  const [old, fresh, other] = [0x0500_d60a, 0xff01_d60a, 0x0600_d60a];
  const socket = (source: readonly number[], destination: readonly number[]) =>
    numbers([[7, old], ...source.map((value) => [11, value] as const), ...destination.map((value) => [12, value] as const)]);
  const mapped = (address: number) => [0, 0, 0xffff_0000, address];
  const notMapped = [old, 0, old, old];
  write(
    file(1, SOCKET, socket([old], [other])),
    file(2, SOCKET, socket(mapped(old), mapped(old))),
    file(3, SOCKET, socket([0], [old])),
    file(4, SOCKET, socket(notMapped.slice(1), [0])),
  );
  const before = readFileSync(path);
  const copy = join(images, "copy");
  expect(moveSockets(images, "10.214.0.5", "10.214.1.255", copy)).toBe(true);
  expect(bodiesIn(copy, SOCKET)).toEqual([
    socket([fresh], [other]),
    socket(mapped(fresh), mapped(fresh)),
    socket([0], [fresh]),
    socket(notMapped.slice(1), [0]),
  ]);
  expect(readFileSync(path)).toEqual(before);
  expect(moveSockets(images, "10.214.9.9", "10.214.1.255", copy)).toBe(false);
});

test("files that are in memory alone are found", () => {
  write(file(300, MEMORY, numbers([[1, 300]])), file(2, REGULAR, numbers([[1, 2]])));
  expect(mendOpenFiles(images)).toEqual(new Set([300n]));
});

test("more open files than the server reads at once are refused", () => {
  // One message with a single unknown field: an image of 2 MiB in all.
  const most = 2 ** 21;
  write(bytesField(100, Buffer.alloc(most - HEAD.length - 4 - 5)));
  expect(readFileSync(path)).toHaveLength(most);
  mendOpenFiles(images);
  truncateSync(path, most + 1);
  expect(() => mendOpenFiles(images)).toThrow("too many files open");
});

test.each([
  ["that ends early", [9, 0, 0, 0, 0x08, 1]],
  ["without a length", [9, 0]],
  ["with a number that does not end", [2, 0, 0, 0, 0x08, 0x81]],
  ["with a string that is longer than it", [3, 0, 0, 0, 0x0a, 9, 0]],
  ["with a kind of value that there is not", [2, 0, 0, 0, 0x0b, 0]],
])("an image %s is damaged", (_what, bytes) => {
  writeFileSync(path, Buffer.from([...HEAD, ...bytes]));
  expect(() => mendOpenFiles(images)).toThrow("damaged");
});
