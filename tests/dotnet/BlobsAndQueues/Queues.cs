using System.Text;
using Azure;
using Azure.Storage.Queues;
using Azure.Storage.Queues.Models;
using static Tidemark.Tests.BlobsAndQueues.Clients;

namespace Tidemark.Tests.BlobsAndQueues;

/// Messages: visibility, time to live, encoding, poison, counts; and the queues themselves.
public sealed class Messages : IAsyncLifetime
{
    readonly QueueClient queue = Queue(Stores.FreshName("q"));

    public async ValueTask InitializeAsync() => await queue.CreateAsync();

    public async ValueTask DisposeAsync() => await queue.DeleteIfExistsAsync();

    static readonly TimeSpan Minute = TimeSpan.FromMinutes(1);

    [Fact]
    public async Task Send_receive_delete()
    {
        SendReceipt sent = await queue.SendMessageAsync("text");
        QueueMessage got = await queue.ReceiveMessageAsync(Minute);
        Assert.Equal(("text", sent.MessageId, 1), (got.MessageText, got.MessageId, got.DequeueCount));
        Assert.Equal(TimeSpan.FromDays(7), got.ExpiresOn - got.InsertedOn);
        Assert.Null((await queue.ReceiveMessageAsync()).Value);
        Assert.Equal(204, (await queue.DeleteMessageAsync(got.MessageId, got.PopReceipt)).Status);
        await Refused.With(404, "MessageNotFound", () => queue.DeleteMessageAsync(got.MessageId, got.PopReceipt));
    }

    [Fact]
    public async Task The_receipt_of_the_sender_deletes()
    {
        SendReceipt sent = await queue.SendMessageAsync("text");
        await queue.DeleteMessageAsync(sent.MessageId, sent.PopReceipt);
        Assert.Null((await queue.PeekMessageAsync()).Value);
    }

    [Theory]
    [InlineData("")]
    [InlineData("<a>&amp;</a> ]]>")]
    [InlineData(" spaces \t\r\n")]
    [InlineData("\u65e5\u672c \ud83d\ude00")]
    [InlineData("""{"json":"\u00e9"}""")]
    public async Task A_text(string text)
    {
        await queue.SendMessageAsync(text);
        var expected = text.Replace("\r\n", "\n");  // XML makes them one character
        Assert.Equal(expected, (await queue.PeekMessageAsync()).Value.MessageText.Replace("\r\n", "\n"));
        Assert.Equal(expected, (await queue.ReceiveMessageAsync()).Value.Body.ToString().Replace("\r\n", "\n"));
    }

    [Fact]
    public async Task Bytes_in_base64()
    {
        var encoded = Queue(queue.Name, new QueueClientOptions { MessageEncoding = QueueMessageEncoding.Base64 });
        var bytes = Stores.Bytes(1000);
        await encoded.SendMessageAsync(BinaryData.FromBytes(bytes));
        Assert.Equal(Convert.ToBase64String(bytes), (await queue.PeekMessageAsync()).Value.MessageText);
        Assert.Equal(bytes, (await encoded.ReceiveMessageAsync()).Value.Body.ToArray());
    }

    [Fact]
    public async Task A_message_that_cannot_be_decoded_is_told()
    {
        var options = new QueueClientOptions { MessageEncoding = QueueMessageEncoding.Base64 };
        var bad = new List<string>();
        options.MessageDecodingFailed += async told =>
        {
            bad.Add(told.ReceivedMessage.Body.ToString());
            await told.Queue.DeleteMessageAsync(told.ReceivedMessage.MessageId, told.ReceivedMessage.PopReceipt);
        };
        await queue.SendMessageAsync("not base64!");
        Assert.Empty((await Queue(queue.Name, options).ReceiveMessagesAsync(10)).Value);
        Assert.Equal(["not base64!"], bad);
        Assert.Null((await queue.PeekMessageAsync()).Value);
    }

    [Fact]
    public async Task The_largest_message()
    {
        var largest = new string('x', 64 * 1024);
        await queue.SendMessageAsync(largest);
        Assert.Equal(largest, (await queue.ReceiveMessageAsync()).Value.MessageText);
        var error = await Assert.ThrowsAsync<RequestFailedException>(() => queue.SendMessageAsync(largest + "x"));
        Assert.Contains(error.ErrorCode, (string?[])["RequestBodyTooLarge", "MessageTooLarge"]);
        var encoded = Queue(queue.Name, new QueueClientOptions { MessageEncoding = QueueMessageEncoding.Base64 });
        await encoded.SendMessageAsync(BinaryData.FromBytes(Stores.Bytes(48 * 1024)));
        Assert.Equal(Stores.Bytes(48 * 1024), (await encoded.ReceiveMessageAsync()).Value.Body.ToArray());
    }

