#!/usr/bin/env bash
# Runs the SDK tests against freshly started stores.
#   run_sdk_tests.sh BIN_DIR [file.test.mjs ...]      without files: all of them
# Node modules are installed once into node_modules beside this script (not tracked by git).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ $# -ge 1 ] || { echo "usage: $0 BIN_DIR [file.test.mjs ...]" >&2; exit 2; }
bin=$(cd "$1" && pwd)
shift
cd "$here"
mkdir -p node_modules
# The SDKs need Node.js 20. Where there is only an older one (Debian 12 has 18), a newer one is installed with the
# modules.
node=node
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] || node=$here/node_modules/node/bin/node
(
  # Several ctest jobs may get here at once: one installs, the others wait for it.
  flock 9
  if ! cmp -s package.json node_modules/.installed-package.json; then
    npm install --package-lock=false --no-audit --no-fund --loglevel=error
    cp package.json node_modules/.installed-package.json
  fi
  if [ "$node" != node ] && [ ! -x "$node" ]; then
    npm install --no-save --package-lock=false --no-audit --no-fund --loglevel=error node@22
  fi
) 9>node_modules/.install-lock
exec "$node" harness.mjs "$bin" "$@"
