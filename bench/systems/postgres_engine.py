import os

from systems.postgres import Postgres
from systems.tidemark import Tidemark


class TidemarkInPostgres(Tidemark):
    """The same stores with their rows in a PostgreSQL of their own. Both share the machine."""
    name, protocol = "postgres-engine", "tidemark"
    version = "tidemark with engine postgres, on a PostgreSQL like that of postgres"
    install = staticmethod(Postgres.install)

    def start(self):
        self.database = Postgres(os.path.join(self.directory, "postgres"), self.binaries)
        self.database.start()
        self.processes += self.database.processes  # paused, counted and stopped with the stores
        super().start()

    def store(self, program, *arguments):
        url = f"host=127.0.0.1 port={self.database.port} user=bench dbname=postgres"
        return super().store(program, "--engine", "postgres", "--database", url, *arguments)


class TidemarkShardsInPostgres(TidemarkInPostgres):
    """With two shards: two writers, and two sessions of the database."""
    name, version = "postgres-engine-shards", "the same with --shards 2"

    def store(self, program, *arguments):
        return super().store(program, "--shards", "2", *arguments)
