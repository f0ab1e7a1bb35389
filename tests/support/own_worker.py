"""A worker of kinds of users' own that speaks HTTP itself (docs/workers.md)."""
from clients import ApiClient


class Worker:
    """A worker by its name; any number of them may share a name."""

    def __init__(self, port, name="w1", kinds=("resize",), client=ApiClient):
        self.api, self.name, self.kinds = client(port), name, list(kinds)

    def claim(self, count=1, wait=0, **more):
        return self.answer(count, wait, **more)["jobs"]

    def answer(self, count=1, wait=0, **more):
        return self.api.call("POST", "/v1/work/claim",
                             {"worker": self.name, "kinds": self.kinds, "count": count, "wait": wait, **more})

    def claim_one(self, **more):
        jobs = self.claim(wait=20, **more)
        assert len(jobs) == 1, jobs
        return jobs[0]

    def beat(self, *jobs, **more):
        answer = self.api.call("POST", "/v1/work/beat", {
            "worker": self.name, "jobs": [{"id": job["id"], "epoch": job["epoch"], **more} for job in jobs]})
        return [each["answer"] for each in answer["jobs"]]

    def end(self, *jobs, **how):
        answer = self.api.call("POST", "/v1/work/end", {
            "worker": self.name, "jobs": [{"id": job["id"], "epoch": job["epoch"], **how} for job in jobs]})
        return answer["jobs"]

    def end_one(self, job, **how):
        return self.end(job, **how)[0]


def outcome(ended_job):
    return ended_job["status"], ended_job.get("state")
