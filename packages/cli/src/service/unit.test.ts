import { expect, test } from "bun:test";
import { environmentText, unitText } from "./unit.ts";

test("words of the command are taken as they are, whatever systemd reads in them", () => {
  const input = { setup: ["/a b/bun", "setup"], serve: ['/x%n$HOME/b"c\\d'], dataDir: "/d", environmentFile: "/d/100%/service.env" };
  const lines = unitText(input).split("\n");
  expect(lines).toContain('ExecStartPre="/a b/bun" "setup"');
  expect(lines).toContain('ExecStart="/x%%n$$HOME/b\\"c\\\\d"');
  expect(lines).toContain("EnvironmentFile=/d/100%%/service.env");
  expect(() => unitText({ ...input, serve: ["a\nb"] })).toThrow("line end");
});

test("settings of the server go along, those of clients and of anything else do not", () => {
  const env = {
    BOXYARD_LISTEN: "0.0.0.0:80",
    BOXYARD_API_KEY: "k",
    DATABASE_URL: 'postgres://a:$"\\@h/d',
    HOME: "/root",
    PATH: "/bin",
    BOXYARD_DOMAIN: "",
  };
  expect(environmentText(env, "/data")).toBe(
    'BOXYARD_DATA="/data"\nBOXYARD_LISTEN="0.0.0.0:80"\nDATABASE_URL="postgres://a:\\$\\"\\\\@h/d"\nPATH="/bin"\n',
  );
});
