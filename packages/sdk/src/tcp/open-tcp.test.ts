import { expect, test } from "bun:test";
import { once } from "node:events";
import { dial } from "./open-tcp.ts";

test.each(["https://127.0.0.1:1", "https://[::1]:1", "https://localhost:1", "http://127.0.0.1:1"])(
  "a server at %s is dialled",
  async (url) => {
    const [error] = (await once(dial(url), "error")) as [NodeJS.ErrnoException];
    expect(error.code).toMatch(/^(ECONNREFUSED|EADDRNOTAVAIL)$/);
  },
);
