"""restic: backs a tree up, checks the stored data by reading all of it, forgets, and restores; by rclone and by
itself."""
import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
import unittest

from tools_support import ACCOUNT, KEY_TEXT, ToolTest, main, write

EMULATOR_PORT = 10000  # restic always expects the emulator's account here
IN_NAMESPACE = "TIDEMARK_OWN_NETWORK"


class ResticTest(ToolTest):
    def environment(self):
        return super().environment() | {
            "RESTIC_PASSWORD": "not a secret", "RESTIC_CACHE_DIR": self.path("cache"),
            "AZURE_ACCOUNT_NAME": ACCOUNT, "AZURE_ACCOUNT_KEY": KEY_TEXT,
            "RCLONE_CONFIG": self.path("rclone.conf"), "RCLONE_CONFIG_T_TYPE": "azureblob",
            "RCLONE_CONFIG_T_USE_EMULATOR": "true", "RCLONE_CONFIG_T_ENDPOINT": self.endpoint}

    def whole_life(self, repository):
        def restic(*arguments):
            return self.run_tool("restic", "-r", repository, *arguments)

        tree = self.path("backed-up")
        shutil.rmtree(tree, ignore_errors=True)
        shutil.copytree(self.tree, tree)
        restic("init")
        restic("backup", "--tag", "first", tree)
        write(os.path.join(tree, "added", "later"), b"more" * 100_000)
        shutil.rmtree(os.path.join(tree, "odd"))
        restic("backup", "--tag", "second", tree)
        restic("check", "--read-data")
        for tag, expected in (("second", tree), ("first", self.tree)):
            target = self.path(f"restored-{tag}")
            shutil.rmtree(target, ignore_errors=True)
            restic("restore", "latest", "--tag", tag, "--target", target)
            self.assert_same_tree(target + tree, expected)
        restic("forget", "--keep-last", "1", "--group-by", "host", "--prune")
        restic("check", "--read-data")
        self.assertEqual(restic("snapshots", "--compact").count("second"), 1)

    def test_by_rclone(self):
        self.whole_life("rclone:t:by-rclone/backup")


class NativeResticTest(ResticTest):
    """restic uses port 10000 for the emulator's account: in a private network of the test, where that port is free."""

    test_by_rclone = None

    @classmethod
    def start(cls, store):
        raise_loopback()
        cls.stack.ports[store] = EMULATOR_PORT
        super().start(store)

    def test_natively(self):
        self.whole_life("azure:native:/backup")


def raise_loopback():
    set_flags, is_up = 0x8914, 0x1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, set_flags, struct.pack("16sh14x", b"lo", is_up))


class OwnNetwork(unittest.TestCase):
    def test_natively(self):
        own = ["unshare", "--map-root-user", "--net"]
        possible = shutil.which("unshare") and subprocess.run([*own, "true"], capture_output=True, check=False).returncode == 0
        if not possible:
            self.skipTest("restic itself: this machine allows no network namespaces")
        done = subprocess.run([*own, sys.executable, os.path.abspath(__file__)], env=os.environ | {IN_NAMESPACE: "1"},
                              check=False)
        self.assertEqual(done.returncode, 0)


def load_tests(loader, *_):
    cases = [NativeResticTest] if os.environ.get(IN_NAMESPACE) else [ResticTest, OwnNetwork]
    return unittest.TestSuite(loader.loadTestsFromTestCase(case) for case in cases)


if __name__ == "__main__":
    main("restic", "rclone")
