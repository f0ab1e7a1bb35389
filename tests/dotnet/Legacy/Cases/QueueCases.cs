namespace Tidemark.Tests.Legacy;

/// Queues by the two SDKs that speak with CloudQueue.
public sealed class QueueCases : IAsyncLifetime
{
    readonly CloudQueue queue = Legacy.Account.CreateCloudQueueClient().GetQueueReference(Stores.FreshName("q"));

    public async ValueTask InitializeAsync() => await queue.CreateAsync();

    public async ValueTask DisposeAsync() => await queue.DeleteIfExistsAsync();

    static readonly TimeSpan Minute = TimeSpan.FromMinutes(1);

    Task<CloudQueueMessage> Get() => queue.GetMessageAsync(Minute, null, null);

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Send_receive_delete(bool encoded)
    {
        queue.EncodeMessage = encoded;
        await queue.AddMessageAsync(new CloudQueueMessage("<text> & \u65e5\u672c"));
        var message = await Get();
        Assert.Equal(("<text> & \u65e5\u672c", 1), (message.AsString, message.DequeueCount));
        Assert.Null(await Get());
        await queue.DeleteMessageAsync(message);
        await Legacy.Refused(404, "MessageNotFound", () => queue.DeleteMessageAsync(message));
    }

    [Fact]
    public async Task The_message_that_was_sent_has_its_receipt()
    {
        var sent = new CloudQueueMessage("text");
        await queue.AddMessageAsync(sent);
        await queue.UpdateMessageAsync(sent, TimeSpan.FromHours(1), MessageUpdateFields.Visibility);
        Assert.Null(await Get());
        await queue.DeleteMessageAsync(sent);
    }

    [Fact]
    public async Task Updates_with_and_without_text()
    {
        await queue.AddMessageAsync(new CloudQueueMessage("before"));
        var message = await Get();
        await queue.UpdateMessageAsync(message, Minute, MessageUpdateFields.Visibility);
        Replace(message, "after");
        await queue.UpdateMessageAsync(message, TimeSpan.Zero, MessageUpdateFields.Content | MessageUpdateFields.Visibility);
        var again = await Get();
        Assert.Equal(("after", 2), (again.AsString, again.DequeueCount));
        await Legacy.Refused(404, "MessageNotFound", () => queue.DeleteMessageAsync(message));
    }

    static void Replace(CloudQueueMessage message, string text)
    {
#if WINDOWS_AZURE_STORAGE
        message.SetMessageContent(text);
#else
        message.SetMessageContent2(text, false);
#endif
    }

    [Fact]
    public async Task A_message_that_never_expires()
    {
        await queue.AddMessageAsync(new CloudQueueMessage("text"), TimeSpan.FromSeconds(-1), null, null, null);
        Assert.Equal(9999, (await queue.PeekMessageAsync()).ExpirationTime!.Value.Year);
    }

    [Fact]
    public async Task A_message_that_appears_later()
    {
        await queue.AddMessageAsync(new CloudQueueMessage("text"), TimeSpan.FromDays(1), TimeSpan.FromHours(1), null, null);
        Assert.Null(await queue.PeekMessageAsync());
        await queue.FetchAttributesAsync();
        Assert.Equal(1, queue.ApproximateMessageCount);
    }

    [Fact]
    public async Task Batches_peeks_counts_and_a_clear()
    {
        foreach (var i in Enumerable.Range(0, 40)) await queue.AddMessageAsync(new CloudQueueMessage($"{i}"));
        Assert.Equal(32, (await queue.PeekMessagesAsync(32)).Count());
        Assert.Equal(32, (await queue.GetMessagesAsync(32, Minute, null, null)).Count());
        Assert.Equal(8, (await queue.GetMessagesAsync(32, Minute, null, null)).Count());
        await queue.FetchAttributesAsync();
        Assert.Equal(40, queue.ApproximateMessageCount);
        await queue.ClearAsync();
        await queue.FetchAttributesAsync();
        Assert.Equal(0, queue.ApproximateMessageCount);
    }

    [Fact]
    public async Task The_largest_message()
    {
        queue.EncodeMessage = false;
        await queue.AddMessageAsync(new CloudQueueMessage(new string('x', 64 * 1024)));
        Assert.Equal(64 * 1024, (await Get()).AsString.Length);
    }

    [Fact]
    public async Task Metadata_and_a_listing()
    {
        queue.Metadata["k"] = "v";
        await queue.SetMetadataAsync();
        var listed = (await queue.ServiceClient.ListQueuesSegmentedAsync(queue.Name, QueueListingDetails.Metadata, null, null, null, null)).Results;
        Assert.Equal("v", Assert.Single(listed).Metadata["k"]);
        Assert.True(await queue.ExistsAsync());
        Assert.False(await queue.CreateIfNotExistsAsync());
        await queue.DeleteAsync();
        Assert.False(await queue.ExistsAsync());
        await Legacy.Refused(404, "QueueNotFound", () => queue.AddMessageAsync(new CloudQueueMessage("x")));
    }

    [Fact]
    public async Task Signatures_and_policies()
    {
        var permissions = new QueuePermissions();
        permissions.SharedAccessPolicies.Add("adders", new SharedAccessQueuePolicy { Permissions = SharedAccessQueuePermissions.Add, SharedAccessExpiryTime = DateTimeOffset.UtcNow.AddHours(1) });
        await queue.SetPermissionsAsync(permissions);
        var adder = new CloudQueue(new Uri(queue.Uri + queue.GetSharedAccessSignature(null, "adders")));
        await adder.AddMessageAsync(new CloudQueueMessage("1"));
        await Legacy.Refused(403, "AuthorizationPermissionMismatch", () => adder.GetMessageAsync());
        var processor = new CloudQueue(new Uri(queue.Uri + queue.GetSharedAccessSignature(new SharedAccessQueuePolicy
        {
            Permissions = SharedAccessQueuePermissions.ProcessMessages, SharedAccessExpiryTime = DateTimeOffset.UtcNow.AddHours(1),
        })));
        await processor.DeleteMessageAsync(await processor.GetMessageAsync());
    }

    [Fact]
    public async Task The_secondary_is_read()
    {
        // These SDKs read the properties of a queue there, and no messages.
        await queue.AddMessageAsync(new CloudQueueMessage("1"));
        await queue.FetchAttributesAsync(new QueueRequestOptions { LocationMode = LocationMode.SecondaryOnly }, null);
        Assert.Equal(1, queue.ApproximateMessageCount);
        var client = Legacy.Account.CreateCloudQueueClient();
        client.DefaultRequestOptions.LocationMode = LocationMode.SecondaryOnly;
        Assert.Equal(GeoReplicationStatus.Live, (await client.GetServiceStatsAsync()).GeoReplication.Status);
    }
}
