using Azure;
using Azure.Storage.Queues;
using Azure.Storage.Queues.Models;

namespace Tidemark.Tests.Functions;

/// The queues that cases look into.
public static class QueuesOfCases
{
    public static QueueClient Client(string name, QueueMessageEncoding encoding = QueueMessageEncoding.Base64) =>
        new(Stores.Connection, name, new QueueClientOptions { MessageEncoding = encoding });

    public static async Task<QueueClient> Make(string name, QueueMessageEncoding encoding = QueueMessageEncoding.Base64)
    {
        var queue = Client(name, encoding);
        await queue.CreateIfNotExistsAsync();
        return queue;
    }

    public static async Task<bool> IsMade(QueueClient queue)
    {
        try
        {
            await queue.CreateAsync();
            return true;
        }
        catch (RequestFailedException error) when (error.ErrorCode == QueueErrorCode.QueueBeingDeleted)
        {
            return false;
        }
    }

    /// The next message of a queue, which may not be there yet.
    public static async Task<string> Next(string name, QueueMessageEncoding encoding = QueueMessageEncoding.Base64)
    {
        var queue = Client(name, encoding);
        QueueMessage? message = null;
        await Eventually.Holds(
            async () => await queue.ExistsAsync() && (message = await queue.ReceiveMessageAsync()) is not null, $"a message in {name}");
        return message!.Body.ToString();
    }

    /// Waits until all messages have been dealt with.
    public static Task Empty(QueueClient queue) =>
        Eventually.Holds(async () => (await queue.GetPropertiesAsync()).Value.ApproximateMessagesCount == 0, $"{queue.Name} is empty");
}
