using DurableTask.AzureStorage.Tracking;
using DurableTask.Core;

namespace Tidemark.Tests.Durable;

/// What operators do with instances.
public abstract class Care(Hub hub)
{
    [Fact]
    public async Task A_terminated_instance_says_why()
    {
        var instance = await hub.StartRunning<Forever>(1);
        await hub.Client.TerminateInstanceAsync(instance, "nobody needs it");
        var state = await hub.Ended(instance);
        Assert.Equal((OrchestrationStatus.Terminated, "nobody needs it"), (state.OrchestrationStatus, state.Output));
    }

    [Fact]
    public async Task A_suspended_instance_takes_its_events_when_it_is_resumed()
    {
        var instance = await hub.StartRunning<Approval>(600_000);
        await hub.Client.SuspendInstanceAsync(instance);
        await hub.In(OrchestrationStatus.Suspended, instance);
        await hub.Client.RaiseEventAsync(instance, "Ann", "yes");
        await hub.Client.ResumeInstanceAsync(instance);
        Assert.Equal("Ann: yes", await hub.Result<string>(instance));
    }

    [Fact]
    public async Task A_failed_instance_is_rewound_and_repeats_only_what_failed()
    {
        var key = Guid.NewGuid().ToString();
        Activities.Broken[key] = true;
        var instance = await hub.Start<Transfer>(key);
        var state = await hub.Ended(instance);
        Assert.Equal(OrchestrationStatus.Failed, state.OrchestrationStatus);
        Assert.Contains("nobody is at home", state.FailureDetails?.ErrorMessage + state.Output);

        Activities.Broken.Remove(key, out _);
        await hub.Service.RewindTaskOrchestrationAsync(instance.InstanceId, "somebody is at home now");
        state = await hub.In(OrchestrationStatus.Completed, instance);
        Assert.Equal("\"taken, given\"", state.Output);
        Assert.Equal(1, Activities.Taken[key]);
    }

    [Fact]
    public async Task A_purged_instance_is_gone_with_its_history()
    {
        var instance = await hub.Start<Delivery>("abc");
        await hub.Ended(instance);
        Assert.Contains("cba", await hub.Client.GetOrchestrationHistoryAsync(instance));

        var purged = await hub.Service.PurgeInstanceHistoryAsync(instance.InstanceId);
        Assert.Equal(1, purged.InstancesDeleted);
        Assert.True(purged.RowsDeleted > 4, $"{purged.RowsDeleted} rows");
        Assert.Null(await hub.Client.GetOrchestrationStateAsync(instance.InstanceId));
        Assert.Equal("[]", await hub.Client.GetOrchestrationHistoryAsync(instance));
        Assert.Equal(0, (await hub.Service.PurgeInstanceHistoryAsync(instance.InstanceId)).InstancesDeleted);
    }

    [Fact]
    public async Task Instances_are_found_page_by_page_by_the_beginning_of_their_names()
    {
        var prefix = Stores.FreshName("page");
        var instances = await Task.WhenAll(Enumerable.Range(0, 7).Select(i => hub.Start<Delivery>("abc", $"{prefix}-{i}")));
        foreach (var instance in instances) await hub.Ended(instance);
        var condition = new OrchestrationInstanceStatusQueryCondition
        {
            InstanceIdPrefix = prefix,
            RuntimeStatus = [OrchestrationStatus.Completed],
        };
        var (found, token, pages) = (new List<string>(), (string?)null, 0);
        do
        {
            var page = await hub.Service.GetOrchestrationStateAsync(condition, 3, token);
            found.AddRange(page.OrchestrationState.Select(state => state.OrchestrationInstance.InstanceId));
            (token, pages) = (page.ContinuationToken, pages + 1);
        } while (!string.IsNullOrEmpty(token));
        Assert.Equal(instances.Select(instance => instance.InstanceId), found);
        Assert.InRange(pages, 3, 4);
    }
}

public sealed class CareInTable(Hubs hubs) : Care(hubs.InTable);

public sealed class CareInBlobs(Hubs hubs) : Care(hubs.InBlobs);
