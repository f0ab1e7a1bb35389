using Azure.Storage.Queues;
using Azure.Storage.Queues.Models;
using Microsoft.Azure.WebJobs.Host;
using static Tidemark.Tests.Functions.QueuesOfCases;

namespace Tidemark.Tests.Functions;

/// Functions that messages trigger.
public sealed class Queues
{
    readonly string name = Stores.FreshName("q");

    [Theory]
    [InlineData(QueueMessageEncoding.Base64, "Grüße, 世界 \0 <&> \U0001F30A")]
    [InlineData(QueueMessageEncoding.None, "Grüße, 世界 <&> \U0001F30A")]
    public async Task A_text_reaches_a_function_and_its_message_is_deleted(QueueMessageEncoding encoding, string text)
    {
        var queue = await Make(name, encoding);
        await using var host = await Host.Start(Taking(options => options.MessageEncoding = encoding));
        await queue.SendMessageAsync(text);
        Assert.Equal(new Taken(text, 1), Assert.Single(await host.Notes.Until<Taken>(1)));
        await Empty(queue);
    }

    [Fact]
    public async Task An_object_is_bound_and_its_properties_name_the_queue_of_the_answer()
    {
        var queue = await Make(name);
        await using var host = await Host.Start(new Recipe(typeof(Shop)) { Names = { ["in"] = name } });
        await queue.SendMessageAsync(BinaryData.FromObjectAsJson(new Order { Number = 7, Region = "north", Lines = ["tea", "Käse"] }));
        var answer = await Next($"{name}-north");
        Assert.Equal("7: tea, Käse", answer);
        await Empty(queue);
    }

    [Fact]
    public async Task A_function_knows_its_message_as_the_queue_does()
    {
        var queue = await Make(name);
        SendReceipt sent = await queue.SendMessageAsync("text", timeToLive: TimeSpan.FromHours(1));
        await using var host = await Host.Start(new Recipe(typeof(Curious)) { Names = { ["in"] = name } });
        var seen = Assert.Single(await host.Notes.Until<Details>(1));
        Assert.Equal((sent.MessageId, 1, sent.InsertionTime, sent.ExpirationTime), (seen.Id, seen.DequeueCount, seen.Inserted, seen.Expires));
        Assert.Equal(TimeSpan.FromHours(1), seen.Expires - seen.Inserted);
        Assert.InRange(seen.VisibleAgain - seen.Inserted, TimeSpan.FromMinutes(10), TimeSpan.FromMinutes(12));
        Assert.NotEqual(sent.PopReceipt, seen.PopReceipt);
    }

    [Fact]
    public async Task A_message_is_bound_as_bytes_as_data_and_as_itself()
    {
        foreach (var kind in Kinds.All) await (await Make($"{name}-{kind}")).SendMessageAsync($"{kind} ä");
        await using var host = await Host.Start(new Recipe(typeof(Kinds)) { Names = { ["in"] = name } });
        var notes = await host.Notes.Until<string>(Kinds.All.Length);
        Assert.Equal(Kinds.All.Select(kind => $"{kind} ä").Order(), notes.Order());
    }

    [Fact]
    public async Task A_message_may_be_as_long_as_a_queue_allows()
    {
        var queue = await Make(name);
        var text = Convert.ToBase64String(Stores.Bytes(36 * 1024));
        Assert.Equal(48 * 1024, text.Length);
        await using var host = await Host.Start(Taking());
        await queue.SendMessageAsync(text);
        Assert.Equal(text, (await host.Notes.Until<Taken>(1))[0].Text);
        await Empty(queue);
    }

    [Theory]
    [InlineData(1)]
    [InlineData(4)]
    public async Task A_message_that_fails_comes_back_and_becomes_poison_in_the_end(int times)
    {
        var queue = await Make(name);
        await using var host = await Host.Start(Taking(options => options.MaxDequeueCount = times));
        host.Notes.Then = _ => throw new InvalidOperationException("no");
        await queue.SendMessageAsync("bitter");
        Assert.Equal("bitter", await Next($"{name}-poison"));
        Assert.Equal(Enumerable.Range(1, times).Select(count => new Taken("bitter", count)), host.Notes.Of<Taken>());
        await Empty(queue);
    }

