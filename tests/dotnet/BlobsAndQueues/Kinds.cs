using System.Text;
using Azure;
using Azure.Storage.Blobs;
using Azure.Storage.Blobs.Models;
using Azure.Storage.Blobs.Specialized;
using Azure.Storage.Sas;
using static Tidemark.Tests.BlobsAndQueues.Clients;

namespace Tidemark.Tests.BlobsAndQueues;

/// Append blobs, page blobs, copies, tags, tiers and listings.
public sealed class Kinds(FreshContainer fresh) : IClassFixture<FreshContainer>
{
    readonly string name = Stores.FreshName("b");
    AppendBlobClient Append => fresh.Client.GetAppendBlobClient(name);
    PageBlobClient Pages => fresh.Client.GetPageBlobClient(name);
    BlobClient Blob => fresh.Client.GetBlobClient(name);

    static MemoryStream Text(string text) => new(Encoding.UTF8.GetBytes(text));

    [Fact]
    public async Task Appends()
    {
        await Append.CreateAsync();
        Assert.Null((await Append.CreateIfNotExistsAsync())?.Value);
        BlobAppendInfo first = await Append.AppendBlockAsync(Text("one "));
        BlobAppendInfo second = await Append.AppendBlockAsync(Text("two"));
        Assert.Equal(("0", "4", 2), (first.BlobAppendOffset, second.BlobAppendOffset, second.BlobCommittedBlockCount));
        Assert.Equal("one two", await Append.Text());
        BlobProperties read = await Append.GetPropertiesAsync();
        Assert.Equal((BlobType.Append, 7, 2), (read.BlobType, read.ContentLength, read.BlobCommittedBlockCount));
    }

    [Fact]
    public async Task Appends_under_conditions()
    {
        await Append.CreateAsync();
        await Append.AppendBlockAsync(Text("12345"));
        AppendBlobAppendBlockOptions At(long position) => new() { Conditions = new() { IfAppendPositionEqual = position } };
        AppendBlobAppendBlockOptions UpTo(long size) => new() { Conditions = new() { IfMaxSizeLessThanOrEqual = size } };
        await Refused.With(412, "AppendPositionConditionNotMet", () => Append.AppendBlockAsync(Text("x"), At(4)));
        await Append.AppendBlockAsync(Text("6"), At(5));
        await Refused.With(412, "MaxBlobSizeConditionNotMet", () => Append.AppendBlockAsync(Text("7"), UpTo(6)));
        await Append.AppendBlockAsync(Text("7"), UpTo(7));
        await Refused.With(412, "ConditionNotMet", () => Append.AppendBlockAsync(Text("x"), new AppendBlobAppendBlockOptions { Conditions = new() { IfMatch = new ETag("\"0x1\"") } }));
        Assert.Equal("1234567", await Append.Text());
    }

    [Fact]
    public async Task Appends_of_many_at_once_are_all_there()
    {
        await Append.CreateAsync();
        await Task.WhenAll(Enumerable.Range(0, 40).Select(i => Append.AppendBlockAsync(Text($"{i:D2};"))));
        var parts = (await Append.Text()).Split(';', StringSplitOptions.RemoveEmptyEntries);
        Assert.Equal(Enumerable.Range(0, 40).Select(i => $"{i:D2}"), parts.Order());
    }

    [Fact]
    public async Task A_sealed_blob()
    {
        await Append.CreateAsync();
        await Append.AppendBlockAsync(Text("1"));
        await Append.SealAsync();
        await Refused.With(409, "BlobIsSealed", () => Append.AppendBlockAsync(Text("2")));
        Assert.True((await Append.GetPropertiesAsync()).Value.IsSealed);
    }

    [Fact]
    public async Task An_append_to_a_blob_that_is_not_there_or_of_another_type()
    {
        await Refused.With(404, "BlobNotFound", () => Append.AppendBlockAsync(Text("1")));
        await Blob.Write("1");
        await Refused.With(409, "InvalidBlobType", () => Append.AppendBlockAsync(Text("1")));
        await Refused.With(409, "InvalidBlobType", () => Append.CreateAsync());
    }

