import { expect, test } from "bun:test";
import { block } from "../support/documents.ts";

/** Settings of the document, as far as their parts name each other. Traefik itself is not here to be run. */
interface Static {
  readonly entryPoints: Record<string, { transport: { respondingTimeouts: Record<string, string> } }>;
  readonly providers: { readonly file: { readonly filename: string } };
  readonly certificatesResolvers: Record<string, unknown>;
}
interface Router {
  readonly entryPoints: string[];
  readonly rule: string;
  readonly service: string;
  readonly tls: { readonly certResolver: string };
}
interface Dynamic {
  readonly http: {
    readonly routers: Record<string, Router>;
    readonly services: Record<
      string,
      { loadBalancer: { passHostHeader: boolean; responseForwarding: { flushInterval: string }; servers: { url: string }[] } }
    >;
  };
}

const read = (part: string): unknown => Bun.YAML.parse(block("docs/production.md", "yaml", part));

test("docs/production.md: the parts of Traefik's settings fit each other, and its rule the names of a server", () => {
  const fixed = read("entryPoints:\n  websecure") as Static;
  const { http } = read("loadBalancer") as Dynamic;
  expect(Object.values(fixed.entryPoints)[0]?.transport.respondingTimeouts).toMatchObject({ readTimeout: "0s", writeTimeout: "0s" });
  for (const { entryPoints, rule, service, tls } of Object.values(http.routers)) {
    expect(entryPoints.every((name) => name in fixed.entryPoints)).toBe(true);
    expect([service in http.services, tls.certResolver in fixed.certificatesResolvers]).toEqual([true, true]);
    const names = new RegExp(/^HostRegexp\(`(.+)`\)$/.exec(rule)?.[1] ?? "(?!)");
    const hosts = [
      "api.boxyard.example",
      "8080-i0123456789abcdefghij.boxyard.example",
      "boxyard.example",
      "a.b.boxyard.example",
      "apixboxyard.example",
    ];
    expect(hosts.map((host) => names.test(host))).toEqual([true, true, false, false, false]);
  }
  const [{ loadBalancer }] = Object.values(http.services) as [Dynamic["http"]["services"][string]];
  expect(loadBalancer).toMatchObject({
    passHostHeader: true,
    responseForwarding: { flushInterval: "-1ms" },
    servers: [{ url: "http://127.0.0.1:3000" }],
  });
});
