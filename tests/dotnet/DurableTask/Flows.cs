using DurableTask.Core;
using DurableTask.Core.Exceptions;

namespace Tidemark.Tests.Durable;

/// What orchestrations are made of.
public abstract class Flows(Hub hub)
{
    [Fact]
    public async Task Sub_orchestrations_give_their_results_to_those_that_started_them() =>
        Assert.Equal(5, await hub.Run<Fibonacci, int>(5));

    // It is a message that is invisible until then, and the SDK cuts that time down to whole seconds.
    [Fact]
    public async Task A_timer_fires_less_than_a_second_early() =>
        Assert.True(await hub.Run<Alarm, TimeSpan>(2000) >= TimeSpan.FromMilliseconds(1000));

    [Fact]
    public async Task An_event_ends_the_wait_and_a_timer_ends_it_without_one()
    {
        var (answered, unanswered) = (await hub.StartRunning<Approval>(600_000), await hub.Start<Approval>(300));
        await hub.Client.RaiseEventAsync(answered, "Ann", "yes");
        Assert.Equal("Ann: yes", await hub.Result<string>(answered));
        Assert.Equal("too late", await hub.Result<string>(unanswered));
    }

    [Fact]
    public async Task Events_outlive_the_executions_of_an_instance_that_continues_as_new()
    {
        var till = await hub.StartRunning<Till>(1000);
        await Task.WhenAll(Enumerable.Range(1, 20).Select(amount => hub.Client.RaiseEventAsync(Any(till), "add", amount)));
        await Hub.Until(async () => (await hub.Client.GetOrchestrationStateAsync(till.InstanceId))?.Status == "1210");
        await hub.Client.RaiseEventAsync(Any(till), "close", 0);
        Assert.Equal(1210, await hub.Result<int>(till));
    }

    [Fact]
    public async Task An_instance_continues_as_new_with_what_its_activities_found() =>
        Assert.Equal("25 16 9 4 1", string.Join(" ", await hub.Run<Relay, int[]>((5, Array.Empty<int>()))));

    [Fact]
    public async Task Dozens_of_instances_side_by_side_all_end_with_their_own_results()
    {
        var numbers = Enumerable.Range(1, 24).ToArray();
        var instances = await Task.WhenAll(numbers.Select(number => hub.Start<Journey>(number)));
        foreach (var (number, instance) in numbers.Zip(instances))
        {
            Assert.Equal(Journey.Expected(number), await hub.Result<long>(instance));
        }
    }

    [Theory]
    [InlineData("it's 100% \"odd\" / with \\ # and ?")]
    [InlineData("Größe-日本-🌊")]
    public async Task An_instance_may_have_any_name(string name)
    {
        var instance = await hub.Start<Delivery>("abc", name + Guid.NewGuid());
        Assert.Equal("cba", await hub.Result<string>(instance));
        Assert.Equal(1, (await hub.Service.PurgeInstanceHistoryAsync(instance.InstanceId)).InstancesDeleted);
    }

    [Fact]
    public async Task A_name_is_not_given_twice_while_its_instance_runs()
    {
        var instance = await hub.StartRunning<Approval>(600_000);
        OrchestrationStatus[] taken = [OrchestrationStatus.Pending, OrchestrationStatus.Running];
        await Assert.ThrowsAsync<OrchestrationAlreadyExistsException>(
            () => hub.Client.CreateOrchestrationInstanceAsync(typeof(Approval), instance.InstanceId, 1, taken));
        await hub.Client.RaiseEventAsync(instance, "Ann", "no");
        Assert.Equal("Ann: no", await hub.Result<string>(instance));
        await hub.Client.CreateOrchestrationInstanceAsync(typeof(Approval), instance.InstanceId, 1, taken);
        await Hub.Until(async () => (await hub.Ended(instance)).Output == "\"too late\"");
    }

    // Whatever execution the instance is in.
    static OrchestrationInstance Any(OrchestrationInstance instance) => new() { InstanceId = instance.InstanceId };
}

public sealed class FlowsInTable(Hubs hubs) : Flows(hubs.InTable);

public sealed class FlowsInBlobs(Hubs hubs) : Flows(hubs.InBlobs);
