import type { SandboxDetail } from "@boxyard/spec/platform-types";
import { useState } from "preact/hooks";
import { type Agent, portAddress } from "../../lib/agent.ts";
import { listeningPorts } from "../../lib/listening-ports.ts";
import { useResource } from "../../lib/resource.ts";
import { Button } from "../../ui/button.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Empty, Loaded } from "../../ui/state.tsx";
import { Table } from "../../ui/table.tsx";

interface PortsTabProps {
  readonly agent: Agent;
  readonly detail: SandboxDetail;
  readonly domain: string | undefined;
}

export function PortsTab({ agent, detail, domain }: PortsTabProps) {
  const { sandboxID: id, network } = detail;
  const ports = useResource(`ports ${id}`, (signal) => listeningPorts(agent.commands, signal), 5000);
  const [shown, setShown] = useState<number | undefined>(undefined);
  const isPublic = network?.allowPublicTraffic !== false;
  const preview = shown === undefined ? undefined : portAddress(id, shown, domain);
  return (
    <div class="stack">
      {!isPublic && (
        <div class="banner">The ports are private: requests need the traffic token in a header, so a browser cannot open them.</div>
      )}
      <Loaded from={ports}>
        {(list) =>
          list.length === 0 ? (
            <Empty icon="external" title="No program listens" command="python3 -m http.server 8000">
              <p>When a program in the sandbox listens on a port, its address is here. For example, in a terminal of the sandbox:</p>
            </Empty>
          ) : (
            <Table
              label="Ports"
              rows={list}
              keyOf={String}
              columns={[
                { name: "Port", cell: (port) => port, isNumber: true },
                { name: "Address", cell: (port) => <Address id={id} port={port} domain={domain} /> },
                {
                  name: "",
                  cell: (port) => (
                    <Button kind="quiet" disabled={!isPublic || !portAddress(id, port, domain).ownHost} onPress={() => setShown(port)}>
                      Preview
                    </Button>
                  ),
                },
              ]}
            />
          )
        }
      </Loaded>
      {preview && (
        <div class="preview">
          <div class="files-bar">
            <span class="mono file-name">{preview.url}</span>
            <Button kind="quiet" icon="close" onPress={() => setShown(undefined)}>
              Close
            </Button>
          </div>
          {/* The page has a host name of its own, so it is of another origin than the dashboard, and may not lead the window elsewhere. */}
          <iframe
            src={preview.url}
            title={`Preview of port ${shown}`}
            sandbox="allow-scripts allow-forms allow-same-origin allow-modals"
            referrerpolicy="no-referrer"
          />
        </div>
      )}
    </div>
  );
}

function Address({ id, port, domain }: { id: string; port: number; domain: string | undefined }) {
  const { url } = portAddress(id, port, domain);
  return (
    <span class="address">
      <a href={url} target="_blank" rel="noopener noreferrer" class="mono">
        {url}
      </a>
      <CopyButton text={new URL(url, location.href).href} what="the address" />
    </span>
  );
}
