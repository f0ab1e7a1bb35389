using System.Text;

namespace Tidemark.Tests.Legacy;

public sealed class FreshContainer : IAsyncLifetime
{
    public CloudBlobContainer Container { get; } = Legacy.Account.CreateCloudBlobClient().GetContainerReference(Stores.FreshName("c"));

    public async ValueTask InitializeAsync() => await Container.CreateAsync();

    public async ValueTask DisposeAsync() => await Container.DeleteAsync();
}

/// Blobs by the two SDKs that speak with CloudBlob.
public sealed class BlobCases(FreshContainer fresh) : IClassFixture<FreshContainer>
{
    readonly CloudBlobContainer container = fresh.Container;
    readonly string name = Stores.FreshName("b");

    CloudBlockBlob Blob => container.GetBlockBlobReference(name);

    static AccessCondition Lease(string id) => AccessCondition.GenerateLeaseCondition(id);

    static async Task<byte[]> Content(CloudBlob blob)
    {
        using var stream = new MemoryStream();
        await blob.DownloadToStreamAsync(stream);
        return stream.ToArray();
    }

    async Task<List<IListBlobItem>> List(string prefix, bool flat = true, BlobListingDetails details = BlobListingDetails.None, int? page = null)
    {
        var found = new List<IListBlobItem>();
        BlobContinuationToken? token = null;
        do
        {
            var segment = await container.ListBlobsSegmentedAsync(prefix, flat, details, page, token, null, null);
            found.AddRange(segment.Results);
            token = segment.ContinuationToken;
        } while (token is not null);
        return found;
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(3_000_001)]
    public async Task A_blob_of_a_size(int size)
    {
        await Blob.UploadFromByteArrayAsync(Stores.Bytes(size), 0, size);
        var blob = Blob;
        Assert.Equal(Stores.Bytes(size), await Content(blob));
        await blob.FetchAttributesAsync();
        Assert.Equal((size, BlobType.BlockBlob), (blob.Properties.Length, blob.Properties.BlobType));
    }

    [Fact]
    public async Task In_parallel_blocks_with_MD5()
    {
        var options = new BlobRequestOptions { SingleBlobUploadThresholdInBytes = 1024 * 1024, ParallelOperationThreadCount = 4 };
        var blob = Blob;
        blob.StreamWriteSizeInBytes = 256 * 1024;
        await blob.UploadFromStreamAsync(new MemoryStream(Stores.Bytes(3_000_000)), null, options, null);
        Assert.Equal(12, (await blob.DownloadBlockListAsync()).Count());
        Assert.Equal(Stores.Bytes(3_000_000), await Content(blob));
        using var stream = await blob.OpenReadAsync();
        stream.Seek(1_000_000, SeekOrigin.Begin);
        var part = new byte[100];
        await stream.ReadExactlyAsync(part);
        Assert.Equal(Stores.Bytes(3_000_000)[1_000_000..1_000_100], part);
    }

    [Fact]
    public async Task A_range()
    {
        await Blob.UploadFromByteArrayAsync(Stores.Bytes(100), 0, 100);
        var part = new byte[10];
        Assert.Equal(10, await Blob.DownloadRangeToByteArrayAsync(part, 0, 50, 10));
        Assert.Equal(Stores.Bytes(100)[50..60], part);
        await Legacy.Refused(416, "InvalidRange", () => Blob.DownloadRangeToByteArrayAsync(part, 0, 100, 10));
    }

    [Fact]
    public async Task Properties_and_metadata()
    {
        var blob = Blob;
        blob.Properties.ContentType = "text/plain";
        blob.Properties.CacheControl = "no-cache";
        blob.Metadata["k"] = "v";
        await blob.UploadTextAsync("text");
        blob.Metadata["l"] = "w";
        await blob.SetMetadataAsync();
        blob.Properties.ContentType = "text/html";
        await blob.SetPropertiesAsync();
        var read = Blob;
        await read.FetchAttributesAsync();
        Assert.Equal(("text/html", "no-cache", "v", "w"), (read.Properties.ContentType, read.Properties.CacheControl, read.Metadata["k"], read.Metadata["l"]));
        Assert.Equal(blob.Properties.ETag, read.Properties.ETag);
    }

