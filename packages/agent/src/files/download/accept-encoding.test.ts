import { expect, test } from "bun:test";
import { chooseCoding } from "./accept-encoding.ts";

test.each([
  [null, "identity"],
  ["", "identity"],
  ["identity", "identity"],
  ["*", "identity"],
  ["gzip", "gzip"],
  ["x-gzip", "gzip"],
  ["GZIP ; Q=0.5", "gzip"],
  ["gzip;q=0", "identity"],
  ["gzip;q=0.000", "identity"],
  ["gzip, identity", "identity"],
  ["gzip, identity;q=0.9", "gzip"],
  ["gzip;q=0.5, *;q=0.1", "gzip"],
  ["gzip;q=0.1, *;q=0.5", "identity"],
  ["gzip, deflate", "identity"],
  ["br", "identity"],
  ["br, *;q=0, identity", "identity"],
  ["gzip;q=nonsense", "identity"],
  [",,gzip,,", "gzip"],
  ["identity;q=0, gzip", "gzip"],
  ["identity;q=0, *", "gzip"],
  ["*;q=0, gzip", "gzip"],
  ["identity;q=0", undefined],
  ["*;q=0", undefined],
  ["*;q=0, br", undefined],
  ["identity;q=0, gzip;q=0, *", undefined],
])("%p gives %p", (header, coding) => {
  expect(chooseCoding(header)?.coding).toBe(coding as "gzip");
});
