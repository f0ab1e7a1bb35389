using Microsoft.Azure.WebJobs.Extensions.DurableTask;
using static Tidemark.Tests.Functions.QueuesOfCases;

namespace Tidemark.Tests.Functions;

/// What orchestrations are made of.
public sealed class Flows(SharedHub shared)
{
    Hub Hub => shared.Hub;

    [Fact]
    public async Task An_orchestration_goes_from_one_activity_to_the_next_and_has_a_history()
    {
        var id = await Hub.Start(nameof(Orchestrations.Greeting), "olleh");
        Assert.Equal("helloolleh", await Hub.Result<string>(id));
        var status = await Hub.Client.GetStatusAsync(id, showHistory: true, showHistoryOutput: true);
        Assert.Equal(("olleh", "5"), ($"{status.Input}", $"{status.CustomStatus["Turned"]}"));
        Assert.Equal(["ExecutionStarted", "TaskCompleted hello", "TaskCompleted olleh", "ExecutionCompleted helloolleh"],
            status.History.Select(entry => $"{entry["EventType"]} {entry["Result"]}".Trim()));
    }

    [Fact]
    public async Task Activities_side_by_side_all_give_their_results() =>
        Assert.Equal(9455, await Hub.Run<int>(nameof(Orchestrations.SumOfSquares), 30));

    [Fact]
    public async Task Sub_orchestrations_give_their_results_to_those_that_started_them() =>
        Assert.Equal(5, await Hub.Run<int>(nameof(Orchestrations.Fibonacci), 5));

    // It is a message that is invisible until then, and the SDK cuts that time down to whole seconds.
    [Fact]
    public async Task A_timer_fires_less_than_a_second_early() =>
        Assert.True(await Hub.Run<TimeSpan>(nameof(Orchestrations.Alarm), 2000) >= TimeSpan.FromMilliseconds(1000));

    [Fact]
    public async Task An_event_ends_the_wait_and_a_timer_ends_it_without_one()
    {
        var unanswered = await Hub.Start(nameof(Orchestrations.Approval), 300);
        var answered = await Hub.StartRunning(nameof(Orchestrations.Approval), 600_000);
        await Hub.Client.RaiseEventAsync(answered, "other", "no");
        await Hub.Client.RaiseEventAsync(answered, "word", "yes");
        Assert.Equal("yes", await Hub.Result<string>(answered));
        Assert.Equal("too late", await Hub.Result<string>(unanswered));
    }

    [Fact]
    public async Task Events_outlive_the_executions_of_an_instance_that_continues_as_new()
    {
        var till = await Hub.StartRunning(nameof(Orchestrations.Till), 1000);
        await Task.WhenAll(Enumerable.Range(1, 20).Select(amount => Hub.Client.RaiseEventAsync(till, "add", amount)));
        await Eventually.Holds(async () => $"{(await Hub.Client.GetStatusAsync(till)).CustomStatus}" == "1210", "the sum");
        await Hub.Client.RaiseEventAsync(till, "add", 0);
        Assert.Equal(1210, await Hub.Result<int>(till));
    }

    [Fact]
    public async Task An_instance_continues_as_new_with_what_its_activities_found() =>
        Assert.Equal(55, await Hub.Run<int>(nameof(Orchestrations.Relay), (5, 0)));

    [Fact]
    public async Task An_activity_is_tried_again_until_it_succeeds()
    {
        var key = Stores.FreshName();
        Activities.Failures[key] = 2;
        Assert.Equal("done", await Hub.Run<string>(nameof(Orchestrations.Persistent), key));
        Assert.Equal(3, Activities.Calls[key]);
    }

    [Fact]
    public async Task An_instance_fails_when_its_activity_has_failed_often_enough()
    {
        var key = Stores.FreshName();
        Activities.Failures[key] = 9;
        var status = await Hub.Ended(await Hub.Start(nameof(Orchestrations.Persistent), key));
        Assert.Equal(OrchestrationRuntimeStatus.Failed, status.RuntimeStatus);
        Assert.Contains("nobody is at home", $"{status.Output}");
        Assert.Equal(3, Activities.Calls[key]);
    }

    [Fact]
    public async Task An_orchestration_does_something_else_when_a_part_of_it_fails()
    {
        var key = Stores.FreshName();
        Activities.Failures[key] = 1;
        var text = await Hub.Run<string>(nameof(Orchestrations.Careful), key);
        Assert.Contains("nobody is at home", new string([.. text.Reverse()]));
    }

    [Fact]
    public async Task A_message_starts_an_orchestration_that_sends_its_result()
    {
        var queue = Hub.Name.ToLowerInvariant();
        await (await Make(queue)).SendMessageAsync("olleh");
        Assert.Equal("hello", await Next($"{queue}-out"));
    }

    [Fact]
    public async Task Dozens_of_instances_side_by_side_all_end_with_their_own_results()
    {
        var instances = await Task.WhenAll(Enumerable.Range(1, 12).Select(number => Hub.Start(nameof(Orchestrations.Journey), number)));
        for (var number = 1; number <= 12; number++)
        {
            Assert.Equal(Orchestrations.ExpectedOfJourney(number), await Hub.Result<int>(instances[number - 1]));
        }
    }

    [Theory]
    [InlineData(44 << 10)]
    [InlineData(64 << 10)]
    [InlineData(1 << 20)]
    public async Task A_text_of_any_length_goes_to_an_activity_and_comes_back(int length)
    {
        var text = Convert.ToHexString(Stores.Bytes(length / 2, seed: length));
        var id = await Hub.Start(nameof(Orchestrations.Greeting), text);
        Assert.Equal(new string([.. text.Reverse()]) + text, await Hub.Result<string>(id));
        Assert.Equal(text, $"{(await Hub.Client.GetStatusAsync(id)).Input}");
    }
}