    [Fact]
    public async Task OpenWrite()
    {
        var blob = Blob;
        blob.StreamWriteSizeInBytes = 64 * 1024;
        using (var stream = await blob.OpenWriteAsync())
        {
            await stream.WriteAsync(Stores.Bytes(200_000));
            await stream.CommitAsync();
        }
        Assert.Equal(Stores.Bytes(200_000), await Content(blob));
    }

    [Fact]
    public async Task Blocks()
    {
        string Id(int i) => Convert.ToBase64String(Encoding.UTF8.GetBytes($"{i:D4}"));
        foreach (var i in new[] { 2, 1, 3 }) await Blob.PutBlockAsync(Id(i), new MemoryStream(Encoding.UTF8.GetBytes($"{i}")), (string?)null);
        await Blob.PutBlockListAsync([Id(1), Id(2)]);
        Assert.Equal("12", await Blob.DownloadTextAsync());
        Assert.Equal(2, (await Blob.DownloadBlockListAsync(BlockListingFilter.All, null, null, null)).Count());
        await Legacy.Refused(400, "InvalidBlockList", () => Blob.PutBlockListAsync([Id(9)]));
    }

    [Fact]
    public async Task Conditions()
    {
        var blob = Blob;
        await blob.UploadTextAsync("1");
        var first = blob.Properties.ETag;
        await blob.UploadTextAsync("2", null, AccessCondition.GenerateIfMatchCondition(first), null, null);
        await Legacy.Refused(412, "ConditionNotMet", () => blob.UploadTextAsync("3", null, AccessCondition.GenerateIfMatchCondition(first), null, null));
        await Legacy.Refused(409, "BlobAlreadyExists", () => blob.UploadTextAsync("3", null, AccessCondition.GenerateIfNotExistsCondition(), null, null));
        await Legacy.Refused(412, "ConditionNotMet", () => Blob.DeleteAsync(DeleteSnapshotsOption.None, AccessCondition.GenerateIfNotModifiedSinceCondition(DateTimeOffset.UtcNow.AddHours(-1)), null, null));
        Assert.Equal("2", await blob.DownloadTextAsync());
    }

    [Fact]
    public async Task Leases()
    {
        await Blob.UploadTextAsync("1");
        var id = await Blob.AcquireLeaseAsync(TimeSpan.FromSeconds(15), Guid.NewGuid().ToString());
        await Legacy.Refused(412, "LeaseIdMissing", () => Blob.UploadTextAsync("2"));
        await Blob.UploadTextAsync("2", null, Lease(id), null, null);
        await Legacy.Refused(409, "LeaseAlreadyPresent", () => Blob.AcquireLeaseAsync(TimeSpan.FromSeconds(15), null));
        await Blob.RenewLeaseAsync(Lease(id));
        var other = await Blob.ChangeLeaseAsync(Guid.NewGuid().ToString(), Lease(id));
        await Legacy.Refused(409, "LeaseIdMismatchWithLeaseOperation", () => Blob.RenewLeaseAsync(Lease(id)));
        var read = Blob;
        await read.FetchAttributesAsync();
        Assert.Equal((LeaseState.Leased, LeaseStatus.Locked), (read.Properties.LeaseState, read.Properties.LeaseStatus));
        await Blob.ReleaseLeaseAsync(Lease(other));
        await Blob.AcquireLeaseAsync(null, null);
        Assert.Equal(TimeSpan.Zero, await Blob.BreakLeaseAsync(TimeSpan.Zero));
        await Blob.DeleteAsync();
    }

    [Fact]
    public async Task A_lease_of_the_container_guards_its_deletion()
    {
        var own = Legacy.Account.CreateCloudBlobClient().GetContainerReference(Stores.FreshName("c"));
        await own.CreateAsync();
        var id = await own.AcquireLeaseAsync(TimeSpan.FromSeconds(15), null);
        await Legacy.Refused(412, "LeaseIdMissing", () => own.DeleteAsync());
        await own.DeleteAsync(Lease(id), null, null);
    }

