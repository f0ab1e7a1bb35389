using System.Collections.Concurrent;
using Microsoft.Azure.WebJobs;
using Microsoft.Azure.WebJobs.Extensions.DurableTask;

namespace Tidemark.Tests.Functions;

public static class Activities
{
    /// How often each key of `Flaky` still fails.
    public static readonly ConcurrentDictionary<string, int> Failures = new();

    /// How often `Flaky` was called with each key.
    public static readonly ConcurrentDictionary<string, int> Calls = new();

    static int steps;

    /// How many squares there were.
    public static int Steps => steps;

    [FunctionName(nameof(Square))]
    public static int Square([ActivityTrigger] int number)
    {
        Interlocked.Increment(ref steps);
        return number * number;
    }

    [FunctionName(nameof(Reverse))]
    public static string Reverse([ActivityTrigger] string text) => new([.. text.Reverse()]);

    [FunctionName(nameof(Flaky))]
    public static string Flaky([ActivityTrigger] string key)
    {
        Calls.AddOrUpdate(key, 1, (_, calls) => calls + 1);
        if (Failures.GetValueOrDefault(key) == 0) return "done";
        Failures[key]--;
        throw new InvalidOperationException("nobody is at home");
    }
}

public static class Orchestrations
{
    static RetryOptions Thrice => new(TimeSpan.FromMilliseconds(10), 3);

    [FunctionName(nameof(Greeting))]
    public static async Task<string> Greeting([OrchestrationTrigger] IDurableOrchestrationContext context)
    {
        var once = await context.CallActivityAsync<string>(nameof(Activities.Reverse), context.GetInput<string>());
        context.SetCustomStatus(new { Turned = once.Length });
        return once + await context.CallActivityAsync<string>(nameof(Activities.Reverse), once);
    }

    [FunctionName(nameof(SumOfSquares))]
    public static async Task<int> SumOfSquares([OrchestrationTrigger] IDurableOrchestrationContext context)
    {
        var squares = Enumerable.Range(1, context.GetInput<int>()).Select(number => context.CallActivityAsync<int>(nameof(Activities.Square), number));
        return (await Task.WhenAll(squares)).Sum();
    }

    /// Each number is a sub-orchestration.
    [FunctionName(nameof(Fibonacci))]
    public static async Task<int> Fibonacci([OrchestrationTrigger] IDurableOrchestrationContext context)
    {
        var number = context.GetInput<int>();
        if (number < 2) return number;
        return (await Task.WhenAll(Of(number - 1), Of(number - 2))).Sum();
        Task<int> Of(int smaller) => context.CallSubOrchestratorAsync<int>(nameof(Fibonacci), smaller);
    }

    /// Rings after some milliseconds. A second alarm is set, and taken back.
    [FunctionName(nameof(Alarm))]
    public static async Task<TimeSpan> Alarm([OrchestrationTrigger] IDurableOrchestrationContext context)
    {
        var begun = context.CurrentUtcDateTime;
        using var cancel = new CancellationTokenSource();
        var spare = context.CreateTimer(begun.AddDays(10), cancel.Token);
        await context.CreateTimer(begun.AddMilliseconds(context.GetInput<int>()), CancellationToken.None);
        cancel.Cancel();
        return context.CurrentUtcDateTime - begun;
    }

    /// Waits for somebody's word, for at most so many milliseconds.
    [FunctionName(nameof(Approval))]
    public static async Task<string> Approval([OrchestrationTrigger] IDurableOrchestrationContext context)
    {
        try
        {
            return await context.WaitForExternalEvent<string>("word", TimeSpan.FromMilliseconds(context.GetInput<int>()));
        }
        catch (TimeoutException)
        {
            return "too late";
        }
    }

    /// Adds up what it is told, and begins anew after each amount; 0 closes it.
    [FunctionName(nameof(Till))]
    public static async Task<int> Till([OrchestrationTrigger] IDurableOrchestrationContext context)
    {
        var total = context.GetInput<int>();
        context.SetCustomStatus(total);
        var amount = await context.WaitForExternalEvent<int>("add");
        if (amount != 0) context.ContinueAsNew(total + amount, preserveUnprocessedEvents: true);
        return total;
    }

    /// Goes through a number of executions, each with an activity.
    [FunctionName(nameof(Relay))]
    public static async Task<int> Relay([OrchestrationTrigger] IDurableOrchestrationContext context)
    {
        var (left, sum) = context.GetInput<(int, int)>();
        if (left == 0) return sum;
        context.ContinueAsNew((left - 1, sum + await context.CallActivityAsync<int>(nameof(Activities.Square), left)));
        return sum;
    }

