from harness import install
from harness.processes import System, free_ports


class Redis(System):
    name, version = "redis", f"Redis ({install.debian_version('redis-server')}), appendonly yes, appendfsync always"

    @staticmethod
    def install():
        install.debian("redis-server")

    def start(self):
        (self.queue,) = free_ports(1)
        process = self.launch("redis", ["redis-server", "--bind", "127.0.0.1", "--port", str(self.queue), "--dir",
                                        self.directory, "--appendonly", "yes", "--appendfsync", "always", "--save", ""])
        self.await_port(process, self.queue)
