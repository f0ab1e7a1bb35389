using DurableTask.Core;

namespace Tidemark.Tests.Durable;

public static class Orchestrations
{
    public static readonly Type[] All = [typeof(Fibonacci), typeof(Alarm), typeof(Approval), typeof(Till), typeof(Relay), typeof(Delivery),
        typeof(Journey), typeof(Transfer), typeof(Forever), typeof(Deposit), typeof(Payment)];
}

/// Each number is a sub-orchestration.
public sealed class Fibonacci : TaskOrchestration<int, int>
{
    public override async Task<int> RunTask(OrchestrationContext context, int n)
    {
        if (n < 2) return n;
        return (await Task.WhenAll(Of(n - 1), Of(n - 2))).Sum();
        Task<int> Of(int m) => context.CreateSubOrchestrationInstance<int>(typeof(Fibonacci), m);
    }
}

/// Rings after some milliseconds. A second alarm is set, and taken back.
public sealed class Alarm : TaskOrchestration<TimeSpan, int>
{
    public override async Task<TimeSpan> RunTask(OrchestrationContext context, int milliseconds)
    {
        var begun = context.CurrentUtcDateTime;
        using var cancel = new CancellationTokenSource();
        var spare = context.CreateTimer(begun.AddHours(1), 0, cancel.Token);
        await context.CreateTimer(begun.AddMilliseconds(milliseconds), 0);
        cancel.Cancel();
        try
        {
            await spare;
        }
        catch (TaskCanceledException)
        {
            return context.CurrentUtcDateTime - begun;
        }
        return default;
    }
}

/// Waits for somebody's word, for at most so many milliseconds.
public sealed class Approval : TaskOrchestration<string, int>
{
    readonly TaskCompletionSource<string> word = new();

    public override async Task<string> RunTask(OrchestrationContext context, int milliseconds)
    {
        using var cancel = new CancellationTokenSource();
        var timer = context.CreateTimer(context.CurrentUtcDateTime.AddMilliseconds(milliseconds), "too late", cancel.Token);
        var first = await Task.WhenAny(timer, word.Task);
        if (first == word.Task) cancel.Cancel();
        return await first;
    }

    public override void OnEvent(OrchestrationContext context, string name, string input) => word.TrySetResult($"{name}: {input}");
}

/// Adds up what it is told, and begins anew after each amount; 0 closes it.
public sealed class Till : TaskOrchestration<int, int, int, int>
{
    readonly TaskCompletionSource<int> amount = new();
    int total;

    public override async Task<int> RunTask(OrchestrationContext context, int sum)
    {
        total = sum;
        var added = await amount.Task;
        total += added;
        if (added != 0) context.ContinueAsNew(total);
        return total;
    }

    // What comes before the till begins anew is for the next till, whose execution has another name.
    public override void OnEvent(OrchestrationContext context, string name, int input)
    {
        if (!amount.TrySetResult(input)) context.SendEvent(new() { InstanceId = context.OrchestrationInstance.InstanceId }, name, input);
    }

    public override int OnGetStatus() => total;
}

/// Goes through a number of executions, each with an activity.
public sealed class Relay : TaskOrchestration<int[], (int Left, int[] Done)>
{
    public override async Task<int[]> RunTask(OrchestrationContext context, (int Left, int[] Done) state)
    {
        if (state.Left == 0) return state.Done;
        int[] done = [.. state.Done, await context.ScheduleTask<int>(typeof(Square), state.Left)];
        context.ContinueAsNew((state.Left - 1, done));
        return done;
    }
}

/// Carries a text to an activity and back.
public sealed class Delivery : TaskOrchestration<string, string>
{
    public override Task<string> RunTask(OrchestrationContext context, string text) =>
        context.ScheduleTask<string>(typeof(Reverse), text);
}

/// Asks several activities side by side, then those that must come one after the other, then a sub-orchestration, with rests between.
public sealed class Journey : TaskOrchestration<long, int>
{
    public override async Task<long> RunTask(OrchestrationContext context, int number)
    {
        long sum = (await Task.WhenAll(Enumerable.Range(number, 4).Select(Squared))).Sum();
        await context.CreateTimer(context.CurrentUtcDateTime.AddMilliseconds(100), 0);
        for (var i = 0; i < 2; ++i) sum += await Squared(number);
        return sum + await context.CreateSubOrchestrationInstance<int>(typeof(Fibonacci), 3);
        Task<int> Squared(int n) => context.ScheduleTask<int>(typeof(Square), n);
    }

    public static long Expected(int number) => Enumerable.Range(number, 4).Sum(n => n * n) + 2 * number * number + 2;
}

/// Does one thing, and then one that fails while it is in `Activities.Broken`.
public sealed class Transfer : TaskOrchestration<string, string>
{
    public override async Task<string> RunTask(OrchestrationContext context, string key) =>
        await context.ScheduleTask<string>(typeof(Take), key) + await context.ScheduleTask<string>(typeof(Give), key);
}

public sealed class Forever : TaskOrchestration<int, int>
{
    public override Task<int> RunTask(OrchestrationContext context, int input) => new TaskCompletionSource<int>().Task;
}
