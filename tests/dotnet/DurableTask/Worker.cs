using DurableTask.AzureStorage;
using DurableTask.Core;

namespace Tidemark.Tests.Durable;

/// A worker of a hub. It can lose its connection to the stores, for which it is then dead.
public sealed class Worker
{
    readonly TaskHubWorker worker;
    volatile bool cut, started;
    int steps;

    public Worker(Func<Wire, AzureStorageOrchestrationServiceSettings> settings)
    {
        var wire = new Wire((_, _) => cut ? throw new HttpRequestException("the cable is cut") : null);
        worker = new(new AzureStorageOrchestrationService(settings(wire))) { ErrorPropagationMode = ErrorPropagationMode.UseFailureDetails };
        worker.AddTaskOrchestrations([.. Orchestrations.All]);
        worker.AddTaskActivities(Activities.All);
        worker.AddTaskEntities(typeof(Account));
        worker.AddOrchestrationDispatcherMiddleware((_, next) =>
        {
            Interlocked.Increment(ref steps);
            return next();
        });
    }

    /// How often it has run orchestrations.
    public int Steps => steps;

    public void Cut() => cut = true;

    public void Mend() => cut = false;

    public async Task Start()
    {
        await worker.StartAsync();
        started = true;
    }

    public async Task Stop()
    {
        if (!started) return;
        started = false;
        await worker.StopAsync(isForced: true);
    }
}
