"""The contents of the Debian package: programs, units, settings, manuals, and its dependencies."""
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "support"), HERE]
from package import NoTools, make, run  # noqa: E402
from stack import clean_environment, program  # noqa: E402

SKIPPED = 77
SERVERS = ("table_store", "queue_service", "blob_store", "worker", "api")
UNITS = ("tidemark-table-store.service", "tidemark-queue-service.service", "tidemark-blob-store.service",
         "tidemark-api.service", "tidemark-worker@.service")
SANDBOX = ("ProtectSystem=strict", "NoNewPrivileges=true", "PrivateTmp=true", "CapabilityBoundingSet=",
           "MemoryDenyWriteExecute=true", "SystemCallFilter=@system-service", "LimitNOFILE=65536", "User=tidemark",
           "StateDirectory=tidemark", "Type=notify")
made = {}


class ContentsTest(unittest.TestCase):
    def read(self, path):
        with open(os.path.join(made["tree"], path), "rb") as file:
            data = file.read()
        return (gzip.decompress(data) if path.endswith(".gz") else data).decode()

    def test_programs(self):
        for path in ["usr/bin/tidemark", *(f"usr/lib/tidemark/{name}" for name in SERVERS)]:
            with self.subTest(path=path):
                self.assertTrue(os.access(os.path.join(made["tree"], path), os.X_OK))
                version = run(os.path.join(made["tree"], path), "--version")
                self.assertIn(made["fields"]["Version"], version)

    def test_units(self):
        for unit in UNITS:
            with self.subTest(unit=unit):
                text = self.read(f"usr/lib/systemd/system/{unit}")
                self.assertNotIn("@PROCESS", text)
                for line in SANDBOX:
                    self.assertIn(f"\n{line}\n", text)
        self.assertIn("WantedBy=multi-user.target", self.read("usr/lib/systemd/system/tidemark.target"))

    def test_systemd_takes_the_units(self):
        if shutil.which("systemd-analyze") is None:
            self.skipTest("systemd-analyze is not installed")
        units = os.path.join(made["tree"], "usr/lib/systemd/system")
        said = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *(
            os.path.join(units, unit) for unit in UNITS)], capture_output=True, text=True, timeout=60, check=False,
            env=clean_environment({"SYSTEMD_UNIT_PATH": units + ":"})).stderr
        # The programs and the user do not exist on this machine.
        wrong = [line for line in said.splitlines() if "tidemark" in line and "is not executable" not in line]
        self.assertEqual(wrong, [])

    def test_settings(self):
        self.assertEqual(run("dpkg-deb", "-I", made["package"], "conffiles").split(), ["/etc/tidemark/tidemark.json"])
        settings = json.loads(self.read("etc/tidemark/tidemark.json"))
        self.assertEqual((settings["data"], settings["host"]), ("/var/lib/tidemark", "127.0.0.1"))
        self.assertNotRegex(self.read("etc/tidemark/tidemark.json"), "accounts|token")

    def test_dependencies(self):
        depends = made["fields"]["Depends"]
        for wanted in ("systemd", "libc6 (>=", "libzmq5", "libssl3", "ca-certificates"):
            self.assertIn(wanted, depends)

    def test_nothing_is_for_others_alone(self):
        for line in run("dpkg-deb", "-c", made["package"]).splitlines():
            self.assertRegex(line, r"^(drwxr-xr-x|-rwxr-xr-x|-rw-r--r--) root/root ")
            self.assertRegex(line, r" \./((etc|usr)/.*)?$")

    def test_manuals(self):
        for section, names in ((1, ["tidemark"]), (8, SERVERS)):
            for name in names:
                with self.subTest(name=name):
                    text = self.read(f"usr/share/man/man{section}/{name}.{section}.gz")
                    # Each long option in the program's help is in its manual.
                    told = set(re.findall(r"(?m)^  (--[a-z-]+)", run(program(name), "--help")))
                    self.assertEqual({o for o in told if o.replace("-", "\\-") not in text}, set())
                    self.assertTrue(text.startswith(f".TH {name.upper()} {section} "))
        text = self.read("usr/share/man/man1/tidemark.1.gz")
        for command in ("tidemark job submit", "tidemark table import", "tidemark poison redrive"):
            self.assertIn(f".SS {command} ", text)
        if shutil.which("groff"):
            said = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-z"], input=text, capture_output=True, text=True,
                                  timeout=60, check=False)
            self.assertEqual(said.stderr, "")

    def test_completion_and_copyright(self):
        for path in ("bash-completion/completions/tidemark", "zsh/vendor-completions/_tidemark",
                     "fish/vendor_completions.d/tidemark.fish"):
            self.assertIn("tidemark", self.read(f"usr/share/{path}"))
        self.assertIn("Copyright", self.read("usr/share/doc/tidemark/copyright"))


def main():
    with tempfile.TemporaryDirectory(prefix="tmdeb") as folder:
        try:
            made["package"] = make(folder)
        except NoTools as reason:
            print(f"SKIPPED: the package is not made: {reason}")
            return SKIPPED
        made["tree"] = os.path.join(folder, "tree")
        run("dpkg-deb", "-x", made["package"], made["tree"])
        fields = run("dpkg-deb", "-f", made["package"])
        made["fields"] = dict(re.findall(r"(?m)^([A-Z][\w-]*): (.*)", fields))
        return 0 if unittest.main(verbosity=2, exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
