"""Stores on one machine, workers and the api on another: keys, refusals, and a network that is cut and slow.

The two machines of the last tests are network namespaces that disappear with their processes: a test moves itself into
one, with the stores, and keeps another one for the worker and the api. That needs root.
"""
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import networks  # noqa: E402
from clients import ApiClient, QueueClient, TableClient, patiently  # noqa: E402
from stack import Child, OwnStackTest, clean_environment, program, wait_until  # noqa: E402

STORES = ("table_store", "queue_service", "blob_store")
ENDS = {"succeeded", "cancelled", "poisoned"}


def tidemark(*arguments):
    return subprocess.run([program("tidemark"), *arguments], capture_output=True, text=True, timeout=60,
                          env=clean_environment())


class HostsCase(OwnStackTest):
    def setUp(self):
        self.directory = self.stack.directory
        self.elsewhere = os.path.join(self.directory, "e")  # stands for the data directory on the other machine
        self.stores_key = self.make_key("stores")
        self.keys = {name: self.make_key(name) for name in ("api", "worker")}
        self.allow(*self.keys.values())
        self.addresses = []

    def path(self, name):
        return os.path.join(self.directory, name)

    def make_key(self, name):
        """Makes a key; returns its public half."""
        done = tidemark("--json", "keys", "make", self.path(name + ".key"))
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)[0]["publicKey"]

    def allow(self, *keys):
        with open(self.path("allowed"), "w", encoding="utf-8") as file:
            file.writelines(f"{key} some-name\n" for key in keys)

    def start_stores(self, address="127.0.0.1"):
        for name in STORES:
            store = self.stack.start(name, "--internal-address", f"tcp://{address}:0", "--internal-key-file",
                                     self.path("stores.key"), "--internal-allowed-keys", self.path("allowed"))
            kind = name.split("_")[0]
            self.addresses += [f"--{kind}-address", store.ready["internal"]]

    def launch(self, name, *arguments, prefix=(), called=None):
        """Starts the api or a worker on the other machine."""
        line = [*prefix, program(name), "--data", self.elsewhere, "--internal-key-file", self.path(name + ".key"),
                "--stores-key", self.stores_key, *self.addresses, *arguments]
        child = Child(called or name, line, self.path((called or name) + ".log"))
        self.stack.children[child.name] = child
        return child

    def metric(self, store, name):
        """Reads a metric of a store from its /metrics."""
        with socket.create_connection(("127.0.0.1", self.stack.ports[store]), timeout=60) as connection:
            connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            text = b"".join(iter(lambda: connection.recv(65536), b"")).decode()
        return next(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name + " "))


class Keys(HostsCase):
    def test_a_key_file_is_private_and_its_secret_is_never_printed(self):
        path = self.path("stores.key")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        with open(path, encoding="utf-8") as file:
            secret = file.read().split()[-1]
        shown = tidemark("keys", "show", path)
        self.assertEqual(shown.stdout, f"{self.stores_key} {path}\n")
        again = tidemark("keys", "make", path)
        self.assertEqual(again.returncode, 1)
        self.assertIn("exists already", again.stderr)
        for said in (shown, again):
            self.assertNotIn(secret, said.stdout + said.stderr)
        os.chmod(path, 0o644)
        self.assertIn("chmod 600", tidemark("keys", "show", path).stderr)

    def test_without_keys_a_store_does_not_listen_for_other_machines(self):
        for arguments, said in (
                ([], "without keys"),
                (["--internal-key-file", self.path("stores.key")], "without keys"),
                (["--internal-key-file", self.path("none.key"), "--internal-allowed-keys", self.path("allowed")],
                 "none.key"),
                (["--internal-key-file", self.path("stores.key"), "--internal-allowed-keys", self.path("stores.key")],
                 "is not a public key")):
            done = subprocess.run([program("table_store"), "--data", self.path("d"), "--port", "0",
                                   "--internal-address", "tcp://0.0.0.0:0", *arguments],
                                  capture_output=True, text=True, timeout=60, env=clean_environment())
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(said, done.stderr)

    def test_a_worker_needs_the_stores_key(self):
        done = subprocess.run([program("worker"), "--data", self.path("e"), "--table-address", "tcp://127.0.0.1:1"],
                              capture_output=True, text=True, timeout=60, env=clean_environment())
        self.assertEqual(done.returncode, 2)
        self.assertIn("stores_key", done.stderr)


