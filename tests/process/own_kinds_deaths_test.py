"""Jobs of users' own kinds while the programs die: none is lost, and none ends twice."""
import collections
import os
import random
import subprocess
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from clients import ApiClient, HttpFailure, QueueClient, TableClient, ended, patiently  # noqa: E402
from own_worker import Worker, outcome  # noqa: E402
from stack import OwnStackTest, wait_until  # noqa: E402


class Survival(OwnStackTest):
    """W2: no job is lost, and none ends twice, whatever dies."""
    KIND = "sum"

    def up(self, lease=2):
        self.stack.up()
        self.api = ApiClient(self.stack.ports["api"])
        self.api.call("PUT", f"/v1/kinds/{self.KIND}", {"leaseSeconds": lease, "retryBaseMs": 1, "retryCapMs": 50,
                                                        "maxAttempts": 50, "steps": True})

    #: How workers end a job, each as often as it is listed.
    ENDS = ({},) * 6 + ({"release": True}, {"error": {"class": "transient", "message": "no"}})

    def work(self, stop, answers, name):
        """A worker that repeats what got no answer, as the page says."""
        worker = Worker(self.stack.ports["api"], name, [self.KIND])
        choice, number = random.Random(name), 0
        while not stop.is_set():
            number += 1
            try:
                jobs = patiently(lambda: worker.claim(5, 1, requestId=f"{name}-{number}"), limit_s=60)
            except HttpFailure:
                continue
            for job in jobs:
                how = choice.choice(self.ENDS)
                if not how or "steps" in how:
                    how = {"result": job["input"], **how}
                if choice.random() < 0.5:
                    patiently(lambda: worker.beat(job, done=1), limit_s=60)
                answer = patiently(lambda: worker.end_one(job, **how), limit_s=60)
                if outcome(answer) in ((200, "succeeded"), (200, "running")):
                    answers[job["id"]] += 1

    def run_jobs(self, count, meanwhile):
        ids = [patiently(self.api.submit, {"kind": self.KIND, "input": number, "idempotencyKey": f"n{number}",
                                           "key": f"t{number % 7}/{number % 3}"}) for number in range(count)]
        stop, answers = threading.Event(), collections.Counter()
        workers = [threading.Thread(target=self.work, args=(stop, answers, f"w{number}")) for number in range(4)]
        for each in workers:
            each.start()
        try:
            meanwhile(lambda: sum(answers.values()) >= count)
            wait_until(lambda: all(ended(patiently(self.api.job, job_id)) for job_id in ids), "every job has ended", 120)
        finally:
            stop.set()
            for each in workers:
                each.join()
        for number, job_id in enumerate(ids):
            job = self.api.job(job_id)
            self.assertEqual((job["state"], job["result"]), ("succeeded", number), job)
            self.assertEqual([each["outcome"] for each in job["history"]].count("succeeded"), 1, job)
        wait_until(lambda: Worker(self.stack.ports["api"], "last", [self.KIND]).claim(10, 1) == [] and
                   self.api.call("GET", f"/v1/queues/tidemark-work-{self.KIND}-v1")["messages"] == 0, "no message is left")

    def test_w2_processes_are_killed_at_random(self):
        self.up()
        choice = random.Random(4)

        def kill(done):
            for _ in range(9):
                if done():
                    break
                time.sleep(choice.uniform(0.2, 0.6))
                self.stack.restart(choice.choice(["api", "queue_service", "table_store"]))
        self.run_jobs(150, kill)

    def test_w2_the_api_dies_at_each_step(self):
        self.up(lease=1)

        def die(_):
            for step in ("work.claim", "work.result", "work.message", "work.put_back", "work.beat"):
                for moment in ("before", "after"):
                    self.api_dies_at(f"{step}.{moment}")
        self.run_jobs(120, die)

    def api_dies_at(self, fail_point, limit_s=20):
        child = self.stack.restart_to_die("api", fail_point)
        try:
            child.wait(limit_s)
        except subprocess.TimeoutExpired:
            pass  # every job has ended
        self.stack.restart("api")
        self.api.close()

    def test_w2_a_job_that_is_given_up_becomes_poison_once(self):
        self.up(lease=15)
        worker = Worker(self.stack.ports["api"], "w1", [self.KIND])
        for moment in ("before", "after"):
            job_id = patiently(self.api.submit, {"kind": self.KIND, "input": moment})
            job = patiently(worker.claim_one)
            child = self.stack.restart_to_die("api", f"work.give_up.{moment}")
            how = {"error": {"class": "permanent", "message": "never"}}
            ending = threading.Thread(target=lambda: patiently(lambda: worker.end_one(job, **how), limit_s=60))
            ending.start()
            child.wait(30)
            self.stack.restart("api")
            self.api.close()
            ending.join()
            wait_until(lambda: patiently(worker.claim) == [] and patiently(self.api.job, job_id)["state"] == "poisoned", "it is poison")
            wait_until(lambda: [each["jobId"] for each in self.api.poison()] == [job_id], "its message is in the poison queue")
            self.api.call("POST", f"/v1/poison/{job_id}/redrive")
            self.assertEqual(outcome(worker.end_one(worker.claim_one(), result=1)), (200, "succeeded"))

    def test_w2_steps_happen_once(self):
        """Jobs that end with steps, while the api and the built-in worker die at each step."""
        self.up(lease=1)
        tables, queues = TableClient(self.stack.ports["table_store"]), QueueClient(self.stack.ports["queue_service"])
        tables.create_table("Sums")
        queues.create("told")
        self.ENDS = ({"steps": [{"merge": {"table": "Sums", "partitionKey": "p", "rowKey": "r", "add": {"Jobs": 1}, "orInsert": True}},
                                {"message": {"queue": "told", "text": "{job.id}"}},
                                {"put": {"table": "Sums", "partitionKey": "{job.id}", "rowKey": "r", "entity": {"A": 1}}}]},)
        worker = ("--lease-s", "2", "--poll-s", "1", "--retry-base-ms", "1", "--retry-cap-ms", "50")
        self.stack.start_worker("worker-1", *worker)

        def die(_):
            for point in ("work.result.before", "work.result.after", "work.hand_over.before", "work.hand_over.after", "work.beat.after"):
                self.api_dies_at(point, 10)
            for step in ("claim", "transaction.steps", "transaction.message", "finish.record", "finish.message"):
                for moment in ("before", "after"):
                    self.stack.children["worker-1"].kill()
                    child = self.stack.start_worker("worker-1", *worker, fail_point=f"{step}.{moment}")
                    try:
                        child.wait(5)
                    except subprocess.TimeoutExpired:
                        child.kill()
            self.stack.start_worker("worker-1", *worker)
        self.run_jobs(120, die)
        self.assertEqual(tables.get("Sums", "p", "r")["Jobs"], 120)
        told = collections.Counter()
        while messages := queues.take("told", 32):
            told.update(each["MessageText"] for each in messages)
        self.assertEqual((len(told), sum(told.values())), (120, 120), "each job told once")


if __name__ == "__main__":
    unittest.main()
