using DurableTask.Core;

namespace Tidemark.Tests.Durable;

/// Two workers share a hub, until one of them is gone.
public sealed class Workers
{
    [Theory]
    [InlineData(Partitions.InTable)]
    [InlineData(Partitions.InBlobs)]
    [InlineData(Partitions.AsAtFirst)]
    public async Task A_worker_that_stops_leaves_its_instances_to_the_other(Partitions partitions)
    {
        await using var hub = new Hub(partitions);
        var (leaving, staying, waiting) = await TwoWithWork(hub);
        await leaving.Stop();
        await AllEnd(hub, waiting);
        Assert.True(staying.Steps > 0);
    }

    [Theory]
    [InlineData(Partitions.InTable)]
    [InlineData(Partitions.InBlobs)]
    public async Task Another_worker_does_the_work_of_one_that_died_and_of_a_ghost_that_returns(Partitions partitions)
    {
        // What the dead worker had taken out of a queue comes back soon.
        await using var hub = new Hub(partitions, settings =>
            settings.ControlQueueVisibilityTimeout = settings.WorkItemQueueVisibilityTimeout = TimeSpan.FromSeconds(5));
        var (dying, _, waiting) = await TwoWithWork(hub);
        dying.Cut();
        await AllEnd(hub, waiting);

        // It believes that the partitions are still its own, and has to see that they are not.
        dying.Mend();
        Assert.Equal(Journey.Expected(7), await hub.Run<Journey, long>(7));
    }

    /// Starts two workers that both have something to do, and instances that wait for a word.
    static async Task<(Worker, Worker, OrchestrationInstance[])> TwoWithWork(Hub hub)
    {
        var first = await hub.StartWorker("first");
        var second = await hub.StartWorker("second");
        await Hub.Until(async () =>
        {
            await Task.WhenAll(Enumerable.Range(0, 4).Select(_ => hub.Run<Fibonacci, int>(1)));
            return first.Steps > 0 && second.Steps > 0;
        });
        var waiting = await Task.WhenAll(Enumerable.Range(0, 8).Select(_ => hub.StartRunning<Approval>(600_000)));
        return (first, second, waiting);
    }

    static async Task AllEnd(Hub hub, OrchestrationInstance[] waiting)
    {
        await Task.WhenAll(waiting.Select(instance => hub.Client.RaiseEventAsync(instance, "Ann", "yes")));
        foreach (var instance in waiting) Assert.Equal("Ann: yes", await hub.Result<string>(instance));
    }
}
