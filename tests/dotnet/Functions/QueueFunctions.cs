using Azure.Storage.Queues;
using Azure.Storage.Queues.Models;
using Microsoft.Azure.WebJobs;

namespace Tidemark.Tests.Functions;

public sealed record Taken(string Text, long DequeueCount);

public sealed class Taker(Notes notes)
{
    public Task Take([QueueTrigger("%in%")] string text, long dequeueCount) => notes.Add(new Taken(text, dequeueCount));
}

/// Is tried again by the host before the message goes back.
public sealed class Stubborn(Notes notes)
{
    [FixedDelayRetry(3, "00:00:00.050")]
    public Task Take([QueueTrigger("%in%")] string text, long dequeueCount) => notes.Add(new Taken(text, dequeueCount));
}

public sealed record Details(
    string Text, string Id, string PopReceipt, long DequeueCount, DateTimeOffset Inserted, DateTimeOffset Expires, DateTimeOffset VisibleAgain);

public sealed class Curious(Notes notes)
{
    public Task Take([QueueTrigger("%in%")] string text, string id, string popReceipt, long dequeueCount, DateTimeOffset insertionTime,
        DateTimeOffset expirationTime, DateTimeOffset nextVisibleTime) =>
        notes.Add(new Details(text, id, popReceipt, dequeueCount, insertionTime, expirationTime, nextVisibleTime));
}

public sealed class Order
{
    public int Number { get; set; }
    public string Region { get; set; } = "";
    public string[] Lines { get; set; } = [];
}

public sealed class Shop
{
    [return: Queue("%in%-{Region}")]
    public string Sell([QueueTrigger("%in%")] Order order) => $"{order.Number}: {string.Join(", ", order.Lines)}";
}

/// The kinds of parameters that a message can be bound to.
public sealed class Kinds(Notes notes)
{
    public static readonly string[] All = ["bytes", "data", "message"];

    public Task Bytes([QueueTrigger("%in%-bytes")] byte[] bytes) => notes.Add(System.Text.Encoding.UTF8.GetString(bytes));

    public Task Data([QueueTrigger("%in%-data")] BinaryData data) => notes.Add(data.ToString());

    public Task Message([QueueTrigger("%in%-message")] QueueMessage message) => notes.Add(message.Body.ToString());
}

public sealed record Healed(string Text);

public sealed class Physician(Notes notes)
{
    public Task Heal([QueueTrigger("%in%-poison")] string text) => notes.Add(new Healed(text));
}

/// Sends in each way that there is.
public sealed class Sender(Notes notes)
{
    [NoAutomaticTrigger]
    [return: Queue("%out%-returned")]
    public async Task<string> Send(
        string text, [Queue("%out%-collected")] IAsyncCollector<Order> collected, [Queue("%out%-client")] QueueClient client)
    {
        await client.CreateIfNotExistsAsync();
        await client.SendMessageAsync($"client {text}");
        await notes.Add(text);
        await collected.AddAsync(new Order { Number = 1 });
        await collected.AddAsync(new Order { Number = 2 });
        return $"returned {text}";
    }

    [NoAutomaticTrigger]
    public void SendOut(string text, [Queue("%out%-out")] out string message)
    {
        message = $"out {text}";
        notes.Add(text).GetAwaiter().GetResult();
    }
}
