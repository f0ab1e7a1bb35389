using Microsoft.Azure.Storage.DataMovement;

namespace Tidemark.Tests.Legacy;

/// The library for many and large transfers, and a handler between the SDK and the store.
public sealed class DataMovement(FreshContainer fresh) : IClassFixture<FreshContainer>, IDisposable
{
    readonly CloudBlobContainer container = fresh.Container;
    readonly string name = Stores.FreshName("b");
    readonly DirectoryInfo directory = Directory.CreateTempSubdirectory();

    public void Dispose() => directory.Delete(recursive: true);

    string Path(params string[] parts) => System.IO.Path.Combine([directory.FullName, .. parts]);

    [Theory]
    [InlineData(0)]
    [InlineData(1000)]
    [InlineData(10_000_001)]
    public async Task A_file_there_and_back(int size)
    {
        await File.WriteAllBytesAsync(Path("from"), Stores.Bytes(size));
        var blob = container.GetBlockBlobReference(name);
        await TransferManager.UploadAsync(Path("from"), blob);
        await TransferManager.DownloadAsync(blob, Path("to"));
        Assert.Equal(Stores.Bytes(size), await File.ReadAllBytesAsync(Path("to")));
    }

    [Fact]
    public async Task A_directory_there_and_back()
    {
        foreach (var i in Enumerable.Range(0, 30))
        {
            Directory.CreateDirectory(Path("from", $"{i % 3}"));
            await File.WriteAllBytesAsync(Path("from", $"{i % 3}", $"{i}.bin"), Stores.Bytes(i * 1000, i));
        }
        var target = container.GetDirectoryReference(name);
        var up = await TransferManager.UploadDirectoryAsync(Path("from"), target, new UploadDirectoryOptions { Recursive = true }, new DirectoryTransferContext());
        Assert.Equal((30, 0), (up.NumberOfFilesTransferred, up.NumberOfFilesFailed));
        Directory.CreateDirectory(Path("to"));
        var down = await TransferManager.DownloadDirectoryAsync(target, Path("to"), new DownloadDirectoryOptions { Recursive = true }, new DirectoryTransferContext());
        Assert.Equal((30, 0), (down.NumberOfFilesTransferred, down.NumberOfFilesFailed));
        foreach (var i in Enumerable.Range(0, 30)) Assert.Equal(Stores.Bytes(i * 1000, i), await File.ReadAllBytesAsync(Path("to", $"{i % 3}", $"{i}.bin")));
    }

    [Theory]
    [InlineData(CopyMethod.ServiceSideAsyncCopy)]
    [InlineData(CopyMethod.ServiceSideSyncCopy)]
    [InlineData(CopyMethod.SyncCopy)]
    public async Task A_copy(CopyMethod method)
    {
        var source = container.GetBlockBlobReference(name);
        await source.UploadFromByteArrayAsync(Stores.Bytes(1_000_000), 0, 1_000_000);
        var target = container.GetBlockBlobReference(name + "copy");
        await TransferManager.CopyAsync(source, target, method);
        using var read = new MemoryStream();
        await target.DownloadToStreamAsync(read);
        Assert.Equal(Stores.Bytes(1_000_000), read.ToArray());
    }

    [Fact]
    public async Task A_transfer_onto_a_blob_that_is_there_asks_first()
    {
        await File.WriteAllTextAsync(Path("from"), "new");
        var blob = container.GetBlockBlobReference(name);
        await blob.UploadTextAsync("old");
        var context = new SingleTransferContext { ShouldOverwriteCallbackAsync = (_, _) => Task.FromResult(false) };
        await Assert.ThrowsAsync<TransferSkippedException>(() => TransferManager.UploadAsync(Path("from"), blob, null, context));
        Assert.Equal("old", await blob.DownloadTextAsync());
    }

    [Theory]
    [InlineData("append")]
    [InlineData("page")]
    public async Task A_file_as_a_blob_of_another_kind(string kind)
    {
        await File.WriteAllBytesAsync(Path("from"), Stores.Bytes(512 * 20));
        CloudBlob blob = kind == "append" ? container.GetAppendBlobReference(name) : container.GetPageBlobReference(name);
        await TransferManager.UploadAsync(Path("from"), blob);
        await TransferManager.DownloadAsync(blob, Path("to"));
        Assert.Equal(Stores.Bytes(512 * 20), await File.ReadAllBytesAsync(Path("to")));
    }

    static StorageCredentials Credentials => new(Stores.Account, Stores.Key);

    [Fact]
    public async Task A_busy_store_is_asked_again()
    {
        var wire = Wire.Busy(2, inner: false);
        var client = new CloudBlobClient(Stores.Blobs, Credentials, wire) { DefaultRequestOptions = { RetryPolicy = new LinearRetry(TimeSpan.FromMilliseconds(1), 3) } };
        await client.GetContainerReference(container.Name).GetBlockBlobReference(name).UploadTextAsync("1");
        Assert.Equal(3, wire.Calls.Count);
    }

    [Fact]
    public async Task A_read_fails_over_to_the_secondary()
    {
        await container.GetBlockBlobReference(name).UploadTextAsync("1");
        var client = new CloudBlobClient(new StorageUri(Stores.Blobs, Stores.SecondaryOf(Stores.Blobs)), Credentials, Wire.WithoutPrimary(inner: false))
        {
            DefaultRequestOptions = { RetryPolicy = new LinearRetry(TimeSpan.FromMilliseconds(1), 3), LocationMode = LocationMode.PrimaryThenSecondary },
        };
        Assert.Equal("1", await client.GetContainerReference(container.Name).GetBlockBlobReference(name).DownloadTextAsync());
    }

    [Fact]
    public async Task Checksums_of_each_transfer()
    {
        var options = new BlobRequestOptions { ChecksumOptions = { UseTransactionalMD5 = true, StoreContentMD5 = true } };
        var blob = container.GetBlockBlobReference(name);
        await blob.UploadFromByteArrayAsync(Stores.Bytes(1000), 0, 1000, null, options, null);
        using var read = new MemoryStream();
        await blob.DownloadToStreamAsync(read, null, options, null);
        Assert.Equal(Stores.Bytes(1000), read.ToArray());
    }

    [Fact]
    public async Task CRC64_of_each_transfer()
    {
        // This SDK sends CRC-64 as a header, not as a structured body.
        var options = new BlobRequestOptions { ChecksumOptions = { UseTransactionalCRC64 = true } };
        var blob = container.GetBlockBlobReference(name);
        var id = Convert.ToBase64String([1]);
        await blob.PutBlockAsync(id, new MemoryStream(Stores.Bytes(1000)), (string?)null, null, options, null);
        await blob.PutBlockListAsync([id], null, options, null);
        var part = new byte[1000];
        await blob.DownloadRangeToByteArrayAsync(part, 0, 0, 1000, null, options, null);
        Assert.Equal(Stores.Bytes(1000), part);
    }
}
