using DurableTask.Core;

namespace Shop;

/// Takes an order from the queue to its receipt. A step that fails is tried again, after 1, 2, 4 and 8 seconds.
public sealed class Fulfilment : TaskOrchestration<string, string>
{
    static readonly RetryOptions Retries = new(TimeSpan.FromSeconds(1), maxNumberOfAttempts: 5) { BackoffCoefficient = 2 };

    public override async Task<string> RunTask(OrchestrationContext context, string id)
    {
        var steps = context.CreateRetryableClient<ISteps>(Retries);
        if (!await steps.Reserve(id)) return await steps.Close(id, "sold out");
        if (!await steps.Charge(id))
        {
            await steps.Release(id);
            return await steps.Close(id, "declined");
        }
        await steps.WriteReceipt(id);
        return await steps.Close(id, "done");
    }
}

/// The activities. Any of them may be carried out again after it has succeeded, and then changes nothing.
public interface ISteps
{
    /// Takes the items from the shelf, and returns false if there are not enough.
    Task<bool> Reserve(string id);

    /// Puts the items back.
    Task<bool> Release(string id);

    /// Returns false if the bank declines.
    Task<bool> Charge(string id);

    /// Returns the name of the blob.
    Task<string> WriteReceipt(string id);

    /// Returns the state that the order has from now on.
    Task<string> Close(string id, string state);
}
