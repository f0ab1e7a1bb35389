using Azure;
using Azure.Storage.Blobs;
using Azure.Storage.Blobs.Models;
using Azure.Storage.Blobs.Specialized;
using static Tidemark.Tests.BlobsAndQueues.Clients;

namespace Tidemark.Tests.BlobsAndQueues;

/// Conditions by ETag, time and tags; leases; snapshots; deletes.
public sealed class Conditions(FreshContainer fresh) : IClassFixture<FreshContainer>
{
    readonly BlobClient blob = fresh.Client.GetBlobClient(Stores.FreshName("b"));

    static BlobUploadOptions On(BlobRequestConditions conditions) => new() { Conditions = conditions };

    [Fact]
    public async Task IfMatch_of_an_upload()
    {
        BlobContentInfo first = await blob.UploadAsync(BinaryData.FromString("1"));
        BlobContentInfo second = await blob.UploadAsync(BinaryData.FromString("2"), On(new() { IfMatch = first.ETag }));
        Assert.NotEqual(first.ETag, second.ETag);
        await Refused.With(412, "ConditionNotMet", () => blob.UploadAsync(BinaryData.FromString("3"), On(new() { IfMatch = first.ETag })));
        Assert.Equal("2", await blob.Text());
    }

    [Fact]
    public async Task IfNoneMatch_of_a_read()
    {
        BlobContentInfo made = await blob.UploadAsync(BinaryData.FromString("1"));
        // The SDK takes 304 for an answer to a download.
        var unchanged = await blob.DownloadStreamingAsync(new BlobDownloadOptions { Conditions = new() { IfNoneMatch = made.ETag } });
        Assert.Equal(304, unchanged.GetRawResponse().Status);
        await Refused.With(304, "ConditionNotMet", () => blob.GetPropertiesAsync(new() { IfNoneMatch = made.ETag }));
        await blob.Write("2");
        Assert.Equal("2", (await blob.DownloadContentAsync(new BlobDownloadOptions { Conditions = new() { IfNoneMatch = made.ETag } })).Value.Content.ToString());
    }

    [Fact]
    public async Task Times()
    {
        await blob.Write("1");
        BlobProperties read = await blob.GetPropertiesAsync();
        await Refused.With(304, "ConditionNotMet", () => blob.GetPropertiesAsync(new() { IfModifiedSince = read.LastModified }));
        await blob.GetPropertiesAsync(new() { IfUnmodifiedSince = read.LastModified });
        await Refused.With(412, "ConditionNotMet", () => blob.DeleteAsync(conditions: new() { IfUnmodifiedSince = read.LastModified.AddHours(-1) }));
        await blob.DeleteAsync(conditions: new() { IfModifiedSince = read.LastModified.AddHours(-1) });
    }

    [Fact]
    public async Task Tags_as_a_condition()
    {
        await blob.UploadAsync(BinaryData.FromString("1"), new BlobUploadOptions { Tags = new Dictionary<string, string> { ["state"] = "new" } });
        await Refused.With(412, "ConditionNotMet", () => blob.DownloadContentAsync(new BlobDownloadOptions { Conditions = new() { TagConditions = "\"state\" = 'old'" } }));
        await blob.SetTagsAsync(new Dictionary<string, string> { ["state"] = "old" }, new BlobRequestConditions { TagConditions = "\"state\" = 'new'" });
        await Refused.With(412, "ConditionNotMet", () => blob.SetTagsAsync(new Dictionary<string, string>(), new BlobRequestConditions { TagConditions = "\"state\" = 'new'" }));
        Assert.Equal("old", (await blob.GetTagsAsync()).Value.Tags["state"]);
    }

    [Fact]
    public async Task Ten_writers_of_which_one_creates()
    {
        var won = await Task.WhenAll(Enumerable.Range(0, 10).Select(async i =>
        {
            try
            {
                await blob.UploadAsync(BinaryData.FromString($"{i}"), On(new() { IfNoneMatch = ETag.All }));
                return 1;
            }
            catch (RequestFailedException error) when (error is { Status: 409, ErrorCode: "BlobAlreadyExists" })
            {
                return 0;
            }
        }));
        Assert.Equal(1, won.Sum());
    }

