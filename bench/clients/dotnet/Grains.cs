using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using Azure.Data.Tables;
using Azure.Storage.Blobs;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Orleans.Configuration;
using Orleans.Hosting;

namespace Tidemark.Bench;

/// A silo in this process, whose grains write their state again and again.
public static class Grains
{
    const string Storage = "storage";
    const int WarmUp = 5;

    public static async Task Run(IConfiguration options)
    {
        var builder = new HostApplicationBuilder(new HostApplicationBuilderSettings { DisableDefaults = true });
        builder.UseOrleans(silo =>
        {
            var ports = FreePorts(2);
            silo.UseLocalhostClustering(ports[0], ports[1]);
            if (options["storage"] == "tables")
            {
                silo.AddAzureTableGrainStorage(Storage, storage =>
                    (storage.TableServiceClient, storage.TableName) = (new TableServiceClient(Account.Connection), Account.FreshName()));
            }
            else
            {
                silo.AddAzureBlobGrainStorage(Storage, storage =>
                    (storage.BlobServiceClient, storage.ContainerName) = (new BlobServiceClient(Account.Connection), Account.FreshName()));
            }
        });
        using var host = builder.Build();
        await host.StartAsync();
        var factory = host.Services.GetRequiredService<IGrainFactory>();
        INote[] notes = [.. Enumerable.Range(0, options.GetValue<int>("grains")).Select(number => factory.GetGrain<INote>(number))];
        foreach (var _ in Enumerable.Range(0, WarmUp)) await Task.WhenAll(notes.Select(note => note.Write(1)));

        var limit = options.GetValue<double>("seconds");
        using var measurement = new Measurement();
        var latencies = await Task.WhenAll(notes.Select(async note =>
        {
            var mine = new List<double>();
            while (measurement.Seconds < limit)
            {
                var begun = Stopwatch.GetTimestamp();
                await note.Write(mine.Count);
                mine.Add(Stopwatch.GetElapsedTime(begun).TotalSeconds);
            }
            return mine;
        }));
        double[] all = [.. latencies.SelectMany(mine => mine)];
        measurement.End(all.Length, latencies: all);
        await host.StopAsync();
    }

    static int[] FreePorts(int count)
    {
        TcpListener[] listeners = [.. Enumerable.Range(0, count).Select(_ => new TcpListener(IPAddress.Loopback, 0))];
        foreach (var each in listeners) each.Start();
        int[] ports = [.. listeners.Select(each => ((IPEndPoint)each.LocalEndpoint).Port)];
        foreach (var each in listeners) each.Stop();
        return ports;
    }
}

public interface INote : IGrainWithIntegerKey
{
    Task Write(int edit);
}

[GenerateSerializer]
public sealed class NoteState
{
    [Id(0)] public string Text { get; set; } = "";
    [Id(1)] public int Edit { get; set; }
}

public sealed class Note([PersistentState("note", "storage")] IPersistentState<NoteState> state) : Grain, INote
{
    const int Length = 1000;

    public Task Write(int edit)
    {
        if (state.State.Text.Length == 0) state.State.Text = Account.RandomText(Length, (int)this.GetPrimaryKeyLong());
        state.State.Edit = edit;
        return state.WriteStateAsync();
    }
}
