"""Each fault leaves one line in a log that leads to its cause; no log contains secrets."""
import json
import os
import re
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import ApiClient, HttpClient, TableClient, ended  # noqa: E402
from stack import OwnStackTest, wait_until  # noqa: E402

WORKER = ("--retry-base-ms", "1", "--retry-cap-ms", "1", "--collect-every-s", "1", "--poll-s", "1")
SECRET = "d2hhdC1zaWducy1jYWxsYmFja3Mtd2hhdC1zaWducw=="


class LogTest(OwnStackTest):
    def log(self, name):
        return self.stack.children[name].log(1 << 20)

    def line(self, name, *words):
        """Returns the line of a log that has these words, as soon as there is one."""
        def found():
            return next((text for text in self.log(name).splitlines() if all(word in text for word in words)), None)
        return wait_until(found, f"a line of {name} with {words}, in:\n{self.log(name)}")

    def test_an_answer_of_the_api_that_failed(self):
        self.stack.up()
        api = ApiClient(self.stack.ports["api"])
        self.stack.children["queue_service"].kill()
        status, headers, _ = api.send("POST", "/v1/jobs?dryRun=false", {"Content-Type": "application/json"},
                                      json.dumps({"kind": "delete", "source": "Nothing", "filter": ""}))
        self.assertEqual(status, 503)
        line = self.line("api", "request failed", headers["x-request-id"])
        self.assertIn('operation="POST /v1/jobs" code=Unavailable detail="', line)
        self.assertEqual(self.log("api").count(headers["x-request-id"]), 1)

    def test_a_job_that_was_given_up(self):
        self.stack.up(workers=1, worker_arguments=WORKER)
        api = ApiClient(self.stack.ports["api"])
        job_id = api.submit({"kind": "archive", "source": "Absent", "destination": "Other", "filter": "", "maxAttempts": 1})
        wait_until(lambda: ended(api.job(job_id)), "its end")
        line = self.line("worker-1", f"job_id={job_id}", "kind=archive", "end=poisoned")
        self.assertIn('code=TableNotFound message="', line)

    def test_the_background_of_a_worker(self):
        self.stack.up(workers=1, worker_arguments=WORKER)
        self.stack.children["table_store"].kill()
        for task in ("worker.heartbeat", "worker.collect", "worker.schedules"):
            self.assertRegex(self.line("worker-1", f"task={task} "), r"error .*background task failed .*code=\w+ detail=\"\S")

    def test_secrets_are_in_no_log(self):
        trace = ("--log-level", "trace")
        accounts = "other:" + SECRET
        for name in ("table_store", "queue_service", "blob_store"):
            self.stack.start(name, *trace, "--accounts", "devstoreaccount1:Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq"
                             "2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==," + accounts)
        self.stack.start("api", *trace)
        self.stack.start_worker("w", *trace, "--callback-hosts", "h:1", "--callback-secrets", "whsec_" + SECRET)
        TableClient(self.stack.ports["table_store"]).create_table("Things")
        api = ApiClient(self.stack.ports["api"])
        api.send("GET", "/v1/jobs", {"Authorization": "Bearer a-guessed-token"})
        api.send("POST", "/v1/jobs", {"Content-Type": "application/json"},
                 json.dumps({"kind": "callback", "url": "https://h:1/?k=secret-of-a-url", "maxAttempts": 1}))
        for name in ("table_store", "queue_service", "blob_store"):
            client = HttpClient(self.stack.ports[name])
            for target in ("/devstoreaccount1/things?sv=2019-02-02&sig=guessed%2Bsignature",
                           f"http://x:{client.port}/devstoreaccount1/things?sig=guessed%2Bsignature",
                           "/devstoreaccount1/things%3Fx"):
                client.send("GET", target, {"Authorization": "SharedKey devstoreaccount1:guessed+signature"})
                client.send("BREW", target)
        told = "\n".join(self.log(name) for name in self.stack.children)
        self.assertRegex(told, r" debug .*request request_id=\S+ method=GET path=/devstoreaccount1/things status=403")
        for secret in (SECRET, "Eby8vdM0", "the-token-of-all-tests", "a-guessed-token", "guessed+signature", "guessed%2Bsignature",
                       "secret-of-a-url", "SharedKey "):
            self.assertNotIn(secret, told)
        self.assertTrue(re.search(r"accounts=\*\*\*", told) and re.search(r"callback_secrets=\*\*\*", told), told)


if __name__ == "__main__":
    unittest.main(verbosity=2)
