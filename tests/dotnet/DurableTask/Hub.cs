using Azure.Core.Pipeline;
using Azure.Data.Tables;
using Azure.Storage.Blobs;
using Azure.Storage.Queues;
using DurableTask.AzureStorage;
using DurableTask.Core;
using DurableTask.Core.Serializing;

namespace Tidemark.Tests.Durable;

/// Where the workers of a hub share out its partitions: in a table, in blobs with leases, or as the first version did.
public enum Partitions { InTable, InBlobs, AsAtFirst }

/// A task hub of its own, with a client and some workers.
public sealed class Hub : IAsyncDisposable
{
    readonly List<Worker> workers = [];
    readonly Partitions partitions;
    readonly Action<AzureStorageOrchestrationServiceSettings>? more;

    public Hub(Partitions partitions, Action<AzureStorageOrchestrationServiceSettings>? more = null)
    {
        (this.partitions, this.more) = (partitions, more);
        Service = new(SettingsOf("client", new Wire()));
        Client = new(Service);
    }

    public string Name { get; } = Stores.FreshName("Hub");
    public AzureStorageOrchestrationService Service { get; }
    public TaskHubClient Client { get; }

    public async Task<Worker> StartWorker(string name)
    {
        var worker = new Worker(wire => SettingsOf(name, wire));
        workers.Add(worker);
        await worker.Start();
        return worker;
    }

    public Task<OrchestrationInstance> Start<T>(object? input = null, string? id = null) where T : TaskOrchestration =>
        Client.CreateOrchestrationInstanceAsync(typeof(T), id ?? Guid.NewGuid().ToString("N"), input);

    /// Starts an orchestration, and returns when it runs: the framework puts the message before it writes the instance's row, and
    /// a worker that sees the message first puts it off, and drops events that come before it.
    public async Task<OrchestrationInstance> StartRunning<T>(object input) where T : TaskOrchestration
    {
        var instance = await Start<T>(input);
        await In(OrchestrationStatus.Running, instance);
        return instance;
    }

    /// Starts an orchestration, and returns what it returned in the end.
    public async Task<TResult> Run<T, TResult>(object? input = null) where T : TaskOrchestration => await Result<TResult>(await Start<T>(input));

    public async Task<TResult> Result<TResult>(OrchestrationInstance instance)
    {
        var state = await Ended(instance);
        Assert.Equal((OrchestrationStatus.Completed, null), (state.OrchestrationStatus, state.FailureDetails?.ErrorMessage));
        return JsonDataConverter.Default.Deserialize<TResult>(state.Output)!;
    }

    public async Task<OrchestrationState> Ended(OrchestrationInstance instance)
    {
        await Until(async () => await Client.GetOrchestrationStateAsync(instance.InstanceId) is { OrchestrationStatus:
            OrchestrationStatus.Completed or OrchestrationStatus.Failed or OrchestrationStatus.Terminated });
        return await Client.WaitForOrchestrationAsync(new() { InstanceId = instance.InstanceId }, TimeSpan.FromSeconds(1));
    }

    /// The state of an instance as soon as it is as wanted.
    public async Task<OrchestrationState> In(OrchestrationStatus status, OrchestrationInstance instance)
    {
        OrchestrationState? state = null;
        await Until(async () => (state = await Client.GetOrchestrationStateAsync(instance.InstanceId))?.OrchestrationStatus == status);
        return state!;
    }

    public static async Task Until(Func<Task<bool>> condition, int seconds = 120)
    {
        using var limit = new CancellationTokenSource(TimeSpan.FromSeconds(seconds));
        while (!await condition()) await Task.Delay(200, limit.Token);
    }

    /// Stops the workers, and deletes the hub.
    public async ValueTask DisposeAsync()
    {
        foreach (var worker in workers) await worker.Stop();
        await Service.DeleteAsync();
    }

    AzureStorageOrchestrationServiceSettings SettingsOf(string worker, Wire wire)
    {
        var transport = new HttpClientTransport(wire);
        var settings = new AzureStorageOrchestrationServiceSettings
        {
            TaskHubName = Name,
            WorkerId = worker,
            StorageAccountClientProvider = new(
                StorageServiceClientProvider.ForBlob(Stores.Connection, new BlobClientOptions { Transport = transport }),
                StorageServiceClientProvider.ForQueue(Stores.Connection, new QueueClientOptions { Transport = transport }),
                StorageServiceClientProvider.ForTable(Stores.Connection, new TableClientOptions { Transport = transport })),
            UseTablePartitionManagement = partitions == Partitions.InTable,
            UseLegacyPartitionManagement = partitions == Partitions.AsAtFirst,
            PartitionCount = 2,
            UseAppLease = false,
            ThrowExceptionOnInvalidDedupeStatus = true,
            UseSeparateQueueForEntityWorkItems = true,
            // A message that a worker could not handle comes back soon, not after the usual 5 minutes.
            ControlQueueVisibilityTimeout = TimeSpan.FromSeconds(15),
            WorkItemQueueVisibilityTimeout = TimeSpan.FromSeconds(15),
            MaxQueuePollingInterval = TimeSpan.FromMilliseconds(250),
            // The shortest times that leases can have.
            LeaseInterval = TimeSpan.FromSeconds(15),
            LeaseRenewInterval = TimeSpan.FromSeconds(3),
            LeaseAcquireInterval = TimeSpan.FromSeconds(1),
        };
        more?.Invoke(settings);
        return settings;
    }
}
