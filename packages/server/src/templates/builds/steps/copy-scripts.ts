import { FIRST_MISSING } from "./scripts.ts";

/*
 * Shell scripts of COPY, which run as root in the sandbox. They need only a POSIX shell, and the tar of GNU or of busybox.
 */

/**
 * COPY archive directory source destination owner mode [list keep]: the rules of docs/contract/templates.md, Copying. With a list (a line with a flag and the path in the
 * archive, then one with the name it arrives under) those of Dockerfiles: directories give their content, and what has the flag `x` is unpacked,
 * with its own owners if `keep` is set.
 */
export const COPY_SCRIPT = `set -e
archive=$1 work=$2 source=$3 destination=$4 owner=$5 mode=$6 list=\${7-} keep=\${8-}
${FIRST_MISSING}
rm -rf -- "$work"
mkdir -p -- "$work/files"
same= ; tar --help 2>&1 | grep -q no-overwrite-dir && same=gnu
magic=$(od -An -tx1 -N2 "$archive" 2>/dev/null | tr -d ' ')
zip=; [ "$magic" = 1f8b ] && zip=z
if [ "$same" = gnu ]; then tar -x\${zip}pf "$archive" -C "$work/files" --no-same-owner; else tar -x\${zip}f "$archive" -C "$work/files"; fi
rm -f -- "$archive"
into() {
  first_missing "$1"
  if [ -n "$missing" ]; then mkdir -p -- "$1"; chown -R -- "$owner" "$missing"; fi
}
merge() {
  into "$destination"
  if [ "$same" = gnu ]; then
    tar -C "$1" -cf - . | tar -C "$destination" -xpf - --no-overwrite-dir --keep-directory-symlink
  else
    cp -a "$1/." "$destination/"
  fi
}
unpack() {
  rm -rf -- "$work/unpacked"
  mkdir -- "$work/unpacked"
  if [ "$same" = gnu ]; then tar -xpf "$1" -C "$work/unpacked" --numeric-owner; else tar -xpf "$1" -C "$work/unpacked"; fi
  [ -n "$keep" ] || chown -Rh -- "$owner" "$work/unpacked"
  merge "$work/unpacked"
}
place() {
  from=$1 to=$destination
  if [ ! -e "$from" ] && [ ! -L "$from" ]; then echo "$3 is not among the files that were uploaded" >&2; exit 1; fi
  # With GNU tar root is the owner already, and chown would remove special bits.
  case $same$owner in gnuroot:|gnuroot:root|gnu0:0) ;; *) chown -Rh -- "$owner" "$from" ;; esac
  [ -z "$mode" ] || { [ -L "$from" ] || chmod -R -- "$mode" "$from"; }
  if [ -d "$from" ] && [ ! -L "$from" ]; then merge "$from"; return; fi
  case $to in
    */) into "$to"; to=$to$2 ;;
    *) into "$(dirname -- "$to")" ;;
  esac
  if [ -d "$to" ] && [ ! -L "$to" ]; then to=$to/$2; fi
  if [ -z "$list" ]; then mv -f -- "$from" "$to"; return; fi
  # Copied, not moved: the file may be part of another source too.
  [ -d "$to" ] || rm -f -- "$to"
  cp -a -- "$from" "$to"
}
if [ -z "$list" ]; then
  from=$work/files
  [ -z "$source" ] || from=$work/files/$source
  place "$from" "$(basename -- "$from")" "$source"
else
  while IFS= read -r path && IFS= read -r name; do
    case $path in
      x*) unpack "$work/files/\${path#??}" ;;
      *) place "$work/files/\${path#??}" "$name" "$name" ;;
    esac
  done <"$list"
fi
rm -rf -- "$work"
`;

/**
 * archive root pattern: packs the files for a COPY from another image. The pattern may match several paths. tar writes to a pipe, because on overlay
 * files of different layers may have the same inode number, and tar leaves out a file that has the inode number of its archive.
 */
export const PACK_SCRIPT = `set -e
mkdir -p -- "$(dirname -- "$1")"
cd "$2/"
IFS=
{ tar -cf - -- $3 || : >"$1.failed"; } | cat >"$1"
[ ! -e "$1.failed" ]
`;

/**
 * archive root list pattern…: the same for Dockerfiles. A pattern matches dot files too, and a link that it matches is followed. The list has the form
 * that COPY_SCRIPT reads. The root is empty, or the directory of an unpacked image.
 */