    [Fact]
    public async Task A_message_that_never_expires()
    {
        SendReceipt sent = await queue.SendMessageAsync("text", timeToLive: TimeSpan.FromSeconds(-1));
        Assert.Equal(9999, sent.ExpirationTime.Year);
        Assert.Equal(9999, (await queue.PeekMessageAsync()).Value.ExpiresOn!.Value.Year);
    }

    [Fact]
    public async Task A_message_that_lives_longer_than_a_week()
    {
        SendReceipt sent = await queue.SendMessageAsync("text", timeToLive: TimeSpan.FromDays(365));
        Assert.Equal(TimeSpan.FromDays(365), sent.ExpirationTime - sent.InsertionTime);
    }

    [Fact]
    public async Task A_message_that_appears_later()
    {
        SendReceipt sent = await queue.SendMessageAsync("later", visibilityTimeout: TimeSpan.FromHours(1));
        Assert.Null((await queue.ReceiveMessageAsync()).Value);
        Assert.Null((await queue.PeekMessageAsync()).Value);
        Assert.Equal(1, (await queue.GetPropertiesAsync()).Value.ApproximateMessagesCount);
        // Its sender can have it appear.
        await queue.UpdateMessageAsync(sent.MessageId, sent.PopReceipt, visibilityTimeout: TimeSpan.Zero);
        Assert.Equal("later", (await queue.ReceiveMessageAsync()).Value.MessageText);
    }

    [Fact]
    public async Task A_visibility_beyond_the_life_of_the_message_is_refused() =>
        await Refused.With(400, "InvalidQueryParameterValue", () => queue.SendMessageAsync("x", TimeSpan.FromMinutes(10), TimeSpan.FromMinutes(5)));

    [Fact]
    public async Task Visibility_has_bounds()
    {
        await Refused.With(400, "OutOfRangeQueryParameterValue", () => queue.ReceiveMessagesAsync(1, TimeSpan.FromDays(8)));
        await Refused.With(400, "OutOfRangeQueryParameterValue", () => queue.ReceiveMessagesAsync(33));
        await Refused.With(400, "OutOfRangeQueryParameterValue", () => queue.ReceiveMessagesAsync(0));
        await queue.SendMessageAsync("x", TimeSpan.FromDays(6));
    }

    [Fact]
    public async Task An_update_with_text_keeps_the_message_hidden()
    {
        await queue.SendMessageAsync("before");
        QueueMessage got = await queue.ReceiveMessageAsync(Minute);
        UpdateReceipt updated = await queue.UpdateMessageAsync(got.MessageId, got.PopReceipt, "after", Minute);
        Assert.NotEqual(got.PopReceipt, updated.PopReceipt);
        await Refused.With(404, "MessageNotFound", () => queue.DeleteMessageAsync(got.MessageId, got.PopReceipt));
        await queue.UpdateMessageAsync(got.MessageId, updated.PopReceipt, "after", TimeSpan.Zero);
        QueueMessage again = await queue.ReceiveMessageAsync();
        Assert.Equal(("after", 2), (again.MessageText, again.DequeueCount));
    }

    [Fact]
    public async Task An_update_without_text_keeps_the_text()
    {
        await queue.SendMessageAsync("text");
        QueueMessage got = await queue.ReceiveMessageAsync(Minute);
        await queue.UpdateMessageAsync(got.MessageId, got.PopReceipt, visibilityTimeout: TimeSpan.Zero);
        Assert.Equal("text", (await queue.ReceiveMessageAsync()).Value.MessageText);
    }

    [Fact]
    public async Task A_renewed_message_stays_with_its_owner()
    {
        await queue.SendMessageAsync("text");
        QueueMessage got = await queue.ReceiveMessageAsync(Minute);
        var receipt = got.PopReceipt;
        for (var round = 0; round < 3; round++) receipt = (await queue.UpdateMessageAsync(got.MessageId, receipt, visibilityTimeout: Minute)).Value.PopReceipt;
        Assert.Null((await queue.ReceiveMessageAsync()).Value);
        await queue.DeleteMessageAsync(got.MessageId, receipt);
    }

