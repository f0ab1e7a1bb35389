using Azure;
using Azure.Storage;
using Azure.Storage.Blobs;
using Azure.Storage.Blobs.Models;
using Azure.Storage.Blobs.Specialized;
using Azure.Storage.Queues;
using Azure.Storage.Sas;
using Microsoft.Extensions.Azure;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using static Tidemark.Tests.BlobsAndQueues.Clients;

namespace Tidemark.Tests.BlobsAndQueues;

/// Signatures, bearer tokens, connection strings, and clients that Microsoft.Extensions.Azure makes.
public sealed class Access(FreshContainer fresh) : IClassFixture<FreshContainer>
{
    readonly BlobClient blob = fresh.Client.GetBlobClient(Stores.FreshName("b"));

    static DateTimeOffset Soon => DateTimeOffset.UtcNow.AddHours(1);

    [Fact]
    public async Task A_signature_of_a_blob()
    {
        await blob.Write("1");
        var reader = new BlobClient(blob.GenerateSasUri(BlobSasPermissions.Read, Soon));
        Assert.Equal("1", await reader.Text());
        await Refused.With(403, "AuthorizationPermissionMismatch", () => reader.UploadAsync(BinaryData.FromString("2"), overwrite: true));
        await Refused.With(403, "AuthorizationPermissionMismatch", () => reader.DeleteAsync());
        var writer = new BlobClient(blob.GenerateSasUri(BlobSasPermissions.Write, Soon));
        await writer.Write("2");
        await Refused.With(403, "AuthorizationPermissionMismatch", () => writer.DownloadContentAsync());
    }

    [Fact]
    public async Task A_signature_of_a_container()
    {
        var container = new BlobContainerClient(fresh.Client.GenerateSasUri(BlobContainerSasPermissions.Read | BlobContainerSasPermissions.List | BlobContainerSasPermissions.Create, Soon));
        await container.GetBlobClient(blob.Name).UploadAsync(BinaryData.FromString("1"));
        Assert.Equal(blob.Name, await container.Names(blob.Name));
        await Refused.With(403, "AuthorizationPermissionMismatch", () => container.DeleteBlobAsync(blob.Name));
        await Refused.With(403, "AuthenticationFailed", () => new BlobClient(new UriBuilder(Container("other").GetBlobClient("b").Uri) { Query = container.Uri.Query }.Uri).DownloadContentAsync());
    }

    [Fact]
    public async Task A_signature_that_sets_the_headers_of_the_answer()
    {
        await blob.Write("1");
        var builder = new BlobSasBuilder(BlobSasPermissions.Read, Soon) { ContentType = "text/x-test", ContentDisposition = "attachment; filename=\"a b\"", CacheControl = "max-age=5" };
        BlobProperties read = await new BlobClient(blob.GenerateSasUri(builder)).GetPropertiesAsync();
        Assert.Equal(("text/x-test", "attachment; filename=\"a b\"", "max-age=5"), (read.ContentType, read.ContentDisposition, read.CacheControl));
    }

    [Fact]
    public async Task A_signature_of_a_snapshot()
    {
        await blob.Write("1");
        BlobSnapshotInfo snapshot = await blob.CreateSnapshotAsync();
        await blob.Write("2");
        Assert.Equal("1", await new BlobClient(blob.WithSnapshot(snapshot.Snapshot).GenerateSasUri(BlobSasPermissions.Read, Soon)).Text());
    }

    [Fact]
    public async Task A_signature_by_a_stored_policy()
    {
        var container = Container(Stores.FreshName("c"));
        await container.CreateAsync();
        await container.GetBlobClient("b").Write("1");
        await container.SetAccessPolicyAsync(permissions: [new BlobSignedIdentifier { Id = "readers", AccessPolicy = new BlobAccessPolicy { PolicyExpiresOn = Soon, Permissions = "r" } }]);
        BlobContainerAccessPolicy policy = await container.GetAccessPolicyAsync();
        Assert.Equal(("readers", "r"), (policy.SignedIdentifiers.Single().Id, policy.SignedIdentifiers.Single().AccessPolicy.Permissions));
        var signed = new BlobClient(container.GetBlobClient("b").GenerateSasUri(new BlobSasBuilder { Identifier = "readers" }));
        Assert.Equal("1", await signed.Text());
        await container.SetAccessPolicyAsync();
        await Refused.With(403, "AuthenticationFailed", () => signed.DownloadContentAsync());
        await container.DeleteAsync();
    }

