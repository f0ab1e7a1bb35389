"""Tables through the two older Python clients that Debian ships: azure.cosmosdb.table, and the copy of it that azure-cli
uses. They ask for version 2017-07-29 and 2017-04-17, update with the verb MERGE, send relative URIs in batches, and can
encrypt entities before they leave the client.
"""
import datetime
import importlib
import json
import os
import unittest
import uuid

from azure.common import AzureConflictHttpError, AzureHttpError, AzureMissingResourceHttpError
from cryptography.hazmat.primitives.keywrap import aes_key_unwrap, aes_key_wrap

from support import ACCOUNT, KEY, azurite, fresh_name, main

ENDPOINT = os.environ["TIDEMARK_TABLE_URL"]
UTC = datetime.timezone.utc


class KeyWrapper:
    """The key encryption key that these clients need: RFC 3394 with 256 bits."""

    def __init__(self, name):
        self.name, self.key = name, os.urandom(32)

    def wrap_key(self, key, algorithm="A256KW"):
        assert algorithm == "A256KW"
        return aes_key_wrap(self.key, key)

    def unwrap_key(self, key, algorithm):
        assert algorithm == "A256KW"
        return aes_key_unwrap(self.key, key)

    def get_key_wrap_algorithm(self):
        return "A256KW"

    def get_kid(self):
        return self.name


