using System.Runtime.Serialization;
using Azure;
using Azure.Data.Tables;

namespace Shop;

public sealed record OrderRequest(string Item, int Quantity);

public sealed record OrderView(string Id, string Item, int Quantity, long Cents, string State)
{
    public static OrderView Of(Order order) => new(order.Id, order.Item, order.Quantity, order.Cents, order.State);
}

/// An order has a partition of its own. Its payment is there too, so that one transaction writes both.
public sealed class Order : ITableEntity
{
    public const string Row = "order", PaymentRow = "payment";

    public string PartitionKey { get; set; } = "";
    public string RowKey { get; set; } = Row;
    public DateTimeOffset? Timestamp { get; set; }
    public ETag ETag { get; set; }

    public string Item { get; set; } = "";
    public int Quantity { get; set; }
    public long Cents { get; set; }
    public string State { get; set; } = "placed";

    [IgnoreDataMember]
    public string Id => PartitionKey;
}

/// The shelf of an item. The reservations of orders are in the same partition, and have the ids of the orders as RowKey.
public sealed class Shelf : ITableEntity
{
    public const string Row = "shelf";

    /// The items that the shop has, and what one costs in cents.
    public static readonly IReadOnlyDictionary<string, long> Prices = new SortedDictionary<string, long>
    {
        ["coffee"] = 1290, ["kettle"] = 4500, ["tea"] = 375,
    };

    public string PartitionKey { get; set; } = "";
    public string RowKey { get; set; } = Row;
    public DateTimeOffset? Timestamp { get; set; }
    public ETag ETag { get; set; }

    public int Left { get; set; }
}