    [Fact]
    public async Task Exists_and_deletes_that_find_nothing()
    {
        Assert.False(await blob.ExistsAsync());
        Assert.False(await blob.DeleteIfExistsAsync());
        await Refused.With(404, "BlobNotFound", () => blob.DeleteAsync());
        await Refused.With(404, "BlobNotFound", () => blob.DownloadContentAsync());
        var nowhere = Container(Stores.FreshName("c")).GetBlobClient("b");
        Assert.False(await nowhere.ExistsAsync());
        await Refused.With(404, "ContainerNotFound", () => nowhere.UploadAsync(BinaryData.FromString("1")));
        await blob.Write("1");
        Assert.True(await blob.ExistsAsync());
        Assert.True(await blob.DeleteIfExistsAsync());
    }

    [Fact]
    public async Task A_lease_of_a_blob()
    {
        await blob.Write("1");
        var lease = blob.GetBlobLeaseClient();
        BlobLease taken = await lease.AcquireAsync(TimeSpan.FromSeconds(15));
        Assert.Equal(lease.LeaseId, taken.LeaseId);
        BlobProperties read = await blob.GetPropertiesAsync();
        Assert.Equal((LeaseState.Leased, LeaseStatus.Locked, LeaseDurationType.Fixed), (read.LeaseState, read.LeaseStatus, read.LeaseDuration));
        await Refused.With(412, "LeaseIdMissing", () => blob.Write("2"));
        await Refused.With(412, "LeaseIdMismatchWithBlobOperation", () => blob.UploadAsync(BinaryData.FromString("2"), On(new() { LeaseId = Guid.NewGuid().ToString() })));
        await blob.UploadAsync(BinaryData.FromString("2"), On(new() { LeaseId = lease.LeaseId }));
        await Refused.With(409, "LeaseAlreadyPresent", () => blob.GetBlobLeaseClient().AcquireAsync(TimeSpan.FromSeconds(15)));
        await lease.RenewAsync();
        await lease.ReleaseAsync();
        await blob.Write("3");
        await Refused.With(412, "LeaseNotPresentWithBlobOperation", () => blob.UploadAsync(BinaryData.FromString("4"), On(new() { LeaseId = lease.LeaseId })));
        await Refused.With(409, "LeaseIdMismatchWithLeaseOperation", () => lease.RenewAsync());
    }

    [Fact]
    public async Task A_lease_without_end_is_changed_and_broken()
    {
        await blob.Write("1");
        var lease = blob.GetBlobLeaseClient();
        await lease.AcquireAsync(BlobLeaseClient.InfiniteLeaseDuration);
        Assert.Equal(LeaseDurationType.Infinite, (await blob.GetPropertiesAsync()).Value.LeaseDuration);
        var other = Guid.NewGuid().ToString();
        BlobLease changed = await lease.ChangeAsync(other);
        Assert.Equal(other, changed.LeaseId);
        // The same id takes a lease again.
        await blob.GetBlobLeaseClient(other).AcquireAsync(BlobLeaseClient.InfiniteLeaseDuration);
        await blob.GetBlobLeaseClient().BreakAsync(TimeSpan.Zero);
        Assert.Equal(LeaseState.Broken, (await blob.GetPropertiesAsync()).Value.LeaseState);
        await Refused.With(409, "LeaseIsBrokenAndCannotBeRenewed", () => blob.GetBlobLeaseClient(other).RenewAsync());
        await blob.GetBlobLeaseClient().AcquireAsync(TimeSpan.FromSeconds(60));
    }

    [Fact]
    public async Task A_lease_that_is_being_broken()
    {
        await blob.Write("1");
        var lease = blob.GetBlobLeaseClient();
        await lease.AcquireAsync(TimeSpan.FromSeconds(60));
        var broken = await blob.GetBlobLeaseClient().BreakAsync(TimeSpan.FromSeconds(30));
        Assert.Equal(202, broken.GetRawResponse().Status);
        Assert.Equal(LeaseState.Breaking, (await blob.GetPropertiesAsync()).Value.LeaseState);
        await Refused.With(409, "LeaseIsBreakingAndCannotBeAcquired", () => lease.AcquireAsync(TimeSpan.FromSeconds(15)));
        await Refused.With(409, "LeaseIsBreakingAndCannotBeChanged", () => lease.ChangeAsync(Guid.NewGuid().ToString()));
        await lease.ReleaseAsync();
    }

