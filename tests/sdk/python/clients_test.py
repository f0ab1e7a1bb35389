# stores: table queue blob
"""The Python program of docs/clients.md, taken out of the page: its output is the one on the page, also the next
time."""
import os
import re
import subprocess
import sys
import unittest

from support import ACCOUNT, KEY, main

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "..", "..", "..", "docs", "clients.md"), encoding="utf-8") as text:
    CODE, OUTPUT = re.search(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```\n", text.read(), re.M | re.S).groups()


class Program(unittest.TestCase):
    def test_prints_what_the_page_says(self):
        url = {name: os.environ[f"TIDEMARK_{name}_URL"] for name in ("TABLE", "QUEUE", "BLOB")}
        connection = (f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};TableEndpoint={url['TABLE']};"
                      f"QueueEndpoint={url['QUEUE']};BlobEndpoint={url['BLOB']};")
        for _ in range(2):
            ran = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=120, check=False,
                                 env={**os.environ, "AZURE_STORAGE_CONNECTION_STRING": connection})
            self.assertEqual((ran.stdout, ran.returncode), (OUTPUT, 0), ran.stderr)


if __name__ == "__main__":
    main()
