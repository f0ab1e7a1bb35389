"""The examples that start containers: Testcontainers, the workflow's service, and the development container.

Needs a container engine; without one the test says why it is skipped (exit code 77).
"""
import os
import pathlib
import secrets
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parent / "compose")]
from engine import NoEngine, build_image, find_engine, free_ports, run  # noqa: E402
from stack import SOURCE, wait_until  # noqa: E402

EXAMPLES = pathlib.Path(SOURCE) / "examples"
image = "tidemarktest" + secrets.token_hex(4)
compose = []


def health(container):
    return run("docker", "inspect", "--format", "{{.State.Health.Status}}", container).strip()


class ContainersTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="tm")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def test_testcontainers(self):
        folder = os.path.join(self.directory, "testcontainers")
        shutil.copytree(EXAMPLES / "testcontainers", folder, ignore=shutil.ignore_patterns("node_modules"))
        run("npm", "install", "--prefix", folder, "--package-lock=false", "--no-audit", "--no-fund", "--loglevel=error")
        # Its container for cleaning up is an image of its own, which need not be within reach.
        environment = {**os.environ, "TIDEMARK_IMAGE": image, "TESTCONTAINERS_RYUK_DISABLED": "true"}
        tested = subprocess.run(["npm", "test", "--prefix", folder], capture_output=True, text=True, timeout=600, env=environment,
                                cwd=folder)
        self.assertEqual(tested.returncode, 0, tested.stdout + tested.stderr)
        self.assertIn("pass 1", tested.stdout)

    def test_the_service_of_the_workflow(self):
        service = yaml.safe_load((EXAMPLES / "github-actions/workflow.yml").read_text())["jobs"]["test"]["services"]["tidemark"]
        ports = free_ports(4)
        published = [word for port, inside in zip(ports, service["ports"])
                     for word in ("-p", f"127.0.0.1:{port}:{inside.split(':')[1]}")]
        name = image + "service"
        self.addCleanup(run, "docker", "rm", "-f", name, check=False)
        run("docker", "run", "-d", "--name", name, *shlex.split(service["options"]), *published, image)
        wait_until(lambda: health(name) == "healthy", "the service's health", interval_s=0.2)

    def test_the_development_container(self):
        folder = os.path.join(self.directory, "shop", ".devcontainer")
        shutil.copytree(EXAMPLES / "devcontainer", folder)
        file = os.path.join(folder, "compose.yaml")
        with open(file, encoding="utf-8") as source:
            text = source.read().replace("127.0.0.1:10003:10003", f"127.0.0.1:{free_ports(1)[0]}:10003")
        with open(file, "w", encoding="utf-8") as changed:
            changed.write(text)
        project = [*compose, "-p", image, "-f", file]
        # The application's image is one that has curl.
        environment = {"TIDEMARK_IMAGE": image, "DEVCONTAINER_IMAGE": image}
        self.addCleanup(run, *project, "down", "-v", "-t", "10", environment=environment, check=False)
        run(*project, "up", "-d", environment=environment)
        run(*project, "exec", "-T", "app", "curl", "-fsS", "http://127.0.0.1:10003/readyz", environment=environment)
        self.assertIn("devcontainer.json", run(*project, "exec", "-T", "app", "ls", "/workspace/.devcontainer", environment=environment))


if __name__ == "__main__":
    try:
        compose = find_engine()
    except NoEngine as why:
        print(f"skipped: {why}")
        sys.exit(77)
    build_image(image)
    try:
        unittest.main(verbosity=2)
    finally:
        run("docker", "image", "rm", "-f", image, check=False)
