// Runs one workload against the account of AZURE_STORAGE_CONNECTION_STRING, and prints its result as JSON:
//     Load WORKLOAD [--NAME VALUE ...]
using Microsoft.Extensions.Configuration;
using Tidemark.Bench;

var options = new ConfigurationBuilder().AddCommandLine(args[1..]).Build();
await (args[0] switch
{
    "fan-out" => Durable.Run<FanOut>(options),
    "sequence" => Durable.Run<Sequence>(options),
    "queue-trigger" => QueueTriggers.Run(options),
    "grains" => Grains.Run(options),
    "table-batches" => TableBatches.Run(options),
    _ => throw new ArgumentException($"there is no workload {args[0]}"),
});
