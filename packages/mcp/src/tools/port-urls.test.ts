import { expect, test } from "bun:test";
import { portUrls } from "./port-urls.ts";

const sandbox = (domain: string) => ({
  getUrl: (port: number) => `http://${port}-i1.${domain}`,
  portUrl: (port: number) => `http://127.0.0.1:3000/ports/i1/${port}`,
});

test("clients elsewhere get no names that lead to their own machines", () => {
  const local = ["http://80-i1.localhost:3000/", "http://127.0.0.1:3000/ports/i1/80/"];
  expect(portUrls(sandbox("localhost:3000"), 80, undefined)).toEqual(local);
  expect(portUrls(sandbox("localhost:3000"), 80, "http://127.0.0.1:3000")).toEqual(local);
  expect(portUrls(sandbox("localhost:3000"), 80, "https://boxes.example.com")).toEqual(["https://boxes.example.com/ports/i1/80/"]);
  expect(portUrls(sandbox("boxes.example.com"), 80, "https://boxes.example.com")).toEqual([
    "https://80-i1.boxes.example.com/",
    "https://boxes.example.com/ports/i1/80/",
  ]);
});
