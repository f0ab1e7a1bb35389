"""The examples that need no container engine to be checked: manifests, workflow and development container.

It installs the schemas of Kubernetes once (npm), into node_modules beside this file.
"""
import fcntl
import filecmp
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import yaml

HERE = pathlib.Path(__file__).parent
TOP = pathlib.Path(os.environ.get("TIDEMARK_SOURCE", HERE.parents[1]))
EXAMPLES = TOP / "examples"
PORTS = [10000, 10001, 10002, 10003]


def install():
    modules = HERE / "node_modules"
    modules.mkdir(exist_ok=True)
    with open(modules / ".install-lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        installed = modules / ".installed-package.json"
        if not installed.exists() or not filecmp.cmp(HERE / "package.json", installed, shallow=False):
            subprocess.run(["npm", "install", "--package-lock=false", "--no-audit", "--no-fund", "--loglevel=error"], cwd=HERE,
                           check=True, timeout=600)
            shutil.copy(HERE / "package.json", installed)


class Examples(unittest.TestCase):
    def test_the_manifests_are_those_of_kubernetes(self):
        install()
        checked = subprocess.run(["node", HERE / "check_manifests.mjs", EXAMPLES / "kubernetes/tidemark.yaml"], capture_output=True,
                                 text=True, timeout=120)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_the_manifests_fit_together(self):
        kinds = {document["kind"]: document for document in yaml.safe_load_all((EXAMPLES / "kubernetes/tidemark.yaml").read_text())}
        pod = kinds["StatefulSet"]["spec"]["template"]
        container = pod["spec"]["containers"][0]
        for selector in (kinds["Service"]["spec"]["selector"], kinds["StatefulSet"]["spec"]["selector"]["matchLabels"],
                         kinds["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"]):
            self.assertLessEqual(selector.items(), pod["metadata"]["labels"].items())
        self.assertEqual([port["port"] for port in kinds["Service"]["spec"]["ports"]], PORTS)
        self.assertEqual([port["containerPort"] for port in container["ports"]], PORTS)
        keys = [each["valueFrom"]["secretKeyRef"]["key"] for each in container["env"] if "valueFrom" in each]
        self.assertLessEqual(set(keys), set(kinds["Secret"]["stringData"]))
        claims = {claim["metadata"]["name"] for claim in kinds["StatefulSet"]["spec"]["volumeClaimTemplates"]}
        self.assertEqual({mount["name"] for mount in container["volumeMounts"]}, claims)
        version = json.loads((TOP / "api/rest/openapi.json").read_text())["info"]["version"]
        self.assertEqual(container["image"], f"tidemark:{version}")

    def test_the_workflow_publishes_all_ports(self):
        job = yaml.safe_load((EXAMPLES / "github-actions/workflow.yml").read_text())["jobs"]["test"]
        self.assertEqual(job["services"]["tidemark"]["ports"], [f"{port}:{port}" for port in PORTS])

    def test_the_development_container_has_the_services_that_it_names(self):
        container = json.loads((EXAMPLES / "devcontainer/devcontainer.json").read_text())
        services = yaml.safe_load((EXAMPLES / "devcontainer" / container["dockerComposeFile"]).read_text())["services"]
        self.assertIn(container["service"], services)
        self.assertEqual(services["app"]["network_mode"], "service:tidemark")


if __name__ == "__main__":
    if shutil.which("npm") is None:
        print("skipped: there is no npm")
        sys.exit(77)
    unittest.main(verbosity=2)
