import assert from "node:assert/strict";
import { build, CONTEXT, inside, withName } from "./tools.mjs";

/** Every kind of step; a second build comes from the cache. */
export default async function (client) {
  await withName(async (name) => {
    const template = client
      .Template({ fileContextPath: CONTEXT })
      .fromBaseImage()
      .setEnvs({ COLOUR: "green" })
      .setEnvs({ SHADE: "dark-$COLOUR", QUOTED: 'a "b" `c` \\d' })
      .setWorkdir("/app")
      .copy("hello.txt", "as.txt")
      .copy("hello.txt", "in/")
      .copy("src", "tree", { user: "root", mode: 0o750 })
      .copy("src/*.txt", "texts/")
      .copy("run.sh", "/usr/local/bin/run-it")
      .runCmd("echo $SHADE > shade; whoami >> shade; run-it >> shade")
      .runCmd("id -un > /root/who", { user: "root" })
      .makeDir("made/here", { mode: 0o700 })
      .rename("shade", "made/shade")
      .makeSymlink("made/shade", "shade-link")
      .remove("in/hello.txt")
      .setUser("worker")
      .setWorkdir("sub")
      .runCmd("pwd > place");
    const first = await build(client, template, name, { cpuCount: 1, memoryMB: 512 });
    assert.match(first.templateId, /^[a-z0-9]{20}$/);
    assert.ok(first.log.some((line) => line.startsWith("Build finished, took ")));

    const seen = await inside(
      client,
      name,
      `cd /app; pwd; cat as.txt made/shade shade-link; ls in; sudo find tree texts | sort; sudo readlink tree/link; sudo stat -c '%U %a %n' tree/a.txt as.txt made/here sub
       sudo cat /root/who; cat sub/place; echo "$COLOUR $SHADE $QUOTED"; whoami; cut -d= -f1 /.e2b; stat -c %a /code /usr/local/bin`,
      { user: "user" },
    );
    assert.equal(
      seen,
      "/app\nhello\ndark-green\nuser\nscript ran\ndark-green\nuser\nscript ran\n" +
        "texts\ntexts/a.txt\ntree\ntree/a.txt\ntree/c.md\ntree/deep\ntree/deep/b.txt\ntree/link\na.txt\n" +
        "root 750 tree/a.txt\nuser 644 as.txt\nuser 700 made/here\nworker 755 sub\n" +
        'root\n/app/sub\ngreen dark-green a "b" `c` \\d\nuser\nENV_ID\nTEMPLATE_ID\nBUILD_ID\n777\n777\n',
    );
    assert.equal(await inside(client, name, "whoami; pwd"), "worker\n/app/sub\n");

    const again = await build(client, template, name, { cpuCount: 1, memoryMB: 512 });
    assert.equal(again.templateId, first.templateId);
    assert.notEqual(again.buildId, first.buildId);
    const steps = again.log.filter((line) => line.includes("[builder "));
    assert.ok(steps.length > 10 && steps.every((line) => line.startsWith("CACHED ")), steps.join("\n"));
    assert.ok(again.ms < 1500, `a cached build took ${again.ms} ms`);

    const forced = await build(client, template, name, { skipCache: true });
    assert.ok(!forced.log.some((line) => line.startsWith("CACHED [builder")));
  });
}