    [Fact]
    public async Task A_message_that_fails_stays_invisible_for_the_time_that_was_set()
    {
        var queue = await Make(name);
        await using var host = await Host.Start(Taking(options => options.VisibilityTimeout = TimeSpan.FromSeconds(2)));
        var times = new List<DateTime>();
        host.Notes.Then = _ =>
        {
            times.Add(DateTime.UtcNow);
            return times.Count < 2 ? throw new InvalidOperationException("not yet") : Task.CompletedTask;
        };
        await queue.SendMessageAsync("later");
        await Empty(queue);
        Assert.Equal([1, 2], host.Notes.Of<Taken>().Select(taken => taken.DequeueCount));
        Assert.True(times[1] - times[0] >= TimeSpan.FromSeconds(2), $"{times[1] - times[0]}");
    }

    [Fact]
    public async Task A_function_that_is_tried_again_at_once_takes_its_message_once()
    {
        var queue = await Make(name);
        await using var host = await Host.Start(new Recipe(typeof(Stubborn)) { Names = { ["in"] = name } });
        host.Notes.Then = _ => host.Notes.Of<Taken>().Count < 3 ? throw new InvalidOperationException("not yet") : Task.CompletedTask;
        await queue.SendMessageAsync("again");
        await Empty(queue);
        Assert.Equal(Enumerable.Repeat(new Taken("again", 1), 3), host.Notes.Of<Taken>());
    }

    [Fact]
    public async Task A_message_that_is_not_in_Base64_becomes_poison_and_holds_up_nobody()
    {
        await (await Make(name, QueueMessageEncoding.None)).SendMessageAsync("not in Base64!");
        var queue = await Make(name);
        await queue.SendMessageAsync("right");
        await using var host = await Host.Start(Taking());
        Assert.Equal("not in Base64!", await Next($"{name}-poison", QueueMessageEncoding.None));
        await Empty(queue);
        Assert.Equal(new Taken("right", 1), Assert.Single(host.Notes.Of<Taken>()));
    }

    [Fact]
    public async Task A_function_takes_what_became_poison()
    {
        var queue = await Make(name);
        await using var host = await Host.Start(new Recipe(typeof(Taker), typeof(Physician))
        {
            Names = { ["in"] = name },
            Queues = options => options.MaxDequeueCount = 2,
        });
        host.Notes.Then = note => note is Taken ? throw new InvalidOperationException("no") : Task.CompletedTask;
        await queue.SendMessageAsync("bitter");
        Assert.Equal(new Healed("bitter"), Assert.Single(await host.Notes.Until<Healed>(1)));
        await Empty(Client($"{name}-poison"));
    }

    [Theory]
    [InlineData(1)]
    [InlineData(4)]
    public async Task A_host_works_on_as_many_messages_at_once_as_it_was_told(int batch)
    {
        var queue = await Make(name);
        for (var number = 0; number < 3 * batch; number++) await queue.SendMessageAsync($"{number}");
        await using var host = await Host.Start(Taking(options => (options.BatchSize, options.NewBatchThreshold) = (batch, 0)));
        var (working, most) = (0, 0);
        host.Notes.Then = async _ =>
        {
            lock (host) most = Math.Max(most, ++working);
            // The first batch is at work side by side before one of them ends.
            await Eventually.Holds(() => Task.FromResult(most >= batch), $"{batch} at once");
            lock (host) working--;
        };
        await Empty(queue);
        Assert.Equal(batch, most);
        Assert.Equal(Enumerable.Range(0, 3 * batch), host.Notes.Of<Taken>().Select(taken => int.Parse(taken.Text)).Order());
    }

