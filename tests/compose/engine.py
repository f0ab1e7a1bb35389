"""Finds the container engine, builds the image, brings one compose project up and always removes it.

The image is built from the programs under TIDEMARK_BIN, with a build context that holds only the files that the
Dockerfiles copy, or, on request, as a user builds it: everything compiled in the container. Ports are free ones, and
the project has a name of its own, so that a developer's own stack stays untouched.
"""
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

from clients import ApiClient
from stack import SOURCE, clean_environment, program, wait_until

PROGRAMS = ("table_store", "queue_service", "blob_store", "worker", "api", "tidemark")
PORTS = ("BLOB", "QUEUE", "TABLE", "API")
SERVICES = ("blob_store", "queue_service", "table_store", "api", "worker")
WORKERS = 2


class NoEngine(Exception):
    """Says why there is no container engine here."""


def run(*command, environment=None, limit_s=600, check=True):
    done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s,
                          env=clean_environment(environment), check=False)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def answers(*command):
    try:
        return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def compose_command():
    for candidate in (["docker-compose"], ["docker", "compose"]):
        if answers(*candidate, "version"):
            return candidate
    return None


def find_engine():
    """Returns the compose command."""
    if not answers("docker", "info"):
        raise NoEngine("`docker info` fails: no engine runs here, or this user may not use it")
    command = compose_command()
    if command is None:
        raise NoEngine("there is neither docker-compose nor docker compose")
    return command


def build_image(tag):
    """Builds the image by compose/prebuilt.Dockerfile; the runtime stage stays cached for the next run."""
    with tempfile.TemporaryDirectory(prefix="tmimage") as context:
        os.mkdir(os.path.join(context, "scripts"))
        os.mkdir(os.path.join(context, "bin"))
        shutil.copy(os.path.join(SOURCE, "scripts", "setup"), os.path.join(context, "scripts", "setup"))
        shutil.copytree(os.path.join(SOURCE, "compose", "image"), os.path.join(context, "compose", "image"))
        for name in PROGRAMS:
            shutil.copy(program(name), os.path.join(context, "bin", name))
        recipes = os.path.join(SOURCE, "compose")
        run("docker", "build", "-f", os.path.join(recipes, "Dockerfile"), "--target", "runtime",
            "-t", "tidemark-runtime", context)
        run("docker", "build", "-f", os.path.join(recipes, "prebuilt.Dockerfile"), "-t", tag,
            os.path.join(context, "bin"))


def build_image_from_source(tag):
    """Builds the image by compose/Dockerfile, which takes about 25 minutes on one processor."""
    run("docker", "build", "-f", os.path.join(SOURCE, "compose", "Dockerfile"), "-t", tag, SOURCE, limit_s=7200)


def build_database_image(tag):
    """Builds the database image of compose/cluster.yaml."""
    with tempfile.TemporaryDirectory(prefix="tmimage") as context:
        shutil.copytree(os.path.join(SOURCE, "compose", "database"), os.path.join(context, "compose", "database"))
        run("docker", "build", "-f", os.path.join(SOURCE, "compose", "database.Dockerfile"), "-t", tag, context)


def build_proxy_image(tag):
    """Builds the proxy image of compose/cluster.yaml."""
    with tempfile.TemporaryDirectory(prefix="tmimage") as context:
        shutil.copytree(os.path.join(SOURCE, "compose", "proxy"), os.path.join(context, "compose", "proxy"))
        run("docker", "build", "-f", os.path.join(SOURCE, "compose", "proxy.Dockerfile"), "-t", tag, context)


def free_ports(count):
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


class TokenApi(ApiClient):
    def __init__(self, port, token):
        super().__init__(port)
        self._token = token

    def send(self, method, target, headers=None, body=None):
        return super().send(method, target, {"Authorization": f"Bearer {self._token}", **(headers or {})}, body)


class Project:
    """The stack of compose/compose.yaml under a name of its own. It makes its own secrets, as a user's stack does."""

    def __init__(self, compose, *more_files, **settings):
        self.name = "tidemarktest" + secrets.token_hex(4)
        self.image = self.name
        names = PORTS + tuple(f"PROXY_{name}" for name in PORTS)
        self.ports = dict(zip(names, free_ports(len(names))))
        self._compose = [*compose, "-p", self.name]
        for file in ("compose.yaml", *more_files):
            self._compose += ["-f", os.path.join(SOURCE, "compose", file)]
        self._environment = {"TIDEMARK_TOKEN": "", "TIDEMARK_IMAGE": self.image, **settings}
        self._environment.update({f"TIDEMARK_{n}_PORT": str(p) for n, p in self.ports.items()})

    def compose(self, *arguments, check=True, **settings):
        return run(*self._compose, *arguments, environment={**self._environment, **settings}, check=check)

    def up(self, workers=WORKERS, **settings):
        self.compose("up", "-d", "--scale", f"worker={workers}", **settings)
        wait_until(lambda: len(self.containers("worker")) == workers, f"{workers} workers")
        self.await_healthy(*SERVICES)

    def down(self):
        """Needs none of the settings that `up` was given."""
        run(*self._compose, "down", "-v", "-t", "30", check=False)
        run("docker", "image", "rm", "-f", self.image, check=False)

    @property
    def token(self):
        return self.execute("api", "cat", "/data/run/token").strip()

    def containers(self, service):
        return self.compose("ps", "-q", service).split()

    def container(self, service, number=0):
        return self.containers(service)[number]

    def inspect(self, service, number=0):
        return json.loads(run("docker", "inspect", self.container(service, number)))[0]

    def execute(self, service, *command, check=True):
        return run("docker", "exec", self.container(service), *command, check=check)

    def tidemark(self, *arguments, check=True):
        """Runs the command like `docker compose exec api tidemark ...`."""
        return self.compose("exec", "-T", "api", "tidemark", *arguments, check=check)

    def await_healthy(self, *services, limit_s=90):
        def unhealthy():
            found = json.loads(run("docker", "inspect", *(c for s in services for c in self.containers(s))))
            return [c["Name"] for c in found if c["State"].get("Health", {}).get("Status") != "healthy"]
        wait_until(lambda: not unhealthy(), f"health of {', '.join(services)}", limit_s, interval_s=0.5)

    def show_logs(self):
        print(self.compose("ps", check=False) + self.compose("logs", "--tail", "40", check=False), file=sys.stderr)


class ProjectTest(unittest.TestCase):
    """Shows the logs of its `project` when a test fails."""
    project = None

    def run(self, result=None):
        before = len(result.failures) + len(result.errors)
        super().run(result)
        if len(result.failures) + len(result.errors) > before:
            self.project.show_logs()
