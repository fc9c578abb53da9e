import { describe, expect, test } from "bun:test";
import { precondition, rangeApplies } from "./conditional.ts";
import { sniff, typeOfName } from "./content-type.ts";
import { contentDisposition } from "./disposition.ts";

const file = { etag: '"v1"', modified: 1_700_000_000 };
const at = (seconds: number) => new Date(seconds * 1000).toUTCString();

describe("conditional requests", () => {
  test.each([
    [{}, undefined],
    [{ "If-None-Match": '"v1"' }, 304],
    [{ "If-None-Match": 'W/"v1"' }, 304],
    [{ "If-None-Match": '"a", "v1"' }, 304],
    [{ "If-None-Match": "v1" }, undefined],
    [{ "If-None-Match": '"v2"', "If-Modified-Since": at(file.modified) }, undefined],
    [{ "If-Modified-Since": at(file.modified) }, 304],
    [{ "If-Modified-Since": at(file.modified - 1) }, undefined],
    [{ "If-Modified-Since": "never" }, undefined],
    [{ "If-Match": '"v1"' }, undefined],
    [{ "If-Match": 'W/"v1"' }, 412],
    [{ "If-Match": "*" }, undefined],
    [{ "If-Unmodified-Since": at(file.modified - 1) }, 412],
    [{ "If-Match": '"v1"', "If-Unmodified-Since": at(0) }, undefined],
    [{ "If-Match": '"v2"', "If-None-Match": '"v1"' }, 412],
  ])("%p", (headers, expected) => {
    expect(precondition(new Headers(headers as Record<string, string>), file)).toBe(expected as 304);
  });

  test("If-Range compares strongly", () => {
    const given = ['"v1"', 'W/"v1"', '"v2"', at(file.modified), at(file.modified + 1), "nonsense"];
    expect(given.map((value) => rangeApplies(new Headers({ "If-Range": value }), file))).toEqual([true, false, false, true, false, false]);
    expect(rangeApplies(new Headers(), file)).toBe(true);
  });
});

test("content type by name", () => {
  expect(["a.html", "a.json", "a.png", "a", ".bashrc", "a.unheard-of", "a."].map((name) => typeOfName(name)?.split(";")[0])).toEqual([
    "text/html",
    "application/json",
    "image/png",
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

test("content type by first bytes", () => {
  const of = (text: string) => sniff(Buffer.from(text, "latin1"));
  expect([of("words\n"), of("ü"), of("%PDF-1.7"), of("\x1f\x8b\x08"), of("RIFF....WEBP"), of("\x7fELF\x02\x01\x01\x00"), of("")]).toEqual([
    "text/plain; charset=utf-8",
    "text/plain; charset=utf-8",
    "application/pdf",
    "application/x-gzip",
    "image/webp",
    "application/octet-stream",
    "text/plain; charset=utf-8",
  ]);
});

test("content disposition", () => {
  expect(["a.txt", "a b", 'a"b\\c', "ü'()*", "a\nb", "a;b"].map(contentDisposition)).toEqual([
    "inline; filename=a.txt",
    'inline; filename="a b"',
    'inline; filename="a\\"b\\\\c"',
    "inline; filename*=utf-8''%C3%BC%27%28%29%2A",
    "inline; filename*=utf-8''a%0Ab",
    'inline; filename="a;b"',
  ]);
});
