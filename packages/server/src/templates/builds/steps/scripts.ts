/* Shell scripts that build steps run as root in the sandbox. Arguments are passed as $1, $2 …, so they are never read as code. */

/** Shell function: sets `missing` to the first part of a path that does not exist, which a new owner gets with all below. */
export const FIRST_MISSING = `first_missing() {
  missing= p=$1
  while [ ! -d "$p" ]; do missing=$p; p=$(dirname -- "$p"); done
}
`;

/** WORKDIR path user. Prints "unchanged" when the directory was there. */
export const WORKDIR_SCRIPT = `set -e
${FIRST_MISSING}
first_missing "$1"
if [ -z "$missing" ]; then echo unchanged; exit 0; fi
mkdir -p -- "$1"
chown -R -- "$2" "$missing"
`;

/**
 * USER name-or-uid sudo("true" or ""). Makes a missing user, with home and shell. The last line of the output has the user's name and home; the line
 * before it is "unchanged" when nothing was made.
 */
export const USER_SCRIPT = `set -e
name=$1
entry() { awk -F: -v w="$1" '$1 == w || $3 == w { print; exit }' /etc/passwd 2>/dev/null || grep -m1 -E "^$1:|^[^:]*:[^:]*:$1:" /etc/passwd || true; }
changed=
line=$(entry "$name")
if [ -z "$line" ]; then
  case $name in *[!0-9]*) ;; *) echo "there is no user with the id $name" >&2; exit 1;; esac
  shell=/bin/sh; [ -x /bin/bash ] && shell=/bin/bash
  changed=1
  if command -v useradd >/dev/null; then useradd -m -s "$shell" -- "$name" >&2
  elif command -v adduser >/dev/null; then adduser -D -s "$shell" -- "$name" >&2
  else
    id=1000
    while grep -q "^[^:]*:[^:]*:$id:" /etc/passwd /etc/group; do id=$((id + 1)); done
    echo "$name:x:$id:$id::/home/$name:$shell" >>/etc/passwd
    echo "$name:x:$id:" >>/etc/group
    mkdir -p "/home/$name"; chown "$id:$id" "/home/$name"
  fi
  line=$(entry "$name")
fi
name=\${line%%:*}
if [ "$2" = true ]; then
  mkdir -p /etc/sudoers.d
  rule="$name ALL=(ALL:ALL) NOPASSWD: ALL"
  if ! grep -qxF "$rule" "/etc/sudoers.d/$name" 2>/dev/null; then
    changed=1
    echo "$rule" >"/etc/sudoers.d/$name"
    chmod 0440 "/etc/sudoers.d/$name"
  fi
fi
[ -n "$changed" ] || echo unchanged
echo "$line" | { IFS=: read -r n _ _ _ _ home _; echo "$n $home"; }
`;

/** What `OPEN_UP_SCRIPT` looks at. The list of users says whose the home is. */
export const OPENED_UP = ["/usr/local", "/code", "/home/user", "/etc/passwd"];

/**
 * Makes /usr/local and /code writable for the user, and gives the user its home (docs/contract/templates.md). Runs once for the base of a build, and again
 * at the end, for files that the steps have added. Changes only what has other modes or owners, because each changed file is copied into the layer.
 * The arguments are those of `OPENED_UP` that may have changed since it ran: looking at all files of /usr/local takes a tenth of a second.
 */
export const OPEN_UP_SCRIPT = `set -e
among=" $* "
may_differ() { case $among in *" $1 "*) return 0;; esac; return 1; }
changed=
if may_differ /usr/local && [ -d /usr/local ]; then
  found=$(find /usr/local ! -type l ! -perm 0777 -print -quit 2>/dev/null || echo all)
  if [ -n "$found" ]; then changed=1; find /usr/local ! -type l ! -perm 0777 -exec chmod 0777 {} + 2>/dev/null || chmod -R 777 /usr/local; fi
fi
if [ ! -d /code ]; then mkdir -p /code; changed=1; fi
if [ "$(stat -c %a /code 2>/dev/null)" != 777 ]; then chmod 777 /code; changed=1; fi
if { may_differ /home/user || may_differ /etc/passwd; } && [ -d "/home/user" ] && id user >/dev/null 2>&1; then
  found=$(find /home/user ! -user user -print -quit 2>/dev/null || echo all)
  if [ -n "$found" ]; then changed=1; chown -Rh user:user /home/user; fi
fi
[ -n "$changed" ] || echo unchanged
`;

/**
 * For images from registries and archives: installs bash and sudo if the image's package manager can do that, and does not fail if it cannot.
 * USER_SCRIPT makes the user.
 */
export const PROVISION_SCRIPT = `
has() { command -v "$1" >/dev/null 2>&1; }
if ! has sudo || ! has bash; then
  if has apt-get; then
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq && apt-get install -y -qq --no-install-recommends bash sudo ca-certificates && apt-get clean && rm -rf /var/lib/apt/lists/*
  elif has apk; then apk add --no-cache bash sudo ca-certificates shadow
  elif has dnf; then dnf install -y bash sudo ca-certificates && dnf clean all
  elif has yum; then yum install -y bash sudo ca-certificates && yum clean all
  elif has pacman; then pacman -Sy --noconfirm bash sudo ca-certificates
  fi
fi
has sudo || echo "this image has no sudo, and its package manager could not bring it" >&2
exit 0
`;
