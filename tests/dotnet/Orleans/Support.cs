using Azure.Data.Tables;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;

namespace Tidemark.Tests.Silos;

public static class Ports
{
    static readonly string[] given = (Environment.GetEnvironmentVariable("TIDEMARK_PORTS") ?? "").Split(' ', StringSplitOptions.RemoveEmptyEntries);
    static int taken;

    /// A port that the runner has reserved.
    public static int Next() => int.Parse(given[Interlocked.Increment(ref taken) - 1]);
}

/// Silos of one cluster: some in this process, some in processes of their own.
public sealed class Cluster : IAsyncDisposable
{
    readonly List<IHost> hosts = [];
    readonly List<OtherProcess> processes = [];

    public string Id { get; } = Stores.FreshName("c");

    public TableClient Members { get; } = Silo.TableService().GetTableClient("OrleansSiloInstances");

    public async Task<IHost> Start(string name, int port = 0, int gateway = 0)
    {
        var host = new Silo(Id, name, port > 0 ? port : Ports.Next(), gateway).Build();
        lock (hosts) hosts.Add(host);
        await host.StartAsync();
        return host;
    }

    public async Task<OtherProcess> StartProcess(string name, int port)
    {
        var process = await ProcessOfASilo.Start(new Silo(Id, name, port));
        processes.Add(process);
        return process;
    }

    public async Task Stop(IHost host)
    {
        lock (hosts) hosts.Remove(host);
        await host.StopAsync();
        host.Dispose();
    }

    /// The rows of the silos in the membership table, in the order of their start.
    public async Task<List<TableEntity>> Rows()
    {
        var rows = new List<TableEntity>();
        await foreach (var row in Members.QueryAsync<TableEntity>(row => row.PartitionKey == Id))
        {
            if (row.ContainsKey("SiloName")) rows.Add(row);
        }
        return [.. rows.OrderBy(row => int.Parse(row.GetString("Generation")))];
    }

    /// The silos and what the table says of them, such as "a:Active b:Dead".
    public async Task<string> States() =>
        string.Join(" ", (await Rows()).Select(row => $"{row.GetString("SiloName")}:{row.GetString("Status")}").Order());

    public Task Become(string states) => Eventually.Holds(async () => await States() == states, states);

    public async Task<int> Version()
    {
        TableEntity row = await Members.GetEntityAsync<TableEntity>(Id, "VersionRow");
        return int.Parse(row.GetString("MembershipVersion"));
    }

    public async ValueTask DisposeAsync()
    {
        foreach (var process in processes) process.Kill();
        foreach (var host in hosts.ToArray()) await Stop(host);
    }
}

/// A cluster of two silos that the cases of a collection share.
public sealed class SharedCluster : IAsyncLifetime
{
    IHost? first;
    IHost? second;

    public Cluster Cluster { get; } = new();

    public IServiceProvider Services => first!.Services;

    public IGrainFactory Grains => Services.GetRequiredService<IGrainFactory>();

    public async ValueTask InitializeAsync()
    {
        first = await Cluster.Start("first", gateway: Ports.Next());
        second = await Cluster.Start("second");
    }

    public ValueTask DisposeAsync() => Cluster.DisposeAsync();
}

public static class GrainExtensions
{
    public static IGrainFactory Grains(this IHost host) => host.Services.GetRequiredService<IGrainFactory>();

    /// The grain, activated anew: it has read its state from the store.
    public static async Task<TGrain> Anew<TGrain>(this TGrain grain) where TGrain : IForgetful
    {
        var before = await grain.Activation();
        await grain.Forget();
        await Eventually.Holds(async () => await grain.Activation() != before, "a new activation");
        return grain;
    }
}

public static class Repeated
{
    /// Makes a call until it is answered: a store or a silo may be away.
    public static async Task<T> UntilAnswered<T>(Func<Task<T>> call)
    {
        T? answer = default;
        await Eventually.Holds(() => Succeeds(async () => answer = await call()), "an answer");
        return answer!;
    }

    public static async Task<bool> Succeeds(Func<Task> call)
    {
        try
        {
            await call();
            return true;
        }
        catch (Exception)
        {
            return false;
        }
    }
}
