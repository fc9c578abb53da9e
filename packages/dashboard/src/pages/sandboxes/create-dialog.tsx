import { useState } from "preact/hooks";
import { sandbox, templates } from "../../lib/api.ts";
import { useResource } from "../../lib/resource.ts";
import { go } from "../../lib/router.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { Checkbox, Choice, Field } from "../../ui/field.tsx";
import { readPairs } from "./pairs.ts";

interface CreateProps {
  readonly onClose: () => void;
  /** Name or id of a template, or id of a snapshot. */
  readonly from?: string;
}

export function CreateDialog({ onClose, from }: CreateProps) {
  const known = useResource("templates", templates.list);
  const [template, setTemplate] = useState(from ?? "base");
  const [minutes, setMinutes] = useState("15");
  const [metadata, setMetadata] = useState("");
  const [envs, setEnvs] = useState("");
  const [isOnline, setOnline] = useState(true);
  const [pauses, setPauses] = useState(false);
  const names = [...new Set([template, ...(known.data ?? []).map(({ names: all, templateID }) => all[0] ?? templateID)])];
  const create = async () => {
    const made = await sandbox.create({
      templateID: template,
      timeout: Math.round(Number(minutes) * 60),
      metadata: readPairs(metadata, "Metadata"),
      envVars: readPairs(envs, "Environment"),
      allow_internet_access: isOnline,
      autoPause: pauses,
    });
    go(`/sandboxes/${made.sandboxID}`);
  };
  return (
    <FormDialog title="Create a sandbox" action="Create" onSubmit={create} onClose={onClose}>
      <Choice
        label={from ? "From the snapshot" : "Template"}
        value={template}
        onChange={setTemplate}
        options={names.map((name) => [name, name] as const)}
      />
      <Field label="Lifetime in minutes" type="number" min={1} max={1440} value={minutes} onInput={setMinutes} />
      <Checkbox label="Pause it at the end of its lifetime instead of ending it" checked={pauses} onChange={setPauses} />
      <Checkbox label="It may connect to the internet" checked={isOnline} onChange={setOnline} />
      <details>
        <summary>Metadata and environment</summary>
        <Field
          label="Metadata"
          rows={3}
          mono
          placeholder="user=ada"
          hint="One key=value in a line; the list can be searched for it"
          value={metadata}
          onInput={setMetadata}
        />
        <Field
          label="Environment"
          rows={3}
          mono
          placeholder="LANG=C.UTF-8"
          hint="One NAME=value in a line, for every command"
          value={envs}
          onInput={setEnvs}
        />
      </details>
    </FormDialog>
  );
}
