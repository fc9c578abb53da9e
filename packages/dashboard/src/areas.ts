import type { IconName } from "./ui/icon.tsx";

interface Area {
  readonly path: string;
  readonly name: string;
  readonly icon: IconName;
}

/** The parts of the dashboard, in the order of the menu. */
export const AREAS: readonly Area[] = [
  { path: "/", name: "Overview", icon: "overview" },
  { path: "/sandboxes", name: "Sandboxes", icon: "box" },
  { path: "/templates", name: "Templates", icon: "template" },
  { path: "/snapshots", name: "Snapshots", icon: "snapshot" },
  { path: "/volumes", name: "Volumes", icon: "volume" },
  { path: "/secrets", name: "Secrets", icon: "secret" },
  { path: "/events", name: "Events", icon: "event" },
  { path: "/webhooks", name: "Webhooks", icon: "webhook" },
  { path: "/keys", name: "API keys", icon: "key" },
  { path: "/team", name: "Team", icon: "team" },
  { path: "/settings", name: "Settings", icon: "settings" },
];
