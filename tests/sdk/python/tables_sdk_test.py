"""Tables through Debian's azure.data.tables: the differences from the JavaScript client in requests and answers. It
signs with the longer SharedKey form, wants the inserted entity back, annotates keys, and numbers the operations of a
transaction.
"""
import datetime
import os
import unittest
import urllib.parse
import uuid

from azure.core import MatchConditions
from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential
from azure.core.exceptions import (ClientAuthenticationError, HttpResponseError, ResourceExistsError,
                                   ResourceModifiedError, ResourceNotFoundError)
from azure.data.tables import (EdmType, EntityProperty, RequestTooLargeError, TableAccessPolicy, TableAnalyticsLogging,
                               TableClient, TableCorsRule, TableMetrics, TableRetentionPolicy, TableSasPermissions,
                               TableServiceClient, TableTransactionError, UpdateMode, generate_account_sas,
                               generate_table_sas, AccountSasPermissions, ResourceTypes)

from support import ACCOUNT, KEY, azurite, fresh_name, main

ENDPOINT = os.environ["TIDEMARK_TABLE_URL"]
CREDENTIAL = AzureNamedKeyCredential(ACCOUNT, KEY)
OPTIONS = {"retry_total": 0}
UTC = datetime.timezone.utc
HOUR = datetime.timedelta(hours=1)


def now():
    return datetime.datetime.now(UTC)


def service(credential=CREDENTIAL):
    return TableServiceClient(ENDPOINT, credential=credential, **OPTIONS)


def client_of(table, credential=CREDENTIAL):
    return TableClient(ENDPOINT, table, credential=credential, **OPTIONS)


class Case(unittest.TestCase):
    def setUp(self):
        self.table = client_of(fresh_name())
        self.table.create_table()

    def own(self, partition_key="p", row_key="r"):
        entity = dict(self.table.get_entity(partition_key, row_key))
        return {name: value for name, value in entity.items() if name not in ("PartitionKey", "RowKey")}

    def rows(self, query_filter, **parameters):
        found = self.table.query_entities(query_filter, parameters=parameters or None)
        return [entity["RowKey"] for entity in found]

    def refused(self, error, code, status, call, *arguments, **named):
        with self.assertRaises(error) as caught:
            call(*arguments, **named)
        self.assertEqual(caught.exception.status_code, status)
        if code:
            # The client sets error_code only on some errors.
            found = getattr(caught.exception, "error_code", None)
            self.assertIn(code, found.value if found else caught.exception.response.text())


class Tables(Case):
    def test_create_list_delete(self):
        name = self.table.table_name
        listed = [t.name for t in service().query_tables("TableName eq @name", parameters={"name": name})]
        self.assertEqual(listed, [name])
        service().delete_table(name)
        self.assertEqual(list(service().query_tables("TableName eq @name", parameters={"name": name})), [])

    def test_create_twice(self):
        self.refused(ResourceExistsError, "TableAlreadyExists", 409, self.table.create_table)

    def test_create_if_not_exists(self):
        self.assertEqual(service().create_table_if_not_exists(self.table.table_name).table_name, self.table.table_name)

    def test_delete_of_a_missing_table_is_swallowed(self):
        service().delete_table(fresh_name())

    @azurite("table-bad-names")
    def test_bad_names(self):
        for name, code in (("bad-name", "InvalidResourceName"), ("ab", "OutOfRangeInput")):
            with self.assertRaises((HttpResponseError, ValueError)) as caught:
                service().create_table(name)
            if isinstance(caught.exception, HttpResponseError):
                self.assertEqual(caught.exception.error_code, code)

    def test_pages_of_tables(self):
        prefix = fresh_name("Page")
        names = [f"{prefix}x{i}" for i in range(5)]
        for name in names:
            service().create_table(name)
        pages = service().query_tables(f"TableName ge '{prefix}' and TableName lt '{prefix}z'", results_per_page=2).by_page()
        sizes, found = [], []
        for page in pages:
            page = [t.name for t in page]
            sizes.append(len(page))
            found += page
        self.assertEqual(found, names)
        self.assertLessEqual(max(sizes), 2)

    def test_operations_on_a_missing_table(self):
        missing = client_of(fresh_name())
        self.refused(ResourceNotFoundError, "TableNotFound", 404, missing.get_entity, "p", "r")
        self.refused(ResourceNotFoundError, "TableNotFound", 404, missing.create_entity, {"PartitionKey": "p", "RowKey": "r"})
        self.refused(ResourceNotFoundError, "TableNotFound", 404, lambda: list(missing.list_entities()))


