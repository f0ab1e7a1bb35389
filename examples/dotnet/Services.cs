using Azure;
using Azure.Storage.Queues.Models;
using DurableTask.AzureStorage;
using DurableTask.Core;

namespace Shop;

/// Runs the orchestrations and their steps.
public sealed class OrchestrationWorker(AzureStorageOrchestrationService service, ISteps steps, ILoggerFactory loggers) : BackgroundService
{
    protected override async Task ExecuteAsync(CancellationToken stopping)
    {
        using var worker = new TaskHubWorker(service, loggers) { ErrorPropagationMode = ErrorPropagationMode.UseFailureDetails };
        worker.AddTaskOrchestrations(typeof(Fulfilment));
        worker.AddTaskActivitiesFromInterface(steps);
        await worker.StartAsync();
        await Task.Delay(Timeout.Infinite, stopping).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        await worker.StopAsync();
    }
}

/// Takes the placed orders out of the queue, and starts an orchestration for each.
public sealed class OrderReceiver(Store store, TaskHubClient hub, ILogger<OrderReceiver> log) : BackgroundService
{
    protected override async Task ExecuteAsync(CancellationToken stopping)
    {
        using var pause = new PeriodicTimer(TimeSpan.FromMilliseconds(250));
        do
        {
            try
            {
                while (await Receive(stopping)) continue;
            }
            catch (RequestFailedException failure)
            {
                // What was received comes back.
                log.LogWarning(failure, "Orders cannot be received at the moment");
            }
        }
        while (await pause.WaitForNextTickAsync(stopping));
    }

    /// Returns whether there were any.
    async Task<bool> Receive(CancellationToken stopping)
    {
        QueueMessage[] messages = await store.Placed.ReceiveMessagesAsync(32, TimeSpan.FromMinutes(1), stopping);
        await Task.WhenAll(messages.Select(async message =>
        {
            // The order's id is the instance's. A message that comes twice finds the instance there, and starts nothing.
            await hub.CreateOrchestrationInstanceAsync(typeof(Fulfilment), message.Body.ToString(), message.Body.ToString(),
                Enum.GetValues<OrchestrationStatus>());
            await store.Placed.DeleteMessageAsync(message.MessageId, message.PopReceipt, stopping);
        }));
        return messages.Length > 0;
    }
}
