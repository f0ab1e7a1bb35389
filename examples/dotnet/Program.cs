using DurableTask.AzureStorage;
using DurableTask.Core;
using Microsoft.Extensions.Azure;
using Shop;

var builder = WebApplication.CreateBuilder(args);
var connection = builder.Configuration["AZURE_STORAGE_CONNECTION_STRING"] ?? "UseDevelopmentStorage=true";

builder.Services.AddAzureClients(clients =>
{
    clients.AddTableServiceClient(connection);
    clients.AddQueueServiceClient(connection);
    clients.AddBlobServiceClient(connection);
});
builder.Services.AddSingleton<Store>();
builder.Services.AddSingleton<Bank>();

// The orchestrations keep their state in the same account, in tables, queues and containers that begin with the hub's name.
builder.Services.AddSingleton(new AzureStorageOrchestrationService(new AzureStorageOrchestrationServiceSettings
{
    TaskHubName = "Shop",
    StorageAccountClientProvider = new(connection),
    UseTablePartitionManagement = true,
    MaxQueuePollingInterval = TimeSpan.FromSeconds(1), // 30 by default, which suits a bill for each request
}));
builder.Services.AddSingleton(services => new TaskHubClient(services.GetRequiredService<AzureStorageOrchestrationService>()));
builder.Services.AddSingleton<ISteps, Steps>();
builder.Services.AddHostedService<OrchestrationWorker>();
builder.Services.AddHostedService<OrderReceiver>();

var app = builder.Build();
await app.Services.GetRequiredService<Store>().Create();
await app.Services.GetRequiredService<AzureStorageOrchestrationService>().CreateIfNotExistsAsync();

app.MapPost("/orders", async (OrderRequest request, Store store) =>
{
    if (request.Quantity < 1 || !Shelf.Prices.TryGetValue(request.Item, out var price)) return Results.BadRequest();
    var order = new Order
    {
        PartitionKey = Guid.CreateVersion7().ToString(),
        Item = request.Item,
        Quantity = request.Quantity,
        Cents = request.Quantity * price,
    };
    await store.Orders.AddEntityAsync(order);
    await store.Placed.SendMessageAsync(order.Id);
    return Results.Accepted($"/orders/{order.Id}", OrderView.Of(order));
});

app.MapGet("/orders/{id:guid}", async (string id, Store store) =>
{
    var found = await store.Orders.GetEntityIfExistsAsync<Order>(id, Order.Row);
    return found.HasValue ? Results.Ok(OrderView.Of(found.Value!)) : Results.NotFound();
});

app.MapGet("/orders/{id:guid}/receipt", async (string id, Store store) =>
{
    var receipt = store.Receipt(id);
    return await receipt.ExistsAsync() ? Results.Stream(await receipt.OpenReadAsync(), "text/plain") : Results.NotFound();
});

app.MapGet("/stock", async (Store store) =>
{
    var stock = new SortedDictionary<string, long>();
    await foreach (var shelf in store.Stock.QueryAsync<Shelf>(shelf => shelf.RowKey == Shelf.Row)) stock[shelf.PartitionKey] = shelf.Left;
    return stock;
});

app.Run();
