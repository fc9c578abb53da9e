import { expect, test } from "bun:test";
import { parseInitBody } from "./init-body.ts";

const parse = (text: string) => parseInitBody(new TextEncoder().encode(text));

test("an empty body, null and unknown members are accepted", () => {
  expect(parse("")).toEqual({ time: undefined });
  expect(parse('{"accessToken":null,"other":{"x":1}}')).toEqual({ time: undefined });
});

test("each member is read by its type", () => {
  const body = parse(
    '{"timestamp":"2026-01-01T00:00:00.5Z","envVars":{"A":"b"},"accessToken":"t","defaultUser":"u","defaultWorkdir":"/w","sandboxID":"i","templateID":"t"}',
  );
  expect({ ...body, envVars: { ...body.envVars } }).toEqual({
    time: { seconds: 1_767_225_600, nanos: 500_000_000 },
    envVars: { A: "b" },
    accessToken: "t",
    defaultUser: "u",
    defaultWorkdir: "/w",
    sandboxID: "i",
    templateID: "t",
  });
});

test("a wrong value is refused, and the error names the member", () => {
  const cases = {
    "{": "JSON",
    "[]": "object",
    '{"defaultUser":7}': "defaultUser",
    '{"envVars":{"A":1}}': "envVars['A']",
    '{"timestamp":"x"}': "timestamp",
    '{"caBundle":"\\u0000"}': "caBundle",
  };
  for (const [text, word] of Object.entries(cases)) expect(() => parse(text)).toThrow(word);
});
