using Microsoft.Azure.WebJobs.Extensions.DurableTask;

namespace Tidemark.Tests.Functions;

/// Accounts, which are entities, and orchestrations that use them.
public sealed class Accounts(SharedHub shared)
{
    readonly EntityId ann = new(nameof(Account), Stores.FreshName("ann")), bob = new(nameof(Account), Stores.FreshName("bob"));

    Hub Hub => shared.Hub;

    [Fact]
    public async Task Each_signal_of_a_client_is_applied_once()
    {
        await Task.WhenAll(Enumerable.Range(1, 20).Select(amount => Add(ann, amount)));
        await Becomes(ann, 210);
    }

    [Fact]
    public async Task An_orchestration_asks_an_entity_and_gets_its_answer()
    {
        await Add(ann, 5);
        Assert.Equal(7, await Hub.Run<int>(nameof(Orchestrations.Deposit), (ann.EntityKey, 2)));
    }

    [Fact]
    public async Task An_entity_signals_another_one()
    {
        await Add(ann, 10);
        await Hub.Client.SignalEntityAsync(ann, nameof(Account.Give), (bob.EntityKey, 4));
        await Becomes(bob, 4);
        await Becomes(ann, 6);
    }

    [Fact]
    public async Task Payments_between_locked_accounts_lose_nothing()
    {
        await Task.WhenAll(Add(ann, 100), Add(bob, 100));
        await Becomes(ann, 100);
        await Becomes(bob, 100);
        // Both directions side by side: a pair that is locked in the wrong order would wait forever.
        var sums = await Task.WhenAll(Enumerable.Range(1, 4).Select(amount => Hub.Run<int>(nameof(Orchestrations.Payment),
            amount % 2 == 0 ? (ann.EntityKey, bob.EntityKey, amount) : (bob.EntityKey, ann.EntityKey, amount))));
        Assert.All(sums, sum => Assert.Equal(200, sum));
        await Becomes(ann, 98);
        await Becomes(bob, 102);
    }

    [Fact]
    public async Task Entities_are_listed_page_by_page_until_they_are_closed()
    {
        await Task.WhenAll(Add(ann, 1), Add(bob, 2));
        await Becomes(ann, 1);
        await Becomes(bob, 2);
        Assert.Equal([ann.EntityKey, bob.EntityKey], (await Listed()).Order());
        await Hub.Client.SignalEntityAsync(ann, nameof(Account.Close));
        await Eventually.Holds(async () => !(await Hub.Client.ReadEntityStateAsync<Account>(ann)).EntityExists, "a closed account");
        Assert.Equal([bob.EntityKey], await Listed());
    }

    async Task<List<string>> Listed()
    {
        var (found, query) = (new List<string>(), new EntityQuery { EntityName = nameof(Account), FetchState = true, PageSize = 2 });
        do
        {
            var page = await Hub.Client.ListEntitiesAsync(query, default);
            found.AddRange(page.Entities.Where(entity => entity.State is not null).Select(entity => entity.EntityId.EntityKey));
            query.ContinuationToken = page.ContinuationToken;
        } while (query.ContinuationToken is not null);
        return [.. found.Where(key => key == ann.EntityKey || key == bob.EntityKey)];
    }

    Task Add(EntityId account, int amount) => Hub.Client.SignalEntityAsync(account, nameof(Account.Add), amount);

    Task Becomes(EntityId account, int balance) => Eventually.Holds(
        async () => (await Hub.Client.ReadEntityStateAsync<Account>(account)).EntityState?.Balance == balance, $"{account} has {balance}");
}
