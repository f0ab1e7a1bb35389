using Azure.Storage.Blobs;

namespace Tidemark.Tests.Durable;

/// Messages that do not fit into a queue or a property are kept in blobs.
public abstract class LargeMessages(Hub hub)
{
    [Theory]
    [InlineData(44 << 10)]
    [InlineData((60 << 10) + 1)]
    [InlineData(64 << 10)]
    [InlineData(1 << 20)]
    public async Task A_text_of_any_length_goes_to_an_activity_and_comes_back(int length)
    {
        var text = Convert.ToHexString(Stores.Bytes(length / 2, seed: length));
        var instance = await hub.Start<Delivery>(text);
        Assert.Equal(new string([.. text.Reverse()]), await hub.Result<string>(instance));
        Assert.Equal($"\"{text}\"", (await hub.Ended(instance)).Input);
    }

    [Fact]
    public async Task A_purge_deletes_the_blobs_of_an_instance()
    {
        var instance = await hub.Start<Delivery>(Convert.ToHexString(Stores.Bytes(100_000)));
        await hub.Ended(instance);
        Assert.NotEmpty(BlobsOf(instance.InstanceId));
        await hub.Service.PurgeInstanceHistoryAsync(instance.InstanceId);
        Assert.Empty(BlobsOf(instance.InstanceId));
    }

    List<string> BlobsOf(string instance) =>
        [.. new BlobContainerClient(Stores.Connection, hub.Name.ToLowerInvariant() + "-largemessages")
            .GetBlobs(default, default, instance + "/", default).Select(blob => blob.Name)];
}

public sealed class LargeMessagesInTable(Hubs hubs) : LargeMessages(hubs.InTable);

public sealed class LargeMessagesInBlobs(Hubs hubs) : LargeMessages(hubs.InBlobs);