    [Fact]
    public async Task Snapshots()
    {
        await Blob.UploadTextAsync("1");
        var snapshot = await Blob.CreateSnapshotAsync();
        await Blob.UploadTextAsync("2");
        Assert.Equal(("1", "2"), (await snapshot.DownloadTextAsync(), await Blob.DownloadTextAsync()));
        Assert.True(snapshot.IsSnapshot);
        Assert.Equal(2, (await List(name, details: BlobListingDetails.Snapshots)).Count);
        await Legacy.Refused(409, "SnapshotsPresent", () => Blob.DeleteAsync());
        await Blob.StartCopyAsync(snapshot);
        Assert.Equal("1", await Blob.DownloadTextAsync());
        await Blob.DeleteAsync(DeleteSnapshotsOption.IncludeSnapshots, null, null, null);
        Assert.Empty(await List(name, details: BlobListingDetails.Snapshots));
    }

    [Fact]
    public async Task A_copy()
    {
        await Blob.UploadTextAsync("text");
        var target = container.GetBlockBlobReference(name + "copy");
        var id = await target.StartCopyAsync(Blob);
        await target.FetchAttributesAsync();
        Assert.Equal((id, CopyStatus.Success, Blob.Uri), (target.CopyState.CopyId, target.CopyState.Status, target.CopyState.Source));
        Assert.Equal("text", await target.DownloadTextAsync());
        var error = await Assert.ThrowsAnyAsync<StorageException>(() => target.StartCopyAsync(container.GetBlockBlobReference("missing")));
        Assert.Equal(404, error.RequestInformation.HttpStatusCode);
    }

    [Fact]
    public async Task Append_blobs()
    {
        var blob = container.GetAppendBlobReference(name);
        await blob.CreateOrReplaceAsync();
        await blob.AppendTextAsync("one ");
        await blob.AppendTextAsync("two");
        Assert.Equal("one two", await blob.DownloadTextAsync());
        Assert.Equal(7, await blob.AppendBlockAsync(new MemoryStream([33]), null));
        await Legacy.Refused(412, "AppendPositionConditionNotMet", () => blob.AppendBlockAsync(new MemoryStream([33]), null, AccessCondition.GenerateIfAppendPositionEqualCondition(5), null, null));
        await blob.FetchAttributesAsync();
        Assert.Equal(3, blob.Properties.AppendBlobCommittedBlockCount);
        // Written in one call, as the loggers of old hosts do it.
        await blob.UploadTextAsync("new");
        Assert.Equal("new", await blob.DownloadTextAsync());
    }

    [Fact]
    public async Task Page_blobs()
    {
        var blob = container.GetPageBlobReference(name);
        await blob.CreateAsync(4096);
        await blob.WritePagesAsync(new MemoryStream(Stores.Bytes(1024)), 512, null);
        await blob.ClearPagesAsync(512, 512);
        var ranges = (await blob.GetPageRangesAsync()).ToList();
        Assert.Equal((1024L, 1535L), (Assert.Single(ranges).StartOffset, ranges[0].EndOffset));
        await blob.ResizeAsync(8192);
        await blob.SetSequenceNumberAsync(SequenceNumberAction.Update, 7);
        await blob.FetchAttributesAsync();
        Assert.Equal((8192L, 7L), (blob.Properties.Length, blob.Properties.PageBlobSequenceNumber));
        await Legacy.Refused(412, "SequenceNumberConditionNotMet", () => blob.WritePagesAsync(new MemoryStream(new byte[512]), 0, null, AccessCondition.GenerateIfSequenceNumberEqualCondition(6), null, null));
        Assert.Equal(8192, (await Content(blob)).Length);
    }

