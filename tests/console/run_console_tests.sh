#!/usr/bin/env bash
# Runs one of the tests of the console, PART.test.mjs, in Debian's chromium over a stack of its own.
#   run_console_tests.sh BIN_DIR PART
#   run_console_tests.sh BIN_DIR pictures DIR     writes the pictures of docs/console.md to DIR
# Node modules are installed once into node_modules beside this script (not tracked by git).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
usage() { echo "usage: $0 BIN_DIR page|away|poison|jobs|work|indexes|tables|stores|rights|narrow|hostile|bulk|hour, or $0 BIN_DIR pictures DIR" >&2; exit 2; }
[ $# -ge 2 ] && [ -f "$here/$2.test.mjs" ] || usage
[ "$2" != pictures ] || [ $# -eq 3 ] || usage
export TIDEMARK_BIN=$(cd "$1" && pwd)
export TIDEMARK_PICTURES=${3:+$(cd "$3" && pwd)}
cd "$here"
command -v chromium-headless-shell >/dev/null || { echo "chromium-headless-shell is missing: scripts/setup --tests installs it" >&2; exit 1; }
mkdir -p node_modules
node=node
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 20 ] || node=$here/node_modules/node/bin/node
(
  flock 9
  if ! cmp -s package.json node_modules/.installed-package.json; then
    npm install --package-lock=false --no-audit --no-fund --loglevel=error
    cp package.json node_modules/.installed-package.json
  fi
  if [ "$node" != node ] && [ ! -x "$node" ]; then
    npm install --no-save --package-lock=false --no-audit --no-fund --loglevel=error node@22
  fi
) 9>node_modules/.install-lock
exec "$node" --test-reporter=spec "$2.test.mjs"