    [Fact]
    public async Task OpenWrite_of_an_append_blob_goes_on_at_its_end()
    {
        await Append.CreateAsync();
        for (var round = 0; round < 2; round++)
        {
            await using var stream = await Append.OpenWriteAsync(false, new AppendBlobOpenWriteOptions { BufferSize = 1000 });
            await stream.WriteAsync(Stores.Bytes(2500, round));
        }
        byte[] both = [.. Stores.Bytes(2500, 0), .. Stores.Bytes(2500, 1)];
        Assert.Equal(both, await Append.Content());
    }

    [Fact]
    public async Task Pages_are_written_cleared_and_listed()
    {
        await Pages.CreateAsync(8 * 512);
        var bytes = Stores.Bytes(1024);
        await Pages.UploadPagesAsync(Stream(bytes), 512);
        await Pages.UploadPagesAsync(Stream(bytes), 3 * 1024);
        await Pages.ClearPagesAsync(new HttpRange(1024, 512));
        Assert.Equal([(512L, 512L), (3072L, 1024L)],
            (await Pages.GetAllPageRangesAsync().ToList()).Select(item => (item.Range.Offset, item.Range.Length!.Value)));
        var whole = await Pages.Content();
        Assert.Equal([.. new byte[512], .. bytes[..512], .. new byte[2048], .. bytes], whole);
        Assert.Equal((BlobType.Page, 4096), ((await Pages.GetPropertiesAsync()).Value.BlobType, whole.Length));
    }

    [Fact]
    public async Task The_difference_of_pages_to_a_snapshot()
    {
        await Pages.CreateAsync(8 * 512);
        await Pages.UploadPagesAsync(Stream(Stores.Bytes(2048)), 0);
        BlobSnapshotInfo snapshot = await Pages.CreateSnapshotAsync();
        await Pages.UploadPagesAsync(Stream(Stores.Bytes(512, 2)), 512);
        await Pages.ClearPagesAsync(new HttpRange(1024, 512));
        var found = await Pages.GetAllPageRangesDiffAsync(new GetPageRangesDiffOptions { PreviousSnapshot = snapshot.Snapshot }).ToList();
        Assert.Equal([(512L, 512L, false), (1024L, 512L, true)], found.Select(item => (item.Range.Offset, item.Range.Length!.Value, item.IsClear)));
    }

    [Fact]
    public async Task Sequence_numbers()
    {
        await Pages.CreateAsync(512, new PageBlobCreateOptions { SequenceNumber = 5 });
        await Pages.UpdateSequenceNumberAsync(SequenceNumberAction.Increment);
        await Pages.UpdateSequenceNumberAsync(SequenceNumberAction.Max, 3);
        Assert.Equal(6, (await Pages.GetPropertiesAsync()).Value.BlobSequenceNumber);
        PageBlobUploadPagesOptions When(long number) => new() { Conditions = new() { IfSequenceNumberLessThanOrEqual = number } };
        await Refused.With(412, "SequenceNumberConditionNotMet", () => Pages.UploadPagesAsync(Stream(new byte[512]), 0, When(5)));
        await Pages.UploadPagesAsync(Stream(new byte[512]), 0, When(6));
    }

    [Fact]
    public async Task Sizes_of_page_blobs()
    {
        await Refused.With(400, "InvalidHeaderValue", () => Pages.CreateAsync(513));
        await Pages.CreateAsync(1024);
        await Pages.ResizeAsync(2048);
        Assert.Equal(2048, (await Pages.GetPropertiesAsync()).Value.ContentLength);
        await Refused.With(416, "InvalidPageRange", () => Pages.UploadPagesAsync(Stream(new byte[512]), 2048));
    }