class Legacy:
    module = ""

    @classmethod
    def setUpClass(cls):
        cls.sdk = importlib.import_module(cls.module)
        cls.models = importlib.import_module(cls.module + ".models")

    def make(self):
        made = self.sdk.TableService(connection_string=f"AccountName={ACCOUNT};AccountKey={KEY};TableEndpoint={ENDPOINT}")
        made.is_emulated = True  # the account is part of the path, also inside batches
        made.retry = lambda context: None
        return made

    def setUp(self):
        self.service, self.table = self.make(), fresh_name()
        self.service.create_table(self.table, fail_on_exist=True)

    def entity(self, row_key="r", **properties):
        return {"PartitionKey": "p", "RowKey": row_key, **properties}

    def own(self, row_key="r", **options):
        read = self.service.get_entity(self.table, "p", row_key, **options)
        return {name: value for name, value in read.items() if name not in ("PartitionKey", "RowKey", "Timestamp", "etag")}

    def test_tables(self):
        self.assertIn(self.table, [t.name for t in self.service.list_tables()])
        self.assertFalse(self.service.create_table(self.table))
        self.assertTrue(self.service.delete_table(self.table))
        self.assertFalse(self.service.delete_table(self.table))

    def test_exists(self):
        self.assertTrue(self.service.exists(self.table))
        self.assertFalse(self.service.exists(fresh_name()))

    def test_types(self):
        when = datetime.datetime(2024, 2, 3, 4, 5, 6, tzinfo=UTC)
        property_of, edm = self.models.EntityProperty, self.models.EdmType
        self.service.insert_entity(self.table, self.entity(
            s="héllo 日本", t=True, big=2**40, f=1.5, when=when, b=property_of(edm.BINARY, b"\x00\xff"),
            g=property_of(edm.GUID, "0d391d16-97f1-4b9a-be68-4cc871f90001"), i=property_of(edm.INT32, 5)))
        read = self.own()
        self.assertEqual((read["s"], read["t"], read["big"], read["f"]), ("héllo 日本", True, 2**40, 1.5))
        self.assertEqual(read["when"].replace(tzinfo=UTC), when)
        self.assertEqual((read["b"].type, read["b"].value, read["g"].value), (edm.BINARY, b"\x00\xff", "0d391d16-97f1-4b9a-be68-4cc871f90001"))

    def test_insert_merge_replace_delete(self):
        etag = self.service.insert_entity(self.table, self.entity(a=1))
        self.assertTrue(etag)
        with self.assertRaises(AzureConflictHttpError):
            self.service.insert_entity(self.table, self.entity())
        self.service.merge_entity(self.table, self.entity(b=2))
        self.assertEqual(self.own(), {"a": 1, "b": 2})
        self.service.update_entity(self.table, self.entity(c=3))
        self.assertEqual(self.own(), {"c": 3})
        self.service.insert_or_merge_entity(self.table, self.entity(d=4))
        self.assertEqual(self.own(), {"c": 3, "d": 4})
        self.service.insert_or_replace_entity(self.table, self.entity(e=5))
        self.assertEqual(self.own(), {"e": 5})
        self.service.delete_entity(self.table, "p", "r")
        with self.assertRaises(AzureMissingResourceHttpError):
            self.service.get_entity(self.table, "p", "r")

    def test_conditions(self):
        stale = self.service.insert_entity(self.table, self.entity(n=1))
        current = self.service.merge_entity(self.table, self.entity(n=2), if_match=stale)
        with self.assertRaises(AzureHttpError) as caught:
            self.service.update_entity(self.table, self.entity(n=3), if_match=stale)
        self.assertEqual(caught.exception.status_code, 412)
        self.service.delete_entity(self.table, "p", "r", if_match=current)

    def test_queries(self):
        for i in range(5):
            self.service.insert_entity(self.table, self.entity(f"{i}", n=i, s=f"it's {i}"))
        found = self.service.query_entities(self.table, filter="PartitionKey eq 'p' and s ge 'it''s 3'", select="RowKey,s")
        self.assertEqual([(e["RowKey"], e["s"]) for e in found], [("3", "it's 3"), ("4", "it's 4")])
        first = self.service.query_entities(self.table, num_results=2)
        rest = self.service.query_entities(self.table, marker=first.next_marker)
        self.assertEqual([e["RowKey"] for e in [*first, *rest]], ["0", "1", "2", "3", "4"])

    @azurite("table-blank-select")
    def test_no_select_is_everything(self):
        self.service.insert_entity(self.table, self.entity(s="x"))
        self.assertEqual([e["s"] for e in self.service.query_entities(self.table, select=" ")], ["x"])

    @azurite("table-batch-relative")
    def test_a_batch(self):
        for row_key in "123":
            self.service.insert_entity(self.table, self.entity(row_key, n=1))
        batch = self.sdk.TableBatch()
        batch.insert_entity(self.entity("4"))
        batch.merge_entity(self.entity("1", m=2))
        batch.update_entity(self.entity("2", m=2))
        batch.delete_entity("p", "3")
        batch.insert_or_replace_entity(self.entity("5"))
        batch.insert_or_merge_entity(self.entity("6"))
        etags = self.service.commit_batch(self.table, batch)
        self.assertEqual(len(etags), 6)
        self.assertEqual([e["RowKey"] for e in self.service.query_entities(self.table)], ["1", "2", "4", "5", "6"])
        self.assertEqual((self.own("1"), self.own("2")), ({"n": 1, "m": 2}, {"m": 2}))

    @azurite("table-batch-relative")
    def test_a_batch_that_fails(self):
        self.service.insert_entity(self.table, self.entity("1"))
        batch = self.sdk.TableBatch()
        batch.insert_entity(self.entity("0"))
        batch.insert_entity(self.entity("1"))
        error = self.models.AzureBatchOperationError
        with self.assertRaises(error) as caught:
            self.service.commit_batch(self.table, batch)
        self.assertEqual((caught.exception.status_code, caught.exception.code), (409, "EntityAlreadyExists"))
        self.assertEqual([e["RowKey"] for e in self.service.query_entities(self.table)], ["1"])

    def test_policies(self):
        common = importlib.import_module(self.common + ".models")
        policy = common.AccessPolicy(permission="r", start=datetime.datetime(2024, 1, 1), expiry=datetime.datetime(2034, 1, 1))
        self.service.set_table_acl(self.table, {"one": policy})
        self.assertEqual(self.service.get_table_acl(self.table)["one"].permission, "r")
        self.service.set_table_acl(self.table)
        self.assertEqual(self.service.get_table_acl(self.table), {})

    def test_a_table_signature(self):
        self.service.insert_entity(self.table, self.entity(n=1))
        token = self.service.generate_table_shared_access_signature(
            self.table, permission=self.models.TablePermissions.QUERY, expiry=datetime.datetime(2099, 1, 1))
        reader = self.sdk.TableService(connection_string=f"SharedAccessSignature={token};TableEndpoint={ENDPOINT}")
        reader.retry = lambda context: None
        self.assertEqual(reader.get_entity(self.table, "p", "r")["n"], 1)
        with self.assertRaises(AzureHttpError) as caught:
            reader.delete_entity(self.table, "p", "r")
        self.assertEqual(caught.exception.status_code, 403)

    def closed(self, **options):
        """Returns a service that encrypts the property "secret", and one that reads the stored form."""
        made = self.make()
        made.key_encryption_key = KeyWrapper("key:one")
        made.encryption_resolver_function = lambda pk, rk, name: name == "secret"
        made.require_encryption = True
        return made

    def test_an_encrypted_entity_opens_again(self):
        closed = self.closed()
        closed.insert_entity(self.table, self.entity(secret="héllo 日本 😀", plain="open", n=7))
        read = closed.get_entity(self.table, "p", "r")
        self.assertEqual((read["secret"], read["plain"], read["n"]), ("héllo 日本 😀", "open", 7))

    def test_an_encrypted_property_is_binary_and_the_metadata_a_string(self):
        closed = self.closed()
        closed.insert_entity(self.table, self.entity(secret="x" * 1000, plain="open"))
        stored = self.own()
        self.assertEqual((stored["secret"].type, len(stored["secret"].value), stored["plain"]), (self.models.EdmType.BINARY, 1008, "open"))
        metadata = json.loads(stored["_ClientEncryptionMetadata1"])
        self.assertEqual(metadata["WrappedContentKey"]["KeyId"], "key:one")
        self.assertEqual(metadata["EncryptionAgent"]["EncryptionAlgorithm"], "AES_CBC_256")
        self.assertEqual(stored["_ClientEncryptionMetadata2"].type, self.models.EdmType.BINARY)

    def test_encrypted_entities_in_a_list(self):
        closed = self.closed()
        for row_key in "123":
            closed.insert_or_replace_entity(self.table, self.entity(row_key, secret=f"secret {row_key}"))
        self.assertEqual([e["secret"] for e in closed.query_entities(self.table)], ["secret 1", "secret 2", "secret 3"])

    @azurite("table-batch-relative")
    def test_encrypted_entities_in_a_batch(self):
        closed = self.closed()
        batch = self.sdk.TableBatch(require_encryption=True, key_encryption_key=closed.key_encryption_key,
                                    encryption_resolver=closed.encryption_resolver_function)
        for row_key in "12":
            batch.insert_entity(self.entity(row_key, secret=f"secret {row_key}"))
        closed.commit_batch(self.table, batch)
        self.assertEqual(closed.get_entity(self.table, "p", "2")["secret"], "secret 2")

    def test_another_key_does_not_open(self):
        self.closed().insert_entity(self.table, self.entity(secret=str(uuid.uuid4())))
        with self.assertRaises(Exception) as caught:
            self.closed().get_entity(self.table, "p", "r")
        self.assertNotIsInstance(caught.exception, AzureHttpError)


class CosmosTable(Legacy, unittest.TestCase):
    module, common = "azure.cosmosdb.table", "azure.cosmosdb.table.common"


class CliTable(Legacy, unittest.TestCase):
    module, common = "azure.multiapi.cosmosdb.v2017_04_17.table", "azure.multiapi.cosmosdb.v2017_04_17.common"


if __name__ == "__main__":
    main()