    [Theory]
    [InlineData(14)]
    [InlineData(61)]
    public async Task A_lease_of_a_bad_duration(int seconds)
    {
        await blob.Write("1");
        await Refused.With(400, "InvalidHeaderValue", () => blob.GetBlobLeaseClient().AcquireAsync(TimeSpan.FromSeconds(seconds)));
    }

    [Fact]
    public async Task A_lease_of_a_blob_that_is_not_there() =>
        await Refused.With(404, "BlobNotFound", () => blob.GetBlobLeaseClient().AcquireAsync(TimeSpan.FromSeconds(15)));

    [Fact]
    public async Task A_lock_of_the_WebJobs_host()
    {
        // An empty blob, made once; metadata set under the lease; others read them.
        await blob.UploadAsync(Stream([]), On(new() { IfNoneMatch = ETag.All }));
        var lease = blob.GetBlobLeaseClient(Guid.NewGuid().ToString());
        await lease.AcquireAsync(TimeSpan.FromSeconds(15));
        await Refused.With(412, "LeaseIdMissing", () => blob.UploadAsync(Stream([]), On(new() { IfNoneMatch = ETag.All })));
        await blob.SetMetadataAsync(new Dictionary<string, string> { ["FunctionInstance"] = "host1" }, new() { LeaseId = lease.LeaseId });
        Assert.Equal("host1", (await blob.GetPropertiesAsync()).Value.Metadata["functioninstance"]);
        await lease.ReleaseAsync();
    }

    [Fact]
    public async Task A_lease_of_a_container()
    {
        var container = Container(Stores.FreshName("c"));
        await container.CreateAsync();
        var lease = container.GetBlobLeaseClient();
        await lease.AcquireAsync(TimeSpan.FromSeconds(15));
        await container.GetBlobClient("b").Write("a lease of the container does not lock its blobs");
        await Refused.With(412, "LeaseIdMissing", () => container.DeleteAsync());
        Assert.Equal(LeaseState.Leased, (await container.GetPropertiesAsync()).Value.LeaseState);
        await container.DeleteAsync(new BlobRequestConditions { LeaseId = lease.LeaseId });
        Assert.False(await container.ExistsAsync());
    }

    [Fact]
    public async Task Snapshots()
    {
        await blob.Write("1");
        BlobSnapshotInfo first = await blob.CreateSnapshotAsync(new Dictionary<string, string> { ["of"] = "one" });
        await blob.Write("2");
        BlobSnapshotInfo second = await blob.CreateSnapshotAsync();
        await blob.Write("3");
        Assert.Equal(("1", "2", "3"), (await blob.WithSnapshot(first.Snapshot).Text(), await blob.WithSnapshot(second.Snapshot).Text(), await blob.Text()));
        Assert.Equal("one", (await blob.WithSnapshot(first.Snapshot).GetPropertiesAsync()).Value.Metadata["of"]);
        var listed = await fresh.Client.GetBlobsAsync(BlobTraits.Metadata, BlobStates.Snapshots, blob.Name, default).ToList();
        Assert.Equal([first.Snapshot, second.Snapshot, null], listed.Select(item => item.Snapshot));
        await Refused.With(409, "SnapshotsPresent", () => blob.DeleteAsync());
        await blob.WithSnapshot(first.Snapshot).DeleteAsync();
        await Refused.With(404, "BlobNotFound", () => blob.WithSnapshot(first.Snapshot).DownloadContentAsync());
        await blob.DeleteAsync(DeleteSnapshotsOption.OnlySnapshots);
        Assert.Equal("3", await blob.Text());
        await blob.CreateSnapshotAsync();
        await blob.DeleteAsync(DeleteSnapshotsOption.IncludeSnapshots);
        Assert.Empty(await fresh.Client.GetBlobsAsync(BlobTraits.None, BlobStates.Snapshots, blob.Name, default).ToList());
    }

    [Fact]
    public async Task A_snapshot_is_copied_over_its_blob()
    {
        await blob.Write("before");
        BlobSnapshotInfo snapshot = await blob.CreateSnapshotAsync();
        await blob.Write("after");
        await (await blob.StartCopyFromUriAsync(blob.WithSnapshot(snapshot.Snapshot).Uri)).WaitForCompletionAsync();
        Assert.Equal("before", await blob.Text());
    }
}
