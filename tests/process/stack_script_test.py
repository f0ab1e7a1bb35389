"""scripts/stack as an operator uses it: up, status, down, again and again, side by side, its memory and output, and its
errors."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from stack import BIN, SOURCE, clean_environment, free_port_base, wait_until  # noqa: E402

NAMES = ["api", "blob_store", "queue_service", "table_store", "worker-1", "worker-2"]


def ports_of(told):
    """Returns the ports of blob, queue, table and api."""
    return [int(p) for p in re.findall(r"(?m)^(?:blob|queue|table|api) .*:(\d+)", told)]


class StackScriptTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="tm")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def stack(self, command, *arguments, data="d", code=0, environment=None, user=None):
        line = [os.path.join(SOURCE, "scripts", "stack"), command, "--data", os.path.join(self.directory, data), *arguments]
        ended = subprocess.run(line, capture_output=True, text=True, timeout=90, user=user,
                               env=clean_environment({"TIDEMARK_BIN": os.path.abspath(BIN), **(environment or {})}))
        if code is not None:
            self.assertEqual(ended.returncode, code, ended.stdout + ended.stderr)
        return ended

    def up(self, *arguments, data="d", code=0):
        self.addCleanup(self.stack, "down", data=data)
        return self.stack("up", *arguments, data=data, code=code)

    def running(self, data="d", code=0):
        """Returns process ids by name."""
        lines = self.stack("status", data=data, code=code).stdout.splitlines()
        return {line.split()[0]: int(re.search(r"pid=(\d+)", line)[1]) for line in lines if " running " in line}

    def test_from_up_to_down(self):
        self.assertEqual(self.stack("status", code=1).stdout, "not running\n")
        self.assertEqual(self.stack("down").stdout, "not running\n")
        self.assertFalse(os.path.exists(os.path.join(self.directory, "d")), "asking makes no directory")
        base = free_port_base()
        begun = self.up("--port-base", str(base))
        told = begun.stdout
        self.assertEqual(begun.stderr, "")
        self.assertEqual(ports_of(told), [base, base + 1, base + 2, base + 3])
        first = self.running()
        self.assertEqual(sorted(first), NAMES)
        # Another port base changes nothing that runs, and the answer says so.
        again = self.up("--port-base", str(base + 10))
        self.assertEqual(again.stdout, told)
        self.assertEqual(again.stderr, "warning: it runs already, with its own ports; down first to change them\n")
        fewer = self.up("--workers", "1")
        self.assertEqual(fewer.stdout, told)
        self.assertEqual(fewer.stderr, "warning: more workers run already; down first to have fewer\n")
        self.assertEqual(self.up("--port-base", str(base), "--workers", "2").stderr, "")
        self.assertEqual(self.running(), first)
        # A dead process is started again, the others go on.
        os.kill(first["worker-2"], signal.SIGKILL)
        wait_until(lambda: "worker-2" not in self.running(code=1), "the death of worker-2", interval_s=0.1)
        self.assertIn("worker-2 dead", self.stack("status", code=1).stdout)
        self.up("--port-base", str(base))
        again = self.running()
        self.assertNotEqual(again.pop("worker-2"), first.pop("worker-2"))
        self.assertEqual(again, first)
        self.assertEqual(self.stack("down").stdout, "stopped 6 processes\n")
        self.assertEqual(self.stack("status", code=1).stdout, "not running\n")
        self.up("--port-base", str(base), "--workers", "0")
        self.assertEqual(sorted(self.running()), NAMES[:4])

    def test_a_store_that_has_ended_is_missed(self):
        """A process that ends in order removes its pid file."""
        self.up("--port-base", str(free_port_base()), "--workers", "0")
        os.kill(self.running()["blob_store"], signal.SIGTERM)
        wait_until(lambda: "blob_store not running\n" in self.stack("status", code=None).stdout, "the end of the blob store", interval_s=0.1)
        self.assertEqual(sorted(self.running(code=1)), ["api", "queue_service", "table_store"])
        self.up("--workers", "0")
        self.assertEqual(sorted(self.running()), NAMES[:4])

    def test_the_stack_of_another_user(self):
        run = os.path.join(self.directory, "d", "run")
        os.makedirs(run, mode=0o700)
        os.chmod(self.directory, 0o755)
        if os.getuid() != 0:
            os.chmod(run, 0)
        another = {"user": "nobody"} if os.getuid() == 0 else {}
        for command in ("status", "down"):
            with self.subTest(command=command):
                refused = self.stack(command, code=1, **another)
                self.assertEqual(refused.stdout, "")
                self.assertIn(f"cannot read {run}; is it another user's stack?", refused.stderr)

    def test_two_side_by_side(self):
        one = free_port_base()
        self.up("--port-base", str(one), "--workers", "1")
        before = self.running()
        # On the ports of the first stack: refused, nothing left behind, the first goes on.
        refused = self.up("--port-base", str(one), data="e", code=1)
        self.assertIn("the port is in use", refused.stderr)
        self.assertEqual(self.stack("status", data="e", code=1).stdout, "not running\n")
        self.up("--port-base", str(free_port_base()), "--workers", "1", data="e")
        self.assertEqual(set(self.running(data="e").values()) & set(before.values()), set())
        self.stack("down", data="e")
        self.assertEqual(self.running(), before)

    def test_the_token_is_where_it_says(self):
        no_token = {"TIDEMARK_TOKEN": ""}
        base = free_port_base()
        self.addCleanup(self.stack, "down")
        told = self.stack("up", "--port-base", str(base), "--workers", "0", environment=no_token).stdout
        path = re.search(r"(?m)^token (.*)$", told)[1]
        with open(path, encoding="ascii") as file:
            token = file.read()
        for arguments in (["--data", os.path.join(self.directory, "d")], ["--token", token.strip()]):
            listed = subprocess.run([os.path.join(BIN, "tidemark"), "--api", f"http://127.0.0.1:{base + 3}", *arguments, "job",
                                     "list"], env=clean_environment(no_token), capture_output=True, text=True, timeout=60)
            self.assertEqual(listed.returncode, 0, listed.stderr)
        self.stack("down")
        with open(path, encoding="ascii") as file:
            self.assertEqual(file.read(), token, "it is kept")

    def test_the_directory_remembers(self):
        """Dead processes come back with their old settings, without being given them again."""
        base = free_port_base()
        config = os.path.join(self.directory, "config.json")
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"worker": {"lease_s": 7}}, file)
        self.addCleanup(self.stack, "down")
        self.stack("up", "--port-base", str(base), "--workers", "1", environment={"TIDEMARK_CONFIG": config})
        for name in ("table_store", "worker-1"):
            os.kill(self.running()[name], signal.SIGKILL)
            wait_until(lambda gone=name: gone not in self.running(code=None), f"the death of {name}", interval_s=0.1)
            self.assertEqual(ports_of(self.stack("up", "--workers", "1").stdout), list(range(base, base + 4)))
        with open(os.path.join(self.directory, "d", "log", "worker-1.log"), encoding="utf-8") as file:
            self.assertEqual(file.read().count(" lease_s=7 "), 2, "the configuration is remembered too")
        self.stack("down")
        self.assertEqual(ports_of(self.stack("up", "--workers", "0").stdout), list(range(base, base + 4)))
        self.stack("down")
        other = free_port_base()
        self.assertEqual(ports_of(self.up("--port-base", str(other), "--workers", "0").stdout), list(range(other, other + 4)))

    def test_a_restore_as_the_manual_has_it(self):
        base = free_port_base()
        self.up("--port-base", str(base), "--workers", "0")
        data, backups = os.path.join(self.directory, "d"), os.path.join(self.directory, "backups")

        def sh(commands):
            done = subprocess.run(["bash", "-euc", commands], capture_output=True, text=True, timeout=90, cwd=SOURCE,
                                  env=clean_environment({"TIDEMARK_BIN": os.path.abspath(BIN),
                                                         "PATH": f"{os.path.abspath(BIN)}:{os.environ['PATH']}"}))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            return done.stdout

        sh(f"tidemark --api http://127.0.0.1:{base + 3} --data {data} backup {backups}")
        with open(os.path.join(SOURCE, "docs", "recover.md"), encoding="utf-8") as manual:
            commands = re.search(r"### Restore\n\n((?:    .*\n)+)", manual.read())[1]
        commands = commands.replace("/srv/tidemark", data).replace("/srv/backups/tidemark-20261123T054500.123Z", f"{backups}/tidemark-*")
        self.assertEqual(ports_of(sh(commands)), [base, base + 1, base + 2, base + 3])

    def test_the_ports_of_a_configuration_file(self):
        base = free_port_base()
        ports = [base + 3, base + 2, base + 1, base]  # not those that a base would give
        config = os.path.join(self.directory, "config.json")
        with open(config, "w", encoding="utf-8") as file:
            json.dump({name: {"port": port} for name, port in zip(("blob_store", "queue_service", "table_store", "api"), ports)}, file)
        self.addCleanup(self.stack, "down")
        self.assertEqual(ports_of(self.stack("up", "--workers", "0", environment={"TIDEMARK_CONFIG": config}).stdout), ports)
        self.stack("down")
        self.assertEqual(ports_of(self.stack("up", "--workers", "0").stdout), ports, "the file is remembered")
        self.stack("down")
        other = free_port_base()
        self.assertEqual(ports_of(self.stack("up", "--workers", "0", "--port-base", str(other)).stdout), list(range(other, other + 4)),
                         "what the command line says goes before the file")

    def test_what_it_prints_is_what_clients_need(self):
        told = self.up("--port-base", str(free_port_base()), "--workers", "0").stdout
        script = "\n".join(line for line in told.splitlines() if line.startswith("export "))
        # Debian's own client for queues does not understand UseDevelopmentStorage=true.
        used = subprocess.run(["bash", "-ec", script + f"""
            test "$TIDEMARK_QUEUE_URL" = "$(sed 's/.*QueueEndpoint=\\([^;]*\\);.*/\\1/' <<<"$AZURE_STORAGE_CONNECTION_STRING")"
            {os.path.join(BIN, 'tidemark')} table list
            /usr/bin/python3 -c "import os
