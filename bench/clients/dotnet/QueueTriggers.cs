using System.Collections.Concurrent;
using System.Diagnostics;
using Azure.Storage.Queues;
using Microsoft.Azure.WebJobs;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.Hosting;

namespace Tidemark.Bench;

/// A WebJobs host whose function does nothing, on a queue that is full when the host starts.
public static class QueueTriggers
{
    static readonly TimeSpan Limit = TimeSpan.FromMinutes(10);

    public static async Task Run(IConfiguration options)
    {
        var messages = options.GetValue<int>("messages");
        var queue = new QueueClient(Account.Connection, Account.FreshName(), new() { MessageEncoding = QueueMessageEncoding.Base64 });
        await queue.CreateAsync();
        await Parallel.ForEachAsync(Enumerable.Range(0, messages), new ParallelOptions { MaxDegreeOfParallelism = 16 },
            async (number, cancel) => await queue.SendMessageAsync(number.ToString(), cancel));
        Function.Expect(messages);

        using var host = new HostBuilder()
            .ConfigureAppConfiguration(configuration => configuration.AddInMemoryCollection([
                new("AzureWebJobsStorage", Account.Connection), new("queue", queue.Name)]))
            .ConfigureWebJobs(jobs =>
            {
                jobs.AddAzureStorageCoreServices();
                jobs.AddAzureStorageQueues(queues =>
                {
                    if (options.GetValue<int?>("batch") is { } batch) queues.BatchSize = batch;
                    if (options.GetValue<int?>("threshold") is { } threshold) queues.NewBatchThreshold = threshold;
                });
            })
            .Build();
        using var measurement = new Measurement();
        await host.StartAsync();
        await Function.All.WaitAsync(Limit);
        measurement.End(messages, Function.Seconds);

        await host.StopAsync();
        await queue.DeleteAsync();
    }
}

public static class Function
{
    static readonly ConcurrentDictionary<string, bool> Seen = new();
    static readonly TaskCompletionSource Done = new(TaskCreationOptions.RunContinuationsAsynchronously);
    static long begun;
    static int expected;

    public static Task All => Done.Task;

    /// From the first call to the last one.
    public static double Seconds { get; private set; }

    public static void Expect(int messages) => expected = messages;

    public static void Handle([QueueTrigger("%queue%")] string message)
    {
        Interlocked.CompareExchange(ref begun, Stopwatch.GetTimestamp(), 0);
        if (!Seen.TryAdd(message, true) || Seen.Count != expected) return;
        Seconds = Stopwatch.GetElapsedTime(begun).TotalSeconds;
        Done.TrySetResult();
    }
}
