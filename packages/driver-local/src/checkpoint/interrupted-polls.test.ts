import { expect, test } from "bun:test";
import { bytesField, numberField, withMessages } from "../criu/image-messages.ts";
import { withRestartedPoll } from "./interrupted-polls.ts";

const EINTR = 2n ** 64n - 4n;

function imageOf({ result = EINTR, timeout = 2n ** 64n - 1n, call = 7n, instruction = 0x7fff_1234n }): Buffer {
  const registers = Buffer.concat([
    ...[numberField(1, 15n), numberField(11, result), numberField(13, timeout), numberField(16, call)],
    ...[numberField(17, instruction), numberField(24, 2n)],
  ]);
  const info = Buffer.concat([numberField(1, 5n), bytesField(2, registers), bytesField(3, Buffer.from("fpu"))]);
  return withMessages(Buffer.alloc(8, 7), [Buffer.concat([numberField(1, 1n), bytesField(2, info), bytesField(3, Buffer.from("task"))])]);
}

test("a poll without a time limit begins again", () => {
  const again = imageOf({ result: 7n, instruction: 0x7fff_1232n });
  expect(withRestartedPoll(imageOf({}))).toEqual(again);
  expect(withRestartedPoll(imageOf({ timeout: 0xffff_ffffn }))).toEqual(
    imageOf({ result: 7n, instruction: 0x7fff_1232n, timeout: 0xffff_ffffn }),
  );
});

test("other calls, and those with a time limit, stay as they are", () => {
  for (const other of [{ timeout: 1000n }, { call: 35n }, { call: 2n ** 64n - 1n }, { result: 1n }]) {
    expect(withRestartedPoll(imageOf(other))).toBeUndefined();
  }
});