class Types(Case):
    def stored(self, value):
        self.table.upsert_entity({"PartitionKey": "p", "RowKey": "r", "v": value}, mode=UpdateMode.REPLACE)
        return self.own()["v"]

    def test_strings(self):
        for text in ("héllo 日本 😀", "", "\"'\\/\r\n\t", "  "):
            self.assertEqual(self.stored(text), text)

    def test_int32(self):
        for value in (0, -1, 2**31 - 1, -2**31):
            self.assertEqual(self.stored(value), value)

    def test_int64_is_told_from_int32(self):
        for value in (5, 2**63 - 1, -2**63):
            read = self.stored(EntityProperty(value, EdmType.INT64))
            self.assertEqual((read.value, read.edm_type), (value, EdmType.INT64))

    def test_doubles(self):
        for value in (1.5, -2.25, 1e300, 5e-324, float("inf"), float("-inf")):
            self.assertEqual(self.stored(value), value)

    def test_a_whole_double_stays_a_double(self):
        read = self.stored(5.0)
        self.assertEqual((read, type(read)), (5.0, float))

    def test_not_a_number(self):
        read = self.stored(float("nan"))
        self.assertNotEqual(read, read)

    def test_booleans(self):
        self.assertIs(self.stored(True), True)
        self.assertIs(self.stored(False), False)

    def test_dates_keep_microseconds(self):
        value = datetime.datetime(2024, 2, 3, 4, 5, 6, 789123, UTC)
        self.assertEqual(self.stored(value), value)

    def test_dates_of_another_zone_become_utc(self):
        value = datetime.datetime(2024, 1, 1, 1, 30, tzinfo=datetime.timezone(2 * HOUR))
        self.assertEqual(self.stored(value).astimezone(UTC), datetime.datetime(2023, 12, 31, 23, 30, tzinfo=UTC))

    def test_dates_keep_100_nanoseconds(self):
        self.assertEqual(self.stored(EntityProperty("2024-02-03T04:05:06.1234567Z", EdmType.DATETIME)).tables_service_value,
                         "2024-02-03T04:05:06.1234567Z")

    def test_guids(self):
        value = uuid.uuid4()
        self.assertEqual(self.stored(value), value)

    def test_bytes(self):
        for value in (b"", bytes(range(256)), b"x" * 65536):
            self.assertEqual(self.stored(value), value)

    def test_none_is_not_stored(self):
        self.table.create_entity({"PartitionKey": "p", "RowKey": "r", "nothing": None, "v": 1})
        self.assertEqual(self.own(), {"v": 1})


