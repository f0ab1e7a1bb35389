"""Makes the package from the build that TIDEMARK_BIN belongs to; compiles nothing."""
import os
import shutil
import subprocess

from stack import BIN, clean_environment


class NoTools(Exception):
    """Names the tools that are missing here to make a package."""


def run(*command, cwd=None, check=True, limit_s=600):
    ended = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False, cwd=cwd,
                           env=clean_environment())
    if check and ended.returncode != 0:
        raise AssertionError(f"{' '.join(command)} ended with {ended.returncode}:\n{ended.stdout[-3000:]}{ended.stderr[-3000:]}")
    return ended.stdout


def make(folder):
    """Returns the path of the .deb."""
    for tool in ("cpack", "dpkg-deb", "dpkg-shlibdeps", "file"):
        if shutil.which(tool) is None:
            raise NoTools(f"{tool} is not installed")
    build = os.path.dirname(os.path.abspath(BIN))
    run("cpack", "-G", "DEB", "--config", os.path.join(build, "CPackConfig.cmake"), "-B", folder, cwd=build)
    return os.path.join(folder, next(name for name in os.listdir(folder) if name.endswith(".deb")))


def older(package, folder, version="0.0.1"):
    """Makes the same package with an older version."""
    tree = os.path.join(folder, "older")
    run("dpkg-deb", "-R", package, tree)
    control = os.path.join(tree, "DEBIAN", "control")
    with open(control, encoding="utf-8") as file:
        lines = file.read().splitlines()
    with open(control, "w", encoding="utf-8") as file:
        file.write("".join(f"Version: {version}\n" if line.startswith("Version:") else line + "\n" for line in lines))
    made = os.path.join(folder, f"tidemark_{version}.deb")
    run("dpkg-deb", "-Znone", "--root-owner-group", "-b", tree, made)
    return made
