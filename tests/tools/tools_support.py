"""Shared by the tests of tools: a blob store, a tree of files, programs that run, and trees compared byte for byte.

A tool that is not installed does not fail a test: it is skipped, and says so (exit code 77, which ctest shows).
"""
import os
import random
import shutil
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import base64  # noqa: E402
import sizes  # noqa: E402

from clients import ACCOUNT, KEY  # noqa: E402
from sas import account_sas  # noqa: E402
from stack import StackTest  # noqa: E402

SKIPPED = 77
RUN_LIMIT_S = 400
FILES = sizes.scaled(400)
HEADERS = "/usr/include"  # always there where Tidemark is built, and readable by everybody
KEY_TEXT = base64.b64encode(KEY).decode()
LARGE_BYTES = 9_000_000  # more than one block for each of the tools

# Names that are hard to transfer, and sizes at the limits of content that is stored in rows and in chunks.
ODD_FILES = {"empty": 0, "b c+d%.txt": 12, "ünïcødé/名.txt": 40, "dir/#?&=;'.bin": 5, "one-row": 262_144,
             "one-row-and-a-byte": 262_145, "deep/" + "/".join("abcdefgh"): 7, "large": LARGE_BYTES}


def main(*programs, files=None):
    """Runs the tests of the calling file, if the programs and the files ({path: where it comes from}) are there."""
    missing = [f"{name} is not installed: scripts/setup --tests does it" for name in programs if shutil.which(name) is None]
    missing += [f"{path} is missing: {origin}" for path, origin in (files or {}).items() if not os.path.exists(path)]
    if missing:
        print("skipped: " + "; ".join(missing))
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)


def make_tree(directory, files=FILES):
    """Makes some thousand files of all sizes below the directory."""
    source = random.Random(7)
    for name, size in ODD_FILES.items():
        write(os.path.join(directory, "odd", name), source.randbytes(size))
    count = 0
    for folder, folders, names in os.walk(HEADERS):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)
            if os.path.islink(path) or not os.path.isfile(path):
                continue
            target = os.path.join(directory, os.path.relpath(path, HEADERS))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copyfile(path, target)
            count += 1
            if count == files:
                return directory
    return directory


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


def read_tree(directory):
    """Returns {path below the directory: bytes}."""
    found = {}
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, directory)] = file.read()
    return found


class ToolTest(StackTest):
    """One blob store and one tree for all tests of a class."""

    stores = ("blob_store",)
    files = FILES

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for store in cls.stores:
            cls.start(store)
        cls.directory = os.path.join(cls.stack.directory, "t")
        cls.tree = make_tree(cls.path("tree"), cls.files)

    @classmethod
    def start(cls, store):
        cls.stack.start(store)

    @classmethod
    def path(cls, *names):
        return os.path.join(cls.directory, *names)

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.stack.ports['blob_store']}/{ACCOUNT}"

    def environment(self):
        """Sets a home directory of its own, so that no tool finds or leaves anything elsewhere."""
        home = self.path("home")
        os.makedirs(home, exist_ok=True)
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        return kept | {"HOME": home, "LC_ALL": "C.UTF-8", "XDG_CACHE_HOME": home}

    def run_tool(self, *command, code=0, stdin=None, with_log=False):
        """Runs the command; returns its output, with its log if that is wanted. Fails if it exits with another code."""
        done = subprocess.run(command, env=self.environment(), input=stdin, capture_output=True, text=True,
                              timeout=RUN_LIMIT_S, check=False)
        self.assertEqual(done.returncode, code, f"{' '.join(command)}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
        return done.stdout + done.stderr if with_log else done.stdout

    def assert_same_tree(self, directory, expected=None):
        """Compares byte for byte, with nothing more or less."""
        expected = expected or self.tree
        found, wanted = read_tree(directory), read_tree(expected)
        self.assertEqual(sorted(found), sorted(wanted))
        self.assertEqual([name for name in wanted if found[name] != wanted[name]], [])

    @staticmethod
    def sas():
        return account_sas(services="b", permissions="rwdlacup")
