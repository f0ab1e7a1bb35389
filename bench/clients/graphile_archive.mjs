// Archives rows of `entities` into `archive`, one Graphile Worker job each, and prints how long all of them took.
// Usage: graphile_archive.mjs URL migrate | URL run JOBS transaction|statement|nothing
// With "nothing", the jobs have no work, which leaves the cost of the queue.
import { EventEmitter } from "node:events";
import { Logger, run, runMigrations } from "graphile-worker";

const [connectionString, command, jobs, form] = process.argv.slice(2);
const logger = new Logger(() => (level, message) => {
  if (level === "error" || level === "warning") console.error(message);
});
// The configuration of https://worker.graphile.org/docs/performance.
const preset = {
  worker: {
    connectionString,
    concurrentJobs: 24,
    maxPoolSize: 25,
    localQueue: { size: 500 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
  },
};

const copy = "INSERT INTO archive SELECT * FROM entities WHERE pk = $1 AND rk = $2 " +
  "ON CONFLICT (pk, rk) DO UPDATE SET body = excluded.body";
const remove = "DELETE FROM entities WHERE pk = $1 AND rk = $2";
const both = "WITH gone AS (DELETE FROM entities WHERE pk = $1 AND rk = $2 RETURNING *) " +
  "INSERT INTO archive SELECT * FROM gone ON CONFLICT (pk, rk) DO UPDATE SET body = excluded.body";

const archive = {
  // Copy, then delete: the two steps of a Tidemark archive job.
  transaction: async (client, values) => {
    await client.query("BEGIN");
    await client.query({ name: "copy", text: copy, values });
    await client.query({ name: "remove", text: remove, values });
    await client.query("COMMIT");
  },
  // The least work with which PostgreSQL can do it.
  statement: (client, values) => client.query({ name: "both", text: both, values }),
};

async function runJobs() {
  let begin;
  let succeeded = 0;
  let failed = 0;
  let finish;
  const finished = new Promise((resolve) => { finish = resolve; });
  const events = new EventEmitter();
  events.on("job:start", () => { begin ??= performance.now(); });
  events.on("job:success", () => { if (++succeeded + failed === Number(jobs)) finish(); });
  events.on("job:error", () => { if (succeeded + ++failed === Number(jobs)) finish(); });
  const runner = await run({
    preset,
    logger,
    noHandleSignals: true,
    taskList: {
      archive: ({ pk, rk }, { withPgClient }) =>
        (form === "nothing" ? undefined : withPgClient((client) => archive[form](client, [pk, rk]))),
    },
    events,
  });
  await finished;
  await runner.stop(); // flushes the completions
  console.log("RESULT " + JSON.stringify({ seconds: (performance.now() - begin) / 1000, succeeded, failed }));
}

if (command === "migrate") {
  await runMigrations({ preset, logger });
  console.log("RESULT {}");
} else {
  await runJobs();
}
process.exit(0);
