using System.Collections.Concurrent;
using DurableTask.Core;

namespace Tidemark.Bench;

/// Tells the client, which is in the same process, that an instance has returned; its state is written a moment later.
public static class Returned
{
    static readonly ConcurrentDictionary<string, TaskCompletionSource> Instances = new();

    public static Task Of(string instance) => Get(instance).Task;

    public static long With(OrchestrationContext context, long result)
    {
        Get(context.OrchestrationInstance.InstanceId).TrySetResult();
        return result;
    }

    static TaskCompletionSource Get(string instance) =>
        Instances.GetOrAdd(instance, _ => new(TaskCreationOptions.RunContinuationsAsynchronously));
}
