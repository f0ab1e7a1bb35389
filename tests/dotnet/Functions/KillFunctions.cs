using Microsoft.Azure.WebJobs;

namespace Tidemark.Tests.Functions;

public sealed record Ground(string Text);

public sealed record AloneWith(string Text);

/// Makes a blob and a message of each message, and notes them, and the blobs.
public sealed class Mill(Notes notes)
{
    [return: Queue("%in%-out")]
    public async Task<string> Grind([QueueTrigger("%in%")] string text, [Blob("%box%/{queueTrigger}", FileAccess.Write)] TextWriter blob)
    {
        await blob.WriteAsync(text);
        await notes.Add(new Ground(text));
        return text;
    }

    public Task Find([BlobTrigger("%box%/{name}")] string text, string name) => notes.Add(new Found(name, text));

    public Task Take([QueueTrigger("%in%-out")] string text, long dequeueCount) => notes.Add(new Taken(text, dequeueCount));

    [Singleton]
    public Task Work([QueueTrigger("%in%-alone")] string text) => notes.Add(new AloneWith(text));
}
