using Microsoft.Azure.WebJobs;
using Microsoft.Azure.WebJobs.Extensions.DurableTask;
using Microsoft.Azure.WebJobs.Extensions.DurableTask.ContextImplementations;
using Microsoft.Azure.WebJobs.Extensions.DurableTask.Options;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Tidemark.Tests.Functions;

[assembly: AssemblyFixture(typeof(SharedHub))]
// The cases wait for most of their time.
[assembly: Xunit.v3.Parallelization(Mode = Xunit.Sdk.ParallelMode.All, MaxThreads = 24)]

namespace Tidemark.Tests.Functions;

/// A task hub, with the hosts that work on it.
public sealed class Hub : IAsyncDisposable
{
    readonly List<Host> hosts = [];
    readonly bool inTable;
    readonly ServiceProvider clients;

    /// The hosts share out the partitions of the hub in a table, or by leases of blobs.
    public Hub(bool inTable = true)
    {
        this.inTable = inTable;
        // As a program has it that is no host.
        clients = new ServiceCollection().AddLogging()
            .AddSingleton<IConfiguration>(new ConfigurationBuilder().AddInMemoryCollection([new("Storage", Stores.Connection)]).Build())
            .AddDurableClientFactory().Configure<DurableTaskOptions>(Configure).BuildServiceProvider();
        Client = clients.GetRequiredService<IDurableClientFactory>().CreateClient(new() { ConnectionName = "Storage", TaskHub = Name });
    }

    public string Name { get; } = Stores.FreshName("Hub");
    public IDurableClient Client { get; }

    public async Task<Host> StartHost(params Type[] more)
    {
        var host = await Host.Start(Recipe(more));
        hosts.Add(host);
        return host;
    }

    public async Task Stop(Host host)
    {
        hosts.Remove(host);
        await host.DisposeAsync();
    }

    public Recipe Recipe(params Type[] more) => new([typeof(Activities), typeof(Orchestrations), typeof(Account), .. more])
    {
        Names = { ["in"] = Name.ToLowerInvariant() },
        More = jobs => jobs.AddDurableTask(Configure),
    };

    void Configure(DurableTaskOptions options)
    {
        options.HubName = Name;
        options.StorageProvider["partitionCount"] = 2;
        options.StorageProvider["useTablePartitionManagement"] = inTable;
        options.StorageProvider["maxQueuePollingInterval"] = "00:00:00.250";
        // The shortest times: what a host could not handle comes back soon.
        options.StorageProvider["controlQueueVisibilityTimeout"] = "00:01:00";
        options.StorageProvider["workItemQueueVisibilityTimeout"] = "00:00:15";
    }

    public Task<string> Start(string function, object input, string? id = null) => Client.StartNewAsync(function, id, input);

    /// Starts an orchestration, and returns when it runs: events that come before are lost with the message that starts it, if it
    /// has to wait for the row of its instance.
    public async Task<string> StartRunning(string function, object input)
    {
        var id = await Start(function, input);
        await In(OrchestrationRuntimeStatus.Running, id);
        return id;
    }

    public async Task<T> Run<T>(string function, object input) => await Result<T>(await Start(function, input));

    public async Task<T> Result<T>(string id)
    {
        var status = await Ended(id);
        Assert.True(status.RuntimeStatus == OrchestrationRuntimeStatus.Completed, $"{status.RuntimeStatus}: {status.Output}");
        return status.Output.ToObject<T>()!;
    }

    public async Task<DurableOrchestrationStatus> Ended(string id)
    {
        DurableOrchestrationStatus? status = null;
        await Eventually.Holds(async () => (status = await Client.GetStatusAsync(id))?.RuntimeStatus is OrchestrationRuntimeStatus.Completed
            or OrchestrationRuntimeStatus.Failed or OrchestrationRuntimeStatus.Terminated, $"the end of {id}");
        return status!;
    }

    public Task In(OrchestrationRuntimeStatus wanted, string id) =>
        Eventually.Holds(async () => (await Client.GetStatusAsync(id))?.RuntimeStatus == wanted, $"{id} is {wanted}");

    public async ValueTask DisposeAsync()
    {
        foreach (var host in hosts.ToArray()) await Stop(host);
        await clients.DisposeAsync();
    }
}

/// The hub of the cases that need none of their own.
public sealed class SharedHub : IAsyncLifetime
{
    public Hub Hub { get; } = new();

    public async ValueTask InitializeAsync() => await Hub.StartHost(typeof(Reception));

    public ValueTask DisposeAsync() => Hub.DisposeAsync();
}
