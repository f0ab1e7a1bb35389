using System.Text.Json;
using Azure.Storage.Blobs;
using Azure.Storage.Blobs.Models;
using Azure.Storage.Blobs.Specialized;
using Microsoft.Azure.WebJobs;
using Microsoft.Azure.WebJobs.Host;
using Microsoft.Extensions.DependencyInjection;
using static Tidemark.Tests.Functions.QueuesOfCases;

namespace Tidemark.Tests.Functions;

/// Functions that blobs trigger, and that read and write blobs.
public sealed class Blobs
{
    readonly string name = Stores.FreshName("b");
    readonly BlobServiceClient service = new(Stores.Connection);

    [Fact]
    public async Task Blobs_with_any_name_are_found_once_and_have_receipts()
    {
        var box = await Make();
        string[] names =
            ["plain.txt", "folder/sub.folder/ä ö", "100%", "%41", "a+b c", "quote'd \"x\"", "#1?x=y&z", "semi;colon,comma", "世界 \U0001F30A"];
        foreach (var each in names) await Upload(box, each, each);
        var recipe = Recipe(typeof(Finder));
        await using var host = await Host.Start(recipe);
        var found = await host.Notes.Until<Found>(names.Length);
        Assert.Equal(names.Select(each => (each, each)).Order(), found.Select(each => (each.Name, each.Text)).Order());
        await Eventually.Holds(async () =>
            (await Receipts(recipe)).Count(receipt => !receipt.Metadata.ContainsKey("Incomplete")) == names.Length, "receipts");
        var tag = (await box.GetBlobClient("a+b c").GetPropertiesAsync()).Value.ETag;
        Assert.Single(await Receipts(recipe), receipt => receipt.Name.EndsWith($"/{tag}/{name}/a+b c"));
    }

    [Fact]
    public async Task A_pattern_picks_blobs_and_binds_the_parts_of_their_names()
    {
        var box = await Make();
        foreach (var each in (string[])["in-7.png", "in-x", "out-8.png", "deep/in-9.png", "in-10.tar.gz"]) await Upload(box, each, each);
        await using var host = await Host.Start(Recipe(typeof(Picky)));
        var found = await host.Notes.Until<(string, string, string)>(2);
        Assert.Equal([("10.tar", "gz", "in-10.tar.gz"), ("7", "png", "in-7.png")], found.Order());
    }

    [Fact]
    public async Task A_blob_is_bound_in_each_way_that_there_is()
    {
        var box = await Make();
        await Upload(box, "x", "text ä");
        await using var host = await Host.Start(Recipe(typeof(Readers)));
        var read = await host.Notes.Until<string>(Readers.All.Length);
        Assert.Equal(Readers.All.Select(kind => $"{kind} text ä"), read.Order());
    }

    [Fact]
    public async Task Append_and_page_blobs_are_found_as_well()
    {
        var box = await Make();
        var append = box.GetAppendBlobClient("append-x");
        await append.CreateAsync();
        await append.AppendBlockAsync(BinaryData.FromString("line").ToStream());
        await box.GetPageBlobClient("page-x").CreateAsync(1024);
        await using var host = await Host.Start(Recipe(typeof(Others)));
        Assert.Equal(["append line", "page 1024"], (await host.Notes.Until<string>(2)).Order());
    }

    [Fact]
    public async Task A_function_knows_the_properties_and_metadata_of_its_blob()
    {
        var box = await Make();
        var blob = box.GetBlobClient("a folder/x.txt");
        await blob.UploadAsync(BinaryData.FromString("12345"), new BlobUploadOptions
        {
            HttpHeaders = new() { ContentType = "text/plain" },
            Metadata = new Dictionary<string, string> { ["colour"] = "blue" },
        });
        await using var host = await Host.Start(Recipe(typeof(Inspector)));
        Assert.Equal(new Known($"{name}/a folder/x.txt", blob.Uri, 5, "text/plain", "blue"), Assert.Single(await host.Notes.Until<Known>(1)));
    }

    [Fact]
    public async Task A_blob_is_found_again_when_it_was_changed_and_not_when_the_host_was()
    {
        var box = await Make();
        await Upload(box, "x", "old");
        var recipe = Recipe(typeof(Finder));
        await using (await Host.Start(recipe)) await recipe.Notes.Until<Found>(1);

        await using var host = await Host.Start(recipe);
        await NextSecond(box.GetBlobClient("x"));
        await Upload(box, "y", "marks the end of a scan");
        await recipe.Notes.Until<Found>(2);
        await NextSecond(box.GetBlobClient("y"));
        await Upload(box, "x", "new");
        Assert.Equal(["old", "marks the end of a scan", "new"], (await recipe.Notes.Until<Found>(3)).Select(found => found.Text));
    }