export const PACK_EACH_SCRIPT = `set -e
archive=$1 root=$2 list=$3
shift 3
[ -z "$root" ] || root=$(cd -P -- "$root" && pwd)
mkdir -p -- "$(dirname -- "$archive")"
: >"$list"
: >"$list.tar"
resolve() {
  real=$1 count=0
  while [ -L "$real" ]; do
    link=$(readlink -- "$real")
    case $link in /*) real=$root$link ;; *) real=$(dirname -- "$real")/$link ;; esac
    count=$((count + 1))
    if [ "$count" -gt 40 ]; then real=; return; fi
  done
  # Resolve links and dots in the directories of the path.
  if [ -d "$real" ]; then real=$(cd -P -- "$real" && pwd); elif [ -e "$real" ]; then real=$(cd -P -- "$(dirname -- "$real")" && pwd)/\${real##*/}; fi
  case $real in //*) real=/\${real##*//} ;; esac
}
add() { printf './%s\\n' "\${1#"$root"/}" >>"$list.tar"; }
take() {
  resolve "$1"
  if [ -z "$real" ] || [ ! -e "$real" ]; then echo "\${1#"$root"} is a link to nothing" >&2; exit 1; fi
  case $real/ in "$root"/*) ;; *) echo "\${1#"$root"} is a link that leads out of its image" >&2; exit 1 ;; esac
  lines=$(printf '%s' "$real$1" | wc -l)
  if [ "$lines" -gt 0 ]; then echo "a name with a line's end in it cannot be copied" >&2; exit 1; fi
  if [ "$real" != "\${root:-/}" ]; then add "$real"
  else
    # Directories of the kernel, the driver and this script are not part of the image.
    for file in "$root"/* "$root"/.*; do
      case \${file#"$root"} in /.|/..|/proc|/sys|/dev|/run|/.boxyard) continue ;; esac
      [ -e "$file" ] || [ -L "$file" ] || continue
      add "$file"
    done
    real=$root/
  fi
  printf -- '- ./%s\\n%s\\n' "\${real#"$root"/}" "\${1##*/}" >>"$list"
}
each() (
  part=\${2%%/*}
  case $2 in */*) rest=\${2#*/} ;; *) rest= ;; esac
  if [ -z "$part" ]; then
    if [ -n "$rest" ]; then each "$1" "$rest"; else take "\${1:-/}"; fi
    exit
  fi
  for file in "$1"/* "$1"/.*; do
    name=\${file##*/}
    case $name in .|..) continue ;; esac
    case $name in $part) ;; *) continue ;; esac
    [ -e "$file" ] || [ -L "$file" ] || continue
    if [ -z "$rest" ]; then take "$file"; elif [ -d "$file" ]; then each "$file" "$rest"; fi
  done
)
for pattern in "$@"; do
  before=$(wc -c <"$list")
  each "$root" "\${pattern#/}"
  if [ "$(wc -c <"$list")" -eq "$before" ]; then echo "there is no $pattern" >&2; exit 1; fi
done
cd "$root/"
if tar --help 2>&1 | grep -q no-overwrite-dir; then set -- --no-unquote -T "$list.tar"
else
  set --
  while IFS= read -r path; do set -- "$@" "$path"; done <"$list.tar"
fi
{ tar -cf - "$@" || : >"$archive.failed"; } | cat >"$archive"
[ ! -e "$archive.failed" ]
`;

/** layer directory: unpacks a layer's tar over the lower layers, in a sandbox of another image. */
export const UNPACK_LAYER_SCRIPT = `set -e
mkdir -p -- "$2"
whiteouts() { tar -tf "$1" | grep -E '(^|/)\\.wh\\.' || true; }
whiteouts "$1" | while IFS= read -r path; do
  name=\${path##*/} directory=$2/\${path%"\${path##*/}"}
  case $name in
    .wh..wh..opq) rm -rf -- "\${directory:?}"* "\${directory:?}".[!.]* ;;
    *) rm -rf -- "$directory\${name#.wh.}" ;;
  esac
done
numeric= ; tar --help 2>&1 | grep -q no-overwrite-dir && numeric=--numeric-owner
tar -xpf "$1" -C "$2" $numeric
whiteouts "$1" | while IFS= read -r path; do rm -f -- "$2/$path"; done
rm -f -- "$1"
`;
