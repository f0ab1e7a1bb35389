using System.Diagnostics;
using static Tidemark.Tests.Silos.Repeated;

namespace Tidemark.Tests.Silos;

/// The runner kills the stores with SIGKILL meanwhile, and starts them again.
[Trait("Night", "stores die")]
public sealed class Storm
{
    static readonly TimeSpan length = TimeSpan.FromSeconds(90);
    readonly string key = Stores.FreshName("x");

    [Fact]
    public async Task What_was_acknowledged_is_kept_and_no_silo_is_voted_out()
    {
        await using var cluster = new Cluster();
        var grains = (await cluster.Start("first")).Grains();
        await cluster.Start("second");
        var bell = grains.GetGrain<IBell>(key);
        await bell.Wind("tick", TimeSpan.FromSeconds(1));
        var listener = grains.GetGrain<IListener>(key);
        await listener.Listen();

        var clock = Stopwatch.StartNew();
        var said = Speak(grains.GetGrain<ISpeaker>(key), clock);
        INote[] notes = [.. Enumerable.Range(1, 4).SelectMany(number =>
            (INote[])[grains.GetGrain<INoteInTable>($"{key}-{number}"), grains.GetGrain<INoteInBlob>($"{key}-{number}")])];
        foreach (var (note, acknowledged, tried) in await Task.WhenAll(notes.Select(note => Edit(note, clock))))
        {
            Assert.InRange(int.Parse((await UntilAnswered(async () => await (await note.Anew()).Read())).Text), acknowledged, tried);
        }
        foreach (var text in await said)
        {
            await Eventually.Holds(async () => (await UntilAnswered(listener.Heard)).Contains(text), $"{text} is heard");
        }
        var rings = await UntilAnswered(() => bell.Rings("tick"));
        await Eventually.Holds(async () => await UntilAnswered(() => bell.Rings("tick")) > rings, "the bell still rings");
        Assert.Equal("first:Active second:Active", await UntilAnswered(cluster.States));
    }

    /// Writes ascending numbers. Of a write that failed, nobody knows whether it happened.
    static async Task<(INote Note, int Acknowledged, int Tried)> Edit(INote note, Stopwatch clock)
    {
        var (acknowledged, tried) = (0, 0);
        while (clock.Elapsed < length || acknowledged == 0)
        {
            tried++;
            if (await Succeeds(() => note.Write($"{tried}"))) acknowledged = tried;
        }
        return (note, acknowledged, tried);
    }

    /// Returns what was said and acknowledged.
    static async Task<List<string>> Speak(ISpeaker speaker, Stopwatch clock)
    {
        var said = new List<string>();
        for (var number = 1; clock.Elapsed < length; number++)
        {
            if (await Succeeds(() => speaker.Say($"{number}"))) said.Add($"{number}");
            await Task.Delay(20);
        }
        return said;
    }
}
