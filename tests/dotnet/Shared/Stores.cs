namespace Tidemark.Tests.Shared;

/// The stores that the runner started, and the account of the tests.
public static class Stores
{
    public const string Account = "devstoreaccount1";
    public const string Key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

    public static Uri Tables => Place("TIDEMARK_TABLE_URL");
    public static Uri Queues => Place("TIDEMARK_QUEUE_URL");
    public static Uri Blobs => Place("TIDEMARK_BLOB_URL");

    /// Where a POST with a store's name kills this store, and starts it again.
    public static Uri Killer => Place("TIDEMARK_KILLER");

    /// The blob store that speaks HTTPS and takes any bearer token.
    public static Uri BlobsOfBearers => Place("TIDEMARK_BEARER_BLOB_URL");
    public static Uri QueuesOfBearers => Place("TIDEMARK_BEARER_QUEUE_URL");

    public static string Connection { get; } = string.Join(";", (string[])[
        "DefaultEndpointsProtocol=http", $"AccountName={Account}", $"AccountKey={Key}",
        .. EndpointOf("TableEndpoint", "TIDEMARK_TABLE_URL"),
        .. EndpointOf("QueueEndpoint", "TIDEMARK_QUEUE_URL"),
        .. EndpointOf("BlobEndpoint", "TIDEMARK_BLOB_URL")]);

    /// The same place, read by clients that fail over.
    public static Uri SecondaryOf(Uri primary) => new(primary.AbsoluteUri.TrimEnd('/') + "-secondary");

    /// A name that no other case has. It fits tables, queues and containers.
    public static string FreshName(string prefix = "t") => prefix + Guid.NewGuid().ToString("N")[..20];

    public static byte[] Bytes(int size, int seed = 1)
    {
        var bytes = new byte[size];
        new Random(seed).NextBytes(bytes);
        return bytes;
    }

    static Uri Place(string variable) =>
        new(Environment.GetEnvironmentVariable(variable) ?? throw new InvalidOperationException($"{variable} is not set"));

    static IEnumerable<string> EndpointOf(string name, string variable) =>
        Environment.GetEnvironmentVariable(variable) is { } url ? [$"{name}={url}"] : [];
}