class OverTcp(HostsCase):
    def run_one_job(self, api, row):
        TableClient(self.stack.ports["table_store"]).put("Source", {"PartitionKey": "p", "RowKey": row})
        job = api.submit({"kind": "archive", "source": "Source", "destination": "Archive", "partitionKey": "p",
                          "rowKey": row})
        return wait_until(lambda: api.job(job)["state"] in ENDS, "the job ends")

    def test_jobs_run_with_a_data_directory_each_and_a_key_can_be_taken_away(self):
        self.start_stores()
        api = ApiClient(int(self.launch("api", "--port", "0").await_ready().ready["port"]))
        worker = self.launch("worker").await_ready()
        TableClient(self.stack.ports["table_store"]).create_table("Source")
        self.run_one_job(api, "1")
        self.assertFalse(os.path.exists(os.path.join(self.elsewhere, "table")))
        self.assertEqual(self.metric("table_store", "tidemark_internal_connections"), 2)
        self.assertEqual(api.call("GET", "/v1/workers")["workers"][0]["pid"], worker.pid)

        # Strangers: a key that is not allowed, and bytes that follow no protocol at all.
        self.make_key("stranger")
        os.replace(self.path("stranger.key"), self.path("worker.key"))
        stranger = self.launch("worker", "--name", "stranger", called="stranger")
        for store in STORES:
            port = int(self.addresses[2 * STORES.index(store) + 1].rsplit(":", 1)[1])
            with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
                connection.sendall(os.urandom(10_000))
        wait_until(lambda: self.metric("table_store", "tidemark_internal_keys_refused_total") > 0, "it is refused")
        wait_until(lambda: "does not admit this process" in stranger.log(), "the stranger says why it cannot work")
        wait_until(lambda: "whose key is not allowed" in self.stack.children["table_store"].log(), "the store says it too")
        stranger.terminate()

        # The api's key is taken off the list: it gets no more answers, though its connection is still open.
        self.allow(self.keys["worker"])
        for store in STORES:
            self.stack.children[store].signal(signal.SIGHUP)
            wait_until(lambda: "allowed keys was read again" in self.stack.children[store].log(), "the list is read")
        api.timeout_s = 60
        status, _, _ = api.send("GET", "/v1/jobs")
        self.assertIn(status, (503, 504))
        self.allow(*self.keys.values())
        self.stack.children["table_store"].signal(signal.SIGHUP)
        wait_until(lambda: api.send("GET", "/v1/jobs")[0] == 200, "it is answered again", interval_s=0.5)

    def reload_keys(self, *keys):
        """Puts these keys on the list of every store from now on."""
        self.allow(*keys)
        for store in STORES:
            child = self.stack.children[store]
            before = child.log(1 << 20).count("allowed keys was read again")
            child.signal(signal.SIGHUP)
            wait_until(lambda: child.log(1 << 20).count("allowed keys was read again") > before, "the list is read")

    def test_the_key_of_a_worker_is_replaced(self):
        """Follows docs/secure.md: put the new key beside the old one, restart the worker, take the old one away."""
        self.start_stores()
        api = ApiClient(int(self.launch("api", "--port", "0").await_ready().ready["port"]))
        worker = self.launch("worker").await_ready()
        TableClient(self.stack.ports["table_store"]).create_table("Source")
        self.run_one_job(api, "1")
        os.rename(self.path("worker.key"), self.path("worker.key.before"))
        new = self.make_key("worker")
        self.reload_keys(*self.keys.values(), new)
        self.assertEqual(worker.terminate(), 0)
        self.launch("worker").await_ready()
        self.reload_keys(self.keys["api"], new)
        self.run_one_job(api, "2")
        os.replace(self.path("worker.key.before"), self.path("worker.key"))
        late = self.launch("worker", "--name", "late", called="late")
        wait_until(lambda: f"lacks the public key {self.keys['worker']}" in late.log(), "the old key is refused")

    def test_the_key_of_the_stores_is_replaced(self):
        self.start_stores()
        api = ApiClient(int(self.launch("api", "--port", "0").await_ready().ready["port"]))
        self.launch("worker").await_ready()
        TableClient(self.stack.ports["table_store"]).create_table("Source")
        self.run_one_job(api, "1")
        os.remove(self.path("stores.key"))
        before, self.stores_key = self.stores_key, self.make_key("stores")
        self.addresses = []
        for name in STORES:
            self.stack.children[name].terminate()
        self.start_stores()
        # A worker that does not know the new key talks to nobody, and says so.
        self.stack.children["worker"].terminate()
        new, self.stores_key = self.stores_key, before
        untold = self.launch("worker", "--name", "untold", called="untold")
        wait_until(lambda: "closed the connection during the handshake" in untold.log(), "it says what is wrong")
        untold.terminate()
        self.stores_key = new
        self.stack.children["api"].terminate()
        api = ApiClient(int(self.launch("api", "--port", "0").await_ready().ready["port"]))
        self.launch("worker").await_ready()
        self.run_one_job(api, "2")

    def test_a_list_with_a_wrong_line_is_not_taken(self):
        self.start_stores()
        api = ApiClient(int(self.launch("api", "--port", "0").await_ready().ready["port"]))
        self.allow(*self.keys.values(), "nonsense")
        store = self.stack.children["table_store"]
        store.signal(signal.SIGHUP)
        wait_until(lambda: "the list of allowed keys is kept" in store.log(), "the store says so")
        self.assertIn("line 3", store.log(1 << 20))
        self.assertEqual(api.send("GET", "/v1/jobs")[0], 200)
        self.reload_keys(*self.keys.values())
        self.assertEqual(api.send("GET", "/v1/jobs")[0], 200)


