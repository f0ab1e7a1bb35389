#!/usr/bin/python3
"""Builds one project of this folder, and runs its cases against stores of its own:

    run_dotnet_tests.py PROJECT ARTIFACTS [ARGUMENT ...]

PROJECT is a folder here, such as Tables or Legacy/Cosmos; Clients is the program of docs/clients.md, which has to print
the output that is on the page, also the second time. ARTIFACTS is where the build writes. It builds only if a source
or a package changed. Arguments go to xunit: `-class '*Patterns'` runs some of the cases, and `-trait Fault=*` those that
are left out because the product does not do yet what they want. `--storm` runs the cases with the trait Night, and meanwhile kills the
stores with SIGKILL and starts them again, one after another. Without .NET 10, or where its packages are not to be had,
nothing is run, and the exit code is 77.
"""
import contextlib
import fcntl
import hashlib
import http.server
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
sys.dont_write_bytecode = True
import stack  # noqa: E402

SKIPPED = 77
SDK = 10
STORES = {"table_store": "TIDEMARK_TABLE_URL", "queue_service": "TIDEMARK_QUEUE_URL", "blob_store": "TIDEMARK_BLOB_URL"}
# A project and the stores that it needs; "bearer" adds stores that speak HTTPS and take bearer tokens, "ports" free
# ports for servers of the cases, and "worker" a worker that puts the logs of requests into $logs.
NEEDS = {"Tables": ["table_store"], "BlobsAndQueues": ["queue_service", "blob_store", "bearer"],
         "Legacy/Cosmos": ["table_store"], "Legacy/Windows": ["table_store", "queue_service", "blob_store"],
         "Legacy/Storage11": ["queue_service", "blob_store"],
         "Orleans": ["table_store", "queue_service", "blob_store", "ports"],
         "Hosting": ["blob_store"],
         "DurableTask": ["table_store", "queue_service", "blob_store", "killer"],
         "Legacy/Timers": ["blob_store"],
         "Functions": ["table_store", "queue_service", "blob_store", "killer", "worker"],
         "Clients": ["table_store", "queue_service", "blob_store"]}
PAGE = HERE.parents[1] / "docs" / "clients.md"
PROGRAM_AND_OUTPUT = re.compile(r"^```csharp\n(.*?)^```\n\n```text\n(.*?)^```\n", re.M | re.S)
STORM_PAUSE_S = 3
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
NO_PACKAGES = re.compile(r"\b(NU1100|NU1101|NU1102|NU1301|NU1603)\b")
PORTS = 40
ISSUER = "https://issuer.example/"


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def environment(**more):
    settings = {"DOTNET_CLI_TELEMETRY_OPTOUT": "1", "DOTNET_NOLOGO": "1", "DOTNET_CLI_UI_LANGUAGE": "en",
                "DOTNET_CLI_WORKLOAD_UPDATE_NOTIFY_DISABLE": "1", "DOTNET_GENERATE_ASPNET_CERTIFICATE": "0",
                "DOTNET_CLI_USE_MSBUILD_SERVER": "0", "MSBUILDDISABLENODEREUSE": "1"}
    return os.environ | settings | more


def check_sdk():
    if not shutil.which("dotnet"):
        skip("dotnet is missing; the .NET 10 SDK has it")
    found = subprocess.run(["dotnet", "--list-sdks"], capture_output=True, text=True, env=environment()).stdout
    if not any(int(version) >= SDK for version in re.findall(r"^(\d+)\.", found, re.M)):
        skip(f"there is no .NET SDK {SDK} here, only {found.split() or 'none'}")


def state_of(project):
    """Hashes everything that a build of the project reads."""
    texts = [*HERE.glob("Directory.*"), *HERE.glob("Shared/**/*.cs"), *(HERE / project).glob("*.cs*"),
             *(HERE / project).parent.glob("Cases/*.cs")]
    digest = hashlib.sha256(program_of_the_page()[0].encode() if project == "Clients" else b"")
    for path in sorted(texts):
        digest.update(f"{path.relative_to(HERE)}\0".encode() + path.read_bytes() + b"\0")
    digest.update(subprocess.run(["dotnet", "--version"], capture_output=True, env=environment()).stdout)
    return digest.hexdigest()


def program_of_the_page():
    """Returns the text of the program, and its output."""
    return PROGRAM_AND_OUTPUT.search(PAGE.read_text(encoding="utf-8")).groups()