    [Fact]
    public async Task OpenWrite_of_a_page_blob()
    {
        await using (var stream = await Pages.OpenWriteAsync(true, 0, new PageBlobOpenWriteOptions { Size = 8192, BufferSize = 1024 }))
        {
            await stream.WriteAsync(Stores.Bytes(4096));
        }
        Assert.Equal(Stores.Bytes(4096), (await Pages.Content())[..4096]);
    }

    [Fact]
    public async Task A_copy()
    {
        var source = fresh.Client.GetBlobClient(name + "source");
        await source.UploadAsync(BinaryData.FromString("text"), new BlobUploadOptions
        {
            HttpHeaders = new() { ContentType = "text/plain" }, Metadata = new Dictionary<string, string> { ["k"] = "v" },
        });
        var operation = await Blob.StartCopyFromUriAsync(source.Uri);
        Assert.Equal(4L, (await operation.WaitForCompletionAsync()).Value);
        BlobProperties read = await Blob.GetPropertiesAsync();
        Assert.Equal(("text/plain", "v", CopyStatus.Success, source.Uri), (read.ContentType, read.Metadata["k"], read.CopyStatus, read.CopySource));
        Assert.Equal(operation.Id, read.CopyId);
        await Refused.With(409, "NoPendingCopyOperation", () => Blob.AbortCopyFromUriAsync(operation.Id));
    }

    [Fact]
    public async Task A_copy_with_metadata_and_conditions()
    {
        var source = fresh.Client.GetBlobClient(name + "source");
        await source.Write("text");
        await Blob.Write("there already");
        var options = new BlobCopyFromUriOptions
        {
            Metadata = new Dictionary<string, string> { ["own"] = "1" }, DestinationConditions = new() { IfNoneMatch = ETag.All },
        };
        await Refused.With(409, "BlobAlreadyExists", () => Blob.StartCopyFromUriAsync(source.Uri, options));
        options.DestinationConditions = null;
        options.SourceConditions = new() { IfMatch = new ETag("\"0x1\"") };
        await Refused.With(412, "SourceConditionNotMet", () => Blob.StartCopyFromUriAsync(source.Uri, options));
        options.SourceConditions = null;
        await Blob.StartCopyFromUriAsync(source.Uri, options);
        Assert.Equal("1", Assert.Single((await Blob.GetPropertiesAsync()).Value.Metadata).Value);
    }

    [Fact]
    public async Task A_synchronous_copy_and_parts_from_a_URL()
    {
        var source = fresh.Client.GetBlobClient(name + "source");
        await source.UploadAsync(Stream(Stores.Bytes(1000)));
        var signed = source.GenerateSasUri(BlobSasPermissions.Read, DateTimeOffset.UtcNow.AddHours(1));
        BlobCopyInfo copied = await Blob.SyncCopyFromUriAsync(signed);
        Assert.Equal(CopyStatus.Success, copied.CopyStatus);
        Assert.Equal(Stores.Bytes(1000), await Blob.Content());

        var uploaded = fresh.Client.GetBlockBlobClient(name + "url");
        await uploaded.SyncUploadFromUriAsync(signed, overwrite: false);
        Assert.Equal(Stores.Bytes(1000), await uploaded.Content());
        var id = Convert.ToBase64String([1]);
        await uploaded.StageBlockFromUriAsync(signed, id, new StageBlockFromUriOptions { SourceRange = new HttpRange(10, 20) });
        await uploaded.CommitBlockListAsync([id]);
        Assert.Equal(Stores.Bytes(1000)[10..30], await uploaded.Content());
        var append = fresh.Client.GetAppendBlobClient(name + "append");
        await append.CreateAsync();
        await append.AppendBlockFromUriAsync(signed, new AppendBlobAppendBlockFromUriOptions { SourceRange = new HttpRange(0, 5) });
        Assert.Equal(Stores.Bytes(1000)[..5], await append.Content());
    }

    [Fact]
    public async Task A_copy_of_nothing()
    {
        var error = await Assert.ThrowsAsync<RequestFailedException>(() => Blob.StartCopyFromUriAsync(fresh.Client.GetBlobClient(name + "none").Uri));
        Assert.Equal(404, error.Status);
        Assert.Contains(error.ErrorCode, (string?[])["BlobNotFound", "CannotVerifyCopySource"]);
    }

