using System.Globalization;
using Azure;
using Azure.Data.Tables;
using Azure.Data.Tables.Models;

namespace Tidemark.Tests.Tables;

/// A table of its own for each class of cases. Cases use partitions of their own.
public sealed class FreshTable : IAsyncLifetime
{
    public TableClient Client { get; } = Clients.Table(Stores.FreshName());

    public async ValueTask InitializeAsync() => await Client.CreateAsync();

    public async ValueTask DisposeAsync() => await Client.DeleteAsync();
}

public static class Clients
{
    public static readonly TableSharedKeyCredential Key = new(Stores.Account, Stores.Key);

    public static TableServiceClient Service(TableClientOptions? options = null) => new(Stores.Tables, Key, options);

    public static TableClient Table(string name, TableClientOptions? options = null) => new(Stores.Tables, name, Key, options);

    public static async Task<TableClient> Created(string name)
    {
        var table = Table(name);
        await table.CreateAsync();
        return table;
    }

    public static async Task<List<T>> ToList<T>(this AsyncPageable<T> pageable) where T : notnull
    {
        var found = new List<T>();
        await foreach (var item in pageable) found.Add(item);
        return found;
    }

    public static async Task<List<TableEntity>> Find(this TableClient table, string filter, params string[] select) =>
        await table.QueryAsync<TableEntity>(filter, select: select.Length > 0 ? select : null).ToList();

    public static async Task<string> RowKeys(this TableClient table, string filter) =>
        string.Join(" ", (await table.Find(filter, "RowKey")).Select(entity => entity.RowKey));

    public static async Task<T?> Read<T>(this TableClient table, string partitionKey, string rowKey) where T : class, ITableEntity
    {
        var answer = await table.GetEntityIfExistsAsync<T>(partitionKey, rowKey);
        return answer.HasValue ? answer.Value : null;
    }

    public static TableTransactionAction Add(ITableEntity entity) => new(TableTransactionActionType.Add, entity);

    public static TableTransactionAction Put(ITableEntity entity) => new(TableTransactionActionType.UpsertReplace, entity);

    public static TableTransactionAction Replace(ITableEntity entity, ETag etag) => new(TableTransactionActionType.UpdateReplace, entity, etag);

    public static TableTransactionAction Merge(ITableEntity entity, ETag etag = default) => new(TableTransactionActionType.UpdateMerge, entity, etag);

    public static TableTransactionAction Delete(string partitionKey, string rowKey, ETag etag = default) =>
        new(TableTransactionActionType.Delete, new TableEntity(partitionKey, rowKey), etag);

    /// Reads, decides and writes, and does so again if somebody else was faster.
    public static async Task Retried(Func<Task> change)
    {
        for (var attempt = 1; ; attempt++)
        {
            try
            {
                await change();
                return;
            }
            catch (RequestFailedException error) when (attempt < 50 && error.Status is 404 or 409 or 412)
            {
                await Task.Delay(Random.Shared.Next(10 * attempt));
            }
        }
    }

    public static string Padded(int number, int width = 4) => number.ToString(CultureInfo.InvariantCulture).PadLeft(width, '0');
}
