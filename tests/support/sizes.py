"""How a random test is repeated and made longer from outside; support/environment.h is the same for C++. TIDEMARK_SEED
repeats the choices of a run (scripts/test takes it from the commit), though not its timing. TIDEMARK_TEST_FACTOR
multiplies sizes and durations; it is 1 in the gate, and scripts/test --all sets 10.
"""
import os
import random
import unittest

FACTOR = float(os.environ.get("TIDEMARK_TEST_FACTOR") or 1)
# Marks a test of which a cheaper one, or the simulation, finds nearly everything.
at_night = unittest.skipUnless(FACTOR > 1, "left to scripts/test --all")


def seed():
    """The seed of a random test: the same for all tests of a run."""
    return int(os.environ.get("TIDEMARK_SEED") or random.SystemRandom().randrange(1 << 30))


def scaled(usual):
    """How long, or how many, where it is `usual` in the gate. An integer stays one."""
    return type(usual)(usual * FACTOR)