    [Fact]
    public async Task A_poisonous_message_goes_to_another_queue()
    {
        var poison = Queue($"{queue.Name}-poison");
        await queue.SendMessageAsync("bad");
        for (var attempt = 1; attempt <= 5; attempt++)
        {
            QueueMessage got = await queue.ReceiveMessageAsync(Minute);
            Assert.Equal(attempt, got.DequeueCount);
            if (attempt < 5)
            {
                await queue.UpdateMessageAsync(got.MessageId, got.PopReceipt, visibilityTimeout: TimeSpan.Zero);
                continue;
            }
            await poison.CreateIfNotExistsAsync();
            await poison.SendMessageAsync(got.MessageText);
            await queue.DeleteMessageAsync(got.MessageId, got.PopReceipt);
        }
        PeekedMessage moved = await poison.PeekMessageAsync();
        Assert.Equal(("bad", 0), (moved.MessageText, moved.DequeueCount));
        await poison.DeleteAsync();
    }

    [Fact]
    public async Task A_peek_changes_nothing()
    {
        await queue.SendMessageAsync("1");
        await queue.SendMessageAsync("2");
        for (var round = 0; round < 2; round++)
        {
            PeekedMessage[] peeked = await queue.PeekMessagesAsync(32);
            Assert.Equal(["1", "2"], peeked.Select(message => message.MessageText));
            Assert.All(peeked, message => Assert.Equal(0, message.DequeueCount));
        }
        Assert.Equal(2, (await queue.ReceiveMessagesAsync(32)).Value.Length);
    }

    [Fact]
    public async Task Counts_and_a_clear()
    {
        await Task.WhenAll(Enumerable.Range(0, 40).Select(i => queue.SendMessageAsync($"{i}")));
        Assert.Equal(40, (await queue.GetPropertiesAsync()).Value.ApproximateMessagesCount);
        QueueMessage[] some = await queue.ReceiveMessagesAsync(32, Minute);
        Assert.Equal(32, some.Length);
        Assert.Equal(40, (await queue.GetPropertiesAsync()).Value.ApproximateMessagesCountLong);
        await queue.ClearMessagesAsync();
        Assert.Equal(0, (await queue.GetPropertiesAsync()).Value.ApproximateMessagesCount);
        await Refused.With(404, "MessageNotFound", () => queue.DeleteMessageAsync(some[0].MessageId, some[0].PopReceipt));
    }

    [Fact]
    public async Task Each_message_goes_to_one_of_many_receivers()
    {
        await Task.WhenAll(Enumerable.Range(0, 100).Select(i => queue.SendMessageAsync($"{i}")));
        var got = await Task.WhenAll(Enumerable.Range(0, 5).Select(async _ =>
        {
            var mine = new List<string>();
            while ((await queue.ReceiveMessagesAsync(16, Minute)).Value is { Length: > 0 } messages)
            {
                foreach (var message in messages)
                {
                    mine.Add(message.MessageText);
                    await queue.DeleteMessageAsync(message.MessageId, message.PopReceipt);
                }
            }
            return mine;
        }));
        Assert.Equal(Enumerable.Range(0, 100), got.SelectMany(mine => mine).Select(int.Parse).Order());
    }

    [Fact]
    public async Task Metadata()
    {
        await queue.SetMetadataAsync(new Dictionary<string, string> { ["One"] = "1", ["two"] = "a, b" });
        QueueProperties read = await queue.GetPropertiesAsync();
        Assert.Equal(("1", "a, b"), (read.Metadata["one"], read.Metadata["two"]));
        var listed = Assert.Single(await Queues().GetQueuesAsync(QueueTraits.Metadata, queue.Name).ToList());
        Assert.Equal("a, b", listed.Metadata["two"]);
        await queue.SetMetadataAsync(new Dictionary<string, string>());
        Assert.Empty((await queue.GetPropertiesAsync()).Value.Metadata);
    }

