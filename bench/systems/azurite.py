import os

from harness import install
from harness.processes import System, free_ports


class Azurite(System):
    name, version = "azurite", f"{install.AZURITE} on {install.NODE}, data on disk, defaults: tables and queue index saved every 5 s"

    @staticmethod
    def install():
        install.npm(install.NODE, install.AZURITE)

    def start(self):
        self.blob, self.queue, self.table = free_ports(3)
        script = os.path.join(install.BENCH, "node_modules", "azurite", "dist", "src", "azurite.js")
        process = self.launch("azurite", [
            install.node_path(), script, "--skipApiVersionCheck", "--loose", "--silent", "--disableTelemetry", "--location",
            os.path.join(self.directory, "data"), "--blobPort", str(self.blob), "--queuePort", str(self.queue), "--tablePort",
            str(self.table)])
        for port in (self.blob, self.queue, self.table):
            self.await_port(process, port)
