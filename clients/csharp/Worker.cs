using System.Collections.Concurrent;
using System.Runtime.InteropServices;
using System.Text.Json.Nodes;

namespace Tidemark;

/// <summary>What a handler did: how it ended, and what it saved. Cancelled: it stopped because its job was cancelled.</summary>
public sealed record Outcome(JsonNode? Result, JsonNode? Error, JsonArray? Steps, bool Cancelled, JsonObject? Progress, IReadOnlyList<JsonNode?> Checkpoints);

/// <summary>Claims jobs and runs their handlers. Signs of life have a thread of their own, so a handler that computes for
/// long keeps its job.</summary>
public sealed class Worker(TidemarkClient client, string? name = null, int concurrency = 4, TimeSpan? drain = null)
{
    private const int ClaimWait = 5;  // seconds: as long as a worker that is told to stop may still get jobs
    private readonly string _name = name ?? $"{Environment.MachineName}-{Environment.ProcessId}";
    private readonly ConcurrentDictionary<string, Func<Job, Task<object?>>> _handlers = new();
    private readonly ConcurrentDictionary<string, Job> _held = new();
    private readonly CancellationTokenSource _ended = new();
    private readonly AutoResetEvent _beatNow = new(false);
    /// <summary>Told of requests that failed and of ends that were refused.</summary>
    public Action<string> Log { get; init; } = text => Console.Error.WriteLine("tidemark: " + text);
    /// <summary>Names the handler of a kind. It returns the result, which is any JSON, or an End.</summary>
    public Worker Handle(string kind, Func<Job, Task<object?>> handler, int version = 1)
    {
        _handlers[$"{kind}@{version}"] = handler;
        return this;
    }