    [Fact]
    public async Task Create_again()
    {
        // The same metadata: nothing happens. Other metadata: refused.
        Assert.Equal(204, (await queue.CreateAsync()).Status);
        await Refused.With(409, "QueueAlreadyExists", () => queue.CreateAsync(new Dictionary<string, string> { ["k"] = "v" }));
        Assert.Null(await queue.CreateIfNotExistsAsync());
        Assert.True(await queue.ExistsAsync());
        await queue.DeleteAsync();
        Assert.False(await queue.ExistsAsync());
        Assert.False(await queue.DeleteIfExistsAsync());
        await Refused.With(404, "QueueNotFound", () => queue.SendMessageAsync("x"));
        await Refused.With(404, "QueueNotFound", () => queue.ReceiveMessagesAsync());
    }

    [Theory]
    [InlineData("ab")]
    [InlineData("UPPER")]
    [InlineData("a--b")]
    [InlineData("-abc")]
    public async Task A_bad_name(string name)
    {
        var error = await Assert.ThrowsAsync<RequestFailedException>(() => Queue(name).CreateAsync());
        Assert.Equal(400, error.Status);
        Assert.Contains(error.ErrorCode, (string?[])["InvalidResourceName", "OutOfRangeInput"]);
    }

    [Fact]
    public async Task Queues_by_prefix_and_pages()
    {
        foreach (var i in Enumerable.Range(0, 5)) await Queue($"{queue.Name}-{i}").CreateAsync();
        var pages = new List<int>();
        await foreach (var page in Queues().GetQueuesAsync(prefix: $"{queue.Name}-").AsPages(pageSizeHint: 2)) pages.Add(page.Values.Count);
        Assert.Equal([2, 2, 1], pages);
        foreach (var i in Enumerable.Range(0, 5)) await Queue($"{queue.Name}-{i}").DeleteAsync();
    }

    [Fact]
    public async Task Access_policies()
    {
        await queue.SetAccessPolicyAsync([new QueueSignedIdentifier { Id = "adders", AccessPolicy = new QueueAccessPolicy { Permissions = "a", ExpiresOn = DateTimeOffset.UtcNow.AddHours(1) } }]);
        Assert.Equal("a", (await queue.GetAccessPolicyAsync()).Value.Single().AccessPolicy.Permissions);
        var signed = new QueueClient(queue.GenerateSasUri(new Azure.Storage.Sas.QueueSasBuilder { QueueName = queue.Name, Identifier = "adders" }));
        await signed.SendMessageAsync("1");
        await queue.SetAccessPolicyAsync([]);
        await Refused.With(403, "AuthenticationFailed", () => signed.SendMessageAsync("2"));
    }

    [Fact]
    public async Task Properties_and_statistics_of_the_service()
    {
        QueueServiceProperties properties = await Queues().GetPropertiesAsync();
        properties.Cors = [new QueueCorsRule { AllowedOrigins = "https://a.example", AllowedMethods = "GET", AllowedHeaders = "*", ExposedHeaders = "*", MaxAgeInSeconds = 5 }];
        await Queues().SetPropertiesAsync(properties);
        Assert.Equal("https://a.example", Assert.Single((await Queues().GetPropertiesAsync()).Value.Cors).AllowedOrigins);
        properties.Cors = [];
        await Queues().SetPropertiesAsync(properties);
        var secondary = new QueueServiceClient(Stores.SecondaryOf(Stores.Queues), Key);
        Assert.Equal(QueueGeoReplicationStatus.Live, (await secondary.GetStatisticsAsync()).Value.GeoReplication.Status);
    }

    [Fact]
    public async Task A_busy_store_and_a_lost_answer()
    {
        var wire = Wire.Busy(2);
        await Queue(queue.Name, new QueueClientOptions().Through(wire)).SendMessageAsync("1");
        Assert.Equal(3, wire.Calls.Count);
        // A message whose answer was lost is there twice: readers must expect that.
        await Queue(queue.Name, new QueueClientOptions().Through(Wire.Forgetful(1))).SendMessageAsync("2");
        Assert.Equal(["1", "2", "2"], (await queue.PeekMessagesAsync(32)).Value.Select(message => message.MessageText));
    }

    [Fact]
    public async Task Peeks_fail_over_to_the_secondary()
    {
        await queue.SendMessageAsync("1");
        var secondary = new UriBuilder(Stores.Queues) { Host = "localhost" }.Uri;
        var options = new QueueClientOptions { GeoRedundantSecondaryUri = secondary }.Through(Wire.WithoutPrimary(secondary.Host));
        Assert.Equal("1", (await Queue(queue.Name, options).PeekMessageAsync()).Value.MessageText);
    }
}
