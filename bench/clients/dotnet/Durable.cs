using DurableTask.AzureStorage;
using DurableTask.Core;
using Microsoft.Extensions.Configuration;

namespace Tidemark.Bench;

/// One worker of a task hub of its own, and one instance whose activities do nothing.
public static class Durable
{
    const int WarmUp = 10;
    static readonly TimeSpan Limit = TimeSpan.FromMinutes(10);

    public static async Task Run<T>(IConfiguration options) where T : TaskOrchestration
    {
        var activities = options.GetValue<int>("activities");
        var service = new AzureStorageOrchestrationService(Settings(options.GetValue<bool>("tuned")));
        await service.CreateAsync();
        using var worker = new TaskHubWorker(service);
        worker.AddTaskOrchestrations(typeof(T));
        worker.AddTaskActivities(typeof(Echo));
        await worker.StartAsync();
        var client = new TaskHubClient(service);
        await Complete<T>(client, WarmUp);

        using var measurement = new Measurement();
        await Complete<T>(client, activities);
        measurement.End(activities);

        await worker.StopAsync(isForced: true);
        await service.DeleteAsync();
    }

    static AzureStorageOrchestrationServiceSettings Settings(bool tuned)
    {
        var settings = new AzureStorageOrchestrationServiceSettings
        {
            TaskHubName = Account.FreshName(),
            StorageAccountClientProvider = new(Account.Connection),
        };
        if (tuned)
        {
            // An instance stays in memory between its steps, and a worker takes as much as it can.
            settings.ExtendedSessionsEnabled = true;
            settings.ControlQueueBufferThreshold = 1000;
            settings.MaxConcurrentTaskActivityWorkItems = 100;
            settings.MaxQueuePollingInterval = TimeSpan.FromMilliseconds(100);
        }
        return settings;
    }

    /// Returns when the instance is completed. TaskHubClient would look every 2 seconds only.
    static async Task Complete<T>(TaskHubClient client, int activities) where T : TaskOrchestration
    {
        var instance = await client.CreateOrchestrationInstanceAsync(typeof(T), activities);
        using var limit = new CancellationTokenSource(Limit);
        await Returned.Of(instance.InstanceId).WaitAsync(limit.Token);
        OrchestrationState? state;
        while ((state = await client.GetOrchestrationStateAsync(instance.InstanceId))?.OrchestrationStatus
            is OrchestrationStatus.Pending or OrchestrationStatus.Running)
        {
            await Task.Delay(5, limit.Token);
        }
        var expected = (activities * (activities - 1L) / 2).ToString();
        if (state?.Output != expected) throw new InvalidOperationException($"{state?.OrchestrationStatus} with {state?.Output} instead of {expected}");
    }
}

public sealed class FanOut : TaskOrchestration<long, int>
{
    public override async Task<long> RunTask(OrchestrationContext context, int activities) =>
        Returned.With(context, (await Task.WhenAll(Enumerable.Range(0, activities).Select(n => context.ScheduleTask<long>(typeof(Echo), n)))).Sum());
}

public sealed class Sequence : TaskOrchestration<long, int>
{
    public override async Task<long> RunTask(OrchestrationContext context, int activities)
    {
        var sum = 0L;
        for (var n = 0; n < activities; ++n) sum += await context.ScheduleTask<long>(typeof(Echo), n);
        return Returned.With(context, sum);
    }
}

public sealed class Echo : TaskActivity<long, long>
{
    protected override long Execute(TaskContext context, long number) => number;
}
