using System.Diagnostics;
using Azure.Core.Pipeline;
using Azure.Data.Tables;
using Microsoft.Extensions.Configuration;

namespace Tidemark.Bench;

/// Entity group transactions of 100 new entities of about 1 KiB, each in a partition of its own. With `alone`, the client answers
/// itself: no server can be faster.
public static class TableBatches
{
    const int Size = 100, Length = 1000, WarmUp = 10;
    static readonly string[] Texts = [.. Enumerable.Range(0, Size).Select(seed => Account.RandomText(Length, seed))];

    public static async Task Run(IConfiguration options)
    {
        var clientOptions = new TableClientOptions();
        if (options.GetValue<bool>("alone")) clientOptions.Transport = new HttpClientTransport(new HttpClient(new Echoes(Size)));
        var table = new TableClient(Account.Connection, Account.FreshName(), clientOptions);
        await table.CreateAsync();
        var (parallel, limit) = (options.GetValue<int>("parallel"), options.GetValue<double>("seconds"));
        foreach (var number in Enumerable.Range(0, WarmUp)) await table.SubmitTransactionAsync(Batch($"warm-up {number}"));

        using var measurement = new Measurement();
        var latencies = await Task.WhenAll(Enumerable.Range(0, parallel).Select(async client =>
        {
            var mine = new List<double>();
            while (measurement.Seconds < limit)
            {
                var begun = Stopwatch.GetTimestamp();
                await table.SubmitTransactionAsync(Batch($"{client}-{mine.Count:D6}"));
                mine.Add(Stopwatch.GetElapsedTime(begun).TotalSeconds);
            }
            return mine;
        }));
        double[] all = [.. latencies.SelectMany(mine => mine)];
        measurement.End(all.Length * Size, latencies: all);
        await table.DeleteAsync();
    }

    static IEnumerable<TableTransactionAction> Batch(string partition) => Texts.Select((text, number) =>
        new TableTransactionAction(TableTransactionActionType.Add, new TableEntity(partition, $"r{number:D3}") { ["Data"] = text }));
}
