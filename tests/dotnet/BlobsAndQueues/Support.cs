using System.Text.Json;
using Azure.Core;
using Azure.Storage;
using Azure.Storage.Blobs;
using Azure.Storage.Blobs.Models;
using Azure.Storage.Blobs.Specialized;
using Azure.Storage.Queues;

namespace Tidemark.Tests.BlobsAndQueues;

/// A container of its own for each class of cases. Cases use blobs of their own.
public sealed class FreshContainer : IAsyncLifetime
{
    public BlobContainerClient Client { get; } = Clients.Container(Stores.FreshName("c"));

    public async ValueTask InitializeAsync() => await Client.CreateAsync();

    public async ValueTask DisposeAsync() => await Client.DeleteAsync();
}

public static class Clients
{
    public static readonly StorageSharedKeyCredential Key = new(Stores.Account, Stores.Key);

    public static BlobServiceClient Blobs(BlobClientOptions? options = null) => new(Stores.Blobs, Key, options);

    public static BlobContainerClient Container(string name, BlobClientOptions? options = null) => Blobs(options).GetBlobContainerClient(name);

    public static QueueServiceClient Queues(QueueClientOptions? options = null) => new(Stores.Queues, Key, options);

    public static QueueClient Queue(string name, QueueClientOptions? options = null) => Queues(options).GetQueueClient(name);

    public static async Task<List<T>> ToList<T>(this IAsyncEnumerable<T> items)
    {
        var found = new List<T>();
        await foreach (var item in items) found.Add(item);
        return found;
    }

    public static async Task<byte[]> Content(this BlobBaseClient blob) => (await blob.DownloadContentAsync()).Value.Content.ToArray();

    public static async Task<string> Text(this BlobBaseClient blob) => (await blob.DownloadContentAsync()).Value.Content.ToString();

    public static async Task Write(this BlobClient blob, string text) => await blob.UploadAsync(BinaryData.FromString(text), overwrite: true);

    public static async Task<string> Names(this BlobContainerClient container, string? prefix = null, BlobTraits traits = BlobTraits.None, BlobStates states = BlobStates.None) =>
        string.Join(" ", (await container.GetBlobsAsync(traits, states, prefix, default).ToList()).Select(blob => blob.Name));

    public static MemoryStream Stream(byte[] bytes) => new(bytes, writable: false);
}

/// Gives tokens with these roles. Nobody signed them: the stores of bearers do not check that.
public sealed class Bearer(params string[] roles) : TokenCredential
{
    public const string Object = "11111111-2222-3333-4444-555555555555";
    public const string Tenant = "66666666-7777-8888-9999-000000000000";

    public override AccessToken GetToken(TokenRequestContext context, CancellationToken cancellation)
    {
        var now = DateTimeOffset.UtcNow;
        var claims = new Dictionary<string, object>
        {
            ["iss"] = Environment.GetEnvironmentVariable("TIDEMARK_ISSUER")!, ["aud"] = "https://storage.azure.com", ["roles"] = roles,
            ["nbf"] = now.ToUnixTimeSeconds(), ["iat"] = now.ToUnixTimeSeconds(), ["exp"] = now.AddHours(1).ToUnixTimeSeconds(),
            ["oid"] = Object, ["tid"] = Tenant,
        };
        return new AccessToken($"{Part(new { alg = "RS256", kid = "one", typ = "JWT" })}.{Part(claims)}.{Encoded(new byte[256])}", now.AddHours(1));
    }

    public override ValueTask<AccessToken> GetTokenAsync(TokenRequestContext context, CancellationToken cancellation) =>
        new(GetToken(context, cancellation));

    static string Part(object value) => Encoded(JsonSerializer.SerializeToUtf8Bytes(value));

    static string Encoded(byte[] bytes) => Convert.ToBase64String(bytes).TrimEnd('=').Replace('+', '-').Replace('/', '_');
}
