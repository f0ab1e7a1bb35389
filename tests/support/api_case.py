"""Tests of the api as its users see it: every answer conforms to /openapi.json, and every operation is called."""
import json
import re
import subprocess

from clients import HttpFailure, QueueClient, TableClient, ended
from openapi import CheckedApiClient
from stack import StackTest, clean_environment, program, wait_until

ENTITIES = [{"PartitionKey": f"p{i % 3}", "RowKey": str(i), "Number": i} for i in range(30)]
JSON = {"Content-Type": "application/json"}
WORKER = ("--poll-s", "2", "--retry-base-ms", "20", "--retry-cap-ms", "100", "--lease-s", "5")
# The operations that a file of tests calls with success. "api" has all that no other file has.
SUBJECTS = {"own kinds": r"/v1/(work/|kinds/\{id\}|workers/\{id\}/)", "jobs": r"/v1/(jobs|groups|kinds|limits|schedules|workers|explain)\b", "queues": r"/v1/(queues|poison)\b"}
# The first two succeed where there are shards: shard_tools_test.py. The last one is a stream: own_kinds_test.py.
ELSEWHERE = {("POST", "/v1/shards/{store}/{shard}/move"), ("POST", "/v1/queues/{id}/spread"), ("GET", "/v1/work/events")}


def subject_of(path):
    return next((name for name, paths in SUBJECTS.items() if re.match(paths, path)), "api")


def check_operations(api, subject):
    """Checks that the client has seen every operation of the subject succeed."""
    succeeded = {(method, path) for method, path, status in api.seen if status < 400}
    missing = {(method, path) for method, path in api.operations() - ELSEWHERE - succeeded if subject_of(path) == subject}
    if missing:
        raise AssertionError(f"operations that no test saw succeed: {sorted(missing)}")


class ApiCase(StackTest):
    """`subject`: the operations that have to succeed in these tests."""
    maxDiff = 2000
    subject = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.up(workers=1, worker_arguments=WORKER)
        cls.api = CheckedApiClient(cls.stack.ports["api"])
        cls.tables = TableClient(cls.stack.ports["table_store"])
        cls.queues = QueueClient(cls.stack.ports["queue_service"])

    @classmethod
    def tearDownClass(cls):
        check_operations(cls.api, cls.subject)

    def refused(self, status, code, method, path, body=None):
        with self.assertRaises(HttpFailure) as caught:
            self.api.call(method, path, body)
        self.assertEqual((caught.exception.status, caught.exception.code), (status, code))
        return json.loads(caught.exception.body)

    def refused_with(self, headers, status, method, path, body):
        self.assertEqual(self.api.send(method, path, {**JSON, **headers}, json.dumps(body))[0], status)

    def finish(self, spec):
        job_id = self.api.submit(spec)
        return wait_until(lambda: (job := self.api.job(job_id)) and ended(job) and job, f"the end of {job_id}")

    def fill(self, name):
        self.tables.create_table(name)
        self.fill_again(name)

    def fill_again(self, name):
        self.tables.put_many(name, ENTITIES)

    def command(self, *arguments):
        """Returns the exit code and standard output of the command line tool."""
        done = subprocess.run([program("tidemark"), "--api", f"http://127.0.0.1:{self.stack.ports['api']}", *arguments],
                              env=clean_environment(), capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout
