using System.Collections.Concurrent;
using DurableTask.Core;

namespace Tidemark.Tests.Durable;

public static class Activities
{
    public static readonly Type[] All = [typeof(Square), typeof(Reverse), typeof(Take), typeof(Give)];

    /// The keys for which `Give` fails.
    public static readonly ConcurrentDictionary<string, bool> Broken = new();

    /// How often `Take` was done for a key.
    public static readonly ConcurrentDictionary<string, int> Taken = new();
}

public sealed class Square : TaskActivity<int, int>
{
    protected override int Execute(TaskContext context, int n) => n * n;
}

public sealed class Reverse : TaskActivity<string, string>
{
    protected override string Execute(TaskContext context, string text) => new([.. text.Reverse()]);
}

public sealed class Take : TaskActivity<string, string>
{
    protected override string Execute(TaskContext context, string key)
    {
        Activities.Taken.AddOrUpdate(key, 1, (_, times) => times + 1);
        return "taken, ";
    }
}

public sealed class Give : TaskActivity<string, string>
{
    protected override string Execute(TaskContext context, string key) =>
        Activities.Broken.ContainsKey(key) ? throw new InvalidOperationException("nobody is at home") : "given";
}
