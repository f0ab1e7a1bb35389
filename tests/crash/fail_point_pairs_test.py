"""A worker dies at one fail point, the worker that takes over dies at another while it recovers, and a third brings the
job to its end: for a sample of all pairs, with the jobs and oracles of archive_crash_test.py.

    tests/crash/fail_point_pairs_test.py --rounds 100
"""
import os
import random
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import sizes  # noqa: E402
import archive_crash_test  # noqa: E402
from clients import ended, patiently  # noqa: E402
from stack import program, wait_until  # noqa: E402
from store_crashes import OPTIONS, main  # noqa: E402

PAIRS_A_ROUND = 4
# The points that every job passes wherever it is taken up, unlike those that only jobs of one kind pass.
COMMON = ("claim", "open", "close", "finish", "renew")
# The oracle of these looks at one death: a third worker would not know the second worker's observations.
NOT_TWICE = ("retry", "drop")


class FailPointPairTest(archive_crash_test.FailPointTest):
    second = None  # the point at which the worker that takes over dies

    def test_every_fail_point(self):
        self.skipTest("archive_crash_test.py does that")

    def test_pairs(self):
        seed = OPTIONS["seed"] if OPTIONS["seed"] is not None else sizes.seed()
        print(f"repeat with --seed {seed}", flush=True)
        choice = random.Random(seed)
        listed = subprocess.run([program("worker"), "--list-fail-points"], capture_output=True, check=True, text=True)
        points = {}
        for point in listed.stdout.split():
            family = point.split(".")[0]
            if self.cases(point) != [self.archive_case] or family in COMMON:
                points.setdefault(family, []).append(point)
        firsts = [p for family in points if family not in NOT_TWICE for p in points[family]]
        deaths = 0
        for _ in range(PAIRS_A_ROUND * OPTIONS["rounds"]):
            first = choice.choice(firsts)
            family = first.split(".")[0]
            near = points["move" if family in COMMON else family]
            self.second = choice.choice(near + [p for name in COMMON for p in points[name]])
            case = choice.choice(self.cases(first))
            with self.subTest(first=first, second=self.second, case=case.__name__):
                begun, self.died = time.monotonic(), False
                case(first)
                deaths += self.died
                print(f"{first}, {self.second}, {case.__name__}: {time.monotonic() - begun:.1f} s, "
                      f"{'died' if self.died else 'not reached'}", flush=True)
        self.assertGreater(deaths, 0, "no second death: nothing was tested")

    def finish(self, job_id):
        """Lets a second worker die first, if the job passes its point."""
        second = self.worker("second", fail_point=self.second)
        wait_until(lambda: not second.alive() or ended(patiently(self.api.job, job_id)), "the second death, or the end",
                   archive_crash_test.JOB_LIMIT_S)
        if not second.alive():
            self.assertEqual(second.wait(), -signal.SIGKILL, second.log())
            self.died = True
        else:
            second.kill()
        return super().finish(job_id)



if __name__ == "__main__":
    main()
