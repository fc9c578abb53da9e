import { expect, test } from "bun:test";
import { BLOCKED_NETWORKS } from "@boxyard/core";
import { obstacleOf, parseChains, withoutOurTables } from "./checks.ts";
import { Message, NLM_F, parseAttributes, parseReplies, readText, readU32 } from "./netlink/message.ts";
import { makePlan } from "./plan.ts";
import { machineRules, routerRules } from "./rules.ts";

const chain = (family: string, table: string, name: string, policy?: string, hook = "forward") => ({
  family,
  table,
  name,
  hook,
  ...(policy && { policy }),
});

test("chains that drop forwarded packets are obstacles, each with its own fix; our chains and all others are not", () => {
  expect(obstacleOf(chain("ip", "filter", "FORWARD", "drop"), "byx")[0]?.fix).toContain("-i byx -j ACCEPT");
  expect(obstacleOf(chain("inet", "filter", "forward", "drop"), "byx")[0]?.fix).toStartWith(
    "nft insert rule inet filter forward iifname byx",
  );
  expect(obstacleOf(chain("inet", "firewalld", "filter_FORWARD", "accept"), "byx")[0]?.who).toBe("firewalld");
  for (const harmless of [
    chain("ip", "filter", "FORWARD", "accept"),
    chain("ip6", "filter", "FORWARD", "drop"),
    chain("ip", "filter", "INPUT", "drop", "input"),
    chain("inet", "boxyard_0a1b2c3d", "forward", "drop"),
  ]) {
    expect(obstacleOf(harmless, "byx")).toEqual([]);
  }
});

test("nft's output is parsed, and other text has no chains", () => {
  const json =
    '{"nftables":[{"metainfo":{}},{"chain":{"family":"ip","table":"filter","name":"FORWARD","hook":"forward","policy":"drop"}}]}';
  expect(parseChains(json)).toHaveLength(1);
  for (const bad of ["", "{}", "null", "[]"]) expect(parseChains(bad)).toEqual([]);
  const rules =
    'table inet boxyard_0a1b2c3d {\n\tchain a {\n\t\tiifname "by0a1b2c3d" accept\n\t}\n}\ntable ip filter {\n\tchain x {\n\t}\n}\n';
  expect(withoutOurTables(rules)).toBe("table ip filter {\n\tchain x {\n\t}\n}\n");
});

test("a ruleset's marker changes with its text, and only with it", () => {
  const plan = makePlan({ instance: "0a1b2c3d", network: "10.208.0.0/16", runDirectory: "/run" });
  expect(routerRules(plan, ["192.0.2.1"], 65_536).marker).toBe(routerRules(plan, ["192.0.2.1"], 65_536).marker);
  const markers = [
    routerRules(plan, [], 65_536),
    routerRules(plan, ["192.0.2.1"], 65_536),
    machineRules(plan, []),
    machineRules(plan, ["eth0"]),
  ];
  expect(new Set(markers.map((rules) => rules.marker)).size).toBe(4);
  for (const network of BLOCKED_NETWORKS) expect(routerRules(plan, [], 65_536).text).toContain(network);
});

test("netlink messages are built as the kernel parses them, and parsing stops at a malformed reply", () => {
  const message = new Message("x", 16, NLM_F.CREATE)
    .bytes([1, 2, 3])
    .attrText(3, "eth0")
    .nest(18, (nested) => nested.attrU32(1, 77));
  const bytes = message.finish();
  const [reply] = [...parseReplies(bytes)];
  expect([reply?.type, reply?.flags, bytes.length % 4]).toEqual([16, NLM_F.CREATE | NLM_F.REQUEST, 0]);
  const attributes = parseAttributes(reply?.body ?? new Uint8Array(), 4);
  expect(readText(attributes.get(3))).toBe("eth0");
  expect(readU32(parseAttributes(attributes.get(18) ?? new Uint8Array(), 0).get(1))).toBe(77);
  for (let cut = 0; cut < bytes.length; cut++) expect([...parseReplies(bytes.subarray(0, cut))]).toEqual([]);
  expect(parseAttributes(new Uint8Array([2, 0, 1, 0, 9]), 0).size).toBe(0);
});
