using Azure;
using Azure.Storage.Blobs;
using Azure.Storage.Blobs.Models;
using Azure.Storage.Blobs.Specialized;

namespace Tidemark.Tests.Hosting;

/// Locks of several programs: who has the lease of a blob may work.
public sealed class Locks
{
    static readonly TimeSpan shortest = TimeSpan.FromSeconds(15);

    [Fact]
    public async Task One_at_a_time_changes_what_the_lock_protects()
    {
        var container = await Containers.Fresh();
        var counter = container.GetBlobClient("counter");
        await counter.UploadAsync(BinaryData.FromString("0"));
        await Task.WhenAll(Enumerable.Range(1, 6).Select(async _ =>
        {
            for (var round = 0; round < 5; round++)
            {
                var held = await Lock(container);
                var value = int.Parse((await counter.DownloadContentAsync()).Value.Content.ToString());
                await counter.UploadAsync(BinaryData.FromString($"{value + 1}"), overwrite: true);
                await held.ReleaseAsync();
            }
        }));
        Assert.Equal("30", (await counter.DownloadContentAsync()).Value.Content.ToString());
    }

    [Fact]
    public async Task A_lock_whose_holder_was_put_out_is_the_next_ones_and_the_first_notices()
    {
        var container = await Containers.Fresh();
        var first = await Lock(container);
        await container.GetBlobClient("lock").GetBlobLeaseClient().BreakAsync(TimeSpan.Zero);
        var second = await Lock(container);
        await Refused.With(409, "LeaseIdMismatchWithLeaseOperation", () => first.RenewAsync());
        await second.RenewAsync();
    }

    static async Task<BlobLeaseClient> Lock(BlobContainerClient container)
    {
        var blob = container.GetBlobClient("lock");
        try
        {
            await blob.UploadAsync(BinaryData.FromString(""), new BlobUploadOptions { Conditions = new() { IfNoneMatch = ETag.All } });
        }
        catch (RequestFailedException error) when (error.Status is 409 or 412)
        {
            // Somebody else has made it.
        }
        var lease = blob.GetBlobLeaseClient();
        await Eventually.Holds(async () => await IsAcquired(lease), "the lock");
        return lease;
    }

    static async Task<bool> IsAcquired(BlobLeaseClient lease)
    {
        try
        {
            await lease.AcquireAsync(shortest);
            return true;
        }
        catch (RequestFailedException error) when (error.ErrorCode == BlobErrorCode.LeaseAlreadyPresent)
        {
            return false;
        }
    }
}
