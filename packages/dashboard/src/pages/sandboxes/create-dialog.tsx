import { useState } from "preact/hooks";
import { sandbox, templates, volumes } from "../../lib/api.ts";
import { entriesOf } from "../../lib/network-entries.ts";
import { type Preset, problemOf } from "../../lib/network-update.ts";
import { useResource } from "../../lib/resource.ts";
import { go } from "../../lib/router.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { Checkbox, Choice, Field } from "../../ui/field.tsx";
import { NO_WISHES, newSandbox, type Wish } from "./new-sandbox.ts";

interface CreateProps {
  readonly onClose: () => void;
  /** Name or id of a template, or id of a snapshot. */
  readonly from?: string;
}

const OUTSIDE: readonly (readonly [Preset, string])[] = [
  ["all", "everything but private networks"],
  ["packages", "the package registries, and what is allowed"],
  ["none", "only what is allowed"],
];

export function CreateDialog({ onClose, from }: CreateProps) {
  const [wish, setWish] = useState<Wish>({ ...NO_WISHES, template: from ?? "base" });
  const change = (part: Partial<Wish>) => setWish({ ...wish, ...part });
  const create = async () => {
    const problem = problemOf({ preset: wish.preset, allowed: wish.allowed, denied: "" });
    if (problem !== undefined && entriesOf(wish.allowed).length > 0) throw new Error(problem);
    const made = await sandbox.create(newSandbox(wish));
    go(`/sandboxes/${made.sandboxID}`);
  };
  return (
    <FormDialog title="Create a sandbox" action="Create" onSubmit={create} onClose={onClose}>
      <Basics wish={wish} change={change} isSnapshot={from !== undefined} />
      <details>
        <summary>Size</summary>
        <div class="pair tight">
          <Field
            label="CPUs"
            type="number"
            min={0.1}
            step={0.1}
            placeholder="as the template"
            value={wish.cpus}
            onInput={(cpus) => change({ cpus })}
          />
          <Field
            label="Memory in MiB"
            type="number"
            min={128}
            placeholder="as the template"
            value={wish.memory}
            onInput={(memory) => change({ memory })}
          />
        </div>
        <Field
          label="Disk in MiB"
          type="number"
          min={64}
          placeholder="as the template"
          value={wish.disk}
          onInput={(disk) => change({ disk })}
        />
      </details>
      <details>
        <summary>Network</summary>
        <Choice
          label="It may reach"
          value={wish.preset}
          onChange={(value) => change({ preset: OUTSIDE.find(([name]) => name === value)?.[0] ?? "all" })}
          options={OUTSIDE}
        />
        {wish.preset !== "all" && (
          <Field
            label="Allowed"
            rows={3}
            mono
            placeholder="api.example.com"
            hint="An address, a network or a domain in a line"
            value={wish.allowed}
            onInput={(allowed) => change({ allowed })}
          />
        )}
      </details>
      <Volumes wish={wish} change={change} />
      <details>
        <summary>Metadata and environment</summary>
        <Field
          label="Metadata"
          rows={3}
          mono
          placeholder="user=ada"
          hint="One key=value in a line; the list can be searched for it"
          value={wish.metadata}
          onInput={(metadata) => change({ metadata })}
        />
        <Field
          label="Environment"
          rows={3}
          mono
          placeholder="LANG=C.UTF-8"
          hint="One NAME=value in a line, for every command"
          value={wish.envs}
          onInput={(envs) => change({ envs })}
        />
      </details>
    </FormDialog>
  );
}

interface PartProps {
  readonly wish: Wish;
  readonly change: (part: Partial<Wish>) => void;
}

function Basics({ wish, change, isSnapshot }: PartProps & { readonly isSnapshot: boolean }) {
  const known = useResource("templates", templates.list);
  const names = [...new Set([wish.template, ...(known.data ?? []).map(({ names: all, templateID }) => all[0] ?? templateID)])];
  return (
    <>
      <Choice
        label={isSnapshot ? "From the snapshot" : "Template"}
        value={wish.template}
        onChange={(template) => change({ template })}
        options={names.map((name) => [name, name] as const)}
      />
      <Field label="Name" placeholder="optional" value={wish.name} onInput={(name) => change({ name })} />
      <div class="pair tight">
        <Field
          label="Lifetime in minutes"
          type="number"
          min={1}
          max={1440}
          value={wish.minutes}
          onInput={(minutes) => change({ minutes })}
        />
        <Field
          label="Minutes without use"
          type="number"
          min={1}
          placeholder="no limit"
          value={wish.idleMinutes}
          onInput={(idleMinutes) => change({ idleMinutes })}
        />
      </div>
      <Checkbox
        label="Pause it at the end of its lifetime instead of ending it"
        checked={wish.pauses}
        onChange={(pauses) => change({ pauses, resumes: pauses && wish.resumes })}
      />
      {wish.pauses && <Checkbox label="A request resumes it" checked={wish.resumes} onChange={(resumes) => change({ resumes })} />}
    </>
  );
}

function Volumes({ wish, change }: PartProps) {
  const known = useResource("volumes", volumes.list);
  const names = (known.data ?? []).map(({ name }) => name);
  return (
    <details>
      <summary>Volumes</summary>
      <Field
        label="Mounts"
        rows={2}
        mono
        placeholder={`${names[0] ?? "my-volume"}:/data`}
        hint={
          names.length === 0
            ? "There is no volume yet: create one on the page Volumes"
            : `One NAME:PATH in a line, with :ro at its end to read only. There are: ${names.slice(0, 20).join(", ")}`
        }
        value={wish.volumes}
        onInput={(text) => change({ volumes: text })}
      />
    </details>
  );
}
