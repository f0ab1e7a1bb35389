import os

from harness.processes import System, free_ports


class Bare(System):
    name, mode, version = "bare", "bare", "Beast server that answers 1 KiB to everything"
    answer_bytes = 1 << 10

    def start(self):
        (port,) = free_ports(1)
        self.await_port(self.launch("bare_server", [os.path.join(self.binaries, "bare_server"), str(port),
                                                    str(os.cpu_count()), str(self.answer_bytes)]), port)
        self.blob = self.queue = self.table = port


class BareLarge(Bare):
    version, answer_bytes = "Beast server that answers 64 KiB to everything", 64 << 10
