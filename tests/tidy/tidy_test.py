"""The house rules that a compiler does not check: who may include whom, formatting."""
import os
import pathlib
import re
import shutil
import subprocess
import unittest

TOP = pathlib.Path(os.environ.get("TIDEMARK_SOURCE", pathlib.Path(__file__).parents[2]))
SOURCES = ["common", "table_store", "queue_service", "blob_store", "jobs", "workers", "api"]
LIBRARIES = {  # folder of common -> other folders of common that it may include
    "base": set(), "kv": {"base"}, "rpc": {"base"}, "auth": {"base"}, "process": {"base"},
    "http": {"base", "process"}, "protocol": {"base", "http"},
    "service": {"base", "kv", "rpc", "http", "auth", "process", "protocol"},
}
STORES = {"table_store", "queue_service", "blob_store"}
# Folder of a store -> the folders of it that it may include; of others all.
BELOW = {"model": {"model"}, "odata": {"odata", "model"}, "client": {"client", "model"}}
# The api checks a job's filter before it accepts it, with the rules of the table store itself.
# A query plan is made of the engine's key ranges; both headers are plain values and bytes.
EXCEPTIONS = {("jobs/spec/job_spec.cpp", "table_store/model/filter.h"),
              ("table_store/model/query_plan.h", "common/kv/engine.h"),
              ("table_store/model/query_plan.cpp", "common/kv/key_codec.h")}


def files():
    for folder in SOURCES:
        for path in sorted((TOP / folder).rglob("*")):
            if path.suffix in (".h", ".cpp"):
                yield path.relative_to(TOP).as_posix(), path.read_text()


def allowed(path, included):
    here, there = path.split("/"), included.split("/")
    if here[0] == "common":
        return there[0] == "common" and (there[1] == here[1] or there[1] in LIBRARIES[here[1]])
    if there[0] == "common":
        # Domain rules touch no socket and no disk.
        return not (here[0] in STORES and here[1] == "model") or there[1] == "base"
    if here[0] in STORES:
        if there[0] != here[0]:
            return False
        return there[1] in BELOW.get(here[1], {there[1]})
    if there[0] in STORES:
        return there[1] in ("client", "model", "odata")
    if here[0] == "jobs":
        # How a kind of job runs is the workers' part of its folder.
        return there[0] == "jobs" and "run" not in there or "run" in here and there[0] in ("jobs", "workers")
    if here[0] == "workers":
        return there[0] in ("workers", "jobs")
    return there[0] in ("api", "jobs")


class Tidy(unittest.TestCase):
    def test_includes_point_down(self):
        wrong = []
        for path, text in files():
            for included in re.findall(r'^#include "([^"]+)"', text, re.M):
                if not allowed(path, included) and (path, included) not in EXCEPTIONS:
                    wrong.append(f"{path} includes {included}")
        self.assertEqual(wrong, [])

    @unittest.skipUnless(shutil.which("clang-format-19"), "clang-format-19 is missing: scripts/setup --tests installs it")
    def test_sources_are_formatted(self):
        sources = [str(path) for folder in [*SOURCES, "tests", "bench"] for path in (TOP / folder).rglob("*")
                   if path.suffix in (".h", ".cpp") and "node_modules" not in path.parts]
        found = subprocess.run(["clang-format-19", "--dry-run", "-Werror", *sources], capture_output=True, text=True)
        self.assertEqual(found.returncode, 0, "run: clang-format-19 -i on\n" + found.stderr[:2000])

    def test_libraries_stay_behind_their_folder(self):
        homes = {r"rocksdb/": "common/kv/", r"zmq": "common/rpc/", r"curl/": ("workers/outbound/", "api/cli/http_client"),
                 r"boost/url": "jobs/callbacks/", r"boost/beast": ("common/http/", "common/base/asio_impl.cpp")}
        wrong = []
        for path, text in files():
            for included in re.findall(r"^#include <([^>]+)>", text, re.M):
                for library, home in homes.items():
                    if re.match(library, included) and not path.startswith(home):
                        wrong.append(f"{path} includes {included}")
        self.assertEqual(wrong, [])

    def test_every_header_opens_with_its_purpose_and_is_included_once(self):
        wrong = [path for path, text in files()
                 if path.endswith(".h") and not (text.startswith("//") and "#pragma once" in text)]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
