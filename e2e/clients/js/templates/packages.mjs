import assert from "node:assert/strict";
import { build, inside, withName } from "./tools.mjs";

/** Package managers work in a build as they do on the machine, and nothing of the machine's settings stays. */
export default async function (client) {
  await withName(async (name) => {
    const template = client
      .Template()
      .fromBaseImage()
      .aptInstall(["hello"])
      .pipInstall(["six"])
      .npmInstall(["is-number"])
      .runCmd("sudo pip install idna");
    await build(client, template, name);
    const seen = await inside(
      client,
      name,
      "hello -t; python3 -c 'import six, idna; print(six.PY3)'; ls node_modules; sudo ls /etc/sudoers.d; env | grep -ci boxyard; sudo find / -xdev -path /proc -prune -o -name '*boxyard*' -print 2>/dev/null | grep -v '^/.boxyard' || true",
    );
    assert.equal(seen, "hello, world\nTrue\nis-number\nREADME\nauthorities\nuser\n0\n");
  });
}
