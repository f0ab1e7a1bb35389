using Orleans.Streams;

namespace Tidemark.Tests.Silos;

[GenerateSerializer]
public sealed class Heard
{
    [Id(0)] public List<string> Events { get; set; } = [];
}

/// A grain that listens to the stream of its key, notes what it hears, and goes on listening after it was away.
public interface IListener : IForgetful
{
    Task Listen();
    Task StopListening();
    Task<List<string>> Heard();
}

/// A grain that sends to the stream of its key.
public interface ISpeaker : IGrainWithStringKey
{
    Task Say(params string[] events);
}

public sealed class Listener([PersistentState("heard", Silo.Tables)] IPersistentState<Heard> state) : Grain, IListener
{
    readonly Guid activation = Guid.NewGuid();

    IAsyncStream<string> Stream => this.GetStreamProvider(Silo.Queues).GetStream<string>("talk", this.GetPrimaryKeyString());

    public override async Task OnActivateAsync(CancellationToken cancellation)
    {
        foreach (var handle in await Stream.GetAllSubscriptionHandles()) await handle.ResumeAsync(Hear);
    }

    public Task<Guid> Activation() => Task.FromResult(activation);

    public Task Forget()
    {
        DeactivateOnIdle();
        return Task.CompletedTask;
    }

    public async Task Listen() => await Stream.SubscribeAsync(Hear);

    public async Task StopListening()
    {
        foreach (var handle in await Stream.GetAllSubscriptionHandles()) await handle.UnsubscribeAsync();
    }

    public Task<List<string>> Heard() => Task.FromResult(state.State.Events);

    /// An event may come twice: a queue delivers at least once. It comes again if it could not be noted.
    async Task Hear(string text, StreamSequenceToken? token)
    {
        if (state.State.Events.Contains(text)) return;
        state.State.Events.Add(text);
        try
        {
            await state.WriteStateAsync();
        }
        catch
        {
            state.State.Events.Remove(text);
            throw;
        }
    }
}

public sealed class Speaker : Grain, ISpeaker
{
    public async Task Say(params string[] events)
    {
        var stream = this.GetStreamProvider(Silo.Queues).GetStream<string>("talk", this.GetPrimaryKeyString());
        if (events.Length == 1) await stream.OnNextAsync(events[0]);
        else await stream.OnNextBatchAsync(events);
    }
}
