import type { EgressPolicy, ResourceLimits } from "@boxyard/driver";

/** What a pause keeps. `full`: memory and disk. `filesystem`: the disk alone. */
export type PauseMode = "full" | "filesystem";

/** Why it was paused. `idle`: it was idle for too long. `timeout`: its time was over. */
export type PauseCause = "requested" | "idle" | "timeout";

/** What happens to a sandbox when its time is over, and when a request comes while it is paused. */
export interface Lifecycle {
  /** At its end the sandbox is paused in this mode; killed when this is not set. */
  readonly pauseAs?: PauseMode;
  /** Whether a request resumes the sandbox. */
  readonly wakes: boolean;
}

/** A client prepares a sandbox that it has got by name, before others get it. */
export interface Setup {
  /** The client's own random word: who repeats it is the same client. */
  readonly creator: string;
  /** Until when the client has to renew this, milliseconds since 1970; then the sandbox is removed. */
  readonly until: number;
}

/** How often links of a sandbox's ports were withdrawn: of all ports, and of single ones. What was signed with other numbers is not good. */
export interface PortLinkState {
  readonly all: number;
  readonly ports: Readonly<Record<string, number>>;
}

/** What is done to requests to hosts, by the host's name: the rule's headers are sent in place of the request's own. */
export type NetworkRules = Readonly<
  Record<
    string,
    readonly { readonly transform?: { readonly headers?: Readonly<Record<string, string>> | null | undefined } | null | undefined }[]
  >
>;

/** A secret of the team that requests to some hosts get in place of the text that the sandbox has for it. */
export interface NetworkSecret {
  readonly name: string;
  readonly hosts: readonly string[];
  readonly methods?: readonly string[] | undefined;
  readonly paths?: readonly string[] | undefined;
}

/** The proxy outside through which all traffic of a sandbox goes, as it was given. The password and the certificate are shown to nobody. */
export interface EgressProxySetting {
  readonly address: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly tls?:
    | { readonly enabled: boolean; readonly serverName?: string | undefined; readonly caCert?: string | undefined }
    | null
    | undefined;
}

/** A recording in which the exchanges of a sandbox by HTTP are kept, or one that answers them; by its name. */
export type RecordingSetting =
  | { readonly record: string }
  /** `onMiss`: what happens to requests that it has no answer to; `deny` by default. */
  | { readonly replay: string; readonly onMiss?: "deny" | "pass" };

/** A preset of the network as it was given: its name, and the lists beside it. */
export interface NetworkPreset {
  readonly name: "none" | "packages" | "all";
  readonly allowOut?: readonly string[];
  readonly denyOut?: readonly string[];
}

/** The part of a sandbox's record that can change while the sandbox lives. */
export interface SandboxSettings {
  readonly metadata: Readonly<Record<string, string>>;
  /** The egress policy, with the lists as they were given, and with what a preset adds to them. */
  readonly egress: EgressPolicy;
  readonly preset?: NetworkPreset;
  /** The rules for requests, as they were given; hosts in lower case. */
  readonly rules?: NetworkRules;
  /** Secrets that are put into requests, outside the sandbox; hosts in lower case. */
  readonly secrets?: readonly NetworkSecret[];
  /** Set if and only if `egress.isProxied` is, but where this server cannot open what another has sealed. */
  readonly egressProxy?: EgressProxySetting;
  readonly recording?: RecordingSetting;
  readonly allowPublicTraffic: boolean;
  readonly maskRequestHost?: string;
  /** Ports inside that speak TLS. */
  readonly httpsPorts?: readonly number[];
  readonly portLinks?: PortLinkState;
  /** What happens when its time is over, and when a request comes while it is paused; by default the end kills it. */
  readonly lifecycle?: Lifecycle;
  /** What the pause has kept; set while the sandbox pauses, is paused or resumes. */
  readonly pauseMode?: PauseMode;
  /** Set as long as `pauseMode`. */
  readonly pauseCause?: PauseCause;
  /** After so many milliseconds without use its end comes, as if its time were over; it may be idle for all its time without this. */
  readonly idleMs?: number;
  /** Set until the client that made the sandbox by name has prepared it. */
  readonly setup?: Setup;
  /** A sandbox of the pool that is being given to a user: its agent may have that user's environment, so nobody else gets it. */
  readonly isHandedOut?: true;
  /** Its limits, where they were changed since its create. */
  readonly resources?: ResourceLimits;
}
