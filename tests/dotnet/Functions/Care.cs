using Azure.Storage.Blobs;
using DurableTask.Core;
using Microsoft.Azure.WebJobs.Extensions.DurableTask;

namespace Tidemark.Tests.Functions;

/// What operators do with instances.
public sealed class Care(SharedHub shared)
{
    Hub Hub => shared.Hub;

    [Fact]
    public async Task A_terminated_instance_says_why()
    {
        var id = await Hub.StartRunning(nameof(Orchestrations.Approval), 600_000);
        await Hub.Client.TerminateAsync(id, "nobody needs it");
        var status = await Hub.Ended(id);
        Assert.Equal((OrchestrationRuntimeStatus.Terminated, "nobody needs it"), (status.RuntimeStatus, $"{status.Output}"));
    }

    [Fact]
    public async Task A_suspended_instance_takes_its_events_when_it_is_resumed()
    {
        var id = await Hub.StartRunning(nameof(Orchestrations.Approval), 600_000);
        await Hub.Client.SuspendAsync(id, "a pause");
        await Hub.In(OrchestrationRuntimeStatus.Suspended, id);
        await Hub.Client.RaiseEventAsync(id, "word", "yes");
        await Hub.Client.ResumeAsync(id, "no pause");
        Assert.Equal("yes", await Hub.Result<string>(id));
    }

    [Fact]
    public async Task An_instance_that_runs_is_not_started_again_and_one_that_ended_is()
    {
        var id = await Hub.StartRunning(nameof(Orchestrations.Approval), 600_000);
        await Assert.ThrowsAnyAsync<Exception>(() => Hub.Start(nameof(Orchestrations.Approval), 1, id));
        await Hub.Client.RaiseEventAsync(id, "word", "first");
        Assert.Equal("first", await Hub.Result<string>(id));
        await Hub.Start(nameof(Orchestrations.Greeting), "second", id);
        await Eventually.Holds(async () => (await Hub.Client.GetStatusAsync(id)).Name == nameof(Orchestrations.Greeting), "the next one");
        Assert.Equal("dnocessecond", await Hub.Result<string>(id));
    }

    [Fact]
    public async Task An_instance_is_restarted_with_its_input_and_another_id()
    {
        var id = await Hub.Start(nameof(Orchestrations.Greeting), "again");
        await Hub.Ended(id);
        var other = await Hub.Client.RestartAsync(id);
        Assert.NotEqual(id, other);
        Assert.Equal("niagaagain", await Hub.Result<string>(other));
    }

    [Fact]
    public async Task A_failed_instance_is_rewound_and_goes_on()
    {
        var key = Stores.FreshName();
        Activities.Failures[key] = 1;
        var id = await Hub.Start(nameof(Orchestrations.Careless), key);
        Assert.Equal(OrchestrationRuntimeStatus.Failed, (await Hub.Ended(id)).RuntimeStatus);
#pragma warning disable CS0618 // It is in preview.
        await Hub.Client.RewindAsync(id, "somebody is at home now");
#pragma warning restore CS0618
        await Hub.In(OrchestrationRuntimeStatus.Completed, id);
        Assert.Equal("done", await Hub.Result<string>(id));
        Assert.Equal(2, Activities.Calls[key]);
    }

    [Fact]
    public async Task A_purged_instance_is_gone_with_its_history_and_its_blobs()
    {
        var id = await Hub.Start(nameof(Orchestrations.Greeting), Convert.ToHexString(Stores.Bytes(100_000)));
        await Hub.Ended(id);
        Assert.NotEmpty(BlobsOf(id));
        Assert.Equal(1, (await Hub.Client.PurgeInstanceHistoryAsync(id)).InstancesDeleted);
        Assert.Null(await Hub.Client.GetStatusAsync(id));
        Assert.Empty(BlobsOf(id));
        Assert.Equal(0, (await Hub.Client.PurgeInstanceHistoryAsync(id)).InstancesDeleted);
    }

    [Fact]
    public async Task Instances_are_found_page_by_page_by_the_beginning_of_their_names()
    {
        var prefix = Stores.FreshName("page");
        var ids = await Task.WhenAll(Enumerable.Range(0, 7).Select(number => Hub.Start(nameof(Orchestrations.Greeting), "abc", $"{prefix}-{number}")));
        foreach (var id in ids) await Hub.Ended(id);
        var condition = new OrchestrationStatusQueryCondition
        {
            InstanceIdPrefix = prefix,
            RuntimeStatus = [OrchestrationRuntimeStatus.Completed],
            CreatedTimeFrom = DateTime.UtcNow.AddHours(-1),
            PageSize = 3,
        };
        var (found, pages) = (new List<string>(), 0);
        do
        {
            var page = await Hub.Client.ListInstancesAsync(condition, default);
            found.AddRange(page.DurableOrchestrationState.Select(status => status.InstanceId));
            condition.ContinuationToken = page.ContinuationToken;
            pages++;
        } while (condition.ContinuationToken is not null);
        Assert.Equal(ids, found);
        Assert.InRange(pages, 3, 4);
    }

    [Fact]
    public async Task All_instances_of_a_time_and_a_status_are_purged()
    {
        await using var own = new Hub(inTable: false);
        await own.StartHost();
        var ended = await Task.WhenAll(Enumerable.Range(0, 5).Select(_ => own.Start(nameof(Orchestrations.Greeting), "abc")));
        foreach (var id in ended) await own.Result<string>(id);
        var running = await own.StartRunning(nameof(Orchestrations.Approval), 600_000);
        var purged = await own.Client.PurgeInstanceHistoryAsync(DateTime.UtcNow.AddHours(-1), DateTime.UtcNow, [OrchestrationStatus.Completed]);
        Assert.Equal(5, purged.InstancesDeleted);
        foreach (var id in ended) Assert.Null(await own.Client.GetStatusAsync(id));
        Assert.Equal(OrchestrationRuntimeStatus.Running, (await own.Client.GetStatusAsync(running)).RuntimeStatus);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_host_that_stops_leaves_its_instances_to_the_other(bool inTable)
    {
        await using var own = new Hub(inTable);
        var leaving = await own.StartHost();
        await own.StartHost();
        var waiting = await Task.WhenAll(Enumerable.Range(0, 8).Select(_ => own.StartRunning(nameof(Orchestrations.Approval), 600_000)));
        await own.Stop(leaving);
        await Task.WhenAll(waiting.Select(id => own.Client.RaiseEventAsync(id, "word", "yes")));
        foreach (var id in waiting) Assert.Equal("yes", await own.Result<string>(id));
    }

    List<string> BlobsOf(string id) => [.. new BlobContainerClient(Stores.Connection, Hub.Name.ToLowerInvariant() + "-largemessages")
        .GetBlobs(default, default, id + "/", default).Select(blob => blob.Name)];
}
