#!/usr/bin/python3
"""Runs examples/dotnet as its readers do, with ports and data of its own, and then stops the stack:

    example_test.py ARTIFACTS

The first run starts the stack. The second one finds it by AZURE_STORAGE_CONNECTION_STRING, with the data of the first.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import run_dotnet_tests  # noqa: E402
from run_dotnet_tests import stack  # noqa: E402

SOURCE = pathlib.Path(stack.SOURCE)
CONNECTION = "AZURE_STORAGE_CONNECTION_STRING"


def run(artifacts, environment, *arguments):
    """Returns whether the example found that everything is right."""
    ran = subprocess.run([SOURCE / "examples/dotnet/run", "--artifacts", artifacts, *arguments], env=environment, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if missing := run_dotnet_tests.NO_PACKAGES.search(ran.stdout):
        run_dotnet_tests.skip(f"the packages of the example are not to be had ({missing[1]})")
    print(ran.stdout)
    return ran.returncode == 0


def main():
    run_dotnet_tests.check_sdk()
    artifacts = pathlib.Path(sys.argv[1]).resolve()
    environment = stack.clean_environment(run_dotnet_tests.environment(TIDEMARK_BIN=os.path.abspath(stack.BIN)))
    environment.pop(CONNECTION, None)
    base = stack.free_port_base()
    with tempfile.TemporaryDirectory(prefix="tm") as data:
        script = SOURCE / "scripts" / "stack"
        try:
            passed = run(artifacts, environment, "--data", data, "--port-base", str(base))
            up = subprocess.run([script, "up", "--data", data], env=environment, check=True, capture_output=True, text=True)
            environment[CONNECTION] = re.search(rf"^export {CONNECTION}='(.*)'$", up.stdout, re.M)[1]
            passed = passed and run(artifacts, environment)
        finally:
            subprocess.run([script, "down", "--data", data], env=environment, check=True)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
