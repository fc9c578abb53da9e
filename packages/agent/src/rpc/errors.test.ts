import { expect, test } from "bun:test";
import { statSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { httpErrorOf } from "../contracts.ts";
import { endOfStream, unaryError } from "./errors.ts";

function thrown(run: () => unknown): unknown {
  try {
    return run();
  } catch (error) {
    return error;
  }
}

/** The message of each kind of answer. */
async function messagesOf(error: unknown): Promise<string[]> {
  const { message } = (await unaryError(error).json()) as { message: string };
  const { error: end } = JSON.parse(endOfStream(error)) as { error: { message: string } };
  const http = (await httpErrorOf(error).json()) as { message: string };
  return [message, end.message, http.message];
}

test("an error that is not an AppError is reported by its errno only, because its text may hold data of others", async () => {
  const kernel = thrown(() => statSync("/proc/1/secret-name/below"));
  const text = "internal error: the sandbox's kernel answered ENOENT";
  expect(await messagesOf(kernel)).toEqual([text, text, text]);
  expect(await messagesOf(new TypeError("secret"))).toEqual(["internal error", "internal error", "internal error"]);
  expect(await messagesOf(new AppError("not_found", "no such file"))).toEqual(["no such file", "no such file", "no such file"]);
});
