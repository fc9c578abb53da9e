import { expect, test } from "bun:test";
import { outdated } from "./agent-codec.ts";
import { renderFile } from "./agent-codec-render.ts";

test("the committed tables are what the protos say", () => {
  expect(outdated()).toEqual([]);
});

test("a message that contains itself is refused", () => {
  const self = { name: "next", jsonName: "next", type: "TYPE_MESSAGE", typeName: ".p.A", label: "LABEL_OPTIONAL" };
  expect(() => renderFile({ name: "p.proto", package: "p", messageType: [{ name: "A", field: [self] }] })).toThrow("A contains itself");
});

test("a type without a place in the codec is refused", () => {
  const double = { name: "x", jsonName: "x", type: "TYPE_DOUBLE", label: "LABEL_OPTIONAL" };
  expect(() => renderFile({ name: "p.proto", package: "p", messageType: [{ name: "A", field: [double] }] })).toThrow("TYPE_DOUBLE");
});
