using System.Diagnostics;
using Azure.Storage;
using Azure.Storage.Blobs;

namespace Tidemark.Tests.Hosting;

public static class Eventually
{
    /// Asks until it holds. The limit only catches hanging.
    public static async Task Holds(Func<Task<bool>> condition, string what, int limitSeconds = 120)
    {
        var clock = Stopwatch.StartNew();
        while (!await condition())
        {
            Assert.True(clock.Elapsed.TotalSeconds < limitSeconds, $"not within {limitSeconds} s: {what}");
            await Task.Delay(50);
        }
    }
}

public static class Containers
{
    public static async Task<BlobContainerClient> Fresh()
    {
        var service = new BlobServiceClient(Stores.Blobs, new StorageSharedKeyCredential(Stores.Account, Stores.Key));
        return await service.CreateBlobContainerAsync(Stores.FreshName("c"));
    }
}
