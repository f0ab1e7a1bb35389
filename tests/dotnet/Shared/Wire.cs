using System.Collections.Concurrent;
using System.Net;

namespace Tidemark.Tests.Shared;

/// Stands between a client and a store: notes the requests, and can answer in place of the store.
public sealed class Wire : DelegatingHandler
{
    public sealed record Call(HttpMethod Method, Uri Uri, string? Version, IReadOnlyDictionary<string, string> Headers);

    readonly ConcurrentQueue<Call> calls = new();
    readonly Func<Call, int, HttpResponseMessage?> answer;

    /// `answer` gets a call and its number from 1 on, and returns null where the store shall answer.
    public Wire(Func<Call, int, HttpResponseMessage?>? answer = null, bool inner = true)
    {
        this.answer = answer ?? ((_, _) => null);
        if (inner) InnerHandler = new HttpClientHandler();
    }

    public IReadOnlyList<Call> Calls => [.. calls];

    /// Answers the first calls with a failure of a server that is busy.
    public static Wire Busy(int calls, HttpStatusCode status = HttpStatusCode.ServiceUnavailable, bool inner = true) =>
        new((_, number) => number <= calls ? Refusal(status) : null, inner);

    /// Answers every call with a failure, except for those to the secondary, whose URL has this part.
    public static Wire WithoutPrimary(string secondary = "-secondary", bool inner = true) =>
        new((call, _) => call.Uri.AbsoluteUri.Contains(secondary) ? null : Refusal(HttpStatusCode.ServiceUnavailable), inner);

    /// Loses the answer of the first calls after the store has executed them.
    public static Wire Forgetful(int calls) => new() { Lost = calls };

    int Lost { get; init; }

    protected override async Task<HttpResponseMessage> SendAsync(HttpRequestMessage request, CancellationToken cancellation)
    {
        var headers = request.Headers.Concat(request.Content?.Headers ?? Enumerable.Empty<KeyValuePair<string, IEnumerable<string>>>());
        var call = new Call(request.Method, request.RequestUri!,
            request.Headers.TryGetValues("x-ms-version", out var version) ? version.First() : null,
            headers.ToDictionary(header => header.Key, header => string.Join(",", header.Value), StringComparer.OrdinalIgnoreCase));
        int number;
        lock (calls)
        {
            calls.Enqueue(call);
            number = calls.Count;
        }
        if (answer(call, number) is { } given)
        {
            // The SDKs compare this header with their request.
            if (call.Headers.TryGetValue("x-ms-client-request-id", out var id)) given.Headers.Add("x-ms-client-request-id", id);
            given.RequestMessage = request;
            return given;
        }
        var answered = await base.SendAsync(request, cancellation);
        if (number > Lost) return answered;
        answered.Dispose();
        throw new HttpRequestException("the answer was lost");
    }

    static HttpResponseMessage Refusal(HttpStatusCode status) => new(status) { Content = new ByteArrayContent([]) };
}
