// The client for JavaScript, as clients_test.py asks for it.
import { Client, End, Permanent, Retry, Stopped, TidemarkError, Transaction, Worker, double, guid, int64, literal, runHandler } from "../../../clients/typescript/index.mjs";

const client = new Client();
const tell = (what) => console.log(JSON.stringify(what ?? null));
const sleep = (seconds) => new Promise((resolve) => { setTimeout(resolve, seconds * 1000); });

const payment = (row, members) => {
  const t = new Transaction(client, members);
  const order = t.guard("Orders", "shop", row, { where: "State eq 'open'" });
  order.merge({ set: { State: "paid", At: new Date("2026-01-02T00:00:00Z"), By: guid("00000000-0000-0000-0000-000000000001"),
    Raw: new Uint8Array([120]), Big: 2n ** 40n, Share: double(0.5), Yes: true } });
  t.entity("Accounts", "c7", row).merge({ add: { Cents: order.get("Cents"), Small: int64(1) }, orInsert: true });
  t.entity("Accounts", "c8", row).merge({ add: { Cents: order.minus("Cents") }, orInsert: true });
  return t.message("mail", { row: order.get("RowKey"), cents: order.get("Cents"), plain: literal("{o.Cents}") });
};

const handle = async (job) => {
  const wish = job.input;
  switch (wish.do) {
    case "echo":
      return wish.value;
    case "sleep":
      tell({ began: job.id });
      await sleep(wish.seconds);
      return { slept: job.attempt };
    case "wait":
      tell({ began: job.id });
      try {
        for (;;) {
          job.check();
          await sleep(0.02);
        }
      } catch (error) {
        if (error instanceof Stopped) tell({ stopped: error.reason, id: job.id });
        throw error;
      }
    case "save":
      if (job.checkpoint !== undefined) return { from: job.checkpoint, attempt: job.attempt };
      job.progress(1, 2, "half");
      await job.save({ row: 17 });
      tell({ saved: job.id });
      return sleep(600);
    case "pay":
      return new End({ paid: wish.row }, payment(wish.row));
    case "spoil":
      return new End({}, new Transaction().entity("Orders", "shop", "x").merge({ add: { Cents: "no number" } }));
    case "later":
      throw new Retry(0.2, "busy");
    case "permanent":
      throw new Permanent("no picture");
    default:
      throw new TypeError("broken");
  }
};

const commands = {
  submit: ({ kind, members, wait }) => client.submit(kind, members, { wait }),
  wait: ({ job_id, timeout }) => client.wait(job_id, timeout),
  cancel: ({ job_id }) => client.cancel(job_id),
  redrive: ({ job_id, spec }) => client.redrive(job_id, spec),
  listed: async ({ kind }) => {
    const ids = [];
    for await (const job of client.jobs({ kind })) ids.push(job.id);
    return ids;
  },
  putKind: ({ name, members }) => client.putKind(name, members),
  pay: ({ row, members }) => payment(row, members).submit({ wait: 40 }),
  plan: ({ row }) => payment(row).plan(),
  rule: ({ method, members, action }) => client.rule(method, "Orders", "tell", { action, ...members }),
  refused: ({ members }) => client.submit("transaction", members).catch((error) => {
    if (!(error instanceof TidemarkError)) throw error;
    return { status: error.status, code: error.code, problems: error.problems };
  }),
  harness: async ({ input, checks = -1 }) => {
    const outcome = await runHandler(async (job) => {
      job.check();
      job.progress(1, 2);
      await job.save({ done: 1 });
      job.check();
      return handle(job);
    }, input, checks < 0 ? {} : { cancelAtCheck: checks });
    return { result: outcome.result ?? null, error: outcome.error ?? null, steps: outcome.steps?.length ?? 0,
      cancelled: outcome.stopped ?? false, progress: outcome.progress.map((each) => each.done), checkpoints: outcome.checkpoints };
  },
  work: async ({ kind, ...options }) => {
    const worker = new Worker(client, options).kind(kind, handle);
    tell({ ready: true });
    await worker.run();
    tell({ over: true });
  },
};
console.warn = console.error = () => {};
tell(await commands[process.argv[2]](JSON.parse(process.argv[3])));
