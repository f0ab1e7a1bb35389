"""The house rules that a build does not check: where a library may be used, and formatting. The build checks which
headers may be included: a library finds the headers of the libraries that it links (cmake/compiler.cmake).
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

TOP = pathlib.Path(os.environ.get("TIDEMARK_SOURCE", pathlib.Path(__file__).parents[2]))
SOURCES = ["common", "table_store", "queue_service", "blob_store", "jobs", "indexes", "feeds", "workers", "stack", "api"]


def files():
    for folder in SOURCES:
        for path in sorted((TOP / folder).rglob("*")):
            if path.suffix in (".h", ".cpp"):
                yield path.relative_to(TOP).as_posix(), path.read_text()


class Tidy(unittest.TestCase):
    @unittest.skipUnless(shutil.which("clang-format-19"), "clang-format-19 is missing: scripts/setup --tests installs it")
    def test_sources_are_formatted(self):
        sources = [str(path) for folder in [*SOURCES, "tests", "bench"] for path in (TOP / folder).rglob("*")
                   if path.suffix in (".h", ".cpp") and "node_modules" not in path.parts]
        found = subprocess.run(["clang-format-19", "--dry-run", "-Werror", *sources], capture_output=True, text=True)
        self.assertEqual(found.returncode, 0, "run: clang-format-19 -i on\n" + found.stderr[:2000])

    def test_libraries_stay_behind_their_folder(self):
        homes = {r"rocksdb/": "common/kv/", r"libpq": "common/postgres/", r"isa-l/": "common/kv/", r"zmq": "common/rpc/", r"curl/": ("workers/outbound/", "api/cli/http_client", "common/service/token_keys", "common/tracing/"),
                 r"boost/url": "jobs/callbacks/", r"boost/beast": ("common/http/", "common/base/asio_impl.cpp")}
        wrong = []
        for path, text in files():
            for included in re.findall(r"^#include <([^>]+)>", text, re.M):
                for library, home in homes.items():
                    if re.match(library, included) and not path.startswith(home):
                        wrong.append(f"{path} includes {included}")
        self.assertEqual(wrong, [])

    def test_there_is_one_version(self):
        project = re.search(r"project\(tidemark VERSION (\S+)", (TOP / "CMakeLists.txt").read_text())[1]
        described = json.loads((TOP / "api/rest/openapi.json").read_text())["info"]["version"]
        newest = re.search(r"(?m)^## ([\d.]+)", (TOP / "CHANGELOG.md").read_text())[1]
        others = [re.search(pattern, (TOP / path).read_text())[1] for path, pattern in (
            ("compose/Dockerfile", r"image\.version=(\S+)"), ("clients/python/pyproject.toml", r'(?m)^version = "([\d.]+)"'),
            ("clients/typescript/package.json", r'"version": "([\d.]+)"'), ("clients/csharp/Tidemark.Client.csproj", r"<Version>([\d.]+)<"))]
        self.assertEqual({described, newest, *others}, {project})

    def test_every_header_opens_with_its_purpose_and_is_included_once(self):
        wrong = [path for path, text in files()
                 if path.endswith(".h") and not (text.startswith("//") and "#pragma once" in text)]
        self.assertEqual(wrong, [])

    def test_mutants_still_fit(self):
        checked = subprocess.run([TOP / "tests/mutants/run", "--check"], capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stderr)


if __name__ == "__main__":
    unittest.main()
