using Microsoft.Azure.WebJobs;
using Microsoft.Azure.WebJobs.Host;
using Microsoft.Azure.WebJobs.Hosting;
using Microsoft.Extensions.DependencyInjection;

namespace Tidemark.Tests.Functions;

/// Hosts whose locks last as short as they can.
public static class Locks
{
    public static readonly TimeSpan Shortest = TimeSpan.FromSeconds(15);

    public static Recipe Recipe(Type functions, string id, string name) => new(functions) { Id = id, Names = { ["in"] = name }, More = Use };

    public static void Use(IWebJobsBuilder jobs)
    {
        jobs.Services.Configure<SingletonOptions>(options =>
        {
            (options.LockPeriod, options.ListenerLockPeriod) = (Shortest, Shortest);
            options.LockAcquisitionPollingInterval = TimeSpan.FromMilliseconds(500);
            options.ListenerLockRecoveryPollingInterval = Shortest;
        });
        // Dynamic concurrency needs to know which host is the primary one; without it, nobody has this lock.
        jobs.Services.Configure<PrimaryHostCoordinatorOptions>(options => options.Enabled = true);
    }
}
