using DurableTask.Core;

namespace Tidemark.Tests.Durable;

/// Stores are killed in the middle of the work, and come back on their ports with their data.
[Trait("Night", "kills")]
public sealed class Kills
{
    // With their sub-orchestrations, the journeys are 360 instances.
    const int Journeys = 60, Deliveries = 6;
    static readonly string[] stores = ["table_store", "queue_service", "blob_store"];
    static readonly string text = Convert.ToHexString(Stores.Bytes(50_000));

    // One after the other: each has the stores, and their deaths, for itself.
    [Theory(DisableParallelization = true)]
    [InlineData(Partitions.InTable)]
    [InlineData(Partitions.InBlobs)]
    [InlineData(Partitions.AsAtFirst)]
    public async Task Hundreds_of_instances_all_end_rightly_although_stores_die_under_them(Partitions partitions)
    {
        // What a worker could not finish comes back soon.
        await using var hub = new Hub(partitions, settings =>
            settings.ControlQueueVisibilityTimeout = settings.WorkItemQueueVisibilityTimeout = TimeSpan.FromSeconds(15));
        var worker = await hub.StartWorker("one");
        var journeys = await Task.WhenAll(Enumerable.Range(0, Journeys).Select(number => hub.Start<Journey>(number)));
        var deliveries = await Task.WhenAll(Enumerable.Range(0, Deliveries).Select(_ => hub.Start<Delivery>(text)));

        var allEnd = AllEnd(hub, [.. journeys, .. deliveries]);
        var kills = await KillInTurn(worker, allEnd);
        await allEnd;

        Assert.True(kills >= 3, $"only {kills} kills");
        for (var number = 0; number < Journeys; ++number)
        {
            Assert.Equal(Journey.Expected(number), await hub.Result<long>(journeys[number]));
        }
        var reversed = new string([.. text.Reverse()]);
        foreach (var delivery in deliveries) Assert.Equal(reversed, await hub.Result<string>(delivery));
    }

    /// Kills the next store each time that the worker has done some steps more.
    static async Task<int> KillInTurn(Worker worker, Task end)
    {
        using var killer = new HttpClient { BaseAddress = Stores.Killer };
        var kills = 0;
        for (var mark = 20; ; mark = worker.Steps + 100)
        {
            await Hub.Until(() => Task.FromResult(end.IsCompleted || worker.Steps >= mark), seconds: 600);
            if (end.IsCompleted) return kills;
            (await killer.PostAsync(stores[kills++ % stores.Length], null)).EnsureSuccessStatusCode();
        }
    }

    static async Task AllEnd(Hub hub, OrchestrationInstance[] instances)
    {
        foreach (var instance in instances)
        {
            await Hub.Until(async () =>
            {
                try
                {
                    return (await hub.Client.GetOrchestrationStateAsync(instance.InstanceId))?.OrchestrationStatus
                        is not (OrchestrationStatus.Pending or OrchestrationStatus.Running);
                }
                catch (Exception)
                {
                    return false;  // nobody answers in the moment of a kill
                }
            }, seconds: 600);
        }
    }
}
