"""Virtual machines for tests: network namespaces, joined by links that can be cut, which disappear with the test. That
needs root, and `ip` and `unshare`.
"""
import contextlib
import ctypes
import os
import shutil
import subprocess

from stack import wait_until

CLONE_NEWNET = 0x40000000
OWN = "/proc/thread-self/ns/net"
libc = ctypes.CDLL(None, use_errno=True)


def run(*line):
    return subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)


def can_make_networks(*further_tools):
    tools = all(shutil.which(tool) for tool in ("ip", "unshare", "nsenter", *further_tools))
    pair = ("unshare", "-n", "ip", "link", "add", "one-end", "type", "veth", "peer", "name", "other-end")
    return tools and os.geteuid() == 0 and run(*pair).returncode == 0


def ip(test, *line, prefix=()):
    done = run(*prefix, "ip", *line)
    test.assertEqual(done.returncode, 0, f"ip {line}: {done.stderr}")


def leave_for_a_new_network(test):
    """Moves the test, with the processes that it starts, to a machine without a network but its own loopback, until the
    end."""
    before = os.open(OWN, os.O_RDONLY)
    test.addCleanup(os.close, before)
    if libc.unshare(CLONE_NEWNET) != 0:
        test.skipTest("this machine lets nobody make network namespaces")
    test.addCleanup(libc.setns, before, CLONE_NEWNET)
    ip(test, "link", "set", "lo", "up")


def here(link):
    """Returns the address of this end of a link to another machine."""
    return f"10.77.{link}.1"


def there(link):
    return f"10.77.{link}.2"


class OtherMachine:
    """A command with `prefix` runs on this machine. Links have numbers; link N is called "linkN" at both ends."""

    def __init__(self, test, links):
        self._test = test
        self._keeper = subprocess.Popen(["unshare", "-n", "sleep", "infinity"])
        test.addCleanup(self._keeper.wait)
        test.addCleanup(self._keeper.kill)
        self._path = f"/proc/{self._keeper.pid}/ns/net"
        mine = os.stat(OWN).st_ino
        wait_until(lambda: os.stat(self._path).st_ino != mine, "the other network is there")
        self.prefix = ("nsenter", "-t", str(self._keeper.pid), "-n")
        self.ip("link", "set", "lo", "up")
        for number in links:
            link = f"link{number}"
            ip(test, "link", "add", link, "type", "veth", "peer", "name", link, "netns", str(self._keeper.pid))
            for address, prefix in ((here(number), ()), (there(number), self.prefix)):
                ip(test, "addr", "add", f"{address}/24", "dev", link, prefix=prefix)
                ip(test, "link", "set", link, "up", prefix=prefix)

    def ip(self, *line):
        ip(self._test, *line, prefix=self.prefix)

    def cut(self, number):
        """Cuts the link without notice to either end: packets vanish."""
        self.ip("link", "set", f"link{number}", "down")

    def mend(self, number):
        self.ip("link", "set", f"link{number}", "up")

    @contextlib.contextmanager
    def sockets(self):
        """Sockets that this thread opens meanwhile are on that machine."""
        with open(OWN, "rb") as here, open(self._path, "rb") as there:
            if libc.setns(there.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")
            try:
                yield
            finally:
                libc.setns(here.fileno(), CLONE_NEWNET)
