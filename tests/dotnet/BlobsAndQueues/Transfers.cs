using System.Security.Cryptography;
using System.Text;
using Azure;
using Azure.Storage;
using Azure.Storage.Blobs;
using Azure.Storage.Blobs.Models;
using Azure.Storage.Blobs.Specialized;
using static Tidemark.Tests.BlobsAndQueues.Clients;

namespace Tidemark.Tests.BlobsAndQueues;

/// Uploads and downloads: whole, in parts, in parallel, as streams; checksums and ranges.
public sealed class Transfers(FreshContainer fresh) : IClassFixture<FreshContainer>
{
    readonly BlobClient blob = fresh.Client.GetBlobClient(Stores.FreshName("b"));
    BlockBlobClient Blocks => fresh.Client.GetBlockBlobClient(blob.Name);

    static string Id(int number) => Convert.ToBase64String(Encoding.UTF8.GetBytes($"block-{number:D6}"));

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(1000)]
    [InlineData(4 * 1024 * 1024)]
    [InlineData(9_000_001)]
    public async Task A_blob_of_a_size(int size)
    {
        var bytes = Stores.Bytes(size);
        var made = await blob.UploadAsync(BinaryData.FromBytes(bytes));
        Assert.Equal(201, made.GetRawResponse().Status);
        Assert.Equal(bytes, await blob.Content());
        BlobProperties properties = await blob.GetPropertiesAsync();
        Assert.Equal((size, BlobType.Block, "application/octet-stream"), (properties.ContentLength, properties.BlobType, properties.ContentType));
        Assert.Equal(made.Value.ETag, properties.ETag);
        Assert.Equal(MD5.HashData(bytes), properties.ContentHash);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(4)]
    public async Task In_blocks_in_parallel(int concurrency)
    {
        var bytes = Stores.Bytes(3_000_001);
        var wire = new Wire();
        var client = Container(fresh.Client.Name, new BlobClientOptions().Through(wire)).GetBlobClient(blob.Name);
        var transfer = new StorageTransferOptions { MaximumConcurrency = concurrency, InitialTransferSize = 256 * 1024, MaximumTransferSize = 256 * 1024 };
        await client.UploadAsync(Stream(bytes), new BlobUploadOptions { TransferOptions = transfer });
        Assert.Equal(12, wire.Calls.Count(call => call.Uri.Query.Contains("comp=block&")));
        BlockList list = await Blocks.GetBlockListAsync();
        Assert.Equal((12, bytes.Length), (list.CommittedBlocks.Count(), list.CommittedBlocks.Sum(block => block.SizeLong)));
        using var read = new MemoryStream();
        await client.DownloadToAsync(read, new BlobDownloadToOptions { TransferOptions = transfer });
        Assert.Equal(bytes, read.ToArray());
    }

    [Fact]
    public async Task A_parallel_download_of_a_blob_that_changes_is_refused()
    {
        await blob.UploadAsync(Stream(Stores.Bytes(1_000_000)));
        var changed = false;
        var wire = new Wire((call, number) =>
        {
            if (number > 1 && !changed)
            {
                changed = true;
                blob.Upload(Stream(Stores.Bytes(1_000_000, 2)), overwrite: true);
            }
            return null;
        });
        var client = Container(fresh.Client.Name, new BlobClientOptions().Through(wire)).GetBlobClient(blob.Name);
        var transfer = new StorageTransferOptions { MaximumConcurrency = 1, InitialTransferSize = 100_000, MaximumTransferSize = 100_000 };
        await Refused.With(412, "ConditionNotMet", () => client.DownloadToAsync(new MemoryStream(), new BlobDownloadToOptions { TransferOptions = transfer }));
    }

    [Fact]
    public async Task Files()
    {
        var directory = Directory.CreateTempSubdirectory();
        var (from, to) = (Path.Combine(directory.FullName, "from"), Path.Combine(directory.FullName, "to"));
        await File.WriteAllBytesAsync(from, Stores.Bytes(2_000_000));
        await blob.UploadAsync(from, overwrite: false);
        await blob.DownloadToAsync(to);
        Assert.Equal(await File.ReadAllBytesAsync(from), await File.ReadAllBytesAsync(to));
        directory.Delete(recursive: true);
    }

    [Fact]
    public async Task Headers_and_metadata_with_the_upload()
    {
        await blob.UploadAsync(BinaryData.FromString("text"), new BlobUploadOptions
        {
            HttpHeaders = new BlobHttpHeaders { ContentType = "text/plain; charset=utf-8", CacheControl = "no-cache", ContentDisposition = "inline", ContentEncoding = "identity", ContentLanguage = "en, de" },
            Metadata = new Dictionary<string, string> { ["One"] = "1", ["two"] = "with spaces, commas" },
        });
        BlobProperties read = await blob.GetPropertiesAsync();
        Assert.Equal(("text/plain; charset=utf-8", "no-cache", "inline", "identity", "en, de"),
            (read.ContentType, read.CacheControl, read.ContentDisposition, read.ContentEncoding, read.ContentLanguage));
        Assert.Equal(("1", "with spaces, commas"), (read.Metadata["one"], read.Metadata["TWO"]));
        await blob.SetHttpHeadersAsync(new BlobHttpHeaders { ContentType = "text/html" });
        read = await blob.GetPropertiesAsync();
        // All headers are set at once: the others are gone, and so is the hash.
        Assert.Equal(("text/html", null, null), (read.ContentType, read.CacheControl, read.ContentHash));
        await blob.SetMetadataAsync(new Dictionary<string, string> { ["three"] = "3" });
        Assert.Equal("3", Assert.Single((await blob.GetPropertiesAsync()).Value.Metadata).Value);
    }

    [Fact]
    public async Task Upload_without_overwriting()
    {
        await blob.UploadAsync(BinaryData.FromString("first"));
        await Refused.With(409, "BlobAlreadyExists", () => blob.UploadAsync(BinaryData.FromString("second")));
        Assert.Equal("first", await blob.Text());
        await blob.UploadAsync(BinaryData.FromString("third"), overwrite: true);
        Assert.Equal("third", await blob.Text());
    }

    [Theory]
    [InlineData(0, 10)]
    [InlineData(5, 1)]
    [InlineData(90, 10)]
    [InlineData(90, 100)]
    [InlineData(99, 1)]
    public async Task A_range(int offset, int length)
    {
        var bytes = Stores.Bytes(100);
        await blob.UploadAsync(Stream(bytes));
        BlobDownloadResult part = await blob.DownloadContentAsync(new BlobDownloadOptions { Range = new HttpRange(offset, length) });
        var end = Math.Min(offset + length, 100);
        Assert.Equal(bytes[offset..end], part.Content.ToArray());
        Assert.Equal($"bytes {offset}-{end - 1}/100", part.Details.ContentRange);
        Assert.Equal(MD5.HashData(bytes), part.Details.BlobContentHash);
    }

    [Fact]
    public async Task A_range_to_the_end_and_one_behind_it()
    {
        await blob.UploadAsync(Stream(Stores.Bytes(100)));
        BlobDownloadResult part = await blob.DownloadContentAsync(new BlobDownloadOptions { Range = new HttpRange(60) });
        Assert.Equal(Stores.Bytes(100)[60..], part.Content.ToArray());
        await Refused.With(416, "InvalidRange", () => blob.DownloadContentAsync(new BlobDownloadOptions { Range = new HttpRange(100, 1) }));
    }

    [Fact]
    public async Task OpenRead_seeks()
    {
        var bytes = Stores.Bytes(300_000);
        await blob.UploadAsync(Stream(bytes));
        await using var stream = await blob.OpenReadAsync(new BlobOpenReadOptions(false) { BufferSize = 64 * 1024 });
        Assert.Equal(bytes.Length, stream.Length);
        stream.Seek(-10, SeekOrigin.End);
        var end = new byte[10];
        await stream.ReadExactlyAsync(end);
        Assert.Equal(bytes[^10..], end);
        stream.Position = 0;
        using var all = new MemoryStream();
        await stream.CopyToAsync(all);
        Assert.Equal(bytes, all.ToArray());
    }

    [Fact]
    public async Task OpenRead_of_an_empty_blob()
    {
        await blob.UploadAsync(Stream([]));
        await using var stream = await blob.OpenReadAsync();
        Assert.Equal(0, await stream.ReadAsync(new byte[10]));
    }

    [Fact]
    public async Task OpenRead_refuses_a_blob_that_changed()
    {
        await blob.UploadAsync(Stream(Stores.Bytes(200_000)));
        await using var stream = await blob.OpenReadAsync(new BlobOpenReadOptions(false) { BufferSize = 50_000 });
        await stream.ReadExactlyAsync(new byte[50_000]);
        await blob.UploadAsync(Stream(Stores.Bytes(200_000, 2)), overwrite: true);
        await Refused.With(412, "ConditionNotMet", () => stream.ReadExactlyAsync(new byte[100_000]).AsTask());
    }

    [Fact]
    public async Task OpenRead_that_allows_changes()
    {
        var second = Stores.Bytes(200_000, 2);
        await blob.UploadAsync(Stream(Stores.Bytes(200_000)));
        await using var stream = await blob.OpenReadAsync(new BlobOpenReadOptions(true) { BufferSize = 50_000 });
        await stream.ReadExactlyAsync(new byte[50_000]);
        await blob.UploadAsync(Stream(second), overwrite: true);
        var rest = new byte[150_000];
        await stream.ReadExactlyAsync(rest);
        Assert.Equal(second[50_000..], rest);
    }

    [Fact]
    public async Task OpenWrite()
    {
        var bytes = Stores.Bytes(1_000_000);
        await using (var stream = await blob.OpenWriteAsync(true, new BlobOpenWriteOptions { BufferSize = 100_000, Metadata = new Dictionary<string, string> { ["k"] = "v" } }))
        {
            // It is there, and empty, before anything was written.
            Assert.Equal(0, (await blob.GetPropertiesAsync()).Value.ContentLength);
            for (var at = 0; at < bytes.Length; at += 30_000) await stream.WriteAsync(bytes.AsMemory(at, Math.Min(30_000, bytes.Length - at)));
        }
        Assert.Equal(bytes, await blob.Content());
        Assert.Equal("v", (await blob.GetPropertiesAsync()).Value.Metadata["k"]);
    }

    [Fact]
    public async Task OpenWrite_of_two_at_once_keeps_one()
    {
        var first = await Blocks.OpenWriteAsync(true);
        await using var second = await Blocks.OpenWriteAsync(true);
        await first.WriteAsync(Stores.Bytes(100));
        await second.WriteAsync(Stores.Bytes(200));
        await second.FlushAsync();
        await Refused.With(412, "ConditionNotMet", () => first.FlushAsync());
        Assert.Equal(200, (await blob.GetPropertiesAsync()).Value.ContentLength);
    }

    [Fact]
    public async Task Blocks_are_committed_in_the_order_of_the_list()
    {
        foreach (var i in new[] { 3, 1, 2, 4 }) await Blocks.StageBlockAsync(Id(i), Stream(Encoding.UTF8.GetBytes($"{i}")));
        await Refused.With(404, "BlobNotFound", () => blob.GetPropertiesAsync());
        BlockList list = await Blocks.GetBlockListAsync(BlockListTypes.All);
        Assert.Equal((0, 4), (list.CommittedBlocks.Count(), list.UncommittedBlocks.Count()));
        await Blocks.CommitBlockListAsync([Id(1), Id(3), Id(2)]);
        Assert.Equal("132", await blob.Text());
        list = await Blocks.GetBlockListAsync(BlockListTypes.All);
        // The block that was not used is gone.
        Assert.Equal([Id(1), Id(3), Id(2)], list.CommittedBlocks.Select(block => block.Name));
        Assert.Empty(list.UncommittedBlocks);
        await Blocks.StageBlockAsync(Id(5), Stream("5"u8.ToArray()));
        await Blocks.CommitBlockListAsync([Id(5), Id(1)]);
        Assert.Equal("51", await blob.Text());
        await Refused.With(400, "InvalidBlockList", () => Blocks.CommitBlockListAsync([Id(1), Id(9)]));
    }

    [Fact]
    public async Task Block_ids_of_different_lengths_are_refused()
    {
        await Blocks.StageBlockAsync(Id(1), Stream([1]));
        await Refused.With(400, "InvalidBlobOrBlock", () => Blocks.StageBlockAsync(Convert.ToBase64String([1, 2]), Stream([1])));
    }

    [Fact]
    public async Task An_uncommitted_blob_is_listed_on_request()
    {
        await Blocks.StageBlockAsync(Id(1), Stream([1]));
        Assert.Equal("", await fresh.Client.Names(blob.Name));
        Assert.Equal(blob.Name, await fresh.Client.Names(blob.Name, states: BlobStates.Uncommitted));
    }

    [Fact]
    public async Task MD5_with_each_request()
    {
        var bytes = Stores.Bytes(500_000);
        var wire = new Wire();
        var options = new BlobClientOptions().Through(wire);
        options.TransferValidation.Upload.ChecksumAlgorithm = StorageChecksumAlgorithm.MD5;
        options.TransferValidation.Download.ChecksumAlgorithm = StorageChecksumAlgorithm.MD5;
        var client = Container(fresh.Client.Name, options).GetBlobClient(blob.Name);
        var transfer = new StorageTransferOptions { InitialTransferSize = 100_000, MaximumTransferSize = 100_000 };
        await client.UploadAsync(Stream(bytes), new BlobUploadOptions { TransferOptions = transfer });
        Assert.Equal(5, wire.Calls.Count(call => call.Headers.ContainsKey("Content-MD5")));
        using var read = new MemoryStream();
        await client.DownloadToAsync(read, new BlobDownloadToOptions { TransferOptions = transfer });
        Assert.Equal(bytes, read.ToArray());
        Assert.Contains(wire.Calls, call => call.Headers.ContainsKey("x-ms-range-get-content-md5"));
    }

    [Fact]
    public async Task A_wrong_MD5_is_refused()
    {
        var wrong = new UploadTransferValidationOptions { ChecksumAlgorithm = StorageChecksumAlgorithm.MD5, PrecalculatedChecksum = new byte[16] };
        await Refused.With(400, "Md5Mismatch", () => Blocks.StageBlockAsync(Id(1), Stream([1, 2, 3]), new BlockBlobStageBlockOptions { TransferValidation = wrong }));
        await Refused.With(404, "BlobNotFound", () => blob.GetPropertiesAsync());
    }

    [Fact]
    public async Task The_MD5_that_the_client_keeps()
    {
        var hash = MD5.HashData("something else"u8);
        await Blocks.StageBlockAsync(Id(1), Stream([1]));
        await Blocks.CommitBlockListAsync([Id(1)], new CommitBlockListOptions { HttpHeaders = new BlobHttpHeaders { ContentHash = hash } });
        Assert.Equal(hash, (await blob.GetPropertiesAsync()).Value.ContentHash);
    }

    [Theory]
    [InlineData(StorageChecksumAlgorithm.StorageCrc64, 0)]
    [InlineData(StorageChecksumAlgorithm.StorageCrc64, 1000)]
    [InlineData(StorageChecksumAlgorithm.StorageCrc64, 9_000_001)]
    [InlineData(StorageChecksumAlgorithm.Auto, 1000)]
    public async Task CRC64_both_ways(StorageChecksumAlgorithm algorithm, int size)
    {
        var wire = new Wire();
        var options = new BlobClientOptions().Through(wire);
        options.TransferValidation.Upload.ChecksumAlgorithm = algorithm;
        options.TransferValidation.Download.ChecksumAlgorithm = algorithm;
        var client = Container(fresh.Client.Name, options).GetBlobClient(blob.Name);
        await client.UploadAsync(Stream(Stores.Bytes(size)));
        using var read = new MemoryStream();
        await client.DownloadToAsync(read);
        Assert.Equal(Stores.Bytes(size), read.ToArray());
        BlobDownloadResult whole = await client.DownloadContentAsync();
        Assert.Equal(Stores.Bytes(size), whole.Content.ToArray());
        // CRC-64 goes with a structured body.
        Assert.Contains(wire.Calls, call => call.Headers.ContainsKey("x-ms-structured-body"));
    }

    [Fact]
    public async Task CRC64_in_blocks_and_ranges()
    {
        var options = new BlobClientOptions();
        options.TransferValidation.Upload.ChecksumAlgorithm = StorageChecksumAlgorithm.StorageCrc64;
        options.TransferValidation.Download.ChecksumAlgorithm = StorageChecksumAlgorithm.StorageCrc64;
        var container = Container(fresh.Client.Name, options);
        var transfer = new StorageTransferOptions { InitialTransferSize = 100_000, MaximumTransferSize = 100_000 };
        await container.GetBlobClient(blob.Name).UploadAsync(Stream(Stores.Bytes(1_000_000)), new BlobUploadOptions { TransferOptions = transfer });
        using var read = new MemoryStream();
        await container.GetBlobClient(blob.Name).DownloadToAsync(read, new BlobDownloadToOptions { TransferOptions = transfer });
        Assert.Equal(Stores.Bytes(1_000_000), read.ToArray());
        await using var stream = await container.GetBlobClient(blob.Name).OpenReadAsync();
        Assert.Equal(Stores.Bytes(1_000_000)[0], stream.ReadByte());
    }

    [Fact]
    public async Task CRC64_of_appends_pages_and_OpenWrite()
    {
        var options = new BlobClientOptions();
        options.TransferValidation.Upload.ChecksumAlgorithm = StorageChecksumAlgorithm.StorageCrc64;
        var container = Container(fresh.Client.Name, options);
        await container.GetAppendBlobClient(blob.Name + "a").CreateAsync();
        await container.GetAppendBlobClient(blob.Name + "a").AppendBlockAsync(Stream([1, 2]));
        await container.GetPageBlobClient(blob.Name + "p").CreateAsync(1024);
        await container.GetPageBlobClient(blob.Name + "p").UploadPagesAsync(Stream(Stores.Bytes(512)), 512);
        await using (var stream = await container.GetBlockBlobClient(blob.Name).OpenWriteAsync(true)) await stream.WriteAsync(Stores.Bytes(5000));
        Assert.Equal(Stores.Bytes(5000), await blob.Content());
    }

    [Fact]
    public async Task Progress_is_told()
    {
        long told = 0;
        var progress = new Told(bytes => told = Math.Max(told, bytes));
        await blob.UploadAsync(Stream(Stores.Bytes(100_000)), new BlobUploadOptions { ProgressHandler = progress });
        Assert.Equal(100_000, told);
    }

    sealed class Told(Action<long> tell) : IProgress<long>
    {
        public void Report(long value) => tell(value);
    }

    [Fact]
    public async Task A_busy_store_is_asked_again()
    {
        var wire = Wire.Busy(2);
        await Container(fresh.Client.Name, new BlobClientOptions().Through(wire)).GetBlobClient(blob.Name).UploadAsync(Stream(Stores.Bytes(1000)));
        Assert.Equal(3, wire.Calls.Count);
        Assert.Equal(Stores.Bytes(1000), await blob.Content());
    }

    [Fact]
    public async Task A_lost_answer_of_an_upload_and_of_an_append()
    {
        // The repetition meets the blob that the first one made.
        await Refused.With(409, "BlobAlreadyExists", () =>
            Container(fresh.Client.Name, new BlobClientOptions().Through(Wire.Forgetful(1))).GetBlobClient(blob.Name).UploadAsync(Stream([1])));
        var append = fresh.Client.GetAppendBlobClient(blob.Name + "a");
        await append.CreateAsync();
        var forgetful = Container(fresh.Client.Name, new BlobClientOptions().Through(Wire.Forgetful(1))).GetAppendBlobClient(append.Name);
        var first = new AppendBlobAppendBlockOptions { Conditions = new AppendBlobRequestConditions { IfAppendPositionEqual = 0 } };
        await Refused.With(412, "AppendPositionConditionNotMet", () => forgetful.AppendBlockAsync(Stream([1]), first));
        Assert.Equal(1, (await append.GetPropertiesAsync()).Value.ContentLength);
    }

    [Fact]
    public async Task Reads_fail_over_to_the_secondary()
    {
        await blob.Write("text");
        // The SDK puts the host of the secondary into the URL, and leaves its path as it is.
        var secondary = new UriBuilder(Stores.Blobs) { Host = "localhost" }.Uri;
        var wire = Wire.WithoutPrimary(secondary.Host);
        var options = new BlobClientOptions { GeoRedundantSecondaryUri = secondary }.Through(wire);
        Assert.Equal("text", await Container(fresh.Client.Name, options).GetBlobClient(blob.Name).Text());
        Assert.Equal("localhost", wire.Calls[^1].Uri.Host);
    }

    [Theory]
    [InlineData("a/b/c.txt")]
    [InlineData("it's 100%.txt")]
    [InlineData("\u65e5\u672c\ud83d\ude00")]
    [InlineData("a+b=c&d?e#f")]
    [InlineData("blobreceipts/id/func/\"0x8D\"/name")]
    [InlineData("trailing.")]
    [InlineData("double//slash")]
    [InlineData("%41")]
    public async Task An_odd_name(string name)
    {
        var odd = fresh.Client.GetBlobClient($"{blob.Name}/{name}");
        await odd.Write(name);
        Assert.Equal(name, await odd.Text());
        Assert.Equal(odd.Name, await fresh.Client.Names(odd.Name));
        Assert.Equal(name, await new BlobClient(odd.GenerateSasUri(Azure.Storage.Sas.BlobSasPermissions.Read, DateTimeOffset.UtcNow.AddHours(1))).Text());
    }
}
