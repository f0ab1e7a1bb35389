using Azure;
using Azure.Data.Tables;
using static Tidemark.Tests.Tables.Clients;

namespace Tidemark.Tests.Tables;

/// Writes of single entities: modes, ETags, keys.
public sealed class Entities(FreshTable fresh) : IClassFixture<FreshTable>
{
    readonly TableClient table = fresh.Client;
    readonly string key = Stores.FreshName();

    TableEntity Entity(params (string Name, object Value)[] values)
    {
        var entity = new TableEntity("p", key);
        foreach (var (name, value) in values) entity[name] = value;
        return entity;
    }

    async Task<string> Properties()
    {
        TableEntity read = await table.GetEntityAsync<TableEntity>("p", key);
        return string.Join(" ", read.Where(pair => pair.Key.Length == 1).OrderBy(pair => pair.Key).Select(pair => $"{pair.Key}={pair.Value}"));
    }

    [Fact]
    public async Task An_insert_answers_its_ETag_and_no_content()
    {
        var answer = await table.AddEntityAsync(Entity(("A", 1)));
        TableEntity read = await table.GetEntityAsync<TableEntity>("p", key);
        Assert.Equal((204, read.ETag), (answer.Status, answer.Headers.ETag));
        Assert.Equal("return-no-content", answer.Headers.TryGetValue("Preference-Applied", out var applied) ? applied : null);
    }

    [Fact]
    public async Task A_second_insert_is_refused()
    {
        await table.AddEntityAsync(Entity(("A", 1)));
        await Refused.With(409, "EntityAlreadyExists", () => table.AddEntityAsync(Entity(("A", 2))));
        Assert.Equal("A=1", await Properties());
    }

    [Theory]
    [InlineData(TableUpdateMode.Merge, "A=1 B=2")]
    [InlineData(TableUpdateMode.Replace, "B=2")]
    public async Task An_upsert_creates_and_then_changes(TableUpdateMode mode, string expected)
    {
        Assert.Equal(204, (await table.UpsertEntityAsync(Entity(("A", 1)), mode)).Status);
        Assert.Equal("A=1", await Properties());
        var answer = await table.UpsertEntityAsync(Entity(("B", 2)), mode);
        TableEntity read = await table.GetEntityAsync<TableEntity>("p", key);
        Assert.Equal(read.ETag, answer.Headers.ETag);
        Assert.Equal(expected, await Properties());
    }

    [Theory]
    [InlineData(TableUpdateMode.Merge, "A=1 B=2")]
    [InlineData(TableUpdateMode.Replace, "B=2")]
    public async Task An_update_under_the_ETag(TableUpdateMode mode, string expected)
    {
        var etag = (await table.AddEntityAsync(Entity(("A", 1)))).Headers.ETag!.Value;
        var answer = await table.UpdateEntityAsync(Entity(("B", 2)), etag, mode);
        Assert.Equal(expected, await Properties());
        Assert.NotEqual(etag, answer.Headers.ETag);
        await Refused.With(412, "UpdateConditionNotSatisfied", () => table.UpdateEntityAsync(Entity(("C", 3)), etag, mode));
        Assert.Equal(expected, await Properties());
    }

    [Theory]
    [InlineData(TableUpdateMode.Merge, "A=1 B=2")]
    [InlineData(TableUpdateMode.Replace, "B=2")]
    public async Task An_update_of_any_version(TableUpdateMode mode, string expected)
    {
        await table.AddEntityAsync(Entity(("A", 1)));
        await table.UpdateEntityAsync(Entity(("B", 2)), ETag.All, mode);
        Assert.Equal(expected, await Properties());
    }

    [Theory]
    [InlineData(TableUpdateMode.Merge)]
    [InlineData(TableUpdateMode.Replace)]
    public async Task An_update_of_a_missing_entity(TableUpdateMode mode) =>
        await Refused.With(404, "ResourceNotFound", () => table.UpdateEntityAsync(Entity(("A", 1)), ETag.All, mode));

    [Fact]
    public async Task A_merge_changes_the_type_of_a_property()
    {
        await table.AddEntityAsync(Entity(("A", 1)));
        await table.UpdateEntityAsync(Entity(("A", "one")), ETag.All);
        Assert.Equal("A=one", await Properties());
    }

    [Fact]
    public async Task A_delete_under_an_old_ETag_then_the_present_one()
    {
        var old = (await table.AddEntityAsync(Entity(("A", 1)))).Headers.ETag!.Value;
        var present = (await table.UpsertEntityAsync(Entity(("A", 2)))).Headers.ETag!.Value;
        await Refused.With(412, "UpdateConditionNotSatisfied", () => table.DeleteEntityAsync("p", key, old));
        Assert.Equal(204, (await table.DeleteEntityAsync("p", key, present)).Status);
        await Refused.With(404, "ResourceNotFound", () => table.GetEntityAsync<TableEntity>("p", key));
    }

    [Fact]
    public async Task A_delete_of_a_missing_entity_is_404_and_no_exception() =>
        Assert.Equal(404, (await table.DeleteEntityAsync("p", key)).Status);

    [Fact]
    public async Task GetEntityIfExists()
    {
        Assert.False((await table.GetEntityIfExistsAsync<TableEntity>("p", key)).HasValue);
        await table.AddEntityAsync(Entity());
        Assert.True((await table.GetEntityIfExistsAsync<TableEntity>("p", key)).HasValue);
        await Refused.With(404, "TableNotFound", () => Table(Stores.FreshName()).GetEntityAsync<TableEntity>("p", key));
    }

