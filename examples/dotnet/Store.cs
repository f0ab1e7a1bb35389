using Azure;
using Azure.Data.Tables;
using Azure.Storage.Blobs;
using Azure.Storage.Queues;

namespace Shop;

/// Everything that the shop keeps: orders and stock in tables, the ids of placed orders in a queue, receipts in blobs.
public sealed class Store(TableServiceClient tables, QueueServiceClient queues, BlobServiceClient blobs)
{
    readonly BlobContainerClient receipts = blobs.GetBlobContainerClient("shop-receipts");

    public TableClient Orders { get; } = tables.GetTableClient("ShopOrders");
    public TableClient Stock { get; } = tables.GetTableClient("ShopStock");
    public QueueClient Placed { get; } = queues.GetQueueClient("shop-placed");

    public BlobClient Receipt(string id) => receipts.GetBlobClient($"{id}.txt");

    /// Creates what is missing, and fills the shelves that are new.
    public async Task Create()
    {
        await Task.WhenAll(Orders.CreateIfNotExistsAsync(), Stock.CreateIfNotExistsAsync(), Placed.CreateIfNotExistsAsync(),
            receipts.CreateIfNotExistsAsync());
        foreach (var item in Shelf.Prices.Keys)
        {
            var shelf = await Stock.GetEntityIfExistsAsync<Shelf>(item, Shelf.Row);
            if (!shelf.HasValue) await Stock.AddEntityAsync(new Shelf { PartitionKey = item, Left = 100_000 });
        }
    }

    public async Task<Order> Order(string id) => await Orders.GetEntityAsync<Order>(id, Shop.Order.Row);

    public Task Mark(string id, string state) => Orders.UpdateEntityAsync(Marked(id, state), ETag.All, TableUpdateMode.Merge);

    /// The change of an order's state alone.
    public static TableEntity Marked(string id, string state) => new(id, Shop.Order.Row) { ["State"] = state };
}