    [Fact]
    public async Task Tags()
    {
        var unique = Stores.FreshName("v");
        foreach (var i in Enumerable.Range(0, 5))
        {
            await fresh.Client.GetBlobClient($"{name}{i}").UploadAsync(BinaryData.FromString("1"), new BlobUploadOptions
            {
                Tags = new Dictionary<string, string> { ["run"] = unique, ["number"] = $"{i}", ["a b/c:d"] = "x+y=z" },
            });
        }
        Assert.Equal("x+y=z", (await fresh.Client.GetBlobClient($"{name}3").GetTagsAsync()).Value.Tags["a b/c:d"]);
        Assert.Equal(3, (await fresh.Client.GetBlobClient($"{name}3").GetPropertiesAsync()).Value.TagCount);
        var found = await Blobs().FindBlobsByTagsAsync($"@container='{fresh.Client.Name}' AND \"run\"='{unique}' AND \"number\">='3'").ToList();
        Assert.Equal([$"{name}3", $"{name}4"], found.Select(item => item.BlobName));
        Assert.Equal(5, (await fresh.Client.FindBlobsByTagsAsync($"\"run\"='{unique}'").ToList()).Count);
        await fresh.Client.GetBlobClient($"{name}3").SetTagsAsync(new Dictionary<string, string>());
        Assert.Empty((await fresh.Client.GetBlobClient($"{name}3").GetTagsAsync()).Value.Tags);
        var listed = await fresh.Client.GetBlobsAsync(BlobTraits.Tags, BlobStates.None, $"{name}4", default).ToList();
        Assert.Equal(unique, Assert.Single(listed).Tags["run"]);
        await Refused.With(400, "InvalidTag", () => fresh.Client.GetBlobClient($"{name}0").SetTagsAsync(new Dictionary<string, string> { ["bad!"] = "1" }));
    }

    [Fact]
    public async Task Tiers()
    {
        await Blob.UploadAsync(BinaryData.FromString("1"), new BlobUploadOptions { AccessTier = AccessTier.Cool });
        Assert.Equal("Cool", (await Blob.GetPropertiesAsync()).Value.AccessTier);
        await Blob.SetAccessTierAsync(AccessTier.Hot);
        await Blob.SetAccessTierAsync(AccessTier.Archive);
        await Refused.With(409, "BlobArchived", () => Blob.DownloadContentAsync());
        var item = Assert.Single(await fresh.Client.GetBlobsAsync(BlobTraits.None, BlobStates.None, name, default).ToList());
        Assert.Equal(AccessTier.Archive, item.Properties.AccessTier);
        await Blob.DeleteAsync();
    }

    [Fact]
    public async Task A_listing_by_pages_and_by_prefix()
    {
        foreach (var path in new[] { "a/1", "a/2", "b/1", "c" }) await fresh.Client.GetBlobClient($"{name}/{path}").Write(path);
        var pages = new List<int>();
        await foreach (var page in fresh.Client.GetBlobsAsync(new GetBlobsOptions { Prefix = name }).AsPages(pageSizeHint: 3)) pages.Add(page.Values.Count);
        Assert.Equal([3, 1], pages);
        var level = await fresh.Client.GetBlobsByHierarchyAsync(new GetBlobsByHierarchyOptions { Prefix = $"{name}/", Delimiter = "/" }).ToList();
        Assert.Equal([$"{name}/a/", $"{name}/b/", $"{name}/c"], level.Select(item => item.IsPrefix ? item.Prefix : item.Blob.Name));
        string? token = null;
        var names = new List<string>();
        do
        {
            await foreach (var page in fresh.Client.GetBlobsAsync(new GetBlobsOptions { Prefix = name }).AsPages(token, 1))
            {
                names.AddRange(page.Values.Select(item => item.Name));
                token = page.ContinuationToken;
                break;
            }
        } while (!string.IsNullOrEmpty(token));
        Assert.Equal(4, names.Distinct().Count());
    }

