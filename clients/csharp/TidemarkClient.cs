using System.Net.Http.Headers;
using System.Text;
using System.Text.Json;
using System.Text.Json.Nodes;
using System.Text.Json.Serialization;

namespace Tidemark;

/// <summary>The api refused a request. Problems lists everything that is wrong with a body.</summary>
public sealed class TidemarkException(int status, string code, string detail, IReadOnlyList<string> problems)
    : Exception($"{status} {code}: {detail}")
{
    public int Status => status;
    public string Code => code;
    public IReadOnlyList<string> Problems => problems;
    internal static TidemarkException From(HttpResponseMessage answer, string content)
    {
        var isProblem = answer.Content.Headers.ContentType?.MediaType is "application/problem+json";
        var problem = isProblem ? JsonNode.Parse(content)! : new JsonObject { ["detail"] = content[..Math.Min(content.Length, 300)] };
        var problems = (problem["problems"] as JsonArray)?.Select(each => (string)each!).ToArray() ?? [];
        return new((int)answer.StatusCode, (string?)problem["code"] ?? "", (string?)problem["detail"] ?? "", problems);
    }
}

/// <summary>Without arguments, it uses TIDEMARK_API, and TIDEMARK_TOKEN or the token of the stack in TIDEMARK_DATA. Any number of threads may use it. A `members` is an
/// object with the names of the api, such as <c>new { idempotencyKey = "order-17" }</c>, a dictionary or a JsonObject.</summary>
public sealed class TidemarkClient : IDisposable
{
    private static readonly string[] Ended = ["succeeded", "poisoned", "cancelled"];
    private readonly HttpClient _http;

    public TidemarkClient(string? url = null, string? token = null, HttpMessageHandler? handler = null)
    {
        url ??= Environment.GetEnvironmentVariable("TIDEMARK_API") ?? "http://127.0.0.1:10003";
        token ??= TokenOfEnvironment();
        _http = new HttpClient(handler ?? new SocketsHttpHandler()) { BaseAddress = new Uri(url.TrimEnd('/') + "/"), Timeout = TimeSpan.FromSeconds(60) };
        if (token.Length > 0) _http.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", token);
    }

    public void Dispose() => _http.Dispose();
    private static string TokenOfEnvironment()
    {
        var token = Environment.GetEnvironmentVariable("TIDEMARK_TOKEN") ?? "";
        var file = Path.Combine(Environment.GetEnvironmentVariable("TIDEMARK_DATA") ?? "", "run", "token");
        return token.Length == 0 && File.Exists(file) ? File.ReadAllText(file).Trim() : token;
    }
    /// <summary>Makes one request and returns the JSON of its answer. Throws TidemarkException, or HttpRequestException if
    /// there was no answer: then a request that changes something may have been carried out.</summary>
    public async Task<JsonNode?> CallAsync(HttpMethod method, string path, object? body = null, CancellationToken stop = default)
    {
        using var request = new HttpRequestMessage(method, path.TrimStart('/'));
        if (body is not null) request.Content = new StringContent(JsonSerializer.Serialize(body), Encoding.UTF8, "application/json");
        using var answer = await _http.SendAsync(request, stop).ConfigureAwait(false);
        var text = await answer.Content.ReadAsStringAsync(stop).ConfigureAwait(false);
        if (!answer.IsSuccessStatusCode) throw TidemarkException.From(answer, text);
        return text.Length > 0 ? JsonNode.Parse(text) : null;
    }

    /// <summary>Returns the job's record. With `wait`, it is that of the end, if the job has ended within this time.</summary>
    public async Task<JsonObject> SubmitAsync(string kind, object? members = null, TimeSpan wait = default, CancellationToken stop = default)
    {
        var atOnce = Math.Min((int)wait.TotalSeconds, 30);  // the api waits no longer
        var job = await ObjectAsync(HttpMethod.Post, "v1/jobs" + (atOnce > 0 ? $"?wait={atOnce}" : ""), Transaction.With(members, ("kind", kind)), stop).ConfigureAwait(false);
        var left = wait - TimeSpan.FromSeconds(atOnce);
        return left > TimeSpan.Zero && !HasEnded(job) ? await WaitAsync((string)job["id"]!, left, stop).ConfigureAwait(false) : job;
    }

