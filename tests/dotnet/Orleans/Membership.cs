using System.Globalization;
using Azure.Data.Tables;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Orleans.Configuration;

namespace Tidemark.Tests.Silos;

/// The table of the members of a cluster, which decides who belongs to it.
public sealed class Membership
{
    [Fact]
    public async Task A_silo_that_leaves_is_dead_and_comes_back_as_another_one_at_its_port()
    {
        await using var cluster = new Cluster();
        var port = Ports.Next();
        await cluster.Start("stays");
        var leaves = await cluster.Start("leaves", port);
        Assert.Equal("leaves:Active stays:Active", await cluster.States());
        var version = await cluster.Version();

        await cluster.Stop(leaves);
        Assert.Equal("leaves:Dead stays:Active", await cluster.States());
        Assert.True(await cluster.Version() > version);

        await cluster.Start("leaves", port);
        Assert.Equal("leaves:Active leaves:Dead stays:Active", await cluster.States());
        var rows = await cluster.Rows();
        Assert.Equal(2, rows.Count(row => row.GetString("Port") == port.ToString(CultureInfo.InvariantCulture)));
        Assert.Equal("Active", rows[^1].GetString("Status"));
    }

    [Fact]
    public async Task Silos_that_join_at_once_all_become_members_and_each_change_has_its_version()
    {
        await using var cluster = new Cluster();
        await Task.WhenAll(Enumerable.Range(1, 4).Select(number => cluster.Start($"s{number}")));
        Assert.Equal("s1:Active s2:Active s3:Active s4:Active", await cluster.States());
        // Each of them wrote "joining" and "active".
        Assert.Equal(8, await cluster.Version());
    }

    [Fact]
    public async Task A_silo_that_is_killed_is_voted_out_and_its_grains_live_on_elsewhere()
    {
        await using var cluster = new Cluster();
        var port = Ports.Next();
        var first = await cluster.Start("first");
        await cluster.Start("second");
        var killed = await cluster.StartProcess("killed", port);
        var notes = Enumerable.Range(1, 12).Select(number => first.Grains().GetGrain<INoteInTable>($"{cluster.Id}-{number}")).ToArray();
        await Task.WhenAll(notes.Select(note => note.Write("before")));

        killed.Kill();
        await cluster.Become("first:Active killed:Dead second:Active");
        var row = (await cluster.Rows()).Single(row => row.GetString("SiloName") == "killed");
        Assert.NotEqual("", row.GetString("SuspectingSilos"));
        foreach (var note in notes) Assert.Equal("before", (await Repeated.UntilAnswered(note.Read)).Text);

        await cluster.StartProcess("killed", port);
        await cluster.Become("first:Active killed:Active killed:Dead second:Active");
    }

    [Fact]
    public async Task A_silo_that_lives_says_so_again_and_again()
    {
        await using var cluster = new Cluster();
        await cluster.Start("a");
        var before = await AliveAt();
        await Eventually.Holds(async () => string.CompareOrdinal(await AliveAt(), before) > 0, "a newer IAmAliveTime");

        async Task<string> AliveAt() => (await cluster.Rows()).Single().GetString("IAmAliveTime");
    }

    [Fact]
    public async Task A_client_finds_the_gateways_in_the_table()
    {
        await using var cluster = new Cluster();
        await cluster.Start("a", gateway: Ports.Next());
        var builder = new HostApplicationBuilder(new HostApplicationBuilderSettings { DisableDefaults = true });
        builder.UseOrleansClient(client => client
            .Configure<ClusterOptions>(options => (options.ClusterId, options.ServiceId) = (cluster.Id, cluster.Id))
            .UseAzureStorageClustering(options => options.TableServiceClient = Silo.TableService()));
        using var host = builder.Build();
        await host.StartAsync();
        var note = host.Services.GetRequiredService<IClusterClient>().GetGrain<INoteInTable>($"{cluster.Id}-n");
        await note.Write("from outside");
        Assert.Equal("from outside", (await note.Read()).Text);
        await host.StopAsync();
    }
}
