"""The package on a fresh Debian 12 with systemd, in a container: install, work, kill, upgrade with data, remove, purge.

Needs a container engine that lets systemd run in a container, and Debian's packages; otherwise it says why it is skipped
(exit code 77).
"""
import os
import re
import secrets
import signal
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "compose"), HERE]
from engine import NoEngine, answers, find_engine, run  # noqa: E402
from package import NoTools, make, older  # noqa: E402
from stack import wait_until  # noqa: E402

SKIPPED = 77
UNITS = ("tidemark-table-store", "tidemark-queue-service", "tidemark-blob-store", "tidemark-api", "tidemark-worker@1",
         "tidemark-worker@2")
IMAGE = "tidemark-systemd-test"
DOCKERFILE = """FROM debian:bookworm-slim
RUN apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \\
    systemd systemd-sysv dbus >/dev/null
STOPSIGNAL SIGRTMIN+3
CMD ["/lib/systemd/systemd"]
"""
# The rights that systemd may need, from the most that an engine may give to the least with which it was seen to start.
RIGHTS = (["--privileged"], ["--cap-add", "SYS_ADMIN", "--security-opt", "seccomp=unconfined"])
machine = {}


def start_machine():
    """A container in which systemd runs."""
    with tempfile.TemporaryDirectory(prefix="tmsystemd") as context:
        with open(os.path.join(context, "Dockerfile"), "w", encoding="ascii") as file:
            file.write(DOCKERFILE)
        run("docker", "build", "-t", IMAGE, context)
    for rights in RIGHTS:
        name = "tidemarktest" + secrets.token_hex(4)
        started = answers("docker", "run", "-d", "--name", name, *rights, "--tmpfs", "/run", "--tmpfs", "/tmp",
                          "-v", "/sys/fs/cgroup:/sys/fs/cgroup:rw", "--cgroupns=host", IMAGE)
        machine["name"] = name
        try:
            if started:
                wait_until(lambda: run("docker", "exec", name, "systemctl", "is-system-running", check=False).strip() in
                           ("running", "degraded"), "systemd", 60, interval_s=0.2)
                return
        except AssertionError:
            pass
        stop_machine()
    raise NoEngine("systemd does not start in a container of this engine")


def stop_machine():
    if "name" in machine:
        run("docker", "rm", "-f", "-v", machine.pop("name"), check=False)


def sh(command, check=True):
    return run("docker", "exec", machine["name"], "bash", "-c", command, check=check)


def install(package):
    run("docker", "cp", package, f"{machine['name']}:/root/package.deb")
    return sh("apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "
              "/root/package.deb 2>&1")


def await_active():
    units = " ".join(UNITS)
    wait_until(lambda: sh(f"systemctl is-active {units}", check=False).split() == ["active"] * len(UNITS),
               f"{units} being active", 60, interval_s=0.2)


