"""The commands of azure-cli for queues and tables, as in docs/clients.md."""
import json
import os
import re
import shlex

from tools_support import ACCOUNT, KEY_TEXT, ToolTest, main

from stack import SOURCE


def recipe():
    with open(os.path.join(SOURCE, "docs", "clients.md"), encoding="utf-8") as page:
        return re.findall(r"^    az (storage (?:queue|message|table|entity) .*)$", page.read(), re.M)


class AzureCliDataTest(ToolTest):
    stores = ("queue_service", "table_store")
    files = 1

    def environment(self):
        url = {name: f"http://127.0.0.1:{self.stack.ports[name]}/{ACCOUNT}" for name in self.stores}
        connection = (f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY_TEXT};"
                      f"QueueEndpoint={url['queue_service']};TableEndpoint={url['table_store']};")
        return super().environment() | {"AZURE_STORAGE_CONNECTION_STRING": connection, "AZURE_CORE_NO_COLOR": "true",
                                        "AZURE_CORE_COLLECT_TELEMETRY": "false", "AZURE_CONFIG_DIR": self.path("azure")}

    def test_the_recipe(self):
        said = {}
        for line in recipe():
            words = shlex.split(line)
            said[" ".join(words[1:3])] = self.run_tool("az", *words, "--only-show-errors", "-o", "json")
        self.assertEqual(len(said), 8, list(said))
        self.assertTrue(json.loads(said["queue create"])["created"])
        self.assertEqual(json.loads(said["message get"])[0]["content"], "2026/1")
        [order] = json.loads(said["entity query"])["items"]
        self.assertEqual((order["PartitionKey"], order["RowKey"], order["Lines"]), ("2026", "1", 3))


if __name__ == "__main__":
    main("az")
