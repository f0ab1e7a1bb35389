using System.Collections.Concurrent;

namespace Tidemark.Tests.Shared;

/// What functions have noted, and what a case wants them to do then.
public sealed class Notes
{
    readonly ConcurrentQueue<object> notes = new();

    /// What a function does when it has noted something.
    public Func<object, Task> Then { get; set; } = _ => Task.CompletedTask;

    public int Count => notes.Count;

    public Task Add(object note)
    {
        notes.Enqueue(note);
        return Then(note);
    }

    public List<T> Of<T>() => [.. notes.OfType<T>()];

    /// The notes of a kind, as soon as there are so many.
    public async Task<List<T>> Until<T>(int count)
    {
        await Eventually.Holds(() => Task.FromResult(Of<T>().Count >= count), $"{count} notes of {typeof(T).Name}");
        return Of<T>();
    }
}
