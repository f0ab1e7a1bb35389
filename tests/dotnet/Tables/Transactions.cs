using System.Text;
using Azure;
using Azure.Data.Tables;
using static Tidemark.Tests.Tables.Clients;

namespace Tidemark.Tests.Tables;

/// Transactions: each operation, all or nothing, the index of the failure, limits.
public sealed class Transactions(FreshTable fresh) : IClassFixture<FreshTable>
{
    readonly TableClient table = fresh.Client;
    readonly string partition = Stores.FreshName("p");

    TableEntity Entity(string rowKey, object? value = null) => new(partition, rowKey) { ["V"] = value };

    IEnumerable<TableEntity> Numbered(int count) => Enumerable.Range(0, count).Select(i => Entity(Padded(i, 3), i));

    async Task<TableTransactionFailedException> RollsBack(IEnumerable<TableTransactionAction> actions, int status, string code, int? index)
    {
        var before = await table.Find($"PartitionKey eq '{partition}'");
        var error = await Assert.ThrowsAsync<TableTransactionFailedException>(() => table.SubmitTransactionAsync(actions));
        Assert.Equal((status, code, index), (error.Status, error.ErrorCode, error.FailedTransactionActionIndex));
        var after = await table.Find($"PartitionKey eq '{partition}'");
        Assert.Equal(before.Select(e => (e.RowKey, e.ETag)), after.Select(e => (e.RowKey, e.ETag)));
        return error;
    }

    [Fact]
    public async Task Every_kind_of_operation_together()
    {
        foreach (var row in new[] { "1", "2", "5", "6" }) await table.AddEntityAsync(new TableEntity(partition, row) { ["A"] = 1 });
        var answer = await table.SubmitTransactionAsync([
            Add(new TableEntity(partition, "3")),
            new(TableTransactionActionType.UpdateMerge, new TableEntity(partition, "1") { ["B"] = 2 }),
            Delete(partition, "2"),
            Put(new TableEntity(partition, "4")),
            new(TableTransactionActionType.UpdateReplace, new TableEntity(partition, "5") { ["C"] = 3 }),
            new(TableTransactionActionType.UpsertMerge, new TableEntity(partition, "6") { ["D"] = 4 }),
            new(TableTransactionActionType.UpsertMerge, new TableEntity(partition, "7") { ["E"] = 5 })]);
        Assert.Equal([204, 204, 204, 204, 204, 204, 204], answer.Value.Select(each => each.Status));
        var found = await table.Find($"PartitionKey eq '{partition}'");
        Assert.Equal(["1 A B", "3", "4", "5 C", "6 A D", "7 E"],
            found.Select(e => string.Join(" ", [e.RowKey, .. e.Keys.Where(name => name.Length == 1).Order()])));
    }

    [Fact]
    public async Task The_answers_have_the_ETags_in_order()
    {
        var answers = (await table.SubmitTransactionAsync(Numbered(5).Select(Add))).Value;
        var found = await table.Find($"PartitionKey eq '{partition}'");
        Assert.Equal(found.Select(e => (ETag?)e.ETag), answers.Select(answer => answer.Headers.ETag));
        answers = (await table.SubmitTransactionAsync(found.Select(e => Replace(e, e.ETag)))).Value;
        Assert.Equal((await table.Find($"PartitionKey eq '{partition}'")).Select(e => (ETag?)e.ETag), answers.Select(answer => answer.Headers.ETag));
    }

    [Fact]
    public async Task A_row_of_versions_as_Orleans_keeps_it()
    {
        await table.SubmitTransactionAsync([Add(Entity("VersionRow", 1)), Add(Entity("silo", "Joining"))]);
        var rows = await table.Find($"PartitionKey eq '{partition}'");
        var tags = (await table.SubmitTransactionAsync(rows.Select(e => Replace(e, e.ETag)))).Value.Select(answer => answer.Headers.ETag!.Value).ToArray();
        // The ETags of the answer are those of the next write.
        await table.SubmitTransactionAsync(rows.Zip(tags, Replace));
        await RollsBack(rows.Zip(tags, Replace), 412, "UpdateConditionNotSatisfied", 0);
    }

    [Fact]
    public async Task A_hundred_operations()
    {
        Assert.Equal(100, (await table.SubmitTransactionAsync(Numbered(100).Select(Add))).Value.Count);
        Assert.Equal(100, (await table.SubmitTransactionAsync(Numbered(100).Select(e => Delete(partition, e.RowKey)))).Value.Count);
        Assert.Empty(await table.Find($"PartitionKey eq '{partition}'"));
    }

