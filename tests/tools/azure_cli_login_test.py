"""azure-cli with --auth-mode login: it gets its tokens from an authority that runs here, and the store accepts them."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from authority import CLIENT, SECRET, TENANT, Authority  # noqa: E402
from receiver import make_certificates  # noqa: E402
from tools_support import ACCOUNT, ToolTest, main, write  # noqa: E402


class AzureCliLoginTest(ToolTest):
    files = 0

    @classmethod
    def start(cls, store):
        cls.authority_file, leaf = make_certificates(cls.stack.directory)
        certificate, key = leaf + ".pem", leaf + ".key"
        cls.authority = Authority(certificate, key, roles=["Storage Blob Data Contributor"])
        cls.addClassCleanup(cls.authority.close)
        cls.stack.start(store, "--tls-certificate-file", certificate, "--tls-key-file", key,
                        "--bearer-issuer", cls.authority.issuer, "--bearer-keys", cls.authority.keys_url,
                        "--bearer-keys-ca-file", cls.authority_file)

    @property
    def endpoint(self):
        return f"https://localhost:{self.stack.ports['blob_store']}/{ACCOUNT}"

    def environment(self):
        return super().environment() | {"AZURE_CORE_NO_COLOR": "true", "AZURE_CORE_COLLECT_TELEMETRY": "false",
                                        "AZURE_CORE_INSTANCE_DISCOVERY": "false", "AZURE_CONFIG_DIR": self.path("azure"),
                                        "REQUESTS_CA_BUNDLE": self.authority_file}

    def az(self, *arguments, code=0):
        out = self.run_tool("az", *arguments, "--only-show-errors", "-o", "json", code=code)
        return json.loads(out) if out.strip() else None

    def storage(self, *arguments, code=0):
        return self.az("storage", *arguments, "--auth-mode", "login", "--account-name", ACCOUNT,
                       "--blob-endpoint", self.endpoint, code=code)

    def log_in(self):
        self.az("login", "--service-principal", "-u", CLIENT, "-p", SECRET, "--tenant", TENANT, "--allow-no-subscriptions")

    def test_blobs_by_token(self):
        self.az("cloud", "register", "-n", "here", "--endpoint-active-directory", self.authority.url + "/adfs",
                "--endpoint-resource-manager", self.authority.url, "--endpoint-management", self.authority.url,
                "--endpoint-active-directory-resource-id", "https://management.core.windows.net/",
                "--endpoint-active-directory-graph-resource-id", "https://graph.windows.net/")
        self.az("cloud", "set", "-n", "here")
        self.log_in()
        content = self.path("content.txt")
        write(content, b"by token")
        self.storage("container", "create", "-n", "login")
        self.storage("blob", "upload", "-c", "login", "-n", "b", "-f", content)
        self.storage("blob", "download", "-c", "login", "-n", "b", "-f", self.path("back.txt"))
        with open(self.path("back.txt"), "rb") as file:
            self.assertEqual(file.read(), b"by token")
        self.assertEqual([blob["name"] for blob in self.storage("blob", "list", "-c", "login")], ["b"])
        self.refuses_what_the_role_does_not_allow()

    def refuses_what_the_role_does_not_allow(self):
        self.authority.roles = ["Storage Blob Data Reader"]
        self.az("account", "clear")
        self.log_in()
        self.storage("blob", "delete", "-c", "login", "-n", "b", code=1)
        self.assertTrue(self.storage("blob", "exists", "-c", "login", "-n", "b")["exists"])


if __name__ == "__main__":
    main("az")