from azure.storage.queue import QueueServiceClient
queues = QueueServiceClient.from_connection_string(os.environ['AZURE_STORAGE_CONNECTION_STRING'])
queues.create_queue('printed')
print([q.name for q in queues.list_queues()])"
            """], env=clean_environment(), capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(used.returncode, 0, used.stderr)
        self.assertEqual(used.stderr, "", "all that is printed is known")
        self.assertIn("TidemarkJobs", used.stdout)
        self.assertIn("'printed'", used.stdout)

    def test_a_key_of_ones_own_is_not_printed(self):
        key = "b3duIGtleSBvZiB0aGlzIHRlc3Q="
        self.addCleanup(self.stack, "down")
        told = self.stack("up", "--port-base", str(free_port_base()), "--workers", "0",
                          environment={"TIDEMARK_ACCOUNTS": f"own:{key}", "TIDEMARK_ACCOUNT": "own"}).stdout
        self.assertIn("/own", told)
        self.assertNotIn("devstoreaccount1", told)
        self.assertNotIn(key, told)

    def test_an_account_of_a_file(self):
        accounts, config = (os.path.join(self.directory, name) for name in ("accounts", "stack.json"))
        with open(accounts, "w", encoding="ascii") as file:
            os.chmod(accounts, 0o600)
            file.write("# those of the shop\n\nlab:b3duIGtleSBvZiB0aGlzIHRlc3Q=\nshop:b3duIGtleSBvZiB0aGlzIHRlc3Q=\n")
        self.addCleanup(self.stack, "down")
        for settings, account, warned in (({"account": "shop"}, "shop", False), ({}, "lab", True)):
            with self.subTest(settings=settings):
                with open(config, "w", encoding="ascii") as file:
                    json.dump({"accounts_file": accounts, **settings}, file)
                told = self.stack("up", "--port-base", str(free_port_base()), "--workers", "0", environment={"TIDEMARK_CONFIG": config})
                self.assertIn(f"AccountName={account};AccountKey=KEY;", told.stdout)
                self.assertNotIn("devstoreaccount1", told.stdout)
                self.assertEqual("jobs run on the data of devstoreaccount1" in told.stderr, warned)
                self.stack("down")

    def test_a_failed_start_leaves_alone_what_ran(self):
        base = free_port_base()
        self.up("--port-base", str(base), "--workers", "1")
        before = self.running()
        os.kill(before["api"], signal.SIGTERM)
        wait_until(lambda: "api" not in self.running(code=None), "the end of the api", interval_s=0.1)
        with socket.create_server(("127.0.0.1", base + 3)):
            self.assertIn(str(base + 3), self.up("--port-base", str(base), code=1).stderr)
        before.pop("api")
        self.assertEqual(self.running(code=1), before)

    def test_wrong_accounts_are_told_at_once(self):
        """The error names the reason of this start, and none of an earlier one; nobody waits for stores that will not
        come."""
        base = str(free_port_base())
        for accounts, says, silent in (("UPPER:AAAA", "lower-case", "base64 of"), ("mine:not-base64!", "base64 of", "lower-case")):
            # An api that waited for the stores would do so for longer than the test waits for the api.
            failed = self.stack("up", "--port-base", base, code=1,
                                environment={"TIDEMARK_ACCOUNTS": accounts, "TIDEMARK_STARTUP_TIMEOUT_S": "600"}).stderr
            self.assertIn(says, failed)
            self.assertNotIn(silent, failed)
            self.assertEqual(self.stack("status", code=1).stdout, "not running\n")

    def test_jobs_of_another_account_are_told_of(self):
        self.addCleanup(self.stack, "down")
        base = ("--port-base", str(free_port_base()), "--workers", "0")
        accounts = {"TIDEMARK_ACCOUNTS": "own:b3duIGtleSBvZiB0aGlzIHRlc3Q="}
        self.assertIn("TIDEMARK_ACCOUNT=own", self.stack("up", *base, environment=accounts).stderr)
        self.stack("down")
        self.assertEqual(self.stack("up", *base, environment={**accounts, "TIDEMARK_ACCOUNT": "own"}).stderr, "")

    def test_a_stale_process_id_is_nobody(self):
        """After a crash of the machine the number may belong to any process: it is not counted, and above all not
        killed."""
        run = os.path.join(self.directory, "d", "run")
        os.makedirs(run)
        with subprocess.Popen(["sleep", "600"]) as innocent:
            try:
                with open(os.path.join(run, "table_store.pid"), "w", encoding="ascii") as file:
                    file.write(f"{innocent.pid}\n")
                self.assertEqual(self.stack("status", code=1).stdout, "table_store dead\n")
                self.up("--port-base", str(free_port_base()), "--workers", "0")
                self.assertIn("table_store", self.running())
                self.stack("down")
                self.assertIsNone(innocent.poll())
            finally:
                innocent.kill()

    def test_wrong_arguments(self):
        for arguments, says in ((["--port-base"], "--port-base"), (["--port-base", "70000"], "70000"),
                                (["--workers", "many"], "many"), (["--colour", "red"], "--colour")):
            with self.subTest(arguments=arguments):
                self.assertIn(says, self.stack("up", *arguments, code=2).stderr)
        self.assertFalse(os.path.exists(os.path.join(self.directory, "d")))


if __name__ == "__main__":
    unittest.main(verbosity=2)
