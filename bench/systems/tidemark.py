import os

from harness.processes import System, free_ports


class Tidemark(System):
    """The table store and the queue service."""
    name, version = "tidemark", "default settings, durability fsync"

    def store(self, program):
        (port,) = free_ports(1)
        process = self.launch(program, [os.path.join(self.binaries, program), "--data",
                                        os.path.join(self.directory, "data"), "--port", str(port)])
        self.await_port(process, port)
        return process, port

    def start(self):
        os.makedirs(os.path.join(self.directory, "data"))
        self.table_process, self.table = self.store("table_store")
        self.queue_process, self.queue = self.store("queue_service")