    [Fact]
    public async Task A_host_finds_blobs_in_a_container_that_is_made_after_its_start()
    {
        await using var host = await Host.Start(Recipe(typeof(Finder)));
        await Upload(await Make(), "x", "late");
        Assert.Equal(new Found("x", "late"), Assert.Single(await host.Notes.Until<Found>(1)));
    }

    [Fact]
    public async Task Two_hosts_share_the_blobs_of_a_container()
    {
        const int count = 30;
        var box = await Make();
        await Task.WhenAll(Enumerable.Range(0, count).Select(number => Upload(box, $"{number}", $"{number}")));
        var recipe = Recipe(typeof(Finder));
        var hosts = await Task.WhenAll(Host.Start(recipe), Host.Start(recipe));
        await recipe.Notes.Until<Found>(count);
        await Empty(Client($"azure-webjobs-blobtrigger-{recipe.Id}"));
        foreach (var host in hosts) await host.DisposeAsync();
        Assert.Equal(Enumerable.Range(0, count), recipe.Notes.Of<Found>().Select(found => int.Parse(found.Text)).Order());
    }

    [Fact]
    public async Task A_blob_whose_function_keeps_failing_becomes_poison()
    {
        var box = await Make();
        await Upload(box, "bad/x", "bitter");
        var recipe = Recipe(typeof(Finder)) with { More = jobs => jobs.Services.Configure<BlobsOptions>(options => options.PoisonBlobThreshold = 3) };
        recipe.Notes.Then = _ => throw new InvalidOperationException("no");
        await using var host = await Host.Start(recipe);
        JsonElement poison = default;
        await Eventually.Holds(async () => (poison = await PoisonOf(name)).ValueKind != JsonValueKind.Undefined, "a poison message");
        Assert.Equal(3, host.Notes.Of<Found>().Count);
        Assert.Equal("bad/x", poison.GetProperty("BlobName").GetString());
        Assert.Equal($"{(await box.GetBlobClient("bad/x").GetPropertiesAsync()).Value.ETag}", poison.GetProperty("ETag").GetString());
        Assert.EndsWith("Finder.Find", poison.GetProperty("FunctionId").GetString());
        await Empty(Client($"azure-webjobs-blobtrigger-{recipe.Id}"));
    }

    [Fact]
    public async Task A_message_names_the_blob_that_its_function_reads()
    {
        var box = await Make();
        await Upload(box, "a b/ä", "here");
        var queue = await QueuesOfCases.Make(name);
        await using var host = await Host.Start(Recipe(typeof(Librarian)));
        await queue.SendMessageAsync("a b/ä");
        await queue.SendMessageAsync("missing");
        Assert.Equal([("a b/ä", "here", "here"), ("missing", null, null)],
            (await host.Notes.Until<(string Message, string?, string?)>(2)).OrderBy(note => note.Message));
    }

    [Fact]
    public async Task A_function_reads_all_blobs_below_a_prefix()
    {
        var box = await Make();
        for (var number = 1; number <= 3; number++) await Upload(box, $"shelf/{number}", $"book {number}");
        await Upload(box, "shelf-life", "no book");
        await Upload(box, "table/1", "elsewhere");
        await using var host = await Host.Start(Recipe(typeof(Librarian)));
        await host.Call<Librarian>(nameof(Librarian.ReadAll));
        var (texts, names, all) = Assert.Single(host.Notes.Of<(string[], string[], int)>());
        Assert.Equal(["no book", "book 1", "book 2", "book 3"], texts);
        Assert.Equal(["shelf-life", "shelf/1", "shelf/2", "shelf/3"], names);
        Assert.Equal(5, all);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(9_000_000)]
    public async Task What_a_function_writes_is_in_a_container_that_was_not_there(int length)
    {
        await using var host = await Host.Start(Recipe(typeof(Writer)));
        await host.Call<Writer>(nameof(Writer.Write), new { length });
        await host.Call<Writer>(nameof(Writer.WriteOut));
        var box = service.GetBlobContainerClient(name);
        Assert.Equal(Stores.Bytes(length), (await Download(box, "stream")).ToArray());
        foreach (var each in (string[])["text", "client", "out"]) Assert.Equal($"{each} ä", $"{await Download(box, each)}");
        Assert.Equal([1, 2, 3], (await Download(box, "bytes")).ToArray());
        Assert.False(await box.GetBlobClient("nothing").ExistsAsync());
        // The host notes which run of which function has written a blob.
        var writer = (await box.GetBlobClient("out").GetPropertiesAsync()).Value.Metadata["AzureWebJobsParentId"];
        Assert.True(Guid.TryParse(writer, out _), writer);
    }