    [Fact]
    public async Task A_signature_that_is_over_or_forged()
    {
        await blob.Write("1");
        await Refused.With(403, "AuthenticationFailed", () => new BlobClient(blob.GenerateSasUri(BlobSasPermissions.Read, DateTimeOffset.UtcNow.AddMinutes(-5))).DownloadContentAsync());
        var signed = blob.GenerateSasUri(BlobSasPermissions.Read, Soon);
        await Refused.With(403, "AuthenticationFailed", () => new BlobClient(new Uri(signed.AbsoluteUri.Replace("sp=r", "sp=rw"))).DownloadContentAsync());
    }

    [Fact]
    public async Task A_signature_of_the_account()
    {
        var service = new BlobServiceClient(Blobs().GenerateAccountSasUri(AccountSasPermissions.Read | AccountSasPermissions.List | AccountSasPermissions.Write, Soon, AccountSasResourceTypes.All));
        await service.GetBlobContainerClient(fresh.Client.Name).GetBlobClient(blob.Name).Write("1");
        Assert.NotEmpty(await service.GetBlobContainersAsync().ToList());
        await Refused.With(403, "AuthorizationPermissionMismatch", () => service.GetBlobContainerClient(fresh.Client.Name).DeleteBlobAsync(blob.Name));
        var objects = new BlobServiceClient(Blobs().GenerateAccountSasUri(AccountSasPermissions.All, Soon, AccountSasResourceTypes.Object));
        await Refused.With(403, "AuthorizationResourceTypeMismatch", () => objects.GetBlobContainersAsync().ToList());
    }

    [Fact]
    public async Task A_signature_of_a_queue()
    {
        var queue = Queue(Stores.FreshName("q"));
        await queue.CreateAsync();
        var adder = new QueueClient(queue.GenerateSasUri(QueueSasPermissions.Add, Soon));
        await adder.SendMessageAsync("1");
        await Refused.With(403, "AuthorizationPermissionMismatch", () => adder.ReceiveMessageAsync());
        var processor = new QueueClient(queue.GenerateSasUri(QueueSasPermissions.Process, Soon));
        var message = (await processor.ReceiveMessageAsync()).Value;
        await processor.DeleteMessageAsync(message.MessageId, message.PopReceipt);
        await Refused.With(403, "AuthorizationPermissionMismatch", () => processor.PeekMessageAsync());
        await queue.DeleteAsync();
    }

    [Fact]
    public async Task A_connection_string_with_a_signature()
    {
        await blob.Write("1");
        var sas = Blobs().GenerateAccountSasUri(AccountSasPermissions.Read, Soon, AccountSasResourceTypes.Object).Query.TrimStart('?');
        var service = new BlobServiceClient($"BlobEndpoint={Stores.Blobs};SharedAccessSignature={sas}");
        Assert.Equal("1", await service.GetBlobContainerClient(fresh.Client.Name).GetBlobClient(blob.Name).Text());
    }

    [Fact]
    public async Task A_wrong_key_and_no_key()
    {
        await blob.Write("1");
        var wrong = new StorageSharedKeyCredential(Stores.Account, Convert.ToBase64String(new byte[64]));
        await Refused.With(403, "AuthenticationFailed", () => new BlobClient(blob.Uri, wrong).DownloadContentAsync());
        await Refused.With(401, "NoAuthenticationInformation", () => new BlobClient(blob.Uri).DownloadContentAsync());
    }

    [Fact]
    public async Task A_public_container()
    {
        var container = Container(Stores.FreshName("c"));
        await container.CreateAsync(PublicAccessType.Blob);
        await container.GetBlobClient("b").Write("1");
        Assert.Equal("1", await new BlobClient(container.GetBlobClient("b").Uri).Text());
        var error = await Assert.ThrowsAsync<RequestFailedException>(() => new BlobContainerClient(container.Uri).GetBlobsAsync(new GetBlobsOptions()).ToList());
        Assert.Contains(error.Status, (int[])[401, 404]);
        await container.DeleteAsync();
    }

    static BlobServiceClient BlobsAs(params string[] roles) => new(Stores.BlobsOfBearers, new Bearer(roles));

