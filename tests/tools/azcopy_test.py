"""azcopy, by shared access signature: to the store, from one container to another, and back."""
import os
import shutil

from tools_support import ToolTest, main

MODULES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sdk", "node_modules")
PACKAGED = os.path.join(MODULES, "@azure-tools", "azcopy-linux", "dist", "bin", "azcopy_linux_amd64")

LIBRARY = "/usr/lib/x86_64-linux-gnu/libsecret-1.so.0"  # it does not start without


class AzcopyTest(ToolTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.program = shutil.copy(PACKAGED, cls.path("azcopy"))
        os.chmod(cls.program, 0o755)  # it is not executable in its package

    def environment(self):
        return super().environment() | {"AZCOPY_LOG_LOCATION": self.path("log"), "AZCOPY_JOB_PLAN_LOCATION": self.path("plans"),
                                        "AZCOPY_CONCURRENCY_VALUE": "16", "AZCOPY_DISABLE_SYSLOG": "true"}

    def azcopy(self, *arguments, **more):
        return self.run_tool(self.program, *arguments, "--skip-version-check", **more)

    def url(self, path):
        return f"{self.endpoint}/{path}?{self.sas()}"

    def make_container(self, name):
        # azcopy makes no container at a numeric address.
        self.run_tool("curl", "-sSf", "-X", "PUT", "-H", "Content-Length: 0", f"{self.url(name)}&restype=container")

    def test_a_tree_there_across_and_back(self):
        for name in ("there", "across"):
            self.make_container(name)
        self.azcopy("copy", self.tree + "/*", self.url("there"), "--recursive", "--from-to", "LocalBlob")
        self.azcopy("copy", self.url("there"), self.url("across"), "--recursive", "--from-to", "BlobBlob")
        for name in ("there", "across"):
            self.azcopy("copy", self.url(name), self.path("back"), "--recursive", "--from-to", "BlobLocal",
                        "--check-md5", "FailIfDifferent")
            self.assert_same_tree(self.path("back", name))

    def test_sync_and_remove(self):
        self.make_container("sync")
        local = self.path("local")
        shutil.copytree(os.path.join(self.tree, "odd"), local)
        self.azcopy("sync", local, self.url("sync"), "--from-to", "LocalBlob", "--delete-destination", "true")
        os.remove(os.path.join(local, "empty"))
        self.azcopy("sync", local, self.url("sync"), "--from-to", "LocalBlob", "--delete-destination", "true")
        self.azcopy("copy", self.url("sync"), self.path("synced"), "--recursive", "--from-to", "BlobLocal")
        self.assert_same_tree(self.path("synced", "sync"), local)
        self.azcopy("remove", self.url("sync"), "--recursive", "--from-to", "BlobTrash")
        self.assertNotIn("large", self.azcopy("list", self.url("sync"), "--location", "Blob"))


if __name__ == "__main__":
    main("curl", files={PACKAGED: "tests/sdk/run_sdk_tests.sh installs azcopy", LIBRARY: "scripts/setup --tests installs it"})
