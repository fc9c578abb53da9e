import assert from "node:assert/strict";
import { build, CONTEXT, inside, withName } from "../templates/tools.mjs";

/** Builds on the image that the variables name: without bash, useradd and sudo. */
export default async function (client) {
  const { IMAGE, IMAGE_USER, IMAGE_PASSWORD } = process.env;
  const credentials = { username: IMAGE_USER, password: IMAGE_PASSWORD };
  await withName(async (name) => {
    const template = client
      .Template({ fileContextPath: CONTEXT })
      .fromImage(IMAGE, credentials)
      .copy("src", "/w")
      .runCmd("echo $FROM_IMAGE $(id -un) > ~/seen")
      .setUser("eve")
      .setWorkdir("/made");
    await build(client, template, name);
    const seen = await inside(
      client,
      name,
      "id -un; pwd; cat /home/user/seen; find /w | sort; stat -c '%U %a' /w/a.txt /made; echo $FROM_IMAGE",
    );
    assert.equal(seen, "eve\n/made\nyes user\n/w\n/w/a.txt\n/w/c.md\n/w/deep\n/w/deep/b.txt\n/w/link\nuser 644\neve 755\nyes\n");
    const again = await build(client, template, name);
    assert.ok(
      again.log.some((line) => line.startsWith("CACHED [base] FROM ")),
      again.log.join("\n"),
    );
    assert.ok(!again.log.some((line) => line.includes(IMAGE_PASSWORD)));

    const failure = async (image, login) => {
      const built = build(client, client.Template().fromImage(image, login).runCmd("true"), name);
      return (
        await built.then(
          () => assert.fail("it was built"),
          (error) => error,
        )
      ).message;
    };
    assert.match(await failure(IMAGE, { ...credentials, password: "wrong" }), /failed to fetch the image/);
    assert.match(await failure(`${IMAGE}-absent`, credentials), /failed to fetch the image/);
    assert.match(await failure("no-registry", undefined), /failed to fetch the image 'no-registry'/);
  });
}
