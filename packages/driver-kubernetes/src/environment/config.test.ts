import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readClusterConfig } from "./config.ts";

const directory = mkdtempSync(join(tmpdir(), "boxyard-kubeconfig-"));
const path = join(directory, "config");
const KUBECONFIG = `
apiVersion: v1
current-context: here
clusters: [{ name: c, cluster: { server: "https://127.0.0.1:6443/", certificate-authority-data: ${btoa("an authority")} } }]
users: [{ name: u, user: { token: a-token } }, { name: program, user: { exec: { command: sign-in } } }]
contexts: [{ name: here, context: { cluster: c, user: u } }]
`;
writeFileSync(path, KUBECONFIG);
const env = {
  BOXYARD_KUBECONFIG: path,
  BOXYARD_KUBERNETES_IMAGE: "registry.example/boxyard@{digest}",
  BOXYARD_KUBERNETES_GUEST_IMAGE: "guest:1",
};
const digest = `sha256:${"a".repeat(64)}`;

test("defaults, and the access of the kubeconfig's current context", () => {
  const { access, imageOf, ...rest } = readClusterConfig(env);
  expect({ server: access.server, ca: access.ca, token: access.token?.() }).toEqual({
    server: "https://127.0.0.1:6443",
    ca: "an authority",
    token: "a-token",
  });
  expect(imageOf(digest)).toBe(`registry.example/boxyard@${digest}`);
  expect(rest).toEqual({
    namespace: "boxyard",
    instance: "boxyard",
    guestImage: "guest:1",
    pullPolicy: "IfNotPresent",
    hostUsers: false,
    cpuRequest: 0.1,
  });
});

test.each([
  ["BOXYARD_KUBERNETES_IMAGE", "registry.example/boxyard"],
  ["BOXYARD_KUBERNETES_IMAGE", ""],
  ["BOXYARD_KUBERNETES_GUEST_IMAGE", ""],
  ["BOXYARD_KUBERNETES_NAMESPACE", "No Label"],
  ["BOXYARD_KUBERNETES_PULL_POLICY", "Sometimes"],
  ["BOXYARD_KUBERNETES_HOST_USERS", "maybe"],
  ["BOXYARD_KUBERNETES_CPU_REQUEST", "2"],
  ["BOXYARD_KUBECONFIG", ""],
])("%s='%s' is refused by name", (name, value) => {
  expect(() => readClusterConfig({ ...env, [name]: value })).toThrow(name);
});

test("a kubeconfig that cannot be used says why", () => {
  const other = join(directory, "other");
  const reading = (text: string) => () => {
    writeFileSync(other, text);
    return readClusterConfig({ ...env, BOXYARD_KUBECONFIG: other });
  };
  expect(reading("current-context: nothing")).toThrow("names no cluster");
  expect(reading(KUBECONFIG.replace("user: u ", "user: program "))).toThrow("needs a program to sign in");
  expect(reading("{")).toThrow("cannot be used");
  rmSync(directory, { recursive: true });
});