class Entities(Case):
    def entity(self, **properties):
        return {"PartitionKey": "p", "RowKey": "r", **properties}

    def test_create_answers_the_etag(self):
        created = self.table.create_entity(self.entity(v=1))
        self.assertEqual(created["etag"], self.table.get_entity("p", "r").metadata["etag"])

    def test_create_twice(self):
        self.table.create_entity(self.entity())
        self.refused(ResourceExistsError, "EntityAlreadyExists", 409, self.table.create_entity, self.entity())

    def test_a_missing_entity(self):
        self.refused(ResourceNotFoundError, "ResourceNotFound", 404, self.table.get_entity, "p", "r")
        self.refused(ResourceNotFoundError, "ResourceNotFound", 404, self.table.update_entity, self.entity())
        self.table.delete_entity("p", "r")  # the client swallows 404 here

    def test_upserts(self):
        self.table.upsert_entity(self.entity(a=1), mode=UpdateMode.MERGE)
        self.table.upsert_entity(self.entity(b=2), mode=UpdateMode.MERGE)
        self.assertEqual(self.own(), {"a": 1, "b": 2})
        self.table.upsert_entity(self.entity(c=3), mode=UpdateMode.REPLACE)
        self.assertEqual(self.own(), {"c": 3})

    def test_updates(self):
        self.table.create_entity(self.entity(a=1))
        self.table.update_entity(self.entity(b=2), mode=UpdateMode.MERGE)
        self.assertEqual(self.own(), {"a": 1, "b": 2})
        self.table.update_entity(self.entity(c=3), mode=UpdateMode.REPLACE)
        self.assertEqual(self.own(), {"c": 3})

    def test_an_entity_read_is_written_back(self):
        self.table.create_entity(self.entity(n=1, big=EntityProperty(5, EdmType.INT64), when=now()))
        read = self.table.get_entity("p", "r")
        read["n"] = 2
        self.table.update_entity(read, mode=UpdateMode.REPLACE, etag=read.metadata["etag"],
                                 match_condition=MatchConditions.IfNotModified)
        self.assertEqual(self.own(), {"n": 2, "big": read["big"], "when": read["when"]})

    def test_a_stale_etag(self):
        stale = self.table.create_entity(self.entity(n=1))["etag"]
        self.table.upsert_entity(self.entity(n=2))
        condition = {"etag": stale, "match_condition": MatchConditions.IfNotModified}
        self.refused(ResourceModifiedError, "UpdateConditionNotSatisfied", 412, self.table.update_entity, self.entity(n=3), **condition)
        self.refused(ResourceModifiedError, "UpdateConditionNotSatisfied", 412, self.table.delete_entity, "p", "r", **condition)
        self.assertEqual(self.own(), {"n": 2})

    def test_keys_with_odd_characters(self):
        for key in ("it's", "''", "a b", "100%", "%27", "a&b=c", "a+b", "日本 é", "(x),RowKey='y'", "😀", "\"q\""):
            with self.subTest(key=key):
                self.table.create_entity({"PartitionKey": "k" + key, "RowKey": key, "n": 1})
                self.table.update_entity({"PartitionKey": "k" + key, "RowKey": key, "m": 2})
                self.assertEqual(self.own("k" + key, key), {"n": 1, "m": 2})
                self.assertEqual(self.rows("PartitionKey eq @pk", pk="k" + key), [key])
                self.table.delete_entity("k" + key, key)
                self.assertEqual(self.rows("PartitionKey eq @pk", pk="k" + key), [])

    @azurite("table-entity-size")
    def test_an_entity_above_its_size(self):
        properties = {f"s{i}": "x" * 32768 for i in range(17)}
        with self.assertRaises(HttpResponseError) as caught:
            self.table.create_entity(self.entity(**properties))
        self.assertEqual(caught.exception.status_code, 400)


class Queries(Case):
    def setUp(self):
        super().setUp()
        self.when = datetime.datetime(2024, 1, 2, 3, 4, 5, 678901, UTC)
        self.guid = uuid.uuid4()
        self.table.submit_transaction([("create", {
            "PartitionKey": "p", "RowKey": f"{i:03}", "n": i, "even": i % 2 == 0, "half": i / 2, "when": self.when + i * HOUR,
            "big": EntityProperty(2**40 + i, EdmType.INT64), "id": uuid.UUID(int=self.guid.int ^ i), "bytes": bytes([1, i]),
            "text": f"it's {i}"}) for i in range(50)])

    def test_parameters_of_every_type(self):
        for name, value in (("n", 7), ("half", 3.5), ("when", self.when + 7 * HOUR), ("id", uuid.UUID(int=self.guid.int ^ 7)),
                            ("bytes", b"\x01\x07"), ("text", "it's 7")):
            with self.subTest(name=name):
                self.assertEqual(self.rows(f"{name} eq @value", value=value), ["007"])

    def test_an_int64_literal(self):
        self.assertEqual(self.rows("big eq 1099511627783L"), ["007"])

    def test_booleans(self):
        self.assertEqual(len(self.rows("even eq @even", even=True)), 25)

    def test_ranges_and_logic(self):
        self.assertEqual(self.rows("PartitionKey eq 'p' and RowKey ge '010' and RowKey lt '013'"), ["010", "011", "012"])
        self.assertEqual(self.rows("n lt 2 or n gt 47"), ["000", "001", "048", "049"])
        self.assertEqual(self.rows("not (n ge 2)"), ["000", "001"])

    def test_select(self):
        [entity] = self.table.query_entities("RowKey eq '007'", select=["n", "RowKey"])
        self.assertEqual(dict(entity), {"n": 7, "RowKey": "007"})

    def test_select_of_one_name(self):
        self.assertEqual(dict(self.table.get_entity("p", "007", select="n")), {"n": 7})

    def test_pages_and_their_continuation(self):
        pages = self.table.list_entities(results_per_page=20).by_page()
        first = [e["RowKey"] for e in next(pages)]
        token = pages.continuation_token
        rest = self.table.list_entities(results_per_page=20).by_page(continuation_token=token)
        self.assertEqual(first + [e["RowKey"] for page in rest for e in page], [f"{i:03}" for i in range(50)])

    def test_a_wrong_filter(self):
        self.refused(HttpResponseError, "InvalidInput", 400, self.rows, "n eq 5 and")


