import assert from "node:assert/strict";
import { build, CONTEXT, inside, withName } from "./tools.mjs";

/** What each Dockerfile gives: its text, a command, and what that prints in a sandbox of it. */
const CASES = [
  ["RUN and shell features", "RUN echo a > /one && echo b >> /one", "cat /one", "a\nb\n"],
  ["RUN over several lines", "RUN echo a \\\n  b \\\n  > /two", "cat /two", "a b\n"],
  [
    "COPY of a file and of a folder",
    "WORKDIR /w\nCOPY hello.txt .\nCOPY src ./src",
    "cd /w; cat hello.txt; ls src",
    "hello\na.txt\nc.md\ndeep\nlink\n",
  ],
  ["COPY with an owner", "COPY --chown=user hello.txt /owned", "stat -c %U /owned", "user\n"],
  ["COPY of a pattern", "COPY src/*.md /docs/", "ls /docs", "c.md\n"],
  ["ADD", "ADD hello.txt /added/", "cat /added/hello.txt", "hello\n"],
  ["ENV, both forms, and its use", "ENV A=1 B=two\nENV C three\nRUN echo $A$B$C > /env", "cat /env; echo $A$B$C", "1twothree\n1twothree\n"],
  ["ENV from an earlier one", "ENV A=/x\nENV B=$A/y", "echo $B", "/x/y\n"],
  [
    "ENV PATH counts in later steps",
    "RUN mkdir -p /t && cp /bin/echo /t/mine\nENV PATH=/t:$PATH\nRUN mine mine > /out",
    "cat /out",
    "mine\n",
  ],
  ["ARG with a default", "ARG V=9\nRUN echo $V > /arg", "cat /arg", "9\n"],
  ["WORKDIR, made and relative", "WORKDIR /a\nWORKDIR b\nRUN pwd > here", "cat /a/b/here; pwd", "/a/b\n/a/b\n"],
  ["USER for later steps and sandboxes", "USER user\nRUN whoami > ~/me", "cat ~/me; whoami", "user\nuser\n"],
  ["without USER the steps are root's and sandboxes user's", "RUN whoami > /me", "cat /me; whoami; pwd", "root\nuser\n/home/user\n"],
  [
    "links are kept",
    "RUN ln -s /etc/hostname /l && mkdir /h && echo x > /h/1 && ln /h/1 /h/2",
    "readlink /l; stat -c %h /h/1",
    "/etc/hostname\n2\n",
  ],
  [
    "what is removed is gone",
    "RUN rm -rf /usr/games && rm /etc/issue",
    "ls -d /usr/games /etc/issue 2>&1 | wc -l; test ! -e /etc/issue && echo gone",
    "2\ngone\n",
  ],
  [
    "a folder made again is empty but for what is new",
    "RUN rm -rf /etc/skel && mkdir /etc/skel && touch /etc/skel/new",
    "ls -A /etc/skel",
    "new\n",
  ],
  ["comments and blank lines", "# first\n\nRUN echo 1 > /c\n  # second\nRUN echo 2 >> /c", "cat /c", "1\n2\n"],
  ["modes and special bits", "RUN touch /m && chmod 4751 /m && mkdir /s && chmod 1777 /s", "stat -c %a /m /s", "4751\n1777\n"],
];

export default async function (client) {
  for (const [what, text, command, wanted] of CASES) {
    await withName(async (name) => {
      const template = client.Template({ fileContextPath: CONTEXT }).fromDockerfile(`FROM e2bdev/base\n${text}\n`);
      await build(client, template, name).catch((error) => assert.fail(`${what}: ${error.message}`));
      assert.equal(await inside(client, name, command), wanted, what);
    });
  }
}