    [Fact]
    public async Task Listings()
    {
        foreach (var path in new[] { "a/1", "a/2", "b/1", "c" })
        {
            var blob = container.GetBlockBlobReference($"{name}/{path}");
            blob.Metadata["path"] = path;
            await blob.UploadTextAsync(path);
        }
        Assert.Equal(4, (await List($"{name}/", page: 1)).Count);
        var level = await List($"{name}/", flat: false);
        Assert.Equal((2, 1), (level.OfType<CloudBlobDirectory>().Count(), level.OfType<CloudBlockBlob>().Count()));
        var detailed = (await List($"{name}/c", details: BlobListingDetails.Metadata)).Cast<CloudBlockBlob>();
        Assert.Equal("c", Assert.Single(detailed).Metadata["path"]);
    }

    [Fact]
    public async Task Signatures_and_policies()
    {
        await Blob.UploadTextAsync("1");
        var reading = new SharedAccessBlobPolicy { Permissions = SharedAccessBlobPermissions.Read, SharedAccessExpiryTime = DateTimeOffset.UtcNow.AddHours(1) };
        var reader = new CloudBlockBlob(new Uri(Blob.Uri + Blob.GetSharedAccessSignature(reading, new SharedAccessBlobHeaders { ContentType = "text/x-test" })));
        Assert.Equal("1", await reader.DownloadTextAsync());
        Assert.Equal("text/x-test", reader.Properties.ContentType);
        await Legacy.Refused(403, "AuthorizationPermissionMismatch", () => reader.UploadTextAsync("2"));
        var permissions = await container.GetPermissionsAsync();
        permissions.SharedAccessPolicies[name] = new SharedAccessBlobPolicy { Permissions = SharedAccessBlobPermissions.Read | SharedAccessBlobPermissions.List, SharedAccessExpiryTime = DateTimeOffset.UtcNow.AddHours(1) };
        await container.SetPermissionsAsync(permissions);
        var byPolicy = new CloudBlobContainer(new Uri(container.Uri + container.GetSharedAccessSignature(null, name)));
        Assert.Equal("1", await byPolicy.GetBlockBlobReference(name).DownloadTextAsync());
        await Legacy.Refused(403, "AuthorizationPermissionMismatch", () => byPolicy.GetBlockBlobReference(name).DeleteAsync());
    }

    [Fact]
    public async Task Exists_and_deletes_that_find_nothing()
    {
        Assert.False(await Blob.ExistsAsync());
        Assert.False(await Blob.DeleteIfExistsAsync());
        await Legacy.Refused(404, "BlobNotFound", () => Blob.DownloadTextAsync());
        // The answer to HEAD has no body: the SDKs before 11 know the status only.
        var error = await Assert.ThrowsAnyAsync<StorageException>(() => Blob.FetchAttributesAsync());
        Assert.Equal(404, error.RequestInformation.HttpStatusCode);
        Assert.False(await Legacy.Account.CreateCloudBlobClient().GetContainerReference("nowhere").ExistsAsync());
        Assert.False(await container.CreateIfNotExistsAsync());
    }

    [Theory]
    [InlineData("it's 100%.txt")]
    [InlineData("\u65e5\u672c")]
    [InlineData("a+b=c&d")]
    [InlineData("receipts/\"0x8D\"/x")]
    public async Task An_odd_name(string odd)
    {
        await container.GetBlockBlobReference($"{name}/{odd}").UploadTextAsync(odd);
        var found = (CloudBlockBlob)Assert.Single(await List($"{name}/{odd}"));
        Assert.Equal(($"{name}/{odd}", odd), (found.Name, await found.DownloadTextAsync()));
    }

    [Fact]
    public async Task The_secondary_is_read()
    {
        await Blob.UploadTextAsync("1");
        var options = new BlobRequestOptions { LocationMode = LocationMode.SecondaryOnly };
        Assert.Equal("1", await Blob.DownloadTextAsync(null, null, options, null));
        var client = Legacy.Account.CreateCloudBlobClient();
        client.DefaultRequestOptions.LocationMode = LocationMode.SecondaryOnly;
        Assert.Equal(GeoReplicationStatus.Live, (await client.GetServiceStatsAsync()).GeoReplication.Status);
    }
}