    [Fact]
    public async Task A_message_goes_through_a_chain_of_functions_and_their_blobs()
    {
        await Make();
        var queue = await QueuesOfCases.Make(name);
        await using var host = await Host.Start(Recipe(typeof(Chain)));
        await queue.SendMessageAsync("x");
        Assert.Equal("x: first second third", await Next($"{name}-out"));
    }

    [Fact]
    public async Task A_host_logs_the_writes_of_an_account_whose_name_is_in_the_url_and_reads_the_logs()
    {
        var box = await Make();
        await Upload(box, "x", "early");
        var recipe = Recipe(typeof(Finder)) with { Connection = HostStyle.Connection };
        await using var host = await Host.Start(recipe with { More = jobs =>
        {
            HostStyle.Use(jobs);
            HostStyle.NoteLogScans(jobs, recipe.Notes);
        } });
        await host.Notes.Until<Found>(1);
        var logging = (await service.GetPropertiesAsync()).Value.Logging;
        Assert.True(logging is { Write: true, RetentionPolicy: { Enabled: true, Days: 7 } });
        await Upload(box, "y", "late");
        Assert.Equal(["early", "late"], (await host.Notes.Until<Found>(2)).Select(found => found.Text));
        Assert.Equal(name, (await host.Notes.Until<FoundInLogs>(1))[0].Container);

        // It also lists the container, and notes how far it has seen it.
        var seen = service.GetBlobContainerClient(Host.Hosts).GetBlobClient($"blobscaninfo/{recipe.Id}/{Stores.Account}/{name}/scanInfo");
        var late = (await box.GetBlobClient("y").GetPropertiesAsync()).Value.LastModified;
        await Eventually.Holds(async () => await seen.ExistsAsync() && JsonDocument.Parse((await seen.DownloadContentAsync()).Value.Content)
            .RootElement.GetProperty("LatestScan").GetDateTimeOffset() == late.AddMilliseconds(-1), "what it has seen");
        Assert.Equal(2, host.Notes.Of<Found>().Count);
    }

    Recipe Recipe(Type functions) => new(functions) { Names = { ["box"] = name, ["in"] = name } };

    async Task<BlobContainerClient> Make() => await service.CreateBlobContainerAsync(name);

    static Task Upload(BlobContainerClient box, string blob, string text) =>
        box.GetBlobClient(blob).UploadAsync(BinaryData.FromString(text), overwrite: true);

    static async Task<BinaryData> Download(BlobContainerClient box, string blob) =>
        (await box.GetBlobClient(blob).DownloadContentAsync()).Value.Content;

    /// Waits for the second after the one in which the blob was changed: a scan knows the time of the newest blob that it has
    /// seen, and times of blobs are whole seconds.
    static Task NextSecond(BlobClient blob) => Eventually.Holds(async () =>
    {
        var answer = await blob.GetPropertiesAsync();
        return answer.GetRawResponse().Headers.Date > answer.Value.LastModified;
    }, "the next second");

    async Task<List<BlobItem>> Receipts(Recipe recipe)
    {
        var receipts = new List<BlobItem>();
        var hosts = service.GetBlobContainerClient(Host.Hosts);
        await foreach (var receipt in hosts.GetBlobsAsync(BlobTraits.Metadata, BlobStates.None, $"blobreceipts/{recipe.Id}/", default))
        {
            receipts.Add(receipt);
        }
        return receipts;
    }

    /// What the queue for poisoned blobs has about a container. All hosts share it.
    static async Task<JsonElement> PoisonOf(string container)
    {
        var queue = Client("webjobs-blobtrigger-poison");
        if (!await queue.ExistsAsync()) return default;
        return (await queue.PeekMessagesAsync(32)).Value.Select(message => JsonDocument.Parse(message.Body).RootElement)
            .FirstOrDefault(message => message.GetProperty("ContainerName").GetString() == container);
    }
}