def build(folder, artifacts):
    """Builds the project in a folder. The packages are unpacked by one build at a time, because two that unpack the same one
    sometimes fail."""
    def run(verb, *more):
        return subprocess.run(["dotnet", verb, folder, "--artifacts-path", artifacts, "-v:q", "-nodeReuse:false", "-tl:off", *more],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment(), check=False)
    with open(pathlib.Path(tempfile.gettempdir()) / f"tidemark-packages-{os.getuid()}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        restored = run("restore")
    return restored if restored.returncode else run("build", "--no-restore", "-p:UseSharedCompilation=false")


def built(project, artifacts):
    """Returns the program with the cases, after a build where one is needed. Two runs of a project share a build."""
    artifacts.mkdir(parents=True, exist_ok=True)
    with open(artifacts / f"{pathlib.Path(project).name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return built_alone(project, artifacts)


def built_alone(project, artifacts):
    name = pathlib.Path(project).name
    program = artifacts / "bin" / name / "debug" / f"{name}.dll"
    stamp = artifacts / f"{name}.state"
    state = state_of(project)
    if program.exists() and stamp.exists() and stamp.read_text() == state:
        return program
    stamp.unlink(missing_ok=True)
    if project == "Clients":
        (artifacts / "Clients.cs").write_text(program_of_the_page()[0], encoding="utf-8")
    made = build(HERE / project, artifacts)
    if made.returncode:
        if missing := NO_PACKAGES.search(made.stdout):
            skip(f"the packages of {project} are not to be had ({missing[1]})")
        print(made.stdout)
        sys.exit(1)
    stamp.write_text(state)
    return program


def start(stores, names, *arguments):
    for name in names:
        stores.start(name, *arguments)


def url_of(stores, name, origin):
    return f"{origin}:{stores.ports[name]}/devstoreaccount1"


def certificate(directory):
    """Makes a certificate for 127.0.0.1, which the cases trust. (SDKs for .NET take a path with the account only behind a number.)"""
    files = os.path.join(directory, "tls.pem"), os.path.join(directory, "tls.key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                    "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", files[1], "-out", files[0]],
                   check=True, capture_output=True)
    return files


def stop(stores):
    """Ends the stores as a service manager does; returns whether all of them ended cleanly."""
    codes = {name: child.terminate() for name, child in stores.children.items()}
    for name, code in codes.items():
        if code:
            print(f"{name} did not end cleanly: {code}")
    return not any(codes.values())


def run_page(program, stores):
    """Runs the program of the page twice; returns whether it printed what the page says."""
    endpoints = {name: url_of(stores, program_name, "http://127.0.0.1")
                 for name, program_name in (("Table", "table_store"), ("Queue", "queue_service"), ("Blob", "blob_store"))}
    connection = ";".join(["DefaultEndpointsProtocol=http", "AccountName=devstoreaccount1", f"AccountKey={KEY}",
                           *(f"{name}Endpoint={url}" for name, url in endpoints.items())])
    expected = program_of_the_page()[1]
    for _ in range(2):
        ran = subprocess.run(["dotnet", program], stdout=subprocess.PIPE, text=True, env=environment(AZURE_STORAGE_CONNECTION_STRING=connection))
        if ran.returncode or ran.stdout != expected:
            print(f"the program of clients.md ended with {ran.returncode} and printed:\n{ran.stdout}")
            return False
    return True


class Killer(http.server.ThreadingHTTPServer):
    """Kills a store where a case asks for it, and starts it again on its port and data: POST /table_store is answered when
    the store is back."""

    def __init__(self, stores):
        one_at_a_time = threading.Lock()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                with one_at_a_time:
                    stores.restart(self.path.strip("/"))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_port}"


def run_cases(program, settings, stores, arguments):
    if "--storm" in arguments:
        chosen = ["-trait", "Night=*", *(argument for argument in arguments if argument != "--storm")]
    elif "-trait" in arguments:
        chosen = arguments
    else:
        chosen = ["-trait-", "Fault=*", "-trait-", "Night=*", *arguments]
    cases = subprocess.Popen(["dotnet", program, "-noLogo", "-noColor", *chosen], env=environment(**settings))
    if "--storm" in arguments:
        storm(stores, cases)
    return cases.wait() == 0


def storm(stores, cases):
    """Kills a store and starts it again, one after another, until the cases have ended."""
    for name in itertools.cycle([name for name in stores.children if name in STORES]):
        with contextlib.suppress(subprocess.TimeoutExpired):
            cases.wait(STORM_PAUSE_S)
            return
        stores.restart(name)


def run(project, program, arguments):
    needs = NEEDS[project]
    names = [name for name in needs if name in STORES]
    with tempfile.TemporaryDirectory(prefix="tm") as directory, stack.Stack() as stores, stack.Stack() as secured:
        start(stores, names, *(["--analytics-flush-s", "1"] if "worker" in needs else []))
        if "worker" in needs:
            stores.start_worker("worker", "--analytics-collect-s", "1")
        settings = {STORES[name]: url_of(stores, name, "http://127.0.0.1") for name in names}
        if "ports" in needs:
            settings["TIDEMARK_PORTS"] = " ".join(str(stack.free_port()) for _ in range(PORTS))
        if "bearer" in needs:
            path, key = certificate(directory)
            # Anybody can make a token: the checks of signatures have tests of their own.
            start(secured, names, "--tls-certificate-file", path, "--tls-key-file", key, "--bearer-issuer", ISSUER, "--bearer-check", "basic")
            settings |= {STORES[name].replace("_", "_BEARER_", 1): url_of(secured, name, "https://127.0.0.1") for name in names}
            settings |= {"SSL_CERT_FILE": path, "TIDEMARK_ISSUER": ISSUER}
        if "killer" in needs:
            settings["TIDEMARK_KILLER"] = Killer(stores).url
        passed = run_page(program, stores) if project == "Clients" else run_cases(program, settings, stores, arguments)
        if not passed:
            stores.show_logs()
            secured.show_logs()
        clean = [stop(stores), stop(secured)]
    return passed and all(clean)


def main():
    project, artifacts, *arguments = sys.argv[1:]
    check_sdk()
    return 0 if run(project, built(project, pathlib.Path(artifacts).resolve()), arguments) else 1


if __name__ == "__main__":
    sys.exit(main())
