using System.Globalization;
using DurableTask.Core;
using DurableTask.Core.Entities;
using DurableTask.Core.Entities.OperationFormat;

namespace Tidemark.Tests.Durable;

/// An entity: a balance, to which `add` adds.
public sealed class Account : TaskEntity
{
    public override Task<EntityBatchResult> ExecuteOperationBatchAsync(EntityBatchRequest batch)
    {
        var balance = Number(batch.EntityState ?? "0");
        var results = new List<OperationResult>();
        foreach (var operation in batch.Operations!)
        {
            balance += Number(operation.Input!);
            results.Add(new() { Result = $"{balance}" });
        }
        return Task.FromResult(new EntityBatchResult { Results = results, Actions = [], EntityState = $"{balance}" });
    }

    public static int Number(string text) => int.Parse(text, CultureInfo.InvariantCulture);
}

/// An orchestration that talks with accounts. This layer has no calls of entities: they are events there and back.
public abstract class Customer<TInput> : TaskOrchestration<int, TInput>
{
    readonly Dictionary<string, TaskCompletionSource<string>> answers = [];
    OrchestrationEntityContext entities = null!;

    public override Task<int> RunTask(OrchestrationContext context, TInput input)
    {
        entities = new(context.OrchestrationInstance.InstanceId, context.OrchestrationInstance.ExecutionId, context);
        return Visit(context, input);
    }

    public override void RaiseEvent(OrchestrationContext context, string name, string input) => answers[name].SetResult(input);

    protected abstract Task<int> Visit(OrchestrationContext context, TInput input);

    protected async Task<int> Add(OrchestrationContext context, string account, int amount)
    {
        var id = NextId();
        var target = new OrchestrationInstance { InstanceId = new EntityId("Account", account).ToString() };
        var answer = Ask(context, id, entities.EmitRequestMessage(target, "add", oneWay: false, id, null, $"{amount}"));
        var result = entities.DeserializeEntityResponseEvent(await answer).Result!;
        entities.RecoverLockAfterCall(target.InstanceId);
        return Account.Number(result);
    }

    protected async Task Lock(OrchestrationContext context, params string[] accounts)
    {
        var id = NextId();
        var answer = Ask(context, id, entities.EmitAcquireMessage(id, [.. accounts.Select(account => new EntityId("Account", account))]));
        entities.CompleteAcquire(entities.DeserializeEntityResponseEvent(await answer), id);
    }

    protected void Unlock(OrchestrationContext context)
    {
        foreach (var release in entities.EmitLockReleaseMessages()) Send(context, release);
    }

    Task<string> Ask(OrchestrationContext context, Guid id, EntityMessageEvent question)
    {
        var answer = answers[id.ToString()] = new();
        Send(context, question);
        return answer.Task;
    }

#pragma warning disable CS0618 // What SendEvent needs for a text that is JSON already.
    static void Send(OrchestrationContext context, EntityMessageEvent message) =>
        context.SendEvent(message.TargetInstance, message.EventName, message.AsRawInput());
#pragma warning restore CS0618

    // A replay has to name the same questions in the same way.
    Guid NextId() => new(answers.Count + 1, 0, 0, new byte[8]);
}

/// Pays in; returns the balance.
public sealed class Deposit : Customer<(string Account, int Amount)>
{
    protected override Task<int> Visit(OrchestrationContext context, (string Account, int Amount) input) =>
        Add(context, input.Account, input.Amount);
}

/// Moves money while nobody else sees the accounts; returns what both have together.
public sealed class Payment : Customer<(string From, string To, int Amount)>
{
    protected override async Task<int> Visit(OrchestrationContext context, (string From, string To, int Amount) input)
    {
        await Lock(context, input.From, input.To);
        var sum = await Add(context, input.From, -input.Amount) + await Add(context, input.To, input.Amount);
        Unlock(context);
        return sum;
    }
}
