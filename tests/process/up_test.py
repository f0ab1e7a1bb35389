"""`tidemark up`: one command that starts the stack, brings back what dies, and ends everything in order."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from stack import BIN, clean_environment, free_port_base, wait_until  # noqa: E402

NAMES = ["api", "blob_store", "queue_service", "table_store", "worker-1"]
TIDEMARK = os.path.join(os.path.abspath(BIN), "tidemark")


class Foreground:
    """`tidemark up` in the foreground, and what it prints."""

    def __init__(self, arguments, environment):
        self.popen = subprocess.Popen([TIDEMARK, "up", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                      env=environment, start_new_session=True)
        self.text = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.popen.stdout:
            self.text += line

    def await_text(self, pattern):
        wait_until(lambda: re.search(pattern, self.text) or self.popen.poll() is not None, pattern)
        found = re.search(pattern, self.text)
        assert found, self.text + self.popen.stderr.read()
        return found

    def end(self, number=signal.SIGTERM):
        if self.popen.poll() is None:
            self.popen.send_signal(number)
        return self.await_end()

    def await_end(self):
        code = self.popen.wait(120)
        self._reader.join(10)
        self.popen.stdout.close()
        self.popen.stderr.close()
        return code


class UpTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="tm")
        self.data = os.path.join(self.directory, "d")
        self.base = free_port_base()
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.addCleanup(self.call, "down", code=None)

    def environment(self, extra=None):
        return clean_environment({"TIDEMARK_BIN": os.path.abspath(BIN), **(extra or {})})

    def call(self, *arguments, code=0, environment=None):
        ended = subprocess.run([TIDEMARK, *arguments, "--data", self.data], capture_output=True, text=True, timeout=120,
                               env=self.environment(environment))
        if code is not None:
            self.assertEqual(ended.returncode, code, ended.stdout + ended.stderr)
        return ended

    def up(self, *arguments, environment=None):
        begun = Foreground(["--data", self.data, "--port-base", str(self.base), "--workers", "1", *arguments],
                           self.environment(environment))
        self.addCleanup(lambda: begun.popen.poll() is None and begun.end(signal.SIGKILL))
        begun.await_text("The stack is ready")
        return begun

    def processes(self):
        told = json.loads(self.call("status", "--json", code=None).stdout)
        return {each["name"]: each["pid"] for each in told["processes"] if each["state"] == "running"}

    def answers(self):
        """Tells whether the api can use the stores."""
        return self.call("queue", "list", code=None).returncode == 0

    def test_what_dies_comes_back(self):
        running = self.up()
        before = self.processes()
        self.assertEqual(sorted(before), NAMES)
        for name in NAMES:
            with self.subTest(name=name):
                os.kill(before[name], signal.SIGKILL)
                running.await_text(rf"{name} has ended: signal 9 \(Killed\); it is started again")
                running.await_text(rf"{name} is ready again")
                self.assertNotEqual(self.processes()[name], before[name])
        wait_until(self.answers, "an answer")
        self.assertEqual(running.end(), 0)
        self.assertEqual(self.call("status", code=1).stdout, "not running\n")

    def test_everything_ends_in_order(self):
        running = self.up()
        self.assertEqual(running.end(signal.SIGINT), 0)
        self.assertRegex(running.text, r"supervisor +\| stopped in ")
        last = {name: max(i for i, line in enumerate(running.text.splitlines()) if line.startswith(name)) for name in NAMES}
        self.assertLess(last["api"], last["table_store"], "the api ends before the stores")
        self.assertRegex(running.text, r"(?m)^table_store +\| \S+Z info stopped$")
        self.assertEqual(self.call("down").stdout, "not running\n")

    def test_a_second_signal_does_not_wait(self):
        """A worker that stands still cannot hold up an impatient person."""
        running = self.up()
        os.kill(self.processes()["worker-1"], signal.SIGSTOP)
        running.popen.send_signal(signal.SIGINT)
        running.await_text("waiting for jobs and requests in progress")
        self.assertEqual(running.end(signal.SIGINT), 0)
        self.assertEqual(self.processes(), {})

    def test_what_cannot_stay_alive_is_given_up(self):
        running = self.up()
        # The port of the blob store is taken the moment that the process is gone, so no successor can listen.
        pid = self.processes()["blob_store"]
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            os.kill(pid, signal.SIGSTOP)
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda: self.try_to_bind(taken, self.base), "the port of the blob store", interval_s=0.001)
            taken.listen()
            running.await_text("blob_store has ended.*7 times in a row")
            self.assertEqual(running.await_end(), 1)
        self.assertIn("the port is in use", running.text)
        self.assertEqual(self.processes(), {}, "nothing is left behind")

    @staticmethod
    def try_to_bind(listener, port):
        try:
            listener.bind(("127.0.0.1", port))
            return True
        except OSError:
            return False

    def test_a_failed_start_says_why_and_leaves_nothing(self):
        with socket.create_server(("127.0.0.1", self.base + 2)):
            failed = self.call("up", "--port-base", str(self.base), code=1)
        self.assertIn("table_store did not start", failed.stderr)
        self.assertIn("the port is in use", failed.stderr)
        self.assertEqual(self.call("status", code=1).stdout, "not running\n")

    def test_in_the_background(self):
        begun = self.call("up", "--detach", "--port-base", str(self.base), "--workers", "1")
        self.assertIn(f"table http://127.0.0.1:{self.base + 2}/devstoreaccount1\n", begun.stdout)
        self.assertIn("export AZURE_STORAGE_CONNECTION_STRING=", begun.stdout)
        before = self.processes()
        self.assertEqual(sorted(before), NAMES)
        os.kill(before["queue_service"], signal.SIGKILL)
        wait_until(lambda: self.processes().get("queue_service", before["queue_service"]) != before["queue_service"],
                   "the queue service to come back")
        self.assertEqual(self.call("up", "--detach", "--workers", "1").stdout, begun.stdout, "once more changes nothing")
        refused = self.call("up", code=1).stderr
        self.assertIn("runs already", refused)
        self.assertEqual(self.call("down").stdout, "stopped 5 processes\n")
        self.assertEqual(self.processes(), {})

    def test_the_supervisor_in_the_background_ends_everything(self):
        self.call("up", "--detach", "--port-base", str(self.base), "--workers", "1")
        wait_until(lambda: "supervisor" in json.loads(self.call("status", "--json").stdout), "the supervisor")
        os.kill(json.loads(self.call("status", "--json").stdout)["supervisor"], signal.SIGTERM)
        wait_until(lambda: not self.processes(), "the end of the stack")
        with open(os.path.join(self.data, "log", "supervisor.log"), encoding="utf-8") as file:
            self.assertRegex(file.read(), r"supervisor +\| stopping; workers and api first\n")

    def test_a_start_can_be_interrupted(self):
        """A store that takes long is waited for, and a person who does not want to wait leaves nothing behind."""
        programs = os.path.join(self.directory, "bin")
        os.mkdir(programs)
        for name in ("queue_service", "table_store", "api", "worker"):
            os.symlink(os.path.join(os.path.abspath(BIN), name), os.path.join(programs, name))
        slow = os.path.join(programs, "blob_store")
        with open(slow, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\necho $$ >$2/slow.pid\nexec sleep 600\n")
        os.chmod(slow, 0o755)
        starting = subprocess.Popen([TIDEMARK, "up", "--data", self.data, "--port-base", str(self.base)], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True, env=self.environment({"TIDEMARK_BIN": programs}))
        self.addCleanup(starting.kill)
        self.assertIn("blob_store is not ready yet", starting.stderr.readline())
        starting.send_signal(signal.SIGINT)
        _, told = starting.communicate(timeout=60)
        self.assertEqual(starting.returncode, 1)
        self.assertIn("interrupted", told)
        with open(os.path.join(self.data, "slow.pid"), encoding="ascii") as file:
            self.assertFalse(os.path.exists(f"/proc/{file.read().strip()}"), "it is gone")
        self.assertEqual(self.processes(), {})

    def test_a_new_supervisor_takes_over(self):
        """The stack lives on if its supervisor is killed."""
        self.up().end(signal.SIGKILL)
        before = self.processes()
        self.assertEqual(sorted(before), NAMES)
        self.assertIn("supervisor not running", self.call("status").stdout)
        running = self.up()
        self.assertEqual(self.processes(), before)
        os.kill(before["api"], signal.SIGKILL)
        running.await_text("api has ended; it is started again")
        running.await_text("api is ready again")
        self.assertEqual(running.end(), 0)
        self.assertEqual(self.processes(), {})

    def test_the_settings_for_shells_and_sdks(self):
        self.assertIn("tidemark up starts it", self.call("env", code=1).stderr)
        self.call("up", "--detach", "--port-base", str(self.base), "--workers", "0")
        told = json.loads(self.call("env", "--json").stdout)
        self.assertEqual(told["queue"], f"http://127.0.0.1:{self.base + 1}/devstoreaccount1")
        connection = told["environment"]["AZURE_STORAGE_CONNECTION_STRING"]
        self.assertIn(f"BlobEndpoint=http://127.0.0.1:{self.base}/devstoreaccount1;", connection)
        shell = subprocess.run(["bash", "-euc", self.call("env").stdout + "\nprintf %s \"$AZURE_STORAGE_CONNECTION_STRING\""],
                               capture_output=True, text=True, timeout=60)
        self.assertEqual(shell.stdout, connection)
        self.assertIn(f"$env:AZURE_STORAGE_CONNECTION_STRING = '{connection}'\n", self.call("env", "--shell", "powershell").stdout)

    def test_the_addresses_come_from_the_data_directory(self):
        """Nothing has to be exported, whatever the ports."""
        self.call("up", "--detach", "--port-base", str(self.base), "--workers", "0")
        self.assertIn("TidemarkJobs", self.call("table", "list").stdout)
        self.assertEqual(self.call("queue", "list").returncode, 0)
        elsewhere = self.call("queue", "list", code=1, environment={"TIDEMARK_API": "http://127.0.0.1:9"})
        self.assertIn("cannot reach http://127.0.0.1:9", elsewhere.stderr)

    def test_accounts_as_azurite_has_them(self):
        key = "b3duIGtleSBvZiB0aGlzIHRlc3Q="
        self.call("up", "--detach", "--port-base", str(self.base), "--workers", "0",
                  environment={"AZURITE_ACCOUNTS": f"one:{key};two:{key}:{key};"})
        for account in ("one", "two"):
            used = subprocess.run([TIDEMARK, "table", "query", "Tables", "--table-url",
                                   f"http://127.0.0.1:{self.base + 2}/{account}", "--account", account, "--key", key],
                                  capture_output=True, text=True, timeout=60, env=self.environment())
            self.assertEqual(used.returncode, 0, used.stderr)

    def test_options_that_contradict_each_other(self):
        for arguments in (["--no-restart"], ["--tls-cert", "x"], ["--stop-within", "0"], ["--workers", "x"]):
            with self.subTest(arguments=arguments):
                self.assertIn(arguments[0], self.call("up", *arguments, code=None).stderr)
        self.assertFalse(os.path.exists(self.data))


if __name__ == "__main__":
    unittest.main(verbosity=2)
