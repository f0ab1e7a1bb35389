"""The peak resident memory of the blob store while many clients put blobs of the sizes that take most memory."""
import concurrent.futures
import os
import random
import re
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import sizes  # noqa: E402
from clients import BlobClient  # noqa: E402
from stack import OwnStackTest  # noqa: E402

CLIENTS = 64
KIB = 1 << 10
ROW = 256 * KIB  # the largest content that is a row: each put has it in a group, in the log and in a write buffer
FILE = 3072 * KIB  # content that goes to a file in several pieces
KEPT = (256 if sizes.FACTOR == 1 else 512) << 20  # content of all names together: more than the limit
TIMES = 2 if sizes.FACTOR == 1 else 4  # writes of each name
LIMIT_MIB = 200e6 / 2**20


class BlobFootprintTest(OwnStackTest):
    def setUp(self):
        self.stack.start("blob_store")
        self.port = self.stack.ports["blob_store"]
        BlobClient(self.port).create_container("bulk")

    def peak_mib(self):
        with open(f"/proc/{self.stack.children['blob_store'].pid}/status", encoding="ascii") as file:
            return int(re.search(r"VmHWM:\s*(\d+)", file.read()).group(1)) / 1024

    def put_many(self, size):
        """Writes names that soon exist already, so that space is given back meanwhile too."""
        content = random.Random(size).randbytes(size)
        names = KEPT // size // CLIENTS

        def put(number):
            client = BlobClient(self.port)
            for turn in range(TIMES * names):
                client.put("bulk", f"b{number}-{turn % names}", content)

        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(put, range(CLIENTS)))

    def check(self, size):
        self.put_many(size)
        peak = self.peak_mib()
        print(f"{CLIENTS} clients, {size >> 10} KiB: {peak:.0f} MiB at the most", flush=True)
        self.assertLess(peak, LIMIT_MIB)

    def test_puts_of_rows(self):
        self.check(ROW)

    def test_puts_of_files(self):
        self.check(FILE)


if __name__ == "__main__":
    unittest.main(verbosity=2)
