"""A real Prometheus with the files of monitoring/ that watches a Stack. Its clock runs faster: it scrapes thirty times
as often, and all durations of the rules (ranges, "for", ages that are compared in seconds) are a thirtieth."""
import json
import os
import re
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from stack import SOURCE, TOKEN, free_port_base, wait_until

FASTER = 30
TOOL = os.environ.get("TIDEMARK_PROMTOOL") or shutil.which("promtool")
PROGRAM = os.environ.get("TIDEMARK_PROMETHEUS") or shutil.which("prometheus")
MISSING = "prometheus is not installed (Debian's package prometheus has it, and promtool)"
SECONDS = {"s": 1, "m": 60, "h": 3600}


def monitoring(*path):
    with open(os.path.join(SOURCE, "monitoring", *path)) as file:
        return file.read()


def alert_names(rules):
    return re.findall(r"(?m)^      - alert: (\w+)$", rules)


def _shorter(match):
    return f"{match[1]}{int(match[2]) * SECONDS[match[3]] * 1000 // FASTER}ms{match[4]}"


def faster_rules(rules):
    """Shortens the durations of the rules, also the thresholds of ages."""
    rules = re.sub(r"(\[)(\d+)([smh])(\])", _shorter, rules)
    rules = re.sub(r"(?m)^(        for: )(\d+)([smh])()$", _shorter, rules)
    rules, found = re.subn(r"(_seconds(?:\{[^}]*\})?\) > )(\d\d+)\b", lambda match: match[1] + str(int(match[2]) // FASTER),
                           rules)
    assert found == 3, found
    return rules


def faster_configuration(text, ports, token_file):
    """Adapts the configuration of compose, which finds services by name, to the ports of a Stack and of its worker."""
    text = text.replace("15s", f"{15000 // FASTER}ms").replace("/run/tidemark/token", token_file)
    for name in ("table_store", "queue_service", "blob_store", "api"):
        text, found = re.subn(rf'"{name}:\d+"', f'"127.0.0.1:{ports[name]}"', text)
        assert found == 1, name
    text, found = re.subn(r"dns_sd_configs:\n( +)- \{names: \[worker\][^\n]*",
                          rf'static_configs:\n\1- {{targets: ["127.0.0.1:{ports["worker"]}"]}}', text)
    assert found == 1, "worker"
    return text


class Prometheus:
    def __init__(self, directory, ports):
        self.directory = directory
        os.makedirs(directory)
        token = self._write("token", TOKEN)
        self._write("alerts.yaml", faster_rules(monitoring("alerts.yaml")))
        configuration = self._write("prometheus.yml", faster_configuration(monitoring("prometheus.yml"), ports, token))
        self.url = f"http://127.0.0.1:{free_port_base()}"
        self._log = open(os.path.join(directory, "log"), "wb")
        self.child = subprocess.Popen(
            [PROGRAM, f"--config.file={configuration}", f"--storage.tsdb.path={directory}/data",
             f"--web.listen-address={self.url[len('http://'):]}"], stdout=self._log, stderr=self._log, cwd=directory)
        wait_until(self._ready, "Prometheus is ready", limit_s=60)

    def _write(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def _ready(self):
        if self.child.poll() is not None:
            raise AssertionError("Prometheus ended:\n" + self.log())
        try:
            with urllib.request.urlopen(self.url + "/-/ready", timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            return False

    def log(self):
        with open(os.path.join(self.directory, "log"), errors="replace") as file:
            return file.read()[-4000:]

    def close(self):
        if self.child.poll() is None:
            self.child.terminate()
            self.child.wait(60)
        self._log.close()

    def _ask(self, path, **parameters):
        query = "?" + urllib.parse.urlencode(parameters) if parameters else ""
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}{query}", timeout=60) as answer:
            return json.load(answer)["data"]

    def query(self, expression):
        """Returns the current series."""
        return self._ask("query", query=expression)["result"]

    def firing(self):
        """Returns the labels of the firing alerts, by name."""
        out = {}
        for alert in self._ask("alerts")["alerts"]:
            if alert["state"] == "firing":
                out.setdefault(alert["labels"]["alertname"], []).append(alert["labels"])
        return out

    def down(self):
        return [target["labels"] for target in self._ask("targets", state="active")["activeTargets"]
                if target["health"] != "up"]
