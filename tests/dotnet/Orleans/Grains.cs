namespace Tidemark.Tests.Silos;

/// A grain that can be made to forget what it knows.
public interface IForgetful : IGrainWithStringKey
{
    Task<Guid> Activation();
    Task Forget();
}

[GenerateSerializer]
public sealed class Note
{
    [Id(0)] public string Text { get; set; } = "";
    [Id(1)] public int Edits { get; set; }
}

public interface INote : IForgetful
{
    Task<Note> Read();
    Task<bool> Exists();
    Task Write(string text);
    Task Clear();
}

public interface INoteInTable : INote;
public interface INoteInStrings : INote;
public interface INoteInBlob : INote;

public abstract class NoteGrain(IPersistentState<Note> state) : Grain, INote
{
    readonly Guid activation = Guid.NewGuid();

    public Task<Guid> Activation() => Task.FromResult(activation);

    public Task Forget()
    {
        DeactivateOnIdle();
        return Task.CompletedTask;
    }

    public Task<Note> Read() => Task.FromResult(state.State);

    public Task<bool> Exists() => Task.FromResult(state.RecordExists);

    public Task Write(string text)
    {
        state.State.Text = text;
        state.State.Edits++;
        return state.WriteStateAsync();
    }

    public Task Clear() => state.ClearStateAsync();
}

public sealed class NoteInTable([PersistentState("note", Silo.Tables)] IPersistentState<Note> state) : NoteGrain(state), INoteInTable;
public sealed class NoteInStrings([PersistentState("note", Silo.Strings)] IPersistentState<Note> state) : NoteGrain(state), INoteInStrings;
public sealed class NoteInBlob([PersistentState("note", Silo.Blobs)] IPersistentState<Note> state) : NoteGrain(state), INoteInBlob;
