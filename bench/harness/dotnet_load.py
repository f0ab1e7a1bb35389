"""One run of the load client in C# (bench/clients/dotnet)."""
import json
import os
import subprocess

from harness import azure, install
from harness.workload import Measurement


def connection_string(system):
    endpoints = {"Table": system.table, "Queue": system.queue, "Blob": system.blob}
    return ";".join(["DefaultEndpointsProtocol=http", f"AccountName={azure.ACCOUNT}", f"AccountKey={azure.KEY}",
                     *(f"{name}Endpoint=http://127.0.0.1:{port}/{azure.ACCOUNT}" for name, port in endpoints.items())])


def dotnet_load(system, workload, **settings):
    """`value` is the rate. The details have the processor time of the client and of the system for one unit, and how long the client
    waited for the answer to a request."""
    words = [workload, *(word for name, value in settings.items() for word in (f"--{name}", str(value)))]
    environment = os.environ | {"AZURE_STORAGE_CONNECTION_STRING": connection_string(system), "DOTNET_NOLOGO": "1"}
    used, result, lines = None, None, []
    with subprocess.Popen(["dotnet", install.DOTNET_LOAD, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, env=environment) as load:
        try:
            for line in load.stdout:
                if line == "BEGIN\n":
                    used = system.cpu_seconds()
                elif line.startswith("RESULT "):
                    result = json.loads(line.removeprefix("RESULT "))
                    used = system.cpu_seconds() - used
                else:
                    lines.append(line)
        except BaseException:
            load.kill()
            raise
    if load.returncode != 0 or result is None:
        raise RuntimeError(f"the load client failed at {workload} on {system.name}: {''.join(lines)}")
    client_us, server_us = (round(seconds / result["units"] * 1e6, 2) for seconds in (result["client_cpu_s"], used))
    return Measurement(result["units"] / result["seconds"], result["errors"], result["p50_ms"], result["p99_ms"],
                       " ".join(["Load", *words]), result | {"client_us": client_us, "server_us": server_us}, server_us)
