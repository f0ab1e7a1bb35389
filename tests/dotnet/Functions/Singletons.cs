using System.Diagnostics;
using System.Text.Json;
using Azure.Storage.Blobs;
using Azure.Storage.Blobs.Models;
using Microsoft.Azure.WebJobs.Host.Scale;
using Microsoft.Azure.WebJobs.Hosting;
using Microsoft.Extensions.DependencyInjection;
using static Tidemark.Tests.Functions.QueuesOfCases;

namespace Tidemark.Tests.Functions;

/// Locks of functions and of hosts, which are leases of blobs.
public sealed class Singletons
{
    readonly string name = Stores.FreshName("s");

    [Fact]
    public async Task A_singleton_runs_once_at_a_time_on_all_hosts()
    {
        const int count = 10;
        var queue = await Make(name);
        for (var number = 0; number < count; number++) await queue.SendMessageAsync($"{number}");
        await using var hosts = await Two(typeof(Alone));
        var most = MostAtOnce(hosts.Notes);
        await Empty(queue);
        Assert.Equal(count, hosts.Notes.Of<string>().Distinct().Count());
        Assert.Equal(1, most());
    }

    [Fact]
    public async Task Scopes_have_locks_of_their_own()
    {
        var queue = await Make(name);
        foreach (var region in (string[])["north", "north", "south"])
        {
            await queue.SendMessageAsync(BinaryData.FromObjectAsJson(new Order { Region = region }));
        }
        await using var hosts = await Two(typeof(AloneInRegion));
        var (both, working) = (new TaskCompletionSource(), new HashSet<string>());
        var twice = false;
        hosts.Notes.Then = async note =>
        {
            var region = ((Order)note).Region;
            lock (working)
            {
                twice |= !working.Add(region);
                if (working.Count == 2) both.TrySetResult();
            }
            await both.Task;
            lock (working) working.Remove(region);
        };
        await Empty(queue);
        Assert.Equal(3, hosts.Notes.Of<Order>().Count);
        Assert.False(twice);
    }

    [Fact]
    public async Task Functions_share_a_lock_of_the_host()
    {
        var queues = await Task.WhenAll(Make(name), Make($"{name}-two"));
        for (var number = 0; number < 4; number++) await queues[number % 2].SendMessageAsync($"{number}");
        await using var hosts = await Two(typeof(AloneTogether));
        var most = MostAtOnce(hosts.Notes);
        foreach (var queue in queues) await Empty(queue);
        Assert.Equal(["0", "1", "2", "3"], hosts.Notes.Of<string>().Order());
        Assert.Equal(1, most());
    }

    [Fact]
    public async Task A_lock_is_a_lease_that_says_who_has_it()
    {
        await using var host = await Host.Start(Locks.Recipe(typeof(Guard), name, name));
        BlobProperties held = null!;
        host.Notes.Then = async _ => held = await Lock("Guard.Hold").GetPropertiesAsync();
        await host.Call<Guard>(nameof(Guard.Hold), new { word = "mine" });
        Assert.Equal((LeaseState.Leased, LeaseDurationType.Fixed), (held.LeaseState, held.LeaseDuration));
        Assert.True(Guid.TryParse(held.Metadata["FunctionInstance"], out _));
        Assert.Equal(LeaseState.Available, (await Lock("Guard.Hold").GetPropertiesAsync()).Value.LeaseState);
    }

    [Fact]
    public async Task A_lock_is_kept_for_longer_than_its_period()
    {
        await using var hosts = await Two(typeof(Guard));
        var (clock, first) = (Stopwatch.StartNew(), new TaskCompletionSource());
        TimeSpan? second = null;
        hosts.Notes.Then = async note =>
        {
            if (note is "first")
            {
                first.SetResult();
                await Eventually.Holds(() => Task.FromResult(clock.Elapsed > Locks.Shortest + TimeSpan.FromSeconds(3)), "an end");
                Assert.Null(second);
            }
            else second = clock.Elapsed;
        };
        var holding = hosts.One.Call<Guard>(nameof(Guard.Hold), new { word = "first" });
        await first.Task;
        await hosts.Other.Call<Guard>(nameof(Guard.Hold), new { word = "second" });
        await holding;
        Assert.True(second > Locks.Shortest);
    }

    [Fact]
    public async Task Who_waits_for_a_lock_too_long_gives_up()
    {
        await using var hosts = await Two(typeof(Guard));
        var (first, end) = (new TaskCompletionSource(), new TaskCompletionSource());
        hosts.Notes.Then = _ =>
        {
            first.SetResult();
            return end.Task;
        };
        var holding = hosts.One.Call<Guard>(nameof(Guard.HoldBriefly), new { word = "first" });
        await first.Task;
        var error = await Assert.ThrowsAnyAsync<Exception>(() => hosts.Other.Call<Guard>(nameof(Guard.HoldBriefly), new { word = "second" }));
        Assert.IsType<TimeoutException>(error.GetBaseException());
        end.SetResult();
        await holding;
        Assert.Equal(["first"], hosts.Notes.Of<string>());
    }

