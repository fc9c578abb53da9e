import { expect, test } from "bun:test";
import { basicUser, ENVELOPE_HEADER_BYTES, envelope, envelopeLength, FLAG_END, fileSignatureText, signedFileText } from "./wire.ts";

test("an envelope says its flags and its length", () => {
  const bytes = envelope(FLAG_END, '{"a":"é"}');
  expect([...bytes.subarray(0, ENVELOPE_HEADER_BYTES)]).toEqual([2, 0, 0, 0, 10]);
  expect(envelopeLength(bytes)).toBe(bytes.byteLength - ENVELOPE_HEADER_BYTES);
  const moved = new Uint8Array([9, ...bytes]).subarray(1);
  expect(envelopeLength(moved)).toBe(10);
  expect(envelopeLength(new Uint8Array([0, 0xff, 0xff, 0xff, 0xff]))).toBe(2 ** 32 - 1);
});

test("a user name of any letters is UTF-8 in Basic authentication, without a password", () => {
  expect(basicUser("user")).toBe(`Basic ${Buffer.from("user:").toString("base64")}`);
  expect(basicUser("jürgen")).toBe(`Basic ${Buffer.from("jürgen:").toString("base64")}`);
});

test("a signature is that of the contract's example", () => {
  const text = signedFileText({ path: "hello.txt", operation: "read", user: "user", accessToken: "0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0" });
  const base64 = new Bun.CryptoHasher("sha256").update(text).digest("base64");
  expect(fileSignatureText(base64)).toBe("v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E");
  expect(signedFileText({ path: "", operation: "write", user: "", accessToken: "t", expiration: 5 })).toBe(":write::t:5");
});
