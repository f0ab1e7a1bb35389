namespace Tidemark.Bench;

public static class Account
{
    public static string Connection { get; } = Environment.GetEnvironmentVariable("AZURE_STORAGE_CONNECTION_STRING")
        ?? throw new InvalidOperationException("AZURE_STORAGE_CONNECTION_STRING is not set");

    /// A name that no other run has. It fits tables, queues and task hubs.
    public static string FreshName() => "bench" + Guid.NewGuid().ToString("N")[..12];

    /// Text that no storage can compress away.
    public static string RandomText(int length, int seed) =>
        string.Create(length, new Random(seed), (text, random) => random.GetItems("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", text));
}