    [Fact]
    public async Task A_bearer_with_roles()
    {
        var owner = BlobsAs("Storage Blob Data Contributor").GetBlobContainerClient(Stores.FreshName("c"));
        await owner.CreateAsync();
        await owner.GetBlobClient("b").Write("1");
        var reader = BlobsAs("Storage Blob Data Reader").GetBlobContainerClient(owner.Name);
        Assert.Equal("1", await reader.GetBlobClient("b").Text());
        await Refused.With(403, "AuthorizationPermissionMismatch", () => reader.GetBlobClient("b").UploadAsync(BinaryData.FromString("2"), overwrite: true));
        await Refused.With(403, "AuthorizationPermissionMismatch", () => BlobsAs("Storage Queue Data Contributor").GetBlobContainerClient(owner.Name).GetBlobClient("b").DownloadContentAsync());
        await owner.DeleteAsync();
    }

    [Fact]
    public async Task A_user_delegation_signature_of_a_blob()
    {
        var service = BlobsAs("Storage Blob Data Contributor");
        UserDelegationKey key = await service.GetUserDelegationKeyAsync(new BlobGetUserDelegationKeyOptions(Soon));
        Assert.Equal((Bearer.Object, Bearer.Tenant), (key.SignedObjectId, key.SignedTenantId));
        var container = service.GetBlobContainerClient(Stores.FreshName("c"));
        await container.CreateAsync();
        await container.GetBlobClient("b").Write("1");
        var reader = new BlobClient(container.GetBlobClient("b").GenerateUserDelegationSasUri(BlobSasPermissions.Read, Soon, key));
        Assert.Equal("1", await reader.Text());
        await Refused.With(403, "AuthorizationPermissionMismatch", () => reader.DeleteAsync());
        var lister = new BlobContainerClient(container.GenerateUserDelegationSasUri(BlobContainerSasPermissions.List, Soon, key));
        Assert.Equal("b", await lister.Names());
        await container.DeleteAsync();
    }

    [Fact]
    public async Task A_bearer_of_queues()
    {
        var queue = new QueueServiceClient(Stores.QueuesOfBearers, new Bearer("Storage Queue Data Contributor")).GetQueueClient(Stores.FreshName("q"));
        await queue.CreateAsync();
        await queue.SendMessageAsync("1");
        Assert.Equal("1", (await queue.ReceiveMessageAsync()).Value.MessageText);
        var reader = new QueueServiceClient(Stores.QueuesOfBearers, new Bearer("Storage Queue Data Reader")).GetQueueClient(queue.Name);
        await Refused.With(403, "AuthorizationPermissionMismatch", () => reader.SendMessageAsync("2"));
        await queue.DeleteAsync();
    }

    [Fact]
    public async Task Clients_of_Microsoft_Extensions_Azure()
    {
        var services = new ServiceCollection();
        services.AddAzureClients(clients =>
        {
            clients.AddBlobServiceClient(Stores.Connection);
            clients.AddQueueServiceClient(Stores.Connection).WithName("work").ConfigureOptions(options => options.MessageEncoding = QueueMessageEncoding.Base64);
            clients.AddBlobServiceClient(Stores.Blobs, Key).WithName("by key");
        });
        await using var provider = services.BuildServiceProvider();
        await blob.Write("1");
        Assert.Equal("1", await provider.GetRequiredService<BlobServiceClient>().GetBlobContainerClient(fresh.Client.Name).GetBlobClient(blob.Name).Text());
        var queue = provider.GetRequiredService<IAzureClientFactory<QueueServiceClient>>().CreateClient("work").GetQueueClient(Stores.FreshName("q"));
        await queue.CreateAsync();
        await queue.SendMessageAsync("text");
        Assert.Equal(Convert.ToBase64String("text"u8), (await Queue(queue.Name).PeekMessageAsync()).Value.MessageText);
        await queue.DeleteAsync();
    }

    [Fact]
    public async Task Clients_from_a_configuration()
    {
        var configuration = new ConfigurationBuilder().AddInMemoryCollection(new Dictionary<string, string?>
        {
            ["Blobs:ConnectionString"] = Stores.Connection,
            ["Queue:ConnectionString"] = Stores.Connection,
        }).Build();
        var services = new ServiceCollection();
        services.AddAzureClients(clients =>
        {
            clients.AddBlobServiceClient(configuration.GetSection("Blobs"));
            clients.AddQueueServiceClient(configuration.GetSection("Queue"));
        });
        await using var provider = services.BuildServiceProvider();
        Assert.True(await provider.GetRequiredService<BlobServiceClient>().GetBlobContainerClient(fresh.Client.Name).ExistsAsync());
        Assert.False(await provider.GetRequiredService<QueueServiceClient>().GetQueueClient("nowhere").ExistsAsync());
    }
}
