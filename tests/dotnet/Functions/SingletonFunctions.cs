using Microsoft.Azure.WebJobs;

namespace Tidemark.Tests.Functions;

/// Has one lock for each of its functions.
public sealed class Alone(Notes notes)
{
    [Singleton]
    public Task Work([QueueTrigger("%in%")] string text) => notes.Add(text);
}

/// Has a lock for each region.
public sealed class AloneInRegion(Notes notes)
{
    [Singleton("{Region}")]
    public Task Work([QueueTrigger("%in%")] Order order) => notes.Add(order);
}

/// Functions that share a lock.
public sealed class AloneTogether(Notes notes)
{
    [Singleton("shared", SingletonScope.Host)]
    public Task One([QueueTrigger("%in%")] string text) => notes.Add(text);

    [Singleton("shared", SingletonScope.Host)]
    public Task Two([QueueTrigger("%in%-two")] string text) => notes.Add(text);
}

/// Only one host listens.
public sealed class Listener(Notes notes)
{
    [Singleton(Mode = SingletonMode.Listener)]
    public Task Listen([QueueTrigger("%in%")] string text) => notes.Add(text);
}

/// Has locks of both kinds.
public sealed class Guard(Notes notes)
{
    [NoAutomaticTrigger]
    [Singleton]
    public Task Hold(string word) => notes.Add(word);

    [NoAutomaticTrigger]
    [Singleton("brief", SingletonScope.Host, LockAcquisitionTimeout = 1)]
    public Task HoldBriefly(string word) => notes.Add(word);

    [Singleton]
    public Task Work([QueueTrigger("%in%-work")] string text) => notes.Add($"works on {text}");

    [Singleton(Mode = SingletonMode.Listener)]
    public Task Listen([QueueTrigger("%in%-listen")] string text) => notes.Add($"hears {text}");
}
