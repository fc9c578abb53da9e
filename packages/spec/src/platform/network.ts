import { z } from "zod";
import { named } from "../openapi.ts";
import { StringMap } from "./common.ts";
import { RecordingName } from "./recording-routes.ts";

/** What is done to the requests to a host by HTTPS. Members beyond these are refused. */
const NetworkRule = z
  .strictObject({
    transform: z
      .strictObject({
        headers: StringMap.nullish().meta({
          description: "Headers that each request gets, in place of its own of these names; 20 at most",
        }),
      })
      .nullish(),
  })
  .meta(named("SandboxNetworkRule"));

/** A secret of the team that requests to some hosts get, outside the sandbox. */
const AttachedSecret = z
  .strictObject({
    name: z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/, "must be the name of a secret"),
    hosts: z.array(z.string()).min(1, "must name a host").max(10, "must name at most 10 hosts"),
    methods: z
      .array(z.string().regex(/^[A-Z]{1,32}$/, "must be methods in upper case"))
      .min(1)
      .max(10)
      .optional(),
    paths: z
      .array(
        z
          .string()
          .max(1024)
          .regex(/^\/[^?#*\s]*\*?$/, "must be paths, or paths with '*' at their end"),
      )
      .min(1)
      .max(20)
      .optional(),
  })
  .meta(named("SandboxNetworkSecret"));

/** A proxy outside through which the traffic of a sandbox goes. Members beyond these are refused. */
const EgressProxy = z
  .strictObject({
    address: z
      .string()
      .max(300)
      .meta({ description: "`HOST:PORT`, or a URL that names the protocol: `socks5://HOST:PORT`, `http://HOST:PORT` (by CONNECT)" }),
    username: z.string().max(255).optional(),
    password: z.string().max(255).optional().meta({ description: "Never returned" }),
    tls: z
      .strictObject({
        enabled: z.boolean(),
        serverName: z
          .string()
          .max(253)
          .optional()
          .meta({ description: "Name in the proxy's certificate; the host of `address` by default" }),
        caCert: z
          .string()
          .max(8192)
          .optional()
          .meta({ description: "Authorities in PEM form, in place of those of the machine; never returned" }),
      })
      .nullish()
      .meta({ description: "The proxy itself is spoken to by TLS" }),
  })
  .meta({
    ...named("SandboxEgressProxy"),
    description:
      "A proxy outside through which all TCP connections go that the other members let out; nothing else leaves the sandbox then. SOCKS5 by default",
  });

/** A name for a policy; the lists beside it go on top of what it stands for. */
const NetworkPreset = z.enum(["none", "packages", "all"]).meta({
  description:
    "`none`: all is denied; `packages`: all but the package registries that the server's machine is set to use; `all`: nothing. `allowOut` and `denyOut` are added to what it stands for",
});

/** Who may talk to whom. Members beyond these are known to the contract; the server refuses those it cannot enforce, it ignores none. */
export const NetworkConfig = z
  .object({
    preset: NetworkPreset.nullish(),
    allowPublicTraffic: z.boolean().nullish(),
    record: RecordingName.nullish().meta({
      description:
        "Name of a recording in which every exchange by HTTP is kept; it is made when it is not there. TLS is opened outside the sandbox",
    }),
    replay: RecordingName.nullish().meta({ description: "Name of a recording that answers requests by HTTP" }),
    onMiss: z.enum(["deny", "pass"]).nullish().meta({
      description:
        "With `replay`, what happens to a request that the recording has no answer to. `deny`, by default: it gets 504, and nothing leaves the sandbox at all; `pass`: it is sent as the other members allow",
    }),
    allowOut: z.array(z.string()).nullish().meta({
      description:
        "IPv4 addresses, networks and names of hosts (`example.com`, `*.example.com`, `*`) that are allowed, 256 at most. An allowed one is used before a denied one. Names need `0.0.0.0/0` in `denyOut`",
    }),
    denyOut: z
      .array(z.string())
      .nullish()
      .meta({ description: "Addresses and networks that are denied, 256 at most; `0.0.0.0/0` denies all" }),
    egressProxy: EgressProxy.nullish(),
    maskRequestHost: z.string().nullish(),
    httpsPorts: z.array(z.int()).nullish().meta({
      description: "Ports inside that speak TLS, 256 at most; their certificates are not checked. Their addresses stay as they are",
    }),
    dnsServers: z
      .array(z.string())
      .nullish()
      .meta({ description: "IPv4 addresses of name servers that are allowed while `allowOut` has a name, 10 at most; none by default" }),
    rules: z.record(z.string(), z.array(NetworkRule)).nullish().meta({
      description:
        "What is done to requests by HTTPS to a host (`example.com`) or to all hosts below one (`*.example.com`): 10 hosts at most, with one rule each. Rules open no way: what may be reached is said by the other members",
    }),
    secrets: z.array(AttachedSecret).max(20, "must have at most 20 entries").nullish().meta({
      description:
        "Secrets that requests by HTTPS to their hosts get in place of `boxyard.NAME.secret`, which the sandbox sends: in headers, in passwords of basic authentication and in the address. The values never enter the sandbox",
    }),
  })
  .meta(named("SandboxNetworkConfig"));

export const NetworkUpdate = NetworkConfig.pick({
  preset: true,
  allowOut: true,
  denyOut: true,
  egressProxy: true,
  dnsServers: true,
  rules: true,
  secrets: true,
  record: true,
  replay: true,
  onMiss: true,
})
  .extend({ allow_internet_access: z.boolean().nullish().meta({ description: "false: nothing leaves the sandbox; true by default" }) })
  .meta(named("SandboxNetworkUpdateConfig"));
