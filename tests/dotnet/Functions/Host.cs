using Microsoft.Azure.WebJobs;
using Microsoft.Azure.WebJobs.Host;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;

namespace Tidemark.Tests.Functions;

/// A WebJobs host as its users build one, with the functions of some classes. What they have between percent signs is in
/// `names`.
public sealed class Host : IAsyncDisposable
{
    public const string Hosts = "azure-webjobs-hosts";

    readonly IHost host;

    Host(IHost host) => this.host = host;

    public Notes Notes => host.Services.GetRequiredService<Notes>();

    public IServiceProvider Services => host.Services;

    public static async Task<Host> Start(Recipe recipe)
    {
        var host = new Host(recipe.Build());
        await host.host.StartAsync();
        return host;
    }

    /// Calls a function, as users do by hand, with its arguments by name.
    public Task Call<T>(string function, object? arguments = null) =>
        ((JobHost)Services.GetRequiredService<IJobHost>()).CallAsync(typeof(T).GetMethod(function)!, arguments);

    public async ValueTask DisposeAsync()
    {
        try
        {
            await host.StopAsync();
        }
        catch (InvalidOperationException error) when (error.Message == "The timer has already been stopped.")
        {
            // Functions that blobs trigger share a listener, and each of them stops it.
        }
        host.Dispose();
    }
}

/// What a host is made of. Hosts with the same id share locks, receipts of blobs and schedules.
public sealed record Recipe(params Type[] Functions)
{
    public string Id { get; init; } = Stores.FreshName("h");
    public string Connection { get; init; } = Stores.Connection;
    public Notes Notes { get; init; } = new();
    public Dictionary<string, string?> Names { get; init; } = [];
    public Action<QueuesOptions>? Queues { get; init; }
    public Action<IWebJobsBuilder>? More { get; init; }

    public IHost Build() => new HostBuilder()
        .UseEnvironment("Production")
        .ConfigureWebJobs(jobs =>
        {
            jobs.UseHostId(Id);
            jobs.AddAzureStorageCoreServices();
            jobs.AddAzureStorageBlobs();
            jobs.AddAzureStorageQueues(options =>
            {
                options.MaxPollingInterval = TimeSpan.FromMilliseconds(200);
                Queues?.Invoke(options);
            });
            More?.Invoke(jobs);
        })
        // It comes last, so that it is not overridden by variables of the environment.
        .ConfigureAppConfiguration(configuration => configuration.AddInMemoryCollection(new Dictionary<string, string?>(Names)
        {
            ["AzureWebJobsStorage"] = Connection,
            // A program of one's own, which is not in a container of Azure.
            ["FUNCTIONS_WORKER_RUNTIME"] = "dotnet",
            ["CONTAINER_NAME"] = "",
        }))
        .ConfigureLogging(logging =>
        {
            if (Environment.GetEnvironmentVariable("TIDEMARK_FUNCTIONS_LOGS") == "1") logging.SetMinimumLevel(LogLevel.Debug).AddConsole();
        })
        .ConfigureServices(services => services.AddSingleton(Notes).AddSingleton<ITypeLocator>(new Only(Functions)))
        .Build();

    sealed class Only(Type[] types) : ITypeLocator
    {
        public IReadOnlyList<Type> GetTypes() => types;
    }
}
