"""Lists that are searched: an answer tells how much it searched even if it found nothing, and the next continues
exactly there."""
import json
import os
import sys
import unittest
from urllib.parse import parse_qs, quote, urlsplit

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from command_line import StackCase, tidemark  # noqa: E402
from receiver import Receiver  # noqa: E402

ROWS = 60_000


class SearchTest(StackCase):
    """Lists of a real stack."""
    workers = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        lines = "".join(f'{{"PartitionKey":"p{n // 1000:03}","RowKey":"{n % 1000:03}","Number":{n}}}\n' for n in range(ROWS))
        done = tidemark("table", "import", "Many", environment=cls.environment, stdin=lines)
        assert done.returncode == 0, done.stderr

    def pages(self, path, member):
        """Returns all items, how much was searched altogether, and the number of answers."""
        items, searched, continuation, answers = [], 0, "", 0
        while continuation or not answers:
            page = self.api.call("GET", path + (f"&continuation={quote(continuation)}" if continuation else ""))
            items += page[member]
            searched += page["searched"]
            continuation = page.get("continuation", "")
            answers += 1
        return items, searched, answers

    def test_a_filter_that_matches_nothing_reads_every_entity_once(self):
        items, searched, _ = self.pages(f"/v1/tables/Many/entities?limit=100&filter={quote('Number eq -1')}", "entities")
        self.assertEqual((items, searched), ([], ROWS))

    def test_a_filter_that_matches_few_finds_each_of_them_once(self):
        which = quote("Number gt 100 and Number lt 110 or Number eq 59999")
        items, searched, _ = self.pages(f"/v1/tables/Many/entities?limit=2&filter={which}", "entities")
        self.assertEqual([item["Number"] for item in items], [*range(101, 110), 59_999])
        self.assertGreaterEqual(searched, ROWS)
        self.assertLess(searched, ROWS + 10 * 1001, "after a full page, a thousand more may be read to see whether it is the last")

    def test_only_the_rows_of_a_range_count(self):
        which = quote("PartitionKey eq 'p007' and Number eq -1")
        self.assertEqual(self.pages(f"/v1/tables/Many/entities?limit=100&filter={which}", "entities"), ([], 1000, 1))

    def test_jobs_and_the_audit_trail_say_how_much_was_searched(self):
        jobs = [self.api.submit({"kind": "delete", "source": "Many", "partitionKey": "p000", "rowKey": f"{n:03}", "queue": "nobody"})
                for n in range(5)]
        self.api.cancel(jobs[0])
        items, searched, _ = self.pages("/v1/jobs?limit=1&state=running", "jobs")
        self.assertEqual((items, searched), ([], 5))
        items, _, _ = self.pages("/v1/jobs?limit=2&state=queued", "jobs")
        self.assertEqual([item["id"] for item in items], jobs[:0:-1])
        items, searched, _ = self.pages("/v1/audit?limit=100&operation=jobs.cancel", "entries")
        self.assertEqual([entry["target"] for entry in items], [jobs[0]])
        self.assertGreaterEqual(searched, 6)
        self.assertEqual(self.api.call("GET", "/v1/poison?kind=archive")["searched"], 0)


class CommandLineTest(unittest.TestCase):
    """Lists of an api that finds one in 400,000 and would go on for ever."""

    def setUp(self):
        def answer(request):
            asked = parse_qs(urlsplit(request["path"]).query)
            page = int(asked.get("continuation", ["0"])[0])
            self.asked.append(page)
            found = [{"id": f"id-{page}", "kind": "delete", "state": "running"}]
            body = {"jobs": found if "state=cancelled" not in request["path"] else [], "searched": 400_000}
            if page < self.last:
                body["continuation"] = str(page + 1)
            return 200, {"Content-Type": "application/json"}, json.dumps(body).encode()
        self.asked, self.last = [], 1000
        self.server = Receiver(answer)
        self.addCleanup(self.server.close)

    def list(self, *arguments):
        done = tidemark("--api", self.server.url("/"), *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def test_a_search_ends_where_somebody_should_say_whether_to_go_on(self):
        done = self.list("job", "list", "--state", "running")
        self.assertEqual(self.asked, [0, 1, 2])
        self.assertEqual(len(done.stdout.splitlines()), 4)
        self.assertEqual(done.stderr, "(3 found among 1200000; there are more: --all searches all, and --continuation 3 goes on here)\n")
        told = json.loads(self.list("--json", "job", "list", "--state", "running", "--continuation", "3").stdout)
        self.assertEqual(self.asked[3:], [3, 4, 5])
        self.assertEqual(([job["id"] for job in told["jobs"]], told["searched"], told["continuation"]), (["id-3", "id-4", "id-5"], 1_200_000, "6"))

    def test_nobody_says_that_there_is_nothing_before_all_was_searched(self):
        done = self.list("job", "list", "--state", "cancelled")
        self.assertEqual(done.stdout, "")
        self.assertTrue(done.stderr.startswith("(0 found among 1200000; there are more: "), done.stderr)
        self.last = 1
        self.assertEqual(self.list("job", "list", "--state", "cancelled").stdout, "no jobs\n")

    def test_a_list_that_is_full_says_that_there_is_more(self):
        done = self.list("job", "list", "--limit", "2")
        self.assertEqual(self.asked, [0, 1])
        self.assertEqual(done.stderr, "(2 shown; there are more: --all shows all, and --continuation 2 goes on here)\n")

    def test_all_is_searched_if_all_is_wanted(self):
        self.last = 7
        done = self.list("job", "list", "--limit", "0")
        self.assertEqual(self.asked, [*range(8)])
        self.assertEqual((len(done.stdout.splitlines()), done.stderr), (9, ""))


if __name__ == "__main__":
    unittest.main()
