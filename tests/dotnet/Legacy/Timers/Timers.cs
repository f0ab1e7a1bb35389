using Microsoft.WindowsAzure.Storage;
using Microsoft.WindowsAzure.Storage.Blob;
using Microsoft.Azure.WebJobs;
using Microsoft.Azure.WebJobs.Extensions.Timers;
using Microsoft.Azure.WebJobs.Host;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Newtonsoft.Json.Linq;

[assembly: Xunit.v3.Parallelization(Mode = Xunit.Sdk.ParallelMode.All)]

namespace Tidemark.Tests.Timers;

public sealed class EverySecond() : ConstantSchedule(TimeSpan.FromSeconds(1));

public sealed class EveryHour() : ConstantSchedule(TimeSpan.FromHours(1));

public sealed record Tick(bool IsPastDue, DateTime Scheduled);

public sealed class Clock(Notes notes)
{
    public Task Tick([TimerTrigger(typeof(EverySecond))] TimerInfo timer) => notes.Add(new Tick(timer.IsPastDue, timer.ScheduleStatus.Next));
}

public sealed class Alarm(Notes notes)
{
    public Task Ring([TimerTrigger(typeof(EveryHour), RunOnStartup = true)] TimerInfo timer) => notes.Add(new Tick(timer.IsPastDue, timer.ScheduleStatus.Next));
}

/// Functions that timers trigger: a lease says which host listens to a timer, and a blob when it ticked.
public sealed class Timers
{
    readonly string id = Stores.FreshName("t");
    readonly CloudBlobContainer hosts =
        CloudStorageAccount.Parse(Stores.Connection).CreateCloudBlobClient().GetContainerReference("azure-webjobs-hosts");

    [Fact]
    public async Task A_host_notes_when_a_timer_ticked_and_will_tick()
    {
        var host = await Start<Alarm>();
        await host.Notes.Until<Tick>(1);
        await host.DisposeAsync();
        var status = JObject.Parse(await Status("Alarm.Ring").DownloadTextAsync());
        Assert.Equal(TimeSpan.FromHours(1), status["Next"]!.Value<DateTime>() - status["Last"]!.Value<DateTime>());
        Assert.InRange(DateTime.Now - status["Last"]!.Value<DateTime>(), TimeSpan.Zero, TimeSpan.FromMinutes(10));
    }

    [Fact]
    public async Task Of_two_hosts_one_ticks_and_each_time_once()
    {
        var notes = new[] { await Start<Clock>(), await Start<Clock>() };
        await notes[0].Notes.Until<Tick>(5);
        Assert.Empty(notes[1].Notes.Of<Tick>());
        foreach (var host in notes) await host.DisposeAsync();
        var times = notes[0].Notes.Of<Tick>().Select(tick => tick.Scheduled).ToArray();
        Assert.Equal(times.Distinct().Order(), times);
    }

    [Fact]
    public async Task Another_host_ticks_when_the_one_that_ticked_has_stopped()
    {
        var (one, other) = (await Start<Clock>(), await Start<Clock>());
        var last = (await one.Notes.Until<Tick>(2))[^1];
        await one.DisposeAsync();
        Assert.True((await other.Notes.Until<Tick>(1))[0].Scheduled >= last.Scheduled);
        await other.DisposeAsync();
    }

    [Fact]
    public async Task A_tick_that_no_host_saw_is_made_up_for_once()
    {
        var first = await Start<Clock>();
        await first.Notes.Until<Tick>(2);
        await first.DisposeAsync();
        var next = JObject.Parse(await Status("Clock.Tick").DownloadTextAsync())["Next"]!.Value<DateTime>();
        await Eventually.Holds(() => Task.FromResult(DateTime.Now > next), "the next tick");
        var second = await Start<Clock>();
        var ticks = await second.Notes.Until<Tick>(3);
        await second.DisposeAsync();
        Assert.Equal([true, false, false], ticks.Take(3).Select(tick => tick.IsPastDue));
        Assert.Equal(next, ticks[0].Scheduled);
    }

    CloudBlockBlob Status(string function) => hosts.GetBlockBlobReference($"timers/{id}/Tidemark.Tests.Timers.{function}/status");

    async Task<RunningHost> Start<T>()
    {
        var notes = new Notes();
        var host = new HostBuilder()
            .UseEnvironment("Production")
            .ConfigureWebJobs(jobs =>
            {
                jobs.UseHostId(id);
                jobs.AddAzureStorageCoreServices();
                jobs.AddTimers();
                jobs.Services.Configure<SingletonOptions>(options =>
                    options.ListenerLockPeriod = options.ListenerLockRecoveryPollingInterval = TimeSpan.FromSeconds(15));
            })
            .ConfigureAppConfiguration(configuration => configuration.AddInMemoryCollection([new("AzureWebJobsStorage", Stores.Connection)]))
            .ConfigureServices(services => services.AddSingleton(notes).AddSingleton<ITypeLocator>(new Only(typeof(T))))
            .Build();
        await host.StartAsync();
        return new(host, notes);
    }

    sealed record RunningHost(IHost Host, Notes Notes) : IAsyncDisposable
    {
        public async ValueTask DisposeAsync()
        {
            await Host.StopAsync();
            Host.Dispose();
        }
    }

    sealed class Only(Type type) : ITypeLocator
    {
        public IReadOnlyList<Type> GetTypes() => [type];
    }
}
