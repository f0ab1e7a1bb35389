using System.Globalization;
using DurableTask.Core;
using DurableTask.Core.Entities;

namespace Tidemark.Tests.Durable;

/// Accounts, which are entities, and orchestrations that use them.
public abstract class Entities(Hub hub)
{
    readonly EntityId ann = new("Account", "ann" + Guid.NewGuid()), bob = new("Account", "bob" + Guid.NewGuid());

    [Fact]
    public async Task Each_signal_of_a_client_is_applied_once()
    {
        await Task.WhenAll(Enumerable.Range(1, 20).Select(amount => Signal(ann, amount)));
        await Hub.Until(async () => await Balance(ann) == 210);
    }

    [Fact]
    public async Task An_orchestration_asks_an_entity_and_gets_its_answer()
    {
        await Signal(ann, 5);
        Assert.Equal(7, await hub.Run<Deposit, int>((ann.Key, 2)));
    }

    [Fact]
    public async Task Payments_between_locked_accounts_lose_nothing()
    {
        await Task.WhenAll(Signal(ann, 100), Signal(bob, 100));
        await Hub.Until(async () => await Balance(ann) == 100 && await Balance(bob) == 100);
        // Both directions side by side: a pair that is locked in the wrong order would wait forever.
        var sums = await Task.WhenAll(Enumerable.Range(1, 4).Select(amount => amount % 2 == 0
            ? hub.Run<Payment, int>((ann.Key, bob.Key, amount)) : hub.Run<Payment, int>((bob.Key, ann.Key, amount))));
        Assert.All(sums, sum => Assert.Equal(200, sum));
        await Hub.Until(async () => await Balance(ann) == 98 && await Balance(bob) == 102);
    }

    Task Signal(EntityId account, int amount) => hub.Service.SendTaskOrchestrationMessageAsync(ClientEntityHelpers.EmitOperationSignal(
        new() { InstanceId = account.ToString() }, Guid.NewGuid(), "add", amount.ToString(CultureInfo.InvariantCulture), null).AsTaskMessage());

    async Task<int?> Balance(EntityId account)
    {
        var found = await ((IEntityOrchestrationService)hub.Service).EntityBackendQueries!.GetEntityAsync(account, includeState: true);
        return found?.SerializedState is { } state ? int.Parse(state, CultureInfo.InvariantCulture) : null;
    }
}

public sealed class EntitiesInTable(Hubs hubs) : Entities(hubs.InTable);

public sealed class EntitiesInBlobs(Hubs hubs) : Entities(hubs.InBlobs);
