"""Callbacks of the real stack to real endpoints, over HTTP and TLS."""
import json
import os
import subprocess
import sys
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import ApiClient, HttpFailure, QueueClient, TableClient, ended, job_if_known  # noqa: E402
from receiver import OLD_SECRET, SECRET, Receiver, make_certificates, signature  # noqa: E402
from stack import StackTest, clean_environment, program, wait_until  # noqa: E402

LOCAL = "localhost:*,127.0.0.1:*,127.0.0.2:*"
HOSTS = ("--callback-hosts", LOCAL, "--callback-http-hosts", LOCAL)
PRIVATE = ("--callback-private-hosts", "localhost:*,127.0.0.1:*")
WORKER = ("--poll-s", "2", "--retry-base-ms", "20", "--retry-cap-ms", "100",
          "--callback-secrets", f"{SECRET},rolling={SECRET},rolling={OLD_SECRET}")


class CallbackTest(StackTest):
    maxDiff = 2000

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.ca, cls.certificate = make_certificates(cls.stack.directory)
        cls.stack.start("table_store")
        cls.stack.start("queue_service")
        # The api allows more hosts than the workers do.
        cls.stack.start("api", *HOSTS, "--callback-private-hosts", LOCAL)
        cls.api = ApiClient(cls.stack.ports["api"])
        cls.tables = TableClient(cls.stack.ports["table_store"])
        cls.queues = QueueClient(cls.stack.ports["queue_service"])
        cls.start_worker()

    @classmethod
    def start_worker(cls, lease_s=60):  # long, because an attempt is lost if the disk stands still for the time of a lease
        cls.stack.start_worker("worker", *WORKER, *HOSTS, *PRIVATE, "--callback-ca-file", cls.ca, "--lease-s", str(lease_s))

    def receiver(self, answer=None, certificate=None):
        made = Receiver(answer, certificate)
        self.addCleanup(made.close)
        return made

    def await_end(self, job_id):
        return wait_until(lambda: (job := job_if_known(self.api, job_id)) and ended(job) and job, f"the end of {job_id}")

    def finish(self, url, **members):
        return self.await_end(self.api.submit({"kind": "callback", "url": url, **members}))

    def refused(self, spec, path="/v1/jobs"):
        with self.assertRaises(HttpFailure) as caught:
            self.api.call("POST", path, spec)
        self.assertEqual((caught.exception.status, caught.exception.code), (400, "JobInvalid"))
        return json.loads(caught.exception.body)["problems"]

    def test_signed_over_tls(self):
        endpoint = self.receiver(lambda request: (200, {}, b"welcome"), self.certificate)
        job = self.finish(endpoint.url("/in?a=b%20c"), body={"n": 1}, headers={"X-Mine": "yes"}, secret="rolling")
        self.assertEqual(job["state"], "succeeded", job)
        self.assertEqual((job["result"]["status"], job["result"]["answer"]), (200, "welcome"))
        [request] = endpoint.got
        self.assertEqual((request["method"], request["path"], request["body"]), ("POST", "/in?a=b%20c", b'{"n":1}'))
        self.assertEqual(request["webhook-signature"], f"{signature(SECRET, request)} {signature(OLD_SECRET, request)}")
        self.assertEqual((request["webhook-id"], request["idempotency-key"]), (job["id"], job["id"]))
        self.assertEqual((request["x-mine"], request["content-type"]), ("yes", "application/json"))
        self.assertTrue(request["user-agent"].startswith("Tidemark/"))
        self.assertNotIn("expect", request)
        self.assertNotIn("AAECAwQF", self.stack.children["worker"].log(1_000_000), "a secret in the log")

    def test_every_method_and_body_arrives_as_it_was_given(self):
        endpoint = self.receiver()
        sent = [("PUT", "text \u00e9", "text/plain; charset=utf-8"), ("PATCH", [1, None], "application/json"),
                ("DELETE", None, None), ("GET", None, None), ("POST", "x" * 20_000, "text/plain; charset=utf-8")]
        for method, body, kind in sent:
            members = {} if body is None else {"body": body}
            self.assertEqual(self.finish(endpoint.url(), method=method, **members)["state"], "succeeded")
            request = endpoint.got[-1]
            wanted = b"" if body is None else (body if isinstance(body, str) else json.dumps(body, separators=(",", ":"))).encode()
            self.assertEqual((request["method"], request["body"], request.get("content-type")), (method, wanted, kind))
            self.assertEqual(request["webhook-signature"], signature(SECRET, request))

    def test_a_certificate_of_a_stranger_is_not_trusted(self):
        directory = os.path.join(self.stack.directory, "stranger")
        os.mkdir(directory)
        endpoint = self.receiver(certificate=make_certificates(directory)[1])
        job = self.finish(endpoint.url(), maxAttempts=2)
        self.assertEqual((job["state"], job["attempts"]), ("poisoned", 2), job)
        self.assertIn("certificate", job["error"])
        self.assertEqual(endpoint.got, [])
        # Nor is a certificate for another name accepted.
        wrong = self.receiver(certificate=self.certificate)
        job = self.finish(wrong.url(host="127.0.0.1"), maxAttempts=1)
        self.assertEqual((job["state"], wrong.got), ("poisoned", []), job)
        self.assertRegex(job["error"], "No answer of .*(certificate|subject)")

    def test_tried_again_until_it_is_taken(self):
        answers = iter([None, (500, {}, b"no"), (502, {}, b""), (200, {}, b"")])
        endpoint = self.receiver(lambda request: next(answers))
        job = self.finish(endpoint.url(), body="again")
        self.assertEqual((job["state"], job["attempts"]), ("succeeded", 4), job)
        self.assertEqual({request["webhook-id"] for request in endpoint.got}, {job["id"]})
        self.assertEqual([request["tidemark-attempt"] for request in endpoint.got], ["1", "2", "3", "4"])
        self.assertEqual([attempt["outcome"] for attempt in job["history"]], ["failed"] * 3 + ["succeeded"])

    def test_throttling_is_waited_for_and_no_attempt(self):
        answers = iter([(429, {"Retry-After": "1"}, b""), (503, {"Retry-After": "1"}, b""), (429, {}, b""), (200, {}, b"")])
        endpoint = self.receiver(lambda request: next(answers))
        job = self.finish(endpoint.url(), maxAttempts=1)
        self.assertEqual((job["state"], job["attempts"], len(endpoint.got)), ("succeeded", 1, 4), job)

    def test_what_can_never_pass_is_poison_at_once(self):
        for status, headers in ((410, {}), (400, {}), (302, {"Location": "/elsewhere"}), (401, {})):
            endpoint = self.receiver(lambda request: (status, headers, b"because " + request["x-token"].encode() * 2000))
            job = self.finish(endpoint.url(), headers={"X-Token": "t0ps3cret"})
            self.assertEqual((job["state"], job["attempts"], len(endpoint.got)), ("poisoned", 1, 1), job)
            self.assertIn(f"answered {status}", job["error"])
            self.assertIn("because ***", job["error"])
            self.assertNotIn("t0ps3cret", job["error"])
            self.assertLess(len(job["error"]), 500)

    def test_answers_and_waits_are_bounded(self):
        endpoint = self.receiver(lambda request: (200, {}, b"y" * 5_000_000))
        job = self.finish(endpoint.url())
        self.assertEqual(job["state"], "succeeded", job)
        self.assertLess(len(job["result"]["answer"]), 500)
        over = threading.Event()
        self.addCleanup(over.set)
        silent = self.receiver(lambda request: over.wait(60) and None)
        job = self.finish(silent.url(), timeoutMs=300, maxAttempts=2)
        self.assertEqual((job["state"], job["attempts"], len(silent.got)), ("poisoned", 2, 2), job)
        self.assertIn("timed out", job["error"].lower())

    def test_the_api_refuses_what_no_worker_may_call(self):
        for url in ("https://example.com/", "http://10.0.0.1/", "https://localhost.evil.example:1/"):
            self.assertIn("not in callback_hosts", self.refused({"kind": "callback", "url": url})[0])
        self.assertIn("url must", self.refused({"kind": "callback", "url": "http://a@localhost:1/"})[0])
        on_end = {"kind": "delete", "source": "Any", "filter": "", "onEnd": {"url": "https://example.com/"}}
        self.assertTrue(self.refused(on_end)[0].startswith("onEnd: "))
        with self.assertRaises(HttpFailure) as caught:
            self.api.call("PUT", "/v1/schedules/far", {"cron": "0 3 * * *", "job": on_end})
        self.assertEqual(caught.exception.status, 400, caught.exception)
        problems = self.refused({"jobs": [on_end], "group": "g", "onEnd": {"url": "https://example.com/"}}, "/v1/jobs/batch")
        self.assertEqual([p.split(": ")[:2] for p in problems][0], ["jobs[0]", "onEnd"])
        self.assertEqual(len(problems), 2)

    def test_the_worker_asks_for_the_address_it_connects_to(self):
        # The worker does not allow this address, although its api does.
        endpoint = self.receiver()
        job = self.finish(endpoint.url(host="127.0.0.2"))
        self.assertEqual(job["state"], "poisoned", job)
        self.assertIn("callback_private_hosts", job["error"])
        # Where the name is allowed but must be public, the address that it resolves to decides.
        self.assertEqual(self.stack.children["worker"].terminate(), 0)
        strict = self.stack.start_worker("strict", *WORKER, *HOSTS)
        try:
            job = self.finish(endpoint.url())
            self.assertEqual(job["state"], "poisoned", job)
            self.assertRegex(job["error"], r"has the address (127\.0\.0\.1|::1), which is not a public one")
            self.assertEqual(endpoint.got, [])
        finally:
            strict.terminate()
            self.start_worker()

    def test_a_worker_without_secrets_does_not_start(self):
        for arguments in (HOSTS, ("--callback-hosts", "https://x"), ("--callback-secrets", "plain"),
                          (*HOSTS, "--callback-secrets", SECRET, "--callback-ca-file", "/nowhere")):
            ran = subprocess.run([program("worker"), "--data", self.stack.data, *arguments], capture_output=True, text=True)
            self.assertNotEqual(ran.returncode, 0)
            self.assertIn("callback", ran.stderr)
            self.assertNotIn(SECRET, ran.stderr)

    def test_a_worker_killed_after_the_request(self):
        def kill_once(_request):
            if len(endpoint.got) == 1:
                self.stack.children["worker"].kill()
                return None
            return 200, {}, b""
        def restart_worker(**options):
            self.stack.children["worker"].terminate()
            self.start_worker(**options)
        restart_worker(lease_s=2)
        self.addCleanup(restart_worker)
        endpoint = self.receiver(kill_once)
        job_id = self.api.submit({"kind": "callback", "url": endpoint.url(), "body": "x",
                                  "onEnd": {"url": endpoint.url("/ended")}})
        wait_until(lambda: not self.stack.children["worker"].alive(), "the worker's death")
        self.start_worker(lease_s=2)
        job = self.await_end(job_id)
        self.assertEqual([a["outcome"] for a in job["history"]], ["lost", "succeeded"], job)
        self.await_end(job["callbackJob"])
        self.assertEqual([request["path"] for request in endpoint.got], ["/", "/", "/ended"])
        self.assertEqual([request["webhook-id"] for request in endpoint.got], [job_id, job_id, job["callbackJob"]])
        self.assertEqual(json.loads(endpoint.got[-1]["body"])["data"]["id"], job_id)

    def test_ends_of_jobs_and_of_their_group(self):
        endpoint = self.receiver()
        self.tables.create_table("Grouped")
        self.tables.put_many("Grouped", [{"PartitionKey": f"p{i}", "RowKey": "r"} for i in range(20)])
        batch = {"group": "nightly", "onEnd": {"url": endpoint.url("/group")}, "jobs": [
            *({"kind": "delete", "source": "Grouped", "partitionKey": f"p{i}", "rowKey": "r"} for i in range(20)),
            {"kind": "delete", "source": "NoSuchTable", "filter": "", "onEnd": {"url": endpoint.url("/job")}},
            {"kind": "delete", "source": "Grouped", "filter": "", "notBefore": "2100-01-01T00:00:00Z"}]}
        results = self.api.call("POST", "/v1/jobs/batch", batch)["results"]
        self.assertEqual({r["status"] for r in results}, {202})
        again = self.api.call("POST", "/v1/jobs/batch", batch)["results"]
        self.assertEqual([(r["status"], r["job"]["id"]) for r in again], [(200, r["job"]["id"]) for r in results])
        group = wait_until(lambda: (g := self.api.call("GET", "/v1/groups/nightly")) and
                           (g["states"]["queued"], g["states"]["running"]) == (1, 0) and g, "all but the delayed one")
        self.assertEqual(group["states"], {"queued": 1, "running": 0, "succeeded": 20, "poisoned": 1, "cancelled": 0})
        self.assertNotIn("callbackJob", group)
        self.api.call("POST", f"/v1/jobs/{results[-1]['job']['id']}/cancel")
        group = self.api.call("GET", "/v1/groups/nightly")
        self.assertEqual(self.await_end(group["callbackJob"])["state"], "succeeded")
        wait_until(lambda: len(endpoint.got) == 2, "both callbacks")
        told = dict(zip((r["path"] for r in endpoint.got), endpoint.bodies()))
        self.assertEqual(told["/job"]["type"], "job.poisoned")
        self.assertEqual({k: told["/group"]["data"][k] for k in ("id", "members", "succeeded", "poisoned", "cancelled")},
                         {"id": "nightly", "members": 22, "succeeded": 20, "poisoned": 1, "cancelled": 1})
        self.assertEqual([request["webhook-signature"] for request in endpoint.got],
                         [signature(SECRET, request) for request in endpoint.got])
        with self.assertRaises(HttpFailure) as caught:
            self.api.call("GET", "/v1/groups/other")
        self.assertEqual(caught.exception.status, 404)

    def test_a_job_of_one_entity_tells_of_its_end_too(self):
        # Such jobs are carried out many at a time, unless somebody is to be told of their end.
        endpoint = self.receiver()
        self.tables.create_table("Single")
        self.tables.create_table("SingleArchive")
        self.tables.put_many("Single", [{"PartitionKey": f"p{i}", "RowKey": "r"} for i in range(20)])
        jobs = [{"kind": "archive", "source": "Single", "destination": "SingleArchive", "partitionKey": f"p{i}",
                 "rowKey": "r", **({"onEnd": {"url": endpoint.url(f"/{i}")}} if i % 2 else {})} for i in range(20)]
        results = self.api.call("POST", "/v1/jobs/batch", {"jobs": jobs})["results"]
        ended_jobs = [self.await_end(r["job"]["id"]) for r in results]
        self.assertEqual({job["state"] for job in ended_jobs}, {"succeeded"})
        wait_until(lambda: len(endpoint.got) == 10, "all callbacks")
        self.assertEqual({b["data"]["id"] for b in endpoint.bodies()}, {job["id"] for job in ended_jobs[1::2]})

    def test_on_the_command_line(self):
        endpoint = self.receiver(lambda request: (202, {}, b"ok"))

        def tidemark(*words):
            line = [program("tidemark"), "--api", f"http://127.0.0.1:{self.stack.ports['api']}", "--json", *words]
            ran = subprocess.run(line, capture_output=True, text=True, env=clean_environment())
            self.assertEqual(ran.returncode, 0, ran.stderr)
            return json.loads(ran.stdout)

        job = tidemark("job", "submit", "callback", "--url", endpoint.url("/cli"), "--method", "PUT", "--header",
                       "X-A: b", "--header", "X-C:d: e", "--body", '{"n":[1]}', "--timeout-ms", "5000",
                       "--on-end", endpoint.url("/cli-ended"), "--wait")
        self.assertEqual((job["state"], job["result"]["status"]), ("succeeded", 202), job)
        self.await_end(job["callbackJob"])
        first, last = endpoint.got
        self.assertEqual((first["method"], first["x-a"], first["x-c"], first["body"]), ("PUT", "b", "d: e", b'{"n":[1]}'))
        self.assertEqual((last["path"], json.loads(last["body"])["data"]["id"]), ("/cli-ended", job["id"]))
        plan = tidemark("job", "submit", "callback", "--url", endpoint.url("/cli"), "--body", "plain", "--dry-run")
        self.assertEqual((plan["keys"], plan["bytes"], len(endpoint.got)), (1, 5, 2))
        self.api.call("POST", "/v1/jobs/batch", {"group": "cli", "jobs": [{"kind": "callback", "url": endpoint.url()}]})
        wait_until(lambda: tidemark("group", "show", "cli").get("finishedAt"), "the end of the group")


if __name__ == "__main__":
    unittest.main(verbosity=2)
