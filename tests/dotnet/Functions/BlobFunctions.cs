using System.Text;
using Azure.Storage.Blobs;
using Azure.Storage.Blobs.Models;
using Azure.Storage.Blobs.Specialized;
using Microsoft.Azure.WebJobs;

namespace Tidemark.Tests.Functions;

public sealed record Found(string Name, string Text);

public sealed class Finder(Notes notes)
{
    public Task Find([BlobTrigger("%box%/{name}")] string text, string name) => notes.Add(new Found(name, text));
}

/// Has an own opinion of the names in its container.
public sealed class Picky(Notes notes)
{
    public Task Find([BlobTrigger("%box%/in-{number}.{kind}")] string text, string number, string kind) => notes.Add((number, kind, text));
}

/// The kinds of parameters that a blob can be bound to.
public sealed class Readers(Notes notes)
{
    public static readonly string[] All = ["bytes", "client", "data", "reader", "stream"];

    public Task Bytes([BlobTrigger("%box%/{name}")] byte[] bytes) => notes.Add($"bytes {Encoding.UTF8.GetString(bytes)}");

    public Task Data([BlobTrigger("%box%/{name}")] BinaryData data) => notes.Add($"data {data}");

    public async Task Reader([BlobTrigger("%box%/{name}")] TextReader reader) => await notes.Add($"reader {await reader.ReadToEndAsync()}");

    public async Task Stream([BlobTrigger("%box%/{name}")] Stream stream) =>
        await notes.Add($"stream {await new StreamReader(stream).ReadToEndAsync()}");

    public async Task Client([BlobTrigger("%box%/{name}")] BlobClient client) =>
        await notes.Add($"client {(await client.DownloadContentAsync()).Value.Content}");
}

/// Takes blobs of the other types.
public sealed class Others(Notes notes)
{
    public async Task Append([BlobTrigger("%box%/append-{name}")] AppendBlobClient client) =>
        await notes.Add($"append {(await client.DownloadContentAsync()).Value.Content}");

    public async Task Page([BlobTrigger("%box%/page-{name}")] PageBlobClient client) =>
        await notes.Add($"page {(await client.GetPropertiesAsync()).Value.ContentLength}");
}

public sealed record Known(string Path, Uri Uri, long Length, string ContentType, string? Colour);

public sealed class Inspector(Notes notes)
{
    public Task Inspect([BlobTrigger("%box%/{name}")] string text, string blobTrigger, Uri uri, BlobProperties properties,
        IDictionary<string, string> metadata) =>
        notes.Add(new Known(blobTrigger, uri, properties.ContentLength, properties.ContentType, metadata["colour"]));
}

/// Reads blobs that a message names.
public sealed class Librarian(Notes notes)
{
    public Task Read([QueueTrigger("%in%")] string message, [Blob("%box%/{queueTrigger}")] string? text,
        [Blob("%box%/{queueTrigger}", FileAccess.Read)] Stream? stream) =>
        notes.Add((message, text, stream is null ? null : new StreamReader(stream).ReadToEnd()));

    [NoAutomaticTrigger]
    public async Task ReadAll([Blob("%box%/shelf")] IEnumerable<string> texts, [Blob("%box%/shelf")] IEnumerable<BlobClient> clients,
        [Blob("%box%")] BlobContainerClient container) =>
        await notes.Add((texts.ToArray(), clients.Select(client => client.Name).ToArray(), container.GetBlobs().Count()));
}

/// Writes blobs in each way that there is.
public sealed class Writer(Notes notes)
{
    [NoAutomaticTrigger]
    public async Task Write(int length, [Blob("%box%/stream", FileAccess.Write)] Stream stream,
        [Blob("%box%/text", FileAccess.Write)] TextWriter text, [Blob("%box%/client")] BlobClient client)
    {
        await stream.WriteAsync(Stores.Bytes(length));
        await text.WriteAsync("text ä");
        await client.UploadAsync(BinaryData.FromString("client ä"));
        await notes.Add("written");
    }

    [NoAutomaticTrigger]
    public void WriteOut([Blob("%box%/out")] out string text, [Blob("%box%/bytes")] out byte[] bytes, [Blob("%box%/nothing")] out string? nothing)
    {
        text = "out ä";
        bytes = [1, 2, 3];
        nothing = null;
    }
}

/// Functions each of which begins with what the one before it has written.
public sealed class Chain
{
    [return: Blob("%box%/{queueTrigger}.1")]
    public string First([QueueTrigger("%in%")] string name) => "first";

    [return: Blob("%box%/{name}.2")]
    public string Second([BlobTrigger("%box%/{name}.1")] string text) => $"{text} second";

    [return: Queue("%in%-out")]
    public string Third([BlobTrigger("%box%/{name}.2")] string text, string name) => $"{name}: {text} third";
}
