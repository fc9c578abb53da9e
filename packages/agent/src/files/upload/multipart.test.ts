import { describe, expect, test } from "bun:test";
import { isLinear } from "@boxyard/testkit";
import { boundaryOf, partsOf } from "./multipart.ts";
import { parseParameters } from "./parameters.ts";

async function* inPieces(body: Buffer, sizes: () => number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < body.length; ) {
    const size = Math.max(1, sizes());
    yield body.subarray(at, at + size);
    at += size;
  }
}

interface ReadPart {
  name: string;
  filename: string | undefined;
  content: string;
}

async function read(body: Buffer, boundary: string, sizes: () => number = () => body.length): Promise<ReadPart[]> {
  const found: ReadPart[] = [];
  for await (const part of partsOf(inPieces(body, sizes), boundary)) {
    const chunks: Uint8Array[] = [];
    for await (const chunk of part.content) chunks.push(Buffer.from(chunk));
    found.push({ name: part.name, filename: part.filename, content: Buffer.concat(chunks).toString("latin1") });
  }
  return found;
}

/** Repeatable random numbers below n. */
function random(seed: number): (n: number) => number {
  let state = seed;
  return (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

describe("partsOf", () => {
  test("reads the parts as they were written, in pieces of any size", async () => {
    const below = random(7);
    const alphabet = ["\r", "\n", "-", "b", "o", "\0", "\xff", "\r\n", "--", "\r\n-", "\r\n--", "\r\n--bo"];
    for (let round = 0; round < 300; round++) {
      const boundary = "bound";
      const expected = Array.from({ length: below(4) }, (_, i) => ({
        name: `field${i}`,
        filename: below(2) ? `dir/file ${i}.txt` : undefined,
        content: Array.from({ length: below(40) }, () => alphabet[below(alphabet.length)]).join(""),
      }));
      const text = expected.map(
        ({ name, filename, content }) =>
          `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${filename ? `; filename="${filename}"` : ""}\r\nX: y\r\n\r\n${content}\r\n`,
      );
      const body = Buffer.from(
        `${below(2) ? "preamble\r\n" : ""}${text.join("")}--${boundary}--${below(2) ? "\r\nepilogue" : ""}`,
        "latin1",
      );
      expect(await read(body, boundary, () => below(9))).toEqual(expected);
    }
  });

  test("any text gives parts or 400", async () => {
    const below = random(11);
    const words = [
      "--b",
      "--b\r\n",
      "--b--",
      "\r\n",
      "\r\n\r\n",
      "Content-Disposition: form-data; name=file",
      "; filename=",
      '"',
      "\\",
      ":",
      "x",
      "\0",
      "é",
      " ",
    ];
    for (let round = 0; round < 2000; round++) {
      const body = Buffer.from(Array.from({ length: below(30) }, () => words[below(words.length)]).join(""));
      await read(body, "b", () => below(20)).catch((error) => expect(error.code).toBe("invalid_argument"));
    }
  });

  test("content that the reader of a part does not read is skipped", async () => {
    const body = Buffer.from(
      "--b\r\nContent-Disposition: form-data; name=one\r\n\r\nskipped\r\n--b\r\nContent-Disposition: form-data; name=two\r\n\r\n\r\n--b--",
    );
    const names: string[] = [];
    for await (const part of partsOf(
      inPieces(body, () => 5),
      "b",
    ))
      names.push(part.name);
    expect(names).toEqual(["one", "two"]);
  });

  test("holds no more than a chunk, also of a body that repeats the beginning of a boundary", async () => {
    const chunk = Buffer.from("\r\n--boun".repeat(8192));
    const many = async function* () {
      yield Buffer.from("--bound\r\n\r\n");
      for (let i = 0; i < 200; i++) yield chunk;
      yield Buffer.from("\r\n--bound--");
    };
    let bytes = 0;
    let largest = 0;
    for await (const part of partsOf(many(), "bound")) {
      for await (const piece of part.content) {
        bytes += piece.length;
        largest = Math.max(largest, piece.length);
      }
    }
    expect([bytes, largest <= chunk.length + 16]).toEqual([200 * chunk.length, true]);
  });

  test.each([
    ["at the closing boundary", "--b\r\n\r\nx\r\n--b--\r\nepilogue", false, "read"],
    ["when the reader stops", "--b\r\n\r\nx\r\n--b--\r\n", true, "read"],
    ["when the body is malformed", "--b\r\nno header\r\n\r\nx", false, "invalid_argument"],
  ])("releases the body %s", async (_, body, stops, expected) => {
    let isOpen = true;
    const source = async function* () {
      try {
        for (;;) yield Buffer.from(body);
      } finally {
        isOpen = false;
      }
    };
    const readAll = async () => {
      for await (const _part of partsOf(source(), "b")) if (stops) break;
      return "read";
    };
    const outcome = await readAll().catch((error: { code?: string }) => error.code);
    expect([outcome, isOpen]).toEqual([expected, false]);
  });

  test("boundaryOf reads the boundary of a content type, and refuses a missing, empty or long one", () => {
    expect([boundaryOf("multipart/form-data; boundary=abc"), boundaryOf('multipart/mixed; x=y; boundary="a b"')]).toEqual(["abc", "a b"]);
    for (const type of ["multipart/form-data", "multipart/form-data; boundary=", `multipart/form-data; boundary=${"x".repeat(71)}`]) {
      expect(() => boundaryOf(type)).toThrow("boundary");
    }
  });
});

describe("parseParameters", () => {
  test.each([
    ["form-data", {}],
    ["form-data; name=a", { name: "a" }],
    ['x; name="a; b"; filename="c\\"d"', { name: "a; b", filename: 'c"d' }],
    ['x; filename="C:\\dir\\f.txt"', { filename: "C:\\dir\\f.txt" }],
    ["x; filename=plain; filename*=UTF-8''%C3%BC", { filename: "ü" }],
    ["x; filename*=latin1''%FC; filename=kept", { filename: "kept" }],
    ["x; filename*=utf-8''%zz", {}],
    ["x; NAME = a ; name=b", { name: "a" }],
    ['x; name="never closed', { name: "never closed" }],
    ["x; ; =; flag; name=a", { "": "", name: "a" }],
    ["x; __proto__=a", JSON.parse('{"__proto__":"a"}')],
  ])("%s", (value, expected) => {
    expect({ ...parseParameters(value) }).toEqual({ ...expected });
  });

  test.each([
    ["semicolons", (length: number) => ";".repeat(length)],
    ["names", (length: number) => `x${"; a".repeat(length)}`],
    ["backslashes", (length: number) => `x; a="${"\\".repeat(length)}`],
    ["spaces", (length: number) => `x;${" ".repeat(length)}`],
  ])("takes time in proportion to the number of %s", async (_what, text) => {
    expect(await isLinear((length) => parseParameters(text(length)), 4_000)).toBe(true);
  });
});