    [Fact]
    public async Task Two_hosts_share_the_messages_of_a_queue_and_none_is_taken_twice()
    {
        const int count = 200;
        var queue = await Make(name);
        await Task.WhenAll(Enumerable.Range(0, count).Select(number => queue.SendMessageAsync($"{number}")));
        var recipe = Taking(options => options.BatchSize = 32);
        await using var one = await Host.Start(recipe);
        await using var two = await Host.Start(recipe with { Notes = new() });
        await Empty(queue);
        Assert.Equal(Enumerable.Range(0, count), one.Notes.Of<Taken>().Concat(two.Notes.Of<Taken>()).Select(taken => int.Parse(taken.Text)).Order());
    }

    [Fact]
    public async Task What_a_function_sends_is_in_queues_that_were_not_there()
    {
        await using var host = await Host.Start(new Recipe(typeof(Sender)) { Names = { ["out"] = name } });
        await host.Call<Sender>(nameof(Sender.Send), new { text = "ä" });
        await host.Call<Sender>(nameof(Sender.SendOut), new { text = "ä" });
        Assert.Equal("returned ä", await Next($"{name}-returned"));
        Assert.Equal("out ä", await Next($"{name}-out"));
        Assert.Equal("client ä", await Next($"{name}-client"));
        var collected = (await Client($"{name}-collected").ReceiveMessagesAsync(10)).Value;
        Assert.Equal([1, 2], collected.Select(message => message.Body.ToObjectFromJson<Order>()!.Number).Order());
    }

    [Fact]
    public async Task A_function_that_fails_has_sent_nothing_of_what_it_would_have_returned()
    {
        await using var host = await Host.Start(new Recipe(typeof(Sender)) { Names = { ["out"] = name } });
        host.Notes.Then = _ => throw new InvalidOperationException("no");
        await Assert.ThrowsAnyAsync<Exception>(() => host.Call<Sender>(nameof(Sender.Send), new { text = "ä" }));
        await Assert.ThrowsAnyAsync<Exception>(() => host.Call<Sender>(nameof(Sender.SendOut), new { text = "ä" }));
        Assert.False((await Client($"{name}-returned").ExistsAsync()).Value);
        Assert.False((await Client($"{name}-out").ExistsAsync()).Value);
        Assert.Equal("client ä", await Next($"{name}-client"));
    }

    [Fact]
    public async Task A_message_that_its_function_deletes_is_done()
    {
        var queue = await Make(name);
        await using var host = await Host.Start(new Recipe(typeof(Curious)) { Names = { ["in"] = name } });
        host.Notes.Then = note => queue.DeleteMessageAsync(((Details)note).Id, ((Details)note).PopReceipt);
        await queue.SendMessageAsync("one");
        await host.Notes.Until<Details>(1);
        await queue.SendMessageAsync("two");
        await host.Notes.Until<Details>(2);
        await Empty(queue);
        Assert.False((await Client($"{name}-poison").ExistsAsync()).Value);
    }

    [Fact]
    public async Task A_message_that_its_function_changes_comes_again_as_it_is_now()
    {
        var queue = await Make(name);
        await using var host = await Host.Start(new Recipe(typeof(Curious)) { Names = { ["in"] = name } });
        host.Notes.Then = note => note is Details { Text: "old" } details
            ? queue.UpdateMessageAsync(details.Id, details.PopReceipt, "new", TimeSpan.Zero) : Task.CompletedTask;
        await queue.SendMessageAsync("old");
        await Empty(queue);
        Assert.Equal([("old", 1), ("new", 2)], host.Notes.Of<Details>().Select(details => (details.Text, details.DequeueCount)));
    }

    [Fact]
    public async Task A_host_finds_a_queue_that_is_made_after_its_start_and_made_again()
    {
        await using var host = await Host.Start(Taking());
        var queue = await Make(name);
        await queue.SendMessageAsync("first");
        await host.Notes.Until<Taken>(1);
        await queue.DeleteAsync();
        // The service says for a while that the queue is being deleted.
        await Eventually.Holds(async () => await IsMade(queue), "the queue again");
        await queue.SendMessageAsync("second");
        Assert.Equal(["first", "second"], (await host.Notes.Until<Taken>(2)).Select(taken => taken.Text));
    }

    Recipe Taking(Action<QueuesOptions>? options = null) => new(typeof(Taker)) { Names = { ["in"] = name }, Queues = options };
}
