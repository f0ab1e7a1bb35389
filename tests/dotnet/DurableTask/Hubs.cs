using Tidemark.Tests.Durable;

[assembly: AssemblyFixture(typeof(Hubs))]
// The cases wait for most of their time.
[assembly: Xunit.v3.Parallelization(Mode = Xunit.Sdk.ParallelMode.All, MaxThreads = 16)]

namespace Tidemark.Tests.Durable;

/// A hub for each kind of partitions, for the cases that need none of their own.
public sealed class Hubs : IAsyncLifetime
{
    public Hub InTable { get; } = new(Partitions.InTable);
    public Hub InBlobs { get; } = new(Partitions.InBlobs);

    public async ValueTask InitializeAsync() => await Task.WhenAll(InTable.StartWorker("one"), InBlobs.StartWorker("one"));

    public async ValueTask DisposeAsync() => await Task.WhenAll(InTable.DisposeAsync().AsTask(), InBlobs.DisposeAsync().AsTask());
}
