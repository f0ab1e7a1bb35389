using System.Text.Json.Nodes;

namespace Tidemark;

/// <summary>The job can never succeed: it becomes poison at once.</summary>
public sealed class PermanentException(string message) : Exception(message);

/// <summary>Not now: the job is tried again after this time, and the attempt does not count.</summary>
public sealed class RetryException(TimeSpan after, string message = "not now") : Exception(message) { public TimeSpan After => after; }

/// <summary>The handler must stop. Reason is "cancelled"; or "lost": the lease ran out, and another worker may have the job,
/// so write nothing more; or "released": the worker stops, and the job goes back without counting an attempt.</summary>
public sealed class StoppedException(string reason) : OperationCanceledException($"the job was {reason}") { public string Reason => reason; }

/// <summary>A result with guards and steps: all of them happen together, or none. The kind must allow it ("steps").</summary>
public sealed record End(object? Result, Transaction Transaction);

/// <summary>A job that a worker holds. Fence has the headers that belong to each write in its name: with them, the writes of
/// a worker that has lost the job are refused.</summary>
public sealed class Job
{
    private readonly CancellationTokenSource _stop = new();
    private readonly long _lease;  // milliseconds
    private long _heldUntil;
    private string _reason = "";
    internal Job(JsonObject claimed, Func<Job, JsonNode?, Task<bool>> beat)
    {
        (Id, Epoch, Kind) = ((string)claimed["id"]!, (long)claimed["epoch"]!, (string)claimed["kind"]!);
        (Version, Key, Attempt) = ((int?)claimed["version"] ?? 1, (string?)claimed["key"] ?? "", (int?)claimed["attempt"] ?? 1);
        (MaxAttempts, Traceparent) = ((int?)claimed["maxAttempts"] ?? 1, (string?)claimed["traceparent"] ?? "");
        (Input, Checkpoint) = (claimed["input"], claimed["checkpoint"]);
        Fence = (claimed["fence"] as JsonObject)?.ToDictionary(each => each.Key, each => (string)each.Value!) ?? [];
        _lease = 1000 * ((long?)claimed["leaseSeconds"] ?? 30);
        SendBeat = beat;
        Held(Environment.TickCount64);
    }

    public string Id { get; }
    public long Epoch { get; }
    public string Kind { get; }
    public int Version { get; }
    public string Key { get; }
    public int Attempt { get; }
    public int MaxAttempts { get; }
    public JsonNode? Input { get; }
    public JsonNode? Checkpoint { get; private set; }
    public IReadOnlyDictionary<string, string> Fence { get; }
    public string Traceparent { get; }
    /// <summary>Cancelled when the job must stop; for the calls that a handler awaits.</summary>
    public CancellationToken Cancellation => _stop.Token;

    internal Func<Job, JsonNode?, Task<bool>> SendBeat { get; }
    internal Action? Checked { get; init; }
    internal JsonObject? News { get; set; }  // progress that no sign of life has told yet
    internal string Reason => _reason;
    internal long BeatAt { get; private set; }
    internal bool IsHeld => Environment.TickCount64 < Volatile.Read(ref _heldUntil);

    /// <summary>Throws StoppedException if the job must stop; call it before each step.</summary>
    public void Check()
    {
        Checked?.Invoke();
        if (!IsHeld) Stop("lost");
        if (_reason.Length > 0) throw new StoppedException(_reason);
    }

    /// <summary>Reports progress with the next sign of life.</summary>
    public void Progress(long done, long? total = null, string? phase = null) =>
        News = (JsonObject)TidemarkClient.Json(new { done, total, phase })!;

    /// <summary>Stores a checkpoint of at most 16 KiB, for the next attempt, and returns once it is stored.</summary>
    public async Task SaveAsync(object checkpoint)
    {
        Checkpoint = TidemarkClient.Json(checkpoint);
        if (Checkpoint?.ToJsonString().Length > 16 << 10) throw new ArgumentException("A checkpoint has at most 16 KiB: put more into a blob.");
        while (!await SendBeat(this, Checkpoint).ConfigureAwait(false))
        {
            Check();
            await Task.Delay(200).ConfigureAwait(false);
        }
        Check();
    }

    internal void Stop(string reason)
    {
        if (Interlocked.CompareExchange(ref _reason, reason, "") == "") _stop.Cancel();
    }

    internal void Held(long since)
    {
        Volatile.Write(ref _heldUntil, since + _lease);
        BeatAt = since + Math.Min(_lease / 4, 5000);
    }

    /// <summary>Runs the handler and returns how the job ends; null: somebody else decides about it.</summary>
    internal async Task<JsonObject?> OutcomeAsync(Func<Job, Task<object?>> handler)
    {
        try
        {
            var result = await handler(this).ConfigureAwait(false);
            var end = (result as End)?.Transaction.Body() ?? [];
            end["result"] = TidemarkClient.Json(result is End { Result: var its } ? its : result) ?? new JsonObject();
            return end;
        }
        catch (OperationCanceledException) when (_reason.Length > 0)
        {
            return _reason == "released" ? new() { ["release"] = true } : null;
        }
        catch (Exception error)
        {
            if (error is RetryException later) return Error("throttled", error.Message, (int)Math.Ceiling(later.After.TotalSeconds));
            return error is PermanentException ? Error("permanent", error.Message) : Error("transient", $"{error.GetType().Name}: {error.Message}");
        }
    }

    internal static JsonObject Error(string kind, string text, int? retryAfter = null) =>
        (JsonObject)TidemarkClient.Json(new { error = new { @class = kind, message = text[..Math.Min(text.Length, 2000)], retryAfter } })!;
}
