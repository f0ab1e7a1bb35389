using System.Globalization;
using Azure.Data.Tables;

namespace Tidemark.Tests.Silos;

/// Reminders, which outlive the activation and the silo that made them.
[Collection<InSharedCluster>]
public sealed class Reminders(SharedCluster cluster)
{
    static readonly TimeSpan OneDay = TimeSpan.FromDays(1), OneSecond = TimeSpan.FromSeconds(1);
    readonly string key = Stores.FreshName("b");

    [Fact]
    public async Task A_reminder_fires_until_it_is_unregistered()
    {
        var bell = cluster.Grains.GetGrain<IBell>(key);
        await bell.Wind("tick", TimeSpan.FromMilliseconds(200));
        await Eventually.Holds(async () => await bell.Rings("tick") >= 3, "three rings");
        await bell.Stop("tick");
        Assert.Equal("", await bell.Wound());
        Assert.Empty(await Rows(key));
    }

    [Fact]
    public async Task Reminders_are_listed_and_each_is_a_row_with_the_newest_period()
    {
        var bell = cluster.Grains.GetGrain<IBell>(key);
        foreach (var name in (string[])["one", "two", "slash/and#more?"]) await bell.Wind(name, OneDay);
        await bell.Wind("two", 2 * OneDay);
        Assert.Equal("one slash/and#more? two", await bell.Wound());
        Assert.Equal(2 * OneDay, TimeSpan.Parse((await Rows(key)).Single(row => row.GetString("ReminderName") == "two").GetString("Period"),
            CultureInfo.InvariantCulture));
        await bell.Stop("two");
        Assert.Equal("one slash/and#more?", await bell.Wound());
    }

    [Fact]
    public async Task A_reminder_fires_on_another_silo_when_its_own_is_gone()
    {
        await using var own = new Cluster();
        var first = await own.Start("first");
        await first.Grains().GetGrain<IBell>(key).Wind("tick", OneSecond);
        await own.Stop(first);

        var second = await own.Start("second");
        var bell = second.Grains().GetGrain<IBell>(key);
        await Eventually.Holds(async () => await bell.Rings("tick") >= 2, "two rings on the second silo");
        Assert.Equal("tick", await bell.Wound());
    }

    static async Task<List<TableEntity>> Rows(string key)
    {
        var rows = new List<TableEntity>();
        await foreach (var row in Silo.TableService().GetTableClient("OrleansReminders").QueryAsync<TableEntity>())
        {
            if (row.GetString("GrainReference").EndsWith(key)) rows.Add(row);
        }
        return rows;
    }
}
