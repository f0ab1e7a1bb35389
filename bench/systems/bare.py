import os

from harness.processes import System, free_ports


class Bare(System):
    name, mode, version = "bare", "bare", "Beast server that answers 1 KiB to everything"

    def start(self):
        (port,) = free_ports(1)
        self.await_port(self.launch("bare_server", [os.path.join(self.binaries, "bare_server"), str(port),
                                                    str(os.cpu_count())]), port)
        self.blob = self.queue = self.table = port
