"""The shop in examples/orders, run by its one command: an order, a rule, a transaction, a worker, and a poison message."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent
TOP = pathlib.Path(os.environ.get("TIDEMARK_SOURCE", HERE.parents[1]))
sys.dont_write_bytecode = True
sys.path.insert(0, str(TOP / "tests" / "support"))
from stack import clean_environment, free_port_base  # noqa: E402


class Orders(unittest.TestCase):
    def test_everything_adds_up(self):
        with tempfile.TemporaryDirectory() as data:
            try:
                ran = subprocess.run([TOP / "examples/orders/run", "--data", data, "--port-base", str(free_port_base())],
                                     env=clean_environment(), capture_output=True, text=True, timeout=300)
            finally:
                subprocess.run([TOP / "scripts/stack", "down", "--data", data], env=clean_environment(), check=True, timeout=60)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertIn("Everything adds up.", ran.stdout)
        print(ran.stdout)


if __name__ == "__main__":
    unittest.main()