    /// <summary>Works until `stop`, or SIGTERM or SIGINT; returns when all jobs have ended or have been given back.</summary>
    public async Task RunAsync(CancellationToken stop = default)
    {
        using var stopping = CancellationTokenSource.CreateLinkedTokenSource(stop);
        void OnSignal(PosixSignalContext context) { context.Cancel = true; stopping.Cancel(); }
        using var terminate = PosixSignalRegistration.Create(PosixSignal.SIGTERM, OnSignal);
        using var interrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, OnSignal);
        new Thread(Beat) { IsBackground = true }.Start();
        var listening = ListenAsync();
        var handlers = Task.WhenAll(Enumerable.Range(0, concurrency).Select(_ => Task.Run(() => WorkAsync(stopping.Token))));
        await Task.WhenAny(handlers, Task.Delay(Timeout.Infinite, stopping.Token)).ConfigureAwait(false);
        var longest = TimeSpan.FromSeconds(Math.Max((drain ?? TimeSpan.FromSeconds(30)).TotalSeconds, ClaimWait + 1));
        await Task.WhenAny(handlers, Task.Delay(longest)).ConfigureAwait(false);
        foreach (var job in _held.Values) job.Stop("released");
        await Task.WhenAny(handlers, Task.Delay(2000)).ConfigureAwait(false);
        foreach (var job in _held.Values) await EndAsync(job, new() { ["release"] = true }).ConfigureAwait(false);  // their handlers look at nothing
        _ended.Cancel();
        await listening.ConfigureAwait(false);
    }

    /// <summary>Runs a handler without a server, for a job with this input and checkpoint. The job is cancelled after
    /// `cancelAtCheck` checks.</summary>
    public static async Task<Outcome> TryAsync(Func<Job, Task<object?>> handler, object? input = null, object? checkpoint = null, int cancelAtCheck = -1)
    {
        var claimed = new JsonObject { ["id"] = "0000000000000000-00000000", ["epoch"] = 1L, ["kind"] = "test", ["leaseSeconds"] = 1_000_000L };
        (claimed["input"], claimed["checkpoint"]) = (TidemarkClient.Json(input), TidemarkClient.Json(checkpoint));
        var saved = new List<JsonNode?>();
        Job? job = null;
        job = new Job(claimed, (_, text) => { saved.Add(text); return Task.FromResult(true); }) { Checked = () => { if (cancelAtCheck-- == 0) job!.Stop("cancelled"); } };
        var end = await job.OutcomeAsync(handler).ConfigureAwait(false);
        return new(end?["result"], end?["error"], end?["steps"] as JsonArray, end is null, job.News, saved);
    }

    /// <summary>Claims and does jobs. A claim without an answer is repeated under its id, which gives the same job.</summary>
    private async Task WorkAsync(CancellationToken stopping)
    {
        for (var id = ""; !stopping.IsCancellationRequested;)
        {
            if (id == "") id = Guid.NewGuid().ToString("N");
            var answer = await AskAsync("claim", new { worker = _name, kinds = _handlers.Keys, wait = ClaimWait, requestId = id }).ConfigureAwait(false);
            if (answer is not null) id = "";
            foreach (var claimed in answer?["jobs"] as JsonArray ?? [])
            {
                var job = new Job((JsonObject)claimed!, (its, checkpoint) => BeatAsync([its], checkpoint));
                _held[job.Id] = job;
                var handler = _handlers[$"{job.Kind}@{job.Version}"];
                var end = stopping.IsCancellationRequested ? new() { ["release"] = true } : await job.OutcomeAsync(handler).ConfigureAwait(false);
                await EndAsync(job, end).ConfigureAwait(false);
                _held.TryRemove(job.Id, out _);
            }
            if ((string?)answer?["worker"] != "work") await Task.WhenAny(Task.Delay(1000, stopping)).ConfigureAwait(false);
        }
    }

    /// <summary>Ends the job; repeats that until it is answered, as long as the job is held.</summary>
    private async Task EndAsync(Job job, JsonObject? end)
    {
        while (end is not null && job.IsHeld)
        {
            (end["id"], end["epoch"]) = (job.Id, job.Epoch);
            var answer = await AskAsync("end", new { worker = _name, jobs = new[] { end } }).ConfigureAwait(false);
            var status = (int?)answer?["jobs"]![0]!["status"] ?? 503;
            if (status is 200 or 404 or 412) return;
            if (status >= 500) await Task.Delay(500).ConfigureAwait(false);
            if (status >= 500) continue;
            var message = $"The end was refused: {answer!["jobs"]![0]!["problem"]!["detail"]}";  // it is never accepted as it is
            Log($"job {job.Id}: {message}");
            end = Job.Error("permanent", message);
        }
    }

    private void Beat()
    {
        while (!_ended.IsCancellationRequested)
        {
            var all = _beatNow.WaitOne(100);
            var now = Environment.TickCount64;
            var due = _held.Values.Where(job => job.Reason is "" or "released" && (all || now >= job.BeatAt)).Take(100).ToList();
            if (due.Count > 0) BeatAsync(due).GetAwaiter().GetResult();
        }
    }

    /// <summary>Returns whether the beat was answered. If not, the jobs are held until their leases end.</summary>
    private async Task<bool> BeatAsync(IReadOnlyList<Job> due, JsonNode? checkpoint = null)
    {
        var sentAt = Environment.TickCount64;
        var news = due.Select(job => job.News).ToList();
        var jobs = due.Zip(news, (job, told) =>
        {
            var beat = TidemarkClient.Json(told) as JsonObject ?? [];
            (beat["id"], beat["epoch"]) = (job.Id, job.Epoch);
            if (checkpoint is not null) beat["checkpoint"] = checkpoint.DeepClone();
            return beat;
        });
        var answers = (await AskAsync("beat", new { worker = _name, jobs }).ConfigureAwait(false))?["jobs"];
        for (var i = 0; answers is not null && i < due.Count; ++i)
        {
            var said = (string)answers[i]!["answer"]!;
            if (said == "held") due[i].Held(sentAt);
            else due[i].Stop(said == "cancel" ? "cancelled" : "lost");
            if (due[i].News == news[i]) due[i].News = null;
        }
        return answers is not null;
    }

    /// <summary>Hears of cancelled jobs at once. The beats tell of them, too, so a stream that breaks costs only time.</summary>
    private async Task ListenAsync()
    {
        while (!_ended.IsCancellationRequested)
        {
            try
            {
                await client.ListenAsync($"v1/work/events?worker={Uri.EscapeDataString(_name)}", () => _beatNow.Set(), _ended.Token).ConfigureAwait(false);
            }
            catch (Exception error) when (IsNoAnswer(error))
            {
                await Task.WhenAny(Task.Delay(2000, _ended.Token)).ConfigureAwait(false);
            }
        }
    }

    private static bool IsNoAnswer(Exception error) => error is HttpRequestException or IOException or OperationCanceledException;

    /// <summary>Returns null if there was no answer, or none that can be used.</summary>
    private async Task<JsonNode?> AskAsync(string what, object body)
    {
        try
        {
            return await client.CallAsync(HttpMethod.Post, "v1/work/" + what, body).ConfigureAwait(false);
        }
        catch (Exception error) when (error is TidemarkException || IsNoAnswer(error))
        {
            if (what == "end" && error is TidemarkException { Status: < 500 and not 429 and var status })
                return TidemarkClient.Json(new { jobs = new[] { new { status, problem = new { detail = error.Message } } } });
            Log($"{what}: {error.Message}");
            return null;
        }
    }
}
