using System.Diagnostics;
using static Tidemark.Tests.Functions.QueuesOfCases;

namespace Tidemark.Tests.Functions;

/// A host takes a message for ten minutes, which cannot be changed, and takes it for longer after five.
[Trait("Night", "long")]
public sealed class Long
{
    static readonly TimeSpan taken = TimeSpan.FromMinutes(10);
    readonly string name = Stores.FreshName("l");

    [Fact]
    public async Task A_message_stays_with_a_function_that_runs_longer_than_the_message_was_taken_for()
    {
        var queue = await Make(name);
        var recipe = new Recipe(typeof(Taker)) { Names = { ["in"] = name } };
        await using Host one = await Host.Start(recipe), other = await Host.Start(recipe);
        var clock = Stopwatch.StartNew();
        recipe.Notes.Then = _ => Eventually.Holds(
            () => Task.FromResult(clock.Elapsed > taken + TimeSpan.FromSeconds(45)), "the end", limitSeconds: 900);
        await queue.SendMessageAsync("long");
        await Eventually.Holds(
            async () => (await queue.GetPropertiesAsync()).Value.ApproximateMessagesCount == 0, "the message is done", limitSeconds: 900);
        Assert.Equal(new Taken("long", 1), Assert.Single(recipe.Notes.Of<Taken>()));
        Assert.True(clock.Elapsed > taken);
    }

    [Fact]
    public async Task Another_host_takes_the_message_of_one_that_was_killed_when_its_time_is_over()
    {
        var queue = await Make(name);
        var recipe = new Recipe(typeof(Taker)) { Names = { ["in"] = name } };
        using var killed = await ProcessOfAHost.Start(recipe);
        await queue.SendMessageAsync("orphan");
        await killed.Says($"{new Taken("orphan", 1)}");
        var clock = Stopwatch.StartNew();
        killed.Kill();
        await using var host = await Host.Start(recipe);
        await Eventually.Holds(() => Task.FromResult(host.Notes.Count > 0), "the message comes back", limitSeconds: 900);
        Assert.Equal(new Taken("orphan", 2), Assert.Single(host.Notes.Of<Taken>()));
        Assert.InRange(clock.Elapsed, taken - TimeSpan.FromSeconds(20), taken + TimeSpan.FromMinutes(2));
        await Empty(queue);
    }
}