class Transactions(Case):
    def entity(self, row_key, **properties):
        return {"PartitionKey": "p", "RowKey": row_key, **properties}

    def test_every_operation(self):
        self.table.submit_transaction([("create", self.entity(r, a=1)) for r in "125"])
        result = self.table.submit_transaction([
            ("create", self.entity("3")), ("update", self.entity("1", b=2), {"mode": UpdateMode.MERGE}),
            ("delete", self.entity("2")), ("upsert", self.entity("4"), {"mode": UpdateMode.REPLACE}),
            ("update", self.entity("5", c=3), {"mode": UpdateMode.REPLACE})])
        self.assertEqual(len(result), 5)
        self.assertEqual(self.rows("PartitionKey eq 'p'"), ["1", "3", "4", "5"])
        self.assertEqual((self.own("p", "1"), self.own("p", "5")), ({"a": 1, "b": 2}, {"c": 3}))
        self.assertEqual(result[0]["etag"], self.table.get_entity("p", "3").metadata["etag"])

    def fails(self, operations, index, code):
        with self.assertRaises(TableTransactionError) as caught:
            self.table.submit_transaction(operations)
        self.assertEqual((caught.exception.index, caught.exception.error_code), (index, code))

    def test_a_duplicate_names_its_index_and_rolls_back(self):
        self.table.create_entity(self.entity("2"))
        self.fails([("create", self.entity(r)) for r in "012"], 2, "EntityAlreadyExists")
        self.assertEqual(self.rows("PartitionKey eq 'p'"), ["2"])

    def test_a_missing_entity_names_its_index(self):
        self.fails([("create", self.entity("1")), ("update", self.entity("2"))], 1, "ResourceNotFound")

    def test_a_stale_etag_names_its_index(self):
        stale = self.table.create_entity(self.entity("1"))["etag"]
        self.table.upsert_entity(self.entity("1", n=1))
        self.fails([("create", self.entity("0")), ("update", self.entity("1"), {
            "etag": stale, "match_condition": MatchConditions.IfNotModified})], 1, "UpdateConditionNotSatisfied")

    def test_a_hundred_operations(self):
        self.assertEqual(len(self.table.submit_transaction([("upsert", self.entity(f"{i}")) for i in range(100)])), 100)

    @azurite("table-batch-count")
    def test_a_hundred_and_one(self):
        with self.assertRaises(TableTransactionError) as caught:
            self.table.submit_transaction([("upsert", self.entity(f"{i}")) for i in range(101)])
        self.assertEqual(caught.exception.error_code, "InvalidInput")
        self.assertEqual(self.rows("PartitionKey eq 'p'"), [])

    def test_above_4_mib(self):
        big = {f"s{i}": "x" * 32768 for i in range(14)}
        with self.assertRaises(RequestTooLargeError):
            self.table.submit_transaction([("create", self.entity(f"{i}", **big)) for i in range(10)])

    def test_every_type_and_odd_keys(self):
        entity = {"PartitionKey": "it's & 1", "RowKey": "ü 100%", "b": b"\r\n--", "d": now(), "g": uuid.uuid4(), "f": 5.0,
                  "l": EntityProperty(5, EdmType.INT64), "s": "}{\r\n--"}
        self.table.submit_transaction([("create", entity)])
        self.assertEqual(dict(self.table.get_entity("it's & 1", "ü 100%")), entity)


