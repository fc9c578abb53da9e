import assert from "node:assert/strict";
import { withSandbox } from "../with-sandbox.mjs";

export default async function (client) {
  await withSandbox(client, async (sandbox) => {
    await sandbox.files.write("hello.txt", "signed");
    const download = await sandbox.downloadUrl("hello.txt", { useSignatureExpiration: 60 });
    const got = await fetch(download);
    assert.deepEqual([got.status, await got.text()], [200, "signed"]);

    const upload = await sandbox.uploadUrl("up.txt", { useSignatureExpiration: 60 });
    const form = new FormData();
    form.append("file", new Blob(["sent"]), "up.txt");
    const sent = await fetch(upload, { method: "POST", body: form });
    assert.equal(sent.status, 200);
    assert.equal(await sandbox.files.read("up.txt"), "sent");

    const forged = new URL(download);
    forged.searchParams.set("path", "/etc/shadow");
    assert.equal((await fetch(forged)).status, 401);
    const late = await sandbox.downloadUrl("hello.txt", { useSignatureExpiration: -10 });
    const answer = await fetch(late);
    assert.deepEqual([answer.status, (await answer.json()).message], [401, "signature is already expired"]);
  });
}