@unittest.skipUnless(networks.can_make_networks("iptables", "tc"), "needs root, `ip`, `tc` and `iptables` to make network namespaces: the test of two networks is skipped")
class TwoNetworks(HostsCase):
    """The first link connects the machines and is disturbed; by the second the test reaches the api."""
    ENTITIES = 2_000

    def setUp(self):
        networks.leave_for_a_new_network(self)
        super().setUp()
        self.other = networks.OtherMachine(self, links=(1, 2))

    def slow(self, rate):
        """Slows both directions; adds a delay where the system has netem."""
        for prefix in ((), self.other.prefix):
            networks.run(*prefix, "tc", "qdisc", "del", "dev", "link1", "root")
            if rate is None:
                continue
            if networks.run(*prefix, "tc", "qdisc", "add", "dev", "link1", "root", "netem", "delay", "40ms", "rate",
                   rate).returncode == 0:
                continue
            done = networks.run(*prefix, "tc", "qdisc", "add", "dev", "link1", "root", "tbf", "rate", rate, "burst", "16kb",
                       "latency", "400ms")
            if done.returncode != 0:
                print(f"the link is not slowed: {done.stderr}", file=sys.stderr)

    def start_other_machine(self):
        self.start_stores(networks.here(1))
        client = ApiClient(0)
        client.host = networks.there(2)
        client.port = int(self.launch("api", "--port", "0", "--host", "0.0.0.0", prefix=self.other.prefix)
                          .await_ready().ready["port"])
        self.launch("worker", "--lease-s", "5", "--retry-base-ms", "50", "--retry-cap-ms", "1000",
                    prefix=self.other.prefix).await_ready()
        return client

    def fill(self):
        self.tables = TableClient(self.stack.ports["table_store"])
        self.tables.create_table("Source")
        self.entities = {("p%02d" % (n % 20), "%05d" % n): {"PartitionKey": "p%02d" % (n % 20), "RowKey": "%05d" % n,
                                                            "Number": n} for n in range(self.ENTITIES)}
        self.tables.put_many("Source", list(self.entities.values()))

    def submit(self, api):
        """Submits a bulk job for each of 20 partitions, slow enough to be still running when the link is disturbed."""
        return [api.submit({"kind": "archive", "source": "Source", "destination": "Archive", "maxAttempts": 100,
                            "filter": f"PartitionKey eq 'p{n:02}'", "maxPerSecond": 60}) for n in range(20)]

    def check_ends(self, api, ids):
        def all_ended():
            states = [patiently(api.job, job) for job in ids]
            return states if all(state["state"] in ENDS for state in states) else None
        jobs = wait_until(all_ended, "every job ends", limit_s=120, interval_s=0.5)
        self.assertEqual({job["state"] for job in jobs}, {"succeeded"}, jobs)
        # Each exactly once: the records count every entity, and nothing is left, lost or doubled.
        self.assertEqual(sum(job["progress"]["done"] for job in jobs), self.ENTITIES)
        self.assertEqual(self.tables.scan("Source"), {})
        self.assertEqual(self.tables.scan("Archive"), self.entities)
        queue = QueueClient(self.stack.ports["queue_service"])
        wait_until(lambda: queue.length("tidemark-jobs") == 0, "no message is left")
        self.assertEqual(queue.length("tidemark-jobs-poison"), 0)

    def done_so_far(self):
        return self.ENTITIES - len(self.tables.scan("Source"))

    def test_the_link_is_cut_while_jobs_run(self):
        api = self.start_other_machine()
        self.fill()
        ids = self.submit(api)
        wait_until(lambda: self.done_so_far() > 50, "jobs are under way")
        # Neither end is notified: packets vanish until both ends have given the connections up.
        self.other.cut(1)
        wait_until(lambda: self.metric("table_store", "tidemark_internal_connections") == 0,
                   "the store notices that the link is cut")
        self.other.mend(1)
        self.check_ends(api, ids)

    def test_the_link_is_cut_briefly_again_and_again(self):
        api = self.start_other_machine()
        self.fill()
        ids = self.submit(api)
        for step in range(1, 6):
            wait_until(lambda: self.done_so_far() > 100 * step, "jobs go on")
            self.assertEqual(networks.run("iptables", "-I", "INPUT", "-i", "link1", "-j", "DROP").returncode, 0)
            until = time.monotonic() + 0.7 * step  # some cuts are shorter than tcp tolerates, and some are longer
            wait_until(lambda: time.monotonic() > until, "the cut lasts")
            self.assertEqual(networks.run("iptables", "-D", "INPUT", "-i", "link1", "-j", "DROP").returncode, 0)
        self.check_ends(api, ids)

    def test_the_link_is_slow(self):
        api = self.start_other_machine()
        self.fill()
        self.slow("2mbit")
        self.addCleanup(self.slow, None)
        self.check_ends(api, self.submit(api))


if __name__ == "__main__":
    unittest.main()
