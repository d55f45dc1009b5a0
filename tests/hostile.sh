#!/usr/bin/env bash
# Runs the quick tests where nothing is as usual: a copy of this ready checkout whose path has a blank and a quote, an
# ordinary user, no environment, an ASCII locale, a dumb terminal, FORCE_COLOR, umask 077, stdin closed, under nohup.
#     tests/hostile.sh [ARGUMENTS OF pytest]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
above=$(mktemp -d)
trap 'rm -rf "$above"' EXIT
chmod 755 "$above"
here=$PWD there="$above/it's a copy"
mkdir "$there"
{ git ls-files -z --cached --others --exclude-standard; printf '.venv\0'; } |
    tar --create --null --files-from=- --ignore-failed-read | tar --extract --directory="$there"
mkdir "$there/games" "$above/home"

# What pip has written into .venv names the old folder.
"$here/.venv/bin/python" - "$here" "$there" <<'PYTHON'
import sys
from pathlib import Path

here, there = sys.argv[1:]
venv = Path(there, ".venv")
for script in (venv / "bin").iterdir():
    if script.is_symlink() or not script.read_bytes().startswith(f"#!{here}".encode()):
        continue
    _, rest = script.read_text(encoding="utf-8").split("\n", 1)
    head = f"""#!/bin/sh\n'''exec' "{venv}/bin/python" "$0" "$@"\n' '''\n"""
    script.write_text(head + rest, encoding="utf-8")
for hook in venv.glob("lib/python*/site-packages/_editable_skbc_*.py"):
    text = hook.read_text(encoding="utf-8")
    # The paths are literals between single quotes.
    hook.write_text(text.replace(f"'{here}", "'" + there.replace("'", "\\'")), encoding="utf-8")
(venv / ".ready").write_text("%d.%d %s\n" % (*sys.version_info[:2], venv), encoding="utf-8")
PYTHON

as_user=()
if [ "$(id -u)" -eq 0 ]; then
    chown -R 65534:65534 "$above"
    as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
fi
cd "$there"
"${as_user[@]}" env -i "PATH=$PATH" "HOME=$above/home" TERM=dumb LC_ALL=POSIX PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 \
    FORCE_COLOR=1 nohup bash -c 'umask 077; exec make test "ARGS=$1"' hostile "$*" <&- 2>&1 | cat
