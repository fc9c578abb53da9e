import { expect, test } from "bun:test";
import { formsOf } from "../masker.ts";
import { GrpcMasker, isGrpc } from "./grpc-masker.ts";

const SECRET = "token-of-the-team/0123456789";

function message(text: string, flag = 0): Buffer {
  const head = Buffer.from([flag, 0, 0, 0, 0]);
  head.writeUInt32BE(Buffer.byteLength(text), 1);
  return Buffer.concat([head, Buffer.from(text)]);
}

test("each message passes whole at its end, however it is cut", () => {
  const bytes = Buffer.concat(["one", "", "two two two", "x".repeat(100)].map((text) => message(text)));
  for (let size = 1; size < bytes.byteLength; size++) {
    const masker = new GrpcMasker(formsOf([SECRET]));
    const out: Buffer[] = [];
    for (let at = 0; at < bytes.byteLength; at += size) out.push(masker.push(bytes.subarray(at, at + size)));
    expect([size, Buffer.concat(out).equals(bytes)]).toEqual([size, true]);
  }
});

test("a message with a secret, or a compressed one, ends the answer before the secret is out", () => {
  const bytes = message(`it is ${SECRET} indeed`);
  for (let size = 1; size <= bytes.byteLength; size++) {
    const masker = new GrpcMasker(formsOf([SECRET]));
    const out: Buffer[] = [];
    const send = () => {
      for (let at = 0; at < bytes.byteLength; at += size) out.push(masker.push(bytes.subarray(at, at + size)));
    };
    expect(send).toThrow("a message with a secret");
    expect(Buffer.concat(out).toString()).not.toContain(SECRET.slice(0, 6));
  }
  expect(() => new GrpcMasker(formsOf([SECRET])).push(message("text", 1))).toThrow("a coding");
});

test("knows the types of streams of messages", () => {
  expect(["application/grpc", "application/grpc+proto", "application/grpc-web+proto"].map(isGrpc)).toEqual([true, true, true]);
  expect(["application/grpc-web-text", "text/plain", ""].map(isGrpc)).toEqual([false, false, false]);
});
