namespace Tidemark.Tests.Silos;

/// Streams whose events wait in queues.
[Collection<InSharedCluster>]
public sealed class Streams(SharedCluster cluster)
{
    readonly string key = Stores.FreshName("s");

    [Fact]
    public async Task A_listener_hears_what_is_said_and_the_queues_are_empty_then()
    {
        var (listener, speaker) = PairOf(cluster.Grains);
        await listener.Listen();
        for (var number = 1; number <= 20; number++) await speaker.Say($"{number:00}");
        await speaker.Say("in", "one", "message");
        await Heard(listener, [.. Enumerable.Range(1, 20).Select(number => $"{number:00}"), "in", "message", "one"]);
        await Eventually.Holds(AreEmpty, "empty queues");
    }

    [Fact]
    public async Task An_event_of_almost_a_whole_message_arrives()
    {
        var (listener, speaker) = PairOf(cluster.Grains);
        await listener.Listen();
        var text = Convert.ToBase64String(Stores.Bytes(33_000));
        await speaker.Say(text);
        await Heard(listener, text);
    }

    [Fact]
    public async Task Listeners_of_different_streams_hear_their_own()
    {
        var pairs = Enumerable.Range(1, 8).Select(number => PairOf(cluster.Grains, $"-{number}")).ToArray();
        await Task.WhenAll(pairs.Select(pair => pair.Listener.Listen()));
        await Task.WhenAll(pairs.Select((pair, number) => pair.Speaker.Say($"to {number}")));
        await Task.WhenAll(pairs.Select((pair, number) => Heard(pair.Listener, $"to {number}")));
    }

    [Fact]
    public async Task A_listener_that_was_deactivated_goes_on_with_the_next_event()
    {
        var (listener, speaker) = PairOf(cluster.Grains);
        await listener.Listen();
        await speaker.Say("1");
        await Heard(listener, "1");
        await listener.Anew();
        await speaker.Say("2");
        await Heard(listener, "1", "2");
    }

    [Fact]
    public async Task Nobody_hears_a_stream_that_he_no_longer_listens_to()
    {
        var (listener, speaker) = PairOf(cluster.Grains);
        await listener.Listen();
        await speaker.Say("1");
        await Heard(listener, "1");
        await listener.StopListening();
        await speaker.Say("2");
        await Eventually.Holds(AreEmpty, "empty queues");
        await listener.Listen();
        await speaker.Say("3");
        await Eventually.Holds(async () => (await listener.Heard()).Contains("3"), "3 is heard");
        Assert.DoesNotContain("2", await listener.Heard());
    }

    [Fact]
    public async Task A_listener_goes_on_in_the_next_silo_when_its_own_is_gone()
    {
        await using var own = new Cluster();
        var first = await own.Start("first");
        var (listener, speaker) = PairOf(first.Grains());
        await listener.Listen();
        await speaker.Say("1");
        await Heard(listener, "1");
        await own.Stop(first);

        (listener, speaker) = PairOf((await own.Start("second")).Grains());
        await speaker.Say("2");
        await Heard(listener, "1", "2");
    }

    (IListener Listener, ISpeaker Speaker) PairOf(IGrainFactory grains, string suffix = "") =>
        (grains.GetGrain<IListener>(key + suffix), grains.GetGrain<ISpeaker>(key + suffix));

    static async Task Heard(IListener listener, params string[] expected)
    {
        await Eventually.Holds(async () => (await listener.Heard()).Count >= expected.Length, $"{expected.Length} events");
        Assert.Equal(expected, (await listener.Heard()).Order(StringComparer.Ordinal));
    }

    async Task<bool> AreEmpty()
    {
        foreach (var name in Silo.QueuesOf(cluster.Cluster.Id))
        {
            var properties = await Silo.QueueService().GetQueueClient(name).GetPropertiesAsync();
            if (properties.Value.ApproximateMessagesCount > 0) return false;
        }
        return true;
    }
}
