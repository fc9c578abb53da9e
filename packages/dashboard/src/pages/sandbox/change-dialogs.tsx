import type { SandboxDetail } from "@boxyard/spec/platform-types";
import { useState } from "preact/hooks";
import { sandbox } from "../../lib/api.ts";
import { counted } from "../../lib/format.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { Field } from "../../ui/field.tsx";

export interface ActionDialogProps {
  readonly id: string;
  readonly onClose: () => void;
  readonly then: (done: Promise<unknown>, text: string) => Promise<void>;
}

/** When the sandbox ends. */
export function LifetimeDialog({ id, onClose, then, idleTimeout }: ActionDialogProps & { readonly idleTimeout: number | undefined }) {
  const before = idleTimeout ? String(Math.round(idleTimeout / 60)) : "";
  const [minutes, setMinutes] = useState("60");
  const [idle, setIdle] = useState(before);
  const set = async () => {
    await sandbox.extend(id, Math.round(Number(minutes) * 60));
    if (idle !== before) await sandbox.update(id, { idleTimeout: Math.round(Number(idle) * 60) });
  };
  return (
    <FormDialog
      title="Lifetime"
      action="Set"
      onSubmit={() => then(set(), `It ends in ${counted(Number(minutes), "minute")}.`)}
      onClose={onClose}
    >
      <Field label="Minutes from now" type="number" min={1} max={1440} value={minutes} onInput={setMinutes} autoFocus />
      <Field
        label="Minutes without use"
        type="number"
        min={0}
        placeholder="none"
        hint="Its end comes earlier when nothing has used it for so long"
        value={idle}
        onInput={setIdle}
      />
    </FormDialog>
  );
}

/** The size of the sandbox, while it runs. */
export function ResizeDialog({ id, onClose, then, detail }: ActionDialogProps & { readonly detail: SandboxDetail }) {
  const [cpus, setCpus] = useState(String(detail.cpuCount));
  const [memory, setMemory] = useState(String(detail.memoryMB));
  const [disk, setDisk] = useState(String(detail.diskSizeMB));
  const size = {
    ...(Number(cpus) !== detail.cpuCount && { cpuCount: Number(cpus) }),
    ...(Number(memory) !== detail.memoryMB && { memoryMB: Number(memory) }),
    ...(Number(disk) !== detail.diskSizeMB && { diskSizeMB: Number(disk) }),
  };
  const submit = () => then(sandbox.resize(id, size), "The new size holds.");
  return (
    <FormDialog title={`Resize ${id}`} action="Resize" disabled={Object.keys(size).length === 0} onSubmit={submit} onClose={onClose}>
      <p>It runs on meanwhile. A size below what it uses is refused.</p>
      <Field label="CPUs" type="number" min={0.1} step={0.1} value={cpus} onInput={setCpus} autoFocus />
      <Field label="Memory in MiB" type="number" min={128} value={memory} onInput={setMemory} />
      <Field
        label="Disk in MiB"
        type="number"
        min={64}
        hint="What it may write beside the template's own files"
        value={disk}
        onInput={setDisk}
      />
    </FormDialog>
  );
}

export function RenameDialog({ id, onClose, then, detail }: ActionDialogProps & { readonly detail: SandboxDetail }) {
  const [name, setName] = useState(detail.name ?? "");
  const wanted = name.trim();
  const submit = () => then(sandbox.update(id, { name: wanted }), wanted === "" ? "It has no name now." : `It is called ${wanted}.`);
  return (
    <FormDialog title={`Rename ${id}`} action="Rename" disabled={wanted === (detail.name ?? "")} onSubmit={submit} onClose={onClose}>
      <Field
        label="Name"
        placeholder="none"
        hint="Letters, digits, '.', '_' and '-'; no other sandbox of the team has it. Empty: none"
        value={name}
        onInput={setName}
        autoFocus
      />
    </FormDialog>
  );
}