    [Fact]
    public async Task Another_host_listens_when_the_one_that_listened_has_stopped()
    {
        var queue = await Make(name);
        var listening = await Host.Start(Locks.Recipe(typeof(Listener), name, name));
        await using var other = await Host.Start(Locks.Recipe(typeof(Listener), name, name));
        for (var number = 0; number < 20; number++) await queue.SendMessageAsync($"{number}");
        await listening.Notes.Until<string>(20);
        Assert.Empty(other.Notes.Of<string>());
        await listening.DisposeAsync();
        await queue.SendMessageAsync("for the other");
        Assert.Equal(["for the other"], await other.Notes.Until<string>(1));
    }

    [Fact]
    public async Task Another_host_has_the_locks_of_one_that_was_killed_when_they_have_expired()
    {
        var (work, listen) = (await Make($"{name}-work"), await Make($"{name}-listen"));
        var recipe = Locks.Recipe(typeof(Guard), name, name);
        using var killed = await ProcessOfAHost.Start(recipe);
        await listen.SendMessageAsync("before");
        await killed.Says("hears before");
        await work.SendMessageAsync("something");
        await killed.Says("works on something");
        await Eventually.Holds(() => IsLeased("host"), "a primary host");
        await using var host = await Host.Start(recipe);
        Assert.True(await IsLeased("Guard.Work") && await IsLeased("Guard.Listen.Listener"));

        killed.Kill();
        await listen.SendMessageAsync("after");
        await work.SendMessageAsync("something else");
        await Eventually.Holds(() => Task.FromResult(host.Notes.Of<string>().Contains("hears after")), "the other host listens");
        await Eventually.Holds(() => Task.FromResult(host.Notes.Of<string>().Contains("works on something else")), "the other host works");
        var primary = host.Services.GetRequiredService<IPrimaryHostStateProvider>();
        await Eventually.Holds(() => Task.FromResult(primary.IsPrimary), "the other host is the primary one");

        async Task<bool> IsLeased(string what)
        {
            var blob = Lock(what);
            return await blob.ExistsAsync() && (await blob.GetPropertiesAsync()).Value.LeaseState == LeaseState.Leased;
        }
    }

    [Fact]
    public async Task One_host_is_the_primary_one_and_another_when_it_has_stopped()
    {
        var one = await Host.Start(Locks.Recipe(typeof(Guard), name, name));
        var first = one.Services.GetRequiredService<IPrimaryHostStateProvider>();
        await Eventually.Holds(() => Task.FromResult(first.IsPrimary), "a primary host");
        await using var other = await Host.Start(Locks.Recipe(typeof(Guard), name, name));
        var second = other.Services.GetRequiredService<IPrimaryHostStateProvider>();
        Assert.False(second.IsPrimary);
        await one.DisposeAsync();
        await Eventually.Holds(() => Task.FromResult(second.IsPrimary), "another primary host");
    }

    [Fact]
    public async Task The_primary_host_stores_how_many_calls_at_once_suit_a_function()
    {
        var queue = await Make(name);
        await using var host = await Host.Start(Locks.Recipe(typeof(Taker), name, name) with
        {
            More = jobs => jobs.Services.Configure<ConcurrencyOptions>(options => options.DynamicConcurrencyEnabled = true),
        });
        await queue.SendMessageAsync("work");
        await Empty(queue);
        var stored = new BlobClient(Stores.Connection, Host.Hosts, $"concurrency/{name}/concurrencyStatus.json");
        await Eventually.Holds(async () => await stored.ExistsAsync() && JsonDocument.Parse((await stored.DownloadContentAsync()).Value.Content)
            .RootElement.GetProperty("FunctionSnapshots").EnumerateObject().Any(function => function.Name.EndsWith("Taker.Take")), "what it has learned");
    }

    async Task<Pair> Two(Type functions)
    {
        var recipe = Locks.Recipe(functions, name, name);
        return new(await Host.Start(recipe), await Host.Start(recipe));
    }

    /// Counts how many functions work side by side.
    static Func<int> MostAtOnce(Notes notes)
    {
        var (working, most) = (0, 0);
        notes.Then = async _ =>
        {
            most = Math.Max(most, Interlocked.Increment(ref working));
            await Task.Delay(50);
            Interlocked.Decrement(ref working);
        };
        return () => most;
    }

    BlobClient Lock(string what) => new(Stores.Connection, Host.Hosts, what == "host" ? $"locks/{name}/host" : $"locks/{name}/Tidemark.Tests.Functions.{what}");

    /// Two hosts that note in one place.
    sealed record Pair(Host One, Host Other) : IAsyncDisposable
    {
        public Notes Notes => One.Notes;

        public async ValueTask DisposeAsync()
        {
            await One.DisposeAsync();
            await Other.DisposeAsync();
        }
    }
}