    [Fact]
    public async Task A_hundred_and_one_operations() => await RollsBack(Numbered(101).Select(Add), 400, "InvalidInput", 99);

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(50)]
    [InlineData(99)]
    public async Task A_duplicate_at(int index)
    {
        await table.AddEntityAsync(Entity("exists"));
        var actions = Numbered(100).Select(Add).ToList();
        actions[index] = Add(Entity("exists"));
        var error = await RollsBack(actions, 409, "EntityAlreadyExists", index);
        Assert.StartsWith($"{index}:", error.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task An_update_of_a_missing_entity() =>
        await RollsBack([Add(Entity("1")), Add(Entity("2")), Merge(Entity("missing"), ETag.All)], 404, "ResourceNotFound", 2);

    [Fact]
    public async Task A_delete_of_a_missing_entity() =>
        await RollsBack([Add(Entity("1")), Delete(partition, "missing", ETag.All)], 404, "ResourceNotFound", 1);

    [Theory]
    [InlineData(TableTransactionActionType.UpdateMerge)]
    [InlineData(TableTransactionActionType.UpdateReplace)]
    [InlineData(TableTransactionActionType.Delete)]
    public async Task A_stale_ETag(TableTransactionActionType type)
    {
        var old = (await table.AddEntityAsync(Entity("1", 1))).Headers.ETag!.Value;
        await table.UpsertEntityAsync(Entity("1", 2));
        await RollsBack([Add(Entity("2")), new(type, Entity("1", 3), old)], 412, "UpdateConditionNotSatisfied", 1);
    }

    [Fact]
    public async Task One_entity_twice() =>
        await RollsBack([Add(Entity("1")), Put(Entity("1"))], 400, "InvalidDuplicateRow", 1);

    [Fact]
    public async Task Two_partitions()
    {
        var error = await Assert.ThrowsAsync<TableTransactionFailedException>(() =>
            table.SubmitTransactionAsync([Add(Entity("1")), Add(new TableEntity(partition + "x", "1"))]));
        Assert.Equal((400, "CommandsInBatchActOnDifferentPartitions", (int?)1), (error.Status, error.ErrorCode, error.FailedTransactionActionIndex));
        Assert.Empty(await table.Find($"PartitionKey eq '{partition}'"));
    }

    [Fact]
    public async Task A_property_that_is_too_large() =>
        await RollsBack([Add(Entity("1")), Add(Entity("2", new byte[65537])), Add(Entity("3"))], 400, "PropertyValueTooLarge", 1);

    [Fact]
    public async Task A_missing_table()
    {
        var error = await Assert.ThrowsAsync<TableTransactionFailedException>(() =>
            Table(Stores.FreshName()).SubmitTransactionAsync([Add(Entity("1")), Add(Entity("2"))]));
        Assert.Equal((404, "TableNotFound", (int?)0), (error.Status, error.ErrorCode, error.FailedTransactionActionIndex));
    }

    [Fact]
    public async Task Almost_four_mebibytes_and_more()
    {
        IEnumerable<TableTransactionAction> Large(int count) => Enumerable.Range(0, count).Select(i =>
        {
            var entity = Entity(Padded(i, 3));
            for (var part = 0; part < 10; part++) entity[$"S{part}"] = new string('x', 32_000);
            return Add(entity);
        });
        Assert.Equal(12, (await table.SubmitTransactionAsync(Large(12))).Value.Count);
        var error = await Assert.ThrowsAnyAsync<RequestFailedException>(() => table.SubmitTransactionAsync(Large(14)));
        Assert.Equal((413, "RequestBodyTooLarge"), (error.Status, error.ErrorCode));
    }

    [Fact]
    public async Task Text_that_looks_like_the_frame_of_a_batch()
    {
        var text = "}\r\n--changeset_1--\r\nContent-Type: application/http\r\n\r\nDELETE / HTTP/1.1\r\n";
        await table.SubmitTransactionAsync([Add(Entity("1", text)), Add(Entity("2", Encoding.UTF8.GetBytes(text)))]);
        var found = await table.Find($"PartitionKey eq '{partition}'");
        Assert.Equal((text, text), (found[0].GetString("V"), Encoding.UTF8.GetString(found[1].GetBinary("V"))));
    }

    [Fact]
    public async Task The_failed_entity_can_be_told_from_the_error()
    {
        // An application takes the entity out and sends the rest.
        await table.AddEntityAsync(Entity("002"));
        var actions = Numbered(5).Select(Add).ToList();
        while (true)
        {
            try
            {
                await table.SubmitTransactionAsync(actions);
                break;
            }
            catch (TableTransactionFailedException error) when (error.FailedTransactionActionIndex is { } index)
            {
                Assert.Equal("002", actions[index].Entity.RowKey);
                actions.RemoveAt(index);
            }
        }
        Assert.Equal("000 001 002 003 004", await table.RowKeys($"PartitionKey eq '{partition}'"));
    }

    [Fact]
    public async Task Ten_at_once_in_one_partition()
    {
        await Task.WhenAll(Enumerable.Range(0, 10).Select(batch =>
            table.SubmitTransactionAsync(Enumerable.Range(0, 20).Select(i => Add(Entity($"{batch}_{Padded(i)}"))))));
        Assert.Equal(200, (await table.Find($"PartitionKey eq '{partition}'", "RowKey")).Count);
    }

    [Fact]
    public async Task An_empty_transaction_is_refused_by_the_SDK() =>
        await Assert.ThrowsAsync<InvalidOperationException>(() => table.SubmitTransactionAsync([]));
}
