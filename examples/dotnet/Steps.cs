using Azure;
using Azure.Data.Tables;

namespace Shop;

public sealed class Steps(Store store, Bank bank) : ISteps
{
    public async Task<bool> Reserve(string id)
    {
        if (!await Move(await store.Order(id), reserved: true)) return false;
        await store.Mark(id, "reserved");
        return true;
    }

    public async Task<bool> Release(string id) => await Move(await store.Order(id), reserved: false);

    public async Task<bool> Charge(string id)
    {
        var order = await store.Order(id);
        if (!bank.Charge(id, order.Cents)) return false;
        await store.Orders.SubmitTransactionAsync([
            new(TableTransactionActionType.UpsertReplace, new TableEntity(id, Order.PaymentRow) { ["Cents"] = order.Cents }),
            new(TableTransactionActionType.UpdateMerge, Store.Marked(id, "paid"), ETag.All),
        ]);
        return true;
    }

    public async Task<string> WriteReceipt(string id)
    {
        var order = await store.Order(id);
        TableEntity payment = await store.Orders.GetEntityAsync<TableEntity>(id, Order.PaymentRow);
        var receipt = store.Receipt(id);
        var text = $"""
            Order   {id}
            {order.Quantity} x {order.Item}
            Paid    {payment.GetInt64("Cents") / 100m:0.00}

            """;
        await receipt.UploadAsync(BinaryData.FromString(text), overwrite: true);
        return receipt.Name;
    }

    public async Task<string> Close(string id, string state)
    {
        await store.Mark(id, state);
        return state;
    }

    /// Moves the items of an order from the shelf into a reservation, or back: one transaction changes both. Returns false if
    /// there are not enough on the shelf.
    async Task<bool> Move(Order order, bool reserved)
    {
        var reservation = new TableEntity(order.Item, order.Id) { ["Quantity"] = order.Quantity };
        var change = reserved ? TableTransactionActionType.Add : TableTransactionActionType.Delete;
        while (true)
        {
            var found = await store.Stock.GetEntityIfExistsAsync<TableEntity>(order.Item, order.Id);
            if (found.HasValue == reserved) return true;
            Shelf shelf = await store.Stock.GetEntityAsync<Shelf>(order.Item, Shelf.Row);
            shelf.Left += reserved ? -order.Quantity : order.Quantity;
            if (shelf.Left < 0) return false;
            try
            {
                await store.Stock.SubmitTransactionAsync([
                    new(TableTransactionActionType.UpdateReplace, shelf, shelf.ETag),
                    new(change, reservation, ETag.All),
                ]);
                return true;
            }
            catch (TableTransactionFailedException failure) when (failure.Status == 412)
            {
                // Another order has changed the shelf since it was read: read it again.
            }
        }
    }
}
