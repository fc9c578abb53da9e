import { expect, test } from "bun:test";
import { NO_WISHES, newSandbox } from "./new-sandbox.ts";

const plain = { ...NO_WISHES, template: "base" };

test("what is left empty is not asked for", () => {
  expect(newSandbox(plain)).toEqual({ templateID: "base", timeout: 900, metadata: {}, envVars: {}, autoPause: false });
});

test("name, size, network, volumes and times", () => {
  const wish = {
    ...plain,
    name: " worker ",
    idleMinutes: "2",
    pauses: true,
    resumes: true,
    preset: "none",
    allowed: "a.example\n",
    cpus: "0.5",
    memory: "256",
    volumes: "data:/data\nshared:/mnt/shared:ro",
    metadata: "user=ada",
  } as const;
  expect(newSandbox(wish)).toEqual({
    templateID: "base",
    timeout: 900,
    metadata: { user: "ada" },
    envVars: {},
    autoPause: true,
    autoResume: { enabled: true },
    name: "worker",
    idleTimeout: 120,
    network: { preset: "none", allowOut: ["a.example"] },
    resources: { cpuCount: 0.5, memoryMB: 256 },
    volumeMounts: [
      { name: "data", path: "/data" },
      { name: "shared", path: "/mnt/shared", readOnly: true },
    ],
  });
  for (const volumes of ["data", "data:relative", ":/data", "data:/a:rw"]) {
    expect(() => newSandbox({ ...wish, volumes })).toThrow("is not NAME:PATH");
  }
});
