// The client for C#, as clients_test.py asks for it.
using System.Diagnostics;
using System.Text.Json;
using System.Text.Json.Nodes;
using Tidemark;

using var client = new TidemarkClient();
var wish = (JsonObject)JsonNode.Parse(args[1])!;
Tell(await Run(args[0]));

void Tell(object? what) => Console.WriteLine(JsonSerializer.Serialize(what));
string Text(string name) => (string)wish[name]!;
TimeSpan Seconds(string name) => TimeSpan.FromSeconds((double?)wish[name] ?? 0);

async Task<object?> Run(string command)
{
    switch (command)
    {
        case "submit": return await client.SubmitAsync(Text("kind"), wish["members"], Seconds("wait"));
        case "wait": return await client.WaitAsync(Text("job_id"), Seconds("timeout"));
        case "cancel": return await client.CancelAsync(Text("job_id"));
        case "redrive": return await client.RedriveAsync(Text("job_id"), wish["spec"]);
        case "listed": return await Listed();
        case "putKind": return await client.PutKindAsync(Text("name"), wish["members"]);
        case "pay": return await Payment(Text("row"), wish["members"]).SubmitAsync(TimeSpan.FromSeconds(40));
        case "plan": return await Payment(Text("row")).PlanAsync();
        case "rule": return await client.RuleAsync(new HttpMethod(Text("method")), "Orders", "tell", wish["members"], (string?)wish["action"]);
        case "refused": return await Refused();
        case "harness": return await Harness();
        default: return await Work();
    }
}

Transaction Payment(string row, object? members = null)
{
    var t = new Transaction(client, members);
    var order = t.Guard("Orders", "shop", row, where: "State eq 'open'");
    order.Merge(set: new Dictionary<string, object?>
    {
        ["State"] = "paid", ["At"] = new DateTimeOffset(2026, 1, 2, 0, 0, 0, TimeSpan.Zero), ["Raw"] = "x"u8.ToArray(), ["Big"] = 1L << 40,
        ["By"] = Guid.Parse("00000000-0000-0000-0000-000000000001"), ["Share"] = 0.5, ["Yes"] = true,
    });
    t.Entity("Accounts", "c7", row).Merge(add: new Dictionary<string, object?> { ["Cents"] = order["Cents"], ["Small"] = 1L }, orInsert: true);
    t.Entity("Accounts", "c8", row).Merge(add: new Dictionary<string, object?> { ["Cents"] = order.Minus("Cents") }, orInsert: true);
    return t.Message("mail", new { row = order["RowKey"], cents = order["Cents"], plain = Transaction.Literal("{o.Cents}") });
}

async Task<object?> Handle(Job job)
{
    var input = job.Input!;
    switch ((string)input["do"]!)
    {
        case "echo":
            return input["value"];
        case "sleep":
            Tell(new { began = job.Id });
            await Task.Delay(TimeSpan.FromSeconds((double)input["seconds"]!));
            return new { slept = job.Attempt };
        case "compute":
            Tell(new { began = job.Id });
            for (var clock = Stopwatch.StartNew(); clock.Elapsed.TotalSeconds < (double)input["seconds"]!;) { }
            return new { computed = job.Attempt };
        case "wait":
            Tell(new { began = job.Id });
            try
            {
                for (; ; await Task.Delay(20)) job.Check();
            }
            catch (StoppedException stopped)
            {
                Tell(new { stopped = stopped.Reason, id = job.Id });
                throw;
            }
        case "save":
            if (job.Checkpoint is not null) return new { from = job.Checkpoint, attempt = job.Attempt };
            job.Progress(1, 2, "half");
            await job.SaveAsync(new { row = 17 });
            Tell(new { saved = job.Id });
            await Task.Delay(600_000);
            return null;
        case "pay":
            return new End(new { paid = (string)input["row"]! }, Payment((string)input["row"]!));
        case "spoil":
            return new End(null, new Transaction().Entity("Orders", "shop", "x").Merge(add: new Dictionary<string, object?> { ["Cents"] = "no number" }));
        case "later":
            throw new RetryException(TimeSpan.FromSeconds(0.2), "busy");
        case "permanent":
            throw new PermanentException("no picture");
        default:
            throw new InvalidOperationException("broken");
    }
}

async Task<object?> Listed()
{
    var ids = new List<string>();
    await foreach (var job in client.JobsAsync("kind=" + Text("kind"))) ids.Add((string)job["id"]!);
    return ids;
}

async Task<object?> Refused()
{
    try
    {
        return await client.SubmitAsync("transaction", wish["members"]);
    }
    catch (TidemarkException error)
    {
        return new { status = error.Status, code = error.Code, problems = error.Problems };
    }
}

async Task<object?> Harness()
{
    var outcome = await Worker.TryAsync(async job =>
    {
        job.Check();
        job.Progress(1, 2);
        await job.SaveAsync(new { done = 1 });
        job.Check();
        return await Handle(job);
    }, wish["input"], cancelAtCheck: (int?)wish["checks"] ?? -1);
    return new
    {
        result = outcome.Result, error = outcome.Error, steps = outcome.Steps?.Count ?? 0, cancelled = outcome.Cancelled,
        progress = new[] { outcome.Progress!["done"] }, checkpoints = outcome.Checkpoints,
    };
}

async Task<object?> Work()
{
    var worker = new Worker(client, (string?)wish["name"], (int?)wish["concurrency"] ?? 4, wish["drain"] is null ? null : Seconds("drain")) { Log = _ => { } };
    worker.Handle(Text("kind"), Handle);
    Tell(new { ready = true });
    await worker.RunAsync();
    Tell(new { over = true });
    return null;
}