    [Fact]
    public async Task A_point_with_select()
    {
        await table.AddEntityAsync(Entity(("A", 1), ("B", 2)));
        TableEntity read = await table.GetEntityAsync<TableEntity>("p", key, ["B"]);
        Assert.Equal(2, read.GetInt32("B"));
        Assert.False(read.ContainsKey("A"));
    }

    [Fact]
    public async Task Select_of_system_properties()
    {
        await table.AddEntityAsync(Entity(("A", 1)));
        TableEntity read = await table.GetEntityAsync<TableEntity>("p", key, ["PartitionKey", "RowKey", "Timestamp"]);
        Assert.Equal(("p", key), (read.PartitionKey, read.RowKey));
        Assert.NotNull(read.Timestamp);
        Assert.False(read.ContainsKey("A"));
    }

    [Theory]
    [InlineData("it's")]
    [InlineData("two''quotes'")]
    [InlineData("\u00fc 100%")]
    [InlineData("a+b=c&d")]
    [InlineData("\u65e5\u672c \ud83d\ude00")]
    [InlineData("(x),RowKey='y'")]
    [InlineData("%27")]
    [InlineData("%")]
    [InlineData(" leading and trailing ")]
    [InlineData("a;b,c:d@e")]
    [InlineData("$batch")]
    [InlineData(".")]
    [InlineData("..")]
    [InlineData("[\"json\"]")]
    [InlineData("https:||host|path")]
    public async Task An_odd_key(string odd)
    {
        var partition = key + odd;
        await table.AddEntityAsync(new TableEntity(partition, odd) { ["A"] = 1 });
        await table.UpdateEntityAsync(new TableEntity(partition, odd) { ["B"] = 2 }, ETag.All);
        await table.UpsertEntityAsync(new TableEntity(partition, odd) { ["C"] = 3 });
        await table.SubmitTransactionAsync([Merge(new TableEntity(partition, odd) { ["D"] = 4 })]);
        var found = Assert.Single(await table.QueryAsync<TableEntity>(e => e.PartitionKey == partition && e.RowKey == odd).ToList());
        Assert.Equal((odd, 1, 2, 3, 4), (found.RowKey, found.GetInt32("A"), found.GetInt32("B"), found.GetInt32("C"), found.GetInt32("D")));
        TableEntity point = await table.GetEntityAsync<TableEntity>(partition, odd);
        Assert.Equal(found.ETag, point.ETag);
        Assert.Equal(204, (await table.DeleteEntityAsync(partition, odd, found.ETag)).Status);
    }

    [Theory]
    [InlineData("a/b")]
    [InlineData("a\\b")]
    [InlineData("a#b")]
    [InlineData("a?b")]
    [InlineData("a\tb")]
    [InlineData("a\u0085b")]
    public async Task A_forbidden_key(string bad) =>
        await Refused.With(400, "OutOfRangeInput", () => table.AddEntityAsync(new TableEntity(bad, "r")));

    [Theory]
    [InlineData("", "")]
    [InlineData("", "r")]
    [InlineData("p", "")]
    public async Task Empty_keys(string partition, string row)
    {
        // A table of its own: the keys are the same in each case.
        var own = await Created(Stores.FreshName());
        await own.AddEntityAsync(new TableEntity(partition, row) { ["A"] = 1 });
        await own.UpsertEntityAsync(new TableEntity(partition, row) { ["B"] = 2 });
        TableEntity read = await own.GetEntityAsync<TableEntity>(partition, row, ["A", "B"]);
        Assert.Equal((1, 2), (read.GetInt32("A"), read.GetInt32("B")));
        var found = Assert.Single(await own.QueryAsync<TableEntity>(e => e.PartitionKey == partition && e.RowKey == row).ToList());
        await own.UpdateEntityAsync(found, found.ETag, TableUpdateMode.Replace);
        await own.SubmitTransactionAsync([Delete(partition, row)]);
        Assert.Empty(await own.QueryAsync<TableEntity>().ToList());
        await own.DeleteAsync();
    }

    [Fact]
    public async Task Keys_of_a_kibibyte_and_longer_ones()
    {
        var longest = new string('k', 512);  // a character has two bytes
        await table.AddEntityAsync(new TableEntity(longest, longest));
        Assert.NotNull(await table.Read<TableEntity>(longest, longest));
        var error = await Assert.ThrowsAsync<RequestFailedException>(() => table.AddEntityAsync(new TableEntity(new string('k', 1025), "r")));
        Assert.Equal(400, error.Status);
    }

    [Fact]
    public async Task Fifty_writers_lose_no_increment()
    {
        await table.AddEntityAsync(Entity(("N", 0)));
        await Task.WhenAll(Enumerable.Range(0, 10).Select(async _ =>
        {
            for (var i = 0; i < 5; i++)
            {
                await Retried(async () =>
                {
                    TableEntity read = await table.GetEntityAsync<TableEntity>("p", key);
                    read["N"] = read.GetInt32("N") + 1;
                    await table.UpdateEntityAsync(read, read.ETag, TableUpdateMode.Replace);
                });
            }
        }));
        Assert.Equal("N=50", await Properties());
    }
}
