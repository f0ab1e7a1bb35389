"""Installs the packages of the compared systems: Debian's, and npm's into bench/node_modules, which git ignores."""
import json
import os
import shutil
import subprocess
import sys

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def debian(*packages):
    def installed(package):
        done = subprocess.run(["dpkg-query", "-W", "-f", "${Status}", package], capture_output=True, text=True)
        return "install ok installed" in done.stdout
    missing = [package for package in packages if not installed(package)]
    if not missing:
        return
    print(f"bench: installing {', '.join(missing)}", file=sys.stderr)
    as_root = [] if os.geteuid() == 0 else ["sudo"]
    # A benchmark starts its own instances; a service that Debian starts would only take memory and ports.
    policy = "/usr/sbin/policy-rc.d"
    keep = os.path.exists(policy)
    if not keep:
        subprocess.run([*as_root, "sh", "-c", f"printf '#!/bin/sh\\nexit 101\\n' >{policy} && chmod 755 {policy}"], check=True)
    try:
        subprocess.run([*as_root, "apt-get", "update", "-qq"], check=True, stdout=sys.stderr)
        subprocess.run([*as_root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-qq",
                        "--no-install-recommends", *missing], check=True, stdout=sys.stderr)
    finally:
        if not keep:
            subprocess.run([*as_root, "rm", "-f", policy], check=True)


def debian_version(package):
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else "not installed"


def npm(*packages):
    """Installs npm packages, each given as name@version."""
    def installed(package):
        name, version = package.rsplit("@", 1)
        try:
            with open(os.path.join(BENCH, "node_modules", name, "package.json")) as file:
                return (json.load(file)["version"] + ".").startswith(version + ".")
        except FileNotFoundError:
            return False
    missing = [package for package in packages if not installed(package)]
    if not missing:
        return
    if not shutil.which("npm"):
        raise RuntimeError("npm is missing; run scripts/setup --tests")
    print(f"bench: installing {', '.join(missing)} into bench/node_modules", file=sys.stderr)
    os.makedirs(os.path.join(BENCH, "node_modules"), exist_ok=True)
    # With --no-save, npm removes packages that it installed earlier unless they are named again.
    subprocess.run(["npm", "install", "--no-save", "--package-lock=false", "--no-audit", "--no-fund", "--loglevel=error",
                    "--prefix", BENCH, *NPM_PACKAGES], check=True, stdout=sys.stderr)


NODE = "node@22"  # Azurite 3.37 asks for it; Debian 12 has 18
AZURITE = "azurite@3.37.0"
GRAPHILE = "graphile-worker@0.18.0"
NPM_PACKAGES = (NODE, AZURITE, GRAPHILE)


def node_path():
    return os.path.join(BENCH, "node_modules", "node", "bin", "node")


CLIENT = os.path.join(BENCH, "build", "queue_load")


def queue_load():
    """Builds the C++ load client of the queues: here and not in scripts/build, since only the benchmarks need its
    libraries."""
    debian("librabbitmq-dev", "libhiredis-dev")
    folder = os.path.join(BENCH, "clients")
    sources = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith((".cpp", ".h"))]
    if os.path.exists(CLIENT) and all(os.path.getmtime(source) < os.path.getmtime(CLIENT) for source in sources):
        return
    print("bench: building queue_load", file=sys.stderr)
    os.makedirs(os.path.dirname(CLIENT), exist_ok=True)
    subprocess.run(["clang++-19", "-std=c++20", "-O2", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-I", os.path.dirname(BENCH),
                    *(source for source in sources if source.endswith(".cpp")), "-o", CLIENT, "-lrabbitmq", "-lhiredis",
                    "-pthread"], check=True)


DOTNET_BUILD = os.path.join(BENCH, "build", "dotnet")
DOTNET_LOAD = os.path.join(DOTNET_BUILD, "bin", "Load", "release", "Load.dll")


def dotnet_load():
    """Builds the load client in C# if a source has changed."""
    if not shutil.which("dotnet"):
        raise RuntimeError("dotnet is missing; the .NET 10 SDK has it")
    # No server stays behind after the build, which would take time from the measurements.
    built = subprocess.run(["dotnet", "build", os.path.join(BENCH, "clients", "dotnet"), "--artifacts-path", DOTNET_BUILD, "-c", "Release",
                            "-v:q", "-tl:off", "-nodeReuse:false", "-p:UseSharedCompilation=false"],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           env=os.environ | {"DOTNET_CLI_TELEMETRY_OPTOUT": "1", "DOTNET_NOLOGO": "1", "DOTNET_CLI_USE_MSBUILD_SERVER": "0"})
    if built.returncode != 0:
        raise RuntimeError(f"the load client in C# cannot be built:\n{built.stdout}")
