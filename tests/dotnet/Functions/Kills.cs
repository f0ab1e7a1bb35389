using Azure.Storage.Blobs;
using Microsoft.Azure.WebJobs.Extensions.DurableTask;
using static Tidemark.Tests.Functions.QueuesOfCases;

namespace Tidemark.Tests.Functions;

/// Stores are killed in the middle of the work, and come back on their ports with their data.
[Trait("Night", "kills")]
public sealed class Kills
{
    // With their sub-orchestrations, the journeys of a hub are 180 instances.
    const int Messages = 400, Lonely = 40, Journeys = 30, MostKills = 36;
    static readonly string[] stores = ["table_store", "queue_service", "blob_store"];
    readonly string name = Stores.FreshName("k");
    readonly Notes notes = new();
    int alone, mostAlone;

    [Fact]
    public async Task Everything_is_dealt_with_although_stores_die_under_the_hosts()
    {
        notes.Then = Work;
        await new BlobContainerClient(Stores.Connection, name).CreateAsync();
        var (queue, lonely, outcome) = (await Make(name), await Make($"{name}-alone"), await Make($"{name}-out"));
        await Task.WhenAll(Enumerable.Range(0, Messages).Select(number => queue.SendMessageAsync($"{number}")));
        await Task.WhenAll(Enumerable.Range(0, Lonely).Select(number => lonely.SendMessageAsync($"{number}")));
        await using Hub inTable = new(), inBlobs = new(inTable: false);
        Hub[] hubs = [inTable, inBlobs];
        var journeys = new List<(Hub Hub, string Id, int Number)>();
        // The tables and queues of a hub are made by its first host.
        foreach (var hub in hubs) await (await Host.Start(hub.Recipe())).DisposeAsync();
        foreach (var hub in hubs)
        {
            for (var number = 0; number < Journeys; number++) journeys.Add((hub, await hub.Start(nameof(Orchestrations.Journey), number), number));
        }

        await using var keepers = new Keepers([Milling(), Milling(), inTable.Recipe(), inTable.Recipe(), inBlobs.Recipe()]);
        var done = AllDone(journeys);
        var kills = await KillInTurn(done);
        await done;

        Assert.InRange(kills, 3, int.MaxValue);
        foreach (var (hub, id, number) in journeys) Assert.Equal(Orchestrations.ExpectedOfJourney(number), await hub.Result<int>(id));
        string[] all = [.. Enumerable.Range(0, Messages).Select(number => $"{number}").Order()];
        Assert.Equal(all, notes.Of<Ground>().Select(note => note.Text).Distinct().Order());
        Assert.Equal(all, notes.Of<Taken>().Select(note => note.Text).Distinct().Order());
        Assert.Equal(all.Select(text => (text, text)), notes.Of<Found>().Select(note => (note.Name, note.Text)).Distinct().Order());
        Assert.Equal(Lonely, notes.Of<AloneWith>().Select(note => note.Text).Distinct().Count());
        Assert.Equal(1, mostAlone);
        foreach (var each in (string[])[name, $"{name}-alone", $"{name}-out"])
        {
            await Empty(Client(each));
            Assert.False((await Client($"{each}-poison").ExistsAsync()).Value);
        }
    }

    Recipe Milling() => new(typeof(Mill))
    {
        Id = name,
        Notes = notes,
        Connection = HostStyle.Connection,
        Names = { ["in"] = name, ["box"] = name },
        // Attempts fail while a store is away, and that is no reason to give a message up.
        Queues = options => options.MaxDequeueCount = 1000,
        More = jobs =>
        {
            HostStyle.Use(jobs);
            Locks.Use(jobs);
        },
    };

    async Task Work(object note)
    {
        if (note is not AloneWith) return;
        mostAlone = Math.Max(mostAlone, Interlocked.Increment(ref alone));
        await Task.Delay(20);
        Interlocked.Decrement(ref alone);
    }

    /// Kills the next store each time that the functions have done some more.
    async Task<int> KillInTurn(Task end)
    {
        using var killer = new HttpClient { BaseAddress = Stores.Killer };
        for (var kills = 0; kills < MostKills; kills++)
        {
            var mark = Steps + 40;
            await Eventually.Holds(() => Task.FromResult(end.IsCompleted || Steps >= mark), "work goes on or ends", limitSeconds: 900);
            if (end.IsCompleted) return kills;
            (await killer.PostAsync(stores[kills % stores.Length], null)).EnsureSuccessStatusCode();
        }
        return MostKills;
    }

    int Steps => notes.Count + Activities.Steps;

    /// Waits until everything has been dealt with at least once. A message whose host got no answer when it took it comes back
    /// after ten minutes.
    async Task AllDone(List<(Hub Hub, string Id, int Number)> journeys)
    {
        foreach (var (hub, id, _) in journeys)
        {
            await Eventually.Holds(() => Answered(async () => (await hub.Client.GetStatusAsync(id)).RuntimeStatus
                is not (OrchestrationRuntimeStatus.Pending or OrchestrationRuntimeStatus.Running)), $"the end of {id}", limitSeconds: 900);
        }
        await Eventually.Holds(() => Task.FromResult(
            notes.Of<Ground>().Distinct().Count() == Messages && notes.Of<Taken>().DistinctBy(note => note.Text).Count() == Messages &&
            notes.Of<Found>().Distinct().Count() == Messages && notes.Of<AloneWith>().Distinct().Count() == Lonely), "all is done", limitSeconds: 900);
    }

    /// Asks again where nobody answers, in the moment of a kill.
    static async Task<bool> Answered(Func<Task<bool>> question)
    {
        try
        {
            return await question();
        }
        catch (Exception)
        {
            return false;
        }
    }

    sealed class Keepers(IEnumerable<Recipe> recipes) : IAsyncDisposable
    {
        readonly Keeper[] keepers = [.. recipes.Select(recipe => new Keeper(recipe))];

        public async ValueTask DisposeAsync() => await Task.WhenAll(keepers.Select(keeper => keeper.DisposeAsync().AsTask()));
    }
}
