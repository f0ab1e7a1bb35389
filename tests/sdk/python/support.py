"""Shared by the Python SDK tests. A case may carry @azurite("id"): Azurite is known to answer otherwise, for the reason
that docs/compatibility.md gives under that id. With TIDEMARK_OUTCOMES=FILE every case appends one JSON line to FILE
with its outcome (tests/sdk/compare reads it).
"""
import json
import logging
import os
import sys
import unittest
import uuid

ACCOUNT = "devstoreaccount1"
# The well-known key of the storage emulators: no secret.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


def azurite(reason):
    def mark(case):
        case.azurite = reason
        return case
    return mark


def fresh_name(prefix="T"):
    return prefix + uuid.uuid4().hex[:20]


class _Recorder(unittest.TextTestResult):
    def _record(self, test, passed, error=None):
        path = os.environ.get("TIDEMARK_OUTCOMES")
        if not path:
            return
        method = getattr(test, test._testMethodName)
        line = {"file": os.path.basename(sys.argv[0]), "name": f"{type(test).__name__} > {test._testMethodName}",
                "azurite": getattr(method, "azurite", None), "passed": passed}
        if error:
            line["error"] = str(error[1])[:600]
        with open(path, "a") as file:
            file.write(json.dumps(line) + "\n")

    def addSuccess(self, test):
        super().addSuccess(test)
        self._record(test, True)

    def addError(self, test, err):
        super().addError(test, err)
        if isinstance(test, unittest.TestCase):
            self._record(test, False, err)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._record(test, False, err)


class _Runner(unittest.TextTestRunner):
    resultclass = _Recorder


def main():
    # The older clients log every refusal, and the tests provoke refusals. The clients also break when logging is
    # disabled.
    logging.getLogger("azure").addHandler(logging.NullHandler())
    logging.getLogger("azure").propagate = False
    unittest.main(testRunner=_Runner, warnings="ignore")