    /// <summary>Returns what the job would do, without doing it.</summary>
    public Task<JsonObject> PlanAsync(string kind, object? members = null, CancellationToken stop = default) =>
        ObjectAsync(HttpMethod.Post, "v1/jobs?dryRun=true", Transaction.With(members, ("kind", kind)), stop);
    public Task<JsonObject> JobAsync(string id, CancellationToken stop = default) => ObjectAsync(HttpMethod.Get, $"v1/jobs/{id}", null, stop);
    public Task<JsonObject> CancelAsync(string id, CancellationToken stop = default) => ObjectAsync(HttpMethod.Post, $"v1/jobs/{id}/cancel", null, stop);
    /// <summary>Sends a poison job back, with another spec if one is given.</summary>
    public Task<JsonNode?> RedriveAsync(string id, object? spec = null, CancellationToken stop = default) =>
        CallAsync(HttpMethod.Post, $"v1/poison/{id}/redrive", spec, stop);

    /// <summary>Returns the record of the job once it has ended, or as it is after this time.</summary>
    public async Task<JsonObject> WaitAsync(string id, TimeSpan timeout, CancellationToken stop = default)
    {
        var end = Environment.TickCount64 + (long)timeout.TotalMilliseconds;
        for (var pause = 5L; ; pause = Math.Min(2 * pause, 500))
        {
            var job = await JobAsync(id, stop).ConfigureAwait(false);
            var left = end - Environment.TickCount64;
            if (left <= 0 || HasEnded(job)) return job;
            await Task.Delay((int)Math.Min(pause, left), stop).ConfigureAwait(false);
        }
    }

    /// <summary>Yields jobs, the newest first: all of them, or those of a kind, a state or a queue: "kind=resize".</summary>
    public async IAsyncEnumerable<JsonObject> JobsAsync(string which = "")
    {
        for (var next = ""; ;)
        {
            var page = await ObjectAsync(HttpMethod.Get, $"v1/jobs?limit=1000&{which}{next}", null, default).ConfigureAwait(false);
            foreach (var job in (JsonArray)page["jobs"]!) yield return (JsonObject)job!;
            if (page["continuation"] is not { } continuation) yield break;
            next = "&continuation=" + Uri.EscapeDataString((string)continuation!);
        }
    }

    /// <summary>Declares a kind of work of your own; see the members of PUT /v1/kinds/NAME.</summary>
    public Task<JsonObject> PutKindAsync(string name, object? members = null, CancellationToken stop = default) =>
        ObjectAsync(HttpMethod.Put, $"v1/kinds/{name}", members ?? new { }, stop);
    /// <summary>Reads (Get), declares (Put, with its members) or drops (Delete) what happens on changes of a table, or makes
    /// it act (Post): action "resume" or "test".</summary>
    public Task<JsonNode?> RuleAsync(HttpMethod method, string table, string name, object? members = null, string? action = null) =>
        CallAsync(method, $"v1/tables/{table}/onChange/{name}{(action is null ? "" : "/" + action)}", members);

    /// <summary>Calls `told` at each event of a stream, until it ends.</summary>
    internal async Task ListenAsync(string path, Action told, CancellationToken stop)
    {
        using var lines = new StreamReader(await _http.GetStreamAsync(path, stop).ConfigureAwait(false));
        while (await lines.ReadLineAsync(stop).ConfigureAwait(false) is { } line)
        {
            if (line.StartsWith("event: ", StringComparison.Ordinal)) told();
        }
    }

    private async Task<JsonObject> ObjectAsync(HttpMethod method, string path, object? body, CancellationToken stop) =>
        (JsonObject)(await CallAsync(method, path, body, stop).ConfigureAwait(false))!;

    private static readonly JsonSerializerOptions Given = new() { DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull };
    internal static JsonNode? Json(object? value) => value is JsonNode node ? node.DeepClone() : JsonSerializer.SerializeToNode(value, Given);
    private static bool HasEnded(JsonObject job) => Ended.Contains((string)job["state"]!);
}
