import os

from harness import install
from harness.processes import System, free_ports

CONFIGURATION = """
worker_processes auto;
daemon off;
pid {directory}/nginx.pid;
error_log {directory}/error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  sendfile on;
  client_max_body_size 0;
  client_body_temp_path {directory}/temp;
  server {{
    listen 127.0.0.1:{port};
    root {directory}/files;
    dav_methods PUT DELETE;
  }}
}}
"""


class Nginx(System):
    """Files by WebDAV. A PUT is a temporary file that gets its name at the end; nothing is synced."""
    name, version = "nginx", f"nginx {install.debian_version('nginx')}, WebDAV PUT, sendfile, no fsync"

    @staticmethod
    def install():
        install.debian("nginx-light")

    def start(self):
        (self.blob,) = free_ports(1)
        for folder in ("files", "temp"):
            os.makedirs(os.path.join(self.directory, folder))
        os.chmod(self.directory, 0o755)
        configuration = os.path.join(self.directory, "nginx.conf")
        with open(configuration, "w", encoding="utf-8") as file:
            file.write(("user root;" if os.geteuid() == 0 else "") + CONFIGURATION.format(directory=self.directory, port=self.blob))
        self.await_port(self.launch("nginx", ["/usr/sbin/nginx", "-c", configuration]), self.blob)

    def object_url(self, name):
        return f"http://127.0.0.1:{self.blob}/{name}", {}


class NginxSynced(Nginx):
    """After a PUT, the file and its folder are synced, as nginx would do if it promised as much as Tidemark."""
    version = f"nginx {install.debian_version('nginx')}, WebDAV PUT, then fsync of the file and its folder"

    def make_durable(self, name):
        folder = os.path.join(self.directory, "files")
        for path in (os.path.join(folder, name), folder):
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
