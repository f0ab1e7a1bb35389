"""Settings that repeat a random test or make it longer; support/environment.h is the same for C++. TIDEMARK_SEED
repeats the choices of a run (scripts/test takes it from the commit), though not its timing. TIDEMARK_TEST_FACTOR
multiplies sizes and durations; it is 1 in the gate, and scripts/test --all sets 10.
"""
import os
import random
import unittest

FACTOR = float(os.environ.get("TIDEMARK_TEST_FACTOR") or 1)
# Marks a test whose faults a cheaper test, or the simulation, nearly always finds.
at_night = unittest.skipUnless(FACTOR > 1, "left to scripts/test --all")


def seed():
    """Returns the seed of a random test: the same for all tests of a run."""
    return int(os.environ.get("TIDEMARK_SEED") or random.SystemRandom().randrange(1 << 30))


def some_of(cases):
    """Returns the cases that this run has: a third of them in the gate, another third with other seeds; all of them at
    night, and where a test is run by hand."""
    cases = list(cases)
    return cases if FACTOR > 1 or "TIDEMARK_SEED" not in os.environ else cases[seed() % 3::3]


def in_turn(number):
    """Marks a long test that every third run of the gate has, the one of seed % 3 == number; a night has it, and so does a run
    by hand."""
    others = FACTOR <= 1 and "TIDEMARK_SEED" in os.environ and seed() % 3 != number
    return unittest.skipIf(others, "left to other seeds and scripts/test --all")


def scaled(usual):
    """Scales a duration or a number that is `usual` in the gate. An integer stays one."""
    return type(usual)(usual * FACTOR)
