"""The alert rules of monitoring/ as promtool tests them, with made-up series; and a check that these tests would notice
a fault."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from prometheus import MISSING, TOOL, alert_names, monitoring  # noqa: E402
from stack import SOURCE  # noqa: E402

CASES = os.path.join(SOURCE, "tests", "monitoring", "alerts.test.yaml")


def never(rules):
    return re.sub(r"(?ms)(\n        expr: ).*?(?=\n        (?:for|labels):)", r"\1vector(0) > 1", rules)


def at_once(rules):
    return re.sub(r"(?m)^        for: \w+\n", "", rules)


@unittest.skipUnless(TOOL, MISSING)
class RulesTest(unittest.TestCase):
    def promtool(self, rules):
        with tempfile.TemporaryDirectory() as directory:
            with open(os.path.join(directory, "alerts.yaml"), "w") as file:
                file.write(rules)
            with open(CASES) as cases, open(os.path.join(directory, "cases.yaml"), "w") as file:
                file.write(cases.read().replace("../../monitoring/alerts.yaml", "alerts.yaml"))
            return subprocess.run([TOOL, "test", "rules", "cases.yaml"], cwd=directory, capture_output=True, text=True,
                                  timeout=60)

    def failed(self, rules):
        """Returns the alerts that have a failing case under these rules."""
        done = self.promtool(rules)
        return set(re.findall(r"alertname: ?(\w+), time:", done.stdout + done.stderr))

    def test_each_rule_fires_when_it_should_and_ends(self):
        done = self.promtool(monitoring("alerts.yaml"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_rule_that_never_fires_would_be_noticed(self):
        rules = monitoring("alerts.yaml")
        self.assertEqual(self.failed(never(rules)), set(alert_names(rules)))

    def test_a_rule_that_fires_at_once_would_be_noticed(self):
        rules = monitoring("alerts.yaml")
        patient = {alert for alert, rest in re.findall(r"(?ms)- alert: (\w+)\n(.*?)(?=- alert|\Z)", rules) if "\n        for: " in rest}
        self.assertGreater(len(patient), 15)
        self.assertEqual(self.failed(at_once(rules)), patient)


if __name__ == "__main__":
    unittest.main()
