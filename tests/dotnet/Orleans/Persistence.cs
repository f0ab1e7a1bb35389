using Azure.Data.Tables;
using Microsoft.Extensions.DependencyInjection;
using Orleans.Storage;

namespace Tidemark.Tests.Silos;

[CollectionDefinition]
public sealed class InSharedCluster : ICollectionFixture<SharedCluster>;

/// The state of grains in tables and in blobs.
[Collection<InSharedCluster>]
public sealed class Persistence(SharedCluster cluster)
{
    readonly string key = Stores.FreshName("n");

    INote Note(string storage) => storage switch
    {
        Silo.Tables => cluster.Grains.GetGrain<INoteInTable>(key),
        Silo.Strings => cluster.Grains.GetGrain<INoteInStrings>(key),
        _ => cluster.Grains.GetGrain<INoteInBlob>(key),
    };

    [Theory]
    [InlineData(Silo.Tables)]
    [InlineData(Silo.Strings)]
    [InlineData(Silo.Blobs)]
    public async Task A_state_is_written_changed_and_read_by_the_next_activation(string storage)
    {
        var note = Note(storage);
        Assert.False(await note.Exists());
        await note.Write("first");
        await note.Write("Grüße, 世界 \0 \U0001F30A");
        var read = await (await note.Anew()).Read();
        Assert.Equal(("Grüße, 世界 \0 \U0001F30A", 2), (read.Text, read.Edits));
    }

    [Theory]
    [InlineData(Silo.Tables, 64 * 1024)]
    [InlineData(Silo.Tables, 900_000)]
    [InlineData(Silo.Strings, 450_000)]
    [InlineData(Silo.Blobs, 3_000_000)]
    public async Task A_state_may_be_larger_than_a_property(string storage, int length)
    {
        var text = Convert.ToBase64String(Stores.Bytes(length))[..length];
        var note = Note(storage);
        await note.Write(text);
        Assert.Equal(text, (await (await note.Anew()).Read()).Text);
        // A shorter one leaves nothing of the longer one behind.
        await note.Write("short");
        Assert.Equal("short", (await (await note.Anew()).Read()).Text);
    }

    [Fact]
    public async Task A_state_larger_than_an_entity_is_refused_and_the_old_one_stays()
    {
        var note = Note(Silo.Tables);
        await note.Write("old");
        await Assert.ThrowsAnyAsync<Exception>(() => note.Write(new string('x', 1_100_000)));
        Assert.Equal("old", (await (await note.Anew()).Read()).Text);
    }

    [Theory]
    [InlineData(Silo.Tables)]
    [InlineData(Silo.Strings)]
    [InlineData(Silo.Blobs)]
    public async Task Who_has_not_seen_the_newest_state_may_not_write(string storage)
    {
        var note = Note(storage);
        await note.Write("mine");
        await WriteAsSomebodyElse(storage, note, "theirs");

        await Assert.ThrowsAnyAsync<InconsistentStateException>(() => note.Write("mine again"));
        // The activation ends with the conflict; the next one has read the store.
        Assert.Equal("theirs", (await note.Read()).Text);
        await note.Write("mine again");
        Assert.Equal("mine again", (await (await note.Anew()).Read()).Text);
    }

    [Theory]
    [InlineData(Silo.Tables)]
    [InlineData(Silo.Strings)]
    [InlineData(Silo.Blobs)]
    public async Task Who_believes_that_there_is_no_state_may_not_overwrite_one(string storage)
    {
        var note = Note(storage);
        Assert.False(await note.Exists());
        await WriteAsSomebodyElse(storage, note, "theirs");
        await Assert.ThrowsAnyAsync<InconsistentStateException>(() => note.Write("mine"));
        Assert.Equal("theirs", (await note.Read()).Text);
    }

    [Theory]
    [InlineData(Silo.Tables)]
    [InlineData(Silo.Strings)]
    [InlineData(Silo.Blobs)]
    public async Task A_state_that_was_cleared_is_gone_and_can_be_written_again(string storage)
    {
        var note = Note(storage);
        await note.Write("gone");
        await note.Clear();
        Assert.False(await (await note.Anew()).Exists());
        Assert.Equal("", (await note.Read()).Text);
        await note.Write("back");
        Assert.Equal("back", (await (await note.Anew()).Read()).Text);
    }

    [Theory]
    [InlineData(Silo.Tables)]
    [InlineData(Silo.Blobs)]
    public async Task Who_has_not_seen_the_newest_state_may_not_clear_it(string storage)
    {
        var note = Note(storage);
        await note.Write("mine");
        await WriteAsSomebodyElse(storage, note, "theirs");
        await Assert.ThrowsAnyAsync<InconsistentStateException>(note.Clear);
        Assert.Equal("theirs", (await note.Read()).Text);
    }

    [Fact]
    public async Task Grains_whose_keys_differ_in_a_reserved_character_have_blobs_of_their_own()
    {
        string[] keys = [$"{key}/a", $"{key}#a", $"{key}?a", $"{key}%2Fa", $"{key}'a", $"{key} ä"];
        foreach (var each in keys) await cluster.Grains.GetGrain<INoteInBlob>(each).Write(each);
        foreach (var each in keys)
        {
            Assert.Equal(each, (await (await cluster.Grains.GetGrain<INoteInBlob>(each).Anew()).Read()).Text);
        }
    }

    /// Writes the newest state as a silo does that knows nothing of the grain's activation.
    async Task WriteAsSomebodyElse(string storage, INote note, string text)
    {
        var provider = cluster.Services.GetRequiredKeyedService<IGrainStorage>(storage);
        var state = new GrainState<Note>(new Note());
        await provider.ReadStateAsync("note", note.GetGrainId(), state);
        state.State!.Text = text;
        await provider.WriteStateAsync("note", note.GetGrainId(), state);
    }
}
