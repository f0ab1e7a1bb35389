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
(
  # Several ctest jobs may come here at once: one installs, the others wait for it.
  flock 9
  if ! cmp -s package.json node_modules/.installed-package.json; then
    npm install --package-lock=false --no-audit --no-fund --loglevel=error
    cp package.json node_modules/.installed-package.json
  fi
) 9>node_modules/.install-lock
exec node harness.mjs "$bin" "$@"
