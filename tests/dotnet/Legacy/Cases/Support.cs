namespace Tidemark.Tests.Legacy;

public static class Legacy
{
    /// The connection string names the secondaries, which these SDKs do not guess where an endpoint is given.
    public static CloudStorageAccount Account => CloudStorageAccount.Parse(string.Join(";", Stores.Connection.Split(';').SelectMany(part =>
        part.Split("Endpoint=http", 2) is [var store, _] ? [part, $"{store}SecondaryEndpoint={part[(part.IndexOf('=') + 1)..]}-secondary"] : new[] { part })));

    /// Expects a refusal with this status and code.
    public static async Task<StorageException> Refused(int status, string? code, Func<Task> action)
    {
        var error = await Assert.ThrowsAnyAsync<StorageException>(action);
        Assert.Equal((status, code), (error.RequestInformation.HttpStatusCode, error.RequestInformation.ExtendedErrorInformation?.ErrorCode));
        return error;
    }
}