class InstalledTest(unittest.TestCase):
    """One life of an installation, in the order of the tests."""

    def run(self, result=None):
        before = len(result.failures) + len(result.errors)
        super().run(result)
        if len(result.failures) + len(result.errors) > before:
            print(sh("journalctl -u 'tidemark*' --no-pager -n 60", check=False), file=sys.stderr)

    def count(self, table):
        return int(sh(f"tidemark table query {table} --count"))

    def test_1_installs_and_starts(self):
        install(machine["older"])
        await_active()
        self.assertEqual(sh("systemctl is-enabled tidemark.target").strip(), "enabled")
        self.assertEqual(sh("stat -c '%U:%G %a' /etc/tidemark/secrets.env").strip(), "root:tidemark 640")
        self.assertEqual(sh("stat -c '%U:%G %a' /var/lib/tidemark").strip(), "tidemark:tidemark 700")
        self.assertEqual(sh("ps -o user= -C table_store || stat -c %U /proc/$(cat /var/lib/tidemark/run/table_store.pid)")
                         .split()[0], "tidemark")

    def test_2_the_main_job(self):
        sh("tidemark table import Packages --format debian-packages --file /var/lib/dpkg/status")
        before = self.count("Packages")
        sh("tidemark job submit archive --source Packages --destination Archive --wait "
           "--filter \"PartitionKey eq 'libs'\"")
        archived = self.count("Archive")
        self.assertGreater(archived, 10)
        self.assertEqual(archived + self.count("Packages"), before)

    def test_3_no_well_known_key(self):
        told = sh("TIDEMARK_ENV_FILE= tidemark --table-url http://127.0.0.1:10002/devstoreaccount1 table list 2>&1",
                  check=False)
        self.assertNotIn("Packages", told)
        self.assertNotIn("Eby8vdM02xNOcqF", sh("cat /etc/tidemark/*"))

    def test_4_what_dies_comes_back(self):
        pid = sh("systemctl show -p MainPID --value tidemark-table-store").strip()
        sh("systemctl kill -s KILL tidemark-table-store")
        wait_until(lambda: sh("systemctl show -p MainPID --value tidemark-table-store").strip() not in (pid, "0"),
                   "a new process")
        await_active()
        wait_until(lambda: answers("docker", "exec", machine["name"], "tidemark", "table", "query", "Archive", "--count"),
                   "the table store")

    def test_5_sandbox(self):
        said = sh("systemd-analyze security --no-pager tidemark-table-store.service | tail -n 1")
        self.assertLess(float(said.split(": ")[1].split()[0]), 2.0, said)

    def test_5_reload_and_a_wrong_setting(self):
        sh("systemctl reload tidemark-api")
        wait_until(lambda: "SIGHUP" in sh("journalctl -u tidemark-api --no-pager"), "the reload in the log")
        sh("mkdir -p /run/systemd/system/tidemark-worker@2.service.d; printf '[Service]\\nEnvironment=TIDEMARK_LEASE_S=none\\n' "
           "> /run/systemd/system/tidemark-worker@2.service.d/wrong.conf; systemctl daemon-reload")
        sh("systemctl restart tidemark-worker@2", check=False)
        shown = sh("systemctl show -p ActiveState -p ExecMainStatus tidemark-worker@2")
        self.assertEqual(set(shown.split()), {"ActiveState=failed", "ExecMainStatus=2"})
        self.assertIn("lease_s cannot be 'none'", sh("journalctl -u tidemark-worker@2 --no-pager"))
        sh("rm -r /run/systemd/system/tidemark-worker@2.service.d; systemctl daemon-reload; systemctl start tidemark-worker@2")

    def test_6_upgrades_with_data(self):
        archived, secret = self.count("Archive"), sh("cat /etc/tidemark/secrets.env")
        sh("sed -i 's/\"host\"/\"lease_s\": 7, \"host\"/' /etc/tidemark/tidemark.json")
        old = sh("systemctl show -p MainPID --value tidemark-api").strip()
        install(machine["package"])
        wait_until(lambda: sh("systemctl show -p MainPID --value tidemark-api").strip() not in (old, "0"), "the new program", 60)
        await_active()
        self.assertNotIn("0.0.1", sh("dpkg-query -W tidemark"))
        self.assertEqual(self.count("Archive"), archived)
        self.assertEqual(sh("cat /etc/tidemark/secrets.env"), secret)
        self.assertIn('"lease_s": 7', sh("cat /etc/tidemark/tidemark.json"), "what a person changed stays")

    def test_6_backup_and_restore(self):
        """Follows the manual."""
        with open(os.path.join(HERE, "..", "..", "docs", "recover.md"), encoding="utf-8") as manual:
            blocks = re.findall(r"(?:^    .*\n)+", manual.read().partition("### With the package\n")[2].partition("\n### ")[0], re.MULTILINE)
        backup, restore = (block.replace("sudo ", "") for block in blocks)
        archived = self.count("Archive")
        sh("set -e\n" + backup)
        await_active()
        name = sh("ls /srv/backups").split()[-1]
        sh("set -e\n" + restore.replace("tidemark-20261123T054500.123Z", name))
        await_active()
        self.assertEqual(self.count("Archive"), archived)
        self.assertEqual(sh("find /var/lib/tidemark ! -user tidemark"), "")
        sh("rm -r /etc/systemd/system/tidemark-.service.d; systemctl daemon-reload")

    def test_6_what_was_removed_comes_back_running(self):
        """Its settings and secrets are still there, so dpkg does not treat it as a first installation."""
        secret = sh("cat /etc/tidemark/secrets.env")
        sh("apt-get remove -y -qq tidemark 2>&1")
        install(machine["package"])
        await_active()
        self.assertEqual(sh("systemctl is-enabled tidemark.target").strip(), "enabled")
        self.assertEqual(sh("cat /etc/tidemark/secrets.env"), secret)
        self.assertEqual(sh("ls -A /etc/tidemark").split(), ["secrets.env", "tidemark.json"])
        # A target that an administrator has disabled stays disabled after an upgrade.
        sh("systemctl disable --quiet --now tidemark.target")
        self.configure_again()
        self.assertEqual(sh("systemctl is-enabled tidemark.target", check=False).strip(), "disabled")
        sh("systemctl enable --quiet --now tidemark.target")
        await_active()

    @staticmethod
    def configure_again():
        """Configures the package as an upgrade does."""
        sh("timeout 60 /var/lib/dpkg/info/tidemark.postinst configure \"$(dpkg-query -W -f '${Version}' tidemark)\"")

    def test_6_a_store_that_cannot_start_holds_up_nobody(self):
        sh("mkdir -p /run/systemd/system/tidemark-table-store.service.d; printf '[Service]\nEnvironment=TIDEMARK_PORT=none\n' "
           "> /run/systemd/system/tidemark-table-store.service.d/wrong.conf; systemctl daemon-reload")
        sh("systemctl stop tidemark.target; timeout 120 systemctl start tidemark.target")  # as at boot
        self.configure_again()
        sh("rm -r /run/systemd/system/tidemark-table-store.service.d; systemctl daemon-reload; systemctl start tidemark.target")
        await_active()

    def test_7_removes_and_purges(self):
        sh("systemctl enable --quiet --now tidemark-worker@3")
        sh("apt-get remove -y -qq tidemark 2>&1")
        self.assertEqual(sh("find /etc/systemd/system -name 'tidemark*'"), "")
        self.assertEqual(sh("systemctl list-units --no-legend 'tidemark*'").strip(), "")
        self.assertEqual(sh("cat /proc/[0-9]*/comm | grep -cE '^(table_store|worker|api)$'", check=False).strip(), "0")
        self.assertIn("secrets.env", sh("ls /etc/tidemark"))
        told = sh("apt-get purge -y -qq tidemark 2>&1")
        self.assertIn("/var/lib/tidemark", told)
        self.assertEqual(sh("ls /var/lib/tidemark/table | head -n 1; ls -d /etc/tidemark 2>/dev/null || true").count("\n"), 1)
        self.assertEqual(sh("ls -d /etc/tidemark", check=False), "")

    def test_8_comes_back_to_its_data(self):
        install(machine["package"])
        await_active()
        self.assertGreater(self.count("Archive"), 10)


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="tmdeb") as folder:
        try:
            find_engine()
            machine["package"] = make(folder)
            machine["older"] = older(machine["package"], folder)
            start_machine()
        except (NoEngine, NoTools) as reason:
            print(f"SKIPPED: the package is not installed anywhere: {reason}")
            return SKIPPED
        try:
            return 0 if unittest.main(verbosity=2, exit=False).result.wasSuccessful() else 1
        finally:
            stop_machine()


if __name__ == "__main__":
    sys.exit(main())
