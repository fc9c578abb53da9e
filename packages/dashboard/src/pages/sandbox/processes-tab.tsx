import type { ProcessInfo } from "@boxyard/sdk";
import { useState } from "preact/hooks";
import type { Agent } from "../../lib/agent.ts";
import { useResource } from "../../lib/resource.ts";
import { Button } from "../../ui/button.tsx";
import { FormDialog } from "../../ui/dialog.tsx";
import { Empty, Loaded } from "../../ui/state.tsx";
import { Table } from "../../ui/table.tsx";
import { told } from "../../ui/toasts.tsx";

/** The command as it was given. A shell's `-l -c` in front of it says nothing. */
export function commandOf({ cmd, args }: Pick<ProcessInfo, "cmd" | "args">): string {
  if (/bash$/.test(cmd) && args[0] === "-l" && args[1] === "-c" && args.length === 3) return args[2] ?? "";
  return [cmd, ...args].join(" ");
}

export function ProcessesTab({ agent }: { agent: Agent }) {
  const processes = useResource(`processes ${agent.address.sandboxId}`, (signal) => agent.commands.list({ signal }), 3000);
  const [doomed, setDoomed] = useState<ProcessInfo | undefined>(undefined);
  return (
    <Loaded from={processes}>
      {(list) =>
        list.length === 0 ? (
          <Empty icon="play" title="Nothing runs here" command={`./boxyard exec ${agent.address.sandboxId} -- sleep 60`}>
            <p>Commands and terminals of this sandbox are listed here while they run. Start one in a terminal, or with:</p>
          </Empty>
        ) : (
          <>
            <Table
              label="Commands and terminals"
              rows={list}
              keyOf={({ pid }) => String(pid)}
              columns={[
                { name: "PID", cell: ({ pid }) => pid, isNumber: true },
                { name: "Command", cell: (process) => <code class="one-line">{commandOf(process)}</code> },
                { name: "Directory", cell: ({ cwd }) => <span class="mono">{cwd ?? ""}</span>, wideOnly: true },
                { name: "Tag", cell: ({ tag }) => (tag ? <span class="chip">{tag}</span> : ""), wideOnly: true },
                {
                  name: "",
                  cell: (process) => (
                    <Button kind="quiet" onPress={() => setDoomed(process)}>
                      Kill
                    </Button>
                  ),
                },
              ]}
            />
            {doomed && (
              <FormDialog
                title={`Kill process ${doomed.pid}?`}
                action="Kill it"
                danger
                onClose={() => setDoomed(undefined)}
                onSubmit={async () => {
                  const wasThere = await agent.commands.kill(doomed.pid);
                  told(wasThere ? `Process ${doomed.pid} is killed.` : `Process ${doomed.pid} had ended already.`);
                  await processes.reload();
                }}
              >
                <p>
                  <code class="break">{commandOf(doomed).slice(0, 500)}</code> and all processes that it has started end at once.
                </p>
              </FormDialog>
            )}
          </>
        )
      }
    </Loaded>
  );
}
