from harness import azure, index_rows
from harness.processes import await_true
from systems.stack import Jobs, Stack

CATCH_UP_LIMIT_S = 900.0


class Followed(Stack):
    """The stack with one worker, and the indexes that follow its tables."""
    version = "default settings, durability fsync, one worker"

    def start(self):
        super().start()
        self.start_workers(1)
        self.followed = {}

    def declare(self, kind, source, **more):
        """Declares an index and returns its name."""
        name = f"{kind}-of-{source}"
        self.followed[name] = index_rows.definition(kind, source) | more
        Jobs(self).call("PUT", f"/v1/indexes/{name}", self.followed[name])
        return name

    def await_caught_up(self):
        api = Jobs(self)

        def caught_up(name):
            index = api.call("GET", f"/v1/indexes/{name}")
            return index["state"] == "ready" and index["lag"]["changes"] == 0  # there is no lag before it has an owner
        await_true(lambda: all(caught_up(name) for name in self.followed), "the indexes to catch up", CATCH_UP_LIMIT_S)

    def follow(self, kinds, source, **more):
        for kind in kinds:
            self.declare(kind, source, **more)
        self.await_caught_up()

    def drop_all(self):
        api = Jobs(self)
        for name in self.followed:
            api.call("DELETE", f"/v1/indexes/{name}")
        if self.followed:
            await_true(lambda: not api.call("GET", "/v1/indexes")["indexes"], "the indexes to be dropped", CATCH_UP_LIMIT_S)
        self.followed = {}

    def verify(self):
        """Checks the rows of the indexes; to be called after the last write."""
        self.await_caught_up()
        index_rows.verify(azure.Connection(self.table), self.followed.values())
