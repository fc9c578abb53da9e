import { useMemo } from "preact/hooks";
import { FileBrowser } from "../../files/file-browser.tsx";
import type { Agent } from "../../lib/agent.ts";
import { filesOfSandbox } from "../../lib/file-source.ts";

const HOME = "/home/user";
const PLACES = [HOME, "/", "/tmp", "/etc"];

export function FilesTab({ agent }: { agent: Agent }) {
  const source = useMemo(() => filesOfSandbox(agent), [agent]);
  return <FileBrowser source={source} home={HOME} places={PLACES} />;
}
