"""The blob commands of azure-cli."""
import json
import os

from tools_support import ACCOUNT, KEY_TEXT, ToolTest, main, read_tree, write


class AzureCliTest(ToolTest):
    files = 100  # azure-cli is slow

    def environment(self):
        # The modules that it imports from Python's own paths are Debian's.
        connection = f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY_TEXT};BlobEndpoint={self.endpoint};"
        return super().environment() | {"AZURE_STORAGE_CONNECTION_STRING": connection, "AZURE_CORE_NO_COLOR": "true",
                                        "AZURE_CORE_COLLECT_TELEMETRY": "false", "AZURE_CONFIG_DIR": self.path("azure")}

    def az(self, *arguments, code=0):
        out = self.run_tool("az", "storage", *arguments, "--only-show-errors", "-o", "json", code=code)
        return json.loads(out) if out.strip().startswith(("{", "[", '"', "t", "f")) else out

    def test_a_container_and_its_blobs(self):
        self.assertTrue(self.az("container", "create", "-n", "cli")["created"])
        self.assertFalse(self.az("container", "create", "-n", "cli")["created"])
        self.assertTrue(self.az("container", "exists", "-n", "cli")["exists"])
        one = self.path("one.txt")
        write(one, b"one")
        self.az("blob", "upload", "-c", "cli", "-n", "one", "-f", one, "--metadata", "k=v")
        self.az("blob", "upload", "-c", "cli", "-n", "one", "-f", one, code=1)
        self.az("blob", "upload", "-c", "cli", "-n", "one", "-f", one, "--overwrite")
        self.az("blob", "metadata", "update", "-c", "cli", "-n", "one", "--metadata", "k=w")
        self.az("blob", "update", "-c", "cli", "-n", "one", "--content-type", "text/x")
        self.az("blob", "set-tier", "-c", "cli", "-n", "one", "--tier", "Cool")
        told = self.az("blob", "show", "-c", "cli", "-n", "one")
        self.assertEqual((told["metadata"], told["properties"]["contentSettings"]["contentType"],
                          told["properties"]["blobTier"]), ({"k": "w"}, "text/x", "Cool"))
        self.assertTrue(self.az("blob", "exists", "-c", "cli", "-n", "one")["exists"])
        self.assertFalse(self.az("blob", "exists", "-c", "cli", "-n", "two")["exists"])

    def test_a_tree_there_and_back(self):
        self.az("container", "create", "-n", "batch")
        self.az("blob", "upload-batch", "-d", "batch", "-s", self.tree)
        os.makedirs(self.path("downloaded"))
        self.az("blob", "download-batch", "-d", self.path("downloaded"), "-s", "batch")
        self.assert_same_tree(self.path("downloaded"))
        names = [blob["name"] for blob in self.az("blob", "list", "-c", "batch", "--num-results", "*")]
        self.assertEqual(sorted(names), sorted(read_tree(self.tree)))
        self.az("blob", "delete-batch", "-s", "batch")
        self.assertEqual(self.az("blob", "list", "-c", "batch"), [])

    def test_snapshots_copies_leases_and_appends(self):
        self.az("container", "create", "-n", "more")
        one = self.path("more.txt")
        write(one, b"one")
        self.az("blob", "upload", "-c", "more", "-n", "one", "-f", one)
        self.assertTrue(self.az("blob", "snapshot", "-c", "more", "-n", "one")["snapshot"])
        self.az("blob", "copy", "start", "-c", "more", "-b", "two", "-u", f"{self.endpoint}/more/one")
        self.az("blob", "copy", "start", "-c", "more", "-b", "three", "--source-container", "more", "--source-blob", "one")
        lease = self.az("blob", "lease", "acquire", "-c", "more", "-b", "two", "--lease-duration", "60")
        self.az("blob", "delete", "-c", "more", "-n", "two", code=1)
        self.az("blob", "lease", "release", "-c", "more", "-b", "two", "--lease-id", lease)
        self.az("blob", "delete", "-c", "more", "-n", "two")
        for _ in range(2):
            self.az("blob", "upload", "-c", "more", "-n", "log", "-f", one, "--type", "append")
        self.az("blob", "download", "-c", "more", "-n", "log", "-f", self.path("log"))
        with open(self.path("log"), "rb") as file:
            self.assertEqual(file.read(), b"oneone")
        self.az("container", "delete", "-n", "more")
        self.assertFalse(self.az("container", "exists", "-n", "more")["exists"])


if __name__ == "__main__":
    main("az")