class Signatures(Case):
    def setUp(self):
        super().setUp()
        for partition_key in "abc":
            self.table.create_entity({"PartitionKey": partition_key, "RowKey": "1"})

    def signed(self, **grant):
        if "policy_id" not in grant:
            grant = {"expiry": now() + HOUR, **grant}
        sas = generate_table_sas(CREDENTIAL, self.table.table_name, **grant)
        return client_of(self.table.table_name, AzureSasCredential(sas))

    def test_read_only(self):
        reader = self.signed(permission=TableSasPermissions(read=True))
        self.assertEqual(reader.get_entity("a", "1")["RowKey"], "1")
        self.refused(HttpResponseError, "AuthorizationPermissionMismatch", 403, reader.create_entity, {"PartitionKey": "x", "RowKey": "1"})

    @azurite("table-sas-ranges")
    def test_key_ranges(self):
        bounded = self.signed(permission=TableSasPermissions(read=True, add=True), start_pk="b", end_pk="b")
        self.assertEqual([e["PartitionKey"] for e in bounded.list_entities()], ["b"])
        self.refused(HttpResponseError, "AuthorizationFailure", 403, bounded.create_entity, {"PartitionKey": "c", "RowKey": "2"})

    @azurite("table-sas-batch")
    def test_a_transaction(self):
        writer = self.signed(permission=TableSasPermissions(add=True))
        writer.submit_transaction([("create", {"PartitionKey": "t", "RowKey": "1"})])
        self.assertEqual(self.rows("PartitionKey eq 't'"), ["1"])

    @azurite("table-auth-errors")
    def test_an_expired_one(self):
        old = self.signed(permission=TableSasPermissions(read=True), start=now() - 2 * HOUR, expiry=now() - HOUR)
        self.refused(ClientAuthenticationError, "AuthenticationFailed", 403, old.get_entity, "a", "1")

    @azurite("table-auth-codes")
    def test_a_stored_policy_until_it_is_removed(self):
        policy = TableAccessPolicy(permission="r", start=now() - HOUR, expiry=now() + HOUR)
        self.table.set_table_access_policy({"ro": policy})
        self.assertEqual(self.table.get_table_access_policy()["ro"].permission, "r")
        reader = self.signed(policy_id="ro")
        self.assertEqual(reader.get_entity("a", "1")["RowKey"], "1")
        self.table.set_table_access_policy({})
        self.refused(ClientAuthenticationError, "AuthenticationFailed", 403, reader.get_entity, "a", "1")

    def test_six_policies(self):
        policies = {f"{i}": TableAccessPolicy(permission="r", start=now(), expiry=now() + HOUR) for i in range(6)}
        with self.assertRaises((HttpResponseError, ValueError)):
            self.table.set_table_access_policy(policies)

    def test_an_account_signature(self):
        sas = generate_account_sas(CREDENTIAL, ResourceTypes.from_string("sco"),
                                   AccountSasPermissions(read=True, write=True, delete=True, list=True, add=True, create=True, update=True),
                                   now() + HOUR)
        name = fresh_name()
        manager = service(AzureSasCredential(sas))
        manager.create_table(name)
        manager.get_table_client(name).upsert_entity({"PartitionKey": "p", "RowKey": "r"})
        self.assertIn(name, [t.name for t in manager.list_tables()])
        manager.delete_table(name)

    @azurite("table-auth-errors")
    def test_a_wrong_key(self):
        stranger = client_of(self.table.table_name, AzureNamedKeyCredential(ACCOUNT, "d3Jvbmc="))
        self.refused(ClientAuthenticationError, "AuthenticationFailed", 403, stranger.get_entity, "a", "1")


class Account(unittest.TestCase):
    def test_properties(self):
        keep = TableRetentionPolicy(enabled=True, days=5)
        service().set_service_properties(
            analytics_logging=TableAnalyticsLogging(read=True, write=True, delete=True, retention_policy=keep),
            hour_metrics=TableMetrics(enabled=True, include_apis=True, retention_policy=keep),
            cors=[TableCorsRule(["https://app.example"], ["GET", "PUT"], max_age_in_seconds=60, exposed_headers=["*"], allowed_headers=["x-ms-*"])])
        read = service().get_service_properties()
        self.assertTrue(read["analytics_logging"].read)
        self.assertEqual(read["hour_metrics"].retention_policy.days, 5)
        self.assertEqual(read["cors"][0].max_age_in_seconds, 60)

    def test_a_connection_string(self):
        text = f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};TableEndpoint={ENDPOINT};"
        with TableServiceClient.from_connection_string(text) as client:
            name = fresh_name()
            client.create_table(name)
            self.assertIn(name, [t.name for t in client.list_tables()])
            client.delete_table(name)

    def test_the_account_in_the_host(self):
        """The account is the first label of the host name, as in production; the name itself is not looked up."""
        from azure.core.pipeline.transport import RequestsTransport
        address = urllib.parse.urlsplit(ENDPOINT)
        host = f"{ACCOUNT}.table.localhost:{address.port}"

        class Redirect(RequestsTransport):
            def send(self, request, **options):
                request.headers["Host"] = host
                request.url = request.url.replace(host, address.netloc)
                return super().send(request, **options)

        client = TableServiceClient(f"http://{host}", credential=CREDENTIAL, transport=Redirect(), **OPTIONS)
        name = fresh_name()
        client.create_table(name)
        self.assertIn(name, [t.name for t in client.list_tables()])
        client.delete_table(name)


if __name__ == "__main__":
    main()
