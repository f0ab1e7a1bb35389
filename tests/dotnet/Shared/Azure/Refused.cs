using Azure;
using Azure.Core;
using Azure.Core.Pipeline;

namespace Tidemark.Tests.Shared;

public static class Refused
{
    /// Expects a refusal with this status and code.
    public static async Task<RequestFailedException> With(int status, string? code, Func<Task> action)
    {
        var error = await Assert.ThrowsAnyAsync<RequestFailedException>(action);
        Assert.Equal((status, code), (error.Status, error.ErrorCode));
        return error;
    }

    /// Sends through the wire, and repeats failed calls at once.
    public static T Through<T>(this T options, Wire wire, int retries = 4) where T : ClientOptions
    {
        options.Transport = new HttpClientTransport(wire);
        options.Retry.Mode = RetryMode.Fixed;
        options.Retry.Delay = TimeSpan.FromMilliseconds(1);
        options.Retry.MaxRetries = retries;
        return options;
    }
}
