using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Orleans.Configuration;

namespace Tidemark.Tests.Silos;

/// What others read in the table of a cluster that runs.
[Collection<InSharedCluster>]
public sealed class Members(SharedCluster cluster)
{
    [Fact]
    public async Task A_silo_that_lives_says_so_again_and_again()
    {
        var before = await AliveAt();
        await Eventually.Holds(async () => string.CompareOrdinal(await AliveAt(), before) > 0, "a newer IAmAliveTime");

        async Task<string> AliveAt() => (await cluster.Cluster.Rows())[0].GetString("IAmAliveTime");
    }

    [Fact]
    public async Task A_client_finds_the_gateways_in_the_table()
    {
        var builder = new HostApplicationBuilder(new HostApplicationBuilderSettings { DisableDefaults = true });
        builder.UseOrleansClient(client => client
            .Configure<ClusterOptions>(options => (options.ClusterId, options.ServiceId) = (cluster.Cluster.Id, cluster.Cluster.Id))
            .UseAzureStorageClustering(options => options.TableServiceClient = Silo.TableService()));
        using var host = builder.Build();
        await host.StartAsync();
        var note = host.Services.GetRequiredService<IClusterClient>().GetGrain<INoteInTable>($"{cluster.Cluster.Id}-n");
        await note.Write("from outside");
        Assert.Equal("from outside", (await note.Read()).Text);
        await host.StopAsync();
    }
}
