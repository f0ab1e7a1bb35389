using System.Net;
using Azure.Data.Tables;
using Azure.Storage.Blobs;
using Azure.Storage.Queues;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Orleans.Configuration;

namespace Tidemark.Tests.Silos;

/// One silo as its users configure it: everything that can be in Azure Storage is there, and under the default names.
public sealed record Silo(string Cluster, string Name, int Port, int Gateway = 0)
{
    public const string Tables = "tables", Strings = "strings", Blobs = "blobs", Queues = "queues";

    public static TableServiceClient TableService() => new(Stores.Connection);

    public static BlobServiceClient BlobService() => new(Stores.Connection);

    public static QueueServiceClient QueueService() => new(Stores.Connection);

    /// The queues of a cluster; the streams are spread over them.
    public static List<string> QueuesOf(string cluster) => [$"{cluster}-0", $"{cluster}-1"];

    public IHost Build()
    {
        var builder = new HostApplicationBuilder(new HostApplicationBuilderSettings { DisableDefaults = true });
        if (Environment.GetEnvironmentVariable("TIDEMARK_SILO_LOGS") == "1") builder.Logging.AddConsole();
        builder.Services.Configure<HostOptions>(options => options.ShutdownTimeout = TimeSpan.FromSeconds(60));
        builder.UseOrleans(Configure);
        return builder.Build();
    }

    void Configure(ISiloBuilder silo)
    {
        silo.Configure<ClusterOptions>(options => (options.ClusterId, options.ServiceId) = (Cluster, Cluster));
        silo.Configure<SiloOptions>(options => options.SiloName = Name);
        silo.ConfigureEndpoints(IPAddress.Loopback, Port, Gateway);
        silo.UseAzureStorageClustering(options => options.TableServiceClient = TableService());
        // The others notice within seconds that a silo is dead, and a busy silo is not taken for a dead one.
        silo.Configure<ClusterMembershipOptions>(options =>
        {
            options.ProbeTimeout = TimeSpan.FromSeconds(1);
            options.TableRefreshTimeout = TimeSpan.FromSeconds(2);
            options.IAmAliveTablePublishTimeout = TimeSpan.FromSeconds(1);
        });
        AddStorage(silo);
        silo.UseAzureTableReminderService(options => options.TableServiceClient = TableService());
        silo.Configure<ReminderOptions>(options =>
        {
            options.MinimumReminderPeriod = TimeSpan.FromMilliseconds(100);
            options.RefreshReminderListPeriod = TimeSpan.FromSeconds(1);
        });
        silo.AddAzureQueueStreams(Queues, options => options.Configure(queues =>
        {
            queues.QueueServiceClient = QueueService();
            queues.QueueNames = QueuesOf(Cluster);
            queues.MessageVisibilityTimeout = TimeSpan.FromSeconds(10);
        }));
    }

    static void AddStorage(ISiloBuilder silo)
    {
        silo.AddAzureTableGrainStorage(Tables, options => (options.TableServiceClient, options.DeleteStateOnClear) = (TableService(), true));
        silo.AddAzureTableGrainStorage(Strings, options => (options.TableServiceClient, options.UseStringFormat) = (TableService(), true));
        silo.AddAzureBlobGrainStorage(Blobs, options => options.BlobServiceClient = BlobService());
        // Who listens to which stream.
        silo.AddAzureTableGrainStorage("PubSubStore", options => options.TableServiceClient = TableService());
    }
}