    [FunctionName(nameof(Persistent))]
    public static Task<string> Persistent([OrchestrationTrigger] IDurableOrchestrationContext context) =>
        context.CallActivityWithRetryAsync<string>(nameof(Activities.Flaky), Thrice, context.GetInput<string>());

    [FunctionName(nameof(Careless))]
    public static Task<string> Careless([OrchestrationTrigger] IDurableOrchestrationContext context) =>
        context.CallActivityAsync<string>(nameof(Activities.Flaky), context.GetInput<string>());

    /// Does something else when a sub-orchestration fails.
    [FunctionName(nameof(Careful))]
    public static async Task<string> Careful([OrchestrationTrigger] IDurableOrchestrationContext context)
    {
        try
        {
            return await context.CallSubOrchestratorAsync<string>(nameof(Careless), context.GetInput<string>());
        }
        catch (FunctionFailedException error)
        {
            return await context.CallActivityAsync<string>(nameof(Activities.Reverse), error.InnerException!.GetBaseException().Message);
        }
    }

    /// Asks several activities side by side, then one, with a rest and a sub-orchestration.
    [FunctionName(nameof(Journey))]
    public static async Task<int> Journey([OrchestrationTrigger] IDurableOrchestrationContext context)
    {
        var number = context.GetInput<int>();
        var sum = (await Task.WhenAll(Enumerable.Range(number, 4).Select(Squared))).Sum();
        await context.CreateTimer(context.CurrentUtcDateTime.AddMilliseconds(100), CancellationToken.None);
        return sum + await Squared(number) + await context.CallSubOrchestratorAsync<int>(nameof(Fibonacci), 3);
        Task<int> Squared(int each) => context.CallActivityAsync<int>(nameof(Activities.Square), each);
    }

    public static int ExpectedOfJourney(int number) => Enumerable.Range(number, 4).Sum(each => each * each) + number * number + 2;

    /// Pays in; returns the balance.
    [FunctionName(nameof(Deposit))]
    public static Task<int> Deposit([OrchestrationTrigger] IDurableOrchestrationContext context)
    {
        var (account, amount) = context.GetInput<(string, int)>();
        return context.CallEntityAsync<int>(new EntityId(nameof(Account), account), nameof(Account.Add), amount);
    }

    /// Moves money while nobody else sees the accounts; returns what both have together.
    [FunctionName(nameof(Payment))]
    public static async Task<int> Payment([OrchestrationTrigger] IDurableOrchestrationContext context)
    {
        var (from, to, amount) = context.GetInput<(string, string, int)>();
        var (source, target) = (new EntityId(nameof(Account), from), new EntityId(nameof(Account), to));
        using (await context.LockAsync(source, target))
        {
            return await context.CallEntityAsync<int>(source, nameof(Account.Add), -amount) +
                await context.CallEntityAsync<int>(target, nameof(Account.Add), amount);
        }
    }
}

/// An entity: a balance.
public sealed class Account
{
    public int Balance { get; set; }

    public int Add(int amount) => Balance += amount;

    public void Close() => Entity.Current.DeleteState();

    /// Tells another account, as entities do among themselves.
    public void Give((string To, int Amount) gift)
    {
        Balance -= gift.Amount;
        Entity.Current.SignalEntity(new EntityId(nameof(Account), gift.To), nameof(Add), gift.Amount);
    }

    [FunctionName(nameof(Account))]
    public static Task Run([EntityTrigger] IDurableEntityContext context) => context.DispatchAsync<Account>();
}

/// Starts an orchestration for each message, and sends its result.
public sealed class Reception
{
    public async Task Receive([QueueTrigger("%in%")] string text, [DurableClient] IDurableOrchestrationClient client) =>
        await client.StartNewAsync(nameof(Answer), null, text);

    [FunctionName(nameof(Answer))]
    public static async Task Answer([OrchestrationTrigger] IDurableOrchestrationContext context) =>
        await context.CallActivityAsync(nameof(Send), await context.CallActivityAsync<string>(nameof(Activities.Reverse), context.GetInput<string>()));

    [FunctionName(nameof(Send))]
    [return: Queue("%in%-out")]
    public static string Send([ActivityTrigger] string text) => text;
}