    [Fact]
    public async Task A_listing_with_metadata_and_properties()
    {
        await Blob.UploadAsync(BinaryData.FromString("text"), new BlobUploadOptions
        {
            Metadata = new Dictionary<string, string> { ["k"] = "<&>", ["empty"] = "" }, HttpHeaders = new() { ContentType = "text/plain", ContentLanguage = "en" },
        });
        var item = Assert.Single(await fresh.Client.GetBlobsAsync(BlobTraits.Metadata, BlobStates.None, name, default).ToList());
        BlobProperties read = await Blob.GetPropertiesAsync();
        Assert.Equal(("<&>", ""), (item.Metadata["k"], item.Metadata["empty"]));
        Assert.Equal((4L, "text/plain", "en", BlobType.Block), (item.Properties.ContentLength, item.Properties.ContentType, item.Properties.ContentLanguage, item.Properties.BlobType));
        Assert.Equal((read.LastModified, read.CreatedOn), (item.Properties.LastModified, item.Properties.CreatedOn));
        // A list has the ETag without its quotes.
        Assert.Equal($"{read.ETag}".Trim('"'), $"{item.Properties.ETag}".Trim('"'));
        Assert.Equal(read.ContentHash, item.Properties.ContentHash);
    }

    [Fact]
    public async Task A_listing_that_starts_from_a_name()
    {
        foreach (var i in Enumerable.Range(0, 5)) await fresh.Client.GetBlobClient($"{name}{i}").Write("1");
        var found = await fresh.Client.GetBlobsAsync(new GetBlobsOptions { Prefix = name, StartFrom = $"{name}3" }).ToList();
        Assert.Equal([$"{name}3", $"{name}4"], found.Select(item => item.Name));
    }

    [Fact]
    public async Task Containers()
    {
        var container = Container(Stores.FreshName("c"));
        await container.CreateAsync(metadata: new Dictionary<string, string> { ["k"] = "v" });
        await Refused.With(409, "ContainerAlreadyExists", () => container.CreateAsync());
        Assert.Null((await container.CreateIfNotExistsAsync())?.Value);
        var listed = Assert.Single(await Blobs().GetBlobContainersAsync(BlobContainerTraits.Metadata, prefix: container.Name).ToList());
        Assert.Equal("v", listed.Properties.Metadata["k"]);
        await container.SetMetadataAsync(new Dictionary<string, string> { ["l"] = "w" });
        BlobContainerProperties read = await container.GetPropertiesAsync();
        Assert.Equal("w", Assert.Single(read.Metadata).Value);
        Assert.True(await container.DeleteIfExistsAsync());
        Assert.False(await container.DeleteIfExistsAsync());
        await Refused.With(404, "ContainerNotFound", () => container.GetPropertiesAsync());
        await Refused.With(404, "ContainerNotFound", () => container.GetBlobsAsync(new GetBlobsOptions()).ToList());
    }

    [Theory]
    [InlineData("UpperCase")]
    [InlineData("a_b_c")]
    [InlineData("double--dash")]
    public async Task A_bad_name_of_a_container(string bad)
    {
        var error = await Assert.ThrowsAsync<RequestFailedException>(() => Container(bad).CreateAsync());
        Assert.Equal((400, "InvalidResourceName"), (error.Status, error.ErrorCode));
    }

    [Fact]
    public async Task Statistics_and_account_information()
    {
        BlobServiceStatistics statistics = await new BlobServiceClient(Stores.SecondaryOf(Stores.Blobs), Key).GetStatisticsAsync();
        Assert.Equal(BlobGeoReplicationStatus.Live, statistics.GeoReplication.Status);
        AccountInfo account = await Blobs().GetAccountInfoAsync();
        Assert.Equal(AccountKind.StorageV2, account.AccountKind);
    }
}
