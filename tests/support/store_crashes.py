"""Shared by the crash tests of the stores: one store dies under traffic, at each of its fail points or at random, and
afterwards its clients' answers are judged. Run by hand with --seconds N or --rounds N for a longer run, --seed N to
repeat a choice of kills, --points PREFIX for some of the fail points.
"""
import os
import random
import signal
import subprocess
import sys
import time
import unittest

import postgres
import sizes
from stack import OwnStackTest, program, wait_until

OPTIONS = {"seconds": sizes.scaled(5.0), "rounds": sizes.scaled(1), "seed": None, "points": "", "disk": False}
REACH_LIMIT_S = 180.0  # some are reached rarely
LEAST_KILLS = 10
OTHER_ENGINE = ("kv.write", "kv.erase_range") if os.environ.get(postgres.VARIABLE) else ("kv.postgres",)  # the engine that is not used


class StoreCrashTest(OwnStackTest):
    """A subclass names the program that dies, starts everything it needs in prepare(), and defines start_traffic() and
    judge()."""
    program = None
    once = ()  # points that are reached rarely: armed only for their first time

    @classmethod
    def setUpClass(cls):
        cls.seed = OPTIONS["seed"] if OPTIONS["seed"] is not None else sizes.seed()
        print(f"repeat with --seed {cls.seed}", flush=True)

    def setUp(self):
        self.choice = random.Random(self.seed)
        self.prepare()

    def show_logs(self):
        super().show_logs()
        print(f"seed {self.seed}", file=sys.stderr)

    def is_enough(self, _traffic):
        """Tells whether the traffic so far proves something. A slow machine needs longer for it."""
        return True

    def under_traffic(self, kill):
        traffic = self.start_traffic()
        try:
            kill()
            self.stack.restart(self.program)
            wait_until(lambda: self.is_enough(traffic), "traffic that proves something", REACH_LIMIT_S)
        finally:
            # Disarms the fail points; the clients end with answers.
            self.stack.restart(self.program)
            told = traffic.stop()
        self.judge(traffic, told)

    def die_at_every_point(self, at_least, but_not=()):
        listed = subprocess.run([program(self.program), "--list-fail-points"], capture_output=True, check=True, text=True)
        # Analytics is off here, and nobody makes a backup; both have tests of their own.
        points = [p for p in listed.stdout.split()
                  if p.startswith(OPTIONS["points"]) and not p.startswith(("analytics.", "backup.", *OTHER_ENGINE, *but_not))]
        self.assertGreater(len(points), 0 if OPTIONS["points"] else at_least)
        self.under_traffic(lambda: self._die_at_each(sizes.some_of(points)))

    def _die_at_each(self, points):
        for round_number in range(OPTIONS["rounds"]):
            self.choice.shuffle(points)
            for point in points:
                begun = time.monotonic()
                # Not always the first time: then earlier passes have left something behind.
                times = 1 if point.startswith(self.once) else self.choice.randint(1, 1 + 4 * round_number)
                armed = f"{point}:{times}"
                dying = self.stack.restart_to_die(self.program, armed)
                wait_until(lambda: not dying.alive(), f"death at {armed}; it wrote:\n{dying.log()}", REACH_LIMIT_S)
                self.assertEqual(dying.wait(), -signal.SIGKILL, dying.log())
                print(f"{armed}: {time.monotonic() - begun:.2f} s", flush=True)

    def die_at_random(self):
        self.under_traffic(self._kill_again_and_again)

    def _kill_again_and_again(self):
        end = time.monotonic() + OPTIONS["seconds"]
        kills = 0
        while time.monotonic() < end or kills < LEAST_KILLS:  # a slow start leaves little time for traffic
            self.stack.restart(self.program)
            kills += 1
            dead_at = time.monotonic() + self.choice.uniform(0.0, 0.6)
            wait_until(lambda: time.monotonic() >= dead_at, "the time to kill", interval_s=0.005)
        print(f"{kills} kills", flush=True)


def read_options(arguments):
    """Takes its own options; the rest is for unittest."""
    rest, arguments = [], list(arguments)
    while arguments:
        word = arguments.pop(0)
        if word[2:] in OPTIONS:
            kind = {"seconds": float, "rounds": int, "seed": int, "points": str, "disk": bool}[word[2:]]
            OPTIONS[word[2:]] = kind is bool or kind(arguments.pop(0))
        else:
            rest.append(word)
    return rest


def main():
    unittest.main(argv=[sys.argv[0], *read_options(sys.argv[1:])], verbosity=2)
