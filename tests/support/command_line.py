"""The command line for tests: run as a script runs it, or on a terminal, against a stack that it starts."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

from clients import ApiClient, TableClient
from stack import StackTest, clean_environment, program

WORKER = ("--poll-s", "2", "--retry-base-ms", "20", "--retry-cap-ms", "100", "--lease-s", "5")


def tidemark(*arguments, environment=None, stdin=None):
    return subprocess.run([program("tidemark"), *arguments], env=clean_environment(environment), capture_output=True,
                          text=True, timeout=60, input=stdin)


def on_terminal(*arguments, environment=None, answer="", columns=80):
    """Runs the command on a terminal of that width; returns its output, with line ends as in a file, and its exit
    code."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 25, columns, 0, 0))
    child = subprocess.Popen([program("tidemark"), *arguments], env=clean_environment(environment), stdin=slave, stdout=slave,
                             stderr=slave)
    os.close(slave)
    os.write(master, answer.encode())
    shown = b""
    while True:
        try:
            piece = os.read(master, 4096)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        shown += piece
    os.close(master)
    return shown.decode().replace("\r\n", "\n"), child.wait(60)


class StackCase(StackTest):
    """Has one stack for all tests of a class."""
    workers = 1

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.stack.up(workers=cls.workers, worker_arguments=WORKER)
        cls.api = ApiClient(cls.stack.ports["api"])
        cls.tables = TableClient(cls.stack.ports["table_store"])
        cls.environment = {
            "TIDEMARK_API": f"http://127.0.0.1:{cls.stack.ports['api']}",
            "TIDEMARK_TABLE_URL": f"http://127.0.0.1:{cls.stack.ports['table_store']}/devstoreaccount1"}

    def command(self, *arguments, code=0, stdin=None, environment=None):
        done = tidemark(*arguments, environment={**self.environment, **(environment or {})}, stdin=stdin)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done

    def shown(self, *arguments, code=0, answer="", columns=80):
        text, exited = on_terminal(*arguments, environment=self.environment, answer=answer, columns=columns)
        self.assertEqual(exited, code, text)
        return text

    def fill(self, name, count=300):
        self.tables.create_table(name)
        self.tables.put_many(name, [{"PartitionKey": "p", "RowKey": f"{i:04}", "Number": i} for i in range(count)])

    @staticmethod
    def rows(text):
        """Returns the lines of an aligned table as lists of cells."""
        return [re.split(r" {2,}", line.strip()) for line in text.splitlines()]
