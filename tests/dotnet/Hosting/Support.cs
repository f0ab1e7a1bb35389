using Azure.Storage;
using Azure.Storage.Blobs;

namespace Tidemark.Tests.Hosting;

public static class Containers
{
    public static async Task<BlobContainerClient> Fresh()
    {
        var service = new BlobServiceClient(Stores.Blobs, new StorageSharedKeyCredential(Stores.Account, Stores.Key));
        return await service.CreateBlobContainerAsync(Stores.FreshName("c"));
    }
}
